"""Chapter 3: where a token stands, in numbers: sinusoids, learned rows, biases on the scores, and rotations."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

from byhand.check import Base, Dtype, Offset, Shape, Size, checked, ids_below, less_than, multiple_of, same_shape
from byhand.np.linear import (
    AddCache,
    GatherCache,
    add_backward,
    add_forward,
    gather_backward,
    gather_forward,
    scatter_add_forward,
    unbroadcast,
)

FAR = 1 << 31  # a bound on positions, which have no end of their own


@checked
def frequencies(d: Size, base: Base = 10000.0) -> Float[Array, " {d}//2"]:
    """ω_i = base^(−2i/d) for i = 0 … d/2 − 1: from one radian a position to almost none."""
    multiple_of("frequencies", 2, d=d)
    return base ** (-2 * np.arange(d // 2) / d)  # (3.13)


@checked
def sinusoidal(n: Size, d: Size, base: Base = 10000.0, offset: Offset = 0) -> Float[Array, "n d"]:
    """PE[p, 2i] = sin(p ω_i), PE[p, 2i + 1] = cos(p ω_i), p from `offset` on (Vaswani et al. 2017, section 3.5)."""
    return sinusoidal_at(np.arange(offset, offset + n), d, base)  # (3.14)


@checked
def sinusoidal_at(positions: Int[Array, "*P"], d: Size, base: Base = 10000.0) -> Float[Array, "*P d"]:
    """The row of `sinusoidal` for each position, in any order."""
    ids_below("sinusoidal_at", FAR, positions=positions)
    angle = positions[..., None] * frequencies(d, base)
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(*positions.shape, d)  # (3.14)


@checked
def shift_matrix(delta: float | int, d: Size, base: Base = 10000.0) -> Float[Array, "d d"]:
    """M with PE(p + δ) = PE(p) M for every p: one 2 × 2 rotation a frequency, so moving is linear."""
    angle = delta * frequencies(d, base)
    M, even, odd = np.zeros((d, d)), np.arange(0, d, 2), np.arange(1, d, 2)
    M[even, even] = M[odd, odd] = np.cos(angle)
    M[odd, even] = np.sin(angle)
    M[even, odd] = -np.sin(angle)  # (3.16)
    return M


@checked
def add_positions_forward(
    X: Float[Array, "*B n d"], P: Float[Array, "n d"]
) -> tuple[Float[Array, "*B n d"], AddCache]:
    """X + P: content and position share the d features."""
    return add_forward(X, P)  # (3.7)


@checked
def add_positions_backward(
    dY: Float[Array, "*B n d"], cache: AddCache
) -> tuple[Float[Array, "*B n d"], Float[Array, "n d"]]:
    """dX, dP; every sequence of the batch read the same P."""
    return add_backward(dY, cache)  # (3.8)


class ConcatCache(NamedTuple):
    X_shape: Shape["*B n d"]
    w: int  # d + k


@checked
def concat_positions_forward(
    X: Float[Array, "*B n d"], P: Float[Array, "n k"]
) -> tuple[Float[Array, "*B n d+k"], ConcatCache]:
    """[X, P]: content and position in features of their own, k of them spent on position."""
    P = np.broadcast_to(P, (*X.shape[:-1], P.shape[-1]))
    Y = np.concatenate([X, P], axis=-1)  # (3.9)
    return Y, ConcatCache(X.shape, Y.shape[-1])


@checked
def concat_positions_backward(
    dY: Float[Array, "*B n w"], cache: ConcatCache
) -> tuple[Float[Array, "*B n d"], Float[Array, "n k"]]:
    """dX, dP: each takes its own features of dY."""
    d = cache.X_shape[-1]
    dX, dP = dY[..., :d], dY[..., d:]  # (3.10)
    return dX, unbroadcast(dP, dP.shape[-2:])  # (3.10)


@checked
def learned_positions_forward(
    table: Float[Array, "N d"], n: Size, offset: Offset = 0
) -> tuple[Float[Array, "n d"], GatherCache]:
    """Rows offset … offset + n − 1 of a table that is trained like any other; beyond its end there is nothing."""
    less_than("learned_positions", len(table), "rows of table", last_position=offset + n - 1)
    return gather_forward(table, np.arange(offset, offset + n))  # (3.21)


@checked
def learned_positions_backward(dP: Float[Array, "n d"], cache: GatherCache) -> Float[Array, "N d"]:
    """dtable: zero in the rows that were not read."""
    return gather_backward(dP, cache)  # (3.22)


class RelativeBiasCache(NamedTuple):
    ids: Int[Array, "*P n m"]
    H: int
    r: int


@checked
def relative_bias_forward(
    table: Float[Array, "H r"],
    n: Size,
    m: Size | None = None,
    offset: Offset = 0,
    positions: Int[Array, "*P n"] | None = None,
) -> tuple[Float[Array, "*P H n m"], RelativeBiasCache]:
    """bias[h, i, j] = table[h, ρ + clip(j − i − offset, −ρ, ρ)], to be added to the scores.

    One number a head and a distance (Shaw et al. 2018 in the form of Raffel et al. 2020, without their buckets);
    r = 2ρ + 1. Query i stands at position i + offset; m defaults to n + offset. Where tokens do not stand at 0, 1, …,
    `positions` says where, and m is n.
    """
    H, r = table.shape
    rho = r // 2
    same_shape("relative_bias", (H, 2 * rho + 1), table=table.shape)
    away = _distance("relative_bias", n, m, offset, positions)
    ids = rho + np.clip(away, -rho, rho)
    rows, _ = gather_forward(table.mT, ids)  # (3.23)
    return np.moveaxis(rows, -1, -3), RelativeBiasCache(ids, H, r)  # (3.23)


@checked
def relative_bias_backward(dB: Float[Array, "*P H n m"], cache: RelativeBiasCache) -> Float[Array, "H r"]:
    """dtable: the sum of dB over each diagonal; the two ends collect every pair that is further apart."""
    rows = np.moveaxis(dB, -3, -1)
    dtable, _ = scatter_add_forward(rows, cache.ids, cache.r)  # (3.24)
    return dtable.mT  # (3.24)


@checked
def alibi_slopes(H: Size) -> Float[Array, " H"]:
    """2^(−8h/H) for h = 1 … H. If H is no power of two: those of the one below it, then every other of the next."""
    whole = 1 << (H.bit_length() - 1)
    slopes = 2.0 ** (-8 * np.arange(1, whole + 1) / whole)  # (3.27)
    between = 2.0 ** (-8 * np.arange(1, 2 * whole, 2) / (2 * whole))
    return np.concatenate([slopes, between[: H - whole]])


@checked
def alibi_bias(
    H: Size, n: Size, m: Size | None = None, offset: Offset = 0, positions: Int[Array, "*P n"] | None = None
) -> Float[Array, "*P H n m"]:
    """bias[h, i, j] = −slope_h |j − i − offset|: distance costs, and nothing is learned (Press et al. 2022).

    Where tokens do not stand at 0, 1, …, `positions` says where, and m is n.
    """
    distance = _distance("alibi_bias", n, m, offset, positions)
    slopes = alibi_slopes(H)[:, None, None]
    return -slopes * np.abs(distance)[..., None, :, :]  # (3.25)


class RopeCache(NamedTuple):
    X_shape: Shape["*B n d"]
    cos: Float[Array, "..."]
    sin: Float[Array, "..."]
    interleaved: bool


@checked
def rope_forward(
    X: Float[Array, "*B n d"],
    positions: Int[Array, "*#B n"] | None = None,
    offset: Offset = 0,
    rope_theta: Base = 10000.0,
    interleaved: bool = True,
) -> tuple[Float[Array, "*B n d"], RopeCache]:
    """Each pair of features of token p turned by p ω_i (Su et al. 2021): for queries and keys, before q · k.

    Pairs are neighbours (2i, 2i + 1), or (i, i + d/2) if not interleaved. Positions are 0 … n − 1, or given, of shape
    (n,) or one that repeats to (*B, n), each plus `offset`.
    """
    positions = np.arange(X.shape[-2]) if positions is None else positions
    ids_below("rope", FAR, positions=positions)
    omega = frequencies(X.shape[-1], rope_theta)
    angle = (positions + offset)[..., None] * omega  # kept in float64: a float32 angle is wrong far out
    cos, sin = np.cos(angle).astype(X.dtype), np.sin(angle).astype(X.dtype)
    Y = _rotate(X, cos, sin, interleaved)  # (3.29)
    return Y, RopeCache(X.shape, cos, sin, interleaved)


@checked
def rope_backward(dY: Float[Array, "*B n d"], cache: RopeCache) -> Float[Array, "*B n d"]:
    """dX: the gradient turned back, for the transpose of a rotation is its inverse."""
    return _rotate(dY, cache.cos, -cache.sin, cache.interleaved)  # (3.31)


@checked
def interleave_permutation(d: Size) -> Int[Array, " d"]:
    """π with rope(X, interleaved)[..., π] = rope(X[..., π], not interleaved): even features first, then odd ones."""
    multiple_of("interleave_permutation", 2, d=d)
    return np.concatenate([np.arange(0, d, 2), np.arange(1, d, 2)])  # (3.32)


@checked
def init_learned_positions(
    rng: np.random.Generator, n: Size, d: Size, dtype: Dtype = np.float32
) -> dict[str, Float[Array, "n d"]]:
    """Parameters {table}, small and random."""
    return {"table": rng.normal(scale=0.02, size=(n, d)).astype(dtype)}


@checked
def init_relative_bias(H: Size, max_distance: Size, dtype: Dtype = np.float32) -> dict[str, Float[Array, "H r"]]:
    """Parameters {table}, zero: every distance starts alike."""
    return {"table": np.zeros((H, 2 * max_distance + 1), dtype)}


def _distance(where, n, m, offset, positions):
    """How far key j stands behind query i, (*P, n, m): j − i − offset, or that of their positions."""
    if positions is None:
        keys = np.arange(n + offset if m is None else m)
        return keys - np.arange(offset, offset + n)[:, None]
    ids_below(where, FAR, positions=positions)
    if m not in (None, n):
        raise ValueError(f"{where}: m is {m}, expected {n}, as many keys as there are positions")
    return positions[..., None, :] - positions[..., None] - offset


def _rotate(X, cos, sin, interleaved):
    half = X.shape[-1] // 2
    if interleaved:
        a, b = np.s_[..., ::2], np.s_[..., 1::2]
    else:
        a, b = np.s_[..., :half], np.s_[..., half:]
    Y = np.empty_like(X)
    Y[a] = X[a] * cos - X[b] * sin
    Y[b] = X[a] * sin + X[b] * cos  # (3.29)
    return Y
