"""`@checked`: a function's annotations, read once and held at every call."""

import functools
import inspect
import types
import typing
from collections.abc import Callable
from typing import Any

import jaxtyping

from byhand.check.arrays import ArrayOf, Leaves
from byhand.check.caches import Cache, SizesOf
from byhand.check.kinds import AnyOf, Function, Instance, Named, OneOf, Optional, Several, Tree
from byhand.check.numbers import Flag, Number, Whole
from byhand.check.shapes import Letters
from byhand.check.values import Bounded, Logits, LogitsOf

KINDS = {jaxtyping.Float: "float", jaxtyping.Int: "int", jaxtyping.Bool: "bool", jaxtyping.Integer: "whole",
         jaxtyping.Shaped: "any"}
PLAIN = {int: Whole, float: Number, bool: Flag}


def checked(function: Callable) -> Callable:
    """Refuse arguments that are not what the annotations say; hand over whole numbers and ids as int and int64.

    Letters of shapes are sizes that arguments share; a cache is read first, so that gradients must fit the forward.
    Above a dataclass, it is the annotations of the fields that are read.
    Raises TypeError for a wrong type or dtype, ValueError for a wrong size or value.
    """
    if isinstance(function, type):
        function.__init__ = checked(function.__init__)
        return function
    owner, _, name = function.__qualname__.rpartition(".")
    signature = inspect.signature(function)
    parameters = signature.parameters.values()
    where = owner if owner and "<locals>" not in owner else name
    if gives_a_cache(signature.return_annotation):  # torch's `feed_forward` is no forward of a `feed`
        where = where.removesuffix("_forward")
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


def gives_a_cache(annotation: Any) -> bool:
    """Whether a function returns (output, cache), as a forward of the NumPy half does."""
    *_, last = typing.get_args(annotation) or [None]
    return any(hasattr(kind, "_fields") for kind in typing.get_args(last) or [last])


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
        kind = next(kind for of, kind in KINDS.items() if annotation.dtypes == of.dtypes)
        return ArrayOf(annotation.array_type, kind, annotation.dim_str)
    if annotation in PLAIN:
        return PLAIN[annotation]()
    if annotation is Callable or origin is Callable or getattr(origin, "__name__", "") == "Callable":
        return Function()
    if origin is dict:
        return Tree(rule_of(typing.get_args(annotation)[1]))
    if origin in (tuple, list):
        inside = typing.get_args(annotation)
        return Several(origin, [rule_of(a) for a in inside if a is not ...], origin is list or inside[-1] is ...)
    if isinstance(origin or annotation, type):
        kind = origin or annotation
        return Cache(kind) if hasattr(kind, "_fields") else Instance((kind,))
    raise TypeError(f"checked: annotation {annotation!r} is not understood")


def annotated(annotation: Any) -> Any:
    kind, *notes = typing.get_args(annotation)
    if hasattr(notes[0], "binds"):  # a rule by itself
        return notes[0]
    if isinstance(notes[0], Letters):
        return SizesOf(notes[0])
    if isinstance(notes[0], Leaves):
        return Named(*notes[0])
    if hasattr(kind, "dim_str"):
        array = kind.array_type, "float", kind.dim_str
        return LogitsOf(*array) if notes[0] is Logits else Bounded(*array, tuple(notes))
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
        if None in found:
            return None
        classes = all(isinstance(rule, Instance) for rule in found)
        inside = Instance(tuple(kind for rule in found for kind in rule.kinds)) if classes else AnyOf(found)
    return Optional(inside) if len(rest) < len(kinds) else inside
