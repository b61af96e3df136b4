"""Chapter 11: optimisers as functions, (params, grads, state) → (params, state); clipping, and learning rates by step.

θ stands for a leaf of `params`, g for its gradient. Trees go in and new trees come out; only `adamw_step_` writes into
them. The state holds t, the steps taken, and two trees: m, a mean of the gradients, and v, a mean of their squares.
"""

import math

import numpy as np

from byhand.check import Index, NonNegative, Positive, Share, Size, checked, less_than, optimiser_trees, same_trees
from byhand.tree import flatten, map_tree, unflatten

Betas = tuple[Share, Share]
EXEMPT = ("E", "table")  # what is looked up by row: a row should not be pulled to zero for being rare


@checked
def init_state(params: dict) -> dict:
    """{t: 0, m: zeros, v: zeros}; every leaf an array, so that it can be saved with the parameters."""
    same_trees("init_state", params=params)
    return {"t": np.array(0)} | {name: map_tree(lambda x: np.zeros(x.shape, x.dtype), params) for name in "mv"}


@checked
def sgd_step(params: dict, grads: dict, state: dict, lr: NonNegative) -> tuple[dict, dict]:
    """θ ← θ − lr · g."""
    optimiser_trees("sgd_step", params, grads, state)
    return _map(lambda p, g: p - lr * g, params, grads), state | {"t": _next(state)}  # (11.13)


@checked
def momentum_step(
    params: dict, grads: dict, state: dict, lr: NonNegative, momentum: Share = 0.9, nesterov: bool = False
) -> tuple[dict, dict]:
    """m ← μ m + g; θ ← θ − lr · m. With `nesterov`, θ ← θ − lr (g + μ m): one step ahead (Sutskever et al. 2013)."""
    optimiser_trees("momentum_step", params, grads, state)
    m = _map(lambda m, g: momentum * m + g, state["m"], grads)  # (11.15)
    step = _map(lambda m, g: g + momentum * m, m, grads) if nesterov else m  # (11.17)
    return _map(lambda p, s: p - lr * s, params, step), state | {"t": _next(state), "m": m}


@checked
def rmsprop_step(
    params: dict, grads: dict, state: dict, lr: NonNegative, alpha: Share = 0.99, eps: Positive = 1e-8
) -> tuple[dict, dict]:
    """v ← α v + (1 − α) g²; θ ← θ − lr · g / (√v + ε) (Tieleman and Hinton 2012)."""
    optimiser_trees("rmsprop_step", params, grads, state, eps)
    v = _map(lambda v, g: alpha * v + (1 - alpha) * (g * g), state["v"], grads)  # (11.18), (11.19)
    params = _map(lambda p, g, v: p - lr * (g / (np.sqrt(v) + eps)), params, grads, v)
    return params, state | {"t": _next(state), "v": v}


@checked
def adam_step(
    params: dict, grads: dict, state: dict, lr: NonNegative, betas: Betas = (0.9, 0.999), eps: Positive = 1e-8
) -> tuple[dict, dict]:
    """θ ← θ − lr · m̂ / (√v̂ + ε) (Kingma and Ba 2015, algorithm 1): steps of about lr, whatever the gradients' scale.

    m̂ = m / (1 − β₁ᵗ) and v̂ = v / (1 − β₂ᵗ) undo the pull of the zeros that m and v start from.
    """
    optimiser_trees("adam_step", params, grads, state, eps)
    (beta1, beta2), t = betas, _next(state)
    c1, c2 = 1 - beta1 ** t.item(), 1 - beta2 ** t.item()  # (11.23)
    m = _map(lambda m, g: beta1 * m + (1 - beta1) * g, state["m"], grads)  # (11.20)
    v = _map(lambda v, g: beta2 * v + (1 - beta2) * (g * g), state["v"], grads)  # (11.20)
    params = _map(lambda p, m, v: p - lr * (m / c1 / (np.sqrt(v / c2) + eps)), params, m, v)  # (11.24)
    return params, {"t": t, "m": m, "v": v}


@checked
def adam_l2_step(
    params: dict,
    grads: dict,
    state: dict,
    lr: NonNegative,
    betas: Betas = (0.9, 0.999),
    eps: Positive = 1e-8,
    weight_decay: NonNegative = 0.01,
    mask: dict | None = None,
) -> tuple[dict, dict]:
    """Adam on L + λ/2 ‖θ‖²: λθ is added to g, so √v̂ divides it too, and leaves with large gradients hardly decay."""
    optimiser_trees("adam_l2_step", params, grads, state, eps)
    mask = _everywhere(params, mask)
    grads = _map(lambda g, p, on: g + weight_decay * p if on else g, grads, params, mask)  # (11.29)
    return adam_step(params, grads, state, lr, betas, eps)


@checked
def adamw_step(
    params: dict,
    grads: dict,
    state: dict,
    lr: NonNegative,
    betas: Betas = (0.9, 0.999),
    eps: Positive = 1e-8,
    weight_decay: NonNegative = 0.01,
    mask: dict | None = None,
) -> tuple[dict, dict]:
    """θ ← θ − lr (m̂ / (√v̂ + ε) + λθ) (Loshchilov and Hutter 2019); λ is `weight_decay`, where `mask` is True."""
    optimiser_trees("adamw_step", params, grads, state, eps)
    moved, state = adam_step(params, grads, state, lr, betas, eps)
    pull = lr * weight_decay  # (11.30)
    return _map(lambda new, p, on: new - pull * p if on else new, moved, params, _everywhere(params, mask)), state


