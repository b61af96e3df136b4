"""The softmax: slopes, twins, rows that sum to one at any size, and what is masked has no say."""

import math

import numpy as np
import torch
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from invariants import examples, near, normal, rng, same
from mutants import M
from proofs import habits, torch_habits
from twins import LEAD, MASKS, Case, Spec, mask_of

SCORES = [(4,), (3, 4), (2, 3, 4), (5, 2, 3, 4)]


def scores_cases(rng):
    for shape in SCORES:
        yield Case(f"S {shape}", {"S": 3 * rng.normal(size=shape)})


def softmax_cases(rng):
    yield from scores_cases(rng)
    yield Case("S (4,), masked", {"S": rng.normal(size=4)}, {"mask": np.array([True, False, True, False])})
    for rank, kind in MASKS[1:]:
        lead = LEAD[rank]
        yield Case(f"rank {rank}, {kind}", {"S": rng.normal(size=(*lead, 3, 4))},
                   {"mask": mask_of(kind, rng, lead, 3, 4)})


def jacobian_cases(rng):
    for m in (1, 2, 5):
        e = np.exp(rng.normal(size=m))
        yield Case(f"m = {m}", {"a": e / e.sum()})


TWINS = [
    Spec("softmax", "softmax", softmax_cases),
    Spec("softmax", "softmax_jacobian", jacobian_cases),
    Spec("softmax", "logsumexp", scores_cases),
    Spec("softmax", "log_softmax", scores_cases),
]


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


def shifting_a_row_changes_nothing(module):
    S = normal(2, 3, 4)
    shift = 10 * normal(2, 3, 1)
    near(module.softmax_forward(S)[0], module.softmax_forward(S + shift)[0], "softmax of S and of S + c")
    near(module.log_softmax_forward(S)[0], module.log_softmax_forward(S + shift)[0], "log softmax of S and of S + c")
    near(module.logsumexp_forward(S)[0] + shift[..., 0], module.logsumexp_forward(S + shift)[0], "L + c and L(S + c)")


def stable_at_any_size(module):
    for dtype in (np.float64, np.float32):
        S = np.array([[1e4, 0, -1e4], [-1e4, -1e4, -1e4], [1e4, 1e4, 1e4]], dtype)
        near(module.softmax_forward(S)[0], [[1, 0, 0], [1 / 3] * 3, [1 / 3] * 3], "weights", 1e-7)
        near(module.softmax_forward(S, S < 1e4)[0], [[0, 1, 0], [1 / 3] * 3, [0] * 3], "masked weights", 1e-7)
        near(module.logsumexp_forward(S)[0], [1e4, -1e4 + math.log(3), 1e4 + math.log(3)], "logsumexp", 1e-3)
        near(module.log_softmax_forward(S)[0], [[0, -1e4, -2e4], [-math.log(3)] * 3, [-math.log(3)] * 3], "logs", 1e-3)


def masked_scores_have_no_say(module):
    S, mask = normal(2, 3, 4), mask_of("random", rng(), (2,), 3, 4)
    A, cache = module.softmax_forward(S, mask)
    assert not A[~mask].any() and not module.softmax_backward(normal(2, 3, 4), cache)[~mask].any()
    same(A, module.softmax_forward(np.where(mask, S, 1e4 * normal(2, 3, 4)), mask)[0], "weights whatever is masked")
    small = np.where(mask, S - 1e6, 0)  # even where what is visible is far below what is masked
    near(A, module.softmax_forward(small, mask)[0], "weights far down", 1e-9)


def a_row_with_nothing_visible_is_zero(module):
    mask = np.array([[False] * 4, [True] * 4])
    A, cache = module.softmax_forward(normal(2, 4), mask)
    assert not A[0].any() and not module.softmax_backward(normal(2, 4), cache)[0].any()


