"""Chapter 13: how good a translation is: BLEU and chrF count n-grams, the alignment error rate counts links.

Plain Python over sequences of tokens (strings or ids), for both halves. Scores go from 0 to 100, the error rate from
0 to 1.
"""

import math
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from jaxtyping import Float
from numpy import ndarray as Array

from byhand.check import Index, Positive, Size, at_least, checked
from byhand.check.numbers import AtLeast, Whole, kind_of

SMOOTHING = {"none": None, "floor": 0.1, "add-k": 1.0, "exp": None}  # name → the value used without one
Smoothing = Literal["none", "floor", "add-k", "exp"]
POSITION = Whole((AtLeast(0),))
Tokens = list | tuple | Array  # of strings or ids


class _Row:
    """The tokens of one text: what is counted can be found again, so it has a hash, as strings and ids have."""

    binds = False

    def __call__(self, where: str, name: str, x: Any, seen: dict) -> Any:
        try:
            if not isinstance(x, str):
                hash(tuple(x))
        except TypeError:
            raise TypeError(f"{where}: {name} is {x!r:.60}, expected a list of strings or ids") from None
        if not isinstance(x, str | Tokens):
            raise TypeError(f"{where}: {name} is {kind_of(x)}, expected a list of strings or ids")
        return x


ROW = _Row()
Links = Collection[tuple[int, int] | list | Array]  # (source position, target position), both from 0


class Bleu(NamedTuple):
    score: float  # 100 · brevity · the geometric mean of the precisions
    precisions: tuple[float, ...]  # of 1-grams, 2-grams, …
    brevity: float  # at most 1
    length: int  # tokens of all hypotheses
    reference_length: int  # tokens of the closest reference of each, summed


@checked
def corpus_bleu(
    hypotheses: Sequence[Tokens],
    references: Sequence[Sequence[Tokens]],
    order: Size = 4,
    smoothing: Smoothing = "none",
    value: Positive | None = None,
) -> Bleu:
    """BLEU of a corpus (Papineni et al. 2002): brevity · exp(mean of ln p_n), n = 1 … `order`.

    references[i] lists the references of hypotheses[i]. p_n divides two sums over the corpus: n-grams that match, each
    at most as often as in one reference, by all n-grams. brevity = min(1, exp(1 − r/c)), r the sum of the closest
    reference lengths. The score is 0 when some p_n is, unless smoothed: "floor" counts 0 matches as `value`; "add-k"
    adds `value` above and below for n > 1; "exp" halves from one p_n = 0 to the next (Chen and Cherry 2014).
    """
    value = _smoothing("corpus_bleu", hypotheses, references, smoothing, value)
    return _bleu([_counts(h, r, order) for h, r in zip(hypotheses, references, strict=True)], smoothing, value)


@checked
def sentence_bleu(
    hypothesis: Tokens,
    references: Sequence[Tokens],
    order: Size = 4,
    smoothing: Smoothing = "exp",
    value: Positive | None = None,
) -> Bleu:
    """BLEU of one sentence; orders that it is too short for are left out, so that three right words can have 100."""
    value = _smoothing("sentence_bleu", [hypothesis], [references], smoothing, value)
    return _bleu([_counts(hypothesis, references, order)], smoothing, value, effective=True)


def _counts(hypothesis, references, order) -> tuple[list, list, int, int]:
    """Matches and n-grams of each order, the hypothesis' length, and that of the closest reference (ties: shorter)."""
    match, total = [], []
    for n in range(1, order + 1):
        found, allowed = ngrams(hypothesis, n), Counter()
        for reference in references:
            allowed |= ngrams(reference, n)
        match.append((found & allowed).total())
        total.append(found.total())
    length = len(hypothesis)
    return match, total, length, min((len(r) for r in references), key=lambda r: (abs(r - length), r))


def _bleu(counts, smoothing, value, effective=False) -> Bleu:
    """From the counts of the sentences to the score: everything is summed before anything is divided."""
    matches, totals, lengths, closest = zip(*counts, strict=True)
    match, total = ([float(sum(column)) for column in zip(*rows, strict=True)] for rows in (matches, totals))
    c, r = sum(lengths), sum(closest)
    brevity = 0.0 if c == 0 else min(1.0, math.exp(1 - r / c))  # (13.10)
    p, zeros = [0.0] * len(match), 0
    for n in range(len(p) if any(match) else 0):  # without a single match no smoothing helps
        if smoothing == "add-k" and n > 0:
            match[n], total[n] = match[n] + value, total[n] + value
        if total[n] == 0:
            break
        p[n] = match[n] / total[n]  # (13.9)
        if match[n] == 0 and smoothing == "floor":
            p[n] = value / total[n]
        if match[n] == 0 and smoothing == "exp":
            zeros += 1
            p[n] = 0.5**zeros / total[n]
    used = p[: sum(t > 0 for t in total)] if effective else p
    score = 100 * brevity * math.exp(sum(map(math.log, used)) / len(used)) if used and min(used) > 0 else 0.0  # (13.11)
    return Bleu(score, tuple(p), brevity, c, r)


@checked
def ngrams(tokens: Annotated[Any, ROW], n: Size) -> Counter:
    """How often each run of `n` tokens occurs."""
    return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


