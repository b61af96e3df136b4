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
        "multiplied by zero",
        _loss(),
        "The terms of ignored tokens are multiplied by 0, and 0 times nan or inf is nan: leave these rows out, or put "
        "numbers "
        "into them first.",
        "11.2",
        ("broken rows",),
    ),
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


def _leads(q_of=None, loss_of=None, base=1.0, lead_of=None):
    def function(u, y, eps):
        hot = np.arange(len(u)) == y
        q = q_of(hot, u, eps) if q_of else (1 - eps) * hot + eps * u
        leads = lead_of(q, y) if lead_of else np.log(q[y] / q)
        loss = loss_of(q, y, u) if loss_of else -(q * np.log(q)).sum()
        return leads / base, loss / base

    return function


BOTH = ("leads", "least loss", "many words")

MARGINS = (
    Mutant(
        "same for all",
        _leads(q_of=lambda hot, u, eps: (1 - eps) * hot + eps / len(u)),
        "Every word is given eps/V: here a word gets its share eps u_w, a frequent one more than a rare one.",
        "11.2",
        BOTH,
    ),
    Mutant(
        "right word without its share",
        _leads(q_of=lambda hot, u, eps: np.where(hot, 1 - eps, eps * u)),
        "The right word is given 1 − eps alone: it has its own share eps u_y as well.",
        "11.2",
        BOTH,
    ),
    Mutant(
        "others share all of eps",
        _leads(q_of=lambda hot, u, eps: np.where(hot, 1 - eps, eps * u / (1 - u[hot]))),
        "eps is spread over the other words only: u counts the right word as well, and it keeps its part.",
        "11.2",
        BOTH,
    ),
    Mutant(
        "one lead for all others together",
        _leads(lead_of=lambda q, y: np.full(len(q), np.log(q[y] / (1 - q[y])))),
        "This is the lead over all other words together: each word w has its own q_w, and its own lead.",
        "11.2",
        ("leads", "many words"),
    ),
    Mutant(
        "lead the wrong way",
        _leads(lead_of=lambda q, y: np.log(q / q[y])),
        "This is z_w − z_y: the lead is that of the right word over the others, and positive here.",
        "11.2",
        ("leads", "many words"),
    ),
    Mutant(
        "logarithms of q",
        _leads(lead_of=lambda q, y: np.log(q)),
        "These are the log q_w, one choice of logits: a lead is a difference, log q_y − log q_w.",
        "11.2",
        ("leads", "many words"),
    ),
    Mutant(
        "loss of zero",
        _leads(loss_of=lambda q, y, u: 0.0),
        "A smoothed loss never reaches zero: at p = q it is the entropy of q.",
        "11.2",
        ("least loss", "many words"),
    ),
    Mutant(
        "hard loss at the optimum",
        _leads(loss_of=lambda q, y, u: -np.log(q[y])),
        "This is −ln p of the right word alone: the other words are targets too, each with its part of eps.",
        "11.2",
        ("least loss", "many words"),
    ),
    Mutant(
        "entropy of the frequencies",
        _leads(loss_of=lambda q, y, u: -(u * np.log(u)).sum()),
        "This is the entropy of u: what remains is the entropy of the targets q.",
        "11.2",
        ("least loss", "many words"),
    ),
    Mutant(
        "in bits",
        _leads(base=math.log(2)),
        "These are logarithms to base 2: logits and losses are in nats.",
        "11.1",
        BOTH,
    ),
    Mutant(
        "lead over itself",
        lambda u, y, eps: (np.log((1 - eps + eps * u[y]) / (eps * u)), _leads()(u, y, eps)[1]),
        "Below the fraction stands eps u_w for every w, the right word too: q_y is in both places there, and its lead"
        " over itself is 0.",
        "11.2",
        ("leads", "many words"),
    ),
    Mutant(
        "smoothed part by the plain mean",
        _leads(loss_of=lambda q, y, u: -(1 - q[y]) * np.log(q).mean() - q[y] * np.log(q[y])),
        "The other words are taken to be alike in the loss: each −ln q_w counts with its own q_w.",
        "11.2",
        ("least loss", "many words"),
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
        "m alone corrected",
        _run(correct=lambda b1, b2, t: (1 - b1**t, 1)),
        "v is used as it is: it began at zero as well as m, so divide it by 1 − beta2^t.",
        "11.4",
        ("ten steps", "a hundred steps", "with decay"),
    ),
    Mutant(
        "v alone corrected",
        _run(correct=lambda b1, b2, t: (1, 1 - b2**t)),
        "m is used as it is: it began at zero as well as v, so divide it by 1 − beta1^t.",
        "11.4",
        ("ten steps", "a hundred steps", "with decay"),
    ),
    Mutant(
        "no decay",
        _run(pull="none"),
        "The decay is left out: lr · decay · theta is taken off theta as well.",
        "11.5",
        ("with decay",),
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


TIMES = ("first step", "ten steps", "a hundred")

BIASES = (
    Mutant(
        "root forgotten",
        _biases(lambda m, v, *_: (m / v, 1 / v, m)),
        "The step divides by √v: the factor of v comes in with its root.",
        "11.4",
        TIMES,
    ),
    Mutant(
        "upside down",
        _biases(lambda m, v, *_: (math.sqrt(v) / m, math.sqrt(v), 1 / m)),
        "The ratio is upside down: m without correction is too small, and so is √v, which stands below.",
        "11.4",
        TIMES,
    ),
    Mutant(
        "last two exchanged",
        _biases(lambda m, v, *_: (m / math.sqrt(v), m, 1 / math.sqrt(v))),
        "The last two are exchanged: without the correction of v alone the step is too long, without that of m too "
        "short.",
        "11.4",
        TIMES,
    ),
    Mutant(
        "a small v makes a short step",
        _biases(lambda m, v, *_: (m * math.sqrt(v), math.sqrt(v), m)),
        "A v that is too small is taken to shorten the step: v stands below, so it lengthens it.",
        "11.4",
        TIMES,
    ),
    Mutant(
        "last term only",
        _biases(lambda m, v, t, b1, b2: ((1 - b1) / math.sqrt(1 - b2), 1 / math.sqrt(1 - b2), 1 - b1)),
        "This is the first step: after t steps the averages hold t terms, a geometric series.",
        "11.4",
        ("ten steps", "a hundred"),
    ),
    Mutant(
        "what is missing",
        _biases(lambda m, v, *_: ((1 - m) / math.sqrt(1 - v), 1 / math.sqrt(1 - v), 1 - m)),
        "beta^t is the share that the zeros still have; m_t / g is the rest, 1 − beta1^t.",
        "11.4",
        TIMES,
    ),
    Mutant(
        "beta times t",
        _biases(lambda m, v, t, b1, b2: (t * (1 - b1) / math.sqrt(t * (1 - b2)), 1 / math.sqrt(t * (1 - b2)),
                                         t * (1 - b1))),
        "The average is taken to grow by 1 − beta at every step: what is in it fades too, so it is 1 − beta^t.",
        "11.4",
        ("ten steps", "a hundred"),
    ),
    Mutant(
        "one step ahead",
        lambda t, b1, b2: ((1 - b1 ** (t + 1)) / math.sqrt(1 - b2 ** (t + 1)), 1 / math.sqrt(1 - b2 ** (t + 1)),
                           1 - b1 ** (t + 1)),
        "The exponent is t + 1: at the first step one gradient is in, so m_1 = (1 − beta1) g.",
        "11.4",
        TIMES,
    ),
    Mutant(
        "one step late",
        lambda t, b1, b2: ((1 - b1 ** (t - 1)) / math.sqrt(max(1 - b2 ** (t - 1), 1e-3)),
                           1 / math.sqrt(max(1 - b2 ** (t - 1), 1e-3)), 1 - b1 ** (t - 1)),
        "The exponent is t − 1: at the first step one gradient is in, so m_1 = (1 − beta1) g.",
        "11.4",
        ("ten steps", "a hundred"),
    ),
    Mutant(
        "betas exchanged",
        lambda t, b1, b2: ((1 - b2**t) / math.sqrt(1 - b1**t), 1 / math.sqrt(1 - b1**t), 1 - b2**t),
        "The two betas are exchanged: m goes with beta1, v with beta2.",
        "11.4",
        TIMES,
    ),
    Mutant(
        "m squared as well",
        _biases(lambda m, v, *_: (m * m / v, 1 / v, m)),
        "The ratio of the two is squared: a step has m itself, and the root of v.",
        "11.4",
        TIMES,
    ),
)

# 11.6


def _merged(perplexity, bits=None):
    def function(P, n, c):
        whole = perplexity(P, n, c)
        right = (np.log(P) @ n) / c.sum() / math.log(2)
        return whole, bits(whole, P, n, c) if bits else right

    return function


def _perplexity(P, n, c):
    return math.exp((np.log(P) @ n) / n.sum())


MERGERS = (
    Mutant(
        "mean of perplexities",
        _merged(lambda P, n, c: P.mean(), lambda L, P, n, c: math.log2(L) * n.sum() / c.sum()),
        "This is the plain mean of the perplexities: losses add up, token by token, and perplexities do not.",
        "11.1",
        ("perplexity", "bits a character", "three batches"),
    ),
    Mutant(
        "weighted mean of perplexities",
        _merged(lambda P, n, c: (P @ n) / n.sum(), lambda L, P, n, c: math.log2(L) * n.sum() / c.sum()),
        "The perplexities are averaged, weighted by tokens: take the mean of their logarithms, the losses.",
        "11.1",
        ("perplexity", "bits a character", "three batches"),
    ),
    Mutant(
        "mean of means",
        _merged(lambda P, n, c: math.exp(np.log(P).mean()), lambda L, P, n, c: math.log2(L) * n.sum() / c.sum()),
        "The losses are averaged batch by batch: a batch counts with its tokens.",
        "11.8",
        ("perplexity", "bits a character", "three batches"),
    ),
    Mutant(
        "weighted by characters",
        _merged(lambda P, n, c: math.exp((np.log(P) @ c) / c.sum())),
        "The losses are weighted by characters: a loss is a mean over tokens, so a batch counts with its tokens.",
        "11.1",
        ("perplexity", "three batches"),
    ),
    Mutant(
        "bits a token",
        _merged(_perplexity, lambda L, P, n, c: math.log2(L)),
        "These are bits a token: a character has fewer, by tokens over characters.",
        "11.1",
        ("bits a character", "three batches"),
    ),
    Mutant(
        "characters over tokens",
        _merged(_perplexity, lambda L, P, n, c: math.log2(L) * c.sum() / n.sum()),
        "The quotient is upside down: the bits of all tokens are spread over all characters, which are more.",
        "11.1",
        ("bits a character", "three batches"),
    ),
    Mutant(
        "nats a character",
        _merged(_perplexity, lambda L, P, n, c: math.log(L) * n.sum() / c.sum()),
        "These are nats a character: divide by ln 2.",
        "11.1",
        ("bits a character", "three batches"),
    ),
    Mutant(
        "mean of the lengths of words",
        _merged(_perplexity, lambda L, P, n, c: math.log2(L) / (c / n).mean()),
        "The characters a token are averaged batch by batch: all characters over all tokens is what counts.",
        "11.1",
        ("bits a character", "three batches"),
    ),
    Mutant(
        "harmonic mean",
        _merged(lambda P, n, c: n.sum() / (n / P).sum()),
        "The inverses of the perplexities are averaged: that is the mean probability of a word; a loss is the mean of"
        " logarithms.",
        "11.1",
        ("perplexity", "three batches"),
    ),
    Mutant(
        "product",
        _merged(lambda P, n, c: np.prod(P)),
        "The perplexities are multiplied: a perplexity is per token, so take the mean of the logarithms over all "
        "tokens.",
        "11.1",
        ("perplexity", "three batches"),
    ),
    Mutant(
        "bits batch by batch",
        _merged(_perplexity, lambda L, P, n, c: (np.log2(P) * n / c).mean()),
        "The bits a character are averaged batch by batch: all bits over all characters is what counts.",
        "11.1",
        ("bits a character", "three batches"),
    ),
)

# 11.7


def _trapezoid(start_of=None, up=lambda t, w: t / w, down=lambda t, s, T: (T - t) / (T - s)):
    def function(step, peak, warmup, total, distance):
        start = 2 * distance / peak - total + warmup
        if start_of:
            start = start_of(peak, warmup, total, distance)
        if step <= warmup:
            return peak * up(step, warmup)
        return peak if step <= start else peak * down(step, start, total)

    return function


RATES = (
    Mutant(
        "lines counted whole",
        _trapezoid(lambda peak, w, T, D: D / peak),
        "The line down begins at distance / peak, as if every step before it had the peak and none after it anything: "
        "the two "
        "lines have half of the peak on average.",
        "11.7",
        ("going down", "the sum"),
    ),
    Mutant(
        "counted from zero",
        _trapezoid(up=lambda t, w: (t - 1) / w),
        "The warm-up is counted from 0: the first step has the rate peak / warmup, and step warmup the peak.",
        "11.7",
        ("warming up", "the sum"),
    ),
    Mutant(
        "warm-up counted whole",
        _trapezoid(lambda peak, w, T, D: 2 * (D / peak) - T),
        "The warm-up is counted as if it had the peak all along: on average its steps have half of it.",
        "11.7",
        ("on the plateau", "going down", "the sum"),
    ),
    Mutant(
        "warm-up not counted",
        _trapezoid(lambda peak, w, T, D: 2 * (D / peak) - T + 2 * w),
        "The way of the warm-up is not in the sum: its rates count as well.",
        "11.7",
        ("going down", "the sum"),
    ),
    Mutant(
        "way down not counted",
        _trapezoid(lambda peak, w, T, D: D / peak + w / 2),
        "The sum ends where the line down begins: the rates on the way down count as well, half of the peak on "
        "average.",
        "11.7",
        ("going down", "the sum"),
    ),
    Mutant(
        "way down counted whole",
        _trapezoid(lambda peak, w, T, D: T - D / peak),
        "The sum is made of peak alone: both slopes have half of it on average.",
        "11.7",
        ("on the plateau", "going down", "the sum"),
    ),
    Mutant(
        "half a cosine",
        _trapezoid(down=lambda t, s, T: (1 + math.cos(math.pi * (t - s) / (T - s))) / 2),
        "The way down is half a cosine: it should be a straight line.",
        "11.7",
        ("going down",),
    ),
    Mutant(
        "line from the warm-up",
        _trapezoid(lambda peak, w, T, D: w),
        "The line down begins right after the warm-up: it begins where the sum comes out, and the peak is kept until "
        "then.",
        "11.7",
        ("on the plateau", "going down", "the sum"),
    ),
    Mutant(
        "zero one step late",
        _trapezoid(down=lambda t, s, T: (T + 1 - t) / (T + 1 - s)),
        "The line reaches 0 one step after the last: at step total the rate is 0.",
        "11.7",
        ("going down", "the last", "the sum"),
    ),
    Mutant(
        "begins one step late",
        _trapezoid(lambda peak, w, T, D: 2 * (D / peak) - T + w + 1),
        "The line down begins one step late: the two corners cancel, and s = 2 distance / peak − total + warmup.",
        "11.7",
        ("going down", "the sum"),
    ),
    Mutant(
        "begins one step early",
        _trapezoid(lambda peak, w, T, D: 2 * (D / peak) - T + w - 1),
        "The line down begins one step early: the two corners cancel, and s = 2 distance / peak − total + warmup.",
        "11.7",
        ("going down", "the sum"),
    ),
    Mutant(
        "slope of the whole way",
        lambda step, peak, w, T, D: _trapezoid()(step, peak, w, T, D) if step <= max(w, 2 * D / peak - T + w)
        else peak * (1 - (step - (2 * D / peak - T + w)) / (T - w)),
        "The way down is divided by total − warmup: it begins at s, so it has total − s steps.",
        "11.7",
        ("going down", "the last", "the sum"),
    ),
    Mutant(
        "a jump at the end of the plateau",
        lambda step, peak, w, T, D: _trapezoid()(step, peak, w, T, D) if step <= max(w, 2 * D / peak - T + w)
        else peak * (1 - (step - w) / (T - w)),
        "Where the plateau ends, the rate jumps: the line down is measured from the end of the warm-up and should be "
        "from s.",
        "11.7",
        ("going down", "the sum"),
    ),
)

# 11.8


def _first(of):
    return lambda V, d, sigma, most: of(V, d, sigma, most, sigma * math.sqrt(d))


STARTS = (
    Mutant(
        "width forgotten",
        _first(lambda V, d, sigma, most, s: (sigma, math.log(V) + sigma**2 / 2, math.sqrt(2 * most))),
        "A logit is taken to have the deviation of one entry: it is a sum over the d features of the token.",
        "11.1",
        ("deviation", "loss", "largest sigma", "another width"),
    ),
    Mutant(
        "variance for deviation",
        _first(lambda V, d, sigma, most, s: (s * s, math.log(V) + s**2 / 2, math.sqrt(2 * most / d))),
        "This is the variance of a logit, d σ²: the deviation is its root.",
        "11.1",
        ("deviation", "another width"),
    ),
    Mutant(
        "d for its root",
        _first(lambda V, d, sigma, most, s: (d * sigma, math.log(V) + (d * sigma) ** 2 / 2,
                                             math.sqrt(2 * most) / d)),
        "The deviations are added: it is the variances of the d terms that add up, so the deviation grows with √d.",
        "11.1",
        ("deviation", "loss", "largest sigma", "another width"),
    ),
    Mutant(
        "always ln V",
        _first(lambda V, d, sigma, most, s: (s, math.log(V), math.sqrt(2 * most / d))),
        "ln V is the loss of logits that are all alike: logits that scatter are wrong with confidence, and that costs.",
        "11.1",
        ("loss", "another width"),
    ),
    Mutant(
        "half forgotten",
        _first(lambda V, d, sigma, most, s: (s, math.log(V) + s**2, math.sqrt(most / d))),
        "The excess is half of the variance: the mean of exp z, for a normal z of variance s², is exp(s²/2).",
        "11.1",
        ("loss", "largest sigma", "another width"),
    ),
    Mutant(
        "deviation in the exponent",
        _first(lambda V, d, sigma, most, s: (s, math.log(V) + s / 2, 2 * most / math.sqrt(d))),
        "The excess is half of the variance, not of the deviation.",
        "11.1",
        ("loss", "largest sigma", "another width"),
    ),
    Mutant(
        "sign of the excess",
        _first(lambda V, d, sigma, most, s: (s, math.log(V) - s**2 / 2, math.sqrt(2 * most / d))),
        "Logits that scatter without knowing anything raise the loss: log Σ exp z is above ln V + mean of z.",
        "11.1",
        ("loss", "another width"),
    ),
    Mutant(
        "in bits",
        _first(lambda V, d, sigma, most, s: (s, (math.log(V) + s**2 / 2) / math.log(2), math.sqrt(2 * most / d))),
        "The loss is in bits: the natural logarithm is meant.",
        "11.1",
        ("loss", "another width"),
    ),
    Mutant(
        "one word fewer",
        _first(lambda V, d, sigma, most, s: (s, math.log(V - 1) + s**2 / 2, math.sqrt(2 * most / d))),
        "The sum is taken over V − 1 words: the right one is in it as well.",
        "11.1",
        ("loss", "another width"),
    ),
    Mutant(
        "width forgotten at the end",
        _first(lambda V, d, sigma, most, s: (s, math.log(V) + s**2 / 2, math.sqrt(2 * most))),
        "This is the largest deviation of a logit: sigma is that of an entry, smaller by √d.",
        "11.1",
        ("largest sigma", "another width"),
    ),
    Mutant(
        "root forgotten",
        _first(lambda V, d, sigma, most, s: (s, math.log(V) + s**2 / 2, 2 * most / d)),
        "This is the largest sigma², from d sigma²/2 = most: the root is missing.",
        "11.1",
        ("largest sigma", "another width"),
    ),
)

# 11.9


def _step(share_of=None, clip="global", decayed="W", rate=True, pull="before", after=False, norm_of="both",
          mean=True, penalty=False):
    def function(W, b, X, y, lr, limit, decay):
        counted = y >= 0
        Z = X @ W + b
        P = np.exp(Z - Z.max(axis=1, keepdims=True))
        P = P / P.sum(axis=1, keepdims=True)
        share = share_of(counted) if share_of else counted / counted.sum()
        hot = np.eye(len(b))[y]
        loss = -(share * np.log((P * hot).sum(axis=1))).sum()
        G = share[:, None] * (P - hot)
        dW, db = X.T @ G, G.sum(axis=0)
        if pull == "in the gradient":
            dW = dW + decay * W
        if not mean:
            dW, db = dW * counted.sum(), db * counted.sum()
        norm = math.sqrt((dW**2).sum() + (db**2).sum())
        norm = {"both": norm, "W": math.sqrt((dW**2).sum()), "square": norm**2}[norm_of]
        before, loss = norm, loss + penalty * decay / 2 * (W * W).sum()
        if clip == "global":
            dW, db = (g * min(1.0, limit / norm) for g in (dW, db))
        elif clip == "each":
            dW, db = (g * min(1.0, limit / math.sqrt((g * g).sum())) for g in (dW, db))
        elif clip == "entries":
            dW, db = np.clip(dW, -limit, limit), np.clip(db, -limit, limit)
        elif clip == "always":
            dW, db = dW * limit / norm, db * limit / norm
        if after:
            before = math.sqrt((dW**2).sum() + (db**2).sum())
        weight = lr if rate else 1.0
        if pull in ("clipped", "after"):
            moved = W - lr * dW
            pulled = decay * (moved if pull == "after" else W * min(1.0, limit / norm))
            return moved - lr * pulled, b - lr * db, loss, before
        new_W = W - lr * dW - (0 if pull == "in the gradient" else weight * decay * W)
        return new_W, b - lr * db - (weight * decay * b if decayed == "both" else 0), loss, before

    return function


EVERY = ("padding", "clipped", "no padding")

STEPS = (
    Mutant(
        "padding in the mean",
        _step(share_of=lambda counted: counted / len(counted)),
        "The mean is over all places, padding too: divide by the number of those that count.",
        "11.2",
        ("padding", "clipped"),
    ),
    Mutant(
        "padding is a word",
        _step(share_of=lambda counted: np.full(len(counted), 1 / len(counted))),
        "Padded places have a loss: −1 as an index means the last word, and nobody complains.",
        "11.2",
        ("padding", "clipped"),
    ),
    Mutant(
        "bias decays",
        _step(decayed="both"),
        "The bias decays as well: only the matrix does, a bias should not be drawn to zero.",
        "11.5",
        EVERY,
    ),
    Mutant(
        "not clipped",
        _step(clip="no"),
        "The gradient is not clipped, or only after the step was taken.",
        "11.7",
        ("clipped",),
    ),
    Mutant(
        "each array clipped",
        _step(clip="each"),
        "W and b are clipped each by itself: one norm over both, one factor, or the direction turns.",
        "11.7",
        ("clipped",),
    ),
    Mutant(
        "entries clipped",
        _step(clip="entries"),
        "The entries are clipped one by one: one norm over both arrays, one factor.",
        "11.7",
        ("clipped",),
    ),
    Mutant(
        "always scaled",
        _step(clip="always"),
        "A gradient that is short is made longer: clipping only ever shortens.",
        "11.7",
        ("padding", "no padding"),
    ),
    Mutant(
        "decay in the gradient",
        _step(pull="in the gradient"),
        "The decay is added to the gradient before clipping: it then takes part in the norm. It stands beside the "
        "clipped gradient.",
        "11.5",
        EVERY,
    ),
    Mutant(
        "decay without the rate",
        _step(rate=False),
        "The decay is not multiplied by the learning rate.",
        "11.5",
        EVERY,
    ),
    Mutant(
        "norm after clipping",
        _step(after=True),
        "The norm is that of the clipped gradient, which is never above the limit: one wants to know what came.",
        "11.7",
        ("clipped",),
    ),
    Mutant(
        "all faults at once",
        _step(share_of=lambda counted: counted / len(counted), decayed="both", clip="no", norm_of="W"),
        "This is the step with its faults: look at the mean, the norm, who decays, and when it is clipped.",
        "11.8",
        EVERY,
    ),
    Mutant(
        "norm of W alone",
        _step(norm_of="W"),
        "The norm is that of dW alone: db belongs to the same gradient, so one norm over both.",
        "11.7",
        EVERY,
    ),
    Mutant(
        "norm squared",
        _step(norm_of="square"),
        "The root is missing: this is the square of the norm.",
        "11.7",
        EVERY,
    ),
    Mutant(
        "decay after the step",
        _step(pull="after"),
        "The decay is taken of the W that has already moved: it is of W before the step.",
        "11.5",
        EVERY,
    ),
    Mutant(
        "decay clipped",
        _step(pull="clipped"),
        "The decay is shortened with the gradient: clipping is for the gradient, the decay stands beside it.",
        "11.5",
        ("clipped",),
    ),
    Mutant(
        "penalty in the loss",
        _step(penalty=True),
        "The loss has the penalty λ|W|²/2 in it: decay is no part of the loss, and the loss is plain cross-entropy.",
        "11.5",
        EVERY,
    ),
    Mutant(
        "gradient of a sum",
        _step(mean=False),
        "The gradient is that of the sum over tokens: the loss is their mean, so divide by how many count.",
        "11.2",
        EVERY,
    ),
)

# 11.10


def _gradients(*numbers):
    return lambda limit: np.array(numbers) * limit


TURNS = (
    Mutant(
        "two parts",
        _gradients(10.0, -2.0),
        "Two parts do not do it: clipped they give 0 at worst, or still the right direction.",
        "11.8",
        ("large limit", "small limit"),
    ),
    Mutant(
        "four parts",
        _gradients(10.0, -2.0, -2.0, -2.0),
        "That is a right example, but three parts are enough.",
        "11.8",
        ("large limit", "small limit"),
    ),
    Mutant(
        "nothing is clipped",
        _gradients(0.9, -0.4, -0.3),
        "No part is longer than the limit: nothing is clipped, and the two steps are the same.",
        "11.8",
        ("large limit", "small limit"),
    ),
    Mutant(
        "same side",
        _gradients(10.0, 2.0, 2.0),
        "All parts agree about the direction: clipped or not, their mean has it too.",
        "11.8",
        ("large limit", "small limit"),
    ),
    Mutant(
        "not long enough",
        _gradients(3.0, -2.0, -2.0),
        "The two small parts win without clipping as well: the large one must outweigh them together.",
        "11.8",
        ("large limit", "small limit"),
    ),
    Mutant(
        "limit ignored",
        lambda limit: np.array([3.0, -1.0, -1.0]),
        "These are three fixed numbers: under another limit other parts are clipped.",
        "11.8",
        ("large limit",),
    ),
)

# 11.11


def _accumulated(weight="tokens", clear=True, loss_of="weighted", reduction="mean", skip=True, places=False,
                 each=False):
    def accumulate(model, batches):
        import torch

        if clear:
            model.zero_grad()
        counts = [float(len(y)) if places else float((y != -1).sum()) for _, y in batches]
        total, out = sum(counts), 0.0
        for (X, y), n in zip(batches, counts, strict=True):
            if skip and not (y != -1).any():
                continue
            if each:
                model.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(X), y, ignore_index=-1, reduction=reduction)
            if reduction == "sum":
                share = 1 / total if weight == "tokens" else 1.0
            else:
                share = {"tokens": n / total, "parts": 1 / len(batches), "none": 1.0}[weight]
            (share * loss).backward()
            loss = loss.detach() * (1 / len(batches) if loss_of == "mean" else share)
            out = loss if loss_of == "last" else out + loss
        return out

    return accumulate


PARTS = (
    Mutant(
        "mean of means",
        _accumulated(weight="parts"),
        "Each part counts the same: a token in a short part then counts more than one in a long part. Weigh each mean "
        "by its tokens.",
        "11.8",
        ("unequal parts", "a part of padding", "one part of two"),
    ),
    Mutant(
        "sum of means",
        _accumulated(weight="none"),
        "The means of the parts are added up: each is to be multiplied by its share of all tokens.",
        "11.8",
        ("equal parts", "unequal parts", "a part of padding", "one part of two"),
    ),
    Mutant(
        "sum",
        _accumulated(weight="none", reduction="sum"),
        "The losses of all tokens are added, but not divided by the number of all tokens.",
        "11.8",
        ("equal parts", "unequal parts", "a part of padding", "one part of two"),
    ),
    Mutant(
        "old gradients",
        _accumulated(clear=False),
        "The gradients of the step before are still in it: backward adds to what it finds, so clear them first.",
        "11.11",
        ("equal parts", "unequal parts", "a part of padding", "one part of two"),
    ),
    Mutant(
        "padding counted",
        _accumulated(places=True),
        "The parts are weighed by their places, padding too: a part counts with its tokens, where y is not −1.",
        "11.8",
        ("unequal parts", "a part of padding", "one part of two"),
    ),
    Mutant(
        "only the loss is a mean of means",
        _accumulated(loss_of="mean"),
        "The gradient is weighed by tokens, and the loss is a plain mean of the parts: the same shares for both.",
        "11.8",
        ("unequal parts", "a part of padding", "one part of two"),
    ),
    Mutant(
        "a part of padding is nan",
        _accumulated(skip=False),
        "A part without a single token has the mean 0/0: it gives nan, which 0 does not undo. Use the sum, or leave "
        "the part out.",
        "11.2",
        ("a part of padding",),
    ),
    Mutant(
        "cleared at every part",
        _accumulated(each=True),
        "Only the last part is left: the gradients are cleared once, before the first part, and then they add up.",
        "11.11",
        ("equal parts", "unequal parts", "a part of padding", "one part of two"),
    ),
    Mutant(
        "loss of the last part",
        _accumulated(loss_of="last"),
        "The loss is that of the last part: the parts' shares add up, as the gradients do.",
        "11.8",
        ("equal parts", "unequal parts", "a part of padding", "one part of two"),
    ),
    Mutant(
        "divided by all places",
        _accumulated(reduction="sum", places=True),
        "The sum is divided by all places, padding too: divide by the tokens that count.",
        "11.2",
        ("equal parts", "unequal parts", "a part of padding", "one part of two"),
    ),
)

# 11.12


def _z(slope=lambda lse, c: 2 * c * lse, value=lambda lse, c: c * lse**2, way="p", mean=True, signed=1, naive=False,
       once=False, never=False):
    def function(logits, targets, c):
        T = len(logits)
        top = 0.0 if naive else logits.max(axis=1, keepdims=True)
        lse = top + np.log(np.exp(logits - top).sum(axis=1, keepdims=True))
        if once:
            lse = lse - top
        P = np.exp(logits - (lse + top if once else lse))
        hot = np.eye(logits.shape[1])[targets]
        lead = (lse + top if once and not never else lse)[:, 0]
        L = (lead - (logits * hot).sum(axis=1) + value(lse[:, 0], c)).sum() / T
        pull = {"p": P, "q": P - hot, "one": np.ones_like(P), "none": 0 * P}[way]
        return L, (P - hot + slope(lse, c) * pull) / (T if mean else 1)

    return function


ZS = (
    Mutant(
        "second term without a gradient",
        _z(way="none"),
        "dlogits is P − Q over T: the second term depends on the logits as well.",
        "11.1",
        ("gradient", "large logits", "other sizes"),
    ),
    Mutant(
        "two forgotten",
        _z(slope=lambda lse, c: c * lse),
        "The derivative of a square has a 2: 2 c ln Σ exp z times what is inside.",
        "11.1",
        ("gradient", "large logits", "other sizes"),
    ),
    Mutant(
        "square kept",
        _z(slope=lambda lse, c: c * lse**2),
        "The square is multiplied by p as it stands: its derivative is 2 ln Σ exp z, times p.",
        "11.1",
        ("gradient", "large logits", "other sizes"),
    ),
    Mutant(
        "inner derivative forgotten",
        _z(way="one"),
        "The chain rule ends too early: the derivative of ln Σ exp z by z_v is p_v, not 1.",
        "11.1",
        ("gradient", "large logits", "other sizes"),
    ),
    Mutant(
        "target subtracted twice",
        _z(way="q"),
        "The second term knows nothing of the target: its gradient goes along p, not along p − q.",
        "11.1",
        ("gradient", "large logits", "other sizes"),
    ),
    Mutant(
        "not squared",
        _z(value=lambda lse, c: c * lse, slope=lambda lse, c: c),
        "ln Σ exp z stands without its square: then a very negative one would be rewarded.",
        "11.1",
        ("loss", "gradient", "large logits", "other sizes"),
    ),
    Mutant(
        "gradient of a sum",
        _z(mean=False),
        "The loss is a mean over the tokens, and this is the gradient of their sum.",
        "11.1",
        ("gradient", "large logits", "other sizes"),
    ),
    Mutant(
        "overflow",
        _z(naive=True),
        "exp overflows: take the largest logit out, and add it again behind the logarithm.",
        "11.1",
        ("large logits",),
    ),
    Mutant(
        "maximum not added again",
        _z(once=True),
        "ln Σ exp z is taken of logits less their maximum: in P − Q that cancels, in the square it does not; add it "
        "again.",
        "11.1",
        ("loss", "gradient", "large logits", "other sizes"),
    ),
    Mutant(
        "maximum lost in the loss as well",
        _z(once=True, never=True),
        "log Σ exp z is taken of logits less their maximum, and z_y is not: add the maximum again.",
        "11.1",
        ("loss", "gradient", "large logits", "other sizes"),
    ),
    Mutant(
        "square and two",
        _z(slope=lambda lse, c: 2 * c * lse**2),
        "The derivative of a square lowers its power: 2 c ln Σ exp z, without the square.",
        "11.1",
        ("gradient", "large logits", "other sizes"),
    ),
    Mutant(
        "second term subtracted",
        _z(value=lambda lse, c: -c * lse**2, slope=lambda lse, c: -2 * c * lse),
        "The second term is subtracted: it would push logits away from 0; it is a price, so it is added.",
        "11.1",
        ("loss", "gradient", "large logits", "other sizes"),
    ),
)

# 11.13

SEEN = []  # the list that grows


def _update(clip="global", decayed="matrices", ask="no", pull="beside", norm_as="whole", rate=True):
    def whole_update(params, gradients, lr, limit, decay):
        import torch

        squares = torch.stack([(g * g).sum() for g in gradients])
        norm = {"whole": squares.sum().sqrt(), "square": squares.sum(), "sum": squares.sqrt().sum(),
                "largest": squares.sqrt().max()}[norm_as]
        if ask == "list":
            if not torch.compiler.is_compiling():
                SEEN.clear()
            SEEN.append(norm)
        if ask == "loop":
            norm = sum((g * g).sum().item() for g in gradients) ** 0.5
        before, step = norm, lr.item() if ask == "rate" else lr
        falls = [decay * p if p.ndim > 1 or decayed == "all" else torch.zeros_like(p) for p in params]
        if decayed == "vectors":
            falls = [decay * p if p.ndim == 1 else torch.zeros_like(p) for p in params]
        if pull == "in the gradient":
            gradients = [g + fall for g, fall in zip(gradients, falls, strict=True)]
            before = norm = torch.stack([(g * g).sum() for g in gradients]).sum().sqrt()
        if ask == "if":
            if norm > limit:
                gradients = [g * (limit / norm) for g in gradients]
        elif clip == "each":
            gradients = [g * torch.clamp(limit / square.sqrt(), max=1.0)
                         for g, square in zip(gradients, squares, strict=True)]
        elif clip == "entries":
            gradients = [torch.clamp(g, -limit, limit) for g in gradients]
        elif clip != "no":
            factor = {
                "global": lambda: min(1.0, limit / max(norm, 1e-300)) if ask == "loop" else
                torch.clamp(limit / norm, max=1.0),
                "always": lambda: limit / norm,
                "a millionth": lambda: torch.clamp(limit / (norm + 1e-6), max=1.0),
                "direction": lambda: torch.clamp(norm, max=limit) / norm,
            }[clip]()
            gradients = [g * factor for g in gradients]
            if norm_as == "whole" and pull == "after":
                before = norm * factor
        if pull == "in the gradient":
            return [p - step * g for p, g in zip(params, gradients, strict=True)], before
        weight = step if rate else 1.0
        return [p - step * g - weight * fall for p, g, fall in zip(params, gradients, falls, strict=True)], before

    whole_update.compiles_whole = ask == "no"  # known, and the check need not find it out
    return whole_update


RUN = ("clipped", "not clipped", "vectors first")
CUT = ("clipped", "vectors first")

GRAPHS = (
    Mutant(
        "a branch on the norm",
        _update(ask="if"),
        "Python asks for a number, as an `if` on the norm does or math.sqrt of it, and a stand-in has none. The "
        "smaller of 1 and limit over norm is an operation like any other, and needs no branch.",
        "11.11",
        ("one graph",),
    ),
    Mutant(
        "the norm as a number",
        _update(ask="loop"),
        "The norm is taken out of its tensor as a Python number: what is computed from it waits for the device, or "
        "cannot be written down at all. Leave it a tensor.",
        "11.11",
        ("one graph",),
    ),
    Mutant(
        "the rate as a number",
        _update(ask="rate"),
        "The graph is whole, and it waits once a call: a tensor, the rate or the norm, is turned into a number. A "
        "tensor that holds one number can be multiplied, and returned, as it is.",
        "11.11",
        ("one graph",),
    ),
    Mutant(
        "a list that grows",
        _update(ask="list"),
        "Every call has made a graph of its own: something outside, such as a list that grows, was different each "
        "time. Return the norm, and let the caller keep it.",
        "11.11",
        ("one graph",),
    ),
    Mutant(
        "all decay",
        _update(decayed="all"),
        "The vectors decay as well: biases and gains are not drawn to zero, matrices alone are.",
        "11.5",
        RUN,
    ),
    Mutant(
        "vectors decay",
        _update(decayed="vectors"),
        "The vectors decay and the matrices do not: it is the other way round.",
        "11.5",
        RUN,
    ),
    Mutant(
        "not clipped",
        _update(clip="no"),
        "The gradient is not clipped: its norm can be longer than the limit when the step is taken.",
        "11.7",
        CUT,
    ),
    Mutant(
        "each clipped by itself",
        _update(clip="each"),
        "Each array is clipped by a norm of its own: one norm over all of them and one factor, or the direction turns.",
        "11.7",
        CUT,
    ),
    Mutant(
        "entries clipped",
        _update(clip="entries"),
        "The entries are clipped one by one: one norm over all of the gradient, and one factor for all entries.",
        "11.7",
        CUT,
    ),
    Mutant(
        "always as long as the limit",
        _update(clip="always"),
        "Every gradient is brought to the length of the limit, a short one made longer: clipping only ever shortens.",
        "11.7",
        ("not clipped", "no gradient"),
    ),
    Mutant(
        "a millionth added",
        _update(clip="a millionth"),
        "Something small is added to the norm before the division, as torch's clip_grad_norm_ does: the clipped "
        "gradient is then a little too short. A norm of 0 does no harm here: the smaller of 1 and infinity is 1.",
        "11.7",
        CUT,
    ),
    Mutant(
        "nothing over nothing",
        _update(clip="direction"),
        "The clipped norm is divided by the norm, and that is 0/0 where every gradient is 0. The smaller of 1 and "
        "limit over norm is 1 there.",
        "11.7",
        ("no gradient",),
    ),
    Mutant(
        "decay in the gradient",
        _update(pull="in the gradient"),
        "The decay is added to the gradient before it is measured and clipped: it stands beside the clipped gradient.",
        "11.5",
        RUN,
    ),
    Mutant(
        "decay without the rate",
        _update(rate=False),
        "The decay is not multiplied by the rate: the rate multiplies the clipped gradient and the decay together.",
        "11.5",
        RUN,
    ),
    Mutant(
        "norm after clipping",
        _update(pull="after"),
        "The norm is that of the clipped gradient, which is never above the limit: return what came.",
        "11.7",
        CUT,
    ),
    Mutant(
        "root forgotten",
        _update(norm_as="square"),
        "The root is missing: this is the square of the norm.",
        "11.7",
        RUN,
    ),
    Mutant(
        "sum of norms",
        _update(norm_as="sum"),
        "The norms of the arrays are added up: add their squares, and take one root at the end.",
        "11.7",
        RUN,
    ),
    Mutant(
        "largest norm",
        _update(norm_as="largest"),
        "The norm is that of the longest array: all arrays are one gradient, so add their squares and take the root.",
        "11.7",
        RUN,
    ),
)
