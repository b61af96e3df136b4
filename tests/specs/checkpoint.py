# ruff: noqa: E501  (the table of mutants)
"""Checkpoints: what is saved comes back, what is not whole is refused by name, and no cut of the power loses the last."""

import builtins
import fcntl
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
from byhand.io.files import Locked
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
        module.save_checkpoint(path.parent, np.int64(6), trees(6))
        assert module.load_checkpoint(path.parent, step=np.int32(6)).step == 6


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
        for step in range(4):
            module.save_checkpoint(folder, step, trees(step))
            assert module.checkpoints(folder) == list(range(max(0, step - 1), step + 1))
            assert len(list(folder.iterdir())) == 1 + 2 * min(step + 1, 2)
        module.save_checkpoint(folder, 3, trees(8), keep=1)  # the same step again
        assert len(list(folder.iterdir())) == 3 and (folder / "notes.txt").read_text() == "mine"
        equal(module.load_checkpoint(folder).trees, trees(8))
        module.save_checkpoint(folder, 4, trees(4), keep=9)
        module.save_checkpoint(folder, 5, trees(5), keep=4)  # fewer than are to be kept
        assert module.checkpoints(folder) == [3, 4, 5]


def left_by_a_kill(folder):
    """What a save leaves that was killed while it wrote, between data and JSON, and while it wrote the JSON."""
    digest, token = hashlib.sha256(b"data").hexdigest()[:16], "0123456789abcdef"
    (folder / f"step-000001-{digest}-{token}.safetensors-{token}.part").write_bytes(b"da")
    (folder / f"step-000001-{digest}-{token}.safetensors").write_bytes(b"data")
    (folder / f"step-000001.json-{token}.part").write_text("{")
    return 3


def remains_of_a_kill_are_removed(module):
    with folder_with(module, 1) as folder:
        left_by_a_kill(folder)
        module.save_checkpoint(folder, 2, trees(2))
        assert len(list(folder.iterdir())) == 4


def remains_may_belong_to_a_save_that_goes_on(module):
    """While another process saves, nobody knows; the save after it removes them."""
    with folder_with(module, 1) as folder:
        count = left_by_a_kill(folder)
        with Locked(folder):
            module.save_checkpoint(folder, 2, trees(2))
            assert len(list(folder.iterdir())) == 4 + count
        module.save_checkpoint(folder, 3, trees(3))
        assert len(list(folder.iterdir())) == 4


FOREIGN = ("step-best.safetensors", "download.part", "new.safetensors", "step-000001-0123456789abcdef.safetensors",
           "step-000000.json", "step-000001.json.part", "step-000002.json", "probe", "step-000001.safetensors")


def files_of_others_stay(module):
    """Whatever their names: only a seal or a digest shows that a file was written here."""
    with folder_with(module) as folder:
        for name in FOREIGN:
            (folder / name).write_text("mine")
        (folder / "step-000001-fedcba9876543210.safetensors").mkdir()
        module.prepare_folder(folder)
        for step in (3, 4, 5):
            module.save_checkpoint(folder, step, trees(step), keep=1)
        assert all((folder / name).read_text() == "mine" for name in FOREIGN)
        assert module.checkpoints(folder) == [0, 2, 5]
        before = sorted(folder.iterdir())
        left_by_a_kill(folder)  # what a JSON named that cannot be read, nobody knows: the data stay, the parts do not
        module.save_checkpoint(folder, 6, trees(6), keep=9)
        assert len(list(folder.iterdir())) == len(before) + 2 + 1
        (folder / "step-000000.json").unlink()
        (folder / "step-000002.json").unlink()
        module.save_checkpoint(folder, 6, trees(7), keep=9)
        assert len(list(folder.iterdir())) == len(before) + 2 - 2


