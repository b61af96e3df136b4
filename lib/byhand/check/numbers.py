"""Numbers among the arguments: what an annotation such as `Size` asks of them, and the sentence where it is not so."""

import math
import numbers
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

# Bounds of different kinds are unequal, as tuples of one number would not be: where two annotations are equal, typing
# gives back the one that it saw first.


@dataclass(frozen=True)
class AtLeast:
    low: int | float

    def __contains__(self, x) -> bool:
        return x >= self.low

    def __str__(self):
        return f"at least {self.low:.12g}"


@dataclass(frozen=True)
class Above:
    low: int | float

    def __contains__(self, x) -> bool:
        return x > self.low

    def __str__(self):
        return f"greater than {self.low:.12g}"


@dataclass(frozen=True)
class Below:
    high: int | float

    def __contains__(self, x) -> bool:
        return x < self.high

    def __str__(self):
        return f"less than {self.high:.12g}"


@dataclass(frozen=True)
class AtMost:
    high: int | float

    def __contains__(self, x) -> bool:
        return x <= self.high

    def __str__(self):
        return f"at most {self.high:.12g}"


Size = Annotated[int, AtLeast(1)]  # of an axis, or a count of something that must be there
Index = Annotated[int, AtLeast(0)]  # a place, counted from 0, or a count that may be none
Base = Annotated[float, AtLeast(1e-280)]  # of wavelengths: so the angle of any place is a number
Offset = Annotated[int, AtLeast(0), Below(1 << 31)]  # of a first place: the angles of those beyond lose their digits
Positive = Annotated[float, Above(0)]
NonNegative = Annotated[float, AtLeast(0)]
Share = Annotated[float, AtLeast(0), Below(1)]  # of something that must not vanish whole, such as dropout's

MOST = 1 << 62  # a whole number that an index of NumPy can hold, with room to add two


def kind_of(x: Any) -> str:
    """The type of a value as a person would write it."""
    return f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")


def is_plain(x: Any) -> bool:
    """A NumPy array that computes like one: `*` of a matrix is another product, and a masked array's mask gets lost."""
    return type(x) is np.ndarray or isinstance(x, np.ndarray) and not isinstance(x, np.ma.MaskedArray | np.matrix)


def written(x: Any) -> str:
    """A number, or its first digits where it has hundreds."""
    if isinstance(x, int) and abs(x) > MOST:  # str() of an int with 5,000 digits is refused by Python itself
        return f"{'-' if x < 0 else ''}a whole number of {x.bit_length()} bits"
    return str(x)


class Whole:
    """A whole number within bounds, as Python's own int: NumPy's would overflow without a word."""

    binds = True  # a letter of a shape that is also the name of such an argument is its value

    def __init__(self, bounds: tuple = ()):
        self.bounds = bounds

    def __call__(self, where: str, name: str, x: Any, seen: dict) -> int:
        if type(x) is not int:
            if isinstance(x, bool) or not isinstance(x, numbers.Integral):
                raise TypeError(f"{where}: {name} is {kind_of(x)}, expected a whole number")
            x = int(x)
        for bound in self.bounds:
            if x not in bound:
                raise ValueError(f"{where}: {name} is {written(x)}, expected {bound}")
        if not -MOST <= x <= MOST:
            raise ValueError(f"{where}: {name} is {written(x)}, expected at most {MOST}")
        seen[name] = x
        return x


class Number:
    """A finite real number within bounds, as Python's own float: NumPy's float64 would pull float32 up."""

    binds = False

    def __init__(self, bounds: tuple = ()):
        self.bounds = bounds

    def __call__(self, where: str, name: str, x: Any, seen: dict) -> float:
        if type(x) is not float:
            if isinstance(x, bool) or not isinstance(x, numbers.Real):
                raise TypeError(f"{where}: {name} is {kind_of(x)}, expected a number")
        try:
            value = float(x)
        except OverflowError:
            value = math.inf
        if not math.isfinite(value) or any(value not in bound for bound in self.bounds):
            raise ValueError(f"{where}: {name} is {written(x)}, expected {self.expected()}")
        return value

    def expected(self) -> str:
        text = " and ".join(map(str, self.bounds))
        return f"a finite number {text}" if text.startswith("greater") else text or "a finite number"


class Flag:
    """True or False: whatever else has a truth of its own was meant for another argument."""

    binds = False

    def __call__(self, where: str, name: str, x: Any, seen: dict) -> bool:
        if x is True or x is False:
            return x
        if type(x).__name__ not in ("bool", "bool_") or not hasattr(x, "item"):  # a bool of NumPy
            raise TypeError(f"{where}: {name} is {kind_of(x)}, expected bool")
        return bool(x)
