"""Check 3, what must hold for any input: here, what the invariants of all stems are made of.

An invariant is a function of a module that passes silently or raises, so that wrong modules can be tried too. A file
specs/<stem>.py lists those of its stem; some that hold for every stem are here.
"""

import inspect
import re

import numpy as np
import torch
from byhand import tree
from hypothesis import Phase, given, settings
from torch.nn.utils import parametrize, prune
from twins import cases_of, differentiable, pair


def examples(**strategies):
    """Hypothesis, made cheap and repeatable: the same 25 examples every time."""
    once = settings(max_examples=25, derandomize=True, deadline=None, database=None, phases=[Phase.generate])
    return lambda check: once(given(**strategies)(check))


def same(a, b, what="the two"):
    assert np.array_equal(a, b), f"{what} differ, expected the same to the last bit"


def near(a, b, what="the two", tol=1e-12):
    assert np.shape(a) == np.shape(b), f"{what} have shapes {np.shape(a)} and {np.shape(b)}"
    gap = np.abs(np.asarray(a) - np.asarray(b)).max(initial=0.0)
    assert gap <= tol, f"{what} differ by {gap:.1e}, expected at most {tol:.0e}"


def raises(error, pattern, call):
    try:
        call()
    except error as found:
        assert re.search(pattern, str(found)), f"{found} does not say {pattern}"
    else:
        raise AssertionError(f"nothing was raised, expected {error}")


def rng():
    return np.random.default_rng(7)


def normal(*shape):
    return np.random.default_rng(len(shape) + sum(shape)).normal(size=shape)


# Modules of torch


class Compiled(torch.nn.Module):
    """What torch.compile makes, as far as names go: a module whose state_dict says _orig_mod in every name."""

    def __init__(self, net):
        super().__init__()
        self._orig_mod = net

    def forward(self, *inputs):
        return self._orig_mod(*inputs)


def every_part_counts(net, run):
    """Each part of a module runs as a module, so that hooks are called and a part put in its place is used."""
    parts = {name: part for name, part in net.named_modules() if name and not isinstance(part, torch.nn.ModuleList)}
    before = run(net).detach()
    for name, part in parts.items():
        hook = part.register_forward_hook(lambda part, args, out: out + torch.linspace(0, 1, out.shape[-1]).to(out))
        changed = not torch.equal(run(net).detach(), before)
        hook.remove()
        assert changed, f"{name} can be hooked, and nothing changes"


class Halved(torch.nn.Module):
    def forward(self, x):
        return x / 2


def parameters_may_be_dressed(make, run, names=None):
    """Parametrised, pruned, a buffer, tied to another or beside a new one: the output is that of the same numbers."""
    for name, x in ((name, x) for name, x in make().named_parameters() if names is None or name in names):
        plain, parametrised, pruned, frozen, more = (make() for _ in range(5))
        for net in (parametrised, pruned, frozen, more):
            net.load_state_dict(plain.state_dict())
        parametrize.register_parametrization(parametrised, name, Halved())
        prune.random_unstructured(pruned, name, 0.0)
        del frozen._parameters[name]
        frozen.register_buffer(name, getattr(plain, name).detach().clone())
        more.gate = torch.nn.Parameter(torch.ones(3))
        expected = run(plain).detach()
        for dressed, net in (("pruned", pruned), ("a buffer", frozen), ("with another", more)):
            near(run(net).detach(), expected, f"{name} {dressed} and plain")
        with torch.no_grad():
            getattr(plain, name).mul_(0.5)
        near(run(parametrised).detach(), run(plain).detach(), f"{name} parametrised and plain")
        for other, y in make().named_parameters():
            if "." not in other and other < name and x.shape == y.shape:
                tied = make()
                setattr(tied, name, getattr(tied, other))
                plain.load_state_dict(tied.state_dict())
                near(run(tied).detach(), run(plain).detach(), f"{name} tied to {other}, and equal to it")


# Every differentiable function of a NumPy module


def runs(module, specs):
    """(forward, backward, inputs, fixed) of every case of every differentiable function of this module."""
    for spec in specs:
        if spec.stem == module.__name__.split(".")[-1] and differentiable(module, spec.name):
            for case in cases_of(spec):
                yield *pair(module, spec.name), case.inputs, case.fixed


