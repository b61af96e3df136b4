# ruff: noqa: E501
"""The residual stream: each wiring with any sublayer inside, DeepNorm's numbers, and weights of a stated size."""

import numpy as np
import torch
from byhand import tree
from byhand.np import residual as np_residual
from byhand.np.gradcheck import gradcheck
from byhand.pt import residual as pt_residual
from byhand.pt.gradcheck import parity
from invariants import arrays, near, normal, rng, same
from mutants import M
from proofs import habits, refusals
from twins import FORWARD, GRADIENT, LEAD, SLOPE, Case, Spec

N, D, WIDTH = 3, 5, 4
WIRINGS = ("pre", "post", "none")


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
    """(forward, backward, torch's function, inputs) for each wiring, rank and norm."""
    def backward(dY, cache):
        return module.residual_backward(dY, cache, sublayer_backward)

    for wiring, lead, rms in zip(WIRINGS * 2, (*LEAD.values(), *LEAD.values()), (False, True) * 3, strict=True):
        options = {"wiring": wiring, "alpha": 1.3, "eps": 0.1}

        def forward(X, norm, weights, options=options):
            return module.residual_forward(X, norm, sublayer(weights), **options)

        def twin(X, norm, weights, options=options):
            return pt_residual.residual(X, norm, lambda Y: torch.tanh(Y @ weights["W_1"]) @ weights["W_2"], **options)

        yield forward, backward, twin, inputs(*lead, rms=rms)


def every_wiring_has_the_right_slope(module):
    for forward, backward, _, given in runs(module):
        errors = gradcheck(forward, backward, given, rng())
        assert max(errors.values()) < SLOPE, errors


def every_wiring_has_a_twin(module):
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
    Y, _ = module.residual_forward(given["X"], given["norm"], sublayer(given["weights"]), "pre", np.float64(1.3), np.float64(0.1))
    assert Y.dtype == np.float32, "a NumPy scalar for α pulled float32 up"


def the_wirings_are_what_they_say(module):
    """Written out, with α as it is by default and otherwise."""
    X, norm, weights = inputs(2).values()
    f = sublayer(weights)

    def normed(Y):
        return module.norm_forward(Y, norm)[0]

    for alpha in (1.0, 1.3):
        for wiring, expected in (("pre", alpha * X + f(normed(X))[0]), ("post", normed(alpha * X + f(X)[0])),
                                 ("none", f(normed(X))[0])):
            near(module.residual_forward(X, norm, f, wiring, alpha)[0], expected, f"{wiring}, α = {alpha}")
    same(module.residual_forward(X, norm, f)[0], module.residual_forward(X, norm, f, "pre", 1.0)[0], "the defaults")


