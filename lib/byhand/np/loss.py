"""Chapter 11: cross-entropy, the loss of every model here: minus the mean log probability of what came."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

from byhand import guard
from byhand.np.softmax import log_softmax_forward


class CrossEntropyCache(NamedTuple):
    A: Array  # softmax of the logits
    targets: Array  # with 0 where a token is ignored
    share: Array  # of each token in the mean; they sum to one
    smoothing: float


def cross_entropy_forward(
    logits: Float[Array, "*B V"],
    targets: Int[Array, "*B"],
    smoothing: float = 0.0,
    ignore_index: int | None = None,
    weights: Float[Array, "*B"] | None = None,
) -> tuple[Float[Array, ""], CrossEntropyCache]:
    """L = Σ w (−Σ q log p) / Σ w over the tokens whose target is not `ignore_index`, where p = softmax(logits).

    Label smoothing (Szegedy et al. 2016) spreads ε: q = 1 − ε + ε/V at the target and ε/V elsewhere. w is 1 without
    `weights`. Raises ValueError when no token counts: the mean of nothing is no number.
    """
    guard.scores("cross_entropy", logits, name="logits")
    V = logits.shape[-1]
    if ignore_index is not None:
        guard.count("cross_entropy", low=-(2**63), ignore_index=ignore_index)
    guard.indices("cross_entropy", "targets", targets, V, ignore=ignore_index)
    guard.shape("cross_entropy", "targets", targets.shape, logits.shape[:-1])
    guard.within("cross_entropy", 0, 1, smoothing=smoothing)
    counted = np.asarray(targets != ignore_index)
    w = counted.astype(logits.dtype)
    if weights is not None:
        guard.floats("cross_entropy", 0, weights=weights)
        guard.shape("cross_entropy", "weights", weights.shape, targets.shape)
        if (weights < 0).any():
            raise ValueError(f"cross_entropy: weights holds {weights.min()}, expected no negative number")
        w = w * weights.astype(logits.dtype)
    total = w.sum()
    if not total > 0:
        raise ValueError(f"cross_entropy: {int(counted.sum())} of {targets.size} tokens count, with total weight "
                         f"{total}, expected at least 1 that counts")
    smoothing, share, targets = float(smoothing), w / total, np.where(counted, targets, 0)  # (11.9)
    Y, inner = log_softmax_forward(logits)  # (11.3)
    at_target = np.take_along_axis(Y, targets[..., None], axis=-1)[..., 0]
    L = -(share * ((1 - smoothing) * at_target + smoothing * Y.mean(axis=-1))).sum()  # (11.8)
    return np.asarray(L), CrossEntropyCache(inner.A, targets, np.asarray(share), smoothing)


def cross_entropy_backward(dL: Float[Array, ""] | float, cache: CrossEntropyCache) -> Float[Array, "*B V"]:
    """dlogits = dL · share · (p − q): what the model said minus what it should have said."""
    A, targets, share, smoothing = cache
    guard.scalar("cross_entropy_backward", dL=dL)
    rest = smoothing / A.shape[-1]
    Q = np.full_like(A, rest)
    np.put_along_axis(Q, targets[..., None], 1 - smoothing + rest, axis=-1)  # (11.7)
    return float(dL) * share[..., None] * (A - Q)  # (11.5)


def perplexity(loss: Float[Array, ""] | float) -> float:
    """e^L: as uncertain as a fair choice among so many; infinity where float64 ends."""
    loss = float(loss)
    return math.exp(loss) if loss < 709 else math.inf  # (11.6)


def bits(loss: Float[Array, ""] | float, tokens_per_char: float = 1.0) -> float:
    """L / ln 2 bits a token; times tokens a character, bits a character, which vocabularies can be compared by."""
    return float(loss) / math.log(2) * float(tokens_per_char)  # (11.6)
