"""Which equation did a change break?  Run a chapter's function beside the library's, and compare line by line.

A variable of the code is a symbol of the book, and a comment `# (4.27)` the tag of its equation. So the first value
that differs from the library's names the equation. Only lines that were executed are compared.
"""

import difflib
import functools
import inspect
import linecache
import textwrap
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from byhand.grade.trace import Call, Recorder, Step, frozen, is_number, library, statements

HOLDS = 1e-9  # a relative error below it is rounding
UNNAMED = "no variable of that name"


class Row(NamedTuple):
    """One value of the library beside the learner's."""

    tag: str
    symbol: str
    error: float | None  # relative; None where there is nothing to compare
    note: str = ""
    function: str = ""
    line: int = 0
    tags: tuple[str, ...] = ()

    @property
    def broken(self) -> bool:
        return self.error is not None and not self.error < HOLDS


class Equations:
    """What `which_equation` found: a row for each executed line that has a tag, and remarks in sentences."""

    def __init__(self, name: str, rows: list[Row], remarks: list[str]):
        self.name, self.rows, self.remarks = name, rows, remarks

    @property
    def broken(self) -> Row | None:
        """The first row that does not hold, None if all do."""
        return next((row for row in self.rows if row.broken), None)

    @property
    def first(self) -> str | None:
        """The tag of the first equation that does not hold, None if all do."""
        return self.broken.tag if self.broken else None

    @property
    def symbol(self) -> str | None:
        """What that equation gives: dX, dW or db, where three have one tag."""
        return self.broken.symbol if self.broken else None

    def __repr__(self) -> str:
        groups: dict[tuple, list[Row]] = {}
        for row in self.rows:  # the entries of a tree are one line
            name = row.symbol if row.symbol.startswith("result") else row.symbol.partition("[")[0]
            groups.setdefault((row.function, row.line, name, row.tags), []).append(row)
        failing = {row.function for row in self.rows if row.broken} | {self.name}
        shown = [(_name(key[2], rows), rows) for key, rows in groups.items() if key[0] in failing]
        wide = max((len(_tags(rows[0])) for _, rows in shown), default=0)
        long = max((len(name) for name, _ in shown), default=0)
        lines, where = [self.name], self.name
        for name, rows in shown:
            if rows[0].function != where:
                where = rows[0].function
                lines.append(f"  in {where}:")
            lines.append(f"  {_tags(rows[0]):{wide}}  {name:{max(long, 7)}} {_verdict(rows)}")
        if self.broken:
            lines.append(f"The first that does not hold is ({self.first}), {self.symbol}.")
        else:
            lines.append("Every equation holds.")
        return "\n".join(lines + [line for remark in self.remarks for line in textwrap.wrap(remark, 79)])


def _tags(row: Row) -> str:
    return ", ".join(f"({tag})" for tag in row.tags)


def _name(name: str, rows: list[Row]) -> str:
    """What stands in the report for the rows of one statement: the entry that is off, or all of them."""
    one = next((row.symbol for row in rows if row.broken), rows[0].symbol)
    return one if any(row.broken for row in rows) or {row.symbol for row in rows} == {one} else name


def _verdict(rows: list[Row]) -> str:
    """What a line of the report says of one statement, executed once or several times."""
    row = next((row for row in rows if row.broken), None)
    if row is None:
        return next((row.note for row in rows if row.note), "holds")
    before = sum(r.symbol == row.symbol for r in rows[:next(i for i, r in enumerate(rows) if r is row)])
    again = f", the {_ordinal(before)} time" if before else ""
    return (row.note or ("another shape" if row.error == np.inf else f"off by {row.error:.2g}")) + again


def _ordinal(i: int) -> str:
    return ("first", "second", "third")[i] if i < 3 else f"{i + 1}th"


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
    return [name for name, x in old.items() if not _same(new[name], x)]


