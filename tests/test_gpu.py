"""The PyTorch half on a GPU that is there: its twins, a step of every model, the loop, words, and torchrun."""

import importlib
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import byhand
import numpy as np
import pytest
import torch
from byhand import tree
from byhand.config import ModelConfig
from byhand.pt import model, train
from byhand.pt.generate import generate
from byhand.pt.loss import cross_entropy
from byhand.pt.optim import adamw
from mutants import build
from twins import check_twin

pytestmark = pytest.mark.gpu
STEMS = sorted(path.stem for path in (Path(byhand.__file__).parent / "pt").glob("[a-z]*.py"))
SPECS = [spec for stem in STEMS if (Path(__file__).parent / "specs" / f"{stem}.py").exists()
         for spec in getattr(importlib.import_module(f"specs.{stem}"), "TWINS", ())]
MODELS = {"decoder": model.Decoder, "encoder": model.Encoder, "encoder_decoder": model.EncoderDecoder}
PLACES = ("sinusoidal", "learned", "rope", "rope_half", "relative", "alibi", "none")
KINDS = [*(("decoder", place) for place in PLACES), ("encoder", "learned"), ("encoder_decoder", "rope")]


def to_gpu(x):
    if isinstance(x, dict):
        return tree.map_tree(to_gpu, x)
    return x.to("cuda") if isinstance(x, torch.Tensor) else x


class OnGpu:
    """A module of byhand.pt whose functions work on the GPU, for arguments and results on the CPU."""

    def __init__(self, module):
        self.module = module

    def __getattr__(self, name):
        function = getattr(self.module, name)

        def call(*inputs, **fixed):
            inputs, fixed = map(to_gpu, inputs), {name: to_gpu(x) for name, x in fixed.items()}
            if "device" in inspect.signature(function).parameters:
                fixed["device"] = "cuda"
            out = function(*inputs, **fixed)
            assert out.device.type == "cuda", f"{name}: its output is on {out.device}"
            return out.cpu()

        return call


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec.stem}.{spec.name}")
def test_the_gpu_computes_what_numpy_does(spec):
    check_twin(spec, importlib.import_module(f"byhand.np.{spec.stem}"),
               OnGpu(importlib.import_module(f"byhand.pt.{spec.stem}")))


@pytest.mark.parametrize(("place", "old", "new"), [
    ("pt.mask.causal_mask", "dtype=torch.bool, device=device)", "dtype=torch.bool)"),
    ("pt.position.frequencies", "dtype=torch.float64, device=device)", "dtype=torch.float64)"),
    ("pt.attention.attention", "/ math.sqrt(Q.shape[-1])", "/ math.sqrt(1 + Q.shape[-1])"),
])
def test_what_stays_on_the_cpu_is_caught(place, old, new):
    _, stem, name = place.split(".")
    wrong, found = build(place, old, new), []
    for spec in (spec for spec in SPECS if spec.stem == stem):
        try:
            check_twin(spec, importlib.import_module(f"byhand.np.{stem}"), OnGpu(wrong))
        except (AssertionError, RuntimeError):
            found.append(spec.name)
    assert found, f"{name} is wrong and no twin says so"


def example(kind, place, p=0.0):
    config = ModelConfig(kind, 11, 12, 3, 2, n_max=9, p=p, position=place,
                         **{"max_distance": 4} if place == "relative" else {})
    net = MODELS[kind](config, np.random.default_rng(0)).double()
    ids = torch.arange(14).reshape(2, 7) * 5 % 11
    return net, [ids] * (2 if kind == "encoder_decoder" else 1), config


def loss_fn(net, batch):
    return cross_entropy(net(*batch), (batch[-1] + 1) % 11), 14


def a_step(module, net, batch, device):
    net, batches = net.to(device), [[x.to(device) for x in batch]] * 2
    optimizer = adamw(net, 1e-3)
    step = [module.train_step(net, optimizer, batches, loss_fn, 1e-3, max_norm=0.5) for _ in range(2)][1]
    return [x.detach().cpu() for x in (*step, *net.parameters())]


