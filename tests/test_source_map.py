"""The map from the notes to the book is true: each section, function and test that it names is there."""

import importlib
import json
import re
from pathlib import Path

import make_source_map
import pytest

ROOT = Path(__file__).parents[1]
ROWS = make_source_map.rows()
LAST = {"W": 17, "K": 22, "M": 16, "P": 16, "T": 12}  # entries of each note


def text(chapter: str) -> str:
    cells = json.loads((ROOT / "book" / f"{chapter}.ipynb").read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def claimed(chapter: str) -> set[str]:
    """The entries in a chapter's line *From the notes:*, with W2–W4 written out."""
    line = re.search(r"\*From the notes:\*(.*)", text(chapter))
    found = set()
    for letter, first, last in re.findall(r"([WKMPT])(\d+)(?:[–-][WKMPT]?(\d+))?", line[1] if line else ""):
        found |= {f"{letter}{i}" for i in range(int(first), int(last or first) + 1)}
    return found


def faults(row: dict) -> list[str]:
    """What a row says that is not so."""
    found = []
    letter, number = row["id"][:1], row["id"][1:]
    if not number.isdigit() or not 1 <= int(number) <= LAST.get(letter, 0):
        found.append(f"{row['id']} is no entry")
    chapter, _, section = row["section"].partition("#")
    if not (ROOT / "book" / f"{chapter}.ipynb").is_file():
        return [*found, f"no chapter {chapter}"]
    if not re.search(rf"^#+ {re.escape(section)} · ", text(chapter), re.MULTILINE):
        found.append(f"no section {section} in {chapter}")
    if row["id"] not in claimed(chapter):
        found.append(f"{chapter} does not list {row['id']} among its entries")
    for name in filter(None, row["function"].split(", ")):
        module, _, function = name.rpartition(".")
        try:
            getattr(importlib.import_module(f"byhand.{module}"), function)
        except (ImportError, AttributeError):
            found.append(f"no function {name}")
    where, _, test = row["test"].partition("::")
    if where == "the chapter's cells":
        return found if not test else [*found, f"{test} of a notebook"]
    path = ROOT / where
    if not path.is_file() or not test or test not in path.read_text(encoding="utf-8"):
        found.append(f"no test {row['test']}")
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['id']} in {row['section']}")
def test_a_row_is_true(row):
    assert not faults(row)


def test_what_a_chapter_claims_is_in_the_map():
    mapped = {(row["id"], row["section"].partition("#")[0]) for row in ROWS}
    chapters = [path.stem for path in (ROOT / "book").glob("[0-9][0-9]_*.ipynb")]
    missing = {(entry, chapter) for chapter in chapters for entry in claimed(chapter)} - mapped
    assert not missing, sorted(missing)


def test_the_page_is_made_from_the_table():
    page = (ROOT / "book" / "source_map.md").read_text(encoding="utf-8")
    assert page == make_source_map.page(), "run: .venv/bin/python tools/make_source_map.py"


@pytest.mark.parametrize(("change", "says"), [
    ({"id": "W18"}, "no entry"), ({"id": "X1"}, "no entry"), ({"section": "44_attention#4.1"}, "no chapter"),
    ({"section": "04_attention#4.99"}, "no section"), ({"id": "T1", "section": "04_attention#4.1"}, "does not list"),
    ({"function": "np.attention.attend"}, "no function"), ({"test": "tests/test_nothing.py::x"}, "no test"),
    ({"test": "tests/test_mirror.py"}, "no test"), ({"test": "the chapter's cells::x"}, "of a notebook"),
])
def test_a_wrong_row_is_found(change, says):
    right = {"id": "W5", "section": "04_attention#4.1", "function": "np.softmax.softmax_forward",
             "test": "the chapter's cells"}
    assert not faults(right)
    assert any(says in fault for fault in faults(right | change))
