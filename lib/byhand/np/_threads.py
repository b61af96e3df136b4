"""Python threads side by side, each with a BLAS of one thread: NumPy lets go of the interpreter while it computes.

Elementwise steps then use every core, which they do not when BLAS alone has threads.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import numpy as np
from threadpoolctl import ThreadpoolController

from byhand import guard
from byhand.tree import map_tree

BLAS = ThreadpoolController()


def map_threads(function: Callable, items: Iterable, threads: int = 2) -> list:
    """[function(x) for x in items], so many at a time. With one thread, or one item, BLAS keeps its own."""
    guard.count("map_threads", threads=threads)
    items = list(items)
    if min(threads, len(items)) <= 1:
        return [function(x) for x in items]
    with BLAS.limit(limits=1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        jobs = [pool.submit(copy_context().run, function, x) for x in items]
        return [job.result() for job in jobs]


def in_threads(loss_and_grads: Callable, threads: int = 2) -> Callable:
    """`loss_and_grads` for `train_step` with each batch cut along the first axis of its arrays, one part a thread.

    A batch is an array or a tuple of arrays, where None stays None; each part needs a token that counts, and gets a
    generator of its own. Losses and gradients are means over tokens (11.35), so the step is the same but for rounding.
    """
    guard.count("in_threads", threads=threads)

    def threaded(params, batch, rng):
        arrays = batch if isinstance(batch, tuple) else (batch,)
        rows = {len(x) for x in arrays if x is not None}
        if len(rows) != 1 or 0 in rows:
            raise ValueError(f"in_threads: arrays of the batch have {sorted(rows)} rows, expected one number")
        (n,) = rows
        count = min(threads, n)
        rngs = [None] * count if rng is None else rng.spawn(count)

        def run(k):
            part = tuple(x if x is None else x[n * k // count : n * (k + 1) // count] for x in arrays)
            return loss_and_grads(params, part if isinstance(batch, tuple) else part[0], rngs[k])

        losses, grads, weights = zip(*map_threads(run, range(count), count), strict=True)
        total = sum(weights)
        shares = [float(w / total) for w in weights]  # (11.35)

        def mean(*parts):
            return np.asarray(sum(share * x for share, x in zip(shares, parts, strict=True)))

        return float(mean(*map(float, losses))), map_tree(mean, *grads), total

    return threaded
