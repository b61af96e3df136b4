"""Stands in the page for the package of this name, which is compiled and has no build for WebAssembly: as much of it as
`byhand.io.safetensors` calls, with the same bytes. The format: https://github.com/huggingface/safetensors#format"""

import json
import math

SIZES = {"U64": 8, "I64": 8, "F64": 8, "C64": 8, "F32": 4, "U32": 4, "I32": 4, "BF16": 2, "F16": 2, "U16": 2, "I16": 2,
         "F8_E4M3": 1, "F8_E5M2": 1, "I8": 1, "U8": 1, "BOOL": 1}  # bytes of a number, in the order of a file


class SafetensorError(Exception):
    pass


def deserialize(data):
    """[(name, {"dtype", "shape", "data"})] of a file; SafetensorError where it is not whole."""
    try:
        start = 8 + int.from_bytes(data[:8], "little")
        entries = json.loads(data[8:start])
        entries.pop("__metadata__", None)
        order = sorted(entries.items(), key=lambda item: item[1]["data_offsets"])
        found, end = [], 0
        for name, entry in order:
            first, last = entry["data_offsets"]
            if first != end or last - first != SIZES[entry["dtype"]] * math.prod(entry["shape"]):
                raise ValueError(f"the place of {name} does not fit")
            found.append((name, {"dtype": entry["dtype"], "shape": entry["shape"],
                                 "data": bytearray(data[start + first : start + last])}))
            end = last
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SafetensorError(f"Error while deserializing: {error}") from error
    if start + end != len(data):
        raise SafetensorError("Error while deserializing: the file is longer or shorter than its header says")
    return found
