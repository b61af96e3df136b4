"""Chapter 16, rung "fused": the pass of a piece with one compiled loop for each chain of steps between two products.

It is the chapters' forward and backward with their weights as they are: norm, softmax, GELU, cross-entropy and their
backwards from `loops`, and the matrix products from BLAS. Tokens are all rows of one matrix (t, d).
"""

import math

import numpy as np

from byhand.annex.loops import (
    ONE,
    cross_entropy_rows,
    gelu_rows,
    norm_back_rows,
    norm_rows,
    relu_rows,
    scatter_rows,
    slope_back_rows,
    softmax_back_rows,
    softmax_rows,
)
from byhand.tree import flatten

ATTENTION = [f"{x}_{name}" for name in "qkv" for x in "Wb"]


def sizes(config, b, n):
    """The arrays of a thread for pieces of b sequences, and the sums of its gradients: names and shapes."""
    t, d, wide, L, H, V = b * n, config.d, config.width, config.layers, config.heads, config.vocab
    arrays = {"X": (t, d), "Y": (t, d), "N": (2 * L + 1, t, d), "X_hat": (2 * L + 1, t, d), "r": (2 * L + 1, t),
              "QKV": (L, t, 3 * d), "A": (L, b, H, n, n), "Z": (L, t, d), "G": (L, t, wide), "slope": (L, t, wide),
              "S": (t, V), "dQKV": (t, 3 * d), "dA": (b, H, n, n), "dU": (t, wide),
              "product": (d * max(3 * d, wide, V),)}
    sums = {name: shape for name, shape in flatten(config.shapes).items() if name.rpartition(".")[2] not in ATTENTION}
    for i in range(L):
        sums |= {f"blocks.{i}.W_qkv": (d, 3 * d), f"blocks.{i}.b_qkv": (3 * d,)}
    return arrays, sums


def begin(w) -> None:
    """Sums that loops add to start at zero; a product writes over what the last step has left."""
    w.first = True
    for name, x in w.sums.items():
        if x.ndim == 1 or name.endswith("table"):
            x.fill(0)


def prepare(params, config):
    """Of each block W_q W_k W_v side by side, and b_q b_k b_v: one product instead of three."""
    parts = [params["blocks"][str(i)]["attention"] for i in range(config.layers)]
    return [[np.concatenate([a[f"{x}_{name}"] for name in "qkv"], axis=-1) for x in "Wb"] for a in parts]