def an_empty_sublayer_shows_the_stream(module):
    """F = 0: pre-norm is αX, its gradient α dY to the last bit; with no stream nothing passes at all."""
    X, norm, weights = inputs(2).values()
    silent, dY = sublayer(weights | {"W_2": 0 * weights["W_2"]}), normal(2, N, D) + 1
    for alpha in (1.0, 1.5):
        Y, cache = module.residual_forward(X, norm, silent, "pre", alpha)
        same(Y, alpha * X, "Y and αX")
        same(module.residual_backward(dY, cache, sublayer_backward)[0], alpha * dY, "dX and α dY")
    Y, cache = module.residual_forward(X, norm, silent, "none")
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
            W = module.init_weights(300, 200, scheme, layers=6, generator=torch.Generator().manual_seed(1)).numpy()
            again = module.init_weights(300, 200, scheme, layers=6, generator=torch.Generator().manual_seed(1))
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
    ("residual_forward", ValueError, "residual: wiring is 'both', expected one of pre, post, none", X_, P_, F_, "both"),
    ("residual_forward", ValueError, "residual: alpha is nan, expected a finite number", X_, P_, F_, "pre", float("nan")),
    ("residual_forward", TypeError, "residual: X is list, expected a NumPy array", [1.0], P_, F_),
    ("norm_forward", ValueError, r"layer_norm: gamma has shape \(4,\), expected \(5,\)", X_, norm_params(rng(), d=4)),
    *DEPTHS,
    ("init_weights", ValueError, "init_weights: scheme is 'glorot', expected one of lecun, xavier, he", rng(), 2, 3, "glorot"),
    ("init_weights", ValueError, "init_weights: layers is 0, expected at least 1", rng(), 2, 3, "residual", 0),
)
T_, PT_ = torch.tensor(X_), tree.to_torch(P_)
refused_by_torch = refusals(
    ("residual", ValueError, "residual: wiring is 'both', expected one of pre, post, none", T_, PT_, abs, "both"),
    ("residual", ValueError, "residual: alpha is nan, expected a finite number", T_, PT_, abs, "pre", float("nan")),
    ("residual", TypeError, "residual: X is numpy.ndarray, expected a torch tensor", X_, PT_, abs),
    ("norm", ValueError, r"layer_norm: gamma has shape \(4,\), expected \(5,\)", T_, tree.to_torch(norm_params(rng(), d=4))),
    *DEPTHS,
    ("init_weights", ValueError, "init_weights: scheme is 'glorot', expected one of lecun, xavier, he", 2, 3, "glorot"),
    ("init_weights", ValueError, "init_weights: d_in is 0, expected at least 1", 0, 3),
)


def torch_wirings_equal_the_other_half(module):
    """The module under test in torch's place, against the NumPy half; ε and α are not the usual ones, then they are."""
    for wiring in WIRINGS:
        for more in ({"alpha": 1.3, "eps": 0.1}, {}):
            X, norm, weights = inputs(2).values()
            X = 3e-3 * X  # ε weighs as much as the variance
            W = tree.to_torch(weights)
            Y = module.residual(torch.tensor(X), tree.to_torch(norm), lambda x, W=W: torch.tanh(x @ W["W_1"]) @ W["W_2"],
                                wiring, **more)
            near(Y, np_residual.residual_forward(X, norm, sublayer(weights), wiring, **more)[0], f"{wiring}, {more}")


