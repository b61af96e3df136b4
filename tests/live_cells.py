"""Run each cell of chapters and problem sets in the browser, as `make live` made them, and say which reach their end.

    python tests/live_cells.py [--to FILE] [page…]     # such as 04_attention exercises/ex04_attention; default: all

Prints a row of a table a page, and each cell that ended with an error or took longer than the limit. In Firefox with
BOOK_BROWSER=firefox.
"""

import argparse
import collections
import json
import time
from pathlib import Path

from browser import browser, serve, visitor
from playwright.sync_api import TimeoutError as Late

HTML = Path(__file__).resolve().parents[1] / "_build" / "html"
LIMIT = 240  # seconds a cell
IDLE = "!document.documentElement.classList.contains('live-busy')"


def pages(html):
    """The names of the pages that run something."""
    found = (p for p in sorted((html / "book").rglob("*.html")) if "_static/live/page.js" in p.read_text("utf-8"))
    return [p.relative_to(html / "book").with_suffix("").as_posix() for p in found]


def run_cell(page, cell, limit=LIMIT):
    """Press Run and wait: seconds, what the status says, what the cell shows."""
    start = time.perf_counter()
    cell.evaluate("cell => cell.querySelector('.live-run').click()")
    try:
        page.wait_for_function(IDLE, timeout=1000 * limit)
    except Late:
        page.evaluate("document.querySelector('.live-stop:not([hidden])').click()")
        page.wait_for_function(IDLE)
    say, error, text = cell.evaluate("""cell => [cell.querySelector('.live-bar .live-status').textContent,
        cell.querySelector('.live-error')?.textContent ?? "", cell.querySelector('.live-result').textContent]""")
    return {"seconds": round(time.perf_counter() - start, 2), "status": say, "error": error, "text": text}


def run_page(chrome, site, name, limit=LIMIT):
    """What each cell of a page did: {"id", "needs"} or what `run_cell` gives, with what the book has stored."""
    with visitor(chrome, site) as page:
        page.goto(f"{site}/book/{name}.html")
        rows = []
        for cell in page.locator("[data-live].cell").all():
            row = {"id": cell.get_attribute("data-live"), "needs": cell.get_attribute("data-needs")}
            if not row["needs"]:
                row |= run_cell(page, cell, limit)
                row["stored"] = cell.evaluate("""cell => [...cell.querySelectorAll(':scope > .cell_output, '
                    + ':scope > details .cell_output')].map(e => e.textContent).join('')""")
            rows.append(row)
        return rows, page.found


def table(told):
    """How many cells of each page run, and why the others do not, as Markdown."""
    lines = ["| page | cells | run | cannot | end with an error, or late | slowest |", "|---|---|---|---|---|---|"]
    for name, rows in told.items():
        ran = [row for row in rows if not row["needs"]]
        good = [row for row in ran if is_good(row)]
        needs = collections.Counter(row["needs"] for row in rows if row["needs"])
        needs = ", ".join(f"{n} {words}" for words, n in needs.items())
        slowest = max((row["seconds"] for row in ran), default=0)
        lines.append(f"| {name} | {len(rows)} | {len(good)} | {needs} | {len(ran) - len(good)} | {slowest:.0f} s |")
    return "\n".join(lines) + "\n"


def is_good(row):
    """Whether a cell came to its end, and said something where, and only where, the book has stored something."""
    said = bool(row["text"].strip()) == bool(row["stored"].strip())
    return row["status"].startswith("done") and not row["error"] and said


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", help="such as 04_attention; default all")
    parser.add_argument("--html", type=Path, default=HTML, help="the built book")
    parser.add_argument("--to", type=Path, help="keep what each cell did, NAME.json, and a table, NAME.md")
    options = parser.parse_args()
    told = {}
    with serve(options.html) as site, browser() as opened:
        for name in options.pages or pages(options.html):
            told[name], found = run_page(opened, site, name)
            print(table({name: told[name]}).splitlines()[-1], flush=True)
            for row in told[name]:
                if not row["needs"] and not is_good(row):
                    print(f"  {row['id']}: {row['status']} {row['error'] or row['text'][:200]}", flush=True)
            print(*(f"  {text}" for text in found), sep="\n", end="\n" * bool(found), flush=True)
            if options.to:
                options.to.with_suffix(".json").write_text(json.dumps(told, indent=1), encoding="utf-8")
                options.to.with_suffix(".md").write_text(table(told), encoding="utf-8")


if __name__ == "__main__":
    main()
