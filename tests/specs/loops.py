# ruff: noqa: E501
"""Proofs of the fused loops: each is a chapter's function, compiled and as Python, at sizes that no vector divides."""

import inspect
from types import SimpleNamespace

import numpy as np
from byhand.np.block import activation_backward, activation_forward, dropout_backward, dropout_forward
from byhand.np.linear import scatter_add_forward
from byhand.np.loss import cross_entropy_backward, cross_entropy_forward
from byhand.np.norm import layer_norm_backward, layer_norm_forward, rms_norm_backward, rms_norm_forward
from byhand.np.optim import adamw_step, init_state
from byhand.np.softmax import SoftmaxCache, softmax_backward, softmax_forward
from invariants import near
from mutants import M

SIZES = ((1, 1), (2, 3), (7, 19), (5, 37))  # rows, numbers in a row
UNIT = np.float32(1)


def versions(module):
    """The loops as Python, and, of the module itself, as Numba compiles them."""
    python = SimpleNamespace(**vars(module))
    for name, loop in list(vars(python).items()):
        if hasattr(loop, "py_func"):
            setattr(python, name, loop.py_func)
    return [python] if module.__file__.startswith("<") else [python, module]


def draws(*shape, scale=1.0, seed=0):
    return (scale * np.random.default_rng([seed, *shape]).normal(size=shape)).astype(np.float32)


def as64(*arrays):
    return [x.astype(np.float64) for x in arrays]


def exponential(module):
    """Within 1.6e-7 of itself where e^x is normal; level beyond 80, so that no power of two leaves its bits."""
    x = np.concatenate([np.linspace(-80, 80, 777), [0, 1e-8, -1e-8, 0.3465, -0.3466]]).astype(np.float32)
    for loops in versions(module):
        found = np.array([loops.exp(y) for y in x])
        near(found / np.exp(x.astype(np.float64)), np.ones_like(x), "e^x", 1.6e-7)
        assert loops.exp(np.float32(0)) == 1
        for far in (81, 300, 1e30):
            assert loops.exp(np.float32(far)) == loops.exp(np.float32(80))
            assert 0 <= loops.exp(np.float32(-far)) < 1e-34


def maximum(module):
    """Of the first numbers alone, whatever their signs and sizes, zeros of both signs among them."""
    for loops in versions(module):
        for s in (draws(37), -np.abs(draws(19)), np.float32([-1e-40, -3e38]), np.float32([-0.0, 0.0, -2]), np.float32([1e-40, 2e38, -1])):
            for stop in range(1, len(s) + 1):
                assert loops.largest(s.copy(), stop) == s[:stop].max()


def softmax(module):
    """With a scale, with scores that e^x cannot hold, for all keys, for those before, and where a mask says so."""
    for loops in versions(module):
        for rows, m in SIZES:
            for scale in (1.0, 0.25):
                S = draws(rows, m, scale=3) + 300 * draws(rows, 1)
                S[:, -2:] += 400  # the maximum counts, whichever key it is
                found = S.copy()
                loops.softmax_rows(found, np.float32(scale), 0)
                near(found, softmax_forward(np.float32(scale) * S.astype(np.float64))[0], "softmax", 2e-6)
            mask = np.random.default_rng(m).random((rows, m)) < 0.5
            mask[0] = False
            found = S.copy()
            loops.masked_softmax_rows(found, mask)
            near(found, softmax_forward(S.astype(np.float64), mask)[0], "masked softmax", 2e-6)
            assert not found[~mask].any()
        S = draws(3, 6, 6, scale=2)
        found = S.reshape(-1, 6).copy()
        loops.softmax_rows(found, np.float32(0.5), 6)
        near(found.reshape(S.shape), softmax_forward(0.5 * S.astype(np.float64), np.tri(6, dtype=bool))[0], "causal", 1e-6)
        assert not found.reshape(S.shape)[:, ~np.tri(6, dtype=bool)].any()


