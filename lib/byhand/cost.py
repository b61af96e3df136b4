"""What a model costs: parameters, products and memory of each part, by counting on paper. Chapter 9 and chapter 10."""

from typing import NamedTuple

from byhand import guard
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


def costs(config: ModelConfig, n: int, batch: int = 1, m: int | None = None) -> list[Cost]:
    """One row a part for `batch` sequences of n tokens; in an encoder–decoder n is the target's and m the source's.

    A backward pass has twice the products of the forward pass: each product sends a gradient to both of its factors.
    """
    guard.count("costs", n=n, batch=batch)
    if config.kind != "encoder_decoder":
        if m is not None:
            raise ValueError(f"costs: m is {m} for a {config.kind}, expected None")
        return _side(config, config.vocab, n, batch, head=config.kind == "decoder")
    guard.count("costs", m=m)
    shared = config.source_vocab is None
    encoder = _side(config, config.vocab if shared else config.source_vocab, m, batch)
    decoder = _side(config, config.vocab, n, batch, head=True, m=m, shared=shared)
    return [row._replace(part=f"{side}: {row.part}") for side, rows in (("encoder", encoder), ("decoder", decoder))
            for row in rows]


def total(rows: list[Cost]) -> Cost:
    """The sum of all rows."""
    return Cost("total", *(sum(column) for column in list(zip(*rows, strict=True))[1:]))


def training_bytes(
    config: ModelConfig, n: int, batch: int = 1, m: int | None = None, itemsize: int = 4
) -> dict[str, int]:
    """{parameters, gradients, optimiser, cache}: AdamW keeps two numbers a parameter. Logits and loss come on top."""
    sums = total(costs(config, n, batch, m))
    weights = sums.parameters * itemsize
    return {"parameters": weights, "gradients": weights, "optimiser": 2 * weights, "cache": sums.cache * itemsize}


def kv_bytes(config: ModelConfig, tokens: int = 1, itemsize: int = 4) -> int:
    """Keys and values that a decoder keeps for `tokens` tokens: 2 · layers · kv_heads · d_k each."""
    guard.count("kv_bytes", low=0, tokens=tokens)
    guard.count("kv_bytes", itemsize=itemsize)
    return 2 * config.layers * config.groups * (config.d // config.heads) * tokens * itemsize


def flops_per_token(config: ModelConfig, n: int, causal: bool = False) -> int:
    """Training FLOPs a token of a tied decoder, 6 N + 12 L d n with N parameters without positions (Chowdhery et al.
    2022); with `causal`, half the second term, as a kernel does that skips what the mask hides."""
    guard.kind("flops_per_token", config, "decoder")
    parameters = sum(row.parameters for row in costs(config, n) if row.part != "positions")
    return 6 * parameters + 12 * config.layers * config.d * n // (2 if causal else 1)


def _side(config, vocab, n, batch, head=False, m=None, shared=False):
    d, f, T, bias, L = config.d, config.width, batch * n, int(config.bias), config.layers
    norm = d * (1 if config.rms else 2), 0, T * (d + 1)  # gain and shift; x̂ and one deviation a token
    drop = T * d if config.p else 0

    def attention(keys):  # keys and values from `keys` tokens a sequence
        g, S = d // config.heads * config.groups, batch * keys
        weights = 2 * d * d + 2 * d * g + bias * (2 * d + 2 * g)
        flops = 2 * T * d * 2 * d + 2 * S * d * 2 * g + 2 * 2 * batch * n * keys * d
        # the input, Q, K and V as the scores see them, the weights A, and the heads joined
        return weights, flops, 3 * T * d + 2 * S * d + batch * config.heads * n * keys + drop

    def times(count, part):
        return tuple(count * x for x in part)

    wide = 3 if config.gated else 2
    feed = (wide * d * f + bias * (f + d), 2 * T * wide * d * f, T * d + (5 if config.gated else 3) * T * f + drop)
    rows = []
    if not shared:
        rows.append(Cost("words", vocab * d, 0, drop))
        rows += [Cost("segments", config.segments * d, 0, 0)] if config.segments else []
        rows += [Cost("positions", config.n_max * d, 0, 0)] if config.position == "learned" else []
        rows += [Cost("norm of the embedding", *norm)] if config.embedding_norm else []
    elif config.embedding_norm or drop:
        rows.append(Cost("embedding, shared", 0, 0, drop + (norm[2] if config.embedding_norm else 0)))
    own = list(attention(n))
    if config.position == "relative":
        own[0] += config.heads * (2 * config.max_distance + 1)
    if config.in_attention.startswith("rope"):
        own[2] += 2 * n * d // config.heads  # cosines and sines, of the queries and of the keys
    rows += [Cost("self-attention", *times(L, own)), Cost("norms before or after it", *times(L, norm))]
    if m is not None:
        rows += [Cost("cross-attention", *times(L, attention(m))), Cost("norms of cross-attention", *times(L, norm))]
    rows += [Cost("feed-forward", *times(L, feed)), Cost("norms of feed-forward", *times(L, norm))]
    rows += [Cost("last norm", *norm)] if config.norm_first else []
    rows += [Cost("logits", 0 if config.tied else d * config.vocab, 2 * T * d * config.vocab, T * d)] if head else []
    if m is not None:
        rows.append(Cost("memory", 0, 0, batch * m * d))  # one array, read by every block
    return rows
