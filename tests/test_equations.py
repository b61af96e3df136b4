"""Equation numbers are links: the extension on small documents, every number of the book's sources, the built pages."""

import contextlib
import html
import json
import re
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
from browser import built_book, must_tap, narrow, serve, visit, visitor
from docutils import nodes
from docutils.utils import new_document
from maths import drawn_by, signs
from notebook_rules import chapter_of
from playwright.sync_api import TimeoutError as Late
from rewritten import rewritten
from typeset import LETTER

ROOT = Path(__file__).resolve().parents[1]
BOOK, HTML = ROOT / "book", (ROOT / "_build" / "html").resolve()
SOURCE = ROOT / "_ext" / "equations.py"


def extension(*edits):
    module = rewritten(SOURCE, *edits)
    module.warned = []
    module.log = SimpleNamespace(warning=lambda text, *more, **_: module.warned.append(text % more))
    return module


# The extension, on small documents

def entry(page, tex=""):
    return {"page": page, "title": "a section", "tex": tex}


def app(docname="book/04_attention", **known):
    book = {"4.1": entry("book/04_attention"), "4.21": entry("book/04_attention"), "0.2": entry("book/00_gradcheck"),
            "5.4": entry("book/05_multihead"), "3.11": entry("book/03_position"), **known}
    builder = SimpleNamespace(get_relative_uri=lambda here, there: f"{there}.html", scripts=[])
    builder.add_js_file = lambda name, **_: builder.scripts.append(name)
    return SimpleNamespace(env=SimpleNamespace(course_equations=book, docname=docname), builder=builder)


def document(*parts):
    section = nodes.section("", nodes.title("", "4.6 · Gradients"))
    section += nodes.paragraph("", "", *(nodes.Text(p) if isinstance(p, str) else p for p in parts))
    found = new_document("page")
    found += section
    return found


def linked(module, *parts, docname="book/04_attention"):
    page = document(*parts)
    before = page.astext()
    module.link_text(app(docname), page, docname)
    assert page.astext() == before
    return [(a.astext(), a["refuri"]) for a in page.findall(nodes.reference) if "eq" in a["classes"]]


def mentions_are_links(module):
    assert linked(module, "By (4.21), and (5.4): see (4.1).") == [
        ("(4.21)", "#eq-4-21"), ("(5.4)", "book/05_multihead.html#eq-5-4"), ("(4.1)", "#eq-4-1")]
    assert linked(module, "(4.1)–(4.21), of two (4.1)") == [("(4.1)", "#eq-4-1"), ("(4.21)", "#eq-4-21"),
                                                           ("(4.1)", "#eq-4-1")]
    assert module.warned == []


def other_numbers_are_plain(module):
    assert linked(module, "(4), (4.0), (04.1), (2.0), f(4.1, 2), (0.20 of it), (2017), (4.21 s), 4.1, (18.3)") == []
    assert module.warned == []


def numbers_of_others_are_plain(module):
    theirs = ["Note M (4.1)", "puts it into its (4.1)", "Eq. (4.1)", "Python (3.11)", "(4.1) of their paper",
              "(4.1) of Vaswani et al."]
    assert [linked(module, text) for text in theirs] == [[]] * len(theirs)
    assert linked(module, "(4.1): the inner sum", docname="book/errata") == []
    assert linked(module, "which is our (4.1)", docname="book/errata") == [
        ("(4.1)", "book/04_attention.html#eq-4-1")]
    assert linked(module, "(4.1) of Chapter 4") == [("(4.1)", "#eq-4-1")]


def headings_code_and_links_are_left_alone(module):
    parts = [nodes.literal("", "(4.1)"), nodes.math("", "(4.1)"), nodes.reference("", "(4.1)", refuri="x")]
    assert linked(module, *parts) == []
    page = new_document("page")
    page += nodes.section("", nodes.title("", "By (4.1)"))
    module.link_text(app(), page, "book/04_attention")
    assert not list(page.findall(nodes.reference))


