"""Known wrong answers, each with the message that names the misconception."""

import math

import numpy as np

from ...model import Mutant

# 16.1


def _roof(flops=lambda t, i, o: 2 * t * i * o, numbers=lambda t, i, o: t * i + i * o + t * o, size=lambda x: x,
          join=max):
    def function(tokens, d_in, d_out, itemsize, peak, bandwidth):
        C = flops(tokens, d_in, d_out)
        B = size(itemsize) * numbers(tokens, d_in, d_out)
        return C / B, join(C / peak, B / bandwidth)

    return function


ROOF_ALL = ("many tokens", "one token", "sixteen bits")
ROOF = (
    Mutant("times added", _roof(join=lambda a, b: a + b),
           "The two times are added. Arithmetic and transport go on at once; the longer of the two is the bound.",
           "16.2", ROOF_ALL),
    Mutant("the shorter time", _roof(join=min),
           "The shorter of the two times is returned. Both must have passed, so the longer one is the bound.", "16.2",
           ROOF_ALL),
    Mutant("products alone", _roof(flops=lambda t, i, o: t * i * o),
           "Multiplications alone are counted; each comes with an addition: 2 n k m.", "16.1", ROOF_ALL),
    Mutant("weights alone", _roof(numbers=lambda t, i, o: i * o),
           "The bytes are those of the weights alone. The tokens come in and go out as well.", "16.2", ROOF_ALL),
    Mutant("output not written", _roof(numbers=lambda t, i, o: t * i + i * o),
           "What is read is counted, and what is written is not.", "16.2", ROOF_ALL),
    Mutant("numbers for bytes", _roof(size=lambda x: 1),
           "Numbers are counted in place of bytes: each has itemsize of them.", "16.2", ROOF_ALL),
    Mutant("always four bytes", _roof(size=lambda x: 4),
           "Every number is taken to have four bytes; itemsize says how many it has.", "16.2", ("sixteen bits",)),
)

# 16.2


def _merge(top=np.maximum, keep_l=True, keep_o=True, add=True, safe=True):
    def function(m_a, l_a, o_a, m_b, l_b, o_b):
        m = top(m_a, m_b)
        base = np.where(m == -np.inf, 0, m) if safe else m
        a, b = np.exp(m_a - base), np.exp(m_b - base)
        b = b if add else np.ones_like(b)
        l = (a if keep_l else 1) * l_a + b * l_b
        return m, l, (a[..., None] if keep_o else 1) * o_a + b[..., None] * o_b

    return function


MERGE_ALL = ("two sets", "two axes in front", "great scores")
MERGE = (
    Mutant("nothing rescaled", lambda m_a, l_a, o_a, m_b, l_b, o_b: (np.maximum(m_a, m_b), l_a + l_b, o_a + o_b),
           "The sums are added as they are. What was summed under a smaller maximum must shrink first, by e to the old "
           "maximum minus the new one.", "16.4", MERGE_ALL),
    Mutant("values not rescaled", _merge(keep_o=False),
           "The denominator is rescaled and the values o of the first set are not: the weights no longer sum to one.",
           "16.4", MERGE_ALL),
    Mutant("denominator not rescaled", _merge(keep_l=False),
           "The values are rescaled and the denominator l of the first set is not.", "16.4", MERGE_ALL),
    Mutant("second set not rescaled", _merge(add=False),
           "The first set is rescaled and the second is not: the new maximum may be that of either.", "16.4",
           MERGE_ALL),
    Mutant("maximum of the second set", _merge(top=lambda a, b: b),
           "The new maximum is that of the second set, whichever is larger: with great scores of the first set the "
           "exponentials overflow.", "16.4", ("two sets", "great scores")),
    Mutant("nothing was read", _merge(safe=False),
           "Where neither set was read, both maxima are -inf, and -inf minus -inf is nan. To have read nothing twice "
           "is to have read nothing: l = 0 and o = 0.", "16.4", ("nothing read",)),
)

# 16.3


