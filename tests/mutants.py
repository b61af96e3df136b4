"""Wrong libraries, kept: each mutant edits a module's source, and must be caught by exactly the checks it names.

`python tests/mutants.py` prints the table. It shows what each check misses: a fault of wiring has a right gradient of
the wrong function, so the slope check passes it; what both halves share, only an invariant can see.
"""

import ast
import functools
import importlib
import inspect
import io
import json
import re
import sys
import warnings
from contextlib import redirect_stdout
from pathlib import Path
from types import FunctionType, ModuleType
from typing import NamedTuple

import byhand
from invariants import INVARIANTS
from twins import FORWARD, GRADIENT, SLOPE, TWINS, differentiable, slope, twin

LIBRARY = Path(byhand.__file__).parent


def source(place: str) -> str:
    """The text of a module without the equation numbers at the ends of its lines."""
    text = (LIBRARY / (place.replace(".", "/") + ".py")).read_text(encoding="utf-8")
    return re.sub(r" +# \(\d+\.\d+\).*$", "", text, flags=re.MULTILINE)


def edited(place: str, *edits: str) -> str:
    """The source after replacing old text by new text, …; each old text must be there once."""
    text = source(place)
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        if text.count(old) != 1:
            raise ValueError(f"{place}: {old!r} is there {text.count(old)} times, expected once")
        text = text.replace(old, new)
    return text


def build(place: str, *edits: str) -> ModuleType:
    """The module byhand.<place> made anew from its edited source, without the shape checks of pytest."""
    return made_of(place, edited(place, *edits))


def made_of(place: str, text: str, name: str = "") -> ModuleType:
    module = ModuleType(name or f"byhand.{place}")
    module.__package__, module.__file__ = f"byhand.{place}".rpartition(".")[0], f"<mutant of {place}>"
    exec(compile(text, module.__file__, "exec", dont_inherit=True), vars(module))
    for name, value in list(vars(module).items()):
        if isinstance(value, FunctionType) and value.__module__ != module.__name__:
            setattr(module, name, inspect.unwrap(value))  # what it imports is unchecked too
    return module


def reached(place: str, *edits: str) -> set[str]:
    """The functions and classes that an edit touches, themselves or through one that they use."""
    texts = (source(place), edited(place, *edits))
    before, after = ({d.name: ast.dump(d) for d in ast.parse(t).body if hasattr(d, "name")} for t in texts)
    found = {name for name in after if after[name] != before.get(name)}
    while more := {name for name in after.keys() - found if any(f"'{use}'" in after[name] for use in found)}:
        found |= more
    return found


class Mutant(NamedTuple):
    place: str  # module
    caught: str  # by exactly these checks
    story: str
    edits: tuple[str, ...]  # old text, new text, old text, new text, …


S, T, I = "slope", "twin", "invariant"


def M(place, caught, story, *edits):
    return Mutant(place, caught, story, edits)


