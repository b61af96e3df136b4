"""Known wrong answers, each with the message that names the misconception."""

import math

import numpy as np

from ...model import Mutant
from .cases import weights

# 10.1


def _shift(inputs=None, labels=None):
    def function(texts, lengths, bos, pad, ignore):
        real = np.arange(texts.shape[1]) < lengths[:, None]
        moved = np.concatenate([np.full_like(texts[:, :1], bos), texts[:, :-1]], axis=1)
        x, y = np.where(real, moved, pad), np.where(real, texts, ignore)
        return (inputs(texts, lengths, bos, pad, real, moved) if inputs else x,
                labels(texts, ignore, real) if labels else y)

    return function


EVERY_TEXT = ("one text", "padded", "one word", "longer")

def _until_pad(texts, lengths, bos, pad, ignore):
    real = texts != pad
    moved = np.concatenate([np.full_like(texts[:, :1], bos), texts[:, :-1]], axis=1)
    return np.where(real, moved, pad), np.where(real, texts, ignore)


SHIFTS = (
    Mutant(
        "exchanged",
        lambda texts, lengths, bos, pad, ignore: _shift()(texts, lengths, bos, pad, ignore)[::-1],
        "Inputs and labels have changed places: what is read comes first, and begins with BOS.",
        "10.5",
        EVERY_TEXT,
    ),
    Mutant(
        "no BOS",
        _shift(
            inputs=lambda t, n, bos, pad, real, moved: np.where(real, t, pad),
            labels=lambda t, ignore, real: np.concatenate(
                [np.where(real, t, ignore)[:, 1:], np.full_like(t[:, :1], ignore)], axis=1
            ),
        ),
        "Without BOS the first word is never predicted, and the last row has nothing to say: put BOS in front, and "
        "predict every word.",
        "10.5",
        EVERY_TEXT,
    ),
    Mutant(
        "not shifted",
        _shift(inputs=lambda t, n, bos, pad, real, moved: t),
        "The inputs are the text itself: each row then reads the very word that it must say, and learns to copy.",
        "10.5",
        EVERY_TEXT,
    ),
    Mutant(
        "bos in the labels",
        _shift(labels=lambda t, ignore, real: np.where(
            real, np.concatenate([np.full_like(t[:, :1], 9), t[:, :-1]], axis=1), ignore)),
        "The labels are shifted too: BOS is read and never said; the labels are the text as it is.",
        "10.5",
        EVERY_TEXT,
    ),
    Mutant(
        "shifted left",
        _shift(inputs=lambda t, n, bos, pad, real, moved: np.where(
            real, np.concatenate([t[:, 1:], np.full_like(t[:, :1], bos)], axis=1), pad)),
        "The text is shifted the wrong way: each row would read the word after the one that it must say.",
        "10.5",
        EVERY_TEXT,
    ),
    Mutant(
        "wrapped around",
        _shift(inputs=lambda t, n, bos, pad, real, moved: np.where(real, np.roll(t, 1, axis=1), pad)),
        "np.roll brings the last word to the front, where BOS should stand.",
        "10.5",
        EVERY_TEXT,
    ),
    Mutant(
        "padding among the labels",
        _shift(labels=lambda t, ignore, real: t),
        "The labels hold padding: the model would be trained to say it. Put ignore where a row has ended.",
        "10.5",
        ("padded", "one word"),
    ),
    Mutant(
        "last word among the inputs",
        _shift(inputs=lambda t, n, bos, pad, real, moved: moved),
        "Where a row has ended the inputs hold its last word: nothing is to be said there, so put pad.",
        "10.5",
        ("padded", "one word"),
    ),
    Mutant(
        "pad tells the end",
        _until_pad,
        "The end of a text is looked up by the id of pad: a word may have the same id, and what comes after the end "
        "may be anything. `lengths` says where a text ends.",
        "10.5",
        ("pad is a word",),
    ),
    Mutant(
        "labels shifted as well",
        _shift(labels=lambda texts, ignore, real: np.where(
            real, np.concatenate([texts[:, 1:], texts[:, :1]], axis=1), ignore)),
        "The labels are shifted as well, to the left: the inputs are one place late already, so row i says the word at "
        "place i of the text.",
        "10.5",
        ("one text", "padded", "longer"),
    ),
    Mutant(
        "BOS over the first word",
        _shift(inputs=lambda texts, lengths, bos, pad, real, moved: np.where(
            real, np.where(np.arange(texts.shape[1]) == 0, bos, texts), pad)),
        "BOS stands in the place of the first word, and the others have not moved: all words move on by one, and the "
        "last one drops out.",
        "10.5",
        ("one text", "padded", "longer"),
    ),
    Mutant(
        "one input too few",
        _shift(inputs=lambda texts, lengths, bos, pad, real, moved: np.where(
            np.arange(texts.shape[1]) < lengths[:, None] - 1, moved, pad)),
        "One input is missing: the row that has read the last word but one says the last word, so there are as many "
        "inputs as words.",
        "10.5",
        ("one text", "padded", "one word", "longer"),
    ),
    Mutant(
        "one label too many",
        _shift(labels=lambda texts, ignore, real: np.where(
            np.arange(texts.shape[1]) <= real.sum(axis=1, keepdims=True), texts, ignore)),
        "One label too many: the first lengths[b] of row b are real, so the comparison is <, not ≤.",
        "10.5",
        ("padded",),
    ),
)

# 10.2


def _memory(add=None, slope=lambda Y: 1 - Y * Y, chain=True, A_T=True, W_T=True, past=0):
    def function(dY, Y, A, W):
        terms, top = [], dY
        for i in reversed(range(len(A))):
            dU = dY * slope(Y[i + 1])
            a, w = A[i].T if A_T else A[i], W[i].T if W_T else W[i]
            terms.insert(0, a @ dU @ w)
            dY = top if chain == "top" and i else dU + past * dY if chain else top
        return (add or sum)(terms), dY

    return function


def _forwards(dY, Y, A, W):
    dM = 0
    for i in range(len(A)):
        dY = dY * (1 - Y[i + 1] * Y[i + 1])
        dM = dM + A[i].T @ dY @ W[i].T
    return dM, dY


def _at_input(dY, Y, A, W):
    dM = 0
    for i in reversed(range(len(A))):
        dY = dY * (1 - Y[i] * Y[i])
        dM = dM + A[i].T @ dY @ W[i].T
    return dM, dY


DEEP = ("two blocks", "four blocks", "three blocks")
EVERY_BLOCK = ("one block", *DEEP)

