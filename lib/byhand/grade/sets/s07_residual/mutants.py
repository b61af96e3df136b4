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


def _wire(pre=None, post=None, none=None, norm=norm, act=lambda Z, W: np.tanh(Z @ W)):
    def function(X, W, gamma, wiring, alpha):
        def F(Z):
            return act(Z, W)

        def N(Z):
            return norm(Z, gamma)

        if wiring == "pre":
            return pre(X, alpha, F, N) if pre else alpha * X + F(N(X))
        if wiring == "post":
            return post(X, alpha, F, N) if post else N(alpha * X + F(X))
        return none(X, alpha, F, N) if none else F(N(X))

    return function


PRE, POST = ("pre", "alpha", "square"), ("post", "alpha, post")

def _gained_remark(X, W, gamma, wiring, alpha):
    return _wire(pre=lambda X, alpha, F, N: alpha * X + gamma * F(norm(X, 1.0)))(X, W, gamma, wiring, alpha)


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
        "branch normalised, pre",
        _wire(pre=lambda X, alpha, F, N: alpha * X + N(F(X))),
        "In pre the norm is taken of the remark: it belongs before the sublayer, which reads the normalised copy.",
        "7.2",
        PRE,
    ),
    Mutant(
        "alpha on the whole sum",
        _wire(pre=lambda X, alpha, F, N: alpha * (X + F(N(X))), post=lambda X, alpha, F, N: N(alpha * (X + F(X)))),
        "α is the weight of the stream alone, αX + F. Here it is missing, or it multiplies the whole sum; behind a "
        "norm the two are the same.",
        "7.2",
        ("alpha", "alpha, post"),
    ),
    Mutant(
        "two norms in post",
        _wire(post=lambda X, alpha, F, N: N(alpha * X + F(N(X)))),
        "In post the sublayer reads a normalised copy as well: it reads X itself, and the sum is normalised.",
        "7.2",
        POST,
    ),
    Mutant(
        "raw in none",
        _wire(none=lambda X, alpha, F, N: F(X)),
        'With wiring "none" the sublayer still reads the normalised copy; only the stream is cut.',
        "7.2",
        ("none", "alpha, none"),
    ),
    Mutant(
        "deviation for size",
        _wire(norm=lambda X, gamma: gamma * X / X.std(axis=-1, keepdims=True)),
        "The token is divided by its standard deviation: RMSNorm divides by the root of the mean of squares, with no "
        "mean taken away.",
        "7.2",
        ("pre", "post", "none", "alpha", "alpha, post", "square"),
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
        "sum of squares",
        _wire(norm=lambda X, gamma: gamma * X / np.sqrt((X * X).sum(axis=-1, keepdims=True))),
        "The squares are summed: RMSNorm divides by the root of their *mean*, so that the size becomes 1 and not the "
        "length.",
        "7.2",
        ("pre", "post", "none", "alpha", "alpha, post", "square"),
    ),
    Mutant(
        "no root",
        _wire(norm=lambda X, gamma: gamma * X / (X * X).mean(axis=-1, keepdims=True)),
        "The token is divided by its mean square: divide by the root of it.",
        "7.2",
        ("pre", "post", "none", "alpha", "alpha, post", "square"),
    ),
    Mutant(
        "centred",
        _wire(norm=lambda X, gamma: gamma * layer_norm(X)),
        "The mean is subtracted, as LayerNorm does: RMSNorm divides by the size alone.",
        "7.2",
        ("pre", "post", "none", "alpha", "alpha, post", "square"),
    ),
    Mutant(
        "gain forgotten",
        _wire(norm=lambda X, gamma: norm(X, 1.0)),
        "γ is not used: each feature of the normalised token is multiplied by its gain.",
        "7.2",
        ("pre", "post", "none", "alpha", "alpha, post", "square"),
    ),
    Mutant(
        "alpha on none",
        _wire(none=lambda X, alpha, F, N: alpha * F(N(X))),
        'With wiring "none" there is no stream, and so nothing that α would multiply.',
        "7.2",
        ("alpha, none",),
    ),
    Mutant(
        "W transposed",
        _wire(act=lambda Z, W: np.tanh(Z @ W.T)),
        "The product is with W transposed: a token is a row here and stands on the left of W, F(x) = tanh(x W).",
        "7.2",
        ("pre", "post", "none", "alpha", "alpha, post", "square"),
    ),
    Mutant(
        "tanh forgotten",
        _wire(act=lambda Z, W: Z @ W),
        "The tanh is missing: this sublayer is the product x W alone, and F(x) is the tanh of it.",
        "7.2",
        ("pre", "post", "none", "alpha", "alpha, post", "square"),
    ),
    Mutant(
        "tanh before the product",
        _wire(act=lambda Z, W: np.tanh(Z) @ W),
        "The tanh is taken of the token, before the product: F(x) is the tanh of x W.",
        "7.2",
        ("pre", "post", "none", "alpha", "alpha, post", "square"),
    ),
    Mutant(
        "one size for all tokens",
        _wire(norm=lambda X, gamma: gamma * X / np.sqrt((X * X).mean())),
        "The mean of squares runs over the whole array: each token is divided by a size of its own.",
        "7.2",
        ("pre", "post", "none", "alpha", "alpha, post", "square"),
    ),
    Mutant(
        "norm along axis 1",
        _wire(norm=lambda X, gamma: norm(X, gamma, axis=1)),
        "The mean of squares runs along axis 1, which is that of the features only where nothing stands in front: "
        "count it from the end, axis −1.",
        "7.2",
        ("alpha", "alpha, post"),
    ),
    Mutant(
        "sublayer reads the stream in pre",
        _wire(pre=lambda X, alpha, F, N: alpha * X + F(X)),
        "In pre the sublayer reads X as it is: it reads the normalised copy, F(N(X)).",
        "7.2",
        PRE,
    ),
    Mutant(
        "no norm before a sublayer",
        _wire(pre=lambda X, alpha, F, N: alpha * X + F(X), none=lambda X, alpha, F, N: F(X)),
        "In pre and in none the sublayer reads X as it is: it reads the normalised copy, F(N(X)).",
        "7.2",
        (*PRE, "none"),
    ),
    Mutant(
        "gain twice",
        _wire(norm=lambda X, gamma: gamma * norm(X, gamma)),
        "The normalised token is multiplied by γ twice.",
        "7.2",
        ("pre", "post", "none", "alpha", "alpha, post", "square"),
    ),
    Mutant(
        "gain on the remark",
        lambda X, W, gamma, wiring, alpha: _gained_remark(X, W, gamma, wiring, alpha),
        "In pre γ multiplies the remark, behind the sublayer: it belongs to the norm, and the sublayer reads γ x̂.",
        "7.2",
        PRE,
    ),
)

# 07.2


def _gradient(pre=None, post=None, none=None, tanh_slope=True, scaled=False, norm_back=norm_back, turned=True,
              read=norm, at_sum=False):
    def function(dY, X, W, gamma, wiring, alpha):
        Z = X if wiring == "post" else read(X, gamma)
        F = np.tanh(Z @ W)

        def F_back(d):
            H = np.tanh((alpha * X + F) @ W) if at_sum and wiring == "post" else F
            slope = {True: 1 - H * H, False: 1, "not squared": 1 - H, "of the input": 1 - np.tanh(Z) ** 2,
                     "plus": 1 + H * H, "of a sigmoid": H * (1 - H)}[tanh_slope]
            return d * slope @ (W.T if turned else W)

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


