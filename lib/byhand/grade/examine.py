"""Try an answer on the cases of its question, and put the outcome into words."""

from dataclasses import dataclass

import numpy as np

from .judge import Verdict, finish, judge, recognise
from .model import DISPLAY, Case, Mutant, Question, make_inputs
from .run import run


@dataclass(frozen=True)
class Outcome:
    case: Case
    verdict: Verdict
    mutant: Mutant | None = None  # the known mistake that gives the same wrong answer
    given: str = ""  # shapes of the inputs
    sure: bool = True  # False if that mistake would also show in a case that this answer passes


@dataclass(frozen=True)
class Report:
    """What `check` returns.  Its text is deterministic."""

    question: Question
    outcomes: tuple[Outcome, ...]
    note: str = ""  # why no case was run

    @property
    def points(self):
        return score(self.question, self.outcomes)

    @property
    def max_points(self):
        return self.question.points

    @property
    def passed(self):
        return self.points == self.max_points

    def __repr__(self):
        return "\n".join(_lines(self))


def examine(question, answer, expected, cases=None, key=DISPLAY):
    """Run the cases in order; `expected(case)` gives the right arrays.  A failed case spares those that need it,
    and the open ones that guard it."""
    done, failed, results = [], {}, []
    for case in question.public if cases is None else cases:
        blocked = [name for name in (*case.needs, *([case.guards] if case.open else [])) if name in failed]
        if blocked:
            failed[case.name] = failed[blocked[0]]
            done.append((case, Verdict("not run", failed[blocked[0]])))
            continue
        inputs = make_inputs(question, case, key)
        result = finish(question, inputs, run(answer, inputs, question))
        verdict = judge(question, case, result, expected(case))
        if not verdict.ok:
            failed[case.name] = case.name
        done.append((case, verdict))
        results.append((case, verdict, result, inputs))
    known = _known_mistakes(question, results) if failed else {}
    shapes = {case.name: _shapes(inputs) for case, _, _, inputs in results}
    found = ((case, verdict, *known.get(case.name, (None, True))) for case, verdict in done)
    return tuple(Outcome(case, verdict, who, shapes.get(case.name, ""), sure) for case, verdict, who, sure in found)


def _known_mistakes(question, results):
    if all(verdict.kind in ("ok", "error", "not attempted", "nothing") for _, verdict, _, _ in results):
        return {}
    cases, verdicts, mine, inputs = zip(*((c, v, r, i) for c, v, r, i in results), strict=True)
    theirs = [[finish(question, i, run(m.function, i, question)) for i in inputs] for m in question.mutants]
    found = recognise(question, cases, mine, theirs, verdicts)
    return {c.name: (question.mutants[hit[0]], hit[1]) for c, hit in zip(cases, found, strict=True) if hit is not None}


def score(question, outcomes):
    """Points of the cases that pass; a guard that fails takes away the points of the case that it guards."""
    passed = {o.case.name for o in outcomes if o.verdict.ok}
    lost = {o.case.guards for o in outcomes if not o.verdict.ok}
    return sum(case.points for case in question.public if case.name in passed and case.name not in lost)


def _shapes(inputs):
    return "  ".join(f"{name} {value.shape}" for name, value in inputs.items() if isinstance(value, np.ndarray))


def _lines(report):
    question = report.question
    head = f"{question.id}  {question.name}  {report.points} / {report.max_points} points"
    attempted = any(o.verdict.kind not in ("not attempted", "not run") for o in report.outcomes)
    if report.note or not attempted:
        return [f"{head}  {report.note or 'not attempted'}"]
    if all(o.verdict.kind in ("nothing", "not attempted", "not run") for o in report.outcomes):
        return [head, "  your function returns nothing: is there a return at its end?"]
    lines, told = [head], {}
    width = max(len(o.case.name) for o in report.outcomes)
    for o in report.outcomes:
        if o.verdict.kind == "not run":
            lines.append(f"  not run: {o.case.name} (fix '{o.verdict.text}' first)")
            continue
        about = o.case.says if o.verdict.ok or not o.given else o.given
        lines.append(f"  {'ok  ' if o.verdict.ok else 'FAIL'}  {o.case.name:<{width}}  {about}".rstrip())
        text = {"not attempted": "returned None"}.get(o.verdict.kind, o.verdict.text)
        lines += [" " * 8 + line for line in text.splitlines()]
        if o.mutant and o.mutant in told:
            lines.append(f"        The same mistake as in '{told[o.mutant]}'.")
        elif o.mutant:
            told[o.mutant] = o.case.name
            doubt = "" if o.sure else "In this case it looks like this: "
            lines.append(f"        {doubt}{o.mutant.message}  -> section {o.mutant.section}")
        elif o.verdict.remark:
            lines.append(f"        {o.verdict.remark}")
        # expected numbers belong to the public cases alone
        lines += [] if o.case.hidden else [" " * 8 + line for line in o.verdict.detail]
    return lines
