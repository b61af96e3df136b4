"""Chapter 16: tiled attention in Triton (Dao et al. 2022, 2023): one program a tile of queries, or a tile of keys."""

import math

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from byhand.check import checked
from byhand.kernels._launch import taken
from byhand.np.flash import one_length_if_causal

LOG2E = tl.constexpr(1.4426950408889634)  # 2^(x log₂ e) = e^x, and the hardware has 2^x
LN2 = tl.constexpr(0.6931471805599453)


@checked
def flash_attention(
    Q: Float[Tensor, "*B n d_k"],
    K: Float[Tensor, "*B m d_k"],
    V: Float[Tensor, "*B m d_v"],
    scale: float | None = None,
    is_causal: bool = False,
) -> Float[Tensor, "*B n d_v"]:
    """The output of `attention` without its n × m weights, in one kernel; the backward is two more.

    Float32, bfloat16 or float16, summed in float32; no second derivative. ValueError where a width is more than 256,
    or where there are no keys.
    """
    one_length_if_causal(Q, K, is_causal)
    taken("flash_attention", Q=Q)
    if max(Q.shape[-1], V.shape[-1]) > 256:
        raise ValueError(f"flash_attention: d_k is {Q.shape[-1]} and d_v {V.shape[-1]}, expected at most 256, "
                         "so that a tile fits the fast memory")
    if K.shape[-2] == 0:
        raise ValueError("flash_attention: K has 0 keys, expected at least 1")
    scale = 1 / math.sqrt(Q.shape[-1]) if scale is None else scale
    return Kernels.apply(Q, K, V, float(scale), is_causal)


class Kernels(torch.autograd.Function):
    """Launches: what is contiguous, how many programs, how large a tile."""

    @staticmethod
    def forward(ctx, Q, K, V, scale, is_causal):
        Q, K, V = (x.contiguous() for x in (Q, K, V))
        (*_, n, d_k), (*_, m, d_v) = Q.shape, V.shape
        O, L = Q.new_empty(*Q.shape[:-1], d_v), Q.new_empty(Q.shape[:-1], dtype=torch.float32)
        ctx.save_for_backward(Q, K, V, O, L)
        ctx.scale, ctx.is_causal, ctx.heads = scale, is_causal, L.numel() // max(n, 1)
        if L.numel():
            rows, keys, stages = _tiles(d_k, d_v)
            forward_kernel[triton.cdiv(n, rows), ctx.heads](
                Q, K, V, O, L, scale, n, m, d_k, d_v, rows, keys, *_widths(d_k, d_v), is_causal, num_stages=stages)
        return O

    @staticmethod
    @once_differentiable
    def backward(ctx, dO):
        Q, K, V, O, L = ctx.saved_tensors
        (*_, n, d_k), (*_, m, d_v), dO = Q.shape, V.shape, dO.contiguous()
        dQ, dK, dV = torch.zeros_like(Q), torch.zeros_like(K), torch.zeros_like(V)
        if L.numel():
            D = (dO.float() * O.float()).sum(dim=-1)  # (16.13)
            rows, keys, stages = _tiles(d_k, d_v)
            sizes = (ctx.scale, n, m, d_k, d_v, rows, keys, *_widths(d_k, d_v), ctx.is_causal)
            keys_kernel[triton.cdiv(m, keys), ctx.heads](Q, K, V, dO, L, D, dK, dV, *sizes, num_stages=stages)
            queries_kernel[triton.cdiv(n, rows), ctx.heads](Q, K, V, dO, L, D, dQ, *sizes, num_stages=stages)
        return dQ, dK, dV, None, None


def _tiles(d_k, d_v):
    """Queries and keys of a tile, and how many tiles are read ahead: less where vectors are wide, for all must lie in
    the fast memory of a core."""
    return (64, 64, 3) if max(d_k, d_v) <= 64 else (64, 64, 2) if max(d_k, d_v) <= 128 else (32, 32, 2)


def _widths(d_k, d_v):
    """Powers of two, as Triton's blocks are, and at least the 16 of its matrix product."""
    return max(16, triton.next_power_of_2(d_k)), max(16, triton.next_power_of_2(d_v))


