# ruff: noqa: E501
"""Proofs of the fused tiles: attention and its gradients in float32, at sizes that no tile divides, and np.flash without Numba."""

import os
import re
import warnings

import numpy as np
from byhand.annex.loops import HAVE_NUMBA
from byhand.np.attention import attention_backward, attention_forward
from byhand.np.flash import flash_attention_forward
from invariants import arrays, near, raises, same
from mutants import M
from proofs import as_shipped

COMPILED = HAVE_NUMBA or "CI" in os.environ  # without Numba the functions are those of np.flash
# leading axes, n, m, d_k, d_v, block, causal, scale, how large Q is
CASES = (((), 7, 7, 3, 5, 4, True, None, 1), ((2,), 5, 9, 4, 2, 3, False, None, 1), ((2, 3), 9, 9, 2, 4, 4, True, -0.7, 5),
         ((), 6, 11, 8, 3, 64, False, 0.5, 60), ((3,), 1, 1, 1, 1, 1, True, None, 1), ((), 33, 33, 4, 3, 16, True, 2.0, 9), ((2,), 20, 20, 4, 3, 8, True, None, 2.5), ((), 13, 22, 3, 3, 5, False, -1.5, 2), ((), 6, 11, 8, 3, 4, False, -0.5, 60))


def drawn(lead, n, m, d_k, d_v, large):
    draw = np.random.default_rng([n, m, d_k, d_v])
    shapes = ((*lead, n, d_k), (*lead, m, d_k), (*lead, m, d_v), (*lead, n, d_v))
    Q, K, V, dO = (draw.normal(size=shape).astype(np.float32) for shape in shapes)
    return large * Q, K, V, dO


def both_ways_are_attention(module):
    """Also with scores in the hundreds, whose maxima grow from tile to tile, and with a negative scale."""
    for lead, n, m, d_k, d_v, block, causal, scale, large in CASES:
        Q, K, V, dO = drawn(lead, n, m, d_k, d_v, large)
        for x in (Q, K, V, dO):
            x.flags.writeable = False
        mask = np.tri(n, dtype=bool) if causal else None
        right, cache = attention_forward(*(x.astype(np.float64) for x in (Q, K, V)), mask, scale)
        grads = attention_backward(dO.astype(np.float64), cache)
        for threads in (1, 3):
            O, cache = module.tiled_attention_forward(Q, K, V, causal, scale, block, threads)
            assert O.dtype == cache.L.dtype == np.float32
            near(O, right, f"O of {n} × {m}", 2e-6 * large)
            near(cache.L, flash_attention_forward(Q, K, V, None, scale, causal, block)[1].L, "L", 1e-6 * large * max(1, abs(scale or 1)) * 4)
            for name, x, y in zip("QKV", module.tiled_attention_backward(dO, cache, threads), grads, strict=True):
                near(x, y, f"d{name} of {n} × {m}", 2e-5 * np.abs(y).max() * large)


def powers_of_two(module):
    """To a part in ten million, over all exponents that float32 has but the ends; whole powers to the last bit."""
    x = np.concatenate([np.linspace(-125.4, 125.4, 999), np.arange(-125, 126), [0.5, -0.5, 1e-8]]).astype(np.float32)
    S = x[None].copy()
    module.weigh_small_rows(S, len(x), np.zeros(1, np.float32))
    near(S[0] / np.exp2(x.astype(np.float64)), np.ones_like(x), "2^x", 1e-7)
    whole = x == np.round(x)
    same(S[0][whole], np.exp2(x[whole]), "2^x of whole numbers")


def queries_of_both_kinds_share_a_call(module):
    """The first tiles need no maximum, the last do; one has a norm that float32 does not hold, and one great keys."""
    Q, K, V, dO = drawn((3,), 12, 9, 4, 3, 1)
    Q[:2, 4:8] *= 100
    K[2] *= 100
    Q[1, 8:] *= np.float32(1e18)
    K[1] *= np.float32(1e-18)
    K[1, 0, 0] = 30
    Q[1, :8, 0] = 0
    Q[1, 8:, 0] = 1e-18
    right, cache = attention_forward(*(x.astype(np.float64) for x in (Q, K, V)))
    grads = attention_backward(dO.astype(np.float64), cache)
    O, cache = module.tiled_attention_forward(Q, K, V, block=4)
    near(O, right, "O", 1e-4)
    for name, x, y in zip("QKV", module.tiled_attention_backward(dO, cache), grads, strict=True):
        for head in range(3):
            near(x[head], y[head], f"d{name} of head {head}", 2e-4 * np.abs(y[head]).max())


