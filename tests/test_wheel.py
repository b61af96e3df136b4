"""What the wheel of byhand holds: all modules and what they read, no right answers, nothing of the tests; and that it
works where nothing else of the course is."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
KEPT_HERE = ("byhand/grade/reference/", "byhand/grade/solutions/s")  # the right answers stay with the source
BUILD = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
SHARE = re.compile(r"byhand-[\d.]+\.data/data/share/byhand/data/")


def source() -> set[str]:
    lib = ROOT / "lib"
    found = {path.relative_to(lib).as_posix() for path in (lib / "byhand").rglob("*") if path.is_file()}
    return {name for name in found if "__pycache__" not in name and not name.startswith(KEPT_HERE)}


def data_sets() -> set[str]:
    return {"data: " + path.relative_to(ROOT / "book/data").as_posix()
            for path in (ROOT / "book/data").rglob("*") if path.is_file()}


def built(folder: Path, *edits: str) -> Path:
    """The wheel, after some words of pyproject.toml were replaced."""
    for name in ("pyproject.toml", "README.md", "LICENSE", "LICENSE-TEXT"):
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "lib", folder / "lib", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copytree(ROOT / "book/data", folder / "book/data")
    (folder / "tests").mkdir()
    (folder / "tests" / "__init__.py").touch()
    text = (folder / "pyproject.toml").read_text(encoding="utf-8")
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        assert text.count(old) == 1
        text = text.replace(old, new)
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    subprocess.run([sys.executable, "-c", BUILD, "dist"], cwd=folder, check=True, capture_output=True)
    shutil.rmtree(folder / "lib")  # nothing of the course is near it
    shutil.rmtree(folder / "book")
    return next((folder / "dist").glob("*.whl"))


def held(wheel: Path) -> set[str]:
    """The files of the wheel, its metadata aside."""
    with zipfile.ZipFile(wheel) as archive:
        return {SHARE.sub("data: ", name) for name in archive.namelist() if ".dist-info/" not in name}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return built(tmp_path_factory.mktemp("wheel"))


def test_the_wheel_holds_the_library_its_data_and_nothing_else(wheel):
    assert held(wheel) == source() | data_sets()
    assert sum(name.endswith("expected.npz") for name in held(wheel)) == len(
        list((ROOT / "book/exercises").glob("*.ipynb")))
    assert wheel.stat().st_size < 16e6


def test_the_licences_are_in_it(wheel):
    licences = {path.relative_to(ROOT).as_posix() for path in (ROOT / "book/data/licenses").iterdir()}
    with zipfile.ZipFile(wheel) as archive:
        found = {name.partition("/licenses/")[2] for name in archive.namelist() if ".dist-info/licenses/" in name}
    assert found == licences | {"LICENSE", "LICENSE-TEXT", "book/data/LICENSES.md"}


DATA = '"share/byhand/data" = ["book/data/*.*"]'


@pytest.mark.parametrize("edits, found", [
    (('"byhand.grade.sets" = ["*/expected.npz"]', ""), "byhand/grade/sets/s04_attention/expected.npz"),
    (('exclude = ["byhand.grade.reference*"]', ""), "byhand/grade/reference/s04_attention.py"),
    (('where = ["lib"]', 'where = ["lib", "."]'), "tests/__init__.py"),
    ((DATA, ""), "data: glove_subset.npz"),
    (('"share/byhand/data/translation_de" = ["book/data/translation_de/*"]', ""),
     "data: translation_de/weights.safetensors"),
], ids=["what sets expect left out", "right answers", "tests", "data left out", "a translator left out"])
def test_a_wrong_wheel_is_seen(tmp_path, edits, found):
    assert found in held(built(tmp_path, *edits)) ^ (source() | data_sets())


# Installed, alone

def installed(wheel: Path, folder: Path) -> Path:
    """An environment that has the wheel and, as pip would fetch them, the packages of this one; byhand's own checkout
    is not among them."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "--isolated", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "-q", "--no-deps", "--no-index", wheel], check=True, capture_output=True)
    packages = next((folder / "lib").glob("python*/site-packages"))
    (packages / "fetched.pth").write_text(sysconfig.get_path("purelib") + "\n")  # after the wheel: pip leaves it alone
    return python


