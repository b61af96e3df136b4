# ruff: noqa: E501
"""Normalisation: slopes, twins, torch's own layers with the same weights, and what each norm may and may not see."""

import inspect
import itertools
from functools import partial
from itertools import cycle

import numpy as np
import torch
from byhand import tree
from byhand.config import ModelConfig
from byhand.np import norm as np_norm
from invariants import matches_numpy, near, normal, raises, same
from mutants import M
from proofs import as_shipped, habits, refusals
from twins import LEAD, Case, Spec

N, D = 3, 6
AFFINE = ("gamma", "beta")


def norm_cases(rng, *, affine=AFFINE, fixed=({},)):
    """Tokens with a mean and a scale of their own, γ and β random, ranks 2, 3, 4."""
    for (rank, lead), more in zip(LEAD.items(), cycle(fixed), strict=False):
        inputs = {"X": 2 * rng.normal(size=(*lead, N, D)) + 1} | {name: rng.normal(size=D) for name in affine}
        yield Case(f"rank {rank}, {list(more)}", inputs, more)


def running():
    return {"mean": normal(D), "var": 0.5 + np.abs(normal(D))}


BATCH = ({"running": running()}, {"running": running(), "training": False, "eps": 0.1})
TWINS = [
    Spec("norm", "standardize", partial(norm_cases, affine=(), fixed=({}, {"axes": (-2,), "eps": 0.1}))),
    Spec("norm", "layer_norm", partial(norm_cases, fixed=({"eps": 0.1},))),
    Spec("norm", "instance_norm", norm_cases),
    Spec("norm", "group_norm", partial(norm_cases, fixed=({"groups": 3}, {"groups": 2, "eps": 0.1}))),
    Spec("norm", "batch_norm", partial(norm_cases, fixed=BATCH)),
    Spec("norm", "rms_norm", partial(norm_cases, affine=("gamma",), fixed=({"eps": 0.1},))),
]


# Against layers of torch that nobody here wrote


def agrees(module, name, net, *arguments, batch_last=False, eps=1e-5):
    """Output and all gradients of one norm and of a layer of torch, with the same random γ and β."""
    net = net.double()
    affine = [normal(D) + i for i, _ in enumerate(net.parameters())]
    for p, x in zip(net.parameters(), affine, strict=True):
        p.data = torch.tensor(x)
    X, dY = 2 * normal(3, N, D) + 1, normal(3, D, N).swapaxes(1, 2)
    x = torch.tensor(X, requires_grad=True)
    y = net(x.mT).mT if batch_last else net(x)  # torch keeps features before tokens in all but LayerNorm and RMSNorm
    net.zero_grad()
    y.backward(torch.tensor(dY))
    Y, cache = getattr(module, f"{name}_forward")(X, *affine, *arguments, eps=eps)
    near(Y, y.detach(), name)
    grads = getattr(module, f"{name}_backward")(dY, cache)
    for what, mine, theirs in zip(("dX", "dγ", "dβ"), grads, (x, *net.parameters()), strict=False):
        near(mine, theirs.grad, f"{name}: {what}")
    return cache, net


def equals_the_layers_of_torch(module):
    agrees(module, "layer_norm", torch.nn.LayerNorm(D))
    agrees(module, "layer_norm", torch.nn.LayerNorm(D, eps=0.3), eps=0.3)
    agrees(module, "rms_norm", torch.nn.RMSNorm(D, eps=1e-6), eps=1e-6)
    agrees(module, "instance_norm", torch.nn.InstanceNorm1d(D, affine=True), batch_last=True)
    for groups in (1, 2, 3, 6):
        agrees(module, "group_norm", torch.nn.GroupNorm(groups, D), groups, batch_last=True)


def batch_norm_equals_torch_in_training_and_after(module):
    """The statistics that training leaves behind, then evaluation with them."""
    for momentum in (0.1, 0.4):
        net = torch.nn.BatchNorm1d(D, momentum=momentum)
        before = running()
        net.running_mean.data, net.running_var.data = torch.tensor(before["mean"]), torch.tensor(before["var"])
        cache, net = agrees(module, "batch_norm", net, before, True, momentum, batch_last=True)
        near(cache.running["mean"], net.running_mean, "running mean")
        near(cache.running["var"], net.running_var, "running variance")
        cache, net = agrees(module, "batch_norm", net.eval(), cache.running, False, batch_last=True)
        near(cache.running["var"], net.running_var, "running variance after evaluation")
        same(before["mean"], running()["mean"], "the caller's running mean")
        same(before["var"], running()["var"], "the caller's running variance")


