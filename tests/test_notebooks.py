"""The notebooks keep the rules, each rule fires, and the tool that writes them is exact."""

import base64
import copy
import io
import json
import re
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import notebook_rules as rules
import numpy as np
import pytest
import run_notebooks
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = {str(path.relative_to(ROOT / "book").with_suffix("")): path for path in run_notebooks.all_notebooks(ROOT)}
TOC = """root: book/index
parts:
- chapters:
  - file: book/04_tiny
    sections:
    - file: book/exercises/ex04_tiny
"""
MORE = TOC.replace("chapters:\n", "chapters:\n  - file: book/00_tiny\n") + "  - file: book/workshop\n"


# ---------------------------------------------------------------- the real notebooks


def test_there_is_a_chapter_and_an_exercise_set():
    assert any("/" not in name for name in NOTEBOOKS) and any(name.startswith("exercises/") for name in NOTEBOOKS)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_keeps_the_rules(name):
    nb = nbformat.v4.reads(NOTEBOOKS[name].read_text(encoding="utf-8"))  # nbformat.read would mend the ids
    assert complaints_about_page(nb, name) == {}


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_is_laid_out_as_the_tool_writes_it(name):
    nb = run_notebooks.canonical(run_notebooks.read(NOTEBOOKS[name]))
    same = run_notebooks.to_bytes(nb) == NOTEBOOKS[name].read_bytes()  # apart, or pytest prints the whole file
    assert same, run_notebooks.what_changed(run_notebooks.read(NOTEBOOKS[name]), nb)


def test_book_keeps_the_rules():
    book = {name: nbformat.read(path, as_version=4) for name, path in NOTEBOOKS.items()}
    assert complaints_about_book(book, (ROOT / "_toc.yml").read_text(encoding="utf-8")) == {}


# ---------------------------------------------------------------- every rule fires


def complaints_about_page(nb, name):
    return {rule.__name__: found for rule in rules.PAGE_RULES if (found := rule(nb, name))}


def complaints_about_book(book, toc):
    return {rule.__name__: found for rule in rules.BOOK_RULES if (found := rule(book, toc))}


def drawing(wide, *letters):
    """A figure so many points wide, with texts of these sizes."""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} 100">'
            + "".join(f'<text font-size="{size}">a</text>' for size in letters) + "</svg>")


def good_page():
    """A small notebook that keeps every rule."""
    stream = new_output("stream", name="stdout", text="max error < 1e-10: True\n")
    figure = new_output("display_data", data={"image/png": "iVBORw0KGgo=", "image/svg+xml": drawing(390, 9),
                                               "text/plain": "<Figure size 1x1>"})
    about = {"figure": {"name": "fig-a", "caption": "A."}, "image": {"alt": "a line that rises from one to two"}}
    refused = new_output("error", ename="ValueError", evalue="tiny: K has 5 keys", traceback=["ValueError"])
    nb = new_notebook(
        metadata=copy.deepcopy(run_notebooks.METADATA),
        nbformat_minor=5,
        cells=[
            new_markdown_cell("# 4 · Tiny\n\nThe [exercises](exercises/ex04_tiny.ipynb).\n\n```text\n# \\tag{9}\n```"),
            new_markdown_cell(
                "## 4.1 · One\n\n$$ a = b \\tag{4.1} $$\n\n"
                "\\begin{align*}\nc &= d \\tag{4.2} \\\\\ne &= f \\tag{4.2b}\n\\end{align*}\n\n"
                "$$\n\\begin{aligned} x &= y \\\\ z &= w \\end{aligned}\n$$\n\n`$\\tag{5}$` is code."
            ),
            new_code_cell("x = 1  # (4.1)\nprint(x)  # a;", outputs=[stream]),
            new_code_cell("figure()", outputs=[figure, copy.deepcopy(stream)], metadata={"mystnb": about}),
            new_code_cell("refuse()", outputs=[refused], metadata={"tags": ["raises-exception"]}),
            new_code_cell("x", outputs=[new_output("execute_result", data={"text/plain": "1"}, execution_count=4)]),
            new_markdown_cell("[Ba et al. (2016)](references.bib#ba2016), [a link out](https://example.org)."),
        ],
    )
    for i, cell in enumerate(nb.cells):
        cell.id = f"cell-{i}"
    for count, (_, cell) in enumerate(rules.code_cells(nb), 1):
        cell.execution_count = count
    return nb


