# ruff: noqa: E501
"""Chapters 2 and 12 proved: every text comes back from its ids, merges are those of the definition, files are whole."""

import importlib.util
import os
import random
import sys
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path
from unittest import mock

from hypothesis import strategies as st
from invariants import examples, raises
from mutants import M

SAMPLE = """It's the owner's word: they're 12 of 2024, we'll see; the   other\tother the\r\nthe naïve café — 漢字 😀😀 ½ x_1 __init__.
the the then there these those. She'd said "don't"!\n\n\nthe end  """ * 3
ALPHABET = "aé'sret  \t\n\u3000\u00a0_12½²-–漢😀\u0301'\x1c\x00<|end|>"
END = ["<|end|>", "<|end|>2"]


def cuts(r, text, n):
    """The text in n + 1 parts, some of them empty."""
    places = sorted(r.randrange(len(text) + 1) for _ in range(n))
    return [text[i:j] for i, j in zip([0, *places], [*places, len(text)], strict=True)]


def texts(r, n):
    """Texts with everything in them that is easy to get wrong."""
    return ["".join(r.choice(ALPHABET) for _ in range(r.randrange(30))) + r.choice(["", "<|end|>", "'re", "  x"])
            for _ in range(n)]


def joined(ids, pair, new):
    out = []
    for i in ids:
        out.append(i)
        if tuple(out[-2:]) == pair:
            out[-2:] = [new]
    return out


def counted_merges(words, count):
    """The definition: count all pairs of all words, join the most frequent one (ties: lowest ids), and count again."""
    split, merges = {word: list(word.encode()) for word in words}, []
    for k in range(count):
        pairs = Counter()
        for word, n in words.items():
            for pair in zip(split[word], split[word][1:], strict=False):
                pairs[pair] += n
        best = min(pairs, key=lambda pair: (-pairs[pair], pair), default=None)
        if best is None or pairs[best] < 2:
            break
        merges.append(best)
        split = {word: joined(ids, best, 256 + k) for word, ids in split.items()}
    return merges


def pieces_joined_are_the_text(module):
    for text in (SAMPLE, *texts(random.Random(1), 50)):
        assert "".join(module._PIECE.findall(text)) == text
    assert module._PIECE.findall("It's 12 x_1,  no") == ["It", "'s", " 12", " x", "_", "1", ",", " ", " no"]


def merges_are_counted(module):
    for text, count in ((SAMPLE, 72), ("abab aaa aaaa aaaaaaa", 44)):
        expected = counted_merges(Counter(module._PIECE.findall(text)), count)
        assert module.BPETokenizer.train(text, 256 + count).merges == expected


def words_replay_the_merges(module):
    """A word's ids are those of all merges, one after the other in the order in which they were learned."""
    tokenizer = module.BPETokenizer.train(SAMPLE, 330)
    for word in [*module._PIECE.findall(SAMPLE), " thereher", "hethe", "thethther", "reader's", "aaaa", "wherethe"]:
        ids = list(word.encode())
        for k, pair in enumerate(tokenizer.merges):
            ids = joined(ids, pair, 256 + k)
        assert tokenizer.encode(word) == ids, word


def any_text_comes_back(module):
    """In one piece or in many, special tokens obeyed or not."""
    r, tokenizer = random.Random(0), module.BPETokenizer.train(SAMPLE, 330, END)
    every = "".join(chr(i) for i in range(0, 0x110000, 97) if not 0xD800 <= i < 0xE000)
    for text in (SAMPLE, every, *texts(r, 150)):
        for special in (False, True):
            ids = tokenizer.encode(text, special)
            assert tokenizer.decode(ids) == text, repr(text)
            assert list(tokenizer.encode_stream(cuts(r, text, r.randrange(6)), special)) == ids, repr(text)
    assert len(tokenizer.encode(SAMPLE)) < 0.6 * len(SAMPLE.encode())


ANY = st.text(st.sampled_from(ALPHABET) | st.characters(codec="utf-8"), max_size=40)


def any_text_at_all_comes_back(module):
    """Hypothesis writes the text, cuts it, and chooses what to learn from: ids are of the vocabulary, and give it back."""

    @examples(text=ANY, learned=ANY, places=st.lists(st.integers(0, 40), max_size=4), special=st.booleans())
    def once(text, learned, places, special):
        tokenizer = module.BPETokenizer.train(learned * 3, 270, END)
        ids = tokenizer.encode(text, special)
        assert tokenizer.decode(ids) == text and all(0 <= i < len(tokenizer) for i in ids)
        parts = [text[i:j] for i, j in pairwise([0, *sorted(min(i, len(text)) for i in places), len(text)])]
        assert list(tokenizer.encode_stream(parts, special)) == ids
        assert module.BPETokenizer.train(parts, 260).merges == module.BPETokenizer.train(text, 260).merges
        characters = module.CharTokenizer.train(parts)
        assert characters.decode(characters.encode(text)) == text and len(characters) == len(set(text))

    once()


