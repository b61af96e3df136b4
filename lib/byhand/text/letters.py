"""Chapter 17: the letters that published vocabularies write for bytes."""

import functools

from byhand.check import checked


@functools.cache
def byte_letters() -> list[str]:
    """The letter that stands for each byte: itself where it can be seen, else the next free one from U+0100 on."""
    seen = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    free = (chr(c) for c in range(0x100, 0x200))
    return [chr(b) if b in seen else next(free) for b in range(256)]


@functools.cache
def _bytes_of() -> dict[str, int]:
    return {letter: b for b, letter in enumerate(byte_letters())}


@checked
def from_letters(token: str) -> bytes:
    """The bytes of a token of a published vocabulary (vocab.json, GGUF). Raises ValueError for another letter."""
    try:
        return bytes(_bytes_of()[c] for c in token)
    except KeyError as error:
        raise ValueError(f"from_letters: token holds {error.args[0]!r}, expected letters of bytes") from None


@checked
def to_letters(token: bytes) -> str:
    """How a published vocabulary writes a token."""
    letters = byte_letters()
    return "".join(letters[b] for b in token)
