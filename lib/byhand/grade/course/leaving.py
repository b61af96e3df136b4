"""The commands that read a gradebook: status, export, feedback, similar."""

import sys
from collections import Counter

from byhand.io.files import write_whole

from ..sets import questions_of
from . import export, feedback, spoilt, standing, ways
from .submission import read
from .terminal import GOOD, TITLES, UNSETTLED, called, gradebook, roster, say, set_of


def run_status(a) -> int:
    questions, most = set_of(a)
    with gradebook(a) as store:
        say(*standing.lines(store.rows(most, roster(a)), store.points(), questions, store.seconds(), store.lent(),
                            store.moved(), store.revisions()),
            *(f"look again: {student}: {why}" for student, why in spoilt.beside(store, questions)),
            *(f"look again: {student} {question} has points and uses {', '.join(names)}: read it"
              for student, question, names in ways.round_about(store, questions)))
    return GOOD


def run_export(a) -> int:
    questions, most = set_of(a)
    with gradebook(a) as store:
        rows, points = store.rows(most, roster(a)), store.points()
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
        made, files = 0, export.file_names(row.student for row in rows)
        for row in rows:
            if row.points is not None:
                mine = [p for p in points if p["student"] == row.student]
                target = folder / files[row.student]
                target.mkdir(exist_ok=True)
                write_whole(target / "results.json", export.gradescope(row, mine, questions).encode())
                made += 1
        say(f"{made} files results.json in {folder}")
        return GOOD
    text = export.table(rows, points, questions, TITLES[a.set], a.format, called(a))
    if a.to:
        write_whole(a.to, text.encode())
        say(f"{len(rows)} students in {a.to}, {sum(r.points is None for r in rows)} of them without a grade")
    else:
        sys.stdout.write(text)
    return GOOD


def run_feedback(a) -> int:
    questions, most = set_of(a)
    folder = a.store / a.set / "reports"
    with gradebook(a) as store:
        folder.mkdir(exist_ok=True)
        rows = [row for row in store.rows(most) if row.status not in ("waiting", "not submitted")]
        book, names = feedback.built_book(folder) if a.book is None else a.book, called(a)
        files = export.file_names(row.student for row in rows)
        others = spoilt.beside(store, questions)
        for row in rows:
            notes = [row.note, *(why for student, why in others if student == row.student)]
            row = row._replace(note="\n".join(filter(None, notes)))
            cells = read(store.submission(row.student)).cells
            page = feedback.page(row, store.points(row.student), questions, TITLES[a.set],
                                 store.pictures(row.student), cells, book, names.get(row.student, ""))
            write_whole(folder / f"{files[row.student]}.html", page.encode())
    say(f"{len(rows)} pages in {folder}")
    if not book:
        say("Sections are named, but not linked: say where the book is with --book ADDRESS")
    return GOOD


def run_similar(a) -> int:
    """Pairs that are alike, on a page, side by side."""
    from . import similar

    with gradebook(a) as store:
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
