"""Search that finds sections, without a network: an index for lunr.js, made at build time, loaded when one searches.

A result is a section of a page, a term of the glossary or a name of the library. book/search.yml says which words mean
the same and what else a section is called. static/search.js asks the index; its `plain` and `plain` here must agree.
"""

import functools
import importlib.util
import json
import re
import unicodedata
from importlib.metadata import files
from pathlib import Path

import yaml
from docutils import nodes
from sphinx import addnodes
from sphinx.util import logging

NEEDS = ("lunr", "mkdocs", "pylatexenc")  # mkdocs only for the file lunr.js, which its wheel brings along
HERE = Path(__file__).resolve().parent
WORDS = HERE.parent / "book" / "search.yml"
FIELDS = [{"field_name": "title", "boost": 5}, {"field_name": "named", "boost": 6}, {"field_name": "text"}]
FACTOR = {"chapter": 1, "exercise": .45, "term": .25, "page": .2, "name": .12}  # of the score of each kind of result
TAIL = re.compile(r"Summary|Further reading|Typical mistakes|What the \w+ (lecture )?notes say|Where a fault shows")
NO_RESULT = {"Where you stand", "Exercises"}
NO_PAGES = {"book/bibliography", "book/source_map"}  # rows that repeat what stands elsewhere
SILENT = (nodes.raw, nodes.literal_block, nodes.doctest_block, nodes.comment, nodes.target, nodes.system_message,
          nodes.image, nodes.substitution_definition, nodes.field_list, addnodes.toctree, addnodes.index,
          addnodes.desc_signature)


GREEK = dict(zip("αβγδεζηθικλμνξοπρςστυφχψω", (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma sigma tau upsilon "
    "phi chi psi omega").split(), strict=True))


def plain(text):
    """Small letters a to z and digits, one blank between words: both sides of a search are compared in it."""
    text = re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFKD", text.replace("√", " sqrt "))).lower()
    return re.sub(r"[^a-z0-9]+", " ", re.sub("[α-ω]", lambda letter: f" {GREEK[letter[0]]} ", text)).strip()


@functools.cache
def settings():
    """Groups of words that mean the same, and the further names of each numbered section."""
    found = yaml.load(WORDS.read_text(encoding="utf-8"), yaml.BaseLoader)  # text only: 4.10 is no number
    groups = [[plain(phrase) for phrase in group.split(",")] for group in found["same"]]
    return groups, found["sections"]


@functools.cache
def patterns():
    return [re.compile(rf"\b(?:{'|'.join(phrases)})s?\b") for phrases in settings()[0]]


def together(text):
    """Plain text and, for each group of which it has a word, the name of the group."""
    text = plain(text)
    return " ".join([text, *(f"zz{k}" for k, pattern in enumerate(patterns()) for _ in pattern.findall(text))])


@functools.cache
def formula(tex):
    """A formula as one line of text, √d_k; some of them only LaTeX can read."""
    from pylatexenc.latex2text import LatexNodes2Text

    text = LatexNodes2Text(math_mode="text", strict_latex_spaces=True).latex_to_text(f"${tex}$")
    return " ".join(re.sub(r"√\((\w+)\)", r"√\1", text).split())


def say(node, read=formula):
    """What a reader reads: no code, no output but captions, no displayed formula."""
    if isinstance(node, nodes.math):
        return read(node.astext())
    if isinstance(node, nodes.Text):
        return node.astext()
    if isinstance(node, nodes.math_block):
        return " … "
    if isinstance(node, SILENT) or (isinstance(node, addnodes.pending_xref) and node.get("refdomain") == "cite"):
        return ""
    if node.get("nb_element") == "cell_code":
        return " ".join(say(caption, read) for caption in node.findall(nodes.caption))
    inside = "".join(say(child, read) for child in node.children)
    return inside if isinstance(node, nodes.Inline) else f"{inside} "


def hidden(node):
    """What one may search for though no excerpt shows it: names that code defines, words inside formulas."""
    for code in node.findall(nodes.literal_block):
        yield from re.findall(r"(?m)^(?:def|class) (\w+)", code.astext())
    for block in node.findall(nodes.math_block):
        yield from re.findall(r"[A-Za-z]{3,}", re.sub(r"\\(begin|end|tag|text|mathrm|operatorname|left|right)", " ",
                                                      block.astext()))


