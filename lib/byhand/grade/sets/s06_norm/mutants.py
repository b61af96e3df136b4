"""Known wrong answers, each with the message that names the misconception."""

import numpy as np

from ...model import Mutant

# 06.1


def _mean(x, axis=-1):
    return x.mean(axis=axis, keepdims=True)


def _forward(root=None, axis=-1, centre=True, gain=lambda gamma: gamma, shift=lambda beta: beta):
    """LayerNorm with one part replaced by a wrong one; root takes centred X, its mean square and ε."""

    def function(X, gamma, beta, eps):
        c = X - _mean(X, axis) if centre else X
        v = _mean(c * c, axis)
        return gain(gamma) * c / (root(c, v, eps) if root else np.sqrt(v + eps)) + shift(beta)

    return function


def _no_eps(c, v, eps):
    return np.sqrt(v)


ROWS = ("tokens", "batch and heads", "other sizes")

FORWARD = (
    Mutant(
        "shift inside the gain",
        lambda X, gamma, beta, eps: gamma * ((X - _mean(X)) / np.sqrt(_mean((X - _mean(X)) ** 2) + eps) + beta),
        "The shift is multiplied by the gain: first gamma times x̂, then beta is added.",
        "6.1",
        ROWS,
    ),
    Mutant(
        "sample deviation and epsilon outside",
        _forward(root=lambda c, v, eps: np.sqrt(v * c.shape[-1] / (c.shape[-1] - 1)) + eps),
        "The deviation divides by d − 1, and ε is added behind the root: divide by d, and put ε under the root.",
        "6.5",
        ROWS,
    ),
    Mutant(
        "epsilon squared",
        _forward(root=lambda c, v, eps: np.sqrt(v + eps**2)),
        "ε is squared before it meets the variance: it is added as it is.",
        "6.5",
        ("faint tokens", "tokens"),
    ),
    Mutant(
        "over the tokens",
        _forward(axis=-2),
        "Mean and variance run over the tokens: a norm across tokens lets the past see the future. Take the last axis.",
        "6.2",
        ROWS,
    ),
    Mutant(
        "over everything",
        lambda X, gamma, beta, eps: gamma * (X - X.mean()) / np.sqrt(X.var() + eps) + beta,
        "One mean for all tokens: each token has its own, so axis=-1 and keepdims=True.",
        "6.2",
        ROWS,
    ),
    Mutant(
        "divided by d − 1",
        _forward(root=lambda c, v, eps: np.sqrt(v * c.shape[-1] / (c.shape[-1] - 1) + eps)),
        "The variance is divided by d − 1: the features of a token are all there is, not a sample. Divide by d.",
        "6.5",
        ROWS,
    ),
    Mutant(
        "1/d forgotten",
        _forward(root=lambda c, v, eps: np.sqrt(v * c.shape[-1] + eps)),
        "The squares are summed, not averaged: the output is too small by √d, 0.044 in place of 1 at d = 512.",
        "6.1",
        ROWS,
    ),
    Mutant(
        "divided by the variance",
        _forward(root=lambda c, v, eps: v + eps),
        "The root is missing: a token is divided by its variance, and twice the input gives half the output.",
        "6.1",
        ROWS,
    ),
    Mutant(
        "mean not taken away",
        _forward(centre=False),
        "The mean is still there: this divides by the root mean square, which is RMSNorm.",
        "6.7",
        ROWS,
    ),
    Mutant(
        "gain and shift exchanged",
        lambda X, gamma, beta, eps: beta * (X - _mean(X)) / np.sqrt(_mean((X - _mean(X)) ** 2) + eps) + gamma,
        "gamma and beta have changed places: gamma multiplies, beta is added.",
        "6.1",
        ROWS,
    ),
    Mutant(
        "no gain",
        _forward(gain=np.ones_like),
        "The gain gamma is missing.",
        "6.1",
        ROWS,
    ),
    Mutant(
        "epsilon outside",
        _forward(root=lambda c, v, eps: np.sqrt(v) + eps),
        "ε is added to the deviation: it belongs inside the root, beside the variance, and weighs far more there.",
        "6.5",
        ("faint tokens",),
    ),
    Mutant(
        "no epsilon",
        _forward(root=_no_eps),
        "ε is not in the variance: a token whose features are all equal is 0/0. Add it under the root, for every "
        "token.",
        "6.5",
        ("constant token", "faint tokens", "tokens"),
    ),
    Mutant(
        "one pass",
        lambda X, gamma, beta, eps: (
            gamma * (X - _mean(X)) / np.sqrt(np.maximum(_mean(X * X) - _mean(X) ** 2, 0) + eps) + beta
        ),
        "The variance is mean(x²) − μ²: at a high level two large numbers nearly cancel, and what is left is rounding. "
        "Take the mean away first, then square.",
        "6.5",
        ("high level",),
    ),
    Mutant(
        "no shift",
        _forward(shift=np.zeros_like),
        "The shift beta is missing.",
        "6.1",
        ROWS,
    ),
    Mutant(
        "deviation around nothing",
        lambda X, gamma, beta, eps: gamma * (X - _mean(X)) / np.sqrt(_mean(X * X) + eps) + beta,
        "The mean is taken away above, and not below: the root is that of the mean square of X itself, and it has to "
        "be that of X − μ.",
        "6.1",
        ROWS,
    ),
    Mutant(
        "not centred, divided by the deviation",
        lambda X, gamma, beta, eps: gamma * X / np.sqrt(X.var(axis=-1, keepdims=True) + eps) + beta,
        "Each token is divided by its deviation, and its mean was not taken away before.",
        "6.1",
        ROWS,
    ),
    Mutant(
        "axis 1",
        lambda X, gamma, beta, eps: _forward(axis=min(1, X.ndim - 1))(X, gamma, beta, eps),
        "Mean and variance run along axis 1, which is that of the features only where one axis stands in front: count "
        "it from the end, axis −1.",
        "6.2",
        ("batch and heads",),
    ),
)

# 06.2


def _backward(rule=None, gain=None, shift=None, scaled=True, power=1, late=False):
    """The backward pass with a part of it replaced by a wrong one; `rule` is dX without its division by s."""

    def function(dY, X_hat, s, gamma):
        d = gamma.size
        g = dY * gamma if scaled else dY
        dX = (rule or _from)(g, X_hat) / s**power
        dgamma = gain(dY, X_hat) if gain else (dY * X_hat).reshape(-1, d).sum(axis=0)
        dbeta = shift(dY) if shift else dY.reshape(-1, d).sum(axis=0)
        return gamma * dX if late else dX, dgamma, dbeta

    return function


def _from(g, X_hat):
    return g - _mean(g) - X_hat * _mean(g * X_hat)


def _flat(x):
    return x.reshape(-1, x.shape[-1])


GAMMA = ("any gamma", "batch", "batch and heads", "large epsilon")
INPUT = ("gamma = 1", *GAMMA)
AFFINE = ("gain and shift", "batch", "batch and heads")

