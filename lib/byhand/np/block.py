"""Chapter 9: the feed-forward layer, dropout, and the block: attention and feed-forward joined to the stream."""

import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray as Array

from byhand import guard
from byhand.np._erf import erf
from byhand.np.linear import LinearCache, linear_backward, linear_forward
from byhand.np.multihead import multihead_backward, multihead_forward
from byhand.np.residual import ResidualCache, residual_backward, residual_forward

Params = dict[str, Any]
TANH_SCALE, TANH_CUBE = math.sqrt(2 / math.pi), 0.044715


class ActivationCache(NamedTuple):
    X: Array
    S: Array
    name: str


def activation_forward(X: Float[Array, "*S"], name: str = "gelu") -> tuple[Float[Array, "*S"], ActivationCache]:
    """x S(x), S a gate between 0 and 1: relu 1 where x > 0; gelu Φ(x), and gelu_tanh, close to it (Hendrycks and
    Gimpel 2016); silu σ(x)."""
    guard.floats("activation", 1, X=X)
    if name == "relu":
        S = (X > 0).astype(X.dtype)
    elif name == "gelu":
        S = 0.5 + 0.5 * erf(X * (1 / math.sqrt(2)))
    elif name == "gelu_tanh":
        S = 0.5 + 0.5 * np.tanh(X * (TANH_SCALE + TANH_SCALE * TANH_CUBE * (X * X)))  # σ(2u), u = c (x + a x³)
    elif name == "silu":
        S = 0.5 + 0.5 * np.tanh(0.5 * X)  # σ(x) without an exponential that could overflow
    else:
        raise ValueError(f"activation: name is {name!r}, expected relu, gelu, gelu_tanh or silu")
    return X * S, ActivationCache(X, S, name)  # (9.2)


def activation_backward(dY: Float[Array, "*S"], cache: ActivationCache) -> Float[Array, "*S"]:
    """dX = dY ∘ (S + X ∘ S'), with Φ' the normal density and σ' = σ (1 − σ)."""
    X, S, name = cache
    guard.floats("activation_backward", 1, X=X, dY=dY)
    guard.shape("activation_backward", "dY", dY.shape, X.shape)
    if name == "relu":
        return dY * S
    if name == "gelu":
        slope = np.exp(-0.5 * (X * X)) * (1 / math.sqrt(2 * math.pi))  # (9.4)
    elif name == "gelu_tanh":
        slope = S * (1 - S) * (2 * TANH_SCALE + 6 * TANH_SCALE * TANH_CUBE * (X * X))  # (9.6)
    else:
        slope = S * (1 - S)  # (9.5)
    return dY * (S + X * slope)  # (9.3)


class FeedForwardCache(NamedTuple):
    up: LinearCache
    gate: LinearCache | None
    U: Array
    activation: ActivationCache
    G: Array
    down: LinearCache


def feed_forward_forward(
    X: Float[Array, "*B n d"], params: Params, activation: str = "gelu"
) -> tuple[Float[Array, "*B n d"], FeedForwardCache]:
    """f(X W_1 + b_1) W_2 + b_2, each token by itself. With W_g it is gated: (f(X W_g) ∘ X W_1) W_2, SwiGLU for silu
    (Shazeer 2020). params {W_1, W_2}, optional b_1, b_2, W_g."""
    guard.feed_forward("feed_forward", X, params)
    U, up = linear_forward(X, params["W_1"], params.get("b_1"))  # (9.8)
    if "W_g" in params:
        inner, gate = linear_forward(X, params["W_g"])  # (9.16)
    else:
        inner, gate = U, None
    G, cache = activation_forward(inner, activation)  # (9.9)
    Y, down = linear_forward(G * U if gate else G, params["W_2"], params.get("b_2"))  # (9.10), (9.17)
    return Y, FeedForwardCache(up, gate, U, cache, G, down)


def feed_forward_backward(
    dY: Float[Array, "*B n d"], cache: FeedForwardCache
) -> tuple[Float[Array, "*B n d"], Params]:
    """dX and the gradients of the parameters; a gate is a product, so each factor gets the other times the gradient."""
    up, gate, U, activation, G, down = cache
    dH, dW_2, db_2 = linear_backward(dY, down)  # (9.11)
    grads = {"W_2": dW_2, "b_2": db_2}
    if gate is None:
        dX, grads["W_1"], grads["b_1"] = linear_backward(activation_backward(dH, activation), up)  # (9.13)
    else:
        dX_up, grads["W_1"], grads["b_1"] = linear_backward(dH * G, up)  # (9.18)
        dX_gate, grads["W_g"], _ = linear_backward(activation_backward(dH * U, activation), gate)  # (9.19)
        dX = dX_up + dX_gate  # (9.20)
    return dX, {name: g for name, g in grads.items() if g is not None}


