"""What was handed in, from a folder, a zip of a platform, or single files: copied by content, never unpacked."""

import csv
import hashlib
import re
import stat
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from .inert import inert
from .submission import LARGEST, parsed

MOODLE = re.compile(  # Moodle: Ann Example_1234_assignsub…, a folder, or before the name that a student has given
    r"^(?:[^/]+_(?P<id>\d+)_assignsubmission_file_?/|[^/]+?_(?P<flat>\d+)_assignsubmission_file_?(?=[^/]+$))")
CANVAS = re.compile(  # Canvas: exampleann_1234_5678_lab.ipynb
    r"^(?P<name>[a-z0-9-]+?)_(?P<late>LATE_)?(?P<id>\d+)_(?P<file>\d{1,18})_")
SUFFIXES = (".ipynb", ".py")


@dataclass
class Collected:
    kept: list[str] = field(default_factory=list)  # students whose submission is new
    known: list[str] = field(default_factory=list)  # handed in before, the same
    strangers: list[str] = field(default_factory=list)  # not on the roster
    refused: list[str] = field(default_factory=list)  # file: why
    missing: list[str] = field(default_factory=list)  # on the roster, nothing handed in
    late: list[str] = field(default_factory=list)  # the platform says so
    unreadable: list[str] = field(default_factory=list)  # student: why; of the file that counts
    alike: list[list[str]] = field(default_factory=list)  # students whose files are the same, to the byte
    several: dict[str, list[str]] = field(default_factory=dict)  # files of a student, the last of which counts


def roster_of(path: str | Path | None) -> list[str]:
    """The column `student` (or `id`, or the first) of a CSV file."""
    return list(names_of(path))


def names_of(path: str | Path | None) -> dict[str, str]:
    """The students of a roster; what they are called, where it has a column `name`."""
    if path is None:
        return {}
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"collect: {path} is no CSV file in UTF-8 ({error}); save it as \"CSV UTF-8\"") from None
    if not rows:
        raise ValueError(f"collect: {path} has no rows, expected a header and a student a line")
    column = next((name for name in ("student", "id") if name in rows[0]), next(iter(rows[0])))
    found, plain = {}, {}
    for row in rows:
        if student := (row[column] or "").strip():
            if (other := plain.setdefault(_plain(student), student)) != student or student in found:
                raise ValueError(f"collect: {path} has {other!r} and {student!r}, whom the names of files would not "
                                 f"tell apart; give each student a name of their own in the column {column}")
            found[student] = (row.get("name") or "").strip()
    return found


def look(source: str | Path) -> int:
    """How many files there are to be taken. Raises ValueError where there are none."""
    source = Path(source)
    if not source.exists():
        raise ValueError(f"collect: there is no {source}; name the folder, the zip or the file that students handed in")
    if source.is_file() and source.suffix not in (".zip", *SUFFIXES):
        raise ValueError(f"collect: {source} is no folder, no .zip, no notebook (.ipynb) and no .py; unpack it first")
    found = Collected()
    files = sum(1 for _ in (_of_zip if source.suffix == ".zip" else _of_folder)(source, found)) + len(found.refused)
    if not files:
        raise ValueError(f"collect: {source} has no notebook (.ipynb) and no Python file (.py); is it the right one? "
                         "A zip inside a zip must be unpacked first")
    return files


