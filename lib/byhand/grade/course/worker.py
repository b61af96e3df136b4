"""What runs inside the sandbox: a learner's code, one child a question. It knows no expected value.

From GIVEN_FD comes what is asked (the cells, and for each question what to call with which inputs); /job has the few
files of byhand that run an answer. Into the pipe RESULT_FD goes one frame a case: 4 bytes of length, JSON, and the
arrays' bytes behind it.
"""

import ast
import ctypes
import gc
import json
import linecache
import os
import select
import signal
import struct
import sys
import time
from types import ModuleType, SimpleNamespace

NOT_DUMPABLE = 4  # of prctl
MOST = 32 << 20  # bytes from one question
ISOLATION = os.environ.pop("ISOLATION", "")  # "container" or "process"; else the sandbox
CONFINED = (__file__ == "/job/worker.py" and os.getppid() == 1 and os.getpid() < 20  # in a namespace of its own
            or ISOLATION == "container" and os.getuid() > 60000)  # all processes of this user are its own
KEPT = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Try)


def frame(header, blobs=()):
    text = json.dumps(header | {"sizes": [len(x) for x in blobs]}).encode()
    return struct.pack(">I", len(text)) + text + b"".join(blobs)


def packed(result, question, case):
    """A Result as a frame; each array as dtype, shape and bytes."""
    arrays, blobs = [], []
    for x in result.arrays:
        if isinstance(x, str):
            arrays.append({"text": x[:500]})
        else:
            arrays.append({"dtype": x.dtype.str, "shape": x.shape})
            blobs.append(x.tobytes())
    return frame({"question": question, "case": case, "kind": result.kind, "text": result.text[:2000],
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

    from byhand.grade import run as runner

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
        ready.append((case["place"], case["name"], inputs))
    asked, name, lent = question["id"], question["name"], {}
    for helper, source in question["lent"].items():
        exec(compile(source, "<lent>", "exec"), apart := {"__name__": "lent"})
        lent[helper] = apart[helper]
    forget(vars(course), [about.drive, *(x for _, _, inputs in ready for x in inputs.values())])
    plain.clear()
    question.clear()
    scope, problems = namespace(cells, name, lent)
    answer = scope.get(name)
    write(frame({"question": asked, "loaded": answer is not None, "problems": problems[:5]}))
    if answer is None:
        return
    end = len(ready)  # as `examine` has it: after a case that is late only those that stand before it count
    for place, name, inputs in ready:
        if place < end:
            result = runner.run(answer, inputs, about)
            end = place if result.kind == "late" else end
            write(packed(result, asked, name))


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


def forked(seconds=5):
    """os.fork, tried for a while: what was just killed may still count as a process."""
    until = time.monotonic() + seconds
    while True:
        try:
            return os.fork()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def send(pipe, data):
    while data:
        data = data[os.write(pipe, data):]


def alone():
    """No process of the same user may look into this one or trace it; what loses its parent becomes its own child."""
    global keeper
    prctl = ctypes.CDLL(None).prctl
    prctl(NOT_DUMPABLE, 0, 0, 0, 0)
    if ISOLATION == "process":
        import keeper

        prctl(keeper.SUBREAPER, 1, 0, 0, 0)


def watched(child, pipe, seconds):
    """What a child writes until it ends, is late, or writes too much; then nothing of it is left."""
    parts, size, until, end = [], 0, time.monotonic() + seconds, "ended"
    while True:
        ready, _, _ = select.select([pipe], [], [], max(0, until - time.monotonic()))
        part = os.read(pipe, 1 << 16) if ready else None
        if not part:
            end = "ended" if ready else "late"
            break
        parts.append(part)
        size += len(part)
        if size > MOST:
            end = "too much"
            break
    os.kill(child, signal.SIGKILL)
    if CONFINED:  # everything in this namespace but this process: whatever the child has started
        try:
            os.kill(-1, signal.SIGKILL)
        except OSError:
            pass
    _, status = os.waitpid(child, 0)
    if ISOLATION == "process":
        keeper.end_all()
    while True:  # what else it has started
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break
    return b"".join(parts), end, os.waitstatus_to_exitcode(status)


def main():
    if not CONFINED and ISOLATION != "process":
        sys.exit("worker: to be run by the sandbox alone")
    out = int(os.environ.pop("RESULT_FD"))
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    alone()
    with open(int(os.environ.pop("GIVEN_FD")), "rb") as file:  # read once, and closed before anything forks
        (length,) = struct.unpack(">I", file.read(4))
        request = json.loads(file.read(length))
        plain = [file.read(size) for size in request["inputs"]]
    gc.disable()  # what is imported stays; to look through it for garbage, in each child, takes longer than its answer
    import numpy  # noqa: F401  once, for all children

    if any(question["torch"] for question in request["questions"]):
        import torch

        torch.set_num_threads(1)
    questions = request.pop("questions")
    gc.freeze()
    gc.enable()
    for question in questions:
        reading, writing = os.pipe()
        try:
            child = forked()
        except OSError as error:  # nothing that an answer has done: it is no zero
            os.write(out, frame({"failed": f"no process can be started: {error.strerror}"}))
            return
        if not child:
            try:
                os.close(reading)
                os.close(out)
                quiet = os.open(os.devnull, os.O_RDWR)
                for number in (0, 1, 2):
                    os.dup2(quiet, number)

                cells = request["cells"]
                request.clear()
                for other in questions:
                    if other is not question:
                        other.clear()
                answered(question, cells, plain, lambda data, pipe=writing: send(pipe, data))
            finally:
                os._exit(0)
        os.close(writing)
        send(out, frame({"begins": question["id"]}))
        seconds = request["load"] + question["seconds"] * (2 + len(question["cases"]) / 2)
        data, end, code = watched(child, reading, seconds)
        os.close(reading)
        send(out, frame({"of": question["id"], "end": end, "code": code}, [data]))


if __name__ == "__main__":
    main()