# What the equations say


def jacobian_has_rank_d_minus_two(module):
    """Without ε, LayerNorm is blind to two directions of its input: all ones, and x̂."""
    x, gamma, beta = normal(8), normal(8) + 2, normal(8)
    x_hat, _ = module.standardize_forward(x, eps=0.0)
    cache = module.layer_norm_forward(x, gamma, beta, eps=0.0)[1]
    J = np.stack([module.layer_norm_backward(row, cache)[0] for row in np.eye(8)])  # row i is dy_i / dx
    near(J @ np.ones(8), np.zeros(8), "J 1 and 0")
    near(J @ x_hat, np.zeros(8), "J x̂ and 0")
    sizes = np.linalg.svd(J, compute_uv=False)
    assert sizes[5] > 1e-3 and sizes[6] < 1e-12, f"singular values {sizes}"


def scale_and_shift_are_forgotten(module):
    x, gamma, beta = normal(2, N, D), normal(D), normal(D)
    layer = partial(module.layer_norm_forward, gamma=gamma, beta=beta, eps=0.0)
    rms = partial(module.rms_norm_forward, gamma=gamma, eps=0.0)
    near(layer(3.7 * x - 2)[0], layer(x)[0], "LN(ax + b) and LN(x)")
    near(layer(-x)[0] - beta, beta - layer(x)[0], "LN(−x) and −LN(x)")
    near(rms(3.7 * x)[0], rms(x)[0], "RMS(ax) and RMS(x)")
    assert np.abs(rms(x + 2)[0] - rms(x)[0]).max() > 0.1, "RMSNorm takes no mean away"


def statistics_are_those_of_the_population(module):
    X = 2 * normal(2, N, D) + 1
    for axes in ((-1,), (-2,), (0, 1)):
        X_hat, var = module.standardize_forward(X, axes, 0.3)[0], X.var(axis=axes)
        near(X_hat.mean(axis=axes), 0 * var, "mean and 0")
        near(X_hat.var(axis=axes), var / (var + 0.3), "variance and σ² / (σ² + ε)")
    Y = module.rms_norm_forward(X, np.ones(D), 0.3)[0]
    power = (X * X).mean(axis=-1)
    near((Y * Y).mean(axis=-1), power / (power + 0.3), "mean square")


def only_batch_norm_sees_the_batch_mates(module):
    """One sequence edited: the others keep their output to the last bit, except under BatchNorm."""
    X = normal(3, N, D)
    edited = X.copy()
    edited[1] += 1 + normal(N, D)
    for name, arguments in (("layer_norm", AFFINE), ("rms_norm", AFFINE[:1]), ("instance_norm", AFFINE),
                            ("group_norm", (*AFFINE, 3)), ("batch_norm", (*AFFINE, running()))):
        arguments = [normal(D) if a in AFFINE else a for a in arguments]
        forward = getattr(module, f"{name}_forward")
        moved = np.abs(forward(X, *arguments)[0] - forward(edited, *arguments)[0]).max(axis=(1, 2))
        if name == "batch_norm":
            assert min(moved) > 0.1, f"{name}: the batch mates moved by {moved}"
        else:
            assert moved[0] == moved[2] == 0 < moved[1], f"{name}: the batch mates moved by {moved}"
    evaluated = [module.batch_norm_forward(x, normal(D), normal(D), running(), False)[0] for x in (X, edited)]
    same(evaluated[0][::2], evaluated[1][::2], "batch mates in evaluation")


def a_token_sees_no_other_token(module):
    """LayerNorm and RMSNorm keep a causal model causal: an edit of the last token moves no other one."""
    X = normal(2, N, D)
    edited = X.copy()
    edited[:, -1] += 1 + normal(2, D)
    for forward, affine in ((module.layer_norm_forward, 2), (module.rms_norm_forward, 1)):
        a, b = (forward(x, *[normal(D)] * affine)[0] for x in (X, edited))
        same(a[:, :-1], b[:, :-1], "earlier tokens")
        assert (a[:, -1] != b[:, -1]).all()


