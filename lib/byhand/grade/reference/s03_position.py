"""The right answers, from the equations and without the library: each bears witness on the other."""

import math

import numpy as np
import torch


def moved_code(delta, d, base):
    M = np.zeros((d, d))
    for i in range(d // 2):
        turn = np.exp(1j * delta * base ** (-2 * i / d))
        M[2 * i, 2 * i : 2 * i + 2] = turn.real, -turn.imag
        M[2 * i + 1, 2 * i : 2 * i + 2] = turn.imag, turn.real
    return M


def _spin(X, positions, base, sign):
    d = X.shape[-1]
    turn = np.exp(sign * 1j * np.outer(positions, [base ** (-2 * i / d) for i in range(d // 2)]))
    Z = (X[..., ::2] + 1j * X[..., 1::2]) * turn
    return np.stack([Z.real, Z.imag], axis=-1).reshape(X.shape)


def turned_pairs(X, dY, positions, base):
    return _spin(X, positions, base, 1), _spin(dY, positions, base, -1)


def first_collision(periods, wave):
    """With whole numbers alone: two places look alike to a clock if they are equal, or mirrored, on its dial."""
    turn = math.lcm(*periods.tolist())

    def alike(p, q):
        for T in periods.tolist():
            same = (p - q) % T == 0
            if wave == "cos":
                same |= (p + q) % T == 0
            if wave == "sin":  # sin x = sin(π − x)
                same |= (2 * (p + q) - T) % (2 * T) == 0
            if not same:
                return False
        return True

    return next(p + 1 for p in range(turn + 1) if any(alike(p, q) for q in range(p)))


def rotary_attention(Q, K, V, positions, base):
    H, n, d_k = Q.shape
    Z = np.empty((n, H * d_k))
    for h in range(H):
        S = np.einsum("id,jd->ij", _spin(Q[h], positions, base, 1), _spin(K[h], positions, base, 1)) / np.sqrt(d_k)
        E = np.exp(S - S.max(axis=1, keepdims=True))
        Z[:, h * d_k : (h + 1) * d_k] = np.einsum("ij,jd->id", E, V[h]) / E.sum(axis=1)[:, None]
    return Z


def other_pairing(W, heads):
    by_pair = W.reshape(W.shape[0], heads, -1, 2)  # (d, head, pair, first or second)
    return np.swapaxes(by_pair, -1, -2).reshape(W.shape)


def code_distance(delta, d, base):
    return 4 * sum(np.sin(delta * base ** (-2 * i / d) / 2) ** 2 for i in range(d // 2))


def bias_table_gradient(dS, reach):
    *_, H, n, m = dS.shape
    summed, table = dS.reshape(-1, H, n, m).sum(axis=0), np.zeros((H, 2 * reach + 1))
    for r in range(1 - n, m):
        table[:, reach + min(max(r, -reach), reach)] += np.trace(summed, r, 1, 2)
    return table


def first_negative_score(x, base):
    delta, score = 0, 1.0
    while score >= 0:
        delta += 1
        score = float(_spin(x[None], [delta], base, 1)[0] @ x)
    return delta, score


def head_that_looks_back(back, n, d_k, base):
    k = np.full(d_k, 1e3)
    return _spin(k[None], [-back], base, 1)[0], k


class Rotary(torch.nn.Module):
    def __init__(self, d, base, longest):
        super().__init__()
        angle = torch.arange(longest, dtype=torch.float64)[:, None] * base ** (
            -torch.arange(0, d, 2, dtype=torch.float64) / d)
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())

    def forward(self, X, positions=None):
        at = slice(X.shape[-2]) if positions is None else positions
        x, y = X.unflatten(-1, (-1, 2)).unbind(-1)
        c, s = self.cos[at], self.sin[at]
        return torch.stack([x * c - y * s, x * s + y * c], dim=-1).flatten(-2)


def make_rotary(d, base, longest):
    return Rotary(d, base, longest)


def continued_attention(Q, K, V, keys, values, base):
    m, (n, d_k) = len(keys), Q.shape
    places = range(m, m + n)
    Q, keys, V = _spin(Q, places, base, 1), np.vstack([keys, _spin(K, places, base, 1)]), np.vstack([values, V])
    O = np.empty((n, d_k))
    for i in range(n):
        s = keys[: m + i + 1] @ Q[i] / np.sqrt(d_k)
        e = np.exp(s - s.max())
        O[i] = e @ V[: m + i + 1] / e.sum()
    return O, keys


def stretched(reach, s, d, base):
    turns = [reach * base ** (-2 * r / d) / (2 * math.pi) for r in range(d // 2)]
    return sum(turn < 1 for turn in turns), base * s ** (d / (d - 2))
