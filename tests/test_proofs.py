"""The proofs of every stem. Their data stand in tests/specs; `--stem norm` runs those of one stem, several are allowed.

Slope, twin in both precisions, invariants; each wrong version is caught by the kinds of check that it declares; each
check catches a wrong version.
"""

import numpy as np
import proofs
import pytest
import twins


def pytest_generate_tests(metafunc):
    """Reads the tables when tests are collected, and of the chosen stems only."""
    rows = []
    for stem in metafunc.config.getoption("stem") or proofs.stems():
        table = proofs.table(stem)
        for values, name in ROWS.get(metafunc.function.__name__, lambda table: [((table.stem,), table.stem)])(table):
            rows.append(pytest.param(*values, id=name))
    metafunc.parametrize(metafunc.fixturenames, rows)


def by_function(specs):
    return [((spec,), f"{spec.stem}.{spec.name}") for spec in specs]


ROWS = {  # the arguments and the names of each test, from a table
    "test_slope": lambda table: by_function(proofs.slopes(table)),
    "test_twin": lambda table: by_function(table.twins),
    "test_twin_in_float32": lambda table: by_function(table.twins),
    "test_invariant": lambda table: [((place, check), f"{place}.{check.__name__}")
                                     for place, some in table.invariants.items() for check in some],
    "test_wrong_version": lambda table: [((table.stem, wrong), str(wrong)) for wrong in table.wrong],
}


def test_slope(spec):
    with proofs.as_shipped():  # thousands of calls; the twins see that the shapes of the same calls are right
        twins.check_slope(spec, proofs.real(f"np.{spec.stem}"))


def test_twin(spec):
    twins.check_twin(spec, proofs.real(f"np.{spec.stem}"), proofs.real(f"pt.{spec.stem}"))


def test_twin_in_float32(spec):
    twins.check_twin(spec, proofs.real(f"np.{spec.stem}"), proofs.real(f"pt.{spec.stem}"), np.float32)


def test_invariant(place, check):
    check(proofs.real(place))


def test_the_right_source_passes(stem):
    """Before the wrong ones, for which the checks are tried in the order of what they take here."""
    table = proofs.table(stem)
    for place in proofs.places(table):
        module = proofs.mutants.build(place)
        for check in proofs.checks(table, place):
            proofs.run(check, module)


def test_wrong_version(stem, wrong):
    missed = proofs.missed(proofs.table(stem), wrong)
    assert not missed, f"{wrong}: passes the checks {' and '.join(missed)}, expected to fail them"


def test_every_check_catches_a_wrong_version(stem):
    assert not proofs.useless(proofs.table(stem))
