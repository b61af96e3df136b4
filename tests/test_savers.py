"""Real processes, saved from and killed: in short here, at length by hand."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


def test_processes_that_save_in_one_folder_and_are_killed():
    """In short; at length: python tests/savers.py --rounds 20 --seconds 10 --kills 300."""
    short = ("--rounds", "2", "--seconds", "0.5", "--kills", "8")
    run = subprocess.run([sys.executable, Path(__file__).with_name("savers.py"), *short], capture_output=True,
                         text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    figures = json.loads(run.stdout)
    assert figures["rounds"] == 2 and figures["kills inside a save"] == 8 and figures["reads"] >= 6


def killed(*flags):
    return subprocess.run([sys.executable, Path(__file__).with_name("killed.py"), *flags], capture_output=True,
                          text=True, timeout=300)


@pytest.mark.parametrize("half", ["np", "pt"])
def test_a_run_killed_twenty_times_is_the_run_that_nobody_killed(half):
    """To the last bit: parameters, optimiser, best parameters, history."""
    run = killed("--half", half, "--kills", "20")
    assert run.returncode == 0, run.stderr
    figures = json.loads(run.stdout)
    assert figures["kills"] == 20 and figures["kills after a save"] >= 10


@pytest.mark.parametrize("fault", ["step", "state", "fresh"])
def test_a_wrong_way_to_go_on_is_found(fault):
    run = killed("--half", "np", "--kills", "4", "--seed", "1", "--fault", fault)
    assert run.returncode == 1 and "differ from the run in peace" in run.stderr, run.stderr
