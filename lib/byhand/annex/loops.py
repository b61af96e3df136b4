"""Chapter 16: each layer's chain of small steps as one loop over rows, compiled by Numba where it is installed.

NumPy reads and writes a whole array for every + and ×; here a row stays in the cache until all is done to it. Arrays
are float32 with two axes, rows first, and are written in place. The interpreter is free meanwhile, so threads can share
the rows. Without Numba a loop is a Python function with the same numbers, a thousand times slower.
"""

import importlib.util
import math

import numpy as np

from byhand.np.block import TANH_CUBE, TANH_SCALE

HAVE_NUMBA = importlib.util.find_spec("numba") is not None
SUMS = {"reassoc", "contract", "arcp", "nsz"}  # sums in any order, 16 numbers at a time
ZERO, HALF, ONE, THREE = (np.float32(x) for x in (0, 0.5, 1, 3))  # a Python number would make float64 of the rest
LOG2_E = np.float32(1 / math.log(2))
LN2 = np.float32(0.693145751953125), np.float32(1.428606765330187e-06)  # two parts: k times the first is exact
FACTORS = tuple(np.float32(x) for x in (1 / 6, 0.041665795894, 0.0083334519073, 0.0013981999507, 0.00019875691500))
LEAST = np.finfo(np.float32).min
FAR = np.float32(80)  # e^-80 = 2e-35: nothing, beside a sum that has a one in it
ONCE, CUBE = np.float32(2 * TANH_SCALE), np.float32(2 * TANH_SCALE * TANH_CUBE)


def compiled(loop=None, *, flags=SUMS):
    """The loop as machine code, made at the first call of a process or read from where Numba keeps it.

    That is __pycache__ beside this file or the folder that NUMBA_CACHE_DIR names; where neither can be written, memory.
    """
    if loop is None:
        return lambda loop: compiled(loop, flags=flags)
    if not HAVE_NUMBA:
        return loop
    import numba

    options = {"nogil": True, "error_model": "numpy", "fastmath": flags}
    try:
        return numba.njit(cache=True, **options)(loop)
    except RuntimeError:  # no place for a cache
        return numba.njit(**options)(loop)


@compiled(flags={"contract"})
def exp(x):
    """eˣ = 2ᵏ eʳ from −80 to 80, beyond which it stays level: k is whole, r within ± ln 2 / 2, and eʳ a polynomial."""
    x = min(max(x, -FAR), FAR)
    k = np.floor(x * LOG2_E + HALF)
    r = (x - k * LN2[0]) - k * LN2[1]
    c3, c4, c5, c6, c7 = FACTORS  # of r³ … r⁷, near 1 / 3! … 1 / 7!
    p = ((((c7 * r + c6) * r + c5) * r + c4) * r + c3) * r + HALF
    power = np.int32((np.int32(k) + np.int32(127)) << np.int32(23)).view(np.float32)  # the bits of 2ᵏ
    return (p * (r * r) + (r + ONE)) * power


@compiled
def largest(s, stop):
    """The maximum of the first `stop` numbers, by their bits: compilers take 16 whole numbers at a time, and floats one
    by one. As whole numbers the bits have the same order once those of a negative number, but for its sign, are turned.
    """
    bits, turned = s.view(np.int32), np.int32(0x7FFFFFFF)
    top = ~turned
    for j in range(stop):
        top = max(top, bits[j] ^ ((bits[j] >> np.int32(31)) & turned))
    return np.int32(top ^ ((top >> np.int32(31)) & turned)).view(np.float32)


@compiled
def softmax_rows(S, scale, n):
    """Each row becomes softmax(scale · row), scale > 0; with n > 0, query i of each n sees its first i + 1 keys."""
    for i in range(S.shape[0]):
        s = S[i]
        stop = i % n + 1 if n else len(s)
        top = largest(s, stop)
        total = ZERO
        for j in range(stop):
            s[j] = exp(scale * (s[j] - top))
            total += s[j]
        for j in range(stop):
            s[j] *= ONE / total
        for j in range(stop, len(s)):
            s[j] = ZERO


@compiled
def masked_softmax_rows(S, mask):
    """Each row becomes the softmax over the keys where mask is True; a row with none becomes 0."""
    for i in range(S.shape[0]):
        s, on = S[i], mask[i]
        for j in range(len(s)):
            s[j] = s[j] if on[j] else LEAST
        top = largest(s, len(s))
        total = ZERO
        for j in range(len(s)):
            s[j] = exp(s[j] - top) if on[j] else ZERO
            total += s[j]
        for j in range(len(s)):
            s[j] *= ONE / total if total else ZERO


@compiled
def softmax_back_rows(dA, A, scale):
    """dA becomes scale · A ∘ (dA − rowsum(A ∘ dA)), the gradient of the scores."""
    for i in range(A.shape[0]):
        a, d = A[i], dA[i]
        along = ZERO
        for j in range(len(a)):
            along += a[j] * d[j]
        for j in range(len(a)):
            d[j] = scale * a[j] * (d[j] - along)


