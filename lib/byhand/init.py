"""The parameters that a whole model starts from: one tree, from which both halves begin."""

import math
from typing import Annotated

import numpy as np

from byhand.check import AtLeast, Dtype, checked, fits
from byhand.config import ModelConfig
from byhand.np.linear import init_linear
from byhand.np.norm import init_norm
from byhand.tree import flatten, map_tree, unflatten


@checked
def init_model(rng: np.random.Generator, config: ModelConfig, dtype: Dtype = np.float32) -> dict:
    """Parameters of a model: weights of variance 1/d_in, rows of embeddings 1/d; what returns to the stream is smaller,
    by 1/√(2 L) for the 2 L sublayers that add to it (Radford et al. 2019)."""
    shrink = 1 / math.sqrt(2 * config.layers) if config.norm_first and config.residual else 1

    def start(path, shape):
        *_, part, name = path.split(".")
        if name == "gamma":
            return np.ones(shape, dtype)
        if name[0] == "b" or name == "table" and part == "attention":  # biases of features, and of distances
            return np.zeros(shape, dtype)
        std = 0.02 if name == "table" else 1 / math.sqrt(shape[1] if name == "E" else shape[0])
        x = rng.normal(scale=std, size=shape).astype(dtype)
        return dtype(shrink) * x if name in ("W_o", "W_2") else x

    return unflatten({path: start(path, shape) for path, shape in flatten(config.shapes).items()})


@checked
def init_pretrain(rng: np.random.Generator, config: ModelConfig, pairs: bool = True, dtype: Dtype = np.float32) -> dict:
    """{encoder, mlm}, and with `pairs` {pool, nsp}."""
    d = config.d
    mlm = init_linear(rng, d, d, dtype) | {"norm": init_norm(d, dtype=dtype), "bias": np.zeros(config.vocab, dtype)}
    heads = {"pool": init_linear(rng, d, d, dtype), "nsp": init_linear(rng, d, 2, dtype)} if pairs else {}
    return {"encoder": init_model(rng, config, dtype), "mlm": mlm} | heads


@checked
def init_classifier(
    rng: np.random.Generator,
    config: ModelConfig,
    classes: Annotated[int, AtLeast(2)],
    pretrained: dict | None = None,
    dtype: Dtype = np.float32,
) -> dict:
    """{encoder, pool, head}: encoder and, where it was trained, pool from `pretrained`; the rest fresh."""
    kept = {} if pretrained is None else _kept(config, pretrained, dtype)
    fresh = {"pool": init_linear(rng, config.d, config.d, dtype), "head": init_linear(rng, config.d, classes, dtype)}
    return ({} if kept else {"encoder": init_model(rng, config, dtype)}) | fresh | kept


def _kept(config, pretrained, dtype):
    """Copies of encoder and pool, so that fine-tuning leaves what it began with as it was."""
    shapes = {"encoder": config.shapes, "pool": {"W": (config.d, config.d), "b": (config.d,)}}
    if "encoder" not in pretrained:
        raise ValueError(f"init_classifier: pretrained has {', '.join(map(str, pretrained)) or 'no names'}, expected "
                         "encoder among them")
    kept = {name: pretrained[name] for name in shapes if name in pretrained}
    for name, tree in kept.items():
        fits("init_classifier", {name: tree}, {name: shapes[name]}, "pretrained")
    return map_tree(lambda x: np.array(x, dtype), kept)