def forward_(ids, params, config, joined, work, w) -> None:
    """From ids (t,) to the last norm; what the backward needs stays in w."""
    n, blocks, scale = work.shape[1], params["blocks"], ONE / np.float32(math.sqrt(config.d // config.heads))
    X, Y, b = w.X, w.Y, np.zeros(config.d, np.float32)
    np.take(params["embedding"]["tokens"]["E"], ids, axis=0, out=Y, mode="clip")  # the first norm adds it to the places
    activate = relu_rows if config.activation == "relu" else gelu_rows
    X.reshape(-1, n, config.d)[...] = (
        work.sinusoids if config.position == "sinusoidal" else params["embedding"]["positions"]["table"][:n])
    for i in range(config.layers):
        block, (W, b_qkv) = blocks[str(i)], joined[i]
        np.matmul(_norm(2 * i, b, block["norm_1"], config, w), W, out=w.QKV[i])
        w.QKV[i] += b_qkv
        Q, K, V = _heads(w.QKV[i], work, config)
        A = np.matmul(Q, K.mT, out=w.A[i])
        softmax_rows(A.reshape(-1, n), scale, n)
        np.matmul(A, V, out=_heads(w.Z[i], work, config)[0])
        np.matmul(w.Z[i], block["attention"]["W_o"], out=Y)
        N = _norm(2 * i + 1, block["attention"]["b_o"], block["norm_2"], config, w)
        activate(np.matmul(N, block["ff"]["W_1"], out=w.G[i]), block["ff"]["b_1"], w.slope[i])
        np.matmul(w.G[i], block["ff"]["W_2"], out=Y)
        b = block["ff"]["b_2"]
    _norm(2 * config.layers, b, params["norm"], config, w)


def loss_(targets, count, params, joined, w) -> float:
    """What this piece adds to a mean over `count` tokens; the gradient of the logits is left in w.S (t, V)."""
    np.matmul(w.N[-1], params["embedding"]["tokens"]["E"].T, out=w.S)
    return cross_entropy_rows(w.S, targets, count)


def backward_(ids, params, config, joined, work, w) -> None:
    """Adds the gradients of this piece to w.sums; X becomes dX."""
    n, dX, scale = work.shape[1], w.X, ONE / np.float32(math.sqrt(config.d // config.heads))
    dX.fill(0)
    _add("embedding.tokens.E", w.S, w.N[-1], w)
    dN = np.matmul(w.S, params["embedding"]["tokens"]["E"], out=w.Y)
    _norm_back(2 * config.layers, dN, "norm", params["norm"], w)
    for i in reversed(range(config.layers)):
        at, block, (W, _) = f"blocks.{i}", params["blocks"][str(i)], joined[i]
        _add(f"{at}.ff.W_2", w.G[i], dX, w)
        w.sums[f"{at}.ff.b_2"] += dX.sum(axis=0)
        dU = np.matmul(dX, block["ff"]["W_2"].T, out=w.dU)
        slope_back_rows(dU, w.slope[i], w.sums[f"{at}.ff.b_1"])
        _add(f"{at}.ff.W_1", w.N[2 * i + 1], dU, w)
        _norm_back(2 * i + 1, np.matmul(dU, block["ff"]["W_1"].T, out=w.Y), f"{at}.norm_2", block["norm_2"], w)
        _add(f"{at}.attention.W_o", w.Z[i], dX, w)
        w.sums[f"{at}.attention.b_o"] += dX.sum(axis=0)
        dZ = np.matmul(dX, block["attention"]["W_o"].T, out=w.Y)
        (dZ,), (Q, K, V), (dQ, dK, dV) = (_heads(Y, work, config) for Y in (dZ, w.QKV[i], w.dQKV))
        np.matmul(w.A[i].mT, dZ, out=dV)
        dS = np.matmul(dZ, V.mT, out=w.dA)
        softmax_back_rows(dS.reshape(-1, n), w.A[i].reshape(-1, n), scale)
        np.matmul(dS, K, out=dQ)
        np.matmul(dS.mT, Q, out=dK)
        _add(f"{at}.W_qkv", w.N[2 * i], w.dQKV, w)
        w.sums[f"{at}.b_qkv"] += w.dQKV.sum(axis=0)
        _norm_back(2 * i, np.matmul(w.dQKV, W.T, out=w.Y), f"{at}.norm_1", block["norm_1"], w)
    if config.position == "learned":
        w.sums["embedding.positions.table"][:n] += dX.reshape(-1, n, config.d).sum(axis=0)
    scatter_rows(w.sums["embedding.tokens.E"], ids, dX)
    w.first = False


def finish(work, joined) -> None:
    """The sums of the first thread, which has those of all by now, become the gradients."""
    for i in range(work.config.layers):
        for x in "Wb":
            parts = np.split(work.lanes[0].sums[f"blocks.{i}.{x}_qkv"], 3, axis=-1)
            for name, part in zip("qkv", parts, strict=True):
                work.grads["blocks"][str(i)]["attention"][f"{x}_{name}"][...] = part


def _heads(Y, work, config):
    """(t, m d) → m views (sequences, heads, n, d / heads)."""
    return Y.reshape(-1, work.shape[1], Y.shape[1] // config.d, config.heads, config.d // config.heads).transpose(
        2, 0, 3, 1, 4)


def _norm(k, b, norm, config, w):
    """Norm k of the stream, after what the sublayer before it gave, Y + b, has joined the stream."""
    norm_rows(w.X, w.Y, b, norm["gamma"], norm["beta"], np.float32(config.eps), True, w.X_hat[k], w.r[k], w.N[k])
    return w.N[k]


def _norm_back(k, dN, at, norm, w):
    norm_back_rows(dN, w.X_hat[k], w.r[k], norm["gamma"], True, w.X, w.sums[f"{at}.gamma"], w.sums[f"{at}.beta"])


def _add(name, X, dY, w):
    """dW += Xᵀ dY, and dW = Xᵀ dY for the first piece of a thread."""
    dW = w.sums[name]
    if w.first:
        return np.matmul(X.T, dY, out=dW)
    dW += np.matmul(X.T, dY, out=w.product[:dW.size].reshape(dW.shape))
