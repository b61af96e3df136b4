"""Chapter 0: the linear pieces that every layer is made of, each with its vector–Jacobian product."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

from byhand.check import Dtype, Shape, Size, checked, ids_below, repeats_to


class MatmulCache(NamedTuple):
    X: Float[Array, "*B n k"]
    Y: Float[Array, "*B k m"]


@checked
def matmul_forward(X: Float[Array, "*B n k"], Y: Float[Array, "*B k m"]) -> tuple[Float[Array, "*B n m"], MatmulCache]:
    """Z = X Y for each leading index."""
    return X @ Y, MatmulCache(X, Y)  # (0.7)


@checked
def matmul_backward(
    dZ: Float[Array, "*B n m"], cache: MatmulCache
) -> tuple[Float[Array, "*B n k"], Float[Array, "*B k m"]]:
    """dX = dZ Yᵀ, dY = Xᵀ dZ."""
    X, Y = cache
    dX = dZ @ Y.mT  # (0.18)
    dY = X.mT @ dZ  # (0.18)
    return dX, dY


class LinearCache(NamedTuple):
    X: Float[Array, "*B d_in"]
    W: Float[Array, "d_in d_out"]
    has_bias: bool


@checked
def linear_forward(
    X: Float[Array, "*B d_in"], W: Float[Array, "d_in d_out"], b: Float[Array, " d_out"] | None = None
) -> tuple[Float[Array, "*B d_out"], LinearCache]:
    """Y = X W + 1 bᵀ: the same weights for every token of every sequence."""
    Y = X.reshape(-1, W.shape[0]) @ W  # (0.1)  every token is one row, and so all of them are one product
    if b is not None:
        Y += b  # (0.1)
    return Y.reshape(*X.shape[:-1], W.shape[1]), LinearCache(X, W, b is not None)


@checked
def linear_backward(
    dY: Float[Array, "*B d_out"], cache: LinearCache
) -> tuple[Float[Array, "*B d_in"], Float[Array, "d_in d_out"], Float[Array, " d_out"] | None]:
    """dX = dY Wᵀ, dW = Σ xᵀ dy, db = Σ dy, both sums over every token; db is None without a bias."""
    X, W, has_bias = cache
    rows, drows = X.reshape(-1, W.shape[0]), dY.reshape(-1, W.shape[1])  # every token is one row
    dX = (drows @ W.mT).reshape(X.shape)  # (0.20)
    dW = rows.mT @ drows  # (0.20)
    db = drows.sum(axis=0) if has_bias else None  # (0.20)
    return dX, dW, db


class AddCache(NamedTuple):
    X_shape: Shape["*S"]
    b_shape: Shape["*T"]


@checked
def add_forward(X: Float[Array, "*S"], b: Float[Array, "*#S"]) -> tuple[Float[Array, "*S"], AddCache]:
    """Y = X + b, where b is repeated along the axes that it lacks or has once; Y has X's shape."""
    return X + b, AddCache(X.shape, b.shape)  # (0.8)


@checked
def add_backward(dY: Float[Array, "*S"], cache: AddCache) -> tuple[Float[Array, "*S"], Float[Array, "*T"]]:
    """dX = dY; db sums dY over the axes along which b was repeated."""
    return dY, unbroadcast(dY, cache.b_shape)  # (0.21)


@checked
def unbroadcast(dY: Float[Array, "*S"], shape: tuple[int, ...]) -> Float[Array, "*T"]:
    """Sum dY down to `shape`, the shape of an array that was repeated to dY's: copying forward is summing backward."""
    repeats_to("unbroadcast", dY.shape, shape=shape)
    extra = dY.ndim - len(shape)
    repeated = (*range(extra), *(extra + i for i, k in enumerate(shape) if k == 1))
    return dY.sum(axis=repeated, keepdims=True).reshape(shape)  # (0.21)


class GatherCache(NamedTuple):
    ids: Int[Array, "*B"]
    V: int
    d: int


@checked
def gather_forward(E: Float[Array, "V d"], ids: Int[Array, "*B"]) -> tuple[Float[Array, "*B d"], GatherCache]:
    """Y = E[ids]: one row of E for each id, the same as multiplying by one-hot rows."""
    ids_below("gather", len(E), ids=ids)
    return E[ids], GatherCache(ids, *E.shape)  # (0.24)


@checked
def gather_backward(dY: Float[Array, "*B d"], cache: GatherCache) -> Float[Array, "V d"]:
    """dE: row v collects dY from every place where v was read, repeats included."""
    return scatter_add_forward(dY, cache.ids, cache.V)[0]  # (0.25)


class ScatterAddCache(NamedTuple):
    ids: Int[Array, "*B"]
    size: int
    d: int


@checked
def scatter_add_forward(
    Y: Float[Array, "*B d"], ids: Int[Array, "*B"], size: Size
) -> tuple[Float[Array, "size d"], ScatterAddCache]:
    """Z[v] = sum of the rows of Y whose id is v; `np.add.at` adds repeats where `Z[ids] += Y` keeps only one."""
    ids_below("scatter_add", size, ids=ids)
    Z = np.zeros((size, Y.shape[-1]), Y.dtype)
    np.add.at(Z, ids, Y)  # (0.26)
    return Z, ScatterAddCache(ids, *Z.shape)  # (0.26)


@checked
def scatter_add_backward(dZ: Float[Array, "size d"], cache: ScatterAddCache) -> Float[Array, "*B d"]:
    """dY = dZ[ids]: adding into a row forward is reading that row backward."""
    return gather_forward(dZ, cache.ids)[0]  # (0.26)


@checked
def init_linear(
    rng: np.random.Generator, d_in: Size, d_out: Size, dtype: Dtype = np.float32
) -> dict[str, Float[Array, "..."]]:
    """Parameters {W, b}: W normal with variance 1/d_in, which keeps the variance of the output at one; b zero."""
    W = rng.normal(scale=1 / math.sqrt(d_in), size=(d_in, d_out)).astype(dtype)
    return {"W": W, "b": np.zeros(d_out, dtype)}
