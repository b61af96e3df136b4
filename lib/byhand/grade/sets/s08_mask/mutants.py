"""Known wrong answers, each with the message that names the misconception."""

import numpy as np

from ...model import Mutant
from .cases import NAMES, causal, masked_in, weights

# 08.1


def _leak(first=0, last=0, how=lambda D: np.abs(D).max(), new_of=lambda new: new, rows=None):
    def function(f, X, new, t):
        changed = X.copy()
        changed[..., t + first :, :] = new_of(new)[..., t + first :, :]
        D = f(changed) - f(X)
        return float(how(D if rows == "all" else D[..., : t + last, :]))

    return function


def _first_axis(f, X, new, t):
    changed = X.copy()
    changed[t:] = new[t:]
    return float(np.abs(f(changed) - f(X))[:t].max())


def _first_axis_looked(f, X, new, t):
    changed = X.copy()
    changed[..., t:, :] = new[..., t:, :]
    return float(np.abs(f(changed)[:t] - f(X)[:t]).max())


def _replaced(changed_of=None, other=None, how=lambda D: np.abs(D).max()):
    """Something else is replaced, or compared with."""

    def function(f, X, new, t):
        changed = X.copy()
        changed[..., t:, :] = new[..., t:, :]
        if changed_of:
            changed = changed_of(X.copy(), new, t)
        beside = other(f, X, new, t) if other else f(X)
        return float(how((f(changed) - beside)[..., :t, :]))

    return function


def _before_t(Z, new, t):
    Z[..., :t, :] = new[..., :t, :]
    return Z


def _features(Z, new, t):
    Z[..., t:] = new[..., t:]
    return Z


def _of_the_prefix(f, X, new, t):
    return float(np.abs(f(X[..., :t, :]) - f(X)[..., :t, :]).max())


def _largest_of_each(f, X, new, t):
    changed = X.copy()
    changed[..., t:, :] = new[..., t:, :]
    return float(abs(f(changed)[..., :t, :].max() - f(X)[..., :t, :].max()))


LEAKS = (
    Mutant(
        "first axis",
        _first_axis,
        "The tokens are taken from the first axis: with sequences side by side they lie along the last but one.",
        "8.9",
        ("batch",),
    ),
    Mutant(
        "first axis looked at",
        _first_axis_looked,
        "The rows before t are taken from the first axis: with sequences side by side tokens lie along the last axis "
        "but one.",
        "8.9",
        ("batch",),
    ),
    Mutant(
        "looks at token t",
        _leak(last=1),
        "Row t is compared as well: that token was replaced, so its own row must move. Compare the rows before t.",
        "8.9",
        ("running sum", "next token", "attention", "batch"),
    ),
    Mutant(
        "all rows",
        _leak(rows="all"),
        "All rows are compared: the ones from t on must move. A leak is a change before t.",
        "8.9",
        ("running sum", "next token", "attention", "batch"),
    ),
    Mutant(
        "token t kept",
        _leak(first=1),
        "Token t is left as it was: a mask that is off by one lets row t − 1 see just that token, and you miss it.",
        "8.9",
        ("next token", "attention", "batch", "falls only"),
    ),
    Mutant(
        "the row before t alone",
        _leak(how=lambda D: np.abs(D[..., -1, :]).max()),
        "Only the row just before t is compared: a leak can reach further back. Compare all the rows before t.",
        "8.9",
        ("far back",),
    ),
    Mutant(
        "everything replaced",
        lambda f, X, new, t: float(np.abs(f(new) - f(X))[..., :t, :].max()),
        "The tokens before t are replaced as well: then their own rows must move. Keep them.",
        "8.9",
        ("running sum", "next token", "attention", "batch", "far back"),
    ),
    Mutant(
        "sum of the changes",
        _leak(how=lambda D: np.abs(D).sum()),
        "This is the sum of all changes: the largest of them is asked for.",
        "8.9",
        ("next token", "attention", "batch", "falls only", "far back"),
    ),
    Mutant(
        "sign kept",
        _leak(how=np.max),
        "The difference keeps its sign: a row that falls has moved as much as one that rises.",
        "8.9",
        ("falls only",),
    ),
    Mutant(
        "mean",
        _leak(how=lambda D: np.abs(D).mean()),
        "This is the mean change: a leak into a single row would drown in it. Take the largest.",
        "8.9",
        ("next token", "attention", "batch", "falls only"),
    ),
    Mutant(
        "zeros for new",
        _leak(new_of=np.zeros_like),
        "The tokens from t on become zeros: use those of `new`. Where X is zero already, zeros would change nothing.",
        "8.9",
        ("next token", "attention", "batch", "falls only"),
    ),
    Mutant(
        "f of the prefix",
        _of_the_prefix,
        "f is called on the first t tokens alone: keep all n of them, and put those of `new` in the places from t on.",
        "8.9",
        ("next token", "attention", "batch"),
    ),
    Mutant(
        "the tokens before t",
        _replaced(_before_t),
        "The tokens before t are replaced, and those from t on are kept: it is the other way round.",
        "8.9",
        ("next token", "attention", "batch", "far back"),
    ),
    Mutant(
        "features replaced",
        _replaced(_features),
        "The last axis holds the features: tokens lie along the last axis but one, and those from t on are replaced "
        "whole.",
        "8.9",
        ("attention", "batch"),
    ),
    Mutant(
        "compared with X",
        _replaced(other=lambda f, X, new, t: X),
        "What came out is compared with X, which went in: compare two outputs, f of X and f of the changed tokens.",
        "8.9",
        ("next token", "attention", "batch"),
    ),
    Mutant(
        "compared with f of new",
        _replaced(other=lambda f, X, new, t: f(new)),
        "The changed tokens are compared with `new`, which differs before t as well: compare with f of X.",
        "8.9",
        ("next token", "attention", "batch", "far back"),
    ),
    Mutant(
        "squared",
        _replaced(how=lambda D: (D * D).max()),
        "The changes are squared: the size of the largest is asked for, as it is.",
        "8.9",
        ("next token", "attention", "batch"),
    ),
    Mutant(
        "length of the change",
        _replaced(how=lambda D: np.sqrt((D * D).sum())),
        "This is the length of all changes together, the root of the sum of their squares: the largest single one is "
        "asked for.",
        "8.9",
        ("next token", "attention", "batch"),
    ),
    Mutant(
        "yes or no",
        _replaced(how=lambda D: np.abs(D).max() > 1e-8),
        "This says whether a row moves: how far is asked for, as a number.",
        "8.9",
        ("next token", "attention", "batch"),
    ),
    Mutant(
        "largest of each",
        _largest_of_each,
        "The largest number of one output is compared with that of the other, and these may stand in other places: "
        "subtract place by place first, and then take the largest.",
        "8.9",
        ("next token", "attention", "batch"),
    ),
)

