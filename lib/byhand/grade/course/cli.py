"""The command `byhand-grade`: from a folder of submissions to grades.

    byhand-grade doctor
    byhand-grade collect 04 submissions.zip --roster class.csv
    byhand-grade grade 04 --jobs 2
    byhand-grade status 04
    byhand-grade export 04 --format csv > grades.csv
"""

import argparse
import os
import sys
from collections import Counter
from pathlib import Path

from byhand.io.files import write_whole

from ..selfcheck import selfcheck
from ..sets import SETS, questions_of
from . import batch, doctor, export, feedback, isolation, standing
from .collect import collect, names_of, roster_of
from .sandbox import SandboxError
from .store import Store
from .submission import read

GOOD, WRONG, UNSETTLED, USAGE = 0, 1, 2, 64  # exit codes
ADVICE = {
    "sandbox": "On Debian or Ubuntu: apt install bubblewrap; where ordinary users may not make namespaces, run it as "
               "root. In a container that allows none: --isolation=container.",
    "container": "It needs root in a container without a network, with a file system to be read alone, and with the "
                 "course, the grades and the folder of TMPDIR closed to other users.",
    "process": "It needs Linux, and for root setpriv, of the package util-linux.",
}
TITLES = {set_id: f"Exercises {int(set_id)}" for set_id in SETS}


def say(*lines) -> None:
    if lines:
        print(*lines, sep="\n")


def run_doctor(a) -> int:
    say(", ".join(f"{name} {value}" for name, value in doctor.versions().items()))
    found = doctor.probe(a.isolation, [a.store])
    say(f"isolation {a.isolation}", *([f"  closed  {doctor.ALWAYS}"] if len(found) > 1 else []))
    for f in found:
        word = "closed" if f.ok else "OPEN" if f.promised else "open"
        say(f"  {word:6}  {f.what}" + (f": {f.text}" if f.text and not f.ok else ""))
    if all(f.ok for f in found if f.promised):
        say("It holds what it promises." + ("" if all(f.ok for f in found) else
            " What is open, every submission may do: grade only what you would run yourself."),
            "Next: byhand-grade collect SET FOLDER_OR_ZIP")
        return GOOD
    say(f"Nothing may be graded on this machine with --isolation={a.isolation}.", ADVICE[a.isolation])
    return WRONG


def run_collect(a) -> int:
    with Store(a.store / a.set) as store:
        found = collect(store, a.source, roster_of(a.roster))
    if a.roster:
        write_whole(a.store / a.set / "roster.csv", a.roster.read_bytes())
    say(f"{len(found.kept)} new, {len(found.known)} known, {len(found.missing)} missing, "
        f"{len(found.strangers)} not on the roster, {len(found.refused)} refused")
    for name, listed in (("missing", found.missing), ("not on the roster", found.strangers),
                         ("refused", found.refused), ("late", found.late)):
        say(*(f"  {name}: {x}" for x in listed))
    say(*(f"  {len(files)} files: {student}; the last counts, {files[-1]}" for student, files in found.several.items()))
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
    with Store(a.store / a.set) as store:
        counts = batch.run(store, a.set, batch.course_key(a.store), store.last_applied(), a.jobs, a.patience,
                           a.isolation, a.dask)
        waiting = len(store.waiting(store.last_applied()))
    say(", ".join(f"{n} {status}" for status, n in sorted(counts.items())) or "nothing was waiting",
        f"Next: byhand-grade status {a.set}")
    return UNSETTLED if waiting or counts.get("error") else GOOD


def run_status(a) -> int:
    questions, most = _questions(a)
    with Store(a.store / a.set) as store:
        say(*standing.lines(store.rows(most, _roster(a)), store.points(), questions, store.seconds(), store.lent()))
    return GOOD


def run_regrade(a) -> int:
    """A new round for all; the grades change only when it is applied."""
    if not a.apply and (why := distrusted(a)):
        print(why, file=sys.stderr)
        return USAGE
    _, most = _questions(a)
    with Store(a.store / a.set) as store:
        before = {r.student: r for r in store.rows(most)}
        if a.apply:
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
                say(f"  {student}: {_number(old.points)} -> {_number(new)}")
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


def _number(x) -> str:
    return "no grade" if x is None else f"{x:g}"


def run_override(a) -> int:
    known = {q.id: q.points for q in questions_of(a.set)}
    if a.question not in known:
        say(f"override: {a.question} is no question of {a.set}; they are {', '.join(known)}")
        return USAGE
    if not 0 <= a.points <= known[a.question]:
        say(f"override: points is {a.points:g}, expected 0 to {known[a.question]}")
        return USAGE
    with Store(a.store / a.set) as store:
        if not store.points(a.student):
            say(f"override: {a.student} has no grade in {a.set}")
            return USAGE
        store.override(a.student, a.question, a.points, a.note)
    say(f"{a.student} has {a.points:g} for {a.question}; it stays through regrades")
    return GOOD


