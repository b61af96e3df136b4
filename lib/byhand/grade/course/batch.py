"""A class graded: many submissions, each in its own sandbox, results kept one by one."""

import contextlib
import hashlib
import hmac
import os
import secrets
import signal
import sys
import time
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

from tqdm import tqdm

from byhand.io.files import write_whole

from ..sets import SETS, questions_of
from . import doctor, isolation
from .grading import Graded, grade
from .inert import inert
from .modules import revision
from .sandbox import SandboxError
from .submission import NONE, read


def course_key(folder: str | Path) -> bytes:
    """The secret from which every student's inputs are drawn; made once, readable by its owner alone."""
    path = Path(folder) / "course.key"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        before = os.umask(0o077)
        try:
            write_whole(path, secrets.token_hex(32).encode())
        finally:
            os.umask(before)
    return bytes.fromhex(path.read_text().strip())


def student_key(course: bytes, set_id: str, student: str) -> bytes:
    return hmac.new(course, f"{set_id}/{student}".encode(), hashlib.sha256).digest()


def one(path: str, set_id: str, key: bytes, patience: float = 1.0, way: str = "sandbox"
        ) -> tuple[str, str, float, tuple[Graded, ...]]:
    """Status, note, seconds and results of one submission; an error of ours is a status too, never a zero."""
    begun = time.monotonic()

    def came(status, note, graded=()):
        return status, inert(note), time.monotonic() - begun, graded

    try:
        submission = read(path)
        if submission.status == "unreadable":
            return came("unreadable", submission.notes[0])
        graded = grade(submission, set_id, key, isolation.WAYS[way], patience)
        none = [] if submission.answers(questions_of(set_id)) else [NONE]
        return came("graded", "\n".join([*none, *submission.notes]), graded)
    except SandboxError:
        raise
    except Exception as error:  # of this machine, or of the grader: whatever it is, the rest of the class goes on
        return came("error", f"{type(error).__name__}: {error}"[:1000])


def run(store, set_id: str, course: bytes, number: int, jobs: int = 1, patience: float = 1.0, way: str = "sandbox",
        cluster: str | None = None) -> dict[str, int]:
    """Grade what waits in this round; how many came to which status. `cluster` is the address of one of Dask's.

    Raises SandboxError before anything is kept where the isolation does not hold what it promises.
    """
    waiting, counts = store.waiting(number), {}
    if not waiting:
        return counts
    asked = [(str(store.path(row)), set_id, student_key(course, set_id, row["student"]), patience, way)
             for row in waiting]
    if cluster:
        from .cluster import graded_there

        coming = graded_there(cluster, asked)
    else:
        doctor.prove(way, [store.folder.parent])
        coming = graded_here(asked, jobs)
    store.backup()
    course_now = revision(SETS[set_id])
    with contextlib.closing(coming):
        for place, (status, note, seconds, graded) in tqdm(coming, total=len(asked), unit="submission", disable=None):
            if store.keep(waiting[place]["id"], number, status, way, note, seconds, graded, course_now):
                counts[status] = counts.get(status, 0) + 1
    return counts


def quiet() -> None:
    """In a worker: Ctrl-C, which all processes hear, ends it without a word. The grader has the words."""
    signal.signal(signal.SIGINT, lambda *_: sys.exit(0))


def graded_here(asked, jobs: int):
    """What `one` gives for each of these, as they are done, with its place among them.

    A process that dies takes no other submission along: each that was under way is tried again alone, and if its
    process dies again, that is an error of this one.
    """
    waiting, again = list(range(len(asked)))[::-1], []
    while waiting or again:
        queue, most = (waiting, jobs) if waiting else ([again.pop()], 1)
        running = {}
        try:
            with ProcessPoolExecutor(most, get_context("spawn"), quiet) as pool:
                while queue or running:
                    while queue and len(running) < most:
                        running[pool.submit(one, *asked[queue[-1]])] = queue[-1]
                        queue.pop()
                    for done in wait(running, return_when=FIRST_COMPLETED).done:
                        came = done.result()
                        yield running.pop(done), came
        except BrokenProcessPool:
            if queue is waiting:
                again += running.values()
            else:
                for place in running.values():
                    yield place, ("error", "the process that graded it was killed; is the memory short?", 0.0, ())