def the_norms_are_one_family(module):
    """One feature to a group is InstanceNorm; one group on a single token is LayerNorm."""
    X, gamma, beta = normal(3, N, D), normal(D), normal(D)
    near(module.group_norm_forward(X, gamma, beta, D)[0], module.instance_norm_forward(X, gamma, beta)[0], "d groups")
    one = X[:, :1]
    near(module.group_norm_forward(one, gamma, beta, 1)[0], module.layer_norm_forward(one, gamma, beta)[0], "1 group")
    centred = X - X.mean(axis=-1, keepdims=True)
    near(module.rms_norm_forward(centred, gamma, 1e-5)[0] + beta, module.layer_norm_forward(X, gamma, beta)[0], "RMS")


def a_constant_token_is_silent(module):
    """ε keeps the division finite where all features are equal, and the running variance exact."""
    X = np.full((3, 2, D), 7.0, np.float32)
    beta = np.arange(D, dtype=np.float32)
    same(module.layer_norm_forward(X, beta, beta)[0], np.broadcast_to(beta, X.shape), "LN and β")
    same(module.rms_norm_forward(0 * X, beta)[0], 0 * X, "RMSNorm of zeros")
    X = 1e-4 * normal(30, 2, D).astype(np.float32)  # ε is a thousand times its variance
    cache = module.batch_norm_forward(X, beta, beta, {"mean": 0 * beta, "var": 0 * beta}, momentum=1.0)[1]
    near(cache.running["var"] / X.astype(float).var(axis=(0, 1), ddof=1), np.ones(D), "running variance", 1e-5)


def a_fresh_norm_only_standardizes(module):
    same(module.init_norm(3)["gamma"], np.ones(3, np.float32), "gamma")
    same(module.init_norm(3)["beta"], np.zeros(3, np.float32), "beta")
    assert list(module.init_norm(3)) == ["gamma", "beta"] and list(module.init_norm(3, bias=False)) == ["gamma"]
    assert {x.dtype for x in module.init_norm(3, dtype=np.float64).values()} == {np.dtype(np.float64)}
    assert {x.dtype for x in module.init_norm(3).values()} == {np.dtype(np.float32)}


def one_eps_for_every_norm(module):
    """ε is that of a model's configuration unless it is given, whichever norm it is."""
    for name, function in vars(module).items():
        if name.endswith("_forward"):
            assert inspect.signature(function).parameters["eps"].default == ModelConfig.eps, name


X_, G_, B_ = normal(2, N, D), normal(D), normal(D)
NAN = np.full((2, D), np.nan)
FIVE = {"mean": normal(5), "var": normal(5)}
refused = refusals(
    ("standardize_forward", TypeError, "standardize: X is list, expected a NumPy array", [1.0]),
    ("standardize_forward", ValueError, "standardize: eps is -1.0, expected at least 0", X_, (-1,), -1.0),
    ("layer_norm_forward", ValueError, r"layer_norm: gamma has shape \(5,\), expected \(6,\)", X_, normal(5), B_),
    ("layer_norm_forward", ValueError, r"layer_norm: beta has shape \(1,\), expected \(6,\)", X_, G_, normal(1)),
    ("layer_norm_forward", TypeError, "layer_norm: gamma has dtype float32", X_, G_.astype(np.float32), B_),
    ("layer_norm_forward", ValueError, r"layer_norm: X holds nan at index \(0, 0\)", NAN, G_, B_),
    ("instance_norm_forward", ValueError, r"instance_norm: X has shape|instance_norm: X has 1 ax", G_, G_, B_),
    ("group_norm_forward", ValueError, "group_norm: width of X is 6, expected a multiple of 4", X_, G_, B_, 4),
    ("batch_norm_forward", ValueError, "batch_norm: running has mean, expected mean, var", X_, G_, B_, {"mean": G_}),
    ("batch_norm_forward", ValueError, r"batch_norm: running\['var'\] holds -1, expected numbers that are at least 0", X_, G_, B_, {"mean": G_, "var": -np.ones_like(G_)}),
    ("batch_norm_forward", ValueError, r"batch_norm: running\['mean'\] has shape \(5,\)", X_, G_, B_, FIVE),
    ("batch_norm_forward", ValueError, "batch_norm: number of tokens of X is 1, expected at least 2", X_[:1, :1], G_, B_, running()),
    ("batch_norm_forward", ValueError, "batch_norm: eps is -1.0", X_, G_, B_, running(), False, 0.1, -1.0),
    ("rms_norm_forward", ValueError, r"rms_norm: gamma has shape \(5,\), expected \(6,\)", X_, normal(5)),
    ("rms_norm_forward", ValueError, "rms_norm: eps is -1.0, expected at least 0", X_, G_, -1.0),
    ("init_norm", ValueError, "init_norm: d is 0, expected at least 1", 0),
)


