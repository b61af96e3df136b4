# ruff: noqa: E501
"""A sandbox that fails between two answers: whose doing it was, and which user the next one is."""

import os
import subprocess

import pytest
from byhand.grade.course import isolation, keeper, sandbox, syscalls
from byhand.grade.course.child import frame, frames
from confining import confined
from hostile import FULL, HEAD, A, B, C, body, graded_of, notebook
from mutants import build
from test_course import points_of

ASKED = ("04.1", "04.2", "04.6")
LOWERED = "import os, resource\nfor limit in (resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE):\n    resource.prlimit(os.getppid(), limit, (0, 0))"


class Machine:
    """Sandboxes in which no process can be started once the answer to `guilty` has run, or where nothing ever can; in
    the first `busy` of them nothing can, whatever they are asked. `asked` is what each of them was to run."""

    def __init__(self, guilty=None, busy=0, part=False):
        self.guilty, self.busy, self.part, self.asked = guilty, busy, part, []

    def once(self, set_id, submission, asked, parts, confine):
        names = [q["id"] for q in asked["questions"]]
        self.asked.append(names)
        if len(self.asked) <= self.busy:
            return frame({"failed": "no process can be started"})
        out = b""
        for hidden in (False, True):
            for name in names:
                about = {"question": name, "hidden": hidden}
                out += frame(about | {"begins": True}) + frame(about | {"end": "ended", "code": 0}, [b""])
                if name == self.guilty and hidden == self.part:
                    last = name == names[-1] and hidden
                    return out if last else out + frame({"failed": "no process can be started"})
        return out


def asked_of(m, machine):
    """The questions in whose hidden part nothing ran, and what each sandbox was asked."""
    m._once = machine.once
    found = m._answers("04", None, {"questions": [{"id": q} for q in ASKED]}, [], None)
    assert set(found) == set(ASKED)
    return {q for q in ASKED if found[q][1][1] == m.ENDED}, machine.asked


def check_guilty(m):
    """What ends its sandbox behind itself loses its own points, at every place, and costs no other question any."""
    for guilty in ASKED:
        lost, sandboxes = asked_of(m, Machine(guilty))
        assert lost == {guilty} and sandboxes[0] == list(ASKED), (guilty, lost)
        assert sandboxes.count([guilty]) == 3 and all(sandboxes.count([q]) == 1 for q in {*ASKED} - {guilty}), sandboxes


def check_after_all(m):
    """In the hidden part there is nothing left of its own to lose; those behind it are asked again, alone."""
    assert asked_of(m, Machine("04.2", part=True)) == (set(), [[*ASKED], ["04.6"]])
    assert asked_of(m, Machine("04.6", part=True)) == (set(), [[*ASKED]])


def check_machine(m):
    """Where nothing has run, nothing is lost: after one bad sandbox or three all points are there, after four an error."""
    for busy in (0, 1, 2, 3):
        assert asked_of(m, Machine(busy=busy))[0] == set()
    with pytest.raises(OSError, match="no process can be started"):
        asked_of(m, Machine(busy=4))


CHECKS = {name.removeprefix("check_"): value for name, value in dict(globals()).items() if name.startswith("check_")}


@pytest.mark.parametrize("name", CHECKS)
def test_whose_doing(name):
    CHECKS[name](build("grade.course.grading"))


@pytest.mark.parametrize("check, old, new", [
    ("guilty", "waiting[:1] if alone else waiting", "waiting"),  # all are lost with the one
    ("guilty", "if failed == 3:", "if failed == 2:"),
    ("guilty", "if (lost[0], False) not in ended:", "if True:"),  # an error for the whole submission
    ("machine", "if (lost[0], False) not in ended:", "if False:"),  # a zero for what never ran
    ("machine", "if failed == 3:", "if failed == 4:"),
    ("machine", "        failed *= bool(lost)\n", "        failed += bool(lost)\n"),
    ("after_all", "{(q[\"id\"], False), (q[\"id\"], True)} <=", "{(q[\"id\"], False), (q[\"id\"], True)} <"),
])
def test_a_wrong_judge_is_caught(check, old, new):
    with pytest.raises((AssertionError, OSError, pytest.fail.Exception)):
        CHECKS[check](build("grade.course.grading._answers", old, new))