class DropoutCache(NamedTuple):
    keep: Array | None


def dropout_forward(
    X: Float[Array, "*S"], p: float, rng: np.random.Generator | None
) -> tuple[Float[Array, "*S"], DropoutCache]:
    """Each entry is 0 with probability p, else divided by 1 − p, so that its mean stays; rng None switches it off."""
    guard.floats("dropout", 1, X=X)
    guard.number("dropout", p=p)
    guard.generator("dropout", rng)
    if not 0 <= p < 1:
        raise ValueError(f"dropout: p is {p}, expected at least 0 and less than 1")
    if rng is None or p == 0:
        return X, DropoutCache(None)
    keep = (rng.random(X.shape, dtype=np.float32) >= p).astype(X.dtype) * X.dtype.type(1 / (1 - p))
    return X * keep, DropoutCache(keep)  # (9.24)


def dropout_backward(dY: Float[Array, "*S"], cache: DropoutCache) -> Float[Array, "*S"]:
    """The same entries are dropped, the same are scaled."""
    return dY if cache.keep is None else dY * cache.keep  # (9.24)


class SublayerCache(NamedTuple):
    inner: Any
    dropout: DropoutCache


class BlockCache(NamedTuple):
    attention: ResidualCache
    cross: ResidualCache | None
    ff: ResidualCache


def block_forward(
    X: Float[Array, "*B n d"],
    params: Params,
    heads: int,
    mask: Bool[Array, "..."] | None = None,
    M: Float[Array, "*B m d_m"] | None = None,
    memory_mask: Bool[Array, "..."] | None = None,
    *,
    norm_first: bool = True,
    residual: bool = True,
    alpha: float = 1.0,
    activation: str = "gelu",
    kv_heads: int | None = None,
    position: str = "none",
    rope_theta: float = 10000.0,
    eps: float = 1e-5,
    p: float = 0.0,
    rng: np.random.Generator | None = None,
) -> tuple[Float[Array, "*B n d"], BlockCache]:
    """Encoder block: self-attention, then feed-forward. With a memory M, a decoder block: cross-attention between.

    params {attention, norm_1, ff, norm_2} and, for a decoder block, {cross, norm_c}. Dropout acts on each sublayer.
    """
    guard.block("block", params, M)

    def attend(Y):
        O, inner = multihead_forward(Y, Y, params["attention"], heads, kv_heads, mask, position, rope_theta)
        O, dropout = dropout_forward(O, p, rng)
        return O, SublayerCache(inner, dropout)

    def cross_attend(Y):
        O, inner = multihead_forward(Y, M, params["cross"], heads, kv_heads, memory_mask)
        O, dropout = dropout_forward(O, p, rng)
        return O, SublayerCache(inner, dropout)

    def feed(Y):
        O, inner = feed_forward_forward(Y, params["ff"], activation)
        O, dropout = dropout_forward(O, p, rng)
        return O, SublayerCache(inner, dropout)

    X, attention = residual_forward(X, params["norm_1"], attend, norm_first, residual, alpha, eps)  # (9.25)
    cross = None
    if M is not None:
        X, cross = residual_forward(X, params["norm_c"], cross_attend, norm_first, residual, alpha, eps)  # (9.28)
    X, ff = residual_forward(X, params["norm_2"], feed, norm_first, residual, alpha, eps)  # (9.26)
    return X, BlockCache(attention, cross, ff)


def block_backward(
    dY: Float[Array, "*B n d"], cache: BlockCache
) -> tuple[Float[Array, "*B n d"], Float[Array, "*B m d_m"] | None, Params]:
    """dX, dM (None without a memory) and the gradients of the parameters: the sublayers in reverse order."""
    grads: Params = {}
    dM = None

    def feed_back(dO, c):
        return feed_forward_backward(dropout_backward(dO, c.dropout), c.inner)

    def attend_back(dO, c):
        dX, dY, g = multihead_backward(dropout_backward(dO, c.dropout), c.inner)
        return dX + dY, g  # queries and memory were one array

    def cross_back(dO, c):
        nonlocal dM
        dX, dM, g = multihead_backward(dropout_backward(dO, c.dropout), c.inner)
        return dX, g

    dX, grads["norm_2"], grads["ff"] = residual_backward(dY, cache.ff, feed_back)  # (9.33)
    if cache.cross is not None:
        dX, grads["norm_c"], grads["cross"] = residual_backward(dX, cache.cross, cross_back)  # (9.39)
    dX, grads["norm_1"], grads["attention"] = residual_backward(dX, cache.attention, attend_back)  # (9.37)
    return dX, dM, grads
