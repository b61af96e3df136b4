"""`@checked`: a function's annotations, read once and held at every call."""

import functools
import inspect
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import jaxtyping
import numpy as np

from byhand.check.arrays import ArrayOf, Letters, bind
from byhand.check.numbers import Flag, Number, Whole, kind_of

KINDS = {jaxtyping.Float: "float", jaxtyping.Int: "int", jaxtyping.Bool: "bool", jaxtyping.Shaped: "any"}
PLAIN = {int: Whole, float: Number, bool: Flag}
CALLED = {"numpy.random._generator.Generator": "a NumPy Generator", "torch._C.Generator": "a torch Generator",
          "torch.Generator": "a torch Generator", "dict": "a dict", "str": "text"}


def checked(function: Callable) -> Callable:
    """Refuse arguments that are not what the annotations say; hand over whole numbers and ids as int and int64.

    Letters of shapes are sizes that arguments share; a cache is read first, so that gradients must fit the forward.
    Raises TypeError for a wrong type or dtype, ValueError for a wrong size or value.
    """
    owner, _, name = function.__qualname__.rpartition(".")
    where = (owner if owner and "<locals>" not in owner else name).removesuffix("_forward")
    parameters = inspect.signature(function).parameters.values()
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rules = {p.name: rule_of(p.annotation) for p in parameters
             if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and p.annotation is not p.empty}
    # numbers that may be letters first, then caches, then the rest as they stand
    order = sorted((name for name in rules if rules[name]), key=lambda name: not rules[name].binds)
    plan = tuple((n, rules[n], names.index(n) if n in names else None) for n in order)

    @functools.wraps(function)
    def call(*args, **options):
        seen: dict = {}
        for name, rule, at in plan:
            if at is not None and at < len(args):
                x = args[at]
                new = rule(where, name, x, seen)
                if new is not x:
                    args = (*args[:at], new, *args[at + 1:])
            elif name in options:
                options[name] = rule(where, name, options[name], seen)
        return function(*args, **options)

    call.__checked__ = True
    return call


def rule_of(annotation: Any) -> Any:
    """The rule that an annotation stands for; None where anything may come."""
    if annotation is Any or annotation is None:
        return None
    if isinstance(annotation, str):
        raise TypeError(f"checked: annotation {annotation!r} is text, expected it written out")
    origin = typing.get_origin(annotation)
    if origin in (types.UnionType, typing.Union):
        return either([a for a in typing.get_args(annotation)])
    if origin is typing.Annotated:
        return annotated(annotation)
    if origin is typing.Literal:
        return OneOf(typing.get_args(annotation))
    if hasattr(annotation, "dim_str"):
        kind = next(kind for of, kind in KINDS.items() if set(annotation.dtypes or ()) == set(of.dtypes or ()))
        return ArrayOf(annotation.array_type, kind, annotation.dim_str)
    if annotation in PLAIN:
        return PLAIN[annotation]()
    if annotation is Callable or origin is Callable or getattr(origin, "__name__", "") == "Callable":
        return Function()
    if origin is dict:
        return Tree(rule_of(typing.get_args(annotation)[1]))
    if origin in (tuple, list):
        return Several(origin, typing.get_args(annotation))
    if isinstance(origin or annotation, type):
        kind = origin or annotation
        return Cache(kind) if hasattr(kind, "_fields") else Instance((kind,))
    raise TypeError(f"checked: annotation {annotation!r} is not understood")


def annotated(annotation: Any) -> Any:
    kind, *notes = typing.get_args(annotation)
    if isinstance(notes[0], Letters):
        return SizesOf(notes[0])
    if isinstance(notes[0], Leaves):
        return Named(*notes[0])
    return PLAIN[kind](tuple(notes))


def either(kinds: list) -> Any:
    """A union: None beside one thing, or several classes."""
    rest = [k for k in kinds if k is not type(None)]
    if len(rest) == 1:
        inside = rule_of(rest[0])
        return Optional(inside) if len(rest) < len(kinds) and inside else inside
    if all(hasattr(k, "_fields") for k in rest):
        inside = Cache(*rest)
    elif set(rest) <= {int, float}:
        inside = Number()
    else:
        found = [rule_of(k) for k in rest]
        if not all(isinstance(rule, Instance) for rule in found):
            return None if None in found else AnyOf(found)
        inside = Instance(tuple(kind for rule in found for kind in rule.kinds))
    return Optional(inside) if len(rest) < len(kinds) else inside


class Optional:
    """None, or what the rule inside says."""

    def __init__(self, inside: Any):
        self.inside, self.binds = inside, inside.binds

    def __call__(self, where: str, name: str, x: Any, seen: dict, *rest) -> Any:
        return None if x is None else self.inside(where, name, x, seen, *rest)


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

    def __call__(self, where: str, name: str, x: Any, seen: dict) -> Any:
        if not isinstance(x, self.kinds):
            wanted = " or ".join(CALLED.get(kind_of_class(k), k.__name__) for k in self.kinds)
            raise TypeError(f"{where}: {name} is {kind_of(x)}, expected {wanted}")
        return x


