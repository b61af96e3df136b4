"""What README.md and CONTRIBUTING.md tell people to type and to open is there, and does what they say."""

import importlib
import os
import re
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[1]
PAGES = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "CONTRIBUTING.md", "book/index.md")}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = dict(re.findall(r"(?m)^([a-z]+):.*?## (.+)$", MAKEFILE))


def unknown_targets(text):
    typed = re.findall(r"(?m)(?:`|^)(?:[A-Z_]+=\S+ )*make ([a-z]+)(?=[ `\n])", text)
    assert typed, "the page names no make command at all"
    return sorted({t for t in typed if t not in TARGETS})


def missing_paths(text, folder=ROOT):
    """Paths in backticks, and what links point to."""
    named = re.findall(r"`((?:[\w.-]+/)*[\w.-]*[/.][\w./-]*)`", text)
    named = [n for n in named if re.search(r"/|\.(py|md|yml|txt|toml|ipynb)$", n) and not re.search(r"NN_|STEM", n)]
    linked = [n for n in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in n]
    places = (folder, ROOT, ROOT / "lib/byhand/grade", ROOT / "lib/byhand/grade/sets/s04_attention")
    made = ("_build", ".venv")
    return sorted({n for n in named + linked if not n.startswith(made) and not any((p / n).exists() for p in places)})


def written(text):
    """The chapters that the README says are there."""
    line = re.search(r"\*\*Written now:\*\*.*", text)[0]
    spans = re.findall(r"chapters? (\d+)(?: to (\d+))?", line)
    return [n for first, last in spans for n in range(int(first), int(last or first) + 1)]


@pytest.mark.parametrize("name", PAGES)
def test_commands_exist(name):
    assert unknown_targets(PAGES[name]) == []


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_paths_exist(name):
    assert missing_paths(PAGES[name]) == []


def test_chapters_said_to_be_written_are():
    there = sorted(int(path.name[:2]) for path in (ROOT / "book").glob("[0-9][0-9]_*.ipynb"))
    assert written(PAGES["README.md"]) == there


def test_raw_commands_are_those_of_make():
    """Builder, linter and tests: the same arguments, in both shells."""
    makefile = MAKEFILE.replace("$(NBVAL)", re.search(r"NBVAL = (.*)", MAKEFILE)[1]).replace("$(JOBS)", "3")
    recipe = re.findall(r"(?m)^\t\$\(BIN\)/((?:jupyter-book build|ruff check|python -m pytest tests).*)$", makefile)
    for shell, folder in (("bash", ".venv/bin/"), ("powershell", ".venv\\Scripts\\")):
        block = PAGES["README.md"].split("## Without make")[1].split(f"```{shell}")[1].split("```")[0]
        typed = [line.removeprefix(folder) for line in block.splitlines()]
        assert len(recipe) == 3 and [line for line in recipe if line not in typed] == []


def test_help_has_a_line_for_every_target():
    phony = re.search(r"\.PHONY: (.*)", MAKEFILE)[1].split()
    assert sorted(phony) == sorted(TARGETS)


def test_the_tests_above_can_fail():
    readme = PAGES["README.md"]
    assert unknown_targets(readme.replace("make mutants", "make mutant")) == ["mutant"]
    assert missing_paths(readme.replace("`lib/byhand/np/`", "`lib/byhand/numpy/`")) == ["lib/byhand/numpy/"]
    assert missing_paths(readme.replace("(LICENSE-TEXT)", "(LICENCE-TEXT)")) == ["LICENCE-TEXT"]
    assert written(readme.replace("chapters 1 to 15", "chapters 1 to 16")) != written(readme)
    assert written(readme.replace("chapter 0,", "")) != written(readme)


