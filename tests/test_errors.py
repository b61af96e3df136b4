# ruff: noqa: E501
"""Wrong input is refused in one sentence: which function, which argument, what came, what was expected.

Under pytest the shape checks of conftest.py would speak first, so these functions are made anew without them: what
the table holds is the library's own sentence. Each row names a wrong call; rows of both halves use the same arrays.
"""

import importlib
import inspect
import re
import sys
from typing import NamedTuple

import numpy as np
import pytest
import torch
from byhand.config import AttentionConfig
from byhand.io.safetensors import load_safetensors, save_safetensors
from mutants import build

STEMS = ("gradcheck", "linear", "softmax", "mask", "attention")
MODULES = {f"{half}.{stem}": build(f"{half}.{stem}") for half in ("np", "pt") for stem in STEMS}
MODULES |= {name: build(name) for name in ("tree", "config", "io.safetensors")}
V, T = ValueError, TypeError


class Row(NamedTuple):
    place: str
    name: str
    error: type
    says: str
    arguments: tuple
    options: dict


ROWS: list[Row] = []


def to_torch(x):
    if isinstance(x, np.ndarray):
        return torch.tensor(x)
    if isinstance(x, np.random.Generator):
        return torch.Generator()
    return {k: to_torch(v) for k, v in x.items()} if isinstance(x, dict) else x


def both(stem, name, error, says, *arguments, halves=("np", "pt"), **options):
    """A row for each half. In `says`, FLOAT… is the name of a dtype, ARRAY what the half computes with."""
    words = {"np": {"ARRAY": "a NumPy array", "MASK": "array", "FLOAT": "float", "INT": "int"},
             "pt": {"ARRAY": "a torch tensor", "MASK": "tensor", "FLOAT": "torch.float", "INT": "torch.int",
                    "an array of whole": "a tensor of whole"}}
    for half in halves:
        text = re.sub("|".join(words[half]), lambda m, half=half: words[half][m[0]], says)
        args = arguments if half == "np" else tuple(map(to_torch, arguments))
        opts = options if half == "np" else {k: to_torch(v) for k, v in options.items()}
        function = name if half == "np" else name.removesuffix("_forward")
        ROWS.append(Row(f"{half}.{stem}", function, error, text, args, opts))


def numpy(stem, name, error, says, *arguments, **options):
    both(stem, name, error, says, *arguments, halves=("np",), **options)


def torches(stem, name, error, says, *arguments, **options):
    both(stem, name, error, says, *arguments, halves=("pt",), **options)


def normal(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape)


def with_bad(x, value, at):
    x = x.copy()
    x[at] = value
    return x


def f32(x):
    return x.astype(np.float32)


NAN, INF, RNG = np.nan, np.inf, np.random.default_rng(0)
OTHER = np.dtype(np.float64).newbyteorder()

# linear
X, Y = normal(2, 3), normal(3, 4)
both("linear", "matmul_forward", V, "matmul: X has 1 axes, expected at least 2", X[0], Y)
both("linear", "matmul_forward", V, "matmul: Y has 1 axes, expected at least 2", X, Y[0])
both("linear", "matmul_forward", V, "matmul: Y has shape (2, 4), expected (3, 4)", X, Y[:2])
both("linear", "matmul_forward", V, "matmul: Y has shape (3, 4), expected (5, 3, 4)", normal(5, 2, 3), Y)
both("linear", "matmul_forward", T, "matmul: X has dtype INT64, expected floating point", X.astype(int), Y)
both("linear", "matmul_forward", T, "matmul: Y has dtype FLOAT32 but X has FLOAT64, expected one dtype", X, f32(Y))
both("linear", "matmul_forward", T, "matmul: X is list, expected ARRAY", X.tolist(), Y)
numpy("linear", "matmul_forward", T, "matmul: X has dtype float16, expected float32 or float64", X.astype("f2"), Y)
numpy("linear", "matmul_forward", T, f"matmul: Y has dtype {OTHER}, expected float32 or float64", X, Y.astype(OTHER))
numpy("linear", "matmul_forward", T, "matmul: Y is torch.Tensor, expected a NumPy array", X, torch.tensor(Y))
numpy("linear", "matmul_forward", V, "matmul: X holds nan at index (1, 2), expected finite numbers",
      with_bad(X, NAN, (1, 2)), Y)
numpy("linear", "matmul_forward", V, "matmul: Y holds -inf at index (0, 3), expected finite numbers",
      X, with_bad(Y, -INF, (0, 3)))
cache = MODULES["np.linear"].matmul_forward(X, Y)[1]
numpy("linear", "matmul_backward", V, "matmul_backward: dZ has shape (3, 4), expected (2, 4)", normal(3, 4), cache)
numpy("linear", "matmul_backward", V, "matmul_backward: dZ holds nan at index (0, 0), expected finite numbers",
      with_bad(normal(2, 4), NAN, (0, 0)), cache)
numpy("linear", "matmul_backward", T, "matmul_backward: dZ has dtype float32 but X has float64, expected one dtype",
      f32(normal(2, 4)), cache)
ROWS.append(Row("pt.linear", "matmul", T, "matmul: X is numpy.ndarray, expected a torch tensor", (X, Y), {}))

