"""Python threads side by side, each with a BLAS of one thread: NumPy lets go of the interpreter while it computes.

Elementwise steps then use every core, which they do not when BLAS alone has threads.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextvars import copy_context
from threading import Lock

import numpy as np
from threadpoolctl import ThreadpoolController

from byhand.check import Size, checked
from byhand.tree import map_tree

BLAS = ThreadpoolController()


class OneBlasThread:
    """BLAS has one thread from the first who asks until the last has left; then it has what it had before."""

    def __init__(self):
        self.lock, self.users, self.before = Lock(), 0, None

    def __enter__(self):
        with self.lock:
            if not self.users:
                self.before = BLAS.limit(limits=1, user_api="blas")
            self.users += 1

    def __exit__(self, *_):
        with self.lock:
            self.users -= 1
            if not self.users:
                self.before.restore_original_limits()


ONE_BLAS_THREAD = OneBlasThread()


@checked
def map_threads(function: Callable, items: Iterable, threads: Size = 2) -> list:
    """[function(x) for x in items], so many at a time. With one thread, or one item, BLAS keeps its own.

    After an error, or Ctrl-C, what runs is waited for and nothing more is begun.
    """
    items = list(items)
    if min(threads, len(items)) <= 1:
        return [function(x) for x in items]
    pool = ThreadPoolExecutor(threads)
    with ONE_BLAS_THREAD:
        try:
            jobs = [pool.submit(copy_context().run, function, x) for x in items]
            wait(jobs, return_when=FIRST_EXCEPTION)
        finally:
            pool.shutdown(cancel_futures=True)
        return [job.result() for job in jobs]


@checked
def in_threads(loss_and_grads: Callable, threads: Size = 2) -> Callable:
    """`loss_and_grads` for `train_step` with each batch cut along the first axis of its arrays, one part a thread.

    A batch is an array or a tuple of arrays, where None stays None; each part needs a token that counts, and gets a
    generator of its own. Losses and gradients are means over tokens (11.35), so the step is the same but for rounding.
    """
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
