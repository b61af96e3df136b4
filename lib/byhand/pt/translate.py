"""Chapter 13: translation in PyTorch: the loss under teacher forcing, and searches that stay on the device.

Parameters are the tree of the NumPy half, or, where nothing is learnt, a module that holds one.
"""

import math
from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from byhand import tree
from byhand.check import (
    IdPairs,
    IdRows,
    Index,
    NonNegative,
    Share,
    Size,
    at_least,
    checked,
    fits,
    kind_among,
    log_probabilities,
    marks_differ,
    names,
    words_alone,
)
from byhand.config import ModelConfig
from byhand.metrics import Bleu, corpus_bleu
from byhand.np import translate as numpy_half
from byhand.np.translate import IGNORE, Hypothesis, length_penalty
from byhand.pt._modules import read
from byhand.pt.generate import decode, init_kv, select_kv
from byhand.pt.loss import cross_entropy
from byhand.pt.mask import padding_mask
from byhand.pt.model import encoder, encoder_decoder

__all__ = ["IGNORE", "Hypothesis", "batch_pairs", "beam_search", "epoch", "greedy_search", "length_penalty",
           "loss_and_weight", "shift_right", "translate", "translation_bleu", "translation_loss", "translation_step"]
Step = Callable[[Tensor, Tensor], Tensor]  # see greedy_search


@checked
def shift_right(targets: Int[Tensor, "*B n"], bos: Index) -> Int[Tensor, "*B n"]:
    """What a decoder reads while it writes `targets`: BOS, then each token one place later; the last is never read."""
    at_least("shift_right", 1, **{"tokens of targets": targets.shape[-1]})
    return torch.cat([torch.full_like(targets[..., :1], bos), targets[..., :-1]], dim=-1)


@checked
def batch_pairs(pairs: IdPairs, pad: Index, bos: Index, eos: Index, device=None) -> dict[str, Tensor]:
    """The batch of the NumPy half, made there, as tensors on `device`."""
    return tree.to_torch(numpy_half.batch_pairs(pairs, pad, bos, eos), device)


@checked
def epoch(
    pairs: IdPairs, size: Size, pad: Index, bos: Index, eos: Index, rng: np.random.Generator, device=None
) -> list[dict[str, Tensor]]:
    """The epoch of the NumPy half, as tensors on `device`: one rng gives both halves the same batches."""
    return [tree.to_torch(batch, device) for batch in numpy_half.epoch(pairs, size, pad, bos, eos, rng)]


@checked
def translation_loss(
    params: dict, batch: dict[str, Tensor], config: ModelConfig, smoothing: Share = 0.0, training: bool = False
) -> Float[Tensor, ""]:
    """Cross-entropy of each next word given the right words before it: teacher forcing. Padding has no part in it."""
    names("translation_loss", "batch", batch, ["source", "source_mask", "inputs", "labels"])
    logits = encoder_decoder(
        batch["source"], batch["inputs"], params, config, batch["source_mask"], training=training)
    return cross_entropy(logits, batch["labels"], smoothing, IGNORE)


@checked
def loss_and_weight(
    model: nn.Module, batch: dict[str, Tensor], smoothing: Share = 0.0
) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
    """The mean loss of a batch under a module, compiled or not, and how many words it is the mean of."""
    logits = model(batch["source"], batch["inputs"], batch["source_mask"])
    return cross_entropy(logits, batch["labels"], smoothing, IGNORE), (batch["labels"] != IGNORE).sum()


