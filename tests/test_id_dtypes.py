"""Ids of any whole dtype mean what they mean as int64, in both halves: token files hold uint16, images uint8.

uint8 would turn −1 into 255, uint64 and int64 meet in float64, and torch cannot index by uint16. The rule is one for
all: whatever a signature calls Int is tried in every dtype that can hold the values of its right calls.
"""

import ast
import inspect

import numpy as np
import pytest
import torch
from mutants import build
from proofs import as_shipped
from test_fuzz import STEMS, apart, as_arrays, as_given, calls, module, seeds, written

NUMPY = (np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32, np.uint64)
TORCH = (torch.uint8, torch.int16, torch.int32, torch.uint16)


def ids_of(function, seed) -> list[str]:
    """The arguments that hold ids in this call."""
    annotations = {name: str(p.annotation) for name, p in inspect.signature(function).parameters.items()}
    return [name for name, x in seed.args.items() if "Int[" in annotations[name] and isinstance(x, np.ndarray)]


def takes_ids(half: str, stem: str) -> list[str]:
    """The public functions of a module whose seeds can say what ids mean."""
    functions = {name: node for name, node in written(half).items() if isinstance(node, ast.FunctionDef)}
    found = []
    for name in calls(stem):
        twin = name if half == "np" else name.removesuffix("_forward")
        if twin in functions and not name.endswith("_backward"):
            function = inspect.unwrap(getattr(module(f"{half}.{stem}"), twin, lambda: None))
            known = inspect.signature(function).parameters.keys()
            if all(seed.args.keys() <= known for seed in calls(stem)[name]) and any(
                    ids_of(function, seed) for seed in calls(stem)[name]):
                found.append(twin)
    return found


PLACES = [(half, stem, name) for half in ("np", "pt") for stem in STEMS for name in takes_ids(half, stem)]


def held(x: np.ndarray, dtype) -> bool:
    """Whether a dtype can hold these values."""
    info = torch.iinfo(dtype) if isinstance(dtype, torch.dtype) else np.iinfo(dtype)
    return not x.size or (info.min <= x.min() and x.max() <= info.max)


def cast(x: np.ndarray, dtype):
    return torch.tensor(x).to(dtype) if isinstance(dtype, torch.dtype) else x.astype(dtype)


def mistaken(function, half: str, seed) -> dict:
    """The dtypes in which a call fails or means something else than in int64, one argument after the other."""
    args = {name: as_given(x, half) for name, x in seed.args.items()}
    right, found = first(function(**args), half), {}
    for name in ids_of(inspect.unwrap(function), seed):
        for dtype in NUMPY if half == "np" else TORCH:
            if held(seed.args[name], dtype):
                try:
                    out = first(function(**{**args, name: cast(seed.args[name], dtype)}), half)
                except Exception as error:
                    found[name, dtype] = str(error)
                    continue
                same = [a.dtype == b.dtype for a, b in zip(as_arrays(out), as_arrays(right), strict=True)]
                if apart(out, right, 0) or not all(same):
                    found[name, dtype] = "another answer"
    return found


def first(out, half: str):
    """What a forward gives, without its cache."""
    return out[0] if half == "np" and isinstance(out, tuple) and hasattr(out[-1], "_fields") else out


@pytest.mark.parametrize(("half", "stem", "name"), PLACES)
def test_ids_of_every_dtype_mean_the_same(half, stem, name):
    function = getattr(module(f"{half}.{stem}"), name)
    key = name if name in seeds(stem) else f"{name}_forward"
    with as_shipped():
        for seed in seeds(stem)[key]:
            assert not mistaken(function, half, seed), name


def test_there_are_such_functions():
    names = {name for _, _, name in PLACES}
    assert {"gather_forward", "gather", "embedding_forward", "rope", "sgns", "sinusoidal_at", "cross_entropy"} <= names


WRONG = {  # ids taken as they come
    "np.embedding.sgns_forward": ("sgns_forward", 'contexts: Int[Array, " B"]', "contexts: Array"),
    "np.position.alibi_bias": ("alibi_bias", 'positions: Int[Array, "*P n"] | None', "positions: Array | None"),
    "pt.linear.gather": ("gather", 'ids: Int[Tensor, "*B"]', "ids: Tensor"),
}


@pytest.mark.parametrize("where", WRONG)
def test_a_signature_that_does_not_say_int_is_found(where):
    half, stem, _ = where.split(".")
    name, *edits = WRONG[where]
    wrong, right = getattr(build(where, *edits), name), getattr(module(f"{half}.{stem}"), name)
    key = name if name in seeds(stem) else f"{name}_forward"
    with as_shipped():
        for function, expected in ((right, False), (wrong, True)):
            function = with_signature(function, right)
            assert any(mistaken(function, half, seed) for seed in seeds(stem)[key]) is expected


def with_signature(function, like):
    """A function that says of its arguments what another says."""
    def call(**args):
        return function(**args)

    call.__signature__ = inspect.signature(like)
    return call