# 08.2


def _padded(how):
    def function(S, lengths):
        real = np.arange(S.shape[-1]) < lengths[:, None]
        return how(S, real)

    return function


def _plain_softmax(S, real):
    S = np.where(real[:, None, :], S, -np.inf)
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)


def _renormalised(guard):
    def how(S, real):
        A = weights(S) * real[:, None, :]
        total = A.sum(axis=-1, keepdims=True)
        with np.errstate(all="ignore"):
            return A / (np.where(total == 0, 1, total) if guard else total)

    return how


def _one_maximum(guard):
    def how(S, real):
        S = np.where(real[:, None, :], S, -np.inf)
        E = np.exp(S - S.max())
        total = E.sum(axis=-1, keepdims=True)
        with np.errstate(all="ignore"):
            return E / (np.where(total == 0, 1, total) if guard else total)

    return how


def _last_ones(S, lengths):
    return weights(S, np.arange(S.shape[-1]) >= S.shape[-1] - lengths[:, None, None])


LATE_SUM = (
    "The weights are zeroed after the softmax and divided by what is left: where a filler has a score far above all "
    "others nothing is left, 0/0. Hide the scores, before the softmax."
)
ONE_MAXIMUM = (
    "One maximum is subtracted from the whole array: in a row far below it every exp is 0. Subtract the largest "
    "visible score of each row."
)

MIXED = ("one sequence", "batch", "empty", "large scores", "as many as tokens")

PADDINGS = (
    Mutant(
        "filler queries hidden, finite",
        _padded(lambda S, real: weights(S - 1e4 * ~real[:, :, None])),
        "There is no mask, or it lies on the queries and is finite: that shifts a whole row, a softmax does not see "
        "it, and every real token looks at the filler.",
        "8.6",
        MIXED,
    ),
    Mutant(
        "filler queries hidden",
        _padded(lambda S, real: weights(S, real[:, :, None])),
        "The mask lies on the queries: filler may look at nobody, but everybody looks at filler. Hide the keys.",
        "8.6",
        ("one sequence", "batch", "large scores", "as many as tokens"),
    ),
    Mutant(
        "both hidden",
        _padded(lambda S, real: weights(S, real[:, :, None] & real[:, None, :])),
        "Keys and queries are hidden: the rows of filler queries are empty now. Nobody reads them; the keys suffice.",
        "8.6",
        ("one sequence", "batch", "empty", "large scores", "as many as tokens"),
    ),
    Mutant(
        "minus 1e4",
        _padded(lambda S, real: weights(S - 1e4 * ~real[:, None, :])),
        "A finite number hides the filler: a score of tens of thousands outweighs it, and a row with nothing to see "
        "becomes uniform instead of zero.",
        "8.5",
        ("empty", "large scores"),
    ),
    Mutant(
        "one filler too many",
        lambda S, lengths: weights(S, np.arange(S.shape[-1]) <= lengths[:, None, None]),
        "One filler is visible: keys 0 to length − 1 are real, so the comparison is <, not ≤.",
        "8.2",
        ("one sequence", "batch", "large scores", "as many as tokens"),
    ),
    Mutant(
        "after the softmax",
        _padded(lambda S, real: weights(S) * real[:, None, :]),
        "The weights are zeroed after the softmax: the filler is still in the denominator, and rows do not sum to one.",
        "8.4",
        ("one sequence", "batch", "as many as tokens"),
    ),
    Mutant(
        "the other way round",
        _padded(lambda S, real: weights(S, ~real[:, None, :])),
        "The filler is visible and the words are hidden: True means that a query may attend to the key.",
        "8.2",
        MIXED,
    ),
    Mutant(
        "minus 1e9 on the queries",
        _padded(lambda S, real: weights(S - 1e9 * ~real[:, :, None])),
        "−1e9 is added on the axis of the queries: it shifts a whole row, a softmax does not see that, and every real "
        "token looks at the filler.",
        "8.6",
        MIXED,
    ),
    Mutant(
        "queries replaced",
        _padded(lambda S, real: weights(np.where(real[:, :, None], S, -1e9))),
        "The mask lies on the queries and is finite: the rows of filler become uniform, and every real token looks at "
        "the filler. Hide the keys.",
        "8.6",
        MIXED,
    ),
    Mutant(
        "causal as well",
        _padded(lambda S, real: weights(S, real[:, None, :] & causal(S.shape[-1]))),
        "Later tokens are hidden as well: only filler is to be hidden here, and each query sees all the real keys.",
        "8.2",
        MIXED,
    ),
    Mutant(
        "scores times mask",
        _padded(lambda S, real: weights(S * real[:, None, :])),
        "The scores of the filler are multiplied by 0: a score of 0 is not a weight of 0, since e⁰ = 1.",
        "8.4",
        MIXED,
    ),
    Mutant(
        "minus 1e4 in place of the score",
        _padded(lambda S, real: weights(np.where(real[:, None, :], S, -1e4))),
        "−1e4 stands in the place of the hidden scores: scores of tens of thousands fall below it, and a row with "
        "nothing to see becomes uniform instead of zero.",
        "8.5",
        ("empty", "large scores"),
    ),
    Mutant(
        "nan in the empty sequence",
        _padded(_plain_softmax),
        "In the sequence of length 0 every score is −∞, and ∞ − ∞ or 0/0 makes nan: give rows without a key weights 0.",
        "8.5",
        ("empty",),
    ),
    Mutant(
        "minus 1e9",
        _padded(lambda S, real: weights(np.where(real[:, None, :], S, -1e9))),
        "A large negative number hides the filler, except where there is nothing else: the row of an empty sequence "
        "becomes uniform instead of zero.",
        "8.5",
        ("empty",),
    ),
    Mutant(
        "minus 1e9 added",
        _padded(lambda S, real: weights(S - 1e9 * ~real[:, None, :])),
        "−1e9 is added to the scores of the filler: in the row of an empty sequence all scores move alike, and the row "
        "sums to one instead of zero.",
        "8.5",
        ("empty",),
    ),
    Mutant("renormalised", _padded(_renormalised(True)), LATE_SUM, "8.4", ("large scores",)),
    Mutant("renormalised, nan", _padded(_renormalised(False)), LATE_SUM, "8.4", ("empty", "large scores")),
    Mutant("one maximum", _padded(_one_maximum(True)), ONE_MAXIMUM, "8.3", ("large scores",)),
    Mutant("one maximum, nan", _padded(_one_maximum(False)), ONE_MAXIMUM, "8.3", ("large scores",)),
    Mutant(
        "softmax over the queries",
        _padded(lambda S, real: weights(S, real[:, None, :], axis=-2)),
        "The softmax runs down the columns, over the queries: each row shares its weight among the keys.",
        "8.2",
        ("one sequence", "batch", "large scores", "as many as tokens"),
    ),
    Mutant(
        "filler on the left",
        _last_ones,
        "The last tokens are taken for the real ones: here they come first, and the filler stands behind them.",
        "8.6",
        ("one sequence", "batch", "large scores", "as many as tokens"),
    ),
    Mutant(
        "filler sees itself",
        _padded(lambda S, real: weights(S, real[:, None, :] | np.eye(S.shape[-1], dtype=bool))),
        "Each filler sees itself: its rows are like any other and share their weight among the real keys, and where "
        "there is none all weights are 0.",
        "8.6",
        ("one sequence", "batch", "empty", "large scores", "as many as tokens"),
    ),
)