def run_export(a) -> int:
    questions, most = _questions(a)
    with Store(a.store / a.set) as store:
        rows, points = store.rows(most, _roster(a)), store.points()
    open_ones = [row for row in rows if row.status in export.OPEN]
    if open_ones and not a.partial:
        print(f"export: {len(open_ones)} are not settled ({', '.join(r.student for r in open_ones[:5])}); "
              "grade them first, or say --partial", file=sys.stderr)
        return UNSETTLED
    weaker = Counter(row.tier for row in rows if row.tier not in ("", "sandbox"))
    if weaker:
        print("export: not all ran in the sandbox: " + ", ".join(f"{n} {tier}" for tier, n in sorted(weaker.items())),
              file=sys.stderr)
    if a.format == "gradescope":
        folder = a.to or a.store / a.set / "gradescope"
        folder.mkdir(parents=True, exist_ok=True)
        made = 0
        for row in rows:
            if row.points is not None:
                mine = [p for p in points if p["student"] == row.student]
                target = folder / export.file_name(row.student)
                target.mkdir(exist_ok=True)
                write_whole(target / "results.json", export.gradescope(row, mine, questions).encode())
                made += 1
        say(f"{made} files results.json in {folder}")
        return GOOD
    text = export.table(rows, points, questions, TITLES[a.set], a.format, _names(a))
    if a.to:
        write_whole(a.to, text.encode())
        say(f"{len(rows)} students in {a.to}, {sum(r.points is None for r in rows)} of them without a grade")
    else:
        sys.stdout.write(text)
    return GOOD


def run_feedback(a) -> int:
    questions, most = _questions(a)
    folder = a.store / a.set / "reports"
    folder.mkdir(parents=True, exist_ok=True)
    with Store(a.store / a.set) as store:
        rows = [row for row in store.rows(most) if row.status not in ("waiting", "not submitted")]
        book, names = feedback.built_book(folder) if a.book is None else a.book, _names(a)
        for row in rows:
            cells = read(store.submission(row.student)).cells
            page = feedback.page(row, store.points(row.student), questions, TITLES[a.set],
                                 store.pictures(row.student), cells, book, names.get(row.student, ""))
            write_whole(folder / f"{export.file_name(row.student)}.html", page.encode())
    say(f"{len(rows)} pages in {folder}")
    if not book:
        say("Sections are named, but not linked: say where the book is with --book ADDRESS")
    return GOOD


def run_check(a) -> int:
    """What a learner sees with check(), for a whole file, on the public cases; the code runs in the sandbox."""
    from .grading import grade

    found = read(a.notebook)
    say(*found.notes)
    if found.status != "read":
        return WRONG
    written = {q.name for q in (q for s in SETS for q in questions_of(s))} & found.functions.keys()
    sets = [a.set] if a.set else [s for s in SETS if {q.name for q in questions_of(s)} & written]
    graded = [g for s in sets for g in grade(found, s, b"display") if g.status != "missing"]
    say(*(g.text for g in graded), f"{sum(g.points for g in graded)} of {sum(g.max_points for g in graded)} points")
    return GOOD


def run_similar(a) -> int:
    """Pairs that are alike, on a page, side by side."""
    from . import similar
    from .submission import read

    with Store(a.store / a.set) as store:
        rows = store.db.execute("SELECT * FROM latest ORDER BY student").fetchall()
        texts = {row["student"]: {name: text for name, (_, text) in read(store.path(row)).functions.items()}
                 for row in rows}
    found = similar.pairs(texts, a.set, a.least)
    target = a.to or a.store / a.set / "similar.html"
    write_whole(target, similar.page(found, texts, a.set, TITLES[a.set]).encode())
    ids = {q.name: q.id for q in questions_of(a.set)}
    say(*(f"{p.share:4.0%}  {p.one}  {p.other}  {' '.join(ids[n] for n, _ in p.questions)}" for p in found),
        f"{len(found)} pairs of {len(texts)} submissions, side by side in {target}", similar.HINT)
    return GOOD


def run_bundle(a) -> int:
    """What students get: their notebooks, and of the library what checks them."""
    from . import bundle

    files = bundle.files_of(list(dict.fromkeys(a.sets)), a.book)
    out = bundle.write(files, a.out)
    say(f"{len(files)} files in {out}; no reference, solution, hidden case or known mistake's code is among them")
    return GOOD


def run_sample(a) -> int:
    """A class to practise with."""
    from . import sample

    names = sample.write(a.folder, a.students, a.seed)
    say(f"{', '.join(names)} in {a.folder}",
        f"Next: byhand-grade collect 04 {a.folder}/canvas.zip --roster {a.folder}/roster.csv")
    return GOOD


def run_selfcheck(a) -> int:
    problems = [problem for set_id in ([a.set] if a.set else SETS) for problem in selfcheck(set_id)]
    say(*problems, f"{len(problems)} problems")
    return WRONG if problems else GOOD


def _questions(a):
    """Of the set, and their points together."""
    questions = questions_of(a.set)
    return questions, sum(q.points for q in questions)


def _roster(a) -> list[str]:
    return list(_names(a))