def _attend(keep_o=True, keep_l=True, all_keys=True, inverse=False, scaled=True):
    def function(Q, K, V, block):
        scale = 1 / math.sqrt(Q.shape[1]) if scaled else 1.0
        m, l = np.full(len(Q), -np.inf), np.zeros(len(Q))
        o = np.zeros((len(Q), V.shape[1]))
        for j in range(0, len(K) if all_keys else max(len(K) - block + 1, 0), block):
            S = scale * Q @ K[j : j + block].T
            top = np.maximum(m, S.max(axis=1))
            E, keep = np.exp(S - top[:, None]), np.exp(m - top)
            if inverse:
                keep = np.where(keep == 0, 0, 1 / np.where(keep == 0, 1, keep))
            l = (keep if keep_l else 1) * l + E.sum(axis=1)
            o = (keep[:, None] if keep_o else 1) * o + E @ V[j : j + block]
            m = top
        return o / l[:, None]

    return function


ATTEND = (
    Mutant("accumulator not rescaled", _attend(keep_o=False),
           "When a tile brings a greater maximum, the denominator shrinks and the accumulator o does not: what was "
           "read first weighs too much.", "16.4", ("two tiles", "a short last tile", "hundreds")),
    Mutant("denominator not rescaled", _attend(keep_l=False),
           "When a tile brings a greater maximum, the accumulator shrinks and the denominator does not.", "16.4",
           ("two tiles", "a short last tile", "hundreds")),
    Mutant("rescaled the wrong way", _attend(inverse=True),
           "The old sums grow where they must shrink: the factor is e to the old maximum minus the new one.", "16.4",
           ("two tiles", "a short last tile")),
    Mutant("last keys lost", _attend(all_keys=False),
           "Keys of a last tile that is not full are never read: the number of keys need not be a multiple of block.",
           "16.4", ("a short last tile",)),
    Mutant("scores not scaled", _attend(scaled=False),
           "The scores are not divided by the root of d.", "4.4", ("two tiles", "a short last tile")),
)

# 16.4


def _grouped(group=lambda h, H, G: h // (H // G), D=lambda dO, O, dA, A: (dO * O).sum(axis=1, keepdims=True),
             add=True, scale_q=True, scale_k=True, weights=lambda S, L: np.exp(S - L[:, None])):
    def function(dO, Q, K, V, O, L):
        H, G, scale = len(Q), len(K), 1 / math.sqrt(Q.shape[-1])
        dQ, dK, dV = np.zeros_like(Q), np.zeros_like(K), np.zeros_like(V)
        for h in range(H):
            g = group(h, H, G)
            A = weights(scale * Q[h] @ K[g].T, L[h])
            dA = dO[h] @ V[g].T
            dS = A * (dA - D(dO[h], O[h], dA, A))
            dQ[h] = (scale if scale_q else 1) * dS @ K[g]
            k, v = (scale if scale_k else 1) * dS.T @ Q[h], A.T @ dO[h]
            dK[g], dV[g] = (dK[g] + k, dV[g] + v) if add else (k, v)
        return dQ, dK, dV

    return function


GROUP_BOTH = ("one head each", "two groups of three")
GROUPED = (
    Mutant("D left out", _grouped(D=lambda dO, O, dA, A: 0.0),
           "D is missing: the gradient of a softmax takes the row's mean of dA, weighted by A, away.", "16.5",
           GROUP_BOTH),
    Mutant("D of dO alone", _grouped(D=lambda dO, O, dA, A: dO.sum(axis=1, keepdims=True)),
           "D is the sum of dO. It is the dot product of each row of dO with the same row of O.", "16.5", GROUP_BOTH),
    Mutant("weights not normalised", _grouped(weights=lambda S, L: np.exp(S)),
           "The weights are e to the score. They are e to the score minus L, and then each row sums to one.", "16.5",
           GROUP_BOTH),
    Mutant("last head of a group alone", _grouped(add=False),
           "dK and dV of a group are overwritten by each head that shares it. They add: copying forward is summing "
           "backward.", "5.8", ("two groups of three",)),
    Mutant("heads dealt out in turn", _grouped(group=lambda h, H, G: h % G),
           "Head h is given group h % G. Neighbours share: group h // (H // G).", "5.8", ("two groups of three",)),
    Mutant("dQ not scaled", _grouped(scale_q=False),
           "dQ lacks the factor 1/sqrt(d) of the scores.", "16.5", GROUP_BOTH),
    Mutant("dK not scaled", _grouped(scale_k=False),
           "dK lacks the factor 1/sqrt(d) of the scores.", "16.5", GROUP_BOTH),
)

# 16.5


