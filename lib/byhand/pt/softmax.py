"""Chapter 4: the softmax in PyTorch, with the same policy for masks as the NumPy half."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from byhand.check import checked


@checked
def softmax(S: Float[Tensor, "*B m"], mask: Bool[Tensor, "*#B #m"] | None = None) -> Float[Tensor, "*B m"]:
    """Softmax over the last axis; where mask is False, exactly 0; a row with no True is all 0, with zero gradient."""
    if mask is None:
        return torch.softmax(S, dim=-1)
    alive = mask.any(dim=-1, keepdim=True)
    A = torch.softmax(S.masked_fill(~mask & alive, -torch.inf), dim=-1)  # a row of −∞ alone would give NaN
    return A.masked_fill(~alive, 0)


@checked
def log_softmax(S: Float[Tensor, "*B m"]) -> Float[Tensor, "*B m"]:
    """log softmax(S), finite even where the softmax rounds to 0."""
    return torch.log_softmax(S, dim=-1)


@checked
def logsumexp(S: Float[Tensor, "*B m"]) -> Float[Tensor, "*B"]:
    """log Σ exp(S) over the last axis."""
    return torch.logsumexp(S, dim=-1)


@checked
def softmax_jacobian(a: Float[Tensor, " m"]) -> Float[Tensor, "m m"]:
    """J = diag(a) − a aᵀ, where a = softmax(s)."""
    return torch.diag(a) - torch.outer(a, a)
