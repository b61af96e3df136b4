"""Checks 1 and 2 on every public function: right against central differences, and right against torch."""

import importlib
import inspect

import mutants
import numpy as np
import pytest
import twins
from invariants import INVARIANTS
from twins import TWINS

HALVES = {stem: [importlib.import_module(f"byhand.{half}.{stem}") for half in ("np", "pt")]
          for stem in ("gradcheck", "linear", "softmax", "mask", "attention")}
EVERY = [pytest.param(spec, id=spec.name) for spec in TWINS]
DIFFERENTIABLE = [pytest.param(spec, id=spec.name) for spec in TWINS
                  if twins.differentiable(HALVES[spec.stem][0], spec.name)]

# Public functions of the NumPy half with no backward and no twin of the same name: the invariants that hold them.
OTHERWISE = {
    "gradcheck.relative_error": "relative_error_is_a_distance",
    "gradcheck.numerical_gradient": "numerical_gradient_of_known_functions",
    "gradcheck.gradcheck": "gradcheck_names_the_wrong_leaf",
    "gradcheck.named_gradients": "gradients_come_in_the_order_of_the_inputs",
    "linear.init_linear": "init_keeps_the_variance",
    "mask.leak_probe": "leak_probe_finds_every_leak",
    "attention.init_self_attention": "init_gives_unit_variance",
}


@pytest.mark.parametrize("spec", DIFFERENTIABLE)
def test_slope(spec):
    assert twins.slope(spec, HALVES[spec.stem][0]) <= twins.SLOPE


@pytest.mark.parametrize("spec", EVERY)
def test_twin(spec):
    forward, gradient = twins.twin(spec, *HALVES[spec.stem])
    assert forward <= twins.FORWARD and gradient <= twins.GRADIENT


@pytest.mark.parametrize("spec", EVERY)
def test_twin_in_float32(spec):
    forward, gradient = twins.twin(spec, *HALVES[spec.stem], dtype=np.float32)
    assert forward <= twins.FORWARD32 and gradient <= twins.GRADIENT32


def public(module):
    """Functions that a module defines, forward and backward counted as one."""
    names = {name for name, f in vars(module).items() if inspect.isfunction(f) and f.__module__ == module.__name__}
    return {name.removesuffix("_forward").removesuffix("_backward") for name in names if not name.startswith("_")}


def unproved(stem, module):
    """Names with neither a twin nor an invariant to their name."""
    twinned = {spec.name for spec in TWINS if spec.stem == stem}
    listed = {name.partition(".")[2] for name in OTHERWISE if name.startswith(f"{stem}.")}
    assert not twinned & listed
    return public(module) ^ (twinned | listed)


@pytest.mark.parametrize("stem", HALVES)
def test_every_public_function_is_proved(stem):
    assert not unproved(stem, HALVES[stem][0])
    for name, invariant in OTHERWISE.items():
        if name.startswith(f"{stem}."):
            assert invariant in {check.__name__ for check in INVARIANTS[f"np.{stem}"]}


def test_a_new_function_without_a_proof_is_found():
    module = mutants.build("np.softmax", "class LogSoftmaxCache", "def entropy(S):\n    pass\n\nclass LogSoftmaxCache")
    assert unproved("softmax", module) == {"entropy"}
    module = mutants.build("np.softmax", "def softmax_jacobian(", "def jacobian(")
    assert unproved("softmax", module) == {"jacobian", "softmax_jacobian"}


def test_cases_are_what_they_claim():
    """More than one sequence, ranks 1 to 4, no two sizes alike, no upstream of ones, biases there and not."""
    for spec in TWINS:
        if spec.stem == "attention":
            cases = twins.cases_of(spec)
            ranks = {next(iter(case.inputs.values())).ndim for case in cases}
            assert ranks == {2, 3, 4}
            masks = [case.fixed["mask"] for case in cases if case.fixed["mask"] is not None]
            assert any(not m.any(axis=-1).all() for m in masks) and any(m.ndim == 3 and m.shape[1] == 1 for m in masks)
            if "Q" in cases[0].inputs:
                Q, K, V = (cases[-1].inputs[name] for name in "QKV")
                sizes = [*Q.shape[:2], Q.shape[2], K.shape[2], V.shape[3], Q.shape[3]]
                assert Q.shape[0] > 1 and len(set(sizes)) >= len(sizes) - 1  # rank 4 repeats one size
    biases = ["b" in case.inputs for case in twins.cases_of(TWINS[1])]
    assert any(biases) and not all(biases)
