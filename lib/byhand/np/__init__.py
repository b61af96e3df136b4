"""The NumPy half: pure functions, a forward and its hand-derived backward, one under the other.

`X_forward(...)` returns its output and a named cache; `X_backward(dOut, cache)` returns one gradient an input.
"""

import ctypes
import os

# Linux with glibc gives the memory of every large array back at once and fetches fresh pages for the next: a third of
# a training step goes into page faults. Told to keep up to 1 GiB, it hands the same pages out again. Results are the
# same to the last bit. Other systems have no such name, and nothing is changed there.
if "CS_GNU_LIBC_VERSION" in getattr(os, "confstr_names", ()) and os.confstr("CS_GNU_LIBC_VERSION"):
    _mallopt = ctypes.CDLL(None).mallopt
    _mallopt(-3, 1 << 30) or _mallopt(-3, 1 << 25)  # M_MMAP_THRESHOLD; before glibc 2.34, 32 MiB is the most
    _mallopt(-1, 1 << 30)  # M_TRIM_THRESHOLD
