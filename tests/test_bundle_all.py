# ruff: noqa: E501
"""One package of all sets, by one command: searched for answers as a small one is, and each of its notebooks runs alone."""

import json
import os
import re
import subprocess
import sys
import zipfile

import pytest
from byhand.grade.course import cli, leaks
from byhand.grade.sets import SETS, notebook_of, questions_of
from proofs import as_shipped

RUN = """
import contextlib, io, json, sys, warnings
import byhand
assert byhand.__file__.startswith(sys.argv[1]), byhand.__file__
warnings.simplefilter("ignore")
for name in sys.argv[2:]:
    scope, said = {"__name__": "__main__"}, io.StringIO()
    with contextlib.redirect_stdout(said):
        for cell in json.load(open(name, encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                assert not cell["outputs"] and cell["execution_count"] is None
                text = "".join(cell["source"])
                exec(compile(text, name, "exec"), scope)
                if text.startswith("check("):
                    print(repr(eval(text, scope)))
    print(name, said.getvalue().count("not attempted"), flush=True)
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The zip, unpacked, and what was searched before it was written."""
    folder, searched, real = tmp_path_factory.mktemp("course"), [], leaks.leaks

    def search(files, set_ids):
        searched.append((dict(files), list(set_ids)))
        return real(files, set_ids)

    with pytest.MonkeyPatch.context() as patch, as_shipped():
        patch.setattr(leaks, "leaks", search)
        assert cli.main(["bundle", "all", "--out", str(folder / "course.zip")]) == 0
    with zipfile.ZipFile(folder / "course.zip") as archive:
        archive.extractall(folder)
    return folder / "course", searched


def test_all_of_it_was_searched_for_the_answers_of_all_sets(package):
    folder, [(files, set_ids)] = package
    assert set_ids == list(SETS)
    assert {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()} == files
    assert not [name for name in files if re.search(r"reference/|solutions/s|course/|selfcheck", name)]


def test_a_number_is_found_at_any_place_and_no_other(package):
    """The search reads all bytes once, whatever lies before them."""
    import numpy as np

    pieces = [np.array([0.1, 0.2, 0.3]) + i for i in range(5)]
    for before in range(9):
        assert leaks._words(b"x" * before + pieces[3].tobytes() + b"y", pieces) == {pieces[3][:1].tobytes()}
    assert leaks._words(b"", pieces) == leaks._words(b"z" * 999, pieces) == leaks._words(bytes(99), pieces) == set()


def test_every_notebook_runs_alone(package):
    """From top to bottom with the starters as they are, in a process that has nothing of the course but the package."""
    folder, _ = package
    names = [notebook_of(set_id) for set_id in SETS]
    assert sorted(p.name for p in folder.glob("*.ipynb")) == sorted(names) and all(f"`{name}`" in (folder / "README.md").read_text() for name in names)
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONSTARTUP")}
    done = subprocess.run([sys.executable, "-c", RUN, str(folder), *names], cwd=folder, capture_output=True, text=True, timeout=600,
                          env=kept | {"BYHAND_PROGRESS": "", "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg", "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines() == [f"{name} {len(questions_of(set_id))}" for set_id, name in zip(SETS, names, strict=True)]
    assert json.loads((folder / names[0]).read_text())["nbformat"] == 4
