"""What lies in a folder or a zip, one file after another: nothing is unpacked, no link is followed, and what is not
taken is told with the reason."""

import contextlib
import os
import re
import stat
import unicodedata
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple

from .gradescope import TABLE
from .inert import inert
from .submission import LARGEST

SUFFIXES = (".ipynb", ".py")
PACKED = (".zip", ".rar", ".7z", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".zst")
SYSTEM = ("__MACOSX", "__pycache__")  # folders that nobody has written
LONGEST, DEEPEST = 10_000, 40  # letters of a path, and its steps
PASSED = {  # why a file is no submission
    "hidden": "hidden, or made by a program",
    "packed": "packed; unpack it, and collect it too",
    "renamed": "its name must end in .ipynb or .py; name it anew, and collect it too",
    "other": "no notebook (.ipynb) and no Python file (.py)",
    "odd": "no plain file",
}


class File(NamedTuple):
    name: str  # its path, with / between the steps
    when: tuple[int, ...]  # it was changed
    open: Callable[[], BinaryIO]

    @property
    def suffix(self) -> str:
        return suffix_of(self.name)

    def read(self, most: int = LARGEST) -> bytes:
        """No more is unpacked than may be read."""
        with self.open() as file:
            return file.read(most + 1)


@dataclass
class Left:
    """What was not taken."""

    refused: list[str] = field(default_factory=list)  # file: why
    passed: dict[str, list[str]] = field(default_factory=dict)  # by the reason, files that are no submissions
    tables: list[File] = field(default_factory=list)  # that may say whose the others are

    def passes(self, why: str, name: str) -> None:
        self.passed.setdefault(PASSED.get(why, why), []).append(told(name))


def suffix_of(name: str) -> str:
    """The end of a name, in small letters: some systems write it large."""
    last = name.rsplit("/", 1)[-1]
    return last[last.rindex("."):].lower() if "." in last else ""


def told(name: str) -> str:
    """A name in one line."""
    return name if _fine(name) else ascii(name)


@contextlib.contextmanager
def opened(source: str | Path):
    """`with opened(source) as (files, left):` the files of a folder, a zip, or one file, to be read while it lasts."""
    source, left = Path(source), Left()
    if suffix_of(source.name) != ".zip" or source.is_dir():
        yield _of_folder(source, left), left
        return
    try:
        archive = zipfile.ZipFile(source)
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:  # the last two for a damaged list of names
        raise ValueError(f"collect: {source} is no zip file, or a damaged one ({error})") from None
    with archive:
        yield _of_zip(archive, left), left


def _of_folder(source, left) -> list[File]:
    found = []
    for path in [source] if source.is_file() else _below(source, left):
        name = path.name if path == source else path.relative_to(source).as_posix()
        if path.is_symlink():
            left.refused.append(f"{told(name)}: a link")
        elif (steps := _taken(name, left)) is None:
            continue
        elif not path.is_file():
            left.passes("odd", name)
        else:
            _among(found, left, steps).append(File("/".join(steps), (int(path.stat().st_mtime),), _opener(path)))
    return found


def _opener(path):
    return lambda: path.open("rb")


def _below(source, left):
    """All files; a folder that nobody has written, or that cannot be opened, is told once."""
    def closed(error):
        left.refused.append(f"{told(os.path.relpath(error.filename, source))}: {error.strerror}")

    for here, folders, files in os.walk(source, onerror=closed):
        here = Path(here)
        for name in list(folders):
            if (here / name).is_symlink():
                files.append(name)
            elif _hidden(name):
                left.passes("hidden", (here / name).relative_to(source).as_posix() + "/")
                folders.remove(name)
        folders.sort()
        yield from (here / name for name in sorted(files))


def _of_zip(archive, left) -> list[File]:
    found = []
    for info in archive.infolist():
        name = _spelt(info)
        if info.is_dir() or name.endswith(("/", "\\")):
            continue
        if stat.S_ISLNK(info.external_attr >> 16):
            left.refused.append(f"{told(name)}: a link")
        elif (steps := _taken(name, left)) is not None:
            _among(found, left, steps).append(File("/".join(steps), info.date_time, _member(archive, info)))
    return found


def _among(found, left, steps) -> list[File]:
    return left.tables if steps[-1] == TABLE else found


def _member(archive, info):
    return lambda: archive.open(info)


def _spelt(info) -> str:
    """The name of a file in a zip. Without a sign it is in the letters of an old PC, but macOS writes UTF-8 there."""
    if not info.flag_bits & 0x800:
        with contextlib.suppress(UnicodeError):
            return info.filename.encode("cp437").decode("utf-8")
    return info.filename


def _taken(name: str, left) -> list[str] | None:
    """The steps of its path, if it is a submission by its name; else None, and why is told."""
    path = unicodedata.normalize("NFC", name).replace("\\", "/")  # Windows writes its own sign into a zip
    steps = [step for step in map(str.strip, path.split("/")) if step not in ("", ".")]
    last = steps[-1].lower() if steps else ""
    if any(_hidden(step) for step in steps) and last not in SUFFIXES or any(map(_hidden, steps[:-1])):
        return left.passes("hidden", name)
    if suffix_of(last) not in SUFFIXES and last != TABLE:
        why = "packed" if suffix_of(last) in PACKED else "renamed" if re.search(r"\.(ipynb|py)\b", last) else "other"
        return left.passes(why, name)
    if not _fine(path):
        left.refused.append(f"{ascii(name)}: a name with letters that no page can show; name the file anew")
    elif path.startswith("/") or re.match(r"[A-Za-z]:/", path) or any(set(step) == {"."} for step in steps):
        left.refused.append(f"{name}: a path that leads elsewhere; pack the files anew")
    elif len(steps) > DEEPEST or len(path) > LONGEST:
        left.refused.append(f"{name[:60]}…: too long a path; name the file anew")
    else:
        return steps
    return None


def _hidden(step: str) -> bool:
    """A file or folder that a program has made: .ipynb_checkpoints, ._ann.ipynb, __MACOSX."""
    return step in SYSTEM or step.startswith((".", "~$")) and set(step) != {"."}


def _fine(name: str) -> bool:
    """Can it be written down in one line?"""
    return inert(name) == name and not set(name) & set("\n\t")
