"""What a decoder asks before it writes: prompts with room behind them, and a cache that fits the model."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from byhand.check.rules import ids_below, kind_among, same_shape
from byhand.check.values import LogitsOf


def prompts_fit(where: str, config: Any, prompts: list, steps: int, stop: list) -> None:
    """Words of the model, and room for the longest prompt and steps − 1 more: the last word is not read."""
    ids_below(where, config.vocab, stop=np.array(stop, np.int64), **{f"prompts[{i}]": x for i, x in enumerate(prompts)})
    n = max(map(len, prompts))
    if n + steps - 1 > config.n_max:
        raise ValueError(f"{where}: steps is {steps} after a prompt of {n}, expected at most {config.n_max - n + 1}")


def kv_fits(where: str, config: Any, n_max: int, start: Any, M: Any, memory_mask: Any) -> None:
    """A decoder's cache: its columns within the model and its rows within them, a memory for those who read one."""
    kind_among(where, config, "decoder", "encoder_decoder")
    if n_max > config.n_max:
        raise ValueError(f"{where}: n_max is {n_max}, expected at most {config.n_max}, that of the config")
    ids_below(where, n_max, start=start)
    if (M is None) == (config.kind == "encoder_decoder"):
        raise ValueError(f"{where}: M is {'None' if M is None else 'there'} in a model of kind {config.kind!r}, "
                         f"expected {'the memory' if M is None else 'None'}")
    if M is None and memory_mask is not None:
        raise ValueError(f"{where}: memory_mask is there but M is None, expected both")
    if M is not None:
        same_shape(where, (*M.shape[:-1], config.d), M=M.shape)


def has_room(where: str, new: int, length: int, n_max: int) -> None:
    """Columns of a cache for at least one new token a row, and for all of them."""
    if not 1 <= new <= n_max - length:
        raise ValueError(f"{where}: ids has {new} new tokens a row, expected 1 to {n_max - length}: "
                         f"kv has {length} of {n_max}")


def marks_differ(where: str, **marks: int) -> None:
    """Ids of marks such as EOS, each its own."""
    if len(set(marks.values())) < len(marks):
        got = ", ".join(f"{name} {x}" for name, x in marks.items())
        raise ValueError(f"{where}: the marks are {got}, expected different ids")


def words_alone(where: str, sources: Iterable, targets: Iterable, **marks: int) -> None:
    """Sentences in which no mark stands where it would mean more: no padding in a source, no mark in a target."""
    marks_differ(where, **marks)
    for side, rows, barred in (("source", sources, ["pad"]), ("target", targets, list(marks))):
        for i, ids in enumerate(rows):
            ids_below(where, 1 << 31, **{f"{side} {i}": ids})
            for name in barred:
                if marks[name] in ids:
                    raise ValueError(f"{where}: {side} {i} holds {name}, which is {marks[name]}, expected words alone")


def log_probabilities(where: str, Y: Any, array_type: type, rows: int, eos: int) -> None:
    """What a caller's step gave: log p (rows, V), EOS among the words; −∞ is allowed."""
    LogitsOf(array_type, "float", "rows V")(where, "what step gave", Y, {"rows": rows})
    if Y.shape[1] <= eos:
        raise ValueError(f"{where}: what step gave has shape {tuple(Y.shape)}, expected ({rows}, V), V more than {eos}")
    if isinstance(Y, np.ndarray) and Y.max() > 1e-3:
        raise ValueError(f"{where}: what step gave holds {Y.max()}, expected log probabilities, at most 0")
