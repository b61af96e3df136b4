"""Every chapter keeps the rules of reader_rules.py, and each rule fires: a page with one fault gets one complaint."""

from pathlib import Path

import nbformat
import pytest
import reader_rules as rules
import run_notebooks
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

ROOT = Path(__file__).resolve().parents[1]
PAGES = {str(path.relative_to(ROOT / "book").with_suffix("")): path for path in run_notebooks.all_notebooks(ROOT)}
ASK = "<details><summary>Answer</summary>\n\nTwo, since $1 + 1 = 2$.\n\n</details>"
STEMS = {"04": ["attention"], "05": ["multihead"], "06": ["norm"]}


def complaints(nb, name):
    named = {rule.__name__: rule(nb, name) for rule in rules.RULES if rule is not rules.names_what_it_needs}
    named["names_what_it_needs"] = rules.names_what_it_needs(nb, name, STEMS if name.startswith("05_tiny") else None)
    return {rule: found for rule, found in named.items() if found}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_written_for_its_reader(name):
    assert complaints(nbformat.read(PAGES[name], as_version=4), name) == {}


# ---------------------------------------------------------------- every rule fires


def good_page():
    """A small chapter that keeps every rule, at the edge where there is one."""
    shown = new_output("stream", name="stdout", text="accuracy 0.984\n" * 30 + "learned True\n")
    drawn = new_output("display_data", data={"image/png": "", "text/plain": "<Figure>"})
    cells = [
        new_markdown_cell("# 5 · Tiny\n\n**Time:** about 5 minutes.\n**You need:** chapters 0 and 4.\n\n"
                          "Words, e.g. x … and so on."),
        new_code_cell("from byhand.np.attention import attention_forward\nfrom byhand.show import matrix",
                      metadata={"tags": ["hide-cell"], "mystnb": {"code_prompt_show": "Imports"}}),
        new_markdown_cell(f"## 5.1 · One\n\nHow much is that?\n\n$$ a = b \\tag{{5.1}} $$\n\n{ASK}"),
        new_code_cell("def f(x):\n    return x\n\n\n" + "f(1)\n" * 23, outputs=[shown]),
        new_code_cell("def f(x):\n    return x  # the library's\n\n\n"
                      "for ax in axes:\n    matrix(A, numbers=False, limits=(0, 1), bar=ax is axes[0], ax=ax)\n"
                      "    matrix(A, numbers=False, ax=ax)\n    matrix(A, limits=(0, 1), ax=ax)\n"
                      "matrix(A, numbers=False, limits=(0, 1))", metadata={"tags": ["hide-input"]}, outputs=[drawn]),
        new_markdown_cell("## 5.2 · Two\n\nNo equation here, so no question.\n\n```text\na  b\n```"),
        new_code_cell("#" + "x" * 78, outputs=[new_output("stream", name="stdout", text="y" * 79 + "\n")]),
        new_markdown_cell("## Further reading\n\nMore."),
    ]
    return new_notebook(cells=cells, nbformat_minor=5)


def append(nb, cell, text):
    nb.cells[cell].source += text


def swap(nb, cell, old, new):
    assert old in nb.cells[cell].source
    nb.cells[cell].source = nb.cells[cell].source.replace(old, new)


def add(nb, source, *tags, text=None):
    outputs = [new_output("stream", name="stdout", text=text)] if text else []
    folded = {"tags": list(tags), "mystnb": {"code_prompt_show": "What it is"}} if tags else {}
    nb.cells.append(new_code_cell(source, metadata=folded, outputs=outputs))


def long(nb, words):
    append(nb, 7, "\n\n" + "word " * words)
    swap(nb, 0, "about 5 minutes", f"about {rules.minutes(nb):.0f} minutes")


