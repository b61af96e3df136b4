"""Checks of loss, optim, embedding and recurrent: cases for twins.py, invariants, and wrong modules with what kills them.

Run `PYTHONPATH=lib python checks_a.py` for the numbers, or `pytest checks_a.py`.
"""

import importlib
import io
import math
import sys
import tempfile
import warnings
import zlib
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import byhand
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from byhand import tree
from byhand.np.gradcheck import gradcheck, numerical_gradient, relative_error
from byhand.pt.gradcheck import parity

LIBRARY = Path(byhand.__file__).parent
SLOPE, FORWARD, GRADIENT, FORWARD32, GRADIENT32 = 1e-7, 1e-12, 1e-10, 2e-6, 5e-4
STEMS = ("loss", "optim", "embedding", "recurrent")
REAL = {stem: {h: importlib.import_module(f"byhand.{h}.{stem}") for h in ("np", "pt")} for stem in STEMS}


class Case(NamedTuple):
    label: str
    inputs: dict
    fixed: dict = {}


class Spec(NamedTuple):
    stem: str
    name: str
    cases: object


def normal(*shape, seed=0):
    return np.random.default_rng((*shape, seed)).normal(size=shape)


# Cases, as in twins.py

LEADS = [(), (3,), (3, 2), (4, 3, 2)]


def cross_entropy_cases(rng):
    for i, lead in enumerate(LEADS):
        for smoothing in (0.0, 0.3):
            for ignore in (None, -100, 2):
                ids = np.asarray(rng.integers(0, 5, size=lead))
                if ignore is not None:
                    ids = np.where(rng.random(lead) < 0.4, ignore, ids)
                    ids[(0,) * len(lead)] = 4  # at least one counts
                fixed = {"targets": ids, "smoothing": smoothing, "ignore_index": ignore}
                if (i + (ignore == 2)) % 2:
                    fixed["weights"] = np.asarray(0.2 + rng.random(lead))
                yield Case(f"{lead}, {smoothing}, {ignore}", {"logits": 2 * rng.normal(size=(*lead, 5))}, fixed)


IDS = [np.array(1), np.array([1, 4, 1, 1]), np.array([[0, 3, 3], [3, 0, 4]]), np.array([[[2], [2]]])]


def embedding_cases(rng):
    for ids in IDS:
        for scale in (1.0, 2.5):
            yield Case(f"ids {ids.shape}, scale {scale}", {"E": rng.normal(size=(5, 6))}, {"ids": ids, "scale": scale})


def unembed_cases(rng):
    for lead in LEADS:
        yield Case(f"{lead}", {"X": rng.normal(size=(*lead, 5)), "E": rng.normal(size=(7, 5))})


def cosine_cases(rng):
    U = rng.normal(size=(3, 5))
    yield Case("random", {"U": U, "V": rng.normal(size=(4, 5))})
    U[1] = 0
    yield Case("a row of zeros", {"U": U, "V": 100 * rng.normal(size=(4, 5))})


def nearest_cases(rng):
    vectors, query = rng.normal(size=(9, 5)), rng.normal(size=5)
    yield Case("plain", {"vectors": vectors, "query": query})
    yield Case("excluded", {"vectors": vectors, "query": 3 * vectors[2]}, {"k": 3, "exclude": (2, 4)})


def sgns_cases(rng):
    for B, k in ((1, 2), (6, 3)):
        inputs = {"W_in": rng.normal(size=(5, 4)), "W_out": 2 * rng.normal(size=(5, 4))}
        ids = {"centres": rng.integers(0, 5, B), "contexts": rng.integers(0, 5, B),
               "negatives": rng.integers(0, 5, (B, k))}
        yield Case(f"{B} pairs, {k} drawn", inputs, ids)


IMAGES = [((4, 6, 3), 2), ((2, 6, 4, 3), 2), ((3, 2, 6, 9, 2), 3), ((2, 3, 5, 4), 1)]


def patch_embedding_cases(rng):
    for shape, p in IMAGES:
        wide = p * p * shape[-1]
        yield Case(f"{shape}, {p}", {"images": rng.normal(size=shape), "W": rng.normal(size=(wide, 5)),
                                     "b": rng.normal(size=5)}, {"patch": p})


def patchify_cases(rng):
    for shape, p in IMAGES:
        yield Case(f"{shape}, {p}", {"images": rng.normal(size=shape)}, {"patch": p})


