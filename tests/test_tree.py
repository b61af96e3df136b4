# ruff: noqa: E501  (the table of wrong trees)
"""Parameter trees: nothing is lost on the way to torch, to disk and back; and a save never leaves half a file.

Each property is a function of the module, so that wrong modules can be tried too; the wrong ones are kept below.
"""

import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from byhand import tree
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from mutants import build
from safetensors.numpy import load_file
from torch.nn.utils import parametrize

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
    for flat in ({"a": 1, "a.b": 2}, {"a.b": 2, "a": 1}, {1: 1}, {"a..b": 1}, {"": 1}):
        with pytest.raises(ValueError, match="unflatten"):
            module.unflatten(flat)


def mapping_keeps_the_names(module, folder):
    a, b = example(), module.map_tree(lambda x: 2 * x, example())
    same(b, {"block": {"attention": {"W_q": 2.0 * np.arange(6).reshape(2, 3), "b_q": np.float32([2, 4, 6])}},
             "E": 2 * np.arange(4)})
    same(module.map_tree(np.add, a, b), module.map_tree(lambda x: 3 * x, a))
    same(a, example())
    for one, other, says in (({"a": 1, "b": 2}, {"a": 1}, "another tree has a, expected a, b"), ({}, {"a": 1}, "has a, expected no names"),
                             ({"a": {}}, {"a": 1}, "has int, expected no names"), ({"a": 1}, {"a": {"b": 1}}, "has a subtree at a, expected a leaf")):
        with pytest.raises(ValueError, match=f"map_tree: .*{says}"):
            module.map_tree(np.add, one, other)
    with pytest.raises(TypeError, match="map_tree: tree is list, expected a dict"):
        module.map_tree(np.add, [1], {"a": 1})


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


def the_order_is_that_of_the_file(module, folder):
    names = [f"{letter}{n}" for n in range(9) for letter in "zxy"]
    header = {name: {"dtype": "U8", "shape": [1], "data_offsets": [i, i + 1]} for i, name in enumerate(names)}
    text = json.dumps(header | {"__metadata__": {"k": "v"}}).encode()
    (folder / "file").write_bytes(struct.pack("<Q", len(text)) + text + bytes(range(len(names))))
    found = module.load_safetensors(folder / "file")
    assert list(found) == names and [int(x[0]) for x in found.values()] == list(range(len(names)))


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


def rights_and_links_are_kept(module, folder):
    """A new file as the umask says, an old one as it was; through a link, what it leads to is written."""
    before = os.umask(0o027)
    try:
        for mask, mode in ((0o027, 0o640), (0o002, 0o664), (0o077, 0o600)):
            os.umask(mask)
            module.write_whole(folder / f"{mask}", b"new")
            assert (folder / f"{mask}").stat().st_mode & 0o777 == mode
        (folder / "2").chmod(0o604)
        module.write_whole(folder / "2", b"newer")
        assert (folder / "2").stat().st_mode & 0o777 == 0o604
    finally:
        os.umask(before)
    (folder / "below").mkdir()
    for link, to in (("link", "below/file"), ("again", "link"), ("absolute", folder / "below" / "other")):
        (folder / link).symlink_to(to)
        module.write_whole(folder / link, link.encode())
        assert (folder / link).is_symlink() and (folder / link).read_bytes() == link.encode()
    assert sorted(p.name for p in (folder / "below").iterdir()) == ["file", "other"]
    with pytest.MonkeyPatch.context() as patch:  # there when it was looked for, and then removed by another process
        patch.setattr(os.path, "exists", lambda path: True)
        patch.setattr(Path, "exists", lambda self: True)
        module.write_whole(folder / "gone", b"new")
    assert (folder / "gone").read_bytes() == b"new"


def two_writers_have_parts_of_their_own(module, folder):
    """One begins and ends while the other is between its part and its name."""
    replace = os.replace

    def late(old, new):
        patch.setattr(os, "replace", replace)
        module.write_whole(folder / "file", b"second")
        replace(old, new)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", late)
        module.write_whole(folder / "file", b"first")
    assert (folder / "file").read_bytes() == b"first" and len(list(folder.iterdir())) == 1


def a_lock_is_shared_or_had_alone(module, folder):
    with module.Locked(folder) as one, module.Locked(folder) as two, module.Locked(folder, alone=True) as three:
        assert one and two and not three
    with module.Locked(folder, alone=True) as one, module.Locked(folder, alone=True) as two:
        assert one and not two
    if os.path.isdir("/proc/self/fd"):
        count = len(os.listdir("/proc/self/fd"))
        for alone in (True, False) * 5:
            with module.Locked(folder, alone):
                with module.Locked(folder, alone=True) as held:
                    assert not held
        assert len(os.listdir("/proc/self/fd")) == count
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "fcntl", None)  # a system without locks
        with module.Locked(folder, alone=True) as held:
            assert not held


