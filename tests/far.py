"""The PyTorch half on a device that is not there: a name with the rules of a GPU, tensors without numbers.

`python tests/far.py` runs every function of the twin checks with its backward, a training step of every model, and what
has no twin, with parameters and input on the device "far", and prints a line for each. A tensor made on the CPU on the
way, or a number asked of the device, ends it with an error, as it would end, or slow, a run on a GPU. `python
tests/far.py NAME WHERE OLD NEW` runs those whose line begins with NAME, with one edit of the library; `--public` names
what of byhand.pt is neither run nor left out for a reason.

torch's fake tensors carry the device; torch.utils.backend_registration gives it a name of its own, since those named
cuda need a build for CUDA as soon as they are indexed or differentiated.
"""

import functools
import importlib
import inspect
import pkgutil
import sys
from pathlib import Path

import byhand.pt
import numpy as np
import torch
from byhand import tree
from byhand.config import AttentionConfig, ModelConfig
from byhand.pt import (
    attention,
    block,
    embedding,
    flash,
    linear,
    model,
    multihead,
    norm,
    optim,
    position,
    pretrain,
    recurrent,
    residual,
    sample,
    train,
    translate,
    vision,
)
from byhand.pt.finetune import Classifier, Lora
from byhand.pt.generate import decode, init_kv, select_kv
from byhand.pt.loss import cross_entropy
from byhand.pt.optim import adamw
from byhand.pt.translate import batch_pairs, loss_and_weight, translation_step
from mutants import edited, parted
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily
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
    for kind, place, padded in STEPS:
        def step(kind=kind, position=place, padded=padded):
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

        yield f"step of {kind}, {place}{', padded' * padded}", step


def numbers(*shape):
    return torch.empty(shape, device="far")


def words(*shape):
    return torch.zeros(shape, dtype=torch.int64, device="far")


def seen(*shape):
    return torch.ones(shape, dtype=torch.bool, device="far")


def made(kind, **options):
    """A small model of two layers on the far device, and its settings."""
    config = ModelConfig(kind, 11, 12, 3, 2, n_max=9, **options)
    return moved(MODELS[kind](config, np.random.default_rng(0))), config


def decoded():
    net, config = made("decoder", position="rope")
    kv = select_kv(init_kv(net, config, 2, 9), words(3))
    return decode(words(3, 4), net, config, kv, last=True)[0]


def read_and_translated():
    net, config = made("encoder_decoder")
    step = translation_step(words(2, 5), seen(2, 1, 5), net, config, 6)
    return step(words(2, 1), torch.arange(2, device="far"))


def adapted():
    net, config = made("encoder")
    return moved(Lora(net))(words(2, 7))


def classified(frozen):
    config = ModelConfig("encoder", 11, 12, 3, 2, n_max=9)
    with unset_fake_temporarily():  # its first parameters are drawn from a seed that is drawn
        net = Classifier(config, 3, frozen)
    return moved(net)(words(2, 7))


def translated_loss():
    net, _ = made("encoder_decoder")
    batch = batch_pairs([([3, 4, 5], [6, 7]), ([3], [5, 6, 8])], pad=0, bos=1, eos=2, device="far")
    return loss_and_weight(net, batch, 0.1)[0]