def jacobian_is_a_covariance(module):
    """Symmetric, rows sum to zero, no negative eigenvalue, rank m − 1; and the backward applies it."""
    a, cache = module.softmax_forward(normal(5))
    J = module.softmax_jacobian(a)
    same(J, J.T, "J and its transpose")
    near(J.sum(axis=1), np.zeros(5), "row sums and zero")
    assert np.linalg.eigvalsh(J).min() > -1e-12 and np.linalg.matrix_rank(J, tol=1e-9) == 4
    near(np.stack([module.softmax_backward(e, cache) for e in np.eye(5)]), J, "backward of unit vectors and J")


def logsumexp_is_a_soft_maximum(module):
    S = 5 * normal(2, 3, 4)
    L, top = module.logsumexp_forward(S)[0], S.max(axis=-1)
    assert ((top <= L) & (top + math.log(4) >= L)).all()
    near(np.exp(S - L[..., None]), module.softmax_forward(S)[0], "exp(S − L) and the softmax")


def log_softmax_is_the_log(module):
    S = normal(2, 3, 4)
    Y, cache = module.log_softmax_forward(S)
    near(np.exp(Y), module.softmax_forward(S)[0], "exp(log softmax) and softmax")
    near(module.log_softmax_backward(normal(2, 3, 4), cache).sum(axis=-1), np.zeros((2, 3)), "row sums of dS and zero")


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


INVARIANTS = {
    "np.softmax": [*habits(TWINS), rows_sum_to_one, shifting_a_row_changes_nothing, stable_at_any_size,
                   masked_scores_have_no_say, a_row_with_nothing_visible_is_zero, jacobian_is_a_covariance,
                   logsumexp_is_a_soft_maximum, log_softmax_is_the_log],
    "pt.softmax": [*torch_habits(TWINS), torch_softmax_is_stable_and_silent],
}