class Comparison:
    """The calls of one run beside those of the other."""

    def __init__(self, name: str, theirs: Call, mine: Call, error: Exception | None):
        self.name, self.theirs, self.mine, self.error = name, theirs, mine, error
        self.remarks: list[str] = []
        self.calls = {id(c.code): c for c in _calls(mine)}
        self.raised, self.at = None, 0  # the call that raised, and its line
        for frame, line in traceback.walk_tb(error.__traceback__) if error else ():
            call = self.calls.get(id(frame.f_code))
            if call and not call.finished:
                self.raised, self.at = call, line
        if error and self.raised is None:
            self.raised, self.at = mine, mine.line

    def report(self) -> tuple[list[Row], list[str]]:
        rows = self.rows(self.theirs, self.mine)
        if self.error:
            self.remarks.insert(0, self.exception())
        elif self.mine.result is None and self.theirs.result is not None:
            self.remarks.insert(0, f"{self.mine.name} returns None: is its return missing?")
        return rows, self.remarks

    def exception(self) -> str:
        text = linecache.getline(self.raised.code.co_filename, self.at).strip()
        line = self.at - self.raised.code.co_firstlineno + 1
        said = f"{type(self.error).__name__}: {' '.join(str(self.error).split())}"
        quoted = f", `{text}`," if text else ""
        return f"Line {line} of {self.raised.name}{quoted} raised {said}. What comes after it could not be compared."

    def rows(self, theirs: Call, mine: Call) -> list[Row]:
        """A row for each tagged value of one call, and of the calls in it that both made with the same arguments."""
        function = self.name if theirs is self.theirs else theirs.name
        entries = list(self.entries(theirs, mine))
        steps = [e for e in entries if isinstance(e, Step)]
        partner = self.align(steps, mine.steps)
        named = {s.symbol for s in mine.steps}
        found: list[tuple[Step | None, Row]] = []
        reached = max((i for i, e in enumerate(entries) if isinstance(e, Step) and partner.get(id(e))), default=-1)
        stopped = self.raised is mine and self.raised is not None
        symbols = self.raising() if stopped else ()
        blamed = False
        for i, e in enumerate(entries):
            if isinstance(e, tuple) and not isinstance(e, Step):
                found += [(None, row) for row in self.rows(*e)]
            elif e.tags:
                other = partner.get(id(e))
                if other:
                    error, note = _error(other.value, e.value), ""
                elif e.symbol in named and not stopped and self._held(e, steps, partner):
                    error, note = 0.0, ""  # assigned again without a change
                elif stopped and i > reached:
                    here = not blamed and (e.symbol in symbols or not symbols)
                    error, note = (np.inf, "raised") if here else (None, "not reached")
                    blamed = blamed or here
                elif not mine.finished and self.error:
                    error, note = None, "not reached"
                else:
                    error, note = None, UNNAMED
                found.append((e, Row(e.tags[0], e.symbol, error, note, function, e.line, e.tags)))
        if mine.finished:
            found = self.returned(theirs, mine, steps, found, function)
        elif stopped and not blamed and not any(row.broken for _, row in found):
            last = [s for s in steps if s.tags]
            tags = theirs.tags or (last[-1].tags if last else ())
            if tags:
                found.append((None, Row(tags[0], "result", np.inf, "raised", function, 0, tags)))
        return [row for _, row in found]

    def entries(self, theirs: Call, mine: Call) -> Iterator[Step | tuple[Call, Call]]:
        """The steps of the library's call; a call that both made as a pair; for `return f(…)` the lines of f."""
        free = [c for c in mine.items if isinstance(c, Call)]
        own = {s.symbol for s in theirs.steps}
        for item in theirs.items:
            if isinstance(item, Step):
                yield item
                continue
            same = [c for c in free if c.name == item.name]
            pair = next((c for c in same if _error(c.arguments, item.arguments) < HOLDS), None)
            if pair:
                free.remove(pair)
                yield item, pair
            elif item.hop and not same:
                named = {s.symbol for s in mine.steps}
                for e in self.entries(item, mine):
                    if not isinstance(e, Step) or (e.symbol not in own and e.symbol in named):
                        yield e

    def align(self, theirs: list[Step], mine: list[Step]) -> dict[int, Step]:
        """For each step the learner's of the same symbol: one by one if they are as many, else so that most agree."""
        partner: dict[int, Step] = {}
        for symbol in dict.fromkeys(s.symbol for s in theirs):
            a, b = ([s for s in steps if s.symbol == symbol] for steps in (theirs, mine))
            for i, j in zip(range(len(a)), range(len(b)), strict=False) if len(a) == len(b) else _match(a, b):
                partner[id(a[i])] = b[j]
        return partner

    @staticmethod
    def _held(step: Step, steps: list[Step], partner: dict[int, Step]) -> bool:
        """Whether the symbol had this value already, so that there was nothing to do."""
        before = [s for s in steps[:next(i for i, s in enumerate(steps) if s is step)] if s.symbol == step.symbol]
        return bool(before) and id(before[-1]) in partner and _error(partner[id(before[-1])].value, step.value) < HOLDS

    def raising(self) -> tuple[str, ...]:
        """The names that the line which raised would have assigned."""
        statement = statements(self.raised.code).get(self.at)
        return statement.names if statement else ()

    def returned(self, theirs: Call, mine: Call, steps: list[Step], found: list, function: str) -> list:
        """Add what is returned: where it was never named, and where it differs although what was named holds."""
        if isinstance(theirs.result, tuple) and not _is_cache(theirs.result):
            n, m = len(theirs.result), len(mine.result) if isinstance(mine.result, tuple | list) else 1
            if mine.result is not None and n != m and mine is self.mine:
                self.remarks.append(f"{mine.name} returns {m} value{'s' * (m != 1)}, the library's {n}.")
        if mine.result is None and theirs.result is not None:
            tags = theirs.tags or next((s.tags for s in reversed(steps) if s.tags), ())
            row = Row("".join(tags[:1]), "result", np.inf, "nothing returned", function, 0, tags)
            return [*found, (None, row)]
        pairs = list(_pairs(theirs.result, mine.result, ""))
        agree = all(error < HOLDS for _, _, error in pairs if error is not None)
        if any(error is None for _, _, error in pairs) and mine is self.mine:
            self.remarks.append("Its cache is built in another way than the library's, and was not compared.")
        if agree:  # a name may stand for another quantity
            other = [row.symbol for _, row in found if row.broken and row.function == function]
            if other and mine is self.mine:
                names = ", ".join(dict.fromkeys(other))
                self.remarks.append(f"What it returns agrees; but {names} is not what the library calls {names}.")
            found = [(s, row._replace(error=None, note="another quantity, but what is returned agrees"))
                     if row.broken and row.function == function else (s, row) for s, row in found]
        last = [s for s in steps if s.tags]
        for path, x, error in pairs:
            if error is None:
                continue
            same = [s for s in reversed(steps) if s.object is x]
            step = next((s for s in same if s.tags), same[0] if same else None)
            if step is None and is_number(x) and np.ndim(x) == 0:  # a number may have been put into an array of its own
                step = next((s for s in reversed(last) if _same(s.value, x)), None)
            tags = (step.tags if step else ()) or theirs.tags or (last[-1].tags if last else ())
            symbol = step.symbol if step else f"result{path}"
            at = next((i for i, (s, _) in enumerate(found) if s is step and s is not None), None)
            if not tags or (error < HOLDS and at is None and (step or "." in path or not theirs.tags)):
                continue
            row = Row(tags[0], symbol, error, "", function, step.line if step else 0, tags)
            if at is None:
                found.append((None, row))
            elif found[at][1].note == UNNAMED:
                found[at] = step, row
            elif not error < HOLDS and not found[at][1].broken:
                found.append((None, row._replace(symbol=f"{symbol}, as returned")))
        return found


