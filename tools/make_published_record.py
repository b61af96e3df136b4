"""Write book/data/published_record.npz: what the two published models give in the cells of chapter 17.

    make weights && .venv/bin/python tools/make_published_record.py

The cells of sections 17.2 to 17.4 run here as they stand, after the imports; whatever goes through `on_record` is kept.
Its SHA-256 is put where byhand.data and LICENSES.md have the old one.
"""

import hashlib
import io
import re
from pathlib import Path

import matplotlib
import nbformat
import numpy as np
from byhand import data
from byhand.pretrained import record

ROOT = Path(__file__).parents[1]
FILE = ROOT / "book" / "data" / "published_record.npz"


def cells() -> list[str]:
    """Code of the cells before the first section, and of those of 17.2 to 17.4."""
    section, found = "", []
    for cell in nbformat.read(ROOT / "book" / "17_capstone.ipynb", as_version=4).cells:
        if cell.cell_type == "markdown":
            section = ([section] + re.findall(r"(?m)^## (17\.\d+)", cell.source))[-1]
        elif section in ("", "17.2", "17.3", "17.4"):
            found.append(cell.source)
    return found


if __name__ == "__main__":
    matplotlib.use("agg")
    data.published_record = lambda: {}
    record.published_record, record.WANTED = (lambda: {}), {}
    names = {"__name__": "chapter"}
    for source in cells():
        exec(source, names)  # noqa: S102
    file = io.BytesIO()
    np.savez_compressed(file, **record.WANTED)
    FILE.write_bytes(file.getvalue())
    now = hashlib.sha256(FILE.read_bytes()).hexdigest()
    for page in (ROOT / "lib/byhand/data.py", ROOT / "book/data/LICENSES.md"):
        text = page.read_text(encoding="utf-8")
        new = re.sub(r'(published_record\.npz(?:": "|`.*\| `))[0-9a-f]*', rf"\g<1>{now}", text)
        page.write_text(new, encoding="utf-8", newline="\n")
    print(f"{FILE.stat().st_size} bytes, {len(record.WANTED)} arrays, {now}")
