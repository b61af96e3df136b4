"""Chapter 16: attention without the n × m matrix: tiles of the scores, and a softmax that reads its keys bit by bit."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Shaped
from numpy import ndarray as Array
from numpy.lib.introspect import opt_func_info

from byhand.check import Size, adds_up, checked


class Partial(NamedTuple):
    """What a query has read of some keys: m = max s, l = Σ exp(s − m), o = Σ exp(s − m) v."""

    m: Shaped[Array, "*B n"]  # −∞ where nothing was read
    l: Float[Array, "*B n"]
    o: Float[Array, "*B n d_v"]


@checked
def online_softmax_merge(
    a: tuple[Shaped[Array, "*B n"], Float[Array, "*B n"], Float[Array, "*B n d_v"]],
    b: tuple[Shaped[Array, "*B n"], Float[Array, "*B n"], Float[Array, "*B n d_v"]],
) -> Partial:
    """(m, l, o) of two sets of keys read together: associative, and (−∞, 0, 0) is its identity (Milakov 2018)."""
    _maxima(a=a, b=b)
    (m_a, l_a, o_a), (m_b, l_b, o_b) = a, b
    m = np.maximum(m_a, m_b)
    top = _finite(m)
    keep, add = np.exp(m_a - top), np.exp(m_b - top)  # what was summed under a smaller maximum shrinks
    return Partial(m, keep * l_a + add * l_b, keep[..., None] * o_a + add[..., None] * o_b)


class FlashCache(NamedTuple):
    Q: Float[Array, "*B n d_k"]
    K: Float[Array, "*B m d_k"]
    V: Float[Array, "*B m d_v"]
    O: Float[Array, "*B n d_v"]
    L: Float[Array, "*B n"]  # log-sum-exp of the scores
    mask: Bool[Array, "..."] | None
    is_causal: bool
    scale: float
    block: int


@checked
def flash_attention_forward(
    Q: Float[Array, "*B n d_k"],
    K: Float[Array, "*B m d_k"],
    V: Float[Array, "*B m d_v"],
    mask: Bool[Array, "*#B #n #m"] | None = None,
    scale: float | None = None,
    is_causal: bool = False,
    block: Size = 512,
) -> tuple[Float[Array, "*B n d_v"], FlashCache]:
    """The output of `attention_forward` in memory for one tile, block × block (Dao et al. 2022).

    `is_causal` adds a causal mask without storing it, needs n = m, and skips the tiles that it hides. `cache.L` is the
    log-sum-exp of each row of scores, all that the backward needs of them; 0 where a query may attend to nothing.
    """
    n, m = one_length_if_causal(Q, K, is_causal)
    adds_up("flash_attention", m, V=V)
    scale = 1 / math.sqrt(Q.shape[-1]) if scale is None else scale
    O, L = np.empty((*Q.shape[:-1], V.shape[-1]), Q.dtype), np.empty(Q.shape[:-1], Q.dtype)
    cache = FlashCache(Q, K, V, O, L, mask, is_causal, scale, block)
    tile, ones = np.empty((min(block, m), min(block, n)), Q.dtype), np.ones(min(block, m), Q.dtype)
    for head in np.ndindex(Q.shape[:-2]):
        bounded = _bounded(Q[head], K[head], V[head], scale, is_causal)
        for rows in _blocks(n, block):
            q, free = UNIT * scale * Q[head][rows], bounded[rows]
            m_q = np.where(free, 0, -np.inf).astype(Q.dtype)
            l, o = np.zeros(len(q), Q.dtype), np.zeros((len(q), V.shape[-1]), Q.dtype)
            for cols in _blocks(rows.stop if is_causal else m, block):
                E = np.matmul(K[head][cols], q.mT, out=tile[: cols.stop - cols.start, : len(q)])  # (key, query)
                if not free.all():  # `online_softmax_merge`, in place
                    _no_overflow(E, head, rows, cols)
                    _hide(E, -np.inf, cache, head, rows, cols)
                    before, m_q = m_q, np.where(free, 0, np.maximum(m_q, E.max(axis=0)))
                    keep = EXP(before - _finite(m_q))
                    l *= keep
                    o *= keep[:, None]
                    E -= _finite(m_q)
                _power(E, free)
                _hide(E, 0, cache, head, rows, cols)
                l += ones[: len(E)] @ E
                o += E.mT @ V[head][cols]  # (16.7)
            l = np.where(l == 0, 1, l)
            O[head][rows] = o / l[:, None]
            L[head][rows] = _finite(m_q) / UNIT + np.log(l)
    return O, cache


@checked
def flash_attention_backward(
    dO: Float[Array, "*B n d_v"], cache: FlashCache
) -> tuple[Float[Array, "*B n d_k"], Float[Array, "*B m d_k"], Float[Array, "*B m d_v"]]:
    """dQ, dK, dV; each tile of weights is made anew from L, and D = rowsum(dO ∘ O) stands for rowsum(dA ∘ A)."""
    Q, K, V, O, L, _, is_causal, scale, block = cache
    n, m = Q.shape[-2], K.shape[-2]
    dQ, dK, dV = np.zeros_like(Q), np.zeros_like(K), np.zeros_like(V)
    tile, dtile = np.empty((2, min(block, m), min(block, n)), Q.dtype)
    for head in np.ndindex(Q.shape[:-2]):
        bounded = _bounded(Q[head], K[head], V[head], scale, is_causal)
        for rows in _blocks(n, block):
            q, free = UNIT * scale * Q[head][rows], bounded[rows]
            once = np.where(free, L[head][rows], 0)  # A = exp(s) exp(−L): a factor of the query, as well in dO
            each = UNIT * (L[head][rows] - once)
            g = np.exp(-once)[:, None] * dO[head][rows]
            D = np.vecdot(g, O[head][rows])  # (16.13)
            for cols in _blocks(rows.stop if is_causal else m, block):
                A = np.matmul(K[head][cols], q.mT, out=tile[: cols.stop - cols.start, : len(q)])
                if not free.all():
                    A -= each
                _power(A, free)
                _hide(A, 0, cache, head, rows, cols)
                dV[head][cols] += A @ g  # (16.10)
                dS = np.matmul(V[head][cols], g.mT, out=dtile[: len(A), : len(q)])  # (16.11): dA so far
                dS -= D
                dS *= A  # (16.12)
                dQ[head][rows] += dS.mT @ K[head][cols]
                dK[head][cols] += dS @ Q[head][rows]  # (16.14)
    dQ *= scale
    dK *= scale
    return dQ, dK, dV


@checked
def one_length_if_causal(Q, K, is_causal: bool) -> tuple[int, int]:
    """n and m, for arrays and for tensors: a causal flag means something where they are one number."""
    n, m = Q.shape[-2], K.shape[-2]
    if is_causal and n != m:
        raise ValueError(f"flash_attention: is_causal is True with {n} queries and {m} keys, expected as many of each")
    return n, m


def _maxima(**parts):
    """Maxima are of the dtype of what was summed under them, and finite, or −∞ of no key at all."""
    for name, (m, l, _) in parts.items():
        if m.dtype != l.dtype:
            raise TypeError(f"online_softmax_merge: {name}[0] has dtype {m.dtype} but {name}[1] has {l.dtype}, "
                            "expected one dtype")
        if not (m < np.inf).all():
            raise ValueError(f"online_softmax_merge: {name}[0] holds {m[~(m < np.inf)][0]}, "
                             "expected finite numbers or -inf")


def _no_overflow(S, head, rows, cols):
    """Scores (key, query) of one tile, as `attention_forward` refuses them: ∞ − ∞ would be NaN in every weight."""
    if not np.isfinite(S).all():
        key, query = np.argwhere(~np.isfinite(S))[0]
        at = (*head, rows.start + int(query), cols.start + int(key))
        raise ValueError(f"flash_attention: S holds {S[key, query]} at index {at}, expected finite numbers")


def _blocks(stop, block):
    return [slice(i, min(i + block, stop)) for i in range(0, stop, block)]


def _finite(m):
    """A maximum that is safe to take away: −∞ − (−∞) would be NaN."""
    return np.where(m == -np.inf, 0, m)


def _hide(S, value, cache, head, rows, cols):
    """Write `value` where a key of this tile, (key, query), is hidden from a query."""
    if cache.mask is not None:
        mask = np.broadcast_to(cache.mask, (*cache.O.shape[:-1], cache.K.shape[-2]))  # a view: nothing is copied
        np.copyto(S, value, where=~mask[head][rows, cols].mT)
    if cache.is_causal and cols.stop > rows.start + 1:
        np.copyto(S, value, where=np.arange(cols.start, cols.stop)[:, None] > np.arange(rows.start, rows.stop))


def _power(S, free):
    """Scores to weights, in place: eˢ, and 0 where that would be below the floor."""
    if free.all():
        EXP(S, out=S)
        return
    floor = np.finfo(S.dtype).minexp + 1  # below, 2ˣ takes 30 to 100 times as long, to find a number without its digits
    low = S < floor
    EXP(np.clip(S, floor, -floor, out=S), out=S)
    if low.any():
        np.copyto(S, 0, where=low)


def _bounded(Q, K, V, scale, is_causal):
    """The queries with |s| ≤ |q| |k| ≤ 20 for all keys: exp(s) stays in range with no maximum found and taken away, and
    so do its sums with V."""
    with np.errstate(all="ignore"):  # where a norm overflows, the answer is no
        q, k = (np.sqrt(np.vecdot(X, X)) for X in (Q, K))
        most = np.maximum.accumulate if is_causal else np.max  # of what a query reads
        v = np.maximum(V.max(axis=-1), -V.min(axis=-1)) / np.finfo(V.dtype).max
        return (abs(scale) * q * most(k) <= 20) & (len(V) * math.exp(20) * most(v) < 1)


def _vectorised(name):
    """Has NumPy a fast version of this function on this processor?"""
    found = opt_func_info(func_name=f"^{name}$", signature="float32").values()
    return any("baseline" not in of["current"] for loops in found for of in loops.values())


BASES = {2: (np.exp2, 1 / math.log(2)), math.e: (np.exp, 1.0)}  # eˢ by a power, and the unit of what it takes
EXP, UNIT = BASES[2 if _vectorised("exp2") else math.e]  # half the time of exp where it is, twice where it is not
