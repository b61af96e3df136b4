"""Chapter 14: pre-training an encoder on hidden words and on sentence pairs: the data, the heads, the joint loss.

A batch is a dict: ids and segments (B, n), mask (B, 1, n), targets (B, n), labels (B). `pretrain_loss_and_grads` fits
the training loop of chapter 11 once its config is given.
"""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

from byhand.check import Above, AtLeast, AtMost, Index, NonNegative, Params, Share, Size, checked, ids_below, needs
from byhand.config import ModelConfig
from byhand.np.block import activation_backward, activation_forward, dropout_backward, dropout_forward
from byhand.np.embedding import UnembedCache, unembed_backward, unembed_forward
from byhand.np.linear import LinearCache, linear_backward, linear_forward
from byhand.np.loss import CrossEntropyCache, cross_entropy_backward, cross_entropy_forward
from byhand.np.mask import padding_mask
from byhand.np.model import EncoderCache, encoder_backward, encoder_forward
from byhand.np.norm import NormCache, layer_norm_backward, layer_norm_forward

Rate = Annotated[float, Above(0), AtMost(1)]
MLM = {"W": "d d", "b": "d", "norm": {"gamma": "d", "beta": "d"}, "bias": "V"}
POOL = {"W": "d d", "b": "d"}
CLASSIFY = {"W": "d C", "b": "C"}
IGNORE = -1  # target of a token that is not to be predicted
HIDE, REPLACE = 0.8, 0.1  # shares of the chosen words that become [MASK], or a random word; the rest stay


@checked
def mask_tokens(
    rng: np.random.Generator,
    ids: Int[Array, "*B n"],
    mask_id: Index,
    vocab: Size,
    rate: Rate = 0.15,
    special: tuple[Index, ...] = (),
) -> tuple[Int[Array, "*B n"], Int[Array, "*B n"]]:
    """Inputs and targets of the masked-word task (Devlin et al. 2019). The share `rate` of the ordinary words of each
    sequence is chosen, at least one: 80 % become `mask_id`, 10 % a random ordinary word, 10 % stay. A target is the
    chosen word, or IGNORE. Ids in `special`, such as padding, are never chosen and never put in."""
    ids_below("mask_tokens", vocab, ids=ids)
    barred = barred_ids(mask_id, special, vocab)
    free = ~np.isin(ids, barred)
    if not free.any():
        raise ValueError(f"mask_tokens: ids holds {ids.size} special ids and no other, expected a word to hide")
    quota = np.maximum(1, np.floor(rate * free.sum(axis=-1, keepdims=True) + 0.5))  # (14.1)
    order = np.where(free, rng.random(ids.shape), 2)  # at random, special ones last
    chosen = free & (order.argsort(axis=-1).argsort(axis=-1) < quota)
    fate, random = rng.random(ids.shape), rng.integers(vocab - len(barred), size=ids.shape)
    for i in barred:
        random += random >= i  # the ordinary words are numbered past the others
    changed = np.where(fate < HIDE, mask_id, np.where(fate < HIDE + REPLACE, random, ids))  # (14.2)
    return np.where(chosen, changed, ids), np.where(chosen, ids, IGNORE)


@checked
def barred_ids(mask_id: int, special: tuple, vocab: int) -> list[int]:
    """The ids that are no ordinary words, in order; some words must be left."""
    barred = sorted({mask_id, *special})
    if barred[-1] >= vocab:
        raise ValueError(f"mask_tokens: mask_id and special hold {barred[-1]}, expected less than vocab, {vocab}")
    if len(barred) == vocab:
        raise ValueError(f"mask_tokens: all {vocab} ids are special, expected an ordinary word")
    return barred


