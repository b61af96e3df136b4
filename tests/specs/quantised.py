# ruff: noqa: E501
"""Proofs of weights in eight bits: the format's own numbers, half a step a weight, and a bound that the product keeps."""

import tracemalloc

import numpy as np
from byhand.annex import quantised as right
from byhand.io.gguf import dequantise
from gguf import GGMLQuantizationType
from gguf.quants import quantize
from invariants import near, raises, same
from mutants import M
from proofs import as_shipped

SHAPES = ((1, 32), (3, 64), (7, 96), (5, 160))  # d_out, d_in


def weights(rows, width):
    """Blocks of very different sizes, one of them all 0, one of numbers that float16 has only below its normal ones."""
    draw = np.random.default_rng([rows, width])
    W = draw.normal(size=(rows, width)) * 10.0 ** draw.integers(-3, 3, size=(rows, width // 32)).repeat(32, axis=1)
    W[-1, :32] = 0
    W[0, -32:] = 1e-6 * draw.normal(size=32)
    return W


def inputs(*shape):
    return np.random.default_rng(shape).normal(size=shape)


def no_weight_is_off_by_more_than_half_a_step(module):
    """Also where the scale is too small for float16's normal numbers; a block of zeros stays one."""
    for rows, width in SHAPES:
        W = weights(rows, width)
        packed = module.quantise(W)
        assert packed.q.dtype == np.int8 and packed.scale.dtype == np.float16
        off = np.abs(module.unpack(packed) - W).reshape(rows, -1, 32)
        half = packed.scale.astype(np.float64)[..., None] / 2
        assert (off <= half * (1 + 1e-5)).all(), "half a step"  # unpacked in float32
        assert packed.q.min() >= -127
        top = np.abs(W).reshape(rows, -1, 32).max(axis=-1)
        assert (packed.scale * 127.0 <= top * (1 + 2e-3) + 127 * 2**-24).all(), "scales as small as they can be"
        assert packed.nbytes == rows * width // 32 * 34


def bytes_of_the_format_are_read(module):
    """Those that the format's own quantiser writes, in either order of bytes."""
    for rows, width in SHAPES:
        W = weights(rows, width).astype(np.float32)
        data = quantize(W, GGMLQuantizationType.Q8_0).reshape(-1)
        packed = module.from_q8_0(data, width)
        same(module.unpack(packed), dequantise(data, "Q8_0").reshape(rows, width), "unpacked and dequantised")
        turned = data.reshape(-1, 34).copy()
        turned[:, :2] = turned[:, 1::-1]
        same(module.unpack(module.from_q8_0(turned.reshape(-1), width, ">")), module.unpack(packed), "great end first")


def the_product_is_that_of_the_unpacked(module):
    """Whatever the tile, and the leading axes; in the dtype of X."""
    for rows, width in SHAPES:
        packed = right.quantise(weights(rows, width))
        for lead in ((), (4,), (2, 3)):
            X = inputs(*lead, width)
            for tile in (1, 2, 3, rows, 99):
                Y = module.quantised_matmul(X, packed, tile)
                near(Y, X @ right.unpack(packed).astype(np.float64).T, f"{rows} rows, tile {tile}", 1e-9)
                assert module.quantised_matmul(X.astype(np.float32), packed, tile).dtype == np.float32


def the_bound_holds_and_is_met(module):
    """By any X, and nearly reached by the X whose signs are those of the errors."""
    for rows, width in SHAPES[1:]:
        W = weights(rows, width)
        packed = right.quantise(W)
        X = inputs(2, 9, width)
        off = np.abs(X @ (right.unpack(packed).astype(np.float64) - W).T)
        assert (off <= module.product_bound(X, packed) * (1 + 1e-6)).all(), "the bound"
    step = np.float64(right.quantise(np.full((1, 32), 127.0)).scale[0, 0])
    W = np.tile([127 * step, 0.5 * step, 1.5 * step, 3.4999 * step], (1, 16)) * np.repeat([1, 4], 32)
    packed = right.quantise(W)
    X = np.sign(right.unpack(packed).astype(np.float64) - W) * np.where(np.arange(64) % 4, 1, 0)
    near(np.abs(X @ (right.unpack(packed).astype(np.float64) - W).T), module.product_bound(X, packed), "X against the errors", 1e-2)


def only_a_tile_is_unpacked(module):
    packed, X = right.quantise(inputs(256, 256)), inputs(2, 256).astype(np.float32)
    tracemalloc.start()
    try:
        module.quantised_matmul(X, packed, 8)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 256 * 256 * 4 / 4, f"{most} bytes, and the whole matrix takes {256 * 256 * 4}"


def what_does_not_fit_is_refused(module):
    W = right.quantise(inputs(3, 64))
    data = quantize(inputs(3, 64).astype(np.float32), GGMLQuantizationType.Q8_0).reshape(-1)
    with as_shipped():
        raises(ValueError, "W has rows of 70, expected whole blocks of 32", lambda: module.quantise(inputs(3, 70)))
        raises(ValueError, "W holds 1.0e.07, expected at most", lambda: module.quantise(np.full((1, 32), 1e7)))
        raises(ValueError, "200 bytes for rows of 64, expected rows of whole blocks", lambda: module.from_q8_0(data[:-4], 64))
        raises(ValueError, "204 bytes for rows of 51", lambda: module.from_q8_0(data, 51))
        raises(TypeError, "data has dtype int64, expected uint8", lambda: module.from_q8_0(data.astype(np.int64), 64))
        for call in (module.quantised_matmul, module.product_bound):
            raises(ValueError, "X has 96 columns but rows of W have 2 blocks of 32", lambda f=call: f(inputs(2, 96), W))
            raises(TypeError, "int16 and scales in float16, expected int8", lambda f=call: f(inputs(2, 64), W._replace(q=W.q.astype(np.int16))))
        infinite = data.copy()
        infinite[:2] = np.frombuffer(np.float16(np.inf).tobytes(), np.uint8)
        raises(ValueError, "scale holds inf", lambda: module.from_q8_0(infinite, 64))


INVARIANTS = {"annex.quantised": [
    no_weight_is_off_by_more_than_half_a_step, bytes_of_the_format_are_read, the_product_is_that_of_the_unpacked,
    the_bound_holds_and_is_met, only_a_tile_is_unpacked, what_does_not_fit_is_refused]}

WRONG = [
    M("annex.quantised.quantise", "invariant", "cut off, not rounded", "np.rint(", "np.trunc("),
    M("annex.quantised.quantise", "invariant", "scale rounded to the nearest", "np.where(scale < needed, np.nextafter(scale, np.float16(np.inf)), scale)", "scale"),
    M("annex.quantised.quantise", "invariant", "one scale a row", "scale = needed.astype(np.float16)", "scale = (0 * needed + needed.max(axis=-1, keepdims=True)).astype(np.float16)"),
    M("annex.quantised.quantise", "invariant", "scale of the greatest, not of its size", "np.abs(blocks).max(axis=-1) / MOST", "blocks.max(axis=-1) / MOST"),
    M("annex.quantised.quantise", "invariant", "a short last block taken", "if W.shape[1] % BLOCK:", "W = W[:, : W.shape[1] // BLOCK * BLOCK]\n    if False:"),
    M("annex.quantised.quantise", "invariant", "an infinite scale", "if needed.max(initial=0) > np.finfo(np.float16).max:", "if False:"),
    M("annex.quantised.quantise", "invariant", "a block of zeros divided by 0", ", out=np.zeros_like(blocks), where=step > 0", ""),
    M("annex.quantised.from_q8_0", "invariant", "scale behind the numbers", "blocks[..., :2]", "blocks[..., -2:]"),
    M("annex.quantised.from_q8_0", "invariant", "blocks begin one byte late", "blocks[..., 2:]", "np.roll(blocks, 1, axis=-1)[..., 2:]"),
    M("annex.quantised.from_q8_0", "invariant", "numbers without a sign", ".view(np.int8)", ".astype(np.int8)", "blocks[..., 2:]", "blocks[..., 2:] & 127"),
    M("annex.quantised.from_q8_0", "invariant", "one order of bytes", 'f"{order}f2"', '"<f2"'),
    M("annex.quantised.from_q8_0", "invariant", "a short last block dropped", "if d_in % BLOCK or data.size % row:", "data = data[: data.size // row * row]\n    if d_in % BLOCK:"),
    M("annex.quantised.from_q8_0", "invariant", "infinite scales taken", '    finite("from_q8_0", "scale", scale)\n', ""),
    M("annex.quantised.from_q8_0", "invariant", "wider numbers taken for bytes", "if data.dtype != np.uint8:", "if False:"),
    M("annex.quantised.unpack", "invariant", "scales dealt out across blocks", "W.q * W.scale[..., None].astype(np.float32)", "W.q.swapaxes(1, 2) * W.scale[:, None].astype(np.float32)"),
    M("annex.quantised.quantised_matmul", "invariant", "scale along the wrong axis", "W.scale[i : i + tile, :, None]", "W.scale[i : i + tile, ::-1, None]"),
    M("annex.quantised.quantised_matmul", "invariant", "scales of the first tile for all", "W.scale[i : i + tile, :, None]", "W.scale[: len(q), :, None]"),
    M("annex.quantised.quantised_matmul", "invariant", "last rows lost", "range(0, rows, tile)", "range(0, max(rows - tile + 1, 1), tile)"),
    M("annex.quantised.quantised_matmul", "invariant", "all of it unpacked", "for i in range(0, rows, tile):", "everything = W.q * np.float32(1)  # noqa: F841\n    for i in range(0, rows, tile):"),
    M("annex.quantised.quantised_matmul", "invariant", "float64 whatever came", "np.empty((len(x), rows), X.dtype)", "np.empty((len(x), rows))"),
    M("annex.quantised.product_bound", "invariant", "a whole step", ".astype(X.dtype) / 2)", ".astype(X.dtype))"),
    M("annex.quantised.product_bound", "invariant", "errors that cancel", "np.abs(X).reshape", "X.reshape"),
    M("annex.quantised._fit", "invariant", "X of any width", "X.shape[-1] != BLOCK", "False and X.shape[-1] != BLOCK"),
    M("annex.quantised._fit", "invariant", "scales of another dtype", "if (W.q.dtype", "if False and (W.q.dtype"),
]
