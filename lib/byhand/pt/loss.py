"""Chapter 11: cross-entropy in PyTorch, on the fused kernel, which never stores the probabilities."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from byhand.check import Share, checked
from byhand.np.loss import bits, perplexity
from byhand.pt._kernels import by_hand

__all__ = ["bits", "cross_entropy", "perplexity"]


@checked
def cross_entropy(
    logits: Float[Tensor, "*B V"],
    targets: Int[Tensor, "*B"],
    smoothing: Share = 0.0,
    ignore_index: int | None = None,
    weights: Float[Tensor, "*B"] | None = None,
) -> Float[Tensor, ""]:
    """L = Σ w (−Σ q log p) / Σ w over the tokens whose target is not `ignore_index`; NaN, as in torch, if none is."""
    if kernels := by_hand(logits):
        return kernels.cross_entropy(logits, targets, smoothing, ignore_index, weights)
    nothing = torch.iinfo(torch.long).min if ignore_index is None else ignore_index  # torch's default ignores −100
    rows, ids = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1).long()
    exact = torch.promote_types(rows.dtype, torch.float32)  # half precision cannot add up the terms of a long text
    if weights is None and rows.dtype == exact:
        return F.cross_entropy(rows, ids, ignore_index=nothing, label_smoothing=smoothing)
    each = F.cross_entropy(rows, ids, ignore_index=nothing, label_smoothing=smoothing, reduction="none")
    w = (ids != nothing).to(exact) if weights is None else (weights.reshape(-1) * (ids != nothing)).to(exact)
    return ((w * each).sum() / w.sum()).to(each.dtype)  # under autocast float32
