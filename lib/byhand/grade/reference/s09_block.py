"""The right answers, from the equations and without the library: each bears witness on the other."""

import math

import numpy as np


def _gate(X, name):
    """S and S'."""
    if name == "relu":
        return np.where(X > 0, 1.0, 0.0), np.zeros_like(X)
    c, a = math.sqrt(2 / math.pi), 0.044715
    inner, slope = (X, 1.0) if name == "silu" else (2 * c * (X + a * X**3), 2 * c * (1 + 3 * a * X**2))
    S = np.exp(-np.logaddexp(0, -inner))
    return S, S * (1 - S) * slope


def gate_gradient(dY, X, name):
    S, slope = _gate(X, name)
    return dY * (S + X * slope)


def swiglu_gradients(dY, X, W_g, W_1, W_2):
    inner, U = X @ W_g, X @ W_1
    S, slope = _gate(inner, "silu")
    dH = np.einsum("...d,fd->...f", dY, W_2)
    dU = dH * inner * S
    dinner = dH * U * (S + inner * slope)
    dX = np.einsum("...f,df->...d", dU, W_1) + np.einsum("...f,df->...d", dinner, W_g)
    dW_g, dW_1 = (_over_tokens(X, g) for g in (dinner, dU))
    return dX, dW_g, dW_1, _over_tokens(inner * S * U, dY)


def _over_tokens(X, dY):
    """The sum of xᵀ dy over every token of every sequence."""
    return np.tensordot(X, dY, axes=(tuple(range(X.ndim - 1)),) * 2)


def feed_forward(X, W_1, b_1, W_2, b_2):
    H = np.maximum(np.einsum("bdn,df->bfn", X, W_1) + b_1[:, None], 0)
    return np.einsum("bfn,fd->bdn", H, W_2) + b_2[:, None]


def dropout_gradients(dY, X, keep, p):
    factor = np.where(keep, 1 / (1 - p), 0.0)
    return X * factor, dY * factor


def _norm(x, gamma, beta):
    centred = x - x.mean(axis=-1, keepdims=True)
    s = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
    return centred / s * gamma + beta, (centred / s, s, gamma)


def _norm_back(dy, cache):
    x_hat, s, gamma = cache
    g = gamma * dy
    dx = (g - g.mean(axis=-1, keepdims=True) - x_hat * (g * x_hat).mean(axis=-1, keepdims=True)) / s
    return dx, (dy * x_hat).sum(axis=0), dy.sum(axis=0)


def _attend(X, p):
    Q, K, V = X @ p["W_q"], X @ p["W_k"], X @ p["W_v"]
    S = np.einsum("id,jd->ij", Q, K) / math.sqrt(Q.shape[-1])
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    A = E / E.sum(axis=-1, keepdims=True)
    return A @ V @ p["W_o"], (X, Q, K, V, A)


def _attend_back(dO, cache, p):
    X, Q, K, V, A = cache
    dZ = dO @ p["W_o"].T
    dA = dZ @ V.T
    dS = A * (dA - (A * dA).sum(axis=-1, keepdims=True)) / math.sqrt(Q.shape[-1])
    grads = {"Q": dS @ K, "K": dS.T @ Q, "V": A.T @ dZ}
    dX = sum(g @ p[f"W_{name.lower()}"].T for name, g in grads.items())
    return dX, {f"W_{name.lower()}": X.T @ g for name, g in grads.items()} | {"W_o": (A @ V).T @ dO}


def _feed(X, p):
    U = X @ p["W_1"] + p["b_1"]
    H = np.maximum(U, 0)
    return H @ p["W_2"] + p["b_2"], (X, U, H)


def _feed_back(dF, cache, p):
    X, U, H = cache
    dU = np.where(U > 0, dF @ p["W_2"].T, 0)
    return dU @ p["W_1"].T, {"W_1": X.T @ dU, "b_1": dU.sum(axis=0), "W_2": H.T @ dF, "b_2": dF.sum(axis=0)}


def block_gradients(dY, X, params, wiring):
    p, caches, grads = params, [], {}
    for i, layer in ((1, _attend), (2, _feed)):
        affine = p[f"gamma_{i}"], p[f"beta_{i}"]
        if wiring == "pre":
            X_bar, norm = _norm(X, *affine)
            out, inner = layer(X_bar, p)
            X = X + out
        else:
            out, inner = layer(X, p)
            X, norm = _norm(X + out, *affine)
        caches.append((norm, inner))
    Y, dX = X, dY
    for i, back in ((2, _feed_back), (1, _attend_back)):
        norm, inner = caches[i - 1]
        if wiring == "pre":
            d_bar, g = back(dX, inner, p)
            through, grads[f"gamma_{i}"], grads[f"beta_{i}"] = _norm_back(d_bar, norm)
            dX = dX + through
        else:
            dX, grads[f"gamma_{i}"], grads[f"beta_{i}"] = _norm_back(dX, norm)
            through, g = back(dX, inner, p)
            dX = dX + through
        grads |= g
    return Y, dX, {name: grads[name] for name in p}


def block_ledger(n, d, d_ff, heads, gated, bias):
    maps = [(d, d)] * 4 + [(d, d_ff)] * (1 + gated) + [(d_ff, d)]
    biases = bias * (5 * d + d_ff)
    weights = sum(k * m for k, m in maps)
    return weights + biases + 4 * d, 2 * n * weights, 2 * heads * (2 * n * n * (d // heads))


def gelu_cube(c):
    return c / 2, c**2 / 3 - 1 / 6
