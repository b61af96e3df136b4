"""Chapters 4 and 8: masks as boolean tensors; True means that the query (row) may attend to the key."""

from collections.abc import Callable
from typing import Annotated

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from byhand.check import AtLeast, Index, Size, checked, less_than, masks_agree


@checked
def causal_mask(n: Size, m: Size | None = None, offset: Index = 0, device=None) -> Bool[Tensor, "n m"]:
    """Query i may attend to keys 0..i+offset: lower triangular. m defaults to n + offset."""
    m = n + offset if m is None else m
    return torch.ones(n, m, dtype=torch.bool, device=device).tril(offset)  # (8.2)


@checked
def padding_mask(lengths: Int[Tensor, " B"], m: Size, ndim: Annotated[int, AtLeast(3)] = 3) -> Bool[Tensor, "B ..."]:
    """Keys 0..length-1 are real, the rest is padding. Shape (B, 1, …, m), `ndim` axes: 4 with heads."""
    real = torch.arange(m, device=lengths.device) < lengths[:, None]  # (8.1)
    return real.reshape(lengths.numel(), *(1,) * (ndim - 2), m)


@checked
def combine_masks(*masks: Bool[Tensor, "..."]) -> Bool[Tensor, "..."]:
    """A key is visible where every mask allows it. (n, m) goes with anything; otherwise ranks must agree."""
    masks_agree("combine_masks", masks, Tensor)
    together = masks[0]
    for mask in masks[1:]:
        together = together & mask  # (8.3)
    return together


@checked
def fully_masked_rows(mask: Bool[Tensor, "*B n m"]) -> Bool[Tensor, "*B n"]:
    """True for each query that may attend to nothing: its weights, output and gradients are exactly 0."""
    return ~mask.any(dim=-1)


@checked
def leak_probe(
    f: Callable, X: Float[Tensor, "*B n d"] | Int[Tensor, "*B n"], t: Size, rng: torch.Generator
) -> float:
    """Largest change of f(X) before position t when the tokens from t on are replaced; a causal f gives exactly 0.

    X holds vectors, or the ids that a whole model reads; another id is drawn from 0 … max(X), or 0 and 1.
    """
    ids = not X.is_floating_point()
    less_than("leak_probe", X.shape[-1] if ids else X.shape[-2], "tokens of X", t=t)
    changed, at = X.clone(), rng.device
    if ids:
        last = max(int(X.max()), 1)
        step = torch.randint(1, last + 1, X[..., t:].shape, generator=rng, device=at)
        changed[..., t:] = (X[..., t:] + step.to(X.device)) % (last + 1)
    else:
        new = torch.randn(changed[..., t:, :].shape, generator=rng, dtype=X.dtype, device=at)
        changed[..., t:, :] = new.to(X.device)
    with torch.no_grad():
        return (f(changed) - f(X))[..., :t, :].abs().max().item()  # (8.26)
