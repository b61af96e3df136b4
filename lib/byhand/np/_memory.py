"""Memory that is handed out again: a third of a training step is otherwise spent on fetching fresh pages."""

import ctypes
import os
import sys


def keep_memory() -> None:
    """Tell glibc to keep up to 1 GiB of freed arrays for the next ones, in the whole process.

    Linux with glibc gives the memory of every large array back at once and fetches fresh pages for the next. Results
    are the same to the last bit. Other systems have no such setting, and nothing is changed there.
    """
    name = "CS_GNU_LIBC_VERSION"
    if sys.platform == "linux" and name in getattr(os, "confstr_names", ()) and os.confstr(name):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(-3, 1 << 30) or mallopt(-3, 1 << 25)  # M_MMAP_THRESHOLD; before glibc 2.34, 32 MiB is the most
        mallopt(-1, 1 << 30)  # M_TRIM_THRESHOLD
