"""Chapter 11: checkpoints: the trees of a run as safetensors, and beside them JSON with their digest and its settings.

A checkpoint is `step-000120.json` and the `step-000120-….safetensors` that it names. The data are written first, under
a name that no other save has, the JSON last and in one step: at any moment a folder holds whole checkpoints only. What
is removed is older than a whole checkpoint, or was left by a save that was killed; and it is this module's own, as its
seal or its digest proves. So several processes may save in one folder, and none needs to know of the others.
"""

import hashlib
import json
import os
import re
import secrets
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from byhand.check import Index, Size, checked
from byhand.io.files import Locked, plain_json, prepare_folder, seal, sync_folder, write_whole  # noqa: F401
from byhand.io.interrupts import InterruptsHeld  # noqa: F401  (this and `prepare_folder` are found here too)
from byhand.io.safetensors import decode, encode
from byhand.tree import flatten, map_tree

FORMAT = 1
FIELDS = {"step": int, "file": str, "bytes": int, "sha256": str, "meta": dict}  # of the JSON, beside format and seal
STEP = r"step-(?P<step>\d{6}|[1-9]\d{6,})"
JSON = re.compile(rf"{STEP}\.json")
DATA = re.compile(rf"{STEP}-(?P<digest>[0-9a-f]{{16}})(-[0-9a-f]{{16}})?\.safetensors")
PART = re.compile(rf"{STEP}(\.json|-[0-9a-f]{{16}}-[0-9a-f]{{16}}\.safetensors)-[0-9a-f]{{16}}\.part")


class Checkpoint(NamedTuple):
    step: int
    trees: dict  # part → tree: params, state, …
    meta: dict  # what JSON can hold; "config" is compared when it is loaded


@checked
def save_checkpoint(folder: str | Path, step: Index, trees: dict, meta: dict | None = None, keep: Size = 2) -> Path:
    """Write one checkpoint, then remove all but the last `keep` up to it. The path of its JSON.

    Killed at any point, it leaves the checkpoint before it whole. Raises ValueError if the folder holds a later step.
    """
    folder, name = Path(folder), _name(step)
    meta = plain_json("save_checkpoint", "meta", {} if meta is None else meta)
    data = encode("save_checkpoint", trees)
    if steps := [s for s in checkpoints(folder) if s > step]:
        raise ValueError(f"save_checkpoint: step is {step} but {folder} holds step {steps[-1]}, expected a later one, "
                         "or another folder")
    folder.mkdir(parents=True, exist_ok=True)
    path, digest = folder / f"{name}.json", hashlib.sha256(data).hexdigest()
    file = folder / f"{name}-{digest[:16]}-{secrets.token_hex(8)}.safetensors"
    body = {"format": FORMAT, "step": step, "file": file.name, "bytes": len(data), "sha256": digest, "meta": meta}
    with Locked(folder):  # shared by all who save, so that nobody takes what is being changed for remains
        try:
            write_whole(file, data)
            sync_folder(folder)  # the data are on the disk before anything names them
            write_whole(path, json.dumps(body | {"seal": seal(body)}, indent=1).encode())
        except BaseException:
            if not _is_named(path, file.name):
                file.unlink(missing_ok=True)
            raise
        sync_folder(folder)
        _remove_older(folder, step, keep)
    _remove_remains(folder)
    return path


@checked
def load_checkpoint(
    folder: str | Path, like: dict | None = None, config: Any = None, step: Index | None = None
) -> Checkpoint:
    """The last checkpoint, or that of `step`.

    Every part that `like` has must have exactly its names, shapes and dtypes, and comes back in its order; `config`
    must equal the saved one. Raises FileNotFoundError where there is none, and ValueError for one that is damaged, cut
    short or of another model; the error names the last one that is whole. It never falls back to it by itself.
    """
    folder = Path(folder)
    if config is not None:
        config = plain_json("load_checkpoint", "config", config)
    while True:
        steps = checkpoints(folder)
        if not steps:
            raise FileNotFoundError(f"load_checkpoint: no checkpoint in {folder}")
        now = steps[-1] if step is None else step
        if now not in steps:
            raise ValueError(f"load_checkpoint: step is {now}, expected one of those in {folder}: "
                             f"{', '.join(map(str, steps))}")
        try:
            trees, meta = _read(folder, now)
            break
        except FileNotFoundError:
            continue  # a process that saves has removed it since, and has written a later one before
        except ValueError as error:
            whole = next((s for s in reversed(steps) if s != now and _is_whole(folder, s)), None)
            way = "no other checkpoint there is whole" if whole is None else (
                f"step {whole} is whole: load it with step={whole}"
                + (f", or delete {_name(now)}.json to go on from there" if whole < now else ""))
            raise ValueError(f"load_checkpoint: {error}; {way}") from error
    where = f"load_checkpoint: {_name(now)} of {folder}"
    if config is not None and (differ := _differences(meta.get("config"), config)):
        raise ValueError(f"{where} is of another run: {'; '.join(differ)}")
    for part, tree in (like or {}).items():
        if part not in trees:
            raise ValueError(f"{where} has {', '.join(trees)}, expected {part} too")
        _same_leaves(f"{where}: {part}", flatten(trees[part]), flatten(tree))
        trees[part] = map_tree(lambda _, x: x, tree, trees[part])
    return Checkpoint(now, trees, meta)


