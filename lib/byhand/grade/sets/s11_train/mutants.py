"""Known wrong answers, each with the message that names the misconception."""

import math

import numpy as np

from ...model import Mutant
from .cases import NAMES, record

# 11.1


def _loss(targets_of=None, share_of=None, q_of=None, log_of=None, dlogits_of=None):
    """The loss with one part replaced by a wrong one."""

    def function(logits, targets, weights, eps):
        T, V = logits.shape
        counted = targets >= 0
        y = np.where(counted, targets, 0)
        share = share_of(counted, weights) if share_of else counted * weights / (counted * weights).sum()
        if targets_of:
            y, share = targets_of(targets, weights)
        hot = np.arange(V) == y[:, None]
        Q = q_of(hot, eps, V) if q_of else (1 - eps) * hot + eps / V
        z = logits - logits.max(axis=1, keepdims=True)
        Y = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
        P = np.exp(Y)
        if log_of:
            Y = log_of(logits)
        L = -(share[:, None] * Q * Y).sum()
        dlogits = dlogits_of(P, Q, share, counted, weights) if dlogits_of else share[:, None] * (P - Q)
        return L, dlogits

    return function


def _naive_log(logits):
    E = np.exp(logits)
    return np.log(E / E.sum(axis=1, keepdims=True))


LOSSES = (
    Mutant(
        "mean over all places",
        _loss(share_of=lambda counted, weights: counted * weights / len(weights)),
        "The sum is divided by the number of places: divide by the total weight of the tokens that count.",
        "11.2",
        ("padding", "weights", "more padding"),
    ),
    Mutant(
        "weights forgotten",
        _loss(share_of=lambda counted, weights: counted / counted.sum()),
        "All tokens have the same share: each has a weight, and the shares are weights over their sum.",
        "11.2",
        ("weights", "more padding"),
    ),
    Mutant(
        "padding is a word",
        _loss(targets_of=lambda targets, weights: (targets % 7, weights / weights.sum())),
        "Ignored tokens are counted: −1 as an index means the last word, and nobody complains.",
        "11.2",
        ("padding", "more padding"),
    ),
    Mutant(
        "smoothed over the others",
        _loss(q_of=lambda hot, eps, V: np.where(hot, 1 - eps, eps / (V - 1))),
        "eps is spread over the other V − 1 words: here every word gets eps/V, the right one too.",
        "11.2",
        ("smoothing", "more padding"),
    ),
    Mutant(
        "target without its part",
        _loss(q_of=lambda hot, eps, V: np.where(hot, 1 - eps, eps / V)),
        "The rows of q do not sum to one: the target has 1 − eps and its own eps/V.",
        "11.2",
        ("smoothing", "more padding"),
    ),
    Mutant(
        "logarithm apart",
        _loss(log_of=_naive_log),
        "The logarithm is taken of a softmax that overflows: join them, log p = z − log Σ exp z, less the maximum.",
        "11.1",
        ("large logits",),
    ),
    Mutant(
        "loss in bits",
        lambda *inputs: (_loss()(*inputs)[0] / math.log(2), _loss()(*inputs)[1]),
        "This is the loss in bits: a loss is in nats, and p − q is the gradient of nats.",
        "11.1",
        ("loss", "smoothing", "padding", "weights", "large logits", "more padding"),
    ),
    Mutant(
        "sign of the gradient",
        _loss(dlogits_of=lambda P, Q, share, counted, weights: share[:, None] * (Q - P)),
        "The gradient points the other way: it is what the model said minus what came, p − q.",
        "11.1",
        ("gradient", "smoothing", "padding", "weights", "more padding"),
    ),
    Mutant(
        "gradient of a sum",
        _loss(dlogits_of=lambda P, Q, share, counted, weights: (counted * weights)[:, None] * (P - Q)),
        "The loss is a mean, and this is the gradient of a sum: each row is multiplied by its share.",
        "11.1",
        ("gradient", "smoothing", "padding", "weights", "more padding"),
    ),
    Mutant(
        "padding pulls",
        _loss(dlogits_of=lambda P, Q, share, counted, w: (w / (counted * w).sum())[:, None] * (P - Q)),
        "An ignored token has a gradient: its share is zero, backward as well as forward.",
        "11.2",
        ("padding", "more padding"),
    ),
)

# 11.2


def _margin(of):
    def function(V, eps, to_all):
        rest = eps / V if to_all else eps / (V - 1)
        return of(V, eps, to_all, 1 - (V - 1) * rest, rest)

    return function


def _entropy(V, top, rest):
    return -top * math.log(top) - (V - 1) * rest * math.log(rest)


