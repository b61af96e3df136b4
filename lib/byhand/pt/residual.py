"""Chapter 7: how a sublayer is joined to the residual stream in PyTorch, and initial weights."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from byhand.check import NonNegative, Params, Size, checked, same_shape
from byhand.np.residual import NORM, Scheme, deepnorm, init_std  # arithmetic of plain numbers serves both halves
from byhand.pt.norm import layer_norm, rms_norm

__all__ = ["deepnorm", "init_std", "init_weights", "norm", "residual"]


@checked
def norm(X: Float[Tensor, "*B d"], params: Params(Tensor, NORM), eps: NonNegative = 1e-5) -> Float[Tensor, "*B d"]:
    """LayerNorm if params has {gamma, beta}, RMSNorm if it has gamma alone."""
    if "beta" in params:
        return layer_norm(X, params["gamma"], params["beta"], eps)
    return rms_norm(X, params["gamma"], eps)


@checked
def residual(
    X: Float[Tensor, "*B n d"],
    params: Params(Tensor, NORM),
    sublayer: Callable,
    norm_first: bool = True,
    residual: bool = True,
    alpha: float = 1.0,
    eps: NonNegative = 1e-5,
) -> Float[Tensor, "*B n d"]:
    """norm_first: αX + F(LN(X)); otherwise LN(αX + F(X)). Without `residual` the stream is cut: F(LN(X)), LN(F(X))."""
    F = sublayer(norm(X, params, eps) if norm_first else X)
    same_shape("residual", X.shape, **{"output of sublayer": F.shape})
    Y = alpha * X + F if residual else F  # (7.6), (7.8)
    return Y if norm_first else norm(Y, params, eps)  # (7.7)


@checked
def init_weights(
    d_in: Size, d_out: Size, scheme: Scheme = "lecun", layers: Size = 1, rng: torch.Generator | None = None
) -> Float[Tensor, "d_in d_out"]:
    """Normal weights of a stated standard deviation; the schemes are those of the NumPy half."""
    std = init_std(scheme, d_in, d_out, layers)
    return torch.randn(d_in, d_out, generator=rng) * std
