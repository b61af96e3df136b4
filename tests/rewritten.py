"""A module made from its file with pieces of the text replaced: the wrong versions of tools, extensions and modules."""

from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from unittest import mock


def rewritten(path: Path, *edits: str, real: ModuleType | None = None) -> ModuleType:
    """The module of a file after `old, new, …`. An old piece stands there once, or AssertionError says how often.

    With `real`, the module that the file makes in a package, the new one has its name and place: what it imports from
    beside itself is found, and so is its name by its dataclasses.
    """
    text = path.read_text(encoding="utf-8")
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
        text = text.replace(old, new)
    module = ModuleType(real.__name__ if real else path.stem)
    module.__file__, module.__package__ = str(path), real.__package__ if real else None
    with mock.patch.dict("sys.modules", {module.__name__: module}) if real else nullcontext():
        exec(compile(text, str(path) if real else path.stem, "exec"), vars(module))
    return module
