"""The right answers, from the equations and without the library: each bears witness on the other."""

import numpy as np


def _softmax(S):
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)


def whose_numbers(n, H):
    piece = np.arange(n * H).reshape(n, H)
    return piece % n, piece // n


def multihead(X, M, W_q, W_k, W_v, W_o, H, mask=None):
    O, A = 0, []
    for q, k, v, o in zip(*(np.split(W, H, axis=1) for W in (W_q, W_k, W_v)), np.split(W_o, H), strict=True):
        S = np.einsum("...ic,...jc->...ij", X @ q, M @ k) / np.sqrt(q.shape[1])
        A.append(_softmax(S if mask is None else np.where(mask, S, -np.inf)))
        O = O + A[-1] @ (M @ v) @ o
    return O, np.stack(A, axis=-3)


def multihead_gradients(dO, X, M, W_q, W_k, W_v, W_o, A):
    H = A.shape[-3]
    dX, dM, parts = 0, 0, {"q": [], "k": [], "v": [], "o": []}
    for h, (q, k, v, o) in enumerate(
        zip(*(np.split(W, H, axis=1) for W in (W_q, W_k, W_v)), np.split(W_o, H), strict=True)
    ):
        a, V = A[..., h, :, :], M @ v
        dZ = dO @ o.T
        dA = np.einsum("...ic,...jc->...ij", dZ, V)
        dS = a * (dA - (a * dA).sum(axis=-1, keepdims=True)) / np.sqrt(q.shape[1])
        dQ, dK = dS @ (M @ k), np.einsum("...ij,...ic->...jc", dS, X @ q)
        dV = np.einsum("...ij,...ic->...jc", a, dZ)
        dX, dM = dX + dQ @ q.T, dM + dK @ k.T + dV @ v.T
        for name, left, right in (("q", X, dQ), ("k", M, dK), ("v", M, dV), ("o", a @ V, dO)):
            parts[name].append(left.reshape(-1, left.shape[-1]).T @ right.reshape(-1, right.shape[-1]))
    return dX, dM, *(np.concatenate(parts[x], axis=1) for x in "qkv"), np.concatenate(parts["o"])


def as_sum(W_q, W_k, W_v, W_o, H):
    blocks = [np.stack(np.split(W, H, axis=1)) for W in (W_q, W_k, W_v)]
    return blocks[0], blocks[1], np.einsum("hdc,hco->hdo", blocks[2], np.stack(np.split(W_o, H)))


def free_parameters(d, H, d_k, d_v):
    return H * (d_k * (2 * d - d_k) + d_v * (2 * d - d_v))


def diagnose_wiring(X, M, W_q, W_k, W_v, W_o, H, O):
    first = [np.tile(W[:, : W.shape[1] // H], H) for W in (W_q, W_k, W_v)]
    _, A = multihead(X, M, W_q, W_k, W_v, W_o, H)
    Z = np.stack([a @ (M @ v) for a, v in zip(A, np.split(W_v, H, axis=1), strict=True)])
    candidates = {
        "correct": multihead(X, M, W_q, W_k, W_v, W_o, H)[0],
        "merged without transpose": Z.reshape(len(X), -1) @ W_o,
        "one projection for all": multihead(X, M, *first, W_o, H)[0],
        "keys and values swapped": multihead(X, M, W_q, W_v, W_k, W_o, H)[0],
        "queries from memory": multihead(M, X, W_q, W_k, W_v, W_o, H)[0],
    }
    return min(candidates, key=lambda name: np.abs(candidates[name] - O).max())


def prune(W_q, W_k, W_v, W_o, H, keep):
    few = [np.concatenate([np.split(W, H, axis=1)[h] for h in keep], axis=1) for W in (W_q, W_k, W_v)]
    return *few, np.concatenate([np.split(W_o, H)[h] for h in keep])


def shared_gradient(dK, G):
    each = dK.shape[-3] // G
    return np.stack([dK[..., g * each : (g + 1) * each, :, :].sum(axis=-3) for g in range(G)], axis=-3)
