# ruff: noqa: E501
"""Where submissions run, if not in the sandbox: what a process of its own and a container promise, and keep."""

import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from byhand.grade.course import batch, cli, doctor, grading, isolation, keeper, sandbox
from byhand.grade.course.store import Store
from confining import confined
from hostile import ATTACKS, HEAD, KEY, A, B, C, graded_of, notebook, processes, told_at_once
from test_course import BATCH, asked, plain  # noqa: F401

LIBRARY = Path(grading.__file__).parents[3]
FORGERIES = [a for a in ATTACKS if a.kind == "forgery"]
KEPT = [a for a in ATTACKS if a.name in ("a loop deaf to signals", "fifty children", "three gigabytes", "the worker killed",
                                         "a result of a gigabyte")]
PROMISED = {"1.5 GB of memory are had", "rights of root are kept", doctor.TOGETHER, doctor.SLEEPS}


# A process of its own


@pytest.fixture(scope="module")
def rows(request, tmp_path_factory):
    """What becomes of the attacks that are tried in this run."""
    grade = functools.partial(graded_of, confine=isolation.separate)
    with told_at_once(asked(request), tmp_path_factory.mktemp("attacks"), grade) as rows:
        yield rows


@pytest.mark.parametrize("attack", FORGERIES, ids=lambda a: a.name)
def test_a_forgery_is_worth_the_same_without_a_sandbox(attack, rows):
    """Expected values are in another process all the same."""
    row = rows[attack.name].result()
    assert row["right"], row


@pytest.mark.parametrize("attack", KEPT, ids=lambda a: a.name)
def test_what_a_process_starts_ends_with_it(attack, rows):
    """And the rest of the submission is worth what it is."""
    row = rows[attack.name].result()
    assert row["harm"] == "none" and row["right"], row


def test_the_doctor_says_what_a_process_leaves_open(capsys):
    found = {f.what: f for f in doctor.probe("process")}
    assert {f.what for f in found.values() if f.promised} >= PROMISED
    assert all(f.ok for f in found.values() if f.promised), found
    assert not found["a file outside is read"].ok and not found["the machine is reached by network"].ok


@pytest.mark.parametrize(("name", "weak", "seen"), [
    ("end_all", lambda: None, doctor.SLEEPS), ("NO_RIGHTS", (), "rights of root are kept"),
    ("Limits", lambda data=0, real=sandbox.Limits, **k: real(data=4 << 30, **k), "1.5 GB of memory are had")])
def test_a_weaker_process_is_found(name, weak, seen, monkeypatch, tmp_path):
    if name == "end_all":  # the keeper is a program of its own
        text = Path(keeper.__file__).read_text().replace("\n    end_all()", "\n    os.kill(worker, signal.SIGKILL)")
        (tmp_path / "keeper.py").write_text(text)
        monkeypatch.setattr(keeper, "__file__", str(tmp_path / "keeper.py"))
    else:
        monkeypatch.setattr(sandbox, name, weak)
    if name == "NO_RIGHTS" and os.geteuid() != 0:
        return  # nobody but root has rights to lose
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    bad = {f.what for f in doctor.probe("process", brief=name != "end_all") if f.promised and not f.ok}
    for pid in {p for p, line in processes().items() if f"{tmp_path}/" in line}:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    assert seen in bad


def test_a_keeper_outlives_no_grader(tmp_path):
    """Killed in the middle of a submission, the grader takes it along."""
    (tmp_path / "worker.py").write_text("import os, time\nos.fork()\nos.setsid() if os.getpid() != os.getsid(0) else 0\n"
                                        "os.write(int(os.environ['RESULT_FD']), b'x')\ntime.sleep(300)\n")
    text = f"import pathlib\nfrom byhand.grade.course import isolation\nisolation.separate(pathlib.Path({str(tmp_path)!r}))"
    grader = subprocess.Popen([sys.executable, "-c", text])

    def there():
        return [p for p, line in processes().items() if str(tmp_path) in line and int(p) != grader.pid]

    until = time.monotonic() + 120
    while len(there()) < 3 and time.monotonic() < until:  # the keeper, and two that sleep
        time.sleep(0.05)
    assert len(there()) >= 3
    grader.kill()
    grader.wait()
    while there() and time.monotonic() < until:
        time.sleep(0.05)
    assert not there()


