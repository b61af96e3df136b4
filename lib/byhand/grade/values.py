"""Values of a run: the numbers in a tree, a copy of them as they are now, and how far two of them are apart."""

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np


def leaves(symbol: str, x: Any) -> Iterator[tuple[str, Any]]:
    """The entries of dicts and lists, each under the name that the code gives it."""
    if isinstance(x, dict):
        for key, value in x.items():
            yield from leaves(f"{symbol}[{key!r}]".replace("'", '"'), value)
    elif isinstance(x, list):
        for i, value in enumerate(x):
            yield from leaves(f"{symbol}[{i}]", value)
    else:
        yield symbol, x


def is_number(x: Any) -> bool:
    return isinstance(x, np.ndarray | np.number | int | float) and not isinstance(x, bool)


def frozen(x: Any) -> Any:
    """x as it is now, whatever is written into it later; other things than arrays and trees of them as they are."""
    if isinstance(x, np.ndarray):
        return x.copy()
    if isinstance(x, dict):
        return {key: frozen(value) for key, value in x.items()}
    if isinstance(x, list):
        return [frozen(value) for value in x]
    if isinstance(x, tuple):
        return type(x)(*map(frozen, x)) if hasattr(x, "_fields") else tuple(map(frozen, x))
    return copy.deepcopy(x) if isinstance(x, np.random.Generator) else x


def unchanged(x: Any, before: Any) -> bool:
    if not isinstance(x, np.ndarray):
        return True  # the same object, and nothing can be written into it
    return x.shape == before.shape and x.dtype == before.dtype and x.tobytes() == before.tobytes()


def error_of(mine: Any, theirs: Any) -> float:
    """Largest relative difference of two arrays, tuples or dicts of arrays; ∞ where they cannot be compared."""
    if isinstance(theirs, dict):
        same = isinstance(mine, dict) and mine.keys() == theirs.keys()
        return max((error_of(mine[k], theirs[k]) for k in theirs), default=0.0) if same else np.inf
    if isinstance(theirs, tuple | list):
        same = isinstance(mine, tuple | list) and len(mine) == len(theirs)
        return max((error_of(a, b) for a, b in zip(mine, theirs, strict=True)), default=0.0) if same else np.inf
    if theirs is None or isinstance(theirs, (bool, str)):
        same = mine is theirs or (isinstance(mine, bool | np.bool | str) and mine == theirs)
        return 0.0 if same else np.inf
    b = np.asarray(theirs)
    if b.dtype.kind == "O":  # a function, a configuration, a generator of random numbers: nothing of the page
        return 0.0
    try:
        a = np.asarray(mine)
    except ValueError:  # lists of unequal lengths
        return np.inf
    if a.shape != b.shape or a.dtype.kind not in "biuf" or b.dtype.kind not in "biuf":
        return np.inf
    some = np.isfinite(a)  # a masked score is −∞ on both sides
    if not np.array_equal(some, np.isfinite(b)):
        return np.inf
    a, b = a[some] * 1.0, b[some] * 1.0
    gap, size = np.abs(a - b).max(initial=0.0), np.abs(b).max(initial=0.0)
    return float(gap / max(size, 1e-3))  # a gradient that is zero but for rounding is not off by 100 %
