"""Chapters 2 and 14: WordPiece as BERT has it, through the package `tokenizers`."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from pathlib import Path

import regex

from byhand.check import checked
from byhand.check.numbers import AtLeast, Flag, Whole, kind_of
from byhand.text import streams
from byhand.text.base import Tokenizer

# Before these a word of BERT ends: white space that is no control character (those are deleted), marks, ideographs.
BORDER = regex.compile(r"(?r)[\t\n\r\p{Z}!-/:-@\[-`{-~\u2010-\u2027\u3001-\u3003\u4e00-\u9fa5]")


class WordPieceTokenizer(Tokenizer):
    """WordPiece (Devlin et al. 2019): lower case, ## inside a word.

    Text is not kept exactly: case, accents and white space go, and what it cannot spell becomes [UNK].
    """

    kind = "WordPiece"
    SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

    def __init__(self, inner):
        if not isinstance(inner, _tokenizers().Tokenizer):
            raise TypeError(f"WordPieceTokenizer: inner is {kind_of(inner)}, expected a Tokenizer of the package "
                            "tokenizers")
        inner.no_padding()  # a file from elsewhere may turn both on
        inner.no_truncation()
        inner.encode_special_tokens = True  # in a text they are text; `encode` splits off those that are not
        self.inner = inner
        self.specials = {s: i for s in self.SPECIALS if (i := inner.token_to_id(s)) is not None}

    @classmethod
    def train(cls, chunks: str | Iterable[str], vocab_size: int, lowercase: bool = True) -> "WordPieceTokenizer":
        """A vocabulary of at most `vocab_size`, special tokens first.

        Words with characters for which there is no room, the rarest, are not learned from; such words become [UNK].
        """
        vocab_size = Whole((AtLeast(len(cls.SPECIALS) + 1),))("WordPieceTokenizer", "vocab_size", vocab_size, {})
        lowercase = Flag()("WordPieceTokenizer", "lowercase", lowercase, {})
        library, words = _tokenizers(), Counter()
        new = cls(_empty(library, {}, lowercase))
        for text in streams.in_parts(chunks, new._up_to_border):
            words.update(new._words(text))
        words = _spelled(words, vocab_size - len(cls.SPECIALS))
        # Named beforehand, as if they were special: else each run numbers them, and breaks ties, in another way.
        letters = sorted({*"".join(words)}) + sorted({f"##{c}" for word in words for c in word[1:]})
        trainer = library.trainers.WordPieceTrainer(
            vocab_size=vocab_size, special_tokens=[*cls.SPECIALS, *letters], show_progress=False)
        new.inner.train_from_iterator(chain.from_iterable(map(repeat, words, words.values())), trainer=trainer)
        inner = _empty(library, new.inner.get_vocab(), lowercase)
        inner.add_special_tokens(list(cls.SPECIALS))
        return cls(inner)

    @classmethod
    @checked
    def from_hf(cls, path: str | Path) -> "WordPieceTokenizer":
        """A tokenizer.json as published beside BERT's weights; it has no seal. Raises ValueError for another kind."""
        data = Path(path).read_bytes()
        try:
            return cls._from_body({"tokenizer": data.decode("utf-8")})
        except (LookupError, TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"{cls.__name__}: {path} is damaged ({error}), expected a tokenizer.json") from error

    def __len__(self) -> int:
        return self.inner.get_vocab_size()

    def encode(self, text: str, special: bool = False) -> list[int]:
        """The ids of the text, with no [CLS] or [SEP] around it."""
        return super().encode(text, special)

    def _encode_part(self, part, more):
        _, end = self._up_to_border(part, more)
        if end == 0 and len(part) >= streams.BLOCK and self._too_long(part) and self._too_long(part[len(part) // 2 :]):
            return [], len(part) // 2  # one [UNK], however it goes on, and as well without its first half
        return self.inner.encode(part[:end], add_special_tokens=False).ids, end

    def _up_to_border(self, text: str, more: bool) -> tuple[str, int]:
        border = BORDER.search(text) if more else None
        end = border.start() if border else 0 if more else len(text)
        return text[:end], end

    def _words(self, text: str) -> Iterator[str]:
        words = self.inner.pre_tokenizer.pre_tokenize_str(self.inner.normalizer.normalize_str(text))
        return (word for word, _ in words)

    def _too_long(self, text: str) -> bool:
        """One word, longer than what WordPiece looks up."""
        words = [*self._words(text)]
        return len(words) == 1 and len(words[0]) > self.inner.model.max_input_chars_per_word

    def decode(self, ids: Iterable) -> str:
        """The words of the ids, one space between two."""
        return self.inner.decode(self._check_ids(ids), skip_special_tokens=False)

    def _body(self):
        return {"tokenizer": self.inner.to_str()}

    @classmethod
    def _from_body(cls, body):
        library = _tokenizers()
        parts = json.loads(body["tokenizer"])
        for part, expected in (("model", "WordPiece"), ("normalizer", "BertNormalizer"),
                               ("pre_tokenizer", "BertPreTokenizer")):
            if (kind := parts[part]["type"]) != expected:
                raise ValueError(f"its {part} is {kind}, expected {expected}")
        try:
            return cls(library.Tokenizer.from_str(body["tokenizer"]))
        except Exception as error:  # the library raises nothing more exact
            raise ValueError(str(error)) from error


def _spelled(words: Counter, room: int) -> Counter:
    """The words that can be spelled with `room` tokens: a character is one, and one more with ## if it goes on a word.

    The most frequent characters first; of equal ones the lower code point.
    """
    counts, inside = Counter(), set()
    for word, n in words.items():
        inside.update(word[1:])
        for c in word:
            counts[c] += n
    known = set()
    for c in sorted(counts, key=lambda c: (-counts[c], c)):
        room -= 2 if c in inside else 1
        if room < 0:
            break
        known.add(c)
    return Counter({word: n for word, n in words.items() if known.issuperset(word)})


def _empty(library, vocab: dict[str, int], lowercase: bool):
    """A tokenizer of the library, as BERT's but for its vocabulary."""
    inner = library.Tokenizer(library.models.WordPiece(vocab, unk_token="[UNK]"))
    inner.normalizer = library.normalizers.BertNormalizer(lowercase=lowercase)
    inner.pre_tokenizer = library.pre_tokenizers.BertPreTokenizer()
    inner.decoder = library.decoders.WordPiece(prefix="##")
    return inner


def _tokenizers():
    try:
        import tokenizers
    except ImportError as error:
        raise ImportError("WordPieceTokenizer: the package tokenizers is missing; pip install tokenizers") from error
    return tokenizers