def test_without_the_words_no_process_is_used(tmp_path, capsys):
    """Neither by grade nor by regrade; and with them, what ran there is written into every attempt and leaves with it."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "ann.ipynb").write_bytes(notebook(HEAD, A, B, C))

    def do(*words):
        code = cli.main(["--store", str(tmp_path / "grades"), *words])
        return code, *capsys.readouterr()

    assert do("collect", "04", str(tmp_path / "in"))[0] == 0
    for words in (("grade", "04"), ("regrade", "04", "--because", "x")):
        code, _, said = do(*words, "--isolation", "process")
        assert code == cli.USAGE and "a file outside is read" in said and "--i-trust-these-submissions" in said
    with Store(tmp_path / "grades" / "04") as store:
        assert not store.db.execute("SELECT 1 FROM attempt").fetchone() and store.last_applied() == 1
    assert do("grade", "04", "--isolation", "process", "--i-trust-these-submissions")[0] == 0
    with Store(tmp_path / "grades" / "04") as store:
        assert [tuple(row) for row in store.db.execute("SELECT status, tier FROM attempt")] == [("graded", "process")]
    assert "isolation: 1 process" in do("status", "04")[1]
    code, out, said = do("export", "04")
    assert code == 0 and "graded,7," in out and ",process," in out and "1 process" in said
    assert "[process]" in do("export", "04", "--format", "moodle")[1]
    assert do("feedback", "04")[0] == 0
    assert "run in a process of its own" in next((tmp_path / "grades/04/reports").glob("*.html")).read_text()
    do("export", "04", "--format", "gradescope")
    read = json.loads((tmp_path / "grades/04/gradescope/ann/results.json").read_text())
    assert read["extra_data"] == {"isolation": "process"}


@pytest.mark.parametrize("way", ["sandbox", "process", "container"])
def test_what_does_not_hold_grades_nothing(way, tmp_path, monkeypatch):
    """One probe that comes through, of those that are promised, and no row is written."""
    real = doctor.probe
    monkeypatch.setattr(doctor, "probe", lambda *a, **k: [*real("process", brief=True)[-1:], doctor.Finding(
        "its own job is changed", False, "written")])
    with Store(tmp_path / "04") as store:
        store.receive("ann", "a.ipynb", "0" * 64, ".ipynb", notebook(HEAD, A, B, C))
        with pytest.raises(sandbox.SandboxError, match="its own job is changed: written; nothing was graded"):
            batch.run(store, "04", KEY, 1, way=way)
        assert len(store.waiting(1)) == 1


# A container


def container(command, tmp_path, **other):
    """A container made of bubblewrap: root with few rights, no network, nothing to be written but three folders."""
    how = {"network": "--unshare-net", "home": "0700", "course": "0700", "grades": "0700", "scratch": "0711",
           "tmp": "0755"} | other
    line = ["bwrap", how["network"], "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--cap-drop", "ALL"]
    for right in ("SETUID", "SETGID", "SETPCAP", "KILL", "CHOWN", "DAC_OVERRIDE", "FOWNER"):
        line += ["--cap-add", f"CAP_{right}"]
    line += ["--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"]
    for name in ("lib", "lib64", "bin"):
        line += ["--symlink", f"usr/{name}", f"/{name}"]
    for name, place in (("scratch", "/scratch"), ("grades", "/grades"), ("home", "/me"), ("tmp", "/tmp"), ("grades", "/dev/shm")):
        line += ["--perms", how[name], "--tmpfs", place]
    for folder in sandbox.python_folders():  # after /tmp, for it may lie in there
        for parent in list(Path(folder).parents)[-2::-1]:
            line += ["--perms", "0755", "--dir", str(parent)]
        line += ["--ro-bind", folder, folder]
    line += ["--perms", how["course"], "--dir", "/course", "--ro-bind", str(LIBRARY), "/course/lib",
             "--ro-bind", str(tmp_path), "/me/in", "--remount-ro", "/", "--chdir", "/", "--clearenv"]
    for name, value in {"HOME": "/me", "TMPDIR": "/scratch", "PYTHONPATH": "/course/lib", "PATH": "/usr/bin",
                        "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}.items():
        line += ["--setenv", name, value]
    done = subprocess.run([*line, "--", sys.executable, "-c", command], capture_output=True, text=True, timeout=600)
    return done.stdout + done.stderr


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a container of bubblewrap for other users")
PROVE = "from byhand.grade.course import doctor; doctor.prove('container', ['/grades']); print(*['it', 'holds'])"  # a traceback quotes it


@confined
@as_root
def test_a_container_is_a_sandbox(tmp_path):
    """A hostile and an honest submission, graded in it."""
    (tmp_path / "ann.ipynb").write_bytes(notebook(HEAD, A, B, C))
    for name in ("the worker killed", "solutions read from the disk"):
        (tmp_path / f"{name}.ipynb").write_bytes(next(a for a in ATTACKS if a.name == name).data)
    said = container("from byhand.grade.course.cli import main\nfor words in ('collect 04 /me/in', 'grade 04 --isolation container', "
                     "'export 04', 'doctor --isolation container'):\n    print(main(['--store', '/grades', *words.split()]))", tmp_path)
    assert "3 graded" in said and "It holds what it promises" in said, said
    assert [line.split(",")[1:3] for line in said.splitlines() if ",container," in line] == [
        ["graded", "7"], ["graded", "4"], ["graded", "4"]], said


@confined
@as_root
@pytest.mark.parametrize(("loosened", "seen"), [
    ({}, "it holds"), ({"network": "--unshare-uts"}, "reached by network"), ({"home": "0755"}, "grades or the right answers are read"),
    ({"course": "0755"}, "right answers are read"), ({"grades": "0755"}, "grades or the right answers are read"),
    ({"tmp": "1777"}, "for the next submission"), ({"scratch": "0700"}, "does not hold")])
def test_a_looser_container_is_found(loosened, seen, tmp_path):
    said = container(PROVE, tmp_path, **loosened)
    assert seen in said and ("it holds" in said) == (not loosened), said


def test_without_root_there_is_no_container(monkeypatch, tmp_path):
    monkeypatch.setattr(isolation.os, "geteuid", lambda: 1000)
    with pytest.raises(sandbox.SandboxError, match="run as root in the container"):
        isolation.contained(tmp_path)
