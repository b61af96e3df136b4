"""What a notebook shows of a check: colour, links, nothing that a learner's text could smuggle in; and a word where the
function that was tried is not the one that was written last.
"""

import html.parser
import json
import os
import re
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import make_headings
import numpy as np
import pytest
from byhand.grade import check, learner, memory, stale
from byhand.grade.examine import Report, examine
from byhand.grade.headings import HEADINGS
from byhand.grade.model import Case, Mutant, Question, make_inputs
from byhand.grade.sets import all_questions
from counted import calls
from traitlets.config import Config

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(memory, "_here", {})
    monkeypatch.setenv("BYHAND_PROGRESS", "")
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    monkeypatch.setattr(stale, "_seen", {})


def double(X):
    """Y = 2 X."""
    ...


TOY = Question(
    id="99.1", title="Twice", stub=double, returns=("Y",), minutes=1, hints=("one",),
    cases=(
        Case("values <b>", lambda rng: {"X": rng.normal(size=(3, 4))}, "three & more", 1),
        Case("wide", lambda rng: {"X": rng.normal(size=(2, 9))}, "two rows", 1),
    ),
    mutants=(Mutant("triple", lambda X: 3 * X, "This is 3 X, & <i>not</i> 2 X.", "4.4", ()),
             Mutant("nowhere", lambda X: 5 * X, "This is 5 X.", "99.7", ())),
)


def report_of(answer):
    return Report(TOY, examine(TOY, answer, lambda case: (2 * make_inputs(TOY, case)["X"],), order=0))


