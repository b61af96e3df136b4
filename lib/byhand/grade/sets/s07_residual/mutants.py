"""Known wrong answers, each with the message that names the misconception."""

import itertools
import math

import numpy as np

from ...model import Mutant
from .cases import layer_norm


def norm(X, gamma, axis=-1):
    return gamma * X / np.sqrt((X * X).mean(axis=axis, keepdims=True))


def norm_back(dY, X, gamma):
    r = np.sqrt((X * X).mean(axis=-1, keepdims=True))
    X_hat, g = X / r, dY * gamma
    return (g - X_hat * (g * X_hat).mean(axis=-1, keepdims=True)) / r


# 07.1


def _wire(pre=None, post=None, none=None, norm=norm):
    def function(X, W, gamma, wiring, alpha):
        def F(Z):
            return np.tanh(Z @ W)

        def N(Z):
            return norm(Z, gamma)

        if wiring == "pre":
            return pre(X, alpha, F, N) if pre else alpha * X + F(N(X))
        if wiring == "post":
            return post(X, alpha, F, N) if post else N(alpha * X + F(X))
        return none(X, alpha, F, N) if none else F(N(X))

    return function


PRE, POST = ("pre", "alpha", "square"), ("post", "alpha, post")

FORWARD = (
    Mutant(
        "normalised x added",
        _wire(pre=lambda X, alpha, F, N: alpha * N(X) + F(N(X))),
        "The normalised copy is added: the norm belongs on the branch, and the stream is X itself.",
        "7.2",
        PRE,
    ),
    Mutant(
        "post for pre",
        _wire(pre=lambda X, alpha, F, N: N(alpha * X + F(X))),
        "This is post-norm: in pre-norm the norm stands before the sublayer, and the sum is not normalised.",
        "7.2",
        PRE,
    ),
    Mutant(
        "pre for post",
        _wire(post=lambda X, alpha, F, N: alpha * X + F(N(X))),
        "This is pre-norm: in post-norm the sublayer reads X, and the sum is normalised.",
        "7.2",
        POST,
    ),
    Mutant(
        "branch normalised",
        _wire(post=lambda X, alpha, F, N: alpha * X + N(F(X))),
        "The norm is taken of F(X) alone: in post-norm it is taken of the sum.",
        "7.2",
        POST,
    ),
    Mutant(
        "stream not cut",
        _wire(none=lambda X, alpha, F, N: alpha * X + F(N(X))),
        'With wiring "none" X is not added.',
        "7.2",
        ("none",),
    ),
    Mutant(
        "alpha on the branch",
        _wire(pre=lambda X, alpha, F, N: X + alpha * F(N(X)), post=lambda X, alpha, F, N: N(X + alpha * F(X))),
        "α multiplies the branch: it is the weight of the stream, αX.",
        "7.2",
        ("alpha", "alpha, post"),
    ),
    Mutant(
        "norm over the tokens",
        _wire(norm=lambda X, gamma: norm(X, gamma, axis=-2)),
        "The mean of squares runs over the tokens: each token has a size of its own.",
        "7.2",
        ("pre", "post", "none", "alpha", "alpha, post", "square"),
    ),
    Mutant(
        "alpha forgotten",
        _wire(pre=lambda X, alpha, F, N: X + F(N(X)), post=lambda X, alpha, F, N: N(X + F(X))),
        "α is not used: it is the weight of the stream, αX, in pre-norm and in post-norm.",
        "7.2",
        ("alpha", "alpha, post", "two leading axes"),
    ),
    Mutant(
        "alpha on none",
        _wire(none=lambda X, alpha, F, N: alpha * F(N(X))),
        'With wiring "none" there is no stream, and so nothing that α would multiply.',
        "7.2",
        ("alpha, none",),
    ),
)

# 07.2


def _gradient(pre=None, post=None, none=None, tanh_slope=True, scaled=False):
    def function(dY, X, W, gamma, wiring, alpha):
        Z = X if wiring == "post" else norm(X, gamma)
        F = np.tanh(Z @ W)

        def F_back(d):
            return (d * (1 - F * F) if tanh_slope else d) @ W.T

        if wiring == "post":
            S = alpha * X + F
            if post:
                return post(dY, X, S, gamma, alpha, F_back)
            dS = norm_back(dY, S, gamma)
            return alpha * dS + F_back(dS)
        if wiring == "pre":
            return pre(dY, X, gamma, alpha, F_back) if pre else alpha * dY + norm_back(F_back(dY), X, gamma)
        back = none(dY, X, gamma, F_back) if none else norm_back(F_back(dY), X, gamma)
        return alpha * back if scaled else back

    return function