def types_that_numpy_lacks_become_float32(module, folder):
    """Every number of sixteen and of eight bits, against torch; and a type that is none of them is named."""
    from safetensors.torch import save_file

    bits = torch.arange(1 << 16).to(torch.uint16)
    for kind, x in ((torch.bfloat16, bits), (torch.float8_e4m3fn, bits[:256].to(torch.uint8)), (torch.float8_e5m2, bits[:256].to(torch.uint8))):
        x = x.view(kind).reshape(2, -1)
        save_file({"a.b": x, "a.c": torch.arange(3), "s": x[1, 1].clone()}, folder / "x")
        found, expected = module.load_safetensors(folder / "x"), x.float().numpy()
        assert found["a"]["b"].dtype == np.float32 and found["a"]["b"].shape == x.shape and found["s"].shape == ()
        number = ~np.isnan(expected)
        assert np.array_equal(np.isnan(found["a"]["b"]), ~number) and number.sum() > 240
        assert np.array_equal(found["a"]["b"][number].view(np.uint32), expected[number].view(np.uint32))  # zeros' signs too
        assert np.array_equal(found["a"]["c"], np.arange(3))
        found["a"]["b"][0] = 1  # its own memory
    save_file({"a.b": torch.zeros(2).to(torch.float8_e8m0fnu)}, folder / "x")
    with pytest.raises(ValueError, match=r"load_safetensors: .*/x cannot be read \(a.b is in F8_E8M0, expected one of F64"):
        module.load_safetensors(folder / "x")


def what_cannot_be_saved_is_named(module, folder):
    path = folder / "file"
    for dtype in ("O", "c16", "U3", "S3", "M8[s]", "V4", np.longdouble):
        with pytest.raises(TypeError, match=r"save_safetensors: a.b has dtype \w+.*, expected one of float64, float32"):
            module.save_safetensors({"c": np.ones(2), "a": {"b": np.zeros(2, dtype)}}, path)
    with pytest.raises(ValueError, match="save_safetensors: tree has a leaf __metadata__, a name that the format keeps"):
        module.save_safetensors({"__metadata__": np.ones(2)}, path)
    for metadata in ({"a": 1}, {1: "a"}):
        with pytest.raises(TypeError, match=r"save_safetensors: metadata(\['a'\] is int, expected text| has 1: 'a', expected text for text)"):
            module.save_safetensors(example(), path, metadata)
    for metadata in (["a"], "a", 5):
        with pytest.raises(TypeError, match=f"save_safetensors: metadata is {type(metadata).__name__}, expected a dict"):
            module.save_safetensors(example(), path, metadata)
    assert list(folder.iterdir()) == []
    module.save_safetensors({"a": {"__metadata__": np.ones(2)}, "c": np.ones(2, "c8"), "e": np.ones(2, ">f4")}, path)
    found = module.load_safetensors(path)
    assert found["a"]["__metadata__"].sum() == 2 and found["c"].dtype == np.complex64 and found["e"].tolist() == [1, 1]


def damage_names_the_file(module, folder):
    path = folder / "file"
    module.save_safetensors(example(), path, {"k": "v"})
    right = path.read_bytes()
    broken = [right[:n] for n in range(0, len(right), 7)] + [right + b"x", b"", b"\xff" * 20]
    broken += [right[:i] + bytes([right[i] ^ 1 << i % 8]) + right[i + 1:] for i in range(0, len(right), 3)]
    header = b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a.b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}'
    broken.append(struct.pack("<Q", len(header)) + header + bytes(8))  # whole, but no tree
    refused = 0
    for data in broken:
        path.write_bytes(data)
        try:
            module.load_safetensors(path)
        except ValueError as error:
            assert f"load_safetensors: {path} " in str(error)
            refused += 1
    assert refused > len(right) // 7
    with pytest.raises(ValueError, match=r"file cannot be read \(unflatten: 'a.b' runs through a leaf"):
        module.load_safetensors(path)
    with pytest.raises(FileNotFoundError, match="load_safetensors: no file at"):
        module.load_safetensors(folder)


def fail(*_):
    raise OSError("disk full")