class Reader(html.parser.HTMLParser):
    """Text of the rows, and the tags with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.tags, self.open = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.open.append(tag)
        if tag == "div":
            self.rows.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.rows[-1] += data


def shown(report):
    bundle = report._repr_mimebundle_()
    assert list(bundle) == ["text/plain", "text/html"] and bundle["text/plain"] == repr(report)
    return Reader(bundle["text/html"])


def squeezed(text):
    return text.replace("->", "→").replace(" ", "")


def hostile(X):
    raise ValueError("<script>alert(1)</script> & </div> \" '")


ANSWERS = {
    "right": lambda X: 2 * X,
    "wrong": lambda X: 3 * X,
    "wrong, no such section": lambda X: 5 * X,
    "half": lambda X: (2 if X.shape[0] == 3 else 3) * X,
    "raises": hostile,
    "shape": lambda X: X[:1],
}


def the_page_says_what_the_text_says(page):
    """Row by row, and nothing but rows, labels, bold letters and links."""
    for name, answer in ANSWERS.items():
        report = report_of(answer)
        read = Reader(page(report))
        rows = [row for row in read.rows if row]
        assert [squeezed(row) for row in rows] == [squeezed(line) for line in repr(report).splitlines()], name
        assert {tag for tag, _ in read.tags} <= {"div", "span", "b", "a"}, name
        assert all(set(attributes) <= {"style", "href", "title"} for _, attributes in read.tags)


def luminance(colour):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
              for c in (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def colours_can_be_read_on_every_ground(page):
    """Only the labels have a colour, and they bring their ground; ok and FAIL differ in blue, not in red and green."""
    grounds = {}
    for answer in ANSWERS.values():
        for tag, attributes in Reader(page(report_of(answer))).tags:
            style = attributes.get("style", "")
            if "color" in style or "background" in style:
                assert tag == "span"
                letters, ground = (re.search(rf"{name}:(#\w+)", style)[1] for name in ("[^-]color", "background"))
                letters = re.sub(r"^#(\w)(\w)(\w)$", r"#\1\1\2\2\3\3", letters)
                light, dark = sorted((luminance(letters), luminance(ground)), reverse=True)
                assert (light + 0.05) / (dark + 0.05) >= 4.5
                grounds[ground] = int(ground[5:7], 16)
    assert len(grounds) == 2 and max(grounds.values()) - min(grounds.values()) > 100


def letters_are_of_one_width(page):
    assert "monospace" in Reader(page(report_of(ANSWERS["wrong"]))).tags[0][1]["style"]
    assert "white-space:pre" in page(report_of(ANSWERS["wrong"]))  # the columns of yours and expected


def our_page(report):
    return report._repr_mimebundle_()["text/html"]


def unescaped(report):
    return our_page(report).replace("&lt;", "<").replace("&gt;", ">")


PAGE_CHECKS = (the_page_says_what_the_text_says, colours_can_be_read_on_every_ground, letters_are_of_one_width)
WRONG_PAGES = {
    "not escaped": (unescaped, the_page_says_what_the_text_says),
    "a row less": (lambda r: our_page(r).replace("two rows", ""), the_page_says_what_the_text_says),
    "ok for FAIL": (lambda r: our_page(r).replace(">FAIL<", ">ok<"), the_page_says_what_the_text_says),
    "red and green": (lambda r: our_page(r).replace("#0b5fa5", "#0b7f05"), colours_can_be_read_on_every_ground),
    "pale": (lambda r: our_page(r).replace("#0b5fa5", "#7bbff5"), colours_can_be_read_on_every_ground),
    "coloured text": (lambda r: our_page(r).replace("<b>", '<b style="color:#007700">'),
                      colours_can_be_read_on_every_ground),
    "proportional": (lambda r: our_page(r).replace("monospace", "serif"), letters_are_of_one_width),
    "columns lost": (lambda r: our_page(r).replace("white-space:pre-wrap", ""), letters_are_of_one_width),
}


@pytest.mark.parametrize("check", PAGE_CHECKS, ids=lambda check: check.__name__)
def test_page(check):
    check(our_page)


@pytest.mark.parametrize("name", WRONG_PAGES)
def test_a_wrong_page_is_found_out(name):
    page, check = WRONG_PAGES[name]
    with pytest.raises(AssertionError):
        check(page)


@pytest.mark.parametrize("answer", [None, lambda *given: None, lambda *given: 1 / 0, lambda *given: given[0] @ 3])
def test_what_is_not_attempted_stays_text(answer):
    bundle = check("04.2", answer)._repr_mimebundle_()
    attempted = "not attempted" not in bundle["text/plain"]
    assert list(bundle) == ["text/plain", "text/html"][: 1 + attempted]


def test_a_forbidden_answer_stays_text(monkeypatch):
    monkeypatch.setattr(learner, "forbidden", lambda found, question: ("diag",))
    assert list(check("04.2", hostile)._repr_mimebundle_()) == ["text/plain"]


# ---------------------------------------------------------------- links to sections


def links(report):
    return [attributes for tag, attributes in shown(report).tags if tag == "a"]


PLACES = [("book/exercises", "../"), ("book", ""), ("elsewhere", None)]


@pytest.mark.parametrize(("folder", "way"), PLACES)
@pytest.mark.parametrize("told", ["by the folder", "by JupyterLab", "by VS Code"])
def test_a_section_is_a_link_where_its_chapter_lies(folder, way, told, tmp_path, monkeypatch):
    for place in ("book/exercises", "elsewhere", "home"):
        (tmp_path / place).mkdir(parents=True)
    file, heading, cell = HEADINGS["4.4"]
    (tmp_path / "book" / file).write_text("{}", encoding="utf-8")
    (tmp_path / "book" / "exercises" / file).write_text("{}", encoding="utf-8")  # an older set, of its chapter's name
    mine = tmp_path / folder / "mine.ipynb"
    mine.write_text("{}", encoding="utf-8")
    monkeypatch.chdir(tmp_path / (folder if told == "by the folder" else "home"))
    if told == "by JupyterLab":
        monkeypatch.setenv("JPY_SESSION_NAME", str(mine))
    if told == "by VS Code":
        monkeypatch.setattr(stale, "shell", lambda: type("Shell", (), {"user_ns": {"__vsc_ipynb_file__": str(mine)}}))
    found = links(report_of(ANSWERS["wrong"]))
    if way is None:
        assert found == []
        return
    (link,) = found
    assert link["title"] == heading
    assert link["href"] == f"{way}{file}#cell-id={cell}"


def test_an_unknown_section_is_no_link(monkeypatch):
    monkeypatch.chdir(ROOT / "book" / "exercises")
    assert links(report_of(ANSWERS["wrong, no such section"])) == []


def test_headings_are_those_of_the_chapters():
    assert make_headings.FILE.read_text(encoding="utf-8") == make_headings.text(make_headings.headings()), (
        "run tools/make_headings.py")


def test_every_message_names_a_section_that_exists():
    assert {(q.id, m.section) for q in all_questions() for m in q.mutants if m.section not in HEADINGS} == set()


def test_make_headings_notices_what_is_stale(tmp_path, monkeypatch, capsys):
    book = {"04_x.ipynb": ["# 4 · X\n\n## 4.1 · One\n\ntext\n\n## 4.2 · Two \"quoted\"", "## Summary"],
            "index.ipynb": ["## 9.1 · No"]}
    for name, cells in book.items():
        found = [{"cell_type": "markdown", "id": f"c{k}", "source": text.splitlines(True)}
                 for k, text in enumerate(cells)]
        found.append({"cell_type": "code", "source": ["## 4.3 · a comment"]})
        (tmp_path / name).write_text(json.dumps({"cells": found}), encoding="utf-8")
    found = make_headings.headings(tmp_path)
    assert found == {"4.1": ("04_x.ipynb", "4.1 · One", "c0"), "4.2": ("04_x.ipynb", '4.2 · Two "quoted"', "c0")}
    scope = {}
    exec(make_headings.text(found), scope)
    assert scope["HEADINGS"] == found
    monkeypatch.setattr(make_headings, "ROOT", tmp_path)
    monkeypatch.setattr(make_headings, "FILE", tmp_path / "headings.py")
    assert make_headings.main(["--check"]) == 1 and not make_headings.FILE.exists()
    assert make_headings.main([]) == 0 and make_headings.main(["--check"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "headings.py: fresh"


# ---------------------------------------------------------------- an older function than the one written last


@pytest.fixture
def lab(monkeypatch, tmp_path):
    """A notebook in JupyterLab: `run` a cell, `save` the notebook's cells, `check` what is there."""
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    shell.showtraceback = shell.showsyntaxerror = shell.showindentationerror = lambda *args, **more: None
    monkeypatch.setattr(stale, "shell", lambda: shell)
    file = tmp_path / "04_attention.ipynb"
    monkeypatch.setitem(shell.user_ns, "__session__", str(file))
    return Lab(shell, file)


