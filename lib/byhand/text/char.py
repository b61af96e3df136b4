"""Chapters 2 and 12: characters as tokens."""

from collections.abc import Iterable

from byhand.text.base import Tokenizer, checked_specials, unicode_only
from byhand.text.streams import in_parts


class CharTokenizer(Tokenizer):
    """One id a character, in code point order; special tokens come last."""

    kind = "characters"

    def __init__(self, characters: str, specials: Iterable[str] = ()):
        if not isinstance(characters, str):
            raise TypeError(f"CharTokenizer: characters is {type(characters).__name__}, expected str")
        if len(set(unicode_only("CharTokenizer", characters))) != len(characters):
            raise ValueError("CharTokenizer: characters holds one twice, expected each once")
        self.tokens = [*characters, *checked_specials("CharTokenizer", specials)]
        self.ids = {c: i for i, c in enumerate(characters)}
        self.specials = {s: i for i, s in enumerate(self.tokens) if i >= len(characters)}

    @classmethod
    def train(cls, chunks: str | Iterable[str], specials: Iterable[str] = ()) -> "CharTokenizer":
        """Every character that the text holds outside its special tokens."""
        new, seen = cls("", specials), set()

        def take(text, more):
            parts = new._split(text, True, more)
            seen.update(*parts[::2])
            return None, sum(map(len, parts))

        for _ in in_parts(chunks, take):
            pass
        return cls("".join(sorted(seen)), new.specials)

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, text: str, special: bool = False) -> list[int]:
        """An id a character, and one a special token if `special`. Raises ValueError for a character never seen."""
        return super().encode(text, special)

    def _encode_part(self, part, more):
        try:
            return [self.ids[c] for c in part], len(part)
        except KeyError as error:
            c = error.args[0]
            raise ValueError(f"CharTokenizer: text holds {c!r} (U+{ord(c):04X}), "
                             f"expected the {len(self.ids)} characters that it was made from") from None

    def decode(self, ids: Iterable) -> str:
        """The text of the ids."""
        return "".join(self.tokens[i] for i in self._check_ids(ids))

    def _body(self):
        return {"characters": "".join(self.ids), "specials": list(self.specials)}

    @classmethod
    def _from_body(cls, body):
        return cls(body["characters"], body["specials"])
