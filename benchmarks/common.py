"""What the benchmarks share: turns taken in one interleaved run, the peak beside them, the machine, a table, a record.

A time from one machine at one moment means little; a ratio of two programs that take turns means something. Each
program runs in a process of its own, which waits on its pipe while another one runs: A B C A B C …
"""

import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from history import busy, remember, replace, verdict

HERE = Path(__file__).parent
RESULTS = HERE / "results"
REST = 0.15  # seconds between turns: idle threads of BLAS and OpenMP spin for a while before they sleep
TURN = 2.0  # seconds after which a turn ends, whatever steps are left
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}  # cpu: with one thread, on a machine where others work
THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def now() -> float:
    """Seconds of the clock that `interleave` chose."""
    return CLOCKS[os.environ.get("BENCH_CLOCK", "wall")]()


def serve(step: Callable[[], float], peak: Callable[[], float], **ready) -> None:
    """In a worker: for each number on stdin, one step, then that many timed ones, and the peak measured right then."""
    out, sys.stdout = sys.stdout, sys.stderr  # nothing else may write into the pipe
    losses = [float(step()) for _ in range(3)]  # the first calls allocate, and load kernels
    print(json.dumps({"losses": losses} | ready), file=out, flush=True)
    for line in sys.stdin:
        seconds, end = [], time.perf_counter() + TURN
        step()
        while not seconds or len(seconds) < int(line) and time.perf_counter() < end:
            start = now()
            step()
            seconds.append(now() - start)
        print(json.dumps({"seconds": seconds, "peak": peak()}), file=out, flush=True)


def interleave(
    script: str, workers: dict[str, dict], threads: int, steps: int = 5, seconds: float = 75, rounds: int = 12,
    clock: str = "wall",
) -> tuple[dict, list[dict]]:
    """Start `script --worker NAME` for each name, with its changes to the environment, and let them take turns.

    What each said when it was ready, and for each round what each said then. It ends early when the time is up, but
    not before the second round. A value of None in an environment removes the variable.
    """
    busy()  # looked at before our own processes are there
    running, ready = {}, {}
    try:
        for name, changes in workers.items():
            changes = dict.fromkeys(THREAD_LIMITS, str(threads)) | {"BENCH_CLOCK": clock} | changes
            env = {k: v for k, v in (os.environ | changes).items() if v is not None}
            running[name] = subprocess.Popen([sys.executable, script, "--worker", name, "--threads", str(threads)],
                                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
            ready[name] = _answer(name, running[name])
        table, end = [], time.monotonic() + seconds
        while len(table) < rounds and (len(table) < 2 or time.monotonic() < end):
            table.append({})
            for name, process in running.items():
                time.sleep(REST)
                print(steps, file=process.stdin, flush=True)
                table[-1][name] = _answer(name, process)
        return ready, table
    finally:
        for process in running.values():
            with contextlib.suppress(BrokenPipeError):  # it has ended
                process.stdin.close()
        for process in running.values():
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()


def _answer(name, process):
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"interleave: worker {name} ended with {process.wait()}, expected an answer")
    return json.loads(line)


def compare(table: list[dict], name: str, base: str | None = None) -> dict[str, float]:
    """Quartiles and the best: of the milliseconds a step of `name`, or of its ratio to `base` round by round."""
    middle = [statistics.median(turn[name]["seconds"]) for turn in table]
    best = min(min(turn[name]["seconds"]) for turn in table)
    if base is None:
        values, best = [1e3 * x for x in middle], 1e3 * best
    else:
        values = [x / statistics.median(turn[base]["seconds"]) for x, turn in zip(middle, table, strict=True)]
        best /= min(min(turn[base]["seconds"]) for turn in table)
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": median, "low": low, "high": high, "best": best}


def share_of_peak(table: list[dict], name: str, flops: float) -> float:
    """Median over rounds of the rate of a step over that of a large product, both from one turn of one process."""
    return statistics.median(
        flops / statistics.median(turn[name]["seconds"]) / turn[name]["peak"] for turn in table)


def numpy_peak() -> float:
    """Floating-point operations a second of a float32 matrix product of 1,024 × 1,024, best of eight."""
    import numpy as np

    A = np.random.default_rng(0).random((1024, 1024), np.float32)
    C = np.empty_like(A)
    return _rate(lambda: np.matmul(A, A, out=C))


def torch_peak() -> float:
    """The same in torch."""
    import torch

    A = torch.rand(1024, 1024)
    C = torch.empty_like(A)
    return _rate(lambda: torch.mm(A, A, out=C))


def _rate(product):
    best = float("inf")
    for _ in range(8):
        start = now()
        product()
        best = min(best, now() - start)
    return 2 * 1024**3 / best


def machine(threads: int, clock: str = "wall") -> dict:
    """What a figure depends on, in general terms."""
    from threadpoolctl import threadpool_info

    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").is_file():
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), model)
    blas = [info for info in threadpool_info() if info["user_api"] == "blas"]
    return {
        "cpu": model, "cores": os.cpu_count(), "system": platform.system(), "threads": threads, "clock": clock,
        "blas": ", ".join(f"{x['internal_api']} {x['version']} ({x.get('architecture')})" for x in blas),
        "OPENBLAS_CORETYPE": os.environ.get("OPENBLAS_CORETYPE", "not set"),
        "versions": {"python": platform.python_version()} | {name: version(name) for name in ("numpy", "torch")},
    }


def show(title: str, facts: dict, header: list[str], rows: list[list[str]], note: str = "") -> None:
    """Print one table, the machine above it."""
    versions = ", ".join(f"{name} {v}" for name, v in facts["versions"].items())
    print(f"\n{title}\n{facts['cpu']}, {facts['cores']} cores; {facts['threads']} threads each, {facts['clock']} time; "
          f"float32; {versions}")
    print(f"BLAS of NumPy: {facts['blas']}; OPENBLAS_CORETYPE {facts['OPENBLAS_CORETYPE']}\n{verdict(busy())}\n")
    table(header, rows)
    print(f"\n{note}" if note else "", flush=True)


def table(header: list[str], rows: list[list[str]]) -> None:
    """Columns as wide as they need to be, the first to the left."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, ["-" * w for w in widths], *rows]:
        print("  ".join(f"{x:<{w}}" if i == 0 else f"{x:>{w}}"
                        for i, (x, w) in enumerate(zip(row, widths, strict=True))).rstrip())


def write(name: str, facts: dict, **content) -> Path:
    """The record, results/NAME.json, whose ratios also join results/history.json."""
    RESULTS.mkdir(exist_ok=True)
    path, record = RESULTS / f"{name}.json", {"benchmark": name, "machine": facts | {"busy": busy()}} | content
    replace(path, record)
    remember(RESULTS / "history.json", record)
    return path
