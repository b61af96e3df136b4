"""What a learner waits for: CPU time of the first `check` in a process, and of every later one.

    python benchmarks/check_latency.py [--sets 04 05] [--starts 5]

The first is counted from `import byhand.grade` on, with NumPy imported, in a process of its own, and leaves out the
questions that need PyTorch. A later one is the second check of every right answer and of every known wrong one, with
the text and the page that a notebook shows, and with progress kept in a file.
"""

import argparse
import contextlib
import io
import os
import statistics
import subprocess
import sys
import tempfile
import time

from common import machine, show, write
from history import busy

FIRST = """
import sys, time
import numpy as np
np.random.default_rng(0).normal()
start = time.process_time()
from byhand.grade import check
check(sys.argv[1], lambda *given: given)._repr_mimebundle_()
print(time.process_time() - start, "torch" in sys.modules)
"""


def first(question):
    out = subprocess.run([sys.executable, "-c", FIRST, question.id], check=True, capture_output=True, text=True).stdout
    seconds, torch = out.split()
    assert torch == "False", f"{question.id}: the check imports torch"
    return 1e3 * float(seconds)


def later(question, answer):
    from byhand.grade import check

    with contextlib.redirect_stdout(io.StringIO()):  # a script prints its reports
        check(question.id, answer)
        start = time.process_time()
        check(question.id, answer)._repr_mimebundle_()
        return 1e3 * (time.process_time() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--starts", type=int, default=5, help="processes for each set")
    args = parser.parse_args()
    busy()  # looked at before anything of ours runs
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BYHAND_PROGRESS"] = os.path.join(folder, "progress.sqlite")
        from byhand.grade.sets import SETS, questions_of, references_of

        rows, every, starts = [], [], []
        for set_id in args.sets or SETS:
            questions, references = questions_of(set_id), references_of(set_id)
            plain = next(q for q in questions if not q.torch)
            mine = [first(plain) for _ in range(args.starts)]
            took = {}
            for q in questions:
                answers = {"right": references[q.name]} | {m.name: m.function for m in q.mutants}
                took |= {f"{q.id} {name}": later(q, answer) for name, answer in answers.items()}
            slowest = max(took, key=took.get)
            rows.append({"set": set_id, "first_ms": statistics.median(mine), "checks": len(took),
                         "median_ms": statistics.median(took.values()), "slowest_ms": took[slowest],
                         "slowest": slowest})
            starts += mine
            every += took.values()
    facts = machine(1, "cpu")
    found = {"first_ms": statistics.median(starts), "median_ms": statistics.median(every), "slowest_ms": max(every)}
    show("CPU time of a check", facts, ["set", "first, ms", "checks", "median, ms", "slowest, ms", "which"],
         [[r["set"], f"{r['first_ms']:.0f}", f"{r['checks']}", f"{r['median_ms']:.1f}", f"{r['slowest_ms']:.0f}",
           r["slowest"]] for r in rows],
         note=f"All: first {found['first_ms']:.0f} ms, later {found['median_ms']:.1f} ms in the median.")
    write("check_latency", facts, rows=rows, **found)


if __name__ == "__main__":
    main()
