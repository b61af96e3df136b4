"""Attention in its three forms, and a head: slopes, twins, what may be seen, and torch's fused kernel."""

import pytest
import torch
from byhand.pt import attention as pt_attention
from byhand.pt import device
from specs.attention import fused_is_explicit

LOW = [torch.float32, torch.bfloat16]


@pytest.mark.parametrize("dtype", LOW, ids=str)
def test_fused_in_lower_precision(dtype):
    fused_is_explicit(pt_attention, dtype=dtype)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float64, *LOW], ids=str)
def test_fused_on_the_accelerator(dtype):
    """Against the NumPy half, with the same bounds as on the CPU; blind queries exactly zero."""
    fused_is_explicit(pt_attention, device=device(), dtype=dtype)
