"""The right answers, from the equations and without the library: each bears witness on the other."""

import numpy as np


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


def table_gradient(dX, ids, V, scale):
    onehot = ids.reshape(-1, 1) == np.arange(V)
    return scale * onehot.astype(float).T @ dX.reshape(ids.size, -1)


def transformer_input(E, ids, P):
    return np.sqrt(E.shape[1]) * E[ids] + P


def tied_gradient(E, ids, dZ):
    S, s = np.eye(len(E))[ids], np.sqrt(E.shape[1])
    return s * S.T @ (dZ @ E) + dZ.T @ (s * S @ E)


def best_score(p_joint, p_word, q, k):
    return np.log(p_joint) - np.log(p_word) - np.log(q) - np.log(k)


def pair_gradients(u, w_true, W_drawn):
    ds_true = -1 / (1 + np.exp(w_true @ u))
    ds_drawn = 1 / (1 + np.exp(-(W_drawn @ u)))
    return ds_true * w_true + ds_drawn @ W_drawn, ds_true * u, np.outer(ds_drawn, u)


def patch_tokens(image, kernel, b):
    p = kernel.shape[-1]
    h, w, _ = image.shape
    tokens = [np.einsum("abk,jkab->j", image[r : r + p, s : s + p], kernel) + b
              for r in range(0, h, p) for s in range(0, w, p)]
    return np.array(tokens)
