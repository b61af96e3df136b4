# ruff: noqa: E501
"""Chapters 2 and 12 proved: every text comes back from its ids, merges are those of the definition, files are whole."""

import functools
import json
import os
import random
import sys
import tempfile
import unicodedata
from collections import Counter
from itertools import pairwise
from pathlib import Path
from unittest import mock

import numpy as np
import tokenizers
import torch
from byhand.io.files import seal
from byhand.text import BPETokenizer, WordPieceTokenizer, gpt2_pieces, streams
from hypothesis import strategies as st
from invariants import examples, raises
from mutants import M
from proofs import as_shipped

SAMPLE = """It's the owner's word: they're 12 of 2024, we'll see; the   other\tother the\r\nthe naïve café — 漢字 😀😀 ½ x_1 __init__.
the the then there these those. She'd said "don't"!\n\n\nthe end  """ * 3
CONTROLS = "".join(c for c in map(chr, range(0x3001)) if c.isspace() or unicodedata.category(c) in ("Cc", "Zs", "Zl", "Zp"))
ALPHABET = "aé'sret  \t\n_12½²Ⅷ-–漢😀\u0301'\u200b<|end|>" + CONTROLS
END = ["<|end|>", "<|end|>2", "<a b>", " a"]
ANY = st.text(st.sampled_from(ALPHABET) | st.characters(codec="utf-8"), max_size=40)


def cuts(r, text, n):
    """The text in n + 1 parts, some of them empty."""
    places = sorted(r.randrange(len(text) + 1) for _ in range(n))
    return [text[i:j] for i, j in zip([0, *places], [*places, len(text)], strict=True)]


def texts(r, n):
    """Texts with everything in them that is easy to get wrong."""
    return ["".join(r.choice(ALPHABET) for _ in range(r.randrange(30))) + r.choice(["", "<|end|>", "'re", "  x", " a<a b> a"])
            for _ in range(n)]


@functools.cache
def every_character():
    """Each character that Python's tables have, between neighbours of every class; a thousand of them a text.

    Of the letters above U+3400, nearly all of them of scripts with thousands of letters alike, every 32nd.
    """
    known = [c for i, c in enumerate(map(chr, range(sys.maxunicode + 1))) if unicodedata.category(c) not in ("Cn", "Cs", "Co")
             and (i < 0x3400 or i % 32 == 0 or unicodedata.category(c) != "Lo")]
    known = [f"a{c}1{c}!{c} {c}{c}" for c in known]
    return ["".join(known[i : i + 1000]) for i in range(0, len(known), 1000)]


def small_blocks(size=1):
    """Streams look at every `size` characters, so that short texts are cut where long ones would be."""
    return mock.patch.object(streams, "BLOCK", size)


def joined(ids, pair, new):
    out = []
    for i in ids:
        out.append(i)
        if tuple(out[-2:]) == pair:
            out[-2:] = [new]
    return out


def replayed(ids, merges):
    """All merges, one after the other in the order in which they were learned."""
    for k, pair in enumerate(merges):
        ids = joined(ids, pair, 256 + k)
    return ids


def counted_merges(words, count, greatest=False):
    """The definition: count all pairs of all words, join the most frequent one, and count again."""
    split, merges, tokens = {word: list(word.encode()) for word in words}, [], [bytes([i]) for i in range(256)]
    for k in range(count):
        pairs = Counter()
        for word, n in words.items():
            for pair in zip(split[word], split[word][1:], strict=False):
                pairs[pair] += n
        if max(pairs.values(), default=0) < 2:
            break
        most = [pair for pair, n in pairs.items() if n == max(pairs.values())]
        best = max(most, key=lambda pair: (tokens[pair[0]], tokens[pair[1]])) if greatest else min(most)
        merges.append(best)
        tokens.append(tokens[best[0]] + tokens[best[1]])
        split = {word: joined(ids, best, 256 + k) for word, ids in split.items()}
    return merges


# Streams

SINGLE = (None, 5, 1.5, True)  # where several things are asked for


def words_are_cut_before_white_space(module):
    r, white = random.Random(0), {c for c in CONTROLS if c.isspace()} - {*"\x1c\x1d\x1e\x1f"}  # Python alone has these four
    with mock.patch.object(module, "BLOCK", 1):
        for text in (SAMPLE, *texts(r, 100)):
            parts = list(module.whole_words(cuts(r, text, 9)))
            assert "".join(parts) == text and all(parts)
            assert all(part[0] in white and before[-1] not in white for before, part in pairwise(parts)), repr(text)
    assert list(module.whole_words("")) == [] and len(list(module.whole_words(["a b", " c"] * 99_999))) > 4


def nothing_is_looked_at_often(module):
    """One letter a chunk, and nothing that can be cut off: each character is seen a few times, not once a chunk."""
    for size in (10_000, 40_000):
        seen = []
        with mock.patch.object(module, "BLOCK", 10):
            list(module.in_parts("a" * size, lambda text, more: (seen.append(len(text)), 0)))  # noqa: B023
        assert seen[-1] == size and sum(seen) < 4 * size


def little_is_held(module):
    """Of one long chunk no more is looked at together than a block."""
    seen = []
    with mock.patch.object(module, "BLOCK", 10):
        list(module.in_parts(["a" * 1000], lambda text, more: (seen.append(len(text)), len(text) - 3 if more else len(text))))
    assert max(seen) < 25 and sum(seen) < 2000


def a_chunk_is_text(module):
    with as_shipped():
        raises(TypeError, "in_parts: a chunk is bytes, expected str", lambda: list(module.whole_words([b"a"])))
        for wrong in SINGLE:
            raises(TypeError, f"in_parts: chunks is {type(wrong).__name__}, expected several of text", lambda w=wrong: list(module.whole_words(w)))


def files_are_read_as_they_are(module):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.txt"
        path.write_bytes(SAMPLE.encode())
        chunks = list(module.read_chunks(path, 7))
    assert "".join(chunks) == SAMPLE and {len(chunk) for chunk in chunks[:-1]} == {7}


# Pieces


def of_tokenizers(text, *before):
    """The pieces of the package tokenizers, whose pattern is GPT-2's."""
    pieces = tokenizers.pre_tokenizers.Sequence([*before, tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)])
    return [text[i:j] for _, (i, j) in pieces.pre_tokenize_str(text)]


def pieces_are_those_of_gpt2(module):
    assert module.gpt2_pieces("It's 12 x_1,  no") == ["It", "'s", " 12", " x", "_", "1", ",", " ", " no"]
    assert module.gpt2_pieces("a²b \u2167c\x1cd ½") == ["a", "²", "b", " \u2167", "c", "\x1c", "d", " ½"]
    for text in (SAMPLE, *texts(random.Random(1), 500), *every_character()):
        assert module.gpt2_pieces(text) == of_tokenizers(text), repr(text)


def numbers_of_smollm_stand_alone(module):
    digits = tokenizers.pre_tokenizers.Digits(individual_digits=True)
    for text in ("a  12  \n3 '4's  5", *texts(random.Random(2), 500), *every_character()):
        assert module.SMOLLM.findall(text) == of_tokenizers(text, digits), repr(text)


