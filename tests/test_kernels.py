# ruff: noqa: E501
"""The kernels by hand: in Triton's interpreter on a CPU, compiled for a GPU that need not be there, and in the model."""

import contextlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import byhand
import numpy as np
import pytest
import torch
from byhand import pt
from byhand.config import ModelConfig
from byhand.np import attention as np_attention
from byhand.np import loss as np_loss
from byhand.np import norm as np_norm
from byhand.np.mask import causal_mask
from byhand.pt.loss import cross_entropy
from byhand.pt.model import Decoder
from mutants import build

pytest.importorskip("triton", reason="Triton is not installed: make kernels")
from byhand import kernels  # noqa: E402

DEVICE = "cpu" if kernels.INTERPRETED else "cuda"
NEAR = 1e-5  # float32 sums in another order, as a share of the largest entry
FOLDER = Path(byhand.__file__).parent / "kernels"


def wrong_module(stem, old, new, folder):
    """A kernel module with one edit: in a file of its own, for Triton reads the text of a kernel from its file."""
    text = (FOLDER / f"{stem}.py").read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in kernels/{stem}.py, expected once"
    path = folder / f"wrong_{stem}.py"
    path.write_text(text.replace(old, new), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def normal(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


def near(found, known, what):
    for name, a, b in zip("OdddddL", found, known, strict=False):
        a = a.detach().cpu().double().numpy()
        error = np.abs(a - b).max(initial=0) / max(np.abs(b).max(initial=0), 1e-3)
        assert a.shape == b.shape and error <= NEAR, f"{what}: {name} is off by {error:.0e}"


def with_gradients(f, inputs, dO):
    leaves = [torch.tensor(x, device=DEVICE, requires_grad=True) for x in inputs]
    out = f(*leaves)
    return [out, *torch.autograd.grad(out, leaves, torch.as_tensor(dO, device=DEVICE))]


ATTENTION = [  # sizes beside those of a tile, a tile and one more, one query, one head or several; d_k, d_v
    ((2, 3), 37, 37, 8, 8, True), ((2,), 70, 45, 17, 5, False), ((1,), 130, 130, 64, 64, True), ((), 1, 5, 16, 16, False),
    ((2,), 97, 97, 80, 80, True), ((1,), 3, 129, 20, 40, False)]


def attention_is_right(module):
    rng = np.random.default_rng(0)
    for lead, n, m, d_k, d_v, causal in ATTENTION:
        inputs, dO = [normal(rng, *lead, *s) for s in ((n, d_k), (m, d_k), (m, d_v))], normal(rng, *lead, n, d_v)
        O, cache = np_attention.attention_forward(
            *(x.astype(float) for x in inputs), mask=causal_mask(n) if causal else None, scale=0.4)
        found = with_gradients(lambda *x, c=causal: module.flash_attention(*x, scale=0.4, is_causal=c), inputs, dO)
        near(found, [O, *np_attention.attention_backward(dO.astype(float), cache)], f"attention {n} × {m}, {d_k}")


def norms_are_right(module):
    rng = np.random.default_rng(1)
    for lead, d in (((3, 5), 7), ((2,), 64), ((150,), 12), ((), 100), ((0,), 4)):  # 150 rows are more than programs
        X, gamma, beta, dY = 2 + normal(rng, *lead, d), normal(rng, d), normal(rng, d), normal(rng, *lead, d)
        wide = [x.astype(float) for x in (X, gamma, beta)]
        Y, cache = np_norm.layer_norm_forward(*wide, eps=0.3)
        known = [Y, *np_norm.layer_norm_backward(dY.astype(float), cache)]
        near(with_gradients(lambda *x: module.layer_norm(*x, eps=0.3), [X, gamma, beta], dY), known, f"LayerNorm {d}")
        Y, cache = np_norm.rms_norm_forward(*wide[:2], eps=0.3)
        known = [Y, *np_norm.rms_norm_backward(dY.astype(float), cache)]
        near(with_gradients(lambda *x: module.rms_norm(*x, eps=0.3), [X, gamma], dY), known, f"RMSNorm {d}")


def losses_are_right(module):
    rng = np.random.default_rng(2)
    for V in (5, 1024, 2500):  # less than a block, a block, some and a rest
        Z, ids, w = 5 * normal(rng, 3, 4, V), rng.integers(V, size=(3, 4)), rng.random((3, 4)).astype(np.float32)
        Z[0, 0] += 200  # overflows without the maximum
        Z[1, 1, ids[1, 1] - 1] = -np.inf if V != 1024 else 0  # a word that may not come
        for options in ({}, {"ignore_index": int(ids[0, 1])}, {"weights": w, "smoothing": 0.2}):
            if options.get("smoothing"):
                Z = np.where(np.isinf(Z), 0, Z)
            known = torch.tensor(Z, dtype=torch.float64, requires_grad=True)
            L = cross_entropy(known, torch.tensor(ids), **{k: torch.tensor(v).double() if k == "weights" else v
                                                           for k, v in options.items()})
            L.backward()
            if not np.isinf(Z).any():  # the NumPy half refuses what is not finite
                wide = {k: v.astype(float) if k == "weights" else v for k, v in options.items()}
                assert abs(np_loss.cross_entropy_forward(Z.astype(float), ids, **wide)[0] - L.item()) < 1e-9
            found = with_gradients(lambda x, ids=ids, options=options: module.cross_entropy(
                x, torch.tensor(ids, device=DEVICE), **{k: torch.tensor(v, device=DEVICE) if k == "weights" else v
                                                        for k, v in options.items()}), [Z], 1.0)
            near(found, [np.array(L.item()), known.grad.numpy()], f"cross-entropy {V}, {options.keys()}")


PROOFS = {"attention": (attention_is_right, {}), "norm": (norms_are_right, {"PROGRAMS": 128}),
          "loss": (losses_are_right, {"BLOCK": 1024})}  # and the sizes for which the examples are made


def is_right(stem, module):
    proof, sizes = PROOFS[stem]
    with contextlib.ExitStack() as stack:
        for name, size in sizes.items():
            stack.enter_context(patch.object(module, name, size))
        proof(module)


@pytest.mark.parametrize("stem", PROOFS)
def test_kernels_equal_the_numpy_half(stem):
    is_right(stem, importlib.import_module(f"byhand.kernels.{stem}"))


WRONG = [
    ("attention", "total = keep * total + tl.sum(E, 1)", "total = total + tl.sum(E, 1)", "a sum that is not rescaled"),
    ("attention", "out = keep[:, None] * out + tl.dot(", "out = out + tl.dot(", "values that are not rescaled"),
    ("attention", "j[None, :] <= i[:, None]", "j[None, :] < i[:, None]", "a query that does not see itself"),
    ("attention", "    seen = (j < m)[None, :]\n", "    seen = (j < m + KEYS)[None, :]\n", "keys that are not there"),
    ("attention", "    end = tl.minimum(first + ROWS, m) if CAUSAL else m\n    for j in range(0, end, KEYS):\n        S =",
     "    end = tl.minimum(first, m) if CAUSAL else m\n    for j in range(0, end, KEYS):\n        S =", "the diagonal left out"),
    ("attention", "store(dK, scale * dk,", "store(dK, dk,", "a gradient of K without the scale"),
    ("attention", "tl.trans(v), input_precision=\"ieee\") - inner[:, None])\n        dk +=",
     "tl.trans(v), input_precision=\"ieee\"))\n        dk +=", "a softmax backward without its inner product"),
    ("attention", "start = first // ROWS * ROWS if CAUSAL else 0", "start = first // ROWS * ROWS + ROWS if CAUSAL else 0",
     "keys that miss the queries of their own tile"),
    ("norm", "x = tl.where(c < d, x - mu, 0.0)", "x = x - mu", "a variance that counts the padding"),
    ("norm", "- (tl.sum(dx, 0) / d if CENTRED else 0.0)", "", "a gradient as if the mean were a constant"),
    ("norm", "dx - x * (tl.sum(dx * x, 0) / d)", "dx", "a gradient as if the deviation were a constant"),
    ("norm", "for i in range(tl.program_id(0), rows, tl.num_programs(0))", "for i in range(tl.program_id(0), 128, 128)",
     "rows beyond the programs left out"),
    ("norm", "tl.store(dX + at, (r * dx)", "tl.store(dX + at, (dx)", "a gradient without the deviation"),
    ("loss", "total = total * tl.exp(top - safe) +", "total = total +", "an online softmax that is not rescaled"),
    ("loss", "safe = tl.where(new == float(\"-inf\"), 0.0, new)", "safe = 0.0 * new", "no maximum taken away"),
    ("loss", "q -= smoothing * plain / V", "q -= smoothing * plain", "smoothing that sums where it must average"),
    ("loss", "0.0) + smoothing / V", "0.0)", "a gradient without the smoothing"),
    ("loss", "ids = torch.where(ids == ignore_index, 0, ids)", "w = torch.ones_like(w)", "ignored words that count"),
]


@pytest.mark.parametrize(("stem", "old", "new", "story"), WRONG, ids=[story for *_, story in WRONG])
def test_wrong_kernels_are_caught(stem, old, new, story, tmp_path):
    module = wrong_module(stem, old, new, tmp_path)
    with pytest.raises(AssertionError, match="is off by"), np.errstate(all="ignore"):
        is_right(stem, module)


@pytest.mark.parametrize("dtype", [x for x in kernels._launch.DTYPES if x != torch.float32])
def test_half_precision_is_within_its_own_rounding(dtype):
    """Inputs rounded once: the same as float32 of the rounded inputs, up to the rounding of weights and results."""
    generator, unit = torch.Generator().manual_seed(0), torch.finfo(dtype).eps
    Q, K, V = (torch.randn(2, 70, 16, generator=generator).to(DEVICE, dtype) for _ in range(3))
    found = kernels.flash_attention(Q, K, V, is_causal=True)
    known = kernels.flash_attention(Q.float(), K.float(), V.float(), is_causal=True)
    assert found.dtype == dtype and (found.float() - known).abs().max() <= 4 * unit * V.abs().max()
    X, gamma = torch.randn(9, 40, generator=generator).to(DEVICE, dtype), torch.ones(40, device=DEVICE, dtype=dtype)
    found, known = kernels.rms_norm(X, gamma), kernels.rms_norm(X.float(), gamma.float())
    assert found.dtype == dtype and (found.float() - known).abs().max() <= unit * known.abs().max()
    Z = (4 * torch.randn(5, 33, generator=generator)).to(DEVICE, dtype)
    found, known = (kernels.cross_entropy(z, torch.arange(5, device=DEVICE)) for z in (Z, Z.float()))
    assert found.dtype == torch.float32 and found == known


def handed_over(switch, monkeypatch, dtype=torch.float32):
    """The dtypes that the kernel of attention gets under autocast to bfloat16; none where torch's own is taken."""
    seen = []
    monkeypatch.setattr(kernels._launch, "DTYPES", (torch.float32, torch.bfloat16))
    monkeypatch.setattr(kernels, "flash_attention", lambda *x: (seen.extend(y.dtype for y in x[:3]), x[2])[1])
    monkeypatch.setattr(pt.attention, "as_autocast", switch.as_autocast)
    monkeypatch.setattr(switch, "chosen", "torch")
    with torch.autocast(DEVICE, torch.bfloat16), pt.use_kernels("triton"):
        switch.chosen = "triton"  # of a wrong version, which the switch does not reach
        pt.attention.fused_attention(*torch.ones(3, 2, 5, 4, device=DEVICE, dtype=dtype))
    return seen


def test_autocast_reaches_the_kernels(monkeypatch):
    """As it reaches torch's own: a GPU multiplies float32 exactly at a hundredth of the speed."""
    assert handed_over(pt._kernels, monkeypatch) == [torch.bfloat16] * 3


def test_autocast_leaves_float64_as_it_is(monkeypatch):
    """As torch's own products do: who asks for float64 gets its digits."""
    assert handed_over(pt._kernels, monkeypatch, torch.float64) == []
    wrong = build("pt._kernels", " or tensors[0].dtype == torch.float64", "")
    assert handed_over(wrong, monkeypatch, torch.float64) == [torch.bfloat16] * 3


@pytest.mark.parametrize(("old", "new"), [('chosen == "torch" or ', "True or "),
                                          ("torch.get_autocast_dtype(place)", "tensors[0].dtype")])
def test_kernels_without_autocast_are_caught(old, new, monkeypatch):
    assert handed_over(build("pt._kernels", old, new), monkeypatch) == [torch.float32] * 3


def test_the_model_takes_them_by_one_switch(monkeypatch):
    """Same loss and gradients, all four kernels launched; and nothing left switched afterwards."""
    from byhand.kernels import attention, loss, norm

    launched = []
    for module, function in ((attention, "Kernels"), (loss, "Losses"), (norm, "Rows")):
        apply = getattr(module, function).apply
        monkeypatch.setattr(getattr(module, function), "apply",
                            lambda *x, name=function, apply=apply: (launched.append(name), apply(*x))[1])
    found = {}
    for rms in (False, True):
        config = ModelConfig("decoder", 40, 24, 3, 2, n_max=16, position="rope", rms=rms)
        net = Decoder(config, np.random.default_rng(0)).to(DEVICE)
        ids = torch.arange(2 * 17, device=DEVICE).reshape(2, 17) % 40
        for name in ("torch", "triton"):
            launched.clear()
            with pt.use_kernels(name):
                net.zero_grad()
                L = cross_entropy(net(ids[:, :-1]), ids[:, 1:])
                L.backward()
            found[name] = [L.detach(), *(p.grad.clone() for p in net.parameters())]
            assert bool(launched) == (name == "triton")
        assert launched.count("Kernels") == 2 and launched.count("Losses") == 1 and launched.count("Rows") == 5
        for a, b in zip(found["torch"], found["triton"], strict=True):
            assert (a - b).abs().max() <= NEAR * max(b.abs().max(), 1e-3)
    assert pt._kernels.chosen == "torch"
    with pt.use_kernels("triton"):  # what the kernels cannot take stays with torch
        launched.clear()
        pt.attention.fused_attention(*torch.ones(3, 2, 5, 4, dtype=torch.float64))
        pt.attention.fused_attention(*torch.ones(3, 2, 5, 4, device=DEVICE), torch.ones(5, 5, dtype=torch.bool, device=DEVICE))
        pt.attention.fused_attention(*torch.ones(3, 2, 5, 300, device=DEVICE))
        assert not launched


REFUSED = [
    (lambda x: kernels.flash_attention(*3 * [x.double()]), TypeError, "flash_attention: Q is torch.float64, expected torch.float32"),
    (lambda x: kernels.flash_attention(x, x.half(), x), TypeError, "K has dtype torch.float16 but Q has torch.float32"),
    (lambda x: kernels.flash_attention(x, x[:3], x[:3], is_causal=True), ValueError, "is_causal"),
    (lambda x: kernels.flash_attention(x, x[:0], x[:0]), ValueError, "K has 0 keys, expected at least 1"),
    (lambda x: kernels.flash_attention(*3 * [torch.ones(2, 300, device=DEVICE)]), ValueError, "d_k is 300 and d_v 300, expected at most 256"),
    (lambda x: kernels.layer_norm(x, x[0, :3], x[0]), ValueError, "layer_norm: gamma"),
    (lambda x: kernels.rms_norm(x.double(), x[0].double()), TypeError, "rms_norm: X is torch.float64"),
    (lambda x: kernels.cross_entropy(x.double(), torch.zeros(5, dtype=torch.long)), TypeError, "cross_entropy: logits is torch.float64"),
    (lambda x: pt.use_kernels("cuda").__enter__(), ValueError, "use_kernels: name is 'cuda', expected one of torch, triton"),
]


@pytest.mark.parametrize(("call", "error", "words"), REFUSED, ids=[words for *_, words in REFUSED])
def test_what_they_cannot_take_is_refused(call, error, words, as_shipped):
    with pytest.raises(error, match=words):
        call(torch.ones(5, 4, device=DEVICE))


def python(code, **environment):
    env = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"} | environment
    return subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=env, capture_output=True, text=True)


@pytest.mark.skipif(DEVICE == "cuda", reason="there is a GPU")
def test_without_a_gpu_it_says_what_to_do():
    said = python("import byhand.pt; byhand.pt.use_kernels('triton').__enter__()").stderr
    assert "set TRITON_INTERPRET=1 before Python starts" in said
    said = python("import sys; sys.modules['triton'] = None; import byhand.kernels").stderr
    assert "byhand.kernels needs Triton: make kernels" in said


COMPILE = """
import torch; torch.cuda.is_available = lambda: True
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from byhand.kernels import attention, loss, norm
TILES = dict(ROWS=64, KEYS=64, WIDTH=64, WIDTH_V=64)
FLOATS, NUMBERS = {"L", "D", "mean", "inverse", "dgamma", "dbeta", "each", "lse"}, {"n", "m", "d_k", "d_v", "rows"}
for module, name, constants in [
    (attention, "forward_kernel", {**TILES, "CAUSAL": True}), (attention, "keys_kernel", {**TILES, "CAUSAL": True}),
    (attention, "queries_kernel", {**TILES, "CAUSAL": False}), (norm, "forward_kernel", dict(WIDTH=1024, CENTRED=True)),
    (norm, "backward_kernel", dict(WIDTH=1024, CENTRED=True)), (norm, "backward_kernel", dict(WIDTH=512, CENTRED=False)),
    (loss, "forward_kernel", dict(BLOCK=4096)), (loss, "backward_kernel", dict(BLOCK=4096))]:
    kernel, signature = getattr(module, name), {}
    for x in kernel.arg_names:
        size = x in NUMBERS or (x == "d" and module is norm) or (x == "V" and module is loss)
        signature[x] = ("constexpr" if x in constants else "*i64" if x == "ids" else "i32" if size else
                        "fp32" if x in ("scale", "eps", "smoothing") else
                        "*fp32" if x in FLOATS or x == "d" else "*bf16")
    made = triton.compile(ASTSource(kernel, signature, constants), target=GPUTarget("cuda", 90, 32))
    print(module.__name__, name, len(made.asm["cubin"]) > 0, made.metadata.shared <= 227 * 1024)
"""


def test_every_kernel_compiles_for_a_gpu(tmp_path):
    """For a Hopper GPU that need not be there: the interpreter takes Python that the compiler does not."""
    made = python(COMPILE, TRITON_CACHE_DIR=str(tmp_path))
    lines = made.stdout.splitlines()
    assert len(lines) == 8 and all(line.endswith("True True") for line in lines), made.stdout + made.stderr[-2000:]
