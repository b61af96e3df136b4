"""Chapter 4: the softmax over the last axis, its logarithm, and their Jacobians."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray as Array

from byhand.check import checked


class SoftmaxCache(NamedTuple):
    A: Float[Array, "*B m"]


@checked
def softmax_forward(
    S: Float[Array, "*B m"], mask: Bool[Array, "*#B #m"] | None = None
) -> tuple[Float[Array, "*B m"], SoftmaxCache]:
    """A = exp(S) / Σ exp(S) over the last axis; where mask is False, exactly 0; a row with no True is all 0."""
    if mask is not None:
        S = np.where(mask, S, -np.inf)  # (4.36)
    top = S.max(axis=-1, keepdims=True)
    E = np.exp(S - np.where(top == -np.inf, 0, top))  # (4.17)
    Z = E.sum(axis=-1, keepdims=True)
    A = E / np.where(Z == 0, 1, Z)  # (4.17)
    return A, SoftmaxCache(A)


@checked
def softmax_backward(dA: Float[Array, "*B m"], cache: SoftmaxCache) -> Float[Array, "*B m"]:
    """dS = A ∘ (dA − rowsum(A ∘ dA)): the Jacobian diag(a) − a aᵀ applied without being built."""
    A = cache.A
    return A * (dA - (A * dA).sum(axis=-1, keepdims=True))  # (4.21)


@checked
def softmax_jacobian(a: Float[Array, " m"]) -> Float[Array, "m m"]:
    """J = diag(a) − a aᵀ, where a = softmax(s): J[j, k] = ∂a_j / ∂s_k."""
    return np.diag(a) - np.outer(a, a)  # (4.19)


class LogsumexpCache(NamedTuple):
    A: Float[Array, "*B m"]


@checked
def logsumexp_forward(S: Float[Array, "*B m"]) -> tuple[Float[Array, "*B"], LogsumexpCache]:
    """L = log Σ exp(S) over the last axis, from numbers no larger than one, so that nothing overflows."""
    top = S.max(axis=-1, keepdims=True)
    E = np.exp(S - top)
    Z = E.sum(axis=-1, keepdims=True)
    return (top + np.log(Z))[..., 0], LogsumexpCache(E / Z)  # (4.23)


@checked
def logsumexp_backward(dL: Float[Array, "*B"], cache: LogsumexpCache) -> Float[Array, "*B m"]:
    """dS = dL · softmax(S): the softmax is the gradient of log-sum-exp."""
    return dL[..., None] * cache.A  # (4.23)


class LogSoftmaxCache(NamedTuple):
    A: Float[Array, "*B m"]


@checked
def log_softmax_forward(S: Float[Array, "*B m"]) -> tuple[Float[Array, "*B m"], LogSoftmaxCache]:
    """log softmax(S) = S − logsumexp(S), finite even where the softmax rounds to 0."""
    L, cache = logsumexp_forward(S)  # (4.23)
    return S - L[..., None], LogSoftmaxCache(cache.A)  # (4.23)


@checked
def log_softmax_backward(dY: Float[Array, "*B m"], cache: LogSoftmaxCache) -> Float[Array, "*B m"]:
    """dS = dY − softmax(S) · rowsum(dY)."""
    return dY - cache.A * dY.sum(axis=-1, keepdims=True)  # (4.24)
