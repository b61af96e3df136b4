"""What goes into the sandbox for a question: inputs as data, or the code that makes them where they hold functions."""

import ast
import functools
import importlib.util
import inspect
import json
import math
import os
import struct
import sys

import numpy as np

from ..model import make_inputs, seed_of
from ..sets import SETS, questions_of

LOAD = 20.0  # seconds for the cells of a notebook to be executed, imports of torch and matplotlib among them


class NotPlain(TypeError):
    """An input that is a function, or an object of another kind."""


def frozen(value, blobs: list):
    """A value as JSON, its arrays' bytes in `blobs`. Raises NotPlain for whatever is not data."""
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if type(value) is np.ndarray and value.dtype.kind in "biufc":
        blobs.append(np.ascontiguousarray(value).tobytes())
        return {"array": len(blobs) - 1, "dtype": value.dtype.str, "shape": list(value.shape)}
    if isinstance(value, np.generic) and value.dtype.kind in "biufc":
        return {"np": value.tobytes().hex(), "dtype": value.dtype.str}
    if type(value) in (tuple, list):
        return {type(value).__name__: [frozen(x, blobs) for x in value]}
    if type(value) is dict:
        return {"dict": [[frozen(k, blobs), frozen(x, blobs)] for k, x in value.items()]}
    raise NotPlain(type(value).__name__)


def request(set_id: str, names, key: bytes, patience: float = 1.0, lent=None) -> tuple[dict, tuple[list, list]]:
    """The questions of a set whose functions are named, for the worker; and the bytes of their inputs, those of open
    cases and those of hidden ones. `lent` has by question the functions of earlier ones that are to be right."""
    parts, asked, text = ([], []), [], Source(set_id)
    for question in questions_of(set_id):
        if question.name not in names:
            continue
        drive = text.drive(question) if question.drive else ""
        roots, cases = [drive] if drive else [], []
        for place, case in enumerate(question.cases):
            blobs, about = parts[case.hidden], {"place": place, "hidden": case.hidden}
            here = len(blobs)
            try:
                inputs = {name: frozen(x, blobs) for name, x in make_inputs(question, case, key).items()}
                cases.append(about | {"inputs": inputs, "make": ""})
            except NotPlain:
                del blobs[here:]
                made = text.make(question, case)
                roots.append(made)
                cases.append(about | {"make": made, "seed": str(seed_of(key, question, case))})
        asked.append({"id": question.id, "name": question.name, "returns": question.returns, "torch": question.torch,
                      "seconds": patience * question.seconds, "late": question.late, "drive": drive,
                      "load": 0.8 * patience * LOAD,  # it ends by itself before it is ended
                      "source": text.reached(roots), "without": without(question),
                      "lent": right_functions(set_id, (lent or {}).get(question.id, ()), question.name),
                      "cases": cases})
    return {"questions": asked, "load": patience * LOAD}, parts


def without(question) -> list[str]:
    """The packages that an answer may not use, of those that are installed here. byhand is none of them: what a job
    has of it is what answers may use."""
    return [name for name in question.forbid if name not in ("numpy", "byhand") and places_of(name)]


@functools.cache
def places_of(package: str) -> tuple[str, ...]:
    """Where an installed package lies, its folder or its file; a name that is none has no place."""
    found = importlib.util.find_spec(package) if package not in sys.stdlib_module_names else None
    if found is None:
        return ()
    listed = found.submodule_search_locations or [found.origin or ""]
    return tuple(os.path.realpath(place) for place in listed if os.path.exists(place))


def as_bytes(asked: dict, parts) -> bytes:
    """What the worker reads: open cases with all else that is asked, then the hidden ones; arrays behind their JSON."""
    split = [{q["id"]: [case for case in q["cases"] if case["hidden"] == hidden] for q in asked["questions"]}
             for hidden in (False, True)]
    first = asked | {"questions": [q | {"cases": split[0][q["id"]]} for q in asked["questions"]]}
    data = b""
    for said, blobs in zip((first, {"cases": split[1]}), parts, strict=True):
        text = json.dumps(said | {"inputs": [len(x) for x in blobs]}).encode()
        data += struct.pack(">I", len(text)) + text + b"".join(blobs)
    return data