def wrong_gradient_is_refused_by_name(module):
    for name, arguments in (("standardize", ()), ("layer_norm", (G_, B_)), ("instance_norm", (G_, B_)), ("group_norm", (G_, B_, 2)),
                            ("batch_norm", (G_, B_, running())), ("batch_norm", (G_, B_, running(), False)), ("rms_norm", (G_,))):
        cache, dY = getattr(module, f"{name}_forward")(X_, *arguments)[1], "dX_hat" if name == "standardize" else "dY"
        for wrong in (X_[:, :1], X_[:1], X_[..., :1], np.stack([X_, X_])):  # all but the last would be repeated
            said = rf"{name}_backward: {dY} has shape \({', '.join(map(str, wrong.shape))}\), expected"
            refusals((f"{name}_backward", ValueError, said, wrong, cache))(module)


def finite_tokens_are_never_silenced(module):
    """Whatever the size of a token, its norm is right, or refused; squares reach the ends of a dtype long before it does."""
    with as_shipped():
        for dtype, sizes in ((np.float32, (1e-30, 1e-18, 1.0, 1e18, 1e20, 1e38)), (np.float64, (1e-300, 1e-150, 1.0, 1e150, 1e300))):
            token = np.array([[1.0, -1.0, 2.0, 0.5], [0.25, 1.0, -2.0, 0.0]])
            for size, eps in itertools.product(sizes, (0.0, 1e-5)):
                X = (size * token).astype(dtype)
                gamma, beta = np.ones(4, dtype), np.zeros(4, dtype)
                scaled = eps / np.longdouble(size) ** 2  # LN(a x; ε) = LN(x; ε / a²)
                for name, affine, spread in (("layer_norm", (gamma, beta), token.var(axis=-1)),
                                             ("rms_norm", (gamma,), (token * token).mean(axis=-1))):
                    centre = token.mean(axis=-1, keepdims=True) if name == "layer_norm" else 0
                    forward = getattr(module, f"{name}_forward")
                    if size > np.sqrt(np.finfo(dtype).max) / 4:
                        raises(ValueError, "holds .* and float.* cannot add up its squares, expected at most", lambda f=forward, a=affine, e=eps, x=X: f(x, *a, e))
                    elif not eps and size < np.sqrt(np.finfo(dtype).tiny):
                        raises(ValueError, "eps is 0 where X has .* 0 in float", lambda f=forward, a=affine, x=X: f(x, *a, 0.0))
                    else:
                        expected = ((token - centre) / np.sqrt(spread[:, None] + scaled)).astype(float)
                        near(forward(X, *affine, eps)[0] / np.abs(expected).max(), expected / np.abs(expected).max(), f"{name} of {size}", 1e-5)
        raises(ValueError, "eps is 0 where X has variance 0", lambda: module.layer_norm_forward(np.ones((2, 4)), np.ones(4), np.ones(4), 0.0))
        raises(ValueError, "eps is 0 where X has mean square 0", lambda: module.rms_norm_forward(np.zeros((2, 4)), np.ones(4), 0.0))
        near(module.rms_norm_forward(np.full((2, 4), 3.0), np.ones(4), 0.0)[0], np.ones((2, 4)), "RMSNorm of a constant token")


# The PyTorch half


