# ruff: noqa: E501
"""Training: one step is the step of the whole batch, a run that was stopped goes on to the last bit, in either half."""

import io
import json
import re
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest
import torch
from byhand import tree
from byhand.io.checkpoint import load_checkpoint
from byhand.np import optim
from byhand.np import train as np_train
from byhand.np.linear import init_linear
from byhand.pt import train as pt_train
from byhand.pt.block import Block
from byhand.pt.linear import Linear
from invariants import near, raises, rng, same
from mutants import build, edited, made_of
from processes import IN_TIME, two_processes
from proofs import as_shipped
from specs.block import block_tree, filled
from specs.train import (
    HEADS,
    D,
    Plain,
    V,
    block_loss_and_grads,
    equal,
    loss_fn,
    new_folder,
    numbers,
    rate,
    tensors,
    torch_run,
    whole,
)
from torch.distributed.run import get_args_parser

# PyTorch


class OneBlock(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block, self.out = Block(D, HEADS, 7), Linear(D, V)

    def forward(self, X):
        return self.out(self.block(X, is_causal=True))


def the_halves_take_the_same_twenty_steps(module):
    """A block, two micro-batches a step, clipped in some of the steps."""
    params = {"block": filled(block_tree(), rng()), "out": init_linear(rng(), D, V, dtype=np.float64)}
    state, mask, net = optim.init_state(params), optim.decay_mask(params), OneBlock().double()
    net.load_state_dict(tree.to_torch(tree.flatten(params)))
    optimizer = module.adamw(net, 0.0, (0.8, 0.9), 1e-3, 0.3)
    clipped = 0
    for t in range(1, 21):
        params, state, loss, norm = np_train.train_step(params, state, numbers(t, (1, 4)), block_loss_and_grads, rate(t), max_norm=0.8,
                                                        betas=(0.8, 0.9), eps=1e-3, weight_decay=0.3, mask=mask)
        found, size = module.train_step(net, optimizer, tensors(t, (1, 4)), loss_fn, rate(t), max_norm=0.8)
        near(found.item(), loss, f"losses at step {t}")
        near(size.item(), norm, f"norms at step {t}")
        equal(tree.from_torch(net), params, f"step {t}", 1e-12)
        clipped += norm > 0.8
    assert 3 < clipped < 20
    equal(module.optimizer_state(net, optimizer), state, "the moments", 1e-12)


def compiled_is_the_same(module):
    """Traced as ever, but run by Python: the compiler of the machine is not what is tried here."""
    plain = torch_run(module, 4, Plain().double())
    calls, real = [], torch.compile
    with pytest.MonkeyPatch.context() as patch, new_folder() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of torch's own tracer

        def eager(net):
            calls.append(net)
            return real(net, backend="eager")

        patch.setattr(torch, "compile", eager)
        torch._dynamo.reset()
        net = Plain().double()
        found = torch_run(module, 4, net, compile=True, folder=folder)
        equal(found, plain, "compiled and not", 1e-12)
        assert calls == [net] and net.seen == []  # neither a step nor an evaluation went past the compiler
        assert load_checkpoint(folder).trees["params"].keys() == {"inner", "out"}


def main_learns_a_text(module):
    """Digits in a row: the next one is certain. The same text again, as a finished run, and another one, refused."""
    with new_folder() as folder, redirect_stdout(io.StringIO()) as out:
        text, flags = Path(folder) / "text.txt", ["--context=8", "--width=16", "--heads=2", "--layers=1", "--batch=4", "--every=20"]
        text.write_text("0123456789" * 40)
        flags += [f"--text={text}", f"--folder={folder}/run", "--seed=3"]
        found = module.main([*flags, "--steps=60", "--micro=2", "--rate=0.02"])
        assert found.history["evaluation"][-1] < 0.3 < 2 < found.history["loss"][0]
        same(found.history["evaluated_at"], [20, 40, 60])
        best = found.history["evaluation"].min() / np.log(2)
        said = f"step 60: loss {found.history['loss'][-1]:.4f}, held out {best:.4f} bits\n"
        assert out.getvalue() == f"{sum(x.size for x in tree.flatten(found.params).values())} parameters, 1920 tokens in 1 process\n{said}"
        summary = json.loads(Path(f"{folder}/run/summary.json").read_text())
        assert summary["settings"]["rate"] == 0.02 and summary["settings"]["bf16"] is False and summary["steps"] == 60
        near(summary["held_out"], best * np.log(2))
        assert (summary["held_out_at_step"], summary["letters"], summary["processes"]) == (20 * (1 + int(np.argmin(found.history["evaluation"]))), 10, 1)
        equal(module.main([*flags, "--steps=60"]).params, found.params)
        saved = load_checkpoint(f"{folder}/run")
        assert saved.step == 60 and saved.meta["config"]["model"]["d"] == 16 and saved.meta["config"]["seed"] == 3
        text.write_text("1023456789" * 40)
        raises(ValueError, "is of another run: text is", lambda: module.main([*flags, "--steps=80"]))
        for wrong, says in (("--context=40", "40 characters are held out"), ("--micro=3", "micro-batches, 1 × 3")):
            with redirect_stderr(io.StringIO()) as err:
                raises(SystemExit, "2", lambda wrong=wrong: module.main([*flags, wrong]))
            assert says in err.getvalue()


def flags_of(text: str) -> set[str]:
    """The flags that the script asks for, from its own help."""
    module = build("pt.train") if not text else made_of("pt.train", text)
    with redirect_stdout(io.StringIO()) as out:
        raises(SystemExit, "0", lambda: module.main(["--help"]))
    return set(re.findall(r"--[a-z0-9_-]+", out.getvalue())) - {"--help"}


def taken_by_torchrun(flags: set[str]) -> set[str]:
    """What torchrun would read as one of its own options, cut short, although it stands behind the script."""
    own = {option for action in get_args_parser()._actions for option in action.option_strings}
    return {flag for flag in flags if any(option.startswith(flag) for option in own)}


def test_no_flag_is_the_beginning_of_one_of_torchruns():
    flags = flags_of("")
    assert {"--text", "--folder", "--context", "--width", "--steps", "--bf16"} <= flags and not taken_by_torchrun(flags)
    wrong = edited("pt.train", '"context": 64, "width": 64', '"n": 64, "d": 64').replace("a.context", "a.n")
    assert taken_by_torchrun(flags_of(wrong)) == {"--n", "--d"}


# What takes longer is tried on the module and on a few wrong ones

SLOW = {  # a check → wrong modules that it must catch
    the_halves_take_the_same_twenty_steps: [
        ("clipped as torch clips, by norm + 1e-6", "(max_norm / norm)", "(max_norm / (norm + 1e-6))"),
        ("every step at the rate of the first", "    set_lr(optimizer, lr)\n", "    _ = optimizer.param_groups[0]['lr'] or set_lr(optimizer, lr)\n"),
        ("clipped before the division by the tokens", "norm = whole(nn.utils.get_total_norm(grads)) * scale", "norm = nn.utils.get_total_norm(grads)"),
    ],
    compiled_is_the_same: [
        ("never compiled", "torch.compile(module) if compile else given", "given"),
        ("evaluated without it", "lambda: evaluate(runner)", "lambda: evaluate(module)"),
        ("the compiled module's names in the checkpoint", "tree.from_torch(kept(module))", "tree.from_torch(kept(torch.compile(module)))"),
    ],
    main_learns_a_text: [
        ("targets not shifted", "rows[:, 1:]), rows", "rows[:, :-1]), rows"),
        ("one text for another", "\"text\": hashlib.sha256(text.encode()).hexdigest()", "\"text\": len(text)"),
        ("seed of the run forgotten", "seed=a.seed, evaluate", "evaluate"),
        ("sizes not checked", "    if len(held) <= a.context or a.batch % (world * a.micro):\n", "    if False:\n"),
        ("nats for bits", "bits(run.history[\"evaluation\"].min(initial=np.inf))", "run.history[\"evaluation\"].min()"),
    ],
}


@pytest.mark.parametrize("check", SLOW, ids=lambda check: check.__name__)
def test_slow(check):
    check(pt_train)


@pytest.mark.parametrize(("check", "wrong"), [(check, row) for check, rows in SLOW.items() for row in rows],
                         ids=lambda x: x[0] if isinstance(x, tuple) else "")
def test_slow_catches(check, wrong):
    module = build("pt.train", *wrong[1:])
    with as_shipped(), redirect_stdout(io.StringIO()), pytest.raises((Exception, pytest.fail.Exception)) as found:
        check(module)
    assert not isinstance(found.value, SyntaxError | NameError)


# Two processes under torchrun. One start of them tries the module and every wrong one.

PROCESS = IN_TIME + """
import json, sys, time
from pathlib import Path
from types import ModuleType

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

import byhand.io.run

dist.init_process_group("gloo")
rank, world, folder = dist.get_rank(), dist.get_world_size(), Path(sys.argv[1])
data, saved, apart = np.load(folder / "data.npz"), [], []
write, no_sync = byhand.io.run.save_checkpoint, DDP.no_sync

def save_checkpoint(*args):
    saved.append(rank)
    if rank == 0:
        time.sleep(0.5 * (args[1] == 2))  # the other one begins anew before this is on the disk
        write(*args)

def counted(self):
    apart.append(rank)
    return no_sync(self)

byhand.io.run.save_checkpoint, DDP.no_sync = save_checkpoint, counted
for path in sorted(folder.glob("*.py.txt")):
    module = ModuleType("byhand.pt.train")
    exec(compile(path.read_text(encoding="utf-8"), path.name, "exec"), vars(module))
    drawn = []

    def batch_at(step):
        return [tuple(torch.tensor(data[f"{step}_{k}_{name}"][rank::world]) for name in "Xy") for k in range(2)]

    def loss_fn(net, batch):
        drawn.append(torch.rand(1).item())
        X, y = batch
        return torch.nn.functional.cross_entropy(net(X).flatten(0, 1), y.flatten(), ignore_index=-1), (y != -1).sum()

    for steps in (2, 3):
        saved.clear()
        apart.clear()
        net = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 5)).double()
        with torch.no_grad():
            for i, p in enumerate(net.parameters()):
                p.copy_(torch.tensor(data[f"p{i}"]) + rank)  # the first process has the right ones
        run = module.train(net, batch_at, loss_fn, steps, lambda step: 0.05, max_norm=0.3, eps=1e-3, evaluate_every=1,
                           evaluate=lambda net: net[0].weight.sum().item() + rank, folder=folder / path.stem)
    flat = np.concatenate([p.detach().numpy().ravel() for p in net.parameters()])
    found = {"params": flat.tolist(), "saved": len(saved), "apart": len(apart), "drawn": drawn,
             **{name: run.history[name].tolist() for name in ("loss", "norm", "evaluation")}}
    (folder / f"{path.stem}.{rank}.json").write_text(json.dumps(found))

dist.init_process_group, dist.destroy_process_group = (lambda *_: None), (lambda: None)
from byhand.pt import train
train.main(json.loads((folder / "flags.json").read_text()))
dist.barrier()
"""

WRONG_PROCESSES = [
    ("each divides by its own tokens", "    if parallel:\n        dist.all_reduce(totals)\n", ""),
    ("means taken for sums", "(dist.get_world_size() if parallel else 1)", "1.0"),
    ("each by itself", "DistributedDataParallel(runner) if parallel and not shard else runner", "runner"),
    ("each believes its own evaluation", "    if isinstance(learner, PARALLEL):", "    if False:"),
    ("all drop out the same units", "[seed, step, rank]", "[seed, step, 0]"),
    ("all write", "writes=rank == 0", "writes=True"),
    ("they meet at every micro-batch", "if parallel and i < len(batches) - 1 else", "if False else"),
    ("they meet in the first alone", "i < len(batches) - 1 else", "i > 0 else"),
]


def test_two_processes_take_the_steps_of_one(tmp_path, monkeypatch):
    """Two micro-batches a step, whose rows the processes take in turn, with other numbers of tokens that count."""
    source = rng()
    data = {f"p{i}": source.normal(size=shape) for i, shape in enumerate([(6, D), (6,), (V, 6), (V,)])}
    for step in range(1, 4):
        for k, (X, y) in enumerate(numbers(step, (3, 5))):
            data |= {f"{step}_{k}_X": X, f"{step}_{k}_y": y}
    shares = [[sum((data[f"{step}_{k}_y"][rank::2] != -1).sum() for k in range(2)) for rank in range(2)] for step in (1, 2, 3)]
    assert all(one != two for one, two in shares), shares
    np.savez(tmp_path / "data.npz", **data)
    for i, edits in enumerate([(), *(row[1:] for row in WRONG_PROCESSES)]):
        (tmp_path / f"{i}.py.txt").write_text(edited("pt.train", *edits), encoding="utf-8")
    (tmp_path / "text.txt").write_text("to be or not to be " * 40)
    flags = [f"--text={tmp_path}/text.txt", "--steps=3", "--context=8", "--width=8", "--heads=2", "--layers=1", "--micro=2", "--batch=8", "--every=3"]
    (tmp_path / "flags.json").write_text(json.dumps([*flags, f"--folder={tmp_path}/main"]))
    (tmp_path / "process.py").write_text(PROCESS, encoding="utf-8")
    done = two_processes(tmp_path / "process.py", tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]

    net = torch.nn.Sequential(torch.nn.Linear(D, 6), torch.nn.Tanh(), torch.nn.Linear(6, V)).double()
    with torch.no_grad():
        for i, p in enumerate(net.parameters()):
            p.copy_(torch.tensor(data[f"p{i}"]))
    one = pt_train.train(
        net, lambda step: whole([tuple(torch.tensor(data[f"{step}_{k}_{name}"]) for name in "Xy") for k in range(2)]), loss_fn, 3,
        lambda step: 0.05, max_norm=0.3, eps=1e-3, evaluate_every=1, evaluate=lambda net: net[0].weight.sum().item())
    assert max(one.history["norm"]) > 0.3
    flat = np.concatenate([p.detach().numpy().ravel() for p in net.parameters()])

    def faults(i):
        ranks = [json.loads((tmp_path / f"{i}.py.{rank}.json").read_text()) for rank in (0, 1)]
        expected = {name: one.history[name] for name in ("loss", "norm", "evaluation")} | {"params": flat}
        found = {name for rank in ranks for name, x in expected.items() if not np.allclose(rank[name], x, rtol=1e-10, atol=1e-10)}
        found |= {"saved"} if [rank["saved"] for rank in ranks] != [1, 0] else set()
        found |= {"meetings"} if [rank["apart"] for rank in ranks] != [1, 1] else set()  # in the one step of the second run
        return found | ({"dropout"} if set(ranks[0]["drawn"]) & set(ranks[1]["drawn"]) else set())

    caught = {row[0]: faults(i) for i, row in enumerate(WRONG_PROCESSES, start=1)}
    assert not faults(0) and all(caught.values()), (faults(0), caught)
    assert set().union(*caught.values()) == {"loss", "norm", "evaluation", "params", "saved", "meetings", "dropout"}, caught

    monkeypatch.setattr(pt_train.pt, "device", lambda: torch.device("cpu"))
    alone = pt_train.main(flags)
    assert done.stdout.count("step 3: loss") == 1
    equal(load_checkpoint(tmp_path / "main").trees["params"], alone.params, "one process and two", 1e-5)
