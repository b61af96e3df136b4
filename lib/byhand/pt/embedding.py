"""Chapter 2: embeddings, tying, cosine, skip-gram and patches in PyTorch."""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from byhand import guard
from byhand.pt.linear import linear
from byhand.pt.vision import patchify


def embedding(E: Float[Tensor, "V d"], ids: Int[Tensor, "*B"], scale: float = 1.0) -> Float[Tensor, "*B d"]:
    """X = scale · E[ids]."""
    guard.tensors("embedding", 2, E=E)
    guard.shape("embedding", "E", E.shape, E.shape[-2:])
    guard.indices("embedding", "ids", ids, E.shape[0], half="tensor")
    guard.number("embedding", scale=scale)
    return scale * F.embedding(ids, E)  # (2.7)


def unembed(X: Float[Tensor, "*B d"], E: Float[Tensor, "V d"]) -> Float[Tensor, "*B V"]:
    """Logits X Eᵀ: the dot product of a token with every word (Press and Wolf 2017)."""
    guard.tensors("unembed", 1, X=X, E=E)
    guard.shape("unembed", "E", E.shape, (*E.shape[:1], X.shape[-1]))
    return X @ E.mT  # (2.8)


def cosine_similarity(U: Float[Tensor, "n d"], V: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
    """S[i, j] = uᵢ · vⱼ / ‖uᵢ‖‖vⱼ‖; 0 for a vector of zeros."""
    guard.tensors("cosine_similarity", 2, U=U, V=V)
    guard.shape("cosine_similarity", "U", U.shape, U.shape[-2:])
    guard.shape("cosine_similarity", "V", V.shape, (V.shape[0], U.shape[-1]))
    tiny = torch.finfo(U.dtype).tiny
    return F.normalize(U, dim=-1, eps=tiny) @ F.normalize(V, dim=-1, eps=tiny).mT


def nearest(
    vectors: Float[Tensor, "V d"], query: Float[Tensor, " d"], k: int = 5, exclude: Sequence[int] = ()
) -> Int[Tensor, " k"]:
    """The k rows of highest cosine with the query, best first, without those in `exclude`; ties go to the first."""
    guard.tensors("nearest", 1, vectors=vectors, query=query)
    guard.count("nearest", k=k)
    guard.chosen("nearest", "exclude", exclude, vectors.shape[0])
    similarity = cosine_similarity(vectors, query[None])[:, 0]
    similarity[list(exclude)] = -torch.inf
    if k > (left := len(similarity) - len(set(exclude))):
        raise ValueError(f"nearest: k is {k}, expected at most the {left} rows that are not excluded")
    return torch.sort(similarity, descending=True, stable=True).indices[:k]


def sgns(
    W_in: Float[Tensor, "V d"],
    W_out: Float[Tensor, "V d"],
    centres: Int[Tensor, " B"],
    contexts: Int[Tensor, " B"],
    negatives: Int[Tensor, "B k"],
) -> Float[Tensor, ""]:
    """L = −mean (log σ(u · w₊) + Σ log σ(−u · w₋)) (Mikolov et al. 2013): a true neighbour against k drawn words."""
    guard.tensors("sgns", 2, W_in=W_in, W_out=W_out)
    guard.shape("sgns", "W_out", W_out.shape, W_in.shape)
    for name, ids in (("centres", centres), ("contexts", contexts), ("negatives", negatives)):
        guard.indices("sgns", name, ids, W_in.shape[0], half="tensor")
    guard.count("sgns", **{"number of centres": centres.numel()})
    guard.shape("sgns", "centres", centres.shape, (centres.numel(),))
    guard.shape("sgns", "contexts", contexts.shape, centres.shape)
    guard.shape("sgns", "negatives", negatives.shape, (centres.numel(), negatives.shape[-1]))
    u = F.embedding(centres, W_in)
    near = (F.embedding(contexts, W_out) * u).sum(dim=-1)
    drawn = (F.embedding(negatives, W_out) @ u[..., None])[..., 0]
    return -(F.logsigmoid(near) + F.logsigmoid(-drawn).sum(dim=-1)).mean()  # (2.17)


def patch_embedding(
    images: Float[Tensor, "*B h w c"], W: Float[Tensor, "p d"], b: Float[Tensor, " d"], patch: int
) -> Float[Tensor, "*B n d"]:
    """x_n = vec(patch_n) W + b (Dosovitskiy et al. 2021): one matmul, the same as a convolution with that stride."""
    guard.tensors("patch_embedding", 1, b=b)
    return linear(patchify(images, patch), W, b)  # (2.26)


class Embedding(nn.Module):
    """A table E of words: ids to scaled rows, and `unembed`, tied to it, from tokens to logits."""

    def __init__(self, V: int, d: int, scale: float = 1.0):
        super().__init__()
        guard.count("Embedding", V=V, d=d)
        self.scale = scale
        self.E = nn.Parameter(torch.randn(V, d) / math.sqrt(d))

    def forward(self, ids: Int[Tensor, "*B"]) -> Float[Tensor, "*B d"]:
        return embedding(self.E, ids, self.scale)

    def unembed(self, X: Float[Tensor, "*B d"]) -> Float[Tensor, "*B V"]:
        return unembed(X, self.E)


class PatchEmbedding(nn.Module):
    """Images to tokens, with the parameters {W, b} of a linear map."""

    def __init__(self, patch: int, channels: int, d: int):
        super().__init__()
        guard.count("PatchEmbedding", patch=patch, channels=channels, d=d)
        self.patch = patch
        wide = patch * patch * channels
        self.W, self.b = nn.Parameter(torch.randn(wide, d) / math.sqrt(wide)), nn.Parameter(torch.zeros(d))

    def forward(self, images: Float[Tensor, "*B h w c"]) -> Float[Tensor, "*B n d"]:
        return patch_embedding(images, self.W, self.b, self.patch)
