"""Parameter trees: nothing is lost on the way to torch, to disk and back; and a save never leaves half a file.

Each property is a function of the module, so that wrong modules can be tried too; the wrong ones are kept below.
"""

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from byhand import tree
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from mutants import build
from safetensors.numpy import load_file

NAMES = st.text("abWk_1", min_size=1, max_size=3)
LEAVES = st.builds(lambda shape, seed: np.random.default_rng(seed).normal(size=shape),
                   st.lists(st.integers(0, 3), max_size=3), st.integers(0, 99))
TREES = st.dictionaries(NAMES, st.recursive(LEAVES, lambda inner: st.dictionaries(NAMES, inner, min_size=1,
                        max_size=3)),
                        max_size=3)
SOME = settings(max_examples=25, derandomize=True, deadline=None, database=None, phases=[Phase.generate],
                suppress_health_check=[HealthCheck.too_slow])


def example():
    return {"block": {"attention": {"W_q": np.arange(6.0).reshape(2, 3), "b_q": np.float32([1, 2, 3])}},
            "E": np.arange(4, dtype=np.int64)}


def same(a, b):
    """Two trees with the same names in the same order, and leaves equal in shape, dtype and every bit."""
    assert list(a) == list(b)
    for key in a:
        if isinstance(a[key], dict):
            same(a[key], b[key])
        else:
            assert a[key].dtype == b[key].dtype and a[key].shape == b[key].shape
            assert np.ascontiguousarray(a[key]).tobytes() == np.ascontiguousarray(b[key]).tobytes()


def flat_and_back(module, folder):
    @SOME
    @given(TREES)
    def any_tree(nested):
        flat = module.flatten(nested)
        assert all(isinstance(x, np.ndarray) for x in flat.values())
        same(module.unflatten(flat), nested)

    any_tree()
    assert list(module.flatten(example())) == ["block.attention.W_q", "block.attention.b_q", "E"]
    assert module.flatten({}) == module.unflatten({}) == {}


def paths_that_clash_are_refused(module, folder):
    for flat in ({"a": 1, "a.b": 2}, {"a.b": 2, "a": 1}):
        with pytest.raises(ValueError, match="unflatten"):
            module.unflatten(flat)


def mapping_keeps_the_names(module, folder):
    a, b = example(), module.map_tree(lambda x: 2 * x, example())
    same(b, {"block": {"attention": {"W_q": 2.0 * np.arange(6).reshape(2, 3), "b_q": np.float32([2, 4, 6])}},
             "E": 2 * np.arange(4)})
    same(module.map_tree(np.add, a, b), module.map_tree(lambda x: 3 * x, a))
    same(a, example())
    with pytest.raises(ValueError, match="map_tree"):
        module.map_tree(np.add, {"a": 1, "b": 2}, {"a": 1})


def torch_and_back(module, folder):
    tensors = module.to_torch(example())
    assert [str(x.dtype) for x in module.flatten(tensors).values()] == ["torch.float64", "torch.float32", "torch.int64"]
    same(module.from_torch(tensors), example())
    assert module.to_torch(example(), dtype=torch.float32)["E"].dtype == torch.float32
    assert module.to_torch(example(), device="meta")["E"].device.type == "meta"


def torch_has_memory_of_its_own(module, folder):
    arrays = example()
    tensors = module.to_torch(arrays)
    arrays["E"][0] = 9
    assert tensors["E"][0] == 0
    back = module.from_torch(tensors)
    tensors["E"][0] = 8
    assert back["E"][0] == 0
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    module.to_torch({"a": frozen})["a"][0] = 1
    assert frozen[0] == 0


def a_module_becomes_a_tree(module, folder):
    net = torch.nn.ModuleDict({"one": torch.nn.Linear(2, 3), "two": torch.nn.Linear(3, 1, bias=False)})
    found = module.from_torch(net)
    assert list(module.flatten(found)) == list(net.state_dict())
    assert found["one"]["weight"].shape == (3, 2) and list(found["two"]) == ["weight"]
    assert list(module.from_torch(net["one"])) == ["weight", "bias"]  # names without a dot
    net["one"].load_state_dict(module.to_torch(found["one"]))
    grad = torch.nn.Linear(2, 3).weight
    assert isinstance(module.from_torch({"W": grad})["W"], np.ndarray)  # a leaf that requires a gradient


def disk_and_back(module, folder):
    path = folder / "tree.safetensors"

    @SOME
    @given(TREES)
    def any_tree(nested):
        module.save_safetensors(nested, path)
        found = module.load_safetensors(path)
        flat, expected = tree.flatten(found), tree.flatten(nested)
        same(dict(sorted(flat.items())), dict(sorted(expected.items())))

    any_tree()
    module.save_safetensors(example(), path)
    same(dict(sorted(load_file(path).items())), dict(sorted(tree.flatten(example()).items())))
    first = path.read_bytes()
    module.save_safetensors(example(), str(path), {"made": "by hand"})
    assert b"by hand" in path.read_bytes() != first


def rows_and_columns_survive_the_disk(module, folder):
    X = np.arange(6.0).reshape(2, 3)
    module.save_safetensors({"t": X.T, "s": X[:, ::2]}, folder / "views")
    found = module.load_safetensors(folder / "views")
    assert np.array_equal(found["t"], X.T) and np.array_equal(found["s"], X[:, ::2])