W, b = normal(3, 4), normal(4)
both("linear", "linear_forward", V, "linear: X has 0 axes, expected at least 1", np.array(1.0), W)
both("linear", "linear_forward", V, "linear: W has shape (4, 3), expected (3, 3)", X, W.T)
both("linear", "linear_forward", V, "linear: b has shape (3,), expected (4,)", X, W, normal(3))
both("linear", "linear_forward", V, "linear: b has shape (1, 4), expected (4,)", X, W, b[None])
both("linear", "linear_forward", T, "linear: b has dtype INT64, expected floating point", X, W, np.zeros(4, int))
both("linear", "linear_forward", T, "linear: b is float, expected ARRAY", X, W, 0.0)
numpy("linear", "linear_forward", V, "linear: W holds inf at index (2, 0), expected finite numbers",
      X, with_bad(W, INF, (2, 0)))
numpy("linear", "linear_forward", V, "linear: b holds nan at index (3,), expected finite numbers",
      X, W, with_bad(b, NAN, 3))
cache = MODULES["np.linear"].linear_forward(X, W, b)[1]
numpy("linear", "linear_backward", V, "linear_backward: dY has shape (2, 3), expected (2, 4)", normal(2, 3), cache)
numpy("linear", "linear_backward", V, "linear_backward: dY holds inf at index (1, 1), expected finite numbers",
      with_bad(normal(2, 4), INF, (1, 1)), cache)

both("linear", "add_forward", V, "add: shape of b is (2,), expected a shape that repeats to (2, 3)", X, normal(2))
both("linear", "add_forward", V, "add: shape of b is (5, 2, 3), expected a shape that repeats to (2, 3)",
     X, normal(5, 2, 3))
both("linear", "add_forward", V, "add: shape of b is (1, 2, 3), expected a shape that repeats to (2, 3)", X, X[None])
both("linear", "add_forward", T, "add: X is list, expected ARRAY", X.tolist(), X)
numpy("linear", "add_forward", V, "add: b holds nan at index (0, 0), expected finite numbers",
      X, with_bad(X, NAN, (0, 0)))
cache = MODULES["np.linear"].add_forward(X, normal(2, 1))[1]
numpy("linear", "add_backward", V, "add_backward: dY has shape (3,), expected (2, 3)", X[0], cache)
numpy("linear", "add_backward", V, "add_backward: dY holds nan at index (0, 1), expected finite numbers",
      with_bad(X, NAN, (0, 1)), cache)
both("linear", "unbroadcast", V, "unbroadcast: shape is (2,), expected a shape that repeats to (2, 3)", X, (2,))
both("linear", "unbroadcast", T, "unbroadcast: dY is list, expected ARRAY", X.tolist(), (3,))

E, ids = normal(5, 6), np.array([[0, 4], [4, 1]])
both("linear", "gather_forward", V, "gather: E has 1 axes, expected at least 2", E[0], ids)
both("linear", "gather_forward", T, "gather: ids has dtype FLOAT64, expected an array of whole numbers", E, ids * 1.0)
both("linear", "gather_forward", T, "gather: ids is list, expected an array of whole numbers", E, ids.tolist())
numpy("linear", "gather_forward", T, "gather: ids has dtype bool, expected an array of whole numbers", E, ids > 0)
torches("linear", "gather", T, "gather: ids has dtype torch.bool, expected an array of whole numbers", E, ids > 0)
numpy("linear", "gather_forward", V, "gather: ids holds -1, expected whole numbers from 0 to 4", E, ids - 1)
numpy("linear", "gather_forward", V, "gather: ids holds 5, expected whole numbers from 0 to 4", E, ids + 1)
numpy("linear", "gather_forward", V, "gather: E holds nan at index (0, 0), expected finite numbers",
      with_bad(E, NAN, (0, 0)), ids)
cache = MODULES["np.linear"].gather_forward(E, ids)[1]
numpy("linear", "gather_backward", V, "gather_backward: dY has shape (3, 2, 6), expected (2, 2, 6)",
      normal(3, 2, 6), cache)
numpy("linear", "gather_backward", V, "gather_backward: dY holds nan at index (0, 0, 0), expected finite numbers",
      with_bad(normal(2, 2, 6), NAN, (0, 0, 0)), cache)
Y6 = normal(2, 2, 6)
both("linear", "scatter_add_forward", V, "scatter_add: ids has shape (2, 2), expected (2,)", Y6[0], ids, 5)
both("linear", "scatter_add_forward", V, "scatter_add: size is 0, expected at least 1", Y6, ids, 0)
both("linear", "scatter_add_forward", T, "scatter_add: size is float, expected a whole number", Y6, ids, 5.0)
both("linear", "scatter_add_forward", T, "scatter_add: size is bool, expected a whole number", Y6, ids, True)
both("linear", "scatter_add_forward", T, "scatter_add: Y is list, expected ARRAY", Y6.tolist(), ids, 5)
both("linear", "scatter_add_forward", T, "scatter_add: ids has dtype FLOAT64, expected an array of whole numbers",
     Y6, ids * 1.0, 5)
numpy("linear", "scatter_add_forward", V, "scatter_add: ids holds 4, expected whole numbers from 0 to 3", Y6, ids, 4)
cache = MODULES["np.linear"].scatter_add_forward(Y6, ids, 5)[1]
numpy("linear", "scatter_add_backward", V, "scatter_add_backward: dZ has 1 axes, expected at least 2", normal(6), cache)
for rows in (3, 7):
    numpy("linear", "scatter_add_backward", V, f"scatter_add_backward: dZ has shape ({rows}, 6), expected (5, 6)",
          normal(rows, 6), cache)
numpy("linear", "scatter_add_backward", V, "scatter_add_backward: dZ holds nan at index (0, 0), expected finite",
      with_bad(normal(5, 6), NAN, (0, 0)), cache)
