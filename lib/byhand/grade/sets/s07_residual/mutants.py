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
        "norm the "
        "two are the same.",
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
)

# 07.2


def _gradient(pre=None, post=None, none=None, tanh_slope=True, scaled=False, norm_back=norm_back, turned=True,
              read=norm, at_sum=False):
    def function(dY, X, W, gamma, wiring, alpha):
        Z = X if wiring == "post" else read(X, gamma)
        F = np.tanh(Z @ W)

        def F_back(d):
            H = np.tanh((alpha * X + F) @ W) if at_sum and wiring == "post" else F
            slope = {True: 1 - H * H, False: 1, "not squared": 1 - H}[tanh_slope]
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
        "These are the products of the first k slopes, one path of each length: add up all choices of k sublayers.",
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
)

# 07.4


def _stack(stream=False, last=True, kept="before", same_gain=False, reads="norm", shared=False, gained=True,
           join="pre"):
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
        return norm(Z, gain) if last else Z, np.stack(found)

    return function


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
)

# 07.5


def _size(square=lambda a, m, v: a * a * m + v, raw=True, sandwich=True, post=True, root=math.sqrt, times=1,
          of="before", share=None):
    """Mean squares from sublayer to sublayer, with a slip."""

    def function(wiring, N, v, alpha):
        m = before = 1.0
        for _ in range(times * N):
            before = m
            remark = v * m if wiring == "raw" and raw else 1.0 if wiring == "sandwich" and sandwich else v
            m = 1.0 if wiring == "post" and post else square(alpha, m, remark)
        return root(m), (share or (lambda f, x: root(f / x)))(remark, before if of == "before" else m)

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
        "exp of a logit in the thousands overflows: subtract the largest logit of each row, which changes no loss.",
        "7.6",
        ("overflow",),
    ),
)

# 07.7


def _begin(alpha=lambda K, p: K**0.25, beta=lambda K, p: (p * K**0.5) ** (-1 / (2 * p - 2)),
           std=lambda K: 0.02 / K**0.5, count=lambda layers, sublayers: layers * sublayers, p_of=lambda p: p):
    def function(layers, sublayers, matrices):
        K, p = count(layers, sublayers), p_of(matrices)
        return alpha(K, p), beta(K, p), std(K)

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
        _begin(std=lambda K: 0.02 / K),
        "The deviation is divided by the number of sublayers: that is right for the variance; the deviation takes the "
        "root.",
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
               always=False, held=True, swap=False):
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
                coins = torch.rand(shape, dtype=X.dtype)
                coins = coins < p if lost else coins >= p
                if swap:
                    return coins * X + F
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
        "stay "
        "are divided by 1 − p.",
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
        "own "
        "factor 1 + s out of the derivative.",
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
)
