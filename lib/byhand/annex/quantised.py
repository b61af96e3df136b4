"""Chapter 16: weights in eight bits, and a product that never unpacks them all: Q8_0, as GGUF files have it.

Each 32 numbers that stand side by side in a row of W (d_out, d_in) are whole numbers q from −127 to 127 times one scale
in float16: 34 bytes in place of 128.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Integer, Shaped
from numpy import ndarray as Array

from byhand.check import Size, checked, finite
from byhand.io.gguf import BLOCK, SIZES

MOST = 127  # the largest q
KIND = "Q8_0"


class Quantised(NamedTuple):
    """W ≈ scale · q, rows first."""

    q: Integer[Array, "d_out blocks 32"]  # int8
    scale: Shaped[Array, "d_out blocks"]  # float16

    @property
    def nbytes(self) -> int:
        """34 for each 32 weights."""
        return self.q.nbytes + self.scale.nbytes


@checked
def quantise(W: Float[Array, "d_out d_in"]) -> Quantised:
    """The nearest q, block by block, under the least scale in float16 that keeps all of them within ±127.

    So no weight is off by more than half its scale. Raises ValueError where 32 does not divide d_in, or no scale is
    large enough.
    """
    if W.shape[1] % BLOCK:
        raise ValueError(f"quantise: W has rows of {W.shape[1]}, expected whole blocks of {BLOCK}")
    blocks = W.reshape(len(W), -1, BLOCK).astype(np.float64)
    needed = np.abs(blocks).max(axis=-1) / MOST
    if needed.max(initial=0) > np.finfo(np.float16).max:
        raise ValueError(f"quantise: W holds {np.abs(blocks).max():.1e}, expected at most {MOST} times the largest "
                         "float16")
    scale = needed.astype(np.float16)
    scale = np.where(scale < needed, np.nextafter(scale, np.float16(np.inf)), scale)  # rounded up
    step = scale.astype(np.float64)[..., None]
    return Quantised(np.rint(np.divide(blocks, step, out=np.zeros_like(blocks), where=step > 0)).astype(np.int8), scale)


@checked
def from_q8_0(data: Integer[Array, " b"], d_in: Size, order: str = "<") -> Quantised:
    """Rows of d_in numbers from the bytes of a file, such as `GGUF.data` gives: of each block the scale, then q.

    Raises ValueError for a last block or row that is cut short, and for scales that are not finite.
    """
    if data.dtype != np.uint8:
        raise TypeError(f"from_q8_0: data has dtype {data.dtype}, expected uint8, the bytes of a file")
    if order not in ("<", ">"):
        raise ValueError(f"from_q8_0: order is {order!r}, expected '<' or '>'")
    size = SIZES[KIND][1]
    row = d_in // BLOCK * size
    if d_in % BLOCK or data.size % row:
        raise ValueError(f"from_q8_0: data has {data.size} bytes for rows of {d_in}, expected rows of whole blocks of "
                         f"{BLOCK} numbers, {size} bytes each")
    blocks = data.reshape(-1, d_in // BLOCK, size)
    scale = np.ascontiguousarray(blocks[..., :2]).view(f"{order}f2")[..., 0].astype(np.float16)
    finite("from_q8_0", "scale", scale)
    return Quantised(np.ascontiguousarray(blocks[..., 2:]).view(np.int8), scale)


@checked
def unpack(W: Quantised) -> Float[Array, "d_out d_in"]:
    """All weights in float32."""
    return (W.q * W.scale[..., None].astype(np.float32)).reshape(len(W.q), -1)


@checked
def quantised_matmul(X: Float[Array, "*B d_in"], W: Quantised, tile: Size = 128) -> Float[Array, "*B d_out"]:
    """X Wᵀ, with `tile` rows of W unpacked at a time, in the dtype of X; they stay in the cache until they are used."""
    (rows, blocks, _), x = W.q.shape, X.reshape(-1, X.shape[-1])
    _fit("quantised_matmul", X, W)
    Y, part = np.empty((len(x), rows), X.dtype), np.empty((min(tile, rows), blocks, BLOCK), X.dtype)
    for i in range(0, rows, tile):
        q, scale = W.q[i : i + tile], W.scale[i : i + tile, :, None].astype(X.dtype)
        some = np.multiply(q, scale, out=part[: len(q)])
        np.matmul(x, some.reshape(len(q), -1).T, out=Y[:, i : i + tile])
    return Y.reshape(*X.shape[:-1], rows)


@checked
def product_bound(X: Float[Array, "*B d_in"], W: Quantised) -> Float[Array, "*B d_out"]:
    """How far X Wᵀ can be from the product with the weights that W was made of: ½ Σ scale ‖x‖₁ over blocks."""
    _fit("product_bound", X, W)
    norms = np.abs(X).reshape(*X.shape[:-1], -1, BLOCK).sum(axis=-1)
    return norms @ (W.scale.T.astype(X.dtype) / 2)


def _fit(where, X, W):
    if (W.q.dtype, W.scale.dtype) != (np.int8, np.float16):
        raise TypeError(f"{where}: W has {W.q.dtype} and scales in {W.scale.dtype}, expected int8 and float16")
    if X.shape[-1] != BLOCK * W.q.shape[1]:
        raise ValueError(f"{where}: X has {X.shape[-1]} columns but rows of W have {W.q.shape[1]} blocks of {BLOCK}, "
                         "expected as many numbers")
