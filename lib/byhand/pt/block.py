"""Chapter 9: the feed-forward layer and the block in PyTorch, functions and modules over one parameter tree."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from byhand import guard, tree
from byhand.pt.linear import linear
from byhand.pt.multihead import Multihead, multihead
from byhand.pt.norm import LayerNorm, RMSNorm
from byhand.pt.residual import init_weights
from byhand.pt.residual import residual as connect  # `residual` is a flag of a block

ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "gelu_tanh": lambda X: F.gelu(X, approximate="tanh"), "silu": F.silu}


def activation(X: Float[Tensor, "*S"], name: str = "gelu") -> Float[Tensor, "*S"]:
    """relu; gelu, exact; gelu_tanh, its approximation; silu."""
    guard.tensors("activation", 1, X=X)
    if not isinstance(name, str) or name not in ACTIVATIONS:
        raise ValueError(f"activation: name is {name!r}, expected relu, gelu, gelu_tanh or silu")
    return ACTIVATIONS[name](X)


_activation = activation  # functions below have an argument of that name


def feed_forward(
    X: Float[Tensor, "*B n d"], params: dict, activation: str = "gelu"
) -> Float[Tensor, "*B n d"]:
    """f(X W_1 + b_1) W_2 + b_2; with W_g gated, (f(X W_g) ∘ X W_1) W_2."""
    guard.feed_forward("feed_forward", X, params, half="tensor")
    f = _activation
    U = linear(X, params["W_1"], params.get("b_1"))  # (9.8)
    H = f(linear(X, params["W_g"]), activation) * U if "W_g" in params else f(U, activation)
    return linear(H, params["W_2"], params.get("b_2"))  # (9.10)


def dropout(X: Float[Tensor, "*S"], p: float, training: bool = True) -> Float[Tensor, "*S"]:
    """Each entry is 0 with probability p, else divided by 1 − p."""
    guard.tensors("dropout", 1, X=X)
    guard.number("dropout", p=p)
    guard.flag("dropout", training=training)
    if not 0 <= p < 1:
        raise ValueError(f"dropout: p is {p}, expected at least 0 and less than 1")
    return F.dropout(X, p, training)


def block(
    X: Float[Tensor, "*B n d"],
    params: dict,
    heads: int,
    mask: Bool[Tensor, "..."] | None = None,
    M: Float[Tensor, "*B m d_m"] | None = None,
    memory_mask: Bool[Tensor, "..."] | None = None,
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
    is_causal: bool = False,
) -> Float[Tensor, "*B n d"]:
    """Encoder block, or with a memory M a decoder block; see the NumPy half. Dropout is on wherever p > 0."""
    guard.block("block", params, M)

    def attend(Y):
        Z = multihead(Y, Y, params["attention"], heads, kv_heads, mask, position, rope_theta, is_causal=is_causal)
        return F.dropout(Z, p)

    def cross_attend(Y):
        return F.dropout(multihead(Y, M, params["cross"], heads, kv_heads, memory_mask), p)

    def feed(Y):
        return F.dropout(feed_forward(Y, params["ff"], activation), p)

    X = connect(X, params["norm_1"], attend, norm_first, residual, alpha, eps)  # (9.25)
    if M is not None:
        X = connect(X, params["norm_c"], cross_attend, norm_first, residual, alpha, eps)  # (9.28)
    return connect(X, params["norm_2"], feed, norm_first, residual, alpha, eps)  # (9.26)


class FeedForward(nn.Module):
    """Parameters {W_1, b_1, W_2, b_2}, and W_g when gated."""

    def __init__(self, d: int, d_ff: int, activation: str = "gelu", gated: bool = False, bias: bool = True):
        super().__init__()
        guard.count("FeedForward", d=d, d_ff=d_ff)
        self.activation = activation
        self.W_1, self.W_2 = nn.Parameter(init_weights(d, d_ff)), nn.Parameter(init_weights(d_ff, d))
        self.W_g = nn.Parameter(init_weights(d, d_ff)) if gated else None
        self.b_1 = nn.Parameter(torch.zeros(d_ff)) if bias else None
        self.b_2 = nn.Parameter(torch.zeros(d)) if bias else None

    def forward(self, X: Float[Tensor, "*B n d"]) -> Float[Tensor, "*B n d"]:
        return feed_forward(X, dict(self.named_parameters()), self.activation)


class Block(nn.Module):
    """One block of an encoder, or with `d_m` of a decoder with cross-attention; the tree of the NumPy half."""

    def __init__(
        self,
        d: int,
        heads: int,
        d_ff: int,
        *,
        d_m: int | None = None,
        kv_heads: int | None = None,
        norm_first: bool = True,
        residual: bool = True,
        alpha: float = 1.0,
        activation: str = "gelu",
        gated: bool = False,
        bias: bool = True,
        rms: bool = False,
        position: str = "none",
        rope_theta: float = 10000.0,
        max_distance: int | None = None,
        eps: float = 1e-5,
        p: float = 0.0,
    ):
        super().__init__()
        norm = RMSNorm if rms else LayerNorm
        self.attention = Multihead(d, heads, kv_heads, bias=bias, max_distance=max_distance)
        self.norm_1 = norm(d, eps)
        if d_m is not None:
            self.cross = Multihead(d, heads, kv_heads, d_m=d_m, bias=bias)
            self.norm_c = norm(d, eps)
        self.ff = FeedForward(d, d_ff, activation, gated, bias)
        self.norm_2 = norm(d, eps)
        self.options = {"heads": heads, "kv_heads": kv_heads, "norm_first": norm_first, "residual": residual,
                        "alpha": alpha, "activation": activation, "position": position,
                        "rope_theta": rope_theta, "eps": eps}
        self.p = p

    def forward(
        self,
        X: Float[Tensor, "*B n d"],
        mask: Bool[Tensor, "..."] | None = None,
        M: Float[Tensor, "*B m d_m"] | None = None,
        memory_mask: Bool[Tensor, "..."] | None = None,
        is_causal: bool = False,
    ) -> Float[Tensor, "*B n d"]:
        params = tree.unflatten(dict(self.named_parameters()))
        p = self.p if self.training else 0.0
        return block(X, params, mask=mask, M=M, memory_mask=memory_mask, is_causal=is_causal, p=p, **self.options)