# 08.3


def _forcing(inputs=None, targets=None, k=0, mask=lambda M: M):
    def function(ids, bos):
        shifted = np.concatenate([np.full((*ids.shape[:-1], 1), bos), ids[..., :-1]], axis=-1)
        n = ids.shape[-1]
        return inputs(ids, bos) if inputs else shifted, targets(ids, bos) if targets else ids, mask(causal(n, k))

    return function


FORCINGS = (
    Mutant(
        "not shifted",
        _forcing(inputs=lambda ids, bos: ids.copy()),
        "Inputs and targets are the same text: row i is asked for the word that it has just been given.",
        "8.7",
        ("inputs", "batch", "one word"),
    ),
    Mutant(
        "targets shifted too",
        _forcing(targets=lambda ids, bos: np.concatenate([np.full((*ids.shape[:-1], 1), bos), ids[..., :-1]], axis=-1)),
        "Both inputs and targets are shifted, so nothing is: the model learns to repeat its input.",
        "8.7",
        ("targets", "batch", "one word"),
    ),
    Mutant(
        "shifted left",
        _forcing(inputs=lambda ids, bos: np.concatenate([ids[..., 1:], np.full((*ids.shape[:-1], 1), bos)], axis=-1)),
        "The inputs are shifted left: row i then holds the word after the one that it is to predict.",
        "8.7",
        ("inputs", "batch"),
    ),
    Mutant(
        "one word too many",
        lambda ids, bos: (
            np.concatenate([np.full((*ids.shape[:-1], 1), bos), ids], axis=-1), ids, causal(ids.shape[-1] + 1)),
        "BOS stands in front, and the last word is still there: it would predict a word after the text. Leave it out "
        "of the inputs.",
        "8.7",
        ("inputs", "mask", "batch", "one word"),
    ),
    Mutant(
        "rolled",
        _forcing(inputs=lambda ids, bos: np.roll(ids, 1, axis=-1)),
        "The first input is the last word, as np.roll leaves it: it must be BOS.",
        "8.7",
        ("inputs", "batch", "one word"),
    ),
    Mutant(
        "mask upside down",
        _forcing(mask=lambda M: ~M),
        "The mask is upside down: True means that a row may attend, and here True marks what comes later.",
        "8.2",
        ("mask", "batch", "one word"),
    ),
    Mutant(
        "mask transposed",
        _forcing(mask=lambda M: M.T),
        "Rows and columns of the mask are exchanged: row i is the word that asks, and it may see columns up to i.",
        "8.2",
        ("mask", "batch"),
    ),
    Mutant(
        "diagonal hidden",
        _forcing(k=-1),
        "The diagonal is hidden: the inputs are shifted already, so row i may see its own place. Row 0 would be empty.",
        "8.2",
        ("mask", "batch", "one word"),
    ),
    Mutant(
        "off by one",
        _forcing(k=1),
        "The mask has k = 1: row i sees the input i + 1, which is the word that it is to predict.",
        "8.2",
        ("mask", "batch"),
    ),
    Mutant(
        "one word short",
        lambda ids, bos: (ids[..., :-1], ids[..., 1:], causal(ids.shape[-1] - 1)),
        "These are ids[:-1] and ids[1:]: the first word is never predicted, and a row is lost. BOS before the text "
        "makes a row for it.",
        "8.7",
        ("inputs", "targets", "mask", "batch", "one word"),
    ),
    Mutant(
        "targets shifted left",
        _forcing(targets=lambda ids, bos: np.concatenate(
            [ids[..., 1:], np.full((*ids.shape[:-1], 1), bos)], axis=-1)),
        "The targets are shifted as well, to the left: the inputs are one place late already, so row i says word i of "
        "the text as it is.",
        "8.7",
        ("targets", "batch", "one word"),
    ),
    Mutant(
        "BOS over the first word",
        _forcing(inputs=lambda ids, bos: np.where(np.arange(ids.shape[-1]) == 0, bos, ids)),
        "BOS stands in the place of the first word, and the others have not moved: all words move on by one, and the "
        "last one drops out.",
        "8.7",
        ("inputs", "batch"),
    ),
    Mutant(
        "additive",
        _forcing(mask=lambda M: np.where(M, 0.0, -np.inf)),
        "This is the additive form of the mask, 0 and −∞: the boolean form is asked for, True where a row may attend.",
        "8.2",
        ("mask", "batch"),
    ),
    Mutant(
        "nothing hidden",
        _forcing(mask=np.ones_like),
        "Nothing is hidden: row i sees all inputs, and the word that it is to predict is one of them.",
        "8.2",
        ("mask", "batch"),
    ),
)

# 08.4


def _jacobians(before=None, after=None):
    def function(s, mask):
        a, p = weights(s, mask), weights(s)
        right = np.diag(a) - np.outer(a, a), mask[:, None] * (np.diag(p) - np.outer(p, p))
        return before(a, p, mask) if before else right[0], after(a, p, mask) if after else right[1]

    return function


