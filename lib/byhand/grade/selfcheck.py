"""Prove an exercise set: the right answer gets full marks, and every wrong one its own message."""

import re
from copy import deepcopy

import numpy as np

from .examine import Report, examine, score
from .idle import idlers
from .judge import Verdict, finish, judge
from .model import DISPLAY, FORBIDDEN, KINDS, NUMPY_ONLY, STORY, TORCH_ONLY, make_inputs
from .recognise import SEEN, nothing_but_nan, recognise
from .run import copied, run
from .sets import expected_arrays, questions_of, references_of

KEYS = (DISPLAY, b"one", b"two")  # the cases must tell right from wrong for any student's numbers


def selfcheck(set_id, keys=KEYS):
    """A list of what is wrong with a set; empty if all is well.  Needs the references."""
    references, questions = references_of(set_id), questions_of(set_id)
    return [
        *(f"set {set_id}: {text}" for text in balance(questions)),
        *(
            f"{question.id}: {text}"
            for question in questions
            for text in problems(question, references[question.name], expected_arrays, keys)
        ),
    ]


def balance(questions):
    """A set asks more than what its chapter prints, is done in sittings, and has PyTorch in it."""
    points = sum(q.points for q in questions)
    unprinted = sum(q.points for q in questions if not q.printed)
    if 2 * unprinted < points:
        yield f"{unprinted} of {points} points are on answers that the book does not print, expected at least half"
    if not any(q.torch for q in questions):
        yield "no question is in PyTorch"
    if sum(q.kind == "detect" for q in questions) > 1:
        yield "expected one question of kind 'detect' at most"
    if len({q.kind for q in questions}) < 4:
        yield "expected questions of at least four kinds"
    for part in sorted({q.part for q in questions}):
        minutes = sum(q.minutes for q in questions if q.part == part)
        if minutes > 60:
            yield f"part {part} takes {minutes} minutes, expected an hour at most"


def problems(question, reference, stored, keys=KEYS):
    yield from _form(question)
    yield from _task(question)
    yield from _promises(question)
    yield from _stub(question, stored)
    for key in keys:
        yield from _separation(question, reference, stored, key)
    yield from idlers(question, reference, keys)


def _form(question):
    names = [case.name for case in question.cases]
    if len(set(names)) < len(names):
        yield "two cases have one name"
    mistakes = [mutant.name for mutant in question.mutants]
    if len(set(mistakes)) < len(mistakes):
        yield "two mutants have one name"
    scored = {case.name for case in question.cases if not case.guards}
    for case in question.cases:
        if case.guards and (case.guards not in scored or case.points):
            yield f"case '{case.name}' must guard a case that has points, and carry none"
        if not case.guards and case.points < 1:
            yield f"case '{case.name}' has no points"
        if not set(case.needs) <= set(names[: names.index(case.name)]):
            yield f"case '{case.name}' needs a case that does not come before it"
    if len(question.mutants) < 3 or len(question.hints) != 3 or not any(case.hidden for case in question.cases):
        yield "expected at least three mutants, three hints and a hidden case"


CODE = re.compile(r"\bnp\.|\btorch\.|`|\w\(\w*=|\.mT\b|\[\.\.\.|\w @ \w")


def _task(question):
    """What is asked, what it is worth, and which case holds each promise."""
    if question.kind not in KINDS:
        yield f"kind is {question.kind!r}, expected one of {', '.join(KINDS)}"
    if question.points != max(1, int(question.minutes / 5 + 0.5)):
        yield f"{question.points} points for {question.minutes} minutes, expected a point for five"
    if not re.fullmatch(r"\d+\.\d+", question.section):
        yield f"section is {question.section!r}, expected one such as '4.2'"
    for hint in question.hints[:2]:
        if CODE.search(hint):
            yield f"only the last hint may have code, not {hint[:40]!r}"
    public = {case.name for case in question.public}
    if not question.clauses:
        yield "no clause of the statement is tied to a case"
    for words, where in question.clauses:
        if where == FORBIDDEN and not set(question.forbid) - {*NUMPY_ONLY, *TORCH_ONLY}:
            yield f"the clause '{words}' is held by a forbidden name, and there is none"
        if where not in public | {FORBIDDEN, STORY}:
            yield f"the clause '{words}' is tied to '{where}', which is no public case"
    for name in sorted(public - {where for _, where in question.clauses}):
        yield f"no clause is tied to the public case '{name}'"


