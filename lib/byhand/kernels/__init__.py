"""Chapter 16: what a GPU runs, written by hand in Triton: tiled attention, norms and the loss, forward and backward.

Triton is an extra: `make kernels` installs it. On a GPU the kernels are compiled. On a CPU they run in Triton's
interpreter, for proofs and not for speed: set TRITON_INTERPRET=1 before Python starts. `byhand.pt.use_kernels` lets the
PyTorch half take them.
"""

import torch

try:
    from byhand.kernels._launch import INTERPRETED, runs_on
except ImportError as error:
    raise ImportError("byhand.kernels needs Triton: make kernels (or pip install triton)") from error
if not INTERPRETED and not torch.cuda.is_available():
    raise ImportError("byhand.kernels: there is no GPU here; to run them in Triton's interpreter on the CPU, set "
                      "TRITON_INTERPRET=1 before Python starts")

from byhand.kernels.attention import flash_attention
from byhand.kernels.loss import cross_entropy
from byhand.kernels.norm import layer_norm, rms_norm

__all__ = ["INTERPRETED", "cross_entropy", "flash_attention", "layer_norm", "rms_norm", "runs_on"]
