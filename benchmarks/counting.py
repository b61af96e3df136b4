"""What a program asks of NumPy, counted as in chapter 16: operations of products, and bytes that calls read and write.

A class of arrays that writes a bill for every ufunc that it takes part in, and for the compiled loops of the annex a
bill on paper: a loop reads each of its arrays once and writes once those that it changes.
"""

import sys
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

BILL = []  # (name, operations, bytes)
LOOPS = {"loops": ("softmax_rows", "softmax_back_rows", "norm_rows", "norm_back_rows", "gelu_rows", "relu_rows",
                   "slope_back_rows", "cross_entropy_rows", "scatter_rows", "adamw_run"),
         "tiles": ("weigh_small_rows", "weigh_rows", "weigh_back_small_rows", "weigh_back_rows")}
ONLY_WRITTEN = {"gelu_rows": {2}, "relu_rows": {2}, "norm_rows": {7, 8, 9}}  # arguments that a loop does not read


class Counted(np.ndarray):
    """An array that writes down what is done with it, and what is read; what it is written into counts as well."""

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        given = [plain(x) for x in inputs]
        if out is not None:
            options["out"] = tuple(plain(x) for x in out)
        result = getattr(ufunc, method)(*given, **options)
        flops = 2 * result.size * given[0].shape[-1] if ufunc.__name__ == "matmul" else 0
        parts = result if isinstance(result, tuple) else (result,)
        BILL.append((ufunc.__name__, flops, sum(getattr(x, "nbytes", 0) for x in (*given, *parts))))
        return counted(result)


def plain(x):
    return np.asarray(x) if isinstance(x, Counted) else x


def counted(x):
    """Views of the class of all arrays in it: of an array, of a tree, of a list."""
    if isinstance(x, np.ndarray):
        return x.view(Counted)
    if isinstance(x, dict):
        return {name: counted(part) for name, part in x.items()}
    return type(x)(map(counted, x)) if type(x) in (list, tuple) else x


def bill(call) -> tuple[int, int]:
    """Operations and bytes of one call."""
    BILL.clear()
    with loops_counted():
        call()
    return sum(flops for _, flops, _ in BILL), sum(size for *_, size in BILL)


@contextmanager
def loops_counted():
    """Wherever a module of the annex calls a loop, one that writes its bill is called."""
    modules = [m for name, m in sys.modules.items() if name.startswith("byhand.annex.")]
    swapped = []
    try:
        for name in (name for some in LOOPS.values() for name in some):
            for module in modules:
                if hasattr(module, name):
                    swapped.append(patch.object(module, name, _billed(name, getattr(module, name))))
                    swapped[-1].start()
        yield
    finally:
        for each in swapped:
            each.stop()


def _billed(name, loop):
    def call(*args):
        given = [plain(x) for x in args]
        before = [x.copy() if isinstance(x, np.ndarray) else x for x in given]
        result = loop(*given)
        size = 0
        for i, (x, old) in enumerate(zip(given, before, strict=True)):
            if isinstance(x, np.ndarray):
                only, changed = i in ONLY_WRITTEN.get(name, ()), not np.array_equal(x, old, equal_nan=True)
                size += x.nbytes * (1 if only else 1 + changed)
        BILL.append((name, 0, size))
        return result

    return call


def training_step(rung, params, config, ids, targets, threads, sequences):
    """One step on a rung of `annex.ladder`, with arrays that count."""
    from byhand.annex import ladder

    if "chapters" in rung:
        step, _ = ladder._plain(counted(params), config, threads if "threads" in rung else 1, 0.01)
        return lambda: step(ids, targets, 1e-3)

    def workspace(*args):
        work = make(*args)
        for w in work.lanes:
            vars(w).update({name: counted(x) for name, x in vars(w).items()})
        return work._replace(future=counted(work.future), sinusoids=counted(work.sinusoids))

    def runs(*args):
        return [(on, *map(counted, arrays)) for on, *arrays in make_runs(*args)]

    make, make_runs = ladder.workspace, ladder._runs
    with patch.object(ladder, "workspace", workspace), patch.object(ladder, "_runs", runs):
        step, _ = ladder.training(rung, params, config, *ids.shape, threads, sequences)
    return lambda: step(ids, targets, 1e-3)
