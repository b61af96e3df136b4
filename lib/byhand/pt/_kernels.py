"""Chapter 16: which kernels the PyTorch half runs where both have one: torch's own, or those written by hand."""

from contextlib import contextmanager

import torch

KERNELS = ("torch", "triton")
chosen = "torch"  # a plain name, which torch.compile watches


@contextmanager
def use_kernels(name: str):
    """Within this, attention without a mask, LayerNorm, RMSNorm and cross-entropy run `byhand.kernels` ("triton").

    Float64, and a device that the kernels do not run on, stay with torch. For the whole process, not for a thread.
    ValueError for another name, ImportError where Triton cannot run.
    """
    global chosen
    if name not in KERNELS:
        raise ValueError(f"use_kernels: name is {name!r}, expected one of {', '.join(KERNELS)}")
    if name == "triton":
        import byhand.kernels  # noqa: F401  says what is missing before anything runs
    before, chosen = chosen, name
    try:
        yield
    finally:
        chosen = before


def as_autocast(*tensors):
    """The inputs of a matrix product as autocast hands them to one of torch's; for kernels by hand nothing else would.

    Rotated queries in float32 beside values in bfloat16 are one dtype again.
    """
    place = tensors[0].device.type
    if chosen == "torch" or not torch.is_autocast_enabled(place) or tensors[0].dtype == torch.float64:
        return tensors
    return [x.to(torch.get_autocast_dtype(place)) for x in tensors]


def by_hand(x):
    """The module of kernels if they are chosen and can take this tensor, else None."""
    if chosen == "torch":
        return None
    from byhand import kernels

    return kernels if kernels.runs_on(x) else None
