"""Chapters 4 and 8: who may look at whom. A mask is boolean; True means that the query (row) may attend to the key."""

from collections.abc import Callable
from typing import Annotated

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray as Array

from byhand.check import AtLeast, Index, Size, checked, ids_below, less_than, masks_agree


@checked
def causal_mask(n: Size, m: Size | None = None, offset: Index = 0) -> Bool[Array, "n m"]:
    """Query i may attend to keys 0..i+offset: lower triangular. m defaults to n + offset."""
    m = n + offset if m is None else m
    return np.arange(m) <= np.arange(n)[:, None] + offset  # (8.2)


@checked
def padding_mask(lengths: Int[Array, " B"], m: Size, ndim: Annotated[int, AtLeast(3)] = 3) -> Bool[Array, "B ..."]:
    """Keys 0..length-1 are real, the rest is padding. Shape (B, 1, …, m), `ndim` axes: 4 with heads."""
    ids_below("padding_mask", m + 1, lengths=lengths)
    real = np.arange(m) < lengths[:, None]  # (8.1)
    return real.reshape(lengths.size, *(1,) * (ndim - 2), m)


@checked
def combine_masks(*masks: Bool[Array, "..."]) -> Bool[Array, "..."]:
    """A key is visible where every mask allows it. (n, m) goes with anything; otherwise ranks must agree."""
    masks_agree("combine_masks", masks, Array)
    together = masks[0]
    for mask in masks[1:]:
        together = together & mask  # (8.3)
    return together


@checked
def fully_masked_rows(mask: Bool[Array, "*B n m"]) -> Bool[Array, "*B n"]:
    """True for each query that may attend to nothing: its weights, output and gradients are exactly 0."""
    return ~mask.any(axis=-1)


@checked
def leak_probe(
    f: Callable, X: Float[Array, "*B n d"] | Int[Array, "*B n"], t: Size, rng: np.random.Generator
) -> float:
    """Largest change of f(X) before position t when the tokens from t on are replaced; a causal f gives exactly 0.

    X holds vectors, or the ids that a whole model reads; another id is drawn from 0 … max(X), or 0 and 1.
    """
    ids = X.dtype.kind == "i"
    less_than("leak_probe", X.shape[-1] if ids else X.shape[-2], "tokens of X", t=t)
    changed = X.copy()
    if ids:
        last = max(int(X.max()), 1)
        step = rng.integers(1, last + 1, X[..., t:].shape)
        changed[..., t:] = (X[..., t:] + step) % (last + 1)
    else:
        changed[..., t:, :] = rng.normal(size=changed[..., t:, :].shape)
    return float(np.abs(f(changed) - f(X))[..., :t, :].max())  # (8.26)
