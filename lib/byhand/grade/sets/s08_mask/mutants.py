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


LEAKS = (
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
)

# 08.2


def _padded(how):
    def function(S, lengths):
        real = np.arange(S.shape[-1]) < lengths[:, None]
        return how(S, real)

    return function


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
)

# 08.3


def _forcing(inputs=None, targets=None, k=0):
    def function(ids, bos):
        shifted = np.concatenate([np.full((*ids.shape[:-1], 1), bos), ids[..., :-1]], axis=-1)
        n = ids.shape[-1]
        return inputs(ids, bos) if inputs else shifted, targets(ids, bos) if targets else ids, causal(n, k)

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
        "rolled",
        _forcing(inputs=lambda ids, bos: np.roll(ids, 1, axis=-1)),
        "The first input is the last word, as np.roll leaves it: it must be BOS.",
        "8.7",
        ("inputs", "batch", "one word"),
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
        _forcing(inputs=lambda ids, bos: ids[..., :-1], targets=lambda ids, bos: ids[..., 1:]),
        "These are ids[:-1] and ids[1:]: the first word is never predicted, and a row is lost. BOS before the text "
        "makes a row for it.",
        "8.7",
        ("inputs", "targets", "batch", "one word"),
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
        "zeroed afterwards",
        _jacobians(before=lambda a, p, mask: (np.diag(p) - np.outer(p, p)) * np.outer(mask, mask)),
        "`before` is the unmasked Jacobian with rows and columns struck out: the masked softmax has other weights.",
        "8.3",
        ("before",),
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


def _to_all(share, real, dy):
    return share.max(axis=-1)[..., None, None] * np.ones_like(share)[..., None] * dy[..., None, :]


def _pool(count=None, forward=None, backward=None):
    def function(X, real, dy):
        total = np.maximum(real.sum(axis=-1, keepdims=True), 1) if count is None else count(real)
        share = real / total
        y = (share[..., None] * X).sum(axis=-2) if forward is None else forward(X, real)
        return y, share[..., None] * dy[..., None, :] if backward is None else backward(share, real, dy)

    return function


POOLS = (
    Mutant(
        "a mean over everything",
        _pool(forward=lambda X, real: X.mean(axis=-2)),
        "The filler is in the mean: the answer depends on how long the others of the batch are.",
        "8.8",
        ("forward", "batch", "empty", "holes"),
    ),
    Mutant(
        "divided by n",
        _pool(count=lambda real: real.shape[-1]),
        "The filler left the sum and stayed in the count: divide by the number of real tokens.",
        "8.8",
        ("forward", "backward", "batch", "empty", "holes"),
    ),
    Mutant(
        "sum",
        _pool(count=lambda real: 1),
        "This is a sum: divide by the number of real tokens.",
        "8.8",
        ("forward", "backward", "batch", "empty", "holes"),
    ),
    Mutant(
        "count of the batch",
        _pool(count=lambda real: np.maximum(real.sum(), 1)),
        "The count is that of the whole batch: each sentence has its own.",
        "8.8",
        ("batch", "holes"),
    ),
    Mutant(
        "filler learns",
        _pool(backward=_to_all),
        "The filler receives gradient: it was not in the mean, so its share is 0.",
        "8.8",
        ("backward", "batch", "empty", "holes"),
    ),
    Mutant(
        "share forgotten backward",
        _pool(backward=lambda share, real, dy: real[..., None] * dy[..., None, :]),
        "The division is missing in the backward pass: each real token gets dy / count.",
        "8.8",
        ("backward", "batch", "empty", "holes"),
    ),
    Mutant(
        "the first ones",
        lambda X, real, dy: _pool()(X, np.arange(real.shape[-1]) < real.sum(axis=-1, keepdims=True), dy),
        "The first tokens are taken for the real ones, as many as there are: `real` may say otherwise, token by token.",
        "8.8",
        ("holes", "two leading axes"),
    ),
)
