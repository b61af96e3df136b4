"""A class graded on several machines: the processes of a cluster of Dask that is there run the sandbox, each on its
own machine. Submissions go out as bytes, plain data come back, and the gradebook stays where it is.
"""

import sys
import tempfile
import threading
import time
from dataclasses import astuple
from pathlib import Path

from . import doctor
from .batch import one
from .grading import Graded
from .modules import revision
from .sandbox import SandboxError

TRIES = 5  # of a submission whose worker was lost; then it stays waiting
PATIENCE = 30.0  # seconds for the scheduler to answer
LONGEST = 120.0  # seconds without any worker
AHEAD = 2  # submissions that a worker has before it
_alone = threading.Lock()


def graded_in_worker(data: bytes, suffix: str, set_id: str, key: bytes, patience: float, way: str) -> tuple:
    """In a worker: as `one`, one at a time in a process."""
    with _alone, tempfile.TemporaryDirectory(prefix="submission-") as folder:
        path = Path(folder) / f"submission{suffix}"
        path.write_bytes(data)
        status, note, seconds, graded = one(str(path), set_id, key, patience, way)
        return status, note, seconds, [astuple(g) for g in graded]


def unfit(way: str, expected: str) -> str:
    """In a worker: why its machine may not grade; nothing if it may."""
    with _alone:
        if revision() != expected:
            return "has another version of byhand"
        try:
            doctor.prove(way)
        except SandboxError as error:
            return str(error)
    return ""


class _Workers:
    """Those workers of the cluster whose machines have shown that the isolation holds there."""

    def __init__(self, client, way):
        self.client, self.asked, self.known = client, (way, revision()), {}

    def fit(self) -> list[str]:
        there = set(self.client.scheduler_info(n_workers=-1)["workers"])
        if new := sorted(there - self.known.keys()):
            said = self.client.run(unfit, *self.asked, workers=new, on_error="return")
            for address in new:
                why = said.get(address, "is gone")
                if isinstance(why, BaseException) or why == "is gone":
                    continue  # lost while it was asked; if it comes back it is asked again
                self.known[address] = why
                if why:
                    print(f"not used: worker {address}: {why}", file=sys.stderr)
        return [address for address in there if self.known.get(address) == ""]


def graded_there(address: str, asked):
    """What `one` gives for each of `asked`, with its place, as they are done; on machines that may grade, none else.

    A submission whose worker is lost goes to another one. Raises SandboxError if no machine may grade.
    """
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("grade: --dask needs the package distributed; pip install 'byhand[cluster]'") from None
    try:
        client = Client(address, timeout=PATIENCE)
    except OSError as error:
        raise ValueError(f"grade: --dask={address}: no cluster answers there ({error})") from None
    with client:
        workers = _Workers(client, asked[0][-1] if asked else "sandbox")
        if not workers.fit():
            said = dict.fromkeys(why for why in workers.known.values() if why)
            raise SandboxError(f"no worker of {address} may grade: {'; '.join(said) or 'there is none'}")
        yield from _handed_out(client, workers, asked)


def _handed_out(client, workers, asked):
    from distributed import wait

    waiting, running, tries = list(enumerate(asked))[::-1], {}, dict.fromkeys(range(len(asked)), 0)
    last = time.monotonic()
    try:
        while waiting or running:
            fit = workers.fit()
            last = time.monotonic() if fit else last
            if time.monotonic() - last > LONGEST:
                raise SandboxError(f"no worker is left; {len(waiting) + len(running)} submissions stay waiting")
            for future, (_, may) in list(running.items()):
                if future.status in ("error", "lost", "cancelled") or not future.done() and not set(may) & set(fit):
                    place, _ = running.pop(future)
                    why = future.exception() if future.status == "error" else "its worker was lost"
                    future.cancel()
                    tries[place] += 1
                    if tries[place] < TRIES:
                        waiting.append((place, asked[place]))
                    else:
                        print(f"stays waiting: {Path(asked[place][0]).name}: {why}", file=sys.stderr)
            while waiting and fit and len(running) < AHEAD * len(fit):
                place, (path, *rest) = waiting.pop()
                path = Path(path)
                future = client.submit(graded_in_worker, path.read_bytes(), path.suffix, *rest, workers=fit, pure=False)
                running[future] = place, fit
            try:
                wait(list(running), timeout=1, return_when="FIRST_COMPLETED") if running else time.sleep(1)
            except TimeoutError:
                continue
            for future in [future for future in running if future.status == "finished"]:
                place, _ = running.pop(future)
                status, note, seconds, graded = future.result()
                yield place, (status, note, seconds, tuple(Graded(*g) for g in graded))
    finally:
        client.cancel(list(running))
