"""Parameter trees as safetensors files: plain arrays under the paths of the tree, nothing to unpickle."""

from pathlib import Path

import numpy as np

from byhand.io.files import write_whole
from byhand.tree import flatten, unflatten


def save_safetensors(tree: dict, path: str | Path, metadata: dict[str, str] | None = None) -> None:
    """Write the tree in one step: the file at `path` is the old one or the whole new one, never half of it."""
    from safetensors.numpy import save

    leaves = flatten(tree)
    for name, x in leaves.items():
        if not isinstance(x, np.ndarray):
            raise TypeError(f"save_safetensors: {name} is {type(x).__name__}, expected a NumPy array")
    data = save({name: np.asarray(x, order="C") for name, x in leaves.items()}, metadata)
    write_whole(path, data)


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
