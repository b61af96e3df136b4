"""Prove an exercise set: the right answer gets full marks, and every wrong one its own message."""

from dataclasses import replace

from .examine import Report, examine, score
from .judge import finish
from .model import DISPLAY, make_inputs
from .run import run
from .sets import expected_arrays, questions_of, references_of

KEYS = (DISPLAY, b"one", b"two")  # the cases must tell right from wrong for any student's numbers


def selfcheck(set_id, keys=KEYS):
    """A list of what is wrong with a set; empty if all is well.  Needs the references."""
    references = references_of(set_id)
    return [
        f"{question.id}: {text}"
        for question in questions_of(set_id)
        for text in problems(question, references[question.name], expected_arrays, keys)
    ]


def problems(question, reference, stored, keys=KEYS):
    yield from _form(question)
    yield from _stub(question, stored)
    for key in keys:
        yield from _separation(question, reference, stored, key)


def _form(question):
    names = [case.name for case in question.cases]
    if len(set(names)) < len(names):
        yield "two cases have one name"
    public = {case.name for case in question.public}
    for case in question.cases:
        if case.hidden and (case.guards not in public or case.points):
            yield f"hidden case '{case.name}' must guard a public case and carry no points"
        if not case.hidden and case.points < 1:
            yield f"case '{case.name}' has no points"
        if not set(case.needs) <= set(names[: names.index(case.name)]):
            yield f"case '{case.name}' needs a case that does not come before it"
    if len(question.mutants) < 3 or len(question.hints) != 2 or not any(case.hidden for case in question.cases):
        yield "expected at least three mutants, two hints and a hidden case"


def _stub(question, stored):
    report = Report(question, examine(question, question.stub, lambda case: stored(question, case)))
    if report.points or "not attempted" not in repr(report):
        yield "the stub must get no point and 'not attempted'"


def _separation(question, reference, stored, key):
    """Right answer, mutants and cases, under the numbers of one key."""
    at = "" if key == DISPLAY else f" (key {key!r})"
    right = {c.name: _arrays(question, reference, c, key) for c in question.cases}

    def expected(case):
        return stored(question, case) if key == DISPLAY and not case.hidden else right[case.name].arrays

    outcomes = examine(question, reference, expected, question.cases, key)
    if score(question, outcomes) != question.points or not all(o.verdict.ok for o in outcomes):
        yield f"the reference does not get full marks{at}"
    free = [replace(case, needs=()) for case in question.cases]  # every case is to be judged by itself
    caught = {}
    for mutant in question.mutants:
        alone = examine(question, mutant.function, expected, free, key)
        caught[mutant.name] = {o.case.name for o in alone if not o.verdict.ok}
        for name in set(mutant.caught_by) - caught[mutant.name]:
            yield f"mutant '{mutant.name}' passes the case '{name}'{at}"
        outcomes = examine(question, mutant.function, expected, question.public, key)
        if score(question, outcomes) == question.points:
            yield f"mutant '{mutant.name}' loses no marks{at}"
        heard = [o.mutant.name for o in outcomes if o.mutant]
        if set(heard) != {mutant.name}:
            yield f"mutant '{mutant.name}' triggers the messages {heard or 'of none'}{at}"
    for case in question.cases:
        if not any(case.name in names for names in caught.values()):
            yield f"case '{case.name}' kills no mutant{at}"


def _arrays(question, reference, case, key):
    inputs = make_inputs(question, case, key)
    return finish(question, inputs, run(reference, inputs, question))
