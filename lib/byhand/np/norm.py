"""Chapter 6: normalisation. One forward and one backward serve them all; only the axes of the statistics differ."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from byhand.check import (
    Dtype,
    NonNegative,
    Params,
    Size,
    at_least,
    axes_of,
    checked,
    multiple_of,
    not_negative,
    squares_add_up,
)

RUNNING = {"mean": "d", "var": "d"}


class StandardizeCache(NamedTuple):
    X_hat: Float[Array, "*S"]
    s: Float[Array, "..."]
    axes: tuple[int, ...]


@checked
def standardize_forward(
    X: Float[Array, "*S"], axes: tuple[int, ...] = (-1,), eps: NonNegative = 1e-5
) -> tuple[Float[Array, "*S"], StandardizeCache]:
    """X̂ = (X − μ) / √(σ² + ε), with mean and population variance over `axes`, in two passes."""
    axes_of("standardize", X.shape, axes)
    squares_add_up("standardize", X, axes, eps)
    centred = X - X.mean(axis=axes, keepdims=True)  # (6.1)
    s = np.sqrt((centred * centred).mean(axis=axes, keepdims=True) + eps)  # (6.2)
    X_hat = centred / s  # (6.3)
    return X_hat, StandardizeCache(X_hat, s, axes)


@checked
def standardize_backward(dX_hat: Float[Array, "*S"], cache: StandardizeCache) -> Float[Array, "*S"]:
    """dX = (g − mean g − X̂ mean(g ∘ X̂)) / s, where g = dX̂: the mean and the direction X̂ get no gradient."""
    X_hat, s, axes = cache
    g = dX_hat
    return (g - g.mean(axis=axes, keepdims=True) - X_hat * (g * X_hat).mean(axis=axes, keepdims=True)) / s  # (6.14)


class NormCache(NamedTuple):
    X_hat: Float[Array, "*B d"]
    s: Float[Array, "*B 1"]
    gamma: Float[Array, " d"]


@checked
def layer_norm_forward(
    X: Float[Array, "*B d"], gamma: Float[Array, " d"], beta: Float[Array, " d"], eps: NonNegative = 1e-5
) -> tuple[Float[Array, "*B d"], NormCache]:
    """Each token by itself, over its features (Ba et al. 2016)."""
    X_hat, standard = standardize_forward(X, (-1,), eps)  # (6.3)
    return X_hat * gamma + beta, NormCache(X_hat, standard.s, gamma)  # (6.4)


@checked
def layer_norm_backward(
    dY: Float[Array, "*B d"], cache: NormCache
) -> tuple[Float[Array, "*B d"], Float[Array, " d"], Float[Array, " d"]]:
    """dX, dγ, dβ. γ stands inside the means: g = γ ∘ dY."""
    X_hat, s, gamma = cache
    g = gamma * dY  # (6.7)
    dX = (g - g.mean(axis=-1, keepdims=True) - X_hat * (g * X_hat).mean(axis=-1, keepdims=True)) / s  # (6.14)
    dgamma, dbeta = _sum_tokens(dY * X_hat), _sum_tokens(dY)  # (6.7)
    return dX, dgamma, dbeta


class GroupNormCache(NamedTuple):
    standard: StandardizeCache
    X_hat: Float[Array, "*B n d"]
    gamma: Float[Array, " d"]


@checked
def instance_norm_forward(
    X: Float[Array, "*B n d"], gamma: Float[Array, " d"], beta: Float[Array, " d"], eps: NonNegative = 1e-5
) -> tuple[Float[Array, "*B n d"], GroupNormCache]:
    """Each feature of each sequence, over its tokens."""
    X_hat, standard = standardize_forward(X, (-2,), eps)  # (6.6)
    return X_hat * gamma + beta, GroupNormCache(standard, X_hat, gamma)  # (6.4)


@checked
def instance_norm_backward(
    dY: Float[Array, "*B n d"], cache: GroupNormCache
) -> tuple[Float[Array, "*B n d"], Float[Array, " d"], Float[Array, " d"]]:
    """dX, dγ, dβ. The statistics of `group_norm_backward` are over other entries; the rest is the same."""
    return group_norm_backward(dY, cache)  # (6.14)


@checked
def group_norm_forward(
    X: Float[Array, "*B n d"],
    gamma: Float[Array, " d"],
    beta: Float[Array, " d"],
    groups: Size,
    eps: NonNegative = 1e-5,
) -> tuple[Float[Array, "*B n d"], GroupNormCache]:
    """Each group of d/groups features of each sequence, over its tokens and its features (Wu and He 2018)."""
    multiple_of("group_norm", groups, **{"width of X": X.shape[-1]})
    grouped, standard = standardize_forward(X.reshape(*X.shape[:-1], groups, X.shape[-1] // groups), (-3, -1), eps)
    X_hat = grouped.reshape(X.shape)  # (6.6)
    return X_hat * gamma + beta, GroupNormCache(standard, X_hat, gamma)  # (6.4)


@checked
def group_norm_backward(
    dY: Float[Array, "*B n d"], cache: GroupNormCache
) -> tuple[Float[Array, "*B n d"], Float[Array, " d"], Float[Array, " d"]]:
    """dX, dγ, dβ."""
    standard, X_hat, gamma = cache
    g = gamma * dY  # (6.7)
    dX = standardize_backward(g.reshape(standard.X_hat.shape), standard).reshape(dY.shape)  # (6.14)
    dgamma, dbeta = _sum_tokens(dY * X_hat), _sum_tokens(dY)  # (6.7)
    return dX, dgamma, dbeta


class BatchNormCache(NamedTuple):
    standard: StandardizeCache
    X_hat: Float[Array, "*B d"]
    gamma: Float[Array, " d"]
    running: dict[str, Array]


@checked
def batch_norm_forward(
    X: Float[Array, "*B d"],
    gamma: Float[Array, " d"],
    beta: Float[Array, " d"],
    running: Params(Array, RUNNING),
    training: bool = True,
    momentum: float = 0.1,
    eps: NonNegative = 1e-5,
) -> tuple[Float[Array, "*B d"], BatchNormCache]:
    """Each feature, over every token of the batch (Ioffe and Szegedy 2015); `running` is {mean, var}, never changed.

    Training uses the statistics of the batch, and `cache.running` holds the next ones, with the unbiased variance as
    in torch. Otherwise the running statistics are constants.
    """
    not_negative("batch_norm", **{"running['var']": running["var"]})
    if not training:
        s = np.sqrt(running["var"] + eps)  # (6.22)
        X_hat = (X - running["mean"]) / s  # (6.22)
        return X_hat * gamma + beta, BatchNormCache(StandardizeCache(X_hat, s, ()), X_hat, gamma, running)  # (6.22)
    at_least("batch_norm", 2, **{"number of tokens of X": X.size // X.shape[-1]})
    axes = tuple(range(X.ndim - 1))
    X_hat, standard = standardize_forward(X, axes, eps)  # (6.6)
    now = {"mean": X.mean(axis=axes), "var": X.var(axis=axes, ddof=1)}  # (6.21)
    after = {name: (1 - momentum) * running[name] + momentum * now[name] for name in running}  # (6.21)
    return X_hat * gamma + beta, BatchNormCache(standard, X_hat, gamma, after)  # (6.4)


@checked
def batch_norm_backward(
    dY: Float[Array, "*B d"], cache: BatchNormCache
) -> tuple[Float[Array, "*B d"], Float[Array, " d"], Float[Array, " d"]]:
    """dX, dγ, dβ. Every token of the batch had a part in the statistics, and so in the gradient of every other."""
    standard, X_hat, gamma, _ = cache
    g = gamma * dY  # (6.7)
    dX = standardize_backward(g, standard) if standard.axes else g / standard.s  # (6.23), (6.24)
    dgamma, dbeta = _sum_tokens(dY * X_hat), _sum_tokens(dY)  # (6.7)
    return dX, dgamma, dbeta


class RMSNormCache(NamedTuple):
    X_hat: Float[Array, "*B d"]
    r: Float[Array, "*B 1"]
    gamma: Float[Array, " d"]


@checked
def rms_norm_forward(
    X: Float[Array, "*B d"], gamma: Float[Array, " d"], eps: NonNegative = 1e-5
) -> tuple[Float[Array, "*B d"], RMSNormCache]:
    """Y = γ ∘ X / √(mean X² + ε) over the features: no mean is taken away (Zhang and Sennrich 2019)."""
    squares_add_up("rms_norm", X, (-1,), eps, centred=False)
    r = np.sqrt((X * X).mean(axis=-1, keepdims=True) + eps)  # (6.25)
    X_hat = X / r  # (6.25)
    return X_hat * gamma, RMSNormCache(X_hat, r, gamma)  # (6.25)


@checked
def rms_norm_backward(
    dY: Float[Array, "*B d"], cache: RMSNormCache
) -> tuple[Float[Array, "*B d"], Float[Array, " d"]]:
    """dX = (g − X̂ mean(g ∘ X̂)) / r, where g = γ ∘ dY; dγ = Σ dY ∘ X̂."""
    X_hat, r, gamma = cache
    g = gamma * dY  # (6.7)
    dX = (g - X_hat * (g * X_hat).mean(axis=-1, keepdims=True)) / r  # (6.27)
    dgamma = _sum_tokens(dY * X_hat)  # (6.7)
    return dX, dgamma


@checked
def init_norm(d: Size, bias: bool = True, dtype: Dtype = np.float32) -> dict[str, Float[Array, " d"]]:
    """Parameters {gamma, beta}, ones and zeros: a fresh norm only standardizes. RMSNorm has no beta."""
    params = {"gamma": np.ones(d, dtype)}
    return params | {"beta": np.zeros(d, dtype)} if bias else params


def _sum_tokens(dY):
    """Sum over every axis but the features: γ and β are shared by all tokens."""
    return dY.reshape(math.prod(dY.shape[:-1]), dY.shape[-1]).sum(axis=0)
