"""The data sets are what the chapters say they are, and come from the disk alone."""

import tempfile
import tracemalloc
from importlib.metadata import PackageNotFoundError, PackagePath, PathDistribution
from pathlib import Path

import numpy as np
import pytest
from byhand import data
from byhand.config import ModelConfig
from byhand.init import init_pretrain
from byhand.tree import flatten
from mutants import build
from proofs import as_shipped

HERE = data.data_dir()


def nearest(vectors, word, k=5):
    """The k words with the greatest cosine."""
    unit = vectors.vectors / np.linalg.norm(vectors.vectors, axis=1, keepdims=True)
    order = np.argsort(-(unit @ unit[vectors.words.index(word)]))
    return [vectors.words[i] for i in order[1:k + 1]]


def glove_is_whole(module):
    words, vectors = module.glove()
    assert vectors.shape == (len(words), 50) and len(words) == 10_161 == len(set(words))
    assert vectors.dtype == np.float32 and np.isfinite(vectors).all() and vectors.any(axis=1).all()
    assert words[:3] == ("the", ",", ".") and all(word and word == word.lower() for word in words)


def glove_cannot_be_changed(module):
    with pytest.raises(ValueError, match="read-only"):
        module.glove().vectors[0] = 0
    assert module.glove() is module.glove()


def words_and_vectors_belong_together(module):
    """A shift of one row would leave all shapes right, and all neighbours wrong."""
    glove = module.glove()
    assert "queen" in nearest(glove, "king") and "france" in nearest(glove, "paris", 10)
    assert {"three", "five"} <= set(nearest(glove, "four"))


def rows_come_in_the_order_asked(module):
    glove = module.glove()
    rows = glove.rows("river", "bank", "river")
    assert rows.shape == (3, 50) and np.array_equal(rows[0], rows[2])
    assert np.array_equal(rows[1], glove.vectors[glove.words.index("bank")])
    rows[0] = 0  # a copy
    assert glove.rows("river").any() and glove.rows().shape == (0, 50)


def an_unknown_word_is_named(module):
    with pytest.raises(KeyError, match="WordVectors: Bank, qqq not among the 10161 words"):
        module.glove().rows("river", "Bank", "qqq")


def sixty_sentences(module):
    """Five words of two senses, six sentences for each; every word of every sentence has a vector."""
    senses, known = module.senses(), set(module.glove().words)
    assert len(senses) == 60 and len({s.sentence for s in senses}) == 60
    pairs = {}
    for s in senses:
        pairs.setdefault((s.word, s.sense), []).append(s)
        assert s.word in s.sentence and s.sense != s.other
        assert {*s.sentence, s.word, s.sense, s.other} <= known
    assert len(pairs) == 10 and all(len(group) == 6 for group in pairs.values())
    assert all((word, group[0].other) in pairs for (word, _), group in pairs.items())


def the_novel_is_whole(module):
    text = module.novel()
    assert len(text) == 680_738 and text.isascii() and len(set(text)) == 68 and module.novel() is text
    assert text.startswith("It is a truth universally acknowledged") and text.endswith("\n")
    assert text.count("\n") == 2_057 and "\n\n" not in text and "Chapter" not in text


def the_sentences_have_writers(module):
    """Each class as large, each writer as one knows him, and no sentence twice under two names."""
    texts, labels = module.authors()
    assert len(texts) == len(labels) == 12_000 and np.bincount(labels).tolist() == [3000] * 4
    known = {"Elizabeth": "austen", "Ahab": "melville", "Jerusalem": "bible", "Congress": "president"}
    for word, name in known.items():
        said = labels[[word in text for text in texts]]
        assert len(said) > 20 and (said == module.AUTHORS.index(name)).mean() > 0.9
    writers = {}
    for text, label in zip(texts, labels.tolist(), strict=True):
        assert writers.setdefault(text, label) == label and text == text.strip() != ""
    with pytest.raises(ValueError, match="read-only"):
        labels[0] = 1


def the_pairs_are_pairs(module):
    """Few words a side, each language on its side, sources as listed."""
    for language, count, english, other in (("de", 16_670, "the", "die"), ("es", 12_367, "the", "de")):
        rows = module.pairs(language)
        assert len(rows) == count and module.pairs(language) is rows
        for side, word in ((1, english), (2, other)):
            assert all(1 <= len(row[side].split()) <= 13 for row in rows)
            has = [[word in row[i].lower().split() for row in rows] for i in (1, 2)]
            assert sum(has[side - 1]) > 10 * sum(has[2 - side])
    assert len({row.source for row in module.pairs("de")}) == 9 and module.pairs("es")[0].source == "Genesis 1:1"
    with pytest.raises(ValueError, match="pairs: language is 'fr', expected one of de, es"), as_shipped():
        module.pairs("fr")


