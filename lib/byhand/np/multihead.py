"""Chapter 5: several heads side by side; self-attention, cross-attention and grouped queries are one function."""

import math
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray as Array

from byhand.check import Dtype, Params, Positive, Shape, Size, checked, groups, heads_fit, multiple_of
from byhand.np.attention import AttentionCache, attention_backward, attention_forward
from byhand.np.linear import AddCache, LinearCache, add_backward, add_forward, linear_backward, linear_forward
from byhand.np.mask import causal_mask
from byhand.np.position import (
    RelativeBiasCache,
    RopeCache,
    alibi_bias,
    init_relative_bias,
    relative_bias_backward,
    relative_bias_forward,
    rope_backward,
    rope_forward,
)
from byhand.np.softmax import SoftmaxCache, softmax_backward, softmax_forward

HEADS = {"W_q": "d w_q", "b_q?": "w_q", "W_k": "d_m w_k", "b_k?": "w_k", "W_v": "d_m w_v", "b_v?": "w_v",
         "W_o": "w_o d_o", "b_o?": "d_o", "table?": "heads r"}
HEAD_SUM = {"U_q": "H d k", "U_k": "H d k", "V": "H d d_o"}
Position = Literal["none", "rope", "rope_half", "alibi", "relative"]  # what attention itself can know of places


