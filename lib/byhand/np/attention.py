"""Chapter 4: attention, from scores to gradients. One head; leading axes (batch, heads) are free."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray as Array

from byhand.check import Params, Positive, checked
from byhand.np.linear import LinearCache, linear_backward, linear_forward
from byhand.np.softmax import SoftmaxCache, softmax_backward, softmax_forward

HEAD = {"W_q": "d d_k", "b_q?": "d_k", "W_k": "d d_k", "b_k?": "d_k", "W_v": "d d_v", "b_v?": "d_v"}
ADDITIVE = {"W_q": "d_q a", "W_k": "d_k a", "w": "a"}


class AttentionCache(NamedTuple):
    Q: Float[Array, "*B n d_k"]
    K: Float[Array, "*B m d_k"]
    V: Float[Array, "*B m d_v"]
    A: Float[Array, "*B n m"]
    scale: float


@checked
def attention_forward(
    Q: Float[Array, "*B n d_k"],
    K: Float[Array, "*B m d_k"],
    V: Float[Array, "*B m d_v"],
    mask: Bool[Array, "*#B #n #m"] | None = None,
    scale: float | None = None,
) -> tuple[Float[Array, "*B n d_v"], AttentionCache]:
    """O = softmax(Q Kᵀ / √d_k) V (Vaswani et al. 2017, eq. 1); the weights are `cache.A`."""
    scale = 1 / math.sqrt(Q.shape[-1]) if scale is None else scale
    S = scale * (Q @ K.mT)  # (4.5)
    A, _ = softmax_forward(S, mask)  # (4.6)
    O = A @ V  # (4.7)
    return O, AttentionCache(Q, K, V, A, scale)


@checked
def attention_backward(
    dO: Float[Array, "*B n d_v"], cache: AttentionCache
) -> tuple[Float[Array, "*B n d_k"], Float[Array, "*B m d_k"], Float[Array, "*B m d_v"]]:
    """dQ, dK, dV. A masked pair has weight 0, so it sends nothing back."""
    Q, K, V, A, scale = cache
    dV = A.mT @ dO  # (4.25)
    dA = dO @ V.mT  # (4.26)
    dS = softmax_backward(dA, SoftmaxCache(A))  # (4.27)
    dQ = scale * (dS @ K)  # (4.28)
    dK = scale * (dS.mT @ Q)  # (4.29)
    return dQ, dK, dV


class SelfAttentionCache(NamedTuple):
    q: LinearCache
    k: LinearCache
    v: LinearCache
    attention: AttentionCache


@checked
def self_attention_forward(
    X: Float[Array, "*B n d"], params: Params(Array, HEAD), mask: Bool[Array, "*#B #n #n"] | None = None
) -> tuple[Float[Array, "*B n d_v"], SelfAttentionCache]:
    """One head over its own input: Q, K, V are three linear maps of X; params {W_q, b_q, W_k, b_k, W_v, b_v}."""
    Q, q = linear_forward(X, params["W_q"], params.get("b_q"))  # (4.3)
    K, k = linear_forward(X, params["W_k"], params.get("b_k"))  # (4.3)
    V, v = linear_forward(X, params["W_v"], params.get("b_v"))  # (4.3)
    O, attention = attention_forward(Q, K, V, mask)  # (4.8)
    return O, SelfAttentionCache(q, k, v, attention)


@checked
def self_attention_backward(
    dO: Float[Array, "*B n d_v"], cache: SelfAttentionCache
) -> tuple[Float[Array, "*B n d"], dict[str, Float[Array, "..."]]]:
    """dX and the gradients of the parameters. X was read three times, so dX is a sum of three."""
    dQ, dK, dV = attention_backward(dO, cache.attention)  # (4.28), (4.29), (4.25)
    dX, grads = 0, {}
    for name, dY in (("q", dQ), ("k", dK), ("v", dV)):
        part, dW, db = linear_backward(dY, getattr(cache, name))  # (4.31)
        dX = dX + part  # (4.31)
        grads[f"W_{name}"] = dW  # (4.31)
        if db is not None:
            grads[f"b_{name}"] = db  # (4.31)
    return dX, grads


class AdditiveCache(NamedTuple):
    q: LinearCache
    k: LinearCache
    T: Float[Array, "*B n m a"]
    w: Float[Array, " a"]
    A: Float[Array, "*B n m"]
    V: Float[Array, "*B m d_v"]


@checked
def additive_attention_forward(
    Q: Float[Array, "*B n d_q"],
    K: Float[Array, "*B m d_k"],
    V: Float[Array, "*B m d_v"],
    params: Params(Array, ADDITIVE),
    mask: Bool[Array, "*#B #n #m"] | None = None,
) -> tuple[Float[Array, "*B n d_v"], AdditiveCache]:
    """Scores w · tanh(W_qᵀ q + W_kᵀ k) (Bahdanau et al. 2015); q and k may differ in width. params {W_q, W_k, w}."""
    a, q = linear_forward(Q, params["W_q"])  # (4.12)
    c, k = linear_forward(K, params["W_k"])  # (4.12)
    T = np.tanh(a[..., :, None, :] + c[..., None, :, :])  # (4.12)
    S = T @ params["w"]  # (4.12)
    A, _ = softmax_forward(S, mask)  # (4.6)
    return A @ V, AdditiveCache(q, k, T, params["w"], A, V)  # (4.7)


@checked
def additive_attention_backward(
    dO: Float[Array, "*B n d_v"], cache: AdditiveCache
) -> tuple[
    Float[Array, "*B n d_q"], Float[Array, "*B m d_k"], Float[Array, "*B m d_v"], dict[str, Float[Array, "..."]]
]:
    """dQ, dK, dV and the gradients of the parameters; tanh' = 1 − tanh²."""
    q, k, T, w, A, V = cache
    dV = A.mT @ dO  # (4.25)
    dS = softmax_backward(dO @ V.mT, SoftmaxCache(A))  # (4.27)
    dw = T.reshape(-1, w.size).mT @ dS.reshape(-1)  # (4.33)
    dU = dS[..., None] * w * (1 - T * T)  # (4.33)
    dQ, dW_q, _ = linear_backward(dU.sum(axis=-2), q)  # (4.34)
    dK, dW_k, _ = linear_backward(dU.sum(axis=-3), k)  # (4.34)
    return dQ, dK, dV, {"W_q": dW_q, "W_k": dW_k, "w": dw}


