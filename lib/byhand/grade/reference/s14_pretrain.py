"""The right answers, from the equations and without the library: each bears witness on the other."""

import itertools
import math

import numpy as np
import torch


def hide_words(ids, special, choice, fate, word, mask_id, rate):
    ordinary = [i for i in range(len(special)) if not special[i]]
    inputs, targets = ids.copy(), np.full_like(ids, -1)
    for at in np.ndindex(ids.shape):
        if special[ids[at]] or choice[at] >= rate:
            continue
        targets[at] = ids[at]
        if fate[at] < 0.8:
            inputs[at] = mask_id
        elif fate[at] < 0.9:
            inputs[at] = ordinary[int(word[at] * len(ordinary))]
    return inputs, targets


def pack_pair(a, b, n, cls, sep, pad):
    a, b = list(a), list(b)
    while len(a) + len(b) > n - 3:
        (a if len(a) > len(b) else b).pop()
    row = [(cls, 0), *((i, 0) for i in a), (sep, 0), *((i, 1) for i in b), (sep, 1)]
    full = row + [(pad, 0)] * (n - len(row))
    return np.array([i for i, _ in full]), np.array([k for _, k in full]), np.arange(n) < len(row)


def given_away(lengths):
    lengths = [int(m) for m in lengths]
    sentences = [(i, j) for i, m in enumerate(lengths) for j in range(m)]
    firsts = [(i, j) for i, j in sentences if j + 1 < lengths[i]]
    pairs = list(itertools.product(firsts, sentences))
    follows = sum(a[0] == b[0] and a[1] + 1 == b[1] for a, b in pairs) / len(pairs)
    same = sum(a[0] == b[0] for a, b in pairs) / len(pairs)
    heads = sum(b[1] == 0 for _, b in pairs) / len(pairs)
    return follows, same, (1 + heads) / 2, (1 + 1 - same) / 2


def tied_loss(E, W, mix, inputs, targets):
    total, L, dE, dW = int((targets >= 0).sum()), 0.0, np.zeros_like(E), np.zeros_like(W)
    for at in np.ndindex(targets.shape):
        y = targets[at]
        if y < 0:
            continue
        read, weights = inputs[at[:-1]], mix[at]
        x = sum(weight * E[i] for weight, i in zip(weights, read, strict=True))
        h = x @ W
        z = E @ h
        logs = z - z.max() - math.log(np.exp(z - z.max()).sum())
        L -= logs[y] / total
        dz = np.exp(logs) / total
        dz[y] -= 1 / total
        dE += np.outer(dz, h)
        dh = dz @ E
        dW += np.outer(x, dh)
        for weight, i in zip(weights, read, strict=True):
            dE[i] += weight * (W @ dh)
    return L, dE, dW


def layer_rates(paths, blocks, lr, share):
    rates = []
    for path in paths:
        parts, height = path.split("."), blocks + 1
        if "embedding" in parts:
            height = 0
        if "blocks" in parts:
            height = int(parts[parts.index("blocks") + 1]) + 1
        rates.append(lr * share ** ((blocks + 1 - height) / (blocks + 1)))
    return np.array(rates)


def name_the_flaw(train, y_train, test, y_test, said, dev, score, chosen):
    def words(row):
        return tuple(int(i) for i in row if i)

    texts = [words(row) for row in (*train, *test)]
    labels = [*y_train, *y_test]
    if set(texts[: len(train)]) & set(texts[len(train) :]):
        return "test text in train"
    if len(set(said.tolist())) == 1:
        return "one answer for all"
    if dev[chosen] < dev.max() and score[chosen] == score.max():
        return "chosen on the test"
    for label in (0, 1):
        with_it = [set(t) for t, y in zip(texts, labels, strict=True) if y == label]
        without = [set(t) for t, y in zip(texts, labels, strict=True) if y != label]
        if set.intersection(*with_it) - set.union(*without):
            return "label in a word"
    return "fair"


def adapter_gradients(X, M, A, B, W, alpha, dY):
    s = alpha / A.shape[1]
    dX, dA, dB = np.zeros_like(X), np.zeros_like(A), np.zeros_like(B)
    for at in np.ndindex(X.shape[:-1]):
        read, dy = X[at] * M[at], dY[at]
        dX[at] = W @ dy + s * M[at] * (A @ (B @ dy))
        dA += s * np.outer(read, B @ dy)
        dB += s * np.outer(read @ A, dy)
    return dX, dA, dB


def first_moves(G, A, alpha, lr):
    d, r = A.shape
    move_B = np.array([[-lr * alpha / r * (A[:, k] @ G[:, o]) for o in range(G.shape[1])] for k in range(r)])
    return np.zeros((d, r)), move_B, alpha / r * np.einsum("ik,ko->io", A, move_B), -lr * alpha**2 / (r * d)


def out_of_reach(r):
    return np.eye(2 * r), np.eye(2 * r)


def step_bill(L, n, d, r):
    whole, thin = 2 * n * d * d, 2 * n * d * r
    forward = L * whole
    full = forward + L * whole + (L - 1) * whole
    lowest = forward + whole + (L - 1) * whole
    highest = forward + whole
    lora = forward + 2 * L * thin + 3 * L * thin + (L - 1) * (whole + thin)
    return full, lowest, highest, lora, 2 * L * 2 * d * r


def make_adapted(base, r, alpha):
    class Adapted(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.base = base.requires_grad_(False)
            d_out, d_in = base.weight.shape
            self.A = torch.nn.Parameter(torch.randn(d_in, r, dtype=base.weight.dtype) / math.sqrt(d_in))
            self.B = torch.nn.Parameter(torch.zeros(r, d_out, dtype=base.weight.dtype))

        def forward(self, X):
            return self.base(X) + alpha / r * (X @ self.A @ self.B)

        @torch.no_grad()
        def merged(self):
            d_out, d_in = base.weight.shape
            one = torch.nn.Linear(d_in, d_out, base.bias is not None, dtype=base.weight.dtype)
            one.weight.copy_(base.weight + alpha / r * (self.A @ self.B).T)
            if base.bias is not None:
                one.bias.copy_(base.bias)
            return one

    return Adapted()


def what_was_lost(R):
    T = len(R)
    final = [float(x) for x in R[T - 1]]
    back = [final[j] - float(R[j, j]) for j in range(T - 1)]
    lost = [max(float(R[i, j]) for i in range(j, T - 1)) - final[j] for j in range(T - 1)]
    return sum(final) / T, sum(back) / (T - 1), sum(lost) / (T - 1)
