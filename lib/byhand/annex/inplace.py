"""Chapter 16, rung "in place": the pass of one piece of a batch in NumPy, in arrays that are there already.

Fewer passes: scores lie transposed (key, query), since NumPy's maximum over the last axis is slow, and a norm computes
X̂ alone, for with Γ = diag γ
(X̂ Γ + 1 βᵀ) W + 1 bᵀ = X̂ (C Γ W) + 1 (Wᵀβ + b)ᵀ: C = I - 1 1ᵀ/d changes nothing, since X̂ has mean zero, and on the
way back takes the mean off the gradient. dγ and dβ follow from the gradient of the product: no pass over tokens.
Tokens are all rows of one matrix (t, d); `folds[k]` is norm k with the map behind it, two a block and then the logits.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy import ndarray as Array

from byhand.np.block import TANH_CUBE, TANH_SCALE

CHUNK = 1 << 15  # numbers that a chain of elementwise steps takes at a time, so that they stay in the cache


class Fold(NamedTuple):
    """A norm and the linear map behind it as one map, Y = X̂ F + 1 fᵀ, and what the two were."""

    F: Array
    f: Array
    W: Array
    gamma: Array
    beta: Array


def sizes(config, b, n):
    """The arrays of a thread for pieces of b sequences, and the sums of its gradients: names and shapes."""
    t, d, wide, L, H, V = b * n, config.d, config.width, config.layers, config.heads, config.vocab
    arrays = {"X": (t, d), "X_hat": (2 * L + 1, t, d), "r": (2 * L + 1, t, 1), "QKV": (L, t, 3 * d),  # r is 1/s
              "A": (L, b, H, n, n), "Z": (L, t, d), "G": (L, t, wide), "slope": (L, t, wide), "S": (V, t),
              "dQKV": (t, 3 * d), "dA": (b, H, n, n), "Y": (t, d), "dU": (t, wide), "ones": (max(t, d),),
              "product": (d * max(3 * d, wide, V),), "chunk": (2, CHUNK)}
    sums = {f"blocks.{i}.{name}": size for i in range(L) for name, size in (
        ("attention.W_o", (d, d)), ("attention.b_o", (d,)), ("ff.W_2", (wide, d)), ("ff.b_2", (d,)))}
    sums |= {"embedding.tokens.E": (V, d), "embedding.positions.table": (n, d)}
    for k, m in enumerate([3 * d, wide] * L + [V]):
        sums |= {f"F.{k}": (d, m), f"f.{k}": (m,)}
    return arrays, sums


def begin(w) -> None:
    """Every sum starts at zero."""
    for x in w.sums.values():
        x.fill(0)


def prepare(params, config):
    """Each norm with the map behind it."""
    return [fold(k, params, config) for k in range(2 * config.layers + 1)]


def forward_(ids, params, config, folds, work, w) -> None:
    """From ids (t,) to the last X̂; what the backward needs stays in w."""
    X, E = w.X, params["embedding"]["tokens"]["E"]
    np.take(E, ids, axis=0, out=X, mode="clip")
    tokens = X.reshape(-1, work.shape[1], config.d)
    tokens += work.sinusoids if config.position == "sinusoidal" else _table(params)[:work.shape[1]]
    for i in range(config.layers):
        a, ff = params["blocks"][str(i)]["attention"], params["blocks"][str(i)]["ff"]
        Q, K, V = _heads(_linear(2 * i, w.QKV[i], config, folds, w), work, config)
        A = np.matmul(K, Q.mT, out=w.A[i])  # Q has the scale in it; (key, query), so that the softmax runs over axis -2
        A += work.future
        A -= A.max(axis=-2, keepdims=True)
        np.exp(A, out=A)
        A /= (w.ones[:A.shape[-2]] @ A)[..., None, :]
        np.matmul(A.mT, V, out=_heads(w.Z[i], work, config)[0])
        X += np.matmul(w.Z[i], a["W_o"], out=w.Y)
        X += a["b_o"]
        activate_(_linear(2 * i + 1, w.G[i], config, folds, w), w.slope[i], w.chunk, config.activation)
        X += np.matmul(w.G[i], ff["W_2"], out=w.Y)
        X += ff["b_2"]
    _standardize(2 * config.layers, config.eps, w)


def loss_(targets, count, params, folds, w) -> float:
    """What this piece adds to a mean over `count` tokens; the gradient of the logits is left in w.S (V, t)."""
    fold = folds[-1]
    S, at = np.matmul(fold.F.T, w.X_hat[-1].T, out=w.S), (targets, np.arange(targets.size))
    S += fold.f[:, None]
    S -= S.max(axis=0)
    at_targets = S[at].sum()
    np.exp(S, out=S)
    Z = S.sum(axis=0)
    S /= count * Z
    S[at] -= 1 / count
    return float(np.log(Z).sum() - at_targets) / count


def backward_(ids, params, config, folds, work, w) -> None:
    """Adds the gradients of this piece to w.sums; X becomes dX, and X̂ is used up."""
    dX = w.X
    dX.fill(0)
    _linear_backward(w.S.T, 2 * config.layers, folds, w)
    for i in reversed(range(config.layers)):
        a, ff = params["blocks"][str(i)]["attention"], params["blocks"][str(i)]["ff"]
        _add(f"blocks.{i}.ff.W_2", f"blocks.{i}.ff.b_2", w.G[i], dX, w)
        dU = np.matmul(dX, ff["W_2"].T, out=w.dU)
        dU *= w.slope[i]
        _linear_backward(dU, 2 * i + 1, folds, w)
        _add(f"blocks.{i}.attention.W_o", f"blocks.{i}.attention.b_o", w.Z[i], dX, w)
        dZ = np.matmul(dX, a["W_o"].T, out=w.Y)
        (dZ,), (Z,), (Q, K, V), (dQ, dK, dV) = (_heads(Y, work, config) for Y in (dZ, w.Z[i], w.QKV[i], w.dQKV))
        np.matmul(w.A[i], dZ, out=dV)
        dS = np.matmul(V, dZ.mT, out=w.dA)
        dS -= np.vecdot(dZ, Z)[..., None, :]  # the sum of A ∘ dA over keys is dz · z, for each query
        dS *= w.A[i]
        np.matmul(dS.mT, K, out=dQ)
        np.matmul(dS, Q, out=dK)
        _linear_backward(w.dQKV, 2 * i, folds, w)
    w.sums["embedding.positions.table"] += dX.reshape(-1, work.shape[1], config.d).sum(axis=0)
    order = np.argsort(ids, stable=True)  # equal ids side by side: one sum each, in a fixed order
    words, starts = np.unique(ids[order], return_index=True)
    w.sums["embedding.tokens.E"][words] += np.add.reduceat(dX[order], starts, axis=0)


def finish(work, folds) -> None:
    """The sums of the first thread, which has those of all by now, become the gradients."""
    for k, each in enumerate(folds):
        unfold(k, each, work)


def activate_(U, slope, chunk, name: str) -> None:
    """U becomes f(U), and slope f'(U). gelu_tanh is x σ(2u), where u = TANH_SCALE (x + TANH_CUBE x³)."""
    if name == "relu":
        np.greater(U, 0, out=slope)
        np.maximum(U, 0, out=U)
        return
    U, slope = U.reshape(-1), slope.reshape(-1)
    for start in range(0, len(U), chunk.shape[1]):
        x, s = U[start:start + chunk.shape[1]], slope[start:start + chunk.shape[1]]
        t, q = chunk[:, :len(x)]
        np.multiply(x, x, out=t)
        t *= TANH_SCALE * TANH_CUBE
        t += TANH_SCALE  # u/x
        np.tanh(np.multiply(t, x, out=s), out=s)
        s *= 0.5
        s += 0.5  # σ(2u)
        x *= s
        t *= 6
        t -= 4 * TANH_SCALE  # 2u'
        np.subtract(x, np.multiply(x, s, out=q), out=q)
        q *= t
        s += q  # σ + x σ (1 - σ) 2u'