BACKWARD = (
    Mutant(
        "plus along x̂",
        _backward(lambda g, X_hat: g - _mean(g) + X_hat * _mean(g * X_hat)),
        "The term along x̂ has the wrong sign: s grows with x̂_k, and x̂_i shrinks, so it is taken away.",
        "6.3",
        INPUT,
    ),
    Mutant(
        "plus along 1",
        _backward(lambda g, X_hat: g + _mean(g) - X_hat * _mean(g * X_hat)),
        "The mean of g is added: it is taken away, since ∂μ/∂x_k = 1/d enters with a minus.",
        "6.3",
        INPUT,
    ),
    Mutant(
        "projection",
        _backward(lambda g, X_hat: g - _mean(g) - X_hat * _mean(g * X_hat) / _mean(X_hat * X_hat)),
        "All of g along x̂ is taken away, by dividing by x̂ · x̂: the formula divides by d, which is a little more, "
        "and "
        "with ε a little of that direction comes back.",
        "6.4",
        ("large epsilon",),
    ),
    Mutant(
        "divided by d − 1",
        _backward(lambda g, X_hat: g - _mean(g) - X_hat * (g * X_hat).sum(-1, keepdims=True) / (g.shape[-1] - 1)),
        "The term along x̂ divides by d − 1: the variance divides by d, so its derivative does too.",
        "6.3",
        INPUT,
    ),
    Mutant(
        "gamma in its own gradient",
        lambda dY, X_hat, s, gamma: (
            _backward()(dY, X_hat, s, gamma)[0],
            gamma * _flat(dY * X_hat).sum(axis=0),
            gamma * _flat(dY).sum(axis=0),
        ),
        "dgamma and dbeta are made from g: gamma is behind X̂, so its own gradient takes dY as it came.",
        "6.3",
        AFFINE,
    ),
    Mutant(
        "the two exchanged",
        lambda dY, X_hat, s, gamma: tuple(_backward()(dY, X_hat, s, gamma)[i] for i in (0, 2, 1)),
        "dgamma and dbeta have changed places: beta's gradient is the plain sum of dY.",
        "6.3",
        AFFINE,
    ),
    Mutant(
        "gamma outside",
        _backward(scaled=False, late=True),
        "gamma stands outside the means: it multiplied x̂ entry by entry, so it is inside, g = gamma ∘ dY. "
        "With gamma = 1 nobody would notice.",
        "6.3",
        GAMMA,
    ),
    Mutant(
        "gamma forgotten",
        _backward(scaled=False),
        "gamma is missing from dX: x̂ receives gamma ∘ dY.",
        "6.3",
        GAMMA,
    ),
    Mutant(
        "statistics constant",
        _backward(lambda g, X_hat: g),
        "Mean and deviation are treated as constants: they depend on every feature, and give two more terms.",
        "6.3",
        INPUT,
    ),
    Mutant(
        "deviation constant",
        _backward(lambda g, X_hat: g - _mean(g)),
        "The way through the deviation is missing: the term −x̂ mean(g x̂).",
        "6.3",
        INPUT,
    ),
    Mutant(
        "mean constant",
        _backward(lambda g, X_hat: g - X_hat * _mean(g * X_hat)),
        "The way through the mean is missing: the term −mean(g). This is RMSNorm's backward pass.",
        "6.3",
        INPUT,
    ),
    Mutant(
        "sums for means",
        _backward(lambda g, X_hat: g - g.sum(-1, keepdims=True) - X_hat * (g * X_hat).sum(-1, keepdims=True)),
        "Sums stand where means should: both terms lack 1/d.",
        "6.3",
        INPUT,
    ),
    Mutant(
        "s forgotten",
        _backward(power=0),
        "The division by s is missing.",
        "6.3",
        INPUT,
    ),
    Mutant(
        "means over the tokens",
        _backward(lambda g, X_hat: g - _mean(g, -2) - X_hat * _mean(g * X_hat, -2)),
        "The means run over the tokens: they run over the axis of the norm, the features.",
        "6.3",
        INPUT,
    ),
    Mutant(
        "averaged over tokens",
        _backward(gain=lambda dY, X_hat: _flat(dY * X_hat).mean(axis=0), shift=lambda dY: _flat(dY).mean(axis=0)),
        "dgamma and dbeta are means: all tokens share the two vectors, so their gradients add up.",
        "6.3",
        AFFINE,
    ),
    Mutant(
        "x̂ forgotten in dgamma",
        _backward(gain=lambda dY, X_hat: _flat(dY).sum(axis=0)),
        "dgamma equals dbeta: gamma multiplies x̂, so its gradient is the sum of dY ∘ X̂.",
        "6.3",
        AFFINE,
    ),
    Mutant(
        "one for each sequence",
        _backward(gain=lambda dY, X_hat: (dY * X_hat).sum(axis=-2), shift=lambda dY: dY.sum(axis=-2)),
        "dgamma and dbeta are summed over one axis only: every leading axis holds tokens that used them.",
        "6.3",
        ("batch", "batch and heads"),
    ),
    Mutant(
        "a sum along 1",
        _backward(lambda g, X_hat: g - g.sum(-1, keepdims=True) - X_hat * _mean(g * X_hat)),
        "The term of the mean has a sum where a mean should be: it lacks 1/d.",
        "6.3",
        INPUT,
    ),
    Mutant(
        "gamma in the direct way only",
        lambda dY, X_hat, s, gamma: (
            (dY * gamma - _mean(dY) - X_hat * _mean(dY * X_hat)) / s,
            *_backward()(dY, X_hat, s, gamma)[1:],
        ),
        "gamma is in the direct term alone: what reaches x̂ is g = gamma ∘ dY, and both means are means of g.",
        "6.3",
        GAMMA,
    ),
    Mutant(
        "divided by s twice",
        _backward(power=2),
        "dX is divided by s twice: X̂ is already X − μ over s, and only one 1/s is left in front of the bracket.",
        "6.3",
        INPUT,
    ),
    Mutant(
        "x̂ without its entries",
        _backward(lambda g, X_hat: g - _mean(g) - _mean(g * X_hat)),
        "The last term is the same for all features: it is a multiple of x̂, so each entry has its own x̂.",
        "6.3",
        INPUT,
    ),
    Mutant(
        "one sum for a mean",
        _backward(lambda g, X_hat: g - _mean(g) - X_hat * (g * X_hat).sum(-1, keepdims=True)),
        "The term along x̂ has a sum where a mean should be: it lacks 1/d.",
        "6.3",
        INPUT,
    ),
    Mutant(
        "multiplied by s",
        _backward(power=-1),
        "dX is multiplied by s: the token was divided by it on the way forward, and is on the way back.",
        "6.3",
        INPUT,
    ),
    Mutant(
        "a factor of two",
        _backward(lambda g, X_hat: g - _mean(g) - 2 * X_hat * _mean(g * X_hat)),
        "The last term is twice too large: the 2 from the square and the ½ from the root cancel.",
        "6.3",
        INPUT,
    ),
    Mutant(
        "half a term",
        _backward(lambda g, X_hat: g - _mean(g) - 0.5 * X_hat * _mean(g * X_hat)),
        "The last term is halved: the ½ from the root and the 2 from the square cancel.",
        "6.3",
        INPUT,
    ),
    Mutant(
        "s under the first term alone",
        lambda dY, X_hat, s, gamma: (
            gamma * dY / s - _mean(gamma * dY) - X_hat * _mean(gamma * dY * X_hat),
            *_backward()(dY, X_hat, s, gamma)[1:],
        ),
        "Only the first term is divided by s: all three are, 1/s stands in front of the bracket.",
        "6.3",
        INPUT,
    ),
)

# 06.3


def _rms(rule=None, gain=None, scaled=True, power=1, late=False, root=None):
    """The backward pass with a part of it replaced by a wrong one; `rule` is dX without its division by r."""

    def function(dY, X, gamma, eps):
        r = root(X, eps) if root else np.sqrt(_mean(X * X) + eps)
        X_hat, g = X / r, dY * gamma if scaled else dY
        dX = (rule(g, X, X_hat) if rule else g - X_hat * _mean(g * X_hat)) / r**power
        return gamma * dX if late else dX, gain(dY, X, X_hat) if gain else _flat(dY * X_hat).sum(axis=0)

    return function


RMS_INPUT = ("dX", "batch", "large epsilon")


RMS = (
    Mutant(
        "plus along x̂",
        _rms(lambda g, X, X_hat: g + X_hat * _mean(g * X_hat)),
        "The term along x̂ has the wrong sign: r grows with x_k, and x̂ shrinks, so it is taken away.",
        "6.7",
        RMS_INPUT,
    ),
    Mutant(
        "X in the mean",
        _rms(lambda g, X, X_hat: g - X_hat * _mean(g * X)),
        "One of the two factors of the last term is X: both are X̂.",
        "6.7",
        RMS_INPUT,
    ),
    Mutant(
        "divided by r twice",
        _rms(power=2),
        "dX is divided by r twice: one r is in X̂ already, and one is left in front of the bracket.",
        "6.7",
        RMS_INPUT,
    ),
    Mutant(
        "a factor of two",
        _rms(lambda g, X, X_hat: g - 2 * X_hat * _mean(g * X_hat)),
        "The last term is twice too large: the 2 from the square and the ½ from the root cancel.",
        "6.7",
        RMS_INPUT,
    ),
    Mutant(
        "half a term",
        _rms(lambda g, X, X_hat: g - 0.5 * X_hat * _mean(g * X_hat)),
        "The last term is halved: the ½ from the root and the 2 from the square cancel.",
        "6.7",
        RMS_INPUT,
    ),
    Mutant(
        "projection",
        _rms(lambda g, X, X_hat: g - X_hat * _mean(g * X_hat) / _mean(X_hat * X_hat)),
        "All of g along x̂ is taken away, by dividing by x̂ · x̂: the formula divides by d, which is a little more, "
        "and "
        "with ε a little of that direction comes back.",
        "6.4",
        ("large epsilon",),
    ),
    Mutant(
        "gamma in its own gradient",
        lambda dY, X, gamma, eps: (
            _rms()(dY, X, gamma, eps)[0], gamma * _rms()(dY, X, gamma, eps)[1]
        ),
        "dgamma is made from g: gamma is behind X̂, so its own gradient takes dY as it came.",
        "6.7",
        ("dgamma", "batch"),
    ),
    Mutant(
        "LayerNorm's",
        _rms(lambda g, X, X_hat: g - _mean(g) - X_hat * _mean(g * X_hat)),
        "This has LayerNorm's term −mean(g): RMSNorm takes no mean away, so none comes back.",
        "6.7",
        RMS_INPUT,
    ),
    Mutant(
        "r constant",
        _rms(lambda g, X, X_hat: g),
        "r is treated as a constant: it depends on every feature of the token.",
        "6.7",
        RMS_INPUT,
    ),
    Mutant(
        "gamma outside",
        _rms(scaled=False, late=True),
        "gamma stands outside the mean: it belongs to g = gamma ∘ dY, inside.",
        "6.7",
        RMS_INPUT,
    ),
    Mutant(
        "X for X̂",
        _rms(lambda g, X, X_hat: g - X * _mean(g * X)),
        "X stands where X̂ should: ∂r/∂x_k is x_k/(d r), which is x̂_k/d.",
        "6.7",
        RMS_INPUT,
    ),
    Mutant(
        "sum for mean",
        _rms(lambda g, X, X_hat: g - X_hat * (g * X_hat).sum(-1, keepdims=True)),
        "A sum stands where the mean should: 1/d is missing.",
        "6.7",
        RMS_INPUT,
    ),
    Mutant(
        "r forgotten",
        _rms(power=0),
        "The division by r in front of the bracket is missing.",
        "6.7",
        RMS_INPUT,
    ),
    Mutant(
        "gamma forgotten",
        _rms(scaled=False),
        "gamma is missing from dX: X̂ receives g = gamma ∘ dY.",
        "6.7",
        RMS_INPUT,
    ),
    Mutant(
        "the deviation for r",
        _rms(root=lambda X, eps: np.sqrt(X.var(axis=-1, keepdims=True) + eps)),
        "r is the deviation here, with the mean taken away: RMSNorm's r is the root of the mean of X² itself.",
        "6.7",
        ("dX", "dgamma", "batch", "large epsilon"),
    ),
    Mutant(
        "the length for r",
        _rms(root=lambda X, eps: np.sqrt((X * X).sum(axis=-1, keepdims=True) + eps)),
        "r is the length of the token, a root of a sum: it is the root of a mean, smaller by √d.",
        "6.7",
        ("dX", "dgamma", "batch", "large epsilon"),
    ),
    Mutant(
        "ε forgotten",
        _rms(root=lambda X, eps: np.sqrt(_mean(X * X))),
        "ε is missing from r: it stands inside the root, in the backward pass as in the forward one.",
        "6.7",
        ("large epsilon",),
    ),
    Mutant(
        "ε outside",
        _rms(root=lambda X, eps: np.sqrt(_mean(X * X)) + eps),
        "ε is added to the root: it belongs inside, beside the mean square.",
        "6.7",
        ("large epsilon",),
    ),
    Mutant(
        "one for each sequence",
        _rms(gain=lambda dY, X, X_hat: (dY * X_hat).sum(axis=-2)),
        "dgamma is summed over one axis only: every leading axis holds tokens that used gamma.",
        "6.7",
        ("batch", "two leading axes"),
    ),
    Mutant(
        "dgamma with X",
        _rms(gain=lambda dY, X, X_hat: _flat(dY * X).sum(axis=0)),
        "dgamma uses X: gamma multiplies X̂ = X / r.",
        "6.7",
        ("dgamma", "batch"),
    ),
    Mutant(
        "dgamma averaged",
        _rms(gain=lambda dY, X, X_hat: _flat(dY * X_hat).mean(axis=0)),
        "dgamma is a mean: the tokens share gamma, so their gradients add up.",
        "6.7",
        ("dgamma", "batch"),
    ),
    Mutant(
        "multiplied by r",
        _rms(power=-1),
        "dX is multiplied by r: the token was divided by it on the way forward, and is on the way back.",
        "6.7",
        RMS_INPUT,
    ),
    Mutant(
        "mean of g alone",
        _rms(lambda g, X, X_hat: g - X_hat * _mean(g)),
        "In the mean stands g alone: it is the mean of g ∘ x̂, which says how much of g lies along the token.",
        "6.7",
        RMS_INPUT,
    ),
    Mutant(
        "no root",
        _rms(root=lambda X, eps: _mean(X * X) + eps),
        "r is the mean square itself: it is the root of it.",
        "6.7",
        ("dX", "dgamma", "batch", "large epsilon"),
    ),
)

