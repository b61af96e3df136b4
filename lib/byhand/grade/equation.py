"""Which equation did a change break?  Run a chapter's function beside the library's, and compare line by line.

A variable of the code is a symbol of the book, and a comment `# (4.27)` the tag of its equation. So the first value
that differs from the library's names the equation. Only lines that were executed are compared.
"""

import difflib
import inspect
from collections.abc import Callable
from typing import Any

from byhand.grade.broken import Equations, Row
from byhand.grade.comparison import Comparison
from byhand.grade.trace import Call, Recorder, library, statements
from byhand.grade.values import error_of, frozen

__all__ = ["Comparison", "Equations", "Row", "tagged_lines", "which_equation"]


def which_equation(function: Callable, *arguments: Any, of: str | None = None, **options: Any) -> Equations:
    """Run `function` and the library's function of that name on the same arguments; compare every tagged line.

    `of` names the library's function where yours has another name: `which_equation(mine, dY, cache,
    of="stack_backward")`. Raises ValueError if the NumPy half has no such function, or none of its lines has a tag.
    """
    own = inspect.unwrap(getattr(function, "func", function))
    name = of or getattr(own, "__name__", type(function).__name__)
    model = _library(name, given=of is not None)
    if not tagged_lines(model):
        raise ValueError(f"which_equation: no line of {name} has the tag of an equation, expected at least one")
    codes = {id(f.__code__) for f in library().values()}

    code = getattr(own, "__code__", None)
    mine = Recorder(code, lambda c: c.co_name in library() and id(c) not in codes)
    given = _copies((arguments, options), getattr(own, "__globals__", {}))
    result, error = None, None
    try:
        result = mine.run(function, *given)
    except Exception as e:
        error = e
    theirs = Recorder(model.__code__, lambda c: id(c) in codes and c.co_name not in mine.used)
    args, named = _copies((arguments, options), model.__globals__)
    theirs.run(model, args, named)

    top = mine.top or Call(model.__code__, [])  # nothing was traced: compare what is returned
    top.result, top.finished = result, error is None
    rows, remarks = Comparison(name, theirs.top, top, error).report()
    if error is None:  # some are there to write into their arguments: adamw_step_, or what fills a cache
        meant = _written((arguments, options), (args, named), model)
        remarks += [f"It writes into its argument {path}." for path in _written((arguments, options), given, own)
                    if path not in meant]
    return Equations(name, rows, remarks)


def tagged_lines(function: Callable) -> list[tuple[str, str]]:
    """(tag, symbol) of each line that has a tag, in order; the symbol of a return is "result"."""
    found = dict.fromkeys(statements(inspect.unwrap(function).__code__).values())
    return [(tag, symbol) for s in found for tag in s.tags for symbol in s.names or ("result",)]


def _library(name: str, given: bool) -> Callable:
    names = library()
    if name in names:
        return names[name]
    near = difflib.get_close_matches(name, [n for n in names if not n.startswith("_")], 1)
    hint = f"; is {near[0]} meant?" if near else "" if given else '; say which is meant, such as of="linear_backward"'
    raise ValueError(f"which_equation: function is {name}, expected the name of a function of byhand.np{hint}")


def _copies(x: Any, space: dict) -> Any:
    """Copies, each array once; a cache as the class of that name that the function knows, for it may ask for it."""
    done: dict[int, Any] = {}

    def walk(x):
        if id(x) in done:
            return done[id(x)]
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            kind = space.get(type(x).__name__)
            kind = kind if getattr(kind, "_fields", None) == x._fields else type(x)
            new = kind(*map(walk, x))
        elif isinstance(x, tuple | list):
            new = type(x)(map(walk, x))
        elif isinstance(x, dict):
            new = {key: walk(value) for key, value in x.items()}
        else:
            new = frozen(x)
        done[id(x)] = new
        return new

    return walk(x)


def _written(before: tuple, after: tuple, function: Callable) -> list[str]:
    """The arguments that a call has changed."""
    try:
        old, new = (inspect.signature(function).bind(*a, **o).arguments for a, o in (before, after))
    except (TypeError, ValueError):
        return []
    return [name for name, x in old.items() if error_of(new[name], x) != 0]
