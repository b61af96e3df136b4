"""A figure as an SVG: sharp at any size, its letters text, and the same bytes whenever it is drawn again."""

import hashlib
import io
import re
from xml.etree import ElementTree as ET

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

SPACE, LINK = "http://www.w3.org/2000/svg", "{http://www.w3.org/1999/xlink}href"
FONTS = "'DejaVu Sans',Verdana,sans-serif"  # Verdana is as wide: for a machine that has no DejaVu
DOTS = 300           # an inch, of what is not drawn as lines: the shades of a colour bar
PICTURE = "picture"  # the gid of an image whose pixels are the content; a dark page leaves its colours
UNDATED = dict.fromkeys(("Date", "Creator", "Format", "Type"))
NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")


def svg(figure: Figure) -> str:
    """The figure as one line of SVG, on a white ground of its own.

    An array of colours, such as a photograph, is marked as a picture; a chapter marks others: `imshow(digit,
    gid="picture")`.
    """
    for image in figure.findobj(AxesImage):
        if image.get_array() is not None and image.get_array().ndim == 3:
            image.set_gid(PICTURE)
    drawn = io.BytesIO()
    # Matplotlib would give a figure of no layout, once it is saved, the layout that is in force.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "byhand", "figure.constrained_layout.use": False}):
        figure.savefig(drawn, format="svg", dpi=DOTS, bbox_inches="tight", metadata=UNDATED)
    return shrink(drawn.getvalue().decode())


def shrink(drawn: str) -> str:
    """Matplotlib's SVG in a third of the bytes: hundredths of a point, and no group or id that nothing needs."""
    root = ET.fromstring(drawn)
    wide, high = (float(x) for x in root.get("viewBox").split()[2:])
    for parent in root.findall("*[{*}style]"):  # its one rule is for `*`, which on a page is the whole page
        root.remove(parent)
    used = {a or b for a, b in re.findall(r'url\(#([^)]+)\)|="#([\w.-]+)"', drawn)}
    for element in root.iter():
        _plain(element, used)
    _unwrap(root)
    for group in root.iter("g"):
        _hoist(group)
    root.attrib = {"viewBox": f"0 0 {_short(wide)} {_short(high)}", "width": _short(wide * 100 / 72),
                   "height": _short(high * 100 / 72), "fill": "#000000", "stroke-linejoin": "round",
                   "font-family": FONTS}  # pixels of a figure that has 100 dots an inch
    text = ET.tostring(root, "unicode").replace(" />", "/>")
    digest = hashlib.sha256(text.encode()).hexdigest()[:6]  # ids are those of a page: no two figures may share one
    for k, name in enumerate(dict.fromkeys(re.findall(r' id="([^"]+)"', text))):
        text = re.sub(rf'(?<=["#]){re.escape(name)}(?=[")])', f"f{digest}-{k}", text)
    return text.replace("<svg ", f'<svg xmlns="{SPACE}" ', 1)


def _short(number) -> str:
    return f"{round(float(number), 2):g}" if abs(float(number)) < 1e4 else f"{float(number):.0f}"


def _plain(element, used):
    """Attributes in place of a style, short numbers, and no id that nothing refers to."""
    element.tag = element.tag.rpartition("}")[2]
    element.tail = None
    if element.tag not in ("text", "tspan") or not (element.text or "").strip("\n "):
        element.text = None
    style = [part.partition(":") for part in element.attrib.pop("style", "").split(";")]
    for name, _, value in style:
        element.set(name.strip(), value.strip())
    element.attrib.pop("", None)
    if re.search("^ |  | $", element.text or ""):  # else a browser makes one of two spaces
        element.set("style", "white-space:pre")
    if LINK in element.attrib:
        element.set("href", element.attrib.pop(LINK).replace("\n", ""))
    if element.tag == "image":
        element.attrib |= {"class": PICTURE} if element.get("id") == PICTURE else {}
    if element.get("id") not in used:
        element.attrib.pop("id", None)
    family = element.attrib.pop("font-family", "'DejaVu Sans'")
    if family.strip("'\"") != "DejaVu Sans":
        element.set("font-family", f"{family},monospace" if "Mono" in family else family)
    for name, value in element.attrib.items():
        if name == "transform":
            element.set(name, _transform(value))
        elif name not in ("href", "id", "clip-path", "font-family", "class", "style"):
            value = NUMBER.sub(lambda found: _short(found[0]), value.replace("px", "") if name[:4] == "font" else value)
            element.set(name, _path(value) if name == "d" else value)
    if not element.get("transform", "x"):
        del element.attrib["transform"]


def _path(d: str) -> str:
    """A path without line breaks and without an L that the letter before it implies."""
    d = re.sub(r" ?([A-Za-z]) ?", r"\1", " ".join(d.split()))
    return re.sub(r"([ML][^A-Za-z]+)((?:L[^A-Za-z]+)+)", lambda found: found[1] + found[2].replace("L", " "), d)


def _transform(value: str) -> str:
    """A scale keeps six digits, since it may be that of an image with a thousand pixels; a turn by nothing goes."""
    exact = "matrix" in value or "scale" in value
    value = NUMBER.sub(lambda found: f"{float(found[0]):.6g}" if exact else _short(found[0]), value)
    return re.sub(r"rotate\(-?0(?: [^)]*)?\)|translate\(0 0\)", "", value).strip()


def _unwrap(parent):
    """Put the content of groups that say nothing in their place, and leave out what is empty."""
    for child in list(parent):
        _unwrap(child)
        at = list(parent).index(child)
        if child.tag in ("g", "defs", "metadata") and (not len(child) or child.tag == "g" and not child.attrib):
            parent.remove(child)
            for k, one in enumerate(child):
                parent.insert(at + k, one)


def _hoist(group):
    """What all that a group holds have in common is said once, by the group."""
    for name in ("fill", "stroke", "stroke-width", "fill-opacity", "stroke-opacity", "clip-path"):
        values = {child.get(name) for child in group}
        if len(group) > 1 and len(values) == 1 and None not in values and group.get(name) is None:
            group.set(name, values.pop())
            for child in group:
                del child.attrib[name]
