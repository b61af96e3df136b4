"""Chapter 15: images as tokens in PyTorch."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from byhand.check import Positive, Share, Size, checked, multiple_of, not_empty, same_shape
from byhand.pt.position import sinusoidal


@checked
def patchify(images: Float[Tensor, "*B H W C"], patch: Size) -> Float[Tensor, "*B n f"]:
    """Squares of p × p pixels as rows of f = p p C numbers, left to right, then down (Dosovitskiy et al. 2021)."""
    H, W = images.shape[-3:-1]
    multiple_of("patchify", patch, **{"height of images": H, "width of images": W})
    squares = images.unfold(-3, patch, patch).unfold(-3, patch, patch)  # (…, grid row, grid column, C, row, column)
    return squares.movedim(-3, -1).flatten(-3).flatten(-3, -2)


@checked
def unpatchify(patches: Float[Tensor, "*B n f"], height: Size, width: Size, patch: Size) -> Float[Tensor, "*B H W C"]:
    """The image that `patchify` cut: its inverse, and its transpose."""
    multiple_of("unpatchify", patch, height=height, width=width)
    multiple_of("unpatchify", patch * patch, **{"width of patches": patches.shape[-1]})
    h, w, lead = height // patch, width // patch, patches.shape[:-2]
    same_shape("unpatchify", (*lead, h * w, patches.shape[-1]), patches=patches.shape)
    C = patches.shape[-1] // (patch * patch)
    return patches.reshape(*lead, h, w, patch, patch, C).transpose(-4, -3).reshape(*lead, height, width, C)


@checked
def positions_2d(h: Size, w: Size, d: Size, base: Positive = 10000.0, device=None) -> Float[Tensor, "n d"]:
    """Sinusoids of the grid row in the first d/2 features, of the grid column in the rest; n = h w, as patches run."""
    multiple_of("positions_2d", 4, d=d)
    rows, columns = (sinusoidal(size, d // 2, base, device=device) for size in (h, w))
    return torch.cat([rows[:, None].expand(h, w, -1), columns.expand(h, w, -1)], dim=-1).flatten(0, 1)


@checked
def class_token(X: Float[Tensor, "*B n d"], token: Float[Tensor, " d"]) -> Float[Tensor, "*B n+1 d"]:
    """[token; X]: one learned token before those of every image, to gather what the classifier reads."""
    return torch.cat([token.expand(*X.shape[:-2], 1, -1), X], dim=-2)


@checked
def mean_pool(X: Float[Tensor, "*B n d"], mask: Bool[Tensor, "*B n"] | None = None) -> Float[Tensor, "*B d"]:
    """The mean of the tokens where mask is True; a sequence with none gives zeros."""
    if mask is None:
        return X.mean(dim=-2)
    wide = torch.promote_types(X.dtype, torch.float32)  # a sum may be too large for float16, its mean is not
    total = X.masked_fill(~mask[..., None], 0).sum(dim=-2, dtype=wide)
    return (total / mask.sum(dim=-1, keepdim=True).clamp(min=1)).to(X.dtype)


@checked
def attention_rollout(layers: list[Float[Tensor, "*B H n n"]], residual: Share = 0.5) -> Float[Tensor, "*B n n"]:
    """Â_L … Â_1, where Â = (1 − r) mean over heads + r I: how much of each input each output holds (Abnar 2020).

    `layers` holds the weights of each layer, first layer first; `residual` is the share that skips attention. Rows sum
    to one as those of the weights do.
    """
    not_empty("attention_rollout", layers=layers)
    stay = torch.eye(layers[0].shape[-1], dtype=layers[0].dtype, device=layers[0].device)
    total = stay
    for A in layers:
        total = ((1 - residual) * A.mean(dim=-3) + residual * stay) @ total
    return total
