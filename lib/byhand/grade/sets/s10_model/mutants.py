"""Known wrong answers, each with the message that names the misconception."""

import math

import numpy as np

from ...model import Mutant
from .cases import NAMES, versions, weights

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
)

# 10.2


def _memory(add=None, slope=lambda Y: 1 - Y * Y, chain=True, A_T=True, W_T=True, past=0):
    def function(dY, Y, A, W):
        terms, top = [], dY
        for i in reversed(range(len(A))):
            dU = dY * slope(Y[i + 1])
            a, w = A[i].T if A_T else A[i], W[i].T if W_T else W[i]
            terms.insert(0, a @ dU @ w)
            dY = dU + past * dY if chain else top
        return (add or sum)(terms), dY

    return function


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
        "Every block is given the gradient of the last output: block l must get what the block above it sends down.",
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
)

# 10.3


def _nearest(known, key=lambda x: x):
    """Compares with some of the versions, or with something else than the arrays themselves."""

    def function(terms, dM):
        all_of_them = versions(terms)
        return min(known, key=lambda name: np.abs(key(all_of_them[NAMES.index(name)]) - key(dM)).max())

    return function


SENT = (
    Mutant(
        "always correct",
        lambda terms, dM: "correct",
        "Everybody is found innocent: compare dM with the sum of the terms before you say so.",
        "10.6",
        ("five decoders", "three decoders", "two blocks"),
    ),
    Mutant(
        "first and last exchanged",
        lambda terms, dM: _nearest(NAMES)(terms[::-1], dM),
        "First and last block are exchanged: terms[0] belongs to the first block, and the backward pass meets the last "
        "one first.",
        "10.6",
        ("five decoders", "three decoders", "two blocks"),
    ),
    Mutant(
        "direction alone",
        _nearest(NAMES, key=lambda x: x / np.linalg.norm(x)),
        "Only the direction is compared: the mean has the direction of the sum, and L times less size.",
        "10.6",
        ("five decoders", "two blocks"),
    ),
    Mutant(
        "twice unknown",
        _nearest(NAMES[:4]),
        "A block that is counted twice is not recognised: compare with the sum plus the last term as well.",
        "10.6",
        ("five decoders", "two blocks"),
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


EVERY_READING = ("values", "as long as the source", "padded source", "padded, equal lengths")

READING = (
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
            dE = dE + (scale if scale_scored else 1.0) * (dZ.reshape(-1, V).T @ H.reshape(-1, d))
        return share * dE

    return function


EVERY_TABLE = ("no scale", "with a scale", "batch", "other numbers")
SCALED = ("with a scale", "batch", "other numbers")

TIED = (
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


GREEDY = (
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
)

# 10.7


def _count(block=None, rest=None, n=None):
    def function(V, n_max, d, f, L):
        inside = block(d, f) if block else 4 * (d * d + d) + 2 * d * f + f + d + 4 * d
        outside = rest(V, n_max, d) if rest else V * d + n_max * d + 2 * d
        return outside + L * inside, n(d, f) if n else 2 * d + f

    return function


COUNTED = ("a small one", "GPT-2", "drawn at random", "another")

COUNTS = (
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
        "N lacks the norms of the blocks: two a block, each with gain and shift, 4d in all.",
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
)
