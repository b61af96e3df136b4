# ruff: noqa: E501
"""No letter of a signature can be wrong unnoticed: the library's own check or that of jaxtyping stops a right call.

`@checked` looks at the arguments. Inside it conftest.py holds every function of byhand to its annotations, by jaxtyping
and beartype: that looks at the arrays that come back too. What neither sees: a letter that a signature uses only
once.
"""

import ast
import importlib
import inspect
import itertools
import types
from pathlib import Path

import byhand
import numpy as np
import pytest
import torch
from beartype import beartype
from jaxtyping import AnnotationError, TypeCheckError, jaxtyped
from mutants import build, made_of, source
from test_fuzz import STEMS, as_given, seeds

COPY = itertools.count()
PLACES = [f"{half}.{path.stem}" for half in ("np", "pt")
          for path in sorted((Path(byhand.__file__).parent / half).glob("[a-z]*.py"))]


# The one shape of its signature: nothing else says how many axes *B has, and it takes those that lose their letter.
BEYOND = {(place, name, f"{right!r} → {wrong!r}") for place, name, right, *all_wrong in (
    ("np.linear", "scatter_add_backward", "*B d", "*B "),
    ("np.embedding", "embedding_backward", "*B d", "*B "), ("np.loss", "cross_entropy_backward", "*B V", "*B "),
    ("np.model", "encoder_backward", "*B n d", "*B n ", "*B  d"),
    ("np.model", "decoder_backward", "*B n V", "*B n ", "*B  V"),
    ("np.model", "encoder_decoder_backward", "*B n V", "*B n ", "*B  V"),
    ("np.model", "embed_forward", "*P n", "*P "), ("pt.model", "embed", "*P n", "*P "),
    # where positions are given there are as many keys, m, as queries
    ("np.position", "alibi_bias", "*P n", "*P m"), ("np.position", "relative_bias_forward", "*P n", "*P m"),
    ("pt.position", "alibi_bias", "*P n", "*P m"), ("pt.position", "relative_bias", "*P n", "*P m"),
    ("np.multihead", "multihead_forward", "*#B n", "*#B m"), ("pt.multihead", "multihead", "*#B n", "*#B m"),
    # a model's memory is as wide as its stream
    *(("np.model", f"stack_{way}", *letters) for way in ("forward", "backward") for letters in (
        ("*B n d", "*B n d_m"), ("*B m d_m", "*B m d"))),
    ("pt.model", "stack", "*B n d", "*B n d_m"), ("pt.model", "stack", "*B m d_m", "*B m d")) for wrong in all_wrong}


def checked(place, text):
    """A module of this source, with its functions as the import hook would have made them."""
    module = made_of(place, text, f"copy{next(COPY)}.{place}")  # beartype takes types of one name for one type
    for name, f in list(vars(module).items()):
        if isinstance(f, types.FunctionType) and f.__module__ == module.__name__:
            setattr(module, name, jaxtyped(typechecker=beartype)(f))
    return module


def letters(function: ast.FunctionDef):
    """The shape strings in a signature."""
    arguments = (*function.args.args, *function.args.kwonlyargs, *filter(None, [function.args.vararg]))
    # of a union of one output and several nobody says which it is, so its letters hold by the tests of the function
    either = isinstance(function.returns, ast.BinOp) and "tuple[" in ast.unparse(function.returns)
    returns = [] if either else [function.returns]
    signature = [*(arg.annotation for arg in arguments), *returns]
    for node in (n for annotation in signature if annotation for n in ast.walk(annotation)):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
            last = node.slice.elts[-1]
            if ast.unparse(node.value) != "Literal" and isinstance(last, ast.Constant) and isinstance(last.value, str) and "..." not in last.value:
                yield last


def kind(word: str) -> tuple[bool, bool]:
    return "*" in word, "#" in word


def misspellings(function: ast.FunctionDef):
    """The function again and again, one letter of one shape replaced by another of its signature, or left out."""
    shapes = list(letters(function))
    known = {letter for shape in shapes for letter in shape.value.split()}
    for shape in shapes:
        right, words = shape.value, shape.value.split()
        for i, word in enumerate(words):
            for other in ["", *sorted(known - {word})]:
                if kind(word) == kind(other) or not other:
                    shape.value = " " + " ".join([*words[:i], other, *words[i + 1:]])
                    yield f"{right!r} → {shape.value[1:]!r}"
        shape.value = right


