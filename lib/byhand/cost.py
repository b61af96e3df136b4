"""What a model costs: parameters, products and memory of each part, by counting on paper. Chapter 9 and chapter 10."""

from typing import NamedTuple

from byhand.check import Index, Size, checked, kind_among, tokens_fit
from byhand.config import ModelConfig


class Cost(NamedTuple):
    part: str
    parameters: int  # numbers that are trained
    flops: int  # multiplications and additions of the matrix products of one forward pass, 2 n k m each
    cache: int  # numbers that the NumPy half keeps for the backward pass


# Sizes as their papers and published weights have them.
PUBLISHED = {
    "Transformer base": ModelConfig(
        "encoder_decoder", 37000, 512, 8, 6, n_max=512, norm_first=False, activation="relu",
        scale_embedding=True, p=0.1),
    "BERT base": ModelConfig(
        "encoder", 30522, 768, 12, 12, n_max=512, position="learned", norm_first=False, eps=1e-12, embedding_norm=True,
        segments=2, p=0.1),
    "GPT-2": ModelConfig("decoder", 50257, 768, 12, 12, position="learned", activation="gelu_tanh", p=0.1),
    "LLaMA 7B": ModelConfig(
        "decoder", 32000, 4096, 32, 32, d_ff=11008, n_max=2048, position="rope_half", activation="silu", gated=True,
        bias=False, rms=True, eps=1e-6, tied=False),
    "SmolLM2 135M": ModelConfig(
        "decoder", 49152, 576, 9, 30, d_ff=1536, n_max=8192, position="rope_half", rope_theta=100000.0, kv_heads=3,
        activation="silu", gated=True, bias=False, rms=True, tied=True),
}


@checked
def costs(config: ModelConfig, n: Size, batch: Size = 1, m: Size | None = None) -> list[Cost]:
    """One row a part for `batch` sequences of n tokens; in an encoder–decoder n is the target's and m the source's.

    A backward pass has twice the products of the forward pass: each product sends a gradient to both of its factors.
    """
    tokens_fit("costs", config, n=n, m=m)
    if (m is None) == (config.kind == "encoder_decoder"):
        raise ValueError(f"costs: m is {m} in a model of kind {config.kind!r}, expected "
                         f"{'the number of source tokens' if m is None else 'None'}")
    if config.kind != "encoder_decoder":
        rows = _embedding(config, config.vocab, batch * n) + _stack(config, n, batch)
        return rows + ([_logits(config, batch * n)] if config.kind == "decoder" else [])
    own = config.source_vocab is not None
    source = _embedding(config, config.source_vocab or config.vocab, batch * m) + _stack(config, m, batch)
    target = _embedding(config, config.vocab if own else 0, batch * n) + _stack(config, n, batch, m)
    target += [_logits(config, batch * n), Cost("memory", 0, 0, batch * m * config.d)]  # one array, read by every block
    return [row._replace(part=f"{side}: {row.part}") for side, rows in (("encoder", source), ("decoder", target))
            for row in rows]


@checked
def total(rows: list[Cost]) -> Cost:
    """The sum of all rows."""
    return Cost("total", *(sum(row[i] for row in rows) for i in (1, 2, 3)))


@checked
def training_bytes(
    config: ModelConfig, n: Size, batch: Size = 1, m: Size | None = None, itemsize: Size = 4
) -> dict[str, int]:
    """{parameters, gradients, optimiser, cache}: AdamW keeps two numbers a parameter. Logits and loss come on top."""
    sums = total(costs(config, n, batch, m))
    weights = sums.parameters * itemsize
    return {"parameters": weights, "gradients": weights, "optimiser": 2 * weights, "cache": sums.cache * itemsize}


