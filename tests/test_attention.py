"""Attention in its three forms, and a head: slopes, twins, what may be seen, and torch's fused kernel."""

import pytest
import torch
from byhand.pt import attention as pt_attention
from byhand.pt import device
from mutants import build
from specs.attention import fused_is_explicit

LOW = [torch.float32, torch.bfloat16]


@pytest.mark.parametrize("dtype", LOW, ids=str)
def test_fused_in_lower_precision(dtype):
    fused_is_explicit(pt_attention, dtype=dtype)


def like_a_gpu(Q, K, V, attn_mask=None, scale=None, is_causal=False):
    """As one of its kernels for bfloat16 answers: a hidden score is a great negative number, so that of a query which
    may attend to nothing comes the mean of all values."""
    S = Q @ K.mT * (scale or Q.shape[-1] ** -0.5)
    return torch.softmax(S if attn_mask is None else S.masked_fill(~attn_mask, -1e9), -1) @ V


def blind_queries_are_zero(module, monkeypatch):
    monkeypatch.setattr(module.F, "scaled_dot_product_attention", like_a_gpu)
    mask = torch.tensor([[False] * 5, [True, False, True, False, False], [True] * 5])
    for lead in ((), (2,), (2, 3)):
        for some in (mask, mask.expand(*lead, 3, 5)):
            Q, K, V = (torch.randn(*lead, n, 4, dtype=torch.float64, requires_grad=True) for n in (3, 5, 5))
            O = module.fused_attention(Q, K, V, some)
            found = [O, *torch.autograd.grad(O.square().sum(), (Q, K, V))]
            O = pt_attention.attention(Q, K, V, some)
            for a, b in zip(found, [O, *torch.autograd.grad(O.square().sum(), (Q, K, V))], strict=True):
                torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


def test_no_kernel_is_asked_of_queries_that_see_nothing(monkeypatch):
    blind_queries_are_zero(pt_attention, monkeypatch)


@pytest.mark.parametrize(("old", "new"), [("O.masked_fill(~seen, 0)", "O"), ("~seen, 0)", "~seen, 1)"),
                                          ("mask.any(dim=-1, keepdim=True)", "mask.any(dim=-2, keepdim=True)")])
def test_blind_queries_that_answer_are_caught(old, new, monkeypatch):
    with pytest.raises((AssertionError, RuntimeError)):
        blind_queries_are_zero(build("pt.attention", old, new), monkeypatch)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float64, *LOW], ids=str)
def test_fused_on_the_accelerator(dtype):
    """Against the NumPy half, with the same bounds as on the CPU; blind queries exactly zero."""
    fused_is_explicit(pt_attention, device=device(), dtype=dtype)
