"""Inputs of the cases, and what runs an answer where a plain call is not enough."""

import numpy as np

from ...model import places_of_names


def tokens(rng, *shape):
    """Tokens with a level and a size of their own."""
    size = np.exp(rng.uniform(-0.5, 1.0, size=(*shape[:-1], 1)))
    return size * rng.normal(size=shape) + rng.uniform(1, 2, size=(*shape[:-1], 1))


def affine(*shape, scale=1.0, eps=1e-5):
    def make(rng):
        d = shape[-1]
        return {"X": scale * tokens(rng, *shape), "gamma": rng.normal(size=d), "beta": rng.normal(size=d), "eps": eps}

    return make


def constant(rng):
    X = tokens(rng, 3, 4)
    X[1] = 2.0  # all features equal: the variance is exactly zero
    return {"X": X, "gamma": rng.normal(size=4), "beta": rng.normal(size=4), "eps": 1e-5}


def standardized(rng, shape, eps):
    X = tokens(rng, *shape)
    centred = X - X.mean(axis=-1, keepdims=True)
    s = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + eps)
    return centred / s, s


def upstream(*shape, plain=False, eps=1e-5):
    def make(rng):
        X_hat, s = standardized(rng, shape, eps)
        gamma = np.ones(shape[-1]) if plain else rng.normal(size=shape[-1])
        return {"dY": rng.normal(size=shape), "X_hat": X_hat, "s": s, "gamma": gamma}

    return make


def rms(*shape, eps=1e-6):
    def make(rng):
        d = shape[-1]
        return {"dY": rng.normal(size=shape), "X": tokens(rng, *shape), "gamma": rng.normal(size=d), "eps": eps}

    return make


def batch(B, n, d, eps=1e-5):
    def make(rng):
        return {
            "X": tokens(rng, B, n, d),
            "mean": rng.normal(size=d),
            "var": rng.uniform(0.5, 2, size=d),
            "momentum": float(rng.uniform(0.1, 0.4)),
            "eps": eps,
        }

    return make


def padded(kind, n, d, lengths):
    def make(rng):
        X = tokens(rng, len(lengths), n, d)
        return {"X": X, "lengths": np.array(lengths), "kind": kind, "eps": 1e-5}

    return make


def jacobian(eps):
    return lambda rng: {"d": int(rng.integers(4, 20)), "variance": float(rng.uniform(0.2, 0.8)), "eps": eps}


NAMES = ("correct", "divided by d - 1", "1/d forgotten", "epsilon outside", "over the tokens", "mean not taken away")


def normed(X, eps):
    """X under each of the six names; the answer sees one at a time."""
    def mean(x, axis=1):
        return x.mean(axis=axis, keepdims=True)

    d, row, column = X.shape[1], X - mean(X), X - mean(X, 0)
    return np.stack([
        row / np.sqrt(mean(row * row) + eps),
        row / np.sqrt(mean(row * row) * d / (d - 1) + eps),
        row / np.sqrt(mean(row * row) * d + eps),
        row / (np.sqrt(mean(row * row)) + eps),
        column / np.sqrt(mean(column * column, 0) + eps),
        X / np.sqrt(mean(X * X) + eps),
    ])


def exhibits(n, d, innocent):
    """Outputs for one X, with a different fault each, in random order."""

    def make(rng):
        X, eps = tokens(rng, n, d), float(rng.uniform(0.05, 0.1))
        Y = normed(X, eps)[0 if innocent else 1 :]
        return {"X": X, "Y": Y[rng.permutation(len(Y))], "eps": eps}

    return make


def call_name_the_norm(answer, inputs):
    return places_of_names(NAMES, "output", inputs["Y"], lambda Y: answer(inputs["X"], Y, inputs["eps"]))