MARGINS = (
    Mutant(
        "always to the others",
        lambda V, eps, to_all: (math.log((1 - eps) * (V - 1) / eps), _entropy(V, 1 - eps, eps / (V - 1))),
        "This is ln((1 − eps)(V − 1)/eps): right when the other words share eps, not when all V words do.",
        "11.2",
        ("to all", "other sizes"),
    ),
    Mutant(
        "always to all",
        lambda V, eps, to_all: (math.log(1 + (1 - eps) * V / eps), _entropy(V, 1 - eps + eps / V, eps / V)),
        "This is ln(1 + (1 − eps)V/eps): right when all words share eps, not when the target has none of it.",
        "11.2",
        ("to the others", "another share"),
    ),
    Mutant(
        "two words",
        lambda V, eps, to_all: (math.log((1 - eps) / eps), -(1 - eps) * math.log(1 - eps) - eps * math.log(eps)),
        "The margin is taken to all other words together: z_y − z_w is about one word w, which has its part of eps.",
        "11.2",
        ("to all", "to the others", "another share", "other sizes"),
    ),
    Mutant(
        "loss of zero",
        _margin(lambda V, eps, to_all, top, rest: (math.log(top / rest), 0.0)),
        "A smoothed loss never reaches zero: at p = q it is the entropy of q.",
        "11.2",
        ("to all", "to the others", "another share", "other sizes"),
    ),
    Mutant(
        "hard loss at the optimum",
        _margin(lambda V, eps, to_all, top, rest: (math.log(top / rest), -math.log(top))),
        "This is −ln p of the right word alone: the other words are targets too, each with its part of eps.",
        "11.2",
        ("to all", "to the others", "another share", "other sizes"),
    ),
    Mutant(
        "in bits",
        _margin(lambda V, eps, to_all, top, rest: (math.log2(top / rest), _entropy(V, top, rest) / math.log(2))),
        "These are logarithms to base 2: logits and losses are in nats.",
        "11.1",
        ("to all", "to the others", "another share", "other sizes"),
    ),
)

# 11.3


def _run(root=None, weight=None, correct=lambda b1, b2, t: (1 - b1**t, 1 - b2**t), pull="decoupled", order=""):
    """AdamW with one part replaced by a wrong one."""

    def function(theta, gradients, lr, beta1, beta2, eps, decay):
        m = v = np.zeros_like(theta)
        for t, g in enumerate(gradients, start=1):
            if pull == "L2":
                g = g + decay * theta
            m = beta1 * m + (1 - beta1) * g
            v = beta2 * v + (weight(beta1, beta2) if weight else 1 - beta2) * g * g
            c1, c2 = correct(beta1, beta2, t)
            step = lr * m / c1 / (root(v / c2, eps) if root else np.sqrt(v / c2) + eps)
            if pull == "decoupled":
                step = step + lr * decay * theta
            elif pull == "without the rate":
                step = step + decay * theta
            theta = theta - step
            if pull == "after":
                theta = theta - lr * decay * theta
        return (theta, m / c1, v / c2) if order == "hats" else (theta, m, v)

    return function


RUNS = (
    Mutant(
        "eps inside the root",
        _run(root=lambda v, eps: np.sqrt(v + eps)),
        "eps stands inside the root: √(v̂ + eps) acts like 1e-4 outside, and holds small gradients back.",
        "11.4",
        ("small gradients",),
    ),
    Mutant(
        "1 - beta1 in v",
        _run(weight=lambda b1, b2: 1 - b1),
        "v takes in (1 − beta1) g²: each average has its own beta, so it is 1 − beta2.",
        "11.4",
        ("one step", "ten steps", "a hundred steps", "small gradients", "with decay", "gaps"),
    ),
    Mutant(
        "no bias correction",
        _run(correct=lambda b1, b2, t: (1, 1)),
        "m and v are used as they are: both began at zero; divide them by 1 − beta1^t and 1 − beta2^t.",
        "11.4",
        ("ten steps", "a hundred steps", "small gradients", "with decay", "gaps"),
    ),
    Mutant(
        "t one ahead",
        _run(correct=lambda b1, b2, t: (1 - b1 ** (t + 1), 1 - b2 ** (t + 1))),
        "The step is counted one ahead: at the first step t is 1, and the first step has length lr.",
        "11.4",
        ("one step", "ten steps", "a hundred steps", "small gradients", "with decay", "gaps"),
    ),
    Mutant(
        "L2 for decay",
        _run(pull="L2"),
        "decay · theta is added to the gradient: then it is divided by √v̂ as well. AdamW takes it off theta itself.",
        "11.5",
        ("with decay",),
    ),
    Mutant(
        "decay after the step",
        _run(pull="after"),
        "The decay is taken of the parameter that has already moved: it is of theta before the step.",
        "11.5",
        ("with decay",),
    ),
    Mutant(
        "decay without the rate",
        _run(pull="without the rate"),
        "The decay is not multiplied by the learning rate: lr times the whole bracket.",
        "11.5",
        ("with decay",),
    ),
    Mutant(
        "corrected moments kept",
        _run(order="hats"),
        "m and v come back corrected: the state keeps the plain averages, and the hats are made anew at each step.",
        "11.4",
        ("ten steps", "a hundred steps"),
    ),
)

