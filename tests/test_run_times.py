"""When `make run` changes a number in book/times.md: rarely, and never for another machine."""

import subprocess
import sys
from pathlib import Path

import pytest
import run_times
from rewritten import rewritten

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "tools" / "run_times.py"
PAGE = """# x

Machine: Some Chip.

| [a](04_a.ipynb) | 40 | [b](exercises/ex04_a.ipynb) | — |
| [c](05_a.ipynb) | 3 |
| [the other way round](exercises/ex07_a.ipynb) | 7 | [d](07_a.ipynb) | 8 |
"""


def module(*edits):
    return rewritten(SOURCE, *edits)


def when_it_writes(times):
    def noted(name, seconds, here="Some Chip"):
        return times.noted(PAGE, name, seconds, here)

    assert noted("04_a", 43) == noted("04_a", 55) == noted("04_a", 25) == PAGE
    assert noted("04_a", 123) == PAGE.replace("| 40 |", "| 120 |")
    assert noted("04_a", 18.2) == PAGE.replace("| 40 |", "| 20 |")
    assert noted("exercises/ex04_a", 6.4) == PAGE.replace("—", "6")
    assert noted("05_a", 4.9) == PAGE and noted("05_a", 0.1) == PAGE.replace("| 3 |", "| 1 |")
    assert noted("07_a", 70) == PAGE.replace("| 8 |", "| 70 |")
    assert noted("04_a", 123, "Other Chip") == noted("06_a", 5) == PAGE


def test_a_number_changes_if_it_is_quite_another():
    when_it_writes(run_times)


@pytest.mark.parametrize("edit", [
    ("<= max(2, LOT * int(row[2]))", "<= 2"),
    ("<= max(2, LOT * int(row[2]))", "<= LOT * int(row[2])"),
    ("or MACHINE.search(page)[1] != here", ""),
    ("if row[1] == name", "if name in row[1]"),
    ("if row[1] == name", "if row[1].endswith(name)"),
    ("{rounded(seconds)}", "{seconds:.0f}"),
    ("return max(1, step", "return max(0, step"),
    ("page[row.end(2) :]", "page[row.end() + 2 :]"),
], ids=["always", "seconds too", "any machine", "part of a name", "end of a name", "unrounded", "nothing",
        "a bar less"])
def test_a_wrong_version_is_found_out(edit):
    with pytest.raises(AssertionError):
        when_it_writes(module(*edit))


def test_only_notebooks_of_the_book_are_noted(tmp_path):
    page = tmp_path / "book" / "times.md"
    page.parent.mkdir()
    page.write_text(PAGE.replace("Some Chip", run_times.machine()), encoding="utf-8")
    before = page.read_text(encoding="utf-8")
    run_times.note(tmp_path / "04_a.ipynb", 300, page)
    assert page.read_text(encoding="utf-8") == before
    run_times.note(page.parent / "04_a.ipynb", 300, page)
    assert page.read_text(encoding="utf-8") == before.replace("| 40 |", "| 300 |")
    assert [p.name for p in page.parent.iterdir()] == ["times.md"]


def test_what_a_process_spends_is_seen():
    before = run_times.spent()
    subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.3: pass"], check=True)
    assert run_times.spent() - before > 0.2


def test_every_notebook_has_its_row():
    text = run_times.PAGE.read_text(encoding="utf-8")
    named = [row[1] for row in run_times.ROW.finditer(text)]
    there = [p.relative_to(ROOT / "book").with_suffix("").as_posix() for p in (ROOT / "book").glob("**/*.ipynb")]
    assert sorted(named) == sorted(p for p in there if "checkpoints" not in p) and run_times.MACHINE.search(text)