def decided_pieces_stay(module):
    """Whatever follows, they are the first pieces; and all but a few are decided."""
    r = random.Random(3)
    for text in (*texts(r, 400), "x'l", "x'r", " 'v", "1'", "!'l"):
        for pattern in module.PATTERNS.values():
            pieces, rest = module.decided(pattern, text, True)
            assert "".join(pieces + rest) == text and len(rest) <= 2 and module.decided(pattern, text, False)[1] == []
            for more in ("", "s", "l", "ll", "e", " ", "  x", "1", "'", "a", "\n", *texts(r, 3)):
                assert pattern.findall(text + more)[: len(pieces)] == pieces, (text, more)


# Letters


def letters_are_those_of_gpt2(module):
    assert module.byte_letters() == tokenizers_letters()
    every = bytes(range(256))
    assert module.from_letters(module.to_letters(every)) == every and module.to_letters(b" a\n") == "ĠaĊ"
    raises(ValueError, "from_letters: token holds ' ', expected letters of bytes", lambda: module.from_letters("a b"))


# Merges


def merges_are_counted(module):
    for text, count in ((SAMPLE, 72), ("abab aaa aaaa aaaaaaa", 44), ("low low lowed wol wol dew dew edl", 30)):
        words = Counter(gpt2_pieces(text))
        assert module.learn_merges(words, count, 2) == counted_merges(words, count)
        assert module.learn_merges(words, count, 2, "greatest") == counted_merges(words, count, greatest=True)
    words = Counter({"ab": 2, "ba": 2, "b": 9})
    assert module.learn_merges(words, 1, 2) == [(97, 98)] and module.learn_merges(words, 1, 2, "greatest") == [(98, 97)]
    words = Counter({"xa": 3, "ya": 3, "xab": 3, "b": 1})  # (xa, b) and (x, ab) tie: the longer left token is greater
    assert module.learn_merges(words, 9, 2, "greatest") == counted_merges(words, 9, greatest=True)


def counted_at_random(module):
    r = random.Random(5)
    for _ in range(60):
        words = Counter({"".join(r.choice("abc") for _ in range(r.randrange(1, 7))): r.randrange(1, 5) for _ in range(8)})
        for ties in ("lowest", "greatest"):
            assert module.learn_merges(words, 12, 2, ties) == counted_merges(words, 12, ties == "greatest")


def tokens_do_not_grow_for_ever(module):
    with mock.patch.object(module, "LONGEST", 8):
        assert module.learn_merges(Counter({"a" * 4096: 1}), 99, 2) == [(97, 97), (256, 256), (257, 257)]


def merges_are_replayed(module):
    r = random.Random(4)
    for _ in range(300):
        alphabet = r.choice(["a", "ab", "abc", "aab"])
        words = Counter("".join(r.choice(alphabet) for _ in range(r.randrange(9))) for _ in range(9))
        merges = counted_merges(words, r.randrange(12))
        joins = {pair: (k, 256 + k) for k, pair in enumerate(merges)}
        for _ in range(5):
            ids = [ord(r.choice(alphabet)) for _ in range(r.randrange(40))]
            assert module.apply_merges(ids, joins) == replayed(ids, merges), (ids, merges)


class Counting(dict):
    """Counts how often it is asked."""

    asked = 0

    def get(self, *args):
        self.asked += 1
        return super().get(*args)

    def __contains__(self, key):
        self.asked += 1
        return super().__contains__(key)


def long_words_take_linear_work(module):
    """The joins asked for are a few times the letters, however long the word."""
    merges = counted_merges(Counter(gpt2_pieces(SAMPLE)), 60)
    r, letters = random.Random(0), [c for c in SAMPLE.encode() if chr(c).isalpha()]
    for n in (1000, 8000):
        joins = Counting({pair: (k, 256 + k) for k, pair in enumerate(merges)})
        module.apply_merges([r.choice(letters) for _ in range(n)], joins)
        assert n <= joins.asked < 8 * n


def a_border_that_stays_stays(module):
    """Said to stay, a border is in the encoding of every continuation; and such borders are found where there are any."""
    letters = "abcdefghijklmnopqrstuvwxyz"  # each pair was learned before the one on its left: the last letter decides all
    chain = BPETokenizer([(ord(a), ord(b)) for a, b in pairwise(letters)][::-1])
    for n in (24, 25, 26):
        for at in range(1, n - 1):
            first = chain.encode(letters[:at])
            assert not module.border_stays(first[-1], letters[at:n].encode(), 2, chain._token_of, chain._are_neighbours) or n == 26
    r, found, tried = random.Random(6), 0, 0
    for _ in range(30):
        alphabet = r.choice(["ab", "abc", "aab"])
        words = Counter("".join(r.choice(alphabet) for _ in range(r.randrange(9))) for _ in range(9))
        tokenizer = BPETokenizer(counted_merges(words, r.randrange(14)))
        encode, longest = tokenizer.encode, max(map(len, tokenizer._token_of))
        text = "".join(r.choice(alphabet) for _ in range(40))
        ids, at = encode(text), 0
        for before in ids[:-1]:
            at += len(tokenizer.vocabulary[before])
            far, rest = at <= 40 - max(8, 2 * longest), text[at:].encode()
            tried += far
            if len(rest) >= longest and module.border_stays(before, rest, longest, tokenizer._token_of, tokenizer._are_neighbours):
                found += far
                for more in ("", *("".join(r.choice(alphabet) for _ in range(r.randrange(1, 12))) for _ in range(3))):
                    first = encode(text[:at])
                    assert encode(text + more)[: len(first)] == first == ids[: len(first)], (text, at, more)
    assert found > 0.9 * tried > 50


# All tokenizers


def toy(module):
    """A letter an id; a word is known only when it ends."""

    class Toy(module.Tokenizer):
        kind = "toy"

        def __init__(self, specials=END):
            self.specials = {s: 1000 + i for i, s in enumerate(module.checked_specials("Toy", specials))}

        def __len__(self):
            return 2000

        def _encode_part(self, part, more):
            end = max(part.rfind(" "), 0) if more else len(part)
            return [ord(c) for c in part[:end]], end

        def decode(self, ids):
            return self._check_ids(ids)

        def _body(self):
            return {"specials": list(self.specials)}

        @classmethod
        def _from_body(cls, body):
            return cls(body["specials"])

    return Toy


def special_tokens_are_split_off(module):
    """Only when asked; the longest first; white space in them; the same however the text is cut."""
    tokenizer = toy(module)()
    assert tokenizer.encode("<|end|>2a", special=True) == [1001, 97] and tokenizer.encode(" a", True) == [1003]
    assert tokenizer.encode("x<a b><|end|>", True) == [120, 1002, 1000]
    assert tokenizer.encode("<a b>") == [ord(c) for c in "<a b>"]
    for text in ("x a<|end|>2 <|end|> 2 <a b> <a <a b", "<|end|>" * 9, "<|end|><|end|>2" * 9):
        for special in (False, True):
            for size in range(1, 9):
                with small_blocks(size):
                    parts = [text[i : i + size] for i in range(0, len(text), size)]
                    assert list(tokenizer.encode_stream(parts, special)) == tokenizer.encode(text, special)


