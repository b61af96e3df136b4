"""Two runs of one function side by side: which step of the one is which of the other, and where they part."""

import functools
import linecache
import traceback
from collections.abc import Iterator
from typing import Any

import numpy as np

from byhand.grade.broken import HOLDS, UNNAMED, Row
from byhand.grade.trace import Call, Step, statements
from byhand.grade.values import error_of, is_number


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
                    error, note = error_of(other.value, e.value), ""
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
            pair = next((c for c in same if error_of(c.arguments, item.arguments) < HOLDS), None)
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
            if len(a) < len(b):  # x = …; x /= 2: what the next reader gets is the last
                last = [s for s, after in zip(mine, [*mine[1:], None], strict=True)
                        if s.symbol == symbol and (after is None or after.symbol != symbol)]
                b = last if len(last) >= len(a) else b
            for i, j in zip(range(len(a)), range(len(b)), strict=False) if len(a) == len(b) else _match(a, b):
                partner[id(a[i])] = b[j]
        return partner

    @staticmethod
    def _held(step: Step, steps: list[Step], partner: dict[int, Step]) -> bool:
        """Whether the symbol had this value already, so that there was nothing to do."""
        before = [s for s in steps[:next(i for i, s in enumerate(steps) if s is step)] if s.symbol == step.symbol]
        last = partner.get(id(before[-1])) if before else None
        return last is not None and error_of(last.value, step.value) < HOLDS

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
                step = next((s for s in reversed(last) if error_of(s.value, x) == 0), None)
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
        yield path, theirs, error_of(mine, theirs)


def _is_cache(x: Any) -> bool:
    return isinstance(x, tuple) and hasattr(x, "_fields")


def _calls(call: Call) -> Iterator[Call]:
    yield call
    for item in call.items:
        if isinstance(item, Call):
            yield from _calls(item)


def _match(a: list[Step], b: list[Step]) -> list[tuple[int, int]]:
    """Pairs of two lists in order: as many equal ones as can be, and unequal ones between them, rather of tagged lines
    than of others: where `dS -= D` is missing, what comes is the dS of the tagged line after it."""
    alone = [0.65 if s.tags else 0.6 for s in a]

    @functools.cache
    def cost(i: int, j: int) -> tuple[float, tuple]:
        if i == len(a) or j == len(b):
            return sum(alone[i:]) + 0.6 * (len(b) - j), ()
        unlike = 0.0 if error_of(b[j].value, a[i].value) < HOLDS else 1.0
        both, skip, more = cost(i + 1, j + 1), cost(i + 1, j), cost(i, j + 1)
        ways = [(both[0] + unlike, ((i, j), *both[1])), (skip[0] + alone[i], skip[1]), (more[0] + 0.6, more[1])]
        return min(ways, key=lambda way: way[0])

    if len(a) * len(b) > 10_000:
        return list(zip(range(len(a)), range(len(b)), strict=False))
    return list(cost(0, 0)[1])