both("linear", "gather_forward", V, "gather: E has shape (2, 5, 6), expected (V, d)", np.stack([E, E]), ids)
numpy("linear", "gather_forward", T, "gather: ids is torch.Tensor, expected an array of whole", E, torch.tensor(ids))
ROWS.append(Row("pt.linear", "gather", T, "gather: ids is numpy.ndarray, expected a tensor of whole",
                (torch.tensor(E), ids), {}))
numpy("linear", "init_linear", V, "init_linear: d_in is 0, expected at least 1", None, 0, 4)
numpy("linear", "init_linear", T, "init_linear: d_out is bool, expected a whole number", None, 4, True)
torches("linear", "Linear", V, "Linear: d_in is -1, expected at least 1", -1, 4)
torches("linear", "Linear", T, "Linear: d_out is float, expected a whole number", 4, 4.0)

# softmax
S = normal(2, 3, 4)
for name in ("softmax_forward", "logsumexp_forward", "log_softmax_forward"):
    where = name.removesuffix("_forward")
    for half, says in (("np", where), ("pt", where)):
        both("softmax", name, V, f"{says}: S has 0 axes, expected at least 1", np.array(1.0), halves=[half])
        both("softmax", name, T, f"{says}: S has dtype INT64, expected floating point", S.astype(int), halves=[half])
        both("softmax", name, V, f"{says}: S has shape (2, 0), expected at least 1 entry along the last axis",
             normal(2, 0), halves=[half])
    numpy("softmax", name, T, f"{where}: S is list, expected a NumPy array", S.tolist())
    numpy("softmax", name, V, f"{where}: S holds inf at index (0, 0, 0), expected finite numbers",
          with_bad(S, INF, (0, 0, 0)))
FIT = "expected (3, 4) or (2, 3, 4)"
both("softmax", "softmax_forward", V, f"softmax: mask has shape (4, 3), {FIT}", S, np.ones((4, 3), bool))
both("softmax", "softmax_forward", V, f"softmax: mask has shape (2, 4), {FIT}", S, np.ones((2, 4), bool))
both("softmax", "softmax_forward", V, f"softmax: mask has shape (2, 3, 1), {FIT}", S, np.ones((2, 3, 1), bool))
both("softmax", "softmax_forward", V, f"softmax: mask has shape (4,), {FIT}", S, np.ones(4, bool))
both("softmax", "softmax_forward", T, "softmax: mask has dtype FLOAT64, expected bool (True = may attend)",
     S, np.ones((3, 4)))
both("softmax", "softmax_forward", T, "softmax: mask is list, expected a boolean MASK", S, [[True] * 4] * 3)
cache = MODULES["np.softmax"].softmax_forward(S)[1]
numpy("softmax", "softmax_backward", V, "softmax_backward: dA has shape (3, 4), expected (2, 3, 4)", S[0], cache)
numpy("softmax", "softmax_backward", V, "softmax_backward: dA holds nan at index (1, 1, 1), expected finite numbers",
      with_bad(S, NAN, (1, 1, 1)), cache)
numpy("softmax", "softmax_backward", T, "softmax_backward: dA has dtype float32 but A has float64, expected one dtype",
      f32(S), cache)
cache = MODULES["np.softmax"].logsumexp_forward(S)[1]
numpy("softmax", "logsumexp_backward", V, "logsumexp_backward: dL has shape (3,), expected (2, 3)", normal(3), cache)
numpy("softmax", "logsumexp_backward", V, "logsumexp_backward: dL holds nan at index (0, 0), expected finite numbers",
      with_bad(normal(2, 3), NAN, (0, 0)), cache)
cache = MODULES["np.softmax"].log_softmax_forward(S)[1]
numpy("softmax", "log_softmax_backward", V, "log_softmax_backward: dY has shape (3, 4), expected (2, 3, 4)",
      S[0], cache)
numpy("softmax", "log_softmax_backward", V, "log_softmax_backward: dY holds inf at index (0, 0, 0), expected finite",
      with_bad(S, INF, (0, 0, 0)), cache)
numpy("softmax", "log_softmax_backward", T, "log_softmax_backward: dY is list, expected a NumPy array",
      S.tolist(), cache)
both("softmax", "softmax_jacobian", V, "softmax_jacobian: a has shape (3, 4), expected (m,)", S[0])
both("softmax", "softmax_jacobian", T, "softmax_jacobian: a is list, expected ARRAY", [1.0])
numpy("softmax", "softmax_jacobian", V, "softmax_jacobian: a holds nan at index (0,), expected finite numbers",
      np.array([NAN]))

# mask
both("mask", "causal_mask", V, "causal_mask: n is 0, expected at least 1", 0)
both("mask", "causal_mask", T, "causal_mask: n is bool, expected a whole number", True)
both("mask", "causal_mask", T, "causal_mask: m is float, expected a whole number", 3, 4.0)
both("mask", "causal_mask", V, "causal_mask: offset is -1, expected at least 0", 3, offset=-1)
lengths = np.array([2, 0, 3])
both("mask", "padding_mask", T, "padding_mask: lengths is list, expected an array of whole numbers", [2, 3], 3)
both("mask", "padding_mask", T, "padding_mask: lengths has dtype FLOAT64, expected an array of whole", lengths * 1.0, 3)
both("mask", "padding_mask", V, "padding_mask: lengths has shape (3, 1), expected (B,)", lengths[:, None], 3)
both("mask", "padding_mask", V, "padding_mask: m is -1, expected at least 1", lengths, -1)
both("mask", "padding_mask", V, "padding_mask: ndim is 2, expected at least 3", lengths, 3, 2)
numpy("mask", "padding_mask", V, "padding_mask: lengths holds 3, expected whole numbers from 0 to 2", lengths, 2)
numpy("mask", "padding_mask", V, "padding_mask: lengths holds -1, expected whole numbers from 0 to 3", lengths - 1, 3)
full = np.ones((2, 3, 4), bool)
both("mask", "combine_masks", V, "combine_masks: got no mask, expected at least 1")
both("mask", "combine_masks", V, "combine_masks: masks have shapes (2, 3, 4), (4, 3), expected ones that fit together",
     full, np.ones((4, 3), bool))
