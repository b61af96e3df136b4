"""Chapter 11: torch's optimisers with the decay groups of the NumPy half, and the same learning rates by step."""

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor, nn

from byhand.check import NonNegative, Positive, checked, fits, names
from byhand.np.optim import (
    EXEMPT,
    Betas,
    constant,
    decay_mask,
    warmup_cosine,
    warmup_inverse_sqrt,
    warmup_linear,
)
from byhand.pt._processes import laid_out_as
from byhand.tree import flatten, from_torch, plain, to_torch, unflatten

__all__ = ["adamw", "clip_by_global_norm", "constant", "decay_mask", "load_optimizer_state",
           "optimizer_state", "parameter_groups", "set_lr", "warmup_cosine", "warmup_inverse_sqrt", "warmup_linear"]


@checked
def parameter_groups(
    parameters: nn.Module | dict | Iterable, weight_decay: NonNegative = 0.01, exempt: tuple[str, ...] = EXEMPT
) -> list[dict]:
    """Two groups for a torch optimiser: what `decay_mask` marks, with this `weight_decay`, and the rest with 0.

    `parameters` is a module, a tree of parameters, `module.named_parameters()`, or a list of parameters. Those of a
    list have no names that `exempt` could be compared with: of them all with two axes or more decay.
    """
    named = _named("parameter_groups", parameters)
    mask = flatten(decay_mask(unflatten(named), exempt))
    return [{"params": [p for name, p in named.items() if mask[name] is on], "weight_decay": decay}
            for on, decay in ((True, weight_decay), (False, 0.0))]


@checked
def adamw(
    parameters: nn.Module | dict | Iterable,
    lr: NonNegative = 1e-3,
    betas: Betas = (0.9, 0.999),
    eps: Positive = 1e-8,
    weight_decay: NonNegative = 0.01,
    exempt: tuple[str, ...] = EXEMPT,
) -> torch.optim.AdamW:
    """AdamW over the two groups of `parameter_groups`; on a GPU one fused kernel updates all parameters."""
    groups = parameter_groups(parameters, weight_decay, exempt)
    fused = all(p.is_cuda for group in groups for p in group["params"])
    return torch.optim.AdamW(groups, lr=lr, betas=betas, eps=eps, fused=fused)


@checked
def set_lr(optimizer: torch.optim.Optimizer, lr: NonNegative) -> None:
    """The same rate for every group, written before each step: a schedule is a plain function of the step."""
    for group in optimizer.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(lr)  # a compiled step holds on to the tensor
        else:
            group["lr"] = lr


@checked
def clip_by_global_norm(grads: nn.Module | dict | Iterable, max_norm: Positive | None) -> Tensor:
    """Scale gradients, in place, so that their joint norm is at most `max_norm`; the norm before that.

    `grads` is a module or its parameters, whose gradients are meant, or a tree of gradients. As everywhere in torch, a
    norm that the dtype cannot hold is infinite. Without `max_norm` it is only measured.
    """
    if isinstance(grads, dict):
        found = list(_flat(grads).values())
    else:
        named = _named("clip_by_global_norm", grads)
        for name, p in named.items():  # of anything else torch would say that it has no gradient
            if not isinstance(p, nn.Parameter) and not (p.is_leaf and p.requires_grad):
                raise TypeError(f"clip_by_global_norm: grads holds a tensor at {name} that is no parameter, expected "
                                "parameters, whose gradients are meant, or a dict of gradients")
        found = [p.grad for p in named.values() if p.grad is not None]
    norm = nn.utils.get_total_norm(found)
    if found and max_norm is not None:
        torch._foreach_mul_(found, (max_norm / norm).clamp(max=1.0))  # (11.34), without waiting for a GPU
    return norm


