"""An answer with two mistakes: neither known one gives it alone, but both do together, or one of them does in part."""

import itertools
from dataclasses import dataclass, replace

import numpy as np

from .alike import ENOUGH, against, weight
from .compose import pairs
from .judge import finish
from .recognise import SEEN, same, same_array, shows
from .run import Result, run

_abs, _isfinite, _where, _errstate, _Float = np.abs, np.isfinite, np.where, np.errstate, np.float64
RUNS = {"torch": 200, "arrays": 1200, "numbers": 6000}  # of wrong versions put together, at most; 0.3 s of CPU
SMALL, MANY = 10, 30  # of whole numbers below SMALL in size, so many must be wrong before two mistakes are put together


def put_together(question, cases, mine, theirs, verdicts, expected, inputs):
    """By the place of each wrong case, (mutants, sure): the two that give the answer in all cases when their changes
    are put together in one function, or the one of them that is enough there.  Not sure: one of the two, for several
    pairs that have it give the answer."""
    functions = [mutant.function for mutant in question.mutants]
    seen = [c for c, result in enumerate(mine) if result.kind in SEEN]
    wrong = sorted((c for c in seen if not verdicts[c].ok), key=lambda c: _size(inputs[c]))
    if None in functions or not wrong:  # a package for students has no code of mistakes
        return {}
    agrees = [[same(question, *each) for each in zip(cases, mine, row, strict=True)] for row in theirs]
    if any(all(row[c] for c in seen) for row in agrees):
        return {}
    facts = [_facts(question, case, mine[c], [row[c] for row in theirs], expected[c]) for c, case in enumerate(cases)]
    if _few_small(wrong, facts):
        return {}
    good = [c for c in seen if verdicts[c].ok]
    hinders = [sum(facts[c].clears(m) for c in seen) for m in range(len(functions))]

    def gives(function, c):
        return finish(question, inputs[c], run(function, inputs[c], question))

    def right(function):
        return same(question, cases[wrong[0]], gives(function, wrong[0]), Result("ok", tuple(expected[wrong[0]])))

    made = sorted(pairs(functions, right), key=lambda pair: (hinders[pair[0]] + hinders[pair[1]], pair[:2]))
    found, most = set(), RUNS[_kind(question, inputs[0])]
    for i, j, function in made[:most]:
        if all(same(question, cases[c], mine[c], gives(function, c)) for c in (*wrong, *good)):
            found.add((i, j))
    pair = tuple(sorted(set.intersection(*map(set, found)))) if found else ()
    if not pair:  # none, or several that have nothing in common
        return {}
    alone = {c: next((m for m in pair if agrees[m][c]), None) for c in wrong}
    return {c: (pair if m is None else (m,), m is not None or len(pair) == 2) for c, m in alone.items()}


def _few_small(wrong, facts):
    """Is all that is wrong a few small whole numbers?  Among so many pairs some give them by chance."""
    count = 0
    for c in wrong:
        for i in facts[c].wrong:
            if facts[c].mine is None or facts[c].mine[i].shape != facts[c].expected[i].shape:
                return False
            mine, right = facts[c].mine[i], facts[c].expected[i]
            if not _small(mine) or right.dtype.kind in "biu" and not _small(right):
                return False
            count += int((mine != right).sum())
    return count < MANY


def _small(array):
    """Whole numbers below SMALL, also as floats: an identity matrix tells as little as its zeros and ones."""
    if array.dtype.kind not in "biuf":
        return False
    numbers = array.astype(_Float)
    return bool((_abs(numbers) < SMALL).all() and (_abs(numbers - numbers.round()) < 1e-9).all())


def _kind(question, inputs):
    if question.torch:
        return "torch"
    return "arrays" if any(isinstance(x, np.ndarray | list | dict) for x in inputs.values()) else "numbers"


def _size(value):
    if isinstance(value, dict):
        return sum(map(_size, value.values()))
    return sum(map(_size, value)) if isinstance(value, list | tuple) else np.size(value)


def two_mistakes(question, cases, mine, theirs, verdicts, expected):
    """By the place of each wrong case, {mutant, second}: the two mutants that together give its arrays, where neither
    does alone: one in some outputs and one in the others, or both in the same numbers, where their corrections add up
    or multiply.  Together they explain every wrong case; an output that is right clears every mutant that has it wrong.
    `theirs[m][c]` are the results of mutant m."""
    facts = [_facts(question, case, mine[c], [row[c] for row in theirs], expected[c]) for c, case in enumerate(cases)]
    found, best = {}, 0
    for pair in itertools.combinations(range(len(theirs)), 2):
        if any(fact.clears(m) for m in pair for fact in facts):
            continue
        met, numbers, shared = [], 0, False
        for c, (verdict, fact) in enumerate(zip(verdicts, facts, strict=True)):
            if verdict.kind != "wrong" or any(set(fact.wrong) <= fact.fits[m] for m in pair):
                continue
            if (counted := fact.explained(*pair)) is None:
                met = []
                break
            met.append(c)
            numbers, shared = numbers + counted, shared or counted > 0
        if len(met) > best and (numbers >= ENOUGH or not shared):
            found, best = dict.fromkeys(met, dict(zip(("mutant", "second"), pair, strict=True))), len(met)
    return found


