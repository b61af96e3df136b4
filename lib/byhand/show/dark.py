"""The colours of a figure in the dark.

A colour changes its place between black and white and keeps its hue, so that each two keep the contrast
that they have by day: (Y + 0.05) of the one set times (Y + 0.05) of the other is constant, where Y is the luminance of
WCAG 2. A map stays in order, white becomes the page's ground, and a number stays legible on its square.
"""

import functools

import numpy as np

from byhand.show.style import COLOURS

GROUND = "#121212"  # the page's, in the dark
WEIGHTS = np.array([0.2126, 0.7152, 0.0722])  # of red, green and blue in luminance
# OKLab (Ottosson 2020), for rows: linear sRGB to cones, their cube roots to lightness and two axes of hue.
TO_CONES = np.array([[0.4122214708, 0.2119034982, 0.0883024619], [0.5363325363, 0.6806995451, 0.2817188376],
                     [0.0514459929, 0.1073969566, 0.6299787005]])
TO_LAB = np.array([[0.2104542553, 1.9779984951, 0.0259040371], [0.7936177850, -2.4285922050, 0.7827717662],
                   [-0.0040720468, 0.4505937099, -0.8086757660]])
LEGIBLE, VISIBLE = 4.5, 3.0  # the contrast of text, and of lines and marks, by WCAG 2 level AA
# Okabe and Ito's colours stand out from black as they are, blue alone is too dark; turned round, orange would be brown.
KEPT = {COLOURS[name].lower(): COLOURS[name].lower() for name in
        ("orange", "sky", "green", "yellow", "vermillion", "purple")} | {COLOURS["blue"].lower(): "#2f8fd3"}
# Of his colours two are too pale for a line on white: by day a page has these in their place.
DEEPER = {COLOURS["orange"].lower(): "#c48700", COLOURS["sky"].lower(): "#2e9ad2"}
KEPT |= {deep: KEPT[pale] for pale, deep in DEEPER.items()}


def rgb(colour: str) -> np.ndarray:
    """Red, green and blue of "#rrggbb", from 0 to 1."""
    return np.array([int(colour[i:i + 2], 16) for i in (1, 3, 5)]) / 255


def luminance(colours):
    """Y of sRGB colours, (…, 3) with entries from 0 to 1, by WCAG 2: (…)."""
    return _linear(colours) @ WEIGHTS


def contrast(a, b) -> float:
    """Of two colours, from 1 to 21 (WCAG 2)."""
    low, high = sorted((float(luminance(a)), float(luminance(b))))
    return (high + 0.05) / (low + 0.05)


def darkened(colours):
    """The counterparts of colours (…, 3) in the dark, of the same hue."""
    ground = luminance(rgb(GROUND)) + 0.05
    return shaded(colours, np.clip(1.05 * ground / (luminance(colours) + 0.05) - 0.05, 0, 1))


def shaded(colours, Y):
    """The colours with luminance Y: the same hue and, as far as the screen can, the same chroma, both of OKLab."""
    lab = np.cbrt(_linear(colours) @ TO_CONES) @ TO_LAB
    Y, found = np.broadcast_to(Y, lab.shape[:-1]), np.full(lab.shape, np.nan)
    for share in np.linspace(1, 0, 11):
        low, high = np.zeros(Y.shape), np.ones(Y.shape)
        for _ in range(20):  # halve the lightness in which a colour of this luminance lies
            L = (low + high) / 2
            light = (np.concatenate([L[..., None], share * lab[..., 1:]], -1) @ np.linalg.inv(TO_LAB)) ** 3
            light = light @ np.linalg.inv(TO_CONES)
            more = light @ WEIGHTS < Y
            low, high = np.where(more, L, low), np.where(more, high, L)
        new = np.isnan(found[..., 0]) & ((light > -1e-4) & (light < 1 + 1e-4)).all(-1)
        found = np.where(new[..., None], light, found)
    found = np.clip(np.where(np.isnan(found), Y[..., None], found), 0, 1)
    return np.where(found <= 0.0031308, 12.92 * found, 1.055 * np.maximum(found, 1e-9) ** (1 / 2.4) - 0.055)


def _linear(colours):
    return np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)


@functools.cache
def dark(colour: str) -> str:
    """The counterpart of "#rrggbb"."""
    return KEPT.get(colour) or to_hex(darkened(rgb(colour)))


def to_hex(colour):
    return "#" + "".join(f"{round(255 * float(c)):02x}" for c in np.clip(colour, 0, 1))


def legible(ink, ground, least=LEGIBLE):
    """The ink, if it has this contrast to the ground, and else that of its hue which has the contrast of text."""
    if contrast(ink, ground) >= least:
        return ink
    Y = float(luminance(ground)) + 0.05
    lighter, darker = 1.01 * LEGIBLE * Y - 0.05, Y / LEGIBLE / 1.01 - 0.05  # there is room for one of them at least
    up = darker < 0 or (lighter <= 1 and luminance(ink) >= Y - 0.05)
    return shaded(ink, lighter if up else darker)