MEMORY = (
    Mutant(
        "slope of the sigmoid",
        _memory(slope=lambda Y: Y * (1 - Y)),
        "The slope is that of the sigmoid, y (1 − y): of tanh it is 1 − y².",
        "10.6",
        EVERY_BLOCK,
    ),
    Mutant(
        "slope of the root",
        _memory(slope=lambda Y: 1 - Y),
        "The slope of tanh is 1 − Y[l]: the square is missing.",
        "10.6",
        EVERY_BLOCK,
    ),
    Mutant(
        "slope of the input in place of the output",
        lambda dY, Y, A, W: _memory()(dY, np.tanh(Y), A, W),
        "tanh is applied to Y once more before its slope is taken: Y[l] is the output of tanh already.",
        "10.6",
        EVERY_BLOCK,
    ),
    Mutant(
        "maps from the other end",
        lambda dY, Y, A, W: _memory()(dY, Y, A[::-1], W[::-1]),
        "A and W are taken from the wrong end: block l has A[l − 1] and W[l − 1], and the backward pass meets the last "
        "block first.",
        "10.6",
        DEEP,
    ),
    Mutant(
        "only the last block",
        _memory(add=lambda terms: terms[-1]),
        "Only the last block sends a gradient to the memory: every block read it, so dM is the sum over all of them.",
        "10.6",
        DEEP,
    ),
    Mutant(
        "only the first block",
        _memory(add=lambda terms: terms[0]),
        "dM is overwritten in each turn of the loop: it must be added up.",
        "10.6",
        DEEP,
    ),
    Mutant(
        "mean over the blocks",
        _memory(add=lambda terms: sum(terms) / len(terms)),
        "The blocks' gradients are averaged: copies of one array add their gradients, they do not share one.",
        "10.6",
        DEEP,
    ),
    Mutant(
        "every block sees the top",
        _memory(chain=False),
        "dY is handed down as it came: block l gets what the block above it sends down, which is its own gradient "
        "times the slope of tanh, and so is the gradient of Y[0].",
        "10.6",
        DEEP,
    ),
    Mutant(
        "slope of tanh forgotten",
        _memory(slope=lambda Y: 1.0),
        "The slope of tanh, 1 − Y[l]², is missing.",
        "10.6",
        EVERY_BLOCK,
    ),
    Mutant(
        "slope at the input",
        _at_input,
        "The slope of tanh is taken at Y[l − 1]: it is 1 − Y[l]², of the output of the block.",
        "10.6",
        EVERY_BLOCK,
    ),
    Mutant(
        "A not transposed",
        _memory(A_T=False),
        "A is not transposed: memory row j collects from all target rows that read it, which is column j of A.",
        "10.6",
        EVERY_BLOCK,
    ),
    Mutant(
        "W not transposed",
        _memory(W_T=False),
        "W is not transposed: the gradient of M in M W is dU Wᵀ.",
        "10.6",
        EVERY_BLOCK,
    ),
    Mutant(
        "a stream past the block",
        _memory(past=1),
        "dY is handed on beside dU, as if the block were Y[l − 1] + tanh(…): here Y[l − 1] stands inside the tanh, and "
        "nothing goes past it.",
        "10.6",
        EVERY_BLOCK,
    ),
    Mutant(
        "dY to every block",
        _memory(chain="top"),
        "Every block begins with dY: what reaches block l has come through the slopes of tanh of all blocks above it.",
        "10.6",
        DEEP,
    ),
    Mutant(
        "from the bottom up",
        lambda dY, Y, A, W: _forwards(dY, Y, A, W),
        "The loop runs from the first block to the last: a gradient comes from the last one down.",
        "10.6",
        DEEP,
    ),
    Mutant(
        "one map for all",
        lambda dY, Y, A, W: _memory()(dY, Y, A, np.stack([W[0]] * len(W))),
        "The map of the first block is used for all: block l has its own W[l].",
        "10.6",
        DEEP,
    ),
    Mutant(
        "one set of weights for all",
        lambda dY, Y, A, W: _memory()(dY, Y, np.stack([A[0]] * len(A)), W),
        "The weights A of the first block are used for all: block l has its own A[l].",
        "10.6",
        DEEP,
    ),
)

# 10.3


def _reach(itself=True, order=1, join=None):
    def function(masks):
        seen = np.eye(masks.shape[-1], dtype=bool)
        masks = masks | seen if itself else masks
        for mask in masks[::order]:
            seen = mask.astype(int) @ seen.astype(int) > 0
        return join(masks) if join else seen

    return function


REACHED = ("windows", "other pairs", "no row sees itself", "another draw")
MIXED = ("other pairs", "no row sees itself", "another draw")

REACH = (
    Mutant(
        "one block too few",
        lambda masks: _reach()(masks[:-1]),
        "The last block is left out: the loop runs over all L masks.",
        "10.5",
        REACHED,
    ),
    Mutant(
        "the stack twice",
        lambda masks: _reach()(np.concatenate([masks, masks])),
        "The chains are twice as long as the stack: each mask counts once.",
        "10.5",
        ("windows",),
    ),
    Mutant(
        "one layer of all",
        _reach(join=lambda masks: masks.any(axis=0)),
        "A pair counts as soon as one block has it open: what row k has heard in a lower block, it hands on in a "
        "higher one, so pairs of different blocks join to chains.",
        "10.5",
        REACHED,
    ),
    Mutant(
        "open in every block",
        _reach(join=lambda masks: masks.all(axis=0)),
        "A pair counts only if every block has it open: one block is enough, and a chain through other rows is too.",
        "10.5",
        REACHED,
    ),
    Mutant(
        "residual forgotten",
        _reach(itself=False),
        "The residual path is forgotten: in every block a row also keeps what it is, whatever the mask says.",
        "10.1",
        ("no row sees itself",),
    ),
    Mutant(
        "blocks in the wrong order",
        _reach(order=-1),
        "The blocks are joined in the wrong order: the last block reads what the first has made, so its mask stands on "
        "the left of the product.",
        "10.1",
        MIXED,
    ),
    Mutant(
        "transposed",
        lambda masks: _reach()(masks).T,
        "Rows and columns are exchanged: row i of the result is output i, and says which inputs it knows about.",
        "10.5",
        REACHED,
    ),
    Mutant(
        "masks transposed",
        lambda masks: _reach()(masks.mT),
        "Every mask is read the wrong way round: row i of a mask is the row that asks.",
        "10.5",
        MIXED,
    ),
    Mutant(
        "the last block alone",
        _reach(join=lambda masks: masks[-1]),
        "Only the last block's mask is used: the rows that it reads have heard from others in the blocks below.",
        "10.5",
        REACHED,
    ),
    Mutant(
        "the first block again and again",
        lambda masks: _reach()(np.stack([masks[0]] * len(masks))),
        "The first block's mask is used for all blocks: each has its own.",
        "10.1",
        MIXED,
    ),
    Mutant(
        "one mask of all, in every block",
        _reach(join=lambda masks: np.linalg.matrix_power(masks.any(axis=0).astype(int), len(masks)) > 0),
        "Every block is given the pairs of all blocks together: a pair is open in its own block alone, and its chain "
        "goes through the others in their order.",
        "10.5",
        MIXED,
    ),
    Mutant(
        "everything in the end",
        lambda masks: np.linalg.matrix_power(_reach()(masks).astype(int), masks.shape[-1]) > 0,
        "The chains are longer than the stack: each block lets a row hear one step further, and then it is over.",
        "10.5",
        ("windows",),
    ),
    Mutant(
        "causal whatever the masks",
        lambda masks: np.tri(masks.shape[-1], dtype=bool),
        "Every row knows about all rows before it and no other: that is so for causal masks without a window; here the "
        "masks say who reads whom.",
        "10.5",
        REACHED,
    ),
    Mutant(
        "numbers of ways",
        lambda masks: np.linalg.multi_dot(
            [(m | np.eye(len(m), dtype=bool)).astype(int) for m in masks[::-1]]
        ),
        "This counts the ways from each input to each output: one way is enough, so ask whether the number is above "
        "zero.",
        "10.5",
        ("windows",),
    ),
)

# 10.4


def _reading(roles="YMM", scale=math.sqrt, axis=-1, use_mask=True, zeroed=False, wide=False):
    def function(Y, M, W_q, W_k, W_v, mask=None):
        arrays = {"Y": Y, "M": M}
        Q, K, V = (arrays[role] @ W for role, W in zip(roles, (W_q, W_k, W_v), strict=True))
        S = Q @ K.mT / scale(Y.shape[-1] if wide else Q.shape[-1])
        if mask is not None and use_mask and not zeroed:
            S = np.where(mask, S, -1e30)
        A = weights(S, axis=axis)
        if zeroed and mask is not None:
            A = A * mask
        return A @ V, A

    return function


def _attend(Q, K, V, mask, scale):
    S = Q @ K.mT / scale
    A = weights(S if mask is None else np.where(mask, S, -1e30))
    return A @ V, A


def _zero_scores(Q, K, V, mask):
    S = Q @ K.mT / Q.shape[-1] ** 0.5
    A = weights(S if mask is None else S * mask)
    return A @ V, A


def _plus_mask(Q, K, V, mask):
    S = Q @ K.mT / Q.shape[-1] ** 0.5
    A = weights(S if mask is None else S + mask)
    return A @ V, A


def _first(M):
    return np.arange(M.shape[-2]) == 0


EVERY_READING = ("values", "as long as the source", "padded source", "padded, equal lengths")

