"""Chapter 13: translation: pairs as batches, the loss under teacher forcing, and the search for the best sentence."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray as Array

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
    ids_below,
    kind_among,
    log_probabilities,
    marks_differ,
    names,
    words_alone,
)
from byhand.config import ModelConfig
from byhand.metrics import Bleu, corpus_bleu
from byhand.np.generate import decode_forward, init_kv, select_kv
from byhand.np.loss import CrossEntropyCache, cross_entropy_backward, cross_entropy_forward
from byhand.np.mask import padding_mask
from byhand.np.model import EncoderDecoderCache, encoder_decoder_backward, encoder_decoder_forward, encoder_forward
from byhand.np.softmax import log_softmax_forward

IGNORE = -1  # the label where a row is padded: no word, so no loss
Step = Callable[[Array, Array], Array]  # see greedy_search


@checked
def shift_right(targets: Int[Array, "*B n"], bos: Index) -> Int[Array, "*B n"]:
    """What a decoder reads while it writes `targets`: BOS, then each token one place later; the last is never read."""
    at_least("shift_right", 1, **{"tokens of targets": targets.shape[-1]})
    ids_below("shift_right", 1 << 31, targets=targets)
    return np.concatenate([np.full_like(targets[..., :1], bos), targets[..., :-1]], axis=-1)  # (13.2)


@checked
def batch_pairs(pairs: IdPairs, pad: Index, bos: Index, eos: Index) -> dict[str, Array]:
    """(source, target) ids as {source (B, m), source_mask (B, 1, m), inputs (B, n), labels (B, n)}, padded at the end.

    A row of inputs is BOS y_1 … y_k, of labels y_1 … y_k EOS and then IGNORE. No mask hides the padding of the inputs:
    it comes after every word that counts, and the decoder is causal.
    """
    words_alone("batch_pairs", *zip(*pairs, strict=True), pad=pad, bos=bos, eos=eos)
    source, real = _rows([source for source, _ in pairs], pad)
    target, counted = _rows([np.append(target, eos) for _, target in pairs], pad)
    return {"source": source, "source_mask": real, "inputs": np.where(counted[:, 0], shift_right(target, bos), pad),
            "labels": np.where(counted[:, 0], target, IGNORE)}


@checked
def epoch(
    pairs: IdPairs, size: Size, pad: Index, bos: Index, eos: Index, rng: np.random.Generator
) -> list[dict[str, Array]]:
    """Each pair once, `size` a batch: those of similar length together, so that little is padding; batches shuffled."""
    order = sorted(rng.permutation(len(pairs)), key=lambda i: (len(pairs[i][1]), len(pairs[i][0])))
    groups = [order[i : i + size] for i in range(0, len(order), size)]
    return [batch_pairs([pairs[j] for j in groups[i]], pad, bos, eos) for i in rng.permutation(len(groups))]


class TranslationCache(NamedTuple):
    model: EncoderDecoderCache
    loss: CrossEntropyCache


@checked
def translation_loss_forward(
    params: dict,
    batch: dict[str, Array],
    config: ModelConfig,
    smoothing: Share = 0.0,
    rng: np.random.Generator | None = None,
) -> tuple[Float[Array, ""], TranslationCache]:
    """Cross-entropy of each next word given the right words before it: teacher forcing. Padding has no part in it."""
    names("translation_loss", "batch", batch, ["source", "source_mask", "inputs", "labels"])
    logits, model = encoder_decoder_forward(
        batch["source"], batch["inputs"], params, config, batch["source_mask"], rng=rng)
    L, loss = cross_entropy_forward(logits, batch["labels"], smoothing, IGNORE)  # (13.3)
    return L, TranslationCache(model, loss)


@checked
def translation_loss_backward(dL: Float[Array, ""] | float, cache: TranslationCache) -> dict:
    """The gradients of the parameters."""
    return encoder_decoder_backward(cross_entropy_backward(dL, cache.loss), cache.model)  # (13.4)


@checked
def loss_and_grads(
    params: dict, batch: dict[str, Array], rng: np.random.Generator | None, config: ModelConfig, smoothing: Share = 0.0
) -> tuple[Float[Array, ""], dict, int]:
    """The mean loss of a batch, its gradients, and how many words it is the mean of: what a training loop asks for."""
    L, cache = translation_loss_forward(params, batch, config, smoothing, rng)
    return L, translation_loss_backward(1.0, cache), int((batch["labels"] != IGNORE).sum())


class Hypothesis(NamedTuple):
    tokens: list[int]  # without BOS and EOS
    log_p: float  # of all tokens, EOS among them
    finished: bool  # whether EOS came within max_len


@checked
def length_penalty(length: Index, alpha: NonNegative) -> float:
    """((5 + |y|) / 6)^α (Wu et al. 2016), which divides log p: without it every further word makes a sentence worse."""
    return ((5 + length) / 6) ** alpha  # (13.7)


@checked
def greedy_search(step: Step, bos: Index, eos: Index, max_len: Size, sources: Size = 1) -> list[Hypothesis]:
    """For each source the most probable next word (of equals the lowest id), again and again, until it is EOS.

    step(prefixes (r, t), parents (r,)) → log p (r, V) of the next word. A prefix begins with BOS; row i goes on from
    row parents[i] of the call before, in the first call from source i. |y| ≤ max_len, EOS counted.
    """
    marks_differ("greedy_search", bos=bos, eos=eos)
    prefixes, log_p, rows = np.full((sources, 1), bos), np.zeros(sources), np.arange(sources)
    parents, found = rows, {}
    for _ in range(max_len):
        Y = step(prefixes, parents)
        log_probabilities("greedy_search", Y, Array, len(rows), eos)
        word = Y.argmax(axis=-1)
        prefixes, log_p = np.column_stack([prefixes, word]), log_p + Y.max(axis=-1)
        ended = word == eos
        found |= {rows[i]: Hypothesis(prefixes[i, 1:-1].tolist(), float(log_p[i]), True) for i in np.flatnonzero(ended)}
        prefixes, log_p, rows, parents = prefixes[~ended], log_p[~ended], rows[~ended], np.flatnonzero(~ended)
        if not len(rows):
            break
    found |= {r: Hypothesis(y[1:].tolist(), float(p), False) for r, y, p in zip(rows, prefixes, log_p, strict=True)}
    return [found[i] for i in range(sources)]


@checked
def beam_search(
    step: Step, bos: Index, eos: Index, max_len: Size,
    beam: Size = 4, alpha: NonNegative = 0.6, sources: Size = 1, keep: Size = 1,
) -> list[list[Hypothesis]]:
    """For each source the `keep` best sentences found, best first, by log p / length_penalty(|y|, α).

    Each step keeps the `beam` best continuations of a source. One that ends in EOS leaves the beam; a source is done
    when none that lives can still beat the worst of `keep` that have ended. What max_len cuts off ranks behind those.
    Ties go to the better prefix, then to the lower id. With beam = 1 it is `greedy_search`; the step is as there.
    """
    marks_differ("beam_search", bos=bos, eos=eos)
    limit = length_penalty(max_len, alpha)
    prefixes, log_p = np.full((sources, beam, 1), bos), np.full((sources, beam), -np.inf)
    log_p[:, 0], parents = 0, np.arange(sources)
    pools: list[list[tuple[float, Hypothesis]]] = [[] for _ in range(sources)]
    for t in range(1, max_len + 1):
        live = log_p > -np.inf
        Y = step(prefixes[live], parents)
        log_probabilities("beam_search", Y, Array, len(parents), eos)
        total = np.full((*live.shape, Y.shape[1]), -np.inf)
        total[live] = log_p[live][:, None] + Y  # log p of every continuation
        rows = np.zeros(live.shape, np.int64)  # the row of this step in which a place of the beam stood
        rows[live] = np.arange(len(parents))
        total = total.reshape(sources, -1)
        best = _top(total, beam)
        log_p, (place, word) = np.take_along_axis(total, best, axis=1), np.divmod(best, Y.shape[1])
        prefixes = np.take_along_axis(prefixes, place[..., None], axis=1)
        prefixes = np.concatenate([prefixes, word[..., None]], axis=-1)
        for b, k in np.argwhere((word == eos) & (log_p > -np.inf)):
            ended = Hypothesis(prefixes[b, k, 1:-1].tolist(), float(log_p[b, k]), True)
            pools[b] = sorted([*pools[b], (ended.log_p / length_penalty(t, alpha), ended)], key=lambda x: -x[0])[:keep]
        log_p[word == eos] = -np.inf
        for pool, p in zip(pools, log_p, strict=True):
            if len(pool) == keep and p.max() / limit <= pool[-1][0]:  # log p only falls, and divides by limit at most
                p[:] = -np.inf
        parents = np.take_along_axis(rows, place, axis=1)[log_p > -np.inf]
        if not parents.size:
            break
    cut = [[Hypothesis(y[1:].tolist(), float(p), False) for y, p in zip(*rows, strict=True) if p > -np.inf]
           for rows in zip(prefixes, log_p, strict=True)]
    return [([h for _, h in pool] + rest)[:keep] for pool, rest in zip(pools, cut, strict=True)]


@checked
def translation_step(
    source: Int[Array, "B m"], source_mask: Bool[Array, "B 1 m"], params: dict, config: ModelConfig, max_len: Size
) -> Step:
    """The step of a search over a model: the sources are encoded once, and each word costs one pass of one word."""
    kind_among("translation_step", config, "encoder_decoder")
    fits("translation_step", params, config.shapes)
    M, _ = encoder_forward(source, params["encoder"], config, source_mask)
    kv = init_kv(params, config, len(source), max_len, M=M, memory_mask=source_mask)

    def step(prefixes, parents):
        nonlocal kv
        if not np.array_equal(parents, np.arange(len(kv.start))):
            kv = select_kv(kv, parents)
        logits, kv = decode_forward(prefixes[:, -1:], params, config, kv, last=True)
        return log_softmax_forward(logits[:, -1])[0]

    return step


@checked
def translate(
    sources: IdRows, params: dict, config: ModelConfig, pad: Index, bos: Index, eos: Index,
    max_len: Size = 64, beam: Size = 1, alpha: NonNegative = 0.6, size: Size = 64,
) -> list[list[int]]:
    """The best translation found for each source, without EOS; `size` sources of similar length at a time."""
    words_alone("translate", sources, [], pad=pad, bos=bos, eos=eos)
    fits("translate", params, config.shapes)
    order, found = sorted(range(len(sources)), key=lambda i: len(sources[i])), {}
    for rows in (order[i : i + size] for i in range(0, len(order), size)):
        step = translation_step(*_rows([sources[i] for i in rows], pad), params, config, max_len)
        best = beam_search(step, bos, eos, max_len, beam, alpha, len(rows))
        found |= {i: kept[0].tokens for i, kept in zip(rows, best, strict=True)}
    return [found[i] for i in range(len(sources))]


@checked
def translation_bleu(
    pairs: IdPairs, params: dict, config: ModelConfig, pad: Index, bos: Index, eos: Index, **options
) -> tuple[Bleu, list[list[int]]]:
    """BLEU of what `translate` writes, and what that is: each word follows the model's own words, not the reference."""
    found = translate([source for source, _ in pairs], params, config, pad, bos, eos, **options)
    return corpus_bleu(found, [[target.tolist()] for _, target in pairs]), found


def _rows(sentences, pad) -> tuple[Array, Array]:
    """Ids (B, n) padded on the right, and which are real, (B, 1, n)."""
    lengths = [len(sentence) for sentence in sentences]
    real = padding_mask(np.array(lengths), max(lengths))
    ids = np.full((len(lengths), max(lengths)), pad)
    ids[real[:, 0]] = np.concatenate(sentences)
    return ids, real


def _top(x, k):
    """Where the k largest of each row are, the largest first, and of equals the first: (B, k); no full sort."""
    least = np.partition(x, -k, axis=-1)[:, -k, None]
    above, equal = x > least, x == least
    chosen = above | equal & (equal.cumsum(axis=-1) <= k - above.sum(axis=-1, keepdims=True))
    places = chosen.nonzero()[1].reshape(-1, k)
    order = np.argsort(-np.take_along_axis(x, places, axis=-1), axis=-1, kind="stable")
    return np.take_along_axis(places, order, axis=-1)
