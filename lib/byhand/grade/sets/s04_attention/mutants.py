"""Known wrong answers, each with the message that names the misconception."""

import math

import numpy as np

from ...model import Mutant
from .cases import NAMES, weights

BLOCKED = -1e30  # finite, so that no row of a mutant turns into nan by accident

# 04.1


def _attention(scale=None, axis=-1, mask_how=None, softmax=weights):
    """Attention with one part replaced by a wrong one."""

    def function(Q, K, V, mask=None):
        S = Q @ K.mT / (scale(Q, K, V) if scale else math.sqrt(Q.shape[-1]))
        if mask is not None and mask_how:
            A = mask_how(S, mask)
        else:
            A = softmax(S if mask is None else np.where(mask, S, BLOCKED), axis=axis)
            if mask is not None:
                A = A * np.any(mask, axis=-1, keepdims=True)
        return A @ V, A

    return function


def _overflowing(S, axis):
    E = np.exp(S)
    total = E.sum(axis=axis, keepdims=True)
    return E / np.where(total == 0, 1, total)  # 0/0 in a row with no key left is another mistake


def _largest_of_all(S, mask):
    E = np.exp(S - S.max(axis=-1, keepdims=True)) * mask
    A = E / E.sum(axis=-1, keepdims=True)
    return np.where(np.any(mask, axis=-1, keepdims=True), A, 0)


EVERY = ("values", "mask", "heads", "no key left", "padded batch")
MASKED = ("mask", "heads", "no key left", "padded batch")

ATTENTION = (
    Mutant(
        "softmax over the queries",
        _attention(axis=-2),
        "The softmax runs over the queries: the columns of A sum to one, but it is the keys that compete for a query.",
        "4.2",
        EVERY,
    ),
    Mutant(
        "no scale",
        _attention(scale=lambda Q, K, V: 1),
        "This is what you get when the scores are not divided by √d_k.",
        "4.4",
        EVERY,
    ),
    Mutant(
        "divided by d_k",
        _attention(scale=lambda Q, K, V: Q.shape[-1]),
        "The scores are divided by d_k: their standard deviation is √d_k, so this flattens the weights.",
        "4.4",
        EVERY,
    ),
    Mutant(
        "divided by sqrt(d_v)",
        _attention(scale=lambda Q, K, V: math.sqrt(V.shape[-1])),
        "The scores are divided by √d_v: the width of the values has no part in q · k.",
        "4.4",
        EVERY,
    ),
    Mutant(
        "divided by sqrt(d_model)",
        _attention(scale=lambda Q, K, V: math.sqrt(Q.shape[-1] * (Q.shape[-3] if Q.ndim == 4 else 1))),
        "With several heads the scores are divided by √(H d_k) = √d_model: q · k adds d_k products, those of one head.",
        "4.4",
        ("heads",),
    ),
    Mutant(
        "overflow",
        _attention(softmax=_overflowing),
        "exp of a large score overflows: subtract the largest score of each row first, which changes no weight.",
        "4.5",
        ("large scores",),
    ),
    Mutant(
        "mask inverted",
        _attention(mask_how=lambda S, mask: weights(np.where(mask, BLOCKED, S)) * (~mask).any(-1, keepdims=True)),
        "The mask is read the wrong way round: True means that the query may attend to the key.",
        "4.7",
        MASKED,
    ),
    Mutant(
        "mask after softmax",
        _attention(mask_how=lambda S, mask: weights(S) * mask),
        "The weights are set to zero after the softmax: rows no longer sum to one, and the hidden keys still act "
        "through the denominator.",
        "4.7",
        MASKED,
    ),
    Mutant(
        "scores multiplied by the mask",
        _attention(mask_how=lambda S, mask: weights(S * mask)),
        "Hidden scores are set to 0, and exp(0) is 1: they must be −∞ before the softmax.",
        "4.7",
        MASKED,
    ),
    Mutant(
        "large negative number",
        _attention(mask_how=lambda S, mask: weights(np.where(mask, S, -1e9))),
        "With −1e9 a row that has no key left becomes uniform: it looks at everything it should not see.",
        "4.7",
        ("no key left",),
    ),
    Mutant(
        "minus infinity",
        _attention(mask_how=lambda S, mask: weights(np.where(mask, S, -np.inf))),
        "With −∞ a row that has no key left is 0/0: catch it, and let its weights be zero.",
        "4.7",
        ("no key left",),
    ),
    Mutant(
        "largest of all scores",
        _attention(mask_how=_largest_of_all),
        "The largest score is taken over the hidden keys too: where a hidden score is large, all others underflow to "
        "0, and 0/0 is left. Mask first, then subtract the largest score of what is left.",
        "4.7",
        ("hidden and large",),
    ),
)

