"""The twin table: every public function of the NumPy half beside its twin in torch, with inputs to try both on.

Two of the three checks live here as functions of a module, so that wrong modules can be measured too; the third,
the invariants, is in invariants.py.
"""

import zlib
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType
from typing import NamedTuple

import numpy as np
import torch
from byhand import tree
from byhand.np.gradcheck import gradcheck, relative_error
from byhand.pt.gradcheck import parity

SLOPE = 1e-7  # central differences in float64: h² and rounding/h leave about 1e-9
FORWARD, GRADIENT = 1e-12, 1e-10  # two float64 programs that compute the same thing
FORWARD32, GRADIENT32 = 2e-6, 5e-4  # the same in float32; a gradient that is zero is measured against a thousandth


class Case(NamedTuple):
    label: str
    inputs: dict  # what gets a gradient, in the order of the arguments
    fixed: dict = {}  # the rest, by name


class Spec(NamedTuple):
    stem: str
    name: str
    cases: Callable[[np.random.Generator], Iterator[Case]]


def cases_of(spec: Spec) -> list[Case]:
    """The same cases every time, whatever ran before."""
    return list(spec.cases(np.random.default_rng(zlib.crc32(spec.name.encode()))))


def pair(module: ModuleType, name: str, /, **fixed):
    """Forward and backward of a differentiable function; None, the gradient of an absent bias, is left out."""
    forward, back = (getattr(module, f"{name}_{way}") for way in ("forward", "backward"))

    def backward(dOut, cache):
        grads = back(dOut, cache)
        return tuple(g for g in grads if g is not None) if isinstance(grads, tuple) else grads

    return partial(forward, **fixed), backward


def slope(spec: Spec, module: ModuleType) -> float:
    """Check 1: the worst relative error of any gradient against central differences."""
    rng = np.random.default_rng(1)
    worst = 0.0
    for case in cases_of(spec):
        worst = max(worst, *gradcheck(*pair(module, spec.name, **case.fixed), case.inputs, rng).values())
    return worst


def twin(spec: Spec, module: ModuleType, pt_module: ModuleType, dtype=np.float64) -> tuple[float, float]:
    """Check 2: the worst relative error between the halves, of the output and of the gradients."""
    rng = np.random.default_rng(2)
    torch_function = getattr(pt_module, spec.name)
    forward = gradient = 0.0
    for case in cases_of(spec):
        inputs = tree.map_tree(lambda x: x.astype(dtype) if x.dtype.kind == "f" else x, case.inputs)
        given = tree.map_tree(lambda x: x.astype(dtype) if getattr(x, "dtype", "") == "float64" else x, case.fixed)
        fixed = tree.map_tree(lambda x: torch.tensor(x) if isinstance(x, np.ndarray) else x, given)
        if differentiable(module, spec.name):
            errors = parity(*pair(module, spec.name, **given), partial(torch_function, **fixed), inputs, rng)
            forward = max(forward, errors.pop("forward"))
            gradient = max(gradient, *errors.values())
        else:
            mine = np.asarray(getattr(module, spec.name)(*inputs.values(), **given))
            theirs = torch_function(*tree.to_torch(inputs).values(), **fixed).numpy()
            assert mine.dtype == theirs.dtype, f"{spec.name}: {mine.dtype} against {theirs.dtype}"
            forward = max(forward, relative_error(mine.astype(float), theirs.astype(float)))
    return forward, gradient


def differentiable(module: ModuleType, name: str) -> bool:
    return hasattr(module, f"{name}_backward")


# Cases: sizes all different, more than one sequence, ranks 1 to 4.

LEAD = {2: (), 3: (2,), 4: (3, 2)}  # rank → leading axes


def mask_of(kind: str, rng, lead: tuple, n: int, m: int):
    """One kind of mask, written without byhand.np.mask."""
    if kind == "none":
        return None
    if kind == "causal":
        return np.tri(n, m, dtype=bool)
    if kind == "padding":  # (B, 1, …, m): m − 1 real keys, then m − 2, …
        real = np.arange(m) < (m - 1 - np.arange(lead[0]))[:, None]
        return real.reshape(lead[0], *(1,) * len(lead), m)
    mask = rng.random((n, m) if kind == "shared" else (*lead, n, m)) < 0.5
    mask[..., 0, :] = False  # the first query may attend to nothing
    mask[..., 1, -1] = True
    return mask


MASKS = [(2, "none"), (2, "shared"), (3, "random"), (3, "causal"), (3, "padding"), (4, "padding")]


def attention_cases(rng, *, d_q=5, d_k=5, params=None, fixed=({},)):
    n, m, d_v = 3, 4, 6
    for i, (rank, kind) in enumerate(MASKS):
        lead = LEAD[rank]
        inputs = {"Q": rng.normal(size=(*lead, n, d_q)), "K": rng.normal(size=(*lead, m, d_k)),
                  "V": rng.normal(size=(*lead, m, d_v))}
        if params:
            inputs["params"] = params(rng)
        yield Case(f"rank {rank}, {kind}", inputs, {"mask": mask_of(kind, rng, lead, n, m), **fixed[i % len(fixed)]})


def additive_params(rng, d_q=7, d_k=5, a=8):
    return {"W_q": rng.normal(size=(d_q, a)), "W_k": rng.normal(size=(d_k, a)), "w": rng.normal(size=a)}


def head_params(rng, d=4, d_k=5, d_v=6, bias=True):
    sizes = {"q": d_k, "k": d_k, "v": d_v}
    params = {f"W_{name}": rng.normal(size=(d, size)) for name, size in sizes.items()}
    return params | ({f"b_{name}": rng.normal(size=size) for name, size in sizes.items()} if bias else {})


