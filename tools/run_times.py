"""The table in book/times.md: what each notebook costs to run, noted by run_notebooks.py.

A number is seconds of a core, spent by the kernel and by the processes that it started; rounded, and written anew only
where it differs a lot from what stands there, so that a rerun leaves the page as it is. It is not touched on another
kind of machine than the page names: who wants to measure there changes the name first.
"""

import os
import platform
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "book" / "times.md"
MACHINE = re.compile(r"(?m)^Machine: (.+)\.$")
ROW = re.compile(r"\]\(([\w/]+)\.ipynb\) \| (\d+|—)(?= \|)")
LOT = 0.4  # of what stands there


def machine():
    """The kind of processor: the words before the first that has a digit, such as AMD EPYC."""
    try:
        name = re.search(r"(?m)^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"))[1]
    except (OSError, TypeError):
        name = platform.processor() or platform.machine()
    words = re.sub(r"\((R|TM)\)", "", name).split()
    return " ".join(words[: next((k for k, word in enumerate(words) if re.search(r"\d", word)), len(words))]) or name


def spent():
    """Seconds of a core that the processes which this one has started, and which have ended, have spent."""
    times = os.times()
    return times.children_user + times.children_system


def rounded(seconds):
    step = 1 if seconds < 10 else 5 if seconds < 100 else 10
    return max(1, step * round(seconds / step))


def noted(page, name, seconds, here):
    """The text of the page after notebook `name`, such as exercises/ex04_attention, took so long on machine `here`."""
    row = next((row for row in ROW.finditer(page) if row[1] == name), None)
    if row is None or MACHINE.search(page)[1] != here:
        return page
    if row[2] != "—" and abs(seconds - int(row[2])) <= max(2, LOT * int(row[2])):
        return page
    return f"{page[: row.start(2)]}{rounded(seconds)}{page[row.end(2) :]}"


def note(path, seconds, page=PAGE):
    """Note what a notebook of the book took; of one elsewhere nothing is noted."""
    path = Path(path).resolve()
    if not path.is_relative_to(page.parent):
        return
    old = page.read_text(encoding="utf-8")
    new = noted(old, path.relative_to(page.parent).with_suffix("").as_posix(), seconds, machine())
    if new != old:
        part = page.with_name(page.name + ".part")
        part.write_text(new, encoding="utf-8", newline="\n")
        os.replace(part, page)
