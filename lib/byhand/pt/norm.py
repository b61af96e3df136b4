"""Chapter 6: normalisation in PyTorch, on torch.nn.functional; tokens are rows, so features are the last axis."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from byhand.check import NonNegative, Params, Size, at_least, axes_of, checked, multiple_of
from byhand.np.norm import RUNNING
from byhand.pt._kernels import by_hand


@checked
def standardize(X: Float[Tensor, "*S"], axes: tuple[int, ...] = (-1,), eps: NonNegative = 1e-5) -> Float[Tensor, "*S"]:
    """X̂ = (X − μ) / √(σ² + ε), with mean and population variance over `axes`."""
    axes_of("standardize", X.shape, axes)
    wide = X.to(torch.promote_types(X.dtype, torch.float32))  # squares of float16 end at 65,504
    var, mean = torch.var_mean(wide, dim=axes, correction=0, keepdim=True)
    return ((wide - mean) / torch.sqrt(var + eps)).to(X.dtype)  # (6.3)


@checked
def layer_norm(
    X: Float[Tensor, "*B d"], gamma: Float[Tensor, " d"], beta: Float[Tensor, " d"], eps: NonNegative = 1e-5
) -> Float[Tensor, "*B d"]:
    """Each token by itself, over its features (Ba et al. 2016)."""
    if kernels := by_hand(X):
        return kernels.layer_norm(X, gamma, beta, eps)
    return F.layer_norm(X, X.shape[-1:], gamma, beta, eps)  # (6.4)


@checked
def instance_norm(
    X: Float[Tensor, "*B n d"], gamma: Float[Tensor, " d"], beta: Float[Tensor, " d"], eps: NonNegative = 1e-5
) -> Float[Tensor, "*B n d"]:
    """Each feature of each sequence, over its tokens."""
    return standardize(X, (-2,), eps) * gamma + beta  # (6.6)


@checked
def group_norm(
    X: Float[Tensor, "*B n d"],
    gamma: Float[Tensor, " d"],
    beta: Float[Tensor, " d"],
    groups: Size,
    eps: NonNegative = 1e-5,
) -> Float[Tensor, "*B n d"]:
    """Each group of d/groups features of each sequence, over its tokens and its features (Wu and He 2018)."""
    multiple_of("group_norm", groups, **{"width of X": X.shape[-1]})
    grouped = standardize(X.reshape(*X.shape[:-1], groups, X.shape[-1] // groups), (-3, -1), eps)
    return grouped.reshape(X.shape) * gamma + beta  # (6.6)


@checked
def batch_norm(
    X: Float[Tensor, "*B d"],
    gamma: Float[Tensor, " d"],
    beta: Float[Tensor, " d"],
    running: Params(Tensor, RUNNING),
    training: bool = True,
    momentum: float = 0.1,
    eps: NonNegative = 1e-5,
) -> Float[Tensor, "*B d"]:
    """Each feature, over every token of the batch (Ioffe and Szegedy 2015); `running` is read, and not changed."""
    rows = X.reshape(-1, X.shape[-1])
    if training:
        at_least("batch_norm", 2, **{"number of tokens of X": len(rows)})
    mean, var = running["mean"].clone(), running["var"].clone()
    return F.batch_norm(rows, mean, var, gamma, beta, training, momentum, eps).reshape(X.shape)


@checked
def rms_norm(X: Float[Tensor, "*B d"], gamma: Float[Tensor, " d"], eps: NonNegative = 1e-5) -> Float[Tensor, "*B d"]:
    """Y = γ ∘ X / √(mean X² + ε) over the features (Zhang and Sennrich 2019)."""
    if kernels := by_hand(X):
        return kernels.rms_norm(X, gamma, eps)
    return F.rms_norm(X, X.shape[-1:], gamma, eps)  # (6.25)


class LayerNorm(nn.Module):
    """LayerNorm over the features, with the parameter names of the NumPy half."""

    @checked
    def __init__(self, d: Size, eps: NonNegative = 1e-5):
        super().__init__()
        self.eps = eps
        self.gamma, self.beta = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d))

    @checked
    def forward(self, X: Float[Tensor, "*B d"]) -> Float[Tensor, "*B d"]:
        return layer_norm(X, self.gamma, self.beta, self.eps)


class RMSNorm(nn.Module):
    """RMSNorm over the features, with the parameter name of the NumPy half."""

    @checked
    def __init__(self, d: Size, eps: NonNegative = 1e-5):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d))

    @checked
    def forward(self, X: Float[Tensor, "*B d"]) -> Float[Tensor, "*B d"]:
        return rms_norm(X, self.gamma, self.eps)
