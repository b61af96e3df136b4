"""Where a submission runs: in the sandbox, in a container that is one, or in a process that nothing confines.

In each of them expected values are in another process than the submission. What else is closed, `doctor` proves.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from . import keeper
from .sandbox import SETTINGS, Limits, Ran, SandboxError, carried, confined, free_user, limited, without_rights


def contained(job: Path, limits: Limits = Limits(), given: bytes = b"") -> Ran:  # noqa: B008
    """As `confined`, as a user that owns nothing, in a container whose file system and network are its sandbox.

    The grader is root in there; each submission is a user of its own, all of whose processes are killed at its end.
    """
    if os.geteuid() != 0:
        raise SandboxError("isolation container: run as root in the container: a submission is another user there")
    if not Path("/usr/bin/setpriv").exists() or not Path("/usr/bin/prlimit").exists():
        raise SandboxError("isolation container: setpriv and prlimit are missing; install the package util-linux")
    with free_user() as user, tempfile.TemporaryDirectory(prefix="user-") as folder:
        place = Path(folder) / "scratch"
        place.mkdir(0o700)
        os.chown(place, user, user)
        for above in (place.parent, job.parent):
            above.chmod(0o711)
        line = [*without_rights(user), "--pdeathsig=KILL", *limited(limits), sys.executable, "-I",
                str(job / "worker.py")]
        settings = SETTINGS | {"HOME": str(place), "TMPDIR": str(place), "ISOLATION": "container"}
        _end_all_of(user)
        try:
            return carried(lambda *_: line, limits, given, lambda _: _end_all_of(user), place, settings,
                           after=lambda: _end_all_of(user),
                           pages=lambda _: [pages for *_, pages in keeper.of_user(user).values()])
        finally:
            _end_all_of(user)


def _end_all_of(user: int) -> None:
    while found := [pid for pid, (state, *_) in keeper.of_user(user).items() if state != "Z"]:
        keeper.end(found)


def separate(job: Path, limits: Limits = Limits(), given: bytes = b"") -> Ran:  # noqa: B008
    """As `confined`, in a process of the grader's own user with limits, a session and a home folder of its own.

    Files, network and other processes are open to it.
    """
    if not sys.platform.startswith("linux"):
        raise SandboxError("isolation process: only Linux can end all that a submission starts")
    shutil.copy(keeper.__file__, job / "keeper.py")  # for the worker too
    with tempfile.TemporaryDirectory(prefix="home-") as place:
        rights = without_rights() if os.geteuid() == 0 else []
        line = [sys.executable, "-I", keeper.__file__, *(str(x) for x in (limits.processes, limits.data, limits.cpu,
                limits.file)), *rights, sys.executable, "-I", str(job / "worker.py")]
        return carried(lambda *_: line, limits, given, lambda process: process.terminate(), Path(place),
                       SETTINGS | {"HOME": place, "TMPDIR": place, "ISOLATION": "process"})


WAYS = {"sandbox": confined, "container": contained, "process": separate}