@checked
def chrf(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], order: Size = 6, beta: Positive = 2.0
) -> float:
    """chrF of a corpus of strings (Popović 2015): (1 + β²) P R / (β² P + R) over n-grams of characters.

    P and R are means over the orders 1 … `order` that both sides have. White space does not count; of several
    references the one with the best score does.
    """
    _corpus("chrf", hypotheses, references, str, "str")
    best = []
    for hypothesis, refs in zip(hypotheses, references, strict=True):
        found = [ngrams("".join(hypothesis.split()), n) for n in range(1, order + 1)]
        rows = []
        for reference in refs:
            real = [ngrams("".join(reference.split()), n) for n in range(1, order + 1)]
            rows.append([(f.total() if r else 0, r.total(), (f & r).total()) for f, r in zip(found, real, strict=True)])
        best.append(max(rows, key=lambda row: _f_score(row, beta)))
    return _f_score([tuple(map(sum, zip(*column, strict=True))) for column in zip(*best, strict=True)], beta)


def _f_score(rows, beta) -> float:
    """100 · F_β of (n-grams of the hypothesis, of the reference, of both) for each order."""
    pairs = [(match / found, match / real) for found, real, match in rows if found and real]
    P, R = (sum(side) / len(pairs) for side in zip(*pairs, strict=True)) if pairs else (0.0, 0.0)
    return 100 * ((1 + beta * beta) * P * R / (beta * beta * P + R)) if P + R else 0.0  # (13.12)


@checked
def align(
    A: Float[Array, "*H n m"], targets: Index | None = None, sources: Index | None = None
) -> set[tuple[int, int]]:
    """Links (source, target): each target token to the source token with its largest weight, over the mean of heads.

    Row t of A is the query that predicts target token t. Only the first `targets` rows and `sources` columns are words;
    a token that looks at the rest (the end mark, say) has no link. Of equal weights the first counts.
    """
    at_least("align", 1, heads=math.prod(A.shape[:-2]))
    n, m = A.shape[-2:]
    targets, sources = n if targets is None else targets, m if sources is None else sources
    if targets > n or sources > m:
        raise ValueError(f"align: targets and sources are {targets} and {sources}, expected at most {n} and {m}, "
                         "the rows and columns of A")
    best = A.reshape(-1, n, m).mean(axis=0).argmax(axis=-1)  # (13.13)
    return {(int(j), t) for t, j in enumerate(best[:targets]) if j < sources}


@checked
def alignment_error_rate(
    sure: Sequence[Links], predicted: Sequence[Links], possible: Sequence[Links] | None = None
) -> float:
    """AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|), counted over the corpus (Och and Ney 2003).

    A are the predicted links, S the sure and P ⊇ S the possible ones (None: no others), a collection a sentence.
    """
    where = "alignment_error_rate"
    possible = sure if possible is None else possible
    sets = {}
    for name, side in (("sure", sure), ("predicted", predicted), ("possible", possible)):
        sets[name] = [_links(where, f"{name}[{i}]", links) for i, links in enumerate(side)]
        if len(sets[name]) != len(sure):
            raise ValueError(f"{where}: {name} has {len(side)} sentences but sure has {len(sure)}")
    hits = size = 0
    for i, (S, A, P) in enumerate(zip(*sets.values(), strict=True)):
        if not S <= P:
            raise ValueError(f"{where}: possible[{i}] lacks {min(S - P)}, expected every sure link among the possible")
        hits, size = hits + len(A & S) + len(A & P), size + len(A) + len(S)
    if not size:
        raise ValueError(f"{where}: sure and predicted have 0 links, expected at least 1")
    return 1 - hits / size  # (13.14)


def _links(where, name, links) -> set:
    """The set of pairs of ints; a file of JSON has lists where we have tuples, and an array has rows."""
    if not isinstance(links, Collection):
        raise TypeError(f"{where}: {name} is {kind_of(links)}, expected pairs (source, target)")
    pairs = set()
    for link in links:
        if not isinstance(link, tuple | list | Array) or len(link) != 2:
            raise TypeError(f"{where}: {name} holds {link!r}, expected pairs (source, target)")
        pairs.add(tuple(POSITION(where, f"a position of {name}", place, {}) for place in link))
    return pairs


def _smoothing(where, hypotheses, references, smoothing, value) -> float | None:
    """The arguments of BLEU are what they should be; the value that the smoothing uses."""
    if value is not None and SMOOTHING[smoothing] is None:
        raise ValueError(f"{where}: value is {value}, expected None with smoothing {smoothing!r}")
    _corpus(where, hypotheses, references, Tokens, "a list of tokens")  # a str would fall to letters
    return SMOOTHING[smoothing] if value is None else value


def _corpus(where, hypotheses, references, kind, expected) -> None:
    """As many hypotheses as lists of references, at least one of each; no reference is empty."""
    if len(hypotheses) != len(references):
        raise ValueError(f"{where}: {len(hypotheses)} hypotheses but {len(references)} lists of references")
    if not len(hypotheses):
        raise ValueError(f"{where}: number of hypotheses is 0, expected at least 1")
    for i, (hypothesis, refs) in enumerate(zip(hypotheses, references, strict=True)):
        if not isinstance(refs, list | tuple) or not refs:
            raise ValueError(f"{where}: references[{i}] is {refs!r}, expected a list of at least 1 reference")
        named = {f"hypotheses[{i}]": hypothesis} | {f"references[{i}][{j}]": r for j, r in enumerate(refs)}
        for name, text in named.items():
            if not isinstance(text, kind):
                raise TypeError(f"{where}: {name} is {type(text).__name__}, expected {expected}")
            ROW(where, name, text, {})
            if not len(text) and name[0] == "r":
                raise ValueError(f"{where}: {name} is empty, expected at least 1 token")
