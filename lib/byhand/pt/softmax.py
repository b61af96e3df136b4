"""Chapter 4: the softmax in PyTorch, with the same policy for masks as the NumPy half."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from byhand import guard


def softmax(S: Float[Tensor, "*B m"], mask: Bool[Tensor, "..."] | None = None) -> Float[Tensor, "*B m"]:
    """Softmax over the last axis; where mask is False, exactly 0; a row with no True is all 0, with zero gradient."""
    guard.scores("softmax", S, mask, half="tensor")
    if mask is None:
        return torch.softmax(S, dim=-1)
    alive = mask.any(dim=-1, keepdim=True)
    A = torch.softmax(S.masked_fill(~mask & alive, -torch.inf), dim=-1)  # a row of −∞ alone would give NaN
    return A.masked_fill(~alive, 0)


def log_softmax(S: Float[Tensor, "*B m"]) -> Float[Tensor, "*B m"]:
    """log softmax(S), finite even where the softmax rounds to 0."""
    guard.scores("log_softmax", S, half="tensor")
    return torch.log_softmax(S, dim=-1)


def logsumexp(S: Float[Tensor, "*B m"]) -> Float[Tensor, "*B"]:
    """log Σ exp(S) over the last axis."""
    guard.scores("logsumexp", S, half="tensor")
    return torch.logsumexp(S, dim=-1)


def softmax_jacobian(a: Float[Tensor, " m"]) -> Float[Tensor, "m m"]:
    """J = diag(a) − a aᵀ, where a = softmax(s)."""
    guard.tensors("softmax_jacobian", 1, a=a)
    guard.shape("softmax_jacobian", "a", a.shape, (a.numel(),))
    return torch.diag(a) - torch.outer(a, a)
