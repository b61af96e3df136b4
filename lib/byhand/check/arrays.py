"""Arrays among the arguments: type, dtype, axes, sizes that letters share, and in NumPy no NaN and no infinity."""

import sys
from contextvars import ContextVar
from typing import Annotated, Any, NamedTuple

import numpy as np

from byhand.check.numbers import kind_of

_TRUSTED: ContextVar[bool] = ContextVar("trusted", default=False)
NOUNS = {"Q": "queries", "K": "keys", "V": "values"}  # what the rows of an array are called in a sentence


class ValuesTrusted:
    """with ValuesTrusted(): … no NaN is looked for on the way, by one who looks at what comes out, such as a loss."""

    def __enter__(self):
        self.token = _TRUSTED.set(True)

    def __exit__(self, *_):
        _TRUSTED.reset(self.token)


def trusted() -> bool:
    """Whether values are looked at by somebody else."""
    return _TRUSTED.get()


class Letters(NamedTuple):
    """A shape such as "*B n d", taken apart."""

    text: str
    head: tuple  # before the axes without a number of their own: letters, or whole numbers
    lead: str | None  # the letter of those axes, "" if they have none, None if there are none
    tail: tuple
    shared: bool  # of a mask: an axis may be 1, and the leading ones may be missing
    whole: tuple  # counted from the end, the axes of a shared shape that must be there in full

    @classmethod
    def of(cls, text: str) -> "Letters":
        words = text.split()
        many = [i for i, word in enumerate(words) if "*" in word or word == "..."]
        at = many[0] if many else -1
        named = [int(w) if w.isdigit() else w.replace("#", "") for w in words]
        lead = named[at].replace("*", "").replace("...", "") if many else None
        return cls(text, tuple(named[:max(at, 0)]), lead, tuple(named[at + 1:]), "#" in text,
                   tuple(-i for i, word in enumerate(reversed(words), 1) if "#" not in word))

    @property
    def free(self) -> bool:
        return self.lead == "" and not self.head and not self.tail


class Shape:
    """Shape["*B n d"], in a cache: the shape of an array that is not kept itself."""

    def __class_getitem__(cls, text: str):
        return Annotated[tuple, Letters.of(text)]


class Leaves(NamedTuple):
    array_type: type
    shapes: dict


def Params(array_type: type, shapes: dict) -> Any:  # noqa: N802  (it makes a type, and is written like one)
    """The parameter tree of a layer: {"W": "d_in d_out", "b?": "d_out"}, `?` for what may be absent.

    A shape of None is a subtree that somebody else looks at; a dict is a subtree of this kind.
    """
    return Annotated[dict, Leaves(array_type, shapes)]


def bind(shape: tuple, letters: Letters, seen: dict) -> bool:
    """Whether a shape fits the letters as far as they are known; those that are new to `seen` get their sizes."""
    head, tail = letters.head, letters.tail
    extra = len(shape) - len(head) - len(tail)
    if extra < 0 or (extra and letters.lead is None):
        return False
    if letters.lead and seen.setdefault("*" + letters.lead, tuple(shape[len(head):len(head) + extra])) != tuple(
            shape[len(head):len(head) + extra]):
        return False
    for i, letter in enumerate(head):
        if shape[i] != known(letter, shape[i], seen):
            return False
    for i, letter in enumerate(tail, len(head) + extra):
        if shape[i] != known(letter, shape[i], seen):
            return False
    return True


def known(letter, size: int, seen: dict) -> int:
    """The size of a letter, which is this one where it is met for the first time."""
    if letter == "_":
        return size
    if isinstance(letter, int):
        return letter
    return seen.setdefault(letter, size)


def fits_as_mask(shape: tuple, full: tuple) -> bool:
    """(n, m) in full, or all axes, each 1 or in full, the last one in full.

    The key axis must be there. Anything looser would let a (B, m) padding mask pass for an (n, m) one.
    """
    return shape == full[-2:] or len(shape) == len(full) and shape[-1:] == full[-1:] and all(
        s in (1, f) for s, f in zip(shape, full, strict=True))


