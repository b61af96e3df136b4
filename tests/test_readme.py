"""What README.md and CONTRIBUTING.md tell people to type and to open is there, and does what they say."""

import json
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


PLAIN, FUSED = "NumPy, the functions of the chapters", "NumPy, last rung: the same with fused loops"
STEP, TILES = ("train_step", "to_ours"), ("flash", "to_torch")
LONG = {"n": 16384, "causal": False, "backward": False}
BEHIND = {  # what stands in front of a ratio of the README: its record, the ratio's name, the row
    "with the functions that the chapters show": (*STEP, {"name": PLAIN}),
    "the last rung": (*STEP, {"name": FUSED}),
    "tiled NumPy attention over 16,384 tokens": (*TILES, {"program": "NumPy, tiles"} | LONG),
    "its way there and back": (*TILES, {"program": "NumPy and fused loops", "n": 16384, "backward": True}),
    "writing token 512": ("decode", "again_to_this", {"program": "NumPy with the cache", "T": 512}),
    "MiniLM over 1,000 sentences": ("pretrained_speed", "to_transformers", {"model": "minilm", "program": "NumPy"}),
    "without padding, with fused loops": (
        "pretrained_speed", "to_transformers", {"model": "minilm", "program": "NumPy, packed, fused loops"}),
    "SmolLM2-135M a token": ("pretrained_speed", "to_transformers", {"model": "smollm2", "program": "NumPy"}),
    "with weights joined beforehand": (
        "pretrained_speed", "to_transformers", {"model": "smollm2", "program": "NumPy, joined weights"}),
    "with weights in eight bits": (
        "quantised", "to_float32", {"program": "eight bits, a tile at a time", "tokens": 64}),
    "our PyTorch block": ("torch_block", "to_theirs", {"program": "byhand.pt.block.Block", "d": 256}),
}


def not_as_measured(text):
    """Lines of the table of times whose last cell is not what the records have, or that no record stands behind."""
    found = []
    for line in re.search(r"\| What \| Beside \| Ratio \|\n.*\n((?:\|.*\n)+)", text)[1].splitlines():
        behind = [v for key, v in BEHIND.items() if key in line]
        if len(behind) != 1:
            found.append(line)
            continue
        name, ratio, asked = behind[0]
        rows = json.loads((ROOT / f"benchmarks/results/{name}.json").read_text(encoding="utf-8"))["rows"]
        row, = (r for r in rows if asked.items() <= r.items())
        value, said = row[ratio]["median"] if isinstance(row[ratio], dict) else row[ratio], line.split("|")[-2].strip()
        if said != (f"1 / {value:.0f}" if name == "decode" else f"{value:.2f}"):
            found.append(line)
    return found


def test_ratios_are_those_recorded():
    assert not_as_measured(PAGES["README.md"]) == []


@pytest.mark.parametrize("line, wrong", [("| 0.41 |", "| 0.40 |"), ("1 / 35", "1 / 36"),
                                         ("our PyTorch block", "a block")])
def test_a_wrong_ratio_is_found(line, wrong):
    assert len(not_as_measured(PAGES["README.md"].replace(line, wrong, 1))) == 1