@triton.jit
def tile(X, head, first, length, d, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """Rows first, first + 1, … of X[head], zero where there are none."""
    i, c = first + tl.arange(0, ROWS), tl.arange(0, WIDTH)
    at = X + (head.to(tl.int64) * length + i)[:, None] * d + c[None, :]
    there = (i < length)[:, None] & (c < d)[None, :]
    return tl.load(at, mask=there, other=0.0)


@triton.jit
def store(
    X, value, head, first, length, d, ROWS: tl.constexpr, WIDTH: tl.constexpr
):
    """The inverse of `tile`."""
    i, c = first + tl.arange(0, ROWS), tl.arange(0, WIDTH)
    at = X + (head.to(tl.int64) * length + i)[:, None] * d + c[None, :]
    there = (i < length)[:, None] & (c < d)[None, :]
    tl.store(at, value.to(X.dtype.element_ty), mask=there)


@triton.jit
def scores(
    q, k, first_query, first_key, m, scale,
    ROWS: tl.constexpr, KEYS: tl.constexpr, CAUSAL: tl.constexpr,
):
    """One tile of scale · Q Kᵀ, −∞ where no key is, or a later one."""
    i, j = first_query + tl.arange(0, ROWS), first_key + tl.arange(0, KEYS)
    seen = (j < m)[None, :]
    if CAUSAL:
        seen = seen & (j[None, :] <= i[:, None])
    S = scale * tl.dot(q, tl.trans(k), input_precision="ieee")
    return tl.where(seen, S, float("-inf"))


@triton.jit
def forward_kernel(
    Q, K, V, O, L, scale, n, m, d_k, d_v,
    ROWS: tl.constexpr, KEYS: tl.constexpr, WIDTH: tl.constexpr,
    WIDTH_V: tl.constexpr, CAUSAL: tl.constexpr,
):
    """One tile of queries reads its keys tile by tile, and holds (16.7)."""
    first, head = tl.program_id(0) * ROWS, tl.program_id(1)
    q = tile(Q, head, first, n, d_k, ROWS, WIDTH)
    top = tl.full((ROWS,), float("-inf"), tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    out = tl.zeros((ROWS, WIDTH_V), tl.float32)
    end = tl.minimum(first + ROWS, m) if CAUSAL else m
    for j in range(0, end, KEYS):
        S = scores(q, tile(K, head, j, m, d_k, KEYS, WIDTH), first, j, m,
                   scale, ROWS, KEYS, CAUSAL)
        new = tl.maximum(top, tl.max(S, 1))  # finite: every row sees key 0
        E = tl.exp2((S - new[:, None]) * LOG2E)
        keep = tl.exp2((top - new) * LOG2E)
        v = tile(V, head, j, m, d_v, KEYS, WIDTH_V)
        total = keep * total + tl.sum(E, 1)  # (16.8)
        out = keep[:, None] * out + tl.dot(  # (16.8)
            E.to(v.dtype), v, input_precision="ieee")
        top = new
    store(O, out / total[:, None], head, first, n, d_v, ROWS, WIDTH_V)
    i = first + tl.arange(0, ROWS)
    at = L + head.to(tl.int64) * n + i
    tl.store(at, top + tl.log2(total) * LN2, mask=i < n)


@triton.jit
def row_values(L, D, head, first, n, ROWS: tl.constexpr):
    """L and D of a tile of queries. Beyond the last all is 0, dO too, so
    that nothing comes of those rows."""
    i = first + tl.arange(0, ROWS)
    at = head.to(tl.int64) * n + i
    lse = tl.load(L + at, mask=i < n, other=0.0)
    return lse, tl.load(D + at, mask=i < n, other=0.0)


@triton.jit
def keys_kernel(
    Q, K, V, dO, L, D, dK, dV, scale, n, m, d_k, d_v,
    ROWS: tl.constexpr, KEYS: tl.constexpr, WIDTH: tl.constexpr,
    WIDTH_V: tl.constexpr, CAUSAL: tl.constexpr,
):
    """One tile of keys sums what all queries send it, in dV and dK."""
    first, head = tl.program_id(0) * KEYS, tl.program_id(1)
    k = tile(K, head, first, m, d_k, KEYS, WIDTH)
    v = tile(V, head, first, m, d_v, KEYS, WIDTH_V)
    dk = tl.zeros((KEYS, WIDTH), tl.float32)
    dv = tl.zeros((KEYS, WIDTH_V), tl.float32)
    start = first // ROWS * ROWS if CAUSAL else 0  # who sees this tile
    for i in range(start, n, ROWS):
        q = tile(Q, head, i, n, d_k, ROWS, WIDTH)
        g = tile(dO, head, i, n, d_v, ROWS, WIDTH_V)
        lse, inner = row_values(L, D, head, i, n, ROWS)
        S = scores(q, k, i, first, m, scale, ROWS, KEYS, CAUSAL)
        A = tl.exp2((S - lse[:, None]) * LOG2E)  # (16.9)
        dv += tl.dot(  # (16.10)
            tl.trans(A).to(g.dtype), g, input_precision="ieee")
        dS = A * (  # (16.12), with dA of (16.11)
            tl.dot(g, tl.trans(v), input_precision="ieee") - inner[:, None])
        dk += tl.dot(  # (16.14)
            tl.trans(dS).to(q.dtype), q, input_precision="ieee")
    store(dK, scale * dk, head, first, m, d_k, KEYS, WIDTH)
    store(dV, dv, head, first, m, d_v, KEYS, WIDTH_V)


@triton.jit
def queries_kernel(
    Q, K, V, dO, L, D, dQ, scale, n, m, d_k, d_v,
    ROWS: tl.constexpr, KEYS: tl.constexpr, WIDTH: tl.constexpr,
    WIDTH_V: tl.constexpr, CAUSAL: tl.constexpr,
):
    """One tile of queries sums what its keys send back, in dQ."""
    first, head = tl.program_id(0) * ROWS, tl.program_id(1)
    q = tile(Q, head, first, n, d_k, ROWS, WIDTH)
    g = tile(dO, head, first, n, d_v, ROWS, WIDTH_V)
    lse, inner = row_values(L, D, head, first, n, ROWS)
    dq = tl.zeros((ROWS, WIDTH), tl.float32)
    end = tl.minimum(first + ROWS, m) if CAUSAL else m
    for j in range(0, end, KEYS):
        k = tile(K, head, j, m, d_k, KEYS, WIDTH)
        v = tile(V, head, j, m, d_v, KEYS, WIDTH_V)
        S = scores(q, k, first, j, m, scale, ROWS, KEYS, CAUSAL)
        A = tl.exp2((S - lse[:, None]) * LOG2E)  # (16.9)
        dS = A * (  # (16.12), with dA of (16.11)
            tl.dot(g, tl.trans(v), input_precision="ieee") - inner[:, None])
        dq += tl.dot(dS.to(k.dtype), k, input_precision="ieee")  # (16.14)
    store(dQ, scale * dq, head, first, n, d_k, ROWS, WIDTH)