def run(python: Path, *words: str) -> subprocess.CompletedProcess:
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "BYHAND_DATA")}
    env |= {"BYHAND_PROGRESS": "", "MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}
    return subprocess.run([python, *words], cwd=python.parents[1], env=env, capture_output=True, text=True)


START = """
import importlib, pkgutil, sys
import byhand
assert byhand.__file__.startswith(sys.prefix), byhand.__file__
"""
IMPORTS = START + """
for module in pkgutil.walk_packages(byhand.__path__, "byhand."):
    if not module.name.startswith("byhand.kernels") and not module.name.endswith("__main__"):  # they need Triton
        importlib.import_module(module.name)
import byhand.np.attention, byhand.pt.attention, numpy, torch
Q, K, V = numpy.random.default_rng(0).normal(size=(3, 5, 4))
print(abs(byhand.np.attention.attention_forward(Q, K, V)[0]
          - byhand.pt.attention.attention(*map(torch.tensor, (Q, K, V))).numpy()).max() < 1e-12)
"""
DATA_SETS = START + """
from byhand import data, translator
for name in data.SHA256:
    assert data.checked_path(name).is_file()
print(len(data.glove().words), len(data.senses()), len(data.novel()), len(data.authors().texts), len(data.pairs("de")))
"""
CHECK = START + """
from byhand.grade import check, solution, which_equation
{answer}
check(attention)
def attention(Q, K, V, mask=None):
    return Q @ K.swapaxes(-1, -2), V
check(attention)
print(solution("04.1"))
import numpy
from byhand.np.attention import attention_backward, attention_forward
Q, K, V = numpy.random.default_rng(0).normal(size=(3, 5, 4))
O, cache = attention_forward(Q, K, V)
print(which_equation(attention_backward, O, cache))
"""


SAID = ("3 / 3 points", "0 / 3 points", "no worked solutions", r"\(4\.29\)  dK +holds\nEvery equation holds")


def imports(python):
    done = run(python, "-c", IMPORTS)
    assert done.returncode == 0 and done.stdout.split() == ["True"], done.stderr


def data_are_found(python):
    done = run(python, "-c", DATA_SETS)
    assert done.returncode == 0 and done.stdout.split() == "10161 60 680738 12000 16670".split(), done.stderr


def answers_are_checked(python):
    """A right answer, a wrong one, the worked answer that is not there, and the equations of a function."""
    text = (ROOT / "lib/byhand/grade/reference/s04_attention.py").read_text(encoding="utf-8")
    answer = re.search(r"(?ms)^def attention\(.*?(?=^\S)", text)[0]
    script = python.parents[1] / "answer.py"
    script.write_text(CHECK.format(answer="import numpy as np\n" + answer), encoding="utf-8")
    done = run(python, "answer.py")
    assert done.returncode == 0, done.stderr
    for part in SAID:
        assert re.search(part, done.stdout), (part, done.stdout)


def commands_help(python):
    for words in ([python.with_name("byhand-grade")], [python, "-m", "byhand.pt.train"]):
        assert words[-1] == "byhand.pt.train" or words[0].is_file(), "no byhand-grade"
        done = run(python, *([str(words[0])] if len(words) == 1 else words[1:]), "--help")
        assert done.returncode == 0 and done.stdout.startswith("usage:"), done.stderr


def a_chapter_begins(python):
    """The first four cells of chapter 4 print what the book shows."""
    cells = json.loads((ROOT / "book/04_attention.ipynb").read_text(encoding="utf-8"))["cells"]
    cells = [cell for cell in cells if cell["cell_type"] == "code"][:4]
    (python.parents[1] / "cells.py").write_text("\n".join("".join(cell["source"]) for cell in cells), encoding="utf-8")
    shown = ["".join(out["text"]) for cell in cells for out in cell["outputs"] if out["output_type"] == "stream"]
    done = run(python, "cells.py")
    assert done.returncode == 0 and len(shown) == 2 and done.stdout == "".join(shown), done.stderr


WORKS = [imports, data_are_found, answers_are_checked, commands_help, a_chapter_begins]


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    return installed(wheel, tmp_path_factory.mktemp("installed") / "env")


@pytest.mark.parametrize("works", WORKS)
def test_the_wheel_works_alone(python, works):
    works(python)


@pytest.mark.parametrize("edits, fails", [
    ((DATA, ""), (data_are_found, a_chapter_begins)),
    (('"byhand.grade.sets" = ["*/expected.npz"]', "", 'byhand-grade = "byhand.grade.course.cli:main"', ""),
     (answers_are_checked, commands_help)),
    (('exclude = ["byhand.grade.reference*"]', 'exclude = ["byhand.grade.reference*", "byhand.pt*"]'), (imports,)),
], ids=["no data", "nothing expected and no command", "half of it"])
def test_a_wheel_that_does_not_work_is_seen(tmp_path, edits, fails):
    python = installed(built(tmp_path, *edits), tmp_path / "env")
    for works in fails:
        with pytest.raises(AssertionError):
            works(python)
