# ruff: noqa: E501
"""The class to practise with, and the page that walks through it: its commands are run as they are printed."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from byhand.grade.course import cli, sample, submission
from byhand.grade.course.collect import collect, roster_of
from byhand.grade.course.store import Store
from byhand.grade.examine import examine
from byhand.grade.model import make_inputs
from byhand.grade.run import run
from byhand.grade.sets import questions_of, references_of
from confining import confined
from proofs import as_shipped

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "book" / "instructor.md").read_text(encoding="utf-8")


def walk() -> list[str]:
    """The commands of the section, in order."""
    part = re.search(r"^## A class to practise with$(.*?)^## ", GUIDE, re.MULTILINE | re.DOTALL)[1]
    return [line for block in re.findall(r"```bash\n(.*?)```", part, re.DOTALL) for line in block.splitlines()]


@confined
def test_the_guide_runs_as_it_is_printed(tmp_path):
    """In an empty folder with a copy of the library, on eight students; each command ends well, and says what the page says."""
    shutil.copytree(ROOT / "lib", tmp_path / "lib", ignore=shutil.ignore_patterns("*.egg-info"))  # with what is compiled
    tool = tmp_path / "bin" / "byhand-grade"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -W error -m byhand.grade.course.cli "$@"\n')
    tool.chmod(0o755)
    settings = os.environ | {"PATH": f"{tool.parent}:{os.environ['PATH']}", "PYTHONPATH": str(tmp_path / "lib"), "PYTHONDONTWRITEBYTECODE": "1"}
    said, reports = {}, {}
    for line in walk():
        if line.startswith("rm "):
            reports = {p.name: p.read_text(encoding="utf-8") for p in (tmp_path / "grades/04/reports").iterdir()}
        small = line.replace("sample class", "sample class --students 8")
        done = subprocess.run(["sh", "-e", "-c", small], cwd=tmp_path, env=settings, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        said[line] = done.stdout
    told = "\n".join(said.values())
    assert "8 new" not in told and "9 new, 0 known, 0 missing, 1 not on the roster" in told and "2 files: 1006" in told
    assert "7 graded, 1 unreadable" in told and re.search(r"1 of 7  04\.1  no scale", told)
    changes = said[next(line for line in said if "--because" in line)]
    assert changes.splitlines()[1:3] == ["  1002: 14 -> 15", "1 of 8 change"]
    assert sorted(reports) == [f"{n}.html" for n in range(1001, 1009)] and "given by your instructor" in reports["1001.html"]
    assert "https://example.org/course/book/04_attention.html#why-the-scores-are-divided-by-d-k" in reports["1001.html"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bin", "lib"]
    before, after = ((folder / "lib/byhand/grade/sets/s04_attention/cases.py").read_text() for folder in (ROOT, tmp_path))
    assert before == after


def test_the_numbers_of_the_guide_are_those_of_the_class(tmp_path):
    sample.write(tmp_path / "class")
    with Store(tmp_path / "store") as store:
        found = collect(store, tmp_path / "class" / "canvas.zip", roster_of(tmp_path / "class" / "roster.csv"))
        states = [submission.read(store.path(row)).status for row in store.waiting(1)]
    assert (states.count("read"), states.count("unreadable"), len(found.missing), len(found.strangers)) == (27, 2, 1, 1)
    assert "27 are graded, 2 are unreadable, 1 has handed in nothing" in GUIDE
    assert len(found.several) == 2 and found.late == ["1010"] and len(found.known) == 1
    assert sum("no scale" in c or c == "two slips" for c in sample.CONDITIONS) == 2 and "two students forgot to divide" in GUIDE
    assert sample.CONDITIONS[1] == "slip overflow" and sum("overflow" in c for c in sample.CONDITIONS) == 1


def test_the_same_seed_gives_the_same_class():
    assert sample.files(9, 3) == sample.files(9, 3) and sample.files(9, 3)["roster.csv"] != sample.files(9, 4)["roster.csv"]
    for n in (7, 31):
        with pytest.raises(ValueError, match=f"sample: students is {n}, expected 8 to 30"):
            sample.files(n)


@pytest.mark.parametrize("slip", sample.SLIPS)
def test_a_slip_is_the_known_mistake_of_its_name(slip):
    name = sample.SLIPS[slip][0]
    question = next(q for q in questions_of("04") if q.name == name)
    scope = {}
    exec(compile(sample.HEAD.splitlines()[0] + "\n" + "\n\n".join(sample._slipped(sample._functions(), slip)), "slip", "exec"), scope)
    with as_shipped():
        right = {c.name: run(references_of("04")[name], make_inputs(question, c), question).arrays for c in question.public}
        outcomes = examine(question, scope[name], lambda case: _finished(question, case, right))
    assert {o.mutant.name for o in outcomes if o.mutant} == {slip}


def _finished(question, case, right):
    from byhand.grade.judge import finish
    from byhand.grade.run import Result

    return finish(question, make_inputs(question, case), Result("ok", right[case.name])).arrays


def test_every_condition_is_a_file_that_can_be_told_apart():
    import random

    functions = sample._functions()
    for condition in sample.CONDITIONS:
        for _, _, data in sample._handed_in(condition, functions, random.Random(0)):
            if condition not in ("broken file", "empty file"):
                assert json.loads(data)["nbformat"] == 4
                for cell in json.loads(data)["cells"]:
                    if condition != "a syntax error":
                        ast.parse("".join(cell["source"]))


def test_sample_by_command(tmp_path, capsys):
    assert cli.main(["sample", str(tmp_path / "class"), "--students", "8"]) == 0
    assert "Next: byhand-grade collect 04" in capsys.readouterr().out
    assert cli.main(["sample", str(tmp_path / "class"), "--students", "80"]) == cli.WRONG
