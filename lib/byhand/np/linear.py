"""Chapter 0: the linear pieces that every layer is made of, each with its vector–Jacobian product."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

from byhand import guard


class MatmulCache(NamedTuple):
    X: Array
    Y: Array


def matmul_forward(X: Float[Array, "*B n k"], Y: Float[Array, "*B k m"]) -> tuple[Float[Array, "*B n m"], MatmulCache]:
    """Z = X Y for each leading index."""
    guard.floats("matmul", 2, X=X, Y=Y)
    guard.shape("matmul", "Y", Y.shape, (*X.shape[:-2], X.shape[-1], Y.shape[-1]))
    return X @ Y, MatmulCache(X, Y)  # (0.7)


def matmul_backward(
    dZ: Float[Array, "*B n m"], cache: MatmulCache
) -> tuple[Float[Array, "*B n k"], Float[Array, "*B k m"]]:
    """dX = dZ Yᵀ, dY = Xᵀ dZ."""
    X, Y = cache
    guard.floats("matmul_backward", 2, X=X, dZ=dZ)
    guard.shape("matmul_backward", "dZ", dZ.shape, (*X.shape[:-1], Y.shape[-1]))
    dX = dZ @ Y.mT  # (0.18)
    dY = X.mT @ dZ  # (0.18)
    return dX, dY


class LinearCache(NamedTuple):
    X: Array
    W: Array
    has_bias: bool


def linear_forward(
    X: Float[Array, "*B d_in"], W: Float[Array, "d_in d_out"], b: Float[Array, " d_out"] | None = None
) -> tuple[Float[Array, "*B d_out"], LinearCache]:
    """Y = X W + 1 bᵀ: the same weights for every token of every sequence."""
    guard.floats("linear", 1, X=X, W=W)
    guard.shape("linear", "W", W.shape, (X.shape[-1], W.shape[-1]))
    Y = X.reshape(-1, W.shape[0]) @ W  # (0.1)  every token is one row, and so all of them are one product
    if b is not None:
        guard.floats("linear", 1, X=X, b=b)
        guard.shape("linear", "b", b.shape, W.shape[-1:])
        Y += b  # (0.1)
    return Y.reshape(*X.shape[:-1], W.shape[1]), LinearCache(X, W, b is not None)


def linear_backward(
    dY: Float[Array, "*B d_out"], cache: LinearCache
) -> tuple[Float[Array, "*B d_in"], Float[Array, "d_in d_out"], Float[Array, " d_out"] | None]:
    """dX = dY Wᵀ, dW = Σ xᵀ dy, db = Σ dy, both sums over every token; db is None without a bias."""
    X, W, has_bias = cache
    guard.floats("linear_backward", 1, X=X, dY=dY)
    guard.shape("linear_backward", "dY", dY.shape, (*X.shape[:-1], W.shape[-1]))
    rows, drows = X.reshape(-1, W.shape[0]), dY.reshape(-1, W.shape[1])  # every token is one row
    dX = (drows @ W.mT).reshape(X.shape)  # (0.20)
    dW = rows.mT @ drows  # (0.20)
    db = drows.sum(axis=0) if has_bias else None  # (0.20)
    return dX, dW, db


class AddCache(NamedTuple):
    shape: tuple


def add_forward(X: Float[Array, "*S"], b: Float[Array, "*T"]) -> tuple[Float[Array, "*S"], AddCache]:
    """Y = X + b, where b is repeated along the axes that it lacks or has once; Y has X's shape."""
    guard.floats("add", 0, X=X, b=b)
    guard.repeats("add", "shape of b", b.shape, X.shape)
    return X + b, AddCache(b.shape)  # (0.8)


def add_backward(dY: Float[Array, "*S"], cache: AddCache) -> tuple[Float[Array, "*S"], Float[Array, "*T"]]:
    """dX = dY; db sums dY over the axes along which b was repeated."""
    return dY, unbroadcast(dY, cache.shape)  # (0.21)


def unbroadcast(dY: Float[Array, "*S"], shape: tuple) -> Float[Array, "*T"]:
    """Sum dY down to `shape`, the shape of an array that was repeated to dY's: copying forward is summing backward."""
    guard.floats("unbroadcast", 0, dY=dY)
    guard.repeats("unbroadcast", "shape", shape, dY.shape)
    extra = dY.ndim - len(shape)
    repeated = (*range(extra), *(extra + i for i, k in enumerate(shape) if k == 1))
    return dY.sum(axis=repeated, keepdims=True).reshape(shape)  # (0.21)


class GatherCache(NamedTuple):
    ids: Array
    size: int


def gather_forward(E: Float[Array, "V d"], ids: Int[Array, "*B"]) -> tuple[Float[Array, "*B d"], GatherCache]:
    """Y = E[ids]: one row of E for each id, the same as multiplying by one-hot rows."""
    guard.floats("gather", 2, E=E)
    guard.shape("gather", "E", E.shape, E.shape[-2:])
    guard.indices("gather", "ids", ids, E.shape[0])
    return E[ids], GatherCache(ids, E.shape[0])  # (0.24)


def gather_backward(dY: Float[Array, "*B d"], cache: GatherCache) -> Float[Array, "V d"]:
    """dE: row v collects dY from every place where v was read, repeats included."""
    ids, size = cache
    return scatter_add_forward(dY, ids, size)[0]  # (0.25)


class ScatterAddCache(NamedTuple):
    ids: Array
    size: int


def scatter_add_forward(
    Y: Float[Array, "*B d"], ids: Int[Array, "*B"], size: int
) -> tuple[Float[Array, "size d"], ScatterAddCache]:
    """Z[v] = sum of the rows of Y whose id is v; `np.add.at` adds repeats where `Z[ids] += Y` keeps only one."""
    guard.floats("scatter_add", 1, Y=Y)
    guard.count("scatter_add", size=size)
    guard.indices("scatter_add", "ids", ids, size)
    guard.shape("scatter_add", "Y", Y.shape, (*ids.shape, Y.shape[-1]))
    Z = np.zeros((size, Y.shape[-1]), Y.dtype)
    np.add.at(Z, ids, Y)  # (0.26)
    return Z, ScatterAddCache(ids, size)


def scatter_add_backward(dZ: Float[Array, "size d"], cache: ScatterAddCache) -> Float[Array, "*B d"]:
    """dY = dZ[ids]: adding into a row forward is reading that row backward."""
    guard.floats("scatter_add_backward", 2, dZ=dZ)
    guard.shape("scatter_add_backward", "dZ", dZ.shape, (cache.size, dZ.shape[-1]))
    return gather_forward(dZ, cache.ids)[0]  # (0.26)


def init_linear(
    rng: np.random.Generator, d_in: int, d_out: int, dtype=np.float32
) -> dict[str, Float[Array, "..."]]:
    """Parameters {W, b}: W normal with variance 1/d_in, which keeps the variance of the output at one; b zero."""
    guard.count("init_linear", d_in=d_in, d_out=d_out)
    W = rng.normal(scale=1 / math.sqrt(d_in), size=(d_in, d_out)).astype(dtype)
    return {"W": W, "b": np.zeros(d_out, dtype)}