def special_tokens_are_checked(module):
    made = toy(module)
    with as_shipped():
        for wrong in (["a", "a"], [""], [1], ["\ud800"]):
            raises(ValueError, "holds", lambda w=wrong: made(w))
        raises(TypeError, "specials is the string 'ab'", lambda: made("ab"))
        raises(TypeError, "specials is int, expected several of text", lambda: made(5))
    compared = []

    class Name(str):
        def __eq__(self, other):
            compared.append(1)
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    many = [Name(f"<{i}>") for i in range(2000)]
    made(many)
    assert len(compared) < 10 * len(many)  # not each with each


def ids_are_whole_numbers(module):
    tokenizer = toy(module)()
    for kind in (np.uint8, np.uint16, np.int32, np.uint64, np.int64):
        assert tokenizer.decode(np.array([97, 98], kind)) == [97, 98]
    assert tokenizer.decode(torch.tensor([97])) == [97] and tokenizer.decode(i for i in (1, 2)) == [1, 2]
    assert tokenizer.decode([]) == [] == tokenizer.decode(np.zeros(0, np.uint16))
    with as_shipped():
        for wrong in ([97.9], "12", [True], np.array([1.0]), [None], ["1"], np.array([[1, 2]]), np.array([True]), [97.0]):
            raises(TypeError, "expected whole numbers", lambda w=wrong: tokenizer.decode(w))
        for wrong in (*SINGLE, np.array(1)):
            raises(TypeError, f"ids is {type(wrong).__name__}, expected several of whole numbers", lambda w=wrong: tokenizer.decode(w))
    raises(ValueError, "ids hold -1, expected numbers from 0 to 1999", lambda: tokenizer.decode([-1]))
    raises(ValueError, "ids hold 2000", lambda: tokenizer.decode([2000]))


def text_is_unicode_text(module):
    tokenizer = toy(module)()
    raises(ValueError, r"Toy: text holds the lone surrogate '\\ud83d'", lambda: tokenizer.encode("x\ud83d \ude00"))
    with as_shipped():
        raises(TypeError, "Toy: text is bytes, expected str", lambda: tokenizer.encode(b"a"))


def files_are_old_or_new(module):
    """What was saved comes back; a save that fails leaves the old file and nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        path, tokenizer = Path(folder) / "t.json", toy(module)()
        tokenizer.save(path)
        assert type(tokenizer).load(path).specials == tokenizer.specials
        before = path.read_bytes()
        with mock.patch.object(os, "replace", lambda *_: 1 / 0):
            raises(ZeroDivisionError, "", lambda: tokenizer.save(path))
        assert path.read_bytes() == before and os.listdir(folder) == ["t.json"]


def damaged_files_are_refused(module):
    """Of another kind, no JSON, without a seal or with that of something else, and nested without end."""
    with tempfile.TemporaryDirectory() as folder:
        path, made = Path(folder) / "t.json", toy(module)
        made().save(path)
        right = json.loads(path.read_text())
        for bad in ("{", "[]", "7", "[" * 200_000, '{"a":' * 200_000, json.dumps({"kind": "tool", "specials": [], "seal": seal({"kind": "tool", "specials": []})}),
                    json.dumps(right | {"specials": []}), json.dumps({k: v for k, v in right.items() if k != "seal"}),
                    json.dumps({"kind": "toy", "seal": seal({"kind": "toy"})})):
            path.write_text(bad)
            raises(ValueError, "Toy: .*t.json is damaged", lambda: made.load(path))
        path.write_bytes(b"\xff" + path.read_bytes())
        raises(ValueError, "Toy: .*t.json is damaged", lambda: made.load(path))


# Byte-pair encoding


def words_replay_the_merges(module):
    tokenizer = module.BPETokenizer.train(SAMPLE, 330)
    assert tokenizer.merges == counted_merges(Counter(gpt2_pieces(SAMPLE)), 74)
    for word in [*gpt2_pieces(SAMPLE), " thereher", "hethe", "thethther", "reader's", "aaaa", "wherethe"]:
        assert tokenizer.encode(word) == replayed(list(word.encode()), tokenizer.merges) or len(gpt2_pieces(word)) > 1, word
    greatest = module.BPETokenizer.train(SAMPLE, 330, ties="greatest")
    assert greatest.merges == counted_merges(Counter(gpt2_pieces(SAMPLE)), 74, greatest=True) != tokenizer.merges
    raises(ValueError, "ties is 'first', expected 'lowest' or 'greatest'", lambda: module.BPETokenizer.train("a", 300, ties="first"))


@as_shipped()  # thousands of calls, whose types other checks have seen
def any_text_comes_back(module):
    """In one piece or in many, special tokens obeyed or not."""
    r, tokenizer = random.Random(0), module.BPETokenizer.train(SAMPLE, 330, END)
    every = "".join(chr(i) for i in range(0, 0x110000, 97) if not 0xD800 <= i < 0xE000)
    for text in (SAMPLE, every, *texts(r, 150)):
        for special in (False, True):
            ids = tokenizer.encode(text, special)
            assert tokenizer.decode(ids) == text, repr(text)
            with small_blocks(r.choice([1, 3, 20])):
                assert list(tokenizer.encode_stream(cuts(r, text, r.randrange(6)), special)) == ids, repr(text)
    assert len(tokenizer.encode(SAMPLE)) < 0.6 * len(SAMPLE.encode())


def any_text_at_all_comes_back(module):
    """Hypothesis writes the text, cuts it, and chooses what to learn from: ids are of the vocabulary, and give it back."""

    @examples(text=ANY, learned=ANY, places=st.lists(st.integers(0, 40), max_size=4), special=st.booleans())
    def once(text, learned, places, special):
        tokenizer = module.BPETokenizer.train(learned * 3, 270, END)
        ids = tokenizer.encode(text, special)
        assert tokenizer.decode(ids, "strict") == text and all(0 <= i < len(tokenizer) for i in ids)
        parts = [text[i:j] for i, j in pairwise([0, *sorted(min(i, len(text)) for i in places), len(text)])]
        with small_blocks():
            assert list(tokenizer.encode_stream(parts, special)) == ids
            assert module.BPETokenizer.train(parts, 260).merges == module.BPETokenizer.train(text, 260).merges

    once()


@as_shipped()  # thousands of calls, whose types other checks have seen
def words_without_end_are_cut_where_nothing_changes(module):
    """Whatever merges were learned, a long word in a stream has the ids that it has alone, and is not held."""
    letters = "abcdefghijklmnopqrstuvwxyz"  # each pair was learned before the one on its left: the last letter decides all
    chain = module.BPETokenizer([(ord(a), ord(b)) for a, b in pairwise(letters)][::-1])
    assert len({tuple(chain.encode(letters[:n])[:3]) for n in (24, 25)}) == 2
    r, held = random.Random(7), []
    for n in range(99):
        with small_blocks():
            assert list(chain.encode_stream((letters * 4)[:n])) == chain.encode((letters * 4)[:n])
    for _ in range(200):
        alphabet = r.choice(["a", "ab", "abc", "aab", "a ", "          a", "'s", "漢字é", "a'1 s"])
        learned, text = ("".join(r.choice(alphabet) for _ in range(n)) for n in (r.randrange(300), 150))
        tokenizer = module.BPETokenizer.train(learned, 256 + r.randrange(30), (), 1, r.choice(["lowest", "greatest"]))
        ids = tokenizer.encode(text)
        with small_blocks(r.choice([1, 8])), mock.patch.object(tokenizer, "_begin_piece", wraps=tokenizer._begin_piece) as begin:
            assert list(tokenizer.encode_stream(text)) == ids, (text, tokenizer.merges)
        longest = max(map(len, tokenizer._token_of))
        held += [len(call.args[0]) / (longest + 4) for call in begin.call_args_list if alphabet == "ab"]
    assert len(held) > 100 and np.quantile(held, 0.99) < 8  # characters, in lengths of the longest token


def any_cut_trains_the_same(module):
    r, whole = random.Random(0), module.BPETokenizer.train(SAMPLE, 330, END)
    for n in (1, 5, 40):
        with small_blocks():
            assert module.BPETokenizer.train(cuts(r, SAMPLE, n), 330, END).merges == whole.merges


def special_tokens_only_when_asked(module):
    """Never learned from; obeyed only by the caller's wish, not by what a user writes."""
    tokenizer = module.BPETokenizer.train(SAMPLE, 332, END)
    assert tokenizer.specials == {s: 328 + i for i, s in enumerate(END)} and len(tokenizer) == 332
    assert tokenizer.encode("x<|end|>2b", special=True) == [120, 329, 98]
    assert tokenizer.decode([120, 330, 98]) == "x<a b>b"
    assert max(tokenizer.encode("a<|end|>b <a b>")) < 328
    assert module.BPETokenizer.train("<|end|>" * 50, 300, END).merges == []
    for size in (1, 10_000):
        with small_blocks(size):
            assert module.BPETokenizer.train("x<|end|>" * 50 + "x", 300, END).merges == []
            assert module.BPETokenizer.train("xy<|end|>" * 50, 300, END).merges == [(120, 121)]