@checked
def optimizer_state(module: nn.Module, optimizer: torch.optim.Optimizer) -> dict:
    """The {t, m, v} of an Adam or AdamW as the NumPy half has it: arrays, in the tree of the parameters.

    Parameters that the optimiser has not, such as frozen ones, have moments of 0.
    """
    _names_of("optimizer_state", module, optimizer)
    held = {plain(name): (p, optimizer.state.get(p, {})) for name, p in module.named_parameters()}
    return {"t": np.array(max(int(s.get("step", 0)) for _, s in held.values()))} | {
        ours: from_torch({name: s.get(theirs, torch.zeros_like(p)) for name, (p, s) in held.items()})
        for ours, theirs in (("m", "exp_avg"), ("v", "exp_avg_sq"))}


@checked
def load_optimizer_state(module: nn.Module, optimizer: torch.optim.Optimizer, state: dict) -> None:
    """The inverse of `optimizer_state`; torch numbers the parameters group by group.

    Raises ValueError, and changes nothing, where names or shapes are not those of the module.
    """
    order = _names_of("load_optimizer_state", module, optimizer)
    held = _named("load_optimizer_state", module)
    shapes = unflatten({name: tuple(p.shape) for name, p in held.items()})
    names("load_optimizer_state", "state", state, ["t", "m", "v"])
    fits("load_optimizer_state", {x: state[x] for x in "mv"}, {"m": shapes, "v": shapes}, "state")
    if np.shape(state["t"]) != ():
        raise ValueError(f"load_optimizer_state: t of state has shape {np.shape(state['t'])}, expected ()")
    m, v = ({x: laid_out_as(held[x], y) for x, y in flatten(to_torch(state[name])).items()} for name in "mv")
    t = float(state["t"])
    moments = {i: {"step": torch.tensor(t), "exp_avg": m[x], "exp_avg_sq": v[x]} for i, x in enumerate(order)}
    optimizer.load_state_dict(optimizer.state_dict() | {"state": moments})


def _names_of(where: str, module: nn.Module, optimizer: torch.optim.Optimizer) -> list[str]:
    """The names of the optimiser's parameters, in its order, if it is an Adam with the moments m and v alone."""
    if not isinstance(optimizer, torch.optim.Adam | torch.optim.AdamW):
        raise TypeError(f"{where}: optimizer is {type(optimizer).__name__}, expected Adam or AdamW")
    if any(group["amsgrad"] for group in optimizer.param_groups):
        raise ValueError(f"{where}: optimizer has amsgrad, expected Adam or AdamW without it")
    called = {p: plain(name) for name, p in module.named_parameters()}
    held = [p for group in optimizer.param_groups for p in group["params"]]
    for p in held:
        if p not in called:
            raise ValueError(f"{where}: optimizer has a tensor of shape {tuple(p.shape)} that module has not, "
                             "expected the optimiser of this module")
    return [called[p] for p in held]


def _flat(tree: dict) -> dict[str, Tensor]:
    """A tree, or what is flat already, such as a state_dict."""
    return tree if any("." in name for name in tree) else flatten(tree)


def _named(where: str, parameters) -> dict[str, Tensor]:
    """Path → parameter, of whatever a torch optimiser would take, and of a tree."""
    if isinstance(parameters, nn.Module):
        return {plain(name): p for name, p in parameters.named_parameters()}
    if isinstance(parameters, dict):
        return _flat(parameters)
    if isinstance(parameters, Tensor) or not isinstance(parameters, Iterable):
        raise TypeError(f"{where}: parameters is {type(parameters).__name__}, expected a module, a tree or a list")
    pairs = [x if isinstance(x, tuple) else (f"{i}", x) for i, x in enumerate(parameters)]
    named: dict[str, Tensor] = {}
    for name, p in pairs:
        if not isinstance(p, Tensor):
            raise TypeError(f"{where}: parameters holds {type(p).__name__} at {name}, expected a tensor")
        if name in named:
            raise ValueError(f"{where}: parameters has {name} twice, expected each name once")
        named[name] = p
    return named
