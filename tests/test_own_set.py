# ruff: noqa: E501
"""The page for instructors, followed word for word to a whole set: it proves itself, is given out, and is graded."""

import json
import re
import shutil
import subprocess

import pytest
from confining import confined
from hostile import notebook
from test_own_question import COURSE, WHOLE_SET, blocks, run

HEADS = ["sets/s18_mine/stubs.py", "sets/s18_mine/cases.py", "sets/s18_mine/mutants.py", "sets/s18_mine/questions.py",
         "reference/s18_mine.py", "book/exercises/ex18_mine.ipynb", "book/exercises/ex18_mine.ipynb, the imports"]
KINDS = ("derive", "build", "predict", "design")  # of the four questions, each of which is that of the page under another name
TORCH = {"math.exp(-gap)": "(-gap).exp()", "np.exp(-gap)": "(-gap).exp()", "math.exp(gap)": "gap.exp()", "np.exp(gap)": "gap.exp()",
         "float(rng.uniform(0.5, 2.0))": "rng.uniform(0.5, 2.0, size=3)"}  # the last one is in PyTorch


def commands():
    """The two blocks of commands of the section."""
    return [block.splitlines() for block in re.findall(r"```bash\n(.*?)```", WHOLE_SET, re.DOTALL)]


def pieces(number, kind):
    """The question of the page as number 1, 2, … of the new set."""
    found = {}
    for name, text in blocks().items():
        text = re.sub(r"\b(one_)?ahead\b", rf"\g<0>{number}", text).replace("AHEAD", f"AHEAD{number}").replace("04.14", f"18.{number}")
        text = text.replace(".ahead", f".ahead{number}") if f".ahead{number}" not in text else text
        text = text.replace('kind="derive"', f'kind="{kind}"').replace("· derive", f"· {kind}").replace("part=4", "part=1")
        if number == len(KINDS):
            for old, new in TORCH.items():
                text = text.replace(old, new)
            text = text.replace(f"mutants.AHEAD{number},\n", f"mutants.AHEAD{number},\n        torch=True,\n        forbid=TORCH_ONLY,\n")
            text = text.replace(f"· {kind}", f"· {kind}, PyTorch")
        found[name.replace("s04_attention", "s18_mine").replace("04_attention", "18_mine")] = text
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A copy of the course with set 18 in it, by the page alone; and what each command said."""
    root, heads, (first, then) = tmp_path_factory.mktemp("course"), blocks(WHOLE_SET), commands()
    assert sorted(heads) == sorted(HEADS)
    for name in ("lib", "tools", "book/exercises"):
        shutil.copytree(COURSE / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("LICENSE", "LICENSE-TEXT"):
        shutil.copy(COURSE / name, root)
    for line in first:
        subprocess.run(["sh", "-e", "-c", line], cwd=root, check=True)
    grade = root / "lib" / "byhand" / "grade"
    for name in HEADS[:5]:
        (grade / name).write_text(heads[name])
    cells = [("markdown", heads[HEADS[5]]), ("code", heads[HEADS[6]])]
    for number, kind in enumerate(KINDS, start=1):
        for name, text in pieces(number, kind).items():
            if name.endswith("questions.py"):
                whole = (grade / name).read_text().rstrip()
                assert whole.endswith("\n)")
                (grade / name).write_text(whole[:-1] + text + ")\n")
            elif name.endswith(".ipynb"):
                stub = pieces(number, kind)["sets/s18_mine/stubs.py"]
                cells += [("markdown", text), ("code", stub), ("code", f"check(ahead{number})"), ("code", f'# hint("18.{number}")')]
            else:
                with (grade / name).open("a") as file:
                    file.write("\n\n" + text)
    page = {"cells": [{"cell_type": kind, "id": f"c{i}", "metadata": {}, "source": text} | ({"outputs": [], "execution_count": None} if kind == "code" else {})
                      for i, (kind, text) in enumerate(cells)], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (root / "book" / "exercises" / "ex18_mine.ipynb").write_text(json.dumps(page))
    return root, {line: run(root, *(line.split()[1:] if line.startswith("python ") else ["-m", "byhand.grade", *line.split()[1:]])) for line in then}


def test_each_command_of_the_recipe_ends_well(made):
    root, said = made
    assert [line.split()[0] for line in said] == ["python", "byhand-grade", "python", "byhand-grade"]
    assert said["byhand-grade selfcheck 18"] == "0 problems\n" and said["python tools/make_expected.py 18"].count("\n") == 1
    page = (root / "book" / "exercises" / "ex18_mine.ipynb").read_text()
    assert "**Part 1**, 20 minutes, 4 points" in page and "to be written" not in page and "predict, 5 minutes (section 4.2)" in page
    given = {p.name for p in (root / "new").rglob("*")}
    assert {"ex18_mine.ipynb", "s18_mine", "expected.npz", "README.md"} <= given and not [x for x in given if "reference" in x]
    assert "more keys" not in "".join(p.read_text() for p in (root / "new").rglob("*.py"))


@confined
def test_it_is_collected_and_graded(made):
    root, _ = made
    right = [f"def ahead{i}(m, gap):\n    return 1 / (1 + (m - 1) * {'(-gap).exp()' if i == 4 else 'np.exp(-gap)'})" for i in (1, 2, 3, 4)]
    (root / "in").mkdir()
    (root / "in" / "ann.ipynb").write_bytes(notebook("import numpy as np", *right))
    (root / "in" / "ben.ipynb").write_bytes(notebook("import numpy as np", *right[:2], right[2].replace("(m - 1)", "m"), right[3]))
    for words in ("collect 18 in", "grade 18", "export 18"):
        said = run(root, "-m", "byhand.grade", *words.split())
    assert [line.split(",")[:3] for line in said.splitlines()[1:]] == [["ann", "graded", "4"], ["ben", "graded", "3"]]
