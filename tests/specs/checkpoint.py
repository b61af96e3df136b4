# ruff: noqa: E501
"""Checkpoints: what is saved comes back, what is not whole is refused by name, and no cut of the power loses the last."""

import hashlib
import io
import json
import os
import signal
import stat
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from byhand import tree
from byhand.io.safetensors import save_safetensors
from invariants import raises, same
from mutants import M
from proofs import as_shipped


def trees(k=0):
    """A run in small: the leaves of every kind that a checkpoint holds, other ones for every k."""
    W = np.arange(6.0).reshape(2, 3) + k
    return {"params": {"layer": {"W": W, "b": np.float32([k, 1])}, "E": np.full((2, 2), k, np.float32)},
            "state": {"t": np.array(k), "m": {"W": -W}}, "history": {"loss": np.zeros(k)}}


def equal(a, b):
    a, b = tree.flatten(a), tree.flatten(b)
    assert a.keys() == b.keys()
    for name in a:
        assert a[name].dtype == b[name].dtype
        same(a[name], b[name], name)


def new_folder():
    """In memory where there is such a place: hundreds of syncs of a disk take long."""
    return tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)


@contextmanager
def folder_with(module, *steps, keep=9, meta=None):
    with new_folder() as name:
        for step in steps:
            module.save_checkpoint(name, step, trees(step), meta, keep)
        yield Path(name)


def data_of(folder, step):
    return folder / json.loads((folder / f"step-{step:06d}.json").read_text())["file"]


# What comes back


def what_was_saved_comes_back(module):
    meta = {"config": {"d": 4, "betas": (0.9, 0.1 + 0.2)}, 2: "Größe", "10": None, "seen": 1e-300}
    with folder_with(module, 3, 999_999, 1_000_000, meta=meta) as folder:
        assert module.checkpoints(folder) == [3, 999_999, 1_000_000]
        for step in (3, 999_999, 1_000_000, None):
            found = module.load_checkpoint(str(folder), step=step)
            assert found.step == (step or 1_000_000)
            equal(found.trees, trees(found.step))
            assert found.meta == json.loads(json.dumps(meta)) and found.meta["config"]["betas"][1] == 0.1 + 0.2
        assert module.load_checkpoint(folder, step=3, like={"params": trees()["params"]}).trees["params"].keys() == {"layer", "E"}
    with new_folder() as name:
        path = module.save_checkpoint(Path(name) / "new" / "folder", 5, trees(5))
        assert path == Path(name) / "new" / "folder" / "step-000005.json" and path.is_file()
        assert module.load_checkpoint(path.parent).meta == {}


def it_comes_back_in_the_order_of_like(module):
    """A norm is a sum over leaves: in another order it would be another number in its last bit."""
    names = list("zyxabc")
    params = {"q": {name: np.ones(1) for name in names}, "a": {"s": np.ones(1)}}
    with new_folder() as folder:
        module.save_checkpoint(folder, 1, {"params": params})
        found = module.load_checkpoint(folder, {"params": params}).trees["params"]
        assert list(found) == ["q", "a"] and list(found["q"]) == names


def the_last_ones_are_kept(module):
    with folder_with(module) as folder:
        (folder / "notes.txt").write_text("mine")
        (folder / "step-000001.jsonqwertz.part").write_text("{")  # what a kill leaves behind
        (folder / "step-000002-0123456789abcdef.safetensors").write_text("")
        for step in range(4):
            module.save_checkpoint(folder, step, trees(step))
            assert module.checkpoints(folder) == list(range(max(0, step - 1), step + 1))
        assert len(list(folder.iterdir())) == 5 and (folder / "notes.txt").read_text() == "mine"
        module.save_checkpoint(folder, 3, trees(8), keep=1)  # the same step again
        assert len(list(folder.iterdir())) == 3
        equal(module.load_checkpoint(folder).trees, trees(8))


def nothing_is_lost_to_a_second_run(module):
    with folder_with(module, 7) as folder:
        raises(ValueError, "save_checkpoint: step is 3 but .* holds step 7, expected a later one",
               lambda: module.save_checkpoint(folder, 3, trees(3)))
        assert module.checkpoints(folder) == [7] and len(list(folder.iterdir())) == 2


# What is not whole


