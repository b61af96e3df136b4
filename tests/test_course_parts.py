# ruff: noqa: E501
"""What leaves a gradebook, and what it keeps: each promise is a check, and wrong versions of the modules must fail it."""

import csv
import hashlib
import html.parser
import io
import json
import re
import sqlite3
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import jsonschema
import numpy as np
import pytest
from browser import accessibility, browser, faults, visitor
from byhand.grade.course import (
    collect,
    drawing,
    export,
    feedback,
    grading,
    hidden,
    incoming,
    picture,
    roster,
    store,
    whose,
)
from byhand.grade.examine import Report, examine
from byhand.grade.headings import HEADINGS
from byhand.grade.model import Case, Mutant, Question, make_inputs
from byhand.grade.run import run
from byhand.grade.sets import questions_of, references_of
from docutils.nodes import make_id
from proofs import as_shipped
from rewritten import rewritten

REAL = {module.__name__.rsplit(".", 1)[1]: module for module in (collect, drawing, export, feedback, hidden, incoming, picture, roster, store, whose)}


@pytest.fixture(scope="module", autouse=True)
def plain():
    with as_shipped():
        yield


def changed(part, old, new):
    """The modules, one of them with an edit that fits once."""
    return SimpleNamespace(**REAL | {part: rewritten(Path(REAL[part].__file__), old, new, real=REAL[part])})


# A question whose hidden case has numbers and sizes that nothing else has


def double(X):
    """Y = 2 X."""
    ...


SECRET = ("31337", "17")
TOY = Question(
    id="99.1", title="Twice", stub=double, returns=("Y",), minutes=2, hints=("one",), forbid=(),
    cases=(Case("values", lambda rng: {"X": rng.integers(1, 9, size=(3, 4)) / 8}, "three rows", 2),
           Case("other", lambda rng: {"X": np.full((17, 2), 31337.0)}, "17 rows of 31337", guards="values")),
    mutants=(Mutant("triple", lambda X: 3 * X, "This is 3 X.", "4.4", ()),))
LEAKS = {  # answers that are wrong in the hidden case alone, and say what they saw as loudly as they can
    "a message": "raise ValueError(str(X.shape) + str(X))",
    "a type of its own": "raise type('N' + str(int(X[0, 0])), (Exception,), {})()",
    "a line of its own": "import linecache; t = 'def double():\\n    raise ValueError  # %d' % X[0, 0]; linecache.cache['mine'] = 1, None, t.splitlines(True), 'mine'; d = {}; exec(compile(t, 'mine', 'exec'), d); d['double']()",
    "numbers": "return 2 * X + 1",
    "one number": "return 2 * X + np.eye(len(X))[:, :2]",
    "a factor": "return 2 * X * 1.5",
    "a shape": "return X[:-1]",
    "a size": "return np.ones(len(X))",
    "nan": "return X * np.nan",
    "whole numbers": "return X.astype(int)",
    "a text": "return str(X)",
    "a change in place": "X *= 2; return X",
    "a known mistake": "return 3 * X",
}


def told(m, line, key=b"one"):
    """The page of an answer that is right where there are three rows, and does `line` elsewhere."""
    text = f"def double(X):\n    if len(X) != 3:\n        {line}\n    return 2 * X\n"
    scope = {"np": np}
    exec(compile(text, "<cell 1>", "exec"), scope)
    import linecache

    linecache.cache["<cell 1>"] = len(text), None, text.splitlines(keepends=True), "<cell 1>"
    results = {c.name: run(scope["double"], make_inputs(TOY, c, key), TOY) for c in TOY.cases}

    def expected(case):
        return (2 * make_inputs(TOY, case, key)["X"],)

    outcomes = examine(TOY, None, expected, TOY.cases, key, order=0, runner=lambda case: results[case.name])
    outcomes = tuple(m.hidden.discreet(o, {"double": (0, text)}) if o.case.hidden else o for o in outcomes)
    kept = m.picture.taken(TOY, outcomes, results, expected, key)
    said = repr(Report(TOY, outcomes))
    return said, m.feedback.page(row(1), [point("99.1", 2, text=said)], [TOY], "Exercises", {"99.1": json.loads(json.dumps(kept))}, [text])


def row(points=1.0, student="ann", status="graded", note=""):
    return store.Row(student, status, points, 2, note)


def point(question, points, most=2, given=None, text="", status="graded"):
    return {"student": "ann", "question": question, "status": status, "max_points": most, "automatic": points, "given": given, "text": text, "mistakes": "[]"}


def check_hidden(m, tmp_path):
    """Whatever an answer does in a hidden case, neither its numbers nor its sizes nor its words are said."""
    for name, line in LEAKS.items():
        said, page = told(m, line)
        body = page[page.index("<body>"):].replace(line.replace("'", "&#x27;"), "")  # the learner's own code may stand there
        assert "FAIL  other" in said, name
        assert not [x for x in SECRET if x in re.sub(r"<[^>]*>", "", body)], (name, said)
        words = [x for x in said.split("FAIL  other")[1].splitlines() if not x.strip().startswith("in double") and "This is 3 X" not in x]
        assert not re.search(r"\d", "".join(words)), (name, words)
    assert "This is 3 X.  -> section 4.4" in told(m, LEAKS["a known mistake"])[0]
    assert "ValueError\n        in double, line 3" in told(m, LEAKS["a message"])[0]