READING = (
    Mutant(
        "W_q and W_k exchanged",
        lambda Y, M, W_q, W_k, W_v, mask=None: _attend(Y @ W_k, M @ W_q, M @ W_v, mask, W_q.shape[-1] ** 0.5),
        "W_q and W_k have changed places: the queries are Y W_q.",
        "10.6",
        EVERY_READING,
    ),
    Mutant(
        "hidden scores of zero",
        lambda Y, M, W_q, W_k, W_v, mask=None: _zero_scores(Y @ W_q, M @ W_k, M @ W_v, mask),
        "Hidden scores are set to 0, which still gets a weight: a hidden key needs −∞ before the softmax.",
        "10.6",
        ("padded source", "padded, equal lengths"),
    ),
    Mutant(
        "divided by d_k",
        _reading(scale=float),
        "The scores are divided by d_k: it is its root, √d_k.",
        "10.6",
        EVERY_READING,
    ),
    Mutant(
        "divided by sqrt(m)",
        lambda Y, M, W_q, W_k, W_v, mask=None: _attend(Y @ W_q, M @ W_k, M @ W_v, mask, M.shape[-2] ** 0.5),
        "The scores are divided by the root of the number of source words: q · k adds d_k products, so it is √d_k.",
        "10.6",
        EVERY_READING,
    ),
    Mutant(
        "divided by sqrt(d_v)",
        lambda Y, M, W_q, W_k, W_v, mask=None: _attend(Y @ W_q, M @ W_k, M @ W_v, mask, W_v.shape[-1] ** 0.5),
        "The scores are divided by √d_v, the width of the values: q · k adds d_k products, so it is √d_k.",
        "10.6",
        EVERY_READING,
    ),
    Mutant(
        "mask the other way round",
        lambda Y, M, W_q, W_k, W_v, mask=None: _attend(
            Y @ W_q, M @ W_k, M @ W_v, None if mask is None else ~mask, W_q.shape[-1] ** 0.5
        ),
        "The mask is read the wrong way round: True means that a key may be attended to.",
        "10.6",
        ("padded source", "padded, equal lengths"),
    ),
    Mutant(
        "a causal mask",
        lambda Y, M, W_q, W_k, W_v, mask=None: _attend(
            Y @ W_q, M @ W_k, M @ W_v,
            np.tri(Y.shape[-2], M.shape[-2], dtype=bool) & (True if mask is None else mask | _first(M)),
            W_q.shape[-1] ** 0.5,
        ),
        "There is a causal mask on the source: it was read before the target began, so its future is no secret.",
        "10.6",
        ("values", "as long as the source"),
    ),
    Mutant(
        "queries from the encoder",
        _reading("MYY"),
        "The queries come from the encoder and the rest from the decoder: then there is a row for each source word, "
        "and every row mixes all of the target, its own label among them.",
        "10.6",
        ("values", "as long as the source"),
    ),
    Mutant(
        "values from the decoder",
        _reading("YMY"),
        "The values come from the decoder: then nothing of the source is ever handed over, only addresses.",
        "10.6",
        ("as long as the source",),
    ),
    Mutant(
        "self-attention",
        _reading("YYY"),
        "The memory is not read at all: keys and values must be made from M.",
        "10.6",
        ("values", "as long as the source"),
    ),
    Mutant(
        "the encoder alone",
        _reading("MMM"),
        "The decoder has no say: the queries must be made from Y.",
        "10.6",
        ("values", "as long as the source"),
    ),
    Mutant(
        "no scale",
        _reading(scale=lambda d: 1.0),
        "This is what you get when the scores are not divided by √d_k.",
        "10.6",
        EVERY_READING,
    ),
    Mutant(
        "softmax over the queries",
        _reading(axis=-2),
        "The softmax runs over the target words: the source words must compete for each of them.",
        "10.6",
        EVERY_READING,
    ),
    Mutant(
        "padding read",
        _reading(use_mask=False),
        "The mask is not used: padding of the source is read as if it were words.",
        "10.6",
        ("padded source", "padded, equal lengths"),
    ),
    Mutant(
        "mask after the softmax",
        _reading(zeroed=True),
        "The weights are set to zero after the softmax: their rows no longer sum to one.",
        "10.6",
        ("padded source", "padded, equal lengths"),
    ),
    Mutant(
        "divided by sqrt(d)",
        _reading(wide=True),
        "The scores are divided by √d, the width of the stream: q · k adds d_k products, so it is √d_k.",
        "10.6",
        EVERY_READING,
    ),
    Mutant(
        "keys from the decoder",
        _reading("YYM"),
        "The keys come from the decoder: a score then compares target words with each other; the keys stand beside the "
        "values, and are made from M.",
        "10.6",
        ("as long as the source", "padded, equal lengths"),
    ),
    Mutant(
        "mask added",
        lambda Y, M, W_q, W_k, W_v, mask=None: _plus_mask(Y @ W_q, M @ W_k, M @ W_v, mask),
        "The boolean mask is added to the scores: True counts as 1, and nothing is hidden. A hidden key needs −∞.",
        "10.6",
        ("padded source", "padded, equal lengths"),
    ),
)

# 10.5


def _tied(lookup=True, scored=True, scale_lookup=True, scale_scored=False, repeated=True, share=1.0):
    def function(E, ids, dX, H, dZ, scale):
        dE = np.zeros_like(E)
        if lookup:
            rows = (scale if scale_lookup else 1.0) * dX
            if repeated:
                np.add.at(dE, ids, rows)
            else:
                dE[ids] += rows
        if scored:
            V, d = E.shape
            factor = {True: scale, False: 1.0, "divided": 1 / scale}[scale_scored]
            dE = dE + factor * (dZ.reshape(-1, V).T @ H.reshape(-1, d))
        return share * dE

    return function


def _assigned(E, ids, rows, dE):
    dE[ids] = rows
    return dE


def _read_only(E, ids, dX, H, dZ, scale):
    dE = _tied()(E, ids, dX, H, dZ, scale)
    return np.where(np.isin(np.arange(len(E)), ids)[:, None], dE, 0)


EVERY_TABLE = ("no scale", "with a scale", "batch", "other numbers")
SCALED = ("with a scale", "batch", "other numbers")

