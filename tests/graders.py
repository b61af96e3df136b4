# ruff: noqa: E501
"""A class graded while its graders are killed: in the end no row is lost, none is doubled, and every grade is right.

    python tests/graders.py batch --submissions 100 --kills 20
    python tests/graders.py cluster --submissions 40 --kills 3

`batch`: the command is killed with SIGKILL at random moments and started again; where the class is through before all
kills are spent, the next round is graded. At the end two graders take one last round together.
`cluster`: a cluster of Dask with two workers, of which one is killed again and again while the class is graded.
Prints what was counted as JSON; ends with a sentence where a row is lost, doubled or wrong.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from byhand.grade.course.store import Store
from byhand.grade.sets import questions_of
from hostile import HEAD, A, B, C, notebook

SET, DUE = "04", 7
COMMAND = [sys.executable, "-c", "import sys; from byhand.grade.course import cli; sys.exit(cli.main(sys.argv[1:]))"]


def grader(home: str, *words, **how) -> subprocess.Popen:
    return subprocess.Popen([*COMMAND, "--store", f"{home}/grades", *words], start_new_session=True,
                            stdout=subprocess.DEVNULL, **how)


def attempts(home: str) -> int:
    with Store(f"{home}/grades/{SET}") as store:
        return store.db.execute("SELECT count(*) FROM attempt").fetchone()[0]


def collected(home: str, n: int) -> None:
    Path(home, "in").mkdir()
    for i in range(n):
        Path(home, "in", f"s{i:03}.ipynb").write_bytes(notebook(HEAD, A, B, C, f"mine = {i}"))
    assert grader(home, "collect", SET, f"{home}/in").wait(300) == 0


def counted(home: str, n: int) -> dict:
    """What the gradebook holds. AssertionError where it is not each submission once a round, with its points."""
    with Store(f"{home}/grades/{SET}") as store:
        rounds = store.db.execute("SELECT max(id) FROM round").fetchone()[0]
        rows = store.db.execute("SELECT count(*), count(DISTINCT submission || ' ' || round) FROM attempt").fetchone()
        results = store.db.execute("SELECT count(*) FROM result").fetchone()[0]
        wrong = [f"{row[0]}: {row[1]}" for row in store.db.execute(
            "SELECT a.status, a.note || coalesce((SELECT group_concat(text) FROM result WHERE attempt = a.id), '') FROM "
            "attempt a WHERE status != 'graded' OR (SELECT sum(points) FROM result WHERE attempt = a.id) != ?", (DUE,))]
        whole = store.db.execute("PRAGMA integrity_check").fetchone()[0]
        texts = store.db.execute("SELECT count(*) FROM (SELECT s.id, r.question FROM submission s JOIN attempt a ON "
                                 "a.submission = s.id JOIN result r ON r.attempt = a.id GROUP BY s.id, r.question "
                                 "HAVING count(DISTINCT r.points || r.status || r.text) > 1)").fetchone()[0]
    found = {"rounds": rounds, "lost": n * rounds - rows[1], "doubled": rows[0] - rows[1],
             "results lost": rows[0] * len(questions_of(SET)) - results, "wrong": len(wrong), "differ": texts}
    assert whole == "ok" and not any(found[name] for name in list(found)[1:]), f"{found}, the file is {whole}; {wrong[:1]}"
    return found


def batch(home: str, a, rng) -> dict:
    counts = {"kills": 0, "kills between rows": 0}
    before = 0
    while counts["kills"] < a.kills:
        process = grader(home, "grade", SET, "--jobs", "2", stderr=subprocess.DEVNULL)
        try:
            if counts["kills"] % 2:  # soon after a row; else at any moment
                there = attempts(home)
                while process.poll() is None and attempts(home) == there:
                    time.sleep(0.02)
                code = process.wait(rng.uniform(0, 1))
            else:
                code = process.wait(rng.uniform(0.1, a.seconds))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            counts["kills"] += 1
            there = attempts(home) - before
            counts["kills between rows"] += 0 < there < a.submissions
            continue
        assert code == 0, f"grade ended with {code}"
        another_round(home)
        before = attempts(home)
    two = [grader(home, "grade", SET) for _ in range(2)]
    assert [p.wait(3600) for p in two] == [0, 0]
    number = another_round(home)
    two = [grader(home, "grade", SET) for _ in range(2)]
    assert [p.wait(3600) for p in two] == [0, 0]
    return counts | {"last round": number}


def another_round(home: str) -> int:
    with Store(f"{home}/grades/{SET}") as store:
        number = store.new_round("once more")
        store.apply(number)
    return number


def cluster(home: str, a, rng) -> dict:
    """As many kills as asked, each while rows come in; a nanny starts the worker anew, at another address."""
    import warnings

    from distributed import LocalCluster

    counts = {"kills": 0, "addresses": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1",
                          silence_logs=50) as there:
            process = grader(home, "grade", SET, "--dask", there.scheduler_address)
            seen, done = set(), 0
            while process.poll() is None:
                pids = {nanny.pid for nanny in there.workers.values() if nanny.pid}
                seen |= pids
                now = attempts(home)
                if counts["kills"] < a.kills and now > done and pids:
                    done = now
                    os.kill(rng.choice(sorted(pids)), signal.SIGKILL)
                    counts["kills"] += 1
                time.sleep(0.05)
            assert process.returncode == 0, f"grade ended with {process.returncode}"
            counts["addresses"] = len(seen)
    assert counts["kills"] == a.kills, f"the class was through after {counts['kills']} kills"
    return counts


def main() -> dict:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("how", choices=("batch", "cluster"))
    parser.add_argument("--submissions", type=int, default=100)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=15, help="the longest that a grader lives before it is killed")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--fault", choices=("twice", "half", "late"), help="a wrong way to keep rows, to see it found")
    a = parser.parse_args()
    seed = random.randrange(2**32) if a.seed is None else a.seed
    if a.fault:
        COMMAND[2] = FAULTS[a.fault] + COMMAND[2]
    with tempfile.TemporaryDirectory() as home:
        collected(home, a.submissions)
        counts = {"batch": batch, "cluster": cluster}[a.how](home, a, random.Random(seed))
        return {"submissions": a.submissions, "seed": seed} | counts | counted(home, a.submissions)


START = "from byhand.grade.course import store; real = store.Store.keep\n"
FAULTS = {  # wrong ways that a person would write
    # no key over submission and round: whoever comes second writes too
    "twice": "from byhand.grade.course import store; store.TABLES = store.TABLES.replace("
             "',\\n    UNIQUE (submission, round)', '')\n",
    # the attempt in one transaction, its results in another
    "half": START + "def keep(self, *row):\n    kept = real(self, *row[:6], [], *row[7:])\n    import time; time.sleep(1)\n"
            "    if kept:\n        last = self.db.execute('SELECT max(id) FROM attempt').fetchone()[0]\n"
            "        self.db.executemany('INSERT INTO result VALUES (?, ?, ?, ?, ?, ?, ?)', [(last, g.question, g.status, "
            "g.points, g.max_points, g.text, '[]') for g in row[6]])\n    return kept\nstore.Store.keep = keep\n",
    # what is done is written down before it is done
    "late": START + "def waiting(self, number, real=store.Store.waiting):\n    found = real(self, number)\n"
            "    for row in found:\n        real_keep(self, row['id'], number, 'graded', 'sandbox', '', 0.0, [])\n"
            "    return found\nreal_keep = real\nstore.Store.waiting = waiting\n",
}


if __name__ == "__main__":
    try:
        print(json.dumps(main()))
    except AssertionError as error:
        sys.exit(str(error))
    finally:
        for thread in threading.enumerate():
            if thread is not threading.main_thread() and not thread.daemon:
                thread.join(5)