def _slope_at_sum(dY, X, S, gamma, alpha, F_back):
    dS = norm_back(dY, S, gamma)
    return alpha * dS + norm_back(F_back(dY), S, gamma)


def _gain_last(dY, X, gamma):
    return gamma * norm_back(dY, X, 1.0)


def _alpha_on_both(dY, X, S, gamma, alpha, F_back):
    dS = norm_back(dY, S, gamma)
    return alpha * (dS + F_back(dS))


def _plain_sum(dY, X, S, gamma, alpha, F_back):
    dS = norm_back(dY, S - (alpha - 1) * X, gamma)
    return alpha * dS + F_back(dS)


def _branch_past(dY, X, S, gamma, alpha, F_back):
    return alpha * norm_back(dY, S, gamma) + F_back(dY)


def _projected(dY, X, gamma, copy=lambda X_hat, gamma: X_hat, mean=lambda Z: Z.mean(axis=-1, keepdims=True),
               away=lambda g: 0.0):
    r = np.sqrt((X * X).mean(axis=-1, keepdims=True))
    X_hat, g = copy(X / r, gamma), dY * gamma
    return (g - away(g) - X_hat * mean(g * X_hat)) / r


def _with_sum(dY, X, gamma):
    r = np.sqrt((X * X).mean(axis=-1, keepdims=True))
    X_hat, g = X / r, dY * gamma
    return (g - X_hat * (g * X_hat).sum(axis=-1, keepdims=True)) / r


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
        "norm a mere division",
        _gradient(norm_back=lambda dY, X, gamma: dY * gamma / np.sqrt((X * X).mean(axis=-1, keepdims=True))),
        "The norm's backward pass only divides: the size depends on x as well, which takes the part along x̂ away.",
        "7.3",
        ("none", *PRE_BACK, *POST_BACK),
    ),
    Mutant(
        "sum in the norm",
        _gradient(norm_back=_with_sum),
        "In the norm's backward pass the products g x̂ are summed: it is their mean over the features.",
        "7.3",
        ("none", *PRE_BACK, *POST_BACK),
    ),
    Mutant(
        "gain forgotten",
        _gradient(norm_back=lambda dY, X, gamma: norm_back(dY, X, 1.0)),
        "γ is missing on the way back: the upstream gradient of a norm is multiplied by it before anything else.",
        "7.3",
        ("none", *PRE_BACK, *POST_BACK),
    ),
    Mutant(
        "gain at the end",
        _gradient(norm_back=_gain_last),
        "γ is multiplied last: it was applied last on the way forward, so it comes first on the way back.",
        "7.3",
        ("none", *PRE_BACK, *POST_BACK),
    ),
    Mutant(
        "slope at X",
        _gradient(read=lambda X, gamma: X),
        "The slope of tanh is taken at X W: in pre and in none the sublayer read the normalised copy.",
        "7.3",
        ("none", *PRE_BACK),
    ),
    Mutant(
        "slope at the sum",
        _gradient(at_sum=True),
        "In post the slope of tanh is taken at S W: the sublayer read X, and the sum came after it.",
        "7.3",
        POST_BACK,
    ),
    Mutant(
        "order exchanged",
        _gradient(post=_slope_at_sum),
        "In post the branch goes back through the sublayer first and then through the norm: the norm stood last, so it "
        "comes first.",
        "7.3",
        POST_BACK,
    ),
    Mutant(
        "W not transposed",
        _gradient(turned=False),
        "The gradient goes back through W itself: it is W transposed, since x_i reached output k through w_ik.",
        "7.3",
        ("none", *PRE_BACK, *POST_BACK),
    ),
    Mutant(
        "tanh without its slope",
        _gradient(tanh_slope=False),
        "The derivative of tanh is missing: multiply by 1 − F² before W transposed.",
        "7.3",
        ("none", *PRE_BACK, *POST_BACK),
    ),
    Mutant(
        "tanh not squared",
        _gradient(tanh_slope="not squared"),
        "The derivative of tanh is 1 − F²: here F is not squared.",
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
    Mutant(
        "alpha on both",
        _gradient(
            pre=lambda dY, X, gamma, alpha, F_back: alpha * (dY + norm_back(F_back(dY), X, gamma)),
            post=_alpha_on_both,
        ),
        "α multiplies what comes back through the branch as well: on the way forward it stood before the stream alone.",
        "7.3",
        ("alpha", "alpha, pre"),
    ),
    Mutant(
        "sum without alpha",
        _gradient(post=_plain_sum),
        "The norm's backward pass is taken at X + F(X): the sum that was normalised is S = αX + F(X).",
        "7.3",
        ("alpha",),
    ),
    Mutant(
        "branch past the norm",
        _gradient(post=_branch_past),
        "In post-norm dY goes into the branch as it came: first it has to pass the norm, dS, and dS goes both ways.",
        "7.3",
        POST_BACK,
    ),
    Mutant(
        "slope of the input",
        _gradient(tanh_slope="of the input"),
        "The slope of tanh is taken at what the sublayer reads: it is 1 − F², where F is the tanh of the product "
        "with W.",
        "7.3",
        ("none", *PRE_BACK, *POST_BACK),
    ),
    Mutant(
        "gain in the copy",
        _gradient(norm_back=lambda dY, X, gamma: _projected(dY, X, gamma, copy=lambda X_hat, gamma: gamma * X_hat)),
        "In the norm's backward pass the normalised copy has its gain already: x̂ is x over its size, and γ comes in "
        "once, with dY.",
        "7.3",
        ("none", *PRE_BACK, *POST_BACK),
    ),
    Mutant(
        "norm at its output",
        _gradient(norm_back=lambda dY, X, gamma: norm_back(dY, norm(X, gamma), gamma)),
        "The norm's backward pass is taken at what came out of the norm: it needs what went in, and its size.",
        "7.3",
        ("none", *PRE_BACK, *POST_BACK),
    ),
    Mutant(
        "mean over all tokens",
        _gradient(norm_back=lambda dY, X, gamma: _projected(dY, X, gamma, mean=lambda Z: Z.mean())),
        "In the norm's backward pass the mean of g x̂ runs over the whole array: each token has its own, over its "
        "features.",
        "7.3",
        ("none", *PRE_BACK, *POST_BACK),
    ),
    Mutant(
        "the backward pass of LayerNorm",
        _gradient(norm_back=lambda dY, X, gamma: _projected(
            dY, X, gamma, away=lambda g: g.mean(axis=-1, keepdims=True))),
        "This is the backward pass of LayerNorm: the mean of g is taken away because LayerNorm centres, and RMSNorm "
        "does not.",
        "7.3",
        ("none", *PRE_BACK, *POST_BACK),
    ),
    Mutant(
        "not divided by the size",
        _gradient(norm_back=lambda dY, X, gamma: norm_back(dY, X, gamma) * np.sqrt(
            (X * X).mean(axis=-1, keepdims=True))),
        "The norm's backward pass is not divided by the size of the token, and the token was.",
        "7.3",
        ("none", *PRE_BACK, *POST_BACK),
    ),
    Mutant(
        "slope with a plus",
        _gradient(tanh_slope="plus"),
        "The slope of the tanh is written with a plus: it is 1 − F², at most 1.",
        "7.3",
        ("none", *PRE_BACK, *POST_BACK),
    ),
    Mutant(
        "slope as of a sigmoid",
        _gradient(tanh_slope="of a sigmoid"),
        "F (1 − F) is the slope of a sigmoid: that of the tanh is 1 − F².",
        "7.3",
        ("none", *PRE_BACK, *POST_BACK),
    ),
    Mutant(
        "gain twice",
        _gradient(norm_back=lambda dY, X, gamma: norm_back(dY, X, gamma * gamma)),
        "On the way back through the norm γ comes in twice: the normalised token was multiplied by it once.",
        "7.3",
        ("none", *PRE_BACK, *POST_BACK),
    ),
    Mutant(
        "plus along x̂",
        _gradient(norm_back=lambda *given: _projected(*given, mean=lambda Z: -Z.mean(axis=-1, keepdims=True))),
        "In the norm's backward pass the part along x̂ is added: it is taken away, since the size grows with x along "
        "x̂.",
        "7.3",
        ("none", *PRE_BACK, *POST_BACK),
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


def _in_place(slopes):
    terms = np.append(1.0, np.zeros(len(slopes)))
    for slope in slopes:
        for k in range(1, len(terms)):
            terms[k] += slope * terms[k - 1]
    return terms


def _per_path(slopes, factor):
    return np.array([factor(k) for k in range(len(slopes) + 1)]) * _paths(slopes)


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
        "reversed",
        lambda slopes: _paths(slopes)[::-1],
        "The order is reversed: entry k belongs to the paths through k sublayers, so the first is the stream alone, 1, "
        "and the last the path through all.",
        "7.1",
        ("equal slopes", "any slopes", "deeper"),
    ),
    Mutant(
        "summed so far",
        lambda slopes: np.cumsum(_paths(slopes)),
        "The entries are summed from the first on: entry k holds the paths through exactly k sublayers.",
        "7.1",
        ("equal slopes", "any slopes", "deeper"),
    ),
    Mutant(
        "product so far",
        lambda slopes: np.cumprod(np.append(1.0, slopes)),
        "This is one path of each length, the product of the first k slopes, or the mean of all of that length: add up "
        "all choices of k sublayers.",
        "7.1",
        ("equal slopes", "any slopes", "deeper"),
    ),
    Mutant(
        "with repetitions",
        lambda slopes: np.array([slopes.sum() ** k / math.factorial(k) for k in range(len(slopes) + 1)]),
        "This would be right if a path could go through a sublayer twice: it goes through k different ones.",
        "7.1",
        ("equal slopes", "any slopes", "deeper"),
    ),
    Mutant(
        "neighbours alone",
        lambda slopes: np.array(
            [1.0] + [sum(np.prod(slopes[i : i + k]) for i in range(len(slopes) - k + 1))
                     for k in range(1, len(slopes) + 1)]
        ),
        "Only paths through neighbouring sublayers are here: a path may skip any of them.",
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
    Mutant(
        "updated from the front",
        _in_place,
        "A sublayer comes twice into one path: entry k was changed before entry k + 1 read it. Go from the last entry "
        "to the first, or work on a copy.",
        "7.1",
        ("equal slopes", "any slopes", "deeper"),
    ),
    Mutant(
        "each order counted",
        lambda slopes: _per_path(slopes, math.factorial),
        "Each path is counted once for every order of its sublayers: they come in one order alone, so these are "
        "combinations and not permutations.",
        "7.1",
        ("equal slopes", "any slopes", "deeper"),
    ),
    Mutant(
        "signs of a polynomial",
        lambda slopes: _per_path(slopes, lambda k: (-1.0) ** k),
        "Every other sign is exchanged: these are the coefficients of a product of 1 − s, and the factor of a layer "
        "is 1 + s.",
        "7.1",
        ("equal slopes", "any slopes", "deeper"),
    ),
)

# 07.4


def _stack(stream=False, last=True, kept="before", same_gain=False, reads="norm", shared=False, gained=True,
           join="pre", end=norm, norm=norm):
    """A stack with some of its faults left in."""

    def function(X, W, gamma, gain):
        Z, before, after, copies = X, [], [], []
        for l, M in enumerate(W):
            g = gamma[0] if same_gain else gamma[l]
            before.append(Z)
            Z_bar = norm(Z, g if gained else 1.0)
            copies.append(Z_bar)
            if join == "post":
                Z = norm(Z + np.tanh(Z @ M), g)
            elif join == "branch":
                Z = Z + norm(np.tanh(Z @ M), g)
            else:
                Z = (Z_bar if stream else Z) + np.tanh((Z_bar if reads == "norm" else Z) @ (W[0] if shared else M))
            after.append(Z)
        found = {"before": before, "after": after, "copies": copies, "end": [Z] * len(W)}[kept]
        return (end(Z, gamma) if end is _by_a_sublayer else end(Z, gain)) if last else Z, np.stack(found)

    return function


def _by_a_sublayer(Z, gamma):
    return norm(Z, gamma[-1])


ENDS, KEPT, WHOLE = ("two sublayers", "deep"), ("what is kept",), ("two sublayers", "deep", "what is kept")
STREAM = "The normalised copy is carried on: the norm belongs on the branch, and the stream is only ever added to."
LAST = "The final norm is missing: the end of a pre-norm stream is a sum, and as large as the stack is deep."
ALIAS = (
    "What is kept holds other numbers: an array in the list was changed afterwards, in place, or was appended after "
    "the sum.  Append the stream as the sublayer finds it, and make a new array of each sum."
)

REPAIRS = (
    Mutant("stream normalised", _stack(stream=True), STREAM, "7.2", WHOLE),
    Mutant("no final norm", _stack(last=False), LAST, "7.6", ENDS),
    Mutant("kept after the sum", _stack(kept="after"), ALIAS, "7.9", KEPT),
    Mutant("the same array kept", _stack(kept="end"), ALIAS, "7.9", KEPT),
    Mutant(
        "copies kept",
        _stack(kept="copies"),
        "The normalised copies are kept: the stream is asked for, before its norm.",
        "7.2",
        KEPT,
    ),
    Mutant(
        "nothing repaired",
        _stack(stream=True, last=False, kept="after"),
        "This is what the faulty code gives: compare its lines with (7.6), and its end with section 7.6.",
        "7.2",
        WHOLE,
    ),
    Mutant("stream and end", _stack(stream=True, last=False), f"Two faults are left.  {STREAM}  And: {LAST}", "7.2",
           ("two sublayers", "deep")),
    Mutant(
        "one gain for all",
        _stack(same_gain=True),
        "All norms have the gain of the first: sublayer l has its own, row l of gamma.",
        "7.2",
        ENDS,
    ),
    Mutant(
        "one matrix for all",
        _stack(shared=True),
        "All sublayers use the first matrix: sublayer l has its own.",
        "7.1",
        WHOLE,
    ),
    Mutant(
        "gains forgotten",
        _stack(gained=False),
        "The gains of the sublayers' norms are not used: row l of gamma belongs to the norm before sublayer l.",
        "7.2",
        WHOLE,
    ),
    Mutant(
        "post-norm",
        _stack(join="post"),
        "This is a post-norm stack: here the norm stands before each sublayer, and the sum is left as it is.",
        "7.2",
        WHOLE,
    ),
    Mutant(
        "remark normalised",
        _stack(join="branch"),
        "The norm is taken of the remark: it belongs before the sublayer, which reads the normalised copy.",
        "7.2",
        WHOLE,
    ),
    Mutant(
        "sublayer reads the stream",
        _stack(reads="stream"),
        "The sublayer reads the stream as it is: in pre-norm it reads the normalised copy.",
        "7.2",
        WHOLE,
    ),
    Mutant(
        "gain without a norm at the end",
        _stack(end=lambda Z, gain: gain * Z),
        "The last gain is there and its norm is not: the end of the stream is divided by its size first.",
        "7.6",
        ENDS,
    ),
    Mutant(
        "last gain forgotten",
        _stack(end=lambda Z, gain: norm(Z, 1.0)),
        "The gain of the final norm is not used: it is `last`.",
        "7.6",
        ENDS,
    ),
    Mutant(
        "a sublayer's gain at the end",
        _stack(end=_by_a_sublayer),
        "The final norm has the gain of the last sublayer: it has one of its own, `last`.",
        "7.6",
        ENDS,
    ),
    Mutant(
        "LayerNorm at the end",
        _stack(end=lambda Z, gain: gain * layer_norm(Z)),
        "The mean is subtracted at the end: the final norm is RMSNorm too, which divides by the size alone.",
        "7.6",
        ENDS,
    ),
    Mutant(
        "norm along axis 1",
        _stack(end=lambda Z, gain: norm(Z, gain, axis=1), norm=lambda X, gamma: norm(X, gamma, axis=1)),
        "The mean of squares runs along axis 1, which is that of the features only where nothing stands in front: "
        "count it from the end, axis −1.",
        "7.2",
        ("two leading axes",),
    ),
    Mutant(
        "gain twice",
        _stack(norm=lambda X, gamma: gamma * norm(X, gamma)),
        "The gain of a sublayer's norm is applied twice: the normalised token is multiplied by row l of gamma once.",
        "7.2",
        WHOLE,
    ),
    Mutant(
        "last gain twice",
        _stack(end=lambda Z, gain: gain * norm(Z, gain)),
        "The gain of the final norm is applied twice.",
        "7.6",
        ENDS,
    ),
    Mutant(
        "end normalised twice",
        _stack(end=lambda Z, gain: norm(norm(Z, gain), gain)),
        "The end is normalised twice, with its gain each time: one final norm is enough.",
        "7.6",
        ENDS,
    ),
)

# 07.5


def _size(square=lambda a, m, v: a * a * m + v, raw=True, sandwich=True, post=True, root=math.sqrt, times=1,
          of="before", share=None, extra=0, size=None, v_of=lambda v: v):
    """Mean squares from sublayer to sublayer, with a slip."""

    def function(wiring, N, v, alpha):
        m, v = 1.0, v_of(v)
        for _ in range(max(times * N + extra, 1)):
            before = m
            remark = v * m if wiring == "raw" and raw else 1.0 if wiring == "sandwich" and sandwich == 1 else v
            summed = square(alpha, m, remark)
            m = 1.0 if wiring == "post" and post or wiring == "sandwich" and sandwich == "sum" else summed
        if wiring == "sandwich" and sandwich == "sum":
            remark = 1.0
        below = {"before": before, "after": m, "scaled": alpha * alpha * before,
                 "sum": summed if wiring == "post" else before}[of]
        return (size or root)(m), (share or (lambda f, x: root(f / x)))(remark, below)

    return function


def _sizes_added(wiring, N, v, alpha):
    size = before = 1.0
    for _ in range(N):
        before = size
        remark = math.sqrt(v) * size if wiring == "raw" else 1.0 if wiring == "sandwich" else math.sqrt(v)
        size = 1.0 if wiring == "post" else alpha * size + remark
    return size, remark / before


WIRINGS = ("pre", "raw", "sandwich")
SIZES = (
    Mutant(
        "alpha not squared",
        _size(square=lambda a, m, v: a * m + v),
        "The mean square is multiplied by α: a stream α times as large has α² times the mean square.",
        "7.6",
        (*WIRINGS, "alpha above one"),
    ),
    Mutant(
        "alpha forgotten",
        _size(square=lambda a, m, v: m + v),
        "α is not used: it multiplies the stream at every sublayer, so early remarks are multiplied many times.",
        "7.6",
        (*WIRINGS, "alpha above one"),
    ),
    Mutant(
        "alpha on the sum",
        _size(square=lambda a, m, v: a * a * (m + v)),
        "α multiplies the remark too: it is the weight of the stream alone, αx + F.",
        "7.6",
        (*WIRINGS, "alpha above one"),
    ),
    Mutant(
        "no root",
        _size(root=lambda m: m),
        "These are mean squares: the size is the root of the mean square.",
        "7.6",
        (*WIRINGS, "post"),
    ),
    Mutant(
        "sizes added",
        _sizes_added,
        "The sizes are added: independent remarks add by their mean squares.",
        "7.6",
        WIRINGS,
    ),
    Mutant(
        "raw reads a norm",
        _size(raw=False),
        "Without a norm the sublayer reads the stream as it is, so its remark grows with it: mean square v times that "
        "of the stream.",
        "7.6",
        ("raw",),
    ),
    Mutant(
        "second norm forgotten",
        _size(sandwich=False),
        "In the sandwich the remark is normalised too: whatever the sublayer gives, its mean square is then 1.",
        "7.6",
        ("sandwich",),
    ),
    Mutant(
        "post grows",
        _size(post=False),
        "In post-norm the sum is normalised each time, so the stream has size 1 after every sublayer.",
        "7.2",
        ("post",),
    ),
    Mutant(
        "share of the sum",
        _size(of="after"),
        "The share is taken of the stream after the sum: it is that of the stream before that sublayer, x.",
        "7.6",
        WIRINGS,
    ),
    Mutant(
        "share without its root",
        _size(share=lambda remark, m: remark / m),
        "The share is one of mean squares: it is a ratio of sizes, the root of that.",
        "7.6",
        (*WIRINGS, "post"),
    ),
    Mutant(
        "size for share",
        _size(share=lambda remark, m: math.sqrt(remark)),
        "This is the size of the last remark: the share divides it by the size of the stream before it, x.",
        "7.6",
        WIRINGS,
    ),
    Mutant(
        "the root law for all",
        lambda wiring, N, v, alpha: (math.sqrt(1 + N * v), math.sqrt(v / (1 + (N - 1) * v))),
        "This is the law (7.18) of pre-norm with α = 1: here α, and what the sublayer reads, change each step.",
        "7.6",
        (*WIRINGS, "post", "alpha above one"),
    ),
    Mutant(
        "two sublayers each",
        _size(times=2),
        "N is doubled: it counts sublayers here, not layers.",
        "7.6",
        WIRINGS,
    ),
    Mutant(
        "mean square for the size",
        _size(size=lambda m: m),
        "The share is right, and the size is a mean square still: take the root of it.",
        "7.6",
        WIRINGS,
    ),
    Mutant(
        "share of the scaled stream",
        _size(of="scaled"),
        "The share is taken of αx: it is that of x, as the sublayer finds it, before α multiplies it.",
        "7.6",
        (*WIRINGS, "post", "alpha above one"),
    ),
    Mutant(
        "share of the sum in post",
        _size(of="sum"),
        "In post the share is taken of the sum before its norm: it is that of x, which the sublayer finds, and x has "
        "size 1.",
        "7.6",
        ("post",),
    ),
    Mutant(
        "one sublayer more",
        _size(extra=1),
        "This is the stream after N + 1 sublayers: it begins with 1, and N remarks come to it.",
        "7.6",
        WIRINGS,
    ),
    Mutant(
        "one sublayer less",
        _size(extra=-1),
        "This is the stream after N − 1 sublayers: it begins with 1, and N remarks come to it.",
        "7.6",
        WIRINGS,
    ),
    Mutant(
        "sandwich normalises the stream",
        _size(sandwich="sum"),
        "In the sandwich the stream is normalised after each sum: the two norms stand before and behind the sublayer, "
        "on the branch, and the stream is left to grow.",
        "7.6",
        ("sandwich",),
    ),
    Mutant(
        "v squared",
        _size(v_of=lambda v: v * v),
        "v is squared: it is a mean square already, and mean squares add.",
        "7.6",
        ("pre", "raw", "post"),
    ),
    Mutant(
        "alpha on the remark",
        _size(square=lambda a, m, v: m + a * a * v),
        "α multiplies the remark: it is the weight of the stream, αx + F.",
        "7.6",
        (*WIRINGS, "alpha above one"),
    ),
)

# 07.6


def _losses(last=layer_norm, reduce=np.mean, log=True, every=False, axis=1, unshifted=False, tiny=0.0):
    def cross_entropy(logits, target):
        shifted = logits - logits.max(axis=axis, keepdims=True)
        rows = np.arange(len(target))
        chosen = (logits if unshifted else shifted)[:, target].T if every else (
            logits if unshifted else shifted)[rows, target]
        if tiny:
            return reduce(-np.log(np.exp(chosen) / np.exp(shifted).sum(axis=1) + tiny))
        sums = np.log(np.exp(shifted).sum(axis=axis))
        return reduce((sums[target] if axis == 0 else sums) - chosen) if log else reduce(-chosen)

    return lambda X, W, target: (cross_entropy(X @ W, target), cross_entropy(last(X) @ W, target))


def _over_tokens(X):
    centred = X - X.mean(axis=0)
    return centred / np.sqrt((centred * centred).mean(axis=0))


LOSS_CASES = ("a long stream", "a short one", "overflow")


def _overflowing(X, W, target):
    def cross_entropy(logits):
        return np.mean(np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(target)), target])

    return cross_entropy(X @ W), cross_entropy(layer_norm(X) @ W)


