"""Known wrong answers, each with the message that names the misconception."""

import numpy as np

from ...model import Mutant

# 00.1


def _linear(dX=None, dW=None, db=None):
    """A linear backward with one part replaced by a wrong one."""

    def function(dY, X, W):
        rows, drows = X.reshape(-1, X.shape[-1]), dY.reshape(-1, dY.shape[-1])
        return (
            dX(dY, X, W) if dX else dY @ W.T,
            dW(dY, X, W) if dW else rows.T @ drows,
            db(dY, X, W) if db else drows.sum(axis=0),
        )

    return function


LINEAR = (
    Mutant(
        "W not transposed",
        _linear(dX=lambda dY, X, W: dY @ W),
        "This is dY W: in dX every output sends its gradient back through its own weights, dX = dY Wᵀ.",
        "0.3",
        ("dX", "batch"),
    ),
    Mutant(
        "dW transposed",
        _linear(dW=lambda dY, X, W: dY.reshape(-1, dY.shape[-1]).T @ X.reshape(-1, X.shape[-1])),
        "This is dYᵀ X, the transpose of dW: entry (i, o) of dW collects x_i · dy_o.",
        "0.3",
        ("dW", "batch"),
    ),
    Mutant(
        "dW averaged",
        _linear(dW=lambda dY, X, W: X.reshape(-1, X.shape[-1]).T @ dY.reshape(-1, dY.shape[-1]) / X.shape[-2]),
        "dW is divided by the number of rows: an average, if there is one, is in the loss and so already in dY.",
        "0.3",
        ("dW", "batch"),
    ),
    Mutant(
        "db averaged",
        _linear(db=lambda dY, X, W: dY.reshape(-1, dY.shape[-1]).mean(axis=0)),
        "db is the mean over the rows: every row received a full copy of b, so their gradients add up.",
        "0.3",
        ("db", "batch"),
    ),
    Mutant(
        "db keeps an axis",
        _linear(db=lambda dY, X, W: dY.sum(axis=tuple(range(dY.ndim - 1)), keepdims=True)),
        "keepdims=True leaves axes of length one: db must have the shape of b.",
        "0.3",
        ("db", "batch"),
    ),
    Mutant(
        "dW per sequence",
        _linear(dW=lambda dY, X, W: X.swapaxes(-1, -2) @ dY),
        "This is one dW for each sequence of the batch: all of them used the same W, so sum over the leading axes.",
        "0.3",
        ("batch",),
    ),
    Mutant(
        "one leading axis summed",
        _linear(dW=lambda dY, X, W: (X.swapaxes(-1, -2) @ dY).sum(axis=0) if X.ndim > 2 else X.T @ dY),
        "Only the first of the leading axes is summed in dW: there may be several, and all of them used the same W.",
        "0.3",
        ("two leading axes",),
    ),
)

# 00.2

BIAS = (
    Mutant(
        "first axis only",
        lambda dY: dY.sum(axis=0),
        "Only the first axis is summed: b was copied along every axis but the last, and each copy sends a gradient.",
        "0.3",
        ("rank 3", "rank 4"),
    ),
    Mutant(
        "last axis",
        lambda dY: dY.sum(axis=-1),
        "The last axis is summed: that one belongs to b; the sum goes over all the others.",
        "0.3",
        ("rank 2", "rank 3", "rank 4", "one token"),
    ),
    Mutant(
        "first two axes",
        lambda dY: dY.sum(axis=(0, 1)),
        "Exactly two axes are summed: right for (B, n, d), wrong for any other rank.",
        "0.3",
        ("rank 2", "rank 4"),
    ),
    Mutant(
        "mean",
        lambda dY: dY.mean(axis=tuple(range(dY.ndim - 1))),
        "This is the mean: the gradient of a copied parameter is the sum over its copies.",
        "0.3",
        ("rank 2", "rank 3", "rank 4"),
    ),
    Mutant(
        "mean over the batch",
        lambda dY: dY.reshape(-1, dY.shape[-1]).sum(axis=0) / (len(dY) if dY.ndim > 2 else 1),
        "The batch axis is averaged and the token axis is summed: both hold copies of b, so both are summed.",
        "0.3",
        ("rank 3", "rank 4"),
    ),
    Mutant(
        "keepdims",
        lambda dY: dY.sum(axis=tuple(range(dY.ndim - 1)), keepdims=True),
        "keepdims=True leaves axes of length one: db must have the shape of b.",
        "0.3",
        ("rank 2", "rank 3", "rank 4"),
    ),
)

# 00.3


def _leading_only(dY, shape):
    return dY.sum(axis=tuple(range(dY.ndim - len(shape))))


