"""Chapter 11: checkpoints: the trees of a run as safetensors, and beside them JSON with their digest and its settings.

A checkpoint is `step-000120.json` and the `step-000120-….safetensors` that it names. The data are written first, under
a name made of their digest, the JSON last and in one step: at any moment a folder holds whole checkpoints only.
"""

import hashlib
import json
import os
import re
import signal
import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from byhand import guard
from byhand.io.files import write_whole
from byhand.io.safetensors import load_safetensors, save_safetensors
from byhand.tree import flatten, map_tree

FORMAT, NAME = 1, re.compile(r"step-(\d{6}|[1-9]\d{6,})\.json")


class Checkpoint(NamedTuple):
    step: int
    trees: dict  # part → tree: params, state, …
    meta: dict  # what JSON can hold; "config" is compared when it is loaded


def save_checkpoint(folder: str | Path, step: int, trees: dict, meta: dict | None = None, keep: int = 2) -> Path:
    """Write one checkpoint, then remove all but the last `keep`. The path of its JSON.

    Killed at any point, it leaves the checkpoint before it whole. Raises ValueError if the folder holds a later step.
    """
    folder, name = Path(folder), _name("save_checkpoint", step)
    guard.count("save_checkpoint", keep=keep)
    if steps := [s for s in checkpoints(folder) if s > step]:
        raise ValueError(f"save_checkpoint: step is {step} but {folder} holds step {steps[-1]}, expected a later one, "
                         "or another folder")
    try:
        meta = _plain(meta or {})
    except (TypeError, ValueError) as error:
        raise TypeError(f"save_checkpoint: meta is not JSON ({error}), expected text, numbers, lists, dicts") from None
    folder.mkdir(parents=True, exist_ok=True)
    new = folder / "new.safetensors"
    save_safetensors(trees, new)
    digest = _digest(new)
    data = folder / f"{name}-{digest[:16]}.safetensors"
    os.replace(new, data)
    _sync(folder)  # the data are on the disk before anything names them
    body = {"format": FORMAT, "step": step, "file": data.name, "bytes": data.stat().st_size, "sha256": digest,
            "meta": meta}
    path = folder / f"{name}.json"
    write_whole(path, json.dumps(body | {"seal": _seal(body)}, indent=1).encode())
    _sync(folder)
    _remove_old(folder, keep, data.name)
    return path


def load_checkpoint(
    folder: str | Path, like: dict | None = None, config: Any = None, step: int | None = None
) -> Checkpoint:
    """The last checkpoint, or that of `step`.

    Every part that `like` has must have exactly its names, shapes and dtypes, and comes back in its order; `config`
    must equal the saved one. Raises FileNotFoundError where there is none, and ValueError for one that is damaged, cut
    short or of another model; the error names the last one that is whole. It never falls back to it by itself.
    """
    folder, steps = Path(folder), checkpoints(folder)
    if not steps:
        raise FileNotFoundError(f"load_checkpoint: no checkpoint in {folder}")
    step = steps[-1] if step is None else step
    if step not in steps:
        raise ValueError(f"load_checkpoint: step is {step}, expected one of those in {folder}: "
                         f"{', '.join(map(str, steps))}")
    try:
        trees, meta = _read(folder, step)
    except ValueError as error:
        whole = next((s for s in reversed(steps) if s != step and _is_whole(folder, s)), None)
        way = "no other checkpoint there is whole" if whole is None else (
            f"step {whole} is whole: load it with step={whole}"
            + (f", or delete {_name('', step)}.json to go on from there" if whole < step else ""))
        raise ValueError(f"load_checkpoint: {error}; {way}") from error
    where = f"load_checkpoint: {_name('', step)} of {folder}"
    if config is not None and (differ := _differences(meta.get("config"), _plain(config))):
        raise ValueError(f"{where} is of another run: {'; '.join(differ)}")
    for part, tree in (like or {}).items():
        if part not in trees:
            raise ValueError(f"{where} has {', '.join(trees)}, expected {part} too")
        _same_leaves(f"{where}: {part}", flatten(trees[part]), flatten(tree))
        trees[part] = map_tree(lambda _, x: x, tree, trees[part])
    return Checkpoint(step, trees, meta)


