"""What a learner has done, kept on this machine and nowhere else: best points, the day, hints and tries.

The file is `.byhand/progress.sqlite` in the home folder; the variable BYHAND_PROGRESS names another one, and set to
nothing it keeps everything in this process alone.
"""

import contextlib
import datetime
import functools
import os
import warnings
from pathlib import Path
from typing import NamedTuple


class Record(NamedTuple):
    points: int | None = None  # of the best check; None: never attempted
    day: str = ""  # of that check
    hints: int = 0  # shown so far
    tries: int = 0  # checks of an answer that somebody wrote


_here = {}  # what this process did, where no file can be used

_TABLE = """create table if not exists progress (question text primary key, points integer,
  day text not null default '', hints integer not null default 0, tries integer not null default 0)"""
_BETTER = "excluded.points is not null and (progress.points is null or excluded.points > progress.points)"
_KEEP = f"""insert into progress values (?, ?, ?, ?, ?) on conflict (question) do update set
  day = case when {_BETTER} then excluded.day else day end,
  points = case when {_BETTER} then excluded.points else points end,
  hints = max(hints, excluded.hints), tries = tries + excluded.tries"""


def path():
    """The file, or None if nothing is to be written."""
    named = os.environ.get("BYHAND_PROGRESS")
    if named is None:
        return Path.home() / ".byhand" / "progress.sqlite"
    return Path(named).expanduser() if named else None


@contextlib.contextmanager
def _opened(file):
    import sqlite3

    file.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(file, timeout=5)) as store, store:
        store.execute(_TABLE)
        yield store


@functools.cache
def _complain(file, reason):
    warnings.warn(f"your progress is kept in this session only: {file} cannot be used ({reason})", stacklevel=2)


def keep(question, points=None, hints=0, tries=0):
    """Add to what is known of a question: the best points and the highest hint stay, tries are counted."""
    day = datetime.date.today().isoformat() if points is not None else ""
    old = _here.get(question, Record())
    better = points is not None and (old.points is None or points > old.points)
    _here[question] = Record(points if better else old.points, day if better else old.day,
                             max(old.hints, hints), old.tries + tries)
    if (file := path()) is None:
        return
    try:
        with _opened(file) as store:
            store.execute(_KEEP, (question, points, day, hints, tries))
    except Exception as error:  # a full disk, a folder that is read-only, a Python without sqlite
        _complain(file, error)


def recall():
    """Every question that was begun, and its Record."""
    file = path()
    if file is None or not file.exists():
        return dict(_here)
    try:
        with _opened(file) as store:
            rows = store.execute("select question, points, day, hints, tries from progress").fetchall()
    except Exception as error:
        _complain(file, error)
        return dict(_here)
    return {question: Record(*rest) for question, *rest in rows}