def _promises(question):
    """What a statement promises is tried where the learner sees it, and not behind his back alone."""
    given = {case.name: make_inputs(question, case) for case in question.cases}
    public = [given[case.name] for case in question.public]
    names = {name: None for inputs in public for name in inputs}
    seen = {name: set().union(*(features(i[name]) for i in public if name in i)) for name in names}
    for case in question.cases:
        for name, value in given[case.name].items() if case.hidden else ():
            if new := features(value) - seen.get(name, set()):
                yield f"hidden case '{case.name}' is the first with {name} {', '.join(sorted(new))}"
        if case.hidden and _options(given[case.name]) not in [_options(i) for i in public]:
            yield f"hidden case '{case.name}' is the first with its options"
    ranks = [{np.ndim(i[name]) for i in public if isinstance(i.get(name), np.ndarray)} for name in names]
    if "*B" in (question.stub.__doc__ or "") and not any(found and max(found) - min(found) > 1 for found in ranks):
        yield "the statement has leading axes *B: expected a public case with none or one and another with two more"
    if public and not any(_all_different(question.stub.__doc__ or "", inputs) for inputs in public):
        yield "the letters of the statement's shapes are never all different in a public case"
    for name in names:
        for value in {i[name] for i in public if isinstance(i.get(name), str | bool)}:
            under = [i for i in public if i.get(name) == value]
            for other in names:
                numbers = {i[other] for i in under if type(i.get(other)) is float}
                if numbers and numbers <= {0.0, 1.0}:
                    yield f"{other} is never other than 0 or 1 where {name} is {value!r}"


def _all_different(statement, inputs):
    """Do the letters of shapes such as X (*B, n, d) stand for different numbers?"""
    sizes = {}
    for words, shape in re.findall(r"((?:\w+(?:, | and ))*\w+) \(([^()]*)\)", " ".join(statement.split())):
        letters = [letter.strip() for letter in shape.split(",") if letter.strip() not in ("", "*B")]
        if not all(re.fullmatch(r"[A-Za-z]\w*", letter) for letter in letters):
            continue  # words in brackets, products and numbers
        for name in re.split(r", | and ", words):
            if isinstance(inputs.get(name), np.ndarray) and inputs[name].ndim >= len(letters):
                lead = inputs[name].shape[: inputs[name].ndim - len(letters)]
                sizes |= dict(zip(letters, inputs[name].shape[len(lead) :], strict=True))
                sizes |= {f"*B {k}": n for k, n in enumerate(lead) if "*B" in shape}
    return len(set(sizes.values())) == len(sizes)


def features(value):
    """What is new about an input, if no case before had it: its rank, an empty row, inf, large or tiny numbers, …"""
    if isinstance(value, np.ndarray):
        numbers = value[np.isfinite(value)] if value.dtype.kind == "f" else value
        largest = float(np.abs(numbers).max(initial=0)) if value.dtype.kind == "f" else 1.0
        found = {
            f"of dtype {value.dtype}": True,
            "with an axis of length one": 1 in value.shape,
            "with inf": value.dtype.kind == "f" and numbers.size < value.size,
            "in the hundreds": largest > 200,
            "tiny": 0 < largest < 1e-2,
            "with an empty row": value.ndim > 0 and value.dtype.kind in "bf" and not value.any(axis=-1).all(),
            "with negative whole numbers": value.dtype.kind == "i" and bool((value < 0).any()),
        }
        return {f"of rank {value.ndim}", *(name for name, true in found.items() if true)}
    if isinstance(value, bool | str):
        return {repr(value)}
    if isinstance(value, int | float):
        size = "negative" if value < 0 else {0: "zero", 1: "one"}.get(value, "other than 0 and 1")
        return {size, *(["not whole"] if value != int(value) else [])}
    return {type(value).__name__}


def _options(inputs):
    """Words and flags, and whether the numbers beside them are ones that change nothing."""
    words = {name: value for name, value in inputs.items() if isinstance(value, bool | str)}
    return words | {name: value in (0, 1) for name, value in inputs.items() if words and type(value) is float}