def modules_are_functions(module):
    """LayerNorm and RMSNorm hold the tree of init_norm, and compute what the NumPy half computes."""
    for net, bias in ((module.LayerNorm(D, eps=0.3), True), (module.RMSNorm(D, eps=0.3), False)):
        held, made = tree.from_torch(net), np_norm.init_norm(D, bias)
        assert list(held) == list(made)
        for name in made:
            same(held[name], made[name], name)
            net.get_parameter(name).data = torch.tensor(normal(D))

        def forward(X, p, bias=bias):
            if bias:
                return np_norm.layer_norm_forward(X, p["gamma"], p["beta"], 0.3)
            return np_norm.rms_norm_forward(X, p["gamma"], 0.3)

        def backward(dY, cache, bias=bias):
            dX, *rest = (np_norm.layer_norm_backward if bias else np_norm.rms_norm_backward)(dY, cache)
            return dX, dict(zip(("gamma", "beta"), rest, strict=False))

        matches_numpy(net, forward, backward, normal(2, N, D))


def defaults_are_those_of_the_other_half(module):
    """ε weighs as much as the variance here, so that two different defaults cannot hide."""
    X, g, b = 3e-3 * normal(2, N, D), normal(D), normal(D)
    stats = {"mean": 0 * g, "var": 1e-5 + 0 * g}
    for name, arguments in (("standardize", ()), ("layer_norm", (g, b)), ("instance_norm", (g, b)), ("rms_norm", (g,)),
                            ("group_norm", (g, b, 2)), ("batch_norm", (g, b, stats)),
                            ("batch_norm", (g, b, stats, False))):
        expected = getattr(np_norm, f"{name}_forward")(X, *arguments)[0]
        tensors = [torch.tensor(a) if isinstance(a, np.ndarray) else a for a in arguments]
        tensors = [tree.to_torch(a) if isinstance(a, dict) else a for a in tensors]
        near(getattr(module, name)(torch.tensor(X), *tensors), expected, name)
    near(module.LayerNorm(D).double()(torch.tensor(X)).detach(), np_norm.standardize_forward(X)[0], "LayerNorm")
    near(module.RMSNorm(D).double()(torch.tensor(X)).detach(), np_norm.rms_norm_forward(X, 1 + 0 * g)[0], "RMSNorm")


def half_precision_keeps_its_tokens(module):
    """Squares of 600 are beyond float16: every norm adds up in a wider dtype, and gives back the one that came."""
    X = torch.linspace(-600, 600, 2 * N * D).reshape(2, N, D)
    one, zero = torch.ones(D), torch.zeros(D)
    for dtype in (torch.float16, torch.bfloat16):
        x, g, b = X.to(dtype), one.to(dtype), zero.to(dtype)
        for name, arguments in (("standardize", ()), ("layer_norm", (g, b)), ("instance_norm", (g, b)), ("rms_norm", (g,)),
                                ("group_norm", (g, b, 2)), ("batch_norm", (g, b, {"mean": b, "var": g}))):
            found, wide = (getattr(module, name)(t, *a) for t, a in (
                (x, arguments), (x.float(), tree_to(arguments, torch.float32))))
            assert found.dtype == dtype, f"{name}: {found.dtype}"
            near(found.float(), wide, f"{name} in {dtype}", 2e-2)


def tree_to(arguments, dtype):
    return [{k: v.to(dtype) for k, v in a.items()} if isinstance(a, dict) else a.to(dtype) if torch.is_tensor(a) else a
            for a in arguments]


def running_statistics_are_only_read(module):
    stats = tree.to_torch(running())
    module.batch_norm(*map(torch.tensor, (X_, G_, B_)), stats)
    same(stats["mean"], running()["mean"], "running mean")
    same(stats["var"], running()["var"], "running variance")