def repeats(shape: tuple, full: tuple) -> bool:
    """Whether an array of one shape can be repeated, by NumPy's rules, to exactly the other."""
    tail = full[len(full) - len(shape):]
    return len(shape) <= len(full) and all(s in (1, f) for s, f in zip(shape, tail, strict=True))


class ArrayOf:
    """What jaxtyping's `Float[Array, "*B n d"]` says of an argument."""

    binds = False

    def __init__(self, array_type: type, kind: str, shape: str):
        self.numpy, self.kind = array_type is np.ndarray, kind
        self.array_type, self.letters = array_type, Letters.of(shape)

    def __call__(self, where: str, name: str, x: Any, seen: dict, cached: bool = False) -> Any:
        if self.numpy and isinstance(x, np.generic):
            x = np.asarray(x)  # what NumPy makes of an array without axes
        if not isinstance(x, self.array_type):
            raise TypeError(f"{where}: {name} is {kind_of(x)}, expected {self.called()}")
        if self.kind == "float":
            self.floating(where, name, x, seen)
        elif self.kind == "int":
            x = self.whole(where, name, x)
        elif self.kind == "whole" and x.dtype.kind not in "iu":  # left as it is: it may be large, and on disk
            raise TypeError(f"{where}: {name} has dtype {x.dtype}, expected an array of whole numbers")
        elif self.kind == "bool" and not is_bool(x):
            raise TypeError(f"{where}: {name} has dtype {x.dtype}, expected bool (True = may attend)")
        if not self.letters.free:
            self.sizes(where, name, x.shape, seen)
        if self.numpy and self.kind == "float" and not cached and not _TRUSTED.get():
            self.values(where, name, x)
        return x

    def values(self, where: str, name: str, x: np.ndarray) -> None:
        finite(where, name, x)

    def called(self) -> str:
        if self.kind == "bool":
            return "a boolean array" if self.numpy else "a boolean tensor"
        if self.kind in ("int", "whole"):
            return "an array of whole numbers" if self.numpy else "a tensor of whole numbers"
        return "a NumPy array" if self.numpy else "a torch tensor"

    def floating(self, where: str, name: str, x: Any, seen: dict) -> None:
        if not (x.dtype.kind == "f" if self.numpy else x.is_floating_point()):
            raise TypeError(f"{where}: {name} has dtype {x.dtype}, expected floating point")
        if self.numpy and x.dtype.itemsize not in (4, 8):  # sums and squares of float16 overflow without a sound
            raise TypeError(f"{where}: {name} has dtype {x.dtype}, expected float32 or float64")
        dtype = seen.get(".dtype")
        if dtype is None:
            seen[".dtype"], seen[".first"] = x.dtype, name
        elif x.dtype != dtype and (self.numpy or not autocast(x)):
            raise TypeError(f"{where}: {name} has dtype {x.dtype} but {seen['.first']} has {dtype}, expected one dtype")
        if not self.numpy and x.device != seen.setdefault(".device", x.device):
            raise ValueError(f"{where}: {name} is on {x.device} but {seen['.first']} is on {seen['.device']}, "
                             "expected one device")

    def whole(self, where: str, name: str, x: Any) -> Any:
        """Ids of any whole dtype, as int64: uint8 would turn −1 into 255."""
        if self.numpy:
            if x.dtype.kind not in "iu":
                raise TypeError(f"{where}: {name} has dtype {x.dtype}, expected an array of whole numbers")
            if x.dtype.kind == "u" and x.dtype.itemsize == 8 and x.size and x.max() > np.iinfo(np.int64).max:
                raise ValueError(f"{where}: {name} holds {x.max()}, expected whole numbers that int64 can hold")
            return x if x.dtype == np.int64 else x.astype(np.int64)
        if x.is_floating_point() or x.is_complex() or is_bool(x):
            raise TypeError(f"{where}: {name} has dtype {x.dtype}, expected a tensor of whole numbers")
        return x if str(x.dtype) in ("torch.int64", "torch.int32") else x.long()

    def sizes(self, where: str, name: str, shape: tuple, seen: dict) -> None:
        letters = self.letters
        if letters.shared:
            full = (*seen.get("*" + (letters.lead or ""), ()), *(seen[letter] for letter in letters.tail))
            self.spread(where, name, tuple(shape), full)
            return
        before = dict(seen)
        if not bind(shape, letters, seen):
            raise ValueError(f"{where}: {misfit(name, tuple(shape), letters, before)}")
        if self.kind == "float" and 0 in shape:
            empty(where, name, tuple(shape), letters)

    def spread(self, where: str, name: str, shape: tuple, full: tuple) -> None:
        """A mask over scores, or an array that is repeated: `#` in the annotation."""
        if self.kind != "bool" and not (repeats(shape, full) and all(
                shape[i:][:1] == full[i:][:1] for i in self.letters.whole)):
            raise ValueError(f"{where}: shape of {name} is {shape}, expected a shape that repeats to {full}")
        if self.kind == "bool" and not fits_as_mask(shape, full):
            either = f"{full[-2:]} or {full}" if len(full) > 2 else f"{full}"
            raise ValueError(f"{where}: {name} has shape {shape}, expected {either}, "
                             "with 1 for a shared axis but the last")


