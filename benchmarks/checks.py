"""What the checks of the signatures cost: the share of the training step of train_step.py that they take.

    python benchmarks/checks.py [--steps 20]

Every checked call of one step is recorded, then made again around an empty function, and every line of byhand.check
within a body is run again by itself, beside the whole step and in turns with it.
"""

import argparse
import contextlib
import gc
import itertools
import statistics
import sys
import time
import types

import byhand.check
import train_step
from byhand.check import ValuesTrusted
from byhand.check.arrays import trusted
from common import machine, show, write
from history import busy


def checked_functions():
    """Every function under `@checked`, and the cell in which its wrapper keeps it."""
    for function in gc.get_objects():
        if isinstance(function, types.FunctionType) and getattr(function, "__checked__", False):
            yield function, function.__closure__[function.__code__.co_freevars.index("function")]


def lines_of_check():
    """Where the library's modules call byhand.check within a body: module, name, function."""
    for module in [m for name, m in sys.modules.items() if name.startswith("byhand.")]:
        for name in set(byhand.check.__all__) - {"checked"} if "byhand.check" not in module.__name__ else ():
            if isinstance(getattr(module, name, None), types.FunctionType):
                yield module, name, getattr(module, name)


def recorded(step):
    """All checks of one step: function, arguments, whether values were trusted there."""
    calls, lines, cells = [], [], [(f, cell, cell.cell_contents) for f, cell in checked_functions()]

    def noting(into, label, function):
        def call(*args, **options):
            into.append((label, args, options, trusted()))
            return function(*args, **options)
        return call

    places = list(lines_of_check())
    for f, cell, inside in cells:
        cell.cell_contents = noting(calls, f, inside)
    for module, name, function in places:
        setattr(module, name, noting(lines, function, function))
    try:
        step()
    finally:
        for _, cell, inside in cells:
            cell.cell_contents = inside
        for module, name, function in places:
            setattr(module, name, function)
    return calls, lines, cells


def seconds_of(checks):
    """What these checks take, one after the other, cold and warm: in a step their arrays have just been written."""
    return once(checks), once(checks)


def once(checks):
    total = 0.0
    for trust, some in itertools.groupby(checks, key=lambda check: check[3]):
        some = list(some)
        with ValuesTrusted() if trust else contextlib.nullcontext():
            start = time.process_time()
            for function, args, options, _ in some:
                function(*args, **options)
            total += time.process_time() - start
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()
    busy()  # looked at before anything of ours runs
    step = train_step.plain(1)
    step()
    calls, lines, cells = recorded(step)
    found = {"step": [], "signatures": [], "lines": []}
    for _ in range(args.steps):
        start = time.process_time()
        step()
        found["step"].append(time.process_time() - start)
        found["lines"].append(seconds_of(lines))
        for _, cell, _ in cells:
            cell.cell_contents = lambda *args, **options: None
        found["signatures"].append(seconds_of(calls))
        for _, cell, inside in cells:
            cell.cell_contents = inside
    step_ms = 1e3 * statistics.median(found["step"])
    cold, warm = ({name: 1e3 * statistics.median(turn[i] for turn in found[name]) for name in ("signatures", "lines")}
                  for i in range(2))
    share = sum(warm.values()) / step_ms
    facts = machine(1, "cpu")
    show("The checks in one training step", facts, ["what", "calls", "ms", "after other work"],
         [["the step", "", f"{step_ms:.0f}", ""],
          *([name, f"{count}", f"{warm[name]:.2f}", f"{cold[name]:.2f}"]
            for name, count in (("signatures", len(calls)), ("lines", len(lines))))],
         note=f"Together {100 * share:.2f} % of the step; {100 * sum(cold.values()) / step_ms:.2f} % "
              "if nothing were in the processor's caches.")
    turns = [(a[1] + b[1]) / s for a, b, s in zip(*map(found.get, ("signatures", "lines", "step")), strict=True)]
    low, median, high = statistics.quantiles(turns, n=4, method="inclusive")
    rows = [{"name": "signatures and lines", "to_step": {"median": median, "low": low, "high": high,
                                                         "best": min(turns)}}]
    write("checks", facts, rows=rows, step_ms=step_ms,
          warm_ms=warm, cold_ms=cold, calls=len(calls), lines=len(lines), share=share)


if __name__ == "__main__":
    main()
