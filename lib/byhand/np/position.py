"""Chapter 3: where a token stands, in numbers: sinusoids, learned rows, biases on the scores, and rotations."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

from byhand import guard
from byhand.np.linear import (
    AddCache,
    GatherCache,
    add_backward,
    add_forward,
    gather_backward,
    gather_forward,
    unbroadcast,
)


def frequencies(d: int, base: float = 10000.0) -> Float[Array, " {d}//2"]:
    """ω_i = base^(−2i/d) for i = 0 … d/2 − 1: from one radian a position to almost none."""
    guard.multiple("frequencies", 2, d=d)
    guard.number("frequencies", low=0, base=base)
    return base ** (-2 * np.arange(d // 2) / d)  # (3.13)


def sinusoidal(n: int, d: int, base: float = 10000.0, offset: int = 0) -> Float[Array, "n d"]:
    """PE[p, 2i] = sin(p ω_i), PE[p, 2i + 1] = cos(p ω_i), p from `offset` on (Vaswani et al. 2017, section 3.5)."""
    guard.count("sinusoidal", n=n)
    guard.count("sinusoidal", low=0, offset=offset)
    return sinusoidal_at(np.arange(offset, offset + n), d, base)


def sinusoidal_at(positions: Int[Array, "*P"], d: int, base: float = 10000.0) -> Float[Array, "*P d"]:
    """The row of `sinusoidal` for each position, in any order."""
    guard.indices("sinusoidal_at", "positions", positions, guard.FAR)
    angle = positions[..., None] * frequencies(d, base)
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(*positions.shape, d)  # (3.14)


def shift_matrix(delta: float | int, d: int, base: float = 10000.0) -> Float[Array, "d d"]:
    """M with PE(p + δ) = PE(p) M for every p: one 2 × 2 rotation a frequency, so moving is linear."""
    guard.number("shift_matrix", delta=delta)
    angle = delta * frequencies(d, base)
    M, even, odd = np.zeros((d, d)), np.arange(0, d, 2), np.arange(1, d, 2)
    M[even, even] = M[odd, odd] = np.cos(angle)
    M[odd, even] = np.sin(angle)
    M[even, odd] = -np.sin(angle)  # (3.16)
    return M


def add_positions_forward(
    X: Float[Array, "*B n d"], P: Float[Array, "n d"]
) -> tuple[Float[Array, "*B n d"], AddCache]:
    """X + P: content and position share the d features."""
    guard.floats("add_positions", 2, X=X, P=P)
    guard.shape("add_positions", "P", P.shape, X.shape[-2:])
    return add_forward(X, P)  # (3.7)


def add_positions_backward(
    dY: Float[Array, "*B n d"], cache: AddCache
) -> tuple[Float[Array, "*B n d"], Float[Array, "n d"]]:
    """dX, dP; every sequence of the batch read the same P."""
    return add_backward(dY, cache)  # (3.8)


class ConcatCache(NamedTuple):
    d: int


def concat_positions_forward(
    X: Float[Array, "*B n d"], P: Float[Array, "n k"]
) -> tuple[Float[Array, "*B n d+k"], ConcatCache]:
    """[X, P]: content and position in features of their own, k of them spent on position."""
    guard.floats("concat_positions", 2, X=X, P=P)
    guard.shape("concat_positions", "P", P.shape, (X.shape[-2], P.shape[-1]))
    P = np.broadcast_to(P, (*X.shape[:-1], P.shape[-1]))
    return np.concatenate([X, P], axis=-1), ConcatCache(X.shape[-1])  # (3.9)


def concat_positions_backward(
    dY: Float[Array, "*B n w"], cache: ConcatCache
) -> tuple[Float[Array, "*B n d"], Float[Array, "n k"]]:
    """dX, dP: each takes its own features of dY."""
    guard.floats("concat_positions_backward", 2, dY=dY)
    dX, dP = dY[..., : cache.d], dY[..., cache.d :]
    return dX, unbroadcast(dP, dP.shape[-2:])  # (3.10)


def learned_positions_forward(
    table: Float[Array, "N d"], n: int, offset: int = 0
) -> tuple[Float[Array, "n d"], GatherCache]:
    """Rows offset … offset + n − 1 of a table that is trained like any other; beyond its end there is nothing."""
    guard.floats("learned_positions", 2, table=table)
    guard.window("learned_positions", table.shape[0], n, offset)
    return gather_forward(table, np.arange(offset, offset + n))  # (3.21)


def learned_positions_backward(dP: Float[Array, "n d"], cache: GatherCache) -> Float[Array, "N d"]:
    """dtable: zero in the rows that were not read."""
    return gather_backward(dP, cache)  # (3.22)


def relative_bias_forward(
    table: Float[Array, "H r"], n: int, m: int | None = None, offset: int = 0
) -> tuple[Float[Array, "H n m"], GatherCache]:
    """bias[h, i, j] = table[h, ρ + clip(j − i − offset, −ρ, ρ)], to be added to the scores.

    One number a head and a distance (Shaw et al. 2018 in the form of Raffel et al. 2020, without their buckets);
    r = 2ρ + 1. Query i stands at position i + offset; m defaults to n + offset.
    """
    guard.floats("relative_bias", 2, table=table)
    rho = table.shape[-1] // 2
    guard.shape("relative_bias", "table", table.shape, (table.shape[0], 2 * rho + 1))
    away = np.clip(_distance("relative_bias", n, m, offset), -rho, rho)
    rows, cache = gather_forward(table.mT, away + rho)  # (3.23)
    return np.moveaxis(rows, -1, 0), cache


def relative_bias_backward(dB: Float[Array, "H n m"], cache: GatherCache) -> Float[Array, "H r"]:
    """dtable: the sum of dB over each diagonal; the two ends collect every pair that is further apart."""
    guard.floats("relative_bias_backward", 3, dB=dB)
    return gather_backward(np.moveaxis(dB, 0, -1), cache).mT  # (3.24)


def alibi_slopes(H: int) -> Float[Array, " H"]:
    """2^(−8h/H) for h = 1 … H. If H is no power of two: those of the one below it, then every other of the next."""
    guard.count("alibi_slopes", H=H)
    whole = 1 << (int(H).bit_length() - 1)
    slopes = 2.0 ** (-8 * np.arange(1, whole + 1) / whole)  # (3.27)
    between = 2.0 ** (-8 * np.arange(1, 2 * whole, 2) / (2 * whole))
    return np.concatenate([slopes, between[: H - whole]])


def alibi_bias(H: int, n: int, m: int | None = None, offset: int = 0) -> Float[Array, "H n m"]:
    """bias[h, i, j] = −slope_h |j − i − offset|: distance costs, and nothing is learned (Press et al. 2022)."""
    return -alibi_slopes(H)[:, None, None] * np.abs(_distance("alibi_bias", n, m, offset))  # (3.25)


class RopeCache(NamedTuple):
    cos: Array
    sin: Array
    interleaved: bool


def rope_forward(
    X: Float[Array, "*B n d"],
    positions: Int[Array, "..."] | None = None,
    offset: int = 0,
    rope_theta: float = 10000.0,
    interleaved: bool = True,
) -> tuple[Float[Array, "*B n d"], RopeCache]:
    """Each pair of features of token p turned by p ω_i (Su et al. 2021): for queries and keys, before q · k.

    Pairs are neighbours (2i, 2i + 1), or (i, i + d/2) if not interleaved. Positions are offset … offset + n − 1, or
    given, of shape (n,) or one that repeats to (*B, n).
    """
    guard.floats("rope", 2, X=X)
    guard.flag("rope", interleaved=interleaved)
    omega = frequencies(X.shape[-1], rope_theta)
    if positions is None:
        guard.count("rope", low=0, offset=offset)
        positions = np.arange(offset, offset + X.shape[-2])
    guard.indices("rope", "positions", positions, guard.FAR)
    guard.repeats("rope", "shape of positions", positions.shape, X.shape[:-1])
    angle = positions[..., None] * omega  # in float64: a float32 angle is wrong from a few thousand positions on
    cache = RopeCache(np.cos(angle).astype(X.dtype), np.sin(angle).astype(X.dtype), interleaved)
    return _rotate(X, *cache), cache


def rope_backward(dY: Float[Array, "*B n d"], cache: RopeCache) -> Float[Array, "*B n d"]:
    """dX: the gradient turned back, for the transpose of a rotation is its inverse."""
    guard.floats("rope_backward", 2, dY=dY, cos=cache.cos)
    guard.multiple("rope_backward", 2, **{"width of dY": dY.shape[-1]})
    guard.repeats("rope_backward", "shape of the angles for dY", cache.cos.shape, (*dY.shape[:-1], dY.shape[-1] // 2))
    return _rotate(dY, cache.cos, -cache.sin, cache.interleaved)  # (3.31)


def interleave_permutation(d: int) -> Int[Array, " d"]:
    """π with rope(X, interleaved)[..., π] = rope(X[..., π], not interleaved): even features first, then odd ones."""
    guard.multiple("interleave_permutation", 2, d=d)
    return np.concatenate([np.arange(0, d, 2), np.arange(1, d, 2)])  # (3.32)


def init_learned_positions(
    rng: np.random.Generator, n: int, d: int, dtype=np.float32
) -> dict[str, Float[Array, "n d"]]:
    """Parameters {table}, small and random."""
    guard.count("init_learned_positions", n=n, d=d)
    return {"table": rng.normal(scale=0.02, size=(n, d)).astype(dtype)}


def init_relative_bias(H: int, max_distance: int, dtype=np.float32) -> dict[str, Float[Array, "H r"]]:
    """Parameters {table}, zero: every distance starts alike."""
    guard.count("init_relative_bias", H=H, max_distance=max_distance)
    return {"table": np.zeros((H, 2 * max_distance + 1), dtype)}


def _distance(where, n, m, offset):
    """j − (i + offset): how far key j stands behind query i, (n, m)."""
    guard.count(where, n=n)
    guard.count(where, low=0, offset=offset)
    m = n + offset if m is None else m
    guard.count(where, m=m)
    return np.arange(m) - np.arange(offset, offset + n)[:, None]


def _rotate(X, cos, sin, interleaved):
    half = X.shape[-1] // 2
    a, b = (np.s_[..., ::2], np.s_[..., 1::2]) if interleaved else (np.s_[..., :half], np.s_[..., half:])
    Y = np.empty_like(X)
    Y[a] = X[a] * cos - X[b] * sin
    Y[b] = X[a] * sin + X[b] * cos  # (3.29)
    return Y