def any_cut_trains_the_same(module):
    r, whole = random.Random(0), module.BPETokenizer.train(SAMPLE, 330, END)
    for n in (1, 5, 40):
        assert module.BPETokenizer.train(cuts(r, SAMPLE, n), 330, END).merges == whole.merges


def special_tokens_only_when_asked(module):
    """The longest first; never learned from; obeyed only by the caller's wish, not by what a user writes."""
    tokenizer = module.BPETokenizer.train(SAMPLE, 330, END)
    assert tokenizer.specials == {"<|end|>": 328, "<|end|>2": 329} and len(tokenizer) == 330
    assert tokenizer.encode("a<|end|>2b", special=True) == [97, 329, 98]
    assert tokenizer.decode([97, 329, 98]) == "a<|end|>2b"
    assert max(tokenizer.encode("a<|end|>b")) < 328
    assert module.BPETokenizer.train("<|end|>" * 50, 300, END).merges == []


def broken_ids_and_texts_are_refused(module):
    tokenizer = module.BPETokenizer.train(SAMPLE, 300)
    assert tokenizer.decode([0xC3, 65], errors="replace") == "\ufffdA"
    raises(ValueError, "no UTF-8", lambda: tokenizer.decode([0xC3]))
    raises(ValueError, "ids hold 300", lambda: tokenizer.decode([300]))
    raises(ValueError, "ids hold -1", lambda: tokenizer.decode([-1]))
    raises(ValueError, "lone surrogate", lambda: tokenizer.encode("\ud800"))


def few_words_are_remembered(module):
    tokenizer = module.BPETokenizer.train(SAMPLE, 300)
    ids = tokenizer.encode(SAMPLE)
    small = module.BPETokenizer(tokenizer.merges)
    small.CACHED = 2
    assert small.encode(SAMPLE) == ids and len(small._cache) <= 2


def a_character_an_id(module):
    tokenizer = module.CharTokenizer.train(["cab", "ba d<p"], ["<p>"])
    assert tokenizer.tokens == [" ", "<", "a", "b", "c", "d", "p", "<p>"] and tokenizer.specials == {"<p>": 7}
    assert tokenizer.decode(tokenizer.encode("bad cab")) == "bad cab"
    assert tokenizer.encode("a<p>", special=True) == [2, 7] and tokenizer.encode("a<p") == [2, 1, 6]
    raises(ValueError, r"text holds 'ß' \(U\+00DF\)", lambda: tokenizer.encode("aß"))
    raises(ValueError, "specials holds '< >'", lambda: module.CharTokenizer("a", ["< >"]))
    raises(ValueError, "ids hold -1", lambda: tokenizer.decode([-1]))