# 04.2

VJP_EVERY = ("one matrix", "batch", "zero weights", "square")

SOFTMAX_VJP = (
    Mutant(
        "diagonal only",
        lambda dA, A: A * (1 - A) * dA,
        "Only the diagonal A(1 − A) of the Jacobian is used: raising one score also lowers all the other weights.",
        "4.5",
        VJP_EVERY,
    ),
    Mutant(
        "sum forgotten",
        lambda dA, A: A * dA,
        "This is A ∘ dA: the term −A ∘ rowsum(A ∘ dA), from the shared denominator, is missing.",
        "4.5",
        VJP_EVERY,
    ),
    Mutant(
        "unweighted sum",
        lambda dA, A: A * (dA - dA.sum(axis=-1, keepdims=True)),
        "The row sum is taken of dA: it must be weighted, rowsum(A ∘ dA).",
        "4.5",
        VJP_EVERY,
    ),
    Mutant(
        "plain mean",
        lambda dA, A: A * (dA - dA.mean(axis=-1, keepdims=True)),
        "The plain mean of dA is subtracted: it must be the mean under the weights A, rowsum(A ∘ dA).",
        "4.5",
        VJP_EVERY,
    ),
    Mutant(
        "sum over the queries",
        lambda dA, A: A * (dA - (A * dA).sum(axis=-2, keepdims=True)),
        "The sum runs down the columns: each row is one softmax, so each row has its own sum.",
        "4.5",
        VJP_EVERY,
    ),
    Mutant(
        "divided by the batch",
        lambda dA, A: A * (dA - (A * dA).sum(axis=-1, keepdims=True)) / len(A),
        "The gradient is divided by the length of the first axis: an average is the business of the loss.",
        "4.5",
        VJP_EVERY,
    ),
    Mutant(
        "outer A forgotten",
        lambda dA, A: dA - (A * dA).sum(axis=-1, keepdims=True),
        "The factor A in front is missing: a key with weight zero would still receive a gradient.",
        "4.5",
        VJP_EVERY,
    ),
)

# 04.3


def _gradients(dS_of=None, scale=lambda d_k: math.sqrt(d_k), dK_of=None, dV_of=None):
    """The backward pass of attention with one part replaced by a wrong one."""

    def function(dO, Q, K, V, A):
        dA = dO @ V.mT
        dS = (dS_of(dA, A) if dS_of else A * (dA - (A * dA).sum(axis=-1, keepdims=True))) / scale(Q.shape[-1])
        dK = dK_of(dS, Q) if dK_of else dS.mT @ Q
        return dS @ K, dK, dV_of(A, dO) if dV_of else A.mT @ dO

    return function


SCORES = ("dQ", "dK", "cross-attention", "heads", "masked heads")

