"""The right answers, from the equations and without the library: each bears witness on the other."""

import numpy as np
import torch


def learn_merges(ids, count):
    ids, merges = [int(i) for i in ids], []
    for new in range(256, 256 + count):
        totals = {}
        for pair in zip(ids[:-1], ids[1:], strict=True):
            totals[pair] = totals.get(pair, 0) + 1
        most = max(totals.values())
        best = min(pair for pair, n in totals.items() if n == most)
        merges.append(best)
        ids = _replace(ids, best, new)
    return np.array(merges)


def _replace(ids, pair, new):
    out = []
    for i in ids:
        out.append(i)
        if tuple(out[-2:]) == pair:
            out[-2:] = [new]
    return out


def encode_bytes(ids, merges):
    ids = [int(i) for i in ids]
    for k, (a, b) in enumerate(merges.tolist()):
        ids = _replace(ids, (a, b), 256 + k)
    return np.array(ids)


def spell_out(tokens, merges):
    waiting, out = [int(t) for t in tokens][::-1], []
    while waiting:
        token = waiting.pop()
        if token < 256:
            out.append(token)
        else:
            a, b = merges[token - 256].tolist()
            waiting += [b, a]
    return np.array(out)


def bag_gradient(dX, ids, V, pad):
    dE = np.zeros((V, dX.shape[-1]))
    for place in np.ndindex(ids.shape[:-1]):
        words = [v for v in ids[place].tolist() if v != pad]
        for v in words:
            dE[v] += dX[place] / len(words)
    return dE


def transformer_input(E, ids, P):
    return np.sqrt(E.shape[1]) * E[ids] + P


def tied_gradients(E, P, ids, dZ):
    (V, d), n = E.shape, ids.shape[-1]
    S, dZ = np.eye(V)[ids.reshape(-1, n)], dZ.reshape(-1, n, V)
    dE, dP = np.zeros((V, d)), np.zeros((n, d))
    for s, dz in zip(S, dZ, strict=True):
        dX = dz @ E
        dE += dz.T @ (np.sqrt(d) * s @ E + P) + np.sqrt(d) * s.T @ dX
        dP += dX
    return dE, dP


def scores_from_counts(counts, k, power):
    p_joint = counts / counts.sum()
    q = counts.sum(axis=0) ** float(power)
    made_up = k * np.outer(p_joint.sum(axis=1), q / q.sum())
    return np.log(p_joint) - np.log(made_up), 1 / (1 / p_joint + 1 / made_up)


def batch_gradients(U, W, t, c):
    n = len(U)
    y = 2 * np.eye(n) - 1
    z = t * U @ W.T + c
    G = -y * np.exp(-np.logaddexp(0, y * z)) / n
    return t * G @ W, t * G.T @ U, (G * (U @ W.T)).sum(), G.sum()


def patch_tokens(image, kernel, b):
    p = kernel.shape[-1]
    h, w, _ = image.shape
    tokens = [np.einsum("abk,jkab->j", image[r : r + p, s : s + p], kernel) + b
              for r in range(0, h, p) for s in range(0, w, p)]
    return np.array(tokens)


def longest_first_wins(letters):
    a, *rest = letters.tolist()
    if not rest:
        return np.array([(a, a), (a, 256)]), np.array([a, a, a])
    b, c = rest if len(rest) == 2 else (a, *rest)
    return np.array([(b, c), (a, b), (257, c)]), np.array([a, b, c])


def tokens_of_a_run(n, m):
    return np.array([i // 2**m + (i % 2**m).bit_count() for i in n.tolist()])


def draw_negatives(r, counts, contexts, power):
    ids = np.zeros(r.shape, int)
    for b, true in enumerate(contexts.tolist()):
        weight = np.where(counts > 0, counts, 0.0) ** power
        weight[true] = 0.0
        edges = np.cumsum(weight / weight.sum())
        ids[b] = np.searchsorted(edges, r[b], side="right")
    return ids


class _Tied(torch.nn.Module):
    def __init__(self, V, d, pad):
        super().__init__()
        self.E = torch.nn.Parameter(torch.randn(V, d) / d**0.5)
        self.register_buffer("known", (torch.arange(V) != pad)[:, None])

    def table(self):
        return self.E * self.known

    def forward(self, ids):
        return self.E.shape[1] ** 0.5 * self.table()[ids]

    def score(self, X):
        return X @ self.table().T


def make_tied(V, d, pad):
    return _Tied(V, d, pad)


def tables_by_hand(themes, belongs, noise, q, k):
    C, T = belongs.shape
    low = noise / C
    high = low + (1 - noise) * T / (2 * C)
    s_low, s_high = np.log(low / q) - np.log(k), np.log(high / q) - np.log(k)
    return themes * 1.0, np.where(belongs == 1, (s_high - s_low / 2)[:, None], s_low[:, None] / 2)
