# ruff: noqa: E501
"""Proofs of cross-entropy, perplexity and bits: cases, invariants, and wrong modules with what kills them."""

import math

import numpy as np
import torch
from invariants import near, normal, raises
from mutants import M
from proofs import habits
from twins import Case, Spec

LEADS = [(), (3,), (3, 2), (4, 3, 2)]


def cross_entropy_cases(rng):
    for i, lead in enumerate(LEADS):
        for smoothing in (0.0, 0.3):
            for ignore in (None, -100, 2):
                ids = np.asarray(rng.integers(0, 5, size=lead))
                if ignore is not None:
                    ids = np.where(rng.random(lead) < 0.4, ignore, ids)
                    ids[(0,) * len(lead)] = 4  # at least one counts
                fixed = {"targets": ids, "smoothing": smoothing, "ignore_index": ignore}
                if (i + (ignore == 2)) % 2:
                    fixed["weights"] = np.asarray(0.2 + rng.random(lead))
                yield Case(f"{lead}, {smoothing}, {ignore}", {"logits": 2 * rng.normal(size=(*lead, 5))}, fixed)


TWINS = [Spec("loss", "cross_entropy", cross_entropy_cases)]


def torch_has_the_same_cross_entropy(module):
    for smoothing in (0.0, 0.1, 0.5):
        for ignore in (-100, 3):
            logits, targets = normal(4, 6, 7), np.random.default_rng(0).integers(0, 7, (4, 6))
            targets[1, 2:] = ignore
            L, cache = module.cross_entropy_forward(logits, targets, smoothing, ignore)
            x = torch.tensor(logits, requires_grad=True)
            loss = torch.nn.CrossEntropyLoss(label_smoothing=smoothing, ignore_index=ignore)
            y = loss(x.reshape(-1, 7), torch.tensor(targets).reshape(-1))
            y.backward()
            near(L, y.detach(), "losses")
            near(module.cross_entropy_backward(1.0, cache), x.grad, "gradients")


def ignored_tokens_have_no_say(module):
    logits, targets = normal(5, 7), np.array([1, -1, 3, -1, 6])
    L, cache = module.cross_entropy_forward(logits, targets, 0.1, -1)
    G = module.cross_entropy_backward(1.0, cache)
    assert not G[targets == -1].any() and G[targets != -1].all()
    near(G.sum(axis=-1), np.zeros(5), "p and q both sum to one: sums of the gradient and zeros", 1e-15)
    kept = module.cross_entropy_forward(logits[targets != -1], targets[targets != -1], 0.1)[0]
    near(L, kept, "losses with and without ignored tokens")
    counted = (targets != -1).astype(float)
    near(L, module.cross_entropy_forward(logits, np.abs(targets), 0.1, weights=counted)[0], "losses by weights 0 and 1")


def targets_that_do_not_fit_are_refused(module):
    logits, targets = normal(5, 7), np.array([1, -1, 3, -1, 6])
    raises(ValueError, "0 of 5 tokens count", lambda: module.cross_entropy_forward(logits, 0 * targets, 0.0, 0))
    raises(ValueError, "targets holds -1", lambda: module.cross_entropy_forward(logits, targets))
    raises(ValueError, "targets holds 7", lambda: module.cross_entropy_forward(logits, targets + 1, ignore_index=0))
    raises(ValueError, "weights holds -1",
           lambda: module.cross_entropy_forward(logits, np.abs(targets), weights=-np.ones(5)))


def loss_is_finite_for_any_logits(module):
    logits = np.array([[1e4, 0.0, -1e4], [-1e4, 0.0, 1e4]])
    L, cache = module.cross_entropy_forward(logits, np.array([2, 2]))
    near(L, 1e4, "the loss and its value")
    assert np.isfinite(module.cross_entropy_backward(1.0, cache)).all()