def _of_logits(X, W, target):
    eye = np.eye(W.shape[1])
    return _losses()(X, W, target)[0], _losses()(X @ W, eye, target)[1]


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
        "no logarithm of the sum",
        _losses(log=False),
        "The log of the sum of exponentials is missing: this is the gap to the largest logit alone.",
        "7.6",
        ("a long stream", "a short one"),
    ),
    Mutant(
        "size without the mean",
        _losses(last=lambda X: X / np.sqrt((X * X).mean(axis=1, keepdims=True))),
        "The mean of the token is not subtracted: that is RMSNorm, and LayerNorm is asked for.",
        "7.6",
        LOSS_CASES,
    ),
    Mutant(
        "logits normalised",
        _of_logits,
        "The logits are normalised: the norm stands before W, on the end of the stream.",
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
        "Either exp of a logit in the thousands overflows, or a probability underflows to 0, whose log is −∞: subtract "
        "the largest logit of each row, and then take log p as z − log Σ exp z, without p.",
        "7.6",
        ("overflow",),
    ),
    Mutant(
        "all targets in every row",
        _losses(every=True),
        "logits[:, target] takes the targets of all tokens out of every row: token i has one, in row i and column "
        "target[i].",
        "7.6",
        ("a long stream", "a short one", "overflow"),
    ),
    Mutant(
        "softmax over the tokens",
        _losses(axis=0),
        "The softmax runs over the tokens: each token has a softmax over the words.",
        "7.6",
        ("a long stream", "a short one", "overflow"),
    ),
    Mutant(
        "largest logit left out",
        _losses(unshifted=True),
        "The largest logit is subtracted from one part of the loss alone: take it from all logits of the row, or add "
        "it to the log of the sum again.",
        "7.6",
        ("a long stream", "a short one", "overflow"),
    ),
    Mutant(
        "variance for deviation",
        _losses(last=lambda X: layer_norm(X) / X.std(axis=1, keepdims=True)),
        "The token is divided by its variance: divide by the root of it.",
        "7.6",
        LOSS_CASES,
    ),
    Mutant(
        "not centred",
        _losses(last=lambda X: X / X.std(axis=1, keepdims=True)),
        "The token is divided by its deviation, and its mean was not subtracted before.",
        "7.6",
        LOSS_CASES,
    ),
    *(
        Mutant(
            f"log of p + {tiny:.0e}",
            _losses(tiny=tiny),
            "A tiny number is added to the probabilities, and it caps the loss of a very improbable word: take log p "
            "as z − log Σ exp z, without p, and nothing has to be added.",
            "7.6",
            ("overflow",),
        )
        for tiny in (1e-8, 1e-9, 1e-10, 1e-12)
    ),
    Mutant(
        "bits",
        _losses(reduce=lambda losses: np.mean(losses) / math.log(2)),
        "The logarithm has base 2: a cross-entropy here has the natural one, as the softmax has e.",
        "7.6",
        LOSS_CASES,
    ),
    Mutant(
        "sign",
        _losses(reduce=lambda losses: -np.mean(losses)),
        "The sign is the other one: a cross-entropy is the mean of −log p, never negative.",
        "7.6",
        LOSS_CASES,
    ),
    Mutant(
        "divided by the words too",
        lambda X, W, target: tuple(loss / W.shape[1] for loss in _losses()(X, W, target)),
        "The loss is divided by the number of words as well: it is a mean over the tokens alone.",
        "7.6",
        LOSS_CASES,
    ),
    Mutant(
        "perplexity",
        _losses(reduce=lambda losses: np.exp(np.mean(losses))),
        "This is e to the cross-entropy, the perplexity: the loss is its logarithm.",
        "7.6",
        ("a short one",),
    ),
)

