"""The right answers of set 17, written without the library."""

import numpy as np


def gain_norm(dY, X, g):
    r = np.sqrt((X * X).mean(axis=-1, keepdims=True) + 1e-6)
    N = X / r
    G = dY * (1 + g)
    dX = (G - N * (G * N).mean(axis=-1, keepdims=True)) / r
    return N * (1 + g), dX, (dY * N).sum(axis=0)


def _softmax(S):
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)


def grouped_attention(Q, K, V):
    B, H, n, k = Q.shape
    K, V = (np.repeat(Y, H // K.shape[1], axis=1) for Y in (K, V))
    S = np.where(np.tri(n, dtype=bool), Q @ K.mT / np.sqrt(k), -np.inf)
    return (_softmax(S) @ V).swapaxes(1, 2).reshape(B, n, H * k)


def capped_gradients(dO, Q, K, V, c):
    scale = 1 / np.sqrt(Q.shape[-1])
    t = np.tanh(Q @ K.T * scale / c)
    A = _softmax(c * t)
    dA = dO @ V.T
    dS = A * (dA - (A * dA).sum(axis=-1, keepdims=True))
    dS = dS * (1 - t * t) * scale
    return dS @ K, dS.T @ Q, A.T @ dO


def tied_gradient(dZ, ids, E):
    count = np.arange(1, len(ids) + 1)[:, None]
    H = np.cumsum(E[ids], axis=0) / count
    dX = np.cumsum((dZ @ E / count)[::-1], axis=0)[::-1]
    dE = dZ.T @ H
    np.add.at(dE, ids, dX)
    return dE


def padded_loss(logits, ids, lengths):
    B, n, V = logits.shape
    P = _softmax(logits[:, :-1])
    Q = np.eye(V)[ids[:, 1:]]
    keep = (np.arange(1, n) < lengths[:, None])[..., None]
    count = keep.sum()
    L = -(np.log((P * Q).sum(axis=-1, keepdims=True)) * keep).sum() / count
    d = np.zeros(logits.shape)
    d[:, :-1] = (P - Q) * keep / count
    return L, d


def lion_step(theta, g, m, lr, decay):
    step = np.sign(0.9 * m + 0.1 * g)
    return theta - lr * (step + decay * theta), 0.99 * m + 0.01 * g


def read_in_pieces(ids, cut, E, P, W_q, W_k, W_v):
    X = E[ids] + P[: len(ids)]
    S = (X @ W_q) @ (X @ W_k).T / np.sqrt(E.shape[1])
    S = np.where(np.tri(len(ids), dtype=bool), S, -np.inf)
    return (X + _softmax(S) @ (X @ W_v)) @ E.T


def draw_words(logits, T, p, u):
    w = _softmax(logits / T)
    order = np.argsort(-w, kind="stable")
    size = 1 + (np.cumsum(w[order]) < p).sum()
    kept = np.zeros(len(w))
    kept[order[:size]] = w[order[:size]]
    share = np.cumsum(kept)
    return (share / share[-1] > u[:, None]).argmax(axis=1)


def three_steps(W, X, y, lr, parts):
    import torch
    import torch.nn.functional as F

    W = W.clone().requires_grad_()
    for _ in range(3):
        L = F.cross_entropy(X @ W, y)
        (slope,) = torch.autograd.grad(L, W)
        W = (W - lr * slope).detach().requires_grad_()
    return W.detach()


def probe_model(model, ids, V):
    B, n = ids.shape
    base, future, mates = model(ids), 0.0, 0.0
    for shift in range(1, V):
        for b in range(B):
            for t in range(1, n):
                other = ids.copy()
                other[b, t] = (other[b, t] + shift) % V
                future = max(future, np.abs(model(other) - base)[b, :t].max())
            other = (ids + shift) % V
            other[b] = ids[b]
            mates = max(mates, np.abs(model(other) - base)[b].max())
    return future, mates


def hiding_place(X, gamma):
    C = X - X.mean()
    N = C / np.sqrt((C * C).mean() + 1e-5)
    rows = np.stack([np.ones(len(X)), N, gamma, gamma * N])
    dY = np.linalg.svd(rows)[2][-1]
    return dY / np.abs(dY).max()


def what_is_wrong(slopes, gap, leak, loss, floor):
    wrong = np.flatnonzero(slopes > 1e-5)
    if gap > 1e-6:
        return "mask" if leak > 1e-6 else "wiring"
    if len(wrong):
        return ("loss", "head", "last norm", "gelu", "norm 2", "attention")[wrong[0]]
    return "labels" if loss < floor else "none"
