"""Figures as drawings: an SVG that loses nothing, colours for the dark that keep contrasts, text that can be read.

Wrong versions of each rule are kept beside it and must fail.
"""

import base64
import io
import json
import re
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from byhand.show import COLOURS, dark, house_style, matrix, page
from byhand.show.style import CYCLE
from byhand.show.svg import svg
from fontTools.ttLib import TTFont
from PIL import Image
from rewritten import rewritten

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "_ext"))
import drawings  # noqa: E402

SHOW = ROOT / "lib" / "byhand" / "show"
PAGES = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "book").glob("*.ipynb"))}


def edited(name, *edits):
    return rewritten(SHOW / f"{name}.py", *edits)


@pytest.fixture(autouse=True)
def style():
    house_style()
    yield
    plt.close("all")
    mpl.rcdefaults()


def stored(name):
    """The SVG of each figure that a page stores."""
    for cell in PAGES[name]["cells"]:
        for out in cell.get("outputs", []):
            if "image/png" in out.get("data", {}):
                yield "".join(out["data"].get("image/svg+xml", ""))


def everything():
    """A figure of all that the chapters draw with."""
    figure, axes = plt.subplot_mosaic("ab;cd;ee", figsize=(7, 7))
    x = np.linspace(1e-3, 5, 300)
    _ = axes["a"].loglog(x, np.exp(-x), label="one $x^2$ √d_k")
    _ = axes["a"].loglog(x[::30], x[::30], "o--", ms=5, mec="white", label="two words")
    _ = axes["a"].legend()
    _ = axes["a"].fill_between(x, x / 2, x, alpha=0.2)
    _ = axes["b"].bar(range(4), [3, 1, 2, 5], color=COLOURS["orange"])
    _ = axes["b"].set_xticks(range(4), ["long", "words", "turned", "round"], rotation=45)
    _ = axes["b"].annotate("there", (1, 4), (3, 2), arrowprops={"arrowstyle": "->"},
                          bbox={"boxstyle": "round"})
    _ = matrix(np.arange(6.0).reshape(2, 3) - 2, signed=True, rows=["<a>", "&b"], title="numbers", ax=axes["c"])
    _ = matrix(np.random.default_rng(0).normal(size=(6, 9)), numbers=False, title="shades", ax=axes["d"])
    _ = axes["e"].imshow(np.random.default_rng(1).uniform(size=(4, 30, 3)), aspect="auto")
    figure.canvas.draw()
    figure.set_layout_engine("none")  # or each drawing would move it by a hair
    _ = axes["e"].scatter([3, 9, 20], [1, 2, 3], s=[20, 80, 200], c=["white", "black", "red"], alpha=0.5)
    return figure


# ---------------------------------------------------------------- what is stored


def looks_as_matplotlib_drew_it(made, chrome):
    figure, pictures = everything(), []
    file = io.BytesIO()
    with mpl.rc_context({"svg.fonttype": "none"}):
        figure.savefig(file, format="svg", bbox_inches="tight", dpi=300)
    for drawn in (file.getvalue().decode(), made.svg(figure)):
        tab = chrome.new_page(viewport={"width": 720, "height": 720}, device_scale_factor=2)
        look = "<style>body{margin:0}svg{width:700px;height:700px}</style>"
        tab.set_content(look + drawn[drawn.index("<svg"):])
        pictures.append(np.asarray(Image.open(io.BytesIO(tab.screenshot())).convert("RGB"), float))
        tab.close()
    gap = np.abs(pictures[0] - pictures[1]).mean(-1)
    assert gap.mean() < 0.1, gap.mean()  # of 255


def is_small_and_repeats(made, chrome):
    figure = everything()
    drawn = made.svg(figure)
    assert drawn == made.svg(figure) and "\n" not in drawn and len(drawn) < 60_000
    with mpl.rc_context({"svg.fonttype": "none"}):
        file = io.BytesIO()
        figure.savefig(file, format="svg", bbox_inches="tight", dpi=300)
    assert len(drawn) < 0.6 * len(file.getvalue())
    assert not re.search(r"<(style|metadata)|(Dat|dat)e>|matplotlib", drawn)


