"""What `which_equation` found, row by row, and as it is printed."""

import textwrap
from typing import NamedTuple

import numpy as np

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
