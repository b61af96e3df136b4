"""A process that can reach nothing: bubblewrap around a Python, no network, no home, no file but its own job's.

What comes back is the bytes that it wrote into one pipe. When that pipe is at its end, no process of it is left, since
each of them holds it.
"""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from byhand.io.files import Locked

from . import keeper, syscalls

MEGABYTE, TOGETHER, LOOK = 1 << 20, 2, 0.2  # LOOK: seconds from one look at all their memory to the next
OWN = Path(__file__).resolve().parents[1]  # byhand/grade: questions and known mistakes, nothing for a submission
LIBRARY = OWN.parent  # what of it answers may use comes with the job
NOBODY, USERS = 61234, 4000  # users that own nothing; as root a sandbox becomes one of them that no other one is
NO_RIGHTS = ("--inh-caps=-all", "--bounding-set=-all", "--no-new-privs")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
SETTINGS = {"PATH": "/usr/bin", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "MPLBACKEND": "Agg",
            **dict.fromkeys(THREADS, "1")}  # all of the environment that a submission has


@dataclass(frozen=True)
class Limits:
    """What one submission may use. RLIMIT_AS would be useless: importing torch alone takes 3 GB of addresses."""

    seconds: float = 60.0  # of the clock
    cpu: int = 60  # seconds of one process
    data: int = 1 << 30  # bytes of memory of one process; of all together TOGETHER times as many
    processes: int = 64
    file: int = 16 * MEGABYTE  # bytes of one file
    scratch: int = 32 * MEGABYTE  # bytes of /tmp
    result: int = 64 * MEGABYTE  # bytes that come back
    without: tuple[str, ...] = ()  # folders and files, of packages that its answers may not use: they are not there


@dataclass(frozen=True)
class Ran:
    data: bytes  # what was written into the pipe
    end: str  # "ended", "late", "too much" came back, or "memory"
    code: int
    seconds: float


class SandboxError(RuntimeError):
    """Bubblewrap is missing, or may not do its work here: nothing was run."""


def python_folders() -> list[str]:
    """The folders outside /usr that this Python needs: its environment and what that was made from."""
    folders = {os.path.realpath(sys.prefix), sys.prefix, os.path.realpath(sys.base_prefix), sys.base_prefix}
    return sorted(folder for folder in folders if not folder.startswith("/usr/") and folder != "/usr")


@contextlib.contextmanager
def free_user():
    """The number of a user that no other submission is now, and none of whose processes is left: those of two that were
    one would share one limit."""
    first = random.randrange(USERS)
    for i in range(USERS):
        user = NOBODY + (first + i) % USERS
        folder = Path(tempfile.gettempdir()) / f"byhand-user-{user}"
        if lock := _locked(folder):
            try:
                if not keeper.of_user(user):
                    yield user
                    return
            finally:
                folder.rmdir()
                lock.__exit__()
    raise SandboxError(f"{USERS} submissions are under way at a time")


def _locked(folder: Path) -> Locked | None:
    """The folder's lock, unless it is held, or the folder is somebody else's, or has been removed since."""
    lock, good = Locked(folder, alone=True), False
    try:
        folder.mkdir(0o700, exist_ok=True)
        if lock.__enter__() and not folder.is_symlink():
            there = os.fstat(lock.handle)
            good = there.st_uid == os.geteuid() and os.path.samestat(there, folder.stat())
    except OSError:
        pass
    if not good:
        lock.__exit__()
    return lock if good else None