def files_are_old_or_new(module):
    """What was saved comes back; a save that fails leaves the old file and nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.json"
        for tokenizer in (module.BPETokenizer.train(SAMPLE, 300, END), module.CharTokenizer.train(SAMPLE, END)):
            tokenizer.save(path)
            again = type(tokenizer).load(path)
            assert again.encode(SAMPLE + "<|end|>", True) == tokenizer.encode(SAMPLE + "<|end|>", True)
            before, replace = path.read_bytes(), os.replace
            try:
                os.replace = lambda *_: 1 / 0
                raises(ZeroDivisionError, "", lambda: tokenizer.save(path))  # noqa: B023
            finally:
                os.replace = replace
            assert path.read_bytes() == before and os.listdir(folder) == ["t.json"]


def damaged_files_are_refused(module):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.json"
        for bad in ("{", "[]", '{"kind": "characters", "merges": [], "specials": []}', '{"kind": "byte-level BPE"}',
                    '{"kind": "byte-level BPE", "merges": [[300, 1]], "specials": []}'):
            path.write_text(bad)
            raises(ValueError, "is damaged", lambda: module.BPETokenizer.load(path))


def files_are_read_as_they_are(module):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.txt"
        path.write_bytes(SAMPLE.encode())
        chunks = list(module.read_chunks(path, 7))
    assert "".join(chunks) == SAMPLE and {len(chunk) for chunk in chunks[:-1]} == {7}


def wordpiece_needs_its_package(module):
    """Without the package `tokenizers`: told what is missing. With it: lower case, special tokens only when asked."""
    with mock.patch.dict(sys.modules, tokenizers=None):  # as if it were not installed
        raises(ImportError, "package tokenizers is missing; pip install",
               lambda: module.WordPieceTokenizer.train("a", 50))
    if importlib.util.find_spec("tokenizers") is None:
        return
    tokenizer = module.WordPieceTokenizer.train(cuts(random.Random(0), SAMPLE, 40), 200)
    assert tokenizer.specials == {s: i for i, s in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"))}
    assert tokenizer.encode("[SEP] the", special=True)[0] == 3 not in tokenizer.encode("[SEP] the")
    assert tokenizer.decode(tokenizer.encode("The other OWNERS")) == "the other owners"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.json"
        tokenizer.save(path)
        assert module.WordPieceTokenizer.load(path).encode(SAMPLE) == tokenizer.encode(SAMPLE)
        path.write_text('{"model": {"type": "BPE"}}')
        raises(ValueError, "is damaged .its model is BPE", lambda: module.WordPieceTokenizer.load(path))


INVARIANTS = {"text": [pieces_joined_are_the_text, merges_are_counted, words_replay_the_merges, any_text_comes_back,
                       any_text_at_all_comes_back, any_cut_trains_the_same, special_tokens_only_when_asked, broken_ids_and_texts_are_refused,
                       few_words_are_remembered, a_character_an_id, files_are_old_or_new, damaged_files_are_refused,
                       files_are_read_as_they_are, wordpiece_needs_its_package]}

WRONG = [
    M("text.whole_words", "invariant", "BPE: words cut where chunks end",
      "        rest += chunk\n"
      "        if border := _BORDER.match(rest):\n"
      "            yield border[0]\n"
      "            rest = rest[border.end() :]",
      "        yield chunk"),
    M("text._BORDER", "invariant", "BPE: cut after white space, not before", r'.*\S(?=\s)", ', r'.*\s", '),
    M("text.BPETokenizer._encode_word", "invariant", "BPE: encoded with the last merge first",
      "key=lambda p: self.ranks.get(p, len(self))", "key=lambda p: -self.ranks.get(p, -1)"),
    M("text._learn_merges", "invariant", "BPE: stale counts in the heap",
      "        if totals[pair] != -n:", "        if pair not in totals:"),
    M("text._learn_merges", "invariant", "BPE: counts of the joined word not taken away",
      "                totals[old] -= times[w]\n", ""),
    M("text._learn_merges", "invariant", "BPE: words counted once, however frequent",
      "list(words.values()", "[1] * len(words"),
    M("text.Tokenizer._split", "invariant", "BPE: special tokens of a user's text obeyed",
      "if not (special and self.specials):", "if not self.specials:"),
    M("text.BPETokenizer.train", "invariant", "BPE: trained on special tokens", "new._split(text, True)[::2", "[text"),
    M("text.Tokenizer._split", "invariant", "BPE: the shorter special token found first",
      "sorted(self.specials, key=len, reverse=True)", "sorted(self.specials, key=len)"),
    M("text.BPETokenizer.decode", "invariant", "BPE: broken bytes replaced without being asked",
      'errors: str = "strict"', 'errors: str = "replace"'),
    M("text.BPETokenizer._encode_word", "invariant", "BPE: every word remembered",
      "            self._cache.clear()\n", "            pass\n"),
    M("text.BPETokenizer.__init__", "invariant", "BPE: merges of a file not looked at",
      "not 0 <= min(a, b) <= max(a, b) < len(self.vocabulary)", "False"),
    M("text._PIECE", "invariant", "pieces: the underscore lost", r"(?:[^\s\w]|_)+", r"[^\s\w]+"),
    M("text.Tokenizer._check_ids", "invariant", "ids below zero counted from the end",
      "if not 0 <= i < len(self):", "if not i < len(self):"),
    M("text.read_chunks", "invariant", "files: line ends changed", 'newline=""', "newline=None"),
    M("text.Tokenizer.save", "invariant", "files: written in place",
      "write_whole(path, self._to_json().encode())", "Path(path).write_text(self._to_json())"),
    M("text._json", "invariant", "files: any kind will do", 'data.get("kind") != kind', "False"),
    M("text.CharTokenizer.encode", "invariant", "characters: unknown ones dropped",
      "[self.ids[c] for c in part]", "[self.ids[c] for c in part if c in self.ids]"),
    M("text._tokenizers", "invariant", "WordPiece: the missing package told by Python alone",
      'raise ImportError("WordPieceTokenizer: the package tokenizers is missing; pip install tokenizers") from error',
      "raise"),
]

if importlib.util.find_spec("tokenizers"):
    WRONG += [
        M("text.WordPieceTokenizer.__init__", "invariant", "WordPiece: special tokens of a user's text obeyed",
          "inner.encode_special_tokens = True", "inner.encode_special_tokens = False"),
        M("text.WordPieceTokenizer.train", "invariant", "WordPiece: capitals kept",
          "lowercase: bool = True", "lowercase: bool = False"),
        M("text.WordPieceTokenizer.train", "invariant", "WordPiece: marks of inner pieces left in the text",
          'prefix="##")', 'prefix="@@")'),
        M("text.WordPieceTokenizer._from_json", "invariant", "WordPiece: any model will do",
          'if kind != "WordPiece":', "if False:"),
    ]
