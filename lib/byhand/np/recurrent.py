"""Chapter 1: what came before attention: a recurrent layer with backpropagation through time, and a convolution."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from byhand import guard
from byhand.np.linear import LinearCache, linear_backward, linear_forward


class RNNCache(NamedTuple):
    linear: LinearCache
    H: Array
    before: Array  # h_{t−1} at each t
    W_h: Array
    has_h0: bool


def rnn_forward(
    X: Float[Array, "*B n d"], params: dict[str, Float[Array, "..."]], h0: Float[Array, "*B h"] | None = None
) -> tuple[Float[Array, "*B n h"], RNNCache]:
    """h_t = tanh(x_t W_x + h_{t−1} W_h + b) (Elman 1990), from h0 or zeros; params {W_x, W_h, b}."""
    guard.recurrent("rnn", X, params, h0)
    W_h = params["W_h"]
    steps, linear = linear_forward(X, params["W_x"], params["b"])
    first = np.zeros(steps[..., 0, :].shape, X.dtype) if h0 is None else h0
    H, h = np.empty_like(steps), first
    for t in range(X.shape[-2]):
        h = np.tanh(steps[..., t, :] + h @ W_h)
        H[..., t, :] = h
    before = np.concatenate([first[..., None, :], H[..., :-1, :]], axis=-2)
    return H, RNNCache(linear, H, before, W_h, h0 is not None)


def rnn_backward(
    dH: Float[Array, "*B n h"], cache: RNNCache
) -> tuple[Float[Array, "*B n d"], dict[str, Float[Array, "..."]], Float[Array, "*B h"] | None]:
    """dX, the gradients of the parameters, and dh0 (None without h0): h_t was an output and the input of step t + 1."""
    linear, H, before, W_h, has_h0 = cache
    guard.floats("rnn_backward", 2, H=H, dH=dH)
    guard.shape("rnn_backward", "dH", dH.shape, H.shape)
    dA, dh = np.empty_like(H), np.zeros(H[..., 0, :].shape, H.dtype)
    for t in reversed(range(H.shape[-2])):
        h = H[..., t, :]
        da = (dH[..., t, :] + dh) * (1 - h * h)
        dh = da @ W_h.mT
        dA[..., t, :] = da
    dX, dW_x, db = linear_backward(dA, linear)
    _, dW_h, _ = linear_backward(dA, LinearCache(before, W_h, False))
    return dX, {"W_x": dW_x, "W_h": dW_h, "b": db}, dh if has_h0 else None


def rnn_jacobian(H: Float[Array, "n h"], W_h: Float[Array, "h h"]) -> Float[Array, "h h"]:
    """J[i, j] = ∂h_T[j] / ∂h_1[i] along one run: a product of n − 1 factors W_h diag(1 − h_t²); with H = 0, a power."""
    guard.floats("rnn_jacobian", 2, H=H, W_h=W_h)
    guard.shape("rnn_jacobian", "H", H.shape, H.shape[-2:])
    guard.shape("rnn_jacobian", "W_h", W_h.shape, (H.shape[-1], H.shape[-1]))
    J = np.eye(H.shape[-1], dtype=H.dtype)
    for h in H[1:]:
        J = (J @ W_h) * (1 - h * h)
    return J


class Conv1dCache(NamedTuple):
    padded: Array
    W: Array
    left: int
    dilation: int
    has_bias: bool


def conv1d_forward(
    X: Float[Array, "*B n d_in"],
    W: Float[Array, "k d_in d_out"],
    b: Float[Array, " d_out"] | None = None,
    dilation: int = 1,
    causal: bool = False,
) -> tuple[Float[Array, "*B n d_out"], Conv1dCache]:
    """y_i = Σ_j x_{i + j·dilation − left} W_j + b, with zeros outside, so that there are as many tokens out as in.

    A cross-correlation, as in torch. The window is centred (for even reach, one more to the right), or it ends at i.
    """
    guard.conv1d("conv1d", X, W, b, dilation)
    guard.flag("conv1d", causal=causal)
    n, reach = X.shape[-2], (W.shape[0] - 1) * dilation
    left = reach if causal else reach // 2
    padded = np.pad(X, [(0, 0)] * (X.ndim - 2) + [(left, reach - left), (0, 0)])
    Y = sum(padded[..., j * dilation:j * dilation + n, :] @ W[j] for j in range(W.shape[0]))
    Y = Y if b is None else Y + b
    return Y, Conv1dCache(padded, W, left, dilation, b is not None)


def conv1d_backward(
    dY: Float[Array, "*B n d_out"], cache: Conv1dCache
) -> tuple[Float[Array, "*B n d_in"], Float[Array, "k d_in d_out"], Float[Array, " d_out"] | None]:
    """dX, dW, db: each tap is a linear map of shifted tokens; their gradients are shifted back and added up."""
    padded, W, left, dilation, has_bias = cache
    n = padded.shape[-2] - (W.shape[0] - 1) * dilation
    guard.floats("conv1d_backward", 2, padded=padded, dY=dY)
    guard.shape("conv1d_backward", "dY", dY.shape, (*padded.shape[:-2], n, W.shape[-1]))
    dpadded, dW = np.zeros_like(padded), np.empty_like(W)
    for j in range(W.shape[0]):
        window = slice(j * dilation, j * dilation + n)
        dx, dW[j], _ = linear_backward(dY, LinearCache(padded[..., window, :], W[j], False))
        dpadded[..., window, :] += dx
    db = dY.reshape(-1, W.shape[-1]).sum(axis=0) if has_bias else None
    return dpadded[..., left:left + n, :], dW, db


def receptive_field(kernel: int, dilations: Sequence[int]) -> int:
    """How many inputs one output sees through a stack of convolutions: 1 + (kernel − 1) · Σ dilations."""
    guard.count("receptive_field", kernel=kernel)
    if not isinstance(dilations, Sequence) or isinstance(dilations, str):
        raise TypeError(f"receptive_field: dilations is {type(dilations).__name__}, expected a list of whole numbers")
    for dilation in dilations:
        guard.count("receptive_field", dilation=dilation)
    return 1 + (kernel - 1) * sum(dilations)


def init_rnn(rng: np.random.Generator, d: int, h: int, dtype=np.float32) -> dict[str, Float[Array, "..."]]:
    """{W_x, W_h, b}: variances 1/d and 1/h, which puts the spectral radius of W_h near one; b zero."""
    guard.count("init_rnn", d=d, h=h)
    W_x = rng.normal(scale=1 / math.sqrt(d), size=(d, h)).astype(dtype)
    W_h = rng.normal(scale=1 / math.sqrt(h), size=(h, h)).astype(dtype)
    return {"W_x": W_x, "W_h": W_h, "b": np.zeros(h, dtype)}


def init_conv1d(
    rng: np.random.Generator, kernel: int, d_in: int, d_out: int, dtype=np.float32
) -> dict[str, Float[Array, "..."]]:
    """{W, b}: variance 1 / (kernel · d_in), the number of terms in a sum; b zero."""
    guard.count("init_conv1d", kernel=kernel, d_in=d_in, d_out=d_out)
    W = rng.normal(scale=1 / math.sqrt(kernel * d_in), size=(kernel, d_in, d_out)).astype(dtype)
    return {"W": W, "b": np.zeros(d_out, dtype)}
