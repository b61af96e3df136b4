"""The shapes in the signatures are law while tests run, and no letter of them can be wrong unnoticed.

conftest.py puts @jaxtyped(typechecker=beartype) on every function of byhand at import. What that checks: each array
among the arguments, each array of a returned tuple, one letter having one size throughout a call. What it does not:
the fields of a cache (a NamedTuple is no dataclass, so its annotations are only read by people), the arrays in a
parameter tree beyond their being arrays, masks, whose shape is "...", and a letter that a signature uses only once.
It is stricter than Python about numbers: an int does not pass for a float.
"""

import ast
import importlib
import itertools
import types

import numpy as np
import pytest
import torch
import twins
from beartype import beartype
from jaxtyping import TypeCheckError, jaxtyped
from mutants import build, made_of, source
from twins import TWINS

COPY = itertools.count()
PLACES = [f"{half}.{stem}" for half in ("np", "pt") for stem in ("linear", "softmax", "mask", "attention")]


# Here *B stands in one shape only, so nothing says how many axes it has, and without the d it takes that axis too.
BEYOND = {("np.linear", "gather_backward", "'*B d' → '*B '"), ("np.linear", "scatter_add_backward", "'*B d' → '*B '")}


def checked(place, text):
    """A module of this source, with its functions as the import hook would have made them."""
    module = made_of(place, text, f"copy{next(COPY)}.{place}")  # beartype takes types of one name for one type
    for name, f in list(vars(module).items()):
        if isinstance(f, types.FunctionType) and f.__module__ == module.__name__:
            setattr(module, name, jaxtyped(typechecker=beartype)(f))
    return module


def run(place, module, name=None):
    """Every case of one function of this module, or of all, against the other half."""
    half, stem = place.split(".")
    both = {h: importlib.import_module(f"byhand.{h}.{stem}") for h in ("np", "pt")} | {half: module}
    for spec in TWINS:
        if spec.stem == stem and name in (None, spec.name, f"{spec.name}_forward", f"{spec.name}_backward"):
            twins.twin(spec, both["np"], both["pt"])


def letters(function: ast.FunctionDef):
    """The shape strings in a signature."""
    signature = [*(arg.annotation for arg in function.args.args), function.returns]
    for node in (n for annotation in signature if annotation for n in ast.walk(annotation)):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
            last = node.slice.elts[-1]
            if isinstance(last, ast.Constant) and isinstance(last.value, str) and "..." not in last.value:
                yield last


def misspellings(place):
    """(function, change, source) with one letter of one shape replaced by another of its signature, or left out."""
    text = source(place)
    proved = {spec.name + way for spec in TWINS for way in ("", "_forward", "_backward")}
    lines = text.encode().splitlines(keepends=True)  # ast counts columns in bytes
    for function in ast.parse(text).body:
        if not isinstance(function, ast.FunctionDef) or function.name not in proved:
            continue
        shapes = list(letters(function))
        known = {letter for shape in shapes for letter in shape.value.split()}
        for shape in shapes:
            words = shape.value.split()
            for i, word in enumerate(words):
                for other in ["", *sorted(known - {word})]:
                    if (word[0] == "*") == (other[:1] == "*") or not other:
                        wrong = " ".join([*words[:i], other, *words[i + 1:]])
                        row = lines[shape.lineno - 1]
                        row = row[:shape.col_offset] + f'" {wrong}"'.encode() + row[shape.end_col_offset:]
                        changed = [*lines[:shape.lineno - 1], row, *lines[shape.lineno:]]
                        yield function.name, f"{shape.value!r} → {wrong!r}", b"".join(changed).decode()


@pytest.mark.parametrize("place", PLACES)
def test_every_wrong_letter_is_found(place):
    run(place, checked(place, source(place)))  # as it is, it passes
    unnoticed, tried = set(), 0
    for name, change, text in misspellings(place):
        tried += 1
        try:
            run(place, checked(place, text), name)
            unnoticed.add((place, name, change))
        except TypeCheckError:
            pass
    assert tried > 3
    assert unnoticed == {known for known in BEYOND if known[0] == place}


def test_tests_run_the_checked_library():
    """The hook is on: a call with a wrong shape stops before the library's own guards see it."""
    for half, array in (("np", np.ones), ("pt", torch.ones)):
        for stem, name, shapes in (("attention", "attention", [(3, 5), (4, 5), (3, 6)]),
                                   ("linear", "matmul", [(2, 3), (2, 4)])):
            module = importlib.import_module(f"byhand.{half}.{stem}")
            function = getattr(module, f"{name}_forward" if half == "np" else name)
            with pytest.raises(TypeCheckError):
                function(*map(array, shapes))


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
def test_shapes_hold_without_the_guards(place, name, shapes):
    array = np.ones if place.startswith("np") else torch.ones
    arguments = [array(shape) if isinstance(shape, tuple) else shape for shape in shapes]
    bare, law = build(place), checked(place, source(place))
    for module in (bare, law):
        module.guard = types.SimpleNamespace(**dict.fromkeys(vars(module.guard), lambda *a, **k: None))
    getattr(bare, name)(*arguments)  # nothing notices
    with pytest.raises(TypeCheckError):
        getattr(law, name)(*arguments)
