"""The gradebook: one SQLite file a set, to which rows are only ever added. A grade is what the rows say together.

A submission and its results enter in one transaction each, so a batch that is killed goes on without a lost or doubled
row; two graders at once on one store both finish, and nothing is there twice.
"""

import contextlib
import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from byhand.io.files import write_whole

TABLES = """
CREATE TABLE IF NOT EXISTS submission (
    id INTEGER PRIMARY KEY, student TEXT NOT NULL, sha256 TEXT NOT NULL, suffix TEXT NOT NULL, name TEXT NOT NULL,
    received TEXT NOT NULL, UNIQUE (student, sha256));
CREATE TABLE IF NOT EXISTS handed (  -- which submission was handed in, each time that it was another one than before
    id INTEGER PRIMARY KEY, student TEXT NOT NULL, submission INTEGER NOT NULL REFERENCES submission,
    received TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS round (
    id INTEGER PRIMARY KEY, because TEXT NOT NULL, made TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS applied (round INTEGER PRIMARY KEY REFERENCES round, made TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS attempt (
    id INTEGER PRIMARY KEY, submission INTEGER NOT NULL REFERENCES submission, round INTEGER NOT NULL REFERENCES round,
    status TEXT NOT NULL, tier TEXT NOT NULL, note TEXT NOT NULL, seconds REAL NOT NULL, ended TEXT NOT NULL,
    UNIQUE (submission, round));
CREATE TABLE IF NOT EXISTS result (
    attempt INTEGER NOT NULL REFERENCES attempt, question TEXT NOT NULL, status TEXT NOT NULL, points REAL NOT NULL,
    max_points REAL NOT NULL, text TEXT NOT NULL, mistakes TEXT NOT NULL, PRIMARY KEY (attempt, question));
CREATE TABLE IF NOT EXISTS override (
    id INTEGER PRIMARY KEY, student TEXT NOT NULL, question TEXT NOT NULL, points REAL NOT NULL, note TEXT NOT NULL,
    made TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS revised (  -- of the course, that made the attempt
    attempt INTEGER PRIMARY KEY REFERENCES attempt, revision TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS overruled (  -- what the grader gave when a person gave other points
    override INTEGER PRIMARY KEY REFERENCES override, automatic REAL NOT NULL);
CREATE TABLE IF NOT EXISTS picture (
    attempt INTEGER NOT NULL REFERENCES attempt, question TEXT NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (attempt, question));
CREATE TABLE IF NOT EXISTS lent (  -- earlier functions, right ones, with which a result counts
    attempt INTEGER NOT NULL REFERENCES attempt, question TEXT NOT NULL, names TEXT NOT NULL,
    PRIMARY KEY (attempt, question));
CREATE VIEW IF NOT EXISTS latest AS  -- the submission that counts: the last one handed in
    SELECT s.* FROM handed h JOIN submission s ON s.id = h.submission
    WHERE h.id = (SELECT max(id) FROM handed WHERE student = h.student);
CREATE VIEW IF NOT EXISTS current AS  -- its attempt in the last round that was applied
    SELECT l.student, a.* FROM latest l JOIN attempt a ON a.submission = l.id
    WHERE a.round = (SELECT max(b.round) FROM attempt b JOIN applied p ON p.round = b.round WHERE b.submission = l.id);
CREATE VIEW IF NOT EXISTS points AS
    SELECT c.student, r.question, r.status, r.max_points, r.points AS automatic, r.text, r.mistakes,
           (SELECT o.points FROM override o WHERE o.student = c.student AND o.question = r.question
            ORDER BY o.id DESC LIMIT 1) AS given
    FROM current c JOIN result r ON r.attempt = c.id WHERE c.status = 'graded';
"""
PATIENCE = 60.0  # seconds to wait for another program that writes into it
LASTING = ("submission", "handed", "round", "applied", "attempt", "revised", "overruled", "result",
           "override", "picture", "lent")
STAY = "CREATE TRIGGER IF NOT EXISTS {0}_{1} BEFORE {1} ON {0} BEGIN SELECT RAISE(ABORT,'rows are only ever added');END"


class Row(NamedTuple):
    """Where a student stands. `points` is None unless the status is graded: no grade is never a zero."""

    student: str
    status: str  # graded, unreadable, error, waiting, not submitted
    points: float | None
    max_points: float
    note: str
    tier: str = ""  # where it ran: sandbox, container, process