class Lab:
    def __init__(self, shell, file):
        self.shell, self.file = shell, file

    def run(self, *cells):
        for cell in cells:
            self.shell.run_cell(cell, store_history=True)

    def save(self, *cells):
        found = [{"cell_type": "code", "source": cell.splitlines(True)} for cell in cells]
        found.append({"cell_type": "markdown", "source": ["def f(x): a text"]})
        self.file.write_text(json.dumps({"cells": found}), encoding="utf-8")
        os.utime(self.file, ns=(0, int(time.time_ns() + 1e9 * self.shell.execution_count)))

    def says(self, name="f"):
        return stale.older(self.shell.user_ns[name])

    def checks(self, name="f"):
        """As a cell of its own, which has a number too."""
        self.shell.user_ns.update(stale=stale)
        self.run(f"said = stale.older({name})")
        return self.shell.user_ns["said"]


ONE, TWO = "def f(x):\n    return x\n", "def f(x):\n    return 2 * x\n"
FAILED = {  # cells, and the number of the one that is named; 0 where nothing may be said
    "raises before": ([ONE, f"1 / 0\n{TWO}"], 2),
    "does not parse": ([ONE, "def f(x):\n    return (2 * x\n"], 2),
    "indented wrongly": ([ONE, "def f(x):\n    y = 1\n  return y\n"], 2),
    "a default that raises": ([ONE, "def f(x, y=1 / 0):\n    return 2 * x\n"], 2),
    "a decorator that raises": ([ONE, "@nothing\ndef f(x):\n    return x\n"], 2),
    "the newest of several": ([ONE, f"1 / 0\n{TWO}", "x = 3", f"2 / 0\n{TWO}"], 4),
    "all is well": ([ONE, TWO], 0),
    "raises behind": ([ONE, f"{TWO}\n1 / 0"], 0),
    "mended": ([ONE, f"1 / 0\n{TWO}", TWO], 0),
    "the same text again": ([ONE, f"1 / 0\n{TWO}", ONE], 0),
    "another function": ([ONE, "1 / 0\ndef g(x):\n    return x"], 0),
    "another name that begins so": ([ONE, "1 / 0\ndef ff(x):\n    return x", "def f2(x:\n"], 0),
    "a call alone": ([ONE, "f(1 / 0)"], 0),
    "a variable": ([ONE, TWO, "g = f", ONE, f"1 / 0\n{TWO}", "f = g"], 0),
    "put back by hand": ([ONE, "old = f", TWO, "f = old"], 0),
    "an import": ([ONE, f"1 / 0\n{TWO}", "from os.path import join as f"], 0),
    "a def inside another": ([ONE, "def g():\n    def f(x):\n        return x\n    return f"], 0),
    "a method": ([ONE, "class C:\n    def f(self):\n        return 1"], 0),
    "in a text": ([ONE, "text = '''\ndef f(x):\n    return 3\n'''"], 0),
    "written to a file": ([ONE, "%%writefile /dev/null\ndef f(x):\n    return 3\n"], 0),
    "timed": ([ONE, f"%%time\n{TWO}"], 0),
    "with a magic": ([ONE, f"%matplotlib_nothing\n1 / 0\n{TWO}"], 2),
    "a helper": (["def h(x):\n    return x", "def f(x):\n    return h(x)", "1 / 0\ndef h(x):\n    return 2 * x"], 3),
    "a helper of a helper": (
        ["def g(x):\n    return x", "def h(x):\n    return g(x)", "def f(x):\n    return h(x)",
         "1 / 0\ndef g(x):\n    return 2 * x"], 4),
    "no helper of its own": (["def h(x):\n    return x", ONE, "1 / 0\ndef h(x):\n    return 2 * x"], 0),
}


