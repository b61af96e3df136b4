"""From a submission to points: the code runs in the sandbox, and here only arrays are compared.

This process never runs a submission; the one that does never knows an expected value.
"""

import functools
import random
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from .. import crash, limits, model, run
from ..examine import Report, examine
from ..forbid import forbidden
from ..model import make_inputs
from ..run import Result
from ..sets import questions_of, references_of
from . import child, names, picture, sandbox, statements, worker
from .child import frames
from .crossing import of_cells, of_question
from .hidden import discreet
from .inert import inert
from .inputs import as_bytes, places_of, request
from .modules import HOME, needed
from .submission import Submission

ENDED = "your function ended the process that runs it, or took too much memory with processes of its own"
STUBS = ("check", "example", "hint", "selfcheck", "solution", "summary", "which_equation")


@dataclass(frozen=True)
class Graded:
    """One question of one submission."""

    question: str
    status: str  # "graded", "not attempted", "missing", "not allowed"
    points: int
    max_points: int
    text: str  # what a learner is told
    mistakes: tuple[str, ...] = ()  # names of the known mistakes that were recognised
    pictures: tuple[dict, ...] = ()  # of public cases, what came beside what was expected
    lent: tuple[str, ...] = ()  # earlier functions of which it counts with the right ones, its own being wrong


def grade(submission: Submission, set_id: str, key: bytes, confine=sandbox.confined, patience: float = 1.0):
    """Every question of the set, as Graded. `key` is the student's own: inputs differ from one to another.

    `patience` multiplies all limits of time. Raises SandboxError where nothing can be confined: nothing is run then,
    and OSError where this machine is too short of something to run it.
    """
    questions = questions_of(set_id)
    submission = submission.answering(questions)
    written = submission.written
    banned = {q.id: found for q in questions if q.name in written
              and (found := forbidden(submission.reached(q.name), q))}
    asked, parts = request(set_id, written.keys() - {q.name for q in questions if q.id in banned}, key, patience)
    answers = _apart(set_id, submission, asked, parts, confine) if asked["questions"] else {}
    found = {q.id: _graded(q, written, banned, answers.get(q.id), key, set_id, submission.modules) for q in questions}
    if lent := _leaning(questions, found, submission):
        names = {q.name for q in questions if q.id in lent}
        asked, parts = request(set_id, names, key, patience, lent)
        answers = _apart(set_id, submission, asked, parts, confine)
        for q in questions:
            if q.id in lent:
                again = _graded(q, written, {}, answers.get(q.id), key, set_id)
                found[q.id] = _better(q, found[q.id], again, lent[q.id])
    return tuple(found.values())


def _leaning(questions, found, submission) -> dict[str, list[str]]:
    """By question that lost points, the functions of earlier questions that it calls and that are wrong."""
    by_id, lent = {q.id: q for q in questions}, {}
    for q in questions:
        if q.uses and found[q.id].status in ("graded", "not allowed") and found[q.id].points < q.points:
            wrong = [by_id[i].name for i in q.uses if found[i].points < by_id[i].points]
            called = submission.reached(q.name, wrong)
            wrong = [name for name in wrong if name in called]
            if wrong and not forbidden(called, q):  # but for what the earlier ones use
                lent[q.id] = wrong
    return lent


def _better(question, first, again, lent) -> Graded:
    """The better of both. Of the second run nothing crosses but its points: an answer that has looked into a right
    function could put it into every word and number that it gives back."""
    if again.points <= first.points:
        return first
    said = first.text.splitlines()[1 if first.status == "graded" else 0:]
    text = "\n".join([f"{question.id}  {question.name}  {again.points} / {question.points} points",
                      f"  It counts with a right {' and '.join(lent)} in the place of yours. With yours:", *said])
    return replace(first, status=again.status, points=again.points, text=text, lent=tuple(lent))


def _graded(question, written, banned, answer, key, set_id, modules=None) -> Graded:
    most = question.points
    if question.name not in written:
        where = (modules or {}).get(question.name)
        where = f"; it is imported from {where}, and this file alone is graded" if where else ""
        return Graded(question.id, "missing", 0, most,
                      f"{question.id}  {question.name}: no function of this name{where}")
    if question.id in banned:
        names = ", ".join(banned[question.id])
        return Graded(question.id, "not allowed", 0, most,
                      f"{question.id}  {question.name}: uses {names}, which this exercise does not allow")
    results, notes, *around = answer
    expected = functools.partial(_expected, set_id, question, key)
    outcomes = examine(question, None, expected, question.cases, key, order=0,
                       runner=lambda case: results.get(case.name) or Result("error", text=notes[case.hidden]))
    outcomes = tuple(discreet(o, written, o.case.name in results) if o.case.hidden else o for o in outcomes)
    report = Report(question, outcomes)
    mistakes = dict.fromkeys(m.name for o in outcomes for m in (o.mutant, o.second) if m and not (o.others or o.nan))
    status = "graded" if report.attempted else "not attempted"
    pictures = picture.taken(question, outcomes, results, expected, key) if report.attempted else ()
    first, *rest = repr(report).splitlines()
    if results and report.points < most:
        rest = [*(f"  {line}" for lines in around for line in lines), *rest]
    return Graded(question.id, status, report.points, most, "\n".join([first, *rest]), tuple(mistakes), pictures)


