"""Run notebooks and write them so that the same cells always give the same bytes.

    python tools/run_notebooks.py                          run every notebook of the book and write it
    python tools/run_notebooks.py book/04_attention.ipynb  run this one
    python tools/run_notebooks.py --check …                run, write nothing, fail if a byte would change
    python tools/run_notebooks.py --text …                 write NAME.nb.md, the notebook as Markdown, beside it
    python tools/run_notebooks.py --from-text …            take the cells from NAME.nb.md, then run and write

What a file never holds: times, versions, the kernel's counters, chunks of output as they happened to arrive.
What it keeps: the ids of its cells, also when their text is edited; and each stored output that is still the same, as
same_output.py has it: a picture that looks the same, digits within the tolerance that their cell declares.
A notebook whose cell raises is not written: the old file stays as it was.
"""

import argparse
import base64
import hashlib
import io
import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path

import fewer_formats  # noqa: F401  (before all that imports nbformat)
import jupytext
import nbformat
import run_times
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, NbvalKernelspecManager
from PIL import Image
from same_output import keep_same, slack
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
CELL_METADATA = {"tags", "mystnb", "jupyter"}  # all that a cell may say about itself; editors add the rest
FOLDED = {"hide-input": ["source_hidden"], "hide-output": ["outputs_hidden"],
          "hide-cell": ["outputs_hidden", "source_hidden"]}  # what the book folds, Lab folds too
TEXT = "md:myst"
SECONDS_A_CELL = 300

# One thread and a fixed hash seed: sums are added in one order, sets are listed in one order.
KERNEL_ENV = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MALLOC_MMAP_THRESHOLD_": str(1 << 25),  # with the next: glibc keeps the memory of large arrays for the next ones;
    "MALLOC_TRIM_THRESHOLD_": str(1 << 30),  # a tenth of a training step, and every number the same
    "PYTHONHASHSEED": "0",
    "BYHAND_PROGRESS": "",  # what a learner has done elsewhere is not shown
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # silences a line of the debugger on stderr
}


class RunError(Exception):
    """This notebook cannot be run or converted; the message says why."""


class ThisPython(AsyncKernelManager):
    """A kernel of the Python that runs this script, as nbval's --nbval-current-env takes it."""

    def __init__(self, **traits):
        super().__init__(**traits | {"kernel_spec_manager": NbvalKernelspecManager()})


def all_notebooks(root=ROOT):
    return sorted((root / "book").glob("*.ipynb")) + sorted((root / "book" / "exercises").glob("*.ipynb"))


def show(path):
    """The path as the reader would type it."""
    path = Path(path).resolve()
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


# ---------------------------------------------------------------- reading, and the ids of cells


def give_ids(cells):
    """Keep every valid id; make the missing ones from what the cell says and where it stands."""
    taken = set()
    for position, cell in enumerate(cells):
        old = cell.get("id")
        if isinstance(old, str) and re.fullmatch(r"[A-Za-z0-9_-]{1,64}", old) and old not in taken:
            new = old
        else:
            source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
            new, turn = None, 0
            while new is None or new in taken:
                new = hashlib.sha256(f"{position} {turn} {cell['cell_type']} {source}".encode()).hexdigest()[:8]
                turn += 1
        cell["id"] = new
        taken.add(new)


def read(path):
    """The notebook at path, in format 4.5. nbformat alone would give missing ids at random."""
    raw = json.loads(Path(path).read_text(encoding="utf-8"))
    if raw.get("nbformat") != 4:
        raise RunError(f"{show(path)}: format {raw.get('nbformat')}; save it as format 4 first")
    raw["nbformat_minor"] = 5
    give_ids(raw["cells"])
    return nbformat.reads(json.dumps(raw), as_version=4)


# ---------------------------------------------------------------- running and writing


