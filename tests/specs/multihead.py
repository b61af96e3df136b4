# ruff: noqa: E501
"""Multi-head attention: slopes, twins, torch's own layer with the same weights, and what heads may and may not mix."""

import itertools

import numpy as np
import torch
from byhand import tree
from byhand.np import multihead as np_multihead
from invariants import matches_numpy, near, normal, parameters_may_be_dressed, rng, same
from mutants import M
from proofs import habits, refusals
from twins import GRADIENT, LEAD, SLOPE, Case, Spec, directions, mask_of

N, MEMORY, D, D_M, HEADS, K = 3, 7, 5, 6, 4, 2


def params_of(rng, kv_heads=HEADS, bias=True, d=D, d_m=D_M, heads=HEADS, d_k=K):
    """The tree of init_multihead, all of it random: biases too."""
    made = np_multihead.init_multihead(rng, d, heads, kv_heads, d_k, d_m, bias, np.float64)
    return {name: rng.normal(size=x.shape) for name, x in made.items()}


def multihead_cases(rng):
    for rank, kind, kv_heads in ((2, "none", 4), (2, "shared", 2), (3, "random", 4), (3, "padding", 1), (4, "random", 2),
                                 (3, "per head", 2)):
        lead = LEAD[rank]
        mask = rng.random((*lead, HEADS, N, MEMORY)) < 0.6 if kind == "per head" else mask_of(kind, rng, lead, N, MEMORY)
        inputs = {"X": rng.normal(size=(*lead, N, D)), "M": rng.normal(size=(*lead, MEMORY, D_M)),
                  "params": params_of(rng, kv_heads, bias=rank != 4)}
        yield Case(f"rank {rank}, {kind}, {kv_heads} of {HEADS}", inputs,
                   {"heads": HEADS, "kv_heads": kv_heads, "mask": mask})


def biased_cases(rng):
    """A bias for each head, one for all, and one for each sequence, repeated along what it lacks."""
    for lead, bias, kind in (((), (N, MEMORY), "none"), ((2, 4), (4, N, MEMORY), "padding"), ((2, 4), (2, 1, 1, MEMORY), "shared")):
        inputs = {"Q": rng.normal(size=(*lead, N, D)), "K": rng.normal(size=(*lead, MEMORY, D)),
                  "V": rng.normal(size=(*lead, MEMORY, D_M)), "bias": rng.normal(size=bias)}
        yield Case(f"{lead}, bias {bias}", inputs, {"mask": mask_of(kind, rng, lead, N, MEMORY)})


POSITIONS = ("rope", "rope_half", "alibi", "relative")


def placed_params(rng, position, kv_heads=HEADS):
    made = params_of(rng, kv_heads, d_m=D, d_k=4)  # with two features a head, there would be one pair and no base
    return made | ({"table": rng.normal(size=(HEADS, 5))} if position == "relative" else {})


def placed_cases(rng):
    """Self-attention that knows positions; tokens and memory are two arrays here, so that each has its gradient.

    The second time tokens stand at places of their own: one row for all, or one for each sequence, repeats and gaps in it.
    """
    for i, position in enumerate(POSITIONS):
        lead = LEAD[2 + i % 3]
        inputs = {"X": rng.normal(size=(*lead, 6, D)), "M": rng.normal(size=(*lead, 6, D)),
                  "params": placed_params(rng, position, (4, 2, 1, 2)[i])}
        yield Case(f"{position}, rank {2 + i % 3}", inputs, {
            "heads": HEADS, "kv_heads": (4, 2, 1, 2)[i], "mask": mask_of(("random", "shared")[i % 2], rng, lead, 6, 6),
            "position": position, "rope_theta": (30.0, 10000.0)[i % 2]})
    for i, position in enumerate(POSITIONS):
        lead = LEAD[2 + (i + 1) % 3]
        inputs = {"X": rng.normal(size=(*lead, 6, D)), "M": rng.normal(size=(*lead, 6, D)), "params": placed_params(rng, position)}
        yield Case(f"{position}, places, rank {2 + (i + 1) % 3}", inputs, {
            "heads": HEADS, "mask": mask_of("random", rng, lead, 6, 6) if i % 2 else None, "position": position, "rope_theta": 30.0,
            "positions": rng.integers(0, 9, size=(*lead, 6) if i else 6), "is_causal": i > 1})


def multihead_and_placed_cases(rng):
    yield from multihead_cases(rng)
    yield from placed_cases(rng)


def head_sum_params(rng, heads=3, d=D, k=K, d_o=4):
    return {"U_q": rng.normal(size=(heads, d, k)), "U_k": rng.normal(size=(heads, d, k)),
            "V": rng.normal(size=(heads, d, d_o))}


def head_sum_cases(rng):
    for rank, kind in ((2, "shared"), (3, "random"), (4, "padding")):
        lead = LEAD[rank]
        yield Case(f"rank {rank}, {kind}", {"X": rng.normal(size=(*lead, 6, D)), "params": head_sum_params(rng)},
                   {"mask": mask_of(kind, rng, lead, 6, 6)})
    yield Case("rank 3, per head", {"X": rng.normal(size=(2, 6, D)), "params": head_sum_params(rng)}, {"mask": rng.random((2, 3, 6, 6)) < 0.6})


def split_cases(rng):
    for lead in LEAD.values():
        yield Case(f"{lead}", {"X": rng.normal(size=(*lead, 5, 6))}, {"heads": 3})


def merge_cases(rng):
    for lead in LEAD.values():
        yield Case(f"{lead}", {"Z": rng.normal(size=(*lead, 4, 5, 6))})


def repeat_cases(rng):
    for lead in LEAD.values():
        for times in (1, 3):
            yield Case(f"{lead}, {times}", {"Y": rng.normal(size=(*lead, 2, 5, 6))}, {"times": times})


