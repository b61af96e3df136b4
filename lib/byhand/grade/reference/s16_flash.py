"""The right answers, from the equations and without the library: each bears witness on the other."""

import math

import numpy as np


def roof(tokens, d_in, d_out, itemsize, peak, bandwidth):
    flops = 2 * tokens * d_in * d_out
    size = itemsize * (tokens * d_in + d_in * d_out + tokens * d_out)
    return flops / size, max(flops / peak, size / bandwidth)


def merge(m_a, l_a, o_a, m_b, l_b, o_b):
    m, l, o = m_a.copy(), l_a.copy(), o_a.copy()
    for at in np.ndindex(m.shape):
        if m_b[at] == -np.inf:
            continue
        if m_a[at] == -np.inf:
            m[at], l[at], o[at] = m_b[at], l_b[at], o_b[at]
            continue
        m[at] = max(m_a[at], m_b[at])
        keep, add = math.exp(m_a[at] - m[at]), math.exp(m_b[at] - m[at])
        l[at], o[at] = keep * l_a[at] + add * l_b[at], keep * o_a[at] + add * o_b[at]
    return m, l, o


def attend(Q, K, V, block):
    S = Q @ K.T / math.sqrt(Q.shape[1])
    E = np.exp(S - S.max(axis=1, keepdims=True))
    return E @ V / E.sum(axis=1, keepdims=True)


def grouped_backward(dO, Q, K, V, O, L):
    times, scale = len(Q) // len(K), 1 / math.sqrt(Q.shape[-1])
    dQ, dK, dV = np.zeros_like(Q), np.zeros_like(K), np.zeros_like(V)
    for h in range(len(Q)):
        g = h // times
        A = np.exp(scale * Q[h] @ K[g].T - L[h][:, None])
        dA = dO[h] @ V[g].T
        dS = A * (dA - (A * dA).sum(axis=1, keepdims=True))
        dV[g] += A.T @ dO[h]
        dQ[h] = scale * dS @ K[g]
        dK[g] += scale * dS.T @ Q[h]
    return dQ, dK, dV


def cache_of(layers, heads, groups, d_k, tokens, window, itemsize, budget):
    size = 0
    for layer in range(layers):
        size += 2 * groups * d_k * itemsize * (tokens if layer % 2 == 0 else min(tokens, window))
    return size, budget // size


def go_on(Q, K, V, R, z):
    A = np.tril(Q @ K.T)
    O = (A @ V + Q @ R) / (A.sum(axis=1) + Q @ z)[:, None]
    return O, R + K.T @ V, z + K.sum(axis=0)


def scaled_step(weights, grads, scale, rate, max_norm):
    if not np.isfinite(grads).all():
        return weights.copy(), scale / 2
    g = grads.astype(np.float64) / scale
    norm = math.sqrt((g * g).sum())
    return weights - rate * min(1.0, max_norm / norm) * g, scale


def accumulated(W, X, Y, mask):
    D = (X @ W - Y) * mask[..., None]
    return 2 * X.flatten(0, 1).T @ D.flatten(0, 1) / mask.sum()


def exponent(N, bits, floor):
    def slope(b):
        x, y = np.log(N) - np.log(N).mean(), np.log(b.mean(axis=1) - floor)
        return -(x * (y - y.mean())).sum() / (x * x).sum()

    left_out = [slope(np.delete(bits, s, axis=1)) for s in range(bits.shape[1])]
    return slope(bits), min(left_out), max(left_out)


def timing_fault(seconds, flops, peak):
    later = np.sort(seconds[1:])
    middle = np.median(later)
    if flops / middle > peak:
        return "no synchronise"
    if seconds[0] > 3 * middle:
        return "first call"
    return "noise" if later[-1] > 2 * later[0] else "sound"


def split_bill(n, d, heads, groups, d_ff, layers, vocab, causal):
    d_k = d // heads
    pairs = sum(i + 1 for i in range(n)) if causal else n * n
    maps = attention = feed_forward = 0
    for _ in range(layers):
        for wide in (heads, groups, groups, heads):  # Q, K, V, O
            maps += 2 * n * d * wide * d_k
        for _ in range(heads):
            attention += 2 * pairs * d_k + 2 * pairs * d_k
        feed_forward += 2 * n * d * d_ff + 2 * n * d_ff * d
    rest = (maps + feed_forward) // (layers * n)  # of one token in one block
    half = rest / (2 * d) - 1 if causal else rest / (4 * d)
    return 0, maps, attention, feed_forward, 2 * n * d * vocab, half
