"""The commands that write into a gradebook: collect, grade, regrade, override; and doctor, which goes before them."""

import sys
import tempfile

from byhand.io.files import write_whole

from ..sets import notebook_of, questions_of
from . import batch, doctor
from .collect import collect, lines_of, look
from .roster import names_of
from .store import Store
from .submission import NONE
from .terminal import GOOD, UNSETTLED, USAGE, WRONG, gradebook, say, set_of, shown

ADVICE = {
    "sandbox": "On Debian or Ubuntu: apt install bubblewrap; where ordinary users may not make namespaces, run it as "
               "root. In a container that allows none: --isolation=container.",
    "container": "It needs root in a container without a network, with a file system to be read alone, and with the "
                 "course, the grades and the folder of TMPDIR closed to other users.",
    "process": "It needs Linux, and for root setpriv, of the package util-linux.",
}
LITTLE = 100e6  # bytes: sandboxes, results and copies of the gradebook come to less
OPEN = "What is open, every submission may do: grade only what you would run yourself."
LESS = "Its second wall is missing, a filter of system calls: install the package libseccomp2."


def run_doctor(a) -> int:
    say(", ".join(f"{name} {value}" for name, value in doctor.versions().items()))
    for folder, free in doctor.room(a.store, tempfile.gettempdir()).items():
        say(f"{free / 1e9:.1f} GB free in {folder}" + ("" if free > LITTLE else ": make room before you grade"))
    found = doctor.probe(a.isolation, [a.store])
    say(f"isolation {a.isolation}", *([f"  closed  {doctor.ALWAYS}"] if len(found) > 1 else []))
    for f in found:
        word = "closed" if f.ok else "OPEN" if f.promised else "open"
        say(f"  {word:6}  {f.what}" + (f": {f.text}" if f.text and not f.ok else ""))
    if all(f.ok for f in found if f.promised):
        left = {f.what for f in found if not f.ok}
        less = LESS if a.isolation == "sandbox" else OPEN
        say("It holds what it promises." + (f" {less}" if left else ""), "Next: byhand-grade collect SET FOLDER_OR_ZIP")
        return GOOD
    say(f"Nothing may be graded on this machine with --isolation={a.isolation}.", ADVICE[a.isolation])
    return WRONG


def run_collect(a) -> int:
    roster = names_of(a.roster)  # before a gradebook is made, and never half a class
    given, questions = notebook_of(a.set).partition("_")[0], questions_of(a.set)
    there = look(a.source, list(roster), given)
    with Store(a.store / a.set) as store:
        found = collect(store, a.source, list(roster), questions, given)
    if a.roster:
        write_whole(a.store / a.set / "roster.csv", a.roster.read_bytes())
    say(f"{len(found.kept)} new, {len(found.known)} known, {len(found.missing)} missing, "
        f"{len(found.strangers)} not on the roster, {len(found.refused)} refused")
    for name, listed in (("missing", found.missing), ("not on the roster", found.strangers),
                         ("refused", found.refused), ("unreadable", found.unreadable), ("look again", found.spoilt),
                         (NONE, found.without), ("late", found.late)):
        say(*(f"  {name}: {x}" for x in listed))
    say(*lines_of(found.passed))
    say(*(f"  {len(files)} files: {student}; one counts, {files[-1]}" for student, files in found.several.items()))
    say(*(f"  the same file: {', '.join(who)}" for who in found.alike),
        *(f"  nearly one name: {', '.join(who)}; one student, or two?" for who in found.near))
    if found.several and not a.roster:
        say("If two people have one name, name their files apart and collect into a new --store.")
    if not found.kept and not found.known:
        say(f"Nobody of the roster is among {there} files: the column student of {a.roster} must have what the files "
            f"say, as {found.strangers[0]!r}" if found.strangers else "Nothing could be taken.")
        return WRONG
    say(f"Next: byhand-grade grade {a.set}")
    return GOOD


def distrusted(a) -> str:
    """Why nothing is graded with these words; nothing if something is."""
    if a.isolation != "process":
        return ""
    if not a.trust:
        leaves = "; ".join(sorted(doctor.left_open("process")))
        return (f"grade: --isolation=process leaves open: {leaves}. Where every submission is one that you would run "
                "yourself, add --i-trust-these-submissions")
    return ""


def run_grade(a) -> int:
    if why := distrusted(a):
        print(why, file=sys.stderr)
        return USAGE
    with gradebook(a) as store:
        counts = batch.run(store, a.set, batch.course_key(a.store), store.last_applied(), a.jobs, a.patience,
                           a.isolation, a.dask)
        waiting = len(store.waiting(store.last_applied()))
    say(", ".join(f"{n} {status}" for status, n in sorted(counts.items())) or "nothing was waiting",
        f"Next: byhand-grade status {a.set}")
    return UNSETTLED if waiting or counts.get("error") else GOOD


def run_regrade(a) -> int:
    """A new round for all; the grades change only when it is applied."""
    if not a.apply and (why := distrusted(a)):
        print(why, file=sys.stderr)
        return USAGE
    _, most = set_of(a)
    with gradebook(a) as store:
        before = {r.student: r for r in store.rows(most)}
        if a.apply:
            if a.apply not in (rounds := store.rounds()):
                raise ValueError(f"regrade: there is no round {a.apply}; --apply takes one of "
                                 + ", ".join(map(str, rounds)))
            store.apply(a.apply)
            say(f"round {a.apply} is applied")
            after = {r.student: r for r in store.rows(most)}
        else:
            number = store.new_round(a.because)
            batch.run(store, a.set, batch.course_key(a.store), number, a.jobs, a.patience, a.isolation, a.dask)
            after = {student: _in_round(store, student, number) for student in before}
            say(f"round {number}, because: {a.because}")
        changes = 0
        for student, old in before.items():
            new = after[student].points if a.apply else after[student]
            if new != old.points:
                changes += 1
                say(f"  {student}: {shown(old.points)} -> {shown(new)}")
        say(f"{changes} of {len(before)} change")
        if not a.apply:
            say(f"To accept: byhand-grade regrade {a.set} --apply {number}")
    return GOOD


def _in_round(store, student, number):
    """The points of a student in a round, with what was given by hand; None where there is no grade."""
    row = store.db.execute("SELECT a.* FROM latest l JOIN attempt a ON a.submission = l.id WHERE l.student = ? AND "
                           "a.round = ?", (student, number)).fetchone()
    if row is None or row["status"] != "graded":
        return None
    given = {p["question"]: p["given"] for p in store.points(student) if p["given"] is not None}
    results = store.db.execute("SELECT question, points FROM result WHERE attempt = ?", (row["id"],))
    return sum(given.get(r["question"], r["points"]) for r in results)


def run_override(a) -> int:
    known = {q.id: q.points for q in questions_of(a.set)}
    if a.question not in known:
        say(f"override: {a.question} is no question of {a.set}; they are {', '.join(known)}")
        return USAGE
    if not 0 <= a.points <= known[a.question]:
        say(f"override: points is {a.points:g}, expected 0 to {known[a.question]}")
        return USAGE
    with gradebook(a) as store:
        if not store.points(a.student):
            graded = sorted({p["student"] for p in store.points()})
            say(f"override: {a.student} has no grade in {a.set}; who has one: {', '.join(graded) or 'nobody'}")
            return USAGE
        store.override(a.student, a.question, a.points, a.note)
    say(f"{a.student} has {a.points:g} for {a.question}; it stays through regrades")
    return GOOD