def every_damage_is_refused(module):
    """One bit of any byte of either file, and a cut at any length."""
    with folder_with(module, 1, 2) as folder:
        for path in (folder / "step-000002.json", data_of(folder, 2)):
            right = path.read_bytes()
            for i in range(0, len(right), 11):
                path.write_bytes(right[:i] + bytes([right[i] ^ 1]) + right[i + 1:])
                raises(ValueError, rf"{path.name} (is|has).*; step 1 is whole: load it with step=1, or delete step-000002.json",
                       lambda: module.load_checkpoint(folder))
                path.write_bytes(right[:i])
                raises(ValueError, rf"{path.name} is (damaged or )?cut short", lambda: module.load_checkpoint(folder))
            path.write_bytes(right + b"}")
            raises(ValueError, path.name, lambda: module.load_checkpoint(folder))
            path.write_bytes(right)
        equal(module.load_checkpoint(folder).trees, trees(2))


def other_trees_in_its_place_are_refused(module):
    """As long, and whole in itself, but not the ones that were saved."""
    with folder_with(module, 1, 2) as folder:
        two = data_of(folder, 2)
        right, size = two.read_bytes(), two.stat().st_size
        other = trees(2)
        other["params"]["layer"]["W"] += 1
        save_safetensors(other, two)
        assert two.stat().st_size == size
        raises(ValueError, "is damaged: its bytes have not the digest", lambda: module.load_checkpoint(folder))
        two.write_bytes(right)
        path = folder / "step-000002.json"
        text = path.read_text()
        path.write_text(text.replace(hashlib.sha256(right).hexdigest(), hashlib.sha256(b"").hexdigest()))
        raises(ValueError, "has not the digest that it states", lambda: module.load_checkpoint(folder))
        path.rename(folder / "step-000009.json")
        (folder / "step-000009.json").write_text(text)
        raises(ValueError, "holds step 2, expected 9", lambda: module.load_checkpoint(folder))


def what_is_still_good_is_named(module):
    with folder_with(module, 1, 2, 3) as folder:
        data_of(folder, 3).write_bytes(b"")
        data_of(folder, 2).unlink()
        raises(ValueError, "is cut short.*step 1 is whole: load it with step=1, or delete step-000003.json to go on",
               lambda: module.load_checkpoint(folder))
        raises(ValueError, "is missing, which step-000002.json names; step 1 is whole", lambda: module.load_checkpoint(folder, step=2))
        equal(module.load_checkpoint(folder, step=1).trees, trees(1))
        data_of(folder, 1).write_bytes(b"")
        raises(ValueError, "; no other checkpoint there is whole", lambda: module.load_checkpoint(folder))
        for step in (3, 2):
            (folder / f"step-00000{step}.json").unlink()
        module.save_checkpoint(folder, 2, trees(2))
        data_of(folder, 1).write_bytes(b"")
        raises(ValueError, "step 2 is whole: load it with step=2$", lambda: module.load_checkpoint(folder, step=1))


def another_model_is_refused(module):
    with folder_with(module, 1, meta={"config": {"d": 4, "seed": 1, "model": {"p": 0.1, "heads": 2}}}) as folder:
        def load(**change):
            module.load_checkpoint(folder, {"params": tree.unflatten(tree.flatten(trees()["params"]) | change)})

        load()
        for change, says in (
            ({"layer.W": np.zeros((3, 2))}, r"step-000001 of .*: params has layer.W as float64 \(2, 3\), expected float64 \(3, 2\)"),
            ({"layer.W": np.zeros((2, 3), np.float32)}, r"layer.W as float64 \(2, 3\), expected float32"),
            ({"c": np.zeros(1)}, "params lacks c and has nothing beyond"),
        ):
            raises(ValueError, says, lambda change=change: load(**change))
        raises(ValueError, "params lacks nothing and has E, layer.b beyond",
               lambda: module.load_checkpoint(folder, {"params": {"layer": {"W": np.zeros((2, 3))}}}))
        raises(ValueError, "has .*params.*, expected ema too", lambda: module.load_checkpoint(folder, {"ema": {"W": np.zeros(1)}}))
        module.load_checkpoint(folder, config={"d": 4, "seed": 1, "model": {"p": 0.1, "heads": 2}})
        raises(ValueError, "is of another run: d is 4, expected 8; p is 0.1, expected 0.2$",
               lambda: module.load_checkpoint(folder, config={"d": 8, "seed": 1, "model": {"p": 0.2, "heads": 2}}))
        raises(ValueError, "heads is 2, expected None", lambda: module.load_checkpoint(folder, config={"d": 4, "seed": 1, "model": {"p": 0.1}}))


