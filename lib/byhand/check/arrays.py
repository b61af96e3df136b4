"""Arrays among the arguments: type, dtype, axes, sizes that letters share, and in NumPy no NaN and no infinity."""

import math
import sys
from contextvars import ContextVar
from typing import Annotated, Any, NamedTuple

import numpy as np

from byhand.check.numbers import is_plain, kind_of
from byhand.check.shapes import Letters, bind, empty, fits_as_mask, misfit, repeats

_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)  # NumPy has one object of each
_TRUSTED: ContextVar[bool] = ContextVar("trusted", default=False)


class ValuesTrusted:
    """with ValuesTrusted(): … no NaN is looked for on the way, by one who looks at what comes out, such as a loss."""

    def __enter__(self):
        self.token = _TRUSTED.set(True)

    def __exit__(self, *_):
        _TRUSTED.reset(self.token)


def trusted() -> bool:
    """Whether values are looked at by somebody else."""
    return _TRUSTED.get()


class Leaves(NamedTuple):
    array_type: type
    shapes: dict


def Params(array_type: type, shapes: dict) -> Any:  # noqa: N802  (it makes a type, and is written like one)
    """The parameter tree of a layer: {"W": "d_in d_out", "b?": "d_out"}, `?` for what may be absent.

    A shape of None is a subtree that somebody else looks at; a dict is a subtree of this kind.
    """
    return Annotated[dict, Leaves(array_type, shapes)]


class ArrayOf:
    """What jaxtyping's `Float[Array, "*B n d"]` says of an argument."""

    binds = False

    def __init__(self, array_type: type, kind: str, shape: str):
        self.numpy, self.kind = array_type is np.ndarray, kind
        self.array_type, self.letters = array_type, Letters.of(shape)
        head, self.lead, self.tail = self.letters.head, self.letters.lead, self.letters.tail
        # seen at a glance: letters alone, and a dtype that is everybody's
        self.plain = self.numpy and kind == "float" and not head and not self.letters.shared and not (
            "_" in self.tail or any(isinstance(letter, int) for letter in self.tail))

    def __call__(self, where: str, name: str, x: Any, seen: dict) -> Any:
        if self.plain and type(x) is np.ndarray and self.fits(name, x, seen):
            if not _TRUSTED.get():
                self.values(where, name, x)
            return x
        if self.numpy and isinstance(x, np.generic):
            x = np.asarray(x)  # what NumPy makes of an array without axes
        if not (is_plain(x) if self.numpy else isinstance(x, self.array_type)):
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
        if self.numpy and self.kind == "float" and not _TRUSTED.get():
            self.values(where, name, x)
        return x

    def fits(self, name: str, x: np.ndarray, seen: dict) -> bool:
        """Whether all is well, seen at once; if not, `seen` is as it was, and the long way finds the words for it."""
        dtype, shape, before = x.dtype, x.shape, len(seen)
        if dtype is _FLOAT32 or dtype is _FLOAT64:
            known = seen.setdefault
            at = len(shape) - len(self.tail)
            if known(".dtype", dtype) is dtype and 0 not in shape and (at == 0 or at > 0 and self.lead is not None):
                known(".first", name)
                if not self.lead or known(self.lead, shape[:at]) == shape[:at]:
                    for letter in self.tail:
                        if known(letter, shape[at]) != shape[at]:
                            break
                        at += 1
                    else:
                        return True
        while len(seen) > before:
            seen.popitem()
        return False

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
        # sums and squares of float16 overflow without a sound; bytes in the other order come back in this machine's
        if self.numpy and x.dtype not in (_FLOAT32, _FLOAT64):
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
            full = (*seen.get(letters.lead, ()), *(seen[letter] for letter in letters.tail))
            self.spread(where, name, tuple(shape), full)
            return
        before = len(seen)
        if not bind(shape, letters, seen):
            for letter in list(seen)[before:]:  # what this array itself has bound
                del seen[letter]
            raise ValueError(f"{where}: {misfit(name, tuple(shape), letters, seen)}")
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


def finite(where: str, name: str, x: np.ndarray) -> None:
    """No NaN and no infinity: either would spread through a softmax without a sound."""
    if squares_are_finite([x]):
        return
    ok = np.isfinite(x)
    if not ok.all():
        at = tuple(int(i) for i in np.argwhere(~ok)[0])
        raise ValueError(f"{where}: {name} holds {x[at]} at index {at}, expected finite numbers")


def squares_are_finite(arrays: list) -> bool:
    """Quick: a finite sum of squares has finite terms. False may be an overflow alone."""
    total = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for x in arrays:
            flat = x.ravel(order="K")  # a view of an array without gaps
            total += flat.dot(flat)
    return math.isfinite(total)


def is_bool(x: Any) -> bool:
    return str(x.dtype) in ("bool", "torch.bool")


def autocast(x: Any) -> bool:
    """Whether torch is to choose the precision of each operation, so that they meet in several."""
    torch, device = sys.modules["torch"], x.device.type
    return device != "meta" and torch.is_autocast_enabled(device)  # torch.compile of 2.11 knows no way to ask for more