def a_failed_save_removes_its_data(module):
    """A disk that is full once the data are written must not stay full; but what a JSON names is no longer its own."""
    def failing(when, error):
        real = os.replace

        def replace(old, new):
            if Path(new).suffix != ".json":
                return real(old, new)
            if when == "after":
                real(old, new)
            raise error

        return replace

    for when, error in (("before", OSError(28, "No space left on device")), ("before", KeyboardInterrupt()),
                        ("after", KeyboardInterrupt())):
        with folder_with(module, 1) as folder:
            before = sorted(folder.iterdir())
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(os, "replace", failing(when, error))
                raises(type(error), "", lambda folder=folder: module.save_checkpoint(folder, 2, trees(2)))
            if when == "before":
                assert sorted(folder.iterdir()) == before
            equal(module.load_checkpoint(folder).trees, trees(2 if when == "after" else 1))


def refused(*_, **__):
    raise PermissionError(13, "Permission denied")


def a_folder_is_tried_before_the_run(module):
    with new_folder() as name:
        folder = Path(name) / "new" / "folder"
        assert module.prepare_folder(str(folder)) == folder and list(folder.iterdir()) == []
        module.prepare_folder(folder)
        file = Path(name) / "file"
        file.write_text("mine")
        for bad in (file, file / "below"):
            raises(OSError, f"prepare_folder: {bad} cannot be used .*, expected a folder",
                   lambda bad=bad: module.prepare_folder(bad))
            assert file.read_text() == "mine"
        (folder / "probe").write_text("mine")
        module.prepare_folder(folder)
        assert (folder / "probe").read_text() == "mine"
        for place, function in ((os, "listdir"), (io, "open"), (os, "unlink")):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(place, function, refused)
                raises(PermissionError, "prepare_folder: .*/folder cannot be used .*Permission denied",
                       lambda: module.prepare_folder(folder))


def a_folder_that_cannot_be_listed_is_not_empty(module):
    with new_folder() as name:
        file = Path(name) / "file"
        file.write_text("mine")
        raises(NotADirectoryError, f"checkpoints: {file} cannot be listed", lambda: module.checkpoints(file))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "listdir", refused)
            for call in (module.checkpoints, module.load_checkpoint):
                raises(PermissionError, "checkpoints: .* cannot be listed .*Permission denied",
                       lambda call=call: call(Path(name)))


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
        for bad in ({1: "a", "1": "b"}, {"deep": [{None: 1, "null": 2}]}):
            raises(ValueError, "save_checkpoint: meta has two keys that are '(1|null)' as text, expected keys that stay apart",
                   lambda bad=bad: module.save_checkpoint(folder, 2, {}, bad))
        raises(ValueError, "load_checkpoint: config has two keys that are '1'", lambda: module.load_checkpoint(folder, config={1: 0, "1": 0}))
        deep = []
        for _ in range(100_000):
            deep = [deep]
        raises(ValueError, "step is 5, expected one of those in .*: 1$", lambda: module.load_checkpoint(folder, step=5))
        before = sorted(folder.iterdir())
        for step, given, meta, keep, error, says in (
            (-1, {}, None, 2, ValueError, "step is -1, expected at least 0"), (2.0, {}, None, 2, TypeError, "step is float"),
            (2, {}, None, 0, ValueError, "keep is 0"), (2, trees(), {"a": {1, 2}}, 2, TypeError, "meta is not JSON"),
            (2, trees(), {"a": float("nan")}, 2, TypeError, "meta is not JSON"),
            (2, {"a": [1]}, None, 2, TypeError, "save_checkpoint: a is list, expected a NumPy array"),
            (2, trees(), [1], 2, TypeError, "meta is list, expected a dict"), (2, trees(), {"a": deep}, 2, TypeError, "meta is not JSON"),
        ):
            with as_shipped():
                raises(error, says, lambda s=step, g=given, m=meta, k=keep: module.save_checkpoint(folder, s, g, m, k))
        assert sorted(folder.iterdir()) == before
        for name in ("step-7.json", "step-0000008.json", "step-000009.json.part", "xstep-000009.json"):
            (folder / name).write_text("{}")
        assert module.checkpoints(folder) == [1] and module.checkpoints(folder / "none") == []


def sealed(path, drop=None, **change):
    """The JSON with other contents, and a seal that is right."""
    body = {key: value for key, value in (json.loads(path.read_text()) | change).items() if key not in ("seal", drop)}
    seal = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps(body | {"seal": seal}))