# 06.4


def _batch(axes=(0, 1), ddof=0, remember=1, old=lambda m: 1 - m, new=lambda m: m):
    def function(X, mean, var, momentum, eps):
        mu, v = X.mean(axis=axes, keepdims=True), X.var(axis=axes, ddof=ddof, keepdims=True)
        now_mean, now_var = X.mean(axis=(0, 1)), X.var(axis=(0, 1), ddof=remember)
        a, b = old(momentum), new(momentum)
        return (X - mu) / np.sqrt(v + eps), a * mean + b * now_mean, a * var + b * now_var

    return function


def _with_running(X, mean, var, momentum, eps):
    _, mean, var = _batch()(X, mean, var, momentum, eps)
    return (X - mean) / np.sqrt(var + eps), mean, var


BATCH = (
    Mutant(
        "spread about the old mean",
        lambda X, mean, var, momentum, eps: (
            *_batch()(X, mean, var, momentum, eps)[:2],
            (1 - momentum) * var + momentum * ((X - mean) ** 2).mean(axis=(0, 1)),
        ),
        "The variance for the memory is taken about the running mean: it is that of the batch, about the mean of the "
        "batch, with N − 1.",
        "6.6",
        ("memory", "one sequence"),
    ),
    Mutant(
        "N is not B",
        lambda X, mean, var, momentum, eps: (
            *_batch()(X, mean, var, momentum, eps)[:2],
            (1 - momentum) * var + momentum * X.var(axis=(0, 1)) * len(X) / max(len(X) - 1, 1),
        ),
        "The sample variance counts sequences: N is the number of tokens in all of them, B n.",
        "6.6",
        ("memory",),
    ),
    Mutant(
        "N is not n",
        lambda X, mean, var, momentum, eps: (
            *_batch()(X, mean, var, momentum, eps)[:2],
            (1 - momentum) * var + momentum * X.var(axis=(0, 1)) * X.shape[1] / max(X.shape[1] - 1, 1),
        ),
        "The sample variance counts the tokens of one sequence: N is the number of tokens in all of them, B n.",
        "6.6",
        ("memory",),
    ),
    Mutant(
        "deviations remembered",
        lambda X, mean, var, momentum, eps: (
            *_batch()(X, mean, var, momentum, eps)[:2],
            ((1 - momentum) * np.sqrt(var) + momentum * X.std(axis=(0, 1), ddof=1)) ** 2,
        ),
        "The memory mixes deviations and squares the result: what it keeps, and mixes, is variances.",
        "6.6",
        ("memory", "one sequence"),
    ),
    Mutant(
        "epsilon outside",
        lambda X, mean, var, momentum, eps: (
            (X - X.mean(axis=(0, 1))) / (X.std(axis=(0, 1)) + eps),
            *_batch()(X, mean, var, momentum, eps)[1:],
        ),
        "ε is added to the deviation: it belongs under the root, beside the variance.",
        "6.5",
        ("normalised", "large epsilon"),
    ),
    Mutant(
        "scaled by the memory",
        lambda X, mean, var, momentum, eps: (
            (X - X.mean(axis=(0, 1))) / np.sqrt(_batch()(X, mean, var, momentum, eps)[2] + eps),
            *_batch()(X, mean, var, momentum, eps)[1:],
        ),
        "The batch is centred by its own mean, but divided by the running deviation: while it trains, both are those "
        "of "
        "the batch.",
        "6.6",
        ("normalised", "other sizes", "one sequence"),
    ),
    Mutant(
        "epsilon in the memory",
        lambda X, mean, var, momentum, eps: (
            *_batch()(X, mean, var, momentum, eps)[:2],
            _batch()(X, mean, var, momentum, eps)[2] + momentum * eps,
        ),
        "ε goes into the running variance: it is added when somebody takes the root, and not remembered.",
        "6.6",
        ("memory", "one sequence"),
    ),
    Mutant(
        "biased memory",
        _batch(remember=0),
        "The variance that goes into the memory divides by N. The memory wants the one that divides by N − 1: there "
        "the "
        "batch is a sample of all data. Only the output takes 1/N.",
        "6.6",
        ("memory", "one sequence"),
    ),
    Mutant(
        "unbiased normalisation",
        _batch(ddof=1),
        "The batch is normalised with N − 1: that one is for the memory, the output takes the population variance.",
        "6.6",
        ("normalised", "other sizes", "one sequence"),
    ),
    Mutant(
        "momentum on the old",
        _batch(old=lambda m: m, new=lambda m: 1 - m),
        "The momentum multiplies the old statistics: here, as in torch, it is the share of the new ones.",
        "6.6",
        ("memory", "one sequence"),
    ),
    Mutant(
        "no memory",
        _batch(old=lambda m: 0, new=lambda m: 1),
        "The running statistics are those of this batch alone: keep a share 1 − momentum of the old ones.",
        "6.6",
        ("memory", "one sequence"),
    ),
    Mutant(
        "running statistics in training",
        _with_running,
        "The batch is normalised with the running statistics: those are for evaluation.",
        "6.6",
        ("normalised", "other sizes", "one sequence"),
    ),
    Mutant(
        "each sequence by itself",
        _batch(axes=(1,)),
        "Each sequence is normalised by itself, which is InstanceNorm: the statistics of a feature run over the batch.",
        "6.2",
        ("normalised", "other sizes"),
    ),
    Mutant(
        "each position by itself",
        _batch(axes=(0,)),
        "Only the batch axis is averaged: each position then has statistics of its own. Take both axes.",
        "6.2",
        ("normalised", "other sizes", "one sequence"),
    ),
    Mutant(
        "features together",
        _batch(axes=(0, 1, 2)),
        "All features share one mean: BatchNorm has one for each feature, over batch and positions.",
        "6.2",
        ("normalised", "other sizes", "one sequence"),
    ),
    Mutant(
        "LayerNorm",
        _batch(axes=(2,)),
        "Each token is normalised by itself, which is LayerNorm: BatchNorm's mean runs down a feature, over all "
        "tokens.",
        "6.2",
        ("normalised", "other sizes", "one sequence"),
    ),
    Mutant(
        "added without a share",
        _batch(old=lambda m: 1),
        "The old statistics keep their full weight: the two shares sum to one, 1 − ρ for the old and ρ for the new.",
        "6.6",
        ("memory", "one sequence"),
    ),
    Mutant(
        "ε forgotten",
        lambda X, mean, var, momentum, eps: (
            _batch()(X, mean, var, momentum, 0.0)[0],
            *_batch()(X, mean, var, momentum, eps)[1:],
        ),
        "ε is missing under the root.",
        "6.6",
        ("large epsilon",),
    ),
    Mutant(
        "deviation remembered",
        lambda X, mean, var, momentum, eps: (
            *_batch()(X, mean, var, momentum, eps)[:2],
            (1 - momentum) * var + momentum * X.std(axis=(0, 1), ddof=1),
        ),
        "The deviation goes into the running variance: no root is taken for the memory.",
        "6.6",
        ("memory", "one sequence"),
    ),
    Mutant(
        "the old memory",
        lambda X, mean, var, momentum, eps: (
            (X - mean) / np.sqrt(var + eps), *_batch()(X, mean, var, momentum, eps)[1:],
        ),
        "The batch is normalised with the running statistics as they were before the step: those are for evaluation; "
        "while it trains, a batch has its own.",
        "6.6",
        ("normalised", "other sizes", "one sequence"),
    ),
    Mutant(
        "root forgotten",
        lambda X, mean, var, momentum, eps: (
            (X - X.mean(axis=(0, 1))) / (X.var(axis=(0, 1)) + eps), *_batch()(X, mean, var, momentum, eps)[1:],
        ),
        "The root is missing: the batch is divided by its variance.",
        "6.6",
        ("normalised", "other sizes", "one sequence"),
    ),
    Mutant(
        "memory of each sequence",
        lambda X, mean, var, momentum, eps: (
            _batch()(X, mean, var, momentum, eps)[0],
            (1 - momentum) * mean + momentum * X.mean(axis=(0, 1)),
            (1 - momentum) * var + momentum * X.var(axis=1, ddof=1).mean(axis=0),
        ),
        "The variance for the memory is that within each sequence, averaged: it is that of all tokens of the batch, "
        "about their common mean.",
        "6.6",
        ("memory",),
    ),
    Mutant(
        "memory not moved",
        _batch(old=lambda m: 1, new=lambda m: 0),
        "The running statistics come back as they were: a step moves them towards those of the batch.",
        "6.6",
        ("memory", "one sequence"),
    ),
    Mutant(
        "corrected the wrong way",
        lambda X, mean, var, momentum, eps: (
            *_batch()(X, mean, var, momentum, eps)[:2],
            (1 - momentum) * var + momentum * X.var(axis=(0, 1)) * (1 - X.shape[-1] / X.size),
        ),
        "The variance for the memory is multiplied by (N − 1)/N: dividing the squares by N − 1 makes it larger, by "
        "N/(N − 1).",
        "6.6",
        ("memory",),
    ),
)

