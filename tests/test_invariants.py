"""Check 3: what must hold for any input, for the library as it is. mutants.py shows that each invariant can fail."""

import importlib

import pytest
import torch
from byhand.pt import device
from invariants import INVARIANTS, fused_is_explicit

CHECKS = [pytest.param(place, check, id=f"{place}-{check.__name__}")
          for place, checks in INVARIANTS.items() for check in checks]
LOW = [torch.float32, torch.bfloat16]


@pytest.mark.parametrize(("place", "check"), CHECKS)
def test_invariant(place, check):
    check(importlib.import_module(f"byhand.{place}"))


@pytest.mark.parametrize("dtype", LOW, ids=str)
def test_fused_in_lower_precision(dtype):
    fused_is_explicit(importlib.import_module("byhand.pt.attention"), dtype=dtype)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float64, *LOW], ids=str)
def test_fused_on_the_accelerator(dtype):
    """Against the NumPy half, with the same bounds as on the CPU; blind queries exactly zero."""
    fused_is_explicit(importlib.import_module("byhand.pt.attention"), device=device(), dtype=dtype)
