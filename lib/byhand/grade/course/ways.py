"""Answers that somebody should read: they have points, and ask for what a question does not allow by a way on which no
name is seen, or for what their callers hold. It is a hint and never a verdict."""

from ..forbid import FRAMES, INTO, odd
from .store import earned
from .submission import read

WORDS = (*INTO, *FRAMES, "eval", "exec")


def round_about(store, questions) -> list[tuple[str, str, tuple[str, ...]]]:
    """Student, question, and the names in its answer."""
    found, have = [], {(p["student"], p["question"]) for p in store.points() if earned(p) > 0 and p["given"] is None}
    for row in store.db.execute("SELECT * FROM latest ORDER BY student").fetchall():
        submission = read(store.path(row)).answering(questions)
        if any(word in text for text in submission.cells for word in WORDS):
            found += [(row["student"], q.id, names) for q in questions if (row["student"], q.id) in have
                      and (names := odd(submission.reached(q.name), q))]
    return found
