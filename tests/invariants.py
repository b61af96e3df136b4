"""Check 3: what must hold for any input, one small function of a module each, so that wrong modules can be tried too.

An invariant passes silently or raises. `INVARIANTS["np.softmax"]` lists those of one module.
"""

import inspect
import math
import re
from functools import partial

import numpy as np
import torch
from byhand import tree
from byhand.config import AttentionConfig
from byhand.np import attention as np_attention
from byhand.np import linear as np_linear
from byhand.np.softmax import softmax_forward
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from twins import TWINS, cases_of, differentiable, head_params, mask_of, pair

INVARIANTS: dict[str, list] = {}


def invariant(*places):
    def register(check):
        for place in places:
            INVARIANTS.setdefault(place, []).append(check)
        return check

    return register


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


# Every differentiable function of a NumPy module


def runs(module, specs=TWINS):
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


@invariant("np.linear", "np.softmax", "np.attention")
def float32_stays_float32(module, specs=TWINS):
    for forward, backward, inputs, fixed in runs(module, specs):
        inputs = tree.map_tree(lambda x: x.astype(np.float32), inputs)
        fixed = tree.map_tree(single, fixed)
        out, cache = forward(*inputs.values(), **fixed)
        for x in (out, *arrays(backward(normal(*out.shape).astype(np.float32), cache))):
            assert x.dtype == np.float32, f"{x.dtype}, expected float32"


@invariant("np.linear", "np.softmax", "np.attention")
def inputs_are_left_alone(module, specs=TWINS):
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


@invariant("np.linear", "np.softmax", "np.attention")
def memory_layout_does_not_matter(module, specs=TWINS):
    for forward, backward, inputs, fixed in runs(module, specs):
        out, cache = forward(*inputs.values(), **fixed)
        dOut = normal(*out.shape)
        fixed = {k: by_columns(v) for k, v in fixed.items()}
        out2, cache2 = forward(*tree.map_tree(by_columns, inputs).values(), **fixed)
        near(out, out2, "outputs")
        for a, b in zip(arrays(backward(dOut, cache)), arrays(backward(by_columns(dOut), cache2)), strict=True):
            near(a, b, "gradients")


# Linear pieces. On whole numbers float64 is exact, so these hold to the last bit.


def whole(*shape):
    return np.random.default_rng(shape).integers(-4, 5, size=shape).astype(float)


@invariant("np.linear")
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


@invariant("np.linear")
def gather_is_a_product_with_one_hot_rows(module):
    E, ids = whole(5, 6), np.array([[0, 3, 3], [3, 0, 4]])
    one_hot = (ids[..., None] == np.arange(5)).astype(float)
    same(module.gather_forward(E, ids)[0], one_hot @ E, "gather and one-hot product")
    Y = whole(2, 3, 6)
    same(module.scatter_add_forward(Y, ids, 5)[0], one_hot.reshape(6, 5).T @ Y.reshape(6, 6), "scatter and product")


@invariant("np.linear")
def scatter_after_gather_counts_the_ids(module):
    E, ids = whole(5, 6), np.array([0, 3, 3, 4, 3])
    counts = np.bincount(ids, minlength=5)[:, None]
    same(module.scatter_add_forward(module.gather_forward(E, ids)[0], ids, 5)[0], counts * E, "scatter(gather(E))")


@invariant("np.linear")
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


@invariant("np.linear")
def leading_axes_are_only_rows(module):
    X, W, b = normal(2, 3, 4), normal(4, 5), normal(5)
    Y, cache = module.linear_forward(X, W, b)
    rows, flat = module.linear_forward(X.reshape(6, 4), W, b)
    near(Y.reshape(6, 5), rows, "outputs")
    for a, c in zip(module.linear_backward(Y, cache), module.linear_backward(rows, flat), strict=True):
        near(a.reshape(c.shape), c, "gradients")


@invariant("np.linear")
def init_keeps_the_variance(module):
    params = module.init_linear(rng(), 300, 400)
    assert {k: v.shape for k, v in params.items()} == {"W": (300, 400), "b": (400,)}
    assert all(v.dtype == np.float32 for v in params.values())
    assert not params["b"].any()
    near((rng().normal(size=(500, 300)) @ params["W"]).var(), 1, "output variance and 1", 0.02)


# Softmax


@invariant("np.softmax")
def rows_sum_to_one(module):
    @examples(S=hnp.arrays(float, hnp.array_shapes(max_dims=4, max_side=4), elements=st.floats(-500, 500)),
              seed=st.integers(0, 99))
    def any_scores(S, seed):
        mask = np.random.default_rng(seed).random(S.shape) < 0.5
        for allowed in (None, mask):
            A, cache = module.softmax_forward(S, allowed)
            alive = np.ones(S.shape[:-1]) if allowed is None else mask.any(axis=-1)
            near(A.sum(axis=-1), alive, "row sums and one (or zero, where nothing is visible)")
            assert (A >= 0).all()
            near(module.softmax_backward(normal(*S.shape), cache).sum(axis=-1), 0 * alive, "row sums of dS and zero")

    any_scores()


