"""Answers that compute nothing of what is asked, and so may earn no point: a constant, an input that is handed back, and
what the right answer gave for the numbers that every reader sees, found by the case and by the number of the call.
"""

import sys

import numpy as np

from .judge import finish, judge
from .model import WrongAnswer
from .run import copied, run

NUMBERS = (bool, int, float, complex, str, np.generic, np.ndarray)


def heard(question, answer, inputs):
    """Arguments and value of each call of an answer in a case; None where a value is no data, as a class or a module,
    or where the answer is called in another way."""
    calls = []

    def listening(*arguments):
        value = answer(*arguments)
        calls.append((arguments, _mapped(value, _copy)))
        return value

    try:
        run(listening, inputs, question)
    except _NoData:
        return None
    return calls or None


def replayed(calls, change):
    """An answer that counts how often it was called: what `change` makes of the arguments and the value of that call."""
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


CONSTANT = {"zeros": zeros, "ones": ones, "its input": handed_back}


def earned(question, answers, inputs, expected):
    """Points of an answer of which each case has its own: `answers(case)`, None where the case is not passed."""
    passed = set()
    for case in question.cases:
        before = {*case.needs, *([case.guards] if case.guards else [])}
        answer = answers(case) if before <= passed else None
        if answer is None:
            continue
        given = inputs(case)
        result = finish(question, given, run(answer, given, question))
        if judge(question, case, result, expected(case)).ok:
            passed.add(case.name)
    lost = {case.guards for case in question.cases if case.name not in passed}
    return [case.name for case in question.public if case.points and case.name in passed and case.name not in lost]


class _NoData(WrongAnswer):
    """A value that is no number, text, array, or list of them."""


def _tensor(x):
    torch = sys.modules.get("torch")
    return torch is not None and type(x) in (torch.Tensor, torch.nn.Parameter)


def _mapped(value, change):
    """A value with `change` done to each number and array in it."""
    if type(value) in (tuple, list):
        return type(value)(_mapped(x, change) for x in value)
    if type(value) is dict:
        return {name: _mapped(x, change) for name, x in value.items()}
    if value is not None and not isinstance(value, NUMBERS) and not _tensor(value):
        raise _NoData(type(value).__name__)
    return value if value is None else change(value)


def _copy(x):
    return x.detach().clone() if _tensor(x) else copied(x)


def _filled(number):
    def fill(x):
        if _tensor(x):
            return x.detach().clone().fill_(number)
        return np.full_like(x, number) if type(x) is np.ndarray else type(x)(number)

    return fill
