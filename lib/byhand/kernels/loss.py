"""Chapter 16: cross-entropy in Triton: logits are read twice, and the probabilities are never stored."""

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from byhand.check import Share, checked
from byhand.kernels._launch import taken

BLOCK = 4096  # words that a program reads at a time


@checked
def cross_entropy(
    logits: Float[Tensor, "*B V"],
    targets: Int[Tensor, "*B"],
    smoothing: Share = 0.0,
    ignore_index: int | None = None,
    weights: Float[Tensor, "*B"] | None = None,
) -> Float[Tensor, ""]:
    """L = Σ w (−Σ q log p) / Σ w, as `byhand.pt.loss.cross_entropy`, in float32 whatever comes in.

    Nothing looks at the targets: one outside the vocabulary gives NaN. No second derivative.
    """
    taken("cross_entropy", logits=logits)
    rows, ids = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1).long()
    w = torch.ones_like(ids, dtype=torch.float32) if weights is None else weights.reshape(-1).float()
    if ignore_index is not None:
        w = w * (ids != ignore_index)
        ids = torch.where(ids == ignore_index, 0, ids)
    return (w * Losses.apply(rows, ids, float(smoothing))).sum() / w.sum()


class Losses(torch.autograd.Function):
    """−Σ q log p of each row, q = (1 − ε) onehot + ε / V."""

    @staticmethod
    def forward(ctx, logits, ids, smoothing):
        logits = logits.contiguous()
        n, V = logits.shape
        each, lse = logits.new_empty(2, n, dtype=torch.float32)
        ctx.save_for_backward(logits, ids, lse)
        ctx.smoothing = smoothing
        if n:
            forward_kernel[(n,)](logits, ids, each, lse, smoothing, V, _block(V))
        return each

    @staticmethod
    @once_differentiable
    def backward(ctx, d):
        logits, ids, lse = ctx.saved_tensors
        n, V = logits.shape
        dlogits = torch.empty_like(logits)
        if n:
            backward_kernel[n, triton.cdiv(V, _block(V))](
                logits, ids, lse, d.contiguous(), dlogits, ctx.smoothing, V, _block(V))
        return dlogits, None, None


def _block(V):
    return min(BLOCK, triton.next_power_of_2(V))


@triton.jit
def forward_kernel(Z, ids, each, lse, smoothing, V, BLOCK: tl.constexpr):
    """One program a row: online softmax, (16.7), and the sum of logits."""
    row = tl.program_id(0).to(tl.int64)
    top = tl.full((1,), float("-inf"), tl.float32)
    total, plain = tl.zeros((1,), tl.float32), tl.zeros((1,), tl.float32)
    for j in range(0, V, BLOCK):
        c = j + tl.arange(0, BLOCK)
        z = tl.load(Z + row * V + c, mask=c < V, other=float("-inf"))
        z = z.to(tl.float32)
        new = tl.maximum(top, tl.max(z, 0))
        safe = tl.where(new == float("-inf"), 0.0, new)  # all may be −∞
        total = total * tl.exp(top - safe) + tl.sum(
            tl.exp(z - safe), 0)  # (16.8)
        plain += tl.sum(tl.where(c < V, z, 0.0), 0)
        top = new
    L = top + tl.log(total)
    target = tl.load(ids + row)
    inside = (target >= 0) & (target < V)
    z = tl.load(Z + row * V + target, mask=inside, other=float("nan"))
    z = z.to(tl.float32)
    q = L - (1 - smoothing) * z
    if smoothing > 0:  # 0 · (−∞) would be NaN
        q -= smoothing * plain / V
    i = row + tl.arange(0, 1)
    tl.store(each + i, q)
    tl.store(lse + i, L)


@triton.jit
def backward_kernel(Z, ids, lse, d, dZ, smoothing, V, BLOCK: tl.constexpr):
    """One program a row and a block of words: dz = d (softmax(z) − q)."""
    row = tl.program_id(0).to(tl.int64)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    z = tl.load(Z + row * V + c, mask=c < V, other=float("-inf"))
    z = z.to(tl.float32)
    q = tl.where(c == tl.load(ids + row), 1 - smoothing, 0.0) + smoothing / V
    g = tl.load(d + row) * (tl.exp(z - tl.load(lse + row)) - q)
    tl.store(dZ + row * V + c, g.to(dZ.dtype.element_ty), mask=c < V)