def broken_ids_and_texts_are_refused(module):
    tokenizer = module.BPETokenizer.train(SAMPLE, 300)
    assert tokenizer.decode([0xC3, 65]) == "\ufffdA" == tokenizer.decode([0xC3, 65], errors="replace")
    raises(ValueError, "no UTF-8", lambda: tokenizer.decode([0xC3], errors="strict"))
    raises(ValueError, "errors is 'ignore', expected 'replace' or 'strict'", lambda: tokenizer.decode([65], errors="ignore"))
    raises(ValueError, "ids hold 300", lambda: tokenizer.decode([300]))
    raises(ValueError, "lone surrogate", lambda: tokenizer.encode("\ud800"))
    raises(ValueError, "lone surrogate", lambda: module.BPETokenizer.train("\ud800", 300))
    for merges in ([(300, 1)], [(1, 256)], [(-1, 1)], [(97, 98), (97, 98)]):
        raises(ValueError, "expected", lambda m=merges: module.BPETokenizer(m))
    with as_shipped():
        raises(TypeError, r"merges\[0\] holds True, expected whole numbers", lambda: module.BPETokenizer([(True, 1)]))
        for wrong in SINGLE:
            raises(TypeError, f"BPETokenizer: merges is {type(wrong).__name__}, expected several of pairs of ids", lambda w=wrong: module.BPETokenizer(w))
        for wrong in ((1,), (1, 2, 3), 7, None):
            raises(TypeError, r"BPETokenizer: merges\[1\] is .*, expected a pair of ids", lambda w=wrong: module.BPETokenizer([(97, 98), w]))
    doubling = [(97, 97)] + [(256 + k, 256 + k) for k in range(45)]
    raises(ValueError, "merge 16 makes a token of 131072 bytes, expected at most 65536", lambda: module.BPETokenizer(doubling))


def few_words_are_remembered(module):
    tokenizer = module.BPETokenizer.train(SAMPLE, 300)
    ids = tokenizer.encode(SAMPLE)
    small = module.BPETokenizer(tokenizer.merges)
    small.CACHED, small.SHORT = 2, 5
    assert small.encode(SAMPLE) == ids and len(small._cache) == 2
    small.CACHED = 1000
    assert small.encode(SAMPLE) == ids and max(map(len, small._cache)) == 5


def published(bpe, r):
    """A vocabulary as others publish it: ids in an order of its own, a special token among them, pairs of bytes."""
    tokens = [*bpe.vocabulary, b"<|end|>"]
    r.shuffle(tokens)
    return {t: i for t, i in sorted(zip(tokens, range(len(tokens)), strict=True))}, [(bpe.vocabulary[a], bpe.vocabulary[b]) for a, b in bpe.merges]


def published_ids_are_kept(module):
    """Those of the package tokenizers with the same vocabulary; by save and load, too."""
    r = random.Random(8)
    vocab, merges = published(module.BPETokenizer.train(SAMPLE, 330), r)
    ours = module.BPETokenizer.from_vocab(vocab, merges, ["<|end|>", "<new one>"])
    assert ours.specials == {"<|end|>": vocab[b"<|end|>"], "<new one>": len(vocab)} and len(ours) == len(vocab) + 1
    assert all(ours.vocabulary[i] == t for t, i in vocab.items())
    letters = {b: c for b, c in zip(sorted({*range(256)}), tokenizers_letters(), strict=True)}

    def spelled(token):
        return "".join(letters[b] for b in token)

    theirs = tokenizers.Tokenizer(tokenizers.models.BPE({spelled(t): i for t, i in vocab.items()},
                                                        [(spelled(a), spelled(b)) for a, b in merges]))
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    with tempfile.TemporaryDirectory() as folder:
        ours.save(Path(folder) / "t.json")
        again = module.BPETokenizer.load(Path(folder) / "t.json")
    assert again.merges == ours.merges and again.specials == ours.specials and again.vocabulary == ours.vocabulary
    for text in (SAMPLE, *texts(r, 100), every_character()[0]):
        ids = ours.encode(text)
        assert ids == theirs.encode(text).ids == again.encode(text) and ours.decode(ids) == text
        with small_blocks():
            assert list(ours.encode_stream(text + "<|end|>", True)) == ours.encode(text, True) + [vocab[b"<|end|>"]]


def tokenizers_letters():
    """The letters of the bytes 0 … 255, as the package tokenizers writes them."""
    seen = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    above = iter(sorted(c for c in tokenizers.pre_tokenizers.ByteLevel.alphabet() if ord(c) > 255))
    return [chr(b) if b in seen else next(above) for b in range(256)]


