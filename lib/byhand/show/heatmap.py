"""Matrices as pictures: one square an entry, the numbers written in where they can be read."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Shaped
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.ticker import MaxNLocator, NullLocator
from numpy import ndarray as Array

from byhand.check.kinds import Optional, Several
from byhand.check.numbers import Flag, Number, kind_of
from byhand.show.page import LETTERS
from byhand.show.style import DIVERGING, SEQUENTIAL
from byhand.show.text import entry, plain

Labels = Sequence[str] | None
Limits = tuple[float | int, float | int] | None
KEYWORDS = {"rows", "columns", "title", "fmt", "signed", "limits", "numbers", "bar"}  # of a part of a formula

# Lengths are inches (a figure has 100 dots an inch), letters are points (72 an inch).
WIDEST, TALLEST = 7.0, 4.0    # a figure's width, and the height that one line of squares may take
CELL, FINE = 0.52, 0.15       # the largest side of a square; the smallest before a line of matrices is broken in two
OPERATOR, BAR, MARGIN, LINE = 0.45, 0.7, 0.12, 0.26
LABEL, NUMBER, READABLE = 9.0, 10.0, 7.0  # letters: labels and numbers at most, numbers where a line need not break
TITLE = 13.0                  # letters of a title, which are bold
AS_TEXT = {"parse_math": False}  # a token such as "$" is no formula
MOST = 14                     # a matrix with more rows or columns shows a colour bar and no numbers
PHONE = 390 / LETTERS / 72    # a figure's width on a phone, for each point of its smallest letters


def matrix(
    A: Shaped[Array, "n m"],
    *,
    rows: Labels = None,
    columns: Labels = None,
    title: str = "",
    fmt: str = ".2f",
    signed: bool = False,
    limits: Limits = None,
    numbers: bool | None = None,
    bar: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw a matrix. `rows` and `columns` are labels; `fmt` writes a float (masks show 1 and 0).

    `signed` takes colours that part at a white zero. `limits` fixes the colour scale, so that two pictures compare.
    `numbers` writes each entry into its square, else a colour bar stands beside; None decides by the shape.
    `bar` False leaves that bar out: of pictures with the same `limits` in one figure, one needs it.
    An entry that is not finite, such as a masked score, is grey.
    """
    if ax is None:
        options = dict(rows=rows, columns=columns, fmt=fmt, signed=signed, limits=limits, numbers=numbers, bar=bar)
        return matrices([(title, A, options)])[0]
    _check("matrix", A, rows, columns, title, fmt, signed, limits, numbers, bar)
    if not isinstance(ax, Axes):
        raise TypeError(f"matrix: ax is {kind_of(ax)}, expected axes of Matplotlib")
    n, m = A.shape
    box, figure = ax.get_position(), ax.get_figure(root=True)
    side = min(box.width * figure.get_figwidth() / m, box.height * figure.get_figheight() / n)
    numbers = _numbered(A, numbers)

    values = np.ma.masked_invalid(A.astype(float))
    norm = Normalize(*(limits or _limits(values, signed)))
    cmap = plt.get_cmap(DIVERGING if signed else SEQUENTIAL).with_extremes(bad="#D0D5DA")
    if numbers:
        squares = ax.pcolormesh(np.arange(m + 1) - 0.5, np.arange(n + 1) - 0.5, values, cmap=cmap, norm=norm,
                                edgecolor="#DDE2E7", linewidth=0.8)
    else:  # an image has no seams, and in an SVG one pixel an entry
        squares = ax.imshow(values, cmap=cmap, norm=norm, interpolation="none")
    ax.set(xlim=(-0.5, m - 0.5), ylim=(n - 0.5, -0.5), aspect="equal")
    ax.set_title(plain(title), loc="center", **AS_TEXT)
    ax.grid(False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, top=False, bottom=False, left=False, labeltop=True, labelbottom=False)
    for axis, labels in ((ax.xaxis, columns), (ax.yaxis, rows)):
        if labels is not None:
            axis.set_ticks(range(len(labels)), [plain(label) for label in labels],
                           fontsize=_label_points(side), **AS_TEXT)
        else:
            axis.set_major_locator(MaxNLocator(integer=True) if max(A.shape) > MOST else NullLocator())
    if _turned(columns, side):
        ax.tick_params(axis="x", labelrotation=90)
    if numbers:
        points, colours = _points(A, fmt, side), cmap(norm(values))
        for i, j in np.ndindex(n, m):
            _ = ax.text(j, i, _number(A[i, j], fmt), ha="center", va="center", fontsize=points,
                        color=_ink(colours[i, j]))
    elif bar:
        wide = MARGIN / (m * side)
        scale = figure.colorbar(squares, cax=ax.inset_axes([1 + wide, 0, wide, 1]))
        scale.outline.set_visible(False)
    return ax


