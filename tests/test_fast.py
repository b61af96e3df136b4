# ruff: noqa: E501
"""Proofs of the fast training step: it is the plain one, in every gradient, over many steps, whatever the pieces."""

import os
import subprocess
import sys

import numpy as np
import pytest
from invariants import raises
from mutants import build


def refuses_what_is_not_finite(arrays):
    """Also where squares overflow, in arrays with gaps, and where infinities would cancel."""
    for x in (np.full((3, 4), 1e30, np.float32), np.arange(4), np.asarray(np.float32(2)), np.zeros(0), np.full(2, 1e200)):
        arrays.finite("f", "x", x)
    for dtype in (np.float32, np.float64):
        for bad in (np.nan, np.inf, -np.inf):
            for x in (np.full((4, 6), 1e30, dtype), np.ones((4, 6), dtype), np.ones((12, 6), dtype)[::3], np.ones((6, 4), dtype).T):
                x[2, 3] = bad
                raises(ValueError, rf"f: x holds {bad} at index \(2, 3\)", lambda x=x: arrays.finite("f", "x", x))
    raises(ValueError, "x holds inf at index", lambda: arrays.finite("f", "x", np.array([1, np.inf, -np.inf])))
    assert not arrays.squares_are_finite([np.array([np.nan]), np.ones(2)])


WRONG_FINITE = [
    ("a warning for large numbers", "with np.errstate(over=\"ignore\", invalid=\"ignore\"):", "if True:"),
    ("a sum in which infinity passes", "math.isfinite(total)", "total >= 0"),
    ("only the first half looked at", "flat.dot(flat)", "flat[:12].dot(flat[:12])"),
    ("the last array alone", "total += flat.dot(flat)", "total = flat.dot(flat)"),
    ("whatever overflows is refused", "    if not ok.all():", "    if True:"),
]


def test_finite():
    refuses_what_is_not_finite(build("check.arrays"))


@pytest.mark.parametrize("wrong", WRONG_FINITE, ids=lambda wrong: wrong[0])
def test_a_wrong_finite_is_found(wrong):
    with pytest.raises((AssertionError, RuntimeWarning, IndexError)):
        refuses_what_is_not_finite(build("check.arrays", *wrong[1:]))


def page_faults(*imports):
    """Of 50 large arrays, one after another, in a process of its own."""
    code = "\n".join(("import resource, numpy as np", *imports, "np.ones(1 << 20)", """
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(50):
    np.ones(1 << 20)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)"""))
    env = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}  # as a reader has it
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_pages_are_kept_when_asked_on_linux_with_glibc():
    """8 MB a piece: hundreds of faults each without the setting, and hardly one with it; importing changes nothing."""
    glibc = sys.platform == "linux" and bool(os.confstr("CS_GNU_LIBC_VERSION"))
    plain, imported = page_faults(), page_faults("import byhand.np")
    kept = page_faults("from byhand.np._memory import keep_memory", "keep_memory()")
    assert (20 * kept < min(plain, imported)) is glibc  # huge pages make all three numbers small, and none of them 0