def has_ids_of_its_own(made, chrome):
    ids = []
    for figure in (everything(), matrix(np.eye(3), numbers=False).figure, matrix(np.eye(4), numbers=False).figure):
        drawn = made.svg(figure)
        names = re.findall(r' id="([^"]+)"', drawn)
        assert names and set(re.findall(r'#(f[0-9a-f]{6}-\d+)', drawn)) == set(names)
        ids += names
    assert len(ids) == len(set(ids))


def keeps_spaces(made, chrome):
    figure, tab, wide = plt.figure(), chrome.new_page(), []
    for k, text in enumerate(("a b", "a     b")):
        _ = figure.text(0, k / 3, text)
    tab.set_content(made.svg(figure))
    wide = tab.evaluate("[...document.querySelectorAll('text')].map((e) => e.getComputedTextLength())")
    tab.close()
    assert wide[1] > wide[0] + 10


def marks_pictures(made, chrome):
    figure, axes = plt.subplots(1, 3)
    for ax, options in zip(axes, ({}, {"gid": "picture"}, {"cmap": "Blues"}), strict=True):
        _ = ax.imshow(np.ones((2, 2, 3)) / 2 if not options else np.eye(2), **options)
    images = re.findall(r"<image[^>]*>", made.svg(figure))
    assert ['class="picture"' in image for image in images] == [True, True, False]


def leaves_the_layout(made, chrome):
    figure = plt.figure(layout="none")
    _ = made.svg(figure), made.svg(everything())
    assert figure.get_layout_engine() is None


STORED = [looks_as_matplotlib_drew_it, is_small_and_repeats, has_ids_of_its_own, keeps_spaces, leaves_the_layout,
          marks_pictures]
WRONG_SVG = [
    ("whole points", looks_as_matplotlib_drew_it, "round(float(number), 2)", "round(float(number), 0)"),
    ("every L goes", looks_as_matplotlib_drew_it, "([ML][^A-Za-z]+)((?:L", "([MLQC][^A-Za-z]+)((?:L"),
    ("every group goes", looks_as_matplotlib_drew_it, " and not child.attrib)", ")"),
    ("styles are lost", looks_as_matplotlib_drew_it, "element.set(name.strip(), value.strip())", "pass"),
    ("spaces are one", keeps_spaces, '"white-space:pre"', '""'),
    ("scales are short", looks_as_matplotlib_drew_it, ":.6g}", ":.0f}"),
    ("nothing is short", is_small_and_repeats, 'f"{round(float(number), 2):g}"', 'f"{float(number)}"'),
    ("as it came", is_small_and_repeats, "shrink(drawn.getvalue().decode())", "drawn.getvalue().decode()"),
    ("ids by number alone", has_ids_of_its_own, 'f"f{digest}-{k}"', 'f"f{k}"'),
    ("every id stays", has_ids_of_its_own, 'element.get("id") not in used', "False"),
    ("a layout that was not asked for", leaves_the_layout, ', "figure.constrained_layout.use": False', ""),
    ("photographs are maps", marks_pictures, "ndim == 3", "ndim == 4"),
    ("no marks", marks_pictures, '{"class": PICTURE} if', "{} if"),
]


@pytest.mark.browser
@pytest.mark.parametrize("check", STORED, ids=lambda check: check.__name__)
def test_a_stored_drawing(check, chrome):
    check(edited("svg"), chrome)


@pytest.mark.browser
@pytest.mark.parametrize(("check", "old", "new"), [row[1:] for row in WRONG_SVG], ids=[row[0] for row in WRONG_SVG])
def test_a_wrong_drawing_is_refused(check, old, new, chrome):
    with pytest.raises((AssertionError, KeyError, ET.ParseError)):
        check(edited("svg", old, new), chrome)


# ---------------------------------------------------------------- colours in the dark