JACOBIANS = (
    Mutant(
        "no leak seen",
        _jacobians(after=lambda a, p, mask: np.diag(a) - np.outer(a, a)),
        "`after` is the Jacobian of the masked softmax: but a mask that comes late leaves the hidden scores in the "
        "denominator.",
        "8.4",
        ("after", "one key"),
    ),
    Mutant(
        "hidden columns zero",
        _jacobians(after=lambda a, p, mask: mask[:, None] * (np.diag(p) - np.outer(p, p)) * mask),
        "In `after` the columns of hidden scores are zero: they are just where the leak is, −a_j p_l.",
        "8.4",
        ("after", "one key"),
    ),
    Mutant(
        "transposed",
        _jacobians(after=lambda a, p, mask: mask * (np.diag(p) - np.outer(p, p))),
        "`after` is transposed: a hidden weight is 0 and has a zero row; a hidden score has a column that is not zero.",
        "8.4",
        ("after", "one key"),
    ),
    Mutant(
        "renormalised",
        _jacobians(after=lambda a, p, mask: mask[:, None] * (np.diag(p) - np.outer(p, p)) / (p * mask).sum()),
        "`after` is divided by the visible part of the row: here the weights stay as the mask leaves them.",
        "8.4",
        ("after", "one key"),
    ),
    Mutant(
        "in the other order",
        lambda s, mask: _jacobians()(s, mask)[::-1],
        "The two are returned in the other order: `before` first.",
        "8.4",
        ("before", "after", "one key"),
    ),
    Mutant(
        "mask forgotten",
        _jacobians(before=lambda a, p, mask: np.diag(p) - np.outer(p, p)),
        "`before` has the weights of the softmax over all keys in it: put in the masked weights.",
        "8.3",
        ("before",),
    ),
    Mutant(
        "only the diagonal",
        _jacobians(before=lambda a, p, mask: np.diag(a * (1 - a))),
        "`before` has its diagonal only: the visible keys share a denominator.",
        "8.3",
        ("before", "nothing hidden"),
    ),
    Mutant(
        "its own share twice",
        _jacobians(after=lambda a, p, mask: mask[:, None] * (np.diag(p) - (p * p)[:, None])),
        "In `after` each row has the square of its own weight in all places: weight j falls with the share of the "
        "score that rises, so it is p[j] times p[l].",
        "8.4",
        ("after", "nothing hidden"),
    ),
    Mutant(
        "zeroed afterwards",
        _jacobians(before=lambda a, p, mask: (np.diag(p) - np.outer(p, p)) * np.outer(mask, mask)),
        "`before` is the unmasked Jacobian with rows and columns struck out: the masked softmax has other weights.",
        "8.3",
        ("before",),
    ),
    Mutant(
        "plus on both sides",
        _jacobians(before=lambda a, p, mask: np.diag(a) + np.outer(a, a)),
        "a_j a_l is added in `before`: a score that rises takes weight from the others, so it is subtracted.",
        "8.4",
        ("before", "nothing hidden", "one key", "another row"),
    ),
    Mutant(
        "sign of both terms",
        _jacobians(before=lambda a, p, mask: np.outer(a, a) - np.diag(a)),
        "The signs in `before` are the opposite: a weight rises with its own score.",
        "8.4",
        ("before", "nothing hidden", "another row"),
    ),
    Mutant(
        "one on the diagonal",
        _jacobians(before=lambda a, p, mask: np.eye(len(a)) - np.outer(a, a)),
        "The diagonal of `before` has 1 in the place of a_j: ∂a_j/∂s_j = a_j (1 − a_j).",
        "8.4",
        ("before", "nothing hidden", "one key", "another row"),
    ),
    Mutant(
        "mask forgotten in `after`",
        _jacobians(after=lambda a, p, mask: np.diag(p) - np.outer(p, p)),
        "`after` is the Jacobian without a mask: the rows of hidden keys are 0, for their a' is.",
        "8.4",
        ("after", "one key", "another row"),
    ),
    Mutant(
        "diagonal without the mask",
        _jacobians(after=lambda a, p, mask: np.diag(p) - np.outer(p * mask, p)),
        "The diagonal of `after` is not masked: where a key is hidden, its whole row is 0.",
        "8.4",
        ("after", "one key", "another row"),
    ),
)

# 08.5


def _nearest(names, called=None):
    def function(S, A):
        name = min(names, key=lambda name: np.abs(masked_in(S, name) - A).max())
        return (called or {}).get(name, name)

    return function


def _corner_only(S, A):
    return NAMES[0] if not A[~causal(len(S))].any() else NAMES[3]


def _row_sums_only(S, A):
    return NAMES[0] if np.abs(A.sum(axis=1) - 1).max() < 1e-6 else NAMES[1]


DETECTIVES = (
    Mutant(
        "the corner only",
        _corner_only,
        "Zeros above the diagonal clear nobody: a mask after the softmax leaves such zeros, and a row that leaks.",
        "8.4",
        ("four exhibits", "one is innocent", "eight tokens"),
    ),
    Mutant(
        "row sums only",
        _row_sums_only,
        "Rows that sum to one clear nobody: a mask that is off by one, and scores times mask, have such rows.",
        "8.4",
        ("four exhibits", "one is innocent", "eight tokens"),
    ),
    Mutant(
        "all small rows are late masks",
        _nearest(NAMES, {"softmax over queries": "after the softmax"}),
        "A softmax over the queries is taken for a late mask: look at the sums of the columns.",
        "8.2",
        ("four exhibits", "one is innocent", "eight tokens"),
    ),
    Mutant(
        "zero means hidden",
        _nearest(NAMES, {"scores times mask": "off by one"}),
        "Scores times mask is taken for another fault: a score of 0 is not a weight of 0, since e⁰ = 1; nothing is "
        "hidden at all.",
        "8.4",
        ("four exhibits", "one is innocent", "eight tokens"),
    ),
    Mutant(
        "always guilty",
        _nearest(NAMES[1:]),
        "A matrix with nothing wrong is accused: compare with the right weights as well.",
        "8.3",
        ("one is innocent", "eight tokens"),
    ),
)

# 08.6


def _means(count=None, sentences=None, loss=None, dL=None):
    """The mean of means with one part replaced."""

    def function(L, real):
        each = np.maximum(real.sum(axis=1, keepdims=True), 1) if count is None else count(real)
        many = max(int(real.any(axis=1).sum()), 1) if sentences is None else sentences(real)
        share = real / each / many
        return loss(L, real) if loss else float((share * L).sum()), dL(L, real, share) if dL else share

    return function


def _first_ones(L, real):
    return _right_means(L, np.arange(real.shape[1]) < real.sum(axis=1, keepdims=True))