def softmax_back(module):
    for loops in versions(module):
        for rows, m in SIZES:
            A, dA = softmax_forward(draws(rows, m))[0], draws(rows, m, seed=1)
            found = dA.copy()
            loops.softmax_back_rows(found, A, np.float32(0.3))
            A, dA = as64(A, dA)
            near(found, 0.3 * softmax_backward(dA, SoftmaxCache(A)), "dS", 1e-6)


def norms(module):
    """LayerNorm and RMSNorm of what has joined the stream; the backward adds to what is there."""
    for loops in versions(module):
        for rows, d in SIZES[1:]:
            X, Y, dY, dX = (draws(rows, d, seed=k) for k in range(4))
            b, gamma, beta, dgamma, dbeta = (draws(d, seed=k) for k in range(5))
            for centred in (True, False):
                stream, X_hat, r, out, back = X.copy(), X * 0 + 9, X[:, 0] * 0, X * 0 + 9, dX.copy()
                some, other = dgamma.copy(), dbeta.copy()
                loops.norm_rows(stream, Y, b, gamma, beta, np.float32(0.01), centred, X_hat, r, out)
                loops.norm_back_rows(dY, X_hat, r, gamma, centred, back, some, other)
                near(stream, X + Y + b, "the stream", 1e-6)
                joined, g, e, dy = as64(stream, gamma, beta, dY)
                if centred:
                    right, cache = layer_norm_forward(joined, g, e, 0.01)
                    dx, dg, db = layer_norm_backward(dy, cache)
                else:
                    right, cache = rms_norm_forward(joined, g, 0.01)
                    right, (dx, dg), db = right + e, rms_norm_backward(dy, cache), dy.sum(axis=0)
                for what, a, c in (("Y", out, right), ("dX", back - dX, dx), ("dγ", some - dgamma, dg), ("dβ", other - dbeta, db)):
                    near(a, c, what, 1e-5)


def activations(module):
    """GELU to where it is 0 and x; the slope is that of the chapter's backward, and db is added to."""
    for loops in versions(module):
        for rows, wide in SIZES:
            U, dY = draws(rows, wide, scale=4) + np.float32(30) * (draws(rows, wide, seed=2) > 1), draws(rows, wide, seed=1)
            b, db = draws(wide, seed=3), draws(wide, seed=4)
            for loop, name in ((loops.gelu_rows, "gelu_tanh"), (loops.relu_rows, "relu")):
                found, slope, dU, some = U.copy(), U * 0 + 9, dY.copy(), db.copy()
                loop(found, b, slope)
                loops.slope_back_rows(dU, slope, some)
                x, dy = as64(U + b, dY)
                right, cache = activation_forward(x, name)
                dx = activation_backward(dy, cache)
                near(found, right, name, 1e-5)
                near(dU, dx, f"its slope, {name}", 1e-5)
                near(some - db, dx.sum(axis=0), "db", 2e-5)


def cross_entropy(module):
    """A share of a mean over more tokens than there are here, and the gradient of it."""
    for loops in versions(module):
        for rows, V in SIZES:
            S, targets = draws(rows, V, scale=3) + 200 * draws(rows, 1), np.random.default_rng(V).integers(0, V, rows)
            found = S.copy()
            loss = loops.cross_entropy_rows(found, targets, 2 * rows)
            right, cache = cross_entropy_forward(S.astype(np.float64), targets)
            near(loss, right / 2, "loss", 1e-5)
            near(found, cross_entropy_backward(0.5, cache), "dS", 1e-6)


def dropout(module):
    """The draws of the chapter's dropout, and what they leave joins the stream; a draw that is p is kept."""
    for loops in versions(module):
        for rows, d in SIZES:
            X, Y, dX = (draws(rows, d, seed=k) for k in range(3))
            for p in (0.0, 0.3):
                u = np.random.default_rng(d).random(X.shape, dtype=np.float32)
                found, back = X.copy(), Y * 0 + 9
                loops.dropout_add_rows(found, Y, u, np.float32(p))
                loops.dropout_back_rows(dX, u, np.float32(p), back)
                right, cache = dropout_forward(Y, p, np.random.default_rng(d))
                near(found, X + right, "the stream", 1e-6)
                near(back, dropout_backward(dX, cache), "dY", 1e-6)
        found = np.zeros((1, 1), np.float32)
        loops.dropout_add_rows(found, found + 1, found + UNIT / 2, np.float32(0.5))
        assert found[0, 0] == 2