MAPS = {name: mpl.colormaps[name](np.linspace(0, 1, 64))[:, :3] for name in ("Blues", "PuOr", "RdBu_r", "Oranges")}


def contrasts_stay(made):
    for colours in MAPS.values():
        Y, new = made.luminance(colours) + 0.05, made.luminance(made.darkened(colours)) + 0.05
        inside = Y > 0.058  # beyond, there is no lighter than white
        wanted = 1.05 * (made.luminance(made.rgb(made.GROUND)) + 0.05)
        assert np.abs(np.log(Y[inside] * new[inside] / wanted)).max() < 0.02


def maps_stay_in_order(made):
    for name, colours in MAPS.items():
        Y = made.luminance(made.darkened(colours))
        assert (np.diff(Y) > 0).all() if name in ("Blues", "Oranges") else (np.diff(Y[:32]) < 0).all()


def hues_stay(made):
    def hue(colours):
        lab = np.cbrt(dark._linear(colours) @ dark.TO_CONES) @ dark.TO_LAB
        return lab[..., 1] + 1j * lab[..., 2]

    for colours in MAPS.values():
        old, new = hue(colours), hue(made.darkened(colours))
        seen = (np.abs(old) > 0.03) & (np.abs(new) > 0.02)
        assert np.abs(np.angle(new[seen] / old[seen])).max() < 0.1
        assert np.abs(new).max() > 0.08


def white_is_the_ground(made):
    assert made.dark("#ffffff") == made.GROUND
    assert made.contrast(made.rgb(made.dark("#000000")), made.rgb(made.GROUND)) > 15


def curves_stand_out(made):
    for name in set(CYCLE) | {"grey"}:
        by_day = made.rgb(made.DEEPER.get(COLOURS[name].lower(), COLOURS[name].lower()))
        assert made.contrast(by_day, np.ones(3)) >= made.VISIBLE, name
    assert all(made.dark(deep) == made.dark(pale) for pale, deep in made.DEEPER.items())
    lines = [made.dark(COLOURS[name].lower()) for name in COLOURS]
    assert all(made.contrast(made.rgb(c), made.rgb(made.GROUND)) >= 3 for c in lines) and len(set(lines)) == len(lines)


def text_is_legible(made):
    rng = np.random.default_rng(0)
    for ink, ground in rng.uniform(size=(200, 2, 3)):
        new = made.legible(ink, ground)
        assert made.contrast(new, ground) >= made.LEGIBLE - 0.01
        assert new is ink or made.contrast(ink, ground) < made.LEGIBLE


COLOUR_CHECKS = [contrasts_stay, maps_stay_in_order, hues_stay, white_is_the_ground, curves_stand_out, text_is_legible]
WRONG_COLOURS = [
    ("as by day", contrasts_stay, "return shaded(colours,", "return colours + 0 * shaded(colours,"),
    ("one minus", contrasts_stay, "return shaded(colours,", "return 1 - colours + 0 * shaded(colours,"),
    ("in order as by day", maps_stay_in_order, "1.05 * ground / (luminance(colours) + 0.05) - 0.05",
     "luminance(colours)"),
    ("greys", hues_stay, "np.linspace(1, 0, 11)", "(0,)"),
    ("red for blue", hues_stay, "share * lab[..., 1:]", "-share * lab[..., 1:]"),
    ("a black ground", white_is_the_ground, "ground = luminance(rgb(GROUND)) + 0.05", "ground = 0.05"),
    ("brown for orange", curves_stand_out, "KEPT.get(colour) or", ""),
    ("orange as he has it", curves_stand_out, '"#c48700"', '"#e69f00"'),
    ("two oranges in the dark", curves_stand_out, "KEPT |= ", "_ = "),
    ("blue as by day", curves_stand_out, '"#2f8fd3"', '"#0052a2"'),
    ("any ink", text_is_legible, "contrast(ink, ground) >= LEGIBLE", "True"),
    ("always lighter", text_is_legible, "up = darker < 0", "up = True"),
]


