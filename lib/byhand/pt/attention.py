"""Chapter 4: attention in PyTorch: the explicit form, the fused one that a GPU runs, and a module over both."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from byhand.check import Params, Positive, checked, same_shape
from byhand.config import AttentionConfig
from byhand.np.attention import ADDITIVE, HEAD
from byhand.pt._kernels import as_autocast, by_hand
from byhand.pt.linear import linear
from byhand.pt.softmax import softmax


@checked
def attention(
    Q: Float[Tensor, "*B n d_k"],
    K: Float[Tensor, "*B m d_k"],
    V: Float[Tensor, "*B m d_v"],
    mask: Bool[Tensor, "*#B #n #m"] | None = None,
    scale: float | None = None,
) -> Float[Tensor, "*B n d_v"]:
    """O = softmax(Q Kᵀ / √d_k) V (Vaswani et al. 2017, eq. 1), every step a tensor of its own."""
    scale = 1 / math.sqrt(Q.shape[-1]) if scale is None else scale
    return softmax(scale * (Q @ K.mT), mask) @ V  # (4.8)


@checked
def fused_attention(
    Q: Float[Tensor, "*B n d_k"],
    K: Float[Tensor, "*B m d_k"],
    V: Float[Tensor, "*B m d_v"],
    mask: Bool[Tensor, "*#B #n #m"] | None = None,
    scale: float | None = None,
    is_causal: bool = False,
) -> Float[Tensor, "*B n d_v"]:
    """The same function as one kernel, which never stores the n × m weights where the device has such a kernel.

    `is_causal` says in a flag what a causal mask says in n × m bits, and lets the kernel skip half the work.
    """
    if is_causal and (mask is not None or Q.shape[-2] != K.shape[-2]):
        raise ValueError("fused_attention: is_causal is True, expected that only with n = m and without a mask")
    if mask is None and max(Q.shape[-1], V.shape[-1]) <= 256 and K.shape[-2]:
        Q, K, V = as_autocast(Q, K, V)
        if kernels := by_hand(Q):
            return kernels.flash_attention(Q, K, V, scale, is_causal)
    if Q.ndim == 3:  # the fast kernels take (B, H, n, d) alone: without a head axis torch would store the weights
        Q, K, V = Q.unsqueeze(1), K.unsqueeze(1), V.unsqueeze(1)
        mask = mask.unsqueeze(1) if mask is not None and mask.ndim == 3 else mask
        return _attend(Q, K, V, mask, scale, is_causal).squeeze(1)
    return _attend(Q, K, V, mask, scale, is_causal)


def _attend(Q, K, V, mask, scale, is_causal):
    """torch's kernel. Of a query that may attend to nothing some kernels of a GPU make the mean of all values: it gets
    all keys, and then 0."""
    if mask is None:
        return F.scaled_dot_product_attention(Q, K, V, scale=scale, is_causal=is_causal)
    seen = mask.any(dim=-1, keepdim=True)
    O = F.scaled_dot_product_attention(Q, K, V, attn_mask=mask | ~seen, scale=scale)
    return O.masked_fill(~seen, 0)


@checked
def self_attention(
    X: Float[Tensor, "*B n d"], params: Params(Tensor, HEAD), mask: Bool[Tensor, "*#B #n #n"] | None = None
) -> Float[Tensor, "*B n d_v"]:
    """One head over its own input: Q, K, V are three linear maps of X; params {W_q, b_q, W_k, b_k, W_v, b_v}."""
    Q, K, V = (linear(X, params[f"W_{name}"], params.get(f"b_{name}")) for name in "qkv")  # (4.3)
    return attention(Q, K, V, mask)


@checked
def additive_attention(
    Q: Float[Tensor, "*B n d_q"],
    K: Float[Tensor, "*B m d_k"],
    V: Float[Tensor, "*B m d_v"],
    params: Params(Tensor, ADDITIVE),
    mask: Bool[Tensor, "*#B #n #m"] | None = None,
) -> Float[Tensor, "*B n d_v"]:
    """Scores w · tanh(W_qᵀ q + W_kᵀ k) (Bahdanau et al. 2015); q and k may differ in width. params {W_q, W_k, w}."""
    a, c = linear(Q, params["W_q"]), linear(K, params["W_k"])
    S = torch.tanh(a[..., :, None, :] + c[..., None, :, :]) @ params["w"]  # (4.12)
    return softmax(S, mask) @ V


@checked
def kernel_attention(
    Q: Float[Tensor, "*B n d_k"],
    K: Float[Tensor, "*B m d_k"],
    V: Float[Tensor, "*B m d_v"],
    bandwidth: Positive,
    mask: Bool[Tensor, "*#B #n #m"] | None = None,
) -> Float[Tensor, "*B n d_v"]:
    """Scores −‖q − k‖² / 2h²: kernel regression with a Gaussian of width h (Nadaraya 1964, Watson 1964)."""
    gap = Q[..., :, None, :] - K[..., None, :, :]
    return softmax((gap * gap).sum(dim=-1) / (-2 * bandwidth * bandwidth), mask) @ V  # (4.13)


class SelfAttention(nn.Module):
    """One head; state_dict holds W_q, b_q, W_k, b_k, W_v, b_v as in the NumPy half.

    Runs what a GPU likes: one matmul for Q, K and V together, then the fused kernel.
    """

    @checked
    def __init__(self, config: AttentionConfig):
        super().__init__()
        self.config = config
        for name, size in (("q", config.d_k), ("k", config.d_k), ("v", config.d_v)):
            self.register_parameter(f"W_{name}", nn.Parameter(torch.randn(config.d, size) / math.sqrt(config.d)))
            self.register_parameter(f"b_{name}", nn.Parameter(torch.zeros(size)) if config.bias else None)

    @checked
    def forward(
        self, X: Float[Tensor, "*B n d"], mask: Bool[Tensor, "*#B #n #n"] | None = None, is_causal: bool = False
    ) -> Float[Tensor, "*B n d_v"]:
        same_shape("SelfAttention", (*X.shape[:-1], self.config.d), X=X.shape)
        W = torch.cat([self.W_q, self.W_k, self.W_v], dim=1)
        b = torch.cat([self.b_q, self.b_k, self.b_v]) if self.config.bias else None
        Q, K, V = linear(X, W, b).split([self.config.d_k, self.config.d_k, self.config.d_v], dim=-1)
        return fused_attention(Q, K, V, mask, is_causal=is_causal)
