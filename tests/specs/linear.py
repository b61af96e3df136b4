"""The linear pieces: slopes, twins, adjoints that hold to the last bit, and rows that are counted."""

import math
from functools import partial

import numpy as np
import torch
from byhand import tree
from byhand.np import linear as np_linear
from hypothesis.extra import numpy as hnp
from invariants import examples, matches_numpy, near, normal, rng, same
from mutants import M
from proofs import habits, torch_habits
from twins import IDS, LEAD, Case, Spec, pair


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


def gather_cases(rng):
    for ids in IDS:
        yield Case(f"ids {ids.shape}", {"E": rng.normal(size=(5, 6))}, {"ids": ids})


def scatter_add_cases(rng):
    for ids in IDS:
        yield Case(f"ids {ids.shape}", {"Y": rng.normal(size=(*ids.shape, 6))}, {"ids": ids, "size": 5})


TWINS = [
    Spec("linear", "matmul", matmul_cases),
    Spec("linear", "linear", linear_cases),
    Spec("linear", "add", add_cases),
    Spec("linear", "unbroadcast", unbroadcast_cases),
    Spec("linear", "gather", gather_cases),
    Spec("linear", "scatter_add", scatter_add_cases),
]


def whole(*shape):
    return np.random.default_rng(shape).integers(-4, 5, size=shape).astype(float)


def backward_is_the_adjoint(module):
    """⟨dY, f(X)⟩ = ⟨f*(dY), X⟩ for each argument in which f is linear."""
    ids = np.array([[0, 3, 3], [3, 0, 4]])
    for name, inputs, fixed in (
        ("matmul", (whole(2, 3, 4), whole(2, 4, 5)), {}),
        ("linear", (whole(2, 3, 4), whole(4, 5)), {}),
        ("gather", (whole(5, 6),), {"ids": ids}),
        ("scatter_add", (whole(2, 3, 6),), {"ids": ids, "size": 5}),
    ):
        forward, backward = pair(module, name, **fixed)
        out, cache = forward(*inputs)
        dOut = whole(*out.shape) + 1
        grads = backward(dOut, cache)
        for x, dx in zip(inputs, grads if isinstance(grads, tuple) else (grads,), strict=True):
            same((dOut * out).sum(), (dx * x).sum(), f"{name}: ⟨dY, f(X)⟩ and ⟨f*(dY), X⟩")
    for forward, backward, a, b in (
        (module.add_forward, module.add_backward, whole(2, 3, 4), whole(3, 1)),
        (partial(module.linear_forward, np.zeros((2, 3))), lambda dY, c: module.linear_backward(dY, c)[1:],
         whole(3, 4), whole(4)),
    ):
        out, cache = forward(a, b)
        dOut = whole(*out.shape) + 1
        da, db = backward(dOut, cache)
        same((dOut * out).sum(), (da * a).sum() + (db * b).sum(), "⟨dY, f(X, b)⟩ and ⟨dX, X⟩ + ⟨db, b⟩")


def gather_is_a_product_with_one_hot_rows(module):
    E, ids = whole(5, 6), np.array([[0, 3, 3], [3, 0, 4]])
    one_hot = (ids[..., None] == np.arange(5)).astype(float)
    same(module.gather_forward(E, ids)[0], one_hot @ E, "gather and one-hot product")
    Y = whole(2, 3, 6)
    same(module.scatter_add_forward(Y, ids, 5)[0], one_hot.reshape(6, 5).T @ Y.reshape(6, 6), "scatter and product")


def scatter_after_gather_counts_the_ids(module):
    E, ids = whole(5, 6), np.array([0, 3, 3, 4, 3])
    counts = np.bincount(ids, minlength=5)[:, None]
    same(module.scatter_add_forward(module.gather_forward(E, ids)[0], ids, 5)[0], counts * E, "scatter(gather(E))")


