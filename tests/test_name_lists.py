"""A list of names is never one string: "table" would be read as five letters, each the name of nothing."""

import importlib
import inspect
import pkgutil
import typing
from collections.abc import Iterable, Sequence

import numpy as np
import pytest
import torch
from byhand.np.finetune import init_lora, split_tree
from byhand.np.optim import decay_mask
from byhand.np.train import train
from byhand.pt.finetune import Lora
from byhand.pt.optim import adamw, parameter_groups
from byhand.pt.train import train as torch_train
from byhand.text import BPETokenizer, CharTokenizer
from byhand.text.base import checked_specials
from mutants import build
from proofs import as_shipped

PARAMS = {"table": {"W": np.ones((2, 2))}}
NET = torch.nn.ModuleDict({"table": torch.nn.Linear(2, 2)})
BYTES = {bytes([i]): i for i in range(256)}
CALLS = {  # (where, argument) → a call with these names
    ("np.optim.decay_mask", "exempt"): lambda names: decay_mask(PARAMS, names),
    ("np.train.train", "exempt"): lambda names: train(PARAMS, print, print, 1, print, exempt=names),
    ("pt.optim.parameter_groups", "exempt"): lambda names: parameter_groups(NET, 0.1, names),
    ("pt.optim.adamw", "exempt"): lambda names: adamw(NET, exempt=names),
    ("pt.train.train", "exempt"): lambda names: torch_train(NET, print, print, 1, print, exempt=names),
    ("np.finetune.split_tree", "patterns"): lambda names: split_tree(PARAMS, names),
    ("np.finetune.init_lora", "patterns"): lambda names: init_lora(np.random.default_rng(0), PARAMS, names),
    ("pt.finetune.Lora", "patterns"): lambda names: Lora(NET, names),
    ("pt.finetune.Lora", "free"): lambda names: Lora(NET, ("table",), free=names),
    ("text.char.CharTokenizer", "specials"): lambda names: CharTokenizer("table", names),
    ("text.char.CharTokenizer.train", "specials"): lambda names: CharTokenizer.train("table", names),
    ("text.bpe.BPETokenizer", "specials"): lambda names: BPETokenizer([], names),
    ("text.bpe.BPETokenizer.train", "specials"): lambda names: BPETokenizer.train("table", 300, names),
    ("text.bpe.BPETokenizer.from_vocab", "specials"): lambda names: BPETokenizer.from_vocab(BYTES, [], names),
    ("text.base.checked_specials", "specials"): lambda names: checked_specials("f", names),
}
LISTS = [tuple[str, ...], list[str], Iterable[str], Sequence[str]]


def taken() -> set[tuple[str, str]]:
    """Every argument of the two halves and of the tokenizers that is a list of names by its annotation."""
    found = set()
    for room in ("np", "pt", "text"):
        package = importlib.import_module(f"byhand.{room}")
        inside = [importlib.import_module(f"byhand.{room}.{m.name}") for m in pkgutil.iter_modules(package.__path__)]
        for module in (package, *inside):
            for name, x in vars(module).items():
                if name.startswith("_") or getattr(x, "__module__", None) != module.__name__ or not callable(x):
                    continue
                place = f"{module.__name__}.{name}".removeprefix("byhand.")
                methods = {place: x.__init__ if inspect.isclass(x) else x}
                if inspect.isclass(x):
                    own = {m: getattr(x, m) for m in vars(x) if not m.startswith("_")}
                    methods |= {f"{place}.{m}": f for m, f in own.items() if callable(f)}
                for where, function in methods.items():
                    hints = typing.get_type_hints(inspect.unwrap(function), include_extras=True)
                    for argument, annotation in hints.items():
                        if argument != "return" and annotation in LISTS:
                            found.add((where, argument))
    return found


@pytest.mark.parametrize(("where", "argument"), CALLS, ids=lambda x: x)
def test_a_string_is_no_list_of_names(where, argument):
    with as_shipped(), pytest.raises((TypeError, ValueError), match=f"{argument}|pattern|special"):
        CALLS[where, argument]("table")


def test_every_list_of_names_is_tried():
    assert taken() - CALLS.keys() == set() and CALLS.keys() - taken() == set(), taken() ^ CALLS.keys()


def test_letters_for_a_name_are_caught():
    """Unchecked, the string passes, and the table decays."""
    wrong = build("np.optim.decay_mask", "exempt: tuple[str, ...]", "exempt")
    assert wrong.decay_mask(PARAMS, "table") == {"table": {"W": True}} != wrong.decay_mask(PARAMS, ("table",))
