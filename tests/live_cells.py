"""Run each cell of chapters and problem sets in the browser, as `make live` made them, and say which reach their end.

    python tests/live_cells.py [page…]      # such as 04_attention exercises/04_attention; default: all of them

Prints a line a page, then each cell that ended with an error or took longer than the limit.
"""

import collections
import json
import sys
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


def main():
    html = Path(sys.argv.pop(1).partition("=")[2]) if sys.argv[1:2] and sys.argv[1].startswith("--html=") else HTML
    told, kept = [], {}
    with serve(html) as site, browser() as chrome:
        for name in sys.argv[1:] or pages(html):
            rows, found = run_page(chrome, site, name)
            kept[name] = rows
            needs = collections.Counter(row["needs"] for row in rows if row["needs"])
            ran = [row for row in rows if not row["needs"]]
            good = [row for row in ran if row["status"].startswith("done") and not row["error"]]
            slow = max((row["seconds"] for row in ran), default=0)
            print(f"{name:30} {len(good):3} of {len(rows):3} cells run; " + ", ".join(
                f"{n} need {words}" for words, n in needs.items()) + f"; the slowest {slow:.0f} s", flush=True)
            told += [f"{name} {row['id']}: {row['status']} {row['error']}" for row in ran if row not in good] + found
    print("\n".join(told))
    if len(sys.argv) == 1:
        (html.parent / "live_cells.json").write_text(json.dumps(kept, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