def checkpoints(folder: str | Path) -> list[int]:
    """The steps that the folder holds, in ascending order; whether they are whole, loading them tells."""
    found = (NAME.fullmatch(path.name) for path in Path(folder).glob("step-*.json"))
    return sorted(int(match[1]) for match in found if match)


class InterruptsHeld:
    """with InterruptsHeld(): … Ctrl-C inside waits until the end, so that what belongs together happens together."""

    def __enter__(self):
        self.came, self.before = [], None
        if threading.current_thread() is threading.main_thread():  # interrupts arrive nowhere else
            self.before = signal.getsignal(signal.SIGINT)
        if self.before is not None:
            signal.signal(signal.SIGINT, lambda *_: self.came.append(True))

    def __exit__(self, *_):
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)
        if self.came:
            signal.raise_signal(signal.SIGINT)


def _name(where, step):
    guard.count(where, low=0, step=step)
    return f"step-{step:06d}"


def _plain(value):
    """As it will be after JSON: tuples are lists, keys are text."""
    return json.loads(json.dumps(value, allow_nan=False))


def _seal(body):
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(folder):
    """A new name in a folder lasts through a power cut only once the folder itself is on the disk."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _remove_old(folder, keep, newest):
    """JSON first: data without it are no checkpoint, while it without its data would be a damaged one."""
    steps = checkpoints(folder)
    for step in steps[:-keep]:
        (folder / f"{_name('', step)}.json").unlink()
    kept = {_name("", step) for step in steps[-keep:]}
    for path in [*folder.glob("step-*.safetensors"), *folder.glob("*.part")]:
        name = path.name.rpartition("-")[0]
        if name not in kept or name == _name("", steps[-1]) and path.name != newest:
            path.unlink()


def _read(folder, step):
    """Trees and meta of a step; ValueError, with what is wrong, unless every byte is what was written."""
    path = folder / f"{_name('', step)}.json"
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        seal = body.pop("seal")
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise ValueError(f"{path} is damaged or cut short ({error})") from error
    if seal != _seal(body):
        raise ValueError(f"{path} is damaged: it has not the digest that it states")
    if body["format"] != FORMAT:
        raise ValueError(f"{path} has format {body['format']}, expected {FORMAT}")
    data = folder / body["file"]
    if not data.is_file():
        raise ValueError(f"{data} is missing, which {path.name} names")
    if data.stat().st_size != body["bytes"]:
        raise ValueError(f"{data} is cut short or grown: it has {data.stat().st_size} bytes, expected {body['bytes']}")
    if _digest(data) != body["sha256"]:
        raise ValueError(f"{data} is damaged: its bytes have not the digest that {path.name} states")
    if body["step"] != step:
        raise ValueError(f"{path} holds step {body['step']}, expected {step}: it was renamed")
    return load_safetensors(data), body["meta"]


def _is_whole(folder, step):
    try:
        return bool(_read(folder, step))
    except (ValueError, OSError):
        return False


def _differences(got, expected, name="config"):
    if isinstance(got, dict) and isinstance(expected, dict):
        keys = sorted(got.keys() | expected.keys())
        return [text for key in keys for text in _differences(got.get(key), expected.get(key), key)]
    return [] if got == expected else [f"{name} is {got!r}, expected {expected!r}"]


def _same_leaves(where, got, expected):
    if got.keys() != expected.keys():
        lacks, more = (", ".join(sorted(a.keys() - b.keys())) for a, b in ((expected, got), (got, expected)))
        raise ValueError(f"{where} lacks {lacks or 'nothing'} and has {more or 'nothing'} beyond what was expected")
    for name, x in expected.items():
        mine, other = ((str(np.asarray(a).dtype), np.shape(a)) for a in (x, got[name]))
        if mine != other:
            raise ValueError(f"{where} has {name} as {other[0]} {other[1]}, expected {mine[0]} {mine[1]}")
