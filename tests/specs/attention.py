# ruff: noqa: E501
"""Attention in its three forms, and a head: slopes, twins, what may be seen, and torch's fused kernel."""

import math
from functools import partial

import numpy as np
import torch
from byhand import tree
from byhand.config import AttentionConfig
from byhand.np import attention as np_attention
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from invariants import examples, matches_numpy, near, normal, rng, same
from mutants import M
from proofs import habits, torch_habits
from twins import LEAD, MASKS, Case, Spec, mask_of


def attention_cases(rng, *, d_q=5, d_k=5, params=None, fixed=({},)):
    n, m, d_v = 3, 4, 6
    for i, (rank, kind) in enumerate(MASKS):
        lead = LEAD[rank]
        inputs = {"Q": rng.normal(size=(*lead, n, d_q)), "K": rng.normal(size=(*lead, m, d_k)),
                  "V": rng.normal(size=(*lead, m, d_v))}
        if params:
            inputs["params"] = params(rng)
        yield Case(f"rank {rank}, {kind}", inputs, {"mask": mask_of(kind, rng, lead, n, m), **fixed[i % len(fixed)]})


def additive_of(rng, d_q=7, d_k=5, a=8):
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


def just(**fixed):
    return tuple(dict(zip(fixed, values, strict=True)) for values in zip(*fixed.values(), strict=True))


TWINS = [
    Spec("attention", "attention", partial(attention_cases, fixed=just(scale=(None, None, 0.3)))),
    Spec("attention", "self_attention", self_attention_cases),
    Spec("attention", "additive_attention", partial(attention_cases, d_q=7, params=additive_of)),
    Spec("attention", "kernel_attention", partial(attention_cases, fixed=just(bandwidth=(1.5, 0.8)))),
]


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


def equal_keys_share_equally(module):
    Q, K, V = qkv(2)
    for forward, _ in flavours(module):
        O, cache = forward(Q, np.broadcast_to(K[:, :1], K.shape).copy(), V)
        near(cache.A, np.full((2, 3, 4), 1 / 4), "weights and 1/m")
        near(O, np.broadcast_to(V.mean(axis=1, keepdims=True), O.shape), "outputs and the mean value")


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


def scale_multiplies_the_scores(module):
    Q, K, V = qkv(2)
    near(module.attention_forward(Q, K, V)[0], module.attention_forward(Q, K, V, scale=1 / math.sqrt(5))[0], "default")
    near(module.attention_forward(Q, K, V, scale=0.3)[0], module.attention_forward(0.3 * Q, K, V, scale=1.0)[0], "0.3")
    V_mean = np.broadcast_to(V.mean(axis=1, keepdims=True), (2, 3, 6))
    near(module.attention_forward(Q, K, V, scale=0.0)[0], V_mean, "scale 0 and the mean value")


def moving_all_keys_together_changes_nothing(module):
    """Adding one vector to every key adds one number to every score of a query; so Σ dK = 0."""
    Q, K, V = qkv(2)
    O, cache = module.attention_forward(Q, K, V)
    near(O, module.attention_forward(Q, K + normal(5), V)[0], "outputs")
    near(module.attention_backward(normal(2, 3, 6), cache)[1].sum(axis=1), np.zeros((2, 5)), "Σ dK and zero")


def the_key_bias_learns_nothing(module):
    params = head_params(rng())
    O, cache = module.self_attention_forward(normal(2, 3, 4), params)
    grads = module.self_attention_backward(normal(2, 3, 6), cache)[1]
    near(grads["b_k"], np.zeros(5), "db_k and zero")
    assert np.abs(grads["b_q"]).max() > 1e-3 and np.abs(grads["b_v"]).max() > 1e-3
    params["b_k"] = params["b_k"] + 1
    near(O, module.self_attention_forward(normal(2, 3, 4), params)[0], "outputs")


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


def self_attention_is_equivariant_and_causal(module):
    X, params, order = normal(2, 4, 4), head_params(rng()), [2, 0, 3, 1]
    O = module.self_attention_forward(X, params)[0]
    near(O[:, order], module.self_attention_forward(X[:, order], params)[0], "outputs of permuted tokens")
    mask = np.tri(4, dtype=bool)
    moved = X + 5 * (np.arange(4) > 1)[:, None]
    O, P = (module.self_attention_forward(x, params, mask)[0] for x in (X, moved))
    same(O[:, :2], P[:, :2], "outputs before the change")