def _pairs(theirs: Any, mine: Any, path: str) -> Iterator[tuple[str, Any, float | None]]:
    """(place, the library's value, error) of each entry of a result; error None for a cache of another build."""
    if isinstance(theirs, dict):
        for key, x in theirs.items():
            yield from _pairs(x, mine.get(key) if isinstance(mine, dict) else None, f'{path}["{key}"]')
        for key in mine.keys() - theirs.keys() if isinstance(mine, dict) else ():
            yield f'{path}["{key}"]', None, np.inf
    elif _is_cache(theirs):
        if mine is None or not isinstance(mine, tuple | list) or len(mine) != len(theirs):
            yield path, theirs, None
            return
        for name, x, y in zip(theirs._fields, theirs, mine, strict=True):
            yield from _pairs(x, y, f"{path}.{name}")
    elif isinstance(theirs, tuple | list):
        for i, x in enumerate(theirs):
            there = isinstance(mine, tuple | list) and i < len(mine)
            alone = i == 0 and isinstance(mine, np.ndarray)
            yield from _pairs(x, mine[i] if there else mine if alone else None, f"{path}[{i}]")
    else:
        yield path, theirs, _error(mine, theirs)


def _is_cache(x: Any) -> bool:
    return isinstance(x, tuple) and hasattr(x, "_fields")