@pytest.mark.parametrize("check", COLOUR_CHECKS, ids=lambda check: check.__name__)
def test_colours_in_the_dark(check):
    check(edited("dark"))


@pytest.mark.parametrize(("check", "old", "new"), [row[1:] for row in WRONG_COLOURS],
                         ids=[row[0] for row in WRONG_COLOURS])
def test_wrong_colours_are_refused(check, old, new):
    with pytest.raises((AssertionError, ValueError)):
        check(edited("dark", old, new))


# ---------------------------------------------------------------- in a page

GROUNDS = "".join(f"html[data-theme={mode}]{{--pst-color-background:{colour}}}"
                  for mode, colour in (("light", "#ffffff"), ("dark", dark.GROUND)))
SEEN = """() => [...document.querySelectorAll(".drawing")].flatMap((drawing, number) =>
    [...drawing.querySelectorAll("text, use, path")].filter((e) => !e.closest("defs")).map((e) => {
        const box = e.getBoundingClientRect(), inner = e.tagName === "text" && e.lastElementChild || e;
        const style = getComputedStyle(inner);
        let veil = 1;
        for (let up = inner; up !== drawing; up = up.parentElement) veil *= getComputedStyle(up).opacity;
        return {number, kind: e.tagName, said: e.textContent.trim(), box: [box.x, box.y, box.width, box.height],
                fill: style.fill, stroke: style.stroke, 
                veil: {fill: veil * style.fillOpacity, stroke: veil * style.strokeOpacity}, weight: +style.fontWeight,
                size: parseFloat(style.fontSize), day: {fill: inner.closest("[fill]")?.getAttribute("fill"),
                                                        stroke: inner.closest("[stroke]")?.getAttribute("stroke")}};
    }))"""
HIDDEN = """(kinds) => document.querySelectorAll(".drawing :is(text, use, path)").forEach((e) => {
    const kind = e.tagName === "path" && getComputedStyle(e).fill !== "none" ? "area" : e.tagName;
    if (kinds.includes(kind)) e.style.visibility = "hidden";
})"""
TURNED = """(mode) => {
    document.documentElement.dataset.theme = mode;
    document.querySelectorAll(".drawing :is(text, use, path)").forEach((e) => { e.style.visibility = ""; });
}"""
QUIET = {"#e5e8eb", "#dde2e7", "#ffffff"}  # the grid, the edges of squares, and a rim that sets a mark apart
BANDS = {("04_attention", 0)}  # bands that lie over one another, each as wide as the number that is written below it


def sheet(made, drawn, mode):
    body = "".join(made.on_page(one, "a figure") for one in drawn)
    return (f'<!doctype html><html data-theme="{mode}"><meta charset="utf-8"><style>{GROUNDS}{drawings.STYLE}'
            f"body{{background:var(--pst-color-background)}}.drawing{{display:block}}</style><body>{body}</html>")


def looks(made, drawn, chrome, *modes):
    """By mode, every text, mark and line of drawings in a page; what lies under the texts, and what under the marks:
    pixels."""
    tab = chrome.new_page(viewport={"width": 1000, "height": 1600})  # so high that each drawing has its full size
    tab.set_content(sheet(made, drawn, modes[0]))
    for mode in modes:
        tab.evaluate(TURNED, mode)
        seen, under = tab.evaluate(SEEN), {}
        for kind, hidden in (("text", ["text"]), ("use", ["use", "path"])):
            tab.evaluate(HIDDEN, hidden)
            under[kind] = np.asarray(Image.open(io.BytesIO(tab.screenshot(full_page=True))).convert("RGB")) / 255
        yield mode, seen, under
    tab.close()


def colour_of(paint):
    return np.array(re.findall(r"[\d.]+", paint)[:3], float) / 255


def dim(made, drawn, chrome, mode):
    """What is weak in these drawings."""
    [(_, seen, under)] = looks(made, drawn, chrome, mode)
    return too_weak(mode, seen, under)