def output(cell, text=None, mime=None, name="stdout"):
    """Add an output to a cell: text on a stream, or data of a mime type."""
    new = new_output("display_data", data={mime: text}) if mime else new_output("stream", name=name, text=text)
    cell.outputs.append(new)


def say(nb, text, cell=1):
    nb.cells[cell].source += "\n\n" + text


def code(nb, text, cell=2):
    nb.cells[cell].source = text


def tolerate(nb, *tags, shown="loss 0.2513\n"):
    nb.cells[2].metadata.update(tags=list(tags))
    nb.cells[2].outputs.clear()
    output(nb.cells[2], shown)


def insist(nb, *tags, shown="gap 3e-11\n"):
    tolerate(nb, *tags, shown=shown)
    code(nb, "assert gap < 1e-8")


# rule -> faults that this rule, and no other, must report. Each changes a good page in place.
PAGE_FAULTS = {
    "canonical_metadata": {
        "the version of Python": lambda nb: nb.metadata.language_info.update(version="3.12.1"),
        "what an editor noted": lambda nb: nb.cells[2].metadata.update(scrolled=True),
        "times of execution": lambda nb: nb.cells[2].metadata.update(execution={"iopub.status.busy": "2026"}),
        "an older format": lambda nb: nb.update(nbformat_minor=4),
    },
    "counted_from_one": {
        "run twice": lambda nb: nb.cells[2].update(execution_count=2),
        "not run": lambda nb: nb.cells[2].update(execution_count=None),
        "a result of another run": lambda nb: nb.cells[5].outputs[0].update(execution_count=7),
    },
    "unique_ids": {
        "twice": lambda nb: nb.cells[2].update(id="cell-3"),
        "none": lambda nb: nb.cells[2].pop("id"),
        "not an id": lambda nb: nb.cells[2].update(id="a b"),
    },
    "no_empty_cell": {"blank": lambda nb: nb.cells[2].update(source=" \n")},
    "small_enough": {
        "a fat output": lambda nb: output(nb.cells[2], "x" * 100_001),
        "a fat picture": lambda nb: nb.cells[3].outputs[0].data.update({"image/png": "x" * 100_001}),
        "a fat page": lambda nb: [output(nb.cells[2], "x" * 90_000, "text/html") for _ in range(4)],
        "many pictures": lambda nb: nb.cells[3].outputs.extend(new_output(
            "display_data", data={"image/png": "x" * 90_000, "image/svg+xml": drawing(390, 9)}) for _ in range(7)),
    },
    "no_trailing_semicolon": {
        "last line": lambda nb: code(nb, "f();"),
        "before a comment": lambda nb: code(nb, "f();  # quiet\n"),
        "inside a block": lambda nb: code(nb, "for i in range(3):\n    f(i);\n"),
        "after a magic": lambda nb: code(nb, "%matplotlib inline\nf();"),
    },
    "validated": {
        "a tag": lambda nb: nb.cells[2].metadata.update(tags=["nbval-ignore-output"]),
        "skipped": lambda nb: nb.cells[2].metadata.update(tags=["skip-execution"]),
        "no tolerance": lambda nb: tolerate(nb, "tolerance:"),
        "a tolerance of anything": lambda nb: tolerate(nb, "tolerance:inf"),
        "a wide tolerance": lambda nb: tolerate(nb, "tolerance:0.5"),
        "a tolerance of nothing": lambda nb: tolerate(nb, "tolerance:0"),
        "two tolerances": lambda nb: tolerate(nb, "tolerance:1e-3", "tolerance:1e-4"),
        "a tolerance for whole numbers": lambda nb: tolerate(nb, "tolerance:1e-3", shown="12 rows\n"),
        "a wide bound of rounding": lambda nb: insist(nb, "rounding:1e-3"),
        "two bounds of rounding": lambda nb: insist(nb, "rounding:1e-8", "rounding:1e-9"),
        "rounding of whole numbers": lambda nb: insist(nb, "rounding:1e-8", shown="12 rows\n"),
        "rounding that nothing insists on": lambda nb: tolerate(nb, "rounding:1e-8", shown="gap 3e-11\n"),
        "a comment": lambda nb: code(nb, "# NBVAL_SKIP\nf()"),
        "an output that comes and goes": lambda nb: code(nb, "clear_output()"),
    },
    "no_errors": {
        "an error": lambda nb: nb.cells[4].metadata.update(tags=[]),
        "a warning": lambda nb: output(nb.cells[2], "UserWarning: careful\n", name="stderr"),
    },
    "same_everywhere": {
        "a path shown": lambda nb: output(nb.cells[2], "saved to /home/ada/course/x.npy"),
        "a path in code": lambda nb: code(nb, "np.save('/tmp/x.npy', x)"),
        "a Windows path": lambda nb: output(nb.cells[2], "C:\\Users"),
        "where a warning stood": lambda nb: output(nb.cells[2], "/somewhere/lib/layer.py:3"),
        "an address": lambda nb: output(nb.cells[2], "<object at 0x7f3a2c>"),
        "an address in html": lambda nb: output(nb.cells[2], "<b>0x7f3a2c11</b>", "text/html"),
        "a timing": lambda nb: code(nb, "%%time\nf()"),
        "a clock": lambda nb: code(nb, "start = time.perf_counter()"),
        "a duration": lambda nb: output(nb.cells[2], "1.2 ms ± 3 µs per loop"),
        "a version": lambda nb: output(nb.cells[2], "torch 2.13.0+cpu"),
        "asking for a version": lambda nb: code(nb, "print(np.__version__)"),
        "a device": lambda nb: output(nb.cells[2], "cuda:0"),
        "in an error": lambda nb: nb.cells[4].outputs[0].update(evalue="no file /tmp/x"),
    },
    "figures_described": {
        "no alt text": lambda nb: nb.cells[3].metadata.mystnb.image.pop("alt"),
        "a poor alt text": lambda nb: nb.cells[3].metadata.mystnb.image.update(alt="a figure"),
        "no caption": lambda nb: nb.cells[3].metadata.mystnb.figure.update(caption=" "),
        "no name": lambda nb: nb.cells[3].metadata.mystnb.figure.pop("name"),
        "nothing at all": lambda nb: nb.cells[3].update(metadata={}),
    },
    "figures_by_day_and_night": {
        "no drawing": lambda nb: nb.cells[3].outputs[0].data.pop("image/svg+xml"),
        "nothing for who shows none": lambda nb: nb.cells[3].outputs[0].data.pop("image/png"),
        "of another kind": lambda nb: output(nb.cells[3], "x", "image/jpeg"),
        "dark for large": lambda nb: nb.cells[3].metadata.mystnb.image.update(alt="the darkest square is the largest"),
        "white for none": lambda nb: nb.cells[3].metadata.mystnb.figure.update(caption="White is zero."),
    },
    "figures_fit_a_phone": {
        "too wide": lambda nb: nb.cells[3].outputs[0].data.update({"image/svg+xml": drawing(400, 9)}),
        "one small label": lambda nb: nb.cells[3].outputs[0].data.update({"image/svg+xml": drawing(390, 8.5, 12)}),
    },
    "figures_in_numbers": {
        "nothing printed": lambda nb: nb.cells[3].outputs.pop(),
        "words only": lambda nb: nb.cells[3].outputs[1].update(text="see the figure\n"),
    },
    "nothing_from_outside": {
        "a script": lambda nb: output(nb.cells[2], '<script src="https://example.org/x.js"></script>', "text/html"),
        "a style": lambda nb: output(nb.cells[2], "<link rel=stylesheet href=//example.org/x.css>", "text/html"),
        "a font": lambda nb: output(nb.cells[2], "<style>a{src:url(http://example.org/f)}</style>", "text/html"),
        "a picture": lambda nb: say(nb, "![a cat](https://example.org/cat.png)"),
        "a frame in code": lambda nb: code(nb, "HTML('<iframe src=\"http://example.org\">')"),
    },
    "no_widget_state": {
        "a widget": lambda nb: output(nb.cells[2], "{}", "application/vnd.jupyter.widget-view+json"),
        "a script": lambda nb: output(nb.cells[2], "alert(1)", "application/javascript"),
    },
    "plain_markdown": {
        "a role": lambda nb: say(nb, "By {cite:t}`ba2016`."),
        "a fence": lambda nb: say(nb, "```{note}\nSo.\n```"),
        "a box": lambda nb: say(nb, ":::{admonition} So\n:::"),
        "a label": lambda nb: say(nb, "(here)=\n\n### Here"),
        "another name": lambda nb: say(nb, "[Li et al. (2016)](references.bib#ba2016)"),
        "another year": lambda nb: say(nb, "[Ba et al. (2015)](references.bib#ba2016)"),
        "no such entry": lambda nb: say(nb, "[Ba et al. (2016)](references.bib#ba2061)"),
        "a word to a linter": lambda nb: code(nb, "f = lambda x: x  # noqa: E731\nf(1)"),
        "a formula with letters behind it": lambda nb: say(nb, "The $i$th column."),
    },
    "numbered_title": {
        "another number": lambda nb: code(nb, "# 5 · Tiny", cell=0),
        "no number": lambda nb: code(nb, "# Tiny", cell=0),
        "code first": lambda nb: nb.cells.insert(0, nb.cells.pop(1)),
        "two titles": lambda nb: say(nb, "# Another"),
        "a problem set's title": lambda nb: code(nb, "# Exercises 4 · Tiny", cell=0),
    },
    "numbered_sections": {
        "a gap": lambda nb: say(nb, "## 4.3 · Three"),
        "twice": lambda nb: say(nb, "## 4.1 · One"),
        "another chapter": lambda nb: say(nb, "## 5.2 · Two"),
        "as in a problem set": lambda nb: say(nb, "## 04.2 · Two"),
    },
    "equations_in_both_worlds": {
        "two lines": lambda nb: say(nb, "$$ a = b\n\\tag{4.3} $$"),
        "three lines": lambda nb: say(nb, "$$\na = b \\tag{4.3}\n$$"),
        "a break": lambda nb: say(nb, "$$ a \\\\ b \\tag{4.3} $$"),
        "no star": lambda nb: say(nb, "\\begin{align}\na &= b\n\\end{align}"),
        "an equation": lambda nb: say(nb, "\\begin{equation} a \\end{equation}"),
        "align in dollars": lambda nb: say(nb, "$$\n\\begin{align*} a &= b \\end{align*}\n$$"),
        "a tag in a sentence": lambda nb: say(nb, "So $a = b \\tag{4.3}$."),
    },
    "tags_in_order": {
        "twice": lambda nb: say(nb, "$$ a = c \\tag{4.2b} $$"),
        "back": lambda nb: say(nb, "$$ a = c \\tag{4.1b} $$"),
        "another chapter": lambda nb: say(nb, "$$ a = c \\tag{5.1} $$"),
        "not a number": lambda nb: say(nb, "$$ a = c \\tag{*} $$"),
        "ten is after nine": lambda nb: say(nb, "$$ a \\tag{4.10} $$\n\n$$ b \\tag{4.9} $$"),
    },
    "sections_by_name": {
        "first in a sentence": lambda nb: say(nb, "It is wrong; 4.10 shows it."),
        "in parentheses": lambda nb: say(nb, "Unseen texts (13.7 says what that means)."),
        "behind another word": lambda nb: say(nb, "That is what recall in 16.7 asks for."),
        "two": lambda nb: say(nb, "But 6.6 and 6.10 show more."),
    },
}