GRADIENTS = (
    Mutant(
        "scale forgotten",
        _gradients(scale=lambda d_k: 1),
        "1/√d_k is missing in the backward pass: the scores were scaled on the way forward, so dQ and dK are too.",
        "4.6",
        SCORES,
    ),
    Mutant(
        "scale twice",
        _gradients(scale=lambda d_k: d_k),
        "dQ and dK are divided by d_k: the factor 1/√d_k comes in once for each of them.",
        "4.6",
        SCORES,
    ),
    Mutant(
        "keys dropped",
        _gradients(dK_of=lambda dS, Q: np.zeros_like(dS.mT @ Q)),
        "dK is zero: the scores depend on the keys as much as on the queries.",
        "4.6",
        ("dK", "cross-attention", "heads", "masked heads"),
    ),
    Mutant(
        "dS not transposed",
        _gradients(dK_of=lambda dS, Q: dS @ Q),
        "dK is dS Q: key j collects from all queries i, which is column j of dS, so dK = dSᵀ Q / √d_k.",
        "4.6",
        ("dK", "cross-attention", "heads", "masked heads"),
    ),
    Mutant(
        "A not transposed",
        _gradients(dV_of=lambda A, dO: A @ dO),
        "dV is A dO: value j collects from all queries i that read it, which is column j of A, so dV = Aᵀ dO.",
        "4.6",
        ("dV", "cross-attention", "heads", "masked heads"),
    ),
    Mutant(
        "softmax skipped",
        _gradients(dS_of=lambda dA, A: dA),
        "dA is used as dS: the softmax lies between the weights and the scores.",
        "4.6",
        SCORES,
    ),
    Mutant(
        "diagonal only",
        _gradients(dS_of=lambda dA, A: A * (1 - A) * dA),
        "Only the diagonal of the softmax Jacobian is used: each score moves all the weights of its row.",
        "4.5",
        SCORES,
    ),
    Mutant(
        "sum over the queries",
        _gradients(dS_of=lambda dA, A: A * (dA - (A * dA).sum(axis=-2, keepdims=True))),
        "In dS the sum runs down the columns: each row of A is one softmax.",
        "4.5",
        SCORES,
    ),
    Mutant(
        "divided by the batch",
        _gradients(dS_of=lambda dA, A: A * (dA - (A * dA).sum(axis=-1, keepdims=True)) / len(A)),
        "dS is divided by the length of the first axis: Adam would hide this, plain gradient descent would not.",
        "4.6",
        SCORES,
    ),
    Mutant(
        "divided by sqrt(d_v)",
        lambda dO, Q, K, V, A: _gradients(scale=lambda d_k: math.sqrt(V.shape[-1]))(dO, Q, K, V, A),
        "dQ and dK are divided by √d_v: the scores were divided by √d_k, the width of queries and keys.",
        "4.6",
        SCORES,
    ),
)

# 04.4


def _biases(db_q=None, db_k=None, db_v=None, scaled=True):
    def function(dO, dS, A, Q, K):
        scale = math.sqrt(Q.shape[-1]) if scaled else 1.0
        return (
            db_q(dS, K) if db_q else dS.sum(axis=0) @ K / scale,
            db_k(dS, Q) if db_k else np.zeros(Q.shape[-1]),
            db_v(A, dO) if db_v else A.sum(axis=1) @ dO,
        )

    return function


BIASES = (
    Mutant(
        "columns of dS",
        _biases(db_k=lambda dS, Q: dS.sum(axis=0) @ Q / math.sqrt(Q.shape[-1])),
        "In db_k the columns of dS are summed: dK = dSᵀQ/√d_k, so summing over the keys takes the rows of dS, "
        "and these sum to zero.",
        "4.6",
        ("db_k", "an empty row", "longer"),
    ),
    Mutant(
        "rows of dS",
        _biases(db_q=lambda dS, K: dS.sum(axis=1) @ K / math.sqrt(K.shape[-1])),
        "In db_q the rows of dS are summed, which gives zero: that is what happens to db_k, not to db_q.",
        "4.6",
        ("db_q", "longer"),
    ),
    Mutant(
        "scale forgotten",
        _biases(scaled=False),
        "1/√d_k is missing in db_q: it is part of dQ.",
        "4.6",
        ("db_q", "longer"),
    ),
    Mutant(
        "averaged",
        _biases(
            db_q=lambda dS, K: dS.mean(axis=0) @ K / math.sqrt(K.shape[-1]),
            db_v=lambda A, dO: A.sum(axis=1) @ dO / len(dO),
        ),
        "These are means over the tokens: every token received a full copy of the bias, so the gradients add up.",
        "4.6",
        ("db_q", "db_v", "longer"),
    ),
    Mutant(
        "columns of A",
        _biases(db_v=lambda A, dO: A.sum(axis=0) @ dO),
        "In db_v the columns of A are summed: dV = Aᵀ dO, so summing over the values takes the rows of A.",
        "4.6",
        ("db_v", "an empty row", "longer"),
    ),
    Mutant(
        "rows of A taken as one",
        _biases(db_v=lambda A, dO: dO.sum(axis=0)),
        "db_v is the sum of dO: true while all rows of A sum to one, but a query with no key left reads no value.",
        "4.7",
        ("an empty row",),
    ),
)

# 04.5


def _random_pair(n, d_k, r):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d_k)), rng.normal(size=(n, d_k))


def _apart(n, d_k, r):
    Q, K = np.eye(n, d_k), np.eye(n, d_k)
    Q[:, r:] = 0
    K[:, : max(0, d_k - r)] = 0
    return Q, K


def _wider(n, d_k, r):
    return np.eye(n, r), np.eye(n, r)


