"""`save`: arrays as the bytes of a safetensors file."""

import json

from byhand.io.safetensors import DTYPES

from . import SIZES

NAMES = {name: short for short, name in DTYPES.items()}


def save(arrays, metadata=None):
    """Wide types first, so that each array begins at a multiple of its numbers' size; then by name."""
    header, end = {"__metadata__": metadata} if metadata is not None else {}, 0
    names = sorted(arrays, key=lambda name: (list(SIZES).index(NAMES[arrays[name].dtype.name]), name))
    for name in names:
        x = arrays[name]
        header[name] = {"dtype": NAMES[x.dtype.name], "shape": list(x.shape), "data_offsets": [end, end + x.nbytes]}
        end += x.nbytes
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    body = (arrays[name].astype(arrays[name].dtype.newbyteorder("<"), copy=False).tobytes() for name in names)
    return b"".join([len(text).to_bytes(8, "little"), text, *body])
