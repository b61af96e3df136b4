"""Formulas drawn while the book is built: the extension on a small book, and wrong versions of it on the same one."""

import collections
import contextlib
import io
import json
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from maths import drawn_by, settings, signs
from rewritten import rewritten
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

SOURCE = Path(__file__).resolve().parents[1] / "_ext" / "typeset.py"

FIRST = r"""# One

So $a < b$ and $x \in \R$, by a label:

$$
c = 1 \label{here} \tag{1.1}
$$

\begin{align*}
u &= d & \tag{1.2} \\
v &> e \tag{1.3}
\end{align*}
"""
ORPHAN = "---\norphan: true\n---\n"
PAGES = {"index": FIRST, "two": f"{ORPHAN}# Two\n\n$$\nz \\ne q \\label{{here}}\n$$\n",
         "none": f"{ORPHAN}# None\n\nNo formula.\n"}
DRAWN = {  # the signs of each formula, and whether it is displayed
    "index": [("1D44E 3C 1D44F", False), ("1D465 2208 211D", False),
              ("1D450 3D 31 28 31 2E 31 29", True),
              ("1D462 3D 1D451 1D463 3E 1D452 28 31 2E 32 29 28 31 2E 33 29", True)],
    "two": [("1D467 2260 1D45E", True)],
    "none": [],
}


def extension(*edits) -> ModuleType:
    return rewritten(SOURCE, *edits)


@contextlib.contextmanager
def installed(module):
    before = sys.modules.get("typeset")
    sys.modules["typeset"] = module
    try:
        yield
    finally:
        sys.modules.pop("typeset") if before is None else sys.modules.__setitem__("typeset", before)


def build(folder, module, pages) -> str:
    """Build these pages into folder/html, over what is there; the warnings."""
    source = folder / "source"
    source.mkdir(exist_ok=True)
    for name, text in pages.items():
        (source / f"{name}.md").write_text(text, encoding="utf-8")
    warnings = io.StringIO()
    config = {"extensions": ["myst_parser", "sphinx.ext.mathjax", "typeset"], "html_math_renderer": "drawn",
              "myst_enable_extensions": ["amsmath", "dollarmath"], "mathjax3_config": settings(),
              "html_theme": "basic"}
    with installed(module):
        app = Sphinx(source, None, folder / "html", folder / "trees", "html", confoverrides=config, status=None,
                     warning=warnings)
        try:
            app.build()
        except ExtensionError as error:
            return f"stopped: {error}"
    return re.sub(r"\x1b\[[\d;]*m", "", warnings.getvalue())


def judged(folder, module) -> list[str]:
    """What is wrong with the small book."""
    found = [f"warning: {text}" for text in build(folder, module, PAGES).splitlines()]
    found = [text for text in found if "already registered" not in text]  # by the app of another test
    for name, drawn in DRAWN.items():
        page = (folder / "html" / f"{name}.html").read_text(encoding="utf-8")
        there = re.findall(r"<mjx-container.*?</mjx-container>", page, flags=re.S)
        if [(signs(drawing), 'display="true"' in drawing) for drawing in there] != drawn:
            found.append(f"{name}: other formulas")
        if any(drawing.count("<math ") != 1 for drawing in there):
            found.append(f"{name}: nothing to hear")
        used, ids = set(re.findall(r'xlink:href="#([^"]+)"', page)), re.findall(r'<path id="([^"]+)" d="[M"]', page)
        if sorted(used) != sorted(ids):
            found.append(f"{name}: {len(used)} letters, {len(ids)} outlines")
        if page.count('id="maths-letters"') != bool(drawn):
            found.append(f"{name}: letters {page.count('maths-letters')} times")
        if module.with_letters(page, collections.defaultdict(str)) != page:
            found.append(f"{name}: at the next build letters again")
        if "maths.css" not in page or re.search(r"\\[(\[]|<script[^>]*mathjax", page, flags=re.I):
            found.append(f"{name}: left to the browser")
    style = folder / "html" / "_static" / "maths.css"
    return found + ["no style"] * (not style.is_file() or "mjx-assistive-mml" not in style.read_text(encoding="utf-8"))


def test_formulas_are_drawn(tmp_path):
    assert judged(tmp_path, extension()) == []


