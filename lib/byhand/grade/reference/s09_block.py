"""The right answers, from the equations and without the library: each bears witness on the other."""

import math

import numpy as np
import torch


def _gate(X, name):
    """S and S'."""
    logistic = np.exp(-np.logaddexp(0, -1.702 * X if name == "quick" else -X))
    if name == "quick":
        return logistic, 1.702 * logistic * (1 - logistic)
    if name == "hard":
        S = np.minimum(np.maximum(X / 6 + 0.5, 0), 1)
        return S, np.where((S > 0) & (S < 1), 1 / 6, 0.0)
    S = np.tanh(np.logaddexp(0, X))
    return S, logistic * (1 - S) * (1 + S)


def gate_gradient(dY, X, name):
    S, slope = _gate(X, name)
    return dY * (S + X * slope)


def swiglu_gradients(dY, X, W_g, W_1, W_2):
    inner, U = X @ W_g, X @ W_1
    S = np.exp(-np.logaddexp(0, -inner))
    slope = S * (1 - S)
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


def drop_branch(dY, X, F, keep, p, training):
    factor = np.where(keep, 1 / (1 - p), 0.0) if training else np.ones(len(X))
    return X + np.einsum("b,bnd->bnd", factor, F), dY, np.einsum("b,bnd->bnd", factor, dY)


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
    p, caches, grads, stream = params, [], {}, X
    for i, layer in ((1, _attend), (2, _feed)):
        affine = p[f"gamma_{i}"], p[f"beta_{i}"]
        if wiring == "post":
            out, inner = layer(stream, p)
            stream, norm = _norm(stream + out, *affine)
        else:
            bar, norm = _norm(X if wiring == "parallel" else stream, *affine)
            out, inner = layer(bar, p)
            stream = stream + out
        caches.append((norm, inner))
    dX = dY
    for i, back in ((2, _feed_back), (1, _attend_back)):
        norm, inner = caches[i - 1]
        if wiring == "post":
            dX, grads[f"gamma_{i}"], grads[f"beta_{i}"] = _norm_back(dX, norm)
            through, g = back(dX, inner, p)
        else:
            d_bar, g = back(dY if wiring == "parallel" else dX, inner, p)
            through, grads[f"gamma_{i}"], grads[f"beta_{i}"] = _norm_back(d_bar, norm)
        dX = dX + through
        grads |= g
    return stream, dX, {name: grads[name] for name in p}


def block_ledger(n, d, d_ff, heads, gated, bias):
    maps, feed = [(d, d)] * 4, [(d, d_ff)] * (1 + gated) + [(d_ff, d)]
    attention, wide = (sum(k * m for k, m in of) for of in (maps, feed))
    parameters = attention + wide + bias * (5 * d + d_ff) + 4 * d
    scores = 2 * heads * (2 * n * n * (d // heads))
    return parameters, 2 * n * attention, 2 * n * wide, scores, wide / (2 * d)


def gelu_cube(s):
    c = math.sqrt(2 / math.pi) / s
    return c, c**2 / 3 - 1 / (6 * s**2)


def max_layer(k):
    eye, none = np.eye(k), np.zeros((k, k))
    W_1 = np.hstack([np.vstack([eye, -eye]), np.vstack([none, eye]), np.vstack([none, -eye])])
    return W_1, np.zeros(3 * k), np.vstack([eye, eye, -eye]), np.zeros(k)


def who_stays(zero):
    """Not with pencil and paper: the gradients of a random block with this parameter at 0."""
    rng, (n, d, f) = np.random.default_rng(1), (5, 4, 7)
    sizes = dict.fromkeys(("W_q", "W_k", "W_v", "W_o"), (d, d)) | {"W_1": (d, f), "b_1": (f,), "W_2": (f, d)}
    sizes |= dict.fromkeys(("b_2", "gamma_1", "beta_1", "gamma_2", "beta_2"), (d,))
    params = {name: (name != zero) * rng.normal(size=size) for name, size in sizes.items()}
    grads = block_gradients(rng.normal(size=(n, d)), rng.normal(size=(n, d)), params, "pre")[2]
    return [name for name in sizes if np.abs(grads[name]).max() < 1e-12]


def make_gated_layer(d, f, p):
    class GatedLayer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.W_g = torch.nn.Parameter(torch.randn(d, f) / d**0.5)
            self.W_1 = torch.nn.Parameter(torch.randn(d, f) / d**0.5)
            self.W_2 = torch.nn.Parameter(torch.randn(f, d) / f**0.5)
            self.drop = torch.nn.Dropout(p)

        def forward(self, X):
            return self.drop((torch.nn.functional.silu(X @ self.W_g) * (X @ self.W_1)) @ self.W_2)

    return GatedLayer()


def table_layer(T):
    s, t, v = T.shape
    W_1 = np.vstack([np.repeat(np.eye(s), t, axis=1), np.tile(np.eye(t), s)])
    return W_1, -np.ones(s * t), T.reshape(s * t, v), np.zeros(v)
