"""Known wrong answers, each with the message that names the misconception."""

import math

import numpy as np

from ...model import Mutant
from .cases import joined, learned, most_frequent

# 02.1


def _learn(best=most_frequent):
    return lambda ids, count: np.array(learned([int(i) for i in ids], count, best))


def _first_met(totals):
    return max(totals, key=totals.get)


def _highest(totals):
    return max(totals, key=lambda pair: (totals[pair], pair))


def _never_joined(ids, count):
    totals = {}
    for pair in zip(ids[:-1].tolist(), ids[1:].tolist(), strict=True):
        totals[pair] = totals.get(pair, 0) + 1
    return np.array(sorted(totals, key=lambda pair: (-totals[pair], pair))[:count])


def _next_free(ids, count):
    """The new id is the largest one so far plus one."""
    ids, merges = ids.tolist(), []
    for _ in range(count):
        totals = {}
        for pair in zip(ids[:-1], ids[1:], strict=True):
            totals[pair] = totals.get(pair, 0) + 1
        merges.append(most_frequent(totals))
        ids = joined(ids, merges[-1], max(ids) + 1)
    return np.array(merges)


def _first_only(ids, count):
    """Joins the pair in one place only."""
    ids, merges = ids.tolist(), []
    for k in range(count):
        totals = {}
        for pair in zip(ids[:-1], ids[1:], strict=True):
            totals[pair] = totals.get(pair, 0) + 1
        pair = most_frequent(totals)
        merges.append(pair)
        i = next(i for i in range(len(ids) - 1) if (ids[i], ids[i + 1]) == pair)
        ids[i : i + 2] = [256 + k]
    return np.array(merges)


TEXTS = ("a text", "many merges", "another text")

MERGES = (
    Mutant(
        "ties to the first met",
        _learn(_first_met),
        "Of two equally frequent pairs the one that came first in the text is taken: it must be the lowest pair, so "
        "that the result does not depend on the order of the text.",
        "2.2",
        ("equal counts",),
    ),
    Mutant(
        "ties to the highest",
        _learn(_highest),
        "Of two equally frequent pairs the highest is taken: the question asks for the lowest.",
        "2.2",
        ("equal counts",),
    ),
    Mutant(
        "never joined",
        _never_joined,
        "These are the most frequent pairs of bytes: after each merge the pair must be joined in the text, and all "
        "pairs counted anew, or no token ever grows beyond two bytes.",
        "2.2",
        TEXTS,
    ),
    Mutant(
        "the next id after the largest",
        _next_free,
        "The new ids continue after the largest one in this text: they begin at 256, after all bytes, or the next "
        "text has bytes that look like merges.",
        "2.2",
        TEXTS,
    ),
    Mutant(
        "joined in one place",
        _first_only,
        "The pair is joined only where it stands first: join it everywhere before you count again.",
        "2.2",
        TEXTS,
    ),
)

# 02.2


def _in_order(order, first=256, once=False):
    def function(ids, merges):
        ids = ids.tolist()
        pairs = merges.tolist()
        for k in order(range(len(pairs))):
            if once:
                at = [i for i in range(len(ids) - 1) if ids[i : i + 2] == pairs[k]][:1]
                for i in at:
                    ids[i : i + 2] = [first + k]
            else:
                ids = joined(ids, pairs[k], first + k)
        return np.array(ids)

    return function


def _bytes_of(token, merges):
    return [token] if token < 256 else sum((_bytes_of(half, merges) for half in merges[token - 256]), [])


def _longest_first(ids, merges):
    pairs = merges.tolist()
    known = {tuple(_bytes_of(t, pairs)): t for t in range(256 + len(pairs))}
    ids, out = ids.tolist(), []
    while ids:
        size = next(n for n in range(len(ids), 0, -1) if tuple(ids[:n]) in known)
        out.append(known[tuple(ids[:size])])
        ids = ids[size:]
    return np.array(out)


def _leftmost(ids, merges):
    ids, ranks = ids.tolist(), {tuple(pair): 256 + k for k, pair in enumerate(merges.tolist())}
    while spots := [i for i in range(len(ids) - 1) if tuple(ids[i : i + 2]) in ranks]:
        ids[spots[0] : spots[0] + 2] = [ranks[tuple(ids[spots[0] : spots[0] + 2])]]
    return np.array(ids)


CUTS = ("a new text", "another text")

