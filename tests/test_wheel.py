"""What the wheel of byhand holds: all modules and what they read, no right answers, nothing of the tests."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
KEPT_HERE = ("byhand/grade/reference/", "byhand/grade/solutions/s")  # the right answers stay with the source
BUILD = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"


def source() -> set[str]:
    lib = ROOT / "lib"
    found = {path.relative_to(lib).as_posix() for path in (lib / "byhand").rglob("*") if path.is_file()}
    return {name for name in found if "__pycache__" not in name and not name.startswith(KEPT_HERE)}


def wheel_of(folder: Path, *edits: str) -> set[str]:
    """The files of the wheel, its metadata aside, after some words of pyproject.toml were replaced."""
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "lib", folder / "lib", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    (folder / "tests").mkdir()
    (folder / "tests" / "__init__.py").touch()
    text = (folder / "pyproject.toml").read_text(encoding="utf-8")
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        assert text.count(old) == 1
        text = text.replace(old, new)
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    subprocess.run([sys.executable, "-c", BUILD, "dist"], cwd=folder, check=True, capture_output=True)
    with zipfile.ZipFile(next((folder / "dist").glob("*.whl"))) as wheel:
        return {name for name in wheel.namelist() if ".dist-info/" not in name}


def test_the_wheel_holds_the_library_and_nothing_else(tmp_path):
    held = wheel_of(tmp_path)
    assert held == source()
    assert sum(name.endswith("expected.npz") for name in held) == len(list((ROOT / "book/exercises").glob("*.ipynb")))


@pytest.mark.parametrize("edits, found", [
    (('"byhand.grade.sets" = ["*/expected.npz"]', ""), "byhand/grade/sets/s04_attention/expected.npz"),
    (('exclude = ["byhand.grade.reference*"]', ""), "byhand/grade/reference/s04_attention.py"),
    (('where = ["lib"]', 'where = ["lib", "."]'), "tests/__init__.py"),
], ids=["data left out", "right answers", "tests"])
def test_a_wrong_wheel_is_seen(tmp_path, edits, found):
    assert found in wheel_of(tmp_path, *edits) ^ source()
