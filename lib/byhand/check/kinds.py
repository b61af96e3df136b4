"""Kinds of arguments beside arrays and numbers: words, functions, configurations, lists, parameter trees."""

import os
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from byhand.check.arrays import ArrayOf
from byhand.check.numbers import kind_of

CALLED = {"numpy.random._generator.Generator": "a NumPy Generator", "torch._C.Generator": "a torch Generator",
          "torch.Generator": "a torch Generator", "dict": "a dict", "str": "text",
          "list": "a list", "tuple": "a tuple", "typing.SupportsFloat": "a number"}


class Optional:
    """None, or what the rule inside says."""

    def __init__(self, inside: Any):
        self.inside, self.binds = inside, inside.binds

    def __call__(self, where: str, name: str, x: Any, seen: dict) -> Any:
        return None if x is None else self.inside(where, name, x, seen)


class AnyOf:
    """What one of several rules says; the sentence is the first one's."""

    binds = False

    def __init__(self, rules: list):
        self.rules = rules

    def __call__(self, where: str, name: str, x: Any, seen: dict) -> Any:
        for rule in self.rules[1:]:
            try:
                return rule(where, name, x, seen)
            except (TypeError, ValueError):
                pass
        return self.rules[0](where, name, x, seen)


class OneOf:
    """One of a few words."""

    binds = False

    def __init__(self, words: tuple):
        self.words = words

    def __call__(self, where: str, name: str, x: Any, seen: dict) -> Any:
        if not isinstance(x, type(self.words[0])) or x not in self.words:
            raise ValueError(f"{where}: {name} is {x!r}, expected one of {', '.join(map(str, self.words))}")
        return x


class Function:
    """Something to call."""

    binds = False

    def __call__(self, where: str, name: str, x: Any, seen: dict) -> Any:
        if not callable(x):
            raise TypeError(f"{where}: {name} is {kind_of(x)}, expected a function")
        return x


class Instance:
    """A thing of one of these classes: a configuration, a generator, text."""

    binds = False

    def __init__(self, kinds: tuple):
        self.kinds = kinds
        self.accepted = tuple(os.PathLike if kind is Path else kind for kind in kinds)  # whatever stands for a path

    def __call__(self, where: str, name: str, x: Any, seen: dict) -> Any:
        if not isinstance(x, self.accepted):
            wanted = " or ".join(CALLED.get(kind_of_class(k), k.__name__) for k in self.kinds)
            raise TypeError(f"{where}: {name} is {kind_of(x)}, expected {wanted}")
        return x


def kind_of_class(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")


class FloatKind:
    """float32 or float64, as NumPy's type, however it was named: in float16 sums overflow without a sound."""

    binds = False

    def __call__(self, where: str, name: str, x: Any, seen: dict) -> type:
        try:
            kind = np.dtype(x)
        except (TypeError, ValueError, AttributeError):
            kind = None
        if x is None or kind not in (np.float32, np.float64):
            raise TypeError(f"{where}: {name} is {x!r}, expected float32 or float64")
        return kind.type


Dtype = Annotated[Any, FloatKind()]


class Several:
    """A list or tuple of things of one kind, or of as many as are named."""

    binds = False

    def __init__(self, origin: type, inside: list, many: bool):
        self.origin, self.inside, self.length = origin, inside, None if many else len(inside)

    def __call__(self, where: str, name: str, x: Any, seen: dict) -> Any:
        if not isinstance(x, list | tuple):
            raise TypeError(f"{where}: {name} is {kind_of(x)}, expected a {self.origin.__name__}")
        if self.length is not None and len(x) != self.length:
            raise ValueError(f"{where}: {name} has {len(x)} entries, expected {self.length}")
        rules = self.inside if self.length is not None else self.inside * len(x)
        new = [rule(where, f"{name}[{i}]", y, seen) if rule else y
               for i, (rule, y) in enumerate(zip(rules, x, strict=True))]
        same = isinstance(x, self.origin) and all(a is b for a, b in zip(new, x, strict=True))
        return x if same else self.origin(new)


class Tree:
    """A dict of arrays of one kind under any names, or of subtrees of them."""

    binds = False

    def __init__(self, inside: Any):
        self.inside = inside

    def __call__(self, where: str, name: str, x: Any, seen: dict) -> dict:
        if not isinstance(x, dict):
            raise TypeError(f"{where}: {name} is {kind_of(x)}, expected a dict")
        if self.inside is not None:
            for key, leaf in x.items():
                self.inside(where, f"{name}[{key!r}]", leaf, seen)
        return x


class Named:
    """A dict with the names of a parameter tree, each leaf an array of its shape."""

    binds = False

    def __init__(self, array_type: type, shapes: dict):
        self.required = tuple(key for key in shapes if not key.endswith("?"))
        self.rules = {key.rstrip("?"): self.leaf(array_type, shape) for key, shape in shapes.items()}

    @staticmethod
    def leaf(array_type: type, shape: Any) -> Any:
        if shape is None:
            return Tree(None)
        return Named(array_type, shape) if isinstance(shape, dict) else ArrayOf(array_type, "float", shape)

    def __call__(self, where: str, name: str, x: Any, seen: dict) -> dict:
        if not isinstance(x, dict):
            raise TypeError(f"{where}: {name} is {kind_of(x)}, expected a dict with {', '.join(self.rules)}")
        if x.keys() != self.rules.keys() and (
                any(key not in x for key in self.required) or any(key not in self.rules for key in x)):
            got = ", ".join(map(str, x)) or "no names"
            raise ValueError(f"{where}: {name} has {got}, expected {', '.join(self.rules)}")
        for key, rule in self.rules.items():
            if key in x:
                rule(where, f"{name}[{key!r}]", x[key], seen)
        return x
