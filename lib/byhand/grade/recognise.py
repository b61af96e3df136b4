"""Which known mistake gives the same wrong answer.  Like the judge, it sees arrays alone."""

import math
from typing import NamedTuple

import numpy as np

from .run import Result

_abs, _isfinite, _isnan, _Float = np.abs, np.isfinite, np.isnan, np.float64  # bound now, as in the judge
SEEN = ("ok", "structure")  # kinds of results that can be compared
FAR = 10  # times: what is well over a tolerance, or much further
MANY = 3  # as many known mistakes that give the same are named side by side; of more, none


def same(question, case, mine, other):
    """Do two results agree in everything that the case looks at?  Finds the mutant that an answer equals."""
    if mine.kind != other.kind or mine.changed != other.changed:
        return False
    if mine.kind != "ok":
        return mine.kind == "structure" and mine.text == other.text
    for name, a, b in zip(question.judged, mine.arrays, other.arrays, strict=True):
        if (not case.look or name in case.look) and not same_array(a, b, case):
            return False
    return True


def same_array(a, b, case):
    if isinstance(a, str) or isinstance(b, str):
        return isinstance(a, str) and isinstance(b, str) and a == b
    if a.dtype.kind in "iu" and b.dtype == _Float:
        a = a.astype(_Float)  # 0 is 0.0
    elif a.ndim == b.ndim == 0 and a.dtype == _Float and b.dtype.kind in "iu":
        b = b.astype(_Float)  # and 450.0 is 450; floats in an array of ids are a mistake of their own
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind not in "fc":
        return bool((a == b).all())
    if a.ndim == 0 and b.dtype == _Float and math.isfinite(y := b.item()):  # most comparisons of some sets
        return abs(a.item() - y) <= case.rtol * abs(y) + case.atol
    finite = _isfinite(b)
    if finite.all():
        if not _isfinite(a).all():
            return False
    elif not ((_isfinite(a) == finite) & (_isnan(a) == _isnan(b))).all():
        return False
    else:
        a, b = a[finite], b[finite]
    rtol = case.rtol if b.dtype == _Float else max(case.rtol, 1e-5)
    return bool(b.size == 0 or float(_abs(a - b).max()) <= rtol * float(_abs(b).max()) + case.atol)


def shows(mine, known, right, case):
    """Is an array, within the tolerance that of a mistake, its own?  Yes, if the mistake is wrong by well over the
    tolerance, or much further from the right one than from the answer.  Where a mistake hardly shows, as in weights of
    0 and 1, any small error would else be taken for it."""
    arrays = mine, known, right
    if any(isinstance(a, str) or a.dtype.kind not in "fc" or a.shape != mine.shape for a in arrays):
        return True
    finite = _isfinite(mine) & _isfinite(known) & _isfinite(right)
    if not finite.all() and not (_isfinite(mine) == _isfinite(right)).all():
        return True  # nan or inf where there should be a number: wrong by more than enough
    mine, known, right = (a[finite].astype(_Float) for a in arrays)
    off = float(_abs(known - right).max(initial=0.0))
    tolerance = case.rtol * float(_abs(right).max(initial=0.0)) + case.atol
    return off > FAR * tolerance or off >= FAR * float(_abs(mine - known).max(initial=0.0))


def _equals(question, case, mine, known, right):
    """Does a mistake give this wrong answer?"""
    if not same(question, case, mine, known):
        return False
    if mine.kind != "ok" or mine.changed:
        return True
    return all(shows(mine.arrays[i], known.arrays[i], right[i], case) for i in _wrong(question, case, mine, right))


def _looked(question, case):
    return [i for i, name in enumerate(question.judged) if not case.look or name in case.look]


def _wrong(question, case, mine, right):
    """The outputs that are wrong; of what cannot be compared, all."""
    looked = _looked(question, case)
    return {i for i in looked if mine.kind != "ok" or not same_array(mine.arrays[i], right[i], case)}


def _differs(question, case, mine, known, right, wrong):
    """Is an answer, in this case, not what one who makes a mistake would give, by the outputs in which it shows
    elsewhere, and by those that are right here?"""
    if "ok" != mine.kind or "ok" != known.kind:
        return not same(question, case, mine, known)
    fine = set(_looked(question, case)) - _wrong(question, case, mine, right)
    return any(not same_array(mine.arrays[i], known.arrays[i], case)
               for i in _looked(question, case) if i in wrong or i in fine)


