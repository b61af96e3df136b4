"""Parameter trees as safetensors files: plain arrays under the paths of the tree, nothing to unpickle."""

import json
from pathlib import Path

import numpy as np

from byhand.check import checked
from byhand.check.numbers import is_plain
from byhand.io.files import write_whole
from byhand.tree import flatten, unflatten

DTYPES = {  # in the file → in NumPy
    "F64": "float64", "F32": "float32", "F16": "float16", "C64": "complex64", "BOOL": "bool",
    **{f"{name[0].upper()}{8 * size}": f"{name}{8 * size}" for name in ("int", "uint") for size in (1, 2, 4, 8)},
}
RESERVED = "__metadata__"  # where the format has its metadata, among the names of the arrays


@checked
def save_safetensors(tree: dict, path: str | Path, metadata: dict[str, str] | None = None) -> None:
    """Write the tree in one step: the file at `path` is the old one or the whole new one, never half of it."""
    write_whole(path, encode("save_safetensors", tree, metadata))


@checked
def load_safetensors(path: str | Path) -> dict:
    """The tree of a safetensors file, whoever wrote it.

    BF16 and floats of eight bits, which NumPy has not, become float32, exactly. Raises ValueError for a damaged file
    and for types of other kinds, FileNotFoundError for none.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"load_safetensors: no file at {path}")
    return decode("load_safetensors", path, Path(path).read_bytes())[0]


def encode(where: str, tree: dict, metadata: dict[str, str] | None = None) -> bytes:
    """The bytes of a file with these arrays; `where` is who speaks if one cannot be in it."""
    from safetensors.numpy import save

    leaves = flatten(tree)
    for name, x in leaves.items():
        if not is_plain(x):
            raise TypeError(f"{where}: {name} is {type(x).__name__}, expected a NumPy array")
        if x.dtype.name not in DTYPES.values():
            raise TypeError(f"{where}: {name} has dtype {x.dtype.name}, expected one of {', '.join(DTYPES.values())}")
    if RESERVED in leaves:
        raise ValueError(f"{where}: tree has a leaf {RESERVED}, a name that the format keeps, expected another")
    for key, value in (metadata or {}).items():
        if not (isinstance(key, str) and isinstance(value, str)):
            raise TypeError(f"{where}: metadata has {key!r}: {value!r}, expected text for text")
    for text in (*leaves, *(text for entry in (metadata or {}).items() for text in entry)):
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{where}: {text!r} holds half of a surrogate pair, expected Unicode text") from None
    return save({name: np.asarray(x, order="C") for name, x in leaves.items()}, metadata)


def decode(where: str, path: str | Path, data: bytes) -> tuple[dict, dict[str, str]]:
    """The tree and the metadata in the bytes of the file at `path`."""
    from safetensors import SafetensorError, deserialize

    try:
        arrays = dict(deserialize(data))  # in any order
        names, metadata = header(data)
        return unflatten({name: _array(name, **arrays[name]) for name in names}), metadata
    except SafetensorError as error:
        raise ValueError(f"{where}: {path} is damaged ({error}), expected a safetensors file") from error
    except ValueError as error:
        raise ValueError(f"{where}: {path} cannot be read ({error})") from error


def header(data: bytes) -> tuple[list[str], dict[str, str]]:
    """The names in a file that is whole, and its metadata."""
    entries = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    metadata = entries.pop(RESERVED, None) or {}
    return list(entries), metadata


def _array(name, dtype, shape, data):
    if dtype in DTYPES:
        x = np.frombuffer(data, np.dtype(DTYPES[dtype]).newbyteorder("<"))
    elif dtype == "BF16":  # the upper half of a float32
        x = (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
    elif dtype == "F8_E5M2":  # the upper half of a float16
        x = (np.frombuffer(data, np.uint8).astype(np.uint16) << 8).view(np.float16).astype(np.float32)
    elif dtype == "F8_E4M3":
        x = _E4M3[np.frombuffer(data, np.uint8)]
    else:
        known = ", ".join([*DTYPES, "BF16", "F8_E4M3", "F8_E5M2"])
        raise ValueError(f"{name} is in {dtype}, expected one of {known}")
    return x.reshape(shape)


def _e4m3() -> np.ndarray:
    """Each byte: a sign, four bits of exponent, three of fraction; no infinity (Micikevicius et al. 2022)."""
    exponent, fraction = np.divmod(np.arange(128), 8)
    x = np.where(exponent, (8 + fraction) * 2.0 ** (exponent - 10), fraction * 2.0**-9)
    x[127] = np.nan
    return np.concatenate([x, -x]).astype(np.float32)


_E4M3 = _e4m3()
