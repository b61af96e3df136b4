"""What the course adds to Jupyter Book: tidy pages, links between them, and one directive for the API pages."""

import importlib
import inspect
import os
import re
import sys
import types
import typing
from html import escape
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

HERE = Path(__file__).resolve().parent


URL = os.environ.get("BOOK_URL", "").strip()  # where the book is published, e.g. https://someone.github.io/book/
URL = URL and URL.rstrip("/") + "/"


def prepare(app, config):
    """Where our style sheet lies, and the address of the published site, where there is one."""
    config.html_static_path.append("_ext/static")
    if URL:
        config.html_baseurl = config.ogp_site_url = URL
        config.sitemap_url_scheme = "{link}"
        config.ogp_social_cards = {"enable": False}  # else matplotlib draws one picture a page
        config.ogp_image = "_static/card.png"  # by tools/make_front.py
        config.ogp_image_alt = "Where a small trained transformer looks while it sorts eight digits"


def describe(app, pagename, templatename, context, doctree):
    """The first paragraph of a page is its description for search engines and link previews."""
    if doctree and (first := next(doctree.findall(nodes.paragraph), None)):
        text = " ".join(first.astext().split())
        context["metatags"] = context.get("metatags", "") + f'<meta name="description" content="{escape(text)}">\n'


def share_menu(app, pagename, templatename, context, doctree):
    """The menu beside a listing of a source file is the same in each folder: made once, not for each of 73 files."""
    if not pagename.startswith("_modules/"):
        return
    made, make, depth = vars(app).setdefault("course_menus", {}), context["toctree"], pagename.count("/")

    def toctree(**options):
        key = (depth, *sorted(options.items()))
        if key not in made:
            made[key] = make(**options)
        return made[key]

    context["toctree"] = toctree


def tidy(app, pagename, templatename, context, doctree):
    """Drop scripts that stand twice on a page, and all of thebe, whose code is fetched from another site."""
    seen, kept = set(), []
    for script in context["script_files"]:
        key = (str(script.filename), script.attributes.get("body"))
        if key not in seen and "thebe" not in str(key).lower():
            kept.append(script)
        seen.add(key)
    context["script_files"] = kept
    context["css_files"] = [css for css in context["css_files"] if "thebe" not in str(css.filename)]
    if "body" in context:
        body = re.sub(r'<script type="text/x-thebe-config">.*?</script>', "", context["body"], flags=re.S)
        body = body.replace('<div role="list" class="citation-list">', '<div class="citation-list">')
        context["body"] = body.replace(' aria-label="Toggle hidden content"', "")  # the words beside it say more


def finish(app, exception):
    """Let GitHub Pages serve `_static`; leave out what is never loaded."""
    if exception or app.builder.format != "html":
        return
    (Path(app.outdir) / ".nojekyll").touch()
    for name in ("sphinx-thebe.js", "sphinx-thebe.css"):
        (Path(app.outdir) / "_static" / name).unlink(missing_ok=True)


NUMBER = re.compile(r"\d+(?:\.\d+)?")
ONE = rf"{NUMBER.pattern}(?!\d|,\d)"  # not the 12 of 12,000
MENTION = re.compile(rf"\b([Cc]hapter|[Ss]ection)(?:s\s+{ONE}(?:(?:,\s+|\s+and\s+|,\s+and\s+|\s+to\s+|–){ONE})*"
                     rf"|\s+{ONE})")  # one after a singular: "chapter 2, and 50 words"
ELSEWHERE = re.compile(r"\s+of\s+(?:(?:the|their|his|her|that)\s+(?:paper|article|book|report|thesis)\b|[A-Z]|$)")
SHORT = 40  # characters of TeX in a formula that a phone can show in one line together with what follows it
PLACES = (nodes.section, nodes.list_item, nodes.row)
NEEDS = "You need:"
NO_LINKS = (nodes.title, nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw, nodes.comment)


def places(app):
    """The address of each written chapter, "4", and of each numbered section, "4.10", wherever a chapter goes on."""
    found = {}
    for name in app.env.found_docs:
        if chapter := re.fullmatch(r"book/(?:(\d\d)_\w+|workshop|runs)", name):
            if chapter[1]:
                found[str(int(chapter[1]))] = name, ""
            for entry in app.env.tocs[name].findall(nodes.reference):
                if number := re.match(r"(\d+\.\d+) · ", entry.astext()):
                    found[number[1]] = name, entry["anchorname"]
    return found


def put(old, *new):
    """New nodes in the place of this one; docutils' own `replace` takes the first that reads the same."""
    parent = old.parent
    at = next(k for k, child in enumerate(parent.children) if child is old)
    parent[at:at + 1] = new