def _with_nan(L, real):
    with np.errstate(all="ignore"):
        mine = (L * real).sum(axis=1) / real.sum(axis=1)
        share = real / real.sum(axis=1, keepdims=True) / len(L)
    return float(mine.mean()), share


_right_means = _means()
_over_tokens = _means(count=lambda real: 1, sentences=lambda real: max(real.sum(), 1))

MEANS = (
    Mutant(
        "mean over tokens",
        _over_tokens,
        "This is the mean over all real tokens, in which a long sentence counts more: take the mean of each sentence "
        "first, then the mean of these.",
        "8.8",
        ("loss", "gradient", "holes", "empty sentence"),
    ),
    Mutant(
        "gradient of the mean over tokens",
        lambda L, real: (_right_means(L, real)[0], _over_tokens(L, real)[1]),
        "dL is the gradient of the mean over all real tokens: here a token of a short sentence has a larger share.",
        "8.8",
        ("gradient", "holes", "empty sentence"),
    ),
    Mutant(
        "empty sentences counted in the loss",
        _means(loss=lambda L, real: float((real * L / np.maximum(real.sum(axis=1, keepdims=True), 1)).sum() / len(L))),
        "In the loss, sentences without a real token are counted as if their loss were 0; the gradient leaves them "
        "out, as it should be.",
        "8.8",
        ("empty sentence",),
    ),
    Mutant(
        "empty sentences counted",
        _means(sentences=lambda real: len(real)),
        "Sentences without a real token are counted as if their loss were 0: leave them out of the number too.",
        "8.8",
        ("empty sentence",),
    ),
    Mutant(
        "nan",
        _with_nan,
        "A sentence without a real token gives 0/0: it has no mean, and does not count.",
        "8.8",
        ("empty sentence", "nothing real"),
    ),
    Mutant(
        "filler in the mean",
        lambda L, real: (float(L.mean()), np.full(L.shape, 1 / L.size)),
        "The filler is in the mean, and learns: it must leave the sum and the count.",
        "8.8",
        ("loss", "gradient", "holes", "empty sentence", "nothing real"),
    ),
    Mutant(
        "divided by n",
        _means(count=lambda real: real.shape[1]),
        "The filler left the sum and stayed in the count: divide by the number of real tokens of the sentence.",
        "8.8",
        ("loss", "gradient", "holes", "empty sentence"),
    ),
    Mutant(
        "sum of means",
        _means(sentences=lambda real: 1),
        "The means of the sentences are added up: divide by the number of sentences that have one.",
        "8.8",
        ("loss", "gradient", "holes", "empty sentence"),
    ),
    Mutant(
        "gradient not divided by the sentences",
        _means(dL=lambda L, real, share: real / np.maximum(real.sum(axis=1, keepdims=True), 1)),
        "In dL the division by the number of sentences is missing.",
        "8.8",
        ("gradient", "holes", "empty sentence"),
    ),
    Mutant(
        "gradient not divided by the tokens",
        _means(dL=lambda L, real, share: real / max(int(real.any(axis=1).sum()), 1)),
        "In dL the division by the number of real tokens of the sentence is missing.",
        "8.8",
        ("gradient", "holes", "empty sentence"),
    ),
    Mutant(
        "filler learns",
        _means(dL=lambda L, real, share: np.ones(L.shape) / np.maximum(real.sum(axis=1, keepdims=True), 1)
               / max(int(real.any(axis=1).sum()), 1)),
        "Filler gets the gradient of a real token: it is not in the mean, so its share is 0.",
        "8.8",
        ("gradient", "holes", "empty sentence"),
    ),
    Mutant(
        "loss in the gradient",
        _means(dL=lambda L, real, share: share * L),
        "dL is multiplied by L: the loss is linear in each L, so its slope is the share alone.",
        "8.8",
        ("gradient", "holes", "empty sentence"),
    ),
    Mutant(
        "the first ones",
        _first_ones,
        "The first tokens are taken for the real ones, as many as there are: `real` may say otherwise, token by token.",
        "8.8",
        ("holes",),
    ),
    Mutant(
        "filler in the sum",
        _means(loss=lambda L, real: _right_means(L.sum(axis=1, keepdims=True) * real / np.maximum(
            real.sum(axis=1, keepdims=True), 1), real)[0]),
        "The losses of filler are in the sum, though not in the count: leave them out of both.",
        "8.8",
        ("loss", "holes", "empty sentence"),
    ),
    Mutant(
        "filler for words",
        lambda L, real: _right_means(L, ~real),
        "This is the mean over the filler: real is True where a token counts.",
        "8.8",
        ("loss", "gradient", "holes", "empty sentence", "nothing real"),
    ),
    Mutant(
        "along the other axis",
        lambda L, real: (lambda loss, dL: (loss, dL.T))(*_right_means(L.T, real.T)),
        "The means are taken down the columns, over the sentences at each place: take that of each sentence, a row, "
        "first.",
        "8.8",
        ("loss", "gradient", "holes", "empty sentence"),
    ),
)

# 08.7


def _additive(allowed=None, value=float("-inf"), finish=None, empty=True):
    """An additive mask with one slip."""

    def function(x, lengths):
        import torch

        n = x.shape[1]
        i, j = torch.arange(n, device=x.device)[:, None], torch.arange(n, device=x.device)
        key, query = j < lengths[:, None, None], i < lengths[:, None, None]
        M = allowed(i, j, key, query) if allowed else (j <= i) & key
        if empty == "by length":
            M = M | (lengths == 0)[:, None, None]
        elif empty:
            M = M | ~M.any(dim=-1, keepdim=True)
        C = torch.zeros(M.shape, dtype=x.dtype, device=x.device).masked_fill(~M, value)[:, None]
        return finish(C, M[:, None], x) if finish else C

    return function


def _reads_numbers(x, lengths):
    return _right_additive(x, lengths.new_tensor(lengths.tolist()))


def _smallest(x):
    import torch

    return torch.finfo(x.dtype).min


def _zero_times_infinity(C, M, x):
    return (~M).to(x.dtype) * float("-inf")


_right_additive = _additive()
KINDS = ("float64", "bfloat16")