def _table(params):
    return params["embedding"]["positions"]["table"]


def _heads(Y, work, config):
    """(t, m d) → m views (sequences, heads, n, d / heads)."""
    return Y.reshape(-1, work.shape[1], Y.shape[1] // config.d, config.heads, config.d // config.heads).transpose(
        2, 0, 3, 1, 4)


def _standardize(k, eps, w):
    X_hat, r, d = w.X_hat[k], w.r[k], w.X.shape[1]
    np.subtract(w.X, (w.X @ w.ones[:d] / d)[:, None], out=X_hat)
    np.vecdot(X_hat, X_hat, out=r[:, 0])
    r /= d
    r += eps
    np.reciprocal(np.sqrt(r, out=r), out=r)
    X_hat *= r
    return X_hat


def _linear(k, Y, config, folds, w):
    np.matmul(_standardize(k, config.eps, w), folds[k].F, out=Y)
    Y += folds[k].f
    return Y


def _linear_backward(dY, k, folds, w):
    """Through map k and norm k: dX += (g - X̂ mean(g ∘ X̂)) / s, where g = dY Fᵀ has mean zero as F has."""
    X_hat, g, dX = w.X_hat[k], w.Y, w.X
    _add(f"F.{k}", f"f.{k}", X_hat, dY, w)
    np.matmul(dY, folds[k].F.T, out=g)
    X_hat *= (np.vecdot(g, X_hat) / X_hat.shape[1])[:, None]
    g -= X_hat
    g *= w.r[k]
    dX += g