def wrong_calls_are_refused(module):
    with folder_with(module, 1) as folder:
        raises(FileNotFoundError, "load_checkpoint: no checkpoint in", lambda: module.load_checkpoint(folder / "none"))
        raises(ValueError, "step is 5, expected one of those in .*: 1$", lambda: module.load_checkpoint(folder, step=5))
        before = sorted(folder.iterdir())
        for step, given, meta, keep, error, says in (
            (-1, {}, None, 2, ValueError, "step is -1"), (2.0, {}, None, 2, TypeError, "step is float"),
            (2, {}, None, 0, ValueError, "keep is 0"), (2, trees(), {"a": {1, 2}}, 2, TypeError, "meta is not JSON"),
            (2, trees(), {"a": float("nan")}, 2, TypeError, "meta is not JSON"),
            (2, {"a": [1]}, None, 2, TypeError, "a is list, expected a NumPy array"),
        ):
            with as_shipped():
                raises(error, says, lambda s=step, g=given, m=meta, k=keep: module.save_checkpoint(folder, s, g, m, k))
        assert sorted(folder.iterdir()) == before
        for name in ("step-7.json", "step-0000008.json", "step-000009.json.part", "xstep-000009.json"):
            (folder / name).write_text("{}")
        assert module.checkpoints(folder) == [1] and module.checkpoints(folder / "none") == []


def format_one_is_asked_for(module):
    with folder_with(module, 1) as folder:
        path = folder / "step-000001.json"
        body = json.loads(path.read_text()) | {"format": 2}
        del body["seal"]
        seal = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        path.write_text(json.dumps(body | {"seal": seal}))
        raises(ValueError, "has format 2, expected 1", lambda: module.load_checkpoint(folder))


# Cuts


class Cut(BaseException):
    """The power goes: nothing after it reaches the disk, not even what would tidy up."""