def the_cache_is_that_of_flash(module):
    """The backward of either takes the cache of either."""
    Q, K, V, dO = drawn((2,), 9, 9, 4, 3, 1)
    ours, theirs = module.tiled_attention_forward(Q, K, V, True, None, 4)[1], flash_attention_forward(Q, K, V, None, None, True, 4)[1]
    for x, y in zip(module.tiled_attention_backward(dO, ours), module.tiled_attention_backward(dO, theirs), strict=True):
        near(x, y, "gradients", 1e-5)


def runs_are_the_same_to_the_last_bit(module):
    Q, K, V, dO = drawn((3,), 9, 9, 4, 3, 1)
    found = []
    for threads in (1, 2, 3, 3):
        O, cache = module.tiled_attention_forward(Q, K, V, True, None, 4, threads)
        found.append(arrays((O, cache.L, *module.tiled_attention_backward(dO, cache, threads))))
    for other in found[1:]:
        for x, y in zip(found[0], other, strict=True):
            same(x, y, "two runs")


def what_it_cannot_do_is_refused_by_name(module):
    Q, K, V, dO = drawn((), 5, 7, 4, 3, 1)
    cache = flash_attention_forward(Q, K, V, np.ones((5, 7), bool))[1]
    with as_shipped():
        raises(ValueError, "5 queries and 7 keys", lambda: module.tiled_attention_forward(Q, K, V, True))
        raises(TypeError, "Q has dtype float64, expected float32", lambda: module.tiled_attention_forward(*map(np.float64, (Q, K, V))))
        raises(ValueError, "the cache has a mask, expected none", lambda: module.tiled_attention_backward(dO, cache))
        raises(ValueError, "expected", lambda: module.tiled_attention_backward(dO[:, :2], cache))
        raises(ValueError, "scores may reach", lambda: module.tiled_attention_forward(Q * np.float32(1e20), K * np.float32(1e20), V))


def without_numba_it_is_flash(module):
    """With a word of warning, both ways."""
    Q, K, V, dO = drawn((), 9, 9, 4, 3, 1)
    right, cache = flash_attention_forward(Q, K, V, None, None, True, 4)
    held, module.HAVE_NUMBA = module.HAVE_NUMBA, False
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            O, found = module.tiled_attention_forward(Q, K, V, True, None, 4)
            module.tiled_attention_backward(dO, found)
    finally:
        module.HAVE_NUMBA = held
    assert [bool(re.search("Numba is not installed.*pip install 'byhand.fused.'", str(w.message))) for w in said] == [True, True]
    same(O, right, "this and np.flash")
    same(found.L, cache.L, "this and np.flash")


INVARIANTS = {"annex.tiles": [without_numba_it_is_flash] + [
    both_ways_are_attention, powers_of_two, queries_of_both_kinds_share_a_call, the_cache_is_that_of_flash, runs_are_the_same_to_the_last_bit, what_it_cannot_do_is_refused_by_name] * COMPILED}