def scatter(module):
    for loops in versions(module):
        dE, ids, dX = draws(5, 3), np.array([4, 0, 4, 4]), draws(4, 3)
        found = dE.copy()
        loops.scatter_rows(found, ids, dX)
        near(found, dE + scatter_add_forward(dX, ids, 5)[0], "dE", 1e-6)


def adamw(module):
    """Three steps from moments that are there, with decay."""
    for loops in versions(module):
        p, state = {"x": draws(41)}, init_state({"x": draws(41)})
        found, m, v = p["x"].copy(), np.zeros(41, np.float32), np.zeros(41, np.float32)
        for t in (1, 2, 3):
            g, lr, decay = draws(41, seed=t), 0.1 / t, 0.3
            p, state = adamw_step(p, {"x": g}, state, lr, (0.8, 0.99), 1e-3, decay)
            loops.adamw_run(found, g, m, v, *np.float32(
                [lr, 0.8, 1 - 0.8, 1 - 0.8**t, 0.99, 1 - 0.99, 1 - 0.99**t, 1e-3, lr * decay]))
        for a, b, what in ((found, p["x"], "θ"), (m, state["m"]["x"], "m"), (v, state["v"]["x"], "v")):
            near(a, b, what, 1e-6)


def nothing_has_an_annotation(module):
    """With one, pytest's shape check would stand between Numba and the loop."""
    for loops in versions(module)[:1]:
        for name, loop in vars(loops).items():
            if name.endswith("_rows"):
                assert not inspect.unwrap(loop).__annotations__, name
                assert inspect.unwrap(loop).__doc__, name


INVARIANTS = {"annex.loops": [exponential, maximum, softmax, softmax_back, norms, activations, cross_entropy, dropout, scatter, adamw,
                              nothing_has_an_annotation]}

