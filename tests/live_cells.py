"""Run each cell of chapters and problem sets in the browser, as `make live` made them, and say which reach their end.

    python tests/live_cells.py [--to FILE] [page…]     # such as 04_attention exercises/ex04_attention; default: all
    python tests/live_cells.py --answers [04 …]        # answer the problem sets there, each question rightly
    python tests/live_cells.py --times                 # how long a learner waits: two loads, a cell, a check

Prints a row of a table a page, and each cell that ended with an error or took longer than the limit. In Firefox with
BOOK_BROWSER=firefox.
"""

import argparse
import ast
import collections
import importlib
import inspect
import json
import re
import time
from pathlib import Path

from browser import browser, serve, visitor
from byhand.grade.sets import SETS, notebook_of, questions_of
from playwright.sync_api import TimeoutError as Late

HTML = Path(__file__).resolve().parents[1] / "_build" / "html"
LIMIT = 240  # seconds a cell
SLOW = Path(__file__).resolve().parents[1] / "_ext" / "live" / "slow.tsv"
BOOK = Path(__file__).resolve().parents[1] / "book"
IDLE = "!document.documentElement.classList.contains('live-busy')"


def pages(html):
    """The names of the pages that run something."""
    found = (p for p in sorted((html / "book").rglob("*.html")) if "_static/live/page.js" in p.read_text("utf-8"))
    return [p.relative_to(html / "book").with_suffix("").as_posix() for p in found]


def run_cell(page, cell, limit=LIMIT):
    """Press Run and wait: seconds, what the status says, what the cell shows besides bars of its loops."""
    start = time.perf_counter()
    cell.evaluate("cell => cell.querySelector('.live-run').click()")
    try:
        page.wait_for_function(IDLE, timeout=1000 * limit)
    except Late:
        page.evaluate("document.querySelector('.live-stop:not([hidden])').click()")
        page.wait_for_function(IDLE)
    say, error, text = cell.evaluate("""cell => [cell.querySelector('.live-bar .live-status').textContent,
        cell.querySelector('.live-error')?.textContent ?? "", [...cell.querySelector('.live-result').children].filter(
            (e) => !e.matches('.live-loops')).map((e) => e.textContent).join('')]""")
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


def answers(set_id):
    """For each question of a set its right answer as a learner would write it into its cell, with what that calls."""
    source = inspect.getsource(importlib.import_module(f"byhand.grade.reference.{SETS[set_id]}"))
    bound = {}
    for statement in ast.parse(source).body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            bound[statement.name] = statement
        elif isinstance(statement, (ast.Import, ast.ImportFrom, ast.Assign)):
            names = statement.names if not isinstance(statement, ast.Assign) else statement.targets
            bound |= {getattr(n, "asname", None) or getattr(n, "name", None) or n.id: statement for n in names}

    def with_what_it_calls(name, seen):
        seen.add(name)
        for node in ast.walk(bound[name]):
            if isinstance(node, ast.Name) and node.id in bound and node.id not in seen:
                with_what_it_calls(node.id, seen)
        return seen

    def text(name):
        kept = {id(bound[n]) for n in with_what_it_calls(name, set())}
        statements = list({id(s): s for s in bound.values() if id(s) in kept}.values())
        statements.sort(key=lambda s: s.lineno)
        return "\n\n".join(map(ast.unparse, statements))

    return {question.name: text(question.name) for question in questions_of(set_id)}


