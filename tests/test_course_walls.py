# ruff: noqa: E501
"""What a submission may try upon the grader itself, or upon the rest of the class: each wall holds, and a wrong version of it is seen."""

import ast
import csv
import io
import json
import os
import struct
import sys
import time
import zipfile
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import hostile
import numpy as np
import pytest
from byhand.grade import judge, run, shapes
from byhand.grade.course import (
    batch,
    child,
    collect,
    crossing,
    export,
    grading,
    incoming,
    inert,
    isolation,
    sandbox,
    similar,
    statements,
    store,
    submission,
    terminal,
    whose,
)
from byhand.grade.limits import TimeUp, time_limit
from byhand.grade.model import make_inputs
from byhand.grade.sets import questions_of, references_of
from confining import confined
from dies import fatal
from hostile import ATTACKS, HEAD, KEY, A, B, C, body, graded_of, notebook
from proofs import as_shipped
from rewritten import rewritten
from test_course_parts import Shelf, collecting

PARTS = (batch, child, collect, crossing, export, grading, incoming, inert, judge, sandbox, shapes, similar, statements, store, submission, terminal, whose)
REAL = {module.__name__.rsplit(".", 1)[1]: module for module in PARTS}
NAMED = questions_of("04")[1]  # one output, public and hidden cases


@pytest.fixture(scope="module", autouse=True)
def plain():
    with as_shipped():
        yield


def edited(part, old, new):
    """The modules, one of them with an edit that fits once."""
    return SimpleNamespace(**REAL | {part: rewritten(Path(REAL[part].__file__), old, new, real=REAL[part])})


# What crosses


def crossed(m, **forged):
    head = {"kind": "ok", "text": "", "changed": [], "events": [], "arrays": [{"dtype": "<f8", "shape": [2]}]}
    return m.crossing.read(head | forged, [bytes(16)], NAMED)


def check_crossing(m, tmp_path):
    """Of what an answer may have written: no dtype that Python would have to read, no text that a page or a file cannot hold, none that is long, no case that there is not."""
    assert crossed(m).arrays[0].tolist() == [0, 0]
    for dtype in ("(,)f8", "f8", "<f8,<f8", ">f8", "O", ["<f8"], "<f8" * 10**5, None):
        assert crossed(m, arrays=[{"dtype": dtype, "shape": [2]}]) is None, dtype
    found = crossed(m, kind="error", text="a\n\x1b[2J\u202e\ud800" + "b" * 9000, changed=["X\ud800"] * 10**5, events="x" * 10**5, arrays=[{"text": "\x07"}])
    assert found.text.startswith("a\n\ufffd[2J\ufffd\ufffdb") and len(found.text) == 2000 and found.arrays == ("\ufffd",)
    assert found.changed == ("X\ufffd",) * 50 and found.events == ()
    data = b"".join(child.frame({"question": NAMED.id, "place": place, "kind": "error", "text": "x", "changed": [], "events": [], "arrays": []})
                    for place in ("another", ["square"], True, -1, 99, *range(len(NAMED.cases))))
    results, _ = m.crossing.of_question(NAMED, {}, data)
    assert set(results) == {c.name for c in NAMED.cases}
    _, why = m.crossing.of_question(NAMED, {}, child.frame({"question": NAMED.id, "loaded": False, "problems": ["\x1b" + "p" * 9000] * 99}))
    assert len(why) < 1100 and why.startswith("\ufffdp")


def check_frames(m, tmp_path):
    """The JSON of one is short: as lists, it would take 25 times its bytes of the grader's memory."""
    long = json.dumps({"question": "04.2", "x": [[]] * (1 << 19), "sizes": []}).encode()
    assert list(m.child.frames(struct.pack(">I", len(long)) + long)) == []
    assert list(m.child.frames(child.frame({"x": "y" * 10**5}))) == [({"x": "y" * 10**5, "sizes": []}, [])]


# What reads a file


def code(*cells, suffix=".ipynb"):
    return notebook(*cells), suffix


