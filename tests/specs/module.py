# ruff: noqa: E501
"""A module in one file: what was saved is built again, or filled in; whatever does not fit is refused by name."""

import dataclasses
import json
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from byhand import tree
from byhand.config import ModelConfig
from byhand.io.safetensors import load_safetensors, save_safetensors
from byhand.np.model import decoder_forward
from byhand.pt.model import Decoder
from invariants import Compiled, raises
from mutants import M
from proofs import as_shipped

CONFIG = ModelConfig(kind="decoder", vocab=7, d=8, heads=2, layers=2, n_max=5, rope_theta=0.1 + 0.2, position="rope")
IDS = torch.tensor([[1, 2, 3]])


class Counted(torch.nn.Module):
    """Buffers, kept and not, a scalar, whole numbers, a weight under two names, types that NumPy lacks."""

    def __init__(self, config=None, dtype=torch.bfloat16):
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(3, 2))
        self.other, self.small = self.table, torch.nn.Parameter(torch.randn(2, 2).to(dtype))
        self.register_buffer("seen", torch.tensor(5))
        self.register_buffer("mask", torch.tensor([True, False]))
        self.register_buffer("turned", torch.arange(6.0).reshape(2, 3).T)
        self.register_buffer("angles", torch.ones(2), persistent=False)
        self.register_buffer("none", torch.zeros(0, 2))


ModelOfTomorrow = dataclasses.make_dataclass("ModelConfig", ["depth"])


@contextmanager
def place():
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "model.safetensors"


def same(a, b):
    a, b = a.state_dict(), b.state_dict()
    assert list(a) == list(b) and all(torch.equal(a[name], b[name]) and a[name].dtype == b[name].dtype for name in a)


def a_module_is_built_again(module):
    """By its class, from the configuration it had, and without a draw of the caller's random numbers."""
    net = Decoder(CONFIG)
    with place() as path:
        module.save_module(net, path)
        torch.manual_seed(0)
        expected = torch.rand(3)
        torch.manual_seed(0)
        found = module.load_module(str(path), Decoder)
        assert torch.equal(torch.rand(3), expected)
        assert found.config == CONFIG and type(found) is Decoder and torch.equal(found(IDS), net(IDS))
        same(found, net)
        assert module.load_module(path, lambda config: Decoder(config, np.random.default_rng(1))).config == CONFIG


def a_module_is_filled(module):
    net, other = Counted(), Counted()
    other.angles += 1
    with place() as path:
        module.save_module(net, path)
        net.seen += 1
        assert module.load_module(path, other) is other and other.seen == 5 and other.angles[0] == 2
        net.seen -= 1
        same(net, other)
        assert other.other is other.table  # still one weight, of two names
        other.table.data[0] = 7
        module.load_module(path, Counted())
        assert module.load_module(path, other).table[0, 0] != 7


def any_configuration_comes_back(module):
    @dataclasses.dataclass
    class Own:
        d: int
        inner: ModelConfig

    seen = []
    with place() as path:
        for config, expected in (({"d": 3, "names": ["a", None]},) * 2, (Own(3, CONFIG), {"d": 3, "inner": dataclasses.asdict(CONFIG)}),
                                 (CONFIG, CONFIG), (5, 5)):
            module.save_module(Counted(), path, config)
            module.load_module(path, lambda config: seen.append(config) or Counted())
            assert seen[-1] == expected and type(seen[-1]) is type(expected)


def trees_are_of_the_same_kind(module):
    """The NumPy half reads the file of a module, and writes one for it."""
    net = Decoder(CONFIG)
    with place() as path:
        module.save_module(net, path)
        params = load_safetensors(path)
        Y, _ = decoder_forward(IDS.numpy(), params, CONFIG)
        assert np.abs(Y - net(IDS).detach().numpy()).max() < 1e-5
        save_safetensors(tree.map_tree(lambda x: x + 1, params), path)
        found = module.load_module(path, Decoder(CONFIG))
        assert all(torch.equal(a, b + 1) for a, b in zip(found.state_dict().values(), net.state_dict().values(), strict=True))
        raises(ValueError, "model.safetensors has no configuration, expected one, or a module", lambda: module.load_module(path, Decoder))


