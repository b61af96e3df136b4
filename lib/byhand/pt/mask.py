"""Chapters 4 and 8: masks as boolean tensors; True means that the query (row) may attend to the key."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from byhand import guard


def causal_mask(n: int, m: int | None = None, offset: int = 0, device=None) -> Bool[Tensor, "n m"]:
    """Query i may attend to keys 0..i+offset: lower triangular. m defaults to n + offset."""
    guard.count("causal_mask", n=n)
    guard.count("causal_mask", low=0, offset=offset)
    m = n + offset if m is None else m
    guard.count("causal_mask", m=m)
    return torch.ones(n, m, dtype=torch.bool, device=device).tril(offset)  # (8.2)


def padding_mask(lengths: Int[Tensor, " B"], m: int, ndim: int = 3) -> Bool[Tensor, "B ..."]:
    """Keys 0..length-1 are real, the rest is padding. Shape (B, 1, …, m), `ndim` axes: 4 with heads."""
    guard.count("padding_mask", m=m)
    guard.count("padding_mask", low=3, ndim=ndim)
    guard.indices("padding_mask", "lengths", lengths, m + 1, half="tensor")
    guard.shape("padding_mask", "lengths", lengths.shape, (lengths.numel(),))
    real = torch.arange(m, device=lengths.device) < lengths[:, None]  # (8.1)
    return real.reshape(lengths.numel(), *(1,) * (ndim - 2), m)


def combine_masks(*masks: Bool[Tensor, "..."]) -> Bool[Tensor, "..."]:
    """A key is visible where every mask allows it. (n, m) goes with anything; otherwise ranks must agree."""
    guard.masks("combine_masks", masks, half="tensor")
    together = masks[0]
    for mask in masks[1:]:
        together = together & mask  # (8.3)
    return together


def fully_masked_rows(mask: Bool[Tensor, "... m"]) -> Bool[Tensor, "..."]:
    """True for each query that may attend to nothing: its weights, output and gradients are exactly 0."""
    guard.masks("fully_masked_rows", (mask,), half="tensor")
    return ~mask.any(dim=-1)


def leak_probe(f: Callable, X: Float[Tensor, "*B n d"], t: int, generator: torch.Generator) -> float:
    """Largest change of f(X) before position t when the tokens from t on are replaced; a causal f gives exactly 0."""
    guard.tensors("leak_probe", 2, X=X)
    guard.count("leak_probe", t=t)
    if t >= X.shape[-2]:
        raise ValueError(f"leak_probe: t is {t}, expected less than the {X.shape[-2]} tokens of X")
    changed = X.clone()
    new = torch.randn(changed[..., t:, :].shape, generator=generator, dtype=X.dtype, device=generator.device)
    changed[..., t:, :] = new.to(X.device)
    with torch.no_grad():
        return (f(changed) - f(X))[..., :t, :].abs().max().item()  # (8.26)
