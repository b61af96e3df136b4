"""Chapter 11: the same step and loop in PyTorch: autocast to bfloat16, torch.compile, one process or many.

`torchrun --nproc-per-node=2 -m byhand.pt.train --text book.txt --folder runs/book` trains a small decoder in two
processes: each takes its share of every batch, and DistributedDataParallel brings the gradients together.
"""

import argparse
import hashlib
import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from byhand import guard, pt, tree
from byhand.config import ModelConfig
from byhand.np.optim import EXEMPT, warmup_cosine
from byhand.np.train import Run, loop, settings
from byhand.pt.loss import bits, cross_entropy
from byhand.pt.model import Decoder
from byhand.pt.optim import adamw, set_lr
from byhand.text import CharTokenizer

FLAGS = {"steps": 500, "batch": 32, "micro": 1, "n": 64, "d": 64, "heads": 4, "layers": 2, "every": 100, "seed": 0,
         "rate": 3e-3, "dropout": 0.0}


def train_step(
    module: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: list | tuple,
    loss_fn: Callable,
    lr: float,
    *,
    clip: float | None = None,
    autocast: torch.dtype | None = None,
) -> tuple[Tensor, Tensor]:
    """One step of the optimiser from micro-batches: g = Σ w g_i / Σ w over all processes, clipped by its norm.

    `loss_fn(module, batch) -> (mean loss, w)`, with w the tokens that the mean is over. Gives the loss before the step
    and the norm before clipping, as tensors, so that nothing here waits for a GPU.
    """
    guard.batches("train_step", batches)
    parallel = isinstance(module, DistributedDataParallel)
    set_lr(optimizer, lr)
    optimizer.zero_grad(set_to_none=True)
    totals = 0
    for i, batch in enumerate(batches):
        with module.no_sync() if parallel and i < len(batches) - 1 else nullcontext():  # they meet in the last alone
            with _autocast(module, autocast):
                loss, weight = loss_fn(module, batch)
            guard.shape("train_step", "loss", loss.shape, ())
            loss = loss.to(torch.promote_types(loss.dtype, torch.float32)) * weight
            loss.backward()
        totals = totals + torch.stack([loss.detach(), loss.new_zeros(()) + weight])
    if parallel:
        dist.all_reduce(totals)
    grads = [p.grad for p in module.parameters() if p.grad is not None]
    scale = (dist.get_world_size() if parallel else 1) / totals[1]  # DistributedDataParallel takes means, not sums
    norm = nn.utils.get_total_norm(grads) * scale
    if clip is not None:
        guard.number("train_step", low=0, clip=clip)
        scale = scale * (clip / norm).clamp(max=1.0)
    torch._foreach_mul_(grads, scale)
    optimizer.step()
    return totals[0] / totals[1], norm


def train(
    module: nn.Module,
    batch_at: Callable,
    loss_fn: Callable,
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
    autocast: torch.dtype | None = None,
    compile: bool = False,
) -> Run:
    """The loop of the NumPy half, with its checkpoints: a run of either half goes on in the other.

    Trains `module` in place; the trees of the Run are arrays. `evaluate(module)` runs in eval mode, without gradients.
    Where torch.distributed is initialised, `batch_at(step)` gives the share of this process, as many micro-batches in
    each; the first one writes, and its evaluation counts. The random state of torch is as before when training ends.
    """
    guard.count("train", low=0, seed=seed)
    place, mode = next(module.parameters()).device, module.training
    optimizer = adamw(module, 0.0, *betas, eps, decay, exempt)
    parallel = dist.is_available() and dist.is_initialized()
    rank = dist.get_rank() if parallel else 0

    def params_now():
        return tree.from_torch(dict(module.named_parameters()))

    def load(params, state):
        module.load_state_dict(tree.flatten(tree.to_torch(params)), strict=False)  # buffers are no parameters
        load_optimizer_state(module, optimizer, state)

    def step_at(step):
        source = np.random.SeedSequence([seed, step, rank])  # each process drops out units of its own
        torch.manual_seed(int(source.generate_state(1, np.uint64)[0]))
        lr = schedule(step)
        return *train_step(learner, optimizer, batch_at(step), loss_fn, lr, clip=clip, autocast=autocast), lr

    def evaluated():
        learner.eval()
        with torch.no_grad(), _autocast(module, autocast):
            score = float(evaluate(runner))
        learner.train()
        if parallel:  # all stop at the same step, whatever the last bit of their own
            dist.broadcast(box := torch.tensor(score, dtype=torch.float64, device=place), 0)
            score = box.item()
        return score

    runner = torch.compile(module) if compile else module
    learner = DistributedDataParallel(runner) if parallel else runner
    same = settings(config, seed=seed, clip=clip, betas=betas, eps=eps, decay=decay, exempt=exempt)
    try:
        with torch.random.fork_rng([place] if place.type == "cuda" else []):
            learner.train()
            return loop(step_at, params_now, lambda: optimizer_state(module, optimizer), load, steps,
                        evaluate=evaluate and evaluated, evaluate_every=evaluate_every, patience=patience,
                        folder=folder, save_every=save_every, keep=keep, resume=resume, config=same, writes=rank == 0)
    finally:
        module.train(mode)


