"""A process that can reach nothing: bubblewrap around a Python, no network, no home, no file but its own job's.

What comes back is the bytes that it wrote into one pipe. When that pipe is at its end, no process of it is left, since
each of them holds it.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

MEGABYTE = 1 << 20
NOBODY, USERS = 61234, 3000  # users that own nothing; as root a sandbox becomes one of these
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Limits:
    """What one submission may use. RLIMIT_AS would be useless: importing torch alone takes 3 GB of addresses."""

    seconds: float = 60.0  # of the clock
    cpu: int = 60  # seconds of one process
    data: int = 1 << 30  # bytes of memory
    processes: int = 64
    file: int = 16 * MEGABYTE  # bytes of one file
    scratch: int = 32 * MEGABYTE  # bytes of /tmp
    result: int = 64 * MEGABYTE  # bytes that come back


@dataclass(frozen=True)
class Ran:
    data: bytes  # what was written into the pipe
    end: str  # "ended", "late", or "too much" came back
    code: int
    seconds: float


class SandboxError(RuntimeError):
    """Bubblewrap is missing, or may not do its work here: nothing was run."""


def python_folders() -> list[str]:
    """The folders outside /usr that this Python needs: its environment and what that was made from."""
    folders = {os.path.realpath(sys.prefix), sys.prefix, os.path.realpath(sys.base_prefix), sys.base_prefix}
    return sorted(folder for folder in folders if not folder.startswith("/usr/") and folder != "/usr")


def own_user() -> int:
    """A user for the sandbox of this process: the limit of processes counts all of one user, those of others too."""
    return NOBODY + os.getpid() % USERS


def command(job: Path, pipe: int, given: int, limits: Limits, root: bool | None = None) -> list[str]:
    """bwrap … python /job/worker.py, for root or for anybody; `job` is mounted as /job, to be read alone."""
    bwrap, prlimit = shutil.which("bwrap"), shutil.which("prlimit")
    if not bwrap or not prlimit:
        raise SandboxError(f"no {'bwrap' if not bwrap else 'prlimit'} on this machine: "
                           "install the package bubblewrap (Debian, Ubuntu, Fedora)")
    root = os.geteuid() == 0 if root is None else root
    line = [bwrap, *([] if root else ["--unshare-user", "--disable-userns"]), "--unshare-ipc", "--unshare-pid",
            "--unshare-net", "--unshare-uts", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    if root:  # a user in a namespace would still be root to the kernel: limits and file rights would not hold
        line += [word for name in ("SETUID", "SETGID", "SETPCAP") for word in ("--cap-add", f"CAP_{name}")]
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
    line += ["--proc", "/proc", "--dev", "/dev", "--size", str(MEGABYTE), "--perms", "1777", "--tmpfs", "/dev/shm",
             "--ro-bind", str(job), "/job", "--remount-ro", "/", "--chdir", "/tmp", "--clearenv"]
    settings = {"HOME": "/tmp", "PATH": "/usr/bin", "LANG": "C.UTF-8", "RESULT_FD": str(pipe), "GIVEN_FD": str(given),
                "PYTHONDONTWRITEBYTECODE": "1", "MPLBACKEND": "Agg"} | dict.fromkeys(THREADS, "1")
    line += [word for name, value in settings.items() for word in ("--setenv", name, value)]
    line += ["--"]
    if root:
        line += ["/usr/bin/setpriv", f"--reuid={own_user()}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all",
                 "--bounding-set=-all", "--no-new-privs"]
    # inside, because outside --nproc would count all processes of this user
    line += ["/usr/bin/prlimit", f"--nproc={limits.processes}", f"--data={limits.data}", f"--fsize={limits.file}",
             "--nofile=128", "--core=0", f"--cpu={limits.cpu}"]
    return [*line, sys.executable, "-I", "/job/worker.py"]


def confined(job: Path, limits: Limits = Limits(), given: bytes = b"", root: bool | None = None) -> Ran:  # noqa: B008
    """Run /job/worker.py of this folder, and give what it wrote into the pipe whose number is in RESULT_FD.

    It reads `given` from GIVEN_FD, a file without a name: once closed, nothing in the sandbox can read it again.

    Raises SandboxError if there is no sandbox. At the limit of time or of size everything in it is killed.
    """
    reading, writing = os.pipe()
    begun = time.monotonic()
    try:
        with tempfile.TemporaryFile() as file:
            file.write(given)
            file.seek(0)
            process = subprocess.Popen(
                command(job, writing, file.fileno(), limits, root), pass_fds=(writing, file.fileno()),
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    parts, size, end = [], 0, "ended"
    os.set_blocking(reading, False)
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        while True:
            part = _some(pipe, begun + limits.seconds)
            if part == b"":
                break
            if part is None or size + len(part) > limits.result:
                end = "late" if part is None else "too much"
                break
            parts.append(part)
            size += len(part)
        if end != "ended":
            os.killpg(process.pid, signal.SIGKILL)
            while _some(pipe, time.monotonic() + 30):  # its end proves that nothing is left
                pass
    said = process.stderr.read(4000).decode(errors="replace")
    process.stderr.close()
    code = process.wait()
    if said.startswith(("bwrap:", "setpriv:", "prlimit:")):
        raise SandboxError(f"the sandbox cannot be made here: {said.splitlines()[0]}")
    return Ran(b"".join(parts), end, code, time.monotonic() - begun)


def _some(pipe, until) -> bytes | None:
    """What is there to be read; b"" at the end, None when the time is up."""
    while (left := until - time.monotonic()) > 0:
        part = pipe.read(MEGABYTE)
        if part is not None:
            return part
        time.sleep(min(0.002, left))
    return None