def too_weak(mode, seen, under):
    """A text that has less than 4.5:1 to what it stands on (large ones 3:1), and a mark or a line that has less than
    3:1; a mark is compared with what lies under it, a line with the page."""
    weak, marks = [], Counter()
    for e in seen:
        x, y, wide, high = e["box"]
        if e["kind"] == "text" and not e["said"] or e["kind"] == "path" and e["fill"] != "none":
            continue  # of the filled shapes many are values of a map, and told by their numbers
        if e["kind"] == "use" and (not wide * high or wide * high > 900 or 0 < e["veil"]["fill"] < 0.2):
            continue  # a tick; the area between two curves; the band around one
        edge = e["fill"] == "none" or e["kind"] == "use" and e["day"]["fill"] in ("#ffffff", e["day"]["stroke"])
        part = "stroke" if edge else "fill"
        if e[part] == "none" or not e["veil"][part] or part == "stroke" and e["day"][part] in QUIET:
            continue
        ground = np.ones(3) if mode == "light" else dark.rgb(dark.GROUND)
        if e["kind"] in under:
            shrink = 0.3 if e["kind"] == "text" else 0
            rows = slice(round(y + high * shrink), round(y + high * (1 - shrink)) + 1)
            part_under = under[e["kind"]][rows, round(x):round(x + wide) + 1].reshape(-1, 3)
            colours, counts = np.unique(part_under, axis=0, return_counts=True)
            ground = colours[counts.argmax()]  # what most of it stands on: a grid line may pass
            halves = colours[counts >= 0.45 * counts.sum()] if e["kind"] == "use" else []
            if len(halves) == 2:  # a mark on an edge: where it is seen best
                ink = colour_of(e[part])
                ground = halves[np.argmax([dark.contrast(ink, half) for half in halves])]
        large = e["size"] >= (14 if e["weight"] >= 700 else 18)  # points
        marks[e["number"], e[part]] += e["kind"] == "use"
        least = dark.LEGIBLE if e["kind"] == "text" and not large else dark.VISIBLE
        ratio = dark.contrast(e["veil"][part] * colour_of(e[part]) + (1 - e["veil"][part]) * ground, ground)
        if ratio < least - 0.05:
            weak.append((e["number"], e["kind"], e["said"], e[part], e["veil"][part], ground.round(2).tolist(),
                         round(ratio, 2)))
    lost = Counter((number, ink) for number, kind, _, ink, *_ in weak if kind == "use")
    return [one for one in weak  # of a row of marks one in ten may lie on something else that is drawn
            if one[1] != "use" or lost[one[0], one[3]] > marks[one[0], one[3]] / 10]


@pytest.mark.browser
@pytest.mark.parametrize("name", [name for name in PAGES if list(stored(name))])
def test_all_of_a_figure_can_be_seen(name, chrome):
    weak = {mode: [one for one in too_weak(mode, seen, under) if one[1] != "path" or (name, one[0]) not in BANDS]
            for mode, seen, under in looks(page, list(stored(name)), chrome, "light", "dark")}
    assert weak == {"light": [], "dark": []}


@pytest.mark.browser
@pytest.mark.parametrize("name", ["02_embedding", "16_flash"])
def test_a_page_that_is_turned_dark_is_as_one_that_was_dark(name, chrome):
    drawn = list(stored(name))
    _, (_, turned, under) = looks(page, drawn, chrome, "light", "dark")
    [(_, alone, behind)] = looks(page, drawn, chrome, "dark")
    assert turned == alone and all((under[kind] == behind[kind]).all() for kind in behind)


