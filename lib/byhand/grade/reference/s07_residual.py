"""The right answers, from the equations and without the library: each bears witness on the other."""

import numpy as np


def _rms_norm(X, gamma):
    return gamma * X / np.sqrt(np.mean(X**2, axis=-1, keepdims=True))


def wire(X, W, gamma, wiring, alpha):
    if wiring == "post":
        return _rms_norm(alpha * X + np.tanh(X @ W), gamma)
    F = np.tanh(_rms_norm(X, gamma) @ W)
    return F if wiring == "none" else alpha * X + F


def wire_gradient(dY, X, W, gamma, wiring, alpha):
    """By full Jacobians of one token at a time: slow, and written another way than the answer."""
    d, dX = X.shape[-1], np.empty_like(X)
    for at in np.ndindex(X.shape[:-1]):
        x = X[at]

        def norm_jacobian(z):
            r = np.sqrt(np.mean(z * z))
            return np.diag(gamma) @ (np.eye(d) / r - np.outer(z, z) / (d * r**3))

        def branch_jacobian(z):
            return np.diag(1 - np.tanh(z @ W) ** 2) @ W.T

        if wiring == "post":
            s = alpha * x + np.tanh(x @ W)
            J = norm_jacobian(s) @ (alpha * np.eye(d) + branch_jacobian(x))
        else:
            J = branch_jacobian(_rms_norm(x, gamma)) @ norm_jacobian(x)
            if wiring == "pre":
                J = J + alpha * np.eye(d)
        dX[at] = dY[at] @ J
    return dX


def sum_over_paths(slopes):
    terms = np.zeros(len(slopes) + 1)
    terms[0] = 1.0
    for f in slopes:
        terms[1:] += f * terms[:-1].copy()
    return terms


def _layer_norm(X):
    return (X - X.mean(axis=-1, keepdims=True)) / X.std(axis=-1, keepdims=True)


def name_the_sum(X, F, Y):
    candidates = {
        "X + F": X + F,
        "LN(X + F)": _layer_norm(X + F),
        "LN(X) + F": _layer_norm(X) + F,
        "X + LN(F)": X + _layer_norm(F),
        "F": F,
    }
    return next(name for name, Z in candidates.items() if np.allclose(Z, Y))


def last_layer_bound(layers, v, g, h):
    size = (1 + 2 * layers * v) ** 0.5
    return size, h * g / size


def first_loss(X, W, target):
    def loss(Z):
        logits = Z @ W
        top = logits.max(axis=1)
        return np.mean(top + np.log(np.exp(logits - top[:, None]).sum(axis=1)) - logits[range(len(target)), target])

    return loss(X), loss(_layer_norm(X))


def deep_start(layers):
    return (2 * layers) ** 0.25, (8 * layers) ** -0.25, 0.02 / np.sqrt(2 * layers)
