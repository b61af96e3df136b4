"""Print the table that opens a problem set: its parts, and for each question where it belongs and what it asks.

    python tools/exercise_table.py 04
"""

import argparse
import sys

from byhand.grade.sets import SETS, questions_of


def table(set_id):
    questions = questions_of(set_id)
    lines = ["| Part | Exercise | With section | What you do | Minutes | Points |", "|---|---|---|---|---|---|"]
    for part in sorted({q.part for q in questions}):
        inside = [q for q in questions if q.part == part]
        for i, q in enumerate(inside):
            first = f"{part} · {sum(q.minutes for q in inside)} min" if i == 0 else ""
            lines.append(f"| {first} | {q.id} {q.title} | {q.section} | {doing(q)} | {q.minutes} | {q.points} |")
    return "\n".join(lines)


def doing(question):
    return question.kind + (", PyTorch" if question.torch else "")


def heading(question):
    """The line below a question's title in the notebook."""
    unit = "point" if question.points == 1 else "points"
    return f"*{question.points} {unit}, about {question.minutes} minutes · {doing(question)}*"


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=SETS)
    print(table(parser.parse_args(argv).set))
    return 0


if __name__ == "__main__":
    sys.exit(main())
