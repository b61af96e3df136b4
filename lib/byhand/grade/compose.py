"""Two known mistakes in one answer: wrong versions that one function makes, put together by themselves.

Most wrong versions of a question are closures of one function, `_attend(scale=…)` and `_attend(mask=…)`: their code is
the same, and each has another value in some of its cells. Where two differ from the right version in different cells,
the version with both changes is the answer of somebody who makes both mistakes.
"""

import inspect
from types import CellType, FunctionType

UNKNOWN = object()
TEXT = ("co_code", "co_consts", "co_names", "co_varnames", "co_freevars")  # what a function does, wherever it stands


class Family:
    """Functions with the same code, and what their cells hold in the right version."""

    def __init__(self, functions):
        self.names = functions[0].__code__.co_freevars
        rows = [_cells(f) for f in functions]
        columns = list(zip(*rows, strict=True))
        defaults = _defaults(functions[0])
        self.right = [_usual(column, defaults.get(name, UNKNOWN))
                      for name, column in zip(self.names, columns, strict=True)]
        self.inner = [families(column) for column in columns]

    def original(self, a):
        """The right version, where all its cells are known."""
        return None if any(value is UNKNOWN for value in self.right) else _with_cells(a, self.right)

    def both(self, a, b):
        """The function with the changes of both; None where they meet in one cell, or one of them changes nothing."""
        cells = []
        for mine, other, right, inner in zip(_cells(a), _cells(b), self.right, self.inner, strict=True):
            found = _both(mine, other, right, inner)
            if found is UNKNOWN:
                return None
            cells.append(found)
        if all(map(_same, cells, _cells(a))) or all(map(_same, cells, _cells(b))):
            return None
        return _with_cells(a, cells)


def _with_cells(function, cells):
    closure = tuple(map(CellType, cells))
    made = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def families(functions):
    """By code, the family of the closures among these."""
    by_code = {}
    for f in functions:
        if type(f) is FunctionType and f.__closure__:
            by_code.setdefault(f.__code__, []).append(f)
    return {code: Family(members) for code, members in by_code.items() if len(members) > 1}


def _both(a, b, right, inner):
    if _same(a, b) or _same(b, right):
        return a
    if _same(a, right):
        return b
    if type(a) is type(b) is dict:
        right = right if type(right) is dict else {}
        merged = {key: _both(*(d.get(key, _GONE) for d in (a, b, right)), {}) for key in a | b}
        if UNKNOWN not in merged.values():
            return {key: value for key, value in merged.items() if value is not _GONE}
    if type(a) is type(b) is FunctionType and a.__code__ is b.__code__ and a.__closure__:
        made = (inner.get(a.__code__) or Family([a, b])).both(a, b)
        return UNKNOWN if made is None else made
    return UNKNOWN


_GONE = object()


def _cells(function):
    return [cell.cell_contents for cell in function.__closure__ or ()]


def _same(a, b):
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    match a:
        case FunctionType():
            alike = a.__code__ is b.__code__ or all(getattr(a.__code__, n) == getattr(b.__code__, n) for n in TEXT)
            return alike and _same((a.__defaults__, _cells(a)), (b.__defaults__, _cells(b)))
        case dict():
            return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
        case list() | tuple():
            return len(a) == len(b) and all(map(_same, a, b))
        case bool() | int() | float() | str():
            return a == b
    return False


def _usual(values, default):
    """What the right version has in this cell: what the function that makes them has as its default, or else what most
    of them have."""
    if any(_same(value, default) for value in values):
        return default
    times = [sum(_same(value, other) for other in values) for value in values]
    most = max(times)
    return values[times.index(most)] if most > 1 and times.count(most) == most else UNKNOWN


def _defaults(function):
    """The default values of the function of the same module that makes closures of this code."""
    for maker in function.__globals__.values():
        if type(maker) is FunctionType and function.__code__ in maker.__code__.co_consts:
            parameters = inspect.signature(maker).parameters.values()
            found = {p.name: p.default for p in parameters if p.default is not p.empty}
            return found | {p.name: {} for p in parameters if p.kind is p.VAR_KEYWORD}
    return {}


def pairs(functions, right=lambda function: True):
    """(i, j, function) for each two of these functions that can be put together; `right(function)` says whether the
    version that their family is made from is right."""
    found = {}
    for code, family in families(functions).items():
        original = family.original(next(f for f in functions if getattr(f, "__code__", None) is code))
        if original is None or right(original):
            found[code] = family
    for j, b in enumerate(functions):
        family = found.get(getattr(b, "__code__", None))
        for i, a in enumerate(functions[:j]) if family else ():
            if getattr(a, "__code__", None) is b.__code__ and (both := family.both(a, b)):
                yield i, j, both
