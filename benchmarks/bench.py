"""All benchmarks, one after another, and one table of their ratios at the end.

    python benchmarks/bench.py [NAME ...] [--threads 2] [--seconds 75] [--clock wall]

Each writes results/NAME.json, and adds its ratios to results/history.json under the name of this machine. The first
line says whether the machine is quiet enough for any of it to be believed.
"""

import argparse
import json
import subprocess
import sys

from common import CLOCKS, HERE, RESULTS, table
from history import busy, name_of, verdict

TIMED = ("train_step", "flash", "roofline", "torch_block", "decode", "pretrained_speed", "quantised")  # with turns
OTHERS = ("loops", "checks", "check_latency", "grading", "gpu")


def summary(names: list[str]) -> list[list[str]]:
    """A row for every ratio that the last runs of these benchmarks have."""
    rows = []
    for name in names:
        path = RESULTS / f"{name}.json"
        record = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        for row in record.get("rows", ()):
            for ratio, found in row.items():
                if ratio.startswith("to_") and found["median"] != 1:
                    rows.append([f"{name}: {name_of(row)}", f"÷ {ratio[3:]}", f"{found['median']:.2f}",
                                 f"{found['low']:.2f}–{found['high']:.2f}", f"{found['best']:.2f}"])
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(TIMED + OTHERS)}; default all")
    parser.add_argument("--threads", type=int, help="for every program; default what each benchmark has")
    parser.add_argument("--seconds", type=float, help="for the rounds of one comparison")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu with --threads 1 on a busy machine")
    args = parser.parse_args()
    names = args.names or [*TIMED, *OTHERS]
    if unknown := [name for name in names if name not in TIMED + OTHERS]:
        parser.error(f"{unknown[0]} is no benchmark, expected one of {', '.join(TIMED + OTHERS)}")
    print(verdict(busy()), flush=True)
    options = [x for name in ("threads", "seconds", "clock") if (value := getattr(args, name)) is not None
               for x in (f"--{name}", str(value))]
    failed = []
    for name in names:
        print(f"\nbenchmarks/{name}.py", flush=True)
        command = [sys.executable, str(HERE / f"{name}.py"), *(options if name in TIMED else [])]
        if subprocess.run(command).returncode:
            failed.append(name)
    print(f"\n{verdict(busy())}\n")
    table(["", "", "median", "quartiles", "best"], summary([name for name in names if name not in failed]))
    if failed:
        sys.exit(f"\nbench: {', '.join(failed)} ended with an error")


if __name__ == "__main__":
    main()
