"""All benchmarks, one after another, and one table of their ratios at the end.

    python benchmarks/bench.py [NAME ...] [--kernels both] [--threads 2] [--seconds 75] [--clock wall]

Each adds its ratios to results/history.json under the name of this machine, and writes results/NAME.json unless what is
there is worth more: a busy run never takes the place of a quiet one. The first line says whether the machine is quiet
enough for any of it to be believed.

`--kernels chosen` lets BLAS choose its kernels whatever the environment says, `--kernels avx2` has OpenBLAS take those
for AVX2, and `--kernels both` runs each benchmark once with these and once with those. Runs with AVX2 go to the history
alone; then `python benchmarks/pages.py` writes the table of both.
"""

import argparse
import json
import os
import subprocess
import sys

from common import CLOCKS, HERE, RESULTS, table
from history import busy, name_of, verdict

TIMED = ("train_step", "flash", "roofline", "torch_block", "decode", "pretrained_speed", "quantised")  # with turns
OTHERS = ("loops", "checks", "check_latency", "grading", "gpu")
CORETYPE = {"chosen": None, "avx2": "Haswell"}  # what OPENBLAS_CORETYPE becomes


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


def environments(kernels: str | None) -> list[dict[str, str]]:
    """One environment a run: with the kernels that are asked for, those for AVX2 first."""
    some = {None: [os.environ.get("OPENBLAS_CORETYPE")], "both": [*CORETYPE.values()][::-1]}
    return [{k: v for k, v in (os.environ | {"OPENBLAS_CORETYPE": asked}).items() if v is not None}
            for asked in some.get(kernels) or [CORETYPE[kernels]]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(TIMED + OTHERS)}; default all")
    parser.add_argument("--threads", type=int, help="for every program; default what each benchmark has")
    parser.add_argument("--seconds", type=float, help="for the rounds of one comparison")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu with --threads 1 on a busy machine")
    parser.add_argument("--kernels", choices=[*CORETYPE, "both"], help="of BLAS; default as the environment says")
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
        for env in environments(args.kernels):
            if subprocess.run(command, env=env).returncode and name not in failed:
                failed.append(name)
    print(f"\n{verdict(busy())}\n")
    table(["", "", "median", "quartiles", "best"], summary([name for name in names if name not in failed]))
    if failed:
        sys.exit(f"\nbench: {', '.join(failed)} ended with an error")


if __name__ == "__main__":
    main()
