"""Which equation did a change break?  Run a chapter's function beside the library's, and compare line by line.

A variable of the code is a symbol of the book, and a comment `# (4.27)` the tag of its equation. So the first
variable that differs from the library's names the equation.
"""

import ast
import importlib
import inspect
import pkgutil
import re
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

import byhand.np

TAG = re.compile(r"#.*?\((\d+\.\d+)\)")


class Equations:
    """What `which_equation` found: a row a tagged line, (tag, symbol, largest relative error)."""

    def __init__(self, name: str, rows: list[tuple[str, str, float]]):
        self.name, self.rows = name, rows

    @property
    def first(self) -> str | None:
        """The tag of the first equation that is broken, None if all hold."""
        return next((tag for tag, _, error in self.rows if not error < 1e-9), None)

    def __repr__(self) -> str:
        lines = [self.name]
        for tag, symbol, error in self.rows:
            lines.append(f"  ({tag})  {symbol:8}" + ("holds" if error < 1e-9 else f"off by {error:.2g}"))
        lines.append(f"The first that does not hold is ({self.first})." if self.first else "Every equation holds.")
        return "\n".join(lines)


def which_equation(function: Callable, *arguments: Any, **options: Any) -> Equations:
    """Run `function` and the library's function of that name on the same arguments; compare every tagged line.

    Raises ValueError if the NumPy half has no such function, or none of its lines has a tag.
    """
    name = getattr(function, "__name__", type(function).__name__)
    library = _library(name)
    tagged = tagged_lines(library)
    if not tagged:
        raise ValueError(f"which_equation: no line of {name} has the tag of an equation, expected at least one")
    mine, theirs = (_run(f, arguments, options) for f in (function, library))
    rows = [(tag, symbol, _error(mine.get(symbol), theirs[symbol])) for tag, symbol in tagged if symbol in theirs]
    return Equations(name, rows)


def tagged_lines(function: Callable) -> list[tuple[str, str]]:
    """(tag, symbol) of each line that has a tag, in order; the symbol of a return is "result"."""
    source = textwrap.dedent(inspect.getsource(function))
    tags = {i: m[1] for i, line in enumerate(source.splitlines(), 1) if (m := TAG.search(line))}
    found = []
    for node in ast.walk(ast.parse(source)):
        tag = tags.get(getattr(node, "end_lineno", 0) or 0)
        if tag and isinstance(node, ast.Return):
            found.append((node.lineno, tag, "result"))
        elif tag and isinstance(node, ast.Assign):
            names = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else node.targets
            found += [(node.lineno, tag, n.id) for n in names if isinstance(n, ast.Name) and n.id != "_"]
    return [(tag, symbol) for _, tag, symbol in sorted(found, key=lambda row: row[0])]


def _library(name: str) -> Callable:
    for module in pkgutil.iter_modules(byhand.np.__path__):
        function = getattr(importlib.import_module(f"byhand.np.{module.name}"), name, None)
        if inspect.isfunction(function):
            return inspect.unwrap(function)
    raise ValueError(f"which_equation: function is {name}, expected the name of a function of byhand.np")


def _run(function: Callable, arguments: tuple, options: dict) -> dict[str, Any]:
    """The local variables of one call, and its result under "result"."""
    code, seen = inspect.unwrap(function).__code__, {}

    def watch(frame, event, _):
        if frame.f_code is code and not seen:
            return leave
        return None

    def leave(frame, event, value):
        if event == "return":
            seen.update(frame.f_locals)
        return leave

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        with np.errstate(all="ignore"):  # a broken function may well overflow
            result = function(*arguments, **options)
    finally:
        sys.settrace(before)
    return {**seen, "result": result}


def _error(mine: Any, theirs: Any) -> float:
    """Largest relative difference of two arrays, tuples or dicts of arrays; ∞ where they cannot be compared."""
    if isinstance(theirs, dict):
        same = isinstance(mine, dict) and mine.keys() == theirs.keys()
        return max((_error(mine[k], theirs[k]) for k in theirs), default=0.0) if same else np.inf
    if isinstance(theirs, tuple | list):
        same = isinstance(mine, tuple | list) and len(mine) == len(theirs)
        return max((_error(a, b) for a, b in zip(mine, theirs, strict=True)), default=0.0) if same else np.inf
    if theirs is None or isinstance(theirs, (bool, str)):
        return 0.0 if mine is theirs or mine == theirs else np.inf
    a, b = np.asarray(mine), np.asarray(theirs)
    if a.shape != b.shape or a.dtype.kind not in "biuf" or b.dtype.kind not in "biuf":
        return np.inf
    some = np.isfinite(a)  # a masked score is −∞ on both sides
    if not np.array_equal(some, np.isfinite(b)):
        return np.inf
    a, b = a[some] * 1.0, b[some] * 1.0
    gap, size = np.abs(a - b).max(initial=0.0), np.abs(b).max(initial=0.0)
    return float(gap / max(size, 1e-3))  # a gradient that is zero but for rounding is not off by 100 %
