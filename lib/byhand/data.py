"""The data sets of book/data, read from disk; nothing is downloaded. Sources and licences: book/data/LICENSES.md.

And random windows of a text of one's own; `number_words` is here by its old address too.
"""

import csv
import functools
import gzip
import hashlib
import io
import lzma
import os
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int64, Integer
from numpy import ndarray as Array

from byhand.check import Size, checked
from byhand.number_words import number_words  # noqa: F401  (its address before it had a module)
from byhand.tree import unflatten


def data_dir() -> Path:
    """The folder that BYHAND_DATA names; else book/data of the checkout that byhand was installed from, or what its
    wheel brought along."""
    named = os.environ.get("BYHAND_DATA")
    folder = Path(named or Path(__file__).parents[2] / "book" / "data")
    if not named and not folder.is_dir():
        folder = _brought_along() or folder
    if not folder.is_dir():
        raise FileNotFoundError(
            f"data_dir: no folder {folder}; install byhand with pip, from a checkout (`pip install -r "
            "requirements.txt`) or from its wheel, or let BYHAND_DATA name a copy of book/data")
    return folder


def _brought_along() -> Path | None:
    """Where pip put the data sets of the wheel, if byhand is installed from one."""
    try:
        listed = files("byhand") or ()
    except PackageNotFoundError:
        return None
    return next((Path(file.locate()).resolve().parent for file in listed
                 if file.as_posix().endswith("share/byhand/data/LICENSES.md")), None)


SHA256 = {  # of each file, line ends as Unix has them
    "glove_subset.npz": "2befa9189367248d1ea826b82d0b699c276c8a8dc0bc65070d8c262c914589c8",
    "senses.tsv": "f6315e1a48b98592d0548d83a5bfa3af088d65c61f9a713c61498e331c5713a7",
    "prose_pride_and_prejudice.txt.xz": "75ab4e1eb12e3648bd63293f7e1d14605f2f525e09bbe9c559669c05d3822df2",
    "bert_small.npz": "3f459a30978211ccbc5ca3d3a14ac4ca89061d59483aa9e55d5253d2d11ea288",
    "minilm_authors.npz": "2c3f555c275c03ae7c82d38161acf8d1cd4b27cb0d93a4b1855e622bc26e54f3",
    "authors.tsv.gz": "c6850b05cf2a6bbc37d5adacf1e2b85ccf159e9a4af778f2e43b3ae305577814",
    "en_de_ui_short.tsv.gz": "5ebf1bc3cb53f2675e9d24be0e0bddc9b9051e7619c480e5199b11c8ae72787f",
    "en_es_short.tsv.gz": "75230daf74a517c46f48693df1685fdec92e70ce404c6d69b5c5b1d6276d9903",
    "published_record.npz": "f249f90985a5e2c35bb84141850893b0cb03c8aabfb6a4ef44ea39f8b29f7af3",
    "translation_de/config.json": "c23add5b4928f145276742c913f6311978ef83c305e8e499088a108585cf4129",
    "translation_de/log.json": "1a2b18343ef46661eb21cd9d82ab7d89f28d830840c8207efa7aa0e9757cd7fc",
    "translation_de/vocabulary.json": "869542f63fa6dc3987f399a2c54a038228d020f0626dd8934a1809313e01ef5a",
    "translation_de/weights.safetensors": "15e9fdffe69f8d3d70fda4057eb350e570915c608b83f115776615350ded6495",
    "translation_es/config.json": "c23add5b4928f145276742c913f6311978ef83c305e8e499088a108585cf4129",
    "translation_es/log.json": "bf75082dfb59d02fa314c8bbbd67933f7136fa79fe1894f036e960c3581c9fd0",
    "translation_es/vocabulary.json": "712fa39f0ebc5296af5a10877c13424f5575fee127c1cd9cb2f0187496a5093f",
    "translation_es/weights.safetensors": "cfdf957338f09691e836f41c9ed7c5aa4df7d68fcb53355b34a6ee4b85516734",
}
AUTHORS = ("austen", "melville", "bible", "president")  # the classes 0 to 3 of `authors`
PAIRS = {"de": "en_de_ui_short.tsv.gz", "es": "en_es_short.tsv.gz"}


def checked_path(name: str) -> Path:
    """Where a file of SHA256 is; a copy that differs is refused."""
    _read(name)
    return data_dir() / name


def _read(name: str) -> bytes:
    """The bytes of a data set, as they were published; a copy that differs is refused."""
    path = data_dir() / name
    data = path.read_bytes()
    if name.endswith((".tsv", ".json")):
        data = data.replace(b"\r\n", b"\n")  # git may have written Windows' own
    if hashlib.sha256(data).hexdigest() != SHA256[name]:
        raise ValueError(f"data: {path} is damaged or another version: its SHA-256 is not {SHA256[name][:12]}…; "
                         "restore it with git or install byhand again, or let BYHAND_DATA name a whole copy of "
                         "book/data")
    return data


def _arrays(name: str) -> dict[str, Array]:
    """The arrays of an .npz file, by name."""
    with np.load(io.BytesIO(_read(name)), allow_pickle=False) as file:
        return {key: file[key] for key in file.files}


