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


def _one_largest(S, axis):
    E = np.exp(S - S.max())
    total = E.sum(axis=axis, keepdims=True)
    return E / np.where(total == 0, 1, total)


def _largest_of_all(S, mask):
    E = np.exp(S - S.max(axis=-1, keepdims=True)) * mask
    A = E / E.sum(axis=-1, keepdims=True)
    return np.where(np.any(mask, axis=-1, keepdims=True), A, 0)


def _scaled_late(Q, K, V, mask=None):
    O, A = _attention(scale=lambda Q, K, V: 1)(Q, K, V, mask)
    return O / math.sqrt(Q.shape[-1]), A / math.sqrt(Q.shape[-1])


EVERY = ("values", "mask", "heads", "no key left", "padded batch")
MASKED = ("mask", "heads", "no key left", "padded batch")

def _largest_of_all_guarded(S, mask):
    E = np.exp(S - S.max(axis=-1, keepdims=True)) * mask
    total = E.sum(axis=-1, keepdims=True)
    return E / np.where(total == 0, 1, total)


def _sigmoids(S, axis):
    return np.where(S == BLOCKED, 0, 1 / (1 + np.exp(-np.maximum(S, -500))))


def _not_divided(S, axis):
    return np.where(S == BLOCKED, 0, np.exp(np.minimum(S, 700)))


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
    Mutant(
        "one largest score",
        _attention(softmax=_one_largest),
        "One largest score is subtracted from the whole array: in a row far below it every exponential underflows to "
        "0. Each row needs its own.",
        "4.5",
        ("large scores",),
    ),
    Mutant(
        "scale after the softmax",
        _scaled_late,
        "The weights are divided, and not the scores: rows no longer sum to one, and the softmax saw the raw scores.",
        "4.4",
        EVERY,
    ),
    Mutant(
        "largest of all scores, 0/0 caught",
        _attention(mask_how=_largest_of_all_guarded),
        "The largest score is taken over the hidden keys too: where a hidden score is large, all others underflow to "
        "0, and the row comes out as zeros although it sees keys. Mask first, then subtract the largest that is left.",
        "4.7",
        ("hidden and large",),
    ),
    Mutant(
        "large number taken off",
        _attention(mask_how=lambda S, mask: weights(S + np.where(mask, 0, -1e9))),
        "A large number is taken off the hidden scores: in a row that has no key left it is taken off all of them, so "
        "nothing is hidden, and the row looks at everything it should not see.",
        "4.7",
        ("no key left",),
    ),
    Mutant(
        "mask not used",
        _attention(mask_how=lambda S, mask: weights(S)),
        "The mask changes nothing here: these are the weights of all keys, hidden ones as well.",
        "4.7",
        MASKED,
    ),
    Mutant(
        "multiplied by sqrt(d_k)",
        _attention(scale=lambda Q, K, V: 1 / math.sqrt(Q.shape[-1])),
        "The scores are multiplied by √d_k: they are divided by it, which brings their deviation back to 1.",
        "4.4",
        EVERY,
    ),
    Mutant(
        "divided by sqrt(m)",
        _attention(scale=lambda Q, K, V: math.sqrt(K.shape[-2])),
        "The scores are divided by the root of the number of keys: a score adds d_k products, however many keys there "
        "are.",
        "4.4",
        EVERY,
    ),
    Mutant(
        "sigmoid for softmax",
        _attention(softmax=_sigmoids),
        "Each score goes through a sigmoid by itself: the softmax divides by the sum of its row, so that the keys "
        "compete and the weights sum to one.",
        "4.2",
        EVERY,
    ),
    Mutant(
        "not divided by the sum",
        _attention(softmax=_not_divided),
        "These are the exponentials of the scores: divide each by the sum of its row, so that the weights sum to one.",
        "4.2",
        EVERY,
    ),
)

# 04.2

VJP_EVERY = ("one matrix", "batch", "zero weights", "square")

SOFTMAX_VJP = (
    Mutant(
        "axis 1",
        lambda dA, A: A * (dA - (A * dA).sum(axis=1, keepdims=True)),
        "The sum runs over axis 1, counted from the front: with axes in front that is another one. Keys are the last "
        "axis, -1, however many there are.",
        "4.5",
        ("batch",),
    ),
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
    Mutant(
        "A twice",
        lambda dA, A: A * dA - A * A * (A * dA).sum(axis=-1, keepdims=True),
        "The row sum is multiplied by A twice: it already has the weights in it, and takes one factor A in front.",
        "4.5",
        VJP_EVERY,
    ),
    Mutant(
        "one sum for all",
        lambda dA, A: A * (dA - (A * dA).sum()),
        "One sum is taken over the whole array: each row is a softmax of its own, so each row has its own sum.",
        "4.5",
        VJP_EVERY,
    ),
    Mutant(
        "mean for the sum",
        lambda dA, A: A * (dA - (A * dA).mean(axis=-1, keepdims=True)),
        "A ∘ dA is averaged over the row: the weights make a mean of it already, so it is the sum.",
        "4.5",
        VJP_EVERY,
    ),
    Mutant(
        "of the logarithm",
        lambda dA, A: dA - A * dA.sum(axis=-1, keepdims=True),
        "This is the backward of log softmax, dS = dA − A rowsum(dA): for the softmax itself the weight stands in "
        "front of both terms, A ∘ (dA − rowsum(A ∘ dA)).",
        "4.5",
        VJP_EVERY,
    ),
    Mutant(
        "row sum added",
        lambda dA, A: A * (dA + (A * dA).sum(axis=-1, keepdims=True)),
        "The row sum is added: it is taken away, since raising one score lowers the other weights.",
        "4.5",
        VJP_EVERY,
    ),
    Mutant(
        "A on the first term alone",
        lambda dA, A: A * dA - (A * dA).sum(axis=-1, keepdims=True),
        "A multiplies dA alone: it stands in front of both terms, A ∘ (dA − rowsum(A ∘ dA)), so that a key with weight "
        "zero receives nothing.",
        "4.5",
        VJP_EVERY,
    ),
    Mutant(
        "A on the sum, and not in it",
        lambda dA, A: A * dA - A * A * dA.sum(axis=-1, keepdims=True),
        "The second term is A ∘ A ∘ rowsum(dA): one of the two factors A belongs inside the sum, rowsum(A ∘ dA).",
        "4.5",
        VJP_EVERY,
    ),
)

# 04.3


def _row_sum(dA, A):
    return (A * dA).sum(axis=-1, keepdims=True)


def _sink(dS_of=None, scale=lambda Q, V: math.sqrt(Q.shape[-1]), dK_of=None, dV_of=None, db_of=None, dQ_of=None):
    """The backward pass of attention with a sink, with one part replaced by a wrong one."""

    def function(dO, Q, K, V, A):
        dA = dO @ V.mT
        dS = dS_of(dA, A) if dS_of else A * (dA - _row_sum(dA, A))
        dR = dS / scale(Q, V)
        dQ = dQ_of(dR, K) if dQ_of else dR @ K
        dK = dK_of(dR, Q) if dK_of else dR.mT @ Q
        dV = dV_of(A, dO) if dV_of else A.mT @ dO
        return dQ, dK, dV, db_of(dA, A, dR) if db_of else -dS.sum()

    return function


WITH_SCORES = ("dQ", "dK", "cross-attention", "heads", "a mask", "other masks")
WITH_SINK = ("db", "cross-attention", "heads", "a mask", "other masks")

