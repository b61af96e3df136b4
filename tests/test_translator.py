"""The translators that the course trained: whole, as good as their log says, and their test set is cut as it says."""

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from byhand import data, tree
from byhand import translator as module_itself
from byhand.metrics import chrf, corpus_bleu
from byhand.pt.translate import translate
from mutants import build
from proofs import as_shipped

HERE = data.data_dir()
LANGUAGES = ("de", "es")
SOME = 60  # pairs of the test


def written(model, lines, beam=1):
    pad, bos, eos = (model.tokenizer.specials[name] for name in ("[PAD]", "[BOS]", "[EOS]"))
    sources = [np.array(model.tokenizer.encode(line)) for line in lines]
    found = translate(sources, tree.to_torch(model.params), model.config, pad, bos, eos, max_len=48, beam=beam)
    return [model.tokenizer.decode(y) for y in found]


def scores_are_those_of_the_log(module):
    """BLEU and chrF of a part of the test are near those that the run recorded for all of it."""
    for language, slack in zip(LANGUAGES, (9, 6), strict=True):
        model, split = module.load_translator(language), module.split_pairs(language)
        rows = [row for row, near in zip(split.test, split.near, strict=True) if not near][:SOME]
        found, real = written(model, [row.english for row in rows]), [row.other for row in rows]
        recorded = model.log["scores"]["beam 1"]["far"]
        bleu = corpus_bleu([module.words(x) for x in found], [[module.words(x)] for x in real]).score
        assert abs(bleu - recorded["bleu"]) < slack and bleu > 8
        assert abs(chrf(found, [[x] for x in real]) - recorded["chrf"]) < 5


def translations_are_those_of_the_log(module):
    """Of the sentences in the log nearly all come out to the letter; rounding may turn a choice that is close."""
    for language in LANGUAGES:
        model, split = module.load_translator(language), module.split_pairs(language)
        rows = model.log["examples"][:12]
        assert [row[:2] for row in rows] == [[row.english, row.other] for row in split.test[:12]]
        assert [row[3] for row in rows] == split.near[:12].tolist()
        same = [x == row[2] for x, row in zip(written(model, [row[0] for row in rows], 4), rows, strict=True)]
        assert sum(same) >= 11


def the_log_says_how(module):
    for language in LANGUAGES:
        log = module.load_translator(language).log
        assert log["command"].startswith(f"python tools/train_translation.py {language} --steps")
        assert log["versions"].keys() >= {"python", "torch", "numpy", "sacrebleu"} and log["seed"] == 0
        assert log["evaluation"][-1] < 0.6 * log["evaluation"][0] and len(log["loss"]) == 60
        split = module.split_pairs(language)
        for name, value in log["pairs"].items():
            rows = getattr(split, name)
            assert value == (rows.sum() if name == "near" else len(rows))


def weights_are_small_and_whole(module):
    """In 16 bits on the disk, at most 3 MB, float32 in memory, and of the shapes that the configuration states."""
    for language in LANGUAGES:
        model = module.load_translator(language)
        leaves = tree.flatten(model.params)
        assert {name: x.shape for name, x in leaves.items()} == tree.flatten(model.config.shapes)
        assert all(x.dtype == np.float32 for x in leaves.values())
        assert sum(x.size for x in leaves.values()) == model.log["parameters"]
        assert (HERE / f"translation_{language}" / "weights.safetensors").stat().st_size < 3_000_000
        assert len(model.tokenizer) == model.config.vocab and set(module.SPECIALS) == model.tokenizer.specials.keys()


def a_split_is_a_split(module):
    """Three parts without a pair in common, the same ones each time; none of dev is near the training pairs."""
    for language in LANGUAGES:
        train, dev, test, near = module.split_pairs(language)
        again = module.split_pairs.__wrapped__(language)
        assert (again.train, again.dev, again.test) == (train, dev, test)
        assert len(test) == len(near) == 1200 and near.dtype == bool and len(dev) < 500
        assert len({*train} | {*dev} | {*test}) == len(train) + len(dev) + len(test)
        assert len(train) == len(data.pairs(language)) - 1700
        assert (near.mean() > 0.6) == (language == "de")
        for rows, expected in ((dev, False), ([row for row, n in zip(test, near, strict=True) if n][:200], True)):
            close = module.within_one_word([r.english for r in rows], [r.english for r in train])
            close |= module.within_one_word([r.other for r in rows], [r.other for r in train])
            assert (close == expected).all()


