"""Formulas are drawn while the book is built: MathJax, out of a wheel, runs here in V8 and in no reader's browser.

So they are there with the first paint, also without scripts, and a page does not carry 700 kB of MathJax. A drawing is
the SVG that MathJax makes in a browser, with MathML for who listens; sizes are in ex, so it fits every font. Its
letters stand once on a page, and formulas refer to them.
"""

import functools
import html
import json
import re
from contextlib import suppress
from importlib.metadata import files
from pathlib import Path

from docutils import nodes
from py_mini_racer import MiniRacer
from sphinx.util import logging

log = logging.getLogger(__name__)

DELIMITERS = {"inline": (r"\(", r"\)"), "block": (r"\[", r"\]")}  # what sphinx.ext.mathjax writes around TeX
MATHML = re.compile(r"<m\w+\b[^<>]*>")
LETTER = re.compile(r'xlink:href="#(MJX-[^"]+)"')
ID = 'id="maths-letters"'
START = """
MathJax.loader.require = (file) => { (0, eval)(FILES[file.replace(/^\\//, "")]); return {}; };
const drawn = (tex, display) => {
  MathJax.texReset();
  return MathJax.startup.adaptor.outerHTML(MathJax.tex2svg(tex, {display}));
};
const outline = (id) => {
  const [, letters, sign] = /^MJX-(.*)-([0-9A-F]+)$/.exec(id), {font} = MathJax.startup.output;
  const name = Object.keys(font.variant).find((name) => font.variant[name].cacheID === letters
    && font.getChar(name, parseInt(sign, 16))?.[3]?.p !== undefined);
  const path = name && font.getChar(name, parseInt(sign, 16))[3].p;
  return path ? `M${path}Z` : "";
};
const style = () => MathJax.startup.adaptor.textContent(MathJax.svgStylesheet());
null
"""


class Letters(dict):
    """The outline of each letter by its name in a drawing, asked of the engine once; "" for a blank."""

    def __init__(self, engine):
        super().__init__()
        self.engine = engine

    def __missing__(self, name):
        return self.setdefault(name, self.engine.eval(f"outline({json.dumps(name)})"))


class Drawer:
    """MathJax with the book's settings; `letters[name]` is the outline of a letter."""

    def __init__(self, config):
        wheel = {str(file).partition("/mathjax/")[2]: file for file in files("sphinx-mathjax-offline")}
        load = ["adaptors/liteDOM", *config["loader"]["load"], "output/svg/fonts/tex", "core"]
        sources = {f"{name}.js": wheel[f"{name}.js"].locate().read_text(encoding="utf-8") for name in load}
        settings = {**config, "startup": {"typeset": False}, "svg": {"fontCache": "global"},
                    "loader": {"load": load[:-2], "paths": {"mathjax": ""}}}
        self.engine = MiniRacer()
        self.letters = Letters(self.engine)
        self.engine.eval(f"globalThis.global = globalThis; const FILES = {json.dumps(sources)}; "
                         f"globalThis.MathJax = {json.dumps(settings)};{START}")
        self.engine.eval(wheel["startup.js"].locate().read_text(encoding="utf-8") + "\nnull")
        self.draw = functools.cache(self.draw)

    def draw(self, tex, display):
        """The HTML of a formula, without empty attributes. Raises ValueError with MathJax's words for TeX that
        it cannot read."""
        made = self.engine.eval(f"drawn({json.dumps(tex)}, {json.dumps(display)})")
        if wrong := re.search(r'data-mjx-error="([^"]*)"', made):
            raise ValueError(html.unescape(wrong[1]))
        return MATHML.sub(lambda tag: re.sub(r'\s[\w:-]+=""(?=[\s/>])', "", tag[0]), made)  # Firefox takes none

    def style(self):
        return self.engine.eval("style()")

    def close(self):
        self.engine.close()


def drawer(app):
    """The one engine of a build, which starts with the first formula."""
    if not hasattr(app, "course_drawer"):
        app.course_drawer = Drawer(app.config.mathjax3_config)
    return app.course_drawer


def visit(kind):
    """Sphinx's and MyST's own HTML of a formula, with the drawing in the place of its TeX."""
    def visit_math(self, node):
        app, at = self.builder.app, len(self.body)
        renderers = getattr(app.registry, f"html_{kind}_math_renderers")
        with suppress(nodes.SkipNode):
            renderers["mathjax"][0](self, node)
        made = "".join(self.body[at:])
        opening, closing = DELIMITERS[kind]
        if opening not in made:
            log.warning("a formula without delimiters is not drawn", location=node)
            raise nodes.SkipNode
        before, rest = made.split(opening, 1)
        tex, after = rest.rsplit(closing, 1)
        try:
            drawing = drawer(app).draw(html.unescape(tex), kind == "block")
        except ValueError as error:
            log.warning("MathJax cannot read a formula: %s", error, location=node)
            drawing = f"<code>{tex}</code>"
        self.body[at:] = [before, drawing, after]
        raise nodes.SkipNode
    return visit_math


def with_letters(page, letters):
    """A page with the letters that its formulas refer to, in a drawing that is not shown; as it is if it has them."""
    used = sorted(set(LETTER.findall(page)))
    if not used or ID in page:
        return page
    paths = "".join(f'<path id="{name}" d="{letters[name]}"/>' for name in used)
    body = found.end() if (found := re.search(r"<body[^>]*>", page)) else 0
    return f'{page[:body]}<svg {ID} style="display: none" aria-hidden="true"><defs>{paths}</defs></svg>{page[body:]}'


def finish(app, exception):
    """Each page gets the letters of its formulas; a page from an earlier build has them, or that build was stopped."""
    if exception or app.builder.format != "html":
        return
    out = Path(app.outdir)
    for path in sorted(out.rglob("*.html")):
        page = path.read_text(encoding="utf-8")
        if (whole := with_letters(page, drawer(app).letters)) != page:
            path.write_text(whole, encoding="utf-8")
    (out / "_static" / "maths.css").write_text(drawer(app).style(), encoding="utf-8")


def close(app, exception):
    if hasattr(app, "course_drawer"):
        app.course_drawer.close()  # else Python waits for V8 at its end


def setup(app):
    app.add_html_math_renderer("drawn", (visit("inline"), None), (visit("block"), None))
    app.add_css_file("maths.css")
    app.connect("build-finished", finish, priority=900)
    app.connect("build-finished", close, priority=990)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