PROPERTIES = {holds: place for place, some in {
    "tree": [flat_and_back, paths_that_clash_are_refused, mapping_keeps_the_names, torch_and_back,
             torch_has_memory_of_its_own, a_module_becomes_a_tree],
    "io.safetensors": [disk_and_back, rows_and_columns_survive_the_disk, a_failed_save_leaves_the_old_file,
                       the_order_is_that_of_the_file,
                       types_that_numpy_lacks_become_float32, what_cannot_be_saved_is_named, damage_names_the_file],
    "io.files": [a_failed_write_leaves_the_old_file, rights_and_links_are_kept, two_writers_have_parts_of_their_own,
                 a_lock_is_shared_or_had_alone]}.items() for holds in some}


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
    ("everything becomes float32", torch_and_back, "torch.tensor(_as_torch_reads(x), device=device, dtype=dtype)",
     "torch.tensor(_as_torch_reads(x), device=device, dtype=dtype or torch.float32)"),
    ("the device is forgotten", torch_and_back, "device=device, dtype=dtype)", "dtype=dtype)"),
    ("tensors share memory with the arrays", torch_has_memory_of_its_own,
     "torch.tensor(_as_torch_reads(x), device=device, dtype=dtype)", "torch.as_tensor(x, device=device, dtype=dtype)"),
    ("arrays share memory with the tensors", torch_has_memory_of_its_own, ".numpy().copy()", ".numpy()"),
    ("a state_dict stays flat", a_module_becomes_a_tree,
     "unflatten(flat) if any(\".\" in str(key) for key in flat) else flat", "flat"),
    ("gradients are in the way", a_module_becomes_a_tree, ".detach().cpu()", ".cpu()"),
    ("memory order for index order", rows_and_columns_survive_the_disk, "np.asarray(x, order=\"C\") for",
     "x.ravel(order=\"K\").reshape(x.shape) for"),
    ("a scalar becomes a list of one", disk_and_back, "np.asarray(x, order=\"C\") for", "np.ascontiguousarray(x) for"),
    ("metadata is dropped", disk_and_back, "for name, x in leaves.items()}, metadata)",
     "for name, x in leaves.items()})"),
    ("metadata of any kind", what_cannot_be_saved_is_named, "path: str | Path, metadata: dict[str, str] | None = None) -> None", "path: str | Path, metadata=None) -> None"),
    ("a loaded tree stays flat", disk_and_back, "return unflatten({name: _array(name, **arrays[name]) for name in names}), metadata",
     "return {name: _array(name, **arrays[name]) for name in names}, metadata"),
    ("any order", the_order_is_that_of_the_file, "for name in names}), metadata", "for name in sorted(names)}), metadata"),
    ("written in place", a_failed_write_leaves_the_old_file, "    part = path.with",
     "    path.write_bytes(data)\n    part = path.with"),
    ("half a file is left lying about", a_failed_write_leaves_the_old_file, "        part.unlink(missing_ok=True)\n",
     "        pass\n"),
    ("written before it is checked", a_failed_save_leaves_the_old_file, "    write_whole(path, encode(",
     "    Path(path).write_bytes(b'')\n    write_whole(path, encode("),
    ("rights of a secret", rights_and_links_are_kept, "        with part.open", "        part.touch(0o600)\n        part.chmod(0o600)\n        with part.open"),
    ("rights of the old file lost", rights_and_links_are_kept, "            os.chmod(part, stat.S_IMODE(path.stat().st_mode))\n", "            pass\n"),
    ("an old file that vanishes", rights_and_links_are_kept, "with suppress(FileNotFoundError):", "if path.exists():"),
    ("a link replaced", rights_and_links_are_kept, "Path(os.path.realpath(path))", "Path(path)"),
    ("one part for all", two_writers_have_parts_of_their_own, "-{secrets.token_hex(8)}.part", ".part"),
    ("a part found there is written over", two_writers_have_parts_of_their_own, '-{secrets.token_hex(8)}.part")\n    try:\n        with part.open("xb")', '.part")\n    try:\n        with part.open("wb")'),
    ("every lock is shared", a_lock_is_shared_or_had_alone, "fcntl.LOCK_EX | fcntl.LOCK_NB if self.alone else fcntl.LOCK_SH", "fcntl.LOCK_SH"),
    ("handles of refused locks stay open", a_lock_is_shared_or_had_alone, "                self.__exit__()", "                self.handle = None"),
    ("a system without locks has one", a_lock_is_shared_or_had_alone, "return self.handle is not None", "return fcntl is None or self.handle is not None"),
    ("BF16 read as half precision", types_that_numpy_lacks_become_float32, '(np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)', 'np.frombuffer(data, "<f2").astype(np.float32)'),
    ("E5M2 shifted into float32", types_that_numpy_lacks_become_float32, ".astype(np.uint16) << 8).view(np.float16).astype(np.float32)", ".astype(np.uint32) << 24).view(np.float32)"),
    ("E4M3 with a bias of eight", types_that_numpy_lacks_become_float32, "exponent - 10", "exponent - 11"),
    ("E4M3 with an infinity", types_that_numpy_lacks_become_float32, "x[127] = np.nan", "x[127] = np.inf"),
    ("E4M3 without denormals", types_that_numpy_lacks_become_float32, "fraction * 2.0**-9", "0.0"),
    ("E4M3 without a sign", types_that_numpy_lacks_become_float32, "[x, -x]", "[x, x]"),
    ("a type taken for another", types_that_numpy_lacks_become_float32, 'elif dtype == "F8_E4M3":', "elif True:"),
    ("the leaf is not named", what_cannot_be_saved_is_named, "        if x.dtype.name not in DTYPES.values():", "        if False:"),
    ("a name of the format taken", what_cannot_be_saved_is_named, "    if RESERVED in leaves:", "    if False:"),
    ("a name of the format refused anywhere", what_cannot_be_saved_is_named, "    if RESERVED in leaves:", "    if any(RESERVED in name for name in leaves):"),
    ("metadata met by the format alone", what_cannot_be_saved_is_named, "        if not (isinstance(key, str) and isinstance(value, str)):", "        if False:"),
    ("damage told by the format alone", damage_names_the_file, "    except SafetensorError as error:", "    except ZeroDivisionError as error:"),
    ("a clash of names told without the file", damage_names_the_file, "    except ValueError as error:", "    except ZeroDivisionError as error:"),
]


