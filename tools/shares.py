"""A pytest plugin: how a run is shared out among processes. What one of them runs as a whole, and the longest first.

    python -m pytest tests book --nbval … -n 2 --note-seconds      # writes tests/seconds.tsv from this run
"""

import re
from collections import Counter
from pathlib import Path

from xdist.scheduler import LoadScopeScheduling

TABLE = Path(__file__).resolve().parents[1] / "tests" / "seconds.tsv"
LONG = 5  # seconds; what takes less comes last, in the order of its name
ROOMS = ("np", "pt", "io", "text", "annex")


def together(nodeid: str) -> str:
    """What one worker runs as a whole: a file, a notebook, the proofs of one stem. (xdist's own groups need a mark on
    each test, which pytest 9.2 no longer shows it.)"""
    file, _, test = nodeid.partition("::")
    if file.endswith("test_proofs.py") and "[" in test:
        parts = re.split(r"[.:]", test.partition("[")[2].rstrip("]"))
        return f"{file} of {(parts[1] if parts[0] in ROOMS and len(parts) > 1 else parts[0]).strip('_')}"
    return file


def noted(table: Path = TABLE) -> dict[str, int]:
    """Seconds by what is run together."""
    rows = (line.split("\t") for line in table.read_text(encoding="utf-8").splitlines())
    return {name: int(seconds) for seconds, name in rows}


def note(durations: Counter, table: Path = TABLE) -> None:
    """Write down what took long, the longest first."""
    rows = [f"{seconds:.0f}\t{name}\n" for name, seconds in durations.most_common() if seconds >= LONG]
    table.write_text("".join(rows), encoding="utf-8", newline="\n")


def longest_first(nodeids: list[str], seconds: dict[str, int]) -> list[str]:
    """Else the last to begin may be a chapter that trains, and one worker waits for the other."""
    return sorted(nodeids, key=lambda nodeid: -seconds.get(together(nodeid), 0))


class Together(LoadScopeScheduling):
    def _split_scope(self, nodeid):
        return together(nodeid)


def pytest_addoption(parser):
    parser.addoption("--note-seconds", action="store_true", help="write tests/seconds.tsv: how long each file took")


def pytest_configure(config):
    if config.getoption("--note-seconds") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Clock())


class Clock:
    def __init__(self):
        self.durations = Counter()

    def pytest_runtest_logreport(self, report):
        self.durations[together(report.nodeid)] += report.duration

    def pytest_sessionfinish(self):
        note(self.durations)


def pytest_xdist_make_scheduler(config, log):
    if config.option.dist == "worksteal":
        return None  # asked for where each test of a file stands for itself and takes long
    config.option.loadscopereorder = False  # the order of the collection, not that of the number of tests
    return Together(config, log)


def pytest_collection_modifyitems(config, items):
    if hasattr(config, "workerinput"):
        place = {nodeid: k for k, nodeid in enumerate(longest_first([item.nodeid for item in items], noted()))}
        items.sort(key=lambda item: place[item.nodeid])
