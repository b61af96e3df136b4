"""A module made from its file with pieces of the text replaced: the wrong versions of tools and extensions."""

from pathlib import Path
from types import ModuleType


def rewritten(path: Path, *edits: str) -> ModuleType:
    """The module of a file after `old, new, …`. An old piece stands there once, or AssertionError says how often."""
    text = path.read_text(encoding="utf-8")
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
        text = text.replace(old, new)
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    exec(compile(text, path.stem, "exec"), vars(module))
    return module
