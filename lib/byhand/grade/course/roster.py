"""A class list: a CSV file with a column `student`, whatever separates its fields."""

import csv
import io
import re
import unicodedata
from pathlib import Path

from .inert import inert

COLUMNS = ("student", "id")
SEPARATORS = ",;\t"  # a spreadsheet writes ; where the comma is in its numbers


def plain(name: str) -> str:
    """What is left of a name where case, spaces and signs say nothing: letters, digits, and the marks on them."""
    name = unicodedata.normalize("NFC", name)
    return "".join(c for c in name if unicodedata.category(c)[0] in "LMN").lower() or name


def roster_of(path: str | Path | None) -> list[str]:
    """The column `student` (or `id`, or the first) of a CSV file."""
    return list(names_of(path))


def names_of(path: str | Path | None) -> dict[str, str]:
    """The students of a roster; what they are called, where it has a column `name`."""
    if path is None:
        return {}
    try:
        text, separator = _separated(Path(path).read_bytes().decode("utf-8-sig"))
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"collect: {path} is no CSV file in UTF-8 ({error}); save it as \"CSV UTF-8\"") from None
    head, *rows = [[line(field) for field in row] for row in rows if any(row)] or [[]]
    if not rows:
        raise ValueError(f"collect: {path} has no rows, expected a header and a student a line")
    lower = [field.lower() for field in head]
    place = next((lower.index(name) for name in COLUMNS if name in lower), 0)
    called = lower.index("name") if "name" in lower else len(head)
    found, known = {}, {}
    for row in rows:
        if place and any(row[len(head):]):
            raise ValueError(f"collect: {path} has {separator.join(row)!r}, with more fields than its header: who is "
                             f"the student there? Put \" around a field that holds {separator!r}")
        if student := _field(row, place):
            if (other := known.setdefault(plain(student), student)) != student or student in found:
                raise ValueError(f"collect: {path} has {other!r} and {student!r}, whom the names of files would not "
                                 f"tell apart; give each student a name of their own in the column {head[place]}")
            found[student] = _field(row, called)
    if not found:
        raise ValueError(f"collect: {path} names nobody in its column {head[place]!r}; expected a student a line")
    return found


def line(field: str) -> str:
    """A field in one line, as the names of files are written."""
    return inert(" ".join(unicodedata.normalize("NFC", field).split()))


def _field(row, place) -> str:
    return row[place] if place < len(row) else ""


def _separated(text: str) -> tuple[str, str]:
    """The table, and what separates its fields: what a spreadsheet says in a line of its own, or else what makes the
    header name a column that is known, or else what the header has most of."""
    if said := re.match(r"sep=([,;\t])\r?\n", text, re.IGNORECASE):
        return text[said.end():], said[1]
    first = next((line for line in text.splitlines() if line.strip()), "")

    def told(separator):
        fields = [field.strip().lower() for field in next(csv.reader([first], delimiter=separator), [])]
        return any(name in fields for name in COLUMNS), len(fields)

    return text, max(SEPARATORS, key=told)
