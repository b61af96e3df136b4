"""The parameters that a whole model starts from: one tree, from which both halves begin."""

import math
from typing import Annotated

import numpy as np

from byhand.check import AtLeast, checked
from byhand.config import ModelConfig
from byhand.np.embedding import init_embedding
from byhand.np.linear import init_linear
from byhand.np.multihead import init_multihead
from byhand.np.norm import init_norm
from byhand.np.position import init_learned_positions
from byhand.np.residual import init_weights


def init_model(rng: np.random.Generator, config: ModelConfig, dtype=np.float32) -> dict:
    """Parameters of a model: weights of variance 1/d_in, rows of embeddings 1/d; what returns to the stream is smaller,
    by 1/√(2 L) for the 2 L sublayers that add to it (Radford et al. 2019)."""
    norm = lambda: init_norm(config.d, not config.rms, dtype)  # noqa: E731  (one short map, used in many places)
    shrink = dtype(1 / math.sqrt(2 * config.layers)) if config.norm_first and config.residual else dtype(1)

    def attention(position):
        params = init_multihead(rng, config.d, config.heads, config.kv_heads, bias=config.bias, dtype=dtype,
                                max_distance=config.max_distance if position == "relative" else None)
        return params | {"W_o": shrink * params["W_o"]}

    def feed_forward():
        sizes = {"W_1": (config.d, config.width), "W_2": (config.width, config.d)}
        sizes |= {"W_g": sizes["W_1"]} if config.gated else {}
        params = {name: init_weights(rng, *size, dtype=dtype) for name, size in sizes.items()}
        params["W_2"] = shrink * params["W_2"]
        biases = {"b_1": np.zeros(config.width, dtype), "b_2": np.zeros(config.d, dtype)}
        return params | (biases if config.bias else {})

    def block(cross):
        parts = {"attention": attention(config.position), "norm_1": norm(), "ff": feed_forward(), "norm_2": norm()}
        return parts | ({"cross": attention("none"), "norm_c": norm()} if cross else {})

    def embedding(vocab):
        params = {"tokens": init_embedding(rng, vocab, config.d, dtype)}
        params |= {"segments": init_embedding(rng, config.segments, config.d, dtype)} if config.segments else {}
        if config.position == "learned":
            params["positions"] = init_learned_positions(rng, config.n_max, config.d, dtype)
        return params | ({"norm": norm()} if config.embedding_norm else {})

    def stack(vocab, cross=False, head=False):
        params = {} if vocab is None else {"embedding": embedding(vocab)}
        params["blocks"] = {str(i): block(cross) for i in range(config.layers)}
        params |= {"norm": norm()} if config.norm_first else {}
        return params | ({"head": {"W": init_weights(rng, config.d, config.vocab, dtype=dtype)}} if head else {})

    if config.kind != "encoder_decoder":
        return stack(config.vocab, head=config.kind == "decoder" and not config.tied)
    shared = config.source_vocab is None
    return {"encoder": stack(config.vocab if shared else config.source_vocab),
            "decoder": stack(None if shared else config.vocab, cross=True, head=not config.tied)}


@checked
def init_pretrain(rng: np.random.Generator, config: ModelConfig, pairs: bool = True, dtype=np.float32) -> dict:
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
    dtype=np.float32,
) -> dict:
    """{encoder, pool, head}: encoder and, where it was trained, pool from `pretrained`; the rest fresh."""
    fresh = {"pool": init_linear(rng, config.d, config.d, dtype), "head": init_linear(rng, config.d, classes, dtype)}
    if pretrained is None:
        return {"encoder": init_model(rng, config, dtype)} | fresh
    return fresh | {name: pretrained[name] for name in ("encoder", "pool") if name in pretrained}