# 06.5


def _padded(instance, erase=True, real_of=lambda place, lengths, n: place < lengths):
    def function(X, lengths, kind, eps):
        real = real_of(np.arange(X.shape[1]), lengths[:, None], X.shape[1])[..., None]
        if kind == "token":
            c = X - _mean(X)
            Y = c / np.sqrt(_mean(c * c) + eps)
        else:
            Y = instance(X, real, eps)
        return np.where(real, Y, 0) if erase else Y

    return function


def _over_all(X, real, eps):
    c = X - _mean(X, 1)
    return c / np.sqrt(_mean(c * c, 1) + eps)


def _added_to_the_deviation(X, lengths, kind, eps):
    real = (np.arange(X.shape[1]) < lengths[:, None])[..., None]
    if kind == "token":
        c = X - _mean(X)
        return np.where(real, c / (np.sqrt(_mean(c * c)) + eps), 0)
    many, X = real.sum(axis=1, keepdims=True), np.where(real, X, 0)
    c = np.where(real, X - X.sum(axis=1, keepdims=True) / many, 0)
    return c / (np.sqrt((c * c).sum(axis=1, keepdims=True) / many) + eps)


def _over_real(X, real, eps, count=None, spread=None):
    many = count(real) if count else real.sum(axis=1, keepdims=True)
    c = X - (X * real).sum(axis=1, keepdims=True) / many
    return c / np.sqrt((c * c * (spread(real) if spread else real)).sum(axis=1, keepdims=True) / many + eps)


def _spread(X, real):
    """The variance of each feature over the real tokens."""
    many = real.sum(axis=1, keepdims=True)
    c = (X - (X * real).sum(axis=1, keepdims=True) / many) * real
    return (c * c).sum(axis=1, keepdims=True) / many


def _one_for_all(X, real, eps):
    many = real.sum(axis=(1, 2), keepdims=True) * X.shape[2]
    c = X - (X * real).sum(axis=(1, 2), keepdims=True) / many
    return c / np.sqrt((c * c * real).sum(axis=(1, 2), keepdims=True) / many + eps)


def _over_batch(X, real, eps):
    rows = X[real[..., 0]]
    return (X - rows.mean(axis=0)) / np.sqrt(rows.var(axis=0) + eps)


def _zeros_in_the_variance(X, real, eps):
    many, X = real.sum(axis=1, keepdims=True), np.where(real, X, 0)
    c = X - X.sum(axis=1, keepdims=True) / many
    return c / np.sqrt((c * c).sum(axis=1, keepdims=True) / many + eps)


def _variance_over_n(X, real, eps):
    many, X = real.sum(axis=1, keepdims=True), np.where(real, X, 0)
    c = np.where(real, X - X.sum(axis=1, keepdims=True) / many, 0)
    return c / np.sqrt((c * c).mean(axis=1, keepdims=True) + eps)


def _mean_over_n(X, real, eps):
    many, X = real.sum(axis=1, keepdims=True), np.where(real, X, 0)
    c = np.where(real, X - X.mean(axis=1, keepdims=True), 0)
    return c / np.sqrt((c * c).sum(axis=1, keepdims=True) / many + eps)


def _spread_of_all(zeroed, about_own_mean):
    def function(X, real, eps):
        many, only = real.sum(axis=1, keepdims=True), np.where(real, X, 0)
        mean = only.sum(axis=1, keepdims=True) / many
        X = only if zeroed else X
        return (X - mean) / np.sqrt(_mean((X - (_mean(X, 1) if about_own_mean else mean)) ** 2, 1) + eps)

    return function


SPREADS_OF_ALL = {
    "padding as it comes": _spread_of_all(False, False),
    "padding as it comes, about its own mean": _spread_of_all(False, True),
    "zeros": _spread_of_all(True, False),
    "zeros, about their own mean": _spread_of_all(True, True),
}


PADDING = (
    Mutant(
        "epsilon outside the root",
        _added_to_the_deviation,
        "ε is added to the deviation: it stands under the root, beside the variance.",
        "6.1",
        ("token", "instance"),
    ),
    Mutant(
        "multiplied by zero",
        _padded(_over_real),
        "Padding is multiplied by 0, and 0 times nan or inf is nan: throw it away before anything is added up, with "
        "np.where or by slicing.",
        "6.6",
        ("nan in the memory",),
    ),
    Mutant(
        "padding left as it came",
        lambda X, lengths, kind, eps: np.where(
            (np.arange(X.shape[1]) < lengths[:, None])[..., None], _padded(_over_real)(X, lengths, kind, eps), X
        ),
        "Padding comes out as it went in: it comes out as zeros.",
        "6.6",
        ("token", "instance", "short", "loud padding"),
    ),
    Mutant(
        "zeros counted",
        _padded(lambda X, real, eps: _over_all(X * real, real, eps)),
        "Padding is set to zero first, and then counted like a token: the mean is drawn to zero, and the squares and "
        "the "
        "divisor are those of all n places.",
        "6.6",
        ("instance", "short", "loud padding"),
    ),
    Mutant(
        "one mean for the sequence",
        _padded(lambda X, real, eps: _one_for_all(X, real, eps)),
        "\"instance\" has one mean for the whole sequence: it has one for each feature of it.",
        "6.2",
        ("instance", "short", "loud padding"),
    ),
    Mutant(
        "the shortest",
        _padded(_over_real, real_of=lambda place, lengths, n: (place < lengths.min()) & (lengths > 0)),
        "All sequences are cut to the shortest one: each has a length of its own.",
        "6.6",
        ("token", "instance", "short", "loud padding"),
    ),
    Mutant(
        "padding counted",
        _padded(_over_all),
        "Padding takes part in the mean and the variance: the same sentence comes out differently in a longer batch.",
        "6.6",
        ("instance", "short", "loud padding"),
    ),
    Mutant(
        "divided by n",
        _padded(lambda X, real, eps: _over_real(X, real, eps, count=lambda real: real.shape[1])),
        "Padding is left out of the sums, but they are divided by the padded length: divide by the number of real "
        "tokens.",
        "6.6",
        ("instance", "short", "loud padding"),
    ),
    Mutant(
        "squares of padding",
        _padded(lambda X, real, eps: _over_real(X, real, eps, spread=np.ones_like)),
        "The mean is right, but the squares of the padding are in the variance: mask them too.",
        "6.6",
        ("instance", "short", "loud padding"),
    ),
    Mutant(
        "over the batch",
        _padded(_over_batch),
        "The statistics run over all sequences, which is BatchNorm: InstanceNorm stays within one.",
        "6.2",
        ("instance", "short", "loud padding"),
    ),
    Mutant(
        "token norm twice",
        _padded(lambda X, real, eps: (X - _mean(X)) / np.sqrt(X.var(axis=-1, keepdims=True) + eps)),
        "\"instance\" gives the token norm: its statistics run over the tokens, for each feature.",
        "6.2",
        ("instance", "short", "loud padding"),
    ),
    Mutant(
        "padding not erased",
        _padded(_over_real, erase=False),
        "Padding does not come out as zeros.",
        "6.6",
        ("token", "instance", "short", "loud padding"),
    ),
    Mutant(
        "one too many",
        _padded(_over_real, real_of=lambda place, lengths, n: place <= lengths),
        "One token of padding is taken for a real one: places count from 0, so the last real one is length − 1.",
        "6.6",
        ("token", "instance", "short", "loud padding"),
    ),
    Mutant(
        "the last ones",
        _padded(_over_real, real_of=lambda place, lengths, n: place >= n - lengths),
        "The last tokens are taken for the real ones: they come first, and padding fills up behind them.",
        "6.6",
        ("token", "instance", "short", "loud padding"),
    ),
    Mutant(
        "divided by the length minus one",
        _padded(
            lambda X, real, eps: _over_real(X, real, eps) * np.sqrt(_spread(X, real) + eps)
            / np.sqrt(_spread(X, real) / (1 - 1 / np.maximum(real.sum(1, keepdims=True), 2)) + eps)
        ),
        "The variance divides by one less than the number of real tokens: these tokens are all there is, so divide by "
        "their number.",
        "6.5",
        ("instance", "short", "loud padding"),
    ),
    Mutant(
        "an instance for the token",
        lambda X, lengths, kind, eps: _padded(_over_real)(X, lengths, "instance", eps),
        "\"token\" gives InstanceNorm: its statistics run over the features of each token by itself.",
        "6.2",
        ("token",),
    ),
    Mutant(
        "zeros in the variance",
        _padded(_zeros_in_the_variance),
        "The mean is that of the real tokens, but padding, set to zero, takes part in the variance: each of its "
        "places adds the square of the mean. Mask the differences too.",
        "6.4",
        ("instance", "loud padding"),
    ),
    Mutant(
        "variance divided by n",
        _padded(lambda X, real, eps: _variance_over_n(X, real, eps)),
        "The mean is right, but the squares are divided by the padded length: divide them by the number of real "
        "tokens.",
        "6.4",
        ("instance", "loud padding"),
    ),
    Mutant(
        "mean over n",
        _padded(lambda X, real, eps: _mean_over_n(X, real, eps)),
        "The mean is divided by the padded length: divide the sum of the real tokens by their number.",
        "6.4",
        ("instance", "loud padding"),
    ),
    *(
        Mutant(
            f"mean of the real ones, variance of all ({how})",
            _padded(function),
            "The mean is that of the real tokens, and the variance that of all places: it has to leave out padding as "
            "well, in the squares and in the number.",
            "6.4",
            ("instance", "loud padding"),
        )
        for how, function in SPREADS_OF_ALL.items()
    ),
)