def collect(store, source: str | Path, roster=()) -> Collected:
    """Take all notebooks of a folder or a zip into the store. A student's name is found in the file's name, as Moodle
    and Canvas write it, or is the file's or its folder's name. Links are not followed, and large files are left out.
    """
    found, source = Collected(), Path(source)
    names = {_plain(name): name for name in roster}
    last, unreadable, files = {}, {}, _of_zip if source.suffix == ".zip" else _of_folder
    alone = len({name.rpartition("/")[0] for name, _ in files(source, Collected())}) == 1
    for name, data in files(source, found):
        student = _student(name, alone or "/" not in name)
        if names:
            if _plain(student) not in names:
                found.strangers.append(student)
                continue
            student = names[_plain(student)]
        if (canvas := CANVAS.match(name.rsplit("/", 1)[-1])) and canvas["late"]:
            found.late.append(student)
        found.several.setdefault(student, []).append(name)
        last[student] = hashlib.sha256(data).hexdigest()
        read = parsed(data, Path(name).suffix)
        unreadable[student] = read.notes[0] if read.status == "unreadable" else ""
        new = store.receive(student, name, last[student], Path(name).suffix, data, counts=False)
        (found.kept if new else found.known).append(student)
    for student, sha in last.items():
        if store.hand_in(student, sha) and student not in found.kept:  # one that came before, again
            found.known.remove(student)
            found.kept.append(student)
    found.unreadable = [f"{student}: {why}" for student, why in unreadable.items() if why]
    same = {sha: [student for student in last if last[student] == sha] for sha in last.values()}
    found.alike = [sorted(who) for who in same.values() if len(who) > 1]
    there = {row[0] for row in store.db.execute("SELECT DISTINCT student FROM submission")}
    found.several = {student: files for student, files in found.several.items() if len(files) > 1}
    found.missing = [name for name in roster if name not in there]
    return found


def _order(name: str) -> tuple[int, str]:
    """Canvas numbers files as they come in; elsewhere names are all there is."""
    canvas = CANVAS.match(name.rsplit("/", 1)[-1])
    return int(canvas["file"]) if canvas else 0, name


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


def _student(name: str, alone: bool) -> str:
    """Whose file this is. Where there are several folders, one is a student's: a name as Canvas gives it, in there, is
    one that this student has given."""
    if moodle := MOODLE.match(name):
        return moodle["id"] or moodle["flat"]
    last = name.rsplit("/", 1)[-1]
    if alone and (canvas := CANVAS.match(last)):
        return canvas["id"]
    return name.split("/")[-2] if "/" in name else Path(last).stem


def _of_folder(source, found):
    paths = [source] if source.is_file() else sorted(source.rglob("*"), key=lambda p: _order(str(p)))
    for path in paths:
        name = path.name if path == source else path.relative_to(source).as_posix()
        if path.is_symlink():
            found.refused.append(f"{name}: a link")
        elif path.is_file() and path.suffix in SUFFIXES and ".ipynb_checkpoints" not in path.parts:
            if _named(name, found):
                try:
                    data = _read(path.open("rb"))
                except OSError as error:
                    found.refused.append(f"{name}: {error.strerror}")
                else:
                    yield name, data


def _of_zip(source, found):
    try:
        archive = zipfile.ZipFile(source)
    except zipfile.BadZipFile:
        raise ValueError(f"collect: {source} is no zip file") from None
    with archive:
        for info in sorted(archive.infolist(), key=lambda info: _order(info.filename)):
            if info.is_dir() or Path(info.filename).suffix not in SUFFIXES or "__MACOSX" in info.filename:
                continue
            if stat.S_ISLNK(info.external_attr >> 16):
                found.refused.append(f"{info.filename}: a link")
                continue
            if _named(info.filename, found):
                try:
                    data = _read(archive.open(info))
                except Exception as error:  # BadZipFile, RuntimeError, zlib.error, …: one that is damaged, of a class
                    found.refused.append(f"{info.filename}: {error}")
                else:
                    yield info.filename, data


def _read(file) -> bytes:
    """No more is unpacked than may be read."""
    with file:
        return file.read(LARGEST + 1)


def _named(name, found) -> bool:
    """Has it a name that can be written down in one line?  If not, it is refused."""
    if fine := inert(name) == name and not set(name) & set("\n\t"):
        return fine
    found.refused.append(f"{ascii(name)}: a name with letters that no page can show; name the file anew")
    return False