TWINS = [
    Spec("multihead", "multihead", multihead_and_placed_cases),
    Spec("multihead", "biased_attention", biased_cases),
    Spec("multihead", "head_sum", head_sum_cases),
    Spec("multihead", "split_heads", split_cases),
    Spec("multihead", "merge_heads", merge_cases),
    Spec("multihead", "repeat_heads", repeat_cases),
]


# Against the layer of torch, which keeps its weights transposed, and its masks inverted


def write(net, params):
    """Our parameters into nn.MultiheadAttention."""
    W, b = ([torch.tensor(params[f"{kind}_{name}"]).mT if kind == "W" else torch.tensor(params[f"b_{name}"])
             for name in "qkvo"] for kind in "Wb")
    if net.in_proj_weight is not None:
        net.in_proj_weight.data = torch.cat(W[:3])
    else:
        net.q_proj_weight.data, net.k_proj_weight.data, net.v_proj_weight.data = W[:3]
    net.in_proj_bias.data, net.out_proj.weight.data, net.out_proj.bias.data = torch.cat(b[:3]), W[3], b[3]


def read(net, what=lambda p: p.detach()):
    """The parameters of nn.MultiheadAttention, or their gradients, under our names and in our layout."""
    if net.in_proj_weight is not None:
        W = list(what(net.in_proj_weight).chunk(3))
    else:
        W = [what(w) for w in (net.q_proj_weight, net.k_proj_weight, net.v_proj_weight)]
    W, b = [*W, what(net.out_proj.weight)], [*what(net.in_proj_bias).chunk(3), what(net.out_proj.bias)]
    return {f"{kind}_{name}": x.mT.numpy() if kind == "W" else x.numpy()
            for i, name in enumerate("qkvo") for kind, x in (("W", W[i]), ("b", b[i]))}


def torch_layers():
    """(net, X, M, mask, keywords for torch): self and cross, a causal mask, one mask per sequence, padded keys."""
    X, memory = normal(2, N, 8), normal(2, MEMORY, D_M)
    full = np.tile([[True] * 5 + [False] * 2, [True] * 3 + [False] * 4], 1)
    each = rng().random((2, N, MEMORY)) < 0.5
    each[..., 0] = True  # torch divides by zero for a query that may attend to nothing
    causal = np.tri(N, dtype=bool)
    for source, mask, options in (
        (X, None, {}), (X, causal, {"attn_mask": ~causal}), (memory, None, {}),
        (memory, each, {"attn_mask": np.repeat(~each, HEADS, axis=0)}),
        (memory, full[:, None, :], {"key_padding_mask": ~full}),
    ):
        widths = {} if source is X else {"kdim": D_M, "vdim": D_M}
        torch.manual_seed(3)
        net = torch.nn.MultiheadAttention(8, HEADS, batch_first=True, dtype=torch.float64, **widths)
        yield net, X, source, mask, {k: torch.tensor(v) for k, v in options.items()}


def equals_the_layer_of_torch(module):
    """Output and all gradients, with weights that we gave to torch and with weights that torch made."""
    for net, X, source, mask, options in torch_layers():
        for given in (True, False):
            if given:
                params = params_of(rng(), d=8, d_m=source.shape[-1])
                write(net, params)
                for name, x in read(net).items():
                    same(x, params[name], name)
            else:
                net._reset_parameters()
                params = read(net)
            x, m = (torch.tensor(a, requires_grad=True) for a in (X, source))
            net.zero_grad()
            theirs = net(x, m, m, need_weights=False, **options)[0]
            O, cache = module.multihead_forward(X, source, params, HEADS, mask=mask)
            near(O, theirs.detach(), "outputs")
            dO = normal(*O.shape)
            theirs.backward(torch.tensor(dO))
            dX, dM, grads = module.multihead_backward(dO, cache)
            near(dX, x.grad, "dX", GRADIENT)
            near(dM, m.grad, "dM", GRADIENT)
            for name, g in read(net, lambda p: p.grad).items():
                near(grads[name], g, f"d{name}", GRADIENT)


# What heads may and may not mix


def merging_inverts_splitting(module):
    for lead in LEAD.values():
        X = normal(*lead, 5, 6)
        X = torch.tensor(X) if "pt" in module.__name__ else X
        Z = module.split_heads(X, 3)
        same(Z[..., 1, :, :], X[..., 2:4], "the second head and the features 2 and 3")
        same(module.merge_heads(Z), X, "split, then merged")


def sharing_is_undone_by_a_sum(module):
    """⟨repeat(Y), Z⟩ = ⟨Y, sum(Z)⟩: one is the transpose of the other."""
    Y, Z = normal(2, 3, 5, 4), normal(2, 6, 5, 4)
    near((module.repeat_heads(Y, 2) * Z).sum(), (Y * module.sum_heads(Z, 2)).sum(), tol=1e-10)
    same(module.sum_heads(Z, 1), Z, "groups of one")


def self_attention(module, X, params, mask=None, **options):
    return module.multihead_forward(X, X, params, HEADS, mask=mask, **options)[0]


def no_token_sees_a_later_one(module):
    """A causal mask over all heads: every later token is edited, and what is before stays to the last bit."""
    X, params = normal(2, 6, D), params_of(rng(), d_m=D)
    for mask in (np.tri(6, dtype=bool), np.tri(6, dtype=bool)[None] & np.ones((2, 1, 1), bool)):
        for t in (1, 4):
            edited = X.copy()
            edited[:, t:] += normal(2, 6 - t, D)
            a, b = (self_attention(module, x, params, mask) for x in (X, edited))
            same(a[:, :t], b[:, :t], f"tokens before {t}")
            assert np.abs(a[:, t:] - b[:, t:]).max() > 1e-3


