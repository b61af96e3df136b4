"""The right answers, from the equations and without the library: each bears witness on the other."""

import math

import numpy as np
import torch


def attention(Q, K, V, mask=None):
    S = np.einsum("...id,...jd->...ij", Q, K) / np.sqrt(Q.shape[-1])
    allowed = np.broadcast_to(True if mask is None else mask, S.shape)
    highest = np.where(allowed, S, -np.inf).max(axis=-1, keepdims=True)
    E = np.where(allowed, np.exp(np.where(allowed, S - highest, 0.0)), 0.0)
    total = E.sum(axis=-1, keepdims=True)
    A = np.divide(E, total, out=np.zeros_like(E), where=total > 0)
    return np.einsum("...ij,...jd->...id", A, V), A


def softmax_vjp(dA, A):
    return A * (dA - np.einsum("...ij,...ij->...i", A, dA)[..., None])


def sink_gradients(dO, Q, K, V, A):
    dV = np.einsum("...ij,...id->...jd", A, dO)
    dA = np.einsum("...id,...jd->...ij", dO, V)
    dS = A * (dA - np.einsum("...ij,...ij->...i", A, dA)[..., None])
    db = -dS.sum()
    dR = dS / np.sqrt(Q.shape[-1])
    return np.einsum("...ij,...jd->...id", dR, K), np.einsum("...ij,...id->...jd", dR, Q), dV, db


def bias_gradients(dO, dS, A, Q, K):
    scale = 1 / np.sqrt(Q.shape[-1])
    db_q = scale * np.einsum("ij,jd->d", dS, K)
    db_k = scale * np.einsum("ij,id->d", dS, Q)
    db_v = np.einsum("ij,id->d", A, dO)
    return db_q, db_k, db_v


def scores_of_rank(n, d_k, r):
    Q = np.eye(n, d_k)
    Q[:, r:] = 0
    return Q, np.eye(n, d_k)


def related_score(d_k, rho, fourth):
    return rho * np.sqrt(d_k), 1 + rho**2 * (fourth - 2)


def diagnose(Q, K, A, d_model):
    S, d_k = np.einsum("id,jd->ij", Q, K), Q.shape[-1]
    candidates = {
        "correct": (np.sqrt(d_k), 1),
        "softmax over queries": (np.sqrt(d_k), 0),
        "no scale": (1, 1),
        "divided by d_k": (d_k, 1),
        "divided by sqrt(d_model)": (np.sqrt(d_model), 1),
    }

    def distance(name):
        scale, axis = candidates[name]
        E = np.exp(S / scale - (S / scale).max(axis=axis, keepdims=True))
        return np.abs(E / E.sum(axis=axis, keepdims=True) - A).max()

    return min(candidates, key=distance)


def _unit(X):
    length = np.sqrt(np.einsum("...d,...d->...", X, X))[..., None]
    return X / length, length


def cosine_gradients(dS, Q, K, T):
    (q, q_length), (k, k_length) = _unit(Q), _unit(K)
    dq, dk = np.einsum("...ij,...jd->...id", dS, k) / T, np.einsum("...ij,...id->...jd", dS, q) / T
    dQ = (dq - q * (q * dq).sum(axis=-1, keepdims=True)) / q_length
    dK = (dk - k * (k * dk).sum(axis=-1, keepdims=True)) / k_length
    return dQ, dK, -(dS * np.einsum("...id,...jd->...ij", q, k)).sum() / T**2


def blind_test(p):
    Q = np.sqrt(np.log(p / (1 - p)) / 2) * np.array([[1.0], [-1.0]])
    return Q, Q.copy()


def after_change(a, change, j):
    match change:
        case "all higher":
            return a.copy()
        case "doubled":
            return a**2 / (a**2).sum()
        case "forbidden":
            return np.where(np.arange(a.size) == j, 0, a) / (1 - a[j])
        case "twice":
            return np.append(a, a[j]) / (1 + a[j])


def previous_token(n, p):
    angle = 2 * np.pi * np.arange(n) / n
    margin = np.log((n - 1) * p / (1 - p)) * np.sqrt(2) / (1 - np.cos(2 * np.pi / n))
    before = angle - 2 * np.pi / n
    return margin * np.stack([np.cos(before), np.sin(before)], 1), np.stack([np.cos(angle), np.sin(angle)], 1)


def attention_without_nan(Q, K, V, mask):
    S = torch.einsum("...id,...jd->...ij", Q, K) / math.sqrt(Q.shape[-1])
    seen = mask.any(dim=-1, keepdim=True)
    S = S.masked_fill(~mask & seen, -torch.inf)
    A = torch.softmax(S, dim=-1) * seen
    return torch.einsum("...ij,...jd->...id", A, V)


def entropy_slope(S, beta):
    X = beta * (S - S.max(axis=-1, keepdims=True))
    Z = np.exp(X).sum(axis=-1)
    A = np.exp(X) / Z[..., None]
    mean = (A * S).sum(axis=-1, keepdims=True)
    return np.log(Z) - (A * X).sum(axis=-1), -beta * (A * (S - mean) ** 2).sum(axis=-1)
