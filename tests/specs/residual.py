# ruff: noqa: E501
"""The residual stream: each order of norm and sum, with any sublayer inside, DeepNorm's numbers, and weights of a stated size."""

import itertools

import numpy as np
import torch
from byhand import tree
from byhand.np import residual as np_residual
from byhand.pt import residual as pt_residual
from byhand.pt.gradcheck import parity
from invariants import arrays, near, normal, rng, same
from mutants import M
from proofs import habits, refusals
from twins import FORWARD, GRADIENT, LEAD, SLOPE, Case, Spec, directions

N, D, WIDTH = 3, 5, 4
ORDERS = [(norm_first, residual) for residual in (True, False) for norm_first in (True, False)]


def norm_params(rng, rms=False, d=D):
    return {name: rng.normal(size=d) + 1 for name in ("gamma", "beta")[:2 - rms]}


def norm_cases(rng):
    for lead in LEAD.values():
        for rms in (False, True):
            yield Case(f"{lead}, rms {rms}", {"X": rng.normal(size=(*lead, N, D)), "params": norm_params(rng, rms)}, {"eps": 0.1})


TWINS = [Spec("residual", "norm", norm_cases)]


# A sublayer to put inside: tanh(X W_1) W_2, written for both halves


def sublayer(weights):
    def forward(X):
        H = np.tanh(X @ weights["W_1"])
        return H @ weights["W_2"], (X, H, weights)

    return forward


def sublayer_backward(dF, cache):
    X, H, weights = cache
    dU = (dF @ weights["W_2"].T) * (1 - H * H)
    sum_over_tokens = [(a.mT @ b).reshape(-1, a.shape[-1], b.shape[-1]).sum(axis=0) for a, b in ((X, dU), (H, dF))]
    return dU @ weights["W_1"].T, dict(zip(("W_1", "W_2"), sum_over_tokens, strict=True))


def inputs(*lead, rms=False):
    weights = {"W_1": normal(D, WIDTH), "W_2": normal(WIDTH, D)}
    return {"X": normal(*lead, N, D), "norm": norm_params(rng(), rms), "weights": weights}


def runs(module):
    """(forward, backward, torch's function, inputs) for norm first or last, with a residual and without; every rank, both norms."""
    def backward(dY, cache):
        return module.residual_backward(dY, cache, sublayer_backward)

    for i, ((norm_first, residual), rms) in enumerate(itertools.product(ORDERS, (False, True))):
        options, lead = {"norm_first": norm_first, "residual": residual, "alpha": 1.3, "eps": 0.1}, list(LEAD.values())[i % len(LEAD)]

        def forward(X, norm, weights, options=options):
            return module.residual_forward(X, norm, sublayer(weights), **options)

        def twin(X, norm, weights, options=options):
            return pt_residual.residual(X, norm, lambda Y: torch.tanh(Y @ weights["W_1"]) @ weights["W_2"], **options)

        yield forward, backward, twin, inputs(*lead, rms=rms)


def every_order_has_the_right_slope(module):
    for forward, backward, _, given in runs(module):
        errors = directions(forward, backward, given, rng())
        assert max(errors.values()) < SLOPE, errors


def every_order_has_a_twin(module):
    for forward, backward, twin, given in runs(module):
        errors = parity(forward, backward, twin, given, rng())
        assert errors.pop("forward") < FORWARD and max(errors.values()) < GRADIENT, errors


def float32_stays_and_inputs_too(module):
    for forward, backward, _, given in runs(module):
        given = tree.map_tree(lambda x: x.astype(np.float32), given)
        for x in arrays(given):
            x.flags.writeable = False
        Y, cache = forward(*given.values())
        dY = normal(*Y.shape).astype(np.float32)
        dY.flags.writeable = False
        for x in (Y, *arrays(backward(dY, cache))):
            assert x.dtype == np.float32, f"{x.dtype}, expected float32"
    Y, _ = module.residual_forward(given["X"], given["norm"], sublayer(given["weights"]), True, True, np.float64(1.3), np.float64(0.1))
    assert Y.dtype == np.float32, "a NumPy scalar for α pulled float32 up"


