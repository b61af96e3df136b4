"""A small matrix as plain text, the same on every run and every machine; and what of a reader's text can be shown."""

from unicodedata import category

import numpy as np
from jaxtyping import Shaped
from numpy import ndarray as Array


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
    if A.ndim not in (1, 2) or not A.size:
        raise ValueError(f"print_matrix: A has shape {A.shape}, expected a vector or a matrix with entries")
    cells = [[entry(x, digits) for x in row] for row in np.atleast_2d(A)]
    width = max(len(cell) for row in cells for cell in row)
    lines = ["  " + "  ".join(cell.rjust(width) for cell in row) for row in cells]
    return "\n".join([f"{plain(name)} {A.shape}", *lines])


def print_matrix(name: str, A: Shaped[Array, "*n m"], digits: int = 3) -> None:
    """Print a vector or a matrix under its name and shape, the columns aligned."""
    print(format_matrix(name, A, digits))
