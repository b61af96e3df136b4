"""Figures as drawings in the page: sharp at any size, in the colours of a light page and of a dark one.

A notebook stores each figure as an SVG whose letters are text; byhand.show.page says what a page makes of it. Here it
is put in its place, and one style sheet carries the letters of DejaVu Sans that the figures of the book use.
"""

import re
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree as ET

import matplotlib
from byhand.show.page import on_page
from course_weight import font
from docutils import nodes

STYLE = """/* Written by drawings.py: figures, and the letters that they use (DejaVu, Bitstream Vera licence). */
.drawing { max-width: 100%; height: auto; text-rendering: geometricPrecision; }
.drawing .night { display: none; }
@media screen {
  html[data-theme="dark"] .drawing .night { display: inline; }
  html[data-theme="dark"] .drawing .day { display: none; }
}
"""
DRAWING = re.compile(r'<svg [^>]*class="drawing .*?</svg>', re.DOTALL)
FILES = {("DejaVu Sans", "400", "normal"): "DejaVuSans", ("DejaVu Sans", "700", "normal"): "DejaVuSans-Bold",
         ("DejaVu Sans", "400", "oblique"): "DejaVuSans-Oblique",
         ("DejaVu Sans Mono", "400", "normal"): "DejaVuSansMono",
         ("DejaVu Sans Mono", "700", "normal"): "DejaVuSansMono-Bold"}


def draw(app, doctree, docname):
    """Each stored SVG in the place of the image that refers to it."""
    if app.builder.format != "html":
        return
    for image in list(doctree.findall(nodes.image)):
        path = Path(app.srcdir, image["uri"])
        if path.suffix == ".svg" and path.is_file() and image["uri"] in app.env.images:
            drawn = path.read_text(encoding="utf-8")
            if ' font-family="' in drawn[:500]:
                html = on_page(drawn, image.get("alt", ""), image.get("width", ""))
                image.replace_self(nodes.raw("", f'<span class="figure-box">{html}</span>', format="html"))


def style(app, pagename, templatename, context, doctree):
    if 'class="drawing ' in (context.get("body") or ""):
        app.add_css_file("drawings.css")


def letters(pages):
    """The characters of all drawings by family, weight and slant."""
    used = defaultdict(set)

    def walk(element, look):
        own = look | {key: element.get(key) for key in ("font-family", "font-weight", "font-style") if element.get(key)}
        family = re.match(r"'?([^',]+)", own["font-family"])[1]
        used[family, own.get("font-weight", "400"), own.get("font-style", "normal")].update(element.text or "")
        for child in element:
            walk(child, own)

    for page in pages:
        for drawing in DRAWING.findall(page):
            walk(ET.fromstring(drawing), {})
    return {kind: sorted(found - {"\n"}) for kind, found in used.items() if found}


def finish(app, exception):
    if exception or app.builder.format != "html":
        return
    out, fonts = Path(app.outdir), Path(matplotlib.get_data_path(), "fonts", "ttf")
    pages = (path.read_text(encoding="utf-8") for path in sorted(out.rglob("*.html")))
    faces = [f'@font-face{{font-family:"{family}";font-weight:{weight};font-style:{slant};'
             f"src:url(data:font/woff;base64,{font(fonts / f'{FILES[family, weight, slant]}.ttf', found)})"
             ' format("woff")}\n' for (family, weight, slant), found in sorted(letters(pages).items())]
    (out / "_static" / "drawings.css").write_text(STYLE + "".join(faces), encoding="utf-8")


def setup(app):
    app.connect("doctree-resolved", draw)
    app.connect("html-page-context", style)
    app.connect("build-finished", finish)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
