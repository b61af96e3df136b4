"""Files of a student that cannot be read, beside the one that counts: neither learner nor instructor may miss that."""

from .submission import Submission, read


def fault(submission: Submission, questions) -> str:
    """What cannot be read of a file, as a whole or in a cell, where nothing of it answers a question; else nothing."""
    return submission.notes[0] if submission.notes and not submission.answers(questions) else ""


def beside(store, questions) -> list[tuple[str, str]]:
    """Student and sentence, for each that was handed in and does not count. One that the file that counts has replaced
    under its own name is none of them."""
    rows = store.db.execute("SELECT s.*, l.name AS counts FROM submission s JOIN latest l ON l.student = s.student "
                            "WHERE s.id != l.id AND NOT (s.id < l.id AND s.name = l.name) ORDER BY s.student, s.id")
    return [(row["student"], sentence(row["name"], why, row["counts"])) for row in rows.fetchall()
            if (why := fault(read(store.path(row)), questions))]


def sentence(name: str, why: str, counts: str) -> str:
    before = "the file of that name that was handed in before" if name == counts else counts
    return f"{name} does not count, as it cannot be read ({why}); {before} does"