def order_is_not_seen(module):
    """Tokens permuted, outputs permuted; memory permuted, nothing changes."""
    X, memory, turn = normal(2, 6, D), normal(2, MEMORY, D_M), rng().permutation(6)
    params = params_of(rng(), d_m=D)
    near(self_attention(module, X[:, turn], params), self_attention(module, X, params)[:, turn], "permuted tokens")
    a, b = (module.multihead_forward(X, x, params_of(rng()), HEADS)[0] for x in (memory, memory[:, ::-1].copy()))
    near(a, b, "permuted memory")


def places_count_only_by_their_distance(module):
    """With rope, alibi or relative biases, copies of a sequence further right see the same: outputs do not change.

    The same tokens stand first among others that a mask hides, and then last; and order itself is seen.
    """
    tokens, other = normal(2, 4, D), normal(2, 3, D)
    first, last = np.concatenate([tokens, other], axis=1), np.concatenate([other, tokens], axis=1)
    mask = np.zeros((2, 7, 7), bool)
    mask[0, :4, :4] = mask[1, 3:, 3:] = True
    for position in POSITIONS:
        params = placed_params(rng(), position)
        attend = lambda X, m, position=position, params=params: module.multihead_forward(  # noqa: E731
            X, X, params, HEADS, None, m, position, 50.0)[0]
        near(attend(first, mask[0])[:, :4], attend(last, mask[1])[:, 3:], f"{position}: moved")
        turned = np.roll(attend(np.roll(tokens, 1, axis=1), None), -1, axis=1)  # a mirror image would not do for alibi
        assert np.abs(turned - attend(tokens, None)).max() > 1e-3, f"{position}: order is not seen"


def kinds(rng):
    """Parameters for every kind of position, with fewer key-value heads than heads."""
    return {position: placed_params(rng, position, 2) for position in ("none", *POSITIONS)}


def attend(module, X, params, mask=None, position="none", positions=None, is_causal=False):
    """Self-attention in either half, on NumPy arrays."""
    if "np" in module.__name__:
        return module.multihead_forward(X, X, params, HEADS, 2, mask, position, 30.0, positions, is_causal)[0]
    x, mask, positions = (None if a is None else torch.tensor(a) for a in (X, mask, positions))
    return module.multihead(x, x, tree.to_torch(params), HEADS, 2, mask, position, 30.0, positions, is_causal).numpy()


def causal_and_a_mask_hold_together(module):
    """For every kind of position and of mask: is_causal is one more mask, and neither takes the other's place."""
    X, causal = normal(2, 6, D), np.tri(6, dtype=bool)
    masks = {"none": None, "shared": rng().random((6, 6)) < 0.6, "padding": np.arange(6) < np.array([6, 4])[:, None, None],
             "random": rng().random((2, 6, 6)) < 0.6, "per head": rng().random((2, HEADS, 6, 6)) < 0.6}
    for position, params in kinds(rng()).items():
        for kind, mask in masks.items():
            both = causal if mask is None else mask & causal
            near(attend(module, X, params, mask, position, is_causal=True), attend(module, X, params, both, position), f"{position}, {kind}")


def padding_on_the_left_is_not_seen(module):
    """Sequences of several lengths, each ending in the last column and placed from 0 on: as each alone."""
    lengths, n = (6, 4, 1), 6
    tokens = normal(3, n, D)
    mask = np.arange(n) >= n - np.array(lengths)[:, None, None]
    positions = np.maximum(np.arange(n) - (n - np.array(lengths)[:, None]), 0)
    for position, params in kinds(rng()).items():
        for is_causal in (False, True):
            together = attend(module, tokens, params, mask, position, positions, is_causal)
            for b, length in enumerate(lengths):
                alone = attend(module, tokens[b:b + 1, n - length:], params, None, position, None, is_causal)
                near(together[b:b + 1, n - length:], alone, f"{position}, {length} tokens")


def packed_sequences_do_not_meet(module):
    """Several sequences in one row: a block-diagonal mask and places that begin again: as each alone."""
    lengths, X = (3, 1, 4), normal(2, 8, D)
    ends = np.cumsum((0, *lengths))
    number = np.repeat(np.arange(3), lengths)
    mask, positions = number[:, None] == number, np.arange(8) - ends[number]
    for position, params in kinds(rng()).items():
        for places in (positions, np.stack([positions, positions])):
            together = attend(module, X, params, mask, position, places, True)
            for a, b in itertools.pairwise(ends):
                near(together[:, a:b], attend(module, X[:, a:b], params, None, position, None, True), f"{position}, columns {a} to {b}")


def only_distances_of_places_count(module):
    """Every token moved by the same number of places: nothing changes, and a sequence with a gap is another one."""
    X, places = normal(2, 6, D), np.array([[0, 1, 2, 3, 4, 5], [0, 2, 3, 4, 7, 9]])
    for position, params in kinds(rng()).items():
        near(attend(module, X, params, None, position, places + 5), attend(module, X, params, None, position, places), f"{position}: moved")
        near(attend(module, X[:1], params, None, position), attend(module, X, params, None, position, places)[:1], f"{position}: in a row")
        gap = np.abs(attend(module, X, params, None, position, places) - attend(module, X, params, None, position)).max(axis=(1, 2))
        assert gap[0] < 1e-12 and (gap[1] > 1e-3) == (position != "none"), f"{position}: a gap moved the output by {gap}"


def wrong_gradients_are_refused(module):
    """Whatever NumPy would repeat in silence."""
    assert module.merge_heads(np.ones((0, 4, 3, 2))).shape == (0, 3, 8), "a batch of nothing"
    for name, arguments in (("multihead", (X_, M_, P_, HEADS)), ("head_sum", (X_, S_)),
                            ("biased_attention", (X_, normal(2, 7, D), normal(2, 7, 4), normal(3, 7)))):
        out, cache = getattr(module, f"{name}_forward")(*arguments)
        for wrong in (out[:1], out[:, :1], out[..., :1], np.stack([out, out])):
            refusals((f"{name}_backward", ValueError, f"^{name}_backward: dO has shape", wrong, cache))(module)