def misfit(name: str, shape: tuple, letters: Letters, seen: dict) -> str:
    """What is wrong about a shape, and what was expected."""
    head, tail = letters.head, letters.tail
    least = len(head) + len(tail)
    if len(shape) < least:
        return f"{name} has {len(shape)} axes, expected at least {least}"
    lead, other, extra = seen.get("*" + letters.lead) if letters.lead else None, seen.get(".first"), len(shape) - 2
    if name in NOUNS and other in NOUNS and len(tail) == 2:
        if lead is not None and shape[:extra] != lead:
            return f"{name} has leading axes {shape[:extra]} but {other} has {lead}"
        rows, width = seen.get(tail[0]), seen.get(tail[1])
        if width not in (None, shape[-1]):
            return f"{name} has width {shape[-1]} but {other} has width {width}"
        if rows not in (None, shape[-2]):
            return f"K has {rows} keys but {name} has {shape[-2]} {NOUNS[name]}"
    if letters.lead is None and len(shape) > least:  # which axis is too many, nobody knows
        sizes = [str(seen.get(letter, letter)) for letter in tail]
        return f"{name} has shape {shape}, expected ({', '.join(sizes)}{',' * (len(sizes) == 1)})"
    kept = shape[len(head):len(shape) - len(tail)] if lead is None else lead
    expected = (*(known(x, n, seen) for x, n in zip(head, shape, strict=False)), *kept,
                *(known(x, n, seen) for x, n in zip(tail, shape[len(shape) - len(tail):], strict=True)))
    return f"{name} has shape {shape}, expected {expected}"


def empty(where: str, name: str, shape: tuple, letters: Letters) -> None:
    """A named axis must have an entry: only leading ones may be empty, for a batch of nothing."""
    tail = shape[len(shape) - len(letters.tail):]
    if 0 in shape[:len(letters.head)] or 0 in tail:
        if name in NOUNS and len(tail) == 2 and tail[0] == 0:
            raise ValueError(f"{where}: {name} has 0 {NOUNS[name]}, expected at least 1")
        at = "the last axis" if tail and tail[-1] == 0 else f"axis {shape.index(0)}"
        raise ValueError(f"{where}: {name} has shape {shape}, expected at least 1 entry along {at}")


def finite(where: str, name: str, x: np.ndarray) -> None:
    """No NaN and no infinity: either would spread through a softmax without a sound."""
    flat = x.ravel(order="K")  # a view of an array without gaps
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(flat @ flat):  # quick: a finite sum of squares has finite terms
            return
    ok = np.isfinite(x)
    if not ok.all():
        at = tuple(int(i) for i in np.argwhere(~ok)[0])
        raise ValueError(f"{where}: {name} holds {x[at]} at index {at}, expected finite numbers")


def is_bool(x: Any) -> bool:
    return str(x.dtype) in ("bool", "torch.bool")


def autocast(x: Any) -> bool:
    """Whether torch is to choose the precision of each operation, so that they meet in several."""
    torch, device = sys.modules["torch"], x.device.type
    return torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)  # the device meta has none
