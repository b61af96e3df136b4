"""Chapter 2: from ids and images to vectors, and back to scores: embeddings, tying, cosine, skip-gram, patches."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

from byhand.check import Dtype, Size, checked, ids_below, not_empty
from byhand.np.linear import (
    GatherCache,
    LinearCache,
    gather_backward,
    gather_forward,
    linear_backward,
    linear_forward,
    scatter_add_forward,
)
from byhand.np.vision import PatchifyCache, patchify_backward, patchify_forward


class EmbeddingCache(NamedTuple):
    gather: GatherCache
    scale: float


@checked
def embedding_forward(
    E: Float[Array, "V d"], ids: Int[Array, "*B"], scale: float = 1.0
) -> tuple[Float[Array, "*B d"], EmbeddingCache]:
    """X = scale · E[ids]; a scale of √d (Vaswani et al. 2017) brings rows of variance 1/d to the size of positions."""
    X, gather = gather_forward(E, ids)  # (2.1)
    return scale * X, EmbeddingCache(gather, scale)  # (2.7)


@checked
def embedding_backward(dX: Float[Array, "*B d"], cache: EmbeddingCache) -> Float[Array, "V d"]:
    """dE: each row collects from every place where its word stood."""
    return cache.scale * gather_backward(dX, cache.gather)  # (2.3), (2.7)


class UnembedCache(NamedTuple):
    X: Float[Array, "*B d"]
    E: Float[Array, "V d"]


@checked
def unembed_forward(
    X: Float[Array, "*B d"], E: Float[Array, "V d"]
) -> tuple[Float[Array, "*B V"], UnembedCache]:
    """Logits X Eᵀ: the dot product of a token with every word (Press and Wolf 2017).

    Tied to `embedding_forward` when both get the same E; its gradient is then the sum of the two.
    """
    return X @ E.mT, UnembedCache(X, E)  # (2.8)


@checked
def unembed_backward(
    dlogits: Float[Array, "*B V"], cache: UnembedCache
) -> tuple[Float[Array, "*B d"], Float[Array, "V d"]]:
    """dX = dlogits E; dE = Σ dlogitsᵀ x over every token."""
    X, E = cache
    dE = dlogits.reshape(-1, E.shape[0]).mT @ X.reshape(-1, E.shape[1])  # (2.11)
    return dlogits @ E, dE  # (2.10)


@checked
def cosine_similarity(U: Float[Array, "n d"], V: Float[Array, "m d"]) -> Float[Array, "n m"]:
    """S[i, j] = uᵢ · vⱼ / ‖uᵢ‖‖vⱼ‖: 1 when one is a positive multiple of the other; 0 for a vector of zeros."""
    tiny = np.finfo(U.dtype).tiny

    def unit(X):
        # first to a largest entry of 1, so that no square is too large or too small
        X = X / np.maximum(np.abs(X).max(axis=-1, keepdims=True), tiny)
        size = np.linalg.norm(X, axis=-1, keepdims=True)
        return X / np.maximum(size, tiny)
    return unit(U) @ unit(V).mT  # (2.13)


@checked
def nearest(
    vectors: Float[Array, "V d"], query: Float[Array, " d"], k: Size = 5, exclude: list[int] | tuple[int, ...] = ()
) -> Int[Array, " k"]:
    """The k rows of highest cosine with the query, best first, without those in `exclude`; ties go to the first."""
    left_out = np.array(exclude, dtype=np.int64)
    ids_below("nearest", len(vectors), exclude=left_out)
    similarity = cosine_similarity(vectors, query[None])[:, 0]
    order = np.argsort(-similarity, stable=True)
    order = order[~np.isin(order, left_out)]
    if k > len(order):
        raise ValueError(f"nearest: k is {k}, expected at most the {len(order)} rows that are not excluded")
    return order[:k]


class SGNSCache(NamedTuple):
    centres: Int[Array, " B"]
    others: Int[Array, "B m"]
    u: Float[Array, "B d"]
    w: Float[Array, "B m d"]
    z: Float[Array, "B m"]
    sign: Float[Array, " m"]
    V: int


@checked
def sgns_forward(
    W_in: Float[Array, "V d"],
    W_out: Float[Array, "V d"],
    centres: Int[Array, " B"],
    contexts: Int[Array, " B"],
    negatives: Int[Array, "B k"],
) -> tuple[Float[Array, ""], SGNSCache]:
    """L = −mean (log σ(u · w₊) + Σ log σ(−u · w₋)) (Mikolov et al. 2013): a true neighbour against k drawn words."""
    not_empty("sgns", centres=centres)
    ids_below("sgns", len(W_in), centres=centres, contexts=contexts, negatives=negatives)
    others = np.concatenate([contexts[:, None], negatives], axis=1)  # the true one first
    sign = np.where(np.arange(others.shape[1]) == 0, 1, -1).astype(W_in.dtype)
    u, w = W_in[centres], W_out[others]
    z = sign * (w @ u[..., None])[..., 0]  # (2.17)
    L = np.logaddexp(0, -z).sum() / len(centres)  # (2.17): −log σ(z) = log(1 + e^−z), without overflow
    cache = SGNSCache(centres, others, u, w, z, sign, len(W_in))
    return np.asarray(L), cache


@checked
def sgns_backward(
    dL: float | Float[Array, ""], cache: SGNSCache
) -> tuple[Float[Array, "V d"], Float[Array, "V d"]]:
    """dW_in, dW_out: with ds = ±(σ(z) − 1), each vector is pulled to its neighbour and pushed from the drawn ones."""
    centres, others, u, w, z, sign, V = cache
    pull = -np.exp(-np.logaddexp(0, z))  # (2.18): σ(z) − 1 = −σ(−z), without overflow
    ds = float(dL) / len(centres) * sign * pull  # (2.18)
    du = (ds[..., None] * w).sum(axis=1)  # (2.19)
    dw = ds[..., None] * u[:, None]  # (2.19)
    dW_in, _ = scatter_add_forward(du, centres, V)  # (2.20)
    dW_out, _ = scatter_add_forward(dw, others, V)  # (2.20)
    return dW_in, dW_out


class PatchEmbeddingCache(NamedTuple):
    patches: PatchifyCache
    linear: LinearCache


@checked
def patch_embedding_forward(
    images: Float[Array, "*B h w c"], W: Float[Array, "p d"], b: Float[Array, " d"], patch: Size
) -> tuple[Float[Array, "*B n d"], PatchEmbeddingCache]:
    """x_n = vec(patch_n) W + b (Dosovitskiy et al. 2021): a convolution whose stride is its width.

    W and b are those of `init_linear`, with patch · patch · c inputs.
    """
    squares, patches = patchify_forward(images, patch)  # (2.25)
    X, linear = linear_forward(squares, W, b)  # (2.26)
    return X, PatchEmbeddingCache(patches, linear)


@checked
def patch_embedding_backward(
    dX: Float[Array, "*B n d"], cache: PatchEmbeddingCache
) -> tuple[Float[Array, "*B h w c"], Float[Array, "p d"], Float[Array, " d"]]:
    """dimages, dW, db; no two patches share a pixel, so nothing is added up in dimages."""
    dsquares, dW, db = linear_backward(dX, cache.linear)  # (0.20)
    return patchify_backward(dsquares, cache.patches), dW, db  # (2.28)


@checked
def init_embedding(
    rng: np.random.Generator, V: Size, d: Size, dtype: Dtype = np.float32
) -> dict[str, Float[Array, "..."]]:
    """{E}, variance 1/d: rows of length about one, and logits of variance about one for unit-variance tokens."""
    return {"E": rng.normal(scale=1 / math.sqrt(d), size=(V, d)).astype(dtype)}


@checked
def init_sgns(rng: np.random.Generator, V: Size, d: Size, dtype: Dtype = np.float32) -> dict[str, Float[Array, "..."]]:
    """{W_in, W_out}: W_in uniform within ±1/2d, W_out zero, so that every probability starts at one half."""
    return {"W_in": rng.uniform(-0.5 / d, 0.5 / d, size=(V, d)).astype(dtype), "W_out": np.zeros((V, d), dtype)}
