"""Chapter 13: two small translators that tools/train_translation.py trained for this course, and their split of data.

English to German and English to Spanish; weights, vocabulary and the log of the run are files of book/data.
"""

import functools
import json
import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool
from numpy import ndarray as Array

from byhand import data
from byhand.check import checked
from byhand.config import ModelConfig
from byhand.io.safetensors import load_safetensors
from byhand.text import BPETokenizer
from byhand.tree import map_tree

SPECIALS = ("[PAD]", "[BOS]", "[EOS]")
HELD_OUT, DEVELOPMENT = 1200, 500  # pairs drawn for the test, and for choosing when to stop
WORDS = re.compile(r"\w+|[^\w\s]")


@checked
def words(text: str) -> list[str]:
    """Words and marks, as BLEU counts them: "Don't stop!" is Don ' t stop !"""
    return WORDS.findall(text)


def plain(text: str) -> tuple[str, ...]:
    """Words alone, in lower case: what two sentences must share to be near each other."""
    return tuple(re.findall(r"\w+", text.lower()))


@checked
def within_one_word(sentences: Sequence[str], others: Iterable[str]) -> Bool[Array, " n"]:
    """Which sentences one of `others` becomes when one word is replaced, put in or taken out, or none is."""
    sentences, others = _texts("sentences", sentences), _texts("others", others)
    known = {plain(text) for text in others}
    short = {new for row in known for new in shorter(row)}
    gaps = {new for row in known for new in gapped(row)}

    def near(row):
        return (row in known or row in short or not known.isdisjoint(shorter(row))  # equal, one more, one less
                or not gaps.isdisjoint(gapped(row)))  # one replaced

    return np.array([near(plain(text)) for text in sentences], bool)


def _texts(name: str, texts: Iterable[str]) -> list[str]:
    """Several sentences; one alone would be read letter by letter."""
    if isinstance(texts, str):
        raise TypeError(f"within_one_word: {name} is the string {texts!r:.40}, expected several of them")
    texts = [*texts]
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"within_one_word: {name} holds {text!r:.40}, expected text")
    return texts


def shorter(row: tuple) -> list[tuple]:
    """All that is left when one word goes."""
    return [row[:i] + row[i + 1:] for i in range(len(row))]


def gapped(row: tuple) -> list[tuple]:
    """The same with a gap in the place of one word."""
    return [(*row[:i], None, *row[i + 1:]) for i in range(len(row))]


class Split(NamedTuple):
    train: tuple[data.Pair, ...]
    dev: tuple[data.Pair, ...]  # none within one word of a training pair, in either language
    test: tuple[data.Pair, ...]  # drawn at random
    near: Array  # (len(test),), bool: which of them is within one word of a training pair, in either language


@checked
@functools.cache
def split_pairs(language: Literal["de", "es"]) -> Split:
    """The pairs of `data.pairs`, cut in three by one draw, and which of the test a training pair gives away."""
    rows = data.pairs(language)
    order = np.random.default_rng(13).permutation(len(rows))
    test, dev, train = (tuple(rows[i] for i in part) for part in np.split(order, [HELD_OUT, HELD_OUT + DEVELOPMENT]))

    def near(part):
        sides = [([row[k] for row in part], [row[k] for row in train]) for k in (1, 2)]
        return np.logical_or(*(within_one_word(*side) for side in sides))

    kept = tuple(row for row, close in zip(dev, near(dev), strict=True) if not close)
    close = near(test)
    close.flags.writeable = False
    return Split(train, kept, test, close)


class Translator(NamedTuple):
    params: dict  # float32, of the encoder_decoder of both halves
    config: ModelConfig
    tokenizer: BPETokenizer  # one for both languages, with SPECIALS
    log: dict  # of the run that made it: command, seed, versions, losses, scores


@checked
def load_translator(language: Literal["de", "es"]) -> Translator:
    """The translator from English that the course brings along; a damaged file is refused."""
    paths = {name: data.checked_path(f"translation_{language}/{name}")
             for name in ("weights.safetensors", "config.json", "vocabulary.json", "log.json")}
    params = map_tree(lambda x: x.astype(np.float32), load_safetensors(paths["weights.safetensors"]))
    config, log = (json.loads(paths[name].read_text(encoding="utf-8")) for name in ("config.json", "log.json"))
    return Translator(params, ModelConfig(**config), BPETokenizer.load(paths["vocabulary.json"]), log)
