"""Chapter 11: cross-entropy in PyTorch, on the fused kernel, which never stores the probabilities."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from byhand import guard
from byhand.np.loss import bits, perplexity

__all__ = ["bits", "cross_entropy", "perplexity"]


def cross_entropy(
    logits: Float[Tensor, "*B V"],
    targets: Int[Tensor, "*B"],
    smoothing: float = 0.0,
    ignore_index: int | None = None,
    weights: Float[Tensor, "*B"] | None = None,
) -> Float[Tensor, ""]:
    """L = Σ w (−Σ q log p) / Σ w over the tokens whose target is not `ignore_index`; NaN, as in torch, if none is."""
    guard.scores("cross_entropy", logits, half="tensor", name="logits")
    if ignore_index is not None:
        guard.count("cross_entropy", low=-(2**63), ignore_index=ignore_index)
    guard.indices("cross_entropy", "targets", targets, logits.shape[-1], half="tensor")
    guard.shape("cross_entropy", "targets", targets.shape, logits.shape[:-1])
    guard.within("cross_entropy", 0, 1, smoothing=smoothing)
    nothing = torch.iinfo(torch.long).min if ignore_index is None else ignore_index  # torch's default ignores −100
    rows, ids = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1).long()
    if weights is None:
        return F.cross_entropy(rows, ids, ignore_index=nothing, label_smoothing=smoothing)
    guard.tensors("cross_entropy", 0, weights=weights)
    guard.shape("cross_entropy", "weights", weights.shape, targets.shape)
    each = F.cross_entropy(rows, ids, ignore_index=nothing, label_smoothing=smoothing, reduction="none")
    w = (weights.reshape(-1) * (ids != nothing)).to(each.dtype)
    return (w * each).sum() / w.sum()