@torch.inference_mode()
@checked
def greedy_search(
    step: Step, bos: Index, eos: Index, max_len: Size, sources: Size = 1, device=None
) -> list[Hypothesis]:
    """For each source the most probable next word (of equals the lowest id), again and again, until it is EOS.

    step(prefixes (r, t), parents (r,)) → log p (r, V) of the next word. A prefix begins with BOS; row i goes on from
    row parents[i] of the call before, in the first call from source i. |y| ≤ max_len, EOS counted.
    """
    marks_differ("greedy_search", bos=bos, eos=eos)
    prefixes = torch.full((sources, 1), bos, device=device)
    log_p = torch.zeros(sources, dtype=torch.float64, device=device)
    parents = rows = torch.arange(sources, device=device)
    found: dict[int, Hypothesis] = {}
    for _ in range(max_len):
        Y = step(prefixes, parents)
        log_probabilities("greedy_search", Y, Tensor, len(rows), eos)
        gain, word = Y.max(dim=-1).values, Y.argmax(dim=-1)  # argmax promises the first of equals, max does not
        prefixes, log_p = torch.cat([prefixes, word[:, None]], dim=-1), log_p + gain
        ended = word == eos
        if ended.any():
            found |= _hypotheses(rows[ended], prefixes[ended, 1:-1], log_p[ended], True)
        prefixes, log_p, rows, parents = prefixes[~ended], log_p[~ended], rows[~ended], (~ended).nonzero()[:, 0]
        if not len(rows):
            break
    found |= _hypotheses(rows, prefixes[:, 1:], log_p, False)
    return [found[i] for i in range(sources)]


@torch.inference_mode()
@checked
def beam_search(
    step: Step, bos: Index, eos: Index, max_len: Size,
    beam: Size = 4, alpha: NonNegative = 0.6, sources: Size = 1, keep: Size = 1,
    device=None,
) -> list[list[Hypothesis]]:
    """For each source the `keep` best sentences found, best first, by log p / length_penalty(|y|, α).

    See the NumPy half. Sums are float64 here too; what the bookkeeping needs crosses to the CPU once a word.
    """
    marks_differ("beam_search", bos=bos, eos=eos)
    limit = length_penalty(max_len, alpha)
    prefixes = torch.full((sources, beam, 1), bos, device=device)
    log_p = torch.full((sources, beam), -torch.inf, dtype=torch.float64, device=device)
    log_p[:, 0], parents = 0, torch.arange(sources, device=device)
    live = log_p > -torch.inf
    pools: list[list[tuple[float, Hypothesis]]] = [[] for _ in range(sources)]
    for t in range(1, max_len + 1):
        Y = step(prefixes[live], parents)
        log_probabilities("beam_search", Y, Tensor, len(parents), eos)
        total = log_p.new_full((*live.shape, Y.shape[-1]), -torch.inf)
        total[live] = log_p[live][:, None] + Y  # log p of every continuation
        rows = torch.zeros_like(live, dtype=torch.int64)  # the row of this step in which a place of the beam stood
        rows[live] = torch.arange(len(parents), device=device)
        best = _top(total.reshape(sources, -1), beam)
        log_p, place, word = total.reshape(sources, -1).gather(-1, best), best // Y.shape[-1], best % Y.shape[-1]
        prefixes = torch.cat([prefixes[torch.arange(sources, device=device)[:, None], place], word[..., None]], dim=-1)
        ended = (word == eos) & (log_p > -torch.inf)
        log_p, left = log_p.masked_fill(word == eos, -torch.inf), log_p[ended].tolist()
        for (b, _), y, p in zip(ended.nonzero().tolist(), prefixes[ended, 1:-1].tolist(), left, strict=True):
            new = (p / length_penalty(t, alpha), Hypothesis(y, p, True))
            pools[b] = sorted([*pools[b], new], key=lambda x: -x[0])[:keep]
        worst = [pool[-1][0] if len(pool) == keep else -math.inf for pool in pools]
        done = log_p.amax(dim=-1) / limit <= log_p.new_tensor(worst)  # log p only falls, and divides by limit at most
        log_p = log_p.masked_fill(done[:, None], -torch.inf)
        live = log_p > -torch.inf
        parents = rows.gather(1, place)[live]
        if not len(parents):
            break
    cut = [[Hypothesis(y[1:], p, False) for y, p in zip(*rows, strict=True) if p > -math.inf]
           for rows in zip(prefixes.tolist(), log_p.tolist(), strict=True)]
    return [([h for _, h in pool] + rest)[:keep] for pool, rest in zip(pools, cut, strict=True)]


