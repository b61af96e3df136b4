"""Chapter 14: fine-tuning: a classifier over a pre-trained encoder, free or frozen, and LoRA.

Functions *_loss_and_grads fit the training loop of chapter 11 once their keyword arguments are given: they take
(params, batch, rng) and give the loss, gradients in the tree of params, and the number of items in the mean. A batch is
a dict: ids (B, n), mask (B, 1, n), labels (B), and segments (B, n) if the encoder has them.
"""

import math
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray as Array

from byhand.check import Size, checked, needs
from byhand.config import ModelConfig
from byhand.np.loss import cross_entropy_backward, cross_entropy_forward
from byhand.np.model import EncoderCache, encoder_backward, encoder_forward
from byhand.np.pretrain import (
    ClassifyCache,
    PoolCache,
    classify_backward,
    classify_forward,
    pool_backward,
    pool_forward,
)
from byhand.tree import flatten, unflatten


@checked
def split_tree(params: dict, patterns: tuple[str, ...]) -> tuple[dict, dict]:
    """(what a pattern names, the rest). A pattern is a run of whole names of a path, such as "W_q", "pool" or
    "blocks.*.attention", where * stands for anything. Raises ValueError for one that names nothing."""
    flat = flatten(params)
    named = {pattern: {path for path in flat if fnmatchcase(f".{path}.", f"*.{pattern}.*")} for pattern in patterns}
    for pattern, paths in named.items():
        if not paths:
            raise ValueError(f"split_tree: pattern {pattern!r} names nothing, expected some of {', '.join(flat)}")
    chosen = set().union(*named.values())
    return tuple(unflatten({path: x for path, x in flat.items() if (path in chosen) is one}) for one in (True, False))


@checked
def join_tree(first: dict, second: dict) -> dict:
    """The tree that was split: what only one of the two may hold."""
    flat, more = flatten(first), flatten(second)
    if both := flat.keys() & more.keys():
        raise ValueError(f"join_tree: {', '.join(sorted(both))} in both trees, expected each in one")
    return unflatten(flat | more)


class ClassifierCache(NamedTuple):
    encoder: EncoderCache | None  # None: the body is frozen
    pool: PoolCache
    head: ClassifyCache


@checked
def classifier_forward(
    params: dict,
    ids: Int[Array, "*B n"],
    config: ModelConfig,
    mask: Bool[Array, "..."] | None = None,
    segments: Int[Array, "*B n"] | None = None,
    rng: np.random.Generator | None = None,
    frozen: bool = False,
) -> tuple[Float[Array, "*B C"], ClassifierCache]:
    """Logits: encoder, pool, linear map. params {encoder, pool, head: {W, b}}. Frozen, the encoder leaves no cache."""
    H, encoder = encoder_forward(ids, params["encoder"], config, mask, segments, rng)
    P, pool = pool_forward(H, params["pool"])  # (14.4)
    logits, head = classify_forward(P, params["head"], config.p, rng)  # (14.5)
    return logits, ClassifierCache(None if frozen else encoder, pool, head)


@checked
def classifier_backward(dlogits: Float[Array, "*B C"], cache: ClassifierCache) -> dict:
    """The gradients of the parameters; with a frozen body it stops at the pool, and there are none of the encoder."""
    dP, head = classify_backward(dlogits, cache.head)
    dH, pool = pool_backward(dP, cache.pool)  # (14.8)
    grads = {"pool": pool, "head": head}
    return grads if cache.encoder is None else grads | {"encoder": encoder_backward(dH, cache.encoder)}


@checked
def classifier_loss_and_grads(
    params: dict,
    batch: dict,
    rng: np.random.Generator | None = None,
    *,
    config: ModelConfig,
    frozen: dict | None = None,
) -> tuple[float, dict, int]:
    """Cross-entropy of batch["labels"] and its gradients for `params`; `frozen` is the rest of the tree, held fixed.

    What the optimiser does not see cannot decay. If all of the encoder is frozen, its backward pass is left out.
    """
    needs("classifier_loss_and_grads", "batch", batch, "ids", "mask", "labels")
    weights = join_tree(params, frozen or {})
    segments = batch["segments"] if config.segments else None
    logits, cache = classifier_forward(
        weights, batch["ids"], config, batch["mask"], segments, rng, frozen="encoder" not in params)
    L, inner = cross_entropy_forward(logits, batch["labels"])  # (14.14)
    return float(L), _alike(classifier_backward(cross_entropy_backward(1.0, inner), cache), params), len(logits)


class LoraCache(NamedTuple):
    X: Float[Array, "*N d_in"]
    U: Float[Array, "*N r"]
    A: Float[Array, "d_in r"]
    B: Float[Array, "r d_out"]
    W: Float[Array, "d_in d_out"]
    s: float


