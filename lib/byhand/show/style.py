"""The look of every figure in the book, set once in a chapter's first cell."""

import sys

import matplotlib as mpl
from cycler import cycler
from matplotlib.figure import Figure

from byhand.show.svg import svg

# Okabe and Ito's palette: eight colours that people with any of the common colour blindnesses can tell apart.
COLOURS = {
    "black": "#000000",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "green": "#009E73",
    "yellow": "#F0E442",
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "purple": "#CC79A7",
    "grey": "#6B7280",
}

# Curves take these in order. The first four stand out at least 3:1 from white; yellow does not, so it is left out.
CYCLE = ("blue", "vermillion", "green", "purple", "orange", "sky", "black")

SEQUENTIAL = "Blues"       # zero is near white, large is dark: lightness falls evenly, to any eye
DIVERGING = "PuOr"         # negative is orange, zero is white, positive is purple


def house_style() -> None:
    """Set matplotlib up for the book: a 700 px column at 100 dpi, colour-blind-safe colours, bytes that repeat.

    A notebook then shows each figure as an SVG, and as a PNG where it may show none.
    """
    ink, faint = "#24292F", "#8C959F"
    mpl.rcParams.update({
        "figure.figsize": (7.0, 3.6),
        "figure.dpi": 100,
        "figure.constrained_layout.use": True,
        "figure.facecolor": "white",  # never transparent: the dark theme puts a grey plate behind a picture
        "savefig.facecolor": "white",
        "savefig.dpi": "figure",
        "svg.hashsalt": "byhand",     # else the ids of an SVG are random (its date: metadata={"Date": None})
        "font.family": "DejaVu Sans",  # comes with matplotlib, so every machine draws the same letters
        "mathtext.fontset": "dejavusans",
        "font.size": 12,
        "axes.titlesize": 12.5,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.labelsize": 12,
        "xtick.labelsize": 11,
        "ytick.labelsize": 11,
        "legend.fontsize": 11,
        "legend.frameon": False,
        "text.color": ink,
        "axes.titlecolor": ink,
        "axes.labelcolor": ink,
        "axes.edgecolor": faint,
        "xtick.color": faint,
        "ytick.color": faint,
        "xtick.labelcolor": ink,
        "ytick.labelcolor": ink,
        "axes.linewidth": 0.6,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "#E5E8EB",
        "grid.linewidth": 0.6,
        "lines.linewidth": 1.8,
        "lines.markersize": 5,
        "axes.prop_cycle": cycler(color=[COLOURS[name] for name in CYCLE]),
        "image.cmap": "cividis",
        "image.interpolation": "none",  # a matrix entry is a square, not a blur, and in an SVG one pixel
    })
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None:
        import matplotlib_inline.backend_inline  # noqa: F401  (when first loaded, it sets what notebooks show)

        shell.display_formatter.formatters["image/svg+xml"].for_type(Figure, svg)
