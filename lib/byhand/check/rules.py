"""What an annotation cannot say, and several modules ask: a line where it is needed."""

import itertools
import math
from typing import Any

import numpy as np

from byhand.check.arrays import finite, squares_are_finite
from byhand.check.numbers import is_plain, kind_of
from byhand.check.shapes import repeats


def ids_below(where: str, size: int, **ids: Any) -> None:
    """Whole numbers in 0 … size − 1: a negative index would silently count from the end.

    Only arrays are looked at: to look at a tensor's values makes a device wait.
    """
    for name, x in ids.items():
        if isinstance(x, np.ndarray) and x.size and not (0 <= x.min() and x.max() < size):
            bad = int(x.min()) if x.min() < 0 else int(x.max())
            raise ValueError(f"{where}: {name} holds {bad}, expected whole numbers from 0 to {size - 1}")


def same_shape(where: str, expected: tuple, **shapes: Any) -> None:
    """Shapes that must be exactly this one."""
    for name, got in shapes.items():
        if tuple(got) != tuple(expected):
            raise ValueError(f"{where}: {name} has shape {tuple(got)}, expected {tuple(expected)}")


def repeats_to(where: str, full: tuple, **shapes: Any) -> None:
    """Shapes that can be repeated, by NumPy's rules, to exactly `full`."""
    for name, shape in shapes.items():
        if not repeats(tuple(shape), tuple(full)):
            raise ValueError(f"{where}: {name} is {tuple(shape)}, expected a shape that repeats to {tuple(full)}")


def all_finite(where: str, **arrays: Any) -> None:
    """Real numbers, no NaN and no infinity, in arrays that may be of several dtypes."""
    for name, x in arrays.items():
        if x.dtype.kind not in "fiu":
            raise TypeError(f"{where}: {name} has dtype {x.dtype}, expected real numbers")
        if x.dtype.kind == "f":
            finite(where, name, x)


def all_float64(where: str, **arrays: Any) -> None:
    """Arrays of double precision, which slopes need."""
    for name, x in arrays.items():
        if not is_plain(x):
            raise TypeError(f"{where}: {name} is {kind_of(x)}, expected a NumPy array")
        if x.dtype != np.float64:
            raise TypeError(f"{where}: {name} has dtype {x.dtype}, expected float64")


def less_than(where: str, high: int, of: str, **values: int) -> None:
    """Numbers below a count of something."""
    for name, x in values.items():
        if x >= high:
            raise ValueError(f"{where}: {name} is {x}, expected less than the {high} {of}")


def multiple_of(where: str, of: int, **values: int) -> None:
    """Numbers that `of` divides."""
    for name, x in values.items():
        if x % of:
            raise ValueError(f"{where}: {name} is {x}, expected a multiple of {of}")


def groups(where: str, heads: int, kv_heads: int) -> None:
    """As many key-value heads as can each serve the same number of heads."""
    if heads % kv_heads:
        raise ValueError(f"{where}: kv_heads is {kv_heads}, expected a divisor of the {heads} heads")


