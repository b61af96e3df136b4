"""What a child of the worker does, inside the sandbox: it runs a learner's code. It knows no expected value.

Each case is one frame: 4 bytes of length, JSON, and the arrays' bytes behind it.
"""

import ast
import gc
import json
import linecache
import math
import struct
import sys
from types import ModuleType, SimpleNamespace

LONGEST = 1 << 20  # bytes of a frame's JSON: as lists and dicts they take 25 times as many
KEPT = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Try)


def frame(header, blobs=()):
    text = json.dumps(header | {"sizes": [len(x) for x in blobs]}).encode()
    return struct.pack(">I", len(text)) + text + b"".join(blobs)


def frames(data):
    """Header and blobs of each frame; what is not whole, or lies about its sizes, ends the reading."""
    at = 0
    while at + 4 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        if length > LONGEST:
            return
        try:
            header = json.loads(data[at + 4:at + 4 + length])
            sizes = header["sizes"]
            if not isinstance(header, dict) or not all(type(x) is int and x >= 0 for x in sizes):
                return
        except (ValueError, KeyError, TypeError, RecursionError):
            return
        at += 4 + length
        if at + sum(sizes) > len(data):
            return
        blobs = []
        for size in sizes:
            blobs.append(data[at:at + size])
            at += size
        yield header, blobs


def packed(result, question, place):
    """A Result as a frame; each array as dtype, shape and bytes."""
    arrays, blobs = [], []
    for x in result.arrays:
        if isinstance(x, str):
            arrays.append({"text": x[:500]})
        else:
            arrays.append({"dtype": x.dtype.str, "shape": x.shape})
            blobs.append(x.tobytes())
    return frame({"question": question, "place": place, "kind": result.kind, "text": result.text[:2000],
                  "changed": result.changed, "events": result.events, "arrays": arrays}, blobs)


def made(node):
    """The names that a statement makes, or writes into."""
    found = set()
    for x in ast.walk(node):
        match x:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.alias(name=name, asname=other):
                found.add(other or name.split(".")[0])
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.Attribute(value=ast.Name(id=name), ctx=ast.Store()):
                found.add(name)
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                found.add(name)
    return found


def needed(cells, answer):
    """Of each cell the statements that the answer needs: imports, functions, classes and assignments alone."""
    listed = [(i, node) for i, text in enumerate(cells) for node in ast.parse(text).body if isinstance(node, KEPT)]
    makes = [{node.name} if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else made(node) for _, node in listed]
    wanted, kept = {answer}, set()
    while True:
        more = {k for k, names in enumerate(makes) if names & wanted} - kept
        if not more:
            return [listed[k] for k in sorted(kept)]
        kept |= more
        wanted |= {x.id for k in more for x in ast.walk(listed[k][1]) if isinstance(x, ast.Name)}


def namespace(cells, answer, lent=()):
    """What the answer's cells make, each statement by itself: one that fails costs only what needs it. Functions that
    are `lent`, by name, stand in the place of those that the cells define."""
    scope, problems = {"__name__": "__main__", "__builtins__": __builtins__} | dict(lent), []
    for i, text in enumerate(cells):
        name = f"<cell {i + 1}>"
        linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    for i, node in needed(cells, answer):
        if getattr(node, "name", None) in lent:
            continue
        try:
            exec(compile(ast.Module([node], []), f"<cell {i + 1}>", "exec"), scope)
        except BaseException as error:  # an import that is not there, a name from a cell that was left out
            problems.append(f"cell {i + 1}: {type(error).__name__}: {str(error)[:200]}")
    return scope, problems


def thawed(value, plain):
    """Inputs as they came: arrays in their bytes, tuples and dicts with marks."""
    import numpy as np

    match value:
        case {"array": place, "dtype": dtype, "shape": shape}:
            return np.frombuffer(plain[place], np.dtype(dtype)).reshape(shape).copy()
        case {"tuple": values}:
            return tuple(thawed(x, plain) for x in values)
        case {"list": values}:
            return [thawed(x, plain) for x in values]
        case {"dict": pairs}:
            return {thawed(k, plain): thawed(x, plain) for k, x in pairs}
        case {"float": text}:
            return float(text)
        case {"np": text, "dtype": dtype}:
            return np.frombuffer(bytes.fromhex(text), np.dtype(dtype))[0]
    return value


def answered(question, cells, plain, write):
    """In the child: what the answer gives in each case."""
    import numpy as np

    from . import run as runner

    course = ModuleType("course")
    if question["source"]:  # drivers, and inputs that hold functions
        exec(compile(question["source"], "<course>", "exec"), vars(course))
    about = SimpleNamespace(
        id=question["id"], returns=tuple(question["returns"]), torch=question["torch"], seconds=question["seconds"],
        late=question["late"],
        drive=eval(question["drive"], vars(course)) if question["drive"] else None)
    ready = []
    for case in question["cases"]:
        if case["make"]:
            inputs = eval(case["make"], vars(course))(np.random.default_rng(int(case["seed"])))
        else:
            inputs = {name: thawed(x, plain) for name, x in case["inputs"].items()}
        ready.append((case["place"], inputs))
    asked, name, lent = question["id"], question["name"], {}
    sys.modules.update(dict.fromkeys(question["without"]))  # a wall in the sandbox; a sign where there is none
    for helper, source in question["lent"].items():
        exec(compile(source, "<lent>", "exec"), apart := {"__name__": "lent"})
        lent[helper] = apart[helper]
    forget(vars(course), [about.drive, *(x for _, inputs in ready for x in inputs.values())])
    plain.clear()
    question.clear()
    scope, problems = namespace(cells, name, lent)
    answer = scope.get(name)
    write(frame({"question": asked, "loaded": answer is not None, "problems": problems[:5]}))
    if answer is None:
        return
    end = math.inf  # as `examine` has it: after a case that is late only those that stand before it count
    for place, inputs in ready:  # no name of a case: an answer may look into our frames
        if place < end:
            result = runner.run(answer, inputs, about)
            end = place if result.kind == "late" else end
            write(packed(result, asked, place))


def forget(scope, kept):
    """Leave of the course's own names what the functions among `kept` use: no list of faults, no other input."""
    waiting, names, seen = list(kept), {"__builtins__", "__name__"}, set()
    while waiting:
        x = waiting.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        waiting += x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple)) else ()
        for code in _codes(getattr(x, "__code__", None)):
            more = {name for name in code.co_names if name in scope} - names
            names |= more
            waiting += [scope[name] for name in more]
        waiting += [cell.cell_contents for cell in getattr(x, "__closure__", None) or ()]
        waiting += getattr(x, "__defaults__", None) or ()
        waiting += vars(x).values() if isinstance(x, type) else ()
    for name in set(scope) - names:
        del scope[name]
    gc.collect()


def _codes(code):
    if code is not None:
        yield code
        for const in code.co_consts:
            if hasattr(const, "co_names"):
                yield from _codes(const)