ADDITIVES = (
    Mutant(
        "padding alone",
        _additive(lambda i, j, key, query: key.expand(-1, len(i), -1)),
        "Only the filler is hidden: no query may see a later key either.",
        "8.2",
        (*KINDS, "empty sequence"),
    ),
    Mutant(
        "causal alone",
        _additive(lambda i, j, key, query: ((j <= i) & (key | True))),
        "Only the future is hidden: nobody may look at filler either.",
        "8.6",
        (*KINDS, "empty sequence"),
    ),
    Mutant(
        "padding on the queries",
        _additive(lambda i, j, key, query: (j <= i) & query),
        "The padding lies on the queries: rows of filler that had real keys are empty now. Hide the keys; nobody reads "
        "those rows.",
        "8.6",
        (*KINDS,),
    ),
    Mutant(
        "each token itself",
        _additive(lambda i, j, key, query: (j <= i) & key | (i == j)),
        "Filler may look at itself: nobody may look at filler, and only the rows of an empty sequence are all 0.",
        "8.6",
        (*KINDS, "empty sequence"),
    ),
    Mutant(
        "off by one",
        _additive(lambda i, j, key, query: (j <= i + 1) & key),
        "Each query sees its successor: the diagonal is the last one that is allowed.",
        "8.2",
        (*KINDS, "empty sequence"),
    ),
    Mutant(
        "negated",
        _additive(lambda i, j, key, query: ~((j <= i) & key), empty=False),
        "Zeros and −∞ have changed places: 0 leaves a score as it is, −∞ hides it.",
        "8.2",
        (*KINDS, "empty sequence"),
    ),
    Mutant(
        "rows of nothing but −∞",
        _additive(empty=False),
        "The rows of an empty sequence hold nothing but −∞, and their softmax is 0/0: make such rows all 0.",
        "8.5",
        ("empty sequence",),
    ),
    Mutant(
        "zero times infinity",
        _additive(finish=_zero_times_infinity),
        "Zero times −∞ is nan: choose between 0 and −∞ by the mask, without a product.",
        "8.3",
        (*KINDS, "empty sequence"),
    ),
    Mutant(
        "minus 1e9",
        _additive(value=-1e9),
        "−1e9 stands for −∞: a score of 1e10 outweighs it, and float16 does not have it.",
        "8.5",
        (*KINDS, "empty sequence"),
    ),
    Mutant(
        "minus 1e4",
        _additive(value=-1e4),
        "−1e4 stands for −∞: large scores outweigh it.",
        "8.5",
        (*KINDS, "empty sequence"),
    ),
    Mutant(
        "the smallest number",
        lambda x, lengths: _right_additive(x, lengths).clamp(min=_smallest(x)),
        "The smallest number of the dtype stands for −∞: two such masks added overflow, and a row of them is uniform.",
        "8.5",
        (*KINDS, "empty sequence"),
    ),
    Mutant(
        "float32 always",
        _additive(finish=lambda C, M, x: C.float()),
        "The mask has the default dtype: make it in the dtype of x, or attention refuses it or computes in another.",
        "8.10",
        (*KINDS, "empty sequence"),
    ),
    Mutant(
        "boolean",
        _additive(finish=lambda C, M, x: M),
        "This is the boolean form, True where a query may attend: the additive form has 0 there, and −∞ elsewhere.",
        "8.2",
        (*KINDS, "meta", "empty sequence"),
    ),
    Mutant(
        "no axis for the heads",
        _additive(finish=lambda C, M, x: C[:, 0]),
        "The axis of the heads is missing: with shape (B, 1, n, n) the mask is the same for all heads of a sequence.",
        "8.10",
        (*KINDS, "meta", "empty sequence"),
    ),
    Mutant(
        "reads numbers",
        _reads_numbers,
        "The lengths are read out as Python numbers: on an accelerator that makes the program wait.",
        "8.10",
        ("meta",),
    ),
    Mutant(
        "on the CPU",
        lambda x, lengths: _right_additive(x, lengths) if x.device.type == "cpu" else _on_the_cpu(x),
        "The mask is made on the CPU: make each new tensor on the device of x.",
        "8.10",
        ("meta",),
    ),
    Mutant(
        "padding on the queries, rows empty",
        _additive(lambda i, j, key, query: (j <= i) & query, empty="by length"),
        "The padding lies on the queries: the rows of filler see nobody, and words see the filler before them. Hide "
        "the keys; nobody reads the rows of filler.",
        "8.6",
        (*KINDS,),
    ),
    Mutant(
        "diagonal hidden",
        _additive(lambda i, j, key, query: (j < i) & key, empty="by length"),
        "The diagonal is hidden: a query may look at itself, j ≤ i, and the first one has nobody else.",
        "8.2",
        (*KINDS, "empty sequence"),
    ),
    Mutant(
        "the past hidden",
        _additive(lambda i, j, key, query: (j >= i) & key, empty="by length"),
        "The past is hidden, and the future is seen: query i may look at keys j ≤ i. Rows are queries, and columns "
        "keys.",
        "8.2",
        (*KINDS, "empty sequence"),
    ),
    Mutant(
        "one filler too many",
        _additive(lambda i, j, key, query: (j <= i) & (key | ~key & (j > 0) & key.roll(1, -1)), empty="by length"),
        "One filler is visible: keys 0 to length − 1 are real, so the comparison is <, not ≤.",
        "8.2",
        (*KINDS, "empty sequence"),
    ),
)


def _on_the_cpu(x):
    import torch

    return torch.zeros(x.shape[0], 1, x.shape[1], x.shape[1], dtype=x.dtype)


# 08.8


def _offsets(of):
    """A mask that allows the distances i − j in of(n)."""
    return lambda n: np.isin(np.arange(n)[:, None] - np.arange(n), list(of(n)))


def _side(n):
    return int(np.ceil(np.sqrt(n)))


def _own_block(n):
    block = np.arange(n) // _side(n)
    return causal(n) & (block == block[:, None])


def _first_tokens(n):
    return causal(n) & (_offsets(lambda n: range(_side(n)))(n) | (np.arange(n) < _side(n)))


def _first_of_each_block(n):
    """The own block, and the first token of every block, which has not heard its block yet."""
    return causal(n) & (_own_block(n) | (np.arange(n) % _side(n) == 0))


_strided = _offsets(lambda n: {*range(_side(n)), *range(0, n, _side(n))})
ALL_N = ("sixteen", "not a square", "more tokens", "other sizes")

