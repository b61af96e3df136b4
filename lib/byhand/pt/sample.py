"""Chapter 12: from logits to the next word in PyTorch: the same filters, and the same word for the same u.

Values are not looked at, as nowhere in this half: where logits hold NaN, or u is not in [0, 1), the word means nothing.
"""

from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor

from byhand.check import Logits, NonNegative, Positive, Size, checked
from byhand.np.sample import UNIT, Mass
from byhand.pt.softmax import softmax

COLDEST = torch.finfo(torch.float32).tiny  # in which tensors of up to 32 bits divide


@checked
def temperature(logits: Annotated[Float[Tensor, "*B V"], Logits], T: Positive) -> Float[Tensor, "*B V"]:
    """logits / T: probabilities to the power 1/T, scaled to sum to one. T below 1 sharpens, above 1 flattens."""
    return logits / T


@checked
def top_k(logits: Annotated[Float[Tensor, "*B V"], Logits], k: Size) -> Float[Tensor, "*B V"]:
    """The k likeliest words stay; of equal ones the first. All stay if there are no more than k."""
    _, rank = _ranked(logits)
    return logits.masked_fill(rank >= k, -torch.inf)


@checked
def top_p(logits: Annotated[Float[Tensor, "*B V"], Logits], p: Mass) -> Float[Tensor, "*B V"]:
    """The fewest words whose probabilities reach p, likeliest first: the nucleus (Holtzman et al. 2020).

    The word that crosses p stays, so one always does; p = 1 keeps all. Of equal words the first go in first.
    """
    if p == 1:
        return logits
    order, rank = _ranked(logits)
    mass = probabilities(logits).gather(-1, order).cumsum(-1, dtype=torch.float64)
    size = 1 + (mass < p).sum(dim=-1, keepdim=True)
    return logits.masked_fill(rank >= size, -torch.inf)


@checked
def probabilities(logits: Annotated[Float[Tensor, "*B V"], Logits]) -> Float[Tensor, "*B V"]:
    """The softmax, where −∞ gives exactly 0."""
    return softmax(logits)


@checked
def greedy(logits: Annotated[Float[Tensor, "*B V"], Logits]) -> Int[Tensor, "*B"]:
    """The likeliest word; of equal ones the first."""
    return logits.argmax(dim=-1)


@checked
def sample(
    logits: Annotated[Float[Tensor, "*B V"], Logits], u: Annotated[Float[Tensor, "*B"], *UNIT]
) -> Int[Tensor, "*B"]:
    """The word in whose share of [0, 1) u falls: a draw from `probabilities` when u is uniform."""
    mass = probabilities(logits).cumsum(-1, dtype=torch.float64)
    share = mass / mass[..., -1:]  # ends in exactly 1, more than any u
    return (share > u[..., None]).int().argmax(dim=-1)


@checked
def choose(
    logits: Annotated[Float[Tensor, "*B V"], Logits],
    u: Annotated[Float[Tensor, "*B"], *UNIT] | None,
    T: NonNegative = 1.0,
    k: Size | None = None,
    p: Mass | None = None,
) -> Int[Tensor, "*B"]:
    """The next word: `greedy` if T is 0; else temperature, top_k and top_p, those that are given, and `sample`."""
    if T == 0:
        return greedy(logits)
    top = logits.amax(dim=-1, keepdim=True)  # away first: only what is far below it is too large after the division
    logits = temperature(logits - top, max(T, COLDEST))
    logits = logits if k is None else top_k(logits, k)
    return sample(logits if p is None else top_p(logits, p), u)


def _ranked(logits):
    """Words from the likeliest on, the first of equals first; and the place of each word in that order."""
    order = logits.argsort(dim=-1, descending=True, stable=True)
    return order, order.argsort(dim=-1)