def results(doctree, page):
    """The results of a page: anchor, title, what stands above it, kind, factor of the score, text, hidden words."""
    kind = ("exercise" if "/exercises/" in page else
            "chapter" if re.fullmatch(r"book/(\d\d_\w+|workshop|runs|start)", page) else "page")

    def result(anchor, title, above, text, more="", kind=kind, factor=1.0):
        return {"at": anchor, "title": title, "above": above, "kind": kind, "text": " ".join(text.split()),
                "more": more, "factor": factor * FACTOR[kind]}

    def walk(section, above):
        title = " ".join(say(next(section.findall(nodes.title))).split())
        parts = [part for part in section.children if not isinstance(part, nodes.section | nodes.title)]
        lists = [part for part in parts if isinstance(part, addnodes.glossary | addnodes.desc)]
        text = " ".join(say(part) for part in parts if part not in lists)
        if title not in NO_RESULT:
            more = " ".join(word for part in parts if part not in lists for word in hidden(part))
            factor = .4 if TAIL.match(title) else 1 if above else .7
            yield result(f"#{section['ids'][0]}" if above else "", title, " › ".join(above), text, more, factor=factor)
        for part in lists:
            if isinstance(part, addnodes.glossary):
                for item in part.findall(nodes.definition_list_item):
                    for term in item.findall(nodes.term):
                        yield result(f"#{term['ids'][0]}", term.astext(), title, say(item.children[-1]), kind="term")
            elif names := part.next_node(addnodes.desc_signature)["ids"]:
                yield result(f"#{names[0]}", names[0].rpartition(".")[2], names[0].rpartition(".")[0], say(part),
                             kind="name")
        for part in section.children:
            if isinstance(part, nodes.section):
                yield from walk(part, [*above, title])

    return [found for section in doctree.children if isinstance(section, nodes.section) for found in walk(section, [])]


def collect(app, doctree):
    page = app.env.docname
    if page not in NO_PAGES and not page.startswith("book/_autosummary"):
        stored(app.env)[page] = results(doctree, page)


def stored(env):
    if not hasattr(env, "course_results"):
        env.course_results = {}
    return env.course_results


def purge(app, env, page):
    stored(env).pop(page, None)


def merge(app, env, pages, other):
    stored(env).update({page: stored(other)[page] for page in pages if page in stored(other)})


def index(found, address):
    """What search.js loads: the index that lunr.js understands, what it shows of each result, the groups of words."""
    from lunr import lunr

    everything = [(address(page), result) for page in sorted(found) for result in found[page]]
    shown, documents = [], []
    for k, (page, result) in enumerate(everything):
        number = re.match(r"(\d+\.\d+) · ", result["title"])
        names = settings()[1].get(number[1], "") if number and result["kind"] == "chapter" else ""
        shown.append([page + result["at"], *(result[part] for part in ("title", "above", "kind", "text")), names])
        documents.append(({"id": str(k), "title": together(result["title"]), "named": together(names),
                           "text": together(f"{result['text']} {result['more']}")}, {"boost": result["factor"]}))
    return {"groups": settings()[0], "shown": shown, "lunr": lunr("id", FIELDS, documents).serialize()}


def write(app, exception):
    if exception or app.builder.format != "html":
        return
    target = Path(app.outdir) / "_static" / "search"
    target.mkdir(parents=True, exist_ok=True)
    script = next(f for f in files("mkdocs") if f.name == "lunr.js")
    (target / "lunr.js").write_bytes(Path(script.locate()).read_bytes())
    data = json.dumps(index(stored(app.env), app.builder.get_target_uri), ensure_ascii=False, separators=(",", ":"))
    (target / "index.js").write_text(f"courseIndex = {data};\n", encoding="utf-8")
    for name in ("searchtools.js", "language_data.js"):
        (Path(app.outdir) / "_static" / name).unlink(missing_ok=True)


def own_page(app):
    """The page of all results, in place of Sphinx's, which would want an index of whole pages."""
    if app.builder.format == "html":
        yield "search", {}, "course_search.html"


def switch_off(app):
    app.builder.search = False


def templates(app, config):
    config.templates_path.append(str(HERE / "templates"))


def setup(app):
    about = {"version": "1", "env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
    if missing := [name for name in NEEDS if importlib.util.find_spec(name) is None]:
        logging.getLogger(__name__).warning("the book gets Sphinx's plain search: %s not installed; run make again",
                                            ", ".join(missing))
        return about
    app.connect("config-inited", templates)
    app.connect("builder-inited", switch_off)
    app.connect("doctree-read", collect, priority=900)
    app.connect("env-purge-doc", purge)
    app.connect("env-merge-info", merge)
    app.connect("html-collect-pages", own_page)
    app.connect("build-finished", write)
    app.add_js_file("search.js", loading_method="defer")
    app.add_css_file("search.css")
    return about