def link_mentions(app, doctree, docname):
    """The first mention of a chapter, or of a section of one, is a link to it: in each section, and in what is read
    alone: each item of a list, each row of a table, and what a page says that one needs. A link that names a section
    goes there and not to the top of the page. A section of a paper is none of ours."""
    where, seen = places(app), set()

    def uri(number):
        page, anchor = where[number]
        return (app.builder.get_relative_uri(docname, page) if page != docname else "") + anchor

    for text in list(doctree.findall(nodes.Text)):
        parents = [text.parent]
        while parents[-1].parent is not None:
            parents.append(parents[-1].parent)
        if any(isinstance(p, NO_LINKS) for p in parents):
            continue
        section = next((id(p) for p in parents if isinstance(p, PLACES)
                        or isinstance(p, nodes.paragraph) and p.astext().startswith(NEEDS)), None)
        plain, pieces, end = text.astext(), [], 0
        link = next((p for p in parents if isinstance(p, nodes.reference)), None)
        if link is not None and NUMBER.fullmatch(plain):
            plain = f"section {plain}"  # a bare number is a link in the table of the notes
        for mention in MENTION.finditer(plain):
            if mention[1].lower() == "section" and ELSEWHERE.match(plain, mention.end()):
                continue
            numbers = list(NUMBER.finditer(mention[0]))
            for number in numbers:
                start = mention.start() + (number.start() if len(numbers) > 1 else 0)
                to = number[0] if ("." in number[0]) == (mention[1].lower() == "section") else ""
                if to not in where or (link is None and ((section, to) in seen or where[to] == (docname, ""))):
                    continue
                seen.add((section, to))
                if link is not None:
                    if number is numbers[0] and link.get("refuri", "").split("#")[0] == uri(to).split("#")[0]:
                        link["refuri"] = uri(to)
                    continue
                stop = mention.start() + number.end()
                pieces += [nodes.Text(plain[end:start]),
                           nodes.reference("", plain[start:stop], internal=True, refuri=uri(to))]
                end = stop
        if pieces:
            put(text, *pieces, nodes.Text(plain[end:]))


def keep_punctuation(app, doctree, docname):
    """A comma or a full stop stays in the line of the formula before it."""
    for formula in list(doctree.findall(nodes.math)):
        after = formula.next_node(descend=False, siblings=True)
        if not isinstance(after, nodes.Text) or len(formula.astext()) > SHORT:
            continue
        mark = re.match(r"[^\s\w]+", after.astext())
        if mark and mark[0][0] in ",.;:!?)":
            put(after, nodes.Text(after.astext()[mark.end():]))
            together = nodes.inline(classes=["together"])
            put(formula, together)
            together += [formula, nodes.Text(mark[0])]


def public_names(module):
    """`__all__`, or else what the module defines; a cache is shown with the function that returns it."""
    own = [name for name, o in vars(module).items() if getattr(o, "__module__", None) == module.__name__]
    public = [name for name in own if not name.startswith("_") and not name.endswith("Cache")]
    names = [name for name in getattr(module, "__all__", public)  # what it has from elsewhere is described there
             if getattr(getattr(module, name), "__module__", module.__name__).startswith(module.__name__)]
    return [n for n in names  # a loop that Numba compiles wraps the function that it was
            if inspect.isfunction(inspect.unwrap(getattr(module, n))) or inspect.isclass(getattr(module, n))]


class ModuleApi(SphinxDirective):
    """`.. module-api:: byhand.np.softmax`: a table of the module's names, then each with docstring and source."""

    required_arguments = 1

    def run(self):
        module = importlib.import_module(self.arguments[0])
        names = public_names(module)
        lines = [f".. automodule:: {module.__name__}", "", ".. autosummary::", "   :nosignatures:", ""]
        lines += [f"   {name}" for name in names] + [""]
        for name in names:
            if inspect.isclass(getattr(module, name)):
                lines += [f".. autoclass:: {name}", "   :members:", ""]
            else:
                lines += [f".. autofunction:: {name}", ""]
        return self.parse_text_to_nodes(StringList(lines, source=module.__name__))


def kind(annotation):
    """A type as a reader wants it: `Float[Array, "n d"]` is "float, shape n d", a cache is the names that it holds."""
    args = typing.get_args(annotation)
    if hasattr(annotation, "dim_str"):
        shape = annotation.dim_str
        words = {"...": "", "": ", a single number"}.get(shape, f", shape ``{shape}``")
        return annotation.__name__.split("[")[0].lower() + words
    if annotation is types.NoneType:
        return "None"
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        return " or ".join(dict.fromkeys(map(kind, args)))
    if typing.get_origin(annotation) is tuple:
        return "; ".join(map(kind, args))
    if typing.get_origin(annotation) is dict:
        return f"dict of {kind(args[1])}"
    name = getattr(annotation, "__name__", str(annotation))
    return f"cache of {', '.join(annotation._fields)}" if name.endswith("Cache") else name


def plain_docstring(app, what, name, obj, options, lines):
    """Docstrings are plain text: keep `*B n d` from being read as markup, and add the shapes of the annotations."""
    for i, line in enumerate(lines):
        parts = re.split(r"`+([^`]+)`+", line)
        parts[::2] = [re.sub(r"([*|\\]|_(?!\w))", r"\\\1", text) for text in parts[::2]]
        parts[1::2] = [f"``{code}``" for code in parts[1::2]]
        lines[i] = "".join(parts)
    if what in ("function", "class", "method") and not issubclass(obj if what == "class" else object, tuple):
        signature = inspect.signature(obj)
        lines.append("")
        for p in signature.parameters.values():
            if p.annotation is not p.empty:
                lines.append(f":param {p.name}: {kind(p.annotation)}")
        if what != "class" and signature.return_annotation is not signature.empty:
            lines.append(f":returns: {kind(signature.return_annotation)}")


def setup(app):
    sys.path.insert(0, str(HERE.parent / "lib"))
    app.add_css_file("course.css")
    app.add_js_file("course.js", loading_method="defer")
    app.add_directive("module-api", ModuleApi)
    app.connect("autodoc-process-docstring", plain_docstring)
    app.connect("config-inited", prepare, priority=900)
    for extension in ("sphinx_sitemap", "sphinxext.opengraph") if URL else ():
        app.setup_extension(extension)
    app.connect("doctree-resolved", link_mentions)
    app.connect("doctree-resolved", keep_punctuation)
    app.connect("html-page-context", describe, priority=100)
    app.connect("html-page-context", share_menu, priority=100)
    app.connect("html-page-context", tidy, priority=900)
    app.connect("build-finished", finish)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
