"""Chapter 17: the tokenizer of a GGUF file: byte-level BPE with ids of its own, as SmolLM2 has it."""

import functools
import re
import sys
import unicodedata
from collections.abc import Iterable
from typing import Any

from byhand.text import BPETokenizer, Tokenizer

CONTROL = 3  # the type of a token that no text spells, such as the end of a text

# The pieces of GPT-2 (Radford et al. 2019) with Unicode's own white space; Python's \s holds four characters more.
# Every digit, of any script, is a piece by itself, so that letters are all that \w has left beside the underscore.
_SPACE = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_PIECE = re.compile(rf"'(?:s|t|re|ve|m|ll|d)| ?[^\W_]+| ?(?:[^\w{_SPACE}]|_)+|[{_SPACE}]+(?![^{_SPACE}])|[{_SPACE}]+")


class GGUFTokenizer(Tokenizer):
    """Made from the metadata of a file. Raises ValueError for tokens of another kind."""

    def __init__(self, metadata: dict[str, Any]):
        tokens, kinds, merges = (metadata.get(f"tokenizer.ggml.{key}") for key in ("tokens", "token_type", "merges"))
        model, pieces = metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.pre")
        if model != "gpt2" or pieces != "smollm" or None in (tokens, kinds, merges) or len(tokens) != len(kinds):
            raise ValueError(f"GGUFTokenizer: metadata has a tokenizer {model!r} with pieces {pieces!r}, expected "
                             "'gpt2' with 'smollm', its merges, and a type for every token")
        self.specials = {t: i for i, (t, kind) in enumerate(zip(tokens, kinds, strict=True)) if kind == CONTROL}
        letters = byte_letters()
        numbers = {letter: b for b, letter in enumerate(letters)}  # token → number in the BPE, whose bytes come first
        byte, pairs = dict(numbers), []
        for k, merge in enumerate(merges):
            pair = merge.split(" ")
            if len(pair) != 2 or pair[0] not in numbers or pair[1] not in numbers:
                raise ValueError(f"GGUFTokenizer: merge {k} is {merge!r}, expected two earlier tokens")
            pairs.append((numbers[pair[0]], numbers[pair[1]]))
            numbers["".join(pair)] = 256 + k
        unknown = [t for t in tokens if t not in numbers and t not in self.specials]
        if unknown:
            raise ValueError(f"GGUFTokenizer: no merge makes the token {unknown[0]!r}")
        self.vocabulary = [t.encode() if t in self.specials else bytes(byte[c] for c in t) for t in tokens]
        self._bpe = BPETokenizer(pairs)
        self._ids = {numbers[t]: i for i, t in enumerate(tokens) if t not in self.specials}

    def __len__(self) -> int:
        return len(self.vocabulary)

    def encode(self, text: str, special: bool = False) -> list[int]:
        """The ids of a text. A special token in it is text like any other unless `special`.

        Raises ValueError for the few bytes that the file has no token for.
        """
        ids = []
        for i, part in enumerate(self._split(text, special)):
            if i % 2:
                ids.append(self.specials[part])
                continue
            for j, between in enumerate(_digits().split(part)):
                for piece in [between] if j % 2 else _PIECE.findall(between):
                    ids += self._encode_piece(piece)
        return ids

    def _encode_piece(self, piece: str) -> list[int]:
        try:
            return [self._ids[k] for k in self._bpe._encode_word(piece)]
        except KeyError:
            raise ValueError(f"GGUFTokenizer: text holds {piece!r}, expected bytes that have tokens") from None

    def decode(self, ids: Iterable[int], errors: str = "strict") -> str:
        """The text of the ids. If they stop inside a character: ValueError, or U+FFFD with errors="replace"."""
        data = b"".join(self.vocabulary[i] for i in self._check_ids(ids))
        try:
            return data.decode("utf-8", errors)
        except UnicodeDecodeError as error:
            raise ValueError(f"GGUFTokenizer: ids hold bytes that are no UTF-8 at {error.start}, "
                             'expected whole characters (or errors="replace")') from None


def byte_letters() -> list[str]:
    """The letter that stands for each byte: itself where it can be seen, else the next free one from U+0100 on."""
    seen = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    free = (chr(c) for c in range(0x100, 0x200))
    return [chr(b) if b in seen else next(free) for b in range(256)]


@functools.cache
def _digits() -> re.Pattern:
    """One character of Unicode's class N."""
    every = "".join(c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c)[0] == "N")
    return re.compile(f"([{every}])")
