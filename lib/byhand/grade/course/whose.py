"""Whose a file is, from where it lies among the others: as Moodle and Canvas name it, or by folders, or by its name."""

import os.path
import re
import unicodedata
from typing import NamedTuple

from .incoming import suffix_of
from .roster import plain

MOODLE = re.compile(r"[^/]+_(?P<id>\d+)_assignsubmission_file_?")  # a folder: Ann Example_1234_assignsubmission_file_
FLAT = re.compile(r"[^/]+?_(?P<id>\d+)_assignsubmission_file_?(?=[^/]+$)")  # before the name that a student has given
CANVAS = re.compile(  # Canvas: exampleann_1234_5678_lab.ipynb
    r"^(?P<name>[a-z0-9-]+?)_(?P<late>LATE_)?(?P<id>\d+)_(?P<file>\d{1,18})_")
COPY = re.compile(  # ex04 (1), ex04-Copy1, ex04 - Kopie, ex04_v2, ex04-1
    r"(?:\s*\((\d{1,4})\)|[-_ ]+(?:copy|kopie|copie|copia|kopia)[-_ ]*(\d{0,4})|[-_ ]+v?(\d{1,4}))$", re.IGNORECASE)
COPY_OF = re.compile(r"^(?:copy of|kopie von|copie de|copia de)\s+(?=\S)", re.IGNORECASE)  # as Colab writes it

LONG = 256  # letters: no file system has names as long, and a search for marks in them takes its time


class Owner(NamedTuple):
    student: str  # "" if the name of the file names nobody
    platform: bool = False  # is it a platform that says so?
    late: bool = False
    number: int = 0  # Canvas numbers files as they come in
    others: tuple[str, ...] = ()  # who handed it in as well


def base_of(name: str) -> tuple[str, int]:
    """The name of a file without its folder, its end and the mark of a copy; the number of the copy."""
    stem, copy = _stem(name.rsplit("/", 1)[-1]), 0
    while len(stem) < LONG and (found := COPY.search(stem, 1)):
        stem, copy = stem[:found.start()], copy or int(next((x for x in found.groups() if x), 1))
    while found := COPY_OF.match(stem):
        stem, copy = stem[found.end():], copy + 1
    return stem.lower(), copy


def owners(names: list[str], roster=(), given: str = "", told=None) -> list[Owner]:
    """Whose each file is. The folders that all share say nothing; the first step of a path that differs is a student's,
    unless a platform's names or those of the roster stand at another step. What students call a file inside their own
    folder never makes it another's. `given` is what the notebook is called that was given out; `told` says by
    folder whose it is, where a table beside the folders does.

    Raises ValueError where this cannot be told: where all would be one student's, or each folder a group's.
    """
    steps = [name.split("/") for name in names]
    notebooks = [s for s in steps if suffix_of(s[-1]) == ".ipynb" and _named(_stem(s[-1]))] or steps  # no helper files
    if not steps:
        return []
    if told:
        return [Owner(told[folder][0], True, others=tuple(told[folder][1:])) if (folder := folder_of(name, told)) else
                _owner(s, next(iter(told)).count("/")) for name, s in zip(names, steps, strict=True)]
    depth, sure = _depth(notebooks, {plain(name) for name in roster}, given)
    found = [_owner(s, depth) for s in steps]
    if not sure:
        _refuse_one(notebooks, depth)
        _refuse_groups(notebooks, depth)
    return found


def folder_of(name: str, told) -> str:
    """That one of the folders in which a file lies; "" for none."""
    return next((name[:i] for i, c in enumerate(name) if c == "/" and name[:i] in told), "")


def beside(names: list[str], name: str) -> bool:
    """Does this file lie above all notebooks, as what helps all of them does?"""
    depths = [other.count("/") for other in names if suffix_of(other) == ".ipynb"]
    return bool(depths) and suffix_of(name) != ".ipynb" and name.count("/") < min(depths)


def _depth(notebooks, roster, given) -> tuple[int, bool]:
    """The step that names the student, and whether a platform or the roster says so."""
    first = len(os.path.commonprefix([s[:-1] for s in notebooks]))
    every = range(max(map(len, notebooks)))
    for depth in every:
        if all(_owner(s, depth).platform for s in notebooks):
            return depth, True
    known = {k: [who for s in notebooks if (who := plain(_owner(s, k).student)) in roster] for k in every}
    most = max(every, key=lambda k: (len(set(known[k])), k == first, -k))
    if len(set(known[most])) > len(set(known[first])) and 2 * len(known[most]) >= len(notebooks):
        return most, most > first  # one name for all may be that of the whole class
    if first and len(notebooks) == 1 and given and base_of(notebooks[0][-1])[0].startswith(given.lower()):
        return first - 1, True  # one file, called as it was given out: its folder is a student's
    return first, bool(known[first])


def _owner(steps, depth) -> Owner:
    """Of a file whose path is too short for that depth, its own name says it."""
    step = steps[min(depth, len(steps) - 1)]
    if depth < len(steps) - 1:
        if moodle := MOODLE.fullmatch(step):
            return Owner(moodle["id"], True)
        return Owner(_named(step))
    if moodle := FLAT.match(step):
        return Owner(moodle["id"], True)
    if canvas := CANVAS.match(step):
        return Owner(canvas["id"], True, bool(canvas["late"]), int(canvas["file"]))
    return Owner(_named(_stem(step)))


def _stem(step: str) -> str:
    return step[:len(step) - len(suffix_of(step))]


def _named(text: str) -> str:
    """A name, if there is something to be read in it."""
    return text.strip() if any(unicodedata.category(c)[0] in "LNS" for c in text) else ""


def _refuse_one(notebooks, depth) -> None:
    """All on one name, with files that are no copies of one another: a class, and no student."""
    who, bases = {plain(_owner(s, depth).student) for s in notebooks}, {base_of(s[-1])[0] for s in notebooks}
    if len(who) == 1 and who != {""} and len(bases) > 1:
        raise ValueError(f"collect: all {len(notebooks)} files would be of one student, "
                         f"{_owner(notebooks[0], depth).student}; name each file after its student, or put it into a "
                         "folder of that name")


def _refuse_groups(notebooks, depth) -> None:
    """Folders that hold different names, most of which would not count: groups, and no students. What is called the
    same in several folders is a task."""
    inside, alone, several = {}, set(), {}
    for s in notebooks:
        who = _owner(s, depth)
        if len(s) > depth + 1 and not who.platform:
            step = s[depth + 1] if len(s) > depth + 2 else base_of(s[-1])[0]
            inside.setdefault(who.student, {})[plain(step)] = step
            if (below := _owner(s, depth + 1)).platform:
                several.setdefault(who.student, {})[below.student] = step
        else:
            alone.add(who.student)
    listed = [name for names in inside.values() for name in names]
    lost = {who: [names[x] for x in names if listed.count(x) == 1] for who, names in inside.items()}
    several = {who: list(names.values()) for who, names in several.items() if len(names) > 1}  # as a platform says
    if several or sum(max(0, len(x) - 1) for x in lost.values()) >= len(alone | inside.keys()):
        who, names = max((several or lost).items(), key=lambda x: len(x[1]))
        raise ValueError(f"collect: the folder {who} holds {', '.join(sorted(names)[:4])}: one student, or several? "
                         "With --roster the names of the class say it; or collect each folder alone")
