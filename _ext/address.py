"""Where the course is kept, if BOOK_REPOSITORY says so, such as https://github.com/someone/transformers-by-hand:
pages get launch buttons, and a notebook that is downloaded alone says how to get the rest. BOOK_HUB, the address of a
JupyterHub, adds a button for that. Without these settings nothing is shown that would lead nowhere."""

import os
import re
from pathlib import Path

REPOSITORY, HUB = os.environ.get("BOOK_REPOSITORY", "").rstrip("/"), os.environ.get("BOOK_HUB", "").rstrip("/")
ALONE = re.compile(r'# Opened alone(?:[^"\\]|\\n",\s+")*?pip install -r requirements\.txt')
NEWLINE = '\\n",\n    "'


def alone(text, repository):
    """A notebook's source, in which the comment that begins "Opened alone" names the repository. Its lines work in a
    shell and behind `!` in a cell; pip runs in the course's folder, for there the `-e .` of its list is the course."""
    lines = "# Opened alone? Get the course first:", f"#     git clone {repository} course", (
        "#     cd course && pip install -r requirements.txt")
    return ALONE.sub(lambda _: NEWLINE.join(lines), text)


def prepare(app, config):
    """Buttons of the theme, for pages that are notebooks; the branch is the one that BOOK_BRANCH names, or main."""
    if REPOSITORY:
        config.html_theme_options |= {
            "repository_url": REPOSITORY, "repository_branch": os.environ.get("BOOK_BRANCH", "main"),
            "path_to_docs": "", "use_repository_button": True,
            "launch_buttons": {"binderhub_url": "https://mybinder.org", "colab_url": "https://colab.research.google.com"}
            | ({"jupyterhub_url": HUB} if HUB else {})}


def finish(app, exception):
    if REPOSITORY and not exception and app.builder.format == "html":
        for path in (Path(app.outdir) / "_sources").rglob("*.ipynb"):
            path.write_text(alone(path.read_text(encoding="utf-8"), REPOSITORY), encoding="utf-8")


def setup(app):
    app.connect("config-inited", prepare, priority=900)
    app.connect("build-finished", finish)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
