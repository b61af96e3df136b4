"""A notebook that was downloaded alone says where the course is, once the build knows it."""

import json
from pathlib import Path

import address
import pytest
import run_notebooks

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
                          f"#     pip install -r course/requirements.txt{kept}")
    assert "import" in kept and address.alone(after, HERE) == after


@pytest.mark.parametrize("repository", ["", HERE])
def test_buttons_lead_somewhere_or_are_not_there(repository, monkeypatch):
    class Config:
        html_theme_options = {"logo": {}}

    monkeypatch.setattr(address, "REPOSITORY", repository)
    address.prepare(None, Config)
    options = Config.html_theme_options
    assert ("launch_buttons" in options) == ("repository_url" in options) == bool(repository)
