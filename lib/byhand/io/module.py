"""A torch module in one file: its state_dict as safetensors, and beside it the configuration that it was built from.

The names are the paths of a tree, so the file of a module is a file of `load_safetensors` too, and the other way round:
parameters that the NumPy half has trained and saved go into the module of the same name.
"""

import dataclasses
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from byhand import config as configs
from byhand.check import checked
from byhand.check.numbers import kind_of
from byhand.io.files import write_whole
from byhand.io.safetensors import header
from byhand.tree import plain, unwrapped

KEY, FORMAT = "byhand.module", 1  # what the file's metadata have under this name


@checked
def save_module(module: Any, path: str | Path, config: Any = None) -> None:
    """Write a module's parameters and buffers, and its configuration: a dataclass or JSON, `module.config` if None.

    The file at `path` is the old one or the whole new one. Raises TypeError for a state that is not all tensors, and
    for a configuration that is no JSON.
    """
    from safetensors.torch import save

    module = unwrapped(module)
    state = _state("save_module", module)
    config = getattr(module, "config", None) if config is None else config
    about = {"format": FORMAT, "class": type(module).__name__, **_described("save_module", config)}
    write_whole(path, save(state, {KEY: json.dumps(about | {"sha256": _digest(state, about)})}))


@checked
def load_module(path: str | Path, into: Any) -> Any:
    """The module in the file: `into` itself with its values, or `into(config)`, the class or function that builds it.

    A configuration of byhand.config comes as that class, another one as a dict. Raises ValueError, and changes nothing,
    where the file is damaged, or has other names, shapes, dtypes or another configuration than the module;
    FileNotFoundError for no file.
    """
    import torch

    state, about = _read(path)
    given, into = into, unwrapped(into)
    if isinstance(into, torch.nn.Module):
        expected = _described("load_module", getattr(into, "config", None))["config"]
        if None not in (expected, about["config"]) and expected != about["config"]:
            raise ValueError(f"load_module: {path} is of {about['config']}, expected the module's {expected}")
        module = into
    elif callable(into):
        module = _built(path, into, about)
    else:
        raise TypeError(f"load_module: into is {kind_of(into)}, expected a module, or what builds one")
    _same(path, state, _state("load_module", module))
    module.load_state_dict({name: state[plain(name)] for name in module.state_dict()})
    return given if module is into else module


def _built(path, into: Callable, about: dict):
    import torch

    if about["config"] is None:
        raise ValueError(f"load_module: {path} has no configuration, expected one, or a module to load into")
    known = getattr(configs, about["dataclass"] or "", None)
    try:
        config = known(**about["config"]) if dataclasses.is_dataclass(known) else about["config"]
    except (TypeError, ValueError) as error:
        raise ValueError(f"load_module: {path} has no {about['dataclass']} of today ({error})") from error
    with torch.random.fork_rng(devices=[]):  # its first values are thrown away, and so are their draws
        module = into(config)
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"load_module: into(config) is {type(module).__name__}, expected a torch module")
    return unwrapped(module)


def _described(where: str, config) -> dict:
    """As JSON has it, and the name of its class."""
    if config is None:
        return {"dataclass": None, "config": None}
    plain = dataclasses.asdict(config) if dataclasses.is_dataclass(config) else config
    try:
        text = json.dumps(plain, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"{where}: config is no dataclass and no JSON ({error}), expected one of them") from None
    return {"dataclass": type(config).__name__ if plain is not config else None, "config": json.loads(text)}


def _state(where: str, module) -> dict:
    """Names → tensors on the CPU, each with memory of its own, as a file has them."""
    if not hasattr(module, "state_dict"):
        raise TypeError(f"{where}: module is {type(module).__name__}, expected a torch module")
    state = {}
    for name, x in module.state_dict().items():
        if not hasattr(x, "detach"):
            raise TypeError(f"{where}: {name} is {type(x).__name__}, expected a tensor")
        if x.device.type == "meta":
            raise ValueError(f"{where}: {name} is on the device meta, expected one with memory")
        state[plain(name)] = x.detach().cpu().clone().contiguous()
    return state


def _digest(state: dict, about: dict) -> str:
    """Of names, types, shapes, bytes, and what is said of them: a file of safetensors has no checksum of its own."""
    import torch

    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name in sorted(state):
        x = state[name].contiguous()
        digest.update(f"{name} {x.dtype} {tuple(x.shape)};".encode())
        digest.update(x.reshape(-1).view(torch.uint8).numpy() if x.numel() else b"")
    return digest.hexdigest()


def _read(path) -> tuple[dict, dict]:
    """The tensors of a file, and what it says about the module; nothing, if it was not made here."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    if not Path(path).is_file():
        raise FileNotFoundError(f"load_module: no file at {path}")
    data = Path(path).read_bytes()
    try:
        state, (_, metadata) = load(data), header(data)
        about = json.loads(metadata.get(KEY, "null"))
        if about is None:
            return state, {"dataclass": None, "config": None}
        if about["format"] != FORMAT:
            raise ValueError(f"it has format {about['format']}, expected {FORMAT}")
        if about.pop("sha256") != _digest(state, about):
            raise ValueError("it has not the digest that it states")
        return state, {name: about[name] for name in ("dataclass", "config")}
    except (SafetensorError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"load_module: {path} is damaged ({error}), expected a file of save_module") from error


def _same(path, got: dict, expected: dict) -> None:
    if got.keys() != expected.keys():
        lacks, more = (", ".join(sorted(a.keys() - b.keys())) for a, b in ((expected, got), (got, expected)))
        raise ValueError(f"load_module: {path} lacks {lacks or 'nothing'} and has {more or 'nothing'} beyond what the "
                         "module has")
    for name, x in expected.items():
        mine, other = ((str(a.dtype).removeprefix("torch."), tuple(a.shape)) for a in (x, got[name]))
        if mine != other:
            raise ValueError(f"load_module: {path} has {name} as {other[0]} {other[1]}, expected {mine[0]} {mine[1]}")