# 11.4


def _nearest(names, late=False):
    """The name whose record comes nearest, by the last row alone if `late`."""

    def function(gradients, thetas, peak, warmup, decay):
        def off(name):
            gap = np.abs(record(name, gradients, thetas[0], peak, warmup, decay) - thetas)
            return gap.max()

        return min(names, key=off)

    return function


def _large_leaf_only(gradients, thetas, peak, warmup, decay):
    def off(name):
        gap = record(name, gradients[:, :1], thetas[0, :1], peak, warmup, decay) - thetas[:, :1]
        return round(float(np.abs(gap).max()), 6)

    return min(NAMES, key=off)


def _swapped(one, other):
    right = _nearest(NAMES)

    def function(*inputs):
        name = right(*inputs)
        return {one: other, other: one}.get(name, name)

    return function


DETECTIVES = (
    Mutant(
        "first leaf only",
        _large_leaf_only,
        "Only the first leaf was looked at: its gradients are large, and eps inside the root leaves no trace there; "
        "it is also the leaf whose calls come first.",
        "11.6",
        ("seven records", "other gradients"),
    ),
    Mutant(
        "always guilty",
        _nearest(NAMES[1:]),
        "A record with nothing wrong is accused: compare with a right AdamW as well.",
        "11.6",
        ("seven records", "other gradients"),
    ),
    Mutant(
        "t and rate exchanged",
        _swapped("t counts leaves", "rate counts leaves"),
        "Two faults are exchanged: a t that counts leaves spoils the bias correction, a schedule that counts them "
        "only shortens the warm-up.",
        "11.7",
        ("seven records", "other gradients"),
    ),
    Mutant(
        "L2 not known",
        _nearest(tuple(name for name in NAMES if name != "L2 for decay")),
        "L2 is taken for something else: with it the decay is divided by √v̂, so the leaf with small gradients is "
        "pulled hard.",
        "11.5",
        ("seven records", "other gradients"),
    ),
    Mutant(
        "moments exchanged",
        _swapped("1 - beta1 in v", "no bias correction"),
        "Two faults are exchanged: with 1 − beta1 in v steps are too short; without correction the first are too long.",
        "11.4",
        ("seven records", "other gradients"),
    ),
)

# 11.5


def _biases(of):
    def function(t, beta1, beta2):
        return of(1 - beta1**t, 1 - beta2**t, t, beta1, beta2)

    return function


BIASES = (
    Mutant(
        "root forgotten",
        _biases(lambda m, v, *_: (m, v, m / v)),
        "The step divides by √v: the factor of v comes in with its root.",
        "11.4",
        ("first step", "ten steps", "a hundred"),
    ),
    Mutant(
        "upside down",
        _biases(lambda m, v, *_: (m, v, math.sqrt(v) / m)),
        "The ratio is upside down: m without correction is too small, and so is √v, which stands below.",
        "11.4",
        ("first step", "ten steps", "a hundred"),
    ),
    Mutant(
        "last term only",
        _biases(lambda m, v, t, b1, b2: (1 - b1, 1 - b2, (1 - b1) / math.sqrt(1 - b2))),
        "This is the first step: after t steps the averages hold t terms, a geometric series.",
        "11.4",
        ("ten steps", "a hundred"),
    ),
    Mutant(
        "what is missing",
        _biases(lambda m, v, *_: (1 - m, 1 - v, m / math.sqrt(v))),
        "These are beta^t, the share that the zeros still have; m_t / g is the rest, 1 − beta1^t.",
        "11.4",
        ("first step", "ten steps", "a hundred"),
    ),
    Mutant(
        "one step late",
        lambda t, b1, b2: (1 - b1 ** (t - 1), 1 - b2 ** (t - 1),
                           (1 - b1 ** (t - 1)) / math.sqrt(1 - b2 ** (t - 1)) if t > 1 else 0.0),
        "The exponent is t − 1: at the first step one gradient is in, so m_1 = (1 − beta1) g.",
        "11.4",
        ("first step", "ten steps", "a hundred"),
    ),
)

# 11.6


