"""Chapter 10: blocks become models: an encoder, a decoder that writes, and an encoder–decoder that translates."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray as Array

from byhand.check import checked, embeds, fits, kind_among, names
from byhand.config import ModelConfig
from byhand.np.block import BlockCache, DropoutCache, block_backward, block_forward, dropout_backward, dropout_forward
from byhand.np.embedding import (
    EmbeddingCache,
    UnembedCache,
    embedding_backward,
    embedding_forward,
    unembed_backward,
    unembed_forward,
)
from byhand.np.linear import GatherCache, LinearCache, gather_backward, gather_forward, linear_backward, linear_forward
from byhand.np.mask import causal_mask, combine_masks
from byhand.np.norm import NormCache, RMSNormCache
from byhand.np.position import sinusoidal_at
from byhand.np.residual import norm_backward, norm_forward
from byhand.tree import map_tree


class EmbedCache(NamedTuple):
    tokens: EmbeddingCache
    segments: GatherCache | None
    positions: GatherCache | None
    norm: NormCache | RMSNormCache | None
    dropout: DropoutCache


@checked
def embed_forward(
    ids: Int[Array, "*B n"], params: dict, config: ModelConfig,
    segments: Int[Array, "*B n"] | None = None, positions: Int[Array, "*#B n"] | None = None,
    rng: np.random.Generator | None = None,
) -> tuple[Float[Array, "*B n d"], EmbedCache]:
    """Row of each word, plus those of its segment and its place, where config adds them; then norm and dropout.

    params {tokens: {E}} and, by config, {segments: {E}, positions: {table}, norm}; positions default to 0 … n − 1.
    """
    fits("embed", params, config.embedding())
    embeds("embed", config, len(params["tokens"]["E"]), ids, segments, positions)
    positions = np.arange(ids.shape[-1]) if positions is None else positions
    E, of_segment, of_place, norm = params["tokens"]["E"], None, None, None
    X, tokens = embedding_forward(E, ids, math.sqrt(config.d) if config.scale_embedding else 1.0)  # (10.10)
    if config.segments:
        S, of_segment = gather_forward(params["segments"]["E"], np.zeros_like(ids) if segments is None else segments)
        X = X + S  # (10.10)
    if config.position == "learned":
        P, of_place = gather_forward(params["positions"]["table"], np.broadcast_to(positions, ids.shape))
        X = X + P  # (10.10)
    elif config.position == "sinusoidal":
        X = X + sinusoidal_at(positions, config.d, config.rope_theta).astype(X.dtype)  # (10.10)
    if config.embedding_norm:
        X, norm = norm_forward(X, params["norm"], config.eps)  # (6.4)
    X, dropout = dropout_forward(X, config.p, rng)  # (9.24)
    return X, EmbedCache(tokens, of_segment, of_place, norm, dropout)


@checked
def embed_backward(dX: Float[Array, "*B n d"], cache: EmbedCache) -> dict:
    """The gradients of the parameters: the three tables were added, so each receives all of dX at the rows it gave."""
    grads: dict = {}
    dX = dropout_backward(dX, cache.dropout)  # (9.24)
    if cache.norm is not None:
        dX, grads["norm"] = norm_backward(dX, cache.norm)  # (6.14)
    if cache.positions is not None:
        grads["positions"] = {"table": gather_backward(dX, cache.positions)}  # (10.12)
    if cache.segments is not None:
        grads["segments"] = {"E": gather_backward(dX, cache.segments)}  # (10.12)
    return grads | {"tokens": {"E": embedding_backward(dX, cache.tokens)}}  # (10.11)


class StackCache(NamedTuple):
    blocks: list[BlockCache]
    norm: NormCache | RMSNormCache | None


@checked
def stack_forward(
    X: Float[Array, "*B n d"], params: dict, config: ModelConfig,
    mask: Bool[Array, "..."] | None = None,
    M: Float[Array, "*B m d_m"] | None = None, memory_mask: Bool[Array, "..."] | None = None,
    rng: np.random.Generator | None = None, positions: Int[Array, "*#B n"] | None = None, is_causal: bool = False,
) -> tuple[Float[Array, "*B n d"], StackCache]:
    """The blocks one after another, and with norm_first a last norm: the stream itself is never normalised before it.

    params {blocks: {"0": …, "1": …}} and, with norm_first, {norm}. Every block reads the same memory M.
    """
    fits("stack", {k: x for k, x in params.items() if k in ("blocks", "norm")}, config.stack(cross=M is not None))
    blocks = []
    for i in range(config.layers):
        X, cache = block_forward(X, params["blocks"][str(i)], mask=mask, M=M, memory_mask=memory_mask, p=config.p,
                                 rng=rng, positions=positions, is_causal=is_causal, **config.options)  # (10.1), (10.20)
        blocks.append(cache)
    norm = None
    if config.norm_first:
        X, norm = norm_forward(X, params["norm"], config.eps)  # (10.8)
    return X, StackCache(blocks, norm)


@checked
def stack_backward(
    dY: Float[Array, "*B n d"], cache: StackCache
) -> tuple[Float[Array, "*B n d"], Float[Array, "*B m d_m"] | None, dict]:
    """dX, dM and the gradients of the parameters; every block read the memory, so dM is the sum over all of them."""
    grads: dict = {}
    dM = None
    if cache.norm is not None:
        dY, grads["norm"] = norm_backward(dY, cache.norm)  # (10.9)
    blocks = {}
    for i in reversed(range(len(cache.blocks))):
        dY, dM_i, blocks[str(i)] = block_backward(dY, cache.blocks[i])  # (10.3)
        if dM_i is not None:
            dM = dM_i if dM is None else dM + dM_i  # (10.22)
    return dY, dM, grads | {"blocks": blocks}


class EncoderCache(NamedTuple):
    embed: EmbedCache
    stack: StackCache


@checked
def encoder_forward(
    ids: Int[Array, "*B n"], params: dict, config: ModelConfig,
    mask: Bool[Array, "..."] | None = None, segments: Int[Array, "*B n"] | None = None,
    rng: np.random.Generator | None = None, positions: Int[Array, "*#B n"] | None = None, is_causal: bool = False,
) -> tuple[Float[Array, "*B n d"], EncoderCache]:
    """Every token sees every token that the mask allows, and with is_causal none after it.

    params {embedding, blocks}, and {norm} with norm_first. The embedding and attention both read `positions`.
    """
    kind_among("encoder", config, "encoder", "encoder_decoder")
    names("encoder", "params", params, list(config.side("encoder")))
    X, embed = embed_forward(ids, params["embedding"], config, segments, positions, rng)  # (10.10)
    H, stack = stack_forward(X, params, config, mask, rng=rng, positions=positions, is_causal=is_causal)  # (10.13)
    return H, EncoderCache(embed, stack)


@checked
def encoder_backward(dH: Float[Array, "*B n d"], cache: EncoderCache) -> dict:
    """The gradients of the parameters."""
    dX, _, grads = stack_backward(dH, cache.stack)  # (10.3)
    return grads | {"embedding": embed_backward(dX, cache.embed)}  # (10.11), (10.12)


class DecoderCache(NamedTuple):
    embed: EmbedCache
    stack: StackCache
    head: UnembedCache | LinearCache


@checked
def decoder_forward(
    ids: Int[Array, "*B n"], params: dict, config: ModelConfig,
    mask: Bool[Array, "..."] | None = None, rng: np.random.Generator | None = None,
    positions: Int[Array, "*#B n"] | None = None,
) -> tuple[Float[Array, "*B n V"], DecoderCache]:
    """Logits for the word that follows each token, which sees itself and what stands before it.

    params {embedding, blocks}, {norm} with norm_first, and {head: {W}} if not tied. Where sequences are padded at the
    left, or a row holds several, the mask keeps them apart and `positions` count in each from 0.
    """
    kind_among("decoder", config, "decoder")
    names("decoder", "params", params, list(config.side("decoder")))
    return _decode_forward(ids, params, params["embedding"], config, mask, None, None, rng, positions)  # (10.16)


@checked
def decoder_backward(dlogits: Float[Array, "*B n V"], cache: DecoderCache) -> dict:
    """The gradients of the parameters."""
    _, dembedding, grads = _decode_backward(dlogits, cache)  # (10.19), (10.3)
    return grads | {"embedding": dembedding}


class EncoderDecoderCache(NamedTuple):
    encoder: EncoderCache
    decoder: DecoderCache
    shared: bool


@checked
def encoder_decoder_forward(
    source: Int[Array, "*B m"], target: Int[Array, "*B n"], params: dict, config: ModelConfig,
    source_mask: Bool[Array, "..."] | None = None, target_mask: Bool[Array, "..."] | None = None,
    rng: np.random.Generator | None = None,
    source_positions: Int[Array, "*#B m"] | None = None, target_positions: Int[Array, "*#B n"] | None = None,
) -> tuple[Float[Array, "*B n V"], EncoderDecoderCache]:
    """Logits for the word after each target token, which sees the target so far and all of the source.

    params {encoder: {embedding, blocks, norm}, decoder: {embedding, blocks, norm, head}}; the decoder has an embedding
    of its own if config.source_vocab is given. A source_mask for (n, m) scores must have n = 1: padding of the source.
    """
    kind_among("encoder_decoder", config, "encoder_decoder")
    names("encoder_decoder", "params", params, ["encoder", "decoder"])
    names("encoder_decoder", "decoder", params["decoder"], list(config.side("decoder")))
    M, encoder = encoder_forward(source, params["encoder"], config, source_mask, None, rng, source_positions)  # (10.20)
    shared = config.source_vocab is None
    embedding = params["encoder" if shared else "decoder"]["embedding"]
    logits, decoder = _decode_forward(
        target, params["decoder"], embedding, config, target_mask, M, source_mask, rng, target_positions)  # (10.16)
    return logits, EncoderDecoderCache(encoder, decoder, shared)


@checked
def encoder_decoder_backward(dlogits: Float[Array, "*B n V"], cache: EncoderDecoderCache) -> dict:
    """The gradients of the parameters: through the decoder, then from all of its blocks into the encoder.

    A shared embedding was read for the source, for the target and for the logits: a sum of three.
    """
    dM, dembedding, decoder = _decode_backward(dlogits, cache.decoder)  # (10.22), (10.19), (10.3)
    encoder = encoder_backward(dM, cache.encoder)  # (10.23)
    if cache.shared:
        encoder["embedding"] = map_tree(np.add, encoder["embedding"], dembedding)  # (10.24)
    else:
        decoder["embedding"] = dembedding
    return {"encoder": encoder, "decoder": decoder}


def _decode_forward(ids, params, embedding, config, mask, M, memory_mask, rng, positions):
    X, embed = embed_forward(ids, embedding, config, None, positions, rng)  # (10.10)
    causal = causal_mask(ids.shape[-1])
    mask = causal if mask is None else combine_masks(causal, mask)
    H, stack = stack_forward(X, params, config, mask, M, memory_mask, rng, positions)  # (10.13)
    E = embedding["tokens"]["E"]
    logits, head = unembed_forward(H, E) if config.tied else linear_forward(H, params["head"]["W"])  # (10.16)
    return logits, DecoderCache(embed, stack, head)


def _decode_backward(dlogits, cache):
    """dM, the gradients of the embedding, and those of the rest; a tied E looked words up and scored them: a sum."""
    tied = isinstance(cache.head, UnembedCache)
    if tied:
        dH, dE = unembed_backward(dlogits, cache.head)  # (10.18)
    else:
        dH, dW, _ = linear_backward(dlogits, cache.head)  # (10.18)
    dX, dM, grads = stack_backward(dH, cache.stack)  # (10.3), (10.22), (10.3)
    dembedding = embed_backward(dX, cache.embed)  # (10.11)
    if tied:
        dembedding["tokens"]["E"] += dE  # (10.19)
    else:
        grads["head"] = {"W": dW}
    return dM, dembedding, grads
