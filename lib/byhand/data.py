"""The data sets of book/data, read from disk; nothing is downloaded. Sources and licences: book/data/LICENSES.md."""

import functools
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array


def data_dir() -> Path:
    """book/data of the checkout that byhand was installed from, or the folder that BYHAND_DATA names."""
    folder = Path(os.environ.get("BYHAND_DATA") or Path(__file__).parents[2] / "book" / "data")
    if not folder.is_dir():
        raise FileNotFoundError(
            f"data_dir: no folder {folder}; install byhand from a checkout with `pip install -r requirements.txt`, "
            "or let BYHAND_DATA name a copy of book/data")
    return folder


class WordVectors(NamedTuple):
    words: tuple[str, ...]  # in order of frequency
    vectors: Array  # (len(words), 50), float32, read-only

    def rows(self, *words: str) -> Float[Array, "n 50"]:
        """The vectors of these words, one row each. Raises KeyError for a word that is not in the vocabulary."""
        places = _places(self.words)
        unknown = [word for word in words if word not in places]
        if unknown:
            raise KeyError(f"WordVectors: {', '.join(unknown)} not among the {len(self.words)} words (lower case only)")
        return self.vectors[[places[word] for word in words]]


@functools.cache
def _places(words: tuple[str, ...]) -> dict[str, int]:
    return {word: i for i, word in enumerate(words)}


@functools.cache
def glove() -> WordVectors:
    """GloVe 6B, 50 wide: the 10,000 most frequent words and 161 rarer ones (Pennington et al. 2014)."""
    with np.load(data_dir() / "glove_subset.npz", allow_pickle=False) as file:
        words = tuple(file["words"].tobytes().decode().split("\n"))
        vectors = file["vectors"].astype(np.float32)
    vectors.flags.writeable = False
    return WordVectors(words, vectors)


class Sense(NamedTuple):
    word: str  # a word with two senses
    sense: str  # another word, which names the sense it has in this sentence
    other: str  # and one which names the other sense
    sentence: tuple[str, ...]


@functools.cache
def senses() -> tuple[Sense, ...]:
    """Sixty short sentences around five words of two senses, six for each sense; every word has a GloVe vector."""
    lines = (data_dir() / "senses.tsv").read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines[1:])
    return tuple(Sense(word, sense, other, tuple(sentence.split())) for word, sense, other, sentence in rows)