def wrong_vocabularies_are_refused(module):
    vocab, merges = published(module.BPETokenizer.train(SAMPLE, 300), random.Random(9))
    swapped = {t: (i if i else len(vocab)) for t, i in vocab.items()}
    twice = dict(zip(vocab, [0, 0, *range(2, len(vocab))], strict=True))
    for says, change in [
        ("expected each of 0 … 300 once", {"vocab": swapped}), ("expected each of 0 … 300 once", {"vocab": twice}),
        ("merge . is .*, expected two earlier", {"merges": merges[::-1]}),
        (r"merge 44 is b'z' and b'q', expected two earlier", {"merges": [*merges, (b"z", b"q")]}),
        ("specials holds 'a', expected none", {"specials": ["a"]}), ("specials holds ''", {"specials": [""]}),
        ("pieces is 'gpt4', expected one of gpt2, smollm", {"pieces": "gpt4"}),
    ]:
        raises(ValueError, f"BPETokenizer: .*{says}",
               lambda c=change: module.BPETokenizer.from_vocab(**{"vocab": vocab, "merges": merges} | c))
    with as_shipped():
        raises(TypeError, "vocab holds 'a', expected bytes", lambda: module.BPETokenizer.from_vocab({"a": 0}, []))
        raises(TypeError, "vocab holds 0.0, expected whole", lambda: module.BPETokenizer.from_vocab({b"a": 0.0}, []))
        raises(TypeError, "vocab is list, expected a dict", lambda: module.BPETokenizer.from_vocab([b"a"], []))
        raises(TypeError, "merges is NoneType, expected several of pairs of tokens", lambda: module.BPETokenizer.from_vocab({b"a": 0}, None))
        raises(TypeError, r"merges\[0\] is \(b'a',\), expected a pair", lambda: module.BPETokenizer.from_vocab({b"a": 0}, [(b"a",)]))
    few = module.BPETokenizer.from_vocab({b"b": 0, b"a": 1, b"ab": 2}, [(b"a", b"b")])
    assert few.encode("abba") == [2, 0, 1]
    raises(ValueError, "text holds 'abc', expected bytes that have tokens", lambda: few.encode("abc"))


def no_damage_is_loaded(module):
    """Every byte of a file changed; and contents that were never saved, with a seal of their own."""
    r = random.Random(10)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.json"
        tokenizer = module.BPETokenizer.train(SAMPLE, 290, END)
        tokenizer.save(path)
        right = path.read_bytes()
        for place in range(0, len(right), 7):
            path.write_bytes(right[:place] + bytes([right[place] ^ 1 << r.randrange(8)]) + right[place + 1 :])
            try:
                assert module.BPETokenizer.load(path).__dict__ == module.BPETokenizer.load(path).__dict__
                assert json.loads(path.read_bytes()) == json.loads(right)  # only white space between two values
            except ValueError as error:
                assert str(path) in str(error)
        body = {k: v for k, v in json.loads(right).items() if k != "seal"}
        doubling = [[97, 97, 256]] + [[256 + k, 256 + k, 257 + k] for k in range(45)]
        for wrong in ({"merges": [[True, 98, 256]]}, {"merges": [[98, 97, 256]]}, {"merges": [[97, 98]]}, {"tokens": []},
                      {"merges": doubling}, {"specials": {"<|end|>": 97}}, {"specials": {"<|end|>": True}}, {"pieces": "x"},
                      {"tokens": body["tokens"][:-1] + ["漢"]}, {"tokens": 7}, {"merges": [[-1, 97, 256]]}):
            forged = body | wrong
            path.write_text(json.dumps(forged | {"seal": seal(forged)}))
            with as_shipped():
                raises(ValueError, "BPETokenizer: .*t.json is damaged", lambda: module.BPETokenizer.load(path))


# Characters


def a_character_an_id(module):
    tokenizer = module.CharTokenizer.train(["cab", "ba d<p"], ["<p>"])
    assert tokenizer.tokens == [" ", "<", "a", "b", "c", "d", "p", "<p>"] and tokenizer.specials == {"<p>": 7}
    assert tokenizer.decode(tokenizer.encode("bad cab")) == "bad cab"
    assert tokenizer.encode("a<p>", special=True) == [2, 7] and tokenizer.encode("a<p") == [2, 1, 6]
    raises(ValueError, r"text holds 'ß' \(U\+00DF\)", lambda: tokenizer.encode("aß"))
    raises(ValueError, "ids hold -1", lambda: tokenizer.decode([-1]))
    raises(ValueError, "characters holds one twice", lambda: module.CharTokenizer("aa"))
    with as_shipped():
        raises(TypeError, "characters is list, expected str", lambda: module.CharTokenizer(["ab", "c"]))


def any_characters_come_back(module):
    @examples(text=ANY, places=st.lists(st.integers(0, 40), max_size=4), special=st.booleans())
    def once(text, places, special):
        parts = [text[i:j] for i, j in pairwise([0, *sorted(min(i, len(text)) for i in places), len(text)])]
        with small_blocks():
            tokenizer = module.CharTokenizer.train(parts)
            assert tokenizer.tokens == sorted(set(text))
            tokenizer = module.CharTokenizer("".join(tokenizer.tokens), END)
            ids = tokenizer.encode(text, special)
            assert list(tokenizer.encode_stream(parts, special)) == ids and tokenizer.decode(ids) == text

    once()
    with small_blocks():
        assert module.CharTokenizer.train("x<|end|>y", END).tokens == ["x", "y", *END]


def characters_are_saved(module):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.json"
        module.CharTokenizer.train(SAMPLE, END).save(path)
        again = module.CharTokenizer.load(path)
        assert again.encode(SAMPLE + "<a b>", True) == module.CharTokenizer.train(SAMPLE, END).encode(SAMPLE + "<a b>", True)
        for wrong in (["ab", "c"], "aa", 7, "\ud800"):
            body = {"kind": "characters", "characters": wrong, "specials": []}
            path.write_text(json.dumps(body | {"seal": seal(body)}))
            with as_shipped():
                raises(ValueError, "CharTokenizer: .*t.json is damaged", lambda: module.CharTokenizer.load(path))


def half_a_pair_is_no_character(module):
    """JSON would join two halves, and the file would have a character less."""
    for make in (lambda: module.CharTokenizer.train("x\ud83d \ude00"), lambda: module.CharTokenizer("\ud83dx\ude00")):
        raises(ValueError, r"CharTokenizer: text holds the lone surrogate '\\ud83d'", make)


# WordPiece


