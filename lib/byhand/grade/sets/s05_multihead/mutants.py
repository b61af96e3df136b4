"""Known wrong answers, each with the message that names the misconception."""

import math

import numpy as np

from ...model import Mutant
from .cases import NAMES, forward, merge, softmax, split

# 05.1


def _pieces(token, head):
    def function(n, H):
        r, s = np.arange(n)[:, None], np.arange(H)
        shape = np.zeros((n, H), int)
        return token(r, s, n, H) + shape, head(r, s, n, H) + shape

    return function


ROWS = ("four tokens", "more heads than tokens", "long", "one token")
WHOSE = (
    Mutant(
        "the right merge",
        _pieces(lambda r, s, n, H: r, lambda r, s, n, H: s),
        "This is what the rows hold with the transpose: row r is token r of all heads. Without it, memory goes head "
        "by head, and a reshape keeps the order of memory.",
        "5.3",
        ("four tokens", "more heads than tokens", "long"),
    ),
    Mutant(
        "row r from piece r on",
        _pieces(lambda r, s, n, H: (r + s) % n, lambda r, s, n, H: (r + s) // n),
        "Row r is taken from piece r on: every row uses up H pieces, so row r begins with piece r H.",
        "5.3",
        ("four tokens", "more heads than tokens", "long"),
    ),
    Mutant(
        "token and head exchanged",
        _pieces(lambda r, s, n, H: (r * H + s) // n, lambda r, s, n, H: (r * H + s) % n),
        "Token and head are exchanged: the head is the slow digit of the address (the quotient), the token the fast "
        "one (the remainder).",
        "5.3",
        ROWS,
    ),
    Mutant(
        "rows of n pieces",
        _pieces(lambda r, s, n, H: (r * n + s) % n, lambda r, s, n, H: np.minimum((r * n + s) // n, H - 1)),
        "Rows are counted as n pieces long: a row of the merged matrix has H pieces, one for each head it should hold.",
        "5.3",
        ROWS[:3],
    ),
)

# 05.2


def _layer(wire=merge, cut=split, scale=None, roles=None):
    """Multi-head attention with one part replaced by a wrong one."""

    def function(X, M, W_q, W_k, W_v, W_o, H, mask=None):
        if roles:
            X, M, W_q, W_k, W_v = roles(X, M, W_q, W_k, W_v, H)
        Q, K, V = cut(X @ W_q, H), cut(M @ W_k, H), cut(M @ W_v, H)
        S = Q @ K.mT / (scale(W_q) if scale else math.sqrt(Q.shape[-1]))
        if mask is not None:
            S = np.where(mask if mask.ndim == 2 else mask[:, None], S, -1e30)
        A = softmax(S)
        return wire(A @ V) @ W_o, A

    return function


def _join(Z):
    return Z.reshape(*Z.shape[:-3], Z.shape[-2], Z.shape[-3] * Z.shape[-1])


def _cut(X, H):
    return X.reshape(*X.shape[:-2], H, X.shape[-2], X.shape[-1] // H)


def _deal(X, H):
    return np.moveaxis(X.reshape(*X.shape[:-1], X.shape[-1] // H, H), -1, -3)


def _collect(Z):
    Z = np.moveaxis(Z, -3, -1)
    return Z.reshape(*Z.shape[:-2], Z.shape[-2] * Z.shape[-1])


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


ALL = ("self-attention", "cross-attention", "a batch of masks", "two axes in front")
MULTIHEAD = (
    Mutant(
        "merge without transpose",
        _layer(wire=_join),
        "The heads are merged by a reshape alone: each row then holds several tokens of one head. Bring the head axis "
        "back beside the features first.",
        "5.3",
        ALL,
    ),
    Mutant(
        "cut and merge without transpose",
        _layer(wire=_join, cut=_cut),
        "X W is cut by reshape(…, H, n, k): that gives each head a slice of the tokens. Cut the features, "
        "reshape(…, n, H, k), and then swap the axes.",
        "5.3",
        ALL,
    ),
    Mutant(
        "features dealt out",
        _layer(wire=_collect, cut=_deal),
        "The features are dealt out to the heads in turn: head h owns the columns h k to (h + 1) k, side by side.",
        "5.3",
        ALL,
    ),
    Mutant(
        "scaled by the width of all heads",
        _layer(scale=lambda W_q: math.sqrt(W_q.shape[1])),
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
)

# 05.3


def _flat(left, right):
    return left.reshape(-1, left.shape[-1]).T @ right.reshape(-1, right.shape[-1])


def _apart(left, right):
    return left.mT @ right


def _gradients(unmerge=split, rejoin=merge, last=merge, memory=lambda k, v: k + v, share=False, wide=False, one=False,
               swap=False, collect=_flat):
    def function(dO, X, M, W_q, W_k, W_v, W_o, A):
        H = A.shape[-3]
        Q, K, V = split(X @ W_q, H), split(M @ W_k, H), split(M @ W_v, H)
        dZ = unmerge(dO @ W_o.T, H) / (H if share else 1)
        dA = dZ @ V.mT
        root = math.sqrt(W_q.shape[1] if wide else Q.shape[-1])
        dS = A * (dA - (A * dA).sum(axis=-1, keepdims=True)) / root
        dQ, dK, dV = rejoin(dS @ K), rejoin(dS.mT @ Q), rejoin(A.mT @ dZ)
        dX, dM = dQ @ W_q.T, memory(dK @ W_k.T, dV @ W_v.T)
        if one:
            dX, dM = dX + dM if dX.shape == dM.shape else dX, dM
        source = X if swap and X.shape == M.shape else M
        return dX, dM, collect(X, dQ), collect(source, dK), collect(source, dV), collect(last(A @ V), dO)

    return function


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
        _gradients(unmerge=_cut),
        "dO W_oᵀ is cut by a reshape alone: the backward of merge is split, the transpose included.",
        "5.5",
        ("dM", "dX", "the maps", "cross-attention", "batch"),
    ),
    Mutant(
        "joined by reshape",
        _gradients(rejoin=_join),
        "dQ, dK and dV are joined by a reshape alone: the backward of split is merge, the transpose included.",
        "5.5",
        ("dM", "dX", "the maps", "cross-attention", "batch"),
    ),
    Mutant(
        "Z joined by reshape",
        _gradients(last=_join),
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
        _gradients(wide=True),
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
        _gradients(swap=True),
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
)

# 05.4


def _sums(blocks=None, value=None):
    def function(W_q, W_k, W_v, W_o, H):
        cut = blocks or (lambda W: np.stack(np.split(W, H, axis=1)))
        cut = (lambda W: blocks(W, H)) if blocks else cut
        U_q, U_k, v = cut(W_q), cut(W_k), cut(W_v)
        return U_q, U_k, value(v, W_v, W_o, H) if value else v @ np.stack(np.split(W_o, H))

    return function


def _dealt_rows(v, W_v, W_o, H):
    return v @ np.stack([W_o[h::H] for h in range(H)])


SUMS = (
    Mutant(
        "cut by reshape",
        _sums(blocks=lambda W, H: W.reshape(H, W.shape[0], -1)),
        "The columns are cut by a reshape alone, which cuts rows: take columns h k to (h + 1) k for head h.",
        "5.3",
        ("two heads", "any widths", "three heads"),
    ),
    Mutant(
        "rows of W_o dealt out",
        _sums(value=_dealt_rows),
        "The rows of W_o are dealt out to the heads in turn: head h has the block of rows from h d_v to (h + 1) d_v.",
        "5.4",
        ("two heads", "any widths", "three heads"),
    ),
    Mutant(
        "all heads in each map",
        _sums(value=lambda v, W_v, W_o, H: np.stack([W_v @ W_o] * H)),
        "Each V̄_h is the whole product W_v W_o: that is the sum of all of them.",
        "5.4",
        ("two heads", "any widths", "three heads"),
    ),
    Mutant(
        "transposed",
        _sums(value=lambda v, W_v, W_o, H: np.swapaxes(v @ np.stack(np.split(W_o, H)), 1, 2)),
        "The V̄_h are transposed: tokens are rows here, so V̄_h = W_v^h W_o^h maps width d to width d_o.",
        "5.4",
        ("two heads", "any widths", "three heads"),
    ),
    Mutant(
        "divided by the number of heads",
        _sums(value=lambda v, W_v, W_o, H: v @ np.stack(np.split(W_o, H)) / H),
        "The V̄_h are divided by H: heads are added, not averaged.",
        "5.4",
        ("two heads", "any widths", "three heads"),
    ),
)

# 05.5

COUNTS = ("one full head", "eight heads", "any sizes", "other sizes")
FREE = (
    Mutant(
        "all of them",
        lambda d, H, d_k, d_v: 2 * H * d * (d_k + d_v),
        "These are all parameters: some changes of them leave both circuits as they are.",
        "5.4",
        COUNTS,
    ),
    Mutant(
        "one gauge",
        lambda d, H, d_k, d_v: 2 * H * d * (d_k + d_v) - H * d_k**2,
        "Only the freedom of queries and keys is taken off: values and W_o have one too, d_v² a head.",
        "5.4",
        COUNTS,
    ),
    Mutant(
        "a gauge for all heads together",
        lambda d, H, d_k, d_v: 2 * H * d * (d_k + d_v) - d_k**2 - d_v**2,
        "The freedom is taken off once: each head can be turned by itself, so it is H (d_k² + d_v²).",
        "5.4",
        ("eight heads", "any sizes", "other sizes"),
    ),
    Mutant(
        "one large turn",
        lambda d, H, d_k, d_v: 2 * H * d * (d_k + d_v) - (H * d_k) ** 2 - (H * d_v) ** 2,
        "A turn of all H d_k columns at once is taken off: it would mix the heads, whose softmaxes are apart. Only "
        "turns within one head are free.",
        "5.4",
        ("eight heads", "any sizes", "other sizes"),
    ),
    Mutant(
        "rotations only",
        lambda d, H, d_k, d_v: 2 * H * d * (d_k + d_v) - H * (d_k * (d_k - 1) + d_v * (d_v - 1)) // 2,
        "Rotations alone are taken off: any invertible matrix will do, since W_k takes its inverse, transposed.",
        "5.4",
        COUNTS,
    ),
    Mutant(
        "heads that fill the width",
        lambda d, H, d_k, d_v: 4 * d * d - 2 * d * d // H,
        "This is the number for H d_k = H d_v = d alone: d_k and d_v may be any sizes, so keep them in the formula.",
        "5.4",
        ("any sizes", "other sizes"),
    ),
)

# 05.6


def _no_transpose(X, M, W_q, W_k, W_v, W_o, H):
    A = forward(X, M, W_q, W_k, W_v, W_o, H)[1]
    return (A @ split(M @ W_v, H)).reshape(len(X), -1) @ W_o


def _first(X, M, W_q, W_k, W_v, W_o, H):
    k = W_q.shape[1] // H
    return forward(X, M, *(np.tile(W[:, :k], H) for W in (W_q, W_k, W_v)), W_o, H)[0]


CANDIDATES = {
    "correct": lambda *x: forward(*x)[0],
    "merged without transpose": _no_transpose,
    "one projection for all": _first,
    "keys and values swapped": lambda X, M, W_q, W_k, W_v, W_o, H: forward(X, M, W_q, W_v, W_k, W_o, H)[0],
    "queries from memory": lambda X, M, *W: forward(M, X, *W)[0],
}


def _nearest(**renamed):
    """The candidate whose output comes nearest, under another name where `renamed` says so (None: not considered)."""
    names = {name: renamed.get(name.replace(" ", "_"), name) for name in NAMES}

    def function(X, M, W_q, W_k, W_v, W_o, H, O):
        near = {name: np.abs(CANDIDATES[name](X, M, W_q, W_k, W_v, W_o, H) - O).max() for name in names if names[name]}
        return names[min(near, key=near.get)]

    return function


def _correct_or_not(X, M, W_q, W_k, W_v, W_o, H, O):
    return NAMES[0] if np.allclose(forward(X, M, W_q, W_k, W_v, W_o, H)[0], O) else NAMES[1]


SEEN = ("four exhibits", "one is innocent", "other sizes")
DETECTIVES = (
    Mutant(
        "two verdicts",
        _correct_or_not,
        "Every wrong output is called \u201cmerged without transpose\u201d: build all five candidates and compare.",
        "5.3",
        SEEN,
    ),
    Mutant(
        "always guilty",
        _nearest(correct=None),
        "An output with nothing wrong is accused: compare with the right layer as well.",
        "5.2",
        ("one is innocent",),
    ),
    Mutant(
        "swaps confused",
        _nearest(keys_and_values_swapped="queries from memory", queries_from_memory="keys and values swapped"),
        "Two swaps are exchanged: one exchanges W_k and W_v, the other exchanges the two sequences X and M.",
        "5.6",
        SEEN,
    ),
    Mutant(
        "wires confused",
        _nearest(merged_without_transpose="one projection for all", one_projection_for_all="merged without transpose"),
        "Two faults are exchanged: with one projection all heads return the same columns; without the transpose the "
        "rows mix tokens.",
        "5.3",
        SEEN,
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


PRUNED = ("two of four", "in another order", "one of three")
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
        "sorted",
        _prune(_sorted, _sorted),
        "The heads are kept, but sorted: the question asks for the order of the list. (The layer would be the same.)",
        "5.4",
        ("in another order",),
    ),
)

# 05.8


def _grouped(function):
    def of(dK, G):
        *lead, H, m, k = dK.shape
        return function(dK, G, lead, H // G, m, k)

    return of


SHARED_CASES = ("six heads, two groups", "one group", "batch", "eight heads")
SHARED = (
    Mutant(
        "groups in turn",
        _grouped(lambda dK, G, lead, t, m, k: dK.reshape(*lead, t, G, m, k).sum(axis=-4)),
        "Heads 0, G, 2G, … are added: that fits np.tile. Neighbouring heads share a group: 0 to H/G − 1, and so on.",
        "5.8",
        ("six heads, two groups", "batch", "eight heads"),
    ),
    Mutant(
        "mean",
        _grouped(lambda dK, G, lead, t, m, k: dK.reshape(*lead, G, t, m, k).mean(axis=-3)),
        "The gradients of a group are averaged: the key was copied to all its heads, so they add.",
        "5.8",
        SHARED_CASES,
    ),
    Mutant(
        "last head only",
        _grouped(lambda dK, G, lead, t, m, k: dK.reshape(*lead, G, t, m, k)[..., -1, :, :]),
        "Only the last head of each group sends its gradient: all heads that read a key do.",
        "5.8",
        SHARED_CASES,
    ),
    Mutant(
        "summed over the keys",
        _grouped(lambda dK, G, lead, t, m, k: np.broadcast_to(
            dK.reshape(*lead, G, t, m, k).sum(axis=(-3, -2))[..., None, :], (*lead, G, m, k)).copy()),
        "The sum runs over the keys as well: each key keeps its own gradient, only the heads of a group are added.",
        "5.8",
        SHARED_CASES,
    ),
)