def the_digits_are_digits(module):
    """Between 0 and 1, ten classes, and the nearest mean image names nine of ten."""
    images, labels = module.digits()
    assert images.shape == (1797, 8, 8) and images.dtype == np.float32 and labels.dtype == np.int64
    assert (images.min(), images.max()) == (0, 1) and np.bincount(labels).min() > 170 and labels.max() == 9
    flat = images.reshape(1797, 64)
    means = np.stack([flat[labels == k].mean(axis=0) for k in range(10)])
    assert (((flat[:, None] - means) ** 2).sum(axis=2).argmin(axis=1) == labels).mean() > 0.85
    with pytest.raises(ValueError, match="read-only"):
        images[0] = 0


SAID = {0: ("zero", "null"), 1: ("one", "eins"), 12: ("twelve", "zwölf"), 21: ("twenty-one", "einundzwanzig"),
        40: ("forty", "vierzig"), 100: ("one hundred", "einhundert"), 101: ("one hundred and one", "einhunderteins"),
        342: ("three hundred and forty-two", "dreihundertzweiundvierzig"), 1000: ("one thousand", "eintausend"),
        1001: ("one thousand and one", "eintausendeins"), 1200: ("one thousand two hundred", "eintausendzweihundert"),
        21_000: ("twenty-one thousand", "einundzwanzigtausend"),
        101_016: ("one hundred and one thousand and sixteen", "einhunderteintausendsechzehn"),
        701_101: ("seven hundred and one thousand one hundred and one", "siebenhunderteintausendeinhunderteins"),
        999_999: ("nine hundred and ninety-nine thousand nine hundred and ninety-nine",
                  "neunhundertneunundneunzigtausendneunhundertneunundneunzig")}


def numbers_are_said_right(module):
    for n, (english, german) in SAID.items():
        assert (module.number_words(n), module.number_words(n, "de")) == (english, german)
    for language in ("en", "de"):
        assert len({module.number_words(n, language) for n in range(0, 1_000_000, 97)}) == len(range(0, 1_000_000, 97))


def other_numbers_are_refused(module):
    for arguments, error, says in (((-1,), ValueError, "number_words: n is -1, expected at least 0"),
                                   ((1_000_000,), ValueError, "number_words: n is 1000000, expected at most 999999"),
                                   ((1.5,), TypeError, "number_words: n is float, expected a whole number"),
                                   ((1, "fr"), ValueError, "number_words: language is 'fr', expected 'en' or 'de'")):
        with pytest.raises(error, match=says), as_shipped():
            module.number_words(*arguments)


def fresh(load):
    """Without what it remembers."""
    return getattr(load, "__wrapped__", load)


def damaged_copies_are_refused(module):
    """Each loader, of a copy with one bit changed or the end cut off: the file is named, and the other sets load."""
    r = np.random.default_rng(0)
    sets = {"glove": "glove_subset.npz", "senses": "senses.tsv", "novel": "prose_pride_and_prejudice.txt.xz",
            "authors": "authors.tsv.gz", "published_record": "published_record.npz", "small_bert": "bert_small.npz",
            "minilm_authors": "minilm_authors.npz"}
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("BYHAND_DATA", folder)
        for load, name in sets.items():
            right, path = (HERE / name).read_bytes(), Path(folder) / name
            for place in r.integers(len(right), size=6).tolist():
                flipped = right[:place] + bytes([right[place] ^ 1 << int(r.integers(8))]) + right[place + 1:]
                for damaged in (flipped, right[:place], b""):
                    path.write_bytes(damaged)
                    with pytest.raises(ValueError, match=f"data: .*{name} is damaged or another version"):
                        fresh(getattr(module, load))()
            path.write_bytes(right.replace(b"\n", b"\r\n") if name.endswith(".tsv") else right)
            fresh(getattr(module, load))()  # with the line ends of Windows, where it is text