@checked
def checkpoints(folder: str | Path) -> list[int]:
    """The steps that the folder holds, in ascending order; whether they are whole, loading them tells.

    No folder holds none; one that cannot be listed is an OSError, PermissionError for instance.
    """
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise type(error)(f"checkpoints: {folder} cannot be listed ({error}), expected a folder") from error
    return sorted(int(match["step"]) for match in map(JSON.fullmatch, names) if match)


def _name(step):
    return f"step-{step:06d}"


def _remove_older(folder, step, keep):
    """JSON first: data without it are no checkpoint, while it without its data would be a damaged one."""
    older = [s for s in checkpoints(folder) if s < step]
    for s in older[: max(0, len(older) - keep + 1)]:
        path = folder / f"{_name(s)}.json"
        try:
            data = folder / _body(path)["file"]
        except (ValueError, FileNotFoundError):
            continue  # not written here, or gone
        path.unlink(missing_ok=True)  # another process may be doing the same
        data.unlink(missing_ok=True)


def _remove_remains(folder):
    """What killed saves have left, provided that nobody saves here now: parts, and data that no JSON names."""
    with Locked(folder, alone=True) as quiet:
        names = os.listdir(folder) if quiet else []
        for name in filter(PART.fullmatch, names):
            (folder / name).unlink(missing_ok=True)
        try:
            named = {_body(folder / name)["file"] for name in names if JSON.fullmatch(name)}
        except (ValueError, FileNotFoundError):
            return  # what a damaged one named, nobody knows
        for name in filter(DATA.fullmatch, names):
            path = folder / name
            if name not in named and path.is_file() and _digest(path).startswith(DATA.fullmatch(name)["digest"]):
                path.unlink(missing_ok=True)


def _digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_named(path, data):
    try:
        return _body(path)["file"] == data
    except (ValueError, FileNotFoundError):
        return False


def _body(path):
    """What the JSON of a checkpoint says; ValueError, with what is wrong, unless it is what was written."""
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        stated, got = body.pop("seal"), seal(body)
    except FileNotFoundError:
        if path.is_symlink():
            raise ValueError(f"{path} is a link to nothing, expected a file") from None
        raise
    except IsADirectoryError:
        raise ValueError(f"{path} is a folder, expected a file") from None
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise ValueError(f"{path} is damaged or cut short ({error})") from error
    if stated != got:
        raise ValueError(f"{path} is damaged: it has not the digest that it states")
    if body.get("format") != FORMAT:
        raise ValueError(f"{path} has format {body.get('format')}, expected {FORMAT}")
    for field, kind in FIELDS.items():
        if type(body.get(field)) is not kind:
            raise ValueError(f"{path} has {body.get(field)!r} for {field}, expected {kind.__name__}")
    if not DATA.fullmatch(body["file"]):
        raise ValueError(f"{path} names {body['file']!r}, expected {path.stem}-….safetensors, in its own folder")
    if _name(body["step"]) != path.stem:
        raise ValueError(f"{path} holds step {body['step']}, expected {int(JSON.fullmatch(path.name)['step'])}: "
                         "it was renamed")
    return body


def _read(folder, step):
    """Trees and meta of a step; ValueError, with what is wrong, unless every byte is what was written."""
    path = folder / f"{_name(step)}.json"
    with _opened(path) as (body, file):
        data, size = Path(file.name), os.fstat(file.fileno()).st_size
        if size != body["bytes"]:
            raise ValueError(f"{data} is cut short or grown: it has {size} bytes, expected {body['bytes']}")
        content = file.read()
    if hashlib.sha256(content).hexdigest() != body["sha256"]:
        raise ValueError(f"{data} is damaged: its bytes have not the digest that {path.name} states")
    return decode("load_checkpoint", data, content)[0], body["meta"]


@contextmanager
def _opened(path):
    """What the JSON says, and the data that it names, which once open may be removed by whom it pleases."""
    while True:
        body = _body(path)
        try:
            file = open(path.parent / body["file"], "rb")
            break
        except (FileNotFoundError, IsADirectoryError):
            if _body(path) == body:  # and not replaced by another save of this step
                raise ValueError(f"{path.parent / body['file']} is missing, which {path.name} names") from None
    with file:
        yield body, file


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