WRONG = [
    M("annex.tiles.tiled_attention_forward", "invariant", "no word without Numba", "        warnings.warn(WITHOUT, stacklevel=2)\n", ""),
] + [
    M("annex.tiles.weigh_rows", "invariant", "a query sees the next key", "first + i + 1), 0)", "first + i + 2), 0)"),
    M("annex.tiles.weigh_rows", "invariant", "hidden keys keep their scores", "            s[j] = ZERO\n", "            pass\n"),
    M("annex.tiles.weigh_rows", "invariant", "what was summed does not shrink", "y[j] *= keep", "y[j] *= keep / keep"),
    M("annex.tiles.weigh_rows", "invariant", "its weights do not shrink", "            l[i] *= keep\n", ""),
    M("annex.tiles.weigh_rows", "invariant", "the maximum of the last tile only", "max(m[i], largest(s, stop))", "largest(s, stop)"),
    M("annex.tiles.power", "invariant", "a polynomial without its last term", "(((((c6 * r + c5) * r", "((((c5 * r"),
    M("annex.tiles.power", "invariant", "eˣ, not 2ˣ", "c1, c2, c3, c4, c5, c6 = FACTORS", "c1, c2, c3, c4, c5, c6 = ONE, *FACTORS[1:]"),
    M("annex.tiles.power", "invariant", "the exponent left out", " + (np.float32(t).view(np.int32) << np.int32(23))", ""),
    M("annex.tiles.weigh_small_rows", "invariant", "small scores: a query sees the next key", "first + i + 1), 0)", "first + i + 2), 0)"),
    M("annex.tiles.weigh_small_rows", "invariant", "small scores: hidden keys keep their scores", "            s[j] = ZERO\n", "            pass\n"),
    M("annex.tiles.weigh_small_rows", "invariant", "the sum of the last tile only", "l[i] += total", "l[i] = total"),
    M("annex.tiles.weigh_back_small_rows", "invariant", "small scores: dS: diagonal only", "(d[j] - D[i])", "d[j]"),
    M("annex.tiles.weigh_back_small_rows", "invariant", "small scores: hidden keys get a gradient", "            d[j] = ZERO\n", "            pass\n"),
    M("annex.tiles.weigh_back_small_rows", "invariant", "small scores: hidden keys weigh in dV", "            s[j] = ZERO\n", "            pass\n"),
    M("annex.tiles._small", "invariant", "no maximum: overflows", "<= SMALL", "<= SMALL**2"),
    M("annex.tiles._small", "invariant", "a bound without the keys' norms", "largest_q * largest_k", "largest_q"),
    M("annex.tiles._small", "invariant", "a negative scale is always small", "abs(scale)", "scale"),
    M("annex.tiles.tiled_attention_forward", "invariant", "2^s for e^s", "(LOG2_E if small else ONE)", "ONE"),
    M("annex.tiles.tiled_attention_forward", "invariant", "log-sum-exp of small scores is lost", "0 if small else -np.inf", "-np.inf"),
    M("annex.tiles.tiled_attention_backward", "invariant", "2^s for e^s in the backward", "q * LOG2_E if small else q", "q"),
    M("annex.tiles.tiled_attention_backward", "invariant", "weights that are not divided by their sum", "do * np.exp(-L[at][rows])[:, None]", "do"),
    M("annex.tiles.weigh_back_rows", "invariant", "dS: diagonal only", "(d[j] - D[i])", "d[j]"),
    M("annex.tiles.weigh_back_rows", "invariant", "hidden keys get a gradient", "            d[j] = ZERO\n", "            pass\n"),
    M("annex.tiles.weigh_back_rows", "invariant", "hidden keys weigh in dV", "            s[j] = ZERO\n", "            pass\n"),
    M("annex.tiles.tiled_attention_forward", "invariant", "log-sum-exp without the maximum", "top + np.log(l)", "np.log(l)"),
    M("annex.tiles.tiled_attention_forward", "invariant", "not divided by the sum", "            o /= l[:, None]\n", ""),
    M("annex.tiles.tiled_attention_forward", "invariant", "all tiles of the last rows only", "rows.start - cols.start if is_causal else m", "rows.start if is_causal else m"),
    M("annex.tiles.tiled_attention_forward", "invariant", "scores that overflow", "    if bound > 1e38", "    if False"),
    M("annex.tiles.tiled_attention_backward", "invariant", "scale left out of dQ", "    dQ *= np.float32(scale)\n", ""),
    M("annex.tiles.tiled_attention_backward", "invariant", "dQ of the last tile only", "dQ[at][rows] += ", "dQ[at][rows] = "),
    M("annex.tiles.tiled_attention_backward", "invariant", "dK of the last rows only", "dK[at][cols] += ", "dK[at][cols] = "),
    M("annex.tiles.tiled_attention_backward", "invariant", "dV of the last rows only", "dV[at][cols] += ", "dV[at][cols] = "),
    M("annex.tiles.tiled_attention_backward", "invariant", "a mask that nobody looks at", "    if mask is not None:", "    if False:"),
] * COMPILED