def _stretched_gone(dY, shape):
    extra = dY.ndim - len(shape)
    return dY.sum(axis=(*range(extra), *(extra + i for i, size in enumerate(shape) if size == 1)))


def _mean_to(dY, shape):
    extra = dY.ndim - len(shape)
    axes = (*range(extra), *(extra + i for i, size in enumerate(shape) if size == 1))
    return dY.mean(axis=axes, keepdims=True).reshape(shape)


def _first_copy(dY, shape):
    dY = dY[(0,) * (dY.ndim - len(shape))]
    return np.array(dY[tuple(slice(0, size) for size in shape)])


def _from_the_left(dY, shape):
    while dY.ndim > len(shape):
        dY = dY.sum(axis=-1)
    for axis, size in enumerate(shape):
        if size == 1:
            dY = dY.sum(axis=axis, keepdims=True)
    return dY


SUM_TO = (
    Mutant(
        "leading axes only",
        _leading_only,
        "Only the axes that b lacks are summed: an axis of length one was stretched too, and must be summed as well.",
        "0.3",
        ("stretched axis", "both"),
    ),
    Mutant(
        "stretched axes removed",
        _stretched_gone,
        "The stretched axis is gone: b has it, with length one, so keep it (keepdims=True).",
        "0.3",
        ("stretched axis", "both"),
    ),
    Mutant(
        "mean",
        _mean_to,
        "This is the mean over the copies of b: copying forward is summing backward.",
        "0.3",
        ("added axes", "stretched axis", "both", "one number"),
    ),
    Mutant(
        "first copy",
        _first_copy,
        "This is the gradient of the first copy of b alone: all the copies are the same b, so all of them count.",
        "0.3",
        ("added axes", "stretched axis", "both", "one number"),
    ),
    Mutant(
        "aligned from the left",
        _from_the_left,
        "The shapes are lined up from the left: broadcasting lines them up from the right.",
        "0.2",
        ("added axes",),
    ),
)

# 00.4


def _repeats_lost(dY, ids, size):
    dE = np.zeros((size, dY.shape[-1]))
    dE[ids] += dY
    return dE


def _repeats_averaged(dY, ids, size):
    dE, count = np.zeros((size, dY.shape[-1])), np.zeros((size, 1))
    np.add.at(dE, ids, dY)
    np.add.at(count, ids, 1)
    return dE / np.maximum(count, 1)


def _table_too_short(dY, ids, size):
    dE = np.zeros((ids.max() + 1, dY.shape[-1]))
    np.add.at(dE, ids, dY)
    return dE


def _first_sentence(dY, ids, size):
    dE = np.zeros((size, dY.shape[-1]))
    first = (0,) * (ids.ndim - 1)
    np.add.at(dE, ids[first], dY[first])
    return dE


GATHER = (
    Mutant(
        "repeats lost",
        _repeats_lost,
        "A repeated token keeps only its last gradient: dE[ids] += dY writes each row once; use np.add.at or a loop.",
        "0.3",
        ("repeated ids", "batch of sentences", "always the same id"),
    ),
    Mutant(
        "repeats averaged",
        _repeats_averaged,
        "The gradients of a repeated token are averaged: each use of the row counts in full, so they add up.",
        "0.3",
        ("repeated ids", "batch of sentences", "always the same id"),
    ),
    Mutant(
        "table too short",
        _table_too_short,
        "dE ends at the largest id that was read: rows that nobody read exist too, and have gradient zero.",
        "0.3",
        ("repeated ids", "batch of sentences", "always the same id"),
    ),
    Mutant(
        "first sentence only",
        _first_sentence,
        "Only the first sentence of the batch sends its gradient back: sum over all the leading axes.",
        "0.3",
        ("batch of sentences",),
    ),
)

# 00.5


def _differences(quotient, h_used=None, dtype=np.float64, put_back=True):
    """Differences with a wrong quotient, step, precision or bookkeeping."""

    def function(f, X, h=1e-5):
        h = h_used or h
        X = np.array(X, dtype=dtype)
        dX = np.zeros_like(X)
        for i in np.ndindex(X.shape):
            here, at = X[i], f(X)
            X[i] = here + h
            above = f(X)
            X[i] = here - h
            below = f(X)
            if put_back:
                X[i] = here
            dX[i] = quotient(below, at, above, h)
        return dX

    return function


def _all_at_once(f, X, h=1e-5):
    X = np.array(X, dtype=np.float64)
    return np.full(X.shape, (f(X + h) - f(X - h)) / (2 * h))