ALONE = {  # what has no twin: a call that uses it
    "attention.fused_attention": lambda: attention.fused_attention(*[numbers(2, 7, 4)] * 3, is_causal=True),
    "attention.SelfAttention": lambda: moved(attention.SelfAttention(AttentionConfig(12, 4, 4)))(numbers(2, 7, 12)),
    "block.dropout": lambda: block.dropout(numbers(2, 7), 0.1),
    "block.FeedForward": lambda: moved(block.FeedForward(12, 24, gated=True))(numbers(2, 7, 12)),
    "block.Block": lambda: moved(block.Block(12, 3, 24))(numbers(2, 7, 12)),
    "embedding.Embedding": lambda: moved(embedding.Embedding(11, 12))(words(2, 7)),
    "embedding.PatchEmbedding": lambda: moved(embedding.PatchEmbedding(2, 3, 12))(numbers(2, 4, 6, 3)),
    "finetune.Classifier": lambda: classified(False),
    "finetune.classifier": lambda: classified(True),
    "finetune.Lora": adapted,
    "finetune.merged": adapted,
    "flash.Partial": lambda: flash.online_softmax_merge(
        *[flash.Partial(numbers(2, 5), numbers(2, 5), numbers(2, 5, 3))] * 2).o,
    "flash.online_softmax_merge": lambda: flash.online_softmax_merge(
        *[flash.Partial(numbers(2, 5), numbers(2, 5), numbers(2, 5, 3))] * 2).m,
    "generate.init_kv": decoded,
    "generate.KVCache": decoded,
    "generate.select_kv": decoded,
    "generate.decode": decoded,
    "linear.Linear": lambda: moved(linear.Linear(12, 5))(numbers(2, 12)),
    "multihead.Multihead": lambda: moved(multihead.Multihead(12, 3))(numbers(2, 7, 12)),
    "multihead.over_heads": lambda: multihead.over_heads(seen(2, 7, 7), 3),
    "norm.LayerNorm": lambda: moved(norm.LayerNorm(12))(numbers(2, 12)),
    "norm.RMSNorm": lambda: moved(norm.RMSNorm(12))(numbers(2, 12)),
    "optim.clip_by_global_norm": lambda: optim.clip_by_global_norm({"a": numbers(3), "b": numbers(2, 2)}, 1.0),
    "position.LearnedPositions": lambda: moved(position.LearnedPositions(9, 12))(7),
    "position.RelativeBias": lambda: moved(position.RelativeBias(3, 4))(7),
    "pretrain.MlmHead": lambda: moved(pretrain.MlmHead(12, 11))(numbers(2, 12), numbers(11, 12)),
    "recurrent.RNN": lambda: moved(recurrent.RNN(12, 5))(numbers(2, 7, 12)),
    "recurrent.Conv1d": lambda: moved(recurrent.Conv1d(3, 12, 5))(numbers(2, 7, 12)),
    "residual.residual": lambda: residual.residual(
        numbers(2, 12), {"gamma": numbers(12), "beta": numbers(12)}, lambda X: X),
    "sample.temperature": lambda: sample.temperature(numbers(2, 11), 0.7),
    "sample.top_k": lambda: sample.top_k(numbers(2, 11), 3),
    "sample.top_p": lambda: sample.top_p(numbers(2, 11), 0.9),
    "sample.probabilities": lambda: sample.probabilities(numbers(2, 11)),
    "sample.greedy": lambda: sample.greedy(numbers(2, 11)),
    "sample.sample": lambda: sample.sample(numbers(2, 11), numbers(2)),
    "sample.choose": lambda: sample.choose(numbers(2, 11), numbers(2), 0.7, 3, 0.9),
    "translate.shift_right": lambda: translate.shift_right(words(2, 5), 1),
    "translate.batch_pairs": translated_loss,
    "translate.loss_and_weight": translated_loss,
    "translate.translation_step": read_and_translated,
    "vision.attention_rollout": lambda: vision.attention_rollout([numbers(2, 3, 7, 7)] * 2),
}
IN_STEPS = ("model.embed", "model.stack", "model.encoder", "model.decoder", "model.encoder_decoder", "model.Embed",
            "model.Encoder", "model.Decoder", "model.EncoderDecoder", "train.train_step", "optim.adamw",
            "optim.parameter_groups")
ELSEWHERE = {  # why a public name cannot run without numbers, or without a device that is there
    "generate.generate": "asks at every step whether all texts have ended", "generate.stream": "the same",
    "translate.greedy_search": "the same", "translate.beam_search": "the same", "translate.translate": "the same",
    "translate.translation_bleu": "counts words", "translate.epoch": "lists batches made by batch_pairs",
    "embedding.nearest": "hands words to a reader",
    "gradcheck.parity": "compares with arrays of NumPy", "mask.leak_probe": "says a number",
    "pretrain.pretrain": "picks out the chosen words, and waits once for their number, as it says",
    "pretrain.Pretraining": "the same",
    "pretrain.mask_tokens": "draws from a generator, which a device that is not there has not",
    "residual.init_weights": "the same",
    "recurrent.GRU": "torch's own, whose kernels a device that is not there has not", "recurrent.LSTM": "the same",
    "optim.optimizer_state": "is read to be saved", "optim.load_optimizer_state": "comes from a file",
    "optim.set_lr": "sets a number of Python",
    "train.train": "reads losses every twentieth step: test_reads.py counts them", "train.main": "is the command line",
    "flash.Tiles": "is what flash.flash_attention applies",
}


def public():
    """The public names of byhand.pt, and those of them that something here runs."""
    names = set()
    for found in pkgutil.iter_modules(byhand.pt.__path__):
        if not found.name.startswith("_"):
            module = importlib.import_module(f"byhand.pt.{found.name}")
            names |= {f"{found.name}.{name}" for name, one in vars(module).items()
                      if not name.startswith("_") and callable(one) and one.__module__ == module.__name__}
    return names, {name.split(",")[0] for name, *_ in functions()} | {*ALONE, *IN_STEPS}


def main(start="", *edit):
    if start == "--public":
        names, run = public()
        print(*(f"not run: {name}" for name in sorted(names - run - {*ELSEWHERE})), sep="\n")
        print(*(f"run, or gone: {name}" for name in sorted({*ELSEWHERE} & run | {*ELSEWHERE, *run} - names)), sep="\n")
        return
    if edit:
        place, _ = parted(edit[0])
        module = importlib.import_module(f"byhand.{place}")
        exec(compile(edited(*edit), module.__file__, "exec", dont_inherit=True), vars(module))
    with FakeTensorMode():
        calls = ((name, functools.partial(on_far, f, case)) for name, f, case in functions())
        for name, call in (*calls, *steps(), *((f"{name}, alone", call) for name, call in ALONE.items())):
            if name.startswith(start):
                try:
                    out = call()
                    print(f"ok {name}" if out.device.type == "far" else f"WRONG {name}: its output is on {out.device}")
                except Exception as error:  # whatever it is, its line names it
                    print(f"WRONG {name}: {type(error).__name__}: {str(error).splitlines()[0]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