def the_orders_are_what_they_say(module):
    """Written out, with α as it is by default and otherwise."""
    X, norm, weights = inputs(2).values()
    f = sublayer(weights)

    def normed(Y):
        return module.norm_forward(Y, norm)[0]

    for alpha in (1.0, 1.3):
        for order, expected in zip(ORDERS, (alpha * X + f(normed(X))[0], normed(alpha * X + f(X)[0]), f(normed(X))[0],
                                            normed(f(X)[0])), strict=True):
            near(module.residual_forward(X, norm, f, *order, alpha)[0], expected, f"{order}, α = {alpha}")
    same(module.residual_forward(X, norm, f)[0], module.residual_forward(X, norm, f, True, True, 1.0)[0], "the defaults")


def an_empty_sublayer_shows_the_stream(module):
    """F = 0: pre-norm is αX, its gradient α dY to the last bit; with no stream nothing passes at all."""
    X, norm, weights = inputs(2).values()
    silent, dY = sublayer(weights | {"W_2": 0 * weights["W_2"]}), normal(2, N, D) + 1
    for alpha in (1.0, 1.5):
        Y, cache = module.residual_forward(X, norm, silent, True, True, alpha)
        same(Y, alpha * X, "Y and αX")
        same(module.residual_backward(dY, cache, sublayer_backward)[0], alpha * dY, "dX and α dY")
    Y, cache = module.residual_forward(X, norm, silent, residual=False)
    assert not Y.any() and not module.residual_backward(dY, cache, sublayer_backward)[0].any()


def deepnorm_numbers(module):
    """Worked out by hand for depths whose roots are whole: 8 layers, 16 to the quarter; 2 and 32 for both stacks."""
    for name, found in (("encoder", module.deepnorm(8)), ("decoder", module.deepnorm(0, 8))):
        assert list(found) == [name]
        near(found[name], (2.0, 64 ** -0.25), name)
    both = module.deepnorm(8, 16)  # N⁴M = 2¹⁶, so its sixteenth root is 2
    near(both["encoder"], (0.81 * 2, 0.87 / 2), "encoder of both")
    near(both["decoder"], (48 ** 0.25, 192 ** -0.25), "decoder of both")


STDS = {"lecun": 1 / np.sqrt(300), "xavier": np.sqrt(2 / 500), "he": np.sqrt(2 / 300), "gpt2": 0.02, "residual": 0.02 / np.sqrt(12)}


def weights_have_the_stated_deviation(module):
    half = module.__name__.split(".")[1]
    for scheme, std in STDS.items():
        if half == "np":
            W = module.init_weights(rng(), 300, 200, scheme, layers=6)
            assert W.dtype == np.float32 and module.init_weights(rng(), 2, 3, dtype=np.float64).dtype == np.float64
            same(W, module.init_weights(rng(), 300, 200, scheme, 6), "two draws from one seed")
        else:
            W = module.init_weights(300, 200, scheme, layers=6, rng=torch.Generator().manual_seed(1)).numpy()
            again = module.init_weights(300, 200, scheme, layers=6, rng=torch.Generator().manual_seed(1))
            same(W, again, "two draws from one seed")
        assert W.shape == (300, 200)
        near(W.std() / std, 1, f"deviation of {scheme}", 0.02)
        near(W.mean() / std, 0, f"mean of {scheme}", 0.02)
        near((W ** 4).mean() / std ** 4, 3, f"fourth moment of {scheme}, that of a normal", 0.15)