def _flattened_copy(f, X, h=1e-5):
    X = np.array(X, dtype=np.float64)
    flat, dX = X.reshape(-1), np.zeros(X.size)
    for i in range(X.size):
        here = flat[i]
        flat[i] = here + h
        above = f(X)
        flat[i] = here - h
        below = f(X)
        flat[i] = here
        dX[i] = (above - below) / (2 * h)
    return dX.reshape(X.shape)


def _put_back_by_sums(f, X, h=1e-5):
    dX = np.zeros(X.shape)
    for i in np.ndindex(X.shape):
        X[i] += h
        above = f(X)
        X[i] -= 2 * h
        below = f(X)
        X[i] += h
        dX[i] = (above - below) / (2 * h)
    return dX


def _central(below, at, above, h):
    return (above - below) / (2 * h)


SLOPE = (
    Mutant(
        "forward difference",
        _differences(lambda below, at, above, h: (above - at) / h),
        "This is the forward difference (f(x+h) − f(x)) / h: its error shrinks with h, the central one's with h².",
        "0.4",
        ("a big step", "the usual step", "not contiguous", "three axes"),
    ),
    Mutant(
        "divided by h",
        _differences(lambda below, at, above, h: (above - below) / h),
        "This is twice the slope: from x − h to x + h is a distance of 2h.",
        "0.4",
        ("a big step", "the usual step", "not contiguous", "float32 input", "three axes"),
    ),
    Mutant(
        "all entries at once",
        _all_at_once,
        "All entries are moved together: that gives the sum of the partial derivatives; move one entry at a time.",
        "0.4",
        ("a big step", "the usual step", "not contiguous", "float32 input", "three axes"),
    ),
    Mutant(
        "step too small",
        _differences(_central, h_used=1e-13),
        "The step is 1e-13: the two values then agree in nearly all digits, and rounding is all that is left.",
        "0.4",
        ("a big step", "the usual step", "not contiguous", "float32 input", "three axes"),
    ),
    Mutant(
        "step too large",
        _differences(_central, h_used=0.1),
        "The step is 0.1, whatever h says: the error of a central difference grows with h².",
        "0.4",
        ("a big step", "the usual step", "not contiguous", "float32 input", "three axes"),
    ),
    Mutant(
        "float32",
        _differences(_central, dtype=np.float32),
        "The differences are taken in float32, which holds 7 digits: a step of 1e-5 drowns in rounding.",
        "0.4",
        ("a big step", "the usual step", "not contiguous", "float32 input", "three axes"),
    ),
    Mutant(
        "not put back",
        _differences(_central, put_back=False),
        "A moved entry is not put back: every later slope is taken at another point.",
        "0.4",
        ("the usual step", "not contiguous"),
    ),
    Mutant(
        "put back by sums",
        _put_back_by_sums,
        "(x + h) − 2h + h is not x in floating point: keep the old value and write it back, on a copy of X.",
        "0.4",
        ("the usual step", "float32 input"),
    ),
    Mutant(
        "moves a copy",
        _flattened_copy,
        "X.reshape(-1) of an array that is not contiguous is a copy: f never saw an entry move; all slopes are 0.",
        "0.2",
        ("not contiguous",),
    ),
)

# 00.6


def _checks(dY_of, compare, rows=None):
    """A gradient check with a weak upstream gradient, a weak comparison, or too few rows."""

    def function(forward, backward, X, rng):
        X = X[:rows].copy()
        dY = dY_of(forward(X), rng)
        slopes = _differences(_central)(lambda moved: float((dY * forward(moved)).sum()), X)
        return bool(compare(np.abs(backward(dY, X) - slopes).max(), np.abs(slopes).max()))

    return function


def _random(Y, rng):
    return rng.normal(size=Y.shape)


def _close(error, size):
    return error <= 1e-4 * size + 1e-7


CHECKS = (
    Mutant(
        "all ones",
        _checks(lambda Y, rng: np.ones_like(Y), lambda error, size: error <= 1e-4 * size + 1e-7),
        "With dY of all ones the loss is the sum of a centred row, always 0: the true dX is 0, and wrong ones pass.",
        "0.4",
        ("seven layers",),
    ),
    Mutant(
        "the output as upstream",
        _checks(lambda Y, rng: Y, _close),
        "dY = Y is the loss ½ Σ Y², which LayerNorm holds constant: its gradient is 0 again. Take a random dY.",
        "0.4",
        ("seven layers",),
    ),
    Mutant(
        "one row",
        _checks(_random, lambda error, size: error <= 1e-4 * size, rows=1),
        "Only one row is checked: faults that mix rows, or divide by their number, need at least two.",
        "0.6",
        ("seven layers", "large activations", "five rows"),
    ),
    Mutant(
        "absolute tolerance",
        _checks(_random, lambda error, size: error <= 1e-3),
        "The error is compared with a fixed number: where gradients are small, all passes. Divide by their size.",
        "0.4",
        ("large activations",),
    ),
    Mutant(
        "too strict",
        _checks(_random, lambda error, size: error <= 1e-15 * size),
        "Right layers are refused: either the comparison asks for more than the ten digits of a central difference, "
        "or dY makes the true gradient zero and noise is compared with noise.",
        "0.4",
        ("seven layers", "large activations", "five rows"),
    ),
)