# 06.6


def _twice(first, second, along=lambda eps, s: eps / s**3, others=lambda s: 1 / s, ones=0.0):
    """Two norms; first and second give the roots s from (variance, ε)."""

    def function(variance, eps):
        roots = first(variance, eps), second(variance, eps)
        both = np.prod([along(eps, s) for s in roots])
        return ones, float(both), float(np.prod([others(s) for s in roots]))

    return function


def _root(v, eps):
    return np.sqrt(v + eps)


def _root_of_normed(v, eps):
    return np.sqrt(v / (v + eps) + eps)


def _once(v, eps):
    s = np.sqrt(v + eps)
    return s, np.sqrt(v / (v + eps) + eps)


EPSILON = ("with epsilon", "small epsilon")
ANY = ("without epsilon", *EPSILON)

TWICE = (
    Mutant(
        "as if every norm gave mean square one",
        lambda v, eps: (0.0, 0.0, float(1 / (_root(v, eps) * np.sqrt(1 + eps)))),
        "x̂ is taken to have the mean square 1 exactly: with ε it has v/(v + ε), a little less. So J leaves something "
        "along x̂, and the second norm divides by less than 1.",
        "6.4",
        EPSILON,
    ),
    Mutant(
        "one s lost along x̂",
        lambda v, eps: (0.0, float(np.prod([eps / s**2 for s in _once(v, eps)])), float(1 / np.prod(_once(v, eps)))),
        "Along x̂ the factor 1/s in front of the bracket is missing: the bracket leaves ε/s², and J has ε/s³.",
        "6.4",
        EPSILON,
    ),
    Mutant(
        "the second along x̂ forgotten",
        lambda v, eps: (0.0, eps / _root(v, eps) ** 3, float(1 / np.prod(_once(v, eps)))),
        "Along x̂ only the first norm is counted: the second one takes that direction away once more.",
        "6.4",
        EPSILON,
    ),
    Mutant(
        "ones for zero",
        lambda v, eps: (0.0, 0.0, 1.0),
        "The directions that pass are not multiplied by 1: each norm divides them by its s.",
        "6.4",
        ANY,
    ),
    Mutant(
        "once",
        lambda v, eps: (0.0, eps / _root(v, eps) ** 3, 1 / _root(v, eps)),
        "The second norm does nothing here: without ε that is so, but with ε it meets a token of variance v/(v + ε), "
        "which is less than 1.",
        "6.5",
        EPSILON,
    ),
    Mutant(
        "the same twice",
        _twice(_root, _root),
        "Both norms have the variance of the first token: the second one meets x̂, whose variance is v/(v + ε).",
        "6.5",
        ANY,
    ),
    Mutant(
        "variance one",
        _twice(_root, lambda v, eps: np.sqrt(1 + eps)),
        "The second norm is given variance 1: with ε the variance of x̂ is v/(v + ε).",
        "6.5",
        EPSILON,
    ),
    Mutant(
        "a root as variance",
        _twice(_root, lambda v, eps: np.sqrt(np.sqrt(v / (v + eps)) + eps)),
        "The deviation of x̂ stands where its variance should: s of the second norm is √(v/(v + ε) + ε).",
        "6.5",
        EPSILON,
    ),
    Mutant(
        "projection",
        _twice(_root, _root_of_normed, along=lambda eps, s: 0.0),
        "The direction x̂ has value 0 only without ε: x̂ · x̂ = d v/(v + ε) is less than d, so ε/s³ is left in each "
        "norm.",
        "6.4",
        EPSILON,
    ),
    Mutant(
        "added",
        lambda v, eps: (0.0, sum(eps / s**3 for s in _once(v, eps)), float(sum(1 / s for s in _once(v, eps)))),
        "The values of the two norms are added: one Jacobian acts on what the other gives, so they multiply.",
        "6.4",
        ANY,
    ),
    Mutant(
        "s forgotten",
        lambda v, eps: (0.0, float(np.prod([eps / s**2 for s in _once(v, eps)])), 1.0),
        "The factor 1/s in front of each Jacobian is missing.",
        "6.4",
        ANY,
    ),
    Mutant(
        "x̂ passes",
        lambda v, eps: (0.0, float(1 / np.prod(_once(v, eps))), float(1 / np.prod(_once(v, eps)))),
        "The direction x̂ is treated like the others: the term −x̂x̂ᵀ/d takes it away, but for ε.",
        "6.4",
        ANY,
    ),
    Mutant(
        "1 passes",
        lambda v, eps: (
            float(1 / np.prod(_once(v, eps))),
            float(np.prod([eps / s**3 for s in _once(v, eps)])),
            float(1 / np.prod(_once(v, eps))),
        ),
        "The direction of all ones is treated like the others: the term −11ᵀ/d takes it away.",
        "6.4",
        ANY,
    ),
    Mutant(
        "divided by the variance",
        lambda v, eps: (
            0.0,
            float(np.prod([eps / s**4 for s in _once(v, eps)])),
            float(1 / np.prod([s**2 for s in _once(v, eps)])),
        ),
        "1/(v + ε) stands where 1/s should: s is the root.",
        "6.4",
        ANY,
    ),
    Mutant(
        "ε left out of s",
        _twice(lambda v, eps: np.sqrt(v), lambda v, eps: 1.0),
        "s is the root of the variance alone: ε is in it.",
        "6.4",
        EPSILON,
    ),
)

# 06.7


def _level(n):
    """Rows and columns of mean zero, and nothing else."""
    X = np.sin(1.0 + np.arange(n * n)).reshape(n, n)
    return X - X.mean(axis=0) - X.mean(axis=1, keepdims=True) + X.mean()


FEW = ("two", "five", "seven")

AGREE = (
    Mutant(
        "all equal",
        lambda n: np.ones((n, n)),
        "A token has all its features equal: it has no deviation, and LayerNorm is 0/0.",
        "6.5",
        FEW,
    ),
    Mutant(
        "rows all alike",
        lambda n: np.tile(np.arange(float(n)), (n, 1)),
        "A feature is the same for all tokens: it has no deviation down its column, and BatchNorm is 0/0.",
        "6.2",
        FEW,
    ),
    Mutant(
        "symmetric",
        lambda n: np.cos(np.add.outer(np.arange(n), np.arange(n)) ** 2.0),
        "X is symmetric: then BatchNorm gives the transpose of LayerNorm, which is not yet the same.",
        "6.2",
        FEW,
    ),
    Mutant(
        "counted through",
        lambda n: np.arange(float(n * n)).reshape(n, n),
        "X grows evenly along rows and along columns: LayerNorm gives every row the same values, and BatchNorm every "
        "column.",
        "6.2",
        FEW,
    ),
    Mutant(
        "means alone",
        _level,
        "Rows and columns have mean zero, but not one deviation: an entry is divided by that of its row or by that of "
        "its column.",
        "6.2",
        ("five", "seven"),
    ),
    Mutant(
        "checkerboard",
        lambda n: (-1.0) ** np.add.outer(np.arange(n), np.arange(n)),
        "A checkerboard has rows of mean zero only where n is even: for odd n its rows and columns have a mean, with a "
        "sign that alternates.",
        "6.2",
        ("five", "seven"),
    ),
)

