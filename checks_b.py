"""Checks of position, flash, vision, text: slope, twin, invariants, mutants. `python checks_b.py [fast]` prints maxima.

The tables (Case, Spec, SPECS) have the form of tests/twins.py; an invariant takes the module, so that wrong ones can
be tried; MUTANTS are (place, caught, story, old, new, …).
"""

import importlib
import inspect
import os
import random
import re
import sys
import tempfile
import time
import tracemalloc
import warnings
import zlib
from collections import Counter
from functools import partial
from pathlib import Path
from types import FunctionType, ModuleType
from typing import NamedTuple

import jaxtyping

if "byhand" not in sys.modules:
    jaxtyping.install_import_hook("byhand", "beartype.beartype")

import byhand
import numpy as np
import torch
import torch.nn.functional as F
from byhand import tree
from byhand.np.attention import attention_backward, attention_forward
from byhand.np.gradcheck import gradcheck, relative_error
from byhand.pt.gradcheck import parity

SLOPE, FORWARD, GRADIENT = 1e-7, 1e-12, 1e-10
LIBRARY = Path(byhand.__file__).parent


class Case(NamedTuple):
    label: str
    inputs: dict
    fixed: dict = {}


class Spec(NamedTuple):
    stem: str
    name: str
    cases: object


def cases_of(spec):
    return list(spec.cases(np.random.default_rng(zlib.crc32(spec.name.encode()))))


def pair_of(module, name, **fixed):
    forward, back = (getattr(module, f"{name}_{way}") for way in ("forward", "backward"))
    return partial(forward, **fixed), back


def differentiable(module, name):
    return hasattr(module, f"{name}_backward")


def slope(spec, module):
    rng, worst = np.random.default_rng(1), 0.0
    for case in cases_of(spec):
        worst = max(worst, *gradcheck(*pair_of(module, spec.name, **case.fixed), case.inputs, rng).values())
    return worst


def twin(spec, module, pt_module, dtype=np.float64):
    rng, forward, gradient = np.random.default_rng(2), 0.0, 0.0
    f = getattr(pt_module, spec.name)
    for case in cases_of(spec):
        inputs = tree.map_tree(lambda x: x.astype(dtype) if x.dtype.kind == "f" else x, case.inputs)
        fixed = {k: torch.tensor(v) if isinstance(v, np.ndarray) else v for k, v in case.fixed.items()}
        if differentiable(module, spec.name):
            errors = parity(*pair_of(module, spec.name, **case.fixed), partial(f, **fixed), inputs, rng)
            forward = max(forward, errors.pop("forward"))
            gradient = max(gradient, *errors.values())
        else:
            mine = np.asarray(getattr(module, spec.name)(*inputs.values(), **case.fixed))
            theirs = f(*tree.to_torch(inputs).values(), **fixed).numpy()
            assert mine.dtype == theirs.dtype, f"{spec.name}: {mine.dtype} against {theirs.dtype}"
            forward = max(forward, relative_error(mine.astype(float), theirs.astype(float)))
    return forward, gradient


LEAD = {2: (), 3: (2,), 4: (3, 2)}


# ---------------------------------------------------------------- cases

def fixed_cases(*settings):
    def cases(rng):
        for fixed in settings:
            yield Case(str(fixed), {}, fixed)
    return cases


def positions_cases(width):
    def cases(rng):
        for rank, lead in LEAD.items():
            yield Case(f"rank {rank}", {"X": rng.normal(size=(*lead, 5, 4)), "P": rng.normal(size=(5, width))})
    return cases


def learned_cases(rng):
    for n, offset in ((7, 0), (3, 0), (3, 2), (1, 6)):
        yield Case(f"{n} from {offset}", {"table": rng.normal(size=(7, 4))}, {"n": n, "offset": offset})


def relative_cases(rng):
    for reach, fixed in ((2, {"n": 5}), (1, {"n": 6, "m": 4}), (4, {"n": 3}), (2, {"n": 3, "offset": 4}),
                         (3, {"n": 2, "m": 7, "offset": 1}), (0, {"n": 4})):
        yield Case(f"reach {reach}, {fixed}", {"table": rng.normal(size=(3, 2 * reach + 1))}, fixed)


def rope_cases(rng):
    for rank, lead in LEAD.items():
        for interleaved in (True, False):
            X = {"X": rng.normal(size=(*lead, 5, 6))}
            yield Case(f"rank {rank}, {interleaved}", X, {"offset": rank, "interleaved": interleaved, "base": 100.0})
            yield Case("given", X, {"positions": np.array([3, 0, 1, 1, 9]), "interleaved": interleaved})
    each = rng.integers(0, 50, size=(3, 1, 5))
    yield Case("each sequence its own", {"X": rng.normal(size=(3, 2, 5, 6))}, {"positions": each})


def mask_of(kind, rng, lead, n, m):
    if kind == "none":
        return None
    if kind == "padding":
        real = np.arange(m) < (m - 1 - np.arange(lead[0]))[:, None]
        return real.reshape(lead[0], *(1,) * len(lead), m)
    mask = rng.random((n, m) if kind == "shared" else (*lead, n, m)) < 0.5
    mask[..., 0, :] = False
    mask[..., 1, -1] = True
    return mask


def flash_cases(rng):
    settings = [(2, "none", 5, 7, False, 2), (2, "shared", 5, 7, False, 3), (3, "random", 5, 7, False, 4),
                (3, "padding", 6, 6, True, 4), (4, "padding", 5, 7, False, 64), (4, "none", 7, 7, True, 3),
                (3, "random", 6, 6, True, 2), (2, "none", 5, 5, True, 1), (2, "none", 9, 9, True, 4)]
    for i, (rank, kind, n, m, causal, block) in enumerate(settings):
        lead = LEAD[rank]
        inputs = {"Q": 2 * rng.normal(size=(*lead, n, 4)), "K": 2 * rng.normal(size=(*lead, m, 4)),
                  "V": rng.normal(size=(*lead, m, 3))}
        fixed = {"mask": mask_of(kind, rng, lead, n, m), "is_causal": causal, "block": block}
        yield Case(f"rank {rank}, {kind}, causal {causal}", inputs, fixed | {"scale": (None, 0.3)[i % 2]})