# 07.7


def _begin(alpha=lambda K, p: K**0.25, beta=lambda K, p: (p * K**0.5) ** (-1 / (2 * p - 2)),
           std=lambda K, L, p: 0.02 / K**0.5, count=lambda layers, sublayers: layers * sublayers, p_of=lambda p: p):
    def function(layers, sublayers, matrices):
        K, p = count(layers, sublayers), p_of(matrices)
        return alpha(K, p), beta(K, p), std(K, layers, matrices)

    return function


STARTS = (
    Mutant(
        "(7.28) itself",
        lambda layers, sublayers, matrices: ((2 * layers) ** 0.25, (8 * layers) ** -0.25, 0.02 / math.sqrt(2 * layers)),
        "These are the numbers of (7.28), for two sublayers a layer and two matrices a branch: yours has others.",
        "7.8",
        ("three sublayers", "three matrices", "both"),
    ),
    Mutant(
        "two sublayers always",
        _begin(count=lambda layers, sublayers: 2 * layers),
        "Two sublayers a layer are taken for granted: here a layer has as many as are given.",
        "7.8",
        ("three sublayers", "both"),
    ),
    Mutant(
        "layers for sublayers",
        _begin(count=lambda layers, sublayers: layers),
        "Layers are counted: each of their sublayers adds a remark and has a branch.",
        "7.8",
        ("three sublayers", "three matrices", "both"),
    ),
    Mutant(
        "two matrices always",
        _begin(p_of=lambda p: 2),
        "β is that of a branch of two matrices: with p of them, moving one leaves a factor β for each of the p − 1 "
        "others, in the output and in the gradient.",
        "7.8",
        ("three matrices", "both"),
    ),
    Mutant(
        "all matrices",
        _begin(beta=lambda K, p: (p * K**0.5) ** (-1 / (2 * p))),
        "The moved matrix counts as one of size β as well: the others are p − 1, so β appears with 2(p − 1).",
        "7.8",
        ("three sublayers", "three matrices", "both"),
    ),
    Mutant(
        "one matrix moved",
        _begin(beta=lambda K, p: (K**0.5) ** (-1 / (2 * p - 2))),
        "Only one matrix of each branch is moved here: all p of them are, so p stands before β^(2(p−1)).",
        "7.8",
        ("three sublayers", "three matrices", "both"),
    ),
    Mutant(
        "fourth root always",
        _begin(beta=lambda K, p: (p * p * K) ** -0.25),
        "β is a fourth root, as for two matrices: p β^(2(p−1)) = 1/√K asks for the root of order 2(p − 1).",
        "7.8",
        ("three matrices", "both"),
    ),
    Mutant(
        "square root for the fourth",
        _begin(alpha=lambda K, p: K**0.5),
        "α is a square root: α² is √K, so α is the fourth root of K.",
        "7.8",
        ("three sublayers", "three matrices", "both"),
    ),
    Mutant(
        "the gradient's factor forgotten",
        _begin(beta=lambda K, p: (p * K**0.5) ** (-1 / (p - 1)), alpha=lambda K, p: K**0.5),
        "The factor β^(p−1)/α comes in twice, once when the output moves and once in the size of the step, so it is "
        "squared.",
        "7.8",
        ("three sublayers", "three matrices", "both"),
    ),
    Mutant(
        "beta not inverted",
        _begin(beta=lambda K, p: (p * K**0.5) ** (1 / (2 * p - 2))),
        "β grows with the depth: the branches of a deep stack must start small.",
        "7.8",
        ("three sublayers", "three matrices", "both"),
    ),
    Mutant(
        "variance for deviation",
        _begin(std=lambda K, L, p: 0.02 / K),
        "The deviation is divided by the number of sublayers: that is right for the variance; the deviation takes the "
        "root.",
        "7.8",
        ("three sublayers", "three matrices", "both"),
    ),
    Mutant(
        "beta not squared",
        _begin(beta=lambda K, p: (p * K**0.5) ** (-1 / (p - 1))),
        "β^(p−1) comes in twice, once when the output moves and once in the size of the step: its exponent is "
        "2(p − 1), so the root is of order 2(p − 1).",
        "7.8",
        ("three sublayers", "three matrices", "both"),
    ),
    Mutant(
        "p under the root",
        _begin(beta=lambda K, p: (p * K) ** (-1 / (4 * p - 4))),
        "p stands under the square root with K: the share of the branches is p β^(2(p−1)) = 1/√K, and p is outside "
        "of it.",
        "7.8",
        ("three sublayers", "three matrices", "both"),
    ),
    Mutant(
        "deviation by layers",
        _begin(std=lambda K, L, p: 0.02 / L**0.5),
        "The deviation is divided by the root of the number of layers: every sublayer adds a remark, so it is the "
        "number of all sublayers.",
        "7.8",
        ("three sublayers", "three matrices", "both"),
    ),
    Mutant(
        "deviation by two a layer",
        _begin(std=lambda K, L, p: 0.02 / (2 * L) ** 0.5),
        "The deviation takes two sublayers a layer for granted: here a layer has as many as are given.",
        "7.8",
        ("three sublayers", "both"),
    ),
    Mutant(
        "deviation by matrices",
        _begin(std=lambda K, L, p: 0.02 / (p * K) ** 0.5),
        "The number of matrices is in the deviation too: each sublayer adds one remark, however many matrices make it.",
        "7.8",
        ("three sublayers", "three matrices", "both"),
    ),
)