def distance(a, b):
    """Edits of whole words, by the usual table."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row, old = [i], row
        for j, y in enumerate(b, 1):
            row.append(min(old[j - 1] + (x != y), old[j] + 1, row[-1] + 1))
    return row[-1]


def one_word_is_one_edit(module):
    r = np.random.default_rng(0)
    lines = [" ".join(r.choice(["a", "b", "c"], size=int(r.integers(0, 5)))) for _ in range(120)]
    for one in lines[:60]:
        for other in lines[60:]:
            expected = distance(one.split(), other.split()) <= 1
            assert module.within_one_word([one], [other]).tolist() == [expected], (one, other)
    assert module.within_one_word(["Set the Mode!", "x y z"], ["set, the: mode", "p q r"]).tolist() == [True, False]
    assert module.words("Don't stop – it's 5!") == ["Don", "'", "t", "stop", "–", "it", "'", "s", "5", "!"]


def damaged_copies_are_refused(module):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("BYHAND_DATA", folder)
        inside = Path(folder) / "translation_de"
        inside.mkdir()
        files = {path.name: path.read_bytes() for path in (HERE / "translation_de").iterdir()}
        assert len(files) == 4
        for bad in files:
            for name, right in files.items():
                middle = len(right) // 2
                wrong = right[:middle] + bytes([right[middle] ^ 1]) + right[middle + 1:]
                (inside / name).write_bytes(wrong if name == bad else right)
            with pytest.raises(ValueError, match=f"{bad} is damaged or another version"):
                module.load_translator("de")
    with pytest.raises(ValueError, match="load_translator: language is 'fr', expected one of de, es"), as_shipped():
        module.load_translator("fr")


PROPERTIES = [scores_are_those_of_the_log, translations_are_those_of_the_log, the_log_says_how,
              weights_are_small_and_whole, a_split_is_a_split, one_word_is_one_edit, damaged_copies_are_refused]


@pytest.mark.parametrize("holds", PROPERTIES)
def test_translator(holds):
    holds(module_itself)


# Wrong modules, kept: the property that finds it, and the edit.
WRONG = [
    (scores_are_those_of_the_log, "lambda x: x.astype(np.float32), load",
     'lambda x: x.astype(np.float32)[::-1] if x.shape == (128, 128) else x.astype(np.float32), load'),
    (scores_are_those_of_the_log, "WORDS.findall(text)", "list(text)"),
    (translations_are_those_of_the_log, "lambda x: x.astype(np.float32), load",
     "lambda x: np.round(x.astype(np.float32), 1), load"),
    (translations_are_those_of_the_log, "default_rng(13)", "default_rng(14)"),
    (the_log_says_how, 'json.loads(paths[name].read_text(encoding="utf-8")) for name in ("config.json", "log.json")',
     'json.loads(data.checked_path(f"translation_de/{name}").read_text()) for name in ("config.json", "log.json")'),
    (weights_are_small_and_whole, "lambda x: x.astype(np.float32), load", "lambda x: x, load"),
    (a_split_is_a_split, "[HELD_OUT, HELD_OUT + DEVELOPMENT]", "[HELD_OUT, HELD_OUT]"),
    (a_split_is_a_split, "if not close)", "if close)"),
    (a_split_is_a_split, "for k in (1, 2)]", "for k in (1, 1)]"),
    (one_word_is_one_edit, "row in known or ", ""),
    (one_word_is_one_edit, "row in short or ", ""),
    (one_word_is_one_edit, "not known.isdisjoint(shorter(row))  #", "False  #"),
    (one_word_is_one_edit, "or not gaps.isdisjoint(gapped(row))", ""),
    (one_word_is_one_edit, "text.lower()", "text"),
    (one_word_is_one_edit, r'r"\w+|[^\w\s]"', r'r"\S+"'),
    (damaged_copies_are_refused, 'data.checked_path(f"translation_{language}/{name}")',
     'data.data_dir() / f"translation_{language}/{name}"'),
    (damaged_copies_are_refused, "if language not in data.PAIRS:", "if False:"),
]


@pytest.mark.parametrize(("finds", "old", "new"), WRONG)
def test_a_wrong_translator_is_found(finds, old, new, monkeypatch):
    monkeypatch.setenv("BYHAND_DATA", str(HERE))
    with pytest.raises((Exception, pytest.fail.Exception)) as found:
        finds(build("translator", old, new))
    assert not isinstance(found.value, SyntaxError | NameError)


def test_every_property_finds_something():
    assert {finds for finds, *_ in WRONG} == set(PROPERTIES)


def test_the_script_trains_and_goes_on(tmp_path, monkeypatch, capsys):
    """A run so short that it learns nothing writes all files, and a second call takes up its checkpoint."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("train_translation", Path(__file__).parents[1] / "tools" /
                                                  "train_translation.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    rows = module_itself.split_pairs("de")
    short = [[row for row in part if len(row.english + row.other) < 50] for part in rows[:3]]
    small = module_itself.Split(short[0][:200], short[1][:4], short[2][:6], np.arange(6) < 3)
    monkeypatch.setattr(script, "split_pairs", lambda language: small)
    monkeypatch.setattr(script, "scores", lambda found, real: {"bleu": 0.0, "chrf": 0.0, "pairs": len(real)})
    flags = ["de", "--batch", "8", "--vocab", "300", "--width", "8", "--heads", "2", "--layers", "1", "--every", "2",
             "--folder", str(tmp_path / "run"), "--out", str(tmp_path / "out")]
    script.main([*flags, "--steps", "2"])
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "config.json", "log.json", "vocabulary.json", "weights.safetensors"]
    log = json.loads((tmp_path / "out" / "log.json").read_text(encoding="utf-8"))
    assert log["pairs"] == {"train": 200, "dev": 4, "test": 6, "near": 3} and "--steps 2 " in log["command"]
    assert str(tmp_path) not in json.dumps(log) and "sha256" not in log
    before = (tmp_path / "out" / "weights.safetensors").read_bytes()
    script.main([*flags, "--steps", "2"])  # nothing is left to do, and the weights are the same
    assert (tmp_path / "out" / "weights.safetensors").read_bytes() == before
    assert "weights.safetensors" in capsys.readouterr().out
