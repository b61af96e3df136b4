# ruff: noqa: E501
"""Proofs of the threads: the same numbers, a BLAS of one thread in each, the caller's context, and its errors."""

import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from byhand import tree
from byhand.check import ValuesTrusted, checked
from byhand.config import ModelConfig
from byhand.init import init_model
from byhand.np.loss import cross_entropy_backward, cross_entropy_forward
from byhand.np.model import decoder_backward, decoder_forward
from byhand.np.optim import init_state
from byhand.np.train import train_step
from invariants import near, raises, same
from jaxtyping import Float
from mutants import M
from proofs import as_shipped
from threadpoolctl import threadpool_limits

CONFIG = ModelConfig("decoder", vocab=7, d=8, heads=2, layers=1, n_max=6, p=0.2)


def blas_threads(module):
    return {x["num_threads"] for x in module.BLAS.info() if x["user_api"] == "blas"}


def results_come_in_order(module):
    def slow_first(k):
        time.sleep(0.02 * (k == 0))
        return k, threading.get_ident()

    found = module.map_threads(slow_first, iter(range(6)), 3)
    assert [k for k, _ in found] == list(range(6))
    assert len({who for _, who in found} | {threading.get_ident()}) > 1, "all in one thread"
    assert module.map_threads(slow_first, [], 2) == []


def at_most_so_many_at_a_time(module):
    now, most, lock, three = 0, 0, threading.Lock(), threading.Barrier(3, timeout=5)

    def watched(_):
        nonlocal now, most
        with lock:
            now, most = now + 1, max(most, now + 1)
        three.wait()  # in vain, if no three are ever here together
        time.sleep(0.01)
        with lock:
            now -= 1

    module.map_threads(watched, range(9), 3)
    assert most == 3, f"{most} at a time"


def blas_has_one_thread_inside_and_its_own_after(module):
    with threadpool_limits(2, "blas"):
        inside = module.map_threads(lambda _: blas_threads(module), range(2), 2)
        alone = module.map_threads(lambda _: blas_threads(module), range(2), 1)
        assert inside == [{1}, {1}] and alone == [{2}, {2}] and blas_threads(module) == {2}


@checked
def looks(x: Float[np.ndarray, " n"]):
    """Refuses NaN, unless values are trusted."""


def the_context_goes_along(module):
    def sees_nan(_):
        try:
            looks(np.array([np.nan]))
        except ValueError:
            return True
        return False

    with ValuesTrusted():
        assert module.map_threads(sees_nan, range(3), 2) == [False] * 3
    assert module.map_threads(sees_nan, range(3), 2) == [True] * 3


def errors_reach_the_caller(module):
    def fails(k):
        if k == 2:
            raise KeyError("the third")
        return k

    raises(KeyError, "the third", lambda: module.map_threads(fails, range(4), 2))


def nothing_is_begun_after_an_error(module):
    """An error in the second of forty items, and Ctrl-C while the caller waits: most of them are never begun."""
    for error in (KeyError, KeyboardInterrupt):
        begun = []

        def work(k, begun=begun, error=error):
            begun.append(k)
            time.sleep(0.02)
            if k == 1 and error is KeyError:
                raise KeyError("the second")

        if error is KeyboardInterrupt:
            threading.Timer(0.1, signal.pthread_kill, [threading.main_thread().ident, signal.SIGINT]).start()
        with pytest.raises(error):
            module.map_threads(work, range(40), 2)
        assert len(begun) < 30, f"{error.__name__}: {len(begun)} of 40 begun"


class Library:
    """A BLAS whose number of threads is one for the whole process, as OpenBLAS has it."""

    count = 2

    def limit(self, limits, user_api):
        before, self.count = self.count, limits
        return SimpleNamespace(restore_original_limits=lambda: setattr(self, "count", before))


