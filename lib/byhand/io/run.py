"""Chapter 11: what a training loop keeps while it runs: its history, its folder of checkpoints, and a line of progress.

    history, folder = History(), RunFolder("runs/book", save_every=100, settings=settings(config, seed=0))
    with Progress(history, steps=1000) as progress: …
"""

import math
import sys
import time
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from byhand.check import Size, checked
from byhand.io.checkpoint import checkpoints, load_checkpoint, save_checkpoint
from byhand.io.files import prepare_folder
from byhand.tree import map_tree

KEYS = {"loss": float, "norm": float, "lr": float, "evaluated_at": int, "evaluation": float}
LOOK = 20  # steps from one look at the losses to the next: to look at one makes the program wait for a GPU
MINUTE = 60.0


class Run(NamedTuple):
    """What training gives. `best` has the parameters of the lowest evaluation, of the first one if several are as low,
    and those after the last step if nothing was evaluated.

    `history` has arrays: loss, norm (before clipping) and lr, entry t − 1 for step t; evaluated_at, the steps after
    which `evaluate` was called, and evaluation, what it gave.
    """

    params: dict
    state: dict
    best: dict
    history: dict


class Saved(NamedTuple):
    """What a run goes on from; `best` is empty where nothing was evaluated."""

    params: dict
    state: dict
    best: dict


class History:
    """The numbers of a run, as lists under the names of `Run.history`."""

    def __init__(self):
        self.loss, self.norm, self.lr, self.evaluated_at, self.evaluation = [], [], [], [], []
        self.looked = 0

    @property
    def steps(self) -> int:
        """How many were taken."""
        return len(self.loss)

    def add(self, loss: Any, norm: Any, lr: float) -> None:
        """One step more. Loss and norm may be tensors; every `LOOK` steps they become numbers."""
        self.loss.append(loss)
        self.norm.append(norm)
        self.lr.append(lr)
        if self.steps % LOOK == 0:
            self.look()

    def look(self) -> None:
        """Losses and norms as numbers. Raises ValueError, with the step, at one that is not finite."""
        for t in range(self.looked, self.steps):
            for name, values in (("loss", self.loss), ("norm", self.norm)):
                values[t] = float(values[t])
                if not math.isfinite(values[t]):
                    raise ValueError(f"train: {name} at step {t + 1} is {values[t]}, expected a finite number")
        self.looked = self.steps

    def is_due(self, every: int) -> bool:
        """Whether to evaluate: `every` steps were taken, or a multiple of it, and all losses so far are finite."""
        if self.steps == 0 or self.steps % every or self.evaluated_at[-1:] == [self.steps]:
            return False
        self.look()
        return True

    def evaluated(self, score: float) -> bool:
        """Note an evaluation after the last step. True if it is the lowest so far."""
        self.evaluated_at.append(self.steps)
        self.evaluation.append(score)
        return score < min(self.evaluation[:-1], default=math.inf)

    def is_stale(self, patience: int | None) -> bool:
        """Whether so many evaluations came after the lowest one."""
        if patience is None or not self.evaluation:
            return False
        return len(self.evaluation) - 1 - self.evaluation.index(min(self.evaluation)) >= patience

    def arrays(self) -> dict:
        """As `Run.history` has them."""
        self.look()
        return {name: np.array(getattr(self, name), kind) for name, kind in KEYS.items()}


