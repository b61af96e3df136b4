"""One call of a function, line by line: what each executed statement made of each variable."""

import ast
import functools
import importlib
import inspect
import linecache
import pkgutil
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

import byhand.np
from byhand.grade.values import frozen, is_number, leaves, unchanged

TAGS = re.compile(r"#\s*(\(\d+\.\d+\)(?:, \(\d+\.\d+\))*)")  # a comment that begins with numbers of equations


class Step(NamedTuple):
    """A variable that a statement has changed; symbol is its name, or a place in it, such as grads["W_1"]."""

    symbol: str
    value: Any  # an array as it was then
    object: Any
    tags: tuple[str, ...]
    line: int


class Statement(NamedTuple):
    """A statement that is not made of others: where it ends, the names it assigns, the tags of its comment.

    As many tags as names stand for one each."""

    first: int
    last: int
    names: tuple[str, ...]
    tags: tuple[str, ...]
    branch: CodeType | None  # the condition that chooses between two tags
    hop: bool  # whether it is `return f(…)`, so that the equations are f's


class Call:
    """What happened in one call: steps, and the calls of other functions that are followed, in their order."""

    def __init__(self, code: CodeType, arguments: list):
        self.code, self.name, self.arguments = code, code.co_name, arguments
        self.items: list[Step | Call] = []
        self.result: Any = None
        self.tags: tuple[str, ...] = ()  # of the return that was executed
        self.line, self.finished, self.hop = code.co_firstlineno, False, False

    @property
    def steps(self) -> list[Step]:
        return [item for item in self.items if isinstance(item, Step)]


@functools.cache
def library() -> dict[str, Callable]:
    """Each function of byhand.np by its name, those with an underscore too, without its checks."""
    found: dict[str, Callable] = {}
    for module in pkgutil.iter_modules(byhand.np.__path__):
        members = vars(importlib.import_module(f"byhand.np.{module.name}"))
        found |= {name: inspect.unwrap(f) for name, f in members.items()
                  if inspect.isfunction(f) and f.__module__ == f"byhand.np.{module.name}" and name not in found}
    return found


@functools.cache
def _parsed(code: CodeType) -> tuple[list[str], ast.FunctionDef | None]:
    """The lines of a function and what they say; None where its text is not to be had."""
    try:
        lines = inspect.getblock(linecache.getlines(code.co_filename)[code.co_firstlineno - 1:])
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (IndexError, SyntaxError):
        return [], None
    return lines, next((n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)), None)


@functools.cache
def statements(code: CodeType) -> dict[int, Statement]:
    """The statement on each line of a function; nothing where its text is not to be had."""
    lines, function = _parsed(code)
    start = code.co_firstlineno
    found: dict[int, Statement] = {}
    for node in _simple(function.body) if function else ():
        text = " ".join(lines[node.lineno - 1:node.end_lineno])
        comment = TAGS.search(text)
        tags = tuple(re.findall(r"\d+\.\d+", comment[1])) if comment else ()
        values = [n for n in ast.walk(node) if isinstance(n, ast.IfExp)]
        branch = None
        if len(tags) == 2 and len(values) == 1:
            branch = compile(ast.Expression(values[0].test), "<condition>", "eval")
        at = slice(node.lineno + start - 1, node.end_lineno + start)
        hop = isinstance(node, ast.Return) and isinstance(_called(node.value), ast.Call)
        statement = Statement(at.start, at.stop - 1, tuple(_targets(node)), tags, branch, hop)
        found |= dict.fromkeys(range(at.start, at.stop), statement)
    return found


@functools.cache
def comprehended(code: CodeType) -> frozenset[str]:
    """Names that only comprehensions bind: from Python 3.12 on the frame of the function shows them while one runs."""
    function = _parsed(code)[1]
    nodes = list(ast.walk(function)) if function else []
    targets = [n for c in nodes if isinstance(c, ast.comprehension) for n in ast.walk(c.target)]
    inner = {n for n in targets if isinstance(n, ast.Name)}
    others = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n not in inner}
    return frozenset({n.id for n in inner} - others - {n.arg for n in nodes if isinstance(n, ast.arg)})


