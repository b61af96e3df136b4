"""Parameter trees: nested dicts of arrays, with the same keys and shapes in NumPy, in torch and on disk.

A flat tree maps paths such as "block.attention.W_q" to leaves; torch's state_dict and safetensors use the same paths.
"""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def flatten(tree: dict, prefix: str = "") -> dict[str, Any]:
    """{"a": {"b": x}} → {"a.b": x}, in the order of the tree."""
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
    result = {}
    for key, value in tree.items():
        for other in others:
            if not isinstance(other, dict) or other.keys() != tree.keys():
                names = ", ".join(other) if isinstance(other, dict) else type(other).__name__
                raise ValueError(f"map_tree: another tree has {names}, expected {', '.join(tree)}")
        rest = [other[key] for other in others]
        result[key] = map_tree(f, value, *rest) if isinstance(value, dict) else f(value, *rest)
    return result


def to_torch(tree: dict, device=None, dtype=None) -> dict:
    """Every array as a tensor of its own memory, on `device`, cast to `dtype` if one is given."""
    import torch

    return map_tree(lambda x: torch.tensor(np.asarray(x), device=device, dtype=dtype), tree)


def from_torch(source) -> dict:
    """The tree of NumPy arrays held by a module, a state_dict or a tree of tensors; copies, on the CPU."""
    flat = source.state_dict() if hasattr(source, "state_dict") else source
    nested = unflatten(flat) if any("." in key for key in flat) else flat
    return map_tree(lambda x: x.detach().cpu().numpy().copy(), nested)


def save_safetensors(tree: dict, path: str | Path, metadata: dict[str, str] | None = None) -> None:
    """Write the tree in one step: the file at `path` is the old one or the whole new one, never half of it."""
    from safetensors.numpy import save

    leaves = flatten(tree)
    for name, x in leaves.items():
        if not isinstance(x, np.ndarray):
            raise TypeError(f"save_safetensors: {name} is {type(x).__name__}, expected a NumPy array")
    data = save({name: np.asarray(x, order="C") for name, x in leaves.items()}, metadata)
    write_whole(path, data)


def write_whole(path: str | Path, data: bytes) -> None:
    """At `path` is the old file or the whole new one, never half of it."""
    path = Path(path)
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise


def load_safetensors(path: str | Path) -> dict:
    """The tree that `save_safetensors` wrote. Raises ValueError for a damaged file, FileNotFoundError for none."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    if not Path(path).is_file():
        raise FileNotFoundError(f"load_safetensors: no file at {path}")
    try:
        return unflatten(load_file(path))
    except SafetensorError as error:
        raise ValueError(f"load_safetensors: {path} is damaged ({error}), expected a safetensors file") from error
