"""Chapter 15: images as tokens: patches, positions on a grid, and one vector for a whole image."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray as Array

from byhand.check import Positive, Shape, Share, Size, checked, multiple_of, not_empty, same_shape
from byhand.np.position import sinusoidal


class PatchifyCache(NamedTuple):
    F_shape: Shape["*B n f"]
    height: int
    width: int
    patch: int


@checked
def patchify_forward(
    images: Float[Array, "*B H W C"], patch: Size
) -> tuple[Float[Array, "*B n f"], PatchifyCache]:
    """Squares of p × p pixels as rows of f = p p C numbers, left to right, then down (Dosovitskiy et al. 2021)."""
    H, W, C = images.shape[-3:]
    multiple_of("patchify", patch, **{"height of images": H, "width of images": W})
    h, w, lead = H // patch, W // patch, images.shape[:-3]
    rows = images.reshape(*lead, h, patch, w, patch, C)
    squares = np.swapaxes(rows, -4, -3)  # (…, grid row, grid column, row in the patch, column in the patch, C)
    F = squares.reshape(*lead, h * w, patch * patch * C)  # (15.1)
    return F, PatchifyCache(F.shape, H, W, patch)


@checked
def patchify_backward(dF: Float[Array, "*B n f"], cache: PatchifyCache) -> Float[Array, "*B H W C"]:
    """dimages: every pixel went to one place, so its gradient comes back from there."""
    return unpatchify_forward(dF, cache.height, cache.width, cache.patch)[0]  # (15.2)


class UnpatchifyCache(NamedTuple):
    images_shape: Shape["*B H W C"]
    patch: int


@checked
def unpatchify_forward(
    patches: Float[Array, "*B n f"], height: Size, width: Size, patch: Size
) -> tuple[Float[Array, "*B H W C"], UnpatchifyCache]:
    """The image that `patchify_forward` cut: its inverse, and its transpose."""
    multiple_of("unpatchify", patch, height=height, width=width)
    multiple_of("unpatchify", patch * patch, **{"width of patches": patches.shape[-1]})
    h, w, lead = height // patch, width // patch, patches.shape[:-2]
    same_shape("unpatchify", (*lead, h * w, patches.shape[-1]), patches=patches.shape)
    C = patches.shape[-1] // (patch * patch)
    rows = np.swapaxes(patches.reshape(*lead, h, w, patch, patch, C), -4, -3)
    images = rows.reshape(*lead, height, width, C)  # (15.1)
    return images, UnpatchifyCache(images.shape, patch)


@checked
def unpatchify_backward(dI: Float[Array, "*B H W C"], cache: UnpatchifyCache) -> Float[Array, "*B n f"]:
    """dpatches: the gradient cut like an image."""
    return patchify_forward(dI, cache.patch)[0]  # (15.2)


@checked
def positions_2d(h: Size, w: Size, d: Size, base: Positive = 10000.0) -> Float[Array, "n d"]:
    """Sinusoids of the grid row in the first d/2 features, of the grid column in the rest; n = h w, as patches run."""
    multiple_of("positions_2d", 4, d=d)
    rows, columns = sinusoidal(h, d // 2, base), sinusoidal(w, d // 2, base)
    return np.concatenate([np.repeat(rows, w, axis=0), np.tile(columns, (h, 1))], axis=-1)  # (15.3)


class ClassTokenCache(NamedTuple):
    X_shape: Shape["*B n d"]
    m: int  # n + 1


@checked
def class_token_forward(
    X: Float[Array, "*B n d"], token: Float[Array, " d"]
) -> tuple[Float[Array, "*B n+1 d"], ClassTokenCache]:
    """[token; X]: one learned token before those of every image, to gather what the classifier reads."""
    first = np.broadcast_to(token, (*X.shape[:-2], 1, token.size))
    Y = np.concatenate([first, X], axis=-2)  # (15.5)
    return Y, ClassTokenCache(X.shape, Y.shape[-2])


@checked
def class_token_backward(
    dY: Float[Array, "*B m d"], cache: ClassTokenCache
) -> tuple[Float[Array, "*B n d"], Float[Array, " d"]]:
    """dX, dtoken: the token was shared, so its gradient is a sum over the images."""
    return dY[..., 1:, :], dY[..., 0, :].reshape(-1, dY.shape[-1]).sum(axis=0)  # (15.6)


class MeanPoolCache(NamedTuple):
    weights: Float[Array, "*B n"]
    d: int


@checked
def mean_pool_forward(
    X: Float[Array, "*B n d"], mask: Bool[Array, "*B n"] | None = None
) -> tuple[Float[Array, "*B d"], MeanPoolCache]:
    """The mean of the tokens where mask is True; a sequence with none gives zeros."""
    real = np.ones(X.shape[:-1], X.dtype) if mask is None else mask.astype(X.dtype)
    weights = real / np.maximum(real.sum(axis=-1, keepdims=True), 1)
    return (weights[..., None, :] @ X)[..., 0, :], MeanPoolCache(weights, X.shape[-1])  # (15.7)


@checked
def mean_pool_backward(dY: Float[Array, "*B d"], cache: MeanPoolCache) -> Float[Array, "*B n d"]:
    """dX: each real token gets its share of dY, padding gets exactly 0."""
    return cache.weights[..., None] * dY[..., None, :]  # (15.8)


@checked
def attention_rollout(layers: list[Float[Array, "*B H n n"]], residual: Share = 0.5) -> Float[Array, "*B n n"]:
    """Â_L … Â_1, where Â = (1 − r) mean over heads + r I: how much of each input each output holds (Abnar 2020).

    `layers` holds the weights of each layer, first layer first; `residual` is the share that skips attention. Rows sum
    to one as those of the weights do.
    """
    not_empty("attention_rollout", layers=layers)
    stay = np.eye(layers[0].shape[-1], dtype=layers[0].dtype)
    total = stay
    for A in layers:
        total = ((1 - residual) * A.mean(axis=-3) + residual * stay) @ total  # (15.13), (15.14)
    return total
