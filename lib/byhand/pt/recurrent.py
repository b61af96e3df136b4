"""Chapter 1: the recurrent layer and the convolution in PyTorch, and the gated layers to compare attention with."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from byhand.check import Params, Size, checked, same_shape
from byhand.np.recurrent import ELMAN, receptive_field

__all__ = ["GRU", "LSTM", "RNN", "Conv1d", "conv1d", "receptive_field", "rnn", "rnn_jacobian"]


@checked
def rnn(
    X: Float[Tensor, "*B n d"], params: Params(Tensor, ELMAN), h0: Float[Tensor, "*B h"] | None = None
) -> Float[Tensor, "*B n h"]:
    """h_t = tanh(x_t W_x + h_{t−1} W_h + b) (Elman 1990), from h0 or zeros: n steps, one after the other."""
    steps = X @ params["W_x"] + params["b"]
    h = steps.new_zeros(steps[..., 0, :].shape) if h0 is None else h0
    H = []
    for step in steps.unbind(dim=-2):
        h = torch.tanh(step + h @ params["W_h"])  # (1.1), (1.2)
        H.append(h)
    return torch.stack(H, dim=-2)


@checked
def rnn_jacobian(H: Float[Tensor, "n h"], W_h: Float[Tensor, "h h"]) -> Float[Tensor, "h h"]:
    """J[i, j] = ∂h_T[j] / ∂h_1[i] along one run: a product of n − 1 factors W_h diag(1 − h_t²); with H = 0, a power."""
    J = torch.eye(H.shape[-1], dtype=H.dtype, device=H.device)
    for h in H[1:]:
        J = (J @ W_h) * (1 - h * h)  # (1.6), (1.7)
    return J


@checked
def conv1d(
    X: Float[Tensor, "*B n d_in"],
    W: Float[Tensor, "k d_in d_out"],
    b: Float[Tensor, " d_out"] | None = None,
    dilation: Size = 1,
    causal: bool = False,
) -> Float[Tensor, "*B n d_out"]:
    """y_i = Σ_j x_{i + j·dilation − left} W_j + b, with zeros outside; torch wants channels first, and W transposed."""
    reach = (W.shape[0] - 1) * dilation
    left = reach if causal else reach // 2
    channels = F.pad(X.reshape(-1, *X.shape[-2:]).mT, (left, reach - left))
    Y = F.conv1d(channels, W.permute(2, 1, 0), b, dilation=dilation)
    return Y.mT.reshape(*X.shape[:-1], W.shape[-1])


class RNN(nn.Module):
    """A tanh RNN with the parameters {W_x, W_h, b} of the NumPy half."""

    @checked
    def __init__(self, d: Size, h: Size):
        super().__init__()
        self.W_x = nn.Parameter(torch.randn(d, h) / math.sqrt(d))
        self.W_h = nn.Parameter(torch.randn(h, h) / math.sqrt(h))
        self.b = nn.Parameter(torch.zeros(h))

    def forward(
        self, X: Float[Tensor, "*B n d"], h0: Float[Tensor, "*B h"] | None = None
    ) -> Float[Tensor, "*B n h"]:
        params = {"W_x": self.W_x, "W_h": self.W_h, "b": self.b}
        return rnn(X, params, h0)


class Conv1d(nn.Module):
    """A convolution over tokens with the parameters {W, b} of the NumPy half."""

    @checked
    def __init__(self, kernel: Size, d_in: Size, d_out: Size, dilation: Size = 1, causal: bool = False):
        super().__init__()
        self.dilation, self.causal = dilation, causal
        self.W = nn.Parameter(torch.randn(kernel, d_in, d_out) / math.sqrt(kernel * d_in))
        self.b = nn.Parameter(torch.zeros(d_out))

    def forward(self, X: Float[Tensor, "*B n d_in"]) -> Float[Tensor, "*B n d_out"]:
        return conv1d(X, self.W, self.b, self.dilation, self.causal)


class _Gated(nn.Module):
    """A recurrent layer of torch.nn with tokens as rows and free leading axes; its parameters keep torch's names."""

    def __init__(self, kind: type[nn.RNNBase], d: int, h: int, layers: int):
        super().__init__()
        self.net = kind(d, h, layers, batch_first=True)

    def run(self, X):
        same_shape(type(self).__name__, (*X.shape[:-1], self.net.input_size), X=X.shape)
        H, _ = self.net(X.reshape(-1, *X.shape[-2:]))
        return H.reshape(*X.shape[:-1], H.shape[-1])


class GRU(_Gated):
    """Two gates (Cho et al. 2014): how much of the old state to keep, and how much of it to read."""

    @checked
    def __init__(self, d: Size, h: Size, layers: Size = 1):
        super().__init__(nn.GRU, d, h, layers)

    @checked
    def forward(self, X: Float[Tensor, "*B n d"]) -> Float[Tensor, "*B n h"]:
        return self.run(X)


class LSTM(_Gated):
    """Three gates around a cell that is added to, not multiplied (Hochreiter and Schmidhuber 1997)."""

    @checked
    def __init__(self, d: Size, h: Size, layers: Size = 1):
        super().__init__(nn.LSTM, d, h, layers)

    @checked
    def forward(self, X: Float[Tensor, "*B n d"]) -> Float[Tensor, "*B n h"]:
        return self.run(X)