@pytest.fixture
def pages(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("pages")


def not_as_measured(pages, text):
    """Lines of what it says of times that are not as the records have them, or that no record stands behind."""
    new = pages.filled(text)
    changed = [line for line, other in zip(text.splitlines(), new.splitlines(), strict=True) if line != other]
    return changed + [line for line in pages.table_lines(text) if pages.cell(line) is None]


def test_ratios_are_those_recorded(pages):
    """`python benchmarks/pages.py` writes them; a ratio of a record that is not quiet says so."""
    assert not_as_measured(pages, PAGES["README.md"]) == []


def wrong_lines():
    """Lines of the README with one thing wrong in each."""
    readme = PAGES["README.md"]
    lines = {"NumPy, with the functions that": r"\d\.\d\d(?= (\(busy machine\) )?\|$)", "writing token 512": r"1 / \d+",
             "tiled NumPy attention": r"[0-9.]+(?= MB)", "in eight bits": r"[0-9.]+(?= MB(?!.*MB))",
             "The products of matrices alone": r"(?<=and )0\.\d\d",
             "each from one interleaved run": r"(?<= cores \()[^;]*", "On one GPU, ": r"[0-9.]+(?= of a plain)"}
    for words, number in lines.items():
        line, = (x for x in readme.splitlines() if words in x)
        yield pytest.param(line, re.sub(number, "9", line, count=1), id=words)
    line, = (x for x in readme.splitlines() if "our PyTorch block" in x)
    yield pytest.param(line, line.replace("our PyTorch block", "a block"), id="no record")


@pytest.mark.parametrize(("line", "wrong"), [*wrong_lines()])
def test_a_wrong_ratio_is_found(pages, line, wrong):
    assert wrong != line and len(not_as_measured(pages, PAGES["README.md"].replace(line, wrong, 1))) == 1


@pytest.mark.parametrize("name", ["train_step", "flash", "decode", "pretrained_speed", "quantised", "torch_block"])
def test_a_ratio_of_a_busy_machine_says_so(pages, name, monkeypatch):
    """With a record that calls itself busy, every line that quotes it must, and with a quiet one none may."""
    kept = pages.record
    lines = [x for x in pages.table_lines(PAGES["README.md"])
             if any(words in x and some[0] == name for words, some in pages.BEHIND.items())]
    for quiet in (True, False):
        def record(asked, quiet=quiet):
            whole = kept(asked)
            return whole | {"machine": whole["machine"] | {"quiet": quiet}} if asked == name else whole

        monkeypatch.setattr(pages, "record", record)
        new = pages.filled(PAGES["README.md"])
        said = [pages.BUSY in x for x in pages.table_lines(new) if any(x[:40] == line[:40] for line in lines)]
        assert said and set(said) == {not quiet}
    monkeypatch.setattr(pages, "quiet", lambda record: True)  # as it was: quoted without a word
    assert not any(pages.BUSY in x for x in pages.table_lines(pages.filled(PAGES["README.md"])))


def test_without_runs_elsewhere_nothing_is_said_of_them(pages, monkeypatch):
    assert "some processors" in pages.limits()
    monkeypatch.setattr(pages, "places", lambda history: [])
    assert pages.limits().endswith("ends at these numbers.")


INNER = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("wrong", [("367,314", "376,314"), ("| bf16, compiled * |", "| bf16, compiled |")])
def test_tables_of_the_gpu_are_those_recorded(pages, wrong):
    assert pages.gpu_tables() in INNER
    assert wrong[0] in INNER and pages.gpu_tables() not in INNER.replace(*wrong)


def test_both_kinds_of_kernels_are_shown(pages):
    assert pages.inner(INNER) == INNER
    assert pages.inner(re.sub(r"\| \d\.\d\d", "| 7.77", INNER, count=1)) == INNER  # a wrong number is written over
    assert pages.inner(re.sub(r"(?m)^\| the last rung .*\n", "", INNER)) == INNER
    shown = re.findall(r"(?m)^\| ([^|]+ ÷ [^|]+) \|", INNER)
    assert shown == list(pages.KERNELS)


def test_what_did_not_help_is_what_the_programs_say():
    """Each thing that a docstring calls tried stands on the page too."""
    for words in ("column of ones", "exp in place of exp2", "lie (query, key)", "buffers made once", "tiles of 128"):
        assert words in INNER and words in (ROOT / "benchmarks" / "flash.py").read_text(encoding="utf-8")
    assert "numexpr" in INNER and "numexpr" not in (ROOT / "requirements.txt").read_text(encoding="utf-8")


NO_GPU = "o figure of a GPU is recorded yet"  # in the middle of a sentence too


def gpu_told_wrongly(texts, records):
    """Pages that keep silent that there is no figure of a GPU, or go on saying so when there is one."""
    return [name for name, text in texts.items() if (NO_GPU in text) == bool(records)]


def test_no_figure_of_a_gpu_is_claimed():
    """As long as there is no record of one; when one comes, these lines must go."""
    records = list((ROOT / "benchmarks" / "results").glob("gpu*.json"))
    texts = {"README.md": PAGES["README.md"], "benchmarks/README.md": INNER,
             "book/times.md": (ROOT / "book" / "times.md").read_text(encoding="utf-8")}
    assert gpu_told_wrongly(texts, records) == []
    silent = {name: text.replace(NO_GPU, "") for name, text in texts.items()}
    assert gpu_told_wrongly(silent if not records else {name: NO_GPU for name in texts}, records) == list(texts)
    assert gpu_told_wrongly(texts, [] if records else ["gpu_train.json"]) == list(texts)
    assert "recorded there" not in texts["book/times.md"]  # as it was: hours on a GPU that nobody had recorded


def outside_make():
    """The environment without what `make test` says to the make below it."""
    return {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}


def test_help_needs_no_python(tmp_path):
    """Nothing is asked of a Python that is not there yet, before it is said what to do about it."""
    def said(makefile):
        (tmp_path / "Makefile").write_text(makefile, encoding="utf-8")
        return subprocess.run(["make", "help"], cwd=tmp_path, capture_output=True, text=True, env=outside_make()).stderr

    without = [line for line in said(MAKEFILE).splitlines() if not line.startswith("find: ")]  # the folder has no book
    assert without == []
    assert MAKEFILE.count("NBVAL = ") == 1 and ".venv/bin/python" in said(MAKEFILE.replace("NBVAL = ", "NBVAL := "))


def test_what_is_compiled_once_is_kept(tmp_path):
    """Packages are installed without compiled modules: where none was kept, each process compiled its own."""
    asked = "\nwho:\n\t@echo $${PYTHONDONTWRITEBYTECODE:-kept}\n"

    def keeps(makefile):
        (tmp_path / "Makefile").write_text(makefile + asked, encoding="utf-8")
        return subprocess.run(["make", "-s", "who"], cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True,
                              env=outside_make() | {"PYTHONDONTWRITEBYTECODE": "1"}).stdout == "kept\n"

    assert keeps(MAKEFILE)
    assert not keeps(MAKEFILE.replace("unexport PYTHONDONTWRITEBYTECODE", ""))


def too_new(oldest: str, asked: dict[str, str | None]) -> list[str]:
    """Packages that do not install on this Python, by what each asks of it."""
    return sorted(name for name, python in asked.items() if oldest not in SpecifierSet(python or ""))


def test_what_is_pinned_installs_on_the_oldest_python_that_the_course_names():
    """Debian 12 has 3.11.2. A pin made with a later 3.11 may ask for 3.11.5, and then nothing at all installs there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest = re.fullmatch(r">=(\d+\.\d+)", project["requires-python"])[1] + ".0"
    lines = [line.split(" #")[0].strip() for name in ("requirements.txt", "constraints.txt")
             for line in (ROOT / name).read_text(encoding="utf-8").splitlines()]
    names = {Requirement(line).name for line in lines if re.match(r"\w", line)}
    asked = {}
    for name in names:
        try:
            asked[name] = metadata.metadata(name).get("Requires-Python")
        except metadata.PackageNotFoundError:  # of another system, or of another Python than this one
            continue
    assert len(asked) > 0.9 * len(names) > 100
    assert too_new(oldest, asked) == []
    assert too_new(oldest, asked | {"soupsieve": ">=3.11.5"}) == ["soupsieve"]
    assert too_new("3.10.4", asked)  # NumPy, for one


def builds(folder, makefile, changed):
    """How often the book is built: once, and again after this file was written; the builder counts and does nothing."""
    names = ("requirements.txt", "constraints.txt", "pyproject.toml", "_config.yml", "_toc.yml", "_ext/a.py",
             "book/a.md", "lib/byhand/a.py", ".venv/.installed")
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    (folder / "Makefile").write_text(makefile, encoding="utf-8")
    builder = folder / ".venv" / "bin" / "jupyter-book"
    builder.parent.mkdir()
    builder.write_text("#!/bin/sh\necho built >> built.log\n")
    builder.chmod(0o755)
    for name in (None, changed):
        if name:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("x")
        subprocess.run(["make", "book"], cwd=folder, check=True, capture_output=True, env=outside_make())
    return (folder / "built.log").read_text().count("built")


@pytest.mark.parametrize(("changed", "count"), [
    ("book/a.md", 2), ("lib/byhand/a.py", 2), ("_ext/live/page.js", 2), ("_toc.yml", 2), ("README.md", 1),
    ("lib/byhand/__pycache__/a.cpython-311.pyc", 1), ("lib/byhand/annex/__pycache__/loops.rows-85.py311.1.nbc", 1),
    ("book/a.nb.md", 1), ("book/.ipynb_checkpoints/a.ipynb", 1)])
def test_the_book_is_built_anew_when_its_sources_change(changed, count, tmp_path):
    """Not for what Python and Numba have compiled: a run of the tests writes that."""
    assert builds(tmp_path, MAKEFILE, changed) == count


@pytest.mark.parametrize(("old", "new", "changed"), [
    ("! -path '*/__pycache__/*'", "! -name '*.pyc'", "lib/byhand/annex/__pycache__/loops.rows-85.py311.1.nbc"),
    ("find book _ext lib", "find book _ext", "lib/byhand/a.py")])
def test_wrong_sources_are_found_out(old, new, changed, tmp_path):
    assert MAKEFILE.count(old) == 1
    (tmp_path / "right").mkdir()
    (tmp_path / "wrong").mkdir()
    wrong = builds(tmp_path / "wrong", MAKEFILE.replace(old, new), changed)
    assert builds(tmp_path / "right", MAKEFILE, changed) != wrong
