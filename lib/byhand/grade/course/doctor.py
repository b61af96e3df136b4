"""What holds a submission here? Probes run where it would run, and each that the isolation promises to stop must fail.

The sandbox promises all of it. A container is the sandbox of what runs in it, but shows its processes to each other. A
process of its own promises limits and an end, and no more.
"""

import json
import os
import secrets
import shutil
import socket
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from . import isolation, probes, sandbox, syscalls

SLEEPS = "what sleeps outlives its time"
TOGETHER = "3 GB of memory are had by four processes together"
CALLS = "system calls that no answer needs are heard"
ALL = (*probes.PROBES, TOGETHER, SLEEPS)
OPEN = {  # what an isolation leaves open
    "sandbox": set(),
    "container": {"processes of others are seen"},
    "process": {"a file outside is read", "the home folder, the grades or the right answers are read",
                "a file outside is written", "something can be left for the next submission",
                "the machine is reached by network", "another network is there", "its own job is changed",
                "processes of others are seen", "processes of others can be ended"},
}
ALWAYS = "expected values are in another process"


class Finding(NamedTuple):
    what: str  # what must not happen
    ok: bool
    text: str = ""  # what happened
    promised: bool = True  # by this isolation


def left_open(way: str) -> set[str]:
    """Nothing limits how many processes root may have where there is no sandbox; the sandbox has a filter of system
    calls where libseccomp is there."""
    return (OPEN[way] | ({"90 children are started"} if way == "process" and os.geteuid() == 0 else set())
            | ({CALLS} if way != "sandbox" or not syscalls.program() else set()))


def probe(way: str = "sandbox", private=(), brief: bool = False, seconds: float = 60.0) -> list[Finding]:
    """Each probe's outcome; the last two, unless `brief`, are whether processes share one limit of memory, and whether
    what sleeps is gone when its time is up.

    `private` are folders that a submission must not look into, beside the home folder and the course's own answers.
    """
    confine, leaves = isolation.WAYS[way], left_open(way)
    with tempfile.TemporaryDirectory(prefix="doctor-") as folder, socket.socket() as server:
        secret, outside, job = Path(folder) / "secret", Path(folder) / "outside", Path(folder) / "job"
        word = secrets.token_hex(8)
        secret.write_text(word)
        outside.mkdir()
        job.mkdir()
        apart = way == "container"  # there only what nobody else may read is private, and the network is its own
        secret.chmod(0o600 if apart else 0o644)
        outside.chmod(0o700 if apart else 0o777)
        Path(folder).chmod(0o755)
        job.chmod(0o755)
        if not apart:
            server.bind(("127.0.0.1", 0))
            server.listen()
        shutil.copy(probes.__file__, job / "worker.py")
        asked = {"secret": str(secret), "port": 0 if apart else server.getsockname()[1], "outside": str(outside),
                 "private": {str(p): _allowed(p) for p in (Path.home(), sandbox.OWN, *map(Path, private))},
                 "own": ["/dev/shm"] if way == "sandbox" else [],  # made anew for each submission
                 "calls": syscalls.numbers() or syscalls.ALWAYS.get(os.uname().machine, {}),
                 "patience": seconds / 3, "user": os.geteuid() != 0}
        try:
            ran = confine(job, sandbox.Limits(seconds=seconds, cpu=30), json.dumps(asked).encode())
        except sandbox.SandboxError as error:
            return [Finding("a submission can be run", False, str(error))]
        try:
            came = dict(json.loads(line) for line in ran.data.splitlines())
        except ValueError:
            came = {}
        found = [Finding(name, came.get(name) == "", came.get(name, f"not tried: {ran.end}, code {ran.code}"),
                         name not in leaves) for name in probes.PROBES]
        if not brief:
            ran = confine(job, sandbox.Limits(seconds=seconds), b'"together"')
            found.append(Finding(TOGETHER, not ran.data, ran.data.decode(errors="replace")))
            ran = confine(job, sandbox.Limits(seconds=2), b"null")
            left = sorted(_running(str(job)))
            good = ran.end == "late" and ran.data == b"asleep\n" and not left
            found.append(Finding(SLEEPS, good, f"{ran.end} after {ran.seconds:.0f} s, left: {left}"))
    return found


def prove(way: str, private=()) -> None:
    """Raise SandboxError, naming what came through, unless the isolation keeps what it promises."""
    for f in probe(way, private, brief=True):
        if f.promised and not f.ok:
            raise sandbox.SandboxError(f"isolation {way} does not hold here: {f.what}: {f.text}; "
                                       f"nothing was graded, byhand-grade doctor --isolation={way} says more")


def _allowed(folder: Path) -> list[str]:
    """What may be seen in a folder: the way to this Python."""
    folder = folder.resolve()
    return [Path(python).relative_to(folder).parts[0] for python in sandbox.python_folders()
            if Path(python).is_relative_to(folder) and Path(python) != folder]


def _running(job: str) -> list[int]:
    """Processes that run this job, as the machine sees them."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if f"{job}/worker.py".encode() in words:
            found.append(int(path.name))
    return found


def room(*folders) -> dict[str, int]:
    """Bytes that are free where these folders are, or will be."""
    there = (next(p for p in (path, *path.parents) if p.exists()) for path in (Path(f).absolute() for f in folders))
    return {str(path): shutil.disk_usage(path).free for path in there}


def versions() -> dict[str, str]:
    import numpy

    return {"python": sys.version.split()[0], "numpy": numpy.__version__, "bwrap": shutil.which("bwrap") or "missing",
            "filter of system calls": f"of {len(syscalls.numbers())}" if syscalls.program() else "missing",
            "user": "root" if os.geteuid() == 0 else "an ordinary user"}
