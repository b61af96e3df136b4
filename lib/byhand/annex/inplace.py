"""Chapter 16: forward, loss and backward of a decoder on one piece of a batch, written into arrays that are there.

`fast` makes the arrays w, runs this for every piece, and says why the norms have no gain here. Tokens are all rows of
one matrix (t, d); `folds[k]` is norm k with the linear map behind it, two a block and then the logits.
"""

import numpy as np

from byhand.np.block import TANH_CUBE, TANH_SCALE


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


def loss_(targets, count, fold, w) -> float:
    """What this piece adds to a mean over `count` tokens; the gradient of the logits is left in w.S (V, t)."""
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
