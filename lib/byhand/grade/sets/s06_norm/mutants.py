"""Known wrong answers, each with the message that names the misconception."""

import numpy as np

from ...model import Mutant
from .cases import NAMES, normed

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


ROWS = ("tokens", "batch", "batch and heads", "square")

FORWARD = (
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
        "ε is missing: a token whose features are all equal is 0/0.",
        "6.5",
        ("constant token", "faint tokens"),
    ),
)

# 06.2


def _backward(rule=None, gain=None, shift=None):
    """The backward pass with one of the three gradients replaced by a wrong one."""

    def function(dY, X_hat, s, gamma):
        d = gamma.size
        g = dY * gamma
        right = (g - _mean(g) - X_hat * _mean(g * X_hat)) / s
        dgamma = gain(dY, X_hat) if gain else (dY * X_hat).reshape(-1, d).sum(axis=0)
        dbeta = shift(dY) if shift else dY.reshape(-1, d).sum(axis=0)
        return rule(dY, X_hat, s, gamma) if rule else right, dgamma, dbeta

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
        "gamma outside",
        _backward(lambda dY, X_hat, s, gamma: gamma * _from(dY, X_hat) / s),
        "gamma stands outside the means: it multiplied x̂ entry by entry, so it is inside, g = gamma ∘ dY. "
        "With gamma = 1 nobody would notice.",
        "6.3",
        GAMMA,
    ),
    Mutant(
        "gamma forgotten",
        _backward(lambda dY, X_hat, s, gamma: _from(dY, X_hat) / s),
        "gamma is missing from dX: x̂ receives gamma ∘ dY.",
        "6.3",
        GAMMA,
    ),
    Mutant(
        "statistics constant",
        _backward(lambda dY, X_hat, s, gamma: dY * gamma / s),
        "Mean and deviation are treated as constants: they depend on every feature, and give two more terms.",
        "6.3",
        INPUT,
    ),
    Mutant(
        "deviation constant",
        _backward(lambda dY, X_hat, s, gamma: (dY * gamma - _mean(dY * gamma)) / s),
        "The way through the deviation is missing: the term −x̂ mean(g x̂).",
        "6.3",
        INPUT,
    ),
    Mutant(
        "mean constant",
        _backward(lambda dY, X_hat, s, gamma: (dY * gamma - X_hat * _mean(dY * gamma * X_hat)) / s),
        "The way through the mean is missing: the term −mean(g). This is RMSNorm's backward pass.",
        "6.3",
        INPUT,
    ),
    Mutant(
        "sums for means",
        _backward(
            lambda dY, X_hat, s, gamma: (
                dY * gamma
                - (dY * gamma).sum(-1, keepdims=True)
                - X_hat * (dY * gamma * X_hat).sum(-1, keepdims=True)
            )
            / s
        ),
        "Sums stand where means should: both terms lack 1/d.",
        "6.3",
        INPUT,
    ),
    Mutant(
        "s forgotten",
        _backward(lambda dY, X_hat, s, gamma: _from(dY * gamma, X_hat)),
        "The division by s is missing.",
        "6.3",
        INPUT,
    ),
    Mutant(
        "means over the tokens",
        _backward(
            lambda dY, X_hat, s, gamma: (
                dY * gamma - _mean(dY * gamma, -2) - X_hat * _mean(dY * gamma * X_hat, -2)
            )
            / s
        ),
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
        "one sum for a mean",
        _backward(
            lambda dY, X_hat, s, gamma: (
                dY * gamma - _mean(dY * gamma) - X_hat * (dY * gamma * X_hat).sum(-1, keepdims=True)
            )
            / s
        ),
        "The term along x̂ has a sum where a mean should be: it lacks 1/d.",
        "6.3",
        INPUT,
    ),
)

# 06.3


def _rms(rule=None, gain=None):
    def function(dY, X, gamma, eps):
        r = np.sqrt(_mean(X * X) + eps)
        X_hat, g = X / r, dY * gamma
        dX = rule(dY, g, X, X_hat, r, gamma) if rule else (g - X_hat * _mean(g * X_hat)) / r
        return dX, gain(dY, X, X_hat) if gain else _flat(dY * X_hat).sum(axis=0)

    return function