def _accumulated(share_of=None, before=None, clip=None, norm_of=None, loss_of=None):
    def function(losses, grads, tokens, limit):
        share = share_of(tokens) if share_of else tokens / tokens.sum()
        g = share @ (before(grads, limit) if before else grads)
        norm = math.sqrt((g * g).sum())
        out = clip(g, limit, norm) if clip else g * min(1.0, limit / norm)
        return loss_of(losses) if loss_of else share @ losses, out, norm_of(out) if norm_of else norm

    return function


def _each_clipped(grads, limit):
    return grads * np.minimum(1, limit / np.sqrt((grads * grads).sum(axis=1, keepdims=True)))


PARTS = (
    Mutant(
        "mean of means",
        _accumulated(share_of=lambda tokens: np.full(len(tokens), 1 / len(tokens))),
        "This is a mean of means: a token in a short micro-batch counts more than one in a long one.",
        "11.8",
        ("unequal parts", "clipped", "many parts"),
    ),
    Mutant(
        "sum",
        _accumulated(share_of=lambda tokens: tokens * 1.0),
        "The gradients are multiplied by their tokens and added, but not divided by all tokens.",
        "11.8",
        ("equal parts", "unequal parts", "clipped", "many parts"),
    ),
    Mutant(
        "only the loss is a mean of means",
        _accumulated(loss_of=lambda losses: losses.mean()),
        "The loss is a mean of means, though the gradient is weighted by tokens: the same shares for both.",
        "11.8",
        ("unequal parts", "clipped", "many parts"),
    ),
    Mutant(
        "each part clipped",
        _accumulated(before=_each_clipped),
        "Each micro-batch is clipped by itself: the limit is for the step, so accumulate first.",
        "11.7",
        ("clipped", "many parts"),
    ),
    Mutant(
        "entry by entry",
        _accumulated(clip=lambda g, limit, norm: np.clip(g, -limit, limit)),
        "The entries are clipped one by one: that turns the gradient; multiply all of it by limit / norm.",
        "11.7",
        ("clipped",),
    ),
    Mutant(
        "always scaled",
        _accumulated(clip=lambda g, limit, norm: g * (limit / norm)),
        "The gradient is scaled to the limit also where it is shorter: clipping only ever shortens.",
        "11.7",
        ("equal parts", "unequal parts"),
    ),
    Mutant(
        "norm after clipping",
        _accumulated(norm_of=lambda g: math.sqrt((g * g).sum())),
        "The norm is that of the clipped gradient, which is never above the limit: one wants to know what came.",
        "11.7",
        ("clipped", "many parts"),
    ),
)

# 11.7


def _cosine(x):
    return (1 + math.cos(math.pi * x)) / 2


def _rate(up=lambda step, warmup: step / warmup, x_of=None, shape=_cosine, use_floor=True, hold=True):
    def function(step, peak, warmup, total, floor):
        if step <= warmup:
            return peak * up(step, warmup)
        x = x_of(step, warmup, total) if x_of else (step - warmup) / (total - warmup)
        x = min(x, 1.0) if hold else x
        low = floor if use_floor else 0.0
        return low + (peak - low) * shape(x)

    return function


RATES = (
    Mutant(
        "counted from zero",
        _rate(up=lambda step, warmup: (step - 1) / warmup, x_of=lambda s, w, T: (s - 1 - w) / (T - w)),
        "The steps are counted from 0: then the first step has rate 0, and the peak comes one step late.",
        "11.7",
        ("first step", "warming up", "the peak", "half way", "at the end", "later on the way"),
    ),
    Mutant(
        "cosine from the start",
        _rate(x_of=lambda step, warmup, total: step / total),
        "The cosine is measured from step 0: it begins at the end of the warm-up, or the rate jumps there.",
        "11.7",
        ("half way", "later on the way"),
    ),
    Mutant(
        "a whole cosine",
        _rate(shape=lambda x: (1 + math.cos(2 * math.pi * x)) / 2),
        "This is a whole period of the cosine: half way down it is at the floor, and at the end at the peak again.",
        "11.7",
        ("half way", "at the end", "after the end", "later on the way"),
    ),
    Mutant(
        "floor forgotten",
        _rate(use_floor=False),
        "The rate goes down to zero: the cosine runs between peak and floor.",
        "11.7",
        ("half way", "at the end", "after the end", "later on the way"),
    ),
    Mutant(
        "goes on after the end",
        _rate(hold=False),
        "After step total the cosine goes on, and the rate rises again: it stays at the floor.",
        "11.7",
        ("after the end",),
    ),
    Mutant(
        "straight line",
        _rate(shape=lambda x: 1 - x),
        "This falls along a straight line: half a cosine is (1 + cos πx) / 2.",
        "11.7",
        ("later on the way",),
    ),
)