ENCODINGS = (
    Mutant(
        "last merge first",
        _in_order(reversed),
        "The merges are applied from the last to the first: a late merge is made of earlier ones, so it never finds "
        "its halves.",
        "2.2",
        (*CUTS, "order"),
    ),
    Mutant(
        "longest token first",
        _longest_first,
        "The longest known token is taken from the left: training never cut a text like that. Apply the merges in the "
        "order in which they were learned.",
        "2.2",
        ("order",),
    ),
    Mutant(
        "leftmost pair first",
        _leftmost,
        "The leftmost pair that has a merge is joined first: of all pairs in the text, the one learned first goes "
        "first, wherever it stands.",
        "2.2",
        ("order",),
    ),
    Mutant(
        "each merge once",
        _in_order(iter, once=True),
        "Each merge is applied in one place only: join the pair everywhere.",
        "2.2",
        (*CUTS, "order"),
    ),
    Mutant(
        "ids begin at 257",
        _in_order(iter, first=257),
        "The tokens are one too high: merge 0 has the id 256.",
        "2.2",
        CUTS,
    ),
)

# 02.3


def _spell(order=lambda pair: pair, depth=99):
    def function(tokens, merges):
        def spell(token, level):
            if token < 256 or level == 0:
                return [token]
            return sum((spell(half, level - 1) for half in order(merges[token - 256].tolist())), [])

        return np.array(sum((spell(int(t), depth) for t in tokens), []))

    return function


SPELT = ("tokens", "long tokens", "other tokens")

SPELLINGS = (
    Mutant(
        "one level",
        _spell(depth=1),
        "Tokens are opened once, and some of their halves are tokens themselves: go on until only bytes are left.",
        "2.2",
        SPELT,
    ),
    Mutant(
        "halves exchanged",
        _spell(order=lambda pair: pair[::-1]),
        "The two halves of a merge come in the wrong order: the left one is first in the pair.",
        "2.2",
        SPELT,
    ),
    Mutant(
        "left half only",
        _spell(order=lambda pair: pair[:1]),
        "Only the left half of each merge is spelled: nothing of a text may get lost.",
        "2.2",
        SPELT,
    ),
    Mutant(
        "merges dropped",
        lambda tokens, merges: tokens[tokens < 256],
        "Tokens above 255 are left out: they are the merges, and most of the text.",
        "2.2",
        SPELT,
    ),
)

# 02.4


def _scattered(dX, ids, V):
    dE = np.zeros((V, dX.shape[-1]))
    np.add.at(dE, ids, dX)
    return dE


def _lossy(dX, ids, V, scale):
    dE = np.zeros((V, dX.shape[-1]))
    dE[ids] += scale * dX
    return dE


def _mean(dX, ids, V, scale):
    times = np.bincount(ids.ravel(), minlength=V)
    return scale * _scattered(dX, ids, V) / np.maximum(times, 1)[:, None]


AGAIN = ("repeats", "batch", "long")

TABLE = (
    Mutant(
        "repeats lost",
        _lossy,
        "A token that stands several times keeps the gradient of one place only: dE[ids] += … reads, adds and writes, "
        "and the last write wins. np.add.at adds one row after the other.",
        "2.4",
        AGAIN,
    ),
    Mutant(
        "mean of the places",
        _mean,
        "This is the mean over the places where a token stood: each of them changed the loss, so their gradients add.",
        "2.4",
        AGAIN,
    ),
    Mutant(
        "scale forgotten",
        lambda dX, ids, V, scale: _scattered(dX, ids, V),
        "The scale is missing: X is scale times a row of E, so dE is scale times what arrives.",
        "2.5",
        ("no repeats", *AGAIN),
    ),
    Mutant(
        "scale undone",
        lambda dX, ids, V, scale: _scattered(dX, ids, V) / scale,
        "The gradient is divided by the scale: going backward does not undo the forward pass; a factor stays a factor.",
        "2.5",
        ("no repeats", *AGAIN),
    ),
    Mutant(
        "divided by the tokens",
        lambda dX, ids, V, scale: scale * _scattered(dX, ids, V) / ids.size,
        "The gradient is divided by the number of tokens: an average is the business of the loss.",
        "2.4",
        ("no repeats", *AGAIN),
    ),
)

# 02.5


def _input(factor=lambda E, n: math.sqrt(E.shape[1]), place=1):
    def function(E, ids, P):
        s = factor(E, ids.shape[-1])
        return (s * E[ids] + P, s * (E[ids] + P), E[ids] + s * P)[place]

    return function


PLACES = ("one sequence", "batch", "other sizes")