def kind_of_class(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")


class Several:
    """A list or tuple of things of one kind, or of as many as are named."""

    binds = False

    def __init__(self, origin: type, kinds: tuple):
        self.length = None if origin is list or kinds[-1] is ... else len(kinds)
        self.inside = [rule_of(k) for k in kinds if k is not ...]
        self.origin = origin

    def __call__(self, where: str, name: str, x: Any, seen: dict) -> Any:
        if not isinstance(x, list | tuple):
            raise TypeError(f"{where}: {name} is {kind_of(x)}, expected a {self.origin.__name__}")
        if self.length is not None and len(x) != self.length:
            raise ValueError(f"{where}: {name} has {len(x)} entries, expected {self.length}")
        rules = self.inside if self.length is not None else self.inside * len(x)
        return self.origin(rule(where, f"{name}[{i}]", y, seen) if rule else y
                           for i, (rule, y) in enumerate(zip(rules, x, strict=True)))


class Tree:
    """A dict of arrays of one kind under any names, or of subtrees of them."""

    binds = False

    def __init__(self, inside: Any):
        self.inside = inside

    def __call__(self, where: str, name: str, x: Any, seen: dict, *rest) -> dict:
        if not isinstance(x, dict):
            raise TypeError(f"{where}: {name} is {kind_of(x)}, expected a dict")
        if self.inside is not None:
            for key, leaf in x.items():
                self.inside(where, f"{name}[{key!r}]", leaf, seen, *rest)
        return x


class Leaves(NamedTuple):
    array_type: type
    shapes: dict


def Params(array_type: type, shapes: dict) -> Any:  # noqa: N802  (it makes a type, and is written like one)
    """The parameter tree of a layer: {"W": "d_in d_out", "b?": "d_out"}, `?` for what may be absent.

    A shape of None is a subtree that somebody else looks at; a dict is a subtree of this kind.
    """
    return Annotated[dict, Leaves(array_type, shapes)]


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
        if any(key not in x for key in self.required) or any(key not in self.rules for key in x):
            got = ", ".join(map(str, x)) or "no names"
            raise ValueError(f"{where}: {name} has {got}, expected {', '.join(self.rules)}")
        for key, rule in self.rules.items():
            if key in x:
                rule(where, f"{name}[{key!r}]", x[key], seen)
        return x


class SizesOf:
    """The shape of an array that a cache does not keep itself."""

    binds = False

    def __init__(self, letters: Letters):
        self.letters = letters

    def __call__(self, where: str, name: str, x: Any, seen: dict) -> Any:
        bind(x, self.letters, seen)
        return x


class Cache:
    """What a forward hands to its backward. It came from a checked forward, so only its sizes are read."""

    binds = True

    def __init__(self, *kinds: type):
        self.kinds, self.fields = kinds, {kind: self.of(kind) for kind in kinds}

    @staticmethod
    def of(kind: type) -> tuple:
        rules = [(i, field, size_rule(kind.__annotations__[field])) for i, field in enumerate(kind._fields)]
        return tuple((i, field, rule) for i, field, rule in rules if rule)

    def __call__(self, where: str, name: str, x: Any, seen: dict) -> Any:
        if not isinstance(x, self.kinds):
            wanted = " or ".join(kind.__name__ for kind in self.kinds)
            raise TypeError(f"{where}: {name} is {kind_of(x)}, expected {wanted}")
        for i, field, rule in self.fields[type(x)]:
            rule(where, field, x[i], seen)
        return x


class CachedArray:
    """The letters and the dtype of an array in a cache."""

    binds = False

    def __init__(self, letters: Letters, floating: bool):
        self.letters, self.floating = letters, floating

    def __call__(self, where: str, name: str, x: Any, seen: dict) -> Any:
        if isinstance(x, np.ndarray) and bind(x.shape, self.letters, seen) and self.floating:
            seen.setdefault(".dtype", x.dtype)
            seen.setdefault(".first", name)
        return x


def size_rule(annotation: Any) -> Any:
    """What a field of a cache says about sizes; nothing for a nested cache, whose letters are another function's."""
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        inside = [size_rule(a) for a in typing.get_args(annotation) if a is not type(None)]
        return inside[0] if len(inside) == 1 else None
    if typing.get_origin(annotation) is typing.Annotated and isinstance(annotated(annotation), SizesOf):
        return annotated(annotation)
    if annotation is int or typing.get_origin(annotation) is typing.Annotated:
        return CachedSize()
    if hasattr(annotation, "dim_str"):
        return CachedArray(Letters.of(annotation.dim_str), set(annotation.dtypes) == set(jaxtyping.Float.dtypes))
    return None


class CachedSize:
    """A whole number in a cache that is a letter of a shape by its name."""

    binds = False

    def __call__(self, where: str, name: str, x: Any, seen: dict) -> Any:
        if x is not None:
            seen.setdefault(name, x)
        return x