both("mask", "combine_masks", V, "combine_masks: masks have shapes (2, 3, 4), (4,), expected ones that fit together",
     full, np.ones(4, bool))
both("mask", "combine_masks", T, "combine_masks: mask has dtype INT64, expected bool (True = may attend)",
     full, full.astype(int))
numpy("mask", "combine_masks", T, "combine_masks: mask is torch.Tensor, expected a boolean array", full,
      torch.tensor(full))
both("mask", "combine_masks", T, "combine_masks: mask is list, expected a boolean MASK", full, [[True]])
numpy("mask", "fully_masked_rows", T, "fully_masked_rows: mask is list, expected a boolean array", [[True]])
both("mask", "fully_masked_rows", T, "fully_masked_rows: mask has dtype FLOAT64, expected bool", full * 1.0)
for t, error, says in ((0, V, "t is 0, expected at least 1"), (3, V, "t is 3, expected less than the 3 tokens of X"),
                       (1.0, T, "t is float, expected a whole number")):
    both("mask", "leak_probe", error, f"leak_probe: {says}", abs, S, t, RNG)
both("mask", "leak_probe", V, "leak_probe: X has 1 axes, expected at least 2", abs, S[0, 0], 1, RNG)
both("mask", "leak_probe", T, "leak_probe: X is list, expected ARRAY", abs, S.tolist(), 1, RNG)

# gradcheck
numpy("gradcheck", "relative_error", V, "relative_error: b has shape (3, 4), expected (2, 3, 4)", S, S[0])
for i, name in enumerate("ab"):
    pair = [S, S]
    pair[i] = with_bad(S, NAN, (0, 1, 2))
    numpy("gradcheck", "relative_error", V, f"relative_error: {name} holds nan at index (0, 1, 2), expected finite",
          *pair)
numpy("gradcheck", "relative_error", T, "relative_error: b has dtype complex128, expected real numbers", S, 1j * S)
numpy("gradcheck", "numerical_gradient", T, "numerical_gradient: X is list, expected a NumPy array", np.sum, [1.0])
numpy("gradcheck", "numerical_gradient", T, "numerical_gradient: X has dtype int64, expected floating point",
      np.sum, np.arange(3))
numpy("gradcheck", "numerical_gradient", V, "numerical_gradient: X holds nan at index (0,), expected finite numbers",
      np.sum, np.array([NAN]))
numpy("gradcheck", "numerical_gradient", V, "numerical_gradient: h is 0, expected a finite number greater than 0",
      np.sum, X, 0)
numpy("gradcheck", "numerical_gradient", V, "numerical_gradient: shape of dY is (3, 3), expected a shape that repeats",
      np.copy, X, dY=np.ones((3, 3)))
numpy("gradcheck", "relative_error", V, "relative_error: floor is nan", S, S, NAN)
numpy("gradcheck", "numerical_gradient", T, "numerical_gradient: h is str, expected a number", np.sum, X, "small")
RNG = np.random.default_rng(0)

# arrays that compute otherwise: a mask of its own is lost on the way, and `*` of a matrix is the product of matrices
for odd in (np.ma.masked_array(X, X > 0), X.view(np.matrix)):
    said = f"{type(odd).__module__}.{type(odd).__qualname__}, expected a"
    numpy("linear", "matmul_forward", T, f"matmul: X is {said} NumPy array", odd, Y)
    numpy("linear", "linear_forward", T, f"linear: W is {said} NumPy array", normal(3, 2), odd)
    numpy("linear", "gather_forward", T, f"gather: ids is {said}n array of whole numbers", E, odd.astype(int))
    numpy("softmax", "softmax_forward", T, f"softmax: mask is {said} boolean array", X, odd > 0)
    numpy("mask", "combine_masks", T, f"combine_masks: mask is {said} boolean array", X > 0, odd > 0)
    numpy("gradcheck", "relative_error", T, f"relative_error: b is {said} NumPy array", X, odd)
    ROWS.append(Row("io.safetensors", "save_safetensors", T, f"save_safetensors: a is {odd.__class__.__name__}, expected a NumPy array", ({"a": odd}, "x"), {}))
    numpy("gradcheck", "gradcheck", T, f"gradcheck: X is {said} NumPy array", abs, abs, {"X": odd}, RNG)


def one(x):
    return x, None


numpy("gradcheck", "gradcheck", T, "gradcheck: X has dtype float32, expected float64", one, one, {"X": f32(X)}, RNG)
numpy("gradcheck", "gradcheck", T, "gradcheck: X is list, expected a NumPy array", one, one, {"X": [1.0]}, RNG)
numpy("gradcheck", "gradcheck", T, "gradcheck: p.w has dtype float32, expected float64",
      one, one, {"p": {"w": f32(X)}}, RNG)
numpy("gradcheck", "gradcheck", V, "gradcheck: h is 0, expected a finite number greater than 0",
      one, lambda dY, cache: dY, {"X": X}, RNG, 0)
for place, name, more in (("np.gradcheck", "gradcheck", ()), ("pt.gradcheck", "parity", (torch.clone,))):
    for grads, says in (((X, X), "backward gave 2 gradients, expected 1: X"), (X.T,
                        "dX has shape (3, 2), expected (2, 3)")):
        ROWS.append(Row(place, name, V, f"{name}: {says}",
                        (one, lambda dY, cache, grads=grads: grads, *more, {"X": X}, RNG), {}))
