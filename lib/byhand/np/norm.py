"""Chapter 6: normalisation. One forward and one backward serve them all; only the axes of the statistics differ."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from byhand import guard


class StandardizeCache(NamedTuple):
    X_hat: Array
    s: Array
    axes: tuple[int, ...]


def standardize_forward(
    X: Float[Array, "*S"], axes: tuple[int, ...] = (-1,), eps: float = 1e-5
) -> tuple[Float[Array, "*S"], StandardizeCache]:
    """X̂ = (X − μ) / √(σ² + ε), with mean and population variance over `axes`, in two passes."""
    guard.floats("standardize", 1, X=X)
    guard.axes("standardize", axes, X)
    eps = _small("standardize", eps)
    centred = X - X.mean(axis=axes, keepdims=True)  # (6.1)
    s = np.sqrt((centred * centred).mean(axis=axes, keepdims=True) + eps)  # (6.2)
    X_hat = centred / s  # (6.3)
    return X_hat, StandardizeCache(X_hat, s, axes)


def standardize_backward(dX_hat: Float[Array, "*S"], cache: StandardizeCache) -> Float[Array, "*S"]:
    """dX = (g − mean g − X̂ mean(g ∘ X̂)) / s, where g = dX̂: the mean and the direction X̂ get no gradient."""
    X_hat, s, axes = cache
    g = dX_hat
    guard.floats("standardize_backward", 1, X_hat=X_hat, dX_hat=g)
    guard.shape("standardize_backward", "dX_hat", g.shape, X_hat.shape)
    return (g - g.mean(axis=axes, keepdims=True) - X_hat * (g * X_hat).mean(axis=axes, keepdims=True)) / s  # (6.14)


class NormCache(NamedTuple):
    standard: StandardizeCache
    gamma: Array


def layer_norm_forward(
    X: Float[Array, "*B d"], gamma: Float[Array, " d"], beta: Float[Array, " d"], eps: float = 1e-5
) -> tuple[Float[Array, "*B d"], NormCache]:
    """Each token by itself, over its features (Ba et al. 2016)."""
    _affine("layer_norm", X, 1, gamma=gamma, beta=beta)
    X_hat, standard = standardize_forward(X, (-1,), eps)
    return X_hat * gamma + beta, NormCache(standard, gamma)  # (6.4)


def layer_norm_backward(
    dY: Float[Array, "*B d"], cache: NormCache
) -> tuple[Float[Array, "*B d"], Float[Array, " d"], Float[Array, " d"]]:
    """dX, dγ, dβ. γ stands inside the means: g = γ ∘ dY."""
    return _norm_backward("layer_norm_backward", dY, cache)


def instance_norm_forward(
    X: Float[Array, "*B n d"], gamma: Float[Array, " d"], beta: Float[Array, " d"], eps: float = 1e-5
) -> tuple[Float[Array, "*B n d"], NormCache]:
    """Each feature of each sequence, over its tokens."""
    _affine("instance_norm", X, 2, gamma=gamma, beta=beta)
    X_hat, standard = standardize_forward(X, (-2,), eps)  # (6.6)
    return X_hat * gamma + beta, NormCache(standard, gamma)


def instance_norm_backward(
    dY: Float[Array, "*B n d"], cache: NormCache
) -> tuple[Float[Array, "*B n d"], Float[Array, " d"], Float[Array, " d"]]:
    """dX, dγ, dβ."""
    return _norm_backward("instance_norm_backward", dY, cache)


class GroupNormCache(NamedTuple):
    standard: StandardizeCache
    X_hat: Array
    gamma: Array


def group_norm_forward(
    X: Float[Array, "*B n d"], gamma: Float[Array, " d"], beta: Float[Array, " d"], groups: int, eps: float = 1e-5
) -> tuple[Float[Array, "*B n d"], GroupNormCache]:
    """Each group of d/groups features of each sequence, over its tokens and its features (Wu and He 2018)."""
    _affine("group_norm", X, 2, gamma=gamma, beta=beta)
    guard.count("group_norm", groups=groups)
    if X.shape[-1] % groups:
        raise ValueError(f"group_norm: groups is {groups}, expected a divisor of the {X.shape[-1]} features of X")
    grouped, standard = standardize_forward(X.reshape(*X.shape[:-1], groups, X.shape[-1] // groups), (-3, -1), eps)
    X_hat = grouped.reshape(X.shape)  # (6.6)
    return X_hat * gamma + beta, GroupNormCache(standard, X_hat, gamma)


def group_norm_backward(
    dY: Float[Array, "*B n d"], cache: GroupNormCache
) -> tuple[Float[Array, "*B n d"], Float[Array, " d"], Float[Array, " d"]]:
    """dX, dγ, dβ."""
    standard, X_hat, gamma = cache
    guard.floats("group_norm_backward", 2, gamma=gamma[None], dY=dY)
    guard.shape("group_norm_backward", "dY", dY.shape, X_hat.shape)
    dX = standardize_backward((dY * gamma).reshape(standard.X_hat.shape), standard).reshape(dY.shape)
    return dX, _tokens(dY * X_hat), _tokens(dY)


class BatchNormCache(NamedTuple):
    standard: StandardizeCache
    gamma: Array
    running: dict[str, Array]


def batch_norm_forward(
    X: Float[Array, "*B d"],
    gamma: Float[Array, " d"],
    beta: Float[Array, " d"],
    running: dict[str, Float[Array, " d"]],
    training: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> tuple[Float[Array, "*B d"], BatchNormCache]:
    """Each feature, over every token of the batch (Ioffe and Szegedy 2015); `running` is {mean, var}, never changed.

    Training uses the statistics of the batch, and `cache.running` holds the next ones, with the unbiased variance as
    in torch. Otherwise the running statistics are constants.
    """
    _affine("batch_norm", X, 2, gamma=gamma, beta=beta)
    guard.params("batch_norm", running, ["mean", "var"], called="running", X=X)
    guard.flag("batch_norm", training=training)
    guard.shapes("batch_norm", running, "running", mean=gamma.shape, var=gamma.shape)
    axes = tuple(range(X.ndim - 1))
    if not training:
        s = np.sqrt(running["var"] + _small("batch_norm", eps))
        X_hat = (X - running["mean"]) / s  # (6.22)
        return X_hat * gamma + beta, BatchNormCache(StandardizeCache(X_hat, s, ()), gamma, running)
    count = X.size // X.shape[-1]
    if count < 2:
        raise ValueError(f"batch_norm: X has {count} token, expected at least 2 to train on")
    X_hat, standard = standardize_forward(X, axes, eps)  # (6.6)
    guard.number("batch_norm", momentum=momentum)
    momentum, now = float(momentum), {"mean": X.mean(axis=axes), "var": X.var(axis=axes, ddof=1)}
    after = {name: (1 - momentum) * running[name] + momentum * now[name] for name in running}  # (6.21)
    return X_hat * gamma + beta, BatchNormCache(standard, gamma, after)


def batch_norm_backward(
    dY: Float[Array, "*B d"], cache: BatchNormCache
) -> tuple[Float[Array, "*B d"], Float[Array, " d"], Float[Array, " d"]]:
    """dX, dγ, dβ. Every token of the batch had a part in the statistics, and so in the gradient of every other."""
    standard, gamma, _ = cache
    if standard.axes:
        return _norm_backward("batch_norm_backward", dY, NormCache(standard, gamma))
    guard.floats("batch_norm_backward", 2, X_hat=standard.X_hat, dY=dY)
    guard.shape("batch_norm_backward", "dY", dY.shape, standard.X_hat.shape)
    return dY * gamma / standard.s, _tokens(dY * standard.X_hat), _tokens(dY)  # (6.24)


class RMSNormCache(NamedTuple):
    X_hat: Array
    r: Array
    gamma: Array


def rms_norm_forward(
    X: Float[Array, "*B d"], gamma: Float[Array, " d"], eps: float = 1e-6
) -> tuple[Float[Array, "*B d"], RMSNormCache]:
    """Y = γ ∘ X / √(mean X² + ε) over the features: no mean is taken away (Zhang and Sennrich 2019)."""
    _affine("rms_norm", X, 1, gamma=gamma)
    r = np.sqrt((X * X).mean(axis=-1, keepdims=True) + _small("rms_norm", eps))
    X_hat = X / r  # (6.25)
    return X_hat * gamma, RMSNormCache(X_hat, r, gamma)


def rms_norm_backward(
    dY: Float[Array, "*B d"], cache: RMSNormCache
) -> tuple[Float[Array, "*B d"], Float[Array, " d"]]:
    """dX = (g − X̂ mean(g ∘ X̂)) / r, where g = γ ∘ dY; dγ = Σ dY ∘ X̂."""
    X_hat, r, gamma = cache
    guard.floats("rms_norm_backward", 1, X_hat=X_hat, dY=dY)
    guard.shape("rms_norm_backward", "dY", dY.shape, X_hat.shape)
    g = dY * gamma
    return (g - X_hat * (g * X_hat).mean(axis=-1, keepdims=True)) / r, _tokens(dY * X_hat)  # (6.27)


def init_norm(d: int, bias: bool = True, dtype=np.float32) -> dict[str, Float[Array, " d"]]:
    """Parameters {gamma, beta}, ones and zeros: a fresh norm only standardizes. RMSNorm has no beta."""
    guard.count("init_norm", d=d)
    params = {"gamma": np.ones(d, dtype)}
    return params | {"beta": np.zeros(d, dtype)} if bias else params


def _small(where, eps):
    """ε as a plain number, which leaves float32 as it is; 0 is allowed."""
    guard.within(where, 0, np.inf, eps=eps)
    return float(eps)


def _affine(where, X, rank, **affine):
    guard.floats(where, rank, X=X)
    guard.floats(where, 1, X=X, **affine)
    for name, x in affine.items():
        guard.shape(where, name, x.shape, X.shape[-1:])


def _tokens(dY):
    """Sum over every axis but the features: γ and β are shared by all tokens."""
    return dY.reshape(math.prod(dY.shape[:-1]), dY.shape[-1]).sum(axis=0)


def _norm_backward(where, dY, cache):
    standard, gamma = cache
    guard.floats(where, 1, gamma=gamma, dY=dY)
    guard.shape(where, "dY", dY.shape, standard.X_hat.shape)
    return standardize_backward(dY * gamma, standard), _tokens(dY * standard.X_hat), _tokens(dY)  # (6.7)