class KernelCache(NamedTuple):
    Q: Float[Array, "*B n d_k"]
    K: Float[Array, "*B m d_k"]
    V: Float[Array, "*B m d_v"]
    A: Float[Array, "*B n m"]
    bandwidth: float


@checked
def kernel_attention_forward(
    Q: Float[Array, "*B n d_k"],
    K: Float[Array, "*B m d_k"],
    V: Float[Array, "*B m d_v"],
    bandwidth: Positive,
    mask: Bool[Array, "*#B #n #m"] | None = None,
) -> tuple[Float[Array, "*B n d_v"], KernelCache]:
    """Scores −‖q − k‖² / 2h²: kernel regression with a Gaussian of width h (Nadaraya 1964, Watson 1964)."""
    gap = Q[..., :, None, :] - K[..., None, :, :]
    S = (gap * gap).sum(axis=-1) / (-2 * bandwidth * bandwidth)  # (4.13)
    A, _ = softmax_forward(S, mask)  # (4.6)
    return A @ V, KernelCache(Q, K, V, A, bandwidth)  # (4.7)


@checked
def kernel_attention_backward(
    dO: Float[Array, "*B n d_v"], cache: KernelCache
) -> tuple[Float[Array, "*B n d_k"], Float[Array, "*B m d_k"], Float[Array, "*B m d_v"]]:
    """dQ, dK, dV; the term −q Σ dS of dQ is gone because a row of dS sums to zero."""
    Q, K, V, A, bandwidth = cache
    dV = A.mT @ dO  # (4.25)
    dS = softmax_backward(dO @ V.mT, SoftmaxCache(A)) / (bandwidth * bandwidth)  # (4.35)
    dQ = dS @ K  # (4.35)
    dK = dS.mT @ Q - dS.sum(axis=-2)[..., None] * K  # (4.35)
    return dQ, dK, dV
