"""`check`, `hint`, `solution`, `summary` and `example`: what a learner calls in a notebook.

Nothing leaves the machine; `memory` keeps the best points on it.
"""

import difflib
import functools
import sys
from dataclasses import replace

from . import memory
from .examine import Report, examine
from .forbid import forbidden, names_of
from .mistakes import seen_of
from .model import make_inputs
from .run import blank, copied, tensor
from .sets import SETS, all_questions, expected_arrays, questions_of
from .solutions import Page, worked
from .stale import older


def find(key):
    """The question with this id, or with this function name."""
    questions = all_questions()
    for question in questions:
        if key in (question.id, question.name):
            return question
    known = "\n".join(f"  {q.id}  {q.name}" for q in questions)
    near = difflib.get_close_matches(str(key), [q.name for q in questions], n=1, cutoff=0.7)
    meant = f" (did you mean {near[0]}?)" if near else ""
    raise ValueError(f"no exercise is called {key!r}{meant}; the exercises are\n{known}")


def check(answer, obj=None):
    """Check an answer: `check(my_function)` finds the exercise by name, `check("04.1", anything)` by its id."""
    if isinstance(answer, str):
        question, answer = find(answer), obj
    elif isinstance(getattr(answer, "__name__", None), str):
        question = find(answer.__name__)
    else:
        raise ValueError('this answer has no name; give the id of the exercise as well: check("04.1", answer)')
    report = replace(_report(question, answer), older=older(answer))
    if report.attempted:
        memory.keep(question.id, points=report.points, tries=1)
    if _in_a_script(sys._getframe(1).f_globals):
        print(report)
    return report


def _in_a_script(scope):
    """A notebook and a prompt show what `check` returns; a file that is run does not."""
    return scope.get("__name__") == "__main__" and "__file__" in scope and not hasattr(sys, "ps1")


def _report(question, answer):
    if blank(answer):
        return Report(question, (), f'not attempted (pass your answer: check("{question.id}", {question.name}))')
    found = forbidden(names_of(answer), question)
    if found:
        return Report(question, (), f"not counted: uses {', '.join(found)}, which this exercise does not allow")
    expected = functools.partial(expected_arrays, question)
    return Report(question, examine(question, answer, expected, seen=seen_of(question)))


def hint(key, level=None):
    """Print the next hint of an exercise, or the hint of the given level (1, 2, …)."""
    question = find(key)
    last = len(question.hints)
    if level is None:
        level = min(memory.recall().get(question.id, memory.Record()).hints + 1, last)
    if not 1 <= level <= last:
        raise ValueError(f"hint: level is {level}, expected 1 to {last}")
    memory.keep(question.id, hints=level)
    print(f"{question.id}, hint {level} of {last}: {question.hints[level - 1]}")


def solution(key):
    """A worked answer with its derivation: after full marks, or after every hint and a try of your own."""
    question = find(key)
    record, last = memory.recall().get(question.id, memory.Record()), len(question.hints)
    full = (record.points or 0) >= question.points
    if not full and (record.hints < last or not record.tries):
        unread = last - record.hints
        left = [f"{unread} of {last} hints {'is' if unread == 1 else 'are'} not read yet"] if unread > 0 else []
        left += [] if record.tries else ["no answer of yours was checked yet"]
        return Page(f"{question.id}: the solution opens after full marks, or after all hints and a try of your own; "
                    f"{', and '.join(left)}.")
    return worked(question)


def summary(set_id=None):
    """Print the best points of every exercise of a set ("04"), or of every set; they are kept on this machine."""
    if set_id is not None and set_id not in SETS:
        raise ValueError(f"no set is called {set_id!r}; the sets are {', '.join(SETS)}")
    records = memory.recall()
    if set_id is None:
        return _summary_of_the_course(records)
    total, questions = 0, questions_of(set_id)
    for q in questions:
        record = records.get(q.id, memory.Record())
        got = "–" if record.points is None else min(record.points, q.points)
        print(f"{q.id:<5}  {got:>2} / {q.points:>2}  {record.day or ' ' * 10}  {q.title}".rstrip())
        total += got if record.points is not None else 0
    print(f"total {total} / {sum(q.points for q in questions)}")


def _summary_of_the_course(records):
    total, most = 0, 0
    for set_id, folder in SETS.items():
        questions = questions_of(set_id)
        mine = [(q, records[q.id]) for q in questions if q.id in records and records[q.id].points is not None]
        points = sum(min(record.points, q.points) for q, record in mine)
        full = sum(q.points for q in questions)
        day = max((record.day for _, record in mine), default="")
        print(f"{set_id}  {points:>3} / {full:>3}  {len(mine):>2} of {len(questions):>2} begun  {day or ' ' * 10}  "
              f"{folder[4:]}")
        total, most = total + points, most + full
    print(f"total {total} / {most}")


def example(key, case=None):
    """The inputs of a case as the check uses them, by argument name: of the first case if none is named."""
    question = find(key)
    for candidate in question.public:
        if case in (None, candidate.name):
            given = {name: copied(value) for name, value in make_inputs(question, candidate).items()}
            return {name: tensor(value) for name, value in given.items()} if question.torch else given
    raise ValueError(f"{question.id} has no case {case!r}; it has {', '.join(c.name for c in question.public)}")
