"""Whether the machine is quiet enough to be believed, and what every run of a benchmark gave, by machine.

results/NAME.json is the last quiet run with the kernels that BLAS chooses; results/history.json has the ratios of all
runs, {machine: {benchmark: [run …]}}. Its first runs did not note which of a maker's processors they ran on: machines
whose names begin with NOT_TOLD_APART may be several.
"""

import functools
import json
import os
import re
import statistics
import tempfile
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

QUIET = {"others": 0.1, "steal": 0.02, "spread": 1.15}  # above one of them a figure says little
NOT_TOLD_APART = "not told apart: "
UNTOLD = " †"
CHOSEN, AVX2 = "kernels that BLAS chooses", "AVX2 kernels"


@functools.cache
def busy() -> dict:
    """Before anything of ours runs: the share of the cores that others use, what the host takes away, and the spread
    of one product's time (its 90th percentile over its 10th); None where the system does not say.

    The product has one thread: two would wait for each other, longest where they are halves of one core, and that is
    no one's work but ours."""
    import numpy as np
    from threadpoolctl import threadpool_limits

    before, A = _ticks(), np.random.default_rng(0).random((384, 384), np.float32)
    time.sleep(0.5)
    after, times = _ticks(), []
    with threadpool_limits(1):
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


def quiet(record: dict) -> bool:
    """Does this record, or this run of the history, say of itself that its machine was quiet?"""
    facts = record.get("machine", record)
    return bool(facts.get("quiet", facts.get("busy") and believable(facts["busy"])))


def pinned(record: dict) -> bool:
    """Did somebody tell BLAS which kernels to take?"""
    return record["machine"]["OPENBLAS_CORETYPE"] != "not set"


def may_replace(new: dict, old: dict | None) -> bool:
    """A busy run never takes the place of a quiet one, nor do kernels that BLAS was told to take that of its own."""
    return old is None or (quiet(new) or not quiet(old)) and (not pinned(new) or pinned(old))


def processor(facts: dict) -> str:
    """Its name and, where the record has them, what tells it from others of that name."""
    parts = [f"{name} {facts[name]}" for name in ("family", "model") if facts.get(name) is not None]
    return ", ".join([facts["cpu"], *parts])


def key(facts: dict) -> str:
    """What a figure depends on, as one name: processor, cores, threads, BLAS and its kernels."""
    return ("" if "family" in facts else NOT_TOLD_APART) + (
        f"{processor(facts)}, {facts['cores']} cores, {facts['system']}, {facts['threads']} threads, {facts['blas']}, "
        f"NumPy {facts['versions']['numpy']}")


def kernels(machine: str, run: dict) -> set[str]:
    """CHOSEN, AVX2, or both: where a processor has no more than AVX2, BLAS chooses those.

    The first runs do not say what BLAS was told; those with kernels for AVX2 were told to take them.
    """
    avx2 = "(Haswell)" in machine or "(Zen)" in machine
    asked = run.get("OPENBLAS_CORETYPE", "Haswell" if avx2 else "not set")
    return {kind for kind, holds in ((CHOSEN, asked == "not set"), (AVX2, avx2)) if holds}


def place(machine: str) -> tuple[str, str]:
    """Of a key: the processor, with a mark if runs did not tell it from others of its name; and NumPy's kernels."""
    cpu, rest = re.split(r", [0-9]+ cores", machine.removeprefix(NOT_TOLD_APART), maxsplit=1)
    return cpu + UNTOLD * machine.startswith(NOT_TOLD_APART), re.search(r"\((\w+)\)", rest)[1]


def newest(
    history: dict, benchmark: str, row: str, ratio: str, kind: str | None = None, where: tuple[str, str] | None = None
) -> tuple[str, dict, dict] | None:
    """Machine, run and row of the newest quiet run that has it, or the newest of all if none is quiet; of one kind of
    kernels, or of one place.

    Machines that are told apart go before the others.
    """
    found = []
    for machine, kinds in history.items():
        for run in kinds.get(benchmark, ()):
            rows = [r for r in run["rows"] if r["row"] == row and ratio in r]
            if rows and (kind is None or kind in kernels(machine, run)) and where in (None, place(machine)):
                told = not machine.startswith(NOT_TOLD_APART)
                found.append(((quiet(run), told, run["when"]), (machine, run, rows[0])))
    return max(found, key=lambda each: each[0])[1] if found else None


def remember(path: Path, record: dict) -> None:
    """Append the ratios of a run to its machine's history."""
    ratios = [{"row": name_of(row)} | {k: v for k, v in row.items() if k.startswith("to_") or "_to_" in k
                                       or k in ("extra_MB", "kept_MB")} for row in record.get("rows", ())]
    facts = record["machine"]
    noted = {k: facts[k] for k in ("busy", "quiet", "clock", "OPENBLAS_CORETYPE", "core_gflops") if k in facts}
    run = {"when": datetime.now(UTC).isoformat(timespec="seconds"), **noted, "rows": ratios}
    with _alone(path):
        known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        known.setdefault(key(record["machine"]), {}).setdefault(record["benchmark"], []).append(run)
        replace(path, known)


def name_of(row: dict) -> str:
    """The words and sizes of a row: whatever is no measurement."""
    counts = ("blas", "flops", "bytes", "least_bytes", "ladder", "rung", "threads")
    return ", ".join(f"{v}" if isinstance(v, str) else f"{k} {v}" for k, v in row.items()
                     if isinstance(v, str | int) and k not in counts)


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