def command(job: Path, pipe: int, given: int, limits: Limits, user: int | None, calls: int | None = None) -> list[str]:
    """bwrap … python /job/worker.py, for root as `user`, or for anybody; `job` is mounted as /job, only to be read.

    `calls` is the number of a file with a filter of system calls. The limits are bwrap's own too, for its process in
    there is one that an ordinary user's submission could write into.
    """
    bwrap, prlimit = shutil.which("bwrap"), shutil.which("prlimit")
    if not bwrap or not prlimit:
        raise SandboxError(f"no {'bwrap' if not bwrap else 'prlimit'} on this machine: "
                           "install the package bubblewrap (Debian, Ubuntu, Fedora)")
    root = user is not None
    line = [*limited(limits)[:1], *limited(limits)[2:], bwrap,
            *([] if root else ["--unshare-user", "--disable-userns"]), "--unshare-ipc", "--unshare-pid",
            "--unshare-net", "--unshare-uts", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    if root:  # a user in a namespace would still be root to the kernel: limits and file rights would not hold
        line += [word for name in ("SETUID", "SETGID", "SETPCAP") for word in ("--cap-add", f"CAP_{name}")]
    line += ["--seccomp", str(calls)] if calls is not None else []
    line += ["--size", str(limits.scratch), "--perms", "1777", "--tmpfs", "/tmp", "--ro-bind", "/usr", "/usr"]
    for name in ("lib", "lib64", "bin", "sbin"):
        line += ["--symlink", f"usr/{name}", f"/{name}"] if Path(f"/usr/{name}").exists() else []
    for name in ("/etc/ld.so.cache", "/etc/alternatives"):
        line += ["--ro-bind-try", name, name]
    made = set()
    for folder in python_folders():  # a parent that bwrap makes by itself could not be entered
        for parent in reversed(Path(folder).parents):
            if str(parent) != "/" and parent not in made:
                made.add(parent)
                line += ["--perms", "0755", "--dir", str(parent)]
        line += ["--ro-bind", folder, folder]
    for place in (str(LIBRARY), *limits.without):
        if any(Path(place).is_relative_to(folder) for folder in ("/usr", *python_folders())):  # else it is not there
            line += (["--perms", "0000", "--tmpfs", place, "--remount-ro", place] if Path(place).is_dir() else
                     ["--ro-bind", "/dev/null", place])
    line += ["--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev",
             "--size", str(MEGABYTE), "--perms", "1777", "--tmpfs", "/dev/shm",
             "--ro-bind", str(job), "/job", "--remount-ro", "/", "--chdir", "/tmp", "--clearenv"]
    settings = SETTINGS | {"HOME": "/tmp", "RESULT_FD": str(pipe), "GIVEN_FD": str(given)}
    line += [word for name, value in settings.items() for word in ("--setenv", name, value)]
    line += ["--"]
    line += without_rights(user) if root else []
    line += limited(limits)  # again inside: --nproc, which outside would count all processes of this user
    return [*line, sys.executable, "-I", "/job/worker.py"]


def without_rights(user: int | None = None) -> list[str]:
    """setpriv before a command: root without any right of root, as `user` if there is one."""
    other = [f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user is not None else []
    return ["/usr/bin/setpriv", *other, *NO_RIGHTS]


def limited(limits: Limits) -> list[str]:
    """prlimit before a command: what it may use."""
    return ["/usr/bin/prlimit", f"--nproc={limits.processes}", f"--data={limits.data}", f"--fsize={limits.file}",
            "--nofile=128", "--core=0", f"--cpu={limits.cpu}"]


def confined(job: Path, limits: Limits = Limits(), given: bytes = b"") -> Ran:  # noqa: B008
    """Run /job/worker.py of this folder, and give what it wrote into the pipe whose number is in RESULT_FD.

    It reads `given` from GIVEN_FD, a file without a name: once closed, nothing in the sandbox can read it again.

    Raises SandboxError if there is no sandbox. At the limit of time or of size everything in it is killed.
    """
    program = syscalls.program()
    with (free_user() if os.geteuid() == 0 else contextlib.nullcontext() as user,
          syscalls.as_file(program) if program else contextlib.nullcontext() as calls):
        also = (calls.fileno(),) if calls else ()
        return carried(lambda pipe, file: command(job, pipe, file, limits, user, *also), limits, given,
                       lambda process: os.killpg(process.pid, signal.SIGKILL), also=also,
                       pages=lambda process: [pages for _, pages in keeper.descendants(process.pid).values()])


def carried(line, limits: Limits, given: bytes, kill, place: Path | None = None, settings: dict | None = None,
            after=lambda: None, also=(), pages=lambda process: ()) -> Ran:
    """Run the command line(pipe, file) in `place` with these settings; `kill` ends its process and all below it.

    `after` ends what is left of it when it has ended by itself. The files `also`, by number, go along. `pages` tells
    the pages of memory of each of its processes: what they share is in no limit of one of them.
    """
    reading, writing = os.pipe()
    begun = time.monotonic()
    errors = tempfile.TemporaryFile()  # not a pipe: whatever is left over would hold that open
    try:
        with tempfile.TemporaryFile() as file:
            file.write(given)
            file.seek(0)
            numbers = {"RESULT_FD": str(writing), "GIVEN_FD": str(file.fileno())}
            process = subprocess.Popen(
                line(writing, file.fileno()), pass_fds=(writing, file.fileno(), *also), stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True, cwd=place,
                env=None if settings is None else settings | numbers)
    except BaseException:
        os.close(reading)
        errors.close()
        raise
    finally:
        os.close(writing)
    parts, size, end = [], 0, "ended"
    os.set_blocking(reading, False)
    with os.fdopen(reading, "rb", buffering=0) as pipe, _ended(process, kill):
        while True:
            soon = min(begun + limits.seconds, time.monotonic() + LOOK)
            part = _some(pipe, soon, lambda: process.poll() is not None and after())
            if part == b"":
                break
            if sum(pages(process)) * keeper.PAGE > TOGETHER * limits.data:
                end = "memory"
                break
            if part is None and time.monotonic() < begun + limits.seconds:
                continue
            if part is None or size + len(part) > limits.result:
                end = "late" if part is None else "too much"
                break
            parts.append(part)
            size += len(part)
        if end != "ended":
            kill(process)
            while _some(pipe, time.monotonic() + 30):  # its end proves that nothing is left
                pass
    code = process.wait()
    with errors:
        errors.seek(0)
        said = errors.read(4000).decode(errors="replace")
    if not parts and said.startswith(("bwrap:", "setpriv:", "prlimit:", "keeper:")):  # later it may be the answer's
        raise SandboxError(f"the sandbox cannot be made here: {said.splitlines()[0]}")
    return Ran(b"".join(parts), end, code, time.monotonic() - begun)


@contextlib.contextmanager
def _ended(process, kill):
    """Whatever stops the grader here, stops what it has started."""
    try:
        yield
    except BaseException:
        kill(process)
        process.wait()
        raise


def _some(pipe, until, idle=lambda: None) -> bytes | None:
    """What is there to be read; b"" at the end, None when the time is up. While there is nothing, `idle` is called."""
    while (left := until - time.monotonic()) > 0:
        part = pipe.read(MEGABYTE)
        if part is not None:
            return part
        idle()
        time.sleep(min(0.002, left))
    return None