def a_compiled_module_is_the_one_inside(module):
    net = Decoder(CONFIG)
    compiled = Compiled(net)
    with place() as path, place() as other:
        module.save_module(compiled, path)
        module.save_module(net, other)
        assert path.read_bytes() == other.read_bytes()
        into = Compiled(Decoder(CONFIG))
        assert module.load_module(path, into) is into
        found = module.load_module(path, lambda config: Compiled(Decoder(config)))
        raises(ValueError, "expected the module's", lambda: module.load_module(path, Compiled(Decoder(dataclasses.replace(CONFIG, rope_theta=5.0)))))
        parts = Decoder(CONFIG)
        parts.blocks[0] = Compiled(parts.blocks[0])
        module.load_module(path, parts)
        module.save_module(parts, other)
        assert path.read_bytes() == other.read_bytes()
        for one in (into._orig_mod, found, parts):
            assert all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), net.state_dict().values(), strict=True))


def what_does_not_fit_is_refused(module):
    """And the module stays as it was."""
    with place() as path:
        module.save_module(Counted(), path)
        for says, change in [
            ("lacks more and has nothing beyond", lambda net: setattr(net, "more", torch.nn.Parameter(torch.ones(1)))),
            ("lacks nothing and has mask, seen beyond", lambda net: (delattr(net, "mask"), delattr(net, "seen"))),
            (r"has table as float32 \(3, 2\), expected float32 \(2, 3\)", lambda net: setattr(net, "table", torch.nn.Parameter(torch.ones(2, 3)))),
            (r"has small as bfloat16 \(2, 2\), expected float16", lambda net: setattr(net, "small", torch.nn.Parameter(torch.ones(2, 2).half()))),
            (r"has seen as int64 \(\), expected float32", lambda net: setattr(net, "seen", torch.tensor(1.0))),
        ]:
            net = Counted()
            change(net)
            before = {name: x.clone() for name, x in net.state_dict().items()}
            raises(ValueError, f"load_module: .*model.safetensors {says}", lambda net=net: module.load_module(path, net))
            assert all(torch.equal(x, before[name]) for name, x in net.state_dict().items())
        module.save_module(Decoder(CONFIG), path)
        other = Decoder(dataclasses.replace(CONFIG, rope_theta=5.0))  # of the same names and shapes
        raises(ValueError, "model.safetensors is of .*, expected the module's .*'rope_theta': 5.0", lambda: module.load_module(path, other))
        raises(TypeError, r"into\(config\) is dict, expected a torch module", lambda: module.load_module(path, dataclasses.asdict))
        raises(ValueError, "'meta' .*|is on the device meta", lambda: module.load_module(path, Decoder(CONFIG).to("meta")))
        raises(FileNotFoundError, "load_module: no file at", lambda: module.load_module(path.parent / "none", Decoder))


def damage_is_named(module):
    with place() as path:
        module.save_module(Counted(), path, {"d": 3})
        right = path.read_bytes()
        for i in range(0, len(right), 13):
            for data in (right[:i], right[:i] + bytes([right[i] ^ 4]) + right[i + 1:]):
                path.write_bytes(data)
                net = Counted()
                before = net.table[0, 0].item()
                if b"byhand.module" in data:  # else it is a file of another program, with whole tensors
                    raises(ValueError, "load_module: .*model.safetensors (is damaged|has|lacks)", lambda net=net: module.load_module(path, net))
                    assert net.table[0, 0].item() == before
        for old, new in ((b'\\"format\\":', b'\\"formal\\":'), (b'\\"format\\": 1', b'\\"format\\": 2'), (b'{\\"format', b'[\\"format'),
                         (b'\\"d\\": 3', b'\\"d\\": 4')):
            assert right.count(old) == 1
            path.write_bytes(right.replace(old, new))
            raises(ValueError, "model.safetensors is damaged", lambda: module.load_module(path, Counted()))
        module.save_module(Decoder(CONFIG), path, ModelOfTomorrow(7))
        raises(ValueError, "has no ModelConfig of today", lambda: module.load_module(path, Decoder))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "FORMAT", 2)
            module.save_module(Counted(), path)
        raises(ValueError, "it has format 2, expected 1", lambda: module.load_module(path, Counted()))


def wrong_calls_are_refused(module):
    class Odd(torch.nn.Linear):
        def get_extra_state(self):
            return {"a": 1}

        def set_extra_state(self, state):
            pass

    with place() as path, as_shipped():
        for says, error, net, config in [
            ("module is dict, expected a torch module", TypeError, {}, None), ("_extra_state is dict, expected a tensor", TypeError, Odd(1, 1), None),
            ("config is no dataclass and no JSON", TypeError, Counted(), {"a": {1}}), ("config is no dataclass", TypeError, Counted(), {"a": float("nan")}),
            ("table is on the device meta", ValueError, Counted().to("meta"), None),
        ]:
            raises(error, f"save_module: {says}", lambda net=net, config=config: module.save_module(net, path, config))
        assert not path.exists()
        module.save_module(Counted(), path)
        assert json.loads(module.header(path.read_bytes())[1]["byhand.module"])["class"] == "Counted"


