"""The halves mirror each other: the same modules, functions, parameters, and names in the parameter trees."""

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import typing

import byhand.np
import byhand.pt
import numpy as np
import pytest
from byhand import tree
from byhand.config import AttentionConfig
from mutants import build, edited, source

CHAPTER = {"gradcheck": "Chapter 0", "linear": "Chapter 0", "recurrent": "Chapter 1", "embedding": "Chapter 2",
           "position": "Chapter 3", "softmax": "Chapter 4", "attention": "Chapter 4", "mask": "Chapters 4 and 8",
           "multihead": "Chapter 5", "norm": "Chapter 6", "residual": "Chapter 7", "block": "Chapter 9",
           "model": "Chapter 10", "loss": "Chapter 11", "optim": "Chapter 11", "train": "Chapter 11",
           "sample": "Chapter 12", "generate": "Chapter 12", "translate": "Chapter 13", "pretrain": "Chapter 14",
           "finetune": "Chapter 14", "vision": "Chapter 15", "flash": "Chapter 16"}
NP_ONLY = {"gradcheck": {"relative_error", "numerical_gradient", "gradcheck", "named_gradients"},
           "linear": {"init_linear"},
           "loss": {"perplexity", "bits"}, "recurrent": {"receptive_field", "init_rnn", "init_conv1d"},
           "embedding": {"init_embedding", "init_sgns"}, "multihead": {"sum_heads", "init_multihead"},
           "position": {"init_learned_positions", "init_relative_bias"}, "norm": {"init_norm"},
           "residual": {"deepnorm", "init_std"},  # pt takes them from np: plain numbers
           "translate": {"loss_and_grads", "length_penalty"},
           "pretrain": {"sentence_pairs", "barred_ids", "pretrain_loss_and_grads"},
           "flash": {"one_length_if_causal"},
           "finetune": {"adaptable", "split_tree", "join_tree", "classifier_loss_and_grads", "init_lora",
                        "lora_grads", "lora_loss_and_grads"},
           "optim": {"init_state", "sgd_step", "momentum_step", "rmsprop_step", "adam_step", "adam_l2_step",
                     "adamw_step", "adamw_step_", "decay_mask", "constant", "warmup_inverse_sqrt", "warmup_linear",
                     "warmup_cosine"}}
PT_ONLY = {"gradcheck": {"parity"}, "linear": {"Linear"}, "attention": {"fused_attention", "SelfAttention"},
           "recurrent": {"RNN", "Conv1d", "GRU", "LSTM"}, "embedding": {"Embedding", "PatchEmbedding"},
           "position": {"LearnedPositions", "RelativeBias"}, "multihead": {"Multihead"},
           "norm": {"LayerNorm", "RMSNorm"}, "block": {"FeedForward", "Block"},
           "model": {"Embed", "Encoder", "Decoder", "EncoderDecoder"}, "translate": {"loss_and_weight"},
           "train": {"main"},
           "pretrain": {"MlmHead", "Pretraining"}, "finetune": {"Classifier", "Lora"}, "flash": {"Tiles"},
           "optim": {"parameter_groups", "adamw", "set_lr", "optimizer_state", "load_optimizer_state"}}
OF_TORCH = {name: ["device"] for name in ("causal_mask", "frequencies", "sinusoidal", "shift_matrix", "alibi_slopes",
                                          "alibi_bias", "interleave_permutation", "positions_2d")}
OF_TORCH |= {name: ["device"] for name in ("batch_pairs", "epoch", "greedy_search", "beam_search")}
WITH_DROPOUT = ("dropout", "embed", "encoder", "decoder", "encoder_decoder", "translation_loss", "classify", "pretrain",
                "classifier")  # a generator in NumPy, a mode in torch
OF_TORCH |= {"init_weights": ["rng"], "stack": ["training"], "flash_attention": ["return_lse"]}
OF_TORCH |= {name: ["training"] for name in WITH_DROPOUT}
OF_NUMPY = {"block": ["rng"], "stack": ["rng"], "init_weights": ["rng", "dtype"]}  # torch has ways of its own
OF_NUMPY |= {name: ["rng"] for name in WITH_DROPOUT}
OF_NUMPY |= {"train_step": ["betas", "eps", "weight_decay", "mask", "rng", "inplace"]}  # torch's optimiser holds them
OF_TORCH |= {"train_step": ["autocast"], "train": ["autocast", "compile", "shard"]}
WITH_CALLBACK = {"residual_backward": ["cache", "sublayer_backward"]}  # the layer inside is the caller's
RENAMED = {"residual": {"norm": "params"},
           "train_step": {"params": "module", "state": "optimizer", "loss_and_grads": "loss_fn"},
           "train": {"params": "module", "loss_and_grads": "loss_fn"}}
LINES = 250  # a module is read in one go


def halves(stem):
    return [importlib.import_module(f"byhand.{half}.{stem}") for half in ("np", "pt")]


