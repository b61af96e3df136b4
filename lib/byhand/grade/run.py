"""Run an answer on the inputs of one case and keep nothing of it but plain arrays and text.

Nothing here knows an expected value, so the same function can run inside a sandbox.
"""

import dis
import inspect
import itertools
import linecache
import os
import re
import sys
import traceback
import types
import warnings
from dataclasses import dataclass

import numpy as np

from .crash import about_crash
from .limits import TimeUp, time_limit
from .model import WrongAnswer

# Bound now: an answer that patches numpy later changes nothing here.
_array, _ndarray, _errstate = np.array, np.ndarray, np.errstate
_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_STDLIB = os.path.dirname(os.__file__)
_PLAIN = frozenset((bool, int, float, complex, str, bytes, type(None)))


@dataclass(frozen=True)
class Result:
    kind: str  # "ok", "not attempted", "nothing", "late", "error" or "structure"
    arrays: tuple = ()  # one per output: a plain array, or a text that says why there is none
    changed: tuple[str, ...] = ()  # inputs that were modified in place
    text: str = ""
    events: tuple[str, ...] = ()  # what numpy met on the way: "overflow", "divide by zero", "invalid value"


def run(answer, inputs, question):
    given = {name: copied(value) for name, value in inputs.items()}
    handed = {name: tensor(value) for name, value in given.items()} if question.torch else given
    met = []
    # The state of warnings belongs to the learner's notebook; an overflow shows in the numbers anyway.
    heard = dict.fromkeys(("over", "divide", "invalid"), "call")
    with warnings.catch_warnings(), _errstate(**heard, under="ignore", call=lambda text, flag: met.append(str(text))):
        warnings.simplefilter("ignore")
        try:
            with time_limit(question.seconds):
                returned = question.drive(answer, handed) if question.drive else answer(*handed.values())
                result = _collect(returned, question.returns)
        except KeyboardInterrupt:
            raise
        except TimeUp:
            return Result("late", text=f"stopped after {question.seconds:g} s: {question.late}")
        except NotImplementedError:
            return Result("not attempted")
        except WrongAnswer as error:
            return Result("structure", text=str(error))
        except BaseException as error:  # sys.exit() in an answer must not end the notebook
            return Result("error", text=describe_error(error))
    if result.kind == "not attempted" and written(answer):
        return Result("nothing", text="your function returned None: is there a return at its end?")
    changed = tuple(name for name, value in inputs.items() if _bytes(value) != _bytes(given[name]))
    return Result(result.kind, result.arrays, changed, result.text, tuple(dict.fromkeys(met)))


def written(answer):
    """Has somebody written a body?  A stub loads a constant and returns it."""
    function = inspect.unwrap(answer) if callable(answer) else None
    if not isinstance(function, types.FunctionType):
        return False
    idle = ("LOAD_", "RETURN_", "RESUME", "NOP", "COPY_FREE_VARS", "BUILD_", "CACHE")
    return not all(step.opname.startswith(idle) for step in dis.get_instructions(function))


def copied(value, other=lambda value: value):
    """Arrays, and lists, tuples and dicts of them, anew; a number as it is, and a function or what else as `other`."""
    if type(value) in (list, tuple):
        if _rows_plain(value):
            return type(value)(map(list, value))
        return type(value)(value if _all_plain(value) else [copied(item, other) for item in value])
    if type(value) is dict:
        return {name: copied(item, other) for name, item in value.items()}
    return _array(value) if type(value) is _ndarray else value if type(value) in _PLAIN else other(value)


def _all_plain(items):
    return _PLAIN.issuperset(map(type, items))


def _rows_plain(items):
    """Many lists, such as sentences: no row by itself, which would take longer than most answers."""
    return set(map(type, items)) == {list} and _all_plain(itertools.chain.from_iterable(items))