# 00.7


def _rows(mask=np.tril, axis=1, transpose=True, swap=False, flip=False):
    """A conversion from columns to rows with one step forgotten."""

    def function(X, W_q, W_k, W_v, b_q, b_k, b_v):
        Q, K, V = (X @ (W.T if transpose else W) + b for W, b in ((W_q, b_q), (W_k, b_k), (W_v, b_v)))
        S = (K @ Q.T if swap else Q @ K.T) / np.sqrt(Q.shape[-1])
        S = np.where(mask(np.ones(S.shape)) > 0, S, -np.inf)
        A = np.exp(S - S.max(axis=axis, keepdims=True))
        A = A / A.sum(axis=axis, keepdims=True)
        return A @ V, A.T if flip else A

    return function


ROWS = (
    Mutant(
        "mask left upper",
        _rows(mask=np.triu),
        "The mask is still upper triangular: with rows as queries, token i may look at j ≤ i, the lower triangle.",
        "0.7",
        ("weights", "output", "square"),
    ),
    Mutant(
        "softmax left on columns",
        _rows(axis=0),
        "The softmax still runs down the columns: with queries as rows, the keys of one query lie along a row.",
        "0.7",
        ("weights", "output", "square"),
    ),
    Mutant(
        "weights not transposed",
        _rows(transpose=False),
        "The weights are used as they stand in the text: W x on a column is x Wᵀ on a row.",
        "0.7",
        ("square",),
    ),
    Mutant(
        "queries and keys swapped",
        _rows(swap=True),
        "This is K Qᵀ: KᵀQ of the column convention becomes Q Kᵀ, not K Qᵀ, since its rows must be queries.",
        "0.7",
        ("weights", "output", "square"),
    ),
    Mutant(
        "A left in columns",
        _rows(flip=True),
        "O is right, but A is returned with queries as columns: its rows must sum to one.",
        "0.7",
        ("weights", "square"),
    ),
)

# 00.8


def _step(h_of, bound_of=None):
    def function(eps, f, f3):
        h = h_of(eps, f, f3)
        if bound_of is None:
            return h, eps * abs(f) / h + h * h * abs(f3) / 6
        return h, bound_of(eps, abs(f), abs(f3), h)

    return function


STEP = (
    Mutant(
        "balanced",
        _step(lambda eps, f, f3: (6 * eps * abs(f) / abs(f3)) ** (1 / 3)),
        "Here the two errors are equal: the smallest sum has equal and opposite slopes, which is another h.",
        "0.4",
        ("float64", "bound", "float32, other signs"),
    ),
    Mutant(
        "square root",
        _step(lambda eps, f, f3: (eps * abs(f) / abs(f3)) ** 0.5),
        "A square root belongs to the forward difference, whose error is of order h; here it is h².",
        "0.4",
        ("float64", "bound", "float32, other signs"),
    ),
    Mutant(
        "cube root of eps",
        _step(lambda eps, f, f3: eps ** (1 / 3)),
        "The cube root of eps is the right order, but h also depends on how large f is and how fast it bends.",
        "0.4",
        ("float64", "bound", "float32, other signs"),
    ),
    Mutant(
        "upside down",
        _step(lambda eps, f, f3: (3 * eps * abs(f3) / abs(f)) ** (1 / 3)),
        "f and f''' are swapped: a function that bends more needs a smaller step.",
        "0.4",
        ("float64", "bound", "float32, other signs"),
    ),
    Mutant(
        "truncation only",
        _step(lambda eps, f, f3: (3 * eps * abs(f) / abs(f3)) ** (1 / 3), lambda eps, f, f3, h: h * h * f3 / 6),
        "The bound counts the h² term alone: at the best step rounding is twice as large as that.",
        "0.4",
        ("bound", "float32, other signs"),
    ),
    Mutant(
        "signs kept",
        _step(lambda eps, f, f3: np.cbrt(3 * eps * f / abs(f3))),
        "The sign of f is kept, so h can come out negative: errors are bounded by |f| and |f'''|.",
        "0.4",
        ("float32, other signs",),
    ),
)