def forged_contents_are_refused(module):
    """A seal can be made anew: each field is looked at, and no file but one of this folder is read."""
    with folder_with(module, 1, 2) as folder:
        path, data = folder / "step-000002.json", data_of(folder, 2)
        right = path.read_text()
        (folder / "below").mkdir()
        for place in (folder.parent / f"{folder.name}.safetensors", folder / "below" / data.name, folder / "x.safetensors"):
            place.write_bytes(data.read_bytes())
        try:
            for says, change in [
                ("has format 2, expected 1", {"format": 2}),
                *((rf"names '.*{file[-12:]}', expected step-000002-….safetensors, in its own folder", {"file": file}) for file in
                  (f"../{folder.name}.safetensors", str(data), f"below/{data.name}", "x.safetensors", f"./{data.name}")),
                ("has 2.0 for step, expected int", {"step": 2.0}), ("has None for meta, expected dict", {"meta": None}),
                ("has True for step, expected int", {"step": True}),
                *((f"has None for {name}, expected" if name != "format" else "has format None", {"drop": name}) for name in
                  ("format", "step", "file", "bytes", "sha256", "meta")),
            ]:
                sealed(path, **change)
                raises(ValueError, f"step-000002.json {says}.*; step 1 is whole: load it with step=1", lambda: module.load_checkpoint(folder))
                path.write_text(right)
        finally:
            (folder.parent / f"{folder.name}.safetensors").unlink()
        for text in ("[" * 200_000, "[]", "7", "{}", '{"seal": 1}', '{"a":' * 200_000, "\0"):
            path.write_text(text)
            raises(ValueError, "step-000002.json is damaged.*; step 1 is whole", lambda: module.load_checkpoint(folder))
        path.unlink()
        path.symlink_to("nothing")
        raises(ValueError, "step-000002.json is a link to nothing.*; step 1 is whole", lambda: module.load_checkpoint(folder))
        path.unlink()
        path.mkdir()
        raises(ValueError, "step-000002.json is a folder, expected a file; step 1 is whole", lambda: module.load_checkpoint(folder))
        path.rmdir()
        path.write_text(right)
        data.unlink()
        data.mkdir()
        raises(ValueError, "is missing, which step-000002.json names; step 1 is whole", lambda: module.load_checkpoint(folder))


def checkpoints_of_before_are_loaded(module):
    """Data had no token in their name, once."""
    with folder_with(module, 1) as folder:
        data = data_of(folder, 1)
        short = "-".join(data.stem.split("-")[:3]) + ".safetensors"
        data.rename(folder / short)
        sealed(folder / "step-000001.json", file=short)
        equal(module.load_checkpoint(folder).trees, trees(1))
        module.save_checkpoint(folder, 2, trees(2), keep=1)
        assert len(list(folder.iterdir())) == 2


# Several processes


