"""The right answers, from the equations and without the library: each bears witness on the other."""

import math

import numpy as np
import torch


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


def repaired_stack(X, W, gamma, last):
    kept = np.empty((len(W), *X.shape))
    for l, M in enumerate(W):
        kept[l] = X
        X = X + np.tanh(_rms_norm(X, gamma[l]) @ M)
    return _rms_norm(X, last), kept


def stream_size(wiring, N, v, alpha):
    before, square = 1.0, 1.0
    for _ in range(N):
        before = square
        remark = {"raw": v * square, "sandwich": 1.0}.get(wiring, v)
        square = 1.0 if wiring == "post" else alpha**2 * square + remark
    return math.sqrt(square), math.sqrt(remark / before)


def first_loss(X, W, target):
    def loss(Z):
        logits = Z @ W
        top = logits.max(axis=1)
        return np.mean(top + np.log(np.exp(logits - top[:, None]).sum(axis=1)) - logits[range(len(target)), target])

    return loss(X), loss(_layer_norm(X))


def other_deep_start(layers, sublayers, matrices):
    K, p = layers * sublayers, matrices
    beta = math.exp(-(math.log(p) + math.log(K) / 2) / (2 * p - 2))
    return K**0.25, beta, 0.02 * K**-0.5


def equal_voices(N, v):
    voices = np.arange(1, N + 1)  # before sublayer l there are l + 1
    return np.sqrt(voices / (voices + 1)), np.sqrt(1 / (v * (voices + 1)))


def where_they_part(d):
    return np.ones(d), np.stack([2 * np.eye(d), -2 * np.eye(d)])


class Droppable(torch.nn.Module):
    def __init__(self, sublayer, p):
        super().__init__()
        self.sublayer, self.p = sublayer, p

    def forward(self, X):
        F = self.sublayer(X)
        if self.training:
            stays = torch.rand(len(X), 1, 1, dtype=X.dtype) >= self.p
            F = F * stays / (1 - self.p)
        return X + F


def make_droppable(sublayer, p):
    return Droppable(sublayer, p)


def after_a_lesion(slopes, removed):
    kept = [s for l, s in enumerate(slopes.tolist()) if l not in removed.tolist()]
    share = math.prod(1 + s for s in kept) / math.prod(1 + s for s in slopes.tolist())
    return 2 ** len(kept), share, math.fsum(s / (1 + s) for s in kept)
