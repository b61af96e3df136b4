"""Chapter 17: the GPT in 150 lines is the one that the page shows, and it is right; and what the record promises."""

import ast
import json
import re
import types
from pathlib import Path

import numpy as np
import pytest
from byhand import data
from byhand.np.gradcheck import relative_error
from byhand.pretrained import record

BOOK = Path(__file__).parents[1] / "book"
SOURCE = (BOOK / "gpt.py").read_text(encoding="utf-8")
MODULES = {"numpy", "sys"}


def pieces_shown() -> list[str]:
    """What the chapter shows of the file: whole cells of code, and blocks of code in its text."""
    shown = []
    for cell in json.loads((BOOK / "17_capstone.ipynb").read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        shown += [text] if cell["cell_type"] == "code" else re.findall(r"(?ms)^```python\n(.*?)\n```", text)
    return [text for text in shown if f"\n\n{text}\n\n" in f"\n\n{SOURCE}\n"]


def gpt(old="", new=""):
    assert SOURCE.count(old) == 1 or not old
    module = types.ModuleType("gpt")
    exec(SOURCE.replace(old, new) if old else SOURCE, module.__dict__)
    return module


def test_the_page_shows_the_whole_file():
    assert "\n\n".join(pieces_shown()) + "\n" == SOURCE
    assert max(text.count("\n") + 1 for text in pieces_shown()) <= 25


def test_it_has_150_lines_and_imports_nothing_of_ours():
    assert len(SOURCE.splitlines()) <= 150 and max(map(len, SOURCE.splitlines())) <= 79
    imports = [node for node in ast.walk(ast.parse(SOURCE)) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert {alias.name for node in imports for alias in node.names} <= MODULES


def worst_slope(module) -> float:
    """Relative error of the gradient of every array, along one direction each."""
    rng, h = np.random.default_rng(0), 1e-5
    p = {name: x + 0.3 * rng.normal(size=x.shape) for name, x in module.init(rng, 7, d=8, layers=3, n=5).items()}
    text = rng.integers(7, size=(3, 6))
    _, dZ, cache = module.loss(text, p)
    grads, errors = module.backward(dZ, p, cache), []
    assert {k: g.shape for k, g in grads.items()} == {k: x.shape for k, x in p.items()}
    for name, x in p.items():
        U = rng.normal(size=x.shape)
        high, low = (module.loss(text, p | {name: x + s * U})[0] for s in (h, -h))
        errors.append(relative_error(np.array((high - low) / (2 * h)), np.array((grads[name] * U).sum())))
    return max(errors)


def test_its_gradient():
    assert worst_slope(gpt()) < 1e-6


@pytest.mark.parametrize(("old", "new"), [
    ("dA - (A * dA).sum(axis=-1, keepdims=True)", "dA"),
    ("dS = dS / (d // HEADS)**0.5", "dS = dS / d**0.5"),
    ("keepdims=True) - along)", "keepdims=True))"),
    ("(S + X * slope)", "S"),
    ("dX = dY + norm_back", "dX = norm_back"),
    ('np.add.at(grads["E"], ids, dX)', 'grads["E"][ids] += dX'),
    ('{"E": rows(dZ).T @ rows(H),', '{"E": np.zeros_like(p["E"]),'),
    ("dS @ K, dS.mT @ Q, A.mT @ dZ", "dS.mT @ K, dS @ Q, A.mT @ dZ"),
    ("text[:, 1:].size, cache", "len(text), cache"),
])
def test_a_wrong_gradient_is_found(old, new):
    assert worst_slope(gpt(old, new)) > 1e-3


@pytest.mark.parametrize(("old", "new", "leaks"), [
    ("", "", False),
    ("np.tri(n, dtype", "np.tri(n, k=1, dtype", True),
    ("Z = (A @ V).swapaxes(1, 2)", "Z = (A @ V)", True),
    ("softmax(np.where(np.tri(n, dtype=bool), S, -np.inf))", "np.where(np.tri(n, dtype=bool), softmax(S), 0)", True),
])
def test_no_place_sees_a_later_one(old, new, leaks):
    module, rng = gpt(old, new), np.random.default_rng(0)
    p, ids = module.init(rng, 7, d=8, n=5), rng.integers(7, size=(2, 5))
    other = np.where(np.arange(5) == 3, (ids + 1) % 7, ids)
    moved = np.abs(module.forward(ids, p)[0] - module.forward(other, p)[0]).max(axis=(0, 2))
    assert bool(moved[:3].any()) is leaks and moved[3:].min() > 1e-3


@pytest.mark.parametrize(("old", "new", "learns"), [
    ("", "", True), ("p[k] -= rate *", "p[k] -= 0 *", False), ("[text[:, 1:]]", "[text[:, :-1]]", False)])
def test_it_learns_and_writes(old, new, learns):
    """A text that repeats itself is known after two hundred steps, and goes on as it should."""
    module, text = gpt(old, new), "abcdefg" * 60
    letters = sorted(set(text))
    ids = np.array([letters.index(c) for c in text])
    rng = np.random.default_rng(0)
    p = module.init(rng, len(letters), d=16, n=8)
    losses = [L for _, L in module.train(p, ids, 200, rng, B=8)]
    wrote = module.write(p, [0], 10, rng, heat=0.1)
    assert bool(losses[-1] < 0.2 < losses[0] and wrote == [*range(7), 0, 1, 2, 3]) is learns


# The record of what the published models gave.


def double(n):
    return {"twice": np.array(2.0 * n), "word": np.array(["a", "b"]), "whole": np.array(n)}


@pytest.fixture
def known(monkeypatch):
    kept = {f"double(3,)/{name}": x for name, x in double(3).items()}
    monkeypatch.setattr(record, "published_record", lambda: kept)
    return kept


def test_what_is_computed_is_held_against_the_record(known):
    assert record.on_record(double, 3)["twice"] is known["double(3,)/twice"]
    known["double(3,)/twice"] = np.array(6.01, np.float32)  # rounding: the record speaks
    assert record.on_record(double, 3)["twice"] == np.float32(6.01)
    assert record.on_record(double, 4)["twice"] == 8.0  # other inputs: what was computed


@pytest.mark.parametrize(("name", "value", "says"), [
    ("twice", np.array(6.1, np.float32), "away from the record"), ("twice", np.zeros(2), "has shape"),
    ("twice", np.array(np.nan, np.float32), "away from the record"),
    ("word", np.array(["a", "c"]), "in 1 places"), ("whole", np.array(4), "in 1 places")])
def test_what_differs_is_refused(known, name, value, says):
    known[f"double(3,)/{name}"] = value
    with pytest.raises(ValueError, match=says):
        record.on_record(double, 3)


def test_an_array_too_few_is_refused(known):
    del known["double(3,)/word"]
    with pytest.raises(ValueError, match="expected twice, whole"):
        record.on_record(double, 3)


def test_without_the_weights_the_record_speaks(known):
    def lacks(n):
        raise ImportError("not installed")

    lacks.__name__ = "double"
    assert record.on_record(lacks, 3)["whole"] == 3
    with pytest.raises(ImportError, match="not installed"):
        record.on_record(lacks, 4)


def test_the_record_is_small_and_cannot_be_changed():
    found = data.published_record()
    assert found is data.published_record() and len(found) > 30
    assert (data.data_dir() / "published_record.npz").stat().st_size < 300_000
    with pytest.raises(ValueError, match="read-only"):
        next(iter(found.values()))[...] = 0