WRONG = [
    M("np.softmax.softmax_backward", "slope twin invariant", "backward divided by the batch",
      "keepdims=True))", "keepdims=True)) / len(A)"),
    M("np.softmax.softmax_backward", "slope twin invariant", "Jacobian: diagonal only",
      "dA - (A * dA).sum(axis=-1, keepdims=True))", "1 - A) * dA"),
    M("np.softmax.softmax_backward", "slope twin invariant", "backward: normalisation treated as a constant",
      "(dA - (A * dA).sum(axis=-1, keepdims=True))", "dA"),
    M("np.softmax.softmax_backward", "slope twin invariant", "backward: summed over the first axis",
      "(A * dA).sum(axis=-1", "(A * dA).sum(axis=0"),
    M("np.softmax.softmax_backward", "invariant", "backward: written into its upstream",
      "return A * (dA - (A * dA).sum(axis=-1, keepdims=True))",
      "dA -= (A * dA).sum(axis=-1, keepdims=True)\n    return A * dA"),
    M("np.softmax.softmax_forward", "invariant", "no maximum taken off", "S - np.where(top == -np.inf, 0, top)", "S"),
    M("np.softmax.softmax_forward", "slope invariant", "maximum taken off in the caller's array",
      "E = np.exp(S - np.where(top == -np.inf, 0, top)", "S -= np.where(top == -np.inf, 0, top)\n    E = np.exp(S"),
    M("np.softmax.softmax_forward", "slope twin invariant", "−∞ − (−∞) in a row with nothing visible",
      "np.where(top == -np.inf, 0, top)", "top"),
    M("np.softmax.softmax_forward", "slope twin invariant", "−10⁹ for −∞",
      "S = np.where(mask, S, -np.inf)", "S = np.where(mask, S, -1e9)"),
    M("np.softmax.softmax_forward", "invariant", "−∞ as a float64 number",
      "S = np.where(mask, S, -np.inf)", "S = np.where(mask, S, np.float64(-np.inf))"),
    M("np.softmax.softmax_forward", "twin invariant", "mask inverted",
      "S = np.where(mask, S, -np.inf)", "S = np.where(mask, -np.inf, S)"),
    M("np.softmax.softmax_forward", "twin invariant", "mask ignored", "S = np.where(mask, S, -np.inf)", "pass"),
    M("np.softmax.softmax_forward", "slope twin invariant", "mask applied after, no renormalisation",
      "S = np.where(mask, S, -np.inf)", "pass",
      "    return A, SoftmaxCache(A)", "    A = A if mask is None else A * mask\n    return A, SoftmaxCache(A)"),
    M("np.softmax.softmax_forward", "twin invariant", "10⁻⁹ added to the denominator",
      "A = E / np.where(Z == 0, 1, Z)", "A = E / (Z + 1e-9)"),
    M("np.softmax.softmax_jacobian", "twin invariant", "jacobian: no outer product",
      "np.diag(a) - np.outer(a, a)", "np.diag(a)"),
    M("np.softmax.softmax_jacobian", "twin invariant", "jacobian: sign",
      "np.diag(a) - np.outer(a, a)", "np.outer(a, a) - np.diag(a)"),
    M("np.softmax.logsumexp_forward", "slope twin invariant", "logsumexp: maximum not added back",
      "(top + np.log(Z))", "np.log(Z)"),
    M("np.softmax.logsumexp_forward", "twin invariant", "logsumexp: log of the mean, not of the sum",
      "np.log(Z))[..., 0]", "np.log(Z / S.shape[-1]))[..., 0]"),
    M("np.softmax.logsumexp_backward", "slope twin", "logsumexp: upstream forgotten",
      "dL[..., None] *", "np.ones_like(dL)[..., None] *"),
    M("np.softmax.log_softmax_forward", "invariant", "log softmax: log of the softmax",
      "return S - L[..., None],", "return np.log(cache.A),"),
    M("np.softmax.log_softmax_backward", "slope twin", "log softmax: the softmax's own backward",
      "dY - cache.A * dY.sum(axis=-1, keepdims=True", "cache.A * (dY - (cache.A * dY).sum(axis=-1, keepdims=True)"),
    M("pt.softmax.softmax", "invariant", "a row of −∞ alone: NaN in the gradient",
      "S.masked_fill(~mask & alive, -torch.inf)", "S.masked_fill(~mask, -torch.inf)"),
    M("pt.softmax.softmax", "twin invariant", "a blind row shares equally",
      "return A.masked_fill(~alive, 0)", "return A"),
    M("pt.softmax.softmax", "invariant", "zeros of the default dtype, on the CPU",
      "return A.masked_fill(~alive, 0)", "return torch.where(alive, A, torch.zeros(1))"),
    M("pt.softmax.softmax", "twin invariant", "softmax over the first axis",
      "        return torch.softmax(S, dim=-1)", "        return torch.softmax(S, dim=0)"),
    M("pt.softmax.log_softmax", "invariant", "log softmax: log of the softmax",
      "torch.log_softmax(S, dim=-1)", "torch.log(torch.softmax(S, dim=-1))"),
    M("pt.softmax.log_softmax", "twin invariant", "log softmax: base two",
      "torch.log_softmax(S, dim=-1)", "torch.log_softmax(S, dim=-1) / 0.6931471805599453"),
    M("pt.softmax.logsumexp", "invariant", "logsumexp: nothing taken off",
      "torch.logsumexp(S, dim=-1)", "torch.log(torch.exp(S).sum(dim=-1))"),
    M("pt.softmax.logsumexp", "twin invariant", "logsumexp: log of the mean",
      "torch.logsumexp(S, dim=-1)", "torch.log(torch.softmax(S, -1).mean(-1)) + torch.logsumexp(S, dim=-1)"),
    M("pt.softmax.softmax_jacobian", "twin", "jacobian: diagonal only",
      "torch.diag(a) - torch.outer(a, a)", "torch.diag(a - a * a)"),
]
