"""Chapter 2: embeddings, tying, cosine, skip-gram and patches in PyTorch."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from byhand.check import Size, checked, ids_below, not_empty
from byhand.pt.linear import linear
from byhand.pt.vision import patchify


@checked
def embedding(E: Float[Tensor, "V d"], ids: Int[Tensor, "*B"], scale: float = 1.0) -> Float[Tensor, "*B d"]:
    """X = scale · E[ids]."""
    return scale * F.embedding(ids, E)  # (2.7)


@checked
def unembed(X: Float[Tensor, "*B d"], E: Float[Tensor, "V d"]) -> Float[Tensor, "*B V"]:
    """Logits X Eᵀ: the dot product of a token with every word (Press and Wolf 2017)."""
    return X @ E.mT  # (2.8)


@checked
def cosine_similarity(U: Float[Tensor, "n d"], V: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
    """S[i, j] = uᵢ · vⱼ / ‖uᵢ‖‖vⱼ‖; 0 for a vector of zeros."""
    tiny = torch.finfo(U.dtype).tiny

    def unit(X):
        # first to a largest entry of 1, so that no square is too large or too small
        X = X / X.abs().amax(dim=-1, keepdim=True).clamp(min=tiny)
        return F.normalize(X, dim=-1, eps=tiny)
    return unit(U) @ unit(V).mT


@checked
def nearest(
    vectors: Float[Tensor, "V d"], query: Float[Tensor, " d"], k: Size = 5, exclude: list[int] | tuple[int, ...] = ()
) -> Int[Tensor, " k"]:
    """The k rows of highest cosine with the query, best first, without those in `exclude`; ties go to the first."""
    ids_below("nearest", len(vectors), exclude=np.array(exclude, dtype=np.int64))
    if k > (left := len(vectors) - len(set(exclude))):
        raise ValueError(f"nearest: k is {k}, expected at most the {left} rows that are not excluded")
    similarity = cosine_similarity(vectors, query[None])[:, 0]
    similarity[list(exclude)] = -torch.inf
    return torch.sort(similarity, descending=True, stable=True).indices[:k]


@checked
def sgns(
    W_in: Float[Tensor, "V d"],
    W_out: Float[Tensor, "V d"],
    centres: Int[Tensor, " B"],
    contexts: Int[Tensor, " B"],
    negatives: Int[Tensor, "B k"],
) -> Float[Tensor, ""]:
    """L = −mean (log σ(u · w₊) + Σ log σ(−u · w₋)) (Mikolov et al. 2013): a true neighbour against k drawn words."""
    not_empty("sgns", centres=centres)
    u = F.embedding(centres, W_in)
    near = (F.embedding(contexts, W_out) * u).sum(dim=-1)
    drawn = (F.embedding(negatives, W_out) @ u[..., None])[..., 0]
    return -(F.logsigmoid(near) + F.logsigmoid(-drawn).sum(dim=-1)).mean()  # (2.17)


@checked
def patch_embedding(
    images: Float[Tensor, "*B h w c"], W: Float[Tensor, "p d"], b: Float[Tensor, " d"], patch: Size
) -> Float[Tensor, "*B n d"]:
    """x_n = vec(patch_n) W + b (Dosovitskiy et al. 2021): one matmul, the same as a convolution with that stride."""
    return linear(patchify(images, patch), W, b)  # (2.26)


class Embedding(nn.Module):
    """A table E of words: ids to scaled rows, and `unembed`, tied to it, from tokens to logits."""

    @checked
    def __init__(self, V: Size, d: Size, scale: float = 1.0):
        super().__init__()
        self.scale = scale
        self.E = nn.Parameter(torch.randn(V, d) / math.sqrt(d))

    def forward(self, ids: Int[Tensor, "*B"]) -> Float[Tensor, "*B d"]:
        return embedding(self.E, ids, self.scale)

    def unembed(self, X: Float[Tensor, "*B d"]) -> Float[Tensor, "*B V"]:
        return unembed(X, self.E)


class PatchEmbedding(nn.Module):
    """Images to tokens, with the parameters {W, b} of a linear map."""

    @checked
    def __init__(self, patch: Size, channels: Size, d: Size):
        super().__init__()
        self.patch = patch
        wide = patch * patch * channels
        self.W, self.b = nn.Parameter(torch.randn(wide, d) / math.sqrt(wide)), nn.Parameter(torch.zeros(d))

    def forward(self, images: Float[Tensor, "*B h w c"]) -> Float[Tensor, "*B n d"]:
        return patch_embedding(images, self.W, self.b, self.patch)
