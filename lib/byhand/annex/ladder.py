"""Chapter 16: the training step of a decoder as a ladder of speed, with the numbers of `model`, `loss` and `optim`.

The rungs: the functions of the chapters; the same with the batch shared by threads; arrays that are allocated once and
written in place; those with threads; those with fused loops. Each is the step of the first, but for rounding.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Literal

import numpy as np
from jaxtyping import Int
from numpy import ndarray as Array

from byhand.annex.loops import HAVE_NUMBA, adamw_run
from byhand.annex.workspace import Workspace, pack, workspace
from byhand.check import NonNegative, Positive, Size, checked, fits, ids_below, same_shape
from byhand.check.arrays import finite
from byhand.config import ModelConfig
from byhand.np._threads import ONE_BLAS_THREAD, in_threads
from byhand.np.loss import cross_entropy_backward, cross_entropy_forward
from byhand.np.model import decoder_backward, decoder_forward
from byhand.np.optim import Betas, adamw_step_, decay_mask, init_state
from byhand.np.train import train_step
from byhand.tree import flatten, map_tree

Rung = Literal["chapters", "chapters, threads", "in place", "in place, threads", "fused, threads"]
CHUNK = 1 << 15  # numbers of AdamW at a time, so that they stay in the cache


@checked
def training(
    rung: Rung, params: dict, config: ModelConfig, batch: Size, n: Size, threads: Size = 2, sequences: Size = 8,
    weight_decay: NonNegative = 0.01,
) -> tuple[Callable, dict]:
    """(step, a copy of params): step(ids, targets, lr) trains the copy on ids (batch, n) and gives the loss before it.

    One step is cross-entropy, its gradients and AdamW with `decay_mask`. "in place" and "chapters" leave threads to
    BLAS. The upper rungs take what `workspace` supports, the fused one in float32 and with Numba.
    """
    threads = threads if "threads" in rung else 1
    if "chapters" in rung:
        return _plain(map_tree(np.copy, params), config, threads, weight_decay)
    fused = "fused" in rung
    work = workspace(params, config, batch, n, threads, sequences, fused)
    params, state = pack(params), init_state(params)
    state |= {name: pack(state[name]) for name in "mv"}
    runs = _runs("training", params, work.grads, state)  # once: the arrays stay where they are

    def step(ids, targets, lr):
        loss, grads = fast_loss_and_grads(params, ids, targets, config, work)
        for _, _, g, *_ in runs:
            finite("training", "gradients", g)
        _adamw(runs, state, threads, lr, (0.9, 0.999), 1e-8, weight_decay, fused and HAVE_NUMBA)
        return loss

    return step, params


def _plain(params, config, threads, weight_decay):
    state, mask = init_state(params), decay_mask(params)

    def loss_and_grads(params, batch, rng):
        logits, cache = decoder_forward(batch[0], params, config)
        L, of_loss = cross_entropy_forward(logits, batch[1])
        return L, decoder_backward(cross_entropy_backward(1.0, of_loss), cache), batch[0].size

    threaded = in_threads(loss_and_grads, threads)

    def step(ids, targets, lr):
        return train_step(params, state, [(ids, targets)], threaded, lr, weight_decay=weight_decay, mask=mask,
                          inplace=True).loss

    return step, params


@checked
def fast_loss_and_grads(
    params: dict, ids: Int[Array, "B n"], targets: Int[Array, "B n"], config: ModelConfig, work: Workspace
) -> tuple[float, dict]:
    """The mean cross-entropy of the decoder and its gradients, which are packed, and which the next call overwrites.

    The same to the last bit on every run with as many threads: each has its own pieces, and takes them in order, with
    BLAS on one thread. One thread alone leaves BLAS its own.
    """
    other = [name for name, x in vars(config).items() if x != getattr(work.config, name)]
    if other:
        raise ValueError(f"fast_loss_and_grads: {other[0]} of config is {getattr(config, other[0])}, "
                         f"expected {getattr(work.config, other[0])}, that of the workspace")
    same_shape("fast_loss_and_grads", work.shape, ids=ids.shape, targets=targets.shape)
    ids_below("fast_loss_and_grads", config.vocab, ids=ids, targets=targets)
    fits("fast_loss_and_grads", params, config.shapes)
    _usable("fast_loss_and_grads", work.future.dtype, flatten(params))
    lanes, grads, passes = work.lanes, flatten(work.grads), work.passes
    ids, targets = (x.reshape(-1, len(lanes[0].X)) for x in (ids, targets))
    prepared = passes.prepare(params, config)

    def run(lane):
        loss, w = 0.0, lanes[lane]
        passes.begin(w)
        for i in range(lane, len(ids), len(lanes)):
            passes.forward_(ids[i], params, config, prepared, work, w)
            loss += passes.loss_(targets[i], targets.size, params, prepared, w)
            passes.backward_(ids[i], params, config, prepared, work, w)
        return loss

    def add_up(name):
        total = lanes[0].sums[name]
        for w in lanes[1:]:
            total += w.sums[name]
        if name in grads:
            grads[name][:len(total)] = total

    with ONE_BLAS_THREAD if len(lanes) > 1 else nullcontext(), ThreadPoolExecutor(len(lanes)) as pool:
        loss = sum(pool.map(run, range(len(lanes))))
        list(pool.map(add_up, lanes[0].sums))
    passes.finish(work, prepared)
    return loss, work.grads


@checked
def fast_adamw_step_(
    params: dict, grads: dict, state: dict, lr: NonNegative, threads: Size = 2, *, betas: Betas = (0.9, 0.999),
    eps: Positive = 1e-8, weight_decay: NonNegative = 0.01, fused: bool = False,
) -> None:
    """`adamw_step_` to the last bit, with its options; the mask is `decay_mask`, and every tree is from `pack`.

    `fused` is one compiled loop, for float32, and equal but for rounding.
    """
    trees = {"params": params, "grads": grads, "m": state["m"], "v": state["v"]}
    shapes, dtypes = map_tree(np.shape, params), {x.dtype for x in flatten(params).values()}
    if fused and dtypes != {np.dtype(np.float32)}:
        raise TypeError(f"fast_adamw_step_: params has dtype {min(map(str, dtypes))} with fused, expected float32")
    for name, leaves in trees.items():  # all of them before any moves
        fits("fast_adamw_step_", leaves, shapes, name)
        for dtype in dtypes:
            _usable("fast_adamw_step_", dtype, {f"{name}.{path}": x for path, x in flatten(leaves).items()})
    _adamw(_runs("fast_adamw_step_", params, grads, state), state, threads, lr, betas, eps, weight_decay, fused)


def _runs(where, params, grads, state):
    """The long arrays behind four trees, in runs of CHUNK numbers: whether they decay, and p, g, m, v."""
    trees, mask, runs = {"params": params, "grads": grads, "m": state["m"], "v": state["v"]}, decay_mask(params), []
    for on in (True, False):
        some = [[x for x, o in zip(_leaves(tree), _leaves(mask), strict=True) if o is on] for tree in trees.values()]
        for name, leaves in zip(trees, some, strict=True):
            if {id(x.base) for x in leaves} != {id(leaves[0].base)} or leaves[0].base is None:
                raise ValueError(f"{where}: {name} is not in two long arrays, expected a tree from pack")
        flat = [leaves[0].base for leaves in some]
        runs += [(on, *(x[i:i + CHUNK] for x in flat)) for i in range(0, len(flat[0]), CHUNK)]
    return runs


def _adamw(runs, state, threads, lr, betas, eps, weight_decay, fused):
    t = state["t"].item() + 1
    means = [c for beta in betas for c in (beta, 1 - beta, 1 - beta**t)]
    numbers = {on: np.float32([lr, *means, eps, lr * weight_decay if on else 0]) for on in (True, False)}

    def update(run):
        on, p, g, m, v = run
        if fused:
            adamw_run(p, g, m, v, *numbers[on])
        else:
            part = {"t": state["t"], "m": {"x": m}, "v": {"x": v}}
            adamw_step_({"x": p}, {"x": g}, part, lr, betas, eps, weight_decay, mask={"x": on})

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(update, runs))
    state["t"] = np.array(t)


def _leaves(tree):
    return flatten(tree).values()


def _usable(where, dtype, leaves):
    """Arrays of one dtype without NaN and infinity."""
    for name, x in leaves.items():
        if x.dtype != dtype:
            raise TypeError(f"{where}: {name} has dtype {x.dtype}, expected {dtype}")
        finite(where, name, x)