def nothing_but_nan(question, case, mine):
    """Is nan all that came?  Then it says next to nothing about where it came from."""
    looked = [mine.arrays[i] for i in _looked(question, case)] if mine.kind == "ok" else []
    return bool(looked) and all(not isinstance(a, str) and a.dtype.kind in "fc" and a.size > 0 and _isnan(a).all()
                                for a in looked)


class Known(NamedTuple):
    """What is known of a wrong case."""

    mutants: tuple  # the place of the mistake that gives it; of several, if nothing tells them apart
    sure: bool = True  # it is one, and no other case speaks against it
    nan: bool = False  # it is told by nan alone, in this and every other case


def recognise(question, cases, results, mutant_results, verdicts, expected):
    """For each case that failed, Known or None: the mutant that gives the same wrong answer there; of several, one
    that is not wrong where the answer is right, then the one that agrees with the answer in most cases, and then the
    one that says least beyond that: elsewhere it is right rather than wrong in another way.  Those that are left with
    different messages are named side by side, up to MANY.  Sure if it is of the first kind, and no other case speaks
    against it; where nothing but nan came, only such a one is named.  `mutant_results[m][c]` are the results of
    mutant m."""
    failed = [c for c, verdict in enumerate(verdicts) if not verdict.ok]
    right = [Result("ok", tuple(arrays)) for arrays in expected]
    agrees = []  # of a mutant that explains no case, nothing more is asked
    for row in mutant_results:
        there = {c: _equals(question, cases[c], results[c], row[c], expected[c]) for c in failed}
        rest = (c for c in range(len(cases)) if c not in there) if any(there.values()) else ()
        agrees.append(there | {c: same(question, cases[c], results[c], row[c]) for c in rest})
    fits = [all(agree for c, agree in row.items() if verdicts[c].ok) for row in agrees]
    empty = {c for c in failed if nothing_but_nan(question, cases[c], results[c])}

    def beyond(m):
        row = mutant_results[m]
        return sum(not agrees[m][c] and not same(question, cases[c], row[c], right[c])
                   for c in failed if results[c].kind in SEEN)

    def against(m):
        """Does another case that failed speak against it?  An answer that stops there does not."""
        row, wrong = mutant_results[m], set()
        for c in failed:
            wrong |= _wrong(question, cases[c], results[c], expected[c]) if agrees[m][c] else set()
        return any(_differs(question, cases[c], results[c], row[c], expected[c], wrong)
                   for c in failed if not agrees[m][c] and results[c].kind in SEEN)

    def said(some):
        """Those among some mistakes that say different things."""
        messages = {}
        for m in some:
            messages.setdefault((question.mutants[m].message, question.mutants[m].section), m)
        return tuple(messages.values())

    def known(c):
        candidates = [m for m, row in enumerate(agrees) if row[c]]
        for key in (lambda m: (fits[m], sum(agrees[m].values())), lambda m: -beyond(m)):
            keys = list(map(key, candidates)) if candidates[1:] else []
            candidates = [m for m, k in zip(candidates, keys, strict=True) if k == max(keys)] if keys else candidates
        candidates = said(candidates)
        if not 0 < len(candidates) <= MANY:
            return None
        sure = len(candidates) == 1 and fits[candidates[0]] and not against(candidates[0])
        if c not in empty:
            return Known(candidates, sure)
        told = any(agrees[m][k] and k not in empty for m in candidates for k in range(len(cases)))
        alike = all(set(mutant_results[m][c].events) == set(results[c].events) for m in candidates)
        return Known(candidates, sure and told, not told) if sure and (told or alike) else None

    return [None if verdict.ok else known(c) for c, verdict in enumerate(verdicts)]


def one_off(question, cases, results, verdicts, expected):
    """The sentence about a whole number that is one more, or one less, than expected in every case that failed, two
    at least; "" elsewhere."""
    gaps = set()
    failed = [c for c, verdict in enumerate(verdicts) if not verdict.ok]
    for c in failed:
        if verdicts[c].kind != "wrong":
            return ""
        for name, mine, right in zip(question.judged, results[c].arrays, expected[c], strict=True):
            if (cases[c].look and name not in cases[c].look) or same_array(mine, right, cases[c]):
                continue
            gaps.add((name, float(mine) - float(right)) if mine.ndim == 0 and right.dtype.kind == "i" else None)
    if len(failed) < 2 or len(gaps) != 1 or None in gaps or abs(next(iter(gaps))[1]) != 1:
        return ""
    name, gap = gaps.pop()
    return f"In every case that failed, {name} is one {'more' if gap > 0 else 'less'} than expected."