def _names(a) -> dict[str, str]:
    """The students of the roster that was collected with, and what they are called."""
    path = a.store / a.set / "roster.csv"
    return names_of(path) if path.exists() else {}


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser("byhand-grade", description=__doc__.split("\n")[0],
                                  epilog="\n".join(__doc__.split("\n")[2:]),
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("--store", type=Path, default=Path("grades"), help="where gradebooks are (default: grades)")
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(name, function, text, example, with_set=True):
        sub = commands.add_parser(name, help=text, description=text, epilog=f"example: byhand-grade {example}")
        sub.set_defaults(function=function)
        if with_set:
            sub.add_argument("set", choices=SETS, metavar="SET", help=f"one of {', '.join(SETS)}")
        return sub

    sub = command("doctor", run_doctor, "prove what holds submissions on this machine", "doctor", False)
    sub.add_argument("--isolation", choices=isolation.WAYS, default="sandbox")
    sub = command("collect", run_collect, "take submissions from a folder, a zip or a file", "collect 04 moodle.zip")
    sub.add_argument("source", type=Path)
    sub.add_argument("--roster", type=Path, help="a CSV file with a column student")
    for name, function, text in (("grade", run_grade, "grade what waits; goes on where it was stopped"),
                                 ("regrade", run_regrade, "grade all anew; nothing changes until --apply ROUND")):
        sub = command(name, function, text, f"{name} 04 --jobs 2")
        sub.add_argument("--jobs", type=int, default=1, help="submissions at a time")
        sub.add_argument("--patience", type=float, default=1.0, help="a factor on all limits of time")
        sub.add_argument("--dask", metavar="ADDRESS", help="of the scheduler of a cluster that runs the sandboxes")
        sub.add_argument("--isolation", choices=isolation.WAYS, default="sandbox", help="where submissions run")
        sub.add_argument("--i-trust-these-submissions", dest="trust", action="store_true",
                         help="needed for --isolation=process, which hides nothing but the expected values")
    sub.add_argument("--because", default="", help="kept with the round")
    sub.add_argument("--apply", type=int, metavar="ROUND", help="let the grades of this round count")
    command("status", run_status, "how the class stands: questions, commonest mistakes, what divides it", "status 04")
    sub = command("override", run_override, "give points by hand", 'override 04 ann 04.2 1 --note "seen in person"')
    sub.add_argument("student")
    sub.add_argument("question")
    sub.add_argument("points", type=float)
    sub.add_argument("--note", required=True)
    sub = command("export", run_export, "grades for a platform", "export 04 --format moodle --to grades.csv")
    sub.add_argument("--format", choices=export.FORMATS, default="csv")
    sub.add_argument("--to", type=Path, help="a file (a folder for gradescope); else it is printed")
    sub.add_argument("--partial", action="store_true", help="although some are not settled")
    sub = command("feedback", run_feedback, "a page a student", "feedback 04 --book https://example.org/course/book")
    sub.add_argument("--book", default=None, metavar="ADDRESS",
                     help="where students find the book, for links (default: the one built here, if there is one)")
    sub = command("check", run_check, "what a learner's notebook is worth, without a gradebook", "check lab.ipynb",
                  False)
    sub.add_argument("notebook", type=Path)
    sub.add_argument("--set", choices=SETS, default=None)
    sub = command("similar", run_similar, "which submissions are alike: a hint, no verdict", "similar 04")
    sub.add_argument("--least", type=float, default=0.5, help="share of the work that is the same (default: 0.5)")
    sub.add_argument("--to", type=Path, help="the page (default: similar.html in the gradebook's folder)")
    sub = command("bundle", run_bundle, "a package for students, without answers", "bundle 04 05 --out w3.zip", False)
    sub.add_argument("sets", nargs="+", choices=SETS, metavar="SET", help=f"any of {', '.join(SETS)}")
    sub.add_argument("--out", type=Path, required=True, help="a new folder, or a name that ends in .zip")
    sub.add_argument("--book", default="", metavar="URL", help="where the chapters are, for links; else they are words")
    sub = command("sample", run_sample, "a made-up class to practise with, of set 04", "sample class", False)
    sub.add_argument("folder", type=Path)
    sub.add_argument("--students", type=int, default=30, help="8 to 30 (default: 30)")
    sub.add_argument("--seed", type=int, default=0)
    sub = command("selfcheck", run_selfcheck, "prove the questions themselves", "selfcheck", False)
    sub.add_argument("set", nargs="?", choices=SETS, default=None)
    return top


def main(arguments: list[str] | None = None) -> int:
    """Run a command; its exit code: 0 good, 1 something is wrong, 2 something is not settled, 64 a wrong argument."""
    a = parser().parse_args(arguments)
    try:
        return a.function(a)
    except BrokenPipeError:  # who reads has read enough, as `| head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return GOOD
    except (SandboxError, ValueError, FileNotFoundError, ModuleNotFoundError) as error:
        print(f"byhand-grade: {error}", file=sys.stderr)
        return WRONG


if __name__ == "__main__":
    sys.exit(main())
