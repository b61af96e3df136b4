"""A submission as text: the code cells of a notebook, whatever state it comes in. Nothing of it is run here."""

import ast
import contextlib
import functools
import hashlib
import json
import subprocess
import sys
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

from ..forbid import LATER, MADE, names_in, spelt
from .magics import RUN, plain, whole
from .names import DEFINED, IMPORTS, executed, looked_up, run_at_once
from .statements import Statement, Statements, leaves

LARGEST, CODE = 5 << 20, 1 << 18  # bytes of a file, its pictures among them; letters of code: a tree is 1000 times that
NONE = "no function of this set"  # a note: nothing is run of it, and it may be the wrong file
SHORT, PATIENCE = 1 << 14, 10.0  # letters that are read in no time, whatever they are; seconds for all others
DEEPEST = 300  # steps of a cell's tree: what Python reads here it might not read again, a few calls further down
TRIED = """
import ast, json, sys
for text in json.load(sys.stdin):
    try:
        for node in ast.parse(text).body:
            compile(ast.Module([node], []), "", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
"""


@dataclass(frozen=True)
class Submission:
    sha256: str
    status: str  # "read" or "unreadable"
    cells: tuple[str, ...] = ()  # code that can be parsed, in order
    notes: tuple[str, ...] = ()  # what a learner should know: which cell has a fault, or why nothing was read

    @functools.cached_property
    def statements(self) -> Statements:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Statements(self.cells)

    @functools.cached_property
    def _leaves(self) -> list[tuple[Statement, bool]]:
        """What is done at the top level, also in a condition or a loop; and whether it is done in any case."""
        return [(s, True) if x is s.node else (Statement(s.cell, x, s.flags), False)
                for s in self.statements.all for x in leaves(s.node)]

    @functools.cached_property
    def functions(self) -> dict[str, tuple[int, str]]:
        """By name, the last definition at the top level: its cell and its source, without what is in other cells."""
        found, lines = {}, [text.encode().splitlines(keepends=True) for text in self.cells]
        for s, _ in self._leaves:
            if isinstance(s.node, DEFINED):
                found[s.node.name] = s.cell, _source(s.node, lines[s.cell])
        return found

    @functools.cached_property
    def written(self) -> dict[str, tuple[int, str]]:
        """`functions`, and without a source all other names that anything but an import makes: what they stand for may
        be called as well."""
        told = {name for s, _ in self._leaves for name in s.makes - s.modules.keys()}
        told |= self.statements.effects(*{name for s, _ in self._leaves for name in s.loads})
        return dict.fromkeys(sorted(told), (0, "")) | self.functions

    @property
    def modules(self) -> dict[str, str]:
        """By name that an import makes, the package that it comes from."""
        return self.statements.modules

    @functools.cached_property
    def _makers(self) -> dict[str, list[Statement]]:
        """By name, what makes it: its last definition, and whatever else is said of it after that."""
        found = {}
        for s, always in self._leaves:
            fresh = {s.node.name} if isinstance(s.node, DEFINED) else set()
            if isinstance(s.node, ast.Assign) and len(s.node.targets) == 1 and isinstance(s.node.targets[0], ast.Name):
                fresh = s.makes - s.loads
            for name in s.makes | s.stores | (s.writes - self.modules.keys()):
                if always and name in fresh:
                    found[name] = []
                found.setdefault(name, []).append(s)
        return found

    def reached(self, name: str, apart=()) -> set[str]:
        """The identifiers of a function and of what it uses of the notebook, other functions or names that stand for
        something, `apart` from some."""
        seen, found, nodes, waiting = set(), set(), [], [name]
        while waiting:
            if (here := waiting.pop()) in seen or here in apart:
                continue
            seen.add(here)
            found |= {self.modules[here]} if here in self.modules else set()
            for s in self._makers.get(here, ()):
                if not isinstance(s.node, IMPORTS):
                    found = found.union(names_in(s.node), *map(names_in, _executed(s.node)))
                    nodes += [s.node, *_executed(s.node)]
                    waiting += looked_up(s.node, LATER)
        made = any(executed(x) is None for node in nodes for x in ast.walk(node) if _is_run(x))
        return found | spelt(found, nodes) | ({MADE} if made else set())

    def answers(self, questions) -> set[str]:
        """The names of those questions for which something stands in it: a function, or what else may be called."""
        return {q.name for q in questions} & self.answering(questions).written.keys()

    def answering(self, questions) -> "Submission":
        """With what stands for an answer in `check("04.6", mine)`, where nothing has the name of its question."""
        asked = {q.id: q.name for q in questions} | {q.name: q.name for q in questions}
        more = {}
        for s, _ in self._leaves:
            for call in s.calls:
                match call:
                    case ast.Call(func=ast.Name(id="check") | ast.Attribute(attr="check"),
                                  args=[ast.Constant(value=str(key)), answer]) if key in asked:
                        with contextlib.suppress(RecursionError):  # so deep an answer is nobody's
                            more[asked[key]] = ast.unparse(answer)
        more = [f"{name} = {text}" for name, text in more.items() if name not in self.written]
        return replace(self, cells=(*self.cells, "\n".join(more))) if more else self