def good_book():
    page = good_page()
    exercises = new_notebook(cells=[new_markdown_cell("# Exercises 4 · Tiny"), new_code_cell("g()  # (4.1), (4.2b)")])
    return {"04_tiny": page, "exercises/ex04_tiny": exercises}


def go_on(book, number):
    """Chapter 0 with one section, and the page that goes on from it with this number."""
    book |= {name: new_notebook(cells=[new_markdown_cell(f"# {name}\n\n## {first} · One")])
             for name, first in (("00_tiny", "0.1"), ("workshop", number))}


# rule -> faults as functions (book, toc) -> toc that change the book in place.
BOOK_FAULTS = {
    "references_have_tags": {
        "no such equation": lambda book, toc: code(book["exercises/ex04_tiny"], "g()  # (4.7)", cell=1) or toc,
        "the second of two": lambda book, toc: code(book["04_tiny"], "g()  # (4.1, 4.7)") or toc,
        "the end of a range": lambda book, toc: code(book["04_tiny"], "g()  # (4.1–4.7)") or toc,
    },
    "numbers_belong_to_one_page": {
        "again in the exercises": lambda book, toc: (
            say(book["exercises/ex04_tiny"], "$$ a \\tag{4.1} $$", cell=0) or toc),
    },
    "continued": {
        "a gap": lambda book, toc: go_on(book, "0.3") or MORE,
        "again": lambda book, toc: go_on(book, "0.1") or MORE,
        "no sections": lambda book, toc: go_on(book, "4.1") or MORE,
    },
    "listed_in_toc": {
        "not listed": lambda book, toc: toc.replace("    - file: book/exercises/ex04_tiny\n", "    - file: book/x\n"),
        "does not exist": lambda book, toc: toc + "  - file: book/05_gone\n",
        "out of order": lambda book, toc: book.update({"03_late": new_notebook()}) or toc + "  - file: book/03_late\n",
    },
    "linked_from_chapter": {
        "no link": lambda book, toc: code(book["04_tiny"], "# 4 · Tiny\n\nexercises/ex04_tiny", cell=0) or toc,
    },
}