def earned(p) -> float:
    """The points that count of a row of `points`: those given by a person, or else the automatic ones."""
    return p["automatic"] if p["given"] is None else p["given"]


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class Store:
    """`with Store(folder) as store:` the gradebook of one set in folder/store.sqlite, with inbox/ beside it."""

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)

    def __enter__(self) -> "Store":
        (self.folder / "inbox").mkdir(parents=True, exist_ok=True)
        self.db = sqlite3.connect(self.folder / "store.sqlite", timeout=PATIENCE, isolation_level=None)
        with contextlib.ExitStack() as undo:
            undo.callback(self.db.close)
            self.db.row_factory = sqlite3.Row
            for line in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON"):
                self.db.execute(line)
            with self.whole():
                lasting = [STAY.format(table, what) for table in LASTING for what in ("update", "delete")]
                for statement in TABLES.split(";\n") + lasting:
                    self.db.execute(statement)
                if not self.db.execute("SELECT 1 FROM round").fetchone():
                    self.db.execute("INSERT INTO round VALUES (1, 'first', ?)", (now(),))
                    self.db.execute("INSERT INTO applied VALUES (1, ?)", (now(),))
            undo.pop_all()
        return self

    def __exit__(self, *_) -> None:
        self.db.close()

    @contextlib.contextmanager
    def whole(self):
        """All of it or nothing; within another one it is a part of that."""
        if self.db.in_transaction:
            yield
            return
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
        self.db.execute("COMMIT")

    def backup(self) -> Path:
        """A copy as it is now, beside the store; the ten last ones are kept."""
        folder = self.folder / "backup"
        folder.mkdir(exist_ok=True)
        path = folder / f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}.sqlite"
        self.db.execute("VACUUM INTO ?", (str(path),))
        for old in sorted(set(folder.glob("*.sqlite")) - {path})[:-9]:  # this one stays, whatever the clock has done
            old.unlink()
        return path

    def receive(self, student: str, name: str, sha256: str, suffix: str, data: bytes, counts: bool = True) -> bool:
        """Keep a submission under its content, as what counts if `counts`; False if all that was so before."""
        path = self.folder / "inbox" / f"{sha256}{suffix}"
        if not path.exists():
            write_whole(path, data)
        found = self.db.execute("INSERT OR IGNORE INTO submission (student, sha256, suffix, name, received) "
                                "VALUES (?, ?, ?, ?, ?)", (student, sha256, suffix, name, now()))
        return (counts and self.hand_in(student, sha256)) or found.rowcount == 1

    def hand_in(self, student: str, sha256: str) -> bool:
        """From now on this one of a student's submissions counts; False if it did already."""
        with self.whole():
            last = self.db.execute("SELECT sha256 FROM latest WHERE student = ?", (student,)).fetchone()
            if last and last["sha256"] == sha256:
                return False
            self.db.execute("INSERT INTO handed (student, submission, received) SELECT student, id, ? FROM submission "
                            "WHERE student = ? AND sha256 = ?", (now(), student, sha256))
            return True

    def path(self, row) -> Path:
        return self.folder / "inbox" / f"{row['sha256']}{row['suffix']}"

    def last_applied(self) -> int:
        return self.db.execute("SELECT max(round) FROM applied").fetchone()[0]

    def rounds(self) -> list[int]:
        return [row[0] for row in self.db.execute("SELECT id FROM round ORDER BY id")]

    def new_round(self, because: str) -> int:
        return self.db.execute("INSERT INTO round (because, made) VALUES (?, ?)", (because, now())).lastrowid

    def apply(self, number: int) -> None:
        self.db.execute("INSERT OR IGNORE INTO applied VALUES (?, ?)", (number, now()))

    def waiting(self, number: int) -> list[sqlite3.Row]:
        """The latest submissions that have no attempt in this round."""
        return self.db.execute("SELECT * FROM latest l WHERE NOT EXISTS (SELECT 1 FROM attempt WHERE submission = l.id "
                               "AND round = ?) ORDER BY student", (number,)).fetchall()

    def keep(self, submission: int, number: int, status: str, tier: str, note: str, seconds: float, graded,
             revision: str = "") -> bool:
        """One attempt with all its results, or, if another grader was first, nothing."""
        with self.whole():
            found = self.db.execute(
                "INSERT OR IGNORE INTO attempt (submission, round, status, tier, note, seconds, ended) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)", (submission, number, status, tier, note, seconds, now()))
            if found.rowcount != 1:
                return False
            self.db.execute("INSERT INTO revised VALUES (?, ?)", (found.lastrowid, revision))
            self.db.executemany("INSERT INTO result VALUES (?, ?, ?, ?, ?, ?, ?)", [
                (found.lastrowid, g.question, g.status, g.points, g.max_points, g.text, json.dumps(g.mistakes))
                for g in graded])
            self.db.executemany("INSERT INTO picture VALUES (?, ?, ?)", [
                (found.lastrowid, g.question, json.dumps(g.pictures, allow_nan=False)) for g in graded if g.pictures])
            self.db.executemany("INSERT INTO lent VALUES (?, ?, ?)", [
                (found.lastrowid, g.question, json.dumps(g.lent)) for g in graded if g.lent])
        return True

    def override(self, student: str, question: str, points: float, note: str) -> None:
        """Points given by a person; they stay through regrades. The last one counts."""
        with self.whole():
            made = self.db.execute("INSERT INTO override (student, question, points, note, made) "
                                   "VALUES (?, ?, ?, ?, ?)", (student, question, points, note, now())).lastrowid
            self.db.execute("INSERT INTO overruled SELECT ?, automatic FROM points WHERE student = ? AND question = ?",
                            (made, student, question))

    def moved(self) -> list[tuple[str, str, float, float, float]]:
        """Student, question, points given by a person, and those of the grader then and now, where these differ."""
        return [tuple(row) for row in self.db.execute(
            "SELECT p.student, p.question, p.given, o.automatic, p.automatic FROM points p JOIN overruled o "
            "ON o.override = (SELECT max(id) FROM override WHERE student = p.student AND question = p.question) "
            "WHERE o.automatic != p.automatic ORDER BY p.student, p.question")]

    def revisions(self) -> dict[str, int]:
        """How many current attempts each revision of the course has made."""
        return dict(map(tuple, self.db.execute("SELECT revision, count(*) FROM current c JOIN revised r "
                                               "ON r.attempt = c.id WHERE revision > '' GROUP BY revision")))

    def points(self, student: str | None = None) -> list[sqlite3.Row]:
        """Per question of the current grades: `given` by a person, or else `automatic`."""
        return self.db.execute("SELECT * FROM points WHERE ? IS NULL OR student = ? ORDER BY student, question",
                               (student, student)).fetchall()

    def pictures(self, student: str) -> dict[str, list[dict]]:
        """By question, what of the current grade was kept to be drawn."""
        found = self.db.execute("SELECT p.question, p.data FROM current c JOIN picture p ON p.attempt = c.id "
                                "WHERE c.student = ?", (student,))
        return {question: json.loads(data) for question, data in found}

    def seconds(self) -> list[tuple[str, float]]:
        """Student and seconds of each current attempt in which something was run."""
        return [tuple(row) for row in self.db.execute("SELECT student, seconds FROM current WHERE status = 'graded'")]

    def lent(self) -> list[tuple[str, str, list[str]]]:
        """Student, question, and the right functions with which the current result counts."""
        found = self.db.execute("SELECT c.student, l.question, l.names FROM current c JOIN lent l ON l.attempt = c.id "
                                "ORDER BY c.student, l.question")
        return [(student, question, json.loads(names)) for student, question, names in found]

    def submission(self, student: str) -> Path | None:
        """The file of the latest submission."""
        row = self.db.execute("SELECT * FROM latest WHERE student = ?", (student,)).fetchone()
        return self.path(row) if row else None

    def rows(self, max_points: float, roster=()) -> list[Row]:
        """One row a student, of the roster too, in order."""
        sums = {}
        for p in self.points():
            sums[p["student"]] = sums.get(p["student"], 0) + earned(p)
        found = {name: Row(name, "not submitted", None, max_points, "") for name in roster}
        for row in self.db.execute("SELECT student FROM latest"):
            found[row[0]] = Row(row[0], "waiting", None, max_points, "not graded yet")
        for row in self.db.execute("SELECT * FROM current"):
            points = sums.get(row["student"]) if row["status"] == "graded" else None
            found[row["student"]] = Row(row["student"], row["status"], points, max_points, row["note"], row["tier"])
        return [found[name] for name in sorted(found)]
