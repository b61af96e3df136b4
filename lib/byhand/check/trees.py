"""Parameter trees among the arguments, leaf by leaf; and what a function gave of which training asks a loss."""

import math
from typing import Any

import numpy as np

from byhand.check.arrays import finite, squares_are_finite, trusted
from byhand.check.numbers import is_plain, kind_of


def leaves_of(tree: dict, prefix: str = "") -> dict[str, Any]:
    """Path → leaf."""
    flat = {}
    for key, x in tree.items():
        flat |= leaves_of(x, f"{prefix}{key}.") if isinstance(x, dict) else {f"{prefix}{key}": x}
    return flat


def are_paths(where: str, flat: dict) -> None:
    """A dict of names with dots between them."""
    if not isinstance(flat, dict):
        raise TypeError(f"{where}: flat is {kind_of(flat)}, expected a dict")
    for path in flat:
        if not isinstance(path, str) or not all(path.split(".")):
            raise ValueError(f"{where}: path is {path!r}, expected names with dots between them")


def same_trees(where: str, **trees: Any) -> None:
    """Trees of finite arrays of float32 or float64, all with the names of the first and, leaf by leaf, its shapes and
    dtypes. Squares of float16 vanish or overflow without a sound."""
    first = None
    for name, tree in trees.items():
        if not isinstance(tree, dict):
            raise TypeError(f"{where}: {name} is {kind_of(tree)}, expected a dict")
        leaves = leaves_of(tree)
        for path, x in leaves.items():
            if not is_plain(x):
                raise TypeError(f"{where}: {name} has {kind_of(x)} at {path}, expected a NumPy array")
            if x.dtype != np.float32 and x.dtype != np.float64:
                raise TypeError(f"{where}: {path} of {name} has dtype {x.dtype}, expected float32 or float64")
        called, like = first = first or (name, leaves)
        if leaves.keys() != like.keys():
            raise ValueError(f"{where}: {name} has {', '.join(leaves)} but {called} has {', '.join(like)}")
        for path, x in leaves.items():
            if x.shape != like[path].shape:
                raise ValueError(f"{where}: {path} of {name} has shape {x.shape}, expected {like[path].shape}")
            if x.dtype != like[path].dtype:
                raise TypeError(f"{where}: {path} of {name} has dtype {x.dtype} but that of {called} has "
                                f"{like[path].dtype}, expected one dtype")
        if not trusted():
            finite_leaves(where, name, leaves)


def finite_leaves(where: str, name: str, leaves: dict) -> None:
    """No NaN and no infinity in any of them."""
    if not squares_are_finite(list(leaves.values())):
        for path, x in leaves.items():
            finite(where, f"{name}.{path}", x)


def optimiser_trees(where: str, params: dict, grads: dict, state: Any, eps: float | None = None) -> None:
    """Gradients and a state {t, m, v} that fit the parameters. Where an ε is given, gradients are divided by the root
    of their mean square: their dtype holds their squares, and an ε that is not 0, since a gradient of 0 meets it."""
    if not isinstance(state, dict) or state.keys() != {"t", "m", "v"}:
        got = ", ".join(map(str, state)) or "nothing" if isinstance(state, dict) else kind_of(state)
        raise ValueError(f"{where}: state has {got}, expected t, m, v, as from init_state")
    t = state["t"]
    if not isinstance(t, np.ndarray) or t.shape != () or t.dtype.kind not in "iu" or t < 0:
        raise ValueError(f"{where}: t of state is {t!r}, expected an array without axes that counts steps")
    same_trees(where, params=params, grads=grads, m=state["m"], v=state["v"])
    if trusted():  # an infinite v stops its parameter without a sound: no loss would show it
        finite_leaves(where, "v", leaves_of(state["v"]))
    if eps is None:
        return
    leaves = {} if trusted() else leaves_of(grads)
    if not squares_are_finite(list(leaves.values())):
        squares_fit(where, leaves)
    for dtype in {x.dtype for x in leaves_of(params).values()}:
        if not dtype.type(eps) > 0:
            raise ValueError(f"{where}: eps is {eps}, expected a number that is greater than 0 in {dtype}")


def squares_fit(where: str, leaves: dict) -> None:
    """No gradient is so large that its square is infinite, which would stop its parameter for good."""
    for path, x in leaves.items():
        most, largest = math.sqrt(np.finfo(x.dtype).max), float(np.abs(x).max(initial=0))
        if largest > most:
            raise ValueError(f"{where}: {path} of grads holds {largest:.3g}, whose square {x.dtype} cannot hold, "
                             f"expected at most {most:.3g}")


def number_from(where: str, what: str, x: Any) -> float:
    """What a caller's function gave, as a finite float; it may be an array or a tensor without axes."""
    if isinstance(x, str | bool) or not hasattr(x, "__float__"):
        raise TypeError(f"{where}: {what} is {kind_of(x)}, expected a number")
    if shape := getattr(x, "shape", ()):
        raise ValueError(f"{where}: {what} has shape {tuple(shape)}, expected a number")
    if not math.isfinite(x := float(x)):
        raise ValueError(f"{where}: {what} is {x}, expected a finite number")
    return x


def loss_answer(where: str, called: str, found: Any, *parts: str) -> None:
    """What a loss function gave: a mean loss, …, and a weight, which is not 0."""
    given_as(where, called, found, *parts)
    weighs(where, found[-1])
    number_from(where, "loss", found[0])


def given_as(where: str, called: str, found: Any, *parts: str) -> None:
    """What a caller's function gave, as so many things."""
    if not isinstance(found, tuple | list) or len(found) != len(parts):
        got = f"{len(found)} things" if isinstance(found, tuple | list) else kind_of(found)
        raise TypeError(f"{where}: {called} gave {got}, expected {len(parts)}: {', '.join(parts)}")


def weighs(where: str, weight: Any, look: bool = True) -> None:
    """A share in a mean, such as how many tokens it is over: of none there is no mean, and less turns a slope round.

    Without a look at its value it is a tensor without axes.
    """
    if not look:
        if weight.shape != ():
            raise ValueError(f"{where}: weight has shape {tuple(weight.shape)}, expected a number")
    elif number_from(where, "weight", weight) <= 0:
        raise ValueError(f"{where}: weight is {float(weight):g}, expected a finite number greater than 0")


def not_empty(where: str, **lists: Any) -> None:
    """Lists, or arrays, with something in them."""
    for name, x in lists.items():
        if not len(x):
            raise ValueError(f"{where}: {name} is empty, expected at least 1 entry")