def test_a_good_page_and_a_good_book_are_left_in_peace():
    assert complaints_about_page(good_page(), "04_tiny") == {}
    tolerant = good_page()
    tolerate(tolerant, "tolerance:1e-4")
    assert complaints_about_page(tolerant, "04_tiny") == {}
    insist(tolerant, "rounding:1e-8", "tolerance:1e-4")
    assert complaints_about_page(tolerant, "04_tiny") == {}
    assert complaints_about_book(good_book(), TOC) == {}


@pytest.mark.parametrize(("rule", "fault"), [(rule, fault) for rule in PAGE_FAULTS for fault in PAGE_FAULTS[rule]])
def test_page_rule_fires(rule, fault):
    """Exactly this rule complains: with it broken, the fault would pass."""
    nb = good_page()
    PAGE_FAULTS[rule][fault](nb)
    assert list(complaints_about_page(nb, "04_tiny")) == [rule]


@pytest.mark.parametrize(("fault", "rule"), [
    (lambda nb: None, None),
    (lambda nb: code(nb, "# 4 · Tiny", cell=0), "numbered_title"),
    (lambda nb: say(nb, "# Another", cell=0), "numbered_title"),
    (lambda nb: say(nb, "## 4.1 · One", cell=0), "numbered_sections"),
    (lambda nb: say(nb, "$$ a = b \\tag{4.1} $$", cell=0), "tags_in_order"),
])
def test_a_page_without_a_number_numbers_nothing(fault, rule):
    nb = new_notebook(metadata=run_notebooks.METADATA, cells=[new_markdown_cell("# Errors\n\n## Of one\n\nText.")])
    fault(nb)
    assert list(complaints_about_page(nb, "errata")) == ([rule] if rule else [])