def self_attention_cases(rng):
    for i, (rank, kind) in enumerate(MASKS):
        lead = LEAD[rank]
        inputs = {"X": rng.normal(size=(*lead, 3, 4)), "params": head_params(rng, bias=i % 2 == 0)}
        yield Case(f"rank {rank}, {kind}", inputs, {"mask": mask_of(kind, rng, lead, 3, 3)})


def matmul_cases(rng):
    for rank, lead in LEAD.items():
        yield Case(f"rank {rank}", {"X": rng.normal(size=(*lead, 3, 4)), "Y": rng.normal(size=(*lead, 4, 5))})


def linear_cases(rng):
    for shape in ((3,), (2, 3), (4, 2, 3), (5, 4, 2, 3)):
        for bias in (True, False):
            inputs = {"X": rng.normal(size=shape), "W": rng.normal(size=(3, 6))}
            yield Case(f"X {shape}, bias {bias}", inputs | ({"b": rng.normal(size=6)} if bias else {}))


REPEATS = [((4,), (4,)), ((3, 4), (4,)), ((2, 3, 4), (3, 1)), ((2, 3, 4), (2, 1, 4)), ((2, 3, 4), ()),
           ((2, 3, 4), (1, 1, 1)), ((5, 2, 3, 4), (3, 1)), ((5, 2, 3, 4), (5, 1, 3, 1))]


def add_cases(rng):
    for big, small in REPEATS:
        yield Case(f"{small} to {big}", {"X": rng.normal(size=big), "b": rng.normal(size=small)})


def unbroadcast_cases(rng):
    for big, small in REPEATS:
        yield Case(f"{big} to {small}", {"dY": rng.normal(size=big)}, {"shape": small})


IDS = [np.array(1), np.array([1, 4, 1, 1]), np.array([[0, 3, 3], [3, 0, 4]]), np.array([[[2], [2]]])]  # 5 rows


def gather_cases(rng):
    for ids in IDS:
        yield Case(f"ids {ids.shape}", {"E": rng.normal(size=(5, 6))}, {"ids": ids})


def scatter_add_cases(rng):
    for ids in IDS:
        yield Case(f"ids {ids.shape}", {"Y": rng.normal(size=(*ids.shape, 6))}, {"ids": ids, "size": 5})


SCORES = [(4,), (3, 4), (2, 3, 4), (5, 2, 3, 4)]


def scores_cases(rng):
    for shape in SCORES:
        yield Case(f"S {shape}", {"S": 3 * rng.normal(size=shape)})


def softmax_cases(rng):
    yield from scores_cases(rng)
    yield Case("S (4,), masked", {"S": rng.normal(size=4)}, {"mask": np.array([True, False, True, False])})
    for rank, kind in MASKS[1:]:
        lead = LEAD[rank]
        yield Case(f"rank {rank}, {kind}", {"S": rng.normal(size=(*lead, 3, 4))},
                   {"mask": mask_of(kind, rng, lead, 3, 4)})


def jacobian_cases(rng):
    for m in (1, 2, 5):
        e = np.exp(rng.normal(size=m))
        yield Case(f"m = {m}", {"a": e / e.sum()})


def causal_cases(rng):
    for sizes in ({"n": 1}, {"n": 4}, {"n": 3, "m": 5}, {"n": 5, "m": 3}, {"n": 2, "offset": 3},
                  {"n": 2, "m": 4, "offset": 1}):
        yield Case(str(sizes), {}, sizes)


def padding_cases(rng):
    for ndim in (3, 4):
        yield Case(f"{ndim} axes", {}, {"lengths": np.array([3, 0, 5, 1]), "m": 5, "ndim": ndim})


def combine_cases(rng):
    one, shared, padding = (mask_of(kind, rng, (2,), 3, 4) for kind in ("random", "shared", "padding"))
    yield Case("one", {"mask": one})
    yield Case("shared and padding", {"a": shared, "b": padding})
    yield Case("three", {"a": padding, "b": shared, "c": one})


def rows_cases(rng):
    for kind in ("shared", "random", "padding"):
        yield Case(kind, {"mask": mask_of(kind, rng, (2,), 3, 4)})


def just(**fixed):
    return tuple(dict(zip(fixed, values, strict=True)) for values in zip(*fixed.values(), strict=True))


TWINS = [
    Spec("linear", "matmul", matmul_cases),
    Spec("linear", "linear", linear_cases),
    Spec("linear", "add", add_cases),
    Spec("linear", "unbroadcast", unbroadcast_cases),
    Spec("linear", "gather", gather_cases),
    Spec("linear", "scatter_add", scatter_add_cases),
    Spec("softmax", "softmax", softmax_cases),
    Spec("softmax", "softmax_jacobian", jacobian_cases),
    Spec("softmax", "logsumexp", scores_cases),
    Spec("softmax", "log_softmax", scores_cases),
    Spec("mask", "causal_mask", causal_cases),
    Spec("mask", "padding_mask", padding_cases),
    Spec("mask", "combine_masks", combine_cases),
    Spec("mask", "fully_masked_rows", rows_cases),
    Spec("attention", "attention", partial(attention_cases, fixed=just(scale=(None, None, 0.3)))),
    Spec("attention", "self_attention", self_attention_cases),
    Spec("attention", "additive_attention", partial(attention_cases, d_q=7, params=additive_params)),
    Spec("attention", "kernel_attention", partial(attention_cases, fixed=just(bandwidth=(1.5, 0.8)))),
]
