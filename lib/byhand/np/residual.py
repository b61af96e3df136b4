"""Chapter 7: how a sublayer is joined to the residual stream, and how weights start so that the stream stays level."""

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from byhand.check import Dtype, Index, NonNegative, Params, Shape, Size, at_least, checked, same_shape
from byhand.np.norm import (
    NormCache,
    RMSNormCache,
    layer_norm_backward,
    layer_norm_forward,
    rms_norm_backward,
    rms_norm_forward,
)

NORM = {"gamma": "d", "beta?": "d"}
Scheme = Literal["lecun", "xavier", "he", "gpt2", "residual"]


class ResidualCache(NamedTuple):
    X_shape: Shape["*B n d"]
    norm: Any
    inner: Any
    norm_first: bool
    residual: bool
    alpha: float


@checked
def norm_forward(
    X: Float[Array, "*B d"], params: Params(Array, NORM), eps: NonNegative = 1e-5
) -> tuple[Float[Array, "*B d"], NormCache | RMSNormCache]:
    """LayerNorm if params has {gamma, beta}, RMSNorm if it has gamma alone."""
    if "beta" in params:
        return layer_norm_forward(X, params["gamma"], params["beta"], eps)  # (6.4)
    return rms_norm_forward(X, params["gamma"], eps)  # (6.25)


@checked
def norm_backward(
    dY: Float[Array, "*B d"], cache: NormCache | RMSNormCache
) -> tuple[Float[Array, "*B d"], dict[str, Float[Array, " d"]]]:
    """dX and the gradients of the norm's parameters."""
    if isinstance(cache, NormCache):
        dX, dgamma, dbeta = layer_norm_backward(dY, cache)  # (6.14), (6.7), (6.7)
        return dX, {"gamma": dgamma, "beta": dbeta}
    dX, dgamma = rms_norm_backward(dY, cache)  # (6.27), (6.7)
    return dX, {"gamma": dgamma}


@checked
def residual_forward(
    X: Float[Array, "*B n d"],
    norm: Params(Array, NORM),
    sublayer: Callable,
    norm_first: bool = True,
    residual: bool = True,
    alpha: float = 1.0,
    eps: NonNegative = 1e-5,
) -> tuple[Float[Array, "*B n d"], ResidualCache]:
    """norm_first: αX + F(LN(X)); otherwise LN(αX + F(X)). `sublayer(X)` gives (F(X), cache).

    Without `residual` the stream is cut: F(LN(X)), LN(F(X)). α = 1 is the usual residual; DeepNorm (Wang et al. 2022)
    is post-norm with the α of `deepnorm`.
    """
    if norm_first:
        X_bar, cache = norm_forward(X, norm, eps)
        F, inner = sublayer(X_bar)
        same_shape("residual", X.shape, **{"output of sublayer": F.shape})
        Y = alpha * X + F if residual else F  # (7.6), (7.8)
    else:
        F, inner = sublayer(X)
        same_shape("residual", X.shape, **{"output of sublayer": F.shape})
        Y, cache = norm_forward(alpha * X + F if residual else F, norm, eps)  # (7.7)
    return Y, ResidualCache(X.shape, cache, inner, norm_first, residual, alpha)


@checked
def residual_backward(
    dY: Float[Array, "*B n d"], cache: ResidualCache, sublayer_backward: Callable
) -> tuple[Float[Array, "*B n d"], dict[str, Float[Array, " d"]], dict]:
    """dX, the norm's gradients, the sublayer's. `sublayer_backward(dF, cache)` gives (dX, gradients).

    The gradient of X is a sum of two: α dY along the stream, and what comes back through the sublayer.
    """
    if cache.norm_first:
        dX_bar, grads = sublayer_backward(dY, cache.inner)  # (7.10)
        dX, dnorm = norm_backward(dX_bar, cache.norm)
        return (cache.alpha * dY + dX if cache.residual else dX), dnorm, grads  # (7.11), (7.14)
    dS, dnorm = norm_backward(dY, cache.norm)  # (7.12)
    dX, grads = sublayer_backward(dS, cache.inner)  # (7.13)
    return (cache.alpha * dS + dX if cache.residual else dX), dnorm, grads  # (7.13)


@checked
def deepnorm(encoder_layers: Index, decoder_layers: Index = 0) -> dict[str, tuple[float, float]]:
    """(α, β) of the residual and of the initial weights, for each stack (Wang et al. 2022, table in section 3)."""
    N, M = encoder_layers, decoder_layers
    if N and M:
        return {"encoder": (0.81 * (N**4 * M) ** (1 / 16), 0.87 * (N**4 * M) ** (-1 / 16)),
                "decoder": ((3 * M) ** 0.25, (12 * M) ** -0.25)}  # (7.29)
    name, layers = ("encoder", N) if N else ("decoder", M)
    at_least("deepnorm", 1, layers=layers)
    return {name: ((2 * layers) ** 0.25, (8 * layers) ** -0.25)}  # (7.28)


@checked
def init_weights(
    rng: np.random.Generator, d_in: Size, d_out: Size, scheme: Scheme = "lecun", layers: Size = 1,
    dtype: Dtype = np.float32,
) -> Float[Array, "d_in d_out"]:
    """Normal weights of the standard deviation that `init_std` gives."""
    return rng.normal(scale=init_std(scheme, d_in, d_out, layers), size=(d_in, d_out)).astype(dtype)


@checked
def init_std(scheme: Scheme, d_in: Size, d_out: Size, layers: Size = 1) -> float:
    """Standard deviation of initial weights: lecun 1/√d_in, xavier √(2/(d_in + d_out)), he √(2/d_in), gpt2 0.02;
    residual is gpt2 / √(2 layers), for the last matrix of each of the 2 sublayers of a layer."""
    stds = {"lecun": 1 / math.sqrt(d_in), "xavier": math.sqrt(2 / (d_in + d_out)), "he": math.sqrt(2 / d_in),
            "gpt2": 0.02, "residual": 0.02 / math.sqrt(2 * layers)}  # (7.24), (7.25), (7.26)
    return stds[scheme]
