"""A small matrix as plain text, the same on every run and every machine; and what of a reader's text can be shown."""

from collections.abc import Mapping
from unicodedata import category

import numpy as np
from jaxtyping import Shaped
from numpy import ndarray as Array

from byhand.check.numbers import AtLeast, Whole, kind_of


def plain(text: str) -> str:
    """A text as it can be drawn and stored: half a surrogate pair or a control character becomes U+FFFD."""
    return "".join("\ufffd" if category(c) in ("Cc", "Cs") and c not in "\n\t" else c for c in text)


def entry(x, digits: int = 3) -> str:
    """One number as text. A zero never carries a sign: -0.0004 is 0.000, not -0.000."""
    if isinstance(x, (bool, np.bool_)):
        return "1" if x else "0"
    if isinstance(x, (int, np.integer)):
        return str(x)
    text = f"{x:.{digits}f}"
    return text.lstrip("-") if text.startswith("-") and not text.strip("-0.") else text


def format_matrix(name: str, A: Shaped[Array, "*n m"], digits: int = 3) -> str:
    """The text of `print_matrix`, for a Stepper or a message."""
    if not isinstance(A, np.ndarray):
        raise TypeError(f"print_matrix: A is {type(A).__qualname__}, expected a NumPy array")
    if A.dtype.kind not in "biuf":
        raise TypeError(f"print_matrix: A has dtype {A.dtype}, expected real numbers or truth values")
    if not isinstance(name, str):
        raise TypeError(f"print_matrix: name is {kind_of(name)}, expected text")
    digits = Whole((AtLeast(0),))("print_matrix", "digits", digits, {})
    if A.ndim not in (1, 2) or not A.size:
        raise ValueError(f"print_matrix: A has shape {A.shape}, expected a vector or a matrix with entries")
    cells = [[entry(x, digits) for x in row] for row in np.atleast_2d(A)]
    width = max(len(cell) for row in cells for cell in row)
    lines = ["  " + "  ".join(cell.rjust(width) for cell in row) for row in cells]
    return "\n".join([f"{plain(name)} {A.shape}", *lines])


def print_matrix(name: str, A: Shaped[Array, "*n m"], digits: int = 3) -> None:
    """Print a vector or a matrix under its name and shape, the columns aligned."""
    print(format_matrix(name, A, digits))


def power(x: float) -> str:
    """An error as text, one digit and a power of ten; an error of exactly zero is 0.0."""
    return f"{x:.0e}" if x else "0.0"


def print_errors(errors: Mapping[str, float], below: float = 1e-8, what: str = "relative error") -> None:
    """Print each error, as `gradcheck` and `parity` return them, and insist that all of them are below the bound.

    Raises AssertionError that names the errors that are not, TypeError if `errors` is no mapping, ValueError if it is
    empty: nothing compared is nothing checked.
    """
    if not isinstance(errors, Mapping):
        raise TypeError(f"print_errors: errors is {type(errors).__qualname__}, expected names and numbers, a dict")
    if not errors:
        raise ValueError("print_errors: errors is empty, expected at least one name with its error")
    for name, error in errors.items():
        if isinstance(error, str) or not hasattr(error, "__float__"):
            raise TypeError(f"print_errors: {name} is {kind_of(error)}, expected a number")
    line = plain(what) + ":"
    for entry in (f"{plain(name)} {power(error)}" for name, error in errors.items()):
        if len(line) + 2 + len(entry) > 79:
            print(line)
            line = ""
        line += "  " + entry
    print(line)
    wrong = [f"{name} {power(error)}" for name, error in errors.items() if not error < below]
    assert not wrong, f"not below {below:.0e}: {', '.join(wrong)}"


def print_gap(what: str, a, b, below: float = 1e-12) -> None:
    """Print the largest |a − b| of two arrays or tensors of one shape, and insist that it is below the bound.

    Raises AssertionError if it is not, TypeError for what is not real numbers, ValueError if the shapes differ, for a
    row against a column would be compared entry with entry, or if nothing is there to compare.
    """
    a, b = (_real(name, x) for name, x in (("a", a), ("b", b)))
    if a.shape != b.shape:
        raise ValueError(f"print_gap: {what}: a has shape {a.shape}, b {b.shape}")
    if not a.size:
        raise ValueError(f"print_gap: {what}: a and b have shape {a.shape}, expected something to compare")
    with np.errstate(invalid="ignore"):  # the same infinity on both sides is no gap
        gap = float(np.where(a == b, 0.0, np.abs(a - b)).max(initial=0.0))
    print(f"{plain(what)}: largest gap {power(gap)}")
    assert gap < below, f"{what}: {power(gap)} is not below {below:.0e}"


def _real(name: str, x) -> np.ndarray:
    """In float64; of a complex number NumPy would take the real part, and None for NaN."""
    x = x.detach().cpu() if hasattr(x, "detach") else x
    x = np.asarray(x.double() if str(getattr(x, "dtype", "")) == "torch.bfloat16" else x)
    if x.dtype.kind not in "biuf":
        raise TypeError(f"print_gap: {name} holds {x.dtype}, expected real numbers")
    return x.astype(np.float64)
