"""Chapter 12: generation in PyTorch: the same cache, written to in place, and no gradient kept anywhere."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from byhand.check import IdRows, NonNegative, Size, Wholes, checked, fits, has_room, ids_below, kv_fits, prompts_fit
from byhand.config import ModelConfig
from byhand.np.sample import Mass
from byhand.pt._modules import read
from byhand.pt.attention import fused_attention
from byhand.pt.block import feed_forward
from byhand.pt.embedding import unembed
from byhand.pt.linear import linear
from byhand.pt.model import embed
from byhand.pt.multihead import biased_attention, merge_heads, split_heads
from byhand.pt.position import alibi_bias, relative_bias, rope
from byhand.pt.residual import norm, residual
from byhand.pt.sample import choose


class KVCache(NamedTuple):
    """What a decoder keeps of the tokens so far; see the NumPy half."""

    layers: list[tuple[Tensor, Tensor]]  # keys and values of each block, (B, G, n_max, k); keys as attention meets them
    cross: list[tuple[Tensor, Tensor]] | None  # keys and values of the memory, (B, G, m, k), made once
    memory_mask: Bool[Tensor, "B 1 m"] | None
    start: Int[Tensor, " B"]
    length: int


@torch.inference_mode()
@checked
def init_kv(
    params: dict | nn.Module,
    config: ModelConfig,
    batch: Size,
    n_max: Size,
    start: Int[Tensor, " batch"] | None = None,
    M: Float[Tensor, "batch m d"] | None = None,
    memory_mask: Bool[Tensor, "batch 1 m"] | None = None,
) -> KVCache:
    """Room for n_max tokens in each of `batch` rows, all of it allocated here. Row b has start[b] columns of padding.

    An encoder–decoder needs the memory M that its encoder made, and a padding mask if rows of M are padded.
    """
    kv_fits("init_kv", config, n_max, start, M, memory_mask)
    params = read("init_kv", params)
    fits("init_kv", params, config.shapes)
    decoder, embedding = _decoder(params, config)
    G, E = config.groups, embedding["tokens"]["E"]
    size = (batch, G, n_max, config.d // config.heads)
    blocks = [decoder["blocks"][str(i)] for i in range(config.layers)]
    cross = None if M is None else [tuple(_heads(M, block["cross"], name, G) for name in "kv") for block in blocks]
    start = torch.zeros(batch, dtype=torch.int64, device=E.device) if start is None else start.to(E.device)
    return KVCache([(E.new_zeros(size), E.new_zeros(size)) for _ in blocks], cross, memory_mask, start, 0)


@torch.inference_mode()
@checked
def select_kv(kv: KVCache, rows: Int[Tensor, " b"]) -> KVCache:
    """The cache of these rows, each as often as it is named: a copy, for a beam or for rows that go on."""
    ids_below("select_kv", len(kv.start), rows=rows)

    def pick(pairs):
        return None if pairs is None else [(K[rows], V[rows]) for K, V in pairs]
    mask = None if kv.memory_mask is None else kv.memory_mask[rows]
    return KVCache(pick(kv.layers), pick(kv.cross), mask, kv.start[rows], kv.length)


@torch.inference_mode()
@checked
def decode(
    ids: Int[Tensor, "B t"], params: dict | nn.Module, config: ModelConfig, kv: KVCache, last: bool = False
) -> tuple[Float[Tensor, "B n V"], KVCache]:
    """Logits after each of t new tokens, or after the `last` alone, and the cache with them in it.

    The new cache has the tensors of the old one, which stays right for the tokens that it had.
    """
    decoder, embedding = _decoder(read("decode", params), config)
    has_room("decode", ids.shape[1], kv.length, kv.layers[0][0].shape[2])
    columns = torch.arange(kv.length, kv.length + ids.shape[1], device=ids.device)
    places = (columns - kv.start[:, None]).clamp(min=0)  # where each token stands in its own row
    keys = torch.arange(kv.length + ids.shape[1], device=ids.device)
    # Up to itself and from the row's first token on; padding sees itself alone: a row without a key may become NaN.
    mask = (keys <= columns[:, None]) & (keys >= torch.minimum(kv.start[:, None], columns)[..., None])
    X = embed(ids, embedding, config, positions=places)
    joined = config.norm_first, config.residual, config.alpha, config.eps
    for i in range(config.layers):
        block = decoder["blocks"][str(i)]

        def attend(Y, i=i, block=block):
            return _self_attention(Y, block["attention"], config, kv.layers[i], kv.length, places, mask)

        def cross_attend(Y, i=i, block=block):
            Q = _heads(Y, block["cross"], "q", config.heads)
            return _attention(Q, *kv.cross[i], block["cross"], kv.memory_mask)

        def feed(Y, block=block):
            return feed_forward(Y, block["ff"], config.activation)

        X = residual(X, block["norm_1"], attend, *joined)
        if kv.cross is not None:
            X = residual(X, block["norm_c"], cross_attend, *joined)
        X = residual(X, block["norm_2"], feed, *joined)
    X = X[:, -1:] if last else X
    H = norm(X, decoder["norm"], config.eps) if config.norm_first else X
    logits = unembed(H, embedding["tokens"]["E"]) if config.tied else linear(H, decoder["head"]["W"])
    return logits, kv._replace(length=len(keys))


@checked
def generate(
    prompts: IdRows,
    params: dict | nn.Module,
    config: ModelConfig,
    steps: Size,
    *,
    temperature: NonNegative = 1.0,
    top_k: Size | None = None,
    top_p: Mass | None = None,
    stop: Wholes = (),
    rng: torch.Generator | None = None,
    M: Float[Tensor, "B m d"] | None = None,
    memory_mask: Bool[Tensor, "B 1 m"] | None = None,
) -> list[Int[Tensor, " _"]]:
    """For each prompt its new tokens: `steps` of them, or fewer where a word of `stop` came, which is left out.

    Prompts are rows of ids, of any lengths: lists, arrays or tensors; one row alone is a batch of one. `params` are a
    tree, or a module that holds one; new tokens are where they are.
    Temperature 0 is greedy; otherwise temperature, then top_k, then top_p act on the logits, and `rng` draws.
    """
    new = list(stream(prompts, params, config, steps, temperature=temperature, top_k=top_k, top_p=top_p, stop=stop,
                      rng=rng, M=M, memory_mask=memory_mask))
    if not new:
        E = _decoder(read("generate", params), config)[1]["tokens"]["E"]
        return list(torch.zeros(len(prompts), 0, dtype=torch.int64, device=E.device))
    rows = torch.stack(new, dim=1)
    return [row[row >= 0] for row in rows]


@checked
def stream(
    prompts: IdRows,
    params: dict | nn.Module,
    config: ModelConfig,
    steps: Size,
    *,
    temperature: NonNegative = 1.0,
    top_k: Size | None = None,
    top_p: Mass | None = None,
    stop: Wholes = (),
    rng: torch.Generator | None = None,
    M: Float[Tensor, "B m d"] | None = None,
    memory_mask: Bool[Tensor, "B 1 m"] | None = None,
) -> Iterator[Int[Tensor, " B"]]:
    """What `generate` returns, a column at a time: (B,) words, −1 in a row that has ended, until all have."""
    prompts_fit("stream", config, prompts, steps, stop)
    if temperature > 0 and rng is None:
        raise TypeError("stream: rng is None, expected a torch Generator unless temperature is 0")
    params, n = read("stream", params), max(map(len, prompts))
    start = torch.tensor([n - len(prompt) for prompt in prompts], device="cpu")
    kv = init_kv(params, config, len(prompts), n + steps - 1, start, M, memory_mask)
    device = kv.start.device
    ids = torch.tensor(np.stack([np.pad(prompt, (n - len(prompt), 0)) for prompt in prompts]), device=device)
    filters, ends = (temperature, top_k, top_p), torch.tensor(stop, dtype=ids.dtype, device=device)

    def words(ids, kv):
        ended = torch.zeros(len(prompts), dtype=torch.bool, device=device)
        for _ in range(steps):
            logits, kv = decode(ids, params, config, kv, last=True)
            u = _uniform(len(prompts), rng, device) if temperature > 0 else None
            new = choose(logits[:, -1], u, *filters)
            ended = ended | torch.isin(new, ends)  # a row that has ended writes on, and nobody reads it
            if stop and ended.all():  # the device waits here, so only where a row can end
                return
            yield new.masked_fill(ended, -1)
            ids = new[:, None]

    return words(ids, kv)


def _uniform(batch, rng, device):
    """Numbers in [0, 1) from wherever the generator lives, so that a seed gives the same ones for every device."""
    return torch.rand(batch, dtype=torch.float64, generator=rng, device=rng.device).to(device)


def _decoder(params, config):
    """The decoder's own tree, and the embedding that it reads, which may be the encoder's."""
    if config.kind == "decoder":
        return params, params["embedding"]
    return params["decoder"], params["encoder" if config.source_vocab is None else "decoder"]["embedding"]


def _heads(X, params, name, heads):
    return split_heads(linear(X, params[f"W_{name}"], params.get(f"b_{name}")), heads)


def _self_attention(Y, params, config, store, length, places, mask):
    """New queries against all keys so far; the new keys and values go into the store first."""
    t, m = Y.shape[1], length + Y.shape[1]
    Q = _heads(Y, params, "q", config.heads)
    K, V = (_heads(Y, params, name, config.groups) for name in "kv")
    if config.position in ("rope", "rope_half"):
        pairs = {"positions": places[:, None], "rope_theta": config.rope_theta,
                 "interleaved": config.position == "rope"}
        Q, K = rope(Q, **pairs), rope(K, **pairs)  # a key is turned once, by its own place
    for old, new in zip(store, (K, V), strict=True):
        old[:, :, length:m] = new
    bias = None  # of distances, which padding on the left leaves as they are
    if config.position == "relative":
        bias = relative_bias(params["table"], t, m, length)
    if config.position == "alibi":
        bias = alibi_bias(config.heads, t, m, length, device=Y.device)
    return _attention(Q, store[0][:, :, :m], store[1][:, :, :m], params, mask, bias)


def _attention(Q, K, V, params, mask, bias=None):
    """Heads that share keys become more queries of one head, so that no key is copied."""
    B, H, t, k = Q.shape
    G, m = K.shape[1:3]
    share = H // G  # heads that read the same keys
    Q = Q.reshape(B, G, share * t, k)
    if mask is not None:
        mask = mask.expand(B, t, m)
        mask = mask.repeat(1, share, 1)[:, None]  # every head sees what the token sees
    if bias is None:
        Z = fused_attention(Q, K, V, mask)
    else:
        Z = biased_attention(Q, K, V, bias.reshape(G, share * t, m).to(Q.dtype), mask)
    Z = merge_heads(Z.reshape(B, H, t, k))
    return linear(Z, params["W_o"], params.get("b_o"))
