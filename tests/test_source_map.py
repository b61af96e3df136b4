"""The map from the notes to the book is true: each function stands in the code of the section that it names.

And each section and test is there, each entry of the ledger has a place or says which chapter it waits for.
"""

import csv
import importlib
import json
import re
from functools import cache
from pathlib import Path

import make_source_map
import pytest
from make_source_map import CELLS, functions, is_open
from mutants import ERRATA

ROOT = Path(__file__).parents[1]
ROWS, LEDGER = make_source_map.rows(), make_source_map.ledger()
LAST = {"W": 18, "K": 27, "M": 19, "P": 19, "T": 14}  # entries of each note
ENTRIES = [f"{letter}{i}" for letter, last in LAST.items() for i in range(1, last + 1)]


def cells(chapter: str) -> list[tuple[str, str]]:
    there = json.loads((ROOT / "book" / f"{chapter}.ipynb").read_text(encoding="utf-8"))["cells"]
    return [(cell["cell_type"], "".join(cell["source"])) for cell in there]


def sections(page) -> dict[str, str]:
    """Number of a section -> its code, folded or not; a section reaches to the next title of the second level."""
    found, now = {}, None
    for kind, text in page:
        if kind == "markdown":
            for title in re.findall(r"(?m)^## +(.*)$", text):
                number = re.match(r"(\d+\.\d+) · ", title)
                now = number[1] if number else None
                found |= {now: ""} if now else {}
        elif now:
            found[now] += text + "\n"
    return found


@cache
def code(chapter: str) -> dict[str, str]:
    return sections(cells(chapter))


def written(number: str) -> list[Path]:
    return list((ROOT / "book").glob(f"{int(number):02}_*.ipynb"))


def claimed(chapter: str) -> set[str]:
    """The entries in a chapter's line *From the notes:*, with W2–W4 written out."""
    text = "\n".join(text for kind, text in cells(chapter) if kind == "markdown")
    line = re.search(r"\*From the notes:\*(.*)", text)
    found = set()
    for letter, first, last in re.findall(r"([WKMPT])(\d+)(?:[–-][WKMPT]?(\d+))?", line[1] if line else ""):
        found |= {f"{letter}{i}" for i in range(int(first), int(last or first) + 1)}
    return found


def defined(test: str) -> bool:
    where, _, name = test.partition("::")
    path = ROOT / where
    return bool(name and path.is_file() and re.search(
        rf"(?m)^(def {re.escape(name)}\(|{re.escape(name)}\b.*=)", path.read_text(encoding="utf-8")))


def faults(row: dict) -> list[str]:
    """What a row says that is not so."""
    found = [] if row["id"] in ENTRIES else [f"{row['id']} is no entry"]
    if is_open(row):
        word, number = re.fullmatch(r"(planned|open): chapter (\d+)", row["section"]).groups()
        found += [f"chapter {number} is written, not planned"] if word == "planned" and written(number) else []
        found += [f"chapter {number} is planned"] if word == "open" and not written(number) else []
        return found + (["a function or a test of a chapter to come"] if row["function"] or row["test"] else [])
    chapter, _, section = row["section"].partition("#")
    if not (ROOT / "book" / f"{chapter}.ipynb").is_file():
        return [*found, f"no chapter {chapter}"]
    found += [] if section in code(chapter) else [f"no section {section} in {chapter}"]
    for name, where in functions(row):
        module, _, function = name.rpartition(".")
        try:
            getattr(importlib.import_module(f"byhand.{module}"), function)
        except (ImportError, AttributeError):
            found.append(f"no function {name}")
        if not re.search(rf"\b{re.escape(function)}\b", code(chapter).get(where, "")):
            found.append(f"{function} is not in the code of section {where}")
    return found + ([] if row["test"] == CELLS or defined(row["test"]) else [f"no test {row['test']}"])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['id']} in {row['section']}")
def test_a_row_is_true(row):
    assert not faults(row)


def test_every_entry_has_a_place_and_words():
    assert [row["id"] for row in LEDGER] == ENTRIES
    assert list(dict.fromkeys(row["id"] for row in ROWS)) == ENTRIES
    assert len({(row["id"], row["section"]) for row in ROWS}) == len(ROWS)
    assert all(len(row["words"]) > 20 and row["kind"] in ("equation", "claim", "figure", "question") for row in LEDGER)


def test_every_erratum_belongs_to_one_entry():
    numbers = [int(n) for row in LEDGER for n in re.findall(r"E(\d+)", row["errata"])]
    assert sorted(numbers) == sorted(ERRATA)


def test_what_a_chapter_claims_is_in_the_map():
    mapped = {(row["id"], row["section"].partition("#")[0]) for row in ROWS}
    chapters = [path.stem for path in (ROOT / "book").glob("[0-9][0-9]_*.ipynb")]
    missing = {(entry, chapter) for chapter in chapters for entry in claimed(chapter)} - mapped
    assert not missing, sorted(missing)


def test_the_page_is_made_from_the_tables():
    page = (ROOT / "book" / "source_map.md").read_text(encoding="utf-8")
    assert page == make_source_map.page(), "run: .venv/bin/python tools/make_source_map.py"


def test_tables_have_no_stray_cells():
    for name in ("ledger.tsv", "source_map.tsv"):
        with open(ROOT / "book" / name, encoding="utf-8", newline="") as file:
            assert {len(row) for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)} == {4}


def test_a_section_is_read_to_its_end():
    page = [("markdown", "# 4 · T\n\n## 4.1 · One"), ("code", "a()"), ("markdown", "### Part\n\nText."),
            ("code", "b()"), ("markdown", "Text.\n\n## 4.2 · Two"), ("code", "c()"), ("markdown", "## Summary"),
            ("code", "d()")]
    assert sections(page) == {"4.1": "a()\nb()\n", "4.2": "c()\n"}


@pytest.mark.parametrize(("change", "says"), [
    ({"id": "W19"}, "no entry"), ({"id": "X1"}, "no entry"), ({"section": "44_attention#4.1"}, "no chapter"),
    ({"section": "04_attention#4.99"}, "no section"), ({"section": "04_attention#4.10"}, "is not in the code of"),
    ({"function": "np.attention.attend@4.5"}, "no function"), ({"test": "tests/test_nothing.py::x"}, "no test"),
    ({"function": "np.attention.additive_attention_forward"}, "is not in the code of section 4.5"),
    ({"function": "np.softmax.softmax_forward@4.10"}, "is not in the code of section 4.10"),
    ({"test": "tests/test_mirror.py"}, "no test"), ({"test": "the chapter's cells::x"}, "no test"),
    ({"test": "tests/specs/softmax.py::the_future"}, "no test"),
    ({"section": "planned: chapter 4", "function": "", "test": ""}, "is written"),
    ({"section": "open: chapter 99", "function": "", "test": ""}, "is planned"),
    ({"section": "open: chapter 4"}, "of a chapter to come"),
])
def test_a_wrong_row_is_found(change, says):
    right = {"id": "W5", "section": "04_attention#4.5", "function": "np.softmax.softmax_forward",
             "test": "tests/specs/softmax.py::rows_sum_to_one"}
    assert not faults(right)
    assert any(says in fault for fault in faults(right | change)), faults(right | change)
