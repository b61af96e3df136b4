"""The loop in real steps: how often it asks for a number, which would make a program wait for a GPU."""

import contextlib
import functools
import subprocess
import sys

import numpy as np
import pytest
import torch
from byhand.config import ModelConfig
from byhand.io.run import LOOK
from byhand.pt import train
from byhand.pt.loss import cross_entropy
from byhand.pt.model import Decoder
from mutants import build
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

STEPS = 2 * LOOK + 3
WAITS = ("_local_scalar_dense", "nonzero", "masked_select", "_unique2", "equal", "is_nonzero")  # the answer has a size,
COPIES = ("cpu", "numpy", "tolist")  # or is a number; and these leave the device, which on a CPU no operation shows


class Reads:
    """`seen` has an entry a read: the step in which it was, and what asked."""

    def __init__(self):
        self.step, self.seen = 0, []

    def note(self, name):
        self.seen.append((self.step, name))


class Operations(TorchDispatchMode):
    def __init__(self, reads):
        super().__init__()
        self.reads = reads

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if (name := func.__name__.split(".")[0]) in WAITS:
            self.reads.note(name)
        return func(*args, **(kwargs or {}))


class Calls(TorchFunctionMode):
    def __init__(self, reads):
        super().__init__()
        self.reads = reads

    def __torch_function__(self, func, types, args=(), kwargs=None):
        to = "cpu" in [x for x in (*args[1:], *(kwargs or {}).values()) if isinstance(x, str)]  # a device is a tensor's
        if (name := getattr(func, "__name__", "")) in COPIES or name == "to" and to:
            self.reads.note(name)
        return func(*args, **(kwargs or {}))


def reads_of(module, monkeypatch, **options):
    """Of a run with dropout and clipping, its optimiser fused as on a GPU: the step → how many."""
    reads = Reads()
    net = Decoder(ModelConfig("decoder", 11, 12, 3, 1, n_max=8, p=0.1), np.random.default_rng(0))
    monkeypatch.setattr(module, "adamw", functools.partial(fused, module.adamw))

    def batch_at(step):
        reads.step = step
        return [torch.arange(9)[None] + step % 2] * 2

    def loss_fn(net, ids):
        return cross_entropy(net(ids[:, :-1]), ids[:, 1:]), 8

    def evaluate(net):
        return loss_fn(net, torch.arange(9)[None])[0]

    with contextlib.ExitStack() as modes:
        def schedule(step):
            if step == 1:  # what is read before the first step, and after the last, is read once
                for mode in (Operations(reads), Calls(reads)):
                    modes.enter_context(mode)
            if step == STEPS:
                modes.close()
            return 0.01

        module.train(net, batch_at, loss_fn, STEPS, schedule, max_norm=0.5,
                     **({"evaluate": evaluate, "evaluate_every": LOOK} if options else {}))
    return {step: sum(s == step for s, _ in reads.seen) for step in range(1, STEPS)}


def fused(adamw, *arguments):
    optimizer = adamw(*arguments)
    for group in optimizer.param_groups:
        group["fused"], group["foreach"] = True, False
    return optimizer


def test_a_step_reads_nothing(monkeypatch):
    """Every LOOK steps the losses and norms of all of them become numbers; between these, nothing does."""
    found = reads_of(train, monkeypatch)
    assert {step: n for step, n in found.items() if n} == {LOOK: 2 * LOOK, 2 * LOOK: 2 * LOOK}


@pytest.mark.parametrize(("old", "new"), [
    ("history.add(loss, norm, lr)", "history.add(loss.item(), norm, lr)"),
    ("history.add(loss, norm, lr)", "history.add(loss, norm.cpu(), lr)"),
    ("scale * (max_norm / norm).clamp(max=1.0)", "scale * min(max_norm / norm, 1.0)"),
    ("    optimizer.step()\n", "    if norm < 1e9:\n        optimizer.step()\n"),
    ("return totals[0] / totals[1], norm", "return torch.tensor(totals.tolist()[0]) / totals[1], norm"),
], ids=["a number of the loss", "the norm brought home", "a scale that is compared", "a step that is asked for",
        "a list of the totals"])
def test_wrong_versions_are_counted(old, new, monkeypatch):
    found = reads_of(build("pt.train", old, new), monkeypatch)
    assert all(found.values()), found


PIECES = """
import sys
import numpy as np, torch
from byhand.check import arrays
from byhand.config import ModelConfig
from byhand.pt.loss import cross_entropy
from byhand.pt.model import Decoder
asked, meant, known = [], arrays.autocast, torch.amp.is_autocast_available
versions = {"ours": meant, "noted": lambda x: (asked.append(1), meant(x))[1],
            "wrong": lambda x: torch.amp.is_autocast_available(x.device.type) and meant(x)}
for name, autocast in versions.items():
    if name != "noted":  # as where torch.compile cannot follow it
        torch.amp.is_autocast_available = torch._dynamo.disable(known)
    arrays.autocast = autocast
    net = Decoder(ModelConfig("decoder", 11, 12, 3, 2, n_max=8), np.random.default_rng(0))
    torch._dynamo.reset()
    with torch.autocast("cpu", torch.bfloat16):
        found = torch._dynamo.explain(lambda ids: cross_entropy(net(ids[:, :-1]), ids[:, 1:]))(torch.arange(9)[None])
    print(name, found.graph_count, bool(asked))
"""


def test_checks_cut_no_graph():
    """What mixes two precisions is asked whether autocast is on, in every layer; torch must follow the question.

    In a process of its own: the shape checks of pytest would cut as well.
    """
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", PIECES], capture_output=True, text=True)
    ours, noted, wrong = (line.split() for line in done.stdout.splitlines())
    assert ours[1] == noted[1] == "1" and noted[2] == "True", done.stdout + done.stderr[-2000:]
    assert int(wrong[1]) > 2
