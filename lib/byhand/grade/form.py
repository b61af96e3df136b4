"""What wrong numbers look like, where no known mistake gives them: words about their form.

Every sentence here is a fact about the arrays ("each number is 2 times the expected one"), never a guess at its cause.
"""

import math
from collections import Counter

import numpy as np

from .model import NOTHING

# Bound now, as in the judge: an answer that patches numpy later changes nothing here.
_abs, _sort, _swap, _sign = np.abs, np.sort, np.swapaxes, np.sign
_errstate, _isfinite, _Float = np.errstate, np.isfinite, np.float64
CLOSE = 1e-8

NEVER_NEGATIVE = {
    "variance": "a variance", "var": "a variance", "distance": "a squared length", "bound": "a bound", "h": "a step",
    "norm": "a length", "deviation": "a deviation", "N": "a number of parameters",
    "parameters": "a number of parameters", "leak": "a largest change", "L": "a cross-entropy",
    "loss": "a cross-entropy", "without": "a cross-entropy", "with_norm": "a cross-entropy",
}


def close(a, b):
    """Do two arrays agree, beside the largest number of the second?"""
    if a.shape != b.shape:
        return False
    size = float(_abs(b).max(initial=0.0))
    return a.size > 0 and size > 0 and float(_abs(a - b).max()) <= CLOSE * size


def plain(array):
    return array.astype(_Float) if array.dtype.kind in "biuf" else None


def about_numbers(name, array, right):
    """A sentence about wrong numbers in the right shape, or ""."""
    if array.dtype.kind == "b" and right.dtype.kind == "b":
        if array.size > 1 and (array != right).all():  # of one value alone nobody can say so
            return "True and False are exchanged." if right.any() and not right.all() else ""
        if array.size == 1:
            return ""
    a, b = plain(array), plain(right)
    if a is None or b is None or a.shape != b.shape or not a.size or not (_isfinite(a) & _isfinite(b)).all():
        return ""
    with _errstate(all="ignore"):
        looks = (whole, lines, places, part)
        nearly, few = (_digits(a, b), _few_digits(a, b)) if right.dtype.kind == "f" else ("", "")
        found = (_impossible(name, a, b), nearly or next(filter(None, (look(a, b) for look in looks)), few))
    return " ".join(text for text in found if text)


def label_of(place, labels):
    return labels[place] if 0 <= place < len(labels) else "nothing" if place == NOTHING else str(place)


def about_names(array, right, labels):
    """Which names stand for which in a list of names, the commonest three."""
    if array.ndim != 1 or array.shape != right.shape or array.size < 2:
        return ""
    said = list(zip(right.tolist(), array.tolist(), strict=True))
    if not all(NOTHING <= i < len(labels) for pair in said for i in pair):
        return ""
    wrong = Counter(pair for pair in said if pair[0] != pair[1])
    text = [f"'{labels[r]}' {'gets no name' if a == NOTHING else f'is called {labels[a]!r}'} {k} of "
            f"{right.tolist().count(r)} times" for (r, a), k in wrong.most_common(3)]
    return "; ".join(text) + ("; and others." if len(wrong) > 3 else "." if text else "")


def _impossible(name, a, b):
    word = NEVER_NEGATIVE.get(name)
    if word and (a < 0).any() and not (b < 0).any():
        return f"{name} is negative, and {word} cannot be."
    if b.ndim >= 2 and b.shape[-1] > 1 and (b >= 0).all():
        sums, rows = b.sum(axis=-1), a.sum(axis=-1)
        full = _abs(sums - 1) < CLOSE
        if full.all() or (full | (sums == 0)).all() and full.any():
            if (a < -1e-12).any():
                return "Some weights are negative."
            wrong = full & (_abs(rows - 1) > 1e-6)
            if wrong.any():
                if (_abs(a.sum(axis=-2) - 1) < CLOSE).all():
                    return "The columns sum to one, and it should be the rows."
                return f"The rows are weights and should sum to one; yours sum to {_span(rows[wrong])}."
    return ""


def _span(values):
    low, high = float(values.min()), float(values.max())
    return f"{low:.3g}" if high - low < 1e-3 * abs(high) else f"{low:.3g} to {high:.3g}"


def whole(a, b):
    """One sign, one factor or one shift for all numbers."""
    if not b.any():
        return ""
    if not a.any():
        return "All numbers are 0."
    if close(-a, b):
        return "The sign is the opposite; the size is right." if a.size == 1 else "All signs are the opposite."
    c = float((a * b).sum() / (b * b).sum())
    if c and abs(c - 1) > CLOSE and close(a / c, b):
        word = factor_of(c)
        if a.size == 1:  # a single number is always some multiple of another
            return f"This is {word} times the expected number." if word[0] != "~" else ""
        return f"Every number is {word.lstrip('~')} times the expected one."
    k = int((_sign(a) != _sign(b)).sum())
    if k and close(_abs(a), _abs(b)):
        return f"The sizes are right; {k} of {a.size} numbers have the wrong sign."
    shift = a - b
    if a.size > 2 and close(shift, 0 * shift + shift.mean()):
        return f"Every number is too {'large' if shift.mean() > 0 else 'small'} by {abs(float(shift.mean())):.4g}."
    return ""


def factor_of(c):
    """A number as one would write it; with ~ in front if it is none that one would know."""
    sign, c = "−" if c < 0 else "", abs(c)
    for k in range(1, 129):
        for value, text in ((k, f"{k}"), (1 / k, f"1/{k}"), (math.sqrt(k), f"√{k}"), (1 / math.sqrt(k), f"1/√{k}")):
            if abs(c / value - 1) < CLOSE:
                return sign + text
    return f"~{sign}{c:.4g}"


