"""The right answers, from the equations and without the library: each bears witness on the other."""

import math

import numpy as np
import torch


def _softmax(S):
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)


def how_far_rows_see(n, H):
    token = np.arange(n * H).reshape(n, H) % n
    last = token.max(axis=1)
    return last, int((last > np.arange(n)).sum())


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


def _circuits(W, H):
    q, k, v = (np.stack(np.split(W[x], H, axis=1)) for x in ("W_q", "W_k", "W_v"))
    qk = np.einsum("hac,hbc->hab", q, k)
    ov = np.einsum("hac,hcb->hab", v, np.stack(np.split(W["W_o"], H)))
    return [np.concatenate([a.ravel(), b.ravel()]) for a, b in zip(qk, ov, strict=True)]


def same_layer(first, second, H):
    left, right = _circuits(first, H), _circuits(second, H)
    for circuit in left:
        gaps = [np.abs(circuit - other).max() for other in right]
        if min(gaps) > 1e-8:
            return False
        right.pop(int(np.argmin(gaps)))
    return True


def grouped_freedom(d, H, G, d_k, d_v):
    return d * (H + G) * (d_k + d_v) - G * (d_k**2 + d_v**2)


def heads_can_move(layer, X, W_q, W_k, W_v, W_o, H):
    order = np.roll(np.arange(H), 1)
    few = [np.concatenate([np.split(W, H, axis=1)[h] for h in order], axis=1) for W in (W_q, W_k, W_v)]
    rows = np.concatenate([np.split(W_o, H)[h] for h in order])
    return bool(np.abs(layer(X, *few, rows, H) - layer(X, W_q, W_k, W_v, W_o, H)).max() < 1e-9)


def prune(W_q, W_k, W_v, W_o, H, keep):
    few = [np.concatenate([np.split(W, H, axis=1)[h] for h in keep], axis=1) for W in (W_q, W_k, W_v)]
    return *few, np.concatenate([np.split(W_o, H)[h] for h in keep])


def longest_text(memory, layers, texts, H, G, d_k, d_v, bytes_each):
    return memory // (layers * texts * G * (d_k + d_v) * bytes_each)


def make_multihead(d, H):
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for name in ("W_q", "W_k", "W_v", "W_o"):
                setattr(self, name, torch.nn.Parameter(torch.randn(d, d) / math.sqrt(d)))

        def forward(self, X):
            O, ahead = 0, torch.ones(X.shape[1], X.shape[1]).triu(1).bool()
            for h in range(H):
                a = slice(h * d // H, (h + 1) * d // H)
                S = X @ self.W_q[:, a] @ (X @ self.W_k[:, a]).mT / math.sqrt(d // H)
                A = S.masked_fill(ahead, -torch.inf).softmax(dim=-1)
                O = O + A @ (X @ self.W_v[:, a]) @ self.W_o[a]
            return O

    return Layer()


def induction_head(size, p):
    own, before = np.eye(2 * size)[:, :size], np.eye(2 * size)[:, size:]
    strength = np.sqrt(size) * np.log(2 * size * p / (1 - p))
    return strength * own, before, own, np.eye(size)


def from_checkpoint(W, H, layout):
    match layout:
        case "side by side":
            return tuple(part.T.copy() for part in np.split(W, 3))
        case "by head":
            blocks = W.reshape(H, 3, -1, W.shape[1])
            return tuple(np.concatenate([blocks[h, i].T for h in range(H)], axis=1) for i in range(3))
        case "apart":
            return tuple(np.concatenate(list(part), axis=1) for part in W)
