"""One process of two under torchrun: runs whose parameters are cut over both, and runs that go on after a death.

`processes.two_processes(this file, FOLDER, restarts=3)`: the second process kills itself in step 4 of a run with
parameters whole in each, in step 4 of one with parameters cut, and once where nothing is under test; torchrun starts
both processes again.
FOLDER/N.py.txt are versions of byhand.pt.train, each of which trains for some steps, stops, and goes on; what the first
process found is written to FOLDER/N.py.json, and of the two that were killed to FOLDER/killed.json. At last the
processes run the command `train.main` of FOLDER/flags.json.

A busy machine may end a start anywhere, and each start begins at the top of this file: what an earlier one has written
is done, and what it left half done is done anew in a folder of its own.
"""

import dataclasses
import faulthandler
import json
import os
import signal
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import torch
import torch.distributed as dist
from byhand import tree
from byhand.config import ModelConfig
from byhand.io.files import write_whole
from byhand.pt._processes import meet
from byhand.pt.loss import cross_entropy
from byhand.pt.model import Decoder

CONFIG = ModelConfig("decoder", 11, 12, 3, 2, n_max=8, position="rope")


def batch_at(step, rank=0, world=1):
    ids = np.random.default_rng(step).integers(11, size=(2, 4, 9))
    return [torch.from_numpy(rows[rank::world]) for rows in ids]


def loss_fn(net, ids):
    return cross_entropy(net(ids[:, :-1]), ids[:, 1:]), ids[:, 1:].numel()


def evaluate(net):
    """The higher the better it has learned, so the best parameters are early ones."""
    return -loss_fn(net, batch_at(0)[0])[0]


def run(train, folder, steps, batch_at=batch_at, p=0.0, recompute=False, **options):
    """The module and what `train` found, with the steps that it asked a batch for."""
    net, asked = Decoder(dataclasses.replace(CONFIG, p=p), np.random.default_rng(0)), []
    net.recompute = recompute

    def noted(step):
        asked.append(step)
        return batch_at(step)

    found = train(net, noted, loss_fn, steps, lambda step: 0.02, max_norm=0.5, folder=folder, save_every=2,
                  evaluate=evaluate, evaluate_every=1, **options)
    return net, found, asked


def numbers(found):
    trees = {"params": found.params, "best": found.best, "m": found.state["m"], "v": found.state["v"]}
    flat = {name: np.concatenate([x.ravel() for _, x in sorted(tree.flatten(t).items())]) for name, t in trees.items()}
    return {name: x.tolist() for name, x in (flat | found.history).items()}


def main(folder):
    faulthandler.dump_traceback_later(float(os.environ["LIMIT"]), exit=True)  # as tests/processes.py says
    meet("gloo")
    rank, world, start = dist.get_rank(), dist.get_world_size(), os.environ["TORCHELASTIC_RESTART_COUNT"]
    done = {path.name for path in folder.glob("*.json")}
    dist.barrier()  # both know the same, before the first writes more

    def share(step):
        return batch_at(step, rank, world)

    def die_once(name):
        if rank == 1 and not (died := folder / f"{name}.died").exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def dies_once(name):
        def batches(step):
            if rank == 1:
                with (folder / f"{name}.steps").open("a") as file:
                    print(start, step, file=file)
            if step == 4:
                die_once(name)
            return share(step)
        return batches

    from byhand.pt import train as right

    killed = {}
    for name, shard in (("whole", False), ("cut", True)) if "killed.json" not in done else ():
        for key, place, batches in ((name, folder / name, dies_once(name)), (f"{name} in peace", None, share)):
            killed[key] = numbers(run(right.train, place, 5, batches, p=0.1, shard=shard)[1])
    if rank == 0 and killed:
        write_whole(folder / "killed.json", json.dumps(killed).encode())
    for path in sorted(path for path in folder.glob("*.py.txt") if f"{path.stem}.json" not in done):
        module = ModuleType("byhand.pt.train")
        exec(compile(path.read_text(encoding="utf-8"), path.name, "exec"), vars(module))
        try:
            run(module.train, folder / f"{path.stem} {start}", 3, share, shard=True)
            net, found, asked = run(module.train, folder / f"{path.stem} {start}", 5, share, shard=True, recompute=True)
            held = sum(p.to_local().numel() if hasattr(p, "to_local") else p.numel() for p in net.parameters())
            result = numbers(found) | {"held": held, "asked": asked}
        except (RuntimeError, ValueError, TypeError) as error:  # a wrong version may be refused by torch
            result = {"error": f"{type(error).__name__}: {error}"}
        die_once("between")
        dist.barrier()
        if rank == 0:
            write_whole(folder / f"{path.stem}.json", json.dumps(result).encode())
    right.meet = lambda backend: None  # they have met
    right.main(json.loads((folder / "flags.json").read_text()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