MUTANTS = [
    # np.linear
    M("np.linear", "slope twin invariant", "matmul: gradient divided by the batch", "dX = dZ @ Y.mT", "dX = dZ @ Y.mT / len(dZ)"),
    M("np.linear", "slope twin invariant", "matmul: one factor treated as a constant", "dY = X.mT @ dZ", "dY = np.zeros_like(Y)"),
    M("np.linear", "slope twin invariant", "linear: the inverse for the transpose", "dX = (drows @ W.mT)", "dX = (drows @ np.linalg.pinv(W))"),
    M("np.linear", "slope twin invariant", "linear: dW averaged over tokens", "dW = rows.mT @ drows", "dW = rows.mT @ drows / len(rows)"),
    M("np.linear", "slope twin invariant", "linear: db summed over the wrong axis", "drows.sum(axis=0) if", "drows.sum(axis=1) if"),
    M("np.linear", "slope twin invariant", "linear: db taken from the last token only", "drows.sum(axis=0) if", "drows[-1] if"),
    M("np.linear", "slope twin invariant", "linear: db forgotten", "db = drows.sum(axis=0) if has_bias else None", "db = None"),
    M("np.linear", "invariant", "linear: rows read in memory order, not in index order",
      "rows, drows = X.reshape(-1, W.shape[0])", "rows, drows = X.ravel(order='K').reshape(-1, W.shape[0])"),
    M("np.linear", "slope twin invariant", "add: written into its input", "return X + b, Add", "X += b\n    return X, Add"),
    M("np.linear", "slope twin invariant", "add: db not summed, only one slice of dY",
      "dY.sum(axis=repeated, keepdims=True)", "dY.max(axis=repeated, keepdims=True)"),
    M("np.linear", "slope twin invariant", "unbroadcast: mean for sum",
      "dY.sum(axis=repeated, keepdims=True)", "dY.mean(axis=repeated, keepdims=True)"),
    M("np.linear", "slope twin invariant", "gather: ids counted from one, the last one wraps",
      "    return E[ids], GatherCache(ids", "    ids = np.asarray((ids + 1) % E.shape[0])\n    return E[ids], GatherCache(ids"),
    M("np.linear", "slope twin invariant", "gather: a repeated id counts once", "np.add.at(Z, ids, Y)", "Z[ids] += Y"),
    M("np.linear", "slope twin invariant", "scatter_add: sorted by id, order never restored",
      "gather_forward(dZ, cache.ids)[0]", "gather_forward(dZ, np.sort(cache.ids, axis=None).reshape(cache.ids.shape))[0]"),
    M("np.linear", "invariant", "scatter_add: float64 whatever came", "np.zeros((size, Y.shape[-1]), Y.dtype)",
      "np.zeros((size, Y.shape[-1]))"),
    M("np.linear", "invariant", "init: standard deviation 1/d_in, not variance",
      "scale=1 / math.sqrt(d_in)", "scale=1 / d_in"),
    # np.softmax
    M("np.softmax", "slope twin invariant", "backward divided by the batch",
      "return A * (dA - (A * dA).sum(axis=-1, keepdims=True))",
      "return A * (dA - (A * dA).sum(axis=-1, keepdims=True)) / len(A)"),
    M("np.softmax", "slope twin invariant", "Jacobian: diagonal only",
      "return A * (dA - (A * dA).sum(axis=-1, keepdims=True))", "return A * (1 - A) * dA"),
    M("np.softmax", "slope twin invariant", "backward: normalisation treated as a constant",
      "return A * (dA - (A * dA).sum(axis=-1, keepdims=True))", "return A * dA"),
    M("np.softmax", "slope twin invariant", "backward: summed over the first axis", "(A * dA).sum(axis=-1", "(A * dA).sum(axis=0"),
    M("np.softmax", "invariant", "backward: written into its upstream",
      "return A * (dA - (A * dA).sum(axis=-1, keepdims=True))",
      "dA -= (A * dA).sum(axis=-1, keepdims=True)\n    return A * dA"),
    M("np.softmax", "invariant", "no maximum taken off",
      "E = np.exp(S - np.where(top == -np.inf, 0, top))", "E = np.exp(S)"),
    M("np.softmax", "slope invariant", "maximum taken off in the caller's array",
      "E = np.exp(S - np.where(top == -np.inf, 0, top))", "S -= np.where(top == -np.inf, 0, top)\n    E = np.exp(S)"),
    M("np.softmax", "slope twin invariant", "−∞ − (−∞) in a row with nothing visible", "np.where(top == -np.inf, 0, top)", "top"),
    M("np.softmax", "slope twin invariant", "−10⁹ for −∞", "S = np.where(mask, S, -np.inf)", "S = np.where(mask, S, -1e9)"),
    M("np.softmax", "invariant", "−∞ as a float64 number",
      "S = np.where(mask, S, -np.inf)", "S = np.where(mask, S, np.float64(-np.inf))"),
    M("np.softmax", "twin invariant", "mask inverted", "S = np.where(mask, S, -np.inf)", "S = np.where(mask, -np.inf, S)"),
    M("np.softmax", "twin invariant", "mask ignored", "S = np.where(mask, S, -np.inf)", "pass"),
    M("np.softmax", "slope twin invariant", "mask applied after, no renormalisation",
      "S = np.where(mask, S, -np.inf)", "pass",
      "    return A, SoftmaxCache(A)", "    A = A if mask is None else A * mask\n    return A, SoftmaxCache(A)"),
    M("np.softmax", "twin invariant", "10⁻⁹ added to the denominator", "A = E / np.where(Z == 0, 1, Z)", "A = E / (Z + 1e-9)"),
    M("np.softmax", "twin invariant", "jacobian: no outer product", "np.diag(a) - np.outer(a, a)", "np.diag(a)"),
    M("np.softmax", "twin invariant", "jacobian: sign", "np.diag(a) - np.outer(a, a)", "np.outer(a, a) - np.diag(a)"),
    M("np.softmax", "slope twin invariant", "logsumexp: maximum not added back", "(top + np.log(Z))", "np.log(Z)"),
    M("np.softmax", "twin invariant", "logsumexp: log of the mean, not of the sum",
      "np.log(Z))[..., 0]", "np.log(Z / S.shape[-1]))[..., 0]"),
    M("np.softmax", "slope twin", "logsumexp: upstream forgotten", "np.asarray(dL)[..., None] *", "np.ones_like(dL)[..., None] *"),
    M("np.softmax", "invariant", "log softmax: log of the softmax", "return S - L[..., None],", "return np.log(cache.A),"),
    M("np.softmax", "slope twin", "log softmax: the softmax's own backward",
      "dY - cache.A * dY.sum(axis=-1, keepdims=True)",
      "cache.A * (dY - (cache.A * dY).sum(axis=-1, keepdims=True))"),
    # np.mask
    M("np.mask", "twin invariant", "causal: off by one, sees the next token",
      "np.arange(m) <= np.arange(n)[:, None] + offset", "np.arange(m) <= np.arange(n)[:, None] + offset + 1"),
    M("np.mask", "twin invariant", "causal: off by one, does not see itself",
      "np.arange(m) <= np.arange(n)[:, None] + offset", "np.arange(m) < np.arange(n)[:, None] + offset"),
    M("np.mask", "twin invariant", "causal: upper triangular",
      "np.arange(m) <= np.arange(n)[:, None] + offset", "np.arange(m) >= np.arange(n)[:, None] + offset"),
    M("np.mask", "twin invariant", "causal: offset forgotten", "np.arange(n)[:, None] + offset", "np.arange(n)[:, None]"),
    M("np.mask", "twin invariant", "padding: one key too many", "np.arange(m) < lengths[:, None]", "np.arange(m) <= lengths[:, None]"),
    M("np.mask", "twin invariant", "padding: True where it is padding",
      "np.arange(m) < lengths[:, None]", "np.arange(m) >= lengths[:, None]"),
    M("np.mask", "twin invariant", "padding: on the queries", "*(1,) * (ndim - 2), m)", "*(1,) * (ndim - 3), m, 1)"),
    M("np.mask", "twin invariant", "combine: or for and", "together & mask", "together | mask"),
    M("np.mask", "twin invariant", "combine: only the last mask", "together & mask", "mask"),
    M("np.mask", "twin invariant", "blind queries: any masked key is enough", "~mask.any(axis=-1)", "~mask.all(axis=-1)"),
    M("np.mask", "twin", "blind keys for blind queries", "~mask.any(axis=-1)", "~mask.any(axis=-2)"),
    M("np.mask", "invariant", "leak probe: looks at the changed token too", "[..., :t, :]", "[..., :t + 1, :]"),
    M("np.mask", "invariant", "leak probe: leaves token t as it was",
      "changed[..., t:, :] = rng.normal(size=changed[..., t:, :].shape)",
      "changed[..., t + 1:, :] = rng.normal(size=changed[..., t + 1:, :].shape)"),
    M("np.mask", "invariant", "leak probe: sign kept", "np.abs(f(changed) - f(X))", "(f(changed) - f(X))"),
    M("np.mask", "invariant", "leak probe: writes into X", "changed = X.copy()", "changed = X"),
    # np.gradcheck
    M("np.gradcheck", "invariant", "relative error: sign kept", "gap = np.abs(a - b).max", "gap = (a - b).max"),
    M("np.gradcheck", "invariant", "relative error: as a share of one side only",
      "max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0), floor)", "max(np.abs(a).max(initial=0.0), floor)"),
    M("np.gradcheck", "invariant", "relative error: floor ignored",
      "np.abs(b).max(initial=0.0), floor)", "np.abs(b).max(initial=0.0))"),
    M("np.gradcheck", "invariant", "relative error: absolute", "float(gap / size)", "float(gap)"),
    M("np.gradcheck", "invariant", "relative error: NaN let through",
      '    guard.finite("relative_error", a=a, b=b, floor=np.asarray(floor))\n', ""),
    M("np.gradcheck", "invariant", "relative error: shapes broadcast",
      '    guard.shape("relative_error", "b", b.shape, a.shape)\n', ""),
    M("np.gradcheck", "invariant", "slope: forward difference",
      "X[i] = here - h", "X[i] = here", "/ (2 * h)", "/ h"),
    M("np.gradcheck", "invariant", "slope: divided by h for 2h", "/ (2 * h)", "/ h"),
    M("np.gradcheck", "invariant", "slope: upstream ignored", "((above - below) * dY)", "(above - below)"),
    M("np.gradcheck", "invariant", "slope: entry not put back", "        X[i] = here\n", ""),
    M("np.gradcheck", "invariant", "slope: two views of one array", "np.asarray(f(X)).copy()", "np.asarray(f(X))"),
    M("np.gradcheck", "invariant", "slope: moves the caller's array", "X, dX = X.copy(), ", "X, dX = X, "),
    M("np.gradcheck", "invariant", "gradcheck: upstream of all ones",
      "dOut = rng.normal(size=np.shape(out))", "dOut = np.ones(np.shape(out))"),
    M("np.gradcheck", "invariant", "gradcheck: no floor", "slope[name], floor)", "slope[name])"),
    M("np.gradcheck", "invariant", "gradcheck: floor a thousand times the largest", "1e-3 * max", "1e3 * max"),
    M("np.gradcheck", "invariant", "gradcheck: slope against itself",
      "relative_error(hand[name]", "relative_error(slope[name]"),
    M("np.gradcheck", "invariant", "gradcheck: one error for all",
      "return {name: relative_error(hand[name], slope[name], floor) for name in leaves}",
      "errors = [relative_error(hand[k], slope[k], floor) for k in leaves]\n    return {k: max(errors) for k in leaves}"),
    M("np.gradcheck", "invariant", "gradients: shapes not compared",
      '        guard.shape(where, f"d{name}", got[name], expected)\n', "        pass\n"),
    M("np.gradcheck", "invariant", "gradients: surplus inputs let through",
      "if len(grads) != len(inputs):", "if len(grads) > len(inputs):",
      "zip(inputs, grads, strict=True)", "zip(inputs, grads, strict=False)"),
    # np.attention
    M("np.attention", "slope twin", "1/√d_k forgotten in dQ", "dQ = scale * (dS @ K)", "dQ = dS @ K"),
    M("np.attention", "slope twin", "1/√d_k forgotten in dK", "dK = scale * (dS.mT @ Q)", "dK = dS.mT @ Q"),
    M("np.attention", "twin invariant", "no scale", "scale = 1 / math.sqrt(Q.shape[-1]) if", "scale = 1.0 if"),
    M("np.attention", "twin invariant", "scaled by d_k, not by its root",
      "scale = 1 / math.sqrt(Q.shape[-1]) if", "scale = 1 / Q.shape[-1] if"),
    M("np.attention", "twin invariant", "scaled by the number of keys",
      "scale = 1 / math.sqrt(Q.shape[-1]) if", "scale = 1 / math.sqrt(K.shape[-2]) if"),
    M("np.attention", "invariant", "np.sqrt: float32 becomes float64",
      "scale = 1 / math.sqrt(Q.shape[-1]) if", "scale = 1 / np.sqrt(Q.shape[-1]) if"),
    M("np.attention", "twin invariant", "scale argument ignored",
      "if scale is None else float(scale)", "if scale is None else 1 / math.sqrt(Q.shape[-1])"),
    M("np.attention", "twin invariant", "softmax over the queries",
      "    S = scale * (Q @ K.mT)\n    A, _ = softmax_forward(S, mask)",
      "    S = scale * (Q @ K.mT)\n    keep = None if mask is None else np.broadcast_to(mask, S.shape).mT\n"
      "    A = softmax_forward(S.mT, keep)[0].mT",
      "dS = softmax_backward(dA, SoftmaxCache(A))", "dS = softmax_backward(dA.mT, SoftmaxCache(A.mT)).mT"),
    M("np.attention", "twin invariant", "mask after softmax, no renormalisation",
      "    A: Array\n    scale: float", "    A: Array\n    scale: float\n    keep: Array",
      "    S = scale * (Q @ K.mT)\n    A, _ = softmax_forward(S, mask)\n    O = A @ V",
      "    A, _ = softmax_forward(scale * (Q @ K.mT))\n    keep = np.ones_like(A) if mask is None else mask\n"
      "    O = (A * keep) @ V",
      "AttentionCache(Q, K, V, A, scale)", "AttentionCache(Q, K, V, A, scale, keep)",
      "Q, K, V, A, scale = cache", "Q, K, V, A, scale, keep = cache",
      "dV = A.mT @ dO\n    dA = dO @ V.mT", "dV = (A * keep).mT @ dO\n    dA = dO @ V.mT * keep"),
    M("np.attention", "twin invariant", "mask forgotten",
      "(Q @ K.mT)\n    A, _ = softmax_forward(S, mask)", "(Q @ K.mT)\n    A, _ = softmax_forward(S)"),
    M("np.attention", "twin invariant", "mask inverted", "(Q @ K.mT)\n    A, _ = softmax_forward(S, mask)",
      "(Q @ K.mT)\n    A, _ = softmax_forward(S, None if mask is None else ~mask)"),
    M("np.attention", "slope twin invariant", "keys reshaped for transposed",
      "S = scale * (Q @ K.mT)", "S = scale * (Q @ K.reshape(*K.shape[:-2], K.shape[-1], K.shape[-2]))"),
    M("np.attention", "slope twin invariant", "scale multiplied into the caller's queries",
      "S = scale * (Q @ K.mT)", "Q *= scale\n    S = Q @ K.mT"),
    M("np.attention", "slope twin invariant", "scores centred over the batch",
      "S = scale * (Q @ K.mT)", "S = scale * (Q @ K.mT)\n    S = S - S.mean(axis=0)"),
    M("np.attention", "twin invariant", "a bias by distance left in", "S = scale * (Q @ K.mT)",
      "S = scale * (Q @ K.mT) - abs(np.arange(K.shape[-2]) - np.arange(Q.shape[-2])[:, None])"),
    M("np.attention", "slope twin invariant", "weights treated as constants",
      "dS = softmax_backward(dA, SoftmaxCache(A))\n", "dS = np.zeros_like(A)\n"),
    M("np.attention", "slope twin invariant", "backward through the scores without the softmax",
      "dS = softmax_backward(dA, SoftmaxCache(A))\n", "dS = dA\n"),
    M("np.attention", "slope twin", "dV divided by the number of queries",
      "dV = A.mT @ dO\n    dA = dO @ V.mT", "dV = A.mT @ dO / len(A)\n    dA = dO @ V.mT"),
    M("np.attention", "slope twin", "head: the path through the keys dropped from dX",
      "dX = dX + part", 'dX = dX + (0 if name == "k" else part)'),
    M("np.attention", "slope twin", "head: dX overwritten, not added up", "dX = dX + part", "dX = part"),
    M("np.attention", "twin invariant", "head: mask forgotten",
      "O, attention = attention_forward(Q, K, V, mask)", "O, attention = attention_forward(Q, K, V)"),
    M("np.attention", "slope twin invariant", "head: gradients of the query bias and the key bias exchanged",
      'grads[f"b_{name}"] = db', 'grads["b_" + {"q": "k", "k": "q", "v": "v"}[name]] = db'),
    M("np.attention", "invariant", "head: standard deviation 1/d, not variance",
      "scale=1 / math.sqrt(config.d)", "scale=1 / config.d"),
    M("np.attention", "slope twin", "additive: tanh' = 1 − tanh", "dS[..., None] * w * (1 - T * T)", "dS[..., None] * w * (1 - T)"),
    M("np.attention", "slope twin", "additive: tanh' forgotten", "dS[..., None] * w * (1 - T * T)", "dS[..., None] * w"),
    M("np.attention", "slope twin invariant", "additive: sums over queries and keys exchanged",
      "linear_backward(dU.sum(axis=-2), q)", "linear_backward(dU.sum(axis=-3), q)"),
    M("np.attention", "slope twin invariant", "additive: product for sum", "a[..., :, None, :] + c[", "a[..., :, None, :] * c["),
    M("np.attention", "twin invariant", "additive: mask forgotten",
      'S = T @ params["w"]\n    A, _ = softmax_forward(S, mask)', 'S = T @ params["w"]\n    A, _ = softmax_forward(S)'),
    M("np.attention", "twin invariant", "additive: no tanh",
      "T = np.tanh(a[..., :, None, :] + c[..., None, :, :])", "T = a[..., :, None, :] + c[..., None, :, :]",
      "w * (1 - T * T)", "w"),
    M("np.attention", "twin invariant", "kernel: width not squared", "/ (-2 * bandwidth * bandwidth)", "/ (-2 * bandwidth)",
      "/ (bandwidth * bandwidth)", "/ bandwidth"),
    M("np.attention", "slope twin", "kernel: width not squared, in the backward only", "/ (bandwidth * bandwidth)", "/ bandwidth"),
    M("np.attention", "twin invariant", "kernel: the 2 of 2h² forgotten", "/ (-2 * bandwidth * bandwidth)",
      "/ -(bandwidth * bandwidth)", "/ (bandwidth * bandwidth)", "/ (bandwidth * bandwidth) * 2"),
    M("np.attention", "slope twin invariant", "kernel: column sums missing in dK", " - dS.sum(axis=-2)[..., None] * K", ""),
    M("np.attention", "slope twin invariant", "kernel: distance for squared distance",
      "(gap * gap).sum(axis=-1)", "np.sqrt((gap * gap).sum(axis=-1))"),
    M("np.attention", "invariant", "kernel: a NumPy width makes float64", "    bandwidth = float(bandwidth)\n", ""),
    # pt.linear
    M("pt.linear", "twin", "matmul: one factor cut from the graph", "return X @ Y", "return X @ Y.detach()"),
    M("pt.linear", "twin invariant", "linear: bias forgotten", "Y = Y + b", "Y = Y + 0 * b"),
    M("pt.linear", "twin", "add: bias cut from the graph", "return X + b", "return X + b.detach()"),
    M("pt.linear", "twin", "unbroadcast: mean for sum", "return dY.sum_to_size(shape)",
      "return dY.sum_to_size(shape) * (math.prod(shape) / dY.numel())"),
    M("pt.linear", "twin", "gather: ids counted from one", "return E[ids]", "return E[ids - 1]"),
    M("pt.linear", "twin", "scatter_add: a repeated id counts once", ".index_add(0,", ".index_copy(0,"),
    M("pt.linear", "invariant", "scatter_add: zeros made on the CPU",
      "Y.new_zeros(size, Y.shape[-1])", "torch.zeros(size, Y.shape[-1], dtype=Y.dtype)"),
    M("pt.linear", "invariant", "scatter_add: zeros of the default dtype, then widened",
      "return Y.new_zeros(size, Y.shape[-1]).index_add(0, ids.reshape(-1), Y.reshape(-1, Y.shape[-1]))",
      "Z = torch.zeros(size, Y.shape[-1], device=Y.device).to(torch.promote_types(Y.dtype, torch.float32))\n"
      "    return Z.index_add(0, ids.reshape(-1), Y.reshape(-1, Y.shape[-1]).to(Z.dtype))"),
    M("pt.linear", "invariant", "Linear: bias forgotten", "return linear(X, self.W, self.b)", "return linear(X, self.W)"),
    M("pt.linear", "invariant", "Linear: standard deviation 1", "torch.randn(d_in, d_out) / math.sqrt(d_in)",
      "torch.randn(d_in, d_out)"),
    # pt.softmax
    M("pt.softmax", "invariant", "a row of −∞ alone: NaN in the gradient",
      "S.masked_fill(~mask & alive, -torch.inf)", "S.masked_fill(~mask, -torch.inf)"),
    M("pt.softmax", "twin invariant", "a blind row shares equally", "return A.masked_fill(~alive, 0)", "return A"),
    M("pt.softmax", "invariant", "zeros of the default dtype, on the CPU",
      "return A.masked_fill(~alive, 0)", "return torch.where(alive, A, torch.zeros(1))"),
    M("pt.softmax", "twin invariant", "softmax over the first axis",
      "        return torch.softmax(S, dim=-1)", "        return torch.softmax(S, dim=0)"),
    M("pt.softmax", "invariant", "log softmax: log of the softmax",
      "torch.log_softmax(S, dim=-1)", "torch.log(torch.softmax(S, dim=-1))"),
    M("pt.softmax", "twin invariant", "log softmax: base two",
      "torch.log_softmax(S, dim=-1)", "torch.log_softmax(S, dim=-1) / 0.6931471805599453"),
    M("pt.softmax", "invariant", "logsumexp: nothing taken off",
      "torch.logsumexp(S, dim=-1)", "torch.log(torch.exp(S).sum(dim=-1))"),
    M("pt.softmax", "twin invariant", "logsumexp: log of the mean",
      "torch.logsumexp(S, dim=-1)", "torch.log(torch.softmax(S, -1).mean(-1)) + torch.logsumexp(S, dim=-1)"),
    M("pt.softmax", "twin", "jacobian: diagonal only",
      "torch.diag(a) - torch.outer(a, a)", "torch.diag(a - a * a)"),
    # pt.mask
    M("pt.mask", "twin invariant", "causal: sees the next token", ".tril(offset)", ".tril(offset + 1)"),
    M("pt.mask", "twin invariant", "causal: upper triangular", ".tril(offset)", ".triu(offset)"),
    M("pt.mask", "invariant", "causal: device forgotten", "dtype=torch.bool, device=device)", "dtype=torch.bool)"),
    M("pt.mask", "invariant", "padding: positions made on the CPU",
      "torch.arange(m, device=lengths.device)", "torch.arange(m)"),
    M("pt.mask", "twin invariant", "padding: one key too many", ") < lengths[:, None]", ") <= lengths[:, None]"),
    M("pt.mask", "twin invariant", "combine: or for and", "together & mask", "together | mask"),
    M("pt.mask", "twin invariant", "blind queries: any masked key is enough", "~mask.any(dim=-1)", "~mask.all(dim=-1)"),
    M("pt.mask", "invariant", "leak probe: looks at the changed token too", "[..., :t, :]", "[..., :t + 1, :]"),
    M("pt.mask", "invariant", "leak probe: changes nothing", "new.to(X.device)", "changed[..., t:, :]"),
    M("pt.mask", "invariant", "leak probe: writes into X", "changed = X.clone()", "changed = X"),
    M("pt.mask", "invariant", "leak probe: sign kept", ".abs().max().item()", ".max().item()"),
    # pt.gradcheck
    M("pt.gradcheck", "invariant", "upstream of all ones",
      "dOut = rng.normal(size=np.shape(out))", "dOut = np.ones(np.shape(out))"),
    M("pt.gradcheck", "invariant", "outputs not compared",
      'relative_error(np.asarray(out), twin.detach().numpy())', "0.0"),
    M("pt.gradcheck", "invariant", "autograd against itself", "relative_error(hand[name]", "relative_error(auto[name]"),
    M("pt.gradcheck", "invariant", "no floor", "auto[name], floor)", "auto[name])"),
    M("pt.gradcheck", "invariant", "an input without influence has no gradient",
      "(torch.zeros_like(x) if x.grad is None else x.grad)", "x.grad"),
    # pt.attention
    M("pt.attention", "twin invariant", "no scale", "scale = 1 / math.sqrt(Q.shape[-1]) if", "scale = 1.0 if"),
    M("pt.attention", "twin invariant", "mask forgotten", "return softmax(scale * (Q @ K.mT), mask) @ V",
      "return softmax(scale * (Q @ K.mT)) @ V"),
    M("pt.attention", "invariant", "a table of zeros made on the CPU", "return softmax(scale * (Q @ K.mT), mask) @ V",
      "return softmax(scale * (Q @ K.mT) + torch.zeros(K.shape[-2], dtype=Q.dtype), mask) @ V"),
    M("pt.attention", "invariant", "scale as a float32 tensor with an axis", "return softmax(scale * (Q @ K.mT), mask) @ V",
      "S = torch.full((1,), scale, dtype=torch.promote_types(Q.dtype, torch.float32), device=Q.device) * (Q @ K.mT)\n"
      "    return softmax(S, mask) @ V.to(S.dtype)"),
    M("pt.attention", "twin", "head: query bias forgotten", 'params.get(f"b_{name}")) for name in "qkv")',
      'params.get(f"b_{name}") if name != "q" else None) for name in "qkv")'),
    M("pt.attention", "twin", "head: mask forgotten", "    return attention(Q, K, V, mask)", "    return attention(Q, K, V)"),
    M("pt.attention", "twin", "additive: no tanh", "S = torch.tanh(", "S = ("),
    M("pt.attention", "twin", "additive: mask forgotten", "return softmax(S, mask) @ V", "return softmax(S) @ V"),
    M("pt.attention", "twin", "kernel: width not squared", "(-2 * bandwidth * bandwidth)", "(-2 * bandwidth)"),
    M("pt.attention", "twin", "kernel: mask forgotten",
      "(-2 * bandwidth * bandwidth), mask) @ V", "(-2 * bandwidth * bandwidth)) @ V"),
    M("pt.attention", "invariant", "fused: True means masked", "    if Q.ndim == 3:", "    mask = None if mask is None else ~mask\n    if Q.ndim == 3:"),
    M("pt.attention", "invariant", "fused: mask as numbers, added to the scores",
      "    if Q.ndim == 3:", "    mask = None if mask is None else mask.to(Q.dtype)\n    if Q.ndim == 3:"),
    M("pt.attention", "invariant", "fused: is_causal ignored", "    if Q.ndim == 3:", "    is_causal = False\n    if Q.ndim == 3:"),
    M("pt.attention", "invariant", "fused: scale ignored", "    if Q.ndim == 3:", "    scale = None\n    if Q.ndim == 3:"),
    M("pt.attention", "invariant", "fused: mask of a batch without its new head axis",
      "mask.unsqueeze(1) if mask is not None and mask.ndim == 3 else mask", "mask"),
    M("pt.attention", "invariant", "module: queries and keys exchanged",
      "torch.cat([self.W_q, self.W_k, self.W_v], dim=1)", "torch.cat([self.W_k, self.W_q, self.W_v], dim=1)"),
    M("pt.attention", "invariant", "module: bias forgotten", "linear(X, W, b).split", "linear(X, W).split"),
    M("pt.attention", "invariant", "module: mask forgotten", "fused_attention(Q, K, V, mask, is_causal", 
      "fused_attention(Q, K, V, is_causal"),
    M("pt.attention", "invariant", "module: is_causal ignored", "mask, is_causal=is_causal)\n", "mask)\n"),
    M("pt.attention", "invariant", "module: standard deviation 1",
      "torch.randn(config.d, size) / math.sqrt(config.d)", "torch.randn(config.d, size)"),
]