numpy("gradcheck", "named_gradients", V, "f: backward gave p.w, expected p.w, p.b",
      "f", {"p": {"w": X, "b": b}}, {"w": X})

# attention
Q, K, VAL = normal(2, 3, 5), normal(2, 4, 5), normal(2, 4, 6)
ADDITIVE = {"W_q": normal(5, 8), "W_k": normal(5, 8), "w": normal(8)}
FORMS = [("attention_forward", (), ("np", "pt")), ("fused_attention", (), ("pt",)),
         ("additive_attention_forward", (ADDITIVE,), ("np", "pt")), ("kernel_attention_forward", (0.5,), ("np", "pt"))]
for name, more, halves in FORMS:
    f = name.removesuffix("_forward")

    def wrong(error, says, *arguments, name=name, more=more, halves=halves, f=f, only=None, **options):
        for half in (only,) if only else halves:
            if half in halves:
                both("attention", name, error, f"{f}: {says}", *arguments, *more, halves=[half], **options)

    if name in ("attention_forward", "fused_attention"):
        wrong(V, "scale is nan, expected a finite number", Q, K, VAL, scale=NAN)
        wrong(T, "scale is str, expected a number", Q, K, VAL, scale="small")
        wrong(T, "scale is bool, expected a number", Q, K, VAL, scale=True)
    other = {"np": "Q is torch.Tensor, expected a NumPy array", "pt": "Q is numpy.ndarray, expected a torch tensor"}
    for half in halves:  # everything of the other half, so that only the half can be wrong
        given = (Q, K, VAL) if half == "pt" else tuple(map(to_torch, (Q, K, VAL)))
        place = name if half == "np" else f
        ROWS.append(Row(f"{half}.attention", place, T, f"{f}: {other[half]}", (*given, *more), {}))
    wrong(V, "Q has 1 axes, expected at least 2", Q[0, 0], K, VAL)
    wrong(V, "K has 4 keys but V has 3 values", Q, K, VAL[:, :3])
    if "additive" not in name:
        wrong(V, "K has width 4 but Q has width 5", Q, K[..., :4], VAL)
    wrong(V, "K has leading axes (1,) but Q has (2,)", Q, K[:1], VAL)
    wrong(V, "V has leading axes () but Q has (2,)", Q, K, VAL[0])
    wrong(V, "K has 0 keys, expected at least 1", Q, K[:, :0], VAL[:, :0])
    wrong(T, "K has dtype FLOAT32 but Q has FLOAT64, expected one dtype", Q, f32(K), VAL)
    wrong(T, "V has dtype INT64, expected floating point", Q, K, VAL.astype(int))
    wrong(T, "Q is list, expected a NumPy array", Q.tolist(), K, VAL, only="np")
    wrong(T, "K is list, expected ARRAY", Q, K.tolist(), VAL)
    wrong(T, "V is torch.Tensor, expected a NumPy array", Q, K, torch.tensor(VAL), only="np")
    if "pt" in halves:
        ROWS.append(Row("pt.attention", f, T, f"{f}: K is numpy.ndarray, expected a torch tensor",
                        (torch.tensor(Q), K, VAL, *map(to_torch, more)), {}))
    for key, value, at in (("Q", NAN, (1, 2, 4)), ("K", INF, (0, 3, 0)), ("V", -INF, (1, 0, 5))):
        arrays = {"Q": Q, "K": K, "V": VAL}
        arrays[key] = with_bad(arrays[key], value, at)
        wrong(V, f"{key} holds {value} at index {at}, expected finite numbers", *arrays.values(), only="np")
    wrong(V, f"mask has shape (4, 3), {FIT}", Q, K, VAL, mask=np.ones((4, 3), bool))
    wrong(V, f"mask has shape (2, 4), {FIT}", Q, K, VAL, mask=np.ones((2, 4), bool))
    wrong(V, f"mask has shape (2, 4, 3), {FIT}", Q, K, VAL, mask=np.ones((2, 4, 3), bool))
    wrong(V, f"mask has shape (3, 1), {FIT}", Q, K, VAL, mask=np.ones((3, 1), bool))
    wrong(V, f"mask has shape (1, 1, 3, 4), {FIT}", Q, K, VAL, mask=np.ones((1, 1, 3, 4), bool))
    wrong(T, "mask has dtype FLOAT64, expected bool (True = may attend)", Q, K, VAL, mask=np.zeros((3, 4)))
    wrong(T, "mask has dtype INT64, expected bool (True = may attend)", Q, K, VAL, mask=np.ones((3, 4), int))
    wrong(T, "mask is list, expected a boolean MASK", Q, K, VAL, mask=[[True] * 4] * 3)
    wrong(T, "mask is torch.Tensor, expected a boolean array", Q, K, VAL, mask=torch.ones(3, 4, dtype=torch.bool),
          only="np")
ROWS.append(Row("pt.attention", "attention", T, "attention: mask is numpy.ndarray, expected a boolean tensor",
                tuple(map(to_torch, (Q, K, VAL))), {"mask": np.ones((3, 4), bool)}))
torches("attention", "fused_attention", V, "fused_attention: is_causal is True, expected that only with n = m",
        Q, K, VAL, is_causal=True)
torches("attention", "fused_attention", V, "fused_attention: is_causal is True, expected that only with n = m",
        K, K, VAL, mask=np.ones((4, 4), bool), is_causal=True)

