"""Chapter 12: from logits to the next word: greedy, temperature, top-k, top-p, and a draw.

A filter takes logits and gives logits, −∞ for the words that it takes away, so that filters can follow one another.
"""

from typing import Annotated

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

from byhand.check import Above, AtLeast, AtMost, Below, Logits, NonNegative, Positive, Size, checked
from byhand.np.softmax import softmax_forward

Mass = Annotated[float, Above(0), AtMost(1)]  # of a nucleus
UNIT = AtLeast(0), Below(1)  # what a draw lies in


@checked
def temperature(logits: Annotated[Float[Array, "*B V"], Logits], T: Positive) -> Float[Array, "*B V"]:
    """logits / T: probabilities to the power 1/T, scaled to sum to one. T below 1 sharpens, above 1 flattens."""
    return logits / T  # (12.8)


@checked
def top_k(logits: Annotated[Float[Array, "*B V"], Logits], k: Size) -> Float[Array, "*B V"]:
    """The k likeliest words stay; of equal ones the first. All stay if there are no more than k."""
    _, rank = _ranked(logits)
    return np.where(rank < k, logits, -np.inf)  # (12.10)


@checked
def top_p(logits: Annotated[Float[Array, "*B V"], Logits], p: Mass) -> Float[Array, "*B V"]:
    """The fewest words whose probabilities reach p, likeliest first: the nucleus (Holtzman et al. 2020).

    The word that crosses p stays, so one always does; p = 1 keeps all. Of equal words the first go in first.
    """
    if p == 1:
        return logits
    order, rank = _ranked(logits)
    mass = np.cumsum(np.take_along_axis(probabilities(logits), order, axis=-1), axis=-1, dtype=np.float64)
    size = 1 + (mass < p).sum(axis=-1, keepdims=True)  # (12.11)
    return np.where(rank < size, logits, -np.inf)


@checked
def probabilities(logits: Annotated[Float[Array, "*B V"], Logits]) -> Float[Array, "*B V"]:
    """The softmax, where −∞ gives exactly 0."""
    left = logits > -np.inf
    return softmax_forward(np.where(left, logits, 0), left)[0]


@checked
def greedy(logits: Annotated[Float[Array, "*B V"], Logits]) -> Int[Array, "*B"]:
    """The likeliest word; of equal ones the first."""
    return np.asarray(logits.argmax(axis=-1))


@checked
def sample(
    logits: Annotated[Float[Array, "*B V"], Logits], u: Annotated[Float[Array, "*B"], *UNIT]
) -> Int[Array, "*B"]:
    """The word in whose share of [0, 1) u falls: a draw from `probabilities` when u is uniform."""
    mass = np.cumsum(probabilities(logits), axis=-1, dtype=np.float64)
    share = mass / mass[..., -1:]  # ends in exactly 1, more than any u
    return np.asarray((share > u[..., None]).argmax(axis=-1))  # (12.7)


@checked
def choose(
    logits: Annotated[Float[Array, "*B V"], Logits],
    u: Annotated[Float[Array, "*B"], *UNIT] | None,
    T: NonNegative = 1.0,
    k: Size | None = None,
    p: Mass | None = None,
) -> Int[Array, "*B"]:
    """The next word: `greedy` if T is 0; else temperature, top_k and top_p, those that are given, and `sample`."""
    if T == 0:
        return greedy(logits)
    top = logits.max(axis=-1, keepdims=True)  # away first: only what is far below it is too large after the division
    with np.errstate(over="ignore"):  # there −∞ is right: its probability is 0
        logits = temperature(logits - top, max(T, float(np.finfo(logits.dtype).tiny)))
    logits = logits if k is None else top_k(logits, k)
    return sample(logits if p is None else top_p(logits, p), u)


def _ranked(logits):
    """Words from the likeliest on, the first of equals first; and the place of each word in that order."""
    order = np.argsort(-logits, axis=-1, stable=True)
    return order, np.argsort(order, axis=-1)