FAULTS = {
    "fits_the_column": {
        "code": lambda nb: add(nb, "#" + "x" * 79),
        "folded code": lambda nb: add(nb, "#" + "x" * 79, "hide-cell"),
        "output": lambda nb: add(nb, "1", text="x" * 80 + "\n"),
        "an expression's value": lambda nb: nb.cells[6].outputs.append(
            new_output("execute_result", data={"text/plain": "[" + "1, " * 40 + "1]"})),
        "a block in the text": lambda nb: append(nb, 5, "\n\n```text\n" + "x" * 80 + "\n```"),
    },
    "one_thing_a_cell": {"a line more": lambda nb: append(nb, 3, "f(2)\n")},
    "short_enough": {
        "words": lambda nb: long(nb, 4500),
        "lines": lambda nb: [add(nb, "f(2)\n" * 25) for _ in range(14)] and long(nb, 1),
    },
    "says_how_long": {
        "not at all": lambda nb: swap(nb, 0, "**Time:** about 5 minutes.\n", ""),
        "too little": lambda nb: append(nb, 7, " word" * 2000),
        "too much": lambda nb: swap(nb, 0, "about 5 ", "about 25 "),
    },
    "numbers_not_verdicts": {
        "verdicts": lambda nb: add(nb, "1", text="right: True\nwrong: False\n"),
        "in a value": lambda nb: [nb.cells[6].outputs.append(
            new_output("execute_result", data={"text/plain": "{'X': True}"})) for _ in range(2)],
    },
    "matrices_have_names": {
        "printed": lambda nb: add(nb, "print(A)", "hide-input", text="of A:\n [[1 0]\n [0 1]]\n"),
        "a value": lambda nb: nb.cells[6].outputs.append(
            new_output("execute_result", data={"text/plain": "[[1 0]\n [0 1]]"})),
    },
    "one_scale_one_bar": {
        "each its own": lambda nb: swap(nb, 4, "bar=ax is axes[0], ", ""),
        "in a fold": lambda nb: append(nb, 1, "\nfor ax in axes:\n    _ = matrix(A, numbers=False, limits=lim, ax=ax)"),
    },
    "asks_before_telling": {
        "no question": lambda nb: swap(nb, 2, ASK, ""),
        "another fold": lambda nb: swap(nb, 2, "Answer", "Proof"),
        "a new equation": lambda nb: append(nb, 5, "\n\n$$ c = d \\tag{5.2} $$"),
    },
    "folds_open_and_close": {
        "not closed": lambda nb: append(nb, 5, "\n\n<details><summary>Proof</summary>\n\nSo."),
        "not opened": lambda nb: append(nb, 5, "\n\n</details>"),
        "one in another": lambda nb: append(nb, 5, f"\n\n<details><summary>Proof</summary>\n\n{ASK}\n\n</details>"),
        "no blank line": lambda nb: append(nb, 5, "\n\n<details><summary>Proof</summary>\nSo.\n\n</details>"),
        "no summary": lambda nb: append(nb, 5, "\n\n<details>\n\nSo.\n\n</details>"),
        "a title inside": lambda nb: append(nb, 5, "\n\n<details><summary>Proof</summary>\n\n### So\n\n</details>"),
    },
    "folds_say_what_they_hold": {
        "no words": lambda nb: nb.cells[1].metadata.pop("mystnb"),
        "empty words": lambda nb: nb.cells[1].metadata["mystnb"].update(code_prompt_show=""),
        "no figure any more": lambda nb: nb.cells[4].outputs.clear(),
        "prints, and draws nothing": lambda nb: nb.cells[4].update(outputs=nb.cells[3].outputs[:]),
    },
    "defined_once": {
        "a function": lambda nb: add(nb, "def f(x):\n    return x + 1"),
        "a class, after a magic": lambda nb: [
            add(nb, "%pip list\nclass A:\n    x = 1"), add(nb, "class A:\n    x = 2")],
    },
    "stops_stand_once": {
        "two stops": lambda nb: append(nb, 5, "\n\nIt is so.. Then"),
        "after a formula": lambda nb: append(nb, 5, "\n\nIt is $a$.. Then"),
        "two commas": lambda nb: append(nb, 5, "\n\nx,, with"),
        "a stop that drifted": lambda nb: append(nb, 5, "\n\nIt is so . Then"),
    },
    "names_what_it_needs": {
        "a chapter": lambda nb: add(nb, "from byhand.np.norm import layer_norm_forward", "hide-cell"),
        "of the other half": lambda nb: add(nb, "from byhand.pt import norm as twin", "hide-cell"),
        "no line": lambda nb: swap(nb, 0, "**You need:**", "You need:"),
        "another number": lambda nb: swap(nb, 0, "chapters 0 and 4", "chapters 0 and 3"),
    },
}


def test_a_good_page_is_left_in_peace():
    assert complaints(good_page(), "05_tiny") == {}
    set_of_problems = new_notebook(cells=[new_markdown_cell("# Exercises 5 · Tiny\n\nNo time."),
                                          new_code_cell("f()\n" * 40)])
    assert complaints(set_of_problems, "exercises/ex05_tiny") == {}


@pytest.mark.parametrize(("rule", "fault"), [(rule, fault) for rule in FAULTS for fault in FAULTS[rule]])
def test_a_fault_gets_one_complaint(rule, fault):
    nb = good_page()
    FAULTS[rule][fault](nb)
    assert list(complaints(nb, "05_tiny")) == [rule]


def test_every_rule_has_a_fault():
    assert list(FAULTS) == [rule.__name__ for rule in rules.RULES]


WRITTEN = [*sorted((ROOT / "book").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
WIDE, FITS = "x" * 80, "x" * 79


def test_python_on_a_markdown_page_fits_too():
    assert {path.name: wide for path in WRITTEN if (wide := rules.wide_python(path.read_text(encoding="utf-8")))} == {}
    assert sum("```python" in path.read_text(encoding="utf-8") for path in WRITTEN) > 1
    for fence in ("```", "````", "   ```"):
        assert rules.wide_python(f"a\n\n{fence}python\n{FITS}\n{WIDE}\n{fence}\n\n{WIDE}") == [WIDE], fence
    assert rules.wide_python(f"```bash\n{WIDE}\n```\n\n```python\n{FITS}\n```\n{WIDE}\n\n```text\n{WIDE}\n```\n") == []


def test_what_is_folded_is_not_counted():
    nb = good_page()
    before = rules.words(nb), rules.lines(nb)
    append(nb, 5, "\n\n<details><summary>Proof</summary>\n\n" + "word " * 300 + "\n\n</details>")
    append(nb, 5, "\n\n```python\n" + "word " * 15 + "\n```\n\n$$ a + b + c $$")
    add(nb, "f(1)\n" * 200, "hide-cell")
    add(nb, "f(1)\n" * 200, "hide-input")
    assert (rules.words(nb), rules.lines(nb)) == before
    append(nb, 7, "\n\none more $a + b$ word")
    add(nb, "f(1)\n\nf(2)")
    assert (rules.words(nb), rules.lines(nb)) == (before[0] + 4, before[1] + 2)
    nb.cells[0].source += " [Ba et al. (2016)](references.bib#ba2016) and [a link](04.ipynb)"
    assert rules.words(nb) == before[0] + 4 + 4  # a citation is one word, another link what it says


def test_the_first_chapter_is_shorter():
    nb = good_page()
    long(nb, 3600)
    assert "short_enough" not in complaints(nb, "05_tiny")
    assert rules.short_enough(nb, "00_gradcheck")
