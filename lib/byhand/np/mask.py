"""Chapters 4 and 8: who may look at whom. A mask is boolean; True means that the query (row) may attend to the key."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray as Array

from byhand import guard


def causal_mask(n: int, m: int | None = None, offset: int = 0) -> Bool[Array, "n m"]:
    """Query i may attend to keys 0..i+offset: lower triangular. m defaults to n + offset."""
    guard.count("causal_mask", n=n)
    guard.count("causal_mask", low=0, offset=offset)
    m = n + offset if m is None else m
    guard.count("causal_mask", m=m)
    return np.arange(m) <= np.arange(n)[:, None] + offset  # (8.2)


def padding_mask(lengths: Int[Array, " B"], m: int, ndim: int = 3) -> Bool[Array, "B ..."]:
    """Keys 0..length-1 are real, the rest is padding. Shape (B, 1, …, m), `ndim` axes: 4 with heads."""
    guard.count("padding_mask", m=m)
    guard.count("padding_mask", low=3, ndim=ndim)
    guard.indices("padding_mask", "lengths", lengths, m + 1)
    guard.shape("padding_mask", "lengths", lengths.shape, (lengths.size,))
    real = np.arange(m) < lengths[:, None]  # (8.1)
    return real.reshape(lengths.size, *(1,) * (ndim - 2), m)


def combine_masks(*masks: Bool[Array, "..."]) -> Bool[Array, "..."]:
    """A key is visible where every mask allows it. (n, m) goes with anything; otherwise ranks must agree."""
    guard.masks("combine_masks", masks)
    together = masks[0]
    for mask in masks[1:]:
        together = together & mask  # (8.3)
    return together


def fully_masked_rows(mask: Bool[Array, "... m"]) -> Bool[Array, "..."]:
    """True for each query that may attend to nothing: its weights, output and gradients are exactly 0."""
    guard.masks("fully_masked_rows", (mask,))
    return ~mask.any(axis=-1)


def leak_probe(f: Callable, X: Float[Array, "*B n d"], t: int, rng: np.random.Generator) -> float:
    """Largest change of f(X) before position t when the tokens from t on are replaced; a causal f gives exactly 0."""
    guard.floats("leak_probe", 2, X=X)
    guard.count("leak_probe", t=t)
    if t >= X.shape[-2]:
        raise ValueError(f"leak_probe: t is {t}, expected less than the {X.shape[-2]} tokens of X")
    changed = X.copy()
    changed[..., t:, :] = rng.normal(size=changed[..., t:, :].shape)
    return float(np.abs(f(changed) - f(X))[..., :t, :].max())  # (8.26)