def alibi_and_relative_are_biases(module):
    """ALiBi is −slope · distance on the scores of each head, and so is a table that holds just that."""
    X, params, reach = normal(2, 6, D), params_of(rng(), d_m=D), 5
    slopes = 2.0 ** (-8 * np.arange(1, HEADS + 1) / HEADS)
    table = -slopes[:, None] * np.abs(np.arange(-reach, reach + 1))
    a = module.multihead_forward(X, X, params, HEADS, position="alibi")[0]
    b = module.multihead_forward(X, X, params | {"table": table}, HEADS, position="relative")[0]
    near(a, b, "the same bias, twice")
    far = self_attention(module, X, params)
    assert np.abs(a - far).max() > 1e-3
    near(module.multihead_forward(X, X, params | {"table": 0 * table}, HEADS, position="relative")[0], far, "no bias")


def self_attention_adds_both_gradients(module):
    """One array in two roles: its gradient is dX + dM, and neither alone."""
    params = params_of(rng(), d_m=D)

    def backward(dO, cache):
        dX, dM, grads = module.multihead_backward(dO, cache)
        return dX + dM, grads

    def forward(X, params):
        return module.multihead_forward(X, X, params, HEADS, mask=np.tri(3, dtype=bool))

    errors = directions(forward, backward, {"X": normal(2, 3, D), "params": params}, rng())
    assert max(errors.values()) < SLOPE, errors


def heads_are_a_sum(module):
    """Concatenate and multiply by W_o, or sum A_h X V_h with V_h = W_v,h W_o,h: the same function."""
    params = params_of(rng(), d_m=D, bias=False)
    W_q, W_k, W_v = (np.stack(np.split(params[f"W_{name}"], HEADS, axis=1)) for name in "qkv")
    W_o = np.stack(np.split(params["W_o"], HEADS))
    X, mask = normal(2, 6, D), mask_of("random", rng(), (2,), 6, 6)
    summed = module.head_sum_forward(X, {"U_q": W_q, "U_k": W_k, "V": W_v @ W_o}, mask)[0]
    near(summed, self_attention(module, X, params, mask), "sum and concatenation")


def grouped_heads_share_weights(module):
    """kv_heads is multi-head attention whose W_k, W_v are repeated, and their gradients the sums over a group."""
    X, memory = normal(2, N, D), normal(2, MEMORY, D_M)
    for kv_heads in (1, 2):
        few, times = params_of(rng(), kv_heads), HEADS // kv_heads
        many = {name: spread(x, kv_heads, times) if name[-1] in "kv" else x for name, x in few.items()}
        (a, cache_a), (b, cache_b) = (module.multihead_forward(X, memory, p, HEADS, g)
                                      for p, g in ((few, kv_heads), (many, HEADS)))
        near(a, b, "outputs")
        dO = normal(2, N, D)
        grads, wide = (module.multihead_backward(dO, cache)[2] for cache in (cache_a, cache_b))
        for name in ("W_k", "W_v", "b_v"):
            g = wide[name].reshape(*wide[name].shape[:-1], kv_heads, times, K).sum(axis=-2)
            near(grads[name], g.reshape(few[name].shape), f"d{name}")


def spread(x, groups, times):
    """(…, G k) → (…, H k): the columns of each group, `times` times in a row."""
    return np.repeat(x.reshape(*x.shape[:-1], groups, 1, K), times, axis=-2).reshape(*x.shape[:-1], -1)


def init_is_lecun_whatever_the_heads(module):
    sizes = {sum(x.size for x in module.init_multihead(rng(), 12, heads).values()) for heads in (1, 2, 3, 12)}
    assert sizes == {4 * 12 * 12 + 4 * 12}, "4 d² weights and 4 d biases, whatever the number of heads"
    wide = module.init_multihead(rng(), 240, 6, 2, d_m=300)
    shapes = {"W_q": (240, 240), "b_q": (240,), "W_k": (300, 80), "b_k": (80,), "W_v": (300, 80), "b_v": (80,),
              "W_o": (240, 240), "b_o": (240,)}
    assert {name: x.shape for name, x in wide.items()} == shapes and list(wide) == list(shapes)
    for name, x in wide.items():
        assert x.dtype == np.float32 and (name[0] == "W" or not x.any())
        if name[0] == "W":
            near(x.std() * np.sqrt(len(x)), 1, f"deviation of {name} and 1/√d_in", 0.03)
    assert module.init_multihead(rng(), 4, 2, max_distance=3)["table"].shape == (2, 7)
    assert list(module.init_multihead(rng(), 4, 2, bias=False)) == ["W_q", "W_k", "W_v", "W_o"]
    assert module.init_multihead(rng(), 5, 2, d_k=3, dtype=np.float64)["W_o"].dtype == np.float64


