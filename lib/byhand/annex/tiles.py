"""Chapter 16, the fused rung of tiled attention: `np.flash` with one compiled loop for all that is done to a tile.

A tile of scores is written by a product, read and written once by a loop, and read by the next product. Queries whose
scores are small whatever the key need no maximum, as in `np.flash`; the others take one from every tile.
"""

import math
import warnings

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from byhand.annex.loops import HAVE_NUMBA, LOG2_E, ONE, ZERO, compiled, exp, largest
from byhand.check import Size, checked, same_shape
from byhand.np._threads import map_threads
from byhand.np.flash import (
    FlashCache,
    flash_attention_backward,
    flash_attention_forward,
    one_length_if_causal,
)

WITHOUT = "tiled_attention: Numba is not installed, so this is np.flash; pip install 'byhand[fused]' brings the loops"
SMALL = 20  # |s|, at which e^s summed over all keys, and its inverse, are far from the ends of float32
ROUND = np.float32(1.5 * 2**23)  # added to a number, it leaves no bits for a fraction: the lowest are the whole number
FACTORS = tuple(np.float32(x) for x in (0.693147182, 0.240226462, 0.0555032864, 0.00961848907, 0.00133999309,
                                        0.00015345811))  # of r … r⁶, near (ln 2)ᵏ / k!


@compiled(flags={"contract"})
def power(x):
    """2ˣ for |x| < 126, to a part in ten million: x = k + r with k whole, 2ʳ a polynomial whose exponent takes k."""
    t = x + ROUND
    r = x - (t - ROUND)
    c1, c2, c3, c4, c5, c6 = FACTORS
    p = (((((c6 * r + c5) * r + c4) * r + c3) * r + c2) * r + c1) * r + ONE
    return np.int32(np.float32(p).view(np.int32) + (np.float32(t).view(np.int32) << np.int32(23))).view(np.float32)


@compiled
def weigh_small_rows(S, first, l):
    """S becomes 2^S, and l grows; query i sees first + i + 1 keys of the tile, and the others weigh 0."""
    for i in range(S.shape[0]):
        s = S[i]
        stop = max(min(len(s), first + i + 1), 0)
        total = ZERO
        for j in range(stop):
            s[j] = power(s[j])
            total += s[j]
        for j in range(stop, len(s)):
            s[j] = ZERO
        l[i] += total


@compiled
def weigh_rows(S, first, m, l, o):
    """S becomes exp(S − m) under the new maxima m; what l and o have summed shrinks to them, and l grows.

    Query i sees first + i + 1 keys of the tile; the others weigh 0.
    """
    for i in range(S.shape[0]):
        s, y = S[i], o[i]
        stop = max(min(len(s), first + i + 1), 0)
        top = max(m[i], largest(s, stop))
        total = ZERO
        for j in range(stop):
            s[j] = exp(s[j] - top)
            total += s[j]
        for j in range(stop, len(s)):
            s[j] = ZERO
        if top > m[i]:
            keep = exp(m[i] - top) if l[i] > ZERO else ZERO
            l[i] *= keep
            for j in range(len(y)):
                y[j] *= keep
            m[i] = top
        l[i] += total


@compiled
def weigh_back_small_rows(S, dA, first, D):
    """S becomes A = 2^S, and dA the gradient of the scores, A ∘ (dA − D); what divides A is in dA and in D."""
    for i in range(S.shape[0]):
        s, d = S[i], dA[i]
        stop = max(min(len(s), first + i + 1), 0)
        for j in range(stop):
            s[j] = power(s[j])
            d[j] = s[j] * (d[j] - D[i])
        for j in range(stop, len(s)):
            s[j] = ZERO
            d[j] = ZERO


@compiled
def weigh_back_rows(S, dA, first, L, D):
    """S becomes the weights A = exp(S − L), and dA the gradient of the scores, A ∘ (dA − D)."""
    for i in range(S.shape[0]):
        s, d = S[i], dA[i]
        stop = max(min(len(s), first + i + 1), 0)
        for j in range(stop):
            s[j] = exp(s[j] - L[i])
            d[j] = s[j] * (d[j] - D[i])
        for j in range(stop, len(s)):
            s[j] = ZERO
            d[j] = ZERO


