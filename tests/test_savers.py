"""Real processes, saved from and killed: in short here, at length by hand."""

import json
import subprocess
import sys
from pathlib import Path


def test_processes_that_save_in_one_folder_and_are_killed():
    """In short; at length: python tests/savers.py --rounds 20 --seconds 10 --kills 300."""
    short = ("--rounds", "2", "--seconds", "0.5", "--kills", "8")
    run = subprocess.run([sys.executable, Path(__file__).with_name("savers.py"), *short], capture_output=True,
                         text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    figures = json.loads(run.stdout)
    assert figures["rounds"] == 2 and figures["kills inside a save"] == 8 and figures["reads"] >= 6
