"""An SVG of `show.svg` in a page that is light or dark: the same drawing, with a second set of colours for the dark."""

import base64
import hashlib
import io
import math
import re
from typing import NamedTuple
from xml.etree import ElementTree as ET

import numpy as np
from matplotlib.path import Path
from numpy import ndarray as Array
from PIL import Image

from byhand.show.dark import DEEPER, GROUND, VISIBLE, dark, darkened, legible, rgb, to_hex
from byhand.show.svg import PICTURE, SPACE

SWITCH = "html[data-theme=dark] "
LETTERS = 9  # pixels: a page may make a drawing narrower until its smallest label has letters of this size
WHOLE, SHARE = 10, 90  # pixels to which letters may go, so that a drawing takes no more than 90 % of a window's height
PAINT = ("fill", "stroke", "fill-opacity", "stroke-opacity", "opacity", "font-size", "text-anchor")


class Area(NamedTuple):
    """What a text or mark may stand on: an outline and its colour in the dark, or an image and its pixels in the dark.
    """

    outline: Path
    colour: Array | None  # (3,)
    opacity: float
    pixels: Array | None = None  # (height, width, 3)
    corner: tuple = (0.0, 0.0)
    step: tuple = (1.0, 1.0)
    mark: bool = False  # other marks do not stand on it, though they may cover it


def on_page(drawn: str, label: str, width: str = "") -> str:
    """The SVG as a page holds it: on the page's ground, named for who cannot see it, with its colours in the dark.

    Paths and letters change by rules that stand in the SVG; an image has a second one beside it, but for a picture.
    What would be weak has another ink: orange and sky by day; in the dark a letter or a mark on what lies under it.
    `--least` is the width below which letters get too small to read, exponents and indices not counted. The window
    shows the drawing whole, from top to bottom, as far as letters of `WHOLE` pixels allow.
    """
    name = "d" + hashlib.sha256(drawn.encode()).hexdigest()[:6]
    root = ET.fromstring(drawn.replace(f' xmlns="{SPACE}"', "", 1))
    root.remove(root[0])  # its own ground
    inks, paths = {}, {e.get("id"): e for e in root.iter("path") if e.get("id")}
    for use in root.iter("use"):  # a rule of the page reaches the element that uses a path, and not what it uses
        for key in ("fill", "stroke", "stroke-width"):
            if value := paths[use.get("href")[1:]].get(key):
                use.attrib.setdefault(key, value)
    for path in paths.values():
        path.attrib = {key: path.get(key) for key in ("id", "d")}
    for element in root.iter():
        element.attrib |= {key: DEEPER[element.get(key)] for key in ("fill", "stroke") if element.get(key) in DEEPER}
    _walk(root, {"fill": "#000000"}, (0.0, 0.0), [], inks, paths)
    rules = []
    for part in ("fill", "stroke"):
        for colour in sorted({e.get(part) for e in root.iter()} - {None, "none"}):
            new = "var(--pst-color-background)" if colour == "#ffffff" else dark(colour)
            at = f'[{part}="{colour}"]'
            rules += [f"{SWITCH}.{name} {at}{{{part}:{new}}}"] if new != colour else []
    rules += [f"{SWITCH}.{name}{{fill:{dark('#000000')}}}"]
    rules += [f"{SWITCH}.{name} .{kind}{{{';'.join(f'{part}:{ink}' for part in parts.split())}}}"
              for (ink, parts), kind in inks.items()]
    root.attrib |= {"class": f"drawing {name}", "role": "img", "aria-label": label}
    least, (wide, high) = _least(root), map(float, root.get("viewBox").split()[2:])
    seen_whole = f"max({SHARE * wide / high:.1f}svh,{least * WHOLE / LETTERS:.1f}px)"
    root.attrib |= {"style": f"--least:{least:.1f}px;width:min({width or root.get('width') + 'px'},{seen_whole})"}
    text = ET.tostring(root, "unicode").replace(" />", "/>")
    return re.sub(r"^<svg [^>]*>", lambda found: f"{found[0]}<style>@media screen{{{''.join(rules)}}}</style>", text)


def least_width(drawn: str) -> float:
    """The pixels below which letters of a stored SVG get too small to read; a wider screen shows it whole."""
    return _least(ET.fromstring(drawn.replace(f' xmlns="{SPACE}"', "", 1)))


def _least(root):
    return LETTERS * float(root.get("viewBox").split()[2]) / min(_sizes(root), default=math.inf)


def _sizes(element, given=None):
    """Of each text the size of its largest letters."""
    size = element.get("font-size", given)
    if element.tag == "text":
        spans = [span.get("font-size", size) for span in element]
        yield max(float(x) for x in (spans + [size] * bool(element.text) or [12]))
    for child in element if element.tag != "text" else ():
        yield from _sizes(child, size)


def _walk(parent, given, origin, areas, inks, paths):
    """Note in the order of drawing what lies where, and give each text and mark that needs one an ink for the dark."""
    for element in list(parent):
        own = given | {key: element.get(key) for key in PAINT if element.get(key)}
        x, y = (float(element.get(key, 0)) + shift for key, shift in zip("xy", origin, strict=True))
        if element.tag == "g":
            moved = re.match(r"translate\((\S+) ([^)]+)\)", element.get("transform", ""))
            there = (origin[0] + float(moved[1]), origin[1] + float(moved[2])) if moved else origin
            _walk(element, own, there, areas, inks, paths)
        elif element.tag == "path" and own["fill"] != "none":
            areas.append(_area(element.get("d"), own, origin))
        elif element.tag == "use":
            drawn = _area(paths[element.get("href")[1:]].get("d"), own, (x, y))
            if drawn.outline.get_extents().contains(x, y) and drawn.outline.get_extents().size.all():  # a tick is none
                _mark(element, own, (x, y), [area for area in areas if not area.mark], inks)
            if own["fill"] != "none":
                areas.append(drawn._replace(mark=True))
        elif element.tag == "image":
            areas += _image(parent, element, own)
        elif element.tag == "text":
            _text(element, own, (x, y), areas, inks)


