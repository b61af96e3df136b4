"""The right answers, from the equations and without the library: each bears witness on the other."""

import numpy as np


def leak(f, X, new, t):
    mixed = np.concatenate([X[..., :t, :], new[..., t:, :]], axis=-2)
    return max(np.abs(f(mixed) - f(X))[..., :t, :].ravel().tolist())


def _softmax(S, allowed):
    highest = np.where(allowed, S, -np.inf).max(axis=-1, keepdims=True)
    E = np.where(allowed, np.exp(np.where(allowed, S - highest, 0.0)), 0.0)
    total = E.sum(axis=-1, keepdims=True)
    return np.divide(E, total, out=np.zeros_like(E), where=total > 0)


def padded_weights(S, lengths):
    A = np.zeros_like(S)
    for b, length in enumerate(lengths):
        if length:
            A[b, :, :length] = _softmax(S[b, :, :length], np.ones((S.shape[1], length), bool))
    return A


def teacher_forcing(ids, bos):
    inputs = np.concatenate([np.full((*ids.shape[:-1], 1), bos), ids[..., :-1]], axis=-1)
    return inputs, ids.copy(), np.tril(np.ones((ids.shape[-1],) * 2, bool))


def mask_jacobians(s, mask):
    a, p = _softmax(s, mask), _softmax(s, np.ones_like(mask))
    after = np.array([[mask[j] * p[j] * ((j == k) - p[k]) for k in range(len(s))] for j in range(len(s))])
    return np.diag(a) - np.outer(a, a), after


def name_the_mask(S, A):
    n, every = len(S), np.ones(S.shape, bool)
    candidates = {
        "correct": _softmax(S, np.tri(n, dtype=bool)),
        "after the softmax": _softmax(S, every) * np.tri(n),
        "scores times mask": _softmax(S * np.tri(n), every),
        "off by one": _softmax(S, np.tri(n, k=1, dtype=bool)),
        "softmax over queries": _softmax(S.T, np.tri(n, dtype=bool).T).T,
    }
    return min(candidates, key=lambda name: np.abs(candidates[name] - A).max())


def masked_pool(X, real, dy):
    count = np.maximum(real.sum(axis=-1), 1)
    y = np.einsum("...i,...ic->...c", real.astype(float), X) / count[..., None]
    return y, np.einsum("...i,...c->...ic", real / count[..., None], dy)