def a_failed_save_leaves_the_old_file(module, folder):
    path = folder / "tree.safetensors"
    module.save_safetensors({"a": np.zeros(3)}, path)
    old = path.read_bytes()
    with pytest.raises(TypeError, match="save_safetensors: a is list"):
        module.save_safetensors({"a": [1.0]}, path)
    assert path.read_bytes() == old


def a_failed_write_leaves_the_old_file(module, folder):
    """Whether it fails while writing or at the last step; and nothing else is left."""
    path = folder / "file"
    module.write_whole(path, b"old")
    for step in ("fsync", "replace"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, step, fail)
            with pytest.raises(OSError, match="disk full"):
                module.write_whole(path, b"new")
        assert path.read_bytes() == b"old" and sorted(p.name for p in folder.iterdir()) == [path.name]


def fail(*_):
    raise OSError("disk full")


PROPERTIES = {holds: place for place, some in {
    "tree": [flat_and_back, paths_that_clash_are_refused, mapping_keeps_the_names, torch_and_back,
             torch_has_memory_of_its_own, a_module_becomes_a_tree],
    "io.safetensors": [disk_and_back, rows_and_columns_survive_the_disk, a_failed_save_leaves_the_old_file],
    "io.files": [a_failed_write_leaves_the_old_file]}.items() for holds in some}


@pytest.mark.parametrize("holds", PROPERTIES)
def test_tree(holds, tmp_path):
    holds(build(PROPERTIES[holds]), tmp_path)


# Wrong trees, kept: the story, the property that finds it, and the edit.
WRONG = [
    ("paths forget their parents", flat_and_back, "flatten(value, f\"{prefix}{key}.\")", "flatten(value, f\"{key}.\")"),
    ("only the last parent counts", flat_and_back, "*parents, name = path.split(\".\")",
     "*parents, name = path.split(\".\")[-2:]"),
    ("a leaf is overwritten", paths_that_clash_are_refused, "        if name in node:\n", "        if False:\n"),
    ("a path runs through a leaf", paths_that_clash_are_refused,
     "if not isinstance(node, dict):\n                raise",
     "if not isinstance(node, dict):\n                node = {}\n                continue\n                raise"),
    ("only the first tree is used", mapping_keeps_the_names, "f(value, *rest)", "f(value, *([value] * len(rest)))"),
    ("names are not compared", mapping_keeps_the_names, "other.keys() != tree.keys()", "not other"),
    ("everything becomes float32", torch_and_back, "torch.tensor(np.asarray(x), device=device, dtype=dtype)",
     "torch.tensor(np.asarray(x), device=device, dtype=dtype or torch.float32)"),
    ("the device is forgotten", torch_and_back, "device=device, dtype=dtype)", "dtype=dtype)"),
    ("tensors share memory with the arrays", torch_has_memory_of_its_own,
     "torch.tensor(np.asarray(x), device=device, dtype=dtype)", "torch.as_tensor(x, device=device, dtype=dtype)"),
    ("arrays share memory with the tensors", torch_has_memory_of_its_own, ".numpy().copy()", ".numpy()"),
    ("a state_dict stays flat", a_module_becomes_a_tree,
     "unflatten(flat) if any(\".\" in key for key in flat) else flat", "flat"),
    ("gradients are in the way", a_module_becomes_a_tree, "x.detach().cpu()", "x.cpu()"),
    ("memory order for index order", rows_and_columns_survive_the_disk, "np.asarray(x, order=\"C\") for",
     "x.ravel(order=\"K\").reshape(x.shape) for"),
    ("a scalar becomes a list of one", disk_and_back, "np.asarray(x, order=\"C\") for", "np.ascontiguousarray(x) for"),
    ("metadata is dropped", disk_and_back, "for name, x in leaves.items()}, metadata)",
     "for name, x in leaves.items()})"),
    ("a loaded tree stays flat", disk_and_back, "return unflatten(load_file(path))",
     "return dict(enumerate(load_file(path).items()))"),
    ("written in place", a_failed_write_leaves_the_old_file, "    handle, part = tempfile",
     "    path.write_bytes(data)\n    handle, part = tempfile"),
    ("half a file is left lying about", a_failed_write_leaves_the_old_file, "Path(part).unlink(missing_ok=True)",
     "pass"),
    ("written before it is checked", a_failed_save_leaves_the_old_file, "    leaves = flatten(tree)\n    for",
     "    leaves = flatten(tree)\n    Path(path).write_bytes(b'')\n    for"),
]


@pytest.mark.parametrize(("story", "finds", "old", "new"), WRONG, ids=[story for story, *_ in WRONG])
def test_a_wrong_tree_is_found(story, finds, old, new, tmp_path):
    module = build(PROPERTIES[finds], old, new)
    with pytest.raises((Exception, pytest.fail.Exception)) as found:
        finds(module, Path(tmp_path))
    assert not isinstance(found.value, SyntaxError | NameError)


def test_every_property_finds_something():
    assert {finds for _, finds, *_ in WRONG} == PROPERTIES.keys()
