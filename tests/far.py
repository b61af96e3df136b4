"""The PyTorch half on a device that is not there: a name with the rules of a GPU, tensors without numbers.

`python tests/far.py` runs every function of the twin checks with its backward, and a training step of every model,
with parameters and input on the device "far", and prints a line for each. A tensor made on the CPU on the way, or a
number asked of the device, ends it with an error, as it would end, or slow, a run on a GPU. `python tests/far.py NAME
WHERE OLD NEW` runs those whose line begins with NAME, with one edit of the library.

torch's fake tensors carry the device; torch.utils.backend_registration gives it a name of its own, since those named
cuda need a build for CUDA as soon as they are indexed or differentiated.
"""

import functools
import importlib
import inspect
import sys
from pathlib import Path

import numpy as np
import torch
from byhand import tree
from byhand.config import ModelConfig
from byhand.pt import model, train
from byhand.pt.loss import cross_entropy
from byhand.pt.optim import adamw
from mutants import edited, parted
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import backend_registration
from twins import cases_of


class Far(backend_registration._DummyBackendModule):
    def get_amp_supported_dtype(self):  # asked for even where autocast is off; torch has no casts for such a device
        return [torch.bfloat16]


backend_registration._setup_privateuseone_for_python_backend("far", backend_module=Far())


def far(x):
    """An array's shape and kind on the far device, floats as leaves; anything else as it is. For the fake mode."""
    if not isinstance(x, np.ndarray | np.generic):
        return x
    if x.dtype.kind == "f":
        return torch.empty(x.shape, device="far", requires_grad=True)
    return torch.empty(x.shape, dtype=torch.bool if x.dtype.kind == "b" else torch.int64, device="far")


def moved(net):
    """The module with its parameters and buffers on the far device."""
    for module in net.modules():
        for name, p in module._parameters.items():
            if p is not None:
                module._parameters[name] = torch.nn.Parameter(torch.empty(p.shape, device="far"))
        for name, b in module._buffers.items():
            if b is not None:
                module._buffers[name] = torch.empty(b.shape, dtype=b.dtype, device="far")
    return net


def functions():
    """Each function of the twin checks on each of its cases."""
    for path in sorted((Path(__file__).parent / "specs").glob("*.py")):
        specs = importlib.import_module(f"specs.{path.stem}")
        for spec in getattr(specs, "TWINS", ()):
            module = importlib.import_module(f"byhand.pt.{spec.stem}")
            for case in cases_of(spec):
                if np.ndim(case.fixed.get("ids", [0])) == 0 or spec.name == "nearest":
                    continue  # torch reads a single index as a number, and copies a list of them for any device
                yield f"{spec.stem}.{spec.name}, {' '.join(case.label.split())}", getattr(module, spec.name), case


def on_far(function, case):
    inputs = tree.map_tree(far, case.inputs)
    fixed = {name: tree.map_tree(far, x) if isinstance(x, dict) else far(x) for name, x in case.fixed.items()}
    for x in tree.flatten(fixed).values():
        if isinstance(x, torch.Tensor):
            x.requires_grad_(False)
    if "device" in inspect.signature(function).parameters:
        fixed["device"] = "far"
    out = function(*inputs.values(), **fixed)
    if out.requires_grad:
        out.sum().backward()
    return out


MODELS = {"decoder": model.Decoder, "encoder": model.Encoder, "encoder_decoder": model.EncoderDecoder}
STEPS = [  # kind, position, padded
    *(("decoder", position, False) for position in ("sinusoidal", "learned", "rope", "relative", "alibi", "none")),
    *((kind, "rope_half", True) for kind in MODELS)]


def steps():
    """A training step of two micro-batches, with dropout and clipping."""
    for kind, position, padded in STEPS:
        def step(kind=kind, position=position, padded=padded):
            config = ModelConfig(kind, 11, 12, 3, 2, n_max=9, p=0.1, position=position,
                                 **{"max_distance": 4} if position == "relative" else {})
            net = moved(MODELS[kind](config, np.random.default_rng(0)))
            ids = torch.zeros(2, 7, dtype=torch.int64, device="far")
            texts = 2 if kind == "encoder_decoder" else 1
            masks = [torch.ones(2, 1, 7, dtype=torch.bool, device="far")] * texts if padded else []

            def loss_fn(net, batch):
                out = net(*batch, *masks)
                return cross_entropy(out, torch.zeros(out.shape[:2], dtype=torch.int64, device="far")), 14

            return train.train_step(net, adamw(net, 1e-3), [[ids] * texts] * 2, loss_fn, 1e-3, max_norm=1.0)[0]

        yield f"step of {kind}, {position}{', padded' * padded}", step


def main(start="", *edit):
    if edit:
        place, _ = parted(edit[0])
        module = importlib.import_module(f"byhand.{place}")
        exec(compile(edited(*edit), module.__file__, "exec", dont_inherit=True), vars(module))
    with FakeTensorMode():
        calls = ((name, functools.partial(on_far, f, case)) for name, f, case in functions())
        for name, call in (*calls, *steps()):
            if name.startswith(start):
                try:
                    out = call()
                    print(f"ok {name}" if out.device.type == "far" else f"WRONG {name}: its output is on {out.device}")
                except Exception as error:  # whatever it is, its line names it
                    print(f"WRONG {name}: {type(error).__name__}: {str(error).splitlines()[0]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
