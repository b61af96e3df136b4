"""The shape checks of a test run: what an annotation says is held at every call, and what has none costs nothing.

jaxtyping's own import hook puts its decorator on every function: on the rules of byhand.check too, which name no shape
and are called a dozen times a call of a layer, and on functions inside of functions, which it makes anew each time.
Here a function without annotations stays as it is, one whose annotations name no shape is held to them by beartype
alone, and one with shapes by jaxtyping and beartype, as before. All of them ask jaxtyping.config at every call.
"""

import ast
import functools
import sys
import typing
from collections.abc import Callable, Iterator
from importlib.machinery import PathFinder

from beartype import beartype
from jaxtyping import config, jaxtyped
from jaxtyping._import_hook import JaxtypingTransformer, Typechecker, _JaxtypingFinder


def install(package: str) -> None:
    """Hold every function and dataclass of a package that is imported from now on to its annotations."""
    sys.meta_path.insert(0, _JaxtypingFinder([package], PathFinder, Held()))


class Held(Typechecker):
    """What jaxtyping's loader asks for: a name for its compiled files, and the decorator that it writes."""

    def __init__(self):
        self.hash = "held2"  # another number after a change of what is decorated, or old compiled files are taken

    def get_ast(self):
        return ast.parse("__import__('shape_checks').held", mode="eval").body


def parts(node: ast.FunctionDef) -> Iterator[ast.expr | None]:
    """The annotations of a function."""
    every = node.args
    for one in (*every.posonlyargs, *every.args, *every.kwonlyargs, every.vararg, every.kwarg):
        yield one and one.annotation
    yield node.returns


def visit_function(self, node: ast.FunctionDef):
    """As jaxtyping's own, but what has no annotation is left as it is, and so is a kernel: Triton reads its text."""
    kernel = any(isinstance(d, ast.Attribute) and d.attr == "jit" for d in node.decorator_list)
    if any(parts(node)) and not kernel:
        return decorate(self, node)
    return self.generic_visit(node)


decorate = JaxtypingTransformer.visit_FunctionDef
JaxtypingTransformer.visit_FunctionDef = visit_function


def held(thing: Callable | type) -> Callable | type:
    """A function or a dataclass that keeps to its annotations, unless jaxtyping is switched off.

    What checks a function is made at its first call: most of the library is imported and not called.
    """
    if isinstance(thing, type):
        return jaxtyped(thing, typechecker=beartype)
    strict = None

    @functools.wraps(thing)
    def call(*args, **options):
        nonlocal strict
        if config.jaxtyping_disable:
            return thing(*args, **options)
        if strict is None:
            shapes = any(map(names_a_shape, thing.__annotations__.values()))
            strict = jaxtyped(thing, typechecker=beartype) if shapes else beartype(thing)
        return strict(*args, **options)

    return call


def names_a_shape(annotation) -> bool:
    """Whether there is an array somewhere in it; of a text, the name of a class that is not there yet, none is."""
    if isinstance(annotation, list | tuple):  # the arguments of a Callable
        return any(map(names_a_shape, annotation))
    return hasattr(annotation, "dim_str") or any(map(names_a_shape, typing.get_args(annotation)))
