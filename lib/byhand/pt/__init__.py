"""The PyTorch half: the same equations as functions of tensors, then modules, then what a GPU runs instead.

Shapes and types are checked as in the NumPy half; values are not, since that would make the device wait.
"""

import torch

from byhand.pt._kernels import use_kernels

__all__ = ["device", "use_kernels"]


def device() -> torch.device:
    """The accelerator if there is one, else the CPU: the only place where the course chooses."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
