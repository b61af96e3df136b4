"""Chapter 0: the linear pieces in PyTorch; autograd does what the NumPy half derives by hand."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from byhand.check import Size, checked, repeats_to


@checked
def matmul(X: Float[Tensor, "*B n k"], Y: Float[Tensor, "*B k m"]) -> Float[Tensor, "*B n m"]:
    """Z = X Y for each leading index."""
    return X @ Y  # (0.7)


@checked
def linear(
    X: Float[Tensor, "*B d_in"], W: Float[Tensor, "d_in d_out"], b: Float[Tensor, " d_out"] | None = None
) -> Float[Tensor, "*B d_out"]:
    """Y = X W + 1 bᵀ; W is (in, out), the transpose of what torch.nn.Linear stores."""
    return F.linear(X, W.mT, b)  # (0.1); one operation, so that autocast takes the bias along


@checked
def add(X: Float[Tensor, "*S"], b: Float[Tensor, "*#S"]) -> Float[Tensor, "*S"]:
    """Y = X + b, where b is repeated along the axes that it lacks or has once; Y has X's shape."""
    return X + b  # (0.8)


@checked
def unbroadcast(dY: Float[Tensor, "*S"], shape: tuple[int, ...]) -> Float[Tensor, "*T"]:
    """Sum dY down to `shape`: torch calls it sum_to_size."""
    repeats_to("unbroadcast", dY.shape, shape=shape)
    return dY.sum_to_size(shape)  # (0.21)


@checked
def gather(E: Float[Tensor, "V d"], ids: Int[Tensor, "*B"]) -> Float[Tensor, "*B d"]:
    """Y = E[ids]: one row of E for each id."""
    return E[ids]  # (0.24)


@checked
def scatter_add(Y: Float[Tensor, "*B d"], ids: Int[Tensor, "*B"], size: Size) -> Float[Tensor, "size d"]:
    """Z[v] = sum of the rows of Y whose id is v."""
    return Y.new_zeros(size, Y.shape[-1]).index_add(0, ids.reshape(-1), Y.reshape(-1, Y.shape[-1]))  # (0.26)


class Linear(nn.Module):
    """Y = X W + b with the parameter names and shapes of the NumPy half."""

    @checked
    def __init__(self, d_in: Size, d_out: Size, bias: bool = True):
        super().__init__()
        self.W = nn.Parameter(torch.randn(d_in, d_out) / math.sqrt(d_in))
        self.b = nn.Parameter(torch.zeros(d_out)) if bias else None

    def forward(self, X: Float[Tensor, "*B d_in"]) -> Float[Tensor, "*B d_out"]:
        return linear(X, self.W, self.b)  # (0.1)
