"""The page of errata: each of the 74 says what a note has and what is right, and a number shows it; the mutants agree.

An entry is three lines of Markdown, `**E15** · error · [4.3](04_attention.ipynb)`, `- *Says* …`, `- *Right:* …`, and a
line of output that begins with E15 before the next title.
"""

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from mutants import ERRATA

BOOK = Path(__file__).parents[1] / "book"
CELLS = json.loads((BOOK / "errata.ipynb").read_text(encoding="utf-8"))["cells"]
KINDS = {"error", "unclear", "contested", "no error"}
ENTRY = re.compile(r"^\*\*E(\d+)\*\*(†?) · ([^·\n]+) · ([^\n]+)\n\n"
                   r"- \*Says(?:\*|:\*)(.*)\n- \*Right:\*(.*)$", re.MULTILINE)


class Entry(NamedTuple):
    number: int
    dagger: str
    kind: str
    where: str
    says: str
    right: str
    shown: bool  # by a line of output of the same group


def source(cell) -> str:
    return "".join(cell["source"])


def printed(cell) -> list[str]:
    return [line for out in cell["outputs"] for line in "".join(out.get("text", [])).splitlines()]


def groups(cells) -> list[list]:
    """The cells below each title."""
    found = [[]]
    for cell in cells:
        if cell["cell_type"] == "markdown" and re.search(r"^##", source(cell), re.MULTILINE):
            found.append([])
        found[-1].append(cell)
    return found


def entries(cells) -> list[Entry]:
    found = []
    for group in groups(cells):
        lines = [line for cell in group if cell["cell_type"] == "code" for line in printed(cell)]
        shown = {int(n[1]) for n in (re.match(r"E(\d+) .*\S", line) for line in lines) if n}
        text = "\n\n".join(source(cell) for cell in group if cell["cell_type"] == "markdown")
        found += [Entry(int(n), *rest, int(n) in shown) for n, *rest in ENTRY.findall(text)]
    return found


def titles(chapter: str) -> str:
    cells = json.loads((BOOK / f"{chapter}.ipynb").read_text(encoding="utf-8"))["cells"]
    return "\n".join(source(cell) for cell in cells if cell["cell_type"] == "markdown")


def faults(cells) -> list[str]:
    """What is missing or wrong on the page."""
    found, there = [], entries(cells)
    numbers = sorted(entry.number for entry in there)
    if numbers != list(range(1, 75)):
        found.append(f"the entries are not 1 to 74: {sorted(set(numbers) ^ set(range(1, 75)))}")
    for entry in there:
        name = f"E{entry.number}"
        found += [f"{name}: {entry.kind!r} is no kind"] if entry.kind not in KINDS else []
        found += [] if entry.shown else [f"{name}: no number is printed for it"]
        found += [f"{name}: too short"] if min(len(entry.says.strip()), len(entry.right.strip())) < 6 else []
        longest = max([len(q.split()) for q in re.findall(r'"([^"]+)"', entry.says)], default=0)
        found += [f"{name}: a quotation of {longest} words"] if longest > 20 else []
        sections = re.findall(r"\[(\d+\.\d+)\]\((\w+)\.ipynb\)", entry.where)
        found += [f"{name}: no section {section} in {chapter}" for section, chapter in sections
                  if not re.search(rf"(?m)^#+ {re.escape(section)} · ", titles(chapter))]
        planned = re.findall(r"planned: chapter (\d+)", entry.where)
        found += [f"{name}: says that chapter {n} is planned, which is written" for n in planned
                  if list(BOOK.glob(f"{int(n):02}_*.ipynb"))]
        found += [f"{name}: names no section"] if not sections and not planned else []
    table = dict(re.findall(r"(?m)^\| ([a-z ]+) \| [^|]+ \| (\d+) \|$", source(cells[0])))
    counts = {kind: str(sum(entry.kind == kind for entry in there)) for kind in KINDS}
    return found + ([f"the table counts {table}, there are {counts}"] if table != counts else [])


def test_every_erratum_is_there_with_statement_and_number():
    assert faults(CELLS) == []


@pytest.mark.parametrize(("old", "new", "says"), [
    ("**E15** · error", "**E75** · error", "not 1 to 74: [15, 75]"), ("**E15** · error", "**E15** · odd", "is no kind"),
    ("E44  d_m", "F44  d_m", "E44: no number"), ("E44  d_m", "E43  d_m", "E44: no number"),
    ("- *Right:* 10000.", "- *Wrong:* 10000.", "[42]"), ("- *Right:* 10000.", "- *Right:* 1.", "E42: too short"),
    ("[4.3](04_attention", "[4.99](04_attention", "no section 4.99"), ("| 33 |", "| 32 |", "the table counts"),
    ("[16.4](16_flash.ipynb)", "planned: chapter 4", "chapter 4 is planned"),
])
def test_a_fault_of_the_page_is_found(old, new, says):
    wrong = json.loads(json.dumps(CELLS))
    for cell in wrong:
        cell["source"] = source(cell).replace(old, new)
        cell["outputs"] = [{"text": "\n".join(printed(cell)).replace(old, new)}] if "outputs" in cell else []
    assert any(says in fault for fault in faults(wrong)), faults(wrong)


def mapped_wrongly(table, there) -> list[int]:
    """Errata of the mutants' table that the page does not have, or of which nothing could be computed."""
    kinds = {entry.number: entry.kind for entry in there}
    code = {n for n, what in table.items() if isinstance(what, list)}
    return sorted((table.keys() ^ kinds.keys()) | {n for n in code if kinds.get(n) in ("no error", "contested")})


def test_the_mutants_and_the_page_have_the_same_errata():
    there = entries(CELLS)
    assert mapped_wrongly(ERRATA, there) == []
    assert mapped_wrongly({**ERRATA, 75: "a name"}, there) == [75]
    assert mapped_wrongly({n: ERRATA[n] for n in ERRATA if n != 3}, there) == [3]
    assert mapped_wrongly({**ERRATA, 12: ["np.attention: additive: product for sum"]}, there) == [12]
    said = re.search(r"For (\d+) of the entries there is a wrong version", "\n".join(map(source, CELLS)))
    assert int(said[1]) == sum(isinstance(what, list) for what in ERRATA.values())
