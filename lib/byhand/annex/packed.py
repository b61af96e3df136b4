"""Chapter 16: the encoder of a published BERT without padding, with one compiled loop between two products.

The tokens of many sentences are rows of one matrix, so that a product or a norm never meets a token that is not there.
Only attention needs to know where a sentence ends, and sentences of one length attend together.
"""

import itertools
import math
import warnings
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

from byhand.annex.loops import HAVE_NUMBA, ONE, compiled, exp, norm_rows, softmax_rows
from byhand.check import Size, checked, finite, fits, ids_below, kind_among, settings_among
from byhand.config import ModelConfig
from byhand.np._erf import P
from byhand.np._threads import map_threads
from byhand.np.model import encoder_forward

ROWS = 1024  # tokens at a time: the four arrays of a block then stay near the processor
SUPPORTED = {"position": ("learned",), "kv_heads": (None,), "norm_first": (False,), "residual": (True,), "alpha": (1,),
             "activation": ("gelu",), "gated": (False,), "bias": (True,), "rms": (False,), "embedding_norm": (True,),
             "scale_embedding": (False,)}
ROOT, TERMS = np.float32(math.sqrt(0.5)), tuple(np.float32(c) for c in P)
WITHOUT = "encode_packed: Numba is not installed, so each sentence is read alone; pip install 'byhand[fused]' brings it"


@compiled
def erf_gelu_rows(U, b):
    """U becomes x Φ(x), where x = U + b: Φ(x) = σ(2 z P(z²)) at z = x / √2, with the P of `erf`.

    Far out, P only grows and `exp` stays level.
    """
    c0, c1, c2, c3, c4, c5, c6 = TERMS
    for i in range(U.shape[0]):
        u = U[i]
        for j in range(len(b)):
            x = u[j] + b[j]
            z = x * ROOT
            q = z * z
            p = (((((c6 * q + c5) * q + c4) * q + c3) * q + c2) * q + c1) * q + c0
            u[j] = x / (ONE + exp(-(z + z) * p))


@checked
def encode_packed(
    sentences: Sequence[Int[Array, " _"]], params: dict, config: ModelConfig, threads: Size = 2, rows: Size = ROWS
) -> list[Float[Array, "_ d"]]:
    """H of each sentence as `encoder_forward` gives it, from its own ids and no padding; in float32.

    So many tokens at a time, the longest sentences first, and a piece a thread. Without Numba it warns, and reads one
    sentence after the other. Raises ValueError for a config other than BERT's (Devlin et al. 2019), as in SUPPORTED.
    """
    _can("encode_packed", sentences, params, config)
    if not HAVE_NUMBA:
        warnings.warn(WITHOUT, stacklevel=3)
        return [encoder_forward(ids, params, config)[0] for ids in sentences]
    joined = [[np.concatenate([params["blocks"][str(i)]["attention"][f"{x}_{name}"] for name in "qkv"], axis=-1)
               for x in "Wb"] for i in range(config.layers)]
    found: list = [None] * len(sentences)

    def read(chosen):
        lengths = [len(sentences[k]) for k in chosen]
        H = _encode(np.concatenate([sentences[k] for k in chosen]), lengths, params, config, joined)
        finite("encode_packed", "H", H)
        for k, part in zip(chosen, np.split(H, np.cumsum(lengths)[:-1]), strict=True):
            found[k] = part

    map_threads(read, _pieces([len(ids) for ids in sentences], rows), threads)
    return found


def _pieces(lengths, rows):
    """Which sentences are read together: the longest first, as many as there is room for, and at least one."""
    pieces, room = [], 0
    for k in sorted(range(len(lengths)), key=lambda k: -lengths[k]):
        if lengths[k] > room:
            pieces.append([])
            room = rows
        pieces[-1].append(k)
        room -= lengths[k]
    return pieces


def _encode(ids, lengths, params, config, joined):
    """(t, d) from ids (t,), sentence after sentence."""
    t, d, k = len(ids), config.d, config.d // config.heads
    scale = np.float32(1 / math.sqrt(k))
    X, Y, QKV, Z, U = (np.empty((t, width), np.float32) for width in (d, d, 3 * d, d, config.width))
    r, nothing = np.empty(t, np.float32), np.zeros(d, np.float32)
    places, embedding = np.concatenate([np.arange(n) for n in lengths]), params["embedding"]
    np.take(embedding["tokens"]["E"], ids, axis=0, out=X, mode="clip")
    np.take(embedding["positions"]["table"], places, axis=0, out=Y, mode="clip")
    first = embedding["segments"]["E"][0] if config.segments else nothing

    def join(b, norm):
        """X = norm(X + Y + b); each row of Y is read before its place is written."""
        norm_rows(X, Y, b, norm["gamma"], norm["beta"], np.float32(config.eps), True, Y, r, X)

    join(first, embedding["norm"])
    for i in range(config.layers):
        block, (W, b) = params["blocks"][str(i)], joined[i]
        np.matmul(X, W, out=QKV)
        QKV += b
        end = 0
        for n, same in itertools.groupby(lengths):
            begin, end = end, end + n * len(list(same))
            Q, K, V = (QKV[begin:end, j : j + d].reshape(-1, n, d // k, k).swapaxes(1, 2) for j in (0, d, 2 * d))
            A = Q @ K.mT
            softmax_rows(A.reshape(-1, n), scale, 0)
            np.matmul(A, V, out=Z[begin:end].reshape(-1, n, d // k, k).swapaxes(1, 2))
        np.matmul(Z, block["attention"]["W_o"], out=Y)
        join(block["attention"]["b_o"], block["norm_1"])
        erf_gelu_rows(np.matmul(X, block["ff"]["W_1"], out=U), block["ff"]["b_1"])
        np.matmul(U, block["ff"]["W_2"], out=Y)
        join(block["ff"]["b_2"], block["norm_2"])
    return X


def _can(where, sentences, params, config):
    kind_among(where, config, "encoder")
    settings_among(where, config, SUPPORTED, "np.model")
    fits(where, params, config.shapes)
    if (dtype := params["embedding"]["tokens"]["E"].dtype) != np.float32:
        raise TypeError(f"{where}: params have dtype {dtype}, expected float32")
    for k, ids in enumerate(sentences):
        if not isinstance(ids, np.ndarray) or ids.ndim != 1 or ids.dtype.kind not in "iu":
            raise TypeError(f"{where}: sentences[{k}] is {ids!r:.40}, expected an array of whole numbers with one axis")
        if not 0 < len(ids) <= config.n_max:
            raise ValueError(f"{where}: sentences[{k}] has {len(ids)} ids, expected 1 to {config.n_max}")
        ids_below(where, config.vocab, **{f"sentences[{k}]": ids})