@pytest.mark.parametrize("name", FAILED)
def test_a_cell_that_failed_is_named(name, lab, capsys):
    cells, number = FAILED[name]
    lab.run(*cells)
    for said in (lab.checks(), lab.says()):
        assert (f"cell [{number}]," in said) == bool(number) == bool(said)
        assert ("its helper" in said) == (name.startswith("a helper"))


def test_a_cell_that_is_still_running_is_not_called_failed(lab):
    lab.shell.user_ns.update(stale=stale)
    lab.run(ONE, f"said = stale.older(f)\n{TWO}")
    assert lab.shell.user_ns["said"] == ""


SAVED = {  # what is saved at first, then after the first check, and whether that is told
    "edited, not run": ([ONE], [TWO], True),
    "edited and broken, not run": ([ONE], ["def f(x):\n    return (x\n"], True),
    "the stub was run": (["def f(x):\n    ...\n"], [ONE], True),
    "edited beside it": ([ONE, "a = 1"], [ONE, "a = 2"], False),
    "the same again": ([ONE], [ONE], False),
    "a comment": ([ONE], ["def f(x):\n    # why\n    return x  # so\n"], False),
    "a docstring": ([ONE], ['def f(x):\n    """Twice?"""\n    return x\n'], False),
    "layout": ([ONE], ["def f( x ):\n\n    return (x)\n"], False),
    "the cell is gone": ([ONE], ["a = 1"], False),
    "a second one beside it": ([ONE], [ONE, TWO], False),
    "a magic above": ([ONE], ["%matplotlib inline\n" + ONE], False),
    "timed": ([ONE], ["%%time\n" + TWO], False),
    "not code at all": ([ONE], ["%%bash\n" + TWO], False),
}


