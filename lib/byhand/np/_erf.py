"""The error function at the speed of the other elementwise steps."""

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from byhand.check import checked

# P of degree 6 with tanh(x P(x²)) nearest to erf(x) on 0 ≤ x ≤ 4.2, in the largest difference (6e-8 in exact numbers)
P = (1.12837971, 0.102765482, -1.84385028e-4, -6.25718152e-4, 8.97119243e-5, -5.9855553e-6, 1.58950419e-7)
FAR = 4.2  # from here on erf rounds to 1 in float32


@checked
def erf(X: Float[Array, "*S"]) -> Float[Array, "*S"]:
    """2/√π ∫ exp(−t²) from 0 to x. float64 by SciPy; float32 as tanh(x P(x²)), within 2e-7, as SciPy's takes as long as
    a matrix product there."""
    if X.dtype != np.float32:
        from scipy import special  # here, since float32 and the PyTorch half can do without it

        return np.asarray(special.erf(X))
    x = np.clip(X, -FAR, FAR)
    square = x * x
    h = P[-1] * square
    for c in P[-2:0:-1]:
        h += c
        h *= square
    h += P[0]
    h *= x
    return np.asarray(np.tanh(h))
