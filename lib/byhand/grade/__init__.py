"""Exercises that check themselves in the notebook: `check(my_function)`, `hint("04.2")`, `summary("04")`."""

from .equation import which_equation
from .learner import check, example, hint, summary
from .selfcheck import selfcheck

__all__ = ["check", "example", "hint", "selfcheck", "summary", "which_equation"]
