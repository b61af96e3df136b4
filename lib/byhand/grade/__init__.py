"""Exercises that check themselves: `check(my_function)`, `hint("04.2")`, `solution("04.2")`, `summary()`."""

from .equation import which_equation
from .learner import check, example, hint, solution, summary
from .selfcheck import selfcheck

__all__ = ["check", "example", "hint", "selfcheck", "solution", "summary", "which_equation"]
