"""Known wrong answers, each with the message that names the misconception."""

import functools

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


def _rows_of(A):
    return A.reshape(-1, A.shape[-1])


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
        "db over the features",
        _linear(db=lambda dY, X, W: dY.sum(axis=-1)),
        "The last axis is summed in db: that one belongs to b; the sum goes over all the others.",
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
    Mutant(
        "dW averaged over the batch",
        _linear(dW=lambda dY, X, W: _rows_of(X).T @ _rows_of(dY) * X.shape[-2] / (X.size // X.shape[-1])),
        "dW is a mean over the sequences of the batch: all of them used the same W, so what they send adds up.",
        "0.3",
        ("batch", "two leading axes"),
    ),
    Mutant(
        "db per sequence",
        _linear(db=lambda dY, X, W: dY.sum(axis=-2)),
        "This is one db for each sequence of the batch: all of them used the same b, so sum over the leading axes as "
        "well.",
        "0.3",
        ("batch", "two leading axes"),
    ),
    Mutant(
        "db summed over the first axis",
        _linear(db=lambda dY, X, W: dY.sum(axis=0)),
        "Only the first axis is summed in db: it is summed over all axes but the last, that of the features.",
        "0.3",
        ("batch", "two leading axes"),
    ),
)

# 00.2


def _tied(dW=None, dX=None, slope=None, second=None):
    """A backward of the tied layers with one part replaced by a wrong one."""

    def function(dY, X, W):
        T = np.tanh(X @ W)
        dZ = (dY @ W) * (slope(T, X @ W) if slope else 1 - T * T)
        rows = [A.reshape(-1, A.shape[-1]) for A in (X, dZ, dY, second(X @ W) if second else T)]
        return (dX or _back)(dZ, W), (dW or _both_readers)(*rows)

    return function


def _back(dZ, W):
    return dZ @ W.T


def _both_readers(X, dZ, dY, T):
    return X.T @ dZ + dY.T @ T


_right_tied, _no_slope = _tied(), _tied(slope=lambda T, Z: 1)


def _per_sequence(dY, X, W):
    T = np.tanh(X @ W)
    dZ = (dY @ W) * (1 - T * T)
    return dZ @ W.T, X.swapaxes(-1, -2) @ dZ + dY.swapaxes(-1, -2) @ T


def _first_axis(dY, X, W):
    dX, dW = _per_sequence(dY, X, W)
    return dX, dW.sum(axis=0) if X.ndim > 2 else dW


TIED = (
    Mutant(
        "first reader only",
        _tied(dW=lambda X, dZ, dY, T: X.T @ dZ),
        "W was read twice, and this is what its first reader X W sends back: add what the second reader sends.",
        "0.3",
        ("dW", "batch"),
    ),
    Mutant(
        "second reader only",
        _tied(dW=lambda X, dZ, dY, T: dY.T @ T),
        "W was read twice, and this is what its second reader, Wᵀ, sends back: add what the product X W sends.",
        "0.3",
        ("dW", "batch"),
    ),
    Mutant(
        "second reader transposed",
        _tied(dW=lambda X, dZ, dY, T: X.T @ dZ + T.T @ dY),
        "The second term of dW is Tᵀ dY, the gradient of Wᵀ: transposed once more, dYᵀ T, it is one of W.",
        "0.3",
        ("dW", "batch"),
    ),
    Mutant(
        "readers averaged",
        _tied(dW=lambda X, dZ, dY, T: (X.T @ dZ + dY.T @ T) / 2),
        "The gradients of the two readers of W are averaged: they add up.",
        "0.3",
        ("dW", "batch"),
    ),
    Mutant(
        "slope of tanh forgotten",
        _tied(slope=lambda T, Z: 1),
        "The gradient passes the tanh as if it were not there: multiply entry by entry by its slope, 1 − tanh².",
        "0.3",
        ("dX", "dW", "batch"),
    ),
    Mutant(
        "slope forgotten in dX",
        lambda dY, X, W: (dY @ W @ W.T, _right_tied(dY, X, W)[1]),
        "In dX the slope of the tanh is missing: what goes back to X went through the tanh as well.",
        "0.3",
        ("dX", "batch"),
    ),
    Mutant(
        "slope forgotten in dW",
        lambda dY, X, W: (_right_tied(dY, X, W)[0], _no_slope(dY, X, W)[1]),
        "In dW the slope of the tanh is missing: what its first reader sends back went through the tanh.",
        "0.3",
        ("dW", "batch"),
    ),
    Mutant(
        "slope not squared",
        _tied(slope=lambda T, Z: 1 - T),
        "The slope of the tanh is 1 − T², with a square.",
        "0.3",
        ("dX", "dW", "batch"),
    ),
    Mutant(
        "second reader before the tanh",
        _tied(second=lambda Z: Z),
        "The second reader of W multiplied T = tanh(X W): its term has the values after the tanh, not before it.",
        "0.3",
        ("dW", "batch"),
    ),
    Mutant(
        "readers subtracted",
        _tied(dW=lambda X, dZ, dY, T: X.T @ dZ - dY.T @ T),
        "The second term of dW is subtracted: the gradients of two readers add up.",
        "0.3",
        ("dW", "batch"),
    ),
    Mutant(
        "first reader twice",
        _tied(dW=lambda X, dZ, dY, T: 2 * X.T @ dZ),
        "The first reader's term is doubled: W was read twice, but the second reader sends back something else.",
        "0.3",
        ("dW", "batch"),
    ),
    Mutant(
        "slope at the input",
        _tied(slope=lambda T, Z: 1 - Z * Z),
        "The slope of the tanh is written with its input: it is 1 − T² with the output T = tanh(X W).",
        "0.3",
        ("dX", "dW", "batch"),
    ),
    Mutant(
        "slope of the output",
        _tied(slope=lambda T, Z: 1 - np.tanh(T) ** 2),
        "The tanh is taken twice in its slope: 1 − T² has the output T already.",
        "0.3",
        ("dX", "dW", "batch"),
    ),
    Mutant(
        "dW averaged",
        _tied(dW=lambda X, dZ, dY, T: (X.T @ dZ + dY.T @ T) / len(X)),
        "dW is divided by the number of rows: an average, if there is one, is in the loss and so already in dY.",
        "0.3",
        ("dW", "batch"),
    ),
    Mutant(
        "dW per sequence",
        _per_sequence,
        "This is one dW for each sequence of the batch: all of them used the same W, so sum over the leading axes.",
        "0.3",
        ("batch", "two leading axes"),
    ),
    Mutant(
        "one leading axis summed",
        _first_axis,
        "Only the first of the leading axes is summed in dW: there may be several, and all of them used the same W.",
        "0.3",
        ("two leading axes",),
    ),
    Mutant(
        "W once more",
        _tied(dX=lambda dZ, W: dZ @ W),
        "dX is multiplied by W: X W goes back through the transpose, dX = dZ Wᵀ.",
        "0.3",
        ("dX", "batch"),
    ),
    Mutant(
        "slope with a plus",
        _tied(slope=lambda T, Z: 1 + T * T),
        "The slope of the tanh is written with a plus: it is 1 − T², at most 1.",
        "0.3",
        ("dX", "dW", "batch"),
    ),
    Mutant(
        "square of the whole slope",
        _tied(slope=lambda T, Z: (1 - T) ** 2),
        "The slope of the tanh is taken as the square of 1 − T: it is 1 − T², the square of T alone.",
        "0.3",
        ("dX", "dW", "batch"),
    ),
    Mutant(
        "slope as of a sigmoid",
        _tied(slope=lambda T, Z: T * (1 - T)),
        "T (1 − T) is the slope of a sigmoid: that of the tanh is 1 − T².",
        "0.3",
        ("dX", "dW", "batch"),
    ),
    Mutant(
        "slope for the second reader",
        _tied(second=lambda Z: np.tanh(Z) * (1 - np.tanh(Z) ** 2)),
        "The second reader's term is multiplied by the slope of the tanh: this reader stands behind the tanh, so its "
        "gradient dYᵀ T does not pass through it.",
        "0.3",
        ("dW", "batch"),
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


def _stretched_from_the_left(dY, shape):
    for axis, size in enumerate(shape):
        if size == 1:
            dY = dY.sum(axis=axis, keepdims=True)
    return dY.sum(axis=tuple(range(dY.ndim - len(shape))))


def _reshaped(dY, shape):
    return dY.reshape(-1, *shape).sum(axis=0)


def _first_axis_always(dY, shape):
    if dY.shape == tuple(shape):
        return dY.sum(axis=0)
    copies = [k for k in range(dY.ndim) if k < dY.ndim - len(shape) or shape[k - dY.ndim] == 1]
    return dY.sum(axis=tuple(copies)).reshape(shape)


def _one_stretched(dY, shape):
    dY = dY.sum(axis=tuple(range(dY.ndim - len(shape))))
    for axis, size in enumerate(shape):
        if size == 1:
            return dY.sum(axis=axis, keepdims=True)
    return dY


SUM_TO = (
    Mutant(
        "reshaped",
        _reshaped,
        "The numbers are laid out anew and summed: that is right where whole axes stand in front, and mixes entries "
        "of different places where an axis of length one was stretched.",
        "0.3",
        ("stretched axis", "both"),
    ),
    Mutant(
        "an axis too many",
        _first_axis_always,
        "The first axis is summed although nothing was repeated: where the shapes are equal, db is dY.",
        "0.3",
        ("nothing repeated",),
    ),
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
    Mutant(
        "stretched axes counted from the left",
        _stretched_from_the_left,
        "The axes of length one are looked for in dY before the missing axes in front were summed, so each is found "
        "too far to the left: sum the missing ones first, or count from the right.",
        "0.2",
        ("both",),
    ),
    Mutant(
        "one stretched axis",
        _one_stretched,
        "One stretched axis is summed and the others are not: the loop ends too early. Every axis of length one in b "
        "was stretched, so sum along each of them.",
        "0.3",
        ("two stretched",),
    ),
)

# 00.4


def _bag(dE=None, dw=None):
    """A backward of the weighted bag with one half replaced by a wrong one."""
    return lambda dy, E, ids, w: ((dE or _scattered)(dy, E, ids, w), (dw or _of_places)(dy, E, ids, w))


def _scattered(dy, E, ids, w):
    dE = np.zeros(E.shape)
    np.add.at(dE, ids, w[:, None] * dy[..., None, :])
    return dE


def _per_place(dy, E, ids):
    return (E[ids] * dy[..., None, :]).sum(axis=-1)


def _of_places(dy, E, ids, w):
    return _per_place(dy, E, ids).reshape(-1, len(w)).sum(axis=0)


def _repeats_lost(dy, E, ids, w):
    dE = np.zeros(E.shape)
    dE[ids] += w[:, None] * dy[..., None, :]
    return dE


def _repeats_averaged(dy, E, ids, w):
    count = np.zeros((len(E), 1))
    np.add.at(count, ids, 1)
    return _scattered(dy, E, ids, w) / np.maximum(count, 1)


def _weight_forgotten(dy, E, ids, w):
    return _scattered(dy, E, ids, np.ones_like(w))


def _averaged(dy, E, ids, w):
    return _of_places(dy, E, ids, w) / (ids.size // len(w))


def _mean_of_the_first_axis(dy, E, ids, w):
    return _per_place(dy, E, ids).mean(axis=0)


BAG = (
    Mutant(
        "as it was",
        _bag(_repeats_lost, _mean_of_the_first_axis),
        "Both faults are still there: one loses what a repeated word is sent, the other one averages where it should "
        "sum.",
        "0.3",
        ("one sentence", "rows of E", "weights", "two leading axes"),
    ),
    Mutant(
        "repeats lost",
        _bag(dE=_repeats_lost),
        "A repeated word keeps only its last gradient: with += on chosen rows each row is written once; add at each "
        "place in turn.",
        "0.3",
        ("one sentence", "rows of E", "two leading axes"),
    ),
    Mutant(
        "repeats averaged",
        _bag(dE=_repeats_averaged),
        "The gradients of a repeated word are averaged: each use of its row counts in full, so they add up.",
        "0.3",
        ("one sentence", "rows of E", "two leading axes"),
    ),
    Mutant(
        "mean over the first axis",
        _bag(dw=_mean_of_the_first_axis),
        "dw is averaged over the first axis, whatever that is: all the sentences used the same w, so sum over all axes "
        "but the one of the places.",
        "0.3",
        ("one sentence", "weights", "two leading axes"),
    ),
    Mutant(
        "weights averaged",
        _bag(dw=_averaged),
        "dw is the mean over the sentences: all of them used the same w, so what they send adds up.",
        "0.3",
        ("weights", "two leading axes"),
    ),
    Mutant(
        "one leading axis summed",
        _bag(dw=lambda dy, E, ids, w: _per_place(dy, E, ids).sum(axis=0) if ids.ndim > 1 else _per_place(dy, E, ids)),
        "Only the first of the leading axes is summed in dw: there may be several, and all sentences used the same w.",
        "0.3",
        ("two leading axes",),
    ),
    Mutant(
        "weights per sentence",
        _bag(dw=lambda dy, E, ids, w: _per_place(dy, E, ids)),
        "This is one dw for each sentence: all of them used the same w, so sum over the leading axes.",
        "0.3",
        ("weights", "two leading axes"),
    ),
    Mutant(
        "weight forgotten",
        _bag(dE=_weight_forgotten),
        "In dE the weight of the place is missing: the row of a word was multiplied by w[p] on its way forward.",
        "0.3",
        ("one sentence", "rows of E", "two leading axes"),
    ),
    Mutant(
        "mean over features",
        _bag(dw=lambda dy, E, ids, w: _of_places(dy, E, ids, w) / E.shape[-1]),
        "dw is the mean over the features: w[p] multiplied every feature of its row, so sum over them.",
        "0.3",
        ("one sentence", "weights", "two leading axes"),
    ),
    Mutant(
        "dw times w",
        _bag(dw=lambda dy, E, ids, w: w * _of_places(dy, E, ids, w)),
        "dw is multiplied by w: y is a weight times a row, and its slope in the weight is the row alone.",
        "0.3",
        ("one sentence", "weights", "two leading axes"),
    ),
    Mutant(
        "rows forgotten",
        _bag(dw=lambda dy, E, ids, w: np.full(w.shape, dy.sum())),
        "In dw the rows of E are missing: the slope of y in a weight is the row that it multiplied.",
        "0.3",
        ("one sentence", "weights", "two leading axes"),
    ),
    Mutant(
        "table too short",
        _bag(dE=lambda dy, E, ids, w: _scattered(dy, E[: ids.max() + 1], ids, w)),
        "dE ends at the largest id that was read: rows that nobody read exist too, and have gradient zero.",
        "0.3",
        ("one sentence", "rows of E", "two leading axes"),
    ),
    Mutant(
        "rows averaged over the sentences",
        _bag(dE=lambda dy, E, ids, w: _scattered(dy, E, ids, w) / (ids.size // len(w))),
        "dE is a mean over the sentences: each of them read the table, so what they send adds up.",
        "0.3",
        ("rows of E", "two leading axes"),
    ),
    Mutant(
        "the gradient at every row",
        _bag(dE=lambda dy, E, ids, w: np.broadcast_to(w.sum() * _rows_of(dy).sum(axis=0), E.shape).copy()),
        "Every row of E gets the same gradient: only the rows that were read get one, each from the places where its "
        "id stands.",
        "0.3",
        ("one sentence", "rows of E", "two leading axes"),
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


def _as_it_comes(f, X, h=1e-5):
    X, dX = X.copy(), np.zeros(X.shape)
    for i in np.ndindex(X.shape):
        here = X[i]
        X[i] = here + h
        above = f(X)
        X[i] = here - h
        dX[i] = (above - f(X)) / (2 * h)
        X[i] = here
    return dX


def _relative(f, X, h=1e-5):
    X, dX = np.array(X, dtype=np.float64), np.zeros(X.shape)
    for i in np.ndindex(X.shape):
        here = X[i]
        step = h * max(1.0, abs(here))
        X[i] = here + step
        above = f(X)
        X[i] = here - step
        dX[i] = (above - f(X)) / (2 * step)
        X[i] = here
    return dX


def _stored_as_it_comes(f, X, h=1e-5):
    dX = np.zeros_like(X)
    dX[...] = _differences(_central)(f, X, h)
    return dX


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
        "h ignored",
        _differences(_central, h_used=1e-5),
        "The step is 1e-5, whatever h says: use the h that is given.",
        "0.4",
        ("a big step", "three axes", "another cubic"),
    ),
    Mutant(
        "a relative step",
        _relative,
        "The step grows with the entry, h times its size: use h as it is given, for every entry.",
        "0.4",
        ("a big step", "another cubic"),
    ),
    Mutant(
        "float32",
        _differences(_central, dtype=np.float32),
        "The differences are taken in float32, which holds 7 digits: a step of 1e-5 drowns in rounding.",
        "0.4",
        ("a big step", "the usual step", "not contiguous", "float32 input", "three axes"),
    ),
    Mutant(
        "copy in float32",
        _as_it_comes,
        "The copy of X has the dtype of X: in float32, with 7 digits, a step of 1e-5 drowns in rounding. Copy into "
        "float64.",
        "0.4",
        ("float32 input",),
    ),
    Mutant(
        "slopes in float32",
        _stored_as_it_comes,
        "The slopes are stored in an array of X's dtype: in float32 it keeps 7 of the 10 digits that were measured.",
        "0.4",
        ("float32 input",),
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
    Mutant(
        "backward difference",
        _differences(lambda below, at, above, h: (at - below) / h),
        "This is the backward difference (f(x) − f(x−h)) / h: its error shrinks with h, the central one's with h².",
        "0.4",
        ("a big step", "the usual step", "not contiguous", "three axes"),
    ),
    Mutant(
        "not divided by the step",
        _differences(lambda below, at, above, h: (above - below) / 2),
        "The difference is halved, and not divided by h: the slope is the difference over the distance, 2h.",
        "0.4",
        ("a big step", "the usual step", "not contiguous", "float32 input", "three axes"),
    ),
    Mutant(
        "difference alone",
        _differences(lambda below, at, above, h: above - below),
        "This is the difference f(x+h) − f(x−h): the slope divides it by the distance, 2h.",
        "0.4",
        ("the usual step", "not contiguous", "float32 input", "three axes"),
    ),
)

# 00.6

_measured = _differences(_central)


def _checks(dY_of, compare, rows=None):
    """A gradient check with a weak upstream gradient, a weak comparison, or too few rows."""

    def function(forward, backward, X, rng):
        X = X[:rows].copy()
        dY = dY_of(forward(X), X, rng)
        slopes = _measured(lambda moved: float((dY * forward(moved)).sum()), X)
        return bool(compare(np.abs(backward(dY, X) - slopes).max(), np.abs(slopes).max()))

    return function


def _random(Y, X, rng):
    return rng.normal(size=Y.shape)


def _close(error, size):
    return error <= 1e-4 * size + 1e-7


def _compared(of, dY_of=None):
    """A gradient check that compares what `of` makes of the gradient by hand G and of the measured slopes."""

    def function(forward, backward, X, rng):
        dY = (dY_of or _random)(X, X, rng)
        slopes = _measured(lambda moved: float((dY * forward(moved)).sum()), X.copy())
        return bool(of(backward(dY, X), slopes))

    return function


def _row(k):
    return _compared(lambda G, slopes: _close(np.abs(G - slopes)[k].max(), np.abs(slopes).max()))


def _norms(G, slopes):
    return _close(abs(np.linalg.norm(G) - np.linalg.norm(slopes)), np.abs(slopes).max())


CHECKS = (
    Mutant(
        "all ones",
        _checks(lambda Y, X, rng: np.ones_like(Y), lambda error, size: error <= 1e-4 * size + 1e-7),
        "Every layer passes, the wrong ones as well. One way to this pattern is a dY of all ones: the loss is the sum "
        "of a centred row, always 0, so the true dX is 0, and wrong ones pass.",
        "0.4",
        ("seven layers",),
    ),
    Mutant(
        "the output as upstream",
        _checks(lambda Y, X, rng: Y, _close),
        "dY = Y is the loss ½ Σ Y², which LayerNorm holds constant: its gradient is 0 again. Take a random dY.",
        "0.4",
        ("seven layers",),
    ),
    Mutant(
        "one row",
        _checks(_random, lambda error, size: error <= 1e-4 * size, rows=1),
        "Faults that mix rows, or divide by their number, pass here, as where a single row is checked: they need at "
        "least two.",
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
        "the input as upstream",
        _checks(lambda Y, X, rng: X, lambda error, size: error <= 1e-4 * size),
        "One way to this pattern is dY = X, or dY = Y: the true gradient of LayerNorm is 0, for a row that grows in "
        "its own direction gives the same output, so noise is compared with noise, and the right layer is refused. "
        "Take a random dY.",
        "0.4",
        ("seven layers",),
    ),
    Mutant(
        "absolute and strict",
        _checks(_random, lambda error, size: error <= 1e-9),
        "The error is compared with a fixed number: where the loss is large, its rounding alone is more than that, and "
        "a right layer is refused. Divide by the size of the slopes.",
        "0.4",
        ("large activations",),
    ),
    Mutant(
        "too strict",
        _checks(_random, lambda error, size: error <= 1e-15 * size),
        "Right layers are refused: the comparison asks for more than the ten digits of a central difference, or dY "
        "makes the true gradient zero and noise is compared with noise, or what is measured is the slope of another "
        "loss than the inner product of this dY with the output.",
        "0.4",
        ("seven layers", "large activations", "five rows"),
    ),
    Mutant(
        "too loose",
        _checks(_random, lambda error, size: error <= 0.9 * size),
        "A wrong layer passes although its gradients are far off: the gap of a right one is a millionth of the "
        "size.",
        "0.4",
        ("seven layers", "large activations"),
    ),
    Mutant(
        "True for wrong",
        _checks(_random, lambda error, size: error > 1e-4 * size),
        "True and False are exchanged: True is for the layers whose backward pass is right.",
        "0.4",
        ("seven layers", "large activations", "five rows"),
    ),
    Mutant(
        "first row compared",
        _row(0),
        "A fault in the later rows is not seen, as where only the first row is compared, or one number in it, or the "
        "upstream is 0 in the others: all rows have to agree, so take the largest gap of all entries.",
        "0.4",
        ("seven layers", "large activations", "other layers", "five rows"),
    ),
    Mutant(
        "last row compared",
        _row(-1),
        "A fault in the first rows is not seen, as where only the last row is compared: all rows have to agree, so "
        "take the largest gap of all entries.",
        "0.4",
        ("other layers",),
    ),
    Mutant(
        "norms compared",
        _compared(_norms),
        "A gradient of the right length passes although it points elsewhere, as where two norms are compared: "
        "compare entry by entry, so take the size of the difference, not the difference of the sizes.",
        "0.4",
        ("other layers",),
    ),
    Mutant(
        "one upstream for all rows",
        _compared(lambda G, slopes: _close(np.abs(G - slopes).max(), np.abs(slopes).max()),
                  lambda Y, X, rng: rng.normal(size=X.shape[1]) + np.zeros_like(X)),
        "Rows that are exchanged pass, as where all rows have the same upstream: draw dY in the shape of all of Y.",
        "0.4",
        ("other layers",),
    ),
)

# 00.7


def _rows(mask=np.tril, axis=1, transpose=True, swap=False, flip=False, hidden=-np.inf, scale=np.sqrt, biased=True,
          late=False, width=lambda Q, X, V: Q.shape[-1]):
    """A conversion from columns to rows with one step forgotten."""

    def function(X, W_q, W_k, W_v, b_q, b_k, b_v):
        Q, K, V = (X @ (W.T if transpose else W) + biased * b for W, b in ((W_q, b_q), (W_k, b_k), (W_v, b_v)))
        S = (K @ Q.T if swap else Q @ K.T) / scale(width(Q, X, V))
        seen = mask(np.ones(S.shape)) > 0
        S = S if late else np.where(seen, S, hidden)
        A = np.exp(S - S.max(axis=axis, keepdims=True))
        A = A / A.sum(axis=axis, keepdims=True)
        A = np.where(seen, A, 0.0) if late else A
        return A @ V, A.T if flip else A

    return function


def _nothing_for_the_first(X, W_q, W_k, W_v, b_q, b_k, b_v):
    A = _rows(mask=lambda S: np.tril(S, -1), hidden=-1e30)(X, W_q, W_k, W_v, b_q, b_k, b_v)[1]
    A = A * (np.arange(len(A)) > 0)[:, None]
    return A @ (X @ W_v.T + b_v), A


ROWS = (
    Mutant(
        "width of the tokens",
        _rows(width=lambda Q, X, V: X.shape[1]),
        "The scores are divided by √d, with d the width of the tokens: it is the width of queries and keys, √d_k.",
        "0.7",
        ("weights", "output"),
    ),
    Mutant(
        "no scale",
        _rows(width=lambda Q, X, V: 1),
        "The scores are not divided by √d_k.",
        "0.7",
        ("weights", "output"),
    ),
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
    Mutant(
        "no mask",
        _rows(mask=np.abs),
        "There is no mask: token i may look at the tokens j ≤ i alone, and here it sees the later ones as well.",
        "0.7",
        ("weights", "output", "square"),
    ),
    Mutant(
        "scores set to zero",
        _rows(hidden=0.0),
        "Hidden scores are set to 0, and exp 0 is 1: they must be −∞ before the softmax.",
        "0.7",
        ("weights", "output", "square"),
    ),
    Mutant(
        "masked after the softmax",
        _rows(late=True),
        "The mask comes after the softmax, so a row does not sum to one any more: hide the scores before it.",
        "0.7",
        ("weights", "output", "square"),
    ),
    Mutant(
        "scale without its root",
        _rows(scale=lambda d_k: d_k),
        "The scores are divided by d_k: the scale is its root, √d_k.",
        "0.7",
        ("weights", "output", "square"),
    ),
    Mutant(
        "biases forgotten",
        _rows(biased=False),
        "The biases are missing: in the text each column gets b, so here each row gets it.",
        "0.7",
        ("weights", "output", "square"),
    ),
    Mutant(
        "not itself",
        _rows(mask=lambda S: np.tril(S, -1), hidden=-1e30),
        "A token does not see itself: the causal mask keeps j = i.",
        "0.7",
        ("square", "weights", "output"),
    ),
    Mutant(
        "mask one too far",
        _rows(mask=lambda S: np.tril(S, 1)),
        "Each token sees one token too many: the diagonal j = i is the last one that is seen, and the next token is "
        "hidden.",
        "0.2",
        ("weights", "output", "square"),
    ),
    Mutant(
        "not itself, and 0/0",
        _rows(mask=lambda S: np.tril(S, -1)),
        "A token does not see itself, so that nothing is left for the first one, which is 0/0: the causal mask keeps "
        "j = i.",
        "0.2",
        ("square", "weights", "output"),
    ),
    Mutant(
        "not itself, and nothing for the first",
        _nothing_for_the_first,
        "A token does not see itself, and the first one sees nothing at all: the causal mask keeps j = i.",
        "0.2",
        ("square", "weights", "output"),
    ),
    Mutant(
        "width of the values",
        _rows(width=lambda Q, X, V: V.shape[-1]),
        "The scores are divided by √d_v, with the width of the values: it is that of queries and keys, √d_k.",
        "0.2",
        ("weights", "output"),
    ),
)

# 00.8


def _four(rounding=1.5, bend=1 / 30, power=5, factor=4, bound=None):
    """rounding · eps |f| / h + bend · h⁴ |f⁽⁵⁾|, made smallest, with a constant or a power that is wrong."""

    def function(eps, f, f5):
        f, f5 = abs(f), abs(f5)
        h = (rounding * eps * f / (factor * bend * f5)) ** (1 / power)
        return h, bound(eps, f, f5, h) if bound else rounding * eps * f / h + bend * h**4 * f5

    return function


def _right_bound(eps, f, f5, h):
    return 1.5 * eps * f / h + h**4 * f5 / 30


def _signs_kept(eps, f, f5):
    h = float(np.sign(f)) * (45 * eps * abs(f) / (4 * abs(f5))) ** 0.2
    return h, _right_bound(eps, f, f5, h)


_exchanged = _four(bound=lambda eps, f5, f, h: _right_bound(eps, f, f5, h))

FOUR = ("h", "bound", "float32, other signs")

STEP = (
    Mutant(
        "balanced",
        _four(factor=1, bound=_right_bound),
        "Here the two errors are equal: the sum is smallest where their slopes cancel, and where the errors are equal "
        "that of h⁴ is four times as steep as that of 1/h.",
        "0.4",
        FOUR,
    ),
    Mutant(
        "rounding of two values",
        _four(rounding=1.0),
        "The rounding is that of the two-point formula: here four values have errors, with weights 1, 8, 8, 1 over 12.",
        "0.4",
        FOUR,
    ),
    Mutant(
        "weights forgotten in the rounding",
        _four(rounding=1 / 3),
        "The four rounding errors are counted once each: the formula multiplies those near x by 8.",
        "0.4",
        FOUR,
    ),
    Mutant(
        "errors at random",
        _four(rounding=130**0.5 / 12),
        "The four errors are added like independent ones, by their squares: the bound asks for the worst case, where "
        "their sizes add up.",
        "0.4",
        FOUR,
    ),
    Mutant(
        "divided by 6h",
        _four(rounding=3.0),
        "The rounding is twice too large: the weights add up to 18, and the formula divides by 12h.",
        "0.4",
        FOUR,
    ),
    Mutant(
        "for the exponential alone",
        lambda eps, f, f5: (h := (45 / 4 * eps) ** 0.2, _right_bound(eps, abs(f), abs(f5), h)),
        "The step does not depend on f: this is right where f and its derivative are equal, as for the exponential.",
        "0.4",
        FOUR,
    ),
    Mutant(
        "rounding with signs",
        _four(rounding=7 / 6),
        "The outer errors are subtracted from the inner ones, 8 + 8 − 1 − 1: in the worst case all four pull one way.",
        "0.4",
        FOUR,
    ),
    Mutant(
        "two inner values",
        _four(rounding=4 / 3),
        "Only the two inner values are counted in the rounding, 16 of 12: the outer two bring 2 more.",
        "0.4",
        FOUR,
    ),
    Mutant(
        "Taylor's factor alone",
        _four(bend=1 / 120),
        "The truncation is h⁴ f⁽⁵⁾ / 120, as if one point at distance h were left: collect the terms h⁵ of all four, "
        "where 2h brings 32.",
        "0.4",
        FOUR,
    ),
    Mutant(
        "terms of one sign",
        _four(bend=(16 + 64) / 120 / 12),
        "The outer and the inner terms h⁵ are added: their weights have opposite signs, 16 − 64.",
        "0.4",
        FOUR,
    ),
    Mutant(
        "the two-point formula",
        lambda eps, f, f5: (h := (3 * eps * abs(f / f5)) ** (1 / 3), eps * abs(f) / h + h * h * abs(f5) / 6),
        "This is the best step of the two-point formula: here the terms h² cancel, and the error is of order h⁴.",
        "0.4",
        FOUR,
    ),
    Mutant(
        "fourth root",
        _four(power=4, bound=_right_bound),
        "A fourth root: the slope of the rounding has h² below it and that of the truncation h³ above, together h⁵.",
        "0.4",
        FOUR,
    ),
    Mutant(
        "upside down",
        lambda eps, f, f5: _exchanged(eps, f5, f),
        "f and its derivative are exchanged: a function that bends more needs a smaller step.",
        "0.4",
        FOUR,
    ),
    Mutant(
        "truncation only",
        _four(bound=lambda eps, f, f5, h: h**4 * f5 / 30),
        "The bound counts the truncation alone: at the best step rounding is four times as large.",
        "0.4",
        ("bound", "float32, other signs"),
    ),
    Mutant(
        "rounding only",
        _four(bound=lambda eps, f, f5, h: 1.5 * eps * f / h),
        "The bound counts the rounding alone: at the best step the truncation adds a quarter of it.",
        "0.4",
        ("bound", "float32, other signs"),
    ),
    Mutant(
        "signs kept",
        _signs_kept,
        "The sign of f is kept, so h can come out negative: errors are bounded by absolute values.",
        "0.4",
        ("float32, other signs",),
    ),
    Mutant(
        "order of magnitude",
        lambda eps, f, f5: (h := (eps * abs(f / f5)) ** 0.2, _right_bound(eps, abs(f), abs(f5), h)),
        "This is the order of magnitude of the best step, without its constant: set the slope of the bound to zero.",
        "0.4",
        FOUR,
    ),
)

# 00.9


def _distances(forward=None, dX=None, dC=None, in_place=False, shared=False, frozen=True):
    """A class of squared distances with one slip."""

    @functools.cache
    def function():
        import torch

        class Distances(torch.autograd.Function):
            kept = None

            @staticmethod
            def forward(ctx, X, C):
                Distances.kept = X, C
                ctx.save_for_backward(X, C)
                D = ((X[:, None] - C) ** 2).sum(dim=-1)
                return forward(D, X, C) if forward else D

            @staticmethod
            def backward(ctx, dD):
                X, C = Distances.kept if shared else ctx.saved_tensors
                dD = dD.mul_(2) if in_place else 2 * dD
                gap = X[:, None] - C
                mine = dX(dD, gap, X, C) if dX else (dD[..., None] * gap).sum(dim=1)
                theirs = dC(dD, gap, X, C) if dC else -(dD[..., None] * gap).sum(dim=0)
                return mine, theirs if ctx.needs_input_grad[1] or frozen else None

        return Distances

    return function


GRAPHS = ("both gradients", "X is read twice", "two calls")

DISTANCES = (
    Mutant(
        "factor 2 forgotten",
        _distances(dX=lambda dD, gap, X, C: (dD[..., None] * gap).sum(dim=1) / 2,
                   dC=lambda dD, gap, X, C: -(dD[..., None] * gap).sum(dim=0) / 2),
        "The slope of a square is twice its root: a factor 2 is missing in both gradients.",
        "0.3",
        (*GRAPHS, "C is frozen"),
    ),
    Mutant(
        "sign of dC",
        _distances(dC=lambda dD, gap, X, C: (dD[..., None] * gap).sum(dim=0)),
        "dC has the sign of dX: C is subtracted, so a step of C moves the difference the other way.",
        "0.3",
        GRAPHS,
    ),
    Mutant(
        "upstream ignored",
        _distances(dX=lambda dD, gap, X, C: 2 * gap.sum(dim=1), dC=lambda dD, gap, X, C: -2 * gap.sum(dim=0)),
        "The upstream dD is not used: this is the gradient of the sum of all distances, whatever the loss is.",
        "0.3",
        (*GRAPHS, "C is frozen"),
    ),
    Mutant(
        "no gradient for C",
        _distances(dC=lambda dD, gap, X, C: None),
        "C gets no gradient: backward returns one for each input of forward, in their order.",
        "0.5",
        GRAPHS,
    ),
    Mutant(
        "C left out of dX",
        _distances(dX=lambda dD, gap, X, C: dD.sum(dim=1, keepdim=True) * X,
                   dC=lambda dD, gap, X, C: dD.sum(dim=0)[:, None] * C),
        "Only the squares x² and c² are differentiated: the product −2 x·c of the two depends on both as well.",
        "0.3",
        (*GRAPHS, "C is frozen"),
    ),
    Mutant(
        "product only",
        _distances(dX=lambda dD, gap, X, C: -dD @ C, dC=lambda dD, gap, X, C: -dD.T @ X),
        "Only the product −2 x·c is differentiated: x² and c² have slopes of their own.",
        "0.3",
        (*GRAPHS, "C is frozen"),
    ),
    Mutant(
        "averaged",
        _distances(dX=lambda dD, gap, X, C: (dD[..., None] * gap).mean(dim=1),
                   dC=lambda dD, gap, X, C: -(dD[..., None] * gap).mean(dim=0)),
        "These are means over the pairs: a row of X stands in m distances, and what they send back adds up.",
        "0.3",
        (*GRAPHS, "C is frozen"),
    ),
    Mutant(
        "upstream summed by itself",
        _distances(dX=lambda dD, gap, X, C: dD.sum(dim=1)[:, None] * gap.sum(dim=1),
                   dC=lambda dD, gap, X, C: -dD.sum(dim=0)[:, None] * gap.sum(dim=0)),
        "The upstream and the differences are summed each by itself, and then multiplied: each dD_ij belongs to its "
        "own difference, so multiply first and then sum.",
        "0.3",
        (*GRAPHS, "C is frozen"),
    ),
    Mutant(
        "one number for the upstream",
        _distances(dX=lambda dD, gap, X, C: dD.sum() * gap.sum(dim=1),
                   dC=lambda dD, gap, X, C: -dD.sum() * gap.sum(dim=0)),
        "The whole upstream is summed to one number: each dD_ij belongs to its own difference.",
        "0.3",
        (*GRAPHS, "C is frozen"),
    ),
    Mutant(
        "mean in the gradients",
        _distances(dX=lambda dD, gap, X, C: (dD[..., None] * gap).sum(dim=1) / X.shape[1],
                   dC=lambda dD, gap, X, C: -(dD[..., None] * gap).sum(dim=0) / X.shape[1]),
        "The gradients are divided by the number of features, and D is not a mean over them.",
        "0.3",
        (*GRAPHS, "C is frozen"),
    ),
    Mutant(
        "half of the square",
        _distances(forward=lambda D, X, C: D / 2, dX=lambda dD, gap, X, C: (dD[..., None] * gap).sum(dim=1) / 2,
                   dC=lambda dD, gap, X, C: -(dD[..., None] * gap).sum(dim=0) / 2),
        "This is half of the squared length: the sum of the squares is asked for, without the half that makes the "
        "gradient tidy.",
        "0.3",
        ("forward", *GRAPHS, "C is frozen"),
    ),
    Mutant(
        "absolute values",
        _distances(forward=lambda D, X, C: (X[:, None] - C).abs().sum(dim=-1)),
        "D is the sum of absolute differences: the sum of their squares is asked for.",
        "0.3",
        ("forward", "X is read twice", "two calls", "C is frozen"),
    ),
    Mutant(
        "a length, not its square",
        _distances(forward=lambda D, X, C: D.sqrt()),
        "D is the length of the difference: the square of it is asked for, without the root.",
        "0.3",
        ("forward", "X is read twice", "two calls", "C is frozen"),
    ),
    Mutant(
        "mean over the features",
        _distances(forward=lambda D, X, C: D / X.shape[1], dX=lambda dD, gap, X, C: (dD[..., None] * gap).sum(dim=1)
                   / X.shape[1], dC=lambda dD, gap, X, C: -(dD[..., None] * gap).sum(dim=0) / X.shape[1]),
        "This is the mean of the squares over the features: a squared length is their sum.",
        "0.3",
        ("forward", *GRAPHS, "C is frozen"),
    ),
    Mutant(
        "upstream changed in place",
        _distances(in_place=True),
        "backward changes dD in place: the same tensor is handed to other readers of the loss, and they get it "
        "doubled.",
        "0.5",
        ("both gradients", "C is frozen"),
    ),
    Mutant(
        "kept on the class",
        _distances(shared=True),
        "The inputs are kept on the class, and a second call overwrites those of the first: each call has a ctx of its "
        "own, with save_for_backward.",
        "0.5",
        ("two calls",),
    ),
)

# 00.10


def _skew_blind(matrix_of):
    def function(W):
        return np.linalg.svd(matrix_of(W))[2][-1:]

    return function


def _real_eigenvector(W):
    values, vectors = np.linalg.eig(W)
    return vectors[:, np.abs(values.imag).argmin()].real[None]


BLIND = (
    Mutant(
        "all ones",
        lambda W: np.ones((1, len(W))),
        "All ones see the sums of the rows of W against those of its columns: only a W where these agree would pass.",
        "0.4",
        ("three features", "five features"),
    ),
    Mutant(
        "an eigenvector",
        _real_eigenvector,
        "This is an eigenvector of W: it keeps its direction under W, and Wᵀ turns it elsewhere.",
        "0.4",
        ("three features", "five features"),
    ),
    Mutant(
        "the sum in place of the difference",
        _skew_blind(lambda W: W + W.T),
        "This is the direction in which W + Wᵀ is smallest: equal products mean that the difference W − Wᵀ sends dY to "
        "zero.",
        "0.4",
        ("three features", "five features"),
    ),
    Mutant(
        "smallest for W",
        _skew_blind(lambda W: W.T),
        "This is the direction in which dY W is smallest: it need not be small, it must be equal to dY Wᵀ.",
        "0.4",
        ("three features", "five features"),
    ),
    Mutant(
        "largest for the difference",
        lambda W: np.linalg.svd(W - W.T)[2][:1],
        "This is the direction in which the difference W − Wᵀ is largest; it is sent to zero by the last one, not the "
        "first.",
        "0.4",
        ("three features", "five features"),
    ),
    Mutant(
        "an eigenvector of the sum",
        lambda W: np.linalg.eigh(W + W.T)[1][:, :1].T,
        "This is an eigenvector of W + Wᵀ: equal products mean that the difference W − Wᵀ sends dY to zero.",
        "0.4",
        ("three features", "five features"),
    ),
    Mutant(
        "a left eigenvector",
        lambda W: _real_eigenvector(W.T),
        "For this dY the product dY W keeps its direction, and dY Wᵀ has another one: they have to be equal.",
        "0.4",
        ("three features", "five features"),
    ),
    Mutant(
        "one feature",
        lambda W: np.eye(1, len(W)),
        "This reads the first row of W and the first row of Wᵀ: they are different rows of numbers.",
        "0.4",
        ("three features", "five features"),
    ),
)

# 00.11


def _in_order(a, b):
    return (a, b) if abs(a) <= abs(b) else (b, a)


FACTORS = (
    Mutant(
        "divided by the measured one",
        lambda e: _in_order(1 - e, 1 + e),
        "Here the error is divided by the measured gradient, whichever is larger: (0.38) divides by the larger of the "
        "two.",
        "0.4",
        ("below one", "above one", "two"),
    ),
    Mutant(
        "divided by the one by hand",
        lambda e: _in_order(1 / (1 + e), 1 / (1 - e)),
        "Here the error is divided by the gradient by hand, whichever is larger: (0.38) divides by the larger of the "
        "two.",
        "0.4",
        ("below one", "above one", "two"),
    ),
    Mutant(
        "never negative",
        lambda e: _in_order(abs(1 - e), abs(1 / (1 - e))),
        "The sign is lost: an error above 1 needs gradients of opposite signs, so both factors are negative.",
        "0.4",
        ("above one", "two"),
    ),
    Mutant(
        "large never negative",
        lambda e: (1 - e, abs(1 / (1 - e))),
        "The sign of the larger factor is lost: above an error of 1 the two gradients have opposite signs, whichever "
        "of them is the larger.",
        "0.4",
        ("above one", "two"),
    ),
    Mutant(
        "the other order",
        lambda e: _in_order(1 - e, 1 / (1 - e))[::-1],
        "The two factors are right and stand in the other order: the one of smaller size first.",
        "0.4",
        ("below one", "above one"),
    ),
    Mutant(
        "the error itself",
        lambda e: _in_order(e, 1 / e),
        "This takes the error for the factor: the error says how far the factor is from 1.",
        "0.4",
        ("below one", "above one", "two"),
    ),
    Mutant(
        "one factor twice",
        lambda e: (1 - e, 1 - e),
        "Both numbers are the factor of a gradient that is too small: there is one that is too large as well.",
        "0.4",
        ("below one", "above one"),
    ),
    Mutant(
        "divided by the sum",
        lambda e: _in_order((1 - e) / (1 + e), (1 + e) / (1 - e)),
        "Here the error is divided by the sum of the two sizes: (0.38) divides by the larger of the two.",
        "0.4",
        ("below one", "above one", "two"),
    ),
    Mutant(
        "divided by the mean",
        lambda e: _in_order((2 - e) / (2 + e), (2 + e) / (2 - e) if e < 2 else np.inf),
        "Here the error is divided by the mean of the two sizes: (0.38) divides by the larger of the two.",
        "0.4",
        ("below one", "above one", "two"),
    ),
    Mutant(
        "one plus the error",
        lambda e: (1 / (1 + e), 1 + e),
        "The factor 1 + e is farther off than e says: divided by the larger of the two gradients, its gap is e/(1 + "
        "e). The factors are 1 − e and 1/(1 − e).",
        "0.4",
        ("below one", "above one", "two"),
    ),
)

# 00.12


def _alone(look, tolerance=1e-12):
    """Compares two arrays of rows that `look` makes of f and X."""

    def function(f, X):
        a, b = look(f, X)
        return bool(np.abs(a - b).max() <= tolerance * np.abs(b).max())

    return function


def _one_by_one(f, X):
    return np.concatenate([f(X[t : t + 1]) for t in range(len(X))]), f(X)


def _later_changed(f, X):
    changed = X.copy()
    changed[-1] = 1.7 * X[-1].max() + X[0]
    return f(changed)[:-1], f(X)[:-1]


def _earlier_changed(f, X):
    changed = X.copy()
    changed[0] = 1.7 * X[0].max() + X[-1]
    return f(changed)[1:], f(X)[1:]


ALONE = (
    Mutant(
        "the shape alone",
        lambda f, X: f(X).shape == X.shape,
        "Whatever keeps the shape is let through: compare numbers.",
        "0.6",
        ("ten functions", "small numbers", "other sizes"),
    ),
    Mutant(
        "tokens exchanged",
        _alone(lambda f, X: (f(X[::-1])[::-1], f(X))),
        "Exchanging the tokens finds what depends on places alone: a sum or a maximum over all tokens does not notice "
        "their order.",
        "0.6",
        ("ten functions", "small numbers", "other sizes"),
    ),
    Mutant(
        "the last token changed",
        _alone(_later_changed),
        "Only later tokens are changed: what an earlier token does to a later one, and what the place does, is not "
        "seen.",
        "0.6",
        ("ten functions", "small numbers", "other sizes"),
    ),
    Mutant(
        "the first token changed",
        _alone(_earlier_changed),
        "This finds what other tokens do, and not what their number or the place does: both stayed as they were. Send "
        "in every token by itself.",
        "0.6",
        ("ten functions", "small numbers", "other sizes"),
    ),
    Mutant(
        "the first token alone",
        _alone(lambda f, X: (f(X[:1]), f(X)[:1])),
        "What happens at the first place is all that is tried: a place that is added, a special first token and what "
        "comes from the token before do not show there. Send in every token by itself.",
        "0.6",
        ("ten functions", "small numbers", "other sizes"),
    ),
    Mutant(
        "each of its own size",
        lambda f, X: np.allclose(*_one_by_one(f, X)),
        "A dependence of a billionth is let through: the comparison allows more than rounding. np.allclose, for one, "
        "lets through 1e-5 of each number, and 1e-8 besides. Compare with the rounding of float64.",
        "0.6",
        ("ten functions", "small numbers", "other sizes"),
    ),
    Mutant(
        "the last token alone",
        _alone(lambda f, X: (f(X[-1:]), f(X)[-1:])),
        "A last token that is treated in a way of its own is let through: by itself a token is always the last. Send "
        "in every token by itself, not only that one.",
        "0.6",
        ("ten functions", "small numbers", "other sizes"),
    ),
    Mutant(
        "a fixed tolerance",
        lambda f, X: bool(np.abs(np.subtract(*_one_by_one(f, X))).max() < 1e-12),
        "The difference is compared with a fixed number: where the numbers are small, all passes. Divide by their "
        "size.",
        "0.6",
        ("small numbers",),
    ),
    Mutant(
        "bit for bit",
        lambda f, X: bool(np.equal(*_one_by_one(f, X)).all()),
        "The two are compared bit for bit, and the last digits may differ by rounding: allow for 1e-12 of the largest "
        "number, say.",
        "0.6",
        ("ten functions", "other sizes"),
    ),
)
