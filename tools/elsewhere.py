"""Run notebooks as on other processors, and say which cells show something else there.

    python tools/elsewhere.py --shakes 8 book/13_translate.ipynb

NumPy, its BLAS and PyTorch choose their kernels by the processor, and two kernels add the same numbers in another
order. A long training carries that last bit into the first digit. What a page says must hold on all of them: as a bound
that is wide enough, or under the tag by which a cell says how far its digits may go (same_output.py).
There are few kinds of kernels, and what happens on one processor in twenty is seldom seen: a shake changes the twelfth
digit of each number that is drawn at random, starting weights above all, as often as one asks for it.
"""

import argparse
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
NEWER = "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"  # what NumPy would use of them; the oldest are those of AVX2

# By what a processor has: the kernels of OpenBLAS, NumPy's own loops, PyTorch's own loops and its BLAS.
PROCESSORS = {
    "SSE3": ("Prescott", NEWER, "default", "COMPATIBLE"),
    "SSE4.2": ("Nehalem", NEWER, "default", "SSE4_2"),
    "AVX": ("Sandybridge", NEWER, "default", "AVX"),
    "AVX2": ("Haswell", NEWER.removeprefix("X86_V3 "), "avx2", "AVX2"),
    "AVX-512": ("SkylakeX", "", "avx512", "AVX512"),
}
VARIABLES = ("OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES", "ATEN_CPU_CAPABILITY", "MKL_CBWR")


def here() -> dict[str, dict[str, str]]:
    """As which of them this processor can run, with what is to be set for it."""
    has = np._core._multiarray_umath.__cpu_features__
    newest = len(PROCESSORS) - (not has.get("X86_V4")) - (not has.get("X86_V3"))
    those = list(PROCESSORS.items())[:newest] if platform.machine().lower() in ("x86_64", "amd64") else []
    return {name: {k: v for k, v in zip(VARIABLES, values, strict=True) if v} for name, values in those}


def shaken(seed: int) -> dict[str, str]:
    """What is to be set for a run that begins a little differently."""
    path = os.pathsep.join(filter(None, [str(ROOT / "tools" / "shaken"), os.environ.get("PYTHONPATH")]))
    return {"PYTHONPATH": path, "BYHAND_SHAKE": str(seed)}


def differing(notebooks: list, env: dict[str, str], jobs: int, root: Path = ROOT) -> list[str]:
    """The cells that nbval finds changed, or that fail, as `book/13_translate.ipynb::Cell 34`."""
    command = [sys.executable, "-m", "pytest", *map(str, notebooks), "--nbval", "--nbval-current-env",
               "--nbval-cell-timeout", "600", "-n", str(jobs), "--dist", "loadfile", "-q", "--tb=no", "-rf",
               "-p", "no:cacheprovider", "-W", "ignore:During parsing environment variable:ImportWarning"]
    done = subprocess.run(command, cwd=root, env=os.environ | env, capture_output=True, text=True)
    cells = re.findall(r"^FAILED (.*?::Cell \d+)", done.stdout, re.MULTILINE)
    if done.returncode != bool(cells):  # neither passed nor failed: nothing was run, for instance
        raise SystemExit(f"elsewhere: the notebooks did not run with {env}:\n{done.stdout}{done.stderr}")
    return cells


def main(argv=None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("notebooks", nargs="*", default=["book"], help="default: all of book/")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--processor", action="append", choices=here(), help="default: all that this one can be")
    how.add_argument("--shakes", type=int, default=0, help="how many, in place of processors")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args(argv)
    ways = {f"shake {seed}": shaken(seed) for seed in range(1, args.shakes + 1)}
    ways = ways or {name: env for name, env in here().items() if name in (args.processor or here())}
    if not ways:
        raise SystemExit(f"elsewhere: {platform.machine()} cannot run as another processor, only x86-64; say --shakes")
    found = set()
    for way in tqdm(ways, disable=None):
        cells = differing(args.notebooks, ways[way], args.jobs, root)
        tqdm.write(f"{way}: {', '.join(cells) or 'the same'}", file=sys.stdout)
        found |= set(cells)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
