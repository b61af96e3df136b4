"""Answers that compute nothing of what is asked, and so may earn no point: a constant, an input that is handed back,
and what the right answer gave for the numbers that every reader sees, found by the case and the number of the call.
"""

import functools
import sys
from copy import deepcopy

import numpy as np

from .judge import finish, judge
from .model import DISPLAY, make_inputs
from .run import Result, copied, run

NUMBERS = (bool, int, float, complex, np.generic, np.ndarray)
TEXT = (str, type(None))


def idlers(question, reference, keys):
    """What is wrong with a question: which points such an answer earns, whatever the key. A question with a measure has
    many right answers, a constant may be one of them, and what its check shows is none. Where all inputs that there
    are stand in the open, a list of the right answers is one."""
    given = {key: Given(question, reference, key) for key in dict.fromkeys((DISPLAY, *keys))}
    if question.measure or given[DISPLAY].all_open:
        return
    for name, change in (given[DISPLAY].words or CONSTANTS).items():
        if cases := _always(given[key].earned(given[key], change) for key in keys):
            yield f"{name} earn the points of {', '.join(map(repr, cases))}"
    others = [key for key in keys if key != DISPLAY]
    if others:
        if cases := _always(given[key].earned(given[DISPLAY], by_heart) for key in others):
            yield f"the numbers of other inputs earn the points of {', '.join(map(repr, cases))}"


def _always(rows):
    """What is in every one of the rows; they are asked for while there is any."""
    left = None
    for row in rows:
        left = row if left is None else [name for name in left if name in row]
        if not left:
            break
    return left


class Given:
    """Inputs of a question under one key, what is right for them, and how the right answer was called."""

    def __init__(self, question, reference, key):
        self.question, self.reference, self.key = question, reference, key

    @functools.cached_property
    def drawn(self):
        return {case.name: make_inputs(self.question, case, self.key) for case in self.question.cases}

    @property
    def all_open(self):
        """Is each hidden case one that stands in the open? Then there are no other inputs than those."""
        seen = [repr(self.drawn[case.name]) for case in self.question.public]
        return all(repr(self.drawn[case.name]) in seen for case in self.question.cases if case.hidden)

    @property
    def words(self):
        """Where the right answer gives words, each of them as a constant."""
        values = {repr(x): x for case in self.question.public for _, x in self.right(case.name)[1] if _has_text(x)}
        return {f"always {said} would": lambda arguments, value, x=x: x for said, x in values.items()}

    def inputs(self, case):
        return copied(self.drawn[case.name], deepcopy)  # an answer may draw from a generator

    @functools.cache  # noqa: B019  a few questions at a time
    def right(self, name):
        """The result for a case, and arguments and value of each call; no calls where a value is no data."""
        case, calls = next(case for case in self.question.cases if case.name == name), []

        def listening(*arguments):
            value = self.reference(*arguments)
            calls.append((arguments, _mapped(value, _copy) if _is_data(value) else NoData))
            return value

        result = run(listening, self.inputs(case), self.question)
        return result, [] if any(value is NoData for _, value in calls) else calls

    def earned(self, source, change):
        """Cases whose points an answer gets that knows which it meets, and gives what `change` makes of the arguments
        and the value of the same call in `source`; in a hidden case, of the one that it guards if that is another."""
        def result(case):
            known = case.guards if case.hidden and source is not self else case.name
            right, calls = source.right(known)
            if calls:
                return run(replayed(calls, change), self.inputs(case), self.question)
            arguments = tuple(source.drawn[known].values())  # what came of a module, or of a class
            arrays = tuple(x if isinstance(x, str) else np.asarray(change(arguments, x)) for x in right.arrays)
            return None if change is by_heart else Result(right.kind, arrays)

        return earned(self.question, result, self.inputs, lambda case: self.right(case.name)[0])


def earned(question, result, inputs, expected):
    """Names of the cases whose points an answer gets: `result(case)` is what it gives there, None for nothing, and
    `expected(case)` what is right."""
    passed = set()
    for case in question.cases:
        before = {*case.needs, *([case.guards] if case.guards else [])}
        if not before <= passed or (given := result(case)) is None:
            continue
        mine, right = (finish(question, inputs(case), x) for x in (given, expected(case)))
        if judge(question, case, mine, right.arrays).ok:
            passed.add(case.name)
    lost = {case.guards for case in question.cases if case.name not in passed}
    return [case.name for case in question.public if case.points and case.name in passed and case.name not in lost]


def replayed(calls, change):
    """An answer that counts its calls, and gives what `change` makes of the arguments and the value of that call."""
    at = 0

    def answer(*_):
        nonlocal at
        at += 1
        return change(*calls[(at - 1) % len(calls)])

    return answer


def by_heart(arguments, value):
    return _mapped(value, _copy)


def zeros(arguments, value):
    return _mapped(value, _filled(0))


def ones(arguments, value):
    return _mapped(value, _filled(1))


def handed_back(arguments, value):
    """For each array the first argument of its shape, or zeros."""
    def given(x):
        shape = getattr(x, "shape", ())
        found = (a for a in arguments if shape and type(a) is type(x) and a.shape == shape)
        return next((_copy(a) for a in found), _filled(0)(x))

    return _mapped(value, given)


CONSTANTS = {"zeros": zeros, "ones": ones, "inputs handed back": handed_back}


class NoData:
    """In the place of a value that is a function, a module, a class."""


def _is_data(value):
    if type(value) in (tuple, list, dict):
        return all(map(_is_data, value.values() if type(value) is dict else value))
    return isinstance(value, (*NUMBERS, *TEXT)) or _tensor(value)


def _has_text(value):
    return isinstance(value, str) or type(value) in (tuple, list) and any(map(_has_text, value))


def _tensor(x):
    torch = sys.modules.get("torch")
    return torch is not None and type(x) in (torch.Tensor, torch.nn.Parameter)


def _mapped(value, change):
    """A value with `change` done to each number and array in it."""
    if type(value) in (tuple, list):
        return type(value)(_mapped(x, change) for x in value)
    if type(value) is dict:
        return {name: _mapped(x, change) for name, x in value.items()}
    return value if isinstance(value, TEXT) else change(value)


def _copy(x):
    return x.detach().clone() if _tensor(x) else copied(x)


def _filled(number):
    def fill(x):
        if _tensor(x):
            return x.detach().clone().fill_(number)
        return np.full_like(x, number) if type(x) is np.ndarray else type(x)(number)

    return fill
