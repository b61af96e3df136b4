"""No wrong library gets past the checks, and no check is there for nothing."""

import json
import subprocess
import sys
from pathlib import Path

import mutants
import pytest
from invariants import INVARIANTS
from mutants import MUTANTS


@pytest.fixture(scope="module")
def measured():
    """What `python tests/mutants.py` finds, in a process of its own: there the library runs as a reader has it."""
    command = [sys.executable, "-W", "error", mutants.__file__, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(mutants.__file__).parents[1], timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_mutant_is_caught_by_exactly_the_checks_declared(measured):
    wrong = [f"{m.place}, {m.story}: declared {m.caught}, caught by {caught}"
             for m, caught in zip(MUTANTS, measured, strict=True)
             if mutants.kinds(caught) != set(m.caught.split()) or not caught]
    assert not wrong, "\n".join(wrong)


def test_every_check_catches_a_mutant(measured):
    """Slope and twin of each function in each half; each invariant, which may serve several modules."""
    def key(place, name, kind):
        return name if kind == mutants.I else f"{name} in {place}"

    useful = {key(m.place, name, kind) for m, caught in zip(MUTANTS, measured, strict=True)
              for name, (kind, _) in caught.items()}
    places = {m.place for m in MUTANTS}
    assert places == INVARIANTS.keys()
    checks = {key(place, name, kind) for place in places for name, (kind, _) in mutants.checks(place).items()}
    assert checks == useful


def test_a_fault_of_wiring_passes_the_slope_check(measured):
    """What the course says of the three checks, held to the table: none of them is enough."""
    only = [set(m.caught.split()) for m in MUTANTS]
    assert {"twin", "invariant"} in only and {"slope", "twin"} in only and {"invariant"} in only
    assert sum("slope" not in caught for caught in only if "twin" in caught) >= 10


def test_the_right_library_passes_when_built_from_its_source():
    """The engine alone catches nothing."""
    for place in INVARIANTS:
        module = mutants.build(place)
        for _, check in mutants.checks(place).values():
            check(module)


def test_an_edit_must_fit_the_source():
    with pytest.raises(ValueError, match="is there 0 times"):
        mutants.build("np.softmax", "no such line", "")
    with pytest.raises(ValueError, match="times, expected once"):
        mutants.build("np.softmax", "keepdims=True", "keepdims=False")
    assert len({m.story + m.place for m in MUTANTS}) == len(MUTANTS)


def test_reach_follows_calls():
    """An edit of attention reaches the head that calls it, but not the kernel form."""
    mutant = next(m for m in MUTANTS if m.story == "1/√d_k forgotten in dQ")
    assert mutants.reached(mutant.place, *mutant.edits) == {"attention_backward", "self_attention_backward"}
