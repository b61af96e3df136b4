"""What every kernel asks of its tensors, beside one dtype and one device."""

import torch
from triton import knobs

INTERPRETED = knobs.runtime.interpret
DTYPES = (torch.float32, torch.float16) if INTERPRETED else (torch.float32, torch.bfloat16, torch.float16)


def runs_on(x) -> bool:
    """Whether the kernels take this tensor: they sum in float32, and Triton's interpreter has no bfloat16."""
    return x.dtype in DTYPES and x.device.type == ("cpu" if INTERPRETED else "cuda")


def taken(function, **tensors):
    """TypeError or ValueError unless the kernels take it."""
    for name, x in tensors.items():
        if x.dtype not in DTYPES:
            raise TypeError(f"{function}: {name} is {x.dtype}, expected {' or '.join(map(str, DTYPES))}")
        if not runs_on(x):
            raise ValueError(f"{function}: {name} is on {x.device}, expected " + (
                "the CPU, for these kernels are interpreted" if INTERPRETED else "a GPU"))