def public(module):
    """Functions and classes that a module defines; caches aside."""
    return {name: inspect.unwrap(x) for name, x in vars(module).items()
            if getattr(x, "__module__", None) == module.__name__ and not name.startswith("_")
            and (inspect.isfunction(x) or inspect.isclass(x) and not hasattr(x, "_fields"))}


def parameters(function):
    return [(p.name, p.default, p.kind) for p in inspect.signature(function).parameters.values()]


def unmirrored(np_module, pt_module) -> list[str]:
    """What one half has and the other has not, or has otherwise."""
    stem = np_module.__name__.split(".")[-1]
    ours, theirs = public(np_module), public(pt_module)
    functions = {name.removesuffix("_forward"): f for name, f in ours.items() if not name.endswith("_backward")}
    faults = [f"{name} in one half only" for name in (functions.keys() - NP_ONLY.get(stem, set()))
              ^ (theirs.keys() - PT_ONLY.get(stem, set()))]
    for name in functions.keys() & theirs.keys():
        mine, twin = parameters(functions[name]), parameters(theirs[name])
        mine = [p for p in mine if p[0] not in OF_NUMPY.get(name, [])]
        twin = [p for p in twin if p[0] not in OF_TORCH.get(name, [])]
        if dict((p[0], p[1]) for p in parameters(functions[name])).get("rng", ...) is None and (
                "training", True) in [p[:2] for p in parameters(theirs[name])]:  # as it is called, neither half drops
            faults.append(f"{name}: training is True in torch where rng is None in NumPy")
        renamed = [(RENAMED.get(name, {}).get(p[0], p[0]), *p[1:]) for p in mine]
        if renamed != twin:
            faults.append(f"{name}{inspect.signature(functions[name])} against {inspect.signature(theirs[name])}")
    for name, f in ours.items():
        if name.endswith("_backward"):
            forward = ours.get(name.removesuffix("_backward") + "_forward")
            first, *rest = inspect.signature(f).parameters
            cache = f.__annotations__.get("cache")
            named = all(hasattr(kind, "_fields") for kind in typing.get_args(cache) or [cache])
            if forward is None or not first.startswith("d") or rest != WITH_CALLBACK.get(name, ["cache"]) or not named:
                faults.append(f"{name}: expected (dOut, cache) beside a forward, the cache a NamedTuple")
    return faults


def untidy(module, text) -> list[str]:
    """No chapter in the docstring of the module, no docstring of a function, or too long to read."""
    stem = module.__name__.split(".")[-1]
    faults = [f"{name} has no docstring" for name, x in public(module).items() if not x.__doc__]
    named = re.match(r"Chapters? \d+( and \d+)*(?=:)", module.__doc__ or "")
    if not named or named[0] != CHAPTER[stem]:
        faults.append(f"{stem}: {named and named[0]}, expected {CHAPTER[stem]}")
    if len(text.splitlines()) > LINES:
        faults.append(f"{stem} has {len(text.splitlines())} lines, expected at most {LINES}")
    return faults


def test_the_halves_have_the_same_modules():
    names = [{m.name for m in pkgutil.iter_modules(half.__path__) if m.name[0] != "_"}
             for half in (byhand.np, byhand.pt)]
    assert names[0] == names[1] == CHAPTER.keys()


@pytest.mark.parametrize("stem", CHAPTER)
def test_functions_and_parameters(stem):
    assert not unmirrored(*halves(stem))


@pytest.mark.parametrize("stem", CHAPTER)
def test_modules_name_their_chapters_and_functions_say_what_they_do(stem):
    for module, place in zip(halves(stem), ("np", "pt"), strict=True):
        assert not untidy(module, source(f"{place}.{stem}"))


def shapes(params):
    return {name: tuple(np.shape(x)) for name, x in tree.flatten(params).items()}


def other_names(params, module) -> set:
    """Names and shapes in a NumPy tree or in a torch module, but not in both."""
    return set(shapes(params).items()) ^ {(name, tuple(x.shape)) for name, x in module.state_dict().items()}


def test_parameter_trees_are_the_same_key_by_key():
    rng = np.random.default_rng(0)
    (np_linear, pt_linear), (np_attention, pt_attention) = halves("linear"), halves("attention")
    linear = np_linear.init_linear(rng, 4, 5)
    assert not other_names(linear, pt_linear.Linear(4, 5))
    assert other_names(linear, pt_linear.Linear(5, 4))
    assert other_names(linear, pt_linear.Linear(4, 5, bias=False)) == {("b", (5,))}

    def head(config):
        """One head as the NumPy half declares it."""
        shapes = {name: [getattr(config, x) for x in axes.split()] for name, axes in np_attention.HEAD.items()}
        return {name.rstrip("?"): rng.normal(size=shape).astype(np.float32)
                for name, shape in shapes.items() if config.bias or name[0] == "W"}

    for bias in (True, False):
        config = AttentionConfig(d=4, d_k=5, d_v=6, bias=bias)
        params, net = head(config), pt_attention.SelfAttention(config)
        assert not other_names(params, net)
        net.load_state_dict(tree.to_torch(params))
        for name, x in tree.from_torch(net).items():
            assert np.array_equal(x, params[name])
    swapped = build("pt.attention", 'for name, size in (("q", config.d_k), ("k", config.d_k), ("v", config.d_v))',
                    'for name, size in (("q", config.d_k), ("v", config.d_k), ("k", config.d_v))')
    config = AttentionConfig(d=4, d_k=5, d_v=6)
    assert other_names(head(config), swapped.SelfAttention(config))