X_, P_ = normal(2, N, D), norm_params(rng())
F_ = sublayer({"W_1": normal(D, WIDTH), "W_2": normal(WIDTH, D)})
DEPTHS = (
    ("deepnorm", ValueError, "deepnorm: layers is 0, expected at least 1", 0, 0),
    ("deepnorm", ValueError, "deepnorm: encoder_layers is -1, expected at least 0", -1),
    ("deepnorm", TypeError, "deepnorm: decoder_layers is float, expected a whole number", 2, 2.0),
)
refused = refusals(
    *[("residual_forward", TypeError, f"residual: {name} is str, expected bool", X_, P_, F_, *flags)
      for name, flags in (("norm_first", ("pre",)), ("residual", (False, "none")))],
    ("residual_forward", ValueError, "residual: alpha is nan, expected a finite number", X_, P_, F_, True, True, float("nan")),
    ("residual_forward", TypeError, "residual: X is list, expected a NumPy array", [1.0], P_, F_),
    ("norm_forward", ValueError, r"norm: params\['gamma'\] has shape \(4,\), expected \(5,\)", X_, norm_params(rng(), d=4)),
    *DEPTHS,
    ("init_weights", ValueError, "init_weights: scheme is 'glorot', expected one of lecun, xavier, he", rng(), 2, 3, "glorot"),
    ("init_weights", ValueError, "init_weights: layers is 0, expected at least 1", rng(), 2, 3, "residual", 0),
)
T_, PT_ = torch.tensor(X_), tree.to_torch(P_)
refused_by_torch = refusals(
    *[("residual", TypeError, f"residual: {name} is str, expected bool", T_, PT_, abs, *flags)
      for name, flags in (("norm_first", ("pre",)), ("residual", (False, "none")))],
    ("residual", ValueError, "residual: alpha is nan, expected a finite number", T_, PT_, abs, True, True, float("nan")),
    ("residual", TypeError, "residual: X is numpy.ndarray, expected a torch tensor", X_, PT_, abs),
    ("norm", ValueError, r"norm: params\['gamma'\] has shape \(4,\), expected \(5,\)", T_, tree.to_torch(norm_params(rng(), d=4))),
    *DEPTHS,
    ("init_weights", ValueError, "init_weights: scheme is 'glorot', expected one of lecun, xavier, he", 2, 3, "glorot"),
    ("init_weights", ValueError, "init_weights: d_in is 0, expected at least 1", 0, 3),
)


def wrong_gradients_and_sublayers_are_refused(module):
    """Whatever NumPy would repeat in silence, in each order and with either norm."""
    for order, rms in itertools.product(ORDERS, (False, True)):
        X, norm, weights = inputs(2, rms=rms).values()
        Y, cache = module.residual_forward(X, norm, sublayer(weights), *order)
        for wrong in (Y[:1], Y[:, :1], Y[..., :1], np.stack([Y, Y]), Y[0]):
            refusals(("residual_backward", ValueError, "^residual_backward: dY has", wrong, cache, sublayer_backward))(module)
            said = r"residual: output of sublayer has shape .*, expected \(2, 3, 5\)"
            refusals(("residual_forward", ValueError, said, X, norm, lambda _, wrong=wrong: (wrong, None), *order))(module)
        _, cache = module.norm_forward(X, norm)
        for wrong in (Y[:1], Y[:, :1], Y[..., :1], np.stack([Y, Y])):
            refusals(("norm_backward", ValueError, "^norm_backward: dY has", wrong, cache))(module)


def torch_orders_equal_the_other_half(module):
    """The module under test in torch's place, against the NumPy half; ε and α are not the usual ones, then they are."""
    for order in ORDERS:
        for more in ({"alpha": 1.3, "eps": 0.1}, {}):
            X, norm, weights = inputs(2).values()
            X = 3e-3 * X  # ε weighs as much as the variance
            W = tree.to_torch(weights)
            Y = module.residual(torch.tensor(X), tree.to_torch(norm), lambda x, W=W: torch.tanh(x @ W["W_1"]) @ W["W_2"],
                                *order, **more)
            near(Y, np_residual.residual_forward(X, norm, sublayer(weights), *order, **more)[0], f"{order}, {more}")


