# ruff: noqa: E501
"""Chapter 16 proved: attention in tiles is attention, keys may be read in any order, and memory stays small."""

import tracemalloc
from functools import partial

import numpy as np
import torch
from byhand.np.attention import attention_backward, attention_forward
from byhand.np.flash import flash_attention_forward
from invariants import near, normal, raises, rng, same
from mutants import M
from proofs import habits, refusals
from twins import LEAD, Case, Spec, mask_of

TILES = [(2, "none", 5, 5, True, 2, 0), (2, "shared", 5, 7, False, 3, 20), (3, "random", 5, 7, False, 64, 0),
         (3, "padding", 4, 4, True, 3, 20), (4, "padding", 2, 3, False, 64, 20)]  # rank, mask, n, m, causal, block, far


def flash_cases(rng):
    """Keys that lie far from the origin together have great scores, so that a maximum is needed, and the same weights."""
    for i, (rank, kind, n, m, causal, block, far) in enumerate(TILES):
        lead = LEAD[rank]
        inputs = {"Q": 2 * rng.normal(size=(*lead, n, 2)), "K": far + 2 * rng.normal(size=(*lead, m, 2)),
                  "V": rng.normal(size=(*lead, m, 3))}
        fixed = {"mask": mask_of(kind, rng, lead, n, m), "scale": (None, 0.3)[i % 2]}
        yield Case(f"rank {rank}, {kind}, block {block}", inputs, fixed | {"is_causal": causal, "block": block})


TWINS = [Spec("flash", "flash_attention", flash_cases)]


def tiles_are_attention(module):
    """Output, log-sum-exp and gradients, whatever the block; a query that sees nothing gets zeros."""
    for rank, kind, n, m, size in ((2, "none", 7, 5, 3), (3, "random", 6, 9, 1), (2, "shared", 13, 11, 3),
                                   (2, "none", 7, 5, 1), (2, "shared", 9, 5, 1)):
        lead = LEAD[rank]
        Q, K, V = size * normal(*lead, n, 4), size * normal(*lead, m, 4), 3 * normal(*lead, m, 3)
        mask = mask_of(kind, rng(), lead, n, m)
        O, cache = attention_forward(Q, K, V, mask)
        dO = normal(*O.shape)[::-1]
        S = Q @ K.mT / 2 if mask is None else np.where(mask, Q @ K.mT / 2, -np.inf)
        l = np.exp(S).sum(axis=-1)
        for block in (1, 2, 4, 5, 64):
            out, tiles = module.flash_attention_forward(Q, K, V, mask, block=block)
            near(out, O, f"outputs, block {block}")
            near(tiles.L, np.log(np.where(l == 0, 1, l)), f"log-sum-exp, block {block}")
            grads = module.flash_attention_backward(dO, tiles)
            for name, mine, theirs in zip("QKV", grads, attention_backward(dO, cache), strict=True):
                near(mine, theirs, f"d{name}, block {block}", 1e-11)
            if mask is not None:
                assert not out[..., 0, :].any() and not grads[0][..., 0, :].any(), "a blind query"


def forward(module, *inputs, **options):
    """The output alone, from either half."""
    if module.__name__.startswith("byhand.np"):
        return module.flash_attention_forward(*inputs, **options)[0]
    return module.flash_attention(*map(torch.tensor, inputs), **options).numpy()


def causal_flag_is_causal_mask(module):
    """To the last bit nothing leaks: what follows token 5 may be anything."""
    X = normal(2, 11, 4)
    later = X.copy()
    later[:, 6:] = 50 * normal(2, 5, 4)
    for block in (1, 3, 4, 16):
        flash = partial(forward, module, is_causal=True, block=block)
        near(flash(X, X, X), attention_forward(X, X, X, np.tri(11, dtype=bool))[0], f"block {block}")
        same(flash(later, later, later)[:, :6], flash(X, X, X)[:, :6], "before and after a change of the future")


def great_scores_do_not_overflow(module):
    X = normal(2, 11, 4)
    for far, near_by in ((300, 300), (1e6, 0.1), (0.1, 1e6)):  # scores of 10⁵, from great queries, great keys or both
        Q, K = far * X, near_by * X
        near(forward(module, Q, K, X, block=3), attention_forward(Q, K, X)[0])


