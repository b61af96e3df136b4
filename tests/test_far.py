"""The PyTorch half on a device that is not there: no tensor is left on the CPU, and nothing waits for a number."""

import subprocess
import sys
from pathlib import Path

import pytest


def lines(*arguments):
    """Of tests/far.py, in a process of its own: it gives torch one more kind of device."""
    command = [sys.executable, "-W", "ignore", Path(__file__).with_name("far.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_everything_stays_on_the_device():
    found = lines()
    assert [line for line in found if not line.startswith("ok ")] == []
    assert len(found) > 300 and sum("step of" in line for line in found) == 9
    assert sum(line.endswith(", alone") for line in found) > 35


def test_every_public_name_is_run_or_has_its_reason():
    assert [line for line in lines("--public") if line] == []


@pytest.mark.parametrize(("start", "where", "old", "new", "words"), [
    ("mask.causal_mask", "pt.mask.causal_mask", "dtype=torch.bool, device=device)", "dtype=torch.bool)",
     "its output is on cpu"),
    ("step of decoder, rope", "pt.position.frequencies", "dtype=torch.float64, device=device)", "dtype=torch.float64)",
     "device"),
    ("step of decoder, none", "pt.train.train_step", "scale * (max_norm / norm).clamp(max=1.0)",
     "scale * min(max_norm / norm.item(), 1.0)", "DataDependentOutputException"),
    ("vision.attention_rollout, alone", "pt.vision.attention_rollout", ", device=layers[0].device)", ")", "device"),
    ("sample.choose, alone", "pt.sample.choose", "return sample(", "return u.sum().item() and sample(",
     "DataDependentOutputException"),
], ids=["a mask made on the CPU", "angles made on the CPU", "a norm that the step waits for",
        "a unit matrix made on the CPU", "a draw that is looked at"])
def test_wrong_versions_are_caught(start, where, old, new, words):
    found = lines(start, where, old, new)
    assert found and all(line.startswith("WRONG ") for line in found) and words in found[0], found