@functools.lru_cache(maxsize=4096)
def _expected(set_id, question, key, case):
    """The right arrays for this student, from the reference, which stays on this side."""
    from ..judge import finish

    inputs = make_inputs(question, case, key)
    patient = replace(question, seconds=20 * question.seconds)
    result = run.run(references_of(set_id)[question.name], inputs, patient)
    if result.kind != "ok":
        raise OSError(f"the right answer to {question.id} came to {result.kind}; is this machine too busy?")
    return finish(question, inputs, result).arrays


def _apart(set_id, submission, asked, parts, confine) -> dict:
    """As `_answers`. Questions share a sandbox if they may use the same packages; one that is lent a right function has
    one for itself, where no other answer can leave or find anything."""
    known, groups, found = {q.id: q for q in questions_of(set_id)}, {}, {}
    for question in asked["questions"]:
        alone = question["id"] if question["lent"] else ""
        groups.setdefault((alone, *question["without"], *known[question["id"]].library), []).append(question)
    for listed in groups.values():
        found |= _answers(set_id, submission, asked | {"questions": listed}, parts, confine)
    return found


def _answers(set_id, submission, asked, parts, confine) -> dict:
    """By question, its results by case, and two sentences: for the open cases, and the hidden ones, of which nothing
    came back.

    A sandbox that ends between two answers may have been ended by one of those before. So each is asked alone then:
    what still ends it three times, behind its own function, is that function's doing, and before it, the machine's.
    """
    waiting, found, failed, alone = asked["questions"], {}, 0, False
    while waiting:
        now = waiting[:1] if alone else waiting
        ended, running, why = _ended(set_id, submission, asked | {"questions": now}, parts, confine)
        lost = [q["id"] for q in now if running != q["id"] and not {(q["id"], False), (q["id"], True)} <= ended.keys()]
        if lost and not running:
            failed, alone = failed + alone, True
            if failed == 3:
                if (lost[0], False) not in ended:
                    raise OSError(why)
                lost = []
        failed *= bool(lost)
        found |= {q["id"]: _both(q["id"], ended) for q in now if q["id"] not in lost}
        waiting = [q for q in waiting if q["id"] not in found]
    return found


def _ended(set_id, submission, asked, parts, confine) -> tuple:
    """From one sandbox: what came of each question, open and hidden; which one it ended in; else why it may have."""
    known = {q.id: q for q in questions_of(set_id)}
    due = {(q["id"], hidden) for q in asked["questions"] for hidden in (False, True)}
    ended, running, why = {}, None, "the sandbox ended before the answer was run; is this machine short of memory?"
    for head, data in frames(_once(set_id, submission, asked, parts, confine)):
        here = head.get("question"), head.get("hidden")
        if "failed" in head:
            why = f"the sandbox has failed, {inert(str(head['failed'])[:200])}"
        elif here in due and len(data) == 1:
            about = known[here[0]], head, data[0]
            ended[here], running = (*of_question(*about), of_cells(*about)), None
        elif here in due:
            running = here[0]
    return ended, running, why


def _both(question, ended):
    """What came back from the two children of a question, if both have ended."""
    nothing = {}, ENDED, []
    two = [ended.get((question, hidden), nothing) for hidden in (False, True)]
    results = {name: result for results, *_ in two for name, result in results.items()}
    return results, [note for _, note, _ in two], two[0][2]


def _once(set_id, submission, asked, parts, confine) -> bytes:
    """One sandbox for these questions: what it wrote."""
    torch = any(q["torch"] for q in asked["questions"])
    seconds = sum(2 * asked["load"] + q["seconds"] * (6 + len(q["cases"]) / 2) for q in asked["questions"])
    without = tuple(place for name in asked["questions"][0]["without"] for place in places_of(name))
    most = sandbox.Limits(seconds=seconds + 30, data=(2 if torch else 1) << 30, without=without)
    with tempfile.TemporaryDirectory(prefix="grade-") as folder:
        job = Path(folder) / "job"
        ids = {q["id"] for q in asked["questions"]}
        _write_job(job, [name for q in questions_of(set_id) if q.id in ids for name in q.library])
        for question in asked["questions"]:  # an answer cannot know which case it meets
            random.Random(str([c["place"] for c in question["cases"]])).shuffle(question["cases"])
        return confine(job, most, as_bytes(asked | {"cells": submission.cells}, parts)).data


def _write_job(job: Path, library=()) -> None:
    """The folder that the sandbox sees: of byhand what runs an answer, and the modules that answers may import."""
    package = job / "byhand" / "grade"
    package.mkdir(parents=True)
    (job / "byhand" / "__init__.py").write_text("")
    idle = "\n".join(f"def {name}(*_, **__): return None" for name in STUBS)
    (package / "__init__.py").write_text(f'"""Nothing is checked here."""\n{idle}\n')
    for module in (child, crash, limits, model, names, run, statements):
        shutil.copy(module.__file__, package)
    shutil.copy(worker.__file__, job / "worker.py")
    for path in needed(*library).values():
        target = job / path.relative_to(HOME.parent)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    for path in (job, *(path for path in job.rglob("*") if path.is_dir())):
        path.chmod(0o755)
