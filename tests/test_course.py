# ruff: noqa: E501
"""A class graded: no submission fools or harms the grader, nothing is lost or counted twice, no grade is a silent zero."""

import csv
import io
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
import zipfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import hostile
import pytest
from byhand.grade.course import (
    batch,
    cli,
    crossing,
    doctor,
    export,
    feedback,
    grading,
    inputs,
    sandbox,
    submission,
    syscalls,
)
from byhand.grade.course.collect import collect
from byhand.grade.course.store import Store
from byhand.grade.model import make_inputs
from byhand.grade.sets import SETS, questions_of
from confining import HAS_SANDBOX, confined
from hostile import ATTACKS, FULL, HEAD, KEY, QUICK, TOP, A, B, C, body, graded_of, left_over, notebook
from proofs import as_shipped


@pytest.fixture(scope="module", autouse=True)
def plain():
    with as_shipped():
        yield


def points_of(graded):
    return {g.question: g.points for g in graded if g.question in FULL}


# Hostile submissions


@pytest.fixture(scope="module")
def rows(request, tmp_path_factory):
    """What becomes of the attacks that are tried in this run."""
    with hostile.told_at_once(asked(request), tmp_path_factory.mktemp("attacks")) as rows:
        yield rows


def asked(request):
    """The attacks of a module's tests, of those that this run has chosen."""
    here = [item for item in request.session.items if item.path == request.path and hasattr(item, "callspec")]
    return [item.callspec.params["attack"] for item in here if "attack" in item.callspec.params]


@confined
@pytest.mark.parametrize("attack", [*ATTACKS, *TOP], ids=lambda a: a.name)
def test_an_attack_gets_what_it_is_due(attack, rows):
    """Its untouched questions keep their points, it harms nothing, and leaves no process behind."""
    row = rows[attack.name].result()
    assert row["right"] and attack.says in row["text"], row


@confined
def test_harm_outside_is_seen(tmp_path, monkeypatch):
    """In a sandbox to which the machine's folder for files of a moment is open."""
    real, open_ = sandbox.command, tempfile.gettempdir()
    monkeypatch.setattr(sandbox, "command", lambda *a: [x for w in real(*a) for x in (["--bind", open_, open_, w] if w == "--proc" else [w])])
    for name in ("files of the course deleted", "a start-up file planted", "the grades edited"):
        assert hostile.told(next(a for a in ATTACKS if a.name == name), tmp_path)["harm"] == "files changed", name


