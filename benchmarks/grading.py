"""What an instructor waits for: processor time, the clock and memory of a submission graded in the sandbox.

    python benchmarks/grading.py [--times 5] [--students 300] [--jobs 2]

A submission is the right answers to a whole set, graded as `byhand-grade grade` does it; the reference runs beside it
once a student, since everybody's inputs are other ones. Once with the questions that need PyTorch, once without. Then
a whole class, NumPy alone, with its gradebook, by the clock. The processor time of what ends in a sandbox is told to
nobody outside, so that time and memory are of the same worker in a process of its own; the clock is the sandbox's.
Memory is the largest resident size of a single process.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import machine, show, write
from history import busy

SETS = {"NumPy": "06", "torch": "04"}


def spent() -> float:
    """Processor seconds of this process and of all that it has waited for."""
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(x.ru_utime + x.ru_stime for x in both)


def answers(set_id: str, folder: Path, torch: bool) -> Path:
    """A file with the right answers; without `torch`, those that need it are left out."""
    import ast

    from byhand.grade import reference
    from byhand.grade.sets import SETS, questions_of

    source = (Path(next(iter(reference.__path__))) / f"{SETS[set_id]}.py").read_text(encoding="utf-8")
    left = {q.name for q in questions_of(set_id) if q.torch and not torch}
    tree = ast.parse(source)
    tree.body = [node for node in tree.body if getattr(node, "name", None) not in left
                 and (torch or "torch" not in ast.unparse(node).split("\n")[0])]
    path = folder / f"{set_id}.py"
    path.write_text(ast.unparse(tree), encoding="utf-8")
    return path


def one(kind: str, student: int, folder: Path) -> dict:
    """In a process of its own: one submission, after a first that has loaded the set and made the reference warm."""
    from byhand.grade.course import batch

    path, took = answers(SETS[kind], folder, kind == "torch"), {}
    batch.one(str(path), SETS[kind], b"first", way="process")
    for way in ("sandbox", "process"):
        begun, clock = spent(), time.perf_counter()
        status, note, _, graded = batch.one(str(path), SETS[kind], f"{student} {way}".encode(), way=way)
        took |= {"wall_s": time.perf_counter() - clock} if way == "sandbox" else {"cpu_s": spent() - begun}
        short = [g.question for g in graded if g.points < g.max_points]
        short = [q for q in short if kind == "torch" or next(g for g in graded if g.question == q).status != "missing"]
        assert status == "graded" and not short, f"{kind}: the right answers lose points in {short} {note}"
    return took | {"questions": sum(g.status != "missing" for g in graded),
                   "mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024}


def of_class(students: int, jobs: int, folder: Path) -> dict:
    from byhand.grade.course import batch
    from byhand.grade.course.store import Store

    text = answers(SETS["NumPy"], folder, False).read_bytes()
    with Store(folder / "grades") as store:
        for i in range(students):
            data = text + f"\nmine = {i}\n".encode()
            store.receive(f"s{i}", "lab.py", f"{i:064}", ".py", data)
        clock = time.perf_counter()
        counts = batch.run(store, SETS["NumPy"], b"course", 1, jobs)
    assert counts == {"graded": students}, counts
    return {"students": students, "jobs": jobs, "wall_s": time.perf_counter() - clock}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--students", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tiny", action="store_true", help="one of each and a class of two; nothing is written")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if not args.one:
        busy()  # looked at before anything of ours runs
    with tempfile.TemporaryDirectory() as folder:
        if args.one:
            print(json.dumps(one(args.one[0], int(args.one[1]), Path(folder))))
            return
        times, students = (1, 2) if args.tiny else (args.times, args.students)
        rows, found = [], {kind: [] for kind in SETS}
        for i in range(times):  # in turns
            for kind in SETS:
                line = [sys.executable, __file__, "--one", kind, str(i)]
                found[kind].append(json.loads(subprocess.run(line, check=True, capture_output=True, text=True).stdout))
        for kind, took in found.items():
            rows.append({"kind": kind, "set": SETS[kind], "questions": took[0]["questions"], "times": times}
                        | {key: statistics.median(t[key] for t in took) for key in ("cpu_s", "wall_s", "mb")})
        whole = of_class(students, args.jobs, Path(folder))
    facts = machine(1, "cpu")
    show("A submission, graded", facts, ["set", "questions", "cpu, s", "clock, s", "memory, MB"],
         [[f"{r['kind']} ({r['set']})", str(r["questions"]), f"{r['cpu_s']:.2f}", f"{r['wall_s']:.2f}",
           f"{r['mb']:.0f}"] for r in rows],
         note=f"A class of {students}, {args.jobs} at a time: {whole['wall_s']:.0f} s by the clock.")
    if args.tiny:
        print(json.dumps({"benchmark": "grading", "machine": facts, "rows": rows, "class": whole}))
    else:
        write("grading", facts, rows=rows, **{"class": whole})


if __name__ == "__main__":
    main()
