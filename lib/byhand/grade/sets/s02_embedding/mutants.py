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


def _next_id(first):
    def function(ids, count):
        ids, merges = ids.tolist(), []
        for k in range(count):
            merges.append(most_frequent(_totals(zip(ids[:-1], ids[1:], strict=True))))
            ids = joined(ids, merges[-1], first + k)
        return np.array(merges)

    return function


def _totals(pairs):
    totals = {}
    for pair in pairs:
        totals[pair] = totals.get(pair, 0) + 1
    return totals


def _counted_apart(ids, count):
    """A pair that overlaps the same pair just before it is not counted."""
    ids, merges = ids.tolist(), []
    for k in range(count):
        found, free = [], 0
        for i, pair in enumerate(zip(ids[:-1], ids[1:], strict=True)):
            if i < free and found and found[-1] == pair:
                continue
            found.append(pair)
            free = i + 2
        merges.append(most_frequent(_totals(found)))
        ids = joined(ids, merges[-1], 256 + k)
    return np.array(merges)


def _either_order(ids, count):
    """A pair is counted together with its mirror image."""
    ids, merges = ids.tolist(), []
    for k in range(count):
        merges.append(most_frequent(_totals(tuple(sorted(pair)) for pair in zip(ids[:-1], ids[1:], strict=True))))
        ids = joined(ids, merges[-1], 256 + k)
    return np.array(merges)


def _from_the_end(ids, count):
    ids, merges = ids.tolist(), []
    for k in range(count):
        merges.append(most_frequent(_totals(zip(ids[:-1], ids[1:], strict=True))))
        ids = joined(ids[::-1], merges[-1][::-1], 256 + k)[::-1]
    return np.array(merges)


def _steps_of_two(ids, count):
    ids, merges = ids.tolist(), []
    for k in range(count):
        merges.append(most_frequent(_totals(zip(ids[::2], ids[1::2], strict=False))))
        ids = joined(ids, merges[-1], 256 + k)
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
    Mutant(
        "ids begin at 257",
        _next_id(257),
        "The new ids begin at 257: 0 … 255 are the bytes, so merge 0 gets 256.",
        "2.2",
        TEXTS,
    ),
    Mutant(
        "ids begin at 255",
        _next_id(255),
        "The new ids begin at 255, which is a byte already: merge 0 gets 256.",
        "2.2",
        TEXTS,
    ),
    Mutant(
        "runs counted without overlap",
        _counted_apart,
        "In a run such as aaa the pair aa is counted once here: neighbours are counted at every place, so it comes "
        "twice.",
        "2.2",
        ("a run",),
    ),
    Mutant(
        "joined from the right",
        _from_the_end,
        "Pairs are joined from the right: in a run of odd length the single letter that is left over must be the "
        "last.",
        "2.2",
        ("a run",),
    ),
    Mutant(
        "every second pair",
        _steps_of_two,
        "Only every second pair of neighbours is counted: each token has a neighbour on both sides.",
        "2.2",
        TEXTS,
    ),
    Mutant(
        "either order",
        _either_order,
        "The pair ab is counted together with ba: they are two pairs, and a merge joins one of them.",
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


def _latest(ids, merges):
    ids, ranks = ids.tolist(), {tuple(pair): 256 + k for k, pair in enumerate(merges.tolist())}
    while known := [pair for pair in zip(ids[:-1], ids[1:], strict=True) if pair in ranks]:
        pair = max(known, key=ranks.get)
        ids = joined(ids, pair, ranks[pair])
    return np.array(ids)


def _learned_anew(ids, merges):
    """Tokens of merges that are learned from this text."""
    ids = ids.tolist()
    for k in range(len(merges)):
        if len(ids) < 2:
            break
        pair = most_frequent(_totals(zip(ids[:-1], ids[1:], strict=True)))
        ids = joined(ids, pair, 256 + k)
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
    Mutant(
        "latest merge first",
        _latest,
        "Of the pairs in the text the one learned last is joined first: the one learned first goes first.",
        "2.2",
        ("order",),
    ),
    Mutant(
        "learned anew",
        _learned_anew,
        "The most frequent pairs of this text are joined: nothing is counted here, the merges that are given are "
        "applied, in their order.",
        "2.2",
        CUTS,
    ),
)

# 02.3


def _spell(order=lambda pair: pair, depth=99, first=256):
    def function(tokens, merges):
        def spell(token, level):
            if token < first or level == 0:
                return [token]
            return sum((spell(half, level - 1) for half in order(merges[token - 256].tolist())), [])

        return np.array(sum((spell(int(t), depth) for t in tokens), []))

    return function


def _one_late(tokens, merges):
    """Merges counted from 257, so that 256 stays a token."""

    def spell(token):
        return [token] if token <= 256 else sum((spell(half) for half in merges[token - 257].tolist()), [])

    return np.array(sum((spell(int(t)) for t in tokens), []))


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
    Mutant(
        "two levels",
        _spell(depth=2),
        "Tokens are opened twice, and some go deeper: go on until only bytes are left.",
        "2.2",
        ("long tokens",),
    ),
    Mutant(
        "256 taken for a byte",
        _spell(first=257),
        "Token 256 is left as it is: the bytes end at 255, and 256 is merge 0.",
        "2.2",
        SPELT,
    ),
    Mutant(
        "a list for each token",
        lambda tokens, merges: [_spell()(np.array([t]), merges).tolist() for t in tokens],
        "Each token has a list of its own: string them together into one row of bytes.",
        "2.2",
        SPELT,
    ),
    Mutant(
        "merges from 257",
        _one_late,
        "Token 256 + k is opened as merge k − 1, and 256 not at all: 0 … 255 are the bytes, and merge 0 made 256.",
        "2.2",
        SPELT,
    ),
)

# 02.4


def _bag(mask=True, share=lambda ids, there: there.sum(axis=-1), seen=None, add=True):
    """Backward of a mean; `share` says by how much a text's gradient is divided, for each text."""

    def function(dX, ids, V, pad):
        there = ids != pad if mask else np.ones(ids.shape, bool)
        if seen:
            there = there & seen(ids)
        parts = np.asarray(share(ids, there), float)
        parts = np.maximum(np.broadcast_to(parts, ids.shape[:-1]), 1e-300 if parts.ndim == 0 else 1)
        rows = (dX / parts[..., None])[..., None, :] * there[..., None]
        dE = np.zeros((V, dX.shape[-1]))
        if add:
            np.add.at(dE, ids, rows)
        else:
            dE[ids] += rows
        return dE

    return function


def _scattered(dX, ids, V):
    dE = np.zeros((V, dX.shape[-1]))
    np.add.at(dE, ids, dX)
    return dE


def _lossy(dX, ids, V):
    dE = np.zeros((V, dX.shape[-1]))
    dE[ids] += dX
    return dE


def _first_of_each(ids):
    """True where a word comes for the first time in its text."""
    earlier = np.tril(np.ones((ids.shape[-1],) * 2, bool), -1)
    return ~((ids[..., :, None] == ids[..., None, :]) & earlier).any(axis=-1)