@pytest.mark.browser
@pytest.mark.parametrize(("mode", "old", "new"), [
    ("dark", "legible(ink, _ground(areas, spot))\n", "ink\n"),
    ("dark", "area.opacity * _colour(area, spot)", "0 * _colour(area, spot)"),
    ("dark", "SWITCH}.{name} {at}", "SWITCH}.never {at}"), ("dark", "areas += _image", "_image"),
    ("dark", "up = 0.36 * size", "up = 36 * size"), ("dark", "if parts and", "if not parts and"),
    ("dark", "(to_hex(better), same)", '(to_hex(better), "fill")'), ("light", "in DEEPER}", "in ()}"),
], ids=["no ink of its own", "the page's ground everywhere", "colours of the day", "images are no ground", "beside",
        "marks as they are", "crosses have no face", "pale lines"])
def test_what_is_weak_is_seen(mode, old, new, chrome):
    figure, axes = plt.subplots(1, 4)
    for ax, x, colour in ((axes[0], 0.5, "orange"), (axes[1], 0.1, "grey")):
        _ = ax.barh([0], [1], color=COLOURS[colour])
        _ = ax.text(x, 0, "text", color="black" if colour == "orange" else "white", va="center")
    _ = axes[2].imshow([[0.62, 0.48], [1.0, 0.0]], cmap="Blues", vmin=0, vmax=1)
    _ = axes[2].text(0, 0, "0.62", ha="center", va="center", color="black")
    _ = axes[2].text(1, 0, "0.48", ha="center", va="center", color="black")
    _ = axes[2].plot(0, 1, "x", color=COLOURS["orange"])
    _ = axes[3].plot([0, 1, 2], "o-", color=COLOURS["sky"])
    drawn = [svg(figure)]
    assert dim(page, drawn, chrome, mode) == []
    assert dim(edited("page", old, new), drawn, chrome, mode) != []


@pytest.mark.browser
@pytest.mark.parametrize("weak", ["text", "line", "mark", "veil"])
def test_a_figure_that_draws_too_pale_is_seen(weak, chrome):
    figure, ax = plt.subplots()
    _ = {"text": lambda: ax.text(0.5, 0.5, "bank", color="#AAB2BB"), "line": lambda: ax.plot([0, 1], color="#BBBBBB"),
         "mark": lambda: ax.plot([0, 1], "o", color="#BBBBBB"),
         "veil": lambda: ax.plot([0, 1], color=COLOURS["blue"], alpha=0.5)}[weak]()
    kind = {"text": "text", "mark": "use"}.get(weak, "path")
    assert {one[1] for one in dim(page, [svg(figure)], chrome, "light")} == {kind}
    by_night = {one[1] for one in dim(page, [svg(figure)], chrome, "dark")}
    assert by_night == ({kind} if kind == "path" else set())  # a letter or a mark has another ink there


def texts_of(drawn):
    return ["".join(text.itertext()) for text in ET.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]


def as_computers_write(drawn):
    """The labels of an axis that are written 1e−06, which is 10⁻⁶ on every other axis."""
    return [text for text in texts_of(drawn) if re.fullmatch(r"[−-]?[\d.]+e[−+-]?\d+", text.strip())]


def with_a_hyphen(drawn):
    """Numbers below zero whose minus is a hyphen: an axis writes −0.5, what is put there as f"{x:.1f}" says -0.5."""
    return [text for text in texts_of(drawn) if re.search(r"(?<![\w.)\]])-[\d.∞]", text)]


@pytest.mark.parametrize("name", [name for name in PAGES if list(stored(name))])
def test_powers_of_ten_are_written_as_people_write_them(name):
    assert [text for drawn in stored(name) for text in as_computers_write(drawn)] == []


@pytest.mark.parametrize("written", [None, "{x:g}", "{x:.0e}"])
def test_a_power_as_computers_write_it_is_seen(written):
    _, ax = plt.subplots()
    _ = ax.semilogy([1e-8, 1.0])
    if written:
        ax.yaxis.set_major_formatter(written)
    assert bool(as_computers_write(svg(ax.figure))) == bool(written)


@pytest.mark.parametrize("name", [name for name in PAGES if list(stored(name))])
def test_a_minus_in_a_figure_is_no_hyphen(name):
    assert [text for drawn in stored(name) for text in with_a_hyphen(drawn)] == []


