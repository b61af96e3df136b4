"""What runs inside the sandbox: a learner's code, in children. It knows no expected value.

From GIVEN_FD comes what is asked, in two parts: the cells and the open cases of all questions, then the hidden cases.
Each question has one child for the first and one for the second. What an answer gives in an open case is shown to its
author; so all those are done, and none of their processes is left, before an input of a hidden case is even read.
/job has the few files of byhand that run an answer. Into the pipe RESULT_FD goes a frame a child.
"""

import ctypes
import gc
import json
import os
import select
import signal
import struct
import sys
import time

NOT_DUMPABLE = 4  # of prctl
MOST = 32 << 20  # bytes from one question
ISOLATION = os.environ.pop("ISOLATION", "")  # "container" or "process"; else the sandbox
CONFINED = (__file__ == "/job/worker.py" and os.getppid() == 1 and os.getpid() < 20  # in a namespace of its own
            or ISOLATION == "container" and os.getuid() > 60000)  # all processes of this user are its own


def forked(seconds=2):
    """os.fork, tried for a while: what was just killed may still count as a process."""
    until = time.monotonic() + seconds
    while True:
        try:
            return os.fork()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def send(pipe, data):
    while data:
        data = data[os.write(pipe, data):]


def alone():
    """No process of the same user may look into this one or trace it; what loses its parent becomes its own child."""
    global keeper
    prctl = ctypes.CDLL(None).prctl
    prctl(NOT_DUMPABLE, 0, 0, 0, 0)
    if ISOLATION == "process":
        import keeper

        prctl(keeper.SUBREAPER, 1, 0, 0, 0)


def watched(child, pipe, seconds):
    """What a child writes until it ends, is late, or writes too much; then nothing of it is left."""
    parts, size, until, end = [], 0, time.monotonic() + seconds, "ended"
    while True:
        ready, _, _ = select.select([pipe], [], [], max(0, until - time.monotonic()))
        part = os.read(pipe, 1 << 16) if ready else None
        if not part:
            end = "ended" if ready else "late"
            break
        parts.append(part)
        size += len(part)
        if size > MOST:
            end = "too much"
            break
    os.kill(child, signal.SIGKILL)
    if CONFINED:  # everything in this namespace but this process: whatever the child has started
        try:
            os.kill(-1, signal.SIGKILL)
        except OSError:
            pass
    _, status = os.waitpid(child, 0)
    if ISOLATION == "process":
        keeper.end_all()
    while True:  # what else it has started
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break
    return b"".join(parts), end, os.waitstatus_to_exitcode(status)


def part(file):
    """One part of what is asked: JSON behind its length, and the bytes of its arrays."""
    (length,) = struct.unpack(">I", file.read(4))
    asked = json.loads(file.read(length))
    return asked, [file.read(size) for size in asked["inputs"]]


def late(data):
    """Of what came back, the number of cases, the place of the first that met the limit of time, since as `examine` has
    it no case behind it counts, and whether what stands around the answer met its own limit, and each case failed. A
    child that lies here loses its own points."""
    from byhand.grade.child import frames

    heads = [head for head, _ in frames(data)]
    cases = [head for head in heads if "kind" in head]
    places = (head.get("place") for head in cases if head["kind"] == "late")
    in_vain = any(head.get("slow") is True for head in heads) and all(head["kind"] == "error" for head in cases)
    return len(cases), min((place for place in places if type(place) is int), default=1 << 30), in_vain


def main():
    if not CONFINED and ISOLATION != "process":
        sys.exit("worker: to be run by the sandbox alone")
    out, given = int(os.environ.pop("RESULT_FD")), int(os.environ.pop("GIVEN_FD"))
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    alone()
    gc.disable()  # what is imported stays; to look through it for garbage, in each child, takes longer than its answer
    import numpy  # noqa: F401  once, for all children

    from byhand.grade.child import answered, frame

    file = open(given, "rb", buffering=0)
    asked, plain = part(file)
    if any(question["torch"] for question in asked["questions"]):
        import torch

        torch.set_num_threads(1)
    gc.freeze()
    gc.enable()
    ends, stopped = {}, set()
    for hidden in (False, True):
        if hidden:
            more, plain = part(file)
            for question in asked["questions"]:
                question["cases"] = [case for case in more["cases"][question["id"]]
                                     if case["place"] < ends.get(question["id"], 1 << 30)]
        for question in asked["questions"]:
            about = {"question": question["id"], "hidden": hidden}
            if question["id"] in stopped or not question["cases"]:
                send(out, frame(about | {"end": "late" if question["id"] in stopped else "ended", "code": 0}, [b""]))
                continue
            try:
                reading, writing = os.pipe()
                child = forked()
            except OSError as error:  # the machine's doing, or that of an answer before: the grader finds out
                os.write(out, frame({"failed": f"no process can be started: {error.strerror}"}))
                return
            if not child:
                try:
                    for number in (reading, out, given):
                        os.close(number)
                    quiet = os.open(os.devnull, os.O_RDWR)
                    for number in (0, 1, 2):
                        os.dup2(quiet, number)
                    cells = asked.pop("cells")
                    for other in asked.pop("questions"):
                        if other is not question:
                            other.clear()
                    more = None
                    answered(question, cells, plain, lambda data, pipe=writing: send(pipe, data))
                finally:
                    os._exit(0)
            os.close(writing)
            send(out, frame(about | {"begins": True}))
            seconds = asked["load"] + question["seconds"] * (2 + len(question["cases"]) / 2)
            data, end, code = watched(child, reading, seconds)
            os.close(reading)
            if not hidden:
                there, ends[question["id"]], in_vain = late(data)
                if in_vain or end == "late" and there < len(question["cases"]):
                    stopped.add(question["id"])
            send(out, frame(about | {"end": end, "code": code}, [data]))


if __name__ == "__main__":
    main()
