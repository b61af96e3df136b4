"""Chapter 5: several heads side by side in PyTorch, with one fused projection and the fused kernel."""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from byhand.check import Params, Positive, Size, checked, groups, heads_fit, multiple_of
from byhand.np.multihead import HEAD_SUM, HEADS, Position
from byhand.pt._modules import held
from byhand.pt.attention import fused_attention
from byhand.pt.linear import linear
from byhand.pt.mask import causal_mask
from byhand.pt.position import alibi_bias, relative_bias, rope
from byhand.pt.softmax import softmax


@checked
def split_heads(X: Float[Tensor, "*B n w"], heads: Size) -> Float[Tensor, "*B H n k"]:
    """Cut the features into heads, then bring the head axis before the tokens."""
    multiple_of("split_heads", heads, **{"width of X": X.shape[-1]})
    return X.unflatten(-1, (heads, X.shape[-1] // heads)).transpose(-3, -2)  # (5.8)


@checked
def merge_heads(Z: Float[Tensor, "*B H n k"]) -> Float[Tensor, "*B n w"]:
    """The inverse of `split_heads`."""
    return Z.transpose(-3, -2).flatten(-2)  # (5.8)


@checked
def repeat_heads(Y: Float[Tensor, "*B G m k"], times: Size) -> Float[Tensor, "*B H m k"]:
    """Each of the G key-value heads, `times` times in a row."""
    return Y.repeat_interleave(times, dim=-3) if times > 1 else Y  # (5.26)


@checked
def over_heads(mask: Bool[Tensor, "..."] | None, rank: Size) -> Bool[Tensor, "..."] | None:
    """A mask over (*B, n, m) with an axis for the heads; (n, m) and (*B, H, n, m) stay as they are."""
    return mask.unsqueeze(-3) if mask is not None and 2 < mask.ndim == rank else mask


@checked
def biased_attention(
    Q: Float[Tensor, "*B n d_k"],
    K: Float[Tensor, "*B m d_k"],
    V: Float[Tensor, "*B m d_v"],
    bias: Float[Tensor, "*#B #n #m"],
    mask: Bool[Tensor, "*#B #n #m"] | None = None,
) -> Float[Tensor, "*B n d_v"]:
    """softmax(Q Kᵀ / √d_k + bias) V: what is known of a pair beside its content, repeated over the batch."""
    return softmax(Q @ K.mT / math.sqrt(Q.shape[-1]) + bias, mask) @ V  # (5.22)


@checked
def multihead(
    X: Float[Tensor, "*B n d"],
    M: Float[Tensor, "*B m d_m"],
    params: Params(Tensor, HEADS),
    heads: Size,
    kv_heads: Size | None = None,
    mask: Bool[Tensor, "*#B #n #m"] | Bool[Tensor, "*#B #heads #n #m"] | None = None,
    position: Position = "none",
    rope_theta: Positive = 10000.0,
    positions: Int[Tensor, "*#B n"] | None = None,
    is_causal: bool = False,
) -> Float[Tensor, "*B n d_o"]:
    """Queries from X, keys and values from the memory M, heads joined and mapped by W_o; see the NumPy half.

    When M is X, one product makes Q, K and V: on a GPU one large matmul beats three small ones.
    """
    kv_heads, n = kv_heads or heads, X.shape[-2]
    heads_fit("multihead", params, heads, kv_heads, position, is_causal, n, M.shape[-2])
    if is_causal and (mask is not None or position in ("relative", "alibi")):  # a kernel takes the flag or a mask
        causal, is_causal = causal_mask(n, device=X.device), False
        mask = causal if mask is None else mask & causal
    at = None if positions is None else positions[..., None, :]  # the same for every head
    W, b = ([params.get(f"{kind}_{name}") for name in "qkv"] for kind in "Wb")
    sizes = [w.shape[-1] for w in W]
    if M is X and all(x is not None for x in b):
        Q, K, V = linear(X, torch.cat(W, dim=1), torch.cat(b)).split(sizes, dim=-1)
    elif M is X and all(x is None for x in b):
        Q, K, V = linear(X, torch.cat(W, dim=1)).split(sizes, dim=-1)
    else:
        Q, K, V = linear(X, W[0], b[0]), linear(M, W[1], b[1]), linear(M, W[2], b[2])  # (5.19)
    Q, K, V, mask = split_heads(Q, heads), split_heads(K, kv_heads), split_heads(V, kv_heads), over_heads(mask, X.ndim)
    if position in ("rope", "rope_half"):
        Q, K = (rope(Y, at, rope_theta=rope_theta, interleaved=position == "rope") for Y in (Q, K))
    K, V = repeat_heads(K, heads // kv_heads), repeat_heads(V, heads // kv_heads)
    if position in ("relative", "alibi"):
        if position == "relative":
            bias = relative_bias(params["table"], n, positions=positions)
        else:
            bias = alibi_bias(heads, n, positions=positions, device=X.device)
        Z = biased_attention(Q, K, V, bias.to(Q.dtype), mask)
    else:
        Z = fused_attention(Q, K, V, mask, is_causal=is_causal)  # (5.3)
    return linear(merge_heads(Z), params["W_o"], params.get("b_o"))  # (5.4)


@checked
def head_sum(
    X: Float[Tensor, "*B n d"],
    params: Params(Tensor, HEAD_SUM),
    mask: Bool[Tensor, "*#B #n #n"] | Bool[Tensor, "*#B #H #n #n"] | None = None,
) -> Float[Tensor, "*B n d_o"]:
    """O = Σ_h A_h X V_h (Turner 2023, in rows); params {U_q (H, d, k), U_k (H, d, k), V (H, d, d_o)}."""
    heads = X.unsqueeze(-3)
    Z = fused_attention(heads @ params["U_q"], heads @ params["U_k"], heads @ params["V"], over_heads(mask, X.ndim))
    return Z.sum(dim=-3)  # (5.11)


class Multihead(nn.Module):
    """Multi-head attention; state_dict holds W_q, b_q, … W_o, b_o as in the NumPy half."""

    @checked
    def __init__(
        self,
        d: Size,
        heads: Size,
        kv_heads: Size | None = None,
        d_k: Size | None = None,
        d_m: Size | None = None,
        bias: bool = True,
        position: Position = "none",
        rope_theta: Positive = 10000.0,
        max_distance: Size | None = None,
    ):
        super().__init__()
        self.heads, self.kv_heads = heads, kv_heads or heads
        self.position, self.rope_theta = position, rope_theta
        groups("Multihead", heads, self.kv_heads)
        multiple_of("Multihead", heads, d=heads * d_k if d_k else d)
        d_k, d_m = d_k or d // heads, d_m or d
        if (max_distance is None) == (position == "relative"):
            expected = "a whole number" if position == "relative" else "None"
            raise ValueError(f"Multihead: max_distance is {max_distance}, expected {expected}, since position is "
                             f"{position!r}")
        if position in ("rope", "rope_half"):
            multiple_of("Multihead", 2, **{"width of a head": d_k})
        sizes = {"q": (d, heads * d_k), "k": (d_m, self.kv_heads * d_k), "v": (d_m, self.kv_heads * d_k),
                 "o": (heads * d_k, d)}
        for name, (d_in, d_out) in sizes.items():
            self.register_parameter(f"W_{name}", nn.Parameter(torch.randn(d_in, d_out) / math.sqrt(d_in)))
            self.register_parameter(f"b_{name}", nn.Parameter(torch.zeros(d_out)) if bias else None)
        table = None if max_distance is None else nn.Parameter(torch.zeros(heads, 2 * max_distance + 1))
        self.register_parameter("table", table)

    @checked
    def forward(
        self,
        X: Float[Tensor, "*B n d"],
        M: Float[Tensor, "*B m d_m"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
        positions: Int[Tensor, "*#B n"] | None = None,
        is_causal: bool = False,
    ) -> Float[Tensor, "*B n d"]:
        return multihead(X, X if M is None else M, held(self, HEADS), self.heads, self.kv_heads, mask, self.position,
                         self.rope_theta, positions, is_causal)
