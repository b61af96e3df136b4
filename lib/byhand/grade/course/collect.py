"""What was handed in, from a folder, a zip of a platform, or single files: copied by content, never unpacked."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from . import gradescope, incoming, whose
from .incoming import SUFFIXES, suffix_of
from .roster import names_of, plain, roster_of
from .spoilt import fault, sentence
from .submission import parsed, read

__all__ = ["Collected", "collect", "look", "names_of", "roster_of"]
FEW = 10  # lines of one kind


@dataclass
class Collected:
    kept: list[str] = field(default_factory=list)  # students whose submission is new
    known: list[str] = field(default_factory=list)  # handed in before, the same
    strangers: list[str] = field(default_factory=list)  # not on the roster
    refused: list[str] = field(default_factory=list)  # file: why
    missing: list[str] = field(default_factory=list)  # on the roster, nothing handed in
    late: list[str] = field(default_factory=list)  # the platform says so
    unreadable: list[str] = field(default_factory=list)  # student: why; of the file that counts
    spoilt: list[str] = field(default_factory=list)  # student: one that cannot be read does not count, another does
    without: list[str] = field(default_factory=list)  # student: file; it counts, and answers no question of the set
    alike: list[list[str]] = field(default_factory=list)  # students whose files are the same, to the byte
    near: list[list[str]] = field(default_factory=list)  # students whose names differ by case, spaces or signs alone
    several: dict[str, list[str]] = field(default_factory=dict)  # files of a student, the last of which counts
    passed: dict[str, list[str]] = field(default_factory=dict)  # by the reason, files that are no submissions


class Taken(NamedTuple):
    """A file of a student, as far as the choice of the one that counts needs it."""

    name: str
    sha: str
    when: tuple[int, ...]
    number: int  # as Canvas counts
    answers: bool  # does it define a function of the set?
    why: str  # it cannot be read
    fault: str  # and so nothing in it answers: the same, or of a cell


def look(source: str | Path, roster=(), given: str = "") -> int:
    """How many files there are to be taken. Raises ValueError where there are none, and where they do not say whose
    they are."""
    source = Path(source)
    if not source.exists():
        raise ValueError(f"collect: there is no {source}; name the folder, the zip or the file that students handed in")
    if not source.is_dir() and (suffix_of(source.name) not in (".zip", *SUFFIXES) or not source.is_file()):
        raise ValueError(f"collect: {source} is no folder, no .zip, no notebook (.ipynb) and no .py; unpack it first")
    with incoming.opened(source) as (files, left):
        _owners(files, left, roster, given)
        if not files and not left.refused:
            raise ValueError("\n".join([
                f"collect: {source} has no notebook (.ipynb) and no Python file (.py); is it the right one? "
                "A zip inside a zip must be unpacked first", *lines_of(left.passed)]))
        return len(files) + len(left.refused)


def lines_of(passed: dict[str, list[str]]) -> list[str]:
    """What was passed over, as lines; of many with one reason the first ones."""
    return [line for why, names in passed.items() for line in (
        *(f"  passed over: {name}: {why}" for name in names[:FEW]),
        *([f"  passed over: {len(names) - FEW} more: {why}"] if len(names) > FEW else []))]


def collect(store, source: str | Path, roster=(), questions=(), given: str = "") -> Collected:
    """Take all notebooks of a folder or a zip into the store. A student's name is found in the file's name, as Moodle
    and Canvas write it, or is the file's or its folder's name. Links are not followed, and large files are left out.

    Of several files of a student one counts (`_order`); `questions` are those of the set, `given` what its
    notebook is called.
    """
    found, names, taken = Collected(), {plain(name): name for name in roster}, {}
    with incoming.opened(source) as (files, left):
        listed = [file.name for file in files]
        together = [(file, owner._replace(student=who)) for file, owner in _owners(files, left, roster, given)
                    for who in (owner.student, *owner.others)]
        for file, owner in sorted(together, key=lambda x: (x[1].number, x[0].name)):
            try:
                data = file.read()
            except Exception as error:  # BadZipFile, RuntimeError, zlib.error, …: one that is damaged, of a class
                left.refused.append(f"{file.name}: {getattr(error, 'strerror', None) or error}")
                continue
            try:
                text = parsed(data, file.suffix)
                answers = bool(text.answers(questions))
            except Exception as error:  # a fault of ours is of one file, too
                left.refused.append(f"{file.name}: the grader fails to read it ({type(error).__name__}); look at it")
                continue
            student = names.get(plain(owner.student), "") if names else owner.student
            if questions and not answers and not (names and student) and whose.beside(listed, file.name):
                left.passes("it lies beside the students' folders, and has no function of this set", file.name)
            elif not owner.student:
                left.refused.append(f"{file.name}: its name names nobody; name it after its student")
            elif not student:
                found.strangers += [owner.student] if owner.student not in found.strangers else []
            else:
                found.late += [student] if owner.late else []
                sha = hashlib.sha256(data).hexdigest()
                why, wrong = text.notes[0] if text.status == "unreadable" else "", fault(text, questions)
                one = Taken(file.name, sha, file.when, owner.number, answers, why, wrong)
                taken.setdefault(student, []).append(one)
                new = store.receive(student, file.name, sha, file.suffix, data, counts=False)
                (found.kept if new else found.known).append(student)
    found.refused, found.passed = left.refused, left.passed
    _settle(store, found, {student: _order(files) for student, files in taken.items()}, questions)
    there = {row[0] for row in store.db.execute("SELECT DISTINCT student FROM submission")}
    found.missing = [name for name in roster if name not in there]
    return found


def _owners(files, left, roster, given) -> list[tuple[incoming.File, whose.Owner]]:
    """Each file with whose it is. A table of Gradescope says it, if it lies beside the folders: one in a student's own
    folder is passed over."""
    names, told = [file.name for file in files], {}
    for table in left.tables:
        why, above = "other", table.name[:-len(gradescope.TABLE)]
        if names and not told and all(name.startswith(above) and "/" in name[len(above):] for name in names):
            listed = gradescope.submitters(table.read(gradescope.LARGEST), table.name)
            told = {above + folder: who for folder, who in gradescope.called(listed, roster).items()}
            told = told if any(whose.folder_of(name, told) for name in names) else {}
            if told:
                continue
            why = gradescope.NOBODY if listed else "other"
        left.passes(why, table.name)
    return list(zip(files, whose.owners(names, roster, given, told), strict=True))


def _order(files: list[Taken]) -> list[Taken]:
    """The one that counts is last: before all, one that defines a function of the set; then a notebook; then the
    newest, as Canvas numbers them, as copies of one file are numbered, and as the files are dated."""
    newest = {}
    for file in files:
        base = whose.base_of(file.name)[0]
        newest[base] = max(newest.get(base, file.when), file.when)

    def key(file):
        base, copy = whose.base_of(file.name)
        return (file.answers, suffix_of(file.name) == ".ipynb", file.number, newest[base], base, copy, file.when,
                file.name)

    return sorted(files, key=key)


def _settle(store, found, taken: dict[str, list[Taken]], questions) -> None:
    """Of each student the last file counts from now on; what is odd about it is noted."""
    last = {student: files[-1] for student, files in taken.items()}
    for student, files in taken.items():
        known = store.submission(student) if files[-1].fault else None
        counts = "" if known is None or not read(known).answers(questions) else "what was handed in before"
        if not files[-1].fault or counts:
            found.spoilt += [f"{student}: {sentence(file.name, file.fault, counts or files[-1].name)}"
                             for file in files if file.fault]
        if counts:
            del last[student]
    for student, file in last.items():
        if store.hand_in(student, file.sha) and student not in found.kept:  # one that came before, again
            found.known.remove(student)
            found.kept.append(student)
    found.unreadable = [f"{student}: {file.why}" for student, file in last.items() if file.why]
    found.without = [f"{student}: {file.name}" for student, file in last.items()
                     if questions and not file.answers and not file.why]
    same, near = {}, {}
    for student, file in sorted(last.items()):
        same.setdefault(file.sha, []).append(student)
        near.setdefault(plain(student), []).append(student)
    found.alike, found.near = ([who for who in groups.values() if len(who) > 1] for groups in (same, near))
    found.several = {student: [file.name for file in files] for student, files in taken.items() if len(files) > 1}