def lines(a, b):
    """A factor or a shift of its own for each row, or each column."""
    if a.ndim < 2 or a.shape[-2] < 2 or a.shape[-1] < 2:
        return ""
    for axis, word in ((-1, "row"), (-2, "column")):
        if a.shape[axis] < 3:
            continue
        square = (b * b).sum(axis=axis, keepdims=True)
        factor = (a * b).sum(axis=axis, keepdims=True) / (square + (square == 0))
        if _abs(factor).min() > 1e-6 and close(factor * b, a) and (span := _span(factor)) != "1":
            return f"Each {word} is right but for a factor of its own, {span}."
        shift = (a - b).mean(axis=axis, keepdims=True)
        if close(a - shift, b):
            return f"Each {word} is right but for a number of its own that is added to all of it."
    return ""


def places(a, b):
    """The right numbers in other places."""
    if a.ndim >= 2 and a.shape[-1] == a.shape[-2] and close(_swap(a, -1, -2), b):
        return "Rows and columns are exchanged; the numbers are right."
    for k in range(a.ndim):
        if a.shape[k] > 1 and close(a.take(range(a.shape[k] - 1, -1, -1), axis=k), b):
            return "The order is reversed" + (f" along axis {k}, counted from 0." if a.ndim > 1 else ".")
        for step, word in ((1, "late"), (-1, "early")):
            n = a.shape[k]
            if n > 2 and close(a.take([(i + step) % n for i in range(n)], axis=k), b):
                return f"All numbers are one place too {word}" + (f" along axis {k}." if a.ndim > 1 else ".")
    if a.size > 3 and close(_sort(a.ravel()), _sort(b.ravel())):
        return "The numbers are right, but in other places."
    return ""


def part(a, b):
    """Which rows are wrong, where others are right."""
    bad = _abs(a - b) > CLOSE * float(_abs(b).max(initial=0.0)) + 1e-12
    if a.ndim >= 2 and a.shape[-1] == a.shape[-2] > 2 and bad.any():
        above = bad.any(axis=tuple(range(a.ndim - 2)))
        n = a.shape[-1]
        spots = [(i, j) for i in range(n) for j in range(n) if above[i, j]]
        for word, inside in (("above", lambda i, j: j > i), ("below", lambda i, j: j < i), ("on", lambda i, j: i == j)):
            if all(inside(i, j) for i, j in spots):
                return f"All is right but {word} the diagonal."
    for k in range(a.ndim):
        n = a.shape[k]
        wrong = [i for i in range(n) if bad.take(i, axis=k).any()]
        if n < 2 or not 0 < len(wrong) < n or len(wrong) > max(1, n // 2):
            continue
        if a.ndim == 1:
            word = "entry"
        else:
            word = {a.ndim - 2: "row", a.ndim - 1: "column"}.get(k, f"part of axis {k},")
        if len(wrong) == 1:
            which = {0: f"the first {word}", n - 1: f"the last {word}"}.get(wrong[0], f"{word} {wrong[0]}")
            which = f"{word} number {wrong[0]}" if word.endswith(",") else which
        else:
            places = ", ".join(map(str, wrong[:6])) + (f" and {len(wrong) - 6} more" if len(wrong) > 6 else "")
            which = f"parts {places} of axis {k}" if word.endswith(",") else f"{word}s {places}"
            which = which.replace("entrys", "entries")
        return f"All is right but {which}."
    return ""


def _digits(a, b):
    largest, error = float(_abs(b).max(initial=0.0)), float(_abs(a - b).max())
    if largest and 0 < error < 1e-5 * largest:
        if a.size > 1 and (a == a.astype(np.float32)).all():
            return "The numbers have the precision of float32: somewhere on the way float64 was lost."
        return (f"The largest error is only {error / largest:.1g} of the largest number: nearly right, but not equal, "
                "as after a step in float32, or with something small added, such as an ε.")
    return ""


def _few_digits(a, b):
    largest, error = float(_abs(b).max(initial=0.0)), float(_abs(a - b).max())
    if a.size > 2 and largest and 0 < error < 1e-3 * largest:
        if (a == a.astype(np.float16)).all() and (b != b.astype(np.float16)).any() and (a != a.round()).any():
            return "The numbers have the precision of float16: somewhere on the way float64 was lost."
        return f"The largest error is only {error / largest:.1g} of the largest number: nearly right, but not equal."
    return ""


def about_not_finite(array, events):
    """Overflow told apart from 0/0, by what numpy met on the way."""
    if array.dtype.kind not in "fc":
        return ""
    text = ""
    if "overflow" in events:
        text = "A number overflowed on the way: exp of more than 709 does, or a product of very large numbers."
    elif "divide by zero" in events:
        text = "Something was divided by 0 on the way, or log was taken of 0."
    elif "invalid value" in events:
        text = "No number overflowed: nan came from 0/0, ∞ − ∞, or a root or log of a negative number."
    else:  # PyTorch, or warnings that the answer switches off
        text = ("nan comes from ∞ − ∞, ∞/∞ or 0/0; ∞ itself from exp of more than 709, a division by 0, log of 0, or "
                "a start at ∞ that nothing replaced.")
    bad = ~_isfinite(array)
    if array.ndim >= 2 and array.shape[-1] > 1:
        rows = bad.any(axis=-1)
        if not rows.all() and (bad.all(axis=-1) == rows).all() and int(rows.sum()) == 1:
            where = [int(i[0]) for i in rows.nonzero()]
            text += f" One row is concerned, {where}."
    return text.strip()