# 06.8


def _fold(A=None, c=None, W=None, b=None):
    def function(A_, c_, gamma, beta, W_, b_):
        return (
            A(A_, gamma) if A else A_ - A_.mean(axis=1, keepdims=True),
            c(c_, gamma) if c else c_ - c_.mean(),
            W(W_, gamma) if W else gamma[:, None] * W_,
            b(b_, gamma, beta, W_) if b else b_ + beta @ W_,
        )

    return function


BEFORE, AFTER = ("the map before", "both", "other sizes"), ("the map after", "both", "other sizes")

FOLDS = (
    Mutant(
        "nothing before",
        _fold(A=lambda A, gamma: A.copy(), c=lambda c, gamma: c.copy()),
        "A and c are as they were: H A + c still has a mean over its features, and RMSNorm will not take it away.",
        "6.7",
        BEFORE,
    ),
    Mutant(
        "shift summed",
        _fold(b=lambda b, gamma, beta, W: b + beta.sum()),
        "beta is summed up and added to every output: entry i of beta meets row i of W, so the new bias is beta W + b.",
        "6.7",
        AFTER,
    ),
    Mutant(
        "shift before the norm",
        lambda A, c, gamma, beta, W, b: (
            A - A.mean(axis=1, keepdims=True), c - c.mean() + beta, gamma[:, None] * W, b.copy()
        ),
        "beta stands in c2, before the norm, which divides it by r and forgets its level: it is added behind the norm, "
        "and passes through W.",
        "6.7",
        AFTER,
    ),
    Mutant(
        "rows of A normed",
        _fold(A=lambda A, gamma: (A - A.mean(1, keepdims=True)) / A.std(1, keepdims=True)),
        "The rows of A are divided by their deviation: only the mean goes into A. The size of a token depends on H, "
        "and "
        "is the norm's work.",
        "6.7",
        ("the map before", "both", "other sizes"),
    ),
    Mutant(
        "c by the mean of A",
        lambda A, c, gamma, beta, W, b: (
            A - A.mean(axis=1, keepdims=True), c - A.mean(), gamma[:, None] * W, b + beta @ W
        ),
        "c2 is c less the mean of A: c is a vector over the features like any row of A, and loses its own mean.",
        "6.7",
        BEFORE,
    ),
    Mutant(
        "shift forgotten",
        _fold(b=lambda b, gamma, beta, W: b.copy()),
        "beta is lost: it passes through W as well, so the new bias is beta W + b.",
        "6.7",
        AFTER,
    ),
    Mutant(
        "shift not through W2",
        _fold(b=lambda b, gamma, beta, W: (gamma * beta) @ W + b),
        "beta is multiplied by gamma before it meets W: the shift is added after the gain, so it passes through the "
        "old W.",
        "6.7",
        AFTER,
    ),
    Mutant(
        "gain forgotten",
        _fold(W=lambda W, gamma: W.copy()),
        "gamma is lost: feature i of x̂ is multiplied by gamma_i, so row i of W is.",
        "6.7",
        AFTER,
    ),
    Mutant(
        "gain before the norm",
        _fold(A=lambda A, gamma: (A - A.mean(1, keepdims=True)) * gamma, c=lambda c, gamma: (c - c.mean()) * gamma,
              W=lambda W, gamma: W.copy()),
        "gamma stands before the norm, in A2: there it changes what r measures. It has to go behind, into the rows of "
        "W.",
        "6.7",
        AFTER,
    ),
    Mutant(
        "columns centred",
        _fold(A=lambda A, gamma: A - A.mean(axis=0)),
        "Each column of A has lost its mean: the mean that has to go is that over the features of X, along a row of A.",
        "6.7",
        BEFORE,
    ),
    Mutant(
        "one mean for A",
        _fold(A=lambda A, gamma: A - A.mean()),
        "One mean is taken from all of A: each row of A gives X a mean of its own.",
        "6.7",
        BEFORE,
    ),
    Mutant(
        "A as it is",
        _fold(A=lambda A, gamma: A.copy()),
        "A2 is A: H A has a mean over its features, and RMSNorm will not take it away. Take it out of the rows of A.",
        "6.7",
        BEFORE,
    ),
    Mutant(
        "c as it is",
        _fold(c=lambda c, gamma: c.copy()),
        "The bias c still has its mean: it adds the same number to all features, and RMSNorm will not take it away.",
        "6.7",
        BEFORE,
    ),
    Mutant(
        "bias gone",
        _fold(c=lambda c, gamma: np.zeros_like(c)),
        "c2 is zero: only the mean of c is forgotten by the norm, not what is left of it.",
        "6.7",
        BEFORE,
    ),
    Mutant(
        "centred behind the norm",
        _fold(
            A=lambda A, gamma: A.copy(),
            c=lambda c, gamma: c.copy(),
            W=lambda W, gamma: gamma[:, None] * W - (gamma[:, None] * W).mean(axis=0),
        ),
        "The mean is taken away behind the norm, in W2: then r was already measured with the mean in it. It has to go "
        "before.",
        "6.7",
        BEFORE,
    ),
    Mutant(
        "shift subtracted",
        _fold(b=lambda b, gamma, beta, W: b - beta @ W),
        "beta W is subtracted: the shift is added behind the gain, so the new bias is b + beta W.",
        "6.7",
        ("the map after", "both", "other sizes"),
    ),
    Mutant(
        "gain divided",
        _fold(W=lambda W, gamma: W / gamma[:, None]),
        "The rows of W are divided by gamma: the gain multiplies feature i, so it multiplies row i of W.",
        "6.7",
        ("the map after", "both", "other sizes"),
    ),
    Mutant(
        "gain on the columns",
        _fold(W=lambda W, gamma: W * np.resize(gamma, W.shape[1])),
        "gamma multiplies the columns of W: feature i of x̂ meets row i, so the rows are multiplied.",
        "6.7",
        ("the map after", "both", "other sizes"),
    ),
    Mutant(
        "√d",
        _fold(W=lambda W, gamma: gamma[:, None] * W * len(gamma) ** 0.5),
        "W2 is √d times too large: RMSNorm divides by the root of the mean of the squares, as LayerNorm does, so "
        "there is no factor.",
        "6.7",
        ("the map after", "the map before", "both", "other sizes"),
    ),
    Mutant(
        "deviation of c",
        _fold(c=lambda c, gamma: (c - c.mean()) / c.std()),
        "c2 is divided by its deviation: only its mean goes. The size of H A + c depends on H, and is the norm's "
        "work.",
        "6.7",
        ("the map after", "the map before", "both", "other sizes"),
    ),
)

# 06.9


def _normed(rule=None, keys=True, gain="inside", other=None, scale=np.sqrt, collect=None, end=None, swap=False,
            told=False):
    """Backward of scores of normed queries and keys, with one part replaced by a wrong one."""

    def right(g, X, Xh, r):
        return (g - Xh * _mean(g * Xh)) / r

    def function(dS, Q, K, gamma_q, gamma_k):
        d = Q.shape[-1]
        q, k = (np.sqrt(_mean(X * X)) for X in (Q, K))
        Qh, Kh = Q / q, K / k
        A = other(Qh, Q, gamma_q) if other else gamma_q * Qh
        C = other(Kh, K, gamma_k) if other else gamma_k * Kh
        dA, dC = dS @ C / scale(d), dS.mT @ A / scale(d)

        def back(dA, gamma, X, Xh, r, taken=True):
            g = gamma * dA if gain == "inside" else dA
            dX = (rule or right)(g, X, Xh, r, *([gamma] if told else [])) if taken else g
            return gamma * dX if gain == "outside" else dX

        gains = [
            (end or (lambda x: x.reshape(-1, d).sum(axis=0)))(collect(*given) if collect else given[0] * given[3])
            for given in ((dA, gamma_q, Q, Qh), (dC, gamma_k, K, Kh))
        ]
        return back(dA, gamma_q, Q, Qh, q), back(dC, gamma_k, K, Kh, k, keys), *(gains[::-1] if swap else gains)

    return function


KEYS_BACK = ("keys", "batch", "batch and heads", "other sizes")
PATHS = ("queries", *KEYS_BACK)
HEAT = ("gains", "batch", "batch and heads", "other sizes")
EVERY = ("gains", *PATHS)

def _by_length(dS, Q, K, gamma_q, gamma_k):
    """Unit vectors, forward and backward."""
    d, found = Q.shape[-1], []
    (q, Qh), (k, Kh) = ((size, X / size) for X in (Q, K) for size in [np.sqrt((X * X).sum(-1, keepdims=True))])
    back = (dS @ (gamma_k * Kh) / np.sqrt(d), dS.mT @ (gamma_q * Qh) / np.sqrt(d))
    for dA, gamma, Xh, size in zip(back, (gamma_q, gamma_k), (Qh, Kh), (q, k), strict=True):
        g = gamma * dA
        found.append(((g - Xh * (g * Xh).sum(-1, keepdims=True)) / size, (dA * Xh).reshape(-1, d).sum(axis=0)))
    return found[0][0], found[1][0], found[0][1], found[1][1]