@checked
def sentence_pairs(
    rng: np.random.Generator,
    documents: Sequence,
    count: Size,
    n_max: Annotated[int, AtLeast(5)],
    *,
    cls: Index,
    sep: Index,
    pad: Index,
) -> dict[str, Array]:
    """A batch {ids, segments, mask, labels} of `count` pairs [CLS] a [SEP] b [SEP]; documents are lists of sentences,
    sentences lists of ids. In half of them b follows a (label 1), else b is from another document (label 0). a is never
    a last sentence and b never a first one, so neither alone tells. A pair too long loses the end of its longer side,
    or of both where both have more than half of the room.
    """
    bounds = np.cumsum([0, *(max(0, len(document) - 1) for document in documents)])  # neighbours before each
    if (usable := np.count_nonzero(np.diff(bounds))) < 2:
        raise ValueError(f"sentence_pairs: documents holds {usable} of two sentences or more, expected at least 2")

    def place(k):
        i = int(np.searchsorted(bounds, k, side="right")) - 1
        return i, k - int(bounds[i])

    labels, pairs = rng.permutation(np.arange(count) % 2), []
    for label in labels:
        i, j = place(int(rng.integers(bounds[-1])))
        a, b = documents[i][j], documents[i][j + 1]
        if not label:
            own = int(bounds[i + 1] - bounds[i])
            k = int(rng.integers(bounds[-1] - own))
            i, j = place(k + own * (k >= bounds[i]))  # over the document of a
            b = documents[i][j + 1]
        if not (len(a) and len(b)):
            raise ValueError("sentence_pairs: documents holds a sentence of 0 words, expected at least 1")
        room = n_max - 3
        a = a[: max(room - len(b), (room + 1) // 2)]
        pairs.append(([cls, *a, sep], [*b[: room - len(a)], sep]))
    n = int((lengths := np.array([len(a) + len(b) for a, b in pairs])).max())
    ids, segments = np.full((count, n), pad), np.zeros((count, n), int)
    for k, (a, b) in enumerate(pairs):
        ids[k, : lengths[k]], segments[k, len(a) : lengths[k]] = a + b, 1
    return {"ids": ids, "segments": segments, "mask": padding_mask(lengths, n), "labels": labels}


class MlmHeadCache(NamedTuple):
    linear: LinearCache
    activation: tuple
    norm: NormCache
    unembed: UnembedCache


@checked
def mlm_head_forward(
    H: Float[Array, "*B d"], params: Params(Array, MLM), E: Float[Array, "V d"], eps: NonNegative = 1e-5
) -> tuple[Float[Array, "*B V"], MlmHeadCache]:
    """Logits LN(gelu(H W + b)) Eᵀ + bias, with the embedding E again. params {W, b, norm: {gamma, beta}, bias}."""
    S, linear = linear_forward(H, params["W"], params["b"])  # (14.9)
    G, activation = activation_forward(S)  # (14.9)
    N, norm = layer_norm_forward(G, params["norm"]["gamma"], params["norm"]["beta"], eps)  # (14.9)
    Z, unembed = unembed_forward(N, E)
    return Z + params["bias"], MlmHeadCache(linear, activation, norm, unembed)  # (14.9)


@checked
def mlm_head_backward(
    dlogits: Float[Array, "*B V"], cache: MlmHeadCache
) -> tuple[Float[Array, "*B d"], dict, Float[Array, "V d"]]:
    """dH, the gradients of the parameters, and dE = Σ dlogitsᵀ n, to be added to that of the look-up."""
    dN, dE = unembed_backward(dlogits, cache.unembed)  # (14.10)
    dG, dgamma, dbeta = layer_norm_backward(dN, cache.norm)
    dH, dW, db = linear_backward(activation_backward(dG, cache.activation), cache.linear)
    dbias = dlogits.reshape(-1, dlogits.shape[-1]).sum(axis=0)  # (14.10)
    return dH, {"W": dW, "b": db, "norm": {"gamma": dgamma, "beta": dbeta}, "bias": dbias}, dE


class PoolCache(NamedTuple):
    linear: LinearCache
    P: Float[Array, "*B d"]
    n: int


@checked
def pool_forward(H: Float[Array, "*B n d"], params: Params(Array, POOL)) -> tuple[Float[Array, "*B d"], PoolCache]:
    """P = tanh(h₀ W + b): the sequence as its first token, [CLS], holds it. params {W, b}."""
    Z, linear = linear_forward(H[..., 0, :], params["W"], params["b"])
    P = np.tanh(Z)  # (14.4)
    return P, PoolCache(linear, P, H.shape[-2])


@checked
def pool_backward(dP: Float[Array, "*B d"], cache: PoolCache) -> tuple[Float[Array, "*B n d"], dict]:
    """dZ = dP ∘ (1 − P²); dH is that of the first token, and zero for the others."""
    linear, P, n = cache
    dh, dW, db = linear_backward(dP * (1 - P * P), linear)  # (14.7)
    dH = np.zeros((*dh.shape[:-1], n, dh.shape[-1]), dh.dtype)
    dH[..., 0, :] = dh  # (14.8)
    return dH, {"W": dW, "b": db}


class ClassifyCache(NamedTuple):
    dropout: tuple
    linear: LinearCache


@checked
def classify_forward(
    P: Float[Array, "*B d"], params: Params(Array, CLASSIFY), p: Share = 0.0, rng: np.random.Generator | None = None
) -> tuple[Float[Array, "*B C"], ClassifyCache]:
    """Logits of C classes: dropout, then a linear map. params {W, b}."""
    D, dropout = dropout_forward(P, p, rng)
    logits, linear = linear_forward(D, params["W"], params["b"])  # (14.5)
    return logits, ClassifyCache(dropout, linear)


@checked
def classify_backward(dlogits: Float[Array, "*B C"], cache: ClassifyCache) -> tuple[Float[Array, "*B d"], dict]:
    """dP and the gradients of the parameters."""
    dD, dW, db = linear_backward(dlogits, cache.linear)  # (0.20)
    return dropout_backward(dD, cache.dropout), {"W": dW, "b": db}


class PretrainCache(NamedTuple):
    encoder: EncoderCache
    mlm: MlmHeadCache
    chosen: Array
    words: CrossEntropyCache
    pool: PoolCache | None = None
    nsp: ClassifyCache | None = None
    pairs: CrossEntropyCache | None = None


@checked
def pretrain_forward(
    params: dict, batch: dict, config: ModelConfig, rng: np.random.Generator | None = None
) -> tuple[Float[Array, ""], PretrainCache]:
    """L = mean over the chosen words + mean over the pairs, of −log p. params {encoder, mlm}; with {pool, nsp} pairs.

    Only the chosen tokens go through the head, which has V logits for each.
    """
    needs("pretrain", "batch", batch, "ids", "mask", "targets")
    segments = batch["segments"] if config.segments else None
    H, encoder = encoder_forward(batch["ids"], params["encoder"], config, batch["mask"], segments, rng)
    chosen, E = batch["targets"] != IGNORE, params["encoder"]["embedding"]["tokens"]["E"]
    logits, mlm = mlm_head_forward(H[chosen], params["mlm"], E, config.eps)
    L, words = cross_entropy_forward(logits, batch["targets"][chosen])  # (14.3)
    if "nsp" not in params:
        return L, PretrainCache(encoder, mlm, chosen, words)
    P, pool = pool_forward(H, params["pool"])
    scores, nsp = classify_forward(P, params["nsp"], config.p, rng)
    L_pairs, pairs = cross_entropy_forward(scores, batch["labels"])  # (14.6)
    L = np.asarray(L + L_pairs)  # (14.11)
    return L, PretrainCache(encoder, mlm, chosen, words, pool, nsp, pairs)


@checked
def pretrain_backward(dL: Float[Array, ""] | float, cache: PretrainCache) -> dict:
    """The gradients of the parameters. E was read twice, to look words up and to score them: a sum of two."""
    dlogits = cross_entropy_backward(dL, cache.words)
    dchosen, dmlm, dE = mlm_head_backward(dlogits, cache.mlm)
    dH = np.zeros((*cache.chosen.shape, dchosen.shape[-1]), dchosen.dtype)
    dH[cache.chosen] = dchosen  # (14.12)
    grads = {"mlm": dmlm}
    if cache.nsp is not None:
        dP, grads["nsp"] = classify_backward(cross_entropy_backward(dL, cache.pairs), cache.nsp)
        dH_pool, grads["pool"] = pool_backward(dP, cache.pool)
        dH += dH_pool  # (14.12)
    grads["encoder"] = encoder_backward(dH, cache.encoder)
    grads["encoder"]["embedding"]["tokens"]["E"] += dE  # (14.13)
    return grads


@checked
def pretrain_loss_and_grads(
    params: dict, batch: dict, rng: np.random.Generator | None = None, *, config: ModelConfig
) -> tuple[float, dict, int]:
    """The loss, its gradients, and the number of chosen words, of which it is a mean."""
    L, cache = pretrain_forward(params, batch, config, rng)
    return float(L), pretrain_backward(1.0, cache), int(cache.chosen.sum())