def _nan_where_empty(dX, ids, V, pad):
    there = ids != pad
    rows = (dX / there.sum(axis=-1)[..., None])[..., None, :] * there[..., None]
    return _scattered(rows, ids, V)


def _filled(ids, there):
    return np.full(ids.shape[:-1], ids.shape[-1])


def _ones(ids, there):
    return np.ones(ids.shape[:-1])


FILLED = ("one text", "several texts", "two leading axes", "other texts")

BAGS = (
    Mutant(
        "divided by n",
        _bag(share=_filled),
        "The gradient of a text is divided by n, the filling counted in: a mean of words is divided by the number of "
        "words that are really there.",
        "2.4",
        FILLED,
    ),
    Mutant(
        "filling counted as a word",
        _bag(mask=False),
        "The filling is treated as a word: it gets a gradient, and the words get too little. It took no part in the "
        "mean.",
        "2.4",
        FILLED,
    ),
    Mutant(
        "filling divides rightly and learns",
        lambda dX, ids, V, pad: _scattered(
            np.broadcast_to((dX / np.maximum((ids != pad).sum(axis=-1), 1)[..., None])[..., None, :],
                            (*ids.shape, dX.shape[-1])), ids, V),
        "The row of the filling gets a gradient: it took no part in the mean, so its row of dE is zero.",
        "2.4",
        FILLED,
    ),
    Mutant(
        "not divided",
        _bag(share=_ones),
        "Nothing is divided: that is the gradient of a sum. In a mean of m words each has the share 1/m.",
        "2.4",
        ("no filling", *FILLED),
    ),
    Mutant(
        "multiplied by the number of words",
        lambda dX, ids, V, pad: _bag(share=_ones)(dX * (ids != pad).sum(axis=-1)[..., None], ids, V, pad),
        "The gradient is multiplied by the number of words: going backward does not undo a division; a factor 1/m "
        "stays 1/m.",
        "2.4",
        ("no filling", *FILLED),
    ),
    Mutant(
        "repeats lost",
        _bag(add=False),
        "A word that stands several times keeps the gradient of one place only: the last write wins. Every place adds "
        "its share.",
        "2.4",
        FILLED,
    ),
    Mutant(
        "each word once",
        _bag(seen=_first_of_each, share=lambda ids, there: there.sum(axis=-1)),
        "Each different word counts once in its text: this is the mean of the different words, and the text has a "
        "word in the mean as often as it stands there.",
        "2.4",
        FILLED,
    ),
    Mutant(
        "each word once, divided by all",
        lambda dX, ids, V, pad: _bag(seen=_first_of_each, share=lambda i, there: (i != pad).sum(axis=-1))(
            dX, ids, V, pad),
        "A word that stands twice in one text gets a single share: it was read twice, so it gets two.",
        "2.4",
        FILLED,
    ),
    Mutant(
        "divided by all words of all texts",
        _bag(share=lambda ids, there: np.full(ids.shape[:-1], there.sum())),
        "Each text is divided by the words of all texts together: each has a mean of its own.",
        "2.4",
        ("no filling", "several texts", "two leading axes", "other texts"),
    ),
    Mutant(
        "nan for a text without words",
        _nan_where_empty,
        "A text of nothing but filling has a mean of no words, and 0/0 spoils the result: its gradient must reach no "
        "row.",
        "2.4",
        ("a text of filling",),
    ),
    Mutant(
        "filling is always word 0",
        lambda dX, ids, V, pad: _bag()(dX, ids, V, 0),
        "Word 0 is taken for the filling: which id fills the texts up is said by pad.",
        "2.4",
        ("one text", "several texts", "other texts"),
    ),
    Mutant(
        "one added to the length",
        _bag(share=lambda ids, there: there.sum(axis=-1) + 1),
        "Each text is divided by one word too many: to be safe from 0/0, divide by the larger of the length and one, "
        "not by the length plus one.",
        "2.4",
        ("no filling", *FILLED),
    ),
    Mutant(
        "root of the length",
        _bag(share=lambda ids, there: np.sqrt(there.sum(axis=-1))),
        "The gradient is divided by the root of the number of words: the mean divides by the number itself.",
        "2.4",
        ("no filling", *FILLED),
    ),
    Mutant(
        "mean over the texts",
        lambda dX, ids, V, pad: _bag()(dX, ids, V, pad) / max(ids[..., 0].size, 1),
        "The gradient is divided by the number of texts as well: every text has its own loss, and what they send to "
        "a row adds up.",
        "2.4",
        ("no filling", "several texts", "two leading axes", "other texts"),
    ),
    Mutant(
        "divided by how often a word came",
        lambda dX, ids, V, pad: _bag()(dX, ids, V, pad) / np.maximum(np.bincount(ids.ravel(), minlength=V), 1)[:, None],
        "Each row is divided by the number of times that its word came: the places where a word stands add up; only "
        "the length of each text divides.",
        "2.4",
        FILLED,
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
    Mutant(
        "no positions",
        lambda E, ids, P: math.sqrt(E.shape[1]) * E[ids],
        "The positions are missing: the first block reads the sum of both.",
        "2.5",
        PLACES,
    ),
    Mutant(
        "√n",
        _input(lambda E, n: math.sqrt(n), 0),
        "The factor is the root of the number of tokens: it must be that of the width, √d.",
        "2.5",
        PLACES,
    ),
    Mutant(
        "position made smaller",
        lambda E, ids, P: E[ids] + P / math.sqrt(E.shape[1]),
        "The positions are divided by √d: the ratio is right, but the paper makes the words larger, and what the "
        "first block reads is all of size one.",
        "2.5",
        PLACES,
    ),
    Mutant(
        "rows made of variance one",
        lambda E, ids, P: E[ids] / E.std() + P,
        "The table is divided by its own standard deviation: the factor is a fixed number, √d, whatever training "
        "makes of the rows.",
        "2.5",
        PLACES,
    ),
)

# 02.6


def _tied(read=1.0, scored=1.0, s_read=math.sqrt, token=None, scatter=_scattered, place=None, back=None):
    """The gradients in parts: what was read and scored, the factor of each, and what reaches the places."""

    def function(E, P, ids, dZ):
        (V, d), n = E.shape, ids.shape[-1]
        dX = (back or (lambda dZ, E: dZ @ E))(dZ, E)
        X = token(E, P, ids) if token else math.sqrt(d) * E[ids] + P
        was_scored = dZ.reshape(-1, V).T @ X.reshape(-1, d)
        dP = place(dX, d) if place else dX.reshape(-1, n, d).sum(axis=0)
        return read * s_read(d) * scatter(dX, ids, V) + scored * was_scored, dP

    return function


def _last_sequence(dX, d):
    return dX.reshape(-1, *dX.shape[-2:])[-1]


TIED_ALL = ("words once", "repeated words", "batch", "longer")
ON_PLACES = ("places", "batch", "longer")

TIED = (
    Mutant(
        "only where it was read",
        _tied(scored=0.0),
        "dE has the look-up's path alone: the same table also made the scores, and that path adds dZᵀ X.",
        "2.6",
        TIED_ALL,
    ),
    Mutant(
        "only where it was scored",
        _tied(read=0.0),
        "dE has the scores' path alone: the same table was also read, and dX = dZ E flows back into its rows.",
        "2.6",
        TIED_ALL,
    ),
    Mutant(
        "√d forgotten on the way back",
        _tied(s_read=lambda d: 1.0),
        "√d is missing where the gradient flows back through the look-up: X = √d E[ids] + P.",
        "2.6",
        TIED_ALL,
    ),
    Mutant(
        "√d forgotten in X",
        _tied(token=lambda E, P, ids: E[ids] + P),
        "In dZᵀ X the token must be what was scored, √d E[ids] + P; √d is missing there.",
        "2.6",
        TIED_ALL,
    ),
    Mutant(
        "√d forgotten in both",
        _tied(s_read=lambda d: 1.0, token=lambda E, P, ids: E[ids] + P),
        "√d is missing in both paths: the word was multiplied by it on the way in, so it stands in what was scored "
        "and in what flows back.",
        "2.6",
        TIED_ALL,
    ),
    Mutant(
        "the place forgotten in X",
        _tied(token=lambda E, P, ids: math.sqrt(E.shape[1]) * E[ids]),
        "In dZᵀ X the place is missing: what was scored is the whole sum √d E[ids] + P.",
        "2.6",
        TIED_ALL,
    ),
    Mutant(
        "√d on the sum",
        _tied(token=lambda E, P, ids: math.sqrt(E.shape[1]) * (E[ids] + P), place=lambda dX, d: math.sqrt(d)
              * dX.reshape(-1, *dX.shape[-2:]).sum(axis=0)),
        "√d multiplies the place as well: it belongs to the word alone, so P enters X as it is, and dP has no √d.",
        "2.5",
        (*TIED_ALL, "places"),
    ),
    Mutant(
        "√d on dP",
        _tied(place=lambda dX, d: math.sqrt(d) * dX.reshape(-1, *dX.shape[-2:]).sum(axis=0)),
        "dP is multiplied by √d: the place was added without a factor, so its gradient has none.",
        "2.5",
        ON_PLACES,
    ),
    Mutant(
        "√d twice on the way back",
        _tied(s_read=lambda d: float(d)),
        "The way back through the look-up has √d twice: forward it stands once, and backward it stands once.",
        "2.5",
        TIED_ALL,
    ),
    Mutant(
        "divided by √d on the way back",
        _tied(s_read=lambda d: 1 / math.sqrt(d)),
        "The way back through the look-up is divided by √d: a factor stays a factor, it is not undone.",
        "2.5",
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
        _tied(scatter=_lossy),
        "Where a word stands twice, its row keeps one of the two gradients of the look-up.",
        "2.4",
        ("repeated words", "batch", "longer"),
    ),
    Mutant(
        "places averaged",
        _tied(place=lambda dX, d: dX.reshape(-1, *dX.shape[-2:]).mean(axis=0)),
        "dP is averaged over the sequences: each of them used the place, so their gradients add.",
        "2.6",
        ("batch", "longer"),
    ),
    Mutant(
        "places of one sequence",
        _tied(place=_last_sequence),
        "dP has one sequence only: every sequence used the same places, so all of them add to dP.",
        "2.6",
        ("batch", "longer"),
    ),
    Mutant(
        "scored twice",
        _tied(read=0.0, scored=2.0),
        "dE is twice the scores’ path: X and Z are both linear in E, but the two paths have different gradients.",
        "2.6",
        TIED_ALL,
    ),
    Mutant(
        "place path in dE",
        _tied(s_read=lambda d: math.sqrt(d) + 1),
        "dE also gets dX without its factor, which belongs to dP: the place is a table of its own.",
        "2.6",
        TIED_ALL,
    ),
)

# 02.7


def _optimum(power=lambda q, power: q**power, chance=None, score=None, bend=None):
    """s and the bend from the parts: how contexts are drawn, how often a pair is made up, and what is made of both."""

    def function(counts, k, power_):
        p = counts / counts.sum()
        q = power(counts.sum(axis=0).astype(float), power_)
        q = q / q.sum()
        m = chance(p, q, k) if chance else k * np.outer(p.sum(axis=1), q)
        s = score(p, m) if score else np.log(p / m)
        return s, bend(p, m, s, k) if bend else p * m / (p + m)

    return lambda counts, k, power: function(counts, k, power)


def _not_normalised(counts, k, power):
    p = counts / counts.sum()
    m = k * np.outer(p.sum(axis=1), p.sum(axis=0) ** power)
    return np.log(p / m), p * m / (p + m)


def _sides_exchanged(counts, k, power):
    s, bend = _optimum()(counts.T, k, power)
    return s.T, bend.T


def _conditional(counts, k, power):
    """p(c | a) in the place of p(a, c) in the bend: the loss for one word a instead of the whole text."""
    p = counts / counts.sum()
    q = counts.sum(axis=0) ** float(power)
    m = k * np.outer(p.sum(axis=1), q / q.sum())
    return np.log(p / m), p * m / (p + m) / p.sum(axis=1, keepdims=True)


def _both_powered(counts, k, power):
    p = counts / counts.sum()
    a, c = (counts.sum(axis=i) ** float(power) for i in (1, 0))
    m = k * np.outer(a / a.sum(), c / c.sum())
    return np.log(p / m), p * m / (p + m)


def _each_count(counts, k, power):
    p = counts / counts.sum()
    q = (counts ** float(power)).sum(axis=0)
    m = k * np.outer(p.sum(axis=1), q / q.sum())
    return np.log(p / m), p * m / (p + m)


def _of_counts(counts, k, power):
    s, bend = _optimum()(counts, k, power)
    return s, bend * counts.sum()


SCORED = ("k = 1", "k = 5", "three quarters")
BENT = ("the bend", "other counts")

def _drawn_from_rows(counts, k, power):
    p = counts / counts.sum()
    q = counts.sum(axis=1) ** float(power)
    m = np.broadcast_to(k * (p.sum(axis=1) * q / q.sum())[:, None], p.shape)
    return np.log(p / m), p * m / (p + m)


SCORES = (
    Mutant(
        "k forgotten",
        _optimum(chance=lambda p, q, k: np.outer(p.sum(axis=1), q)),
        "k is missing: every true pair is set against k made-up ones, which lowers each score by log k.",
        "2.8",
        ("k = 5", "three quarters", *BENT),
    ),
    Mutant(
        "log k added",
        _optimum(chance=lambda p, q, k: np.outer(p.sum(axis=1), q) / k),
        "log k is added: more negatives make a pair less likely to be a true one, so the score falls.",
        "2.8",
        ("k = 5", "three quarters", *BENT),
    ),
    Mutant(
        "power forgotten",
        _optimum(power=lambda q, power: q),
        "The power is not used: the negatives come from the contexts' counts to that power, so frequent words are "
        "drawn less often than they occur.",
        "2.8",
        ("three quarters", *BENT),
    ),
    Mutant(
        "power not normalised",
        _not_normalised,
        "The powers of the probabilities do not sum to one: divide by their sum, or q is no distribution.",
        "2.8",
        ("three quarters", *BENT),
    ),
    Mutant(
        "power on both sides",
        _both_powered,
        "The power is applied to the words as well: the centres come from the text as often as they stand there; only "
        "the contexts are drawn from the flattened distribution.",
        "2.8",
        ("three quarters", *BENT),
    ),
    Mutant(
        "sides exchanged",
        _sides_exchanged,
        "Words and contexts are exchanged: rows of counts are words, and the negatives are drawn from the contexts, "
        "the columns.",
        "2.8",
        ("three quarters", *BENT),
    ),
    Mutant(
        "probability",
        _optimum(score=lambda p, m: p / (p + m)),
        "This is σ(s), the probability that a pair is a true one: the score is its logit.",
        "2.8",
        SCORED,
    ),
    Mutant(
        "upside down",
        _optimum(score=lambda p, m: np.log(m / p)),
        "The sign of s is wrong: pairs that come more often than by chance get a high score.",
        "2.8",
        SCORED,
    ),
    Mutant(
        "log p(c|a)",
        _optimum(score=lambda p, m: np.log(p / p.sum(axis=1, keepdims=True))),
        "This is log p(c | a), where a softmax over all contexts would go: against negatives the score is compared "
        "with how often the pair would be made up.",
        "2.8",
        SCORED,
    ),
    Mutant(
        "base two",
        _optimum(score=lambda p, m: np.log2(p / m)),
        "The logarithm has base 2: σ is made with e, so its inverse is the natural logarithm.",
        "2.8",
        SCORED,
    ),
    Mutant(
        "bend without its weights",
        _optimum(bend=lambda p, m, s, k: p * m / (p + m) ** 2),
        "The bend is σ(s) σ(−s) alone: both terms of the loss have it, the first weighted by p(a, c) and the second "
        "by the chance of the made-up pair; their sum stands in front.",
        "2.8",
        BENT,
    ),
    Mutant(
        "bend of the true term",
        _optimum(bend=lambda p, m, s, k: p * p * m / (p + m) ** 2),
        "The bend has the term of the true pairs alone: the made-up pairs bend the loss as well.",
        "2.8",
        BENT,
    ),
    Mutant(
        "bend of the made-up term",
        _optimum(bend=lambda p, m, s, k: m * p * m / (p + m) ** 2),
        "The bend has the term of the made-up pairs alone: the true ones bend the loss as well.",
        "2.8",
        BENT,
    ),
    Mutant(
        "terms subtracted",
        _optimum(bend=lambda p, m, s, k: (p - m) * p * m / (p + m) ** 2),
        "The two terms of the bend are subtracted: the derivative of −p σ(−s) is +p σ(s) σ(−s), so both bend upward, "
        "which is why there is one minimum.",
        "2.8",
        BENT,
    ),
    Mutant(
        "bend downward",
        _optimum(bend=lambda p, m, s, k: -p * m / (p + m)),
        "The bend is negative, and that would be a maximum: one of the two minus signs was lost.",
        "2.8",
        BENT,
    ),
    Mutant(
        "slope in the place of the bend",
        _optimum(bend=lambda p, m, s, k: 0 * p),
        "This is the first derivative, which is zero at the best score: derive once more.",
        "2.8",
        BENT,
    ),
    Mutant(
        "bend for one word",
        _conditional,
        "The bend is that of the loss given the word a, p(a) times too large: the pair's part of the whole loss has "
        "p(a, c) in front.",
        "2.8",
        BENT,
    ),
    Mutant(
        "p(a) forgotten",
        _optimum(score=lambda p, m: np.log(p / (m / p.sum(axis=1, keepdims=True)))),
        "p(a) is missing in s: a made-up pair has the word a as its centre with probability p(a), and the context c "
        "with q(c).",
        "2.8",
        SCORED,
    ),
    Mutant(
        "negatives drawn evenly",
        _optimum(power=lambda q, power: np.ones_like(q)),
        "The negatives are drawn evenly: they come from the counts of the contexts, to the given power.",
        "2.8",
        (*SCORED, *BENT),
    ),
    Mutant(
        "power on each count",
        _each_count,
        "The power is applied to each count of a pair, and then the columns are summed: sum a column first, then "
        "take the power.",
        "2.8",
        ("three quarters", *BENT),
    ),
    Mutant(
        "no logarithm",
        _optimum(score=lambda p, m: p / m),
        "The logarithm is missing in s: e to the s equals this ratio.",
        "2.8",
        SCORED,
    ),
    Mutant(
        "cut off at zero",
        _optimum(score=lambda p, m: np.maximum(np.log(p / m), 0)),
        "Negative scores are set to zero: pairs that come less often than by chance have a negative score.",
        "2.8",
        SCORED,
    ),
    Mutant(
        "bend without σ",
        _optimum(bend=lambda p, m, s, k: p + m),
        "The bend is p(a, c) plus the chance of the made-up pair: σ(s) σ(−s) is missing.",
        "2.8",
        BENT,
    ),
    Mutant(
        "bend of counts",
        _of_counts,
        "The bend is made of counts: (2.21) has probabilities, so divide by the sum of all counts.",
        "2.8",
        BENT,
    ),
    Mutant(
        "one term of the slope",
        _optimum(bend=lambda p, m, s, k: m * p / (p + m) * (1 + 0 * s) * 2),
        "The bend is twice what it should be: both terms together make p m / (p + m) once.",
        "2.8",
        BENT,
    ),
    Mutant(
        "negatives drawn from the rows",
        _drawn_from_rows,
        "The negatives are drawn from the counts of the words, the rows: they are contexts, so they come from the "
        "sums of the columns.",
        "2.8",
        (*SCORED, *BENT),
    ),
)

# 02.8


def _sigmoid(z):
    return np.exp(-np.logaddexp(0, -z))


def _everyone(own=lambda z: -_sigmoid(-z), other=_sigmoid, divide=lambda n: n, dt=None, dW=None, t_of=None):
    """The gradients from their parts: the gradient of a score on and off the diagonal, and what it is sent to."""

    def function(U, W, t, c):
        n = len(U)
        S = U @ W.T
        z = t * S + c
        G = np.where(np.eye(n, dtype=bool), own(z), other(z)) / divide(n)
        s = t_of(t) if t_of else t
        back = dW(G, U, W) if dW else G.T @ U
        return s * G @ W, s * back, (dt(G, S, z) if dt else (G * S).sum()), G.sum()

    return function


def _in_rows(U, W, t, c):
    z = t * U @ W.T + c
    A = np.exp(z - z.max(axis=1, keepdims=True))
    G = (A / A.sum(axis=1, keepdims=True) - np.eye(len(U))) / len(U)
    return t * G @ W, t * G.T @ U, (G * (U @ W.T)).sum(), G.sum()


def _overflowing(U, W, t, c):
    y = 2 * np.eye(len(U)) - 1
    z = y * (t * U @ W.T + c)
    G = -y * np.exp(-z) / (1 + np.exp(-z)) / len(U)
    return t * G @ W, t * G.T @ U, (G * (U @ W.T)).sum(), G.sum()


VECTORS = ("dU", "dW", "more pairs")
NUMBERS = ("dt", "dc")
EVERY = (*VECTORS, *NUMBERS)

GRADIENTS = (
    Mutant(
        "all pulled",
        _everyone(other=lambda z: -_sigmoid(-z)),
        "All pairs are pulled together: for i ≠ j the sign y is −1, and these pairs are pushed apart.",
        "2.8",
        EVERY,
    ),
    Mutant(
        "σ(z) for σ(−z)",
        _everyone(own=lambda z: -_sigmoid(z), other=lambda z: _sigmoid(-z)),
        "σ(y z) stands where σ(−y z) belongs: who is right already should learn little, and here it learns most.",
        "2.8",
        EVERY,
    ),
    Mutant(
        "climbing",
        _everyone(own=lambda z: _sigmoid(-z), other=lambda z: -_sigmoid(z)),
        "All signs are turned: this is the gradient of the log-likelihood; the loss is minus that.",
        "2.8",
        EVERY,
    ),
    Mutant(
        "own pairs alone",
        _everyone(other=lambda z: 0 * z),
        "Only the pairs i = j are here: every other pair of the batch is a negative, and has its term.",
        "2.8",
        EVERY,
    ),
    Mutant(
        "not divided by n",
        _everyone(divide=lambda n: 1),
        "The 1/n of the loss is missing in its gradients.",
        "2.8",
        EVERY,
    ),
    Mutant(
        "mean of all pairs",
        _everyone(divide=lambda n: n * n),
        "The gradients are divided by n², the number of pairs: the loss divides by n, the number of rows.",
        "2.8",
        EVERY,
    ),
    Mutant(
        "softmax",
        _in_rows,
        "This is the gradient of a softmax over each row: here each pair has a σ of its own, and they do not compete.",
        "2.8",
        EVERY,
    ),
    Mutant(
        "t forgotten",
        _everyone(t_of=lambda t: 1.0),
        "t is missing in dU and dW: z is t times the product of the vectors.",
        "2.8",
        VECTORS,
    ),
    Mutant(
        "divided by t",
        _everyone(t_of=lambda t: 1 / t),
        "dU and dW are divided by t: a factor on the way forward is the same factor on the way back.",
        "2.8",
        VECTORS,
    ),
    Mutant(
        "not transposed",
        _everyone(dW=lambda G, U, W: G @ U),
        "In dW the gradients of the scores are not transposed: row j of W was scored with every u_i, so dw_j sums "
        "over the column j.",
        "2.8",
        ("dW", "more pairs"),
    ),
    Mutant(
        "own vector",
        _everyone(dW=lambda G, U, W: G.T @ W),
        "dW is made of the rows of W: a dot product sends to each side the other side, so it is made of U.",
        "2.8",
        ("dW", "more pairs"),
    ),
    Mutant(
        "dt with c",
        _everyone(dt=lambda G, S, z: (G * z).sum()),
        "dt is made of z itself: what stands beside t is u · w, without t and c.",
        "2.8",
        ("dt", "more pairs"),
    ),
    Mutant(
        "dt with t",
        lambda U, W, t, c: (lambda dU, dW, dt, dc: (dU, dW, t * dt, dc))(*_everyone()(U, W, t, c)),
        "dt is multiplied by t: beside t stands the product u · w alone.",
        "2.8",
        ("dt", "more pairs"),
    ),
    Mutant(
        "dt of own pairs",
        _everyone(dt=lambda G, S, z: (np.diag(G) * np.diag(S)).sum()),
        "dt has the pairs i = j alone: t multiplies every score, so all n² of them add up.",
        "2.8",
        ("dt", "more pairs"),
    ),
    Mutant(
        "overflow",
        _overflowing,
        "exp overflows where a score is very negative. σ(−z) is exp(−log(1 + exp z)), and logaddexp makes the "
        "logarithm without overflow.",
        "2.8",
        ("large scores",),
    ),
    Mutant(
        "negatives averaged",
        _everyone(other=lambda z: _sigmoid(z) / (len(z) - 1)),
        "The terms of the other pairs are averaged: the loss adds all of them.",
        "2.8",
        EVERY,
    ),
    Mutant(
        "c forgotten in z",
        lambda U, W, t, c: _everyone()(U, W, t, 0.0),
        "c is missing in the scores: it shifts each z, and so each σ.",
        "2.8",
        EVERY,
    ),
    Mutant(
        "t forgotten in z",
        lambda U, W, t, c: _everyone(t_of=lambda one: t)(U, W, 1.0, c),
        "t is missing in the scores inside σ: z is t times the product, plus c, in every place.",
        "2.8",
        EVERY,
    ),
    Mutant(
        "y forgotten in front",
        _everyone(other=lambda z: -_sigmoid(z)),
        "The y in front is missing: each pair has the right size of gradient, but the other pairs are pulled where "
        "they should be pushed.",
        "2.8",
        EVERY,
    ),
    Mutant(
        "y forgotten in σ",
        _everyone(other=lambda z: _sigmoid(-z)),
        "The y inside σ is missing: for the other pairs it is σ(z), large where they are wrongly taken for true ones.",
        "2.8",
        EVERY,
    ),
    Mutant(
        "derivative of σ",
        _everyone(own=lambda z: -_sigmoid(z) * _sigmoid(-z), other=lambda z: _sigmoid(z) * _sigmoid(-z)),
        "This is made of the derivative of σ: the loss has log σ, whose derivative is σ(−z) alone.",
        "2.8",
        EVERY,
    ),
    Mutant(
        "dc averaged",
        lambda U, W, t, c: (*_everyone()(U, W, t, c)[:3], _everyone()(U, W, t, c)[3] / len(U)),
        "dc is divided by n once more: the loss has 1/n already, and c stands in every score, so all of them add up.",
        "2.8",
        ("dc", "more pairs"),
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


def _stride_one(image, kernel, b):
    p, (h, w, _) = kernel.shape[-1], image.shape
    return np.array([np.einsum("abk,jkab->j", image[r : r + p, s : s + p], kernel) + b
                     for r in range(h - p + 1) for s in range(w - p + 1)])


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
    Mutant(
        "divided by the pixels",
        lambda image, kernel, b: _tokens(bias=0.0)(image, kernel, b) / kernel[0].size + b,
        "Each product is divided by the number of pixels: a convolution adds them up.",
        "2.9",
        GRIDS,
    ),
    Mutant(
        "stride one",
        _stride_one,
        "The squares overlap: the stride is p, so each pixel belongs to one square.",
        "2.9",
        GRIDS,
    ),
    Mutant(
        "channels first",
        _tokens(cut=lambda image, p: _patches(image, p).transpose(0, 1, 4, 2, 3)),
        "The pixels of a square are flattened channel by channel, the kernel pixel by pixel: both must have the same "
        "order.",
        "2.9",
        ("colour", "wide", "other sizes"),
    ),
)

# 02.10


def _example(three, two, one):
    """An answer from what it gives for three, two and one letter."""

    def function(letters):
        merges, text = (one, two, three)[len(letters) - 1](*letters.tolist())
        return np.array(merges), np.array(text)

    return function


def _doubled(make):
    return lambda a, b: make(a, a, b)


def _wins(a, b, c):
    return [(b, c), (a, b), (257, c)], [a, b, c]


def _run_wins(a):
    return [(a, a), (a, 256)], [a, a, a]


def _one_token(a, b, c):
    return [(a, b), (256, c), (b, c)], [a, b, c]


def _otherwise(a, b, c):
    return [(b, c), (a, b)], [a, b, c]


def _from_the_right(a, b, c):
    return [(b, c), (a, 256)], [a, b, c]


def _spare(a, b, c):
    merges, text = _wins(a, b, c)
    return [*merges, (258, 258)], text


def _longer(a, b, c):
    merges, text = _wins(a, b, c)
    return merges, [*text, a]


def _no_whole(a, b, c):
    return [(b, c), (a, b), (256, c)], [a, b, c]


LETTERS = ("three letters", "two letters", "one letter")

COUNTEREXAMPLES = (
    Mutant(
        "in the order that finds it",
        _example(_one_token, _doubled(_one_token), lambda a: ([(a, a), (256, a)], [a, a, a])),
        "Here the merges in order find the long token as well: an earlier merge must take away one of its halves.",
        "2.2",
        LETTERS,
    ),
    Mutant(
        "another cut, as many tokens",
        _example(_otherwise, _doubled(_otherwise), lambda a: ([(a, a)], [a, a, a])),
        "There are as many tokens one way as the other: longest first wins only where a long token exists that the "
        "merges in order never reach in this text.",
        "2.2",
        LETTERS,
    ),
    Mutant(
        "built from what is joined first",
        _example(_from_the_right, _doubled(_from_the_right), lambda a: ([(a, a), (256, a), (256, 256)], [a, a, a])),
        "The long token is built from the very piece that the first merge makes, so the merges in order reach it too.",
        "2.2",
        LETTERS,
    ),
    Mutant(
        "a merge to spare",
        _example(_spare, _doubled(_spare), lambda a: ([*_run_wins(a)[0], (257, 257)], [a, a, a])),
        "Longest first wins here, with a merge that nobody needs: one of them can go.",
        "2.2",
        LETTERS,
    ),
    Mutant(
        "a longer text",
        _example(_longer, _doubled(_longer), lambda a: (_run_wins(a)[0], [a, a, a, a, a])),
        "Longest first wins here, on a text that is longer than it need be: three bytes will do.",
        "2.2",
        LETTERS,
    ),
    Mutant(
        "three merges for a run",
        _example(_wins, _doubled(_wins), lambda a: ([(a, a), (256, 256), (a, 256)], [a, a, a])),
        "In a run one merge fewer will do: the first merge can be both a half of the long token and what hides it.",
        "2.2",
        ("one letter",),
    ),
    Mutant(
        "no token for the whole text",
        _example(_no_whole, _doubled(_no_whole), lambda a: ([(a, a), (256, 256)], [a, a, a])),
        "No token spells the whole text, so longest first needs two as well: the last merge must make a token of all "
        "three bytes.",
        "2.2",
        LETTERS,
    ),
)

# 02.11


def _run(count):
    return lambda n, m: np.array([count(i, m) for i in n.tolist()])


RUNS = ("short runs", "very long runs", "other runs")

COUNTS = (
    Mutant(
        "single letters left over",
        _run(lambda n, m: n // 2**m + n % 2**m),
        "What does not fill a longest token is counted letter by letter: the shorter tokens are still there, and one "
        "each of them is enough.",
        "2.2",
        RUNS,
    ),
    Mutant(
        "one token for the rest",
        _run(lambda n, m: -(-n // 2**m)),
        "The rest is counted as one token: it is cut by the shorter ones, and each of those occurs at most once in it.",
        "2.2",
        RUNS,
    ),
    Mutant(
        "the rest forgotten",
        _run(lambda n, m: n // 2**m),
        "Only the longest tokens are counted: what is left of the run has tokens as well.",
        "2.2",
        RUNS,
    ),
    Mutant(
        "all powers",
        _run(lambda n, m: n.bit_count()),
        "Each power of two is used once at most: that needs tokens of every length, and the longest has 2ᵐ letters; "
        "there can be many of it.",
        "2.2",
        RUNS,
    ),
    Mutant(
        "longest one too long",
        _run(lambda n, m: n // 2 ** (m + 1) + (n % 2 ** (m + 1)).bit_count()),
        "The longest token is taken twice as long as it is: the first merge makes two letters, so m merges make 2ᵐ.",
        "2.2",
        RUNS,
    ),
    Mutant(
        "longest one too short",
        _run(lambda n, m: n // 2 ** max(m - 1, 0) + (n % 2 ** max(m - 1, 0)).bit_count()),
        "The longest token is taken half as long as it is: the first merge makes two letters, so m merges make 2ᵐ.",
        "2.2",
        RUNS,
    ),
    Mutant(
        "one letter more a merge",
        _run(lambda n, m: n // (m + 1) + (n % (m + 1) > 0)),
        "This takes tokens that grow by one letter with each merge: after the first merge the text is a run of pairs, "
        "and the most frequent neighbours are two pairs.",
        "2.2",
        RUNS,
    ),
    Mutant(
        "two letters more a merge",
        _run(lambda n, m: n // max(2 * m, 1) + (n % max(2 * m, 1) > 0)),
        "This takes a longest token of 2m letters: each merge doubles its length, so it has 2ᵐ.",
        "2.2",
        RUNS,
    ),
    Mutant(
        "one letter more, the rest single",
        _run(lambda n, m: n // (m + 1) + n % (m + 1)),
        "This takes a longest token of m + 1 letters: each merge joins two tokens of the same length, so the length "
        "doubles.",
        "2.2",
        RUNS,
    ),
    Mutant(
        "zeros counted",
        _run(lambda n, m: n // 2**m + m - (n % 2**m).bit_count()),
        "The zeros of the rest are counted: there is a token for each one in its binary digits.",
        "2.2",
        RUNS,
    ),
    Mutant(
        "merges subtracted",
        _run(lambda n, m: max(n - m, 1)),
        "Each merge is taken to save one token: it is applied wherever its pair stands, and halves their number.",
        "2.2",
        RUNS,
    ),
)

# 02.12


def _flattened(counts, power):
    return np.where(counts > 0, counts, 0.0) ** power


def _draw(weigh=_flattened, exclude=True, divide=True, side="right", after=None, rest=False):
    def function(r, counts, contexts, power):
        ids = np.zeros(r.shape, int)
        for b, true in enumerate(contexts.tolist()):
            others = np.where(np.arange(len(counts)) == true, 0, counts) if rest else counts
            weight = weigh(others, power).astype(float)
            if exclude:
                weight[true] = 0
            edges = np.cumsum(weight / weight.sum() if divide else weight)
            found = np.minimum(np.searchsorted(edges, r[b], side=side), len(counts) - 1)
            ids[b] = after(found, true, len(counts)) if after else found
        return ids

    return function


def _excluded_everywhere(r, counts, contexts, power):
    weight = np.where(counts > 0, counts, 0.0) ** power
    weight[contexts] = 0
    edges = np.cumsum(weight / weight.sum())
    return np.minimum(np.searchsorted(edges, r, side="right"), len(counts) - 1)


def _shares(counts, power):
    return (counts / counts.sum()) ** power


def _late(r, counts, contexts, power):
    """The true word is taken out of q when q is normalised already: the rest of r falls on the last word."""
    ids = np.zeros(r.shape, int)
    for b, true in enumerate(contexts.tolist()):
        weight = counts.astype(float) ** power
        weight = weight / weight.sum()
        weight[true] = 0
        ids[b] = np.minimum(np.searchsorted(np.cumsum(weight), r[b], side="right"), len(counts) - 1)
    return ids


def _not_mapped_back(r, counts, contexts, power):
    ids = np.zeros(r.shape, int)
    for b, true in enumerate(contexts.tolist()):
        weight = np.delete(_flattened(counts, power), true)
        ids[b] = np.searchsorted(np.cumsum(weight / weight.sum()), r[b], side="right")
    return ids


PLAIN = ("as they come", "three quarters", "frequent contexts")

DRAWS = (
    Mutant(
        "not normalised",
        _draw(weigh=_shares, divide=False),
        "The weights do not sum to one: with a power below one their sum is larger, and the words at the end are "
        "never drawn.",
        "2.8",
        ("three quarters", "frequent contexts"),
    ),
    Mutant(
        "true context drawn",
        _draw(exclude=False),
        "The true context can be drawn as its own negative: its weight must be zero in its row, before the weights "
        "are normalised.",
        "2.8",
        PLAIN,
    ),
    Mutant(
        "next word instead",
        _draw(exclude=False, after=lambda found, true, V: np.where(found == true, (found + 1) % V, found)),
        "Where the true context was drawn, its neighbour in the list is taken instead: that word is then drawn too "
        "often. Take the true one out before drawing.",
        "2.8",
        PLAIN,
    ),
    Mutant(
        "taken out too late",
        _late,
        "The true context is taken out after the weights were normalised: what is left does not sum to one, and its "
        "share falls to the last word.",
        "2.8",
        PLAIN,
    ),
    Mutant(
        "taken out of every row",
        _excluded_everywhere,
        "The true contexts of all rows are taken out of every row: each row leaves out its own alone.",
        "2.8",
        PLAIN,
    ),
    Mutant(
        "power forgotten",
        _draw(weigh=lambda counts, power: counts),
        "The power is not used: words are drawn as often as they come, and the most frequent ones take most of the "
        "draws.",
        "2.8",
        ("three quarters", "frequent contexts"),
    ),
    Mutant(
        "a word that never came",
        _draw(side="left"),
        "At r = 0 a word is drawn that never came: word v owns the numbers from its lower edge, itself included, to "
        "its upper edge, without it.",
        "2.8",
        ("words that never came",),
    ),
    Mutant(
        "one place too far",
        _draw(after=lambda found, true, V: np.minimum(found + 1, V - 1)),
        "Every id is one too high: word 0 owns the numbers below the first edge.",
        "2.8",
        PLAIN,
    ),
    Mutant(
        "as given",
        _draw(weigh=_shares, exclude=False, divide=False, side="left"),
        "This is what the given function draws: its three faults are the sum of the weights, the true context, and "
        "the words that never came.",
        "2.8",
        ("three quarters", "frequent contexts", "words that never came"),
    ),
    Mutant(
        "two faults left",
        _draw(exclude=False, side="left"),
        "The weights sum to one now; two faults are left: the true context can still be drawn, and so can a word "
        "that never came.",
        "2.8",
        ("words that never came",),
    ),
    Mutant(
        "power taken last",
        _draw(weigh=_shares, divide=False, rest=True),
        "The rest is normalised first and taken to the power afterwards: the widths no longer sum to one. Divide last.",
        "2.8",
        ("three quarters", "frequent contexts"),
    ),
    Mutant(
        "word before instead",
        _draw(exclude=False, after=lambda found, true, V: np.where(found == true, found - 1, found)),
        "Where the true context was drawn, the word before it is taken: that word is then drawn too often. Take the "
        "true one out before drawing.",
        "2.8",
        PLAIN,
    ),
    Mutant(
        "ids of a shorter list",
        _not_mapped_back,
        "The true context was deleted from the list, and the words behind it have moved up by one: their ids must be "
        "put right, or give the true one the weight zero instead.",
        "2.8",
        PLAIN,
    ),
)

# 02.13


def _module(V, d, pad, spread=None, on_read=math.sqrt, on_score=lambda d: 1.0, tie=True, keep="both", bias=False,
            detached=False):
    """A tied module and its wrong relatives: where the factor stands, whether it is tied, what keeps the padding."""
    import torch
    from torch.nn.functional import embedding

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            start = torch.randn(V, d) * (spread(d) if spread else d**-0.5)
            if keep != "none":
                start[pad] = 0
            self.E = torch.nn.Parameter(start)
            if not tie:
                self.out = torch.nn.Parameter(start.clone())
            if bias:
                self.bias = torch.nn.Parameter(torch.zeros(V))
            self.register_buffer("known", (torch.arange(V) != pad)[:, None])

        def forward(self, ids):
            return on_read(d) * embedding(ids, self.E, padding_idx=pad if keep in ("both", "read") else None)

        def score(self, X):
            out = self.E if tie else self.out
            out = out.detach() if detached else out
            logits = on_score(d) * X @ (out * self.known if keep == "both" else out).mT
            return logits + self.bias if bias else logits

    return Module()


def _made(**how):
    return lambda V, d, pad: _module(V, d, pad, **how)


MODULES = (
    Mutant(
        "a copy",
        _made(tie=False),
        "There are two tables: they begin alike, each learns from its own path, and they come apart at the first "
        "step. Use one parameter in both places.",
        "2.11",
        ("one table", "batch"),
    ),
    Mutant(
        "a bias",
        _made(bias=True),
        "The scores have a bias: X Eᵀ has none, and one table is the only parameter.",
        "2.11",
        ("one table", "batch"),
    ),
    Mutant(
        "no factor",
        _made(on_read=lambda d: 1.0),
        "√d is missing where words are read: rows of variance 1/d are short, and √d brings their entries to one.",
        "2.5",
        ("reading", "gradient", "batch"),
    ),
    Mutant(
        "factor on the scores",
        _made(on_read=lambda d: 1.0, on_score=math.sqrt),
        "√d stands at the scores: it belongs to reading; scored with rows of length one, the logits have variance one "
        "by themselves.",
        "2.6",
        ("reading", "scoring", "batch"),
    ),
    Mutant(
        "factor in both places",
        _made(on_score=math.sqrt),
        "√d stands in both places: it belongs to reading alone.",
        "2.6",
        ("scoring", "gradient", "batch"),
    ),
    Mutant(
        "factor undone at the scores",
        _made(on_score=lambda d: d**-0.5),
        "The scores are divided by √d: what comes out of a model has entries of size one, and rows of length one make "
        "logits of variance one without a factor.",
        "2.6",
        ("scoring", "gradient", "batch"),
    ),
    Mutant(
        "padding kept at reading alone",
        _made(keep="read"),
        "Scoring sends a gradient to the row of the padding: padding_idx keeps it away at the look-up alone, and "
        "every score is a path of its own. After one step the row is no longer zero.",
        "2.6",
        ("gradient", "batch"),
    ),
    Mutant(
        "padding as a word",
        _made(keep="none"),
        "The row of the padding is a row like any other: it must be zero, and no gradient may reach it.",
        "2.11",
        ("gradient", "batch"),
    ),
    Mutant(
        "zero at the start alone",
        _made(keep="start"),
        "The row of the padding begins at zero and then learns: its gradient must be kept away, from reading and from "
        "scoring.",
        "2.11",
        ("gradient", "batch"),
    ),
    Mutant(
        "rows of variance 1",
        _made(spread=lambda d: 1.0),
        "The table is drawn with variance 1: with √d at reading the words are far too loud, and the untrained model "
        "is sure of its scores. Draw it with variance 1/d.",
        "2.6",
        ("reading", "batch"),
    ),
    Mutant(
        "scores without a gradient",
        _made(detached=True),
        "No gradient comes from the scores: the table is detached there, and the path where it was scored is lost.",
        "2.6",
        ("gradient", "batch"),
    ),
    Mutant(
        "divided at reading",
        _made(on_read=lambda d: d**-0.5),
        "The words are divided by √d where they are read: they are short already, and √d makes them longer.",
        "2.5",
        ("reading", "gradient", "batch"),
    ),
    Mutant(
        "deviation 1/d",
        _made(spread=lambda d: 1 / d),
        "The entries are drawn with the standard deviation 1/d: the variance is 1/d, so the deviation is its root.",
        "2.5",
        ("reading", "batch"),
    ),
    Mutant(
        "variance 1/V",
        _made(spread=lambda d: 400**-0.5),
        "The entries are drawn with a variance that depends on the number of words: it is the width that counts, 1/d.",
        "2.5",
        ("reading", "batch"),
    ),
)

# 02.14


def _by_hand(low=lambda e, C, m: e / C, high=lambda e, C, m: e / C + (1 - e) / (2 * m), share=0.5, k_of=lambda k: k,
             drawn=lambda q: q, log=np.log, jump=lambda lam: lam):
    """U is the themes, W the jump of a theme and a share of the constant of each context word."""

    def function(themes, belongs, noise, q, k):
        C, T = belongs.shape
        a, b = low(noise, C, C // T), high(noise, C, C // T)
        kappa = log(a / (k_of(k) * drawn(q)))
        lam = log(b / (k_of(k) * drawn(q))) - kappa
        return themes.astype(float), jump(lam)[:, None] * belongs + share * kappa[:, None]

    return function


def _one_column_more(themes, belongs, noise, q, k):
    U, W = _by_hand(share=0.0)(themes, belongs, noise, q, k)
    kappa = np.log(noise / len(q) / (k * q))
    return np.column_stack([U, np.ones(len(U))]), np.column_stack([W, kappa])


WORLDS = ("one negative", "five negatives", "other worlds")

BY_HAND = (
    Mutant(
        "a column for the constant",
        _one_column_more,
        "The scores are right, and the tables have a column for the constants alone: each word has exactly two "
        "themes, so the sum of its row is already a constant.",
        "2.8",
        WORLDS,
    ),
    Mutant(
        "the constant twice",
        _by_hand(share=1.0),
        "The constant of a context word counts twice: a word has two themes, and each of them brings it along. Give "
        "each half of it.",
        "2.8",
        WORLDS,
    ),
    Mutant(
        "no constant",
        _by_hand(share=0.0),
        "The constants κ are missing: two words without a common theme meet too, by noise, and their score is not "
        "zero.",
        "2.8",
        WORLDS,
    ),
    Mutant(
        "k forgotten",
        _by_hand(k_of=lambda k: 1),
        "log k is missing: with k negatives every score is lower by log k.",
        "2.8",
        ("five negatives", "other worlds"),
    ),
    Mutant(
        "q forgotten",
        _by_hand(drawn=lambda q: np.ones_like(q)),
        "These are the scores log p(c | a) − log k: p(c | a) must be divided by q(c), how often the word would come "
        "by chance.",
        "2.8",
        WORLDS,
    ),
    Mutant(
        "noise not shared",
        _by_hand(low=lambda e, C, m: e, high=lambda e, C, m: e + (1 - e) / (2 * m)),
        "Every context word gets the whole of ε: the noise is shared by all C of them.",
        "2.8",
        WORLDS,
    ),
    Mutant(
        "noise forgotten where themes agree",
        _by_hand(high=lambda e, C, m: (1 - e) / (2 * m)),
        "A context word of the right theme comes by noise as well: (2.23) adds ε/C there too.",
        "2.8",
        WORLDS,
    ),
    Mutant(
        "one theme of two",
        _by_hand(high=lambda e, C, m: e / C + (1 - e) / m),
        "A theme is chosen with probability one half, and then one of its m words: the 2 in 2m is missing.",
        "2.8",
        WORLDS,
    ),
    Mutant(
        "no logarithm",
        _by_hand(log=lambda x: x),
        "These are the ratios p(c | a) / (k q(c)): the score is their logarithm.",
        "2.8",
        WORLDS,
    ),
    Mutant(
        "the jump is one",
        _by_hand(jump=lambda lam: np.ones_like(lam)),
        "A common theme raises the score by 1: the step is λ, the logarithm of how much more often the words meet.",
        "2.8",
        WORLDS,
    ),
    Mutant(
        "a theme’s words are all",
        _by_hand(high=lambda e, C, m: e / C + (1 - e) / C),
        "Where a theme is shared, 1 − ε is divided by all C context words: a theme has m = C/T of them, and it is "
        "one of two.",
        "2.8",
        WORLDS,
    ),
    Mutant(
        "all words for those of a theme",
        _by_hand(high=lambda e, C, m: e / C + (1 - e) / (2 * C)),
        "C stands where m belongs: a theme has m = C/T context words, not all C.",
        "2.8",
        WORLDS,
    ),
    Mutant(
        "noise and the rest",
        _by_hand(low=lambda e, C, m: e, high=lambda e, C, m: 1 - e),
        "ε and 1 − ε are not divided: they are shares of all context words together, and each word gets its part, as "
        "in (2.23).",
        "2.8",
        WORLDS,
    ),
    Mutant(
        "log k added",
        _by_hand(k_of=lambda k: 1 / k),
        "log k is added: more negatives lower each score.",
        "2.8",
        ("five negatives", "other worlds"),
    ),
    Mutant(
        "noise among other themes",
        _by_hand(low=lambda e, C, m: e / (C - 2 * m), high=lambda e, C, m: (1 - e) / (2 * m)),
        "The noise is shared out among the words of other themes alone: by (2.23) it brings any of the C context "
        "words, those of the word's own themes too.",
        "2.8",
        WORLDS,
    ),
)