def unpatchify_cases(rng):
    for (*lead, h, w, c), p in IMAGES:
        yield Case(f"{h} × {w}, {p}", {"patches": rng.normal(size=(*lead, h // p * (w // p), p * p * c))},
                   {"patch": p, "h": h, "w": w})


def rnn_cases(rng, d=3, h=4):
    for lead, n in (((), 5), ((2,), 6), ((3, 2), 5), ((2,), 1)):
        params = {"W_x": rng.normal(size=(d, h)), "W_h": rng.normal(size=(h, h)), "b": rng.normal(size=h)}
        inputs = {"X": rng.normal(size=(*lead, n, d)), "params": params}
        yield Case(f"{lead}, n = {n}", inputs)
        yield Case(f"{lead}, n = {n}, h0", inputs | {"h0": rng.normal(size=(*lead, h))})


def rnn_jacobian_cases(rng):
    yield Case("five steps", {"H": np.tanh(rng.normal(size=(5, 4))), "W_h": rng.normal(size=(4, 4))})


def conv1d_cases(rng):
    for lead, n, k, dilation in (((), 7, 3, 1), ((2,), 6, 4, 1), ((3, 2), 8, 3, 2), ((2,), 5, 2, 3), ((2,), 3, 5, 2),
                                 ((2,), 6, 1, 1)):
        for causal in (False, True):
            inputs = {"X": rng.normal(size=(*lead, n, 9)), "W": rng.normal(size=(k, 9, 10))}
            inputs |= {"b": rng.normal(size=10)} if dilation < 3 else {}
            yield Case(f"{lead}, n = {n}, k = {k}, {dilation}, {causal}", inputs,
                       {"dilation": dilation, "causal": causal})


TWINS = [
    Spec("loss", "cross_entropy", cross_entropy_cases),
    Spec("embedding", "embedding", embedding_cases),
    Spec("embedding", "unembed", unembed_cases),
    Spec("embedding", "cosine_similarity", cosine_cases),
    Spec("embedding", "nearest", nearest_cases),
    Spec("embedding", "sgns", sgns_cases),
    Spec("embedding", "patchify", patchify_cases),
    Spec("embedding", "unpatchify", unpatchify_cases),
    Spec("embedding", "patch_embedding", patch_embedding_cases),
    Spec("recurrent", "rnn", rnn_cases),
    Spec("recurrent", "rnn_jacobian", rnn_jacobian_cases),
    Spec("recurrent", "conv1d", conv1d_cases),
]


def cases_of(spec):
    return list(spec.cases(np.random.default_rng(zlib.crc32(spec.name.encode()))))


def pair(module, name, **fixed):
    forward, back = (getattr(module, f"{name}_{way}") for way in ("forward", "backward"))

    def backward(dOut, cache):
        grads = back(dOut, cache)
        return tuple(g for g in grads if g is not None) if isinstance(grads, tuple) else grads
    return partial(forward, **fixed), backward


def differentiable(spec):
    return hasattr(REAL[spec.stem]["np"], f"{spec.name}_backward")


def slope(spec, module):
    rng = np.random.default_rng(1)
    return max(max(gradcheck(*pair(module, spec.name, **c.fixed), c.inputs, rng).values()) for c in cases_of(spec))


def twin(spec, np_module, pt_module, dtype=np.float64):
    rng = np.random.default_rng(2)
    f = getattr(pt_module, spec.name)
    forward = gradient = 0.0
    for case in cases_of(spec):
        inputs = tree.map_tree(lambda x: x.astype(dtype), case.inputs)
        fixed = {k: torch.tensor(v) if isinstance(v, np.ndarray) else v for k, v in case.fixed.items()}
        if differentiable(spec):
            errors = parity(*pair(np_module, spec.name, **case.fixed), partial(f, **fixed), inputs, rng)
            forward, gradient = max(forward, errors.pop("forward")), max(gradient, *errors.values())
        else:
            mine = np.asarray(getattr(np_module, spec.name)(*inputs.values(), **case.fixed))
            theirs = f(*tree.to_torch(inputs).values(), **fixed).numpy()
            assert mine.dtype == theirs.dtype
            forward = max(forward, relative_error(mine.astype(float), theirs.astype(float)))
    return forward, gradient


# Invariants: each takes a module and raises, or gives the largest number that it measured.


def near(a, b, what, tol=1e-12):
    a, b = np.asarray(a, float), np.asarray(b, float)
    error = relative_error(a, b)
    assert error <= tol, f"{what}: {error:.1e}"
    return error


def raises(error, pattern, call):
    with pytest.raises(error, match=pattern):
        call()


def arrays(x):
    parts = x.values() if isinstance(x, dict) else x if isinstance(x, tuple) else ()
    return [x] if isinstance(x, np.ndarray) else [array for part in parts for array in arrays(part)]


def float32_stays_and_inputs_are_left_alone(module):
    stem = module.__name__.split(".")[-1]
    for spec in (s for s in TWINS if s.stem == stem and differentiable(s)):
        for case in cases_of(spec):
            fixed = {k: np.float64(v) if isinstance(v, float) else v for k, v in case.fixed.items()}
            forward, backward = pair(module, spec.name, **fixed)
            inputs = tree.map_tree(lambda x: x.astype(np.float32), case.inputs)
            for x in (*arrays(inputs), *arrays(fixed)):
                x.flags.writeable = False
            out, cache = forward(*inputs.values())
            dOut = np.asarray(normal(*out.shape).astype(np.float32))
            dOut.flags.writeable = False
            first, second = arrays(backward(dOut, cache)), arrays(backward(dOut, cache))
            assert all(x.dtype == np.float32 for x in (out, *first)), "float32 became float64"
            assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


# loss


def torch_has_the_same_cross_entropy(module):
    worst = 0.0
    for smoothing in (0.0, 0.1, 0.5):
        for ignore in (-100, 3):
            logits, targets = normal(4, 6, 7, seed=1), np.random.default_rng(0).integers(0, 7, (4, 6))
            targets[1, 2:] = ignore
            L, cache = module.cross_entropy_forward(logits, targets, smoothing, ignore)
            x = torch.tensor(logits, requires_grad=True)
            loss = torch.nn.CrossEntropyLoss(label_smoothing=smoothing, ignore_index=ignore)
            y = loss(x.reshape(-1, 7), torch.tensor(targets).reshape(-1))
            y.backward()
            worst = max(worst, near(L, y.detach(), "loss"),
                        near(module.cross_entropy_backward(1.0, cache), x.grad, "gradient"))
    return worst


def ignored_tokens_have_no_say(module):
    logits, targets = normal(5, 7), np.array([1, -1, 3, -1, 6])
    L, cache = module.cross_entropy_forward(logits, targets, 0.1, -1)
    G = module.cross_entropy_backward(1.0, cache)
    assert not G[targets == -1].any() and G[targets != -1].all()
    kept = module.cross_entropy_forward(logits[targets != -1], targets[targets != -1], 0.1)[0]
    near(L, kept, "loss with and without ignored tokens")
    assert np.abs(G.sum(axis=-1)).max() < 1e-15, "p and q both sum to one"
    L2 = module.cross_entropy_forward(logits, np.abs(targets), 0.1, weights=(targets != -1).astype(float))[0]
    near(L, L2, "weights of 0 and 1, and ignored tokens")
    raises(ValueError, "0 of 5 tokens count", lambda: module.cross_entropy_forward(logits, 0 * targets, 0.0, 0))
    raises(ValueError, "targets holds -1", lambda: module.cross_entropy_forward(logits, targets))
    raises(ValueError, "targets holds 7", lambda: module.cross_entropy_forward(logits, targets + 1, ignore_index=0))


def loss_is_finite_for_any_logits(module):
    logits = np.array([[1e4, 0.0, -1e4], [-1e4, 0.0, 1e4]])
    L, cache = module.cross_entropy_forward(logits, np.array([2, 2]))
    near(L, 1e4, "loss")
    assert np.isfinite(module.cross_entropy_backward(1.0, cache)).all()


def smoothing_has_a_finite_optimum(module):
    """ln((1 − ε)(V − 1)/ε + 1): the gap between right and wrong logits where the gradient vanishes."""
    V, eps = 10, 0.1
    gap = math.log((1 - eps + eps / V) / (eps / V))
    logits = np.zeros((1, V))
    logits[0, 3] = gap
    G = module.cross_entropy_backward(1.0, module.cross_entropy_forward(logits, np.array([3]), eps)[1])
    assert np.abs(G).max() < 1e-15
    return gap


def perplexity_of_a_uniform_guess(module):
    L = module.cross_entropy_forward(np.zeros((3, 8)), np.array([1, 2, 7]))[0]
    near(module.perplexity(L), 8, "perplexity")
    near(module.bits(L), 3, "bits")
    near(module.bits(L, 0.25), 0.75, "bits a character")
    assert module.perplexity(1e6) == math.inf


# optim

SHAPES = {"block": {"W": (4, 3), "b": (3,)}, "gain": (), "embedding": {"E": (5, 2)}, "position": {"table": (3, 2)}}


def random_tree(rng, shapes=SHAPES, dtype=np.float64):
    return {k: random_tree(rng, v, dtype) if isinstance(v, dict) else np.asarray(rng.normal(size=v).astype(dtype))
            for k, v in shapes.items()}


def schedule(t):
    return 0.01 * (1 + math.cos(t / 30))


RUNS = [
    ("sgd_step", {}, torch.optim.SGD, {}),
    ("momentum_step", {"momentum": 0.8}, torch.optim.SGD, {"momentum": 0.8}),
    ("momentum_step", {"momentum": 0.8, "nesterov": True}, torch.optim.SGD, {"momentum": 0.8, "nesterov": True}),
    ("rmsprop_step", {"alpha": 0.9}, torch.optim.RMSprop, {"alpha": 0.9}),
    ("adam_step", {"beta1": 0.8, "beta2": 0.97}, torch.optim.Adam, {"betas": (0.8, 0.97)}),
    ("adam_step", {"eps": 0.1}, torch.optim.Adam, {"eps": 0.1}),
    ("adam_l2_step", {"decay": 0.3}, torch.optim.Adam, {"weight_decay": 0.3}),
    ("adamw_step", {"decay": 0.3}, torch.optim.AdamW, {"weight_decay": 0.3}),
]


def against_torch(module, name, ours, kind, theirs, dtype, mask=False, steps=100):
    """Worst error of any leaf after any of 100 steps, as a share of the leaf's largest value so far."""
    rng = np.random.default_rng(3)
    params = random_tree(rng, dtype=dtype)
    state = module.init_state(params)
    tensors = {k: torch.tensor(x, requires_grad=True) for k, x in tree.flatten(params).items()}
    size = {k: float(np.abs(x).max()) for k, x in tree.flatten(params).items()}
    groups = list(tensors.values())
    if mask:
        marks = module.decay_mask(params)
        flat, ours = tree.flatten(marks), ours | {"mask": marks}
        groups = [{"params": [x for k, x in tensors.items() if flat[k] is on],
                   "weight_decay": theirs["weight_decay"] if on else 0.0} for on in (True, False)]
        assert flat == {"block.W": True, "block.b": False, "gain": False, "embedding.E": False,
                        "position.table": False}
    optimizer = kind(groups, lr=0.1, **theirs)
    step, worst = getattr(module, name), 0.0
    for t in range(1, steps + 1):
        grads = tree.map_tree(lambda p, g: np.asarray((p + 3 * g).astype(dtype)), params, random_tree(rng, dtype=dtype))
        for k, g in tree.flatten(grads).items():
            tensors[k].grad = torch.tensor(g)
        for group in optimizer.param_groups:
            group["lr"] = schedule(t)
        params, state = step(params, grads, state, np.float64(schedule(t)), **ours)
        optimizer.step()
        for k, p in tree.flatten(params).items():
            assert p.dtype == dtype and isinstance(p, np.ndarray)
            size[k] = max(size[k], float(np.abs(p).max()))
            worst = max(worst, relative_error(p, tensors[k].detach().numpy(), size[k]))
    assert state["t"] == steps and all(x.dtype == dtype for n in "mv" for x in tree.flatten(state[n]).values())
    return worst


def torch_takes_the_same_steps(module):
    worst = 0.0
    for run in RUNS:
        worst = max(worst, against_torch(module, *run, np.float64))
    worst = max(worst, against_torch(module, *RUNS[-1], np.float64, mask=True))
    worst = max(worst, against_torch(module, *RUNS[-2], np.float64, mask=True))
    assert worst <= 1e-12, f"{worst:.1e}"
    return worst


def torch_takes_the_same_steps_in_float32(module):
    worst = max(against_torch(module, *run, np.float32) for run in RUNS)
    assert worst <= 1e-6, f"{worst:.1e}"
    return worst


def in_place_is_the_same_to_the_last_bit(module):
    for dtype in (np.float32, np.float64):
        rng = np.random.default_rng(5)
        params = random_tree(rng, dtype=dtype)
        state, mask = module.init_state(params), module.decay_mask(params)
        copy, held = tree.map_tree(np.copy, params), module.init_state(params)
        leaf = copy["block"]["W"]
        for on in (mask, None):
            for _ in range(20):
                grads = random_tree(rng, dtype=dtype)
                for g in arrays(grads):
                    g.flags.writeable = False
                params, state = module.adamw_step(params, grads, state, 0.1, decay=0.2, mask=on)
                assert module.adamw_step_(copy, grads, held, 0.1, decay=0.2, mask=on) is None
        assert copy["block"]["W"] is leaf
        for a, b in zip(arrays({"p": params, "s": state}), arrays({"p": copy, "s": held}), strict=True):
            assert np.array_equal(a, b), "in place differs"


def steps_change_nothing_that_they_were_given(module):
    for name, ours, *_ in RUNS:
        rng = np.random.default_rng(6)
        params, grads = random_tree(rng), random_tree(rng)
        state = module.init_state(params)
        for x in arrays({"p": params, "g": grads, "s": state}):
            x.flags.writeable = False
        again = [getattr(module, name)(params, grads, state, 0.1, **ours)[0] for _ in range(2)]
        for a, b in zip(arrays(again[0]), arrays(again[1]), strict=True):
            assert np.array_equal(a, b)


def first_step_of_adam_is_the_rate(module):
    """Whatever the gradient: lr · g / (|g| + ε). With ε inside the root, g = 10⁻⁶ would move by a hundredth of lr."""
    worst = 0.0
    for g in (1e-6, 1.0, 1e6):
        params, grads = {"x": np.array([2.0])}, {"x": np.array([g])}
        moved, _ = module.adam_step(params, grads, module.init_state(params), 0.1)
        worst = max(worst, near(params["x"] - moved["x"], [0.1 * g / (g + 1e-8)], "first step", 1e-9))
    params, grads = {"x": np.array([2.0])}, {"x": np.array([1e-6])}
    moved, _ = module.adam_step(params, grads, module.init_state(params), 1.0)
    near((params["x"] - moved["x"]), [0.990099], "share of lr at g = 1e-6", 1e-6)
    return worst


def adam_does_not_see_the_scale_of_gradients(module):
    rng = np.random.default_rng(8)
    params = random_tree(rng)
    a = b = params
    sa = sb = module.init_state(params)
    for _ in range(10):
        grads = random_tree(rng)
        a, sa = module.adam_step(a, grads, sa, 0.1, eps=0.0)
        b, sb = module.adam_step(b, tree.map_tree(lambda g: np.asarray(g * 64.0), grads), sb, 0.1, eps=0.0)
    return max(near(x, y, "leaves") for x, y in zip(arrays(a), arrays(b), strict=True))


def decoupled_decay_is_not_l2(module):
    """With no gradient AdamW shrinks θ by 1 − lr λ; Adam with L2 walks a full step, whatever λ."""
    params = {"W": np.array([[4.0, -8.0]])}
    zero, state = {"W": np.zeros((1, 2))}, module.init_state(params)
    near(module.adamw_step(params, zero, state, 0.1, decay=0.5)[0]["W"], [[3.8, -7.6]], "AdamW")
    near(module.adam_l2_step(params, zero, state, 0.1, decay=0.5)[0]["W"], [[3.9, -7.9]], "L2", 1e-8)


def clipping_keeps_the_direction(module):
    grads = {"a": {"W": normal(3, 4)}, "b": 5 * normal(2)}
    clipped, norm = module.clip_by_global_norm(grads, 1.5)
    flat = np.concatenate([x.ravel() for x in arrays(grads)])
    near(norm, np.linalg.norm(flat), "norm")
    cut = np.concatenate([x.ravel() for x in arrays(clipped)])
    near(np.linalg.norm(cut), 1.5, "norm after")
    near(cut / 1.5, flat / norm, "direction")
    assert module.clip_by_global_norm(grads, norm + 1)[0] is grads
    tensors = [torch.tensor(x, requires_grad=True) for x in arrays(grads)]
    for x in tensors:
        x.grad = x.detach().clone()
    near(norm, torch.nn.utils.clip_grad_norm_(tensors, 1.5), "torch's norm")
    near(cut, np.concatenate([x.grad.numpy().ravel() for x in tensors]), "torch's gradients", 1e-6)  # it adds 1e-6
    huge = {"W": np.full((2, 2), 1e30, np.float32)}
    small, norm = module.clip_by_global_norm(huge, 1.0)
    near(norm, 2e30, "norm beyond the squares of float32", 1e-6)
    assert small["W"].dtype == np.float32
    raises(ValueError, "grads.W holds nan", lambda: module.clip_by_global_norm({"W": np.array([np.nan])}, 1.0))


def schedules_by_known_values(module):
    worst = near([module.warmup_linear(t, 2.0, 4, 12) for t in (1, 2, 4, 6, 8, 12, 99)],
                 [0.5, 1, 2, 1.5, 1, 0, 0], "linear")
    worst = max(worst, near([module.warmup_cosine(t, 2.0, 4, 12, 1.0) for t in (1, 4, 6, 8, 12, 99)],
                            [0.5, 2, 1 + (1 + math.sqrt(0.5)) / 2, 1.5, 1, 1], "cosine"))
    near([module.constant(t, 2.0, w) for t, w in ((1, 0), (9, 0), (1, 4), (4, 4), (5, 4))], [2, 2, 0.5, 2, 2], "const")
    near([module.warmup_inverse_sqrt(t, 16, 4, 3.0) for t in (1, 4, 16)], [3 / 32, 3 / 8, 3 / 16], "Noam")
    top = max(range(1, 9000), key=lambda t: module.warmup_inverse_sqrt(t, 512))
    assert top == 4000
    x = torch.nn.Parameter(torch.zeros(1))  # torch's own, which counts from 0 and starts its cosine at the peak
    optimizer = torch.optim.SGD([x], lr=2.0)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=8, eta_min=0.5)
    for t in range(9):
        worst = max(worst, near(module.warmup_cosine(4 + t, 2.0, 4, 12, 0.5), optimizer.param_groups[0]["lr"], "torch"))
        optimizer.step()
        cosine.step()
    raises(ValueError, "step is 0", lambda: module.warmup_linear(0, 1.0, 2, 4))
    raises(ValueError, "total is 4", lambda: module.warmup_linear(1, 1.0, 4, 4))
    return worst


def state_survives_the_disk(module):
    """Ten steps at once, and five, a file, and five more."""
    def run(params, state, steps):
        for t in steps:
            params, state = module.adamw_step(params, random_tree(np.random.default_rng(t)), state, 0.1)
        return params, state
    params = random_tree(np.random.default_rng(9))
    once, _ = run(params, module.init_state(params), range(10))
    half, state = run(params, module.init_state(params), range(5))
    with tempfile.TemporaryDirectory() as folder:
        tree.save_safetensors(state, Path(folder) / "state")
        loaded = tree.load_safetensors(Path(folder) / "state")
    loaded = {k: tree.map_tree(lambda x, y: x.reshape(y.shape), loaded[k], state[k]) if k in "mv" else loaded[k]
              for k in loaded}
    twice, _ = run(half, loaded, range(5, 10))
    assert all(np.array_equal(a, b) for a, b in zip(arrays(once), arrays(twice), strict=True))


def wrong_trees_are_refused(module):
    params = {"W": np.ones((2, 3)), "b": np.ones(3)}
    state = module.init_state(params)
    for grads, error, what in (
        ({"W": np.ones((2, 3))}, ValueError, "grads has W but params has W, b"),
        ({"W": np.ones((1, 3)), "b": np.ones(3)}, ValueError, r"W of grads has shape \(1, 3\), expected \(2, 3\)"),
        ({"W": np.ones((2, 3)), "b": np.ones(3, np.float32)}, TypeError, "b of grads has dtype float32"),
        ({"W": np.ones((2, 3)), "b": np.array([0, np.nan, 0])}, ValueError, "grads.b holds nan"),
    ):
        for name in ("sgd_step", "momentum_step", "rmsprop_step", "adam_step", "adamw_step", "adamw_step_"):
            raises(error, what, lambda g=grads, n=name: getattr(module, n)(params, g, state, 0.1))
    raises(ValueError, "expected t, m, v", lambda: module.adam_step(params, params, {}, 0.1))
    raises(ValueError, "beta1 is 1", lambda: module.adam_step(params, params, state, 0.1, beta1=1.0))
    raises(ValueError, "lr is -0.1, expected at least 0", lambda: module.sgd_step(params, params, state, -0.1))


def torch_half_decays_the_same_leaves(module):
    """pt: two groups, one schedule, the same twenty steps of AdamW as in NumPy, from the same gradients."""
    from byhand.np import optim
    from byhand.pt.embedding import Embedding
    from byhand.pt.linear import Linear
    from byhand.pt.norm import LayerNorm

    net = torch.nn.ModuleDict({"embedding": Embedding(5, 4), "norm": LayerNorm(4), "out": Linear(4, 3)}).double()
    optimizer = module.adamw(net, decay=0.3)
    assert [sorted(tuple(p.shape) for p in g["params"]) for g in optimizer.param_groups] == [
        [(4, 3)], [(3,), (4,), (4,), (5, 4)]] and [g["weight_decay"] for g in optimizer.param_groups] == [0.3, 0.0]
    params = tree.from_torch(net)
    state, mask = optim.init_state(params), optim.decay_mask(params)
    rng, worst = np.random.default_rng(0), 0.0
    for t in range(1, 21):
        grads = tree.map_tree(lambda x: 3 * rng.normal(size=x.shape), params)
        for name, p in net.named_parameters():
            p.grad = torch.tensor(tree.flatten(grads)[name])
        lr = module.warmup_cosine(t, 0.1, 5, 20)
        module.set_lr(optimizer, lr)
        norm = module.clip_by_global_norm(net, 2.0)
        optimizer.step()
        clipped, ours = optim.clip_by_global_norm(grads, 2.0)
        near(norm, ours, "norms")
        params, state = optim.adamw_step(params, clipped, state, lr, decay=0.3, mask=mask)
        for name, p in tree.flatten(tree.from_torch(net)).items():
            worst = max(worst, relative_error(p, tree.flatten(params)[name]))
    assert worst <= 1e-6, f"{worst:.1e}"  # torch clips by norm + 1e-6
    return worst


# embedding


def tied_gradient_is_the_sum_of_two(module):
    """One E to read and to score: its slope is the sum of both hand gradients, and neither alone."""
    E, ids, targets = normal(6, 4), np.array([[0, 2, 2], [5, 0, 1]]), np.array([[1, 2, 4], [0, 0, 3]])
    from byhand.np.loss import cross_entropy_backward, cross_entropy_forward

    def run(E):
        X, read = module.embedding_forward(E, ids, 2.0)
        logits, score = module.unembed_forward(np.tanh(X), E)
        L, loss = cross_entropy_forward(logits, targets)
        return L, (X, read, score, loss)
    L, (X, read, score, loss) = run(E)
    dT, above = module.unembed_backward(cross_entropy_backward(1.0, loss), score)
    below = module.embedding_backward(dT * (1 - np.tanh(X) ** 2), read)
    by_slope = numerical_gradient(lambda E: run(E)[0], E)
    error = near(above + below, by_slope, "tied gradient", 1e-7)
    assert relative_error(above, by_slope) > 0.1 and relative_error(below, by_slope) > 0.1
    t = torch.tensor(E, requires_grad=True)
    F.cross_entropy((torch.tanh(2 * F.embedding(torch.tensor(ids), t)) @ t.T).reshape(-1, 6),
                    torch.tensor(targets).reshape(-1)).backward()
    near(above + below, t.grad, "tied gradient and torch's")
    return error


def torch_has_the_same_embedding(module):
    E, ids, dX = normal(6, 4), np.array([[0, 2, 2], [5, 0, 2]]), normal(2, 3, 4)
    X, cache = module.embedding_forward(E, ids, 1.5)
    e = torch.nn.Embedding.from_pretrained(torch.tensor(E), freeze=False)
    y = 1.5 * e(torch.tensor(ids))
    y.backward(torch.tensor(dX))
    return max(near(X, y.detach(), "embedding"), near(module.embedding_backward(dX, cache), e.weight.grad, "dE"))


def cosine_is_blind_to_length(module):
    U, V = normal(4, 6), normal(5, 6)
    S = module.cosine_similarity(U, V)
    near(S, module.cosine_similarity(3 * U, V / 7), "cosine of U and 3U")
    near(np.diag(module.cosine_similarity(U, 2 * U)), np.ones(4), "cosine of u and 2u")
    near(np.diag(module.cosine_similarity(U, -U)), -np.ones(4), "cosine of u and −u")
    assert (np.abs(S) <= 1 + 1e-12).all()
    return near(S, F.cosine_similarity(torch.tensor(U)[:, None], torch.tensor(V)[None], dim=-1), "torch's cosine")


def nearest_finds_the_planted(module):
    vectors = normal(9, 5)
    query = 10 * vectors[7] + 0.01 * normal(5)
    order = module.nearest(vectors, query, 9)
    assert order[0] == 7 and sorted(order) == list(range(9))
    assert 7 not in module.nearest(vectors, query, 8, exclude=[7])
    assert list(module.nearest(vectors, query, 3, exclude=[7])) == list(order[1:4])
    assert list(module.nearest(np.ones((4, 2)), np.ones(2), 3)) == [0, 1, 2]
    raises(ValueError, "k is 9, expected at most the 8 rows", lambda: module.nearest(vectors, query, 9, [7]))


def skip_gram_starts_at_one_half(module):
    """W_out = 0: every probability is ½, so L = (1 + k) ln 2; large scores leave L and its gradient finite."""
    params = module.init_sgns(np.random.default_rng(0), 5, 4, np.float64)
    ids = np.array([0, 1]), np.array([2, 3]), np.array([[1, 4, 4], [0, 2, 2]])
    error = near(module.sgns_forward(*params.values(), *ids)[0], 4 * math.log(2), "loss at the start")
    L, cache = module.sgns_forward(100 * normal(5, 4), 100 * normal(5, 4, seed=1), *ids)
    assert np.isfinite(L) and all(np.isfinite(g).all() for g in module.sgns_backward(1.0, cache))
    return error


def patches_are_a_strided_convolution(module):
    worst = 0.0
    for (*lead, h, w, c), p in IMAGES[1:]:
        images, W, b = normal(*lead, h, w, c), normal(p * p * c, 5), normal(5)
        x = torch.tensor(images, requires_grad=True)
        kernel = torch.tensor(W).reshape(p, p, c, 5).permute(3, 2, 0, 1).requires_grad_()
        y = F.conv2d(x.reshape(-1, h, w, c).permute(0, 3, 1, 2), kernel, torch.tensor(b), stride=p).flatten(2).mT
        X, cache = module.patch_embedding_forward(images, W, b, p)
        dX = normal(*X.shape, seed=1)
        y.backward(torch.tensor(dX).reshape(y.shape))
        dimages, dW, _ = module.patch_embedding_backward(dX, cache)
        worst = max(worst, near(X, y.detach().reshape(X.shape), "tokens"), near(dimages, x.grad, "dimages"),
                    near(dW, kernel.grad.permute(2, 3, 1, 0).reshape(W.shape), "dW"))
        assert np.array_equal(module.unpatchify(module.patchify(images, p), p, h, w), images)
    raises(ValueError, "width of images is 6, expected a multiple of 4",
           lambda: module.patchify(normal(4, 6, 3), 4))
    return worst


def embedding_init(module):
    E = module.init_embedding(np.random.default_rng(0), 3000, 512)["E"]
    assert E.dtype == np.float32 and abs(E.std() - 1 / math.sqrt(512)) < 1e-3
    both = module.init_sgns(np.random.default_rng(0), 300, 50)
    assert both["W_in"].dtype == np.float32 and not both["W_out"].any() and np.abs(both["W_in"]).max() <= 0.01
    return float(np.sqrt((E * E).mean()))


# recurrent


def torch_has_the_same_rnn(module):
    X, params, h0 = normal(2, 6, 3), {"W_x": normal(3, 4), "W_h": normal(4, 4), "b": normal(4)}, normal(2, 4)
    H, cache = module.rnn_forward(X, params, h0)
    net = torch.nn.RNN(3, 4, batch_first=True).double()
    with torch.no_grad():
        net.weight_ih_l0.copy_(torch.tensor(params["W_x"].T))
        net.weight_hh_l0.copy_(torch.tensor(params["W_h"].T))
        net.bias_ih_l0.copy_(torch.tensor(params["b"]))
        net.bias_hh_l0.zero_()
    x, first = torch.tensor(X, requires_grad=True), torch.tensor(h0[None], requires_grad=True)
    y, _ = net(x, first)
    dH = normal(2, 6, 4, seed=1)
    y.backward(torch.tensor(dH))
    dX, grads, dh0 = module.rnn_backward(dH, cache)
    return max(near(H, y.detach(), "H"), near(dX, x.grad, "dX"), near(dh0, first.grad[0], "dh0"),
               near(grads["W_x"], net.weight_ih_l0.grad.T, "dW_x"), near(grads["W_h"], net.weight_hh_l0.grad.T, "dW_h"),
               near(grads["b"], net.bias_ih_l0.grad, "db"))


def rnn_goes_on_where_it_stopped(module):
    X, params = normal(2, 7, 3), {"W_x": normal(3, 4), "W_h": normal(4, 4), "b": normal(4)}
    whole = module.rnn_forward(X, params)[0]
    first = module.rnn_forward(X[:, :3], params)[0]
    rest = module.rnn_forward(X[:, 3:], params, first[:, -1])[0]
    changed = X.copy()
    changed[:, 4:] = 0
    assert np.array_equal(module.rnn_forward(changed, params)[0][:, :4], whole[:, :4]), "the future leaks"
    return near(np.concatenate([first, rest], axis=1), whole, "two halves and one run")


def jacobian_is_what_backward_applies(module):
    """A gradient at the last state alone, sent back to the first: dh_1 = dh_T Jᵀ; with H = 0, J is a power."""
    X, params = normal(6, 3), {"W_x": normal(3, 4), "W_h": normal(4, 4), "b": normal(4)}
    H, _ = module.rnn_forward(X, params)
    J = module.rnn_jacobian(H, params["W_h"])
    _, cache = module.rnn_forward(X[1:], params, H[0])
    dH = np.zeros((5, 4))
    rows = []
    for j in range(4):
        dH[-1] = np.eye(4)[j]
        rows.append(module.rnn_backward(dH, cache)[2])
    error = near(np.stack(rows, axis=1), J, "rows of dh0 and the Jacobian")
    W = params["W_h"]
    near(module.rnn_jacobian(np.zeros((4, 4)), W), W @ W @ W, "linear recurrence")
    assert np.array_equal(module.rnn_jacobian(H[:1], W), np.eye(4))
    return error


def torch_has_the_same_conv(module):
    worst = 0.0
    for k, dilation in ((3, 1), (4, 1), (2, 3), (5, 2)):
        X, W, b = normal(2, 8, 3), normal(k, 3, 4), normal(4)
        Y, _ = module.conv1d_forward(X, W, b, dilation)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch says that it pads an even kernel by copying
            y = F.conv1d(torch.tensor(X).mT, torch.tensor(W).permute(2, 1, 0), torch.tensor(b), padding="same",
                         dilation=dilation).mT
        worst = max(worst, near(Y, y, "same padding"))
    return worst


def causal_conv_sees_the_past_alone(module):
    """Exactly its receptive field: a change of token t moves t, …, t + reach, by the dilation, and nothing else."""
    X, n = normal(2, 16, 3), 16
    for k, dilation in ((3, 1), (2, 4), (3, 2)):
        W, b = normal(k, 3, 4), normal(4)
        changed = X.copy()
        changed[:, 5] += 1
        for causal, offsets in ((True, range(k)), (False, range(-((k - 1) * dilation - (k - 1) * dilation // 2), 0))):
            moved = module.conv1d_forward(changed, W, b, dilation, causal)[0] != module.conv1d_forward(
                X, W, b, dilation, causal)[0]
            seen = {int(t) for t in np.argwhere(moved)[:, 1]}
            if causal:
                assert seen == {5 + j * dilation for j in offsets}, seen
            else:
                left = (k - 1) * dilation // 2
                assert seen == {5 + left - j * dilation for j in range(k)}, seen
    assert module.receptive_field(3, [1, 2, 4, 8]) == 31 and module.receptive_field(1, [5]) == 1
    Y = X
    for dilation in (1, 2, 4):  # a stack of kernel 2 sees 8 inputs
        Y = module.conv1d_forward(Y, normal(2, 3, 3), None, dilation, True)[0]
    changed = X.copy()
    changed[:, 0] += 1
    Z = changed
    for dilation in (1, 2, 4):
        Z = module.conv1d_forward(Z, normal(2, 3, 3), None, dilation, True)[0]
    seen = np.argwhere((Z != Y).any(axis=(0, 2)))[:, 0]
    assert seen.max() + 1 == module.receptive_field(2, (1, 2, 4)) and n == 16


def recurrent_init(module):
    params = module.init_rnn(np.random.default_rng(0), 300, 400)
    radius = np.abs(np.linalg.eigvals(params["W_h"])).max()
    assert abs(radius - 1) < 0.1 and abs(params["W_x"].std() * math.sqrt(300) - 1) < 0.02 and not params["b"].any()
    conv = module.init_conv1d(np.random.default_rng(0), 3, 50, 60)
    assert abs(conv["W"].std() * math.sqrt(150) - 1) < 0.03 and conv["W"].dtype == params["W_h"].dtype == np.float32
    return float(radius)


def gated_layers_take_any_leading_axes(module):
    worst = 0.0
    for kind, theirs in ((module.GRU, torch.nn.GRU), (module.LSTM, torch.nn.LSTM)):
        net = kind(3, 5, 2).double()
        X = torch.tensor(normal(2, 4, 6, 3))
        H = net(X)
        assert H.shape == (2, 4, 6, 5)
        ref = theirs(3, 5, 2, batch_first=True).double()
        ref.load_state_dict(net.net.state_dict())
        worst = max(worst, near(H[1].detach(), ref(X[1])[0].detach(), "gated layer"))
        near(net(X[0, 0]).detach(), H[0, 0].detach(), "one sequence")
    return worst


def torch_modules_hold_the_same_parameters(module):
    from byhand.np import recurrent as r
    rng, worst = np.random.default_rng(0), 0.0
    for net, params, f in (
        (module.RNN(3, 4), r.init_rnn(rng, 3, 4, np.float64), r.rnn_forward),
        (module.Conv1d(3, 3, 4, 2, True), r.init_conv1d(rng, 3, 3, 4, np.float64),
         lambda X, p: r.conv1d_forward(X, p["W"], p["b"], 2, True)),
    ):
        net.double().load_state_dict(tree.to_torch(params))
        X = normal(2, 6, 3)
        worst = max(worst, near(f(X, params)[0], net(torch.tensor(X)).detach(), "module"))
    return worst


def torch_embedding_modules(module):
    from byhand.np import embedding as e
    from byhand.np.linear import init_linear
    rng = np.random.default_rng(0)
    net, params = module.Embedding(5, 4, 2.0).double(), e.init_embedding(rng, 5, 4, np.float64)
    net.load_state_dict(tree.to_torch(params))
    ids = np.array([[0, 4, 4]])
    X = net(torch.tensor(ids))
    worst = near(X.detach(), e.embedding_forward(params["E"], ids, 2.0)[0], "Embedding")
    worst = max(worst, near(net.unembed(X).detach(), e.unembed_forward(X.detach().numpy(), params["E"])[0], "unembed"))
    net, params = module.PatchEmbedding(2, 3, 5).double(), init_linear(rng, 12, 5, np.float64)
    net.load_state_dict(tree.to_torch(params))
    images = normal(2, 4, 6, 3)
    return max(worst, near(net(torch.tensor(images)).detach(),
                           e.patch_embedding_forward(images, params["W"], params["b"], 2)[0], "PatchEmbedding"))


def nothing_is_ignored_unasked(module):
    """torch leaves out targets of −100 by itself; here only when told to."""
    raises(IndexError, "-100", lambda: module.cross_entropy(torch.zeros(2, 3), torch.tensor([0, -100])))


INVARIANTS = {
    "np.loss": [float32_stays_and_inputs_are_left_alone, torch_has_the_same_cross_entropy, ignored_tokens_have_no_say,
                loss_is_finite_for_any_logits, smoothing_has_a_finite_optimum, perplexity_of_a_uniform_guess],
    "np.optim": [torch_takes_the_same_steps, torch_takes_the_same_steps_in_float32,
                 in_place_is_the_same_to_the_last_bit, steps_change_nothing_that_they_were_given,
                 first_step_of_adam_is_the_rate, adam_does_not_see_the_scale_of_gradients, decoupled_decay_is_not_l2,
                 clipping_keeps_the_direction, schedules_by_known_values, state_survives_the_disk,
                 wrong_trees_are_refused],
    "np.embedding": [float32_stays_and_inputs_are_left_alone, tied_gradient_is_the_sum_of_two,
                     torch_has_the_same_embedding, cosine_is_blind_to_length, nearest_finds_the_planted,
                     skip_gram_starts_at_one_half, patches_are_a_strided_convolution, embedding_init],
    "np.recurrent": [float32_stays_and_inputs_are_left_alone, torch_has_the_same_rnn, rnn_goes_on_where_it_stopped,
                     jacobian_is_what_backward_applies, torch_has_the_same_conv, causal_conv_sees_the_past_alone,
                     recurrent_init],
    "pt.loss": [nothing_is_ignored_unasked],
    "pt.optim": [torch_half_decays_the_same_leaves],
    "pt.embedding": [torch_embedding_modules],
    "pt.recurrent": [gated_layers_take_any_leading_axes, torch_modules_hold_the_same_parameters],
}


# Wrong modules: (place, caught by, story, old, new, …)
# ruff: noqa: E501

MUTANTS = [
    # np.loss
    ("np.loss", "slope twin invariant", "gradient not divided by the number of tokens",
     "float(dL) * share[..., None] * (A - Q)", "float(dL) * (share > 0)[..., None].astype(A.dtype) * (A - Q)"),
    ("np.loss", "slope twin", "upstream forgotten", "float(dL) * share[..., None] * (A - Q)", "share[..., None] * (A - Q)"),
    ("np.loss", "slope twin invariant", "ignored tokens still get a gradient",
     "float(dL) * share[..., None] * (A - Q)", "float(dL) / share.size * (A - Q)"),
    ("np.loss", "twin invariant", "mean over all tokens, ignored ones included", "total = w.sum()\n",
     "total = w.sum()\n    total = total and total.dtype.type(w.size)\n"),
    ("np.loss", "slope twin invariant", "ε spread over the other words in the loss, over all in the gradient",
     "smoothing * Y.mean(axis=-1)", "smoothing * (Y.sum(axis=-1) - at_target) / (V - 1)"),
    ("np.loss", "twin invariant", "ε spread over the other words alone",
     "smoothing * Y.mean(axis=-1)", "smoothing * (Y.sum(axis=-1) - at_target) / (V - 1)",
     "rest = smoothing / A.shape[-1]", "rest = smoothing / (A.shape[-1] - 1)", "1 - smoothing + rest", "1 - smoothing"),
    ("np.loss", "slope twin invariant", "smoothing forgotten in the backward",
     "rest = smoothing / A.shape[-1]", "rest, smoothing = 0.0, 0.0"),
    ("np.loss", "invariant", "log of the softmax: infinite where it rounds to 0",
     "Y, inner = log_softmax_forward(logits)", "_, inner = log_softmax_forward(logits)\n    Y = np.log(inner.A)"),
    ("np.loss", "invariant", "the mean of nothing is NaN", "if not total > 0:", "if False:"),
    ("np.loss", "slope twin invariant", "nothing to leave out: PAD counts as a word",
     "counted = np.asarray(targets != ignore_index)", "counted = np.asarray(targets == targets)"),
    ("np.loss", "invariant", "perplexity in base two", "math.exp(loss) if", "2.0**loss if"),
    ("np.loss", "invariant", "a NumPy smoothing makes float64", "smoothing, share, targets = float(smoothing),",
     "smoothing, share, targets = np.float64(smoothing),"),
    # np.optim
    ("np.optim", "invariant", "ε inside the root", "p - lr * (m / c1 / (np.sqrt(v / c2) + eps))",
     "p - lr * (m / c1 / np.sqrt(v / c2 + eps))"),
    ("np.optim", "invariant", "no bias correction", "p - lr * (m / c1 / (np.sqrt(v / c2) + eps))",
     "p - lr * (m / (np.sqrt(v) + eps))"),
    ("np.optim", "invariant", "1 − β₁ in v", "v = _map(lambda v, g: beta2 * v + (1 - beta2) * (g * g), state[\"v\"], grads)",
     "v = _map(lambda v, g: beta2 * v + (1 - beta1) * (g * g), state[\"v\"], grads)"),
    ("np.optim", "invariant", "t one step ahead",
     "c1, c2 = 1 - beta1 ** t.item(), 1 - beta2 ** t.item()\n    m =",
     "c1, c2 = 1 - beta1 ** (t.item() + 1), 1 - beta2 ** (t.item() + 1)\n    m ="),
    ("np.optim", "invariant", "AdamW as L2: decay added to the gradient",
     "moved, state = adam_step(params, grads, state, lr, beta1, beta2, eps)\n    pull = rate * decay",
     "return adam_l2_step(params, grads, state, lr, beta1, beta2, eps, decay, mask)"),
    ("np.optim", "invariant", "decay not multiplied by the rate", "pull = rate * decay", "pull = decay"),
    ("np.optim", "invariant", "decay of what was already moved", "new - pull * p if on", "new - pull * new if on"),
    ("np.optim", "invariant", "everything decays, whatever the mask",
     "map_tree(lambda p: True, params) if mask is None else mask", "map_tree(lambda p: True, params)"),
    ("np.optim", "invariant", "embeddings decay", " and not set(parts) & set(exempt)", ""),
    ("np.optim", "invariant", "momentum as a mean, dampened by 1 − μ", "mu * m + g, state", "mu * m + (1 - mu) * g, state"),
    ("np.optim", "invariant", "Nesterov without the look ahead", "if nesterov else m", "if False else m"),
    ("np.optim", "invariant", "RMSprop with ε inside the root", "(g / (np.sqrt(v) + eps))", "(g / np.sqrt(v + eps))"),
    ("np.optim", "invariant", "a NumPy rate makes float64", "return [float(x) for x in scalars.values()], np",
     "return list(scalars.values()), np"),
    ("np.optim", "invariant", "in place: gradient written to", "np.multiply(g, g, out=a), out=a)", "np.multiply(g, g, out=g), out=a)"),
    ("np.optim", "invariant", "in place: decay after the step", "        np.multiply(pull, p, out=a)\n        p -= b\n",
     "        p -= b\n        np.multiply(pull, p, out=a)\n"),
    ("np.optim", "invariant", "moments changed in place",
     "m = _map(lambda m, g: beta1 * m + (1 - beta1) * g, state[\"m\"], grads)",
     "m = state[\"m\"]\n    for k, x in flatten(m).items():\n        x *= beta1\n        x += (1 - beta1) * flatten(grads)[k]"),
    ("np.optim", "invariant", "each leaf clipped by its own norm",
     "_map(lambda g: float(limit) / norm * g, grads) if norm > limit",
     "_map(lambda g: g * min(1.0, limit / float(np.linalg.norm(g))), grads) if norm > limit"),
    ("np.optim", "invariant", "squares added up in float32", "np.square(g, dtype=np.float64)", "np.square(g)"),
    ("np.optim", "invariant", "small gradients scaled up to the limit", "grads) if norm > limit else grads)", "grads))"),
    ("np.optim", "invariant", "Noam: warm-up to the power −1/2", "step / warmup / math.sqrt(warmup)", "step / math.sqrt(warmup)"),
    ("np.optim", "invariant", "cosine over the whole run, warm-up not taken off",
     "(step - warmup) / (total - warmup)", "step / total"),
    ("np.optim", "invariant", "cosine comes up again", "shape(min(1.0, (step - warmup) / (total - warmup)))",
     "shape((step - warmup) / (total - warmup))"),
    ("np.optim", "invariant", "gradients of one shape broadcast",
     "guard.trees(where, params=params, grads=grads, m=state[\"m\"], v=state[\"v\"])", "pass"),
    # np.embedding
    ("np.embedding", "slope twin invariant", "scale forgotten in the backward",
     "return cache.scale * gather_backward(dX, cache.gather)", "return gather_backward(dX, cache.gather)"),
    ("np.embedding", "slope twin invariant", "scale squared in the backward",
     "return cache.scale * gather_backward", "return cache.scale * cache.scale * gather_backward"),
    ("np.embedding", "slope twin invariant", "dE averaged over tokens",
     ".mT @ X.reshape(-1, E.shape[1])", ".mT @ X.reshape(-1, E.shape[1]) / (X.size // X.shape[-1] + 1)"),
    ("np.embedding", "slope twin invariant", "tied: scoring sends E nothing", "return dlogits @ E, dE", "return dlogits @ E, 0 * dE"),
    ("np.embedding", "twin invariant", "cosine without the lengths", "return X / np.where(size == 0, 1, size)", "return X"),
    ("np.embedding", "twin invariant", "cosine: lengths over the wrong axis", "axis=-1, keepdims=True)\n        return X",
     "axis=0, keepdims=True)\n        return X"),
    ("np.embedding", "twin invariant", "nearest: worst first", "np.argsort(-similarity", "np.argsort(similarity"),
    ("np.embedding", "twin invariant", "nearest: excluded rows stay", "order = order[~np.isin(order, left_out)]", "pass"),
    ("np.embedding", "slope twin", "skip-gram: drawn words pulled, not pushed",
     "ds = float(dL) / centres.size * sign * -", "ds = float(dL) / centres.size * -"),
    ("np.embedding", "slope twin", "skip-gram: σ(z) for σ(−z)", "-np.exp(-np.logaddexp(0, z))", "-np.exp(-np.logaddexp(0, -z))"),
    ("np.embedding", "slope twin", "skip-gram: gradient not divided by the pairs",
     "float(dL) / centres.size * sign", "float(dL) * sign"),
    ("np.embedding", "twin invariant", "skip-gram: mean over the drawn words too",
     "L = np.logaddexp(0, -z).sum() / centres.size", "L = np.logaddexp(0, -z).sum() / z.size",
     "float(dL) / centres.size * sign", "float(dL) / z.size * sign"),
    ("np.embedding", "slope twin", "skip-gram: a word drawn twice counts once",
     "gather_backward(dw, GatherCache(others, size))", "_once(dw, others, size)",
     "def patchify(", "def _once(dw, ids, size):\n    Z = np.zeros((size, dw.shape[-1]), dw.dtype)\n    Z[ids] += dw\n"
     "    return Z\n\n\ndef patchify("),
    ("np.embedding", "invariant", "skip-gram: log(1 + e^−z) overflows", "np.logaddexp(0, -z).sum()", "np.log(1 + np.exp(-z)).sum()"),
    ("np.embedding", "twin invariant", "patches cut in memory order: rows of the image, not squares",
     "patch, w // patch, patch, c).swapaxes(-4, -3)\n    return grid.reshape(*lead, (h // patch)",
     "patch, w // patch, patch, c)\n    return grid.reshape(*lead, (h // patch)",
     "h // patch, w // patch, patch, patch, c).swapaxes(-4, -3)", "h // patch, patch, w // patch, patch, c)"),
    ("np.embedding", "slope twin invariant", "patches: backward does not undo the swap",
     "h // patch, w // patch, patch, patch, c).swapaxes(-4, -3)", "h // patch, w // patch, patch, patch, c)"),
    ("np.embedding", "twin invariant", "patches column by column",
     "patch, w // patch, patch, c).swapaxes(-4, -3)\n    return grid.reshape(*lead, (h // patch)",
     "patch, w // patch, patch, c).swapaxes(-4, -3).swapaxes(-5, -4)\n    return grid.reshape(*lead, (h // patch)",
     "    grid = patches.reshape(*lead, h // patch, w // patch, patch, patch, c).swapaxes(-4, -3)",
     "    grid = patches.reshape(*lead, w // patch, h // patch, patch, patch, c).swapaxes(-5, -4).swapaxes(-4, -3)"),
    ("np.embedding", "invariant", "init: standard deviation 1/d", "scale=1 / math.sqrt(d), size=(V, d)", "scale=1 / d, size=(V, d)"),
    # np.recurrent
    ("np.recurrent", "slope twin invariant", "gradient cut at every step: no way back through time",
     "dh = da @ W_h.mT", "dh = 0 * da"),
    ("np.recurrent", "slope twin invariant", "W_h not transposed on the way back", "dh = da @ W_h.mT", "dh = da @ W_h"),
    ("np.recurrent", "slope twin invariant", "tanh' forgotten", "(dH[..., t, :] + dh) * (1 - h * h)", "(dH[..., t, :] + dh)"),
    ("np.recurrent", "slope twin invariant", "only the last output sends a gradient",
     "(dH[..., t, :] + dh) *", "((dH[..., t, :] if t == H.shape[-2] - 1 else 0) + dh) *"),
    ("np.recurrent", "slope twin invariant", "dW_h from h_t for h_{t−1}", "LinearCache(before, W_h, False)", "LinearCache(H, W_h, False)"),
    ("np.recurrent", "slope twin invariant", "first state forgotten", "    H, h = np.empty_like(steps), first\n",
     "    H, h = np.empty_like(steps), 0 * first\n"),
    ("np.recurrent", "twin invariant", "jacobian: factors in the wrong order", "(J @ W_h) * (1 - h * h)", "(W_h @ J) * (1 - h * h)"),
    ("np.recurrent", "twin invariant", "jacobian: one factor too many", "for h in H[1:]:", "for h in H:"),
    ("np.recurrent", "twin invariant", "conv: kernel reversed", "dilation + n, :] @ W[j] for j", "dilation + n, :] @ W[-1 - j] for j",
     "dx, dW[j], _ = linear_backward(dY, LinearCache(padded[..., window, :], W[j], False))",
     "dx, dW[-1 - j], _ = linear_backward(dY, LinearCache(padded[..., window, :], W[-1 - j], False))"),
    ("np.recurrent", "twin invariant", "conv: causal ignored", "left = reach if causal else reach // 2", "left = reach // 2"),
    ("np.recurrent", "twin invariant", "conv: one more to the left for an even reach",
     "left = reach if causal else reach // 2", "left = reach if causal else (reach + 1) // 2"),
    ("np.recurrent", "twin invariant", "conv: causal kernel shifted, sees the next token",
     "left = reach if causal else reach // 2", "left = max(reach - 1, 0) if causal else reach // 2"),
    ("np.recurrent", "slope twin", "conv: taps overwrite each other in dX", "dpadded[..., window, :] += dx", "dpadded[..., window, :] = dx"),
    ("np.recurrent", "slope twin", "conv: padding left in dX", "dpadded[..., left:left + n, :]", "dpadded[..., :n, :]"),
    ("np.recurrent", "invariant", "receptive field: kernel for kernel − 1", "1 + (kernel - 1) * sum(dilations)", "1 + kernel * sum(dilations)"),
    ("np.recurrent", "invariant", "init: W_h of standard deviation 1", "scale=1 / math.sqrt(h), size=(h, h)", "scale=1.0, size=(h, h)"),
    # pt
    ("pt.loss", "invariant", "−100 left out unasked", "torch.iinfo(torch.long).min if ignore_index is None", "-100 if ignore_index is None"),
    ("pt.loss", "twin", "mean over all tokens when weighted", "(w * each).sum() / w.sum()", "(w * each).mean()"),
    ("pt.loss", "twin", "weights of ignored tokens in the denominator", "weights.reshape(-1) * (ids != nothing)", "weights.reshape(-1)"),
    ("pt.loss", "twin", "smoothing forgotten when weighted", "label_smoothing=smoothing, reduction", "reduction"),
    ("pt.optim", "invariant", "one group: everything decays", "if mask[name] is on", "if on"),
    ("pt.optim", "invariant", "betas exchanged", "betas=(beta1, beta2)", "betas=(beta2, beta1)"),
    ("pt.optim", "invariant", "rate set in the first group alone", "for group in optimizer.param_groups:", "for group in optimizer.param_groups[:1]:"),
    ("pt.optim", "invariant", "clipped by value", "nn.utils.clip_grad_norm_(module.parameters(), limit)",
     "nn.utils.clip_grad_value_(module.parameters(), limit)"),
    ("pt.embedding", "twin invariant", "scale forgotten", "return scale * F.embedding(ids, E)", "return F.embedding(ids, E)"),
    ("pt.embedding", "twin", "skip-gram: sign of the drawn words", "F.logsigmoid(-drawn)", "F.logsigmoid(drawn)"),
    ("pt.embedding", "twin", "cosine: one side not normalised", "F.normalize(U, dim=-1, eps=tiny) @", "U @"),
    ("pt.embedding", "invariant", "module: not tied", "return unembed(X, self.E)", "return unembed(X, self.E.detach().flip(0))"),
    ("pt.recurrent", "twin invariant", "recurrent weights transposed", 'h @ params["W_h"]', 'h @ params["W_h"].mT'),
    ("pt.recurrent", "twin", "cut from the graph at every step", "        H.append(h)\n", "        H.append(h)\n        h = h.detach()\n"),
    ("pt.recurrent", "twin invariant", "conv: dilation forgotten", "W.permute(2, 1, 0), b, dilation=dilation)", "W.permute(2, 1, 0), b)[..., :X.shape[-2]]"),
    ("pt.recurrent", "invariant", "gated: batch first forgotten", "batch_first=True", "batch_first=False"),
]


def build(place, *edits):
    text = (LIBRARY / (place.replace(".", "/") + ".py")).read_text(encoding="utf-8")
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        if text.count(old) != 1:
            raise ValueError(f"{place}: {old!r} is there {text.count(old)} times, expected once")
        text = text.replace(old, new)
    module = ModuleType(f"byhand.{place}")
    module.__package__ = module.__name__.rpartition(".")[0]
    exec(compile(text, f"<mutant of {place}>", "exec", dont_inherit=True), vars(module))
    return module


def checks(place):
    half, stem = place.split(".")
    real = REAL[stem]

    def at_most(spec, module):
        value = slope(spec, module)
        assert value <= SLOPE, f"{value:.0e}"

    def as_twins(spec, module):
        forward, gradient = twin(spec, *({**real, half: module}[h] for h in ("np", "pt")))
        assert forward <= FORWARD and gradient <= GRADIENT, f"{max(forward, gradient):.0e}"
    for spec in TWINS:
        if spec.stem == stem:
            if half == "np" and differentiable(spec):
                yield "slope", spec.name, partial(at_most, spec)
            yield "twin", spec.name, partial(as_twins, spec)
    for check in INVARIANTS[place]:
        yield "invariant", check.__name__, check


def caught_by(place, *edits):
    module, found = build(place, *edits), []
    for kind, name, check in checks(place):
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
            warnings.simplefilter("error")
            try:
                check(module)
            except (Exception, pytest.fail.Exception):
                found.append((kind, name))
    return found


@pytest.mark.parametrize("spec", [s for s in TWINS if differentiable(s)], ids=lambda s: s.name)
def test_slope(spec):
    assert slope(spec, REAL[spec.stem]["np"]) <= SLOPE


@pytest.mark.parametrize("spec", TWINS, ids=lambda s: s.name)
def test_twin(spec):
    forward, gradient = twin(spec, REAL[spec.stem]["np"], REAL[spec.stem]["pt"])
    assert forward <= FORWARD and gradient <= GRADIENT
    forward, gradient = twin(spec, REAL[spec.stem]["np"], REAL[spec.stem]["pt"], np.float32)
    assert forward <= FORWARD32 and gradient <= GRADIENT32


@pytest.mark.parametrize(("place", "check"), [(p, c) for p, cs in INVARIANTS.items() for c in cs],
                         ids=lambda x: getattr(x, "__name__", x))
def test_invariant(place, check):
    half, stem = place.split(".")
    check(REAL[stem][half])


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: f"{m[0]}: {m[2]}")
def test_mutant(mutant):
    place, caught, story, *edits = mutant
    assert {kind for kind, _ in caught_by(place, *edits)} == set(caught.split()), story


def main():
    warnings.simplefilter("error")
    print(f"{'function':28}{'slope':>9}{'forward':>9}{'gradient':>9}{'fwd32':>9}{'grad32':>9}")
    for spec in TWINS:
        real = REAL[spec.stem]
        cells = [slope(spec, real["np"]) if differentiable(spec) else math.nan, *twin(spec, real["np"], real["pt"]),
                 *twin(spec, real["np"], real["pt"], np.float32)]
        print(f"{spec.stem + '.' + spec.name:28}" + "".join(f"{x:9.1e}" for x in cells))
    for place, found in INVARIANTS.items():
        half, stem = place.split(".")
        for check in found:
            value = check(REAL[stem][half])
            print(f"{place:14}{check.__name__:45}{'holds' if value is None else f'{value:.3g}'}")
    print("optimisers against torch, 100 steps: float64, float32")
    for run in RUNS:
        errors = [against_torch(REAL["optim"]["np"], *run, dtype) for dtype in (np.float64, np.float32)]
        print(f"  {run[0]:16}{str(run[1]):46}" + "".join(f"{e:9.1e}" for e in errors))
    for place, caught, story, *edits in MUTANTS:
        found = caught_by(place, *edits)
        right = {kind for kind, _ in found} == set(caught.split())
        names = ", ".join(" ".join(f) for f in found)
        print(f"{'ok   ' if right else 'WRONG'} {place:13}{story:60}{caught} <- {names}")


if __name__ == "__main__":
    sys.exit(main())