for key, bad, error, says in (
    ("W_q", normal(4, 8), V, "params['W_q'] has shape (4, 8), expected (5, 8)"),
    ("W_k", normal(5, 7), V, "params['W_k'] has shape (5, 7), expected (5, 8)"),
    ("w", normal(8, 1), V, "params['w'] has shape (8, 1), expected (1,)"),
    ("w", f32(normal(8)), T, "params['w'] has dtype FLOAT32 but Q has FLOAT64, expected one dtype"),
    ("w", [1.0], T, "params['w'] is list, expected ARRAY"),
    ("v", normal(8), V, "params has W_q, W_k, w, v, expected W_q, W_k, w"),
):
    if key == "w" and np.ndim(bad) == 2:
        says = "params['w'] has shape (8, 1), expected (8,)"
    both("attention", "additive_attention_forward", error, f"additive_attention: {says}", Q, K, VAL,
         ADDITIVE | {key: bad})
both("attention", "additive_attention_forward", V, "additive_attention: params has W_q, W_k, expected W_q, W_k, w",
     Q, K, VAL, {"W_q": ADDITIVE["W_q"], "W_k": ADDITIVE["W_k"]})
both("attention", "additive_attention_forward", T, "additive_attention: params is list, expected a dict with W_q",
     Q, K, VAL, [1, 2, 3])
numpy("attention", "additive_attention_forward", V, "additive_attention: params['w'] holds nan at index (3,), expected",
      Q, K, VAL, ADDITIVE | {"w": with_bad(ADDITIVE["w"], NAN, 3)})
for bandwidth, error, says in ((0, V, "is 0, expected a finite number greater than 0"), (-1.0, V, "is -1.0, expected"),
                               (NAN, V, "is nan, expected a finite number"), (True, T, "is bool, expected a number"),
                               ("wide", T, "is str, expected a number")):
    both("attention", "kernel_attention_forward", error, f"kernel_attention: bandwidth {says}", Q, K, VAL, bandwidth)

for name, more, halves in FORMS:
    if "np" in halves:
        cache = getattr(MODULES["np.attention"], name)(Q, K, VAL, *more)[1]
        back = name.replace("_forward", "_backward")
        dO = normal(2, 3, 6)
        numpy("attention", back, V, f"{back}: dO has shape (2, 4, 6), expected (2, 3, 6)", normal(2, 4, 6), cache)
        numpy("attention", back, V, f"{back}: dO has shape (3, 6), expected (2, 3, 6)", dO[0], cache)
        numpy("attention", back, V, f"{back}: dO holds nan at index (0, 0, 0), expected finite numbers",
              with_bad(dO, NAN, (0, 0, 0)), cache)
        numpy("attention", back, T, f"{back}: dO has dtype float32 but ", f32(dO), cache)
        numpy("attention", back, T, f"{back}: dO is torch.Tensor, expected a NumPy array", torch.tensor(dO), cache)

TOKENS = normal(2, 3, 4)
HEAD = {"W_q": normal(4, 5), "b_q": normal(5), "W_k": normal(4, 5), "b_k": normal(5), "W_v": normal(4, 6),
        "b_v": normal(6)}
NAMES = "expected W_q, b_q, W_k, b_k, W_v, b_v"
both("attention", "self_attention_forward", V, "self_attention: X has 1 axes, expected at least 2", TOKENS[0, 0], HEAD)
numpy("attention", "self_attention_forward", V, "self_attention: X holds nan at index (0, 0, 0), expected finite",
      with_bad(TOKENS, NAN, (0, 0, 0)), HEAD)
numpy("attention", "self_attention_forward", T, "self_attention: X is list, expected a NumPy array",
      TOKENS.tolist(), HEAD)
both("attention", "self_attention_forward", T, "self_attention: params is list, expected a dict with W_q, b_q",
     TOKENS, [])
both("attention", "self_attention_forward", V, f"self_attention: params has no names, {NAMES}", TOKENS, {})
both("attention", "self_attention_forward", V, f"self_attention: params has W_q, W_k, {NAMES}",
     TOKENS, {"W_q": HEAD["W_q"], "W_k": HEAD["W_k"]})
both("attention", "self_attention_forward", V, f"self_attention: params has W_q, b_q, W_k, b_k, W_v, b_v, W_o, {NAMES}",
     TOKENS, HEAD | {"W_o": HEAD["W_v"]})
for key, bad, error, says in (
    ("W_q", normal(3, 5), V, "has shape (3, 5), expected (4, 5)"),
    ("W_k", normal(4, 6), V, "has shape (4, 6), expected (4, 5)"),
    ("b_v", normal(5), V, "has shape (5,), expected (6,)"),
    ("W_v", np.array(1.0), V, "has 0 axes, expected at least 2"),
    ("W_v", [[1.0]], T, "is list, expected ARRAY"),
    ("b_k", f32(normal(5)), T, "has dtype FLOAT32 but X has FLOAT64, expected one dtype"),
):
    both("attention", "self_attention_forward", error, f"self_attention: params['{key}'] {says}", TOKENS,
         HEAD | {key: bad})
numpy("attention", "self_attention_forward", V, "self_attention: params['W_v'] holds inf at index (3, 5), expected",
      TOKENS, HEAD | {"W_v": with_bad(HEAD["W_v"], INF, (3, 5))})
numpy("attention", "self_attention_forward", T, "self_attention: params['W_q'] is torch.Tensor, expected a NumPy array",
      TOKENS, to_torch(HEAD))
both("attention", "self_attention_forward", V, "attention: mask has shape (2, 3), expected (3, 3) or (2, 3, 3)",
     TOKENS, HEAD, mask=np.ones((2, 3), bool))
