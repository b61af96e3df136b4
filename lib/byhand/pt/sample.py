"""Chapter 12: from logits to the next word in PyTorch: the same filters, and the same word for the same u."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from byhand import guard
from byhand.pt.softmax import softmax


def temperature(logits: Float[Tensor, "*B V"], T: float | int) -> Float[Tensor, "*B V"]:
    """logits / T: probabilities to the power 1/T, scaled to sum to one. T below 1 sharpens, above 1 flattens."""
    guard.logits("temperature", logits, half="tensor")
    guard.number("temperature", low=0, T=T)
    return logits / T


def top_k(logits: Float[Tensor, "*B V"], k: int) -> Float[Tensor, "*B V"]:
    """The k likeliest words stay; of equal ones the first. All stay if there are no more than k."""
    guard.logits("top_k", logits, half="tensor")
    guard.count("top_k", k=k)
    _, rank = _ranked(logits)
    return logits.masked_fill(rank >= k, -torch.inf)


def top_p(logits: Float[Tensor, "*B V"], p: float | int) -> Float[Tensor, "*B V"]:
    """The fewest words whose probabilities reach p, likeliest first: the nucleus (Holtzman et al. 2020).

    The word that crosses p stays, so one always does; p = 1 keeps all. Of equal words the first go in first.
    """
    guard.logits("top_p", logits, half="tensor")
    guard.number("top_p", low=0, p=p)
    if p > 1:
        raise ValueError(f"top_p: p is {p}, expected at most 1")
    if p == 1:
        return logits
    order, rank = _ranked(logits)
    mass = probabilities(logits).gather(-1, order).cumsum(-1, dtype=torch.float64)
    size = 1 + (mass < p).sum(dim=-1, keepdim=True)
    return logits.masked_fill(rank >= size, -torch.inf)


def probabilities(logits: Float[Tensor, "*B V"]) -> Float[Tensor, "*B V"]:
    """The softmax, where −∞ gives exactly 0."""
    guard.logits("probabilities", logits, half="tensor")
    return softmax(logits)


def greedy(logits: Float[Tensor, "*B V"]) -> Int[Tensor, "*B"]:
    """The likeliest word; of equal ones the first."""
    guard.logits("greedy", logits, half="tensor")
    return logits.argmax(dim=-1)


def sample(logits: Float[Tensor, "*B V"], u: Float[Tensor, "*B"]) -> Int[Tensor, "*B"]:
    """The word in whose share of [0, 1) u falls: a draw from `probabilities` when u is uniform."""
    guard.logits("sample", logits, half="tensor")
    guard.uniform("sample", u, logits, half="tensor")
    mass = probabilities(logits).cumsum(-1, dtype=torch.float64)
    share = mass / mass[..., -1:]  # ends in exactly 1, more than any u
    return (share > u[..., None]).int().argmax(dim=-1)


def choose(
    logits: Float[Tensor, "*B V"],
    u: Float[Tensor, "*B"] | None,
    T: float | int = 1.0,
    k: int | None = None,
    p: float | int | None = None,
) -> Int[Tensor, "*B"]:
    """The next word: `greedy` if T is 0; else temperature, top_k and top_p, those that are given, and `sample`."""
    if T == 0:
        return greedy(logits)
    logits = temperature(logits, T)
    logits = logits if k is None else top_k(logits, k)
    return sample(logits if p is None else top_p(logits, p), u)


def _ranked(logits):
    """Words from the likeliest on, the first of equals first; and the place of each word in that order."""
    order = logits.argsort(dim=-1, descending=True, stable=True)
    return order, order.argsort(dim=-1)
