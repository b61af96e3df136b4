"""Chapter 7: how a sublayer is joined to the residual stream in PyTorch, and initial weights."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from byhand import guard
from byhand.np.residual import deepnorm, init_std  # arithmetic of plain numbers serves both halves
from byhand.pt.norm import layer_norm, rms_norm

__all__ = ["deepnorm", "init_std", "init_weights", "norm", "residual"]


def norm(X: Float[Tensor, "*B d"], params: dict, eps: float = 1e-5) -> Float[Tensor, "*B d"]:
    """LayerNorm if params has {gamma, beta}, RMSNorm if it has gamma alone."""
    guard.params("norm", params, ["gamma", "beta"], ["beta"], X=X)
    if "beta" in params:
        return layer_norm(X, params["gamma"], params["beta"], eps)
    return rms_norm(X, params["gamma"], eps)


def residual(
    X: Float[Tensor, "*B n d"],
    params: dict,
    sublayer: Callable,
    norm_first: bool = True,
    residual: bool = True,
    alpha: float = 1.0,
    eps: float = 1e-5,
) -> Float[Tensor, "*B n d"]:
    """norm_first: αX + F(LN(X)); otherwise LN(αX + F(X)). Without `residual` the stream is cut: F(LN(X)), LN(F(X))."""
    guard.flag("residual", norm_first=norm_first, residual=residual)
    guard.tensors("residual", 2, X=X)
    guard.number("residual", alpha=alpha)
    if not callable(sublayer):
        raise TypeError(f"residual: sublayer is {type(sublayer).__name__}, expected a function")
    F = sublayer(norm(X, params, eps) if norm_first else X)
    guard.shape("residual", "output of sublayer", F.shape, X.shape)
    Y = alpha * X + F if residual else F  # (7.6), (7.8)
    return Y if norm_first else norm(Y, params, eps)  # (7.7)


def init_weights(
    d_in: int, d_out: int, scheme: str = "lecun", layers: int = 1, generator: torch.Generator | None = None
) -> Float[Tensor, "d_in d_out"]:
    """Normal weights of a stated standard deviation; the schemes are those of the NumPy half."""
    std = init_std(scheme, d_in, d_out, layers)
    return torch.randn(d_in, d_out, generator=generator) * std