PRE_BACK, POST_BACK = ("pre", "alpha, pre"), ("post", "alpha")


def _past(dY, X, S, gamma, alpha, F_back):
    return alpha * dY + F_back(norm_back(dY, S, gamma))


def _dropped(dY, X, S, gamma, alpha, F_back):
    return F_back(norm_back(dY, S, gamma))


def _plain(dY, X, S, gamma, alpha, F_back):
    dS = norm_back(dY, S, gamma)
    return dS + F_back(dS)


def _at_x(dY, X, S, gamma, alpha, F_back):
    dS = norm_back(dY, X, gamma)
    return alpha * dS + F_back(dS)


BACKWARD = (
    Mutant(
        "doubled",
        _gradient(pre=lambda dY, X, gamma, alpha, F_back: 2 * alpha * dY),
        "The gradient is doubled. The addition hands dY to both of its terms, but one of them comes back through F: "
        "dX = αdY + (what the branch makes of dY).",
        "7.1",
        PRE_BACK,
    ),
    Mutant(
        "doubled beside the branch",
        _gradient(pre=lambda dY, X, gamma, alpha, F_back: 2 * alpha * dY + norm_back(F_back(dY), X, gamma)),
        "The stream's part comes in twice: it is αdY, once.",
        "7.1",
        PRE_BACK,
    ),
    Mutant(
        "stream dropped",
        _gradient(pre=lambda dY, X, gamma, alpha, F_back: norm_back(F_back(dY), X, gamma), post=_dropped),
        "Only the branch is here: X also reached the sum directly, which adds α times the gradient of the sum.",
        "7.3",
        (*PRE_BACK, *POST_BACK),
    ),
    Mutant(
        "branch dropped",
        _gradient(pre=lambda dY, X, gamma, alpha, F_back: alpha * dY),
        "Only the stream is here: X also went through the norm and the sublayer.",
        "7.3",
        PRE_BACK,
    ),
    Mutant(
        "norm forgotten",
        _gradient(pre=lambda dY, X, gamma, alpha, F_back: alpha * dY + F_back(dY)),
        "What comes back from the sublayer is the gradient of X̄: it still has to pass the norm.",
        "7.3",
        PRE_BACK,
    ),
    Mutant(
        "stream past the norm",
        _gradient(post=_past),
        "In post-norm the stream's part is αdS, not αdY: the sum was normalised, so both parts pass the norm.",
        "7.3",
        POST_BACK,
    ),
    Mutant(
        "norm at X",
        _gradient(post=_at_x),
        "In post-norm the norm was taken of S = αX + F(X): its backward pass needs S, not X.",
        "7.3",
        POST_BACK,
    ),
    Mutant(
        "alpha forgotten",
        _gradient(
            pre=lambda dY, X, gamma, alpha, F_back: dY + norm_back(F_back(dY), X, gamma),
            post=_plain,
        ),
        "α is missing on the way back: the stream was multiplied by it, so its gradient is too.",
        "7.3",
        ("alpha", "alpha, pre"),
    ),
    Mutant(
        "tanh without its slope",
        _gradient(tanh_slope=False),
        "The derivative of tanh is missing: multiply by 1 − F² before W transposed.",
        "7.3",
        ("none", *PRE_BACK, *POST_BACK),
    ),
    Mutant(
        "alpha on none",
        _gradient(scaled=True),
        'With wiring "none" there is no stream, and so nothing that α would multiply.',
        "7.3",
        ("alpha, none",),
    ),
    Mutant(
        "stream added to none",
        _gradient(none=lambda dY, X, gamma, F_back: dY + norm_back(F_back(dY), X, gamma)),
        'With wiring "none" X did not reach the sum directly: dX is what comes back through the branch, alone.',
        "7.3",
        ("none", "alpha, none"),
    ),
)

# 07.3


def _paths(slopes):
    N = len(slopes)
    return np.array([sum(math.prod(c) for c in itertools.combinations(slopes, k)) for k in range(N + 1)])


