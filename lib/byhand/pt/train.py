"""Chapter 11: the same step and loop in PyTorch: autocast to bfloat16, torch.compile, one process or many (chapter 16).

`torchrun --nproc-per-node=2 -m byhand.pt.train --text book.txt --folder runs/book` trains a small decoder in two
processes: each takes its share of every batch, and DistributedDataParallel brings the gradients together; with --shard
each holds its share of the parameters too (FSDP2). A run that died goes on from its checkpoint when it is started
again. A TOML file (`--config run.toml`) may stand for flags; at the end the folder has a summary.json.
"""

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

from byhand import pt, tree
from byhand.check import Index, NonNegative, Positive, Size, checked, given_as, not_empty, number_from, weighs
from byhand.check.numbers import kind_of
from byhand.config import ModelConfig
from byhand.io.interrupts import InterruptsHeld
from byhand.io.job import read_job, write_summary
from byhand.io.run import History, Progress, Run, RunFolder, settings
from byhand.np.optim import EXEMPT, Betas, warmup_cosine
from byhand.pt._modules import kept, place_of, put_back
from byhand.pt._processes import PARALLEL, apart, cut, cut_after, many, meet, of_the_first, share, whole
from byhand.pt.loss import bits, cross_entropy
from byhand.pt.model import Decoder
from byhand.pt.optim import adamw, load_optimizer_state, optimizer_state, set_lr

NUMBERS = {"steps": 500, "batch": 32, "micro": 1, "context": 64, "width": 64, "heads": 4, "layers": 2, "every": 100,
           "seed": 0, "rate": 3e-3, "dropout": 0.0}
SWITCHES = {"bf16": "autocast to bfloat16", "compile": "torch.compile the model",
            "shard": "a share of parameters in each process", "recompute": "make blocks anew in the backward"}


@checked
def train_step(
    module: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: list | tuple,
    loss_fn: Callable,
    lr: NonNegative,
    *,
    max_norm: Positive | None = None,
    autocast: torch.dtype | None = None,
) -> tuple[Tensor, Tensor]:
    """One step of the optimiser from micro-batches: g = Σ w g_i / Σ w over all processes, clipped by its norm.

    `loss_fn(module, batch) -> (mean loss, w)`, with w the tokens that the mean is over. Gives the loss before the step
    and the norm before clipping, as tensors, so that nothing here waits for a GPU.
    """
    not_empty("train_step", batches=batches)
    parallel = isinstance(module, PARALLEL)
    set_lr(optimizer, lr)
    optimizer.zero_grad(set_to_none=True)
    totals = 0
    for i, batch in enumerate(batches):
        with apart(module) if parallel and i < len(batches) - 1 else nullcontext():  # they meet in the last alone
            with _autocast(module, autocast):
                loss, weight = _parts(loss_fn(module, batch))
            loss = loss.to(torch.promote_types(loss.dtype, torch.float32))
            weight = loss.new_zeros(()) + weight
            (loss := loss * weight.where(weight >= 0, torch.nan)).backward()  # or it would climb without a word
        totals = totals + torch.stack([loss.detach(), weight])
    if parallel:
        dist.all_reduce(totals)
    grads = [p.grad for p in module.parameters() if p.grad is not None]
    scale = (dist.get_world_size() if parallel else 1) / totals[1]  # both kinds take means, not sums
    norm = whole(nn.utils.get_total_norm(grads)) * scale
    if max_norm is not None:
        scale = scale * (max_norm / norm).clamp(max=1.0)
    torch._foreach_mul_([share(g) for g in grads], scale)
    optimizer.step()
    return totals[0] / totals[1], norm


@checked
def train(
    module: nn.Module,
    batch_at: Callable,
    loss_fn: Callable,
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
    autocast: torch.dtype | None = None,
    compile: bool = False,
    shard: bool = False,
) -> Run:
    """The loop of the NumPy half, with its checkpoints: a run of either half goes on in the other.

    Trains `module` in place; the trees of the Run are arrays, buffers included. `evaluate(module)` runs in eval mode,
    without gradients. Where torch.distributed is initialised, `batch_at(step)` gives the share of this process, as many
    micro-batches in each; the first one writes, its evaluation counts, and all go on from the checkpoint that it finds.
    With `shard` each process holds a share of each parameter, gradient and moment (FSDP2; Zhao et al. 2023): the module
    stays cut, what is saved and returned is whole. Torch's random state is as before in the end.
    """
    if patience is not None and evaluate is None:
        raise ValueError(f"train: patience is {patience} but evaluate is None, expected a function")
    given, module = module, tree.unwrapped(module)  # checkpoints have the names of what is inside
    place, mode = place_of("train", module), module.training
    rank = dist.get_rank() if (parallel := many()) else 0
    if shard:
        cut(module, place, parallel, compile)
    optimizer = adamw(module, 0.0, betas, eps, weight_decay, exempt)

    def trees():
        return tree.from_torch(kept(module)), optimizer_state(module, optimizer)

    same = settings(
        config, seed=seed, max_norm=max_norm, betas=betas, eps=eps, weight_decay=weight_decay, exempt=exempt)
    history, run, best = History(), RunFolder(folder, save_every, keep, same, writes=rank == 0), None
    if saved := run.resume(history, *trees(), steps, resume, of_the_first(run.last(), place)):
        put_back(module, saved.params)
        load_optimizer_state(module, optimizer, saved.state)
        best = saved.best
    runner = torch.compile(module) if compile else given
    learner = DistributedDataParallel(runner) if parallel and not shard else runner
    try:
        with torch.random.fork_rng([place] if place.type == "cuda" else []), Progress(history, steps, not rank) as bar:
            learner.train()
            while True:
                if evaluate and history.is_due(evaluate_every):
                    score = _evaluation(learner, lambda: evaluate(runner), autocast, history.steps)
                    with InterruptsHeld():
                        if history.evaluated(score):
                            best = trees()[0]
                if run.is_due(history):
                    run.save(history, *trees(), best)
                if history.steps >= steps or history.is_stale(patience):
                    break
                step = history.steps + 1
                own = np.random.SeedSequence([seed, step, rank]).generate_state(1, np.uint64)[0]  # each has its own
                (torch.default_generator if place.type == "cpu" else torch).manual_seed(int(own))
                lr, batches = number_from("train", f"schedule({step})", schedule(step)), batch_at(step)
                with InterruptsHeld():  # a step is taken as a whole, or not at all
                    loss, norm = train_step(
                        learner, optimizer, batches, loss_fn, lr, max_norm=max_norm, autocast=autocast)
                    history.add(loss, norm, lr)
                bar.show()
    except KeyboardInterrupt:
        if not shard:  # shares come together where all processes ask for them, and the others may stand elsewhere
            run.save(history, *trees(), best)
        raise
    finally:
        module.train(mode)
    params, state = trees()
    run.save(history, params, state, best)
    return Run(params, state, best or params, history.arrays())


