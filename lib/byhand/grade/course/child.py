"""What a child of the worker does, inside the sandbox: it runs a learner's code. It knows no expected value.

Each case is one frame: 4 bytes of length, JSON, and the arrays' bytes behind it.
"""

import asyncio
import contextlib
import gc
import json
import linecache
import math
import struct
import sys
import time
from types import ModuleType, SimpleNamespace

from .names import DEFINED, compiled
from .statements import PLAIN, Statements

LONGEST = 1 << 20  # bytes of a frame's JSON: as lists and dicts they take 25 times as many


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


class Idle:
    """In the place of what IPython lends to a notebook: it has every attribute, takes any words, and does nothing."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_, **__):
        return None


def namespace(cells, answer, lent=(), limit=None, seconds=math.inf):
    """What the answer's cells make, each statement by itself: one that fails costs only what needs it. Functions that
    are `lent`, by name, stand in the place of those that the cells define.

    All are done in so many `seconds`, and those that are no import, definition or assignment in half of them. Beside
    the names come two lists of words: what has gone wrong, and what was not run though it mentions the answer.
    """
    main, idle = ModuleType("__main__"), Idle()  # a module, as it is in a notebook: classes look for their own there
    scope, problems = vars(main), []
    scope |= {"__builtins__": __builtins__, "get_ipython": lambda: idle, "display": idle} | dict(lent)
    if limit is not None:  # in the child: it has no other use for that name
        sys.modules["__main__"] = main
    for i, text in enumerate(cells):
        name = f"<cell {i + 1}>"
        linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    listed = Statements(cells)
    end, left = time.monotonic() + seconds, seconds / 2
    needed = listed.needed(answer)
    for s in needed:
        if isinstance(s.node, DEFINED) and s.node.name in lent:
            continue
        begun, most = time.monotonic(), end - time.monotonic()
        most = most if isinstance(s.node, PLAIN) else min(left, most)
        if most <= 0:
            problems.append(f"{_place(s, cells)}: was not run, for lack of time")
            continue
        try:
            with limit(most) if limit and most < math.inf else contextlib.nullcontext():
                done = eval(compiled(s.node, s.flags, f"<cell {s.cell + 1}>"), scope)
                if done is not None:  # it has an await of its own
                    asyncio.run(done)
        except BaseException as error:  # an import that is not there, a name from a cell that was left out
            late = time.monotonic() - begun >= most
            problems.append(f"{_place(s, cells)}: was stopped after {most:.0f} s" if late else
                            f"cell {s.cell + 1}: {type(error).__name__}: {str(error)[:200]}")
        left -= 0 if isinstance(s.node, PLAIN) else time.monotonic() - begun
        scope.update(lent)
    wanted = {answer}.union(*(s.uses for s in needed)) - listed.modules.keys()
    skipped = [f"{_place(s, cells)}: was not run" for s in listed.all
               if s not in needed and s.loads & wanted and not isinstance(s.node, PLAIN)]
    return scope, problems, skipped


def _place(s, cells) -> str:
    line = cells[s.cell].split("\n")[s.node.lineno - 1].strip()
    return f"cell {s.cell + 1}, `{line if len(line) < 50 else line[:49] + '…'}`"


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
    asked, name, seconds, lent = question["id"], question["name"], question["load"], {}
    sys.modules.update(dict.fromkeys(question["without"]))  # a wall in the sandbox; a sign where there is none
    for helper, source in question["lent"].items():
        exec(compile(source, "<lent>", "exec"), apart := {"__name__": "lent"})
        lent[helper] = apart[helper]
    forget(vars(course), [about.drive, *(x for _, inputs in ready for x in inputs.values())])
    plain.clear()
    question.clear()
    begun = time.monotonic()
    scope, problems, skipped = namespace(cells, name, lent, runner.time_limit, seconds)
    answer, slow = scope.get(name), time.monotonic() - begun >= seconds / 2
    write(frame({"question": asked, "loaded": answer is not None, "problems": problems[:5], "skipped": skipped[:5],
                 "slow": slow}))
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