def check_reading(m, tmp_path):
    """Of any quarter of a million letters in a second or two, four times as long for four times as many; more is no notebook."""
    spent = []
    for n in (5_000, 20_000):  # of the process that tries to read them
        before = os.times()
        m.submission.parsed(*code("def f(): 0\n" * n))
        spent.append(sum(os.times()[2:4]) - sum(before[2:4]))
    assert 0 < spent[1] < 8 * spent[0], spent
    for text in (" " * 250_000 + "x", "a" * 250_000 + "!", "def f(): 0\n" * 20_000, "x = [\n" + " " * 100_000 + "%\n" * 50_000, "%x\n" * 80_000):
        begun = time.process_time()
        found = m.submission.parsed(*code(HEAD, text))
        assert found.status == "read" and found.functions is not None and found.reached("f") is not None
        assert time.process_time() - begun < 15, text[:20]
    assert m.submission.parsed(*code("a\n" * 200_000)).status == "unreadable"


def check_nested(m, tmp_path):
    """No shape of a text ends the reading, or is read for minutes: it costs its own cell at most, and no other submission."""
    shapes = {
        "an answer": "check('04.1', " + "-" * 450 + "x)", "a condition": "if a: pass\n" + "elif a: pass\n" * 1400, "a test": "if " + "-" * 1500 + "x: pass",
        "near to what Python reads": [f"x = {'-' * n}x" for n in range(2700, 2940, 4)], "calls": "f" + "()" * 2500, "a sum": "x = " + "1 + " * 2500 + "1",
        "functions that hand on": "\n".join(f"def a{i}(x): x.b = 1; a{i + 1}(x)" for i in range(3000)) + "\na0(attention)",
        "names of names": "\n".join(f"a{i} = a{i + 1}" for i in range(12000))}
    with mock.patch.object(m.submission, "Statements", m.statements.Statements):
        for name, cells in shapes.items():
            found = m.submission.parsed(*code(HEAD, A, B, C, *([cells] if isinstance(cells, str) else cells)))
            assert found.answers(questions_of("04")) == {"attention", "softmax_vjp", "related_score"}, name
            assert found.answering(questions_of("04")).reached("attention") >= {"sqrt"}, name
            assert not found.notes or "300 steps deep" in found.notes[0], name
        more = m.submission.parsed(*code("x = " + "-" * 200 + "1", "if a: pass\n" + "elif a: pass\n" * 200, "def f(x):\n    return x" + " + 1" * 200))
        assert more.notes == () and "f" in more.functions
    many = [f"def g{i}(x):\n    return x" for i in range(60)] + [f"g{i}(attention)" for i in range(60)]
    assert len(m.statements.Statements([A, *many]).needed("attention")) == 1  # what only reads is still told apart


def check_lines(m, tmp_path):
    """Commands of IPython are left out, and no line of Python is."""
    cell = "%matplotlib inline\n!ls\n?np.linalg\nnp.dot?\nx = (7\n     % 4)  # is it 3?\nnp.linalg.norm??\ny = '''\n%z'''\nw = 'a\u2028b'\n"
    found = m.submission.parsed(*code(cell, "z = (7\r\n  % 4)\r\n"))
    scope = {}
    for text in found.cells:
        exec(text, scope)
    assert (scope["x"], scope["y"], scope["z"], scope["w"], found.notes) == (3, "\n%z", 3, "a\u2028b", ())


def check_sources(m, tmp_path):
    text = "é = 'ü'; x = 1\n\ndef one():\n    return 'é'; y = 2\n\n@str\nclass Two:\n    a = 1\n\n\tif 0: pass\n".replace("\n\tif 0: pass", "")
    found = m.submission.parsed(*code("\n" + text + "def one(): return 'ü' ; z = 3\r\n"))
    nodes = {n.name: n for n in ast.parse(found.cells[0]).body if hasattr(n, "name")}
    assert found.functions == {name: (0, ast.get_source_segment(found.cells[0], n)) for name, n in nodes.items()} and len(nodes) == 2


