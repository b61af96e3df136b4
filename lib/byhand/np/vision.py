"""Chapter 15: images as tokens: patches, positions on a grid, and one vector for a whole image."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray as Array

from byhand import guard
from byhand.np.position import sinusoidal


class PatchifyCache(NamedTuple):
    height: int
    width: int
    patch: int


def patchify_forward(
    images: Float[Array, "*B H W C"], patch: int
) -> tuple[Float[Array, "*B n f"], PatchifyCache]:
    """Squares of p × p pixels as rows of f = p p C numbers, left to right, then down (Dosovitskiy et al. 2021)."""
    guard.floats("patchify", 3, images=images)
    H, W, C = images.shape[-3:]
    guard.count("patchify", patch=patch)
    guard.multiple("patchify", patch, **{"height of images": H, "width of images": W})
    h, w, lead = H // patch, W // patch, images.shape[:-3]
    rows = images.reshape(*lead, h, patch, w, patch, C)
    squares = np.swapaxes(rows, -4, -3)  # (…, grid row, grid column, row in the patch, column in the patch, C)
    return squares.reshape(*lead, h * w, patch * patch * C), PatchifyCache(H, W, patch)


def patchify_backward(dP: Float[Array, "*B n f"], cache: PatchifyCache) -> Float[Array, "*B H W C"]:
    """dimages: every pixel went to one place, so its gradient comes back from there."""
    return unpatchify_forward(dP, *cache)[0]


class UnpatchifyCache(NamedTuple):
    height: int
    width: int
    patch: int


def unpatchify_forward(
    patches: Float[Array, "*B n f"], height: int, width: int, patch: int
) -> tuple[Float[Array, "*B H W C"], UnpatchifyCache]:
    """The image that `patchify_forward` cut: its inverse, and its transpose."""
    guard.floats("unpatchify", 2, patches=patches)
    guard.count("unpatchify", patch=patch)
    guard.multiple("unpatchify", patch, height=height, width=width)
    guard.multiple("unpatchify", patch * patch, **{"width of patches": patches.shape[-1]})
    h, w, lead = height // patch, width // patch, patches.shape[:-2]
    guard.shape("unpatchify", "patches", patches.shape, (*lead, h * w, patches.shape[-1]))
    C = patches.shape[-1] // (patch * patch)
    rows = np.swapaxes(patches.reshape(*lead, h, w, patch, patch, C), -4, -3)
    return rows.reshape(*lead, height, width, C), UnpatchifyCache(height, width, patch)


def unpatchify_backward(dI: Float[Array, "*B H W C"], cache: UnpatchifyCache) -> Float[Array, "*B n f"]:
    """dpatches: the gradient cut like an image."""
    guard.floats("unpatchify_backward", 3, dI=dI)
    guard.shape("unpatchify_backward", "dI", dI.shape, (*dI.shape[:-3], cache.height, cache.width, dI.shape[-1]))
    return patchify_forward(dI, cache.patch)[0]


def positions_2d(h: int, w: int, d: int, base: float = 10000.0) -> Float[Array, "n d"]:
    """Sinusoids of the grid row in the first d/2 features, of the grid column in the rest; n = h w, as patches run."""
    guard.count("positions_2d", h=h, w=w)
    guard.multiple("positions_2d", 4, d=d)
    rows, columns = sinusoidal(h, d // 2, base), sinusoidal(w, d // 2, base)
    return np.concatenate([np.repeat(rows, w, axis=0), np.tile(columns, (h, 1))], axis=-1)


class ClassTokenCache(NamedTuple):
    d: int


def class_token_forward(
    X: Float[Array, "*B n d"], token: Float[Array, " d"]
) -> tuple[Float[Array, "*B n+1 d"], ClassTokenCache]:
    """[token; X]: one learned token before those of every image, to gather what the classifier reads."""
    guard.floats("class_token", 2, X=X)
    guard.floats("class_token", 1, X=X, token=token)
    guard.shape("class_token", "token", token.shape, X.shape[-1:])
    first = np.broadcast_to(token, (*X.shape[:-2], 1, token.size))
    return np.concatenate([first, X], axis=-2), ClassTokenCache(token.size)


def class_token_backward(
    dY: Float[Array, "*B m d"], cache: ClassTokenCache
) -> tuple[Float[Array, "*B n d"], Float[Array, " d"]]:
    """dX, dtoken: the token was shared, so its gradient is a sum over the images."""
    guard.floats("class_token_backward", 2, dY=dY)
    guard.count("class_token_backward", **{"number of tokens of dY": dY.shape[-2]})
    guard.shape("class_token_backward", "dY", dY.shape, (*dY.shape[:-1], cache.d))
    return dY[..., 1:, :], dY[..., 0, :].reshape(-1, cache.d).sum(axis=0)


class MeanPoolCache(NamedTuple):
    weights: Array


def mean_pool_forward(
    X: Float[Array, "*B n d"], mask: Bool[Array, "*B n"] | None = None
) -> tuple[Float[Array, "*B d"], MeanPoolCache]:
    """The mean of the tokens where mask is True; a sequence with none gives zeros."""
    guard.tokens("mean_pool", X, mask)
    real = np.ones(X.shape[:-1], X.dtype) if mask is None else mask.astype(X.dtype)
    weights = real / np.maximum(real.sum(axis=-1, keepdims=True), 1)
    return (weights[..., None, :] @ X)[..., 0, :], MeanPoolCache(weights)


def mean_pool_backward(dY: Float[Array, "*B d"], cache: MeanPoolCache) -> Float[Array, "*B n d"]:
    """dX: each real token gets its share of dY, padding gets exactly 0."""
    guard.floats("mean_pool_backward", 1, dY=dY)
    guard.shape("mean_pool_backward", "dY", dY.shape, (*cache.weights.shape[:-1], dY.shape[-1]))
    return cache.weights[..., None] * dY[..., None, :]


def attention_rollout(layers: list[Float[Array, "*B H n n"]], residual: float = 0.5) -> Float[Array, "*B n n"]:
    """Â_L … Â_1, where Â = (1 − r) mean over heads + r I: how much of each input each output holds (Abnar 2020).

    `layers` holds the weights of each layer, first layer first; `residual` is the share that skips attention. Rows sum
    to one as those of the weights do.
    """
    guard.layers("attention_rollout", layers)
    guard.within("attention_rollout", 0, 1, residual=residual)
    stay = np.eye(layers[0].shape[-1], dtype=layers[0].dtype)
    total = stay
    for A in layers:
        total = ((1 - residual) * A.mean(axis=-3) + residual * stay) @ total
    return total
