"""What crosses from a sandbox to the grader: of bytes that a submission may have written, plain arrays and short text.

Whatever is not of the form that an honest child writes is no result.
"""

import numpy as np

from ..run import Result
from .child import frames
from .inert import inert

DTYPES = {np.dtype(kind).str for kind in "?bBhHiIlLqQefdFD"}  # kinds of numbers that may come back
KINDS = ("ok", "not attempted", "nothing", "late", "error", "structure")
MOST = 50  # inputs that were changed, or things that NumPy met


def of_question(question, head, data) -> tuple[dict[str, Result], str]:
    """What one child gave: a result by case, and why there is none where there is none. What the cells of the child for
    hidden cases have said is not repeated: it might be of an input."""
    results, problems, loaded = {}, [], False
    cases = dict(enumerate(case.name for case in question.cases))
    for inner, blobs in frames(data):
        if inner.get("question") != question.id:
            continue
        if "loaded" in inner:
            loaded = bool(inner["loaded"])
            problems = [] if head.get("hidden") else _words(inner.get("problems"), 200)[:5]
        elif (type(place := inner.get("place")) is int and place in cases
              and (result := read(inner, blobs, question)) is not None):
            results.setdefault(cases[place], result)
    why = {"late": "stopped: it took too long. Is there a loop that does not end?",
           "too much": "stopped: more than 32 MB came back"}.get(head.get("end"))
    why = why or ("the process ended in the middle of your function (was it sys.exit, or too much memory?)" if loaded
                  else "; ".join(problems) or "the function is not there once the cells have run")
    return results, why


def of_cells(question, head, data) -> list[str]:
    """What is to be said of the statements around an answer, as the child for open cases tells it: what went wrong, and
    where its function raised an exception, what was not run. The other child has hidden inputs, and is not heard."""
    said, skipped, raised = [], [], False
    for inner, _ in frames(data) if not head.get("hidden") else ():
        if inner.get("question") == question.id:
            said = said or _words(inner.get("problems"), 300)[:5]
            skipped = skipped or _words(inner.get("skipped"), 300)[:5]
            raised |= inner.get("kind") == "error"
    return [" ".join(line.split()) for line in (said + skipped if raised else said)]


def read(header, blobs, question) -> Result | None:
    """A Result out of what came back, or None if it is none: each array by its dtype, shape and number of bytes."""
    try:
        arrays, waiting = [], list(blobs)
        for x in header["arrays"]:
            if "text" in x:
                arrays.append(_word(x["text"], 500))
                continue
            dtype, shape = x["dtype"], tuple(x["shape"])
            blob = waiting.pop(0)
            if dtype not in DTYPES or len(shape) > 32 or any(type(n) is not int or n < 0 for n in shape):
                return None
            count = 1
            for n in shape:
                count *= n
            if count * np.dtype(dtype).itemsize != len(blob):
                return None
            arrays.append(np.frombuffer(blob, dtype).reshape(shape).copy())
        kind = header["kind"]
        if kind not in KINDS or kind == "ok" and len(arrays) != len(question.returns):
            return None
        return Result(kind, tuple(arrays), tuple(_words(header["changed"], 80)), _word(header["text"], 2000),
                      tuple(_words(header["events"], 80)))
    except (KeyError, TypeError, ValueError, IndexError, OverflowError):
        return None


def _word(text, most) -> str:
    return inert(text[:most]) if isinstance(text, str) else ""


def _words(listed, most) -> list[str]:
    return [_word(x, most) for x in listed[:MOST]] if isinstance(listed, list) else []