def _bytes(value):
    """What an input holds; of an object that is no array, list, tuple, dict, number or text, its type alone."""
    if type(value) in (list, tuple):  # a long list of numbers, or of rows, at once: the text of all tells as much
        together = _all_plain(value) or _rows_plain(value)
        return type(value), repr(value) if together else [_bytes(item) for item in value]
    if type(value) is dict:
        return [(_bytes(name), _bytes(item)) for name, item in value.items()]
    if type(value) is _ndarray:
        return value.shape, value.dtype.str, value.tobytes()
    return (type(value), repr(value)) if type(value) in _PLAIN else type(value)


def tensor(value):
    """A tensor over the same memory, so that a change in place is seen."""
    import torch

    return torch.from_numpy(value) if type(value) is _ndarray else value


def blank(value):
    """None, ... and NotImplemented: what a stub returns."""
    return value is None or value is Ellipsis or value is NotImplemented


def _collect(returned, names):
    if blank(returned):
        return Result("not attempted")
    if len(names) == 1:
        return Result("ok", (_plain(returned, names[0]),))
    # tuple's and list's own methods: a subclass may lie about its length
    for kind in (tuple, list):
        if issubclass(type(returned), kind):
            values = [kind.__getitem__(returned, i) for i in range(kind.__len__(returned))]
            break
    else:
        if type(returned) is not _ndarray or returned.ndim == 0 or len(returned) != len(names):
            return Result("structure", text=f"returned one {_type(returned)}, expected {_listing(names)}")
        values = list(returned)  # an array of as many numbers, or of as many rows, unpacks like a tuple
    if len(values) != len(names):
        return Result("structure", text=f"returned {len(values)} values, expected {_listing(names)}")
    if all(blank(value) for value in values):
        return Result("not attempted")
    return Result("ok", tuple(_plain(value, name) for value, name in zip(values, names, strict=True)))


def _listing(names):
    return f"{len(names)}: {', '.join(names)}"


def _type(value):
    return {_ndarray: "array"}.get(type(value), str(type.__dict__["__name__"].__get__(type(value))))


def _plain(value, name):
    if blank(value):
        return f"{name} is {value!r}, expected an array"
    torch = sys.modules.get("torch")
    if torch and isinstance(value, torch.Tensor):
        if value.device.type == "meta":
            return f"{name} is on the device meta, which holds no numbers"
        value = value.detach().cpu()
        value = value.float() if value.dtype in (torch.bfloat16, torch.float16) else value
    try:
        array = _array(value)  # a copy, and never a subclass
    except Exception:
        return f"{name} is a {_type(value)} that is not a regular array"
    if array.dtype.kind not in "biufc":
        return f"{name} is a {_type(value)} of dtype {array.dtype}, expected an array of numbers"
    return array.astype(array.dtype.newbyteorder("="))


def describe_error(error):
    """Type, message and the learner's own line; no frame of ours and no path."""
    try:
        message = str(error)
    except Exception:
        message = ""
    message = re.sub(r"0x[0-9a-fA-F]+", "0x…", message.split("\n")[0])[:200]
    message = re.sub(r": Input operand 1 has a mismatch.*gufunc signature.*", ": the sizes do not fit", message)
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    theirs = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__) if _is_theirs(frame)]
    said, trace = "", error.__traceback__
    while trace is not None:
        if theirs and trace.tb_frame is theirs[-1][0]:
            said = about_crash(error, trace.tb_frame, trace.tb_lasti)
        trace = trace.tb_next
    if theirs:
        frame, number = theirs[-1]
        line = linecache.getline(frame.f_code.co_filename, number).strip()
        text += f"\nin {frame.f_code.co_name}, line {number}" + (f":  {line}" if line else "")
    return f"{text}\n{said}" if said else text


def _is_theirs(frame):
    path = frame.f_code.co_filename
    return not (path.startswith((_OURS, _STDLIB, "<frozen", "<__array")) or "site-packages" in path)