@pytest.mark.parametrize("name", SAVED)
def test_a_notebook_that_was_saved_otherwise_is_told(name, lab):
    first, then, told = SAVED[name]
    lab.save(*first)
    lab.run(*first)
    assert lab.checks() == ""
    lab.save(*then)
    for _ in range(2):
        said = lab.checks()
        assert bool(said) == told and ("04_attention.ipynb, as it is saved now, has another" in said) == told
    lab.run(*(cell for cell in then if not cell.startswith("%")))
    assert ("stopped before" in lab.checks()) == ("broken" in name) == bool(lab.checks())


def test_what_was_run_and_not_yet_saved_is_no_older_version(lab):
    lab.save(ONE)
    lab.run(TWO)
    assert lab.checks() == "" == lab.checks()  # the file is behind, not the function
    lab.save(TWO)
    assert lab.checks() == ""
    lab.save("def f(x):\n    return 3\n")  # edited, saved, taken back and run again, not saved
    lab.run(TWO)
    assert lab.checks() == "" == lab.checks()


def test_a_helper_that_was_edited_and_not_run_is_told(lab):
    helper, own = "def h(x):\n    return x", "def f(x):\n    return h(x)"
    lab.save(helper, own)
    lab.run(helper, own)
    assert lab.checks() == ""
    lab.save(helper.replace("return x", "return -x"), own)
    assert lab.checks().startswith("an older h, its helper, was tried: 04_attention.ipynb")


@pytest.mark.parametrize("broken", ["", "{", "[]", '{"cells": 3}', '{"cells": [{"cell_type": "code"}]}'])
def test_a_file_that_cannot_be_read_is_nothing_to_speak_of(broken, lab):
    lab.save(ONE)
    lab.run(ONE)
    lab.checks()
    lab.file.write_text(broken, encoding="utf-8")
    assert lab.checks() == ""
    lab.file.unlink()
    assert lab.checks() == ""


@pytest.mark.parametrize("answer", [None, 3, "text", print, np.ones(3), partial(print), type, lambda x: x],
                         ids=lambda answer: type(answer).__name__)
def test_other_answers_are_nothing_to_speak_of(answer, lab):
    assert stale.older(answer) == ""


def test_without_a_notebook_nothing_is_known():
    assert stale.shell() is None or stale.older(double) == ""
    assert stale.notebook() == ""


def test_the_report_says_it(lab):
    lab.run("def softmax_vjp(dA, A):\n    return A * dA", "1 / 0\ndef softmax_vjp(dA, A):\n    return dA")
    lab.shell.user_ns.update(check=check)
    lab.run("report = check('04.2', softmax_vjp)")
    report = lab.shell.user_ns["report"]
    said = "an older softmax_vjp was tried: cell [2], which writes it last, stopped before it was defined."
    assert repr(report).splitlines()[1] == f"  {said}" and said in our_page(report)
    stub = replace(report, outcomes=())
    assert repr(stub).endswith(f"not attempted\n  {said}") and list(stub._repr_mimebundle_()) == ["text/plain"]


def works(lab):
    """Calls of Python functions in the first look at a saved notebook of 105 cells, 100 of them with nothing to say."""
    helpers = [f"def h{i}(x):\n    return x" for i in range(4)]
    own = "def f(x):\n    return " + " + ".join(f"h{i}(x)" for i in range(4))
    lab.save(*helpers, own, *["x = 1\n" * 200] * 100)
    lab.run(*helpers, own, *["y = 1"] * 100)
    lab.checks()
    lab.save(*helpers, own, *["x = 2\n" * 200] * 100)
    return calls(lab.says)


def test_it_does_little(lab, monkeypatch):
    """Counted and not timed: of a hundred cells that do not write the function, none is read as code."""
    writes = stale._writes
    assert works(lab) < 10_000
    monkeypatch.setattr(stale, "_writes", lambda cell, name: lab.shell.transform_cell(cell) and writes(cell, name))
    assert works(lab) > 20_000