def the_small_bert_fits_its_config(module):
    """The tree of `init_pretrain`, the special words first, no word twice, and a log that went down."""
    bert = module.small_bert()
    config = ModelConfig("encoder", vocab=4000, d=64, heads=4, layers=2, n_max=40, position="rope", segments=2)
    shapes = {path: x.shape for path, x in flatten(init_pretrain(np.random.default_rng(0), config)).items()}
    assert {path: x.shape for path, x in flatten(bert.params).items()} == shapes
    assert all(x.dtype == np.float32 and np.isfinite(x).all() for x in flatten(bert.params).values())
    assert bert.words[:5] == ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]") and len(set(bert.words)) == 4000
    assert (np.diff(bert.log[:, 0]) > 0).all() and bert.log[-1, 2] < bert.log[0, 2] - 0.3


def the_features_are_of_these_sentences(module):
    """A row of length one for each of 4,000 places, none twice; a classifier on them knows the writers."""
    places, V = module.minilm_authors()
    assert V.shape == (4000, 384) and len(set(places.tolist())) == 4000 and 0 <= places.min() and places.max() < 12_000
    assert abs(np.linalg.norm(V, axis=1) - 1).max() < 1e-5
    y = module.authors().labels[places]
    means = np.stack([V[1000:][y[1000:] == k].mean(axis=0) for k in range(4)])
    assert ((V[:1000] @ means.T).argmax(axis=1) == y[:1000]).mean() > 0.7


def windows_are_of_the_text(module):
    """Each row is a place of the text, the targets are one token later, and both are int64 whatever the text is."""
    r = np.random.default_rng(1)
    for kind in (np.uint8, np.uint16, np.int32, np.int64):
        text = r.permutation(200).astype(kind)
        inputs, targets = module.random_windows(text, 7, 50, r)
        assert inputs.shape == targets.shape == (50, 7) and inputs.dtype == targets.dtype == np.int64
        for row, after in zip(inputs, targets, strict=True):
            start = text.tolist().index(row[0])
            assert row.tolist() == text[start:start + 7].tolist()
            assert after.tolist() == text[start + 1:start + 8].tolist()
    before = r.bit_generator.state
    assert np.array_equal(module.random_windows(text, 7, 50, np.random.default_rng(3))[0],
                          module.random_windows(text, 7, 50, np.random.default_rng(3))[0])
    assert r.bit_generator.state == before  # the caller's source of randomness alone


def windows_start_everywhere(module):
    """At the first token and at the last place, where the last target is the last token; all equally often."""
    text = np.arange(12, dtype=np.uint16)
    inputs, targets = module.random_windows(text, 4, 8000, np.random.default_rng(2))
    starts = np.bincount(inputs[:, 0], minlength=12)
    assert (starts[8:] == 0).all() and starts[:8].min() > 850 and starts[:8].max() < 1150 and targets.max() == 11
    inputs, targets = module.random_windows(text[:5], 4, 9, np.random.default_rng(2))
    assert (inputs == [0, 1, 2, 3]).all() and (targets == [1, 2, 3, 4]).all()