def check_no_hidden_number(m, tmp_path):
    """In the pages of every known mistake of a set no number of a hidden input or answer stands to eight digits."""
    key, texts = b"a student", []
    for q in questions_of("04"):
        right = references_of("04")[q.name]
        secret = {f"{x:.8g}" for c in q.cases if c.hidden
                  for values in (make_inputs(q, c, key).values(), run(right, make_inputs(q, c, key), q).arrays)
                  for a in values if isinstance(a, np.ndarray | float) for x in np.ravel(a).tolist()
                  if isinstance(x, float) and len(f"{x:.8g}") > 8}
        for mutant in q.mutants[:4]:
            results = {c.name: run(mutant.function, make_inputs(q, c, key), q) for c in q.cases}
            graded = grading._graded(q, {q.name: (0, "")}, {}, (results, ""), key, "04")
            page = m.feedback.page(row(), [point(q.id, graded.points, text=graded.text)], questions_of("04"), "Exercises", {q.id: graded.pictures})
            texts.append(page)
            assert not [x for x in secret if x in page], (q.id, mutant.name)
    assert sum("<figure>" in text for text in texts) > 20


# A page


HOSTILE = '</pre><script>document.title = "owned"</script><img src=x onerror="document.title=1"><svg onload=alert(1)>\u202eevil\x00'
TEXT = f"""99.1  double  0 / 2 points
  FAIL  values  X (3, 4)
        ValueError: {HOSTILE}
        in double, line 2:  raise ValueError('<b>')
        This is 3 X.  -> section 4.4
        yours     [{HOSTILE}]
  not run: other (fix 'values' first)"""
CELL = "def double(X):\n    raise ValueError('<b>')\n"