NORMED = (
    Mutant(
        "lengths",
        _by_length,
        "Queries and keys are divided by their lengths, the roots of sums: r is the root of a mean, smaller by √d.",
        "6.7",
        EVERY,
    ),
    Mutant(
        "gained for normed",
        _normed(rule=lambda g, X, Xh, r, gain: (g - gain * Xh * _mean(g * gain * Xh)) / r, told=True),
        "In the bracket stand the vectors behind the gain, A and C: the norm came before it, so both factors there are "
        "Q̂, or K̂.",
        "6.7",
        PATHS,
    ),
    Mutant(
        "r constant",
        _normed(rule=lambda g, X, Xh, r: g / r),
        "Each r is treated as a constant: it depends on every feature of its vector, which takes the part along the "
        "normed vector away.",
        "6.7",
        PATHS,
    ),
    Mutant(
        "a sum along",
        _normed(rule=lambda g, X, Xh, r: (g - Xh * (g * Xh).sum(-1, keepdims=True)) / r),
        "The term along the normed vector has a sum where a mean should be: r is the root of a mean, so 1/d is "
        "missing.",
        "6.7",
        PATHS,
    ),
    Mutant(
        "plus along",
        _normed(rule=lambda g, X, Xh, r: (g + Xh * _mean(g * Xh)) / r),
        "The part along the normed vector is added: a longer query has the same q̂, so that part is taken away.",
        "6.7",
        PATHS,
    ),
    Mutant(
        "LayerNorm's",
        _normed(rule=lambda g, X, Xh, r: (g - _mean(g) - Xh * _mean(g * Xh)) / r),
        "The mean of the gradient is taken away, as in LayerNorm: no mean went out of the forward pass, so none comes "
        "back.",
        "6.7",
        PATHS,
    ),
    Mutant(
        "r forgotten",
        _normed(rule=lambda g, X, Xh, r: g - Xh * _mean(g * Xh)),
        "The division by r is missing: a vector twice as long turns half as far.",
        "6.7",
        PATHS,
    ),
    Mutant(
        "r twice",
        _normed(rule=lambda g, X, Xh, r: (g - Xh * _mean(g * Xh)) / r**2),
        "The bracket is divided by r squared: one r is in the normed vector already.",
        "6.7",
        PATHS,
    ),
    Mutant(
        "raw for normed",
        _normed(rule=lambda g, X, Xh, r: (g - X * _mean(g * X)) / r),
        "The raw vector stands in the bracket where the normed one should.",
        "6.7",
        PATHS,
    ),
    Mutant(
        "norm skipped",
        _normed(rule=lambda g, X, Xh, r: g),
        "These are the gradients of Q̂ and K̂: one step is left, through r, back to Q and K.",
        "6.7",
        PATHS,
    ),
    Mutant(
        "keys not taken back",
        _normed(keys=False),
        "dK ends at the normed keys: as with the queries, one step is left, through r.",
        "6.7",
        KEYS_BACK,
    ),
    Mutant(
        "gain outside",
        _normed(gain="outside"),
        "The gain stands outside the bracket: it multiplied the normed vector entry by entry, so it is inside the "
        "mean too.",
        "6.7",
        PATHS,
    ),
    Mutant(
        "own gain forgotten",
        _normed(gain="none"),
        "dQ lacks gamma_q and dK lacks gamma_k: what reaches Q̂ has passed the gain of the queries.",
        "6.7",
        PATHS,
    ),
    Mutant(
        "gain of the other side forgotten",
        _normed(other=lambda Xh, X, gain: Xh),
        "What reaches A is made of K̂, and what reaches C of Q̂: the other side was multiplied by its gain before the "
        "two met.",
        "6.7",
        EVERY,
    ),
    Mutant(
        "other side not normed",
        _normed(other=lambda Xh, X, gain: gain * X),
        "What reaches A is made of raw keys, and what reaches C of raw queries: both sides were normed before they "
        "met.",
        "6.7",
        EVERY,
    ),
    Mutant(
        "scale forgotten",
        _normed(scale=lambda d: 1.0),
        "1/√d is missing everywhere: the scores were divided on the way forward.",
        "6.7",
        EVERY,
    ),
    Mutant(
        "scale twice",
        _normed(scale=lambda d: d),
        "Everything is divided by d: 1/√d comes in once.",
        "6.7",
        EVERY,
    ),
    Mutant(
        "gains with raw vectors",
        _normed(collect=lambda dA, gain, X, Xh: dA * X),
        "The gains are given the raw vectors: gamma_q multiplied Q̂, and not Q.",
        "6.7",
        HEAT,
    ),
    Mutant(
        "gain in its own gradient",
        _normed(collect=lambda dA, gain, X, Xh: gain * dA * Xh),
        "A gain stands in its own gradient: it is behind the normed vector, so it takes what A received as it came.",
        "6.7",
        HEAT,
    ),
    Mutant(
        "normed vector forgotten",
        _normed(collect=lambda dA, gain, X, Xh: dA),
        "The gradient of a gain is the plain sum of what A received: the gain multiplied the normed vector, so each "
        "term meets its entry.",
        "6.7",
        HEAT,
    ),
    Mutant(
        "gains averaged",
        _normed(end=lambda x: x.reshape(-1, x.shape[-1]).mean(axis=0)),
        "The gradients of the gains are means: all tokens share a gain, so their gradients add up.",
        "6.7",
        HEAT,
    ),
    Mutant(
        "gains for each sequence",
        _normed(end=lambda x: x.sum(axis=-2)),
        "The gradients of the gains are summed over one axis only: every leading axis holds tokens that used them.",
        "6.7",
        ("batch", "batch and heads", "other sizes"),
    ),
    Mutant(
        "gains exchanged",
        _normed(swap=True),
        "dgamma_q and dgamma_k have changed places: the gain of the queries collects over the queries.",
        "6.7",
        HEAT,
    ),
    Mutant(
        "one gain for each number",
        _normed(end=lambda x: x),
        "The gradients of the gains have one row for each token: all tokens share a gain, so add them up.",
        "6.7",
        HEAT,
    ),
)

# 06.10


