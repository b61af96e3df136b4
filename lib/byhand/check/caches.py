"""Caches: what a forward hands to its backward, and the sizes that a gradient must fit."""

import types
import typing
from typing import Any

import jaxtyping

from byhand.check.numbers import kind_of
from byhand.check.shapes import Letters, bind


class SizesOf:
    """The shape of an array that a cache does not keep itself."""

    binds = False

    def __init__(self, letters: Letters):
        self.letters = letters

    def __call__(self, where: str, name: str, x: Any, seen: dict) -> Any:
        bind(x, self.letters, seen)
        return x


class Cache:
    """What a forward hands to its backward. It came from a checked forward, so only its sizes are read.

    It is known by its fields, not its class: a chapter makes caches of its own that are the library's.
    """

    binds = True

    def __init__(self, *kinds: type):
        self.kinds, self.rules = kinds, {kind._fields: self.of(kind) for kind in kinds}

    @staticmethod
    def of(kind: type) -> tuple:
        rules = [(i, field, size_rule(kind.__annotations__[field])) for i, field in enumerate(kind._fields)]
        return tuple((i, field, rule) for i, field, rule in rules if rule)

    def __call__(self, where: str, name: str, x: Any, seen: dict) -> Any:
        rules = self.rules.get(getattr(x, "_fields", None))
        if rules is None:
            wanted = " or ".join(kind.__name__ for kind in self.kinds)
            raise TypeError(f"{where}: {name} is {kind_of(x)}, expected {wanted}")
        for i, field, rule in rules:
            rule(where, field, x[i], seen)
        return x


class CachedArray:
    """The letters and the dtype of an array in a cache."""

    binds = False

    def __init__(self, letters: Letters, floating: bool):
        self.letters, self.floating = letters, floating

    def __call__(self, where: str, name: str, x: Any, seen: dict) -> Any:
        if hasattr(x, "shape") and bind(x.shape, self.letters, seen) and self.floating:
            seen.setdefault(".dtype", x.dtype)
            seen.setdefault(".first", name)
        return x


def size_rule(annotation: Any) -> Any:
    """What a field of a cache says about sizes; nothing for a nested cache, whose letters are another function's."""
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        inside = [size_rule(a) for a in typing.get_args(annotation) if a is not type(None)]
        return inside[0] if len(inside) == 1 else None
    if typing.get_origin(annotation) is typing.Annotated and isinstance(typing.get_args(annotation)[1], Letters):
        return SizesOf(typing.get_args(annotation)[1])
    if annotation is int or typing.get_origin(annotation) is typing.Annotated:
        return CachedSize()
    if hasattr(annotation, "dim_str"):
        return CachedArray(Letters.of(annotation.dim_str), annotation.dtypes == jaxtyping.Float.dtypes)
    return None


class CachedSize:
    """A whole number in a cache that is a letter of a shape by its name."""

    binds = False

    def __call__(self, where: str, name: str, x: Any, seen: dict) -> Any:
        if x is not None:
            seen.setdefault(name, x)
        return x