def _cache(two=2, kept=lambda heads, groups: groups, first=1, least=min, every=2):
    def function(layers, heads, groups, d_k, tokens, window, itemsize, budget):
        narrow = sum(layer % every == first % every for layer in range(layers))
        rows = (layers - narrow) * tokens + narrow * least(tokens, window)
        size = two * kept(heads, groups) * d_k * itemsize * rows
        return size, budget // size

    return function


CACHE_ALL = ("windows", "a short text")
CACHE = (
    Mutant("keys alone", _cache(two=1), "Keys are counted and values are not: both are kept.", "16.7", CACHE_ALL),
    Mutant("a head for every query head", _cache(kept=lambda heads, groups: heads),
           "Keys and values are counted for every head of queries. Heads of one group share theirs.", "16.7",
           CACHE_ALL),
    Mutant("windows everywhere", _cache(every=1),
           "Every layer has been given the window. Layers 0, 2, 4, … keep the whole text.", "16.7", ("windows",)),
    Mutant("the other layers", _cache(first=0),
           "Layers 0, 2, 4, … have been given the window; it is layers 1, 3, 5, …, which are fewer when the number "
           "of layers is odd.", "16.7", ("windows",)),
    Mutant("a window longer than the text", _cache(least=lambda tokens, window: window),
           "A layer with a window is counted with the whole window, even where the text is shorter.", "16.7",
           ("a short text",)),
)

# 16.6


def _go_on(before=True, ends=True, causal=True, divide=True, own=True):
    def function(Q, K, V, R, z):
        A = Q @ K.T
        A = np.tril(A, 0 if own else -1) if causal else A
        top = A @ V + (Q @ R if before else 0)
        below = A.sum(axis=1) + (Q @ z if before else 0)
        O = top / np.where(below == 0, 1, below)[:, None] if divide else top
        return O, K.T @ V + (R if ends else 0), K.sum(axis=0) + (z if ends else 0)

    return function


GO_ALL = ("from nothing", "handed on")
GO_ON = (
    Mutant("what came before is not asked", _go_on(before=False),
           "The outputs ask the new tokens alone. The state R, z that was handed in holds all earlier ones.", "16.7",
           ("handed on",)),
    Mutant("state of the new tokens alone", _go_on(ends=False),
           "The state that goes out has forgotten the one that came in.", "16.7", ("handed on",)),
    Mutant("not causal", _go_on(causal=False),
           "Each token asks all new tokens, later ones too.", "16.7", GO_ALL),
    Mutant("not divided", _go_on(divide=False),
           "The outputs are not divided by the sum of the weights, φ(q) · z.", "16.7", GO_ALL),
    Mutant("read before written", _go_on(own=False),
           "A token asks the state before its own pair is in it; the sum runs to j = t.", "16.7", GO_ALL),
)

# 16.7


def _step(early=False, unscaled=True, skip=True, halve=0.5, clip=True):
    def function(weights, grads, scale, rate, max_norm):
        bad = not np.isfinite(grads).all()
        if bad and skip:
            return weights.copy(), scale * halve
        g = np.where(np.isfinite(grads), grads, 0).astype(float)
        if early:
            g = g * min(1.0, max_norm / np.sqrt((g * g).sum()))
        g = g / scale if unscaled else g
        factor = 1.0 if early or not clip else min(1.0, max_norm / np.sqrt((g * g).sum()))
        return weights - rate * factor * g, scale * (halve if bad else 1)

    return function


STEP = (
    Mutant("clipped before it is scaled back", _step(early=True),
           "The gradients are clipped while they are still scale times too large, so nearly every step is clipped. "
           "Scale back first.", "16.8", ("clipped", "not clipped")),
    Mutant("not scaled back", _step(unscaled=False),
           "The gradients are still those of scale times the loss: divide by scale before they are used.", "16.8",
           ("not clipped",)),
    Mutant("infinities replaced", _step(skip=False),
           "An infinite gradient is replaced by 0 and the step is taken. Its true size is unknown; leave the whole "
           "step out.", "16.8", ("overflow",)),
    Mutant("scale kept", _step(halve=1),
           "After an overflow the scale is as it was, so the next step will overflow too: halve it.", "16.8",
           ("overflow",)),
    Mutant("never clipped", _step(clip=False),
           "The gradient is not clipped: where its norm is above max_norm, shrink it to that length.", "11.7",
           ("clipped",)),
)

