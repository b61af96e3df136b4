"""Inputs of the cases, and what runs or measures an answer where a plain call is not enough."""

import numpy as np

from ...model import WrongAnswer, places_of_names


def weights(S, mask=True, axis=-1):
    """Softmax where the mask is True; used to make inputs, and in wrong answers."""
    allowed = np.broadcast_to(mask, S.shape)
    E = np.where(allowed, np.exp(np.where(allowed, S - S.max(axis=axis, keepdims=True), 0.0)), 0.0)
    total = E.sum(axis=axis, keepdims=True)
    return E / np.where(total == 0, 1, total)


def causal(n, k=0):
    return np.tri(n, k=k, dtype=bool)


def attend(X, late=False, k=0):
    S, mask = X @ X.mT / np.sqrt(X.shape[-1]), causal(X.shape[-2], k)
    return (weights(S) * mask if late else weights(S, mask)) @ X


def next_token(X):
    return X + np.concatenate([X[..., 1:, :], 0 * X[..., :1, :]], axis=-2)


PROBED = {
    "a running sum": [lambda X: np.cumsum(X, axis=-2)],
    "causal attention": [attend],
    "reads the next token": [next_token],
    "falls only": [lambda X: -(next_token(X) ** 2)],
    "three kinds of attention": [attend, lambda X: attend(X, late=True), lambda X: attend(X, k=1)],
    "norm over tokens": [lambda X: X - X.mean(axis=-2, keepdims=True)],
}


def probed(kind, n, d, t, lead=(), zero=False):
    def make(rng):
        X, new = rng.normal(size=(2, *lead, n, d))
        return {"kind": kind, "X": 0 * X if zero else X, "new": new, "t": t}

    return make


def call_leak(answer, inputs):
    found = []
    for f in PROBED[inputs["kind"]]:
        number = answer(f, inputs["X"], inputs["new"], inputs["t"])
        if number is None or number is Ellipsis:
            return None
        if np.ndim(number) != 0:
            raise WrongAnswer(f"returned an array of shape {np.shape(number)}, expected one number")
        found.append(float(number))
    return found


def padded(lengths, n, spread=1.0):
    def make(rng):
        return {"S": spread * rng.normal(size=(len(lengths), n, n)), "lengths": np.array(lengths)}

    return make


def text(n, lead=(), vocab=20):
    return lambda rng: {"ids": rng.integers(0, vocab, size=(*lead, n)), "bos": vocab}


def one_row(pattern):
    def make(rng):
        return {"s": rng.normal(size=len(pattern)), "mask": np.array([c == "1" for c in pattern])}

    return make


NAMES = ("correct", "after the softmax", "scores times mask", "off by one", "softmax over queries")


def masked_in(S, name):
    n = len(S)
    return {
        "correct": lambda: weights(S, causal(n)),
        "after the softmax": lambda: weights(S) * causal(n),
        "scores times mask": lambda: weights(S * causal(n)),
        "off by one": lambda: weights(S, causal(n, 1)),
        "softmax over queries": lambda: weights(S, causal(n), axis=0),
    }[name]()


def exhibits(n, innocent):
    """Weights of one S, with a different fault each, in random order."""

    def make(rng):
        S = rng.normal(size=(n, n))
        A = np.stack([masked_in(S, name) for name in NAMES[0 if innocent else 1 :]])
        return {"S": S, "A": A[rng.permutation(len(A))]}

    return make


def call_diagnose(answer, inputs):
    return places_of_names(NAMES, "matrix", inputs["A"], lambda A: answer(inputs["S"], A))


def sentences(lengths, n, d, holes=False):
    def make(rng):
        real = np.arange(n) < np.array(lengths)[:, None]
        if holes:
            real = real[:, rng.permutation(n)]
        return {"X": rng.normal(size=(len(lengths), n, d)), "real": real, "dy": rng.normal(size=(len(lengths), d))}

    return make


def pages(rng):
    real = rng.random((2, 3, 5)) < 0.5
    real[..., 0], real[..., 1] = False, True
    return {"X": rng.normal(size=(2, 3, 5, 4)), "real": real, "dy": rng.normal(size=(2, 3, 4))}


def one_sentence(rng):
    return {"X": rng.normal(size=(5, 3)), "real": np.arange(5) < 3, "dy": rng.normal(size=3)}
