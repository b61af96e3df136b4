"""Chapter 5: what modules share: parameters under the names of a tree, and layers that keep nothing."""

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import is_parametrized
from torch.utils.checkpoint import checkpoint

from byhand.check.numbers import kind_of
from byhand.pt._processes import laid_out_as
from byhand.tree import flatten, of_module, plain, to_torch, unwrapped

HOMES = "byhand.", "torch.nn.modules.container", "torch.nn.utils.parametrize"  # of parts that a tree says all of


def held(module: nn.Module, shapes: dict[str, str]) -> dict[str, Tensor]:
    """Name → tensor of a module, as its functions take them; `shapes` are those of `Params`, `?` is what may be None.

    Attributes are read, not `named_parameters()`: that lists a tied tensor once, and one that is pruned, parametrised
    or a buffer not at all.
    """
    found = {name: getattr(module, name, None) for name in (name.rstrip("?") for name in shapes)}
    return {name: x for name, x in found.items() if x is not None}


def through(stack, layer, *inputs, **options):
    """A layer; with `recompute` its insides are not kept but made anew in the backward (Chen et al. 2016)."""
    if stack.recompute and stack.training:
        return checkpoint(layer, *inputs, use_reentrant=False, **options)
    return layer(*inputs, **options)


def kept(module: nn.Module) -> dict[str, Tensor]:
    """What a run saves of a module: each parameter once, and the buffers that its state_dict has, such as means.

    They are looked up, since to ask for a state_dict makes FSDP2 cut the parameters again.
    """
    buffers = {f"{path}.{name}".lstrip("."): x for path, part in module.named_modules()
               for name, x in part.named_buffers(recurse=False) if name not in part._non_persistent_buffers_set}
    return {plain(name): x for name, x in (*module.named_parameters(), *buffers.items())}


def put_back(module: nn.Module, params: dict) -> None:
    """A tree of what `kept` gave into the module."""
    held = kept(module)
    with torch.no_grad():
        for name, x in flatten(to_torch(params)).items():
            held[name].copy_(laid_out_as(held[name], x))


def read(where: str, source: dict | nn.Module) -> dict:
    """The tree that words come from: as it is, or of a module whose parts do nothing but what their tree says."""
    if isinstance(source, dict):
        return source
    ours = type(unwrapped(source)).__module__.startswith("byhand.")
    for path, part in source.named_modules():
        if "parametrizations" in path.split("."):  # they run when the tree is read
            continue
        part, at = unwrapped(part), plain(f"{path}.").rstrip(".") or "the module"
        if part._forward_hooks or part._forward_pre_hooks:
            raise ValueError(f"{where}: {at} has a hook, expected none: words come from its tree")
        kind = type(part).__base__ if is_parametrized(part) else type(part)
        if ours and not kind.__module__.startswith(HOMES):
            raise ValueError(f"{where}: {at} is {kind_of(part)}, expected one of byhand: words come from its tree")
    return of_module(source)


def place_of(where: str, module: nn.Module) -> torch.device:
    """The device of a module that can be trained."""
    if not any(p.requires_grad for p in module.parameters()):
        raise ValueError(f"{where}: module has no parameter that requires a gradient, expected at least 1")
    return next(module.parameters()).device
