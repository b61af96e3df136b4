"""The right answers, from the equations and without the library: each bears witness on the other."""

import numpy as np


def layer_norm(X, gamma, beta, eps):
    rows = X.reshape(-1, X.shape[-1])
    Y = np.empty_like(rows)
    for t, x in enumerate(rows):
        c = x - x.sum() / x.size
        Y[t] = gamma * c / np.sqrt(c @ c / x.size + eps) + beta
    return Y.reshape(X.shape)


def _jacobian(x_hat, s):
    d = x_hat.size
    return (np.eye(d) - np.ones((d, d)) / d - np.outer(x_hat, x_hat) / d) / s


def layer_norm_gradients(dY, X_hat, s, gamma):
    d = X_hat.shape[-1]
    rows = zip(dY.reshape(-1, d), X_hat.reshape(-1, d), s.reshape(-1), strict=True)
    dX = np.stack([_jacobian(x_hat, root) @ (gamma * dy) for dy, x_hat, root in rows])
    dgamma = np.einsum("td,td->d", dY.reshape(-1, d), X_hat.reshape(-1, d))
    return dX.reshape(X_hat.shape), dgamma, np.einsum("td->d", dY.reshape(-1, d))


def rms_norm_gradients(dY, X, gamma, eps):
    d = X.shape[-1]
    dX, dgamma = [], np.zeros(d)
    for dy, x in zip(dY.reshape(-1, d), X.reshape(-1, d), strict=True):
        r = np.sqrt(x @ x / d + eps)
        J = np.eye(d) / r - np.outer(x, x) / (d * r * r * r)
        dX.append(J @ (gamma * dy))
        dgamma += dy * x / r
    return np.stack(dX).reshape(X.shape), dgamma


def batch_norm_step(X, mean, var, momentum, eps):
    rows = X.reshape(-1, X.shape[-1])
    N = len(rows)
    mu = np.einsum("td->d", rows) / N
    squares = np.einsum("td,td->d", rows - mu, rows - mu)
    X_hat = (rows - mu) / np.sqrt(squares / N + eps)
    return (
        X_hat.reshape(X.shape),
        mean + momentum * (mu - mean),
        var + momentum * (squares / (N - 1) - var),
    )


def standardize_real(X, lengths, kind, eps):
    Y = np.zeros_like(X)
    axis = {"token": 1, "instance": 0}[kind]
    for b, length in enumerate(lengths):
        x = X[b, :length]
        c = x - x.mean(axis=axis, keepdims=True)
        Y[b, :length] = c / np.sqrt((c * c).mean(axis=axis, keepdims=True) + eps)
    return Y


def jacobian_values(d, variance, eps):
    s = np.sqrt(variance + eps)
    return 0.0, eps / s**3, 1 / s


def name_the_norm(X, Y, eps):
    c = X - X.mean(axis=1, keepdims=True)
    t = X - X.mean(axis=0)
    d = X.shape[1]
    candidates = {
        "correct": c / np.sqrt((c * c).sum(1, keepdims=True) / d + eps),
        "divided by d - 1": c / np.sqrt((c * c).sum(1, keepdims=True) / (d - 1) + eps),
        "1/d forgotten": c / np.sqrt((c * c).sum(1, keepdims=True) + eps),
        "epsilon outside": c / (np.sqrt((c * c).sum(1, keepdims=True) / d) + eps),
        "over the tokens": t / np.sqrt((t * t).mean(axis=0) + eps),
        "mean not taken away": X / np.sqrt((X * X).mean(axis=1, keepdims=True) + eps),
    }
    return min(candidates, key=lambda name: np.abs(candidates[name] - Y).max())
