"""When two outputs of a cell are the same: but for noise in a picture, and for digits that the cell declares.

A picture is the same unless one would see a difference; an SVG goes with the PNG beside it, unless it is made of other
elements. Text is compared to the letter; a cell whose digits depend on the processor says how far they may go in a tag,
`tolerance:1e-4`: then each number that is written with a point or an exponent may differ by that much, or by that share
of its size where it is larger than one. Whole numbers may not. Blanks may be more or fewer, since columns move; lines
may not.
Errors of rounding differ from one processor to the next by more than any share: under a tag `rounding:1e-8` two numbers
that are both no larger than that are the same, also where one of them is a plain 0, and a number that leaves the bound
is caught.
run_notebooks.py keeps the stored output where it is the same; nbval's comparison, in conftest.py, accepts it.
"""

import base64
import io
import re
from typing import NamedTuple

import numpy as np
from PIL import Image

TAG, ROUNDING = "tolerance:", "rounding:"
PNG, SVG = "image/png", "image/svg+xml"
NUMBER = re.compile(r"(?<![\w.])[-+−]?(?:\d+\.\d*|\.\d+|\d+(?=[eE][-+]?\d))(?:[eE][-+]?\d+)?(?!\w|\.\w)")
NUMBER_OR_ZERO = re.compile(rf"{NUMBER.pattern}|(?<![\w.])0(?![\w.])")

# In an SVG: how a path runs, and each number, colour, name and pixel.
WHERE = re.compile(r'(?<= d=)"[^"]*"|#[0-9a-f]{6}\b|\bf[0-9a-f]{6}-\d+|(?<=base64,)[^"]*|-?\d+(?:\.\d+)?(?:e-?\d+)?')

# One pixel that leaves the stored one by more than EDGE of 255 is seen; a line, a letter or a minus sign has many.
# So is a square of BLOCK pixels whose mean leaves the stored one by more than SHADE: another colour of an area.
EDGE, PIXELS, BLOCK, SHADE = 48, 3, 8, 8


class Slack(NamedTuple):
    """How far the numbers in a cell's outputs may go: not at all unless it has the tags."""

    tolerance: float = 0.0
    rounding: float = 0.0


def slack(cell) -> Slack:
    tags = cell.get("metadata", {}).get("tags", [])
    return Slack(*(next((float(tag.removeprefix(word)) for tag in tags if tag.startswith(word)), 0.0)
                   for word in (TAG, ROUNDING)))


def same_text(old: str, new: str, allowed: Slack) -> bool:
    """Whether two texts are equal but for numbers that differ by no more than is allowed."""
    if old == new or allowed == Slack():
        return old == new
    number = NUMBER_OR_ZERO if allowed.rounding else NUMBER
    texts = ["\n".join(" ".join(line.split()) for line in text.split("\n")) for text in (old, new)]
    words = [number.split(text) for text in texts]
    numbers = [[float(n.replace("−", "-")) for n in number.findall(text)] for text in texts]
    # 0.94 and 0.95 are one in the last digit apart, as 1e-2 allows; as floats they are further, by a rounding
    return words[0] == words[1] and all(
        abs(a - b) <= allowed.tolerance * max(1.0, abs(a)) * (1 + 1e-9) or max(abs(a), abs(b)) <= allowed.rounding
        for a, b in zip(*numbers, strict=True))


def same_picture(old: str, new: str) -> bool:
    """Whether two PNG files, in base64, look the same."""
    a, b = (np.asarray(Image.open(io.BytesIO(base64.b64decode(png))).convert("RGBA"), np.int16) for png in (old, new))
    if a.shape != b.shape:
        return False
    gap = a - b
    high, wide = (-(-side // BLOCK) * BLOCK for side in gap.shape[:2])
    padded = np.zeros((high, wide, 4))
    padded[:gap.shape[0], :gap.shape[1]] = gap
    means = padded.reshape(high // BLOCK, BLOCK, wide // BLOCK, BLOCK, 4).mean(axis=(1, 3))
    return bool((np.abs(gap).max(-1) > EDGE).sum() <= PIXELS and np.abs(means).max() <= SHADE)


def same_make_up(old: str, new: str) -> bool:
    """Whether two SVG have the same elements with the same attributes, whatever numbers and colours they hold."""
    return WHERE.sub("", old) == WHERE.sub("", new)


def keep_same(old, new, allowed: Slack, pictures: bool = True) -> None:
    """Put back into `new`, the outputs of one cell, whatever of `old` is the same."""
    if [out["output_type"] for out in old] != [out["output_type"] for out in new]:
        return
    for before, after in zip(old, new, strict=True):
        if "text" in before and before.get("name") == after.get("name"):
            if same_text(before["text"], after["text"], allowed):
                after["text"] = before["text"]
        both = {mime: (content, after["data"][mime]) for mime, content in before.get("data", {}).items()
                if isinstance(content, str) and isinstance(after["data"].get(mime), str)}
        looks_same = pictures and PNG in both and same_picture(*both[PNG])
        for mime, (content, again) in both.items():
            if mime == PNG:
                same = looks_same
            elif mime == SVG:
                same = looks_same and same_make_up(content, again)
            else:
                same = mime.startswith("text/") and same_text(content, again, allowed)
            if same:
                after["data"][mime] = content
