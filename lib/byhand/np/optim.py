"""Chapter 11: optimisers as functions, (params, grads, state) → (params, state); clipping, and learning rates by step.

θ stands for a leaf of `params`, g for its gradient. Trees go in and new trees come out; only `adamw_step_` writes into
them. The state holds t, the steps taken, and two trees: m, a mean of the gradients, and v, a mean of their squares.
"""

import math
from collections.abc import Callable

import numpy as np

from byhand import guard
from byhand.tree import flatten, map_tree, unflatten

EXEMPT = ("E", "table")  # what is looked up by row: a row should not be pulled to zero for being rare


def init_state(params: dict) -> dict:
    """{t: 0, m: zeros, v: zeros}; every leaf an array, so that it can be saved with the parameters."""
    guard.trees("init_state", params=params)
    return {"t": np.array(0)} | {name: map_tree(lambda x: np.zeros(x.shape, x.dtype), params) for name in "mv"}


def sgd_step(params: dict, grads: dict, state: dict, lr: float) -> tuple[dict, dict]:
    """θ ← θ − lr · g."""
    (lr,), t = _begin("sgd_step", params, grads, state, lr=lr)
    return _map(lambda p, g: p - lr * g, params, grads), state | {"t": t}  # (11.13)


def momentum_step(
    params: dict, grads: dict, state: dict, lr: float, momentum: float = 0.9, nesterov: bool = False
) -> tuple[dict, dict]:
    """m ← μ m + g; θ ← θ − lr · m. With `nesterov`, θ ← θ − lr (g + μ m): one step ahead (Sutskever et al. 2013)."""
    (lr, mu), t = _begin("momentum_step", params, grads, state, lr=lr, momentum=momentum)
    m = _map(lambda m, g: mu * m + g, state["m"], grads)  # (11.15)
    step = _map(lambda m, g: g + mu * m, m, grads) if nesterov else m  # (11.17)
    return _map(lambda p, s: p - lr * s, params, step), state | {"t": t, "m": m}


def rmsprop_step(
    params: dict, grads: dict, state: dict, lr: float, alpha: float = 0.99, eps: float = 1e-8
) -> tuple[dict, dict]:
    """v ← α v + (1 − α) g²; θ ← θ − lr · g / (√v + ε) (Tieleman and Hinton 2012)."""
    (lr, alpha, eps), t = _begin("rmsprop_step", params, grads, state, lr=lr, alpha=alpha, eps=eps)
    v = _map(lambda v, g: alpha * v + (1 - alpha) * (g * g), state["v"], grads)  # (11.18), (11.19)
    return _map(lambda p, g, v: p - lr * (g / (np.sqrt(v) + eps)), params, grads, v), state | {"t": t, "v": v}


def adam_step(
    params: dict, grads: dict, state: dict, lr: float, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8
) -> tuple[dict, dict]:
    """θ ← θ − lr · m̂ / (√v̂ + ε) (Kingma and Ba 2015, algorithm 1): steps of about lr, whatever the gradients' scale.

    m̂ = m / (1 − β₁ᵗ) and v̂ = v / (1 − β₂ᵗ) undo the pull of the zeros that m and v start from.
    """
    (lr, beta1, beta2, eps), t = _begin("adam_step", params, grads, state, lr=lr, beta1=beta1, beta2=beta2, eps=eps)
    c1, c2 = 1 - beta1 ** t.item(), 1 - beta2 ** t.item()  # (11.23)
    m = _map(lambda m, g: beta1 * m + (1 - beta1) * g, state["m"], grads)  # (11.20)
    v = _map(lambda v, g: beta2 * v + (1 - beta2) * (g * g), state["v"], grads)  # (11.20)
    params = _map(lambda p, m, v: p - lr * (m / c1 / (np.sqrt(v / c2) + eps)), params, m, v)  # (11.24)
    return params, {"t": t, "m": m, "v": v}


def adam_l2_step(
    params: dict,
    grads: dict,
    state: dict,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    decay: float = 0.01,
    mask: dict | None = None,
) -> tuple[dict, dict]:
    """Adam on L + λ/2 ‖θ‖²: λθ is added to g, so √v̂ divides it too, and leaves with large gradients hardly decay."""
    (decay,), _ = _begin("adam_l2_step", params, grads, state, decay=decay)
    grads = _map(lambda g, p, on: g + decay * p if on else g, grads, params, _everywhere(params, mask))  # (11.29)
    return adam_step(params, grads, state, lr, beta1, beta2, eps)


def adamw_step(
    params: dict,
    grads: dict,
    state: dict,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    decay: float = 0.01,
    mask: dict | None = None,
) -> tuple[dict, dict]:
    """θ ← θ − lr (m̂ / (√v̂ + ε) + λθ) (Loshchilov and Hutter 2019); λ = `decay` where `mask` is True, or everywhere."""
    (rate, decay), _ = _begin("adamw_step", params, grads, state, lr=lr, decay=decay)
    moved, state = adam_step(params, grads, state, lr, beta1, beta2, eps)
    pull = rate * decay  # (11.30)
    return _map(lambda new, p, on: new - pull * p if on else new, moved, params, _everywhere(params, mask)), state


