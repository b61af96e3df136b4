"""A notebook that was downloaded alone says where the course is, once the build knows it."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import address
import pytest
import run_notebooks
from rewritten import rewritten

ROOT = Path(__file__).resolve().parents[1]
HERE = "https://github.com/someone/course"


@pytest.mark.parametrize("path", run_notebooks.all_notebooks(ROOT), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_notebook_alone_names_the_course(path):
    before = path.read_text(encoding="utf-8")
    after = address.alone(before, HERE)
    old, new = (["".join(cell["source"]) for cell in json.loads(text)["cells"]] for text in (before, after))
    (changed,) = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
    kept = changed[0].partition("requirements.txt")[2]
    assert changed[1] == (f"# Opened alone? Get the course first:\n#     git clone {HERE} course\n"
                          f"#     cd course && pip install -r requirements.txt{kept}")
    assert "import" in kept and address.alone(after, HERE) == after


def forge(folder: Path) -> Path:
    """A repository to clone: what pip reads of the course."""
    folder.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "requirements.txt", "constraints.txt"):
        shutil.copy(ROOT / name, folder / name)
    (folder / "lib/byhand").mkdir(parents=True)
    shutil.copy(ROOT / "lib/byhand/__init__.py", folder / "lib/byhand")
    me = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], [*me, "commit", "-q", "-m", "The course"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


def followed(module, folder: Path) -> subprocess.CompletedProcess:
    """The commands of a notebook that was downloaded alone, typed in a new folder; pip looks and installs nothing, and
    everything but the course is there."""
    notebook = (ROOT / "book/04_attention.ipynb").read_text(encoding="utf-8")
    cells = json.loads(module.alone(notebook, str(forge(folder / "forge"))))["cells"]
    code = next(text for cell in cells if "Opened alone" in (text := "".join(cell["source"])))
    commands = re.findall(r"(?m)^#     (.+)$", code)
    assert len(commands) == 2 and commands[0].startswith("git clone ")
    (folder / "downloads").mkdir()
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "GIT_"))} | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PIP_DRY_RUN": "1", "PIP_NO_DEPS": "1",
        "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    for command in commands:  # a shell each, as behind `!` in a cell
        done = subprocess.run(command, shell=True, cwd=folder / "downloads", env=env, capture_output=True, text=True)
        if done.returncode:
            break
    return done


def test_pip_follows_what_a_notebook_alone_says(tmp_path):
    done = followed(address, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Would install byhand-" in done.stdout


def test_a_recipe_that_pip_cannot_follow_is_seen(tmp_path):
    old = rewritten(ROOT / "_ext/address.py", "cd course && pip install -r requirements.txt\")",
                    "pip install -r course/requirements.txt\")")
    done = followed(old, tmp_path)
    assert done.returncode != 0 and "does not appear to be a Python project" in done.stderr


@pytest.mark.parametrize("repository", ["", HERE])
def test_buttons_lead_somewhere_or_are_not_there(repository, monkeypatch):
    class Config:
        html_theme_options = {"logo": {}}

    monkeypatch.setattr(address, "REPOSITORY", repository)
    address.prepare(None, Config)
    options = Config.html_theme_options
    assert ("launch_buttons" in options) == ("repository_url" in options) == bool(repository)