def check_reached(m, tmp_path):
    """What an answer uses is found where names of the notebook stand for it; what has but the same name is not."""
    cells = ("import torch as T, numpy as np", "sm = T.softmax", "def direct(x): return sm(x)", "out = T.ones(3)", "def clean(x):\n    out = x\n    return out",
             "bound = clean\nbound = direct", "def deco(f): return T.sin", "@deco\ndef dressed(x): return x", "early = T.sin\ndef early(x): return x",
             "def nested(x):\n    def inner(y):\n        return sm(y)\n    return inner(x)", "class Box:\n    sm = sm\n", "def boxed(x): return Box", "def kept(x): return sm(x)", "kept = str(kept)",
             "def field(x): return x.sm + x.T", "def noted(x: T.Tensor) -> T.Tensor:\n    torch: T.Tensor = x\n    return torch", "freed = sm\nfreed = clean",
             "late = []\nlate.append(sm)", "def listed(x): return late[0](x)", "if T:\n    import torch\n    inner = clean\nelse:\n    other = sm", "def chosen(x): return inner(x)", "def others(x): return other(x)",
             "try:\n    either = sm\nexcept ValueError:\n    either = clean", "def tried(x): return either(x)")
    found = m.submission.parsed(*code(*cells))
    uses = {name for name in found.written if "torch" in found.reached(name)} - {"sm", "out", "deco", "late", "other", "either", "Box"}
    assert uses == {"direct", "bound", "dressed", "nested", "boxed", "kept", "listed", "others", "tried"}, uses
    assert "softmax" in found.reached("direct")
    assert "torch" not in found.reached("nested", ["sm"])


# What words and shapes cost


def check_shapes(m, tmp_path):
    """Thirty axes of length one are told in no time; what is left without some of them is the same as ever."""
    with time_limit(5):
        try:
            said = [m.shapes.about_shape(np.ones((1,) * 28 + shape), np.ones((2, 3))) for shape in ((2, 3), (2, 2), (2, 1, 3, 1))]
        except TimeUp:
            said = ["late"]
    assert ["length one too many" in x for x in said] == [True, False, True]
    for mine, theirs, fits in (((1, 2, 1), (2,), True), ((1, 2, 1), (1, 2), True), ((1, 2, 3), (2,), False), ((2, 1, 1, 3), (2, 1, 3), True), ((2, 1, 1), (2, 3), False), ((1, 1), (), True)):
        assert ("length one too many" in m.shapes.about_shape(np.ones(mine), 2 * np.ones(theirs))) == fits, (mine, theirs)


def check_measures(m, tmp_path):
    """No number is so large that a question which measures cannot tell, or takes it for right; nothing of it ends a batch."""
    told = {}
    for set_id in ("00", "01", "06"):
        for q in questions_of(set_id):
            if not q.measure or len(q.returns) > 1:
                continue
            passed = {}
            for case in q.cases:
                given = make_inputs(q, case, KEY)
                (mine,) = run.run(references_of(set_id)[q.name], given, q).arrays
                right = m.judge.finish(q, given, run.Result("ok", (mine,)))
                wave = np.where(np.arange(mine.size).reshape(mine.shape) % 2, -1e308, 1e308)
                for i, x in enumerate((np.full(mine.shape, 1e308), wave, wave.T.copy(), -wave, np.full(mine.shape, 2**64 - 1, np.uint64))):
                    with np.errstate(all="ignore"):
                        found = m.judge.finish(q, given, run.Result("ok", (x,)))
                    passed.setdefault(i, []).append(found.kind == "ok" and all(map(np.array_equal, found.arrays, right.arrays)))
                    told[q.id] = told.get(q.id, "") + found.text
            assert not any(map(all, passed.values())), (q.id, passed)
    assert {q for q, text in told.items() if "cannot be measured" in text} == {"00.10", "01.2", "01.6", "06.7"}, told


# The rest of the class


def check_killed(m, tmp_path):
    """One that ends the process which grades it is an error; all others are graded."""
    m.batch.one, m.batch.quiet = fatal, batch.quiet
    asked = [(name, "04", KEY, 1.0, "sandbox") for name in ("ann", "bob", "eve", "zoe", "eve2", "yan")]
    found = dict(m.batch.graded_here(asked, 2))
    assert {asked[i][0]: status for i, (status, *_) in found.items()} == {"ann": "graded", "bob": "graded", "eve": "error", "zoe": "graded", "eve2": "error", "yan": "graded"}


def check_any_error(m, tmp_path):
    """Whatever one submission brings about, it is an error of that one, in words that can be kept; but where nothing is confined, nothing is graded."""
    (tmp_path / "a.py").write_text("x = 1")
    for error in (SyntaxError("(,)"), MemoryError(), RecursionError("deep"), ValueError("\ud800\x1b"), TypeError("x" * 10**5), AssertionError()):
        with mock.patch.object(m.batch, "grade", mock.Mock(side_effect=error)):
            status, note, _, graded = m.batch.one(str(tmp_path / "a.py"), "04", KEY)
        assert status == "error" and graded == () and note.startswith(type(error).__name__) and len(note) <= 1000 and note.encode()
    with mock.patch.object(m.batch, "grade", mock.Mock(side_effect=sandbox.SandboxError("none"))), pytest.raises(sandbox.SandboxError):
        m.batch.one(str(tmp_path / "a.py"), "04", KEY)