@checked
def tiled_attention_forward(
    Q: Float[Array, "*B n d_k"], K: Float[Array, "*B m d_k"], V: Float[Array, "*B m d_v"],
    is_causal: bool = False, scale: float | None = None, block: Size = 512, threads: Size = 1,
) -> tuple[Float[Array, "*B n d_v"], FlashCache]:
    """`flash_attention_forward` without a mask, in float32; threads share the heads.

    Without Numba it warns, and is that function. Raises ValueError where a score may be too large for float32.
    """
    n, m = one_length_if_causal(Q, K, is_causal)
    _float32(Q)
    if not HAVE_NUMBA:
        warnings.warn(WITHOUT, stacklevel=2)
        return flash_attention_forward(Q, K, V, None, scale, is_causal, block)
    scale = 1 / math.sqrt(Q.shape[-1]) if scale is None else scale
    bound = Q.shape[-1] * math.prod(float(np.abs(X).max()) for X in (Q, K)) * max(abs(scale), 1)
    if bound > 1e38:
        raise ValueError(f"tiled_attention: scores may reach {bound:.0e}, expected numbers that float32 can hold")
    O, L = np.empty((*Q.shape[:-1], V.shape[-1]), Q.dtype), np.empty(Q.shape[:-1], Q.dtype)

    def head(at):
        S, product = np.empty(min(block, n) * min(block, m), Q.dtype), np.empty((min(block, n), V.shape[-1]), Q.dtype)
        for rows in _blocks(n, block):
            small = _small(Q[at][rows], K[at], scale)
            q = np.float32(scale) * Q[at][rows] * (LOG2_E if small else ONE)
            top, l, o = np.full(len(q), 0 if small else -np.inf, Q.dtype), np.zeros(len(q), Q.dtype), O[at][rows]
            o.fill(0)
            for cols in _blocks(rows.stop if is_causal else m, block):
                k, v = K[at][cols], V[at][cols]
                E = np.matmul(q, k.mT, out=S[: len(q) * len(k)].reshape(len(q), len(k)))
                first = rows.start - cols.start if is_causal else m
                if small:
                    weigh_small_rows(E, first, l)
                else:
                    weigh_rows(E, first, top, l, o)
                o += np.matmul(E, v, out=product[: len(q)])
            o /= l[:, None]
            L[at][rows] = top + np.log(l)

    map_threads(head, list(np.ndindex(Q.shape[:-2])), threads)
    return O, FlashCache(Q, K, V, O, L, None, is_causal, scale, block)


@checked
def tiled_attention_backward(
    dO: Float[Array, "*B n d_v"], cache: FlashCache, threads: Size = 1
) -> tuple[Float[Array, "*B n d_k"], Float[Array, "*B m d_k"], Float[Array, "*B m d_v"]]:
    """dQ, dK, dV, from the cache of this forward or of `flash_attention_forward` without a mask."""
    Q, K, V, O, L, mask, is_causal, scale, block = cache
    same_shape("tiled_attention_backward", O.shape, dO=dO.shape)
    _float32(Q)
    if mask is not None:
        raise ValueError("tiled_attention_backward: the cache has a mask, expected none: only np.flash has them")
    if not HAVE_NUMBA:
        warnings.warn(WITHOUT, stacklevel=2)
        return flash_attention_backward(dO, cache)
    n, m = Q.shape[-2], K.shape[-2]
    dQ, dK, dV = np.zeros_like(Q), np.zeros_like(K), np.zeros_like(V)

    def head(at):
        tiles = np.empty((2, min(block, n) * min(block, m)), Q.dtype)
        for rows in _blocks(n, block):
            small = _small(Q[at][rows], K[at], scale)
            q, do = np.float32(scale) * Q[at][rows], dO[at][rows]
            q_2 = q * LOG2_E if small else q
            if small:
                do = do * np.exp(-L[at][rows])[:, None]  # A = 2^S e^-L: the second is a factor of the query
            D = np.vecdot(do, O[at][rows])
            for cols in _blocks(rows.stop if is_causal else m, block):
                k, v = K[at][cols], V[at][cols]
                A, dS = tiles[:, : len(q) * len(k)].reshape(2, len(q), len(k))
                np.matmul(q_2, k.mT, out=A)
                np.matmul(do, v.mT, out=dS)
                first = rows.start - cols.start if is_causal else m
                if small:
                    weigh_back_small_rows(A, dS, first, D)
                else:
                    weigh_back_rows(A, dS, first, L[at][rows], D)
                dV[at][cols] += A.mT @ do
                dQ[at][rows] += dS @ k
                dK[at][cols] += dS.mT @ q

    map_threads(head, list(np.ndindex(Q.shape[:-2])), threads)
    dQ *= np.float32(scale)
    return dQ, dK, dV


def _small(q, K, scale):
    """Can no score of these queries be further from 0 than SMALL? By |s| ≤ |q| |k|."""
    with np.errstate(all="ignore"):  # where a norm overflows, the answer is no
        largest_q, largest_k = (np.sqrt(np.vecdot(X, X).max()) for X in (q, K))
        return abs(scale) * largest_q * largest_k <= SMALL


def _blocks(stop, block):
    return [slice(i, min(i + block, stop)) for i in range(0, stop, block)]


def _float32(Q):
    if Q.dtype != np.float32:
        raise TypeError(f"tiled_attention: Q has dtype {Q.dtype}, expected float32: np.flash has the rest")