@pytest.mark.parametrize(("kind", "place"), KINDS)
def test_a_step_is_that_of_the_cpu(kind, place):
    here, there = (a_step(train, *example(kind, place)[:2], device) for device in ("cpu", "cuda"))
    for a, b in zip(here, there, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-11)


def unwatched_step(module):
    """A step with dropout after two others, in which torch refuses whatever would wait for the GPU."""
    net, batch, _ = example("decoder", "rope", p=0.1)
    net, batches = net.to("cuda"), [[x.to("cuda") for x in batch]] * 2
    optimizer = adamw(net, 1e-3)
    for mode in ("default", "default", "error"):
        torch.cuda.set_sync_debug_mode(mode)
        try:
            module.train_step(net, optimizer, batches, loss_fn, 1e-3, max_norm=0.5)
        finally:
            torch.cuda.set_sync_debug_mode("default")


def test_a_step_waits_for_nothing():
    unwatched_step(train)


@pytest.mark.parametrize(("old", "new"), [
    ("scale * (max_norm / norm).clamp(max=1.0)", "scale * min(max_norm / norm, 1.0)"),
    ("return totals[0] / totals[1], norm", "return totals[0].item() / totals[1], norm"),
])
def test_a_step_that_waits_is_caught(old, new):
    with pytest.raises(RuntimeError, match="synchroniz"):
        unwatched_step(build("pt.train", old, new))


@pytest.mark.parametrize("options", [{}, {"autocast": torch.bfloat16}, {"autocast": torch.bfloat16, "compile": True}],
                         ids=["float32", "bf16", "bf16, compiled"])
def test_the_loop_learns_as_on_the_cpu_and_goes_on(options, tmp_path):
    """The next of eleven words in a circle: 60 steps at once, or killed after 30 and resumed."""
    config = ModelConfig("decoder", 11, 32, 4, 2, n_max=9, position="rope")

    def run(device, steps, folder=None, **options):
        net = model.Decoder(config, np.random.default_rng(0)).to(device)

        def batch_at(step):
            starts = torch.from_numpy(np.random.default_rng(step).integers(11, size=(8, 1)))
            return [[((starts + torch.arange(9)) % 11).to(device)]]

        def loss(net, batch):
            return cross_entropy(net(batch[0][:, :-1]), batch[0][:, 1:]), 64

        return train.train(net, batch_at, loss, steps, lambda step: 1e-2, folder=folder, save_every=30, **options)

    known, found = run("cpu", 60).history["loss"], run("cuda", 60, **options).history["loss"]
    near = 0.03 if options else 1e-3
    assert np.abs(known[:20] - found[:20]).max() < near and found[-1] < 0.1 < found[0]
    run("cuda", 30, tmp_path, **options)
    resumed = run("cuda", 60, tmp_path, **options).history["loss"]
    assert len(resumed) == 60 and np.abs(resumed[:45] - found[:45]).max() < near


def test_words_are_those_of_the_cpu():
    net, _, config = example("decoder", "rope")
    said = [generate([[1, 2], [3]], net.to(device), config, 6, temperature=0) for device in ("cpu", "cuda")]
    assert [list(map(int, row)) for row in said[0]] == [list(map(int, row)) for row in said[1]]


@pytest.mark.parametrize("flags", [[], ["--shard"], ["--bf16", "--compile"]], ids=["whole", "cut", "bf16, compiled"])
def test_torchrun_takes_nccl(flags, tmp_path):
    (text := tmp_path / "text.txt").write_text("the cat sat on the mat. " * 400, encoding="utf-8")
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=1", "--standalone",
               "-m", "byhand.pt.train", "--text", text, "--folder", tmp_path / "run", "--steps", "60", "--batch", "8",
               "--context", "32", "--every", "30", *flags]
    env = os.environ | {"PYTHONPATH": str(Path(byhand.__file__).parents[1])}
    done = subprocess.run(list(map(str, command)), env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    summary = json.loads((tmp_path / "run" / "summary.json").read_text(encoding="utf-8"))
    assert summary["device"] == "cuda" and "held out" in done.stdout
