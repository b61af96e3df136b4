"""What a submission might try, run where submissions run; into the pipe goes, by name, what came of each."""

import json
import os
import socket
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SEEN = 3  # things named of each kind


def read_file(asked):
    with open(asked["secret"]) as file:
        return file.read()


def read_private(asked):
    """Of folders that nothing may look into, the names that can be seen beside the allowed ones."""
    found = []
    for folder, allowed in asked["private"].items():
        try:
            names = os.listdir(folder)
            found += [os.path.join(folder, name) for name in names if name not in allowed] if names else [folder]
        except OSError:
            pass
    return found


def write_file(asked):
    path = os.path.join(asked["outside"], "planted")
    with open(path, "w") as file:
        file.write("x")
    return path


def write_anywhere(asked):
    """Folders beside its own, of what is mounted to be written, where a file can be left for the next submission."""
    with open("/proc/self/mounts") as file:
        mounts = [line.encode().decode("unicode_escape").split() for line in file]
    last = {path: options.split(",") for _, path, _, options, *_ in mounts}
    own, found, until = {os.path.realpath("."), *asked["own"]}, [], time.monotonic() + asked["patience"]
    for root in (path for path, options in last.items() if "rw" in options and path not in ("/proc", "/sys")):
        for folder, below, _ in os.walk(root):
            below[:] = [name for name in below if os.path.join(folder, name) not in last]
            if folder in own:
                below.clear()
            elif os.access(folder, os.W_OK | os.X_OK):
                path = os.path.join(folder, f"planted-{os.getpid()}")
                try:
                    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
                    os.remove(path)
                    found.append(folder)
                except OSError:
                    pass
            if len(found) > SEEN or time.monotonic() > until:
                return found or ["not all folders could be tried"]
    return found


def connect(asked):
    if asked["port"]:
        socket.create_connection(("127.0.0.1", asked["port"]), 2).close()
        return "connected"
    with open("/proc/net/tcp") as file:  # in a container: whoever listens there
        return [line.split()[1] for line in file if line.split()[3] == "0A"]


def interfaces(asked):
    return [name for _, name in socket.if_nameindex() if name != "lo"]


def change_job(asked):
    with open(os.path.join(HERE, "worker.py"), "a") as file:
        file.write("#")
    return "written"


def memory(asked):
    return len(bytearray(3 * 2**29))


def others():
    return [int(p) for p in os.listdir("/proc") if p.isdigit() and int(p) not in (1, os.getpid())]


def processes(asked):
    return others()


def disturb(asked):
    """Processes of others to which it could send a signal."""
    found = []
    for pid in others():
        try:
            os.kill(pid, 0)
            found.append(pid)
        except OSError:
            pass
    return found


def privilege(asked):
    with open("/proc/self/status") as file:
        words = [line.split() for line in file]
    return [line[1] for line in words if line[0] in ("CapEff:", "CapPrm:", "CapBnd:") and int(line[1], 16)
            and not (line[0] == "CapBnd:" and asked["user"])]  # without set-user-id programs a bound gives nothing


def calls(asked):
    """System calls that are carried out, or refused for what they ask only: a filter would not look at that."""
    import ctypes
    import errno

    if not asked["calls"]:
        return "not tried: their numbers are not known here"
    call, found = ctypes.CDLL(None, use_errno=True).syscall, []
    for name, number in asked["calls"].items():
        ctypes.set_errno(0)
        if call(*map(ctypes.c_long, (number, *[-1] * 6))) != -1 or ctypes.get_errno() != errno.EPERM:
            found.append(name)
    return found


def children(asked):
    started = 0
    try:
        for _ in range(100):
            if os.fork() == 0:
                os.close(int(os.environ["RESULT_FD"]))
                time.sleep(100)
                os._exit(0)
            started += 1
    except OSError:
        pass
    return started if started >= 90 else ""


PROBES = {
    "a file outside is read": read_file,
    "the home folder, the grades or the right answers are read": read_private,
    "a file outside is written": write_file,
    "something can be left for the next submission": write_anywhere,
    "the machine is reached by network": connect,
    "another network is there": interfaces,
    "its own job is changed": change_job,
    "1.5 GB of memory are had": memory,
    "processes of others are seen": processes,
    "processes of others can be ended": disturb,
    "rights of root are kept": privilege,
    "system calls that no answer needs are heard": calls,
    "90 children are started": children,  # the last: what it starts is ended from outside
}


def main(asked):
    out = int(os.environ["RESULT_FD"])
    for name, attempt in PROBES.items():
        try:
            said = attempt(asked)
        except (OSError, MemoryError):
            said = ""
        if isinstance(said, list):
            said = ", ".join(map(str, said[:SEEN])) + (", …" if len(said) > SEEN else "")
        os.write(out, json.dumps([name, str(said)[:200]]).encode() + b"\n")


def together():
    """Four processes, none of which has more than one may: each writes into all of its pages, and stays."""
    reading, writing = os.pipe()
    for _ in range(4):
        if os.fork() == 0:
            os.close(int(os.environ["RESULT_FD"]))
            held = b"x" * (3 << 28)
            os.write(writing, held[:1])
            time.sleep(300)
    for _ in range(4):
        os.read(reading, 1)
    time.sleep(2)
    os.write(int(os.environ["RESULT_FD"]), b"they have it")
    os.kill(-1 if os.getpid() < 20 else 0, 9)


def sleepers():
    """Deaf to signals, in sessions of their own, and without the pipe."""
    import signal

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.write(int(os.environ["RESULT_FD"]), b"asleep\n")
    for _ in range(5):
        if os.fork() == 0:
            os.setsid()
            os.close(int(os.environ["RESULT_FD"]))
            break
    time.sleep(300)


if __name__ == "__main__":
    with os.fdopen(int(os.environ["GIVEN_FD"]), "rb") as file:  # the way that every submission is asked
        given = json.load(file)
    together() if given == "together" else main(given) if given else sleepers()
    sys.exit(0)
