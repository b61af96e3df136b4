"""Chapter 5: what the modules of this half share: parameters under the names of a tree, and layers that keep nothing."""

from collections.abc import Iterable

from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint


def held(module: nn.Module, names: Iterable[str]) -> dict[str, Tensor]:
    """Name → tensor of a module, as its functions take them; `?` marks what may be None, as in `Params`.

    Attributes are read, not `named_parameters()`: that lists a tied tensor once, and one that is pruned, parametrised
    or a buffer not at all.
    """
    found = {name: getattr(module, name, None) for name in (name.rstrip("?") for name in names)}
    return {name: x for name, x in found.items() if x is not None}


def through(stack, layer, *inputs, **options):
    """A layer; with `recompute` its insides are not kept but made anew in the backward (Chen et al. 2016)."""
    if stack.recompute and stack.training:
        return checkpoint(layer, *inputs, use_reentrant=False, **options)
    return layer(*inputs, **options)
