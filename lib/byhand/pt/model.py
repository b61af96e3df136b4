"""Chapter 10: whole models in PyTorch: functions over the tree of the NumPy half, and modules that hold that tree."""

import math

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from byhand import tree
from byhand.check import Size, checked, embeds, fits, kind_among, names
from byhand.config import ModelConfig
from byhand.init import init_model
from byhand.pt._modules import through
from byhand.pt.block import Block, block, dropout
from byhand.pt.embedding import Embedding, embedding, unembed
from byhand.pt.linear import Linear, gather, linear
from byhand.pt.mask import causal_mask, combine_masks
from byhand.pt.norm import LayerNorm, RMSNorm
from byhand.pt.position import LearnedPositions, sinusoidal_at
from byhand.pt.residual import norm


@checked
def embed(
    ids: Int[Tensor, "*B n"], params: dict, config: ModelConfig,
    segments: Int[Tensor, "*B n"] | None = None, positions: Int[Tensor, "*#B n"] | None = None,
    training: bool = False,
) -> Float[Tensor, "*B n d"]:
    """Row of each word, plus those of its segment and its place, where config adds them; then norm and dropout."""
    fits("embed", params, config.embedding())
    embeds("embed", config, len(params["tokens"]["E"]), ids, segments, positions)
    positions = torch.arange(ids.shape[-1], device=ids.device) if positions is None else positions
    X = embedding(params["tokens"]["E"], ids, math.sqrt(config.d) if config.scale_embedding else 1.0)
    if config.segments:
        X = X + gather(params["segments"]["E"], torch.zeros_like(ids) if segments is None else segments)  # (10.10)
    if config.position == "learned":
        X = X + params["positions"]["table"][positions]  # (10.10)
    elif config.position == "sinusoidal":
        X = X + sinusoidal_at(positions, config.d, config.rope_theta).to(X.dtype)  # (10.10)
    if config.embedding_norm:
        X = norm(X, params["norm"], config.eps)
    return dropout(X, config.p, training)


@checked
def stack(
    X: Float[Tensor, "*B n d"], params: dict, config: ModelConfig,
    mask: Bool[Tensor, "..."] | None = None,
    M: Float[Tensor, "*B m d_m"] | None = None, memory_mask: Bool[Tensor, "..."] | None = None,
    training: bool = False, positions: Int[Tensor, "*#B n"] | None = None, is_causal: bool = False,
) -> Float[Tensor, "*B n d"]:
    """The blocks one after another, and with norm_first a last norm."""
    fits("stack", {k: x for k, x in params.items() if k in ("blocks", "norm")}, config.stack(cross=M is not None))
    for i in range(config.layers):
        X = block(X, params["blocks"][str(i)], mask=mask, M=M, memory_mask=memory_mask, positions=positions,
                  is_causal=is_causal, p=config.p if training else 0.0, **config.options)
    return norm(X, params["norm"], config.eps) if config.norm_first else X  # (10.8)


@checked
def encoder(
    ids: Int[Tensor, "*B n"], params: dict, config: ModelConfig,
    mask: Bool[Tensor, "..."] | None = None,
    segments: Int[Tensor, "*B n"] | None = None,
    training: bool = False, positions: Int[Tensor, "*#B n"] | None = None, is_causal: bool = False,
) -> Float[Tensor, "*B n d"]:
    """Every token sees every token that the mask allows, and with is_causal none after it; see the NumPy half."""
    kind_among("encoder", config, "encoder", "encoder_decoder")
    names("encoder", "params", params, list(config.side("encoder")))
    X = embed(ids, params["embedding"], config, segments, positions, training)
    return stack(X, params, config, mask, training=training, positions=positions, is_causal=is_causal)


@checked
def decoder(
    ids: Int[Tensor, "*B n"], params: dict, config: ModelConfig,
    mask: Bool[Tensor, "..."] | None = None,
    training: bool = False, positions: Int[Tensor, "*#B n"] | None = None,
) -> Float[Tensor, "*B n V"]:
    """Logits for the word that follows each token, which sees itself and what stands before it."""
    kind_among("decoder", config, "decoder")
    names("decoder", "params", params, list(config.side("decoder")))
    return _decode(ids, params, params["embedding"], config, mask, None, None, training, positions)


