"""Chapters 2 and 12: text as numbers, and back: characters, byte-level BPE, and WordPiece.

Every tokenizer trains on a string or on an iterable of strings, which may be cut anywhere and need not fit in memory
together; `read_chunks` makes one of a file.
"""

import heapq
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from byhand import guard
from byhand.io.files import write_whole

# Words as GPT-2 cuts them (Radford et al. 2019): endings such as 's, then letters, digits, and all else, each with one
# space before it. Every character is in exactly one class, so the pieces joined are the text.
_PIECE = re.compile(r"'(?:s|t|re|ve|m|ll|d)| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")
_BORDER = re.compile(r".*\S(?=\s)", re.DOTALL)  # up to the last place where space follows something else


def read_chunks(path: str | Path, size: int = 1 << 20) -> Iterator[str]:
    """The text of a UTF-8 file, `size` characters at a time, line ends as they are."""
    guard.count("read_chunks", size=size)
    with open(path, encoding="utf-8", newline="") as file:
        while chunk := file.read(size):
            yield chunk


def whole_words(chunks: str | Iterable[str]) -> Iterator[str]:
    """The same text cut only before white space that follows something else, where no word or special token goes on."""
    rest = ""
    for chunk in [chunks] if isinstance(chunks, str) else chunks:
        if not isinstance(chunk, str):
            raise TypeError(f"whole_words: a chunk is {type(chunk).__name__}, expected str")
        rest += chunk
        if border := _BORDER.match(rest):
            yield border[0]
            rest = rest[border.end() :]
    if rest:
        yield rest


class Tokenizer:
    """What the three share. `specials` maps special tokens to their ids; `len` is the size of the vocabulary."""

    specials: dict[str, int]

    def encode(self, text: str, special: bool = False) -> list[int]:
        raise NotImplementedError

    def _to_json(self) -> str:
        raise NotImplementedError

    @classmethod
    def _from_json(cls, text: str):
        raise NotImplementedError

    def encode_stream(self, chunks: str | Iterable[str], special: bool = False) -> Iterator[int]:
        """The ids of a text that comes in pieces, as if it had come in one."""
        for text in whole_words(chunks):
            yield from self.encode(text, special)

    def save(self, path: str | Path) -> None:
        """Write a JSON file in one step: at `path` is the old one or the whole new one, never half of it."""
        write_whole(path, self._to_json().encode())

    @classmethod
    def load(cls, path: str | Path):
        """What `save` wrote. Raises ValueError for a damaged file or one of another kind."""
        try:
            return cls._from_json(Path(path).read_text(encoding="utf-8"))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{cls.__name__}: {path} is damaged ({error}), expected a file that save wrote") from error

    def _split(self, text: str, special: bool) -> list[str]:
        """Text and special tokens in turn; the odd ones are special tokens."""
        if not isinstance(text, str):
            raise TypeError(f"{type(self).__name__}: text is {type(text).__name__}, expected str")
        if not (special and self.specials):
            return [text]
        longest_first = sorted(self.specials, key=len, reverse=True)
        return re.split(f"({'|'.join(map(re.escape, longest_first))})", text)

    def _check_ids(self, ids: Iterable[int]) -> list[int]:
        ids = [int(i) for i in ids]
        for i in ids:
            if not 0 <= i < len(self):
                raise ValueError(f"{type(self).__name__}: ids hold {i}, expected numbers from 0 to {len(self) - 1}")
        return ids