TIED = (
    Mutant(
        "difference of the two",
        lambda E, ids, dX, H, dZ, scale: _tied(scored=False)(E, ids, dX, H, dZ, scale)
        - _tied(lookup=False)(E, ids, dX, H, dZ, scale),
        "The scores' share is taken away: gradients of two uses add.",
        "10.5",
        EVERY_TABLE,
    ),
    Mutant(
        "rows of E for H",
        lambda E, ids, dX, H, dZ, scale: _tied()(E, ids, dX, E[ids], dZ, scale),
        "The scores' share is made with the rows that were looked up: what met the table at the top is H.",
        "10.5",
        EVERY_TABLE,
    ),
    Mutant(
        "scale on the scores alone",
        _tied(scale_lookup=False, scale_scored=True),
        "The scale stands on the scores: the look-up was multiplied by it, and the scores are H Eᵀ without it.",
        "10.5",
        SCALED,
    ),
    Mutant(
        "scale twice",
        lambda E, ids, dX, H, dZ, scale: _tied()(E, ids, scale * dX, H, dZ, scale),
        "The look-up's share has the scale twice: once is enough.",
        "10.5",
        SCALED,
    ),
    Mutant(
        "divided by the scale",
        lambda E, ids, dX, H, dZ, scale: _tied()(E, ids, dX / scale**2, H, dZ, scale),
        "The look-up's share is divided by the scale: what multiplies on the way up multiplies on the way back.",
        "10.5",
        SCALED,
    ),
    Mutant(
        "scores of the words that were read",
        lambda E, ids, dX, H, dZ, scale: _read_only(E, ids, dX, H, dZ, scale),
        "The scores' share is kept for the words that stand in the text: every word was scored, read or not.",
        "10.5",
        ("no scale", "with a scale", "batch"),
    ),
    Mutant(
        "look-up alone",
        _tied(scored=False),
        "Only the rows that were looked up get a gradient: the table was also used for the scores of every word.",
        "10.5",
        EVERY_TABLE,
    ),
    Mutant(
        "scores alone",
        _tied(lookup=False),
        "Only the scores' share is there: the table was also looked up, and the words that were read get dX.",
        "10.5",
        EVERY_TABLE,
    ),
    Mutant(
        "mean of the two",
        _tied(share=0.5),
        "The two shares are averaged: gradients of two uses add.",
        "10.5",
        EVERY_TABLE,
    ),
    Mutant(
        "repeated words lost",
        _tied(repeated=False),
        "dE[ids] += … counts a word once, however often it stands in the text: use np.add.at.",
        "10.5",
        ("with a scale", "batch"),
    ),
    Mutant(
        "scale forgotten",
        _tied(scale_lookup=False),
        "The look-up was multiplied by the scale, so its gradient is too.",
        "10.5",
        SCALED,
    ),
    Mutant(
        "scale on both",
        _tied(scale_scored=True),
        "The scale stands on the look-up alone: the scores are H Eᵀ without it.",
        "10.5",
        SCALED,
    ),
    Mutant(
        "scores divided by the scale",
        _tied(scale_scored="divided"),
        "The scores' share is divided by the scale, which stands on the look-up alone: the scores are H Eᵀ without it.",
        "10.5",
        SCALED,
    ),
    Mutant(
        "√d for the scale",
        lambda E, ids, dX, H, dZ, scale: _tied()(E, ids, dX, H, dZ, E.shape[1] ** 0.5),
        "The look-up's gradient is multiplied by √d: it is the scale that is given, whatever that is.",
        "10.5",
        ("no scale",),
    ),
    Mutant(
        "mean over the places of a word",
        lambda E, ids, dX, H, dZ, scale: _tied(scored=False)(E, ids, dX, H, dZ, scale) / np.maximum(
            np.bincount(ids.ravel(), minlength=len(E)), 1)[:, None] + _tied(lookup=False)(E, ids, dX, H, dZ, scale),
        "The look-ups of a word that stands in the text several times are averaged: their gradients add.",
        "10.5",
        SCALED,
    ),
    Mutant(
        "last look-up alone",
        lambda E, ids, dX, H, dZ, scale: _assigned(E, ids, scale * dX, _tied(lookup=False)(E, ids, dX, H, dZ, scale)),
        "The row of a word is set to its look-up's gradient, over what was there: every look-up is added, and the "
        "scores' share stays.",
        "10.5",
        EVERY_TABLE,
    ),
    Mutant(
        "mean over the tokens",
        lambda E, ids, dX, H, dZ, scale: _tied()(E, ids, dX, H, dZ / ids.size, scale),
        "The scores' share is divided by the number of tokens: a gradient is a sum over all of them; a mean would be "
        "in dZ already.",
        "10.5",
        ("with a scale", "batch", "no scale", "other numbers", "two leading axes"),
    ),
    Mutant(
        "root of the scale",
        lambda E, ids, dX, H, dZ, scale: _tied()(E, ids, dX, H, dZ, math.sqrt(scale)),
        "The root of the scale is taken: scale is the whole factor λ, whatever it was made of.",
        "10.5",
        ("with a scale", "batch", "other numbers", "two leading axes"),
    ),
)

# 10.6


def _greedy(row=-1, keep_bos=False, keep_eos=False, stop=True, history=True, pick=np.argmax, extra=0):
    def function(step, bos, eos, max_len):
        prefix = [bos]
        while len(prefix) <= max_len + extra:
            logits = step(prefix if history else [bos, *prefix[-1:]] if len(prefix) > 1 else [bos])
            prefix.append(int(pick(logits[row])))
            if stop and prefix[-1] == eos:
                break
        text = prefix if keep_bos else prefix[1:]
        return text if keep_eos or not stop or text[-1] != eos else text[:-1]

    return function


def _never_empty(step, bos, eos, max_len):
    text = []
    while len(text) < max_len:
        word = int(step([bos, *text])[-1].argmax())
        if text and word == eos:
            break
        text.append(word)
    return text


GREEDY = (
    Mutant(
        "smallest score",
        _greedy(pick=np.argmin),
        "The word of the lowest score is taken: the best has the highest.",
        "10.11",
        ("three words", "five words", "does not end", "four words"),
    ),
    Mutant(
        "one too few",
        _greedy(extra=-1),
        "The loop stops one word before max_len: BOS does not count.",
        "10.11",
        ("does not end",),
    ),
    Mutant(
        "eos never written",
        lambda step, bos, eos, max_len: _greedy(pick=lambda row: np.delete(row, eos).argmax())(step, bos, eos, max_len),
        "EOS is left out of the choice, so the text never ends: it is a word like the others until it is chosen.",
        "10.11",
        ("three words", "five words", "four words"),
    ),
    Mutant(
        "first row",
        _greedy(row=0),
        "Row 0 is read each time, which says what follows BOS: the word after the whole prefix stands in the last row.",
        "10.11",
        ("three words", "five words", "does not end", "four words"),
    ),
    Mutant(
        "bos kept",
        _greedy(keep_bos=True),
        "BOS is part of the answer: it was given, not written.",
        "10.11",
        ("three words", "five words", "does not end", "four words"),
    ),
    Mutant(
        "eos kept",
        _greedy(keep_eos=True),
        "EOS is part of the answer: it ends the text and is no word of it.",
        "10.11",
        ("three words", "five words", "four words"),
    ),
    Mutant(
        "does not stop",
        _greedy(stop=False),
        "The loop goes on after EOS until max_len: stop there.",
        "10.11",
        ("three words", "five words", "four words"),
    ),
    Mutant(
        "history lost",
        _greedy(history=False),
        "Only the last word is given to step: the decoder needs the whole prefix, since every row sees all before it.",
        "10.11",
        ("five words", "does not end"),
    ),
    Mutant(
        "one too many",
        _greedy(extra=1),
        "The text is one word longer than max_len: BOS does not count, but nothing else may be added.",
        "10.11",
        ("does not end",),
    ),
    Mutant(
        "row before the last",
        lambda step, bos, eos, max_len: _greedy(row=0, keep_bos=False)(
            lambda prefix: step(prefix)[-2:], bos, eos, max_len),
        "The row before the last is read: it scores the word that was written before. The word after the whole prefix "
        "stands in the last row.",
        "10.11",
        ("three words", "five words"),
    ),
    Mutant(
        "EOS kept as the first word",
        lambda step, bos, eos, max_len: _never_empty(step, bos, eos, max_len),
        "EOS as the first word is written down: a text can be empty, and EOS is no word of it.",
        "10.11",
        ("no word",),
    ),
)

# 10.7


def _count(block=None, rest=None, n=None):
    def function(V, n_max, d, f, L):
        inside = block(d, f) if block else 4 * (d * d + d) + 2 * d * f + f + d + 4 * d
        outside = rest(V, n_max, d) if rest else V * d + n_max * d + 2 * d
        return outside + L * inside, n(d, f) if n else 2 * d + f

    return function


def _embedded_in_every_block(V, n_max, d, f, L):
    N, n = _count()(V, n_max, d, f, L)
    return N + (L - 1) * (V + n_max) * d, n


COUNTED = ("a small one", "GPT-2", "drawn at random", "another")