@pytest.mark.parametrize(("rule", "fault"), [(rule, fault) for rule in BOOK_FAULTS for fault in BOOK_FAULTS[rule]])
def test_book_rule_fires(rule, fault):
    book = good_book()
    toc = BOOK_FAULTS[rule][fault](book, TOC)
    assert list(complaints_about_book(book, toc)) == [rule]


@pytest.mark.parametrize(("source", "rule"), [
    ("# Workshop · More\n\n## 0.7 · One\n\n$$ a \\tag{0.2} $$\n\n## 0.8 · Two\n\n$$ b \\tag{0.41} $$", None),
    ("# 0 · More\n\n## 0.7 · One", "numbered_title"),
    ("# Workshop · More\n\n## 0.7 · One\n\n## 0.9 · Two", "numbered_sections"),
    ("# Workshop · More\n\n## 0.1 · One\n\n## 0.7 · Two", "numbered_sections"),
    ("# Workshop · More\n\n## 4.7 · One", "numbered_sections"),
    ("# Workshop · More\n\n$$ a \\tag{0.3} $$\n\n$$ b \\tag{0.2} $$", "tags_in_order"),
    ("# Workshop · More\n\n$$ a \\tag{4.3} $$", "tags_in_order"),
])
def test_a_page_that_goes_on_with_a_chapter(source, rule):
    nb = new_notebook(metadata=run_notebooks.METADATA, cells=[new_markdown_cell(source)])
    assert list(complaints_about_page(nb, "workshop")) == ([rule] if rule else [])
    book = good_book()
    go_on(book, "0.2")
    assert rules.continued(book, TOC) == []


