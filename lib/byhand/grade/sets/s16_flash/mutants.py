"""Known wrong answers, each with the message that names the misconception."""

import itertools
import math

import numpy as np

from ...model import Mutant

# 16.1


def _roof(flops=lambda t, i, o: 2 * t * i * o, numbers=lambda t, i, o: t * i + i * o + t * o, size=lambda x: x,
          join=max, give=lambda intensity, seconds: (intensity, seconds)):
    def function(tokens, d_in, d_out, itemsize, peak, bandwidth):
        C = flops(tokens, d_in, d_out)
        B = size(itemsize) * numbers(tokens, d_in, d_out)
        return give(C / B, join(C / peak, B / bandwidth))

    return function


def _roof_in_part(join=max, size=1, alone=2, by=1):
    """The seconds from other numbers than the intensity."""

    def function(tokens, d_in, d_out, itemsize, peak, bandwidth):
        C = 2 * tokens * d_in * d_out
        numbers = tokens * d_in + d_in * d_out + tokens * d_out
        C_2, B_2 = alone * tokens * d_in * d_out, (itemsize if size == 1 else 1) * numbers
        return C / (itemsize * numbers), join(C_2 / peak, B_2 / bandwidth) / (by if by == 1 else tokens)

    return function


def _fields_exchanged(tokens, d_in, d_out, itemsize, peak, bandwidth):
    return _roof()(tokens, d_in, d_out, itemsize, bandwidth, peak)


def _corner(tokens, d_in, d_out, itemsize, peak, bandwidth):
    intensity, seconds = _roof()(tokens, d_in, d_out, itemsize, peak, bandwidth)
    return min(intensity, peak / bandwidth), seconds