cache = MODULES["np.attention"].self_attention_forward(TOKENS, HEAD)[1]
numpy("attention", "self_attention_backward", V, "attention_backward: dO has shape (2, 3, 4), expected (2, 3, 6)",
      TOKENS, cache)
ROWS += [
    Row("pt.attention", "SelfAttention", T, "SelfAttention: X is numpy.ndarray, expected a torch tensor",
        (TOKENS,), {}),
    Row("pt.attention", "SelfAttention", V, "SelfAttention: X has shape (2, 3, 5), expected (2, 3, 4)",
        (to_torch(Q),), {}),
    Row("pt.attention", "SelfAttention", V, "fused_attention: is_causal is True, expected that only",
        (to_torch(TOKENS), torch.ones(3, 3, dtype=torch.bool), True), {}),
    Row("config", "AttentionConfig", V, "AttentionConfig: d is 0, expected at least 1", (0, 4, 5), {}),
    Row("config", "AttentionConfig", T, "AttentionConfig: d_k is bool, expected a whole number", (4, True, 5), {}),
    Row("config", "AttentionConfig", T, "AttentionConfig: d_v is float, expected a whole number", (4, 4, 5.0), {}),
    Row("config", "AttentionConfig", T, "AttentionConfig: bias is int, expected bool", (4, 4, 5, 1), {}),
]

# trees
ROWS += [
    Row("tree", "flatten", T, "flatten: tree is list, expected a dict", ([X],), {}),
    Row("tree", "flatten", V, "flatten: key 'a.b' under 'the root', expected a name without a dot", ({"a.b": X},), {}),
    Row("tree", "flatten", V, "flatten: key '' under 'a.', expected a name without a dot", ({"a": {"": X}},), {}),
    Row("tree", "flatten", V, "flatten: key 1 under 'the root', expected a name without a dot", ({1: X},), {}),
    Row("tree", "unflatten", V, "unflatten: 'a.b' runs through a leaf, expected a subtree", ({"a": X, "a.b": X},), {}),
    Row("tree", "unflatten", V, "unflatten: 'a' is there twice, expected one leaf or one subtree",
        ({"a.b": X, "a": X},), {}),
    Row("tree", "map_tree", V, "map_tree: another tree has b, expected a", (np.add, {"a": X}, {"b": X}), {}),
    Row("tree", "map_tree", V, "map_tree: another tree has ndarray, expected b", (np.add, {"a": {"b": X}}, {"a": X}),
        {}),
    Row("io.safetensors", "save_safetensors", T, "save_safetensors: a.b is list, expected a NumPy array",
        ({"a": {"b": [1]}},
        "x"), {}),
    Row("io.safetensors", "load_safetensors", FileNotFoundError, "load_safetensors: no file at nowhere",
        ("nowhere",), {}),
    Row("io.safetensors", "load_safetensors", ValueError, "is damaged (", (__file__,), {}),
]


def call(row: Row, module):
    function = getattr(module, row.name)
    if row.name == "SelfAttention":
        function = function(AttentionConfig(4, 5, 6)).double()
    return function(*row.arguments, **row.options)


def complaint(row: Row, module) -> str:
    """What is wrong with how this call is refused; nothing, if it is refused as the row says."""
    try:
        call(row, module)
    except Exception as error:
        if type(error) is not row.error:
            return f"{type(error).__name__}: {error}"
        return "" if row.says in str(error) else f"says: {error}"
    return "was accepted"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.place}-{row.says}")
def test_wrong_input_is_refused_in_our_words(row):
    assert not complaint(row, MODULES[row.place])


UNNAMED = {"cache", "rng", "generator", "dtype", "device", "f", "forward", "backward", "pt_function", "np_forward",
           "np_backward", "inputs", "grads", "where", "config", "masks", "bias"}


def test_every_function_and_every_argument_is_in_the_table():
    """Each array, count and parameter tree of each public function is refused at least once by its name."""
    missing = []
    for place in (p for p in MODULES if p[:3] in ("np.", "pt.")):
        module = importlib.import_module(f"byhand.{place}")
        for name, f in vars(module).items():
            if getattr(f, "__module__", "") != module.__name__ or name.startswith("_") or hasattr(f, "_fields"):
                continue
            said = [row.says for row in ROWS if row.place == place and row.name == name]
            if not said:
                missing.append(f"{place}.{name}")
            if name.endswith("_backward") or not said:
                continue
            missing += [f"{place}.{name}: {p}" for p in inspect.signature(inspect.unwrap(f)).parameters
                        if p not in UNNAMED and not any(re.search(rf"\b{p}\b",
                                                        text.partition(": ")[2]) for text in said)]
    assert not missing


# Checks with a hole, kept: for each, a row of the table goes red. (module of byhand.check, old text, new text)

