"""Checks 1 and 2 of every layer, as functions of a module, so that wrong modules can be measured too.

A file specs/<stem>.py names its functions and gives inputs to try them on: its table TWINS of Specs. What many of them
use to make inputs is here as well. Check 3, the invariants, is in invariants.py.
"""

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import NamedTuple

import jaxtyping
import numpy as np
import torch
from byhand import tree
from byhand.np.gradcheck import gradcheck, named_gradients, relative_error
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


def check_slope(spec: Spec, module: ModuleType, along: Callable = gradcheck) -> None:
    """Check 1: each gradient against central differences, entry by entry, or `along` one direction a leaf."""
    rng = np.random.default_rng(1)
    for case in cases_of(spec):
        errors = along(*pair(module, spec.name, **case.fixed), case.inputs, rng)
        for leaf, error in errors.items():
            assert error <= SLOPE, f"{spec.name}, {case.label}: gradient of {leaf} is off by {error:.0e}"


def directions(forward: Callable, backward: Callable, inputs: dict, rng, h: float = 1e-5) -> dict[str, float]:
    """As gradcheck, but for one random direction v a leaf: ⟨dX, v⟩ against (L(X + h v) − L(X − h v)) / 2h."""
    before = tree.flatten(tree.map_tree(np.copy, inputs))
    out, cache = forward(*inputs.values())
    dOut = rng.normal(size=np.shape(out))
    leaves, hand = tree.flatten(inputs), tree.flatten(named_gradients("slope", inputs, backward(dOut, cache)))
    found = {}
    for name, x in leaves.items():
        v = rng.normal(size=x.shape) / np.sqrt(max(x.size, 1))
        both = (tree.unflatten({**leaves, name: np.asarray(x + way * h * v)}) for way in (1, -1))
        with as_shipped():  # the shapes of the same call have been looked at above
            above, below = (np.array(forward(*moved.values())[0]) for moved in both)
        found[name] = float(((above - below) * dOut).sum() / (2 * h)), float((hand[name] * v).sum())
    for name, x in leaves.items():
        assert np.array_equal(x, before[name]), f"forward has changed {name}, which it was given"
    floor = 1e-2 * max(abs(slope) for slope, _ in found.values())
    return {name: abs(a - b) / max(abs(a), abs(b), floor) if a != b else 0.0 for name, (a, b) in found.items()}


def errors_of_twin(spec: Spec, module: ModuleType, pt_module: ModuleType, dtype) -> Iterator[tuple[Case, float, float]]:
    """The relative error between the halves, of the output and of the worst gradient, case by case."""
    rng = np.random.default_rng(2)
    torch_function = getattr(pt_module, spec.name)
    for case in cases_of(spec):
        inputs = tree.map_tree(lambda x: x.astype(dtype) if x.dtype.kind == "f" else x, case.inputs)
        given = tree.map_tree(lambda x: x.astype(dtype) if getattr(x, "dtype", "") == "float64" else x, case.fixed)
        fixed = tree.map_tree(lambda x: torch.tensor(x) if isinstance(x, np.ndarray) else x, given)
        if differentiable(module, spec.name):
            errors = parity(*pair(module, spec.name, **given), partial(torch_function, **fixed), inputs, rng)
            yield case, errors.pop("forward"), max(errors.values())
        else:
            mine = np.asarray(getattr(module, spec.name)(*inputs.values(), **given))
            theirs = torch_function(*tree.to_torch(inputs).values(), **fixed).numpy()
            assert mine.dtype == theirs.dtype, f"{spec.name}: {mine.dtype} against {theirs.dtype}"
            yield case, relative_error(mine.astype(float), theirs.astype(float)), 0.0


def check_twin(spec: Spec, module: ModuleType, pt_module: ModuleType, dtype=np.float64) -> None:
    """Check 2: the halves agree, in the output and in the gradients."""
    bounds = (FORWARD, GRADIENT) if dtype == np.float64 else (FORWARD32, GRADIENT32)
    for case, *errors in errors_of_twin(spec, module, pt_module, dtype):
        for what, error, bound in zip(("outputs", "gradients"), errors, bounds, strict=True):
            assert error <= bound, f"{spec.name}, {case.label}: {what} of the halves differ by {error:.0e}"


def twin(spec: Spec, module: ModuleType, pt_module: ModuleType, dtype=np.float64) -> tuple[float, float]:
    """The worst relative error between the halves, of the output and of the gradients."""
    worst = list(errors_of_twin(spec, module, pt_module, dtype))
    return max(forward for _, forward, _ in worst), max(gradient for *_, gradient in worst)


@contextmanager
def as_shipped():
    """The library as a reader has it: without the shape checks of conftest.py, which would speak first, and slowly."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", before)


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


IDS = [np.array(1), np.array([1, 4, 1, 1]), np.array([[0, 3, 3], [3, 0, 4]]), np.array([[[2], [2]]])]  # 5 rows