X_, M_, P_ = normal(2, N, D), normal(2, MEMORY, D_M), params_of(rng())
S_ = head_sum_params(rng())
ROWS = [
    ("multihead_forward", ValueError, r"multihead: M has shape \(3, 4, 6\), expected \(2, 4, 6\)", X_, normal(3, 4, D_M), P_, 4),
    ("multihead_forward", ValueError, "multihead: kv_heads is 3, expected a divisor of the 4 heads", X_, M_, P_, 4, 3),
    ("multihead_forward", ValueError, "multihead: width of W_q is 8, expected a multiple of 3", X_, M_, P_, 3),
    ("multihead_forward", ValueError, r"multihead: params\['W_k'\] has shape \(6, 8\), expected \(5, 8\)", X_, X_, P_, 4),
    ("multihead_forward", ValueError, "multihead: params has W_q", X_, M_, {"W_q": P_["W_q"]}, 4),
    ("multihead_forward", ValueError, r"mask has shape \(2, 7\), expected", X_, M_, P_, 4, None, np.ones((2, 7), bool)),
    ("multihead_forward", TypeError, "mask has dtype (torch.)?float64", X_, M_, P_, 4, None, normal(3, 7)),
    ("multihead_forward", ValueError, "multihead: position is 'sinus', expected one of none, rope", X_, X_,
     params_of(rng(), d_m=D), 4, None, None, "sinus"),
    ("multihead_forward", ValueError, "multihead: position is 'rope' with 3 queries and 7 keys, expected as many", X_, M_, P_, 4, None,
     None, "rope"),
    ("multihead_forward", ValueError, "multihead: params has W_q, .*, b_o, expected table, since position is 'relative'", X_, X_, params_of(rng(), d_m=D), 4, None, None,
     "relative"),
    ("multihead_forward", ValueError, "multihead: params has .*, table, expected no table, since position is 'none'", X_, X_, placed_params(rng(), "relative"), 4),
    ("multihead_forward", ValueError, r"params\['table'\] has shape \(3, 5\), expected \(4, 5\)", X_, X_,
     params_of(rng(), d_m=D) | {"table": normal(3, 5)}, 4, None, None, "relative"),
    ("biased_attention_forward", ValueError, r"biased_attention: shape of bias is \(7, 3\), expected a shape that repeats to \(2, 3, 7\)",
     X_, normal(2, 7, D), normal(2, 7, D), normal(7, 3)),
    ("multihead_forward", ValueError, "multihead: is_causal is True with 3 queries and 7 keys, expected as many", X_, M_, P_, 4, None,
     None, "none", 10000.0, None, True),
    ("multihead_forward", ValueError, r"multihead: positions has shape \(4,\)|shape of positions is \(4,\), expected", X_, X_,
     params_of(rng(), d_m=D), 4, None, None, "rope", 10000.0, np.arange(4)),
    ("multihead_forward", TypeError, "multihead: positions has dtype (torch.)?float64, expected", X_, X_, params_of(rng(), d_m=D), 4, None,
     None, "rope", 10000.0, np.arange(3.0)),
    ("biased_attention_forward", TypeError, "biased_attention: bias has dtype", X_, X_, X_, np.ones((3, 3), int)),
    ("head_sum_forward", ValueError, r"head_sum: params\['U_k'\] has shape \(2, 5, 2\)", X_, S_ | {"U_k": S_["U_k"][:2]}),
    ("head_sum_forward", ValueError, "head_sum: params has U_q, V, expected U_q, U_k, V", X_, {"U_q": S_["U_q"], "V": S_["V"]}),
    ("split_heads", ValueError, "split_heads: width of X is 5, expected a multiple of 2", X_, 2),
    ("merge_heads", ValueError, r"merge_heads: Z has 2 axes, expected at least 3", X_[0]),
]
refused = refusals(
    *ROWS,
    ("multihead_forward", TypeError, "multihead: X is list, expected a NumPy array", [1.0], M_, P_, 4),
    ("multihead_forward", ValueError, r"multihead: M holds nan at index \(0, 0, 0\)", X_, M_ * np.nan, P_, 4),
    ("init_multihead", ValueError, "init_multihead: d is 5, expected a multiple of 2", rng(), 5, 2),
    ("init_multihead", ValueError, "init_multihead: d_k is 0, expected at least 1", rng(), 4, 2, None, 0),
    ("multihead_forward", ValueError, r"multihead: M has shape \(2, 0, 6\), expected at least 1 entry", X_, M_[:, :0], P_, 4),
    ("multihead_forward", ValueError, r"multihead: params\['W_q'\] has shape \(5, 0\), expected at least 1 entry", X_, M_,
     P_ | {"W_q": P_["W_q"][:, :0]}, 4),
    ("sum_heads", ValueError, "sum_heads: times is 0, expected at least 1", normal(2, 6, 5, 4), 0),
    ("sum_heads", ValueError, "sum_heads: number of heads of dY is 6, expected a multiple of 4", normal(2, 6, 5, 4), 4),
    ("sum_heads", ValueError, "sum_heads: dY has 2 axes, expected at least 3", normal(6, 5), 1),
    ("init_multihead", ValueError, "init_multihead: kv_heads is 0, expected at least 1", rng(), 4, 2, 0),
    ("init_multihead", ValueError, "init_multihead: kv_heads is 3, expected a divisor of the 4 heads", rng(), 4, 4, 3),
)


def in_torch(x):
    if isinstance(x, dict):
        return tree.to_torch(x)
    return torch.tensor(x) if isinstance(x, np.ndarray) else x


refused_by_torch = refusals(
    *[(name.removesuffix("_forward"), error, says, *map(in_torch, arguments)) for name, error, says, *arguments in ROWS],
    ("multihead", TypeError, "multihead: X is numpy.ndarray, expected a torch tensor", X_, in_torch(M_), in_torch(P_), 4),
    ("Multihead", ValueError, "Multihead: d is 5, expected a multiple of 2", 5, 2),
    ("Multihead", ValueError, "Multihead: heads is 0, expected at least 1", 5, 0),
    ("Multihead", ValueError, "Multihead: kv_heads is 3, expected a divisor of the 4 heads", 4, 4, 3),
    ("Multihead", ValueError, "Multihead: max_distance is None, expected a whole number, since position is 'relative'", 4, 4, None, None, None, True, "relative"),
    ("Multihead", ValueError, "Multihead: max_distance is 2, expected None, since position is 'none'", 4, 4, None, None, None, True, "none", 1.0, 2),
    ("Multihead", ValueError, "Multihead: width of a head is 3, expected a multiple of 2", 6, 2, None, None, None, True, "rope"),
)