@invariant("np.softmax")
def shifting_a_row_changes_nothing(module):
    S = normal(2, 3, 4)
    shift = 10 * normal(2, 3, 1)
    near(module.softmax_forward(S)[0], module.softmax_forward(S + shift)[0], "softmax of S and of S + c")
    near(module.log_softmax_forward(S)[0], module.log_softmax_forward(S + shift)[0], "log softmax of S and of S + c")
    near(module.logsumexp_forward(S)[0] + shift[..., 0], module.logsumexp_forward(S + shift)[0], "L + c and L(S + c)")


@invariant("np.softmax")
def stable_at_any_size(module):
    for dtype in (np.float64, np.float32):
        S = np.array([[1e4, 0, -1e4], [-1e4, -1e4, -1e4], [1e4, 1e4, 1e4]], dtype)
        near(module.softmax_forward(S)[0], [[1, 0, 0], [1 / 3] * 3, [1 / 3] * 3], "weights", 1e-7)
        near(module.softmax_forward(S, S < 1e4)[0], [[0, 1, 0], [1 / 3] * 3, [0] * 3], "masked weights", 1e-7)
        near(module.logsumexp_forward(S)[0], [1e4, -1e4 + math.log(3), 1e4 + math.log(3)], "logsumexp", 1e-3)
        near(module.log_softmax_forward(S)[0], [[0, -1e4, -2e4], [-math.log(3)] * 3, [-math.log(3)] * 3], "logs", 1e-3)


@invariant("np.softmax")
def masked_scores_have_no_say(module):
    S, mask = normal(2, 3, 4), mask_of("random", rng(), (2,), 3, 4)
    A, cache = module.softmax_forward(S, mask)
    assert not A[~mask].any() and not module.softmax_backward(normal(2, 3, 4), cache)[~mask].any()
    same(A, module.softmax_forward(np.where(mask, S, 1e4 * normal(2, 3, 4)), mask)[0], "weights whatever is masked")
    small = np.where(mask, S - 1e6, 0)  # even where what is visible is far below what is masked
    near(A, module.softmax_forward(small, mask)[0], "weights far down", 1e-9)


@invariant("np.softmax")
def a_row_with_nothing_visible_is_zero(module):
    mask = np.array([[False] * 4, [True] * 4])
    A, cache = module.softmax_forward(normal(2, 4), mask)
    assert not A[0].any() and not module.softmax_backward(normal(2, 4), cache)[0].any()


@invariant("np.softmax")
def jacobian_is_a_covariance(module):
    """Symmetric, rows sum to zero, no negative eigenvalue, rank m − 1; and the backward applies it."""
    a, cache = module.softmax_forward(normal(5))
    J = module.softmax_jacobian(a)
    same(J, J.T, "J and its transpose")
    near(J.sum(axis=1), np.zeros(5), "row sums and zero")
    assert np.linalg.eigvalsh(J).min() > -1e-12 and np.linalg.matrix_rank(J, tol=1e-9) == 4
    near(np.stack([module.softmax_backward(e, cache) for e in np.eye(5)]), J, "backward of unit vectors and J")


@invariant("np.softmax")
def logsumexp_is_a_soft_maximum(module):
    S = 5 * normal(2, 3, 4)
    L, top = module.logsumexp_forward(S)[0], S.max(axis=-1)
    assert ((top <= L) & (top + math.log(4) >= L)).all()
    near(np.exp(S - L[..., None]), module.softmax_forward(S)[0], "exp(S − L) and the softmax")


@invariant("np.softmax")
def log_softmax_is_the_log(module):
    S = normal(2, 3, 4)
    Y, cache = module.log_softmax_forward(S)
    near(np.exp(Y), module.softmax_forward(S)[0], "exp(log softmax) and softmax")
    near(module.log_softmax_backward(normal(2, 3, 4), cache).sum(axis=-1), np.zeros((2, 3)), "row sums of dS and zero")


# Attention


def qkv(*lead, n=3, m=4, d_k=5, d_v=6):
    return normal(*lead, n, d_k), normal(*lead, m, d_k), normal(*lead, m, d_v)


def additive_params():
    return {"W_q": normal(5, 8), "W_k": normal(5, 8).copy()[::-1], "w": normal(8)}


