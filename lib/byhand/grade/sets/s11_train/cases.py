"""Inputs of the cases, and what runs an answer where a plain call is not enough."""

import math

import numpy as np

from ...model import places_of_names


def tokens(T, V, eps=0.0, ignored=0, weighted=False, scale=1.0):
    def make(rng):
        targets = rng.integers(V - 1, size=T)  # never the last word, which −1 would mean as an index
        targets[rng.permutation(T)[:ignored]] = -1
        weights = rng.uniform(0.5, 3, size=T) if weighted else np.ones(T)
        return {"logits": scale * rng.normal(size=(T, V)), "targets": targets, "weights": weights, "eps": eps}

    return make


def smoothing(V, to_all):
    def make(rng):
        return {"V": V, "eps": round(float(rng.uniform(0.05, 0.3)), 2), "to_all": to_all}

    return make


def ten_words(to_all):
    return lambda rng: {"V": 10, "eps": 0.1, "to_all": to_all}


def walk(T, n, decay=0.0, scale=1.0, gaps=False):
    def make(rng):
        gradients = scale * rng.normal(size=(T, n))
        if gaps:
            gradients[: T // 2, 0] = 0.0  # a word that does not occur for a while
        return {"theta": rng.normal(size=n), "gradients": gradients, "lr": 0.02, "beta1": 0.9, "beta2": 0.99,
                "eps": 1e-8, "decay": decay}

    return make


NAMES = ("correct", "eps inside the root", "1 - beta1 in v", "no bias correction", "L2 for decay", "t counts leaves",
         "rate counts leaves")
SIZES = (1.0, 1e-2, 1e-6)  # of the gradients, leaf by leaf: only the last shows where eps stands


def record(fault, gradients, theta, peak, warmup, decay):
    """The parameters before the first step and after each, by an AdamW with this fault."""
    k = gradients.shape[1]
    m, v, thetas = np.zeros(k), np.zeros(k), [theta]
    for t, g in enumerate(gradients, start=1):
        calls = k * (t - 1) + 1 + np.arange(k)
        lr = peak * np.minimum(1, (calls if fault == "rate counts leaves" else t) / warmup)
        if fault == "L2 for decay":
            g = g + decay * theta
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + (0.1 if fault == "1 - beta1 in v" else 0.001) * g * g
        s = calls if fault == "t counts leaves" else t
        c1, c2 = (1.0, 1.0) if fault == "no bias correction" else (1 - 0.9**s, 1 - 0.999**s)
        root = np.sqrt(v / c2 + 1e-8) if fault == "eps inside the root" else np.sqrt(v / c2) + 1e-8
        pull = 0.0 if fault == "L2 for decay" else decay
        theta = theta - lr * (m / c1 / root + pull * theta)
        thetas.append(theta)
    return np.array(thetas)


def records(T, faults):
    """Several records of the same gradients, in random order."""

    def make(rng):
        gradients = np.asarray(SIZES) * rng.normal(size=(T, len(SIZES)))
        theta, peak, warmup, decay = rng.normal(size=len(SIZES)), 0.01, 5, 0.1
        thetas = np.stack([record(fault, gradients, theta, peak, warmup, decay) for fault in faults])
        return {"gradients": gradients, "thetas": thetas[rng.permutation(len(faults))], "peak": peak, "warmup": warmup,
                "decay": decay}

    return make


def call_name(answer, inputs):
    gradients, *options = (inputs[x] for x in ("gradients", "peak", "warmup", "decay"))
    return places_of_names(NAMES, "record", inputs["thetas"], lambda thetas: answer(gradients, thetas, *options))


def betas(t, usual=False):
    def make(rng):
        beta1, beta2 = (0.9, 0.999) if usual else (round(float(rng.uniform(0.5, 0.95)), 2),
                                                   round(float(rng.uniform(0.96, 0.999)), 3))
        return {"t": t, "beta1": beta1, "beta2": beta2}

    return make


def parts(counts, n, long):
    """Micro-batches of so many tokens; the limit is a third of the norm, or three times as much."""

    def make(rng):
        sizes, k = np.array(counts), len(counts)
        grads = rng.normal(size=(k, n)) + rng.normal(size=n)
        norm = math.sqrt(((sizes @ grads / sizes.sum()) ** 2).sum())
        return {"losses": rng.uniform(1, 3, size=k), "grads": grads, "tokens": sizes,
                "limit": norm / 3 if long else 3 * norm}

    return make


def at(step, warmup=20, total=100, floor=1e-4):
    return lambda rng: {"step": step, "peak": round(float(rng.uniform(1e-3, 9e-3)), 4), "warmup": warmup,
                        "total": total, "floor": floor}
