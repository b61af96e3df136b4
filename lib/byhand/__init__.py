"""Transformers by Hand: the library that the chapters build and the tests prove.

`byhand.np` holds the NumPy half (forward and hand-derived backward) and never imports torch.
`byhand.pt` holds the PyTorch half: the same stems, the same parameter names.
"""

__version__ = "0.1.0"
