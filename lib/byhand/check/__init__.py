"""Wrong input is refused in one sentence: which function, which argument, what came, what was expected.

`@checked` reads a function's annotations at run time: they say all that can be said of one argument and of the sizes
that arguments share. What they cannot say, such as ids in a range, is a line of its own in the module that needs it.

jaxtyping's own run-time check (with beartype) was tried first: 28 µs a call of attention against 5, messages of
fourteen lines that do not say what was expected, no look at NaN, and ids stay of any whole dtype. So the annotations
are jaxtyping's, and tests run its check too; what a reader meets is this one.
"""

from byhand.check.arrays import Params, ValuesTrusted, finite
from byhand.check.generation import has_room, kv_fits, log_probabilities, marks_differ, prompts_fit, words_alone
from byhand.check.ids import IdPairs, IdRows, Wholes
from byhand.check.kinds import Dtype
from byhand.check.numbers import (
    Above,
    AtLeast,
    AtMost,
    Base,
    Below,
    Index,
    NonNegative,
    Offset,
    Positive,
    Share,
    Size,
)
from byhand.check.rules import (
    adds_up,
    all_finite,
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
    needs,
    not_negative,
    repeats_to,
    same_shape,
    settings_among,
    squares_add_up,
    tokens_fit,
)
from byhand.check.shapes import Shape
from byhand.check.signature import checked
from byhand.check.trees import (
    are_paths,
    given_as,
    loss_answer,
    not_empty,
    number_from,
    optimiser_trees,
    same_trees,
    weighs,
)
from byhand.check.values import Logits

__all__ = [
    "Above", "AtLeast", "AtMost", "Base", "Below", "Dtype", "IdPairs", "IdRows", "Index", "Logits", "NonNegative",
    "Offset", "Params", "Positive", "Shape", "Share", "Size", "ValuesTrusted", "Wholes", "adds_up", "all_finite",
    "all_float64", "are_paths", "at_least", "axes_of", "checked", "embeds", "finite", "fits", "given_as", "groups",
    "has_room", "heads_fit", "ids_below", "kind_among", "kv_fits", "less_than", "log_probabilities", "loss_answer",
    "marks_differ", "masks_agree", "multiple_of", "names", "needs", "not_empty", "not_negative", "number_from",
    "optimiser_trees", "prompts_fit", "repeats_to", "same_shape", "same_trees", "settings_among", "squares_add_up",
    "tokens_fit", "weighs", "words_alone",
]
