"""Files that are written whole or not at all, and folders that several processes use at a time."""

import hashlib
import json
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


def write_whole(path: str | Path, data: bytes) -> None:
    """At `path` is the old file or the whole new one, never half of it.

    A new file has the rights that the umask leaves it, and one that is written over keeps its own. A link stays one:
    what it leads to is written.
    """
    path = Path(os.path.realpath(path))
    part = path.with_name(f"{path.name}-{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            os.chmod(part, stat.S_IMODE(path.stat().st_mode))
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def sync_folder(folder: str | Path) -> None:
    """A new name in a folder lasts through a power cut only once the folder itself is on the disk."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class Locked:
    """with Locked(folder) as held: … shares the folder's lock, or, `alone`, has it for itself, or else not at all.

    `held` is False where it is another's, and on systems and disks without locks. A process that ends, however it ends,
    has let go of it.
    """

    def __init__(self, folder: str | Path, alone: bool = False):
        self.folder, self.alone, self.handle = folder, alone, None

    def __enter__(self) -> bool:
        if fcntl:
            self.handle = os.open(self.folder, os.O_RDONLY)
            try:
                fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB if self.alone else fcntl.LOCK_SH)
            except OSError:
                self.__exit__()
        return self.handle is not None

    def __exit__(self, *_):
        if self.handle is not None:
            os.close(self.handle)
            self.handle = None


def seal(body: dict) -> str:
    """The digest that a JSON file states of what else it says, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def prepare_folder(folder: str | Path) -> Path:
    """Make the folder unless it is there, and try what a run will do in it: list, write and remove.

    Raises OSError, PermissionError for instance, where that fails: before the first step, not after a thousand.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.listdir(folder)
        probe = folder / f"probe-{secrets.token_hex(8)}"
        probe.write_bytes(b"probe")
        probe.unlink()
    except OSError as error:
        raise type(error)(f"prepare_folder: {folder} cannot be used ({error}), expected a folder to list and write in"
                          ) from error
    return folder


def plain_json(where: str, name: str, value: Any) -> Any:
    """As it will be after JSON: tuples are lists, keys are text. `where` and `name` are for the words of an error."""
    def apart(pairs):
        keys = [key for key, _ in pairs]
        if len(set(keys)) < len(keys):
            twice = next(key for i, key in enumerate(keys) if key in keys[:i])
            raise ValueError(f"{where}: {name} has two keys that are {twice!r} as text, expected keys that stay apart")
        return dict(pairs)

    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"{where}: {name} is not JSON ({error}), expected text, numbers, lists, dicts") from None
    return json.loads(text, object_pairs_hook=apart)