def right_functions(set_id, names, asked) -> dict[str, str]:
    """By name, the source of the right answers to earlier questions, each with what it needs and nothing else."""
    found = {}
    for name in names:
        tree = ast.parse(inspect.getsource(importlib.import_module(f"byhand.grade.reference.{SETS[set_id]}")))
        found[name] = _reached(tree, [name])
        if asked in {node.name for node in ast.parse(found[name]).body if isinstance(node, ast.FunctionDef)}:
            raise ValueError(f"{asked} may use {name}, whose right answer needs {asked} itself")
    return found


class Source:
    """The source of a set's cases, and what of it a question needs: nothing else goes into the sandbox."""

    def __init__(self, set_id):
        package = f"byhand.grade.sets.{SETS[set_id]}"
        self.cases = importlib.import_module(f"{package}.cases")
        self.questions = ast.parse(inspect.getsource(importlib.import_module(f"{package}.questions")))
        self.tree = ast.parse(inspect.getsource(self.cases))

    def _call(self, question):
        for node in ast.walk(self.questions):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Question":
                given = {k.arg: k.value for k in node.keywords}
                if isinstance(given.get("id"), ast.Constant) and given["id"].value == question.id:
                    return given
        raise LookupError(f"question {question.id} is not written out in questions.py")

    def drive(self, question) -> str:
        return self._text(self._call(question)["drive"])

    def make(self, question, case) -> str:
        listed = self._call(question)["cases"]
        for node in ast.walk(listed):
            if (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Case" and node.args
                    and isinstance(node.args[0], ast.Constant) and node.args[0].value == case.name):
                return self._text(node.args[1])
        raise LookupError(f"case {case.name!r} of {question.id} is not written out in questions.py")

    @staticmethod
    def _text(node) -> str:
        """`cases.read(5, 3)` as `read(5, 3)`: names of the one module that goes along."""
        class Bare(ast.NodeTransformer):
            def visit_Attribute(self, node):
                self.generic_visit(node)
                return ast.Name(node.attr, node.ctx) if getattr(node.value, "id", "") == "cases" else node

        return ast.unparse(Bare().visit(ast.parse(ast.unparse(node), mode="eval")))

    def reached(self, expressions) -> str:
        """The definitions that these expressions need, in the order of the file."""
        return _reached(self.tree, expressions)


def _reached(tree, expressions) -> str:
    if not expressions:
        return ""
    named = {}
    for node in tree.body:
        for name in _defined(node):
            named.setdefault(name, []).append(node)
    wanted, waiting = set(), [name for text in expressions for name in _used(ast.parse(text))]
    while waiting:
        name = waiting.pop()
        if name in named and name not in wanted:
            wanted.add(name)
            waiting += [used for node in named[name] for used in _used(node)]
    kept = [node for node in tree.body if set(_defined(node)) & wanted]
    kept = [_Absolute().visit(ast.parse(ast.unparse(node))) for node in kept]
    return "\n".join(ast.unparse(node) for node in kept)


class _Absolute(ast.NodeTransformer):
    """`from ...model import WrongAnswer`, wherever it stands, as the worker finds it."""

    def visit_ImportFrom(self, node):
        return ast.ImportFrom(f"byhand.grade.{node.module}", node.names, 0) if node.level else node


def _used(node) -> list[str]:
    return [x.id for x in ast.walk(node) if isinstance(x, ast.Name)]


def _defined(node) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [x.id for t in targets for x in ast.walk(t) if isinstance(x, ast.Name)]
        case ast.AugAssign(target=ast.Name(id=name)) | ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return [(alias.asname or alias.name).split(".")[0] for alias in names]
    return []