def _equal_rows(n, d_k, r):
    return np.ones((n, d_k)), np.ones((n, d_k))


def _one_short(n, d_k, r):
    Q = np.eye(n, d_k)
    Q[:, max(1, min(r, d_k - 1)) :] = 0
    return Q, np.eye(n, d_k)


RANKS = (
    Mutant(
        "random matrices",
        _random_pair,
        "Random Q and K give the largest rank there is, whatever r is asked for.",
        "4.2",
        ("low rank", "rank one"),
    ),
    Mutant(
        "rank r twice",
        _apart,
        "Q has rank r and K has rank r, but their directions hardly meet: a product can have a lower rank than both.",
        "4.2",
        ("low rank", "rank one"),
    ),
    Mutant(
        "wider",
        _wider,
        "The width was changed to r: with d_k columns the rank of Q Kᵀ cannot exceed d_k, and that is the point.",
        "4.2",
        ("low rank", "as wide as d_k allows", "rank one"),
    ),
    Mutant(
        "equal rows",
        _equal_rows,
        "All rows are equal, so Q Kᵀ has rank one.",
        "4.2",
        ("low rank", "the full width", "as wide as d_k allows"),
    ),
    Mutant(
        "one short",
        _one_short,
        "The rank stops at d_k − 1: the bound is d_k itself (or n, if that is smaller).",
        "4.2",
        ("the full width", "as wide as d_k allows"),
    ),
)

# 04.6

VARIANCES = (
    Mutant(
        "means ignored",
        lambda d, mean_q, var_q, mean_k, var_k: d * var_q * var_k,
        "This is d σ_q² σ_k², which holds for zero means only: a mean of k passes the spread of q on to the score.",
        "4.4",
        ("with means", "other means"),
    ),
    Mutant(
        "second moments",
        lambda d, mean_q, var_q, mean_k, var_k: d * (var_q + mean_q**2) * (var_k + mean_k**2),
        "This is d E[q²] E[k²]: a variance also subtracts the square of the mean, d (μ_q μ_k)².",
        "4.4",
        ("with means", "other means"),
    ),
    Mutant(
        "standard deviation",
        lambda d, mean_q, var_q, mean_k, var_k: math.sqrt(d * (var_q * var_k + var_q * mean_k**2 + var_k * mean_q**2)),
        "This is the standard deviation: the question asks for its square.",
        "4.4",
        ("unit entries", "any variances", "with means", "other means"),
    ),
    Mutant(
        "d forgotten",
        lambda d, mean_q, var_q, mean_k, var_k: var_q * var_k + var_q * mean_k**2 + var_k * mean_q**2,
        "This is the variance of one product q_a k_a: a score adds d of them, and variances of independent terms add.",
        "4.4",
        ("unit entries", "any variances", "with means", "other means"),
    ),
    Mutant(
        "d squared",
        lambda d, mean_q, var_q, mean_k, var_k: d * d * (var_q * var_k + var_q * mean_k**2 + var_k * mean_q**2),
        "The factor is d²: that is for d copies of one and the same product; independent ones give d.",
        "4.4",
        ("unit entries", "any variances", "with means", "other means"),
    ),
    Mutant(
        "variances added",
        lambda d, mean_q, var_q, mean_k, var_k: d * (var_q + var_k) / 2,
        "The variances are averaged: for a product of independent, centred numbers they multiply.",
        "4.4",
        ("any variances", "with means", "other means"),
    ),
)

# 04.7


def _row_sums_only(Q, K, A, d_model):
    return NAMES[0] if np.abs(A.sum(axis=1) - 1).max() < 1e-6 else NAMES[1]


def _nearest(divisors):
    """Row sums first, then the divisor whose weights come nearest."""

    def function(Q, K, A, d_model):
        if np.abs(A.sum(axis=1) - 1).max() > 1e-6:
            return NAMES[1]
        S, d_k = Q @ K.T, Q.shape[-1]
        return min(divisors, key=lambda name: np.abs(weights(S / divisors[name](d_k, d_model)) - A).max())

    return function


def _reads_columns(Q, K, A, d_model):
    faults = {
        "no scale": lambda d_k, d_model: 1,
        "correct": lambda d_k, d_model: math.sqrt(d_k),
        "divided by d_k": lambda d_k, d_model: d_k,
        "divided by sqrt(d_model)": lambda d_k, d_model: math.sqrt(d_model),
    }
    if np.abs(A.sum(axis=0) - 1).max() > 1e-6:
        return NAMES[1]
    return _nearest(faults)(K, Q, A.T, d_model)


