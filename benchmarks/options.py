"""What the smaller benchmarks share: their command line, memory of one call, and a record that `--tiny` only prints."""

import argparse
import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from common import CLOCKS, write


def parse(about: str, seconds: float, threads: int | None = None) -> argparse.Namespace:
    """--threads, --seconds, --clock, --tiny, and --worker for the processes that `interleave` starts."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=threads or min(2, os.cpu_count() or 1), help="for every program")
    parser.add_argument("--seconds", type=float, default=seconds, help="time for the rounds of one comparison")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu with --threads 1 on a busy machine")
    parser.add_argument("--tiny", action="store_true", help="small shapes, two rounds, nothing written: a test")
    return parser.parse_args()


def record(name: str, facts: dict, tiny: bool, **content) -> None:
    """Write results/NAME.json; a tiny run prints the same on one line instead."""
    if tiny:
        print(json.dumps({"benchmark": name, "machine": facts} | content))
    else:
        path = write(name, facts, **content)
        print(f"Written to {path.relative_to(path.parents[2])}")


def range_of(row: dict, digits: int = 2) -> str:
    """A median and its quartiles."""
    return f"{row['median']:.{digits}f} ({row['low']:.{digits}f}–{row['high']:.{digits}f})"


def extra_memory(call: Callable[[], object]) -> float | None:
    """Megabytes by which one call raises the resident memory at its peak, output included; Linux only, else None."""
    status = Path("/proc/self/status")
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from what is resident now
        before = _field(status, "VmRSS")
        call()
        return (_field(status, "VmHWM") - before) / 1024
    except (OSError, StopIteration):
        return None


def traced_memory(call: Callable[[], object]) -> float:
    """Megabytes that one call holds at its peak in arrays of NumPy, its output and pages used again included."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def _field(status, name):
    return int(next(line for line in status.read_text().splitlines() if line.startswith(name)).split()[1])