@checked
def lora_forward(
    X: Float[Array, "*N d_in"],
    A: Float[Array, "d_in r"],
    B: Float[Array, "r d_out"],
    W: Float[Array, "d_in d_out"],
    alpha: float = 16.0,
) -> tuple[Float[Array, "*N d_out"], LoraCache]:
    """Y = X W + (α/r) X A B (Hu et al. 2021): W is frozen, A and B are trained."""
    U, s = X @ A, alpha / A.shape[-1]
    return X @ W + s * (U @ B), LoraCache(X, U, A, B, W, s)  # (14.15)


@checked
def lora_backward(
    dY: Float[Array, "*N d_out"], cache: LoraCache
) -> tuple[Float[Array, "*N d_in"], Float[Array, "d_in r"], Float[Array, "r d_out"]]:
    """dX = dY Wᵀ + dU Aᵀ, dA = Σ xᵀ du, dB = (α/r) Σ uᵀ dy, where U = X A and dU = (α/r) dY Bᵀ. There is no dW."""
    X, U, A, B, W, s = cache
    dU = s * (dY @ B.mT)  # (14.16)
    dA = X.reshape(-1, A.shape[0]).mT @ dU.reshape(-1, A.shape[1])  # (14.17)
    dB = s * (U.reshape(-1, B.shape[0]).mT @ dY.reshape(-1, B.shape[1]))  # (14.17)
    return dY @ W.mT + dU @ A.mT, dA, dB  # (14.17)


@checked
def lora_merge(
    W: Float[Array, "d_in d_out"], A: Float[Array, "d_in r"], B: Float[Array, "r d_out"], alpha: float = 16.0
) -> Float[Array, "d_in d_out"]:
    """W + (α/r) A B: one matrix, as fast as W was. With −alpha it is taken off again."""
    return W + alpha / A.shape[-1] * (A @ B)  # (14.18)


@checked
def adaptable(where: str, path: str, W, r: int) -> None:
    """A matrix, and a rank that is no higher than its own can be."""
    if len(W.shape) != 2:
        raise ValueError(f"{where}: {path} has {len(W.shape)} axes, expected 2")
    if r > min(W.shape):
        raise ValueError(f"{where}: r is {r}, expected at most {min(W.shape)}, since {path} is {tuple(W.shape)}")


@checked
def init_lora(
    rng: np.random.Generator, params: dict, patterns: tuple[str, ...] = ("W_q", "W_v"), r: Size = 8
) -> dict:
    """For each matrix that a pattern of `split_tree` names, {A, B} at its path: A normal with variance 1/d_in, B zero.

    So training starts from the model as it is. Were A zero too, both gradients would be zero for ever.
    """
    def pair(path, W):
        adaptable("init_lora", path, W, r)
        A = rng.normal(scale=1 / math.sqrt(W.shape[0]), size=(W.shape[0], r)).astype(W.dtype)
        return {"A": A, "B": np.zeros((r, W.shape[1]), W.dtype)}

    return unflatten({path: pair(path, W) for path, W in flatten(split_tree(params, patterns)[0]).items()})


@checked
def merged(params: dict, lora: dict, alpha: float = 16.0) -> dict:
    """The tree with every adapter of `lora` merged into its matrix; the other leaves are those of `params`."""
    return unflatten(flatten(params) | {
        path: lora_merge(W, A, B, alpha) for path, W, A, B in _matched("merged", params, lora)})


@checked
def lora_grads(grads: dict, lora: dict, alpha: float = 16.0) -> dict:
    """From the gradients of the merged weights W' = W + s A B, s = α/r: dA = s dW' Bᵀ and dB = s Aᵀ dW'.

    The same as `lora_backward`, for any model, at the price of one dW' in memory.
    """
    flat = {}
    for path, dW, A, B in _matched("lora_grads", grads, lora):
        s = alpha / A.shape[-1]
        flat |= {f"{path}.A": s * (dW @ B.mT), f"{path}.B": s * (A.mT @ dW)}  # (14.19)
    return unflatten(flat)


@checked
def lora_loss_and_grads(
    params: dict,
    batch: dict,
    rng: np.random.Generator | None = None,
    *,
    loss_and_grads: Callable,
    frozen: dict,
    alpha: float = 16.0,
) -> tuple[float, dict, int]:
    """`loss_and_grads` of a whole model, for params {lora, free}: adapters of `frozen`, and what trains as usual."""
    weights = merged(join_tree(frozen, params["free"]), params["lora"], alpha)
    loss, grads, weight = loss_and_grads(weights, batch, rng)
    return loss, {"lora": lora_grads(grads, params["lora"], alpha), "free": _alike(grads, params["free"])}, weight


def _alike(grads, params):
    """The gradients of these parameters, in their tree."""
    flat = flatten(grads)
    return unflatten({path: flat[path] for path in flatten(params)})


def _matched(where, params, lora):
    """(path, matrix, A, B) for each adapter."""
    flat, pairs = flatten(params), flatten(lora)
    for path in dict.fromkeys(name.rpartition(".")[0] for name in pairs):
        if path not in flat:
            raise ValueError(f"{where}: lora adapts {path}, expected one of {', '.join(flat)}")
        yield path, flat[path], pairs[f"{path}.A"], pairs[f"{path}.B"]
