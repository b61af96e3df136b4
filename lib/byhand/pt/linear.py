"""Chapter 0: the linear pieces in PyTorch; autograd does what the NumPy half derives by hand."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from byhand import guard


def matmul(X: Float[Tensor, "*B n k"], Y: Float[Tensor, "*B k m"]) -> Float[Tensor, "*B n m"]:
    """Z = X Y for each leading index."""
    guard.tensors("matmul", 2, X=X, Y=Y)
    guard.shape("matmul", "Y", Y.shape, (*X.shape[:-2], X.shape[-1], Y.shape[-1]))
    return X @ Y  # (0.7)


def linear(
    X: Float[Tensor, "*B d_in"], W: Float[Tensor, "d_in d_out"], b: Float[Tensor, " d_out"] | None = None
) -> Float[Tensor, "*B d_out"]:
    """Y = X W + 1 bᵀ; W is (in, out), the transpose of what torch.nn.Linear stores."""
    guard.tensors("linear", 1, X=X, W=W)
    guard.shape("linear", "W", W.shape, (X.shape[-1], W.shape[-1]))
    Y = X @ W  # (0.1)
    if b is not None:
        guard.tensors("linear", 1, X=X, b=b)
        guard.shape("linear", "b", b.shape, W.shape[-1:])
        Y = Y + b  # (0.1)
    return Y


def add(X: Float[Tensor, "*S"], b: Float[Tensor, "*T"]) -> Float[Tensor, "*S"]:
    """Y = X + b, where b is repeated along the axes that it lacks or has once; Y has X's shape."""
    guard.tensors("add", 0, X=X, b=b)
    guard.repeats("add", "shape of b", b.shape, X.shape)
    return X + b  # (0.8)


def unbroadcast(dY: Float[Tensor, "*S"], shape: tuple) -> Float[Tensor, "*T"]:
    """Sum dY down to `shape`: torch calls it sum_to_size."""
    guard.tensors("unbroadcast", 0, dY=dY)
    guard.repeats("unbroadcast", "shape", shape, dY.shape)
    return dY.sum_to_size(shape)  # (0.21)


def gather(E: Float[Tensor, "V d"], ids: Int[Tensor, "*B"]) -> Float[Tensor, "*B d"]:
    """Y = E[ids]: one row of E for each id."""
    guard.tensors("gather", 2, E=E)
    guard.shape("gather", "E", E.shape, E.shape[-2:])
    guard.indices("gather", "ids", ids, E.shape[0], half="tensor")
    return E[ids]  # (0.24)


def scatter_add(Y: Float[Tensor, "*B d"], ids: Int[Tensor, "*B"], size: int) -> Float[Tensor, "size d"]:
    """Z[v] = sum of the rows of Y whose id is v."""
    guard.tensors("scatter_add", 1, Y=Y)
    guard.count("scatter_add", size=size)
    guard.indices("scatter_add", "ids", ids, size, half="tensor")
    guard.shape("scatter_add", "Y", Y.shape, (*ids.shape, Y.shape[-1]))
    return Y.new_zeros(size, Y.shape[-1]).index_add(0, ids.reshape(-1), Y.reshape(-1, Y.shape[-1]))  # (0.26)


class Linear(nn.Module):
    """Y = X W + b with the parameter names and shapes of the NumPy half."""

    def __init__(self, d_in: int, d_out: int, bias: bool = True):
        super().__init__()
        guard.count("Linear", d_in=d_in, d_out=d_out)
        self.W = nn.Parameter(torch.randn(d_in, d_out) / math.sqrt(d_in))
        self.b = nn.Parameter(torch.zeros(d_out)) if bias else None

    def forward(self, X: Float[Tensor, "*B d_in"]) -> Float[Tensor, "*B d_out"]:
        return linear(X, self.W, self.b)  # (0.1)
