# ruff: noqa: E501
"""What a class hands in, in every shape in which it comes: whose it is, which file counts, and what was not taken is said."""

import os
import unicodedata
import zipfile
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest
from byhand.grade.course import batch, cli, collect, gradescope, incoming, roster, spoilt, store, whose
from byhand.grade.limits import TimeUp, time_limit
from byhand.grade.sets import questions_of
from hostile import HEAD, KEY, A, B, notebook
from proofs import as_shipped
from rewritten import rewritten
from test_course_parts import Shelf, collecting

REAL = {module.__name__.rsplit(".", 1)[1]: module for module in (collect, gradescope, incoming, roster, spoilt, whose)}
MOODLE = "{}_{}_assignsubmission_file_"
ANN, BEN = MOODLE.format("Ann Example", 1234), MOODLE.format("Ben B", 77)
QUESTIONS = questions_of("04")


@pytest.fixture(scope="module", autouse=True)
def plain():
    with as_shipped():
        yield


def handed(folder: Path, files) -> Path:
    """A folder of these files, by name; a list of names gives each a notebook of its own."""
    for name, data in (files if isinstance(files, dict) else {name: notebook(HEAD, A, f"mine = {name!r}") for name in files}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    return folder


def packed(path: Path, files) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for name in files:
            file.writestr(name if isinstance(name, zipfile.ZipInfo) else zipfile.ZipInfo(name), notebook(HEAD, A, f"mine = {name!r}"))
    return path


# Whose a file is


LAYOUTS = {  # by what it is called: files, the roster, the students in the order of the files
    "a zip of a folder": (["sub/ann.ipynb", "sub/bob.ipynb", "sub/cy.ipynb"], (), ["ann", "bob", "cy"]),
    "folders in folders": (["par/sub/ann.ipynb", "par/sub/bob.py"], (), ["ann", "bob"]),
    "a task below each student": (["ann/week4/x.ipynb", "bob/week4/x.ipynb"], (), ["ann", "bob"]),
    "students below a task": (["week4/ann/x.ipynb", "week4/bob/x.ipynb", "week4/bob/y.py"], (), ["ann", "bob", "bob"]),
    "as nbgrader has it": (["submitted/ann/ps4/x.ipynb", "submitted/bob/ps4/x.ipynb", "submitted/bob/ps5/x.ipynb"], (), ["ann", "bob", "bob"]),
    "as Gradescope gives it": (["assignment_9_export/submission_1/x.ipynb", "assignment_9_export/submission_2/x.ipynb"], (), ["submission_1", "submission_2"]),
    "flat": (["ann.ipynb", "bob.ipynb", "cy.py"], (), ["ann", "bob", "cy"]),
    "one file": (["ann.ipynb"], (), ["ann"]),
    "files and folders": (["ann.ipynb", "bob/x.ipynb"], (), ["ann", "bob"]),
    "Moodle": ([f"{ANN}/x.ipynb", f"{ANN}/utils.py", f"{BEN}/x.ipynb"], (), ["1234", "1234", "77"]),
    "Moodle, one student": ([f"{ANN}/x.ipynb", f"{ANN}/y.ipynb"], (), ["1234", "1234"]),
    "Moodle in a folder": ([f"ex04/{ANN}/x.ipynb", f"ex04/{BEN}/in/x.ipynb"], (), ["1234", "77"]),
    "Moodle by groups": ([f"one/{ANN}/x.ipynb", f"one/{BEN}/x.ipynb", f"two/{MOODLE.format('C', 5)}/x.ipynb"], (), ["1234", "77", "5"]),
    "Moodle without folders": ([f"{ANN}x.ipynb", f"{BEN}y_3_assignsubmission_file_.ipynb"], (), ["1234", "77"]),
    "Canvas in a folder": (["week/annx_1_900_lab.ipynb", "week/benx_LATE_2_80_lab.ipynb"], (), ["1", "2"]),
    "a name of Canvas in one's own folder": (["ann/a_2_1_x.ipynb", "bob/x.ipynb"], (), ["ann", "bob"]),
    "a name of Canvas in a folder of Moodle": ([f"{ANN}/bobx_2_1_lab.ipynb"], (), ["1234"]),
    "a folder of Moodle in one's own folder": ([f"ann/{BEN}/x.ipynb", "bob/x.ipynb"], (), ["ann", "bob"]),
    "many names of Canvas in one's own folder": ([*(f"ann/a_{i}_1_x.ipynb" for i in (1, 1, 1)), "bob/x.ipynb"], (), ["ann", "ann", "ann", "bob"]),
    "groups, with a roster": (["one/ann.ipynb", "one/bob.ipynb", "two/cy/x.ipynb"], ("Ann", "bob", "cy"), ["ann", "bob", "cy"]),
    "groups of folders, with a roster": (["one/ann/x.ipynb", "one/bob/x.ipynb", "two/cy/x.ipynb"], ("ann", "bob", "cy"), ["ann", "bob", "cy"]),
    "one student, with a roster": (["ann/week4/x.ipynb"], ("ann", "bob"), ["ann"]),
    "another's name in one's own folder": (["ann/cy.ipynb", "bob/x.ipynb", "dee/x.ipynb"], ("ann", "cy", "bob"), ["ann", "bob", "dee"]),
    "another's name in a stranger's folder": (["k1/ann.ipynb", "k2/x.ipynb", "k3/y.ipynb"], ("ann", "bob"), ["k1", "k2", "k3"]),
    "a stray notebook beside a folder, with a roster": (["sub/ann.ipynb", "sub/bob.ipynb", "readme.ipynb"], ("ann", "bob"), ["ann", "bob", "readme"]),
    "one notebook as it was given out": (["carl/ex04_attention.ipynb", "carl/utils.py"], (), ["carl", "carl"]),
    "all as they were given out": (["sub/ex04.ipynb", "sub/ex04 (1).ipynb"], (), ["ex04", "ex04 (1)"]),
    "parts of a task": ([f"{who}/{part}.ipynb" for who in ("ann", "bob") for part in "abc"], (), ["ann"] * 3 + ["bob"] * 3),
    "copies of one are one's own": (["ann/x.ipynb", "ann/x (1).ipynb", "ann/x - Copy.ipynb", "bob/y.ipynb"], (), ["ann", "ann", "ann", "bob"]),
    "helpers do not shape a class": (["week4/ann/x.ipynb", "week4/bob/x.ipynb", "utils.py"], (), ["ann", "bob", "utils"]),
    "no name": (["---.ipynb", "ann.ipynb"], (), ["", "ann"]),
}
STOPPED = {  # files that do not say whose they are: what the sentence names
    "groups": (["one/ann.ipynb", "one/bob.ipynb", "two/cy.ipynb", "two/dee.ipynb"], "the folder one holds ann, bob: one student, or several"),
    "groups of folders": (["one/ann/x.ipynb", "one/bob/x.ipynb", "two/cy/x.ipynb", "two/dee/x.ipynb"], "the folder one holds ann, bob"),
    "a stray notebook beside a class": (["sub/ann.ipynb", "sub/bob.ipynb", "sub/cy.ipynb", "readme.ipynb"], "the folder sub holds ann, bob, cy"),
    "a stray notebook beside a platform's folder": ([f"sub/{ANN}/x.ipynb", f"sub/{BEN}/x.ipynb", "readme.ipynb"], "the folder sub holds Ann"),
    "all of one name": (["Ann/x.ipynb", "ann/y.ipynb"], "all 2 files would be of one student, Ann"),
}


def check_layouts(m, tmp_path):
    """The students of each layout; and where nobody can tell, a sentence says so."""
    for name, (files, names, students) in LAYOUTS.items():
        assert [o.student for o in m.whose.owners(files, names, "ex04")] == students, name
    for name, (files, says) in STOPPED.items():
        with pytest.raises(ValueError, match="^collect: ") as error:
            m.whose.owners(files, (), "ex04")
        assert says in str(error.value), name
    with pytest.raises(ValueError, match="all 2 files would be of one student, ann"):
        m.whose.owners(["ann/x.ipynb", "ann/y.ipynb"], ["ann", "bob"])  # a class, in a folder that is called like a student
    assert m.whose.owners([]) == [] and [o.late for o in m.whose.owners(*LAYOUTS["Canvas in a folder"][:1])] == [False, True]


# Which file counts


def check_counts(m, tmp_path):
    """A notebook before a helper, work before what is none, the newest before those before it."""
    mine, none, helper = notebook(HEAD, A), notebook("x = 1"), "def helper():\n    pass\n"
    old, new = (notebook(HEAD, A, f"mine = {i}") for i in "12")
    cases = {
        "a helper": ({"ex04.ipynb": mine, "utils.py": helper}, "ex04.ipynb"),
        "a helper that has a function too": ({"ex04.ipynb": mine, "zz.py": A}, "ex04.ipynb"),
        "a helper beside what cannot be read": ({"ex04.ipynb": "{", "utils.py": helper}, "ex04.ipynb"),
        "scratch": ({"ex04.ipynb": mine, "scratch.ipynb": none}, "ex04.ipynb"),
        "an answer by another name": ({"ex04.ipynb": notebook("attention = [].append"), "scratch.ipynb": none}, "ex04.ipynb"),
        "an answer that a check names": ({"ex04.ipynb": notebook("check('04.2', [].append)"), "scratch.ipynb": none}, "ex04.ipynb"),
        "work in a Python file": ({"notes.ipynb": none, "a.py": A}, "a.py"),
        "a copy": ({"ex04 (1).ipynb": new, "ex04.ipynb": old}, "ex04 (1).ipynb"),
        "the tenth copy": ({"ex04 (10).ipynb": new, "ex04 (9).ipynb": old}, "ex04 (10).ipynb"),
        "a copy of Jupyter": ({"ex04-Copy1.ipynb": new, "ex04.ipynb": old}, "ex04-Copy1.ipynb"),
        "a copy of Windows": ({"ex04 - Copy (2).ipynb": new, "ex04 - Copy.ipynb": old, "ex04.ipynb": old + b"\n"}, "ex04 - Copy (2).ipynb"),
        "a copy of Colab": ({"Copy of ex04.ipynb": new, "ex04.ipynb": old}, "Copy of ex04.ipynb"),
        "versions": ({"ex04_v10.ipynb": new, "ex04_v9.ipynb": old}, "ex04_v10.ipynb"),
        "the newest": ({"zz.ipynb": old, "b.ipynb": new}, "b.ipynb"),
    }
    for i, (name, (files, counts)) in enumerate(cases.items()):
        folder = handed(tmp_path / str(i), {f"{ANN}/{file}": data for file, data in files.items()})
        for age, file in enumerate(files):  # the one that counts is the oldest, but in the last case
            os.utime(folder / ANN / file, 2 * (1e9 + (age if file != "b.ipynb" else 5),))
        found = m.collect.collect(Shelf(), folder, (), QUESTIONS)
        assert found.several["1234"][-1] == f"{ANN}/{counts}" and sorted(found.several["1234"]) == sorted(f"{ANN}/{f}" for f in files), name
        assert [x.split(":")[0] for x in found.unreadable] == (["1234"] if "{" in files.values() else []), name
    found = m.collect.collect(Shelf(), handed(tmp_path / "none", {"ann.ipynb": none, "bob.ipynb": mine, "cy.ipynb": "{"}), (), QUESTIONS)
    assert found.without == ["ann: ann.ipynb"]
    files = {"week4/ann/x.ipynb": mine, "week4/bob/x.ipynb": mine, "utils.py": helper, "cy.py": A}
    found = m.collect.collect(Shelf(), handed(tmp_path / "beside", files), (), QUESTIONS)
    assert sorted(found.kept) == ["ann", "bob", "cy"] and [x for names in found.passed.values() for x in names] == ["utils.py"]


# What is not taken


PASSED = ["__MACOSX/._ann.ipynb", "ann/.ipynb_checkpoints/x-checkpoint.ipynb", "._ann.ipynb", "..ipynb", ".venv/lib/x.py", "bob.ipynb.txt", "dee.ipynb.json", "eve.zip",
          "fay.ipynb.tar.gz", "photo.jpg", "~$ann.py"]
REFUSED = ["../../evil.ipynb", "/abs.ipynb", "C:\\temp\\x.ipynb", "a/.../x.ipynb", "..\\win.ipynb", "deep/" * 50 + "x.ipynb", " .ipynb", ".ipynb", "\u00a0.py", "\u200b.ipynb"]


def check_passed(m, tmp_path):
    """Everything is taken, refused or passed over, and of what is not taken the reason is told; nobody is made up."""
    decomposed = unicodedata.normalize("NFD", "mü")
    good = ["win/ann.IPYNB", "win\\bob.ipynb", "win\\cy.Py", f"win/{decomposed}.ipynb", "win/./dan.ipynb", "win/ eve .ipynb"]
    source = packed(tmp_path / "IN.ZIP", good + PASSED + REFUSED + ["sub/", "sub\\"])
    found = m.collect.collect(shelf := Shelf(), source)
    assert sorted(found.kept) == ["ann", "bob", "cy", "dan", "eve", "mü"] and {r[3] for r in shelf.rows} == {".ipynb", ".py"}
    assert len(found.refused) == len(REFUSED) and all(x.isprintable() for x in found.refused), found.refused
    assert sorted(x for listed in found.passed.values() for x in listed) == sorted(PASSED)
    assert not list(tmp_path.parent.glob("*.ipynb")) and [p.name for p in tmp_path.iterdir()] == ["IN.ZIP"]
    found = m.collect.collect(Shelf(), source, ["ann", "bob", "cy", "mü", "dan", "eve"])
    assert found.missing == [] and found.strangers == []
    assert m.collect.look(source) == len(good) + len(REFUSED)
    folder = handed(tmp_path / "in", [f"{decomposed}/x.ipynb", "mü/y.ipynb", "Ann.IPYNB", "ann.b.ipynb", "a\\cy.ipynb", "ann_b.ipynb", ".git/x.py", ".ipynb_checkpoints/x.ipynb", "x.zip", "notes.txt"])
    os.mkfifo(folder / "zoe.ipynb")
    (folder / "link").symlink_to("/etc")
    found = m.collect.collect(Shelf(), folder)
    assert sorted(found.kept) == ["Ann", "a", "ann.b", "ann_b", "mü", "mü"] and found.refused == ["link: a link"] and found.near == [["ann.b", "ann_b"]]
    assert sorted(x for listed in found.passed.values() for x in listed) == [".git/", ".ipynb_checkpoints/", "notes.txt", "x.zip", "zoe.ipynb"]
    for name in ("zoe.ipynb", "x.zip"):
        with pytest.raises(ValueError, match="collect: "):
            m.collect.look(folder / name)
    many = m.collect.lines_of({"why": [str(i) for i in range(25)]})
    assert len(many) == 11 and many[-1] == "  passed over: 15 more: why"
    info = zipfile.ZipInfo("x.ipynb")
    info.filename = "Müller.ipynb".encode().decode("cp437")  # as macOS writes it
    plainly = SimpleNamespace(filename=info.filename, flag_bits=0)
    assert m.incoming._spelt(plainly) == "Müller.ipynb" and m.incoming._spelt(SimpleNamespace(filename="Müller.ipynb", flag_bits=0)) == "Müller.ipynb"
    assert m.incoming._spelt(SimpleNamespace(filename=info.filename, flag_bits=0x800)) == info.filename


# Rosters


def check_roster(m, tmp_path):
    """Whatever separates the fields; a name is one line; a table that cannot be meant is refused."""
    path = tmp_path / "class.csv"
    for text in ("student;name\nann;A, B\nbob;\n", "student\tname\nann\tA, B\nbob\t\n", 'student,name\nann,"A, B"\nbob\n', "sep=;\r\nstudent;name\r\nann;A, B\r\nbob;\r\n",
                 'name;id;who, when, where\n"A, B";ann\n;bob\n', "Student ; Name\nann;A, B\nbob;\n", '"student";"name"\n"an\tn";"A,\nB"\n bob ;\n'):
        path.write_bytes(text.encode("utf-8-sig"))
        found = m.roster.names_of(path)
        assert [who.replace(" ", "") for who in found] == ["ann", "bob"] and list(found.values()) == ["A, B", ""], text
    decomposed = unicodedata.normalize("NFD", "mü")
    path.write_bytes(f'login,a;b\n"cy\nx",C\n{decomposed},M\n"a\x1b[2Jb",\n'.encode())
    assert m.roster.roster_of(path) == ["cy x", "mü", "a\ufffd[2Jb"]
    for text, says in (("name,student\nCase, Carl,3\n", "more fields than its header"), ("student;name\n;A\n", "names nobody"), ("\n", "has no rows"),
                       (f"student\nmü\n{decomposed}\n", "would not tell apart")):
        path.write_bytes(text.encode())
        with pytest.raises(ValueError, match=says):
            m.roster.names_of(path)
    path.write_bytes(b"student,name\n3,Case, Carl\n")
    assert m.roster.names_of(path) == {"3": "Case"}
    path.write_bytes("student\nकि\nका\nm\u00fc\nmu\n".encode())
    assert len(m.roster.names_of(path)) == 4  # a vowel is not nothing


# A file that cannot be read, beside one that can


def check_spoilt(m, tmp_path):
    """The good one counts, whichever is newer and whenever it came; collect, status and the page of the student say so."""
    good, cut, slip = notebook(HEAD, A), notebook(HEAD, A)[:-9], notebook(HEAD, "def attention(Q K):")
    with store.Store(tmp_path / "04") as kept, mock.patch.object(m.collect, "fault", m.spoilt.fault):
        for i, bad in enumerate((cut, slip)):
            who = "ab"[i]
            for name, data in {"ex04.ipynb": good, "ex04 (1).ipynb": bad}.items():
                handed(tmp_path / "in", {f"{who}/{name}": data})
            handed(tmp_path / f"late{i}", {f"{who}/new.ipynb": bad + b" "})
            handed(tmp_path / f"again{i}", {f"{who}/ex04.ipynb": bad + b"  "})
        found = m.collect.collect(kept, tmp_path / "in", (), QUESTIONS)
        assert [x.split(" (n")[0].split(" (c")[0] for x in found.spoilt] == [f"{who}: {who}/ex04 (1).ipynb does not count, as it cannot be read" for who in "ab"]
        assert all(x.endswith(f"; {x[0]}/ex04.ipynb does") for x in found.spoilt) and found.unreadable == found.without == []
        for source in ("late0", "late1", "again0", "again1"):
            found = m.collect.collect(kept, tmp_path / source, "abc", QUESTIONS)
            assert len(found.spoilt) == 1 and found.spoilt[0].endswith("; what was handed in before does") and found.unreadable == found.without == []
        assert [kept.submission(who).read_bytes() for who in "ab"] == [good, good]
        told = m.spoilt.beside(kept, QUESTIONS)
        assert [who for who, _ in told] == ["a"] * 3 + ["b"] * 3 and "not a whole" in told[0][1] and "code cell 2, line 1: SyntaxError" in told[3][1]
        assert told[1][1].startswith("a/new.ipynb does not count") and told[2][1].endswith("; the file of that name that was handed in before does")
        kept.keep(1, 1, "unreadable", "sandbox", "mine", 0.1, ())
    for command in (["status", "04"], ["feedback", "04", "--book", ""]):
        assert cli.main(["--store", str(tmp_path), *command]) == 0
    with store.Store(tmp_path / "04") as kept:
        counts = kept.db.execute("SELECT id FROM latest WHERE student = 'a'").fetchone()[0]
        kept.keep(counts, 1, "graded", "sandbox", "", 0.1, ())
        assert cli.main(["--store", str(tmp_path), "feedback", "04", "--book", ""]) == 0
        assert "a/new.ipynb does not count, as it cannot be read (not a whole notebook" in (tmp_path / "04" / "reports" / "a.html").read_text()
        m.collect.collect(kept, handed(tmp_path / "none", {"d/ex04.ipynb": notebook("x = 1")}), "d", QUESTIONS)
        found = m.collect.collect(kept, handed(tmp_path / "after", {"d/ex04.ipynb": cut}), "d", QUESTIONS)
        assert found.spoilt == [] and [x[0] for x in found.unreadable] == ["d"]  # what was there before is no work
        found = m.collect.collect(kept, handed(tmp_path / "mended", {"a/new.ipynb": good + b"\n", "c/ex04.ipynb": cut}), "abc", QUESTIONS)
        assert found.spoilt == [] and [x[0] for x in found.unreadable] == ["c"]  # who has handed in nothing else is unreadable
        assert not [why for who, why in m.spoilt.beside(kept, QUESTIONS) if who == "a" and "new.ipynb does not" in why]  # it was mended under its name


# Gradescope's table


PEOPLE = """---
submission_1:
  :submitters:
  - :name: Ann
    :sid: {sid}
    :email: ann@x.edu
  - :name: Bob
    :sid: '43'
    :email: bob@x.edu
  :graders:
  - :name: evil
  :created_at: !ruby/object:Time 2026-09-01 12:00:00.000000000 Z
  :results: &r
    tests: [{{output: "p", ":submitters": [{{":name": evil}}]}}]
  ? [a, b]
  : {{":submitters": [{{":name": evil}}]}}
submission_2:
  :history: [*r, [[{{":name": evil}}]]]
  :submitters:
  - :name: "{name}"
    :sid: '7'
    :email: {email}
"""
HOSTILE = {"no text": b"\xff\xfe\x00", "deep": b"[" * 10**6, "deep by lines": b"- " * 10**6, "half": b"a: [", "a key of keys": b"{" * 10**6, "no end": b"'", "large": b"a: 1\n" * (4 << 20)}
HARMLESS = {"nothing": b"", "a list": b"- 1", "a number": b"submission_1: 3", "a command": b"!!python/object/apply:os.system [exit 3]: 1", "an alias of itself": b"a: &a [*a]", "merges": b"a: &a {b: c}\nd: &d {<<: [*a, *a]}",
            "a text": b"submission_1: {':submitters': {':name': evil}}"}


def check_gradescope(m, tmp_path):
    """Who handed in which folder is taken from the table beside the folders, and nothing else of it has an effect."""
    people = m.gradescope.submitters(PEOPLE.format(sid="0042", name="C\\ty", email="cy@x.edu").encode(), "t")
    assert people == {"submission_1": [{"name": "Ann", "sid": "0042", "email": "ann@x.edu"}, {"name": "Bob", "sid": "43", "email": "bob@x.edu"}],
                      "submission_2": [{"name": "C y", "sid": "7", "email": "cy@x.edu"}]}
    for data in HOSTILE.values():
        with pytest.raises(ValueError, match="^collect: t is "), time_limit(3):
            m.gradescope.submitters(data, "t")
    for name, data in HARMLESS.items():
        assert m.gradescope.submitters(data, "t") == {}, name
    top = "a_export/"
    files = {f"{top}submission_{i}/ex04.ipynb": notebook(HEAD, A, f"n = {i}") for i in (1, 2, 3)} | {f"{top}submission_2/{gradescope.TABLE}": b"evil: ["}
    for text, names, kept in ((PEOPLE.format(sid="'0042'", name="Cy", email="cy@x.edu"), (), ["ann@x.edu", "bob@x.edu", "cy@x.edu", "submission_3"]),
                              (PEOPLE.format(sid="'0042'", name="Cy", email="ann@x.edu"), (), ["0042", "43", "7", "submission_3"]),
                              (PEOPLE.format(sid="'43'", name="Bob", email="''"), (), ["submission_1", "submission_2", "submission_3"]),
                              (PEOPLE.format(sid="'0042'", name="Cy", email="cy@x.edu"), ("cy", "ann"), ["ann", "cy"]),
                              (PEOPLE.format(sid="'0042'", name="Cy", email="cy@x.edu"), ("7", "0042", "43"), ["0042", "43", "7"])):
        folder = handed(tmp_path / str(len(list(tmp_path.iterdir()))), files | {top + gradescope.TABLE: text})
        found = m.collect.collect(Shelf(), folder, names, QUESTIONS)
        assert sorted(found.kept) == kept and m.collect.look(folder, names) == 3
        assert found.passed == {incoming.PASSED["other"]: [f"{top}submission_2/{gradescope.TABLE}"]} | ({} if "submission_1" not in kept else {gradescope.NOBODY: [top + gradescope.TABLE]})
    handed(folder, {top + gradescope.TABLE: "a: ["})
    with pytest.raises(ValueError, match="take that file away"):
        m.collect.look(folder)
    for i, (name, ann, bob) in enumerate((("", "ann", "sub/bob"), ("sub/", "ann", "sub/bob"), ("sub/", "other/a/ann", "other/b/bob"))):  # elsewhere it is a file as any other
        folder = handed(tmp_path / f"x{i}", {f"{ann}.ipynb": notebook(HEAD, A), f"{bob}.ipynb": notebook(HEAD, A, "1"), name + gradescope.TABLE: "a: ["})
        assert sorted(m.collect.collect(Shelf(), folder, ("ann", "bob"), QUESTIONS).kept) == ["ann", "bob"]


CHECKS = {"layouts": check_layouts, "counts": check_counts, "passed": check_passed, "roster": check_roster, "spoilt": check_spoilt, "gradescope": check_gradescope}
WRONG = [  # the module, what must see it, the smallest edit
    ("whose", "layouts", "first = len(os.path.commonprefix([s[:-1] for s in notebooks]))", "first = 0"),
    ("whose", "layouts", "if all(_owner(s, depth).platform", "if any(_owner(s, depth).platform"),
    ("whose", "layouts", ' == ".ipynb" and _named(_stem(s[-1]))] or', ' != ""] or'),
    ("whose", "passed", " and _named(_stem(s[-1]))] or", "] or"),
    ("whose", "layouts", "2 * len(known[most]) >= len(notebooks)", "True"),
    ("whose", "layouts", "if len(set(known[most])) > len(set(known[first]))", "if False"),
    ("whose", "layouts", "return most, most > first", "return most, True"),
    ("whose", "layouts", "        return first - 1, True", "        return first, True"),
    ("whose", "layouts", "len(notebooks) == 1 and given", "given"),
    ("whose", "layouts", "        _refuse_one(notebooks, depth)", "        pass"),
    ("whose", "layouts", "        _refuse_groups(notebooks, depth)", "        pass"),
    ("whose", "layouts", "if listed.count(x) == 1]", "]"),
    ("whose", "layouts", "    if several or sum(", "    if sum("),
    ("whose", "layouts", "    if not sure:", "    if True:"),
    ("whose", "layouts", 'for c in text) else ""', "for c in text) else text"),
    ("whose", "layouts", "if moodle := FLAT.match(step):", "if False:"),
    ("whose", "layouts", "return Owner(_named(_stem(step)))", "return Owner(_named(step))"),
    ("whose", "counts", "(?:\\s*\\((\\d{1,4})\\)|", "(?:"),
    ("whose", "counts", "(?:copy|kopie|copie|copia|kopia)", "kopie"),
    ("whose", "counts", "[-_ ]+v?(", "[-_ ]+w("),
    ("whose", "counts", "    while found := COPY_OF.match(stem):", "    while found := None:"),
    ("whose", "counts", "copy or int(", "int("),
    ("collect", "counts", 'return (file.answers, suffix_of(file.name) == ".ipynb", ', "return (file.answers, "),
    ("collect", "counts", "return (file.answers, ", "return ("),
    ("collect", "counts", "newest[base], base, copy", "newest[base], base, file.name, copy"),
    ("collect", "counts", "newest[base], base", "base"),
    ("collect", "counts", "and not file.why]", "]"),
    ("collect", "counts", "text.answers(questions)", "text.written"),
    ("collect", "counts", "text.answers(questions)", "{q.name for q in questions} & text.functions.keys()"),
    ("collect", "counts", "text.answers(questions)", "{q.name for q in questions} & text.written.keys()"),
    ("collect", "counts", "if questions and not answers and", "if questions and"),
    ("collect", "counts", "if questions and not answers and", "if False and"),
    ("collect", "passed", "elif not owner.student:", "elif False:"),
    ("collect", "passed", "near.setdefault(plain(student), [])", "near.setdefault(student, [])"),
    ("collect", "passed", "suffix_of(source.name) not in", "source.suffix not in"),
    ("collect", "passed", "or not source.is_file()", ""),
    ("collect", "passed", "if len(names) > FEW else []", "if False else []"),
    ("incoming", "passed", "[last.rindex(\".\"):].lower()", "[last.rindex(\".\"):]"),
    ("incoming", "passed", '.replace("\\\\", "/")  # Windows', "  # Windows"),
    ("incoming", "passed", 'name.endswith(("/", "\\\\"))', 'name.endswith("/")'),
    ("incoming", "passed", 'unicodedata.normalize("NFC", name)', "name"),
    ("incoming", "passed", 'step.startswith((".", "~$"))', 'step.startswith("~$")'),
    ("incoming", "passed", 'step.startswith((".", "~$"))', 'step.startswith(".")'),
    ("incoming", "passed", ' and set(step) != {"."}', ""),
    ("incoming", "passed", 'path.startswith("/") or', ""),
    ("incoming", "passed", 're.match(r"[A-Za-z]:/", path) or', ""),
    ("incoming", "passed", 'or any(set(step) == {"."} for step in steps)', ""),
    ("incoming", "passed", "len(steps) > DEEPEST or", ""),
    ("incoming", "passed", 'if step not in ("", ".")]', "]"),
    ("incoming", "passed", "map(str.strip, path.split(\"/\"))", "path.split(\"/\")"),
    ("incoming", "passed", "        return left.passes(why, name)", "        return None"),
    ("incoming", "passed", "last not in SUFFIXES or any(map(_hidden, steps[:-1])):\n        return left.passes(\"hidden\", name)", "last not in SUFFIXES or any(map(_hidden, steps[:-1])):\n        return None"),
    ("incoming", "passed", "                folders.remove(name)", "                pass"),
    ("incoming", "passed", "elif not path.is_file():", "elif False:"),
    ("incoming", "passed", "                files.append(name)", "                pass"),
    ("incoming", "passed", "if not info.flag_bits & 0x800:", "if False:"),
    ("incoming", "passed", "if not info.flag_bits & 0x800:", "if True:"),
    ("roster", "roster", 'SEPARATORS = ",;\\t"', 'SEPARATORS = ",\\t"'),
    ("roster", "roster", 'SEPARATORS = ",;\\t"', 'SEPARATORS = ",;"'),
    ("roster", "roster", "return any(name in fields for name in COLUMNS), len(fields)", "return len(fields)"),
    ("roster", "roster", 're.match(r"sep=', 're.match(r"sip='),
    ("roster", "roster", '" ".join(unicodedata.normalize("NFC", field).split())', 'unicodedata.normalize("NFC", field)'),
    ("roster", "roster", 'unicodedata.normalize("NFC", field)', "field"),
    ("roster", "roster", "return inert(", "return ("),
    ("roster", "roster", "if place and any(row[len(head):]):", "if False:"),
    ("roster", "roster", "if place and any(row[len(head):]):", "if any(row[len(head):]):"),
    ("roster", "roster", "    if not found:", "    if False:"),
    ("roster", "roster", '[0] in "LMN"', '[0] in "LN"'),
    ("roster", "roster", "lower = [field.lower() for", "lower = [field for"),
    ("collect", "spoilt", "if files[-1].fault else None", "if False else None"),
    ("collect", "spoilt", "if not files[-1].fault or counts:", "if counts:"),
    ("collect", "spoilt", "for file in files if file.fault]", "for file in files if file.why]"),
    ("collect", "spoilt", "or not read(known).answers(questions) else", "else"),
    ("spoilt", "spoilt", "s.id < l.id AND s.name = l.name", "s.name = l.name"),
    ("spoilt", "spoilt", "AND NOT (s.id < l.id AND s.name = l.name)", ""),
    ("spoilt", "spoilt", "submission.notes and not submission.answers(questions)", "submission.status == 'unreadable'"),
    ("collect", "gradescope", "for who in (owner.student, *owner.others)", "for who in (owner.student,)"),
    ("collect", "gradescope", "all(name.startswith(above) and", "all("),
    ("collect", "gradescope", 'and "/" in name[len(above):]', ""),
    ("collect", "gradescope", 'left.passes(why, table.name)', "pass"),
    ("gradescope", "gradescope", "if len(stack) > DEEPEST:", "if False:"),
    ("gradescope", "gradescope", "if len(data) > LARGEST:", "if False:"),
    ("gradescope", "gradescope", "(yaml.YAMLError, ValueError, RecursionError)", "(yaml.YAMLError, RecursionError)"),
    ("gradescope", "gradescope", "len(stack) == 4 and text", "text and len(stack) >= 4"),
    ("gradescope", "gradescope", 'many.lstrip(":") == "submitters" and', ""),
    ("gradescope", "gradescope", "line(value)", "value"),
    ("gradescope", "gradescope", " and len(set(of[field])) == len(people)", ""),
    ("gradescope", "gradescope", "if all(of[field]) and", "if"),
    ("gradescope", "gradescope", "if known.intersection(of[best]) else fit", "if False else fit"),
]


@pytest.mark.parametrize("name", CHECKS)
def test_it_holds(name, tmp_path):
    m = SimpleNamespace(**REAL)
    with collecting(m):
        CHECKS[name](m, tmp_path)


@pytest.mark.parametrize("part, name, old, new", WRONG, ids=lambda x: str(x)[:40])
def test_a_wrong_version_is_caught(part, name, old, new, tmp_path):
    m = SimpleNamespace(**REAL | {part: rewritten(Path(REAL[part].__file__), old, new, real=REAL[part])})
    with collecting(m), pytest.raises((AssertionError, LookupError, TypeError, ValueError, OSError, pytest.fail.Exception, TimeUp)):
        with time_limit(5):  # a pipe that nobody writes into is waited for
            CHECKS[name](m, tmp_path)


def test_by_commands_it_says_what_it_left(tmp_path, capsys, monkeypatch):
    """What is printed of a folder that holds a bit of everything, each thing in one line; a class that is none makes no gradebook."""
    monkeypatch.chdir(tmp_path)
    handed(tmp_path / "in", {"ann/ex04.ipynb": notebook(HEAD, A), "ann/utils.py": "x = 1", "bob/ex04.ipynb": notebook("x = 1"), "cy.ipynb.txt": "{}", "more.zip": b"PK", ".ipynb_checkpoints/x.ipynb": "{}"})
    (tmp_path / "class.csv").write_text('student;name\nann;A\nbob;B\n"cy\nx";C\n')
    assert cli.main(["collect", "04", "in", "--roster", "class.csv"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said == ["3 new, 0 known, 1 missing, 0 not on the roster, 0 refused", "  missing: cy x", "  no function of this set: bob: bob/ex04.ipynb",
                    "  passed over: .ipynb_checkpoints/: hidden, or made by a program",
                    "  passed over: cy.ipynb.txt: its name must end in .ipynb or .py; name it anew, and collect it too",
                    "  passed over: more.zip: packed; unpack it, and collect it too", "  2 files: ann; one counts, ann/ex04.ipynb", "Next: byhand-grade grade 04"]
    handed(tmp_path / "groups", STOPPED["groups"][0])
    assert cli.main(["--store", "none", "collect", "04", "groups"]) == cli.WRONG
    assert "the folder one holds ann, bob" in capsys.readouterr().err and not Path("none").exists()
    handed(tmp_path / "only", {"bob.ipynb.txt": "{}"})
    assert cli.main(["--store", "none", "collect", "04", "only"]) == cli.WRONG
    assert "bob.ipynb.txt: its name must end in .ipynb" in capsys.readouterr().err and not Path("none").exists()


def test_a_file_without_a_function_of_the_set_is_told(tmp_path, capsys):
    """The attempt has a note, and `status` asks to look again."""
    for i, (data, says) in enumerate({notebook("x = 1"): "no function of this set", notebook("def (", "x = 1"): "no function of this set\ncode cell 1"}.items()):
        (tmp_path / f"{i}.ipynb").write_bytes(data)
        status, note, _, graded = batch.one(str(tmp_path / f"{i}.ipynb"), "04", KEY)
        assert status == "graded" and note.startswith(says) and {g.status for g in graded} == {"missing"}
    for cells in ("attention = [].append",), ("mine = [].append\ncheck('04.2', mine)",):  # an answer by another name
        (tmp_path / "c.ipynb").write_bytes(notebook(*cells))
        assert batch.one(str(tmp_path / "c.ipynb"), "04", KEY)[1] == ""
    with store.Store(tmp_path / "04") as kept:
        kept.receive("ann", "ann.ipynb", "0" * 64, ".ipynb", b"")
        kept.keep(1, 1, status, "sandbox", note, 0.1, graded)
    assert cli.main(["--store", str(tmp_path), "status", "04"]) == 0
    assert "look again: ann has no function of this set in the file that counts" in capsys.readouterr().out
    (tmp_path / "b.ipynb").write_bytes(notebook(HEAD, B))
    assert collect.collect(Shelf(), tmp_path / "b.ipynb", (), QUESTIONS).without == []