# 16.8


def _accumulated(form):
    def function(W, X, Y, mask):
        D = (X @ W - Y) * mask[..., None]
        parts = 2 * X.mT @ D
        return form(parts, mask)

    return function


PARTS = ("three sequences", "one without a real token")
ACCUMULATED = (
    Mutant("mean of means", _accumulated(lambda g, mask: (g / mask.sum(1).clamp(min=1)[:, None, None]).mean(0)),
           "Each sequence is divided by its own tokens and the means are averaged: a token of a short sequence then "
           "weighs more. Add sums, and divide once by all real tokens.", "16.10", PARTS),
    Mutant("sum of means", _accumulated(lambda g, mask: (g / mask.sum(1).clamp(min=1)[:, None, None]).sum(0)),
           "The means of the sequences are added. Add sums, and divide once by all real tokens.", "16.10", PARTS),
    Mutant("sum", _accumulated(lambda g, mask: g.sum(0)),
           "The sum over all real tokens is not divided by their number.", "16.10", PARTS),
    Mutant("padding in the number", _accumulated(lambda g, mask: g.sum(0) / mask.numel()),
           "The sum is divided by all tokens, padding too.", "16.10", PARTS),
    Mutant("padding in the loss", lambda W, X, Y, mask: 2 * (X.mT @ (X @ W - Y)).sum(0) / mask.numel(),
           "Padding takes part in the loss: the mask is not used.", "16.10", PARTS),
)

# 16.9


def _exponent(log=np.log, sign=-1, without=True, each=False, jack=True):
    def function(N, bits, floor):
        def slope(b):
            b = b - floor if without else b
            y = np.log(b).mean(axis=1) if each else np.log(b.mean(axis=1))
            return sign * np.polyfit(log(N), y, 1)[0]

        if jack:
            left = [slope(np.delete(bits, s, axis=1)) for s in range(bits.shape[1])]
        else:
            left = [slope(bits[:, [s]]) for s in range(bits.shape[1])]
        return slope(bits), min(left), max(left)

    return function


EXPONENT = (
    Mutant("floor left in", _exponent(without=False),
           "The logarithm is taken of the bits themselves. Only what is above the floor falls like a power.", "16.11",
           ("three seeds",)),
    Mutant("sign", _exponent(sign=1),
           "The slope of the line is -p; the exponent is its opposite.", "16.11", ("three seeds", "no floor")),
    Mutant("sizes not as logarithms", _exponent(log=lambda N: N),
           "The line is fitted over N. A power law is a line over the logarithm of N.", "16.11",
           ("three seeds", "no floor")),
    Mutant("mean of logarithms", _exponent(each=True),
           "The mean over the seeds is taken of the logarithms; (16.23) is about the mean of the bits.", "16.11",
           ("three seeds", "no floor")),
    Mutant("one seed kept", _exponent(jack=False),
           "The range is that of single seeds. Leave one seed out at a time, and fit the mean of the others.",
           "16.11", ("three seeds", "no floor")),
)

# 16.10


def _wrong(first=3.0, spread=2.0, rate=True, all_of_them=False):
    def function(seconds, flops, peak):
        later = seconds if all_of_them else seconds[1:]
        middle = np.median(later)
        fast, slow = rate and flops / middle > peak, seconds[0] > first * middle
        if fast:
            return "no synchronise"
        if slow:
            return "first call"
        return "noise" if later.max() > spread * later.min() else "sound"

    return function


TIMING_ALL = ("four timings", "twelve timings")
WRONG = (
    Mutant("all sound", lambda seconds, flops, peak: "sound",
           "Everything is called sound, and three of four are not.", "16.12", TIMING_ALL),
    Mutant("the peak is not asked", _wrong(rate=False),
           "A timing that is faster than the machine can be is not noticed: compare flops over the median with the "
           "peak.", "16.12", TIMING_ALL),
    Mutant("the first among the others", _wrong(first=np.inf, all_of_them=True),
           "A slow first call is taken for noise: it loads and compiles, so look at it by itself.", "16.12",
           TIMING_ALL),
    Mutant("noise is not seen", _wrong(spread=np.inf),
           "Timings that differ by more than a factor of two are called sound.", "16.12", TIMING_ALL),
)
