"""Whether the machine is quiet enough to be believed, and what every run of a benchmark gave, by machine.

results/NAME.json is the last run; results/history.json has the ratios of all of them, {machine: {benchmark: [run …]}}.
"""

import functools
import json
import os
import statistics
import tempfile
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

QUIET = {"others": 0.1, "steal": 0.02, "spread": 1.15}  # above one of them a figure says little


@functools.cache
def busy() -> dict:
    """Before anything of ours runs: the share of the cores that others use, what the host takes away, and the spread
    of one product's time (its 90th percentile over its 10th); None where the system does not say."""
    import numpy as np

    before, A = _ticks(), np.random.default_rng(0).random((384, 384), np.float32)
    time.sleep(0.5)
    after, times = _ticks(), []
    for _ in range(60):
        start = time.perf_counter()
        A @ A
        times.append(time.perf_counter() - start)
    tenths = statistics.quantiles(times[10:], n=10)
    found = {"others": None, "steal": None, "spread": tenths[8] / tenths[0], "load": None}
    if before and after:
        total = max(sum(after) - sum(before), 1)
        idle, steal = (sum(after[i] - before[i] for i in some) for some in ((3, 4), (7,)))
        found |= {"others": 1 - (idle + steal) / total, "steal": steal / total}
    if hasattr(os, "getloadavg"):
        found["load"] = os.getloadavg()[0]
    return found


def _ticks():
    """Of all cores since the start: user, nice, system, idle, iowait, irq, softirq, steal; None without Linux."""
    path = Path("/proc/stat")
    return [int(x) for x in path.read_text(encoding="utf-8").split("\n", 1)[0].split()[1:9]] if path.is_file() else None


def believable(found: dict) -> bool:
    return all(found[name] is None or found[name] <= most for name, most in QUIET.items())


def verdict(found: dict) -> str:
    """One line for the top of a table."""
    words = {"others": "others use {:.0%} of the cores", "steal": "the host takes {:.0%}",
             "spread": "one product's time spreads by {:.2f}", "load": "load {:.1f}"}
    said = ", ".join(text.format(found[name]) for name, text in words.items() if found[name] is not None)
    return f"{'Quiet' if believable(found) else 'TOO BUSY TO BELIEVE'}: {said}."


def key(facts: dict) -> str:
    """What a figure depends on, as one name: processor, cores, threads, BLAS and its kernels."""
    return (f"{facts['cpu']}, {facts['cores']} cores, {facts['system']}, {facts['threads']} threads, {facts['blas']}, "
            f"NumPy {facts['versions']['numpy']}")


def remember(path: Path, record: dict) -> None:
    """Append the ratios of a run to its machine's history."""
    ratios = [{"row": name_of(row)} | {k: v for k, v in row.items() if k.startswith("to_") or k == "extra_MB"}
              for row in record.get("rows", ())]
    run = {"when": datetime.now(UTC).isoformat(timespec="seconds"), "busy": record["machine"].get("busy"),
           "clock": record["machine"]["clock"], "rows": ratios}
    with _alone(path):
        known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        known.setdefault(key(record["machine"]), {}).setdefault(record["benchmark"], []).append(run)
        replace(path, known)


def name_of(row: dict) -> str:
    """The words and sizes of a row: whatever is no measurement."""
    return ", ".join(f"{v}" if isinstance(v, str) else f"{k} {v}" for k, v in row.items()
                     if isinstance(v, str | int) and k != "blas")


def replace(path: Path, content) -> None:
    """Write the whole of it beside the file, then put it in its place: a reader sees the old or the new."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}.", encoding="utf-8",
                                     delete=False) as file:
        try:
            file.write(json.dumps(content, indent=1) + "\n")
            file.close()
            os.chmod(file.name, 0o644)
            os.replace(file.name, path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


@contextmanager
def _alone(path):
    """One process at a time, where the system can lock a file."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with open(path.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
