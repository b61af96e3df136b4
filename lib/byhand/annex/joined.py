"""Chapter 16: one more token of a LLaMA's kind, with everything that no token changes done beforehand.

A token reads each weight once, so memory sets its price, and many small products do not use all of it: queries, keys
and values are one product here, and so are the two parts of a gated layer. γ and 1/√k are multiplied into the weights.
"""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

from byhand.check import checked, finite, fits, has_room, ids_below, kind_among, settings_among
from byhand.config import ModelConfig
from byhand.np.generate import KVCache
from byhand.np.position import frequencies

SUPPORTED = {"position": ("rope",), "norm_first": (True,), "residual": (True,), "alpha": (1,), "activation": ("silu",),
             "gated": (True,), "bias": (False,), "rms": (True,), "embedding_norm": (False,),
             "scale_embedding": (False,), "segments": (0,)}


class JoinedBlock(NamedTuple):
    W_qkv: Float[Array, "d qkv"]  # diag(γ_1) [W_q / √k, W_k, W_v]
    W_o: Float[Array, "d d"]
    W_in: Float[Array, "d two"]  # diag(γ_2) [W_g, W_1]
    W_2: Float[Array, "wide d"]


class Joined(NamedTuple):
    """The weights of a decoder as `decode_token` reads them; the tree that they come from is not needed any more."""

    config: ModelConfig
    E: Float[Array, "V d"]
    blocks: list[JoinedBlock]
    head: Float[Array, "V d"] | Float[Array, "d V"]  # E itself where the head is tied to it
    gamma: Float[Array, " d"]
    omega: Float[Array, " half"]


@checked
def join_weights(params: dict, config: ModelConfig) -> Joined:
    """The weights of each block, joined: W_qkv and W_in are copies, the others the arrays of params.

    Raises ValueError for a config with anything that SUPPORTED lacks (Touvron et al. 2023).
    """
    kind_among("join_weights", config, "decoder")
    settings_among("join_weights", config, SUPPORTED, "np.generate")
    fits("join_weights", params, config.shapes)
    k, blocks = config.d // config.heads, []
    for i in range(config.layers):
        block = params["blocks"][str(i)]
        attention, ff = block["attention"], block["ff"]
        share = np.asarray(1 / math.sqrt(k), attention["W_q"].dtype)
        W_qkv = np.concatenate([share * attention["W_q"], attention["W_k"], attention["W_v"]], axis=1)
        W_in = np.concatenate([ff["W_g"], ff["W_1"]], axis=1)
        blocks.append(JoinedBlock(block["norm_1"]["gamma"][:, None] * W_qkv, attention["W_o"],
                                  block["norm_2"]["gamma"][:, None] * W_in, ff["W_2"]))
    E = params["embedding"]["tokens"]["E"]
    return Joined(config, E, blocks, E if config.tied else params["head"]["W"], params["norm"]["gamma"],
                  frequencies(k, config.rope_theta))


@checked
def decode_token(ids: Int[Array, " B"], joined: Joined, kv: KVCache) -> tuple[Float[Array, "B V"], KVCache]:
    """Logits after one more token in each row, and the cache with it in it: `decode_forward` for t = 1.

    The cache is that of `init_kv`, which `decode_forward` has filled with the prompt.
    """
    config, length, m = joined.config, kv.length, kv.length + 1
    has_room("decode_token", 1, length, kv.layers[0][0].shape[2])
    ids_below("decode_token", config.vocab, ids=ids)
    rows, H, G, k = len(ids), config.heads, config.groups, config.d // config.heads
    if kv.layers[0][0].shape[1::2] != (G, k) or len(kv.layers) != config.layers:
        raise ValueError(f"decode_token: kv has {len(kv.layers)} blocks and keys of shape {kv.layers[0][0].shape}, "
                         f"expected {config.layers} and (B, {G}, n_max, {k}), those of the model")
    angle = np.maximum(length - kv.start, 0)[:, None, None] * joined.omega  # (12.13)
    hidden = np.arange(m) < np.minimum(kv.start, length)[:, None] if kv.start.any() else None  # (12.14)
    X = joined.E[ids]
    cos, sin = np.cos(angle).astype(X.dtype), np.sin(angle).astype(X.dtype)
    for block, (K, V) in zip(joined.blocks, kv.layers, strict=True):
        heads = (_scaled(X, config.eps) @ block.W_qkv).reshape(rows, H + 2 * G, k)
        V[:, :, length] = heads[:, H + G :]
        even, odd = heads[:, : H + G, ::2], heads[:, : H + G, 1::2]
        turned = np.empty((rows, H + G, k), X.dtype)
        turned[..., ::2], turned[..., 1::2] = even * cos - odd * sin, even * sin + odd * cos  # (3.29)
        K[:, :, length] = turned[:, H:]
        S = turned[:, :H].reshape(rows, G, H // G, k) @ K[:, :, :m].mT  # (4.5)
        if hidden is not None:
            S[np.broadcast_to(hidden[:, None, None], S.shape)] = -np.inf
        A = np.exp(S - S.max(axis=-1, keepdims=True))
        A /= A.sum(axis=-1, keepdims=True)  # (4.6)
        X += (A @ V[:, :, :m]).reshape(rows, H * k) @ block.W_o
        U = _scaled(X, config.eps) @ block.W_in
        gate, up = U[:, : config.width], U[:, config.width :]
        up *= gate * (0.5 + 0.5 * np.tanh(0.5 * gate))  # (9.16), (9.17)
        X += up @ block.W_2
    Y = _scaled(X, config.eps) * joined.gamma
    logits = Y @ (joined.head.T if config.tied else joined.head)
    finite("decode_token", "logits", logits)
    return logits, kv._replace(length=m)


def _scaled(X, eps):
    """X / √(mean X² + ε): RMSNorm without its γ, (6.25)."""
    return X / np.sqrt(np.einsum("bd,bd->b", X, X) / X.shape[1] + eps)[:, None].astype(X.dtype)