def checks(place: str, reach: set[str] | None = None) -> dict[str, tuple]:
    """Every check of a module, or every one that can notice a change there: name → (kind, function of the module)."""
    half, stem = place.split(".")
    real = {h: importlib.import_module(f"byhand.{h}.{stem}") for h in ("np", "pt")}
    found = {}
    for spec in TWINS:
        names = {spec.name, f"{spec.name}_forward", f"{spec.name}_backward"}
        if spec.stem == stem and (reach is None or reach & names):
            if half == "np" and differentiable(real["np"], spec.name):
                found[f"slope of {spec.name}"] = (S, functools.partial(at_most, SLOPE, slope, spec))
            found[f"twin of {spec.name}"] = (T, functools.partial(parity, spec, half, real))
    return found | {check.__name__: (I, check) for check in INVARIANTS.get(place, [])}


def at_most(bound, measure, *args) -> str:
    value = measure(*args)
    if not value <= bound:
        raise AssertionError(f"{value:.0e}")


def parity(spec, half, real, module):
    both = {**real, half: module}
    forward, gradient = twin(spec, both["np"], both["pt"])
    if not (forward <= FORWARD and gradient <= GRADIENT):
        raise AssertionError(f"{max(forward, gradient):.0e}")


def caught_by(mutant: Mutant) -> dict[str, tuple[str, str]]:
    """The checks that fail on this mutant: name → (kind, what was measured). Warnings count as errors, as in pytest."""
    module = build(mutant.place, *mutant.edits)
    caught = {}
    for name, (kind, check) in checks(mutant.place, reached(mutant.place, *mutant.edits)).items():
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
            warnings.simplefilter("error")
            try:
                check(module)
            except Exception as error:
                number = str(error) if kind != I and type(error) is AssertionError else type(error).__name__
                caught[name] = (kind, number)
    return caught