INVARIANTS = {"io.module": [a_module_is_built_again, a_module_is_filled, any_configuration_comes_back, a_compiled_module_is_the_one_inside, trees_are_of_the_same_kind,
                            what_does_not_fit_is_refused, damage_is_named, wrong_calls_are_refused]}

WRONG = [
    M("io.module.save_module", "invariant", "a compiled module under the name of its wrapper", "    module = unwrapped(module)\n", ""),
    M("io.module._state", "invariant", "compiled parts under names of their wrappers", "state[plain(name)]", "state[name]"),
    M("io.module.load_module", "invariant", "compiled parts not found", "{name: state[plain(name)] for name in module.state_dict()}", "state"),
    M("io.module.load_module", "invariant", "a compiled module not looked into", "given, into = into, unwrapped(into)", "given = into"),
    M("io.module.save_module", "invariant", "the module's own configuration forgotten", 'getattr(module, "config", None) if config is None else config', "config"),
    M("io.module.save_module", "invariant", "the given configuration forgotten", 'getattr(module, "config", None) if config is None else config', 'getattr(module, "config", None)'),
    M("io.module._built", "invariant", "configurations come as dicts", "if dataclasses.is_dataclass(known) else", "if False else"),
    M("io.module._built", "invariant", "draws of the caller taken", "with torch.random.fork_rng(devices=[]):", "if True:"),
    M("io.module._built", "invariant", "fields of another day met by Python alone", "    except (TypeError, ValueError) as error:\n        raise ValueError", "    except ZeroDivisionError as error:\n        raise ValueError"),
    M("io.module._built", "invariant", "no configuration met by the class", '    if about["config"] is None:\n', "    if False:\n"),
    M("io.module._built", "invariant", "anything may be built", "    if not isinstance(module, torch.nn.Module):\n", "    if False:\n"),
    M("io.module.load_module", "invariant", "another configuration of the same shapes", 'expected != about["config"]', "False"),
    M("io.module.load_module", "invariant", "nothing compared", '    _same(path, state, _state("load_module", module))\n', ""),
    M("io.module.load_module", "invariant", "compared after it was filled", '    _same(path, state, _state("load_module", module))\n    module.load_state_dict({name: state[plain(name)] for name in module.state_dict()})\n', '    module.load_state_dict(state)\n    _same(path, state, _state("load_module", module))\n'),
    M("io.module.load_module", "invariant", "what is known is filled", "module.load_state_dict({name: state[plain(name)] for name in module.state_dict()})", "module.load_state_dict(dict(list(state.items())[1:]), strict=False)"),
    M("io.module._same", "invariant", "names not compared", "    if got.keys() != expected.keys():", "    if expected.keys() - got.keys():"),
    M("io.module._same", "invariant", "types not compared", 'str(a.dtype).removeprefix("torch.")', '""'),
    M("io.module._same", "invariant", "shapes not compared", "tuple(a.shape)", "()"),
    M("io.module._state", "invariant", "no memory of its own", ".clone()", ""),
    M("io.module._state", "invariant", "any order of memory", ".contiguous()", ""),
    M("io.module._state", "invariant", "what is no tensor met by safetensors", '        if not hasattr(x, "detach"):\n', "        if False:\n"),
    M("io.module._state", "invariant", "no memory at all", '        if x.device.type == "meta":\n', "        if False:\n"),
    M("io.module._state", "invariant", "any object", '    if not hasattr(module, "state_dict"):\n', "    if False:\n"),
    M("io.module._read", "invariant", "digest not compared", 'if about.pop("sha256") != _digest(state, about):', 'if about.pop("sha256") == "":'),
    M("io.module._digest", "invariant", "the configuration not in the digest", "json.dumps(about, sort_keys=True).encode()", ""),
    M("io.module._digest", "invariant", "bytes not in the digest", "x.reshape(-1).view(torch.uint8).numpy() if x.numel() else b\"\"", "b\"\""),
    M("io.module._read", "invariant", "any format", 'if about["format"] != FORMAT:', "if False:"),
    M("io.module._read", "invariant", "damage met by safetensors alone", "(SafetensorError, ValueError, TypeError, KeyError, RecursionError)", "ZeroDivisionError"),
    M("io.module._described", "invariant", "no JSON met by Python alone", "except (TypeError, ValueError, RecursionError) as error", "except ZeroDivisionError as error"),
    M("io.module._described", "invariant", "numbers that are none", ", allow_nan=False", ""),
]
