"""Ids as people have them: lists, tuples, ranges, arrays and tensors of whole numbers. They arrive as int64 arrays.

A tensor is read here, once, before the work begins: words come and go on the CPU.
"""

import numbers
import sys
from collections.abc import Iterable
from typing import Annotated, Any

import numpy as np

from byhand.check.arrays import ArrayOf
from byhand.check.numbers import Whole, is_plain, kind_of


class WholeNumbers:
    """Any iterable, array or tensor of whole numbers, as a list."""

    binds = False

    def __call__(self, where: str, name: str, x: Any, seen: dict) -> list:
        if isinstance(x, str | bytes | dict) or not isinstance(x, Iterable) or getattr(x, "shape", None) == () or (
                odd(x)):
            raise TypeError(f"{where}: {name} is {kind_of(x)}, expected whole numbers")
        return [one(where, f"{name}[{i}]", y, {}) for i, y in enumerate(listed(x))]


class Row:
    """The ids of one sequence."""

    binds = False

    def __init__(self, least: int = 1):
        self.least = least

    def __call__(self, where: str, name: str, x: Any, seen: dict) -> np.ndarray:
        x = np.array(x.tolist()) if is_tensor(x) else x
        if is_plain(x):
            if x.ndim != 1:
                raise ValueError(f"{where}: {name} has shape {x.shape}, expected one row of ids")
            x = OF_ARRAY(where, name, x if x.size else x.astype(np.int64), {})
        elif isinstance(x, list | tuple | range):
            x = np.array([one(where, f"{name}[{i}]", y, {}) for i, y in enumerate(listed(x))], np.int64)
        else:
            raise TypeError(f"{where}: {name} is {kind_of(x)}, expected a list of ids")
        if len(x) < self.least:
            raise ValueError(f"{where}: {name} has {len(x)} ids, expected at least {self.least}")
        return x


class Rows:
    """The ids of several sequences, each with one at least; those of one sequence alone are a batch of one."""

    binds = False

    def __call__(self, where: str, name: str, x: Any, seen: dict) -> list[np.ndarray]:
        x = np.array(x.tolist()) if is_tensor(x) else x
        if not isinstance(x, list | tuple | range | np.ndarray) or getattr(x, "shape", None) == () or odd(x):
            raise TypeError(f"{where}: {name} is {kind_of(x)}, expected a list of rows of ids")
        if not len(x):
            raise ValueError(f"{where}: {name} has 0 rows, expected at least 1")
        if isinstance(x[0], numbers.Number) or getattr(x[0], "shape", None) == ():
            return [Row()(where, name, x, seen)]
        return [Row()(where, f"{name}[{i}]", row, seen) for i, row in enumerate(x)]


class Pairs:
    """At least one (source, target): two sequences, of which the second may be empty."""

    binds = False

    def __call__(self, where: str, name: str, x: Any, seen: dict) -> list[tuple[np.ndarray, np.ndarray]]:
        if not isinstance(x, list | tuple):
            raise TypeError(f"{where}: {name} is {kind_of(x)}, expected a list of (source, target)")
        if not x:
            raise ValueError(f"{where}: {name} has 0 entries, expected at least 1")
        return [self.pair(where, f"{name}[{i}]", pair, seen) for i, pair in enumerate(x)]

    @staticmethod
    def pair(where: str, name: str, x: Any, seen: dict) -> tuple[np.ndarray, np.ndarray]:
        if not isinstance(x, list | tuple) or len(x) != 2:
            got = f"{len(x)} things" if isinstance(x, list | tuple) else kind_of(x)
            raise TypeError(f"{where}: {name} is {got}, expected (source, target)")
        return Row()(where, f"source of {name}", x[0], seen), Row(0)(where, f"target of {name}", x[1], seen)


OF_ARRAY, one = ArrayOf(np.ndarray, "int", "..."), Whole()
IdRows = Annotated[Any, Rows()]
IdPairs = Annotated[Any, Pairs()]
Wholes = Annotated[Any, WholeNumbers()]


def odd(x: Any) -> bool:
    """An array that is no plain one, such as one with a mask of its own."""
    return isinstance(x, np.ndarray) and not is_plain(x)


def is_tensor(x: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def listed(x: Any) -> list:
    """Numbers as Python's own: of an array, of a tensor, or of a list that has one array or tensor for each."""
    if isinstance(x, np.ndarray) or is_tensor(x):
        return x.tolist()
    return [y.tolist() if (isinstance(y, np.ndarray) or is_tensor(y)) and y.shape == () else y for y in x]
