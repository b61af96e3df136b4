"""Chapter 17: what the published models gave, on record, so that its cells also run where the weights are not."""

from collections.abc import Callable
from typing import Any

import numpy as np

from byhand.data import published_record

CLOSE = 5e-3  # of a number's size, above one: single precision on another processor, and halves in the record
WANTED: dict[str, np.ndarray] | None = None  # where tools/make_published_record.py collects what is computed


def on_record(compute: Callable[..., dict[str, Any]], *given: str | int) -> dict[str, np.ndarray]:
    """`compute(*given)`, a dict of arrays, as the record of book/data has it.

    With the weights it is computed and held against the record: words and whole numbers exactly, others up to `CLOSE`;
    what the record has gives the same digits everywhere, so that is returned. What was computed is returned where the
    record knows nothing of these inputs. Without the weights the record speaks alone, and ImportError, with the command
    that installs them, is what is left for other inputs. Raises ValueError where model and record do not agree.
    """
    key = f"{compute.__name__}{given!r}/"
    known = {name.removeprefix(key): x for name, x in published_record().items() if name.startswith(key)}
    try:
        made = {name: np.asarray(x) for name, x in compute(*given).items()}
    except ImportError:
        if not known:
            raise
        return known
    if WANTED is not None:
        WANTED.update({key + name: _small(x) for name, x in made.items()})
        return made
    if known:
        _same(key, known, made)
    return known or made


def _small(x):
    """Halves for maps, single precision for the rest: the record stays small."""
    return x.astype(np.float16 if x.size > 1000 else np.float32) if x.dtype.kind == "f" else x


def _same(key, known, made):
    if known.keys() != made.keys():
        raise ValueError(f"on_record: {key} has {', '.join(made)}, expected {', '.join(known)}")
    for name, x in made.items():
        old = known[name]
        if x.shape != old.shape:
            raise ValueError(f"on_record: {key}{name} has shape {x.shape}, expected {old.shape}")
        if x.dtype.kind != "f":
            if not np.array_equal(x, old):
                raise ValueError(f"on_record: {key}{name} is not what the record has, in {np.sum(x != old)} places")
        elif not (gap := np.abs(x - old) / np.maximum(1, np.abs(old))).max(initial=0) <= CLOSE:
            raise ValueError(f"on_record: {key}{name} is {gap.max():.1e} away from the record, expected {CLOSE}")