@checked
def encoder_decoder(
    source: Int[Tensor, "*B m"], target: Int[Tensor, "*B n"], params: dict, config: ModelConfig,
    source_mask: Bool[Tensor, "..."] | None = None, target_mask: Bool[Tensor, "..."] | None = None,
    training: bool = False,
    source_positions: Int[Tensor, "*#B m"] | None = None, target_positions: Int[Tensor, "*#B n"] | None = None,
) -> Float[Tensor, "*B n V"]:
    """Logits for the word after each target token, which sees the target so far and all of the source."""
    kind_among("encoder_decoder", config, "encoder_decoder")
    names("encoder_decoder", "params", params, ["encoder", "decoder"])
    names("encoder_decoder", "decoder", params["decoder"], list(config.side("decoder")))
    M = encoder(source, params["encoder"], config, source_mask, None, training, source_positions)
    shared = params["encoder" if config.source_vocab is None else "decoder"]["embedding"]
    return _decode(target, params["decoder"], shared, config, target_mask, M, source_mask, training,
                   target_positions)


def _decode(ids, params, embedding, config, mask, M, memory_mask, training, positions):
    X = embed(ids, embedding, config, None, positions, training)
    mask = None if mask is None else combine_masks(causal_mask(ids.shape[-1], device=ids.device), mask)
    H = stack(X, params, config, mask, M, memory_mask, training, positions, is_causal=mask is None)
    return unembed(H, embedding["tokens"]["E"]) if config.tied else linear(H, params["head"]["W"])  # (10.16)


def _start(module: nn.Module, config: ModelConfig, rng: np.random.Generator | None) -> None:
    """Parameters as `init_model` makes them: from rng, or from a seed that torch.manual_seed decides."""
    rng = np.random.default_rng(torch.randint(2**62, (), device="cpu").item()) if rng is None else rng
    module.load_state_dict(tree.flatten(tree.to_torch(init_model(rng, config))))


class Embed(nn.Module):
    """Parameters {tokens} and, by config, {segments, positions, norm}."""

    @checked
    def __init__(self, vocab: Size, config: ModelConfig):
        super().__init__()
        self.config = config
        self.tokens = Embedding(vocab, config.d, math.sqrt(config.d) if config.scale_embedding else 1.0)
        self.segments = Embedding(config.segments, config.d) if config.segments else None
        self.positions = LearnedPositions(config.n_max, config.d) if config.position == "learned" else None
        self.norm = (RMSNorm if config.rms else LayerNorm)(config.d, config.eps) if config.embedding_norm else None

    @checked
    def forward(
        self,
        ids: Int[Tensor, "*B n"],
        segments: Int[Tensor, "*B n"] | None = None, positions: Int[Tensor, "*#B n"] | None = None,
    ) -> Float[Tensor, "*B n d"]:
        config = self.config
        embeds("Embed", config, len(self.tokens.E), ids, segments, positions)
        positions = torch.arange(ids.shape[-1], device=ids.device) if positions is None else positions
        X = self.tokens(ids)
        if self.segments is not None:
            X = X + self.segments(torch.zeros_like(ids) if segments is None else segments)  # (10.10)
        if self.positions is not None:
            X = X + self.positions(ids.shape[-1], positions=positions)  # (10.10)
        elif config.position == "sinusoidal":
            X = X + sinusoidal_at(positions, config.d, config.rope_theta).to(X.dtype)  # (10.10)
        if self.norm is not None:
            X = self.norm(X)
        return dropout(X, config.p, self.training)