def _evaluation(learner, evaluate, autocast, step):
    """A number in eval mode, without gradients. With many processes that of the first: all must stop at one step."""
    learner.eval()
    with torch.no_grad(), cut_after(learner), _autocast(learner, autocast):
        score = number_from("train", f"evaluation after step {step}", evaluate())
    learner.train()
    if isinstance(learner, PARALLEL):
        dist.broadcast(box := torch.tensor(score, dtype=torch.float64, device=next(learner.parameters()).device), 0)
        score = box.item()
    return score


def _parts(found):
    """What `loss_fn` gave: a mean loss and a weight; to look at one in a tensor would make a device wait."""
    given_as("train_step", "loss_fn", found, "a mean loss", "a weight")
    if not isinstance(found[0], Tensor):
        raise TypeError(f"train_step: loss is {kind_of(found[0])}, expected a torch tensor")
    if found[0].shape != ():
        raise ValueError(f"train_step: loss has shape {tuple(found[0].shape)}, expected ()")
    weighs("train_step", found[1], look=not isinstance(found[1], Tensor))
    return found


def _autocast(module, dtype):
    if dtype not in (None, torch.bfloat16):
        raise ValueError(f"train: autocast is {dtype}, expected torch.bfloat16 or None (others need a scaled loss)")
    return torch.autocast(next(module.parameters()).device.type, torch.bfloat16, enabled=dtype is not None)


def main(arguments: list[str] | None = None) -> Run:
    """Train a small decoder on the characters of a text; under torchrun, in many processes, each with its share."""
    a = read_job("python -m byhand.pt.train", main.__doc__, NUMBERS, SWITCHES, arguments)
    if launched := "LOCAL_RANK" in os.environ:  # set by torchrun
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        meet("nccl" if torch.cuda.is_available() else "gloo")
    rank, world = (dist.get_rank(), dist.get_world_size()) if launched else (0, 1)
    text = a.text.read_text(encoding="utf-8")
    letters, ids = np.unique(list(text), return_inverse=True)
    learn, held = np.split(ids, [len(text) * 9 // 10])
    if len(held) <= a.context or a.batch % (world * a.micro):
        a.parser.error(f"{len(held)} characters are held out and batch is {a.batch}, expected more than context, "
                       f"{a.context}, and a multiple of processes × micro-batches, {world} × {a.micro}")
    config = ModelConfig(
        "decoder", len(letters), a.width, a.heads, a.layers, n_max=a.context, position="rope", p=a.dropout)
    module = Decoder(config, np.random.default_rng(a.seed)).to(pt.device())
    module.recompute = a.recompute

    def windows(ids, starts):
        return torch.from_numpy(ids[starts[:, None] + np.arange(a.context + 1)]).to(pt.device())

    def batch_at(step):  # the same windows for any number of processes, so the same run up to rounding
        starts = np.random.default_rng([a.seed, step]).integers(len(learn) - a.context, size=a.batch)
        return [windows(learn, some) for some in np.split(starts[rank::world], a.micro)]

    def loss_fn(module, rows):
        return cross_entropy(module(rows[:, :-1]), rows[:, 1:]), rows[:, 1:].numel()

    test = windows(held, np.arange(0, len(held) - a.context, a.context)[:64])
    same = asdict(config) | {"text": hashlib.sha256(text.encode()).hexdigest(), "batch": a.batch}
    run = train(module, batch_at, loss_fn, a.steps, lambda t: warmup_cosine(t, a.rate, a.steps // 10, a.steps),
                seed=a.seed, evaluate=lambda module: loss_fn(module, test)[0], evaluate_every=a.every, folder=a.folder,
                save_every=a.every, config=same, autocast=torch.bfloat16 if a.bf16 else None,
                compile=a.compile, shard=a.shard)
    if rank == 0:
        size, tokens = sum(x.size for x in tree.flatten(run.params).values()), a.steps * a.batch * a.context
        write_summary(a, run.history, {
            "parameters": size, "letters": len(letters), "tokens": tokens, "processes": world,
            "device": pt.device().type, "torch": torch.__version__})
        best = bits(run.history["evaluation"].min(initial=np.inf))
        print(f"{size} parameters, {tokens} tokens in {world} process{'es' * (world > 1)}\n"
              f"step {len(run.history['loss'])}: loss {run.history['loss'][-1]:.4f}, held out {best:.4f} bits")
    if launched:
        dist.destroy_process_group()
    return run


if __name__ == "__main__":
    main()