def kernel_attention_with_keys_of_one_length_is_dot_product(module):
    """If every key has the same norm, −‖q − k‖²/2h² is q·k/h² and a number that the softmax ignores."""
    Q, K, V = qkv(2)
    K = K / np.linalg.norm(K, axis=-1, keepdims=True)
    mask = mask_of("random", rng(), (2,), 3, 4)
    near(module.kernel_attention_forward(Q, K, V, 0.8, mask)[0],
         module.attention_forward(Q, K, V, mask, scale=1 / 0.64)[0], "kernel and dot product")


def kernel_attention_sees_only_differences(module):
    """Moving all queries and keys together changes nothing, so Σ dQ + Σ dK = 0."""
    Q, K, V = qkv(2)
    O, cache = module.kernel_attention_forward(Q, K, V, 0.8)
    near(O, module.kernel_attention_forward(Q + normal(5), K + normal(5), V, 0.8)[0], "outputs")
    dQ, dK, _ = module.kernel_attention_backward(normal(2, 3, 6), cache)
    near(dQ.sum(axis=1) + dK.sum(axis=1), np.zeros((2, 5)), "Σ dQ + Σ dK and zero")


def additive_scores_see_only_the_sum(module):
    """If W_q moves every query by what W_k moves every key back, no score changes; and |score| ≤ Σ|w|."""
    (Q, K, V), params = qkv(2), additive_params()
    params["W_k"] = params["W_q"].copy()
    O, cache = module.additive_attention_forward(Q, K, V, params)
    near(O, module.additive_attention_forward(Q + normal(5), K - normal(5), V, params)[0], "outputs")
    far = module.additive_attention_forward(1e3 * Q, K, V, params)[1].A
    assert far.max() / far.min() <= math.exp(2 * np.abs(params["w"]).sum())


def init_gives_unit_variance(module):
    for bias in (True, False):
        torch.manual_seed(0)
        params = tree.from_torch(module.SelfAttention(AttentionConfig(d=300, d_k=200, d_v=100, bias=bias)))
        shapes = {f"W_{x}": (300, w) for x, w in zip("qkv", (200, 200, 100), strict=True)}
        shapes |= {f"b_{x}": (w,) for x, w in zip("qkv", (200, 200, 100), strict=True)} if bias else {}
        assert {k: v.shape for k, v in params.items()} == shapes
        assert all(v.dtype == np.float32 for v in params.values())
        assert not any(params[k].any() for k in params if k.startswith("b"))
        X = rng().normal(size=(400, 300))
        for name in ("W_q", "W_k", "W_v"):
            near((X @ params[name]).var(), 1, f"variance of X {name} and 1", 0.05)
        assert not np.array_equal(params["W_q"], params["W_k"])


BOUNDS = {  # of O, dQ, dK, dV, as shares of the largest entry; the softmax's backward cancels, so dQ and dK lose most
    torch.float64: (1e-12, 1e-12, 1e-12, 1e-12),
    torch.float32: (1e-5, 1e-4, 1e-4, 1e-5),
    torch.bfloat16: (2e-2, 0.15, 0.15, 2e-2),
}


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


def fused_takes_a_scale(module):
    Q, K, V = map(torch.tensor, qkv(2))
    near(module.fused_attention(Q, K, V, scale=0.3), np_attention.attention_forward(*qkv(2), scale=0.3)[0], "outputs")


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


INVARIANTS = {
    "np.attention": [*habits(TWINS), worked_by_hand, queries_are_a_set, keys_and_values_are_a_set,
                     the_future_is_out_of_reach, masked_keys_get_nothing, a_query_that_sees_nothing_is_silent,
                     equal_keys_share_equally, outputs_lie_among_the_visible_values, scale_multiplies_the_scores,
                     moving_all_keys_together_changes_nothing, the_key_bias_learns_nothing,
                     sequences_of_a_batch_do_not_meet, self_attention_is_equivariant_and_causal,
                     kernel_attention_with_keys_of_one_length_is_dot_product, kernel_attention_sees_only_differences,
                     additive_scores_see_only_the_sum],
    "pt.attention": [*torch_habits(TWINS), fused_is_explicit, fused_takes_a_scale, head_module_is_head_function,
                     init_gives_unit_variance],
}