def scores_that_overflow_are_refused(module):
    """As attention refuses them, to either side and in any tile, and not where every score is in range."""
    X = np.ones((2, 5, 4), np.float32)
    with np.errstate(over="ignore"):
        for sign in (1, -1):
            for one in (0, 4):
                Q, K = 1e19 * X, sign * X
                K[1, one] *= 1e20
                for call in (attention_forward, partial(module.flash_attention_forward, block=2)):
                    raises(ValueError, rf"S holds {'-' * (sign < 0)}inf at index \(1, 0, {one}\), expected finite", lambda c=call, q=Q, k=K: c(q, k, X))
    near(module.flash_attention_forward(1e19 * X, 1e18 * X, X, block=2)[0], X, "the greatest scores")


def great_values_are_weighed(module):
    """To the ends of both dtypes: what has no weight adds nothing, a small weight what it should, and sums fit."""
    for dtype, big, digits in ((np.float64, 1e300, 1e-12), (np.float64, 1e40, 1e-12), (np.float32, 1.7e38, 1e-4), (np.float32, 1e30, 1e-4)):
        for s in (10, 10.5, -60, -690, -1e6):
            Q, K, V = np.array([[1.0]], dtype), np.array([[10.0], [s]], dtype), np.array([[1.0], [big]], dtype)
            O, cache = attention_forward(Q, K, V, scale=1.0)
            for block in (1, 2):
                out, tiles = module.flash_attention_forward(Q, K, V, scale=1.0, block=block)
                near(out / O, np.ones((1, 1)), f"{dtype.__name__}, scores 10 and {s}", digits)
                pairs = ((module.flash_attention_backward, tiles), (attention_backward, cache))
                unit = 1e-19 * (1 + big * float(cache.A[0, 1]))  # of the terms, which may cancel
                for name, mine, theirs in zip("QKV", *(f(np.array([[1e-20]], dtype), c) for f, c in pairs), strict=True):
                    near(mine / unit, theirs / unit, f"d{name}, {dtype.__name__}, {s}", 10 * digits)
    raises(ValueError, r"flash_attention: V holds 3e\+38 and float32 cannot add up 2 of those, expected at most 1.7e\+38",
           lambda: module.flash_attention_forward(Q, K, np.array([[1], [-3e38]], np.float32)))


def what_is_free_of_a_maximum_is_decided_by_the_past(module):
    """A great value in the future, which changes how later queries are added up, moves no bit of an earlier one."""
    X = normal(11, 4)
    V = normal(11, 3)
    later = V.copy()
    later[6:] = 1e303
    flash = partial(forward, module, is_causal=True, block=4)
    same(flash(X, X, later)[:6], flash(X, X, V)[:6], "before and after a change of the future")


def gradients_of_another_shape_are_refused(module):
    """Each of them could be repeated to the right one, or cut out of it."""
    O, cache = module.flash_attention_forward(X, X, X)
    for dO in (O[:, :1], O[:1], O[..., :1], O[0], O[None]):
        raises(ValueError, "flash_attention_backward: dO has", lambda dO=dO: module.flash_attention_backward(dO, cache))


def either_base_will_do(module):
    """2ˢ of another unit is eˢ, with and without a maximum: NumPy's processor decides, and no result may."""
    used = module.EXP, module.UNIT
    try:
        for size in (1, 10):
            X, V = size * normal(2, 11, 4), normal(2, 11, 3)
            O, cache = attention_forward(X, X, V)
            for base in module.BASES.values():
                module.EXP, module.UNIT = base
                out, tiles = module.flash_attention_forward(X, X, V, block=3)
                near(out, O, f"outputs, {module.EXP.__name__}")
                for mine, theirs in zip(module.flash_attention_backward(V, tiles), attention_backward(V, cache), strict=True):
                    near(mine, theirs, f"gradients, {module.EXP.__name__}", 1e-11)
    finally:
        module.EXP, module.UNIT = used


def memory_is_one_tile(module):
    n = 512
    X = normal(n, 4).astype(np.float32)
    tracemalloc.start()
    try:
        O, cache = module.flash_attention_forward(X, X, X, block=32)
        peaks = [tracemalloc.get_traced_memory()[1]]
        tracemalloc.reset_peak()
        module.flash_attention_backward(O, cache)
        peaks.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()
    assert max(peaks) < 4 * n * n / 8, f"{peaks} bytes, and all scores take {4 * n * n}"