TWO_STEPS = (
    Mutant(
        "first of every block",
        _first_of_each_block,
        "Of every earlier block the first token is heard, and it has heard nobody of its block: the last one has.",
        "8.2",
        ALL_N,
    ),
    Mutant(
        "a window",
        _offsets(lambda n: range(int(2 * np.sqrt(n)))),
        "This is one window: in two layers it reaches twice its width less one, and the past is longer.",
        "8.2",
        ALL_N,
    ),
    Mutant(
        "own block",
        _own_block,
        "In two layers only a part of the past is heard. Its own block alone lets no token hear an earlier block, "
        "however many layers there are, and strides alone land on multiples again: a token needs both, near ones and "
        "one for each distance.",
        "8.2",
        ALL_N,
    ),
    Mutant(
        "strides alone",
        _offsets(lambda n: range(0, n, _side(n))),
        "In two layers only a part of the past is heard. Its own block alone lets no token hear an earlier block, "
        "however many layers there are, and strides alone land on multiples again: a token needs both, near ones and "
        "one for each distance.",
        "8.2",
        ALL_N,
    ),
    Mutant(
        "first tokens for all",
        _first_tokens,
        "All see a window and the first tokens; but the first tokens know nothing of what comes later, so the middle "
        "is not heard.",
        "8.2",
        ALL_N,
    ),
    Mutant(
        "distances of powers of two",
        _offsets(lambda n: [0, *(2**k for k in range(12))]),
        "Distances 1, 2, 4, 8, … reach everything in as many layers as there are digits, and two layers add only two "
        "of them.",
        "8.2",
        ALL_N,
    ),
    Mutant(
        "the whole past",
        causal,
        "Each token sees the whole past: that is heard in one layer, and the rows have up to n keys.",
        "8.2",
        ALL_N,
    ),
    Mutant(
        "both directions",
        lambda n: _strided(n) | _strided(n).T,
        "The mask is symmetric: a causal one has nothing above the diagonal.",
        "8.2",
        ALL_N,
    ),
    Mutant(
        "the diagonal left out",
        lambda n: _strided(n) & ~np.eye(n, dtype=bool),
        "No token sees itself: then the first token sees nothing, and near tokens are not heard.",
        "8.2",
        ALL_N,
    ),
    Mutant(
        "window one short",
        _offsets(lambda n: {*range(_side(n) - 1), *range(0, n, _side(n))}),
        "Strides and window do not meet: with a stride of k the window has to have width k, itself included.",
        "8.2",
        ALL_N,
    ),
    Mutant(
        "a narrow window",
        _offsets(lambda n: range(_side(n))),
        "This is one window, and a narrow one: in two layers it reaches twice its width less one, and the past is "
        "longer.",
        "8.2",
        ALL_N,
    ),
    Mutant(
        "a window and the first token",
        lambda n: causal(n) & (_offsets(lambda n: range(_side(n)))(n) | (np.arange(n) == 0)),
        "All see a window and the first token; but that one knows nothing of what comes later, so what lies between is "
        "not heard.",
        "8.2",
        ALL_N,
    ),
    Mutant(
        "distances without a sign",
        lambda n: np.abs(np.subtract.outer(np.arange(n), np.arange(n))) % _side(n) == 0,
        "Later tokens are seen too: a causal mask has nothing above the diagonal, whatever the distance is.",
        "8.2",
        ALL_N,
    ),
    Mutant(
        "the future for the past",
        lambda n: _strided(n).T,
        "Rows and columns are exchanged: row i is the token that looks, and it looks at columns j ≤ i.",
        "8.2",
        ALL_N,
    ),
    Mutant(
        "a distance below zero",
        lambda n: _strided(n) | ~causal(n),
        "Everything later is seen: a distance below 0 is below the width of a window too, so ask for j ≤ i as well.",
        "8.2",
        ALL_N,
    ),
    Mutant(
        "a side of four for all n",
        _offsets(lambda n: {*range(4), *range(0, n, 4)}),
        "The stride is the same for every n: with a stride of 4 a row has n/4 keys and more, which soon is more than "
        "2√n. Let it grow like √n.",
        "8.2",
        ("not a square", "more tokens", "other sizes"),
    ),
)

# 08.9


def _left(real=None, axis="key", places=None, filler="itself", causal_k=0, future=False):
    def function(lengths, n):
        first, j = (n - lengths)[:, None], np.arange(n)
        bits = real(j, lengths[:, None], n) if real else j >= first
        of = {"key": bits[:, None, :], "query": bits[:, :, None]}
        M = causal(n, causal_k) & (of[axis] if axis in of else of["key"] & of["query"])
        if future:
            M = causal(n).T & bits[:, None, :]
        if filler == "itself":
            M = M | np.eye(n, dtype=bool)
        elif filler == "all":
            M = M | ~M.any(axis=-1, keepdims=True)
        elif filler == "filler":
            M = M | causal(n) & ~bits[:, :, None]
        elif filler == "words":
            M = M | bits[:, None, :] & ~bits[:, :, None]
        elif filler == "the diagonal of words too":
            M = M & ~np.eye(n, dtype=bool) | np.eye(n, dtype=bool) & ~bits[:, :, None]
        return M, np.maximum(j - first, 0) if places is None else places(j, first, n)

    return function


def _from_zero(j, first, n):
    return np.tile(j, (len(first), 1))


def _on_the_right(j, lengths, n):
    return j < lengths