def matrices(
    parts: Sequence[str | tuple],
    *,
    rows: Labels = None,
    columns: Labels = None,
    fmt: str = ".2f",
    signed: bool = False,
    limits: Limits = None,
    numbers: bool | None = None,
) -> list[Axes]:
    """Draw matrices side by side like a formula: `matrices([("Q", Q), "·", ("Kᵀ", K.mT), "=", ("S", S)])`.

    A part is an operator, `(title, A)`, or `(title, A, options)`, whose options of `matrix` hold for that one alone.
    The keywords hold for all, but `rows` labels the first of a line alone. All squares have one size;
    where they would be too small to read, on a page or on a phone, the formula is broken into lines.
    """
    common = dict(columns=columns, fmt=fmt, signed=signed, limits=limits, numbers=numbers)
    pictures, operator = [], ""  # a picture is the operator before it, the matrix, and its options
    if isinstance(parts, str) or not isinstance(parts, Sequence):
        raise TypeError(f"matrices: parts is {kind_of(parts)}, expected a list of operators and (title, A)")
    for part in parts:
        if isinstance(part, str):
            operator = part
        elif isinstance(part, tuple) and len(part) in (2, 3):
            title, A, options = (*part, {})[:3]
            if not isinstance(options, dict) or not options.keys() <= KEYWORDS:
                raise TypeError(f"matrices: options of {title!r:.40} are {options!r:.60}, expected a dict of "
                                f"{', '.join(sorted(KEYWORDS))}")
            options = {**common, "title": title, **options}
            _check("matrix", A, **{"rows": None} | options)
            pictures.append((operator, A, options))
            operator = ""
        else:
            raise TypeError(f"matrices: parts holds {type(part).__qualname__}, expected an operator, "
                            "(title, A) or (title, A, options)")
    if not pictures:
        raise ValueError("matrices: parts holds no matrix, expected at least 1")

    read = None
    for count in range(1, len(pictures) + 1):  # as few lines as can be read, on a phone too if that can be
        lines = _lines(pictures, count, rows)
        side = min(_side(line) for line in lines)
        if all(side >= _least(A, options) for _, A, options in pictures):
            read = read or (lines, side)
            if fits := _on_a_phone(lines, side):
                return _draw(lines, fits)
    return _draw(*read or (lines, side))


