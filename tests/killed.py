"""Training that is killed at random, again and again, and goes on: in the end it is the run that nobody killed.

    python tests/killed.py --half np --kills 20
    python tests/killed.py --half pt --kills 20

A small decoder with dropout learns in a process that is ended with SIGKILL at a random moment, and started again on the
same folder; where a run is through before all kills are spent, the next begins in a new folder. Parameters, optimiser
state, best parameters and history of every run must equal those of the run that was left in peace, bit for bit.
Prints what was counted as JSON.
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import asdict

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy comes: a fork in a process with threads may hang

import numpy as np
from byhand.config import ModelConfig
from byhand.data import random_windows
from byhand.init import init_model
from byhand.io.checkpoint import checkpoints, load_checkpoint
from byhand.tree import flatten
from tqdm import tqdm

STEPS, EVERY, SEED = 120, 3, 5
CONFIG = ModelConfig("decoder", 20, 16, 2, 1, n_max=8, p=0.1)
TEXT = np.random.default_rng(SEED).integers(0, 20, size=2000)


def windows(step):
    return random_windows(TEXT, 8, 4, np.random.default_rng([SEED, step]))


def options(folder) -> dict:
    return dict(seed=SEED, evaluate_every=10, folder=folder, save_every=EVERY, keep=2, config=asdict(CONFIG))


def train_np(folder):
    from byhand.np.loss import cross_entropy_backward, cross_entropy_forward
    from byhand.np.model import decoder_backward, decoder_forward
    from byhand.np.train import train

    def loss_and_grads(params, batch, rng):
        inputs, targets = batch
        logits, cache = decoder_forward(inputs, params, CONFIG, rng=rng)
        loss, last = cross_entropy_forward(logits, targets)
        return loss, decoder_backward(cross_entropy_backward(1.0, last), cache), targets.size

    return train(init_model(np.random.default_rng(SEED), CONFIG), lambda step: [windows(step)], loss_and_grads, STEPS,
                 lambda step: 1e-2 / step**0.5, **options(folder),
                 evaluate=lambda params: loss_and_grads(params, windows(0), None)[0])


def train_pt(folder):
    import torch
    from byhand.pt.loss import cross_entropy
    from byhand.pt.model import Decoder
    from byhand.pt.train import train

    torch.set_num_threads(1)

    def loss_fn(module, batch):
        inputs, targets = map(torch.from_numpy, batch)
        return cross_entropy(module(inputs), targets), targets.numel()

    return train(Decoder(CONFIG, np.random.default_rng(SEED)), lambda step: [windows(step)], loss_fn, STEPS,
                 lambda step: 1e-2 / step**0.5, **options(folder),
                 evaluate=lambda module: loss_fn(module, windows(0))[0])


def spawn(train, folder) -> int:
    pid = os.fork()
    if not pid:
        code = 1
        try:
            train(folder)
            code = 0
        except BaseException:
            traceback.print_exc()
        os._exit(code)
    return pid


def ended(pid, seconds=None) -> int | None:
    """The exit status; None if it still runs after so many seconds."""
    limit = time.monotonic() + (seconds if seconds is not None else 600)
    while time.monotonic() < limit:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    return None


def everything(folder) -> dict[str, bytes]:
    """Each array of the last checkpoint, as bytes."""
    trees = load_checkpoint(folder).trees
    return {name: np.asarray(x).tobytes() for name, x in flatten(trees).items()}


def main() -> dict:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--half", choices=("np", "pt"), required=True)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--fault", choices=("step", "state", "fresh"), help="a wrong way to go on, to see it found")
    a = parser.parse_args()
    seed = random.randrange(2**32) if a.seed is None else a.seed
    rng, train = random.Random(seed), {"np": train_np, "pt": train_pt}[a.half]
    tqdm.monitor_interval = 0  # no thread of tqdm, which might hold its lock while this process forks
    train(None)  # what is imported or set up at the first step is there before anything forks
    assert len(os.listdir("/proc/self/task")) == 1, "a thread is there before the first fork"
    if a.fault:
        break_resuming(a.fault)
    counts = {"half": a.half, "seed": seed, "kills": 0, "kills after a save": 0, "runs": 0}
    with tempfile.TemporaryDirectory() as home:
        begun = time.monotonic()
        assert ended(spawn(train, f"{home}/peace")) == 0
        whole, right = time.monotonic() - begun, everything(f"{home}/peace")
        while counts["kills"] < a.kills:
            folder, done = f"{home}/{counts['runs']}", False
            while not done:
                pid = spawn(train, folder)
                wait = rng.uniform(0.02, 0.25) * whole if counts["kills"] < a.kills else None
                status = ended(pid, wait)
                if status is None:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                    counts["kills"] += 1
                    counts["kills after a save"] += bool(os.path.isdir(folder) and checkpoints(folder))
                else:
                    assert status == 0, f"the run ended with {status}"
                    done = True
            counts["runs"] += 1
            found = everything(folder)
            assert found.keys() == right.keys()
            other = [name for name, x in right.items() if found[name] != x]
            assert not other, f"after {counts} these differ from the run in peace: {other[:5]}"
    return counts


def break_resuming(fault):
    """Wrong ways to go on that a person would write; kept, so that the comparison is seen to find them."""
    from byhand.io import run
    from byhand.io.run import RunFolder
    from byhand.tree import map_tree

    real = RunFolder.resume

    def resume(self, history, *rest):
        saved = real(self, history, *rest)
        if saved and fault == "step":  # the draws of the steps begin anew: one step is forgotten
            for values in (history.loss, history.norm, history.lr):
                values.pop()
        if saved and fault == "state":  # the moments of the optimiser are not kept
            saved = saved._replace(state=map_tree(np.zeros_like, saved.state))
        if saved and fault == "fresh":  # parameters as they were drawn
            saved = saved._replace(params=map_tree(np.copy, rest[0]))
        return saved

    run.RunFolder.resume = resume


if __name__ == "__main__":
    try:
        print(json.dumps(main()))
    except AssertionError as error:
        sys.exit(str(error))