@checked
def adamw_step_(
    params: dict,
    grads: dict,
    state: dict,
    lr: NonNegative,
    betas: Betas = (0.9, 0.999),
    eps: Positive = 1e-8,
    weight_decay: NonNegative = 0.01,
    mask: dict | None = None,
) -> None:
    """`adamw_step` to the last bit, but written into `params` and `state`, in the memory that they have."""
    optimiser_trees("adamw_step_", params, grads, state, eps)
    (beta1, beta2), t = betas, _next(state)
    c1, c2, pull = 1 - beta1 ** t.item(), 1 - beta2 ** t.item(), lr * weight_decay  # (11.23)

    def update(p, g, m, v, on):
        a, b = np.empty_like(p), np.empty_like(p)
        m *= beta1
        m += np.multiply(1 - beta1, g, out=a)
        v *= beta2
        v += np.multiply(1 - beta2, np.multiply(g, g, out=a), out=a)
        np.sqrt(np.divide(v, c2, out=a), out=a)
        a += eps
        np.multiply(lr, np.divide(np.divide(m, c1, out=b), a, out=b), out=b)
        np.multiply(pull, p, out=a)
        p -= b
        if on:
            p -= a

    map_tree(update, params, grads, state["m"], state["v"], _everywhere(params, mask))
    state["t"] = t


@checked
def decay_mask(params: dict, exempt: tuple[str, ...] = EXEMPT) -> dict:
    """A tree of bools: True for matrices that multiply; False for biases, gains and what `exempt` names in its path."""
    def decays(path, x):
        *_, name = parts = path.split(".")
        return x.ndim >= 2 and name != "b" and not name.startswith("b_") and not set(parts) & set(exempt)

    return unflatten({path: decays(path, x) for path, x in flatten(params).items()})


@checked
def clip_by_global_norm(grads: dict, max_norm: Positive | None) -> tuple[dict, float]:
    """(g · max_norm / ‖g‖ if ‖g‖ > max_norm, ‖g‖): one norm over all leaves keeps the direction (Pascanu 2013).

    Entries are divided by a power of two, which rounds nothing, before they are squared: no norm is too large or small.
    Without `max_norm` it is only measured.
    """
    same_trees("clip_by_global_norm", grads=grads)
    leaves = flatten(grads).values()
    unit = 2.0 ** (math.frexp(max((float(np.abs(g).max()) for g in leaves if g.size), default=0.0))[1] - 1)
    size = math.sqrt(math.fsum(float(np.square(g / unit, dtype=np.float64).sum()) for g in leaves))
    norm = unit * size
    if max_norm is None or norm <= max_norm:
        return grads, norm
    return _map(lambda g: max_norm / size * (g / unit), grads), norm  # (11.34)


@checked
def constant(step: Index, peak: NonNegative, warmup: Index = 0) -> float:
    """peak · min(1, step / warmup): a straight line up, and then level.

    Here and below the step is the number in the formula: 0 gives 0 where there is a warm-up, and `train`, which counts
    from 1, begins with peak / warmup.
    """
    return peak * _ramp(step, warmup)


@checked
def warmup_inverse_sqrt(step: Index, d: Size, warmup: Size = 4000, scale: float = 1.0) -> float:
    """scale · d^(−1/2) · min(step^(−1/2), step · warmup^(−3/2)) (Vaswani et al. 2017, eq. 3); step 0 gives 0."""
    return scale / math.sqrt(d) * min(1 / math.sqrt(max(step, 1)), step / warmup / math.sqrt(warmup))  # (11.31)


@checked
def warmup_linear(step: Index, peak: NonNegative, warmup: Index, total: Size, floor: NonNegative = 0.0) -> float:
    """peak · step / warmup up to step `warmup`, a line down to `floor` at step `total`, and `floor` from there on."""
    less_than("warmup_linear", total, "steps in all", warmup=warmup)
    if step <= warmup:
        return peak * _ramp(step, warmup)
    return floor + (peak - floor) * (1 - _past(step, warmup, total))  # (11.33)


@checked
def warmup_cosine(step: Index, peak: NonNegative, warmup: Index, total: Size, floor: NonNegative = 0.0) -> float:
    """As `warmup_linear`, but down along half a cosine (Loshchilov and Hutter 2017)."""
    less_than("warmup_cosine", total, "steps in all", warmup=warmup)
    if step <= warmup:
        return peak * _ramp(step, warmup)
    return floor + (peak - floor) * ((1 + math.cos(math.pi * _past(step, warmup, total))) / 2)  # (11.33)


def _ramp(step, warmup):
    return 1.0 if step >= warmup else step / warmup  # (11.32)


def _past(step, warmup, total):
    """The share of the way down that is done."""
    return min(1.0, (step - warmup) / (total - warmup))


def _next(state):
    return np.array(state["t"] + 1)


def _everywhere(params, mask):
    return map_tree(lambda p: True, params) if mask is None else mask


def _map(f, *trees):
    """map_tree; NumPy makes scalars of arrays without axes, and this makes them arrays again."""
    return map_tree(lambda *x: np.asarray(f(*x)), *trees)