def smoothing_has_a_finite_optimum(module):
    """The gradient vanishes where the right logit leads by ln(1 + V (1 − ε) / ε)."""
    V, eps = 10, 0.1
    logits = np.zeros((1, V))
    logits[0, 3] = math.log(1 + V * (1 - eps) / eps)
    G = module.cross_entropy_backward(1.0, module.cross_entropy_forward(logits, np.array([3]), eps)[1])
    near(G, np.zeros((1, V)), "the gradient and zero", 1e-15)


def perplexity_of_a_uniform_guess(module):
    L = math.log(8)
    near(module.perplexity(L), 8, "perplexity and choices")
    near(module.bits(L), 3, "bits")
    near(module.bits(L, 0.25), 0.75, "bits a character")
    assert module.perplexity(1e6) == module.perplexity(709.79) == math.inf and math.isnan(module.perplexity(math.nan))
    assert module.perplexity(709.7) == math.exp(709.7)


def uniform_logits_cost_the_log_of_the_choices(module):
    near(module.cross_entropy_forward(np.zeros((3, 8)), np.array([1, 2, 7]))[0], math.log(8), "loss and ln 8")


def nothing_is_ignored_unasked(module):
    """torch leaves out targets of −100 by itself; here only when told to."""
    raises(IndexError, "-100", lambda: module.cross_entropy(torch.zeros(2, 3), torch.tensor([0, -100])))


def half_precision_has_the_mean_of_a_long_text(module):
    """float16 ends at 65,504, and bfloat16 counts no further than 256: neither can add up what it may average."""
    for dtype in (torch.float16, torch.bfloat16):
        logits, targets = torch.zeros(70_000, 2, dtype=dtype, requires_grad=True), torch.arange(70_000) % 2
        for given in ({}, {"weights": torch.ones(70_000, dtype=dtype)}, {"ignore_index": 1}):
            L = module.cross_entropy(logits, targets, **given)
            assert L.dtype == dtype and L == torch.tensor(math.log(2)).to(dtype), f"ln 2 is {L} in {dtype}"
            (grad,) = torch.autograd.grad(L, logits)
            assert grad.any(), "no gradient"


def autocast_gives_float32(module):
    """As torch's own: a loss in bfloat16 would be a history of three digits."""
    with torch.autocast("cpu", torch.bfloat16):
        logits = (torch.randn(9, 4, generator=torch.Generator().manual_seed(0)) @ torch.ones(4, 7)).requires_grad_()
        L = module.cross_entropy(logits, torch.arange(9) % 7)
    assert logits.dtype == torch.bfloat16 and L.dtype == torch.float32, f"under autocast: {L.dtype}"
    L.backward()
    assert logits.grad.dtype == torch.bfloat16


INVARIANTS = {
    "np.loss": [*habits(TWINS), torch_has_the_same_cross_entropy, ignored_tokens_have_no_say,
                targets_that_do_not_fit_are_refused, loss_is_finite_for_any_logits, smoothing_has_a_finite_optimum,
                perplexity_of_a_uniform_guess, uniform_logits_cost_the_log_of_the_choices],
    "pt.loss": [nothing_is_ignored_unasked, half_precision_has_the_mean_of_a_long_text, autocast_gives_float32],
}