def a_number_without_a_formula_is_told(module):
    assert linked(module, "By (4.22).") == [] and module.warned == ["no formula has the number (4.22)"]


def collected(module, *blocks, app=None):
    app = app or SimpleNamespace(env=SimpleNamespace(docname="book/04_attention"))
    page = document(*(nodes.math_block("", tex) for tex in blocks))
    module.collect(app, page)
    return {tag: e["tex"] for tag, e in app.env.course_equations.items()}, [
        block["ids"] for block in page.findall(nodes.math_block)]


ALIGNED = (r"\begin{align*} a &= b \tag{4.1} \\ c &= d \\ &= \begin{pmatrix} 1 \\ 2 \end{pmatrix} \tag{4.2} \\ &= e "
           r"\end{align*}")


def formulas_get_anchors(module):
    found, ids = collected(module, r"x = y \tag{4.3}", r"no = number", ALIGNED)
    assert ids == [["eq-4-3"], [], ["eq-4-1", "eq-4-2"]] and module.warned == []
    assert found == {"4.3": "x = y", "4.1": "a = b", "4.2": r"\begin{aligned}c &= d \\ &= \begin{pmatrix} 1 \\ 2 "
                     r"\end{pmatrix} \\ &= e\end{aligned}"}


def a_formula_begins_with_its_left_hand_side(module):
    found, _ = collected(module, r"\begin{align*} a &= b \tag{4.1} \\ &= c \tag{4.2} \end{align*}")
    assert found["4.2"] == r"\begin{aligned}a &= b \\ &= c\end{aligned}"


def a_number_given_twice_is_told(module):
    shared = SimpleNamespace(env=SimpleNamespace(docname="book/04_attention"))
    collected(module, r"x \tag{4.3}", app=shared)
    shared.env.docname = "book/05_multihead"
    collected(module, r"y \tag{4.3}", app=shared)
    assert module.warned == ["two formulas have the number (4.3)"]
    assert shared.env.course_equations["4.3"]["tex"] == "x"
    own = extension() if module.warned is None else module
    own.warned.clear()
    collected(own, r"x \tag{4.3}", r"y \tag{4.3}")
    assert own.warned == ["two formulas have the number (4.3)"]


def pages_are_forgotten_and_joined(module):
    env, other = app().env, app().env
    module.purge(None, env, "book/04_attention")
    assert set(env.course_equations) == {"5.4", "0.2", "3.11"}
    module.merge(None, env, {"book/04_attention"}, other)
    assert set(env.course_equations) == set(other.course_equations)


def coded(module, code, docname="book/04_attention"):
    book, context = app(docname), {"body": f"<pre><span></span>{code}</pre>"}
    module.link_code(book, docname, "page.html", context, None)
    return context["body"].removeprefix("<pre><span></span>").removesuffix("</pre>"), book.builder.scripts


def C(text):
    return f'<span class="c1">{text}</span>'


LINK = '<a class="eq" href="#eq-4-1">(4.1)</a>'


def comments_of_code_are_links(module):
    code, scripts = coded(module, f"x = y  {C('# (4.1)')}\nz  {C('# no')}\nw(4.1)")
    assert code == f'<span class="eq-line" data-eq="4.1">x = y  {C("# " + LINK)}</span>\nz  {C("# no")}\nw(4.1)'
    assert scripts == ["equations.js", "symbols.js"]
    code, _ = coded(module, C("# (4.1), (5.4)"))
    assert 'data-eq="4.1 5.4"' in code and 'href="book/05_multihead.html#eq-5-4"' in code
    code, scripts = coded(module, f"<div><span>x</span>  {C('# (4.1)')}")
    assert LINK in code and "eq-line" not in code
    string = '<span class="s2">"(4.1)"</span>'
    assert coded(module, "f(4.1)") == ("f(4.1)", []) and coded(module, string) == (string, [])
    assert module.warned == []
    code, _ = coded(module, C("# (4.99)"))
    assert code == C("# (4.99)") and module.warned == [
        "book/04_attention: no formula has the number (4.99), in code"]


