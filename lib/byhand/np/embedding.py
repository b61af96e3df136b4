"""Chapter 2: from ids and images to vectors, and back to scores: embeddings, tying, cosine, skip-gram, patches."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

from byhand import guard
from byhand.np.linear import GatherCache, LinearCache, gather_backward, gather_forward, linear_backward, linear_forward
from byhand.np.vision import PatchifyCache, patchify_backward, patchify_forward


class EmbeddingCache(NamedTuple):
    gather: GatherCache
    scale: float


def embedding_forward(
    E: Float[Array, "V d"], ids: Int[Array, "*B"], scale: float = 1.0
) -> tuple[Float[Array, "*B d"], EmbeddingCache]:
    """X = scale · E[ids]; a scale of √d (Vaswani et al. 2017) brings rows of variance 1/d to the size of positions."""
    guard.number("embedding", scale=scale)
    X, gather = gather_forward(E, ids)  # (2.1)
    return float(scale) * X, EmbeddingCache(gather, float(scale))  # (2.7)


def embedding_backward(dX: Float[Array, "*B d"], cache: EmbeddingCache) -> Float[Array, "V d"]:
    """dE: each row collects from every place where its word stood."""
    return cache.scale * gather_backward(dX, cache.gather)  # (2.3), (2.7)


class UnembedCache(NamedTuple):
    X: Array
    E: Array


def unembed_forward(
    X: Float[Array, "*B d"], E: Float[Array, "V d"]
) -> tuple[Float[Array, "*B V"], UnembedCache]:
    """Logits X Eᵀ: the dot product of a token with every word (Press and Wolf 2017).

    Tied to `embedding_forward` when both get the same E; its gradient is then the sum of the two.
    """
    guard.floats("unembed", 1, X=X, E=E)
    guard.shape("unembed", "E", E.shape, (*E.shape[:1], X.shape[-1]))
    return X @ E.mT, UnembedCache(X, E)  # (2.8)


def unembed_backward(
    dlogits: Float[Array, "*B V"], cache: UnembedCache
) -> tuple[Float[Array, "*B d"], Float[Array, "V d"]]:
    """dX = dlogits E; dE = Σ dlogitsᵀ x over every token."""
    X, E = cache
    guard.floats("unembed_backward", 1, X=X, dlogits=dlogits)
    guard.shape("unembed_backward", "dlogits", dlogits.shape, (*X.shape[:-1], E.shape[0]))
    dE = dlogits.reshape(-1, E.shape[0]).mT @ X.reshape(-1, E.shape[1])  # (2.11)
    return dlogits @ E, dE  # (2.10)


def cosine_similarity(U: Float[Array, "n d"], V: Float[Array, "m d"]) -> Float[Array, "n m"]:
    """S[i, j] = uᵢ · vⱼ / ‖uᵢ‖‖vⱼ‖: 1 when one is a positive multiple of the other; 0 for a vector of zeros."""
    guard.floats("cosine_similarity", 2, U=U, V=V)
    guard.shape("cosine_similarity", "U", U.shape, U.shape[-2:])
    guard.shape("cosine_similarity", "V", V.shape, (V.shape[0], U.shape[-1]))

    def unit(X):
        size = np.linalg.norm(X, axis=-1, keepdims=True)
        return X / np.where(size == 0, 1, size)  # (2.13)
    return unit(U) @ unit(V).mT


def nearest(
    vectors: Float[Array, "V d"], query: Float[Array, " d"], k: int = 5, exclude: Sequence[int] = ()
) -> Int[Array, " k"]:
    """The k rows of highest cosine with the query, best first, without those in `exclude`; ties go to the first."""
    guard.floats("nearest", 1, vectors=vectors, query=query)
    guard.count("nearest", k=k)
    guard.chosen("nearest", "exclude", exclude, vectors.shape[0])
    left_out = np.array(list(exclude), dtype=np.int64)
    similarity = cosine_similarity(vectors, query[None])[:, 0]
    order = np.argsort(-similarity, stable=True)
    order = order[~np.isin(order, left_out)]
    if k > order.size:
        raise ValueError(f"nearest: k is {k}, expected at most the {order.size} rows that are not excluded")
    return order[:k]


class SGNSCache(NamedTuple):
    centres: Array
    others: Array
    u: Array
    w: Array
    z: Array
    sign: Array
    size: int


def sgns_forward(
    W_in: Float[Array, "V d"],
    W_out: Float[Array, "V d"],
    centres: Int[Array, " B"],
    contexts: Int[Array, " B"],
    negatives: Int[Array, "B k"],
) -> tuple[Float[Array, ""], SGNSCache]:
    """L = −mean (log σ(u · w₊) + Σ log σ(−u · w₋)) (Mikolov et al. 2013): a true neighbour against k drawn words."""
    guard.floats("sgns", 2, W_in=W_in, W_out=W_out)
    guard.shape("sgns", "W_out", W_out.shape, W_in.shape)
    for name, ids in (("centres", centres), ("contexts", contexts), ("negatives", negatives)):
        guard.indices("sgns", name, ids, W_in.shape[0])
    guard.count("sgns", **{"number of centres": centres.size})
    guard.shape("sgns", "centres", centres.shape, (centres.size,))
    guard.shape("sgns", "contexts", contexts.shape, centres.shape)
    guard.shape("sgns", "negatives", negatives.shape, (centres.size, negatives.shape[-1]))
    others = np.concatenate([contexts[:, None], negatives], axis=1)  # the true one first
    sign = np.where(np.arange(others.shape[1]) == 0, 1, -1).astype(W_in.dtype)
    u, w = W_in[centres], W_out[others]
    z = sign * (w @ u[..., None])[..., 0]  # (2.17)
    L = np.logaddexp(0, -z).sum() / centres.size  # (2.17): −log σ(z) = log(1 + e^−z), without overflow
    return np.asarray(L), SGNSCache(centres, others, u, w, z, sign, W_in.shape[0])


def sgns_backward(
    dL: Float[Array, ""] | float, cache: SGNSCache
) -> tuple[Float[Array, "V d"], Float[Array, "V d"]]:
    """dW_in, dW_out: with ds = ±(σ(z) − 1), each vector is pulled to its neighbour and pushed from the drawn ones."""
    centres, others, u, w, z, sign, size = cache
    guard.scalar("sgns_backward", dL=dL)
    ds = float(dL) / centres.size * sign * -np.exp(-np.logaddexp(0, z))  # (2.18): σ(−z), without overflow
    du = (ds[..., None] * w).sum(axis=1)  # (2.19)
    dw = ds[..., None] * u[:, None]  # (2.19)
    return gather_backward(du, GatherCache(centres, size)), gather_backward(dw, GatherCache(others, size))  # (2.20)


class PatchEmbeddingCache(NamedTuple):
    patches: PatchifyCache
    linear: LinearCache


def patch_embedding_forward(
    images: Float[Array, "*B h w c"], W: Float[Array, "p d"], b: Float[Array, " d"], patch: int
) -> tuple[Float[Array, "*B n d"], PatchEmbeddingCache]:
    """x_n = vec(patch_n) W + b (Dosovitskiy et al. 2021): a convolution whose stride is its width.

    W and b are those of `init_linear`, with patch · patch · c inputs.
    """
    guard.floats("patch_embedding", 1, b=b)
    squares, patches = patchify_forward(images, patch)  # (2.25)
    X, linear = linear_forward(squares, W, b)  # (2.26)
    return X, PatchEmbeddingCache(patches, linear)


def patch_embedding_backward(
    dX: Float[Array, "*B n d"], cache: PatchEmbeddingCache
) -> tuple[Float[Array, "*B h w c"], Float[Array, "p d"], Float[Array, " d"]]:
    """dimages, dW, db; no two patches share a pixel, so nothing is added up in dimages."""
    dsquares, dW, db = linear_backward(dX, cache.linear)
    return patchify_backward(dsquares, cache.patches), dW, db  # (2.28)


def init_embedding(rng: np.random.Generator, V: int, d: int, dtype=np.float32) -> dict[str, Float[Array, "..."]]:
    """{E}, variance 1/d: rows of length about one, and logits of variance about one for unit-variance tokens."""
    guard.count("init_embedding", V=V, d=d)
    return {"E": rng.normal(scale=1 / math.sqrt(d), size=(V, d)).astype(dtype)}


def init_sgns(rng: np.random.Generator, V: int, d: int, dtype=np.float32) -> dict[str, Float[Array, "..."]]:
    """{W_in, W_out}: W_in uniform within ±1/2d, W_out zero, so that every probability starts at one half."""
    guard.count("init_sgns", V=V, d=d)
    return {"W_in": rng.uniform(-0.5 / d, 0.5 / d, size=(V, d)).astype(dtype), "W_out": np.zeros((V, d), dtype)}
