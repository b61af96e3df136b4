"""What a pool of processes is given that one of its tasks ends: alone in a file, for each process imports it anew."""

import os
import signal
import time


def fatal(path, *_):
    """Grades nothing: a submission of Eve ends the process, any other takes its time."""
    if "eve" in path:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.2)
    return "graded", path, 0.1, ()