def unbroadcast_keeps_the_total(module):
    @examples(shapes=hnp.mutually_broadcastable_shapes(num_shapes=2, min_dims=1, max_dims=4, max_side=4))
    def any_two_shapes(shapes):
        big = shapes.result_shape
        for small in shapes.input_shapes:
            got = module.unbroadcast(whole(*big), small)
            assert got.shape == small
            same(got.sum(), whole(*big).sum(), "total before and after")
            same(module.unbroadcast(np.ones(big), small), np.full(small, math.prod(big) / math.prod(small)), "counts")

    any_two_shapes()


def leading_axes_are_only_rows(module):
    X, W, b = normal(2, 3, 4), normal(4, 5), normal(5)
    Y, cache = module.linear_forward(X, W, b)
    rows, flat = module.linear_forward(X.reshape(6, 4), W, b)
    near(Y.reshape(6, 5), rows, "outputs")
    for a, c in zip(module.linear_backward(Y, cache), module.linear_backward(rows, flat), strict=True):
        near(a.reshape(c.shape), c, "gradients")


def init_keeps_the_variance(module):
    params = module.init_linear(rng(), 300, 400)
    assert {k: v.shape for k, v in params.items()} == {"W": (300, 400), "b": (400,)}
    assert all(v.dtype == np.float32 for v in params.values())
    assert not params["b"].any()
    near((rng().normal(size=(500, 300)) @ params["W"]).var(), 1, "output variance and 1", 0.02)


def linear_module_is_linear_function(module):
    def backward(dY, cache):
        dX, dW, db = np_linear.linear_backward(dY, cache)
        return dX, {"W": dW} if db is None else {"W": dW, "b": db}

    for bias in (True, False):
        net = module.Linear(4, 5, bias)
        if bias:
            assert not net.b.any()
            torch.nn.init.normal_(net.b, generator=torch.Generator().manual_seed(1))
        matches_numpy(net, lambda X, p: np_linear.linear_forward(X, p["W"], p.get("b")), backward, normal(2, 3, 4))
    near(np.var(tree.from_torch(module.Linear(300, 400))["W"]), 1 / 300, "variance of W and 1/d_in", 1e-4)


def autocast_takes_the_bias_along(module):
    """A bias added for itself, in float32, would bring the whole output back to float32."""
    with torch.autocast("cpu", torch.bfloat16):
        for b in (None, torch.ones(5)):
            assert module.linear(torch.ones(2, 4), torch.ones(4, 5), b).dtype == torch.bfloat16, "under autocast"


INVARIANTS = {
    "np.linear": [*habits(TWINS), backward_is_the_adjoint, gather_is_a_product_with_one_hot_rows,
                  scatter_after_gather_counts_the_ids, unbroadcast_keeps_the_total, leading_axes_are_only_rows,
                  init_keeps_the_variance],
    "pt.linear": [*torch_habits(TWINS), linear_module_is_linear_function, autocast_takes_the_bias_along],
}

