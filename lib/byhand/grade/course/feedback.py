"""One page a student, whole in one file: points, messages, pictures, and of public cases alone what was expected.

What a submission said is text, never markup; the page has no script, asks for nothing, and says so to the browser.
"""

import html
import os
import re
import unicodedata
from pathlib import Path

from ..headings import HEADINGS
from .drawing import drawn
from .inert import inert
from .store import earned
from .style import STYLE

RAISED = re.compile(r"\s*in (\w+), line (\d+):  (.*)")
SECTION = re.compile(r"(.*)  -> section (\d+\.\d+)")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
STANDING = {  # what a student reads where there is no number
    "unreadable": "Your file could not be read, so there is no grade yet.",
    "error": "Something went wrong on our side, so there is no grade yet. Your instructor has been told.",
}
ABSENT = {"missing": "no function of its name in the file", "not attempted": "still as it was given out"}


def said(text: str) -> str:
    """Text from anywhere as HTML: no markup, and no character that hides or turns round what stands beside it."""
    return html.escape(inert(text))


def address(book: str) -> str:
    """The place of the built book, to which links are made: of the web, or a path. Raises ValueError for another."""
    if re.match(r"(?!https?://)[A-Za-z][\w+.-]*:", book):
        raise ValueError(f"feedback: the book is at {book!r}, expected an address that begins with http or a path")
    return book if not book or book.endswith("/") else book + "/"


def built_book(folder: str | Path) -> str:
    """The way from a folder to the book that was built in this checkout; "" where there is none."""
    book = Path(__file__).resolve().parents[4] / "_build" / "html" / "book"
    return os.path.relpath(book, folder) if (book / "index.html").is_file() else ""


def section(number: str, book: str) -> str:
    """The section that a message names: as a link where it is known where the book is."""
    file, heading, _ = HEADINGS.get(number, ("", "", ""))
    words = f"Read again: section {said(heading or number)}"
    if not file or not book:
        return f'<p class="read">{words}</p>'
    anchor = unicodedata.normalize("NFKD", heading).encode("ascii", "ignore").decode().lower()
    anchor = re.sub(r"^[-0-9]+|-+$", "", re.sub(r"[^a-z0-9]+", "-", anchor))  # as the book names its headings
    page = file.removesuffix(".ipynb")
    return f'<p class="read"><a href="{html.escape(book)}{page}.html#{anchor}" rel="noreferrer">{words}</a></p>'


def own_lines(name: str, number: int, text: str, cells) -> str:
    """The learner's line with its neighbours, if some cell has this text there, inside or outside of a function."""
    for cell in cells:
        lines = cell.splitlines()
        if 1 <= number <= len(lines) and lines[number - 1].strip() == text.strip() and (
                name not in cell or re.search(rf"\b{name}\b", cell)):
            around = range(max(0, number - 3), min(len(lines), number + 2))
            rows = "\n".join(
                f"<mark>{i + 1:4}  {said(lines[i])}</mark>" if i == number - 1 else f"{i + 1:4}  {said(lines[i])}"
                for i in around)
            return f'<pre class="code" tabindex="0" aria-label="line {number} of your cell">{rows}</pre>'
    return ""


def _case(mark, name, about, lines, pictures, cells, book):
    """One case: its label, what is said of it, and what there is to be seen."""
    out, plain = [], []

    def flush():
        if plain:
            numbers = all(x.startswith(("yours  ", "expected  ")) for x in plain)
            out.append(f'<pre tabindex="0">{said(chr(10).join(plain))}</pre>' if numbers else
                       "".join(f"<p>{said(x)}</p>" for x in plain))
            plain.clear()

    for line in lines:
        line = line.strip()
        numbers = line.startswith(("yours  ", "expected  "))
        if plain and numbers != plain[0].startswith(("yours  ", "expected  ")):
            flush()
        if known := SECTION.fullmatch(line):
            flush()
            out.append(f'<div class="mistake"><p>{said(known[1])}</p>{section(known[2], book)}</div>')
        elif raised := RAISED.fullmatch(line):
            flush()
            code = own_lines(raised[1], int(raised[2]), raised[3], cells)
            out.append(f"<p>{said(line if not code else f'in {raised[1]}, line {raised[2]} of its cell:')}</p>{code}")
        else:
            plain.append(line)
    flush()
    out += [drawn(p) for p in pictures if p["case"] == name]
    kind = {"ok": "ok", "FAIL": "fail"}.get(mark, "skip")
    word = {"ok": "ok", "FAIL": "wrong"}.get(mark, "not run")
    return (f'<li class="{kind}"><div class="case"><b class="label">{word}</b><span class="name">{said(name)}</span> '
            f'<span class="about">{said(about)}</span></div>{"".join(out)}</li>')


