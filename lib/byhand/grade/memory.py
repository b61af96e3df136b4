"""What a learner has done, kept on this machine and nowhere else: best points, the day, hints and tries.

The file is `.byhand/progress.sqlite` in the home folder; the variable BYHAND_PROGRESS names another one, and set to
nothing it keeps everything in this process alone.
"""

import contextlib
import datetime
import os
import warnings
from pathlib import Path
from typing import NamedTuple


class Record(NamedTuple):
    points: int | None = None  # of the best check; None: never attempted
    day: str = ""  # of that check
    hints: int = 0  # shown so far
    tries: int = 0  # checks of an answer that somebody wrote

    def and_then(self, other):
        """Both together: the first best points with their day, the highest hint, all tries."""
        better = other.points is not None and (self.points is None or other.points > self.points)
        points, day = other[:2] if better else self[:2]
        return Record(points, day, max(self.hints, other.hints), self.tries + other.tries)


_here = {}  # what could not be written: all of it where no file is wanted
_complained = set()  # files that could not be used

_TABLE = """create table if not exists progress (question text primary key, points integer,
  day text not null default '', hints integer not null default 0, tries integer not null default 0)"""
_BETTER = "excluded.points is not null and (progress.points is null or excluded.points > progress.points)"
_KEEP = f"""insert into progress (question, points, day, hints, tries) values (?, ?, ?, ?, ?)
  on conflict (question) do update set
  day = case when {_BETTER} then excluded.day else day end,
  points = case when {_BETTER} then excluded.points else points end,
  hints = max(hints, excluded.hints), tries = tries + excluded.tries"""


def named():
    """The file as it is named to the learner; nothing if none is to be written."""
    return os.environ.get("BYHAND_PROGRESS", "~/.byhand/progress.sqlite")


@contextlib.contextmanager
def _opened(name):
    import sqlite3

    file = Path(name).expanduser()
    file.parent.mkdir(parents=True, exist_ok=True)
    patience = 0.1 if name in _complained else 5.0  # seconds for another process to let go of the file
    with contextlib.closing(sqlite3.connect(file, timeout=patience)) as store, store:
        store.execute(_TABLE)
        yield store


def _complain(name, error):
    if name not in _complained:
        _complained.add(name)
        text = f"your progress is kept in this session only: {name} cannot be used ({error})"
        warnings.warn(text, stacklevel=4)  # at the line that called `check`, `hint`, `solution` or `summary`


def keep(question, points=None, hints=0, tries=0):
    """Add to what is known of a question: the best points and the highest hint stay, tries are counted."""
    new = Record(points, datetime.date.today().isoformat() if points is not None else "", hints, tries)
    if name := named():
        try:
            with _opened(name) as store:
                store.execute(_KEEP, (question, *new))
            return
        except Exception as error:  # a full disk, a folder that is read-only, a Python without sqlite
            complaint = error
    _here[question] = _here.get(question, Record()).and_then(new)
    if name:
        _complain(name, complaint)


def recall():
    """Every question that was begun, and its Record."""
    rows, name = [], named()
    if name:
        try:
            if Path(name).expanduser().exists():
                with _opened(name) as store:
                    rows = store.execute("select question, points, day, hints, tries from progress").fetchall()
        except Exception as error:
            _complain(name, error)
    known = {question: Record(*rest) for question, *rest in rows}
    return known | {question: known.get(question, Record()).and_then(record) for question, record in _here.items()}


def take(records):
    """Add what `recall` gave in another process, {question: (points, day, hints, tries)}, to what this one knows."""
    for question, record in records.items():
        _here[question] = _here.get(question, Record()).and_then(Record(*record))