@pytest.mark.parametrize(("story", "finds", "old", "new"), WRONG, ids=[story for story, *_ in WRONG])
def test_a_wrong_tree_is_found(story, finds, old, new, tmp_path):
    module = build(PROPERTIES[finds], old, new)
    with pytest.raises((Exception, pytest.fail.Exception)) as found:
        finds(module, Path(tmp_path))
    assert not isinstance(found.value, SyntaxError | NameError)


def test_every_property_finds_something():
    assert {finds for _, finds, *_ in WRONG} == PROPERTIES.keys()


class Doubled(torch.nn.Module):
    def forward(self, x):
        return 2 * x


def reads_modules(module):
    """A tree as it is; that of a module, whose tensors it shares; that of a module inside torch.compile's."""
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
    params = module.of_module(net)
    assert {name: tuple(part) for name, part in params.items()} == {"0": ("weight", "bias"), "1": ("weight", "bias")}
    assert params["0"]["weight"].data_ptr() == net[0].weight.data_ptr() and module.of_module(params) is params
    compiled = torch.nn.Module()
    compiled._orig_mod = net  # what torch.compile makes, whose state_dict says _orig_mod in every name
    assert module.of_module(compiled).keys() == module.from_torch(compiled).keys() == params.keys()
    inside = torch.nn.Sequential(compiled, net[1])  # a part that torch.compile was given
    names = {"0.0.weight", "0.0.bias", "0.1.weight", "0.1.bias", "1.weight", "1.bias"}
    assert module.flatten(module.of_module(inside)).keys() == module.flatten(module.from_torch(inside)).keys() == names
    dressed = torch.nn.BatchNorm1d(3)
    dressed.register_buffer("scratch", torch.ones(3), persistent=False)
    parametrize.register_parametrization(dressed, "weight", Doubled())
    found = module.of_module(dressed)
    assert found.keys() == {"weight", "bias", "running_mean", "running_var", "num_batches_tracked"}
    assert torch.equal(found["weight"], torch.full((3,), 2.0)), "a parametrised weight as it is computed"
    assert module.of_module(torch.nn.Linear(2, 3, bias=False)).keys() == {"weight"}
    half = module.from_torch(torch.nn.Linear(2, 3).bfloat16())
    assert half["weight"].dtype == np.float32 and half["weight"].shape == (3, 2)
    for kind in (torch.bfloat16, torch.float8_e4m3fn, torch.float16, torch.int8, torch.bool):
        x = torch.tensor([0.0, 1.0, -2.5, 0.125]).to(kind)
        found = module.from_torch({"x": x})["x"]
        assert np.array_equal(found, x.float().numpy()) and found.dtype == {torch.float16: np.float16, torch.int8: np.int8, torch.bool: bool}.get(kind, np.float32)


def test_modules_are_read_as_trees():
    reads_modules(tree)
    for old, new in (("module = unwrapped(source)", "module = source"), ("plain(name): x for name, x in source", "name: x for name, x in source"),
                     ("getattr(module, key) for key", "getattr(module.parametrizations, key).original for key"),
                     (" and name not in module._non_persistent_buffers_set", ""), ("if x is not None and", "if"),
                     ('if name == "parametrizations":', "if False:"),
                     ("(x if known else x.float())", "x"), ("torch.float32, torch.float16)", "torch.float32)"),
                     ("        return source\n    module", "        return dict(source)\n    module")):
        with pytest.raises((AssertionError, TypeError)):
            reads_modules(build("tree", old, new))
