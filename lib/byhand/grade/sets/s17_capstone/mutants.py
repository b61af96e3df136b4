"""Known wrong answers, each with the message that names the misconception."""

import itertools

import numpy as np

from ...model import Mutant
from .cases import MEANS, PARTS


def _softmax(S, axis=-1):
    E = np.exp(S - S.max(axis=axis, keepdims=True))
    return E / E.sum(axis=axis, keepdims=True)


# 17.1


def _gain(gain=lambda g: 1 + g, out=lambda g: 1 + g, mean="mean", along=1.0, of=lambda G, N, dY: G * N, power=1,
          dg=lambda dY, N, X, g: (dY * N).sum(axis=0), center=False, outside=False, size="rms", wide=False,
          again=False, axis=-1, late=False, plus=False, output=False, mix=None, eps=1e-6, floor=0.0):
    def function(dY, X, g):
        r = {"rms": (X * X).mean(axis=-1, keepdims=True), "std": X.var(axis=-1, keepdims=True),
             "length": (X * X).sum(axis=-1, keepdims=True), "batch": (X * X).mean(),
             "tokens": (X * X).mean(axis=0)}[size]
        r = np.sqrt(r + eps) + floor
        N = X / r
        G = mix(dY, g) if mix else dY if outside else dY * gain(g)
        row = N * (1 + g) if output else N
        inner = of(G, row, dY)
        inner = inner.sum(axis=axis, keepdims=True) / (
            {"mean": X.shape[axis], "sum": 1, "one less": X.shape[-1] - 1}[mean] if axis is not None else X.size)
        dX = G - along * (X * r if wide else row) * inner - (G.mean(axis=-1, keepdims=True) if center else 0)
        dX = G / r - N * inner if late else dX
        dX = dX / (1 if late else r**power) * (gain(g) if outside or again else 1)
        return N + g if plus else N * out(g), dX, dg(dY, N, X, g)

    return function


BACK = ("what goes back", "other sizes")

GAINS = (
    Mutant(
        "g added to dY g",
        _gain(mix=lambda dY, g: g + dY * g),
        "g stands where dY should: Y is N times 1 + g, so what goes back is dY times 1 + g, which is dY + dY ∘ g, "
        "and not g + dY ∘ g.",
        "17.1",
        BACK,
    ),
    Mutant(
        "the output for the row",
        _gain(output=True),
        "Y stands where N belongs: the slope of the root has the normalised row before its gain, in both places.",
        "17.1",
        BACK,
    ),
    Mutant(
        "as given",
        _gain(gain=lambda g: g),
        "This gives what the code with its fault gives. Slope of dX alone is wrong: which factor did dY meet on its "
        "way back, and which on its way there?",
        "17.1",
        BACK,
    ),
    Mutant(
        "g added to dY",
        _gain(mix=lambda dY, g: dY + g),
        "g is added to dY: Y is N times 1 + g, so dY is multiplied by 1 + g, which is dY + dY ∘ g.",
        "17.1",
        BACK,
    ),
    Mutant(
        "gain and one added",
        _gain(mix=lambda dY, g: dY + 1 + g),
        "1 + g is added to dY: Y is N times 1 + g, so dY is multiplied by it.",
        "17.1",
        BACK,
    ),
    Mutant(
        "divided by the gain",
        _gain(mix=lambda dY, g: dY / (1 + g)),
        "dY is divided by 1 + g: a factor of the way there is a factor of the way back.",
        "17.1",
        BACK,
    ),
    Mutant(
        "no gain on the way back",
        _gain(gain=lambda g: 1 + 0 * g),
        "dX has no gain at all: Y was N times 1 + g, so dY is multiplied by 1 + g before anything else.",
        "17.1",
        BACK,
    ),
    Mutant(
        "gain outside of the mean",
        _gain(outside=True),
        "The gain is multiplied at the end. It belongs to dY, inside the mean: with all gains equal nobody would "
        "notice.",
        "6.3",
        BACK,
    ),
    Mutant(
        "sum for mean",
        _gain(mean="sum"),
        "The term along N has a sum where a mean belongs: r holds a mean of d squares.",
        "6.7",
        BACK,
    ),
    Mutant(
        "term along N lost",
        _gain(along=0.0),
        "r was treated as a constant: it depends on X, which takes away the part along N.",
        "6.7",
        BACK,
    ),
    Mutant(
        "term along N added",
        _gain(along=-1.0),
        "The term along N has the wrong sign: a longer X is divided by more.",
        "6.7",
        BACK,
    ),
    Mutant(
        "r squared",
        _gain(power=2),
        "dX is divided by r twice.",
        "6.7",
        BACK,
    ),
    Mutant(
        "centred",
        _gain(center=True),
        "The mean of G is taken away, as in LayerNorm; RMSNorm subtracts no mean, so none comes back.",
        "6.7",
        BACK,
    ),
    Mutant(
        "mean without the gain",
        _gain(of=lambda G, N, dY: dY * N),
        "Inside the mean stands dY without its gain.",
        "6.3",
        BACK,
    ),
    Mutant(
        "gain forward",
        _gain(gain=lambda g: g, out=lambda g: g),
        "Now both ways use g, and slopes agree: but the layer asked for has the gain 1 + g. A slope check cannot "
        "see that; a twin can.",
        "17.5",
        ("the output", *BACK),
    ),
    Mutant(
        "dg times the gain",
        _gain(dg=lambda dY, N, X, g: (dY * N * (1 + g)).sum(axis=0)),
        "dg needs no gain: Y is N times 1 + g, and its derivative by g is N.",
        "6.3",
        ("the gain",),
    ),
    Mutant(
        "dg of X",
        _gain(dg=lambda dY, N, X, g: (dY * X).sum(axis=0)),
        "dg is the sum of dY times N, the normalised rows, not times X.",
        "6.3",
        ("the gain",),
    ),
    Mutant(
        "dg as a mean",
        _gain(dg=lambda dY, N, X, g: (dY * N).mean(axis=0)),
        "dg is a sum over the tokens: the same gain served all of them.",
        "6.3",
        ("the gain",),
    ),
    Mutant(
        "standard deviation",
        _gain(size="std"),
        "You divide by the standard deviation, which subtracts the mean first; RMSNorm divides by the root of the "
        "mean square and subtracts nothing.",
        "6.7",
        ("the output", *BACK),
    ),
    Mutant(
        "length",
        _gain(size="length"),
        "You divide by the length, the root of a sum of squares; the norm has the root of their mean.",
        "6.7",
        ("the output", *BACK),
    ),
    Mutant(
        "gain twice",
        _gain(gain=lambda g: (1 + g) ** 2),
        "dY meets the gain twice on its way back; it met it once on its way there.",
        "17.1",
        BACK,
    ),
    Mutant(
        "gain in one term alone",
        _gain(of=lambda G, N, dY: (G - dY) * N),
        "The first term has the gain 1 + g, the mean has g: both are made of the same G.",
        "17.1",
        BACK,
    ),
    Mutant(
        "rows for normalised rows",
        _gain(wide=True, of=lambda G, N, dY: G * N),
        "The term along N is made with X: the normalised row N = X / r belongs in both of its places.",
        "6.7",
        BACK,
    ),
    Mutant(
        "dg over the features",
        _gain(dg=lambda dY, N, X, g: np.resize((dY * N).sum(axis=-1), g.shape)),
        "dg is summed along the rows; a gain belongs to a feature, and all tokens have used it.",
        "6.3",
        ("the gain",),
    ),
    Mutant(
        "gain at both ends",
        _gain(again=True),
        "dX is multiplied by the gain once more at the end: G has it already.",
        "17.1",
        BACK,
    ),
    Mutant(
        "mean over the tokens",
        _gain(axis=0),
        "The mean along N is taken over the tokens; each row is normalised by itself, so it runs over the features.",
        "6.7",
        BACK,
    ),
    Mutant(
        "gain of the wrong sign",
        _gain(gain=lambda g: 1 - g),
        "dY meets 1 − g on its way back; it met 1 + g on its way there.",
        "17.1",
        BACK,
    ),
    Mutant(
        "dg as a product",
        _gain(dg=lambda dY, N, X, g: (dY * N * g).sum(axis=0)),
        "dg has a factor g: Y is N times 1 + g, and its derivative by g is N.",
        "6.3",
        ("the gain",),
    ),
    Mutant(
        "term along N not divided",
        _gain(late=True),
        "Only the first term is divided by r; the term along N is divided too.",
        "6.7",
        BACK,
    ),
    *(Mutant(
        f"epsilon {name}",
        _gain(**how),
        f"ε is {name} here: it is 1e-6, added to the mean square before the root is taken.",
        "6.7",
        ("the output",),
    ) for name, how in (("outside of the root", {"eps": 0.0, "floor": 1e-6}), ("1e-5", {"eps": 1e-5}),
                        ("1e-8", {"eps": 1e-8}), ("left out", {"eps": 0.0}))),
    Mutant(
        "one root for the batch",
        _gain(size="batch"),
        "The mean square is taken over all rows together: each row is divided by its own root.",
        "6.7",
        ("the output", *BACK),
    ),
    Mutant(
        "divided by one less",
        _gain(mean="one less"),
        "The mean along N divides by d − 1; it is a mean of d numbers.",
        "6.7",
        BACK,
    ),
    Mutant(
        "mean over everything",
        _gain(axis=None),
        "The mean along N runs over all rows together: each row has its own.",
        "6.7",
        BACK,
    ),
    Mutant(
        "gain twice in the mean",
        _gain(of=lambda G, N, dY: G * G / np.where(dY == 0, 1, dY) * N),
        "Inside the mean the gain stands twice, with dY and with N: the row there is the one before its gain.",
        "6.3",
        BACK,
    ),
    Mutant(
        "dg divided by the gain",
        _gain(dg=lambda dY, N, X, g: (dY * N / (1 + g)).sum(axis=0)),
        "dg is divided by the gain: Y is N times 1 + g, and its derivative by g is N, no more.",
        "6.3",
        ("the gain",),
    ),
    Mutant(
        "gain added",
        _gain(plus=True),
        "The gain is added to the rows; they are multiplied by 1 + g.",
        "17.1",
        ("the output",),
    ),
    Mutant(
        "not divided by r",
        _gain(power=0),
        "dX is not divided by r: N is X / r, so what goes back through N is divided by r as well.",
        "17.1",
        BACK,
    ),
    *(Mutant(
        f"normalised over the tokens{where}",
        _gain(size="tokens", axis=axis),
        "The mean square is taken over the tokens, as in a BatchNorm: each token is divided by the root of the mean "
        "square of its own features, the last axis.",
        "17.1",
        ("the output", *BACK),
    ) for where, axis in (("", 0), (" forward alone", -1))),
)

# 17.2


