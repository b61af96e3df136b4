"""Chapter 1: what came before attention: a recurrent layer with backpropagation through time, and a convolution."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from byhand.check import Dtype, Params, Size, checked
from byhand.np.linear import LinearCache, linear_backward, linear_forward

ELMAN = {"W_x": "d h", "W_h": "h h", "b": "h"}


class RNNCache(NamedTuple):
    linear: LinearCache
    H: Float[Array, "*B n h"]
    before: Float[Array, "*B n h"]  # h_{t−1} at each t
    W_h: Float[Array, "h h"]
    has_h0: bool


@checked
def rnn_forward(
    X: Float[Array, "*B n d"], params: Params(Array, ELMAN), h0: Float[Array, "*B h"] | None = None
) -> tuple[Float[Array, "*B n h"], RNNCache]:
    """h_t = tanh(x_t W_x + h_{t−1} W_h + b) (Elman 1990), from h0 or zeros; params {W_x, W_h, b}."""
    W_h = params["W_h"]
    steps, linear = linear_forward(X, params["W_x"], params["b"])
    first = np.zeros(steps[..., 0, :].shape, X.dtype) if h0 is None else h0
    H, h = np.empty_like(steps), first
    for t in range(X.shape[-2]):
        h = np.tanh(steps[..., t, :] + h @ W_h)  # (1.1), (1.2)
        H[..., t, :] = h
    before = np.concatenate([first[..., None, :], H[..., :-1, :]], axis=-2)
    return H, RNNCache(linear, H, before, W_h, h0 is not None)


@checked
def rnn_backward(
    dH: Float[Array, "*B n h"], cache: RNNCache
) -> tuple[Float[Array, "*B n d"], dict[str, Float[Array, "..."]], Float[Array, "*B h"] | None]:
    """dX, the gradients of the parameters, and dh0 (None without h0): h_t was an output and the input of step t + 1."""
    linear, H, before, W_h, has_h0 = cache
    dU, dh = np.empty_like(H), np.zeros(H[..., 0, :].shape, H.dtype)
    for t in reversed(range(H.shape[-2])):
        h = H[..., t, :]
        du = (dH[..., t, :] + dh) * (1 - h * h)  # (1.3), (1.4)
        dh = du @ W_h.mT  # (1.3)
        dU[..., t, :] = du
    dX, dW_x, db = linear_backward(dU, linear)  # (1.5)
    _, dW_h, _ = linear_backward(dU, LinearCache(before, W_h, False))  # (1.5)
    return dX, {"W_x": dW_x, "W_h": dW_h, "b": db}, dh if has_h0 else None


@checked
def rnn_jacobian(H: Float[Array, "n h"], W_h: Float[Array, "h h"]) -> Float[Array, "h h"]:
    """J[i, j] = ∂h_T[j] / ∂h_1[i] along one run: a product of n − 1 factors W_h diag(1 − h_t²); with H = 0, a power."""
    J = np.eye(H.shape[-1], dtype=H.dtype)
    for h in H[1:]:
        J = (J @ W_h) * (1 - h * h)  # (1.6), (1.7)
    return J


class Conv1dCache(NamedTuple):
    padded: Float[Array, "*B p d_in"]
    W: Float[Array, "k d_in d_out"]
    n: int
    left: int
    dilation: int
    has_bias: bool


@checked
def conv1d_forward(
    X: Float[Array, "*B n d_in"],
    W: Float[Array, "k d_in d_out"],
    b: Float[Array, " d_out"] | None = None,
    dilation: Size = 1,
    causal: bool = False,
) -> tuple[Float[Array, "*B n d_out"], Conv1dCache]:
    """y_i = Σ_j x_{i + j·dilation − left} W_j + b, with zeros outside, so that there are as many tokens out as in.

    A cross-correlation, as in torch. The window is centred (for even reach, one more to the right), or it ends at i.
    """
    n, reach = X.shape[-2], (W.shape[0] - 1) * dilation
    left = reach if causal else reach // 2
    padded = np.pad(X, [(0, 0)] * (X.ndim - 2) + [(left, reach - left), (0, 0)])
    Y = sum(padded[..., j * dilation:j * dilation + n, :] @ W[j] for j in range(W.shape[0]))  # (1.12)
    Y = Y if b is None else Y + b
    return Y, Conv1dCache(padded, W, n, left, dilation, b is not None)


@checked
def conv1d_backward(
    dY: Float[Array, "*B n d_out"], cache: Conv1dCache
) -> tuple[Float[Array, "*B n d_in"], Float[Array, "k d_in d_out"], Float[Array, " d_out"] | None]:
    """dX, dW, db: each tap is a linear map of shifted tokens; their gradients are shifted back and added up."""
    padded, W, n, left, dilation, has_bias = cache
    dpadded, dW = np.zeros_like(padded), np.zeros_like(W)
    for j in range(W.shape[0]):
        window = slice(j * dilation, j * dilation + n)
        tap = LinearCache(padded[..., window, :], W[j], False)
        dx, dW[j], _ = linear_backward(dY, tap)  # (1.13)
        dpadded[..., window, :] += dx  # (1.14)
    db = dY.reshape(-1, W.shape[-1]).sum(axis=0) if has_bias else None
    return dpadded[..., left:left + n, :], dW, db


@checked
def receptive_field(kernel: Size, dilations: list[Size] | tuple[Size, ...]) -> int:
    """How many inputs one output sees through a stack of convolutions: 1 + (kernel − 1) · Σ dilations."""
    return 1 + (kernel - 1) * sum(dilations)  # (1.15)


@checked
def init_rnn(rng: np.random.Generator, d: Size, h: Size, dtype: Dtype = np.float32) -> dict[str, Float[Array, "..."]]:
    """{W_x, W_h, b}: variances 1/d and 1/h, which puts the spectral radius of W_h near one; b zero."""
    W_x = rng.normal(scale=1 / math.sqrt(d), size=(d, h)).astype(dtype)
    W_h = rng.normal(scale=1 / math.sqrt(h), size=(h, h)).astype(dtype)
    return {"W_x": W_x, "W_h": W_h, "b": np.zeros(h, dtype)}


@checked
def init_conv1d(
    rng: np.random.Generator, kernel: Size, d_in: Size, d_out: Size, dtype: Dtype = np.float32
) -> dict[str, Float[Array, "..."]]:
    """{W, b}: variance 1 / (kernel · d_in), the number of terms in a sum; b zero."""
    W = rng.normal(scale=1 / math.sqrt(kernel * d_in), size=(kernel, d_in, d_out)).astype(dtype)
    return {"W": W, "b": np.zeros(d_out, dtype)}