def wordpiece_needs_its_package(module):
    """Without the package `tokenizers`: told what is missing. With it: lower case, special tokens only when asked."""
    with mock.patch.dict(sys.modules, tokenizers=None):  # as if it were not installed
        raises(ImportError, "package tokenizers is missing; pip install",
               lambda: module.WordPieceTokenizer.train("a", 50))
    tokenizer = module.WordPieceTokenizer.train(cuts(random.Random(0), SAMPLE, 40), 200)
    assert tokenizer.specials == {s: i for i, s in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"))}
    assert tokenizer.encode("[SEP] the", special=True)[0] == 3 not in tokenizer.encode("[SEP] the")
    assert tokenizer.decode(tokenizer.encode("The other OWNERS")) == "the other owners"


def vocabularies_have_the_size_asked_for(module):
    """At most; each time the same; with room for all characters, that which the package learns by itself."""
    r = random.Random(11)
    text = " ".join("".join(chr(0x4E00 + min(int(r.expovariate(0.02)), 599)) for _ in range(3)) for _ in range(2000))
    many = " ".join(f"{a}x{b}" for a, b in pairwise(chr(0x400 + i) for i in range(600)))
    for words in (text, many, SAMPLE):
        for size in (6, 7, 50, 605, 2000):
            assert len(module.WordPieceTokenizer.train(words, size)) <= size
    kept = module.WordPieceTokenizer.train("b b b b a a a ba xa x", 8)  # room for b, and for a and ##a
    assert list(sorted(kept.inner.get_vocab(), key=kept.inner.token_to_id)) == [*kept.SPECIALS, "a", "b", "##a"]
    assert kept.decode(kept.encode("b a x bx ba")) == "b a [UNK] [UNK] ba"
    for size in (300, 1300):
        assert len({tuple(sorted(module.WordPieceTokenizer.train(many, size).inner.get_vocab().items())) for _ in range(4)}) == 1
    plain = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    plain.normalizer, plain.pre_tokenizer = tokenizers.normalizers.BertNormalizer(), tokenizers.pre_tokenizers.BertPreTokenizer()
    trainer = tokenizers.trainers.WordPieceTrainer(vocab_size=20, special_tokens=list(kept.SPECIALS), show_progress=False)
    no_ties = "Abcd " * 50 + "abc, " * 30 + "xyz " * 7 + "xy abcdxy " * 2
    plain.train_from_iterator([no_ties], trainer)
    assert plain.get_vocab().keys() == module.WordPieceTokenizer.train(no_ties, 20).inner.get_vocab().keys()


@functools.cache
def words_of_bert():
    return WordPieceTokenizer.train(SAMPLE + " ab cd abcd 漢 12" * 50, 200).inner.to_str()


def wordpiece_streams_are_the_whole(module):
    """Cut anywhere, at white space that BERT deletes too; and words that never end are not held."""
    r, tokenizer = random.Random(12), module.WordPieceTokenizer(tokenizers.Tokenizer.from_str(words_of_bert()))
    for c in CONTROLS:
        text = f"ab{c}cd{c} {c}ab cd"
        with small_blocks():
            assert list(tokenizer.encode_stream([text])) == tokenizer.encode(text), repr(text)
    for text in (SAMPLE, *texts(r, 150), "ab\u0301\u0323 \u0301cd", "a" * 300 + " the", "the" + "é" * 999 + "漢the", "\x00" * 99 + "the"):
        for special in (False, True):
            with small_blocks(r.choice([1, 5, 40])):
                assert list(tokenizer.encode_stream(cuts(r, text, 5), special)) == tokenizer.encode(text, special), repr(text)
    seen = []
    with small_blocks(50), mock.patch.object(module.WordPieceTokenizer, "_too_long", autospec=True,
                                             side_effect=lambda self, text: seen.append(len(text)) or len(text) > 100):
        assert list(tokenizer.encode_stream("a" * 30_000)) == [1]
    assert max(seen) < 1000
    with small_blocks(50):
        assert list(tokenizer.encode_stream("漢" * 500)) == tokenizer.encode("漢" * 500) != [1]


def wordpiece_trains_the_same_from_parts(module):
    r, text = random.Random(13), SAMPLE + " ab\x0ccd" * 9
    with small_blocks():
        for n in (1, 20):
            assert module.WordPieceTokenizer.train(cuts(r, text, n), 150).inner.get_vocab() == module.WordPieceTokenizer.train(
                [text], 150).inner.get_vocab()
        assert "abcd" in module.WordPieceTokenizer.train(" ab\x0ccd" * 9, 200).inner.get_vocab()


def wordpiece_files_have_a_seal(module):
    with tempfile.TemporaryDirectory() as folder:
        path, other = Path(folder) / "t.json", Path(folder) / "tokenizer.json"
        tokenizer = module.WordPieceTokenizer.train(SAMPLE, 200)
        tokenizer.save(path)
        assert module.WordPieceTokenizer.load(path).encode(SAMPLE) == tokenizer.encode(SAMPLE)
        path.write_bytes(path.read_bytes().replace(b"the", b"teh", 1))
        raises(ValueError, "t.json is damaged .it has not the digest", lambda: module.WordPieceTokenizer.load(path))
        tokenizer.inner.save(str(other))
        assert module.WordPieceTokenizer.from_hf(other).encode(SAMPLE) == tokenizer.encode(SAMPLE)
        raises(ValueError, "is damaged", lambda: module.WordPieceTokenizer.load(other))
        right = json.loads(other.read_text())
        for says, wrong in [("its model is BPE, expected WordPiece", {"model": {"type": "BPE"}}), ("its normalizer is NFC", {"normalizer": {"type": "NFC"}}),
                            ("its pre_tokenizer is Whitespace", {"pre_tokenizer": {"type": "Whitespace"}}), ("", {"model": {"type": "WordPiece"}}), ("", {"model": None})]:
            other.write_text(json.dumps(right | wrong))
            raises(ValueError, f"tokenizer.json is damaged .*{says}", lambda: module.WordPieceTokenizer.from_hf(other))
        other.write_text("[" * 200_000)
        raises(ValueError, "tokenizer.json is damaged", lambda: module.WordPieceTokenizer.from_hf(other))


INVARIANTS = {
    "text.streams": [words_are_cut_before_white_space, nothing_is_looked_at_often, little_is_held, a_chunk_is_text, files_are_read_as_they_are],
    "text.pieces": [pieces_are_those_of_gpt2, numbers_of_smollm_stand_alone, decided_pieces_stay],
    "text.letters": [letters_are_those_of_gpt2],
    "text.merges": [merges_are_counted, counted_at_random, tokens_do_not_grow_for_ever, merges_are_replayed, long_words_take_linear_work, a_border_that_stays_stays],
    "text.base": [special_tokens_are_split_off, special_tokens_are_checked, ids_are_whole_numbers, text_is_unicode_text, files_are_old_or_new, damaged_files_are_refused],
    "text.bpe": [words_replay_the_merges, any_text_comes_back, any_text_at_all_comes_back, words_without_end_are_cut_where_nothing_changes, any_cut_trains_the_same,
                 special_tokens_only_when_asked, broken_ids_and_texts_are_refused, few_words_are_remembered, published_ids_are_kept, wrong_vocabularies_are_refused, no_damage_is_loaded],
    "text.char": [a_character_an_id, any_characters_come_back, characters_are_saved, half_a_pair_is_no_character],
    "text.wordpiece": [wordpiece_needs_its_package, vocabularies_have_the_size_asked_for, wordpiece_streams_are_the_whole, wordpiece_trains_the_same_from_parts, wordpiece_files_have_a_seal],
}

WRONG = [
    # Streams
    M("text.streams.whole_words", "invariant", "cut where chunks end", "border.start() if border else 0", "len(text)"),
    M("text.streams.BORDER", "invariant", "cut after white space, not before", r"(?<=\S)\s", r"(?<=\s)\S"),
    M("text.streams.BORDER", "invariant", "the first border, not the last", "(?r)", ""),
    M("text.streams.in_parts", "invariant", "every chunk looked at with all before it", "max(BLOCK, 2 * size)", "BLOCK"),
    M("text.streams.in_parts", "invariant", "a long chunk looked at as it comes", "range(0, len(chunk), BLOCK)", "[0]", "chunk[start : start + BLOCK]", "chunk"),
    M("text.streams.in_parts", "invariant", "anything is a chunk", "if not isinstance(chunk, str):", "if False:"),
    M("text.streams.in_parts", "invariant", "a single thing is no chunks, in Python's words", 'entries("in_parts", "chunks", chunks, "text")', "chunks"),
    M("text.streams.read_chunks", "invariant", "line ends changed", 'newline=""', "newline=None"),
    # Pieces
    M("text.pieces.GPT2", "invariant", "numbers of all kinds are letters", r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+", r" ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+"),
    M("text.pieces.GPT2", "invariant", "the underscore lost", r"[^\s\p{L}\p{N}]+", r"[^\s\w]+"),
    M("text.pieces.GPT2", "invariant", "Python's own white space", r"|\s+(?!\S)|\s+", r"|[\s\x1c-\x1f]+(?![^\s\x1c-\x1f])|[\s\x1c-\x1f]+"),
    M("text.pieces.GPT2", "invariant", "the last space left to the run before it", r"|\s+(?!\S)", ""),
    M("text.pieces.SMOLLM", "invariant", "digits together", r"\p{N}|'", r"\p{N}+|'"),
    M("text.pieces.SMOLLM", "invariant", "only the ten digits", r"\p{N}|'", r"[0-9]|'"),
    M("text.pieces.SMOLLM", "invariant", "a space left for the digit", r"(?![^\s\p{N}])", r"(?!\S)"),
    M("text.pieces.AHEAD", "invariant", "one character ahead", "AHEAD = 2", "AHEAD = 1"),
    M("text.pieces.decided", "invariant", "all pieces are decided", "while more and", "while False and"),
    M("text.letters.byte_letters", "invariant", "a letter for every byte from U+0100 on", "chr(b) if b in seen else next(free)", "next(free)"),
    # Merges
    M("text.merges.learn_merges", "invariant", "stale counts in the heap", "if totals[pair] != -n:", "if pair not in totals:"),
    M("text.merges.learn_merges", "invariant", "counts of the joined word not taken away", "                totals[old] -= times[w]\n", ""),
    M("text.merges.learn_merges", "invariant", "words counted once, however frequent", "list(words.values()", "[1] * len(words"),
    M("text.merges.learn_merges", "invariant", "tokens of any length", "if len(token) > LONGEST:", "if False:"),
    M("text.merges._greatest", "invariant", "ties to the shorter of two tokens", ", 1] for i in pair]", ", -256] for i in pair]"),
    M("text.merges._greatest", "invariant", "ties to the lowest bytes", "-byte for byte", "byte for byte"),
    M("text.merges._lowest", "invariant", "ties to the highest ids", "return -n, pair", "return -n, -pair[0], -pair[1], pair"),
    M("text.merges.apply_merges", "invariant", "the last merge first", "joins[pair][0] * n + i for", "-joins[pair][0] * n + i for"),
    M("text.merges.apply_merges", "invariant", "old entries done", "if found is None or found[0] != rank:", "if found is None:"),
    M("text.merges.apply_merges", "invariant", "the new pair on the left forgotten", "if h >= 0 and", "if False and"),
    M("text.merges.apply_merges", "invariant", "the list linked one way", "            before[k] = i\n", ""),
    M("text.merges.apply_merges", "invariant", "the rightmost place first", "* n + i for i, pair", "* n + n - 1 - i for i, pair", "rank, i = divmod(heapq.heappop(heap), n)",
      "rank, i = divmod(heapq.heappop(heap), n)\n        i = n - 1 - i", "right[0] * n + i)", "right[0] * n + n - 1 - i)", "left[0] * n + h)", "left[0] * n + n - 1 - h)"),
    M("text.merges.apply_merges", "invariant", "all pairs looked at for each merge", "    while heap:\n",
      "    while heap and [joins.get(pair) for pair in pairwise(ids)]:\n"),
    M("text.merges.border_stays", "invariant", "every border stays", "return all(", "return True or all("),
    M("text.merges.border_stays", "invariant", "only the end asked for", "range(len(data) - longest + 1, len(data) + 1)", "[len(data)]"),
    M("text.merges.border_stays", "invariant", "neighbours not looked at", "and joins_alone(last[end - size], token)", ""),
    M("text.merges.border_stays", "invariant", "no border stays", "len(data) - longest + 1", "0 - longest"),
    # All tokenizers
    M("text.base.Tokenizer._split", "invariant", "special tokens of a user's text obeyed", "if not (special and self.specials):", "if not self.specials:"),
    M("text.base.Tokenizer._split", "invariant", "special tokens cut at the end of a part", "- 1 if more else 0)", "- 1 if False else 0)"),
    M("text.base.Tokenizer._split", "invariant", "the beginning of a special token taken for a shorter one", "if match.start() >= known:", "if match.end() > len(text):"),
    M("text.base.Tokenizer._special_pattern", "invariant", "the shorter special token found first", "key=len, reverse=True", "key=len"),
    M("text.base.checked_specials", "invariant", "special tokens compared each with each", "s in seen", "specials.count(s) > 1"),
    M("text.base.checked_specials", "invariant", "empty special tokens", "or not s or", "or"),
    M("text.base.checked_specials", "invariant", "a string is a list of letters", "if isinstance(specials, str):", "if False:"),
    M("text.base.Tokenizer._check_ids", "invariant", "below zero counted from the end", "if not 0 <= i < size:", "if not i < size:"),
    M("text.base.Tokenizer._check_ids", "invariant", "digits of a string", "if isinstance(ids, str):", "if False:", '[whole(type(self).__name__, i) for i in ids]', "[int(i) for i in ids]"),
    M("text.base.Tokenizer._check_ids", "invariant", "a single id, in Python's words", 'entries(type(self).__name__, "ids", ids, "whole numbers")', "ids"),
    M("text.base.checked_specials", "invariant", "a single thing, in Python's words", 'entries(where, "specials", specials, "text")', "specials"),
    M("text.base.whole", "invariant", "cut to whole numbers", "operator.index(i)", "int(i)"),
    M("text.base.whole", "invariant", "True is one", "if isinstance(i, bool | np.bool_):", "if False:"),
    M("text.base.whole", "invariant", "only Python's own", "operator.index(i)", "i + 0 if type(i) is int else len(i.bad)"),
    M("text.base.unicode_only", "invariant", "half a pair passes", "if not text.isascii():", "if False:"),
    M("text.base.Tokenizer.save", "invariant", "files written in place", "write_whole(path, ", "Path(path).write_bytes("),
    M("text.base.Tokenizer.load", "invariant", "any kind will do", 'or body.get("kind") != cls.kind', ""),
    M("text.base.Tokenizer.load", "invariant", "the seal not looked at", 'if body.pop("seal", None) != seal(body):', 'if body.pop("seal", None) and False:'),
    M("text.base.Tokenizer.load", "invariant", "a file without a seal", 'body.pop("seal", None) != seal(body)', 'body.pop("seal", None) not in (None, seal(body))'),
    M("text.base.Tokenizer.load", "invariant", "brackets without end", ", RecursionError)", ")"),
    # Byte-pair encoding
    M("text.bpe.BPETokenizer.train", "invariant", "ties as in GPT-2's trainer, unasked", "learn_merges(words, vocab_size - len(new), min_count, ties)", 'learn_merges(words, vocab_size - len(new), min_count, "greatest")'),
    M("text.bpe.BPETokenizer.train", "invariant", "trained on special tokens", "new._split(text, True, more)", "new._split(text, False, more)"),
    M("text.bpe.BPETokenizer.train", "invariant", "text between special tokens not counted", "closed[::2]", "closed[:0]"),
    M("text.bpe.BPETokenizer.train", "invariant", "pieces cut where parts end", "decided(PATTERNS[new.pieces], last, more)", "decided(PATTERNS[new.pieces], last, False)"),
    M("text.bpe.BPETokenizer._encode_part", "invariant", "pieces cut where chunks end", "decided(PATTERNS[self.pieces], part, more)", "decided(PATTERNS[self.pieces], part, False)"),
    M("text.bpe.BPETokenizer._encode_part", "invariant", "a word without end is held", "if rest and len", "if False and len"),
    M("text.bpe.BPETokenizer._begin_piece", "invariant", "cut at any border of tokens", "if border_stays(", "if True or border_stays("),
    M("text.bpe.BPETokenizer._begin_piece", "invariant", "cut inside a character", " and rest[0] & 0xC0 != 0x80:", ":"),
    M("text.bpe.BPETokenizer._encode_piece", "invariant", "every word remembered", "            self._cache.clear()\n", "            pass\n"),
    M("text.bpe.BPETokenizer._encode_piece", "invariant", "long words remembered", "if len(piece) <= self.SHORT:", "if True:"),
    M("text.bpe.BPETokenizer._encode_piece", "invariant", "bytes without a token dropped", "if None in ids:", "ids = [i for i in ids if i is not None]\n        if False:"),
    M("text.bpe.BPETokenizer.__init__", "invariant", "merges not looked at", "not 0 <= min(a, b) <= max(a, b) < len(tokens)", "False"),
    M("text.bpe.BPETokenizer.__init__", "invariant", "tokens of any length", "if len(tokens[a]) + len(tokens[b]) > LONGEST:", "if k > 20:"),
    M("text.bpe.BPETokenizer.decode", "invariant", "broken bytes an error without being asked", 'errors: str = "replace"', 'errors: str = "strict"'),
    M("text.bpe.BPETokenizer.__init__", "invariant", "what is no pair, in Python's words", 'streams.pairs_of("BPETokenizer", "merges", merges, "ids")', "merges"),
    M("text.bpe.BPETokenizer._publish", "invariant", "what is no pair of tokens, in Python's words", 'streams.pairs_of(where, "merges", merges, "tokens")', "merges"),
    M("text.bpe.BPETokenizer._publish", "invariant", "a vocabulary of any kind", "if not isinstance(vocab, dict):", "if False:"),
    M("text.bpe.BPETokenizer._publish", "invariant", "ids given anew", "vocabulary[i] = token", "vocabulary[len(vocabulary)] = token"),
    M("text.bpe.BPETokenizer._publish", "invariant", "an id may be there twice", "or i in vocabulary:", "or False:"),
    M("text.bpe.BPETokenizer._publish", "invariant", "tokens that come later joined", " and {left, right} <= made", ""),
    M("text.bpe.BPETokenizer._publish", "invariant", "special tokens that text becomes", "if twice := ", "if False and "),
    M("text.bpe.BPETokenizer._body", "invariant", "ids not saved", "[[a, b, new] for (a, b), (_, new)", "[[a, b, 256 + new] for (a, b), (new, _)"),
    M("text.bpe.BPETokenizer._from_body", "invariant", "merges of a file not looked at", "if min(a, b, new) < 0 or tokens[new] != tokens[a] + tokens[b]:", "if False:"),
    M("text.bpe.BPETokenizer._set", "invariant", "pairs twice", "if len(self._joins) != len(merges):", "if False:"),
    # Characters
    M("text.char.CharTokenizer._encode_part", "invariant", "unknown ones dropped", "[self.ids[c] for c in part]", "[self.ids[c] for c in part if c in self.ids]"),
    M("text.char.CharTokenizer.__init__", "invariant", "a list of characters", "if not isinstance(characters, str):", "if False:"),
    M("text.char.CharTokenizer.__init__", "invariant", "half a pair is a character", 'unicode_only("CharTokenizer", characters)', "characters"),
    M("text.char.CharTokenizer.__init__", "invariant", "a character twice", "if len(set(", "if False and len(set("),
    M("text.char.CharTokenizer.train", "invariant", "special tokens are characters", "seen.update(*parts[::2])", "seen.update(*parts)"),
    M("text.char.CharTokenizer.train", "invariant", "in the order of the text", '"".join(sorted(seen))', '"".join(sorted(seen, key=lambda c: -ord(c)))'),
    # WordPiece
    M("text.wordpiece._tokenizers", "invariant", "the missing package told by Python alone",
      'raise ImportError("WordPieceTokenizer: the package tokenizers is missing; pip install tokenizers") from error', "raise"),
    M("text.wordpiece.WordPieceTokenizer.__init__", "invariant", "special tokens of a user's text obeyed", "inner.encode_special_tokens = True", "inner.encode_special_tokens = False"),
    M("text.wordpiece.WordPieceTokenizer.train", "invariant", "capitals kept", "lowercase: bool = True", "lowercase: bool = False"),
    M("text.wordpiece._empty", "invariant", "marks of inner pieces left in the text", 'prefix="##")', 'prefix="@@")'),
    M("text.wordpiece.WordPieceTokenizer.train", "invariant", "characters without limit", "words = _spelled(words, vocab_size - len(cls.SPECIALS))", "pass"),
    M("text.wordpiece.WordPieceTokenizer.train", "invariant", "other ids each time", "[*cls.SPECIALS, *letters]", "[*cls.SPECIALS]"),
    M("text.wordpiece._spelled", "invariant", "room for one form of each character", "room -= 2 if c in inside else 1", "room -= 1"),
    M("text.wordpiece._spelled", "invariant", "the rarest characters first", "(-counts[c], c)", "(counts[c], c)"),
    M("text.wordpiece.BORDER", "invariant", "cut at white space that BERT deletes", r"[\t\n\r\p{Z}", r"[\s\p{Z}"),
    M("text.wordpiece.BORDER", "invariant", "cut before a mark of an accent", r"[\t\n\r\p{Z}", r"[\t\n\r\p{Z}a-e"),
    M("text.wordpiece.WordPieceTokenizer._up_to_border", "invariant", "cut anywhere", "border.start() if border else 0", "len(text)"),
    M("text.wordpiece.WordPieceTokenizer._encode_part", "invariant", "a word without end is held", "if end == 0 and", "if False and"),
    M("text.wordpiece.WordPieceTokenizer._too_long", "invariant", "short words cut", "len(words) == 1 and len(words[0]) > self.inner.model.max_input_chars_per_word", "len(words) == 1"),
    M("text.wordpiece.WordPieceTokenizer._too_long", "invariant", "several words taken for one", "len(words) == 1 and ", ""),
    M("text.wordpiece.WordPieceTokenizer._from_body", "invariant", "any model will do", "if (kind := parts[part][\"type\"]) != expected:", "if False:"),
    M("text.wordpiece.WordPieceTokenizer.from_hf", "invariant", "brackets without end", ", RecursionError)", ")"),
]