# 07.8


def _voices(a, b):
    return lambda N, v: (np.array([a(l, N) for l in range(N)]), np.array([b(l, N, v) for l in range(N)]))


def _a(l, N):
    return math.sqrt((l + 1) / (l + 2))


def _b(l, N, v):
    return math.sqrt(1 / (v * (l + 2)))


def _loud_stream(N, v):
    a, b = _voices(_a, _b)(N, v)
    return a / math.sqrt(v), b


EVERY = ("one remark", "six remarks", "loud remarks")
VOICES = (
    Mutant(
        "level, not equal",
        _voices(lambda l, N: math.sqrt(0.5), lambda l, N, v: math.sqrt(0.5 / v)),
        "The stream stays at 1, but each sublayer halves what was there: the last remark has half of the whole, the "
        "first nearly nothing.",
        "7.8",
        ("six remarks", "loud remarks"),
    ),
    Mutant(
        "constant weights",
        _voices(lambda l, N: math.sqrt(N / (N + 1)), lambda l, N, v: math.sqrt(1 / (v * (N + 1)))),
        "The stream stays at 1, but the same weights at each sublayer leave early voices weaker: the more there are "
        "already, the less a new one takes.",
        "7.8",
        ("six remarks", "loud remarks"),
    ),
    Mutant(
        "v forgotten",
        _voices(_a, lambda l, N, v: math.sqrt(1 / (l + 2))),
        "A remark has mean square v, so b² v is its share and not b².",
        "7.6",
        EVERY,
    ),
    Mutant(
        "v multiplied",
        _voices(_a, lambda l, N, v: math.sqrt(v / (l + 2))),
        "b grows with v: a louder remark has to be turned down, so b² is divided by it.",
        "7.6",
        EVERY,
    ),
    Mutant(
        "post-norm",
        lambda N, v: (np.full(N, 1 / math.sqrt(1 + v)), np.full(N, 1 / math.sqrt(1 + v))),
        "The stream is brought back to 1 after each sum, as in post-norm: x_0 and early remarks are divided each time "
        "and fade.",
        "7.8",
        EVERY,
    ),
    Mutant(
        "shares for weights",
        _voices(lambda l, N: (l + 1) / (l + 2), lambda l, N, v: 1 / (v * (l + 2))),
        "These are the squares: mean squares are multiplied by a² and b².",
        "7.6",
        EVERY,
    ),
    Mutant(
        "input forgotten",
        _voices(lambda l, N: math.sqrt(l / (l + 1)), lambda l, N, v: math.sqrt(1 / (v * (l + 1)))),
        "x_0 is no voice here: it is the first, so the first remark takes a half and not the whole.",
        "7.8",
        EVERY,
    ),
    Mutant(
        "remarks shrink, the stream grows",
        _voices(lambda l, N: 1.0, lambda l, N, v: math.sqrt(1 / (v * (N + 1)))),
        "Nothing is taken from the stream, so it grows: a² has to leave room for the new remark.",
        "7.8",
        EVERY,
    ),
    Mutant(
        "equal and growing",
        _voices(lambda l, N: 1.0, lambda l, N, v: math.sqrt(1 / v)),
        "All voices are equal, and the stream grows with each: its mean square must stay at 1.",
        "7.8",
        EVERY,
    ),
    Mutant(
        "weights sum to one",
        _voices(lambda l, N: (l + 1) / (l + 2), lambda l, N, v: 1 / ((l + 2) * math.sqrt(v))),
        "The weights sum to one: independent things add by their mean squares, so a² + b² v is 1.",
        "7.6",
        EVERY,
    ),
    Mutant(
        "one voice too many",
        _voices(lambda l, N: math.sqrt((l + 2) / (l + 3)), lambda l, N, v: math.sqrt(1 / (v * (l + 3)))),
        "One voice too many is counted: after the first sublayer there are two, x_0 and one remark, and each has a "
        "half.",
        "7.8",
        EVERY,
    ),
    Mutant(
        "divided by v",
        _voices(_a, lambda l, N, v: 1 / (v * math.sqrt(l + 2))),
        "b is divided by v: the share of a remark is b² v, so b is divided by the root of v.",
        "7.6",
        EVERY,
    ),
    Mutant(
        "equal at the end alone",
        _voices(lambda l, N: 1.0 if l else math.sqrt(1 / (N + 1)), lambda l, N, v: math.sqrt(1 / (v * (N + 1)))),
        "The shares are equal at the end, and on the way the stream is too small: it has mean square 1 after every "
        "sublayer, so each new voice takes something from all before.",
        "7.8",
        ("six remarks", "loud remarks"),
    ),
    Mutant(
        "v in the stream's weight",
        _loud_stream,
        "v stands in a as well: the stream has mean square 1, only the remark has v.",
        "7.8",
        ("one remark", "six remarks", "loud remarks", "other numbers"),
    ),
    Mutant(
        "last sublayer first",
        lambda N, v: tuple(x[::-1].copy() for x in _voices(_a, _b)(N, v)),
        "The weights stand in the wrong order, the last sublayer first: as more voices are in the stream, a grows "
        "and b falls.",
        "7.8",
        ("six remarks", "loud remarks", "other numbers"),
    ),
)