def module_is_the_function(module):
    """Multihead holds the tree of init_multihead; output and gradients are those of the NumPy half."""
    for options, fixed, place in (({}, {}, {}), ({"bias": False}, {"is_causal": True}, {}), ({"kv_heads": 2, "d_k": 3}, {}, {}),
                                  ({}, {"is_causal": True}, {"position": "rope", "rope_theta": 30.0}),
                                  ({"max_distance": 2}, {"is_causal": True}, {"position": "relative"})):
        net = module.Multihead(8, HEADS, **options, **place)
        made = np_multihead.init_multihead(rng(), 8, HEADS, **options)
        held = tree.from_torch(net)
        assert {k: (v.shape, v.dtype) for k, v in held.items()} == {k: (v.shape, v.dtype) for k, v in made.items()}
        assert list(held) == list(made)
        for name, p in net.named_parameters():
            assert name[0] == "W" or not p.any(), name
            p.data = torch.tensor(rng().normal(size=p.shape) / 2)

        def forward(X, params, kv_heads=net.kv_heads, fixed=fixed, place=place):
            mask = np.tri(6, dtype=bool) if fixed else None
            return np_multihead.multihead_forward(X, X, params, HEADS, kv_heads, mask, **place)

        def backward(dO, cache):
            dX, dM, grads = np_multihead.multihead_backward(dO, cache)
            return dX + dM, {name: grads[name] for name in made}  # noqa: B023  (called before the next turn)

        matches_numpy(net, forward, backward, normal(2, 6, 8), fixed=fixed)
    turned, X, at = module.Multihead(8, HEADS, position="rope_half").double(), normal(2, 6, 8), np.array([[0, 1, 2, 0, 1, 2], [3, 1, 4, 1, 5, 9]])
    expected = np_multihead.multihead_forward(X, X, tree.from_torch(turned), HEADS, position="rope_half", positions=at)[0]
    near(turned(torch.tensor(X), positions=torch.tensor(at)).detach(), expected, "places of the module")
    cross = module.Multihead(8, HEADS, d_m=D_M).double()
    expected = np_multihead.multihead_forward(normal(2, N, 8), M_, tree.from_torch(cross), HEADS)[0]
    near(cross(torch.tensor(normal(2, N, 8)), torch.tensor(M_)).detach(), expected, "cross-attention")
    torch.manual_seed(0)
    for name, x in tree.from_torch(module.Multihead(240, 6, 2, d_m=300)).items():
        if name[0] == "W":
            near(x.std() * np.sqrt(len(x)), 1, f"deviation of {name} and 1/√d_in", 0.03)


def parameters_are_read_by_name(module):
    for options in ({}, {"bias": False}, {"position": "relative", "max_distance": 2}):
        parameters_may_be_dressed(lambda options=options: module.Multihead(8, 2, **options).double(), lambda net: net(torch.tensor(normal(2, 6, 8))))


def one_product_or_three(module):
    """When the memory is X itself, one product makes Q, K and V; a copy of X goes another way to the same result."""
    X = in_torch(normal(2, 6, D))
    for drop in ((), ("b_q", "b_k", "b_v"), ("b_k",)):
        params = {name: x for name, x in in_torch(params_of(rng(), d_m=D, kv_heads=2)).items() if name not in drop}
        near(module.multihead(X, X, params, 4, 2), module.multihead(X, X.clone(), params, 4, 2), f"without {drop}")


