"""Chapter 11: one step of training, and the loop around it: evaluation, early stop, checkpoints, resuming.

All that happens at a step is a function of (seed, step): batch, rate, dropout. So a run that stopped goes on from its
parameters, its state and its history alone, and to the same last bit.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from byhand.check import (
    Index,
    NonNegative,
    Positive,
    Size,
    ValuesTrusted,
    checked,
    loss_answer,
    not_empty,
    number_from,
)
from byhand.io.interrupts import InterruptsHeld
from byhand.io.run import History, Progress, Run, RunFolder, settings
from byhand.np._memory import keep_memory
from byhand.np.optim import EXEMPT, Betas, adamw_step, adamw_step_, clip_by_global_norm, decay_mask, init_state
from byhand.tree import map_tree


class Step(NamedTuple):
    params: dict
    state: dict
    loss: float  # over all tokens of the step, before it
    norm: float  # of the gradient, before clipping


@checked
def train_step(
    params: dict,
    state: dict,
    batches: list | tuple,
    loss_and_grads: Callable,
    lr: NonNegative,
    *,
    max_norm: Positive | None = None,
    betas: Betas = (0.9, 0.999),
    eps: Positive = 1e-8,
    weight_decay: NonNegative = 0.01,
    mask: dict | None = None,
    rng: np.random.Generator | None = None,
    inplace: bool = False,
) -> Step:
    """One step of AdamW from micro-batches: g = Σ w g_i / Σ w, clipped by its norm.

    `loss_and_grads(params, batch, rng) -> (mean loss, its gradients, w)`, with w the tokens that the mean is over: so
    the step is that of one large batch, however it was cut. `inplace` writes into `params` and `state`.
    """
    not_empty("train_step", batches=batches)
    loss, total, grads = 0.0, 0.0, {}
    for batch in batches:
        with ValuesTrusted():  # a NaN on the way would reach the loss or the gradients, and both are looked at
            found = loss_and_grads(params, batch, rng)
        loss_answer("train_step", "loss_and_grads", found, "a mean loss", "its gradients", "a weight")
        L, g, w = found
        total += float(w)
        share = float(w) / total  # (11.35)
        loss += share * (float(L) - loss)
        if grads:
            grads = map_tree(lambda mean, x: np.asarray(mean + share * (x - mean)), grads, g)  # noqa: B023
        else:  # a copy, because the next micro-batch may come in the same buffers
            grads = g if len(batches) == 1 else map_tree(np.copy, g)
    grads, norm = clip_by_global_norm(grads, max_norm)
    update = adamw_step_ if inplace else adamw_step
    with ValuesTrusted():  # the gradients were looked at above, and the next loss looks at the rest
        new = update(params, grads, state, lr, betas, eps, weight_decay, mask)
    params, state = (params, state) if inplace else new
    return Step(params, state, loss, norm)


@checked
def train(
    params: dict,
    batch_at: Callable,
    loss_and_grads: Callable,
    steps: Size,
    schedule: Callable,
    *,
    seed: Index = 0,
    max_norm: Positive | None = 1.0,
    betas: Betas = (0.9, 0.999),
    eps: Positive = 1e-8,
    weight_decay: NonNegative = 0.01,
    exempt: tuple[str, ...] = EXEMPT,
    evaluate: Callable | None = None,
    evaluate_every: Size = 100,
    patience: Size | None = None,
    folder: str | Path | None = None,
    save_every: Size = 100,
    keep: Size = 2,
    resume: bool = True,
    config: Any = None,
) -> Run:
    """`train_step` on the micro-batches `batch_at(step)` at the rate `schedule(step)`, for steps 1 … `steps`.

    Every `evaluate_every` steps `evaluate(params)` gives a number, and the parameters of the lowest are kept; after
    `patience` evaluations that were not lower, training ends. With a `folder`, a checkpoint is written there every
    `save_every` steps, at the end, and at Ctrl-C; a run that finds one there goes on from it, to the last bit, provided
    that `batch_at` depends on nothing but the step. Dropout draws from default_rng([seed, step]). `params` is left
    alone; `config`, JSON or a dataclass, must be the same when resumed, as must seed, clipping and optimiser.
    On Linux the process keeps the memory of freed arrays from here on, up to 1 GiB (`byhand.np._memory`).
    """
    if patience is not None and evaluate is None:
        raise ValueError(f"train: patience is {patience} but evaluate is None, expected a function")
    keep_memory()
    params, state, mask, best = map_tree(np.copy, params), init_state(params), decay_mask(params, exempt), None
    same = settings(
        config, seed=seed, max_norm=max_norm, betas=betas, eps=eps, weight_decay=weight_decay, exempt=exempt)
    history, run = History(), RunFolder(folder, save_every, keep, same)
    if saved := run.resume(history, params, state, steps, resume, run.last()):
        params, state, best = saved
    with Progress(history, steps) as bar:
        try:
            while True:
                if evaluate and history.is_due(evaluate_every):
                    score = number_from("train", f"evaluation after step {history.steps}", evaluate(params))
                    with InterruptsHeld():
                        if history.evaluated(score):
                            best = map_tree(np.copy, params)
                if run.is_due(history):
                    run.save(history, params, state, best)
                if history.steps >= steps or history.is_stale(patience):
                    break
                step = history.steps + 1
                lr, batches = number_from("train", f"schedule({step})", schedule(step)), batch_at(step)
                rng = np.random.default_rng([seed, step])
                with InterruptsHeld():  # a step is taken as a whole, or not at all
                    _, _, loss, norm = train_step(
                        params, state, batches, loss_and_grads, lr, max_norm=max_norm, betas=betas, eps=eps,
                        weight_decay=weight_decay, mask=mask, rng=rng, inplace=True)
                    history.add(loss, norm, lr)
                bar.show()
        except KeyboardInterrupt:
            run.save(history, params, state, best)
            raise
    run.save(history, params, state, best)
    return Run(params, state, best or params, history.arrays())