def in_part(question, cases, mine, theirs, verdicts, expected):
    """By the place of each wrong case, {mutant, part, besides} where one output is that of a mutant in every case, or
    is it but for a part of it, and then `besides` says which.  Another output may be wrong in a way that nobody knows,
    but what is right is right in the mutant."""
    facts = [_facts(question, case, mine[c], [row[c] for row in theirs], expected[c]) for c, case in enumerate(cases)]
    best = {}
    for m in range(len(theirs)):
        if any(fact.clears(m) for fact in facts):
            continue
        for i, name in enumerate(question.judged):
            met = [c for c, fact in enumerate(facts) if fact.mine is not None and i in fact.wrong]
            ways = [facts[c].way(m, i) for c in met]
            if not met or None in ways or len({rank for rank, _, _ in ways}) > 1:
                continue
            if sum(numbers for _, _, numbers in ways) >= ENOUGH:
                rank = (ways[0][0], len(set().union(*(facts[c].off(m) for c in met))))
                for c, (_, words, _) in zip(met, ways, strict=True):
                    if verdicts[c].kind == "wrong" and (c not in best or rank < best[c][0]):
                        best[c] = rank, {"mutant": m, "part": name, "besides": words}
    return {c: told for c, (_, told) in best.items()}


@dataclass(frozen=True)
class _Facts:
    """Of one case: which outputs of the answer and of each mutant are right, and which agree with each other."""

    case: object
    mine: tuple | None  # None where there are no arrays to compare
    theirs: list  # arrays by mutant, None where there are none to compare
    expected: tuple
    looked: list  # places of the outputs that count
    wrong: list  # those in which the answer is wrong
    fits: list  # by mutant: the outputs in which it agrees with the answer
    right: list  # by mutant: the outputs in which it is right

    def clears(self, m):
        return self.mine is not None and not set(self.looked) - set(self.wrong) <= self.right[m]

    def off(self, m):
        return set(self.looked) - self.right[m]

    def explained(self, a, b):
        """How many numbers it takes both mistakes to make; None where the two do not give this answer."""
        if any(self.theirs[m] is None or set(self.wrong) <= self.fits[m] for m in (a, b)):
            return None
        count = 0
        for i in self.wrong:
            if not (i in self.fits[a] and i in self.right[b] or i in self.fits[b] and i in self.right[a]):
                arrays = self.mine[i], self.theirs[a][i], self.theirs[b][i], self.expected[i]
                numbers = int((arrays[0] != arrays[3]).sum())
                if numbers < MANY and _small(arrays[0]) or not _combined(*arrays, self.case):
                    return None
                count += numbers
        return count

    def way(self, m, i):
        """(rank, words, numbers that agree): how output i comes from that of the mutant; None if it does not."""
        if self.theirs[m] is None or i in self.right[m]:
            return None
        mine, known, right = self.mine[i], self.theirs[m][i], self.expected[i]
        if i in self.fits[m]:
            return 0, "", weight(mine, right)
        if not all(array.dtype.kind == "f" and _isfinite(array).all() for array in (mine, known, right)):
            return None
        words, numbers = against(mine, known, right) or ("", 0)
        return (1, words, numbers) if words else None


def _facts(question, case, mine, theirs, expected):
    looked = [i for i, name in enumerate(question.judged) if not case.look or name in case.look]
    arrays = [r.arrays if _plain_arrays(r) else None for r in theirs]
    own = mine.arrays if _plain_arrays(mine) else None

    def agree(some, others):
        if some is None or others is None:
            return set()
        return {i for i in looked if same_array(some[i], others[i], case)}

    fine = agree(own, expected)
    return _Facts(
        case, own, arrays if own is not None else [None] * len(arrays), expected, looked,
        [i for i in looked if i not in fine],
        [{i for i in agree(a, own) if i in fine or shows(own[i], a[i], expected[i], case)} for a in arrays],
        [agree(a, expected) for a in arrays],
    )


def _plain_arrays(result):
    return result.kind == "ok" and not result.changed and not any(isinstance(a, str) for a in result.arrays)


def _comparable(array, right):
    return array.shape == right.shape and array.dtype.kind == "f" == right.dtype.kind and bool(_isfinite(array).all())


def _combined(mine, a, b, right, case):
    if not all(_comparable(array, right) for array in (mine, a, b)):
        return False
    near = replace(case, rtol=max(case.rtol, 1e-8))
    with _errstate(all="ignore"):
        summed, product = a + b - right, _where(right == 0, a + b, a * b / right)
    for both in (summed, product):
        if _isfinite(both).all() and same_array(mine, both, near):
            # not where one of them changes nothing, or both are one mistake
            others = (right, a), (right, b), (a, b), (both, a), (both, b), (both, right)
            return not any(same_array(*pair, case) for pair in others)
    return False