class WordVectors(NamedTuple):
    words: tuple[str, ...]  # in order of frequency
    vectors: Array  # (len(words), 50), float32, read-only

    def rows(self, *words: str) -> Float[Array, "n 50"]:
        """The vectors of these words, one row each. Raises KeyError for a word that is not in the vocabulary."""
        if others := [word for word in words if not isinstance(word, str)]:
            raise TypeError(f"WordVectors: words hold {others[0]!r:.40}, expected text, one argument a word")
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
    found = _arrays("glove_subset.npz")
    words = tuple(found["words"].tobytes().decode().split("\n"))
    vectors = found["vectors"].astype(np.float32)
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
    lines = _read("senses.tsv").decode().splitlines()
    rows = (line.split("\t") for line in lines[1:])
    return tuple(Sense(word, sense, other, tuple(sentence.split())) for word, sense, other, sentence in rows)


@functools.cache
def novel() -> str:
    """Jane Austen, Pride and Prejudice (1813): 680,738 characters, all of them ASCII, one paragraph a line."""
    return lzma.decompress(_read("prose_pride_and_prejudice.txt.xz")).decode()


@functools.cache
def published_record() -> dict[str, Array]:
    """What MiniLM and SmolLM2 gave in the cells of chapter 17, by the name and the inputs of what computed it."""
    found = _arrays("published_record.npz")
    for x in found.values():
        x.flags.writeable = False
    return found


class Labelled(NamedTuple):
    texts: tuple[str, ...]
    labels: Array  # (len(texts),), int64, read-only: the places of the writers in AUTHORS


@functools.cache
def authors() -> Labelled:
    """12,000 sentences, 3,000 by each of four writers: Austen, Melville, an English Bible, presidents."""
    rows = _table("authors.tsv.gz")
    labels = np.array([AUTHORS.index(name) for name, _ in rows])
    labels.flags.writeable = False
    return Labelled(tuple(text for _, text in rows), labels)


class SmallBert(NamedTuple):
    words: tuple[str, ...]  # the vocabulary: [PAD] [UNK] [CLS] [SEP] [MASK], then words
    params: dict  # {encoder, mlm, pool, nsp}, float32
    log: Array  # a row for each evaluation: step, training loss, loss and accuracy on hidden words, accuracy on pairs


def small_bert() -> SmallBert:
    """The small BERT of chapter 14 (d 64, 4 heads, 2 layers, 40 places), pre-trained on the novel and on `authors`."""
    arrays = _arrays("bert_small.npz")
    words, log = arrays.pop("words").tobytes().decode().splitlines(), arrays.pop("log")
    params = unflatten({path: x.astype(np.float32) for path, x in arrays.items()})
    return SmallBert(tuple(words), params, log)


class Features(NamedTuple):
    places: Array  # (4000,), of the sentences in `authors`: 1,000 for a test, then 3,000
    vectors: Array  # (4000, 384), float32, rows of length 1


def minilm_authors() -> Features:
    """What the published MiniLM makes of 4,000 sentences of `authors` (`byhand.pretrained.sentence_embeddings`)."""
    found = _arrays("minilm_authors.npz")
    V = found["features"].astype(np.float32)
    return Features(found["places"].astype(np.int64), V / np.linalg.norm(V, axis=1, keepdims=True))


class Pair(NamedTuple):
    source: str  # the program, or the verse, that it is from
    english: str
    other: str  # the same in the other language


@checked
@functools.cache
def pairs(language: Literal["de", "es"]) -> tuple[Pair, ...]:
    """Real sentence pairs of 2 to 12 words: 16,670 English–German of the faces of programs, 12,367 English–Spanish
    of clauses from two Bibles (after the World English Bible and Reina-Valera 1909)."""
    return tuple(Pair(*row) for row in _table(PAIRS[language]))


class Digits(NamedTuple):
    images: Array  # (1797, 8, 8), float32 from 0 to 1, read-only
    labels: Array  # (1797,), int64, read-only


@functools.cache
def digits() -> Digits:
    """Hand-written digits, 8 × 8, sheet after sheet (Alpaydin and Kaynak 1998), as scikit-learn brings them along."""
    from sklearn.datasets import load_digits

    found = load_digits()
    images, labels = (found.images / 16).astype(np.float32), found.target.astype(np.int64)
    images.flags.writeable = labels.flags.writeable = False
    return Digits(images, labels)


def _table(name: str) -> list[list[str]]:
    """The rows of a compressed table."""
    lines = gzip.decompress(_read(name)).decode().splitlines()
    return list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


@checked
def random_windows(
    ids: Integer[Array, " t"], n: Size, batch: Size, rng: np.random.Generator
) -> tuple[Int64[Array, "batch n"], Int64[Array, "batch n"]]:
    """`batch` windows of n tokens at random places of a text, and as targets the same, one token later.

    Every start from 0 to t − n − 1 is equally likely, so that the last target may be the last token. The text may be
    of any integer type and on disk (np.memmap, np.load with mmap_mode): only the windows are read.
    """
    if len(ids) <= n:
        raise ValueError(f"random_windows: ids has {len(ids)} tokens, expected more than n = {n}")
    starts = rng.integers(len(ids) - n, size=batch)
    rows = np.asarray(ids[starts[:, None] + np.arange(n + 1)]).astype(np.int64)
    return rows[:, :-1], rows[:, 1:].copy()  # each with memory of its own