class CharTokenizer(Tokenizer):
    """One id a character, in code point order; special tokens come last."""

    def __init__(self, characters: str, specials: Iterable[str] = ()):
        if len(set(characters)) != len(characters):
            raise ValueError("CharTokenizer: characters holds one twice, expected each once")
        self.tokens = [*characters, *_specials("CharTokenizer", specials)]
        self.ids = {c: i for i, c in enumerate(characters)}
        self.specials = {s: i for i, s in enumerate(self.tokens) if i >= len(characters)}

    @classmethod
    def train(cls, chunks: str | Iterable[str], specials: Iterable[str] = ()) -> "CharTokenizer":
        """Every character that the text holds outside its special tokens."""
        new = cls("", specials)
        seen = set().union(*(part for text in whole_words(chunks) for part in new._split(text, True)[::2]))
        return cls("".join(sorted(seen)), new.specials)

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, text: str, special: bool = False) -> list[int]:
        """An id a character, and one a special token if `special`. Raises ValueError for a character never seen."""
        ids = []
        for i, part in enumerate(self._split(text, special)):
            try:
                ids += [self.specials[part]] if i % 2 else [self.ids[c] for c in part]
            except KeyError as error:
                c = error.args[0]
                raise ValueError(f"CharTokenizer: text holds {c!r} (U+{ord(c):04X}), "
                                 f"expected the {len(self.ids)} characters that it was made from") from None
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids."""
        return "".join(self.tokens[i] for i in self._check_ids(ids))

    def _to_json(self) -> str:
        return json.dumps({"kind": "characters", "characters": "".join(self.ids), "specials": list(self.specials)})

    @classmethod
    def _from_json(cls, text: str) -> "CharTokenizer":
        data = _json(text, "characters")
        return cls(data["characters"], data["specials"])


class BPETokenizer(Tokenizer):
    """Byte-pair encoding over UTF-8 bytes (Sennrich et al. 2016, Radford et al. 2019): no text is unknown.

    Ids 0 … 255 are the bytes; id 256 + k is the pair `merges[k]` joined; special tokens come last.
    """

    CACHED = 1 << 16  # words whose ids are kept: most of a text is a few words

    def __init__(self, merges: Iterable[tuple[int, int]], specials: Iterable[str] = ()):
        self.merges = list(merges)
        self.vocabulary = [bytes([i]) for i in range(256)]
        for a, b in self.merges:
            if not 0 <= min(a, b) <= max(a, b) < len(self.vocabulary):
                raise ValueError(f"BPETokenizer: merge {len(self.vocabulary) - 256} is {a, b}, expected earlier ids")
            self.vocabulary.append(self.vocabulary[a] + self.vocabulary[b])
        self.ranks = {pair: 256 + k for k, pair in enumerate(self.merges)}
        self.specials = {s: len(self.vocabulary) + i for i, s in enumerate(_specials("BPETokenizer", specials))}
        self.vocabulary += [s.encode() for s in self.specials]
        self._cache: dict[str, list[int]] = {}

    @classmethod
    def train(
        cls, chunks: str | Iterable[str], vocab_size: int, specials: Iterable[str] = (), min_count: int = 2
    ) -> "BPETokenizer":
        """Join the most frequent pair until the vocabulary is full or no pair is there `min_count` times."""
        new = cls((), specials)
        guard.count("BPETokenizer", low=len(new), vocab_size=vocab_size)
        guard.count("BPETokenizer", min_count=min_count)
        words = Counter()
        for text in whole_words(chunks):
            for part in new._split(text, True)[::2]:
                words.update(_PIECE.findall(part))
        return cls(_learn_merges(words, vocab_size - len(new), min_count), new.specials)

    def __len__(self) -> int:
        return len(self.vocabulary)

    def encode(self, text: str, special: bool = False) -> list[int]:
        """The ids of any text. A special token in it is text like any other unless `special`."""
        ids = []
        for i, part in enumerate(self._split(text, special)):
            if i % 2:
                ids.append(self.specials[part])
            else:
                for piece in _PIECE.findall(part):
                    ids += self._encode_word(piece)
        return ids

    def _encode_word(self, word: str) -> list[int]:
        if (known := self._cache.get(word)) is not None:
            return known
        ids = list(_utf8(word))
        while len(ids) > 1:
            pair = min(pairwise(ids), key=lambda p: self.ranks.get(p, len(self)))  # the pair that was learned first
            if pair not in self.ranks:
                break
            ids = _join(ids, pair, self.ranks[pair])
        if len(self._cache) >= self.CACHED:
            self._cache.clear()
        self._cache[word] = ids
        return ids

    def decode(self, ids: Iterable[int], errors: str = "strict") -> str:
        """The text of the ids. If they stop inside a character: ValueError, or U+FFFD with errors="replace"."""
        data = b"".join(self.vocabulary[i] for i in self._check_ids(ids))
        try:
            return data.decode("utf-8", errors)
        except UnicodeDecodeError as error:
            raise ValueError(f"BPETokenizer: ids give {data[error.start:error.end]!r} at byte {error.start}, "
                             'which is no UTF-8, expected whole characters or errors="replace"') from None

    def _to_json(self) -> str:
        return json.dumps({"kind": "byte-level BPE", "merges": self.merges, "specials": list(self.specials)})

    @classmethod
    def _from_json(cls, text: str) -> "BPETokenizer":
        data = _json(text, "byte-level BPE")
        return cls([tuple(pair) for pair in data["merges"]], data["specials"])


def _learn_merges(words: Counter, count: int, min_count: int) -> list[tuple[int, int]]:
    """The pairs to join, in order. Each step touches only the words that hold its pair; ties go to the lowest ids."""
    split, times = [list(_utf8(word)) for word in words], list(words.values())
    totals, holders = Counter(), defaultdict(set)  # how often a pair is there, and in which words
    for w, ids in enumerate(split):
        for pair in pairwise(ids):
            totals[pair] += times[w]
            holders[pair].add(w)
    heap = [(-n, pair) for pair, n in totals.items()]
    heapq.heapify(heap)
    merges = []
    while heap and len(merges) < count:
        n, pair = heapq.heappop(heap)
        if totals[pair] != -n:  # an old entry: the total has changed since, and was pushed again then
            continue
        if -n < min_count:
            break
        changed = set()
        for w in holders.pop(pair):
            for old in pairwise(split[w]):
                totals[old] -= times[w]
                changed.add(old)
            split[w] = _join(split[w], pair, 256 + len(merges))
            for new in pairwise(split[w]):
                totals[new] += times[w]
                holders[new].add(w)
                changed.add(new)
        merges.append(pair)
        for p in changed:
            heapq.heappush(heap, (-totals[p], p))
    return merges


def _join(ids: list[int], pair: tuple[int, int], new: int) -> list[int]:
    """Each occurrence of the pair replaced by one id, from the left."""
    out, i = [], 0
    while i < len(ids):
        if ids[i] == pair[0] and i + 1 < len(ids) and ids[i + 1] == pair[1]:
            out.append(new)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


class WordPieceTokenizer(Tokenizer):
    """WordPiece as BERT has it (Devlin et al. 2019), through the package `tokenizers`: lower case, ## inside a word.

    Text is not kept exactly: case, accents and white space go, and what it cannot spell becomes [UNK].
    """

    SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

    def __init__(self, inner):
        inner.no_padding()  # a file from elsewhere may turn both on
        inner.no_truncation()
        inner.encode_special_tokens = True  # in a text they are text; `encode` splits off those that are not
        self.inner = inner
        self.specials = {s: i for s in self.SPECIALS if (i := inner.token_to_id(s)) is not None}

    @classmethod
    def train(cls, chunks: str | Iterable[str], vocab_size: int, lowercase: bool = True) -> "WordPieceTokenizer":
        """A vocabulary of at most `vocab_size`, special tokens first."""
        guard.count("WordPieceTokenizer", low=len(cls.SPECIALS) + 1, vocab_size=vocab_size)
        library = _tokenizers()
        inner = library.Tokenizer(library.models.WordPiece(unk_token="[UNK]"))
        inner.normalizer = library.normalizers.BertNormalizer(lowercase=lowercase)
        inner.pre_tokenizer = library.pre_tokenizers.BertPreTokenizer()
        inner.decoder = library.decoders.WordPiece(prefix="##")
        trainer = library.trainers.WordPieceTrainer(
            vocab_size=vocab_size, special_tokens=list(cls.SPECIALS), show_progress=False)
        inner.train_from_iterator(whole_words(chunks), trainer=trainer)
        return cls(inner)

    def __len__(self) -> int:
        return self.inner.get_vocab_size()

    def encode(self, text: str, special: bool = False) -> list[int]:
        """The ids of the text, with no [CLS] or [SEP] around it."""
        ids = []
        for i, part in enumerate(self._split(text, special)):
            ids += [self.specials[part]] if i % 2 else self.inner.encode(part, add_special_tokens=False).ids
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """The words of the ids, one space between two."""
        return self.inner.decode(self._check_ids(ids), skip_special_tokens=False)

    def _to_json(self) -> str:
        return self.inner.to_str()

    @classmethod
    def _from_json(cls, text: str) -> "WordPieceTokenizer":
        library = _tokenizers()
        kind = json.loads(text)["model"]["type"]
        if kind != "WordPiece":
            raise ValueError(f"its model is {kind}")
        try:
            return cls(library.Tokenizer.from_str(text))
        except Exception as error:  # the library raises nothing more exact
            raise ValueError(str(error)) from error


def _tokenizers():
    try:
        import tokenizers
    except ImportError as error:
        raise ImportError("WordPieceTokenizer: the package tokenizers is missing; pip install tokenizers") from error
    return tokenizers


def _specials(where: str, specials: Iterable[str]) -> list[str]:
    """Special tokens: different, not empty, no white space, so that no cut between words can part one."""
    if isinstance(specials, str):
        raise TypeError(f"{where}: specials is the string {specials!r}, expected a list of them")
    specials = list(specials)
    for s in specials:
        if not isinstance(s, str) or not s or any(c.isspace() for c in s) or specials.count(s) > 1:
            raise ValueError(f"{where}: specials holds {s!r}, expected different strings without white space")
    return specials


def _utf8(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        lone = text[error.start]
        raise ValueError(f"BPETokenizer: text holds the lone surrogate {lone!r}, expected Unicode text") from None


def _json(text: str, kind: str) -> dict:
    data = json.loads(text)
    if not isinstance(data, dict) or data.get("kind") != kind:
        raise ValueError(f"it is not of kind {kind!r}")
    return data