WRONG = [
    M("np.loss.cross_entropy_backward", "slope twin invariant", "gradient not divided by the number of tokens",
      "float(dL) * share[..., None] * (A - Q)", "float(dL) * (share > 0)[..., None].astype(A.dtype) * (A - Q)"),
    M("np.loss.cross_entropy_backward", "slope twin", "upstream forgotten",
      "float(dL) * share[..., None] * (A - Q)", "share[..., None] * (A - Q)"),
    M("np.loss.cross_entropy_backward", "slope twin invariant", "ignored tokens still get a gradient",
      "float(dL) * share[..., None] * (A - Q)", "float(dL) / share.size * (A - Q)"),
    M("np.loss.cross_entropy_forward", "twin invariant", "mean over all tokens, ignored ones included",
      "total = w.sum()\n", "total = w.sum()\n    total = total and total.dtype.type(w.size)\n"),
    M("np.loss.cross_entropy_forward", "slope twin invariant", "ε spread over the other words in the loss, over all in the gradient",
      "smoothing * Y.mean(axis=-1)", "smoothing * (Y.sum(axis=-1) - at_target) / (V - 1)"),
    M("np.loss.cross_entropy_forward + cross_entropy_backward + cross_entropy_backward", "twin invariant", "ε spread over the other words alone",
      "smoothing * Y.mean(axis=-1)", "smoothing * (Y.sum(axis=-1) - at_target) / (V - 1)",
      "rest = smoothing / A.shape[-1]", "rest = smoothing / (A.shape[-1] - 1)",
      "1 - smoothing + rest", "1 - smoothing"),
    M("np.loss.cross_entropy_backward", "slope twin invariant", "smoothing forgotten in the backward",
      "rest = smoothing / A.shape[-1]", "rest, smoothing = 0.0, 0.0"),
    M("np.loss.cross_entropy_forward", "invariant", "log of the softmax: infinite where it rounds to 0",
      "Y, inner = log_softmax_forward(logits)", "_, inner = log_softmax_forward(logits)\n    Y = np.log(inner.A)"),
    M("np.loss.cross_entropy_forward", "invariant", "the mean of nothing is NaN", "if not total > 0:", "if False:"),
    M("np.loss.cross_entropy_forward", "slope twin invariant", "nothing to leave out: PAD counts as a word",
      "!= ignore_index", "== targets"),
    M("np.loss.cross_entropy_forward", "twin invariant", "a sum, not a mean", "w / total, np.where", "w, np.where"),
    M("np.loss.cross_entropy_forward", "invariant", "negative weights accepted",
      "if (weights < 0).any():", "if False:"),
    M("np.loss.perplexity", "invariant", "perplexity in base two", "math.exp(loss)", "2.0**loss"),
    M("np.loss.perplexity", "invariant", "perplexity: NaN made infinite",
      "math.inf if loss > 709.78 else math.exp(loss)", "math.exp(loss) if loss < 709.78 else math.inf"),
    M("np.loss.perplexity", "invariant", "perplexity: infinite before float64 ends", "709.78", "709"),
    M("np.loss.cross_entropy_forward", "invariant", "a NumPy smoothing makes float64",
      "smoothing: Share = 0.0", "smoothing=0.0"),
    M("np.loss.cross_entropy_backward", "invariant", "probabilities in the cache written to",
      "    return float(dL) * share[..., None] * (A - Q)", "    A -= Q\n    return float(dL) * share[..., None] * A"),
    M("np.loss.cross_entropy_forward", "invariant", "targets read in memory order",
      "np.take_along_axis(Y, targets[..., None], axis=-1)[..., 0]",
      "Y.reshape(-1, V)[np.arange(targets.size), targets.ravel(order='K')].reshape(targets.shape)"),
    # pt.loss
    M("pt.loss.cross_entropy", "invariant", "−100 left out unasked", "torch.iinfo(torch.long).min", "-100"),
    M("pt.loss.cross_entropy", "invariant", "a loss of three digits under autocast", ".to(each.dtype)", ".to(rows.dtype)"),
    M("pt.loss.cross_entropy", "twin", "mean over all tokens when weighted",
      "(w * each).sum() / w.sum()", "(w * each).mean()"),
    M("pt.loss.cross_entropy", "twin", "weights of ignored tokens in the denominator",
      "weights.reshape(-1) * (ids != nothing)", "weights.reshape(-1)"),
    M("pt.loss.cross_entropy", "twin", "smoothing forgotten when weighted",
      "label_smoothing=smoothing, reduction", "reduction"),
    M("pt.loss.cross_entropy", "invariant", "a mean of half precision added up by torch's kernel",
      "if weights is None and rows.dtype == exact", "if weights is None"),
    M("pt.loss.cross_entropy", "invariant", "a weighted mean added up in half precision",
      "torch.promote_types(rows.dtype, torch.float32)", "rows.dtype"),
]