def flavours(module):
    """(forward, backward) of the three attentions, as functions of Q, K, V and a mask; parameters left out."""
    yield module.attention_forward, module.attention_backward
    yield (lambda Q, K, V, mask=None: module.additive_attention_forward(Q, K, V, additive_params(), mask),
           lambda dO, cache: module.additive_attention_backward(dO, cache)[:3])
    yield (lambda Q, K, V, mask=None: module.kernel_attention_forward(Q, K, V, 1.3, mask),
           module.kernel_attention_backward)


@invariant("np.attention")
def worked_by_hand(module):
    """Scores (ln 3, 0) give weights 3/4 and 1/4, so that values 4 and 8 become 5."""
    V = np.array([[4.0], [8.0]])
    Q, K = np.array([[2 * math.log(3), 0, 0, 0]]), np.array([[1.0, 0, 0, 0], [0, 1, 0, 0]])
    O, cache = module.attention_forward(Q, K, V)
    near(O, [[5]])
    near(cache.A, [[3 / 4, 1 / 4]])
    two = math.sqrt(2 * math.log(3))  # kernel of width one: −‖q − k‖² / 2 is 0 and −ln 3
    near(module.kernel_attention_forward(np.zeros((1, 1)), np.array([[0.0], [two]]), V, 1.0)[0], [[5]])
    params = {"W_q": np.ones((1, 1)), "W_k": np.ones((1, 1)), "w": np.array([math.log(3) / math.tanh(2)])}
    near(module.additive_attention_forward(np.ones((1, 1)), np.array([[1.0], [-1]]), V, params)[0], [[5]])


@invariant("np.attention")
def queries_are_a_set(module):
    """Permuting the queries permutes the output and dQ, and leaves dK and dV alone."""
    (Q, K, V), order, dO = qkv(2), [2, 0, 1], normal(2, 3, 6)
    for forward, backward in flavours(module):
        O, cache = forward(Q, K, V)
        P, moved = forward(Q[:, order], K, V)
        near(O[:, order], P, "outputs")
        (dQ, *rest), (dP, *others) = backward(dO, cache), backward(dO[:, order], moved)
        near(dQ[:, order], dP, "dQ")
        for a, b in zip(rest, others, strict=True):
            near(a, b, "dK or dV")


@invariant("np.attention")
def keys_and_values_are_a_set(module):
    """Permuting the (key, value) pairs leaves the output and dQ alone, and permutes dK and dV."""
    (Q, K, V), order, dO = qkv(2), [3, 1, 0, 2], normal(2, 3, 6)
    for forward, backward in flavours(module):
        O, cache = forward(Q, K, V)
        P, moved = forward(Q, K[:, order], V[:, order])
        near(O, P, "outputs")
        (dQ, *rest), (dP, *others) = backward(dO, cache), backward(dO, moved)
        near(dQ, dP, "dQ")
        for a, b in zip(rest, others, strict=True):
            near(a[:, order], b, "dK or dV")


@invariant("np.attention")
def the_future_is_out_of_reach(module):
    """With a causal mask, keys and values after t change no output up to t, and get nothing back from it: exactly."""
    t, mask = 1, np.tri(4, dtype=bool)
    Q, K, V = qkv(2, n=4)
    changed = [x + 9 * (np.arange(4) > t)[:, None] for x in (K, V)]
    dO = normal(2, 4, 6) * (np.arange(4) <= t)[:, None]
    for forward, backward in flavours(module):
        O, cache = forward(Q, K, V, mask=mask)
        same(O[:, :t + 1], forward(Q, *changed, mask=mask)[0][:, :t + 1], "outputs up to t")
        dQ, dK, dV = backward(dO, cache)
        assert not dQ[:, t + 1:].any() and not dK[:, t + 1:].any() and not dV[:, t + 1:].any()
        assert dK[:, :t + 1].any() and dV[:, :t + 1].any()


@invariant("np.attention")
def masked_keys_get_nothing(module):
    (Q, K, V), mask = qkv(2), mask_of("padding", rng(), (2,), 3, 4)
    hidden = ~mask[:, 0]
    for forward, backward in flavours(module):
        O, cache = forward(Q, K, V, mask=mask)
        _, dK, dV = backward(normal(2, 3, 6), cache)
        assert not cache.A[np.broadcast_to(~mask, cache.A.shape)].any()
        assert not dK[hidden].any() and not dV[hidden].any()
        other = [np.where(hidden[..., None], 50 * x[..., ::-1], x) for x in (K, V)]
        same(O, forward(Q, *other, mask=mask)[0], "outputs whatever is masked")


