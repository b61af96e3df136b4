"""Equation numbers are links: "(4.21)" in text, in the comments of code and in what code prints leads to the formula
that has that tag.

Each displayed formula gets an anchor for every tag in it, `#eq-4-21`; `_static/equations_data.js` holds the formulas,
so that equations.js can show one in a card. A number in parentheses is a mention if a formula of the book has it; the
five notes have numbers of their own, and those stay plain. A mention that no formula answers is a warning.
"""

import json
import re
from html import escape
from pathlib import Path

from course_ext import put
from docutils import nodes
from sphinx.util import logging
from typeset import LETTER, drawer

log = logging.getLogger(__name__)

TAG = re.compile(r"\\tag\{(\d+\.\d+)\}")
MENTION = re.compile(r"\((\d+\.[1-9]\d*)\)")
NOTES = {"book/errata", "book/source_map", "book/notation_notes"}  # pages that quote the numbers of the notes
THEIRS = re.compile(r"\b(?:its|his|her|their|Note [A-Z]|Eq\.|Python|version|release)\s*$")  # Note M (9.4)
ELSEWHERE = re.compile(r"\s+of\s+(?:(?:the|their|his|her|that)\s+)?(?:paper|article|book|report|thesis)\b"
                       r"|\s+of\s+[A-Z]\w+ et al")
PLAIN = (nodes.title, nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw, nodes.comment,
         nodes.reference)


def anchor(tag):
    return f"eq-{tag.replace('.', '-')}"


def split_rows(tex):
    r"""The rows of a formula: cut at `\\` outside of braces and of environments within."""
    rows, depth, start = [], 0, 0
    for cut in re.finditer(r"\\begin\b|\\end\b|\\\\|\\.|[{}]", tex):
        if cut[0] in (r"\begin", "{"):
            depth += 1
        elif cut[0] in (r"\end", "}"):
            depth -= 1
        elif cut[0] == r"\\" and depth == 0:
            rows.append(tex[start:cut.start()])
            start = cut.end()
    return [row.strip() for row in [*rows, tex[start:]] if row.strip()]


def formulas(tex):
    """Each tag of a displayed formula with the TeX that it numbers: its row, those before it that have no number of
    their own, and, where that begins with a sign of equality, the rows from its left-hand side on."""
    inner = re.sub(r"^\s*\\begin\{(align|gather)\*\}|\\end\{(align|gather)\*\}\s*$", "", tex)
    rows, found, start = split_rows(inner), {}, 0
    for k, row in enumerate(rows):
        if not (tag := TAG.search(row)):
            continue
        while start and rows[start].startswith("&"):
            start -= 1
        end = k + 1
        if not any(TAG.search(later) for later in rows[end:]):
            end = len(rows)  # the lines that end the formula
        own = [TAG.sub("", r).strip() for r in rows[start:end]]
        own = [re.sub(r"\\(?:nonumber|notag)\b", "", r).strip() for r in own]
        found[tag[1]] = own[0].replace("&", "", 1) if len(own) == 1 and "\\begin" not in own[0] else (
            own[0] if len(own) == 1 else r"\begin{aligned}" + r" \\ ".join(own) + r"\end{aligned}")
        start = k + 1
    return found


def collect(app, doctree):
    """The tags of a page, as it is read: its formulas get their anchors."""
    docname, book = app.env.docname, book_of(app.env)
    for block in doctree.findall(nodes.math_block):
        for tag, tex in formulas(block.astext()).items():
            if tag in book and book[tag]["page"] != docname or anchor(tag) in doctree.ids:
                log.warning("two formulas have the number (%s)", tag, location=block)
                continue
            section = block.parent
            while section is not None and not isinstance(section, nodes.section):
                section = section.parent
            title = section.next_node(nodes.title).astext() if section is not None else ""
            book[tag] = {"page": docname, "title": title, "tex": tex}
            block["ids"].append(anchor(tag))
            doctree.ids[anchor(tag)] = block


def book_of(env):
    if not hasattr(env, "course_equations"):
        env.course_equations = {}
    return env.course_equations


def purge(app, env, docname):
    env.course_equations = {tag: e for tag, e in book_of(env).items() if e["page"] != docname}


def merge(app, env, docnames, other):
    book_of(env).update({tag: e for tag, e in book_of(other).items() if e["page"] in docnames})


def uri(app, docname, tag):
    page = book_of(app.env)[tag]["page"]
    return (app.builder.get_relative_uri(docname, page) if page != docname else "") + "#" + anchor(tag)


def mentions(text, docname, book):
    """Each mention of an equation in some text, and whether a formula has its number."""
    written = {tag.partition(".")[0] for tag in book}
    for found in MENTION.finditer(text):
        if docname in NOTES and not re.search(r"\bour\s*$", text[:found.start()]):
            continue
        if found[1].partition(".")[0] not in written or THEIRS.search(text[:found.start()]) \
                or ELSEWHERE.match(text, found.end()):
            continue
        yield found, found[1] in book


