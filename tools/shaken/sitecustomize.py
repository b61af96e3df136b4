"""In a kernel of a notebook that elsewhere.py shakes, each number drawn at random is another one in its twelfth digit.

Python imports this by itself where the folder is on its path. A training begins with such numbers, and ends as it might
have on a processor that rounds in another way.
"""

import os
import sys

if "ipykernel_launcher" in sys.orig_argv:
    import functools

    import numpy as np

    hand, seed_of_shake = np.random.default_rng, int(os.environ["BYHAND_SHAKE"])

    class Shaken(np.random.Generator):
        """Draws what NumPy's own would, each real number times 1 + 10⁻¹² ε; two of one seed draw the same."""

        def __init__(self, bits):
            super().__init__(bits)
            self.tell = hand(seed_of_shake)

    def shaken(draw):
        @functools.wraps(draw)
        def drawn(self, *args, **options):
            x = np.asarray(draw(self, *args, **options))
            return x * (1 + 1e-12 * self.tell.standard_normal(x.shape)).astype(x.dtype)
        return drawn

    for name in ("normal", "standard_normal", "uniform", "random", "dirichlet", "exponential", "gumbel", "laplace"):
        setattr(Shaken, name, shaken(getattr(np.random.Generator, name)))

    def default_rng(seed=None):
        made = hand(seed)
        return made if isinstance(made, Shaken) else Shaken(made.bit_generator)

    np.random.default_rng = default_rng
