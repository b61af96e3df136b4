"""Wrong input is refused in one sentence: which function, which argument, what came, what was expected.

`@checked` reads a function's annotations at run time: they say all that can be said of one argument and of the sizes
that arguments share. What they cannot say, such as ids in a range, is a line of its own in the module that needs it.

jaxtyping's own run-time check (with beartype) was tried first: 28 µs a call of attention against 5, messages of
fourteen lines that do not say what was expected, no look at NaN, and ids stay of any whole dtype. So the annotations
are jaxtyping's, and tests run its check too; what a reader meets is this one.
"""

from byhand.check.arrays import Params, Shape, ValuesTrusted
from byhand.check.numbers import (
    Above,
    AtLeast,
    Below,
    Index,
    NonNegative,
    Positive,
    Share,
    Size,
)
from byhand.check.rules import (
    all_float64,
    at_least,
    axes_of,
    embeds,
    fits,
    groups,
    heads_fit,
    ids_below,
    kind_among,
    less_than,
    masks_agree,
    multiple_of,
    names,
    repeats_to,
    same_shape,
    squares_add_up,
)
from byhand.check.signature import checked

__all__ = [
    "Above", "AtLeast", "Below", "Index", "NonNegative", "Params", "Positive", "Shape", "Share", "Size",
    "ValuesTrusted", "all_float64", "at_least", "axes_of", "checked", "embeds", "fits", "groups", "heads_fit",
    "ids_below", "kind_among", "less_than", "masks_agree", "multiple_of", "names", "repeats_to", "same_shape",
    "squares_add_up",
]