@pytest.mark.parametrize(("said", "seen"), [
    ("-0.5", True), ("ein\n-1.8", True), ("loss -2 at the end", True), ("(-3, 4)", True), ("a -∞", True),
    ("−0.5", False), ("2-3", False), ("top-5", False), ("Wi-Fi", False), ("-", False), ("- 3", False)])
def test_a_hyphen_as_a_minus_is_seen(said, seen):
    _, ax = plt.subplots()
    _ = ax.plot([-1, 1]), ax.text(0.5, 0.5, said)
    assert bool(with_a_hyphen(svg(ax.figure))) == seen


def pixels(element):
    data = base64.b64decode(element.get("href").partition(",")[2])
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")) / 255


def pictures_stay_and_maps_change(made):
    figure, axes = plt.subplots(1, 3)
    photo = np.random.default_rng(0).uniform(size=(20, 20, 3))
    _ = axes[0].imshow(photo)
    _ = axes[1].imshow(np.eye(4), cmap="Blues", gid="picture")
    _ = axes[2].imshow(np.eye(4), cmap="Blues")
    images = list(ET.fromstring(made.on_page(svg(figure), "three")).iter("image"))
    assert [image.get("class") for image in images] == ["picture", "picture", "day", "night"]
    assert np.abs(pixels(images[0]) - photo).max() < 1.01 / 255
    assert np.array_equal(pixels(images[1]), pixels(images[2]))
    assert np.abs(pixels(images[3]) - dark.darkened(pixels(images[2]))).max() < 0.51 / 255
    assert {key: images[2].get(key) for key in ("transform", "width")} == {
        key: images[3].get(key) for key in ("transform", "width")}


def is_named(made):
    root = ET.fromstring(made.on_page(svg(matrix(np.eye(2)).figure), 'say "two" <b>'))
    assert root.get("role") == "img" and root.get("aria-label") == 'say "two" <b>'


@pytest.mark.parametrize("check", [pictures_stay_and_maps_change, is_named], ids=lambda check: check.__name__)
def test_a_drawing_in_a_page(check):
    check(edited("page"))


@pytest.mark.parametrize(("check", "old", "new"), [
    (pictures_stay_and_maps_change, 'element.get("class") != PICTURE', "True"),
    (pictures_stay_and_maps_change, 'element.get("class") != PICTURE', "False"),
    (pictures_stay_and_maps_change, "np.round(255 * darkened(colours / 255))", "255 - colours"),
    (pictures_stay_and_maps_change, "len(colours) <= 256", "True"),
    (is_named, '"aria-label": label', '"aria-label": ""'),
], ids=["photographs turned", "maps as by day", "one minus", "256 colours", "no name"])
def test_a_wrong_page_is_refused(check, old, new):
    with pytest.raises((AssertionError, ValueError)):
        check(edited("page", old, new))


def is_seen_whole(made, chrome):
    """In a window that is high enough as wide as it is stored; in a lower one as high as nine tenths of the window, as
    long as its letters have ten pixels."""
    figure, ax = plt.subplots(figsize=(4, 8), subplot_kw={"xticks": [], "yticks": []})
    _ = ax.text(0.5, 0.5, "twelve points", fontsize=12)
    drawn, sizes = svg(figure), []
    for width, window in (("", 1500), ("300px", 900), ("", 800), ("", 300)):
        tab = chrome.new_page(viewport={"width": 1280, "height": window})
        tab.set_content(f"<style>{drawings.STYLE}</style>{made.on_page(drawn, 'a figure', width)}")
        sizes.append(tab.evaluate("""() => {
            const {width, height} = document.querySelector("svg").getBoundingClientRect();
            const {fontSize} = getComputedStyle(document.querySelector("text"));
            return [width, height, parseFloat(fontSize) * width / document.querySelector("svg").viewBox.baseVal.width];
        }"""))
        tab.close()
    (natural, *_), (given, *_), (_, low, _), (_, least, letters) = sizes
    wide = float(ET.fromstring(drawn).get("width"))
    assert abs(natural - wide) < 1 and abs(given - 300) < 1 and abs(low - 720) < 1, sizes
    assert abs(letters - 10) < 0.1 and least > 300, sizes


