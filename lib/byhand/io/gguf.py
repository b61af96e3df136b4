"""Chapter 17: GGUF, the file format of llama.cpp: metadata, and tensors in blocks of a few bits a number.

A file is a header, metadata, a table of tensors, and their bytes, which stay on the disk until `array` asks for them.
"""

import math
import os
import struct
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, UInt8
from numpy import ndarray as Array

from byhand.check import checked
from byhand.check.numbers import is_plain, kind_of

NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 10: "Q", 11: "q", 12: "d"}  # struct's letters
BOOL, STRING, ARRAY = 7, 8, 9
BLOCK = 32  # numbers that share a scale
FORMATS = {  # id in the file: (name, numbers in a block, bytes in a block)
    0: ("F32", 1, 4),
    1: ("F16", 1, 2),
    2: ("Q4_0", BLOCK, 2 + 16),
    3: ("Q4_1", BLOCK, 2 + 2 + 16),
    8: ("Q8_0", BLOCK, 2 + 32),
}
SIZES = {name: (numbers, size) for name, numbers, size in FORMATS.values()}


class Stored(NamedTuple):
    """A tensor as the file has it: its shape, rows first, the name of its format, and where its bytes are."""

    shape: tuple[int, ...]
    kind: str
    begin: int
    size: int


class GGUF(NamedTuple):
    """A file whose header was read."""

    metadata: dict[str, Any]  # numbers, strings, booleans and lists of them
    tensors: dict[str, Stored]
    order: str  # of bytes in a number: "<" little end first, ">" big end first
    path: Path
    state: tuple[int, int]  # of the file when it was read: its size, and when it was written, in ns

    def data(self, name: str) -> UInt8[Array, " b"]:
        """The bytes of one tensor, read now: KeyError for an unknown name, ValueError if the file has changed."""
        if name not in self.tensors:
            raise KeyError(f"GGUF: no tensor {name!r} among the {len(self.tensors)} of the file")
        _, _, begin, size = self.tensors[name]
        with open(self.path, "rb") as file:
            file.seek(begin)
            data = np.fromfile(file, np.uint8, size)
            if data.size < size or _state(file) != self.state:
                raise ValueError(f"GGUF: {self.path} has changed since its header was read, expected the same file")
        return data

    def array(self, name: str) -> Float[Array, "..."]:
        """One tensor in float32, read now. Raises as `data` does, and ValueError where numbers are not finite."""
        data, (shape, kind, *_) = self.data(name), self.tensors[name]
        try:
            return dequantise(data, kind, self.order).reshape(shape)
        except ValueError as error:
            raise ValueError(f"GGUF: {self.path} has a tensor {name!r} that cannot be used ({error})") from error


def _state(file) -> tuple[int, int]:
    found = os.fstat(file.fileno())
    return found.st_size, found.st_mtime_ns


def dequantise(data: UInt8[Array, " b"], kind: str, order: str = "<") -> Float[Array, " n"]:
    """The numbers that the bytes stand for, in float32.

    A block of 32 has a scale s: Q8_0 is s q, q signed bytes; Q4_0 is s (q − 8) and Q4_1 is s q + m, q of four bits, the
    low halves of the 16 bytes first, then the high halves. Raises ValueError for scales or numbers that are not finite.
    """
    if not is_plain(data) or data.dtype != np.uint8:
        got = f"has dtype {data.dtype}" if is_plain(data) else f"is {kind_of(data)}"
        raise TypeError(f"dequantise: data {got}, expected a NumPy array of uint8, the bytes of a file")
    if data.ndim != 1:
        raise ValueError(f"dequantise: data has shape {data.shape}, expected one axis")
    if not isinstance(kind, str) or kind not in SIZES:
        raise ValueError(f"dequantise: kind is {kind!r}, expected one of {', '.join(SIZES)}")
    if order not in ("<", ">"):
        raise ValueError(f"dequantise: order is {order!r}, expected '<' or '>'")
    size = SIZES[kind][1]
    if data.size % size:
        raise ValueError(f"dequantise: data has {data.size} bytes, expected a multiple of {size}, a block of {kind}")
    if kind in ("F32", "F16"):
        return _finite(data.view(f"{order}f{size}").astype(np.float32))
    blocks = data.reshape(-1, size)

    def halves(at):  # a float16 of each block
        return _finite(np.ascontiguousarray(blocks[:, at : at + 2]).view(f"{order}f2").astype(np.float32))

    if kind == "Q8_0":
        return (halves(0) * blocks[:, 2:].view(np.int8)).reshape(-1)
    bits = blocks[:, size - 16 :]
    X = np.empty((len(blocks), BLOCK), np.float32)
    X[:, :16], X[:, 16:] = bits & 15, bits >> 4
    if kind == "Q4_0":
        X -= 8
    X *= halves(0)
    if kind == "Q4_1":
        X += halves(2)
    return X.reshape(-1)


def _finite(x):
    ok = np.isfinite(x)
    if not ok.all():
        raise ValueError(f"dequantise: data hold {x[~ok][0]} as number or scale {np.argmin(ok)}, expected finite ones")
    return x


@checked
def read_gguf(path: str | Path) -> GGUF:
    """The header of the file at `path`, versions 2 and 3.

    Raises ValueError for a damaged or an unknown one, saying where: tensors must lie one behind the other in the order
    of the table, and the file must end with the last.
    """
    with open(path, "rb") as file:
        reader = _Reader(Path(path).absolute(), file)
        return reader.whole()


