"""What an answer gave beside what was expected, of public cases: a few numbers that are kept with the grade."""

import numpy as np

from ..judge import finish
from ..model import make_inputs

MOST, PICTURES = 12, 3  # rows and columns of a matrix; pictures of a question
LONG = 48  # numbers of a curve
DRAWN = ("wrong", "shape", "finite", "dtype", "changed")  # kinds of verdicts that have numbers to be seen


def taken(question, outcomes, results, expected, key) -> tuple[dict, ...]:
    """Of the first failed public cases the output that is wrong, cut out around its worst number. JSON without nan."""
    found = []
    for o in outcomes:
        if o.case.hidden or o.verdict.kind not in DRAWN or question.labels or len(found) == PICTURES:
            continue
        result = finish(question, make_inputs(question, o.case, key), results[o.case.name])
        if result.kind == "ok":
            found += _first(question, o.case, result.arrays, expected(o.case))
    return tuple(found)


def _first(question, case, arrays, expected):
    for name, mine, right in zip(question.judged, arrays, expected, strict=True):
        if (case.look and name not in case.look) or isinstance(mine, str) or not (mine.ndim and right.ndim):
            continue
        if "c" in (mine.dtype.kind, right.dtype.kind) or not (mine.size and right.size):
            continue
        differs, error = _differs(mine, right, case)
        if differs is None or differs.any():
            return [{"case": case.name, "output": name} | _cut(mine, right, differs, error)]
    return []


def _differs(mine, right, case):
    """Where two arrays of one shape differ by more than the case allows, and by how much; None of other shapes."""
    if mine.shape != right.shape:
        return None, None
    a, b = mine.astype(np.float64), right.astype(np.float64)
    with np.errstate(all="ignore"):
        error = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
    error[np.isnan(error)] = np.inf
    allowed = case.rtol * float(np.abs(b).max(initial=0.0)) + case.atol if right.dtype.kind == "f" else 0.0
    return error > allowed, error


def _cut(mine, right, differs, error):
    worst = (0,) * right.ndim if differs is None else np.unravel_index(int(error.argmax()), error.shape)
    worst = tuple(int(i) for i in worst)
    lead, inner = worst[:-2], worst[-2:]
    most = (LONG,) if right.ndim == 1 else (MOST, MOST)
    at = [max(0, min(i - n // 2, size - n)) for i, n, size in zip(inner, most, right.shape[-2:], strict=True)]
    window = tuple(slice(start, start + n) for start, n in zip(at, most, strict=True))
    out = {"index": list(lead), "at": at, "shape": list(mine.shape), "right": list(right.shape),
           "expected": _plain(right[(*lead, *window)])}
    if differs is None:
        mine = mine[(0,) * max(0, mine.ndim - 2)]
        return out | {"mine": _plain(mine[tuple(slice(n) for n in (LONG,) if mine.ndim == 1) or (slice(MOST),) * 2])}
    inside = [i - start for i, start in zip(inner, at, strict=True)]
    return out | {"mine": _plain(mine[(*lead, *window)]), "differs": differs[(*lead, *window)].tolist(),
                  "worst": inside, "count": [int(differs.sum()), int(differs.size)]}


def _plain(array):
    """Nested lists of numbers; what is not finite as a word, for JSON has none."""
    if array.dtype.kind in "bi" or array.dtype.kind == "u":
        return array.astype(int).tolist()
    words = np.where(np.isfinite(array), None, array.astype(str)) if not np.isfinite(array).all() else None
    numbers = array.astype(np.float64).tolist()
    if words is None:
        return numbers
    return [_plain(row) for row in array] if array.ndim > 1 else [
        x if w is None else str(w) for x, w in zip(numbers, words.tolist(), strict=True)]