INVARIANTS = {
    "np.residual": [*habits(TWINS), every_wiring_has_the_right_slope, every_wiring_has_a_twin, float32_stays_and_inputs_too,
                    the_wirings_are_what_they_say, an_empty_sublayer_shows_the_stream, deepnorm_numbers,
                    weights_have_the_stated_deviation, refused],
    "pt.residual": [torch_wirings_equal_the_other_half, weights_have_the_stated_deviation, refused_by_torch],
}
WRONG = [
    M("np.residual.residual_backward", "invariant", "pre: the residual dropped from the backward",
      '(dX if cache.wiring == "none" else cache.alpha * dY + dX)', "dX"),
    M("np.residual.residual_backward", "invariant", "post: the residual dropped from the backward",
      "return cache.alpha * dS + dX,", "return dX,"),
    M("np.residual.residual_forward", "invariant", "pre: the normalised x added instead of x",
      "alpha * X + F)", "alpha * X_bar + F)"),
    M("np.residual.residual_forward + residual_backward + residual_backward", "invariant", "pre: the normalised x added, and differentiated so",
      "alpha * X + F)", "alpha * X_bar + F)",
      "dY, cache.inner)", "dY, cache.inner)\n    dX_bar = dX_bar + (cache.wiring == 'pre') * cache.alpha * dY",
      '(dX if cache.wiring == "none" else cache.alpha * dY + dX)', "dX"),
    M("np.residual.residual_forward + residual_backward", "invariant", "the residual removed",
      "else alpha * X + F", "else F",
      "cache.alpha * dY + ", ""),
    M("np.residual.residual_forward + residual_backward", "invariant", "the residual doubled",
      '" else alpha ', '" else 2 * alpha ',
      '" else cache.', '" else 2 * cache.'),
    M("np.residual.residual_backward", "invariant", "the gradient along the stream doubled",
      '" else cache.', '" else 2 * cache.'),
    M("np.residual.residual_forward + residual_backward", "invariant", "post for pre",
      'if wiring == "post":', 'if wiring == "pre":',
      'if cache.wiring == "post":', 'if cache.wiring == "pre":'),
    M("np.residual.residual_backward", "invariant", "pre: α forgotten in the backward",
      "else cache.alpha * dY", "else dY"),
    M("np.residual.residual_backward", "invariant", "post: α forgotten in the backward",
      "return cache.alpha * dS + dX,", "return dS + dX,"),
    M("np.residual.residual_forward", "invariant", "α on the sublayer, not on the stream",
      "else alpha * X + F", "else X + alpha * F"),
    M("np.residual.residual_backward", "invariant", "post: the stream's gradient past the norm",
      "return cache.alpha * dS + dX,", "return cache.alpha * dY + dX,"),
    M("np.residual.residual_forward + residual_backward", "invariant", "none: the stream not cut",
      'F if wiring == "none" else ', "",
      'dX if cache.wiring == "none" else ', ""),
    M("np.residual.residual_forward", "invariant", "post: the normalised x goes to the sublayer too",
      "        F, inner = sublayer(X)\n", "        F, inner = sublayer(norm_forward(X, norm, eps)[0])\n"),
    M("np.residual.residual_forward", "invariant", "ε not handed on",
      "norm_forward(alpha * X + F, norm, eps)", "norm_forward(alpha * X + F, norm)"),
    M("np.residual.residual_forward", "invariant", "the stream summed in place",
      "return (F if", "X += F if wiring != 'none' else 0 * F\n    return (F if"),
    M("np.residual.residual_forward", "invariant", "α as a NumPy scalar pulls float32 up",
      "alpha = float(alpha)", "pass"),
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
    M("np.residual.deviation", "invariant", "init: variance for deviation",
      '"lecun": 1 / math.sqrt(d_in)', '"lecun": 1 / d_in'),
    M("np.residual.deviation", "invariant", "init: He with the width of the output",
      '"he": math.sqrt(2 / d_in)', '"he": math.sqrt(2 / d_out)'),
    M("np.residual.deviation", "invariant", "init: residual over layers, not over sublayers",
      "0.02 / math.sqrt(2 * layers)", "0.02 / math.sqrt(layers)"),
    M("np.residual.init_weights", "invariant", "init: uniform, of the same deviation",
      "rng.normal(scale=deviation(scheme, d_in, d_out, layers), size=(d_in, d_out",
      "(math.sqrt(12) * deviation(scheme, d_in, d_out, layers) * (rng.random((d_in, d_out)) - 0.5"),
    M("np.residual.residual_forward", "invariant", "any word is a wiring", "if wiring not in WIRINGS:", "if False:"),
    M("pt.residual.residual", "invariant", "the normalised x added instead of x",
      'Y if wiring == "none" else alpha * X + Y', 'Y if wiring == "none" else alpha * norm(X, params, eps) + Y'),
    M("pt.residual.residual", "invariant", "post for pre", 'if wiring == "post":', 'if wiring == "pre":'),
    M("pt.residual.residual", "invariant", "the stream not cut", 'Y if wiring == "none" else ', ""),
    M("np.residual.deviation", "invariant", "init: xavier without its 2",
      '"xavier": math.sqrt(2 / (d_in + d_out))', '"xavier": math.sqrt(1 / (d_in + d_out))'),
    M("pt.residual.init_weights", "invariant", "init: widths exchanged",
      "deviation(scheme, d_in, d_out, layers)", "deviation(scheme, d_out, d_in, layers)"),
    M("pt.residual.init_weights", "invariant", "init: the generator not used",
      "generator=generator)", "generator=None)"),
    M("pt.residual.residual", "invariant", "any word is a wiring", "if wiring not in WIRINGS:", "if False:"),
]