def _mean_slope(slopes):
    N, f = len(slopes), slopes.mean()
    return np.array([math.comb(N, k) * f**k for k in range(N + 1)])


def _counts(slopes):
    return np.array([float(math.comb(len(slopes), k)) for k in range(len(slopes) + 1)])


def _no_identity(slopes):
    terms = _paths(slopes)
    terms[0] = 0.0
    return terms


def _powers(slopes):
    return np.array([1.0] + [(slopes**k).sum() for k in range(1, len(slopes) + 1)])


PATHS = (
    Mutant(
        "counts",
        _counts,
        "These are the numbers of paths: each path also carries the product of its slopes.",
        "7.1",
        ("equal slopes", "any slopes", "deeper"),
    ),
    Mutant(
        "identity forgotten",
        _no_identity,
        "The path through no sublayer is missing: it is the stream itself, and its weight is 1.",
        "7.1",
        ("equal slopes", "any slopes", "deeper"),
    ),
    Mutant(
        "mean slope",
        _mean_slope,
        "All slopes were replaced by their mean: that is right only where they are equal.",
        "7.1",
        ("any slopes", "deeper"),
    ),
    Mutant(
        "powers",
        _powers,
        "These are sums of powers: a path goes through a sublayer at most once, and through k different ones.",
        "7.1",
        ("equal slopes", "any slopes", "deeper"),
    ),
    Mutant(
        "one path",
        lambda slopes: np.append(np.zeros(len(slopes)), np.prod(slopes)),
        "Only the path through every sublayer is here: that is the network without the stream.",
        "7.1",
        ("equal slopes", "any slopes", "deeper"),
    ),
)

# 07.4


def _name(**rules):
    """The nearest candidate, with some of the candidates wrong, or swapped names."""

    def function(X, F, Y):
        candidates = {
            "X + F": X + F,
            "LN(X + F)": layer_norm(X + F),
            "LN(X) + F": layer_norm(X) + F,
            "X + LN(F)": X + layer_norm(F),
            "F": F,
        }
        name = min(candidates, key=lambda name: np.abs(candidates[name] - Y).max())
        return rules.get("swap", {}).get(name, name)

    return function


EXHIBITS = ("five outputs", "wider")
SUMS = (
    Mutant(
        "normalised x taken for the stream",
        _name(swap={"LN(X) + F": "X + F"}),
        "An output that adds the normalised x is called X + F: look at the size of the rows, and compare with both.",
        "7.2",
        EXHIBITS,
    ),
    Mutant(
        "pre and post exchanged",
        _name(swap={"X + F": "LN(X + F)", "LN(X + F)": "X + F"}),
        "X + F and LN(X + F) are exchanged: the rows of a normalised output have mean 0 and mean square 1.",
        "7.2",
        EXHIBITS,
    ),
    Mutant(
        "the norms exchanged",
        _name(swap={"LN(X) + F": "X + LN(F)", "X + LN(F)": "LN(X) + F"}),
        "LN(X) + F and X + LN(F) are exchanged: subtract F, or X, and see what has mean square 1.",
        "7.2",
        EXHIBITS,
    ),
)

# 07.5


def _bound(size=lambda L, v: math.sqrt(1 + 2 * L * v), bound=lambda s, g, h: g * h / s):
    return lambda layers, v, g, h: (size(layers, v), bound(size(layers, v), g, h))


SIZES, BOTH = ("size",), ("bound", "half")
BOUNDS = (
    Mutant(
        "one sublayer a layer",
        _bound(size=lambda L, v: math.sqrt(1 + L * v)),
        "A layer has two sublayers, so 2L notes are added.",
        "7.6",
        ("size", "bound", "half"),
    ),
    Mutant(
        "no root",
        _bound(size=lambda L, v: 1 + 2 * L * v),
        "This is the mean square of the stream: its size is the root of it.",
        "7.6",
        ("size", "bound", "half"),
    ),
    Mutant(
        "sizes added",
        _bound(size=lambda L, v: 1 + 2 * L * math.sqrt(v)),
        "The sizes are added: notes in random directions add by their mean squares.",
        "7.6",
        ("size", "bound", "half"),
    ),
    Mutant(
        "input forgotten",
        _bound(size=lambda L, v: math.sqrt(2 * L * v)),
        "The stream begins with mean square 1: that term is missing.",
        "7.6",
        ("size", "bound", "half"),
    ),
    Mutant(
        "multiplied",
        _bound(bound=lambda s, g, h: g * h * s),
        "The bound grows with the stream: the backward of a norm divides by the size of what it normalised.",
        "7.6",
        BOTH,
    ),
    Mutant(
        "norm ignored",
        _bound(bound=lambda s, g, h: g * h),
        "This is the bound without a final norm: its backward pass divides by the size of the stream.",
        "7.6",
        BOTH,
    ),
    Mutant(
        "hidden layer forgotten",
        _bound(bound=lambda s, g, h: g / s),
        "This bounds dX at the end of the stream: dW_2 = Hᵀ dX has the factor h.",
        "7.6",
        BOTH,
    ),
)

