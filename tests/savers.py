"""Processes that save in one folder, are read from, and are killed: after each kill the last checkpoint is whole.

    python tests/savers.py --rounds 20 --seconds 10 --kills 300 [--folder /somewhere]

A round is two processes that save into one folder, and a reader. Then one process alone is killed again and again,
while it saves. Prints what was counted as JSON; raises where a checkpoint was lost, or is not what was saved.
"""

import argparse
import json
import mmap
import os
import random
import signal
import struct
import sys
import tempfile
import time
import traceback
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy comes: a fork in a process with threads may hang

import numpy as np
from byhand.io.checkpoint import checkpoints, load_checkpoint, save_checkpoint

FOREIGN = "download.part"
INSIDE, LAST, SAVES, REFUSED = range(4)  # what a saver writes down, where its parent sees it


class Saver:
    """A process that goes on from what is in the folder, saves step after step, and is to be killed."""

    def __init__(self, folder: Path, who: int, keep: int, size: int):
        self.seen, self.parent = mmap.mmap(-1, 32), os.getpid()
        self.pid = os.fork()
        if not self.pid:
            try:
                self.run(folder, who, keep, size)
            except BaseException:
                traceback.print_exc()
            os._exit(1)

    def note(self, which: int, value: int) -> None:
        struct.pack_into("q", self.seen, 8 * which, value)

    def read(self, which: int) -> int:
        return struct.unpack_from("q", self.seen, 8 * which)[0]

    def run(self, folder, who, keep, size):
        step = None
        while os.getppid() == self.parent:  # whoever started it is still there to end it
            step = max(checkpoints(folder), default=0) + 1 if step is None else step + 1
            x = trees(step, who, size)
            self.note(INSIDE, 1)
            try:
                save_checkpoint(folder, step, x, {"who": who}, keep)
                self.note(LAST, step)
                self.note(SAVES, self.read(SAVES) + 1)
            except ValueError as refused:
                if "expected a later one" not in str(refused):
                    raise
                self.note(REFUSED, self.read(REFUSED) + 1)
                step = None  # as a run does that is started again
            self.note(INSIDE, 0)

    def kill(self) -> bool:
        """Whether it was saving; RuntimeError if it had ended by itself."""
        os.kill(self.pid, signal.SIGSTOP)
        inside = bool(self.read(INSIDE))
        os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        if not os.WIFSIGNALED(status):
            raise RuntimeError("a saver ended by itself")
        return inside


def trees(step: int, who: int, size: int) -> dict:
    return {"params": {"a": np.full(size, step, np.float32), "who": np.full(3, who)}}


def loaded(folder: Path, size: int, at_least: int = 0) -> int:
    """The step of the last checkpoint, whose contents must be those that one process saved."""
    found = load_checkpoint(folder)
    who = int(found.meta["who"])
    for name, x in trees(found.step, who, size)["params"].items():
        if not np.array_equal(found.trees["params"][name], x):
            raise AssertionError(f"step {found.step} is not what process {who} saved")
    if found.step < at_least:
        raise AssertionError(f"step {at_least} was saved, and step {found.step} is the last")
    return found.step


def together(folder: Path, seconds: float, keep: int, size: int, counts: dict) -> None:
    """One round: two savers and a reader; the savers are killed one after the other."""
    (folder / FOREIGN).write_text("mine")
    savers = [Saver(folder, who, keep, size) for who in (1, 2)]
    end = time.monotonic() + seconds
    while not any(s.read(LAST) for s in savers):
        time.sleep(0.001)
    reads = 0
    while time.monotonic() < end or reads < 3:
        loaded(folder, size, max(s.read(LAST) for s in savers))
        reads += 1
    counts["reads"] += reads
    for saver in random.sample(savers, 2):
        time.sleep(random.random() * 0.05)
        saver.kill()
        loaded(folder, size, max(s.read(LAST) for s in savers))
    counts["saves"] += sum(s.read(SAVES) for s in savers)
    counts["refused"] += sum(s.read(REFUSED) for s in savers)
    last = loaded(folder, size)
    save_checkpoint(folder, last + 1, trees(last + 1, 3, size), {"who": 3}, keep)
    kept = min(keep, len(checkpoints(folder)))
    if len(list(folder.iterdir())) != 2 * kept + 1 or (folder / FOREIGN).read_text() != "mine":
        raise AssertionError(f"left: {sorted(p.name for p in folder.iterdir())}")


def alone(folder: Path, kills: int, keep: int, size: int, counts: dict) -> None:
    """One saver at a time, killed while it saves."""
    save_checkpoint(folder, 1, trees(1, 1, size), {"who": 1}, keep)
    took = time.monotonic()
    save_checkpoint(folder, 2, trees(2, 1, size), {"who": 1}, keep)
    took = time.monotonic() - took
    while counts["kills inside a save"] < kills:
        saver = Saver(folder, 1, keep, size)
        time.sleep(0.005 + random.random() * 4 * took)
        counts["kills inside a save"] += saver.kill()
        counts["kills"] += 1
        loaded(folder, size, saver.read(LAST))
        counts["saves"] += saver.read(SAVES)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--folder", help="where the folders are made; in memory, unless said")
    options = parser.parse_args()
    place = options.folder or ("/dev/shm" if os.path.isdir("/dev/shm") else None)
    counts = dict.fromkeys(("rounds", "reads", "saves", "refused", "kills", "kills inside a save"), 0)
    for i in range(options.rounds):
        with tempfile.TemporaryDirectory(dir=place) as folder:
            together(Path(folder), options.seconds, 1 + i % 2, 4096, counts)
        counts["rounds"] += 1
        print(f"round {i + 1}: {counts}", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=place) as folder:
        alone(Path(folder), options.kills, 1, 200_000, counts)
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
