"""Chapter 16: LayerNorm and RMSNorm in Triton: a row is read once forward and once backward."""

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from byhand.check import NonNegative, checked
from byhand.kernels._launch import taken

PROGRAMS = 1024  # of the backward: each sums dγ and dβ over rows of its own. 128 leave most of a GPU idle


@checked
def layer_norm(
    X: Float[Tensor, "*B d"], gamma: Float[Tensor, " d"], beta: Float[Tensor, " d"], eps: NonNegative = 1e-5
) -> Float[Tensor, "*B d"]:
    """Y = γ ∘ (X − μ) / √(σ² + ε) + β of each token (Ba et al. 2016); sums in float32. No second derivative."""
    taken("layer_norm", X=X)
    return Rows.apply(X, gamma, beta, float(eps))


@checked
def rms_norm(X: Float[Tensor, "*B d"], gamma: Float[Tensor, " d"], eps: NonNegative = 1e-5) -> Float[Tensor, "*B d"]:
    """Y = γ ∘ X / √(mean X² + ε) of each token (Zhang and Sennrich 2019); sums in float32. No second derivative."""
    taken("rms_norm", X=X)
    return Rows.apply(X, gamma, None, float(eps))


class Rows(torch.autograd.Function):
    """Both norms: RMSNorm is the one without β, which takes no mean away."""

    @staticmethod
    def forward(ctx, X, gamma, beta, eps):
        X, gamma, beta = X.contiguous(), gamma.contiguous(), beta if beta is None else beta.contiguous()
        rows, d = X.numel() // max(X.shape[-1], 1), X.shape[-1]
        Y, mean, inverse = torch.empty_like(X), *X.new_empty(2, rows, dtype=torch.float32)
        ctx.save_for_backward(X, gamma, mean, inverse)
        ctx.centred = beta is not None
        if X.numel():
            forward_kernel[(rows,)](X, gamma, beta if ctx.centred else gamma, Y, mean, inverse, eps, d,
                                    triton.next_power_of_2(d), ctx.centred)
        return Y

    @staticmethod
    @once_differentiable
    def backward(ctx, dY):
        X, gamma, mean, inverse = ctx.saved_tensors
        (rows,), d = mean.shape, X.shape[-1]
        programs = min(PROGRAMS, max(rows, 1))
        dX, parts = torch.empty_like(X), X.new_zeros(2, programs, d, dtype=torch.float32)
        if X.numel():
            backward_kernel[(programs,)](X, gamma, mean, inverse, dY.contiguous(), dX, parts[0], parts[1], rows, d,
                                         triton.next_power_of_2(d), ctx.centred)
        dgamma, dbeta = parts.sum(dim=1).to(gamma.dtype)
        return dX, dgamma, dbeta if ctx.centred else None, None


@triton.jit
def forward_kernel(
    X, gamma, beta, Y, mean, inverse, eps, d,
    WIDTH: tl.constexpr, CENTRED: tl.constexpr,
):
    """One program a row."""
    row, c = tl.program_id(0).to(tl.int64), tl.arange(0, WIDTH)
    x = tl.load(X + row * d + c, mask=c < d, other=0.0).to(tl.float32)
    mu = tl.sum(x, 0) / d if CENTRED else 0.0
    x = tl.where(c < d, x - mu, 0.0)
    r = 1 / tl.sqrt(tl.sum(x * x, 0) / d + eps)
    y = x * r * tl.load(gamma + c, mask=c < d, other=0.0).to(tl.float32)
    if CENTRED:
        y += tl.load(beta + c, mask=c < d, other=0.0).to(tl.float32)
    tl.store(Y + row * d + c, y.to(Y.dtype.element_ty), mask=c < d)
    tl.store(mean + row, mu)
    tl.store(inverse + row, r)


@triton.jit
def backward_kernel(
    X, gamma, mean, inverse, dY, dX, dgamma, dbeta, rows, d,
    WIDTH: tl.constexpr, CENTRED: tl.constexpr,
):
    """Each program takes every so-manieth row: dX at once, dγ and dβ summed
    over its rows."""
    c = tl.arange(0, WIDTH)
    g = tl.load(gamma + c, mask=c < d, other=0.0).to(tl.float32)
    sum_gamma = tl.zeros((WIDTH,), tl.float32)
    sum_beta = tl.zeros((WIDTH,), tl.float32)
    for i in range(tl.program_id(0), rows, tl.num_programs(0)):
        at = tl.cast(i, tl.int64) * d + c
        r = tl.load(inverse + i)
        x = tl.load(X + at, mask=c < d, other=0.0).to(tl.float32)
        x = tl.where(c < d, (x - tl.load(mean + i)) * r, 0.0)
        dy = tl.load(dY + at, mask=c < d, other=0.0).to(tl.float32)
        sum_gamma += dy * x
        sum_beta += dy
        dx = dy * g
        dx = dx - x * (tl.sum(dx * x, 0) / d) \
            - (tl.sum(dx, 0) / d if CENTRED else 0.0)  # (6.14)
        tl.store(dX + at, (r * dx).to(dX.dtype.element_ty), mask=c < d)
    tl.store(dgamma + tl.program_id(0) * d + c, sum_gamma, mask=c < d)
    tl.store(dbeta + tl.program_id(0) * d + c, sum_beta, mask=c < d)