def callers_side_by_side_leave_blas_as_it_was(module):
    """The first to come leaves first: BLAS stays with one thread for the second, and gets its own back in the end."""
    first_is_in, second_is_in, first_is_out, seen = *(threading.Event() for _ in range(3)), []
    real, module.BLAS = module.BLAS, Library()

    def early(_):
        first_is_in.set()
        assert second_is_in.wait(5)

    def late(_):
        second_is_in.set()
        assert first_is_out.wait(5)
        seen.append(module.BLAS.count)

    try:
        one, two = (threading.Thread(target=module.map_threads, args=(f, range(2), 2)) for f in (early, late))
        one.start()
        assert first_is_in.wait(5)
        two.start()
        one.join()
        first_is_out.set()
        two.join()
        assert module.BLAS.count == 2 and seen == [1, 1], f"{module.BLAS.count} after, {seen} inside"
    finally:
        module.BLAS = real


def loss_and_grads(params, batch, rng):
    ids, targets, weights = batch
    logits, cache = decoder_forward(ids, params, CONFIG, rng=rng)
    L, of_loss = cross_entropy_forward(logits, targets, ignore_index=-1, weights=weights)
    grads = decoder_backward(cross_entropy_backward(1.0, of_loss), cache)
    return L, grads, float(((targets != -1) * (1 if weights is None else weights)).sum())


def batch_of(rows, seed=0):
    rng = np.random.default_rng(seed)
    ids, targets = rng.integers(0, 7, (2, rows, 5))
    targets[0, 1:] = -1  # so that the parts have different numbers of tokens
    return ids, targets, None


def params_of(dtype=np.float64):
    return init_model(np.random.default_rng(1), CONFIG, dtype)


def parts_make_the_whole(module):
    params = params_of()
    for rows, threads in ((5, 2), (5, 3), (4, 4), (2, 5), (1, 2)):
        ids, targets, _ = batch_of(rows)
        for weights in (None, np.random.default_rng(2).random(targets.shape)):
            batch = ids, targets, weights
            (L, grads, w), (ours, g, total) = (f(params, batch, None) for f in (loss_and_grads, module.in_threads(loss_and_grads, threads)))
            near(ours, L, "loss of the parts", 1e-13)
            near(total, w, "tokens of the parts", 1e-12)
            for name, x in tree.flatten(grads).items():
                near(tree.flatten(g)[name], x, f"gradient of {name}", 1e-13)


def a_step_is_the_same(module):
    params, batch = params_of(), batch_of(6)
    one = train_step(params, init_state(params), [batch], loss_and_grads, 0.1, max_norm=0.5)
    two = train_step(params, init_state(params), [batch], module.in_threads(loss_and_grads), 0.1, max_norm=0.5)
    near(two.norm, one.norm, "norm", 1e-12)
    for name, x in tree.flatten(one.params).items():
        near(tree.flatten(two.params)[name], x, name, 1e-6)  # the first step of Adam is a sign


def each_part_has_chance_of_its_own(module):
    def draws(params, batch, rng):
        return 0.0, {"x": rng.random((2,))}, len(batch)

    threaded = module.in_threads(draws, 2)
    first = threaded({}, np.zeros((4, 1)), np.random.default_rng(3))[1]["x"]
    parts = [rng.random((2,)) for rng in np.random.default_rng(3).spawn(2)]
    near(first, (parts[0] + parts[1]) / 2, "mean of what two generators drew", 1e-15)
    same(threaded({}, np.zeros((4, 1)), np.random.default_rng(3))[1]["x"], first, "the same seed")


def everything_stays_float32(module):
    params = params_of(np.float32)
    _, grads, _ = module.in_threads(loss_and_grads)(params, batch_of(4), None)
    assert {x.dtype for x in tree.flatten(grads).values()} == {np.dtype(np.float32)}
    _, grads, _ = module.in_threads(lambda params, batch, rng: (0.0, {"gain": np.array(2.0, np.float32)}, 1))({}, np.zeros((4, 1)), None)
    assert isinstance(grads["gain"], np.ndarray) and grads["gain"] == 2


def wrong_calls_are_refused_by_name(module):
    with as_shipped():
        raises(ValueError, "map_threads: threads is 0, expected at least 1", lambda: module.map_threads(len, [], 0))
        raises(ValueError, "in_threads: threads is 0, expected at least 1", lambda: module.in_threads(len, 0))
        threaded = module.in_threads(loss_and_grads)
        for batch, says in (((np.zeros((4, 1)), np.zeros((3, 1))), r"\[3, 4\] rows"), (np.zeros((0, 2)), r"\[0\] rows"), ((None,), r"\[\] rows")):
            raises(ValueError, f"in_threads: arrays of the batch have {says}, expected one number", lambda b=batch: threaded({}, b, None))


