"""What the chapters show: figures, printed matrices, and interactive pieces that need no server.

`house_style` sets the look of every figure.
`matrix` and `matrices` draw small matrices with their numbers; `print_matrix` writes one as text.
`print_errors` and `print_gap` write how large an error is, and insist on its bound.
`run` draws how a training went.
`AttentionExplorer` and `Stepper` are HTML outputs that work in Jupyter, in the book, on a phone and without a network.
"""

from byhand.show.explorer import AttentionExplorer
from byhand.show.heatmap import matrices, matrix
from byhand.show.run import run
from byhand.show.stepper import Stepper
from byhand.show.style import COLOURS, house_style
from byhand.show.text import format_matrix, print_errors, print_gap, print_matrix

__all__ = [
    "COLOURS", "AttentionExplorer", "Stepper", "format_matrix", "house_style", "matrices", "matrix", "print_errors",
    "print_gap", "print_matrix", "run",
]
