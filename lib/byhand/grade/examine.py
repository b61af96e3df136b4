"""Try an answer on the cases of its question, and put the outcome into words."""

import random
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .judge import Verdict, finish, judge
from .limits import Heard
from .model import DISPLAY, Case, Mutant, Question, make_inputs
from .recognise import nothing_but_nan, one_off, recognise
from .run import run
from .two import in_part, put_together, two_mistakes


@dataclass(frozen=True)
class Outcome:
    case: Case
    verdict: Verdict
    mutant: Mutant | None = None  # the known mistake that gives the same wrong answer
    given: str = ""  # shapes of the inputs
    sure: bool = True  # False if that mistake would also show in a case that this answer passes, or in another way
    second: Mutant | None = None  # where the answer is what two known mistakes give together
    others: tuple[Mutant, ...] = ()  # known mistakes that would give the same, where no case tells which one it is
    nan: bool = False  # nothing but nan tells it
    part: str | None = None  # the output in which the mistake shows, where others say nothing of it; "" for one of two
    besides: str = ""  # how that output differs from what the mistake alone gives

    @property
    def ahead(self):
        """What is said before the message."""
        if self.part is not None:
            return f"In {self.part} it looks like this: " if self.part else "One of two mistakes: "
        if self.nan:
            return "Nothing but nan came, which has many causes. It comes from this mistake, too: "
        if self.others:
            return "Several known mistakes give this. Either: "
        if self.second:
            return f"{'T' if self.sure else 'In this case t'}wo mistakes together give these numbers. "
        return "" if self.sure else "In this case it looks like this: "


@dataclass(frozen=True)
class Report:
    """What `check` returns.  Its text is deterministic."""

    question: Question
    outcomes: tuple[Outcome, ...]
    note: str = ""  # why no case was run
    older: str = ""  # that it is not the answer which was written last

    @property
    def points(self):
        return score(self.question, self.outcomes)

    @property
    def max_points(self):
        return self.question.points

    @property
    def attempted(self):
        """Did somebody write an answer, and was it run?"""
        return any(o.verdict.kind not in ("not attempted", "not run") for o in self.outcomes)

    @property
    def passed(self):
        return self.points == self.max_points

    def __repr__(self):
        return "\n".join(map(str, _lines(self)))

    def _repr_mimebundle_(self, include=None, exclude=None):
        """For a notebook; what was not attempted stays plain text."""
        if self.note or not self.attempted:
            return {"text/plain": repr(self)}
        from .page import page

        return {"text/plain": repr(self), "text/html": page(_lines(self))}


def examine(question, answer, expected, cases=None, key=DISPLAY, order=None, seen=None, runner=None, inputs=None):
    """Run the cases; `expected(case)` gives the right arrays.  A failed case spares those that need it, and the open
    ones that guard it.  The order is drawn anew, or from the seed `order`: an answer cannot know which case it meets.
    What is said does not depend on it: where one case meets the limit of time, none that stands after it counts.
    `seen` is a dict that keeps what the mutants gave under this key, and `inputs(case)` gives inputs that were drawn
    before, for who examines many answers; `runner(case)` gives the result of an answer that was run somewhere else.
    """
    cases = question.public if cases is None else cases
    ran, failed, heard = {}, {}, Heard()  # failed: the case to mend first, by the name of each that went wrong
    end, waiting = len(cases), _an_order(cases, random.Random(order))
    try:
        while waiting:
            case = waiting.pop(0)
            if blame := next((failed[name] for name in _before(case) if name in failed), ""):
                failed[case.name] = blame
                continue
            given = inputs(case) if inputs else make_inputs(question, case, key)
            with heard.case(case.name):
                result = runner(case) if runner else run(answer, given, question)
            result = finish(question, given, result)
            verdict = judge(question, case, result, expected(case))
            ran[case.name] = (case, verdict, result, given)
            if not verdict.ok:
                failed[case.name] = case.name
            if result.kind == "late":
                end = cases.index(case)
                waiting = [case for case in cases[:end] if case in waiting]
    finally:
        heard.say([case.name for case in cases])
    failed |= {case.name: cases[end].name for case in cases[end + 1 :]}
    ran = {case.name: ran[case.name] for case in cases[: end + 1] if case.name in ran}
    known = _known_mistakes(question, list(ran.values()), expected, {} if seen is None else seen) if failed else {}
    return tuple(
        Outcome(case, **{"verdict": ran[case.name][1], "given": _shapes(ran[case.name][3])} | known.get(case.name, {}))
        if case.name in ran else Outcome(case, Verdict("not run", failed[case.name]))
        for case in cases
    )


def _before(case):
    return (*case.needs, *([case.guards] if case.open else []))


def _an_order(cases, rng):
    """The cases in any order in which each comes after those it needs."""
    names, waiting, ordered = {case.name for case in cases}, list(cases), []
    while waiting:
        left = {case.name for case in waiting}
        ready = [case for case in waiting if not left & (set(_before(case)) & names)]
        ordered.append(rng.choice(ready))
        waiting.remove(ordered[-1])
    return ordered