def merge_of(module):
    """online_softmax_merge of either half, on arrays."""
    if module.__name__.startswith("byhand.np"):
        return module.online_softmax_merge

    def merge(*parts):
        return tuple(x.numpy() for x in module.online_softmax_merge(*(tuple(map(torch.tensor, p)) for p in parts)))

    return merge


NOTHING = (np.full((2, 5), -np.inf), np.zeros((2, 5)), np.zeros((2, 5, 3)))


def merge_in_any_order(module):
    """Associative, commutative, and to have read nothing is its identity."""
    r, merge = rng(), merge_of(module)
    a, b, c = ((10 * r.normal(size=(2, 5)), r.random((2, 5)), r.normal(size=(2, 5, 3))) for _ in range(3))
    for left, right in ((merge(merge(a, b), c), merge(a, merge(b, c))), (merge(a, b), merge(b, a)),
                        (merge(a, NOTHING), a), (merge(NOTHING, a), a), (merge(NOTHING, NOTHING), NOTHING)):
        same(left[0], right[0], "maxima")
        for name, x, y in zip("lo", left[1:], right[1:], strict=True):
            near(x, y, name)


def merge_reads_keys_one_by_one(module):
    S, V, merge = 5 * normal(5, 9), normal(9, 3), merge_of(module)
    state = tuple(x[0] for x in NOTHING)
    for j in range(9):
        state = merge(state, (S[:, j].copy(), np.ones(5), np.repeat(V[j : j + 1], 5, axis=0)))
    A = np.exp(S - S.max(axis=-1, keepdims=True))
    near(state[2] / state[1][:, None], A @ V / A.sum(axis=-1, keepdims=True), "the output")


def tiles_are_the_fused_kernel(module):
    """Output and gradients against the kernel that comes with torch."""
    for causal in (False, True):
        leaves = [torch.tensor(normal(2, 3, 9, 4)[..., ::step].copy(), requires_grad=True) for step in (1, -1, 1)]
        fused = torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=causal)
        tiled = module.flash_attention(*leaves, is_causal=causal, block=4)
        near(tiled.detach(), fused.detach(), "outputs")
        dO = torch.tensor(normal(3, 2, 9, 4).swapaxes(0, 1))
        for a, b in zip(*(torch.autograd.grad(out, leaves, dO) for out in (tiled, fused)), strict=True):
            near(a, b, "gradients")


def log_sum_exp_is_an_output(module):
    """L with `return_lse` is that of the NumPy half, and has a gradient too: finite differences in float64."""
    leaves = [torch.tensor(2 * normal(2, 3, n, d), requires_grad=True) for n, d in ((7, 4), (5, 4), (5, 3))]
    mask = torch.tensor(mask_of("random", rng(), (2, 3), 7, 5))
    square = (leaves[0], leaves[0], leaves[0])
    for inputs, options in ((leaves, {}), (leaves, {"mask": mask, "scale": 0.3}), (square, {"is_causal": True})):
        flash = partial(module.flash_attention, block=3, return_lse=True, **options)
        O, L = flash(*inputs)
        arrays = {k: x.numpy() if isinstance(x, torch.Tensor) else x for k, x in options.items()}
        theirs, cache = flash_attention_forward(*(x.detach().numpy() for x in inputs), block=4, **arrays)
        near(O.detach(), theirs, "outputs")
        near(L.detach(), cache.L, "log-sum-exp")
        same(module.flash_attention(*inputs, block=3, **options).detach(), O.detach(), "with L and without")
        assert torch.autograd.gradcheck(flash, inputs, fast_mode=True)