SINKS = (
    Mutant(
        "scale forgotten",
        _sink(scale=lambda Q, V: 1),
        "1/√d_k is missing in dQ and dK: the scores were scaled on the way forward, so these gradients are too.",
        "4.6",
        WITH_SCORES,
    ),
    Mutant(
        "scale twice",
        _sink(scale=lambda Q, V: Q.shape[-1]),
        "dQ and dK are divided by d_k: the factor 1/√d_k comes in once for each of them.",
        "4.6",
        WITH_SCORES,
    ),
    Mutant(
        "divided by sqrt(d_v)",
        _sink(scale=lambda Q, V: math.sqrt(V.shape[-1])),
        "dQ and dK are divided by √d_v: the scores were divided by √d_k, the width of queries and keys.",
        "4.6",
        WITH_SCORES,
    ),
    Mutant(
        "multiplied by the scale",
        _sink(scale=lambda Q, V: 1 / math.sqrt(Q.shape[-1])),
        "dQ and dK are multiplied by √d_k: backward, as forward, the scale divides.",
        "4.6",
        WITH_SCORES,
    ),
    Mutant(
        "keys dropped",
        _sink(dK_of=lambda dR, Q: np.zeros_like(dR.mT @ Q)),
        "dK is zero: the scores depend on the keys as much as on the queries.",
        "4.6",
        ("dK", "cross-attention", "heads", "a mask"),
    ),
    Mutant(
        "dS not transposed",
        _sink(dK_of=lambda dR, Q: dR @ Q),
        "dK is dS Q: key j collects from all queries i, which is column j of dS, so dK = dSᵀ Q / √d_k.",
        "4.6",
        ("dK", "cross-attention", "heads", "a mask"),
    ),
    Mutant(
        "dS transposed for the queries",
        _sink(dQ_of=lambda dR, K: dR.mT @ K),
        "dQ is dSᵀ K: query i collects from all keys j, which is row i of dS, so dQ = dS K / √d_k.",
        "4.6",
        ("dQ", "cross-attention", "heads", "a mask"),
    ),
    Mutant(
        "queries and keys exchanged",
        lambda dO, Q, K, V, A: tuple(_sink()(dO, Q, K, V, A)[i] for i in (1, 0, 2, 3)),
        "dQ and dK stand in each other's place: the order of the outputs is dQ, dK, dV, db.",
        "4.6",
        WITH_SCORES,
    ),
    Mutant(
        "A not transposed",
        _sink(dV_of=lambda A, dO: A @ dO),
        "dV is A dO: value j collects from all queries i that read it, which is column j of A, so dV = Aᵀ dO.",
        "4.6",
        ("dV", "cross-attention", "heads", "a mask"),
    ),
    Mutant(
        "weights made to sum to one",
        _sink(dV_of=lambda A, dO: (A / np.maximum(A.sum(-1, keepdims=True), 1e-30)).mT @ dO),
        "In dV the weights are divided by their row sum: they were used as they are, and the sink keeps the rest.",
        "4.6",
        ("dV", "cross-attention", "heads", "a mask"),
    ),
    Mutant(
        "softmax skipped",
        _sink(dS_of=lambda dA, A: dA),
        "dA is used as dS: the softmax lies between the weights and the scores.",
        "4.6",
        WITH_SCORES,
    ),
    Mutant(
        "row sum forgotten",
        _sink(dS_of=lambda dA, A: A * dA),
        "dS is A ∘ dA: the term −A ∘ rowsum(A ∘ dA), from the shared denominator, is missing.",
        "4.5",
        WITH_SCORES,
    ),
    Mutant(
        "diagonal only",
        _sink(dS_of=lambda dA, A: A * (1 - A) * dA),
        "Only the diagonal of the softmax Jacobian is used: each score moves all the weights of its row.",
        "4.5",
        WITH_SCORES,
    ),
    Mutant(
        "unweighted sum",
        _sink(dS_of=lambda dA, A: A * (dA - dA.sum(axis=-1, keepdims=True))),
        "In dS the row sum is taken of dA alone: it must be weighted, rowsum(A ∘ dA).",
        "4.5",
        WITH_SCORES,
    ),
    Mutant(
        "true mean",
        _sink(dS_of=lambda dA, A: A * (dA - _row_sum(dA, A) / np.maximum(A.sum(-1, keepdims=True), 1e-30))),
        "In dS the mean of dA is taken as if the weights in A summed to one: the sink has a weight too, and its value "
        "and its da are 0. So rowsum(A ∘ dA) is the whole mean, and is not to be divided by anything.",
        "4.5",
        WITH_SCORES,
    ),
    Mutant(
        "sum over the queries",
        _sink(dS_of=lambda dA, A: A * (dA - (A * dA).sum(axis=-2, keepdims=True))),
        "In dS the sum runs down the columns: each row of A is one softmax.",
        "4.5",
        WITH_SCORES,
    ),
    Mutant(
        "divided by the batch",
        _sink(dS_of=lambda dA, A: A * (dA - _row_sum(dA, A)) / len(A)),
        "dS is divided by the length of the first axis: an average is the business of the loss.",
        "4.6",
        WITH_SCORES,
    ),
    Mutant(
        "no gradient for the sink",
        _sink(db_of=lambda dA, A, dR: 0.0),
        "db is 0: a number added to all m scores changes nothing, but b is added to the sink alone.",
        "4.5",
        WITH_SINK,
    ),
    Mutant(
        "sign of the sink",
        _sink(db_of=lambda dA, A, dR: (A * (dA - _row_sum(dA, A))).sum()),
        "db has the wrong sign: a larger b takes weight away from all keys.",
        "4.5",
        WITH_SINK,
    ),
    Mutant(
        "sink scaled",
        _sink(db_of=lambda dA, A, dR: -dR.sum()),
        "db is divided by √d_k: b enters after the scale, so it has no such factor.",
        "4.6",
        WITH_SINK,
    ),
    Mutant(
        "sink averaged",
        _sink(db_of=lambda dA, A, dR: -(A * (dA - _row_sum(dA, A))).sum(-1).mean()),
        "db is a mean over the queries: one b serves all of them, so their gradients add.",
        "4.6",
        WITH_SINK,
    ),
    Mutant(
        "weight of the sink forgotten",
        _sink(db_of=lambda dA, A, dR: -(A * dA).sum()),
        "db is −Σ A ∘ dA: each row has to be multiplied by the weight of its sink, 1 − rowsum(A).",
        "4.5",
        WITH_SINK,
    ),
    Mutant(
        "sum of what the sinks got",
        _sink(db_of=lambda dA, A, dR: (1 - A.sum(-1)).sum()),
        "db is the sum of the sinks' weights: that is how much they got, and no gradient: dO has no part in it.",
        "4.6",
        WITH_SINK,
    ),
    Mutant(
        "weights of the keys for that of the sink",
        _sink(db_of=lambda dA, A, dR: -(A.sum(-1, keepdims=True) * _row_sum(dA, A)).sum()),
        "Each row is multiplied by what the keys got, rowsum(A): it is what the sink got, 1 − rowsum(A).",
        "4.5",
        WITH_SINK,
    ),
    Mutant(
        "one sink for each query",
        _sink(db_of=lambda dA, A, dR: -(A * (dA - _row_sum(dA, A))).sum(-1)),
        "db has a number for each query: one b serves all queries of all sequences, so db is one number, their sum.",
        "4.6",
        WITH_SINK,
    ),
    Mutant(
        "one sink for each sequence",
        _sink(db_of=lambda dA, A, dR: -(A * (dA - _row_sum(dA, A))).sum((-2, -1))),
        "db has a number for each sequence and head: one b serves them all, so db is one number, their sum.",
        "4.6",
        ("heads",),
    ),
    Mutant(
        "row sum added",
        _sink(
            dS_of=lambda dA, A: A * (dA + _row_sum(dA, A)), db_of=lambda dA, A, dR: -(A * (dA - _row_sum(dA, A))).sum()
        ),
        "In dS the row sum is added: it is taken away, since raising one score lowers the other weights.",
        "4.5",
        WITH_SCORES,
    ),
    Mutant(
        "row sum added, and db from it",
        _sink(dS_of=lambda dA, A: A * (dA + _row_sum(dA, A))),
        "In dS the row sum is added: it is taken away, since raising one score lowers the other weights.",
        "4.5",
        (*WITH_SCORES, "db"),
    ),
    Mutant(
        "unweighted sum for the sink",
        _sink(db_of=lambda dA, A, dR: -((1 - A.sum(axis=-1, keepdims=True)) * dA.sum(axis=-1, keepdims=True)).sum()),
        "In db the row sum is taken of dA alone: it must be weighted, rowsum(A ∘ dA).",
        "4.6",
        WITH_SINK,
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
        ("four tokens", "an empty row", "longer"),
    ),
    Mutant(
        "rows of dS",
        _biases(db_q=lambda dS, K: dS.sum(axis=1) @ K / math.sqrt(K.shape[-1])),
        "In db_q the rows of dS are summed, which gives zero: that is what happens to db_k, not to db_q.",
        "4.6",
        ("four tokens", "longer"),
    ),
    Mutant(
        "scale forgotten",
        _biases(scaled=False),
        "1/√d_k is missing in db_q: it is part of dQ.",
        "4.6",
        ("four tokens", "longer"),
    ),
    Mutant(
        "averaged",
        _biases(
            db_q=lambda dS, K: dS.mean(axis=0) @ K / math.sqrt(K.shape[-1]),
            db_v=lambda A, dO: A.sum(axis=1) @ dO / len(dO),
        ),
        "These are means over the tokens: every token received a full copy of the bias, so the gradients add up.",
        "4.6",
        ("four tokens", "longer"),
    ),
    Mutant(
        "columns of A",
        _biases(db_v=lambda A, dO: A.sum(axis=0) @ dO),
        "In db_v the columns of A are summed: dV = Aᵀ dO, so summing over the values takes the rows of A.",
        "4.6",
        ("four tokens", "an empty row", "longer"),
    ),
    Mutant(
        "rows of A taken as one",
        _biases(db_v=lambda A, dO: dO.sum(axis=0)),
        "db_v is the sum of dO: true while all rows of A sum to one, but a query with no key left reads no value.",
        "4.7",
        ("an empty row",),
    ),
    Mutant(
        "b_q and b_k exchanged",
        lambda dO, dS, A, Q, K: tuple(_biases()(dO, dS, A, Q, K)[i] for i in (1, 0, 2)),
        "db_q is zero, and db_k is not: it is the other way round. b_k adds q_i · b_k to all scores of row i alike, "
        "and the softmax of that row does not notice.",
        "4.6",
        ("four tokens", "longer"),
    ),
    Mutant(
        "scale twice",
        _biases(db_q=lambda dS, K: dS.sum(axis=0) @ K / K.shape[-1]),
        "db_q is divided by d_k: the scores were divided by √d_k once, so 1/√d_k comes in once.",
        "4.6",
        ("four tokens", "an empty row", "longer"),
    ),
    Mutant(
        "queries for keys",
        lambda dO, dS, A, Q, K: (dS.sum(axis=0) @ Q / math.sqrt(Q.shape[-1]), *_biases()(dO, dS, A, Q, K)[1:]),
        "db_q is made of the queries: what a query sends back to its bias comes through the keys that it met, dQ = dS "
        "K / √d_k.",
        "4.6",
        ("four tokens", "longer"),
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


def _one_more(n, d_k, r):
    Q = np.eye(n, d_k)
    Q[:, r + 1 :] = 0
    return Q, np.eye(n, d_k)


def _nothing_out_of_reach(n, d_k, r):
    Q = np.eye(n, d_k)
    Q[:, r if r <= min(n, d_k) else 0 :] = 0
    return Q, np.eye(n, d_k)


RANKS = (
    Mutant(
        "random matrices",
        _random_pair,
        "This is the largest rank there is, whatever r is asked for: random Q and K have it, and so have columns that "
        "are only made small. To lower the rank, columns must be zero, or the same as others.",
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
        "Q Kᵀ has rank one, whatever r is asked for: so it is where all rows are equal, or one column alone is left.",
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
    Mutant(
        "one more",
        _one_more,
        "The rank is r + 1: columns count from 0, so r of them are the columns 0 to r − 1.",
        "4.2",
        ("low rank", "rank one"),
    ),
    Mutant(
        "nothing where r is out of reach",
        _nothing_out_of_reach,
        "Where r is out of reach, the rank is 0: return a pair that reaches the bound, the smaller one of d_k and n.",
        "4.2",
        ("as wide as d_k allows", "few tokens"),
    ),
)

# 04.6


def _right_mean(d_k, rho):
    return rho * math.sqrt(d_k)


def _variance(formula):
    return lambda d_k, rho, fourth: (_right_mean(d_k, rho), formula(d_k, rho, fourth))


RELATED = (
    Mutant(
        "independent",
        _variance(lambda d_k, rho, fourth: 1.0),
        "The variance is 1, as for a query and a key that are strangers: here k holds a share of q.",
        "4.4",
        ("normal entries", "any entries", "opposite", "other entries"),
    ),
    Mutant(
        "normal entries taken for granted",
        _variance(lambda d_k, rho, fourth: 1 + rho**2),
        "This is 1 + ρ², which holds where E[q⁴] = 3, as for normal numbers: the fourth moment is given here.",
        "4.4",
        ("any entries", "the vector itself", "opposite", "other entries"),
    ),
    Mutant(
        "square of the mean kept",
        _variance(lambda d_k, rho, fourth: 1 + rho**2 * (fourth - 1)),
        "This is E[(q k)²] for one product: the variance also subtracts the square of its mean, ρ².",
        "4.4",
        ("normal entries", "any entries", "the vector itself", "opposite", "other entries"),
    ),
    Mutant(
        "noise forgotten",
        _variance(lambda d_k, rho, fourth: rho**2 * (fourth - 1)),
        "This is the variance of ρ q²: the term √(1 − ρ²) q z has a variance too, 1 − ρ².",
        "4.4",
        ("normal entries", "any entries", "opposite", "other entries"),
    ),
    Mutant(
        "rho not squared",
        _variance(lambda d_k, rho, fourth: 1 + rho * (fourth - 2)),
        "ρ stands in the variance without its square: a factor leaves a variance squared.",
        "4.4",
        ("normal entries", "any entries", "opposite", "other entries"),
    ),
    Mutant(
        "standard deviation",
        _variance(lambda d_k, rho, fourth: math.sqrt(1 + rho**2 * (fourth - 2))),
        "The second number is the standard deviation: the question asks for its square.",
        "4.4",
        ("normal entries", "any entries", "opposite", "other entries"),
    ),
    Mutant(
        "variance over the root",
        _variance(lambda d_k, rho, fourth: math.sqrt(d_k) * (1 + rho**2 * (fourth - 2))),
        "The variance is divided by √d_k: if a number is divided by √d_k, its variance is divided by d_k.",
        "4.4",
        ("normal entries", "any entries", "opposite", "other entries"),
    ),
    Mutant(
        "not scaled",
        lambda d_k, rho, fourth: (rho * d_k, d_k * (1 + rho**2 * (fourth - 2))),
        "These are mean and variance of q · k: the score is divided by √d_k.",
        "4.4",
        ("normal entries", "any entries", "the vector itself", "opposite", "other entries"),
    ),
    Mutant(
        "variance not scaled",
        _variance(lambda d_k, rho, fourth: d_k * (1 + rho**2 * (fourth - 2))),
        "The variance is that of q · k: the score is divided by √d_k, which divides the variance by d_k.",
        "4.4",
        ("normal entries", "any entries", "opposite", "other entries"),
    ),
    Mutant(
        "divided by d_k",
        lambda d_k, rho, fourth: (rho, (1 + rho**2 * (fourth - 2)) / d_k),
        "These are mean and variance of q · k / d_k: the score is divided by √d_k.",
        "4.4",
        ("normal entries", "any entries", "the vector itself", "opposite", "other entries"),
    ),
    Mutant(
        "square of the square",
        _variance(lambda d_k, rho, fourth: 1 - rho**2),
        "This is 1 − ρ², as if E[q⁴] were the square of E[q²]: that is so only where q² never varies.",
        "4.4",
        ("normal entries", "any entries", "opposite", "other entries"),
    ),
    Mutant(
        "mean not scaled",
        lambda d_k, rho, fourth: (rho * d_k, 1 + rho**2 * (fourth - 2)),
        "The mean is that of q · k: the score is divided by √d_k.",
        "4.4",
        ("normal entries", "any entries", "the vector itself", "opposite", "other entries"),
    ),
    Mutant(
        "mean over d_k",
        lambda d_k, rho, fourth: (rho, 1 + rho**2 * (fourth - 2)),
        "The mean is ρ: a score adds d_k products of mean ρ and is divided by √d_k, not by d_k.",
        "4.4",
        ("normal entries", "any entries", "the vector itself", "opposite", "other entries"),
    ),
    Mutant(
        "no mean",
        lambda d_k, rho, fourth: (0.0, 1 + rho**2 * (fourth - 2)),
        "The mean is 0: that is so for independent vectors; here E[q k] = ρ E[q²].",
        "4.4",
        ("normal entries", "any entries", "the vector itself", "opposite", "other entries"),
    ),
    Mutant(
        "mean square of the score",
        _variance(lambda d_k, rho, fourth: 1 + rho**2 * (fourth - 2) + rho**2 * d_k),
        "This is E[s²]: the variance also takes away the square of the mean, ρ² d_k.",
        "4.4",
        ("normal entries", "any entries", "the vector itself", "opposite", "other entries"),
    ),
    Mutant(
        "mean of one product over the root",
        lambda d_k, rho, fourth: (rho / math.sqrt(d_k), 1 + rho**2 * (fourth - 2)),
        "The mean is that of one product, divided by √d_k: a score adds d_k of them before it is divided.",
        "4.4",
        ("normal entries", "any entries", "the vector itself", "opposite", "other entries"),
    ),
    Mutant(
        "three taken away",
        _variance(lambda d_k, rho, fourth: 1 + rho**2 * (fourth - 3)),
        "Of the fourth moment 3 is taken away, as if normal entries were the measure: q² has the variance κ − 1, and "
        "the noise has ρ² less than 1, which makes κ − 2.",
        "4.4",
        ("normal entries", "any entries", "the vector itself", "opposite", "other entries"),
    ),
    Mutant(
        "weight of the noise not squared",
        _variance(lambda d_k, rho, fourth: rho**2 * (fourth - 1) + math.sqrt(1 - rho**2)),
        "The noise enters with its weight √(1 − ρ²): a factor leaves a variance squared, 1 − ρ².",
        "4.4",
        ("normal entries", "any entries", "opposite", "other entries"),
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


DIVISORS = {
    "correct": lambda d_k, d_model: math.sqrt(d_k),
    "no scale": lambda d_k, d_model: 1,
    "divided by d_k": lambda d_k, d_model: d_k,
    "divided by sqrt(d_model)": lambda d_k, d_model: math.sqrt(d_model),
}


def _accuses_first(Q, K, A, d_model):
    """The first of the mistakes that would give these weights; correct if there is none."""
    if np.abs(A.sum(axis=1) - 1).max() > 1e-6:
        return NAMES[1]
    S, d_k = Q @ K.T, Q.shape[-1]
    names = [*(name for name in reversed(DIVISORS) if name != "correct"), "correct"]
    return next((name for name in names if np.allclose(weights(S / DIVISORS[name](d_k, d_model)), A)), "correct")


def _columns_alone(Q, K, A, d_model):
    if np.abs(A.sum(axis=0) - 1).max() < 1e-6:
        return NAMES[1]
    return _nearest(DIVISORS)(Q, K, A, d_model)


def _rows_for_width(Q, K, A, d_model):
    taken = {name: lambda d_k, d_model, of=of: of(len(Q), d_model) for name, of in DIVISORS.items()}
    return _nearest(taken)(Q, K, A, d_model)


def _reads_columns(Q, K, A, d_model):
    if np.abs(A.sum(axis=0) - 1).max() > 1e-6:
        return NAMES[1]
    return _nearest(DIVISORS)(K, Q, A.T, d_model)


DETECTIVES = (
    Mutant(
        "queries counted for the width",
        _rows_for_width,
        "d_k is taken as the number of queries, the rows of Q: it is their width, the number of its columns.",
        "4.2",
        ("one is innocent",),
    ),
    Mutant(
        "columns that sum to one",
        _columns_alone,
        "Columns that sum to one prove nothing: they do so in a correct matrix too, if all its keys are alike. Compare "
        "with the weights that each of the five would give.",
        "4.2",
        ("equal keys",),
    ),
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
    Mutant(
        "mistakes before innocence",
        _accuses_first,
        "A mistake is named although the weights are the correct ones: where all keys are alike every divisor gives "
        "the same weights. Ask for \"correct\" first.",
        "4.4",
        ("equal keys",),
    ),
)

# 04.8


def _unit(X):
    length = np.sqrt((X * X).sum(axis=-1, keepdims=True))
    return X / length, length


def _through_length(dx, x, length):
    return (dx - x * (x * dx).sum(axis=-1, keepdims=True)) / length


def _cosine(back=_through_length, over=lambda T: T, dT_of=None, unit=_unit, other=lambda x, X: x, dK_of=None):
    """The backward pass of cosine scores with one part replaced by a wrong one."""

    def function(dS, Q, K, T):
        (q, q_length), (k, k_length) = unit(Q), unit(K)
        dq, dk = dS @ other(k, K) / over(T), dS.mT @ other(q, Q) / over(T)
        dK = dK_of(dS, q, K, over(T)) if dK_of else back(dk, k, k_length)
        S = q @ k.mT / T
        return back(dq, q, q_length), dK, dT_of(dS, S, T) if dT_of else -(dS * S).sum() / T

    return function


def _whole_length(X):
    length = np.sqrt((X * X).sum())
    return X / length, length


COSINE_EVERY = ("dQ", "dK", "batch", "long queries", "other sizes")
COSINE_T = ("dT", "batch", "long queries", "other sizes")

def _over(X, length):
    return X / length, length


COSINES = (
    Mutant(
        "projection forgotten",
        _cosine(back=lambda dx, x, length: dx / length),
        "The length of q is treated as a constant: it is a function of q, and its derivative takes away the part of "
        "the gradient that lies along q.",
        "4.3",
        COSINE_EVERY,
    ),
    Mutant(
        "length forgotten",
        _cosine(back=lambda dx, x, length: dx - x * (x * dx).sum(axis=-1, keepdims=True)),
        "The division by the length of the vector is missing: a long q turns less for the same push.",
        "4.3",
        COSINE_EVERY,
    ),
    Mutant(
        "normalisation skipped",
        _cosine(back=lambda dx, x, length: dx),
        "These are the gradients of the unit vectors: one step is left, from q̂ = q / |q| back to q.",
        "4.3",
        COSINE_EVERY,
    ),
    Mutant(
        "length squared",
        _cosine(back=lambda dx, x, length: (dx - x * (x * dx).sum(axis=-1, keepdims=True)) / length**2),
        "The gradient is divided by |q|²: one factor 1/|q| is enough, if the projection is written with unit vectors.",
        "4.3",
        COSINE_EVERY,
    ),
    Mutant(
        "projected on q itself",
        _cosine(
            back=lambda dx, x, length: (dx - x * length * (x * length * dx).sum(axis=-1, keepdims=True)) / length
        ),
        "The part along q is taken with q as it is, so its length counts twice: use the unit vector q̂ in both places.",
        "4.3",
        COSINE_EVERY,
    ),
    Mutant(
        "projected on q, half",
        _cosine(back=lambda dx, x, length: (dx - x * length * (x * dx).sum(axis=-1, keepdims=True)) / length),
        "The part along q has the direction of q but is too long: both factors of the projection are unit vectors.",
        "4.3",
        COSINE_EVERY,
    ),
    Mutant(
        "one projection for all",
        _cosine(back=lambda dx, x, length: (dx - x * (x * dx).sum()) / length),
        "One sum over all rows is taken away from each: every row has a part along itself of its own.",
        "4.3",
        COSINE_EVERY,
    ),
    Mutant(
        "dot products",
        lambda dS, Q, K, T: (dS @ K / T, dS.mT @ Q / T, -(dS * (Q @ K.mT)).sum() / T**2),
        "These are the gradients of Q Kᵀ / T: the rows were divided by their lengths before they met.",
        "4.3",
        (*COSINE_EVERY, "dT"),
    ),
    Mutant(
        "projection added",
        _cosine(back=lambda dx, x, length: (dx + x * (x * dx).sum(axis=-1, keepdims=True)) / length),
        "The part along q is added: it has to be taken away, since a longer q gives the same score.",
        "4.3",
        COSINE_EVERY,
    ),
    Mutant(
        "temperature forgotten",
        _cosine(over=lambda T: 1.0),
        "1/T is missing in dQ and dK: the cosines were divided by T on the way forward.",
        "4.3",
        COSINE_EVERY,
    ),
    Mutant(
        "scale of dot products",
        lambda dS, Q, K, T: _scaled_cosine(dS, Q, K, T),
        "There is a factor 1/√d_k in the gradients: a cosine is at most 1 at any width, and these scores have no such "
        "scale.",
        "4.4",
        COSINE_EVERY,
    ),
    Mutant(
        "other side not of length one",
        _cosine(other=lambda x, X: X),
        "dQ is made from K, and dK from Q, as they came: the score has the unit vectors, so they belong there.",
        "4.3",
        COSINE_EVERY,
    ),
    Mutant(
        "keys not of length one",
        _cosine(dK_of=lambda dS, q, K, T: dS.mT @ q / T),
        "dK ends at the unit keys: as with the queries, one step is left, through k̂ = k / |k|.",
        "4.3",
        ("dK", "batch", "long queries", "other sizes"),
    ),
    Mutant(
        "one length for all",
        _cosine(unit=_whole_length),
        "One length is taken of the whole array: each row has a length of its own.",
        "4.3",
        (*COSINE_EVERY, "dT"),
    ),
    Mutant(
        "sign of dT",
        _cosine(dT_of=lambda dS, S, T: (dS * S).sum() / T),
        "dT has the wrong sign: the derivative of 1/T is −1/T².",
        "4.3",
        COSINE_T,
    ),
    Mutant(
        "T once",
        _cosine(dT_of=lambda dS, S, T: -(dS * S).sum()),
        "dT lacks a factor 1/T: dS/dT = −cosine/T² = −S/T.",
        "4.3",
        COSINE_T,
    ),
    Mutant(
        "T three times",
        _cosine(dT_of=lambda dS, S, T: -(dS * S).sum() / T**2),
        "dT has a factor 1/T too many: S has one in it already.",
        "4.3",
        COSINE_T,
    ),
    Mutant(
        "gradient of 1/T",
        _cosine(dT_of=lambda dS, S, T: (dS * S).sum() * T),
        "This is the gradient of 1/T, not that of T: multiply by −1/T².",
        "4.3",
        COSINE_T,
    ),
    Mutant(
        "mean for dT",
        _cosine(dT_of=lambda dS, S, T: -(dS * S).mean() / T),
        "dT is a mean: one T serves all scores, so their gradients add.",
        "4.3",
        COSINE_T,
    ),
    Mutant(
        "a temperature for each sequence",
        _cosine(dT_of=lambda dS, S, T: -(dS * S).sum((-2, -1)) / T),
        "dT has a number for each sequence: one T serves them all, so dT is one number, their sum.",
        "4.3",
        ("batch",),
    ),
    Mutant(
        "projection down the columns",
        _cosine(back=lambda dx, x, length: (dx - x * (x * dx).sum(axis=-2, keepdims=True)) / length),
        "The part along q is summed down the columns, over the vectors: each vector has a length of its own, so the "
        "sum runs over its features.",
        "4.1",
        COSINE_EVERY,
    ),
    Mutant(
        "square of the length",
        _cosine(unit=lambda X: _over(X, (X * X).sum(axis=-1, keepdims=True))),
        "The rows are divided by the sum of their squares: the length is its root.",
        "4.1",
        (*COSINE_EVERY, "dT"),
    ),
    Mutant(
        "root mean square",
        _cosine(unit=lambda X: _over(X, np.sqrt((X * X).mean(axis=-1, keepdims=True)))),
        "The rows are divided by the root of the mean of their squares: the length is the root of their sum.",
        "4.1",
        (*COSINE_EVERY, "dT"),
    ),
    Mutant(
        "multiplied by T",
        _cosine(over=lambda T: 1 / T),
        "dQ and dK are multiplied by T: a factor 1/T on the way forward is the same factor on the way back.",
        "4.6",
        COSINE_EVERY,
    ),
    Mutant(
        "cosines forgotten in dT",
        _cosine(dT_of=lambda dS, S, T: -dS.sum() / T**2),
        "In dT the cosines are missing: each score is a cosine over T, so its derivative by T is −cosine/T².",
        "4.6",
        COSINE_T,
    ),
)


def _scaled_cosine(dS, Q, K, T):
    dQ, dK, dT = _cosine()(dS, Q, K, T)
    scale = math.sqrt(Q.shape[-1])
    return dQ / scale, dK / scale, dT


# 04.9


def _odds(p):
    return math.log(p / (1 - p))


def _column(*numbers):
    return np.array(numbers, dtype=float)[:, None]


def _symmetric(p):
    """Scores (x, 0; 0, 0): symmetric, with rows that sum to something else than their columns."""
    return _column(1, 0), _column(_odds(p), 0)


BLIND_EVERY = ("clear", "faint", "another weight")

BLINDS = (
    Mutant(
        "width two",
        lambda p: (math.sqrt(2) * _odds(p) * np.eye(2), np.eye(2)),
        "Two tokens are right, but eight numbers are more than it takes: a width of one is enough.",
        "4.2",
        BLIND_EVERY,
    ),
    Mutant(
        "unit matrices",
        lambda p: (np.eye(2), np.eye(2)),
        "Two tokens are right, but the weights should reach p, and a width of one is enough.",
        "4.2",
        BLIND_EVERY,
    ),
    Mutant(
        "width two, without the scale",
        lambda p: (_odds(p) * np.eye(2), np.eye(2)),
        "Two tokens are right, but a width of one is enough; and with a width of two the scores are divided by √2.",
        "4.2",
        BLIND_EVERY,
    ),
    Mutant(
        "three tokens",
        lambda p: ((_odds(p) + math.log(2)) * math.sqrt(3) * np.eye(3), np.eye(3)),
        "Three tokens do it, but fewer do it as well.",
        "4.2",
        BLIND_EVERY,
    ),
    Mutant(
        "symmetric scores",
        _symmetric,
        "The scores are symmetric, and that is not enough: then the weights of one softmax are those of the other "
        "transposed. Each row also has to be made of the same numbers as the others.",
        "4.2",
        BLIND_EVERY,
    ),
    Mutant(
        "one token",
        lambda p: (_column(1), _column(1)),
        "With one token the only weight is 1: the axes agree, but the largest weight is not p.",
        "4.2",
        BLIND_EVERY,
    ),
    Mutant(
        "all equal",
        lambda p: (_column(0, 0), _column(0, 0)),
        "All scores are equal: the axes agree, but all weights are 1/2.",
        "4.2",
        BLIND_EVERY,
    ),
    Mutant(
        "one key",
        lambda p: (_column(1, -1), _column(1)),
        "With one key every weight over the keys is 1. Where the weights agree, their sum counted by rows is n and by "
        "columns is m: so there are as many keys as queries.",
        "4.2",
        BLIND_EVERY,
    ),
    Mutant(
        "difference counted once",
        lambda p: (math.sqrt(_odds(p)) * _column(1, -1), math.sqrt(_odds(p)) * _column(1, -1)),
        "The scores are ± ln(p / (1 − p)), so the two scores of a row differ by twice that: it is the difference that "
        "decides the weights.",
        "4.1",
        BLIND_EVERY,
    ),
    Mutant(
        "p for the odds",
        lambda p: (math.sqrt(p / 2) * _column(1, -1), math.sqrt(p / 2) * _column(1, -1)),
        "The scores of a row differ by p: the weight p comes from a difference of ln(p / (1 − p)).",
        "4.1",
        BLIND_EVERY,
    ),
    Mutant(
        "ln p",
        lambda p: (_column(1, -1), math.log(p) / 2 * _column(1, -1)),
        "The scores of a row differ by ln p: that would be enough if the other weight were 1. The two weights are p "
        "and 1 − p, so the difference is ln(p / (1 − p)).",
        "4.1",
        ("clear", "faint", "another weight"),
    ),
    Mutant(
        "ln(1 − p)",
        lambda p: (_column(1, -1), -math.log(1 - p) / 2 * _column(1, -1)),
        "The scores of a row differ by −ln(1 − p): the weights are p and 1 − p, so the difference is ln(p / (1 − "
        "p)).",
        "4.1",
        ("clear", "faint", "another weight"),
    ),
    Mutant(
        "base two",
        lambda p: (_column(1, -1), math.log2(p / (1 - p)) / 2 * _column(1, -1)),
        "The logarithm is one to base 2: the softmax has powers of e.",
        "4.1",
        ("clear", "faint", "another weight"),
    ),
    Mutant(
        "half of the difference",
        lambda p: (_column(1, -1), _odds(p) / 4 * _column(1, -1)),
        "The scores of a row differ by half of ln(p / (1 − p)): with ± x they differ by 2x.",
        "4.1",
        ("clear", "faint", "another weight"),
    ),
    Mutant(
        "scale of two tokens",
        lambda p: (_column(1, -1), _odds(p) / math.sqrt(2) * _column(1, -1)),
        "The scores are √2 times too large: they are divided by √d_k, the root of the width, which is 1 here, not of "
        "the number of tokens.",
        "4.2",
        ("clear", "faint", "another weight"),
    ),
    Mutant(
        "p and 1 − p as scores",
        lambda p: (_column(1, -1), _column(p, 1 - p)),
        "The keys are the weights that are wanted, p and 1 − p: a softmax takes scores, whose difference is ln(p / "
        "(1 − p)), and the columns have to have the same numbers as the rows.",
        "4.1",
        ("clear", "faint", "another weight"),
    ),
)

# 04.10


def _changed(higher=None, doubled=None, forbidden=None, twice=None):
    def function(a, change, j):
        gone = np.where(np.arange(a.size) == j, 0, a)
        return {
            "all higher": higher or (lambda a, j, gone: a.copy()),
            "doubled": doubled or (lambda a, j, gone: a**2 / (a**2).sum()),
            "forbidden": forbidden or (lambda a, j, gone: gone / gone.sum()),
            "twice": twice or (lambda a, j, gone: np.append(a, a[j]) / (1 + a[j])),
        }[change](a, j, gone)

    return function


CHANGED = (
    Mutant(
        "doubled is nothing",
        _changed(doubled=lambda a, j, gone: a.copy()),
        "The weights stay as they were: that is so if the same number is added to all scores. Doubled scores differ "
        "twice as much.",
        "4.5",
        ("doubled",),
    ),
    Mutant(
        "doubled weights",
        _changed(doubled=lambda a, j, gone: 2 * a),
        "The weights are doubled, and sum to 2: it is the scores that are doubled.",
        "4.5",
        ("doubled",),
    ),
    Mutant(
        "squares that do not sum to one",
        _changed(doubled=lambda a, j, gone: a**2),
        "The weights are squared, which is right, but they do not sum to one any more: divide by their sum.",
        "4.5",
        ("doubled",),
    ),
    Mutant(
        "softmax of the weights",
        _changed(doubled=lambda a, j, gone: weights(2 * a)),
        "The softmax is taken of 2 a: the scores are not the weights, but ln a, but for a number that is the same for "
        "all keys.",
        "4.1",
        ("doubled",),
    ),
    Mutant(
        "roots",
        _changed(doubled=lambda a, j, gone: np.sqrt(a) / np.sqrt(a).sum()),
        "These are the weights for half the scores, and they are flatter: doubled scores make them sharper.",
        "4.1",
        ("doubled",),
    ),
    Mutant(
        "the hole stays",
        _changed(forbidden=lambda a, j, gone: gone),
        "The weight of key j is 0 and the others are as before: the key leaves the denominator too, so the others "
        "share what it had.",
        "4.7",
        ("forbidden",),
    ),
    Mutant(
        "shared out equally",
        _changed(forbidden=lambda a, j, gone: np.where(gone > 0, gone + a[j] / (a.size - 1), 0)),
        "Each of the other keys gets an equal part of what key j had: the ratios of their weights cannot change, "
        "since their scores do not.",
        "4.7",
        ("forbidden",),
    ),
    Mutant(
        "key left out",
        _changed(forbidden=lambda a, j, gone: np.delete(gone, j) / gone.sum()),
        "Key j is gone from the row: a forbidden key keeps its place, with weight 0.",
        "4.7",
        ("forbidden",),
    ),
    Mutant(
        "score zero",
        _changed(forbidden=lambda a, j, gone: np.where(gone > 0, a, 1 / a.size) / (gone.sum() + 1 / a.size)),
        "Key j keeps a weight: a forbidden score is −∞, not 0.",
        "4.7",
        ("forbidden",),
    ),
    Mutant(
        "halves",
        _changed(twice=lambda a, j, gone: np.append(np.where(gone > 0, a, a[j] / 2), a[j] / 2)),
        "The weight of key j is cut in halves: both copies have the old score, so together they draw more than one.",
        "4.1",
        ("twice", "another key"),
    ),
    Mutant(
        "a copy that does not weigh",
        _changed(twice=lambda a, j, gone: np.append(a, 0)),
        "The copy has weight 0: it has the same score as key j, and so the same weight.",
        "4.1",
        ("twice", "another key"),
    ),
    Mutant(
        "a sum above one",
        _changed(twice=lambda a, j, gone: np.append(a, a[j])),
        "The copy has the weight of key j, but the row sums to 1 + a_j: divide by that.",
        "4.1",
        ("twice", "another key"),
    ),
    Mutant(
        "doubled weight of one key",
        _changed(twice=lambda a, j, gone: np.where(gone > 0, a, 2 * a[j]) / (1 + a[j])),
        "Key j has the weight of both copies: the copy stands at the end, as a key of its own.",
        "4.1",
        ("twice", "another key"),
    ),
    Mutant(
        "higher is sharper",
        _changed(higher=lambda a, j, gone: a**2 / (a**2).sum()),
        "The weights change: a number that is added to all scores cancels in the softmax.",
        "4.5",
        ("all higher",),
    ),
    Mutant(
        "multiplied by what is left",
        _changed(forbidden=lambda a, j, gone: gone * gone.sum()),
        "The other weights are multiplied by 1 − a_j: they grow, so that they sum to one again, and are divided by it.",
        "4.5",
        ("forbidden",),
    ),
    Mutant(
        "keys counted from one",
        _changed(
            forbidden=lambda a, j, gone: np.where(np.arange(a.size) == j - 1, 0, a) / (1 - a[j - 1]),
            twice=lambda a, j, gone: np.append(a, a[j - 1]) / (1 + a[j - 1]),
        ),
        "The key before key j is taken: keys are counted from 0.",
        "4.5",
        ("forbidden", "twice", "another key"),
    ),
    Mutant(
        "one more for all weights",
        _changed(higher=lambda a, j, gone: (a + 1) / (a + 1).sum()),
        "Something is added to the weights: it is the scores that all change by one number, and a softmax does not "
        "see that.",
        "4.5",
        ("all higher",),
    ),
    Mutant(
        "copy behind its key",
        _changed(twice=lambda a, j, gone: np.insert(a, j, a[j]) / (1 + a[j])),
        "The copy stands beside key j: it is appended at the end.",
        "4.5",
        ("twice", "another key"),
    ),
)

# 04.11


def _circle(n, turns):
    angle = 2 * np.pi * turns * np.arange(n) / n
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _on_circle(shift, strength, turns=1):
    def function(n, p):
        K = _circle(n, turns)
        return strength(n, p) * np.roll(K, shift, axis=0), K

    return function


def _enough(n, p):
    return 2 * n * n * math.log(n * p / (1 - p))


def _line(n, p):
    place = np.arange(n)
    return np.stack([place - 1.0, np.ones(n)], axis=1) * _enough(n, p), np.stack([place * 1.0, np.zeros(n)], axis=1)


def _line_ahead(n, p):
    """Places on a parabola, and queries that look for the place after their own."""
    place = np.arange(n)
    Q = np.stack([2.0 * (place + 1), -np.ones(n)], axis=1) * _enough(n, p)
    return Q, np.stack([place, place**2], axis=1).astype(float)


def _one_hot(n, p):
    return np.roll(np.eye(n), 1, axis=0) * _enough(n, p), np.eye(n)


PREVIOUS_EVERY = ("five tokens", "a dozen", "a long text", "two tokens", "twenty tokens")
LONGER = ("five tokens", "a dozen", "a long text", "twenty tokens")

PREVIOUS = (
    Mutant(
        "next token",
        _on_circle(-1, _enough),
        "Every token looks at the one after it: the query of token i has to look like the key of token i − 1.",
        "4.3",
        LONGER,
    ),
    Mutant(
        "itself",
        _on_circle(0, _enough),
        "Every token looks at itself: query and key of a token are alike. They need two different maps of its place.",
        "4.3",
        PREVIOUS_EVERY,
    ),
    Mutant(
        "too weak",
        _on_circle(1, lambda n, p: 1.0),
        "Every token looks most at the one before it, but not by much: the scores are cosines over √2. Longer queries "
        "make the softmax harder.",
        "4.1",
        LONGER,
    ),
    Mutant(
        "two rivals far away",
        _on_circle(1, lambda n, p: math.sqrt(2) * math.log((n - 1) * p / (1 - p))),
        "The strength would do if all other cosines were 0: neighbours on the circle have nearly the same angle, and "
        "the queries must be longer by 1 / (1 − cos(2π/n)).",
        "4.1",
        ("five tokens", "a dozen", "a long text", "twenty tokens"),
    ),
    Mutant(
        "places on a line",
        _line,
        "The score grows with the place of the key, so every token looks at the last one (or at the first): on a "
        "line, nothing in the middle is ever the largest.",
        "4.2",
        LONGER,
    ),
    Mutant(
        "one direction a place",
        _one_hot,
        "Every place has a direction of its own, which takes n of them: two are enough, if places stand on a circle.",
        "4.2",
        LONGER,
    ),
    Mutant(
        "twice round the circle",
        _on_circle(1, _enough, turns=2),
        "The places go round the circle twice, so that some come to lie on top of others, or between their neighbours.",
        "4.3",
        ("a dozen", "a long text", "two tokens", "twenty tokens"),
    ),
    Mutant(
        "next token, and no circle",
        _line_ahead,
        "Every token looks at the next one, and the last one at itself: the query of token i points to the place of "
        "i − 1.",
        "4.3",
        LONGER,
    ),
)

# 04.12


def _in_torch(weights_of):
    def function(Q, K, V, mask):
        return weights_of(Q @ K.mT / math.sqrt(Q.shape[-1]), mask) @ V

    return function


def _zero_afterwards(S, mask):
    import torch

    bias = torch.zeros(mask.shape, dtype=S.dtype).masked_fill(~mask, -math.inf)
    return torch.where(mask.any(dim=-1, keepdim=True), torch.softmax(S + bias, dim=-1), 0.0)


def _softmax(S):
    import torch

    return torch.softmax(S, dim=-1)


def _no_scale(Q, K, V, mask):
    return _tidy(Q @ K.mT, mask) @ V


def _tidy(S, mask, low=-1e30):
    return _softmax(S.masked_fill(~mask, low)) * mask.any(dim=-1, keepdim=True)


def _of_width(width):
    def function(Q, K, V, mask):
        return _tidy(Q @ K.mT / width(Q, V), mask) @ V

    return function


def _detached(Q, K, V, mask):
    return _tidy(Q @ K.mT / math.sqrt(Q.shape[-1]), mask).detach() @ V


def _queries_compete(S, mask):
    import torch

    return torch.softmax(S.masked_fill(~mask, -1e30), dim=-2) * mask.any(dim=-1, keepdim=True)


TORCH_EVERY = ("output", "gradients", "every query sees", "heads", "a mask for each sequence", "larger")
TORCH_EMPTY = ("output", "gradients", "heads", "a mask for each sequence", "larger")
TORCH_BACK = ("gradients", "heads", "a mask for each sequence", "larger")

TORCH = (
    Mutant(
        "replaced afterwards",
        _in_torch(_zero_afterwards),
        "The nan is replaced after the softmax, so the output is right; but backward passes through the softmax of "
        "the empty row all the same, and 0 · nan is nan. No nan may arise on the way: treat the row before.",
        "4.7",
        TORCH_BACK,
    ),
    Mutant(
        "plain minus infinity",
        _in_torch(lambda S, mask: _softmax(S.masked_fill(~mask, -math.inf))),
        "With −∞ alone a row that has no key left is 0/0: its weights must be zero.",
        "4.7",
        TORCH_EMPTY,
    ),
    Mutant(
        "large negative number",
        _in_torch(lambda S, mask: _softmax(S.masked_fill(~mask, -1e9))),
        "With −1e9 alone a row that has no key left becomes uniform: no nan, but it looks at everything it should not "
        "see. Set its weights to zero as well.",
        "4.7",
        TORCH_EMPTY,
    ),
    Mutant(
        "everything allowed",
        _in_torch(lambda S, mask: _softmax(S.masked_fill(~(mask | ~mask.any(dim=-1, keepdim=True)), -math.inf))),
        "The empty row may see every key, so there is no nan; but then its weights must be set to zero afterwards.",
        "4.7",
        TORCH_EMPTY,
    ),
    Mutant(
        "mask inverted",
        _in_torch(lambda S, mask: _tidy(S, ~mask)),
        "The mask is read the wrong way round: True means that the query may attend to the key.",
        "4.7",
        TORCH_EVERY,
    ),
    Mutant(
        "mask after the softmax",
        _in_torch(lambda S, mask: _softmax(S) * mask),
        "The weights are set to zero after the softmax: rows no longer sum to one, and the hidden keys still act "
        "through the denominator.",
        "4.7",
        TORCH_EVERY,
    ),
    Mutant(
        "scores multiplied by the mask",
        _in_torch(lambda S, mask: _softmax(S * mask) * mask.any(dim=-1, keepdim=True)),
        "Hidden scores are set to 0, and exp(0) is 1: they must be −∞ before the softmax.",
        "4.7",
        TORCH_EVERY,
    ),
    Mutant(
        "added mask",
        _in_torch(lambda S, mask: _softmax(S + mask) * mask.any(dim=-1, keepdim=True)),
        "The mask is added to the scores as a number, 1 for True and 0 for False: only a mask of numbers, 0 and −∞, "
        "is added.",
        "4.7",
        TORCH_EVERY,
    ),
    Mutant(
        "no scale",
        _no_scale,
        "This is what you get when the scores are not divided by √d_k.",
        "4.4",
        TORCH_EVERY,
    ),
    Mutant(
        "divided by sqrt(d_v)",
        _of_width(lambda Q, V: math.sqrt(V.shape[-1])),
        "The scores are divided by √d_v: the width of the values has no part in q · k.",
        "4.4",
        TORCH_EVERY,
    ),
    Mutant(
        "divided by d_k",
        _of_width(lambda Q, V: Q.shape[-1]),
        "The scores are divided by d_k: their standard deviation is √d_k.",
        "4.4",
        TORCH_EVERY,
    ),
    Mutant(
        "softmax over the queries",
        _in_torch(_queries_compete),
        "The softmax runs over the queries: it is the keys that compete for a query.",
        "4.2",
        TORCH_EVERY,
    ),
    Mutant(
        "weights detached",
        _detached,
        "The output is right, but the weights were cut off from autograd: no gradient reaches Q and K.",
        "4.6",
        ("gradients", "every query sees", "heads", "a mask for each sequence", "larger"),
    ),
)

# 04.13


def _entropies(H_of=None, slope_of=None):
    def function(S, beta):
        X = beta * (S - S.max(axis=-1, keepdims=True))
        A = weights(X)
        H = np.log(np.exp(X).sum(axis=-1)) - (A * X).sum(axis=-1)
        mean = (A * S).sum(axis=-1, keepdims=True)
        variance = (A * (S - mean) ** 2).sum(axis=-1)
        return H_of(A, H) if H_of else H, slope_of(S, A, beta, variance) if slope_of else -beta * variance

    return function


def _nan_from_zero(S, beta):
    A = weights(beta * S)
    with np.errstate(divide="ignore", invalid="ignore"):
        H = -(A * np.log(A)).sum(axis=-1)
    return H, _entropies()(S, beta)[1]


def _no_maximum(S, beta):
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        E = np.exp(beta * S)
        A = E / E.sum(axis=-1, keepdims=True)
        mean = (A * S).sum(axis=-1, keepdims=True)
        H = np.log(E.sum(axis=-1)) - beta * mean[..., 0]
    return H, -beta * (A * (S - mean) ** 2).sum(axis=-1)


SLOPES = ("slope", "batch", "sharp", "other rows")
HEIGHTS = ("entropy", "batch", "sharp", "equal weights", "other rows")

ENTROPIES = (
    Mutant(
        "plain variance",
        _entropies(slope_of=lambda S, A, beta, variance: -beta * S.var(axis=-1)),
        "The variance of the scores is taken with equal weights: each score counts with its own weight a.",
        "4.5",
        SLOPES,
    ),
    Mutant(
        "beta forgotten",
        _entropies(slope_of=lambda S, A, beta, variance: -variance),
        "The factor β is missing: at β = 0 all weights are equal, the entropy is at its top, and its slope is 0.",
        "4.5",
        (*SLOPES, "equal weights"),
    ),
    Mutant(
        "beta squared",
        _entropies(slope_of=lambda S, A, beta, variance: -(beta**2) * variance),
        "The slope is −β² times the variance, which is the slope along ln β: by β itself it is −β Var(s).",
        "4.5",
        SLOPES,
    ),
    Mutant(
        "sign",
        _entropies(slope_of=lambda S, A, beta, variance: beta * variance),
        "The slope is positive: a larger β makes the weights sharper, and the entropy smaller.",
        "4.4",
        SLOPES,
    ),
    Mutant(
        "not centred",
        _entropies(slope_of=lambda S, A, beta, variance: -beta * (A * S * S).sum(axis=-1)),
        "The mean of s² is taken without the square of the mean: a number added to all scores would change the slope.",
        "4.5",
        SLOPES,
    ),
    Mutant(
        "spread around the plain mean",
        _entropies(slope_of=lambda S, A, beta, variance: -beta * (A * (S - S.mean(-1, keepdims=True)) ** 2).sum(-1)),
        "The squares are weighted, but taken around the plain mean of the scores: it is their mean under the weights.",
        "4.5",
        SLOPES,
    ),
    Mutant(
        "derivative by the weights",
        _entropies(slope_of=lambda S, A, beta, variance: -(A * (np.log(np.maximum(A, 1e-300)) + 1)).sum(-1)),
        "This is −Σ a (ln a + 1): ln a + 1 is the derivative of a ln a by a, and what is left is how a moves with β, "
        "which is a (s − mean).",
        "4.5",
        SLOPES,
    ),
    Mutant(
        "square root",
        _entropies(slope_of=lambda S, A, beta, variance: -beta * np.sqrt(variance)),
        "The slope has the standard deviation of the scores: it is their variance that comes out.",
        "4.5",
        SLOPES,
    ),
    Mutant(
        "by the temperature",
        _entropies(slope_of=lambda S, A, beta, variance: beta**3 * variance),
        "This is the derivative by T = 1/β: the question asks for that by β.",
        "4.1",
        SLOPES,
    ),
    Mutant(
        "summed over the keys",
        _entropies(slope_of=lambda S, A, beta, variance: -variance * beta * A.shape[-1]),
        "The slope is a sum over the keys of something that is a mean already: each key counts with its weight a.",
        "4.5",
        SLOPES,
    ),
    Mutant(
        "bits",
        _entropies(H_of=lambda A, H: H / math.log(2)),
        "The entropy is in bits: the logarithm here is the natural one.",
        "4.4",
        HEIGHTS,
    ),
    Mutant(
        "sign of the entropy",
        _entropies(H_of=lambda A, H: -H),
        "The entropy is negative: the logarithm of a weight is at most 0, so the sum needs a minus sign.",
        "4.4",
        HEIGHTS,
    ),
    Mutant(
        "mean for the entropy",
        _entropies(H_of=lambda A, H: H / A.shape[-1]),
        "The entropy is divided by the number of keys: −ln a is averaged under the weights a, which sum to one "
        "already.",
        "4.4",
        HEIGHTS,
    ),
    Mutant(
        "nan from zero",
        _nan_from_zero,
        "A weight that underflows to 0 gives 0 · ln 0 = nan. Take ln a = βs − L from the scores, which stays finite.",
        "4.5",
        ("sharp",),
    ),
    Mutant(
        "overflow",
        _no_maximum,
        "exp of a large score overflows: subtract the largest score of each row first.",
        "4.5",
        ("sharp",),
    ),
    Mutant(
        "variance of the scaled scores",
        _entropies(slope_of=lambda S, A, beta, variance: -(beta**3) * variance),
        "The variance of βs is taken, which has β² already: it is that of the scores s.",
        "4.4",
        SLOPES,
    ),
    Mutant(
        "beta forgotten in the weights",
        lambda S, beta: _entropies(slope_of=lambda S, A, one, variance: -beta * variance)(S, 1.0),
        "The weights are softmax(S): β multiplies the scores before the softmax.",
        "4.5",
        ("entropy", *SLOPES),
    ),
    Mutant(
        "beta divides",
        lambda S, beta: _entropies(slope_of=lambda S, A, b, variance: -beta * variance)(S, 1 / beta if beta else 0.0),
        "The scores are divided by β, as by a temperature: β multiplies them, so that a large β makes the weights "
        "sharp.",
        "4.4",
        ("entropy", *SLOPES),
    ),
)
