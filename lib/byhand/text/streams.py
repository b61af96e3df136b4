"""Chapters 2 and 12: texts that come in chunks, held only as long as what comes next could change their tokens."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import regex

from byhand.check import Size, checked

BLOCK = 1 << 16  # characters that are looked at together; a few blocks are all that is held of a text
BORDER = regex.compile(r"(?r)(?<=\S)\s")  # searched for from the end
Result = TypeVar("Result")


@checked
def read_chunks(path: str | Path, size: Size = 1 << 20) -> Iterator[str]:
    """The text of a UTF-8 file, `size` characters at a time, line ends as they are."""
    with open(path, encoding="utf-8", newline="") as file:
        while chunk := file.read(size):
            yield chunk


def in_parts(
    chunks: str | Iterable[str], take: Callable[[str, bool], tuple[Result, int]]
) -> Iterator[Result]:
    """What `take` makes of a text that comes in chunks, part by part, in time linear in its length.

    `take(text, more)` gives its result for the beginning of the text, and how many characters that is: all of them,
    unless more may come behind it. The rest is seen again, with what follows.
    """
    held, size, wanted = [], 0, BLOCK
    for chunk in [chunks] if isinstance(chunks, str) else entries("in_parts", "chunks", chunks, "text"):
        if not isinstance(chunk, str):
            raise TypeError(f"in_parts: a chunk is {type(chunk).__name__}, expected str")
        for start in range(0, len(chunk), BLOCK):
            part = chunk[start : start + BLOCK]
            held.append(part)
            size += len(part)
            if size >= wanted:
                text = "".join(held)
                result, used = take(text, True)
                yield result
                held, size = [text[used:]], len(text) - used
                wanted = max(BLOCK, 2 * size)  # twice as much before the next look: no character is seen often
    yield take("".join(held), False)[0]


def entries(where: str, name: str, x: Any, expected: str) -> Iterator:
    """What comes of x one by one; TypeError with these words where x is a single thing, or nothing."""
    try:
        return iter(x)
    except TypeError:
        raise TypeError(f"{where}: {name} is {type(x).__name__}, expected several of {expected}") from None


def pairs_of(where: str, name: str, x: Any, expected: str) -> Iterator[tuple]:
    """Two things at a time, whatever holds them."""
    for k, pair in enumerate(entries(where, name, x, f"pairs of {expected}")):
        try:
            left, right = pair
        except (TypeError, ValueError):
            raise TypeError(f"{where}: {name}[{k}] is {pair!r}, expected a pair of {expected}") from None
        yield left, right


def whole_words(chunks: str | Iterable[str]) -> Iterator[str]:
    """The same text cut only before white space that follows something else. One long word is held whole."""

    def take(text, more):
        border = BORDER.search(text) if more else None
        end = border.start() if border else 0 if more else len(text)
        return ([text[:end]] if end else []), end

    return chain.from_iterable(in_parts(chunks, take))