DETECTIVES = (
    Mutant(
        "row sums only",
        _row_sums_only,
        "Rows that sum to one clear the softmax axis, and nothing more: every divisor gives such rows.",
        "4.4",
        ("four exhibits", "eight tokens"),
    ),
    Mutant(
        "columns read as rows",
        _reads_columns,
        "The columns are tested: tokens are rows here, so each row belongs to one query and must sum to one.",
        "4.2",
        ("four exhibits", "one is innocent", "eight tokens"),
    ),
    Mutant(
        "d_model taken for right",
        _nearest(
            {
                "no scale": lambda d_k, d_model: 1,
                "correct": lambda d_k, d_model: math.sqrt(d_model),
                "divided by d_k": lambda d_k, d_model: d_k,
                "divided by sqrt(d_model)": lambda d_k, d_model: math.sqrt(d_k),
            }
        ),
        "√d_model and √d_k are exchanged: the divisor is the deviation of q · k, a sum of d_k products.",
        "4.4",
        ("four exhibits", "one is innocent", "eight tokens"),
    ),
    Mutant(
        "sharp and flat exchanged",
        _nearest(
            {
                "no scale": lambda d_k, d_model: d_k,
                "correct": lambda d_k, d_model: math.sqrt(d_k),
                "divided by d_k": lambda d_k, d_model: 1,
                "divided by sqrt(d_model)": lambda d_k, d_model: math.sqrt(d_model),
            }
        ),
        "“no scale” and “divided by d_k” are exchanged: without a divisor the weights are sharper, with d_k flatter.",
        "4.4",
        ("four exhibits", "one is innocent", "eight tokens"),
    ),
    Mutant(
        "always guilty",
        _nearest(
            {
                "no scale": lambda d_k, d_model: 1,
                "divided by d_k": lambda d_k, d_model: d_k,
                "divided by sqrt(d_model)": lambda d_k, d_model: math.sqrt(d_model),
            }
        ),
        "A matrix with nothing wrong is accused: compare with the weights of √d_k as well.",
        "4.4",
        ("one is innocent",),
    ),
)

# 04.8


def _additive(scores, axis=-1):
    def function(Q, K, W_q, W_k, w):
        S = scores((Q @ W_q)[..., :, None, :], (K @ W_k)[..., None, :, :], w)
        return S, weights(S, axis=axis)

    return function


def _crossed(Q, K, W_q, W_k, w):
    S = np.tanh((K @ W_k)[..., :, None, :] + (Q @ W_q)[..., None, :, :]) @ w
    return S, weights(S)


ADDITIVE = (
    Mutant(
        "no tanh",
        _additive(lambda q, k, w: (q + k) @ w),
        "tanh is missing: the score is then a part of q plus a part of k, and all queries get the same weights.",
        "4.3",
        ("scores", "weights", "batch", "one query"),
    ),
    Mutant(
        "tanh of each",
        _additive(lambda q, k, w: (np.tanh(q) + np.tanh(k)) @ w),
        "tanh is applied to query and key before the sum: then they never meet, and all queries get the same weights.",
        "4.3",
        ("scores", "weights", "batch", "one query"),
    ),
    Mutant(
        "multiplied",
        _additive(lambda q, k, w: np.tanh(q * k) @ w),
        "Query and key are multiplied: additive alignment adds them inside tanh.",
        "4.3",
        ("scores", "weights", "batch", "one query"),
    ),
    Mutant(
        "scaled",
        _additive(lambda q, k, w: np.tanh(q + k) @ w / math.sqrt(w.size)),
        "The scores are divided by the square root of the width: tanh keeps its terms within ±1, and the additive "
        "score has no such factor.",
        "4.3",
        ("scores", "weights", "batch", "one query"),
    ),
    Mutant(
        "keys as rows",
        _crossed,
        "S is transposed: rows are queries, columns are keys.",
        "4.2",
        ("scores", "weights", "batch", "one query"),
    ),
    Mutant(
        "softmax over the queries",
        _additive(lambda q, k, w: np.tanh(q + k) @ w, axis=-2),
        "The scores are right, but the softmax runs over the queries: the keys compete, so the rows of A sum to one.",
        "4.2",
        ("weights", "batch", "one query"),
    ),
)
