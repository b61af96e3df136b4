"""A submission as text: the code cells of a notebook, whatever state it comes in. Nothing of it is run here."""

import ast
import dis
import functools
import hashlib
import json
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

from ..forbid import names_in
from .child import KEPT, made

LARGEST, CODE = 5 << 20, 1 << 18  # bytes of a file, its pictures among them; letters of code: a tree is 1000 times that
NONE = "no function of this set"  # a note: nothing is run of it, and it may be the wrong file
MAGIC = re.compile(r"[ \t]*+(?:[%!?]|[\w.*]++\?\??[ \t\r]*+$)")  # a command of IPython, and no remark that asks


@dataclass(frozen=True)
class Submission:
    sha256: str
    status: str  # "read" or "unreadable"
    cells: tuple[str, ...] = ()  # code that can be parsed, in order
    notes: tuple[str, ...] = ()  # what a learner should know: which cell has a fault, or why nothing was read

    @functools.cached_property
    def functions(self) -> dict[str, tuple[int, str]]:
        """By name, the last definition at the top level: its cell and its source, without what is in other cells."""
        found = {}
        for i, text in enumerate(self.cells):
            lines = text.encode().splitlines(keepends=True)
            for node in ast.parse(text).body:
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    found[node.name] = i, _source(node, lines)
        return found

    @functools.cached_property
    def _statements(self) -> list[tuple[ast.stmt, set[str]]]:
        """Those that are run if an answer needs them, with the names that each makes or writes into."""
        listed = [node for text in self.cells for node in ast.parse(text).body if isinstance(node, KEPT)]
        return [(x, {x.name} if isinstance(x, ast.FunctionDef | ast.ClassDef) else made(x)) for x in listed]

    @functools.cached_property
    def _makers(self) -> dict[str, list[ast.stmt]]:
        """By name, what makes it: its last definition, and whatever else is said of it after that."""
        found = {}
        for node, names in self._statements:
            for name in names:
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    found[name] = []
                found.setdefault(name, []).append(node)
        return found

    @functools.cached_property
    def _aliases(self) -> dict[str, str]:
        return {alias: module for text in self.cells for alias, module in _imported(text)}

    def reached(self, name: str, apart=()) -> set[str]:
        """The identifiers of a function and of what it uses of the notebook, other functions or names that stand for
        something, `apart` from some."""
        seen, found, waiting = set(), set(), [name]
        while waiting:
            if (here := waiting.pop()) in seen or here in apart:
                continue
            seen.add(here)
            for node in self._makers.get(here, ()):
                if not isinstance(node, ast.Import | ast.ImportFrom):
                    found |= names_in(node)
                    waiting += _globals(node)
        return found | {self._aliases[name] for name in found if name in self._aliases}


def _source(node, lines) -> str:
    """As ast.get_source_segment, which looks through the whole text each time."""
    here = lines[node.lineno - 1:node.end_lineno]
    here[-1] = here[-1][:node.end_col_offset]
    here[0] = here[0][node.col_offset:]
    return b"".join(here).decode()


def _globals(node) -> set[str]:
    """The names that a statement looks up in the notebook: no name of a function's own."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            waiting, found = [compile(ast.Module([node], []), "<cell>", "exec")], set()
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return names_in(node)
    while waiting:
        code = waiting.pop()
        waiting += [const for const in code.co_consts if isinstance(const, CodeType)]
        found |= {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return found


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


def _parsed(text) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ast.parse(text)


def _plain(text) -> str:
    """A cell without the commands of IPython: of lines that look like one, those that Python cannot read. One that goes
    on from the line above may begin with % as well."""
    lines = text.split("\n")
    for _ in range(100):
        try:
            _parsed("\n".join(lines))
            return "\n".join(lines)
        except SyntaxError as error:
            if not 1 <= (error.lineno or 0) <= len(lines) or not MAGIC.match(lines[error.lineno - 1]):
                break
            lines[error.lineno - 1] = ""
        except (ValueError, RecursionError, MemoryError):
            break
    return "\n".join("" if MAGIC.match(line) else line for line in lines)


def _of_cells(sha, code) -> Submission:
    if sum(map(len, code)) > CODE:
        return Submission(sha, "unreadable", notes=(f"more than {CODE >> 10} thousand letters of code: leave out data "
                                                    "that stands in cells, and hand it in again",))
    kept, notes = [], []
    for i, text in enumerate(code):
        if text.lstrip().startswith("%%") and not text.lstrip().startswith(("%%time", "%%capture")):
            continue
        try:
            text = _plain(text)
            _parsed(text)
            kept.append(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
            notes.append(f"code cell {i + 1}{line}: {type(error).__name__}: {getattr(error, 'msg', error)}")
    return Submission(sha, "read", tuple(kept), tuple(notes))