def test_what_is_left_over_is_found_by_its_folder(tmp_path):
    """And not in that of another attack whose name begins alike."""
    child = subprocess.Popen([sys.executable, "-c", "print('here', flush=True), input()", f"{tmp_path}/attack12/grade-x/job/worker.py"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        child.stdout.readline()
        assert [len(left_over(tmp_path / name)) for name in ("attack12", "attack1", "attack121")] == [1, 0, 0]
    finally:
        child.communicate(b"\n")
    assert not left_over(tmp_path / "attack12")


def test_the_attacks_are_many_and_of_every_kind():
    assert len(ATTACKS) >= 50 and len({a.name for a in ATTACKS}) == len(ATTACKS)
    assert {a.kind for a in ATTACKS} == {"loop", "recursion", "memory", "processes", "disk", "exit", "forgery", "harm", "accident", "output"}


@confined
def test_after_an_attack_the_next_honest_one_gets_everything(tmp_path):
    graded_of(tmp_path, next(a for a in ATTACKS if a.name == "the worker killed").data)
    assert points_of(graded_of(tmp_path, notebook(HEAD, A, B, C))[1]) == FULL


@confined
def test_what_never_ran_is_no_zero(tmp_path, monkeypatch):
    """Where there is not even room for Python, it is the machine's fault and not the answer's."""
    real = sandbox.command
    monkeypatch.setattr(sandbox, "command", lambda *a: ["--data=2000000" if w.startswith("--data=") else w for w in real(*a)])
    (tmp_path / "a.ipynb").write_bytes(notebook(HEAD, A, B, C))
    status, note, _, graded = batch.one(str(tmp_path / "a.ipynb"), "04", KEY)
    assert (status, graded) == ("error", ()) and "before the answer was run" in note


def test_a_right_answer_that_is_late_is_no_expected_value(monkeypatch, tmp_path):
    """On a machine that is too busy for it: an error, and neither a zero nor the end of the batch."""
    monkeypatch.setattr(grading.run, "run", lambda *a: grading.Result("late"))
    monkeypatch.setattr(grading, "_answers", lambda *a: {i: ({}, ["", ""]) for i in FULL})
    grading._expected.cache_clear()
    (tmp_path / "a.ipynb").write_bytes(notebook(HEAD, A, B, C))
    status, note, _, graded = batch.one(str(tmp_path / "a.ipynb"), "04", b"late")
    assert (status, graded) == ("error", ()) and "too busy" in note


# The sandbox


@confined
@pytest.mark.parametrize("loosened, seen", [
    (("--unshare-net",), "reached by network"), (("--unshare-net",), "another network"),
    (("--unshare-pid",), "processes of others are seen"), (("--ro-bind",), "its own job"), (("--data=",), "1.5 GB"),
    (("--nproc=",), "90 children"), (("--remount-ro",), "for the next submission"),
    (("--inh-caps", "--bounding-set", "--reuid"), "rights of root")])
def test_a_looser_sandbox_is_found(loosened, seen, monkeypatch):
    """One word of the command left out or made weak, and the doctor says which probe came through."""
    if seen == "rights of root" and os.geteuid() != 0:
        return  # nobody has them here, and the command has no word against them
    real = sandbox.command

    def weak(job, *rest):
        line = real(job, *rest)
        if loosened[0] == "--ro-bind":
            place = line.index(str(job))
            job.chmod(0o777)
            (job / "worker.py").chmod(0o666)
            return [*line[:place - 1], "--bind", *line[place:]]
        if loosened[0] == "--remount-ro":  # one folder of the machine
            place = line.index("--remount-ro")
            return [*line[:place], "--dev-bind", "/var/tmp", "/shared", *line[place:]]
        return [word for word in line if not word.startswith(loosened)]

    monkeypatch.setattr(sandbox, "command", weak)
    bad = [f.what for f in doctor.probe("sandbox", brief=True) if not f.ok]
    assert any(seen in what for what in bad), bad


@confined
@pytest.mark.parametrize("name", ["ptrace", "keyctl", "unshare", "io_uring_setup"])
def test_a_hole_in_the_filter_is_found(name, monkeypatch):
    """One call less is refused, and the doctor names it; with the whole filter it finds none."""
    if not syscalls.program():
        return
    assert doctor.CALLS not in doctor.left_open("sandbox")
    every = syscalls.numbers()
    monkeypatch.setattr(syscalls, "numbers", lambda: {k: v for k, v in every.items() if k != name})
    holed = syscalls.program.__wrapped__()
    monkeypatch.setattr(syscalls, "numbers", lambda: every)
    monkeypatch.setattr(syscalls, "program", lambda: holed)
    found = {f.what: f for f in doctor.probe("sandbox", brief=True)}
    assert found[doctor.CALLS].text == name and found[doctor.CALLS].promised and not found[doctor.CALLS].ok


@confined
def test_without_a_filter_the_sandbox_still_holds(monkeypatch, capsys):
    """The doctor says that it is missing, in one line, and grading goes on."""
    monkeypatch.setattr(syscalls, "_library", lambda: None)
    for made in (syscalls.program, syscalls.numbers):
        monkeypatch.setattr(syscalls, made.__name__, made.__wrapped__)
    doctor.prove("sandbox")
    assert cli.main(["doctor"]) == cli.GOOD
    said = capsys.readouterr().out
    assert f"open    {doctor.CALLS}: ptrace" in said and "install the package libseccomp2" in said and "OPEN" not in said


def test_the_filter_refuses_what_it_should():
    """At least these, and no namespace by clone; by the words of libseccomp itself."""
    if not syscalls.program():
        return
    assert syscalls.numbers().keys() >= set(
        "ptrace process_vm_readv process_vm_writev mount umount2 pivot_root unshare setns keyctl add_key request_key bpf userfaultfd "
        "memfd_create shmget msgget perf_event_open io_uring_setup io_uring_enter io_uring_register kexec_load init_module finit_module delete_module".split())
    assert not syscalls.numbers().keys() & {"clone", "clone3", "fork", "vfork", "execve", "setresuid", "prlimit64", "prctl"}


def test_without_a_sandbox_nothing_is_graded(tmp_path, monkeypatch, capsys):
    """Neither here nor by the command: no row is written, and the words say what to install."""
    monkeypatch.setattr(sandbox.shutil, "which", lambda name: None)
    with pytest.raises(sandbox.SandboxError, match="install the package bubblewrap"):
        graded_of(tmp_path, notebook(HEAD, A, B, C))
    assert [f.ok for f in doctor.probe()] == [False]
    assert cli.main(["doctor"]) == cli.WRONG and "Nothing may be graded" in capsys.readouterr().out


BOMB = "import os, time\nn = 0\ntry:\n    while True:\n        if os.fork() == 0:\n            time.sleep(60)\n            os._exit(0)\n        n += 1\nexcept OSError:\n    os.write(int(os.environ['RESULT_FD']), b'%d' % n)\nwhile not os.path.exists('/job/stop'):\n    time.sleep(0.02)"
CHILD = "import os\nif os.fork() == 0:\n    os._exit(0)\nos.wait()\nos.write(int(os.environ['RESULT_FD']), b'ok')"


def ran(job, text, seconds):
    job = Path(job)
    job.mkdir()
    (job / "worker.py").write_text(text)
    return sandbox.confined(job, sandbox.Limits(seconds=seconds)).data


@confined
def test_who_is_graded_at_the_same_time_loses_nothing(tmp_path):
    """The limit of processes counts those of one user, in whatever sandbox: each has a user of its own."""
    tmp_path.chmod(0o755)
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        bomb = pool.submit(ran, tmp_path / "bomb", BOMB, 60)
        until = time.monotonic() + 60
        while len(left_over(tmp_path / "bomb")) < 50 and time.monotonic() < until:
            time.sleep(0.1)
        honest = [pool.submit(ran, tmp_path / f"honest{i}", CHILD, 60) for i in range(3)]
        assert [h.result() for h in honest] == [b"ok"] * 3
        assert not bomb.done() and len(left_over(tmp_path / "bomb")) > 50
        (tmp_path / "bomb" / "stop").touch()  # it sees its folder, as it is now
        assert 50 < int(bomb.result()) < 64


@confined
def test_a_machine_without_room_for_a_process_is_an_error_and_no_zero(tmp_path, monkeypatch):
    real = sandbox.command
    monkeypatch.setattr(sandbox, "command", lambda *a, **k: [w if not w.startswith("--nproc=") else "--nproc=1" for w in real(*a, **k)])
    (tmp_path / "a.ipynb").write_bytes(notebook(HEAD, A, B, C))
    status, note, _, graded = batch.one(str(tmp_path / "a.ipynb"), "04", KEY)
    assert (status, graded) == ("error", ()) and "no process can be started" in note


@confined
def test_a_sandbox_that_cannot_be_made_is_an_error_and_no_zero(tmp_path, monkeypatch):
    real = sandbox.command
    monkeypatch.setattr(sandbox, "command", lambda *a, **k: [w if w != "/job" else "/proc/1/mem/x" for w in real(*a, **k)])
    with pytest.raises(sandbox.SandboxError, match="cannot be made here"):
        graded_of(tmp_path, notebook(HEAD, A, B, C))


def test_the_worker_refuses_to_run_outside():
    """It ends all processes that it can see; outside that would be the instructor's."""
    done = subprocess.run([sys.executable, grading.worker.__file__], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "by the sandbox alone" in done.stderr


# What goes in, and what comes out


@pytest.mark.parametrize("set_id", SETS)
def test_inputs_go_in_as_they_are_made_here(set_id):
    """Plain ones come out of the request again; of others the source that is sent makes the same."""
    from byhand.grade.course.child import thawed

    names = {q.name for q in questions_of(set_id)}
    asked, parts = inputs.request(set_id, names, KEY)
    by_id = {q.id: q for q in questions_of(set_id)}
    for q in asked["questions"]:
        for case in q["cases"]:
            real = by_id[q["id"]].cases[case["place"]]
            assert real.name not in case.values()  # an answer may look into the frames that call it
            right = make_inputs(by_id[q["id"]], real, KEY)
            if case["make"]:
                assert int(case["seed"]) == inputs.seed_of(KEY, by_id[q["id"]], real) and q["source"]
                compile(q["source"], "source", "exec")
                continue
            found = {name: thawed(json.loads(json.dumps(x)), parts[case["hidden"]]) for name, x in case["inputs"].items()}
            assert list(found) == list(right) and all(same(found[k], right[k]) for k in right)


def same(a, b):
    import numpy as np

    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return a == b or a != a


@pytest.mark.parametrize("set_id", SETS)
def test_what_goes_in_holds_no_reference_and_no_mistake(set_id):
    """No line of a reference, of a known mistake, of points or of a message."""
    asked, _ = inputs.request(set_id, {q.name for q in questions_of(set_id)}, KEY)
    text = "\n".join(q["source"] for q in asked["questions"])
    names = {m.name for q in questions_of(set_id) for m in q.mutants} | {m.message for q in questions_of(set_id) for m in q.mutants}
    assert "mutants" not in text and "Mutant" not in text and "points" not in json.dumps([list(q) for q in asked["questions"]])
    if set_id == "05":  # its answer is handed the layers themselves; the table of them is forgotten before it runs
        names.discard("cut and merged without transpose")
    assert not [name for name in names if len(name) > 25 and name in text]


@confined
@pytest.mark.parametrize("set_id", SETS)
def test_a_reference_gets_full_marks_in_the_sandbox(set_id, tmp_path):
    source = Path(grading.__file__).parents[1] / "reference" / f"{SETS[set_id]}.py"
    path = tmp_path / "right.py"
    path.write_text(source.read_text())
    short = [(g.question, g.text) for g in grading.grade(submission.read(path), set_id, b"another student") if g.points < g.max_points]
    assert not short


FRAMES = {  # what a submission may have written where results are read
    "nothing": b"", "half a length": b"\0\0", "a length and nothing": b"\0\0\1\0", "no JSON": b"\0\0\0\4abcd",
    "a list": b"\0\0\0\2[]", "sizes of words": b'\0\0\0\x11{"sizes": ["big"]}', "sizes below zero": b'\0\0\0\x0f{"sizes": [-1]} ',
    "more than there is": b'\0\0\0\x17{"sizes": [99999999999]}'}


@pytest.mark.parametrize("name", FRAMES)
def test_what_is_no_frame_ends_the_reading(name):
    assert list(grading.frames(FRAMES[name])) == []


def test_an_array_that_lies_is_none():
    question = questions_of("04")[1]
    right = {"kind": "ok", "text": "", "changed": [], "events": [], "arrays": [{"dtype": "<f8", "shape": [2]}]}
    assert crossing.read(right, [bytes(16)], question).arrays[0].tolist() == [0, 0]
    for dtype, shape, size in (("<f8", [3], 16), ("<f8", [-2, -1], 16), ("O", [2], 16), ("<f8", [10**12, 10**12], 16),
                               ("<U4", [1], 16), ("<f8", [2.5], 16), ("V16", [1], 16), ("<M8[s]", [2], 16), ("f8", "no", 16)):
        assert crossing.read(right | {"arrays": [{"dtype": dtype, "shape": shape}]}, [bytes(size)], question) is None, dtype
    for wrong in ({"kind": "full marks"}, {"arrays": []}, {"arrays": 3}, {"kind": None}):
        assert crossing.read(right | wrong, [bytes(16)], question) is None


@confined
def test_students_get_other_numbers_but_see_the_same_public_case(tmp_path):
    """An answer that knows the public numbers by heart is not an answer."""
    q = questions_of("04")[1]
    case = q.public[0]
    one, two = (make_inputs(q, case, batch.student_key(b"course", "04", name)) for name in ("ann", "bob"))
    assert not same(one, two) and same(one, make_inputs(q, case, batch.student_key(b"course", "04", "ann")))


def test_no_hidden_input_is_shown(tmp_path):
    """Of a hidden case a learner hears a known mistake, and neither shapes nor numbers."""
    if not HAS_SANDBOX:
        return
    wrong = body(B, "if A.shape[-1] == A.shape[-2]:\n    return A * dA * 0 + 77.125")
    _, graded = graded_of(tmp_path, notebook(HEAD, A, wrong, C))
    text = next(g.text for g in graded if g.question == "04.2")
    assert "FAIL  square" in text and "77.125" not in text and "(4, 4)" not in text and points_of(graded)["04.2"] < 2


# Collected, graded, kept


def class_of(folder, names, cells=(HEAD, A, B, C)):
    folder.mkdir(exist_ok=True)
    for i, name in enumerate(names):
        (folder / f"{name}.ipynb").write_bytes(notebook(*cells, f"mine = {i}"))


def test_submissions_are_found_by_the_names_that_platforms_give(tmp_path):
    target = tmp_path / "moodle.zip"
    link = zipfile.ZipInfo("Eve Link_77_assignsubmission_file_/x.ipynb")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("Ann Example_1234_assignsubmission_file_/lab.ipynb", notebook(A))
        file.writestr("exampleben_5678_91011_lab.ipynb", notebook(B))
        file.writestr("carl/lab.ipynb", notebook(C))
        file.writestr("../../../dora.ipynb", notebook(C, "1"))
        file.writestr("__MACOSX/._lab.ipynb", b"")
        file.writestr("bomb/lab.ipynb", b"0" * (200 << 20))
        file.writestr(link, "/etc/passwd")
    with Store(tmp_path / "store") as store:
        found = collect(store, target)
        again = collect(store, target)
        inside = sorted(p.name for p in (tmp_path / "store" / "inbox").iterdir())
    assert sorted(found.kept) == ["1234", "5678", "bomb", "carl"] and sorted(again.known) == sorted(found.kept)
    assert found.refused == ["../../../dora.ipynb: a path that leads elsewhere; pack the files anew", "Eve Link_77_assignsubmission_file_/x.ipynb: a link"]
    assert all(re.fullmatch(r"[0-9a-f]{64}\.ipynb", name) for name in inside) and not (tmp_path / "dora.ipynb").exists()


def test_a_roster_tells_who_is_missing(tmp_path):
    class_of(tmp_path / "in", ["Ann", "stranger"])
    (tmp_path / "in" / "link.ipynb").symlink_to("/etc/passwd")
    with Store(tmp_path / "store") as store:
        found = collect(store, tmp_path / "in", ["ann", "ben"])
    assert (found.kept, found.missing, found.strangers) == (["ann"], ["ben"], ["stranger"])
    assert found.refused == ["link.ipynb: a link"]


def test_rows_are_only_ever_added(tmp_path):
    with Store(tmp_path) as store:
        store.receive("ann", "a.ipynb", "0" * 64, ".ipynb", b"x")
        store.keep(1, 1, "graded", "sandbox", "", 0.1, [grading.Graded("04.1", "graded", 3, 3, "text")])
        store.override("ann", "04.1", 1, "seen")
        for line in ("UPDATE result SET points = 9", "DELETE FROM override", "UPDATE attempt SET status = 'x'", "DELETE FROM submission"):
            with pytest.raises(sqlite3.IntegrityError, match="only ever added"):
                store.db.execute(line)
        assert not store.keep(1, 1, "graded", "sandbox", "", 0.1, [grading.Graded("04.1", "graded", 0, 3, "text")])
        assert [r.points for r in store.rows(3)] == [1]


def test_a_regrade_that_fails_leaves_no_number(tmp_path):
    """Neither the old one nor a zero; and a round counts only once it is applied."""
    with Store(tmp_path) as store:
        store.receive("ann", "a.ipynb", "0" * 64, ".ipynb", b"x")
        store.keep(1, 1, "graded", "sandbox", "", 0.1, [grading.Graded("04.1", "graded", 3, 3, "text")])
        number = store.new_round("mended")
        store.keep(1, number, "error", "sandbox", "disk full", 0.1, [])
        assert [r.points for r in store.rows(3)] == [3]
        store.apply(number)
        assert [(r.status, r.points, r.note) for r in store.rows(3, ["ben"])] == [("error", None, "disk full"), ("not submitted", None, "")]
        store.receive("ann", "b.ipynb", "1" * 64, ".ipynb", b"y")  # a later submission: the old grade is not its grade
        assert [r.status for r in store.rows(3)] == ["waiting"]


BATCH = "import sys; from byhand.grade.course import cli; sys.exit(cli.main(sys.argv[1:]))"


@confined
def test_the_same_submission_twice_gives_the_same_rows(tmp_path):
    (tmp_path / "a.ipynb").write_bytes(notebook(HEAD, A.replace("np.sqrt(Q.shape[-1])", "1"), B, C))
    one, two = (batch.one(str(tmp_path / "a.ipynb"), "04", KEY, QUICK) for _ in range(2))
    assert one[:2] == two[:2] and one[3] == two[3] and "no scale" in one[3][0].mistakes


# What leaves


ROWS = [("ann", "graded", 3.5), ("=cmd()", "graded", 0), ("ben", "unreadable", None), ("carl", "not submitted", None)]


def exported(kind):
    from byhand.grade.course.store import Row

    questions = questions_of("04")[:2]
    rows = [Row(name, status, points, 5, "=1+1" if points is None else "") for name, status, points in ROWS]
    points = [{"student": "ann", "question": "04.1", "status": "graded", "max_points": 3, "automatic": 3, "given": 1.5, "text": "ok <b>", "mistakes": "[]"},
              {"student": "ann", "question": "04.2", "status": "graded", "max_points": 2, "automatic": 2, "given": None, "text": "ok", "mistakes": "[]"}]
    return rows, points, questions, kind


@pytest.mark.parametrize("kind", ["csv", "canvas", "moodle"])
def test_exported_tables_are_read_back(kind):
    rows, points, questions, _ = exported(kind)
    read = list(csv.DictReader(io.StringIO(export.table(rows, points, questions, "Exercises 4", kind))))
    column = {"csv": "points", "canvas": "Exercises 4", "moodle": "Grade"}[kind]
    read = read[1:] if kind == "canvas" else read
    assert [row[column] for row in read] == ["3.5", "0", "", ""]  # no grade is not a zero
    assert not [x for row in read for x in row.values() if x.startswith(("=", "+", "@"))]
    if kind == "moodle":  # it refuses a file without these three, in these words
        assert {"Identifier", "Grade", "Last modified (grade)"} <= set(read[0]) and read[0]["Identifier"] == "Participant ann"
    if kind == "csv":
        assert read[0]["04.1"] == "1.5" and read[2]["04.1"] == "" and read[3]["status"] == "not submitted"


def test_gradescope_gets_its_file_or_none():
    rows, points, questions, _ = exported("gradescope")
    read = json.loads(export.gradescope(rows[0], points, questions))
    assert read["score"] == sum(t["score"] for t in read["tests"]) == 3.5 and read["tests"][1]["max_score"] == 2
    with pytest.raises(ValueError, match="ben is unreadable, expected a grade"):
        export.gradescope(rows[2], [], questions)


def test_feedback_is_one_page_and_says_only_text():
    rows, points, questions, _ = exported("csv")
    page = feedback.page(rows[0], points, questions, "Exercises 4")
    assert "ok &lt;b&gt;" in page and "ok <b>" not in page and "1.5 of 3" in page and "given by your instructor" in page
    assert not re.search(r"<script|https?:|<link|<img|@import|url\(", page)


@confined
def test_the_whole_way_by_commands(tmp_path, capsys):
    """collect, grade, status, override, export, feedback, regrade: exit codes, and what to do next."""
    class_of(tmp_path / "in", ["ann", "ben"])
    (tmp_path / "in" / "ben.ipynb").write_bytes(notebook(HEAD, A.replace("np.sqrt(Q.shape[-1])", "1"), B, C))
    (tmp_path / "in" / "eve.ipynb").write_bytes(b"{")
    (tmp_path / "roster.csv").write_text("student\nann\nben\neve\nzoe\n")

    def do(*words):
        code = cli.main(["--store", str(tmp_path / "grades"), *words])
        return code, capsys.readouterr().out

    code, said = do("collect", "04", str(tmp_path / "in"), "--roster", str(tmp_path / "roster.csv"))
    assert code == 0 and "missing: zoe" in said and "byhand-grade grade 04" in said
    assert do("export", "04")[0] == cli.UNSETTLED
    assert do("grade", "04") == (0, "2 graded, 1 unreadable\nNext: byhand-grade status 04\n")
    code, said = do("status", "04")
    assert "2 graded, 1 not submitted, 1 unreadable" in said and "1 of 2  04.1  no scale" in said
    assert do("override", "04", "ben", "04.1", "9", "--note", "x")[0] == cli.USAGE
    assert do("override", "04", "ben", "04.1", "2", "--note", "seen in person")[0] == 0
    code, said = do("export", "04")
    assert [line.split(",")[:3] for line in said.splitlines()[1:]] == [["ann", "graded", "7"], ["ben", "graded", "6"], ["eve", "unreadable", ""], ["zoe", "not submitted", ""]]
    code, said = do("regrade", "04", "--because", "nothing")
    assert "0 of 3 change" in said and do("regrade", "04", "--apply", "2")[0] == 0
    assert do("export", "04")[1].splitlines()[2].startswith("ben,graded,6")
    assert do("feedback", "04", "--book", "../book") == (0, f"3 pages in {tmp_path / 'grades' / '04' / 'reports'}\n")
    assert do("export", "04", "--format", "gradescope")[0] == 0
    assert json.loads((tmp_path / "grades/04/gradescope/ben/results.json").read_text())["score"] == 6
    assert oct((tmp_path / "grades" / "course.key").stat().st_mode)[-3:] == "600"


@confined
def test_a_learner_can_check_a_file(tmp_path, capsys):
    (tmp_path / "a.ipynb").write_bytes(notebook(HEAD, A, B, C))
    assert cli.main(["check", str(tmp_path / "a.ipynb")]) == 0 and "7 of 7 points" in capsys.readouterr().out


def test_every_command_has_an_example(capsys):
    for name in ("doctor", "collect", "grade", "regrade", "status", "override", "export", "feedback", "check", "bundle", "similar", "selfcheck"):
        with pytest.raises(SystemExit):
            cli.main([name, "--help"])
        assert f"example: byhand-grade {name}" in capsys.readouterr().out
