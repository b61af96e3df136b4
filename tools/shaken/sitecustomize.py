"""In a kernel of a notebook that elsewhere.py shakes, each number drawn at random is another one in its tenth digit.

Python imports this by itself where the folder is on its path. A training begins with such numbers, and ends as it might
have on a processor that rounds in another way.
"""

import os
import sys

if "ipykernel_launcher" in sys.orig_argv:
    import functools

    import numpy as np

    tell, hand = np.random.default_rng(int(os.environ["BYHAND_SHAKE"])), np.random.default_rng

    class Shaken(np.random.Generator):
        """Draws what NumPy's own would, each real number times 1 + 10⁻¹⁰ ε."""

    def shaken(draw):
        @functools.wraps(draw)
        def drawn(*args, **options):
            x = np.asarray(draw(*args, **options))
            return x * (1 + 1e-10 * tell.standard_normal(x.shape)).astype(x.dtype)
        return drawn

    for name in ("normal", "standard_normal", "uniform", "random", "dirichlet", "exponential", "gumbel", "laplace"):
        setattr(Shaken, name, shaken(getattr(np.random.Generator, name)))
    np.random.default_rng = lambda seed=None: Shaken(hand(seed).bit_generator)