def printed(module, text, kind="output stream highlight-myst-ansi notranslate", docname="book/04_attention"):
    opening, ending = f'<div class="{kind}"><div class="highlight"><pre><span></span>', "</pre></div></div>"
    page, context = app(), {"body": opening + text + ending}
    module.link_code(page, docname, "page.html", context, None)
    assert context["body"].startswith(opening) and context["body"].endswith(ending)
    return context["body"].removeprefix(opening).removesuffix(ending), page.builder.scripts


def printed_numbers_are_links(module):
    there = '<a class="eq" href="book/05_multihead.html#eq-5-4">(5.4)</a>'
    for kind in ("stream", "text_plain"):
        found = printed(module, "x\n  (4.1)  dX  holds\n  (5.4)  dY", f"output {kind} highlight-myst-ansi notranslate")
        assert found == (f"x\n  {LINK}  dX  holds\n  {there}  dY", ["equations.js"])
    assert printed(module, "(2.5), f(4.1, 2), (4.99), 4.1")[0] == "(2.5), f(4.1, 2), (4.99), 4.1"  # values
    assert printed(module, "(4.1) of a note", docname="book/errata")[0] == "(4.1) of a note"
    assert printed(module, "x = f(4.1)", "highlight-ipython3 notranslate")[0] == "x = f(4.1)"
    assert module.warned == []


CHECKS = [mentions_are_links, other_numbers_are_plain, numbers_of_others_are_plain,
          headings_code_and_links_are_left_alone, a_number_without_a_formula_is_told, formulas_get_anchors,
          a_formula_begins_with_its_left_hand_side, a_number_given_twice_is_told, pages_are_forgotten_and_joined,
          comments_of_code_are_links, printed_numbers_are_links]


@pytest.mark.parametrize("check", CHECKS)
def test_the_extension(check):
    check(extension())


WRONG = [
    ("a wrong page", mentions_are_links, "page != docname else", "page == docname else"),
    ("anchors of another number", mentions_are_links, "+ anchor(tag)\n", "+ anchor(tag[:-1])\n"),
    ("text after a link is lost", mentions_are_links, "[*new, nodes.Text(plain[end:])]", "new"),
    ("4.0 is a number", other_numbers_are_plain, r"\.[1-9]\d*)\)", r"\.\d*)\)"),
    ("chapters that are not there are told", other_numbers_are_plain,
     'found[1].partition(".")[0] not in written or ', ""),
    ("numbers of notes are ours", numbers_of_others_are_plain, "THEIRS.search(text[:found.start()])", "False"),
    ("so in the errata", numbers_of_others_are_plain, "docname in NOTES and", "False and"),
    ("none in the errata is ours", numbers_of_others_are_plain, r"not re.search(r\"\bour\s*$\"".replace("\\\"", '"'),
     r'not re.search(r"\bours\s*$"'),
    ("numbers of papers are ours", numbers_of_others_are_plain, "ELSEWHERE.match(text, found.end())", "False"),
    ("headings are linked", headings_code_and_links_are_left_alone, "(nodes.title, nodes.literal,", "(nodes.literal,"),
    ("code is linked", headings_code_and_links_are_left_alone, "(nodes.title, nodes.literal,", "(nodes.title,"),
    ("nothing is told", a_number_without_a_formula_is_told, "            if not known:", "            if False:"),
    ("rows are cut in matrices", formulas_get_anchors, 'if cut[0] in (r"\\begin", "{"):', 'if cut[0] == "{":'),
    ("rows before a number are lost", formulas_get_anchors, "rows[start:end]", "rows[k:end]"),
    ("rows after the last are lost", formulas_get_anchors, "            end = len(rows)", "            pass"),
    ("one anchor a formula", formulas_get_anchors, 'block["ids"].append(anchor(tag))', 'block["ids"] = [anchor(tag)]'),
    ("a right-hand side alone", a_formula_begins_with_its_left_hand_side, "   start -= 1", "   break"),
    ("twice on two pages", a_number_given_twice_is_told, 'book[tag]["page"] != docname', "False"),
    ("twice on a page", a_number_given_twice_is_told, "or anchor(tag) in doctree.ids", ""),
    ("pages are kept", pages_are_forgotten_and_joined, 'e["page"] != docname}', "True}"),
    ("any code is linked", comments_of_code_are_links, "(c1|sd)", r"(\w*)"),
    ("lines are not marked", comments_of_code_are_links, "if tags and not", "if not tags and not"),
    ("what is printed is plain", printed_numbers_are_links, "PRINTED.sub(printed, body)", "body"),
    ("numbers of notes are ours in print", printed_numbers_are_links, "body if pagename in NOTES else ", ""),
    ("only what print prints is linked", printed_numbers_are_links, '"output [^"]*high', '"output stream high'),
    ("code is taken for output", printed_numbers_are_links, '<div class="output [^"]*highlight-myst-ansi[^"]*">',
     '<div class="[^"]*">'),
    ("values are told or linked", printed_numbers_are_links, "number(mention) if mention[1] in book else mention[0]",
     "number(mention)"),
    ("a block is cut", comments_of_code_are_links, 'not re.search(r"</?div", line)', "True"),
]


