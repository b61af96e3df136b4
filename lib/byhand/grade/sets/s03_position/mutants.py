"""Known wrong answers, each with the message that names the misconception."""

import math

import numpy as np

from ...model import Mutant
from .cases import NAMES, codes, turned

# 03.1


def _blocks(corner=1.0, exponent=lambda i, d: 2 * i / d, base_of=lambda base: base):
    """Rotations on the diagonal; `corner` is the sign of the sine below the diagonal."""

    def function(delta, d, base):
        M = np.zeros((d, d))
        for i in range(d // 2):
            angle = delta * base_of(base) ** -exponent(i, d)
            c, s = math.cos(angle), corner * math.sin(angle)
            M[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[c, -s], [s, c]]
        return M

    return function


def _same_sign(delta, d, base):
    M = _blocks()(delta, d, base)
    even, odd = np.arange(0, d, 2), np.arange(1, d, 2)
    M[even, odd] = M[odd, even]
    return M


def _halves(delta, d, base):
    angle = delta * base ** (-2 * np.arange(d // 2) / d)
    C, S = np.diag(np.cos(angle)), np.diag(np.sin(angle))
    return np.block([[C, -S], [S, C]])


MOVES = (
    Mutant(
        "column convention",
        _blocks(corner=-1.0),
        "This is M transposed, which moves by −δ: codes are rows here, and the matrix stands on their right.",
        "3.4",
        ("one clock", "four clocks", "back", "a long way", "any real step"),
    ),
    Mutant(
        "both signs alike",
        _same_sign,
        "Both sines have the same sign, so lengths change: cos(a + b) = cos a cos b − sin a sin b.",
        "3.4",
        ("one clock", "four clocks", "back", "a long way", "any real step"),
    ),
    Mutant(
        "2i doubled",
        _blocks(exponent=lambda i, d: 4 * i / d),
        "The exponent is −4i/d: i counts pairs, and 2i is already the number of the feature.",
        "3.3",
        ("four clocks", "back", "a long way", "any real step"),
    ),
    Mutant(
        "i for 2i",
        _blocks(exponent=lambda i, d: i / d),
        "The exponent is −i/d: with d/2 pairs it must run to almost −1, so it is −2i/d.",
        "3.3",
        ("four clocks", "back", "a long way", "any real step"),
    ),
    Mutant(
        "base 10000 always",
        _blocks(base_of=lambda base: 10000.0),
        "The base is fixed at 10000: use the one that is given.",
        "3.3",
        ("four clocks", "any real step"),
    ),
    Mutant(
        "sines first",
        _halves,
        "This moves a code with all sines first and all cosines after them; here they alternate.",
        "3.3",
        ("four clocks", "back", "a long way", "any real step"),
    ),
    Mutant(
        "whole steps alone",
        lambda delta, d, base: np.linalg.matrix_power(_blocks()(1, d, base), int(delta)),
        "δ is cut to a whole number: δ ω_i is an angle, and the clocks also stop between two places.",
        "3.4",
        ("any real step",),
    ),
)

# 03.2


def _turns(forward=turned, backward=lambda dY, p, base: turned(dY, p, base, -1.0)):
    return lambda X, dY, positions, base: (forward(X, positions, base), backward(dY, positions, base))


def _half_split(X, p, base, sign=1.0):
    half = X.shape[-1] // 2
    angle = p[:, None] * base ** (-2 * np.arange(half) / X.shape[-1])
    c, s = np.cos(angle), sign * np.sin(angle)
    a, b = X[..., :half], X[..., half:]
    return np.concatenate([a * c - b * s, a * s + b * c], axis=-1)


def _alike(X, p, base, sign=1.0):
    angle = p[:, None] * base ** (-2 * np.arange(X.shape[-1] // 2) / X.shape[-1])
    c, s, Y = np.cos(angle), np.sin(angle), np.empty_like(X)
    Y[..., ::2], Y[..., 1::2] = X[..., ::2] * c + X[..., 1::2] * s, X[..., ::2] * s + X[..., 1::2] * c
    return Y


def _overwritten(X, p, base, sign=1.0):
    angle = p[:, None] * base ** (-2 * np.arange(X.shape[-1] // 2) / X.shape[-1])
    c, s, Y = np.cos(angle), sign * np.sin(angle), X.copy()
    Y[..., ::2] = Y[..., ::2] * c - Y[..., 1::2] * s
    Y[..., 1::2] = Y[..., ::2] * s + Y[..., 1::2] * c
    return Y


def _restarted(X, p, base, sign=1.0):
    return turned(X, np.arange(len(p)), base, sign)


def _from_one(X, p, base, sign=1.0):
    return turned(X, p + 1, base, sign)


def _both(f):
    return _turns(f, lambda dY, p, base: f(dY, p, base, -1.0))


ROTATIONS = ("forward", "backward", "heads", "scattered", "far")

TURNS = (
    Mutant(
        "forward again",
        _turns(backward=turned),
        "dX is dY turned forward: the transpose of a rotation turns back.",
        "3.7",
        ("backward", "heads", "scattered", "far"),
    ),
    Mutant(
        "straight through",
        _turns(backward=lambda dY, p, base: dY.copy()),
        "dX is dY itself: RoPE has no parameters, but it is not the identity, so its gradient is turned as well.",
        "3.7",
        ("backward", "heads", "scattered", "far"),
    ),
    Mutant(
        "the other way",
        _turns(lambda X, p, base: turned(X, p, base, -1.0), turned),
        "Everything is turned the other way round: the first of a pair is a cos − b sin.",
        "3.7",
        ROTATIONS,
    ),
    Mutant(
        "half-split",
        _both(_half_split),
        "Features i and i + d/2 are paired: here neighbours are, 2i and 2i + 1.",
        "3.7",
        ROTATIONS,
    ),
    Mutant(
        "both signs alike",
        _both(_alike),
        "Both sines have the same sign, so lengths change: one of them is −sin.",
        "3.7",
        ROTATIONS,
    ),
    Mutant(
        "overwritten",
        _both(_overwritten),
        "The second feature of a pair is computed from the first after that was turned: keep the old values of both.",
        "3.7",
        ROTATIONS,
    ),
    Mutant(
        "places forgotten",
        _both(_restarted),
        "The places are taken as 0, 1, 2, …: use those that are given, or a continued text starts again at 0.",
        "3.7",
        ("scattered", "far"),
    ),
    Mutant(
        "counted from one",
        _both(_from_one),
        "Every token is turned one step too far: the token at place 0 stays as it is.",
        "3.7",
        ROTATIONS,
    ),
)

# 03.3


def _tables(n, d):
    places, right = np.arange(n), codes(np.arange(n), d)
    return {
        "correct": right,
        "base 1000": codes(places, d, 1e3),
        "base 100000": codes(places, d, 1e5),
        "2i doubled": codes(places, d, double=2),
        "counted from one": codes(places + 1, d),
        "sines first": np.hstack([right[:, ::2], right[:, 1::2]]),
    }


def _nearest(names=NAMES, said=lambda name: name):
    def function(PE):
        tables = _tables(*PE.shape)
        return said(min(names, key=lambda name: np.abs(tables[name] - PE).max()))

    return function


def _exchanged(one, other):
    return _nearest(said=lambda name: {one: other, other: one}.get(name, name))


def _invariants_only(PE):
    """A shift is linear and place 0 is (0, 1, 0, 1, …): then it is declared correct."""
    name = _nearest()(PE)
    return name if name in ("counted from one", "sines first") else "correct"


DETECTIVES = (
    Mutant(
        "invariants only",
        _invariants_only,
        "Every table with the right first row is called correct: another base, or 4i/d, also gives (0, 1, 0, 1, …) "
        "at place 0 and shifts that are rotations.",
        "3.8",
        ("five tables", "one is innocent", "wider"),
    ),
    Mutant(
        "bases exchanged",
        _exchanged("base 1000", "base 100000"),
        "The two bases are exchanged: a smaller base gives larger frequencies, so its waves are shorter.",
        "3.3",
        ("five tables", "one is innocent", "wider"),
    ),
    Mutant(
        "place and layout exchanged",
        _exchanged("counted from one", "sines first"),
        "The two that change the first row are exchanged: counted from one it is sin 1, cos 1, …; with the sines first "
        "it is all zeros, then all ones.",
        "3.3",
        ("five tables", "one is innocent", "wider"),
    ),
    Mutant(
        "doubling taken for a base",
        _nearest(said=lambda name: "base 100000" if name == "2i doubled" else name),
        "A doubled exponent is taken for a larger base: 10000^(−4i/d) is the base 10000², not 100000.",
        "3.3",
        ("five tables", "one is innocent", "wider"),
    ),
    Mutant(
        "always guilty",
        _nearest(names=NAMES[1:]),
        "A table with nothing wrong is accused: compare with the right one as well.",
        "3.3",
        ("one is innocent",),
    ),
)

# 03.4


def _mixed(Q, K, V, scale):
    S = Q @ K.mT / scale
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return (E / E.sum(axis=-1, keepdims=True) @ V).swapaxes(0, 1).reshape(Q.shape[1], -1)


def _layer(q=True, k=True, v=False, z=False, scaled=True):
    def function(Q, K, V, positions, base):
        Q, K, V = (turned(Y, positions, base) if on else Y for Y, on in ((Q, q), (K, k), (V, v)))
        Z = _mixed(Q, K, V, math.sqrt(Q.shape[-1]) if scaled else 1)
        return turned(Z, positions, base) if z else Z

    return function


def _before_the_split(Q, K, V, positions, base):
    def turn(Y):
        wide = turned(Y.swapaxes(0, 1).reshape(Y.shape[1], -1), positions, base)
        return wide.reshape(Y.shape[1], Y.shape[0], -1).swapaxes(0, 1)

    return _mixed(turn(Q), turn(K), V, math.sqrt(Q.shape[-1]))


def _heads_inside(Q, K, V, positions, base):
    Z = _layer()(Q, K, V, positions, base)
    return Z.reshape(Q.shape[1], Q.shape[0], -1).swapaxes(1, 2).reshape(Z.shape)


def _stacked(Q, K, V, positions, base):
    Q, K = turned(Q, positions, base), turned(K, positions, base)
    S = Q @ K.mT / math.sqrt(Q.shape[-1])
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return (E / E.sum(axis=-1, keepdims=True) @ V).reshape(Q.shape[1], -1)


ALL_LAYERS = ("one head", "two heads", "far along", "three heads")
SEVERAL = ALL_LAYERS[1:]

LAYERS = (
    Mutant(
        "values too",
        _layer(v=True),
        "The values are turned as well: then the output depends on where the tokens stand, not only on how far apart.",
        "3.7",
        ALL_LAYERS,
    ),
    Mutant(
        "after the heads are joined",
        _layer(q=False, k=False, z=True),
        "The joined output is turned: the scores then know nothing of places, and the output knows them absolutely.",
        "3.7",
        ALL_LAYERS,
    ),
    Mutant(
        "queries alone",
        _layer(k=False),
        "Only the queries are turned: the score then depends on the place of the query, not on the distance.",
        "3.7",
        ALL_LAYERS,
    ),
    Mutant(
        "before the heads are split",
        _before_the_split,
        "The turn uses the width H · d_k, so the first head gets all fast clocks and the last all slow ones: each head "
        "has its own d_k/2 frequencies.",
        "3.7",
        SEVERAL,
    ),
    Mutant(
        "no positions",
        _layer(q=False, k=False),
        "Nothing is turned: this attention sees a set.",
        "3.1",
        ALL_LAYERS,
    ),
    Mutant(
        "no scale",
        _layer(scaled=False),
        "The scores are not divided by √d_k.",
        "3.1",
        ALL_LAYERS,
    ),
    Mutant(
        "joined by reshape alone",
        _stacked,
        "The heads are joined by a reshape alone, which mixes tokens: bring the token axis to the front first.",
        "3.7",
        SEVERAL,
    ),
    Mutant(
        "positions ignored",
        lambda Q, K, V, positions, base: _layer()(Q, K, V, np.arange(Q.shape[1]), base),
        "The tokens are counted 0, 1, 2, … and `positions` is not used: that is right only where no place is left out.",
        "3.7",
        ("gaps",),
    ),
    Mutant(
        "heads inside",
        _heads_inside,
        "The features of the heads are dealt out in turn: the heads lie side by side, all of head "
        "0, then all of head 1.",
        "3.7",
        SEVERAL,
    ),
)

# 03.5


def _permuted(pi_of, whole=False):
    def function(W, heads):
        d_k = W.shape[1] // heads
        if whole:
            return W[:, pi_of(W.shape[1])]
        return W[:, np.concatenate([h * d_k + pi_of(d_k) for h in range(heads)])]

    return function


def _evens_first(d):
    return np.concatenate([np.arange(0, d, 2), np.arange(1, d, 2)])


PAIRINGS = (
    Mutant(
        "inverse",
        _permuted(lambda d: np.argsort(_evens_first(d))),
        "This is the inverse permutation, which leads from half-split to neighbours.",
        "3.7",
        ("one head", "several heads", "square"),
    ),
    Mutant(
        "across the heads",
        _permuted(_evens_first, whole=True),
        "All columns are permuted at once, so features wander from head to head: permute within each head.",
        "3.7",
        ("several heads", "square"),
    ),
    Mutant(
        "odd first",
        _permuted(lambda d: np.roll(_evens_first(d), d // 2)),
        "The odd features come first: each pair is then turned the other way.",
        "3.7",
        ("one head", "several heads", "square"),
    ),
    Mutant(
        "unchanged",
        lambda W, heads: W.copy(),
        "W is unchanged: a half-split program would pair feature 0 with feature d_k/2.",
        "3.7",
        ("one head", "several heads", "square"),
    ),
    Mutant(
        "reversed",
        _permuted(lambda d: np.arange(d)[::-1]),
        "The features are reversed: the pairs then meet other frequencies.",
        "3.7",
        ("one head", "several heads", "square"),
    ),
)

# 03.6


def _distance(of):
    return lambda delta, d, base: float(of(np.cos(delta * base ** (-2 * np.arange(d // 2) / d)), d))


DISTANCES = (
    Mutant(
        "product",
        _distance(lambda cos, d: cos.sum()),
        "This is the dot product of the two codes: |u − v|² is |u|² + |v|² − 2 u·v.",
        "3.4",
        ("next door", "many clocks", "behind", "any"),
    ),
    Mutant(
        "half",
        _distance(lambda cos, d: d / 2 - cos.sum()),
        "This is half of it: both codes have the squared length d/2, and the product is taken twice.",
        "3.4",
        ("next door", "many clocks", "behind", "any"),
    ),
    Mutant(
        "length d",
        _distance(lambda cos, d: 2 * d - 2 * cos.sum()),
        "The squared length of a code is taken as d: sin² + cos² = 1 for each of d/2 pairs, so it is d/2.",
        "3.3",
        ("next door", "many clocks", "behind", "any"),
    ),
    Mutant(
        "root",
        _distance(lambda cos, d: math.sqrt(d - 2 * cos.sum())),
        "This is the distance: the question asks for its square.",
        "3.4",
        ("next door", "many clocks", "behind", "any"),
    ),
    Mutant(
        "one product",
        _distance(lambda cos, d: d - cos.sum()),
        "u·v is subtracted once: (u − v)·(u − v) contains it twice.",
        "3.4",
        ("next door", "many clocks", "behind", "any"),
    ),
)

# 03.7


def _table(dS, reach, away=lambda j, i: j - i, keep=None, add=np.add.at):
    *lead, H, n, m = dS.shape
    distance = away(np.arange(m), np.arange(n)[:, None])
    table = np.zeros((H, 2 * reach + 1))
    summed = dS.reshape(-1, H, n, m).sum(axis=0)
    for h in range(H):
        if keep is None:
            add(table[h], np.clip(distance, -reach, reach) + reach, summed[h])
        else:
            inside = keep(distance, reach)
            add(table[h], distance[inside] + reach, summed[h][inside])
    return table


def _last_wins(row, index, values):
    row[index] += values


def _means(dS, reach):
    *_, H, n, m = dS.shape
    at = np.clip(np.arange(m) - np.arange(n)[:, None], -reach, reach) + reach
    counts = np.bincount(at.ravel(), minlength=2 * reach + 1)
    return _table(dS, reach) / np.maximum(counts, 1)


GRADIENTS = (
    Mutant(
        "query minus key",
        lambda dS, reach: _table(dS, reach, away=lambda j, i: i - j),
        "The table is read by i − j: its index grows with the place of the key, j − i.",
        "3.6",
        ("square", "clipped", "batch", "more keys", "long"),
    ),
    Mutant(
        "far pairs dropped",
        lambda dS, reach: _table(dS, reach, keep=lambda r, reach: np.abs(r) <= reach),
        "Pairs beyond the reach are dropped: they read the two ends of the table, so their gradients go there.",
        "3.6",
        ("clipped", "batch", "more keys", "long"),
    ),
    Mutant(
        "one of each diagonal",
        lambda dS, reach: _table(dS, reach, add=_last_wins),
        "table[index] += dS keeps one of many equal indices: use np.add.at, or sum each diagonal.",
        "3.6",
        ("square", "clipped", "batch", "more keys", "long"),
    ),
    Mutant(
        "mean of each diagonal",
        _means,
        "The diagonals are averaged: one number was copied to all places of each, and copying forward is summing "
        "backward.",
        "3.6",
        ("square", "clipped", "batch", "more keys", "long"),
    ),
    Mutant(
        "averaged over the batch",
        lambda dS, reach: _table(dS, reach) / max(1, dS[..., 0, 0, 0].size),
        "The sequences of the batch are averaged: they read the same table, so their gradients add up.",
        "3.6",
        ("batch", "long"),
    ),
    Mutant(
        "heads joined",
        lambda dS, reach: np.broadcast_to(_table(dS, reach).sum(axis=0), (dS.shape[-3], 2 * reach + 1)).copy(),
        "The heads are summed: each head has its own row of the table.",
        "3.6",
        ("square", "clipped", "batch", "more keys", "long"),
    ),
)