def _simple(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        inside = [getattr(node, part, []) for part in ("body", "orelse", "finalbody")]
        inside += [handler.body for handler in getattr(node, "handlers", [])]
        if any(inside):
            for part in inside:
                yield from _simple(part)
        else:
            yield node


def _called(value: ast.expr | None) -> ast.expr | None:
    """The call in `f(…)` and in `f(…)[0]`."""
    return value.value if isinstance(value, ast.Subscript) else value


def _targets(node: ast.stmt) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    flat = [n for t in targets if t for n in (t.elts if isinstance(t, ast.Tuple | ast.List) else [t])]
    return [n.id for n in flat if isinstance(n, ast.Name) and n.id != "_"]


class Recorder:
    """Follows one call, and the calls inside it that `wanted` says; notes which functions of the library were met."""

    def __init__(self, code: CodeType, wanted: Callable[[CodeType], bool]):
        self.code, self.wanted = code, wanted
        self.top: Call | None = None
        self.open: list[tuple[Call, set[int]]] = []  # calls that have not returned; the functions made in them
        self.used: set[str] = set()
        self.own = {id(f.__code__) for f in library().values()}  # by id: the hash of a code is slow

    def run(self, function: Callable, arguments: tuple, options: dict) -> Any:
        before = sys.gettrace()
        with np.errstate(all="ignore"):  # a broken function may well overflow
            sys.settrace(self._call)
            try:
                return function(*arguments, **options)
            finally:
                sys.settrace(before)

    def _call(self, frame: FrameType, event: str, _: Any) -> Callable | None:
        code = frame.f_code
        if self.top is None:
            if code is not self.code:
                return None
        else:
            if id(code) in self.own:
                self.used.add(code.co_name)
            inside = any(id(code) in made for _, made in self.open)
            if not self.open or not (inside or self.wanted(code)):
                return None
        names = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
        call = Call(code, [frozen(frame.f_locals.get(name)) for name in names])
        if self.top is None:
            self.top = call
        else:
            parent = self.open[-1][0]
            statement = statements(parent.code).get(parent.line)
            call.hop = code.co_name.startswith("_") or bool(statement and statement.hop)
            parent.items.append(call)
        made = {id(c) for c in code.co_consts if isinstance(c, CodeType) and not c.co_name.startswith("<")}
        self.open.append((call, made))
        return _Frame(self, call, frame)


class _Frame:
    """The trace function of one frame."""

    def __init__(self, recorder: Recorder, call: Call, frame: FrameType):
        self.recorder, self.call, self.raised = recorder, call, False
        self.lines, self.inner = statements(call.code), comprehended(call.code)
        self.line, self.tags, self.done = 0, (), set()
        self.seen = {s: (x, frozen(x)) for s, x in self._leaves(frame)}

    def __call__(self, frame: FrameType, event: str, value: Any) -> Callable:
        if event == "line":
            now = self.lines.get(frame.f_lineno)
            before = self.lines.get(self.line)
            left = before is None or now is not before or frame.f_lineno == before.first == self.line
            self._note(frame, left and not self.raised)
            self.line = self.call.line = frame.f_lineno
            if left:
                self.raised, self.done, self.tags = False, set(), _chosen(now, frame) if now else ()
        elif event == "exception":
            self.raised = True
        elif event == "return":
            self._note(frame, not self.raised)
            self.call.finished = not self.raised or value is not None
            self.call.result, self.call.tags = value, self.tags
            while self.recorder.open and self.recorder.open[-1][0] is not self.call:
                self.recorder.open.pop()
            self.recorder.open.pop()
        return self

    def _note(self, frame: FrameType, complete: bool) -> None:
        """Record what has changed; a complete statement has assigned its names even if nothing changed."""
        statement = self.lines.get(self.line)
        names = statement.names if statement else ()
        order = {name: i for i, name in enumerate(names)}  # dX, dW, db as the statement has them
        for symbol, x in sorted(self._leaves(frame), key=lambda pair: order.get(pair[0], len(order))):
            old = self.seen.get(symbol)
            named = complete and symbol in order and symbol not in self.done
            if named or old is None or old[0] is not x or not unchanged(x, old[1]):
                value = frozen(x)
                self.seen[symbol] = x, value
                self.done.add(symbol)
                each = len(self.tags) == len(names) > 1 and symbol in order  # a tag for each name
                tags = (self.tags[order[symbol]],) if each else self.tags
                self.call.items.append(Step(symbol, value, x, tags, self.line))

    def _leaves(self, frame: FrameType) -> list[tuple[str, Any]]:
        return [pair for name, x in frame.f_locals.items() if name not in self.inner
                for pair in leaves(name, x) if is_number(pair[1])]


def _chosen(statement: Statement, frame: FrameType) -> tuple[str, ...]:
    """The tags of a statement; of `a if condition else b  # (1.1), (1.2)` the one of the branch."""
    if statement.branch is None:
        return statement.tags
    try:
        first = eval(statement.branch, frame.f_globals, dict(frame.f_locals))
        return statement.tags[:1] if first else statement.tags[1:]
    except Exception:
        return statement.tags
