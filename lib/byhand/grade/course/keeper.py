"""Between the grader and a worker without a sandbox: whatever the worker starts is its, and ends with it.

    python -I keeper.py PROCESSES BYTES SECONDS FILE COMMAND…

It adopts what loses its parent, counts processes and memory, and kills all of them when the worker has ended, when
they are too many, at SIGTERM, and when the grader is gone. Linux alone.
"""

import ctypes
import os
import resource
import signal
import sys
from pathlib import Path

DEATH_SIGNAL, SUBREAPER = 1, 36  # of prctl
PAGE = os.sysconf("SC_PAGE_SIZE")


def descendants(above: int | None = None) -> dict[int, tuple[int, int]]:
    """By process id, threads and pages of memory of all that descend from this process, or that one, and live."""
    parent, size = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            size[int(folder.name)] = int(fields[17]), int(fields[21])
        parent[int(folder.name)] = int(fields[1])
    found, waiting = {}, [os.getpid() if above is None else above]
    while waiting:
        here = waiting.pop()
        below = [child for child, p in parent.items() if p == here]
        waiting += below
        found |= {child: size[child] for child in below if child in size}
    return found


def end_all() -> None:
    """Stopped first, so that none can start another one, then killed, until there are none."""
    while found := descendants():
        end(found)
        reap()


def end(pids) -> None:
    """All of them stopped, then all killed."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass


def reap() -> set[int]:
    """Those that have ended since."""
    ended = set()
    try:
        while (pid := os.waitpid(-1, os.WNOHANG)[0]) > 0:
            ended.add(pid)
    except ChildProcessError:
        pass
    return ended


def of_user(user: int) -> dict[int, tuple[str, int, int]]:
    """By its number, the state, the threads, which RLIMIT_NPROC counts, and the pages of each process of this user."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if folder.stat().st_uid == user:
                words = (folder / "stat").read_text().rpartition(")")[2].split()
                found[int(folder.name)] = words[0], int(words[17]), int(words[21])
        except OSError:
            pass
    return found


def main() -> None:
    processes, data, seconds, file = (int(x) for x in sys.argv[1:5])
    prctl = ctypes.CDLL(None).prctl
    above = os.getppid()
    prctl(SUBREAPER, 1, 0, 0, 0)
    prctl(DEATH_SIGNAL, signal.SIGTERM, 0, 0, 0)
    heard = {signal.SIGTERM, signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, heard)
    if os.getppid() != above:  # it was gone before its death could be heard of
        return
    worker = os.fork()
    if not worker:
        try:
            os.setsid()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, heard)
            most = sum(threads for _, threads, _ in of_user(os.getuid()).values()) + processes
            for what, value in ((resource.RLIMIT_DATA, data), (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_CORE, 0),
                                (resource.RLIMIT_FSIZE, file), (resource.RLIMIT_NOFILE, 128),
                                (resource.RLIMIT_NPROC, most)):
                hard = resource.getrlimit(what)[1]
                value = value if hard == resource.RLIM_INFINITY else min(value, hard)
                resource.setrlimit(what, (value, value))
            os.execv(sys.argv[5], sys.argv[5:])
        finally:
            os._exit(127)
    for name in ("RESULT_FD", "GIVEN_FD"):
        os.close(int(os.environ[name]))
    while worker not in reap():
        said = signal.sigtimedwait(heard, 0.1)
        if said and said.si_signo == signal.SIGTERM:
            break
        there = descendants().values()
        if sum(n for n, _ in there) > 2 * processes or sum(pages for _, pages in there) * PAGE > 2 * data:
            break
    end_all()


if __name__ == "__main__":
    main()