@invariant("np.attention")
def a_query_that_sees_nothing_is_silent(module):
    Q, K, V = qkv(2)
    dO = normal(2, 3, 6)
    blind = np.ones((3, 4), bool)
    blind[1] = False
    for forward, backward in flavours(module):
        O, cache = forward(Q, K, V, mask=blind)
        assert not O[:, 1].any() and O[:, 0].any()
        assert not backward(dO, cache)[0][:, 1].any()
        for grad in backward(dO * ~blind[:, :1], cache):  # nothing comes in but through the silent query
            assert not grad.any()


@invariant("np.attention")
def equal_keys_share_equally(module):
    Q, K, V = qkv(2)
    for forward, _ in flavours(module):
        O, cache = forward(Q, np.broadcast_to(K[:, :1], K.shape).copy(), V)
        near(cache.A, np.full((2, 3, 4), 1 / 4), "weights and 1/m")
        near(O, np.broadcast_to(V.mean(axis=1, keepdims=True), O.shape), "outputs and the mean value")


@invariant("np.attention")
def outputs_lie_among_the_visible_values(module):
    """Any sizes, any mask: weights sum to one (or zero), and each output lies within the visible values."""

    @examples(lead=hnp.array_shapes(min_dims=0, max_dims=2, max_side=3), n=st.integers(1, 4), m=st.integers(1, 4),
              d_k=st.integers(1, 4), d_v=st.integers(1, 4), seed=st.integers(0, 99))
    def any_sizes(lead, n, m, d_k, d_v, seed):
        Q, K, V = (3 * x for x in qkv(*lead, n=n, m=m, d_k=d_k, d_v=d_v))
        mask = np.random.default_rng(seed).random((*lead, n, m)) < 0.6
        O, cache = module.attention_forward(Q, K, V, mask)
        alive = mask.any(axis=-1)
        near(cache.A.sum(axis=-1), alive.astype(float), "row sums")
        seen = np.where(mask[..., None], V[..., None, :, :], np.nan)[alive]
        assert not O[~alive].any()
        if alive.any():
            assert (O[alive] >= np.nanmin(seen, axis=-2) - 1e-12).all()
            assert (O[alive] <= np.nanmax(seen, axis=-2) + 1e-12).all()
        dO = normal(*O.shape)
        assert [g.shape for g in module.attention_backward(dO, cache)] == [Q.shape, K.shape, V.shape]

    any_sizes()


@invariant("np.attention")
def scale_multiplies_the_scores(module):
    Q, K, V = qkv(2)
    near(module.attention_forward(Q, K, V)[0], module.attention_forward(Q, K, V, scale=1 / math.sqrt(5))[0], "default")
    near(module.attention_forward(Q, K, V, scale=0.3)[0], module.attention_forward(0.3 * Q, K, V, scale=1.0)[0], "0.3")
    V_mean = np.broadcast_to(V.mean(axis=1, keepdims=True), (2, 3, 6))
    near(module.attention_forward(Q, K, V, scale=0.0)[0], V_mean, "scale 0 and the mean value")


@invariant("np.attention")
def moving_all_keys_together_changes_nothing(module):
    """Adding one vector to every key adds one number to every score of a query; so Σ dK = 0."""
    Q, K, V = qkv(2)
    O, cache = module.attention_forward(Q, K, V)
    near(O, module.attention_forward(Q, K + normal(5), V)[0], "outputs")
    near(module.attention_backward(normal(2, 3, 6), cache)[1].sum(axis=1), np.zeros((2, 5)), "Σ dK and zero")


@invariant("np.attention")
def the_key_bias_learns_nothing(module):
    params = head_params(rng())
    O, cache = module.self_attention_forward(normal(2, 3, 4), params)
    grads = module.self_attention_backward(normal(2, 3, 6), cache)[1]
    near(grads["b_k"], np.zeros(5), "db_k and zero")
    assert np.abs(grads["b_q"]).max() > 1e-3 and np.abs(grads["b_v"]).max() > 1e-3
    params["b_k"] = params["b_k"] + 1
    near(O, module.self_attention_forward(normal(2, 3, 4), params)[0], "outputs")


@invariant("np.attention")
def sequences_of_a_batch_do_not_meet(module):
    Q, K, V = qkv(2)
    other = [np.concatenate([x[:1], x[1:] + 1]) for x in (Q, K, V)]
    dO = normal(2, 3, 6)
    dP = np.concatenate([dO[:1], dO[1:] + 1])
    for forward, backward in flavours(module):
        (O, cache), (P, moved) = forward(Q, K, V), forward(*other)
        same(O[0], P[0], "outputs of the first sequence")
        for a, b in zip(backward(dO, cache), backward(dP, moved), strict=True):
            same(a[0], b[0], "gradients of the first sequence")


