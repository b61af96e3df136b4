"""The commands that need no gradebook: check, bundle, sample, selfcheck."""

from ..selfcheck import selfcheck
from ..sets import SETS, questions_of
from .submission import read
from .terminal import GOOD, WRONG, say

ALL = "all"  # in the place of sets


def run_check(a) -> int:
    """What a learner sees with check(), for a whole file, on the public cases; the code runs in the sandbox."""
    from .grading import grade

    found = read(a.notebook)
    say(*found.notes)
    if found.status != "read":
        return WRONG
    sets = [a.set] if a.set else [s for s in SETS if found.answers(questions_of(s))]
    graded = [g for s in sets for g in grade(found, s, b"display") if g.status != "missing"]
    say(*(g.text for g in graded), f"{sum(g.points for g in graded)} of {sum(g.max_points for g in graded)} points")
    return GOOD


def run_bundle(a) -> int:
    """What students get: their notebooks, and of the library what checks them."""
    from . import bundle

    files = bundle.files_of(list(SETS) if ALL in a.sets else sorted(set(a.sets)), a.book)
    out = bundle.write(files, a.out)
    say(f"{len(files)} files in {out}; no reference, solution, hidden case or known mistake's code is among them")
    return GOOD


def run_sample(a) -> int:
    """A class to practise with."""
    from . import sample

    names = sample.write(a.folder, a.students, a.seed)
    say(f"{', '.join(names)} in {a.folder}",
        f"Next: byhand-grade collect 04 {a.folder}/canvas.zip --roster {a.folder}/roster.csv")
    return GOOD


def run_selfcheck(a) -> int:
    problems = [problem for set_id in ([a.set] if a.set else SETS) for problem in selfcheck(set_id)]
    say(*problems, f"{len(problems)} problems")
    return WRONG if problems else GOOD
