"""Chapter 7: the wiring of a sublayer in PyTorch, and initial weights."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from byhand import guard
from byhand.np.residual import WIRINGS, deepnorm, deviation  # arithmetic of plain numbers serves both halves
from byhand.pt.norm import layer_norm, rms_norm

__all__ = ["deepnorm", "deviation", "init_weights", "norm", "residual"]


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
    wiring: str = "pre",
    alpha: float = 1.0,
    eps: float = 1e-5,
) -> Float[Tensor, "*B n d"]:
    """pre: αX + F(LN(X)); post: LN(αX + F(X)); none: F(LN(X)), the stream cut."""
    if wiring not in WIRINGS:
        raise ValueError(f"residual: wiring is {wiring!r}, expected one of {', '.join(WIRINGS)}")
    guard.tensors("residual", 2, X=X)
    guard.number("residual", alpha=alpha)
    if not callable(sublayer):
        raise TypeError(f"residual: sublayer is {type(sublayer).__name__}, expected a function")
    if wiring == "post":
        Y = sublayer(X)
        guard.shape("residual", "output of sublayer", Y.shape, X.shape)
        return norm(alpha * X + Y, params, eps)  # (7.7)
    Y = sublayer(norm(X, params, eps))
    guard.shape("residual", "output of sublayer", Y.shape, X.shape)
    return Y if wiring == "none" else alpha * X + Y  # (7.6), (7.8)


def init_weights(
    d_in: int, d_out: int, scheme: str = "lecun", layers: int = 1, generator: torch.Generator | None = None
) -> Float[Tensor, "d_in d_out"]:
    """Normal weights of a stated standard deviation; the schemes are those of the NumPy half."""
    std = deviation(scheme, d_in, d_out, layers)
    return torch.randn(d_in, d_out, generator=generator) * std