class _Reader:
    """Numbers and strings of the header, one after the other."""

    def __init__(self, path, file):
        self.path, self.file, self.state = path, file, _state(file)
        self.size, self.data, self.at, self.order = self.state[0], b"", 0, "<"

    def fault(self, says: str) -> ValueError:
        return ValueError(f"read_gguf: {self.path} {says}")

    def take(self, size: int) -> int:
        """Where the next `size` bytes begin; they are in `data`."""
        begin, self.at = self.at, self.at + size
        if self.at > self.size:
            raise self.fault(f"ends at byte {self.size}, expected {size} bytes from byte {begin} on")
        if self.at > len(self.data):
            self.data += self.file.read(max(self.at - len(self.data), len(self.data), 1 << 16))
        if self.at > len(self.data):
            raise self.fault("is cut while it is read")
        return begin

    def whole(self) -> GGUF:
        if not self.size:
            raise self.fault("is empty, expected a GGUF file")
        self.take(min(4, self.size))
        if self.data[:4] != b"GGUF":
            raise self.fault(f"begins with {self.data[:4]!r}, expected b'GGUF'")
        version = self.number("I")
        if version > 0xFFFF:  # the least byte is where the greatest should be
            self.order, version = ">", struct.unpack(">I", struct.pack("<I", version))[0]
        if version not in (2, 3):
            raise self.fault(f"has version {version}, expected 2 or 3")
        tensors, entries = self.number("Q"), self.number("Q")
        metadata: dict[str, Any] = {}
        for _ in range(entries):
            key = self.string()
            if key in metadata:
                raise self.fault(f"has {key!r} twice in its metadata, expected once")
            metadata[key] = self.value(self.number("I"))
        table = self.table(tensors)
        alignment = metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or alignment <= 0 or alignment % 8:
            raise self.fault(f"has general.alignment {alignment!r}, expected a multiple of 8")
        return GGUF(metadata, self.laid_out(table, alignment), self.order, self.path, self.state)

    def number(self, letter: str, count: int | None = None):
        """One number, or a list of `count`."""
        size = struct.calcsize(f"{self.order}{letter}")
        begin = self.take(size * (1 if count is None else count))
        if count is None:
            return struct.unpack_from(f"{self.order}{letter}", self.data, begin)[0]
        return np.frombuffer(self.data, f"{self.order}{np.dtype(letter).str[1:]}", count, begin).tolist()

    def strings(self, count: int) -> list[str]:
        """A list of strings, in one loop and no calls: a vocabulary holds tens of thousands."""
        found, length = [], struct.Struct(f"{self.order}Q")
        for _ in range(count):
            begin = self.at + 8
            size = length.unpack_from(self.data, self.at)[0] if begin <= len(self.data) else 0
            if begin + size > len(self.data):
                begin = self.take(8) + 8
                size = length.unpack_from(self.data, begin - 8)[0]
                self.take(size)
            try:
                found.append(self.data[begin : begin + size].decode("utf-8"))
            except UnicodeDecodeError:
                raise self.fault(f"has a string at byte {begin} that is no UTF-8") from None
            self.at = begin + size
        return found

    def string(self) -> str:
        return self.strings(1)[0]

    def value(self, kind: int, count: int | None = None):
        """A value of the metadata, or a list of `count` of one kind."""
        if kind in NUMBERS:
            return self.number(NUMBERS[kind], count)
        if kind == BOOL:
            bits = self.number("B", 1 if count is None else count)
            if set(bits) - {0, 1}:
                raise self.fault(f"has a truth value {max(bits)} before byte {self.at}, expected 0 or 1")
            return bool(bits[0]) if count is None else [bool(b) for b in bits]
        if kind == STRING:
            return self.string() if count is None else self.strings(count)
        if kind == ARRAY and count is None:
            kind = self.number("I")
            return self.value(kind, self.number("Q"))
        known = f"0 to {max(NUMBERS)}" + ("" if count is None else ", and no list in a list")
        raise self.fault(f"has a value of type {kind} before byte {self.at}, expected {known}")

    def table(self, count: int) -> dict[str, tuple]:
        """Name → shape (rows first), format, offset of each tensor; the file lists the fastest axis first."""
        table = {}
        for _ in range(count):
            name, axes = self.string(), self.number("I")
            if name in table or not 1 <= axes <= 4:
                raise self.fault(f"has a tensor {name!r} of {axes} axes, expected each name once, and 1 to 4 axes")
            table[name] = tuple(reversed(self.number("Q", axes))), self.number("I"), self.number("Q")
        return table

    def laid_out(self, table: dict[str, tuple], alignment: int) -> dict[str, Stored]:
        """The tensors of the table, each of which begins where the one before it ends, up to the alignment."""
        def padded(at):
            return -(-at // alignment) * alignment

        stored, start = {}, padded(self.at)
        end = self.at
        for name, (shape, kind, offset) in table.items():
            if kind not in FORMATS:
                known = ", ".join(f"{i} {n}" for i, (n, *_) in FORMATS.items())
                raise self.fault(f"has tensor {name!r} in format {kind}, expected one of {known}")
            word, numbers, size = FORMATS[kind]
            count = math.prod(shape)  # Python's own whole numbers: no product is too big
            if not count or shape[-1] % numbers:
                raise self.fault(f"has tensor {name!r} of shape {shape}, expected {word} rows of whole blocks of "
                                 f"{numbers}")
            begin = padded(end)
            if offset != begin - start:
                raise self.fault(f"has tensor {name!r} at offset {offset}, expected {begin - start}, a multiple of "
                                 f"{alignment} where the one before it ends")
            stored[name] = Stored(shape, word, begin, count // numbers * size)
            end = begin + stored[name].size
            if end > self.size:
                raise self.fault(f"ends at byte {self.size}, expected {stored[name].size} bytes from byte {begin} on")
        if self.size > padded(end):
            raise self.fault(f"has {self.size} bytes, expected {padded(end)} or, without padding, {end}")
        return stored
