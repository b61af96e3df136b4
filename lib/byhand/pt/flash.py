"""Chapter 16: the same tiles in torch, to read and to compare; `fused_attention` of chapter 4 is what a GPU runs."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from byhand import guard


class Partial(NamedTuple):
    """What a query has read of some keys: m = max s, l = Σ exp(s − m), o = Σ exp(s − m) v."""

    m: Tensor
    l: Tensor
    o: Tensor


def online_softmax_merge(
    a: tuple[Float[Tensor, "*B n"], Float[Tensor, "*B n"], Float[Tensor, "*B n d_v"]],
    b: tuple[Float[Tensor, "*B n"], Float[Tensor, "*B n"], Float[Tensor, "*B n d_v"]],
) -> Partial:
    """(m, l, o) of two sets of keys read together: associative, and (−∞, 0, 0) is its identity (Milakov 2018)."""
    guard.partials("online_softmax_merge", a, b, "tensor")
    (m_a, l_a, o_a), (m_b, l_b, o_b) = a, b
    m = torch.maximum(m_a, m_b)
    top = _finite(m)
    keep, add = torch.exp(m_a - top), torch.exp(m_b - top)  # what was summed under a smaller maximum shrinks
    return Partial(m, keep * l_a + add * l_b, keep[..., None] * o_a + add[..., None] * o_b)


def flash_attention(
    Q: Float[Tensor, "*B n d_k"],
    K: Float[Tensor, "*B m d_k"],
    V: Float[Tensor, "*B m d_v"],
    mask: Bool[Tensor, "..."] | None = None,
    scale: float | None = None,
    is_causal: bool = False,
    block: int = 512,
) -> Float[Tensor, "*B n d_v"]:
    """The output of `attention` tile by tile (Dao et al. 2022); `is_causal` needs n = m and skips what it hides.

    Under autograd every tile is kept for the backward, so memory is saved without gradients only. A fused kernel
    (torch.nn.functional.scaled_dot_product_attention) makes the tiles anew, as the NumPy half does.
    """
    guard.attention("flash_attention", Q, K, V, mask, scale, half="tensor")
    guard.tiles("flash_attention", Q, K, is_causal, block)
    n, m = Q.shape[-2], K.shape[-2]
    Q = Q * (1 / math.sqrt(Q.shape[-1]) if scale is None else float(scale))
    mask = None if mask is None else mask.expand(*Q.shape[:-1], m)
    O = []
    for i in range(0, max(n, 1), block):  # no queries still make an output
        q = Q[..., i : i + block, :]
        stop = min(i + block, m) if is_causal else m
        o = q.new_zeros(*q.shape[:-1], V.shape[-1])
        state = Partial(q.new_full(q.shape[:-1], -torch.inf), q.new_zeros(q.shape[:-1]), o)
        for j in range(0, stop, block):
            S = q @ K[..., j : j + block, :].mT
            if mask is not None:
                S = S.masked_fill(~mask[..., i : i + block, j : j + block], -torch.inf)
            if is_causal and i == j:  # tiles further left are all past
                S = S.masked_fill(torch.ones_like(S, dtype=torch.bool).triu(1), -torch.inf)
            top = S.detach().amax(dim=-1)  # the output is the same for any shift, so it has no gradient
            E = torch.exp(S - _finite(top)[..., None])
            state = online_softmax_merge(state, (top, E.sum(dim=-1), E @ V[..., j : j + block, :]))
        O.append(state.o / torch.where(state.l == 0, 1, state.l)[..., None])
    return torch.cat(O, dim=-2)


def _finite(m):
    """A maximum that is safe to take away: −∞ − (−∞) would be NaN."""
    return torch.where(m == -torch.inf, 0, m)