def _add(W, b, X, dY, w):
    """dW += Xᵀ dY and db += 1ᵀ dY, both as products."""
    dW, db = w.sums[W], w.sums[b]
    dW += np.matmul(X.T, dY, out=w.product[:dW.size].reshape(dW.shape))
    db += w.ones[:len(dY)] @ dY


def fold(k, params, config):
    """Norm k with the map behind it: Q K V, the first of the feed-forward layer, …, at last the logits."""
    block = params["blocks"].get(str(k // 2))
    if block is None:
        norm, W, b = params["norm"], params["embedding"]["tokens"]["E"].T, 0
    elif k % 2:
        norm, W, b = block["norm_2"], block["ff"]["W_1"], block["ff"]["b_1"]
    else:
        norm, a, scale = block["norm_1"], block["attention"], 1 / math.sqrt(config.d // config.heads)
        W, b = (np.concatenate([scale * a[x + "_q"], a[x + "_k"], a[x + "_v"]], axis=-1) for x in "Wb")
    F = norm["gamma"][:, None] * W
    return Fold(F - F.mean(axis=0), norm["beta"] @ W + b, W, norm["gamma"], norm["beta"])


def unfold(k, fold, work):
    """With D = X̂ᵀ dY and f = Σ dy: dW = Γ D + β fᵀ, dγ = rowsum(W ∘ D), dβ = W f."""
    D, f = (work.lanes[0].sums[f"{x}.{k}"] for x in "Ff")
    block = work.grads["blocks"].get(str(k // 2))
    norm = work.grads["norm"] if block is None else block[f"norm_{k % 2 + 1}"]
    norm["gamma"][...], norm["beta"][...] = np.vecdot(fold.W, D), fold.W @ f
    dW = fold.gamma[:, None] * D + np.outer(fold.beta, f)
    if block is None:
        dE = work.grads["embedding"]["tokens"]["E"]
        dE += dW.T
    elif k % 2:
        block["ff"]["W_1"][...], block["ff"]["b_1"][...] = dW, f
    else:
        scales = (1 / math.sqrt(work.config.d // work.config.heads), 1, 1)
        for x, c, W, b in zip("qkv", scales, np.split(dW, 3, axis=1), np.split(f, 3), strict=True):
            block["attention"][f"W_{x}"][...], block["attention"][f"b_{x}"][...] = c * W, c * b