def cells_of(set_id):
    """Ids of a set's cells: by the name of each question's function the stub and `check`; that of `summary`."""
    notebook = json.loads((BOOK / "exercises" / notebook_of(set_id)).read_text(encoding="utf-8"))
    sources = {c["id"]: "".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"}

    def first(pattern):
        return next(id for id, source in sources.items() if re.search(pattern, source, re.M))

    names = [question.name for question in questions_of(set_id)]
    stubs = {name: (first(rf"^(def|class) {name}\b"), first(rf"^check\({name}\)")) for name in names}
    return stubs, first(r"^summary\(")


def page_of(set_id):
    return f"exercises/{Path(notebook_of(set_id)).stem}"


def write_answers(page, name, texts):
    """Put texts, by the id of their cell, where the page keeps what a learner has written, and open it again."""
    page.evaluate("([key, work]) => localStorage.setItem(key, JSON.stringify(work))", [f"byhand:{name}", texts])
    page.reload(wait_until="load")


def answer_set(page, set_id, limit=LIMIT):
    """What `check` says of each right answer of a set, in its page that is open, and what `summary` says in the end."""
    right, (stubs, last) = answers(set_id), cells_of(set_id)
    write_answers(page, page_of(set_id), {stub: right[question] for question, (stub, _) in stubs.items()})
    rows = []
    for question in questions_of(set_id):
        cell = page.locator(f'[data-live="{stubs[question.name][1]}"]')
        row = {"id": question.id, "name": question.name, "points": question.points,
               "needs": cell.get_attribute("data-needs")}
        rows.append(row if row["needs"] else row | run_cell(page, cell, limit))
    return rows, run_cell(page, page.locator(f'[data-live="{last}"]'), limit)["text"]


def has_full_marks(row):
    return not row["needs"] and f"{row['points']} / {row['points']} points" in row["text"]


def table_of_sets(told):
    """How many questions of each set can be answered in its page with full marks, and why not the others."""
    lines = ["| set | questions | full marks | not possible | the others | slowest check |", "|---" * 6 + "|"]
    for set_id, rows in told.items():
        needs = ", ".join(f"{row['id']} needs {row['needs']}" for row in rows if row["needs"])
        others = ", ".join(row["id"] for row in rows if not row["needs"] and not has_full_marks(row))
        slowest = max(row["seconds"] for row in rows if not row["needs"])
        full = sum(map(has_full_marks, rows))
        lines.append(f"| {set_id} | {len(rows)} | {full} | {needs} | {others} | {slowest:.0f} s |")
    return "\n".join(lines) + "\n"


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


def waits(chrome, site):
    """Seconds that a learner waits: for the first Run of a first and of a later visit, for a cell, for a check."""
    stub, asked = cells_of("04")[0]["attention"]
    with visitor(chrome, site) as page:
        page.goto(f"{site}/book/{page_of('04')}.html")
        found = {}
        for words in ("the first Run, which loads Python", "the first Run of a later visit"):
            write_answers(page, page_of("04"), {stub: answers("04")["attention"]})
            found[words] = run_cell(page, page.locator("[data-live].cell").first)["seconds"]
        run_cell(page, page.locator(f'[data-live="{stub}"]'))
        found["a cell that sets something up"] = run_cell(page, page.locator("[data-live].cell").nth(1))["seconds"]
        check = page.locator(f'[data-live="{asked}"]')
        found["the first check of a right answer"] = run_cell(page, check)["seconds"]
        found["the same check again"] = run_cell(page, check)["seconds"]
        return found


def note_slow(told, file=SLOW, least=8):
    """Note the cells of these pages that take long, in seconds of one digit: the page says it beside Run."""
    rows = [row.split("\t") for row in file.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row[0] not in told]
    for name, cells in told.items():
        slow = [(row["id"], row["seconds"]) for row in cells if not row["needs"] and row["seconds"] >= least]
        rows += [(name, id, f"{float(f'{seconds:.0e}'):.0f}") for id, seconds in slow]
    file.write_text("".join("\t".join(row) + "\n" for row in sorted(rows, key=lambda row: row[0])), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", help="such as 04_attention; default all")
    parser.add_argument("--html", type=Path, default=HTML, help="the built book")
    parser.add_argument("--answers", action="store_true", help="answer problem sets; those named, or 00 to 11")
    parser.add_argument("--times", action="store_true", help="how long a learner waits for the problem set of 4")
    parser.add_argument("--note", action="store_true", help=f"note in {SLOW.name} which cells take long")
    parser.add_argument("--to", type=Path, help="keep what each cell did, NAME.json, and a table, NAME.md")
    options = parser.parse_args()
    told = {}

    def keep(table_now):
        if options.to:
            options.to.with_suffix(".json").write_text(json.dumps(told, indent=1), encoding="utf-8")
            options.to.with_suffix(".md").write_text(table_now, encoding="utf-8")

    with serve(options.html) as site, browser() as opened:
        for set_id in (options.pages or list(SETS)[:12]) if options.answers else ():
            with visitor(opened, site) as page:
                page.goto(f"{site}/book/{page_of(set_id)}.html")
                told[set_id], said = answer_set(page, set_id)
                found = page.found
            print(table_of_sets({set_id: told[set_id]}).splitlines()[-1], flush=True)
            for row in told[set_id]:
                if not row["needs"] and not has_full_marks(row):
                    print(f"  {row['id']}: {row['status']} {row['error']} {row['text'][:600]}", flush=True)
            print(*(f"  {text}" for text in [*said.strip().splitlines()[-1:], *found]), sep="\n", flush=True)
            keep(table_of_sets(told))
        if options.times:
            told = waits(opened, site)
            lines = [f"| {words} | {seconds:.1f} |" for words, seconds in told.items()]
            keep("\n".join(["| in the page | seconds |", "|---|---|", *lines, ""]))
            print(*lines, sep="\n")
        if options.answers or options.times:
            return
        for name in options.pages or pages(options.html):
            told[name], found = run_page(opened, site, name)
            print(table({name: told[name]}).splitlines()[-1], flush=True)
            for row in told[name]:
                if not row["needs"] and not is_good(row):
                    print(f"  {row['id']}: {row['status']} {row['error'] or row['text'][:200]}", flush=True)
            print(*(f"  {text}" for text in found), sep="\n", end="\n" * bool(found), flush=True)
            keep(table(told))
            if options.note:
                note_slow(told)


if __name__ == "__main__":
    main()
