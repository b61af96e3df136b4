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


def _softmax(logits):
    E = np.exp(logits - logits.max(axis=1, keepdims=True))
    return E / E.sum(axis=1, keepdims=True)


def _over_tokens(logits, targets, weights, eps):
    counted, V = targets >= 0, logits.shape[1]
    E = np.exp(logits - logits.max(axis=0))
    P = E / E.sum(axis=0)
    Q = (1 - eps) * (np.arange(V) == targets[:, None]) + eps / V
    share = (counted * weights / (counted * weights).sum())[:, None]
    return -(share * Q * np.log(P)).sum(), share * (P - Q)


def _one_maximum(logits, targets, weights, eps):
    counted, V = targets >= 0, logits.shape[1]
    z = np.where(counted[:, None], logits, 0.0)
    Q = (1 - eps) * (np.arange(V) == targets[:, None]) + eps / V
    share = (counted * weights / (counted * weights).sum())[:, None]
    with np.errstate(all="ignore"):
        Y = z - z.max() - np.log(np.exp(z - z.max()).sum(axis=1, keepdims=True))
        return -(share * Q * Y).sum(), share * (np.exp(Y) - Q)


def _naive_log(logits):
    E = np.exp(logits)
    return np.log(E / E.sum(axis=1, keepdims=True))