T_, TG_ = torch.tensor(X_), torch.tensor(G_)
refused_by_torch = refusals(
    ("standardize", TypeError, "standardize: X is numpy.ndarray, expected a torch tensor", X_),
    ("layer_norm", TypeError, "layer_norm: gamma has dtype torch.float32", T_, TG_.float(), TG_),
    ("layer_norm", ValueError, r"layer_norm: gamma has shape \(5,\), expected \(6,\)", T_, TG_[:5], TG_),
    ("instance_norm", ValueError, r"instance_norm: beta has shape \(1,\), expected \(6,\)", T_, TG_, TG_[:1]),
    ("group_norm", ValueError, "group_norm: width of X is 6, expected a multiple of 4", T_, TG_, TG_, 4),
    ("batch_norm", ValueError, "batch_norm: running has mean, expected mean, var", T_, TG_, TG_, {"mean": TG_}),
    ("batch_norm", ValueError, r"batch_norm: gamma has shape \(5,\), expected \(6,\)", T_, TG_[:5], TG_,
     {"mean": TG_[:5], "var": TG_[:5]}),
    ("batch_norm", ValueError, "batch_norm: number of tokens of X is 1, expected at least 2", T_[:1, :1], TG_, TG_,
     {"mean": TG_, "var": TG_}),
    ("rms_norm", ValueError, r"rms_norm: gamma has shape \(5,\), expected \(6,\)", T_, TG_[:5]),
    ("LayerNorm", ValueError, "LayerNorm: d is 0, expected at least 1", 0),
    ("RMSNorm", TypeError, "RMSNorm: d is float, expected a whole number", 6.0),
)

