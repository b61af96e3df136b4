"""Arrays of numbers within bounds, such as draws from [0, 1), and logits, in which −∞ has a meaning."""

from typing import Any

import numpy as np

from byhand.check.arrays import ArrayOf


class Logits:
    """In Annotated[Float[Array, "*B V"], Logits]: finite, or −∞ for a word that may not come; one word at least may."""


class LogitsOf(ArrayOf):
    """Scores of words, of which −∞ takes one away."""

    def values(self, where: str, name: str, x: np.ndarray) -> None:
        left = x > -np.inf
        super().values(where, name, np.where(left | np.isnan(x), x, 0))
        if not left.any(axis=-1).all():
            raise ValueError(f"{where}: {name} has a row of −∞ alone, expected a word that may come")


class Bounded(ArrayOf):
    """Numbers within bounds, of a dtype of their own: they are compared with others, and never added to them."""

    def __init__(self, array_type: type, kind: str, shape: str, bounds: tuple):
        super().__init__(array_type, kind, shape)
        self.bounds, self.plain = bounds, False

    def floating(self, where: str, name: str, x: Any, seen: dict) -> None:
        super().floating(where, name, x, {key: value for key, value in seen.items() if key == ".device"})

    def values(self, where: str, name: str, x: np.ndarray) -> None:
        super().values(where, name, x)
        for y in (float(x.min()), float(x.max())) if x.size else ():
            if any(y not in bound for bound in self.bounds):
                raise ValueError(f"{where}: {name} holds {y}, expected {' and '.join(map(str, self.bounds))}")