def arrays(x):
    """All arrays in an argument, a cache or a tuple of gradients."""
    if isinstance(x, np.ndarray):
        return [x]
    parts = x.values() if isinstance(x, dict) else x if isinstance(x, tuple) else ()
    return [array for part in parts for array in arrays(part)]


def single(x):
    """Arrays in float32, numbers as NumPy scalars of float64, which would pull the arrays up."""
    if isinstance(x, np.ndarray) and x.dtype == np.float64:
        return x.astype(np.float32)
    return np.float64(x) if isinstance(x, float) else x


def float32_stays_float32(module, specs):
    for forward, backward, inputs, fixed in runs(module, specs):
        inputs = tree.map_tree(lambda x: x.astype(np.float32), inputs)
        fixed = tree.map_tree(single, fixed)
        out, cache = forward(*inputs.values(), **fixed)
        for x in (out, *arrays(backward(normal(*out.shape).astype(np.float32), cache))):
            assert x.dtype == np.float32, f"{x.dtype}, expected float32"


def inputs_are_left_alone(module, specs):
    for forward, backward, inputs, fixed in runs(module, specs):
        inputs = tree.map_tree(np.copy, inputs)
        out, cache = forward(*inputs.values(), **fixed)
        dOut = normal(*out.shape)
        for x in (*arrays(inputs), *arrays(fixed), dOut):
            x.flags.writeable = False
        again, cache = forward(*inputs.values(), **fixed)
        same(out, again, "two forward passes")
        for first, second in zip(arrays(backward(dOut, cache)), arrays(backward(dOut, cache)), strict=True):
            same(first, second, "two backward passes")


def by_columns(x):
    return np.array(x, order="F") if isinstance(x, np.ndarray) else x


def memory_layout_does_not_matter(module, specs):
    for forward, backward, inputs, fixed in runs(module, specs):
        out, cache = forward(*inputs.values(), **fixed)
        dOut = normal(*out.shape)
        fixed = {k: by_columns(v) for k, v in fixed.items()}
        out2, cache2 = forward(*tree.map_tree(by_columns, inputs).values(), **fixed)
        near(out, out2, "outputs")
        for a, b in zip(arrays(backward(dOut, cache)), arrays(backward(by_columns(dOut), cache2)), strict=True):
            near(a, b, "gradients")


# The PyTorch half


def runs_on_any_device(module, specs):
    """On the meta device, which has no numbers: nothing is made elsewhere, and nothing waits for a value."""
    for spec in specs:
        if spec.stem == module.__name__.split(".")[-1]:
            for case in cases_of(spec):
                if np.ndim(case.fixed.get("ids", [0])) == 0:
                    continue  # torch reads a single index as a number
                inputs = tree.to_torch(case.inputs, device="meta")
                fixed = {k: torch.tensor(v, device="meta") if isinstance(v, np.ndarray) else v
                         for k, v in case.fixed.items()}
                if "device" in inspect.signature(getattr(module, spec.name)).parameters:
                    fixed["device"] = "meta"
                out = getattr(module, spec.name)(*inputs.values(), **fixed)
                assert out.device.type == "meta", f"{spec.name} went to {out.device}"


def dtype_stays(module, specs):
    for spec in specs:
        if spec.stem == module.__name__.split(".")[-1]:
            for dtype in (torch.float32, torch.bfloat16):
                case = cases_of(spec)[-1]
                inputs = tree.to_torch(case.inputs, dtype=dtype)
                fixed = {k: torch.tensor(v) if isinstance(v, np.ndarray) else v for k, v in case.fixed.items()}
                out = getattr(module, spec.name)(*inputs.values(), **fixed)
                assert out.dtype == dtype, f"{spec.name} made {out.dtype} of {dtype}"


def matches_numpy(net, forward, backward, X, *args, fixed=None):
    """A module of torch against the NumPy half, given the parameters of the module: output and all gradients."""
    net, params = net.double(), tree.from_torch(net.double())
    x = torch.tensor(X, requires_grad=True)
    out = net(x, *map(torch.tensor, args), **(fixed or {}))
    expected, cache = forward(X, params, *args)
    dOut = normal(*expected.shape)
    out.backward(torch.tensor(dOut))
    dX, grads = backward(dOut, cache)
    near(out.detach(), expected, "outputs")
    near(x.grad, dX, "dX")
    assert list(grads) == list(params)
    for name, p in net.named_parameters():
        near(p.grad, grads[name], f"d{name}")