class Encoder(nn.Module):
    """Parameters {embedding, blocks} and, with norm_first, {norm}, started by `init_model`."""

    recompute = False  # True: the insides of a block are made anew in the backward

    @checked
    def __init__(self, config: ModelConfig, rng: np.random.Generator | None = None):
        super().__init__()
        kind_among("Encoder", config, "encoder", "encoder_decoder")
        self.config = config
        self.embedding = Embed(config.source_vocab or config.vocab, config)
        self.blocks, self.norm = _blocks(config), _last_norm(config)
        if config.kind == "encoder":
            _start(self, config, rng)

    @checked
    def forward(
        self,
        ids: Int[Tensor, "*B n"],
        mask: Bool[Tensor, "..."] | None = None,
        segments: Int[Tensor, "*B n"] | None = None,
        positions: Int[Tensor, "*#B n"] | None = None, is_causal: bool = False,
    ) -> Float[Tensor, "*B n d"]:
        X = self.embedding(ids, segments, positions)
        for layer in self.blocks:
            X = through(self, layer, X, mask, is_causal=is_causal, positions=positions)
        return X if self.norm is None else self.norm(X)


class Decoder(nn.Module):
    """Parameters {embedding, blocks}, with norm_first {norm}, and if not tied {head: {W}}.

    In an encoder–decoder its blocks read a memory M, and `embedding` stands in where the two sides share one.
    """

    recompute = False  # True: the insides of a block are made anew in the backward

    @checked
    def __init__(self, config: ModelConfig, rng: np.random.Generator | None = None):
        super().__init__()
        kind_among("Decoder", config, "decoder", "encoder_decoder")
        self.config = config
        own = config.kind == "decoder" or config.source_vocab is not None
        self.embedding = Embed(config.vocab, config) if own else None
        self.blocks, self.norm = _blocks(config, cross=config.kind != "decoder"), _last_norm(config)
        self.head = None if config.tied else Linear(config.d, config.vocab, bias=False)
        if config.kind == "decoder":
            _start(self, config, rng)

    @checked
    def forward(
        self,
        ids: Int[Tensor, "*B n"],
        mask: Bool[Tensor, "..."] | None = None,
        M: Float[Tensor, "*B m d"] | None = None,
        memory_mask: Bool[Tensor, "..."] | None = None,
        embedding: Embed | None = None,
        positions: Int[Tensor, "*#B n"] | None = None,
    ) -> Float[Tensor, "*B n V"]:
        embedding = self.embedding if embedding is None else embedding
        X = embedding(ids, positions=positions)
        mask = None if mask is None else combine_masks(causal_mask(ids.shape[-1], device=ids.device), mask)
        for layer in self.blocks:
            X = through(self, layer, X, mask, M, memory_mask, mask is None, positions)
        H = X if self.norm is None else self.norm(X)
        return embedding.tokens.unembed(H) if self.head is None else self.head(H)


class EncoderDecoder(nn.Module):
    """Parameters {encoder, decoder}; without a source_vocab the decoder reads the encoder's embedding."""

    @checked
    def __init__(self, config: ModelConfig, rng: np.random.Generator | None = None):
        super().__init__()
        kind_among("EncoderDecoder", config, "encoder_decoder")
        self.config, self.encoder, self.decoder = config, Encoder(config), Decoder(config)
        _start(self, config, rng)

    @checked
    def forward(
        self,
        source: Int[Tensor, "*B m"],
        target: Int[Tensor, "*B n"],
        source_mask: Bool[Tensor, "..."] | None = None, target_mask: Bool[Tensor, "..."] | None = None,
        source_positions: Int[Tensor, "*#B m"] | None = None, target_positions: Int[Tensor, "*#B n"] | None = None,
    ) -> Float[Tensor, "*B n V"]:
        M = self.encoder(source, source_mask, positions=source_positions)
        shared = self.encoder.embedding if self.decoder.embedding is None else None
        return self.decoder(target, target_mask, M, source_mask, shared, target_positions)


def _blocks(config, cross=False):
    return nn.ModuleList(
        Block(config.d, d_ff=config.width, d_m=config.d if cross else None, gated=config.gated, bias=config.bias,
              rms=config.rms, max_distance=config.max_distance if config.position == "relative" else None, p=config.p,
              **config.options)
        for _ in range(config.layers))


def _last_norm(config):
    return (RMSNorm if config.rms else LayerNorm)(config.d, config.eps) if config.norm_first else None
