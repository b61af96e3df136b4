"""How much of a wrong array is that of a known mistake."""

import numpy as np

from .form import CLOSE, factor_of, lines, part, places, whole

_abs, _errstate = np.abs, np.errstate  # bound now, as in the judge
ENOUGH = 3  # numbers that must agree: fewer may do so by chance
FEW = 6  # the same for whole numbers and names


def against(mine, known, right):
    """(words, numbers that agree) where an array is a known wrong one but for a part of it, such as a row, and that
    part is no larger; None else.  Not by a factor, a shift or another order: of the many known ones, one is always
    met by chance."""
    if mine.size < 4 or mine.shape != known.shape or mine.shape != right.shape:
        return None
    with _errstate(all="ignore"):
        text = "" if any(look(mine, right) for look in (whole, lines, places)) else part(mine, known)
        size = float(_abs(right).max(initial=0.0)) * CLOSE + 1e-12
        wrong, told = _abs(mine - right) > size, _abs(known - right) > size
        met = told & (_abs(mine - known) <= size)
    return (text, int(met.sum())) if text and 2 * met.sum() > wrong.sum() and not (told & ~wrong).any() else None


def weight(mine, right):
    """How many numbers are wrong; whole numbers and names count for less, and one that is no simple multiple of the
    right one for many."""
    if mine.shape != right.shape:
        return ENOUGH
    wrong = mine != right
    if mine.dtype.kind != "f":
        if mine.size > 1 and (mine == mine.flat[0]).all():  # of one value throughout: many mistakes would give it
            return 0
        return int(wrong.sum()) * ENOUGH // FEW
    with _errstate(all="ignore"):
        odd = [value for value in (mine[wrong] / right[wrong])[:ENOUGH] if factor_of(value)[0] == "~"]
    return ENOUGH if odd else int(wrong.sum())
