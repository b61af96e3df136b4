"""Every backward refuses a gradient that is not one of its forward's output: other sizes, types, and what is no number.

The rule is one for all: each right call of tests/test_fuzz.py is made again with every wrong gradient below, and no
function is named here but those that stand in UNTRIED there. NumPy would repeat most of these shapes without a word.
"""

import inspect

import numpy as np
import pytest
from proofs import as_shipped
from test_fuzz import STEMS, UNTRIED, module, named, rudeness, seeds

BACKWARDS = [(stem, name) for stem in STEMS for name in named(stem) if name.endswith("_backward")]


def wrong_gradients(dOut: np.ndarray) -> dict:
    """What is no gradient of this shape: one change of shape for each axis and kind, and other things than arrays."""
    found = {"float16": dOut.astype(np.float16), "whole numbers": dOut.astype(np.int64), "a list": dOut.tolist(),
             "text": "dO", "None": None, "a new first axis": dOut[None], "a new last axis": dOut[..., None],
             "two of them": np.stack([dOut, dOut]), "NaN": planted(dOut, np.nan), "infinity": planted(dOut, np.inf)}
    for i, n in enumerate(dOut.shape):
        found[f"axis {i} dropped"] = dOut.take(0, axis=i)
        found[f"axis {i} one longer"] = np.concatenate([dOut, dOut.take([0], axis=i)], axis=i)
        found[f"axis {i} empty"] = dOut.take([], axis=i)
        if n > 1:
            found[f"axis {i} one shorter"] = dOut.take(range(1, n), axis=i)
            found[f"axis {i} of size one"] = dOut.take([0], axis=i)
    if dOut.ndim > 1 and dOut.shape[-1] != dOut.shape[-2]:
        found["the last axes swapped"] = dOut.swapaxes(-1, -2).copy()
    if not dOut.ndim:
        del found["a list"]  # a number
    return found


def planted(x: np.ndarray, bad: float) -> np.ndarray:
    x = x.copy()
    x.flat[-1] = bad
    return x


def accepted(function, seed) -> dict:
    """The wrong gradients that are not refused in the library's own words, with what came of them."""
    first, found = next(iter(seed.args)), {}
    for what, wrong in wrong_gradients(seed.args[first]).items():
        args = {**seed.args, first: wrong}
        try:
            function(**args)
        except Exception as error:  # how it is refused is judged as well
            if complaint := rudeness(error, "np", seed.name, args):
                found[what] = complaint
        else:
            found[what] = "accepted"
    return found


@pytest.mark.parametrize(("stem", "name"), [pair for pair in BACKWARDS if pair[1] not in UNTRIED])
def test_a_gradient_of_another_shape_is_refused(stem, name):
    assert seeds(stem).get(name), f"{name} has no right call to start from: add its forward to the twin table"
    with as_shipped():
        for seed in seeds(stem)[name]:
            function = getattr(module(seed.place), name)
            function(**seed.args)
            assert not accepted(function, seed), f"{name} after {list(seed.forward.args)}"


HOLES = {  # signatures that say too little, kept: each lets a wrong gradient in
    "np.linear": ("gather_backward", '    d: int\n\n\n@checked\ndef gather_forward', '\n\n@checked\ndef gather_forward',
                  "GatherCache(ids, *E.shape)", "GatherCache(ids, len(E))"),
    "np.position": ("rope_backward", 'class RopeCache(NamedTuple):\n    X_shape: Shape["*B n d"]',
                    'class RopeCache(NamedTuple):\n    X_shape: tuple'),
    "np.vision": ("mean_pool_backward", 'dY: Float[Array, "*B d"]', "dY: Array"),
    "np.embedding": ("unembed_backward", 'dlogits: Float[Array, "*B V"]', 'dlogits: Float[Array, "*B _"]'),
}


@pytest.mark.parametrize("place", HOLES)
def test_a_signature_that_says_too_little_is_found(place):
    from mutants import build

    name, *edits = HOLES[place]
    wrong, found = build(place, *edits), {}
    with as_shipped():
        for seed in seeds(place.split(".")[1])[name]:
            forward = inspect.unwrap(getattr(wrong, seed.forward.name))
            _, cache = forward(**seed.forward.args)
            found |= accepted(getattr(wrong, name), seed._replace(args={**seed.args, "cache": cache}))
    assert found, "nothing got through"
