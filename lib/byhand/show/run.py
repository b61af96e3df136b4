"""How a training went: loss, evaluations, norm of the gradient and learning rate, step by step."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from byhand.io.run import KEYS, Run
from byhand.show.text import plain

PANELS = {"loss": "loss", "evaluation": "evaluation", "norm": "norm of the gradient", "lr": "learning rate"}
STYLES = ("-", "--", ":", "-.")  # beside the colours: a print without any still tells the runs apart


def run(runs: Run | Sequence[Run], names: Sequence[str] | None = None, mean_of: int = 1) -> Figure:
    """Draw a run of either half, or several to compare; `names` goes into the legend.

    Loss and norm are means of `mean_of` steps up to the one they stand at. Evaluations have axes of their own, since
    they may be anything, with a ring around the best, whose parameters the run keeps.
    """
    runs = [runs] if isinstance(runs, Run) else runs
    if not isinstance(runs, list | tuple) or not runs or not all(isinstance(r, Run) for r in runs):
        raise TypeError(f"run: runs is {type(runs).__name__}, expected a Run or a list of Runs")
    for r in runs:
        if not isinstance(r.history, dict) or r.history.keys() != KEYS.keys() or not len(r.history["loss"]):
            raise ValueError(f"run: a history has {', '.join(r.history) or 'nothing'}, expected {', '.join(KEYS)}")
    if names is not None and (isinstance(names, str) or len(names) != len(runs)):
        raise ValueError(f"run: names is {names!r}, expected {len(runs)} names")
    shortest = min(len(r.history["loss"]) for r in runs)
    if isinstance(mean_of, bool) or not isinstance(mean_of, int) or not 1 <= mean_of <= shortest:
        raise ValueError(f"run: mean_of is {mean_of!r}, expected a whole number from 1 to {shortest}")

    evaluated = any(len(r.history["evaluation"]) for r in runs)
    panels = [["loss", "norm"], ["evaluation" if evaluated else "loss", "lr"]]
    figure, axes = plt.subplot_mosaic(panels, sharex=True, figsize=(6.5, 4.8))  # lower, and a label would be cut
    for i, r in enumerate(runs):
        look = {"color": f"C{i}", "linestyle": STYLES[i % len(STYLES)], "label": plain(names[i]) if names else None}
        for name, k in (("loss", mean_of), ("norm", mean_of), ("lr", 1)):
            y = np.convolve(r.history[name], np.full(k, 1 / k), "valid")
            _ = axes[name].plot(np.arange(k, k + len(y)), y, **look)
        at, score = r.history["evaluated_at"], r.history["evaluation"]
        if len(score):
            best = score.argmin()
            _ = axes["evaluation"].plot(at, score, marker="o", **look)
            _ = axes["evaluation"].plot(at[best], score[best], "o", color=f"C{i}", markersize=11, fillstyle="none")
    for name, ax in axes.items():
        _ = ax.set_ylabel(PANELS[name])
        if name in ("evaluation", "lr") or (name == "loss" and not evaluated):
            _ = ax.set_xlabel("step")
    if names:
        for text in axes["loss"].legend().get_texts():
            text.set_parse_math(False)  # a name such as "$5 and $6" is no formula
    return figure