WRONG = [
    M("annex.loops.exp", "invariant", "ln 2 in one part of few digits", "- k * LN2[1]", ""),
    M("annex.loops.exp", "invariant", "r by the lower whole number", "x * LOG2_E + HALF", "x * LOG2_E"),
    M("annex.loops.exp", "invariant", "a polynomial without its last term", "(((c7 * r + c6) * r", "((c6 * r"),
    M("annex.loops.exp", "invariant", "large numbers past the largest power", "min(max(x, -FAR), FAR)", "max(x, -FAR)"),
    M("annex.loops.exp", "invariant", "small numbers past the smallest power", "min(max(x, -FAR), FAR)", "min(x, FAR)"),
    M("annex.loops.softmax_rows", "invariant", "maximum of the first two", "largest(s, stop)", "largest(s, min(2, stop))"),
    M("annex.loops.largest", "invariant", "all but the first", "range(stop)", "range(1, stop)"),
    M("annex.loops.largest", "invariant", "bits of negative numbers as they are", "bits[j] ^ ((bits[j] >> np.int32(31)) & turned)", "bits[j]"),
    M("annex.loops.largest", "invariant", "the largest not turned back", "np.int32(top ^ ((top >> np.int32(31)) & turned))", "np.int32(top)"),
    M("annex.loops.softmax_rows", "invariant", "no maximum taken off", "(s[j] - top)", "s[j]"),
    M("annex.loops.softmax_rows", "invariant", "scaled before the maximum alone", "exp(scale * (s[j] - top))", "exp(s[j] - top)"),
    M("annex.loops.softmax_rows", "invariant", "sees the next key", "i % n + 1 if n", "min(i % n + 2, n) if n"),
    M("annex.loops.softmax_rows", "invariant", "keys after it keep their scores", "            s[j] = ZERO\n", "            pass\n"),
    M("annex.loops.masked_softmax_rows", "invariant", "a row with none divides by zero", "ONE / total if total else ZERO", "ONE / (total + ZERO)"),
    M("annex.loops.masked_softmax_rows", "invariant", "masked keys weigh e^0", "if on[j] else ZERO\n            total", "if on[j] else ONE\n            total"),
    M("annex.loops.softmax_back_rows", "invariant", "Jacobian: diagonal only", "(d[j] - along)", "d[j]"),
    M("annex.loops.softmax_back_rows", "invariant", "scale forgotten", "scale * a[j]", "a[j]"),
    M("annex.loops.norm_rows", "invariant", "the bias does not join", "y[j] + b[j]", "y[j]"),
    M("annex.loops.norm_rows", "invariant", "ε outside the root", "ONE / np.sqrt(var / width + eps)", "ONE / (np.sqrt(var / width) + eps)"),
    M("annex.loops.norm_rows", "invariant", "RMSNorm takes the mean away", "if centred else ZERO", "if centred or True else ZERO"),
    M("annex.loops.norm_rows", "invariant", "β forgotten", "+ beta[j]", ""),
    M("annex.loops.norm_back_rows", "invariant", "γ outside the means", "along += g * hat[j]", "along += y[j] * hat[j]"),
    M("annex.loops.norm_back_rows", "invariant", "mean of g kept", "- mean - hat", "- hat"),
    M("annex.loops.norm_back_rows", "invariant", "written, not added", "x[j] += (gamma", "x[j] = (gamma"),
    M("annex.loops.norm_back_rows", "invariant", "dβ of the last row only", "dbeta[j] += y[j]", "dbeta[j] = y[j]"),
    M("annex.loops.gelu_rows", "invariant", "cube of what is inside without its 3", "THREE * CUBE", "CUBE"),
    M("annex.loops.gelu_rows", "invariant", "slope: σ alone", "gate + (y - y * gate)", "gate + ZERO * (y - y * gate)"),
    M("annex.loops.gelu_rows", "invariant", "bias forgotten", "x = u[j] + b[j]", "x = u[j]"),
    M("annex.loops.gelu_rows", "invariant", "minus forgotten", "exp(-x *", "exp(x *"),
    M("annex.loops.relu_rows", "invariant", "slope everywhere one", "ONE if x > ZERO else ZERO", "ONE"),
    M("annex.loops.slope_back_rows", "invariant", "db before the slope", "            y[j] *= s[j]\n            db[j] += y[j]", "            db[j] += y[j]\n            y[j] *= s[j]"),
    M("annex.loops.cross_entropy_rows", "invariant", "mean over these rows", "ONE / np.float32(count)", "ONE / np.float32(S.shape[0])"),
    M("annex.loops.cross_entropy_rows", "invariant", "target not taken off", "        s[targets[i]] -= share\n", ""),
    M("annex.loops.cross_entropy_rows", "invariant", "score of the target with the maximum in it", "s[targets[i]] - top", "s[targets[i]]"),
    M("annex.loops.dropout_add_rows", "invariant", "a draw that is p is dropped", "u[j] >= p", "u[j] > p"),
    M("annex.loops.dropout_add_rows", "invariant", "what is kept is not scaled", "y[j] * keep", "y[j]"),
    M("annex.loops.dropout_back_rows", "invariant", "the others are kept", "u[j] >= p", "u[j] < p"),
    M("annex.loops.scatter_rows", "invariant", "a repeated word counts once", "e[j] += x[j]", "e[j] = x[j]"),
    M("annex.loops.adamw_run", "invariant", "ε inside the root", "(np.sqrt(v[i] / c2) + eps)", "np.sqrt(v[i] / c2 + eps)"),
    M("annex.loops.adamw_run", "invariant", "v without its square", "(g[i] * g[i])", "g[i]"),
    M("annex.loops.adamw_run", "invariant", "decay forgotten", " + pull * p[i]", ""),
    M("annex.loops.adamw_run", "invariant", "m not corrected", "(m[i] / c1)", "m[i]"),
    M("annex.loops.softmax_rows", "invariant", "an annotation that pytest would hold", "def softmax_rows(S, scale, n)", "def softmax_rows(S: \"array\", scale, n)"),
]
