"""Write book/source_map.md: each equation and claim of the five notes in words, and where the book treats it.

The words are in book/ledger.tsv, the places in book/source_map.tsv. A place is a section, "04_attention#4.2", or
"planned: chapter 1" of a chapter to be written, or "open: chapter 5" of a written one that does not treat it yet. A
function stands in the code of that section, or of the one that is named: "np.norm.layer_norm_forward@6.2".
"""

import csv
from pathlib import Path

BOOK = Path(__file__).parents[1] / "book"
NOTES = {"W": "Wang, *Transformers*", "K": "Katsaros, *Transformers I*", "M": "MIT, chapter 9, *Transformers*",
         "P": "Pitas and Militsis, *Attention and Transformer Networks*", "T": "handwritten, *Transformer Model*"}
CELLS = "the chapter's cells"
HEAD = """# From the notes to the book

This is the ledger: every equation, claim and figure of the five lecture notes, {total} in all.
The words are ours, the letters mostly the note's.
Below each entry: the section that treats it, the function that computes it, and what proves it.
{standing}

A number such as W7 names the seventh entry of note W; the [bibliography](bibliography.md) says which notes these are.
E15 is entry 15 of the [errata](errata.ipynb).
"""


def table(name: str) -> list[dict]:
    with open(BOOK / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def rows() -> list[dict]:
    return table("source_map.tsv")


def ledger() -> list[dict]:
    return table("ledger.tsv")


def is_open(row: dict) -> bool:
    return row["section"].startswith(("planned", "open"))


def functions(row: dict) -> list[tuple[str, str]]:
    """Each function of a row, and the section in whose code it stands."""
    home = row["section"].partition("#")[2]
    parts = (name.partition("@") for name in row["function"].split(", ") if name)
    return [(name, section or home) for name, _, section in parts]


def line(row: dict) -> str:
    if is_open(row):
        word, _, chapter = row["section"].partition(": ")
        return f"- planned: {chapter}\n" if word == "planned" else f"- not yet in {chapter}\n"
    chapter, _, section = row["section"].partition("#")
    names = [f"`{name}`" + (f" (built in {where})" if where != section else "") for name, where in functions(row)]
    proof = "the cells of the section" if row["test"] == CELLS else broken(row["test"])
    return f"- [{section}]({chapter}.ipynb){' with ' * bool(names)}{', '.join(names)}; proof: {proof}\n"


def broken(test: str) -> str:
    """Where a narrow column may break it."""
    return test.replace("::", "::\u200b").replace("_", "_\u200b").replace("/", "/\u200b")


def entry(words: dict, places: list[dict]) -> str:
    word = "Errata" if "," in words["errata"] else "Erratum"
    errata = f" *[{word}](errata.ipynb) {words['errata']}.*" if words["errata"] else ""
    return f"\n**{words['id']}** · {words['words']}{errata}\n\n" + "".join(map(line, places))


def page() -> str:
    there = {row["id"] for row in rows() if not is_open(row)}
    waiting = len(ledger()) - len(there)
    standing = f"{len(there)} are treated; {waiting} wait for a chapter, and say so." if waiting else "All are treated."
    text = HEAD.format(total=len(ledger()), standing=standing)
    for letter, note in NOTES.items():
        text += f"\n## {letter} · {note}\n"
        text += "".join(entry(words, [row for row in rows() if row["id"] == words["id"]])
                        for words in ledger() if words["id"][0] == letter)
    return text


if __name__ == "__main__":
    (BOOK / "source_map.md").write_text(page(), encoding="utf-8", newline="\n")
