"""Inputs of the cases, and what runs an answer where a plain call is not enough."""

import numpy as np

from ...model import WrongAnswer

NAMES = ("W_q", "W_k", "W_v", "W_o", "W_1", "b_1", "W_2", "b_2", "gamma_1", "beta_1", "gamma_2", "beta_2")


def gates(name, *shape):
    def make(rng):
        return {"dY": rng.normal(size=shape), "X": 1.5 * rng.normal(size=shape), "name": name}

    return make


def far_out(rng):
    """Where e^(−x) is more than float64 can hold."""
    X = rng.normal(size=(2, 4))
    X[0, 0], X[1, 1] = -1000.0, 1000.0
    return {"dY": rng.normal(size=X.shape), "X": X, "name": "silu"}


def swiglu(n, d, f, lead=()):
    def make(rng):
        return {
            "dY": rng.normal(size=(*lead, n, d)),
            "X": rng.normal(size=(*lead, n, d)),
            "W_g": rng.normal(size=(d, f)),
            "W_1": rng.normal(size=(d, f)),
            "W_2": rng.normal(size=(f, d)),
        }

    return make


def layer(B, n, d, f):
    def make(rng):
        return {
            "X": rng.normal(size=(B, d, n)),
            "W_1": rng.normal(size=(d, f)),
            "b_1": rng.normal(size=f),
            "W_2": rng.normal(size=(f, d)),
            "b_2": rng.normal(size=d),
        }

    return make


def dropped(p, *shape):
    def make(rng):
        keep = rng.random(shape) >= p
        keep.flat[:2] = True, False  # at least one of each
        return {"dY": rng.normal(size=shape), "X": rng.normal(size=shape), "keep": keep, "p": p}

    return make


def block(n, d, f, wiring):
    def make(rng):
        weights = {"W_1": (d, f), "b_1": (f,), "W_2": (f, d), "b_2": (d,)}
        weights = dict.fromkeys(NAMES[:4], (d, d)) | weights
        inputs = {"dY": rng.normal(size=(n, d)), "X": rng.normal(size=(n, d)), "wiring": wiring}
        inputs |= {name: rng.normal(size=size) / (d**0.5 if name[0] == "W" else 2) for name, size in weights.items()}
        return inputs | {name: rng.normal(float(name[0] == "g"), 0.5, size=d) for name in NAMES[8:]}

    return make


def call_block(answer, inputs):
    """Hand the parameters over as one dict; lay the gradients side by side in the order of their names."""
    returned = answer(inputs["dY"], inputs["X"], {name: inputs[name] for name in NAMES}, inputs["wiring"])
    if returned is None or returned is Ellipsis:
        return None
    if type(returned) not in (tuple, list) or len(returned) != 3:
        raise WrongAnswer("return three things: Y, dX and the dict of gradients")
    Y, dX, grads = returned
    if type(grads) is not dict or set(grads) != set(NAMES):
        got = ", ".join(sorted(map(str, grads)))[:80] if type(grads) is dict else f"a {type(grads).__name__}"
        raise WrongAnswer(f"the gradients are {got}; expected a dict with {', '.join(NAMES)}")
    return [Y, dX, *(grads[name] for name in NAMES)]


def sizes(gated, bias, wide=True):
    def make(rng):
        heads = int(rng.integers(2, 5))
        d = heads * int(rng.integers(3, 9))
        n = int(rng.integers(20, 60))
        return {"n": n, "d": d, "d_ff": 4 * d if wide else 3 * d + 1, "heads": heads, "gated": gated, "bias": bias}

    return make


def usual_scale(rng):
    return {"c": float(np.sqrt(2 / np.pi))}


def other_scale(rng):
    return {"c": float(rng.uniform(0.9, 2.0))}