INVARIANTS = {
    "np.multihead": [*habits(TWINS), equals_the_layer_of_torch, merging_inverts_splitting, sharing_is_undone_by_a_sum,
                     no_token_sees_a_later_one, order_is_not_seen, self_attention_adds_both_gradients, heads_are_a_sum,
                     places_count_only_by_their_distance, alibi_and_relative_are_biases, grouped_heads_share_weights,
                     init_is_lecun_whatever_the_heads, refused, causal_and_a_mask_hold_together, padding_on_the_left_is_not_seen,
                     packed_sequences_do_not_meet, only_distances_of_places_count, wrong_gradients_are_refused],
    "pt.multihead": [merging_inverts_splitting, module_is_the_function, one_product_or_three, refused_by_torch,
                     causal_and_a_mask_hold_together, padding_on_the_left_is_not_seen, packed_sequences_do_not_meet,
                     only_distances_of_places_count, parameters_are_read_by_name],
}
WRONG = [
    M("np.multihead.merge_heads", "slope twin invariant", "heads merged by a reshape without the transpose",
      "np.swapaxes(Z, -3, -2).reshape(*lead, n, H * k", "Z.reshape(*lead, n, H * k"),
    M("np.multihead.split_heads + merge_heads", "twin invariant", "heads cut and joined by a reshape alone, both ways",
      "np.swapaxes(X.reshape(*X.shape[:-1], heads, X.shape[-1] // heads), -3, -2",
      "X.reshape(*X.shape[:-2], heads, X.shape[-2], -1",
      "np.swapaxes(Z, -3, -2).reshape(*lead, n, H * k", "Z.reshape(*lead, n, H * k"),
    M("np.multihead.split_heads + merge_heads", "twin invariant", "features dealt out to the heads in turn, both ways",
      "swapaxes(X.reshape(*X.shape[:-1], heads, X.shape[-1] // heads), -3, -2",
      "moveaxis(X.reshape(*X.shape[:-1], -1, heads), -1, -3",
      "np.swapaxes(Z, -3, -2)", "np.moveaxis(Z, -3, -1)"),
    M("np.multihead.sum_heads", "slope twin invariant", "shared keys: the last of the group alone sends its gradient",
      "times, m, k).sum(axis=-3)", "times, m, k)[..., -1, :, :]"),
    M("np.multihead.sum_heads", "slope twin invariant", "shared keys: gradients averaged",
      "times, m, k).sum(axis=-3)", "times, m, k).mean(axis=-3)"),
    M("np.multihead.repeat_heads", "slope twin invariant", "shared keys: heads grouped in turn, summed in a row",
      "np.repeat(Y, times, axis=-3)", "np.concatenate([Y] * times, axis=-3)"),
    M("np.multihead.repeat_heads + sum_heads", "twin invariant", "shared keys: heads grouped in turn, and summed so",
      "np.repeat(Y, times, axis=-3)", "np.concatenate([Y] * times, axis=-3)",
      "H // times, times, m, k).sum(axis=-3", "times, H // times, m, k).sum(axis=-4"),
    M("np.multihead.multihead_backward", "slope twin invariant", "dM through the values forgotten",
      "return dX, dM_k + dM_v,", "return dX, dM_k,"),
    M("np.multihead.multihead_backward", "slope twin invariant", "dM through the keys forgotten",
      "return dX, dM_k + dM_v,", "return dX, dM_v,"),
    M("np.multihead.multihead_forward", "slope twin invariant", "K and V swapped",
      'W_k"], params.get("b_k', 'W_v"], params.get("b_v',
      'v = linear_forward(M, params["W_v"], params.get("b_v"))',
      'v = linear_forward(M, params["W_k"], params.get("b_k"))'),
    M("np.multihead.multihead_forward + multihead_backward", "twin invariant", "K and V swapped, and their gradients",
      "K, V = repeat_heads(K", "V, K = repeat_heads(K",
      "dK, dV = (sum_heads", "dV, dK = (sum_heads"),
    M("np.multihead.over_heads", "slope twin invariant", "mask without an axis for the heads",
      "return np.expand_dims(mask, -3) if", "return mask if"),
    M("np.multihead.multihead_forward", "twin invariant", "mask forgotten", "attention_forward(Q, K, V, mask)", "attention_forward(Q, K, V)"),
    M("np.multihead.multihead_forward", "twin invariant", "scaled by the width of all heads, not of one",
      "attention_forward(Q, K, V, mask)", "attention_forward(Q, K, V, mask, 1 / math.sqrt(heads * Q.shape[-1]))"),
    M("np.multihead.multihead_backward", "slope twin", "rope: the gradient of the keys not turned back",
      ", dK = rope_backward(dQ, turn[0]), rope_backward(dK, turn[1", " = rope_backward(dQ, turn[0"),
    M("np.multihead.multihead_forward + multihead_backward", "twin invariant", "rope: the keys not turned, nor their gradient",
      "        K, turn_k = rope_forward", "        _, turn_k = rope_forward",
      ", dK = rope_backward(dQ, turn[0]), rope_backward(dK, turn[1", " = rope_backward(dQ, turn[0"),
    M("np.multihead.multihead_forward", "twin", "rope: base not handed on",
      "Q, turn_q = rope_forward(Q, at, rope_theta=rope_theta,", "Q, turn_q = rope_forward(Q, at,",
      "K, turn_k = rope_forward(K, at, rope_theta=rope_theta,", "K, turn_k = rope_forward(K, at,"),
    M("np.multihead.multihead_forward", "twin", "rope: neighbour pairs taken for halves",
      'Q, at, rope_theta=rope_theta, interleaved=position == "rope")', 'Q, at, rope_theta=rope_theta, interleaved=position != "rope")',
      "=position == ", "=position != "),
    M("np.multihead.multihead_forward", "twin invariant", "alibi: the heads in reverse",
      "alibi_bias(heads, n, positions=positions)", "alibi_bias(heads, n, positions=positions)[..., ::-1, :, :]"),
    M("np.multihead.multihead_forward", "twin invariant", "alibi: distance rewarded",
      "(alibi_bias(heads", "(-alibi_bias(heads"),
    M("np.multihead.multihead_backward", "slope twin", "relative: the table gets no gradient",
      ": relative_bias_backward", ": 0 * relative_bias_backward"),
    M("np.multihead.biased_attention_backward", "slope twin", "bias: its gradient scaled as the scores are",
      "return dQ, dK, dV, dbias", "return dQ, dK, dV, scale * dbias"),
    M("np.multihead.biased_attention_backward", "slope twin", "bias: its gradient that of one sequence",
      "SoftmaxCache(A)), add)", "SoftmaxCache(A)), add)\n    dbias = dbias / max(1, dS[0].size // dbias.size)"),
    M("np.multihead.biased_attention_forward", "slope twin", "bias: added, then scaled",
      "add_forward(scale * (Q @ K.mT), bias)", "add_forward(scale * (Q @ K.mT), scale * bias)"),
    M("np.multihead.biased_attention_forward", "twin invariant", "bias: the mask forgotten",
      "A, _ = softmax_forward(S, mask)", "A, _ = softmax_forward(S)"),
    M("np.multihead.multihead_backward", "slope twin invariant", "W_o forgotten in the backward's biases",
      '"W_o": dW_o, "b_o": db_o}', '"W_o": dW_o, "b_o": None}'),
    M("np.multihead.multihead_forward + multihead_backward", "twin invariant", "queries without their bias",
      'params["W_q"], params.get("b_q"))', 'params["W_q"], 0 * params["b_q"] if "b_q" in params else None)',
      '"b_q": db_q', '"b_q": 0 * db_q if db_q is not None else None'),
    M("np.multihead.multihead_forward", "invariant", "written into the tokens it was given",
      "Q, q = linear_forward(X,", "X[..., 0] *= 1\n    Q, q = linear_forward(X,"),
    M("np.multihead.head_sum_backward", "slope twin", "head_sum: each head gets its share of dO",
      "np.broadcast_to(dO[..., None, :, :],", "np.broadcast_to(dO[..., None, :, :] / H,"),
    M("np.multihead.head_sum_backward", "slope twin", "head_sum: dX through the values forgotten",
      "dX_q + dX_k + (dXV @ V_h.mT).sum(axis=-3)", "dX_q + dX_k"),
    M("np.multihead.head_sum_forward + head_sum_backward", "twin invariant", "head_sum: mean over heads",
      "return Z.sum(axis=-3), HeadSumCache", "return Z.mean(axis=-3), HeadSumCache",
      "np.broadcast_to(dO[..., None, :, :],", "np.broadcast_to(dO[..., None, :, :] / H,"),
    M("np.multihead.init_multihead", "invariant", "init: deviation 1/d_in",
      "scale=1 / math.sqrt(d_in)", "scale=1 / d_in"),
    M("np.multihead.init_multihead", "invariant", "init: float64 whatever is asked",
      "size=(d_in, d_out)).astype(dtype)", "size=(d_in, d_out))"),
    M("pt.multihead.merge_heads", "twin invariant", "heads merged without the transpose",
      "Z.transpose(-3, -2).flatten(-2)", "Z.reshape(*Z.shape[:-3], Z.shape[-2], -1)"),
    M("pt.multihead.multihead", "twin invariant", "one product cut in the wrong order",
      "Q, K, V = linear(X, torch.cat(W, dim=1),", "Q, V, K = linear(X, torch.cat(W, dim=1),",
      "1], b[1]), linear(M, W[2], b[2", "2], b[2]), linear(M, W[1], b[1"),
    M("pt.multihead.multihead", "invariant", "one product: biases of Q, K and V lost",
      "torch.cat(W, dim=1), torch.cat(b))", "torch.cat(W, dim=1))"),
    M("pt.multihead.repeat_heads", "twin invariant", "shared keys: heads grouped in turn",
      "Y.repeat_interleave(times, dim=-3)", "torch.cat([Y] * times, dim=-3)"),
    M("pt.multihead.head_sum", "twin", "head_sum: mean over heads", "return Z.sum(dim=-3)", "return Z.mean(dim=-3)"),
    M("pt.multihead.Multihead.forward", "invariant", "module: is_causal not handed on",
      "positions, is_causal", "positions"),
    M("pt.multihead.Multihead.forward", "invariant", "module: position not handed on",
      "mask, self.position,", 'mask, "none",'),
    M("pt.multihead.multihead", "invariant", "is_causal forgotten beside a bias",
      'mask is not None or position in ("relative", "alibi")', "mask is not None"),
    M("pt.multihead.multihead", "invariant", "is_causal in the place of the mask",
      "causal if mask is None else mask & causal", "causal"),
    M("np.multihead.multihead_forward", "invariant", "is_causal in the place of the mask",
      "causal_mask(n) if mask is None else mask & causal_mask(n)", "causal_mask(n)"),
    M("np.multihead.multihead_forward", "invariant", "is_causal only without a mask",
      "    if is_causal:", "    if is_causal and mask is None:"),
    M("np.multihead.multihead_forward", "twin invariant", "positions: alibi counts from the first column",
      "alibi_bias(heads, n, positions=positions)", "alibi_bias(heads, n)"),
    M("np.multihead.multihead_forward", "twin invariant", "positions: the table is read by columns",
      'relative_bias_forward(params["table"], n, positions=positions)', 'relative_bias_forward(params["table"], n)'),
    M("np.multihead.multihead_forward", "twin invariant", "positions: keys stand at their columns, queries at their places",
      "K, turn_k = rope_forward(K, at,", "K, turn_k = rope_forward(K, None,"),
    M("pt.multihead.multihead", "twin invariant", "positions: rope turns by columns",
      "(rope(Y, at, ", "(rope(Y, None, "),
    M("pt.multihead.multihead", "twin invariant", "positions: alibi counts from the first column",
      "alibi_bias(heads, n, positions=positions, device", "alibi_bias(heads, n, device"),
    M("pt.multihead.Multihead.forward", "invariant", "module: only what is a parameter of its own",
      "held(self, HEADS)", "dict(self.named_parameters())"),
    M("pt.multihead.Multihead.forward", "invariant", "module: positions not handed on",
      "self.rope_theta, positions, is_causal", "self.rope_theta, None, is_causal"),
    M("np.multihead.multihead_backward", "invariant", "a gradient that repeats is let in",
      'dO: Float[Array, "*B n d_o"]', 'dO: Float[Array, "..."]'),
    M("np.multihead.biased_attention_backward", "invariant", "bias: a gradient that repeats is let in",
      'dO: Float[Array, "*B n d_v"]', 'dO: Float[Array, "..."]'),
    M("np.multihead.head_sum_backward", "invariant", "head_sum: a gradient that repeats is let in",
      'dO: Float[Array, "*B n d_o"]', 'dO: Float[Array, "..."]'),
    M("np.multihead.sum_heads", "invariant", "shared keys: times that do not divide",
      'multiple_of("sum_heads", times, **{"number of heads of dY": dY.shape[-3]})', "pass"),
    M("pt.multihead.biased_attention", "twin invariant", "bias: added, then scaled",
      "Q @ K.mT / math.sqrt(Q.shape[-1]) + bias", "(Q @ K.mT + bias) / math.sqrt(Q.shape[-1])"),
    M("pt.multihead.Multihead.__init__", "invariant", "module: weights of unit variance", " / math.sqrt(d_in)))", "))"),
    M("pt.multihead.Multihead.__init__", "invariant", "module: d that the heads cannot share is let in",
      'multiple_of("Multihead", heads, d=heads * d_k if d_k else d)', "pass"),
]