def _cases(text, pictures, cells, book):
    """The lines of a report as a list; what stands before the first case is a sentence of its own."""
    items, first = [], []
    for line in text.splitlines()[1:]:
        if found := re.fullmatch(r"  (ok  |FAIL)  (.*)", line):
            name, _, about = (found[2] + "  ").partition("  ")
            items.append([found[1].strip(), name.strip(), about.strip(), []])
        elif found := re.fullmatch(r"  not run: (.*) \(fix '(.*)' first\)", line):
            about = f"mend “{found[2]}” first"
            if items and items[-1][0] == "not run" and items[-1][2] == about:
                items[-1][1] += f", {found[1]}"
            else:
                items.append(["not run", found[1], about, []])
        elif items:
            items[-1][3].append(line)
        else:
            first.append(line.strip())
    listed = "".join(_case(*item, pictures, cells, book) for item in items)
    return "".join(f"<p>{said(x)}</p>" for x in first) + (f'<ul class="cases">{listed}</ul>' if listed else "")


def _question(p, title, pictures, cells, book):
    mine, most = earned(p), p["max_points"]
    by = '<span class="by">given by your instructor</span>' if p["given"] is not None else ""
    text = p["text"]
    inside = _cases(text, pictures, cells, book) or f"<p>{said(text)}</p>"
    full = mine == most
    if full and by == "":
        inside = f"<details><summary>What was tried</summary>{inside}</details>"
    kind = "full" if full else "none" if mine == 0 else "part"
    return (f'<section id="q{said(p["question"])}"><h2><span class="id">{said(p["question"])}</span> {said(title)}'
            f'<span class="points {kind}">{mine:g} of {most:g}</span></h2>{by}{inside}</section>')


RAN = {"container": "Your code was run in a container. ", "process": "Your code was run in a process of its own. ",
       "sandbox": "Your code was run in a sandbox. "}


def page(row, points, questions, title: str, pictures=None, cells=(), book: str = "", name: str = "") -> str:
    """HTML of one student's grade.

    `pictures` are by question, as `Store.pictures` has them; `cells` the code of the submission, to show the line that
    raised; `book` is where the built book is, "" for none; `name` is what the student is called.
    """
    titles, pictures, book = {q.id: q.title for q in questions}, pictures or {}, address(book)
    who = f"{name} ({row.student})" if name else row.student
    order = [q.id for q in questions]
    points = sorted(points, key=lambda p: order.index(p["question"]) if p["question"] in order else len(order))
    lines = []
    for p in points:
        mine, most = earned(p), p["max_points"]
        by = "*" if p["given"] is not None else ""
        share = 100 * mine / most if most else 0
        lines.append(f'<tr><td><a href="#q{said(p["question"])}">{said(p["question"])}</a></td>'
                     f'<td>{said(titles.get(p["question"], ""))}</td><td class="bar" aria-hidden="true"><i>'
                     f'<b style="width:{share:.0f}%"></b></i></td><td>{mine:g} of {most:g}{by}</td></tr>')
    if row.points is not None:
        share = 100 * row.points / row.max_points if row.max_points else 0
        total = (f'<p class="total"><b>{row.points:g}</b> of {row.max_points:g} points</p>'
                 f'<div class="meter" aria-hidden="true"><b style="width:{share:.0f}%"></b></div>')
    else:
        total = f'<p class="total">{said(STANDING.get(row.status, row.status))}</p>'
    note = f'<p class="note">{said(row.note)}</p>' if row.note else ""
    given = any(p["given"] is not None for p in points)
    table = "" if not lines else (
        '<table><thead><tr><th scope="col">No.</th><th scope="col">Title</th><td class="bar"></td>'
        f'<th scope="col">Points</th></tr></thead><tbody>{chr(10).join(lines)}</tbody></table>'
        + ("<p class='star'>* given by your instructor</p>" if given else ""))
    rest = [p for p in points if p["status"] in ("missing", "not attempted") and p["given"] is None]
    parts = "\n".join(_question(p, titles.get(p["question"], ""), pictures.get(p["question"], ()), cells, book)
                      for p in points if p not in rest)
    if rest:
        listed = "".join(f'<li id="q{said(p["question"])}"><span class="id">{said(p["question"])}</span> '
                         f'{said(titles.get(p["question"], ""))}: {ABSENT[p["status"]]}</li>' for p in rest)
        parts += f'<section><h2>Not attempted</h2><ul class="rest">{listed}</ul></section>'
    return f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">
<title>{said(title)} · {said(who)}</title><style>{STYLE}</style></head>
<body><main>
<header><p class="course">Transformers by Hand</p><h1>{said(title)}</h1><p class="who">{said(who)}</p>
{total}{note}</header>
{table}
{parts}
<footer>{RAN.get(row.tier, "")}Cases that are marked “ok” or “wrong” without numbers are hidden ones: they try the
same with other numbers and sizes. A question about a grade? Name its number to your instructor.</footer>
</main></body>
</html>
"""
