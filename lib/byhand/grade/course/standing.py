"""How a class stands, in lines of text: each question, which of them divide the class, and what was misunderstood."""

import json
from collections import Counter

import numpy as np

from .store import earned
from .submission import NONE

FEW = 8  # graded students: with fewer a correlation says nothing


def lines(rows, points, questions, seconds=(), lent=(), moved=(), revisions=()) -> list[str]:
    """What `status` prints. `rows` and `points` as the store has them, `seconds` pairs of student and seconds."""
    most = sum(q.points for q in questions)
    said = [", ".join(f"{n} {status}" for status, n in sorted(Counter(r.status for r in rows).items())) or "nobody yet"]
    tiers = Counter(r.tier for r in rows if r.tier)
    if tiers:
        said += ["isolation: " + ", ".join(f"{n} {tier}" for tier, n in sorted(tiers.items()))]
    got = [r.points for r in rows if r.points is not None]
    if got:
        said += [f"points: mean {sum(got) / len(got):.1f} of {most}, lowest {min(got):g}, highest {max(got):g}", ""]
        said += _table(points, questions)
    said += _mistakes(points, questions, len(got))
    if seconds:
        slow = sorted(seconds, key=lambda x: (-x[1], x[0]))[:3]
        said += ["", f"seconds a submission: median {np.median([s for _, s in seconds]):.1f}, the slowest "
                     + ", ".join(f"{student} {s:.1f}" for student, s in slow)]
    said += [f"{student} {question} counts with a right {' and '.join(names)}" for student, question, names in lent]
    said += [f"look again: {row.student} has {NONE} in the file that counts" for row in rows
             if row.status == "graded" and NONE in row.note.splitlines()]
    if len(revisions) > 1:
        said += [f"look again: {' and '.join(str(n) for n in revisions.values())} submissions were graded by different "
                 "states of the course; byhand-grade regrade brings all to one"]
    said += [f"look again: {student} {question} was given {given:g} by hand when the grader gave {before:g}; it now "
             f"gives {automatic:g}" for student, question, given, before, automatic in moved]
    told = {row[:2] for row in moved}
    moved = [p for p in points if p["given"] is not None and p["given"] < p["automatic"]
             and (p["student"], p["question"]) not in told]
    return said + [f"look again: {p['student']} {p['question']} was given {p['given']:g}, now earns {p['automatic']:g}"
                   for p in moved]


def _table(points, questions):
    apart, mine = divides(points), {}
    for p in points:
        mine.setdefault(p["question"], []).append(earned(p))
    yield "question  full  none  mean  divides  title"
    for q in questions:
        if x := mine.get(q.id):
            r = "" if apart.get(q.id) is None else f"{apart[q.id]:.2f}"
            yield (f"{q.id:8}  {sum(v == q.points for v in x):4}  {sum(v == 0 for v in x):4}  {sum(x) / len(x):4.1f}  "
                   f"{r:>7}  {q.title} ({q.points})")
    known = {q: r for q, r in apart.items() if r is not None}
    if known:
        best = max(known, key=known.get)
        yield f"{best} divides the class most: who has it has most of the rest as well"
        yield from (f"{q} may be at fault: those who have it have less of the rest" for q in known if known[q] < 0)


def divides(points) -> dict[str, float | None]:
    """By question, the correlation of its points with those of all others, over the class; None where everybody has
    the same, or the class is small.  Near 1 it tells the strong from the weak, near 0 it is luck, below it misleads."""
    students, names = (sorted({p[k] for p in points}) for k in ("student", "question"))
    if len(students) < FEW:
        return dict.fromkeys(names)
    table = np.zeros((len(students), len(names)))
    for p in points:
        table[students.index(p["student"]), names.index(p["question"])] = earned(p)
    rest = table.sum(axis=1, keepdims=True) - table
    x, y = table - table.mean(axis=0), rest - rest.mean(axis=0)
    scale = np.sqrt((x * x).sum(axis=0) * (y * y).sum(axis=0))
    return {name: float((x[:, i] * y[:, i]).sum() / scale[i]) if scale[i] > 1e-12 else None
            for i, name in enumerate(names)}


def _mistakes(points, questions, graded):
    """The commonest known mistakes of the class, in the words that meet them, and where to read again."""
    known = {(q.id, m.name): m for q in questions for m in q.mutants}
    counted = Counter((p["question"], name) for p in points for name in set(json.loads(p["mistakes"])))
    said = ["", "commonest mistakes"] if counted else []
    for (question, name), n in sorted(counted.items(), key=lambda x: (-x[1], x[0]))[:10]:
        said.append(f"  {n:4} of {graded}  {question}  {name}")
        if m := known.get((question, name)):
            said.append(f"        {m.message}  -> section {m.section}")
    return said
