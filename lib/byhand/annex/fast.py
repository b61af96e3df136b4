"""Chapter 16: the training step of a decoder written again for speed, with the numbers of `model`, `loss` and `optim`.

Memory is allocated once. Two threads share the pieces of a batch, BLAS on one thread in each. Scores lie transposed
(key, query), since a maximum over the last axis is slow. A norm computes X̂ alone, for with Γ = diag γ
(X̂ Γ + 1 βᵀ) W + 1 bᵀ = X̂ (C Γ W) + 1 (Wᵀβ + b)ᵀ: C = I - 1 1ᵀ/d changes nothing, since X̂ has mean zero, and on the
way back takes the mean off the gradient. dγ and dβ follow from the gradient of the product: no pass over tokens.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from jaxtyping import Int
from numpy import ndarray as Array

from byhand.annex.inplace import backward_, forward_, loss_
from byhand.check import Size, checked, fits, ids_below, kind_among, same_shape
from byhand.check.arrays import finite
from byhand.config import ModelConfig
from byhand.np._threads import ONE_BLAS_THREAD
from byhand.np.optim import adamw_step_, decay_mask
from byhand.np.position import sinusoidal
from byhand.tree import flatten, map_tree, unflatten

SUPPORTED = {"position": ("learned", "sinusoidal"), "kv_heads": (None,), "norm_first": (True,), "residual": (True,),
             "alpha": (1,), "activation": ("gelu_tanh", "relu"), "gated": (False,), "bias": (True,), "rms": (False,),
             "embedding_norm": (False,), "scale_embedding": (False,), "tied": (True,), "p": (0,)}
CHUNK = 1 << 15  # numbers that a chain of elementwise steps takes at a time, so that they stay in the cache


class Fold(NamedTuple):
    """A norm and the linear map behind it as one map, Y = X̂ F + 1 fᵀ, and what the two were."""

    F: Array
    f: Array
    W: Array
    gamma: Array
    beta: Array


class Workspace(NamedTuple):
    """Arrays that every step writes anew: `lanes` one a thread, `grads` the result."""

    config: ModelConfig
    shape: tuple[int, int]
    lanes: list[SimpleNamespace]
    grads: dict
    future: Array  # (key, query): -∞ where the key comes after the query, else 0
    sinusoids: Array


@checked
def workspace(
    params: dict, config: ModelConfig, batch: Size, n: Size, threads: Size = 2, sequences: Size = 8
) -> Workspace:
    """Room for steps on ids (batch, n), taken in equal pieces of at most so many sequences.

    Raises ValueError for a config with anything that SUPPORTED lacks.
    """
    kind_among("workspace", config, "decoder")
    for name, known in SUPPORTED.items():
        if getattr(config, name) not in known:
            got, known = getattr(config, name), " or ".join(map(str, known))
            raise ValueError(f"workspace: {name} is {got}, expected {known}: only np.model has the rest")
    fits("workspace", params, config.shapes)
    if n > config.n_max:
        raise ValueError(f"workspace: n is {n}, expected at most {config.n_max}")
    b = max(k for k in range(1, min(sequences, batch) + 1) if batch % k == 0)
    t, d, wide, L, H, V = b * n, config.d, config.width, config.layers, config.heads, config.vocab
    sizes = {"X": (t, d), "X_hat": (2 * L + 1, t, d), "r": (2 * L + 1, t, 1), "QKV": (L, t, 3 * d),  # r is 1/s
             "A": (L, b, H, n, n), "Z": (L, t, d), "G": (L, t, wide), "slope": (L, t, wide), "S": (V, t),
             "dQKV": (t, 3 * d), "dA": (b, H, n, n), "Y": (t, d), "dU": (t, wide), "ones": (max(t, d),),
             "product": (d * max(3 * d, wide, V),), "chunk": (2, CHUNK)}
    sums = {f"blocks.{i}.{name}": size for i in range(L) for name, size in (
        ("attention.W_o", (d, d)), ("attention.b_o", (d,)), ("ff.W_2", (wide, d)), ("ff.b_2", (d,)))}
    sums |= {"embedding.tokens.E": (V, d), "embedding.positions.table": (n, d)}
    for k, m in enumerate([3 * d, wide] * L + [V]):
        sums |= {f"F.{k}": (d, m), f"f.{k}": (m,)}
    dtype = params["embedding"]["tokens"]["E"].dtype
    lanes = [SimpleNamespace(sums={name: np.ones(size, dtype) for name, size in sums.items()},
                             **{name: np.ones(size, dtype) for name, size in sizes.items()})
             for _ in range(min(threads, batch // b))]
    future = np.where(np.tri(n, dtype=bool).T, 0, -np.inf).astype(dtype)
    places = sinusoidal(n, d, config.rope_theta) if config.position == "sinusoidal" else np.zeros((n, d))
    return Workspace(config, (batch, n), lanes, pack(map_tree(np.zeros_like, params)), future, places.astype(dtype))


@checked
def fast_loss_and_grads(
    params: dict, ids: Int[Array, "B n"], targets: Int[Array, "B n"], config: ModelConfig, work: Workspace
) -> tuple[float, dict]:
    """The mean cross-entropy of the decoder and its gradients, which are packed, and which the next call overwrites.

    The same to the last bit on every run with as many threads: each has its own pieces, and takes them in order.
    """
    other = [name for name, x in vars(config).items() if x != getattr(work.config, name)]
    if other:
        raise ValueError(f"fast_loss_and_grads: {other[0]} of config is {getattr(config, other[0])}, "
                         f"expected {getattr(work.config, other[0])}, that of the workspace")
    same_shape("fast_loss_and_grads", work.shape, ids=ids.shape, targets=targets.shape)
    ids_below("fast_loss_and_grads", config.vocab, ids=ids, targets=targets)
    fits("fast_loss_and_grads", params, config.shapes)
    _usable("fast_loss_and_grads", work.future.dtype, flatten(params))
    lanes, grads = work.lanes, flatten(work.grads)
    ids, targets = (x.reshape(-1, len(lanes[0].X)) for x in (ids, targets))

    def run(lane):
        loss, w = 0.0, lanes[lane]
        for x in w.sums.values():
            x.fill(0)
        for i in range(lane, len(ids), len(lanes)):
            forward_(ids[i], params, config, folds, work, w)
            loss += loss_(targets[i], targets.size, folds[-1], w)
            backward_(ids[i], params, config, folds, work, w)
        return loss

    def add_up(name):
        total = lanes[0].sums[name]
        for w in lanes[1:]:
            total += w.sums[name]
        if name in grads:
            grads[name][:len(total)] = total

    with ONE_BLAS_THREAD, ThreadPoolExecutor(len(lanes)) as pool:
        folds = list(pool.map(lambda k: _fold(k, params, config), range(2 * config.layers + 1)))
        loss = sum(pool.map(run, range(len(lanes))))
        list(pool.map(add_up, lanes[0].sums))
        list(pool.map(lambda k: _unfold(k, folds[k], work, config), range(len(folds))))
    return loss, work.grads


def pack(tree: dict) -> dict:
    """A copy whose leaves are parts of two long arrays: those that `decay_mask` marks, and the rest."""
    leaves, mask, packed = flatten(tree), flatten(decay_mask(tree)), {}
    for on in (True, False):
        some = {name: x for name, x in leaves.items() if mask[name] is on}
        buffer, end = np.concatenate([np.ravel(x) for x in some.values()]), 0
        for name, x in some.items():
            packed[name], end = buffer[end:end + x.size].reshape(x.shape), end + x.size
    return unflatten({name: packed[name] for name in leaves})


@checked
def fast_adamw_step_(params: dict, grads: dict, state: dict, lr: float, threads: Size = 2, **options) -> None:
    """`adamw_step_` to the last bit, with its options; the mask is `decay_mask`, and every tree is from `pack`."""
    trees = {"params": params, "grads": grads, "m": state["m"], "v": state["v"]}
    shapes, dtypes = map_tree(np.shape, params), {x.dtype for x in flatten(params).values()}
    for name, leaves in trees.items():  # all of them before any moves
        fits("fast_adamw_step_", leaves, shapes, name)
        for dtype in dtypes:
            _usable("fast_adamw_step_", dtype, {f"{name}.{path}": x for path, x in flatten(leaves).items()})
    mask, chunks = flatten(decay_mask(params)), []
    for on in (True, False):
        some = [[x for name, x in flatten(tree).items() if mask[name] is on] for tree in trees.values()]
        for name, leaves in zip(trees, some, strict=True):
            if {id(x.base) for x in leaves} != {id(leaves[0].base)} or leaves[0].base is None:
                raise ValueError(f"fast_adamw_step_: {name} is not in two long arrays, expected a tree from pack")
        flat = [leaves[0].base for leaves in some]
        chunks += [(on, *(x[i:i + CHUNK] for x in flat)) for i in range(0, len(flat[0]), CHUNK)]

    def update(chunk):
        on, p, g, m, v = chunk
        part = {"t": state["t"], "m": {"x": m}, "v": {"x": v}}
        adamw_step_({"x": p}, {"x": g}, part, lr, mask={"x": on}, **options)
        return part["t"]

    with ThreadPoolExecutor(threads) as pool:
        state["t"] = list(pool.map(update, chunks))[-1]


def _usable(where, dtype, leaves):
    """Arrays of one dtype without NaN and infinity."""
    for name, x in leaves.items():
        if x.dtype != dtype:
            raise TypeError(f"{where}: {name} has dtype {x.dtype}, expected {dtype}")
        finite(where, name, x)


def _fold(k, params, config):
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


def _unfold(k, fold, work, config):
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
        scales = (1 / math.sqrt(config.d // config.heads), 1, 1)
        for x, c, W, b in zip("qkv", scales, np.split(dW, 3, axis=1), np.split(f, 3), strict=True):
            block["attention"][f"W_{x}"][...], block["attention"][f"b_{x}"][...] = c * W, c * b