def kinds(caught: dict) -> set[str]:
    return {kind for kind, _ in caught.values()}


def measure() -> list[dict[str, list[str]]]:
    """For each mutant: the checks that caught it, name → (kind, what was measured)."""
    return [caught_by(mutant) for mutant in MUTANTS]


def table(measured) -> str:
    """One line a mutant: which check caught it, and the worst error that it measured."""
    lines = [("mutant of", S, T, I, "story")]
    for mutant, caught in zip(MUTANTS, measured, strict=True):
        found = {kind: [(name, text) for name, (k, text) in caught.items() if k == kind] for kind in (S, T, I)}
        cells = [max((text for _, text in found[kind]), key=size_of, default="·") for kind in (S, T)]
        names = [name for name, _ in found[I]]
        cells.append(names[0] + (f" +{len(names) - 1}" if names[1:] else "") if names else "·")
        lines.append((mutant.place, *cells, mutant.story))
    widths = [max(len(line[i]) for line in lines) for i in range(5)]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines)


def size_of(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("inf")  # an exception


if __name__ == "__main__":
    measured = measure()
    if sys.argv[1:] == ["--json"]:
        print(json.dumps(measured))
    else:
        print(table(measured))
        print(f"\n{len(MUTANTS)} mutants; not caught by exactly the checks declared: "
              f"{sum(kinds(c) != set(m.caught.split()) for m, c in zip(MUTANTS, measured, strict=True))}")
