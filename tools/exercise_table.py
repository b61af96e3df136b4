"""Print the list that opens a problem set: its parts, and for each question what it asks and where it belongs.

With --write, put it into the notebook in the place of the old one.

    python tools/exercise_table.py 04
    python tools/exercise_table.py 04 --write
"""

import argparse
import json
import re
import sys
from pathlib import Path

from byhand.grade.sets import SETS, notebook_of, questions_of

BOOK = Path(__file__).parents[1] / "book"


def table(set_id):
    """The parts of a set and their questions as a list: a table would not fit on a phone."""
    questions, lines = questions_of(set_id), []
    for part in sorted({q.part for q in questions}):
        inside = [q for q in questions if q.part == part]
        points = sum(q.points for q in inside)
        lines += ["", f"**Part {part}**, {sum(q.minutes for q in inside)} minutes, {points} points", ""]
        lines += [f"- **{q.id}** {q.title}: {doing(q)}, {q.minutes} minutes (section {q.section})" for q in inside]
    return "\n".join(lines[1:])


def doing(question):
    return question.kind + (", PyTorch" if question.torch else "")


def heading(question):
    """The line below a question's title in the notebook."""
    unit = "point" if question.points == 1 else "points"
    return f"*{question.points} {unit}, about {question.minutes} minutes · {doing(question)}*"


def in_place(source, new):
    """The text of a cell with its list of parts replaced; None if it has none."""
    old = re.compile(r"\*\*Part 1\*\*,.*?(?=\n\n(?!- |\*\*Part)|\Z)", re.DOTALL)
    return old.sub(lambda _: new, source, count=1) if old.search(source) else None


def write(set_id):
    path = BOOK / "exercises" / notebook_of(set_id)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        changed = in_place("".join(cell["source"]), table(set_id)) if cell["cell_type"] == "markdown" else None
        if changed:
            cell["source"] = changed.splitlines(keepends=True)
            path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")
            return
    raise SystemExit(f"{path.name} has no list of parts")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=SETS)
    parser.add_argument("--write", action="store_true", help="put the list into the notebook")
    args = parser.parse_args(argv)
    if args.write:
        write(args.set)
    else:
        print(table(args.set))
    return 0


if __name__ == "__main__":
    sys.exit(main())