WRONG = [
    M("np.attention.attention_backward", "slope twin", "1/√d_k forgotten in dQ",
      "dQ = scale * (dS @ K)", "dQ = dS @ K"),
    M("np.attention.attention_backward", "slope twin", "1/√d_k forgotten in dK",
      "dK = scale * (dS.mT @ Q)", "dK = dS.mT @ Q"),
    M("np.attention.attention_forward", "twin invariant", "no scale",
      "scale = 1 / math.sqrt(Q.shape[-1]) if", "scale = 1.0 if"),
    M("np.attention.attention_forward", "twin invariant", "scaled by d_k, not by its root",
      "scale = 1 / math.sqrt(Q.shape[-1]) if", "scale = 1 / Q.shape[-1] if"),
    M("np.attention.attention_forward", "twin invariant", "scaled by the number of keys",
      "scale = 1 / math.sqrt(Q.shape[-1]) if", "scale = 1 / math.sqrt(K.shape[-2]) if"),
    M("np.attention.attention_forward", "invariant", "np.sqrt: float32 becomes float64",
      "scale = 1 / math.sqrt(Q.shape[-1]) if", "scale = 1 / np.sqrt(Q.shape[-1]) if"),
    M("np.attention.attention_forward", "twin invariant", "scale argument ignored",
      "if scale is None else scale", "if scale is None else 1 / math.sqrt(Q.shape[-1])"),
    M("np.attention.attention_forward + attention_backward", "twin invariant", "softmax over the queries",
      "    A, _ = softmax_forward(S, mask)",
      "    keep = None if mask is None else np.broadcast_to(mask, S.shape).mT\n"
      "    A = softmax_forward(S.mT, keep)[0].mT",
      "dS = softmax_backward(dA, SoftmaxCache(A))", "dS = softmax_backward(dA.mT, SoftmaxCache(A.mT)).mT"),
    M("np.attention.AttentionCache.scale + attention_forward + attention_forward + attention_backward + attention_backward", "twin invariant", "mask after softmax, no renormalisation",
      "    scale: float", "    scale: float\n    keep: Array",
      "    S = scale * (Q @ K.mT)\n    A, _ = softmax_forward(S, mask)\n    O = A",
      "    A, _ = softmax_forward(scale * (Q @ K.mT))\n"
      "    keep = np.ones_like(A) if mask is None else mask\n"
      "    O = (A * keep)",
      "AttentionCache(Q, K, V, A, scale)", "AttentionCache(Q, K, V, A, scale, keep)",
      "Q, K, V, A, scale = cache", "Q, K, V, A, scale, keep = cache",
      "A.mT @ dO\n    dA = dO @ V.mT", "(A * keep).mT @ dO\n    dA = dO @ V.mT * keep"),
    M("np.attention.attention_forward", "slope twin invariant", "values summed over the queries, not over the keys",
      "O = A @ V", "O = A.mT @ V"),
    M("np.attention.attention_forward", "twin invariant", "mask forgotten",
      "softmax_forward(S, mask)", "softmax_forward(S)"),
    M("np.attention.attention_forward", "twin invariant", "mask inverted",
      "softmax_forward(S, mask)", "softmax_forward(S, None if mask is None else ~mask)"),
    M("np.attention.attention_forward", "slope twin invariant", "keys reshaped for transposed",
      "S = scale * (Q @ K.mT)", "S = scale * (Q @ K.reshape(*K.shape[:-2], K.shape[-1], K.shape[-2]))"),
    M("np.attention.attention_forward", "slope twin invariant", "scale multiplied into the caller's queries",
      "S = scale * (Q @ K.mT)", "Q *= scale\n    S = Q @ K.mT"),
    M("np.attention.attention_forward", "slope twin invariant", "scores centred over the batch",
      "S = scale * (Q @ K.mT)", "S = scale * (Q @ K.mT)\n    S = S - S.mean(axis=0)"),
    M("np.attention.attention_forward", "twin invariant", "a bias by distance left in",
      "S = scale * (Q @ K.mT)",
      "S = scale * (Q @ K.mT) - abs(np.arange(K.shape[-2]) - np.arange(Q.shape[-2])[:, None])"),
    M("np.attention.attention_backward", "slope twin invariant", "weights treated as constants",
      "dS = softmax_backward(dA, SoftmaxCache(A))\n", "dS = np.zeros_like(A)\n"),
    M("np.attention.attention_backward", "slope twin invariant", "backward through the scores without the softmax",
      "dS = softmax_backward(dA, SoftmaxCache(A))\n", "dS = dA\n"),
    M("np.attention.attention_backward", "slope twin", "dV divided by the number of queries",
      "dV = A.mT @ dO", "dV = A.mT @ dO / len(A)"),
    M("np.attention.self_attention_backward", "slope twin", "head: the path through the keys dropped from dX",
      "dX = dX + part", 'dX = dX + (0 if name == "k" else part)'),
    M("np.attention.self_attention_backward", "slope twin", "head: dX overwritten, not added up",
      "dX = dX + part", "dX = part"),
    M("np.attention.self_attention_forward", "twin invariant", "head: mask forgotten", ", K, V, mask)", ", K, V)"),
    M("np.attention.self_attention_backward", "slope twin invariant", "head: gradients of the query bias and the key bias exchanged",
      'grads[f"b_{name}"] = db', 'grads["b_" + {"q": "k", "k": "q", "v": "v"}[name]] = db'),
    M("pt.attention.SelfAttention.__init__", "invariant", "head: standard deviation 1/d, not variance",
      "/ math.sqrt(config.d)", "/ config.d"),
    M("np.attention.additive_attention_backward", "slope twin", "additive: tanh' = 1 − tanh",
      "dS[..., None] * w * (1 - T * T)", "dS[..., None] * w * (1 - T)"),
    M("np.attention.additive_attention_backward", "slope twin", "additive: tanh' forgotten",
      "dS[..., None] * w * (1 - T * T)", "dS[..., None] * w"),
    M("np.attention.additive_attention_backward", "slope twin invariant", "additive: sums over queries and keys exchanged",
      "linear_backward(dU.sum(axis=-2), q)", "linear_backward(dU.sum(axis=-3), q)"),
    M("np.attention.additive_attention_forward", "slope twin invariant", "additive: product for sum",
      "a[..., :, None, :] + c[", "a[..., :, None, :] * c["),
    M("np.attention.additive_attention_forward", "twin invariant", "additive: mask forgotten",
      "softmax_forward(S, mask)", "softmax_forward(S)"),
    M("np.attention.additive_attention_forward + additive_attention_backward", "twin invariant", "additive: no tanh",
      "np.tanh(a[..., :, None, :] + c[..., None, :, :])", "a[..., :, None, :] + c[..., None, :, :]",
      "w * (1 - T * T)", "w"),
    M("np.attention.kernel_attention_forward + kernel_attention_backward", "twin invariant", "kernel: width not squared",
      "/ (-2 * bandwidth * bandwidth)", "/ (-2 * bandwidth)",
      "/ (bandwidth * bandwidth)", "/ bandwidth"),
    M("np.attention.kernel_attention_backward", "slope twin", "kernel: width not squared, in the backward only",
      "/ (bandwidth * bandwidth)", "/ bandwidth"),
    M("np.attention.kernel_attention_forward + kernel_attention_backward", "twin invariant", "kernel: the 2 of 2h² forgotten",
      "/ (-2 * bandwidth * bandwidth)", "/ -(bandwidth * bandwidth)",
      "/ (bandwidth * bandwidth)", "/ (bandwidth * bandwidth) * 2"),
    M("np.attention.kernel_attention_backward", "slope twin invariant", "kernel: column sums missing in dK",
      " - dS.sum(axis=-2)[..., None] * K", ""),
    M("np.attention.kernel_attention_forward", "slope twin invariant", "kernel: distance for squared distance",
      "(gap * gap).sum(axis=-1)", "np.sqrt((gap * gap).sum(axis=-1))"),
    M("np.attention.kernel_attention_forward", "invariant", "kernel: a NumPy width makes float64",
      "bandwidth: Positive", "bandwidth"),
    M("pt.attention.attention", "twin invariant", "no scale",
      "scale = 1 / math.sqrt(Q.shape[-1]) if", "scale = 1.0 if"),
    M("pt.attention.attention", "twin invariant", "mask forgotten",
      "return softmax(scale * (Q @ K.mT), mask) @ V", "return softmax(scale * (Q @ K.mT)) @ V"),
    M("pt.attention.attention", "invariant", "a table of zeros made on the CPU",
      "return softmax(scale * (Q @ K.mT), mask) @ V",
      "return softmax(scale * (Q @ K.mT) + torch.zeros(K.shape[-2], dtype=Q.dtype), mask) @ V"),
    M("pt.attention.attention", "invariant", "scale as a float32 tensor with an axis",
      "return softmax(scale * (Q @ K.mT), mask) @ V",
      "S = torch.full((1,), scale, dtype=torch.promote_types(Q.dtype, torch.float32), device=Q.device) * (Q @ K.mT)\n"
      "    return softmax(S, mask) @ V.to(S.dtype)"),
    M("pt.attention.self_attention", "twin", "head: query bias forgotten",
      'params.get(f"b_{name}")) for name in "qkv")',
      'params.get(f"b_{name}") if name != "q" else None) for name in "qkv")'),
    M("pt.attention.self_attention", "twin", "head: mask forgotten",
      "    return attention(Q, K, V, mask)", "    return attention(Q, K, V)"),
    M("pt.attention.additive_attention", "twin", "additive: no tanh", "S = torch.tanh(", "S = ("),
    M("pt.attention.additive_attention", "twin", "additive: mask forgotten",
      "return softmax(S, mask) @ V", "return softmax(S) @ V"),
    M("pt.attention.kernel_attention", "twin", "kernel: width not squared",
      "(-2 * bandwidth * bandwidth)", "(-2 * bandwidth)"),
    M("pt.attention.kernel_attention", "twin", "kernel: mask forgotten",
      "(-2 * bandwidth * bandwidth), mask) @ V", "(-2 * bandwidth * bandwidth)) @ V"),
    M("pt.attention.fused_attention", "invariant", "fused: True means masked",
      "    if Q.ndim == 3:", "    mask = None if mask is None else ~mask\n    if Q.ndim == 3:"),
    M("pt.attention.fused_attention", "invariant", "fused: mask as numbers, added to the scores",
      "    if Q.ndim == 3:", "    mask = None if mask is None else mask.to(Q.dtype)\n    if Q.ndim == 3:"),
    M("pt.attention.fused_attention", "invariant", "fused: is_causal ignored",
      "    if Q.ndim == 3:", "    is_causal = False\n    if Q.ndim == 3:"),
    M("pt.attention.fused_attention", "invariant", "fused: scale ignored",
      "    if Q.ndim == 3:", "    scale = None\n    if Q.ndim == 3:"),
    M("pt.attention.fused_attention", "invariant", "fused: mask of a batch without its new head axis",
      ".unsqueeze(1) if mask is not None and mask.ndim == 3 else mask", ""),
    M("pt.attention.SelfAttention.forward", "invariant", "module: queries and keys exchanged",
      "W_q, self.W_k", "W_k, self.W_q"),
    M("pt.attention.SelfAttention.forward", "invariant", "module: bias forgotten",
      "linear(X, W, b).split", "linear(X, W).split"),
    M("pt.attention.SelfAttention.forward", "invariant", "module: mask forgotten",
      "fused_attention(Q, K, V, mask, is_causal", "fused_attention(Q, K, V, is_causal"),
    M("pt.attention.SelfAttention.forward", "invariant", "module: is_causal ignored",
      "mask, is_causal=is_causal)\n", "mask)\n"),
    M("pt.attention.SelfAttention.__init__", "invariant", "module: standard deviation 1",
      ") / math.sqrt(config.d)", ")"),
]