@pytest.mark.browser
def test_a_tall_drawing_is_seen_whole(chrome):
    is_seen_whole(edited("page"), chrome)


@pytest.mark.browser
@pytest.mark.parametrize(("old", "new"), [
    ("{SHARE * wide / high:.1f}svh", "{SHARE * high / wide:.1f}svh"), ("svh", "svw"), ("width:min(", "width:max("),
    ("{least * WHOLE / LETTERS:.1f}px)", "{least:.1f}px)"), ("{width or ", "{"),
], ids=["upside down", "of the width", "never smaller", "letters of nine pixels", "no width of its own"])
def test_a_drawing_out_of_sight_is_refused(old, new, chrome):
    with pytest.raises(AssertionError):
        is_seen_whole(edited("page", old, new), chrome)


# ---------------------------------------------------------------- the book


def faults(drawn):
    """Why a stored figure would not be sharp at twice the resolution, or not in a page's own colours."""
    if not drawn.startswith('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 '):
        return ["no drawing"]
    root, bad = ET.fromstring(drawn), []
    for image in root.findall(".//{*}image"):
        wide = Image.open(io.BytesIO(base64.b64decode(image.get("href").partition(",")[2]))).width
        if image.get("image-rendering") != "pixelated" and wide < 2 * float(image.get("width")) * 100 / 72:
            bad.append(f"an image of {wide} pixels")
    bad += [f"{n} elements" for n in [sum(1 for _ in root.iter())] if n > 4000]
    return bad


def test_every_figure_is_sharp():
    found = {name: [faults(one) for one in stored(name)] for name in PAGES}
    assert sum(map(len, found.values())) > 100
    assert {name: bad for name, bad in found.items() if any(bad)} == {}
    good = svg(matrix(np.arange(400.0).reshape(20, 20)).figure)
    assert faults("") and not faults(good) and faults(good.replace(' image-rendering="pixelated"', ""))
    with mpl.rc_context({"image.interpolation": "bilinear"}):
        figure, ax = plt.subplots()
        _ = ax.imshow(np.random.default_rng(0).uniform(size=(200, 200)))
        blurred = edited("svg", "DOTS = 300", "DOTS = 72").svg(figure)
    assert faults(blurred)


def without_glyph(used):
    bad = []
    for kind, found in used.items():
        known = TTFont(Path(mpl.get_data_path(), "fonts", "ttf", f"{drawings.FILES[kind]}.ttf")).getBestCmap()
        bad += [(kind, c) for c in found if ord(c) not in known]
    return bad


def test_every_letter_has_its_font():
    made = [page.on_page(one, "") for name in PAGES for one in stored(name)]
    used = drawings.letters(made)
    plain, bold = (("DejaVu Sans", weight, "normal") for weight in ("400", "700"))
    assert {plain, bold} <= used.keys() and without_glyph(used) == []
    assert without_glyph({plain: ["a", "語"]}) == [(plain, "語")]


HTML = ROOT / "_build" / "html"


def test_the_built_book_shows_drawings():
    style = (HTML / "_static" / "drawings.css").read_text(encoding="utf-8")
    for name in PAGES:
        text = (HTML / "book" / f"{name}.html").read_text(encoding="utf-8")
        shown, due = len(drawings.DRAWING.findall(text)), len(list(stored(name)))
        assert shown == due and not re.search(r'<img [^>]*src="[^"]*_images/', text), (name, shown, due)
        assert ("drawings.css" in text) == bool(due), name
    assert set(re.findall(r'font-family:"([^"]+)";font-weight:(\d+);font-style:(\w+)', style)) == set(
        drawings.letters((HTML / "book" / f"{name}.html").read_text(encoding="utf-8") for name in PAGES))