def check_collect(m, tmp_path):
    """A name or a file of one harms no other: not one that is damaged, that nothing can show, that is another's in a platform's form, or that has a number of 5000 digits."""
    with collecting(m):
        collected(m, tmp_path)


def collected(m, tmp_path):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        for name in ("annx_1_1_lab.py", "evex_2_2_lab.py", "benx_3_" + "9" * 5000 + "_lab.py", "zoex_4_4_\x1b[2J.py"):
            file.writestr(name, "x = 1\n" * 50)
    data = bytearray(data.getvalue())
    place = data.find(b"evex_2_2_lab.py") + 15
    data[place:place + 8] = b"\xff" * 8
    (tmp_path / "in.zip").write_bytes(data)
    shelf = Shelf()
    found = m.collect.collect(shelf, tmp_path / "in.zip")
    assert "1" in found.kept and len(found.kept) == 2 and len(found.refused) == 2, found
    assert all(x.isprintable() for x in found.refused)
    folder = tmp_path / "in"
    for name in ("101/lab.py", "102/a_101_99_lab.py", "Bob_101_assignsubmission_file__103_assignsubmission_file_/x_101_assignsubmission_file_.py",
                 "Cy_104_assignsubmission_file_y_101_assignsubmission_file_.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    for name in (b"j\xf6rg.py", b"a\nb.py"):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text("x")
    found = m.collect.collect(shelf := Shelf(), folder)
    assert sorted(found.kept) == ["101", "102", "103", "104"] and found.several == {} and len(found.refused) == 2
    with mock.patch.object(m.collect, "parsed", lambda data, suffix, read=m.collect.parsed: 1 / (data != b"102/a_101_99_lab.py") and read(data, suffix)):
        found = m.collect.collect(Shelf(), folder)
    assert sorted(found.kept) == ["101", "103", "104"] and "102/a_101_99_lab.py: the grader fails to read it (ZeroDivisionError); look at it" in found.refused
    (tmp_path / "one" / "class").mkdir(parents=True)
    for name in ("annx_1_1_lab.py", "benx_2_2_lab.py"):
        (tmp_path / "one" / "class" / name).write_text(name)
    assert m.collect.collect(Shelf(), tmp_path / "one").kept == ["1", "2"]  # a platform's folder, whatever it lies in


def check_fields(m, tmp_path):
    """No formula, also where a spreadsheet cuts a line at semicolons."""
    rows = [store.Row("x;=1+1;", "graded", 1, 3, "", ""), store.Row("ann", "error", None, 3, "n\t; ＝2+2\ud800;b")]
    for kind in ("csv", "canvas", "moodle"):
        text = m.export.table(rows, [], questions_of("04")[:1], "E", kind, {"ann": "Ann;@SUM(1)"})
        assert text.encode() and not [c for line in csv.reader(io.StringIO(text), delimiter=";") for c in line if c.strip()[:1] in tuple("=+-@＝")], kind
        assert "n ;' ＝2+2" in text or kind == "canvas"


def check_backup(m, tmp_path):
    """A clock that was set back costs no copy that was just made."""
    with m.store.Store(tmp_path) as kept:
        for _ in range(11):
            kept.backup()
        with mock.patch.object(m.store, "datetime", mock.Mock(now=lambda zone: datetime(2001, 1, 1, tzinfo=zone))):
            assert kept.backup().exists()
    assert len(list((tmp_path / "backup").iterdir())) == 10


def check_deep(m, tmp_path):
    """An expression deeper than Python goes is like nothing; the class is compared all the same."""
    deep = "def attention(Q, K, V):\n    return " + "+".join(["Q"] * 900)
    found = m.similar.pairs({"ann": {"attention": A}, "ben": {"attention": A}, "eve": {"attention": deep}}, "04")
    assert [(p.one, p.other) for p in found] == [("ann", "ben")]


def check_said(m, tmp_path):
    out = io.StringIO()
    m.terminal.say("a\x1b]0;x\x07\tb\nc", "\ud800", file=out)
    assert out.getvalue() == "a\ufffd]0;x\ufffd\tb\nc\n\ufffd\n"


# The sandbox


def check_words(m, tmp_path):
    """What looks like bubblewrap's complaint is one only if nothing was run: an ordinary user's submission can write it."""
    def line(text):
        return lambda pipe, file: [sys.executable, "-c", f"import os; {text}os.write(2, b'bwrap: no')".replace("PIPE", str(pipe))]

    assert m.sandbox.carried(line("os.write(PIPE, b'x'); "), sandbox.Limits(), b"", lambda p: p.kill()).data == b"x"
    with pytest.raises(m.sandbox.SandboxError, match="cannot be made here: bwrap: no"):
        m.sandbox.carried(line(""), sandbox.Limits(), b"", lambda p: p.kill())


def check_command(m, tmp_path):
    """What is not to be there is covered, the library itself too where it is installed; and the limits hold for bubblewrap's own process in there."""
    here = Path(sandbox.python_folders()[-1]) / "lib"
    package, module = here / "torch", here / "peft.py"
    with mock.patch.object(m.sandbox, "LIBRARY", here / "byhand"), mock.patch.object(Path, "is_dir", lambda path: path.suffix != ".py"):
        line = m.sandbox.command(tmp_path, 5, 6, m.sandbox.Limits(without=(str(package), str(module), "/elsewhere/scipy")), 61234)
    words = " ".join(line)
    for place in (package, here / "byhand"):
        assert f"--perms 0000 --tmpfs {place} --remount-ro {place} " in words, place
    assert f"--ro-bind /dev/null {module} " in words and "/elsewhere" not in words
    assert max(line.index(str(p)) for p in (package, module)) > max(line.index(folder) for folder in sandbox.python_folders())
    first = line[:line.index(next(w for w in line if w.endswith("bwrap")))]
    assert first[0].endswith("prlimit") and any(w.startswith("--data=") for w in first) and not any(w.startswith("--nproc=") for w in first)


def check_apart(m, tmp_path):
    """Who may use other packages has another sandbox; who is lent a right function is alone with it."""
    asked = []
    m.grading._answers = lambda set_id, found, asked_, parts, confine: asked.append([q["id"] for q in asked_["questions"]]) or {}
    questions = [{"id": q.id, "lent": {}, "without": ["torch"] if i % 2 else []} for i, q in enumerate(questions_of("04")[:4])]
    m.grading._apart("04", None, {"questions": questions}, [], None)
    assert asked == [["04.1", "04.3"], ["04.2", "04.4"]]
    asked.clear()
    m.grading._apart("04", None, {"questions": [q | {"lent": {"attention": "…"} if i > 1 else {}} for i, q in enumerate(questions)]}, [], None)
    assert asked == [["04.1"], ["04.2"], ["04.3"], ["04.4"]]
    jobs = []

    def confine(job, limits, given):
        jobs.append(({p.stem for p in job.rglob("*.py")}, limits.without))
        return sandbox.Ran(b"", "ended", 0, 0.1)

    found = submission.parsed(notebook(HEAD), ".ipynb")
    request, parts = grading.request("00", {q.name for q in questions_of("00")}, KEY)
    for question in request["questions"]:
        m.grading._once("00", found, request | {"questions": [question]}, parts, confine)
    for q, (modules, without) in zip(questions_of("00"), jobs, strict=True):
        assert ("gradcheck" in modules) == bool(q.library), q.id
        assert any("scipy" in place for place in without) and any(place.endswith("/torch") for place in without) == (not q.torch), q.id


CHECKS = {name.removeprefix("check_"): value for name, value in dict(globals()).items() if name.startswith("check_")}
WRONG = [  # part, the check that must fail, and the edit
    ("crossing", "crossing", "if dtype not in DTYPES or", "if np.dtype(dtype).str not in DTYPES or"),
    ("crossing", "crossing", "return inert(text[:most]) if", "return text[:most] if"),
    ("crossing", "crossing", "return inert(text[:most]) if", "return inert(text) if"),
    ("crossing", "crossing", "listed[:MOST]] if isinstance(listed, list) else []", "listed[:MOST]]"),
    ("crossing", "crossing", "for x in listed[:MOST]]", "for x in listed]"),
    ("crossing", "crossing", " is int and place in cases", " is int"),
    ("crossing", "crossing", 'type(place := inner.get("place")) is int and', '(place := inner.get("place")) and'),
    ("child", "frames", "if length > LONGEST:", "if False:"),
    ("child", "frames", "LONGEST = 1 << 20", "LONGEST = 1 << 10"),
    ("submission", "reading", "found[s.node.name] = s.cell, _source(s.node, lines[s.cell])", 'found[s.node.name] = s.cell, ast.get_source_segment(self.cells[s.cell], s.node) or ""'),
    ("submission", "reading", "if sum(map(len, code)) > CODE:", "if False:"),
    ("submission", "reading", "for node in ast.parse(text).body:\n            compile(ast.Module([node], [])", "for node in [ast.parse(text)]:\n            compile(node"),
    ("submission", "nested", "if _deep(tree):", "if False:"),
    ("submission", "nested", "DEEPEST = 300", "DEEPEST = 30"),
    ("submission", "nested", "told |= self.statements.effects(*{name for s, _ in self._leaves for name in s.loads})", "told = told.union(*(self.statements.effects(name) for s, _ in self._leaves for name in s.loads))"),
    ("statements", "nested", "if self._open == MOST_CALLS:", "if False:"),
    ("statements", "nested", "            self._open -= 1\n", ""),
    ("collect", "collect", "            except Exception as error:  # a fault of ours is of one file, too", "            except OSError as error:"),
    ("submission", "lines", "else plain(text) for text", "else text for text"),
    ("submission", "sources", "here[-1] = here[-1][:node.end_col_offset]", "pass"),
    ("submission", "sources", "here[0] = here[0][node.col_offset:]", "here[0] = here[0][1:]"),
    ("submission", "reached", "waiting += looked_up(s.node, LATER)", "pass"),
    ("submission", "reached", "waiting += looked_up(s.node, LATER)", "waiting += looked_up(s.node)"),
    ("submission", "reached", "waiting += looked_up(s.node, LATER)", "waiting += names_in(s.node)"),
    ("submission", "reached", "found = found.union(names_in(s.node), *map(names_in, _executed(s.node)))", "pass"),
    ("submission", "reached", "                    found[name] = []\n", "                    pass\n"),
    ("submission", "reached", "if always and name in fresh:", "if name in fresh:"),
    ("submission", "reached", "fresh = s.makes - s.loads", "fresh = set()"),
    ("submission", "reached", "fresh = s.makes - s.loads", "fresh = s.makes"),
    ("submission", "reached", "found.setdefault(name, []).append(s)", "found[name] = [s]"),
    ("submission", "reached", "in seen or here in apart:", "in seen:"),
    ("submission", "reached", "s.makes | s.stores | (s.writes - self.modules.keys())", "s.makes | s.stores"),
    ("submission", "reached", "for x in leaves(s.node)]", "for x in [s.node]]"),
    ("shapes", "shapes", "if _but_for_ones(a.shape, b.shape):", "import itertools\n    ones = [k for k in range(a.ndim) if a.shape[k] == 1]\n    if any(a.squeeze(axis=some).shape == b.shape for r in range(1, 31) for some in itertools.combinations(ones, r)):"),
    ("shapes", "shapes", "return not rest", "return True"),
    ("shapes", "shapes", "elif n != 1:", "elif n == 1:"),
    ("judge", "measures", 'over="raise", invalid="raise"', 'over="ignore"'),
    ("judge", "measures", "except Exception as error:  # of", "except KeyError as error:  # of"),
    ("batch", "killed", "again += running.values()", "pass"),
    ("batch", "killed", "except BrokenProcessPool:", "except KeyError:"),
    ("batch", "any_error", "except Exception as error:", "except OSError as error:"),
    ("batch", "any_error", "except SandboxError:\n        raise", "except ZeroDivisionError:\n        raise"),
    ("batch", "any_error", "return status, inert(note),", "return status, note,"),
    ("batch", "any_error", '{error}"[:1000]', '{error}"'),
    ("collect", "collect", "except Exception as error:  # BadZip", "except zipfile.BadZipFile as error:  # BadZip"),
    ("whose", "collect", "(?P<file>\\d{1,18})_", "(?P<file>\\d+)_"),
    ("incoming", "collect", "return inert(name) == name and", "return True and"),
    ("incoming", "collect", ' and not set(name) & set("\\n\\t")', ""),
    ("incoming", "collect", "{ascii(name)}: a name", "{name}: a name"),
    ("whose", "collect", "step = steps[min(depth, len(steps) - 1)]", "step, depth = steps[-1], 99"),
    ("whose", "collect", 'r"[^/]+?_(?P<id>', 'r"[^/]+_(?P<id>'),
    ("export", "fields", "(^|;)", "(^)"),
    ("export", "fields", "(?=\\s*[-=", "(?=[-="),
    ("export", "fields", "inert(text)", "text"),
    ("export", "fields", 'safe(f"Participant {row.student}")', 'f"Participant {row.student}"'),
    ("store", "backup", " - {path})[:-9]", ")[:-10]"),
    ("store", "backup", "[:-9]", "[:-19]"),
    ("similar", "deep", "except (SyntaxError, ValueError, RecursionError):", "except (SyntaxError, ValueError):"),
    ("terminal", "said", "map(inert, lines)", "lines"),
    ("inert", "inert", '"Cf", ', ""),
    ("sandbox", "words", "if not parts and said", "if said"),
    ("sandbox", "words", "if not parts and said", "if parts and said"),
    ("sandbox", "command", "(str(LIBRARY), *limits.without)", "limits.without"),
    ("sandbox", "command", "(str(LIBRARY), *limits.without)", "(str(LIBRARY),)"),
    ("sandbox", "command", '["--ro-bind", "/dev/null", place]', "[]"),
    ("sandbox", "command", "line = [*limited(limits)[:1], *limited(limits)[2:], bwrap,", "line = [bwrap,"),
    ("sandbox", "command", "*limited(limits)[2:], bwrap,", "*limited(limits)[1:], bwrap,"),
    ("grading", "apart", 'question["id"] if question["lent"] else ""', '""'),
    ("grading", "apart", '*question["without"], *known', "*known"),
    ("grading", "apart", "_write_job(job, [name for q in questions_of(set_id) if q.id in ids for", "_write_job(job, [name for q in questions_of(set_id) for"),
    ("grading", "apart", ", without=without)", ")"),
]


def check_inert(m, tmp_path):
    assert m.inert.inert("plain é 的\n\t") == "plain é 的\n\t" and m.inert.inert("\x1b\u202e\u200b\ud800\ue000\x00\r\x85") == "\ufffd" * 8


CHECKS["inert"] = check_inert


@pytest.mark.parametrize("name", CHECKS)
def test_it_holds(name, tmp_path):
    with mock.patch.multiple(batch, one=batch.one, quiet=batch.quiet), mock.patch.object(grading, "_answers", grading._answers):
        CHECKS[name](SimpleNamespace(**REAL), tmp_path)


@pytest.mark.parametrize("part, name, old, new", WRONG, ids=lambda x: str(x)[:40])
def test_a_wrong_version_is_caught(part, name, old, new, tmp_path):
    m, caught = edited(part, old, new), (Exception, pytest.fail.Exception, TimeUp)
    with mock.patch.multiple(batch, one=batch.one, quiet=batch.quiet), mock.patch.object(grading, "_answers", grading._answers), pytest.raises(caught):
        with time_limit(8):
            CHECKS[name](m, tmp_path)


@confined
def test_a_wall_that_is_not_there_is_seen(tmp_path, monkeypatch):
    """Packages that are left in the sandbox are used by an answer that takes down the sign."""
    attack = next(a for a in ATTACKS if a.name == "SciPy, its sign taken down")
    monkeypatch.setattr(grading, "places_of", lambda name: ())
    assert not hostile.told(attack, tmp_path)["right"]


@confined
def test_a_batch_goes_on_beside_what_ends_another(tmp_path):
    """As the store keeps it: half a character, and a dtype that is no Python."""
    with store.Store(tmp_path / "04") as kept:
        for name, cell in (("ann", A), ("eve", body(A, "raise ValueError('\\ud800')")), ("zoe", next(a for a in hostile.IN_A if a[0] == "a dtype that is no Python")[2])):
            cell = cell if cell.startswith("\n") else body(A, cell)
            kept.receive(name, f"{name}.ipynb", name * 10, ".ipynb", notebook(HEAD, cell, B, C))
        with mock.patch.object(batch.doctor, "prove"):
            assert batch.run(kept, "04", b"course", 1) == {"graded": 3}
        assert [r.points for r in kept.rows(39)] == [7, 4, 4]


@confined
def test_a_second_wall_is_the_same_for_a_process(tmp_path):
    """Without a sandbox the sign is all there is: a plain import meets it."""
    attack = next(a for a in ATTACKS if a.name == "torch, its name put together")
    assert hostile.told(attack, tmp_path, lambda *a, **k: graded_of(*a, **k | {"confine": isolation.separate}))["right"]