def _known_mistakes(question, results, expected, seen):
    """By case, the known mistake that gives the same answer, or the two that give it together; or a verdict that says
    of all cases what is wrong in them."""
    if all(verdict.kind in ("ok", "error", "late", "not attempted", "nothing") for _, verdict, _, _ in results):
        return {}
    cases, verdicts, mine, inputs = zip(*((c, v, r, i) for c, v, r, i in results), strict=True)
    theirs = []
    for m in question.mutants:
        for case, given in zip(cases, inputs, strict=True):
            if (m.name, case.name) not in seen:
                seen[m.name, case.name] = finish(question, given, run(m.function, given, question))
        theirs.append([seen[m.name, case.name] for case in cases])
    right = list(map(expected, cases))
    given = question, cases, mine, theirs, verdicts, right
    found = {c: {"mutant": hit.mutants[0], "others": hit.mutants[1:], "sure": hit.sure, "nan": hit.nan}
             for c, hit in enumerate(recognise(*given)) if hit}
    settled = _settled(found, verdicts)
    if not settled and (said := one_off(question, cases, mine, verdicts, right)):
        return {case.name: {"verdict": replace(v, remark=said)}
                for case, v in zip(cases, verdicts, strict=True) if not v.ok}
    wrong = [c for c, v in enumerate(verdicts) if not v.ok]
    empty = {c for c in wrong if nothing_but_nan(question, cases[c], mine[c])}
    if not settled and set(wrong) - empty:  # two mistakes are not told by nan alone
        for c, (some, sure) in put_together(*given, inputs).items():
            found[c] = ({"mutant": some[0], "second": some[1]} if len(some) > 1 else
                        {"mutant": some[0]} | ({} if sure else {"part": ""})) | {"sure": sure}
    for search in (two_mistakes, in_part):
        if any(verdict.kind == "wrong" and c not in found for c, verdict in enumerate(verdicts)):
            found = {c: known for c, known in search(*given).items() if c not in empty} | found
    found = {c: known for c, known in found.items()
             if not verdicts[c].swapped or not known.keys() & {"second", "part"}}
    return {
        cases[c].name: known | {k: question.mutants[known[k]] for k in ("mutant", "second") if k in known}
        | {"others": tuple(question.mutants[m] for m in known.get("others", ()))}
        for c, known in found.items()
    }


def _settled(found, verdicts):
    """Does one mistake explain every wrong case, and no other case speak against it?"""
    failed = [c for c, verdict in enumerate(verdicts) if not verdict.ok]
    return (all(c in found and found[c]["sure"] for c in failed)
            and len({known["mutant"] for known in found.values()}) == 1)


def score(question, outcomes):
    """Points of the cases that pass; a guard that fails takes away the points of the case that it guards."""
    passed = {o.case.name for o in outcomes if o.verdict.ok}
    lost = {o.case.guards for o in outcomes if not o.verdict.ok}
    return sum(case.points for case in question.public if case.name in passed and case.name not in lost)


def _shapes(inputs, most=90):
    """The shapes of the inputs on one line: of many arrays the first, and how many more there are."""
    shapes = [f"{name} {value.shape}" for name, value in inputs.items() if isinstance(value, np.ndarray)]
    shown = len(shapes)
    while shown > 1 and len("  ".join(shapes[:shown])) > most:
        shown -= 1
    rest = [f"and {len(shapes) - shown} more"] if shown < len(shapes) else []
    return "  ".join(shapes[:shown] + rest)


class Line(NamedTuple):
    text: str
    indent: int = 8
    mark: str = ""  # "head", "ok" or "FAIL"
    section: str = ""  # to read again

    def __str__(self):
        mark = f"{self.mark:<4}  " if self.mark in ("ok", "FAIL") else ""
        return " " * self.indent + mark + self.text + (f"  -> section {self.section}" if self.section else "")


def _lines(report):
    question = report.question
    head = f"{question.id}  {question.name}  {report.points} / {report.max_points} points"
    older = [Line(f"{report.older}.", 2)] if report.older else []
    if report.note or not report.attempted:
        return [Line(f"{head}  {report.note or 'not attempted'}", 0, "head"), *older]
    lines, told = [Line(head, 0, "head"), *older], {}
    if all(o.verdict.kind in ("nothing", "not attempted", "not run") for o in report.outcomes):
        return [*lines, Line("your function returns nothing: is there a return at its end?", 2)]
    width = max(len(o.case.name) for o in report.outcomes)
    for o in report.outcomes:
        if o.verdict.kind == "not run":
            lines.append(Line(f"not run: {o.case.name} (fix '{o.verdict.text}' first)", 2))
            continue
        about = o.case.says if o.verdict.ok or not o.given else o.given
        lines.append(Line(f"{o.case.name:<{width}}  {about}".rstrip(), 2, "ok" if o.verdict.ok else "FAIL"))
        text = {"not attempted": "returned None"}.get(o.verdict.kind, o.verdict.text)
        lines += [Line(line) for line in text.splitlines()]
        which = o.mutant, o.second, o.others
        if which in told:
            mistakes = "two mistakes" if o.second else "possible mistakes" if o.others else "mistake"
            lines.append(Line(f"The same {mistakes} as in '{told[which]}'."))
        elif o.mutant:
            told[which] = o.case.name
            for ahead, mutant in ((o.ahead, o.mutant), ("", o.second), *(("Or: ", other) for other in o.others)):
                lines += [Line(f"{ahead}{mutant.message}", section=mutant.section)] if mutant else []
            if o.besides:
                lines.append(Line(f"Compared with what this mistake alone gives: {o.besides}"))
        elif o.verdict.remark:
            lines += [Line(line) for line in o.verdict.remark.splitlines()]
        # expected numbers belong to the public cases alone
        lines += [] if o.case.hidden else [Line(line) for line in o.verdict.detail]
    return lines
