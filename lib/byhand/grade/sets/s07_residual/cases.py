"""Inputs of the cases, and what runs an answer where a plain call is not enough."""

import numpy as np

from ...model import places_of_names


def layer_norm(X):
    centred = X - X.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True))


def connection(wiring, *shape, alpha=1.0, upstream=False):
    def make(rng):
        d = shape[-1]
        inputs = {
            "X": rng.normal(size=shape) * np.exp(rng.uniform(0.5, 1.5, size=(*shape[:-1], 1))),
            "W": rng.normal(size=(d, d)) / np.sqrt(d),
            "gamma": rng.uniform(0.5, 2, size=d),
            "wiring": wiring,
            "alpha": alpha,
        }
        return {"dY": rng.normal(size=shape), **inputs} if upstream else inputs

    return make


def slopes(N, same=False):
    def make(rng):
        f = rng.uniform(0.2, 0.9, size=N) * rng.choice([-1, 1], size=N)
        return {"slopes": np.full(N, 0.3) if same else f}

    return make


NAMES = ("X + F", "LN(X + F)", "LN(X) + F", "X + LN(F)", "F")


def sums(n, d):
    """Outputs of the five rules for one X and F, in random order."""

    def make(rng):
        X, F = 3 * rng.normal(size=(n, d)) + 1, 2 * rng.normal(size=(n, d)) - 1
        Y = np.stack([X + F, layer_norm(X + F), layer_norm(X) + F, X + layer_norm(F), F])
        return {"X": X, "F": F, "Y": Y[rng.permutation(len(Y))]}

    return make


def call_name(answer, inputs):
    return places_of_names(NAMES, "output", inputs["Y"], lambda Y: answer(inputs["X"], inputs["F"], Y))


def bound(v=None):
    def make(rng):
        layers, share = int(rng.integers(3, 40)), float(rng.uniform(0.2, 0.9)) if v is None else v
        return {"layers": layers, "v": share, "g": float(rng.uniform(1.5, 3)), "h": float(rng.uniform(4, 6))}

    return make


def ends(n, d, V, size):
    def make(rng):
        X = size * rng.normal(size=(n, d)) + 1
        return {"X": X, "W": rng.normal(size=(d, V)) / np.sqrt(d), "target": rng.integers(V, size=n)}

    return make


def depth(layers):
    return lambda rng: {"layers": layers}


def any_depth(rng):
    return {"layers": int(rng.integers(30, 300))}
