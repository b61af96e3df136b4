"""Write book/source_map.md from book/source_map.tsv: where each equation and claim of the five notes is treated."""

import csv
from pathlib import Path

BOOK = Path(__file__).parents[1] / "book"
NOTES = {"W": "Wang, *Transformers*", "K": "Katsaros, *Transformers I*", "M": "MIT, chapter 9, *Transformers*",
         "P": "Pitas and Militsis, *Attention and Transformer Networks*", "T": "handwritten, *Transformer Model*"}
HEAD = """# From the notes to the book

Here stands every equation, claim and figure of the five lecture notes that the written chapters treat.
Beside it are the section, the function that computes it, and the test or the cells that prove it.
A number such as W7 names the seventh entry of note W; a chapter lists its entries below its opening.
"""


def rows() -> list[dict]:
    with open(BOOK / "source_map.tsv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def line(row: dict) -> str:
    chapter, _, section = row["section"].partition("#")
    functions = ", ".join(f"`{name}`" for name in row["function"].split(", ") if name) or "–"
    test = row["test"].replace("::", "::\u200b").replace("_", "_\u200b")  # where a narrow column may break it
    return f"| {row['id']} | [{section}]({chapter}.ipynb) | {functions} | {test} |\n"


def page() -> str:
    text = HEAD
    for letter, note in NOTES.items():
        text += f"\n## {letter} · {note}\n\n| Entry | Section | Function | Proved by |\n|---|---|---|---|\n"
        text += "".join(line(row) for row in rows() if row["id"][0] == letter)
    return text


if __name__ == "__main__":
    (BOOK / "source_map.md").write_text(page(), encoding="utf-8")