LEFTS = (
    Mutant(
        "as it was",
        _left(_on_the_right, "query", _from_zero, None),
        "The three faults are still there: the side of the filler, the axis of the mask, and where the counting "
        "begins.",
        "8.6",
        ("one sequence", "mask", "places", "empty and full"),
    ),
    Mutant(
        "filler on the right",
        _left(_on_the_right),
        "The first tokens are taken for the real ones: here the filler stands on the left, and the last are real.",
        "8.6",
        ("one sequence", "mask"),
    ),
    Mutant(
        "filler on the right, for queries too",
        _left(_on_the_right, "both"),
        "The first tokens are taken for the real ones: here the filler stands on the left, and the last are real.",
        "8.6",
        ("one sequence", "mask"),
    ),
    Mutant(
        "on the queries",
        _left(axis="query"),
        "The padding bit lies on the queries: real tokens may look at filler. Nobody may look at a filler key.",
        "8.6",
        ("one sequence", "mask"),
    ),
    Mutant(
        "places from the filler on",
        _left(places=_from_zero),
        "The positions count the filler: the first real token is at place 0, whatever stands before it.",
        "8.6",
        ("one sequence", "places", "empty and full"),
    ),
    Mutant(
        "places below zero",
        _left(places=lambda j, first, n: j - first),
        "The filler has negative positions: a table of positions would be read from its end. Give it place 0.",
        "8.6",
        ("one sequence", "places", "empty and full"),
    ),
    Mutant(
        "places of filler at −1",
        _left(places=lambda j, first, n: np.where(j >= first, j - first, -1)),
        "Filler has the position −1, which reads the last row of a table: give it place 0.",
        "8.6",
        ("one sequence", "places", "empty and full"),
    ),
    Mutant(
        "first word hidden",
        _left(real=lambda j, lengths, n: j > n - lengths),
        "The first word of each text is hidden: it stands at place n minus the length, so the comparison is ≥.",
        "8.6",
        ("one sequence", "mask", "empty and full"),
    ),
    Mutant(
        "places from one",
        _left(places=lambda j, first, n: np.maximum(j - first + 1, 0)),
        "The first real token is at place 1: positions count from 0.",
        "8.6",
        ("one sequence", "places", "empty and full"),
    ),
    Mutant(
        "rows without a key",
        _left(filler=None),
        "The rows of filler have no key, and their softmax is 0/0: let each filler see itself.",
        "8.5",
        ("one sequence", "mask", "empty and full"),
    ),
    Mutant(
        "filler sees all",
        _left(filler="all"),
        "The rows of filler see everything, later tokens too: itself is enough.",
        "8.5",
        ("one sequence", "mask", "empty and full"),
    ),
    Mutant(
        "not causal",
        _left(causal_k=9),
        "Later keys are visible: the mask is to be causal as well.",
        "8.2",
        ("one sequence", "mask", "empty and full"),
    ),
    Mutant(
        "one filler too many",
        _left(real=lambda j, lengths, n: j >= n - lengths - 1),
        "One filler is taken for a word: the first real token stands at place n minus the length.",
        "8.6",
        ("one sequence", "mask"),
    ),
    Mutant(
        "filler sees filler",
        _left(filler="filler"),
        "Each filler sees the filler before it as well: itself is enough.",
        "8.6",
        ("one sequence", "mask", "empty and full"),
    ),
    Mutant(
        "filler sees words",
        _left(filler="words"),
        "The filler sees the words: each filler looks at itself and at nothing else.",
        "8.6",
        ("one sequence", "mask"),
    ),
    Mutant(
        "words do not see themselves",
        _left(filler="the diagonal of words too"),
        "A word does not see itself: a query may look at keys that are not after it, and it is one of them.",
        "8.2",
        ("one sequence", "mask", "empty and full"),
    ),
    Mutant(
        "the future for the past",
        _left(future=True),
        "The past is hidden, and the future is seen: query i, a row, may look at keys j ≤ i.",
        "8.2",
        ("one sequence", "mask", "empty and full"),
    ),
    Mutant(
        "places of filler counted on",
        _left(places=lambda j, first, n: (j - first) % n),
        "The filler has places at the end of the text: it is at place 0.",
        "8.6",
        ("one sequence", "places"),
    ),
)

# 08.10


def _pairs(of_one):
    return lambda lengths, w: int(sum(of_one(int(n), w) for n in lengths))


def _windowed(n, w):
    w = min(n, w)
    return n * w - w * (w - 1) // 2


PAIRS = (
    Mutant(
        "no window",
        _pairs(lambda n, w: n * (n + 1) // 2),
        "The window is not there: this counts all earlier tokens of each text.",
        "8.2",
        ("long texts", "width one", "millions"),
    ),
    Mutant(
        "one long text",
        lambda lengths, w: _windowed(int(lengths.sum()), w),
        "This is the number for one long text: packed texts do not see each other, so each begins with short rows.",
        "8.2",
        ("long texts", "short texts", "millions"),
    ),
    Mutant(
        "short texts below zero",
        _pairs(lambda n, w: n * w - w * (w - 1) // 2),
        "The formula for long texts is used for short ones: a text shorter than the window has n(n + 1)/2 pairs.",
        "8.2",
        ("short texts",),
    ),
    Mutant(
        "short texts left out",
        _pairs(lambda n, w: _windowed(n, w) if n >= w else 0),
        "Texts shorter than the window are left out: each has n(n + 1)/2 pairs.",
        "8.2",
        ("short texts",),
    ),
    Mutant(
        "full rows",
        _pairs(lambda n, w: n * min(n, w)),
        "Every row is counted as full: the first rows of a text see 1, 2, … tokens.",
        "8.2",
        ("long texts", "short texts", "millions"),
    ),
    Mutant(
        "itself left out",
        _pairs(lambda n, w: _windowed(n, w) - n),
        "The pairs of a token with itself are missing: the diagonal is allowed, and counts in the width.",
        "8.2",
        ("long texts", "short texts", "width one", "millions"),
    ),
    Mutant(
        "w earlier ones",
        _pairs(lambda n, w: _windowed(n, w + 1)),
        "This is a window of w earlier tokens and the token itself: a width of w counts the token itself.",
        "8.2",
        ("long texts", "width one", "millions"),
    ),
    Mutant(
        "both directions",
        _pairs(lambda n, w: 2 * _windowed(n, w) - n),
        "Pairs in both directions are counted: a causal window looks back alone.",
        "8.2",
        ("long texts", "short texts", "millions"),
    ),
    Mutant(
        "one full row twice",
        _pairs(lambda n, w: (k := min(n, w)) * (k + 1) // 2 + (n - k + 1) * w),
        "One full row is counted twice: rows 1 to w see 1 to w tokens, and n − w rows are left.",
        "8.2",
        ("long texts", "short texts", "width one", "millions"),
    ),
    Mutant(
        "half a square",
        _pairs(lambda n, w: (k := min(n, w)) * k // 2 + (n - k) * w),
        "The first rows are counted as half of a square, w²/2: 1 + 2 + … + w is w(w + 1)/2, with the diagonal.",
        "8.2",
        ("long texts", "short texts", "millions"),
    ),
    Mutant(
        "first rows without themselves",
        _pairs(lambda n, w: (k := min(n, w)) * (k - 1) // 2 + (n - k) * w),
        "The first rows are counted from 0: row i sees itself too, so the sum is 1 + 2 + … + w, w(w + 1)/2.",
        "8.2",
        ("long texts", "short texts", "width one", "millions"),
    ),
    Mutant(
        "half of a square",
        _pairs(lambda n, w: min(n, w) ** 2 / 2 + (n - min(n, w)) * w),
        "The first rows are counted as half of a square: with the diagonal they have 1 + 2 + … + m = m (m + 1) / 2 "
        "pairs.",
        "8.2",
        ("long texts", "short texts", "width one", "millions", "other texts"),
    ),
)
