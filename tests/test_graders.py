# ruff: noqa: E501
"""A class graded by processes that are killed, here and on a cluster: in short here, at length by hand."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from byhand.grade.course import batch, cli, cluster, doctor, grading, sandbox
from byhand.grade.course.store import Store
from confining import confined
from hostile import HEAD, A, B, C, notebook
from test_course import KEY


def graders(*flags):
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(grading.__file__).parents[3]), *sys.path])}
    done = subprocess.run([sys.executable, Path(__file__).with_name("graders.py"), *flags], capture_output=True,
                          text=True, timeout=1200, env=env)
    return done.returncode, done.stdout, done.stderr


@confined
def test_a_batch_that_is_killed_loses_and_doubles_nothing():
    """In short; at length: python tests/graders.py batch --submissions 100 --kills 20."""
    code, out, said = graders("batch", "--submissions", "12", "--kills", "3", "--seconds", "8")
    assert code == 0, said
    found = json.loads(out)
    assert found["kills"] == 3 and found["rounds"] >= 2


@confined
@pytest.mark.parametrize(("fault", "seen"), [("twice", "'doubled': 0"), ("half", "'results lost': 0"), ("late", "'results lost': 0")])
def test_a_wrong_way_to_keep_rows_is_found(fault, seen):
    code, _, said = graders("batch", "--submissions", "4", "--kills", "4" if fault == "half" else "0", "--seconds", "4", "--fault", fault)
    assert code == 1 and "'doubled'" in said and seen not in said, said


@confined
def test_a_cluster_whose_worker_is_killed_loses_and_doubles_nothing():
    """At length: python tests/graders.py cluster --submissions 40 --kills 3."""
    code, out, said = graders("cluster", "--submissions", "6", "--kills", "1")
    assert code == 0, said
    found = json.loads(out)
    assert found["kills"] == 1 and found["addresses"] >= 3  # one was started anew


UNFIT = """
import os, sys, warnings
warnings.simplefilter("ignore")
from distributed import LocalCluster
from byhand.grade.course import cli, cluster

def broken(dask_worker):
    if dask_worker.name in NAMES:
        if FAULT == "bare":
            os.environ["PATH"] = "/nowhere"
        else:
            from byhand.grade.course import cluster
            cluster.revision = lambda: "another"

if __name__ == "__main__":
    from distributed import Client
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1", silence_logs=50) as there:
        with Client(there) as client:
            client.run(broken)
            print("CODE", cli.main(["--store", sys.argv[1], "grade", "04", "--dask", there.scheduler_address]))
"""


@confined
@pytest.mark.parametrize(("names", "fault", "code", "seen"), [
    ("(0,)", "bare", 0, "no bwrap on this machine"), ("(0, 1)", "bare", 1, "no bwrap on this machine"),
    ("(1,)", "old", 0, "has another version of byhand")])
def test_a_machine_without_a_sandbox_is_refused(names, fault, code, seen, tmp_path):
    """With a sentence; the others grade the class, and where there is none, nobody does."""
    with Store(tmp_path / "04") as store:
        for name in ("ann", "ben"):
            store.receive(name, f"{name}.ipynb", name * 10, ".ipynb", notebook(HEAD, A, B, C, name))
    text = UNFIT.replace("NAMES", names).replace("FAULT", repr(fault))
    (tmp_path / "run.py").write_text(text)
    done = subprocess.run([sys.executable, tmp_path / "run.py", str(tmp_path)], capture_output=True, text=True, timeout=600,
                          env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
    assert f"CODE {code}" in done.stdout and "not used: worker" in done.stderr and seen in done.stderr, done.stderr
    with Store(tmp_path / "04") as store:
        assert [r.status for r in store.rows(39.0)] == ["waiting" if code else "graded"] * 2


def test_a_worker_proves_itself_before_it_grades(monkeypatch):
    """Another version, or a probe that comes through: the sentence says which."""
    assert "another version" in cluster.unfit("sandbox", "of yesterday")
    real = sandbox.command
    monkeypatch.setattr(sandbox, "command", lambda *a: [w for w in real(*a) if w != "--unshare-net"])
    if doctor.shutil.which("bwrap"):
        assert "reached by network" in cluster.unfit("sandbox", cluster.revision())


def test_what_comes_from_a_worker_is_plain(tmp_path, monkeypatch):
    """Text, numbers, lists: nothing of the grader's own classes, and the same as here."""
    rows = (grading.Graded("04.1", "graded", 1, 3, "text", ("no scale",)),)
    monkeypatch.setattr(cluster, "one", lambda *a: ("graded", "", 0.5, rows))
    status, note, seconds, graded = cluster.graded_in_worker(b"x", ".py", "04", KEY, 1.0, "sandbox")
    assert (status, note, seconds) == ("graded", "", 0.5) and [type(g) for g in graded] == [tuple]
    assert tuple(grading.Graded(*g) for g in graded) == rows


def test_no_cluster_is_said_in_a_sentence(tmp_path, capsys, monkeypatch):
    with Store(tmp_path / "04") as store:
        store.receive("ann", "a.ipynb", "0" * 64, ".ipynb", b"x")
    monkeypatch.setattr(cluster, "PATIENCE", 1)
    assert cli.main(["--store", str(tmp_path), "grade", "04", "--dask", "tcp://127.0.0.1:9"]) == 1
    assert "no cluster answers there" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert cli.main(["--store", str(tmp_path), "grade", "04", "--dask", "tcp://127.0.0.1:9"]) == 1
    assert "needs the package distributed" in capsys.readouterr().err


def test_only_a_cluster_needs_dask():
    """Grading on one machine imports none of it."""
    text = "import sys; from byhand.grade.course import cli, batch; print([m for m in sys.modules if m.split('.')[0] in ('dask', 'distributed')])"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    assert "distributed" not in batch.__dict__