def windows_of_a_file_are_read_alone(module):
    """A text on the disk stays there: of 40 MB hardly anything is in memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text.bin"
        np.arange(20_000_000, dtype=np.uint16).tofile(path)
        text = np.memmap(path, np.uint16, mode="r")
        tracemalloc.start()
        inputs, targets = module.random_windows(text, 8, 64, np.random.default_rng(4))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert ((inputs + 1) % 65536 == targets).all() and type(inputs) is np.ndarray and peak < 200_000


def wrong_windows_are_refused(module):
    rng, text = np.random.default_rng(0), np.arange(9)
    for arguments, error, says in [((text, 9, 2, rng), ValueError, "ids has 9 tokens, expected more than n = 9"),
                                   ((text * 1.0, 3, 2, rng), TypeError, "ids has dtype float64, expected an array of"),
                                   ((text[None], 3, 2, rng), ValueError, r"ids has shape \(1, 9\), expected \(t,\)"),
                                   (([1, 2, 3], 2, 2, rng), TypeError, "ids is list, expected an array"),
                                   ((text > 3, 3, 2, rng), TypeError, "ids has dtype bool, expected an array of"),
                                   ((text, 0, 2, rng), ValueError, "n is 0"),
                                   ((text, 2, 0, rng), ValueError, "batch is 0"),
                                   ((text, 2.0, 2, rng), TypeError, "n is float")]:
        with pytest.raises(error, match=f"random_windows: {says}"), as_shipped():
            module.random_windows(*arguments)


def the_folder_can_be_named(module):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BYHAND_DATA", str(HERE / "licenses"))
        assert module.data_dir() == HERE / "licenses"
        patch.setenv("BYHAND_DATA", str(HERE / "nowhere"))
        with pytest.raises(FileNotFoundError, match="data_dir: no folder .*nowhere; install byhand .* BYHAND_DATA"):
            module.data_dir()


def an_installed_wheel_has_them(module):
    """Without a checkout around it: where pip put them, if it did; and the folder that is named goes before."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.delenv("BYHAND_DATA", raising=False)
        site, share = Path(folder).resolve() / "lib/site-packages", Path(folder).resolve() / "share/byhand/data"
        for path in (site, share):
            path.mkdir(parents=True)
        patch.setattr(module, "__file__", str(site / "byhand/data.py"))

        def brings(*names):
            listed = [PackagePath(name) for name in names]
            for file in listed:
                file.dist = PathDistribution(site / "byhand-0.1.0.dist-info")
            patch.setattr(module, "files", lambda name: {"byhand": listed}[name])

        brings("byhand/data.py", "byhand-0.1.0.dist-info/licenses/book/data/LICENSES.md",
               "../../share/byhand/data/LICENSES.md", "../../share/byhand/data/senses.tsv")
        assert module.data_dir() == share
        patch.setenv("BYHAND_DATA", str(HERE))
        assert module.data_dir() == HERE
        patch.setenv("BYHAND_DATA", str(HERE / "nowhere"))
        with pytest.raises(FileNotFoundError, match="no folder .*nowhere"):
            module.data_dir()
        patch.delenv("BYHAND_DATA")
        brings("byhand/data.py")
        with pytest.raises(FileNotFoundError, match="data_dir: no folder .*data; install byhand .*its wheel"):
            module.data_dir()

        def absent(name):
            raise PackageNotFoundError(name)

        patch.setattr(module, "files", absent)  # a folder on the path, and nothing that pip knows
        with pytest.raises(FileNotFoundError, match="data_dir: no folder"):
            module.data_dir()


PROPERTIES = [glove_is_whole, glove_cannot_be_changed, words_and_vectors_belong_together, rows_come_in_the_order_asked,
              an_unknown_word_is_named, sixty_sentences, the_novel_is_whole, the_sentences_have_writers,
              the_small_bert_fits_its_config, the_features_are_of_these_sentences,
              the_pairs_are_pairs, the_digits_are_digits, numbers_are_said_right,
              other_numbers_are_refused, the_folder_can_be_named, an_installed_wheel_has_them,
              damaged_copies_are_refused, windows_are_of_the_text,
              windows_start_everywhere, windows_of_a_file_are_read_alone, wrong_windows_are_refused]


@pytest.mark.parametrize("holds", PROPERTIES)
def test_data(holds):
    holds(data)


def test_nothing_comes_from_elsewhere(monkeypatch):
    """Not even with the network at hand."""
    import socket

    monkeypatch.setattr(socket, "socket", None)
    monkeypatch.setenv("BYHAND_DATA", str(HERE))
    module = build("data")
    assert len(module.glove().words) == 10_161 and len(module.senses()) == 60