def _calls(call: Call) -> Iterator[Call]:
    yield call
    for item in call.items:
        if isinstance(item, Call):
            yield from _calls(item)


def _match(a: list[Step], b: list[Step]) -> list[tuple[int, int]]:
    """Pairs of two lists in order: as many equal ones as can be, and unequal ones between them."""
    @functools.cache
    def cost(i: int, j: int) -> tuple[float, tuple]:
        if i == len(a) or j == len(b):
            return 0.6 * (len(a) - i + len(b) - j), ()
        unlike = 0.0 if _error(b[j].value, a[i].value) < HOLDS else 1.0
        both, skip, more = cost(i + 1, j + 1), cost(i + 1, j), cost(i, j + 1)
        ways = [(both[0] + unlike, ((i, j), *both[1])), (skip[0] + 0.6, skip[1]), (more[0] + 0.6, more[1])]
        return min(ways, key=lambda way: way[0])

    if len(a) * len(b) > 10_000:
        return list(zip(range(len(a)), range(len(b)), strict=False))
    return list(cost(0, 0)[1])


def _same(a: Any, b: Any) -> bool:
    return _error(a, b) == 0


def _error(mine: Any, theirs: Any) -> float:
    """Largest relative difference of two arrays, tuples or dicts of arrays; ∞ where they cannot be compared."""
    if isinstance(theirs, dict):
        same = isinstance(mine, dict) and mine.keys() == theirs.keys()
        return max((_error(mine[k], theirs[k]) for k in theirs), default=0.0) if same else np.inf
    if isinstance(theirs, tuple | list):
        same = isinstance(mine, tuple | list) and len(mine) == len(theirs)
        return max((_error(a, b) for a, b in zip(mine, theirs, strict=True)), default=0.0) if same else np.inf
    if theirs is None or isinstance(theirs, (bool, str)):
        same = mine is theirs or (isinstance(mine, bool | np.bool | str) and mine == theirs)
        return 0.0 if same else np.inf
    b = np.asarray(theirs)
    if b.dtype.kind == "O":  # a function, a configuration, a generator of random numbers: nothing of the page
        return 0.0
    try:
        a = np.asarray(mine)
    except ValueError:  # lists of unequal lengths
        return np.inf
    if a.shape != b.shape or a.dtype.kind not in "biuf" or b.dtype.kind not in "biuf":
        return np.inf
    some = np.isfinite(a)  # a masked score is −∞ on both sides
    if not np.array_equal(some, np.isfinite(b)):
        return np.inf
    a, b = a[some] * 1.0, b[some] * 1.0
    gap, size = np.abs(a - b).max(initial=0.0), np.abs(b).max(initial=0.0)
    return float(gap / max(size, 1e-3))  # a gradient that is zero but for rounding is not off by 100 %