INVARIANTS = {"np._threads": [
    results_come_in_order, at_most_so_many_at_a_time, blas_has_one_thread_inside_and_its_own_after, the_context_goes_along,
    errors_reach_the_caller, nothing_is_begun_after_an_error, callers_side_by_side_leave_blas_as_it_was, parts_make_the_whole, a_step_is_the_same, each_part_has_chance_of_its_own,
    everything_stays_float32, wrong_calls_are_refused_by_name]}
WRONG = [
    M("np._threads.map_threads", "invariant", "in the order in which they end",
      "[job.result() for job in jobs]", "[job.result() for job in reversed(jobs)]"),
    M("np._threads.map_threads", "invariant", "one after the other",
      "pool.submit(copy_context().run, function, x)", "pool.submit(lambda: function(x))",
      "ThreadPoolExecutor(threads)", "ThreadPoolExecutor(1)"),
    M("np._threads.map_threads", "invariant", "as many threads as items",
      "ThreadPoolExecutor(threads)", "ThreadPoolExecutor(len(items))"),
    M("np._threads.map_threads", "invariant", "BLAS as it was", "with ONE_BLAS_THREAD:", "if True:"),
    M("np._threads.OneBlasThread", "invariant", "BLAS left with one thread", "self.before.restore_original_limits()", "pass"),
    M("np._threads.OneBlasThread", "invariant", "each who comes remembers what BLAS had",
      "            if not self.users:\n                self.before = ", "            if True:\n                self.before = "),
    M("np._threads.OneBlasThread", "invariant", "each who leaves gives BLAS its threads back",
      "            if not self.users:\n                self.before.restore", "            if True:\n                self.before.restore"),
    M("np._threads.map_threads", "invariant", "what waits is run after an error", "shutdown(cancel_futures=True)", "shutdown()"),
    M("np._threads.map_threads", "invariant", "what waits is run until the first result is asked for",
      "            wait(jobs, return_when=FIRST_EXCEPTION)\n", "            wait(jobs)\n"),
    M("np._threads.map_threads", "invariant", "a fresh context in each thread",
      "copy_context().run, function, x", "function, x"),
    M("np._threads.in_threads", "invariant", "mean of means", "float(w / total) for w", "1 / len(weights) for w"),
    M("np._threads.in_threads", "invariant", "gradients summed",
      "return np.asarray(sum(share * x", "return np.asarray(sum(x"),
    M("np._threads.in_threads", "invariant", "the last row left out",
      "n * (k + 1) // count]", "n * (k + 1) // count - (k + 1 == count and n > count)]"),
    M("np._threads.in_threads", "invariant", "parts that overlap",
      "x[n * k // count :", "x[n * k // count - (k > 0) :"),
    M("np._threads.in_threads", "invariant", "more parts than rows", "min(threads, n)", "threads"),
    M("np._threads.in_threads", "invariant", "one generator for all", "rng.spawn(count)", "[rng] * count"),
    M("np._threads.in_threads", "invariant", "the same chance in each part",
      "rng.spawn(count)", "[rng.spawn(1)[0]] * count"),
    M("np._threads.in_threads", "invariant", "shares in float64",
      "float(w / total) for w", "np.float64(w / total) for w"),
    M("np._threads.in_threads", "invariant", "a number for a leaf of one entry",
      "np.asarray(sum(share * x for share, x in zip(shares, parts, strict=True)",
      "sum(share * x for share, x in zip(shares, parts, strict=True"),
    M("np._threads.in_threads", "invariant", "rows that differ are cut alike",
      "len(rows) != 1 or 0 in rows", "not rows or 0 in rows"),
    M("np._threads.map_threads", "invariant", "no thread at all",
      "threads: Size", "threads: int"),
    M("np._threads.in_threads", "invariant", "no part at all", "threads: Size", "threads: int"),
]
