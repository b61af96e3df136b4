"""Where a submission can be graded: the mark of the tests that do so."""

import os
import shutil

import pytest

HAS_SANDBOX = shutil.which("bwrap") and shutil.which("prlimit")
confined = pytest.mark.skipif(not HAS_SANDBOX and not os.environ.get("CI"),
                              reason="NO SUBMISSION CAN BE GRADED HERE: bubblewrap is missing")