INPUTS = (
    Mutant(
        "√d on the sum",
        _input(),
        "√d multiplies the sum of word and position: then both grow, and the position is as much louder as before. "
        "The factor belongs to the words alone.",
        "2.5",
        PLACES,
    ),
    Mutant(
        "no factor",
        _input(lambda E, n: 1.0, 0),
        "√d is missing: rows of variance 1/d have an rms of 1/√d, and the sinusoids, at 0.707, drown them.",
        "2.5",
        PLACES,
    ),
    Mutant(
        "√d on the position",
        _input(place=2),
        "√d multiplies the positions, which were too loud already.",
        "2.5",
        PLACES,
    ),
    Mutant(
        "factor d",
        _input(lambda E, n: E.shape[1], 0),
        "The factor is d: the rms of the rows is 1/√d, the root of the variance, so √d brings it to one.",
        "2.5",
        PLACES,
    ),
    Mutant(
        "divided by √d",
        _input(lambda E, n: 1 / math.sqrt(E.shape[1]), 0),
        "The rows are divided by √d: that is what scores need, and here it makes the words smaller still.",
        "2.5",
        PLACES,
    ),
    Mutant(
        "√V",
        _input(lambda E, n: math.sqrt(len(E)), 0),
        "The factor is the root of the number of words: it must be that of the width, √d.",
        "2.5",
        PLACES,
    ),
)

# 02.6


def _tied(read=1.0, scored=1.0, s_read=math.sqrt, s_scored=math.sqrt, scatter=_scattered):
    def function(E, ids, dZ):
        V, d = E.shape
        return read * s_read(d) * scatter(dZ @ E, ids, V) + scored * dZ.T @ (s_scored(d) * E[ids])

    return function


TIED_ALL = ("different words", "repeated words", "longer")

TIED = (
    Mutant(
        "only where it was read",
        _tied(scored=0.0),
        "Only the look-up's path is here: the same table also made the scores, and that path adds dZᵀ X.",
        "2.6",
        TIED_ALL,
    ),
    Mutant(
        "only where it was scored",
        _tied(read=0.0),
        "Only the scores' path is here: the same table was also read, and dX = dZ E flows back into its rows.",
        "2.6",
        TIED_ALL,
    ),
    Mutant(
        "√d forgotten on the way back",
        _tied(s_read=lambda d: 1.0),
        "√d is missing where the gradient flows back through the look-up: X = √d E[ids].",
        "2.6",
        TIED_ALL,
    ),
    Mutant(
        "√d forgotten in X",
        _tied(s_scored=lambda d: 1.0),
        "In dZᵀ X the token must be what was scored, √d E[ids], and not the bare row.",
        "2.6",
        TIED_ALL,
    ),
    Mutant(
        "mean of the two",
        _tied(read=0.5, scored=0.5),
        "The two paths are averaged: one table used twice gets the sum of its gradients.",
        "2.6",
        TIED_ALL,
    ),
    Mutant(
        "repeats lost",
        _tied(scatter=lambda dX, ids, V: _lossy(dX, ids, V, 1.0)),
        "Where a word stands twice, its row keeps one of the two gradients of the look-up.",
        "2.4",
        ("repeated words", "longer"),
    ),
)

# 02.7

CHANCES = ("k = 1", "k = 5", "k = 15")

SCORES = (
    Mutant(
        "log k forgotten",
        lambda p_joint, p_word, q, k: np.log(p_joint / (p_word * q)),
        "This is the pointwise mutual information, the answer for k = 1: every true pair is set against k made-up "
        "ones, which lowers the score by log k.",
        "2.8",
        ("k = 5", "k = 15"),
    ),
    Mutant(
        "log k added",
        lambda p_joint, p_word, q, k: np.log(k * p_joint / (p_word * q)),
        "log k is added: more negatives make a pair less likely to be true, so the score falls.",
        "2.8",
        ("k = 5", "k = 15"),
    ),
    Mutant(
        "probability",
        lambda p_joint, p_word, q, k: p_joint / (p_joint + k * p_word * q),
        "This is σ(s), the probability that the pair is a true one: the score is its logit, log σ(s)/σ(−s).",
        "2.8",
        CHANCES,
    ),
    Mutant(
        "upside down",
        lambda p_joint, p_word, q, k: np.log(k * p_word * q / p_joint),
        "The sign is wrong: pairs that come more often than by chance must get a high score.",
        "2.8",
        CHANCES,
    ),
    Mutant(
        "not conditional",
        lambda p_joint, p_word, q, k: np.log(p_joint / (k * q)),
        "p_word is missing: a made-up pair has the word with probability p_word and the context with q.",
        "2.8",
        CHANCES,
    ),
    Mutant(
        "base two",
        lambda p_joint, p_word, q, k: np.log2(p_joint / (k * p_word * q)),
        "The logarithm has base 2: σ is made with e, so its inverse is the natural logarithm.",
        "2.8",
        CHANCES,
    ),
)

# 02.8


def _sigmoid(z):
    return 1 / (1 + np.exp(-z))


def _pair(true=lambda s: -_sigmoid(-s), drawn=_sigmoid, du=None, dw=None):
    def function(u, w_true, W_drawn):
        t, n = true(u @ w_true), drawn(W_drawn @ u)
        return (
            du(t, n, w_true, W_drawn) if du else t * w_true + n @ W_drawn,
            t * (dw(u, w_true) if dw else u),
            np.outer(n, u),
        )

    return function