def _stub(question, stored):
    report = Report(question, examine(question, question.stub, lambda case: stored(question, case)))
    if report.points or "not attempted" not in repr(report):
        yield "the stub must get no point and 'not attempted'"


def _separation(question, reference, stored, key):
    """Right answer, mutants and cases, under the numbers of one key.  Inputs are drawn once: some take long to find.
    Each answer runs once on each of them: `examine` is given what came of it."""
    at = "" if key == DISPLAY else f" (key {key!r})"
    drawn = {case.name: make_inputs(question, case, key) for case in question.cases}

    def inputs(case):
        return copied(drawn[case.name], deepcopy)  # an answer may draw from a generator

    def ran(answer):
        return {case.name: run(answer, inputs(case), question) for case in question.cases}

    def finished(row):
        return {case.name: finish(question, inputs(case), row[case.name]) for case in question.cases}

    own = ran(reference)
    right = finished(own)

    def expected(case):
        return stored(question, case) if key == DISPLAY and not case.hidden else right[case.name].arrays

    outcomes = examine(question, reference, expected, question.cases, key, inputs=inputs, runner=lambda c: own[c.name])
    if score(question, outcomes) != question.points or not all(o.verdict.ok for o in outcomes):
        yield f"the reference does not get full marks{at}"
    rows = {mutant.name: ran(mutant.function) for mutant in question.mutants}
    theirs = {name: finished(row) for name, row in rows.items()}
    seen = {(name, case): result for name, row in theirs.items() for case, result in row.items()}
    caught = {  # every case judges by itself
        name: {case.name for case in question.cases if not judge(question, case, row[case.name], expected(case)).ok}
        for name, row in theirs.items()
    }
    for mutant in question.mutants:
        for name in set(mutant.caught_by) - caught[mutant.name]:
            yield f"mutant '{mutant.name}' passes the case '{name}'{at}"
        outcomes = examine(question, mutant.function, expected, question.public, key, seen=seen, inputs=inputs,
                           runner=lambda case, row=rows[mutant.name]: row[case.name])
        if score(question, outcomes) == question.points:
            yield f"mutant '{mutant.name}' loses no marks{at}"
        heard = [o.mutant.name for o in outcomes if o.mutant]
        if set(heard) != {mutant.name}:
            yield f"mutant '{mutant.name}' triggers the messages {heard or 'of none'}{at}"
    yield from _alone(question, theirs, caught, expected) if key == DISPLAY else ()
    for case in question.cases:
        if not any(case.name in names for names in caught.values()):
            yield f"case '{case.name}' kills no mutant{at}"


def _alone(question, theirs, caught, expected):
    """Whoever makes a mistake is called by its name, or it is among those named, where one wrong case is all that
    speaks: the first that fails, if all others that would fail wait for it.  Of the others, and of nothing but nan,
    nothing may be said, but no other name."""
    said = [(mutant.message, mutant.section) for mutant in question.mutants]
    for m, mutant in enumerate(question.mutants):
        failed = [case for case in question.public if case.name in caught[mutant.name]]
        stopped = {case.name for case in failed[:1]}
        for case in question.public:
            stopped |= {case.name} if stopped & {*case.needs, case.guards} else set()
        for case in failed if all(theirs[mutant.name][case.name].kind in SEEN for case in failed) else ():
            cases = [case, *(c for c in question.public if c not in failed)]
            rows = [[theirs[other.name][c.name] for c in cases] for other in question.mutants]
            verdicts = [Verdict("wrong"), *[Verdict("ok")] * (len(cases) - 1)]
            known = recognise(question, cases, rows[m], rows, verdicts, list(map(expected, cases)))[0]
            named = known.mutants if known else ()
            must = case is failed[0] and stopped >= {c.name for c in failed}
            must = must and not nothing_but_nan(question, case, rows[m][0])
            if said[m] not in [said[k] for k in named] and (named or must):
                names = ", ".join(f"'{question.mutants[k].name}'" for k in named) or "nothing"
                yield f"mutant '{mutant.name}' is called {names} where the case '{case.name}' speaks alone"
