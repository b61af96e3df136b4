"""Chapter 16: the same tiles in torch, to read and to compare; `fused_attention` of chapter 4 is what a GPU runs."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from byhand.check import Size, checked
from byhand.np.flash import one_length_if_causal


class Partial(NamedTuple):
    """What a query has read of some keys: m = max s, l = Σ exp(s − m), o = Σ exp(s − m) v."""

    m: Float[Tensor, "*B n"]
    l: Float[Tensor, "*B n"]
    o: Float[Tensor, "*B n d_v"]


@checked
def online_softmax_merge(
    a: tuple[Float[Tensor, "*B n"], Float[Tensor, "*B n"], Float[Tensor, "*B n d_v"]],
    b: tuple[Float[Tensor, "*B n"], Float[Tensor, "*B n"], Float[Tensor, "*B n d_v"]],
) -> Partial:
    """(m, l, o) of two sets of keys read together: associative, and (−∞, 0, 0) is its identity (Milakov 2018)."""
    (m_a, l_a, o_a), (m_b, l_b, o_b) = a, b
    m = torch.maximum(m_a, m_b)
    top = _finite(m)
    keep, add = torch.exp(m_a - top), torch.exp(m_b - top)  # what was summed under a smaller maximum shrinks
    return Partial(m, keep * l_a + add * l_b, keep[..., None] * o_a + add[..., None] * o_b)


@checked
def flash_attention(
    Q: Float[Tensor, "*B n d_k"],
    K: Float[Tensor, "*B m d_k"],
    V: Float[Tensor, "*B m d_v"],
    mask: Bool[Tensor, "*#B #n #m"] | None = None,
    scale: float | None = None,
    is_causal: bool = False,
    block: Size = 512,
    return_lse: bool = False,
) -> Float[Tensor, "*B n d_v"] | tuple[Float[Tensor, "*B n d_v"], Float[Tensor, "*B n"]]:
    """The output of `attention` tile by tile (Dao et al. 2022); `is_causal` needs n = m and skips what it hides.

    With `return_lse` also L, the log-sum-exp of each row of scores, 0 where a query may attend to nothing. The backward
    keeps L and makes the tiles anew; it gives no second derivative.
    """
    one_length_if_causal(Q, K, is_causal)
    scale = 1 / math.sqrt(Q.shape[-1]) if scale is None else scale
    mask = None if mask is None else mask.expand(*Q.shape[:-1], K.shape[-2])
    O, L = Tiles.apply(Q, K, V, mask, scale, is_causal, block)
    return (O, L) if return_lse else O


class Tiles(torch.autograd.Function):
    """O and L of scores that are never there at once, and their gradients."""

    generate_vmap_rule = True

    @staticmethod
    def forward(Q, K, V, mask, scale, is_causal, block):
        outputs = []
        for i in range(0, max(Q.shape[-2], 1), block):  # no queries still make an output
            q = scale * Q[..., i : i + block, :]
            nothing = q.new_full(q.shape[:-1], -torch.inf), q.new_zeros(q.shape[:-1])
            state = Partial(*nothing, q.new_zeros(*q.shape[:-1], V.shape[-1]))
            for j in _keys(i, K, is_causal, block):
                S = _scores(q, K, mask, is_causal, i, j, block)
                top = S.amax(dim=-1)
                E = torch.exp(S - _finite(top)[..., None])
                state = online_softmax_merge(state, (top, E.sum(dim=-1), E @ V[..., j : j + block, :]))
            l = torch.where(state.l == 0, 1, state.l)
            outputs.append((state.o / l[..., None], _finite(state.m) + torch.log(l)))
        O, L = zip(*outputs, strict=True)
        return torch.cat(O, dim=-2), torch.cat(L, dim=-1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        Q, K, V, mask, ctx.scale, ctx.is_causal, ctx.block = inputs
        ctx.save_for_backward(Q, K, V, mask, *output)

    @staticmethod
    @once_differentiable
    def backward(ctx, dO, dL):
        Q, K, V, mask, O, L = ctx.saved_tensors
        dQ, dK, dV = torch.zeros_like(Q), torch.zeros_like(K), torch.zeros_like(V)
        D = (dO * O).sum(dim=-1) - dL  # rowsum(dA ∘ A); L itself has the gradient A
        for i in range(0, Q.shape[-2], ctx.block):
            rows = (..., slice(i, i + ctx.block), slice(None))
            q, g = ctx.scale * Q[rows], dO[rows]
            for j in _keys(i, K, ctx.is_causal, ctx.block):
                cols = (..., slice(j, j + ctx.block), slice(None))
                S = _scores(q, K, mask, ctx.is_causal, i, j, ctx.block)
                A = torch.exp(S - L[..., i : i + ctx.block, None])
                dV[cols] += A.mT @ g
                dS = A * (g @ V[cols].mT - D[..., i : i + ctx.block, None])
                dQ[rows] += ctx.scale * (dS @ K[cols])
                dK[cols] += dS.mT @ q
        return dQ, dK, dV, None, None, None, None


def _keys(i, K, is_causal, block):
    """Where the tiles of keys begin that queries from i on may read."""
    m = K.shape[-2]
    return range(0, min(i + block, m) if is_causal else m, block)


def _scores(q, K, mask, is_causal, i, j, block):
    """One tile of scores, −∞ where a key is hidden from a query."""
    S = q @ K[..., j : j + block, :].mT
    if mask is not None:
        S = S.masked_fill(~mask[..., i : i + block, j : j + block], -torch.inf)
    if is_causal and i == j:  # tiles further left are all past
        S = S.masked_fill(torch.ones_like(S, dtype=torch.bool).triu(1), -torch.inf)
    return S


def _finite(m):
    """A maximum that is safe to take away: −∞ − (−∞) would be NaN."""
    return torch.where(m == -torch.inf, 0, m)