INVARIANTS = {
    "np.residual": [*habits(TWINS), every_order_has_the_right_slope, every_order_has_a_twin, float32_stays_and_inputs_too,
                    the_orders_are_what_they_say, an_empty_sublayer_shows_the_stream, deepnorm_numbers,
                    weights_have_the_stated_deviation, refused, wrong_gradients_and_sublayers_are_refused],
    "pt.residual": [torch_orders_equal_the_other_half, weights_have_the_stated_deviation, refused_by_torch],
}
BACK = "cache.alpha * dY + dX if cache.residual else dX"
BACK_POST = "cache.alpha * dS + dX if cache.residual else dX"
FORTH = "Y = alpha * X + F if residual else F"
POST = "norm_forward(alpha * X + F if residual else F, norm, eps)"
WRONG = [
    M("np.residual.residual_backward", "invariant", "pre: the residual dropped from the backward", BACK, "dX"),
    M("np.residual.residual_backward", "invariant", "post: the residual dropped from the backward", BACK_POST, "dX"),
    M("np.residual.residual_forward", "invariant", "pre: the normalised x added instead of x",
      "Y = alpha * X + F", "Y = alpha * X_bar + F"),
    M("np.residual.residual_forward + residual_backward + residual_backward", "invariant", "pre: the normalised x added, and differentiated so",
      "Y = alpha * X + F", "Y = alpha * X_bar + F",
      "dY, cache.inner)", "dY, cache.inner)\n        dX_bar = dX_bar + cache.residual * cache.alpha * dY",
      BACK, "dX"),
    M("np.residual.residual_forward + residual_backward", "invariant", "the residual removed", FORTH, "Y = F", BACK, "dX"),
    M("np.residual.residual_forward + residual_backward", "invariant", "the residual doubled",
      "Y = alpha * X", "Y = 2 * alpha * X", "cache.alpha * dY", "2 * cache.alpha * dY"),
    M("np.residual.residual_backward", "invariant", "the gradient along the stream doubled",
      "cache.alpha * dY", "2 * cache.alpha * dY"),
    M("np.residual.residual_forward + residual_backward", "invariant", "post for pre",
      "if norm_first:", "if not norm_first:", "if cache.norm_first:", "if not cache.norm_first:"),
    M("np.residual.residual_backward", "invariant", "pre: α forgotten in the backward", "cache.alpha * dY", "dY"),
    M("np.residual.residual_backward", "invariant", "post: α forgotten in the backward", "cache.alpha * dS", "dS"),
    M("np.residual.residual_forward", "invariant", "α on the sublayer, not on the stream",
      "Y = alpha * X + F", "Y = X + alpha * F"),
    M("np.residual.residual_backward", "invariant", "post: the stream's gradient past the norm",
      "cache.alpha * dS", "cache.alpha * dY"),
    M("np.residual.residual_forward + residual_backward", "invariant", "pre, no residual: the stream not cut",
      FORTH, "Y = alpha * X + F", BACK, "cache.alpha * dY + dX"),
    M("np.residual.residual_forward + residual_backward", "invariant", "post, no residual: the stream not cut",
      POST, "norm_forward(alpha * X + F, norm, eps)", BACK_POST, "cache.alpha * dS + dX"),
    M("np.residual.residual_backward", "invariant", "post, no residual: a gradient along the stream that is cut",
      BACK_POST, "cache.alpha * dS + dX"),
    M("np.residual.residual_forward", "invariant", "post, no residual: F not normalised",
      POST, POST + " if residual else (F, norm_forward(F, norm, eps)[1])"),
    M("np.residual.residual_forward", "invariant", "post: the normalised x goes to the sublayer too",
      "F, inner = sublayer(X)\n", "F, inner = sublayer(norm_forward(X, norm, eps)[0])\n"),
    M("np.residual.residual_forward", "invariant", "ε not handed on", "else F, norm, eps)", "else F, norm)"),
    M("np.residual.residual_forward", "invariant", "the stream summed in place",
      FORTH, "X += F if residual else 0 * F\n        " + FORTH),
    M("np.residual.residual_forward", "invariant", "α as a NumPy scalar pulls float32 up",
      "alpha: float = 1.0,", "alpha=1.0,"),
    M("np.residual.norm_forward", "slope twin invariant", "RMSNorm for LayerNorm",
      'layer_norm_forward(X, params["gamma"], params["beta', 'rms_norm_forward(X, params["gamma'),
    M("np.residual.norm_backward", "slope twin invariant", "gradients of γ and β swapped",
      '{"gamma": dgamma, "beta": dbeta}', '{"gamma": dbeta, "beta": dgamma}'),
    M("np.residual.norm_forward", "twin invariant", "norm: ε not handed to RMSNorm", 'gamma"], eps)', 'gamma"])'),
    M("np.residual.norm_forward", "invariant", "norm: γ made float64",
      'return rms_norm_forward(X, params["gamma"], eps)',
      'Y, cache = rms_norm_forward(X, params["gamma"], eps)\n    return Y.astype(float), cache'),
    M("np.residual.norm_forward", "invariant", "norm: the caller's X changed",
      "return rms_norm_forward(X,", "X *= 1\n    return rms_norm_forward(X,"),
    M("np.residual.norm_forward", "invariant", "norm: tokens in memory order",
      "return rms_norm_forward(X,",
      "if not X.flags.c_contiguous:\n        X = X.ravel(order='K').reshape(X.shape)\n    return rms_norm_forward(X,"),
    M("np.residual.deepnorm", "invariant", "DeepNorm: α of the decoder for the encoder",
      "((2 * layers) ** 0.25,", "((3 * layers) ** 0.25,"),
    M("np.residual.deepnorm", "invariant", "DeepNorm: N and M changed over",
      "(N**4 * M) ** (1 / 16)", "(M**4 * N) ** (1 / 16)"),
    M("np.residual.deepnorm", "invariant", "DeepNorm: β not inverted", "(8 * layers) ** -0.25", "(8 * layers) ** 0.25"),
    M("np.residual.init_std", "invariant", "init: variance for deviation",
      '"lecun": 1 / math.sqrt(d_in)', '"lecun": 1 / d_in'),
    M("np.residual.init_std", "invariant", "init: He with the width of the output",
      '"he": math.sqrt(2 / d_in)', '"he": math.sqrt(2 / d_out)'),
    M("np.residual.init_std", "invariant", "init: residual over layers, not over sublayers",
      "0.02 / math.sqrt(2 * layers)", "0.02 / math.sqrt(layers)"),
    M("np.residual.init_weights", "invariant", "init: uniform, of the same deviation",
      "rng.normal(scale=init_std(scheme, d_in, d_out, layers), size=(d_in, d_out",
      "(math.sqrt(12) * init_std(scheme, d_in, d_out, layers) * (rng.random((d_in, d_out)) - 0.5"),
    M("np.residual.residual_backward", "invariant", "a gradient that repeats is let in",
      'dY: Float[Array, "*B n d"]', 'dY: Float[Array, "..."]'),
    M("np.residual.norm_backward", "invariant", "norm: a gradient that repeats is let in",
      'dY: Float[Array, "*B d"]', 'dY: Float[Array, "..."]'),
    M("np.residual.residual_forward", "invariant", "pre: a sublayer that gives one row to all",
      'F, inner = sublayer(X_bar)\n        same_shape("residual", X.shape, **{"output of sublayer": F.shape})', "F, inner = sublayer(X_bar)"),
    M("np.residual.residual_forward", "invariant", "post: a sublayer that gives one row to all",
      'F, inner = sublayer(X)\n        same_shape("residual", X.shape, **{"output of sublayer": F.shape})', "F, inner = sublayer(X)"),
    M("np.residual.residual_forward", "invariant", "whatever is true is a flag",
      "norm_first: bool = True,", "norm_first=True,"),
    M("pt.residual.residual", "invariant", "the normalised x added instead of x",
      "Y = alpha * X + F", "Y = alpha * norm(X, params, eps) + F"),
    M("pt.residual.residual", "invariant", "post for pre",
      "if norm_first else X)", "if not norm_first else X)", "return Y if norm_first", "return Y if not norm_first"),
    M("pt.residual.residual", "invariant", "the stream not cut", "F if residual else F", "F"),
    M("pt.residual.residual", "invariant", "no residual: not normalised afterwards",
      "return Y if norm_first", "return Y if norm_first or not residual"),
    M("np.residual.init_std", "invariant", "init: xavier without its 2",
      '"xavier": math.sqrt(2 / (d_in + d_out))', '"xavier": math.sqrt(1 / (d_in + d_out))'),
    M("pt.residual.init_weights", "invariant", "init: widths exchanged",
      "init_std(scheme, d_in, d_out, layers)", "init_std(scheme, d_out, d_in, layers)"),
    M("pt.residual.init_weights", "invariant", "init: the generator not used",
      "generator=rng)", "generator=None)"),
    M("pt.residual.residual", "invariant", "whatever is true is a flag",
      "norm_first: bool = True,", "norm_first=True,"),
]
