"""Chapter 12: how a decoder writes: word by word, with a cache that makes every word cost the same."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray as Array

from byhand.check import (
    IdRows,
    NonNegative,
    Size,
    ValuesTrusted,
    Wholes,
    checked,
    finite,
    fits,
    has_room,
    ids_below,
    kv_fits,
    prompts_fit,
)
from byhand.config import ModelConfig
from byhand.np.attention import attention_forward
from byhand.np.block import feed_forward_forward
from byhand.np.embedding import unembed_forward
from byhand.np.linear import linear_forward
from byhand.np.model import embed_forward
from byhand.np.multihead import biased_attention_forward, merge_heads, split_heads
from byhand.np.position import alibi_bias, relative_bias_forward, rope_forward
from byhand.np.residual import norm_forward, residual_forward
from byhand.np.sample import Mass, choose


class KVCache(NamedTuple):
    """What a decoder keeps of the tokens so far, so that a new token costs one pass of one token.

    Columns 0 … length − 1 are filled. Prompts of different lengths end in one column: row b begins in start[b].
    """

    layers: list[tuple[Array, Array]]  # keys and values of each block, (B, G, n_max, k); keys as attention meets them
    cross: list[tuple[Array, Array]] | None  # keys and values of the memory, (B, G, m, k), made once
    memory_mask: Bool[Array, "B 1 m"] | None
    start: Int[Array, " B"]
    length: int


@checked
def init_kv(
    params: dict,
    config: ModelConfig,
    batch: Size,
    n_max: Size,
    start: Int[Array, " batch"] | None = None,
    M: Float[Array, "batch m d"] | None = None,
    memory_mask: Bool[Array, "batch 1 m"] | None = None,
) -> KVCache:
    """Room for n_max tokens in each of `batch` rows, all of it allocated here. Row b has start[b] columns of padding.

    An encoder–decoder needs the memory M that its encoder made, and a padding mask if rows of M are padded.
    """
    kv_fits("init_kv", config, n_max, start, M, memory_mask)
    fits("init_kv", params, config.shapes)
    decoder, embedding = _decoder(params, config)
    G, dtype = config.groups, embedding["tokens"]["E"].dtype
    size = (batch, G, n_max, config.d // config.heads)
    blocks = [decoder["blocks"][str(i)] for i in range(config.layers)]
    cross = None if M is None else [tuple(_heads(M, block["cross"], name, G) for name in "kv") for block in blocks]
    start = np.zeros(batch, np.int64) if start is None else start
    return KVCache([(np.zeros(size, dtype), np.zeros(size, dtype)) for _ in blocks], cross, memory_mask, start, 0)


@checked
def select_kv(kv: KVCache, rows: Int[Array, " b"]) -> KVCache:
    """The cache of these rows, each as often as it is named: a copy, for a beam or for rows that go on."""
    ids_below("select_kv", len(kv.start), rows=rows)

    def pick(pairs):
        return None if pairs is None else [(K[rows], V[rows]) for K, V in pairs]
    mask = None if kv.memory_mask is None else kv.memory_mask[rows]
    return KVCache(pick(kv.layers), pick(kv.cross), mask, kv.start[rows], kv.length)


@checked
def decode_forward(
    ids: Int[Array, "B t"], params: dict, config: ModelConfig, kv: KVCache, last: bool = False
) -> tuple[Float[Array, "B n V"], KVCache]:
    """Logits after each of t new tokens, or after the `last` alone, and the cache with them in it.

    Equal to `decoder_forward` over all tokens so far. The new cache has the arrays of the old one, which stays right
    for the tokens that it had: going back to it undoes the step.
    """
    decoder, embedding = _decoder(params, config)
    has_room("decode", ids.shape[1], kv.length, kv.layers[0][0].shape[2])
    columns = np.arange(kv.length, kv.length + ids.shape[1])
    places = np.maximum(columns - kv.start[:, None], 0)  # (12.13) where each token stands in its own row
    keys = np.arange(columns[-1] + 1)
    # Up to itself and from the row's first token on; padding sees itself alone, so that it has something to see.
    mask = (keys <= columns[:, None]) & (keys >= np.minimum(kv.start[:, None], columns)[..., None])  # (12.14)
    with ValuesTrusted():  # every weight is read for every token; the logits are looked at instead
        H = _run(ids, decoder, embedding, config, kv, places, None if mask.all() else mask, last)
        E, W = embedding["tokens"]["E"], decoder.get("head", {}).get("W")
        logits, _ = unembed_forward(H, E) if config.tied else linear_forward(H, W)
    finite("decode", "logits", logits)
    return logits, kv._replace(length=len(keys))


def _run(ids, decoder, embedding, config, kv, places, mask, last):
    """The blocks over new tokens, whose keys and values go into kv; tokens before the logits."""
    X, _ = embed_forward(ids, embedding, config, positions=places)
    joined = config.norm_first, config.residual, config.alpha, config.eps
    for i in range(config.layers):
        block = decoder["blocks"][str(i)]

        def attend(Y, i=i, block=block):
            return _self_attention(Y, block["attention"], config, kv.layers[i], kv.length, places, mask), None

        def cross_attend(Y, i=i, block=block):
            Q = _heads(Y, block["cross"], "q", config.heads)
            return _attention(Q, *kv.cross[i], block["cross"], kv.memory_mask), None

        def feed(Y, block=block):
            return feed_forward_forward(Y, block["ff"], config.activation)

        X, _ = residual_forward(X, block["norm_1"], attend, *joined)
        if kv.cross is not None:
            X, _ = residual_forward(X, block["norm_c"], cross_attend, *joined)
        X, _ = residual_forward(X, block["norm_2"], feed, *joined)
    X = X[:, -1:] if last else X
    return norm_forward(X, decoder["norm"], config.eps)[0] if config.norm_first else X


@checked
def generate(
    prompts: IdRows,
    params: dict,
    config: ModelConfig,
    steps: Size,
    *,
    temperature: NonNegative = 1.0,
    top_k: Size | None = None,
    top_p: Mass | None = None,
    stop: Wholes = (),
    rng: np.random.Generator | None = None,
    M: Float[Array, "B m d"] | None = None,
    memory_mask: Bool[Array, "B 1 m"] | None = None,
) -> list[Int[Array, " _"]]:
    """For each prompt its new tokens: `steps` of them, or fewer where a word of `stop` came, which is left out.

    Prompts are rows of ids, of any lengths: lists or arrays; one row alone is a batch of one.
    Temperature 0 is greedy; otherwise temperature, then top_k, then top_p act on the logits, and `rng` draws.
    """
    new = list(stream(prompts, params, config, steps, temperature=temperature, top_k=top_k, top_p=top_p, stop=stop,
                      rng=rng, M=M, memory_mask=memory_mask))
    rows = np.array(new, np.int64).reshape(-1, len(prompts)).T
    return [row[row >= 0] for row in rows]


@checked
def stream(
    prompts: IdRows,
    params: dict,
    config: ModelConfig,
    steps: Size,
    *,
    temperature: NonNegative = 1.0,
    top_k: Size | None = None,
    top_p: Mass | None = None,
    stop: Wholes = (),
    rng: np.random.Generator | None = None,
    M: Float[Array, "B m d"] | None = None,
    memory_mask: Bool[Array, "B 1 m"] | None = None,
) -> Iterator[Int[Array, " B"]]:
    """What `generate` returns, a column at a time: (B,) words, −1 in a row that has ended, until all have."""
    prompts_fit("stream", config, prompts, steps, stop)
    if temperature > 0 and rng is None:
        raise TypeError("stream: rng is None, expected a NumPy Generator unless temperature is 0")
    n = max(map(len, prompts))
    ids = np.stack([np.pad(prompt, (n - len(prompt), 0)) for prompt in prompts])
    start = np.array([n - len(prompt) for prompt in prompts])
    kv = init_kv(params, config, len(prompts), n + steps - 1, start, M, memory_mask)
    filters = temperature, top_k, top_p

    def words(ids, kv):
        ended = np.zeros(len(prompts), bool)
        for _ in range(steps):
            logits, kv = decode_forward(ids, params, config, kv, last=True)
            u = rng.random(len(prompts)) if temperature > 0 else None
            new = choose(logits[:, -1], u, *filters)
            ended = ended | np.isin(new, stop)  # a row that has ended writes on, and nobody reads it
            if ended.all():
                return
            yield np.where(ended, -1, new)
            ids = new[:, None]

    return words(ids, kv)


def _decoder(params, config):
    """The decoder's own tree, and the embedding that it reads, which may be the encoder's."""
    if config.kind == "decoder":
        return params, params["embedding"]
    return params["decoder"], params["encoder" if config.source_vocab is None else "decoder"]["embedding"]


def _heads(X, params, name, heads):
    return split_heads(linear_forward(X, params[f"W_{name}"], params.get(f"b_{name}"))[0], heads)


def _self_attention(Y, params, config, store, length, places, mask):
    """New queries against all keys so far; the new keys and values go into the store first."""
    t, m = Y.shape[1], length + Y.shape[1]
    Q = _heads(Y, params, "q", config.heads)
    K, V = (_heads(Y, params, name, config.groups) for name in "kv")
    if config.position in ("rope", "rope_half"):  # a key is turned once, by its own place
        turned, _ = rope_forward(np.concatenate([Q, K], axis=1), places[:, None], rope_theta=config.rope_theta,
                                 interleaved=config.position == "rope")
        Q, K = turned[:, :config.heads], turned[:, config.heads:]
    for old, new in zip(store, (K, V), strict=True):
        old[:, :, length:m] = new
    bias = None  # of distances, which padding on the left leaves as they are
    if config.position == "relative":
        bias, _ = relative_bias_forward(params["table"], t, m, length)
    if config.position == "alibi":
        bias = alibi_bias(config.heads, t, m, length)
    return _attention(Q, store[0][:, :, :m], store[1][:, :, :m], params, mask, bias)


def _attention(Q, K, V, params, mask, bias=None):
    """Heads that share keys become more queries of one head, so that no key is copied."""
    B, H, t, k = Q.shape
    G, m = K.shape[1:3]
    share = H // G  # heads that read the same keys
    Q = Q.reshape(B, G, share * t, k)
    if mask is not None:
        mask = np.broadcast_to(mask, (B, t, m))
        mask = np.tile(mask, (1, share, 1))[:, None]  # every head sees what the token sees
    if bias is None:
        Z, _ = attention_forward(Q, K, V, mask)
    else:
        bias = bias.reshape(G, share * t, m).astype(Q.dtype, copy=False)
        Z, _ = biased_attention_forward(Q, K, V, bias, mask)
    Z = merge_heads(Z.reshape(B, H, t, k))
    return linear_forward(Z, params["W_o"], params.get("b_o"))[0]
