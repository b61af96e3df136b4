"""The proofs of one stem as tests: a file test_<stem>.py holds its tables, and its last line installs these.

    install(globals(), "norm", TWINS, INVARIANTS, MUTANTS)

TWINS are twins.Spec; INVARIANTS maps a place ("np.norm") to functions of a module; MUTANTS are mutants.M.
"""

import functools
import importlib
import io
import warnings
from contextlib import contextmanager, redirect_stdout

import invariants
import jaxtyping
import mutants
import numpy as np
import pytest
import twins

TABLES: dict[str, tuple] = {}  # name of a test file → its TWINS, INVARIANTS and MUTANTS, once it is imported


def modules(specs: list, invariants: dict, wrong: list) -> dict:
    """The modules that the tables of a file are about, by place."""
    names = {f"{half}.{spec.stem}" for spec in specs for half in ("np", "pt")}
    names = names or {*invariants, *(mutant.place for mutant in wrong)}
    return {place: importlib.import_module(f"byhand.{place}") for place in names}


def install(space: dict, stem: str, specs: list, invariants: dict, wrong: list) -> None:
    """Slope, twin in both precisions, invariants; each mutant caught as declared; each check catches a mutant."""
    TABLES[space["__name__"]] = specs, invariants, wrong
    real = modules(specs, invariants, wrong)
    found = {}  # mutant → the checks that caught it, so that the last test need not measure again
    slopes = [spec for spec in specs if twins.differentiable(real[f"np.{stem}"], spec.name)]

    @pytest.mark.parametrize("spec", slopes, ids=lambda spec: spec.name)
    def test_slope(spec):
        assert twins.slope(spec, real[f"np.{stem}"]) <= twins.SLOPE

    @pytest.mark.parametrize("spec", specs, ids=lambda spec: spec.name)
    def test_twin(spec):
        forward, gradient = twins.twin(spec, real[f"np.{stem}"], real[f"pt.{stem}"])
        assert forward <= twins.FORWARD and gradient <= twins.GRADIENT

    @pytest.mark.parametrize("spec", specs, ids=lambda spec: spec.name)
    def test_twin_in_float32(spec):
        forward, gradient = twins.twin(spec, real[f"np.{stem}"], real[f"pt.{stem}"], np.float32)
        assert forward <= twins.FORWARD32 and gradient <= twins.GRADIENT32

    @pytest.mark.parametrize(("place", "check"), [(p, c) for p, some in invariants.items() for c in some],
                             ids=lambda x: getattr(x, "__name__", x))
    def test_invariant(place, check):
        check(real[place])

    @pytest.mark.parametrize("mutant", wrong, ids=lambda m: f"{m.place}: {m.story}")
    def test_mutant(mutant):
        found[mutant] = caught_by(mutant, specs, invariants, real)
        assert {kind for kind, _ in found[mutant]} == set(mutant.caught.split()), sorted(found[mutant])

    def test_the_right_source_is_caught_by_no_invariant():
        for place in real:
            assert not caught_by(mutants.M(place, "", "no edit"), specs, invariants, real)

    def test_every_check_catches_a_mutant():
        useful = set().union(*(found.get(m) or caught_by(m, specs, invariants, real) for m in wrong))
        useless = {check for place in real for check in checks(place, specs, invariants, real)} - useful
        assert not useless, sorted(useless)

    for test in (test_slope, test_twin, test_twin_in_float32, test_invariant, test_mutant,
                 test_the_right_source_is_caught_by_no_invariant, test_every_check_catches_a_mutant):
        if {"test_slope": slopes}.get(test.__name__, specs) or "twin" not in test.__name__ and test is not test_slope:
            space[test.__name__] = test


def checks(place, specs, invariants, real) -> dict:
    """(kind, name) → the check, as a function of a module in the place of the right one."""
    half = place.split(".")[0]
    table = {}
    for spec in specs:
        if half == "np" and twins.differentiable(real[place], spec.name):
            table["slope", spec.name] = lambda module, spec=spec: below(twins.SLOPE, twins.slope(spec, module))
        if half in ("np", "pt"):
            def parity(module, spec=spec):
                both = {p.split(".")[0]: m for p, m in {**real, place: module}.items()}
                forward, gradient = twins.twin(spec, both["np"], both["pt"])
                below(twins.FORWARD, forward)
                below(twins.GRADIENT, gradient)

            table["twin", spec.name] = parity
    return table | {("invariant", check.__name__): check for check in invariants.get(place, ())}


def below(bound, value):
    if not value <= bound:
        raise AssertionError(f"{value:.0e}")


def caught_by(mutant, specs, invariants, real) -> set:
    """The checks that fail on a mutant, among those that its edit can reach; a warning counts as a failure."""
    module, caught = mutants.build(mutant.place, *mutant.edits), set()
    reach = mutants.reached(mutant.place, *mutant.edits)
    near = [spec for spec in specs if reach & {spec.name, f"{spec.name}_forward", f"{spec.name}_backward"}]
    for key, check in checks(mutant.place, near, invariants, real).items():
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()), as_shipped():
            warnings.simplefilter("error")
            try:
                check(module)
            except (Exception, pytest.fail.Exception):
                caught.add(key)
    return caught


@contextmanager
def as_shipped():
    """The library as a reader has it: without the shape checks of conftest.py, which would speak first, and slowly."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", before)


def habits(specs: list) -> list:
    """Invariants of every differentiable function in the table: dtype kept, inputs left alone, any memory layout."""
    def over(check):
        @functools.wraps(check)
        def invariant(module):
            check(module, specs)
        return invariant

    return [over(check) for check in (invariants.float32_stays_float32, invariants.inputs_are_left_alone,
                                      invariants.memory_layout_does_not_matter)]


def torch_habits(specs: list) -> list:
    """Invariants of every function in the table, in torch: nothing is made on another device or in another dtype."""
    def runs_on_any_device(module):
        invariants.runs_on_any_device(module, specs)

    def dtype_stays(module):
        invariants.dtype_stays(module, specs)

    return [runs_on_any_device, dtype_stays]


def refusals(*rows):
    """One invariant: each row (function, error, what it says, *arguments) is refused in the library's own words."""
    def wrong_input_is_refused_by_name(module):
        with as_shipped():
            for name, error, says, *arguments in rows:
                invariants.raises(error, says, lambda name=name, args=arguments: getattr(module, name)(*args))

    return wrong_input_is_refused_by_name