class Torn:
    """A file that gets half of what is written when the power goes."""

    def __init__(self, file, cut):
        self.file, self.cut = file, cut
        self.flush, self.fileno = file.flush, file.fileno

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def write(self, data):
        self.cut(lambda: (self.file.write(data[:len(data) // 2]), self.file.flush()))
        return self.file.write(data)


@contextmanager
def power_for(points):
    """Power for so many changes of the disk: writes, syncs, renames, removals. Gives the list of those that were made."""
    made = []

    def cut(half=None):
        if len(made) >= points:
            if half and len(made) == points:
                half()
            made.append("cut")
            raise Cut
        made.append("ok")

    def counted(real):
        def call(*args, **options):
            cut()
            return real(*args, **options)
        return call

    def opened(real):
        def call(file, mode="r", *args, **options):
            if not set(mode) & set("wax+"):
                return real(file, mode, *args, **options)
            file = real(file, mode, *args, **options)
            try:
                cut()  # an empty file stands there from now on
            except Cut:
                file.close()
                raise
            return Torn(file, cut)
        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in ("replace", "rename", "fsync", "unlink", "remove"):
            patch.setattr(os, name, counted(getattr(os, name)))
        patch.setattr(io, "open", opened(io.open))  # os.fdopen and pathlib open through it too
        yield made


def a_cut_at_any_point_loses_nothing(module):
    """Step 2 is there and step 3 is being written; then step 3 once more. The one before is whole until the new one is."""
    for steps, later in (((1, 2), 3), ((1, 2, 3), 3)):
        outcomes = []
        for points in range(99):
            with folder_with(module, *steps, keep=2) as folder:
                with power_for(points) as made:
                    try:
                        module.save_checkpoint(folder, later, trees(later + 6))
                    except Cut:
                        pass
                found = module.load_checkpoint(folder)
                assert found.step in (steps[-1], later)
                old = int(found.trees["state"]["t"]) == steps[-1]
                equal(found.trees, trees(steps[-1] if old else later + 6))
                outcomes.append(old)
                for step in module.checkpoints(folder):
                    module.load_checkpoint(folder, step=step)
                module.save_checkpoint(folder, 5, trees(5))  # and what the cut left behind is in nobody's way
                module.save_checkpoint(folder, 6, trees(6))
                assert len(list(folder.iterdir())) == 4
                if "cut" not in made:
                    break
        assert points > 8 and outcomes[0] and not outcomes[-1] and sorted(outcomes, reverse=True) == outcomes


def data_are_on_the_disk_before_they_are_named(module):
    """The order that a disk may keep to: file, its name, its folder; then the same for the JSON."""
    seen = []
    with folder_with(module, 1) as folder, pytest.MonkeyPatch.context() as patch:
        replace, fsync = os.replace, os.fsync

        def named(old, new):
            seen.append(Path(new).suffix)
            return replace(old, new)

        def synced(handle):
            seen.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
            return fsync(handle)

        patch.setattr(os, "replace", named)
        patch.setattr(os, "fsync", synced)
        module.save_checkpoint(folder, 2, trees(2))
    assert seen == ["file", ".safetensors", ".safetensors", "folder", "file", ".json", "folder"]


# Ctrl-C


def an_interrupt_waits_for_the_end(module):
    before, seen = signal.getsignal(signal.SIGINT), []
    try:
        try:
            with module.InterruptsHeld():
                signal.raise_signal(signal.SIGINT)
                seen.append("the rest")
            seen.append("after the end")
        except KeyboardInterrupt:
            seen.append("interrupted")
        assert seen == ["the rest", "interrupted"] and signal.getsignal(signal.SIGINT) is before
        with module.InterruptsHeld():
            pass
        raises(ZeroDivisionError, "", lambda: divide(module))
        assert signal.getsignal(signal.SIGINT) is before
    finally:
        signal.signal(signal.SIGINT, before)


def divide(module):
    with module.InterruptsHeld():
        return 1 / 0


def threads_hold_nothing(module):
    """Python refuses a handler anywhere but in the main thread, where interrupts arrive."""
    seen = []

    def work():
        with module.InterruptsHeld():
            seen.append("done")

    thread = threading.Thread(target=work)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading, "excepthook", lambda *_: None)
        thread.start()
        thread.join()
    assert seen == ["done"]


INVARIANTS = {"io.checkpoint": [
    what_was_saved_comes_back, it_comes_back_in_the_order_of_like, the_last_ones_are_kept,
    nothing_is_lost_to_a_second_run, every_damage_is_refused, other_trees_in_its_place_are_refused,
    what_is_still_good_is_named, another_model_is_refused, wrong_calls_are_refused, format_one_is_asked_for,
    a_cut_at_any_point_loses_nothing, data_are_on_the_disk_before_they_are_named, an_interrupt_waits_for_the_end,
    threads_hold_nothing]}


WRONG = [
    M("io.checkpoint.save_checkpoint", "invariant", "JSON written in place",
      '    write_whole(path, json.dumps(body | {"seal": _seal(body)}, indent=1).encode(',
      '    path.write_text(json.dumps(body | {"seal": _seal(body)}, indent=1'),
    M("io.checkpoint.save_checkpoint", "invariant", "JSON before the data",
      "    save_safetensors(trees, new)\n",
      '    write_whole(folder / f"{name}.json", b"{}")\n    save_safetensors(trees, new)\n'),
    M("io.checkpoint.save_checkpoint", "invariant", "data under a name that the next save of the step takes again",
      'f"{name}-{digest[:16]}.safetensors"', 'f"{name}-data.safetensors"'),
    M("io.checkpoint.save_checkpoint", "invariant", "the old ones removed before the new one is there",
      '    new = folder / "new.safetensors"\n',
      "    new = folder / \"new.safetensors\"\n    [path.unlink() for path in folder.glob('step-*')]\n"),
    M("io.checkpoint._remove_old", "invariant", "data removed before the JSON that names them",
      "    for step in steps[:-keep]:\n        (folder / f\"{_name('', step)}.json\").unlink()\n    ", "    ",
      "            path.unlink()\n",
      "            path.unlink()\n"
      "    for step in steps[:-keep]:\n"
      "        (folder / f\"{_name('', step)}.json\").unlink()\n"),
    M("io.checkpoint.save_checkpoint", "invariant", "folder not synced",
      "    _sync(folder)  # the data are on the disk before anything names them\n", ""),
    M("io.checkpoint._read", "invariant", "digest not checked", 'if _digest(data) != body["sha256"]:', "if False:"),
    M("io.checkpoint._read", "invariant", "length not checked",
      'if data.stat().st_size != body["bytes"]:', "if False:"),
    M("io.checkpoint._read", "invariant", "the JSON's own digest not checked", "if seal != _seal(body):", "if False:"),
    M("io.checkpoint.save_checkpoint", "invariant", "sealed before JSON changes the keys",
      "        meta = _plain(meta or {})\n", "        _plain(meta or {})\n        meta = meta or {}\n"),
    M("io.checkpoint.load_checkpoint", "invariant", "falls back without a word",
      "        whole = next(",
      "        return load_checkpoint(folder, like, config, steps[steps.index(step) - 1])\n        whole = next("),
    M("io.checkpoint.load_checkpoint", "invariant", "names one that is damaged too",
      "if s != step and _is_whole(folder, s)", "if s != step"),
    M("io.checkpoint._same_leaves", "invariant", "shapes not compared", "np.shape(a)) for a in", "()) for a in"),
    M("io.checkpoint._same_leaves", "invariant", "dtypes not compared", "(str(np.asarray(a).dtype), np", '("", np'),
    M("io.checkpoint._same_leaves", "invariant", "names not compared",
      "    if got.keys() != expected.keys():", "    if expected.keys() - got.keys():"),
    M("io.checkpoint.load_checkpoint", "invariant", "config not compared", "if config is not None and", "if False and"),
    M("io.checkpoint._differences", "invariant", "config compared at the top alone",
      "    if isinstance(", '    if name == "model":\n        return []\n    if isinstance('),
    M("io.checkpoint.load_checkpoint", "invariant", "order of the file, not of the model",
      "trees[part] = map_tree(lambda _, x: x, tree, trees[part])", "pass"),
    M("io.checkpoint.checkpoints", "invariant", "steps sorted as text",
      "sorted(int(match[1]) for match in found if match)",
      "[int(s) for s in sorted(match[1] for match in found if match)]"),
    M("io.checkpoint.FORMAT", "invariant", "any number is a step", r"(\d{6}|[1-9]\d{6,})", r"(\d+)"),
    M("io.checkpoint._remove_old", "invariant", "one too few kept", "steps[:-keep]", "steps[:1 - keep or None]"),
    M("io.checkpoint._remove_old", "invariant", "everything else in the folder removed",
      '*folder.glob("step-*.safetensors"), *folder.glob("*.part")',
      "p for p in folder.iterdir() if p.suffix != '.json'"),
    M("io.checkpoint._remove_old", "invariant", "what a kill left stays", ', *folder.glob("*.part")]', "]"),
    M("io.checkpoint.save_checkpoint", "invariant", "an earlier step over a later one",
      "s for s in checkpoints(folder) if s > step", ""),
    M("io.checkpoint._read", "invariant", "renamed", 'if body["step"] != step:', "if False:"),
    M("io.checkpoint._read", "invariant", "any format", 'if body["format"] != FORMAT:', "if False:"),
    M("io.checkpoint.save_checkpoint", "invariant", "meta checked after the data are written",
      "(TypeError, ValueError)", "ZeroDivisionError"),
    M("io.checkpoint._name", "invariant", "step not checked", "guard.count(where, low=0, step=step)", "pass"),
    M("io.checkpoint.InterruptsHeld.__exit__", "invariant", "interrupt forgotten",
      "signal.raise_signal(signal.SIGINT)", "pass"),
    M("io.checkpoint.InterruptsHeld.__enter__", "invariant", "interrupt not held",
      "signal.signal(signal.SIGINT, lambda *_: self.came.append(True))", "pass"),
    M("io.checkpoint.InterruptsHeld.__exit__", "invariant", "handler not put back",
      "            signal.signal(signal.SIGINT, self.before)", "            pass"),
    M("io.checkpoint.InterruptsHeld.__enter__", "invariant", "handler set in every thread",
      "threading.current_thread() is threading.main_thread()", "True"),
]
