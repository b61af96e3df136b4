"""The mutants together: every fault of chapter 0 and every erratum that is code has one, and edits must fit."""

import functools

import mutants
import numpy as np
import proofs
import pytest
import twins
from mutants import ERRATA, FAULTS, M


@pytest.fixture(scope="module")
def declared():
    """Each wrong version of all stems, by place and story, and the checks that its own test holds it to."""
    return {wrong.key: set(wrong.caught.split()) for stem in proofs.stems() for wrong in proofs.table(stem).wrong}


def unkept(declared, table) -> list[str]:
    """The mutants that a table names and that no stem has."""
    return [name for names in table.values() if isinstance(names, list) for name in names if not declared.get(name)]


def test_every_fault_of_chapter_0_and_every_erratum_that_is_code_has_a_mutant(declared):
    assert not unkept(declared, FAULTS) and all(FAULTS.values())
    assert not unkept(declared, ERRATA) and all(ERRATA.values())
    assert unkept(declared, {0: ["np.norm: γ outside the mean"]}) == ["np.norm: γ outside the mean"]


def test_the_three_checks_catch_what_chapter_0_says(declared):
    """A wrong gradient fails the slope check. A fault of wiring passes it, and fails an invariant or the twin."""
    kinds = {fault: set().union(*(declared[name] for name in names)) for fault, names in FAULTS.items()}
    gradient = {"norm backward with γ outside the means", "softmax backward divided by the batch",
                "norm with μ and σ as constants", "1/√d_k forgotten in the backward",
                "path of the keys dropped from dX", "softmax Jacobian: diagonal only"}
    wiring = {"LayerNorm over tokens", "softmax over the queries", "mask off by one", "no mask", "no 1/√d_k"}
    assert all("slope" in kinds[fault] for fault in gradient)
    assert all("slope" not in kinds[fault] and "invariant" in kinds[fault] for fault in wiring)


def test_none_of_the_checks_is_enough(declared):
    only = list(declared.values())
    for kinds in ({"invariant"}, {"slope", "twin"}, {"twin", "invariant"}, {"slope", "invariant"}):
        assert kinds in only
    assert sum("slope" not in kinds for kinds in only if "twin" in kinds) >= 10


def test_stories_tell_mutants_apart():
    for stem in proofs.stems():
        wrong = proofs.table(stem).wrong
        assert len({w.key for w in wrong}) == len(wrong), stem


def test_an_edit_must_fit_the_source():
    with pytest.raises(ValueError, match="is there 0 times"):
        mutants.build("np.softmax", "no such line", "")
    with pytest.raises(ValueError, match="times, expected once"):
        mutants.build("np.softmax", "keepdims=True", "keepdims=False")


def test_an_edit_is_of_its_function_alone():
    """What stands in other functions too is replaced in the one that is named, and is missed nowhere else."""
    text = mutants.source("np.norm")
    assert text.count("eps)") > 1
    edit = mutants.edited("np.norm.rms_norm_forward", "axis=-1", "axis=-2")
    changed = [old for old, new in zip(text.splitlines(), edit.splitlines(), strict=True) if old != new]
    assert len(changed) == 1 and "axis=-1" in changed[0]
    with pytest.raises(ValueError, match=r"np\.norm\.rms_norm_backward: 'no such' is there 0 times, expected once"):
        mutants.build("np.norm.rms_norm_forward + rms_norm_backward", "axis=-1", "axis=-2", "no such", "")
    with pytest.raises(ValueError, match=r"np\.norm\.rms: rms is defined 0 times, expected once"):
        mutants.build("np.norm.rms", "axis=-1", "axis=-2")
    with pytest.raises(ValueError, match="nowhere.at_all: no such module"):
        mutants.build("nowhere.at_all", "a", "b")
    assert "forward" in mutants.edited("pt.norm.LayerNorm.forward", "self.eps", "2 * self.eps")
    assert mutants.edited("np._erf.FAR", "4.2", "3.2") != mutants.source("np._erf")


def test_what_is_declared_must_be_caught():
    """A fault of wiring has the right slope: who declares that the slope check catches it is told so."""
    table = proofs.table("attention")
    wrong = M("np.attention.attention_forward", "slope twin invariant", "no scale",
              "scale = 1 / math.sqrt(Q.shape[-1])", "scale = 1.0")
    assert proofs.missed(table, wrong) == ["slope"]


def test_a_check_that_catches_nothing_is_found():
    """The right module alone, and a wrong one that a single check of its function sees."""
    table = proofs.table("erf")
    every = [f"invariant {check.__name__}" for check in table.invariants["np._erf"]]
    assert proofs.useless(table._replace(stem="none wrong", wrong=[])) == every
    one = [wrong for wrong in table.wrong if wrong.story == "NaN passes"]
    assert proofs.useless(table._replace(stem="one wrong", wrong=one)) == every[:-1]


def test_a_slope_along_a_direction_sees_each_leaf():
    """Half a gradient, a sign, two gradients exchanged, an input that is changed."""
    def forward(X, Y):
        return X * X * Y, (X, Y)

    def backward(dO, cache, a=2.0, b=1.0):
        X, Y = cache
        return a * dO * X * Y, b * dO * X * X

    def destructive(X, Y):
        X += 1
        return forward(X, Y)

    rng = np.random.default_rng(0)
    inputs = {"X": rng.normal(size=(2, 3)), "Y": rng.normal(size=(2, 3))}
    assert max(twins.directions(forward, backward, inputs, rng).values()) < twins.SLOPE
    for a, b, found in ((1.0, 1.0, {"X"}), (2.0, -1.0, {"Y"}), (1.0, 2.0, {"X", "Y"})):
        errors = twins.directions(forward, functools.partial(backward, a=a, b=b), inputs, rng)
        assert {leaf for leaf, error in errors.items() if error > twins.SLOPE} == found
    with pytest.raises(AssertionError, match="forward has changed X"):
        twins.directions(destructive, backward, inputs, rng)


def test_reach_follows_calls():
    """An edit of attention reaches the head that calls it, but not the kernel form."""
    wrong = next(w for w in proofs.table("attention").wrong if w.story == "1/√d_k forgotten in dQ")
    assert mutants.reached(wrong.where, *wrong.edits) == {"attention_backward", "self_attention_backward"}


def test_the_table_says_what_caught_a_mutant():
    """The report of `make mutants`, on one right and two wrong modules; its line and its words for the checks."""
    wrong = M("np.softmax.softmax_backward", "slope twin invariant", "no row sum",
              "return A * (dA - (A * dA).sum(axis=-1, keepdims=True))", "return A * dA")
    caught = proofs.caught_by(proofs.table("softmax"), wrong)
    assert {("slope", "softmax"), ("twin", "softmax"), ("invariant", "rows_sum_to_one")} <= caught
    assert mutants.combination(caught) == "slope + twin + invariant"
    assert mutants.line(wrong, caught).split()[:3] == ["np.softmax", "×", "×"]
    alone = mutants.line(wrong, {("invariant", "rows_sum_to_one")})
    assert alone.split()[:4] == ["np.softmax", "·", "·", "rows_sum_to_one"]
    assert mutants.combination(set()) == "nothing"