# 07.6


def _losses(last=layer_norm, reduce=np.mean, log=True):
    def cross_entropy(logits, target):
        shifted = logits - logits.max(axis=1, keepdims=True)
        chosen = shifted[np.arange(len(target)), target]
        return reduce(np.log(np.exp(shifted).sum(axis=1)) - chosen) if log else reduce(-chosen)

    return lambda X, W, target: (cross_entropy(X @ W, target), cross_entropy(last(X) @ W, target))


def _over_tokens(X):
    centred = X - X.mean(axis=0)
    return centred / np.sqrt((centred * centred).mean(axis=0))


LOSS_CASES = ("a long stream", "a short one", "overflow")
def _overflowing(X, W, target):
    def cross_entropy(logits):
        return np.mean(np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(target)), target])

    return cross_entropy(X @ W), cross_entropy(layer_norm(X) @ W)


LOSSES = (
    Mutant(
        "no norm",
        _losses(last=lambda X: X),
        "Both losses are those without the norm.",
        "7.6",
        LOSS_CASES,
    ),
    Mutant(
        "over the tokens",
        _losses(last=_over_tokens),
        "The norm runs over the tokens: each token has a mean and a deviation of its own.",
        "7.6",
        LOSS_CASES,
    ),
    Mutant(
        "sum",
        _losses(reduce=np.sum),
        "The losses of the tokens are summed: take their mean.",
        "7.6",
        LOSS_CASES,
    ),
    Mutant(
        "sample deviation",
        _losses(last=lambda X: (X - X.mean(axis=1, keepdims=True)) / X.std(axis=1, ddof=1, keepdims=True)),
        "The variance is divided by d − 1: a norm uses the population variance.",
        "7.6",
        LOSS_CASES,
    ),
    Mutant(
        "overflow",
        _overflowing,
        "exp of a logit in the thousands overflows: subtract the largest logit of each row, which changes no loss.",
        "7.6",
        ("overflow",),
    ),
)

# 07.7


def _start(alpha=lambda L: (2 * L) ** 0.25, beta=lambda L: (8 * L) ** -0.25, std=lambda L: 0.02 / math.sqrt(2 * L)):
    return lambda layers: (alpha(layers), beta(layers), std(layers))


DEPTHS = ("eight layers", "deep", "fifty")
STARTS = (
    Mutant(
        "one sublayer a layer",
        _start(std=lambda L: 0.02 / math.sqrt(L)),
        "The deviation is divided by √L: a layer has two sublayers, so it is √(2L).",
        "7.8",
        DEPTHS,
    ),
    Mutant(
        "variance for deviation",
        _start(std=lambda L: 0.02 / (2 * L)),
        "The deviation is divided by 2L: that is right for the variance; the deviation takes the root.",
        "7.8",
        DEPTHS,
    ),
    Mutant(
        "square root for the fourth",
        _start(alpha=lambda L: math.sqrt(2 * L), beta=lambda L: 1 / math.sqrt(8 * L)),
        "α and β are square roots here: the two equations give their fourth powers.",
        "7.8",
        DEPTHS,
    ),
    Mutant(
        "beta not inverted",
        _start(beta=lambda L: (8 * L) ** 0.25),
        "β grows with the depth: the branches of a deep stack must start small.",
        "7.8",
        DEPTHS,
    ),
    Mutant(
        "decoder's numbers",
        _start(alpha=lambda L: (3 * L) ** 0.25, beta=lambda L: (12 * L) ** -0.25),
        "These are the numbers of a decoder with cross-attention: a layer that stands alone has two sublayers.",
        "7.8",
        DEPTHS,
    ),
)