INVARIANTS = {
    "np.norm": [*habits(TWINS), equals_the_layers_of_torch, batch_norm_equals_torch_in_training_and_after,
                jacobian_has_rank_d_minus_two, scale_and_shift_are_forgotten, statistics_are_those_of_the_population,
                only_batch_norm_sees_the_batch_mates, a_token_sees_no_other_token, the_norms_are_one_family,
                a_constant_token_is_silent, a_fresh_norm_only_standardizes, refused, wrong_gradient_is_refused_by_name,
                finite_tokens_are_never_silenced, one_eps_for_every_norm],
    "pt.norm": [modules_are_functions, defaults_are_those_of_the_other_half, running_statistics_are_only_read,
                half_precision_keeps_its_tokens, refused_by_torch],
}
WRONG = [
    M("np.norm.layer_norm_backward", "slope twin invariant", "γ outside the means",
      "(g - g.mean(axis=-1, keepdims=True) - X_hat * (g * X_hat)", "gamma * (dY - dY.mean(axis=-1, keepdims=True) - X_hat * (dY * X_hat)"),
    M("np.norm.layer_norm_backward", "slope twin invariant", "LayerNorm: μ and σ taken for constants",
      "(g - g.mean(axis=-1, keepdims=True) - X_hat * (g * X_hat).mean(axis=-1, keepdims=True))", "g"),
    M("np.norm.layer_norm_backward", "slope twin invariant", "LayerNorm: μ taken for a constant",
      "g.mean(axis=-1, keepdims=True) - ", ""),
    M("np.norm.layer_norm_backward", "slope twin invariant", "LayerNorm: σ taken for a constant",
      ") - X_hat * (g * X_hat).mean(axis=-1, keepdims=True)", ")"),
    M("np.norm.group_norm_backward", "slope twin invariant", "GroupNorm: γ outside the means",
      "standardize_backward(g.", "gamma * standardize_backward(dY."),
    M("np.norm.standardize_backward", "slope twin invariant", "μ and σ taken for constants",
      "(g - g.mean(axis=axes, keepdims=True) - X_hat * (g * X_hat).mean(axis=axes, keepdims=True))", "g"),
    M("np.norm.standardize_backward", "slope twin invariant", "μ taken for a constant",
      "g.mean(axis=axes, keepdims=True) - ", ""),
    M("np.norm.standardize_backward", "slope twin invariant", "σ taken for a constant",
      ") - X_hat * (g * X_hat).mean(axis=axes, keepdims=True)", ")"),
    M("np.norm.standardize_backward", "slope twin invariant", "1/d forgotten in both means of the backward",
      "mean(axis=axes, keepdims=True) - X_hat * (g * X_hat).mean",
      "sum(axis=axes, keepdims=True) - X_hat * (g * X_hat).sum"),
    M("np.norm.standardize_forward", "slope twin invariant", "mean with 1/d of a width that is twice as large",
      "X.mean(axis=axes, keepdims=True)", "0.5 * X.mean(axis=axes, keepdims=True)"),
    M("np.norm.standardize_forward", "slope twin invariant", "variance without 1/d",
      "(centred * centred).mean(", "(centred * centred).sum("),
    M("np.norm.standardize_forward + standardize_backward", "twin invariant", "1/d forgotten in both: variance and backward, x̂ too small",
      "(centred * centred).mean(", "(centred * centred).sum(",
      ").mean(axis=", ").sum(axis="),
    M("np.norm.standardize_forward", "slope twin invariant", "ddof = 1",
      "(centred * centred).mean(axis=axes, keepdims=True", "X.var(axis=axes, keepdims=True, ddof=1"),
    M("np.norm.standardize_forward", "slope twin invariant", "ε outside the root", "True) + eps)", "True)) + eps"),
    M("np.norm.standardize_forward", "invariant", "ε as a NumPy scalar pulls float32 up",
      "True) + eps)", "True) + np.float64(eps))"),
    M("np.norm.standardize_forward", "slope invariant", "the mean taken away in the caller's array",
      "centred = X - X.mean(axis=axes, keepdims=True)", "X -= X.mean(axis=axes, keepdims=True)\n    centred = X"),
    M("np.norm.layer_norm_forward", "twin invariant", "LayerNorm over tokens",
      "(X, (-1,), eps", "(X, (-2 if X.ndim > 1 else -1,), eps"),
    M("np.norm.instance_norm_forward", "twin invariant", "InstanceNorm over features",
      "standardize_forward(X, (-2,), eps)", "standardize_forward(X, (-1,), eps)"),
    M("np.norm.instance_norm_forward", "twin invariant", "InstanceNorm over the batch",
      "standardize_forward(X, (-2,), eps)", "standardize_forward(X, tuple(range(X.ndim - 1)), eps)"),
    M("np.norm.group_norm_forward", "twin invariant", "GroupNorm: neighbours dealt out to different groups",
      "groups, X.shape[-1] // groups), (-3, -1", "-1, groups), (-3, -2"),
    M("np.norm.group_norm_forward", "twin invariant", "GroupNorm: each token by itself",
      "(-3, -1), eps", "(-1,), eps"),
    M("np.norm.standardize_forward", "twin invariant", "no ε: a constant token divides by zero",
      ".mean(axis=axes, keepdims=True) + eps)", ".mean(axis=axes, keepdims=True))"),
    M("np.norm.batch_norm_forward", "twin invariant", "BatchNorm: over the features too",
      "axes = tuple(range(X.ndim - 1))", "axes = tuple(range(X.ndim))"),
    M("np.norm.batch_norm_forward", "twin invariant", "BatchNorm: each sequence by itself",
      "axes = tuple(range(X.ndim - 1))", "axes = (-2,)"),
    M("np.norm.batch_norm_forward", "invariant", "BatchNorm: running variance biased",
      "X.var(axis=axes, ddof=1)", "X.var(axis=axes)"),
    M("np.norm.batch_norm_forward", "invariant", "BatchNorm: momentum on the old statistics",
      "(1 - momentum) * running[name] + momentum", "momentum * running[name] + (1 - momentum)"),
    M("np.norm.batch_norm_forward", "slope invariant", "BatchNorm: the caller's statistics overwritten",
      "    after = {", "    running['mean'] *= 1 - momentum\n    after = {"),
    M("np.norm.batch_norm_backward", "slope twin invariant", "BatchNorm: evaluation differentiated like training",
      "standardize_backward(g, standard) if standard.axes else g / standard.s",
      "standardize_backward(g, standard._replace(axes=tuple(range(g.ndim - 1))))"),
    M("np.norm.batch_norm_forward", "twin invariant", "BatchNorm: evaluation uses the batch",
      "    if not training:", "    if False:"),
    M("np.norm.rms_norm_forward", "slope twin invariant", "RMSNorm takes the mean away",
      "r = np.sqrt((X * X)", "X = X - X.mean(axis=-1, keepdims=True)\n    r = np.sqrt((X * X)"),
    M("np.norm.rms_norm_backward", "slope twin invariant", "RMSNorm: r taken for a constant",
      "(g - X_hat * (g * X_hat).mean(axis=-1, keepdims=True))", "g"),
    M("np.norm.rms_norm_backward", "slope twin invariant", "RMSNorm: γ outside the mean",
      "(g - X_hat * (g", "gamma * (dY - X_hat * (dY"),
    M("np.norm.rms_norm_forward + rms_norm_backward", "twin invariant", "RMSNorm over tokens",
      "r = np.sqrt((X * X).mean(axis=-1", "r = np.sqrt((X * X).mean(axis=-2",
      "=-1, keepdims", "=-2, keepdims"),
    M("np.norm._sum_tokens", "slope twin invariant", "dγ, dβ averaged over tokens",
      "dY.shape[-1]).sum(axis=0)", "dY.shape[-1]).mean(axis=0)"),
    M("np.norm._sum_tokens", "invariant", "rows read in memory order",
      "reshape(math.prod(dY.shape[:-1])", "ravel(order='K').reshape(-1"),
    M("np.norm.batch_norm_forward", "invariant", "running variance out of s², which ε has rounded",
      "X.var(axis=axes, ddof=1)", "(standard.s.reshape(-1) ** 2 - eps) / (1 - X.shape[-1] / X.size)"),
    M("np.norm.init_norm", "invariant", "a fresh γ of zeros", "np.ones(d, dtype)", "np.zeros(d, dtype)"),
    M("np.norm.layer_norm_forward", "invariant", "any γ that repeats is let in",
      'gamma: Float[Array, " d"]', 'gamma: Float[Array, "..."]'),
    *[M(f"np.norm.{name}_backward", "invariant", f"{name}: a gradient that repeats is let in",
        f'dY: Float[Array, "{axes}"]', 'dY: Float[Array, "..."]')
      for name, axes in (("layer_norm", "*B d"), ("group_norm", "*B n d"), ("instance_norm", "*B n d"), ("batch_norm", "*B d"),
                         ("rms_norm", "*B d"))],
    M("np.norm.standardize_backward", "invariant", "standardize: a gradient that repeats is let in",
      'dX_hat: Float[Array, "*S"]', 'dX_hat: Float[Array, "..."]'),
    M("np.norm.standardize_forward", "invariant", "squares that overflow: a token of zeros",
      'squares_add_up("standardize", X, axes, eps)', "pass"),
    M("np.norm.rms_norm_forward", "invariant", "RMSNorm: squares that overflow",
      'squares_add_up("rms_norm", X, (-1,), eps, centred=False)', "pass"),
    M("np.norm.rms_norm_forward", "invariant", "RMSNorm: the variance of a token asked for, not its size",
      "eps, centred=False)", "eps)"),
    M("np.norm.rms_norm_forward", "invariant", "RMSNorm: another ε by default", "NonNegative = 1e-5", "NonNegative = 1e-6"),
    M("pt.norm.standardize", "twin invariant", "standardize: ddof = 1", "correction=0", "correction=1"),
    M("pt.norm.instance_norm", "twin invariant", "InstanceNorm over features",
      "standardize(X, (-2,), eps)", "standardize(X, (-1,), eps)"),
    M("pt.norm.group_norm", "twin invariant", "GroupNorm: each token by itself", "(-3, -1), eps", "(-1,), eps"),
    M("pt.norm.batch_norm", "twin invariant", "BatchNorm: evaluation uses the batch",
      "training, momentum, eps).reshape", "True, momentum, eps).reshape"),
    M("pt.norm.batch_norm", "invariant", "BatchNorm: the caller's statistics overwritten",
      '.clone(), running["var"].clone()', ', running["var"]'),
    M("pt.norm.LayerNorm.__init__", "invariant", "LayerNorm: another ε by default", "NonNegative = 1e-5)", "NonNegative = 1e-6)"),
    M("pt.norm.LayerNorm.forward", "invariant", "LayerNorm: ε of the module not handed on", "beta, self.eps", "beta"),
    M("pt.norm.rms_norm", "invariant", "RMSNorm: torch's own ε", "NonNegative = 1e-5)", "NonNegative = 2e-16)"),
    M("pt.norm.group_norm", "invariant", "any groups are let in",
      'multiple_of("group_norm", groups, **{"width of X": X.shape[-1]})', "pass"),
    M("pt.norm.standardize", "invariant", "half precision: squares end at 65,504",
      "X.to(torch.promote_types(X.dtype, torch.float32))", "X"),
]