@pytest.mark.parametrize(("check", "old", "new"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_a_wrong_extension_is_caught(check, old, new):
    with pytest.raises((AssertionError, KeyError)):
        check(extension(old, new))


# Every number of the sources

def written(path):
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


PAGES = sorted({*BOOK.glob("*.ipynb"), *BOOK.glob("exercises/*.ipynb"), *BOOK.glob("*.md"), *BOOK.glob("api/*.md")}
               - {*BOOK.glob("*.nb.md")})
TEXTS = {str(path.relative_to(BOOK).with_suffix("")): written(path) for path in PAGES}
MODULE = extension()


def tagged(texts):
    return [tag for text in texts for tag in re.findall(r"\\tag\*?\{([^}]*)\}", text)]


def blank(text):
    """The text with formulas and code as blanks, and nothing moved."""
    plain = r"\$\$.*?\$\$|\\begin\{(\w+\*)\}.*?\\end\{\1\}|```.*?```|`[^`\n]*`|\$[^$\n]*\$"
    return re.sub(plain, lambda m: " " * len(m[0]), text, flags=re.S)


def unanswered(name, text, tags):
    """Mentions that no formula answers; a number in a formula or in code is none."""
    return [found[0] for found, known in MODULE.mentions(blank(text), name, tags) if not known]


@pytest.fixture(scope="module")
def tags():
    return tagged(TEXTS.values())


def test_every_number_is_given_once(tags):
    assert len(tags) == len(set(tags)) > 400 and all(re.fullmatch(r"\d+\.[1-9]\d*", tag) for tag in tags)
    assert tagged([r"a \tag{4.1}", r"b \tag{4.1a} \\ c \tag{A}"]) == ["4.1", "4.1a", "A"]


def test_every_mention_has_a_formula(tags):
    found = {name: wrong for name, text in TEXTS.items() if (wrong := unanswered(f"book/{name}", text, tags))}
    assert found == {}, "a value is not written alone in parentheses, for that is how an equation is named"
    assert unanswered("book/x", "By (4.2), (4.1) and $f(4.9)$, `(4.7)`.", ["4.1"]) == ["(4.2)"]


def sections_written_as_equations(name, text):
    """A bare (4.7) in a section of chapter 4 that comes before that of the formula means section 4.7, and in a list or
    a table one anywhere before the formula, unless the text says equation; and so does a bare (4.1, 4.3), for
    equations have parentheses each."""
    if name in ("source_map", "errata", "notation_notes") or (chapter := chapter_of(name)) is None:
        return []
    formulas = {tag[1]: tag.start() for tag in re.finditer(r"\\tag\{([^}]*)\}", text)}
    heads, prose = [head.start() for head in re.finditer(r"(?m)^##? .*", text)], blank(text)
    number = rf"{chapter}\.[1-9]\d*"
    found = [m[0] for m in re.finditer(rf"\({number}(?:(?:, | and | to |–){number})+\)", prose)]
    for mention in re.finditer(rf"\(({number})\)", prose):
        formula, line = formulas.get(mention[1], 0), prose[:mention.start()].rpartition("\n")[2]
        early = mention.start() < formula if re.match(r"\s*(?:[-*] |\||\d+\. )", line) else any(
            mention.start() < head < formula for head in heads)
        if early and not re.search(r"\b[Ee]quations?\s*$", prose[:mention.start()]):
            found.append(mention[0])
    return found


def test_a_section_is_not_written_as_an_equation():
    found = {name: wrong for name, text in TEXTS.items() if (wrong := sections_written_as_equations(name, text))}
    assert found == {}, "write section 4.7: it becomes a link, and (4.7) leads to an equation"


@pytest.mark.parametrize(("name", "right", "wrong"), [
    ("01_recurrent", "(section 1.4)", "(1.4)"), ("01_recurrent", "(sections 1.1 and 1.2)", "(1.1, 1.2)"),
    ("03_position", "RoPE (section 3.7)", "RoPE (3.7)"), ("04_attention", "(section 4.10)", "(4.10)"),
    ("04_attention", "(sections 4.8 and 4.9)", "(4.8, 4.9)"),
    ("13_translate", "(sections 13.1 to 13.3)", "(13.1 to 13.3)"),
    ("13_translate", "trap (section 13.7)", "trap (13.7)")])
def test_a_section_written_as_an_equation_is_seen(name, right, wrong):
    assert TEXTS[name].count(right) == 1
    (found,) = sections_written_as_equations(name, TEXTS[name].replace(right, wrong))
    assert wrong.endswith(found)


def test_an_equation_may_be_named_before_it_comes():
    text = ("# 4 · T\n\n## 4.1 · A\n\nBy (4.2) below, and by equation (4.3).\n\n$$ x \\tag{4.2} $$\n\n"
            "## 4.2 · B\n\n$$ y \\tag{4.3} $$")
    assert sections_written_as_equations("04_attention", text) == []
    assert sections_written_as_equations("04_attention", text.replace("equation (4.3)", "(4.3)")) == ["(4.3)"]
    assert sections_written_as_equations("04_attention", text.replace("By", "- By")) == ["(4.2)"]
    assert sections_written_as_equations("05_multihead", text.replace("equation (4.3)", "(4.3)")) == []


ZERO = {"02_embedding": ["0.20", "0.24", "0.26", "0.24", "0.26", "0.20"], "17_capstone": ["0.18", "0.20", "0.29"]}


def test_values_are_not_taken_for_equations_of_chapter_0():
    """(0.25) may be a value: each mention of chapter 0 on another chapter's page was read, and is listed."""
    found = {name: re.findall(r"\((0\.[1-9]\d*)\)", text) for name, text in TEXTS.items()
             if name not in ("00_gradcheck", "exercises/ex00_gradcheck", "workshop")}
    assert {name: numbers for name, numbers in found.items() if numbers} == ZERO


# The pages that were built

def wrong_links(text):
    """Links to equations that do not lead where they say."""
    links = re.findall(r'<a class="eq(?: [^"]*)?" href="([^"]*)"[^>]*>(?:<span[^>]*>)?\(([\d.]+)\)', text)
    assert len(links) == len(re.findall(r'<a class="eq[ "]', text))
    return [f"({tag}) leads to {href}" for href, tag in links
            if urlsplit(href).fragment != f"eq-{tag.replace('.', '-')}"]


def missing_anchors(text, path, ids):
    gone = []
    for href in re.findall(r'<a class="eq(?: [^"]*)?" href="([^"]*)"', text):
        url = urlsplit(html.unescape(href))
        target = (path.parent / url.path).resolve() if url.path else path
        if url.fragment not in ids.get(target, ()):
            gone.append(href)
    return gone


@pytest.fixture(scope="module")
def built():
    pages = (path for path in built_book().rglob("*.html") if "_static" not in path.parts)
    return {path: path.read_text(encoding="utf-8") for path in pages}


def test_every_link_leads_to_its_formula(built, tags):
    ids = {path: set(re.findall(r'id="(eq-[\d-]+)"', text)) for path, text in built.items()}
    assert sorted(i for found in ids.values() for i in found) == sorted(f"eq-{t.replace('.', '-')}" for t in tags)
    assert {str(p): w for p, text in built.items() if (w := wrong_links(text) + missing_anchors(text, p, ids))} == {}
    links = [text.count('<a class="eq') for text in built.values()]
    assert sum(links) > 1400 and sum(n > 0 for n in links) > 60
    path, text = next((p, t) for p, t in built.items() if p.stem == "04_attention" and p.parent.name == "book")
    assert wrong_links(text.replace('href="#eq-4-21"', 'href="#eq-4-2"', 1)) == ["(4.21) leads to #eq-4-2"]
    assert missing_anchors(text.replace('href="#eq-4-21"', 'href="04.html#eq-4-21"', 1), path, ids)
    assert missing_anchors(text, path, ids | {path: ids[path] - {"eq-4-21"}})


def test_the_data_has_every_formula(built, tags):
    text = (HTML / "_static" / "equations_data.js").read_text(encoding="utf-8")
    rows = json.loads(re.match(r"window.EQUATIONS = (\{.*?\n\});", text, flags=re.S)[1])
    assert set(rows) == set(tags)
    letters = json.loads(re.search(r"window.EQUATIONS_LETTERS = (\{.*?\});", text)[1])
    assert letters.keys() == set(LETTER.findall("".join(drawing for *_, drawing in rows.values())))
    assert all(re.match("M|$", path) for path in letters.values())  # a blank has none
    for tag, (page, title, tex, drawing) in rows.items():
        assert drawing.count("<math ") == drawing.count("<mjx-container ") == 1, tag
        assert f'id="eq-{tag.replace(".", "-")}"' in built[(HTML / page).resolve()], tag
        assert title and tex and r"\tag" not in tex and tex.count("{") == tex.count("}"), tag


# In a browser: the card, the way there and back, the light

@pytest.fixture(scope="module")
def site(built):
    with serve(HTML) as site:
        yield site


SIGNS = """[...e.querySelectorAll("svg use")].map((use) => {  // "?" for one without an outline
    const path = document.getElementById(use.getAttribute("xlink:href").slice(1));
    return /^(M|$)/.test(path?.getAttribute("d")) ? use.dataset.c : "?";
}).join(" ")"""


def card(page, link):
    """The signs of the formula that the card of a link shows; "" if none opens."""
    link.scroll_into_view_if_needed()
    link.hover()
    try:
        page.locator(".eq-card svg").wait_for(timeout=20000)
    except Late:
        return ""
    return page.locator(".eq-card").evaluate(f"(e) => {SIGNS}")


@pytest.fixture(scope="module")
def maths():
    with drawn_by() as maths:
        yield maths


HERE = ("book/04_attention.html", "4.8", r"O = \operatorname{softmax}\!\left( \frac{Q K^\top}{\sqrt{d_k}} \right) V")
THERE = ("book/05_multihead.html", "4.25", r"\begin{aligned} dv_{jc} &= \sum_i a_{ij}\, do_{ic} \\ dV &= A^\top dO "
         r"\end{aligned}")
LAZY = ("_modules/byhand/np/softmax.html", "4.19",  # a listing: the letters come with the first card
        r"J = \operatorname{diag}(a) - a a^\top")


def shows(page, url, number, drawing):
    visit(page, url)
    link = page.locator(f'a.eq[href$="#eq-{number.replace(".", "-")}"]:visible').first
    return card(page, link) == signs(drawing) != ""


@pytest.mark.browser
@pytest.mark.parametrize(("name", "number", "tex"), [HERE, THERE, LAZY], ids=["here", "elsewhere", "no formula"])
def test_a_card_shows_the_formula(chrome, site, maths, name, number, tex):
    with visitor(chrome, site) as page:
        assert shows(page, f"{site}/{name}", number, maths.draw(tex, True)) and page.found == []
        assert number in page.locator(".eq-card .eq-from").inner_text()
        page.keyboard.press("Escape")
        assert page.locator(".eq-card").count() == 0
        assert not shows(page, f"{site}/{name}", number, maths.draw(tex.replace("=", "<", 1), True))


@pytest.mark.browser
def test_a_card_opens_from_a_file(chrome, built, maths):
    site = HTML.as_uri()
    with visitor(chrome, site) as page:
        assert shows(page, f"{site}/{THERE[0]}", THERE[1], maths.draw(THERE[2], True)) and page.found == []


@pytest.mark.browser
def test_another_formula_in_the_card_is_caught(chrome, site, maths):
    """Wrong data, a letter less, or a wrong address of the link."""
    drawing = maths.draw(HERE[2], True)
    with visitor(chrome, site) as page:
        data = (HTML / "_static" / "equations_data.js").read_text(encoding="utf-8")
        assert (wrong := data.replace('"4.8":', '"x":').replace('"4.7":', '"4.8":')) != data
        page.route("**/equations_data.js*", lambda route: route.fulfill(body=wrong))
        assert not shows(page, f"{site}/{HERE[0]}", HERE[1], drawing)
    with visitor(chrome, site) as page:
        page.route("**/equations_data.js*", lambda route: route.fulfill(body=data.replace('"MJX-TEX-N-28":', '"x":')))
        assert not shows(page, f"{site}/{LAZY[0]}", LAZY[1], maths.draw(LAZY[2], True))
    with visitor(chrome, site) as page:
        visit(page, f"{site}/{HERE[0]}")
        link = page.locator('a.eq[href="#eq-4-8"]:visible').first
        link.evaluate("(a) => { a.href = '#eq-4-7'; }")
        assert card(page, page.locator('a.eq[href="#eq-4-7"]:visible').first) != signs(drawing)


def sight(page, selector):
    """Whether the thing is in the window."""
    return page.evaluate("""(s) => { const b = document.querySelector(s)?.getBoundingClientRect();
        return Boolean(b) && b.height > 0 && b.top >= 0 && b.bottom <= innerHeight; }""", selector)


def waits(page, test, arg=None):
    try:
        page.wait_for_function(test, arg=arg, timeout=8000)
    except Late:
        return False
    return True


@pytest.mark.browser
@pytest.mark.parametrize("protocol", ["http", "file"])
def test_there_and_back(chrome, site, built, protocol):
    """By key: the card opens, Enter follows to another page, the formula is in sight, and the chip leads back."""
    site = HTML.as_uri() if protocol == "file" else site
    with visitor(chrome, site) as page:
        visit(page, f"{site}/{THERE[0]}")
        page.keyboard.press("Tab")
        link = page.locator('a.eq[href$="#eq-4-25"]:visible').first
        link.focus()
        page.locator(".eq-card svg").wait_for(timeout=20000)
        assert link.get_attribute("aria-describedby") == "eq-card"
        page.keyboard.press("Enter")
        page.locator(".eq-back").wait_for(timeout=20000)
        assert page.url.endswith("04_attention.html#eq-4-25") and sight(page, "#eq-4-25")
        assert page.locator(".eq-back").inner_text().startswith("↩ back to 5")
        page.locator(".eq-back").click()
        page.wait_for_url("**/05_multihead.html")
        assert page.locator(".eq-back").count() == 0 and page.found == []


@pytest.mark.browser
@pytest.mark.firefox
def test_on_one_page_and_back(chrome, site):
    with visitor(chrome, site) as page:
        visit(page, f"{site}/{HERE[0]}")
        link = page.locator('p a.eq[href="#eq-4-8"]:visible').last
        link.scroll_into_view_if_needed()
        link.click()
        page.locator(".eq-back").wait_for()
        assert sight(page, "#eq-4-8")
        page.locator(".eq-back").click()
        assert waits(page, "!location.hash && !document.querySelector('.eq-back')")
        assert link.evaluate("(a) => { const y = a.getBoundingClientRect().top; return y > 0 && y < innerHeight; }")


@pytest.mark.browser
def test_a_tap_shows_the_card_and_a_second_follows(chrome, site):
    must_tap(chrome)
    context = chrome.new_context(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    with contextlib.closing(context):
        page = context.new_page()
        page.goto(f"{site}/{THERE[0]}")
        link = page.locator('p a.eq[href$="#eq-4-25"]').first
        link.scroll_into_view_if_needed()
        link.tap()
        page.locator(".eq-card svg").wait_for(timeout=20000)
        box = page.locator(".eq-card").bounding_box()
        assert "05_multihead" in page.url and box["x"] >= 0 and box["x"] + box["width"] <= 390
        assert page.locator(".eq-card .eq-from").bounding_box()["height"] >= 44
        link.tap()
        page.wait_for_url("**/04_attention.html#eq-4-25")
        page.locator(".eq-back").wait_for(timeout=20000)
        assert page.locator(".eq-back").bounding_box()["height"] >= 44


@pytest.mark.browser
def test_a_number_lights_its_row_and_a_formula_its_lines_of_code(chrome, site):
    lit = "[...document.querySelectorAll('.eq-lit')].map((e) => e.dataset.eq ?? e.id ?? '')"
    with visitor(chrome, site) as page:
        visit(page, f"{site}/{HERE[0]}")
        code = page.locator('.eq-line[data-eq="4.17"] a.eq:visible').first
        code.scroll_into_view_if_needed()
        code.hover()
        assert "eq-4-17" in page.evaluate(lit)
        page.locator("#eq-4-17").hover()
        assert waits(page, f"{lit}.length && {lit}.every((tag) => tag.split(' ').includes('4.17'))")
        page.mouse.move(1, 1)
        assert waits(page, "!document.querySelector('.eq-lit')")


@pytest.mark.browser
def test_by_key_a_formula_leads_to_its_line_of_code_and_back(chrome, site):
    """Only one that code computes is a stop; it lies over its number, also where that has moved."""
    where = """(a) => { const n = [...a.parentElement.querySelectorAll(".eq-number, [id^='mjx-eqn:']")].map((e) =>
        e.getBoundingClientRect()).filter((b) => b.height), s = a.getBoundingClientRect();
        return n.some((b) => ["left", "top", "right"].every((k) => Math.abs(b[k] - s[k]) < 1)); }"""
    with visitor(chrome, site) as page:
        visit(page, f"{site}/{HERE[0]}")
        page.locator(".eq-stop").first.wait_for(state="attached")
        for width in (1280, 390):
            narrow(page, width)
            stops = [a for a in page.locator(".eq-stop").all() if a.is_visible()]
            assert len(stops) >= 5 and all(a.evaluate(where) for a in stops)
        lines = {tag for line in page.locator(".eq-line").all() for tag in line.get_attribute("data-eq").split()}
        tags = [a.get_attribute("href").removeprefix("#eq-").replace("-", ".") for a in page.locator(".eq-stop").all()]
        assert len(tags) == len(set(tags)) and set(tags) <= lines
        page.keyboard.press("Tab")
        page.locator('.eq-stop[href="#eq-4-17"]').focus()
        assert page.evaluate("[...document.querySelectorAll('.eq-lit')].every((e) => e.dataset.eq.includes('4.17'))")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.closest('.eq-line')?.dataset.eq.includes('4.17')")
        assert page.evaluate("document.activeElement.checkVisibility()")
        page.keyboard.press("Enter")
        page.locator(".eq-back").wait_for()
        assert sight(page, "#eq-4-17") and page.found == []