def free(folder):
    """Whether another process could save now; while remains are removed, it would wait."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(handle)


@contextmanager
def between(points, act):
    """`act()` before one change of the disk: that which has `points` others before it. Gives the list of them."""
    made = []

    def counted(real):
        def call(*args, **options):
            if "acting" not in made:
                made.append("change")
                if len(made) == points + 1:
                    made.append("acting")
                    act()
                    made.remove("acting")
            return real(*args, **options)
        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in ("replace", "fsync", "unlink"):
            patch.setattr(os, name, counted(getattr(os, name)))
        yield made


def another_may_save_at_any_point(module):
    """Step 3 is being saved, and before each change of the disk another process saves: the same run, or another.
    At every moment the last checkpoint is whole; in the end every one is, and nothing else is left."""
    for others in ([(3, 3)], [(3, 7)], [(4, 4)], [(3, 3), (4, 4)], [(2, 7)], [(4, 4), (5, 5), (6, 6)]):
        for points in range(99):
            with folder_with(module, 1, 2) as folder:
                def act(folder=folder, others=others):
                    with Locked(folder, alone=True) as alone:
                        assert not alone  # or it would take what is being changed for remains
                    module.load_checkpoint(folder)
                    for step, k in others if free(folder) else ():
                        try:
                            module.save_checkpoint(folder, step, trees(k), keep=1)
                        except ValueError as refused:
                            assert "expected a later one" in str(refused)
                        module.load_checkpoint(folder)

                with between(points, act) as made:
                    module.save_checkpoint(folder, 3, trees(3), keep=1)
                found = module.load_checkpoint(folder)
                assert found.step >= 3 and int(found.trees["state"]["t"]) in (found.step, 7)
                for step in module.checkpoints(folder):
                    module.load_checkpoint(folder, step=step)
                module.save_checkpoint(folder, 7, trees(7), keep=1)
                assert len(list(folder.iterdir())) == 2
                if len(made) <= points:
                    break
        assert 8 < points < 99


def a_reader_gets_what_replaced_its_checkpoint(module):
    """Between a listing, the JSON and the data, a process saves that keeps one checkpoint, three times."""
    def meanwhile(real, folder, steps):
        listing = real is os.listdir

        def call(name, *args, **options):
            out = real(name, *args, **options) if listing else None
            if steps and (listing or str(name).endswith(".safetensors")):
                step, rest, steps[:] = steps[0], steps[1:], []  # what the save itself does is not disturbed
                module.save_checkpoint(folder, step, trees(step + 10), keep=1)
                steps[:] = rest
            return out if listing else real(name, *args, **options)
        return call

    for space, name, saves in ((os, "listdir", ([1], [2], [2, 3, 4])), (builtins, "open", ([1], [2], [1, 1, 1], [2, 3, 4]))):
        for steps in saves:
            with folder_with(module, 1) as folder, pytest.MonkeyPatch.context() as patch:
                patch.setattr(space, name, meanwhile(getattr(space, name), folder, left := list(steps)))
                found = module.load_checkpoint(folder)
                assert not left and found.step == steps[-1]
                equal(found.trees, trees(steps[-1] + 10))
    with folder_with(module, 1) as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "listdir", meanwhile(os.listdir, folder, [2]))
        raises(ValueError, "load_checkpoint: step is 1, expected one of those in .*: 2$", lambda: module.load_checkpoint(folder, step=1))


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
    assert seen == ["file", ".safetensors", "folder", "file", ".json", "folder"]


# Ctrl-C


def an_interrupt_waits_for_the_end(module):
    inherited, seen = signal.signal(signal.SIGINT, signal.default_int_handler), []
    before = signal.getsignal(signal.SIGINT)
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
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # as under nohup: what was ignored stays so
        with module.InterruptsHeld():
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, inherited)


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


def what_json_cannot_keep_is_refused(module):
    """Or it would come back as something else; the rest comes back as JSON has it."""
    assert module.plain_json("f", "x", {"a": (1, 2), 3: None}) == {"a": [1, 2], "3": None}
    deep = []
    for _ in range(100_000):
        deep = [deep]
    for value, error, says in (({1: "a", "1": "b"}, ValueError, "f: x has two keys that are '1' as text"),
                               ({"a": {1, 2}}, TypeError, "f: x is not JSON"), (deep, TypeError, "f: x is not JSON"),
                               (float("nan"), TypeError, "f: x is not JSON")):
        raises(error, says, lambda value=value: module.plain_json("f", "x", value))


INVARIANTS = {"io.checkpoint": [
    what_was_saved_comes_back, it_comes_back_in_the_order_of_like, the_last_ones_are_kept, remains_of_a_kill_are_removed,
    remains_may_belong_to_a_save_that_goes_on, files_of_others_stay, a_failed_save_removes_its_data,
    a_folder_that_cannot_be_listed_is_not_empty, nothing_is_lost_to_a_second_run, every_damage_is_refused,
    other_trees_in_its_place_are_refused, what_is_still_good_is_named, another_model_is_refused, wrong_calls_are_refused,
    forged_contents_are_refused, checkpoints_of_before_are_loaded, another_may_save_at_any_point,
    a_reader_gets_what_replaced_its_checkpoint, a_cut_at_any_point_loses_nothing,
    data_are_on_the_disk_before_they_are_named],
    "io.files": [a_folder_is_tried_before_the_run, what_json_cannot_keep_is_refused],
    "io.interrupts": [an_interrupt_waits_for_the_end, threads_hold_nothing]}


WRONG = [
    M("io.checkpoint.save_checkpoint", "invariant", "JSON written in place",
      '            write_whole(path, json.dumps(body | {"seal": seal(body)}, indent=1).encode())', '            path.write_text(json.dumps(body | {"seal": seal(body)}, indent=1))'),
    M("io.checkpoint.save_checkpoint", "invariant", "JSON before the data",
      "            write_whole(file, data)\n", '            write_whole(path, b"{}")\n            write_whole(file, data)\n'),
    M("io.checkpoint.save_checkpoint", "invariant", "data under a name that the next save of the step takes again",
      '-{secrets.token_hex(8)}.safetensors"', '.safetensors"'),
    M("io.checkpoint.save_checkpoint", "invariant", "data under a name of the step alone",
      "{digest[:16]}-{secrets.token_hex(8)}.safetensors", "{'0' * 16}-{'0' * 16}.safetensors"),
    M("io.checkpoint.save_checkpoint", "invariant", "the old ones removed before the new one is there",
      "            write_whole(file, data)\n", "            _remove_older(folder, step, keep)\n            write_whole(file, data)\n"),
    M("io.checkpoint._remove_older", "invariant", "data removed before the JSON that names them",
      "        path.unlink(missing_ok=True)  # another process may be doing the same\n        data.unlink(missing_ok=True)\n", "        data.unlink(missing_ok=True)\n        path.unlink(missing_ok=True)\n"),
    M("io.checkpoint._remove_older", "invariant", "what another process removed is missed",
      "        path.unlink(missing_ok=True)  # another", "        path.unlink()  # another"),
    M("io.checkpoint._remove_older", "invariant", "data that another process removed are missed",
      "        data.unlink(missing_ok=True)\n", "        data.unlink()\n"),
    M("io.checkpoint._remove_older", "invariant", "older ones that are gone are missed",
      "        except (ValueError, FileNotFoundError):\n            continue", "        except ValueError:\n            continue"),
    M("io.checkpoint._remove_older", "invariant", "later ones of another process removed",
      "if s < step]\n    for s", "if s != step]\n    for s"),
    M("io.checkpoint.save_checkpoint", "invariant", "saved without a lock",
      "    with Locked(folder):", "    if True:"),
    M("io.checkpoint.save_checkpoint", "invariant", "the old ones removed without a lock",
      "        _remove_older(folder, step, keep)\n", "    _remove_older(folder, step, keep)\n"),
    M("io.checkpoint._remove_remains", "invariant", "remains removed while others save",
      "        names = os.listdir(folder) if quiet else []", "        names = os.listdir(folder)"),
    M("io.checkpoint._remove_remains", "invariant", "the lock that is shared is enough",
      "Locked(folder, alone=True)", "Locked(folder)"),
    M("io.checkpoint.save_checkpoint", "invariant", "folder not synced",
      "            sync_folder(folder)  # the data are on the disk before anything names them\n", ""),
    M("io.checkpoint.save_checkpoint", "invariant", "data of a failed save stay",
      "                file.unlink(missing_ok=True)\n", "                pass\n"),
    M("io.checkpoint.save_checkpoint", "invariant", "data removed that the JSON names",
      "            if not _is_named(path, file.name):\n", "            if True:\n"),
    M("io.checkpoint._read", "invariant", "digest not checked",
      '    if hashlib.sha256(content).hexdigest() != body["sha256"]:', "    if False:"),
    M("io.checkpoint._read", "invariant", "length not checked",
      '        if size != body["bytes"]:', "        if False:"),
    M("io.checkpoint._body", "invariant", "the JSON's own digest not checked",
      "    if stated != got:", "    if False:"),
    M("io.checkpoint.save_checkpoint", "invariant", "sealed before JSON changes the keys",
      '    meta = plain_json("save_checkpoint", "meta", {} if meta is None else meta)\n', '    meta = {} if meta is None else meta\n    plain_json("save_checkpoint", "meta", meta)\n'),
    M("io.files.plain_json", "invariant", "keys that JSON merges",
      "        if len(set(keys)) < len(keys):", "        if False:"),
    M("io.checkpoint.save_checkpoint", "invariant", "any meta", "meta: dict | None", "meta: Any"),
    M("io.files.plain_json", "invariant", "a deep meta met by Python alone",
      '    except (TypeError, ValueError, RecursionError) as error:\n        raise TypeError(f"{where}', '    except (TypeError, ValueError) as error:\n        raise TypeError(f"{where}'),
    M("io.checkpoint.load_checkpoint", "invariant", "falls back without a word",
      "            whole = next(", "            return load_checkpoint(folder, like, config, steps[steps.index(now) - 1])\n            whole = next("),
    M("io.checkpoint.load_checkpoint", "invariant", "names one that is damaged too",
      "if s != now and _is_whole(folder, s)", "if s != now"),
    M("io.checkpoint.load_checkpoint", "invariant", "what is gone is not looked for again",
      "            continue  # a process that saves", "            raise  # a process that saves"),
    M("io.checkpoint._opened", "invariant", "what was replaced is not looked at again",
      "            if _body(path) == body:", "            if True:"),
    M("io.checkpoint._same_leaves", "invariant", "shapes not compared",
      "np.shape(a)) for a in", "()) for a in"),
    M("io.checkpoint._same_leaves", "invariant", "dtypes not compared",
      "(str(np.asarray(a).dtype), np", '("", np'),
    M("io.checkpoint._same_leaves", "invariant", "names not compared",
      "    if got.keys() != expected.keys():", "    if expected.keys() - got.keys():"),
    M("io.checkpoint.load_checkpoint", "invariant", "config not compared",
      "    if config is not None and (differ", "    if False and (differ"),
    M("io.checkpoint._differences", "invariant", "config compared at the top alone",
      "    if isinstance(got, dict) and isinstance(expected, dict):", '    if name == "model":\n        return []\n    if isinstance(got, dict) and isinstance(expected, dict):'),
    M("io.checkpoint.load_checkpoint", "invariant", "order of the file, not of the model",
      "trees[part] = map_tree(lambda _, x: x, tree, trees[part])", "pass"),
    M("io.checkpoint.checkpoints", "invariant", "steps sorted as text",
      'sorted(int(match["step"]) for match in map(JSON.fullmatch, names) if match)', '[int(s) for s in sorted(match["step"] for match in map(JSON.fullmatch, names) if match)]'),
    M("io.checkpoint.STEP", "invariant", "any number is a step",
      "(?P<step>\\d{6}|[1-9]\\d{6,})", "(?P<step>\\d+)"),
    M("io.checkpoint._remove_older", "invariant", "one too few kept",
      "len(older) - keep + 1)]", "len(older) - keep + 2)]"),
    M("io.checkpoint._remove_older", "invariant", "one too many kept",
      "len(older) - keep + 1)]", "len(older) - keep)]"),
    M("io.checkpoint._remove_older", "invariant", "few are taken for many from the end",
      "older[: max(0, len(older) - keep + 1)]", "older[: len(older) - keep + 1]"),
    M("io.checkpoint.checkpoints", "invariant", "a folder without rights is empty",
      "    except FileNotFoundError:\n        return []", "    except OSError:\n        return []"),
    M("io.checkpoint._remove_older", "invariant", "any JSON of the name is removed",
      '        try:\n            data = folder / _body(path)["file"]\n        except (ValueError, FileNotFoundError):\n            continue  # not written here, or gone\n', '        data = folder / "none"\n'),
    M("io.checkpoint._remove_remains", "invariant", "any part removed",
      "filter(PART.fullmatch, names)", '[name for name in names if name.endswith(".part")]'),
    M("io.checkpoint._remove_remains", "invariant", "any data of the name removed",
      ' and _digest(path).startswith(DATA.fullmatch(name)["digest"])', ""),
    M("io.checkpoint._remove_remains", "invariant", "folders of the name looked into",
      " and path.is_file() and", " and"),
    M("io.checkpoint._remove_remains", "invariant", "data removed that a damaged JSON may have named",
      "            return  # what a damaged one", "            named = set()  # what a damaged one"),
    M("io.checkpoint._remove_remains", "invariant", "parts of a kill stay",
      "            (folder / name).unlink(missing_ok=True)\n", "            pass\n"),
    M("io.checkpoint._remove_remains", "invariant", "data of a kill stay",
      "                path.unlink(missing_ok=True)\n", "                pass\n"),
    M("io.checkpoint.save_checkpoint", "invariant", "an earlier step over a later one",
      "    if steps := [s for s in checkpoints(folder) if s > step]:", "    if steps := []:"),
    M("io.checkpoint._body", "invariant", "renamed",
      '    if _name(body["step"]) != path.stem:', "    if False:"),
    M("io.checkpoint._body", "invariant", "any format",
      '    if body.get("format") != FORMAT:', "    if False:"),
    M("io.checkpoint._body", "invariant", "any fields",
      "        if type(body.get(field)) is not kind:", "        if False:"),
    M("io.checkpoint._body", "invariant", "truth values are numbers",
      "        if type(body.get(field)) is not kind:", "        if not isinstance(body.get(field), kind):"),
    M("io.checkpoint._body", "invariant", "any file of the disk",
      '    if not DATA.fullmatch(body["file"]):', "    if False:"),
    M("io.checkpoint._body", "invariant", "any file that ends like one",
      '    if not DATA.fullmatch(body["file"]):', '    if not DATA.search(body["file"]):'),
    M("io.checkpoint.DATA", "invariant", "data without a token refused",
      "(-[0-9a-f]{{16}})?", "-[0-9a-f]{{16}}"),
    M("io.checkpoint._body", "invariant", "a deep JSON met by Python alone",
      "KeyError, RecursionError) as error", "KeyError) as error"),
    M("io.checkpoint._body", "invariant", "a folder for the JSON met by Python alone",
      "    except IsADirectoryError:\n", "    except ZeroDivisionError:\n"),
    M("io.checkpoint._opened", "invariant", "a folder for the data met by Python alone",
      "(FileNotFoundError, IsADirectoryError)", "FileNotFoundError"),
    M("io.files.prepare_folder", "invariant", "a folder is made, not tried",
      '        probe.write_bytes(b"probe")\n        probe.unlink()\n', ""),
    M("io.files.prepare_folder", "invariant", "the probe is left",
      "        probe.unlink()\n", ""),
    M("io.files.prepare_folder", "invariant", "a folder that cannot be listed passes",
      "        os.listdir(folder)\n        probe", "        probe"),
    M("io.files.prepare_folder", "invariant", "a probe over a file of that name",
      "probe-{secrets.token_hex(8)}", "probe"),
    M("io.checkpoint.save_checkpoint", "invariant", "meta checked after the data are written",
      '    meta = plain_json("save_checkpoint", "meta", {} if meta is None else meta)\n', '    folder.mkdir(exist_ok=True)\n    write_whole(folder / "early", b"")\n    meta = plain_json("save_checkpoint", "meta", {} if meta is None else meta)\n'),
    M("io.checkpoint.save_checkpoint", "invariant", "step not checked", "step: Index", "step: int"),
    M("io.checkpoint.save_checkpoint", "invariant", "steps of NumPy met by JSON", "@checked\n", ""),
    M("io.interrupts.InterruptsHeld.__exit__", "invariant", "interrupt forgotten",
      "signal.raise_signal(signal.SIGINT)", "pass"),
    M("io.interrupts.InterruptsHeld.__enter__", "invariant", "interrupt not held",
      "signal.signal(signal.SIGINT, lambda *_: self.came.append(True))", "pass"),
    M("io.interrupts.InterruptsHeld.__exit__", "invariant", "handler not put back",
      "            signal.signal(signal.SIGINT, self.before)\n", "            pass\n"),
    M("io.interrupts.InterruptsHeld.__enter__", "invariant", "handler set in every thread",
      "if threading.current_thread() is threading.main_thread():", "if True:"),
]