def _executed(node):
    """The statements in texts that it gives to exec or eval."""
    return [y for x in ast.walk(node) for y in executed(x) or ()]


def _is_run(x) -> bool:
    return isinstance(x, ast.Call) and isinstance(x.func, ast.Name) and x.func.id in ("eval", "exec")


def _unseen(text) -> bool:
    """Does a cell give exec a text that nobody can read before it runs?"""
    return any(isinstance(x, ast.Call) and isinstance(x.func, ast.Name) and x.func.id == "exec" and executed(x) is None
               for node in ast.parse(text).body for x, _ in run_at_once(node))


def _deep(tree) -> bool:
    here = [tree]
    for _ in range(DEEPEST):
        here = [y for x in here for y in ast.iter_child_nodes(x)]
    return bool(here)


def _source(node, lines) -> str:
    """As ast.get_source_segment, which looks through the whole text each time."""
    here = lines[node.lineno - 1:node.end_lineno]
    here[-1] = here[-1][:node.end_col_offset]
    here[0] = here[0][node.col_offset:]
    return b"".join(here).decode()


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
    if sum(map(len, code)) > CODE:
        return Submission(sha, "unreadable", notes=(f"more than {CODE >> 10} thousand letters of code: leave out data "
                                                    "that stands in cells, and hand it in again",))
    asked = {i: found[1] for i, text in enumerate(code) if not whole(text) and (found := RUN.search(text))}
    code = ["" if whole(text) else plain(text) for text in code]
    if sum(map(len, code)) > SHORT and not _soon(code):
        return Submission(sha, "unreadable", notes=(f"Python takes more than {PATIENCE:g} s to read it: leave out data "
                                                    "and texts that stand in cells, and hand it in again",))
    kept, notes = [], []
    for i, text in enumerate(code):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(text)
            if _deep(tree):
                raise RecursionError(f"more than {DEEPEST} steps deep; write it in several statements")
            kept.append(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            kept.append("")  # so that each has the number that it has in the notebook
            line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
            notes.append(f"code cell {i + 1}{line}: {type(error).__name__}: {getattr(error, 'msg', error)}")
    unseen = [i for i, text in enumerate(kept) if "exec" in text and _unseen(text)]
    notes += [f"code cell {i + 1}: {text}: another file is not run here; an answer must stand in this one"
              for i, text in asked.items()]
    notes += [f"code cell {i + 1}: exec of a text that is made when it runs: an answer in it is not found; write it as "
              "a function" for i in unseen]
    return Submission(sha, "read", tuple(kept), tuple(notes))


def _soon(code) -> bool:
    """Does Python read and compile each of the cells in time?  It is tried in a process of its own: nothing else can
    be ended in the middle of that."""
    tried = [sys.executable, "-I", "-W", "ignore", "-c", TRIED]
    try:
        return subprocess.run(tried, input=json.dumps(code).encode(), timeout=PATIENCE).returncode == 0
    except subprocess.TimeoutExpired:
        return False