@confined
def test_an_answer_that_takes_the_workers_processes_loses_its_own_points(tmp_path, monkeypatch):
    """Without the filter of system calls a child can lower the limits of the process above it."""
    monkeypatch.setattr(syscalls, "program", lambda: b"")
    points = points_of(graded_of(tmp_path, notebook(HEAD, A, body(B, LOWERED), C))[1])
    assert points == FULL | {"04.2": 1}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root grades as other users")
def test_the_next_user_has_no_process_left(monkeypatch):
    """Two graders with folders of their own see no lock of each other, and a process can outlive its grader."""
    monkeypatch.setattr(sandbox.random, "randrange", lambda n: 0)
    with sandbox.free_user() as user:
        assert user == sandbox.NOBODY and not keeper.of_user(user)
    sleeper = subprocess.Popen(["/bin/cat"], user=user, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        sleeper.stdin.write(b"there\n")
        sleeper.stdin.flush()
        assert sleeper.stdout.readline() == b"there\n"
        assert set(keeper.of_user(user)) == {sleeper.pid}
        with sandbox.free_user() as other, sandbox.free_user() as third:
            assert (other, third) == (user + 1, user + 2)
        wrong = build("grade.course.sandbox.free_user", "if not keeper.of_user(user):", "if user:")
        with wrong.free_user() as same:
            assert same == user
    finally:
        sleeper.communicate()
    with sandbox.free_user() as again:
        assert again == user


HELD = "import os, time\nfor _ in range(4):\n    if os.fork() == 0:\n        break\nx = b'x' * (80 << 20)\nos.write(int(os.environ['RESULT_FD']), b'y')\ntime.sleep(9)"
SHARED = "import mmap, os, time\nm = mmap.mmap(FILE, 300 << 20)\n[m.write(bytes(20 << 20)) for _ in range(15)]\nos.write(int(os.environ['RESULT_FD']), b'y')\ntime.sleep(9)"


@confined
@pytest.mark.parametrize("text", [HELD, SHARED.replace("FILE", "-1"), SHARED.replace("FILE", "os.open('/dev/zero', os.O_RDWR)")])
@pytest.mark.parametrize("way", [sandbox.confined, isolation.separate])
def test_all_processes_together_have_one_limit_of_memory(text, way, tmp_path, monkeypatch):
    """The kernel counts what each has for itself: neither its children's, nor what they share. Without the look at all
    of it they keep it."""
    small = sandbox.Limits(seconds=60.0, data=100 << 20)
    (tmp_path / "worker.py").write_text(text)
    tmp_path.chmod(0o755)
    ran = way(tmp_path, small)
    assert ran.end == ("memory" if way is sandbox.confined else "ended") and ran.seconds < 9
    if way is sandbox.confined:
        monkeypatch.setattr(sandbox, "TOGETHER", 1000)
        ran = way(tmp_path, small)
        assert ran.end == "ended" and ran.seconds > 9


@confined
def test_a_limit_of_memory_for_all_spares_an_honest_answer(tmp_path):
    """What children share with the process above them counts once for each, and is far from the limit."""
    code = "import multiprocessing as mp\nwith mp.get_context('fork').Pool(4) as pool:\n    assert sum(pool.map(abs, range(100))) == 4950"
    assert points_of(graded_of(tmp_path, notebook(HEAD, body(A, code), B, C))[1]) == FULL


@confined
def test_what_was_stopped_is_not_asked_again(tmp_path):
    """Cases behind one that met the limit do not count, so the hidden ones are not waited for."""
    seen = []

    def listened(*args):
        ran = sandbox.confined(*args)
        seen.extend(head for head, _ in frames(ran.data))
        return ran

    loop = "x = next(i for i in iter(int, 1) if i)\n"
    points = points_of(graded_of(tmp_path, notebook(HEAD, A, loop, body(B, "x"), C), confine=listened)[1])
    begun = [(head["question"], head["hidden"]) for head in seen if "begins" in head]
    assert points == FULL | {"04.2": 0}
    assert ("04.2", False) in begun and ("04.2", True) not in begun and {("04.1", True), ("04.6", True)} <= set(begun)
