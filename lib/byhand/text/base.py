"""Chapters 2 and 12: what all tokenizers share: special tokens, streams, whole numbers for ids, files with a seal."""

import functools
import json
import operator
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from byhand.check import checked
from byhand.check.numbers import Flag
from byhand.io.files import seal, write_whole
from byhand.text.streams import entries, in_parts


class Tokenizer:
    """What all of them share. `specials` maps special tokens to their ids; `len` is the size of the vocabulary."""

    kind: str  # what a file says that it holds
    specials: dict[str, int]

    def encode(self, text: str, special: bool = False) -> list[int]:
        """The ids of a text. A special token in it is text like any other unless `special`."""
        return self._encode(text, special, more=False)[0]

    def encode_stream(self, chunks: str | Iterable[str], special: bool = False) -> Iterator[int]:
        """The ids of a text that comes in pieces, as if it had come in one.

        Into an array that is half as large as one of int32: np.fromiter(tokenizer.encode_stream(…), np.uint16).
        """
        return chain.from_iterable(in_parts(chunks, lambda text, more: self._encode(text, special, more)))

    def decode(self, ids: Iterable) -> str:
        raise NotImplementedError

    @checked
    def save(self, path: str | Path) -> None:
        """Write a JSON file in one step: at `path` is the old one or the whole new one, never half of it."""
        body = {"kind": self.kind, **self._body()}
        write_whole(path, json.dumps(body | {"seal": seal(body)}, indent=1).encode())

    @classmethod
    @checked
    def load(cls, path: str | Path):
        """What `save` wrote. Raises ValueError for a damaged file or one of another kind."""
        try:
            body = json.loads(Path(path).read_text(encoding="utf-8"))
            if not isinstance(body, dict) or body.get("kind") != cls.kind:
                raise ValueError(f"it is not of kind {cls.kind!r}")
            if body.pop("seal", None) != seal(body):
                raise ValueError("it has not the digest that it states")
            return cls._from_body(body)
        except (LookupError, TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"{cls.__name__}: {path} is damaged ({error}), expected a file that save wrote") from error

    def _body(self) -> dict:
        raise NotImplementedError

    @classmethod
    def _from_body(cls, body: dict):
        raise NotImplementedError

    def _encode_part(self, part: str, more: bool) -> tuple[list[int], int]:
        """The ids of text without special tokens; if more comes, of as much as no continuation changes; its length."""
        raise NotImplementedError

    def _encode(self, text: str, special: bool, more: bool) -> tuple[list[int], int]:
        parts, ids, used = self._split(text, special, more), [], 0
        for i, part in enumerate(parts):
            new, length = ([self.specials[part]], len(part)) if i % 2 else self._encode_part(
                part, more and i == len(parts) - 1)
            ids += new
            used += length
        return ids, used

    def _split(self, text: str, special: bool, more: bool = False) -> list[str]:
        """Text and special tokens in turn; the odd ones are special tokens.

        If more comes, the end is left out: a special token that begins there may not be whole.
        """
        if not isinstance(text, str):
            raise TypeError(f"{type(self).__name__}: text is {type(text).__name__}, expected str")
        unicode_only(type(self).__name__, text)
        special = Flag()(type(self).__name__, "special", special, {})
        if not (special and self.specials):
            return [text]
        known = len(text) - (max(map(len, self.specials)) - 1 if more else 0)
        parts, start = [], 0
        for match in self._special_pattern.finditer(text):
            if match.start() >= known:
                break
            parts += [text[start : match.start()], match[0]]
            start = match.end()
        return [*parts, text[start : max(start, known)]]

    @functools.cached_property
    def _special_pattern(self) -> re.Pattern:
        return re.compile("|".join(map(re.escape, sorted(self.specials, key=len, reverse=True))))  # longest first

    def _check_ids(self, ids: Iterable) -> list[int]:
        if isinstance(ids, str):
            raise TypeError(f"{type(self).__name__}: ids is the string {ids!r}, expected whole numbers")
        ids = entries(type(self).__name__, "ids", ids, "whole numbers")
        ids, size = [whole(type(self).__name__, i) for i in ids], len(self)
        for i in ids:
            if not 0 <= i < size:
                raise ValueError(f"{type(self).__name__}: ids hold {i}, expected numbers from 0 to {size - 1}")
        return ids


def whole(where: str, i, says: str = "ids hold") -> int:
    """An id as an int: a whole number of Python, of NumPy or of torch; True is none."""
    try:
        if isinstance(i, bool | np.bool_):
            raise TypeError
        return operator.index(i)
    except TypeError:
        raise TypeError(f"{where}: {says} {i!r}, expected whole numbers") from None


def unicode_only(where: str, text: str) -> str:
    """The text, unless it has half of a surrogate pair, which is no character and has no UTF-8."""
    try:
        if not text.isascii():
            text.encode("utf-8")
    except UnicodeEncodeError as error:
        lone = text[error.start]
        raise ValueError(f"{where}: text holds the lone surrogate {lone!r}, expected Unicode text") from None
    return text


def checked_specials(where: str, specials: Iterable[str]) -> list[str]:
    """Special tokens: text, not empty, each once. They may hold white space."""
    if isinstance(specials, str):
        raise TypeError(f"{where}: specials is the string {specials!r}, expected a list of them")
    specials, seen = [*entries(where, "specials", specials, "text")], set()
    for s in specials:
        if not isinstance(s, str) or not s or s in seen:
            raise ValueError(f"{where}: specials holds {s!r}, expected different strings that are not empty")
        seen.add(unicode_only(where, s))
    return specials