LOSSES = (
    Mutant(
        "multiplied by zero",
        _loss(),
        "The terms of ignored tokens are multiplied by 0, and 0 times nan or inf is nan: leave these rows out, or put "
        "numbers into them first.",
        "11.2",
        ("broken rows",),
    ),
    Mutant(
        "mean over all places",
        _loss(share_of=lambda counted, weights: counted * weights / len(weights)),
        "The sum is divided by the number of places, or by the weights of padding as well: divide by the total weight "
        "of the tokens that count.",
        "11.2",
        ("padding", "weights", "more padding"),
    ),
    Mutant(
        "divided by the number of tokens",
        _loss(share_of=lambda counted, weights: counted * weights / counted.sum()),
        "The sum is divided by the number of tokens that count: a weighted mean is divided by their total weight.",
        "11.2",
        ("weights", "more padding"),
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
        "V − 1 and every word",
        _loss(q_of=lambda hot, eps, V: (1 - eps) * hot + eps / (V - 1)),
        "Every word gets eps / (V − 1), the right one too: these shares add up to more than 1. Among all V words each "
        "gets eps/V.",
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
        "exp overflows, or a probability is 0 and its logarithm −∞: take the maximum of each row away, and the "
        "logarithm without the softmax, log p = z − log Σ exp z.",
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
        "gradient divided twice",
        _loss(dlogits_of=lambda P, Q, share, counted, weights: share[:, None] * (P - Q) / len(share)),
        "The gradient is divided by the number of tokens once more: the division is in each token's share already.",
        "11.2",
        ("gradient", "smoothing", "padding", "large logits", "weights", "more padding"),
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
    Mutant(
        "gradient without smoothing",
        _loss(dlogits_of=lambda P, Q, share, counted, weights: share[:, None] * (
            P - (Q == Q.max(axis=1, keepdims=True)))),
        "The loss is smoothed and its gradient is not: it is p − q with the same smoothed q.",
        "11.2",
        ("smoothing", "more padding"),
    ),
    Mutant(
        "loss without smoothing",
        lambda logits, targets, weights, eps: (
            _loss()(logits, targets, weights, 0.0)[0], _loss()(logits, targets, weights, eps)[1]),
        "The gradient is smoothed and the loss is not: both have the same q.",
        "11.2",
        ("smoothing", "more padding"),
    ),
    Mutant(
        "smoothing forgotten",
        lambda logits, targets, weights, eps: _loss()(logits, targets, weights, 0.0),
        "The targets are not smoothed: every word gets eps/V, and the word that came 1 − eps more.",
        "11.2",
        ("smoothing", "more padding"),
    ),
    Mutant(
        "eps the other way round",
        _loss(q_of=lambda hot, eps, V: eps * hot + (1 - eps) / V),
        "eps and 1 − eps have changed places: the word that came has 1 − eps, and eps is spread over all.",
        "11.2",
        ("loss", "gradient", "smoothing", "padding", "weights", "more padding"),
    ),
    Mutant(
        "softmax over the tokens",
        lambda logits, targets, weights, eps: _over_tokens(logits, targets, weights, eps),
        "The softmax runs over the tokens: each token has one over the words, along its row.",
        "11.1",
        ("loss", "gradient", "smoothing", "weights"),
    ),
    Mutant(
        "shares forgotten in the gradient",
        _loss(dlogits_of=lambda P, Q, share, counted, weights: (counted / counted.sum())[:, None] * (P - Q)),
        "The weights are in the loss and not in its gradient: each row is multiplied by its share.",
        "11.2",
        ("weights", "more padding"),
    ),
    Mutant(
        "weights twice in the gradient",
        _loss(dlogits_of=lambda P, Q, share, counted, weights: (weights * share)[:, None] * (P - Q)),
        "The weights come into the gradient twice: a share is a weight over the sum of weights already.",
        "11.2",
        ("weights", "more padding"),
    ),
    Mutant(
        "padding is word 0",
        _loss(targets_of=lambda targets, weights: (np.maximum(targets, 0), weights / weights.sum())),
        "Ignored tokens are counted as if word 0 had come: they count nowhere, in the sum, the weights and the "
        "gradient.",
        "11.2",
        ("padding", "more padding"),
    ),
    *(
        Mutant(
            f"log of p + {tiny:.0e}",
            _loss(log_of=lambda z, tiny=tiny: np.log(_softmax(z) + tiny)),
            "A tiny number is added to the probabilities, and it caps the loss of a very improbable word: take log p "
            "as z − log Σ exp z, without p, and nothing has to be added.",
            "11.1",
            ("large logits",),
        )
        for tiny in (1e-8, 1e-9, 1e-10, 1e-12)
    ),
    Mutant(
        "one maximum for all",
        _one_maximum,
        "One maximum is subtracted from all rows: in a row far below it every exp is 0. Each row has its own.",
        "11.1",
        ("large logits",),
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
    Mutant(
        "eps times the entropy of u",
        lambda u, y, eps: (_leads()(u, y, eps)[0], -eps * (u * np.log(u)).sum()),
        "This is eps times the entropy of u: what remains is the entropy of the targets q, with the right word in it.",
        "11.2",
        ("least loss", "many words"),
    ),
    Mutant(
        "others alone",
        _leads(loss_of=lambda q, y, u: -(q * np.log(q)).sum() + q[y] * np.log(q[y])),
        "The right word's own term, −q_y log q_y, is missing in the loss.",
        "11.2",
        ("least loss", "many words"),
    ),
    Mutant(
        "ratio for lead",
        _leads(lead_of=lambda q, y: q[y] / q),
        "These are the ratios q_y/q_w: a lead is one of logits, and so their logarithm.",
        "11.2",
        ("leads", "many words"),
    ),
    Mutant(
        "difference of the targets",
        _leads(lead_of=lambda q, y: q[y] - q),
        "These are differences of q: the logits are log q, up to a constant, and the leads are differences of these.",
        "11.2",
        ("leads", "many words"),
    ),
    Mutant(
        "eps the other way round",
        _leads(q_of=lambda hot, u, eps: eps * hot + (1 - eps) * u),
        "eps and 1 − eps have changed places: the right word has 1 − eps more, and eps is spread over all.",
        "11.2",
        BOTH,
    ),
    Mutant(
        "distance from the frequencies",
        _leads(loss_of=lambda q, y, u: (q * np.log(q / u)).sum()),
        "This is the distance of q from u, Σ q ln(q/u): the least cross-entropy is the entropy of q, −Σ q ln q.",
        "11.2",
        ("least loss", "many words", "other words"),
    ),
    Mutant(
        "mean over the words",
        _leads(loss_of=lambda q, y, u: -(q * np.log(q)).mean()),
        "The terms of the loss are averaged over the words: q weighs them already, so they are summed.",
        "11.2",
        ("least loss", "many words", "other words"),
    ),
    Mutant(
        "weighted by the frequencies",
        _leads(loss_of=lambda q, y, u: -(u * np.log(q)).sum()),
        "The logarithms are weighted by u: the targets of the loss are q.",
        "11.2",
        ("least loss", "many words", "other words"),
    ),
)

# 11.3


def _run(root=None, weight=None, correct=lambda b1, b2, t: (1 - b1**t, 1 - b2**t), pull="decoupled", order="",
         seen=np.square, share=lambda b: 1 - b, back=1):
    """AdamW with one part replaced by a wrong one."""

    def function(theta, gradients, lr, beta1, beta2, eps, decay):
        m = v = np.zeros_like(theta)
        for t, g in enumerate(gradients, start=1):
            if pull in ("L2", "twice"):
                g = g + decay * theta
            m = beta1 * m + share(beta1) * g
            v = beta2 * v + (weight(beta1, beta2) if weight else 1 - beta2) * (seen(m) if seen is _of_m else seen(g))
            c1, c2 = correct(beta1, beta2, t) if correct else ((1 - beta1**t) / math.sqrt(1 - beta2**t), 1.0)
            if order == "hats carried on":
                m, v, c1, c2 = m / c1, v / c2, 1.0, 1.0
            pulled = decay * theta if pull == "in the ratio" else 0.0
            step = back * lr * (m / c1 + pulled) / (root(v / c2, eps) if root else np.sqrt(v / c2) + eps)
            if pull in ("decoupled", "twice"):
                step = step + lr * decay * theta
            elif pull == "lr²":
                step = step + lr * lr * decay * theta
            elif pull == "without the rate":
                step = step + decay * theta
            elif pull == "away":
                step = step - lr * decay * theta
            theta = theta - step
            if pull == "after":
                theta = theta - lr * decay * theta
        return (theta, m / c1, v / c2) if order == "hats" else (theta, m, v)

    return function


def _of_m(m):
    return m * m


def _from_zero(theta, gradients, lr, beta1, beta2, eps, decay):
    with np.errstate(all="ignore"):
        return _run(correct=lambda b1, b2, t: (1 - b1 ** (t - 1), 1 - b2 ** (t - 1)))(
            theta, gradients, lr, beta1, beta2, eps, decay)


STEPS_OF_ALL = ("one step", "ten steps", "a hundred steps", "small gradients", "with decay", "gaps")

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
        "β₁ corrects v",
        _run(correct=lambda b1, b2, t: (1 - b1**t, 1 - b1**t)),
        "v is divided by 1 − β₁ᵗ: each average has the correction of its own β, and that of v is 1 − β₂ᵗ.",
        "11.4",
        ("one step", "ten steps", "a hundred steps", "small gradients", "with decay", "gaps"),
    ),
    Mutant(
        "eps beside v as it is",
        _run(root=lambda v, eps: np.sqrt(v) + eps, correct=None),
        "eps is added to the root of v before v is corrected, so it counts for more in the first steps: it stands "
        "beside the root of the corrected v.",
        "11.5",
        ("one step", "ten steps", "small gradients"),
    ),
    Mutant(
        "no eps",
        _run(root=lambda v, eps: np.where(v > 0, np.sqrt(v), 1.0)),
        "eps is left out of the denominator: it is small, and beside small gradients it is not.",
        "11.5",
        ("ten steps", "small gradients"),
    ),
    Mutant(
        "decay twice",
        _run(pull="twice"),
        "The decay is there twice: in the gradient, as in Adam with L2, and beside the step, where AdamW has it.",
        "11.5",
        ("with decay", "gaps"),
    ),
    Mutant(
        "rate twice in the decay",
        _run(pull="lr²"),
        "The decay is multiplied by the rate twice: a step takes lr · decay · theta away.",
        "11.5",
        ("with decay", "gaps"),
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
    Mutant(
        "hats carried on",
        _run(order="hats carried on"),
        "The corrected averages are carried on to the next step: m and v stay as they are, and the hats are made anew "
        "at each step.",
        "11.4",
        ("ten steps", "a hundred steps"),
    ),
    Mutant(
        "uphill",
        _run(back=-1),
        "The step goes up the loss: it is subtracted.",
        "11.4",
        STEPS_OF_ALL,
    ),
    Mutant(
        "away from zero",
        _run(pull="away"),
        "The decay has the wrong sign: it draws theta to zero, and is subtracted with the step.",
        "11.5",
        ("with decay", "gaps"),
    ),
    Mutant(
        "decay in the ratio",
        _run(pull="in the ratio"),
        "The decay is divided by √v̂ with m̂: it stands beside the ratio, and only lr multiplies it.",
        "11.5",
        ("with decay", "gaps"),
    ),
    Mutant(
        "sizes for squares",
        _run(seen=np.abs),
        "v averages |g|: it averages g², and the root comes when it is used.",
        "11.4",
        STEPS_OF_ALL,
    ),
    Mutant(
        "squares of m",
        _run(seen=_of_m),
        "v averages m²: it averages the squares of the gradients, g².",
        "11.4",
        STEPS_OF_ALL,
    ),
    Mutant(
        "root forgotten",
        _run(root=lambda v, eps: v + eps),
        "The step is divided by v̂: it is divided by its root.",
        "11.4",
        STEPS_OF_ALL,
    ),
    Mutant(
        "correction of the first step",
        _run(correct=lambda b1, b2, t: (1 - b1, 1 - b2)),
        "Every step is corrected as if it were the first: it is 1 − β^t, with the number of the step.",
        "11.4",
        ("ten steps", "a hundred steps"),
    ),
    Mutant(
        "correction of m as in the first step",
        _run(correct=lambda b1, b2, t: (1 - b1, 1 - b2**t)),
        "m is corrected in every step as if it were the first: it is 1 − beta1^t, with the number of the step.",
        "11.4",
        ("ten steps", "a hundred steps"),
    ),
    Mutant(
        "m a running sum",
        _run(share=lambda b: 1.0),
        "m takes in a whole gradient: it begins with 0, and every gradient, the first one too, comes in with the part "
        "1 − beta1.",
        "11.4",
        STEPS_OF_ALL,
    ),
    Mutant(
        "t from zero, nothing in the first step",
        _run(correct=lambda b1, b2, t: (1 - b1 ** (t - 1), 1 - b2 ** (t - 1)) if t > 1 else (1, 1)),
        "The steps are counted from 0, and the first one is passed over without a correction: the first one is t = 1.",
        "11.4",
        STEPS_OF_ALL,
    ),
    Mutant(
        "t from zero",
        _from_zero,
        "The steps are counted from 0: 1 − β⁰ is 0, and the first step is divided by it. The first one is t = 1.",
        "11.4",
        STEPS_OF_ALL,
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
    Mutant(
        "differences",
        _biases(lambda m, v, t, b1, b2: (m / v**0.5 - 1, v**-0.5 - 1, m - 1)),
        "This is by how much longer the step is: how many times as long it is, is asked for.",
        "11.4",
        TIMES,
    ),
    Mutant(
        "powers themselves",
        _biases(lambda m, v, t, b1, b2: ((1 - m) / v**0.5, v**-0.5, 1 - m)),
        "This has beta1^t for m: after t steps m is (1 − beta1^t) g.",
        "11.4",
        TIMES,
    ),
    Mutant(
        "m upside down",
        _biases(lambda m, v, t, b1, b2: (1 / m / v**0.5, v**-0.5, 1 / m)),
        "A missing correction of m is taken to lengthen the step: m is too small without it, and stands above.",
        "11.4",
        ("first step", "ten steps"),
    ),
    Mutant(
        "product for the quotient",
        _biases(lambda m, v, *_: (m * math.sqrt(v), 1 / math.sqrt(v), m)),
        "The two factors are multiplied in the first number: m's stands above the fraction line, v's root below.",
        "11.4",
        ("first step", "ten steps", "a hundred", "a few", "another first step"),
    ),
    Mutant(
        "v above the line",
        _biases(lambda m, v, *_: (m / math.sqrt(v), math.sqrt(v), m)),
        "Without v's correction the step is longer, not shorter: v is too small, and it stands below the fraction "
        "line.",
        "11.4",
        ("first step", "ten steps", "a hundred", "a few", "another first step"),
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
    Mutant(
        "exp forgotten",
        _merged(lambda P, n, c: (np.log(P) @ n) / n.sum()),
        "This is the mean loss: the perplexity is its exp.",
        "11.1",
        ("perplexity", "three batches"),
    ),
    Mutant(
        "two for e",
        _merged(lambda P, n, c: 2 ** ((np.log(P) @ n) / n.sum())),
        "2 is raised to a loss in nats: with natural logarithms it is e, with those to base 2 it is 2.",
        "11.1",
        ("perplexity", "three batches"),
    ),
    Mutant(
        "perplexity of a character",
        _merged(lambda P, n, c: math.exp((np.log(P) @ n) / c.sum())),
        "This is the perplexity of a character: that of the text is one of a token, so divide by the tokens.",
        "11.1",
        ("perplexity", "three batches"),
    ),
    Mutant(
        "multiplied by ln 2",
        _merged(_perplexity, lambda whole, P, n, c: (np.log(P) @ n) / c.sum() * math.log(2)),
        "The nats are multiplied by ln 2: a bit is ln 2 nats, so divide by it.",
        "11.1",
        ("bits a character", "three batches"),
    ),
    Mutant(
        "weighted by the characters",
        _merged(lambda P, n, c: math.exp((np.log(P) @ c) / n.sum()), lambda L, P, n, c: (np.log2(P) @ c) / c.sum()),
        "The losses are weighted by characters: a perplexity is per token, so each batch counts with its tokens.",
        "11.1",
        ("perplexity", "bits a character", "three batches", "more batches"),
    ),
    Mutant(
        "bits divided by all characters",
        _merged(_perplexity, lambda L, P, n, c: math.log2(L) / c.sum()),
        "The bits of one token are divided by the characters of the text: the bits of all tokens are, n log2 of the "
        "perplexity.",
        "11.1",
        ("bits a character", "three batches", "more batches"),
    ),
    Mutant(
        "characters a bit",
        _merged(_perplexity, lambda L, P, n, c: c.sum() / (np.log2(P) @ n)),
        "These are characters a bit: bits a character is the other quotient.",
        "11.1",
        ("bits a character", "three batches", "more batches"),
    ),
    Mutant(
        "ln 10",
        _merged(_perplexity, lambda L, P, n, c: (np.log10(P) @ n) / c.sum()),
        "The logarithm is one to base 10: bits have base 2.",
        "11.1",
        ("bits a character", "three batches", "more batches"),
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
        "the two lines have half of the peak on average.",
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
        "warm-up one step ahead",
        _trapezoid(up=lambda t, w: (t + 1) / w),
        "The warm-up is one step ahead, as if the first step were number 0: here the first is step 1, with the rate "
        "peak / warmup.",
        "11.7",
        ("warming up",),
    ),
    Mutant(
        "warm-up over one step more",
        _trapezoid(up=lambda t, w: t / (w + 1)),
        "The warm-up is divided by warmup + 1: step warmup has the peak already.",
        "11.7",
        ("warming up",),
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
        "no line down",
        _trapezoid(down=lambda t, s, T: 0.0),
        "After the peak the rate is 0 at once: it goes down along a line, from the peak at the step where the line "
        "begins to 0 at step total.",
        "11.7",
        ("going down", "the sum"),
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
    Mutant(
        "no warm-up",
        _trapezoid(up=lambda t, w: 1.0),
        "The peak is there from the first step: during the warm-up the rate is peak · step / warmup.",
        "11.7",
        ("warming up", "the sum"),
    ),
    Mutant(
        "peak forgotten in the warm-up",
        lambda step, peak, warmup, total, distance: _trapezoid()(step, peak, warmup, total, distance) / (
            peak if 0 < step <= warmup else 1),
        "The warm-up goes up to 1: it goes up to peak.",
        "11.7",
        ("warming up",),
    ),
    Mutant(
        "the line down never comes",
        lambda step, peak, warmup, total, distance: peak * min(1, step / warmup),
        "The line down never comes: the rate stays at peak until the end. It begins at "
        "s = 2 distance / peak − total + warmup, which lies before total; a sign or a term may be wrong in your s.",
        "11.7",
        ("going down",),
    ),
    Mutant(
        "factor two forgotten",
        _trapezoid(start_of=lambda peak, warmup, total, distance: distance / peak - total + warmup),
        "A factor of 2 is missing: the area of the trapezoid is half of peak times both parallel sides, total and "
        "s − warmup.",
        "11.7",
        ("on the plateau",),
    ),
    Mutant(
        "peak forgotten",
        _trapezoid(lambda peak, w, T, D: 2 * D - T + w),
        "The distance is not divided by the peak: the rates of the trapezoid add up to the peak times a number of "
        "steps.",
        "11.7",
        ("on the plateau", "going down", "the sum", "elsewhere"),
    ),
    Mutant(
        "line over the whole run",
        _trapezoid(down=lambda t, s, T: (T - t) / T),
        "The line down is divided by `total`: it has to begin at the peak, so by the steps that it lasts.",
        "11.7",
        ("going down", "the sum", "elsewhere"),
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
        "two forgotten at the end",
        _first(lambda V, d, sigma, most, s: (s, math.log(V) + s**2 / 2, math.sqrt(most / d))),
        "The half is lost on the way back: the excess is d σ²/2, so σ² is twice what is allowed, over d.",
        "11.1",
        ("largest sigma", "another width"),
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
    Mutant(
        "divided by the width",
        _first(lambda V, d, sigma, most, s: (s / d, math.log(V) + (s / d) ** 2 / 2, math.sqrt(2 * most * d))),
        "The deviation is divided by √d: a token of length √d meets entries of deviation sigma, so a logit has √d "
        "times as much.",
        "11.1",
        ("deviation", "loss", "another width"),
    ),
    Mutant(
        "ln V in the excess",
        _first(lambda V, d, sigma, most, s: (s, math.log(V) + s * s / 2, math.sqrt(2 * (most + math.log(V)) / d))),
        "ln V is counted in the excess: the loss may be ln V + most, so d sigma²/2 is most.",
        "11.1",
        ("largest sigma", "another width"),
    ),
    Mutant(
        "bits for nats",
        _first(lambda V, d, sigma, most, s: (s, math.log2(V) + s * s / 2, math.sqrt(2 * most / d))),
        "The logarithm of V is one to base 2: the loss is in nats, and ln V is what it starts from.",
        "11.1",
        ("loss", "another width", "other sizes"),
    ),
    Mutant(
        "excess as a share",
        _first(lambda V, d, sigma, most, s: (s, math.log(V) * (1 + s * s / 2), math.sqrt(2 * most / d))),
        "The excess s²/2 multiplies ln V: it is added, for the mean of V terms e^z is V e^(s²/2), and the logarithm "
        "of a product is a sum.",
        "11.1",
        ("loss", "another width", "other sizes"),
    ),
)

# 11.9


def _step(share_of=None, clip="global", decayed="W", rate=True, pull="before", after=False, norm_of="both",
          mean=True, penalty=False, loss_over=None, rows=True, back=1, later=False, sides=True):
    def function(W, b, X, y, lr, limit, decay):
        counted = y >= 0
        Z = X @ W + b
        P = np.exp(Z - Z.max(axis=1, keepdims=True))
        P = P / P.sum(axis=1, keepdims=True)
        share = share_of(counted) if share_of else counted / counted.sum()
        hot = np.eye(len(b))[y]
        loss = -((loss_over(counted) if loss_over else share) * np.log((P * hot).sum(axis=1))).sum()
        G = share[:, None] * (P - hot)
        if not rows:
            G = (P - hot * counted[:, None]) / counted.sum()
        dW, db = X.T @ G, G.sum(axis=0) if sides else G.mean(axis=0)
        if pull == "in the gradient":
            dW = dW + decay * W
        if not mean:
            dW, db = dW * counted.sum(), db * counted.sum()
        norm = math.sqrt((dW**2).sum() + (db**2).sum())
        norm = {"both": norm, "W": math.sqrt((dW**2).sum()), "square": norm**2,
                "sum": math.sqrt((dW**2).sum()) + math.sqrt((db**2).sum()),
                "largest": math.hypot(np.linalg.norm(dW, 2), np.linalg.norm(db)),
                "largest of both": np.linalg.norm(np.vstack([dW, db]), 2)}[norm_of]
        before, loss = norm, loss + penalty * decay / 2 * (W * W).sum()
        if clip == "global":
            dW, db = (g * min(1.0, limit / norm) for g in (dW, db))
        elif clip == "each":
            dW, db = (g * min(1.0, limit / math.sqrt((g * g).sum())) for g in (dW, db))
        elif clip == "entries":
            dW, db = np.clip(dW, -limit, limit), np.clip(db, -limit, limit)
        elif clip == "max":
            dW, db = (g * max(1.0, limit / norm) for g in (dW, db))
        elif clip == "1e-6":
            dW, db = (g * min(1.0, limit / (norm + 1e-6)) for g in (dW, db))
        elif clip == "W":
            dW = dW * min(1.0, limit / norm)
        elif clip == "always":
            dW, db = dW * limit / norm, db * limit / norm
        if after:
            before = math.sqrt((dW**2).sum() + (db**2).sum())
        weight = lr if rate else 1.0
        if pull in ("clipped", "after"):
            moved = W - lr * dW
            pulled = decay * (moved if pull == "after" else W * min(1.0, limit / norm))
            return moved - lr * pulled, b - lr * db, loss, before
        new_W = W - back * lr * dW - (0 if pull in ("in the gradient", "no") else back * weight * decay * W)
        if back < 0:
            return new_W, b + lr * db, loss, before
        if later:
            loss = _step()(new_W, b - lr * db, X, y, lr, limit, decay)[2]
        return new_W, b - lr * db - (weight * decay * b if decayed == "both" else 0), loss, before

    return function


EVERY = ("padding", "clipped", "no padding")

def _but(place, wrong, right):
    """The wrong version with one result of the right one."""

    def function(*inputs):
        found = list(wrong(*inputs))
        found[place] = right(*inputs)[place]
        return tuple(found)

    return function


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
        "The norm is that of dW alone, or the larger of two: db belongs to the same gradient, so one norm over both.",
        "11.7",
        EVERY,
    ),
    Mutant(
        "bias not clipped",
        _step(clip="W"),
        "db is not clipped: both gradients are shortened by the same factor, so that the direction stays.",
        "11.7",
        ("clipped",),
    ),
    Mutant(
        "a millionth added",
        _step(clip="1e-6"),
        "A millionth is added to the norm, as some libraries do: here the factor is limit / norm and no more, where "
        "the norm is above the limit.",
        "11.7",
        ("clipped",),
    ),
    Mutant(
        "lengthened, and never clipped",
        _step(clip="max"),
        "The larger of 1 and limit / norm is taken, which lengthens a short gradient and leaves a long one: it is the "
        "smaller of the two.",
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
    Mutant(
        "no decay",
        _step(pull="no"),
        "The matrix does not decay: lr · decay · W is taken off it as well.",
        "11.5",
        EVERY,
    ),
    Mutant(
        "loss over all places",
        _step(loss_over=lambda counted: counted / len(counted)),
        "The loss is divided by all places, padding too: the gradient is right, and the loss is the mean over the same "
        "tokens.",
        "11.2",
        ("padding", "clipped"),
    ),
    Mutant(
        "gradient over all places",
        lambda W, b, X, y, lr, limit, decay: _but(2, _step(share_of=lambda counted: counted / len(counted)), _step())(
            W, b, X, y, lr, limit, decay),
        "The gradient is divided by all places, padding too: the loss is right, and the gradient is that of the same "
        "mean.",
        "11.2",
        ("padding", "clipped"),
    ),
    Mutant(
        "padding pulls",
        _step(rows=False),
        "Padding has a gradient: p is subtracted from nothing in its rows, which have to be 0.",
        "11.2",
        ("padding", "clipped"),
    ),
    Mutant(
        "uphill",
        _step(back=-1),
        "The step goes up the loss: gradient and decay are subtracted.",
        "11.7",
        EVERY,
    ),
    Mutant(
        "loss after the step",
        _step(later=True),
        "This is the loss after the step: the one before it is asked for.",
        "11.8",
        EVERY,
    ),
    *(Mutant(
        name,
        _step(norm_of=norm),
        "np.linalg.norm(dW, 2) of a matrix is its largest singular value: the norm of (11.34) is the root of the sum "
        "of all squares, np.linalg.norm(dW).",
        "11.7",
        EVERY,
    ) for name, norm in (("spectral norm", "largest"), ("spectral norm of both", "largest of both"))),
    Mutant(
        "sum of two norms",
        _step(norm_of="sum"),
        "The norms of dW and db are added: one norm over both is the root of the sum of all squares.",
        "11.7",
        EVERY,
    ),
    Mutant(
        "mean for the bias",
        _step(sides=False),
        "db is the mean over the rows: the shares are in each row already, so it is their sum.",
        "11.1",
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
        "The step is not turned round: as they are, the large part must outweigh the small ones together, and clipped "
        "they must outweigh it, so each of them is nearly as long as the limit, or longer.",
        "11.8",
        ("large limit", "small limit"),
    ),
    Mutant(
        "limit ignored",
        lambda limit: np.array([3e6, -1e6, -1e6]),
        "These are three fixed numbers: under another limit other parts are clipped, and under one that is longer than "
        "all of them, none.",
        "11.8",
        ("large limit",),
    ),
)

# 11.11


def _accumulated(weight="tokens", clear=True, loss_of="weighted", reduction="mean", skip=True, places=False,
                 each=False, padding=-1, soft=False, last=True):
    def accumulate(model, batches):
        import torch

        if clear:
            model.zero_grad()
        if padding == "word 0":
            batches = [(X, y.clamp(min=0)) for X, y in batches]
        if padding == 0:
            batches = [(X, torch.where(y > 0, y, -1)) for X, y in batches]
        if not last:
            batches = batches[:-1]
        counts = [float(len(y)) if places else float((y != -1).sum()) for _, y in batches]
        total, out = sum(counts), 0.0
        for (X, y), n in zip(batches, counts, strict=True):
            if skip and not (y != -1).any():
                continue
            if each:
                model.zero_grad()
            logits = model(X).softmax(dim=-1) if soft else model(X)
            loss = torch.nn.functional.cross_entropy(logits, y, ignore_index=-1, reduction=reduction)
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
    Mutant(
        "padding is word 0",
        _accumulated(padding="word 0"),
        "Padding is counted as if word 0 had come: cross_entropy leaves it out with ignore_index=-1.",
        "11.2",
        ("equal parts", "unequal parts"),
    ),
    Mutant(
        "softmax before the loss",
        _accumulated(soft=True),
        "cross_entropy is given probabilities: it takes logits, and does the softmax itself.",
        "11.1",
        ("equal parts", "unequal parts"),
    ),
    Mutant(
        "last part left out",
        _accumulated(last=False),
        "The last part is left out: the loop runs over all parts.",
        "11.8",
        ("equal parts", "unequal parts"),
    ),
)

# 11.12


def _z(slope=lambda lse, c: 2 * c * lse, value=lambda lse, c: c * lse**2, way="p", mean=True, signed=1, naive=False,
       once=False, never=False, of_all=None, tiny=0.0, single=False):
    def function(logits, targets, c):
        T = len(logits)
        top = logits.max() if naive == "one" else 0.0 if naive else logits.max(axis=1, keepdims=True)
        lse = top + np.log(np.exp(logits - top).sum(axis=1, keepdims=True))
        if once:
            lse = lse - top
        P = np.exp(logits - (lse + top if once else lse))
        hot = np.eye(logits.shape[1])[targets]
        lead = (lse + top if once and not never else lse)[:, 0]
        away = lead - (logits * hot).sum(axis=1)
        if tiny:
            with np.errstate(all="ignore"):
                away = -np.log((P * hot).sum(axis=1) + (tiny if tiny != "nothing" else 0.0))
        L = (away + value(lse[:, 0], c)).sum() / (1 if single else T)
        if of_all:
            L = of_all(away, lse[:, 0], c)
        pull = {"p": P, "q": P - hot, "one": np.ones_like(P), "none": 0 * P}[way]
        return L, (P - hot + slope(lse, c) * pull) / (T if mean else 1)

    return function


def _squared_logits(logits, targets, c):
    loss, dlogits = _z(value=lambda lse, c: 0.0, way="none")(logits, targets, c)
    return loss + c * (logits**2).sum() / len(logits), dlogits + 2 * c * logits / len(logits)


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
    Mutant(
        "r forgotten in the slope",
        _z(slope=lambda lse, c: 2 * c + 0 * lse),
        "The derivative of the square lacks what is squared: it is 2 c ln Σ exp z times p.",
        "11.1",
        ("gradient", "large logits", "other sizes"),
    ),
    Mutant(
        "c before everything",
        _z(of_all=lambda away, r, c: (c * (away + r * r)).mean()),
        "c multiplies the cross-entropy as well: it stands before the square alone.",
        "11.1",
        ("loss", "large logits", "other sizes"),
    ),
    Mutant(
        "square of the mean",
        _z(of_all=lambda away, r, c: away.mean() + c * r.mean() ** 2),
        "The mean of ln Σ exp z is squared: it is the mean of the squares, token by token.",
        "11.1",
        ("loss", "large logits", "other sizes"),
    ),
    Mutant(
        "second term summed",
        _z(of_all=lambda away, r, c: away.mean() + c * (r * r).sum()),
        "The second term is summed over the tokens: both terms are in the mean.",
        "11.1",
        ("loss", "large logits", "other sizes"),
    ),
    Mutant(
        "sum for the loss alone",
        _z(single=True),
        "The loss is the sum over the tokens, and the gradient is that of their mean: both are of the mean.",
        "11.1",
        ("loss", "large logits", "other sizes"),
    ),
    Mutant(
        "square of the cross-entropy",
        _z(of_all=lambda away, r, c: (away + c * away**2).mean()),
        "The cross-entropy is squared: the second term is c r², with r = ln Σ exp z, whatever the target is.",
        "11.1",
        ("loss", "large logits", "other sizes"),
    ),
    *(
        Mutant(
            f"log of p + {tiny:.0e}",
            _z(tiny=tiny),
            "A tiny number is added to the probabilities, and it caps the loss of a very improbable word: take −log "
            "p_y as ln Σ exp z − z_y, without p, and nothing has to be added.",
            "11.1",
            ("large logits",),
        )
        for tiny in (1e-8, 1e-9, 1e-10, 1e-12)
    ),
    Mutant(
        "one maximum for all",
        _z(naive="one"),
        "One maximum is subtracted from all rows: in a row far below it every exp is 0. Each row has its own.",
        "11.1",
        ("large logits",),
    ),
    Mutant(
        "logarithm of p",
        _z(tiny="nothing"),
        "The logarithm is taken of p_y, which comes out as 0 for a very improbable word: −log p_y is ln Σ exp z − z_y, "
        "and needs no p.",
        "11.1",
        ("large logits",),
    ),
    Mutant(
        "gradient over all entries",
        lambda logits, targets, c: (_z()(logits, targets, c)[0], _z()(logits, targets, c)[1] / logits.shape[1]),
        "dlogits is divided by T V, as a mean over all entries is: the loss is a mean over the T tokens.",
        "11.1",
        ("gradient", "large logits", "other sizes"),
    ),
    Mutant(
        "second term not averaged",
        _z(slope=lambda lse, c: 2 * c * lse * len(lse)),
        "The second term's gradient is not divided by T: the mean is over both terms.",
        "11.1",
        ("gradient", "large logits", "other sizes"),
    ),
    Mutant(
        "squares of the logits",
        _squared_logits,
        "The logits are squared and added up: what is held is r = log Σ exp z, one number a token.",
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
        if decayed == "none":
            falls = [torch.zeros_like(p) for p in params]
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
            if pull == "clipped too":
                falls = [fall * factor for fall in falls]
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
    Mutant(
        "nothing decays",
        _update(decayed="none"),
        "The decay is left out: decay times p is taken off the matrices, beside the clipped gradient.",
        "11.5",
        RUN,
    ),
    Mutant(
        "decay clipped",
        _update(pull="clipped too"),
        "The decay is shortened with the gradient: clipping is for the gradient, the decay stands beside it.",
        "11.5",
        CUT,
    ),
)