@invariant("np.attention")
def self_attention_is_equivariant_and_causal(module):
    X, params, order = normal(2, 4, 4), head_params(rng()), [2, 0, 3, 1]
    O = module.self_attention_forward(X, params)[0]
    near(O[:, order], module.self_attention_forward(X[:, order], params)[0], "outputs of permuted tokens")
    mask = np.tri(4, dtype=bool)
    moved = X + 5 * (np.arange(4) > 1)[:, None]
    O, P = (module.self_attention_forward(x, params, mask)[0] for x in (X, moved))
    same(O[:, :2], P[:, :2], "outputs before the change")


@invariant("np.attention")
def kernel_attention_with_keys_of_one_length_is_dot_product(module):
    """If every key has the same norm, −‖q − k‖²/2h² is q·k/h² and a number that the softmax ignores."""
    Q, K, V = qkv(2)
    K = K / np.linalg.norm(K, axis=-1, keepdims=True)
    mask = mask_of("random", rng(), (2,), 3, 4)
    near(module.kernel_attention_forward(Q, K, V, 0.8, mask)[0],
         module.attention_forward(Q, K, V, mask, scale=1 / 0.64)[0], "kernel and dot product")


@invariant("np.attention")
def kernel_attention_sees_only_differences(module):
    """Moving all queries and keys together changes nothing, so Σ dQ + Σ dK = 0."""
    Q, K, V = qkv(2)
    O, cache = module.kernel_attention_forward(Q, K, V, 0.8)
    near(O, module.kernel_attention_forward(Q + normal(5), K + normal(5), V, 0.8)[0], "outputs")
    dQ, dK, _ = module.kernel_attention_backward(normal(2, 3, 6), cache)
    near(dQ.sum(axis=1) + dK.sum(axis=1), np.zeros((2, 5)), "Σ dQ + Σ dK and zero")


@invariant("np.attention")
def additive_scores_see_only_the_sum(module):
    """If W_q moves every query by what W_k moves every key back, no score changes; and |score| ≤ Σ|w|."""
    (Q, K, V), params = qkv(2), additive_params()
    params["W_k"] = params["W_q"].copy()
    O, cache = module.additive_attention_forward(Q, K, V, params)
    near(O, module.additive_attention_forward(Q + normal(5), K - normal(5), V, params)[0], "outputs")
    far = module.additive_attention_forward(1e3 * Q, K, V, params)[1].A
    assert far.max() / far.min() <= math.exp(2 * np.abs(params["w"]).sum())


@invariant("np.attention")
def init_gives_unit_variance(module):
    for bias in (True, False):
        params = module.init_self_attention(rng(), AttentionConfig(d=300, d_k=200, d_v=100, bias=bias))
        shapes = {f"W_{x}": (300, w) for x, w in zip("qkv", (200, 200, 100), strict=True)}
        shapes |= {f"b_{x}": (w,) for x, w in zip("qkv", (200, 200, 100), strict=True)} if bias else {}
        assert {k: v.shape for k, v in params.items()} == shapes
        assert all(v.dtype == np.float32 for v in params.values())
        assert not any(params[k].any() for k in params if k.startswith("b"))
        X = rng().normal(size=(400, 300))
        for name in ("W_q", "W_k", "W_v"):
            near((X @ params[name]).var(), 1, f"variance of X {name} and 1", 0.05)
        assert not np.array_equal(params["W_q"], params["W_k"])


# Masks