def calls(place) -> dict[str, list[dict]]:
    """The arguments of right calls of each function of this module."""
    half, stem = place.split(".")
    if stem not in STEMS:
        return {}
    found = {name: [{k: as_given(v, half) for k, v in seed.args.items()} for seed in some]
             for name, some in seeds(stem).items()}
    if half == "np":
        return found
    known = {name: inspect.signature(f).parameters.keys()
             for name, f in vars(importlib.import_module(f"byhand.{place}")).items() if inspect.isfunction(f)}
    for name in [name for name in found if "_backward" not in name]:
        twin = name.removesuffix("_forward")
        found[twin] = [some for some in found.pop(name) if some.keys() <= known.get(twin, set())]
    return found


def passes(function: ast.FunctionDef, space: dict, right: list[tuple]) -> bool:
    """Whether the shapes in this signature let every right call through, and what came of it."""
    body = ast.parse("return came_of_it").body  # the shapes of what goes in and comes out are all that is looked at
    stub = ast.FunctionDef(**{**vars(function), "body": body})
    exec(compile(ast.fix_missing_locations(ast.Module([stub], [])), "<stub>", "exec", dont_inherit=True), space)
    try:
        for also in (lambda f: f, jaxtyped(typechecker=beartype)):  # the library's check stops most; the other is slow to make
            law = also(space[function.name])
            for args, options, space["came_of_it"] in right:
                law(*args, **options)
    except (TypeCheckError, AnnotationError, ValueError, TypeError, KeyError):  # those of @checked are plain errors
        return False
    return True


def unnoticed(place) -> tuple[int, set]:
    """How many wrong letters were tried, and which of them no call noticed."""
    tried, found = 0, set()
    module, given = importlib.import_module(f"byhand.{place}"), calls(place)
    for function in ast.parse(source(place)).body:
        if isinstance(function, ast.FunctionDef) and given.get(function.name):
            taken = [((*some["masks"],), {}) if "masks" in some else ((), some) for some in given[function.name]]
            right = [(args, some, getattr(module, function.name)(*args, **some)) for args, some in taken]
            assert passes(function, {**vars(module)}, right), f"{function.name} refuses a right call"
            for change in misspellings(function):
                tried += 1
                if passes(function, {**vars(module)}, right):
                    found.add((place, function.name, change))
    return tried, found


@pytest.mark.parametrize("place", PLACES)
def test_every_wrong_letter_is_found(place):
    tried, found = unnoticed(place)
    assert found <= BEYOND, "no call notices these"


def test_tests_run_the_checked_library():
    """The hook is on: what comes back is looked at too."""
    wrong = checked("np.attention", source("np.attention").replace("return O, AttentionCache(", "return O.sum(-1), AttentionCache("))
    with pytest.raises(TypeCheckError):
        wrong.attention_forward(*map(np.ones, [(3, 5), (4, 5), (4, 6)]))


# What NumPy and torch would broadcast without a word.
SILENT = [
    ("np.attention", "attention_forward", [(2, 3, 5), (1, 4, 5), (2, 4, 6)]),
    ("np.attention", "kernel_attention_forward", [(2, 3, 5), (2, 4, 1), (2, 4, 6), 0.5]),
    ("np.linear", "matmul_forward", [(2, 3, 4), (4, 5)]),
    ("np.linear", "linear_forward", [(2, 3), (3, 4), (1,)]),
    ("np.linear", "add_forward", [(3, 1), (2, 3, 4)]),
    ("pt.attention", "attention", [(2, 3, 5), (1, 4, 5), (2, 4, 6)]),
    ("pt.linear", "matmul", [(2, 3, 4), (4, 5)]),
    ("pt.linear", "linear", [(2, 3), (3, 4), (1,)]),
    ("pt.linear", "add", [(3, 1), (2, 3, 4)]),
]


@pytest.mark.parametrize(("place", "name", "shapes"), SILENT)
def test_shapes_hold_by_either_check_alone(place, name, shapes):
    array = np.ones if place.startswith("np") else torch.ones
    arguments = [array(shape) if isinstance(shape, tuple) else shape for shape in shapes]
    ours = getattr(build(place), name)
    bare = inspect.unwrap(ours)
    bare(*arguments)  # nothing notices
    with pytest.raises(ValueError):
        ours(*arguments)
    with pytest.raises(TypeCheckError):
        jaxtyped(typechecker=beartype)(bare)(*arguments)
