"""Chapter 11: cross-entropy, the loss of every model here: minus the mean log probability of what came."""

import math
from typing import NamedTuple, SupportsFloat

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

from byhand.check import Share, checked, ids_below
from byhand.np.softmax import log_softmax_forward


class CrossEntropyCache(NamedTuple):
    A: Float[Array, "*B V"]  # softmax of the logits
    targets: Int[Array, "*B"]  # with 0 where a token is ignored
    share: Float[Array, "*B"]  # of each token in the mean; they sum to one
    smoothing: float


@checked
def cross_entropy_forward(
    logits: Float[Array, "*B V"],
    targets: Int[Array, "*B"],
    smoothing: Share = 0.0,
    ignore_index: int | None = None,
    weights: Float[Array, "*B"] | None = None,
) -> tuple[Float[Array, ""], CrossEntropyCache]:
    """L = Σ w (−Σ q log p) / Σ w over the tokens whose target is not `ignore_index`, where p = softmax(logits).

    Label smoothing (Szegedy et al. 2016) spreads ε: q = 1 − ε + ε/V at the target and ε/V elsewhere. w is 1 without
    `weights`. Raises ValueError when no token counts: the mean of nothing is no number.
    """
    counted = np.asarray(targets != ignore_index)
    ids_below("cross_entropy", logits.shape[-1], targets=targets[counted])
    w = counted.astype(logits.dtype)
    if weights is not None:
        if (weights < 0).any():
            raise ValueError(f"cross_entropy: weights holds {weights.min()}, expected no negative number")
        w = w * weights
    total = w.sum()
    if not total > 0:
        raise ValueError(f"cross_entropy: {int(counted.sum())} of {targets.size} tokens count, with total weight "
                         f"{total}, expected at least 1 that counts")
    share, targets = w / total, np.where(counted, targets, 0)  # (11.9)
    Y, inner = log_softmax_forward(logits)  # (11.3)
    at_target = np.take_along_axis(Y, targets[..., None], axis=-1)[..., 0]
    L = -(share * ((1 - smoothing) * at_target + smoothing * Y.mean(axis=-1))).sum()  # (11.8)
    return np.asarray(L), CrossEntropyCache(inner.A, targets, np.asarray(share), smoothing)


@checked
def cross_entropy_backward(dL: Float[Array, ""] | float, cache: CrossEntropyCache) -> Float[Array, "*B V"]:
    """dlogits = dL · share · (p − q): what the model said minus what it should have said."""
    A, targets, share, smoothing = cache
    rest = smoothing / A.shape[-1]
    Q = np.full_like(A, rest)
    np.put_along_axis(Q, targets[..., None], 1 - smoothing + rest, axis=-1)  # (11.7)
    return float(dL) * share[..., None] * (A - Q)  # (11.5)


@checked
def perplexity(loss: SupportsFloat) -> float:
    """e^L: as uncertain as a fair choice among so many; infinity where float64 ends."""
    loss = float(loss)
    return math.inf if loss > 709.78 else math.exp(loss)  # (11.6)


@checked
def bits(loss: SupportsFloat, tokens_per_char: float = 1.0) -> float:
    """L / ln 2 bits a token; times tokens a character, bits a character, which vocabularies can be compared by."""
    return float(loss) / math.log(2) * tokens_per_char  # (11.6)
