"""The right answers, from the equations and without the library: each bears witness on the other."""

import numpy as np
import torch


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


def can_reach(masks):
    n = masks.shape[-1]
    seen = np.eye(n, dtype=bool)
    for mask in masks:
        seen = np.array([[any((mask[i, k] or i == k) and seen[k, j] for k in range(n)) for j in range(n)]
                         for i in range(n)])
    return seen


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


def backwards_head(n, V):
    W_q, W_k, W_v = np.zeros((V + n, n)), np.zeros((V + n, n)), np.zeros((V + n, V))
    for i in range(n):
        W_q[V + i, n - 1 - i] = 100.0 * np.sqrt(n)
        W_k[V + i, i] = 1.0
    for v in range(V):
        W_v[v, v] = 1.0
    return W_q, W_k, W_v


def greedy_loses(V, r):
    e = (V / r - 1) / (8 * V)
    first = np.full(V, 1 / V)
    first[0] += e
    first[1:] -= e / (V - 1)
    second = np.full((V, V), e / (V - 1))
    second[:, 0] = 1 - e
    second[0] = first
    return first, second


def write_with_cache(ids, steps, E, P, W_q, W_k, W_v):
    with torch.no_grad():
        keys, values, written, scores = [], [], [], []
        waiting = list(ids)
        for place in range(len(ids) + steps - 1):
            word = waiting[place] if place < len(waiting) else written[-1]
            x = E[word] + P[place]
            keys.append(x @ W_k)
            values.append(x @ W_v)
            if place >= len(ids) - 1:
                A = torch.softmax(torch.stack(keys) @ (x @ W_q) / W_q.shape[1] ** 0.5, dim=0)
                scores.append(E @ (x + A @ torch.stack(values)))
                written.append(int(scores[-1].argmax()))
        return torch.tensor(written), torch.stack(scores)


def text_score(logits, text, eos):
    total = 0.0
    for row, word in zip(logits, [*text, eos], strict=True):
        top = row.max()
        total += row[word] - top - np.log(np.exp(row - top).sum())
    return float(total)


def cost_of_writing(V, d, L, n):
    anew = sum(t * 24 * d * d * L + 4 * t * t * d * L + 2 * V * d for t in range(1, n + 1))
    kept = sum(24 * d * d * L + 4 * t * d * L + 2 * V * d for t in range(1, n + 1))
    return anew, kept