def _area(d, own, origin):
    """The outline of a filled path; a curve is taken for the lines between its points."""
    points, codes = [], []
    for letter, numbers in re.findall(r"([A-Za-z])([^A-Za-z]*)", d):
        if letter.isupper() and numbers.strip():
            new = np.array(numbers.split(), float).reshape(-1, 2)
            points += list(new + origin)
            codes += [Path.MOVETO if letter == "M" else Path.LINETO] + [Path.LINETO] * (len(new) - 1)
    opacity = float(own.get("fill-opacity", 1)) * float(own.get("opacity", 1))
    colour = None if own["fill"] == "none" else rgb(dark(own["fill"]))
    return Area(Path(np.array(points), codes), colour, opacity)


def _image(parent, element, own):
    """Put the image for the dark beside that for the day, unless it is a picture; return where and what it is."""
    day = np.asarray(Image.open(io.BytesIO(base64.b64decode(element.get("href").partition(",")[2]))).convert("RGBA"))
    night = day.copy()
    if element.get("class") != PICTURE:
        colours, where = np.unique(day[..., :3].reshape(-1, 3), axis=0, return_inverse=True)
        night[..., :3] = np.round(255 * darkened(colours / 255))[where].reshape(day[..., :3].shape)
        other = ET.Element("image", element.attrib | {"class": "night", "href": _png(night)})
        parent.insert(list(parent).index(element) + 1, other)
        element.set("class", "day")
    element.set("href", _png(day))
    place = re.fullmatch(r"matrix\((\S+) 0 0 (\S+) (\S+) (\S+)\)", element.get("transform", ""))
    if not place:  # the shades of a colour bar: no text stands on them
        return []
    a, d, e, f = map(float, place.groups())
    box = np.array([(e, f), (e + a * day.shape[1], f), (e + a * day.shape[1], f + d * day.shape[0]),
                    (e, f + d * day.shape[0])])
    return [Area(Path(box), None, float(own.get("opacity", 1)), night[..., :3] / 255, (e, f), (a, d))]


def _png(pixels):
    """The pixels in as few bytes as are without loss: up to 256 colours as a palette."""
    image = Image.fromarray(pixels)
    if (pixels[..., 3] == 255).all():
        image = Image.fromarray(pixels[..., :3].copy())
        colours, where = np.unique(pixels[..., :3].reshape(-1, 3), axis=0, return_inverse=True)
        if len(colours) <= 256:
            image = Image.fromarray(where.reshape(pixels.shape[:2]).astype(np.uint8), "P")
            image.putpalette(colours.tobytes())
    file = io.BytesIO()
    image.save(file, "png", optimize=True)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def _text(element, own, at, areas, inks):
    for span in element:  # what a span says again, a rule for the text could not change
        if span.get("fill") == own["fill"]:
            del span.attrib["fill"]
    size, turn = float(own.get("font-size", element[0].get("font-size") if len(element) else 12)), 0.0
    if found := re.match(r"rotate\((\S+)", element.get("transform", "")):
        turn = math.radians(float(found[1].rstrip(")")))
    along = {"middle": 0.0, "end": -0.3}.get(own.get("text-anchor"), 0.3) * size
    up = 0.36 * size
    spot = at[0] + along * math.cos(turn) + up * math.sin(turn), at[1] + along * math.sin(turn) - up * math.cos(turn)
    ink = rgb(dark(own["fill"]))
    better = legible(ink, _ground(areas, spot))
    if better is not ink:
        element.set("class", inks.setdefault((to_hex(better), "fill"), f"k{len(inks)}"))


def _mark(element, own, spot, areas, inks):
    """A marker's ink on what it stands on: of its face, and of its edge if that is the same or all there is."""
    parts = [part for part in ("fill", "stroke") if own.get(part, "none") not in ("none", "#ffffff")
             and float(own.get("opacity", 1)) * float(own.get(f"{part}-opacity", 1)) == 1]
    if parts and any(area.outline.contains_point(spot) for area in areas):
        ink = rgb(dark(own[parts[0]]))
        better = legible(ink, _ground(areas, spot), VISIBLE)
        if better is not ink:
            same = " ".join(part for part in parts if own[part] == own[parts[0]])
            element.set("class", inks.setdefault((to_hex(better), same), f"k{len(inks)}"))


def _ground(areas, spot):
    """What lies at this spot in the dark."""
    ground = rgb(GROUND)
    for area in areas:
        if area.outline.contains_point(spot):
            ground = area.opacity * _colour(area, spot) + (1 - area.opacity) * ground
    return ground


def _colour(area, spot):
    if area.pixels is None:
        return area.colour
    high, wide = area.pixels.shape[:2]
    j, i = (int((s - c) / step) for s, c, step in zip(spot, area.corner, area.step, strict=True))
    return area.pixels[min(i, high - 1), min(j, wide - 1)]