HOLES = {
    "V may have any length": ("shapes", "    return seen.setdefault(letter, size)", "    return seen.setdefault(letter, size) if letter != \"m\" else size"),
    "widths may differ": ("shapes", "    return seen.setdefault(letter, size)", "    return seen.setdefault(letter, size) if letter != \"d_k\" else size"),
    "any letter may differ": ("shapes", "    return seen.setdefault(letter, size)", "    return size"),
    "leading axes may differ": ("shapes", "        if seen.setdefault(lead, front) != front:", "        if seen.setdefault(lead, front) and False:"),
    "leading axes that no letter asks for": ("shapes", "at < len(head) or (at > len(head) and lead is None)", "at < len(head)"),
    "any rank": ("shapes", "at < len(head) or (at", "(at"),
    "no key at all": ("arrays", 'if self.kind == "float" and 0 in shape:', "if False:"),
    "arrays of the other half": ("arrays", "if not (is_plain(x) if self.numpy else isinstance(x, self.array_type)):", "if not hasattr(x, 'shape'):"),
    "masks broadcast": ("shapes", "shape[-1:] == full[-1:] and all(", "all("),
    "a mask of any rank": ("shapes", "len(shape) == len(full) and shape[-1:]", "shape[-1:]"),
    "masks of numbers": ("arrays", 'elif self.kind == "bool" and not is_bool(x):', "elif False:"),
    "infinity is finite": ("arrays", "ok = np.isfinite(x)", "ok = ~np.isnan(x)"),
    "NaN is finite": ("arrays", "ok = np.isfinite(x)", "ok = ~np.isinf(x)"),
    "the index of the last": ("arrays", "np.argwhere(~ok)[0]", "np.argwhere(ok)[0]"),
    "whole numbers for floats": ("arrays", 'if not (x.dtype.kind == "f" if self.numpy else x.is_floating_point()):', "if False:"),
    "a matrix is an array, and a mask may be lost": ("numbers", "isinstance(x, np.ndarray) and not isinstance(x, np.ma.MaskedArray | np.matrix)", "isinstance(x, np.ndarray)"),
    "complex numbers are real": ("rules", 'if x.dtype.kind not in "fiu":', "if False:"),
    "any order of bytes": ("arrays", "x.dtype not in (_FLOAT32, _FLOAT64)", "x.dtype.itemsize not in (4, 8)"),
    "float16 is enough": ("arrays", "x.dtype not in (_FLOAT32, _FLOAT64)", "False"),
    "dtypes may differ": ("arrays", "elif x.dtype != dtype and", "elif False and"),
    "floats for ids": ("arrays", 'if x.dtype.kind not in "iu":', "if False:"),
    "b may be larger": ("shapes", "return len(shape) <= len(full) and all(", "return all("),
    "b need not repeat": ("shapes", "s in (1, f) for s, f in zip(shape, tail, strict=True)", "s <= f for s, f in zip(shape, tail, strict=False)"),
    "True is a number": ("numbers", "isinstance(x, bool) or not isinstance(x, numbers.Real)", "not isinstance(x, numbers.Real)"),
    "True is a count": ("numbers", "isinstance(x, bool) or not isinstance(x, numbers.Integral)", "not isinstance(x, numbers.Integral)"),
    "5.0 is a count": ("numbers", "isinstance(x, bool) or not isinstance(x, numbers.Integral)", "isinstance(x, bool)"),
    "zero width": ("numbers", "        return x > self.low", "        return x >= self.low"),
    "NaN is a number": ("numbers", "if not math.isfinite(value) or any(", "if any("),
    "one too few": ("numbers", "        return x >= self.low", "        return x >= self.low - 1"),
    "negative ids count from the end": ("rules", "0 <= x.min() and x.max() < size", "x.max() < size"),
    "an id too large": ("rules", "0 <= x.min() and x.max() < size", "0 <= x.min()"),
    "an id one too large": ("rules", "x.max() < size", "x.max() <= size"),
    "shapes may differ": ("rules", "if tuple(got) != tuple(expected):", "if False:"),
    "no mask to combine": ("rules", "if not masks:", "if False:"),
    "masks that do not fit": ("rules", "if not agree or any", "if any"),
    "masks of odd ranks": ("rules", "any(len(s) not in (2, rank) for s in shapes)", "False"),
    "masks of the other half": ("rules", "if not (is_plain(mask) if kind is np.ndarray else isinstance(mask, kind)):", 'if not hasattr(mask, "dtype"):'),
    "names may be missing": ("kinds", "any(key not in x for key in self.required) or ", ""),
    "names may be more": ("kinds", " or any(key not in self.rules for key in x)", ""),
    "parameters unseen": ("kinds", '                rule(where, f"{name}[{key!r}]", x[key], seen)', "                pass"),
    "a gradient of any shape": ("caches", "        for i, field, rule in rules:", "        for i, field, rule in ():"),
}


def with_hole(hole: str, monkeypatch) -> None:
    """Put the functions and methods of a wrong module of byhand.check in the place of the right ones."""
    stem, old, new = HOLES[hole]
    right, wrong = importlib.import_module(f"byhand.check.{stem}"), build(f"check.{stem}", old, new)
    users = [module for name, module in sys.modules.items() if name.startswith("byhand")] + list(MODULES.values())
    for name, x in vars(wrong).items():
        if getattr(x, "__module__", "") != right.__name__:
            continue
        if inspect.isclass(x):
            for method, body in vars(x).items():
                if inspect.isfunction(body):
                    monkeypatch.setattr(getattr(right, name), method, body)
        else:
            for module in users:
                if getattr(vars(module).get(name), "__module__", "") == right.__name__:
                    monkeypatch.setattr(module, name, x)


@pytest.mark.parametrize("hole", HOLES)
def test_a_check_with_a_hole_is_found(hole, monkeypatch):
    with_hole(hole, monkeypatch)
    with np.errstate(all="ignore"):
        assert any(complaint(row, MODULES[row.place]) for row in ROWS)


def test_a_damaged_file_is_refused_whatever_is_wrong_with_it(tmp_path):
    path = tmp_path / "tree.safetensors"
    save_safetensors({"a": {"W": X}}, path)
    whole = path.read_bytes()
    for damaged in (b"", whole[:4], whole[:20], whole[:-1], whole + b"\0", b"\xff" * 8 + whole[8:],
                    whole[:8] + b"{" * 40):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="load_safetensors: .* is damaged .*expected a safetensors file"):
            load_safetensors(path)
    path.write_bytes(whole)
    assert np.array_equal(load_safetensors(path)["a"]["W"], X)