# 07.9


def _case(*factors, size=1.0):
    def function(d):
        return size * np.ones(d), np.stack([factor * np.eye(d) for factor in factors])

    return function


EACH_WIDTH = ("a single feature", "three features")
PARTINGS = (
    Mutant(
        "one sublayer",
        _case(2.0),
        "With one sublayer the two are the same: x is normalised already, so both read x, and both normalise the same "
        "sum.",
        "7.2",
        EACH_WIDTH,
    ),
    Mutant(
        "three sublayers",
        _case(2.0, -2.0, 0.0),
        "They differ, but so do smaller stacks.",
        "7.2",
        EACH_WIDTH,
    ),
    Mutant(
        "nothing written",
        _case(0.0, 0.0),
        "With these matrices the two end alike: the stream has to grow first, so that the second remark weighs less on "
        "one side than on the other, and then something must depend on that.",
        "7.6",
        EACH_WIDTH,
    ),
    Mutant(
        "token too large",
        _case(2.0, size=3.0),
        "A token of another size makes even one sublayer differ, but the claim is about tokens with mean square 1.",
        "7.2",
        EACH_WIDTH,
    ),
)

# 07.10


def _droppable(stays=None, scale=lambda F, p: F / (1 - p), evaluation=lambda X, F, p: X + F, whole=False, lost=False,
               always=False, held=True, swap=False, scaled=False, draw="rand", once=False):
    """stays: the shape of the coins; the rest is what goes wrong."""

    def make_droppable(sublayer, p):
        import torch

        class Droppable(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = sublayer if held else [sublayer]

            def forward(self, X):
                F = (self.inner if held else self.inner[0])(X)
                if not self.training and not always:
                    return evaluation(X, F, p)
                shape = (len(X), 1, 1) if stays is None else stays(X)
                if shape == (0,):
                    return X + (1 - p) * F
                coins = getattr(torch, draw)(shape, dtype=X.dtype)
                if once:
                    coins = self.coins = coins if len(getattr(self, "coins", ())) != len(X) else self.coins
                coins = coins < p if lost else coins >= p
                if swap:
                    return coins * X + F
                if scaled:
                    return scale(X + coins * F, p)
                return coins * scale(X + F, p) if whole else X + coins * scale(F, p)

        return Droppable()

    return make_droppable


DROPS = (
    Mutant(
        "not scaled",
        _droppable(scale=lambda F, p: F),
        "The remarks that stay are not scaled: then training expects X + (1 − p) F, and evaluation gives X + F.",
        "7.9",
        ("what stays",),
    ),
    Mutant(
        "scaled down",
        _droppable(scale=lambda F, p: F * (1 - p)),
        "The remarks that stay are multiplied by 1 − p: they come up in a share 1 − p of the cases, so they are "
        "divided by it.",
        "7.9",
        ("what stays",),
    ),
    Mutant(
        "divided by p",
        _droppable(scale=lambda F, p: F / p if p else F),
        "The remarks that stay are divided by p: p is the probability to be lost, so they stay with 1 − p.",
        "7.9",
        ("what stays",),
    ),
    Mutant(
        "p for the other",
        _droppable(lost=True, scale=lambda F, p: F / p if p else F),
        "A remark stays with probability p: p is the probability that it is lost.",
        "7.9",
        ("what stays", "how often", "p = 0"),
    ),
    Mutant(
        "stays with p, not scaled",
        _droppable(lost=True, scale=lambda F, p: F),
        "A remark stays with probability p, and is not scaled: p is the probability that it is lost, and those that "
        "stay are divided by 1 − p.",
        "7.9",
        ("what stays", "how often", "p = 0"),
    ),
    Mutant(
        "no coin",
        _droppable(stays=lambda X: (0,)),
        "No remark is lost, each is only made smaller: in training it is there or not, by a coin.",
        "7.9",
        ("what stays", "how often"),
    ),
    Mutant(
        "stream lost instead",
        _droppable(swap=True),
        "The stream is lost and the remark stays: X always goes through, and F is what may be lost.",
        "7.1",
        ("what stays", "whole sequences"),
    ),
    Mutant(
        "remark alone in evaluation",
        _droppable(evaluation=lambda X, F, p: F),
        "Evaluation gives F(X) without the stream: it is X + F(X).",
        "7.1",
        ("evaluation",),
    ),
    Mutant(
        "scaled in evaluation",
        _droppable(scale=lambda F, p: F, evaluation=lambda X, F, p: X + (1 - p) * F),
        "Evaluation scales and training does not: the expected values agree, but not with X + F.",
        "7.9",
        ("evaluation", "what stays"),
    ),
    Mutant(
        "scaled twice",
        _droppable(evaluation=lambda X, F, p: X + (1 - p) * F),
        "Evaluation is scaled as well as training: once is enough.",
        "7.9",
        ("evaluation",),
    ),
    Mutant(
        "also in evaluation",
        _droppable(always=True),
        "Remarks are lost in evaluation too: look at `self.training`.",
        "7.9",
        ("evaluation",),
    ),
    Mutant(
        "a coin for each token",
        _droppable(stays=lambda X: (*X.shape[:2], 1)),
        "Each token tosses its own coin: the whole remark of a sequence is lost, or none of it.",
        "7.9",
        ("whole sequences",),
    ),
    Mutant(
        "a coin for each place",
        _droppable(stays=lambda X: (1, X.shape[1], 1)),
        "A coin is tossed for each place in the text, the same for all sequences: each sequence has one coin, (B, 1, "
        "1).",
        "7.9",
        ("whole sequences",),
    ),
    Mutant(
        "a coin for each number",
        _droppable(stays=lambda X: X.shape),
        "Each number tosses its own coin, which is dropout: the whole remark of a sequence is lost, or none of it.",
        "7.9",
        ("whole sequences",),
    ),
    Mutant(
        "one coin for all",
        _droppable(stays=lambda X: (1, 1, 1)),
        "One coin is tossed for the whole batch: each sequence has its own.",
        "7.9",
        ("how often",),
    ),
    Mutant(
        "the stream as well",
        _droppable(whole=True),
        "The stream is lost with the remark: only F is dropped and scaled, X goes through.",
        "7.1",
        ("what stays", "whole sequences"),
    ),
    Mutant(
        "sublayer not held",
        _droppable(held=False),
        "The parameters of the sublayer are not found: a module finds those of the modules that are its attributes, "
        "not those in a plain list or a closure.",
        "7.9",
        ("parameters",),
    ),
    Mutant(
        "a coin for each feature",
        _droppable(stays=lambda X: (len(X), 1, X.shape[2])),
        "Each feature of a sequence tosses its own coin: the whole remark of a sequence is lost, or none of it.",
        "7.9",
        ("whole sequences",),
    ),
    Mutant(
        "stream scaled too",
        _droppable(scaled=True),
        "The stream is divided by 1 − p as well: X goes through as it is, and only the remarks that stay are scaled.",
        "7.9",
        ("what stays",),
    ),
    Mutant(
        "another draw",
        _droppable(draw="randn"),
        "Another share than p is lost: p is compared with a number that is even between 0 and 1, as torch.rand gives "
        "it; a normal number, or one that is rounded, falls otherwise.",
        "7.9",
        ("how often", "p = 0"),
    ),
    Mutant(
        "coins kept",
        _droppable(once=True),
        "The coins of the first pass are kept for the next: toss new ones in every call of forward.",
        "7.9",
        ("how often",),
    ),
)

# 07.11


def _lesion(paths=lambda N, k: 2 ** (N - k), share=lambda s, r: 1 / np.prod(1 + s[r]),
            length=lambda kept, s: (kept / (1 + kept)).sum()):
    def function(slopes, removed):
        kept = np.delete(slopes, removed)
        return int(paths(len(slopes), len(removed))), float(share(slopes, removed)), float(length(kept, slopes))

    return function


PATHS_LEFT, SHARE_LEFT, MEAN_LENGTH = ("paths",), ("share",), ("length",)
LESIONS = (
    Mutant(
        "share of the paths",
        _lesion(share=lambda s, r: 0.5 ** len(r)),
        "This is the share of the paths that are left. Paths do not weigh the same: each removed sublayer takes its "
        "own factor 1 + s out of the derivative.",
        "7.1",
        SHARE_LEFT,
    ),
    Mutant(
        "one path each",
        _lesion(paths=lambda N, k: 2**N - k),
        "One path is taken away for each sublayer: half of all paths go through a sublayer, and all of those are gone.",
        "7.1",
        PATHS_LEFT,
    ),
    Mutant(
        "sublayers for paths",
        _lesion(paths=lambda N, k: N - k),
        "These are the sublayers that are left: each of them doubles the number of paths.",
        "7.1",
        PATHS_LEFT,
    ),
    Mutant(
        "those that are gone",
        _lesion(paths=lambda N, k: 2**N - 2 ** (N - k)),
        "These are the paths that are gone: those that avoid every removed sublayer are left.",
        "7.1",
        PATHS_LEFT,
    ),
    Mutant(
        "paths of the removed",
        _lesion(paths=lambda N, k: 2**k),
        "These are the paths of the removed sublayers among themselves: count the choices that are left.",
        "7.1",
        PATHS_LEFT,
    ),
    Mutant(
        "cut instead of bridged",
        _lesion(share=lambda s, r: 0.0),
        "The derivative is not zero: a removed sublayer is the identity, and the stream goes on.",
        "7.1",
        SHARE_LEFT,
    ),
    Mutant(
        "product of slopes",
        _lesion(share=lambda s, r: np.prod(s[r])),
        "These are the slopes of the removed: each of them had the factor 1 + s in the derivative, and has the factor "
        "1 now.",
        "7.1",
        SHARE_LEFT,
    ),
    Mutant(
        "share that is gone",
        _lesion(share=lambda s, r: 1 - 1 / np.prod(1 + s[r])),
        "This is the share that is gone: what is left is asked for.",
        "7.1",
        SHARE_LEFT,
    ),
    Mutant(
        "one minus the slopes",
        _lesion(share=lambda s, r: np.prod(1 - s[r])),
        "Each removed sublayer takes the factor 1 + s away, so what is left is 1/(1 + s) and not 1 − s.",
        "7.1",
        SHARE_LEFT,
    ),
    Mutant(
        "share of the slopes",
        _lesion(share=lambda s, r: np.delete(s, r).sum() / s.sum()),
        "These are shares of the sum of slopes: the derivative is a product of 1 + s, and not a sum.",
        "7.1",
        SHARE_LEFT,
    ),
    Mutant(
        "derivative itself",
        _lesion(share=lambda s, r: np.prod(1 + np.delete(s, r))),
        "This is the derivative that is left: divide it by the derivative of the whole stack.",
        "7.1",
        SHARE_LEFT,
    ),
    Mutant(
        "half of the sublayers",
        _lesion(length=lambda kept, s: len(kept) / 2),
        "This is the mean over all paths alike: a path counts with its product of slopes, so short ones count more.",
        "7.1",
        MEAN_LENGTH,
    ),
    Mutant(
        "sum of the slopes",
        _lesion(length=lambda kept, s: kept.sum()),
        "The slopes are summed: a sublayer is on a share s/(1 + s) of the weight, since it is taken with s or passed "
        "by with 1.",
        "7.1",
        MEAN_LENGTH,
    ),
    Mutant(
        "mean over sublayers",
        _lesion(length=lambda kept, s: (kept / (1 + kept)).mean()),
        "This is the mean share of a sublayer: the length of a path is the sum over the sublayers.",
        "7.1",
        MEAN_LENGTH,
    ),
    Mutant(
        "all that are left",
        _lesion(length=lambda kept, s: len(kept)),
        "This is the longest path: most of the weight is on shorter ones.",
        "7.1",
        MEAN_LENGTH,
    ),
    Mutant(
        "removed ones counted",
        _lesion(length=lambda kept, s: (s / (1 + s)).sum()),
        "The removed sublayers are counted as well: no path goes through them any more.",
        "7.1",
        MEAN_LENGTH,
    ),
    Mutant(
        "without the shortest path",
        _lesion(paths=lambda N, k: 2 ** (N - k) - 1),
        "The path through no sublayer is not counted: it is the stream itself, and it is always left.",
        "7.1",
        PATHS_LEFT,
    ),
    Mutant(
        "paths of the removed taken away",
        _lesion(paths=lambda N, k: 2**N - 2**k),
        "Too few paths are taken away: all that go through a removed sublayer are gone, whatever the others do.",
        "7.1",
        PATHS_LEFT,
    ),
    Mutant(
        "products of slopes",
        _lesion(share=lambda s, r: 1 / np.prod(s[r])),
        "These are products of the slopes alone: a layer's factor in the derivative is 1 + s.",
        "7.1",
        SHARE_LEFT,
    ),
    Mutant(
        "sums for products",
        _lesion(share=lambda s, r: (1 + np.delete(s, r)).sum() / (1 + s).sum()),
        "The factors 1 + s are added: the derivative is their product.",
        "7.1",
        SHARE_LEFT,
    ),
    Mutant(
        "lengths not averaged",
        _lesion(length=lambda kept, s: (kept / (1 + kept)).sum() * np.prod(1 + kept)),
        "This is the sum of the lengths, each times its weight: a mean divides it by the sum of the weights.",
        "7.1",
        MEAN_LENGTH,
    ),
    Mutant(
        "factors of the removed",
        _lesion(share=lambda s, r: np.prod(1 + s[r]) / np.prod(1 + s)),
        "This is what the removed sublayers have of the product: what is left is the product of 1 + s over those "
        "that stay.",
        "7.1",
        ("share", "one removed", "deeper"),
    ),
    Mutant(
        "paths around",
        _lesion(length=lambda kept, s: (1 / (1 + kept)).sum()),
        "This is the mean number of sublayers that a path goes around: it goes through one with weight s/(1 + s), "
        "around it with 1/(1 + s).",
        "7.1",
        ("length", "one removed", "deeper"),
    ),
)