@pytest.mark.parametrize("edits", [
    ("drawer(app).draw(html.unescape(tex)", "drawer(app).draw(tex"),
    ('kind == "block")', 'kind == "inline")'),
    ("sorted(set(LETTER.findall(page)))\n", "sorted(set(LETTER.findall(page)))[1:]\n"),
    ("if not used or ID in page:", "if not used:"),
    ("  MathJax.texReset();\n", ""),
    ("self.body[at:] = [before, drawing, after]", "self.body += [drawing]"),
    ('*config["loader"]["load"],', '*config["loader"]["load"][:-1],'),
    ('"svg": {"fontCache": "global"},', ""),
    ('    app.connect("build-finished", finish, priority=900)\n', ""),
], ids=["signs stay escaped", "block as inline", "a letter is left out",
        "letters again at each build", "labels are kept from page to page", "TeX stays beside the drawing",
        "nothing to hear", "letters in each drawing", "no letters, no style"])
def test_a_wrong_extension_is_caught(tmp_path, edits):
    assert judged(tmp_path, extension(*edits))


@pytest.mark.parametrize(("tex", "said"), [
    (r"\frac{", "Missing close brace"), (r"\frac{1}", "Missing argument"), (r"\nowhere", "Undefined control sequence"),
    (r"\begin{align} a", "Missing \\end{align}"), ("a & b", "Misplaced &")])
def test_tex_that_cannot_be_read_stops_the_build(tmp_path, tex, said):
    page = {"index": f"# One\n\nFirst.\n\nThen ${tex}$.\n"}
    for module, warns in ((extension(), True), (extension("raise ValueError(", "str("), False)):
        folder = tmp_path / str(warns)
        folder.mkdir()
        warnings = build(folder, module, page)
        assert ("index.md:5: WARNING: MathJax cannot read a formula: " in warnings and said in warnings) == warns


def test_a_drawing_is_made_once_and_names_its_outlines():
    with drawn_by() as maths:
        made = maths.draw(r"\alpha^2", False)
        assert maths.draw(r"\alpha^2", False) is made and signs(made) == "1D6FC 32"
        assert re.findall(r'xlink:href="#([^"]+)"', made) == ["MJX-TEX-I-1D6FC", "MJX-TEX-N-32"]
        assert re.match(r"M\d", maths.letters["MJX-TEX-N-32"])
        with pytest.raises(ValueError, match="Undefined control sequence"):
            maths.draw(r"\nowhere", True)
        assert "mjx-container" in maths.style()


def empty_attributes(module) -> list[str]:
    """Those in the MathML of a formula of one column, and of a matrix; what says something stays, and so does TeX."""
    with drawn_by(module) as maths:
        drawn = [maths.draw(tex, True) for tex in (
            r"\begin{align*} Y = \begin{pmatrix} x \end{pmatrix} \tag{1.1} \end{align*}", r'\text{a=""}')]
    assert 'columnalign="right"' in drawn[0] and 'rowspacing="3pt"' in drawn[0] and '<mtext>a=""</mtext>' in drawn[1]
    return re.findall(r'<m\w+[^<>]*?\s([\w-]+)=""', "".join(drawn))


def test_no_attribute_of_the_mathml_is_empty():
    """Firefox writes an error to the console for each."""
    assert empty_attributes(extension()) == []
    assert "columnspacing" in empty_attributes(extension("lambda tag: re.sub", "lambda tag: tag[0] or re.sub"))


CACHE = "JSON.stringify(Object.fromEntries(MathJax.startup.output.fontCache.cache))"


def whole_again(folder, module) -> bool:
    """Whether a page that a stopped build has left without letters gets them all, from an engine that drew nothing."""
    (folder / "_static").mkdir(parents=True)
    with drawn_by() as maths:
        drawing = maths.draw(r"\mathbf{W} \; x^2 \in \mathbb{R} \left( \frac{1}{2} \right)", True)
        (folder / "page.html").write_text(f"<body>{drawing}</body>", encoding="utf-8")
        known = json.loads(maths.engine.eval(CACHE))  # MathJax's own, of what it has drawn
        paths = {name: known[name] for name in re.findall(r'xlink:href="#([^"]+)"', drawing)}
    app = SimpleNamespace(builder=SimpleNamespace(format="html"), outdir=folder,
                          config=SimpleNamespace(mathjax3_config=settings()))
    module.finish(app, None)
    module.close(app, None)
    page = (folder / "page.html").read_text(encoding="utf-8")
    return dict(re.findall(r'<path id="([^"]+)" d="([^"]*)"', page)) == paths


def test_a_page_of_a_stopped_build_gets_its_letters(tmp_path):
    assert whole_again(tmp_path / "right", extension())
    assert not whole_again(tmp_path / "wrong", extension(
        "font.variant[name].cacheID === letters\n    &&", "name &&"))