TIMES = ("not at all", "once", "twice")
JOINED = (
    ("", max, ""),
    (", times added", lambda a, b: a + b, " And the two times are added: the longer one is the bound."),
    (", the shorter time", min, " And the shorter of the two times is returned: the longer one is the bound."),
)
ROOF_ALL = ("many tokens", "one token", "sixteen bits")
ROOF = (
    Mutant("times added", _roof(join=lambda a, b: a + b),
           "The two times are added. Arithmetic and transport go on at once; the longer of the two is the bound.",
           "16.2", ROOF_ALL),
    Mutant("mean of the times", _roof(join=lambda a, b: (a + b) / 2),
           "The mean of the two times is returned. Both must have passed, so the longer one is the bound.", "16.2",
           ROOF_ALL),
    Mutant("the shorter time", _roof(join=min),
           "The shorter of the two times is returned. Both must have passed, so the longer one is the bound.", "16.2",
           ROOF_ALL),
    Mutant("time of the arithmetic", _roof(join=lambda a, b: a),
           "The time is that of the arithmetic alone. The bytes have to travel too, and where that takes longer it is "
           "the bound.", "16.2", ("one token",)),
    Mutant("time of the transport", _roof(join=lambda a, b: b),
           "The time is that of the transport alone. Where the arithmetic takes longer, it is the bound.", "16.2",
           ("many tokens",)),
    Mutant("products alone", _roof(flops=lambda t, i, o: t * i * o),
           "Multiplications alone are counted; each comes with an addition: 2 n k m.", "16.1", ROOF_ALL),
    Mutant("products alone, in the time", _roof_in_part(alone=1),
           "The time counts multiplications alone; each comes with an addition: 2 n k m.", "16.1", ("many tokens",)),
    Mutant("one addition less", _roof(flops=lambda t, i, o: 2 * t * i * o - t * o),
           "One addition less than products is counted for each number. Count an addition with each product: 2 n k m.",
           "16.1", ROOF_ALL),
    Mutant("a bias", _roof(flops=lambda t, i, o: 2 * t * i * o + t * o),
           "A bias is added, and there is none.", "16.1", ROOF_ALL),
    Mutant("a bias that travels", _roof(numbers=lambda t, i, o: t * i + i * o + t * o + o),
           "A bias travels too, and there is none.", "16.2", ROOF_ALL),
    *(Mutant(f"input {a}, weights {b}, output {c}{how}",
             _roof(numbers=lambda t, i, o, a=a, b=b, c=c: a * t * i + b * i * o + c * t * o, join=join),
             f"Counted: what comes in {TIMES[a]}, the weights {TIMES[b]}, what goes out {TIMES[c]}. Each array travels "
             f"once.{said}", "16.2", ROOF_ALL)
      for a, b, c in itertools.product((0, 1, 2), repeat=3) if (a, b, c) not in ((0, 0, 0), (1, 1, 1), (2, 2, 2))
      for how, join, said in JOINED if not how or max(a, b, c) == 1),
    Mutant("weights for each token", _roof(numbers=lambda t, i, o: t * i + t * i * o + t * o),
           "The weights are read anew for each token. Each array travels once, and serves all tokens.", "16.2",
           ("many tokens", "sixteen bits")),
    Mutant("one token travels", _roof(numbers=lambda t, i, o: i + i * o + o),
           "One token comes in and goes out; there are `tokens` of them.", "16.2", ("many tokens", "sixteen bits")),
    Mutant("numbers for bytes", _roof(size=lambda x: 1),
           "Numbers are counted in place of bytes: each has itemsize of them.", "16.2", ROOF_ALL),
    Mutant("numbers for bytes, in the time", _roof_in_part(size=0),
           "The time counts numbers in place of bytes: each has itemsize of them.", "16.2", ("one token",)),
    Mutant("always four bytes", _roof(size=lambda x: 4),
           "Every number is taken to have four bytes; itemsize says how many it has.", "16.2", ("sixteen bits",)),
    Mutant("bits", _roof(size=lambda x: 8 * x),
           "Bits are counted in place of bytes; itemsize is in bytes already.", "16.2", ROOF_ALL),
    Mutant("itemsize in bits", _roof(size=lambda x: x / 8),
           "itemsize is divided by 8, and it is in bytes already.", "16.2", ROOF_ALL),
    Mutant("bytes for an operation", _roof(give=lambda intensity, seconds: (1 / intensity, seconds)),
           "These are bytes for each operation. What is asked for is operations for each byte.", "16.2", ROOF_ALL),
    Mutant("exchanged", _roof(give=lambda intensity, seconds: (seconds, intensity)),
           "The two numbers are exchanged: first operations for a byte, then seconds.", "16.2", ROOF_ALL),
    Mutant("whole operations", _roof(give=lambda intensity, seconds: (intensity // 1, seconds)),
           "Operations for a byte are rounded down to a whole number; // does that.", "16.2", ROOF_ALL),
    Mutant("never beyond the corner", _corner,
           "The intensity is cut off at the corner, peak over bandwidth. It is what the layer has, on any machine.",
           "16.2", ("many tokens",)),
    Mutant("peak and bandwidth exchanged", _fields_exchanged,
           "Operations are divided by bandwidth and bytes by peak: the peak is in operations a second, the bandwidth "
           "in bytes a second.", "16.2", ROOF_ALL),
    Mutant("seconds a token", _roof_in_part(by=2), "These are the seconds for each token; all of them are asked for.",
           "16.2", ("many tokens", "sixteen bits")),
)

# 16.2

FACTORS = {
    "right": lambda a, b, m: (np.exp(a - m), np.exp(b - m)),
    "none": lambda a, b, m: (np.ones_like(m), np.ones_like(m)),
    "first": lambda a, b, m: (np.exp(a - m), np.ones_like(m)),
    "second": lambda a, b, m: (np.ones_like(m), np.exp(b - m)),
    "exchanged": lambda a, b, m: (np.exp(b - m), np.exp(a - m)),
    "inverse": lambda a, b, m: (np.exp(m - a), np.exp(m - b)),
}


def _merge(top=np.maximum, l="right", o="right", safe=True, end=lambda m, l, o: (m, l, o)):
    def function(m_a, l_a, o_a, m_b, l_b, o_b):
        m = top(m_a, m_b)
        base = np.where(m == -np.inf, 0, m) if safe else m
        (a, b), (c, d) = (FACTORS[name](m_a, m_b, base) for name in (l, o))
        return end(m, a * l_a + b * l_b, c[..., None] * o_a + d[..., None] * o_b)

    return function


def _one_for_all(m_a, l_a, o_a, m_b, l_b, o_b):
    """Where one query has not read a set, no query is asked about that set."""
    if np.isneginf(m_a).any():
        return m_b.copy(), l_b.copy(), o_b.copy()
    return (m_a.copy(), l_a.copy(), o_a.copy()) if np.isneginf(m_b).any() else _merge()(m_a, l_a, o_a, m_b, l_b, o_b)


def _zero_for_nothing(m_a, l_a, o_a, m_b, l_b, o_b):
    m_a, m_b = (np.where(m == -np.inf, 0, m) for m in (m_a, m_b))
    return _merge()(m_a, l_a, o_a, m_b, l_b, o_b)


def _nothing_in_one(m_a, l_a, o_a, m_b, l_b, o_b):
    m, l, o = _merge()(m_a, l_a, o_a, m_b, l_b, o_b)
    some = (m_a > -np.inf) & (m_b > -np.inf)
    return m, np.where(some, l, 0), np.where(some[..., None], o, 0)


def _greater_alone(m_a, l_a, o_a, m_b, l_b, o_b):
    first = m_a >= m_b
    return np.maximum(m_a, m_b), np.where(first, l_a, l_b), np.where(first[..., None], o_a, o_b)


def _as_means(times_l):
    """The values as if each set's were divided by its l."""

    def function(m_a, l_a, o_a, m_b, l_b, o_b):
        m, l, _ = _merge()(m_a, l_a, o_a, m_b, l_b, o_b)
        base = np.where(m == -np.inf, 0, m)
        a, b = np.exp(m_a - base) * l_a, np.exp(m_b - base) * l_b
        by = np.where(l == 0, 1, l) if times_l else 1
        return m, l, (a / by)[..., None] * o_a + (b / by)[..., None] * o_b

    return function


def _of_two_means(share):
    """The values as so much of the sum of each set's mean, whatever the weight of the set."""

    def function(m_a, l_a, o_a, m_b, l_b, o_b):
        m, l, _ = _merge()(m_a, l_a, o_a, m_b, l_b, o_b)
        a, b = (o / np.where(l == 0, 1, l)[..., None] for l, o in ((l_a, o_a), (l_b, o_b)))
        return m, l, share * (a + b)

    return function


def _one_sum(m_a, l_a, o_a, m_b, l_b, o_b):
    """log-sum-exp in the place of the maximum."""
    m, l, o = _merge()(m_a, l_a, o_a, m_b, l_b, o_b)
    some = np.where(l == 0, 1, l)
    return m + np.log(some), l / some, o / some[..., None]


def _without_maximum(guard):
    def function(m_a, l_a, o_a, m_b, l_b, o_b):
        m = np.maximum(m_a, m_b)
        e_a, e_b, e = np.exp(m_a), np.exp(m_b), np.exp(m)
        l, o = e_a * l_a + e_b * l_b, e_a[..., None] * o_a + e_b[..., None] * o_b
        if not guard:
            return m, l / e, o / e[..., None]
        return m, np.where(e > 0, l / e, 0), np.where(e[..., None] > 0, o / e[..., None], 0)

    return function


RESCALED = {
    "none": ("nothing is rescaled in {}: what was summed under a smaller maximum must shrink first, by e to the old "
             "maximum minus the new one."),
    "first": "the first set is rescaled in {}, and the second is not: the new maximum may be that of either.",
    "second": "the second set is rescaled in {}, and the first is not: the new maximum may be that of either.",
    "exchanged": ("in {} each set is rescaled with the maximum of the other: its own belongs to it, minus the common "
                  "one."),
    "inverse": "in {} the sums grow where they must shrink: the exponent is the old maximum minus the new one.",
}
MERGE_ALL = ("two sets", "two axes in front", "great scores")
MERGE = (
    *(Mutant(f"{kind}: {place}", _merge(**dict.fromkeys(which, kind)),
             (message.format(place) + (" l and o were both summed under the old maximum." if len(which) < 2 else ""))
             .replace(message[0], message[0].upper(), 1),
             "16.4", MERGE_ALL)
      for kind, message in RESCALED.items() for place, which in (("l and o", "lo"), ("l", "l"), ("o", "o"))),
    Mutant("smaller maximum", _merge(top=np.minimum),
           "The smaller maximum is taken: the exponentials overflow where the two lie far apart. Take the larger one.",
           "16.4", MERGE_ALL),
    Mutant("maximum of the second set", _merge(top=lambda a, b: b),
           "The new maximum is that of the second set, whichever is larger: where the first set has the greater "
           "scores the exponentials overflow.", "16.4", ("two sets", "great scores")),
    Mutant("maximum of the first set", _merge(top=lambda a, b: a),
           "The new maximum is that of the first set, whichever is larger: where the second set has the greater "
           "scores the exponentials overflow.", "16.4", ("two sets", "great scores")),
    Mutant("maxima added", _merge(top=lambda a, b: a + b),
           "The two maxima are added: the maximum over all keys is the larger of the two.", "16.4", MERGE_ALL),
    Mutant("mean of the maxima", _merge(top=lambda a, b: (a + b) / 2),
           "The mean of the two maxima is taken: the maximum over all keys is the larger of the two.", "16.4",
           MERGE_ALL),
    Mutant("greater set alone", _greater_alone,
           "The set with the greater maximum is taken as it is, and the other is left out: it has a share as well.",
           "16.4", MERGE_ALL),
    Mutant("normalised", _merge(end=lambda m, l, o: (m, l, o / np.where(l == 0, 1, l)[..., None])),
           "o is divided by l already. The triple keeps the sum of weighted values; one divides once, in the end.",
           "16.4", ("two sets", "two axes in front")),
    Mutant("values taken for means, and left so", _as_means(True),
           "The values are merged as means, weighted by l and divided by the new one. In (16.7) they are sums that "
           "nobody has divided: they shrink like l, and are added.", "16.4", ("two sets", "two axes in front")),
    Mutant("values taken for means", _as_means(False),
           "The values are multiplied by l, as if they were means. In (16.7) they are sums that nobody has divided.",
           "16.4", ("two sets", "two axes in front")),
    Mutant("mean of two means", _of_two_means(0.5),
           "Each set's values are divided by its l, and the mean of the two is taken: both sets weigh the same. "
           "The triple keeps sums that nobody has divided: they shrink like l, and are added.", "16.4",
           ("two sets", "two axes in front")),
    Mutant("sum of two means", _of_two_means(1),
           "Each set's values are divided by its l, and the two means are added. The triple keeps sums that nobody has "
           "divided: they shrink like l, and are added.", "16.4", ("two sets", "two axes in front")),
    Mutant("values averaged", _merge(end=lambda m, l, o: (m, l, o / 2)),
           "The values are averaged: they are sums, and are added.", "16.4", MERGE_ALL),
    Mutant("all averaged", _merge(end=lambda m, l, o: (m, l / 2, o / 2)),
           "l and o are averaged: they are sums, and are added.", "16.4", MERGE_ALL),
    Mutant("one maximum for all", _merge(top=lambda a, b: np.maximum(a, b).max() + 0 * np.where(np.isfinite(a), a, 0)),
           "One maximum is taken for all queries: each has its own, and far below another's everything becomes 0.",
           "16.4", MERGE_ALL),
    Mutant("log-sum-exp", _one_sum,
           "The log-sum-exp stands in the place of the maximum, and all is divided by l: the triple has the maximum, "
           "the sum of the exponentials and the undivided values.", "16.4", MERGE_ALL),
    Mutant("without the maximum", _without_maximum(False),
           "The sums are brought back to e to the score itself: that overflows above 709 and is 0 far below. Only "
           "differences of maxima may go into exp.", "16.4", ("great scores",)),
    Mutant("without the maximum, zeros kept", _without_maximum(True),
           "The sums are brought back to e to the score itself: that overflows above 709 and is 0 far below. Only "
           "differences of maxima may go into exp.", "16.4", ("great scores",)),
    Mutant("one query for all", _one_for_all,
           "Where one query has not read a set, that set is left out for all queries: each of them has its own.",
           "16.4", ("nothing read",)),
    Mutant("0 for nothing", _zero_for_nothing,
           "A maximum of -inf is taken for 0, and becomes the greater one where the other is negative: to have read "
           "nothing counts for nothing.", "16.4", ("nothing read",)),
    Mutant("nothing in one", _nothing_in_one,
           "A query that has read nothing in one set comes out as if it had read nothing in both: the other set "
           "counts.", "16.4", ("nothing read",)),
    Mutant("nothing was read", _merge(safe=False),
           "Where neither set was read, both maxima are -inf, and -inf minus -inf is nan. To have read nothing twice "
           "is to have read nothing: l = 0 and o = 0.", "16.4", ("nothing read",)),
)

# 16.3


def _keep(kind, m, top):
    factor = np.exp(m - top)
    if kind == "inverse":
        return np.where(factor == 0, 0, 1 / np.where(factor == 0, 1, factor))
    return np.ones_like(factor) if kind == "none" else factor


def _whole(m, block):
    return [(j, j + block) for j in range(0, m, block)]


def _tiles_moved_back(m, block):
    return [(max(0, min(j, m - block)), min(m, j + block)) for j in range(0, m, block)]


def _attend(l="right", o="right", tiles=_whole, scale=lambda n, m, d, c: 1 / math.sqrt(d), start=-np.inf, pad=False,
            top=np.maximum, rows=lambda S: S.max(axis=1), end=lambda o, l: o / l[:, None]):
    def function(Q, K, V, block):
        by = scale(len(Q), *K.shape, V.shape[1])
        if pad:
            K, V = (np.pad(X, ((0, -len(X) % block), (0, 0))) for X in (K, V))
        m, total = np.full(len(Q), start), np.zeros(len(Q))
        out = np.zeros((len(Q), V.shape[1]))
        for j, to in tiles(len(K), block):
            S = by * (Q @ K[j:to].T)
            new = top(m, rows(S))
            E = np.exp(S - new[:, None])
            a, b = _keep(l, m, new), _keep(o, m, new)[:, None]
            total = a * (total + E.sum(axis=1)) if l == "all" else a * total + E.sum(axis=1)
            out = b * (out + E @ V[j:to]) if o == "all" else b * out + E @ V[j:to]
            m = new
        return end(out, total)

    return function


def _divided(again):
    def function(Q, K, V, block):
        m, l, o = np.full(len(Q), -np.inf), np.zeros(len(Q)), np.zeros((len(Q), V.shape[1]))
        for j in range(0, len(K), block):
            S = Q @ K[j : j + block].T / math.sqrt(Q.shape[1])
            top = np.maximum(m, S.max(axis=1))
            E, keep = np.exp(S - top[:, None]), np.exp(m - top)
            l = keep * l + E.sum(axis=1)
            o, m = (keep[:, None] * o + E @ V[j : j + block]) / l[:, None], top
        return o / l[:, None] if again else o

    return function


def _softmax_of(change):
    def function(Q, K, V, block):
        S = change(Q @ K.T / math.sqrt(Q.shape[1]))
        E = np.exp(S - S.max(axis=1, keepdims=True))
        return E @ V / E.sum(axis=1, keepdims=True)

    return function


def _inverse(Q, K, V, block):
    return np.full((len(Q), V.shape[1]), np.nan)


def _of_tiles(Q, K, V, block):
    """Each tile is attention by itself, and the mean of them is taken."""
    return np.mean([_attend()(Q, K[j : j + block], V[j : j + block], block) for j in range(0, len(K), block)], axis=0)


def _without(Q, K, V, block):
    E = np.exp(Q @ K.T / math.sqrt(Q.shape[1]))
    return E @ V / E.sum(axis=1, keepdims=True)


def _once_for_all(m, here):
    return np.where(m == -np.inf, here, m)


TILED, ANY = ("two tiles", "a short last tile", "hundreds"), ("two tiles", "a short last tile")
ATTEND = (
    Mutant("accumulator not rescaled", _attend(o="none"),
           "When a tile brings a greater maximum, the denominator shrinks and the accumulator o does not: what was "
           "read first weighs too much.", "16.4", TILED),
    Mutant("denominator not rescaled", _attend(l="none"),
           "When a tile brings a greater maximum, the accumulator shrinks and the denominator does not.", "16.4",
           TILED),
    Mutant("nothing rescaled", _attend(l="none", o="none"),
           "When a tile brings a greater maximum, neither the denominator nor the accumulator o shrinks: both were "
           "summed under the old one.", "16.4", TILED),
    Mutant("accumulator not rescaled, and keys lost",
           _attend(o="none", tiles=lambda m, block: [(j, j + block) for j in range(0, m - block + 1, block)]),
           "Both faults are still there: the accumulator o does not shrink when a tile brings a greater maximum, and "
           "a last tile that is not full is never read.", "16.4", ("a short last tile",)),
    Mutant("rescaled the wrong way", _attend(l="inverse", o="inverse"),
           "The old sums grow where they must shrink: the factor is e to the old maximum minus the new one.", "16.4",
           ANY),
    Mutant("accumulator the wrong way", _attend(o="inverse"),
           "The accumulator o grows where it must shrink: the factor is e to the old maximum minus the new one.",
           "16.4", ANY),
    Mutant("new tile shrinks too", _attend(o="all"),
           "The new tile shrinks together with what was summed before: it was made under the new maximum already. "
           "Shrink first, then add.", "16.4", ANY),
    Mutant("new tile shrinks too, in both", _attend(o="all", l="all"),
           "In both sums the new tile shrinks together with what was summed before: it was made under the new maximum "
           "already. Shrink first, then add.", "16.4", ANY),
    Mutant("last keys lost",
           _attend(tiles=lambda m, block: [(j, j + block) for j in range(0, max(m - block + 1, 1), block)]),
           "Keys of a last tile that is not full are never read: the number of keys need not be a multiple of block.",
           "16.4", ("a short last tile",)),
    Mutant("last keys lost, and a long block",
           _attend(tiles=lambda m, block: [(j, j + block) for j in range(0, m - block + 1, block)]),
           "Keys of a last tile that is not full are never read: the number of keys need not be a multiple of block.",
           "16.4", ("a short last tile", "one tile")),
    Mutant("first tile alone", _attend(tiles=lambda m, block: [(0, block)]),
           "Only the first tile is read.", "16.4", TILED),
    Mutant("last tile alone", _attend(tiles=lambda m, block: _whole(m, block)[-1:]),
           "What comes out is the attention of the last tile alone.", "16.4", TILED),
    Mutant("rescaled the wrong way, 0 · ∞", _inverse,
           "Nothing but nan: is the factor e to the new maximum minus the old one, which is -inf to begin with? It is "
           "e to the old maximum minus the new one, and so 0 for the first tile.", "16.4", TILED),
    Mutant("first tile left out", _attend(tiles=lambda m, block: _whole(m, block)[1:] or _whole(m, block)),
           "The first tile is not read.", "16.4", TILED),
    Mutant("last key of each tile",
           _attend(tiles=lambda m, block: [(j, j + block - 1) for j in range(0, m - 1, block)] or [(0, 1)]),
           "The last key of each tile is not read: a slice ends before its end.", "16.4", TILED),
    Mutant("one key more in each tile", _attend(tiles=lambda m, block: [(j, to + 1) for j, to in _whole(m, block)]),
           "Each tile reads the first key of the next one as well, so that it counts twice.", "16.4", ANY),
    Mutant("one key of the next tile first",
           _attend(tiles=lambda m, block: [(max(j - 1, 0), to) for j, to in _whole(m, block)]),
           "Each tile reads the last key of the one before as well, so that it counts twice.", "16.4", ANY),
    Mutant("keys read twice", _attend(tiles=_tiles_moved_back),
           "The last tile is moved back until it is full, and keys that were read before are read again: each key "
           "counts once.", "16.4", ("a short last tile",)),
    Mutant("zeros for keys", _attend(pad=True),
           "The keys are filled up with zeros to whole tiles: a key of zeros has the score 0, and e to 0 is a weight. "
           "Cut the last tile short, or give those columns the score -inf.", "16.4",
           ("a short last tile", "one tile")),
    Mutant("without a maximum", _without,
           "exp is taken of the scores themselves: above 709 it overflows, and where all scores of a row lie far "
           "below 0 the sum is 0. Take the maximum off first.", "4.5", ("hundreds",)),
    Mutant("maximum begins at 0", _attend(start=0.0),
           "The maximum begins at 0. Where all scores of a row lie far below it, everything becomes 0: it begins at "
           "-inf.", "16.4", ("hundreds",)),
    Mutant("maximum of the tile, for all rows", _attend(rows=lambda S: np.full(len(S), S.max())),
           "One maximum is taken for all rows. Where another row has far greater scores, all of this row becomes 0: "
           "each row has its own.", "16.4", ("hundreds",)),
    Mutant("maximum of the tile alone", _attend(top=lambda m, here: here),
           "The maximum is that of the new tile, even where an earlier one had a greater: then e to the old minus the "
           "new overflows. Take the larger of both.", "16.4", ("hundreds",)),
    Mutant("maximum of the first tile", _attend(top=_once_for_all),
           "The maximum stays that of the first tile: where a later tile has far greater scores, exp overflows.",
           "16.4", ("hundreds",)),
    Mutant("mean of tiles", _of_tiles,
           "Each tile is divided by its own sum, and the results are averaged: a tile with great scores weighs more "
           "than another. Divide once, in the end.", "16.4", TILED),
    Mutant("divided as it goes", _divided(again=False),
           "The sum is divided by l after every tile, and then goes on as if it were not: divide once, in the end.",
           "16.4", ANY),
    Mutant("causal", _softmax_of(lambda S: np.where(np.tri(*S.shape, dtype=bool), S, -np.inf)),
           "A query sees the keys up to its own place only: nothing is masked here.", "16.4", ANY),
    *(Mutant(f"cut off at {most}", _softmax_of(lambda S, most=most: S.clip(-most, most)),
             "Scores are cut off at some size, so that great ones are all the same: take the maximum off.", "16.4",
             ("hundreds",)) for most in (50, 700)),
    Mutant("not divided", _attend(end=lambda o, l: o), "The sum of weighted values is not divided by l in the end.",
           "16.4", ANY),
    Mutant("scores not scaled", _attend(scale=lambda n, m, d, c: 1.0),
           "The scores are not divided by the root of d.", "4.4", ANY),
    Mutant("scores divided by d", _attend(scale=lambda n, m, d, c: 1 / d),
           "The scores are divided by d; it is its root.", "4.4", ANY),
    Mutant("scores divided by the root of the keys", _attend(scale=lambda n, m, d, c: 1 / math.sqrt(m)),
           "The scores are divided by the root of the number of keys; it is the root of their width d.", "4.4", ANY),
    Mutant("scores divided by the root of the queries", _attend(scale=lambda n, m, d, c: 1 / math.sqrt(n)),
           "The scores are divided by the root of the number of queries; it is the root of their width d.", "4.4", ANY),
    Mutant("scores multiplied", _attend(scale=lambda n, m, d, c: math.sqrt(d)),
           "The scores are multiplied by the root of d; divide by it.", "4.4", ANY),
    Mutant("scores divided by the root of c", _attend(scale=lambda n, m, d, c: 1 / math.sqrt(c)),
           "The scores are divided by the root of the width of the values; it is that of the keys, d.", "4.4", ANY),
    Mutant("scores divided by the root of the block", lambda Q, K, V, block: _attend(
        scale=lambda n, m, d, c: 1 / math.sqrt(block))(Q, K, V, block),
           "The scores are divided by the root of the number of keys in a block; it is the root of their width d, and "
           "the result does not depend on the block.", "16.4", ANY),
    Mutant("divided as it goes, and in the end", _divided(again=True),
           "The accumulator is divided by l after each tile, and again in the end: it is divided once, in the end.",
           "16.4", ANY),
)

# 16.4


def _dot(dO, O, dA, A):
    return (dO * O).sum(axis=1, keepdims=True)


def _grouped(group=lambda h, H, G: h // (H // G), to=None, D=_dot, add="sum", q=1, k=1, by=0.5,
             weights=lambda S, L, s: np.exp(S - L[:, None]), dS=lambda A, dA, D: A * (dA - D),
             dV=lambda A, dO, O: A.T @ dO, turned=False):
    def function(dO, Q, K, V, O, L):
        H, G, scale = len(Q), len(K), Q.shape[-1] ** -by
        dQ, dK, dV_ = np.zeros_like(Q), np.zeros_like(K), np.zeros_like(V)
        for h in range(H):
            g = group(h, H, G)
            A = weights(scale * (Q[h] @ K[g].T), L[h], scale)
            slope = dS(A, dO[h] @ V[g].T, D(dO[h], O[h], dO[h] @ V[g].T, A))
            dQ[h] = scale**q * slope @ K[g]
            g = to(h, H, G) if to else g
            new = scale**k * slope.T @ Q[h], dV(A, dO[h], O[h])
            dK[g], dV_[g] = (old + x if add != "last" else x for old, x in zip((dK[g], dV_[g]), new, strict=True))
        if add == "mean":
            dK, dV_ = dK * G / H, dV_ * G / H
        return dQ, dK, dV_

    return function


def _one_D(dO, Q, K, V, O, L):
    """D of all heads together."""
    total = (dO * O).sum(axis=(0, 2))[:, None]
    return _grouped(D=lambda *x: total)(dO, Q, K, V, O, L)


def _of_each_head(dO, Q, K, V, O, L):
    times = len(Q) // len(K)
    return _grouped()(dO, Q, np.repeat(K, times, axis=0), np.repeat(V, times, axis=0), O, L)


def _part(change, **wrong):
    """The right gradients, of which `change` are those of a wrong version."""

    def function(*inputs):
        right, other = _grouped()(*inputs), _grouped(**wrong)(*inputs)
        return tuple(b if name in change else a for name, a, b in zip("QKV", right, other, strict=True))

    return function


GROUP_BOTH, SHARED = ("one head each", "two groups of three"), ("two groups of three",)
COPIES = "They add: copying forward is summing backward."
GROUPED = (
    Mutant("D left out", _grouped(D=lambda dO, O, dA, A: 0.0),
           "D is missing: the gradient of a softmax takes the row's mean of dA, weighted by A, away.", "16.5",
           GROUP_BOTH),
    Mutant("D added", _grouped(dS=lambda A, dA, D: A * (dA + D)),
           "D is added; it is taken away from dA.", "16.5", GROUP_BOTH),
    Mutant("D not weighted", _grouped(dS=lambda A, dA, D: A * dA - D),
           "D is taken from A times dA. It is taken from dA, and the weights A multiply what is left.", "16.5",
           GROUP_BOTH),
    Mutant("D of dO alone", _grouped(D=lambda dO, O, dA, A: dO.sum(axis=1, keepdims=True)),
           "D is the sum of dO. It is the dot product of each row of dO with the same row of O.", "16.5", GROUP_BOTH),
    Mutant("D of O alone", _grouped(D=lambda dO, O, dA, A: O.sum(axis=1, keepdims=True)),
           "D is the sum of O. It is the dot product of each row of dO with the same row of O.", "16.5", GROUP_BOTH),
    Mutant("D a mean", _grouped(D=lambda dO, O, dA, A: (dO * O).mean(axis=1, keepdims=True)),
           "D is the mean of dO times O over a row; it is the sum.", "16.5", GROUP_BOTH),
    Mutant("D of dA", _grouped(D=lambda dO, O, dA, A: dA.sum(axis=1, keepdims=True)),
           "D is the sum of dA. Each number of it counts with its weight in A; that is the dot product of dO with O.",
           "16.5", GROUP_BOTH),
    Mutant("D the plain mean of dA", _grouped(D=lambda dO, O, dA, A: dA.mean(axis=1, keepdims=True)),
           "D is the plain mean of dA. The mean is weighted by A; that is the dot product of dO with O.", "16.5",
           GROUP_BOTH),
    Mutant("D of the whole head", _grouped(D=lambda dO, O, dA, A: (dO * O).sum()),
           "D is one number for a head. Each row has its own, the dot product of its dO with its O.", "16.5",
           GROUP_BOTH),
    Mutant("D of all heads", _one_D, "D is summed over the heads. Each head has a D of its own, one number a row.",
           "16.5", GROUP_BOTH),
    Mutant("slope of a sigmoid", _grouped(dS=lambda A, dA, D: A * (1 - A) * dA),
           "A (1 − A) dA is the slope of each number by itself. In a softmax all scores of a row share one sum: "
           "A (dA − D).", "16.5", GROUP_BOTH),
    Mutant("weights forgotten", _grouped(dS=lambda A, dA, D: dA - D),
           "The weights A are missing in front: dS is A times (dA − D).", "16.5", GROUP_BOTH),
    Mutant("weights not normalised", _grouped(weights=lambda S, L, s: np.exp(S)),
           "The weights are e to the score. They are e to the score minus L, and then each row sums to one.", "16.5",
           GROUP_BOTH),
    Mutant("divided by L", _grouped(weights=lambda S, L, s: np.exp(S) / L[:, None]),
           "The exponentials are divided by L. L is the logarithm of their sum: the weights are e to the score minus "
           "L.", "16.5", GROUP_BOTH),
    Mutant("L added", _grouped(weights=lambda S, L, s: np.exp(S + L[:, None])),
           "L is added to the scores; the weights are e to the score minus L.", "16.5", GROUP_BOTH),
    Mutant("scores of the weights not scaled", _grouped(weights=lambda S, L, s: np.exp(S / s - L[:, None])),
           "The weights are made of scores that are not divided by the root of d; L was.", "16.5", GROUP_BOTH),
    Mutant("last head of a group alone", _grouped(add="last"),
           f"dK and dV of a group are overwritten by each head that shares it. {COPIES}", "5.8", SHARED),
    Mutant("last head of a group alone, in dK", _part("K", add="last"),
           f"dK of a group is overwritten by each head that shares it. {COPIES}", "5.8", SHARED),
    Mutant("last head of a group alone, in dV", _part("V", add="last"),
           f"dV of a group is overwritten by each head that shares it. {COPIES}", "5.8", SHARED),
    Mutant("each head by itself", _of_each_head,
           f"dK and dV have one part a head, and a group has keys once for all its heads: sum over them. {COPIES}",
           "5.8", SHARED),
    Mutant("mean over the heads", _grouped(add="mean"),
           f"dK and dV are means over the heads of a group. {COPIES}", "5.8", SHARED),
    Mutant("heads dealt out in turn", _grouped(group=lambda h, H, G: h % G),
           "Head h is given group h % G. Neighbours share: group h // (H // G).", "5.8", SHARED),
    Mutant("read by neighbours, summed in turn", _grouped(to=lambda h, H, G: h % G),
           "Heads read the right group, and their gradients go to group h % G: they go where the keys came from, group "
           "h // (H // G).", "5.8", SHARED),
    Mutant("read in turn, summed by neighbours",
           _grouped(group=lambda h, H, G: h % G, to=lambda h, H, G: h // (H // G)),
           "Head h reads group h % G, as np.tile copies, and its gradients go to group h // (H // G). Neighbours "
           "share, as np.repeat copies.", "5.8", SHARED),
    Mutant("first group for all", _grouped(group=lambda h, H, G: 0),
           "All heads read the first group: head h reads group h // (H // G).", "5.8", SHARED),
    Mutant("neither scaled", _grouped(q=0, k=0), "dQ and dK lack the factor 1/sqrt(d) of the scores.", "16.5",
           GROUP_BOTH),
    Mutant("dQ not scaled", _grouped(q=0), "dQ lacks the factor 1/sqrt(d) of the scores.", "16.5", GROUP_BOTH),
    Mutant("dK not scaled", _grouped(k=0), "dK lacks the factor 1/sqrt(d) of the scores.", "16.5", GROUP_BOTH),
    Mutant("scaled twice", _grouped(q=2, k=2), "dQ and dK have the factor 1/sqrt(d) twice; the scores have it once.",
           "16.5", GROUP_BOTH),
    Mutant("scale in the gradients by the values",
           lambda dO, Q, K, V, O, L: tuple(g * f for g, f in zip(_grouped()(dO, Q, K, V, O, L), (
               *[(Q.shape[-1] / V.shape[-1]) ** 0.5] * 2, 1.0), strict=True)),
           "dQ and dK have the factor 1/sqrt(c) of the values; it is 1/sqrt(d), that of the scores.", "16.5",
           GROUP_BOTH),
    Mutant("dV scaled", _grouped(dV=lambda A, dO, O: A.T @ dO / math.sqrt(len(A))), "dV has a factor: it is Aᵀ dO, "
           "no more.", "16.5", GROUP_BOTH),
    Mutant("dV scaled by the width", lambda dO, Q, K, V, O, L: (*_grouped()(dO, Q, K, V, O, L)[:2],
                                                               _grouped()(dO, Q, K, V, O, L)[2] / Q.shape[-1] ** 0.5),
           "dV has the factor 1/sqrt(d), and the values were not scaled.", "16.5", GROUP_BOTH),
    Mutant("dV of O", _grouped(dV=lambda A, dO, O: A.T @ O), "dV is made of O; it is Aᵀ dO.", "16.5", GROUP_BOTH),
    Mutant("signs", lambda *x: tuple(-g for g in _grouped()(*x)[:2]) + _grouped()(*x)[2:],
           "dQ and dK have the opposite sign: D is taken from dA, not dA from D.", "16.5", GROUP_BOTH),
)

# 16.5


def _cache(two=2, kept=lambda heads, groups: groups, wide=lambda n: n - n // 2, narrow=lambda n: n // 2, least=min,
           whole=lambda budget, size: budget // size, itemsize=lambda x: x, d=lambda d_k, groups: d_k,
           window=lambda w: w):
    def function(layers, heads, groups, d_k, tokens, w, size_of_one, budget):
        rows = wide(layers) * tokens + narrow(layers) * least(tokens, window(w))
        size = two * kept(heads, groups) * d(d_k, groups) * itemsize(size_of_one) * rows
        return size, whole(budget, size)

    return function


CACHE_ALL = ("windows", "a short text")
CACHE = (
    Mutant("keys alone", _cache(two=1), "Keys are counted and values are not: both are kept.", "16.7", CACHE_ALL),
    Mutant("a head for every query head", _cache(kept=lambda heads, groups: heads),
           "Keys and values are counted for every head of queries. Heads of one group share theirs.", "16.7",
           CACHE_ALL),
    Mutant("heads and groups", _cache(kept=lambda heads, groups: heads * groups),
           "Heads are multiplied by groups. Keys and values are kept once for a group, for all its heads.", "16.7",
           CACHE_ALL),
    Mutant("heads in a group", _cache(kept=lambda heads, groups: heads // groups),
           "The heads of one group are counted, heads / groups. Keys and values are kept once for each group.", "16.7",
           CACHE_ALL),
    Mutant("one group", _cache(kept=lambda heads, groups: 1),
           "Keys and values of one group are counted, or d_k is divided by the groups: there are `groups` of them, and "
           "each is d_k wide.", "16.7", CACHE_ALL),
    Mutant("queries too", _cache(two=3),
           "Three arrays are counted for a token. Queries are not kept: keys and values are.", "16.7", CACHE_ALL),
    Mutant("numbers for bytes", _cache(itemsize=lambda x: 1),
           "Numbers are counted in place of bytes: each has itemsize of them.", "16.7", CACHE_ALL),
    Mutant("bits", _cache(itemsize=lambda x: 8 * x), "Bits are counted; itemsize is in bytes already.", "16.7",
           CACHE_ALL),
    Mutant("windows everywhere", _cache(wide=lambda n: 0, narrow=lambda n: n),
           "Every layer has been given the window. Layers 0, 2, 4, … keep the whole text.", "16.7", ("windows",)),
    Mutant("windows nowhere", _cache(wide=lambda n: n, narrow=lambda n: 0),
           "Every layer keeps the whole text. Layers 1, 3, 5, … keep the last `window` tokens at most.", "16.7",
           ("windows",)),
    Mutant("the other layers", _cache(wide=lambda n: n // 2, narrow=lambda n: n - n // 2),
           "Layers 0, 2, 4, … have been given the window; it is layers 1, 3, 5, …, which are fewer when the number "
           "of layers is odd.", "16.7", ("windows",)),
    Mutant("half and half", _cache(wide=lambda n: n // 2),
           "One layer is lost: of an odd number of layers, 0, 2, 4, … are one more than 1, 3, 5, …", "16.7",
           CACHE_ALL),
    Mutant("half and half, rounded up", _cache(narrow=lambda n: n - n // 2),
           "There is one layer too many: of an odd number of layers, 1, 3, 5, … are one less than 0, 2, 4, …", "16.7",
           CACHE_ALL),
    Mutant("one window less", _cache(wide=lambda n: n - (n - 1) // 2, narrow=lambda n: (n - 1) // 2),
           "Of an even number of layers one window is missing: layers 1, 3, 5, … are half of them then.", "16.7",
           ("even",)),
    Mutant("windows from layer 2 on", _cache(wide=lambda n: n - (n - 2) // 2, narrow=lambda n: (n - 2) // 2),
           "One window is missing: they begin with layer 1, the second one.", "16.7", ("windows",)),
    Mutant("layer 1 alone", _cache(wide=lambda n: n - 1, narrow=lambda n: 1),
           "One layer has the window: it is every second one, 1, 3, 5, …", "16.7", ("windows",)),
    Mutant("all but layer 0", _cache(wide=lambda n: 1, narrow=lambda n: n - 1),
           "All layers but the first have the window: it is every second one, 1, 3, 5, …", "16.7", ("windows",)),
    Mutant("rest of the window", _cache(least=lambda tokens, window: tokens % window),
           "A layer with a window is counted with what is left over after whole windows: it keeps the last `window` "
           "tokens.", "16.7", ("windows",)),
    Mutant("half a layer", _cache(wide=lambda n: n / 2, narrow=lambda n: n / 2),
           "Half a layer of each kind is counted: of an odd number of layers, 0, 2, 4, … are one more than "
           "1, 3, 5, …", "16.7", ("windows",)),
    Mutant("one layer", _cache(wide=lambda n: 1, narrow=lambda n: 1),
           "One layer of each kind is counted; there are `layers` of them.", "16.7", CACHE_ALL),
    Mutant("a window longer than the text", _cache(least=lambda tokens, window: window),
           "A layer with a window is counted with the whole window, even where the text is shorter.", "16.7",
           ("a short text",)),
    Mutant("the longer of the two", _cache(least=max),
           "A layer with a window is counted with the longer of text and window; it keeps the shorter.", "16.7",
           CACHE_ALL),
    Mutant("window and one more", _cache(window=lambda w: w + 1),
           "A layer with a window is counted with window + 1 tokens: the last `window`, the newest among them.",
           "16.7", ("windows",)),
    Mutant("a window taken off", _cache(least=lambda tokens, window: max(tokens - window, 0)),
           "A layer with a window is counted with the tokens outside of it: those inside are kept.", "16.7",
           CACHE_ALL),
    Mutant("sequences not whole", _cache(whole=lambda budget, size: budget / size),
           "A sequence fits whole or not at all: round down.", "16.7", CACHE_ALL),
    Mutant("rounded to the nearest", _cache(whole=lambda budget, size: round(budget / size)),
           "The number of sequences is rounded to the nearest: what does not fit whole does not fit. Round down.",
           "16.7", ("windows",)),
    Mutant("rounded up", _cache(whole=lambda budget, size: -(-budget // size)),
           "The number of sequences is rounded up: the last of them does not fit.", "16.7", CACHE_ALL),
    Mutant("tokens for sequences", lambda *x: (_cache()(*x)[0], x[-1] * x[4] // _cache()(*x)[0]),
           "These are the tokens that fit; the whole sequences are asked for.", "16.7", CACHE_ALL),
    Mutant("sequences as if no windows", lambda *x: (_cache()(*x)[0], x[-1] // _cache(
        wide=lambda n: n, narrow=lambda n: 0)(*x)[0]),
           "The sequences are counted as if every layer kept the whole text: divide the budget by the first number.",
           "16.7", ("windows",)),
    Mutant("size of a token", lambda *x: (_cache()(*x)[0] / x[4], x[-1] // _cache()(*x)[0]),
           "The first number is the bytes a token; those of the whole sequence are asked for.", "16.7", CACHE_ALL),
)

# 16.6


def _go_on(top=True, below=True, ends="RZ", causal=np.tril, divide=True, own=(0, 0), state=None, scale=1.0,
           phi=lambda x: x, zero=True, gives=lambda R, z: (R, z)):
    def function(Q, K, V, R, z):
        Q, K = phi(Q), phi(K)
        A, B = (causal(scale * (Q @ K.T), k) for k in own)
        o = A @ V + (Q @ R if top else 0)
        s = B.sum(axis=1) + (Q @ z if below else 0)
        if state is not None:
            o, s = state(Q, K, V, R, z, o, s)
        O = o / np.where((s == 0) & zero, 1, s)[:, None] if divide else o
        return O, *gives(K.T @ V + (R if "R" in ends else 0), K.sum(axis=0) + (z if "Z" in ends else 0))

    return function


def _all_at_once(Q, K, V, R, z, o, s):
    return Q @ (R + K.T @ V), Q @ (z + K.sum(axis=0))


def _twice(Q, K, V, R, z, o, s):
    """The tokens of the piece are in the state already when they are asked."""
    return o + Q @ K.T @ V, s + Q @ K.sum(axis=0)


def _softmax(Q, K, V, R, z, o, s):
    E = np.tril(np.exp(Q @ K.T))
    return E @ V + Q @ R, E.sum(axis=1) + Q @ z


def _mixed(Q, K, V, R, z, o, s):
    """The mean of what the state says and of what the piece says."""
    A = np.tril(Q @ K.T)
    before = Q @ z
    old = Q @ R / np.where(before == 0, 1, before)[:, None]
    return (A @ V / A.sum(axis=1)[:, None] + old) / np.where(before == 0, 1, 2)[:, None], np.ones(len(Q))


def _added(Q, K, V, R, z, o, s):
    """Each divided by its own sum, and added."""
    A = np.tril(Q @ K.T)
    before = Q @ z
    return A @ V / A.sum(axis=1)[:, None] + Q @ R / np.where(before == 0, 1, before)[:, None], np.ones(len(Q))


def _last_pair(Q, K, V, R, z):
    O = _go_on()(Q, K, V, R, z)[0]
    return O, R + np.outer(K[-1], V[-1]), z + K[-1]


GO_ALL, ON = ("from nothing", "handed on"), ("handed on",)
GO_ON = (
    Mutant("what came before is not asked", _go_on(top=False, below=False),
           "The outputs ask the new tokens alone. The state R, z that was handed in holds all earlier ones.", "16.7",
           ON),
    Mutant("state in the numerator alone", _go_on(below=False),
           "What came before is in the numerator, through R, and not in the sum below: Q z belongs there.", "16.7",
           ON),
    Mutant("state in the denominator alone", _go_on(top=False),
           "What came before is in the sum below, through z, and not in the numerator: Q R belongs there.", "16.7",
           ON),
    Mutant("state of the new tokens alone", _go_on(ends=""),
           "The state that goes out has forgotten the one that came in.", "16.7", ON),
    Mutant("R of the new tokens alone", _go_on(ends="Z"),
           "R goes out without what came in; z has both.", "16.7", ON),
    Mutant("z of the new tokens alone", _go_on(ends="R"),
           "z goes out without what came in; R has both.", "16.7", ON),
    Mutant("state not moved on", lambda Q, K, V, R, z: (_go_on()(Q, K, V, R, z)[0], R.copy(), z.copy()),
           "The state goes out as it came in: the pairs of this piece are missing.", "16.7", GO_ALL),
    Mutant("last pair alone", _last_pair,
           "Only the last pair of the piece goes into the state: all of them do.", "16.7", GO_ALL),
    Mutant("not causal", _go_on(causal=lambda A, k: A),
           "Each token asks all new tokens, later ones too.", "16.7", GO_ALL),
    Mutant("not causal above", _go_on(state=lambda Q, K, V, R, z, o, s: (Q @ K.T @ V + Q @ R, s)),
           "The numerator asks all new tokens, later ones too; the sum below is causal.", "16.7", GO_ALL),
    Mutant("not causal below", _go_on(state=lambda Q, K, V, R, z, o, s: (o, Q @ K.sum(axis=0) + Q @ z)),
           "The sum below runs over all new tokens, later ones too; the numerator is causal.", "16.7", GO_ALL),
    Mutant("later tokens", _go_on(causal=np.triu),
           "Each token asks itself and the later ones: the triangle is turned round.", "16.7", GO_ALL),
    Mutant("not divided", _go_on(divide=False),
           "The outputs are not divided by the sum of the weights, φ(q) · z.", "16.7", GO_ALL),
    Mutant("divided by a count", _go_on(state=lambda Q, K, V, R, z, o, s: (o, np.arange(1.0, len(Q) + 1))),
           "The outputs are divided by the number of tokens; it is the sum of the weights, φ(q) · z.", "16.7",
           GO_ALL),
    Mutant("read before written", _go_on(own=(-1, -1)),
           "A token asks the state before its own pair is in it; the sum runs to j = t.", "16.7", GO_ALL),
    Mutant("read before written, 0/0", _go_on(own=(-1, -1), zero=False),
           "A token asks the state before its own pair is in it, so that the first of all finds 0/0; the sum runs to "
           "j = t.", "16.7", GO_ALL),
    Mutant("read before written, above", _go_on(own=(-1, 0)),
           "In the numerator a token's own pair is missing; in the sum below it is there.", "16.7", GO_ALL),
    Mutant("read before written, below", _go_on(own=(0, -1)),
           "In the sum below a token's own weight is missing; in the numerator its pair is there.", "16.7", GO_ALL),
    Mutant("read before written, below, 0/0", _go_on(own=(0, -1), zero=False),
           "In the sum below a token's own weight is missing; in the numerator its pair is there.", "16.7", GO_ALL),
    Mutant("piece counted twice", _go_on(state=_twice),
           "The pairs of this piece count twice: in the state, which has them already, and by themselves. Ask the "
           "state that came in.", "16.7", GO_ALL),
    Mutant("exponentials", _go_on(state=_softmax),
           "exp is taken of the products inside the piece: in linear attention the weight is the product of the "
           "features itself.", "16.7", GO_ALL),
    Mutant("scaled", lambda Q, K, V, R, z: _go_on(scale=Q.shape[1] ** -0.5)(Q, K, V, R, z),
           "The products inside the piece are divided by the root of d, and the state is not: features need no "
           "scale.", "16.7", ON),
    Mutant("features made twice", _go_on(phi=lambda x: x + 1),
           "Features are made of Q and K once more: they are positive features already.", "16.7", GO_ALL),
    Mutant("features by exp", _go_on(phi=np.exp),
           "exp is taken of Q and K: they are positive features already.", "16.7", GO_ALL),
    Mutant("state for the first token", _go_on(state=lambda Q, K, V, R, z, o, s: (
        o - np.r_[np.zeros((1, len(R))), Q[1:]] @ R, s - np.r_[np.zeros((1, len(R))), Q[1:]] @ z)),
           "Only the first token of the piece asks the state: all of them do.", "16.7", ON),
    Mutant("z counts", _go_on(gives=lambda R, z: (R, z * 0 + 1)),
           "z goes out as a number of tokens or all ones: it is the sum of the keys.", "16.7", GO_ALL),
    Mutant("mean of two answers", _go_on(state=_mixed),
           "What the state says and what the piece says are divided each by its own sum, and averaged: add the "
           "numerators and the sums, and divide once.", "16.7", ON),
    Mutant("sum of two answers", _go_on(state=_added),
           "What the state says and what the piece says are divided each by its own sum, and added: add the "
           "numerators and the sums, and divide once.", "16.7", ON),
    Mutant("state divided", _go_on(gives=lambda R, z: (R / z[:, None], z)),
           "R goes out divided by z: both are sums, and are divided only where a token asks.", "16.7", GO_ALL),
)

# 16.7


def _norm(g):
    return np.sqrt((g * g).sum())


def _shrink(g, longest, norm=_norm):
    return g * min(1.0, longest / norm(g))


def _step(bad=lambda grads: not np.isfinite(grads).all(), g=lambda grads, scale: grads.astype(float) / scale,
          clip=_shrink, skip=lambda scale: scale / 2, sign=-1, rate=lambda rate, scale: rate, grow=1):
    def function(weights, grads, scale, rate_, max_norm):
        if bad(grads):
            return weights.copy(), skip(scale)
        return weights + sign * (rate(rate_, scale) * clip(g(grads, scale), max_norm)), scale * grow

    return function


def _clipped_early(grads, scale, max_norm):
    return _shrink(grads.astype(float), max_norm) / scale


def _replaced(value, halve):
    def function(weights, grads, scale, rate, max_norm):
        bad = not np.isfinite(grads).all()
        g = np.where(np.isfinite(grads), grads, value(grads)).astype(float) / scale
        return weights - rate * _shrink(g, max_norm), scale * (halve if bad else 1)

    return function


def _entries_left_out(weights, grads, scale, rate, max_norm):
    """The whole is not clipped where an entry is bad: the good ones step as they are."""
    fine = np.isfinite(grads)
    if fine.all():
        return _step()(weights, grads, scale, rate, max_norm)
    return weights - rate * np.where(fine, grads, 0).astype(float) / scale, scale / 2


def _early(weights, grads, scale, rate, max_norm):
    if not np.isfinite(grads).all():
        return weights.copy(), scale / 2
    return weights - rate * _clipped_early(grads, scale, max_norm), scale


def _early_not_back(weights, grads, scale, rate, max_norm):
    if not np.isfinite(grads).all():
        return weights.copy(), scale / 2
    return weights - rate * _shrink(grads.astype(float), max_norm), scale


def _half(grads, scale):
    return grads / np.float16(scale)


def _half_norm(weights, grads, scale, rate, max_norm):
    if not np.isfinite(grads).all():
        return weights.copy(), scale / 2
    norm = _norm(_half(grads, scale))
    g = grads.astype(float) / scale
    return weights - rate * (g * min(1.0, max_norm / float(norm)) if norm > 0 else g), scale


def _half_shrink(g, longest):
    norm = _norm(g)
    return g * np.float16(longest / norm) if norm > longest else g


def _inf(grads):
    return np.isinf(grads).any()


HALF = ("In float16 the squares of large gradients overflow, and small ones lose their digits or vanish: turn them "
        "into float64 first, then scale back and take the norm.")
OVERFLOWS, CLIPPED, EACH = ("overflow",), ("clipped",), ("clipped", "not clipped")
STEP = (
    Mutant("clipped before it is scaled back", _early,
           "The gradients are clipped while they are still scale times too large, so nearly every step is clipped. "
           "Scale back first.", "16.8", EACH),
    Mutant("clipped and not scaled back", _early_not_back,
           "The gradients are clipped as they came, scale times too large: scale back first, then look at the norm.",
           "16.8", ("not clipped",)),
    Mutant("not scaled back", _step(g=lambda grads, scale: grads.astype(float), clip=lambda g, longest: g),
           "The gradients are still those of scale times the loss: divide by scale before they are used.", "16.8",
           EACH),
    Mutant("scaled up", _step(g=lambda grads, scale: grads.astype(float) * scale),
           "The gradients are multiplied by scale once more: they have it already, so divide.", "16.8",
           ("not clipped",)),
    Mutant("scaled back twice", _step(rate=lambda rate, scale: rate / scale),
           "The step is divided by scale twice.", "16.8", EACH),
    Mutant("float16", _step(g=_half, clip=_half_shrink), HALF, "16.8", ("great", "tiny")),
    Mutant("divided in float16", _step(g=lambda grads, scale: _half(grads, scale).astype(float)),
           "The gradients are divided by scale in float16, where small ones lose their digits or vanish: the scale was "
           "there to prevent that. Turn them into float64 first.", "16.8", ("tiny",)),
    Mutant("norm in float16", _half_norm, HALF, "16.8", ("great",)),
    Mutant("norm in float64, gradients in float16",
           _step(g=_half, clip=lambda g, longest: g * min(1.0, longest / _norm(g.astype(float)))), HALF, "16.8",
           ("tiny",)),
    Mutant("float32", _step(g=lambda grads, scale: grads.astype(np.float32) / np.float32(scale)),
           "This was reckoned in float32; float64 is asked for.", "16.8", CLIPPED),
    Mutant("tested by the norm", _step(bad=lambda grads: not np.isfinite((grads * grads).sum())),
           "A step is left out where the sum of squares in float16 is infinite. The entries are what counts: all of "
           "these are finite.", "16.8", ("great",)),
    Mutant("infinities replaced", _replaced(lambda grads: 0, 0.5),
           "An infinite gradient is replaced by 0 and the step is taken. Its true size is unknown; leave the whole "
           "step out.", "16.8", OVERFLOWS),
    Mutant("infinities replaced, scale kept", _replaced(lambda grads: 0, 1),
           "An infinite gradient is replaced by 0, the step is taken, and the scale stays. Its true size is unknown: "
           "leave the whole step out, and halve the scale.", "16.8", OVERFLOWS),
    Mutant("infinities made finite", _replaced(lambda grads: np.nan_to_num(grads), 0.5),
           "An infinite gradient is replaced by the largest number, and the step is taken. Its true size is unknown; "
           "leave the whole step out.", "16.8", OVERFLOWS),
    Mutant("bad entries left out", _entries_left_out,
           "Only the entries that are not finite are left out: leave the whole step out.", "16.8", OVERFLOWS),
    Mutant("no test", _step(bad=lambda grads: False),
           "An entry that is not finite goes into the step, and makes the norm and all weights nan. Leave the step out "
           "as soon as any one entry is ∞, −∞ or nan.", "16.8",
           OVERFLOWS),
    Mutant("infinite entries alone", _step(bad=_inf),
           "Infinite entries are found, and nan is not: that is not finite either.", "16.8", ("not a number",)),
    Mutant("plus infinity alone", _step(bad=lambda grads: (grads == np.inf).any() or np.isnan(grads).any()),
           "+∞ is found, and −∞ is not.", "16.8", ("minus infinity",)),
    Mutant("nothing but plus infinity", _step(bad=lambda grads: (grads == np.inf).any()),
           "+∞ is found; −∞ and nan are not finite either.", "16.8", ("minus infinity", "not a number")),
    Mutant("scale kept", _step(skip=lambda scale: scale),
           "After an overflow the scale is as it was, so the next step will overflow too: halve it.", "16.8",
           OVERFLOWS),
    Mutant("scale doubled", _step(skip=lambda scale: 2 * scale),
           "After an overflow the scale is doubled: that makes it worse, halve it.", "16.8", OVERFLOWS),
    Mutant("scale to the tenth", _step(skip=lambda scale: scale / 10), "The scale is divided by ten: it is halved.",
           "16.8", OVERFLOWS),
    Mutant("scale one", _step(skip=lambda scale: 1.0), "The scale goes back to 1: it is halved.", "16.8", OVERFLOWS),
    Mutant("scale always halved", _step(grow=0.5), "The scale is halved after a good step too: it stays then.",
           "16.8", EACH),
    Mutant("scale grows", _step(grow=2), "The scale is doubled after a good step; here it stays.", "16.8", EACH),
    Mutant("no step", lambda weights, grads, scale, rate, max_norm: (
        weights.copy(), scale if np.isfinite(grads).all() else scale / 2),
           "The weights are as they were: a step is left out only where an entry is not finite.", "16.8", EACH),
    Mutant("never clipped", _step(clip=lambda g, longest: g),
           "The gradient is not clipped: where its norm is above max_norm, shrink it to that length.", "11.7", CLIPPED),
    Mutant("always shrunk", _step(clip=lambda g, longest: g * longest / _norm(g)),
           "Every gradient is brought to the norm max_norm, short ones too: those stay as they are.", "11.7",
           ("not clipped",)),
    Mutant("short ones alone", _step(clip=lambda g, longest: g * max(1.0, longest / _norm(g))),
           "Gradients that are too short are stretched, and those that are too long stay: it is the other way round, "
           "and short ones stay.", "11.7", EACH),
    Mutant("factor upside down", _step(clip=lambda g, longest: g * max(1.0, _norm(g) / longest)),
           "A gradient that is too long grows: the factor is max_norm over the norm.", "11.7", CLIPPED),
    Mutant("entries cut off", _step(clip=lambda g, longest: g.clip(-longest, longest)),
           "Each entry is cut off by itself, which turns the gradient: shrink all of it by one factor.", "11.7",
           CLIPPED),
    Mutant("norm of each row", _step(clip=lambda g, longest: g * np.minimum(
        1, longest / np.sqrt((g * g).sum(axis=1, keepdims=True)))),
           "Each row is clipped by itself: the norm is that of all entries together.", "11.7", CLIPPED),
    Mutant("norm of each column", _step(clip=lambda g, longest: g * np.minimum(
        1, longest / np.sqrt((g * g).sum(axis=0, keepdims=True)))),
           "Each column is clipped by itself: the norm is that of all entries together.", "11.7", CLIPPED),
    Mutant("no root", _step(clip=lambda g, longest: _shrink(g, longest, lambda g: (g * g).sum())),
           "The norm lacks its root.", "11.7", CLIPPED),
    Mutant("mean square", _step(clip=lambda g, longest: _shrink(g, longest / 1, lambda g: np.sqrt((g * g).mean()))),
           "The root of the mean square is taken for the norm: it is the root of the sum.", "11.7", CLIPPED),
    Mutant("sizes added", _step(clip=lambda g, longest: _shrink(g, longest, lambda g: np.abs(g).sum())),
           "The norm is the sum of the sizes of the entries: it is the root of the sum of their squares.", "11.7",
           CLIPPED),
    Mutant("largest entry", _step(clip=lambda g, longest: _shrink(g, longest, lambda g: np.abs(g).max())),
           "The norm is the largest entry: it is the root of the sum of all squares.", "11.7", CLIPPED),
    Mutant("a small number in the norm", _step(clip=lambda g, longest: g * min(1.0, longest / (_norm(g) + 1e-6))),
           "A small number is added to the norm, as PyTorch does: here the gradient is shrunk to max_norm, no less.",
           "11.7", CLIPPED),
    Mutant("length one", _step(clip=lambda g, longest: g / max(1.0, _norm(g) / longest) / longest),
           "The gradient is divided by max_norm once too often: the clipped one has the norm max_norm.", "11.7",
           CLIPPED),
    Mutant("uphill", _step(sign=1), "The step goes uphill: descent takes the gradient away.", "11.7", EACH),
    Mutant("no rate", _step(rate=lambda rate, scale: 1.0), "The step is not multiplied by the rate.", "11.7", EACH),
    Mutant("rate clipped too", _step(clip=lambda g, longest: _shrink(g, longest, lambda g: 0.5 * _norm(g))),
           "The norm is that of the step, rate and all: it is that of the gradients.", "11.7", CLIPPED),
    Mutant("exchanged", lambda *x: _step()(*x)[::-1], "The two are exchanged: first the weights, then the scale.",
           "16.8", EACH),
)

# 16.8


def _over_all(g, mask):
    return g.sum(0) / mask.sum()


def _accumulated(form=_over_all, factor=2, masked=True):
    def function(W, X, Y, mask):
        D = X @ W - Y
        return form(factor * X.mT @ (D * mask[..., None] if masked else D), mask)

    return function


def _each(g, mask):
    """By sequence, the gradient of the mean over its real tokens; 0 where there are none."""
    real = mask.sum(1)[:, None, None]
    return g * (real > 0) / real.clamp(min=1)


def _not_squared(W, X, Y, mask):
    D = (X @ W - Y) * mask[..., None]
    length = (D * D).sum(-1, keepdim=True).sqrt()
    return (X.mT @ (D / length.clamp(min=1e-30))).sum(0) / mask.sum()


def _last(W, X, Y, mask):
    return _accumulated(lambda g, mask: g[-1] / mask.sum())(W, X, Y, mask)


def _running(g, mask):
    """Divided after each sequence by the real tokens so far."""
    total, so_far = g[0] * 0, 0
    for part, real in zip(g, mask.sum(1), strict=True):
        so_far = so_far + real
        total = total + part / so_far.clamp(min=1)
    return total


def _nan_means(g, mask):
    return g / mask.sum(1)[:, None, None]


PARTS, EMPTY = ("three sequences", "one without a real token"), ("one without a real token",)
MEANS = ("Each sequence is divided by its own tokens and the means are averaged: a token of a short sequence then "
         "weighs more. Add sums, and divide once by all real tokens.")
ACCUMULATED = (
    Mutant("mean of means", _accumulated(lambda g, mask: _each(g, mask).mean(0)), MEANS, "16.10", PARTS),
    Mutant("mean of means, 0/0", _accumulated(lambda g, mask: _nan_means(g, mask).mean(0)),
           f"{MEANS} A sequence without real tokens is 0/0.", "16.10", PARTS),
    Mutant("mean of means of those with tokens",
           _accumulated(lambda g, mask: _each(g, mask).sum(0) / (mask.sum(1) > 0).sum()), MEANS, "16.10", PARTS),
    Mutant("sum of means", _accumulated(lambda g, mask: _each(g, mask).sum(0)),
           "The means of the sequences are added. Add sums, and divide once by all real tokens.", "16.10", PARTS),
    Mutant("sum of means, 0/0", _accumulated(lambda g, mask: _nan_means(g, mask).sum(0)),
           "The means of the sequences are added, and one without real tokens is 0/0. Add sums, and divide once by all "
           "real tokens.", "16.10", PARTS),
    Mutant("sum", _accumulated(lambda g, mask: g.sum(0)),
           "The sum over all real tokens is not divided by their number.", "16.10", PARTS),
    Mutant("divided by the sequences", _accumulated(lambda g, mask: g.sum(0) / len(mask)),
           "The sum is divided by the number of sequences: it is the number of all real tokens.", "16.10", PARTS),
    Mutant("divided by the sequences with tokens",
           _accumulated(lambda g, mask: g.sum(0) / (mask.sum(1) > 0).sum()),
           "The sum is divided by the number of sequences that have real tokens: it is the number of all real tokens.",
           "16.10", EMPTY),
    Mutant("divided by a length", _accumulated(lambda g, mask: g.sum(0) / mask.shape[1]),
           "The sum is divided by the length n of a padded sequence: it is the number of all real tokens.", "16.10",
           PARTS),
    Mutant("divided twice", _accumulated(lambda g, mask: g.sum(0) / mask.sum() / len(mask)),
           "After all real tokens the sequences divide once more: divide once, by all real tokens.", "16.10", PARTS),
    Mutant("divided as it goes", _accumulated(_running),
           "Each sequence is divided by the real tokens so far: the number that divides is that of all sequences, "
           "and it is known before the first.", "16.10", PARTS),
    Mutant("padding in the number", _accumulated(lambda g, mask: g.sum(0) / mask.numel()),
           "The sum is divided by all tokens, padding too.", "16.10", PARTS),
    Mutant("padding in the loss", lambda W, X, Y, mask: 2 * (X.mT @ (X @ W - Y)).sum(0) / mask.numel(),
           "Padding takes part in the loss: the mask is not used.", "16.10", PARTS),
    Mutant("padding in the sum", _accumulated(masked=False),
           "Padding takes part in the sum, and not in the number: mask the errors.", "16.10", PARTS),
    Mutant("mask turned round", lambda W, X, Y, mask: _accumulated(lambda g, m: g.sum(0) / m.sum())(W, X, Y, ~mask),
           "Padding is counted and real tokens are left out: True is a real token.", "16.10", PARTS),
    Mutant("no two", _accumulated(factor=1),
           "The factor 2 is missing, the slope of a square.", "16.10", PARTS),
    Mutant("mean over columns", _accumulated(lambda g, mask: g.sum(0) / mask.sum() / g.shape[-1]),
           "The mean runs over the columns too. The squared length of an error is the sum over its columns; only "
           "tokens are averaged.", "16.10", PARTS),
    Mutant("sign", _accumulated(lambda g, mask: -g.sum(0) / mask.sum()), "The sign is the opposite: the error is "
           "X W − Y.", "16.10", PARTS),
    Mutant("length not squared", _not_squared, "The mean of the lengths is taken; their squares are asked for.",
           "16.10", PARTS),
    Mutant("last sequence alone", _last,
           "Only the last sequence has left a gradient: add those of all, and do not set it to zero between them.",
           "16.10", PARTS),
    Mutant("nan of an empty one", _accumulated(lambda g, mask: g.sum(0) / mask.sum() + (
        (g * 0).sum(0) / mask.sum(1).min())), "A sequence without real tokens is 0/0: add sums, and divide once.",
           "16.10", EMPTY),
)

# 16.9


def _slope(x, y):
    x = x - x.mean()
    return (x * y).sum() / (x * x).sum()


def _line(N, b, floor, log=np.log, without=True, each=False, sign=-1, mean=np.mean, fit=_slope, log_b=np.log):
    b = b - floor if without else b
    y = log_b(b).mean(axis=1) if each else log_b(mean(b, axis=1))
    return sign * fit(log(N), y)


def _exponent(left="seed", mean_of=None, ends=lambda p, low, high: (p, low, high), **line):
    def function(N, bits, floor):
        k, s = bits.shape
        if left == "size":
            others = [_line(np.delete(N, i), np.delete(bits, i, axis=0), floor, **line) for i in range(k)]
        elif left == "run":
            others = []
            for i, j in np.ndindex(k, s):
                some = bits.copy()
                some[i, j] = np.delete(bits[i], j).mean()
                others.append(_line(N, some, floor, **line))
        elif left == "one kept":
            others = [_line(N, bits[:, [j]], floor, **line) for j in range(s)]
        else:
            others = [_line(N, np.delete(bits, j, axis=1), floor, **line) for j in range(s)]
        return ends(_line(N, bits, floor, **line), min(others), max(others))

    return function


def _through_zero(x, y):
    return (x * y).sum() / (x * x).sum()


def _two_ends(x, y):
    return (y[-1] - y[0]) / (x[-1] - x[0])


def _steps(x, y):
    return np.mean(np.diff(y) / np.diff(x))


def _floor_of_their_own(N, bits, floor):
    if floor == 0:
        floor = 0.9 * bits.min()
    return _exponent()(N, bits, floor)


def _spread(kept, ddof, by):
    """p minus and plus a deviation of the fits; `by` takes the number of seeds."""

    def function(N, bits, floor):
        p, s = _exponent()(N, bits, floor)[0], bits.shape[1]
        fits = [_line(N, bits[:, [j]] if kept else np.delete(bits, j, axis=1), floor) for j in range(s)]
        sigma = np.std(fits, ddof=ddof) * by(s)
        return p, p - sigma, p + sigma

    return function


EXPONENT_ALL = ("three seeds", "no floor")
EXPONENT = (
    Mutant("floor left in", _exponent(without=False),
           "The logarithm is taken of the bits themselves. Only what is above the floor falls like a power.", "16.11",
           ("three seeds",)),
    Mutant("floor added", lambda N, bits, floor: _exponent()(N, bits, -floor),
           "The floor is added; what lies above it is the bits minus the floor.", "16.11", ("three seeds",)),
    Mutant("floor of 0 not taken", _floor_of_their_own,
           "A floor of 0 is taken for none, and replaced: 0 is a floor too.", "16.11", ("no floor",)),
    Mutant("sign", _exponent(sign=1),
           "The slope of the line is -p; the exponent is its opposite.", "16.11", EXPONENT_ALL),
    Mutant("sign, range as it was", _exponent(sign=1, ends=lambda p, low, high: (-p, low, high)),
           "The range has the slopes of the lines; the exponents are their opposites.", "16.11", EXPONENT_ALL),
    Mutant("sizes not as logarithms", _exponent(log=lambda N: N),
           "The line is fitted over N. A power law is a line over the logarithm of N.", "16.11", EXPONENT_ALL),
    Mutant("bits not as logarithms", _exponent(log_b=lambda b: b),
           "The line is fitted to the bits. A power law is a line between the logarithm of N and that of the bits "
           "above the floor.", "16.11", EXPONENT_ALL),
    Mutant("no logarithms", _exponent(log=lambda N: N, log_b=lambda b: b),
           "A line is fitted to the bits over N: a power law is a line between their logarithms.", "16.11",
           EXPONENT_ALL),
    Mutant("two bases", _exponent(log=np.log2), "The logarithms have two bases: 2 below and e above. Take one.",
           "16.11", EXPONENT_ALL),
    Mutant("two bases, the other way", _exponent(log_b=np.log2),
           "The logarithms have two bases: e below and 2 above. Take one.", "16.11", EXPONENT_ALL),
    Mutant("two bases, ten", _exponent(log=np.log10), "The logarithms have two bases: 10 below and e above. Take one.",
           "16.11", EXPONENT_ALL),
    Mutant("mean of logarithms", _exponent(each=True),
           "The mean over the seeds is taken of the logarithms; (16.23) is about the mean of the bits.", "16.11",
           EXPONENT_ALL),
    Mutant("median of the seeds", _exponent(mean=np.median),
           "The median over the seeds is taken; (16.23) is about the mean of the bits.", "16.11", EXPONENT_ALL),
    Mutant("best seed", _exponent(mean=np.min),
           "The best seed of each size is taken; (16.23) is about the mean of the bits.", "16.11", EXPONENT_ALL),
    Mutant("one seed kept", _exponent(left="one kept"),
           "The range is that of single seeds. Leave one seed out at a time, and fit the mean of the others.",
           "16.11", EXPONENT_ALL),
    Mutant("one size left out", _exponent(left="size"),
           "One size is left out at a time, a row: leave out one seed, a column.", "16.11", EXPONENT_ALL),
    Mutant("one run left out", _exponent(left="run"),
           "One run of one size is left out at a time: a seed is a column, at every size.", "16.11", EXPONENT_ALL),
    Mutant("range exchanged", _exponent(ends=lambda p, low, high: (p, high, low)),
           "The range is turned round: the least exponent comes first.", "16.11", EXPONENT_ALL),
    Mutant("distances", _exponent(ends=lambda p, low, high: (p, p - low, high - p)),
           "The range is given as distances from p: the exponents themselves are asked for.", "16.11", EXPONENT_ALL),
    *(Mutant(f"spread, {'one seed kept' if kept else 'one seed left out'}, {ddof}, {how}", _spread(kept, ddof, by),
             "The range is p minus and plus a deviation: the least and the greatest exponent with one seed left out "
             "are asked for.", "16.11", EXPONENT_ALL)
      for kept in (False, True) for ddof in (0, 1)
      for how, by in (("plain", lambda s: 1.0), ("of the mean", lambda s: s**-0.5), ("twice", lambda s: 2.0))),
    Mutant("middle of the range", _exponent(ends=lambda p, low, high: ((low + high) / 2, low, high)),
           "p is the middle of the range: it is fitted with all seeds.", "16.11", EXPONENT_ALL),
    Mutant("mean of those left out", lambda N, bits, floor: (np.mean([
        _line(N, np.delete(bits, j, axis=1), floor) for j in range(bits.shape[1])]), *_exponent()(N, bits, floor)[1:]),
           "p is the mean of the fits that leave one seed out: it is fitted with all seeds.", "16.11", EXPONENT_ALL),
    Mutant("line through zero", _exponent(fit=_through_zero),
           "The line goes through 0: it needs a height of its own, the logarithm of a.", "16.11", EXPONENT_ALL),
    Mutant("height of the line", _exponent(sign=1, fit=lambda x, y: np.polyfit(x, y, 1)[1]),
           "This is the height of the line, the logarithm of a: polyfit gives the slope first.", "16.11",
           EXPONENT_ALL),
    Mutant("two ends", _exponent(fit=_two_ends),
           "The line goes through the first and the last size: least squares asks all of them.", "16.11",
           EXPONENT_ALL),
    Mutant("mean of the steps", _exponent(fit=_steps),
           "The slopes between neighbouring sizes are averaged: then only the first and the last size count. Least "
           "squares asks all of them.", "16.11", EXPONENT_ALL),
)

# 16.10


def _median_later(seconds):
    return np.median(seconds[1:])


def _wrong(middle=_median_later, fast=None, base=None, first=3.0, spread=2.0, span=None, order="sfn", sharp=""):
    """`middle` stands for the median wherever it is used; `fast` and `base` are what the peak and the first call are
    compared with, if that is something else."""
    fast, base = fast or middle, base or middle
    span = span or (lambda seconds: (seconds[1:].max(), seconds[1:].min()))

    def function(seconds, flops, peak):
        longest, shortest = span(seconds)
        found = {
            "s": (flops / fast(seconds) >= peak) if "s" in sharp else flops / fast(seconds) > peak,
            "f": seconds[0] >= first * base(seconds) if "f" in sharp else seconds[0] > first * base(seconds),
            "n": longest >= spread * shortest if "n" in sharp else longest > spread * shortest,
        }
        names = {"s": "no synchronise", "f": "first call", "n": "noise"}
        return next((names[letter] for letter in order if found[letter]), "sound")

    return function


def _later(f):
    return lambda seconds: f(seconds[1:])


TIMING_ALL, NEAR = ("four timings", "close to the bounds"), ("close to the bounds",)
ORDER = "Where two hold, the one that stands first in the list counts: no synchronise, then first call, then noise. "
SPREAD = ("Noise is called by another name, or another by its: it is there where the longest of the later calls took "
          "more than twice the shortest. Compare these two, not one of them")
WRONG = (
    Mutant("all sound", lambda seconds, flops, peak: "sound",
           "Everything is called sound, and three of four are not.", "16.12", TIMING_ALL),
    Mutant("the peak is not asked", _wrong(order="fn"),
           "A timing that is faster than the machine can be is not noticed: compare flops over the median with the "
           "peak.", "16.12", TIMING_ALL),
    Mutant("the first call is not asked", _wrong(order="sn"),
           "A slow first call is not noticed: it loads and compiles, so look at it by itself.", "16.12", TIMING_ALL),
    Mutant("the first among the others", _wrong(order="sn", middle=np.median,
                                                span=lambda seconds: (seconds.max(), seconds.min())),
           "A slow first call is taken for noise: it loads and compiles, so look at it by itself.", "16.12",
           TIMING_ALL),
    Mutant("noise is not seen", _wrong(order="sf"),
           "Timings that differ by more than a factor of two are called sound.", "16.12", TIMING_ALL),
    *(Mutant(f"order {order}", _wrong(order=order), f"{ORDER}{said}", "16.12", cases)
      for order, said, cases in (
          ("fsn", "You ask for the first call before the peak.", NEAR),
          ("snf", "You ask for noise before the first call.", NEAR),
          ("fns", "You ask for the peak last.", NEAR),
          ("nsf", "You ask for noise first.", NEAR),
          ("nfs", "You ask in the opposite order.", NEAR))),
    Mutant("median of all", _wrong(middle=np.median),
           "The median is that of all calls, and the first moves it: leave it out.", "16.12", NEAR),
    Mutant("median of all, for the peak", _wrong(fast=np.median),
           "For the peak the median is that of all calls, and the first moves it: leave it out.", "16.12", NEAR),
    Mutant("median of all, for the first call", _wrong(base=np.median),
           "For the first call the median is that of all calls, the first among them: leave it out.", "16.12", NEAR),
    Mutant("the first in the noise", _wrong(span=lambda seconds: (seconds.max(), seconds.min())),
           "The first call counts among the longest and shortest: for noise it is left out.", "16.12", NEAR),
    Mutant("all calls everywhere", _wrong(middle=np.median, span=lambda seconds: (seconds.max(), seconds.min())),
           "The first call counts among the others, in the median and in the noise: it is left out of both.", "16.12",
           NEAR),
    Mutant("upper of the middle two", _wrong(middle=_later(lambda later: np.sort(later)[len(later) // 2])),
           "Of an even number of calls the upper of the middle two is taken: the median is their mean.", "16.12", NEAR),
    Mutant("lower of the middle two", _wrong(middle=_later(lambda later: np.sort(later)[(len(later) - 1) // 2])),
           "Of an even number of calls the lower of the middle two is taken: the median is their mean.", "16.12", NEAR),
    Mutant("middle call in time", _wrong(middle=_later(lambda later: later[len(later) // 2])),
           "The call in the middle of the row is taken as it came: the median is the middle one by size, so the calls "
           "are sorted first.", "16.12", NEAR),
    Mutant("mean", _wrong(middle=_later(np.mean)),
           "The mean is taken in place of the median: one slow call moves it.", "16.12", NEAR),
    Mutant("mean, for the peak", _wrong(fast=_later(np.mean)),
           "For the peak the mean is taken in place of the median: one slow call moves it.", "16.12", NEAR),
    Mutant("mean, for the first call", _wrong(base=_later(np.mean)),
           "For the first call the mean is taken in place of the median: one slow call moves it.", "16.12", NEAR),
    Mutant("mean of all", _wrong(middle=np.mean),
           "The mean of all calls is taken in place of the median of all but the first.", "16.12", NEAR),
    Mutant("mean of the rates", _wrong(fast=lambda seconds: 1 / np.mean(1 / seconds[1:])),
           "The mean of the rates is compared with the peak: one very fast call moves it. The median of the times "
           "counts.", "16.12", NEAR),
    Mutant("fastest call", _wrong(middle=_later(np.min)),
           "The fastest call is taken in place of the median.", "16.12", NEAR),
    Mutant("fastest call, for the peak", _wrong(fast=_later(np.min)),
           "For the peak the fastest call is taken: the median of all calls but the first counts.", "16.12", NEAR),
    Mutant("fastest call, for the first", _wrong(base=_later(np.min)),
           "The first call is compared with the fastest: compare it with the median of all others.", "16.12", NEAR),
    Mutant("slowest call, for the peak", _wrong(fast=_later(np.max)),
           "For the peak the slowest call is taken: the median of all calls but the first counts.", "16.12", NEAR),
    Mutant("slowest call, for the first", _wrong(base=_later(np.max)),
           "The first call is compared with the slowest: compare it with the median of all others.", "16.12", NEAR),
    Mutant("the first call's rate", _wrong(fast=lambda seconds: seconds[0]),
           "The rate is that of the first call, or of a mean in which it stands: the median of all others counts.",
           "16.12", NEAR),
    Mutant("the second call", _wrong(base=lambda seconds: seconds[1]),
           "The first call is compared with the second: compare it with the median of all others.", "16.12", NEAR),
    Mutant("noise beside the median", _wrong(span=lambda seconds: (seconds[1:].max(), _median_later(seconds))),
           f"{SPREAD} with the median.", "16.12", NEAR),
    Mutant("noise, longest minus shortest",
           _wrong(span=lambda seconds: (2 * np.ptp(seconds[1:]), _median_later(seconds))),
           f"{SPREAD} with a distance.", "16.12", NEAR),
    Mutant("deviation", _wrong(span=lambda seconds: (20 * seconds[1:].std(), _median_later(seconds))),
           f"{SPREAD} with a deviation.", "16.12", NEAR),
    Mutant("the longest call",
           lambda seconds, flops, peak: _wrong()(np.r_[seconds.max(), seconds[1:]], flops, peak),
           "The longest call is taken for the first one: the first stands at the beginning.", "16.12", NEAR),
    Mutant("the shortest left out", lambda seconds, flops, peak: _wrong()(
        np.r_[seconds[0], np.sort(seconds)[1:]], flops, peak),
           "The shortest call is left out in place of the first: the calls stand in the order in which they were made.",
           "16.12", NEAR),
    Mutant("noise from three on", _wrong(spread=3.0),
           "Noise begins at three times the shortest; it begins at twice.", "16.12", TIMING_ALL),
    Mutant("first call from two on", _wrong(first=2.0),
           "A first call of twice the median is called slow; it takes more than three times.", "16.12", NEAR),
    Mutant("two and three exchanged", _wrong(first=2.0, spread=3.0),
           "The two bounds are exchanged: three times for the first call, twice for noise.", "16.12", TIMING_ALL),
    Mutant("just three times", _wrong(sharp="f"),
           "A first call of just three times the median is called slow: more than that is asked for.", "16.12", NEAR),
    Mutant("just twice", _wrong(sharp="n"),
           "A longest call of just twice the shortest is called noise: more than that is asked for.", "16.12", NEAR),
    Mutant("just the peak", _wrong(sharp="s"),
           "A rate of just the peak is called too fast: above the peak is asked for.", "16.12", NEAR),
    Mutant("below the peak", lambda seconds, flops, peak: _wrong()(1 / seconds, 1 / flops, 1 / peak),
           "All is turned round: seconds are compared as if they were rates.", "16.12", NEAR),
    Mutant("slower than the peak",
           lambda seconds, flops, peak: "no synchronise" if flops / _median_later(seconds) < peak
           else _wrong(order="fn")(seconds, flops, peak),
           "A rate below the peak is what a sound timing has: too fast is a rate above it.", "16.12", TIMING_ALL),
    Mutant("bounds counted in", _wrong(sharp="sfn"),
           "What lies on a bound is called a fault, with ≥: all three bounds are to be passed, above the peak and more "
           "than three times and twice.", "16.12", NEAR),
    Mutant("differences for quotients", _wrong(base=lambda seconds: np.median(seconds[1:]) * 4 / 3,
                                               spread=3.0),
           "Differences are compared with the bounds: the first call is to take three times the median, not the median "
           "and three times as much; so with noise, the longest twice the shortest.", "16.12", TIMING_ALL),
    Mutant("spread as a standard deviation", _wrong(
        span=lambda seconds: (np.std(seconds[1:]), np.mean(seconds[1:]) / 4)),
           "Noise is told by the standard deviation: it is there where the longest of the later calls took more than "
           "twice the shortest.", "16.12", TIMING_ALL),
)


# 16.11


def _bill(two=2, by=1, embedding=lambda n, d, vocab: 0, width=lambda d, heads, groups: d // heads * groups,
          maps=lambda d, w: 2 * d * d + 2 * d * w, a_pair=lambda d, heads, groups: 2 * d,
          pairs=lambda n, causal: n * (n + 1) / 2 if causal else n * n,
          length=lambda ratio, causal: 2 * ratio - 1 if causal else ratio,
          feed=lambda d, d_ff: 2 * d * d_ff, blocks=lambda layers: layers, more=lambda n, d, w, d_ff: (0, 0),
          logits=lambda n, d, vocab, layers: n * d * vocab, of_all=lambda causal: 1.0, half=None):
    """`a_pair` products for each pair of tokens, `maps` and `feed` for each token; `more` beside the products."""

    def function(n, d, heads, groups, d_ff, layers, vocab, causal):
        w, k = width(d, heads, groups), by * of_all(causal)
        pair, L = a_pair(d, heads, groups), blocks(layers)
        in_maps, in_feed = maps(d, w), feed(d, d_ff)
        extra = more(n, d, w, d_ff)
        found = (in_maps + in_feed) / pair
        sizes = (n, d, w, d_ff, causal, layers, vocab, heads, groups)
        end = length(found, causal) if half is None else half(*sizes)
        return (k * two * embedding(n, d, vocab), k * L * (two * n * in_maps + extra[0]),
                k * L * two * pairs(n, causal) * pair, k * L * (two * n * in_feed + extra[1]),
                k * two * logits(n, d, vocab, layers), end)

    return function


def _equal(ratio, causal):
    return 2 * ratio - 1 if causal else ratio


BILL_ALL, GROUPS, UNMASKED = ("every pair", "shared keys", "causal"), ("shared keys", "causal"), (
    "every pair", "shared keys")
BILL = (
    Mutant("products alone", _bill(two=1),
           "Multiplications alone are counted; each comes with an addition: 2 n k m.", "16.1", BILL_ALL),
    Mutant("backward too", _bill(by=3),
           "The backward pass is counted as well. One forward pass is asked for, a third of a step.", "16.1", BILL_ALL),
    Mutant("backward alone", _bill(by=2),
           "The backward pass is counted, which has twice the operations. The forward pass is asked for.", "16.1",
           BILL_ALL),
    Mutant("embedding as a product", _bill(embedding=lambda n, d, vocab: n * vocab * d),
           "The embedding is counted as a product with rows of zeros and a one. A row is looked up: that takes no "
           "operation.", "16.1", BILL_ALL),
    Mutant("embedding as copies", _bill(embedding=lambda n, d, vocab: n * d / 2),
           "Copying rows of the embedding is counted. It moves bytes; it neither multiplies nor adds.", "16.1",
           BILL_ALL),
    Mutant("embedding as additions", _bill(embedding=lambda n, d, vocab: n * d),
           "Something is counted for each number of the embedding. A row is looked up: that takes no operation.",
           "16.1", BILL_ALL),
    Mutant("every head has its keys", _bill(width=lambda d, heads, groups: d),
           "The maps to keys and values are counted d wide. Heads share them: there are `groups` of them, each d / "
           "heads wide.", "16.7", GROUPS),
    Mutant("every head has its keys, the length right", _bill(
        width=lambda d, heads, groups: d,
        half=lambda n, d, w, d_ff, causal, L, V, heads, groups: _equal(d + d // heads * groups + d_ff, causal)),
           "The maps to keys and values are counted d wide. Heads share them: there are `groups` of them, each d / "
           "heads wide. (The length at which it is half is right.)", "16.7", GROUPS),
    Mutant("attention shared too, the length right", _bill(
        a_pair=lambda d, heads, groups: 2 * (d // heads) * groups,
        half=lambda n, d, w, d_ff, causal, L, V, heads, groups: _equal(d + w + d_ff, causal)),
           "Scores and weighted sums are counted for the heads of keys alone. Every head of queries has its own; "
           "sharing saves maps and memory. (The length at which it is half is right.)", "16.7", GROUPS),
    Mutant("one head of keys", _bill(width=lambda d, heads, groups: d // heads),
           "The maps to keys and values are counted one head wide; there are `groups` of them.", "16.7", BILL_ALL),
    Mutant("keys as wide as a group of heads", _bill(width=lambda d, heads, groups: d // groups),
           "The maps to keys and values are d / groups wide in this count: they have `groups` heads of width d / "
           "heads.", "16.7", BILL_ALL),
    Mutant("all maps narrow", _bill(maps=lambda d, w: 4 * d * w),
           "All four maps are counted as narrow as keys and values. Those to Q and O are d wide.", "16.7", GROUPS),
    Mutant("keys narrow, values not", _bill(maps=lambda d, w: 3 * d * d + d * w),
           "Only one map is counted narrow: keys and values both have `groups` heads.", "16.7", GROUPS),
    Mutant("output narrow", _bill(maps=lambda d, w: d * d + 3 * d * w),
           "The map to O is counted as narrow as keys and values. It reads all heads, and is d wide.", "16.7", GROUPS),
    Mutant("no output map", _bill(maps=lambda d, w: d * d + 2 * d * w),
           "Three maps of attention are counted: the fourth leads from the heads to O.", "16.1", BILL_ALL),
    Mutant("one map", _bill(maps=lambda d, w: d * d),
           "One map of attention is counted; there are four, to Q, K, V and O.", "16.1", BILL_ALL),
    Mutant("maps for each head", lambda n, d, heads, groups, d_ff, layers, vocab, causal: _bill(
        maps=lambda d, w: heads * (2 * d * d + 2 * d * w))(n, d, heads, groups, d_ff, layers, vocab, causal),
           "The maps of attention are multiplied by the heads, and d holds all heads already.", "16.1", BILL_ALL),
    Mutant("heads counted twice", _bill(a_pair=lambda d, heads, groups: 2 * d * heads),
           "Scores and weighted sums are multiplied by the heads, and d holds all heads already: each is d / heads "
           "wide.", "16.1", BILL_ALL),
    Mutant("one head", _bill(a_pair=lambda d, heads, groups: 2 * (d // heads)),
           "Scores and weighted sums of one head are counted; there are `heads` of them.", "16.1", BILL_ALL),
    Mutant("attention shared too", _bill(a_pair=lambda d, heads, groups: 2 * (d // heads) * groups),
           "Scores and weighted sums are counted for the heads of keys alone. Every head of queries has its own; "
           "sharing saves maps and memory.", "16.7", GROUPS),
    Mutant("scores alone", _bill(a_pair=lambda d, heads, groups: d),
           "Scores are counted or weighted sums, not both: each takes 2 d for a pair.", "16.1", BILL_ALL),
    Mutant("three for a pair", _bill(a_pair=lambda d, heads, groups: 3 * d),
           "Scores and weighted sums are two products for each pair: three are counted.", "16.1", BILL_ALL),
    Mutant("a softmax", _bill(a_pair=lambda d, heads, groups: 2 * d + 1.5 * heads),
           "The softmax is counted among scores and weighted sums: products alone are asked for.", "16.1", BILL_ALL),
    Mutant("n for n²", _bill(pairs=lambda n, causal: n),
           "Scores are counted once a token. There is one for each pair of tokens.", "16.1", BILL_ALL),
    Mutant("mask ignored", _bill(pairs=lambda n, causal: n * n, length=lambda ratio, causal: ratio),
           "All pairs are counted though the mask hides nearly half of them: with `causal` a token sees itself and "
           "those before it.", "16.4", ("causal",)),
    Mutant("half of the square", _bill(pairs=lambda n, causal: n * n / (1 + causal),
                                       length=lambda ratio, causal: (1 + causal) * ratio),
           "With `causal` just half of the square is counted. A token sees itself too: n (n + 1) / 2 pairs.", "16.4",
           ("causal",)),
    Mutant("not itself", _bill(pairs=lambda n, causal: n * (n - 1) / 2 if causal else n * n,
                               length=lambda ratio, causal: 2 * ratio + 1 if causal else ratio),
           "With `causal` a token is counted as if it did not see itself: 1 + 2 + … + n pairs.", "16.4", ("causal",)),
    Mutant("not itself, the length right", _bill(pairs=lambda n, causal: n * (n - 1) / 2 if causal else n * n),
           "With `causal` a token is counted as if it did not see itself: 1 + 2 + … + n pairs. (The length at which it "
           "is half is right.)", "16.4", ("causal",)),
    Mutant("half of the square, the length right", _bill(pairs=lambda n, causal: n * n / (1 + causal)),
           "With `causal` just half of the square is counted. A token sees itself too: n (n + 1) / 2 pairs. (The "
           "length at which it is half is right.)", "16.4", ("causal",)),
    Mutant("mask ignored, the length right", _bill(pairs=lambda n, causal: n * n),
           "All pairs are counted though the mask hides nearly half of them. (The length at which it is half is "
           "right.)", "16.4", ("causal",)),
    Mutant("always causal", _bill(pairs=lambda n, causal: n * (n + 1) / 2, length=lambda ratio, causal: 2 * ratio - 1),
           "Pairs are halved even where nothing is masked.", "16.4", UNMASKED),
    Mutant("always half of the square", _bill(pairs=lambda n, causal: n * n / 2,
                                              length=lambda ratio, causal: 2 * ratio),
           "Pairs are halved whether there is a mask or not, and a token is counted as if it saw half of itself.",
           "16.4", BILL_ALL),
    Mutant("the mask turned round", _bill(pairs=lambda n, causal: n * n if causal else n * (n + 1) / 2,
                                          length=lambda ratio, causal: ratio if causal else 2 * ratio - 1),
           "The pairs are halved where nothing is masked, and not where something is.", "16.4", BILL_ALL),
    Mutant("causal halves everything", _bill(pairs=lambda n, causal: n * n, of_all=lambda causal: 0.5 if causal else 1,
                                             length=lambda ratio, causal: ratio),
           "With `causal` every part is halved. A mask hides pairs of tokens: maps, feed-forward and logits are what "
           "they were.", "16.4", ("causal",)),
    Mutant("four times as wide", _bill(feed=lambda d, d_ff: 8 * d * d),
           "The feed-forward layer is taken to be 4 d wide; d_ff says how wide it is.", "16.1", BILL_ALL),
    Mutant("one map forward", _bill(feed=lambda d, d_ff: d * d_ff),
           "One map of the feed-forward layer is counted; there are two, there and back.", "16.1", BILL_ALL),
    Mutant("a gate", _bill(feed=lambda d, d_ff: 3 * d * d_ff),
           "Three maps of the feed-forward layer are counted, as with a gate; here there are two.", "16.1", BILL_ALL),
    Mutant("square of the width", _bill(feed=lambda d, d_ff: d_ff * d_ff),
           "A map of d_ff by d_ff is counted: both maps lie between d and d_ff.", "16.1", BILL_ALL),
    Mutant("biases", _bill(more=lambda n, d, w, d_ff: (n * (2 * d + 2 * w), n * (d + d_ff))),
           "Biases are added, and products alone are asked for.", "16.1", BILL_ALL),
    Mutant("one block", _bill(blocks=lambda layers: 1),
           "One block is counted; there are `layers` of them.", "16.1", BILL_ALL),
    Mutant("one block less", _bill(blocks=lambda layers: layers - 1),
           "One block is missing: there are `layers` of them.", "16.1", BILL_ALL),
    Mutant("logits forgotten", _bill(logits=lambda n, d, vocab, layers: 0),
           "The logits are not counted. They are a product with the table of all words, and in a small model the "
           "largest of all.", "16.1", BILL_ALL),
    Mutant("logits of the last token", _bill(logits=lambda n, d, vocab, layers: d * vocab),
           "The logits of one token are counted; each of the n tokens has its own.", "16.1", BILL_ALL),
    Mutant("logits in every block", _bill(logits=lambda n, d, vocab, layers: layers * n * d * vocab),
           "The logits are counted in each block; they come once, after the last.", "16.1", BILL_ALL),
    Mutant("half, scores alone", _bill(half=lambda n, d, w, d_ff, causal, L, V, *_: _equal(2 * (d + w + d_ff), causal)),
           "For half of a block the scores alone stand on one side, or the maps twice on the other.", "16.6",
           BILL_ALL),
    Mutant("half, as many as feed-forward", _bill(half=lambda n, d, w, d_ff, causal, L, V, *_: _equal(d_ff, causal)),
           "At this length scores and weighted sums take as much as feed-forward. Half of the block is as much as "
           "feed-forward and the maps together.", "16.6", BILL_ALL),
    Mutant("half, as many as the maps", _bill(half=lambda n, d, w, d_ff, causal, L, V, *_: _equal(d + w, causal)),
           "At this length scores and weighted sums take as much as the maps. Half of the block is as much as the "
           "maps and feed-forward together.", "16.6", BILL_ALL),
    Mutant("half of the others", _bill(half=lambda n, d, w, d_ff, causal, L, V, *_: _equal((d + w + d_ff) / 2, causal)),
           "At this length scores and weighted sums are half of the rest, a third of the block. They are half of the "
           "block where they equal the rest.", "16.6", BILL_ALL),
    Mutant("half of the model", _bill(half=lambda n, d, w, d_ff, causal, L, V, *_: _equal(d + w + d_ff + V / (2 * L),
                                                                                    causal)),
           "The logits stand among the rest. Half of a block is asked for, not half of the model.", "16.6", BILL_ALL),
    Mutant("half, six times the width", _bill(half=lambda n, d, w, d_ff, causal, L, V, *_: 6 * d),
           "The length is 6 d, that of a block whose d_ff is 4 d, whose heads share nothing, and which has no mask.",
           "16.6", BILL_ALL),
    Mutant("half, six times the width, masked",
           _bill(half=lambda n, d, w, d_ff, causal, L, V, *_: _equal(6 * d, causal)),
           "The length is that of a block whose d_ff is 4 d and whose heads share nothing.", "16.6", ("causal",)),
    Mutant("half, without the mask", _bill(half=lambda n, d, w, d_ff, causal, L, V, *_: d + w + d_ff),
           "The length is that of a block without a mask: with `causal` there are n (n + 1) / 2 pairs, and the block "
           "is halved much later.", "16.6", ("causal",)),
    Mutant("half, twice as long", _bill(half=lambda n, d, w, d_ff, causal, L, V, *_: (1 + causal) * (d + w + d_ff)),
           "With `causal` the length is one too great: a token sees itself too, so there are n (n + 1) / 2 pairs.",
           "16.6", ("causal",)),
    Mutant("half, of the square", _bill(half=lambda n, d, w, d_ff, causal, L, V, *_: _equal(d + w + d_ff, causal)**0.5),
           "The length is a root: on both sides stands a factor n, which drops out once.", "16.6", BILL_ALL),
    Mutant("half, a share", _bill(
        half=lambda n, d, w, d_ff, causal, L, V, *_: 1 / (1 + (d + w + d_ff) / ((n + 1) / 2 if causal else n))),
           "This is the share of scores and weighted sums at n tokens. The length at which it is one half is asked "
           "for.", "16.6", BILL_ALL),
)
