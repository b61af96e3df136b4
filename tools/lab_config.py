"""JupyterLab's settings for `make lab`: opening a notebook, even if Lab then saves it by itself, changes no byte of it.

Lab writes the version of Python into every notebook that it opens, and what is folded a second time.
"""

import copy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from run_notebooks import CELL_METADATA, METADATA


def as_stored(model, **_):
    """A notebook keeps the metadata that it has in the repository."""
    if model["type"] == "notebook":
        model["content"]["metadata"].update(copy.deepcopy(METADATA))
        for cell in model["content"]["cells"]:
            cell["metadata"] = {key: value for key, value in cell["metadata"].items() if key in CELL_METADATA}


c = get_config()  # noqa: F821  (Jupyter runs this file)
c.FileContentsManager.pre_save_hook = as_stored
