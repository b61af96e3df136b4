"""What a decoder asks before it writes: prompts with room behind them, and a cache that fits the model."""

from typing import Any

import numpy as np

from byhand.check.rules import ids_below, kind_among, same_shape


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
