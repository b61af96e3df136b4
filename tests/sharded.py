"""One process of two under torchrun: runs whose parameters are cut over both, and one that goes on after a death.

`processes.two_processes(this file, FOLDER)`, twice: the first time the second process kills itself at step 4.
FOLDER/N.py.txt are versions of byhand.pt.train, each of which trains for some steps, stops, and goes on; what the first
process found is written to FOLDER/N.json.
"""

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
from byhand.pt.loss import cross_entropy
from byhand.pt.model import Decoder

CONFIG = ModelConfig("decoder", 11, 12, 3, 2, n_max=8, position="rope")


def batch_at(step, rank=0, world=1):
    ids = np.random.default_rng(step).integers(11, size=(2, 4, 9))
    return [torch.from_numpy(rows[rank::world]) for rows in ids]


def loss_fn(net, ids):
    return cross_entropy(net(ids[:, :-1]), ids[:, 1:]), ids[:, 1:].numel()


def run(train, folder, steps, batch_at=batch_at, **options):
    net = Decoder(CONFIG, np.random.default_rng(0))
    net.recompute = options.pop("recompute", False)
    found = train(
        net, batch_at, loss_fn, steps, lambda step: 0.02, max_norm=0.5, folder=folder, save_every=2, **options)
    return net, found


def numbers(found):
    flat = np.concatenate([x.ravel() for x in tree.flatten(found.params).values()])
    moments = np.concatenate([x.ravel() for x in tree.flatten(found.state["v"]).values()])
    return {"params": flat.tolist(), "moments": moments.tolist(), "norm": found.history["norm"].tolist(),
            "loss": found.history["loss"].tolist()}


def main(folder):
    faulthandler.dump_traceback_later(float(os.environ["LIMIT"]), exit=True)  # as tests/processes.py says
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()

    def share(step):
        return batch_at(step, rank, world)

    def dies(step):
        if step == 4 and rank == 1 and not (folder / "second").exists():
            (folder / "second").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return share(step)

    from byhand.pt import train as right

    died = numbers(run(right.train, folder / "died", 5, dies)[1])
    for path in sorted(folder.glob("*.py.txt")):
        module = ModuleType("byhand.pt.train")
        exec(compile(path.read_text(encoding="utf-8"), path.name, "exec"), vars(module))
        try:
            run(module.train, folder / path.stem, 3, share, shard=True)
            net, found = run(module.train, folder / path.stem, 5, share, shard=True, recompute=True)
            held = sum(p.to_local().numel() if hasattr(p, "to_local") else p.numel() for p in net.parameters())
            result = numbers(found) | {"held": held}
        except (RuntimeError, ValueError, TypeError) as error:  # a wrong version may be refused by torch
            result = {"error": f"{type(error).__name__}: {error}"}
        if rank == 0:
            (folder / f"{path.stem}.json").write_text(json.dumps(result | {"died": died}))
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
