"""What README.md and CONTRIBUTING.md tell people to type and to open is there, and does what they say."""

import re
from pathlib import Path

import pytest

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
    makefile = MAKEFILE.replace("$(NBVAL)", re.search(r"NBVAL := (.*)", MAKEFILE)[1]).replace("$(JOBS)", "2")
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