def heads_fit(
    where: str, params: dict, heads: int, kv_heads: int, position: str, is_causal: bool, n: int, m: int
) -> None:
    """Weights whose widths the heads can share, a table where positions ask for one, and as many keys as queries."""
    groups(where, heads, kv_heads)
    q, v = params["W_q"].shape[-1], params["W_v"].shape[-1]
    multiple_of(where, heads, **{"width of W_q": q})
    multiple_of(where, kv_heads, **{"width of W_v": v})
    for name, axis, width in (("W_k", -1, q // heads * kv_heads), ("W_o", 0, v // kv_heads * heads)):
        shape = list(params[name].shape)
        shape[axis] = width
        same_shape(where, tuple(shape), **{f"params[{name!r}]": params[name].shape})
    if ("table" in params) != (position == "relative"):
        got, table = ", ".join(map(str, params)), "table" if position == "relative" else "no table"
        raise ValueError(f"{where}: params has {got}, expected {table}, since position is {position!r}")
    if n != m and (is_causal or position != "none"):
        why = f"position is {position!r}" if position != "none" else "is_causal is True"
        raise ValueError(f"{where}: {why} with {n} queries and {m} keys, expected as many of each")


def names(where: str, called: str, tree: Any, expected: list) -> None:
    """A dict with exactly these names."""
    if not isinstance(tree, dict) or set(tree) != set(expected):
        got = ", ".join(map(str, tree)) or "no names" if isinstance(tree, dict) else kind_of(tree)
        raise ValueError(f"{where}: {called} has {got}, expected {', '.join(expected)}")


def fits(where: str, tree: Any, shapes: dict, called: str = "params", first: tuple | None = None) -> tuple | None:
    """A tree with exactly these names, each leaf of its shape, all of one dtype; None stands for any size.

    `first` is the name and the dtype of a leaf seen before; those of the first leaf are given back.
    """
    names(where, called, tree, list(shapes))
    for name, expected in shapes.items():
        if isinstance(expected, dict):
            first = fits(where, tree[name], expected, f"{called}[{name!r}]", first)
            continue
        got = getattr(tree[name], "shape", None)
        if got is None:
            raise TypeError(f"{where}: {called}[{name!r}] is {kind_of(tree[name])}, expected an array")
        if got != expected and (len(got) != len(expected) or any(n not in (None, k) for k, n in zip(
                got, expected, strict=True))):
            sizes = (*(k if n is None else n for k, n in itertools.zip_longest(got[:len(expected)], expected)),)
            raise ValueError(f"{where}: {called}[{name!r}] has shape {tuple(got)}, expected {sizes}")
        first = first or (f"{called}[{name!r}]", tree[name].dtype)
        if tree[name].dtype != first[1]:
            raise TypeError(f"{where}: {called}[{name!r}] has dtype {tree[name].dtype} but {first[0]} has {first[1]}, "
                            "expected one dtype")
    return first


def embeds(where: str, config: Any, rows: int, ids: Any, segments: Any, positions: Any) -> None:
    """Ids of `rows` words, at most n_max a sequence, and segments and positions that the config has room for."""
    if not 1 <= ids.shape[-1] <= config.n_max:
        raise ValueError(f"{where}: ids has shape {tuple(ids.shape)}, expected 1 to {config.n_max} tokens a row")
    if segments is not None and not config.segments:
        raise ValueError(f"{where}: segments is there but config.segments is 0, expected None")
    ids_below(where, rows, ids=ids)
    ids_below(where, config.segments, segments=segments)
    ids_below(where, config.n_max, positions=positions)


def tokens_fit(where: str, config: Any, **counts: int | None) -> None:
    """Tokens a row that the config has room for."""
    for name, n in counts.items():
        if n is not None and n > config.n_max:
            raise ValueError(f"{where}: {name} is {n}, expected at most {config.n_max}, the n_max of the config")


def needs(where: str, called: str, tree: Any, *expected: str) -> None:
    """A dict with these names, and maybe others."""
    if not isinstance(tree, dict) or any(name not in tree for name in expected):
        got = ", ".join(map(str, tree)) or "no names" if isinstance(tree, dict) else kind_of(tree)
        raise ValueError(f"{where}: {called} has {got}, expected {', '.join(expected)}")


def kind_among(where: str, config: Any, *kinds: str) -> None:
    """A configuration of a model of one of these kinds."""
    if config.kind not in kinds:
        raise ValueError(f"{where}: config.kind is {config.kind!r}, expected {' or '.join(kinds)}")


def settings_among(where: str, config: Any, known: dict[str, tuple], rest: str) -> None:
    """A configuration with one of the known values of each of these settings; `rest` is where the others are."""
    for name, values in known.items():
        if (got := getattr(config, name)) not in values:
            expected = " or ".join(map(str, values))
            raise ValueError(f"{where}: {name} is {got}, expected {expected}: only {rest} has the rest")


def masks_agree(where: str, masks: tuple, kind: type) -> None:
    """At least one boolean mask; all of one rank, or two-axis ones, each axis equal or 1."""
    if not masks:
        raise ValueError(f"{where}: got no mask, expected at least 1")
    for mask in masks:
        if not (is_plain(mask) if kind is np.ndarray else isinstance(mask, kind)):
            raise TypeError(f"{where}: mask is {kind_of(mask)}, expected a boolean "
                            f"{'array' if kind is np.ndarray else 'tensor'}")
        if str(mask.dtype) not in ("bool", "torch.bool"):
            raise TypeError(f"{where}: mask has dtype {mask.dtype}, expected bool (True = may attend)")
    shapes = [tuple(mask.shape) for mask in masks]
    rank = max(len(s) for s in shapes)
    agree = all(len({s[-i] for s in shapes if len(s) >= i} - {1}) <= 1 for i in range(1, rank + 1))
    if not agree or any(len(s) not in (2, rank) for s in shapes):
        raise ValueError(f"{where}: masks have shapes {', '.join(map(str, shapes))}, expected ones that fit together")


def at_least(where: str, low: int, **values: int) -> None:
    """Counts of something that must be there."""
    for name, x in values.items():
        if x < low:
            raise ValueError(f"{where}: {name} is {x}, expected at least {low}")


def axes_of(where: str, shape: tuple, axes: tuple) -> None:
    """Different axes of an array, with at least one entry along each."""
    rank = len(shape)
    if not axes or any(not -rank <= i < rank for i in axes) or len({i % rank for i in axes}) < len(axes):
        raise ValueError(f"{where}: axes is {axes}, expected different axes of {rank}")
    if any(shape[i] == 0 for i in axes):
        raise ValueError(f"{where}: X has shape {tuple(shape)}, expected at least 1 entry along the axes {axes}")


def not_negative(where: str, **arrays: np.ndarray) -> None:
    """Entries that are variances, or counts."""
    for name, x in arrays.items():
        if x.size and x.min() < 0:
            raise ValueError(f"{where}: {name} holds {x.min():.3g}, expected numbers that are at least 0")


def adds_up(where: str, count: int, **arrays: np.ndarray) -> None:
    """Entries of which the dtype can add up so many."""
    for name, x in arrays.items():
        most = float(np.finfo(x.dtype).max) / count
        if x.size and (largest := max(x.max(), -x.min())) > most:
            raise ValueError(f"{where}: {name} holds {largest:.3g} and {x.dtype} cannot add up {count} of those, "
                             f"expected at most {most:.3g}")


def squares_add_up(where: str, X: np.ndarray, axes: tuple, eps: float, centred: bool = True) -> None:
    """Mean squares over `axes` that the dtype of X can hold: infinity would make a norm 0, and 0 without eps NaN."""
    limits, finite = np.finfo(X.dtype), squares_are_finite([X])  # if all of them add up, so do some
    most = math.sqrt(limits.max / math.prod(X.shape[i] for i in axes))
    if not finite and (largest := np.abs(X).max()) > most:
        raise ValueError(f"{where}: X holds {largest:.3g} and {X.dtype} cannot add up its squares, "
                         f"expected at most {most:.3g}")
    if eps < limits.tiny and X.size:
        C = X - X.mean(axis=axes, keepdims=True) if centred else X
        if (C * C).mean(axis=axes).min() < limits.tiny:
            raise ValueError(f"{where}: eps is {eps:g} where X has {'variance' if centred else 'mean square'} 0 "
                             f"in {X.dtype}, expected at least {limits.tiny:.3g}")