def link_text(app, doctree, docname):
    """Every mention in the text of a page is a link; one in a heading or in a link is not."""
    book = book_of(app.env)
    for text in list(doctree.findall(nodes.Text)):
        up = text.parent
        while up is not None and not isinstance(up, PLAIN):
            up = up.parent
        if up is not None or "(" not in text:
            continue
        plain, new, end = text.astext(), [], 0
        for found, known in mentions(plain, docname, book):
            if not known:
                log.warning("no formula has the number %s", found[0], location=text.parent)
                continue
            new += [nodes.Text(plain[end:found.start()]),
                    nodes.reference("", found[0], internal=True, refuri=uri(app, docname, found[1]), classes=["eq"])]
            end = found.end()
        if new:
            put(text, *new, nodes.Text(plain[end:]))


CODE = re.compile(r"(<pre>(?:<span></span>)?)(.*?)(</pre>)", flags=re.S)
COMMENT = re.compile(r'<span class="(c1|sd)">([^<]*)</span>')
PRINTED = re.compile(r'(<div class="output [^"]*highlight-myst-ansi[^"]*">\s*<div class="highlight"><pre>)'
                     r"(.*?)(</pre>)", flags=re.S)


def link_line(line, link):
    """A line of highlighted code with its numbers as links; it says which it has, to be lit up with the formula."""
    tags = []

    def each(found):
        def number(mention):
            href = link(mention, found[2])
            if href is None:
                return mention[0]
            tags.append(mention[1])
            return f'<a class="eq" href="{escape(href)}">{mention[0]}</a>'
        return f'<span class="{found[1]}">{MENTION.sub(number, found[2])}</span>'

    line = COMMENT.sub(each, line)
    if tags and not re.search(r"</?div", line):
        line = f'<span class="eq-line" data-eq="{" ".join(dict.fromkeys(tags))}">{line}</span>'
    return line


def link_code(app, pagename, templatename, context, doctree):
    """The same in the comments and docstrings of code, which is HTML by now, and in what it printed: there a number
    that no formula has is a value. And the scripts of a page with numbers."""
    book, body = book_of(app.env), context.get("body")
    if not body:
        return
    written = {tag.partition(".")[0] for tag in book}

    def link(mention, comment):
        if mention[1] in book:
            return uri(app, pagename, mention[1])
        if comment.startswith("# (") and mention[1].partition(".")[0] in written:
            log.warning("%s: no formula has the number %s, in code", pagename, mention[0])
        return None

    def block(code):
        if "(" not in code[2]:
            return code[0]
        return code[1] + "\n".join(link_line(line, link) for line in code[2].split("\n")) + code[3]

    def number(mention):
        return f'<a class="eq" href="{escape(uri(app, pagename, mention[1]))}">{mention[0]}</a>'

    def printed(output):
        text = MENTION.sub(lambda mention: number(mention) if mention[1] in book else mention[0], output[2])
        return output[1] + text + output[3]

    body = CODE.sub(block, body)
    context["body"] = body = body if pagename in NOTES else PRINTED.sub(printed, body)
    if re.search(r'class="eq[ "]', body) or re.search(r'<(?:div|span)[^>]* id="eq-\d', body):
        app.builder.add_js_file("equations.js", defer="defer")
    if '<span class="eq-line"' in body:
        app.builder.add_js_file("symbols.js", defer="defer")


def write_formulas(app, exception):
    """All formulas in one script, which equations.js loads when the first card is asked for, from file:// too."""
    if exception or app.builder.format != "html":
        return
    book = book_of(app.env)
    maths = drawer(app)
    rows = {tag: [app.builder.get_target_uri(e["page"]), e["title"], e["tex"], maths.draw(e["tex"], True)]
            for tag, e in sorted(book.items(), key=lambda item: tuple(map(int, item[0].split("."))))}
    lines = ",\n".join(f"{json.dumps(tag)}: {json.dumps(row, ensure_ascii=False)}" for tag, row in rows.items())
    used = set(LETTER.findall("".join(drawing for *_, drawing in rows.values())))
    letters = {name: maths.letters[name] for name in sorted(used)}
    (Path(app.outdir) / "_static" / "equations_data.js").write_text(
        f"window.EQUATIONS = {{\n{lines}\n}};\nwindow.EQUATIONS_LETTERS = {json.dumps(letters)};\n", encoding="utf-8")


def setup(app):
    app.add_css_file("equations.css")
    app.connect("doctree-read", collect)
    app.connect("env-purge-doc", purge)
    app.connect("env-merge-info", merge)
    app.connect("doctree-resolved", link_text)
    app.connect("html-page-context", link_code)
    app.connect("build-finished", write_formulas)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