@compiled
def norm_rows(X, Y, b, gamma, beta, eps, centred, X_hat, r, out):
    """X += Y + b, then out = γ ∘ X̂ + β with X̂ = (X − μ) r and r = 1 / √(σ² + ε); without `centred`, μ is 0."""
    width = np.float32(X.shape[1])
    for i in range(X.shape[0]):
        x, y, hat, o = X[i], Y[i], X_hat[i], out[i]
        mean = ZERO
        for j in range(len(gamma)):
            x[j] += y[j] + b[j]
            mean += x[j]
        mean = mean / width if centred else ZERO
        var = ZERO
        for j in range(len(gamma)):
            hat[j] = x[j] - mean
            var += hat[j] * hat[j]
        r[i] = ONE / np.sqrt(var / width + eps)
        for j in range(len(gamma)):
            hat[j] *= r[i]
            o[j] = gamma[j] * hat[j] + beta[j]


@compiled
def norm_back_rows(dY, X_hat, r, gamma, centred, dX, dgamma, dbeta):
    """dX += (g − mean g − X̂ mean(g ∘ X̂)) r with g = γ ∘ dY; without `centred`, no mean g. dγ and dβ are added to."""
    width = np.float32(dX.shape[1])
    for i in range(dX.shape[0]):
        y, hat, x = dY[i], X_hat[i], dX[i]
        mean, along = ZERO, ZERO
        for j in range(len(gamma)):
            g = gamma[j] * y[j]
            mean += g
            along += g * hat[j]
            dgamma[j] += y[j] * hat[j]
            dbeta[j] += y[j]
        mean = mean / width if centred else ZERO
        along /= width
        for j in range(len(gamma)):
            x[j] += (gamma[j] * y[j] - mean - hat[j] * along) * r[i]


@compiled
def gelu_rows(U, b, slope):
    """U becomes x σ(v), where x = U + b and v = 2κ(x + νx³), and slope its derivative σ + x σ (1 − σ) v'."""
    for i in range(U.shape[0]):
        u, s = U[i], slope[i]
        for j in range(len(b)):
            x = u[j] + b[j]
            square = x * x
            gate = ONE / (ONE + exp(-x * (ONCE + CUBE * square)))
            y = x * gate
            u[j] = y
            s[j] = gate + (y - y * gate) * (ONCE + THREE * CUBE * square)


@compiled
def relu_rows(U, b, slope):
    """U becomes max(x, 0), where x = U + b, and slope its derivative."""
    for i in range(U.shape[0]):
        u, s = U[i], slope[i]
        for j in range(len(b)):
            x = u[j] + b[j]
            s[j] = ONE if x > ZERO else ZERO
            u[j] = max(x, ZERO)


@compiled
def slope_back_rows(dY, slope, db):
    """dY becomes dY ∘ slope, the gradient of what went in; its sum over rows is added to db."""
    for i in range(dY.shape[0]):
        y, s = dY[i], slope[i]
        for j in range(len(db)):
            y[j] *= s[j]
            db[j] += y[j]


@compiled
def cross_entropy_rows(S, targets, count):
    """−Σ log softmax(S)[target] / count; S becomes the gradient of that, (softmax(S) − one-hot) / count."""
    loss, share = 0.0, ONE / np.float32(count)
    for i in range(S.shape[0]):
        s = S[i]
        top = largest(s, len(s))
        at_target = s[targets[i]] - top
        total = ZERO
        for j in range(len(s)):
            s[j] = exp(s[j] - top)
            total += s[j]
        for j in range(len(s)):
            s[j] *= share / total
        s[targets[i]] -= share
        loss += math.log(total) - at_target
    return loss / count


@compiled
def dropout_add_rows(X, Y, draws, p):
    """X += Y / (1 − p) where the draw from [0, 1) is at least p: what is left of a sublayer joins the stream."""
    keep = ONE / (ONE - p)
    for i in range(X.shape[0]):
        x, y, u = X[i], Y[i], draws[i]
        for j in range(len(x)):
            x[j] += y[j] * keep if u[j] >= p else ZERO


@compiled
def dropout_back_rows(dX, draws, p, dY):
    """dY is the gradient of what was dropped from and joined: dX / (1 − p) where the draw was at least p, else 0."""
    keep = ONE / (ONE - p)
    for i in range(dX.shape[0]):
        x, u, y = dX[i], draws[i], dY[i]
        for j in range(len(x)):
            y[j] = x[j] * keep if u[j] >= p else ZERO


@compiled
def scatter_rows(dE, ids, dX):
    """dE[id] += the row of dX, for every token."""
    for i in range(len(ids)):
        e, x = dE[ids[i]], dX[i]
        for j in range(len(x)):
            e[j] += x[j]


@compiled
def adamw_run(p, g, m, v, lr, beta1, rest1, c1, beta2, rest2, c2, eps, pull):
    """AdamW on a run of numbers, with rest = 1 − β and c = 1 − βᵗ: one pass reads p, g, m, v and writes p, m, v."""
    for i in range(len(p)):
        m[i] = beta1 * m[i] + rest1 * g[i]
        v[i] = beta2 * v[i] + rest2 * (g[i] * g[i])
        p[i] -= lr * (m[i] / c1) / (np.sqrt(v[i] / c2) + eps) + pull * p[i]