@checked
def split_heads(X: Float[Array, "*B n w"], heads: Size) -> Float[Array, "*B H n k"]:
    """Cut the features into heads, then bring the head axis before the tokens. A view, no copy."""
    multiple_of("split_heads", heads, **{"width of X": X.shape[-1]})
    return np.swapaxes(X.reshape(*X.shape[:-1], heads, X.shape[-1] // heads), -3, -2)  # (5.8)


@checked
def merge_heads(Z: Float[Array, "*B H n k"]) -> Float[Array, "*B n w"]:
    """The inverse of `split_heads`: first the axes back, then the reshape; a reshape alone would mix tokens."""
    *lead, H, n, k = Z.shape
    return np.swapaxes(Z, -3, -2).reshape(*lead, n, H * k)  # (5.8)


class BiasedAttentionCache(NamedTuple):
    Q: Float[Array, "*B n d_k"]
    K: Float[Array, "*B m d_k"]
    V: Float[Array, "*B m d_v"]
    A: Float[Array, "*B n m"]
    scale: float
    add: AddCache


@checked
def biased_attention_forward(
    Q: Float[Array, "*B n d_k"],
    K: Float[Array, "*B m d_k"],
    V: Float[Array, "*B m d_v"],
    bias: Float[Array, "*#B #n #m"],
    mask: Bool[Array, "*#B #n #m"] | None = None,
) -> tuple[Float[Array, "*B n d_v"], BiasedAttentionCache]:
    """softmax(Q Kᵀ / √d_k + bias) V: what is known of a pair beside its content, repeated over the batch."""
    scale = 1 / math.sqrt(Q.shape[-1])
    S, add = add_forward(scale * (Q @ K.mT), bias)  # (5.22)
    A, _ = softmax_forward(S, mask)  # (4.6)
    return A @ V, BiasedAttentionCache(Q, K, V, A, scale, add)  # (5.3)


@checked
def biased_attention_backward(
    dO: Float[Array, "*B n d_v"], cache: BiasedAttentionCache
) -> tuple[Float[Array, "*B n d_k"], Float[Array, "*B m d_k"], Float[Array, "*B m d_v"], Float[Array, "..."]]:
    """dQ, dK, dV, dbias; the scale stands on the product alone, so dbias is dS, summed over what was repeated."""
    Q, K, V, A, scale, add = cache
    dV = A.mT @ dO  # (5.23)
    dS, dbias = add_backward(softmax_backward(dO @ V.mT, SoftmaxCache(A)), add)  # (5.23)
    dQ = scale * (dS @ K)  # (5.23)
    dK = scale * (dS.mT @ Q)  # (5.23)
    return dQ, dK, dV, dbias


class MultiheadCache(NamedTuple):
    O_shape: Shape["*B n d_o"]
    q: LinearCache
    k: LinearCache
    v: LinearCache
    turn: tuple[RopeCache, RopeCache] | None
    bias: RelativeBiasCache | None
    attention: AttentionCache | BiasedAttentionCache
    o: LinearCache
    heads: int
    kv_heads: int


@checked
def multihead_forward(
    X: Float[Array, "*B n d"],
    M: Float[Array, "*B m d_m"],
    params: Params(Array, HEADS),
    heads: Size,
    kv_heads: Size | None = None,
    mask: Bool[Array, "*#B #n #m"] | Bool[Array, "*#B #heads #n #m"] | None = None,
    position: Position = "none",
    rope_theta: Positive = 10000.0,
    positions: Int[Array, "*#B n"] | None = None,
    is_causal: bool = False,
) -> tuple[Float[Array, "*B n d_o"], MultiheadCache]:
    """Queries from X, keys and values from the memory M (M = X is self-attention), heads joined and mapped by W_o.

    params {W_q, W_k, W_v, W_o} and optional biases. If kv_heads < heads, groups of heads share keys and values (Ainslie
    et al. 2023; kv_heads = 1 is Shazeer 2019). The mask, (*B, n, m) or (*B, H, n, m), and `is_causal` hold together.
    position: rope (neighbour pairs) or rope_half turns queries and keys; alibi and relative, with params["table"], add
    to the scores. Tokens stand at 0, 1, …, or at `positions`.
    """
    kv_heads, n = kv_heads or heads, X.shape[-2]
    heads_fit("multihead", params, heads, kv_heads, position, is_causal, n, M.shape[-2])
    turn, bias, at = None, None, None if positions is None else positions[..., None, :]  # at: the same for every head
    if is_causal:
        mask = causal_mask(n) if mask is None else mask & causal_mask(n)
    Q, q = linear_forward(X, params["W_q"], params.get("b_q"))  # (5.19)
    K, k = linear_forward(M, params["W_k"], params.get("b_k"))  # (5.19)
    V, v = linear_forward(M, params["W_v"], params.get("b_v"))  # (5.19)
    Q, K, V, mask = split_heads(Q, heads), split_heads(K, kv_heads), split_heads(V, kv_heads), over_heads(mask, X.ndim)
    if position in ("rope", "rope_half"):
        Q, turn_q = rope_forward(Q, at, rope_theta=rope_theta, interleaved=position == "rope")  # (5.24)
        K, turn_k = rope_forward(K, at, rope_theta=rope_theta, interleaved=position == "rope")  # (5.24)
        turn = turn_q, turn_k
    K, V = repeat_heads(K, heads // kv_heads), repeat_heads(V, heads // kv_heads)  # (5.26)
    if position in ("relative", "alibi"):
        B, bias = (relative_bias_forward(params["table"], n, positions=positions) if position == "relative"
                   else (alibi_bias(heads, n, positions=positions), None))
        Z, attention = biased_attention_forward(Q, K, V, B.astype(X.dtype, copy=False), mask)  # (5.22)
    else:
        Z, attention = attention_forward(Q, K, V, mask)  # (5.3)
    O, o = linear_forward(merge_heads(Z), params["W_o"], params.get("b_o"))  # (5.4)
    return O, MultiheadCache(O.shape, q, k, v, turn, bias, attention, o, heads, kv_heads)


@checked
def multihead_backward(
    dO: Float[Array, "*B n d_o"], cache: MultiheadCache
) -> tuple[Float[Array, "*B n d"], Float[Array, "*B m d_m"], dict[str, Float[Array, "..."]]]:
    """dX, dM and the gradients of the parameters. In self-attention the caller adds dX and dM: one array, two roles."""
    _, q, k, v, turn, bias, attention, o, heads, kv_heads = cache
    dZ, dW_o, db_o = linear_backward(dO, o)  # (5.15)
    dZ, grads = split_heads(dZ, heads), {}  # (5.16)
    if isinstance(attention, BiasedAttentionCache):
        dQ, dK, dV, dB = biased_attention_backward(dZ, attention)  # (5.23)
        grads = {} if bias is None else {"table": relative_bias_backward(dB, bias)}  # (3.24)
    else:
        dQ, dK, dV = attention_backward(dZ, attention)  # (4.28), (4.29), (4.25)
    dK, dV = (sum_heads(dY, heads // kv_heads) for dY in (dK, dV))  # (5.26)
    if turn is not None:
        dQ, dK = rope_backward(dQ, turn[0]), rope_backward(dK, turn[1])  # (5.25)
    dX, dW_q, db_q = linear_backward(merge_heads(dQ), q)  # (5.20)
    dM_k, dW_k, db_k = linear_backward(merge_heads(dK), k)  # (5.20)
    dM_v, dW_v, db_v = linear_backward(merge_heads(dV), v)  # (5.20)
    grads |= {"W_q": dW_q, "b_q": db_q, "W_k": dW_k, "b_k": db_k, "W_v": dW_v, "b_v": db_v, "W_o": dW_o, "b_o": db_o}
    return dX, dM_k + dM_v, {name: g for name, g in grads.items() if g is not None}  # (5.20)


@checked
def repeat_heads(Y: Float[Array, "*B G m k"], times: Size) -> Float[Array, "*B H m k"]:
    """Each of the G key-value heads, `times` times in a row: head h of the queries reads group h // times."""
    return np.repeat(Y, times, axis=-3) if times > 1 else Y  # (5.26)


@checked
def sum_heads(dY: Float[Array, "*B H m k"], times: Size) -> Float[Array, "*B G m k"]:
    """The backward of `repeat_heads`: a shared head collects the gradients of its group."""
    multiple_of("sum_heads", times, **{"number of heads of dY": dY.shape[-3]})
    *B, H, m, k = dY.shape
    return dY.reshape(*B, H // times, times, m, k).sum(axis=-3) if times > 1 else dY  # (5.26)


@checked
def over_heads(mask: Bool[Array, "..."] | None, rank: Size) -> Bool[Array, "..."] | None:
    """A mask over (*B, n, m) with an axis for the heads; (n, m) and (*B, H, n, m) stay as they are."""
    return np.expand_dims(mask, -3) if mask is not None and 2 < mask.ndim == rank else mask


class HeadSumCache(NamedTuple):
    X: Float[Array, "*B n d"]
    V_h: Float[Array, "H d d_o"]
    U_q: LinearCache
    U_k: LinearCache
    attention: AttentionCache


@checked
def head_sum_forward(
    X: Float[Array, "*B n d"],
    params: Params(Array, HEAD_SUM),
    mask: Bool[Array, "*#B #n #n"] | Bool[Array, "*#B #H #n #n"] | None = None,
) -> tuple[Float[Array, "*B n d_o"], HeadSumCache]:
    """O = Σ_h A_h X V_h (Turner 2023, in rows): each head has one value map d → d_o of its own, and nothing is joined.

    params {U_q (H, d, k), U_k (H, d, k), V (H, d, d_o)}. With V_h = W_v,h W_o,h of rank k it is `multihead`.
    """
    H, d, k = params["U_q"].shape
    flat_q, flat_k = (np.swapaxes(params[name], 0, 1).reshape(d, H * k) for name in ("U_q", "U_k"))
    Q, U_q = linear_forward(X, flat_q)  # (5.5)
    K, U_k = linear_forward(X, flat_k)  # (5.5)
    XV = X[..., None, :, :] @ params["V"]  # (5.11)
    Z, attention = attention_forward(split_heads(Q, H), split_heads(K, H), XV, over_heads(mask, X.ndim))  # (5.3)
    return Z.sum(axis=-3), HeadSumCache(X, params["V"], U_q, U_k, attention)  # (5.11)


@checked
def head_sum_backward(
    dO: Float[Array, "*B n d_o"], cache: HeadSumCache
) -> tuple[Float[Array, "*B n d"], dict[str, Float[Array, "..."]]]:
    """dX and the gradients of the parameters; every head receives the whole of dO, since the output is a sum."""
    X, V_h, U_q, U_k, attention = cache
    H, d, _ = V_h.shape
    dZ = np.broadcast_to(dO[..., None, :, :], (*X.shape[:-2], H, *dO.shape[-2:]))
    dQ, dK, dXV = attention_backward(np.ascontiguousarray(dZ), attention)  # (4.28), (4.29), (4.25)
    dX_q, dU_q, _ = linear_backward(merge_heads(dQ), U_q)  # (5.17)
    dX_k, dU_k, _ = linear_backward(merge_heads(dK), U_k)  # (5.17)
    dX = dX_q + dX_k + (dXV @ V_h.mT).sum(axis=-3)  # (5.18)
    dV = (X[..., None, :, :].mT @ dXV).reshape(-1, *V_h.shape).sum(axis=0)  # (5.18)
    heads = lambda dU: np.swapaxes(dU.reshape(d, H, -1), 0, 1)  # noqa: E731  (one short map, used twice)
    return dX, {"U_q": heads(dU_q), "U_k": heads(dU_k), "V": dV}  # (5.17)


@checked
def init_multihead(
    rng: np.random.Generator,
    d: Size,
    heads: Size,
    kv_heads: Size | None = None,
    d_k: Size | None = None,
    d_m: Size | None = None,
    bias: bool = True,
    dtype: Dtype = np.float32,
    max_distance: Size | None = None,
) -> dict[str, Float[Array, "..."]]:
    """Parameters of `multihead`, d_k = d / heads unless given; with `max_distance`, a table of relative biases of 0."""
    kv_heads, d_m = kv_heads or heads, d_m or d
    groups("init_multihead", heads, kv_heads)
    multiple_of("init_multihead", heads, d=heads * d_k if d_k else d)
    d_k = d_k or d // heads
    sizes = {"q": (d, heads * d_k), "k": (d_m, kv_heads * d_k), "v": (d_m, kv_heads * d_k), "o": (heads * d_k, d)}
    params = {}
    for name, (d_in, d_out) in sizes.items():
        params[f"W_{name}"] = rng.normal(scale=1 / math.sqrt(d_in), size=(d_in, d_out)).astype(dtype)
        if bias:
            params[f"b_{name}"] = np.zeros(d_out, dtype)
    return params | ({} if max_distance is None else init_relative_bias(heads, max_distance, dtype))
