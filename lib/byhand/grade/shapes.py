"""What a wrong shape looks like, where no known mistake gives it: words about its form.

Every sentence is a fact about the arrays, never a guess at its cause.
"""

import itertools

import numpy as np

from .form import close, plain

_swap = np.swapaxes  # bound now, as in the judge


def about_shape(array, right):
    """A sentence about a wrong shape, or ""."""
    mine, theirs = array.shape, right.shape
    a, b = plain(array), plain(right)
    if a is None or b is None:
        return ""
    if len(mine) == len(theirs) == 1:
        return " ".join(filter(None, (_one_off(a, b), _same_beginning(a, b))))
    if len(mine) == len(theirs):
        return _turned(a, b) or _as_they_lie(a, b) or _one_off(a, b)
    if len(mine) > len(theirs):
        return _too_many(a, b) or _as_they_lie(a, b)
    return _too_few(a, b) or _as_they_lie(a, b)


def _as_they_lie(a, b):
    if a.size == b.size and close(a.ravel(), b.ravel()):
        return "The numbers are right and in order; only the shape is another."
    return ""


def _same_beginning(a, b):
    """Of two sequences of different lengths: where they part."""
    n = min(a.size, b.size)
    apart = [i for i in range(n) if a[i] != b[i]]
    if apart == [] and n:
        return "All numbers that both have are equal." if n > 1 else ""
    return f"The first {apart[0]} are right; from there on they part." if apart and apart[0] > 1 else ""


def _turned(a, b):
    if a.ndim >= 2 and a.shape == (*b.shape[:-2], b.shape[-1], b.shape[-2]):
        if close(_swap(a, -1, -2), b):
            return "Rows and columns are exchanged; the numbers are right."
        return "Rows and columns are exchanged."
    if sorted(a.shape) == sorted(b.shape):
        for order in itertools.permutations(range(a.ndim)) if a.ndim < 6 else ():
            if tuple(a.shape[k] for k in order) == b.shape and close(a.transpose(order), b):
                return f"The numbers are right, but their axes stand in another order: transpose{order} mends it."
        return "The sizes are right, but their axes stand in another order."
    return ""


def _one_off(a, b):
    wrong = [k for k in range(a.ndim) if a.shape[k] != b.shape[k]]
    if len(wrong) != 1:
        return ""
    (k,) = wrong
    gap = b.shape[k] - a.shape[k]
    if a.ndim > 1 and gap > 0 and a.shape[k] > 1:
        for of, start in (("first", 0), ("last", gap)):
            if close(a, b.take(range(start, start + a.shape[k]), axis=k)):
                part = "rows" if k == 0 else "columns" if k == a.ndim - 1 else f"parts of axis {k}"
                return f"These are the {of} {a.shape[k]} of {b.shape[k]} {part}, and right."
    where = {0: "first", a.ndim - 1: "last"}.get(k, f"{k}-th")
    if a.shape[k] == 1 < b.shape[k]:
        for name, value in (("sum", b.sum(axis=k, keepdims=True)), ("mean", b.mean(axis=k, keepdims=True))):
            if close(a, value):
                return f"The {where} axis is gone: this is the {name} over it of what is expected."
    what = f"The {where} axis" if a.ndim > 1 else "It"
    if abs(gap) == 1:
        return f"{what} has one entry too {'few' if gap > 0 else 'many'}."
    if a.shape[k] > b.shape[k] > 1 and a.shape[k] % b.shape[k] == 0:
        return f"{what} is {a.shape[k] // b.shape[k]} times as long as it should be."
    return ""


def _too_many(a, b):
    if _but_for_ones(a.shape, b.shape):
        return "There are axes of length one too many, such as keepdims=True leaves them."
    extra = a.ndim - b.ndim
    lead = tuple(range(extra))
    if a.shape[extra:] == b.shape:
        copies = a.reshape(-1, *b.shape)
        if len(copies) > 1 and (copies == copies[0]).all() and close(copies[0], b):
            return f"The same {b.shape} stands there {len(copies)} times, once for each place of the leading axes: " \
                   "return it once."
        axes = "axis" if extra == 1 else "axes"
        for name, value in (("summed", a.sum(axis=lead)), ("averaged", a.mean(axis=lead))):
            if close(value, b):
                return f"The leading {axes} {a.shape[:extra]} should be {name} away: with that it would be right."
        return f"There is a leading part {a.shape[:extra]} too much."
    for k in range(a.ndim):
        if extra == 1 and a.shape[:k] + a.shape[k + 1 :] == b.shape:
            for name, value in (("summed", a.sum(axis=k)), ("averaged", a.mean(axis=k))):
                if close(value, b):
                    return f"Axis {k}, counted from 0, should be {name} away: with that it would be right."
    return ""


def _but_for_ones(mine, theirs):
    """Is the one shape left of the other where some of its axes of length one are taken out?"""
    rest = list(theirs)
    for n in mine:
        if rest and n == rest[0]:
            rest.pop(0)
        elif n != 1:
            return False
    return not rest


def _too_few(a, b):
    gone = b.ndim - a.ndim
    for axes in itertools.combinations(range(b.ndim), gone):
        left = tuple(n for k, n in enumerate(b.shape) if k not in axes)
        if left != a.shape:
            continue
        which = f"axis {axes[0]}" if gone == 1 else "axes " + ", ".join(map(str, axes))
        if a.size == b.size and close(a.ravel(), b.ravel()):
            return f"The numbers are right, but an axis of length one is gone, {which}, counted from 0: it stays."
        for name, value in (("sum", b.sum(axis=axes)), ("mean", b.mean(axis=axes))):
            if close(a, value):
                return f"This is the {name} of what is expected over {which}, counted from 0."
    if b.shape[gone:] == a.shape:
        return f"The leading part {b.shape[:gone]} is missing."
    return ""
