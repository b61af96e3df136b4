"""The right answers, from the equations and without the library: each bears witness on the other."""

import numpy as np


def shift(texts, lengths, bos, pad, ignore):
    inputs, labels = np.full_like(texts, pad), np.full_like(texts, ignore)
    for b, k in enumerate(lengths):
        inputs[b, 0], inputs[b, 1:k] = bos, texts[b, : k - 1]
        labels[b, :k] = texts[b, :k]
    return inputs, labels


def memory_gradient(dY, Y, A, W):
    dM = np.zeros((A.shape[2], W.shape[1]))
    for i in reversed(range(len(A))):
        dY = dY * (1 - Y[i + 1] ** 2)
        dM += np.einsum("nm,nd,kd->mk", A[i], dY, W[i])
    return dM, dY


def what_was_sent(terms, dM):
    total = terms.sum(axis=0)
    candidates = {
        "correct": total,
        "only the last block": terms[-1],
        "only the first block": terms[0],
        "mean over the blocks": total / len(terms),
        "last block twice": total + terms[-1],
    }
    return min(candidates, key=lambda name: np.abs(candidates[name] - dM).max())


def cross_attention(Y, M, W_q, W_k, W_v, mask=None):
    S = np.einsum("...id,dk,...jc,ck->...ij", Y, W_q, M, W_k) / np.sqrt(W_q.shape[-1])
    S = S if mask is None else np.where(mask, S, -np.inf)
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    A = E / E.sum(axis=-1, keepdims=True)
    return np.einsum("...ij,...jd,dv->...iv", A, M, W_v), A


def two_uses_gradient(E, ids, dX, H, dZ, scale):
    dE = np.zeros_like(E)
    d, V = E.shape[1], E.shape[0]
    for word, dx, h, dz in zip(ids.ravel(), dX.reshape(-1, d), H.reshape(-1, d), dZ.reshape(-1, V), strict=True):
        dE[word] += scale * dx
        dE += np.outer(dz, h)
    return dE


def greedy(step, bos, eos, max_len):
    text = []
    for _ in range(max_len):
        word = int(step([bos, *text])[-1].argmax())
        if word == eos:
            break
        text.append(word)
    return text


def count(V, n_max, d, f, L):
    attention, feed_forward, norm = 4 * (d * d + d), (d * f + f) + (f * d + d), 2 * d
    return (V + n_max) * d + L * (attention + feed_forward + 2 * norm) + norm, 2 * d + f
