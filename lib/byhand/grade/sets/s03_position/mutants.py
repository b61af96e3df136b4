"""Known wrong answers, each with the message that names the misconception."""

import math

import numpy as np

from ...model import Mutant
from .cases import turned

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


def _cosines(delta, d, base):
    return np.diag(np.cos(delta * base ** (-2 * (np.arange(d) // 2) / d)))


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
        "The exponent is −4r/d: r counts pairs, and 2r is already the number of the feature.",
        "3.3",
        ("four clocks", "back", "a long way", "any real step"),
    ),
    Mutant(
        "i for 2i",
        _blocks(exponent=lambda i, d: i / d),
        "The exponent is −r/d: with d/2 pairs it must run to almost −1, so it is −2r/d.",
        "3.3",
        ("four clocks", "back", "a long way", "any real step"),
    ),
    Mutant(
        "cosines alone",
        _cosines,
        "Only the diagonal is here: the new sine also needs the old cosine, and the new cosine the old sine.",
        "3.4",
        ("one clock", "four clocks", "back", "a long way", "any real step"),
    ),
    Mutant(
        "pairs from one",
        _blocks(exponent=lambda i, d: 2 * (i + 1) / d),
        "The pairs are counted from 1: r = 0 is the fastest clock, with ω₀ = 1.",
        "3.3",
        ("one clock", "four clocks", "back", "a long way", "any real step"),
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
        "δ is cut to a whole number: δ ω_r is an angle, and the clocks also stop between two places.",
        "3.4",
        ("any real step",),
    ),
    Mutant(
        "frequencies that grow",
        _blocks(exponent=lambda i, d: -2 * i / d),
        "The frequencies grow from pair to pair: ω_r = base^(−2r/d), with a minus, makes each clock slower than the "
        "one before.",
        "3.3",
        ("four clocks", "any real step"),
    ),
    Mutant(
        "the size of the step",
        lambda delta, d, base: _blocks()(abs(delta), d, base),
        "The sign of δ is lost: a negative δ moves back, so its sines change their sign.",
        "3.4",
        ("back",),
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


def _base_fixed(X, p, base, sign=1.0):
    return turned(X, p, 10000.0, sign)


def _evens_then_odds(X, p, base, sign=1.0):
    Y = turned(X, p, base, sign)
    return np.concatenate([Y[..., ::2], Y[..., 1::2]], axis=-1)


def _restarted(X, p, base, sign=1.0):
    return turned(X, np.arange(len(p)), base, sign)


def _from_one(X, p, base, sign=1.0):
    return turned(X, p + 1, base, sign)


def _half_exponent(X, p, base, sign=1.0):
    return turned(X, p, base**0.5, sign)  # base^(−r/d) in place of base^(−2r/d)


def _both(f):
    return _turns(f, lambda dY, p, base: f(dY, p, base, -1.0))


def _angles(of):
    """Pairs that are turned by other angles: `of` takes places (n, 1), r (d/2,), d and the base."""

    def turn(X, p, base, sign=1.0):
        d = X.shape[-1]
        angle = of(p[:, None], np.arange(d // 2), d, base)
        c, s, Y = np.cos(angle), sign * np.sin(angle), np.empty_like(X)
        Y[..., ::2], Y[..., 1::2] = X[..., ::2] * c - X[..., 1::2] * s, X[..., ::2] * s + X[..., 1::2] * c
        return Y

    return _both(turn)


ROTATIONS = ("forward", "backward", "heads", "scattered", "far")

TURNS = (
    Mutant(
        "no 2 in the exponent",
        _both(_half_exponent),
        "The 2 in the exponent is missing: the frequency of pair r is base^(−2r/d). Only the first pair of a row "
        "does not notice.",
        "3.3",
        ("forward", "backward", "heads", "scattered", "far"),
    ),
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
        "Features r and r + d/2 are paired: here neighbours are, 2r and 2r + 1.",
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
        "of X",
        lambda X, dY, positions, base: (turned(X, positions, base), turned(X, positions, base, -1.0)),
        "dX is X turned back: what is turned back is the upstream gradient dY.",
        "3.7",
        ("backward", "heads", "scattered", "far"),
    ),
    Mutant(
        "evens, then odds",
        _both(_evens_then_odds),
        "All first features of the pairs are put before all second ones: each goes back to where it came from, 2r and "
        "2r + 1.",
        "3.7",
        ROTATIONS,
    ),
    Mutant(
        "base 10000 always",
        _both(_base_fixed),
        "The base is fixed at 10000: use the one that is given.",
        "3.7",
        ("forward", "backward", "heads", "scattered"),
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
    Mutant(
        "degrees",
        _angles(lambda p, r, d, base: np.deg2rad(p * base ** (-2 * r / d))),
        "The angle is taken as degrees, and turned into radians: p ω is in radians already.",
        "3.7",
        ("forward", "backward", "heads", "scattered", "far", "other places"),
    ),
    Mutant(
        "degrees made of radians",
        _angles(lambda p, r, d, base: np.rad2deg(p * base ** (-2 * r / d))),
        "The angle is multiplied by 180/π: cos and sin take radians, and p ω is in radians.",
        "3.7",
        ("forward", "backward", "heads", "scattered", "far", "other places"),
    ),
    Mutant(
        "whole turns",
        _angles(lambda p, r, d, base: 2 * np.pi * p * base ** (-2 * r / d)),
        "The angle is multiplied by 2π, so the first pair is turned by whole turns and stands still: pair r is "
        "turned by p ω radians.",
        "3.7",
        ("forward", "backward", "heads", "scattered", "far", "other places"),
    ),
    Mutant(
        "frequencies turned round",
        _angles(lambda p, r, d, base: p * base ** (2 * r / d)),
        "The sign of the exponent is lost: the frequencies fall from pair to pair, base^(−2r/d).",
        "3.3",
        ("forward", "backward", "heads", "scattered", "far", "other places"),
    ),
    Mutant(
        "pairs counted from one",
        _angles(lambda p, r, d, base: p * base ** (-2 * (r + 1) / d)),
        "The pairs are counted from one: pair 0 has the frequency 1.",
        "3.3",
        ("forward", "backward", "heads", "scattered", "far", "other places"),
    ),
    Mutant(
        "d − 2 for d",
        _angles(lambda p, r, d, base: p * base ** (-2 * r / (d - 2))),
        "The exponent is divided by d − 2, so that the last pair turns by p / base: here it is −2r/d.",
        "3.3",
        ("forward", "backward", "heads", "scattered", "far", "other places"),
    ),
    Mutant(
        "4 for 2 in the exponent",
        _angles(lambda p, r, d, base: p * base ** (-4 * r / d)),
        "The exponent is −4r/d, as if the feature 2r were the pair's number, or d the number of pairs: it is −2r/d "
        "for pair r.",
        "3.3",
        ("forward", "backward", "heads", "scattered", "far", "other places"),
    ),
    Mutant(
        "all pairs alike",
        _angles(lambda p, r, d, base: p + 0.0 * r),
        "All pairs are turned by the place itself: pair r has its own frequency, base^(−2r/d).",
        "3.3",
        ("forward", "backward", "heads", "scattered", "far", "other places"),
    ),
)

# 03.3


def _one_code(periods, wave, p, q):
    """Do places p and q have one code?"""
    mirror = {
        "both": lambda T: False,
        "cos": lambda T: (p + q) % T == 0,
        "sin": lambda T: (2 * (p + q) - T) % (2 * T) == 0,
    }
    return all((p - q) % T == 0 or mirror[wave](T) for T in periods.tolist())


def _first(periods, wave, pairs=lambda p: range(p)):
    p = 1
    while not any(_one_code(periods, wave, p, q) for q in pairs(p)):
        p += 1
    return p + 1


def _first_rounded(periods, wave, digits):
    """The first collision of a table that was rounded."""
    seen, p = set(), 0
    while True:
        angle = 2 * np.pi * p / periods
        row = np.concatenate([f(angle) for name, f in (("sin", np.sin), ("cos", np.cos)) if wave in ("both", name)])
        row = tuple((np.round(row, digits) + 0.0).tolist())
        if row in seen:
            return p + 1
        seen.add(row)
        p += 1


def _turn(periods):
    return math.lcm(*periods.tolist())


COLLISIONS = (
    Mutant(
        "place for number",
        lambda periods, wave: _first(periods, wave) - 1,
        "This is the place of the second of the two rows: with places from 0 the table has one row more.",
        "3.3",
        ("both waves", "cosines", "sines", "one cosine"),
    ),
    Mutant(
        "product of the periods",
        lambda periods, wave: math.prod(periods.tolist()) + 1,
        "The periods are multiplied: the clocks stand as at the start as soon as a number is a multiple of each, and "
        "the smallest such number is smaller than the product if two periods share a factor.",
        "3.3",
        ("both waves", "cosines", "sines"),
    ),
    Mutant(
        "longest period",
        lambda periods, wave: int(periods.max()) + 1,
        "This is one turn of the slowest clock: the others stand elsewhere then, unless their periods divide it.",
        "3.3",
        ("both waves", "cosines", "one cosine"),
    ),
    Mutant(
        "shortest period",
        lambda periods, wave: int(periods.min()) + 1,
        "This is one turn of the fastest clock: the slower ones stand elsewhere then.",
        "3.3",
        ("both waves", "cosines", "sines", "one cosine"),
    ),
    Mutant(
        "common divisor",
        lambda periods, wave: math.gcd(*periods.tolist()) + 1,
        "This is the greatest common divisor: clocks meet again at a common *multiple* of their periods.",
        "3.3",
        ("both waves", "cosines", "sines", "one cosine"),
    ),
    Mutant(
        "wave ignored",
        lambda periods, wave: _turn(periods) + 1,
        "This is right for sine and cosine together.  One wave alone takes each of its values twice in a turn, so two "
        "places inside one turn can share a code.",
        "3.3",
        ("cosines", "sines", "one cosine"),
    ),
    Mutant(
        "row 0 alone",
        lambda periods, wave: _first(periods, wave, lambda p: (0,)),
        "Rows are compared with row 0 alone: any two rows of the table can be the equal ones.",
        "3.3",
        ("cosines", "sines", "one cosine"),
    ),
    Mutant(
        "all mirrored at once",
        lambda periods, wave: _turn(periods) + 1 if wave == "both" else _turn(periods) // 2 + 2,
        "This mirrors all clocks at once, about the middle of their common turn. Each clock may be mirrored by itself, "
        "so two places can meet before that; and a sine is not mirrored about the same places as a cosine.",
        "3.3",
        ("cosines",),
    ),
    Mutant(
        "half a turn",
        lambda periods, wave: (_turn(periods) if wave == "both" else _turn(periods) // 2) + 1,
        "With one wave alone this is half a turn of all clocks: each clock may be mirrored or not, so two places can "
        "meet before or after that.",
        "3.3",
        ("cosines", "sines", "one cosine"),
    ),
    Mutant(
        "few digits",
        lambda periods, wave: _first_rounded(periods, wave, 3),
        "Rows that differ are taken for equal: near the top of its turn the cosine of a slow clock changes by less "
        "than is kept of it. Compare to nine digits or so, or compare places instead of waves.",
        "3.3",
        ("a slow clock",),
    ),
)

# 03.4


def _mixed(Q, K, V, scale):
    S = Q @ K.mT / scale
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return (E / E.sum(axis=-1, keepdims=True) @ V).swapaxes(0, 1).reshape(Q.shape[1], -1)


def _layer(q=1.0, k=1.0, v=0.0, z=False, scale=lambda d_k, H: math.sqrt(d_k), turn=turned):
    """q, k, v, z: is it turned?  −1: the other way."""

    def function(Q, K, V, positions, base):
        Q, K, V = (turn(Y, positions, base, sign) if sign else Y for Y, sign in ((Q, q), (K, k), (V, v)))
        Z = _mixed(Q, K, V, scale(Q.shape[-1], len(Q)))
        return turned(Z, positions, base) if z else Z

    return function


def _codes_added(Q, K, V, positions, base):
    def place(Y):
        ones = np.zeros(Y.shape)
        ones[..., 1::2] = 1.0
        return Y + turned(ones, positions, base, -1.0)

    return _mixed(place(Q), place(K), V, math.sqrt(Q.shape[-1]))


def _causal(Q, K, V, positions, base):
    Q, K = turned(Q, positions, base), turned(K, positions, base)
    S = Q @ K.mT / math.sqrt(Q.shape[-1])
    S = np.where(np.tri(S.shape[-1], dtype=bool), S, -np.inf)
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return np.concatenate(list(E / E.sum(axis=-1, keepdims=True) @ V), axis=-1)


def _over_queries(Q, K, V, positions, base):
    S = turned(Q, positions, base) @ turned(K, positions, base).mT / math.sqrt(Q.shape[-1])
    E = np.exp(S - S.max(axis=-2, keepdims=True))
    return (E / E.sum(axis=-2, keepdims=True) @ V).swapaxes(0, 1).reshape(Q.shape[1], -1)


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
        _layer(v=1.0),
        "The values are turned as well: then the output depends on where the tokens stand, not only on how far apart.",
        "3.7",
        ALL_LAYERS,
    ),
    Mutant(
        "after the heads are joined",
        _layer(q=0.0, k=0.0, z=True),
        "The joined output is turned: the scores then know nothing of places, and the output knows them absolutely.",
        "3.7",
        ALL_LAYERS,
    ),
    Mutant(
        "queries alone",
        _layer(k=0.0),
        "Only the queries are turned: the score then depends on the place of the query, not on the distance.",
        "3.7",
        ALL_LAYERS,
    ),
    Mutant(
        "keys alone",
        _layer(q=0.0),
        "Only the keys are turned: the score then depends on the place of the key, not on the distance.",
        "3.7",
        ALL_LAYERS,
    ),
    Mutant(
        "codes added",
        _codes_added,
        "Sinusoids are added to queries and keys: the products of a word with a place then know where it stands.  Here "
        "vectors are turned.",
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
        _layer(q=0.0, k=0.0),
        "Nothing is turned: this attention sees a set.",
        "3.1",
        ALL_LAYERS,
    ),
    Mutant(
        "no scale",
        _layer(scale=lambda d_k, H: 1),
        "The scores are not divided by √d_k.",
        "3.1",
        ALL_LAYERS,
    ),
    Mutant(
        "scale without its root",
        _layer(scale=lambda d_k, H: d_k),
        "The scores are divided by d_k: the scale is its root, √d_k.",
        "3.1",
        ALL_LAYERS,
    ),
    Mutant(
        "scale of the whole width",
        _layer(scale=lambda d_k, H: math.sqrt(H * d_k)),
        "The scores are divided by the root of the whole width: each head has d_k features, so its scale is √d_k.",
        "3.1",
        SEVERAL,
    ),
    Mutant(
        "keys the other way",
        _layer(k=-1),
        "Queries are turned forward and keys backward: the score then depends on the sum of the two places.  Turn both "
        "the same way, and their product keeps the difference.",
        "3.7",
        ALL_LAYERS,
    ),
    Mutant(
        "softmax over the queries",
        _over_queries,
        "The softmax runs over the queries: each query divides its attention among the keys, the last axis.",
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
        "The heads are joined with features outside and heads inside: feature 0 of all heads, then feature 1.  Side by "
        "side means all features of head 0, then all of head 1.",
        "3.7",
        SEVERAL,
    ),
    Mutant(
        "causal",
        _causal,
        "Later tokens are hidden: there is no mask here, and the softmax is taken over all keys.",
        "3.7",
        ALL_LAYERS,
    ),
    Mutant(
        "both the other way",
        _layer(q=-1.0, k=-1.0),
        "Queries and keys are turned the other way round: the first of a pair is a cos − b sin, and so the score asks "
        "for the distance j − i, where this one has i − j.",
        "3.7",
        ALL_LAYERS,
    ),
    Mutant(
        "half-split",
        _layer(turn=_half_split),
        "Features r and r + d_k/2 are paired: here neighbours are, 2r and 2r + 1.",
        "3.7",
        ALL_LAYERS,
    ),
    Mutant(
        "both signs alike",
        _layer(turn=_alike),
        "Both sines have the same sign, so lengths change: one of them is −sin.",
        "3.7",
        ALL_LAYERS,
    ),
    Mutant(
        "overwritten",
        _layer(turn=_overwritten),
        "The second feature of a pair is computed from the first after that was turned: keep the old values of both.",
        "3.7",
        ALL_LAYERS,
    ),
    Mutant(
        "base 10000 always",
        _layer(turn=_base_fixed),
        "The base is fixed at 10000: use the one that is given.",
        "3.7",
        ALL_LAYERS,
    ),
    Mutant(
        "no 2 in the exponent",
        _layer(turn=_half_exponent),
        "The 2 in the exponent is missing: the frequency of pair r is base^(−2r/d_k).",
        "3.7",
        ALL_LAYERS,
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
        "heads inside",
        lambda W, heads: np.moveaxis(W.reshape(len(W), -1, 2, heads), 2, 1).reshape(W.shape),
        "The columns are read as features outside and heads inside: they are those of head 0, then those of head 1.",
        "3.7",
        ("several heads", "square"),
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
        "one length",
        _distance(lambda cos, d: d / 2 - 2 * cos.sum()),
        "Only one of the two lengths is here: |u − v|² is |u|² + |v|² − 2 u·v, and each code has the squared length "
        "d/2.",
        "3.4",
        ("next door", "many clocks", "behind", "any"),
    ),
    Mutant(
        "square of the sum",
        lambda delta, d, base: float(4 * np.sin(delta * base ** (-2 * np.arange(d // 2) / d) / 2).sum() ** 2),
        "The sines are summed and then squared: each clock moves on its own, so the squares are summed.",
        "3.4",
        ("many clocks", "behind", "any"),
    ),
    Mutant(
        "whole angle",
        lambda delta, d, base: float(4 * (np.sin(delta * base ** (-2 * np.arange(d // 2) / d)) ** 2).sum()),
        "1 − cos a is 2 sin² of *half* the angle.",
        "3.4",
        ("next door", "many clocks", "behind", "any"),
    ),
    Mutant(
        "plus",
        _distance(lambda cos, d: d + 2 * cos.sum()),
        "The product is added: this is the squared length of the sum of the two codes, not of their difference.",
        "3.4",
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
    Mutant(
        "a clock for each feature",
        lambda delta, d, base: float((2 - 2 * np.cos(delta * base ** (-np.arange(d) / d))).sum()),
        "There are d clocks here: a clock has two features, its sine and its cosine, so there are d/2.",
        "3.3",
        ("next door", "many clocks", "behind", "any"),
    ),
    Mutant(
        "sines alone",
        lambda delta, d, base: float((np.sin(delta * base ** (-2 * np.arange(d // 2) / d)) ** 2).sum()),
        "This is how far the sines have moved from place 0: the cosines move too, and both together make it the same "
        "from every place.",
        "3.4",
        ("next door", "many clocks", "behind", "any"),
    ),
    Mutant(
        "r for 2r",
        lambda delta, d, base: float(sum(2 - 2 * math.cos(delta * base ** (-r / d)) for r in range(d // 2))),
        "The exponent is −r/d: with d/2 pairs it must run to almost −1, so it is −2r/d.",
        "3.3",
        ("many clocks", "any"),
    ),
    Mutant(
        "mean over the clocks",
        _distance(lambda cos, d: (2 - 2 * cos).mean()),
        "The clocks are averaged: a squared length is a sum over all of them.",
        "3.4",
        ("many clocks", "behind", "any", "other numbers"),
    ),
    Mutant(
        "2 once",
        _distance(lambda cos, d: 2 - 2 * cos.sum()),
        "The 2 is counted once: each of the d/2 clocks gives 2 − 2 cos δω.",
        "3.4",
        ("many clocks", "behind", "any", "other numbers"),
    ),
    Mutant(
        "base 10000",
        lambda delta, d, base: float((2 - 2 * np.cos(delta * 10000.0 ** (-2 * np.arange(d // 2) / d))).sum()),
        "The base is fixed at 10000: use the one that is given.",
        "3.3",
        ("behind", "any", "other numbers"),
    ),
    Mutant(
        "length of the arc",
        lambda delta, d, base: float(((delta * base ** (-2 * np.arange(d // 2) / d)) ** 2).sum()),
        "The angles are squared: that is the arc, which is as long as the chord only for small angles. The chord has "
        "2 − 2 cos δω.",
        "3.4",
        ("next door", "many clocks", "behind", "any", "other numbers", "a few doors on"),
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
        "one sequence",
        lambda dS, reach: _table(dS[(0,) * (dS.ndim - 3)], reach),
        "Only the first sequence is here: all sequences read the same table, so their gradients add up.",
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

# 03.8


def _falls(weight=None, pair=None, exponent=lambda r, d: 2 * r / d, late=0, which=None, turns=1):
    def function(x, base):
        d = len(x)
        a, b = pair(x) if pair else (x[::2], x[1::2])
        square = weight(a, b) if weight else a * a + b * b
        omega = base ** -exponent(np.arange(d // 2), d)

        def score(delta, some=slice(None)):
            return float((square * np.cos(turns * delta * omega))[some].sum())

        delta = 1
        while score(delta, which if which else slice(None)) >= 0:
            delta += 1
        return delta - late, score(delta - late)

    return function


NEGATIVES = (
    Mutant(
        "all pairs alike",
        _falls(weight=lambda a, b: np.ones_like(a)),
        "The cosines are added as they are: each is multiplied by the squared length of its pair of x.",
        "3.7",
        ("four clocks", "slow ones", "one clock"),
    ),
    Mutant(
        "half-split",
        _falls(pair=lambda x: np.split(x, 2)),
        "Features r and r + d/2 are paired: here neighbours are, 2r and 2r + 1.",
        "3.7",
        ("four clocks", "slow ones"),
    ),
    Mutant(
        "length for its square",
        _falls(weight=lambda a, b: np.sqrt(a * a + b * b)),
        "Each cosine is multiplied by the length of its pair: it is the square of the length, since the pair of the "
        "query meets the pair of the key.",
        "3.7",
        ("four clocks", "slow ones", "one clock"),
    ),
    Mutant(
        "slowest clock",
        _falls(which=slice(-1, None)),
        "This waits for the slowest clock to pass a quarter turn: the sum is negative once the others outweigh it.",
        "3.7",
        ("four clocks", "slow ones"),
    ),
    Mutant(
        "fastest clock",
        _falls(which=slice(0, 1)),
        "This is where the cosine of the fastest clock turns negative: the slower ones still point the same way.",
        "3.7",
        ("four clocks", "slow ones"),
    ),
    Mutant(
        "turns added",
        _falls(turns=2),
        "Each angle is counted twice: query and key are both turned, and the product knows the difference of the two "
        "turns, δω_r.",
        "3.7",
        ("four clocks", "slow ones", "one clock"),
    ),
    Mutant(
        "squares not paired",
        _falls(weight=lambda a, b: (np.stack([a, b], axis=-1).ravel() ** 2)[: len(a)]),
        "The cosine of pair r is multiplied by the square of feature r: pair r has two features, 2r and 2r + 1, and "
        "both squares count.",
        "3.7",
        ("four clocks", "slow ones", "one clock"),
    ),
    Mutant(
        "last that is positive",
        _falls(late=1),
        "This is the last distance before the score turns negative, one too small.",
        "3.7",
        ("four clocks", "slow ones", "one clock"),
    ),
    Mutant(
        "r for 2r",
        _falls(exponent=lambda r, d: r / d),
        "The exponent is −r/d: with d/2 pairs it must run to almost −1, so it is −2r/d.",
        "3.3",
        ("four clocks", "slow ones"),
    ),
)

# 03.9


def _head(turn, size=1e3, of=None):
    def function(back, n, d_k, base):
        k = np.zeros(d_k)
        k[of(d_k) if of else slice(None)] = size
        return turn(k, back, base), k

    return function


def _turned_by(sign):
    return lambda k, back, base: turned(k[None], np.array([back]), base, sign)[0]


def _one_angle(k, back, base):
    q, c, s = np.empty_like(k), math.cos(back), math.sin(back)
    q[::2], q[1::2] = k[::2] * c + k[1::2] * s, k[1::2] * c - k[::2] * s
    return q


def _half_back(k, back, base):
    return _half_split(k[None], np.array([back]), base, -1.0)[0]


HEADS = (
    Mutant(
        "no turn",
        _head(lambda k, back, base: k.copy()),
        "q and k point the same way, so each token looks at itself: the query needs a head start.",
        "3.7",
        ("one back", "three back", "a long text"),
    ),
    Mutant(
        "the other way",
        _head(_turned_by(1.0)),
        "The query is turned forward, so it meets the key of a later token: turn it back.",
        "3.7",
        ("one back", "three back", "a long text"),
    ),
    Mutant(
        "too soft",
        _head(_turned_by(-1.0), size=1.0),
        "The right place has the largest weight, but less than 0.9 of it: make q or k longer.",
        "3.4",
        ("one back", "three back", "a long text"),
    ),
    Mutant(
        "fast clock alone",
        _head(_turned_by(-1.0), of=lambda d: slice(0, 2), size=10.0),
        "Only the fastest clock is used: it comes round again after about six places, and nearly exactly after 44, so "
        "the slower ones are needed to tell such places apart.",
        "3.3",
        ("a long text",),
    ),
    Mutant(
        "one angle for all",
        _head(_one_angle),
        "All pairs are turned back by the same angle: pair r moves by ω_r for each place, so it goes back by "
        "ω_r times the distance.",
        "3.7",
        ("three back", "a long text"),
    ),
    Mutant(
        "half-split",
        _head(_half_back),
        "Features r and r + d_k/2 are turned together: here neighbours are, 2r and 2r + 1.",
        "3.7",
        ("one back", "three back", "a long text"),
    ),
    Mutant(
        "one too far",
        _head(lambda k, back, base: _turned_by(-1.0)(k, back + 1, base)),
        "The query is turned back by one place too many.",
        "3.7",
        ("one back", "three back", "a long text"),
    ),
    Mutant(
        "opposite",
        _head(lambda k, back, base: -k),
        "q is −k, so each token looks at whatever is most unlike it: the query has to meet the wanted key in the same "
        "direction.",
        "3.7",
        ("one back", "three back", "a long text"),
    ),
    Mutant(
        "always one back",
        _head(lambda k, back, base: _turned_by(-1.0)(k, 1, base)),
        "The query is turned back by one place, whatever `back` is.",
        "3.7",
        ("three back", "a long text"),
    ),
)

# 03.10


def _module(
    keep="buffer", angles="cos", sign=1.0, half=False, given=True, short=False, tiled=False, first=0, way="", times=1.0
):
    """What goes wrong in a rotary module, by one option each."""

    def make_rotary(d, base, longest):
        import torch

        real = torch.float32 if short else torch.float64
        omega = base ** (-times * torch.arange(0, d, 2, dtype=real) / d)
        places = torch.arange(first, longest + first, dtype=real)

        class Rotary(torch.nn.Module):
            def __init__(self):
                super().__init__()
                for name, wave in (("cos", torch.cos), ("sin", torch.sin)):
                    value = omega.clone() if angles == "omega" else wave(places[:, None] * omega)
                    if keep == "parameter":
                        setattr(self, name, torch.nn.Parameter(value))
                    elif keep == "buffer":
                        self.register_buffer(name, value)
                    else:
                        setattr(self, name, value)

            def forward(self, X, positions=None):
                n = X.shape[-2]
                at = torch.arange(n) if positions is None or not given else positions
                at = at[0] if way == "first" and at.dim() > 1 else at
                if angles == "omega":
                    turn = (at + first)[..., None] * self.cos
                    c, s = turn.cos(), turn.sin()
                else:
                    c, s = self.cos[at], self.sin[at]
                s = sign * s
                if tiled:
                    c, s = torch.cat([c, c], dim=-1), torch.cat([s, s], dim=-1)
                    other = torch.stack([-X[..., 1::2], X[..., ::2]], dim=-1).flatten(-2)
                    return X * c + other * s
                if half:
                    x, y = X.chunk(2, dim=-1)
                    return torch.cat([x * c - y * s, x * s + y * c], dim=-1)
                x, y = X[..., ::2], X[..., 1::2]
                if way == "overwritten":
                    x = x * c - y * s
                    return torch.stack([x, x * s + y * c], dim=-1).flatten(-2)
                if way == "evens":
                    return torch.cat([x * c - y * s, x * s + y * c], dim=-1)
                return torch.stack([x * c - y * s, x * s + y * c], dim=-1).flatten(-2)

        return Rotary()

    return make_rotary


MODULES = (
    Mutant(
        "parameters",
        _module(keep="parameter"),
        "cos and sin are parameters, so an optimiser would train them: what is fixed goes into a buffer.",
        "3.9",
        ("nothing to train",),
    ),
    Mutant(
        "plain attributes",
        _module(keep="attribute"),
        "cos and sin are plain attributes: a module moves its buffers to another dtype or device, and leaves other "
        "tensors behind.",
        "3.9",
        ("from zero", "left padding", "gradient", "short numbers", "nothing to train"),
    ),
    Mutant(
        "frequencies in the buffer",
        _module(angles="omega"),
        "The buffer holds frequencies, and the angles are made in the forward pass: in float32 an angle of thousands "
        "of radians has lost the digits that its sine needs.  Keep cos and sin, made in float64.",
        "3.7",
        ("short numbers",),
    ),
    Mutant(
        "made in float32",
        _module(short=True),
        "cos and sin are made in float32, torch's default: ask for float64 where places and frequencies are made.",
        "3.9",
        ("from zero", "left padding", "gradient", "short numbers"),
    ),
    Mutant(
        "positions ignored",
        _module(given=False),
        "The places are counted 0, 1, 2, … though `positions` was given: after padding on the left, words begin later.",
        "3.9",
        ("left padding", "gradient", "short numbers"),
    ),
    Mutant(
        "halves of the cosines",
        _module(tiled=True),
        "cos and sin are repeated as a whole, (c₀, c₁, …, c₀, c₁, …), which belongs to half-split pairs; neighbours "
        "need each of them twice in a row, (c₀, c₀, c₁, c₁, …).",
        "3.7",
        ("from zero", "left padding", "gradient", "short numbers"),
    ),
    Mutant(
        "half-split",
        _module(half=True),
        "Features r and r + d/2 are paired: here neighbours are, 2r and 2r + 1.",
        "3.7",
        ("from zero", "left padding", "gradient", "short numbers"),
    ),
    Mutant(
        "the other way",
        _module(sign=-1.0),
        "Everything is turned the other way round: the first of a pair is a cos − b sin.",
        "3.7",
        ("from zero", "left padding", "gradient", "short numbers"),
    ),
    Mutant(
        "overwritten",
        _module(way="overwritten"),
        "The second feature of a pair is computed from the first after that was turned: keep the old values of both.",
        "3.7",
        ("from zero", "left padding", "gradient", "short numbers"),
    ),
    Mutant(
        "evens, then odds",
        _module(way="evens"),
        "All first features of the pairs are put before all second ones: stack the two on a new last axis and flatten, "
        "so that each goes back to where it came from.",
        "3.7",
        ("from zero", "left padding", "gradient", "short numbers"),
    ),
    Mutant(
        "places of one sentence",
        _module(way="first"),
        "The places of the first sentence are used for all: each row of `positions` belongs to a sentence of its own.",
        "3.9",
        ("left padding", "gradient", "short numbers"),
    ),
    Mutant(
        "counted from one",
        _module(first=1),
        "Every token is turned one step too far: the token at place 0 stays as it is.",
        "3.7",
        ("from zero", "left padding", "gradient", "short numbers"),
    ),
    Mutant(
        "no 2 in the exponent",
        _module(times=0.5),
        "The 2 in the exponent is missing: the frequency of pair r is base^(−2r/d).",
        "3.7",
        ("from zero", "left padding", "gradient"),
    ),
)

# 03.11


def _continued(again=False, queries="m", mask="m", keys_at="m", v=False, scale=math.sqrt, kept="turned", turn=turned):
    """again: are old keys turned once more?  queries, mask, keys_at: counted from "m" on, or from "0"."""

    def function(Q, K, V, keys, values, base):
        m, (n, d_k) = len(keys), Q.shape
        start = {"m": m, "0": 0, "m − 1": m - 1, "m + 1": m + 1}
        new = turn(K, start[keys_at] + np.arange(n), base) if keys_at else K
        old = turn(keys, np.arange(m), base, float(again)) if again else keys
        whole = np.concatenate([old, new])
        V = np.concatenate([values, turn(V, m + np.arange(n), base) if v else V])
        S = (turn(Q, start[queries] + np.arange(n), base) if queries else Q) @ whole.T / scale(d_k)
        if mask == "zeros":
            S = S * np.tri(n, m + n, m)
        elif mask:
            S = np.where(np.tri(n, m + n, start[mask], dtype=bool), S, -np.inf)
        E = np.exp(S - S.max(axis=1, keepdims=True))
        return E / E.sum(axis=1, keepdims=True) @ V, whole if kept == "turned" else np.concatenate([keys, K])

    return function


TWICE = "The keys of the old tokens are turned again: they were turned when they came in, and their places stay."
FROM_ZERO = "The new queries are counted from 0: their places go on after the old ones, m, m + 1, …"
MASK = "The mask begins at the first key: new token i may see all m old ones and the new ones up to itself."

CONTINUATIONS = (
    Mutant("old keys again", _continued(again=True), TWICE, "3.7", ("after a text", "cache", "one token more")),
    Mutant("queries from zero", _continued(queries="0"), FROM_ZERO, "3.7", ("after a text", "one token more")),
    Mutant("mask from zero", _continued(mask="0"), MASK, "3.1", ("after a text", "one token more")),
    Mutant(
        "nothing repaired",
        _continued(again=True, queries="0", mask="0"),
        "This is what the faulty code gives.  All of its faults vanish when there are no old tokens: look for what "
        "depends on m.",
        "3.7",
        ("after a text", "one token more"),
    ),
    Mutant(
        "queries and mask",
        _continued(queries="0", mask="0"),
        f"Two faults are left.  {FROM_ZERO}  And: {MASK}",
        "3.7",
        ("after a text", "one token more"),
    ),
    Mutant(
        "keys and mask",
        _continued(again=True, mask="0"),
        f"Two faults are left.  {TWICE}  And: {MASK}",
        "3.7",
        ("after a text", "one token more"),
    ),
    Mutant(
        "keys and queries",
        _continued(again=True, queries="0"),
        f"Two faults are left.  {TWICE}  And: {FROM_ZERO}",
        "3.7",
        ("after a text", "one token more"),
    ),
    Mutant(
        "new keys from zero",
        _continued(keys_at="0"),
        "The new keys are counted from 0: they come after the m old ones, at places m, m + 1, …",
        "3.7",
        ("after a text", "cache", "one token more"),
    ),
    Mutant(
        "one place early",
        _continued(keys_at="m − 1", queries="m − 1"),
        "The first new token is put at the place of the last old one: the old ones have places 0 to m − 1, so it is at "
        "m.",
        "3.7",
        ("after a text", "cache", "one token more"),
    ),
    Mutant(
        "one place late",
        _continued(keys_at="m + 1", queries="m + 1"),
        "The first new token is put one place too far: the old ones have places 0 to m − 1, so it is at m.",
        "3.7",
        ("after a text", "cache", "one token more"),
    ),
    Mutant(
        "not itself",
        _continued(mask="m − 1"),
        "A new token does not see itself: new token i stands at place m + i, and sees the keys 0 to m + i.",
        "3.1",
        ("after a text", "one token more"),
    ),
    Mutant(
        "scores set to zero",
        _continued(mask="zeros"),
        "Forbidden scores are set to 0, and exp 0 is 1: they must be −∞ before the softmax.",
        "3.1",
        ("after a text", "no old tokens"),
    ),
    Mutant(
        "queries unturned",
        _continued(queries=None),
        "The new queries are not turned: without their turn the scores depend on the places of the keys alone.",
        "3.7",
        ("after a text", "no old tokens", "one token more"),
    ),
    Mutant(
        "new keys unturned",
        _continued(keys_at=None),
        "The new keys are not turned: they come in as projected, and need their turn like the old ones before.",
        "3.7",
        ("after a text", "cache", "no old tokens", "one token more"),
    ),
    Mutant(
        "old keys turned back",
        _continued(again=-1),
        "The old keys are turned back: they were turned when they came in, and that is how they are needed.",
        "3.7",
        ("after a text", "cache", "one token more"),
    ),
    Mutant(
        "no mask",
        _continued(mask=None),
        "There is no mask: a new token must not see the new ones behind it.",
        "3.1",
        ("after a text", "no old tokens"),
    ),
    Mutant(
        "values too",
        _continued(v=True),
        "The new values are turned as well: only queries and keys are.",
        "3.7",
        ("after a text", "no old tokens", "one token more"),
    ),
    Mutant(
        "keys handed on unturned",
        _continued(kept="plain"),
        "The new keys are turned for the scores, and handed on as they came: the next step expects them turned.",
        "3.7",
        ("cache", "no old tokens"),
    ),
    Mutant(
        "scale without its root",
        _continued(scale=lambda d_k: d_k),
        "The scores are divided by d_k: the scale is its root, √d_k.",
        "3.1",
        ("after a text", "no old tokens", "one token more"),
    ),
    Mutant(
        "no scale",
        _continued(scale=lambda d_k: 1.0),
        "This is what you get when the scores are not divided by √d_k.",
        "3.7",
        ("after a text", "one token more", "no old tokens"),
    ),
    Mutant(
        "half-split",
        _continued(turn=_half_split),
        "Features r and r + d_k/2 are paired: here neighbours are, 2r and 2r + 1.",
        "3.7",
        ("after a text", "cache", "one token more", "no old tokens"),
    ),
    Mutant(
        "the other way",
        _continued(turn=lambda X, p, base, sign=1.0: turned(X, p, base, -sign)),
        "The new queries and keys are turned the other way round: the first of a pair is a cos − b sin.",
        "3.7",
        ("after a text", "cache", "one token more", "no old tokens"),
    ),
    Mutant(
        "multiplied by the scale",
        _continued(scale=lambda d_k: 1 / math.sqrt(d_k)),
        "The scores are multiplied by √d_k: they are divided by it.",
        "3.7",
        ("after a text", "one token more", "no old tokens"),
    ),
)

# 03.12


def _stretch(full=2 * math.pi, longer=False, strangers=None, power=lambda d: d / (d - 2)):
    def function(reach, s, d, base):
        angle = (s if longer else 1) * reach * base ** (-2 * np.arange(d // 2) / d)
        few = int((angle < full).sum())
        return strangers(few, d) if strangers else few, base * s ** power(d)

    return function


STRANGERS, BASES = ("strangers", "narrow"), ("new base", "narrow")
STRETCHES = (
    Mutant(
        "half a turn",
        _stretch(full=math.pi),
        "Clocks that make less than half a turn are counted: a full turn is 2π.",
        "3.3",
        ("strangers",),
    ),
    Mutant(
        "one radian",
        _stretch(full=1.0),
        "Clocks that move by less than one radian are counted: a full turn is 2π radians.",
        "3.3",
        STRANGERS,
    ),
    Mutant(
        "the familiar ones",
        _stretch(strangers=lambda few, d: d // 2 - few),
        "These are the clocks that have been all the way round: the others are asked for.",
        "3.10",
        STRANGERS,
    ),
    Mutant(
        "features for clocks",
        _stretch(strangers=lambda few, d: 2 * few),
        "Features are counted: each clock has two of them.",
        "3.3",
        STRANGERS,
    ),
    Mutant(
        "in the longer text",
        _stretch(longer=True),
        "The turns are counted in the longer text: a stranger is a clock that did not get all the way round "
        "in training.",
        "3.10",
        ("strangers",),
    ),
    Mutant(
        "base times s",
        _stretch(power=lambda d: 1.0),
        "The base is multiplied by s: the slowest clock has the exponent −(d − 2)/d and not −1, so that is not quite "
        "enough.",
        "3.3",
        BASES,
    ),
    Mutant(
        "exponent not inverted",
        _stretch(power=lambda d: (d - 2) / d),
        "s is raised to (d − 2)/d: the base is raised to that, so to undo it s takes the inverse, d/(d − 2).",
        "3.3",
        BASES,
    ),
    Mutant(
        "smaller base",
        _stretch(power=lambda d: -d / (d - 2)),
        "The base is smaller, which makes the clocks faster: the slowest has to become slower, so the base grows.",
        "3.3",
        BASES,
    ),
    Mutant(
        "base divided by s",
        _stretch(power=lambda d: -1.0),
        "The base is divided by s, which makes the clocks faster: the slowest has to become slower, so the base grows.",
        "3.3",
        BASES,
    ),
    Mutant(
        "d/2 for d/(d − 2)",
        _stretch(power=lambda d: d / 2),
        "s is raised to d/2: the exponent of the slowest clock is −(d − 2)/d, and its inverse is d/(d − 2).",
        "3.3",
        BASES,
    ),
    Mutant(
        "slowest is d/2",
        _stretch(power=lambda d: d / (d - 1)),
        "The exponent of the slowest clock is taken as −(d − 1)/d: with r = 0, 1, …, d/2 − 1 it is −2(d/2 − 1)/d.",
        "3.3",
        BASES,
    ),
    Mutant(
        "2/d for the exponent",
        _stretch(power=lambda d: 2 / d),
        "s is raised to 2/d, which is one step of the exponents: the slowest clock has −(d − 2)/d, so s takes the "
        "inverse, d/(d − 2).",
        "3.3",
        ("new base", "narrow", "other sizes"),
    ),
    Mutant(
        "base raised as well",
        lambda reach, s, d, base: (_stretch()(reach, s, d, base)[0], (base * s) ** (d / (d - 2))),
        "The base is raised to d/(d − 2) together with s: only s is, b' = b s^(d/(d − 2)), for with s = 1 the base "
        "has to stay as it is.",
        "3.3",
        ("new base", "narrow", "other sizes"),
    ),
    Mutant(
        "no 2 in the frequencies",
        lambda reach, s, d, base: (_stretch()(reach, s, d, base**0.5)[0], base * s ** (2 * d / (d - 2))),
        "The 2 is missing in the frequencies: clock r has base^(−2r/d).",
        "3.3",
        ("strangers", "new base", "narrow", "other sizes", "other strangers"),
    ),
)