def test_every_rule_has_a_fault():
    assert list(PAGE_FAULTS) == [rule.__name__ for rule in rules.PAGE_RULES]
    assert list(BOOK_FAULTS) == [rule.__name__ for rule in rules.BOOK_RULES]


# ---------------------------------------------------------------- the tool that runs and writes


def write_tiny(path, *more):
    """A notebook as an editor leaves it: no ids, numbers of another session, an old format."""
    sources = [
        "import sys\nprint('one', flush=True)\nprint('two', flush=True)\nprint(sorted({'x', 'y'}), {'x', 'y', 'z'})",
        "import matplotlib.pyplot as plt\n_ = plt.figure(figsize=(2, 1)).gca().plot([1, 2])\nplt.show()\nprint(2)",
        "from IPython.display import Markdown, display\ndisplay(Markdown('*three*'))\n3",
        *more,
    ]
    cells = [{"cell_type": "markdown", "metadata": {}, "source": ["# 4 · Tiny\n", "\n", "$$ a = b \\tag{4.1} $$"]}]
    cells += [
        {"cell_type": "code", "metadata": {"scrolled": True}, "execution_count": 17, "outputs": [], "source": source}
        for source in sources
    ]
    metadata = {
        "language_info": {"name": "python", "version": "3.8.2"},
        "kernelspec": {"name": "x", "display_name": "X"},
    }
    path.write_text(json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 2}))
    return path


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A tiny notebook, written once by the tool."""
    path = write_tiny(tmp_path_factory.mktemp("written") / "tiny.ipynb")
    assert run_notebooks.main([str(path)]) == 0
    return path


def test_two_runs_give_the_same_bytes(written, tmp_path):
    first = written.read_bytes()
    again = write_tiny(tmp_path / "other_name.ipynb")  # the same cells, as the editor left them
    assert run_notebooks.main([str(again)]) == 0
    assert again.read_bytes() == first
    assert run_notebooks.main([str(again)]) == 0  # and from what the tool wrote
    assert again.read_bytes() == first


def test_what_is_written(written):
    nb = nbformat.read(written, as_version=4)
    assert nb.metadata == run_notebooks.METADATA and [dict(c.metadata) for c in nb.cells] == [{}] * 4
    assert [c.execution_count for _, c in rules.code_cells(nb)] == [1, 2, 3]
    assert [o.output_type for o in nb.cells[1].outputs] == ["stream"]  # two flushed prints, one piece
    assert nb.cells[1].outputs[0].text.startswith("one\ntwo\n['x', 'y']")
    assert pixels(nb.cells[2].outputs[0].data["image/png"]).mode == "P" and nb.cells[2].outputs[1].text == "2\n"
    assert nb.cells[3].outputs[1].execution_count == 3
    assert "3.8.2" not in written.read_text() and not list(written.parent.glob("*.part"))


def test_neighbouring_chunks_are_joined_but_not_across_a_figure():
    def chunk(text, name="stdout"):
        return new_output("stream", name=name, text=text)

    figure = new_output("display_data", data={"text/plain": "figure"})
    merged = run_notebooks.merge_streams([chunk("a"), chunk("b"), figure, chunk("c"), chunk("d", "stderr"), chunk("e")])
    assert [o.get("text", "figure") for o in merged] == ["ab", "figure", "c", "d", "e"]


def pixels(text):
    return Image.open(io.BytesIO(base64.b64decode(text)))


def test_pictures_shrink_and_look_the_same():
    figure, axes = plt.subplots()
    axes.imshow(np.arange(12).reshape(3, 4))
    axes.plot([0, 3], [0, 2], "r", label="a line")
    axes.legend()
    file = io.BytesIO()
    figure.savefig(file)
    plt.close(figure)
    big = base64.b64encode(file.getvalue()).decode()
    new = run_notebooks.small(big)
    gap = np.asarray(pixels(new).convert("RGB"), float) - np.asarray(pixels(big).convert("RGB"), float)
    assert len(new) < len(big) / 2 and np.abs(gap).mean() < 0.2
    assert run_notebooks.small(new) == new  # a second run changes nothing
    file = io.BytesIO()
    Image.new("RGBA", (40, 40), (255, 0, 0, 0)).save(file, "png")
    glass = base64.b64encode(file.getvalue()).decode()
    assert run_notebooks.small(glass) == glass  # a transparent picture stays transparent


def test_a_cell_that_raises_leaves_the_file_alone(tmp_path, capsys):
    path = write_tiny(tmp_path / "bad.ipynb", "raise ValueError('the last cell')")
    before = path.read_bytes()
    assert run_notebooks.main([str(path)]) == 1
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    assert "the last cell" in capsys.readouterr().err


def test_what_the_book_folds_lab_folds_too(tmp_path):
    """JupyterLab knows only its own two words; they follow from the tags, and go with them."""
    hidden = {"hide-input": {"source_hidden": True}, "hide-output": {"outputs_hidden": True},
              "hide-cell": {"outputs_hidden": True, "source_hidden": True}, "remove-stderr": None}
    nb = new_notebook(cells=[new_code_cell("1", id=tag, metadata={"tags": [tag], "scrolled": True}) for tag in hidden])
    nb.cells += [new_code_cell("1", id="open", metadata={"jupyter": {"source_hidden": True}}),
                 new_code_cell("1", id="two", metadata={"tags": ["hide-input", "hide-output"]})]
    seen = {cell.id: cell.metadata.get("jupyter") for cell in run_notebooks.canonical(nb).cells}
    assert seen == hidden | {"open": None, "two": hidden["hide-cell"]}
    path = tmp_path / "tiny.ipynb"
    path.write_bytes(run_notebooks.to_bytes(nb))
    run_notebooks.write_text(path)
    assert "jupyter" not in run_notebooks.text_path(path).read_text().split("---", 2)[2]
    back = run_notebooks.canonical(run_notebooks.read_text(path))
    assert [cell.metadata for cell in back.cells] == [cell.metadata for cell in nb.cells]


def test_a_cell_may_raise_if_it_says_so(tmp_path):
    path = write_tiny(tmp_path / "refuses.ipynb", "raise ValueError('K has 5 keys')")
    raw = json.loads(path.read_text())
    raw["cells"][-1]["metadata"]["tags"] = ["raises-exception"]
    path.write_text(json.dumps(raw))
    assert run_notebooks.main([str(path)]) == 0
    error = nbformat.read(path, as_version=4).cells[-1].outputs[0]
    assert error.traceback == ["ValueError: K has 5 keys"]  # no file names, no line numbers


def test_check_sees_a_stale_output_and_writes_nothing(written, tmp_path, capsys):
    path = tmp_path / "tiny.ipynb"
    path.write_bytes(written.read_bytes())
    assert run_notebooks.main(["--check", str(path)]) == 0
    stale = written.read_text().replace('"two\\n"', '"too\\n"')
    path.write_text(stale)
    assert run_notebooks.main(["--check", str(path)]) == 1
    assert path.read_text() == stale and "cells 1," in capsys.readouterr().err


def test_missing_ids_are_made_alike_and_valid_ones_kept():
    def cells(*ids):
        made = [{"cell_type": "code", "source": "x = 1"} for _ in ids]
        return [cell | ({"id": i} if i else {}) for cell, i in zip(made, ids, strict=True)]

    one, two, broken = cells(None, "mine", None), cells(None, "mine", None), cells("mine", "mine", "not valid")
    for some in (one, two, broken):
        run_notebooks.give_ids(some)
        assert len({cell["id"] for cell in some}) == 3  # equal cells, different ids
        assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", cell["id"]) for cell in some)
    assert [c["id"] for c in one] == [c["id"] for c in two] and one[1]["id"] == "mine" and broken[0]["id"] == "mine"


def test_text_and_back_changes_nothing(written, tmp_path):
    path = tmp_path / "tiny.ipynb"
    path.write_bytes(written.read_bytes())
    assert run_notebooks.main(["--text", str(path)]) == 0
    assert run_notebooks.main(["--from-text", str(path)]) == 0
    assert path.read_bytes() == written.read_bytes()


def test_an_edited_cell_keeps_its_id_and_the_others_everything(written, tmp_path):
    path = tmp_path / "tiny.ipynb"
    path.write_bytes(written.read_bytes())
    assert run_notebooks.main(["--text", str(path)]) == 0
    text = run_notebooks.text_path(path)
    edited = text.read_text(encoding="utf-8").replace("print(2)", "print(20 + 1)")
    edited = edited.replace("# 4 · Tiny", "# 4 · Tiny\n\n+++\n\nA new cell.\n\n+++\n")
    text.write_text(edited, encoding="utf-8")
    assert run_notebooks.main(["--from-text", str(path)]) == 0
    old, new = (nbformat.read(p, as_version=4).cells for p in (written, path))
    assert [c.id for c in new if c.id in {c.id for c in old}] == [c.id for c in old] and len(new) == len(old) + 2
    assert [c for c in new if c.id in (old[1].id, old[3].id)] == [old[1], old[3]]
    assert next(c for c in new if c.id == old[2].id).outputs[-1].text == "21\n"


def test_edits_not_yet_taken_back_are_not_lost(written, tmp_path, capsys):
    path = tmp_path / "tiny.ipynb"
    path.write_bytes(written.read_bytes())
    text = run_notebooks.text_path(path)
    text.write_text("work of an afternoon")
    assert run_notebooks.main(["--text", str(path)]) == 1
    assert text.read_text() == "work of an afternoon" and "newer" in capsys.readouterr().err


def test_a_moved_cell_keeps_its_id():
    old = [new_code_cell(s, id=i) for s, i in (("a", "id-a"), ("b", "id-b"), ("c", "id-c"))]
    new = [new_code_cell(s) for s in ("c", "a", "b2")]
    run_notebooks.keep_ids(new, old)
    assert [cell.get("id") for cell in new] == ["id-c", "id-a", "id-b"]