def adamw_step_(
    params: dict,
    grads: dict,
    state: dict,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    decay: float = 0.01,
    mask: dict | None = None,
) -> None:
    """`adamw_step` to the last bit, but written into `params` and `state`, in the memory that they have."""
    (lr, beta1, beta2, eps, decay), t = _begin(
        "adamw_step_", params, grads, state, lr=lr, beta1=beta1, beta2=beta2, eps=eps, decay=decay)
    c1, c2, pull = 1 - beta1 ** t.item(), 1 - beta2 ** t.item(), lr * decay  # (11.23)

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


def decay_mask(params: dict, exempt: tuple[str, ...] = EXEMPT) -> dict:
    """A tree of bools: True for matrices that multiply; False for biases, gains and what `exempt` names in its path."""
    def decays(path, x):
        *_, name = parts = path.split(".")
        return x.ndim >= 2 and name != "b" and not name.startswith("b_") and not set(parts) & set(exempt)

    return unflatten({path: decays(path, x) for path, x in flatten(params).items()})


def clip_by_global_norm(grads: dict, limit: float) -> tuple[dict, float]:
    """(grads · limit / norm if norm > limit, norm): one norm over all leaves, so the direction stays (Pascanu 2013)."""
    guard.trees("clip_by_global_norm", grads=grads)
    guard.finite("clip_by_global_norm", **{f"grads.{name}": g for name, g in flatten(grads).items()})
    guard.number("clip_by_global_norm", low=0, limit=limit)
    norm = math.sqrt(sum(float(np.square(g, dtype=np.float64).sum()) for g in flatten(grads).values()))
    return (_map(lambda g: float(limit) / norm * g, grads) if norm > limit else grads), norm  # (11.34)


def constant(step: int, peak: float, warmup: int = 0) -> float:
    """peak, after a straight line up to it over the first `warmup` steps. Here and below, steps count from 1."""
    return peak * _ramp("constant", step, warmup, peak=peak)


def warmup_inverse_sqrt(step: int, d: int, warmup: int = 4000, scale: float = 1.0) -> float:
    """scale · d^(−1/2) · min(step^(−1/2), step · warmup^(−3/2)) (Vaswani et al. 2017, eq. 3)."""
    guard.count("warmup_inverse_sqrt", step=step, d=d, warmup=warmup)
    guard.number("warmup_inverse_sqrt", scale=scale)
    return float(scale) / math.sqrt(d) * min(1 / math.sqrt(step), step / warmup / math.sqrt(warmup))  # (11.31)


def warmup_linear(step: int, peak: float, warmup: int, total: int, floor: float = 0.0) -> float:
    """A line up to `peak` at step `warmup`, a line down to `floor` at step `total`, and `floor` from there on."""
    return _down("warmup_linear", step, peak, warmup, total, floor, lambda x: 1 - x)


def warmup_cosine(step: int, peak: float, warmup: int, total: int, floor: float = 0.0) -> float:
    """As `warmup_linear`, but down along half a cosine (Loshchilov and Hutter 2017)."""
    return _down("warmup_cosine", step, peak, warmup, total, floor, lambda x: (1 + math.cos(math.pi * x)) / 2)


def _ramp(where, step, warmup, **rates):
    guard.count(where, step=step)
    guard.count(where, low=0, warmup=warmup)
    guard.within(where, 0, math.inf, **rates)
    return 1.0 if step >= warmup else step / warmup  # (11.32)


def _down(where, step, peak, warmup, total, floor, shape: Callable):
    up = _ramp(where, step, warmup, peak=peak, floor=floor)
    guard.count(where, low=warmup + 1, total=total)
    if step <= warmup:
        return peak * up
    return floor + (peak - floor) * shape(min(1.0, (step - warmup) / (total - warmup)))  # (11.33)


def _begin(where, params, grads, state, **scalars):
    """Refuse what does not fit. Gives Python floats, since a NumPy scalar would widen float32, and the next t."""
    guard.state(where, state, "m", "v")
    guard.trees(where, params=params, grads=grads, m=state["m"], v=state["v"])
    guard.finite(where, **{f"grads.{name}": g for name, g in flatten(grads).items()})
    for name, x in scalars.items():
        guard.within(where, 0, math.inf if name in ("lr", "eps", "decay") else 1, **{name: x})
    return [float(x) for x in scalars.values()], np.array(state["t"].item() + 1)


def _everywhere(params, mask):
    return map_tree(lambda p: True, params) if mask is None else mask


def _map(f, *trees):
    """map_tree; NumPy makes scalars of arrays without axes, and this makes them arrays again."""
    return map_tree(lambda *x: np.asarray(f(*x)), *trees)