def loads_torch(code: str) -> bool:
    done = subprocess.run([sys.executable, "-c", f"{code}\nimport sys\nprint('torch' in sys.modules)"],
                          capture_output=True, text=True, check=True)
    return done.stdout.strip() == "True"


def test_the_numpy_half_never_imports_torch():
    """A reader without torch can run it; each call to forward and backward included."""
    everything = "\n".join(f"import byhand.np.{stem}" for stem in CHAPTER)
    everything += "\nimport byhand.tree, byhand.config, byhand.data, byhand.cost, byhand.init"
    everything += "\nimport byhand.metrics, byhand.text, byhand.io.gguf, byhand.text.gguf, byhand.io.safetensors"
    everything += "\nimport byhand.pretrained, byhand.io.checkpoint, byhand.io.module, byhand.annex.ladder"
    run = """
import numpy as np
from byhand.np.attention import attention_forward, attention_backward
X = np.eye(3)
O, cache = attention_forward(X, X, X, mask=np.tri(3, dtype=bool))
attention_backward(O, cache)
"""
    assert not loads_torch(everything + run)
    assert loads_torch(everything + run + "import byhand.pt.attention")


# Wrong modules, kept: each is found.

WRONG_PT = [
    ("attention", ("scale: float | None = None,\n) -> Float[Tensor, \"*B n d_v\"]:\n    \"\"\"O = softmax",
      "temperature: float | None = None,\n) -> Float[Tensor, \"*B n d_v\"]:\n    \"\"\"O = softmax"), "attention("),
    ("attention", ("    bandwidth: Positive,\n", "    bandwidth: Positive = 1.0,\n"), "kernel_attention("),
    ("attention", ("def self_attention(\n    X", "def head(\n    X"), "self_attention in one half only"),
    ("pretrain", ("p: Share = 0.0, training: bool = False", "p: Share = 0.0, training: bool = True"),
     "classify: training is True in torch where rng is None in NumPy"),
]


@pytest.mark.parametrize(("stem", "edits", "found"), WRONG_PT)
def test_a_half_that_differs_is_found(stem, edits, found):
    faults = unmirrored(build(f"np.{stem}"), build(f"pt.{stem}", *edits))
    assert faults and any(fault.startswith(found) for fault in faults)


WRONG_NP = [
    (("def softmax_jacobian(a: Float[Array, \" m\"])", "def softmax_jacobian(b: Float[Array, \" m\"])"),
     "softmax_jacobian(b"),
    (("def logsumexp_backward(dL", "def logsumexp_backwards(dL"), "logsumexp_backwards in one half only"),
    (("def logsumexp_backward(dL", "def log_backward(dL"), "log_backward: expected (dOut, cache)"),
    (("dL: Float[Array, \"*B\"], cache: LogsumexpCache", "cache: LogsumexpCache, dL: Float[Array, \"*B\"]"),
     "logsumexp_backward: expected (dOut, cache)"),
    (("class SoftmaxCache(NamedTuple)", "class SoftmaxCache"), "softmax_backward: expected (dOut, cache)"),
]


@pytest.mark.parametrize(("edits", "found"), WRONG_NP)
def test_a_numpy_half_that_differs_is_found(edits, found):
    faults = unmirrored(build("np.softmax", *edits), build("pt.softmax"))
    assert faults and any(fault.startswith(found) for fault in faults)


@pytest.mark.parametrize(("edits", "found"), [
    (('"""Chapter 4: ', '"""Chapter 5: '), "softmax: Chapter 5, expected Chapter 4"),
    (('"""Chapter 4: ', '"""'), "softmax: None, expected Chapter 4"),
    (('    """J = diag(a) − a aᵀ, where a = softmax(s): J[j, k] = ∂a_j / ∂s_k."""\n', ""),
     "softmax_jacobian has no docstring"),
    (("import numpy as np\n", "import numpy as np\n" + "\n" * 200), "softmax has"),
])
def test_an_untidy_module_is_found(edits, found):
    faults = untidy(build("np.softmax", *edits), edited("np.softmax", *edits))
    assert len(faults) == 1 and faults[0].startswith(found)