WRONG = [
    M("np.linear.matmul_backward", "slope twin invariant", "matmul: gradient divided by the batch",
      "dX = dZ @ Y.mT", "dX = dZ @ Y.mT / len(dZ)"),
    M("np.linear.matmul_backward", "slope twin invariant", "matmul: one factor treated as a constant",
      "dY = X.mT @ dZ", "dY = np.zeros_like(Y)"),
    M("np.linear.linear_backward", "slope twin invariant", "linear: the inverse for the transpose",
      "dX = (drows @ W.mT)", "dX = (drows @ np.linalg.pinv(W))"),
    M("np.linear.linear_backward", "slope twin invariant", "linear: dW averaged over tokens",
      "dW = rows.mT @ drows", "dW = rows.mT @ drows / len(rows)"),
    M("np.linear.linear_backward", "slope twin invariant", "linear: db summed over the wrong axis",
      "drows.sum(axis=0) if", "drows.sum(axis=1) if"),
    M("np.linear.linear_backward", "slope twin invariant", "linear: db taken from the last token only",
      "drows.sum(axis=0) if", "drows[-1] if"),
    M("np.linear.linear_backward", "slope twin invariant", "linear: db forgotten",
      "db = drows.sum(axis=0) if has_bias else None", "db = None"),
    M("np.linear.linear_backward", "invariant", "linear: rows read in memory order, not in index order",
      "rows, drows = X.reshape(-1, W.shape[0])", "rows, drows = X.ravel(order='K').reshape(-1, W.shape[0])"),
    M("np.linear.add_forward", "slope twin invariant", "add: written into its input",
      "return X + b, Add", "X += b\n    return X, Add"),
    M("np.linear.unbroadcast", "slope twin invariant", "add: db not summed, only one slice of dY",
      "dY.sum(axis=repeated, keepdims=True)", "dY.max(axis=repeated, keepdims=True)"),
    M("np.linear.unbroadcast", "slope twin invariant", "unbroadcast: mean for sum",
      "dY.sum(axis=repeated, keepdims=True)", "dY.mean(axis=repeated, keepdims=True)"),
    M("np.linear.gather_forward", "slope twin invariant", "gather: ids counted from one, the last one wraps",
      "    return E[ids], GatherCache(ids",
      "    ids = np.asarray((ids + 1) % E.shape[0])\n    return E[ids], GatherCache(ids"),
    M("np.linear.scatter_add_forward", "slope twin invariant", "gather: a repeated id counts once",
      "np.add.at(Z, ids, Y)", "Z[ids] += Y"),
    M("np.linear.scatter_add_backward", "slope twin invariant", "scatter_add: sorted by id, order never restored",
      "gather_forward(dZ, cache.ids)[0]",
      "gather_forward(dZ, np.sort(cache.ids, axis=None).reshape(cache.ids.shape))[0]"),
    M("np.linear.scatter_add_forward", "invariant", "scatter_add: float64 whatever came",
      "np.zeros((size, Y.shape[-1]), Y.dtype)", "np.zeros((size, Y.shape[-1]))"),
    M("np.linear.init_linear", "invariant", "init: standard deviation 1/d_in, not variance",
      "scale=1 / math.sqrt(d_in)", "scale=1 / d_in"),
    M("pt.linear.matmul", "twin", "matmul: one factor cut from the graph", "return X @ Y", "return X @ Y.detach()"),
    M("pt.linear.linear", "twin invariant", "linear: bias forgotten", "F.linear(X, W.mT, b)", "F.linear(X, W.mT)"),
    M("pt.linear.linear", "invariant", "linear: bias in float32 under autocast",
      "F.linear(X, W.mT, b)", "F.linear(X, W.mT) + (0 if b is None else b)"),
    M("pt.linear.add", "twin", "add: bias cut from the graph", "return X + b", "return X + b.detach()"),
    M("pt.linear.unbroadcast", "twin", "unbroadcast: mean for sum",
      "return dY.sum_to_size(shape)", "return dY.sum_to_size(shape) * (math.prod(shape) / dY.numel())"),
    M("pt.linear.gather", "twin", "gather: ids counted from one", "return E[ids]", "return E[ids - 1]"),
    M("pt.linear.scatter_add", "twin", "scatter_add: a repeated id counts once", ".index_add(0,", ".index_copy(0,"),
    M("pt.linear.scatter_add", "invariant", "scatter_add: zeros made on the CPU",
      "Y.new_zeros(size, Y.shape[-1])", "torch.zeros(size, Y.shape[-1], dtype=Y.dtype)"),
    M("pt.linear.scatter_add", "invariant", "scatter_add: zeros of the default dtype, then widened",
      "return Y.new_zeros(size, Y.shape[-1]).index_add(0, ids.reshape(-1), Y.reshape(-1, Y.shape[-1]",
      "Z = torch.zeros(size, Y.shape[-1], device=Y.device).to(torch.promote_types(Y.dtype, torch.float32))\n"
      "    return Z.index_add(0, ids.reshape(-1), Y.reshape(-1, Y.shape[-1]).to(Z.dtype"),
    M("pt.linear.Linear.forward", "invariant", "Linear: bias forgotten",
      "return linear(X, self.W, self.b)", "return linear(X, self.W)"),
    M("pt.linear.Linear.__init__", "invariant", "Linear: standard deviation 1",
      "torch.randn(d_in, d_out) / math.sqrt(d_in)", "torch.randn(d_in, d_out)"),
]
