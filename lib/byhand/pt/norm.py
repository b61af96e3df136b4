"""Chapter 6: normalisation in PyTorch, on torch.nn.functional; tokens are rows, so features are the last axis."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from byhand import guard


def standardize(X: Float[Tensor, "*S"], axes: tuple[int, ...] = (-1,), eps: float = 1e-5) -> Float[Tensor, "*S"]:
    """X̂ = (X − μ) / √(σ² + ε), with mean and population variance over `axes`."""
    guard.tensors("standardize", 1, X=X)
    guard.axes("standardize", axes, X)
    guard.within("standardize", 0, math.inf, eps=eps)
    var, mean = torch.var_mean(X, dim=axes, correction=0, keepdim=True)
    return (X - mean) / torch.sqrt(var + eps)  # (6.3)


def layer_norm(
    X: Float[Tensor, "*B d"], gamma: Float[Tensor, " d"], beta: Float[Tensor, " d"], eps: float = 1e-5
) -> Float[Tensor, "*B d"]:
    """Each token by itself, over its features (Ba et al. 2016)."""
    _affine("layer_norm", X, eps, 1, gamma=gamma, beta=beta)
    return F.layer_norm(X, X.shape[-1:], gamma, beta, eps)  # (6.4)


def instance_norm(
    X: Float[Tensor, "*B n d"], gamma: Float[Tensor, " d"], beta: Float[Tensor, " d"], eps: float = 1e-5
) -> Float[Tensor, "*B n d"]:
    """Each feature of each sequence, over its tokens."""
    _affine("instance_norm", X, eps, 2, gamma=gamma, beta=beta)
    return standardize(X, (-2,), eps) * gamma + beta  # (6.6)


def group_norm(
    X: Float[Tensor, "*B n d"], gamma: Float[Tensor, " d"], beta: Float[Tensor, " d"], groups: int, eps: float = 1e-5
) -> Float[Tensor, "*B n d"]:
    """Each group of d/groups features of each sequence, over its tokens and its features (Wu and He 2018)."""
    _affine("group_norm", X, eps, 2, gamma=gamma, beta=beta)
    guard.count("group_norm", groups=groups)
    if X.shape[-1] % groups:
        raise ValueError(f"group_norm: groups is {groups}, expected a divisor of the {X.shape[-1]} features of X")
    grouped = standardize(X.reshape(*X.shape[:-1], groups, X.shape[-1] // groups), (-3, -1), eps)
    return grouped.reshape(X.shape) * gamma + beta  # (6.6)


def batch_norm(
    X: Float[Tensor, "*B d"],
    gamma: Float[Tensor, " d"],
    beta: Float[Tensor, " d"],
    running: dict[str, Float[Tensor, " d"]],
    training: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Float[Tensor, "*B d"]:
    """Each feature, over every token of the batch (Ioffe and Szegedy 2015); `running` is read, and not changed."""
    _affine("batch_norm", X, eps, 2, gamma=gamma, beta=beta)
    guard.params("batch_norm", running, ["mean", "var"], called="running", X=X)
    guard.flag("batch_norm", training=training)
    guard.number("batch_norm", momentum=momentum)
    guard.shapes("batch_norm", running, "running", mean=gamma.shape, var=gamma.shape)
    rows = X.reshape(-1, X.shape[-1])
    if training and len(rows) < 2:
        raise ValueError(f"batch_norm: X has {len(rows)} token, expected at least 2 to train on")
    mean, var = running["mean"].clone(), running["var"].clone()
    return F.batch_norm(rows, mean, var, gamma, beta, training, momentum, eps).reshape(X.shape)


def rms_norm(X: Float[Tensor, "*B d"], gamma: Float[Tensor, " d"], eps: float = 1e-6) -> Float[Tensor, "*B d"]:
    """Y = γ ∘ X / √(mean X² + ε) over the features (Zhang and Sennrich 2019)."""
    _affine("rms_norm", X, eps, 1, gamma=gamma)
    return F.rms_norm(X, X.shape[-1:], gamma, eps)  # (6.25)


def _affine(where, X, eps, rank, **affine):
    guard.tensors(where, rank, X=X)
    guard.tensors(where, 1, X=X, **affine)
    guard.within(where, 0, math.inf, eps=eps)
    for name, x in affine.items():
        guard.shape(where, name, x.shape, X.shape[-1:])


class LayerNorm(nn.Module):
    """LayerNorm over the features, with the parameter names of the NumPy half."""

    def __init__(self, d: int, eps: float = 1e-5):
        super().__init__()
        guard.count("LayerNorm", d=d)
        self.eps = eps
        self.gamma, self.beta = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d))

    def forward(self, X: Float[Tensor, "*B d"]) -> Float[Tensor, "*B d"]:
        return layer_norm(X, self.gamma, self.beta, self.eps)


class RMSNorm(nn.Module):
    """RMSNorm over the features, with the parameter name of the NumPy half."""

    def __init__(self, d: int, eps: float = 1e-6):
        super().__init__()
        guard.count("RMSNorm", d=d)
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d))

    def forward(self, X: Float[Tensor, "*B d"]) -> Float[Tensor, "*B d"]:
        return rms_norm(X, self.gamma, self.eps)