RMS_INPUT = ("dX", "batch", "large epsilon")

RMS = (
    Mutant(
        "LayerNorm's",
        _rms(lambda dY, g, X, X_hat, r, gamma: (g - _mean(g) - X_hat * _mean(g * X_hat)) / r),
        "This has LayerNorm's term −mean(g): RMSNorm takes no mean away, so none comes back.",
        "6.7",
        RMS_INPUT,
    ),
    Mutant(
        "r constant",
        _rms(lambda dY, g, X, X_hat, r, gamma: g / r),
        "r is treated as a constant: it depends on every feature of the token.",
        "6.7",
        RMS_INPUT,
    ),
    Mutant(
        "gamma outside",
        _rms(lambda dY, g, X, X_hat, r, gamma: gamma * (dY - X_hat * _mean(dY * X_hat)) / r),
        "gamma stands outside the mean: it belongs to g = gamma ∘ dY, inside.",
        "6.7",
        RMS_INPUT,
    ),
    Mutant(
        "X for X̂",
        _rms(lambda dY, g, X, X_hat, r, gamma: (g - X * _mean(g * X)) / r),
        "X stands where X̂ should: ∂r/∂x_k is x_k/(d r), which is x̂_k/d.",
        "6.7",
        RMS_INPUT,
    ),
    Mutant(
        "sum for mean",
        _rms(lambda dY, g, X, X_hat, r, gamma: (g - X_hat * (g * X_hat).sum(-1, keepdims=True)) / r),
        "A sum stands where the mean should: 1/d is missing.",
        "6.7",
        RMS_INPUT,
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
        "biased memory",
        _batch(remember=0),
        "The running variance is the population's: it estimates that of all data from a batch, so N/(N − 1).",
        "6.6",
        ("running variance", "one sequence"),
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
        ("running mean", "running variance"),
    ),
    Mutant(
        "no memory",
        _batch(old=lambda m: 0, new=lambda m: 1),
        "The running statistics are those of this batch alone: keep a share 1 − momentum of the old ones.",
        "6.6",
        ("running mean", "running variance"),
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
)

# 06.5


def _padded(instance, erase=True):
    def function(X, lengths, kind, eps):
        real = (np.arange(X.shape[1]) < lengths[:, None])[..., None]
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


def _over_real(X, real, eps, count=None, spread=None):
    many = count(real) if count else real.sum(axis=1, keepdims=True)
    c = X - (X * real).sum(axis=1, keepdims=True) / many
    return c / np.sqrt((c * c * (spread(real) if spread else real)).sum(axis=1, keepdims=True) / many + eps)


def _over_batch(X, real, eps):
    rows = X[real[..., 0]]
    return (X - rows.mean(axis=0)) / np.sqrt(rows.var(axis=0) + eps)


PADDING = (
    Mutant(
        "padding counted",
        _padded(_over_all),
        "Padding takes part in the mean and the variance: the same sentence comes out differently in a longer batch.",
        "6.6",
        ("instance", "short"),
    ),
    Mutant(
        "divided by n",
        _padded(lambda X, real, eps: _over_real(X, real, eps, count=lambda real: real.shape[1])),
        "Padding is left out of the sums, but they are divided by the padded length: divide by the number of real "
        "tokens.",
        "6.6",
        ("instance", "short"),
    ),
    Mutant(
        "squares of padding",
        _padded(lambda X, real, eps: _over_real(X, real, eps, spread=np.ones_like)),
        "The mean is right, but the squares of the padding are in the variance: mask them too.",
        "6.6",
        ("instance", "short"),
    ),
    Mutant(
        "over the batch",
        _padded(_over_batch),
        "The statistics run over all sequences, which is BatchNorm: InstanceNorm stays within one.",
        "6.2",
        ("instance", "short"),
    ),
    Mutant(
        "token norm twice",
        _padded(lambda X, real, eps: (X - _mean(X)) / np.sqrt(X.var(axis=-1, keepdims=True) + eps)),
        "\"instance\" gives the token norm: its statistics run over the tokens, for each feature.",
        "6.2",
        ("instance", "short"),
    ),
    Mutant(
        "padding not erased",
        _padded(_over_real, erase=False),
        "Padding does not come out as zeros.",
        "6.6",
        ("token", "instance", "short"),
    ),
)

# 06.6

JACOBIAN = (
    Mutant(
        "projection",
        lambda d, variance, eps: (0.0, 0.0, 1 / np.sqrt(variance + eps)),
        "The direction x̂ has value 0 only without ε: x̂ · x̂ = d v/(v + ε) is less than d.",
        "6.4",
        ("with epsilon", "small epsilon"),
    ),
    Mutant(
        "ε left out of s",
        lambda d, variance, eps: (0.0, eps / variance**1.5, 1 / np.sqrt(variance)),
        "s is the root of the variance alone: ε is in it.",
        "6.4",
        ("with epsilon", "small epsilon"),
    ),
    Mutant(
        "s forgotten",
        lambda d, variance, eps: (0.0, eps / (variance + eps), 1.0),
        "The factor 1/s in front of the bracket is missing.",
        "6.4",
        ("without epsilon", "with epsilon", "small epsilon"),
    ),
    Mutant(
        "x̂ passes",
        lambda d, variance, eps: (0.0, 1 / np.sqrt(variance + eps), 1 / np.sqrt(variance + eps)),
        "The direction x̂ is treated like the others: the term −x̂x̂ᵀ/d takes it away, but for ε.",
        "6.4",
        ("without epsilon", "with epsilon", "small epsilon"),
    ),
    Mutant(
        "1 passes",
        lambda d, variance, eps: (
            1 / np.sqrt(variance + eps),
            eps / (variance + eps) ** 1.5,
            1 / np.sqrt(variance + eps),
        ),
        "The direction of all ones is treated like the others: the term −11ᵀ/d takes it away.",
        "6.4",
        ("without epsilon", "with epsilon", "small epsilon"),
    ),
    Mutant(
        "divided by the variance",
        lambda d, variance, eps: (0.0, eps / (variance + eps) ** 2, 1 / (variance + eps)),
        "1/(v + ε) stands where 1/s should: s is the root.",
        "6.4",
        ("without epsilon", "with epsilon", "small epsilon"),
    ),
)

# 06.7


def _nearest(*known):
    """A detective who knows only these names."""

    def function(X, Y, eps):
        candidates = dict(zip(NAMES, normed(X, eps), strict=True))
        return min(known, key=lambda name: np.abs(candidates[name] - Y).max())

    return function


DETECTIVES = (
    Mutant(
        "blind to d − 1",
        _nearest("correct", "1/d forgotten", "epsilon outside", "over the tokens", "mean not taken away"),
        "Never says \"divided by d - 1\": the mean square of a row is then smaller by about (d − 1)/d.",
        "6.5",
        ("five exhibits", "one is innocent", "square"),
    ),
    Mutant(
        "blind to epsilon",
        _nearest("correct", "divided by d - 1", "1/d forgotten", "over the tokens", "mean not taken away"),
        "Never says \"epsilon outside\": compare v/(v + ε) with (√v/(√v + ε))².",
        "6.5",
        ("five exhibits", "one is innocent", "square"),
    ),
    Mutant(
        "blind to the axis",
        _nearest("correct", "divided by d - 1", "1/d forgotten", "epsilon outside", "mean not taken away"),
        "Never says \"over the tokens\": there the columns have mean 0, and the rows do not.",
        "6.2",
        ("five exhibits", "one is innocent", "square"),
    ),
    Mutant(
        "blind to the mean",
        _nearest("correct", "divided by d - 1", "1/d forgotten", "epsilon outside", "over the tokens"),
        "Never says \"mean not taken away\": neither rows nor columns have mean 0, and the rows have mean square 1, "
        "but for ε.",
        "6.7",
        ("five exhibits", "one is innocent", "square"),
    ),
    Mutant(
        "always guilty",
        _nearest(*NAMES[1:]),
        "An output with nothing wrong is accused: compare with the right one as well.",
        "6.1",
        ("one is innocent", "square"),
    ),
)