def memory_is_less_than_the_scores(module):
    """Nothing that is made on the way forward or back holds all scores: no tensor has n × m entries."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Watch(TorchDispatchMode):
        most = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            out = function(*args, **(kwargs or {}))
            Watch.most = max([Watch.most, *(x.numel() for x in (out if isinstance(out, tuple | list) else [out]) if isinstance(x, torch.Tensor))])
            return out

    x = torch.tensor(normal(96, 4), requires_grad=True)
    with Watch():
        module.flash_attention(x, x, x, block=16).sum().backward()
    assert 16 * 16 <= Watch.most <= 96 * 16, Watch.most


def maps_over_a_batch(module):
    leaves = [torch.tensor(normal(2, n, d)) for n, d in ((5, 4), (7, 4), (7, 3))]
    flash = partial(module.flash_attention, block=3)
    near(torch.func.vmap(flash)(*leaves), flash(*leaves), "mapped")


def autocast_computes_and_comes_back(module):
    """bfloat16 where autocast says so; gradients have the dtype of the leaves."""
    leaves = [torch.tensor(normal(2, 5, 4), dtype=torch.float32, requires_grad=True) for _ in range(3)]
    expected = module.flash_attention(*leaves, block=3)
    with torch.autocast("cpu", torch.bfloat16):
        out = module.flash_attention(*leaves, block=3)
    near(out.detach().float(), expected.detach(), "outputs", 0.05)
    for a, b in zip(*(torch.autograd.grad(o.float().sum(), leaves) for o in (out, expected)), strict=True):
        assert a.dtype == torch.float32
        near(a, b, "gradients", 0.1)


X = normal(2, 11, 4)
T = torch.tensor(X)
LONG = "is_causal is True with 11 queries and 3 keys"
PARTIAL = np.full(3, -np.inf), np.zeros(3), np.zeros((3, 2))
WRONG_PARTIALS = [
    (TypeError, "online_softmax_merge: a is float, expected a tuple", 1.0),
    (ValueError, "a has 2 entries, expected 3", PARTIAL[:2]),
    (TypeError, r"a\[0\] is list", ([0.0] * 3, *PARTIAL[1:])),
    (TypeError, r"a\[[01]\] has dtype (torch.)?float.. but a\[[01]\] has (torch.)?float..", (PARTIAL[0].astype(np.float32), *PARTIAL[1:])),
    (ValueError, r"b\[0\] has shape \(3,\), expected \(4,\)", (np.zeros(4), np.zeros(4), np.zeros((4, 2)))),
    (ValueError, r"a\[2\] has shape \(4, 2\), expected \(3, 2\)", (*PARTIAL[:2], np.zeros((4, 2)))),
]
NOT_NUMBERS = [(ValueError, rf"a\[0\] holds {x}", (np.array([0, x, 0]), *PARTIAL[1:])) for x in (np.nan, np.inf)]


def merges(cases, of=lambda x: x):
    """Rows for `refusals`: each wrong triple beside a right one."""
    change = lambda part: tuple(of(x) if isinstance(x, np.ndarray) else x for x in part) if isinstance(part, tuple) else part  # noqa: E731
    return [("online_softmax_merge", error, says, change(part), change(PARTIAL)) for error, says, part in cases]


INVARIANTS = {
    "np.flash": [tiles_are_attention, causal_flag_is_causal_mask, great_scores_do_not_overflow, memory_is_one_tile,
                 great_values_are_weighed, what_is_free_of_a_maximum_is_decided_by_the_past,
                 scores_that_overflow_are_refused, gradients_of_another_shape_are_refused, either_base_will_do,
                 merge_in_any_order, merge_reads_keys_one_by_one, *habits(TWINS),
                 refusals(("flash_attention_forward", ValueError, LONG, X, X[:, :3], X[:, :3], None, None, True),
                          ("flash_attention_forward", ValueError, "block is 0", X, X, X, None, None, False, 0),
                          *merges(WRONG_PARTIALS + NOT_NUMBERS))],
    "pt.flash": [tiles_are_the_fused_kernel, log_sum_exp_is_an_output, memory_is_less_than_the_scores,
                 maps_over_a_batch, autocast_computes_and_comes_back, causal_flag_is_causal_mask, great_scores_do_not_overflow,
                 merge_in_any_order, merge_reads_keys_one_by_one,
                 refusals(("flash_attention", ValueError, LONG, T, T[:, :3], T[:, :3], None, None, True),
                          ("flash_attention", ValueError, "block is 0", T, T, T, None, None, False, 0),
                          *merges(WRONG_PARTIALS, torch.tensor))],
}

WRONG = [
    M("np.flash.online_softmax_merge", "invariant", "merge: accumulator not rescaled",
      "keep[..., None] * o_a + add[..., None] * o_b", "o_a + add[..., None] * o_b"),
    M("np.flash.online_softmax_merge", "invariant", "merge: takes anything",
      "_maxima(a=a, b=b)", "pass"),
    M("np.flash.online_softmax_merge", "invariant", "merge: denominator not rescaled",
      "keep * l_a + add * l_b", "l_a + l_b"),
    M("np.flash.online_softmax_merge", "invariant", "merge: new tile not rescaled",
      "+ add[..., None] * o_b)", "+ o_b)"),
    M("np.flash.flash_attention_forward", "slope twin invariant", "accumulator not rescaled",
      "                    o *= keep[:, None]\n", ""),
    M("np.flash.flash_attention_forward", "slope twin invariant", "denominator not rescaled",
      "                    l *= keep\n", ""),
    M("np.flash.flash_attention_forward", "invariant", "maximum of this tile alone",
      "np.maximum(m_q, E.max(axis=0))", "E.max(axis=0)"),
    M("np.flash._bounded", "invariant", "no maximum: overflows", "most(k) <= 20", "most(k) >= 0"),
    M("np.flash._bounded", "invariant", "a bound without the keys' norms", "q * most(k)", "q"),
    M("np.flash._bounded", "invariant", "what a query may read first depends on the future", "q * most(k)", "q * np.max(k)"),
    M("np.flash._bounded", "invariant", "a bound without the values", " & (len(V) * math.exp(20) * most(v) < 1)", ""),
    M("np.flash._bounded", "invariant", "how a query adds up depends on values of the future", "most(v)", "np.max(v)"),
    M("np.flash._power", "invariant", "a weight too small for its dtype is raised to the smallest it has",
      "    if low.any():\n        np.copyto(S, 0, where=low)\n", ""),
    M("np.flash._power", "invariant", "float64 ends where float32 does", "np.finfo(S.dtype).minexp + 1", "-125"),
    M("np.flash.flash_attention_forward", "invariant", "values whose sum is infinite", '    adds_up("flash_attention", m, V=V)\n', ""),
    M("np.flash.flash_attention_forward", "invariant", "scores that overflow give NaN", "_no_overflow(E, head, rows, cols)", "pass"),
    M("np.flash._no_overflow", "invariant", "overflow named in its tile, not in its row", "cols.start + int(key)", "int(key)"),
    M("np.flash.FlashCache", "invariant", "a gradient of any shape",
      'O: Float[Array, "*B n d_v"]', "O: Array", 'Q: Float[Array, "*B n d_k"]', "Q: Array", 'V: Float[Array, "*B m d_v"]', "V: Array",
      'L: Float[Array, "*B n"]', "L: Array"),
    M("np.flash.BASES", "invariant", "2ˢ without log₂ e", "2: (np.exp2, 1 / math.log(2))", "2: (np.exp2, 1.0)"),
    M("np.flash.BASES", "invariant", "eˢ with log₂ e", "(np.exp, 1.0)", "(np.exp, 1 / math.log(2))"),
    M("np.flash._finite", "slope twin invariant", "−∞ − (−∞) in a row that sees nothing",
      "return np.where(m == -np.inf, 0, m)", "return m"),
    M("np.flash.flash_attention_forward", "slope twin invariant", "what underflow left is not hidden again",
      "                _hide(E, 0, cache, head, rows, cols)\n", ""),
    M("np.flash.flash_attention_forward", "slope twin invariant", "maximum missing in the log-sum-exp",
      "_finite(m_q) / UNIT + np.log(l)", "np.log(l)"),
    M("np.flash.flash_attention_forward", "slope twin invariant", "log-sum-exp by the logarithm to base 2",
      "_finite(m_q) / UNIT + np.log(l)", "_finite(m_q) / UNIT + np.log2(l)"),
    # Where the processor's base is e the unit is 1: only the invariant runs both bases on every machine.
    M("np.flash.flash_attention_forward", "invariant", "log-sum-exp in the unit of the scores",
      "_finite(m_q) / UNIT + np.log(l)", "_finite(m_q) + np.log(l)"),
    M("np.flash.flash_attention_backward", "slope twin invariant", "D from dO alone",
      "            D = np.vecdot(g, O[head][rows])\n", "            D = g.sum(axis=-1)\n"),
    M("np.flash.flash_attention_backward", "slope twin invariant", "D forgotten", "                dS -= D\n", ""),
    M("np.flash.flash_attention_backward", "slope twin invariant", "weights not normalised",
      "g = np.exp(-once)[:, None] * dO[head][rows]", "g = dO[head][rows]"),
    M("np.flash.flash_attention_backward", "slope twin invariant", "dV overwritten by each tile of queries",
      "dV[head][cols] += A @ g", "dV[head][cols] = A @ g"),
    M("np.flash.flash_attention_backward", "slope twin invariant", "dQ not scaled", "    dQ *= scale\n", ""),
    M("np.flash.flash_attention_backward", "slope twin invariant", "dK scaled twice",
      "dK[head][cols] += dS @ Q[head][rows]", "dK[head][cols] += dS @ q"),
    M("np.flash._hide", "twin invariant", "causal: off by one, sees the next token",
      ", rows.stop)", ", rows.stop) + 1"),
    M("np.flash._hide", "twin invariant", "causal: positions counted within the tile",
      "is_causal and cols.stop > rows.start + 1", "is_causal",
      "cols.start, cols.stop)[:, None] > np.arange(rows.start, rows.stop", "len(S))[:, None] > np.arange(S.shape[1]"),
    M("np.flash.flash_attention_forward + flash_attention_backward", "twin invariant", "last keys lost when the block does not divide them",
      "is_causal else m, block", "is_causal else max(m - m % block, 1), block",
      "is_causal else m, block", "is_causal else max(m - m % block, 1), block"),
    M("np.flash._hide", "twin invariant", "mask read at the wrong tile",
      "~mask[head][rows, cols].mT", "~mask[head][: S.shape[1], : len(S)].mT"),
    M("np.flash.flash_attention_backward", "invariant", "the whole matrix is made after all",
      "            D = np.vecdot(g, O[head][rows])\n",
      "            D = np.vecdot(g, O[head][rows])\n            everything = Q @ K.mT  # noqa: F841\n"),
    M("np.flash.flash_attention_forward", "invariant", "float64 whatever came",
      "], V.shape[-1]), Q.dtype)", "], V.shape[-1]))"),
    M("np.flash.flash_attention_backward", "slope twin invariant", "weights taken off in the caller's upstream",
      "g = np.exp(-once)[:, None] * dO[head][rows]",
      "g = np.multiply(np.exp(-once)[:, None], dO[head][rows], out=dO[head][rows])"),
    M("np.flash.flash_attention_backward", "invariant", "keys read in memory order",
      "block = cache\n", "block = cache\n    K = K.ravel(order='K').reshape(K.shape)\n"),
    M("np.flash.flash_attention_forward", "invariant", "causal with any number of keys",
      "one_length_if_causal(Q, K, is_causal)", "one_length_if_causal(Q, K, False)"),
    M("pt.flash.online_softmax_merge", "twin invariant", "accumulator not rescaled",
      "keep[..., None] * o_a + add", "o_a + add"),
    M("pt.flash._finite", "twin invariant", "−∞ − (−∞) in a row that sees nothing",
      "return torch.where(m == -torch.inf, 0, m)", "return m"),
    M("pt.flash.online_softmax_merge", "twin invariant", "merge: the maximum of the first alone",
      "m = torch.maximum(m_a, m_b)", "m = m_a"),
    M("pt.flash.Tiles.forward", "invariant", "no maximum: overflows",
      "top = S.amax(dim=-1)", "top = torch.zeros_like(S[..., 0])"),
    M("pt.flash._scores", "twin invariant", "causal: diagonal hidden", ".triu(1)", ".triu(0)"),
    M("pt.flash.Tiles.backward", "twin invariant", "D forgotten", " - D[..., i : i + ctx.block, None])", ")"),
    M("pt.flash.Tiles.backward", "invariant", "the log-sum-exp sends nothing back", ".sum(dim=-1) - dL", ".sum(dim=-1)"),
    M("pt.flash.Tiles.backward", "twin invariant", "dV of the last queries alone", "dV[cols] += A.mT", "dV[cols] = A.mT"),
    M("pt.flash.Tiles.backward", "twin invariant", "dQ not scaled", "ctx.scale * (dS", "(dS"),
    M("pt.flash.Tiles.forward", "invariant", "maximum missing in the log-sum-exp", "_finite(state.m) + torch.log(l)", "torch.log(l)"),
    M("pt.flash.Tiles.backward", "invariant", "the whole matrix is made after all", "    @once_differentiable\n", "",
      "        Q, K, V, mask, O, L = ctx.saved_tensors\n",
      "        Q, K, V, mask, O, L = ctx.saved_tensors\n        everything = Q @ K.mT  # noqa: F841\n"),
    M("pt.flash.Tiles", "invariant", "cannot be mapped over a batch", "generate_vmap_rule = True", "generate_vmap_rule = False"),
    M("pt.flash.flash_attention", "invariant", "causal with any number of keys", "one_length_if_causal(Q, K, is_causal)", "pass"),
]