# Wrong loaders, kept: the property that finds it, and the edit.
WRONG = [
    (glove_is_whole, '["vectors"].astype(np.float32)', '["vectors"].astype(np.float64)'),
    (glove_is_whole, '.split("\\n"))', '.split())[1:]'),
    (glove_cannot_be_changed, "    vectors.flags.writeable = False\n", ""),
    (glove_cannot_be_changed, "@functools.cache\ndef glove", "def glove"),
    (words_and_vectors_belong_together, "return WordVectors(words, vectors)",
     "return WordVectors(words, np.roll(vectors, 1, axis=0))"),
    (rows_come_in_the_order_asked, "[places[word] for word in words]", "sorted(places[word] for word in words)"),
    (rows_come_in_the_order_asked, "[places[word] for word in words]",
     "[places[word] for word in words[:1] * len(words)]"),
    (an_unknown_word_is_named, "if word not in places]", "if False]"),
    (an_unknown_word_is_named, "for word in words if word not", "for word in map(str.lower, words) if word not"),
    (sixty_sentences, "lines[1:]", "lines"),
    (sixty_sentences, "for word, sense, other, sentence in rows",
     "for word, other, sense, sentence in rows if word != 'bank'"),
    (the_novel_is_whole, 'txt.xz")).decode()', 'txt.xz")).decode().strip()'),
    (the_novel_is_whole, 'txt.xz")).decode()', 'txt.xz"))'),
    (the_novel_is_whole, "@functools.cache\ndef novel", "def novel"),
    (the_sentences_have_writers, "AUTHORS.index(name) for", "sorted(AUTHORS).index(name) for"),
    (the_sentences_have_writers, "tuple(text for _, text in rows)", "tuple(sorted(text for _, text in rows))"),
    (the_small_bert_fits_its_config, "path: x.astype(np.float32)", "path: x"),
    (the_small_bert_fits_its_config, "SmallBert(tuple(words)", "SmallBert(tuple(words[5:])"),
    (the_features_are_of_these_sentences, "V / np.linalg.norm(V, axis=1, keepdims=True)", "V"),
    (the_features_are_of_these_sentences, 'found["places"].astype(np.int64)', 'found["places"].astype(np.int64)[::-1]'),
    (the_pairs_are_pairs, "tuple(Pair(*row)", "tuple(Pair(row[0], row[2], row[1])"),
    (the_pairs_are_pairs, "@checked\n@functools.cache\ndef pairs", "@functools.cache\ndef pairs"),
    (the_digits_are_digits, "found.images / 16", "found.images / 8"),
    (the_digits_are_digits, "found.target.astype(np.int64)", "np.roll(found.target, 1).astype(np.int64)"),
    (numbers_are_said_right, '"ein" if n == 1 and not last else GERMAN[n]', "GERMAN[n]"),
    (numbers_are_said_right, "_german(units, False)", "_german(units)"),
    (numbers_are_said_right, '" and " if low < 100 else " "', '" and "'),
    (numbers_are_said_right, "(_german(low, last) if low", "(_german(low) if low"),
    (other_numbers_are_refused, "if n >= 1_000_000:", "if False:"),
    (other_numbers_are_refused, 'if language not in ("en", "de"):', "if False:"),
    (the_folder_can_be_named, 'os.environ.get("BYHAND_DATA")', "None"),
    (an_installed_wheel_has_them, "_brought_along() or folder", "folder"),
    (an_installed_wheel_has_them, "if not named and not folder", "if not folder"),
    (an_installed_wheel_has_them, "share/byhand/data/LICENSES.md", "data/LICENSES.md"),
    (an_installed_wheel_has_them, "except PackageNotFoundError", "except TypeError"),
    (an_installed_wheel_has_them, ".parent for file", " for file"),
    (the_folder_can_be_named, "if not folder.is_dir():", "if False:"),
    (damaged_copies_are_refused, "if hashlib.sha256(data).hexdigest() != SHA256[name]:", "if False:"),
    (damaged_copies_are_refused, 'data.replace(b"\\r\\n", b"\\n")', "data"),
    (windows_are_of_the_text, "n + 1)]).astype(np.int64)", "n + 1)])"),
    (windows_are_of_the_text, "rows[:, 1:]", "rows[:, :-1]"),
    (windows_are_of_the_text, "rng.integers(", "np.random.default_rng().integers("),
    (windows_start_everywhere, "len(ids) - n, size", "len(ids) - n - 1, size"),
    (windows_start_everywhere, "len(ids) - n, size", "len(ids) - n + 1, size"),
    (windows_start_everywhere, "rng.integers(len(ids) - n, size=batch)",
     "rng.integers((len(ids) - n) // n + 1, size=batch) * n"),
    (windows_of_a_file_are_read_alone, "np.asarray(ids[", "np.asarray(np.array(ids)["),
    (wrong_windows_are_refused, "if len(ids) <= n:", "if len(ids) < n:"),
    (wrong_windows_are_refused, 'ids: Integer[Array, " t"]', "ids: Array"),
    (wrong_windows_are_refused, 'ids: Integer[Array, " t"]', 'ids: Integer[Array, "..."]'),
]


OF_NUMBERS = (numbers_are_said_right, other_numbers_are_refused)


@pytest.mark.parametrize(("finds", "old", "new"), WRONG)
def test_a_wrong_loader_is_found(finds, old, new, monkeypatch):
    monkeypatch.setenv("BYHAND_DATA", str(HERE))
    module = build("number_words" if finds in OF_NUMBERS else "data", old, new)
    with pytest.raises((Exception, pytest.fail.Exception)) as found:
        finds(module)
    assert not isinstance(found.value, SyntaxError | NameError)


def test_every_property_finds_something():
    assert {finds for finds, *_ in WRONG} == set(PROPERTIES)