def _module(root=None, half="float32", keep=True, start=(1.0, 0.0), dim=-1, stats=lambda t: t, centre=True,
            plain=False, affine=lambda x, w, b: x * w + b):
    def make(d, eps):
        import torch

        class Norm(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight, self.bias = torch.full((d,), start[0]), torch.full((d,), start[1])
                if not plain:
                    self.weight, self.bias = map(torch.nn.Parameter, (self.weight, self.bias))

            def forward(self, X):
                kind = {"float32": torch.promote_types(X.dtype, torch.float32), "always": torch.float32}.get(half)
                x = X.to(kind) if kind else X
                w, b = (self.weight, self.bias) if kind else (self.weight.to(X.dtype), self.bias.to(X.dtype))
                c = x - stats(x.mean(dim=dim, keepdim=True)) if centre else x
                v = stats((c * c).mean(dim=dim, keepdim=True))
                y = affine(c / (root(c, v, eps) if root else (v + eps) ** 0.5), w, b)
                return y.to(X.dtype) if keep else y

        return Norm()

    return make


FLOAT = ("forward", "one token", "batch and heads")
MODULES = (
    Mutant(
        "float32 comes out",
        _module(keep=False),
        "A bfloat16 input comes out as float32: a float32 weight times anything is float32, and the next layer gets "
        "another dtype than it was given. Go back to the dtype of X last of all.",
        "6.9",
        ("in bfloat16",),
    ),
    Mutant(
        "all in bfloat16",
        _module(half="as it comes"),
        "Mean and variance are reckoned in bfloat16, with eight bits: go up to float32 before the first mean.",
        "6.9",
        ("in bfloat16",),
    ),
    Mutant(
        "always float32",
        _module(half="always"),
        "float64 is reduced to float32 on the way: only the short types go up to float32.",
        "6.9",
        FLOAT,
    ),
    Mutant(
        "variance of torch",
        _module(lambda c, v, eps: (v * c.shape[-1] / (c.shape[-1] - 1) + eps) ** 0.5),
        "The variance divides by d − 1, as torch.var does unless it is told otherwise: the features of a token are all "
        "there is, so divide by d.",
        "6.5",
        FLOAT,
    ),
    Mutant(
        "epsilon outside",
        _module(lambda c, v, eps: v**0.5 + eps),
        "ε is added to the deviation: it belongs inside the root, beside the variance.",
        "6.5",
        FLOAT,
    ),
    Mutant(
        "no epsilon",
        _module(lambda c, v, eps: v**0.5),
        "ε is missing under the root.",
        "6.5",
        FLOAT,
    ),
    Mutant(
        "root forgotten",
        _module(lambda c, v, eps: v + eps),
        "The root is missing: a token is divided by its variance.",
        "6.1",
        FLOAT,
    ),
    Mutant(
        "begins at zero",
        _module(start=(0.0, 0.0)),
        "The weight begins at zero: then every output is zero, and so is the gradient of X. It begins as ones.",
        "6.1",
        ("forward", "one token", "batch and heads"),
    ),
    Mutant(
        "weight around one",
        _module(affine=lambda x, w, b: x * (1 + w) + b, start=(0.0, 0.0)),
        "The gain is one plus the weight, which begins at zero: here the weight is the gain itself, and begins as "
        "ones.",
        "6.1",
        FLOAT,
    ),
    Mutant(
        "statistics detached",
        _module(stats=lambda t: t.detach()),
        "Mean and variance are cut off from the gradient, by detach or no_grad: two of the three ways of section 6.3 "
        "are "
        "gone.",
        "6.3",
        ("gradients", "batch and heads"),
    ),
    Mutant(
        "mean not taken away",
        _module(centre=False),
        "The mean is still there: this is RMSNorm with a shift.",
        "6.7",
        FLOAT,
    ),
    Mutant(
        "over the tokens",
        _module(dim=0),
        "The means run over the first axis, the tokens: they run over the features, the last axis.",
        "6.2",
        ("forward", "batch and heads"),
    ),
    Mutant(
        "plain tensors",
        _module(plain=True),
        "weight and bias are plain tensors: the module does not know them as its own, so no optimiser and no "
        "state_dict "
        "will. Wrap them in torch.nn.Parameter.",
        "6.9",
        (*FLOAT, "gradients", "in bfloat16"),
    ),
)

# 06.11


def _rest(fourth):
    """The rest where the fourth power of the length is the given one."""

    def function(eta, decay, c):
        length = fourth(eta, decay, c) ** 0.25
        return float(length), float(eta * c / length**2)

    return function


def _right_rest(eta, decay, c):
    return float((eta**2 * c**2 / (1 - (1 - eta * decay) ** 2)) ** 0.25)


STEPS = ("small steps", "large steps", "other numbers")

REST = (
    Mutant(
        "one root for two",
        lambda eta, decay, c: (
            float(np.sqrt(eta * c / (1 - (1 - eta * decay) ** 2))), float(1 - (1 - eta * decay) ** 2)
        ),
        "η c/(1 − (1 − ηλ)²) stands for w²: the equation is w⁴ (1 − (1 − ηλ)²) = η² c².",
        "6.4",
        STEPS,
    ),
    Mutant(
        "share squared",
        lambda eta, decay, c: (_right_rest(eta, decay, c), (eta * c / _right_rest(eta, decay, c) ** 2) ** 2),
        "The share is the squared one: take its root.",
        "6.4",
        STEPS,
    ),
    Mutant(
        "lengths balanced",
        _rest(lambda eta, decay, c: (c / decay) ** 2),
        "The length of the step is set equal to the loss by decay, as if both pointed along W. The gradient is "
        "orthogonal "
        "to W, so squares add up.",
        "6.4",
        STEPS,
    ),
    Mutant(
        "small-step formula",
        _rest(lambda eta, decay, c: eta * c**2 / (2 * decay)),
        "The square of eta decay is left out: for small steps that is close, but (1 − ηλ)² is 1 − 2ηλ + (ηλ)².",
        "6.4",
        STEPS,
    ),
    Mutant(
        "gradient of one length",
        lambda eta, decay, c: (
            float(eta * c / (1 - (1 - eta * decay) ** 2) ** 0.5),
            float((1 - (1 - eta * decay) ** 2) ** 0.5),
        ),
        "This is the square of the length at rest. It is what one gets for a gradient of length c everywhere; by "
        "(6.17) its "
        "length is c / ‖W‖.",
        "6.4",
        STEPS,
    ),
    Mutant(
        "decay of the square",
        _rest(lambda eta, decay, c: eta * c**2 / decay),
        "The squared length decays by 1 − ηλ a step: the length does, so its square decays by (1 − ηλ)².",
        "6.4",
        STEPS,
    ),
    Mutant(
        "decay without the rate",
        _rest(lambda eta, decay, c: eta**2 * c**2 / (1 - (1 - decay) ** 2)),
        "The decay of a step is decay alone: it is eta times decay.",
        "6.4",
        STEPS,
    ),
    Mutant(
        "eta not squared",
        _rest(lambda eta, decay, c: eta * c**2 / (1 - (1 - eta * decay) ** 2)),
        "The step adds eta times the square of the gradient: it is the whole step, eta and gradient, that is squared.",
        "6.4",
        STEPS,
    ),
    Mutant(
        "share of the raw gradient",
        lambda eta, decay, c: (_right_rest(eta, decay, c), c / _right_rest(eta, decay, c) ** 2),
        "The share is that of the gradient, not of the step: eta is missing.",
        "6.4",
        STEPS,
    ),
    Mutant(
        "share with c",
        lambda eta, decay, c: (_right_rest(eta, decay, c), eta * c / _right_rest(eta, decay, c)),
        "The share takes c for the length of the gradient: at rest that is c / ‖W‖, and the share is its step over ‖W‖ "
        "once more.",
        "6.4",
        STEPS,
    ),
    Mutant(
        "share of small steps",
        lambda eta, decay, c: (_right_rest(eta, decay, c), float((2 * eta * decay) ** 0.5)),
        "The share is √(2ηλ), which is so for small steps: the square of the step is what the decay takes away, 1 − "
        "(1 − ηλ)².",
        "6.4",
        ("small steps", "large steps", "other numbers"),
    ),
    Mutant(
        "share of the decay",
        lambda eta, decay, c: (_right_rest(eta, decay, c), eta * decay),
        "The share is ηλ, as if step and decay were along one line: the gradient stands at a right angle to W, so "
        "the squares add up.",
        "6.4",
        ("small steps", "large steps", "other numbers"),
    ),
    Mutant(
        "divided once too often",
        lambda eta, decay, c: (_right_rest(eta, decay, c), eta * c / _right_rest(eta, decay, c) ** 3),
        "The share is divided by the length three times: the gradient is c over the length, and the share divides by "
        "it once more.",
        "6.4",
        ("small steps", "large steps", "other numbers"),
    ),
)

# 06.12


def _merge(weigh=None, within=lambda v, share, n: share @ v, between=lambda m, mean, share: share @ (m - mean) ** 2):
    def function(means, variances, counts):
        share = np.full(len(counts), 1 / len(counts)) if weigh == "equal" else counts / counts.sum()
        mean = share @ means
        return mean, within(variances, share, counts) + between(means, mean, share)

    return function


def _one_pass(means, variances, counts):
    share = counts / counts.sum()
    mean = share @ means
    return mean, share @ (variances + means**2) - mean**2


UNEQUAL = ("unequal parts", "other parts")
SEVERAL = ("equal parts", *UNEQUAL, "high level")

MERGE = (
    Mutant(
        "differences summed",
        _merge(between=lambda m, mean, share: ((m - mean) ** 2).sum(axis=0)),
        "The squared differences of the means are summed, not averaged: each has its part's share of the rows.",
        "6.6",
        SEVERAL,
    ),
    Mutant(
        "means as a sample",
        _merge(between=lambda m, mean, share: ((m - m.mean(axis=0)) ** 2).sum(axis=0) / max(len(m) - 1, 1)),
        "The variance of the means divides by k − 1, and every part counts alike: here it is a mean with the shares of "
        "the rows.",
        "6.6",
        SEVERAL,
    ),
    Mutant(
        "another centre",
        _merge(between=lambda m, mean, share: share @ (m - m.mean(axis=0)) ** 2),
        "The differences are taken from the plain mean of the means: they are taken from the mean of all rows.",
        "6.6",
        (*UNEQUAL, "high level"),
    ),
    Mutant(
        "deviations averaged",
        _merge(within=lambda v, share, n: (share @ np.sqrt(v)) ** 2),
        "Deviations are averaged, and the result is squared: it is the variances that are averaged.",
        "6.6",
        SEVERAL,
    ),
    Mutant(
        "divided by N − k",
        _merge(within=lambda v, share, n: (n - 1) @ v / (n.sum() - len(n))),
        "The variances within are pooled as samples, with N − k: here each divides by its N, and the whole by N.",
        "6.6",
        UNEQUAL,
    ),
    Mutant(
        "variances averaged",
        _merge(between=lambda m, mean, share: 0.0),
        "The variance is the mean of the parts' variances: that the parts have different means is forgotten.",
        "6.6",
        SEVERAL,
    ),
    Mutant(
        "parts counted alike",
        _merge("equal"),
        "Every part counts alike: a part of many rows weighs more, in the mean and in both terms of the variance.",
        "6.6",
        (*UNEQUAL, "high level"),
    ),
    Mutant(
        "plain mean of variances",
        _merge(within=lambda v, share, n: v.mean(axis=0)),
        "The variances within the parts are averaged without their counts: a part of many rows weighs more.",
        "6.6",
        (*UNEQUAL, "high level"),
    ),
    Mutant(
        "plain variance of means",
        _merge(between=lambda m, mean, share: ((m - mean) ** 2).mean(axis=0)),
        "The means' differences are averaged without their counts: a part of many rows weighs more.",
        "6.6",
        (*UNEQUAL, "high level"),
    ),
    Mutant(
        "between the parts alone",
        _merge(within=lambda v, share, n: 0.0),
        "Only the differences between the parts are counted: the rows vary within each part as well.",
        "6.6",
        (*SEVERAL, "one part"),
    ),
    Mutant(
        "sample variances",
        _merge(within=lambda v, share, n: (n - 1) @ v / n.sum()),
        "Each part's variance is multiplied by its count less one: these variances divide by N, so N times the "
        "variance "
        "is the sum of squares.",
        "6.6",
        (*SEVERAL, "one part"),
    ),
    Mutant(
        "divided by N − 1",
        lambda m, v, n: (_merge()(m, v, n)[0], _merge()(m, v, n)[1] * n.sum() / (n.sum() - 1)),
        "The variance of all rows divides by N − 1: here it divides by N.",
        "6.6",
        (*SEVERAL, "one part"),
    ),
    Mutant(
        "differences not squared",
        _merge(between=lambda m, mean, share: share @ np.abs(m - mean)),
        "The differences of the means are not squared.",
        "6.6",
        SEVERAL,
    ),
    Mutant(
        "one pass",
        _one_pass,
        "The variance is the mean of squares minus the square of the mean: at a high level two large numbers nearly "
        "cancel, and what is left is rounding.",
        "6.5",
        ("high level",),
    ),
)