class RunFolder:
    """Where a run is saved, and goes on from. Without a folder, or in a process that does not write, nothing is saved.

    The folder must be one that can be written; whatever is wrong with it is said here, before the first step.
    """

    @checked
    def __init__(self, folder: str | Path | None, save_every: Size, keep: Size, settings: dict, writes: bool = True):
        self.folder, self.save_every, self.keep, self.settings = folder, save_every, keep, settings
        self.writes, self.saved = writes and folder is not None, (0, 0)
        if self.writes:
            prepare_folder(folder)

    def last(self) -> int | None:
        """The step of the last checkpoint; None where there is none."""
        return max(checkpoints(self.folder), default=None) if self.folder is not None else None

    def resume(
        self, history: History, params: dict, state: dict, steps: int, resume: bool, step: int | None
    ) -> Saved | None:
        """The trees of the checkpoint of `step`, which `last` gave, its history read into `history`; None for None.

        Raises ValueError if it is of other settings or other parameters, is damaged, or went further than `steps`.
        """
        if step is None:
            return None
        if not resume:
            raise ValueError(f"train: {self.folder} holds step {step}, expected an empty folder, or resume=True")
        saved = load_checkpoint(self.folder, {"params": params, "state": state}, self.settings, step)
        past = saved.trees.get("history", {})
        if past.keys() != KEYS.keys() or len(past["loss"]) != saved.step:
            raise ValueError(f"train: step {saved.step} of {self.folder} has no history of its steps, expected one by "
                             "train")
        if saved.step > steps:
            raise ValueError(f"train: {self.folder} holds step {saved.step}, expected at most steps, {steps}")
        for name, values in past.items():
            getattr(history, name).extend(values.tolist())
        self.saved = history.steps, len(history.evaluation)
        return Saved(*(map_tree(np.copy, saved.trees.get(part, {})) for part in Saved._fields))

    def is_due(self, history: History) -> bool:
        """Whether to save: `save_every` steps were taken, or some multiple, and that is not yet on the disk.

        The same in every process of a run, whichever writes: trees that are cut over them are brought together by all.
        """
        return history.steps % self.save_every == 0 and self.is_behind(history)

    def is_behind(self, history: History) -> bool:
        """Whether the last checkpoint lacks a step or an evaluation."""
        return self.folder is not None and self.saved != (history.steps, len(history.evaluation))

    def save(self, history: History, params: dict, state: dict, best: dict | None) -> None:
        """Write a checkpoint, unless the last one has all of it."""
        if self.is_behind(history):
            trees = {"params": params, "state": state, "best": best or {}, "history": history.arrays()}
            if self.writes:
                save_checkpoint(self.folder, history.steps, trees, {"config": self.settings}, self.keep)
            self.saved = history.steps, len(history.evaluation)


class Progress:
    """A bar on a terminal; where a program writes to a file, a line a minute; nothing in a notebook, which keeps it."""

    def __init__(self, history: History, steps: int, shown: bool = True):
        in_notebook = type(sys.stderr).__module__.startswith("ipykernel")
        self.history, self.steps, self.begun, self.file = history, steps, history.steps, sys.stderr
        self.bar = tqdm(total=steps, initial=history.steps, unit="step", file=self.file,
                        disable=not (shown and self.file.isatty()))
        self.lines = shown and self.bar.disable and not in_notebook
        self.start = self.last = time.monotonic()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_) -> None:
        self.bar.close()

    def show(self) -> None:
        """To be called after each step."""
        self.bar.update()
        if not self.bar.disable and self.history.looked == self.history.steps:
            self.bar.set_postfix(loss=f"{self.history.loss[-1]:.4f}", refresh=False)
        if self.lines and (now := time.monotonic()) - self.last >= MINUTE:
            self.last = now
            print(self.line(now - self.start), file=self.file, flush=True)

    def line(self, seconds: float) -> str:
        """Such as `step 1200/5000, loss 2.3456, lr 0.0030, 20.0 steps a second, 0:03:10 left`."""
        self.history.look()
        t, rate = self.history.steps, (self.history.steps - self.begun) / seconds
        left = round((self.steps - t) / rate)
        return (f"step {t}/{self.steps}, loss {self.history.loss[-1]:.4f}, lr {self.history.lr[-1]:.4g}, "
                f"{rate:.1f} steps a second, {left // 3600}:{left // 60 % 60:02}:{left % 60:02} left")


def settings(config: Any, **options) -> dict:
    """What must be the same when a run goes on: options, and the configuration of the model."""
    return options | {"model": asdict(config) if is_dataclass(config) else config}
