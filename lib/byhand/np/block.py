"""Chapter 9: the feed-forward layer, dropout, and the block: attention and feed-forward joined to the stream."""

import math
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray as Array

from byhand.check import Params, Positive, Shape, Share, Size, checked, names
from byhand.config import Activation
from byhand.np._erf import erf
from byhand.np.linear import LinearCache, linear_backward, linear_forward
from byhand.np.multihead import multihead_backward, multihead_forward
from byhand.np.residual import ResidualCache, residual_backward, residual_forward

FEED_FORWARD = {"W_1": "d wide", "b_1?": "wide", "W_g?": "d wide", "W_2": "wide d_o", "b_2?": "d_o"}
BLOCK, CROSS = ["attention", "norm_1", "ff", "norm_2"], ["cross", "norm_c"]  # what a block has, and with a memory too
TANH_SCALE, TANH_CUBE = math.sqrt(2 / math.pi), 0.044715


class ActivationCache(NamedTuple):
    X: Float[Array, "*S"]
    S: Float[Array, "*S"]
    name: str


@checked
def activation_forward(X: Float[Array, "*S"], name: Activation = "gelu") -> tuple[Float[Array, "*S"], ActivationCache]:
    """x S(x), S a gate between 0 and 1: relu 1 where x > 0; gelu Φ(x), and gelu_tanh, close to it (Hendrycks and
    Gimpel 2016); silu σ(x)."""
    if name == "relu":
        S = (X > 0).astype(X.dtype)  # (9.2)
    elif name == "gelu":
        S = 0.5 + 0.5 * erf(X * (1 / math.sqrt(2)))  # (9.4)
    elif name == "gelu_tanh":
        S = 0.5 + 0.5 * np.tanh(X * (TANH_SCALE + TANH_SCALE * TANH_CUBE * (X * X)))  # (9.6): σ(2κ(x + ν x³))
    else:
        S = 0.5 + 0.5 * np.tanh(0.5 * X)  # (9.5): σ(x), without an exponential that could overflow
    return X * S, ActivationCache(X, S, name)  # (9.2)


@checked
def activation_backward(dY: Float[Array, "*S"], cache: ActivationCache) -> Float[Array, "*S"]:
    """dX = dY ∘ (S + X ∘ S'), with Φ' the normal density and σ' = σ (1 − σ)."""
    X, S, name = cache
    if name == "relu":
        return dY * S  # (9.3)
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
    U: Float[Array, "*B n wide"]
    activation: ActivationCache
    G: Float[Array, "*B n wide"]
    down: LinearCache


@checked
def feed_forward_forward(
    X: Float[Array, "*B n d"], params: Params(Array, FEED_FORWARD), activation: Activation = "gelu"
) -> tuple[Float[Array, "*B n d_o"], FeedForwardCache]:
    """f(X W_1 + b_1) W_2 + b_2, each token by itself. With W_g it is gated: (f(X W_g) ∘ X W_1) W_2, SwiGLU for silu
    (Shazeer 2020). params {W_1, W_2}, optional b_1, b_2, W_g; W_1 and W_g have one shape, so that exchanging them
    raises nothing and gives another function."""
    U, up = linear_forward(X, params["W_1"], params.get("b_1"))  # (9.8)
    if "W_g" in params:
        inner, gate = linear_forward(X, params["W_g"])  # (9.16)
    else:
        inner, gate = U, None
    G, cache = activation_forward(inner, activation)  # (9.9)
    Y, down = linear_forward(G * U if gate else G, params["W_2"], params.get("b_2"))  # (9.17), (9.10)
    return Y, FeedForwardCache(up, gate, U, cache, G, down)


@checked
def feed_forward_backward(
    dY: Float[Array, "*B n d_o"], cache: FeedForwardCache
) -> tuple[Float[Array, "*B n d"], dict]:
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
    keep: Float[Array, "*S"] | None
    X_shape: Shape["*S"]


@checked
def dropout_forward(
    X: Float[Array, "*S"], p: Share, rng: np.random.Generator | None
) -> tuple[Float[Array, "*S"], DropoutCache]:
    """Each entry is 0 with probability p, else divided by 1 − p, so that its mean stays; rng None switches it off."""
    if rng is None or p == 0:
        return X, DropoutCache(None, X.shape)  # (9.24)
    keep = (rng.random(X.shape, dtype=np.float32) >= p).astype(X.dtype) * X.dtype.type(1 / (1 - p))  # (9.24)
    return X * keep, DropoutCache(keep, X.shape)  # (9.24)


@checked
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


@checked
def block_forward(
    X: Float[Array, "*B n d"],
    params: dict,
    heads: Size,
    mask: Bool[Array, "..."] | None = None,
    M: Float[Array, "*B m d_m"] | None = None,
    memory_mask: Bool[Array, "..."] | None = None,
    *,
    norm_first: bool = True,
    residual: bool = True,
    alpha: float = 1.0,
    activation: Activation = "gelu",
    kv_heads: Size | None = None,
    position: Literal["none", "rope", "rope_half", "alibi", "relative"] = "none",
    rope_theta: Positive = 10000.0,
    positions: Int[Array, "*#B n"] | None = None,
    is_causal: bool = False,
    eps: Positive = 1e-5,
    p: Share = 0.0,
    rng: np.random.Generator | None = None,
) -> tuple[Float[Array, "*B n d"], BlockCache]:
    """Encoder block: self-attention, then feed-forward. With a memory M, a decoder block: cross-attention between.

    params {attention, norm_1, ff, norm_2} and, for a decoder block, {cross, norm_c}. Dropout acts on each sublayer;
    mask, position, positions and is_causal are those of the self-attention.
    """
    names("block", "params", params, BLOCK if M is None else BLOCK + CROSS)

    def attend(Y):
        O, inner = multihead_forward(Y, Y, params["attention"], heads, kv_heads, mask, position, rope_theta, positions,
                                     is_causal)
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


@checked
def block_backward(
    dY: Float[Array, "*B n d"], cache: BlockCache
) -> tuple[Float[Array, "*B n d"], Float[Array, "*B m d_m"] | None, dict]:
    """dX, dM (None without a memory) and the gradients of the parameters: the sublayers in reverse order."""
    grads: dict = {}
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
