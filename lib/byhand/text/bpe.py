"""Chapter 2: byte-level byte-pair encoding."""

import functools
from collections import Counter
from collections.abc import Iterable
from itertools import count

from byhand.check.numbers import AtLeast, Whole
from byhand.text import streams
from byhand.text.base import Tokenizer, checked_specials, whole
from byhand.text.letters import from_letters, to_letters
from byhand.text.merges import LONGEST, apply_merges, border_stays, learn_merges
from byhand.text.pieces import PATTERNS, decided


class BPETokenizer(Tokenizer):
    """Byte-pair encoding over UTF-8 bytes (Sennrich et al. 2016, Radford et al. 2019): no text is unknown.

    Ids 0 … 255 are the bytes; id 256 + k is the pair `merges[k]` joined; special tokens come last. A published
    vocabulary has ids of its own: `from_vocab`.
    """

    kind = "byte-level BPE"
    CACHED = 1 << 16  # words whose ids are kept: most of a text is a few words
    SHORT = 64  # characters of a word that is kept

    def __init__(self, merges: Iterable[tuple[int, int]], specials: Iterable[str] = ()):
        tokens, triples = [bytes([i]) for i in range(256)], []
        for k, pair in enumerate(streams.pairs_of("BPETokenizer", "merges", merges, "ids")):
            a, b = (whole("BPETokenizer", i, f"merges[{k}] holds") for i in pair)
            if not 0 <= min(a, b) <= max(a, b) < len(tokens):
                raise ValueError(f"BPETokenizer: merge {k} is {a, b}, expected earlier ids")
            if len(tokens[a]) + len(tokens[b]) > LONGEST:
                raise ValueError(f"BPETokenizer: merge {k} makes a token of {len(tokens[a]) + len(tokens[b])} bytes, "
                                 f"expected at most {LONGEST}")
            triples.append((a, b, len(tokens)))
            tokens.append(tokens[a] + tokens[b])
        names = checked_specials("BPETokenizer", specials)
        self._set(tokens + [s.encode() for s in names], triples, {s: len(tokens) + i for i, s in enumerate(names)})

    @classmethod
    def from_vocab(
        cls, vocab: dict[bytes, int], merges: Iterable[tuple[bytes, bytes]], specials: Iterable[str] = (),
        pieces: str = "gpt2",
    ) -> "BPETokenizer":
        """A published vocabulary with its own ids: token → id, and the pairs of tokens in the order of their merges.

        Special tokens that are in the vocabulary keep their ids, others get the next ones. `from_letters` makes bytes
        of the letters of a vocab.json. `pieces` is "gpt2", or "smollm", which takes each digit by itself.
        """
        new = cls.__new__(cls)
        new._publish(vocab, merges, checked_specials(cls.__name__, specials), pieces)
        return new

    def _publish(self, vocab, merges, specials, pieces):
        where = type(self).__name__
        if not isinstance(vocab, dict):
            raise TypeError(f"{where}: vocab is {type(vocab).__name__}, expected a dict of bytes and their ids")
        fresh = count(len(vocab))
        specials = {s: vocab[s.encode()] if s.encode() in vocab else next(fresh) for s in specials}
        vocabulary, size = {}, next(fresh)
        for token, i in [*vocab.items(), *((s.encode(), i) for s, i in specials.items() if i >= len(vocab))]:
            if not isinstance(token, bytes) or not token:
                raise TypeError(f"{where}: vocab holds {token!r}, expected bytes")
            if not 0 <= whole(where, i, "vocab holds") < size or i in vocabulary:
                raise ValueError(f"{where}: vocab gives {token!r} the id {i}, expected each of 0 … {size - 1} once")
            vocabulary[i] = token
        made, triples = {bytes([b]) for b in range(256)}, []
        for k, (left, right) in enumerate(streams.pairs_of(where, "merges", merges, "tokens")):
            known = isinstance(left, bytes) and isinstance(right, bytes) and {left, right} <= made
            if not known or not {left, right, left + right} <= vocab.keys():
                raise ValueError(f"{where}: merge {k} is {left!r} and {right!r}, expected two earlier tokens of the "
                                 "vocabulary, which holds what they make too")
            made.add(left + right)
            triples.append((vocab[left], vocab[right], vocab[left + right]))
        if twice := [s for s in specials if s.encode() in made & vocab.keys()]:
            raise ValueError(f"{where}: specials holds {twice[0]!r}, expected none that a text may become by itself")
        self._set([vocabulary[i] for i in range(size)], triples, specials, pieces)

    def _set(self, vocabulary: list[bytes], merges: list[tuple[int, int, int]], specials, pieces="gpt2"):
        """`merges` are triples of ids: left, right, and what they become."""
        if not isinstance(pieces, str) or pieces not in PATTERNS:
            raise ValueError(f"{type(self).__name__}: pieces is {pieces!r}, expected one of {', '.join(PATTERNS)}")
        self.vocabulary, self.specials, self.pieces = vocabulary, specials, pieces
        self.merges = [(a, b) for a, b, _ in merges]
        self._joins = {(a, b): (k, new) for k, (a, b, new) in enumerate(merges)}
        if len(self._joins) != len(merges):
            raise ValueError(f"{type(self).__name__}: merges has a pair twice, expected each once")
        special_ids = {*specials.values()}
        ids = {token: i for i, token in enumerate(vocabulary) if len(token) == 1 and i not in special_ids}
        self._byte_ids = [ids.get(bytes([b])) for b in range(256)]
        self._cache: dict[str, list[int]] = {}

    @classmethod
    def train(
        cls, chunks: str | Iterable[str], vocab_size: int, specials: Iterable[str] = (), min_count: int = 2,
        ties: str = "lowest",
    ) -> "BPETokenizer":
        """Join the most frequent pair until the vocabulary is full or no pair is there `min_count` times.

        Of equally frequent pairs, that of the lowest ids; with ties="greatest" that of the greatest bytes, as GPT-style
        trainers do. A piece is held whole, a text of one long word too.
        """
        new, words = cls((), specials), Counter()
        vocab_size = Whole((AtLeast(len(new)),))("BPETokenizer", "vocab_size", vocab_size, {})
        min_count = Whole((AtLeast(1),))("BPETokenizer", "min_count", min_count, {})
        if ties not in ("lowest", "greatest"):
            raise ValueError(f"BPETokenizer: ties is {ties!r}, expected 'lowest' or 'greatest'")

        def take(text, more):
            *closed, last = new._split(text, True, more)
            pieces, rest = decided(PATTERNS[new.pieces], last, more)
            words.update(pieces)
            for part in closed[::2]:
                words.update(PATTERNS[new.pieces].findall(part))
            return None, sum(map(len, closed)) + sum(map(len, pieces))

        for _ in streams.in_parts(chunks, take):
            pass
        return cls(learn_merges(words, vocab_size - len(new), min_count, ties), new.specials)

    def __len__(self) -> int:
        return len(self.vocabulary)

    def _encode_part(self, part, more):
        pieces, rest = decided(PATTERNS[self.pieces], part, more)
        ids, used = [], len(part) - sum(map(len, rest))
        for piece in pieces:
            ids += self._encode_piece(piece)
        if rest and len(rest[0]) >= streams.BLOCK:  # a word that does not end
            begun, length = self._begin_piece(rest[0])
            ids += begun
            used += length
        return ids, used

    def _encode_piece(self, piece: str) -> list[int]:
        if (known := self._cache.get(piece)) is not None:
            return known
        ids = [self._byte_ids[b] for b in piece.encode()]
        if None in ids:
            raise ValueError(f"{type(self).__name__}: text holds {piece!r}, expected bytes that have tokens")
        ids = apply_merges(ids, self._joins)
        if len(piece) <= self.SHORT:
            if len(self._cache) >= self.CACHED:
                self._cache.clear()
            self._cache[piece] = ids
        return ids

    def _begin_piece(self, piece: str) -> tuple[list[int], int]:
        """The first ids of a piece, as many as no continuation changes, and how many of its characters they are."""
        data, ids = piece.encode(), self._encode_piece(piece)
        longest = max(map(len, self._token_of))
        behind, wanted = 0, max(2 * longest, 8)  # bytes
        for k in range(len(ids) - 1, 0, -1):
            behind += len(self.vocabulary[ids[k]])
            rest = data[-behind:]
            if behind >= wanted and rest[0] & 0xC0 != 0x80:  # not inside a character
                if border_stays(ids[k - 1], rest, longest, self._token_of, self._are_neighbours):
                    return ids[:k], len(piece) - len(rest.decode())
                wanted = 2 * behind
        return [], 0

    def _are_neighbours(self, a: int, b: int) -> bool:
        data = self.vocabulary[a] + self.vocabulary[b]
        return apply_merges([self._byte_ids[c] for c in data], self._joins) == [a, b]

    @functools.cached_property
    def _token_of(self) -> dict[bytes, int]:
        """Bytes → the one token that encodes them; of two tokens with the same bytes, one never comes out."""
        found = {bytes([b]): i for b, i in enumerate(self._byte_ids) if i is not None}
        for _, new in self._joins.values():
            token = self.vocabulary[new]
            if token not in found or apply_merges([self._byte_ids[b] for b in token], self._joins) == [new]:
                found[token] = new
        return found

    def decode(self, ids: Iterable, errors: str = "replace") -> str:
        """The text of the ids. Where they stop inside a character: U+FFFD, or ValueError with errors="strict"."""
        if errors not in ("replace", "strict"):
            raise ValueError(f"{type(self).__name__}: errors is {errors!r}, expected 'replace' or 'strict'")
        data = b"".join(self.vocabulary[i] for i in self._check_ids(ids))
        try:
            return data.decode("utf-8", errors)
        except UnicodeDecodeError as error:
            raise ValueError(f"{type(self).__name__}: ids give {data[error.start:error.end]!r} at byte {error.start}, "
                             'which is no UTF-8, expected whole characters or errors="replace"') from None

    def _body(self):
        special = {*self.specials.values()}
        return {"pieces": self.pieces,
                "tokens": [None if i in special else to_letters(token) for i, token in enumerate(self.vocabulary)],
                "merges": [[a, b, new] for (a, b), (_, new) in self._joins.items()], "specials": self.specials}

    @classmethod
    def _from_body(cls, body):
        names = checked_specials(cls.__name__, body["specials"])
        specials = {s: whole(cls.__name__, body["specials"][s]) for s in names}
        name_of = {i: s for s, i in specials.items()}
        tokens = [name_of[i].encode() if letters is None else from_letters(letters)
                  for i, letters in enumerate(body["tokens"])]
        merges = [tuple(whole(cls.__name__, i) for i in triple) for triple in body["merges"]]
        for k, (a, b, new) in enumerate(merges):
            if min(a, b, new) < 0 or tokens[new] != tokens[a] + tokens[b]:
                raise ValueError(f"merge {k} does not make token {new}")
        tokenizer = cls.__new__(cls)
        tokenizer._set(tokens, merges, specials, body["pieces"])
        return tokenizer