def execute(nb, folder, progress=None):
    """Run all cells of nb in place, in a fresh kernel that starts in folder."""
    with tempfile.TemporaryDirectory() as profile:  # nobody's own IPython settings or history
        env = {k: v for k, v in os.environ.items() if k != "MPLBACKEND"}  # the kernel shows figures inline
        env |= KERNEL_ENV | {"IPYTHONDIR": profile}
        client = NotebookClient(
            nb,
            timeout=SECONDS_A_CELL,
            kernel_name=CURRENT_ENV_KERNEL_NAME,
            kernel_manager_class=ThisPython,
            record_timing=False,
            extra_arguments=["--log-level=ERROR"],
            resources={"metadata": {"path": str(folder)}},
            on_cell_executed=lambda **_: progress and progress.update(),
        )
        try:
            client.execute(env=env)
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            raise RunError(str(error)) from error


def merge_streams(outputs):
    """Join neighbouring chunks of one stream: how print was cut up is an accident of timing."""
    merged = []
    for out in outputs:
        last = merged[-1] if merged else None
        if last and out.output_type == last.output_type == "stream" and out.name == last.name:
            last.text += out.text
        else:
            merged.append(out)
    return merged


def small(png):
    """The same picture with a palette of 128 colours: a third of the bytes, and no version of matplotlib inside."""
    image = Image.open(io.BytesIO(base64.b64decode(png)))
    if image.mode == "P" or image.convert("RGBA").getextrema()[3][0] < 255:  # done already, or transparent
        return png
    image = image.convert("RGB").quantize(128, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    file = io.BytesIO()
    image.save(file, "png", optimize=True)
    return min(base64.b64encode(file.getvalue()).decode(), png, key=len)


def canonical(nb):
    """Strip nb, in place, of all that a rerun could change; number its code cells 1..n."""
    nb.cells = [cell for cell in nb.cells if cell.source.strip()]
    nb.metadata = nbformat.from_dict(METADATA)
    count = 0
    for cell in nb.cells:
        cell.source = cell.source.rstrip()
        said = {k: v for k, v in cell.metadata.items() if k in CELL_METADATA - {"jupyter"}}
        folds = sorted({name for tag in said.get("tags", []) for name in FOLDED.get(tag, [])})
        cell.metadata = nbformat.from_dict(said | ({"jupyter": dict.fromkeys(folds, True)} if folds else {}))
        if cell.cell_type != "code":
            continue
        count += 1
        cell.execution_count = count
        cell.outputs = merge_streams(cell.outputs)
        for out in cell.outputs:
            if "execution_count" in out:
                out.execution_count = count
            if "image/png" in out.get("data", {}):
                out.data["image/png"] = small(out.data["image/png"])
            if out.output_type == "error":  # a traceback names files and lines of this machine
                out.traceback = [f"{out.ename}: {out.evalue}"]
    return nb


def keep_stored(new, old):
    """Outputs of `old` that a rerun has not changed stay in `new` byte for byte; cells are matched by id."""
    stored = {cell.id: cell for cell in old.cells if cell.cell_type == "code"}
    for cell in new.cells:
        if cell.cell_type == "code" and cell.id in stored:
            keep_same(stored[cell.id].outputs, cell.outputs, slack(cell))


def to_bytes(nb):
    nbformat.validate(nb)
    return (nbformat.writes(nb, version=4).rstrip("\n") + "\n").encode()


def replace(path, content):
    """Write all of content or nothing."""
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    os.replace(part, path)


def run(path, check=False, from_text=False):
    """Run one notebook; return what to print about it. Raises RunError and then writes nothing."""
    path, start = Path(path), time.monotonic()
    nb = read_text(path) if from_text else read(path)
    code = [cell for cell in nb.cells if cell.cell_type == "code" and cell.source.strip()]
    before = run_times.spent()
    with tqdm(total=len(code), desc=show(path), leave=False, disable=None) as progress:
        execute(nb, path.resolve().parent, progress)
    seconds = run_times.spent() - before
    canonical(nb)
    if path.exists():
        keep_stored(nb, canonical(read(path)))
    new = to_bytes(nb)
    same = path.exists() and path.read_bytes() == new
    if check and not same:
        raise RunError(f"a rerun changes it ({what_changed(read(path), nb)}); run it and look at the difference")
    if not same:
        replace(path, new)
    if not check:
        run_times.note(path, seconds)
    return f"{time.monotonic() - start:6.1f} s {len(new) / 1000:6.0f} kB  {'same' if same else 'written'}"


def what_changed(old, new):
    if len(old.cells) != len(new.cells):
        return f"{len(old.cells)} cells became {len(new.cells)}"
    cells = [str(i) for i, (a, b) in enumerate(zip(old.cells, new.cells, strict=True)) if a != b]
    return f"cells {', '.join(cells)}, counted from 0" if cells else "only the notebook's metadata or layout"


# ---------------------------------------------------------------- the notebook as Markdown


def text_path(path):
    return Path(path).with_suffix(".nb.md")


def write_text(path):
    """NAME.ipynb -> NAME.nb.md. Refuses to lose edits that were not taken back, or a cell that Markdown cannot hold."""
    path, text = Path(path), text_path(path)
    if text.exists() and text.stat().st_mtime > path.stat().st_mtime:
        raise RunError(f"{show(text)} is newer than the notebook: take it back with --from-text, or delete it")
    nb = canonical(read(path))
    for cell in nb.cells:
        cell.pop("attachments", None)
        cell.metadata.pop("jupyter", None)  # follows from the tags
    content = jupytext.writes(nb, fmt=TEXT)
    back = jupytext.reads(content, fmt=TEXT)
    if [(c.cell_type, c.source, c.metadata) for c in nb.cells] != [
        (c.cell_type, c.source, c.metadata) for c in back.cells
    ]:
        raise RunError("its cells do not survive the way to Markdown and back (a line '+++', perhaps?)")
    text.write_text(content, encoding="utf-8", newline="\n")
    return f"{show(text)}"


def read_text(path):
    """NAME.nb.md -> a notebook whose cells carry the ids that they have in NAME.ipynb."""
    text = text_path(path)
    if not text.exists():
        raise RunError(f"there is no {show(text)}: make it with --text first")
    new = jupytext.read(text, fmt=TEXT)
    keep_ids(new.cells, read(path).cells if Path(path).exists() else [])
    give_ids(new.cells)
    new.nbformat_minor = 5
    return new


def keep_ids(new, old):
    """An unchanged cell keeps its id wherever it went; an edited one keeps it where it stands."""
    where = {}
    for j, cell in enumerate(old):
        where.setdefault((cell.cell_type, cell.source.rstrip()), []).append(j)
    match = []
    for cell in new:
        same = where.get((cell.cell_type, cell.source.rstrip()))
        match.append(same.pop(0) if same else None)
    free = set(range(len(old))) - set(match)
    for i, cell in enumerate(new):
        after = (match[i - 1] if i else -1) if match[i] is None else None
        if after is not None and after + 1 in free and old[after + 1].cell_type == cell.cell_type:
            match[i] = after + 1
            free.remove(after + 1)
        cell.pop("id", None)  # jupytext makes one up at random
        if match[i] is not None:
            cell["id"] = old[match[i]].id
            if "attachments" in old[match[i]]:
                cell["attachments"] = old[match[i]].attachments


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebooks", nargs="*", type=Path, help="default: all of book/ and book/exercises/")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--check", action="store_true", help="write nothing; fail if a rerun would change a byte")
    how.add_argument("--text", action="store_true", help="write the notebook as Markdown, NAME.nb.md")
    how.add_argument("--from-text", action="store_true", help="take the cells from NAME.nb.md, then run and write")
    args = parser.parse_args(argv)
    failed = False
    for path in args.notebooks or all_notebooks():
        try:
            if path.suffix != ".ipynb":
                raise RunError("not a notebook: give the name that ends in .ipynb")
            if not path.exists() and not args.from_text:
                raise RunError("no such notebook")
            said = write_text(path) if args.text else run(path, args.check, args.from_text)
            print(f"{show(path):40} {said}", flush=True)
        except RunError as error:
            failed = True
            print(f"{show(path)}: {error}\nNothing was written.", file=sys.stderr, flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