COUNTS = (
    Mutant(
        "neither biases nor norms",
        _count(block=lambda d, f: 4 * d * d + 2 * d * f),
        "N lacks the biases and the norms of the blocks: 4d + f + d, and twice 2d.",
        "10.8",
        COUNTED,
    ),
    Mutant(
        "last norm without shift",
        _count(rest=lambda V, n_max, d: V * d + n_max * d + d),
        "N counts d for the last norm: a gain and a shift are 2d.",
        "10.8",
        COUNTED,
    ),
    Mutant(
        "biases of attention alone",
        _count(block=lambda d, f: 4 * (d * d + d) + 2 * d * f + 4 * d),
        "N lacks the biases of the feed-forward layer: f inside and d at its end.",
        "10.8",
        COUNTED,
    ),
    Mutant(
        "one bias in the feed-forward layer",
        _count(block=lambda d, f: 4 * (d * d + d) + 2 * d * f + 2 * d + 4 * d),
        "N counts d for each bias of the feed-forward layer: the inner one has f entries.",
        "10.8",
        COUNTED,
    ),
    Mutant(
        "inner width of four d",
        lambda V, n_max, d, f, L: _count()(V, n_max, d, 4 * d, L),
        "f is taken for 4 d, as in (10.27): the inner width is f.",
        "10.8",
        ("a small one", "drawn at random", "another"),
    ),
    Mutant(
        "a bias in the head",
        _count(rest=lambda V, n_max, d: V * d + n_max * d + 2 * d + V),
        "N counts a bias of the head: it is tied, and has none.",
        "10.8",
        COUNTED,
    ),
    Mutant(
        "a last norm in every block",
        _count(block=lambda d, f: 4 * (d * d + d) + 2 * d * f + f + 7 * d, rest=lambda V, n_max, d: (V + n_max) * d),
        "N counts the last norm in every block: there is one behind all of them.",
        "10.8",
        COUNTED,
    ),
    Mutant(
        "one block",
        lambda V, n_max, d, f, L: _count()(V, n_max, d, f, 1),
        "N counts one block: there are L of them, each with parameters of its own.",
        "10.8",
        COUNTED,
    ),
    Mutant(
        "no biases",
        _count(block=lambda d, f: 4 * d * d + 2 * d * f + 4 * d),
        "N lacks the biases: four of d in attention, one of f and one of d in the feed-forward layer.",
        "10.8",
        COUNTED,
    ),
    Mutant(
        "no norms",
        _count(block=lambda d, f: 4 * (d * d + d) + 2 * d * f + f + d),
        "N lacks 4d in every block: the two norms have 4d, gain and shift each, and the four maps of attention have 4d "
        "of biases.",
        "10.8",
        COUNTED,
    ),
    Mutant(
        "one norm parameter",
        _count(block=lambda d, f: 4 * (d * d + d) + 2 * d * f + f + d + 2 * d),
        "N counts d for each norm: a LayerNorm has a gain and a shift, 2d.",
        "10.8",
        COUNTED,
    ),
    Mutant(
        "no last norm",
        _count(rest=lambda V, n_max, d: V * d + n_max * d),
        "N lacks the last norm, 2d: a pre-norm stack needs one.",
        "10.8",
        COUNTED,
    ),
    Mutant(
        "head counted",
        _count(rest=lambda V, n_max, d: 2 * V * d + n_max * d + 2 * d),
        "N counts the head as a matrix of its own: it is tied, the same table.",
        "10.8",
        COUNTED,
    ),
    Mutant(
        "no places",
        _count(rest=lambda V, n_max, d: V * d + 2 * d),
        "N lacks the table of places, n_max d.",
        "10.8",
        COUNTED,
    ),
    Mutant(
        "three maps",
        _count(block=lambda d, f: 3 * (d * d + d) + 2 * d * f + f + d + 4 * d),
        "N counts three maps in attention: W_o is the fourth.",
        "10.8",
        COUNTED,
    ),
    Mutant(
        "feed-forward alone",
        _count(n=lambda d, f: f),
        "N is right; the length is where scores and mixing cost as much as the feed-forward layer: the four maps of "
        "attention are products too.",
        "10.8",
        COUNTED,
    ),
    Mutant(
        "scores alone",
        _count(n=lambda d, f: 4 * d + 2 * f),
        "N is right; the length counts the scores and not the mixing: Q Kᵀ and A V cost the same, 2 n d each a token.",
        "10.8",
        COUNTED,
    ),
    Mutant(
        "four widths for all",
        _count(n=lambda d, f: 6 * d),
        "N is right; 6 d is the length for f = 4 d: write it with f.",
        "10.8",
        ("a small one", "drawn at random", "another"),
    ),
    Mutant(
        "twelve d squared",
        _count(block=lambda d, f: 12 * d * d),
        "12 d² a block is the rule of thumb for f = 4d: it has neither biases nor norms, and here f may be any width.",
        "10.8",
        COUNTED,
    ),
    Mutant(
        "f for both biases",
        _count(block=lambda d, f: 4 * (d * d + d) + 2 * d * f + 2 * f + 4 * d),
        "N counts f for each bias of the feed-forward layer: the second one, behind the map back, has d entries.",
        "10.8",
        COUNTED,
    ),
    Mutant(
        "one matrix in the layer",
        _count(block=lambda d, f: 4 * (d * d + d) + d * f + f + d + 4 * d),
        "N counts one matrix in the feed-forward layer: there are two, up to f and back to d.",
        "10.8",
        COUNTED,
    ),
    Mutant(
        "cross-attention as well",
        _count(block=lambda d, f: 8 * (d * d + d) + 2 * d * f + f + d + 4 * d),
        "N counts attention twice a block: a GPT-like decoder has no memory to read, and no cross-attention.",
        "10.8",
        COUNTED,
    ),
    Mutant(
        "tables in every block",
        lambda V, n_max, d, f, L: (L * (_count()(V, n_max, d, f, 1)[0]), 2 * d + f),
        "N counts the tables and the last norm once for each block: there is one of each in the model.",
        "10.8",
        COUNTED,
    ),
    Mutant(
        "length of the whole stack",
        lambda V, n_max, d, f, L: (_count()(V, n_max, d, f, L)[0], (2 * d + f) * L),
        "N is right; the length has L in it: all blocks are alike, so it is that of one.",
        "10.8",
        COUNTED,
    ),
    Mutant(
        "half of the length",
        _count(n=lambda d, f: (2 * d + f) // 2),
        "N is right; the length is half of it: a token costs 4 n d in Q Kᵀ and A V, and 8d² + 4df in the other "
        "products.",
        "10.8",
        COUNTED,
    ),
    Mutant(
        "maps alone in the length",
        _count(n=lambda d, f: 2 * d),
        "The length compares scores and mixing with the four maps alone: the feed-forward layer belongs to all else.",
        "10.8",
        ("a small one", "GPT-2", "drawn at random", "another", "a small GPT-2"),
    ),
    Mutant(
        "embedded in every block",
        _embedded_in_every_block,
        "The tables of words and places are counted in each block: they stand once, below the stack.",
        "10.8",
        ("a small one", "GPT-2", "drawn at random", "another", "a small GPT-2"),
    ),
)

# 10.8


def _head(place=lambda i, n: n - 1 - i, sharp=1e3, key="place", query="place", value="word"):
    """A head whose query at target place i asks for source place `place(i, n)`."""

    def function(n, V):
        size = max(n, V)
        W_q, W_k = np.zeros((V + n, size)), np.zeros((V + n, size))
        W_v = np.zeros((V + n, V))
        for i in range(n):
            if query == "place":
                W_q[V + i, place(i, n) % n] = sharp
            if key == "place":
                W_k[V + i, i] = 1.0
            if value == "place":
                W_v[V + i, i % V] = 1.0
        for v in range(V):
            if query == "word":
                W_q[v, v] = sharp
            if key == "word":
                W_k[v, v] = 1.0
            if value == "word":
                W_v[v, v] = 1.0
        return W_q, W_k, W_v

    return function


HEADS = ("three places", "five places", "other sizes")

FORTY = ("forty places",)

BACKWARDS = (
    Mutant(
        "sharp for a few places",
        _head(sharp=20.0),
        "The weight of the right place sinks as n grows: more places share the rest, and √d_k divides the scores. Let "
        "the large number grow with n.",
        "10.11",
        FORTY,
    ),
    Mutant(
        "forwards",
        _head(place=lambda i, n: i),
        "Row i asks for source place i: it copies. Backwards is place n − 1 − i.",
        "10.11",
        HEADS,
    ),
    Mutant(
        "one place off",
        _head(place=lambda i, n: n - i),
        "Row i asks for place n − i, which does not exist for row 0: counted from 0 it is n − 1 − i.",
        "10.11",
        HEADS,
    ),
    Mutant(
        "too soft",
        _head(sharp=1.0),
        "The right place has the largest weight, but a score of about 1 beside zeros is not sharp: multiply the "
        "queries or the keys by a large number.",
        "10.11",
        HEADS,
    ),
    Mutant(
        "forgotten keys",
        _head(key="none"),
        "All keys are the same, so that every row looks at all places alike: a key has to say which place it stands "
        "on.",
        "10.6",
        HEADS,
    ),
    Mutant(
        "keys of words",
        _head(key="word"),
        "The keys are made from words and the queries from places: q · k has to compare places with places.",
        "10.6",
        HEADS,
    ),
    Mutant(
        "places handed over",
        _head(value="place"),
        "The values hand over places, not words: W_v takes the word's part of M.",
        "10.6",
        HEADS,
    ),
    Mutant(
        "square value map",
        lambda n, V: (*_head()(n, V)[:2], np.eye(V + n)),
        "W_v hands over all of M, words and places: its result has one feature for each word.",
        "10.6",
        HEADS,
    ),
    Mutant(
        "words asked for",
        _head(query="word", key="word"),
        "The queries ask for words that equal the target's own: nothing in them knows the place that is due.",
        "10.11",
        HEADS,
    ),
)

# 10.9


def _model(V, first, others, after):
    """Probability `first` for word 0; after it `after` for word 0; after any other word `others` for word 0."""

    def row(p, word=0):
        rest = np.full(V, (1 - p) / (V - 1))
        rest[word] = p
        return rest

    second = np.stack([row(after)] + [row(others)] * (V - 1))
    return row(first), second


TWO_STEPS = ("two words", "nearly twice", "five words", "another")

LOSING = (
    Mutant(
        "as good for all",
        lambda V, r: _model(V, 0.6, 0.7, 0.9),
        "After the best first word comes a sure second one: greedy is then right. Make the second word after it a "
        "matter of chance, and sure after another.",
        "10.11",
        TWO_STEPS,
    ),
    Mutant(
        "one example for all",
        lambda V, r: _model(V, 0.6, 1.0, 0.55) if V == 2 else _model(V, 0.4, 1.0, 0.35),
        "This is one example, and greedy does not lose by enough: the closer all first words are to 1/V, and the "
        "flatter the second word after greedy's, the more it loses.",
        "10.11",
        ("nearly twice", "five words", "another"),
    ),
    Mutant(
        "a tie in the first word",
        lambda V, r: (np.full(V, 1 / V), _model(V, 0.6, 1.0, 0.5001 + 0.0 * r)[1]),
        "All first words are equally probable: then greedy meets a tie, and which word it takes is chance.",
        "10.11",
        TWO_STEPS,
    ),
    Mutant(
        "a tie in the second word",
        lambda V, r: _model(V, 1 / V + 1e-3 * (1 - r / V) / V, 1.0, 1 / V),
        "After greedy's first word all second words are equally probable: that is a tie.",
        "10.11",
        TWO_STEPS,
    ),
    Mutant(
        "columns sum to one",
        lambda V, r: (_model(V, 0.5 + 0.01, 1.0, 0.5 + 0.02)[0], _model(V, 0.51, 1.0, 0.52)[1].T),
        "The columns of second sum to one: row v holds the probabilities of the second word after word v.",
        "10.11",
        TWO_STEPS,
    ),
    Mutant(
        "both words at once",
        lambda V, r: (
            _model(V, 0.6, 1.0, 0.55)[0], _model(V, 0.6, 1.0, 0.55)[0][:, None] * _model(V, 0.6, 1.0, 0.55)[1]
        ),
        "second holds the probabilities of whole texts: it holds those of the second word, given the first, so that "
        "every row sums to one.",
        "10.11",
        TWO_STEPS,
    ),
)

# 10.10


def _writing(place=0, scale=None, residual=True, kept=True, places=True, graph=False, own=True,
             one_more=False, pick="argmax", roles="qk", prompt=True):
    def function(ids, steps, E, P, W_q, W_k, W_v):
        import contextlib

        import torch

        with contextlib.nullcontext() if graph else torch.no_grad():
            read, keys, values, written, scores = list(ids), [], [], [], []
            to_query, to_key = ({"q": W_q, "k": W_k}[role] for role in roles)

            def hear(word, i):
                x = E[word] + (P[i] if places else 0)
                keys.append(x @ to_key)
                values.append(x @ W_v)
                return x

            for i in range(0 if prompt else len(read) - 1, len(read)):
                x = hear(read[i], i)
            for step in range(steps):
                if not kept:
                    X = torch.stack([E[word] + P[i] for i, word in enumerate(read)])
                    X @ W_q
                    keys[:], values[:], x = X @ W_k, X @ W_v, X[-1]
                K, V = torch.stack(keys), torch.stack(values)
                if not own and len(keys) > 1:
                    K, V = K[:-1], V[:-1]
                A = torch.softmax(K @ (x @ to_query) / (scale(E, W_q) if scale else W_q.shape[1] ** 0.5), dim=0)
                z = E @ (A @ V + (x if residual else 0))
                scores.append(z)
                written.append(int(getattr(z, pick)()))
                read.append(written[-1])
                if step + 1 < steps:
                    x = hear(read[-1], step if place == -1 else len(read) - 1 + np.sign(place))
            return torch.tensor(read if one_more else written), torch.stack(scores)

    return function



def _probabilities(found):
    return found[0], found[1].softmax(dim=-1)


WRITERS = ("short", "one word given", "long", "other sizes")

WRITING = (
    Mutant(
        "one place too near",
        _writing(place=-2),
        "A new word is given the place of the word before it: the word after t words stands on place t, counted from "
        "0.",
        "10.3",
        WRITERS,
    ),
    Mutant(
        "probabilities",
        lambda ids, steps, *given: _probabilities(_writing()(ids, steps, *given)),
        "Probabilities are returned: the logits are asked for, before any softmax.",
        "10.11",
        WRITERS,
    ),
    Mutant(
        "read anew",
        _writing(kept=False),
        "The numbers are right, but the whole text is read again for each word: keep the keys and values, and make "
        "those of the newest word alone.",
        "10.11",
        ("long",),
    ),
    Mutant(
        "with a graph",
        _writing(graph=True),
        "The logits carry a graph: every word that is written would keep all that came before it alive. Write under "
        "torch.no_grad().",
        "10.9",
        ("no graph",),
    ),
    Mutant(
        "place counted from the new words",
        _writing(place=-1),
        "A new word is given the place that it has among the written words: its place counts from the start of the "
        "text.",
        "10.3",
        WRITERS[:1],
    ),
    Mutant(
        "one place too far",
        _writing(place=1),
        "A new word is given the place behind its own: the word after t words stands on place t, counted from 0.",
        "10.3",
        WRITERS,
    ),
    Mutant(
        "no places",
        _writing(places=False),
        "The places are missing: x is E[w] + P[i].",
        "10.3",
        WRITERS,
    ),
    Mutant(
        "divided by sqrt(d)",
        _writing(scale=lambda E, W_q: E.shape[1] ** 0.5),
        "The scores are divided by √d, the width of the stream: it is √d_k.",
        "10.6",
        WRITERS,
    ),
    Mutant(
        "no scale",
        _writing(scale=lambda E, W_q: 1.0),
        "The scores are not divided by √d_k.",
        "10.6",
        WRITERS,
    ),
    Mutant(
        "no residual path",
        _writing(residual=False),
        "h is what attention says alone: it is added to x.",
        "10.1",
        WRITERS,
    ),
    Mutant(
        "its own key missing",
        _writing(own=False),
        "The newest word does not attend to itself: put its key and value into the cache before the scores are made.",
        "10.5",
        ("short", "long"),
    ),
    Mutant(
        "prompt among the written",
        _writing(one_more=True),
        "The words that were given are returned as well: only the `steps` words that are written belong to the answer.",
        "10.11",
        WRITERS,
    ),
    Mutant(
        "last word of the prompt alone",
        _writing(prompt=False),
        "Of the words that were given the last one alone is read: all of them go into the cache first.",
        "10.11",
        ("short", "long"),
    ),
    Mutant(
        "lowest score",
        _writing(pick="argmin"),
        "The word of the lowest score is taken: it is that of the highest.",
        "10.11",
        WRITERS,
    ),
    Mutant(
        "keys by W_q",
        _writing(roles="qq"),
        "The keys are made with W_q: they are X W_k.",
        "10.6",
        WRITERS,
    ),
    Mutant(
        "queries by W_k",
        _writing(roles="kk"),
        "The queries are made with W_k: they are X W_q.",
        "10.6",
        WRITERS,
    ),
    Mutant(
        "W_q and W_k exchanged",
        _writing(roles="kq"),
        "Queries are made with W_k and keys with W_q: it is the other way round.",
        "10.6",
        WRITERS,
    ),
)

# 10.11


def _log_softmax(z):
    z = z - z.max(axis=-1, keepdims=True)
    return z - np.log(np.exp(z).sum(axis=-1, keepdims=True))


def _log_after(logits):
    E = np.exp(logits)
    return np.log(E / E.sum(axis=-1, keepdims=True))


def _log_after_shift(logits):
    return _log_after(logits - logits.max(axis=-1, keepdims=True))


def _score(first=0, end=True, mean=False, base=1.0, logs_of=None, product=False):
    def function(logits, text, eos):
        words = [*text, eos] if end else list(text)
        logs = (logs_of or _log_softmax)(logits)
        rows = [min(i + first, len(logits) - 1) for i in range(len(words))]
        found = np.array([logs[i, word] for i, word in zip(rows, words, strict=True)])
        total = float(np.log(np.exp(found).prod())) if product else float(found.sum())
        return base * (total / max(len(words), 1) if mean else total)

    return function


TEXTS = ("four words", "no words", "large scores", "other numbers")

SCORES = (
    Mutant(
        "over the rows",
        lambda logits, text, eos: float(
            sum(_log_softmax(logits.T).T[i, word] for i, word in enumerate([*text, eos]))
        ),
        "The probabilities sum to one over the rows: in each row they sum to one over the words, the last axis.",
        "10.5",
        ("four words", "other numbers"),
    ),
    Mutant(
        "perplexity",
        lambda logits, text, eos: float(np.exp(-_score(mean=True)(logits, text, eos))),
        "This is the perplexity, exp of minus the mean: the sum of the logs itself is asked for.",
        "10.5",
        ("four words", "no words", "other numbers"),
    ),
    Mutant(
        "end in the first row",
        lambda logits, text, eos: _score()(logits, [eos, *text][: len(text)], text[-1] if text else eos),
        "The end is looked up in row 0, and the words one row too far down: EOS comes last, after all words.",
        "10.5",
        ("four words", "other numbers"),
    ),
    Mutant(
        "the fault itself",
        _score(first=1, end=False, product=True, logs_of=_log_after),
        "Each word is looked up in the row that has already read it, and the end is not counted: row i scores the word "
        "after the first i, and the last row scores EOS.",
        "10.5",
        ("four words", "other numbers"),
    ),
    Mutant(
        "one row too far",
        _score(first=1),
        "Each word is looked up one row too far down, in the row that has already read it: row i scores word i, "
        "counted from 0.",
        "10.5",
        ("four words", "other numbers"),
    ),
    Mutant(
        "end not counted",
        _score(end=False),
        "The end is not counted: without the probability of EOS a text is never less probable than its continuations, "
        "and the probabilities of all texts sum to more than 1.",
        "10.5",
        TEXTS,
    ),
    Mutant(
        "log of a softmax",
        _score(logs_of=_log_after_shift),
        "An infinity came out: a probability of 0 has the log −∞, and the exp of a large score overflows. Take the "
        "largest of each row away, then subtract the log of the sum of exps; no probability is needed.",
        "10.5",
        ("large scores",),
    ),
    Mutant(
        "log of a product",
        _score(product=True),
        "The probabilities are multiplied first: a thousand of them are smaller than any float, and the log of 0 is "
        "−∞. Add the logs.",
        "10.5",
        ("long text",),
    ),
    Mutant(
        "exp of raw scores",
        _score(logs_of=_log_after),
        "exp of a large score overflows: take the largest of the row away first.",
        "10.5",
        ("large scores",),
    ),
    Mutant(
        "mean over the words",
        _score(mean=True),
        "This is a mean over the words: the log-probability of a text is the sum.",
        "10.5",
        ("four words", "long text", "other numbers"),
    ),
    Mutant(
        "sign of a loss",
        _score(base=-1.0),
        "The sign is that of a loss: a log-probability is never positive.",
        "10.5",
        ("four words", "no words", "large scores", "long text", "other numbers"),
    ),
    Mutant(
        "bits",
        _score(base=1 / math.log(2)),
        "The logarithm is the binary one: the text asks for the natural one.",
        "10.5",
        ("four words", "no words", "long text", "other numbers"),
    ),
    Mutant(
        "sum of raw scores",
        lambda logits, text, eos: float(sum(row[w] for row, w in zip(logits, [*text, eos], strict=True))),
        "The scores are added as they are: each row must first become log-probabilities, less the log of the sum of "
        "its exps.",
        "10.5",
        TEXTS,
    ),
    Mutant(
        "a probability",
        lambda logits, text, eos: float(np.exp(_score()(logits, text, eos))),
        "This is the probability: its logarithm is asked for.",
        "10.5",
        ("four words", "no words", "large scores", "long text", "other numbers"),
    ),
    Mutant(
        "nothing for the empty text",
        lambda logits, text, eos: _score()(logits, text, eos) if text else 0.0,
        "The empty text scores 0, as if it were certain: it has an end as well, the log-probability of EOS in row 0.",
        "10.5",
        ("no words",),
    ),
    Mutant(
        "one sum for all rows",
        _score(logs_of=lambda z: z - z.max() - np.log(np.exp(z - z.max()).sum())),
        "One log of a sum is taken over all rows: in each row the probabilities sum to one.",
        "10.5",
        ("four words", "other numbers"),
    ),
    *(
        Mutant(
            f"log of p + {tiny:.0e}",
            _score(logs_of=lambda z, tiny=tiny: np.log(np.exp(_log_softmax(z)) + tiny)),
            "A tiny number is added to the probabilities, and it caps what an improbable word costs: subtract the log "
            "of the sum from the scores, and nothing has to be added.",
            "10.5",
            ("large scores",),
        )
        for tiny in (1e-8, 1e-9, 1e-10, 1e-12)
    ),
    Mutant(
        "last word for the end",
        lambda logits, text, eos: _score()(logits, text, logits.shape[1] - 1),
        "The last word of the vocabulary is taken for the end: it is `eos`, which may be any word.",
        "10.5",
        ("four words", "no words", "long text", "large scores", "other numbers"),
    ),
    Mutant(
        "end by the first row",
        lambda logits, text, eos: _score(end=False)(logits, text, eos) + float(_log_softmax(logits)[0, eos]),
        "The end is scored by the first row, which has read BOS alone: the row that has read the whole text is the "
        "last one.",
        "10.5",
        ("four words", "long text", "large scores", "other numbers"),
    ),
)

# 10.12


def _writing_cost(anew=None, kept=None, rows=lambda t: 1, first=1, wide=12, mix=4):
    def function(V, d, L, n):
        passes = range(first, n + first)
        one = sum(t * 2 * wide * d * d * L + mix * t * t * d * L + 2 * V * d * rows(t) for t in passes)
        two = sum(2 * wide * d * d * L + mix * t * d * L + 2 * V * d for t in passes)
        return anew(V, d, L, n) if anew else one, kept(V, d, L, n) if kept else two

    return function


BILLS = ("a small one", "GPT-2", "drawn at random", "another")

COSTS = (
    Mutant(
        "one block",
        lambda V, d, L, n: _writing_cost()(V, d, 1, n),
        "One block is counted: there are L of them, each with maps, scores and mixing.",
        "10.8",
        BILLS,
    ),
    Mutant(
        "words scored once",
        lambda V, d, L, n: tuple(x - 2 * V * d * (n - 1) for x in _writing_cost()(V, d, L, n)),
        "The vocabulary is scored once: every pass scores it, for its last row.",
        "10.8",
        BILLS,
    ),
    Mutant(
        "words in every block",
        lambda V, d, L, n: tuple(x + (L - 1) * 2 * V * d * n for x in _writing_cost()(V, d, L, n)),
        "The vocabulary is scored in every block: it stands behind the last one.",
        "10.8",
        BILLS,
    ),
    Mutant(
        "the two exchanged",
        lambda V, d, L, n: _writing_cost()(V, d, L, n)[::-1],
        "The two numbers have changed places: reading anew comes first.",
        "10.8",
        BILLS,
    ),
    Mutant(
        "one pass too few",
        lambda V, d, L, n: _writing_cost()(V, d, L, n - 1),
        "The passes read 1 to n − 1 tokens: n words need n passes.",
        "10.8",
        BILLS,
    ),
    Mutant(
        "visible pairs alone",
        _writing_cost(anew=lambda V, d, L, n: sum(
            t * 24 * d * d * L + 2 * t * (t + 1) * d * L + 2 * V * d for t in range(1, n + 1)
        )),
        "Only the pairs that the causal mask leaves open are counted: the products are made whole, and then hidden.",
        "10.8",
        BILLS,
    ),
    Mutant(
        "sums as integrals",
        lambda V, d, L, n: (
            12 * d * d * L * n * n + 4 * d * L * n**3 // 3 + 2 * V * d * n,
            24 * d * d * L * n + 2 * d * L * n * n + 2 * V * d * n,
        ),
        "The sums are taken for n²/2 and n³/3: exactly they are n(n + 1)/2 and n(n + 1)(2n + 1)/6.",
        "10.8",
        BILLS,
    ),
    Mutant(
        "every row scored",
        _writing_cost(rows=lambda t: t),
        "Every row is scored in every pass: only the last one is needed, 2Vd a pass.",
        "10.8",
        BILLS,
    ),
    Mutant(
        "parameters for operations",
        _writing_cost(wide=6),
        "The maps of a block cost 12d² a token here, which is the number of their parameters: each is used in a "
        "multiplication and an addition, 24d².",
        "10.8",
        BILLS,
    ),
    Mutant(
        "scores of one row",
        _writing_cost(
            anew=lambda V, d, L, n: sum(t * 24 * d * d * L + 4 * t * d * L + 2 * V * d for t in range(1, n + 1))
        ),
        "Scores and mixing of a pass over t tokens are counted for one row: t rows read t rows each, 4 t² d.",
        "10.8",
        BILLS,
    ),
    Mutant(
        "no scores and mixing",
        _writing_cost(mix=0),
        "Q Kᵀ and A V are missing: 4 t d a row and block.",
        "10.8",
        BILLS,
    ),
    Mutant(
        "scores without mixing",
        _writing_cost(mix=2),
        "Q Kᵀ is counted and A V is not: both cost 2 t d a row and block.",
        "10.8",
        BILLS,
    ),
    Mutant(
        "no words",
        lambda V, d, L, n: _writing_cost()(0, d, L, n),
        "The scores of the vocabulary are missing: 2Vd a pass.",
        "10.8",
        BILLS,
    ),
    Mutant(
        "products once",
        lambda V, d, L, n: tuple(x // 2 for x in _writing_cost()(V, d, L, n)),
        "Multiplications alone are counted: a product of matrices has as many additions, 2nkm.",
        "10.8",
        BILLS,
    ),
    Mutant(
        "from zero",
        _writing_cost(first=0),
        "The passes read 0 to n − 1 tokens: the first has read BOS, so it is 1 to n.",
        "10.8",
        BILLS,
    ),
    Mutant(
        "every pass as long as the last",
        lambda V, d, L, n: (
            n * (n * 24 * d * d * L + 4 * n * n * d * L + 2 * V * d), n * (24 * d * d * L + 4 * n * d * L + 2 * V * d)
        ),
        "Every pass is counted as if it read n tokens: pass t reads t.",
        "10.8",
        BILLS,
    ),
    Mutant(
        "maps of the keys kept",
        _writing_cost(
            kept=lambda V, d, L, n: sum(20 * d * d * L + 4 * t * d * L + 2 * V * d for t in range(1, n + 1))
        ),
        "With a cache the key and value of the new token are counted as free: those of the old ones are kept, the new "
        "token still needs its own.",
        "10.8",
        BILLS,
    ),
    *(
        Mutant(
            f"one pass{also}",
            lambda V, d, L, n, rows=rows: (n * 24 * d * d * L + 4 * n * n * d * L + 2 * V * d * rows(n),
                                           _writing_cost()(V, d, L, n)[1]),
            f"The first number is that of one pass over the n tokens{said}: a decoder that writes needs n passes.",
            "10.8",
            BILLS,
        )
        for also, rows, said in (("", lambda n: n, ", as in training"), (", the last", lambda n: 1, ", the last one"))
    ),
    Mutant(
        "old keys alone",
        _writing_cost(kept=lambda V, d, L, n: sum(24 * d * d * L + 4 * (t - 1) * d * L + 2 * V * d
                                                  for t in range(1, n + 1))),
        "With a cache the new token is met with the t − 1 keys of the old ones: it reads itself too, so its query "
        "meets t keys in pass t.",
        "10.8",
        BILLS,
    ),
    Mutant(
        "only its own score",
        _writing_cost(kept=lambda V, d, L, n: n * (24 * d * d * L + 4 * d * L + 2 * V * d)),
        "With a cache the new token is counted as if it read itself alone: its query meets t keys in pass t.",
        "10.8",
        BILLS,
    ),
    Mutant(
        "attention without its maps",
        _writing_cost(wide=8),
        "The four maps of attention are missing: a block has 4d² of them beside the 8d² of the feed-forward layer.",
        "10.8",
        BILLS,
    ),
    Mutant(
        "every pass anew over n tokens",
        _writing_cost(anew=lambda V, d, L, n: n * (n * 24 * d * d * L + 4 * n * n * d * L + 2 * V * d)),
        "Reading anew is counted as if every pass had n tokens: pass t has t.",
        "10.8",
        BILLS,
    ),
    Mutant(
        "all keys from the start",
        _writing_cost(kept=lambda V, d, L, n: n * (24 * d * d * L + 4 * n * d * L + 2 * V * d)),
        "With a cache every new token is counted as if it met n keys: in pass t there are t.",
        "10.8",
        BILLS,
    ),
    Mutant(
        "no keys to meet",
        _writing_cost(kept=lambda V, d, L, n: n * (24 * d * d * L + 2 * V * d)),
        "With a cache Q Kᵀ and A V are counted as free: the keys and values are kept, and the new query still meets t "
        "of them.",
        "10.8",
        BILLS,
    ),
    Mutant(
        "half of the pairs",
        _writing_cost(anew=lambda V, d, L, n: sum(
            t * 24 * d * d * L + 2 * t * t * d * L + 2 * V * d for t in range(1, n + 1))),
        "Of the pairs half are counted: a product is made whole, t × t, and then the mask hides some of it.",
        "10.8",
        BILLS,
    ),
    Mutant(
        "words scored once with a cache",
        _writing_cost(kept=lambda V, d, L, n: sum(
            24 * d * d * L + 4 * t * d * L for t in range(1, n + 1)) + 2 * V * d),
        "With a cache the vocabulary is scored once: every pass scores it, for its last row.",
        "10.8",
        BILLS,
    ),
    Mutant(
        "cube for the sum of squares",
        _writing_cost(anew=lambda V, d, L, n: n * (n + 1) // 2 * 24 * d * d * L + 4 * n**3 * d * L + 2 * V * d * n),
        "Every pass is counted with n × n pairs: pass t has read t tokens, and 1 + 4 + … + n² is n (n + 1) (2n + 1) "
        "/ 6.",
        "10.8",
        ("a small one", "GPT-2", "drawn at random", "another", "a small GPT-2"),
    ),
    Mutant(
        "square for the sum",
        _writing_cost(anew=lambda V, d, L, n: sum(
            n * 24 * d * d * L + 4 * t * t * d * L + 2 * V * d for t in range(1, n + 1))),
        "The maps are counted for n tokens in every pass: pass t has read t, and 1 + 2 + … + n is n (n + 1) / 2.",
        "10.8",
        ("a small one", "GPT-2", "drawn at random", "another", "a small GPT-2"),
    ),
    Mutant(
        "square of pairs with a cache",
        _writing_cost(kept=lambda V, d, L, n: sum(
            24 * d * d * L + 4 * t * t * d * L + 2 * V * d for t in range(1, n + 1))),
        "With a cache each pass is charged for t × t pairs: the one new query meets t keys.",
        "10.8",
        ("a small one", "GPT-2", "drawn at random", "another", "a small GPT-2"),
    ),
)
