"""What the commands of `byhand-grade` share: exit codes, the gradebook, its roster, and words for what went wrong."""

import errno
import shutil
import sqlite3

from ..sets import SETS, questions_of
from .inert import inert
from .roster import names_of
from .store import Store

GOOD, WRONG, UNSETTLED, USAGE, STOPPED = 0, 1, 2, 64, 130  # exit codes
STOP = "stopped; what is done is kept, and the same command goes on from there"
LITTLE = 1 << 20  # bytes: a disk with less is full
TITLES = {set_id: f"Exercises {int(set_id)}" for set_id in SETS}


def say(*lines, file=None) -> None:
    """Lines that may hold what a submission says, or what its file is called."""
    if lines:
        print(*map(inert, lines), sep="\n", file=file)


def gradebook(a) -> Store:
    """Of the set. Raises ValueError where nothing was collected yet."""
    folder = a.store / a.set
    if not (folder / "store.sqlite").is_file():
        there = sorted(path.parent.name for path in a.store.glob("*/store.sqlite"))
        raise ValueError(f"no gradebook {folder}" + (f" (there are {', '.join(there)})" if there else "") +
                         f"; begin with byhand-grade collect {a.set} FOLDER_OR_ZIP, or name its folder with --store")
    return Store(folder)


def trouble(error: Exception, store) -> str:
    """What went wrong with the disk or the gradebook, and what to do."""
    text = str(error)
    full = getattr(error, "errno", 0) in (errno.ENOSPC, errno.EDQUOT) or "disk is full" in text
    if full or "disk I/O error" in text and store.exists() and shutil.disk_usage(store).free < LITTLE:  # SQLite's words
        return (f"no room is left on a disk ({text}); nothing half was kept. Make room where {store} lies, or where "
                "TMPDIR leads, and give the same command again")
    if "locked" in text or "locking" in text:
        return (f"another program holds the gradebook in {store}; nothing was changed. Let it end, or close it, and "
                "give the same command again (on a network drive: copy the folder to a disk of this machine)")
    if any(words in text for words in ("readonly", "unable to open", "disk I/O error")):
        return f"the gradebook in {store} cannot be written ({text}); look at the disk, and at the rights of the folder"
    if isinstance(error, sqlite3.DatabaseError):
        return (f"a gradebook in {store} is damaged ({text}); the last copies are in {store}/SET/backup: put the "
                "newest in the place of store.sqlite, and give the same command again")
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}; look at the path and its rights, and give the same command again"
    return text


def set_of(a):
    """Of the set, and their points together."""
    questions = questions_of(a.set)
    return questions, sum(q.points for q in questions)


def roster(a) -> list[str]:
    return list(called(a))


def called(a) -> dict[str, str]:
    """The students of the roster that was collected with, and what they are called."""
    path = a.store / a.set / "roster.csv"
    return names_of(path) if path.exists() else {}


def shown(x) -> str:
    return "no grade" if x is None else f"{x:g}"
