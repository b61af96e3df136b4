"""Chapter 1: the recurrent layer and the convolution in PyTorch, and the gated layers to compare attention with."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from byhand import guard
from byhand.np.recurrent import receptive_field

__all__ = ["GRU", "LSTM", "RNN", "Conv1d", "conv1d", "receptive_field", "rnn", "rnn_jacobian"]


def rnn(
    X: Float[Tensor, "*B n d"], params: dict[str, Float[Tensor, "..."]], h0: Float[Tensor, "*B h"] | None = None
) -> Float[Tensor, "*B n h"]:
    """h_t = tanh(x_t W_x + h_{t−1} W_h + b) (Elman 1990), from h0 or zeros: n steps, one after the other."""
    guard.recurrent("rnn", X, params, h0, half="tensor")
    steps = X @ params["W_x"] + params["b"]
    h = steps.new_zeros(steps[..., 0, :].shape) if h0 is None else h0
    H = []
    for step in steps.unbind(dim=-2):
        h = torch.tanh(step + h @ params["W_h"])
        H.append(h)
    return torch.stack(H, dim=-2)


def rnn_jacobian(H: Float[Tensor, "n h"], W_h: Float[Tensor, "h h"]) -> Float[Tensor, "h h"]:
    """J[i, j] = ∂h_T[j] / ∂h_1[i] along one run: a product of n − 1 factors W_h diag(1 − h_t²); with H = 0, a power."""
    guard.tensors("rnn_jacobian", 2, H=H, W_h=W_h)
    guard.shape("rnn_jacobian", "H", H.shape, H.shape[-2:])
    guard.shape("rnn_jacobian", "W_h", W_h.shape, (H.shape[-1], H.shape[-1]))
    J = torch.eye(H.shape[-1], dtype=H.dtype, device=H.device)
    for h in H[1:]:
        J = (J @ W_h) * (1 - h * h)
    return J


def conv1d(
    X: Float[Tensor, "*B n d_in"],
    W: Float[Tensor, "k d_in d_out"],
    b: Float[Tensor, " d_out"] | None = None,
    dilation: int = 1,
    causal: bool = False,
) -> Float[Tensor, "*B n d_out"]:
    """y_i = Σ_j x_{i + j·dilation − left} W_j + b, with zeros outside; torch wants channels first, and W transposed."""
    guard.conv1d("conv1d", X, W, b, dilation, half="tensor")
    guard.flag("conv1d", causal=causal)
    reach = (W.shape[0] - 1) * dilation
    left = reach if causal else reach // 2
    channels = F.pad(X.reshape(-1, *X.shape[-2:]).mT, (left, reach - left))
    Y = F.conv1d(channels, W.permute(2, 1, 0), b, dilation=dilation)
    return Y.mT.reshape(*X.shape[:-1], W.shape[-1])


class RNN(nn.Module):
    """A tanh RNN with the parameters {W_x, W_h, b} of the NumPy half."""

    def __init__(self, d: int, h: int):
        super().__init__()
        guard.count("RNN", d=d, h=h)
        self.W_x = nn.Parameter(torch.randn(d, h) / math.sqrt(d))
        self.W_h = nn.Parameter(torch.randn(h, h) / math.sqrt(h))
        self.b = nn.Parameter(torch.zeros(h))

    def forward(
        self, X: Float[Tensor, "*B n d"], h0: Float[Tensor, "*B h"] | None = None
    ) -> Float[Tensor, "*B n h"]:
        return rnn(X, dict(self.named_parameters()), h0)


class Conv1d(nn.Module):
    """A convolution over tokens with the parameters {W, b} of the NumPy half."""

    def __init__(self, kernel: int, d_in: int, d_out: int, dilation: int = 1, causal: bool = False):
        super().__init__()
        guard.count("Conv1d", kernel=kernel, d_in=d_in, d_out=d_out, dilation=dilation)
        self.dilation, self.causal = dilation, causal
        self.W = nn.Parameter(torch.randn(kernel, d_in, d_out) / math.sqrt(kernel * d_in))
        self.b = nn.Parameter(torch.zeros(d_out))

    def forward(self, X: Float[Tensor, "*B n d_in"]) -> Float[Tensor, "*B n d_out"]:
        return conv1d(X, self.W, self.b, self.dilation, self.causal)


class _Gated(nn.Module):
    """A recurrent layer of torch.nn with tokens as rows and free leading axes; its parameters keep torch's names."""

    def __init__(self, kind: type[nn.RNNBase], d: int, h: int, layers: int):
        super().__init__()
        guard.count(type(self).__name__, d=d, h=h, layers=layers)
        self.net = kind(d, h, layers, batch_first=True)

    def forward(self, X: Float[Tensor, "*B n d"]) -> Float[Tensor, "*B n h"]:
        guard.tensors(type(self).__name__, 2, X=X)
        guard.shape(type(self).__name__, "X", X.shape, (*X.shape[:-1], self.net.input_size))
        H, _ = self.net(X.reshape(-1, *X.shape[-2:]))
        return H.reshape(*X.shape[:-1], H.shape[-1])


class GRU(_Gated):
    """Two gates (Cho et al. 2014): how much of the old state to keep, and how much of it to read."""

    def __init__(self, d: int, h: int, layers: int = 1):
        super().__init__(nn.GRU, d, h, layers)


class LSTM(_Gated):
    """Three gates around a cell that is added to, not multiplied (Hochreiter and Schmidhuber 1997)."""

    def __init__(self, d: int, h: int, layers: int = 1):
        super().__init__(nn.LSTM, d, h, layers)
