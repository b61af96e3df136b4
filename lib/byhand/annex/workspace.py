"""Chapter 16: memory of the training step that is allocated once: a thread's arrays, and long arrays behind a tree."""

import importlib
import warnings
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray as Array

from byhand.annex.loops import HAVE_NUMBA
from byhand.check import Size, checked, fits, kind_among, settings_among
from byhand.config import ModelConfig
from byhand.np.optim import decay_mask
from byhand.np.position import sinusoidal
from byhand.tree import flatten, map_tree, unflatten

SUPPORTED = {"position": ("learned", "sinusoidal"), "kv_heads": (None,), "norm_first": (True,), "residual": (True,),
             "alpha": (1,), "activation": ("gelu_tanh", "relu"), "gated": (False,), "bias": (True,), "rms": (False,),
             "embedding_norm": (False,), "scale_embedding": (False,), "tied": (True,), "p": (0,)}


class Workspace(NamedTuple):
    """Arrays that every step writes anew: `lanes` one a thread, `grads` the result; `passes` computes with them."""

    config: ModelConfig
    shape: tuple[int, int]
    passes: Any  # a module: `inplace` or `fused`
    lanes: list[SimpleNamespace]
    grads: dict
    future: Array  # (key, query): -∞ where the key comes after the query, else 0
    sinusoids: Array


@checked
def workspace(
    params: dict, config: ModelConfig, batch: Size, n: Size, threads: Size = 2, sequences: Size = 8,
    fused: bool = False,
) -> Workspace:
    """Room for steps on ids (batch, n), taken in equal pieces of at most so many sequences.

    `fused` takes the compiled loops, which are for float32; without Numba it warns, and the passes are NumPy's. Raises
    ValueError for a config with anything that SUPPORTED lacks.
    """
    kind_among("workspace", config, "decoder")
    settings_among("workspace", config, SUPPORTED, "np.model")
    fits("workspace", params, config.shapes)
    if n > config.n_max:
        raise ValueError(f"workspace: n is {n}, expected at most {config.n_max}")
    dtype = params["embedding"]["tokens"]["E"].dtype
    passes = passes_of(fused, dtype)
    b = max(k for k in range(1, min(sequences, batch) + 1) if batch % k == 0)
    arrays, sums = passes.sizes(config, b, n)
    lanes = [SimpleNamespace(sums={name: np.ones(size, dtype) for name, size in sums.items()},
                             **{name: np.ones(size, dtype) for name, size in arrays.items()})
             for _ in range(min(threads, batch // b))]
    future = np.where(np.tri(n, dtype=bool).T, 0, -np.inf).astype(dtype)
    places = sinusoidal(n, config.d, config.rope_theta) if config.position == "sinusoidal" else np.zeros((n, config.d))
    return Workspace(config, (batch, n), passes, lanes, pack(map_tree(np.zeros_like, params)), future,
                     places.astype(dtype))


def passes_of(fused: bool, dtype) -> ModuleType:
    """The module with the passes of a piece."""
    if fused and dtype != np.float32:
        raise TypeError(f"workspace: params have dtype {dtype} with fused, expected float32")
    if fused and not HAVE_NUMBA:
        warnings.warn("workspace: Numba is not installed, so nothing is fused and the step is that of the rung before; "
                      "pip install 'byhand[fused]' brings it", stacklevel=3)
    return importlib.import_module(f"byhand.annex.{'fused' if fused and HAVE_NUMBA else 'inplace'}")


def pack(tree: dict) -> dict:
    """A copy whose leaves are parts of two long arrays: those that `decay_mask` marks, and the rest."""
    leaves, mask, packed = flatten(tree), flatten(decay_mask(tree)), {}
    for on in (True, False):
        some = {name: x for name, x in leaves.items() if mask[name] is on}
        buffer, end = np.concatenate([np.ravel(x) for x in some.values()]), 0
        for name, x in some.items():
            packed[name], end = buffer[end:end + x.size].reshape(x.shape), end + x.size
    return unflatten({name: packed[name] for name in leaves})
