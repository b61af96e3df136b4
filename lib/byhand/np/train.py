"""Chapter 11: one step of training, and the loop around it: evaluation, early stop, checkpoints, resuming.

All that happens at a step is a function of (seed, step): batch, rate, dropout. So a run that stopped goes on from its
parameters, its state and its history alone, and to the same last bit.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from byhand import guard
from byhand.io.checkpoint import InterruptsHeld, checkpoints, load_checkpoint, save_checkpoint
from byhand.np.optim import EXEMPT, adamw_step, adamw_step_, clip_by_global_norm, decay_mask, init_state
from byhand.tree import map_tree

HISTORY = {"loss": float, "norm": float, "lr": float, "evaluated_at": int, "evaluation": float}
SHOWN = 20  # steps from one loss on the progress bar to the next: to look at a loss makes a GPU wait


class Step(NamedTuple):
    params: dict
    state: dict
    loss: float  # over all tokens of the step, before it
    norm: float  # of the gradient, before clipping


class Run(NamedTuple):
    params: dict  # after the last step
    state: dict
    best: dict  # the parameters of the lowest evaluation; those after the last step if there was none
    history: dict  # arrays: loss, norm, lr, one a step; evaluated_at, evaluation


def train_step(
    params: dict,
    state: dict,
    batches: list | tuple,
    loss_and_grads: Callable,
    lr: float,
    *,
    clip: float | None = None,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    decay: float = 0.01,
    mask: dict | None = None,
    rng: np.random.Generator | None = None,
    inplace: bool = False,
) -> Step:
    """One step of AdamW from micro-batches: g = Σ w g_i / Σ w, clipped by its norm.

    `loss_and_grads(params, batch, rng) -> (mean loss, its gradients, w)`, with w the tokens that the mean is over: so
    the step is that of one large batch, however it was cut. `inplace` writes into `params` and `state`.
    """
    guard.batches("train_step", batches)
    loss, total, grads = 0.0, 0.0, {}
    for batch in batches:
        with guard.values_trusted():  # a NaN on the way would reach the loss or the gradients, and both are looked at
            L, g, w = loss_and_grads(params, batch, rng)
        guard.number("train_step", low=0, weight=w)
        guard.number("train_step", loss=float(L))
        total += float(w)
        share = float(w) / total  # (11.35)
        loss += share * (float(L) - loss)
        if grads:
            grads = map_tree(lambda mean, x: np.asarray(mean + share * (x - mean)), grads, g)  # noqa: B023
        else:  # a copy, because the next micro-batch may come in the same buffers
            grads = g if len(batches) == 1 else map_tree(np.copy, g)
    grads, norm = clip_by_global_norm(grads, sys.float_info.max if clip is None else clip)
    update = adamw_step_ if inplace else adamw_step
    new = update(params, grads, state, lr, *betas, eps, decay, mask)
    return Step(*(new or (params, state)), loss, norm)


def train(
    params: dict,
    batch_at: Callable,
    loss_and_grads: Callable,
    steps: int,
    schedule: Callable,
    *,
    seed: int = 0,
    clip: float | None = 1.0,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    decay: float = 0.01,
    exempt: tuple[str, ...] = EXEMPT,
    evaluate: Callable | None = None,
    evaluate_every: int = 100,
    patience: int | None = None,
    folder: str | Path | None = None,
    save_every: int = 100,
    keep: int = 2,
    resume: bool = True,
    config: Any = None,
) -> Run:
    """`train_step` on the micro-batches `batch_at(step)` at the rate `schedule(step)`, for steps 1 … `steps`.

    Every `evaluate_every` steps `evaluate(params)` gives a number, and the parameters of the lowest are kept; after
    `patience` evaluations that were not lower, training ends. With a `folder`, a checkpoint is written there every
    `save_every` steps, at the end, and at Ctrl-C; a run that finds one there goes on from it, to the last bit, provided
    that `batch_at` depends on nothing but the step. Dropout draws from default_rng([seed, step]). `params` is left
    alone; `config`, JSON or a dataclass, must be the same when resumed, as must seed, clipping and optimiser.
    """
    guard.count("train", low=0, seed=seed)
    params, state = map_tree(np.copy, params), init_state(params)
    mask = decay_mask(params, exempt)

    def step_at(step):
        lr, rng = schedule(step), np.random.default_rng([seed, step])
        done = train_step(params, state, batch_at(step), loss_and_grads, lr, clip=clip, betas=betas, eps=eps,
                          decay=decay, mask=mask, rng=rng, inplace=True)
        return done.loss, done.norm, lr

    def load(saved, moments):
        map_tree(np.copyto, params, saved)
        state.update(moments)

    same = settings(config, seed=seed, clip=clip, betas=betas, eps=eps, decay=decay, exempt=exempt)
    return loop(step_at, lambda: params, lambda: state, load, steps, evaluate=evaluate and (lambda: evaluate(params)),
                evaluate_every=evaluate_every, patience=patience, folder=folder, save_every=save_every, keep=keep,
                resume=resume, config=same)


def loop(
    step_at: Callable,
    params_now: Callable,
    state_now: Callable,
    load: Callable,
    steps: int,
    *,
    evaluate: Callable | None,
    evaluate_every: int,
    patience: int | None,
    folder: str | Path | None,
    save_every: int,
    keep: int,
    resume: bool,
    config: dict,
    writes: bool = True,
) -> Run:
    """The loop of both halves. `step_at(step) -> (loss, norm, lr)` takes a step, the trees are read by `params_now()`
    and `state_now()` and set by `load(params, state)`; only the process with `writes` writes."""
    guard.count("train", steps=steps, evaluate_every=evaluate_every, save_every=save_every, keep=keep)
    if patience is not None and (guard.count("train", patience=patience) or evaluate is None):
        raise ValueError(f"train: patience is {patience} but evaluate is None, expected a function")
    history: dict[str, list] = {name: [] for name in HISTORY}
    losses, scores, best, settled = history["loss"], history["evaluation"], None, 0
    if folder is not None and (there := checkpoints(folder)):
        if not resume:
            raise ValueError(f"train: {folder} holds step {there[-1]}, expected an empty folder, or resume=True")
        saved = load_checkpoint(folder, {"params": params_now(), "state": state_now()}, config)
        past, best = saved.trees.get("history", {}), saved.trees.get("best")
        if past.keys() != HISTORY.keys() or len(past["loss"]) != saved.step:
            raise ValueError(f"train: step {saved.step} of {folder} has no history of its steps, expected one by train")
        if saved.step > steps:
            raise ValueError(f"train: {folder} holds step {saved.step}, expected at most steps, {steps}")
        load(saved.trees["params"], saved.trees["state"])
        for name, values in past.items():
            history[name] += values.tolist()
    written = len(losses), len(scores)

    def settle():  # the losses of a GPU become numbers, and must be finite before anything is kept
        nonlocal settled
        for t in range(settled, len(losses)):
            for name in ("loss", "norm"):
                x = history[name][t] = float(history[name][t])
                if not math.isfinite(x):
                    raise ValueError(f"train: {name} at step {t + 1} is {x}, expected a finite number")
        settled = len(losses)

    def arrays():
        settle()
        return {name: np.array(history[name], kind) for name, kind in HISTORY.items()}

    def save():
        nonlocal written
        if folder is not None and writes and written != (len(losses), len(scores)):
            trees = {"params": params_now(), "state": state_now(), "best": best or {}, "history": arrays()}
            save_checkpoint(folder, len(losses), trees, {"config": config}, keep)
            written = len(losses), len(scores)

    try:
        with tqdm(total=steps, initial=len(losses), unit="step", disable=None) as bar:
            while True:
                t = len(losses)
                if evaluate and t and t % evaluate_every == 0 and history["evaluated_at"][-1:] != [t]:
                    settle()
                    score = float(evaluate())
                    guard.number("train", evaluation=score)
                    with InterruptsHeld():
                        if score < min(scores, default=math.inf):
                            best = map_tree(np.copy, params_now())
                        history["evaluated_at"].append(t)
                        scores.append(score)
                if t % save_every == 0:
                    save()
                if t >= steps or patience and scores and len(scores) - 1 - scores.index(min(scores)) >= patience:
                    break
                with InterruptsHeld():
                    for name, x in zip(("loss", "norm", "lr"), step_at(t + 1), strict=True):
                        history[name].append(x)
                bar.update()
                if (t + 1) % SHOWN == 0:
                    settle()
                    bar.set_postfix(loss=f"{losses[-1]:.4f}", refresh=False)
    except KeyboardInterrupt:
        save()
        raise
    save()
    return Run(params_now(), state_now(), best or params_now(), arrays())


def settings(config: Any, **options) -> dict:
    """What must be the same when a run goes on: options, and the configuration of the model."""
    return options | {"model": asdict(config) if is_dataclass(config) else config}
