"""Parameter trees: nested dicts of arrays, with the same keys and shapes in NumPy, in torch and on disk.

A flat tree maps paths such as "block.attention.W_q" to leaves; torch's state_dict and safetensors use the same paths.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from byhand.check import are_paths
from byhand.check.numbers import kind_of


def flatten(tree: dict, prefix: str = "") -> dict[str, Any]:
    """{"a": {"b": x}} → {"a.b": x}, in the order of the tree; a subtree of nothing has no path and is left out."""
    if not isinstance(tree, dict):
        raise TypeError(f"flatten: tree is {type(tree).__name__}, expected a dict")
    flat = {}
    for key, value in tree.items():
        if not isinstance(key, str) or not key or "." in key:
            raise ValueError(f"flatten: key {key!r} under {prefix or 'the root'!r}, expected a name without a dot")
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def unflatten(flat: dict[str, Any]) -> dict:
    """{"a.b": x} → {"a": {"b": x}}: the inverse of `flatten`."""
    are_paths("unflatten", flat)
    tree: dict = {}
    for path, value in flat.items():
        *parents, name = path.split(".")
        node = tree
        for parent in parents:
            node = node.setdefault(parent, {})
            if not isinstance(node, dict):
                raise ValueError(f"unflatten: {path!r} runs through a leaf, expected a subtree there")
        if name in node:
            raise ValueError(f"unflatten: {path!r} is there twice, expected one leaf or one subtree")
        node[name] = value
    return tree


def map_tree(f: Callable, tree: dict, *others: dict) -> dict:
    """f applied leaf by leaf to one tree, or to several trees of the same structure."""
    if not callable(f):
        raise TypeError(f"map_tree: f is {kind_of(f)}, expected a function")
    if not isinstance(tree, dict):
        raise TypeError(f"map_tree: tree is {type(tree).__name__}, expected a dict")
    for other in others:
        if not isinstance(other, dict) or other.keys() != tree.keys():
            names = ", ".join(map(str, other)) or "no names" if isinstance(other, dict) else type(other).__name__
            raise ValueError(f"map_tree: another tree has {names}, expected {', '.join(map(str, tree)) or 'no names'}")
    result = {}
    for key, value in tree.items():
        for other in others:
            if isinstance(other[key], dict) and not isinstance(value, dict):
                raise ValueError(f"map_tree: another tree has a subtree at {key}, expected a leaf")
        rest = [other[key] for other in others]
        result[key] = map_tree(f, value, *rest) if isinstance(value, dict) else f(value, *rest)
    return result


def to_torch(tree: dict, device=None, dtype=None) -> dict:
    """Every array as a tensor of its own memory, on `device`, cast to `dtype` if one is given."""
    import torch

    if not isinstance(tree, dict):
        raise TypeError(f"to_torch: tree is {kind_of(tree)}, expected a dict")
    return map_tree(lambda x: torch.tensor(_as_torch_reads(x), device=device, dtype=dtype), tree)


def _as_torch_reads(x) -> np.ndarray:
    """The array, or a copy where torch has not its order of bytes, or a stride that is negative."""
    x = np.asarray(x)
    if x.dtype.kind not in "biufc":
        raise TypeError(f"to_torch: tree holds {kind_of(x)} of {x.dtype}, expected arrays of numbers")
    if min(x.strides, default=0) < 0 or not x.dtype.isnative:
        return np.array(x, x.dtype.newbyteorder("="), order="C")
    return x


def unwrapped(module):
    """The module that torch.compile was given, whose names its parameters have; any other as it is."""
    return getattr(module, "_orig_mod", module)


def plain(name: str) -> str:
    """The name of a parameter, whichever parts of its module torch.compile was given."""
    return name.replace("_orig_mod.", "")


def of_module(source) -> dict:
    """The tree of a torch module, its tensors not copied, as its parts hold them: compiled or not, and parametrised
    ones as they are computed; a tree stays what it is."""
    if isinstance(source, dict):
        return source
    module = unwrapped(source)
    leaves = {**module._parameters, **module._buffers}
    tree = {name: x for name, x in leaves.items()
            if x is not None and name not in module._non_persistent_buffers_set}
    for name, part in module._modules.items():
        if name == "parametrizations":
            tree |= {key: getattr(module, key) for key in part}
        elif part is not None and (below := of_module(part)):
            tree[name] = below
    return tree


def from_torch(source) -> dict:
    """The tree of NumPy arrays held by a module, a state_dict or a tree of tensors; copies, on the CPU.

    A dtype that NumPy lacks, such as bfloat16, becomes float32, which holds each of its numbers. A tensor that is cut
    over processes is brought together: all of them must ask for it.
    """
    flat = source
    if not isinstance(source, dict) and not hasattr(source, "state_dict"):
        raise TypeError(f"from_torch: source is {kind_of(source)}, expected a module, a state_dict or a tree of "
                        "tensors")
    if hasattr(source, "state_dict"):
        flat = {plain(name): x for name, x in source.state_dict().items()}
    nested = unflatten(flat) if any("." in str(key) for key in flat) else flat
    return map_tree(_as_array, nested)


def _as_array(x):
    import torch

    if not isinstance(x, torch.Tensor):
        raise TypeError(f"from_torch: source holds {kind_of(x)}, expected tensors")
    x = getattr(x, "full_tensor", lambda: x)().detach().cpu()
    known = not x.is_floating_point() or x.dtype in (torch.float64, torch.float32, torch.float16)
    return (x if known else x.float()).numpy().copy()
