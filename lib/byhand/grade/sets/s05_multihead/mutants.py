"""Known wrong answers, each with the message that names the misconception."""

import math

import numpy as np

from ...model import Mutant
from .cases import WEIGHTS, collect, cut_only, deal, join_only, merge, moved_heads, softmax, split

# 05.1


def _rows(tokens_of, leaks=None, latest=True):
    """The last token of each row, from the tokens of its pieces."""

    def function(n, H):
        r = np.arange(n)
        tokens = tokens_of(r[:, None], np.arange(H), n, H) + np.zeros((n, H), int)
        last = tokens.max(axis=1) if latest else tokens[:, -1]
        return last, leaks(last, r, tokens) if leaks else int((last > r).sum())

    return function


def _right(r, s, n, H):
    return (r * H + s) % n


def _earliest(n, H):
    last = np.array([min((r * H + s) % n for s in range(H)) for r in range(n)])
    return last, int((last > np.arange(n)).sum())


ROWS = ("four tokens", "more heads than tokens", "long", "five tokens")
FAR = (
    Mutant(
        "the right merge",
        _rows(lambda r, s, n, H: r),
        "This is so with the transpose: row r holds token r of all heads. Without it, memory goes head by head, and a "
        "reshape keeps the order of memory.",
        "5.3",
        ROWS,
    ),
    Mutant(
        "last piece for the latest",
        _rows(_right, latest=False),
        "The last piece of a row is taken: where a row goes on from one head to the next, its tokens begin again at "
        "0, and an earlier piece is the later token.",
        "5.3",
        ("four tokens", "more heads than tokens", "five tokens"),
    ),
    Mutant(
        "row r from piece r on",
        _rows(lambda r, s, n, H: (r + s) % n),
        "Row r is taken from piece r on: every row uses up H pieces, so row r begins with piece r H.",
        "5.3",
        ("long", "five tokens"),
    ),
    Mutant(
        "not wrapped",
        _rows(lambda r, s, n, H: np.minimum(r * H + s, n - 1)),
        "The tokens run on to the end and stay there: after n pieces the next head begins, with token 0.",
        "5.3",
        ("long", "five tokens"),
    ),
    Mutant(
        "heads for tokens",
        _rows(lambda r, s, n, H: (r * H + s) // n),
        "These are heads, not tokens: piece number p belongs to head p // n and to token p mod n.",
        "5.3",
        ROWS,
    ),
    Mutant(
        "divided by the heads",
        _rows(lambda r, s, n, H: (r * H + s) % H),
        "The number of the piece is divided by H: memory holds n pieces of head 0 first, so the divisor is n.",
        "5.3",
        ROWS,
    ),
    Mutant(
        "own token counted",
        _rows(_right, leaks=lambda last, r, tokens: int((last >= r).sum())),
        "Rows that reach as far as their own token are counted: that is allowed, a leak begins one token later.",
        "5.3",
        ("four tokens", "more heads than tokens", "one token"),
    ),
    Mutant(
        "pieces counted",
        _rows(_right, leaks=lambda last, r, tokens: int((tokens > r[:, None]).sum())),
        "Pieces are counted: the question asks for rows that hold a later token, however many.",
        "5.3",
        ("four tokens", "more heads than tokens", "long", "five tokens"),
    ),
    Mutant(
        "first piece for the latest",
        _rows(lambda r, s, n, H: (r * H) % n + 0 * s),
        "Only the first piece of a row is looked at: the row depends on all its H pieces, and on the latest token "
        "among them.",
        "5.3",
        ("four tokens", "more heads than tokens", "long", "five tokens", "many heads"),
    ),
    Mutant(
        "earliest piece",
        _earliest,
        "The earliest of the tokens is taken: a row depends on all its pieces, so the last token is the largest.",
        "5.3",
        ("four tokens", "more heads than tokens", "long", "five tokens", "many heads"),
    ),
    Mutant(
        "rows that do not leak",
        _rows(_right, leaks=lambda last, r, tokens: int((last <= r).sum())),
        "The rows are counted that do not leak: a leak is a row whose last token comes after its own, last > r.",
        "5.3",
        ("four tokens", "more heads than tokens", "one token", "five tokens", "many heads"),
    ),
    Mutant(
        "tokens counted from one",
        _rows(lambda r, s, n, H: (r * H + s) % n + 1, leaks=lambda last, r, tokens: int((last > r + 1).sum())),
        "Tokens are counted from 1: they are 0, …, n − 1, as in the statement.",
        "5.3",
        ("four tokens", "more heads than tokens", "long", "one token", "five tokens", "many heads"),
    ),
)

# 05.2


def _layer(wire=merge, cut=split, scale=None, roles=None, axis=-1, last=None, how=None):
    """Multi-head attention with one part replaced by a wrong one."""

    def function(X, M, W_q, W_k, W_v, W_o, H, mask=None):
        if roles:
            X, M, W_q, W_k, W_v = roles(X, M, W_q, W_k, W_v, H)
        Q, K, V = cut(X @ W_q, H), cut(M @ W_k, H), cut(M @ W_v, H)
        S = Q @ K.mT / (scale(W_q, K, V) if scale else math.sqrt(Q.shape[-1]))
        if mask is not None:
            mask = mask if mask.ndim == 2 else np.expand_dims(mask, -3)
            S = np.where(mask, S, -1e30) if how is None else S
        A = softmax(S) if axis == -1 else softmax(S.mT).mT
        A = how(S, mask) if how and mask is not None else A
        return last(A @ V, W_o) if last else wire(A @ V) @ W_o, A

    return function


def _without_head_axis(X, M, W_q, W_k, W_v, W_o, H, mask=None):
    """The mask of sequence b lands on head b."""
    Q, K, V = split(X @ W_q, H), split(M @ W_k, H), split(M @ W_v, H)
    S = Q @ K.mT / math.sqrt(Q.shape[-1])
    A = softmax(S if mask is None else np.where(mask, S, -1e30))
    return merge(A @ V) @ W_o, A


def _every_mask_a_batch(X, M, W_q, W_k, W_v, W_o, H, mask=None):
    Q, K, V = split(X @ W_q, H), split(M @ W_k, H), split(M @ W_v, H)
    S = Q @ K.mT / math.sqrt(Q.shape[-1])
    A = softmax(S if mask is None else np.where(mask[:, None], S, -1e30))
    return merge(A @ V) @ W_o, A


def _keys_from_x(X, M, W_q, W_k, W_v, W_o, H, mask, keys=True):
    own = X if X.shape == M.shape else M
    Q, K, V = split(X @ W_q, H), split((own if keys else M) @ W_k, H), split((M if keys else own) @ W_v, H)
    S = Q @ K.mT / math.sqrt(Q.shape[-1])
    A = softmax(S if mask is None else np.where(np.expand_dims(mask, -3), S, -1e30))
    return merge(A @ V) @ W_o, A


ALL = ("self-attention", "cross-attention", "a batch of masks", "two axes in front")
def _stream_added(X, O, A):
    return X + O if X.shape == O.shape else O, A


MULTIHEAD = (
    Mutant(
        "merge without transpose",
        _layer(wire=join_only),
        "The heads are merged by a reshape alone: each row then holds several tokens of one head. Bring the head axis "
        "back beside the features first.",
        "5.3",
        ALL,
    ),
    Mutant(
        "cut and merge without transpose",
        _layer(wire=join_only, cut=cut_only),
        "X W is cut by reshape(…, H, n, k): that gives each head a slice of the tokens. Cut the features, "
        "reshape(…, n, H, k), and then swap the axes.",
        "5.3",
        ALL,
    ),
    Mutant(
        "features dealt out",
        _layer(wire=collect, cut=deal),
        "The features are dealt out to the heads in turn: head h owns the columns h k to (h + 1) k, side by side.",
        "5.3",
        ALL,
    ),
    Mutant(
        "scaled by the width of all heads",
        _layer(scale=lambda W_q, K, V: math.sqrt(W_q.shape[1])),
        "The scores are divided by √(H d_k): a score of one head adds d_k products.",
        "5.2",
        ALL,
    ),
    Mutant(
        "keys and values swapped",
        _layer(roles=lambda X, M, W_q, W_k, W_v, H: (X, M, W_q, W_v, W_k)),
        "Keys are made with W_v and values with W_k: keys are compared, values are mixed.",
        "5.2",
        ("self-attention",),
    ),
    Mutant(
        "shared projection",
        _layer(roles=lambda X, M, *W_H: (X, M, *(np.tile(W[:, : W.shape[1] // W_H[-1]], W_H[-1]) for W in W_H[:-1]))),
        "All heads use the first head's projections, so they all say the same: head h has its own columns of W.",
        "5.2",
        ALL,
    ),
    Mutant(
        "memory forgotten",
        lambda X, M, W_q, W_k, W_v, W_o, H, mask=None: _layer()(
            X, X if X.shape == M.shape else M, W_q, W_k, W_v, W_o, H, mask),
        "Keys and values are made from X: they come from the memory M, also when both have the same shape.",
        "5.6",
        ("self-attention",),
    ),
    Mutant(
        "no scale",
        _layer(scale=lambda W_q, K, V: 1),
        "This is what you get when the scores are not divided by √d_k.",
        "5.2",
        ALL,
    ),
    Mutant(
        "divided by d_k",
        _layer(scale=lambda W_q, K, V: K.shape[-1]),
        "The scores are divided by d_k: it is its root.",
        "5.2",
        ALL,
    ),
    Mutant(
        "divided by sqrt(d_v)",
        _layer(scale=lambda W_q, K, V: math.sqrt(V.shape[-1])),
        "The scores are divided by √d_v: the width of the values has no part in q · k.",
        "5.2",
        ("cross-attention", "two axes in front", "one mask for all"),
    ),
    Mutant(
        "divided by sqrt(d)",
        _layer(scale=lambda W_q, K, V: math.sqrt(W_q.shape[0])),
        "The scores are divided by √d, the width of a token: a score of one head adds d_k products.",
        "5.2",
        ("cross-attention", "two axes in front", "one mask for all", "a batch of masks"),
    ),
    Mutant(
        "softmax over the queries",
        _layer(axis=-2),
        "The softmax runs over the queries: it is the keys that compete for a query.",
        "5.2",
        ("self-attention", "cross-attention", "two axes in front"),
    ),
    Mutant(
        "mask inverted",
        _layer(how=lambda S, mask: softmax(np.where(mask, -1e30, S))),
        "The mask is read the wrong way round: True means that the query may attend to the key.",
        "5.2",
        ("a batch of masks", "one mask for all"),
    ),
    Mutant(
        "mask after the softmax",
        _layer(how=lambda S, mask: softmax(S) * mask),
        "The weights are set to zero after the softmax: rows no longer sum to one. Forbidden scores are −∞ before it.",
        "5.2",
        ("a batch of masks", "one mask for all"),
    ),
    Mutant(
        "scores multiplied by the mask",
        _layer(how=lambda S, mask: softmax(S * mask)),
        "Forbidden scores are set to 0, and exp(0) is 1: they must be −∞ before the softmax.",
        "5.2",
        ("a batch of masks", "one mask for all"),
    ),
    Mutant(
        "mask ignored",
        _layer(how=lambda S, mask: softmax(S)),
        "The mask changes nothing: forbidden scores are −∞ before the softmax.",
        "5.2",
        ("a batch of masks", "one mask for all"),
    ),
    Mutant(
        "heads averaged",
        _layer(last=lambda Z, W_o: merge(Z) @ W_o / Z.shape[-3]),
        "O is divided by the number of heads: heads are added, not averaged.",
        "5.4",
        ALL,
    ),
    Mutant(
        "keys from X",
        lambda X, M, W_q, W_k, W_v, W_o, H, mask=None: _keys_from_x(X, M, W_q, W_k, W_v, W_o, H, mask),
        "The keys are made from X, and only the values from M: both come from the memory.",
        "5.6",
        ("self-attention",),
    ),
    Mutant(
        "W_o forgotten",
        _layer(last=lambda Z, W_o: merge(Z)),
        "The heads are joined and returned as they are: the last map, W_o, is missing.",
        "5.2",
        ALL,
    ),
    Mutant(
        "mask without a head axis",
        _without_head_axis,
        "A mask (B, n, m) meets scores (B, H, n, m): without an axis for the heads, sequence b's mask lands on head b.",
        "5.5",
        ("a batch of masks",),
    ),
    Mutant(
        "every mask a batch of masks",
        _every_mask_a_batch,
        "The mask is given its head axis behind its first axis: a mask (n, m) has no axis of sequences, and row i of "
        "it then lands on head i. np.expand_dims(mask, -3) is right for both.",
        "5.5",
        ("one mask for all",),
    ),
    Mutant(
        "values from X",
        lambda X, M, W_q, W_k, W_v, W_o, H, mask=None: _keys_from_x(X, M, W_q, W_k, W_v, W_o, H, mask, keys=False),
        "The values are made from X, and only the keys from M: both come from the memory.",
        "5.6",
        ("self-attention",),
    ),
    Mutant(
        "multiplied by the scale",
        _layer(scale=lambda W_q, K, V: 1 / math.sqrt(K.shape[-1])),
        "The scores are multiplied by √d_k: they are divided by it.",
        "5.2",
        ALL,
    ),
    Mutant(
        "divided by sqrt(m)",
        _layer(scale=lambda W_q, K, V: math.sqrt(K.shape[-2])),
        "The scores are divided by the root of the number of keys: a score of one head adds d_k products, however "
        "many keys there are.",
        "5.2",
        ALL,
    ),
    Mutant(
        "heads joined in the other order",
        _layer(wire=lambda Z: merge(Z[..., ::-1, :, :])),
        "The heads are joined from the last to the first: head h belongs to the rows h k to (h + 1) k of W_o.",
        "5.3",
        ALL,
    ),
    Mutant(
        "X and M exchanged",
        _layer(roles=lambda X, M, W_q, W_k, W_v, H: (*((M, X) if X.shape == M.shape else (X, M)), W_q, W_k, W_v)),
        "The queries are made from M, and keys and values from X: it is X that asks, and the memory M that answers.",
        "5.6",
        ("self-attention",),
    ),
    Mutant(
        "X added",
        lambda X, M, W_q, W_k, W_v, W_o, H, mask=None: _stream_added(X, *_layer()(X, M, W_q, W_k, W_v, W_o, H, mask)),
        "X is added to the output: this layer is the attention alone, and the sum with the stream stands outside of "
        "it.",
        "5.4",
        ("self-attention",),
    ),
)

# 05.3


def _flat(left, right):
    return left.reshape(-1, left.shape[-1]).T @ right.reshape(-1, right.shape[-1])


def _apart(left, right):
    return left.mT @ right


def _row_sum(dA, A):
    return (A * dA).sum(axis=-1, keepdims=True)


def _gradients(unmerge=split, rejoin=merge, last=merge, memory=lambda k, v: k + v, share=False, root=None, one=False,
               swap="", collect=_flat, dS_of=None, dK_of=lambda dS, Q: dS.mT @ Q, dV_of=lambda A, dZ: A.mT @ dZ):
    def function(dO, X, M, W_q, W_k, W_v, W_o, A):
        H = A.shape[-3]
        Q, K, V = split(X @ W_q, H), split(M @ W_k, H), split(M @ W_v, H)
        dZ = unmerge(dO @ W_o.T, H) / (H if share else 1)
        dA = dZ @ V.mT
        dS = dS_of(dA, A) if dS_of else A * (dA - _row_sum(dA, A))
        dS = dS / (root(W_q, K, V) if root else math.sqrt(K.shape[-1]))
        dQ, dK, dV = rejoin(dS @ K), rejoin(dK_of(dS, Q)), rejoin(dV_of(A, dZ))
        dX, dM = dQ @ W_q.T, memory(dK @ W_k.T, dV @ W_v.T)
        if one:
            dX, dM = dX + dM if dX.shape == dM.shape else dX, dM
        keys_from, values_from = (X if name in swap and X.shape == M.shape else M for name in "kv")
        return dX, dM, collect(X, dQ), collect(keys_from, dK), collect(values_from, dV), collect(last(A @ V), dO)

    return function


SCORES = ("dX", "dM", "the maps", "cross-attention", "batch")
FROM_KEYS = ("dM", "the maps")

GRADIENTS = (
    Mutant(
        "values' path to the memory forgotten",
        _gradients(memory=lambda k, v: k),
        "dM has the path through the keys alone: the memory was read twice, so add dV W_vᵀ.",
        "5.6",
        ("dM", "cross-attention", "batch"),
    ),
    Mutant(
        "keys' path to the memory forgotten",
        _gradients(memory=lambda k, v: v),
        "dM has the path through the values alone: the memory was read twice, so add dK W_kᵀ.",
        "5.6",
        ("dM", "cross-attention", "batch"),
    ),
    Mutant(
        "dZ cut by reshape",
        _gradients(unmerge=cut_only),
        "dO W_oᵀ is cut by a reshape alone: the backward of merge is split, the transpose included.",
        "5.5",
        ("dM", "dX", "the maps", "cross-attention", "batch"),
    ),
    Mutant(
        "joined by reshape",
        _gradients(rejoin=join_only),
        "dQ, dK and dV are joined by a reshape alone: the backward of split is merge, the transpose included.",
        "5.5",
        ("dM", "dX", "the maps", "cross-attention", "batch"),
    ),
    Mutant(
        "Z joined by reshape",
        _gradients(last=join_only),
        "dW_o is made with heads that were joined by a reshape alone: dW_o = Zᵀ dO needs the Z of the forward pass.",
        "5.3",
        ("dW_o", "cross-attention", "batch"),
    ),
    Mutant(
        "a share of dO",
        _gradients(share=True),
        "Each head is given 1/H of the gradient: the output is a sum, so every head receives the whole of dO, seen "
        "through its own block of W_o.",
        "5.5",
        ("dM", "dX", "the maps", "cross-attention", "batch"),
    ),
    Mutant(
        "scaled by the width of all heads",
        _gradients(root=lambda W_q, K, V: math.sqrt(W_q.shape[1])),
        "dQ and dK are divided by √(H d_k): the forward pass divided by √d_k.",
        "5.2",
        ("dM", "dX", "the maps", "cross-attention", "batch"),
    ),
    Mutant(
        "X and M taken for one",
        _gradients(one=True),
        "dX contains dM: that is right when M is X. Here they are two arrays, and each has its own gradient.",
        "5.6",
        ("dX",),
    ),
    Mutant(
        "maps of the memory fed with X",
        _gradients(swap="kv"),
        "dW_k and dW_v are made with X: these maps read the memory, so their gradients are Mᵀ dK and Mᵀ dV.",
        "5.6",
        ("the maps",),
    ),
    Mutant(
        "maps not summed over the sequences",
        _gradients(collect=_apart),
        "This is a gradient of the maps for each sequence: all used the same maps, so sum over all leading axes.",
        "5.5",
        ("batch",),
    ),
    Mutant(
        "maps averaged over the sequences",
        _gradients(collect=lambda left, right: _flat(left, right) * left.shape[-2] / left[..., 0].size),
        "The gradients of the maps are averaged over the sequences: every sequence used them whole, so sum.",
        "5.5",
        ("batch",),
    ),
    Mutant(
        "X and M exchanged",
        lambda *given: tuple(_gradients()(*given)[i] for i in (1, 0, 2, 3, 4, 5)),
        "dX and dM stand in each other's place: the order of the outputs is dX, dM, dW_q, dW_k, dW_v, dW_o.",
        "5.6",
        ("dX", "dM", "cross-attention", "batch"),
    ),
    Mutant(
        "scale forgotten",
        _gradients(root=lambda W_q, K, V: 1),
        "1/√d_k is missing in the backward pass: the scores were scaled on the way forward.",
        "5.5",
        SCORES,
    ),
    Mutant(
        "scale twice",
        _gradients(root=lambda W_q, K, V: K.shape[-1]),
        "The gradients of the scores are divided by d_k: the factor 1/√d_k comes in once on each way.",
        "5.5",
        SCORES,
    ),
    Mutant(
        "divided by sqrt(d_v)",
        _gradients(root=lambda W_q, K, V: math.sqrt(V.shape[-1])),
        "The gradients of the scores are divided by √d_v: the forward pass divided by √d_k.",
        "5.5",
        ("cross-attention", "batch"),
    ),
    Mutant(
        "divided by sqrt(d)",
        _gradients(root=lambda W_q, K, V: math.sqrt(W_q.shape[0])),
        "The gradients of the scores are divided by √d, the width of a token: the forward pass divided by √d_k.",
        "5.5",
        ("cross-attention", "batch"),
    ),
    Mutant(
        "row sum forgotten",
        _gradients(dS_of=lambda dA, A: A * dA),
        "In the softmax backward the row sum is missing: dS = A ∘ (dA − rowsum(A ∘ dA)).",
        "5.5",
        SCORES,
    ),
    Mutant(
        "diagonal only",
        _gradients(dS_of=lambda dA, A: A * (1 - A) * dA),
        "Only the diagonal of the softmax Jacobian is used: each score moves all the weights of its row.",
        "5.5",
        SCORES,
    ),
    Mutant(
        "unweighted sum",
        _gradients(dS_of=lambda dA, A: A * (dA - dA.sum(axis=-1, keepdims=True))),
        "In the softmax backward the row sum is taken of dA alone: it must be weighted, rowsum(A ∘ dA).",
        "5.5",
        SCORES,
    ),
    Mutant(
        "sum over the queries",
        _gradients(dS_of=lambda dA, A: A * (dA - (A * dA).sum(axis=-2, keepdims=True))),
        "In the softmax backward the sum runs down the columns: each row of A is one softmax.",
        "5.5",
        SCORES,
    ),
    Mutant(
        "softmax skipped",
        _gradients(dS_of=lambda dA, A: dA),
        "dA is used as dS: the softmax lies between the weights and the scores.",
        "5.5",
        SCORES,
    ),
    Mutant(
        "dS not transposed",
        _gradients(dK_of=lambda dS, Q: dS @ Q),
        "dK is dS Q: key j collects from all queries i, which is column j of dS, so dK = dSᵀ Q / √d_k.",
        "5.5",
        FROM_KEYS,
    ),
    Mutant(
        "A not transposed",
        _gradients(dV_of=lambda A, dZ: A @ dZ),
        "dV is A dZ: value j collects from all queries i that read it, which is column j of A, so dV = Aᵀ dZ.",
        "5.5",
        FROM_KEYS,
    ),
    Mutant(
        "dW_k fed with X",
        _gradients(swap="k"),
        "dW_k is made with X: the keys are made from the memory, so its gradient is Mᵀ dK.",
        "5.6",
        ("the maps",),
    ),
    Mutant(
        "dW_v fed with X",
        _gradients(swap="v"),
        "dW_v is made with X: the values are made from the memory, so its gradient is Mᵀ dV.",
        "5.6",
        ("the maps",),
    ),
    Mutant(
        "row sum added",
        _gradients(dS_of=lambda dA, A: A * (dA + _row_sum(dA, A))),
        "In the softmax backward the row sum is added: it is taken away, dS = A ∘ (dA − rowsum(A ∘ dA)).",
        "5.5",
        SCORES,
    ),
    Mutant(
        "A on the first term alone",
        _gradients(dS_of=lambda dA, A: A * dA - _row_sum(dA, A)),
        "In the softmax backward A multiplies dA alone: it stands in front of both terms, dS = A ∘ (dA − rowsum(A ∘ "
        "dA)).",
        "5.5",
        SCORES,
    ),
    Mutant(
        "multiplied by the scale",
        _gradients(root=lambda W_q, K, V: 1 / math.sqrt(K.shape[-1])),
        "The gradients of the scores are multiplied by √d_k: backward, as forward, the scale divides.",
        "5.5",
        SCORES,
    ),
)

# 05.4


def _circuits(W, H):
    q, k, v = (np.stack(np.split(W[x], H, axis=1)) for x in ("W_q", "W_k", "W_v"))
    return q @ k.mT, v @ np.stack(np.split(W["W_o"], H))


def _near(a, b):
    return bool(np.abs(a - b).max() < 1e-9)


def _all_near(first, second, H):
    return all(_near(a, b) for a, b in zip(_circuits(first, H), _circuits(second, H), strict=True))


def _some_order(left, right):
    """Is there for each matrix of `left` one in `right` that is near?"""
    return all(any(_near(a, b) for b in right) for a in left)


def _of_one_kind(which):
    return lambda first, second, H: _some_order(_circuits(first, H)[which], _circuits(second, H)[which])


def _apart(first, second, H):
    return all(_some_order(a, b) for a, b in zip(_circuits(first, H), _circuits(second, H), strict=True))


def _sums(first, second, H):
    return all(_near(a.sum(0), b.sum(0)) for a, b in zip(_circuits(first, H), _circuits(second, H), strict=True))


def _blocks(W, H):
    q, k, v = (np.split(W[x], H, axis=1) for x in ("W_q", "W_k", "W_v"))
    return [np.concatenate([x.ravel() for x in head])
            for head in zip(q, k, v, np.split(W["W_o"], H), strict=True)]


def _singular(first, second, H):
    """Singular values do not tell two circuits apart that only differ in their directions."""
    values = [[np.linalg.svd(c, compute_uv=False) for c in _circuits(W, H)] for W in (first, second)]
    return all(_near(np.sort(a, axis=None), np.sort(b, axis=None)) for a, b in zip(*values, strict=True))


SAME = (
    Mutant(
        "parameters compared",
        lambda first, second, H: all(_near(first[x], second[x]) for x in WEIGHTS),
        "The matrices themselves are compared: within a head W_q and W_k can be turned against each other, and W_v and "
        "W_o, and heads can trade places; the layer stays the same.",
        "5.4",
        ("turned or not", "heads in any order", "other sizes"),
    ),
    Mutant(
        "heads in one order",
        _all_near,
        "Head h is compared with head h alone: the heads are added, so their order means nothing.",
        "5.4",
        ("heads in any order", "other sizes"),
    ),
    Mutant(
        "blocks in some order",
        lambda first, second, H: _some_order(_blocks(first, H), _blocks(second, H)),
        "The heads may stand in another order here, but their matrices have to be the same: turned within a head, they "
        "still make the same layer.",
        "5.4",
        ("turned or not", "heads in any order", "other sizes"),
    ),
    Mutant(
        "scores alone",
        _of_one_kind(0),
        "Only W_q W_kᵀ is compared: who looks at whom is half of a head, what is brought from there the other half.",
        "5.4",
        ("turned or not", "heads in any order", "other sizes"),
    ),
    Mutant(
        "values alone",
        _of_one_kind(1),
        "Only W_v W_o is compared: what is brought is half of a head, and who looks at whom the other half.",
        "5.4",
        ("turned or not", "heads in any order", "other sizes"),
    ),
    Mutant(
        "circuits apart",
        _apart,
        "The W_q W_kᵀ and the W_v W_o are each found again, but not in pairs: a head is both together, and one that "
        "looks where another did brings something else from there.",
        "5.4",
        ("heads in any order", "other sizes"),
    ),
    Mutant(
        "sums over the heads",
        _sums,
        "The circuits are added over the heads before they are compared (W_q W_kᵀ of the whole matrices is such a "
        "sum): each head has a softmax of its own.",
        "5.4",
        ("heads in any order", "other sizes"),
    ),
    Mutant(
        "singular values",
        _singular,
        "Singular values are compared: they say how strong a map is, not in which directions.",
        "5.4",
        ("heads in any order", "other sizes"),
    ),
    Mutant(
        "always the same",
        lambda first, second, H: True,
        "Every pair is called the same.",
        "5.4",
        ("turned or not", "heads in any order", "other sizes"),
    ),
)

# 05.5


def _left(formula):
    return lambda d, H, G, d_k, d_v: d * (H + G) * (d_k + d_v) - formula(d, H, G, d_k, d_v)


COUNTS = ("no sharing", "one head", "groups", "other sizes")
SHARING = ("groups", "other sizes")
FREE = (
    Mutant(
        "all of them",
        _left(lambda d, H, G, d_k, d_v: 0),
        "These are all parameters: some changes of them leave every circuit as it is.",
        "5.4",
        COUNTS,
    ),
    Mutant(
        "a turn for each query head",
        _left(lambda d, H, G, d_k, d_v: H * (d_k**2 + d_v**2)),
        "A turn is taken off for each query head: the heads of a group share one W_k and one W_v, so all of them have "
        "to turn together.",
        "5.8",
        SHARING,
    ),
    Mutant(
        "nothing shared",
        lambda d, H, G, d_k, d_v: 2 * d * H * (d_k + d_v) - H * (d_k**2 + d_v**2),
        "This is the number for a layer in which nothing is shared: W_k and W_v have G heads only.",
        "5.8",
        SHARING,
    ),
    Mutant(
        "parameters not shared",
        lambda d, H, G, d_k, d_v: 2 * d * H * (d_k + d_v) - G * (d_k**2 + d_v**2),
        "W_k and W_v are counted with H heads: they have G.",
        "5.8",
        SHARING,
    ),
    Mutant(
        "values not shared",
        lambda d, H, G, d_k, d_v: d * (H + G) * d_k + 2 * d * H * d_v - G * d_k**2 - H * d_v**2,
        "The keys are shared here and the values are not: W_v has G heads, as W_k has.",
        "5.8",
        SHARING,
    ),
    Mutant(
        "keys turned alone",
        _left(lambda d, H, G, d_k, d_v: G * d_k**2),
        "Only the freedom of queries and keys is taken off: values and W_o have one too, d_v² a group.",
        "5.4",
        COUNTS,
    ),
    Mutant(
        "values of each head turned",
        _left(lambda d, H, G, d_k, d_v: G * d_k**2 + H * d_v**2),
        "The values of each query head are turned by themselves: a group has one W_v, so there is one turn a group.",
        "5.8",
        SHARING,
    ),
    Mutant(
        "one turn",
        _left(lambda d, H, G, d_k, d_v: d_k**2 + d_v**2),
        "The freedom is taken off once: each group can be turned by itself, so it is G (d_k² + d_v²).",
        "5.4",
        ("no sharing", "groups", "other sizes"),
    ),
    Mutant(
        "one large turn",
        _left(lambda d, H, G, d_k, d_v: (G * d_k) ** 2 + (G * d_v) ** 2),
        "A turn of all columns at once is taken off: it would mix the heads, whose softmaxes are apart. Only turns "
        "within one group are free.",
        "5.4",
        ("no sharing", "groups", "other sizes"),
    ),
    Mutant(
        "rotations only",
        _left(lambda d, H, G, d_k, d_v: G * (d_k * (d_k - 1) + d_v * (d_v - 1)) // 2),
        "Rotations alone are taken off: any invertible matrix will do, since W_k takes its inverse, transposed.",
        "5.4",
        COUNTS,
    ),
    Mutant(
        "one product of widths",
        _left(lambda d, H, G, d_k, d_v: G * d_k * d_v),
        "d_k d_v is taken off for each group: the matrices that turn are square, d_k × d_k for the scores and "
        "d_v × d_v for the values, and there is one of each.",
        "5.4",
        COUNTS,
    ),
    Mutant(
        "widths not squared",
        _left(lambda d, H, G, d_k, d_v: G * (d_k + d_v)),
        "d_k + d_v is taken off for each group: a matrix that turns d_k dimensions has d_k² numbers.",
        "5.4",
        COUNTS,
    ),
    Mutant(
        "one query head a group",
        lambda d, H, G, d_k, d_v: G * (2 * d * (d_k + d_v) - d_k**2 - d_v**2),
        "Every group is counted with one query head and one block of W_o: it has H / G of them.",
        "5.8",
        SHARING,
    ),
    Mutant(
        "heads that fill the width",
        lambda d, H, G, d_k, d_v: 4 * d * d - 2 * d * d // H,
        "This is 4 d² − 2 d²/H, the number for H d_k = H d_v = d and G = H alone: keep all five sizes in the formula.",
        "5.4",
        SHARING,
    ),
    Mutant(
        "one width",
        _left(lambda d, H, G, d_k, d_v: 2 * G * d_k**2),
        "d_k² is taken off twice a group, which is right for d_k = d_v alone: the values turn in d_v dimensions.",
        "5.4",
        SHARING,
    ),
)

# 05.6


def _moving(order, names=WEIGHTS, near=lambda a, b: np.abs(a - b).max() < 1e-9, back=False):
    """The output before and after the heads trade places, in some of the matrices."""

    def function(layer, X, W_q, W_k, W_v, W_o, H):
        W = dict(zip(WEIGHTS, (W_q, W_k, W_v, W_o), strict=True))
        moved = moved_heads(W, order(H), names)
        if back:
            moved["W_o"] = moved_heads(W, np.argsort(order(H)), ("W_o",))["W_o"]
        return bool(near(layer(X, *W.values(), H), layer(X, *moved.values(), H)))

    return function


def _cycle(H):
    return np.roll(np.arange(H), 1)


def _tokens(layer, X, *rest):
    order = _cycle(len(X))
    return bool(np.abs(layer(X, *rest)[order] - layer(X[order], *rest)).max() < 1e-9)


def _single_columns(layer, X, W_q, W_k, W_v, W_o, H):
    q, v = _cycle(W_q.shape[1]), _cycle(W_v.shape[1])
    moved = layer(X, W_q[:, q], W_k[:, q], W_v[:, v], W_o[v], H)
    return bool(np.abs(layer(X, W_q, W_k, W_v, W_o, H) - moved).max() < 1e-9)


def _within_heads(layer, X, W_q, W_k, W_v, W_o, H):
    def turn(size):
        return np.arange(size).reshape(H, -1)[:, ::-1].ravel()

    q, v = turn(W_q.shape[1]), turn(W_v.shape[1])
    moved = layer(X, W_q[:, q], W_k[:, q], W_v[:, v], W_o[v], H)
    return bool(np.abs(layer(X, W_q, W_k, W_v, W_o, H) - moved).max() < 1e-9)


MOVES = (
    Mutant(
        "rows left behind",
        _moving(_cycle, ("W_q", "W_k", "W_v")),
        "The rows of W_o stay where they were, so that every head meets another's: a layer with nothing wrong fails.",
        "5.4",
        ("two wires", "five wires", "other layers"),
    ),
    Mutant(
        "values left behind",
        _moving(_cycle, ("W_q", "W_k")),
        "Only queries and keys trade places: their values and their rows of W_o belong to the head and go with it.",
        "5.4",
        ("two wires", "five wires", "other layers"),
    ),
    Mutant(
        "rows moved back",
        _moving(_cycle, ("W_q", "W_k", "W_v"), back=True),
        "The rows of W_o are moved by the inverse order: block h of the rows has to follow block h of the columns.",
        "5.4",
        ("two wires", "five wires"),
    ),
    Mutant(
        "nothing moved",
        _moving(np.arange),
        "No head was moved, so the output was compared with itself or not at all: every layer passes such a check.",
        "5.10",
        ("two wires", "five wires", "other layers"),
    ),
    Mutant(
        "only W_o moved",
        _moving(_cycle, ("W_o",)),
        "Only the rows of W_o are moved: a head is its columns of W_q, W_k and W_v and its rows of W_o together.",
        "5.4",
        ("two wires", "five wires", "other layers"),
    ),
    Mutant(
        "bit for bit",
        _moving(_cycle, near=np.array_equal),
        "The outputs are compared bit for bit: sums in another order round differently, so a right layer fails too. "
        "Allow for 1e-9, say.",
        "5.10",
        ("five wires",),
    ),
    Mutant(
        "tokens for heads",
        _tokens,
        "The tokens trade places and not the heads: this finds a wrong merge, but not features that are dealt out.",
        "5.10",
        ("five wires",),
    ),
    Mutant(
        "single columns",
        _single_columns,
        "Single columns are moved, across the borders of the heads: the block of a head has to stay together.",
        "5.3",
        ("two wires", "five wires", "other layers"),
    ),
    Mutant(
        "within the heads",
        _within_heads,
        "Features trade places within each head: layers that mix up the heads as wholes can pass.",
        "5.4",
        ("five wires",),
    ),
)

# 05.7


def _prune(columns, rows, after=lambda W_o, H, keep: W_o):
    def function(W_q, W_k, W_v, W_o, H, keep):
        few = [W[:, columns(W.shape[1], H, keep)] for W in (W_q, W_k, W_v)]
        return *few, after(W_o[rows(W_o.shape[0], H, keep)], H, keep)

    return function


def _block(size, H, keep):
    k = size // H
    return [h * k + c for h in keep for c in range(k)]


def _dealt(size, H, keep):
    return [h + H * c for h in keep for c in range(size // H)]


def _leading(size, H, keep):
    return list(range(size // H * len(keep)))


def _others(size, H, keep):
    return _block(size, H, [h for h in range(H) if h not in keep][: len(keep)])


def _sorted(size, H, keep):
    return _block(size, H, sorted(keep))


def _one_width(W_q, W_k, W_v, W_o, H, keep):
    c = _block(W_q.shape[1], H, keep)
    return W_q[:, c], W_k[:, c], W_v[:, c], W_o[c]


def _zeros(W_q, W_k, W_v, W_o, H, keep):
    def kept(W, axis):
        return np.concatenate([b if h in keep else 0 * b for h, b in enumerate(np.split(W, H, axis))], axis)

    return kept(W_q, 1), kept(W_k, 1), kept(W_v, 1), kept(W_o, 0)


PRUNED = ("two of six", "in another order", "one of three")
PRUNE = (
    Mutant(
        "dealt out",
        _prune(_dealt, _dealt),
        "The columns h, h + H, h + 2H, … are kept: head h owns the block of columns from h k to (h + 1) k.",
        "5.3",
        PRUNED,
    ),
    Mutant(
        "first heads",
        _prune(_leading, _leading),
        "The first heads are kept, as many as were asked for: keep the blocks that the list names.",
        "5.4",
        PRUNED,
    ),
    Mutant(
        "W_o from the top",
        _prune(_block, _leading),
        "The columns are right, but W_o keeps its first rows: head h meets the rows from h d_v to (h + 1) d_v.",
        "5.4",
        PRUNED,
    ),
    Mutant(
        "made up for",
        _prune(_block, _block, lambda W_o, H, keep: W_o * H / len(keep)),
        "W_o is multiplied by H over the heads that are left: heads are added, so the others keep what they had.",
        "5.4",
        PRUNED,
    ),
    Mutant(
        "one width for all",
        _one_width,
        "The columns of W_v and the rows of W_o are cut in blocks of d_k: the values have a width of their own, d_v.",
        "5.4",
        ("two of six", "in another order", "three of five"),
    ),
    Mutant(
        "single columns",
        lambda W_q, W_k, W_v, W_o, H, keep: (W_q[:, keep], W_k[:, keep], W_v[:, keep], W_o[keep]),
        "One column is kept for each head: a head is a block of columns, from h k to (h + 1) k − 1.",
        "5.3",
        PRUNED,
    ),
    Mutant(
        "zeros in their place",
        _zeros,
        "The other heads are set to zero and still there: the smaller layer has smaller matrices.",
        "5.4",
        PRUNED,
    ),
    Mutant(
        "sorted",
        _prune(_sorted, _sorted),
        "The heads are kept, but sorted: the question asks for the order of the list. (The layer would be the same.)",
        "5.4",
        ("in another order",),
    ),
    Mutant(
        "all others",
        lambda W_q, W_k, W_v, W_o, H, keep: _prune(_block, _block)(
            W_q, W_k, W_v, W_o, H, [h for h in range(H) if h not in keep]),
        "The heads of the list are taken out, and all others kept: it names those that stay.",
        "5.4",
        PRUNED,
    ),
    Mutant(
        "counted from one",
        lambda W_q, W_k, W_v, W_o, H, keep: _prune(_block, _block)(W_q, W_k, W_v, W_o, H, [(h - 1) % H for h in keep]),
        "The heads are counted from 1: head h owns the columns from h k on, and the first is head 0.",
        "5.3",
        PRUNED,
    ),
)

# 05.8


def _fits(tokens):
    return lambda memory, layers, texts, H, G, d_k, d_v, bytes_each: tokens(
        memory, layers, texts, H, G, d_k, d_v, bytes_each)


CACHE = ("one text", "a batch", "other sizes")
MEMORY = (
    Mutant(
        "every query head counted",
        _fits(lambda memory, L, B, H, G, d_k, d_v, b: memory // (L * B * H * (d_k + d_v) * b)),
        "H heads are kept: the query heads of a group share one head of keys and values, so G of each are kept.",
        "5.8",
        CACHE,
    ),
    Mutant(
        "queries kept",
        _fits(lambda memory, L, B, H, G, d_k, d_v, b: memory // (L * B * (H * d_k + G * (d_k + d_v)) * b)),
        "The queries are kept as well: a query is used once, by its own token.",
        "5.8",
        CACHE,
    ),
    Mutant(
        "keys alone",
        _fits(lambda memory, L, B, H, G, d_k, d_v, b: memory // (L * B * G * d_k * b)),
        "Only the keys are kept: every new token mixes all earlier values, too.",
        "5.8",
        CACHE,
    ),
    Mutant(
        "values as wide as keys",
        _fits(lambda memory, L, B, H, G, d_k, d_v, b: memory // (L * B * G * 2 * d_k * b)),
        "The values are counted with the width of the keys: they have d_v numbers.",
        "5.8",
        CACHE,
    ),
    Mutant(
        "one layer",
        _fits(lambda memory, L, B, H, G, d_k, d_v, b: memory // (B * G * (d_k + d_v) * b)),
        "One layer is counted: every layer has keys and values of its own.",
        "5.8",
        CACHE,
    ),
    Mutant(
        "one text counted",
        _fits(lambda memory, L, B, H, G, d_k, d_v, b: memory // (L * G * (d_k + d_v) * b)),
        "One text is counted: each text has keys and values of its own.",
        "5.8",
        ("a batch", "other sizes"),
    ),
    Mutant(
        "two for keys and values, twice",
        _fits(lambda memory, L, B, H, G, d_k, d_v, b: memory // (L * B * 2 * G * (d_k + d_v) * b)),
        "Keys and values are counted twice: d_k + d_v has both of them already.",
        "5.8",
        CACHE,
    ),
    Mutant(
        "heads of a group",
        _fits(lambda memory, L, B, H, G, d_k, d_v, b: memory // (L * B * (H // G) * (d_k + d_v) * b)),
        "H / G heads are counted: that is how many queries share one head of keys, and there are G of these.",
        "5.8",
        CACHE,
    ),
    Mutant(
        "widths multiplied",
        _fits(lambda memory, L, B, H, G, d_k, d_v, b: memory // (L * B * G * d_k * d_v * b)),
        "d_k and d_v are multiplied: a key and a value lie one beside the other, which makes d_k + d_v numbers.",
        "5.8",
        CACHE,
    ),
    Mutant(
        "numbers for bytes",
        _fits(lambda memory, L, B, H, G, d_k, d_v, b: memory // (L * B * G * (d_k + d_v))),
        "A number is counted as one byte.",
        "5.8",
        CACHE,
    ),
    Mutant(
        "bits",
        _fits(lambda memory, L, B, H, G, d_k, d_v, b: memory // (L * B * G * (d_k + d_v) * b * 8)),
        "There is a factor 8, as for bits: the memory is in bytes, and so is the size of a number.",
        "5.8",
        CACHE,
    ),
    Mutant(
        "pairs of tokens",
        _fits(lambda memory, L, B, H, G, d_k, d_v, b: math.isqrt(memory // (L * B * G * (d_k + d_v) * b))),
        "This is a square root, as if something were kept for every pair of tokens: keys and values are kept for each "
        "token once.",
        "5.8",
        CACHE,
    ),
    Mutant(
        "rounded up",
        _fits(lambda memory, L, B, H, G, d_k, d_v, b: -(-memory // (L * B * G * (d_k + d_v) * b))),
        "The number is rounded up, or to the nearest: the last token does not fit.",
        "5.8",
        CACHE,
    ),
    Mutant(
        "not whole",
        _fits(lambda memory, L, B, H, G, d_k, d_v, b: memory / (L * B * G * (d_k + d_v) * b)),
        "The number is not whole: round it down to whole tokens.",
        "5.8",
        CACHE,
    ),
    Mutant(
        "one head of keys",
        _fits(lambda memory, L, B, H, G, d_k, d_v, b: memory // (L * B * (d_k + d_v) * b)),
        "One head of keys and values is counted: there are G of them in each layer.",
        "5.8",
        CACHE,
    ),
    Mutant(
        "bytes the wrong way",
        _fits(lambda memory, L, B, H, G, d_k, d_v, b: memory * b // (L * B * G * (d_k + d_v))),
        "The memory is multiplied by the bytes of a number: larger numbers take more room, so fewer tokens fit.",
        "5.8",
        ("one text", "a batch", "other sizes", "another text"),
    ),
    Mutant(
        "memory in bits",
        _fits(lambda memory, L, B, H, G, d_k, d_v, b: 8 * memory // (L * B * G * (d_k + d_v) * b)),
        "The memory is counted in bits, and a number in bytes: both are given in bytes.",
        "5.8",
        ("one text", "a batch", "other sizes", "another text"),
    ),
    Mutant(
        "heads times groups",
        _fits(lambda memory, L, B, H, G, d_k, d_v, b: memory // (L * B * H * G * (d_k + d_v) * b)),
        "H and G are multiplied: G heads of keys and values are kept, and the H query heads share them.",
        "5.8",
        ("one text", "a batch", "other sizes", "another text"),
    ),
)

# 05.9


def _ahead(n):
    import torch

    return torch.ones(n, n).triu(1).bool()


def _module(wire="merge", scale=lambda d, k: k, ahead=_ahead, hide=None, across=-1, turned=False, low=-1e30, late=False,
            last=lambda Z, W_o, X: Z @ W_o):
    """A module with one part replaced by a wrong one."""

    def make(d, H):
        import torch

        class Layer(torch.nn.Module):
            def __init__(self):
                super().__init__()
                for name in WEIGHTS:
                    W = torch.randn(d, d) / math.sqrt(d)
                    setattr(self, name, W if hide and name in hide else torch.nn.Parameter(W))

            def forward(self, X):
                B, n, _ = X.shape
                heads = [X @ (W.T if turned else W) for W in (self.W_q, self.W_k, self.W_v)]
                if wire == "cut":
                    Q, K, V = (Y.reshape(B, H, n, d // H) for Y in heads)
                elif wire == "deal":
                    Q, K, V = (Y.reshape(B, n, d // H, H).permute(0, 3, 1, 2) for Y in heads)
                else:
                    Q, K, V = (Y.reshape(B, n, H, d // H).transpose(1, 2) for Y in heads)
                S = Q @ K.mT / math.sqrt(scale(d, d // H))
                if late:
                    Z = torch.softmax(S, dim=across).masked_fill(ahead(n), 0.0) @ V
                else:
                    Z = torch.softmax(S.masked_fill(ahead(n), low), dim=across) @ V
                if wire == "deal":
                    Z = Z.permute(0, 2, 3, 1)
                elif wire == "merge":
                    Z = Z.transpose(1, 2)
                return last(Z.reshape(B, n, d), self.W_o.T if turned else self.W_o, X)

        return Layer()

    return make


def _in_a_list(d, H):
    import torch

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.heads = [torch.nn.Linear(d, 3 * d // H, bias=False) for _ in range(H)]
            self.W_o = torch.nn.Parameter(torch.randn(d, d))

    return Layer()


def _in_a_module_list(d, H):
    import torch

    class Head(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for name in WEIGHTS[:3]:
                setattr(self, name, torch.nn.Parameter(torch.randn(d, d // H)))

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.heads = torch.nn.ModuleList([Head() for _ in range(H)])
            self.W_o = torch.nn.Parameter(torch.randn(d, d))

    return Layer()


def _linear_layers(d, H):
    import torch

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for name in WEIGHTS:
                setattr(self, name, torch.nn.Linear(d, d, bias=False))

    return Layer()


def _kept_mask(d, H):
    import torch

    class Layer(type(_module()(d, H))):
        def __init__(self):
            super().__init__()
            self.register_buffer("mask", torch.ones(8, 8).tril().bool())

    return Layer()


MODULE_EVERY = ("output", "gradients", "longer", "other sizes")
MODULES = (
    Mutant(
        "heads in a list",
        _in_a_list,
        "The heads are in a Python list, where PyTorch does not look: no optimizer finds their parameters, and nothing "
        "saves them. Make four parameters of the layer itself.",
        "5.11",
        MODULE_EVERY,
    ),
    Mutant(
        "heads in a ModuleList",
        _in_a_module_list,
        "The parameters are found now, head by head: ask for the four matrices that hold all heads side by side, so "
        "that one product makes all queries and a saved tree fits.",
        "5.11",
        MODULE_EVERY,
    ),
    Mutant(
        "linear layers",
        _linear_layers,
        "These are nn.Linear layers: their parameters are called W_q.weight and so on, and are stored transposed. Use "
        "nn.Parameter for the matrices themselves.",
        "5.11",
        MODULE_EVERY,
    ),
    Mutant(
        "plain tensors",
        _module(hide=WEIGHTS),
        "The matrices are plain tensors: only an nn.Parameter is found by an optimizer.",
        "5.11",
        MODULE_EVERY,
    ),
    Mutant(
        "mask in the state",
        _kept_mask,
        "The mask is saved with the parameters, and it has one length: make it in forward, for the length of X "
        "(or register it with persistent=False).",
        "5.11",
        MODULE_EVERY,
    ),
    Mutant(
        "merged without transpose",
        _module(wire="reshape"),
        "The heads are merged by a reshape alone: bring the head axis back beside the features first.",
        "5.3",
        MODULE_EVERY,
    ),
    Mutant(
        "cut and merged without transpose",
        _module(wire="cut"),
        "X W is cut by reshape(B, H, n, k): that gives each head a slice of the tokens. Cut the features, "
        "reshape(B, n, H, k), and then swap the axes.",
        "5.3",
        MODULE_EVERY,
    ),
    Mutant(
        "dealt out",
        _module(wire="deal"),
        "The features are dealt out to the heads in turn: head h owns the columns h d/H to (h + 1) d/H − 1.",
        "5.3",
        MODULE_EVERY,
    ),
    Mutant(
        "scaled by the width of a token",
        _module(scale=lambda d, k: d),
        "The scores are divided by √d: a score of one head adds d/H products.",
        "5.2",
        MODULE_EVERY,
    ),
    Mutant(
        "no scale",
        _module(scale=lambda d, k: 1),
        "The scores are not divided by the root of the head's width.",
        "5.2",
        MODULE_EVERY,
    ),
    Mutant(
        "no mask",
        _module(ahead=lambda n: _ahead(n) & False),
        "Tokens look ahead: the layer is causal, token i may attend to the tokens 0 to i.",
        "5.11",
        MODULE_EVERY,
    ),
    Mutant(
        "mask one too far",
        _module(ahead=lambda n: _ahead(n).triu(2)),
        "Each token sees one token too many: triu(1) is what lies ahead, triu(2) forgets the next token.",
        "5.11",
        MODULE_EVERY,
    ),
    Mutant(
        "softmax over the queries",
        _module(across=-2),
        "The softmax runs over the queries: it is the keys that compete for a query.",
        "5.2",
        MODULE_EVERY,
    ),
    Mutant(
        "transposed",
        _module(turned=True),
        "The matrices are used transposed, as nn.Linear stores them: tokens are rows, so queries are X W_q.",
        "5.11",
        MODULE_EVERY,
    ),
    Mutant(
        "triangle upside down",
        _module(ahead=lambda n: _ahead(n).T),
        "The triangle is upside down: earlier tokens are hidden, and later ones seen. Token i may attend to the "
        "tokens 0 to i.",
        "5.11",
        MODULE_EVERY,
    ),
    Mutant(
        "not itself",
        _module(ahead=lambda n: _ahead(n) | _ahead(n).logical_not().triu(0)),
        "A token does not see itself: the causal mask keeps j = i, so what is hidden begins one above the diagonal.",
        "5.11",
        MODULE_EVERY,
    ),
    Mutant(
        "scores set to zero",
        _module(low=0.0),
        "Hidden scores are set to 0, and exp(0) is 1: they must be −∞ before the softmax.",
        "5.11",
        MODULE_EVERY,
    ),
    Mutant(
        "mask after the softmax",
        _module(late=True),
        "The weights are set to zero after the softmax: rows no longer sum to one, and the hidden keys still act "
        "through the denominator.",
        "5.11",
        MODULE_EVERY,
    ),
    Mutant(
        "X added",
        _module(last=lambda Z, W_o, X: X + Z @ W_o),
        "X is added to the output: this module is the attention alone, and the sum with the stream stands outside of "
        "it.",
        "5.11",
        MODULE_EVERY,
    ),
    Mutant(
        "W_o forgotten",
        _module(last=lambda Z, W_o, X: Z + 0 * (Z @ W_o)),
        "The heads are joined and returned as they are: the last map, W_o, is missing.",
        "5.4",
        MODULE_EVERY,
    ),
    Mutant(
        "not itself, and 0/0",
        _module(ahead=lambda n: _ahead(n) | _ahead(n).logical_not().triu(0), low=-math.inf),
        "A token does not see itself, so that nothing is left for the first one, which is 0/0: the causal mask keeps "
        "j = i, and what is hidden begins one above the diagonal.",
        "5.11",
        MODULE_EVERY,
    ),
    Mutant(
        "mask inverted",
        _module(ahead=lambda n: ~_ahead(n)),
        "What is to be seen is hidden, the token itself too, and only later tokens are seen: masked_fill hides where "
        "its mask is True.",
        "5.11",
        MODULE_EVERY,
    ),
    Mutant(
        "mask inverted, and 0/0",
        _module(ahead=lambda n: ~_ahead(n), low=-math.inf),
        "What is to be seen is hidden, the token itself too, so that nothing is left for the last one, which is 0/0: "
        "masked_fill hides where its mask is True.",
        "5.11",
        MODULE_EVERY,
    ),
)

# 05.10


def _strength(size, p):
    return math.sqrt(size) * math.log(2 * size * p / (1 - p))


def _head(q=0, k=1, v=0, strength=_strength, back=None):
    """Query, key and value each read the own one-hot (0) or that of the token before (1)."""

    def function(size, p):
        part = [np.eye(2 * size)[:, i * size : (i + 1) * size] for i in (0, 1)]
        return strength(size, p) * part[q], part[k], part[v], back(size) if back else np.eye(size)

    return function


INDUCTION_EVERY = ("five words", "a dozen", "another vocabulary")
INDUCE = (
    Mutant(
        "own against own",
        _head(q=0, k=0),
        "Every token looks for tokens like itself, and finds itself and its earlier twin: it should look for the token "
        "that came *after* its twin, which carries the twin in its second half.",
        "5.4",
        INDUCTION_EVERY,
    ),
    Mutant(
        "before against before",
        _head(q=1, k=1),
        "Tokens that follow the same token find each other, and each finds itself: ask with the own one-hot, answer "
        "with that of the token before.",
        "5.4",
        INDUCTION_EVERY,
    ),
    Mutant(
        "query and key exchanged",
        _head(q=1, k=0),
        "Every token looks at the token before it, since its second half meets their first: exchange queries and keys.",
        "5.4",
        INDUCTION_EVERY,
    ),
    Mutant(
        "value of the token before",
        _head(v=1),
        "The head looks at the right place, but brings the token before it, which is the one that asks: bring the own "
        "one-hot of the token found.",
        "5.4",
        INDUCTION_EVERY,
    ),
    Mutant(
        "too weak",
        _head(strength=lambda size, p: 1.0),
        "The place is right, but the weight is too small: a score of 1/√d_k hardly stands out: longer queries do.",
        "5.4",
        INDUCTION_EVERY,
    ),
    Mutant(
        "scale forgotten",
        _head(strength=lambda size, p: math.log((2 * size - 1) * p / (1 - p))),
        "The score would do without the scale: it is divided by √d_k, so the queries must be longer by that.",
        "5.2",
        INDUCTION_EVERY,
    ),
    Mutant(
        "one rival",
        _head(strength=lambda size, p: math.sqrt(size) * math.log(p / (1 - p))),
        "The strength is enough against one other key: a token may see up to 2 size − 1, each with the score 0.",
        "5.2",
        INDUCTION_EVERY,
    ),
    Mutant(
        "output of full width",
        _head(back=lambda size: np.eye(size, 2 * size)),
        "The output is as wide as a token: W_o has size columns, one score for each word of the vocabulary.",
        "5.4",
        INDUCTION_EVERY,
    ),
    Mutant(
        "minus sign",
        _head(back=lambda size: -np.eye(size)),
        "The word found gets the lowest score and not the highest.",
        "5.4",
        INDUCTION_EVERY,
    ),
)

# 05.11


def _converted(side=None, by_head=None, apart=None):
    def function(W, H, layout):
        wrong = {"side by side": side, "by head": by_head, "apart": apart}[layout]
        if wrong:
            return wrong(W, H)
        if layout == "side by side":
            return tuple(np.split(W.T, 3, axis=1))
        if layout == "by head":
            parts = W.reshape(H, 3, -1, W.shape[-1])
            return tuple(parts[:, i].reshape(-1, W.shape[-1]).T for i in range(3))
        return tuple(np.moveaxis(W, 1, 2).reshape(3, W.shape[2], -1))

    return function


def _thirds(W, H):
    return tuple(np.split(W.T, 3, axis=1))


def _heads_first(W, H):
    parts = W.reshape(H, 3, -1, W.shape[-1])
    return tuple(parts[:, i].reshape(-1, W.shape[-1]).T for i in range(3))


CHECKPOINTS = (
    Mutant(
        "rows for columns",
        _converted(side=lambda W, H: tuple(np.split(W, 3))),
        "The three thirds are cut out rightly, but they are stored transposed, outputs in rows: here weights are "
        "(in, out).",
        "5.11",
        ("side by side",),
    ),
    Mutant(
        "reshape for transpose",
        _converted(side=lambda W, H: tuple(np.split(W.reshape(W.shape[1], -1), 3, axis=1))),
        "A reshape is used where a transpose is due: the shape is right, and the numbers are in other places.",
        "5.3",
        ("side by side",),
    ),
    Mutant(
        "by head taken for side by side",
        _converted(by_head=_thirds),
        "The rows are cut in three: here each head has its own queries, keys and values, one after the other, before "
        "the next head begins.",
        "5.11",
        ("by head",),
    ),
    Mutant(
        "side by side taken for by head",
        _converted(side=_heads_first),
        "The rows are cut by heads first: here all queries come first, then all keys, then all values.",
        "5.11",
        ("side by side",),
    ),
    Mutant(
        "dealt out in threes",
        _converted(by_head=lambda W, H: tuple(W[i::3].T for i in range(3))),
        "Every third row is taken: within a head the rows of the queries stand together, then those of the keys, then "
        "those of the values.",
        "5.3",
        ("by head", "more heads"),
    ),
    Mutant(
        "three before heads",
        _converted(by_head=lambda W, H: tuple(
            W.reshape(-1, H, 3, W.shape[-1])[:, :, i].swapaxes(0, 1).reshape(-1, W.shape[-1]).T for i in range(3))),
        "The axes are cut in another order than they lie in memory: rows are counted by head, then by query, key or "
        "value, then by feature.",
        "5.3",
        ("by head", "more heads"),
    ),
    Mutant(
        "transposed, by head",
        _converted(by_head=lambda W, H: tuple(
            W.reshape(H, 3, -1, W.shape[-1])[:, i].reshape(-1, W.shape[-1]) for i in range(3))),
        "The blocks are found, but they are stored transposed, outputs in rows: here weights are (in, out).",
        "5.11",
        ("by head", "more heads"),
    ),
    Mutant(
        "reshape alone",
        _converted(apart=lambda W, H: tuple(W[i].reshape(W.shape[2], -1) for i in range(3))),
        "(H, d, d_k) is made (d, H d_k) by a reshape alone: the head axis has to come beside the features first.",
        "5.3",
        ("apart",),
    ),
    Mutant(
        "features before heads",
        _converted(apart=lambda W, H: tuple(np.moveaxis(W[i], 0, -1).reshape(W.shape[2], -1) for i in range(3))),
        "The features of the heads are dealt out in turn: column h d_k + c belongs to head h, so the head axis comes "
        "before the features.",
        "5.3",
        ("apart",),
    ),
    Mutant(
        "values before keys",
        lambda W, H, layout: tuple(_converted()(W, H, layout)[i] for i in (0, 2, 1)),
        "Keys and values are exchanged: the order is queries, keys, values.",
        "5.11",
        ("side by side", "by head", "apart", "more heads"),
    ),
    Mutant(
        "heads stacked",
        _converted(apart=lambda W, H: tuple(W.reshape(3, -1, W.shape[-1]))),
        "The matrices of the heads are put below each other: they stand side by side, head h in the columns h d_k to "
        "(h + 1) d_k.",
        "5.3",
        ("apart",),
    ),
    Mutant(
        "every third row",
        _converted(side=lambda W, H: tuple(W[i::3].T for i in range(3))),
        "Every third row is taken: first come all rows of the queries, then those of the keys, then those of the "
        "values.",
        "5.3",
        ("side by side",),
    ),
    Mutant(
        "keys before queries",
        lambda W, H, layout: tuple(_converted()(W, H, layout)[i] for i in (1, 0, 2)),
        "Queries and keys are exchanged: the order is queries, keys, values.",
        "5.11",
        ("side by side", "by head", "apart", "more heads"),
    ),
)
