"""What a learner hears of a hidden case: the kind of thing that is wrong, the known mistake, nothing of its data."""

import builtins
import re
from dataclasses import replace

WORDS = {
    "wrong": "the numbers are wrong",
    "shape": "an output has the wrong shape",
    "finite": "an output contains nan or inf",
    "dtype": "an output has the wrong dtype",
    "structure": "what came back is not of the form that is asked for",
}
TYPES = re.compile(r"float\d\d|int\d\d|exp of more than 709")
LINE = re.compile(r"in (\w+), line (\d+):  (.*)")


def discreet(outcome, written, came=True):
    """The outcome of a hidden case without shapes, numbers, places, and whatever the answer has said itself. `written`
    are the functions of the submission, as `Submission.functions`: the line that raised is named if it is in one.
    If no result `came`, the words are the grader's own."""
    verdict = outcome.verdict
    text = WORDS.get(verdict.kind, verdict.text)
    if verdict.kind == "error" and came:
        text = _raised(verdict.text, written)
    remark = "" if re.search(r"\d", TYPES.sub("", verdict.remark)) else verdict.remark
    case = replace(outcome.case, says="hidden: other numbers or sizes")  # its own words may name them
    return replace(outcome, case=case, given="", verdict=replace(verdict, text=text, detail=(), remark=remark))


def _raised(text, written):
    """The type of an exception and the line that raised it: its message may hold data, and so may a type of its own."""
    first, *rest = text.splitlines() or [""]
    name = re.match(r"\w*", first)[0]
    kind = name if isinstance(getattr(builtins, name, None), type) else "an exception was raised"
    for line in rest:
        found = LINE.fullmatch(line)
        if found and found[3] in map(str.strip, written.get(found[1], (0, ""))[1].splitlines()):
            return f"{kind}\n{line}"
    return kind