IMAGES = [((4, 6, 3), 2), ((2, 6, 3, 1), 3), ((3, 2, 4, 8, 2), 4), ((2, 3, 5, 2), 1)]


def patchify_cases(rng):
    for shape, patch in IMAGES:
        yield Case(f"{shape} by {patch}", {"images": rng.normal(size=shape)}, {"patch": patch})


def unpatchify_cases(rng):
    for (*lead, H, W, C), p in IMAGES:
        X = rng.normal(size=(*lead, H * W // (p * p), p * p * C))
        yield Case(f"{(H, W)} by {p}", {"patches": X}, {"height": H, "width": W, "patch": p})


def class_token_cases(rng):
    for rank, lead in LEAD.items():
        yield Case(f"rank {rank}", {"X": rng.normal(size=(*lead, 5, 4)), "token": rng.normal(size=4)})


def mean_pool_cases(rng):
    for rank, lead in LEAD.items():
        X = {"X": rng.normal(size=(*lead, 5, 4))}
        mask = rng.random((*lead, 5)) < 0.6
        yield Case(f"rank {rank}", X)
        yield Case(f"rank {rank}, masked", X, {"mask": mask})
        yield Case(f"rank {rank}, none", X, {"mask": mask & (np.arange(np.prod(lead, dtype=int)) > 0).reshape(*lead, 1)})


SPECS = [
    Spec("position", "frequencies", fixed_cases({"d": 6}, {"d": 10, "base": 50.0})),
    Spec("position", "sinusoidal", fixed_cases({"n": 9, "d": 6}, {"n": 5, "d": 8, "base": 100.0, "offset": 3})),
    Spec("position", "shift_matrix", fixed_cases({"delta": 7, "d": 6}, {"delta": -2.5, "d": 8, "base": 100.0})),
    Spec("position", "add_positions", positions_cases(4)),
    Spec("position", "concat_positions", positions_cases(3)),
    Spec("position", "learned_positions", learned_cases),
    Spec("position", "relative_bias", relative_cases),
    Spec("position", "alibi_slopes", fixed_cases(*({"H": H} for H in (1, 2, 3, 6, 8, 12, 20)))),
    Spec("position", "alibi_bias", fixed_cases({"H": 8, "n": 4}, {"H": 6, "n": 3, "m": 5}, {"H": 4, "n": 2, "offset": 3})),
    Spec("position", "rope", rope_cases),
    Spec("position", "interleave_permutation", fixed_cases({"d": 2}, {"d": 8})),
    Spec("flash", "flash_attention", flash_cases),
    Spec("vision", "patchify", patchify_cases),
    Spec("vision", "unpatchify", unpatchify_cases),
    Spec("vision", "positions_2d", fixed_cases({"h": 3, "w": 5, "d": 8}, {"h": 2, "w": 2, "d": 12, "base": 100.0})),
    Spec("vision", "class_token", class_token_cases),
    Spec("vision", "mean_pool", mean_pool_cases),
]


# ---------------------------------------------------------------- invariants: each takes the module, and returns numbers to print

NUMBERS = {}


def near(name, a, b, tol=1e-12):
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape, f"{name}: shapes {a.shape}, {b.shape}"
    gap = float(np.abs(a - b).max(initial=0.0))
    NUMBERS[name] = max(NUMBERS.get(name, 0.0), gap)
    assert gap <= tol, f"{name}: {gap:.1e}, expected at most {tol:.0e}"  # NaN fails too


def raises(error, pattern, call):
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        call()
    except error as found:
        assert re.search(pattern, str(found)), f"{found} does not say {pattern}"
    else:
        raise AssertionError(f"nothing was raised, expected {error}: {pattern}")
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)


def position_tables(P):
    PE = P.sinusoidal(40, 12)
    near("PE by loops", PE[:9], [[(np.sin, np.cos)[k % 2](p / 10000 ** (2 * (k // 2) / 12)) for k in range(12)]
                                 for p in range(9)])
    near("|PE(p+7) − PE(p) M_7|", PE[7:], PE[:-7] @ P.shift_matrix(7, 12), 1e-13)
    near("PE from an offset", P.sinusoidal(5, 12, offset=9), PE[9:14], 0)
    near("M_2 M_5 = M_7", P.shift_matrix(2, 12) @ P.shift_matrix(5, 12), P.shift_matrix(7, 12))
    near("M Mᵀ = I", P.shift_matrix(3, 12) @ P.shift_matrix(3, 12).T, np.eye(12))
    near("rms of PE at d = 512", np.sqrt((P.sinusoidal(100, 512) ** 2).mean()), 0.5**0.5, 1e-12)
    T = PE @ PE.T
    near("PE PEᵀ is Toeplitz", T[1:, 1:], T[:-1, :-1])
    raises(ValueError, "d is 5, expected a multiple of 2", lambda: P.sinusoidal(3, 5))
    raises(ValueError, "offset is -1", lambda: P.sinusoidal(3, 4, offset=-1))


def position_biases(P):
    r = np.random.default_rng(0)
    table = r.normal(size=(2, 5))
    bias, _ = P.relative_bias_forward(table, 4, 9, 3)
    near("relative bias by loops", bias, [[[table[h, min(max(j - (i + 3), -2), 2) + 2] for j in range(9)] for i in range(4)]
                                          for h in range(2)], 0)
    whole, _ = P.relative_bias_forward(table, 7)
    near("a cache of keys: the last rows", P.relative_bias_forward(table, 3, offset=4)[0], whole[:, 4:], 0)
    assert P.relative_bias_forward(table.astype(np.float32), 3)[0].dtype == np.float32
    published = {1: [2**-8], 2: [2**-4, 2**-8], 8: [2.0**-k for k in range(1, 9)],
                 12: [2.0**-k for k in range(1, 9)] + [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5],
                 6: [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3]}
    for H, slopes in published.items():
        near("ALiBi slopes as published", P.alibi_slopes(H), slopes, 0)
    near("ALiBi by loops", P.alibi_bias(8, 3, 6, 2),
         [[[-(0.5 ** (h + 1)) * abs(i + 2 - j) for j in range(6)] for i in range(3)] for h in range(8)], 0)
    table = r.normal(size=(7, 4))
    near("learned rows", P.learned_positions_forward(table, 3, 2)[0], table[2:5], 0)
    raises(ValueError, "offset \\+ n is 9, expected at most 7", lambda: P.learned_positions_forward(table, 3, 6))
    raises(ValueError, r"table has shape \(2, 4\), expected \(2, 5\)", lambda: P.relative_bias_forward(np.ones((2, 4)), 3))
    X, row = r.normal(size=(3, 2, 5, 4)), r.normal(size=(5, 4))
    near("X + P", P.add_positions_forward(X, row)[0], X + row, 0)
    near("[X, P]", P.concat_positions_forward(X, row)[0][1, 1], np.hstack([X[1, 1], row]), 0)
    raises(ValueError, r"P has shape \(5, 1\), expected \(5, 4\)", lambda: P.add_positions_forward(X, row[:, :1]))


def position_rope(P):
    r = np.random.default_rng(0)
    q, k = r.normal(size=(2, 1, 8))
    for pairs in (True, False):
        turn = lambda x, p: P.rope_forward(x, np.array([p]), interleaved=pairs)[0]  # noqa: B023, E731
        for m, n in ((9, 4), (105, 100), (1000, 995)):
            near("<RoPE_m q, RoPE_n k> at m − n = 5", turn(q, m) @ turn(k, n).T, turn(q, 5) @ turn(k, 0).T, 2e-12)
        assert abs((turn(q, 3) @ turn(k, 5).T - turn(q, 5) @ turn(k, 3).T).item()) > 1e-3  # direction matters
        X = r.normal(size=(2, 3, 5, 8))
        Y, cache = P.rope_forward(X, offset=11, interleaved=pairs)
        near("RoPE keeps norms", np.linalg.norm(Y, axis=-1), np.linalg.norm(X, axis=-1))
        near("RoPE backward is the inverse", P.rope_backward(Y, cache), X)
        near("offset = positions", P.rope_forward(X, np.arange(11, 16), interleaved=pairs)[0], Y, 0)
        near("position 0 is left alone", P.rope_forward(X, interleaved=pairs)[0][..., 0, :], X[..., 0, :], 0)
    Z, _ = P.rope_forward(X, offset=2)
    pi = P.interleave_permutation(8)
    near("the two pairings", Z[..., pi], P.rope_forward(X[..., pi], offset=2, interleaved=False)[0], 0)
    turned = (X[..., ::2] + 1j * X[..., 1::2]) * np.exp(1j * np.arange(2, 7)[:, None] * 10000 ** (-np.arange(4) / 4))
    near("RoPE as complex numbers", Z[..., ::2] + 1j * Z[..., 1::2], turned)
    far = P.rope_forward(X.astype(np.float32), offset=100_000)[0]
    assert far.dtype == np.float32
    near("float32 RoPE at 100,000", far, P.rope_forward(X, offset=100_000)[0], 2e-6)
    raises(ValueError, "d is 5", lambda: P.rope_forward(np.ones((3, 5))))
    raises(ValueError, "positions holds -1", lambda: P.rope_forward(np.ones((2, 4)), np.array([-1, 0])))
    raises(ValueError, "shape of positions is", lambda: P.rope_forward(np.ones((2, 4)), np.arange(3)))


def flash_attention_itself(P):
    r = np.random.default_rng(0)
    for rank, kind, n, m in ((2, "none", 7, 5), (3, "random", 6, 9), (4, "padding", 5, 8), (2, "shared", 13, 11)):
        lead = LEAD[rank]
        Q, K, V = (3 * r.normal(size=(*lead, *s)) for s in ((n, 4), (m, 4), (m, 3)))
        mask = mask_of(kind, r, lead, n, m)
        kept = [x.copy() for x in (Q, K, V)]
        O, cache = attention_forward(Q, K, V, mask)
        dO = r.normal(size=O.shape)
        grads = attention_backward(dO, cache)
        for block in (1, 2, 3, 4, 5, 64):
            o, flash = P.flash_attention_forward(Q, K, V, mask, block=block)
            near("flash against attention, forward", o, O)
            for mine, theirs in zip(P.flash_attention_backward(dO, flash), grads, strict=True):
                near("flash against attention, backward", mine, theirs)
            S = Q @ K.mT / 2 if mask is None else np.where(mask, Q @ K.mT / 2, -np.inf)
            with np.errstate(divide="ignore"):
                L = np.log(np.exp(S).sum(-1))
            near("log-sum-exp", flash.L, np.where(L == -np.inf, 0, L))
        assert all(np.array_equal(a, b) for a, b in zip((Q, K, V), kept, strict=True)), "an input was changed"
        if kind == "random":
            assert not o[:, 0].any() and not P.flash_attention_backward(dO, flash)[0][:, 0].any(), "blind query"
    X = r.normal(size=(2, 11, 4))
    tri = np.tri(11, dtype=bool)
    for block in (1, 3, 4, 16):
        causal = partial(P.flash_attention_forward, is_causal=True, block=block)
        near("causal flag = causal mask", causal(X, X, X)[0], attention_forward(X, X, X, tri)[0])
        Y = X.copy()
        Y[:, 6:] = 50 * r.normal(size=(2, 5, 4))
        near("leak", causal(Y, Y, Y)[0][:, :6], causal(X, X, X)[0][:, :6], 0)
    big = 300 * X
    near("scores of 10⁵", P.flash_attention_forward(big, big, X, block=3)[0], attention_forward(big, big, X)[0], 1e-12)
    o, flash = P.flash_attention_forward(*(x.astype(np.float32) for x in (X, X, X)), block=4)
    assert {x.dtype for x in (o, flash.L, *P.flash_attention_backward(o, flash))} == {np.dtype(np.float32)}
    raises(ValueError, "is_causal is True with 11 queries and 3 keys",
           lambda: P.flash_attention_forward(X, X[:, :3], X[:, :3], is_causal=True))
    raises(ValueError, "block is 0", lambda: P.flash_attention_forward(X, X, X, block=0))


def flash_merge(P):
    r = np.random.default_rng(1)
    parts = [(10 * r.normal(size=(2, 5)), r.random((2, 5)), r.normal(size=(2, 5, 3))) for _ in range(3)]
    none = (np.full((2, 5), -np.inf), np.zeros((2, 5)), np.zeros((2, 5, 3)))
    merge = P.online_softmax_merge
    a, b, c = parts
    for left, right in ((merge(merge(a, b), c), merge(a, merge(b, c))), (merge(a, b), merge(b, a)),
                        (merge(a, none), a), (merge(none, a), a), (merge(none, none), none)):
        assert np.array_equal(left[0], right[0])
        for x, y in zip(left[1:], right[1:], strict=True):
            near("merge: associative, commutative, identity", x, y)
    S, V = 5 * r.normal(size=(4, 9)), r.normal(size=(9, 3))
    state = tuple(x[0, :4] for x in none)
    for j in range(9):
        state = merge(state, (S[:, j], np.ones(4), np.repeat(V[j : j + 1], 4, axis=0)))
    A = np.exp(S - S.max(-1, keepdims=True))
    near("keys one by one", state[2] / state[1][:, None], A @ V / A.sum(-1, keepdims=True))


def flash_memory(P):
    n = 2048
    X = np.random.default_rng(0).normal(size=(n, 16)).astype(np.float32)
    tracemalloc.start()
    o, cache = P.flash_attention_forward(X, X, X, block=128)
    forward = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    P.flash_attention_backward(o, cache)
    backward = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    NUMBERS["MB at n = 2048 (the matrix alone: 16.8)"] = round(max(forward, backward) / 1e6, 2)
    assert max(forward, backward) < n * n * 4 / 10


def vision_patches(P):
    r = np.random.default_rng(0)
    X = r.normal(size=(2, 6, 9, 4))
    Y, cache = P.patchify_forward(X, 3)
    near("patches by loops", Y, [[[X[b, 3 * (i // 3) + u, 3 * (i % 3) + v, c] for u in range(3) for v in range(3)
                                   for c in range(4)] for i in range(6)] for b in range(2)], 0)
    near("unpatchify is the inverse", P.unpatchify_forward(Y, 6, 9, 3)[0], X, 0)
    near("backward is the inverse", P.patchify_backward(Y, cache), X, 0)
    W = r.normal(size=(3 * 3 * 4, 5))
    kernel = torch.tensor(W.reshape(3, 3, 4, 5)).permute(3, 2, 0, 1)
    conv = F.conv2d(torch.tensor(X).permute(0, 3, 1, 2), kernel, stride=3).flatten(2).mT.numpy()
    near("patchify and a matrix = strided convolution", Y @ W, conv)
    raises(ValueError, "height of images is 6, expected a multiple of 4", lambda: P.patchify_forward(X, 4))
    raises(ValueError, r"patches has shape \(2, 6, 36\), expected \(2, 12, 36\)", lambda: P.unpatchify_forward(Y, 12, 9, 3))
    grid = P.positions_2d(3, 5, 8).reshape(3, 5, 8)
    from byhand.np.position import sinusoidal
    near("grid row in the first half", grid[..., :4], np.broadcast_to(sinusoidal(3, 4)[:, None], (3, 5, 4)), 0)
    near("grid column in the second half", grid[..., 4:], np.broadcast_to(sinusoidal(5, 4), (3, 5, 4)), 0)
    raises(ValueError, "d is 6, expected a multiple of 4", lambda: P.positions_2d(2, 2, 6))


def vision_pooling(P):
    r = np.random.default_rng(0)
    X, token = r.normal(size=(2, 3, 5, 4)), r.normal(size=4)
    Y, _ = P.class_token_forward(X, token)
    near("class token", Y[..., 0, :], np.broadcast_to(token, (2, 3, 4)), 0)
    near("tokens after it", Y[..., 1:, :], X, 0)
    mask = np.arange(5) < np.array([[5, 2, 0], [1, 3, 4]])[..., None]
    Y, cache = P.mean_pool_forward(X, mask)
    near("masked mean", Y[0, 1], X[0, 1, :2].mean(axis=0))
    near("nothing to pool", Y[0, 2], np.zeros(4), 0)
    near("no mask", P.mean_pool_forward(X)[0], X.mean(axis=-2))
    dX = P.mean_pool_backward(r.normal(size=Y.shape), cache)
    assert not dX[~mask].any(), "padding got a gradient"
    assert P.mean_pool_forward(X.astype(np.float32), mask)[0].dtype == np.float32
    raises(ValueError, r"mask has shape \(3, 5\), expected \(2, 3, 5\)", lambda: P.mean_pool_forward(X, mask[0]))


def vision_rollout(P):
    r = np.random.default_rng(0)
    layers = [r.dirichlet(np.ones(5), size=(2, 3, 5)) for _ in range(4)]
    R = P.attention_rollout(layers)
    near("rows of the rollout sum to one", R.sum(-1), np.ones((2, 5)))
    x, all_of_it = r.normal(size=(2, 5, 6)), None
    all_of_it = x
    for A in layers:
        all_of_it = 0.3 * all_of_it + 0.7 * (A.mean(1) @ all_of_it)
    near("rollout = running the layers", P.attention_rollout(layers, 0.3) @ x, all_of_it)
    causal = [np.tril(A) / np.tril(A).sum(-1, keepdims=True) for A in layers]
    near("causal stays causal", np.triu(P.attention_rollout(causal), 1), np.zeros((2, 5, 5)), 0)
    raises(ValueError, "layers is list of length 0", lambda: P.attention_rollout([]))


def naive_merges(words, count):
    split, merges = {w: [bytes([b]) for b in w.encode()] for w in words}, []
    number = {bytes([i]): i for i in range(256)}
    for k in range(count):
        pairs = Counter()
        for w, n in words.items():
            for p in zip(split[w], split[w][1:], strict=False):
                pairs[p] += n
        if not pairs or max(pairs.values()) < 2:
            break
        a, b = min(pairs, key=lambda p: (-pairs[p], number[p[0]], number[p[1]]))
        merges.append((number[a], number[b]))
        number.setdefault(a + b, 256 + k)
        for w, s in split.items():
            out = []
            for t in s:
                out.append(t)
                if out[-2:] == [a, b]:
                    out[-2:] = [a + b]
            split[w] = out
    return merges


def replay(merges, word):
    """The ids of a word by every merge in the order in which they were learned."""
    ids = list(word.encode())
    for k, pair in enumerate(merges):
        out = []
        for i in ids:
            out.append(i)
            if tuple(out[-2:]) == pair:
                out[-2:] = [256 + k]
        ids = out
    return ids


SAMPLE = """It's the owner's word: they're 12 of 2024, we'll see them; the   other\tother the\r\nthe naïve café — 漢字 😀😀 ½ x_1 __init__.
the the then there these those. She'd said "don't"!\n\n\nthe end  """ * 3
ALPHABET = "aé'sret  \t\n\u3000\u00a0_12½²-–漢😀\u0301'\x1c\x00<|end|>"


def cuts(r, s, n):
    places = sorted(r.randrange(len(s) + 1) for _ in range(n))
    return [s[i:j] for i, j in zip([0, *places], [*places, len(s)], strict=True)]


def text_bpe(T):
    r = random.Random(0)
    tok = T.BPETokenizer.train(SAMPLE, 330, ["<|end|>", "<|end|>2"])
    words = Counter(T._PIECE.findall(SAMPLE))
    assert "".join(T._PIECE.findall(SAMPLE)) == SAMPLE
    assert tok.merges == naive_merges(words, 72), "merges differ from counting all pairs each time"
    assert T.BPETokenizer.train("abab aaa aaaa aaaaaaa", 300).merges == naive_merges(
        Counter(T._PIECE.findall("abab aaa aaaa aaaaaaa")), 44)
    assert tok.decode(tok.encode(SAMPLE)) == SAMPLE and len(tok.encode(SAMPLE)) < 0.6 * len(SAMPLE.encode())
    assert {"<|end|>": 328, "<|end|>2": 329} == tok.specials and len(tok) == 330
    assert tok.encode("a<|end|>2b", special=True) == [97, 329, 98] and tok.decode([97, 329, 98]) == "a<|end|>2b"
    assert max(tok.encode("a<|end|>b")) < 328, "a special token in a user's text was obeyed"
    known = T.BPETokenizer.train("<|end|>" * 50, 300, ["<|end|>"])
    assert known.merges == [], "trained on a special token"
    for word in [*words, " thereher", "hethe", "thethther", "reader's", "aaaa", "wherethe", "ownerer"]:
        assert tok._encode_word(word) == replay(tok.merges, word), f"{word}: merges out of order"
    for n in (1, 5, 40):
        assert T.BPETokenizer.train(cuts(r, SAMPLE, n), 330, tok.specials).merges == tok.merges, "cut at chunk borders"
    for _ in range(400):
        u = "".join(r.choice(ALPHABET) for _ in range(r.randrange(30))) + r.choice(["", "<|end|>", "'re", "  x"])
        for special in (False, True):
            ids = tok.encode(u, special)
            assert tok.decode(ids) == u, repr(u)
            assert list(tok.encode_stream(cuts(r, u, r.randrange(6)), special)) == ids, repr(u)
    every = "".join(chr(i) for i in range(0, 0x110000, 97) if not 0xD800 <= i < 0xE000)
    assert tok.decode(tok.encode(every)) == every
    assert tok.decode([0xC3, 65], errors="replace") == "\ufffdA"
    raises(ValueError, "no UTF-8", lambda: tok.decode([0xC3]))
    raises(ValueError, "ids hold 330", lambda: tok.decode([330]))
    raises(ValueError, "lone surrogate", lambda: tok.encode("\ud800"))
    small = T.BPETokenizer(tok.merges, tok.specials)
    small.CACHED = 2
    assert small.encode(SAMPLE) == tok.encode(SAMPLE) and len(small._cache) <= 2


def text_characters(T):
    tok = T.CharTokenizer.train(["cab", "ba d<p"], ["<p>"])
    assert tok.tokens == [" ", "<", "a", "b", "c", "d", "p", "<p>"] and tok.specials == {"<p>": 7}
    assert tok.decode(tok.encode("bad cab")) == "bad cab" and tok.encode("a<p>", special=True) == [2, 7]
    raises(ValueError, r"text holds 'ß' \(U\+00DF\)", lambda: tok.encode("aß"))
    raises(ValueError, "specials holds '< >'", lambda: T.CharTokenizer("a", ["< >"]))
    raises(ValueError, "ids hold -1", lambda: tok.decode([-1]))


def text_files(T):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.json"
        for tok in (T.BPETokenizer.train(SAMPLE, 300, ["<|end|>"]), T.CharTokenizer.train(SAMPLE, ["<|end|>"])):
            tok.save(path)
            again = type(tok).load(path)
            assert again.encode(SAMPLE + "<|end|>", True) == tok.encode(SAMPLE + "<|end|>", True)
            assert os.listdir(folder) == ["t.json"]
            tok._to_json = lambda: 1 / 0
            before = path.read_bytes()
            raises(ZeroDivisionError, "", lambda: tok.save(path))  # noqa: B023
            assert path.read_bytes() == before and os.listdir(folder) == ["t.json"], "half a file"
        for bad in ("{", '{"kind": "characters"}', "[]", '{"kind": "byte-level BPE", "merges": [[300, 1]], "specials": []}'):
            path.write_text(bad)
            raises(ValueError, "is damaged", lambda: T.BPETokenizer.load(path))
        path.write_bytes(SAMPLE.encode())
        assert "".join(T.read_chunks(path, 7)) == SAMPLE, "line ends were changed"
    try:
        import tokenizers  # noqa: F401
    except ImportError:
        raises(ImportError, "package tokenizers is missing", lambda: T.WordPieceTokenizer.train("a", 50))
        return
    tok = T.WordPieceTokenizer.train(cuts(random.Random(0), SAMPLE, 40), 200)
    assert tok.encode("[SEP] the", special=True)[0] == tok.specials["[SEP]"] != tok.encode("[SEP] the")[0]
    assert tok.decode(tok.encode("The other")) == "the other"


INVARIANTS = {"np.position": [position_tables, position_biases, position_rope],
              "np.flash": [flash_attention_itself, flash_merge, flash_memory],
              "np.vision": [vision_patches, vision_pooling, vision_rollout],
              "text": [text_bpe, text_characters, text_files]}


# ---------------------------------------------------------------- mutants

class Mutant(NamedTuple):
    place: str
    caught: set
    story: str
    edits: tuple


def M(place, caught, story, *edits):
    return Mutant(place, set(caught.split()), story, edits)


MUTANTS = [
    M("np.position", "twin invariant", "sinusoids: base 1,000", "base ** (-2 * np.arange(d // 2) / d)", "(base / 10) ** (-2 * np.arange(d // 2) / d)"),
    M("np.position", "twin invariant", "sinusoids: 2i doubled", "base ** (-2 * np.arange(d // 2) / d)", "base ** (-4 * np.arange(d // 2) / d)"),
    M("np.position", "twin invariant", "sinusoids: counted from one", "angle = np.arange(offset, offset + n)[:, None] * frequencies", "angle = np.arange(offset + 1, offset + n + 1)[:, None] * frequencies"),
    M("np.position", "twin invariant", "sinusoids: all sines, then all cosines", "np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(n, d)", "np.concatenate([np.sin(angle), np.cos(angle)], axis=-1)"),
    M("np.position", "twin invariant", "shift: the rotation of the column convention", "M[odd, even] = np.sin(angle)\n    M[even, odd] = -np.sin(angle)", "M[odd, even] = -np.sin(angle)\n    M[even, odd] = np.sin(angle)"),
    M("np.position", "slope twin", "concat: dP taken from the first features", "dY[..., : cache.d], dY[..., cache.d :]", "dY[..., -cache.d :], dY[..., : -cache.d]"),
    M("np.position", "slope twin", "concat: dP of one sequence only", "unbroadcast(dP, dP.shape[-2:])", "dP.reshape(-1, *dP.shape[-2:])[0]"),
    M("np.position", "twin invariant", "learned: offset forgotten", "gather_forward(table, np.arange(offset, offset + n))", "gather_forward(table, np.arange(n))"),
    M("np.position", "twin invariant", "relative: query minus key", "np.clip(_distance(\"relative_bias\", n, m, offset), -reach, reach)", "np.clip(-_distance(\"relative_bias\", n, m, offset), -reach, reach)"),
    M("np.position", "slope twin", "relative: each diagonal's mean for its sum", "return gather_backward(np.moveaxis(dB, 0, -1), cache).mT", "return gather_backward(np.moveaxis(dB, 0, -1), cache).mT / np.maximum(np.bincount(cache.ids.ravel(), minlength=cache.size), 1)"),
    M("np.position", "twin invariant", "relative: offset forgotten in every bias", "np.arange(m) - np.arange(offset, offset + n)[:, None]", "np.arange(m) - np.arange(n)[:, None]"),
    M("np.position", "twin invariant", "ALiBi: the future is free", "np.abs(_distance(\"alibi_bias\", n, m, offset))", "np.maximum(-_distance(\"alibi_bias\", n, m, offset), 0)"),
    M("np.position", "twin invariant", "ALiBi: the formula for powers of two with any H", "return np.concatenate([slopes, between[: H - whole]])", "return 2.0 ** (-8 * np.arange(1, H + 1) / H)"),
    M("np.position", "slope twin invariant", "RoPE: backward turns forward again", "_rotate(dY, cache.cos, -cache.sin, cache.interleaved)", "_rotate(dY, cache.cos, cache.sin, cache.interleaved)"),
    M("np.position", "slope twin invariant", "RoPE: no rotation, both signs alike", "Y[a] = X[a] * cos - X[b] * sin", "Y[a] = X[a] * cos + X[b] * sin"),
    M("np.position", "twin invariant", "RoPE: turned the other way", "Y[a] = X[a] * cos - X[b] * sin\n    Y[b] = X[a] * sin + X[b] * cos", "Y[a] = X[a] * cos + X[b] * sin\n    Y[b] = X[b] * cos - X[a] * sin"),
    M("np.position", "twin invariant", "RoPE: offset restarts at 0", "positions = np.arange(offset, offset + X.shape[-2])", "positions = np.arange(X.shape[-2])"),
    M("np.position", "twin invariant", "RoPE: the two pairings exchanged", "if interleaved else (np.s_[..., :half]", "if not interleaved else (np.s_[..., :half]"),
    M("np.position", "invariant", "RoPE: angles in float32", "angle = positions[..., None] * omega", "angle = positions[..., None].astype(X.dtype) * omega.astype(X.dtype)"),
    M("np.position", "twin invariant", "permutation: the inverse one", "return np.concatenate([np.arange(0, d, 2), np.arange(1, d, 2)])", "return np.argsort(np.concatenate([np.arange(0, d, 2), np.arange(1, d, 2)]))"),
    M("pt.position", "twin", "RoPE: pairs exchanged", "if interleaved else X.chunk(2, dim=-1)", "if not interleaved else X.chunk(2, dim=-1)"),
    M("pt.position", "twin", "ALiBi: between slopes start one late", "1 + 2 * torch.arange(H - whole)", "3 + 2 * torch.arange(H - whole)"),

    M("np.flash", "slope twin invariant", "accumulator not rescaled", "keep[..., None] * o_a + add[..., None] * o_b", "o_a + add[..., None] * o_b"),
    M("np.flash", "slope twin invariant", "denominator not rescaled", "keep * l_a + add * l_b", "l_a + l_b"),
    M("np.flash", "slope twin invariant", "new tile not rescaled", "+ add[..., None] * o_b)", "+ o_b)"),
    M("np.flash", "invariant", "no maximum: overflows", "top = E.max(axis=0)", "top = np.zeros(E.shape[1], E.dtype)"),
    M("np.flash", "slope twin invariant", "−∞ − (−∞) in a row that sees nothing", "return np.where(m == -np.inf, 0, m)", "return m"),
    M("np.flash", "slope twin invariant", "maximum missing in the log-sum-exp", "L[head][rows] = _finite(state.m) + np.log(l)", "L[head][rows] = np.log(l)"),
    M("np.flash", "slope twin invariant", "D from dO alone", "D = np.vecdot(dO, O)", "D = dO.sum(axis=-1)"),
    M("np.flash", "slope twin invariant", "D forgotten", "                dS -= D[head][rows]\n", ""),
    M("np.flash", "slope twin invariant", "dV overwritten by each tile of queries", "dV[head][cols] += A @ dO[head][rows]", "dV[head][cols] = A @ dO[head][rows]"),
    M("np.flash", "slope twin invariant", "dQ not scaled", "    dQ *= scale\n", ""),
    M("np.flash", "slope twin invariant", "dK scaled twice", "dK[head][cols] += dS @ q", "dK[head][cols] += scale * (dS @ q)"),
    M("np.flash", "twin invariant", "causal: off by one, sees the next token", "np.arange(cols.start, cols.stop)[:, None] > np.arange(rows.start, rows.stop)", "np.arange(cols.start, cols.stop)[:, None] > np.arange(rows.start, rows.stop) + 1"),
    M("np.flash", "twin invariant", "causal: positions counted within the tile", "if cache.is_causal and cols.stop > rows.start + 1:", "if cache.is_causal:", "np.arange(cols.start, cols.stop)[:, None] > np.arange(rows.start, rows.stop)", "np.arange(len(S))[:, None] > np.arange(len(q))"),
    M("np.flash", "twin invariant", "last keys lost when the block does not divide them",
      "for cols in _blocks(rows.stop if is_causal else m, block):\n                E =", "for cols in _blocks(rows.stop if is_causal else max(m - m % block, 1), block):\n                E =",
      "for cols in _blocks(rows.stop if is_causal else m, block):\n                A =", "for cols in _blocks(rows.stop if is_causal else max(m - m % block, 1), block):\n                A ="),
    M("np.flash", "twin invariant", "mask read at the wrong tile", "~mask[head][rows, cols].mT", "~mask[head][: len(q), : len(S)].mT"),
    M("np.flash", "invariant", "the whole matrix is made after all", "    D = np.vecdot(dO, O)\n", "    D = np.vecdot(dO, O)\n    everything = Q @ K.mT\n"),
    M("pt.flash", "twin", "accumulator not rescaled", "keep[..., None] * o_a + add", "o_a + add"),
    M("pt.flash", "twin", "causal: diagonal hidden", ".triu(1)", ".triu(0)"),

    M("np.vision", "twin invariant", "patches cut without exchanging the axes", "squares = np.swapaxes(rows, -4, -3)", "squares = rows", "rows = np.swapaxes(patches.reshape(*lead, h, w, patch, patch, C), -4, -3)", "rows = patches"),
    M("np.vision", "twin invariant", "patch order: down, then right", "squares = np.swapaxes(rows, -4, -3)", "squares = np.swapaxes(np.swapaxes(rows, -4, -3), -5, -4)", "np.swapaxes(patches.reshape(*lead, h, w, patch, patch, C), -4, -3)", "np.swapaxes(np.swapaxes(patches.reshape(*lead, w, h, patch, patch, C), -5, -4), -4, -3)"),
    M("np.vision", "twin invariant", "pixels of a patch transposed", "squares = np.swapaxes(rows, -4, -3)", "squares = np.swapaxes(np.swapaxes(rows, -4, -3), -3, -2)", "np.swapaxes(patches.reshape(*lead, h, w, patch, patch, C), -4, -3)", "np.swapaxes(np.swapaxes(patches.reshape(*lead, h, w, patch, patch, C), -3, -2), -4, -3)"),
    M("np.vision", "slope twin invariant", "backward without exchanging the axes", "rows = np.swapaxes(patches.reshape(*lead, h, w, patch, patch, C), -4, -3)", "rows = patches"),
    M("np.vision", "twin invariant", "2-D positions: rows and columns exchanged", "[np.repeat(rows, w, axis=0), np.tile(columns, (h, 1))]", "[np.tile(columns, (h, 1)), np.repeat(rows, w, axis=0)]"),
    M("np.vision", "twin invariant", "class token put last", "np.concatenate([first, X], axis=-2)", "np.concatenate([X, first], axis=-2)", "dY[..., 1:, :], dY[..., 0, :]", "dY[..., :-1, :], dY[..., -1, :]"),
    M("np.vision", "slope twin", "class token: mean for sum", ".reshape(-1, cache.d).sum(axis=0)", ".reshape(-1, cache.d).mean(axis=0)"),
    M("np.vision", "twin invariant", "mean over padding too", "weights = real / np.maximum(real.sum(axis=-1, keepdims=True), 1)", "weights = real / real.shape[-1]"),
    M("np.vision", "slope twin invariant", "mean: nothing real divides by zero", "np.maximum(real.sum(axis=-1, keepdims=True), 1)", "real.sum(axis=-1, keepdims=True)"),
    M("np.vision", "slope twin", "mean: gradient not divided", "return cache.weights[..., None] * dY[..., None, :]", "return (cache.weights > 0)[..., None] * dY[..., None, :]"),
    M("np.vision", "invariant", "rollout: layers multiplied in the wrong order", "((1 - residual) * A.mean(axis=-3) + residual * stay) @ total", "total @ ((1 - residual) * A.mean(axis=-3) + residual * stay)"),
    M("np.vision", "invariant", "rollout: skip added, rows sum to more than one", "(1 - residual) * A.mean(axis=-3)", "A.mean(axis=-3)"),
    M("pt.vision", "twin", "patchify: channels first", "squares.movedim(-3, -1).flatten(-3)", "squares.flatten(-3)"),
    M("pt.vision", "twin", "mean over padding too", ".sum(dim=-2) / mask.sum(dim=-1, keepdim=True).clamp(min=1)", ".mean(dim=-2)"),

    M("text", "invariant", "BPE: words cut where chunks end", "        rest += chunk\n        if border := _BORDER.match(rest):\n            yield border[0]\n            rest = rest[border.end() :]\n", "        yield chunk\n"),
    M("text", "invariant", "BPE: cut after white space, not before", r'_BORDER = re.compile(r".*\S(?=\s)", re.DOTALL)', r'_BORDER = re.compile(r".*\s", re.DOTALL)'),
    M("text", "invariant", "BPE: encoded with the last merge first", "key=lambda p: self.ranks.get(p, len(self))", "key=lambda p: -self.ranks.get(p, -1)"),
    M("text", "invariant", "BPE: stale counts in the heap", "        if totals[pair] != -n:", "        if pair not in totals:"),
    M("text", "invariant", "BPE: counts of the joined word not taken away", "                totals[old] -= times[w]\n", ""),
    M("text", "invariant", "BPE: words counted once, however frequent", "split, times = [list(_utf8(word)) for word in words], list(words.values())", "split, times = [list(_utf8(word)) for word in words], [1] * len(words)"),
    M("text", "invariant", "BPE: special tokens of a user's text obeyed", "if not (special and self.specials):", "if not self.specials:"),
    M("text", "invariant", "BPE: trained on special tokens", "for part in new._split(text, True)[::2]:\n                words", "for part in [text]:\n                words"),
    M("text", "invariant", "BPE: the shorter special token found first", "sorted(self.specials, key=len, reverse=True)", "sorted(self.specials, key=len)"),
    M("text", "invariant", "BPE: broken bytes replaced without being asked", 'errors: str = "strict"', 'errors: str = "replace"'),
    M("text", "invariant", "pieces: the underscore lost", r"(?:[^\s\w]|_)+", r"[^\s\w]+"),
    M("text", "invariant", "files: line ends changed", 'newline=""', "newline=None"),
    M("text", "invariant", "files: written in place", "        path = Path(path)\n", "        path = Path(path)\n        path.write_text('')\n"),
    M("text", "invariant", "characters: unknown ones dropped", "[self.ids[c] for c in part]", "[self.ids[c] for c in part if c in self.ids]"),
]


def build(place, *edits):
    text = re.sub(r" +# \(\d+\.\d+\).*$", "", (LIBRARY / (place.replace(".", "/") + ".py")).read_text(), flags=re.MULTILINE)
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        if text.count(old) != 1:
            raise SystemExit(f"{place}: {old!r} is there {text.count(old)} times, expected once")
        text = text.replace(old, new)
    module = ModuleType(f"byhand.{place}")
    module.__package__, module.__file__ = module.__name__.rpartition(".")[0], f"<mutant of {place}>"
    exec(compile(text, module.__file__, "exec", dont_inherit=True), vars(module))
    for name, value in list(vars(module).items()):
        if isinstance(value, FunctionType) and value.__module__ != module.__name__:
            setattr(module, name, inspect.unwrap(value))
    return module


def fails(check):
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return check()
    except Exception:
        return True


def kills(mutant):
    half, _, stem = mutant.place.rpartition(".")
    module = build(mutant.place, *mutant.edits)
    caught = set()
    mine = module if half == "np" else stem != "text" and importlib.import_module(f"byhand.np.{stem}")
    theirs = module if half == "pt" else stem != "text" and importlib.import_module(f"byhand.pt.{stem}")
    for spec in SPECS:
        if spec.stem != stem:
            continue
        if half == "np" and differentiable(mine, spec.name) and fails(lambda: not slope(spec, mine) <= SLOPE):  # noqa: B023
            caught.add("slope")
        if fails(lambda: not all(e <= tol for e, tol in zip(twin(spec, mine, theirs), (FORWARD, GRADIENT), strict=True))):  # noqa: B023
            caught.add("twin")
    if any(fails(partial(check, module)) for check in INVARIANTS.get(mutant.place, ())):
        caught.add("invariant")
    return caught


def against_torch():
    """Built-ins that nobody here wrote."""
    from byhand.np import flash, vision
    r = np.random.default_rng(3)
    Q, K, V = (torch.tensor(r.normal(size=(2, 3, 9, 4)), requires_grad=True) for _ in range(3))
    for causal in (False, True):
        O = F.scaled_dot_product_attention(Q, K, V, is_causal=causal)
        o, cache = flash.flash_attention_forward(*(x.detach().numpy() for x in (Q, K, V)), is_causal=causal, block=4)
        dO = r.normal(size=o.shape)
        grads = torch.autograd.grad(O, (Q, K, V), torch.tensor(dO))
        near("torch SDPA, forward", o, O.detach().numpy())
        for a, b in zip(flash.flash_attention_backward(dO, cache), grads, strict=True):
            near("torch SDPA, backward", a, b.numpy())
    X = r.normal(size=(2, 6, 4, 3))
    cols = F.unfold(torch.tensor(X).permute(0, 3, 1, 2), 2, stride=2).mT.unflatten(-1, (3, 4)).mT.flatten(-2).numpy()
    near("torch F.unfold", vision.patchify_forward(X, 2)[0], cols, 0)


def main():
    warnings.simplefilter("error")
    for dtype in (np.float64, np.float32):
        for spec in SPECS:
            np_module, pt_module = (importlib.import_module(f"byhand.{half}.{spec.stem}") for half in ("np", "pt"))
            forward, gradient = twin(spec, np_module, pt_module, dtype)
            if dtype == np.float32:
                assert forward <= 2e-6 and gradient <= 5e-4, (spec.name, forward, gradient)
                continue
            s = slope(spec, np_module) if differentiable(np_module, spec.name) else 0.0
            print(f"{spec.stem:9s} {spec.name:23s} slope {s:.1e}  twin {forward:.1e} {gradient:.1e}")
            assert s <= SLOPE and forward <= FORWARD and gradient <= GRADIENT
    for place, checks in INVARIANTS.items():
        for check in checks:
            began = time.process_time()
            check(importlib.import_module(f"byhand.{place}"))
            print(f"{check.__name__:23s} {time.process_time() - began:.1f} s")
    against_torch()
    for name, number in NUMBERS.items():
        print(f"  {name:52s} {number:.2g}")
    if "fast" in sys.argv:
        return
    wrong = 0
    for mutant in MUTANTS:
        got = kills(mutant)
        if got != mutant.caught:
            wrong += 1
            print("MUTANT", mutant.place, mutant.story, "| said", sorted(mutant.caught), "| got", sorted(got))
    print(f"{len(MUTANTS)} mutants, {wrong} not as said")


if __name__ == "__main__":
    main()