def _grouped(share="repeat", scale="k", mask=0, axis=-1, merge=True, late=False, fill=None, turned=False,
             order=False, same=False):
    def function(Q, K, V):
        B, H, n, k = Q.shape
        times = H // K.shape[1]
        if share == "repeat":
            K, V = np.repeat(K, times, axis=1), np.repeat(V, times, axis=1)
        elif share == "turned":
            K, V = np.repeat(K[:, ::-1], times, axis=1), np.repeat(V[:, ::-1], times, axis=1)
        elif share in ("H / G for G", "pairs", "round up"):
            G, h = K.shape[1], np.arange(H)
            h = {"H / G for G": np.minimum(h // G, G - 1), "pairs": h // 2 % G, "round up": -(-h * G // H) % G}[share]
            K, V = K[:, h], V[:, h]
        elif share == "mean":
            Q = np.repeat(Q.reshape(B, -1, times, n, k).mean(axis=2), times, axis=1)
            K, V = np.repeat(K, times, axis=1), np.repeat(V, times, axis=1)
        elif share == "tile":
            K, V = np.tile(K, (1, times, 1, 1)), np.tile(V, (1, times, 1, 1))
        elif share == "keys tiled":
            K, V = np.tile(K, (1, times, 1, 1)), np.repeat(V, times, axis=1)
        elif share == "values tiled":
            K, V = np.repeat(K, times, axis=1), np.tile(V, (1, times, 1, 1))
        elif share == "mean of all":
            K, V = K.mean(axis=1, keepdims=True), V.mean(axis=1, keepdims=True)
        else:
            K, V = np.repeat(K[:, :1], H, axis=1), np.repeat(V[:, :1], H, axis=1)
        S = Q @ K.mT * {"k": k**-0.5, "all": (H * k) ** -0.5, "1": 1.0, "k k": 1 / k, "up": k**0.5,
                        "heads": H**-0.5, "shared": (k * times) ** -0.5, "n": n**-0.5}[scale]
        may = np.tri(n, k=mask, dtype=bool) if mask < 9 else np.ones((n, n), bool)
        may = may.T if turned else may
        A = np.where(may, _softmax(S, axis), 0) if late else _softmax(np.where(may, S,
            -np.inf if fill is None else fill), axis)
        Z = A @ (K if share == "repeat" and same else V)
        if order == "mixed":
            return Z.reshape(B, -1, times, n, k).transpose(0, 3, 2, 1, 4).reshape(B, n, H * k)
        if order:
            return Z.transpose(0, 2, 3, 1).reshape(B, n, H * k)
        return Z if merge == "not" else (Z.swapaxes(1, 2) if merge else Z).reshape(B, n, H * k)

    return function


EACH = ("two groups", "three groups", "one group each", "other sizes")
SHARED = ("two groups", "three groups", "other sizes")

GROUPED = (
    Mutant(
        "scaled by the heads of a group",
        _grouped(scale="shared"),
        "The scores are divided by the root of k times H / G. A product of q and k still adds k numbers, however many "
        "heads share the keys.",
        "17.1",
        SHARED,
    ),
    Mutant(
        "as given",
        _grouped("tile"),
        "This gives what the code with its fault gives. With as many groups as heads, or with one, it is right: so "
        "what is wrong is which head reads which group.",
        "5.8",
        SHARED,
    ),
    Mutant(
        "keys tiled",
        _grouped("keys tiled"),
        "Values follow the groups now, keys still do not: both are shared.",
        "5.8",
        SHARED,
    ),
    Mutant(
        "values tiled",
        _grouped("values tiled"),
        "Keys follow the groups now, values still do not: both are shared.",
        "5.8",
        SHARED,
    ),
    Mutant(
        "first group for all",
        _grouped("first"),
        "Every head reads group 0.",
        "5.8",
        ("two groups", "three groups", "one group each", "other sizes"),
    ),
    Mutant(
        "merged without a turn",
        _grouped(merge=False),
        "Heads are put together without turning the axes: the rows of your output mix tokens.",
        "5.3",
        EACH,
    ),
    Mutant(
        "no mask",
        _grouped(mask=9),
        "Every place sees all places: the causal mask has gone.",
        "8.1",
        EACH,
    ),
    Mutant(
        "mask off by one",
        _grouped(mask=1),
        "Each place also sees the next one.",
        "8.2",
        EACH,
    ),
    Mutant(
        "mask after the softmax",
        _grouped(late=True),
        "The weights are masked after the softmax, so that the rest of a row sums to less than one.",
        "8.4",
        EACH,
    ),
    Mutant(
        "scale of the model",
        _grouped(scale="all"),
        "The scores are divided by √(H k), the width of all heads; each head has its own width, k.",
        "4.4",
        EACH,
    ),
    Mutant(
        "no scale",
        _grouped(scale="1"),
        "The scores are not divided by √k any more.",
        "4.4",
        EACH,
    ),
    Mutant(
        "scale k",
        _grouped(scale="k k"),
        "The scores are divided by k, not by its root.",
        "4.4",
        EACH,
    ),
    Mutant(
        "the future alone",
        _grouped(turned=True),
        "The mask is turned over: each place sees itself and what comes after it.",
        "8.2",
        EACH,
    ),
    Mutant(
        "features before heads",
        _grouped(order=True),
        "The numbers of a row stand in another order: all of head 0 first, then all of head 1. Yours has feature 0 "
        "of every head first.",
        "5.3",
        EACH,
    ),
    Mutant(
        "scores of zero",
        _grouped(fill=0.0),
        "Masked scores are set to 0, and e⁰ is 1: they keep weight. They have to be −∞.",
        "8.3",
        EACH,
    ),
    Mutant(
        "softmax over the queries",
        _grouped(axis=-2),
        "The softmax runs over the queries; a row of weights, over the keys, must sum to one.",
        "4.5",
        EACH,
    ),
    Mutant(
        "groups from the other end",
        _grouped("turned"),
        "Groups are read from the other end: head 0 reads the last.",
        "5.8",
        EACH,
    ),
    Mutant(
        "times the root",
        _grouped(scale="up"),
        "The scores are multiplied by √k: they are divided.",
        "4.4",
        EACH,
    ),
    Mutant(
        "scale of the heads",
        _grouped(scale="heads"),
        "The scores are divided by the root of the number of heads; it is the width k of a head.",
        "4.4",
        EACH,
    ),
    Mutant(
        "divided by the groups",
        _grouped("H / G for G"),
        "Head h reads group h // G: right by chance with four heads and two groups. A group serves H / G heads.",
        "5.8",
        ("three groups", "one group each", "other sizes"),
    ),
    Mutant(
        "always pairs",
        _grouped("pairs"),
        "Two heads share a group here, whatever H and G are: H / G of them do.",
        "5.8",
        ("one group each", "other sizes"),
    ),
    Mutant(
        "rounded up",
        _grouped("round up"),
        "The group of a head is rounded up: h // (H / G) rounds down, so that head 1 reads group 0 like head 0.",
        "5.8",
        SHARED,
    ),
    Mutant(
        "mean of the queries",
        _grouped("mean"),
        "The queries of a group are averaged: the heads of a group share keys and values, and each asks for itself.",
        "5.8",
        SHARED,
    ),
    Mutant(
        "groups within the heads",
        _grouped(order="mixed"),
        "The heads of a row stand in another order, first the first of every group: head h keeps its place.",
        "5.8",
        SHARED,
    ),
    Mutant(
        "root of the length",
        _grouped(scale="n"),
        "The scores are divided by the root of the number of tokens; it is the width k of a head.",
        "4.4",
        EACH,
    ),
    Mutant(
        "not itself",
        _grouped(mask=-1),
        "No place sees itself, and the first one sees nothing at all: a place sees those before it and itself.",
        "8.2",
        EACH,
    ),
    Mutant(
        "keys for values",
        _grouped(same=True),
        "The weights bring keys, not values.",
        "4.1",
        EACH,
    ),
    Mutant(
        "groups averaged",
        _grouped("mean of all"),
        "Every head reads the mean of all groups: head h reads one of them, group h // (H / G).",
        "17.1",
        EACH,
    ),
    Mutant(
        "heads left apart",
        _grouped(merge="not"),
        "The heads are still apart, (B, H, n, k): they stand side by side in the row of their token, (B, n, H k).",
        "17.1",
        EACH,
    ),
)

# 17.3


def _capped(slope=lambda t, c: 1 - t * t, scale=("Q", "K", "S"), rowsum=True, dV=lambda A, dO: A.T @ dO, turn=False,
            cap=True, outer=1.0, axis=-1, width="k", early=False, weights=False, raw=False, extra=0.0, softmax=True,
            inside=True, times=True):
    def function(dO, Q, K, V, c):
        s = {"k": Q.shape[-1] ** -0.5, "v": V.shape[-1] ** -0.5, "all": 1 / Q.shape[-1], "none": 1.0}[width]
        U = Q @ K.T * s
        t = np.tanh(U / c if inside else U)
        A = _softmax((c * t if times else t) if cap else U)
        dA = dO @ V.T * (slope(t, c) if early else 1)
        rho = (A * dA).mean(axis=axis, keepdims=True) if rowsum == "mean" else (A * dA).sum(axis=axis, keepdims=True)
        dS = A * (dA - (rho if rowsum else 0)) if softmax else dA
        dS = A * (1 - A) * dA if softmax == "diagonal" else dS
        U = U if raw else t
        dS = dS * (slope(A if weights else U, c) if cap and not early else 1) * (outer if outer == 1.0 else c)
        dS = dS * Q.shape[-1] ** extra
        dQ, dK = dS @ K * (s if "Q" in scale else 1), dS.T @ Q * (s if "K" in scale else 1)
        return (dK, dQ, dV(A, dO)) if turn else (dQ, dK, dV(A, dO))

    return function


SCORES = ("dQ", "dK", "a small cap", "other sizes")

CAPPED = (
    Mutant(
        "slope of the weights",
        _capped(slope=lambda t, c: 1 - t * t, weights=True),
        "The slope of the cap is taken of the weights, 1 − A²: it is that of the tanh, one minus the square of S "
        "/ c.",
        "17.1",
        SCORES,
    ),
    Mutant(
        "tanh twice",
        _capped(slope=lambda t, c: 1 - np.tanh(t) ** 2),
        "The tanh is taken twice: S / c is the tanh already, and its slope is one minus its square.",
        "17.1",
        SCORES,
    ),
    Mutant(
        "cap before the softmax",
        _capped(early=True),
        "The slope of the cap is multiplied before the softmax's way back. On the way there the cap came first: on "
        "the way back it comes after the softmax.",
        "17.1",
        SCORES,
    ),
    Mutant(
        "as given",
        _capped(slope=lambda t, c: 1 - (c * t) ** 2),
        "This gives what the code with its fault gives. dV is right, dQ and dK are not: the fault lies after the "
        "weights and before the products. What is tanh' of, c tanh or tanh?",
        "17.5",
        SCORES,
    ),
    Mutant(
        "cap held constant",
        _capped(slope=lambda t, c: 1 + 0 * t),
        "The cap sends everything through: its slope, 1 − tanh², is missing.",
        "17.1",
        SCORES,
    ),
    Mutant(
        "divided by c",
        _capped(slope=lambda t, c: (1 - t * t) / c),
        "There is a 1/c left: c tanh(x / c) has the slope 1 − tanh², since the c in front takes away the one inside.",
        "17.1",
        SCORES,
    ),
    Mutant(
        "times c",
        _capped(outer=2.0),
        "There is a factor c left: c tanh(x / c) has the slope 1 − tanh², since the c inside takes away the one in "
        "front.",
        "17.1",
        SCORES,
    ),
    Mutant(
        "tanh without its square",
        _capped(slope=lambda t, c: 1 - t),
        "The slope of tanh is 1 − tanh², not 1 − tanh.",
        "17.1",
        SCORES,
    ),
    Mutant(
        "logistic slope",
        _capped(slope=lambda t, c: t * (1 - t)),
        "t (1 − t) is the slope of σ; that of tanh is 1 − t².",
        "9.1",
        SCORES,
    ),
    Mutant(
        "softmax held constant",
        _capped(softmax=False),
        "The way back through the softmax is missing: dA is that of the weights, and dS = A ∘ (dA − Σ A ∘ dA), with a "
        "sum for each row.",
        "4.6",
        SCORES,
    ),
    Mutant(
        "no row sum",
        _capped(rowsum=False),
        "The softmax lost its row sum on the way back.",
        "4.6",
        SCORES,
    ),
    Mutant(
        "column sum",
        _capped(axis=-2),
        "The softmax subtracts a sum over the queries; its weights sum to one over the keys.",
        "4.6",
        SCORES,
    ),
    Mutant(
        "no scale in dQ",
        _capped(scale=("K",)),
        "1/√k is missing in dQ.",
        "4.6",
        ("dQ", "a small cap", "other sizes"),
    ),
    Mutant(
        "no scale in dK",
        _capped(scale=("Q",)),
        "1/√k is missing in dK.",
        "4.6",
        ("dK", "a small cap", "other sizes"),
    ),
    Mutant(
        "no cap at all",
        _capped(cap=False),
        "This is the gradient of attention without the cap.",
        "17.1",
        (*SCORES, "dV"),
    ),
    Mutant(
        "one c too few",
        _capped(slope=lambda t, c: 1 - c * t * t),
        "You divide the square by c once. S = c tanh, so tanh² = S² / c².",
        "17.1",
        SCORES,
    ),
    Mutant(
        "width of the values",
        _capped(width="v"),
        "The scores are divided by the root of the width of V; the width that counts is that of queries and keys.",
        "4.4",
        (*SCORES, "dV"),
    ),
    Mutant(
        "scale k",
        _capped(width="all"),
        "The scores are divided by k, not by its root.",
        "4.4",
        (*SCORES, "dV"),
    ),
    Mutant(
        "slope as a root",
        _capped(slope=lambda t, c: np.sqrt(1 - t * t)),
        "The slope of tanh is 1 − tanh² itself, not its root.",
        "17.1",
        SCORES,
    ),
    Mutant(
        "tanh of the capped score",
        _capped(slope=lambda t, c: 1 - np.tanh(c * t) ** 2),
        "You take the tanh of S, which is a tanh already, times c: the square that belongs here is (S / c)².",
        "17.1",
        SCORES,
    ),
    Mutant(
        "divided by the slope",
        _capped(slope=lambda t, c: 1 / (1 - t * t)),
        "The slope of the cap multiplies; you divide by it.",
        "17.1",
        SCORES,
    ),
    Mutant(
        "slope with a plus",
        _capped(slope=lambda t, c: 1 + t * t),
        "The slope of tanh is 1 − tanh², with a minus: a cap makes slopes smaller.",
        "17.1",
        SCORES,
    ),
    Mutant(
        "slope of the sine",
        _capped(slope=lambda t, c: -(1 - t * t)),
        "dQ and dK have the wrong sign.",
        "17.1",
        SCORES,
    ),
    *(Mutant(
        f"slope of {what}",
        _capped(slope=slope, raw=True),
        f"The slope is taken {words}: it is 1 − tanh² of the scores divided by c, which is 1 − (S / c)².",
        "17.1",
        SCORES,
    ) for what, words, slope in (
        ("the scores", "at the scores themselves, not at the scores divided by c", lambda U, c: 1 - np.tanh(U) ** 2),
        ("c times the scores", "at c times the scores", lambda U, c: 1 - np.tanh(U * c) ** 2),
        ("no tanh", "without a tanh, of the square of the scores", lambda U, c: 1 - (U / c) ** 2),
        ("a clipped score", "as that of clipping, 1 inside of ±c and 0 outside", lambda U, c: np.abs(U) < c),
    )),
    *(Mutant(
        f"slope {name}",
        _capped(slope=slope),
        f"{words}: c tanh(x / c) has the slope 1 − (S / c)², with no factor beside it.",
        "17.1",
        SCORES,
    ) for name, words, slope in (
        ("times c squared", "c² − S² is c² times too much", lambda t, c: c * c * (1 - t * t)),
        ("over c squared", "The slope is divided by c²", lambda t, c: (1 - t * t) / c**2),
        ("with c cubed", "The square of S is divided by c³", lambda t, c: 1 - t * t / c),
    )),
    *(Mutant(
        f"scaled {name}",
        _capped(extra=power),
        words,
        "4.6",
        SCORES,
    ) for name, power, words in (
        ("twice", -0.5, "1/√k stands twice in dQ and dK: once in the line of dU is enough."),
    )),
    Mutant(
        "slope without the square",
        _capped(slope=lambda t, c: 1 - np.abs(t)),
        "The slope of tanh is 1 − tanh²: the square is missing.",
        "17.1",
        SCORES,
    ),
    Mutant(
        "no scale anywhere",
        _capped(width="none"),
        "The scores are not divided by √k: not on their way there, so the weights are others, and not on the way back.",
        "17.1",
        ("dV", *SCORES),
    ),
    Mutant(
        "mean for the row sum",
        _capped(rowsum="mean"),
        "Through the softmax goes A ∘ (dA − ρ), with ρ the sum of A ∘ dA over a row: yours is a mean.",
        "17.1",
        SCORES,
    ),
    Mutant(
        "slope of a sigmoid",
        _capped(softmax="diagonal"),
        "A (1 − A) is the slope of a sigmoid, the diagonal of the softmax alone: each weight of a row depends on all "
        "its scores.",
        "17.1",
        SCORES,
    ),
    Mutant(
        "c not inside",
        _capped(inside=False),
        "The scores are not divided by c inside of the tanh: S = c tanh(U / c), so that small scores stay as they are.",
        "17.1",
        ("dV", *SCORES),
    ),
    Mutant(
        "c not in front",
        _capped(times=False),
        "The tanh is not multiplied by c: S = c tanh(U / c), so that the weights come from scores up to ± c, not ± 1.",
        "17.1",
        ("dV", *SCORES),
    ),
    Mutant(
        "c not in front, slope divided",
        _capped(slope=lambda t, c: (1 - t * t) / c, times=False),
        "The tanh is not multiplied by c: S = c tanh(U / c), so that the weights come from scores up to ± c, not ± 1.",
        "17.1",
        ("dV", *SCORES),
    ),
    Mutant(
        "S times c",
        _capped(slope=lambda t, c: 1 - (c * c * t) ** 2),
        "S is multiplied by c before it is squared: S = c tanh, so divide it by c to get the tanh.",
        "17.1",
        SCORES,
    ),
)

# 17.4


def _tied(lookup="add", scores=True, forward="mean", back="sum", each=True, whole=False):
    def function(dZ, ids, E):
        n = len(ids)
        count = np.arange(1, n + 1)[:, None]
        back_count = np.full((n, 1), n) if whole is True else count + 1 if whole == "late" else count
        X = E[ids]
        H = {"mean": np.cumsum(X, axis=0) / count, "rows": X, "sum": np.cumsum(X, axis=0)}[forward]
        dH = dZ @ E / (back_count if each else 1)
        dX = {"sum": np.cumsum(dH[::-1], axis=0)[::-1], "own": dH, "before": np.cumsum(dH, axis=0),
              "turned": np.cumsum(dH[::-1], axis=0),
              "later": np.cumsum(dH[::-1], axis=0)[::-1] - dH,
              "after": np.cumsum((dZ @ E)[::-1], axis=0)[::-1] / count,
              "from the end": (np.cumsum((dZ @ E)[::-1], axis=0) / count)[::-1]}[back]
        dE = dZ.T @ H if scores else np.zeros_like(E)
        if lookup == "add":
            np.add.at(dE, ids, dX)
        elif lookup == "twice":
            np.add.at(dE, ids, 2 * dX)
        elif lookup == "once":
            dE[ids] += dX
        elif lookup == "set":
            dE[ids] = dX
        elif lookup == "mean":
            for word in np.unique(ids):
                dE[word] += dX[ids == word].mean(axis=0)
        elif lookup == "many":
            dE[ids] += dX * (ids[:, None] == ids).sum(axis=1, keepdims=True)
        elif lookup == "replace":
            for word in np.unique(ids):
                dE[word] = dX[ids == word].sum(axis=0)
        elif lookup == "first":
            for word in np.unique(ids):
                dE[word] += dX[ids == word][0]
        elif lookup == "first for all":
            for word in np.unique(ids):
                dE[word] += dX[ids == word][0] * (ids == word).sum()
        return dE

    return function


ALL_TIED = ("all different", "repeats", "other sizes")

TIED = (
    Mutant(
        "look-up twice",
        _tied("twice"),
        "The share of the look-up is counted twice: the table is read twice, once by the look-up and once by the "
        "scores.",
        "10.5",
        ALL_TIED,
    ),
    Mutant(
        "as given",
        _tied("once"),
        "This gives what the code with its fault gives. Where all tokens are different it is right: which of its "
        "lines forgets one of two equal ids?",
        "2.4",
        ("repeats", "other sizes"),
    ),
    Mutant(
        "the scores' share overwritten",
        _tied("set"),
        "The look-up's share replaces that of the scores at the rows of the tokens: the table was read twice, so "
        "its gradient is a sum.",
        "10.5",
        ALL_TIED,
    ),
    Mutant(
        "scores alone",
        _tied("none"),
        "This is the share of the scores alone; the look-up read the table too.",
        "10.5",
        ALL_TIED,
    ),
    Mutant(
        "look-up alone",
        _tied(scores=False),
        "This is the share of the look-up alone; the scores read the table too.",
        "10.5",
        ALL_TIED,
    ),
    Mutant(
        "each row its own place",
        _tied(back="own"),
        "Row t of H is a mean over all tokens up to t, so a token gets gradient from every later row too.",
        "17.1",
        ALL_TIED,
    ),
    Mutant(
        "from the past",
        _tied(back="before"),
        "Your sum runs over the rows before a token. It is the later rows that have read it.",
        "17.1",
        ALL_TIED,
    ),
    Mutant(
        "own row left out",
        _tied(back="later"),
        "A token gets nothing from its own row, which has read it too.",
        "17.1",
        ALL_TIED,
    ),
    Mutant(
        "divided too late",
        _tied(back="after"),
        "Each row's gradient is divided by the length of *that* row's mean, before the sum over the rows.",
        "17.1",
        ALL_TIED,
    ),
    Mutant(
        "not divided",
        _tied(each=False),
        "The means divide by t + 1 on the way there, and on the way back too.",
        "17.1",
        ALL_TIED,
    ),
    Mutant(
        "rows for means",
        _tied(forward="rows"),
        "The scores' share takes H, the means, not the rows of the table.",
        "17.1",
        ALL_TIED,
    ),
    Mutant(
        "sums for means",
        _tied(forward="sum"),
        "H is a mean of the rows so far, not their sum.",
        "17.1",
        ALL_TIED,
    ),
    Mutant(
        "divided by all",
        _tied(whole=True),
        "On the way back every row is divided by the length of the whole text; row t is a mean of t + 1 rows.",
        "17.1",
        ALL_TIED,
    ),
    Mutant(
        "mean of the repeats",
        _tied("mean"),
        "Of a word that comes several times you add the mean of its gradients: it gets their sum.",
        "2.4",
        ("repeats", "other sizes"),
    ),
    Mutant(
        "first of the repeats",
        _tied("first"),
        "Of a word that comes several times only the first place adds its gradient: each of its places does, so a word "
        "that stands twice in a row's mean gets that row's gradient twice.",
        "2.4",
        ("repeats", "other sizes"),
    ),
    Mutant(
        "times the repeats",
        _tied("many"),
        "A repeated word gets one gradient times the number of its places: each place has its own, and they are added.",
        "2.4",
        ("repeats", "other sizes"),
    ),
    Mutant(
        "the scores' share replaced",
        _tied("replace"),
        "The look-up's share, rightly summed, replaces that of the scores: the table was read twice, so its gradient "
        "is "
        "a sum.",
        "10.5",
        ALL_TIED,
    ),
    Mutant(
        "divided by one more",
        _tied(whole="late"),
        "On the way back row t is divided by t + 2; counted from 0 it is a mean of t + 1 rows.",
        "17.1",
        ALL_TIED,
    ),
    Mutant(
        "turned and not turned back",
        _tied(back="turned"),
        "The sum from the end is right, but its rows still stand from the end to the beginning: turn it back.",
        "17.1",
        ALL_TIED,
    ),
    Mutant(
        "divided from the end",
        _tied(back="from the end"),
        "The sum from the end is divided by 1, 2, … from the end: row t of H is the mean of t + 1 rows, so dZ E of row "
        "t is divided by t + 1, and then the rows are added.",
        "17.1",
        ALL_TIED,
    ),
    Mutant(
        "the first place for all",
        _tied("first for all"),
        "Of a repeated word you add the gradient of its first place again and again: each place has its own, "
        "dE[ids[t]] += dX[t] for every t.",
        "2.4",
        ("repeats", "other sizes"),
    ),
)

# 17.5


def _padded(keep="next", share="tokens", shift=True, place="front", grad_mask=True, sign=1, half=False, summed=False,
            unit=1.0):
    def function(logits, ids, lengths):
        B, n, V = logits.shape
        if shift:
            P, Q = _softmax(logits[:, :-1]), np.eye(V)[ids[:, 1:]]
        else:
            P, Q = _softmax(logits[:, :-1]), np.eye(V)[ids[:, :-1]]
        last = lengths[:, None]
        mask = {"next": np.arange(1, n) < last, "this": np.arange(n - 1) < last, "all": np.ones((B, n - 1), bool),
                "short": np.arange(2, n + 1) < last, "more": np.arange(n - 1) <= last,
                "later": (np.arange(1, n) < last) & (np.arange(n - 1) > 0), "nonzero": ids[:, 1:] != 0,
                "both nonzero": (ids[:, 1:] != 0) & (ids[:, :-1] != 0), "last id": ids[:, 1:] != ids[0, -1],
                "not full": np.arange(1, n) < np.minimum(last, n - 1),
                "shortest": np.arange(1, n) < last.min() + 0 * last,
                "one each": np.arange(n - 1) < np.maximum(last - 1, 1)}[keep][..., None]
        if share == "tokens":
            w = mask / mask.sum()
        elif share == "texts":
            w = mask / np.maximum(mask.sum(axis=1, keepdims=True), 1) / B
        elif share == "places":
            w = mask / (B * (n - 1))
        elif share == "batch":
            w = mask / B
        elif share == "lengths":
            w = mask / lengths.sum()
        elif share == "one less":
            w = mask / (lengths.sum() - 1)
        elif share == "all":
            w = mask / ids.size
        else:
            w = mask * 1.0
        L = -(np.log((P * Q).sum(axis=-1, keepdims=True)) * w).sum() / unit
        d = np.zeros(logits.shape)
        d[:, 1 if place == "back" else 0 :][:, : n - 1] = sign * (P - Q) * (
            mask if summed else w if grad_mask else w.max() * (w >= 0))
        if half:
            d[:, :-1] += Q * w
        return L, d

    return function


LOSSES = ("the loss", "its gradient", "a single token", "other sizes")
GRADS = ("its gradient", "a single token", "other sizes")

PADDED = (
    Mutant(
        "two tokens too many",
        _padded("more"),
        "The last real token of each text is asked for the padding after it, and so is the padding: place t asks "
        "for token t + 1, which must be real, t + 1 < length.",
        "17.5",
        LOSSES,
    ),
    Mutant(
        "first question left out",
        _padded("later"),
        "The first place of each text is left out: it has no token before it, but one after it, and that one is "
        "asked for.",
        "8.8",
        LOSSES,
    ),
    Mutant(
        "as given",
        _padded("this"),
        "This gives what the code with its fault gives. Change the padding into another token, and your loss moves: "
        "the last real token of each text is asked for the padding after it.",
        "17.5",
        LOSSES,
    ),
    Mutant(
        "padding counted",
        _padded("all"),
        "Padding is predicted and counted like words.",
        "8.8",
        (*LOSSES,),
    ),
    Mutant(
        "one token too few",
        _padded("short"),
        "The last real token of each text is never asked for: place t predicts token t + 1, which must be real "
        "itself, no more.",
        "8.8",
        ("the loss", "its gradient", "no padding", "a single token", "other sizes"),
    ),
    Mutant(
        "mean of means",
        _padded(share="texts"),
        "Each text is averaged by itself first, so that a word in a short text weighs more than one in a long text.",
        "11.2",
        LOSSES,
    ),
    Mutant(
        "divided by all places",
        _padded(share="places"),
        "The sum is divided by all places, padding among them: more padding, smaller loss.",
        "11.2",
        LOSSES,
    ),
    Mutant(
        "divided by the batch",
        _padded(share="batch"),
        "The sum is divided by the number of texts, not of tokens.",
        "11.2",
        (*LOSSES, "no padding"),
    ),
    Mutant(
        "a sum",
        _padded(share="sum"),
        "This is the sum; the mean over the tokens that count was asked for.",
        "11.2",
        (*LOSSES, "no padding"),
    ),
    Mutant(
        "not shifted",
        _padded(shift=False),
        "Each place is asked for the token that it has just read: shift the labels.",
        "10.5",
        (*LOSSES, "no padding"),
    ),
    Mutant(
        "gradient one place late",
        _padded(place="back"),
        "The gradient stands one place too far right: the place that makes the guess gets it.",
        "10.5",
        (*GRADS, "no padding"),
    ),
    Mutant(
        "gradient of padding",
        _padded(grad_mask=False),
        "The loss leaves padding out; the gradient does not.",
        "8.8",
        GRADS,
    ),
    Mutant(
        "sign",
        _padded(sign=-1),
        "The gradient has the wrong sign: it is P − Q.",
        "11.1",
        (*GRADS, "no padding"),
    ),
    Mutant(
        "divided by the tokens",
        _padded(share="lengths"),
        "You divide by the number of tokens. The first token of a text is not asked for, so there is one question "
        "less for each text.",
        "11.2",
        (*LOSSES, "no padding"),
    ),
    Mutant(
        "gradient of the sum",
        _padded(summed=True),
        "The loss is a mean, its gradient that of a sum: it lacks the division by the number of tokens that count.",
        "11.2",
        (*GRADS, "no padding"),
    ),
    Mutant(
        "bits",
        _padded(unit=np.log(2)),
        "The loss is in bits, its gradient in nats: no logarithm to base 2 was asked for.",
        "11.1",
        ("the loss", "other sizes", "no padding", "a single token"),
    ),
    Mutant(
        "one question less",
        _padded(share="one less"),
        "You divide by the number of tokens less one: in each text the first token is not asked for, so there is one "
        "question less for each text, not for the batch.",
        "11.2",
        LOSSES,
    ),
    Mutant(
        "divided by the whole array",
        _padded(share="all"),
        "The sum is divided by B n, padding and last places among them: the mean is over the tokens that are asked "
        "for.",
        "11.2",
        LOSSES,
    ),
    Mutant(
        "full texts cut",
        _padded("not full"),
        "The last token of a text that fills its row is never asked for: such a text has no padding, and all of its "
        "places but the last ask.",
        "8.8",
        ("the loss", "its gradient", "no padding", "other sizes"),
    ),
    Mutant(
        "at least one question",
        _padded("one each"),
        "A text of a single token asks for the padding after it here: it asks nothing.",
        "8.8",
        ("a single token",),
    ),
    Mutant(
        "as long as the shortest",
        _padded("shortest"),
        "All texts are cut to the length of the shortest: the other tokens are real, and are asked for.",
        "8.8",
        LOSSES,
    ),
    Mutant(
        "gradient without the label",
        _padded(half=True),
        "The gradient is P alone: the label's 1 is taken away, P − Q.",
        "11.1",
        (*GRADS, "no padding"),
    ),
    *(Mutant(
        f"padding known by {name}",
        _padded(keep),
        "Padding is told by its id here, and a word may have the same one: lengths says which tokens are real.",
        "8.8",
        (case,),
    ) for name, keep, case in (("both ids", "both nonzero", "another padding"),
                               ("the last id", "last id", "no padding"))),
    Mutant(
        "padding known by its id",
        _padded("nonzero"),
        "The id 0 is left out wherever it stands. Here it is a word, and padding has another id: lengths says which "
        "tokens are real.",
        "8.8",
        ("another padding",),
    ),
    Mutant(
        "gradient as given",
        lambda *given: (_padded()(*given)[0], _padded("this")(*given)[1]),
        "The loss is right, and the gradient is still that of the code with its fault: it asks the last real token of "
        "each text for the padding after it. One mask serves both.",
        "17.5",
        GRADS,
    ),
    Mutant(
        "loss as given",
        lambda *given: (_padded("this")(*given)[0], _padded()(*given)[1]),
        "The gradient is right, and the loss is still that of the code with its fault: it asks the last real token of "
        "each text for the padding after it. One mask serves both.",
        "17.5",
        ("the loss", "a single token", "other sizes"),
    ),
)

# 17.6


def _quotient_sign(u):
    with np.errstate(all="ignore"):
        return u / np.abs(u)


def _lion(first="old", b=(0.9, 0.99), decay="step", sign=np.sign, part=None, m_step=False, up=False, g_decay=False,
          bare=False, after=False, memory="", coarse=False):
    def function(theta, g, m, lr, wd):
        if g_decay:
            g = g + wd * theta
        new = b[1] * m + (1 - b[1]) * g
        u = b[0] * (new if first == "new" else m) + (1 if bare else 1 - b[0]) * (np.sign(g) if coarse else g)
        step = sign(u)
        if decay == "inside":
            step = np.sign(u + wd * theta)
        move = step + (wd * theta if decay == "step" else -wd * theta if decay == "minus" else 0)
        move = lr * move + (wd * theta if decay == "bare" else 0)
        if decay == "constant":
            move = lr * step + lr * wd
        if after:
            move = lr * step + lr * wd * (theta - lr * step)
        if decay in ("twice", "after, divided", "signs"):
            move = lr * step + {"twice": lr * lr * wd * theta, "signs": lr * wd * np.sign(theta),
                                "after, divided": lr * wd * (theta - lr * step) / (1 + lr * wd)}[decay]
        new = {"square": b[1] * m + (1 - b[1]) * g * g, "old": m, "step": b[1] * m + (1 - b[1]) * step,
               "decayed": b[1] * m + (1 - b[1]) * (g + wd * theta), "again": b[1] * u + (1 - b[1]) * g,
               "corrected": new / (1 - b[1])}.get(memory, new)
        new = new if part is None else b[1] * m + part * g
        return theta + move if up else theta - move, (u if m_step else new)

    return function


STEPS = ("the step", "with decay", "other sizes")

LIONS = (
    Mutant(
        "as given",
        _lion("new"),
        "This gives what the code with its fault gives. The new m is right, θ is not: which m does the direction "
        "use, that of before or the new one?",
        "17.5",
        STEPS,
    ),
    Mutant(
        "the betas exchanged",
        _lion(b=(0.99, 0.9)),
        "β₁ and β₂ are exchanged: 0.9 is for the direction, 0.99 for what is remembered.",
        "17.5",
        (*STEPS, "what is remembered"),
    ),
    Mutant(
        "the direction remembered",
        _lion(m_step=True),
        "What is remembered is the direction's mean, with 0.9; m has its own, with 0.99.",
        "17.5",
        ("what is remembered", "with decay", "other sizes"),
    ),
    Mutant(
        "a sign for zero",
        _lion(sign=lambda u: np.where(u >= 0, 1.0, -1.0)),
        "A weight without gradient and without memory moves: the sign of 0 is 0.",
        "17.5",
        ("with decay", "other sizes"),
    ),
    Mutant(
        "no sign",
        _lion(sign=lambda u: u),
        "There is no sign: every entry of a step of Lion is as large as every other.",
        "17.5",
        STEPS,
    ),
    Mutant(
        "decay inside the sign",
        _lion(decay="inside"),
        "The decay stands inside the sign, where it decides directions and does not shrink.",
        "11.5",
        ("with decay", "other sizes"),
    ),
    Mutant(
        "decay in the gradient",
        _lion(decay="none", g_decay=True),
        "The decay is added to the gradient: that is L₂, and not what was asked.",
        "11.5",
        ("with decay", "other sizes"),
    ),
    Mutant(
        "decay without the rate",
        _lion(decay="bare"),
        "The decay is not multiplied by the learning rate.",
        "11.5",
        ("with decay", "other sizes"),
    ),
    Mutant(
        "no decay",
        _lion(decay="none"),
        "The decay has gone.",
        "11.5",
        ("with decay", "other sizes"),
    ),
    Mutant(
        "uphill",
        _lion(up=True),
        "The step goes uphill: it is subtracted.",
        "11.3",
        STEPS,
    ),
    Mutant(
        "weights that do not add up",
        _lion(bare=True),
        "In the direction the gradient has the weight 1; it is 1 − β₁, so that the two weights add up to one.",
        "17.5",
        STEPS,
    ),
    Mutant(
        "sign of the gradient",
        _lion(b=(0.0, 0.99)),
        "The direction is the sign of the gradient alone: the old m has a part in it.",
        "17.5",
        STEPS,
    ),
    Mutant(
        "decay after the step",
        _lion(after=True),
        "The decay acts on θ after the step; the formula has the old θ in both places.",
        "11.5",
        ("with decay", "other sizes"),
    ),
    Mutant(
        "sign of what is remembered",
        _lion(b=(1.0, 0.99)),
        "The gradient has no part in the direction, or one too small to turn it: the mixture is 0.9 of the old m and "
        "0.1 "
        "of g, and β₂ belongs to what is remembered.",
        "17.5",
        ("the step", "with decay", "other sizes"),
    ),
    Mutant(
        "growing",
        _lion(decay="minus"),
        "The decay has the wrong sign: weights grow.",
        "11.5",
        ("with decay", "other sizes"),
    ),
    Mutant(
        "memory of the newest",
        _lion(b=(0.9, 0.01)),
        "m keeps 0.01 of the old and takes 0.99 of the new: the weights are exchanged.",
        "17.5",
        ("what is remembered", "with decay", "other sizes"),
    ),
    Mutant(
        "direction of the newest",
        _lion(b=(0.1, 0.99)),
        "The direction has 0.1 of the old m and 0.9 of the gradient: the weights are exchanged.",
        "17.5",
        STEPS,
    ),
    Mutant(
        "a constant decay",
        _lion(decay="constant"),
        "The same number is taken from every weight; decay takes a share of each.",
        "11.5",
        ("with decay", "other sizes"),
    ),
    Mutant(
        "sign of the gradient mixed",
        _lion(coarse=True),
        "The sign of g goes into the mixture. Mix m and g as they are, and take the sign of what comes out.",
        "17.5",
        STEPS,
    ),
    *(Mutant(
        f"memory takes {part:g} of g",
        _lion(part=part),
        f"m takes {part:g} of the gradient: with β₂ = 0.99 it takes 1 − β₂, a hundredth.",
        "17.5",
        ("what is remembered", "with decay", "other sizes"),
    ) for part in (0.1, 1.0)),
    Mutant(
        "signs remembered",
        _lion(memory="step"),
        "m remembers the step, which is a sign: it remembers the gradient.",
        "17.5",
        ("what is remembered", "with decay", "other sizes"),
    ),
    Mutant(
        "decay remembered",
        _lion(memory="decayed"),
        "The decay has come into what is remembered: m takes the gradient alone, and the decay stands beside.",
        "11.5",
        ("with decay", "other sizes"),
    ),
    Mutant(
        "rate twice in the decay",
        _lion(decay="twice"),
        "The decay is multiplied by the learning rate twice.",
        "11.5",
        ("with decay", "other sizes"),
    ),
    Mutant(
        "divided by the decay",
        _lion(decay="after, divided"),
        "θ is divided by 1 + α λ: the formula subtracts α λ θ, of the old θ.",
        "11.5",
        ("with decay", "other sizes"),
    ),
    Mutant(
        "decay of signs",
        _lion(decay="signs"),
        "The decay takes the same from every weight, towards 0: it takes a share of each, λ θ.",
        "11.5",
        ("with decay", "other sizes"),
    ),
    *(Mutant(
        f"{name} for the sign",
        _lion(sign=sign),
        f"{words} stands where the sign should: every entry of the step is +1 or −1.",
        "17.5",
        STEPS,
    ) for name, words, sign in (("a tanh", "A tanh", np.tanh), ("a unit vector", "The mixture divided by its length",
                                                                  lambda u: u / np.linalg.norm(u)))),
    Mutant(
        "nothing remembered",
        _lion(memory="old"),
        "m comes back as it was: it takes a hundredth of the new gradient.",
        "17.5",
        ("what is remembered", "with decay", "other sizes"),
    ),
    Mutant(
        "squares remembered",
        _lion(memory="square"),
        "m remembers squares of gradients, as Adam's v does; Lion remembers the gradients.",
        "17.5",
        ("what is remembered", "with decay", "other sizes"),
    ),
    Mutant(
        "remembered from the direction",
        _lion(memory="again"),
        "What is remembered is mixed from the direction: m' is β₂ times the old m, and 1 − β₂ of the gradient.",
        "17.5",
        ("what is remembered", "with decay", "other sizes"),
    ),
    Mutant(
        "corrected as in Adam",
        _lion(memory="corrected"),
        "m is divided by 1 − β₂, as Adam corrects its beginning: Lion corrects nothing, for a sign has no size.",
        "17.5",
        ("what is remembered", "with decay", "other sizes"),
    ),
    Mutant(
        "no direction is none",
        _lion(sign=lambda u: np.where(u > 0, 1.0, -1.0)),
        "Where the mixture is 0 you take a step: the sign of 0 is 0. np.sign has three values, np.where two.",
        "17.5",
        ("with decay",),
    ),
    Mutant(
        "sign as a quotient",
        _lion(sign=_quotient_sign),
        "Where the mixture is 0, u / |u| is 0 / 0, which is nan: the sign of 0 is 0, as np.sign has it.",
        "17.5",
        ("with decay",),
    ),
)

# 17.7


def _pieces(place="own", mask="right", keys="all", first="mask", scale=True, cached="after", stream=True):
    def function(ids, cut, E, P, W_q, W_k, W_v):
        d, rows, K, V = E.shape[1], [], np.zeros((0, E.shape[1])), np.zeros((0, E.shape[1]))
        for new in [ids[:cut], *ids[cut:, None]]:
            old, n = len(K), len(new)
            spots = np.arange(n) if place == "restart" else np.arange(old, old + n)
            if place == "early" and old:
                spots = spots - 1
            if place == "cut" and old:
                spots = np.full(n, cut)
            if place == "late" and old or place == "one":
                spots = spots + 1
            if place == "end":
                spots = spots - len(P)
            if place == "again" and old:
                spots = spots - cut
            if place == "last":
                spots = np.full(n, old + n - 1)
            if place == "jump":
                spots = spots + (spots > cut)
            if place == "back":
                spots = len(ids) - 1 - spots
            if place == "first":
                spots = np.full(n, old)
            if place == "tail":
                spots = np.arange(-n, 0)
            words = E[new]
            X = words if place == "none" else words + P[spots]
            source = words if cached == "words" or cached == "new words" and old else X
            more_K = source @ (W_q if mask == "turned" else W_k)
            bare = words if cached == "bare values" else X  # else the values have their places, whatever the keys have
            more_V = X if mask == "no values" else bare @ W_v
            K, V = (more_K, more_V) if keys == "none" else (np.vstack([K, more_K]), np.vstack([V, more_V]))
            if keys == "prompt" and old >= cut:
                seen_K, seen_V = K[: cut], V[: cut]
            else:
                seen_K, seen_V = K, V
            width = {"n": len(ids), "own": np.arange(old, old + n)[:, None] + 1, True: d, False: 1, "d d": d * d}[scale]
            S = X @ (W_k if mask == "turned" else W_q) @ seen_K.T / np.sqrt(width)
            far = np.arange(old, old + n)[:, None] - np.arange(S.shape[1])
            seen = {"own": ~((far > 0) & (old > 0) & (np.arange(S.shape[1]) >= cut)),
                    "new": (np.arange(S.shape[1]) >= cut) | (old == 0), "window": far < cut}.get(keys, True)
            S = np.where(seen, S, -np.inf)
            if first == "mask" and n > 1:
                S = np.where(np.arange(seen_K.shape[0]) <= np.arange(old, old + n)[:, None], S, -np.inf)
            if mask == "restart":
                S = np.where(np.arange(seen_K.shape[0]) <= np.arange(n)[:, None], S, -np.inf)
            if mask == "strict":  # the first token has nothing but itself
                S = np.where((far > 0) | (np.arange(S.shape[1]) == 0), S, -np.inf)
            if mask == "no self" and old:
                S = np.where(np.arange(S.shape[1]) < S.shape[1] - 1, S, -np.inf)
            Y = _softmax(S) @ seen_V
            rows.append(((words if stream == "words" else X if stream else 0) + Y) @ E.T)
            if keys == "prompt":
                K, V = K[: max(cut, old)], V[: max(cut, old)]
        return np.vstack(rows)

    return function


READ = ("a long rest", "a short rest", "other sizes")

PIECES = (
    Mutant(
        "first place for a piece",
        _pieces("first"),
        "All tokens of a piece stand at its first place: each is a place further than the one before it.",
        "17.3",
        ("a long rest", "a short rest", "all at once", "other sizes"),
    ),
    Mutant(
        "last places of the table",
        _pieces("tail"),
        "Each piece gets the last rows of P: a token stands at the place that counts the tokens before it.",
        "17.3",
        (*READ, "all at once"),
    ),
    Mutant(
        "mask from 0 for each piece",
        _pieces(mask="restart"),
        "The mask counts the rows of each piece from 0, so that a new token sees the first token alone: it stands "
        "at place len(K) before it is added, and sees all that is kept and itself.",
        "17.3",
        READ,
    ),
    Mutant(
        "as given",
        _pieces("restart"),
        "This gives what the code with its fault gives. The first piece is right, everything after it is not: at "
        "which place does a single new token stand?",
        "17.3",
        READ,
    ),
    Mutant(
        "one place early",
        _pieces("early"),
        "New tokens stand one place too early: the first new one shares a place with the last of the prompt.",
        "17.3",
        READ,
    ),
    Mutant(
        "one place late",
        _pieces("late"),
        "New tokens stand one place too late; places are counted from 0, so the next place is the number of tokens "
        "in the cache.",
        "17.3",
        READ,
    ),
    Mutant(
        "all at the cut",
        _pieces("cut"),
        "Every new token stands at place `cut`; each one is a place further.",
        "17.3",
        ("a long rest", "other sizes"),
    ),
    Mutant(
        "cache forgotten",
        _pieces(keys="none"),
        "Each piece sees itself alone: the keys and values before it are not kept.",
        "17.3",
        READ,
    ),
    Mutant(
        "keys of words",
        _pieces(cached="words"),
        "Keys are made of words without their places.",
        "17.3",
        (*READ, "all at once"),
    ),
    Mutant(
        "values of words",
        _pieces(cached="bare values"),
        "Values are made of words without their places.",
        "17.3",
        (*READ, "all at once"),
    ),
    Mutant(
        "keys of new words",
        _pieces(cached="new words"),
        "Keys of the tokens after the prompt are made of words without their places.",
        "17.3",
        READ,
    ),
    Mutant(
        "new tokens see the prompt and themselves",
        _pieces(keys="own"),
        "A new token sees the prompt and itself, and not the new ones before it: their keys and values are kept too.",
        "17.3",
        ("a long rest", "other sizes"),
    ),
    Mutant(
        "prompt forgotten",
        _pieces(keys="new"),
        "New tokens do not see the prompt any more: its keys and values are kept.",
        "17.3",
        READ,
    ),
    Mutant(
        "a window",
        _pieces(keys="window"),
        "Each token sees the last few alone, as many as the prompt has: it sees all that came before it.",
        "17.3",
        ("a long rest", "a short rest", "other sizes"),
    ),
    Mutant(
        "a place left out",
        _pieces("jump"),
        "The first new token stands at the right place, and those after it one too late: a place was left out.",
        "17.3",
        ("a long rest", "other sizes"),
    ),
    Mutant(
        "places from the end",
        _pieces("back"),
        "Places are counted from the end of the text: the first token stands at place 0.",
        "17.3",
        (*READ, "all at once"),
    ),
    Mutant(
        "root of the tokens so far",
        _pieces(scale="own"),
        "The scores are divided by the root of the number of tokens so far; it is the width d.",
        "4.4",
        (*READ, "all at once"),
    ),
    Mutant(
        "no mask at all",
        lambda ids, cut, *arrays: _pieces(first="none")(ids, len(ids), *arrays),
        "Every token sees the whole text: read at once or in pieces, it sees what comes before it, and itself.",
        "8.7",
        (*READ, "all at once"),
    ),
    Mutant(
        "no mask in the prompt",
        _pieces(first="none"),
        "Tokens of the prompt see what comes after them: the first piece needs the causal mask.",
        "8.7",
        (*READ, "all at once"),
    ),
    Mutant(
        "not itself",
        _pieces(mask="no self"),
        "A new token does not see itself.",
        "8.2",
        READ,
    ),
    Mutant(
        "strictly before",
        _pieces(mask="strict"),
        "No token but the first sees itself: the mask leaves the diagonal open, place j ≤ i.",
        "8.2",
        ("a long rest", "a short rest", "all at once", "other sizes"),
    ),
    Mutant(
        "no scale",
        _pieces(scale=False),
        "The scores are not divided by √d.",
        "4.4",
        (*READ, "all at once"),
    ),
    Mutant(
        "no stream",
        _pieces(stream=False),
        "What attention gives is added to the stream; the stream has gone.",
        "7.1",
        (*READ, "all at once"),
    ),
    Mutant(
        "no places",
        _pieces("none"),
        "No token gets the row of its place.",
        "17.3",
        (*READ, "all at once"),
    ),
    Mutant(
        "stream without places",
        _pieces(stream="words"),
        "Attention reads tokens with their places, and the stream goes on without them: both are X = E + P.",
        "7.1",
        (*READ, "all at once"),
    ),
    Mutant(
        "places from one",
        _pieces("one"),
        "Places are counted from 1; the first token stands at place 0.",
        "17.3",
        (*READ, "all at once"),
    ),
    Mutant(
        "one place for a piece",
        _pieces("last"),
        "All tokens of a piece get the place of its last one: each has its own.",
        "17.3",
        (*READ, "all at once"),
    ),
    Mutant(
        "queries and keys exchanged",
        _pieces(mask="turned"),
        "Queries are made with W_k and keys with W_q.",
        "4.2",
        (*READ, "all at once"),
    ),
    Mutant(
        "counted from the cut",
        _pieces("again"),
        "Places start again after the prompt: the first new token stands at place `cut`, not at 0.",
        "17.3",
        READ,
    ),
    Mutant(
        "no W_v",
        _pieces(mask="no values"),
        "The weights bring the tokens themselves: values are X W_v.",
        "4.2",
        (*READ, "all at once"),
    ),
    Mutant(
        "root of the length",
        _pieces(scale="n"),
        "The scores are divided by the root of the length of the text; it is the width d.",
        "4.4",
        (*READ, "all at once"),
    ),
    Mutant(
        "divided by d",
        _pieces(scale="d d"),
        "The scores are divided by d: it is its root, √d.",
        "17.3",
        ("a long rest", "a short rest", "all at once", "other sizes"),
    ),
    Mutant(
        "chances for logits",
        lambda *given: _softmax(_pieces()(*given)),
        "The logits went through a softmax: logits were asked for, what stands before it.",
        "17.3",
        ("a long rest", "a short rest", "all at once", "other sizes"),
    ),
)

# 17.8


def _draw(when="before", cut="cross", order="ids", norm=True, heat=lambda z, T: z / T, u_of=lambda u: u, off=0):
    def function(logits, T, p, u):
        w = _softmax(heat(logits, T) if when in ("before", "shares", "again", "softmax") else logits)
        if when == "power":
            w = w ** (1 / T)
        ranked = np.argsort(-w, kind="stable")
        mass = np.cumsum(w[ranked])
        if cut == "least":
            ranked = ranked[::-1]
            mass = np.cumsum(w[ranked])
        size = {"cross": 1 + (mass < p).sum(), "least": 1 + (mass < p).sum(), "top": (w >= p * w.max()).sum(),
                "over": (w >= 1 - p).sum(), "past": min(len(w), 1 + (mass <= p).sum()),
                "ids": min(len(w), 1 + (np.cumsum(w) < p).sum()),
                "short": max(1, (mass < p).sum()), "all": len(w), "one": 1, "each": max(1, (w >= p).sum()),
                "part": max(1, int(p * len(w))), "part up": int(np.ceil(p * len(w))),
                "more": min(len(w), 2 + (mass < p).sum())}[cut]
        kept = np.zeros(len(w))
        if cut == "ids":
            ranked = np.arange(len(w))
        if when == "after":
            kept[ranked[:size]] = _softmax(heat(logits, T))[ranked[:size]]
        else:
            kept[ranked[:size]] = w[ranked[:size]]
        if when == "shares":
            kept = kept * _softmax(logits) / w
        if when == "again":
            kept = kept ** (1 / T)
        if when == "softmax":
            kept[ranked[:size]] = _softmax(w[ranked[:size]])
        if order in ("ranks", "places"):
            share = np.cumsum(kept[ranked])
        else:
            share = np.cumsum(kept)
        if order == "even":
            share = np.cumsum(kept > 0) * 1.0
        share = share / (p if norm == "p" else share[-1] if norm else 1)
        found = (share > u_of(u)[:, None]).argmax(axis=1)
        if order == "kept":
            found = np.searchsorted(np.flatnonzero(kept), found)
        return ranked[found] if order == "ranks" else found + off

    return function


HOT = ("hot", "cold")
DRAWN = ("hot", "cold", "other sizes")

DRAWS = (
    Mutant(
        "past p",
        _draw(cut="past"),
        "The nucleus has a word too many where chances are exactly p: they reach it. A word is added as long as "
        "the sum before it is below p.",
        "17.3",
        ("exactly p",),
    ),
    Mutant(
        "nucleus by ids",
        _draw(cut="ids"),
        "The nucleus is filled in the order of the ids: it is the fewest words, so the likeliest come first. Only "
        "the shares that the draws fall into follow the ids.",
        "17.3",
        (*DRAWN, "T of one"),
    ),
    Mutant(
        "as given",
        _draw(when="after"),
        "This gives what the code with its fault gives. With T = 1 it is right: which chances decide who belongs to "
        "the nucleus, those before the temperature or those after it?",
        "17.5",
        DRAWN,
    ),
    Mutant(
        "no temperature",
        _draw(heat=lambda z, T: z),
        "The temperature has no effect.",
        "17.3",
        DRAWN,
    ),
    Mutant(
        "times T",
        _draw(heat=lambda z, T: z * T),
        "The logits are multiplied by T: they are divided.",
        "17.3",
        DRAWN,
    ),
    Mutant(
        "crossing word lost",
        _draw(cut="short"),
        "The word that crosses p is left out: the nucleus is the fewest words that *reach* p.",
        "17.5",
        (*DRAWN, "T of one"),
    ),
    Mutant(
        "one word more",
        _draw(cut="more"),
        "The nucleus has one word more than it needs to reach p.",
        "17.5",
        (*DRAWN, "T of one"),
    ),
    Mutant(
        "no nucleus",
        _draw(cut="all"),
        "No word is left out.",
        "17.5",
        (*DRAWN, "T of one"),
    ),
    Mutant(
        "not shared out",
        _draw(norm=False),
        "What is kept sums to less than one: the shares must be divided by their sum, or the largest draws fall "
        "into nothing.",
        "17.5",
        (*DRAWN, "T of one"),
    ),
    Mutant(
        "in order of rank",
        _draw(order="ranks"),
        "The shares follow the ranks; the statement has them in the order of the ids.",
        "17.5",
        ("hot", "T of one", "other sizes"),
    ),
    Mutant(
        "from the other end",
        _draw(u_of=lambda u: 1 - u),
        "The draws are counted from the other end, 1 − u.",
        "17.5",
        (*DRAWN, "T of one"),
    ),
    Mutant(
        "temperature twice",
        _draw(heat=lambda z, T: z / T / T),
        "The temperature is applied twice.",
        "17.3",
        DRAWN,
    ),
    *(Mutant(
        f"words by a bound on {name}",
        _draw(cut=cut),
        words,
        "17.3",
        DRAWN,
    ) for name, cut, words in (
        ("each chance", "each",
         "The nucleus is the likeliest word alone, as if one had to reach p by itself: chances are added up, likeliest "
         "first, until they reach p together."),
        *((f"their number, {cut}", cut,
           "A part p of the words is kept, by their number: it is the fewest words whose chances reach p.")
          for cut in ("part", "part up")),
        ("one minus p", "over",
         "Words are kept whose own chance is above 1 − p: the chances are added up, likeliest first, until they reach "
         "p."),
    )),
    Mutant(
        "ranks for ids",
        _draw(order="places"),
        "What comes back is the rank of a word, 0 for the likeliest: its id was asked for, and the shares stand in "
        "the order "
        "of the ids.",
        "17.3",
        (*DRAWN, "T of one"),
    ),
    Mutant(
        "places among the kept",
        _draw(order="kept"),
        "What comes back counts the words of the nucleus from 0: the id of the word in the whole vocabulary was asked "
        "for.",
        "17.3",
        (*DRAWN, "T of one"),
    ),
    *(Mutant(
        f"off by {off}",
        _draw(off=off),
        "The word beside the right one is given, each time: a draw falls into the first share that ends above it.",
        "17.3",
        (*DRAWN, "T of one", "exactly p"),
    ) for off in (1, -1)),
    Mutant(
        "shares over p",
        _draw(norm="p"),
        "What is kept is divided by p: it sums to p or more, and its own sum makes the shares add up to one.",
        "17.3",
        ("cold",),
    ),
    Mutant(
        "softmax of chances",
        _draw("softmax"),
        "The shares are a softmax of chances: chances are shared out by dividing by their sum, without another exp.",
        "17.3",
        (*DRAWN, "T of one"),
    ),
    *(Mutant(
        f"temperature on {name}",
        _draw(heat=heat),
        words,
        "17.3",
        DRAWN,
    ) for name, words, heat in (
        ("the chances", "The softmax is taken of chances divided by T: T divides the logits.",
         lambda z, T: _softmax(z) / T),
        ("a root", "The logits are divided by the root of T: it is T.", lambda z, T: z / np.sqrt(T)),
    )),
    Mutant(
        "the unlikeliest",
        _draw(cut="least"),
        "The nucleus is filled from the unlikeliest word on.",
        "17.5",
        (*DRAWN, "T of one"),
    ),
    Mutant(
        "a share of the best",
        _draw(cut="top"),
        "You keep the words that have at least p times the chance of the best; the nucleus is the fewest words "
        "that together reach p.",
        "17.5",
        (*DRAWN, "T of one"),
    ),
    Mutant(
        "all alike",
        _draw(order="even"),
        "All words of the nucleus are drawn alike: their chances are lost.",
        "17.5",
        (*DRAWN, "T of one"),
    ),
    Mutant(
        "a power of the chances",
        _draw("power"),
        "The chances to the power 1/T do not sum to one: share them out before the nucleus is cut.",
        "17.3",
        DRAWN,
    ),
    Mutant(
        "temperature again for the shares",
        _draw("again"),
        "The temperature is applied twice: once before the nucleus is cut, and again to what is kept.",
        "17.3",
        DRAWN,
    ),
    Mutant(
        "shares without the temperature",
        _draw("shares"),
        "The temperature decides who is in the nucleus, and not how much each gets: it comes first, for all that "
        "follows.",
        "17.3",
        DRAWN,
    ),
    Mutant(
        "chances divided by T",
        lambda logits, T, p, u: _draw()(logits, 1.0, p * T, u),
        "The chances are divided by T: that leaves all shares as they were, and moves only the bound p. The logits are "
        "divided, before the softmax.",
        "17.3",
        ("hot", "cold", "other sizes"),
    ),
)

# 17.9


def _steps(how="sum", zero=True, steps=3, lr_of=lambda lr, parts: lr, up=False, within=False, last=False, rest=True,
           momentum=False, trim=False, kept_slope=False, dZ=lambda Z, P, Q: P - Q, cut="tensor_split", adam=False):
    """`dZ` is the gradient of another loss, summed over the rows; `cut` the function of torch that makes the parts."""

    def function(W, X, y, lr, parts):
        import torch

        W = W.clone()
        slope = kept = squares = torch.zeros_like(W)
        first, N = None, len(y)
        for step in range(steps):
            if zero:
                slope = torch.zeros_like(W)
            pieces = zip(getattr(torch, cut)(X, parts), getattr(torch, cut)(y, parts), strict=True)
            if last:
                pieces = list(pieces)[:1] if last == "first" else list(pieces)[-1:]
            if not rest:
                pieces = [(X[: N // parts * parts], y[: N // parts * parts])]
            for x, z in pieces:
                if trim:
                    x, z = x[: N // parts], z[: N // parts]
                Z = x @ W
                P = torch.softmax(Z, dim=-1)
                Q = torch.nn.functional.one_hot(z, W.shape[1]).to(W.dtype)
                g = x.T @ dZ(Z, P, Q)
                rows = max(len(z), 1)
                share = {"sum": N, "means": rows * parts, "means added": rows, "sums": 1, "sums of parts": parts,
                         "own": rows, "first": -(-N // parts) * parts, "floors": len(z) * N / max(N // parts, 1),
                         "entries": N * W.shape[1],
                         "shared and parts": N / parts, "squares": N * N / rows, "means of rows": rows * rows}
                share = max(share[how], 1e-300)
                if within == "kept":
                    slope = slope + g / share
                    W = W - lr * slope
                elif within:
                    W = W - lr * g / share
                else:
                    slope = slope + g / share
            if kept_slope and step:
                slope = first
            first = slope
            if momentum:
                kept = slope + 0.9 * kept
                slope = kept
            if adam:
                kept, squares = 0.9 * kept + 0.1 * slope, 0.999 * squares + 0.001 * slope**2
                root = (squares / (1 - 0.999 ** (step + 1))).sqrt() + 1e-8
                W = W - lr * kept / (1 - 0.9 ** (step + 1)) / root
            elif not within:
                W = W + lr * slope if up else W - lr_of(lr, parts) * slope
        return W

    return function


def _of_shares(Z, P, Q):
    """What comes back to Z where the cross-entropy is taken of P, as if P were logits."""
    dP = P.softmax(dim=-1) - Q
    return P * (dP - (P * dP).sum(dim=-1, keepdim=True))


UNEVEN = ("uneven parts", "other sizes")
PARTED = ("even parts", "uneven parts", "other sizes")
ALL_STEPS = ("even parts", "uneven parts", "one part", "other sizes")

STEPPED = (
    Mutant(
        "all parts as long as N // parts",
        _steps("floors"),
        "Every part weighs N // parts rows of N: a longer one has more rows, and weighs as many as it has.",
        "11.8",
        UNEVEN,
    ),
    Mutant(
        "a step for each part, gradients kept",
        _steps(within="kept"),
        "The weights move after every part, and the gradients of earlier parts with them: one step comes after "
        "the last part.",
        "11.8",
        PARTED,
    ),
    Mutant(
        "zeroed for each part",
        _steps(last=True),
        "The gradients are set to zero before every part, so that a step has the share of its last part alone: "
        "set them to zero once a step.",
        "11.8",
        PARTED,
    ),
    Mutant(
        "the rest dropped",
        _steps(trim=True),
        "Only N // parts rows of each part are read: where they do not come out even, some rows never count.",
        "17.5",
        UNEVEN,
    ),
    Mutant(
        "rows behind the last whole part dropped",
        _steps(rest=False),
        "Parts of N // parts rows do not reach the end where they do not come out even: the last rows never count.",
        "17.5",
        UNEVEN,
    ),
    Mutant(
        "the first part for all",
        _steps("first"),
        "The sum is divided by the number of parts times the rows of the first one. Where parts differ that is more "
        "than there are rows: divide by all of them, len(y).",
        "11.8",
        UNEVEN,
    ),
    Mutant(
        "longer parts cut",
        _steps("means", trim=True),
        "The longer parts are cut to the length of the shortest: some rows never count.",
        "17.5",
        UNEVEN,
    ),
    Mutant(
        "as given",
        _steps("means"),
        "This gives what the code with its fault gives. With parts of one size it is right. What does a row weigh "
        "in a part of two, and what in a part of three?",
        "11.8",
        UNEVEN,
    ),
    Mutant(
        "means added",
        _steps("means added"),
        "The means of the parts are added and never divided: the step grows with the number of parts.",
        "11.8",
        PARTED,
    ),
    Mutant(
        "sums",
        _steps("sums"),
        "The gradient is a sum over the rows; the mean over all N rows was asked for.",
        "11.8",
        ALL_STEPS,
    ),
    Mutant(
        "sums over parts",
        _steps("sums of parts"),
        "The sum over the rows is divided by the number of parts, not by the number of rows.",
        "11.8",
        ALL_STEPS,
    ),
    Mutant(
        "never zeroed",
        _steps(zero=False),
        "The gradients of earlier steps are still there: they must be set to zero once a step.",
        "11.8",
        ALL_STEPS,
    ),
    Mutant(
        "a step for each part",
        _steps("own", within=True),
        "The weights move after every part; all parts of a step see the same weights.",
        "11.8",
        PARTED,
    ),
    Mutant(
        "the first gradient three times",
        _steps(kept_slope=True),
        "All three steps use the gradient of the first W: it is taken anew where the step before has led.",
        "11.3",
        ALL_STEPS,
    ),
    *(Mutant(
        f"{steps} steps",
        _steps(steps=steps),
        f"These are {words} steps; three were asked for.",
        "17.5",
        ALL_STEPS,
    ) for steps, words in ((2, "two"), (4, "four"))),
    Mutant(
        "mean over the entries",
        _steps("entries"),
        "The sum is divided by the number of rows times that of the labels: the mean is over the rows.",
        "11.8",
        ALL_STEPS,
    ),
    Mutant(
        "shared, times parts",
        _steps("shared and parts"),
        "Each row has its share of all N, and the whole is multiplied by the number of parts on top.",
        "11.8",
        PARTED,
    ),
    Mutant(
        "weights squared",
        _steps("squares"),
        "A part is weighed twice by its share of the rows: its mean times that share, once, is all.",
        "11.8",
        PARTED,
    ),
    Mutant(
        "means, never zeroed",
        _steps("means", zero=False),
        "Two faults: parts of unequal size weigh the same, and the gradients of earlier steps are still there.",
        "11.8",
        ALL_STEPS,
    ),
    Mutant(
        "one step",
        _steps(steps=1),
        "This is one step; three were asked for.",
        "17.5",
        ALL_STEPS,
    ),
    Mutant(
        "uphill",
        _steps(up=True),
        "The step goes uphill.",
        "11.3",
        ALL_STEPS,
    ),
    Mutant(
        "rate divided",
        _steps(lr_of=lambda lr, parts: lr / parts),
        "The step is too small by the number of parts: rows, or learning rate, are divided by it on top of the mean "
        "over all "
        "rows.",
        "11.8",
        PARTED,
    ),
    Mutant(
        "last part only",
        _steps("own", last=True),
        "Each step uses the gradient of its last part alone: the others are lost, or overwritten.",
        "11.8",
        PARTED,
    ),
    Mutant(
        "a rest left out",
        _steps("own", rest=False),
        "Rows that do not divide evenly are left out.",
        "11.8",
        UNEVEN,
    ),
    Mutant(
        "momentum",
        _steps(momentum=True),
        "Something of the last step is in the next one, as with momentum: plain gradient descent forgets.",
        "11.3",
        ALL_STEPS,
    ),
    Mutant(
        "a step for each part, shared",
        _steps(within=True),
        "The weights move after every part; all parts of a step see the same weights.",
        "11.8",
        PARTED,
    ),
    Mutant(
        "first part only",
        _steps("own", last="first"),
        "Each step uses the gradient of its first part alone.",
        "11.8",
        PARTED,
    ),
    Mutant(
        "divided by the rows twice",
        _steps("means of rows"),
        "Each part is divided by its rows twice, by the mean of cross_entropy and once more: a step is the sum over "
        "all rows, divided by N.",
        "17.5",
        ("even parts", "uneven parts", "one part", "empty parts", "other sizes"),
    ),
    *(Mutant(name, _steps(dZ=dZ), message, section, (*ALL_STEPS, "empty parts")) for name, dZ, message, section in (
        ("softmax twice", _of_shares,
         "The logits go through softmax before cross_entropy, which does that itself: it takes X W as it is, and its "
         "gradient is P − Q, (11.5).", "11.1"),
        ("logits as log p", lambda Z, P, Q: -Q,
         "nll_loss is given logits, so the loss has no softmax in it and falls for ever: it takes "
         "log_softmax(X W), the log of (11.1), and cross_entropy is both in one.", "11.1"),
        ("p for log p", lambda Z, P, Q: P * (P * Q).sum(dim=-1, keepdim=True) - P * Q,
         "nll_loss is given probabilities, so the loss is −p and not −log p: it takes the log of (11.1), "
         "log_softmax(X W), and cross_entropy is both in one.", "11.1"),
        ("softmax over the rows", lambda Z, P, Q: Z.softmax(dim=0) * Q.sum(dim=0) - Q,
         "The softmax runs over the rows of the batch, dim=0: the chances of one row's words sum to one, dim=-1.",
         "4.2"),
    )),
    Mutant(
        "Adam",
        _steps(adam=True),
        "These are steps of Adam, (11.24), whose size hardly depends on the gradient: plain gradient descent is asked "
        "for, W − lr times the gradient, which is torch.optim.SGD.",
        "11.3",
        (*ALL_STEPS, "empty parts"),
    ),
    Mutant(
        "means of chunks",
        _steps("means", cut="chunk"),
        "torch.chunk cuts seven rows into 3, 3 and 1, and the mean of the parts' means lets the last row weigh as much "
        "as three. Whatever the parts are, a row weighs 1 / N: add up sums, and divide them by N.",
        "17.5",
        UNEVEN,
    ),
    Mutant(
        "parts of so many rows",
        _steps("means", cut="split"),
        "torch.split takes the length of a part, not the number of parts, and the means of these parts do not add up "
        "to that of all rows. Whatever the parts are, a row weighs 1 / N: add up sums, and divide them by N.",
        "17.5",
        PARTED,
    ),
)

# 17.10


def _probe(places="all", words="all", look="before", texts="all", same_row=False, alone=False, together=False,
           size=np.abs, least=0.0):
    def function(model, ids, V):
        B, n = ids.shape
        base, future, mates = model(ids), 0.0, 0.0
        shifts = range(1, V) if words == "all" else [1]
        cuts = {"all": range(1, n), "last": [n - 1], "half": range(1, n // 2), "but the last": range(1, n - 1)}[places]
        for shift in shifts:
            for t in cuts:
                for b, stop in itertools.product(range(B), (t + 1,) if alone or places != "all" else (n, t + 1)):
                    other = ids.copy()
                    mine = slice(None) if together else slice(b, b + 1)
                    other[mine, t:stop] = (other[mine, t:stop] + shift) % V
                    gap = size(model(other) - base)[mine]
                    seen = {"before": gap[:, :t], "upto": gap[:, : t + 1], "last": gap[:, t - 1 : t],
                            "first": gap[:, :1], "none": gap[:, :0]}[look]
                    future = max(future, seen.max(initial=0.0))
            for b in range(B) if texts == "all" else [0] if texts == "first" else []:
                other = (ids + shift) % V
                if texts == "first":
                    other = ids.copy()
                    other[1] = (other[1] + shift) % V
                if not same_row:
                    other[b] = ids[b]
                mates = max(mates, size(model(other) - base)[b].max())
            if texts == "order":
                mates = max(mates, size(model(ids[::-1])[::-1] - base).max())
        return future if future > least else 0.0, mates if mates > least else 0.0

    return function


RIGHT, AHEAD, FAR, LOWER = "a causal model", "one place ahead", "from far away", "downwards"
RARE, HALF, MEAN, THIRD, BOTH, MORE = ("a rare word", "every other place", "the batch's mean", "one of the batch",
                                       "both at once", "other sizes")
DEEP, FAINT = "deep inside", "a faint one"

# Two flags a case are all that can be compared, so each message says what escapes, which is true of every such probe.
PROBES = (
    Mutant(
        "exchanged",
        lambda *given: _probe()(*given)[::-1],
        "The two numbers have changed places: the future comes first, the other texts second.",
        "17.5",
        (AHEAD, FAR, MEAN, THIRD),
    ),
    Mutant(
        "zero where something moves",
        lambda *given: tuple(float(not x) for x in _probe()(*given)),
        "The numbers are 0 where something moves, and not 0 where nothing does: it is the other way round.",
        "17.5",
        (RIGHT, AHEAD, MEAN, THIRD),
    ),
    Mutant(
        "one number for both",
        lambda *given: (max(_probe()(*given)),) * 2,
        "Both numbers say the same here, and only one of the two kinds of leak is there: keep them apart.",
        "17.5",
        (AHEAD, MEAN, THIRD),
    ),
    Mutant(
        "with the sign",
        _probe(size=lambda D: D),
        "A leak that only lowers logits escapes: take the size of each difference, np.abs, before the largest is "
        "sought.",
        "17.5",
        (LOWER,),
    ),
    Mutant(
        "sums with the sign",
        _probe(size=lambda D: D.sum(axis=-1)),
        "Leaks that lower logits, or lower some and raise others, escape: take the size of each difference, np.abs, "
        "before anything is added.",
        "17.5",
        (LOWER, HALF),
    ),
    Mutant(
        "size of a sum",
        _probe(size=lambda D: np.abs(D.sum(axis=-1))),
        "Only the leak at every other place escapes. It raises some logits of a row and lowers others, so take np.abs "
        "of "
        "each difference before anything is added; and change every place, odd and even.",
        "17.5",
        (HALF,),
    ),
    *(Mutant(
        f"above {least:g}",
        _probe(least=least),
        "Small movements are passed over: in a model that is right nothing moves at all but by rounding, and a "
        "leak may be a ten-thousandth.",
        "17.5",
        (FAINT,),
    ) for least in (1e-2,)),
    Mutant(
        "counts itself",
        _probe(look="upto"),
        "Your probe sees the future in a model that is right: it looks at the place that was changed, or at places "
        "after it. They may move, and do in every good model; only places before the change may not.",
        "8.9",
        (RIGHT, MEAN, THIRD),
    ),
    Mutant(
        "one word tried",
        _probe(words="one"),
        "The leak that one word makes, read from two places before, escapes: put each word of the vocabulary, from 0 "
        "to V − 1, "
        "at every place, and look at all places before it.",
        "17.5",
        (RARE,),
    ),
    Mutant(
        "last place only",
        _probe(places="last", look="last"),
        "Your probe changes the last token and looks at the place before it. A leak may lie anywhere: change each "
        "token, and look at all places before it.",
        "8.9",
        (FAR, RARE, DEEP),
    ),
    Mutant(
        "neighbours only",
        _probe(look="last", alone=True),
        "Leaks that jump escape, from the last token to the first place and from a word to two places before it: look "
        "at all "
        "places before the one that you change.",
        "8.9",
        (FAR, RARE),
    ),
    *(Mutant(
        name,
        _probe(**how),
        "The leak from the last token to the first place escapes: change every token, the last one too, and look at "
        "all "
        "places before it, the first one too.",
        "8.9",
        (FAR,),
    ) for name, how in (("the last token never changed", {"places": "but the last"}),)),
    Mutant(
        "first place only",
        _probe(look="first"),
        "The leak between two places near the end escapes, that of the last but one into the place before it: change "
        "each "
        "place, and look at every place before it.",
        "8.9",
        (DEEP,),
    ),
    Mutant(
        "the first half",
        _probe(places="half"),
        "Leaks from the later half of a text escape: change each token in turn, up to the last.",
        "8.9",
        (DEEP, FAR),
    ),
    Mutant(
        "the last token alone",
        _probe(places="last"),
        "Leaks inside of a text escape, at every other place and near its end: change each token in turn, each by "
        "itself "
        "and none left out.",
        "8.9",
        (DEEP, HALF),
    ),
    Mutant(
        "a row with its own text",
        _probe(same_row=True),
        "Your probe looks at texts that it has changed: they move, of course. Change the others alone.",
        "17.5",
        (RIGHT, AHEAD, FAR, RARE, HALF),
    ),
    Mutant(
        "two texts only",
        _probe(texts="first"),
        "Your probe sees what reaches some of the texts, and not what reaches this one. Any text may reach any other: "
        "leave each alone in turn, and change all others.",
        "17.5",
        (THIRD,),
    ),
    Mutant(
        "order of the texts",
        _probe(texts="order"),
        "A mean over the texts escapes: it stays as it is where their order or number alone changes. Change the ids "
        "of the "
        "other texts, and look at the one that you left alone.",
        "17.5",
        (MEAN, BOTH),
    ),
    Mutant(
        "no batch",
        _probe(texts="none"),
        "The second number is 0, and one text does move when others change. Change the ids of the other texts, and "
        "look at the one that you left alone: their order or number may leave a mean as it was.",
        "17.5",
        (MEAN, THIRD, BOTH),
    ),
    Mutant(
        "no future",
        _probe(look="none"),
        "The first number is 0, and a place does move when later tokens change: change one token, and look at the "
        "logits "
        "of the places before it, each by itself.",
        "8.9",
        (AHEAD, FAR, RARE, HALF, BOTH),
    ),
    Mutant(
        "all texts together",
        _probe(together=True),
        "What one text does to another looks like the future here. Change one text at a time, and look for the "
        "future in that text alone.",
        "17.5",
        (THIRD,),
    ),
    Mutant(
        "all together, and no batch",
        _probe(together=True, texts="none"),
        "All texts are changed together, so that what one does to another looks like the future; and the second "
        "number is 0 where a text does move.",
        "17.5",
        (MEAN, THIRD, BOTH),
    ),
    Mutant(
        "what was changed is compared",
        _probe(look="upto", same_row=True),
        "Neither number is ever 0, not even for a model that is right: what was changed is compared too. The future is "
        "seen at the places before the change, other texts in one that was left alone.",
        "17.5",
        (RIGHT, AHEAD, MEAN, THIRD),
    ),
)

# 17.11


def _hiding(of):
    def function(X, gamma):
        C = X - X.mean()
        N = C / np.sqrt((C * C).mean() + 1e-5)
        dY = of(X, gamma, N)
        return dY / np.abs(dY).max()

    return function


def _orthogonal(*rows):
    return np.linalg.svd(np.stack(rows))[2][-1]


def _of_length_one(X, gamma):
    dY = _hiding(lambda X, g, N: _orthogonal(np.ones_like(X), N, g, g * N))(X, gamma)
    return dY / np.linalg.norm(dY)


def _by_the_largest(X, gamma):
    dY = _hiding(lambda X, g, N: _orthogonal(np.ones_like(X), N, g, g * N))(X, gamma)
    return dY / dY.max()


BOTH_TOKENS = ("six features", "nine features", "other numbers")

def _taken_off(*order):
    """A random dY less its projections on the rows, one after the other."""
    def of(X, g, N):
        dY, rows = np.random.default_rng(0).normal(size=len(X)), (np.ones_like(X), N, g, g * N)
        for i in order:
            dY = dY - (dY @ rows[i]) / (rows[i] @ rows[i]) * rows[i]
        return dY

    return _hiding(of)


HIDING = (
    *(Mutant(
        f"projections one after the other, {MEANS[order[-1]]} last",
        _taken_off(*order),
        "Were the four rows taken off one after the other? They are not orthogonal to each other, so taking off one "
        "brings back a part of those before it. Take all off at once, or make the rows orthogonal first.",
        "17.5",
        BOTH_TOKENS,
    ) for order in ((0, 1, 2, 3), (0, 1, 3, 2), (1, 2, 3, 0), (0, 2, 3, 1))),
    Mutant(
        "all ones",
        _hiding(lambda X, g, N: np.ones_like(X)),
        "dY of all ones hides faults where γ is constant. Here γ differs from entry to entry, and γ ∘ dY is not "
        "constant any more.",
        "0.6",
        BOTH_TOKENS,
    ),
    Mutant(
        "one over the gain",
        _hiding(lambda X, g, N: 1 / g),
        "γ ∘ dY is constant here, so the right gradient is zero; the wrong one takes the mean of dY itself, and is "
        "not.",
        "17.5",
        BOTH_TOKENS,
    ),
    Mutant(
        "orthogonal to 1 and x̂",
        _hiding(lambda X, g, N: _orthogonal(np.ones_like(X), N)),
        "This dY is orthogonal to 1 and to x̂, so the means of the wrong formula vanish. The right one has the "
        "means of γ ∘ dY: they must vanish too.",
        "17.5",
        BOTH_TOKENS,
    ),
    Mutant(
        "orthogonal to γ and γx̂",
        _hiding(lambda X, g, N: _orthogonal(g, g * N)),
        "This dY makes the means of the right formula vanish. Those of the wrong one are means of dY itself: they "
        "must vanish too.",
        "17.5",
        BOTH_TOKENS,
    ),
    Mutant(
        "x̂ itself",
        _hiding(lambda X, g, N: N),
        "dY = x̂: the means of the two formulas are different numbers.",
        "17.5",
        BOTH_TOKENS,
    ),
    Mutant(
        "three of the four",
        _hiding(lambda X, g, N: _orthogonal(np.ones_like(X), N, g)),
        "Three of the four means vanish; the mean of γ ∘ dY ∘ x̂ does not.",
        "17.5",
        BOTH_TOKENS,
    ),
    Mutant(
        "not scaled",
        lambda X, gamma: _hiding(lambda X, g, N: _orthogonal(np.ones_like(X), N, g, g * N))(X, gamma) / 2,
        "It hides the fault; scale it so that its largest entry is 1 in size.",
        "17.5",
        BOTH_TOKENS,
    ),
    Mutant(
        "nothing",
        lambda X, gamma: np.zeros_like(X),
        "dY of zeros hides every fault, and tests nothing: its largest entry is to be 1 in size.",
        "17.5",
        BOTH_TOKENS,
    ),
    Mutant(
        "gain times x̂",
        _hiding(lambda X, g, N: g * N),
        "dY = γ ∘ x̂ lies among the four rows that count; it has to be orthogonal to all of them.",
        "17.5",
        BOTH_TOKENS,
    ),
    Mutant(
        "the gain",
        _hiding(lambda X, g, N: g),
        "dY = γ lies among the four rows that count; it has to be orthogonal to all of them.",
        "17.5",
        BOTH_TOKENS,
    ),
    Mutant(
        "the first direction",
        _hiding(lambda X, g, N: np.linalg.svd(np.stack([np.ones_like(X), N, g, g * N]))[2][0]),
        "This is the direction in which the four rows are largest. The one that is orthogonal to them stands last.",
        "17.5",
        BOTH_TOKENS,
    ),
    Mutant(
        "the fourth direction",
        _hiding(lambda X, g, N: np.linalg.svd(np.stack([np.ones_like(X), N, g, g * N]))[2][3]),
        "Four rows have four directions of their own, 0 to 3; orthogonal to all of them are those after these.",
        "17.5",
        BOTH_TOKENS,
    ),
    Mutant(
        "divided by the largest, not by its size",
        _by_the_largest,
        "dY is divided by its largest entry, and one below 0 is larger in size: divide by the largest size.",
        "17.5",
        ("six features",),
    ),
    Mutant(
        "length one",
        _of_length_one,
        "It hides the fault; its length is 1, and its largest entry is to be 1 in size.",
        "17.5",
        BOTH_TOKENS,
    ),
    Mutant(
        "three of the four, without 1",
        _hiding(lambda X, g, N: _orthogonal(N, g, g * N)),
        "Three of the four means vanish; the mean of dY itself does not.",
        "17.5",
        BOTH_TOKENS,
    ),
    Mutant(
        "three of the four, without x̂",
        _hiding(lambda X, g, N: _orthogonal(np.ones_like(X), g, g * N)),
        "Three of the four means vanish; the mean of dY ∘ x̂ does not.",
        "17.5",
        BOTH_TOKENS,
    ),
    Mutant(
        "three of the four, without γ",
        _hiding(lambda X, g, N: _orthogonal(np.ones_like(X), N, g * N)),
        "Three of the four means vanish; the mean of γ ∘ dY does not.",
        "17.5",
        BOTH_TOKENS,
    ),
    Mutant(
        "a single entry",
        _hiding(lambda X, g, N: np.eye(len(X))[0]),
        "A single entry hides nothing: none of the four means vanishes.",
        "17.5",
        BOTH_TOKENS,
    ),
    Mutant(
        "drawn at random",
        _hiding(lambda X, g, N: np.random.default_rng(0).normal(size=len(X))),
        "A random dY finds the fault: that is why the checks draw theirs. This one has to be made.",
        "17.5",
        BOTH_TOKENS,
    ),
    Mutant(
        "column for a row",
        _hiding(lambda X, g, N: np.linalg.svd(np.stack([np.ones_like(X), N, g, g * N]))[2][:, -1]),
        "This is the last column of Vᵀ: np.linalg.svd returns it transposed, so what is orthogonal to the four rows "
        "stands in its last row.",
        "17.5",
        BOTH_TOKENS,
    ),
)

# 17.12


def _detective(pick="first", order=("gap", "slopes", "labels"), names=PARTS, limit=1e-5, gap_limit=1e-6, leak=True,
               floor=True, off=0, swapped=False, over=False, share=1.0, leak_limit=1e-6, exchange=None):
    def function(slopes, gap, lk, loss, low):
        wrong = np.flatnonzero(slopes > limit)
        for what in order:
            if what == "gap" and gap > gap_limit:
                return "wiring" if not leak else "mask" if (lk > leak_limit) != swapped else "wiring"
            if what == "slopes" and len(wrong):
                k = {"count": len(wrong) - 1, "first": wrong[0], "last": wrong[-1], "worst": int(slopes.argmax())}[pick]
                k = min(max(k + off, 0), 5)
                return (exchange or {}).get(names[k], names[k])
            if what == "labels" and floor and (loss > low if over else loss < share * low):
                return "labels"
        return "none"

    return function


def _far_from_the_floor(slopes, gap, leak, loss, floor):
    said = _detective(floor=False)(slopes, gap, leak, loss, floor)
    return "labels" if said == "none" and abs(loss - floor) > 0.1 else said


def _always(name):
    return lambda slopes, gap, leak, loss, floor: name


EVERY = ("ten records", "thirty records", "other numbers")

RECORDS = (
    Mutant(
        "slopes from the other end",
        lambda slopes, *rest: _detective()(slopes[::-1], *rest),
        "The slopes are read from the wrong end, so that every fault is called loss, or none of them by its part: "
        "the first number is that of head, the array next to the loss.",
        "17.5",
        EVERY,
    ),
    Mutant(
        "the worst slope",
        _detective("worst"),
        "You take the largest error. A fault spoils everything after it, some of it more than its own neighbour: "
        "the first wrong array counts.",
        "17.5",
        EVERY,
    ),
    Mutant(
        "the last slope",
        _detective("last"),
        "You take the last wrong array. The way back begins at the loss: the first wrong one counts.",
        "17.5",
        EVERY,
    ),
    Mutant(
        "labels first",
        _detective(order=("labels", "gap", "slopes")),
        "A mask that lets the future through makes a loss too good as well: labels are to blame only if nothing "
        "else is.",
        "17.5",
        EVERY,
    ),
    Mutant(
        "part after the array",
        _detective(off=1),
        "The part that you name lies after the first wrong array. What spoils an array comes before it on the way "
        "back.",
        "17.5",
        EVERY,
    ),
    Mutant(
        "part before the part",
        _detective(off=-1),
        "The part that you name lies one too early: its own array is right.",
        "17.5",
        EVERY,
    ),
    Mutant(
        "no labels",
        _detective(floor=False),
        "A loss below what a good model can reach is never remarked.",
        "17.5",
        EVERY,
    ),
    Mutant(
        "no leak asked",
        _detective(leak=False),
        "Wrong logits are always the wiring; with a leak it is the mask.",
        "17.5",
        EVERY,
    ),
    Mutant(
        "no twin asked",
        _detective(order=("slopes", "labels")),
        "The twin's gap is never looked at: a wrong function with an exact gradient passes.",
        "17.5",
        EVERY,
    ),
    Mutant(
        "no slopes",
        _detective(order=("gap", "labels")),
        "Slopes are never looked at.",
        "17.5",
        EVERY,
    ),
    Mutant(
        "too strict",
        _detective(limit=1e-9),
        "Errors of 1e-8 are rounding: central differences in float64 are no better. Your bound is too strict.",
        "0.4",
        EVERY,
    ),
    Mutant(
        "too lax",
        _detective(limit=1e-2),
        "An error of 1e-3 is a fault: rounding is far below. Your bound is too lax.",
        "0.4",
        EVERY,
    ),
    Mutant(
        "always none",
        _always("none"),
        "You find nothing wrong with any of them.",
        "17.5",
        EVERY,
    ),
    Mutant(
        "no rounding",
        _detective(gap_limit=0.0),
        "Any gap counts for you. Logits of two right programs differ by rounding, about 1e-12 here: leave room for "
        "it.",
        "0.4",
        EVERY,
    ),
    Mutant(
        "mask and wiring exchanged",
        _detective(swapped=True),
        "With a leak it is the mask, without one the wiring; yours are exchanged.",
        "17.5",
        EVERY,
    ),
    Mutant(
        "a loss too high",
        _detective(over=True),
        "You blame the labels for a loss above the floor. What gives them away is a loss that is too good.",
        "17.5",
        EVERY,
    ),
    *(Mutant(
        f"limit {limit:g}",
        _detective(limit=limit),
        "Faults of more than 1e-4 are passed over: rounding is far below. Your bound on slopes is too lax.",
        "0.4",
        EVERY,
    ) for limit in (3e-3, 0.1)),
    *(Mutant(
        f"gap above {limit:g}",
        _detective(gap_limit=limit),
        "Logits of two right programs differ by rounding, up to 1e-11 here. Your bound on the gap is too strict.",
        "0.4",
        EVERY,
    ) for limit in (1e-14, 1e-13, 1e-12)),
    *(Mutant(
        f"slopes first, gap above {limit:g}",
        _detective(order=("slopes", "gap", "labels"), gap_limit=limit),
        "Records without a fault of the model are called wiring: logits of two right programs differ by rounding, up "
        "to "
        "1e-11 here. Your bound on the gap is too strict.",
        "0.4",
        EVERY,
    ) for limit in (0.0, 1e-14, 1e-13)),
    Mutant(
        "the wiring called mask",
        lambda *given: {"wiring": "mask"}.get(name := _detective()(*given), name),
        "Every gap is called mask: with a leak it is the mask, without one the wiring.",
        "17.5",
        EVERY,
    ),
    *(Mutant(
        f"{one} and {other} exchanged",
        _detective(exchange={one: other, other: one}),
        f"'{one}' and '{other}' are exchanged: the way back runs loss, head, last norm, down, GELU, up, second norm, "
        f"out, "
        "attention.",
        "17.5",
        EVERY,
    ) for one, other in zip(PARTS, PARTS[1:], strict=False)),
    Mutant(
        "any error counts",
        _detective(limit=0.0),
        "Every error of a slope counts as a fault: rounding leaves up to 3e-7.",
        "0.4",
        EVERY,
    ),
    Mutant(
        "above the mean",
        lambda slopes, *rest: _detective(limit=max(slopes.mean(), 1e-5))(slopes, *rest),
        "A slope is called wrong if it is large beside the others: one of 1e-3 is wrong, however wrong another is.",
        "17.5",
        EVERY,
    ),
    Mutant(
        "gap above 0.5",
        _detective(gap_limit=0.5),
        "A gap just above 1e-4 is a fault already: two programs that compute the same differ by 1e-11 at most. Your "
        "bound on the gap is too lax.",
        "0.4",
        ("thirty records", "other numbers"),
    ),
    *(Mutant(
        f"leak above {limit:g}",
        _detective(leak_limit=limit),
        "The leak alone tells the mask from the wiring: where a later token moves an earlier place by more than "
        "rounding, by 1e-4 or by 1, it is the mask, whatever the loss says.",
        "0.4",
        ("thirty records",),
    ) for limit in (1e-3,)),
    *(Mutant(
        f"a loss below {share:g} of the floor",
        _detective(share=share),
        "A loss that is only a little below the floor is impossible as well: no good model comes below it.",
        "17.5",
        ("thirty records",),
    ) for share in (0.95,)),
    *(Mutant(
        f"a loss below {share:g} times the floor",
        _detective(share=share),
        "A loss just above the floor is possible, and the floor itself has no margin: only a loss below it accuses the "
        "labels.",
        "17.5",
        ("thirty records",),
    ) for share in (1.05,)),
    Mutant(
        "limit 1e-7",
        _detective(limit=1e-7),
        "Errors up to 3e-7 are rounding here, as the statement says. Your bound is too strict.",
        "0.4",
        EVERY,
    ),
    Mutant(
        "limit 1e-8",
        _detective(limit=1e-8),
        "Errors up to 3e-7 are rounding here, as the statement says. Your bound is too strict.",
        "0.4",
        EVERY,
    ),
    Mutant(
        "limit 1e-3",
        _detective(limit=1e-3),
        "An error just above 1e-4 is a fault already: rounding is far below. Your bound is too lax.",
        "0.4",
        EVERY,
    ),
    Mutant(
        "how many are wrong",
        _detective("count"),
        "The parts are named from the wrong end: the first wrong array, counted from the loss, names the part just "
        "before "
        "it.",
        "17.5",
        EVERY,
    ),
    Mutant(
        "slopes first",
        _detective(order=("slopes", "gap", "labels")),
        "Slopes are asked first, and a forward pass that computes something else can spoil them too: where logits "
        "differ from the twin's, mask or wiring is the one fault.",
        "17.5",
        ("thirty records", "other numbers"),
    ),
    Mutant(
        "far from the floor",
        _far_from_the_floor,
        "You ask how far the loss is from its floor, on either side. Labels that are too easy give a loss *below* it, "
        "be it by little; above it is where any good model ends.",
        "17.5",
        EVERY,
    ),
)