def _softmaxed(u, w_true, W_drawn):
    W = np.vstack([w_true, W_drawn])
    E = np.exp(W @ u - (W @ u).max())
    ds = E / E.sum()
    ds[0] -= 1
    return ds @ W, ds[0] * u, np.outer(ds[1:], u)


PAIRS = ("du", "dw_true", "dW_drawn", "more negatives")

GRADIENTS = (
    Mutant(
        "drawn words pulled",
        _pair(drawn=lambda s: -_sigmoid(-s)),
        "The drawn words are pulled like the true one: their score has a minus sign inside σ, so they are pushed away.",
        "2.8",
        ("du", "dW_drawn", "more negatives"),
    ),
    Mutant(
        "σ(z) for σ(−z)",
        _pair(true=lambda s: -_sigmoid(s), drawn=lambda s: _sigmoid(-s)),
        "σ(z) stands where σ(−z) belongs: who is right already should learn little, and here it learns most.",
        "2.8",
        PAIRS,
    ),
    Mutant(
        "climbing",
        _pair(true=lambda s: _sigmoid(-s), drawn=lambda s: -_sigmoid(s)),
        "All signs are turned: this is the gradient of the log-likelihood; the loss is minus that.",
        "2.8",
        PAIRS,
    ),
    Mutant(
        "mean of the drawn",
        _pair(drawn=lambda s: _sigmoid(s) / s.size),
        "The terms of the drawn words are averaged: the loss adds them up.",
        "2.8",
        ("du", "dW_drawn", "more negatives"),
    ),
    Mutant(
        "centre learns from the true word alone",
        _pair(du=lambda t, n, w_true, W_drawn: t * w_true),
        "du has the true word alone: the drawn words were scored with u too, and they push it.",
        "2.8",
        ("du", "more negatives"),
    ),
    Mutant(
        "own vector",
        _pair(dw=lambda u, w_true: w_true),
        "dw_true points along w_true: a dot product sends to each side the other side, so it points along u.",
        "2.8",
        ("dw_true", "more negatives"),
    ),
    Mutant(
        "softmax",
        _softmaxed,
        "This is the gradient of a softmax over true and drawn words: here each pair has a σ of its own, and they do "
        "not compete.",
        "2.8",
        PAIRS,
    ),
)

# 02.9


def _patches(image, p):
    h, w, c = image.shape
    return image.reshape(h // p, p, w // p, p, c).swapaxes(1, 2)  # grid row, grid column, row, column, channel


def _tokens(cut=_patches, turn=lambda kernel: kernel.transpose(2, 3, 1, 0), bias=1.0):
    def function(image, kernel, b):
        d, p = kernel.shape[0], kernel.shape[-1]
        F = cut(image, p).reshape(-1, p * p * image.shape[-1])
        return F @ turn(kernel).reshape(-1, d) + bias * b

    return function


GRIDS = ("one channel", "colour", "wide", "other sizes")

PATCHES = (
    Mutant(
        "reshape alone",
        _tokens(cut=lambda image, p: image),
        "The image is reshaped without swapping axes: a token is then a run of lines, not a square. The axes (grid "
        "row, row, grid column, column) must become (grid row, grid column, row, column).",
        "2.9",
        GRIDS,
    ),
    Mutant(
        "columns first",
        _tokens(cut=lambda image, p: _patches(image, p).swapaxes(0, 1)),
        "The patches are numbered down the columns: they go from left to right first, then down.",
        "2.9",
        GRIDS,
    ),
    Mutant(
        "patches transposed",
        _tokens(cut=lambda image, p: _patches(image, p).swapaxes(2, 3)),
        "Inside each patch, rows and columns are exchanged.",
        "2.9",
        GRIDS,
    ),
    Mutant(
        "kernel reshaped as it lies",
        _tokens(turn=lambda kernel: kernel.reshape(len(kernel), -1).T),
        "The kernel is flattened in torch's order, channel, row, column; the pixels of a patch come in the order row, "
        "column, channel. Move the axes first.",
        "2.9",
        ("colour", "wide", "other sizes"),
    ),
    Mutant(
        "kernel turned round",
        _tokens(turn=lambda kernel: kernel[:, :, ::-1, ::-1].transpose(2, 3, 1, 0)),
        "The kernel is turned by half a circle, as a convolution in mathematics does; in deep learning nothing is "
        "turned.",
        "2.9",
        GRIDS,
    ),
    Mutant(
        "bias forgotten",
        _tokens(bias=0.0),
        "The bias is missing.",
        "2.9",
        GRIDS,
    ),
)