@checked
def translation_step(
    source: Int[Tensor, "B m"],
    source_mask: Bool[Tensor, "B 1 m"],
    params: dict | nn.Module,
    config: ModelConfig,
    max_len: Size,
) -> Step:
    """The step of a search over a model: the sources are encoded once, and each word costs one pass of one word."""
    params = read("translation_step", params)
    kind_among("translation_step", config, "encoder_decoder")
    fits("translation_step", params, config.shapes)
    with torch.inference_mode():
        M = encoder(source, params["encoder"], config, source_mask)
        kv = init_kv(params, config, len(source), max_len, M=M, memory_mask=source_mask)

    @torch.inference_mode()
    def step(prefixes, parents):
        nonlocal kv
        kv = select_kv(kv, parents)
        logits, kv = decode(prefixes[:, -1:], params, config, kv, last=True)
        return torch.log_softmax(logits[:, -1].to(torch.promote_types(logits.dtype, torch.float32)), dim=-1)

    return step


@checked
def translate(
    sources: IdRows, params: dict | nn.Module, config: ModelConfig, pad: Index, bos: Index, eos: Index,
    max_len: Size = 64, beam: Size = 1, alpha: NonNegative = 0.6, size: Size = 64,
) -> list[list[int]]:
    """The best translation found for each source, without EOS; `size` sources of similar length at a time."""
    params = read("translate", params)
    words_alone("translate", sources, [], pad=pad, bos=bos, eos=eos)
    fits("translate", params, config.shapes)
    order, found = sorted(range(len(sources)), key=lambda i: len(sources[i])), {}
    device = next(iter(tree.flatten(params).values())).device
    for rows in (order[i : i + size] for i in range(0, len(order), size)):
        step = translation_step(*_rows([sources[i] for i in rows], pad, device), params, config, max_len)
        best = beam_search(step, bos, eos, max_len, beam, alpha, len(rows), device=device)
        found |= {i: kept[0].tokens for i, kept in zip(rows, best, strict=True)}
    return [found[i] for i in range(len(sources))]


@checked
def translation_bleu(
    pairs: IdPairs, params: dict | nn.Module, config: ModelConfig, pad: Index, bos: Index, eos: Index, **options
) -> tuple[Bleu, list[list[int]]]:
    """BLEU of what `translate` writes, and what that is: each word follows the model's own words, not the reference."""
    found = translate([source for source, _ in pairs], params, config, pad, bos, eos, **options)
    return corpus_bleu(found, [[target.tolist()] for _, target in pairs]), found


def _rows(sentences, pad, device):
    """Ids (B, n) padded on the right, and which are real, (B, 1, n)."""
    lengths = [len(sentence) for sentence in sentences]
    ids = [[*map(int, sentence)] + [pad] * (max(lengths) - len(sentence)) for sentence in sentences]
    return torch.tensor(ids, device=device), padding_mask(torch.tensor(lengths, device=device), max(lengths))


def _hypotheses(rows, tokens, log_p, finished) -> dict[int, Hypothesis]:
    return {i: Hypothesis(y, p, finished)
            for i, y, p in zip(rows.tolist(), tokens.tolist(), log_p.tolist(), strict=True)}


def _top(x, k):
    """Where the k largest of each row are, the largest first, and of equals the first: (B, k). topk promises no order
    of equals, so it gives the values alone; the places are those above the last of them, and the first that equal it.
    """
    least = x.topk(k, dim=-1).values[:, -1:]
    above, equal = x > least, x == least
    chosen = above | equal & (equal.cumsum(dim=-1) <= k - above.sum(dim=-1, keepdim=True))
    places = torch.arange(x.shape[-1], device=x.device).expand_as(x).masked_fill(~chosen, x.shape[-1])
    places = places.topk(k, dim=-1, largest=False).values.sort(dim=-1).values
    return places.gather(-1, x.gather(-1, places).sort(dim=-1, descending=True, stable=True).indices)