class Tags(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found, self.text = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def kept(name="values"):
    """One picture of each sort: a matrix, one of many numbers, a curve, whole numbers, another shape, nan."""
    rng = np.random.default_rng(0)
    case = Case(name, lambda rng: {}, "")
    wide, curve, nan = rng.normal(size=(2, 20, 20)), rng.normal(size=30), rng.normal(size=(3, 4))
    pairs = [(rng.normal(size=(3, 5)), rng.normal(size=(3, 5))), (wide, wide + np.eye(20)), (curve, curve + (np.arange(30) == 17)),
             (np.arange(6), np.arange(6)[::-1]), (np.eye(3)[:2], np.eye(3)), (np.where(nan > 0, nan, np.nan), nan),
             (np.eye(3) > 0, np.eye(3) < 1)]
    question = replace(TOY, returns=("Y",))
    return [p for mine, right in pairs for p in picture._first(question, case, (mine,), (right,))]


def whole(m, book="", student=HOSTILE, name=""):
    return m.feedback.page(row(1, student, note=HOSTILE), [point("99.1", 0, text=TEXT), point("99.2", 2, text=TEXT), point("99.3", 0, text="", status="missing")],
                           [TOY], "Exercises 4", {"99.1": kept(), "99.2": kept()[:1]}, [CELL], book, name)


def check_inert(m, tmp_path):
    """No tag, attribute or address that a submission wrote; nothing is loaded."""
    page = whole(m, "https://example.org/book", name=HOSTILE)
    found = Tags(page)
    assert {tag for tag, _ in found.found} <= set("html head meta title style body main header footer h1 h2 p b i a table thead tbody tr th td section ul li div span pre code mark details summary figure figcaption svg text rect path circle".split())
    assert not [(t, a) for t, attrs in found.found for a in attrs if a.startswith("on") or a in ("src", "srcset", "formaction")]
    assert {a["href"][:25] for t, a in found.found if "href" in a} <= {"#q99.1", "#q99.2", "#q99.3", "https://example.org/book/"}
    assert "default-src 'none'" in page and not re.search(r"@import|url\(|<link", page)
    assert "document.title" in found.text and "\u202e" not in page and "\x00" not in page


def check_own_line(m, tmp_path):
    """The line that raised, marked, among its neighbours; never a line of another text."""
    assert "<mark>   2      raise ValueError(&#x27;&lt;b&gt;&#x27;)</mark>" in whole(m)
    assert "<mark>" not in m.feedback.page(row(), [point("99.1", 0, text=TEXT)], [TOY], "E", {}, ["def double(X):\n    return X\n"])


def check_links(m, tmp_path):
    """To the heading in the built book, by a path or an address; nothing but words where there is no book."""
    anchor = "04_attention.html#why-the-scores-are-divided-by-d-k"
    for book in ("https://example.org/book", "https://example.org/book/", "../../book", "http://localhost:1/x"):
        assert f'href="{book.rstrip("/")}/{anchor}"' in whole(m, book)
    assert "href=\"04" not in whole(m) and "Read again: section 4.4 · Why the scores" in whole(m)
    for book in ("javascript:alert(1)//", "data:text/html,x", "file:///etc"):
        with pytest.raises(ValueError, match="feedback: the book is at"):
            whole(m, book)
    for number, (file, heading, _) in HEADINGS.items():
        assert f'{file.replace("ipynb", "html")}#{make_id(heading)}"' in m.feedback.section(number, "b/")


def check_standing(m, tmp_path):
    """No number where there is none; what was given by hand is said; in the order of the set."""
    page = m.feedback.page(row(None, status="unreadable", note="not a whole notebook"), [], [TOY], "E")
    assert "could not be read" in page and "not a whole notebook" in page and "points" not in Tags(page[page.index("<body>"):]).text
    questions = questions_of("04")
    page = m.feedback.page(row(3.5), [point("04.10", 2), point("04.2", 2, given=1.5, text="04.2  x")], questions, "E")
    assert page.index('id="q04.2"') < page.index('id="q04.10"') and page.count("1.5 of 2") == 2 and "given by your instructor" in page
    assert "<b>3.5</b> of 2 points" in page


def check_pictures(m, tmp_path):
    """Yours and expected side by side, named; what differs is marked, and only that; said in words as well."""
    matrix, wide, curve, numbers, shape, nan, mask = [
        p for mine, right in [(np.zeros((2, 3)), np.array([[0, 0, 0], [0, 5.0, 0]])), (np.zeros((2, 30, 30)), (np.eye(30) + (np.arange(30) == 25) * np.eye(30)) * np.array([0, 1.0])[:, None, None]),
                              (np.arange(20.0), np.arange(20) + 2.0 * (np.arange(20) == 17)), (np.array([1, 2]), np.array([1, 3])), (np.zeros(4), np.zeros(3)),
                              (np.array([[1.0, np.nan]]), np.ones((1, 2))), (np.eye(2) > 0, np.eye(2) > 2)]
        for p in m.picture._first(TOY, TOY.cases[0], (mine,), (right,))]
    json.dumps([matrix, wide, curve, numbers, shape, nan, mask], allow_nan=False)
    assert matrix["differs"] == [[False, False, False], [False, True, False]] and matrix["worst"] == [1, 1]
    assert wide["index"] == [1] and len(wide["mine"]) == len(wide["mine"][0]) == 12 and wide["count"] == [30, 1800]
    assert "most at [1, 25, 25], where yours is 0 and expected is 2." in m.drawing.alt(wide)
    assert nan["mine"] == [[1.0, "nan"]] and mask["mine"] == [[1, 0], [0, 1]] and "differs" not in shape
    drawn = m.drawing.drawn(matrix)
    assert drawn.count('class="differs"') == 1 and drawn.count('class="most"') == 1 and ">yours<" in drawn and ">expected<" in drawn
    assert "2 by 3 numbers: 1 of 6 differ, most at [1, 1], where yours is 0 and expected is 5." in drawn
    assert m.drawing.drawn(curve).count('class="gap"') == 1 and "most at [17], where yours is 17 and expected is 19" in m.drawing.drawn(curve)
    assert "yours has the shape 4, expected is 3" in m.drawing.drawn(shape)
    assert "a part of it" in m.drawing.drawn(wide) and "a part of it" not in drawn
    assert not m.picture._first(TOY, TOY.cases[0], (np.ones(3),), (np.ones(3) + 1e-14,))
    for ground in (m.drawing._scale([-1.0, 1.0], [])(x / 50) for x in range(-50, 51)):
        light = [luminance(c) for c in (ground, m.drawing._ink(ground).replace("#000", "#000000").replace("#fff", "#ffffff"))]
        assert (max(light) + 0.05) / (min(light) + 0.05) >= 4.5


def luminance(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return sum(w * (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4) for w, c in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


# What is kept


def graded_as(points, text="text", pictures=(), question="04.1"):
    return grading.Graded(question, "graded", points, 3, text, ("no scale",), pictures)


def check_store(m, tmp_path):
    """The last submission and the last applied round count; a grade by hand stays; no grade is no zero; nothing is changed or lost."""
    with m.store.Store(tmp_path) as s:
        assert s.receive("ann", "a", "0" * 64, ".ipynb", b"x") and not s.receive("ann", "a", "0" * 64, ".ipynb", b"x")
        assert s.receive("ben", "a", "0" * 64, ".ipynb", b"x") and [r["student"] for r in s.waiting(1)] == ["ann", "ben"]
        assert s.keep(1, 1, "graded", "sandbox", "", 0.1, [replace(graded_as(2, pictures=({"case": "values"},)), lent=("04.2",))])
        assert not s.keep(1, 1, "graded", "sandbox", "", 0.1, [graded_as(0)]) and [r["student"] for r in s.waiting(1)] == ["ben"]
        assert s.pictures("ann") == {"04.1": [{"case": "values"}]} and s.pictures("ben") == {}
        assert s.submission("ann").read_bytes() == b"x" and s.submission("zoe") is None
        s.override("ann", "04.1", 1, "seen")
        s.override("ann", "04.1", 0, "seen again")
        assert [(r.student, r.status, r.points) for r in s.rows(3, ["zoe"])] == [("ann", "graded", 0), ("ben", "waiting", None), ("zoe", "not submitted", None)]
        s.override("ann", "04.1", 2.5, "at last")
        assert s.moved() == [] and s.revisions() == {}
        number = s.new_round("mended")
        assert s.keep(1, number, "graded", "sandbox", "", 0.1, [graded_as(3, pictures=({"case": "mask"},))], "a state") and s.last_applied() == 1
        assert s.pictures("ann") == {"04.1": [{"case": "values"}]} and [p["automatic"] for p in s.points()] == [2]
        s.apply(number)
        assert s.moved() == [("ann", "04.1", 2.5, 2, 3)] and s.revisions() == {"a state": 1}
        assert s.pictures("ann") == {"04.1": [{"case": "mask"}]} and [(p["automatic"], p["given"]) for p in s.points()] == [(3, 2.5)]
        assert s.last_applied() == number and [r.points for r in s.rows(3)][:1] == [2.5]
        assert s.receive("ann", "b", "1" * 64, ".ipynb", b"y") and [(r.status, r.points) for r in s.rows(3)][0] == ("waiting", None)
        assert s.revisions() == {} and s.pictures("ann") == {} and [r["sha256"][0] for r in s.waiting(number)] == ["1", "0"]
        s.keep(3, number, "error", "sandbox", "disk full", 0.1, [])
        assert [(r.status, r.points, r.note) for r in s.rows(3)][0] == ("error", None, "disk full")
        assert [r["student"] for r in s.waiting(1)] == ["ann", "ben"] and [r["student"] for r in s.waiting(number)] == ["ben"]
        assert s.receive("ann", "a", "0" * 64, ".ipynb", b"x") and [r.points for r in s.rows(3)][0] == 2.5  # the first one again
        assert not s.receive("ann", "b", "1" * 64, ".ipynb", b"y", counts=False) and [r.points for r in s.rows(3)][0] == 2.5
        assert s.hand_in("ann", "1" * 64) and not s.hand_in("ann", "1" * 64) and s.rows(3)[0].note == "disk full"
        for table in ("submission", "handed", "round", "applied", "attempt", "result", "override", "picture", "lent", "revised", "overruled"):
            for line in (f"DELETE FROM {table}", f"UPDATE {table} SET rowid = rowid + 100"):
                with pytest.raises(sqlite3.IntegrityError, match="only ever added"):
                    s.db.execute(line)
        with pytest.raises(RuntimeError), s.whole():
            s.override("ben", "04.1", 3, "half of it")
            raise RuntimeError
        assert s.db.execute("SELECT count(*) FROM override").fetchone()[0] == 3
        copies = {s.backup() for _ in range(12)}
        assert len(copies) == 12 and len(list((tmp_path / "backup").iterdir())) == 10
        copy = sqlite3.connect(max(copies))
        assert copy.execute("SELECT count(*) FROM result").fetchone()[0] == 2
        copy.close()


class Shelf:
    """Of a store what `collect` uses."""

    def __init__(self):
        self.rows, self.last, self.db = [], {}, self

    def hand_in(self, student, sha):
        before, self.last[student] = self.last.get(student), sha
        return before != sha

    def receive(self, student, name, sha, suffix, data, counts):
        assert not counts  # not before the last file of the batch is known
        self.rows.append((student, name, sha, suffix, data))
        return len({r[2] for r in self.rows if r[0] == student}) == sum(r[0] == student for r in self.rows)

    def submission(self, student):
        return None

    def execute(self, line):
        return [(r[0],) for r in self.rows]


def collecting(m):
    """`collect` with the modules of `m` beside it."""
    return mock.patch.multiple(m.collect, **{name: getattr(m, name) for name in ("incoming", "whose", "gradescope") if hasattr(m, name)})


def check_collect(m, tmp_path):
    """Names of platforms, lateness and order; a roster; links, bombs and what is no notebook."""
    with collecting(m):
        collected(m, tmp_path)


def collected(m, tmp_path):
    link = zipfile.ZipInfo("evelink_9_99_x.ipynb")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "in.zip", "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in {"exampleann_1_900_lab.ipynb": b"new", "exampleann_LATE_1_80_lab.ipynb": b"old", "stranger_7_81_lab.ipynb": b"x", "ben_2_82_lab.pdf": b"x",
                           "Carl Case_3_assignsubmission_file_/lab.ipynb": b"c", "__MACOSX/dora_4_83_lab.ipynb": b"", "dora_4_84_lab.ipynb": bytes(20 << 20)}.items():
            file.writestr(name, data)
        file.writestr(link, "/etc/passwd")
    (tmp_path / "roster.csv").write_text("\ufeffname,student\nAnn,1\nBen,2\n\"Case, Carl\",3\nDora,4\nEve,9\n,\n", encoding="utf-8")
    names = m.roster.names_of(tmp_path / "roster.csv")
    assert names == {"1": "Ann", "2": "Ben", "3": "Case, Carl", "4": "Dora", "9": "Eve"} and m.roster.roster_of(tmp_path / "roster.csv") == list(names)
    shelf = Shelf()
    found = m.collect.collect(shelf, tmp_path / "in.zip", list(names))
    assert [r[4] for r in shelf.rows if r[0] == "1"] == [b"old", b"new"]  # the last one received counts
    assert sorted(found.kept) == ["1", "1", "3", "4"] and (found.missing, found.strangers, found.late) == (["2", "9"], ["7"], ["1"])
    assert found.several == {"1": ["exampleann_LATE_1_80_lab.ipynb", "exampleann_1_900_lab.ipynb"]} and found.refused == ["evelink_9_99_x.ipynb: a link"]
    assert shelf.last["1"] == hashlib.sha256(b"new").hexdigest()
    again = m.collect.collect(shelf, tmp_path / "in.zip", list(names))
    assert again.kept == [] and sorted(again.known) == ["1", "1", "3", "4"] and shelf.last["1"] == hashlib.sha256(b"new").hexdigest()
    with zipfile.ZipFile(tmp_path / "back.zip", "w") as file:
        file.writestr("exampleann_1_901_lab.ipynb", b"old")
    back = m.collect.collect(shelf, tmp_path / "back.zip", list(names))  # what was handed in before counts again
    assert back.kept == ["1"] and back.known == [] and shelf.last["1"] == hashlib.sha256(b"old").hexdigest()
    assert max(len(r[4]) for r in shelf.rows) == (5 << 20) + 1 and {r[3] for r in shelf.rows} == {".ipynb"}
    assert all(r[2] == hashlib.sha256(r[4]).hexdigest() for r in shelf.rows)
    assert found.unreadable and found.unreadable == again.unreadable and all("not a whole notebook" in x or "5 MB" in x for x in found.unreadable)
    with zipfile.ZipFile(tmp_path / "pair.zip", "w") as file:
        for name in ("annx_1_1_lab.py", "benx_2_2_lab.py", "carlx_3_3_lab.py"):
            file.writestr(name, "x = 1" if "carl" not in name else "x = 2")
    pair = m.collect.collect(Shelf(), tmp_path / "pair.zip", list(names))
    assert pair.alike == [["1", "2"]] and pair.unreadable == [] and m.collect.look(tmp_path / "pair.zip") == 3
    for text in ("student\nann\nben\nann\n", "student\nAnn-1\nann 1\n"):
        (tmp_path / "two.csv").write_text(text)
        with pytest.raises(ValueError, match="give each student a name of their own"):
            m.roster.names_of(tmp_path / "two.csv")
    (tmp_path / "excel.csv").write_bytes("student\nMüller\n".encode("latin-1"))
    with pytest.raises(ValueError, match="save it as"):
        m.roster.names_of(tmp_path / "excel.csv")
    (tmp_path / "none").mkdir()
    for name, says in (("nowhere", "there is no"), ("none", "has no notebook"), ("roster.csv", "unpack it first")):
        with pytest.raises(ValueError, match=says):
            m.collect.look(tmp_path / name)
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(ValueError, match="has no rows"):
        m.roster.roster_of(tmp_path / "empty.csv")
    (tmp_path / "bad.zip").write_bytes(b"no zip")
    with pytest.raises(ValueError, match="is no zip file"):
        m.collect.collect(shelf, tmp_path / "bad.zip")


# What leaves, as the platforms read it


CALLED = {"0042": "Müller, Jörg", "7": 'Jo "Jay" Park', "=1+1": "=HYPERLINK(1)", "-5": "@SUM(A1)", "9": "\t+1", "zoe": ""}
FIELDS = {  # of results.json, as Gradescope documents them; nothing else is read
    "type": "object", "additionalProperties": False, "required": ["tests"],
    "properties": {
        "score": {"type": "number", "minimum": 0}, "execution_time": {"type": "number"}, "output": {"type": "string"},
        "visibility": {"enum": ["hidden", "after_due_date", "after_published", "visible"]},
        "stdout_visibility": {"enum": ["hidden", "after_due_date", "after_published", "visible"]}, "extra_data": {"type": "object"},
        "tests": {"type": "array", "items": {
            "type": "object", "additionalProperties": False, "required": ["score", "max_score", "name"],
            "properties": {
                "score": {"type": "number", "minimum": 0}, "max_score": {"type": "number", "minimum": 0}, "status": {"enum": ["passed", "failed"]},
                "name": {"type": "string", "minLength": 1}, "number": {"type": "string"}, "output": {"type": "string"},
                "output_format": {"enum": ["text", "html", "simple_format", "md", "ansi"]}, "tags": {"type": "array"},
                "visibility": {"enum": ["hidden", "after_due_date", "after_published", "visible"]}}}}}}


def check_export(m, tmp_path):
    """Read back by the readers of each format: no grade is an empty field, names are whole, no field is a formula, ids are text."""
    states = [("graded", 3.5), ("graded", 0), ("unreadable", None), ("graded", 2), ("error", None), ("not submitted", None)]
    rows = [store.Row(student, status, points, 5, "=1+1\r\nline" if points is None else "") for student, (status, points) in zip(CALLED, states, strict=True)]
    questions = questions_of("04")[:2]
    points = [point(q.id, 2, q.points, given, "ok", "graded") | {"student": "0042"} for q, given in zip(questions, (None, 1.5), strict=True)]
    tables = {kind: list(csv.DictReader(io.StringIO(m.export.table(rows, [*points, points[0] | {"student": "=1+1"}], questions, "Exercises 4", kind, CALLED), newline=""), strict=True)) for kind in ("csv", "canvas", "moodle")}
    assert tables["canvas"][0]["Student"].strip() == "Points Possible" and tables["canvas"].pop(0)["Exercises 4"] == "5"
    for kind, score, name in (("csv", "points", "name"), ("canvas", "Exercises 4", "Student"), ("moodle", "Grade", "Full name")):
        found = tables[kind]
        assert [r[score] for r in found] == ["3.5", "0", "", "2", "", ""], kind
        assert [r[name] for r in found][:2] == ["Müller, Jörg", 'Jo "Jay" Park'] and None not in found[0] and None not in found[0].values()
        assert not [x for r in found for x in r.values() if x[:1] in ("=", "+", "-", "@", "\t", "\r") or "\n" in x or "\r" in x], kind
    assert [r["student"] for r in tables["csv"]][:2] == [r["ID number"] for r in tables["moodle"]][:2] == [r["SIS Login ID"] for r in tables["canvas"]][:2] == ["0042", "7"]
    assert [r["ID"] for r in tables["canvas"]] == ["0042", "7", "", "", "9", ""] and tables["moodle"][0]["Identifier"] == "Participant 0042"
    assert list(tables["canvas"][0]) == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Exercises 4"]
    assert {"Identifier", "Status", "Grade", "Maximum Grade", "Feedback comments"} <= set(tables["moodle"][0])
    for kind, column in (("csv", "status"), ("moodle", "Status")):
        assert [r[column] for r in tables[kind]] == [status for status, _ in states]
    assert tables["csv"][0]["04.2"] == "1.5" and tables["csv"][2]["04.1"] == ""
    assert "name" not in m.export.table(rows, points, questions, "E", "csv").splitlines()[0]
    read = json.loads(m.export.gradescope(rows[0], points, questions))
    jsonschema.validate(read, FIELDS)
    assert read["score"] == 3.5 == sum(t["score"] for t in read["tests"]) and [t["number"] for t in read["tests"]] == ["04.1", "04.2"]
    for r in rows:
        if r.points is None:
            with pytest.raises(ValueError, match=re.escape(f"{r.student} is {r.status}, expected a grade")):
                m.export.gradescope(r, [], questions)
    pair = m.export.file_names(["Ann", "ann", "Ben", "a b"])
    assert len({name.lower() for name in pair.values()}) == 4 and pair["Ben"] == "Ben"
    names = [m.export.file_name(x) for x in ("ann", "a b", "a_b", "a-b", "a.b", "a.b@c.de", "a..b", ".a", "a.", "../x", "/etc", "", "ä", "x" * 90, "x" * 91)]
    assert names[4:6] == ["a.b", "a.b@c.de"] and not [x for x in names if ".." in x or x.endswith(".")]
    assert len(set(names)) == len(names) and names[0] == "ann" and not [x for x in names if not x or "/" in x or x.startswith(".") or len(x) > 100]


CHECKS = {name.removeprefix("check_"): value for name, value in dict(globals()).items() if name.startswith("check_")}
WRONG = [  # part, the check that must fail, and the edit
    ("hidden", "hidden", "text = WORDS.get(verdict.kind, verdict.text)", "text = verdict.text"),
    ("hidden", "hidden", "text = _raised(verdict.text, written)", "pass"),
    ("hidden", "hidden", "if isinstance(getattr(builtins, name, None), type)", "if name"),
    ("hidden", "hidden", "detail=(), remark=remark", "remark=verdict.remark"),
    ("hidden", "hidden", ', given="", verdict', ", verdict"),
    ("hidden", "hidden", 'says="hidden: other numbers or sizes"', "says=outcome.case.says"),
    ("hidden", "hidden", "in map(str.strip, written.get(found[1], (0, \"\"))[1].splitlines())", ""),
    ("hidden", "hidden", 'return f"{kind}\\n{line}"', "return kind"),
    ("picture", "hidden", "if o.case.hidden or o.verdict", "if o.verdict"),
    ("feedback", "inert", "return html.escape(", "return str("),
    ("feedback", "inert", "html.escape(inert(text))", "html.escape(text)"),
    ("feedback", "inert", "<title>{said(title)} · {said(who)}</title>", "<title>{title} · {who}</title>"),
    ("feedback", "inert", '<p class="note">{said(row.note)}</p>', '<p class="note">{row.note}</p>'),
    ("feedback", "inert", "default-src 'none'", "default-src *"),
    ("feedback", "inert", "</pre>' if numbers", "</pre><script></script>' if numbers"),
    ("feedback", "own_line", "lines[number - 1].strip() == text.strip()", "True"),
    ("feedback", "own_line", "if i == number - 1 else", "if i == number else"),
    ("feedback", "links", '{page}.html#{anchor}"', '{file}#{anchor}"'),
    ("feedback", "links", "(?!https?://)[A-Za-z]", "(?!https?://)[B-Zb-z]{30}"),
    ("feedback", "links", 'book.endswith("/") else book + "/"', 'book.endswith("/") else book'),
    ("feedback", "links", 'r"^[-0-9]+|-+$"', 'r"^-+|-+$"'),
    ("feedback", "standing", "if row.points is not None:", "if True:"),
    ("feedback", "standing", "    points = sorted(points,", "    points = list(points) or sorted(points,"),
    ("feedback", "standing", '    mine, most = earned(p), p["max_points"]\n    by =', '    mine, most = p["automatic"], p["max_points"]\n    by ='),
    ("feedback", "standing", '"unreadable": "Your file could not be read, so there is no grade yet."', '"unreadable": "0 points"'),
    ("picture", "pictures", "error[np.isnan(error)] = np.inf", "error[np.isnan(error)] = 0"),
    ("picture", "pictures", "x if w is None else str(w)", "x"),
    ("picture", "pictures", "if mine.shape != right.shape:", "if mine.ndim != right.ndim:"),
    ("picture", "pictures", "MOST, PICTURES = 12, 3", "MOST, PICTURES = 99, 3"),
    ("picture", "pictures", "return error > allowed, error", "return error >= 0, error"),
    ("drawing", "pictures", "if marked and marked[r][c]:", "if marked:"),
    ("drawing", "pictures", 'if p["differs"][i] and', 'if'),
    ("drawing", "pictures", 'place.append(i + start)', 'place.append(i)'),
    ("drawing", "pictures", 'return "#000" if light > 0.179', 'return "#000" if light > 0.5'),
    ("collect", "collect", "if store.hand_in(student, file.sha) and", "if False and"),
    ("store", "store", "INSERT OR IGNORE INTO submission", "INSERT INTO submission"),
    ("store", "store", "SELECT max(id) FROM handed WHERE student", "SELECT min(id) FROM handed WHERE student"),
    ("store", "store", 'if last and last["sha256"] == sha256:', "if last:"),
    ("store", "store", "return (counts and self.hand_in(student, sha256)) or", "return self.hand_in(student, sha256) or"),
    ("store", "store", "SELECT max(b.round) FROM attempt b JOIN applied p ON p.round = b.round", "SELECT max(b.round) FROM attempt b"),
    ("store", "store", "SELECT max(b.round) FROM attempt b JOIN applied", "SELECT min(b.round) FROM attempt b JOIN applied"),
    ("store", "store", "ORDER BY o.id DESC LIMIT 1", "ORDER BY o.id LIMIT 1"),
    ("store", "store", 'return p["automatic"] if p["given"] is None else p["given"]', 'return p["given"] or p["automatic"]'),
    ("store", "store", 'for what in ("update", "delete")]', 'for what in ("update",)]'),
    ("store", "store", 'for what in ("update", "delete")]', 'for what in ("delete",)]'),
    ("store", "store", '"override", "picture", "lent")', '"override", "lent")'),
    ("store", "store", '"override", "picture", "lent")', '"override", "picture")'),
    ("store", "store", 'self.db.execute("ROLLBACK")', 'self.db.execute("COMMIT")'),
    ("store", "store", 'self.db.execute("VACUUM INTO ?", (str(path),))', "path.touch()"),
    ("store", "store", 'Row(row[0], "waiting", None,', 'Row(row[0], "waiting", 0,'),
    ("store", "store", 'Row(name, "not submitted", None,', 'Row(name, "not submitted", 0,'),
    ("store", "store", 'if row["status"] == "graded" else None', 'if row["status"] == "graded" else 0'),
    ("store", "store", "if found.rowcount != 1:\n                return False", "if found.rowcount != 1:\n                pass"),
    ("store", "store", "WHERE submission = l.id \"\n                               \"AND round = ?)", "WHERE submission = l.id \"\n                               \"AND round >= ?)"),
    ("store", "store", "for g in graded if g.pictures", "for g in graded[:0]"),
    ("store", "store", "WHERE o.automatic != p.automatic", "WHERE o.automatic > p.automatic"),
    ("store", "store", "INSERT INTO overruled SELECT ?, automatic FROM", "INSERT INTO overruled SELECT ?, given FROM"),
    ("store", "store", '"revised", "overruled", "result"', '"revised", "result"'),
    ("store", "store", "FROM current c JOIN revised r", "FROM attempt c JOIN revised r"),
    ("store", "store", "if self.db.in_transaction:", "if True:"),
    ("collect", "collect", "same.setdefault(file.sha, [])", "same.setdefault(student, [])"),
    ("collect", "collect", 'if text.status == "unreadable" else ""', 'if text.status != "unreadable" else ""'),
    ("roster", "collect", "student or student in found:", "student:"),
    ("roster", "collect", "known.setdefault(plain(student), student)", "known.setdefault(student, student)"),
    ("roster", "collect", "except (UnicodeDecodeError, csv.Error) as error:", "except csv.Error as error:"),
    ("collect", "collect", "if not source.exists():", "if False:"),
    ("collect", "collect", "if not files and not left.refused:", "if False:"),
    ("collect", "collect", "key=lambda x: (x[1].number, x[0].name)", "key=lambda x: x[0].name"),
    ("whose", "collect", 'int(canvas["file"]))', '-int(canvas["file"]))'),
    ("whose", "collect", "(?P<late>LATE_)?", "(?P<late>late_)?"),
    ("incoming", "collect", "if stat.S_ISLNK(info.external_attr >> 16):", "if False:"),
    ("incoming", "collect", 'return file.read(most + 1)', 'return file.read()'),
    ("incoming", "collect", 'SYSTEM = ("__MACOSX", ', 'SYSTEM = ('),
    ("incoming", "collect", "if suffix_of(last) not in SUFFIXES and last != TABLE:", "if suffix_of(last) in ():"),
    ("collect", "collect", "            elif not student:\n", "            elif not student and found.strangers.append(owner.student):\n"),
    ("collect", "collect", "found.missing = [name for name in roster if name not in there]", "found.missing = []"),
    ("roster", "collect", '.decode("utf-8-sig")', '.decode("utf-8")'),
    ("whose", "collect", "if moodle := MOODLE.fullmatch(step):", "if False:"),
    ("collect", "collect", "hashlib.sha256(data)", "hashlib.sha256(file.name.encode())"),
    ("incoming", "collect", "except (zipfile.BadZipFile, ", "except (KeyError, "),
    ("export", "export", 'return "" if x is None else f"{x:g}"', 'return f"{x or 0:g}"'),
    ("export", "export", 'return "" if x is None else f"{x:g}"', 'return f"{x:g}" if x else ""'),
    ("export", "export", '" ".join(inert(text).split())', "text"),
    ("export", "export", 'in "-_@."', 'in "-_@"'),
    ("export", "export", r'r"^\.|\.(?=\.|$)"', r'r"^\.|\.(?=\.)"'),
    ("export", "export", r'r"^\.|\.(?=\.|$)"', r'r"\.(?=\.|$)"'),
    ("export", "export", r'r"^\.|\.(?=\.|$)"', r'r"^\.|\.$"'),
    ("export", "export", "[-=+@", "[-+@"),
    ("export", "export", "[-=+@", "[-=+"),
    ("export", "export", "name or student, row.student if", "name or student, int(row.student) if"),
    ("export", "export", "[student, *([name] if called else []), row.status,", "[student, *([name] if called else []), 'graded',"),
    ("export", "export", "name, student, row.status, got, most,", "name, student, row.status, got or 0, most,"),
    ("export", "export", "if row.points is not None else {}", ""),
    ("export", "export", "    if row.points is None:\n        raise", "    if False:\n        raise"),
    ("export", "export", '"score": earned(p)', '"score": p["automatic"]'),
    ("export", "export", '"output_format": "text"', '"output_format": "plain"'),
    ("export", "export", "return plain if plain and plain == student else", "return plain if plain else"),
    ("export", "export", "times = Counter(name.lower() for", "times = Counter(name for"),
    ("export", "export", "name if times[name.lower()] == 1 else", "name if False else"),
]


@pytest.mark.parametrize("name", CHECKS)
def test_it_holds(name, tmp_path):
    CHECKS[name](SimpleNamespace(**REAL), tmp_path)


@pytest.mark.parametrize("part, name, old, new", WRONG, ids=lambda x: str(x)[:40])
def test_a_wrong_version_is_caught(part, name, old, new, tmp_path):
    edited = changed(part, old, new)
    with pytest.raises((AssertionError, pytest.fail.Exception, LookupError, TypeError, ValueError, sqlite3.Error, zipfile.BadZipFile, jsonschema.ValidationError)):
        CHECKS[name](edited, tmp_path)


def test_what_is_graded_is_discreet():
    """The grader itself calls upon it, with the pictures of public cases alone."""
    q = questions_of("04")[1]
    results = {c.name: run(lambda dA, A: 0 * A + 77.125, make_inputs(q, c, b"k"), q) for c in q.cases}
    graded = grading._graded(q, {q.name: (0, "")}, {}, (results, ""), b"k", "04")
    hidden_part = graded.text[graded.text.index("FAIL  square"):]
    assert "the numbers are wrong" in hidden_part and "77.1" not in hidden_part
    assert {p["case"] for p in graded.pictures} == {"one matrix", "zero weights"}


@pytest.mark.browser
def test_a_page_in_a_browser(tmp_path):
    """Wide and narrow, light and dark, on paper: nothing overflows, is loaded or run; axe finds nothing serious."""
    (tmp_path / "ann.html").write_text(whole(SimpleNamespace(**REAL), "https://example.org/book", name="Ann O’Neill"), encoding="utf-8")
    wrong = {}
    with browser() as chrome:
        for width, scheme in ((1280, "light"), (390, "dark"), (390, "light"), (1280, "dark")):
            with visitor(chrome, tmp_path.as_uri(), width, scheme) as page:
                page.on("dialog", lambda dialog: page.found.append(f"dialog {dialog.message}"))
                page.goto((tmp_path / "ann.html").as_uri())
                title = page.title()
                assert title.startswith("Exercises 4 · Ann") and page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") == (scheme == "dark")
                light = page.evaluate("getComputedStyle(document.body).backgroundColor")
                assert (light == "rgb(255, 255, 255)") == (scheme == "light")
                found = faults(page) + accessibility(page, {})
                page.emulate_media(media="print", color_scheme=scheme)
                assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
                if found:
                    wrong[width, scheme] = found
    assert not wrong