def _lines(pictures, count, rows):
    """Break the pictures into lines of even length; the first of each has the common row labels, if they fit."""
    each = -(-len(pictures) // count)
    lines = []
    for k in range(0, len(pictures), each):
        (operator, A, options), *rest = pictures[k:k + each]
        fits = rows is not None and (k == 0 or len(rows) == len(A))
        lines.append([(operator, A, {"rows": rows if fits else None, **options}), *rest])
    return lines


def _draw(lines, side) -> list[Axes]:
    tall = [max(len(A) for _, A, _ in line) * side for line in lines]
    over = [LINE + max(_head(options, side) for _, _, options in line) for line in lines]
    wide = max(_fixed(line) + side * _across(line) for line in lines) + MARGIN
    high = sum(tall) + sum(over) + MARGIN * len(lines)
    figure, axes, top = plt.figure(figsize=(wide, high), layout="none"), [], high
    for k, line in enumerate(lines):
        x, middle = 0.0, top - over[k] - tall[k] / 2
        top -= over[k] + tall[k] + MARGIN
        for operator, A, options in line:
            n, m = A.shape
            _ = figure.text((x + OPERATOR / 2) / wide, middle / high, plain(operator), ha="center", va="center",
                            fontsize=15, **AS_TEXT)
            x += _left(operator, options)
            ax = figure.add_axes((x / wide, (middle - n * side / 2) / high, m * side / wide, n * side / high))
            axes.append(matrix(A, **options, ax=ax))
            x += m * side + _right(A, options)
    return axes


def _side(line):
    """The largest side of a square with which a line fits; everything but the squares has a fixed size."""
    return max(0.02, min(CELL, (WIDEST - _fixed(line)) / _across(line), TALLEST / max(len(A) for _, A, _ in line)))


def _on_a_phone(lines, side):
    """The largest side up to this one with which a phone shows all lines whole and their letters large enough, if any.

    Letters do not get smaller for it: where they would, no smaller side helps.
    """
    smallest = _smallest(lines, side)
    for smaller in np.linspace(side, side / 3, 100):
        if _smallest(lines, smaller) < smallest:
            break
        if max(_width(line, smaller) for line in lines) <= PHONE * smallest:
            return smaller
    return None


def _width(line, side):
    """Inches, with what titles are longer than their matrices at both ends."""
    (operator, A, options), (_, B, last) = line[0], line[-1]
    before = _length([options["title"]], TITLE) / 2 - A.shape[1] * side / 2 - _left(operator, options)
    after = _length([last["title"]], TITLE) / 2 - B.shape[1] * side / 2 - _right(B, last)
    return MARGIN + _fixed(line) + side * _across(line) + max(before, 0) + max(after, 0)


def _smallest(lines, side):
    """The size of the smallest letters of all lines."""
    sizes = [NUMBER]
    for _, A, options in (picture for line in lines for picture in line):
        sizes += [_label_points(side)] if options.get("rows") or options.get("columns") else []
        sizes += [_points(A, options["fmt"], side)] if _numbered(A, options["numbers"]) else []
    return min(sizes)


def _across(line):
    return sum(A.shape[1] for _, A, _ in line)


def _fixed(line):
    return sum(_left(operator, options) + _right(A, options) for operator, A, options in line)


def _left(operator, options):
    return (OPERATOR if operator else MARGIN) + _length(options.get("rows"), LABEL)


def _right(A, options):
    return BAR if options.get("bar", True) and not _numbered(A, options["numbers"]) else MARGIN / 2


def _head(options, side):
    """The height of the column labels."""
    labels = options.get("columns")
    return _length(labels, _label_points(side)) + 0.05 if _turned(labels, side) else LINE if labels else 0.0


def _least(A, options):
    """The side of a square below which a matrix is too small to read."""
    if not _numbered(A, options["numbers"]):
        return FINE
    return CELL * READABLE / _points(A, options["fmt"], CELL)


def _numbered(A, numbers):
    return max(A.shape) <= MOST if numbers is None else numbers


def _points(A, fmt, side):
    """The size of letters at which the longest number fills most of a square of this side."""
    longest = max(len(_number(x, fmt)) for x in A.flat)
    return min(NUMBER, 72 * side * 0.86 / (0.64 * longest))


def _label_points(side):
    return min(LABEL, 72 * side * 0.9)


def _length(labels, points):
    """The inches that the longest label takes, at about 0.65 of its size a letter."""
    return max((len(label) for label in labels), default=0) * points * 0.65 / 72 if labels is not None else 0.0


def _turned(labels, side):
    return _length(labels, _label_points(side)) > side


def _number(x, fmt):
    if not isinstance(x, np.floating):
        return entry(x).replace("-", "−")
    if not np.isfinite(x):
        return {np.inf: "∞", -np.inf: "−∞"}.get(float(x), "nan")
    text = format(float(x), fmt)
    return text.lstrip("-") if not text.strip("-0.") else text.replace("-", "−")


def _limits(values, signed):
    """The ends of the colour scale: those of the finite entries; about zero if signed, from zero if none is below."""
    if values.count() == 0:
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    if signed:
        return -max(-low, high), max(-low, high)
    return min(low, 0.0), high


def _ink(colour) -> str:
    """Black or white, whichever stands out more from a square: at least 4.58:1 on any colour."""
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3])
    light = 0.2126 * r + 0.7152 * g + 0.0722 * b
    return "black" if (light + 0.05) ** 2 > 1.05 * 0.05 else "white"


def _check(where, A, rows, columns, title, fmt, signed, limits, numbers, bar=True):
    if not isinstance(A, np.ndarray):
        raise TypeError(f"{where}: A is {kind_of(A)}, expected a NumPy array")
    if A.ndim != 2 or not A.size:
        raise ValueError(f"{where}: A has shape {A.shape}, expected two axes with entries")
    if A.dtype.kind not in "biuf":
        raise TypeError(f"{where}: A has dtype {A.dtype}, expected real numbers or truth values")
    for name, labels, size in (("rows", rows, A.shape[0]), ("columns", columns, A.shape[1])):
        if labels is None:
            continue
        if isinstance(labels, str) or not isinstance(labels, Sequence) or not all(isinstance(x, str) for x in labels):
            raise TypeError(f"{where}: {name} is {labels!r:.60}, expected a list of strings")
        if len(labels) != size:
            raise ValueError(f"{where}: {name} has {len(labels)} labels but A has {size} {name}")
    for name, text in (("title", title), ("fmt", fmt)):
        if not isinstance(text, str):
            raise TypeError(f"{where}: {name} is {kind_of(text)}, expected text")
    try:
        _ = format(0.0, fmt)
    except ValueError as error:
        raise ValueError(f"{where}: fmt is {fmt!r} ({error}), expected a format of floats, such as '.2f'") from None
    Flag()(where, "signed", signed, {})
    Flag()(where, "bar", bar, {})
    Optional(Flag())(where, "numbers", numbers, {})
    if limits is not None:
        low, high = Several(tuple, [Number(), Number()], False)(where, "limits", limits, {})
        if low > high:
            raise ValueError(f"{where}: limits is {limits}, expected the lower one first")
