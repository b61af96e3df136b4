"""Write the headings of the chapters' sections, so that a message of `check` can link to the one it names.

    python tools/make_headings.py           write lib/byhand/grade/headings.py
    python tools/make_headings.py --check   write nothing, fail if a letter would change
"""

import argparse
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "lib" / "byhand" / "grade" / "headings.py"

GO_ON = ("workshop", "runs")  # pages that go on with chapters 0 and 11


def headings(book=ROOT / "book"):
    """By number: the notebook of the chapter, the heading, and the id of its cell."""
    found = {}
    for path in [*sorted(book.glob("[0-9][0-9]_*.ipynb")), *(p for name in GO_ON for p in book.glob(f"{name}.ipynb"))]:
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "markdown":
                for heading, number in re.findall(r"^## ((\d+\.\d+) · .*\S)", "".join(cell["source"]), re.MULTILINE):
                    found[number] = (path.name, heading, cell["id"])
    return found


def text(found):
    lines = "".join(
        f'    "{number}": ("{file}", {json.dumps(heading, ensure_ascii=False)}, "{cell}"),\n'
        for number, (file, heading, cell) in found.items())
    return f'"""The sections of the chapters; tools/make_headings.py writes this file."""\n\nHEADINGS = {{\n{lines}}}\n'


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a letter would change")
    args = parser.parse_args(argv)
    new = text(headings())
    fresh = FILE.exists() and FILE.read_text(encoding="utf-8") == new
    if not fresh and not args.check:
        FILE.write_text(new, encoding="utf-8", newline="\n")
    print(f"{FILE.relative_to(ROOT)}: {'fresh' if fresh else 'stale' if args.check else 'written'}")
    return int(args.check and not fresh)


if __name__ == "__main__":
    sys.exit(main())
