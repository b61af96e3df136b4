"""A submission as text: the code cells of a notebook, whatever state it comes in. Nothing of it is run here."""

import ast
import hashlib
import json
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

from ..forbid import names_in

LARGEST = 5 << 20  # bytes
MAGIC = re.compile(r"^\s*(?:[%!?]|.*\?$)")


@dataclass(frozen=True)
class Submission:
    sha256: str
    status: str  # "read" or "unreadable"
    cells: tuple[str, ...] = ()  # code that can be parsed, in order
    notes: tuple[str, ...] = ()  # what a learner should know: which cell has a fault, or why nothing was read

    @property
    def functions(self) -> dict[str, tuple[int, str]]:
        """By name, the last definition at the top level: its cell and its source, without what is in other cells."""
        found = {}
        for i, text in enumerate(self.cells):
            for node in ast.parse(text).body:
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    found[node.name] = i, ast.get_source_segment(text, node) or ""
        return found

    def reached(self, name: str, apart=()) -> set[str]:
        """The identifiers of a function and of the functions of the notebook that it uses, `apart` from some."""
        written, seen, found, waiting = self.functions, set(), set(), [name]
        while waiting:
            if (here := waiting.pop()) in seen or here not in written or here in apart:
                continue
            seen.add(here)
            names = names_in(written[here][1])
            found |= names
            waiting += names
        aliases = {alias: module for text in self.cells for alias, module in _imported(text)}
        return found | {aliases[name] for name in found if name in aliases}


def _imported(text):
    """Each name that an import statement makes, with the module that it comes from."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((a.asname or a.name.split(".")[0], a.name.split(".")[0]) for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((a.asname or a.name, (node.module or "").split(".")[0]) for a in node.names)


def read(path: str | Path) -> Submission:
    """The code of a notebook (.ipynb) or of a Python file; ids, metadata and kernel do not count."""
    path = Path(path)
    with path.open("rb") as file:
        return parsed(file.read(LARGEST + 1), path.suffix)


def parsed(data: bytes, suffix: str) -> Submission:
    """The same, of a file's bytes and the end of its name."""
    sha = hashlib.sha256(data).hexdigest()

    def unreadable(why):
        return Submission(sha, "unreadable", notes=(why,))

    if len(data) > LARGEST:
        return unreadable(f"larger than {LARGEST >> 20} MB: clear the outputs and hand it in again")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return unreadable("not text in UTF-8: is it the notebook?")
    if suffix == ".py":
        return _of_cells(sha, [text])
    try:
        cells = json.loads(text)["cells"]
        code = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
        code = [x if isinstance(x, str) else "".join(x) for x in code]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        return unreadable(f"not a whole notebook ({type(error).__name__}): save it again and hand it in again")
    return _of_cells(sha, code)


def _of_cells(sha, code) -> Submission:
    kept, notes = [], []
    for i, text in enumerate(code):
        if text.lstrip().startswith("%%") and not text.lstrip().startswith(("%%time", "%%capture")):
            continue
        text = "".join("\n" if MAGIC.match(line) else line for line in text.splitlines(keepends=True))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ast.parse(text)
            kept.append(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
            notes.append(f"code cell {i + 1}{line}: {type(error).__name__}: {getattr(error, 'msg', error)}")
    return Submission(sha, "read", tuple(kept), tuple(notes))
