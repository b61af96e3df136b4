"""Compare plain arrays with the expected ones.  Nothing here ever sees the answer that made them.

The comparison is our own arithmetic on plain arrays, with functions bound at import: an answer that patches
np.allclose, or that returns an object equal to everything, changes no verdict.
"""

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

from .form import about_names, about_not_finite, about_numbers, close, label_of, plain
from .model import WrongAnswer
from .run import Result
from .shapes import about_shape

_abs, _isfinite, _isnan = np.abs, np.isfinite, np.isnan
_where, _errstate, _unravel = np.where, np.errstate, np.unravel_index
_Float = np.float64


@dataclass(frozen=True)
class Verdict:
    kind: str  # "ok", or the first thing that is wrong
    text: str = ""
    detail: tuple[str, ...] = ()  # numbers of the expected answer: for public cases only
    remark: str = ""  # about the form of what is wrong; for an answer that equals no known mistake
    swapped: bool = False  # two outputs stand in each other's place: no two mistakes are looked for

    @property
    def ok(self):
        return self.kind == "ok"


def finish(question, inputs, result):
    """Where many answers are right, replace the arrays by what the question measures of them."""
    if question.measure is None or result.kind != "ok":
        return result
    for array in result.arrays:
        if isinstance(array, str):
            return Result("structure", text=array)
    try:
        with _errstate(all="ignore", over="raise", invalid="raise"):  # a nan would slip through a comparison
            measured = tuple(question.measure(inputs, result.arrays))
            return Result("ok", measured, result.changed, events=result.events)
    except WrongAnswer as error:
        return Result("structure", text=str(error))
    except Exception as error:  # of numbers that nobody thought of, such as those near the end of their range
        return Result("structure", text=f"what came back cannot be measured ({type(error).__name__}): are there very "
                                        "large numbers in it, or numbers of another kind?")


def judge(question, case, result, expected):
    """The first thing that is wrong, in the order in which a learner should hear of it."""
    if result.kind != "ok":
        return Verdict(result.kind, result.text)
    looked = [
        (name, array, right)
        for name, array, right in zip(question.judged, result.arrays, expected, strict=True)
        if not case.look or name in case.look
    ]
    swapped = _exchanged(question.judged, result.arrays, expected)
    for stage in (_structure, _shape, _finite, _dtype):
        for name, array, right in looked:
            if text := stage(name, array, right):
                remark = swapped if stage in (_shape, _dtype) else ""
                remark = remark or _remark(stage, array, right, result.events)
                return Verdict(stage.__name__[1:], text, remark=remark)
    if result.changed:
        names = ", ".join(result.changed)
        return Verdict("changed", f"your function changed its input {names} in place; work on a copy")
    for name, array, right in looked:
        if verdict := _numbers(name, array, right, case, question.labels):
            about = (about_names(array, right, question.labels) if question.labels
                     else about_numbers(name, array, right))
            remark = swapped or (f"{name}: {about}" if about and len(looked) > 1 else about)
            remark = " ".join(filter(None, (remark, _others(looked, case, question.labels))))
            return replace(verdict, remark=remark, swapped=bool(swapped))
    return Verdict("ok")


def _remark(stage, array, right, events):
    if stage is _shape:
        return about_shape(array, right)
    return about_not_finite(array, events) if stage is _finite else ""


def _exchanged(names, arrays, expected):
    """Two outputs that stand in each other's place."""
    for i, j in itertools.combinations(range(len(names)), 2):
        mine, right = (arrays[i], arrays[j]), (expected[j], expected[i])
        if any(isinstance(a, str) or a.dtype.kind not in "bfiu" for a in (*mine, *right)):
            continue
        mine, right = tuple(map(plain, mine)), tuple(map(plain, right))
        numbers = [x for a in mine for x in a.flat if x]
        if max(a.size for a in mine) < 2 and (not numbers or any(abs(x) < 10 and x * 1000 % 1 == 0 for x in numbers)):
            continue  # two small round numbers may be equal by chance
        if all(map(_alike, mine, right)) and any(map(close, mine, right)) and not _alike(mine[0], right[1]):
            return f"{names[i]} and {names[j]} are exchanged: the numbers of each are right for the other."
    return ""


def _alike(a, b):
    """Close, or zero throughout."""
    return close(a, b) or a.shape == b.shape and not a.any() and not b.any()


def _others(looked, case, labels):
    """Which of several outputs are right, and which are not."""
    wrong = [name for name, array, right in looked if _numbers(name, array, right, case, labels)]
    fine = [name for name, _, _ in looked if name not in wrong]
    return f"Right: {', '.join(fine)}. Wrong: {', '.join(wrong)}." if fine else ""


def _structure(name, array, right):
    return array if isinstance(array, str) else ""


def _shape(name, array, right):
    return "" if array.shape == right.shape else f"{name} has shape {array.shape}, expected {right.shape}"


def _finite(name, array, right):
    if array.dtype.kind not in "fc" or _isfinite(array).all():
        return ""
    what = "nan" if _isnan(array).any() else "inf"
    return f"{name} contains {what}: {int((~_isfinite(array)).sum())} of {array.size} numbers are not finite"


def _dtype(name, array, right):
    if array.dtype == right.dtype:
        return ""
    kinds = {"f": "iu" if right.ndim == 0 else "", "i": "iu"}.get(right.dtype.kind, "")
    if right.ndim == 0 and right.dtype.kind == "i" and array.dtype == _Float:
        # 12.0 is a whole number
        return "" if array == array.round() else f"{name} is {float(array):.6g}, expected a whole number"
    return "" if array.dtype.kind in kinds else f"{name} has dtype {array.dtype}, expected {right.dtype}"


def _numbers(name, array, right, case, labels):
    """None where the arrays agree."""
    if right.dtype.kind == "f":
        array = array.astype(_Float)
        error = _abs(array - right)
        largest = float(_abs(right).max(initial=0.0))
        tolerance = case.rtol * largest + case.atol
    else:
        error, tolerance = _where(array != right, 1.0, 0.0), 0.0
    if error.size == 0 or float(error.max()) <= tolerance:
        return None
    where = tuple(int(i) for i in _unravel(int(error.argmax()), error.shape))
    spot = name + (f"[{', '.join(map(str, where))}]" if where else "")
    digits = 4
    if right.dtype.kind == "f":
        text = f"largest error {float(error.max()):.3g} at {spot}"
        if largest > 0:  # as many digits as it takes to see the difference
            digits = int(max(4, min(2 - math.log10(float(error.max()) / largest), 12)))
    else:
        text = f"{int((error > 0).sum())} of {error.size} wrong, the first at {spot}" if where else f"{name} is wrong"
    # the row of the worst number, at most eight numbers of it around that number
    start = max(0, min(where[-1] - 4, right.shape[-1] - 8)) if where else 0
    mine, theirs = (_row(a[where[:-1]][start : start + 8] if where else a, digits, labels) for a in (array, right))
    return Verdict("wrong", text, (f"yours     {mine}", f"expected  {theirs}"))


def _row(row, digits, labels):
    items = [row.item()] if row.ndim == 0 else row.tolist()
    if labels:
        return ", ".join(label_of(item, labels) for item in items)
    # 1e-17 beside 1 is rounding, and differs from one machine to the next
    noise = 1e-13 * max((abs(item) for item in items), default=0.0)
    items = [0.0 if abs(item) <= noise or abs(item) < 1e-15 else item for item in items]
    text = "  ".join(f"{item:.{digits}g}" if isinstance(item, float) else str(item) for item in items)
    return f"[{text}]" if row.ndim else text
