"""Inputs of the cases, and what runs or measures an answer where a plain call is not enough."""

import numpy as np

from ...model import places_of_names


def codes(positions, d, base=10000.0, double=1):
    """Sinusoids; used to make inputs."""
    angle = np.asarray(positions)[:, None] * base ** (-2 * double * np.arange(d // 2) / d)
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(len(angle), d)


def turned(X, positions, base, sign=1.0):
    """Neighbouring pairs turned; used to make wrong answers."""
    angle = positions[:, None] * base ** (-2 * np.arange(X.shape[-1] // 2) / X.shape[-1])
    c, s, Y = np.cos(angle), sign * np.sin(angle), np.empty_like(X)
    Y[..., ::2], Y[..., 1::2] = X[..., ::2] * c - X[..., 1::2] * s, X[..., ::2] * s + X[..., 1::2] * c
    return Y


def shift(delta, d, base):
    return lambda rng: {"delta": delta, "d": d, "base": base}


def any_shift(rng):
    return {"delta": float(rng.uniform(0.5, 3)), "d": 8, "base": float(rng.uniform(20, 200))}


def rotation(n, d, lead=(), base=100.0, scattered=False):
    def make(rng):
        positions = rng.permutation(np.arange(2, 60))[:n] if scattered else np.arange(n)
        X, dY = rng.normal(size=(2, *lead, n, d))
        return {"X": X, "dY": dY, "positions": positions, "base": base}

    return make


NAMES = ("correct", "base 1000", "base 100000", "2i doubled", "counted from one", "sines first")


def exhibits(n, d, innocent):
    """Tables of sinusoids with a different fault each, in random order."""

    def make(rng):
        places = np.arange(n)
        right = codes(places, d)
        faults = [
            codes(places, d, 1e3),
            codes(places, d, 1e5),
            codes(places, d, double=2),
            codes(places + 1, d),
            np.hstack([right[:, ::2], right[:, 1::2]]),
        ]
        PE = np.stack([right, *faults] if innocent else faults)
        return {"PE": PE[rng.permutation(len(PE))]}

    return make


def call_name(answer, inputs):
    return places_of_names(NAMES, "table", inputs["PE"], answer)


def heads(H, n, d_k, start=0, base=50.0, gaps=False):
    def make(rng):
        Q, K, V = rng.normal(size=(3, H, n, d_k))
        positions = start + (np.sort(rng.permutation(3 * n)[:n]) if gaps else np.arange(n))
        return {"Q": Q, "K": K, "V": V, "positions": positions, "base": base}

    return make


def projection(d, number, d_k):
    return lambda rng: {"W": rng.normal(size=(d, number * d_k)), "heads": number}


def apart(delta, d, base):
    return lambda rng: {"delta": delta, "d": d, "base": base}


def some_distance(rng):
    return {"delta": int(rng.integers(2, 9)), "d": 12, "base": float(rng.uniform(50, 500))}


def scores(H, n, m, reach, lead=()):
    return lambda rng: {"dS": rng.normal(size=(*lead, H, n, m)), "reach": reach}
