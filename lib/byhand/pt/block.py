"""Chapter 9: the feed-forward layer and the block in PyTorch, functions and modules over one parameter tree."""

import math
from collections.abc import Callable
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from byhand.check import Params, Positive, Share, Size, checked, names
from byhand.config import Activation
from byhand.np.block import BLOCK, CROSS, FEED_FORWARD
from byhand.pt._modules import held
from byhand.pt.linear import linear
from byhand.pt.multihead import Multihead, multihead
from byhand.pt.norm import LayerNorm, RMSNorm
from byhand.pt.residual import init_weights
from byhand.pt.residual import residual as connect  # `residual` is a flag of a block


def _gelu(X: Tensor) -> Tensor:
    """GELU. torch's own for float64 asks for erf number by number on a CPU: five times as long as erf of all of X."""
    return 0.5 * X * (1 + torch.erf(X * math.sqrt(0.5))) if X.dtype == torch.float64 else F.gelu(X)


ACTIVATIONS = {"relu": F.relu, "gelu": _gelu, "gelu_tanh": lambda X: F.gelu(X, approximate="tanh"), "silu": F.silu}


@checked
def activation(X: Float[Tensor, "*S"], name: Activation = "gelu") -> Float[Tensor, "*S"]:
    """relu; gelu, exact; gelu_tanh, its approximation; silu."""
    return ACTIVATIONS[name](X)


_activation = activation  # functions below have an argument of that name


@checked
def feed_forward(
    X: Float[Tensor, "*B n d"], params: Params(Tensor, FEED_FORWARD), activation: Activation = "gelu"
) -> Float[Tensor, "*B n d_o"]:
    """f(X W_1 + b_1) W_2 + b_2; with W_g gated, (f(X W_g) ∘ X W_1) W_2."""
    f = _activation
    U = linear(X, params["W_1"], params.get("b_1"))  # (9.8)
    H = f(linear(X, params["W_g"]), activation) * U if "W_g" in params else f(U, activation)
    return linear(H, params["W_2"], params.get("b_2"))  # (9.10)


@checked
def dropout(X: Float[Tensor, "*S"], p: Share, training: bool = True) -> Float[Tensor, "*S"]:
    """Each entry is 0 with probability p, else divided by 1 − p."""
    return F.dropout(X, p, training)


@checked
def block(
    X: Float[Tensor, "*B n d"],
    params: dict,
    heads: Size,
    mask: Bool[Tensor, "..."] | None = None,
    M: Float[Tensor, "*B m d_m"] | None = None,
    memory_mask: Bool[Tensor, "..."] | None = None,
    *,
    norm_first: bool = True,
    residual: bool = True,
    alpha: float = 1.0,
    activation: Activation = "gelu",
    kv_heads: Size | None = None,
    position: Literal["none", "rope", "rope_half", "alibi", "relative"] = "none",
    rope_theta: Positive = 10000.0,
    positions: Int[Tensor, "*#B n"] | None = None,
    is_causal: bool = False,
    eps: Positive = 1e-5,
    p: Share = 0.0,
) -> Float[Tensor, "*B n d"]:
    """Encoder block, or with a memory M a decoder block; see the NumPy half. Dropout is on wherever p > 0."""
    names("block", "params", params, BLOCK if M is None else BLOCK + CROSS)

    def attend(Y):
        Z = multihead(Y, Y, params["attention"], heads, kv_heads, mask, position, rope_theta, positions, is_causal)
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

    @checked
    def __init__(self, d: Size, d_ff: Size, activation: Activation = "gelu", gated: bool = False, bias: bool = True):
        super().__init__()
        self.activation = activation
        self.W_1, self.W_2 = nn.Parameter(init_weights(d, d_ff)), nn.Parameter(init_weights(d_ff, d))
        self.W_g = nn.Parameter(init_weights(d, d_ff)) if gated else None
        self.b_1 = nn.Parameter(torch.zeros(d_ff)) if bias else None
        self.b_2 = nn.Parameter(torch.zeros(d)) if bias else None

    @checked
    def forward(self, X: Float[Tensor, "*B n d"]) -> Float[Tensor, "*B n d"]:
        return feed_forward(X, held(self, FEED_FORWARD), self.activation)


class Block(nn.Module):
    """One block of an encoder, or with `d_m` of a decoder with cross-attention; the tree of the NumPy half."""

    @checked
    def __init__(
        self,
        d: Size,
        heads: Size,
        d_ff: Size,
        *,
        d_m: Size | None = None,
        kv_heads: Size | None = None,
        norm_first: bool = True,
        residual: bool = True,
        alpha: float = 1.0,
        activation: Activation = "gelu",
        gated: bool = False,
        bias: bool = True,
        rms: bool = False,
        position: Literal["none", "rope", "rope_half", "alibi", "relative"] = "none",
        rope_theta: Positive = 10000.0,
        max_distance: Size | None = None,
        eps: Positive = 1e-5,
        p: Share = 0.0,
    ):
        super().__init__()
        norm = RMSNorm if rms else LayerNorm
        self.attention = Multihead(d, heads, kv_heads, bias=bias, position=position, rope_theta=rope_theta,
                                   max_distance=max_distance)
        self.norm_1 = norm(d, eps)
        self.cross = None if d_m is None else Multihead(d, heads, kv_heads, d_m=d_m, bias=bias)
        self.norm_c = None if d_m is None else norm(d, eps)
        self.ff = FeedForward(d, d_ff, activation, gated, bias)
        self.norm_2 = norm(d, eps)
        self.norm_first, self.residual, self.alpha, self.p = norm_first, residual, alpha, p

    def _connect(self, X: Tensor, norm: nn.Module, sublayer: Callable) -> Tensor:
        """As `residual` of chapter 7, with a module for its norm."""
        F = sublayer(norm(X) if self.norm_first else X)
        Y = self.alpha * X + F if self.residual else F
        return Y if self.norm_first else norm(Y)

    @checked
    def forward(
        self,
        X: Float[Tensor, "*B n d"],
        mask: Bool[Tensor, "..."] | None = None,
        M: Float[Tensor, "*B m d_m"] | None = None,
        memory_mask: Bool[Tensor, "..."] | None = None,
        is_causal: bool = False,
        positions: Int[Tensor, "*#B n"] | None = None,
    ) -> Float[Tensor, "*B n d"]:
        if (M is None) != (self.cross is None):
            got, expected = ("None", "a memory") if M is None else ("there", "None")
            raise ValueError(f"Block: M is {got}, expected {expected}, since d_m was {'not ' * (M is not None)}given")
        p = self.p if self.training else 0.0

        def attend(Y):
            return F.dropout(self.attention(Y, mask=mask, positions=positions, is_causal=is_causal), p)

        def cross_attend(Y):
            return F.dropout(self.cross(Y, M, memory_mask), p)

        def feed(Y):
            return F.dropout(self.ff(Y), p)

        X = self._connect(X, self.norm_1, attend)  # (9.25)
        if M is not None:
            X = self._connect(X, self.norm_c, cross_attend)  # (9.28)
        return self._connect(X, self.norm_2, feed)  # (9.26)
