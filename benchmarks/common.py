"""What the benchmarks share: turns taken in one interleaved run, the peak beside them, the machine, a table, a record.

A time from one machine at one moment means little; a ratio of two programs that take turns means something. Each
program runs in a process of its own, which waits on its pipe while another one runs: A B C A B C …
"""

import contextlib
import functools
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from history import believable, busy, may_replace, processor, remember, replace, verdict

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


def numpy_peak(clock: Callable[[], float] = now) -> float:
    """Floating-point operations a second of a float32 matrix product of 1,024 × 1,024, best of eight."""
    import numpy as np

    A = np.random.default_rng(0).random((1024, 1024), np.float32)
    C = np.empty_like(A)
    return _rate(lambda: np.matmul(A, A, out=C), clock)


def torch_peak() -> float:
    """The same in torch."""
    import torch

    A = torch.rand(1024, 1024)
    C = torch.empty_like(A)
    return _rate(lambda: torch.mm(A, A, out=C))


def _rate(product, clock=now):
    best = float("inf")
    for _ in range(8):
        start = clock()
        product()
        best = min(best, clock() - start)
    return 2 * 1024**3 / best


def cpu_of(text: str | None, said: str) -> dict[str, str | int | None]:
    """Name, family, model and stepping of the processor, from /proc/cpuinfo or, without it, from what Python says."""
    if text is None:  # such as "Intel64 Family 6 Model 142 Stepping 10, GenuineIntel" on Windows
        parts = {name: re.search(rf"{name} (\w+)", said, re.IGNORECASE) for name in ("family", "model", "stepping")}
        return {"cpu": said} | {name: found and _whole(found[1]) for name, found in parts.items()}
    lines = [re.split(r"\s*:\s*", line, maxsplit=1) for line in text.split("\n\n")[0].splitlines() if ":" in line]
    fields = {name.strip(): value.strip() for name, value in lines}
    names = {"family": ("cpu family", "CPU architecture"), "model": ("model", "CPU part"),
             "stepping": ("stepping", "CPU revision")}  # the second of each: on ARM
    return {"cpu": fields.get("model name", said)} | {
        name: next((_whole(fields[x]) for x in some if x in fields), None) for name, some in names.items()}


def _whole(x):
    return int(x) if x.isdigit() else x


@functools.cache
def core_gflops() -> int:
    """What one core does in a large product, rounded to ten: unlike processors of one name differ in it."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, "blas"):
        return round(numpy_peak(CLOCKS["cpu"]) / 1e10) * 10


def numpy_blas() -> list[dict]:
    """What threadpoolctl says of the BLAS that NumPy calls; SciPy may bring one of its own."""
    from threadpoolctl import threadpool_info

    blas = [info for info in threadpool_info() if info["user_api"] == "blas"]
    return [x for x in blas if "numpy" in x["filepath"]] or blas


def machine(threads: int, clock: str = "wall") -> dict:
    """What a figure depends on, in general terms."""
    path = Path("/proc/cpuinfo")
    cpu = cpu_of(path.read_text(encoding="utf-8") if path.is_file() else None,
                 platform.processor() or platform.machine())
    blas = numpy_blas()
    return cpu | {
        "cores": os.cpu_count(), "core_gflops": core_gflops(), "system": platform.system(), "threads": threads,
        "clock": clock,
        "blas": ", ".join(sorted(f"{x['internal_api']} {x['version']} ({x.get('architecture')})" for x in blas)),
        "OPENBLAS_CORETYPE": os.environ.get("OPENBLAS_CORETYPE", "not set"),
        "versions": {"python": platform.python_version()} | {name: version(name) for name in ("numpy", "torch")},
    }


def show(title: str, facts: dict, header: list[str], rows: list[list[str]], note: str = "") -> None:
    """Print one table, the machine above it."""
    versions = ", ".join(f"{name} {v}" for name, v in facts["versions"].items())
    print(f"\n{title}\n{processor(facts)}, {facts['cores']} cores; {facts['threads']} threads each, "
          f"{facts['clock']} time; float32; {versions}")
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
    """The record: its ratios join results/history.json, and it becomes results/NAME.json where it may.

    The path that it was written to: that of the history, where a record stays that is worth more.
    """
    RESULTS.mkdir(exist_ok=True)
    facts = facts | {"busy": busy(), "quiet": believable(busy())}
    path, record = RESULTS / f"{name}.json", {"benchmark": name, "machine": facts} | content
    remember(RESULTS / "history.json", record)
    if may_replace(record, json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None):
        replace(path, record)
        return path
    print(f"{name}.json stays as it is: "
          + ("this run was told which kernels to take" if facts["quiet"] else "this machine was too busy"))
    return RESULTS / "history.json"
