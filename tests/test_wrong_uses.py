# ruff: noqa: E501
"""What goes wrong at an instructor's desk: each is told in words, with what to do next, and never as a traceback."""

import errno
import os
import signal
import sqlite3
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from byhand.grade.course import cli, doctor, sandbox, store
from byhand.grade.course.store import Store
from confining import confined
from hostile import HEAD, A, B, C, body, notebook
from test_course import BATCH, plain  # noqa: F401

NEXT = ("begin with", "--help", "name the", "is it the right one", "of their own", "hand it in again", "clear the outputs", "install the package",
        "give the same command again", "goes on from there", "takes one of", "unpack it first", "must have what", "save it as", "look at the path",
        "who has one", "they are", "in the place of store.sqlite", "say --partial", "rights of the folder")


def do(capsys, *words):
    """Exit code, and all that is said."""
    try:
        code = cli.main([str(word) for word in words])
    except SystemExit as end:
        code = end.code
    return code, "".join(capsys.readouterr())


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder with two submissions that were collected, and a roster."""
    monkeypatch.chdir(tmp_path)
    for folder in ("in", "empty", "photos", "broken"):
        (tmp_path / folder).mkdir()
    (tmp_path / "photos" / "ann.jpg").write_bytes(b"x")
    (tmp_path / "broken" / "ann.ipynb").write_bytes(notebook(HEAD, A)[:-30])
    (tmp_path / "broken" / "ben.ipynb").write_bytes(b" " * (6 << 20))
    for name in ("ann", "ben"):
        (tmp_path / "in" / f"{name}.ipynb").write_bytes(notebook(HEAD, A, B, C, f"mine = '{name}'"))
    (tmp_path / "two.csv").write_text("student\nann\nAnn\n")
    (tmp_path / "others.csv").write_text("student\n1001\n1002\n")
    (tmp_path / "excel.csv").write_bytes("student\nMüller\n".encode("latin-1"))
    (tmp_path / "work.rar").write_bytes(b"Rar!")
    assert cli.main(["collect", "04", "in"]) == 0
    return tmp_path


WRONG = [  # what is typed, the exit code, what is said
    ("status 05", cli.WRONG, "no gradebook grades/05 (there are 04); begin with byhand-grade collect 05"),
    ("grade 04 --store nowhere", cli.WRONG, "no gradebook nowhere/04; begin with"),
    *((f"{name} 05", cli.WRONG, "no gradebook") for name in ("grade", "export", "feedback", "similar")),
    ("regrade 05 --because x", cli.WRONG, "no gradebook"),
    ("override 05 ann 05.1 1 --note x", cli.WRONG, "no gradebook"),
    ("status 99", cli.USAGE, "invalid choice: '99'"),
    ("status attention", cli.USAGE, "invalid choice: 'attention'"),
    ("grades 04", cli.USAGE, "invalid choice: 'grades'"),
    ("collect 04", cli.USAGE, "required: source"),
    ("collect 05 nowhere", cli.WRONG, "there is no nowhere; name the folder"),
    ("collect 05 empty", cli.WRONG, "empty has no notebook (.ipynb) and no Python file (.py); is it the right one?"),
    ("collect 05 photos", cli.WRONG, "has no notebook"),
    ("collect 05 work.rar", cli.WRONG, "unpack it first"),
    ("collect 05 broken", cli.GOOD, "unreadable: ann: not a whole notebook (JSONDecodeError): save it again and hand it in again"),
    ("collect 05 broken", cli.GOOD, "unreadable: ben: larger than 5 MB: clear the outputs and hand it in again"),
    ("collect 05 in --roster two.csv", cli.WRONG, "two.csv has 'ann' and 'Ann', whom the names of files would not tell apart; give each student a name of their own"),
    ("collect 05 in --roster others.csv", cli.WRONG, "the column student of others.csv must have what the files say, as 'ann'"),
    ("collect 05 in --roster excel.csv", cli.WRONG, 'save it as "CSV UTF-8"'),
    ("collect 05 in --roster nowhere.csv", cli.WRONG, "nowhere.csv: No such file or directory; look at the path"),
    ("check nowhere.ipynb", cli.WRONG, "nowhere.ipynb: No such file or directory; look at the path"),
    ("regrade 04 --apply 7", cli.WRONG, "there is no round 7; --apply takes one of 1"),
    ("override 04 zoe 04.1 1 --note x", cli.USAGE, "zoe has no grade in 04; who has one: nobody"),
    ("override 04 ann 04.99 1 --note x", cli.USAGE, "04.99 is no question of 04; they are 04.1, 04.2"),
    ("export 04", cli.UNSETTLED, "grade them first, or say --partial"),
]


@pytest.mark.parametrize(("line", "code", "says"), WRONG, ids=lambda x: str(x)[:50])
def test_what_to_do_next_is_said(line, code, says, desk, capsys):
    found, said = do(capsys, *line.split())
    assert found == code and says in said, said
    assert any(words in said for words in NEXT) and "Traceback" not in said and len(said.splitlines()[-1]) < 400


def test_what_was_refused_leaves_nothing_behind(desk, capsys):
    """No gradebook of a command that had nothing to keep."""
    for line, code, _ in WRONG:
        if code in (cli.WRONG, cli.USAGE) and "others.csv" not in line and "broken" not in line:
            do(capsys, *line.split())
    assert sorted(p.name for p in (desk / "grades").iterdir()) == ["04"] and not (desk / "nowhere").exists()


@pytest.mark.parametrize("name", ["4", "04", "04_attention", "s04_attention"])
def test_a_set_has_the_names_that_people_give_it(name, desk, capsys):
    assert do(capsys, "status", name, "--store", "grades")[:1] == do(capsys, "--store", "grades", "status", "04")[:1] == (0,)


def test_without_bubblewrap_it_says_what_to_install(desk, capsys, monkeypatch):
    monkeypatch.setattr(sandbox.shutil, "which", lambda name: None)
    code, said = do(capsys, "grade", "04")
    assert code == cli.WRONG and "install the package bubblewrap" in said and "nothing was graded" in said
    with Store(desk / "grades" / "04") as kept:
        assert len(kept.waiting(1)) == 2


def test_doctor_looks_for_room(desk, capsys, monkeypatch):
    monkeypatch.setattr(doctor, "probe", lambda *_: [])
    _, said = do(capsys, "doctor", "--store", "later/grades")
    assert f"GB free in {desk}\n" in said and "make room" not in said
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: SimpleNamespace(free=5e6))
    assert f"0.0 GB free in {desk}: make room before you grade" in do(capsys, "doctor", "--store", "later/grades")[1]


def test_a_gradebook_that_another_program_holds(desk, capsys, monkeypatch):
    monkeypatch.setattr(store, "PATIENCE", 0.1)
    other = sqlite3.connect(desk / "grades" / "04" / "store.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    code, said = do(capsys, "status", "04")
    other.close()
    assert code == cli.WRONG and "another program holds the gradebook in grades; nothing was changed" in said and "give the same command again" in said
    assert do(capsys, "status", "04")[0] == 0


def test_a_damaged_gradebook(desk, capsys, monkeypatch):
    with Store(desk / "grades" / "04") as kept:
        copy = kept.backup()
    path = desk / "grades" / "04" / "store.sqlite"
    path.write_bytes(b"damaged" * 1000)
    opened = []
    monkeypatch.setattr(store.sqlite3, "connect", lambda *a, real=sqlite3.connect, **k: opened.append(real(*a, **k)) or opened[-1])
    code, said = do(capsys, "status", "04")
    with pytest.raises(sqlite3.ProgrammingError, match="closed database"):  # it does not wait for a garbage collector
        opened[0].execute("SELECT 1")
    assert code == cli.WRONG and "damaged (file is not a database)" in said and "put the newest in the place of store.sqlite" in said
    path.write_bytes(copy.read_bytes())  # as it says
    assert do(capsys, "status", "04")[0] == 0


@pytest.mark.parametrize("error", [
    OSError(errno.ENOSPC, "No space left on device", "x"), OSError(errno.EDQUOT, "Disk quota exceeded"), sqlite3.OperationalError("database or disk is full"),
    PermissionError(errno.EACCES, "Permission denied", "grades/04"), sqlite3.OperationalError("attempt to write a readonly database"),
    sqlite3.OperationalError("unable to open database file"), sqlite3.DatabaseError("database disk image is malformed"), IsADirectoryError(errno.EISDIR, "Is a directory", "x"),
    sqlite3.OperationalError("locking protocol"), KeyboardInterrupt()], ids=repr)
def test_whatever_the_disk_says_is_told(error, desk, capsys, monkeypatch):
    def fails(*_):
        raise error

    monkeypatch.setattr(Store, "points", fails)
    code, said = do(capsys, "status", "04")
    assert code == (130 if isinstance(error, KeyboardInterrupt) else cli.WRONG) and any(words in said for words in NEXT), said


@confined
def test_a_disk_that_is_full_loses_nothing(desk):
    """A file system of one megabyte that fills up on the way: no half row, and with room again the same command goes on."""
    line = ["bwrap", "--dev-bind", "/", "/", "--die-with-parent", "--size", "1000000", "--tmpfs", "/mnt", "--", sys.executable, "-c",
            "import os\nfrom byhand.grade.course.cli import main\n"
            "def do(*words):\n    print('exit', main(['--store', '/mnt/grades', *words]), flush=True)\n"
            "do('collect', '04', 'in')\n"
            "with open('/mnt/fill', 'wb', buffering=0) as file:\n    try:\n        while file.write(bytes(4096)):\n            pass\n    except OSError:\n        pass\n"
            "do('grade', '04')\nos.remove('/mnt/fill')\ndo('status', '04')\n"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300)
    assert "Traceback" not in done.stderr and "no room is left on a disk" in done.stderr and "give the same command again" in done.stderr, done.stderr
    assert [x for x in done.stdout.splitlines() if x.startswith("exit")] == ["exit 0", "exit 1", "exit 0"] and "2 waiting" in done.stdout


@confined
def test_stopped_by_the_keyboard_it_says_so_and_goes_on(desk):
    """Ctrl-C in the middle of answers that never end: no process is left, no row is half, no traceback of anybody."""
    for name in ("carl", "dora"):
        (desk / "in" / f"{name}.ipynb").write_bytes(notebook(HEAD, body(A, "while True:\n    pass"), B, C, f"mine = '{name}'"))
    assert cli.main(["collect", "04", "in"]) == 0
    process = subprocess.Popen([sys.executable, "-c", BATCH, "grade", "04", "--jobs", "3", "--patience", "30"], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, start_new_session=True, env=os.environ | {"TMPDIR": str(desk)})
    until = time.monotonic() + 120
    with Store(desk / "grades" / "04") as kept:
        while len(kept.waiting(1)) > 2 and time.monotonic() < until:  # the honest ones first, by name
            time.sleep(0.2)
        os.killpg(process.pid, signal.SIGINT)
        said = process.communicate(timeout=60)[0]
        assert process.returncode == 130 and "stopped; what is done is kept" in said and "Traceback" not in said, said
        assert [r["student"] for r in kept.waiting(1)] == ["carl", "dora"]
        assert kept.db.execute("SELECT count(*) FROM attempt").fetchone()[0] == 2
    assert not [p for p in desk.iterdir() if p.name.startswith(("grade-", "byhand-user-", "doctor-"))]
