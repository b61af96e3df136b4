"""Is the sandbox whole? Probes are run inside it, each of which must fail there, before anything is graded."""

import json
import os
import secrets
import shutil
import socket
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from . import sandbox

PROBES = '''
import json, os, socket, time

secret, port, outside = json.load(open("/job/request.json"))
found, started = {}, []


def probe(name, attempt):
    try:
        found[name] = str(attempt())[:200]
    except BaseException as error:
        found[name] = ""


def read_outside():
    return open(secret).read()


def write_outside():
    open(outside + "/planted", "w").write("x")
    return os.path.exists(outside + "/planted")


def home():
    names = [p for p in ("/root", "/home") if os.path.isdir(p) for p in os.listdir(p)]
    return [n for n in names if not n.startswith(".pyenv")] or ""


def connect():
    socket.create_connection(("127.0.0.1", port), 2).close()
    return "connected"


def change_job():
    open("/job/worker.py", "a").write("#")
    return "written"


def memory():
    x = bytearray(3 * 2**29)
    return len(x)


def children():
    try:
        for _ in range(100):
            pid = os.fork()
            if pid == 0:
                time.sleep(100)
                os._exit(0)
            started.append(pid)
    except OSError:
        pass
    return len(started) if len(started) >= 90 else ""


def processes():
    return [p for p in os.listdir("/proc") if p.isdigit() and int(p) > 300] or ""


def privilege():
    lines = open("/proc/self/status").read().splitlines()
    caps = [line.split()[1] for line in lines if line.startswith(("CapEff", "CapPrm", "CapBnd"))]
    return [c for c in caps if int(c, 16)] or ""


for name, attempt in [("a file outside is read", read_outside), ("a file outside is written", write_outside),
                      ("the home folder is seen", home), ("the machine is reached by network", connect),
                      ("its own job is changed", change_job), ("1.5 GB of memory are had", memory),
                      ("processes of others are seen", processes), ("rights of root are kept", privilege),
                      ("90 children are started", children)]:
    probe(name, attempt)
os.write(int(os.environ["RESULT_FD"]), json.dumps(found).encode())
for pid in started:
    os.kill(pid, 9)
'''
SLEEPERS = '''
import os, signal, time

for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(s, signal.SIG_IGN)
for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        break
time.sleep(300)
'''


class Finding(NamedTuple):
    what: str
    ok: bool
    text: str = ""


def probe_sandbox(seconds: float = 60.0, confine=sandbox.confined) -> list[Finding]:
    """Each probe's outcome; the last is whether children that sleep are gone when the time is up."""
    with tempfile.TemporaryDirectory(prefix="doctor-") as folder, socket.socket() as server:
        secret, outside, job = Path(folder) / "secret", Path(folder) / "outside", Path(folder) / "job"
        word = secrets.token_hex(8)
        secret.write_text(word)
        secret.chmod(0o644)
        outside.mkdir()
        outside.chmod(0o777)
        Path(folder).chmod(0o755)
        job.mkdir()
        job.chmod(0o755)
        server.bind(("127.0.0.1", 0))
        server.listen()
        (job / "worker.py").write_text(PROBES)
        (job / "request.json").write_text(json.dumps([str(secret), server.getsockname()[1], str(outside)]))
        try:
            ran = confine(job, sandbox.Limits(seconds=seconds, cpu=30))
        except sandbox.SandboxError as error:
            return [Finding("a sandbox can be made", False, str(error))]
        found = [Finding("a sandbox can be made", True)]
        try:
            outcome = json.loads(ran.data)
        except ValueError:
            return [*found, Finding("the probes have run", False, f"they gave {ran.data[:80]!r}, code {ran.code}")]
        found += [Finding(f"not: {name}", not text, text) for name, text in outcome.items()]
        found.append(Finding("nothing was written outside", not (outside / "planted").exists()))
        (job / "worker.py").unlink()
        (job / "worker.py").write_text(SLEEPERS)
        ran = confine(job, sandbox.Limits(seconds=2))
        found.append(Finding("what sleeps is killed when its time is up", ran.end == "late" and ran.seconds < 60,
                             f"{ran.end} after {ran.seconds:.0f} s"))
    return found


def versions() -> dict[str, str]:
    import numpy

    return {"python": sys.version.split()[0], "numpy": numpy.__version__, "bwrap": shutil.which("bwrap") or "missing",
            "user": "root" if os.geteuid() == 0 else "an ordinary user"}
