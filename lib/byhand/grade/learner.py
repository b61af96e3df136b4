"""`check`, `hint`, `summary` and `example`: what a learner calls in a notebook.  Nothing leaves the machine."""

import difflib
import functools
import sys

from .examine import Report, examine
from .forbid import forbidden, names_of
from .model import make_inputs
from .run import blank, copied
from .sets import all_questions, expected_arrays

_points = {}  # id -> points of the best check, in this process
_hints = {}  # id -> hints shown so far, in this process


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
    report = _report(question, answer)
    _points[question.id] = max(report.points, _points.get(question.id, 0))
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
    return Report(question, examine(question, answer, expected))


def hint(key, level=None):
    """Print the next hint of an exercise, or the hint of the given level (1, 2, …)."""
    question = find(key)
    last = len(question.hints)
    if level is None:
        level = min(_hints.get(question.id, 0) + 1, last)
        _hints[question.id] = level
    if not 1 <= level <= last:
        raise ValueError(f"hint: level is {level}, expected 1 to {last}")
    print(f"{question.id}, hint {level} of {last}: {question.hints[level - 1]}")


def summary(set_id):
    """Print the best points of every exercise of a set ("04") that was checked since the kernel started."""
    questions = [q for q in all_questions() if q.id.split(".")[0] == set_id]
    if not questions:
        known = sorted({q.id.split(".")[0] for q in all_questions()})
        raise ValueError(f"no set is called {set_id!r}; the sets are {', '.join(known)}")
    for q in questions:
        got = _points.get(q.id, "–")
        print(f"{q.id}  {got:>2} / {q.points}  {q.title}")
    total = sum(_points.get(q.id, 0) for q in questions)
    print(f"total {total} / {sum(q.points for q in questions)}")


def example(key, case=None):
    """The inputs of a case as the check uses them, by argument name: of the first case if none is named."""
    question = find(key)
    for candidate in question.public:
        if case in (None, candidate.name):
            return {name: copied(value) for name, value in make_inputs(question, candidate).items()}
    raise ValueError(f"{question.id} has no case {case!r}; it has {', '.join(c.name for c in question.public)}")
