"""The proofs of a stem, read from its data file: what checks there are, and which of them catch a wrong version.

A file of tests/specs has up to three tables. TWINS are twins.Spec: each brings the slope check and the twin check.
INVARIANTS maps a place ("np.norm") to functions of a module. WRONG are mutants.M. tests/test_proofs.py has the tests.
"""

import functools
import importlib
import io
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import invariants
import mutants
import pytest
import twins
from twins import as_shipped

CHECKS = ("slope", "twin", "invariant")


class Table(NamedTuple):
    stem: str
    twins: list
    invariants: dict[str, list]
    wrong: list


class Check(NamedTuple):
    kind: str
    name: str  # of the function that it is about, or of the invariant
    run: Callable[[ModuleType], None]  # passes silently or raises


@functools.cache
def stems() -> list[str]:
    return sorted(path.stem for path in (Path(__file__).parent / "specs").glob("[a-z]*.py"))


@functools.cache
def table(stem: str) -> Table:
    spec = importlib.import_module(f"specs.{stem}")
    return Table(stem, getattr(spec, "TWINS", []), spec.INVARIANTS, spec.WRONG)


def places(table: Table) -> list[str]:
    """The modules that a table is about."""
    from_twins = {f"{half}.{spec.stem}" for spec in table.twins for half in ("np", "pt")}
    return sorted(from_twins | {*table.invariants} | {wrong.place for wrong in table.wrong})


def real(place: str) -> ModuleType:
    return importlib.import_module(f"byhand.{place}")


def slopes(table: Table) -> list:
    """The specs of what has a backward."""
    return [spec for spec in table.twins if twins.differentiable(real(f"np.{spec.stem}"), spec.name)]


def checks(table: Table, place: str) -> list[Check]:
    """What is checked of a module in this place; slopes along one direction a leaf."""
    half, found = place.split(".")[0], []
    for spec in (spec for spec in table.twins if place == f"{half}.{spec.stem}"):
        if half == "np" and twins.differentiable(real(place), spec.name):
            found.append(Check("slope", spec.name, functools.partial(twins.check_slope, spec, along=twins.directions)))
        if half == "np":
            found.append(Check("twin", spec.name, functools.partial(np_twin, spec)))
        else:
            found.append(Check("twin", spec.name, functools.partial(twins.check_twin, spec, real(f"np.{spec.stem}"))))
    return found + [Check("invariant", check.__name__, check) for check in table.invariants.get(place, ())]


def np_twin(spec, module):
    twins.check_twin(spec, module, real(f"pt.{spec.stem}"))


SECONDS: dict[tuple, float] = {}  # the most that a check has taken: the cheap ones are tried first
SEEN: set[tuple] = set()  # (stem, kind, name) of the checks that have caught a wrong version


def fails(check: Check, module: ModuleType) -> bool:
    """Whether a check fails on a module; a warning counts as a failure."""
    try:
        run(check, module)
    except (Exception, pytest.fail.Exception):
        return True
    return False


def run(check: Check, module: ModuleType) -> None:
    """A check of a module, which passes silently or raises; what it takes is remembered."""
    began = time.process_time()
    with strictly():
        try:
            check.run(module)
        finally:
            seconds = time.process_time() - began
            SECONDS[check[:2]] = max(seconds, SECONDS.get(check[:2], 0.0))


def near(table: Table, wrong: mutants.Mutant) -> list[Check]:
    """The checks that an edit can reach, the cheap ones first."""
    reach = mutants.reached(wrong.where, *wrong.edits)
    found = [check for check in checks(table, wrong.place) if check.kind == "invariant"
             or reach & {check.name, f"{check.name}_forward", f"{check.name}_backward"}]
    return sorted(found, key=lambda check: SECONDS.get(check[:2], 0.0))


def catches(table: Table, wrong: mutants.Mutant, some: list[Check]) -> Check | None:
    """The first of some checks that fails on a wrong version."""
    module = mutants.build(wrong.where, *wrong.edits)
    found = next((check for check in some if fails(check, module)), None)
    if found:
        SEEN.add((table.stem, *found[:2]))
    return found


def missed(table: Table, wrong: mutants.Mutant) -> list[str]:
    """The kinds of check that a wrong version declares, and that do not catch it."""
    some = near(table, wrong)
    return [kind for kind in wrong.caught.split() if not catches(table, wrong, [c for c in some if c.kind == kind])]


def caught_by(table: Table, wrong: mutants.Mutant) -> set[tuple[str, str]]:
    """(kind, name) of every check that fails on a wrong version: what `make mutants` prints."""
    module = mutants.build(wrong.where, *wrong.edits)
    return {check[:2] for check in near(table, wrong) if fails(check, module)}


def useless(table: Table) -> list[str]:
    """The checks that catch no wrong version. Only those that have not been seen to catch one are tried."""
    names = dict.fromkeys(check[:2] for place in places(table) for check in checks(table, place))
    reached = [(wrong, near(table, wrong)) for wrong in table.wrong]

    def catches_one(kind, name):
        tried = ((wrong, [check for check in some if check[:2] == (kind, name)])
                 for wrong, some in sorted(reached, key=lambda pair: kind not in pair[0].caught))
        return any(catches(table, wrong, some) for wrong, some in tried if some)

    return [f"{kind} {name}" for kind, name in names if (table.stem, kind, name) not in SEEN
            and not catches_one(kind, name)]


@contextmanager
def strictly():
    """As a reader has the library, its prints unseen, and a warning is an error."""
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), as_shipped():
        warnings.simplefilter("error")
        yield


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