def optimizer_state(module: nn.Module, optimizer: torch.optim.Optimizer) -> dict:
    """The {t, m, v} of an AdamW as the NumPy half has it: arrays, in the tree of the parameters."""
    held = {name: (p, optimizer.state.get(p, {})) for name, p in module.named_parameters()}
    return {"t": np.array(max(int(s.get("step", 0)) for _, s in held.values()))} | {
        ours: tree.from_torch({name: s.get(theirs, torch.zeros_like(p)) for name, (p, s) in held.items()})
        for ours, theirs in (("m", "exp_avg"), ("v", "exp_avg_sq"))}


def load_optimizer_state(module: nn.Module, optimizer: torch.optim.Optimizer, state: dict) -> None:
    """The inverse of `optimizer_state`; torch numbers the parameters group by group."""
    names = {p: name for name, p in module.named_parameters()}
    order = [names[p] for group in optimizer.param_groups for p in group["params"]]
    m, v = (tree.flatten(tree.to_torch(state[name])) for name in "mv")
    t = float(state["t"])
    moments = {i: {"step": torch.tensor(t), "exp_avg": m[x], "exp_avg_sq": v[x]} for i, x in enumerate(order)}
    optimizer.load_state_dict(optimizer.state_dict() | {"state": moments})


def _autocast(module, dtype):
    if dtype not in (None, torch.bfloat16):
        raise ValueError(f"train: autocast is {dtype}, expected torch.bfloat16 or None (others need a scaled loss)")
    return torch.autocast(next(module.parameters()).device.type, torch.bfloat16, enabled=dtype is not None)


def main(arguments: list[str] | None = None) -> Run:
    """Train a small decoder on the characters of a text; under torchrun, in many processes, each with its share."""
    parser = argparse.ArgumentParser("python -m byhand.pt.train", description=main.__doc__)
    parser.add_argument("--text", type=Path, required=True, help="a UTF-8 file; its last tenth is held out")
    parser.add_argument("--folder", type=Path, help="where checkpoints are, and where a run goes on from")
    for name, value in FLAGS.items():
        parser.add_argument(f"--{name}", type=type(value), default=value, help="default %(default)s")
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--compile", action="store_true")
    a = parser.parse_args(arguments)
    if many := "LOCAL_RANK" in os.environ:  # set by torchrun
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    rank, world = (dist.get_rank(), dist.get_world_size()) if many else (0, 1)
    text = a.text.read_text(encoding="utf-8")
    tokens = CharTokenizer.train(text)
    learn, held = np.split(np.array(tokens.encode(text)), [len(text) * 9 // 10])
    if len(held) <= a.n or a.batch % (world * a.micro):
        parser.error(f"{len(held)} characters are held out and batch is {a.batch}, expected more than n, {a.n}, and a "
                     f"multiple of processes × micro-batches, {world} × {a.micro}")
    config = ModelConfig("decoder", len(tokens), a.d, a.heads, a.layers, n_max=a.n, position="rope", p=a.dropout)
    module = Decoder(config, np.random.default_rng(a.seed)).to(pt.device())

    def windows(ids, starts):
        return torch.from_numpy(ids[starts[:, None] + np.arange(a.n + 1)]).to(pt.device())

    def batch_at(step):  # the same windows for any number of processes, so the same run up to rounding
        starts = np.random.default_rng([a.seed, step]).integers(len(learn) - a.n, size=a.batch)
        return [windows(learn, some) for some in np.split(starts[rank::world], a.micro)]

    def loss_fn(module, rows):
        return cross_entropy(module(rows[:, :-1]), rows[:, 1:]), rows[:, 1:].numel()

    test = windows(held, np.arange(0, len(held) - a.n, a.n)[:64])
    same = asdict(config) | {"text": hashlib.sha256(text.encode()).hexdigest(), "batch": a.batch}
    run = train(module, batch_at, loss_fn, a.steps, lambda t: warmup_cosine(t, a.rate, a.steps // 10, a.steps),
                seed=a.seed, evaluate=lambda module: loss_fn(module, test)[0], evaluate_every=a.every, folder=a.folder,
                save_every=a.every, config=same, autocast=torch.bfloat16 if a.bf16 else None, compile=a.compile)
    if rank == 0:
        best = bits(run.history["evaluation"].min(initial=np.inf))
        print(f"step {len(run.history['loss'])}: loss {run.history['loss'][-1]:.4f}, held out {best:.4f} bits")
    if many:
        dist.destroy_process_group()
    return run


if __name__ == "__main__":
    main()