@checked
def kv_bytes(config: ModelConfig, tokens: Index = 1, itemsize: Size = 4) -> int:
    """Keys and values that a decoder keeps for `tokens` tokens: 2 · layers · kv_heads · d_k each."""
    kind_among("kv_bytes", config, "decoder", "encoder_decoder")
    return 2 * config.layers * config.groups * (config.d // config.heads) * tokens * itemsize


@checked
def flops_per_token(config: ModelConfig, n: Size, causal: bool = False) -> int:
    """Training FLOPs a token of a decoder, 6 N + 12 L d n (Chowdhery et al. 2022), with N parameters without those that
    are looked up alone: positions, and words where the head has a table of its own. With `causal`, half the second
    term, as a kernel does that skips what the mask hides."""
    kind_among("flops_per_token", config, "decoder")
    looked_up = ("positions",) if config.tied else ("positions", "words")
    parameters = sum(row.parameters for row in costs(config, n) if row.part not in looked_up)
    return 6 * parameters + 12 * config.layers * config.d * n // (2 if causal else 1)


def _embedding(config, vocab, tokens):
    """The tables of one side, and the norm behind them; vocab 0 reads the tables of the other side."""
    tables = {"words": vocab, "segments": config.segments, "positions": (config.position == "learned") * config.n_max}
    rows = [Cost(part, size * config.d, 0, 0) for part, size in tables.items() if size and vocab]
    rows += [_norm("norm of the embedding", config, tokens)] if config.embedding_norm else []
    if not vocab:
        rows = [row._replace(part="embedding, shared", parameters=0) for row in rows]
    return rows + ([Cost("dropout of the embedding", 0, 0, tokens * config.d)] if config.p else [])


def _stack(config, n, batch, m=None):
    """The blocks of one side, which read a memory of m tokens a sequence if there is one, and the last norm."""
    tokens, L = batch * n, config.layers
    blocks = [_own(config, n, batch), _norm("norms before or after it", config, tokens)]
    if m is not None:
        blocks.append(_attention("cross-attention", config, n, m, batch))
        blocks.append(_norm("norms of cross-attention", config, tokens))
    blocks += [_feed_forward(config, tokens), _norm("norms of feed-forward", config, tokens)]
    rows = [Cost(part, *(L * x for x in counts)) for part, *counts in blocks]
    return rows + ([_norm("last norm", config, tokens)] if config.norm_first else [])


def _norm(part, config, tokens):
    """Gain and, unless it is an RMSNorm, shift; x̂ is kept, and one deviation a token."""
    return Cost(part, config.d * (1 if config.rms else 2), 0, tokens * (config.d + 1))


def _attention(part, config, queries, keys, batch):
    """Four maps, of which those of keys and values are as narrow as their heads; scores and mixing, 2 · 2 n m d."""
    d, narrow = config.d, config.d // config.heads * config.groups
    tokens, memory = batch * queries, batch * keys
    parameters = 2 * d * d + 2 * d * narrow + config.bias * (2 * d + 2 * narrow)
    flops = 2 * tokens * 2 * d * d + 2 * memory * 2 * d * narrow + 4 * batch * queries * keys * d
    cache = tokens * d + tokens * d + 2 * memory * d  # the input; Q, K and V as the scores see them
    cache += batch * config.heads * queries * keys + tokens * d  # the weights A, and the heads joined
    return Cost(part, parameters, flops, cache + (tokens * d if config.p else 0))


def _own(config, n, batch):
    """Self-attention, and what it knows of places: a table of distances, or cosines and sines for Q and for K."""
    part, parameters, flops, cache = _attention("self-attention", config, n, n, batch)
    if config.position == "relative":
        parameters += config.heads * (2 * config.max_distance + 1)
    if config.position in ("rope", "rope_half"):
        cache += 2 * n * config.d // config.heads
    return Cost(part, parameters, flops, cache)


def _feed_forward(config, tokens):
    """Two maps, or three with a gate; X is kept, what the activation reads and its slope, what W_2 reads."""
    d, wide, maps = config.d, config.width, 3 if config.gated else 2
    parameters = maps * d * wide + config.bias * (wide + d)
    cache = tokens * d + (5 if config.gated else 3) * tokens * wide
    return Cost("feed-forward", parameters, 2 * tokens * maps * d * wide, cache + (tokens * d if config.p else 0))


def _logits(config, tokens):
    """A score for each word: the embedding again, or a table of its own."""
    table = config.d * config.vocab
    return Cost("logits", 0 if config.tied else table, 2 * tokens * table, tokens * config.d)