@invariant("np.mask", "pt.mask")
def masks_entry_by_entry(module):
    @examples(n=st.integers(1, 6), m=st.integers(1, 6), offset=st.integers(0, 4), ndim=st.integers(3, 5))
    def any_sizes(n, m, offset, ndim):
        same(module.causal_mask(n, m, offset), [[j <= i + offset for j in range(m)] for i in range(n)], "causal masks")
        same(module.causal_mask(n, offset=offset), module.causal_mask(n + offset)[offset:], "offset and last rows")
        lengths = [m, 0, m // 2]
        ids = np.array(lengths) if module.__name__.startswith("byhand.np") else torch.tensor(lengths)
        mask = module.padding_mask(ids, m, ndim)
        assert tuple(mask.shape) == (3, *[1] * (ndim - 2), m)
        same(mask.reshape(3, m), [[j < length for j in range(m)] for length in lengths], "padding masks")

    any_sizes()


@invariant("np.mask", "pt.mask")
def combining_narrows(module):
    """A combined mask allows what each part allows, in any order, and no more; rows of nothing are found."""
    causal = module.causal_mask(3)
    last = ~causal | causal
    last[..., :2] = False  # only the last key
    both = module.combine_masks(causal, last)
    same(both, module.combine_masks(last, causal), "orders")
    same(both, module.combine_masks(both, both, causal), "twice")
    same(both, [[False, False, False], [False, False, False], [False, False, True]], "by hand")
    same(module.fully_masked_rows(both), [True, True, False], "blind queries")
    same(module.fully_masked_rows(causal), [False, False, False], "blind queries")


def causal_attention(X, wrong=None):
    """Self-attention with Q = K = V = X, right or with one of the faults that a gradient check cannot see."""
    n = X.shape[-2]
    mask = np.tri(n, k=1 if wrong == "mask off by one" else 0, dtype=bool)
    S = X @ X.mT / math.sqrt(X.shape[-1])
    if wrong == "no mask":
        A = softmax_forward(S)[0]
    elif wrong == "mask after softmax":
        A = softmax_forward(S)[0] * mask
    elif wrong == "softmax over queries":
        A = softmax_forward(S.mT, mask.T.copy())[0].mT
    else:
        A = softmax_forward(S, mask)[0]
    return A @ X


LEAKS = ["no mask", "mask after softmax", "mask off by one", "softmax over queries"]


def probe(module, f, X, t):
    """leak_probe of either half, for f a function of NumPy arrays."""
    if module.__name__.startswith("byhand.np"):
        return module.leak_probe(f, X, t, rng())
    return module.leak_probe(lambda x: torch.tensor(f(x.numpy())), torch.tensor(X), t, torch.Generator().manual_seed(7))


@invariant("np.mask", "pt.mask")
def leak_probe_is_zero_for_causal_functions(module):
    X = normal(2, 5, 4)
    kept = X.copy()
    for t in (1, 2, 4):
        for f in (causal_attention, lambda x: x.cumsum(axis=-2), lambda x: x + 0):
            assert probe(module, f, X, t) == 0
    same(X, kept, "X before and after")


@invariant("np.mask", "pt.mask")
def leak_probe_finds_every_leak(module):
    X = normal(2, 5, 4)
    for t in (1, 2, 4):
        for wrong in LEAKS:
            assert probe(module, partial(causal_attention, wrong=wrong), X, t) > 1e-3, wrong
        assert probe(module, lambda x: np.roll(x, -1, axis=-2), X, t) > 1e-3  # each token reads the next one
        assert probe(module, lambda x: -(np.roll(x, -1, axis=-2) ** 2), 0 * X, t) > 1e-3  # and can only fall


# The gradient check checks itself


@invariant("np.gradcheck")
def relative_error_is_a_distance(module):
    error = module.relative_error
    a, b = np.array([1.0, -2.0, 0.0]), np.array([1.0, -1.0, 0.0])
    near(error(a, b), 0.5)
    near(error(b, a), 0.5, "order")
    near(error(-a, -b), 0.5, "sign")
    near(error(1e6 * a, 1e6 * b), 0.5, "scale")
    assert error(a, a) == 0 and error(0 * a, 0 * a) == 0 and error(0 * a, b) == 1
    assert error(np.zeros((0, 3)), np.zeros((0, 3))) == 0
    near(error(a, b, floor=10.0), 0.1, "floor")
    near(error(a, b, floor=1e-9), 0.5, "small floor")
    raises((ValueError, TypeError), r"\bb\b", lambda: error(a, b[:1]))  # no silent broadcasting
    raises(ValueError, "nan", lambda: error(a, np.nan * b))  # NaN > tol is False, and would pass


@invariant("np.gradcheck")
def numerical_gradient_of_known_functions(module):
    X = normal(2, 3)
    near(module.numerical_gradient(lambda x: (x * x).sum(), X), 2 * X, "d Σx² and 2x", 1e-8)
    near(module.numerical_gradient(np.sin, X, dY=np.full((2, 3), 2.0)), 2 * np.cos(X), "2 cos", 1e-8)
    near(module.numerical_gradient(lambda x: x.sum(axis=0), X, dY=np.array([1.0, 2, 3])), [[1, 2, 3]] * 2, "dY", 1e-8)
    near(module.numerical_gradient(lambda x: x, X), np.ones((2, 3)), "a function that gives back its input", 1e-8)
    cube = module.numerical_gradient(lambda x: (x * x * x).sum(), X, h=1e-3)
    near(cube - 3 * X * X, np.full((2, 3), 1e-6), "the error of x³ and h²", 1e-8)


@invariant("np.gradcheck")
def numerical_gradient_puts_things_back(module):
    X, seen = normal(2, 3), []
    X.flags.writeable = False
    module.numerical_gradient(lambda x: seen.append(x.copy()) or x.sum(), X)
    assert len(seen) == 2 * X.size and all((x != X).sum() == 1 for x in seen)  # one entry moves at a time


def parts(X, p):
    """Y = X · p.w + p.b, and what a backward of it may get wrong."""
    return X * p["w"] + p["b"], (X, p["w"])


def parts_backward(dY, cache, wrong=None):
    X, w = cache
    grads = {"X": dY * w, "w": (dY * X).sum(axis=0), "b": dY.sum(axis=0)}
    if wrong:
        grads[wrong] = grads[wrong] * 1.001
    return grads["X"], {"w": grads["w"], "b": grads["b"]}


def parts_inputs():
    return {"X": normal(3, 2), "p": {"w": normal(2), "b": normal(2) + 1}}


@invariant("np.gradcheck")
def gradcheck_names_the_wrong_leaf(module):
    def check(wrong):
        return module.gradcheck(parts, partial(parts_backward, wrong=wrong), parts_inputs(), rng())

    assert list(check(None)) == ["X", "p.w", "p.b"] and max(check(None).values()) < 1e-9
    for wrong, leaf in (("X", "X"), ("w", "p.w"), ("b", "p.b")):
        errors = check(wrong)
        near(errors.pop(leaf), 1e-3, "the planted error and what is measured", 1e-5)
        assert max(errors.values()) < 1e-9


@invariant("np.gradcheck")
def gradcheck_sees_a_forgotten_upstream(module):
    """Against an upstream of all ones, this backward would be right."""
    errors = module.gradcheck(lambda x: (np.sin(x), x), lambda dY, x: np.cos(x), {"x": normal(2, 4)}, rng())
    assert errors["x"] > 0.1


@invariant("np.gradcheck")
def gradcheck_forgives_a_gradient_of_zero(module):
    """A leaf without influence has noise for a gradient; noise over noise is no error."""

    def f(x, y):
        return np.sin(x) + 1e-12 * np.cos(1e4 * y), (x, y)

    errors = module.gradcheck(f, lambda dY, c: (dY * np.cos(c[0]), 0 * dY), {"x": normal(3), "y": normal(3)}, rng())
    assert max(errors.values()) < 1e-4


@invariant("np.gradcheck")
def gradients_come_in_the_order_of_the_inputs(module):
    inputs = {"X": normal(2, 3), "W": normal(3, 4)}
    raises(ValueError, "dX has shape", lambda: module.named_gradients("f", inputs, (inputs["W"], inputs["X"])))
    raises(ValueError, "gave 1 gradients, expected 2: X, W", lambda: module.named_gradients("f", inputs, inputs["X"]))
    raises(ValueError, "gave X, expected X, p.w, p.b",
           lambda: module.named_gradients("f", parts_inputs(), (normal(3, 2), {})))
    one = module.named_gradients("f", {"X": inputs["X"]}, inputs["X"])
    assert list(one) == ["X"] and one["X"] is inputs["X"]


# The PyTorch half


@invariant("pt.gradcheck")
def parity_names_what_differs(module):
    def torch_parts(X, p, wrong=False):
        return X * p["w"] + p["b"] + (1e-3 if wrong else 0)

    def check(wrong=None, wrong_forward=False):
        return module.parity(parts, partial(parts_backward, wrong=wrong), partial(torch_parts, wrong=wrong_forward),
                             parts_inputs(), rng())

    assert list(check()) == ["forward", "X", "p.w", "p.b"] and max(check().values()) < 1e-12
    for wrong, leaf in (("X", "X"), ("w", "p.w"), ("b", "p.b")):
        errors = check(wrong)
        near(errors.pop(leaf), 1e-3, "the planted error and what is measured", 1e-5)
        assert max(errors.values()) < 1e-12
    errors = check(wrong_forward=True)
    assert errors.pop("forward") > 1e-4 and max(errors.values()) < 1e-12


@invariant("pt.gradcheck")
def parity_sees_a_forgotten_upstream(module):
    errors = module.parity(lambda x: (np.sin(x), x), lambda dY, x: np.cos(x), torch.sin, {"x": normal(2, 4)}, rng())
    assert errors["x"] > 0.1


@invariant("pt.gradcheck")
def parity_knows_an_input_without_influence(module):
    def backward(dY, c):
        return dY, np.full(3, 1e-20)

    inputs = {"x": normal(3), "y": normal(3)}
    errors = module.parity(lambda x, y: (x, None), backward, lambda x, y: x * 1, inputs, rng())
    assert max(errors.values()) < 1e-12


@invariant("pt.linear", "pt.softmax", "pt.mask", "pt.attention")
def runs_on_any_device(module, specs=TWINS):
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


@invariant("pt.linear", "pt.softmax", "pt.attention")
def dtype_stays(module):
    for spec in TWINS:
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


@invariant("pt.linear")
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


@invariant("pt.softmax")
def torch_softmax_is_stable_and_silent(module):
    """±10⁴ gives no NaN; a row with nothing visible has weight 0 and gradient 0, not NaN."""
    S = torch.tensor([[1e4, 0, -1e4], [-1e4] * 3], requires_grad=True)
    mask = torch.tensor([[True, True, False], [False] * 3])
    near(module.softmax(S).detach(), [[1, 0, 0], [1 / 3] * 3], "weights", 1e-6)
    near(module.logsumexp(S).detach(), [1e4, -1e4 + math.log(3)], "logsumexp", 1e-3)
    near(module.log_softmax(S).detach(), [[0, -1e4, -2e4], [-math.log(3)] * 3], "logs", 1e-3)
    A = module.softmax(S, mask)
    same(A.detach(), [[1, 0, 0], [0, 0, 0]], "masked weights")
    with torch.autograd.set_detect_anomaly(True):  # no NaN on the way either
        (A * torch.tensor(normal(2, 3))).sum().backward()
    same(S.grad[1], [0, 0, 0], "gradient of a blind row")
    assert S.grad.isfinite().all() and S.grad[0, 2] == 0


BOUNDS = {  # of O, dQ, dK, dV, as shares of the largest entry; the softmax's backward cancels, so dQ and dK lose most
    torch.float64: (1e-12, 1e-12, 1e-12, 1e-12),
    torch.float32: (1e-5, 1e-4, 1e-4, 1e-5),
    torch.bfloat16: (2e-2, 0.15, 0.15, 2e-2),
}


@invariant("pt.attention")
def fused_is_explicit(module, device="cpu", dtype=torch.float64):
    """The fused kernel against the NumPy half, on inputs already rounded to `dtype`: outputs, gradients, blind rows."""
    for lead in ((), (2,), (2, 3)):
        for kind in ("none", "shared", "random", "causal", "is_causal", *(["padding"] if lead else [])):
            rounded = [torch.tensor(x, dtype=dtype) for x in (*qkv(*lead, n=4, d_k=8, d_v=8), normal(*lead, 4, 8))]
            mask = mask_of(kind.removeprefix("is_"), rng(), lead, 4, 4)
            exact = [x.double().numpy() for x in rounded]
            O, cache = np_attention.attention_forward(*exact[:3], mask)
            expected = (O, *np_attention.attention_backward(exact[3], cache))
            allowed = {"mask": None if mask is None else torch.tensor(mask, device=device)}
            flag = {"is_causal": True} if kind == "is_causal" else allowed
            for f, options in ((module.fused_attention, flag), (module.attention, allowed)):
                *leaves, dO = (x.to(device, copy=True) for x in rounded)
                out = f(*(x.requires_grad_() for x in leaves), **options)
                out.backward(dO)
                got = [x.detach().double().cpu().numpy() for x in (out, *(x.grad for x in leaves))]
                for name, a, b, bound in zip(("O", "dQ", "dK", "dV"), got, expected, BOUNDS[dtype], strict=True):
                    near(a, b, f"{kind}, {lead}: {name}", bound * np.abs(b).max())
                if mask is not None:
                    blind = np.broadcast_to(~mask.any(axis=-1), O.shape[:-1])
                    assert not got[0][blind].any() and not got[1][blind].any(), f"{kind}, {lead}: blind queries"


@invariant("pt.attention")
def fused_takes_a_scale(module):
    Q, K, V = map(torch.tensor, qkv(2))
    near(module.fused_attention(Q, K, V, scale=0.3), np_attention.attention_forward(*qkv(2), scale=0.3)[0], "outputs")


@invariant("pt.attention")
def head_module_is_head_function(module):
    """SelfAttention against the NumPy half with the module's own parameters; mask and is_causal say the same."""
    for bias in (True, False):
        net = module.SelfAttention(AttentionConfig(d=4, d_k=5, d_v=6, bias=bias))
        for name, p in net.named_parameters():
            assert name[0] == "W" or not p.any()
            torch.nn.init.normal_(p, generator=torch.Generator().manual_seed(len(name) + ord(name[-1])))
        X, mask = normal(2, 3, 4), mask_of("random", rng(), (2,), 3, 3)
        causal = partial(np_attention.self_attention_forward, mask=np.tri(3, dtype=bool))
        for forward, args, fixed in ((np_attention.self_attention_forward, (), {}),
                                     (np_attention.self_attention_forward, (mask,), {}),
                                     (causal, (), {"is_causal": True})):
            net.zero_grad()
            matches_numpy(net, forward, np_attention.self_attention_backward, X, *args, fixed=fixed)
    wide = tree.from_torch(module.SelfAttention(AttentionConfig(d=300, d_k=200, d_v=100)))
    for name in ("W_q", "W_k", "W_v"):
        near(wide[name].var(), 1 / 300, f"variance of {name} and 1/d", 1e-4)
