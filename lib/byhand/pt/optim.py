"""Chapter 11: torch's optimisers with the decay groups of the NumPy half, and the same learning rates by step."""

import torch
from torch import Tensor, nn

from byhand import guard
from byhand.np.optim import (
    EXEMPT,
    constant,
    decay_mask,
    warmup_cosine,
    warmup_inverse_sqrt,
    warmup_linear,
)
from byhand.tree import flatten, unflatten

__all__ = ["adamw", "clip_by_global_norm", "constant", "decay_mask", "parameter_groups", "set_lr", "warmup_cosine",
           "warmup_inverse_sqrt", "warmup_linear"]


def parameter_groups(module: nn.Module, decay: float, exempt: tuple[str, ...] = EXEMPT) -> list[dict]:
    """Two groups for a torch optimiser: what `decay_mask` marks with weight_decay = `decay`, and the rest with 0."""
    guard.within("parameter_groups", 0, float("inf"), decay=decay)
    named = dict(module.named_parameters())
    mask = flatten(decay_mask(unflatten(named), exempt))
    return [{"params": [p for name, p in named.items() if mask[name] is on], "weight_decay": decay if on else 0.0}
            for on in (True, False)]


def adamw(
    module: nn.Module,
    lr: float = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    decay: float = 0.01,
    exempt: tuple[str, ...] = EXEMPT,
) -> torch.optim.AdamW:
    """AdamW over the two groups; on a GPU one fused kernel updates all parameters."""
    fused = all(p.is_cuda for p in module.parameters())
    return torch.optim.AdamW(parameter_groups(module, decay, exempt), lr=lr, betas=(beta1, beta2), eps=eps, fused=fused)


def set_lr(optimizer: torch.optim.Optimizer, lr: float) -> None:
    """The same rate for every group, written before each step: a schedule is a plain function of the step."""
    guard.within("set_lr", 0, float("inf"), lr=lr)
    for group in optimizer.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(lr)  # a compiled step holds on to the tensor
        else:
            group["lr"] = lr


def clip_by_global_norm(module: nn.Module, limit: float) -> Tensor:
    """Scale the gradients of `module`, in place, so that their joint norm is at most `limit`; the norm before that."""
    guard.number("clip_by_global_norm", low=0, limit=limit)
    return nn.utils.clip_grad_norm_(module.parameters(), limit)
