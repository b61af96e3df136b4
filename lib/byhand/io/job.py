"""A run from the command line: what it is told, in flags or in a file, and what it leaves in its folder at the end.

    job = read_job("python -m byhand.pt.train", "Train a decoder.", {"steps": 500, "rate": 3e-3}, {"bf16": "…"}, None)
    summary = write_summary(job, run.history, tokens=32_000, …)
"""

import argparse
import json
import math
import platform
import time
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from byhand.io.files import write_whole

SUMMARY = "summary.json"  # in the folder of a run
PATHS = {"text": "a UTF-8 file; its last tenth is held out",
         "folder": "where checkpoints and summary are, and where a run goes on from"}


def read_job(
    program: str, about: str, numbers: Mapping[str, int | float], switches: Mapping[str, str],
    arguments: list[str] | None = None,
) -> argparse.Namespace:
    """Flags `--text --folder --config`, one a number (its value here is the default) and one a switch.

    `--config` names a TOML file with the same names; a flag that is given counts more, and a path in the file is seen
    from the file. Ends the program with a sentence, as argparse does, at a name that is unknown or a value of the wrong
    kind. What is found has `parser` for further complaints, and `begun`, the second when it was read.
    """
    parser = argparse.ArgumentParser(program, description=about)
    parser.add_argument("--config", type=Path, help="a TOML file with any of the names below; flags count more")
    for name, says in PATHS.items():
        parser.add_argument(f"--{name}", type=Path, help=says)
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=type(default), help=f"default {default}")
    for name, says in switches.items():
        parser.add_argument(f"--{name}", action=argparse.BooleanOptionalAction, help=says)
    given = {name: value for name, value in vars(parser.parse_args(arguments)).items() if value is not None}
    kinds = dict.fromkeys(PATHS, str) | {name: type(x) for name, x in numbers.items()} | dict.fromkeys(switches, bool)
    file = _file(parser, given.pop("config", None), kinds)
    job = dict.fromkeys(PATHS) | dict(numbers) | dict.fromkeys(switches, False) | file | given
    if job["text"] is None:
        parser.error("no text: give --text, or text in the file of --config")
    return argparse.Namespace(**job, parser=parser, begun=time.monotonic())


def _file(parser, path, kinds) -> dict:
    """The settings of a TOML file, each of its kind."""
    if path is None:
        return {}
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        parser.error(f"--config {path}: {error}")
    for name, value in found.items():
        if name not in kinds:
            parser.error(f"--config {path}: {name} is unknown, expected one of {', '.join(kinds)}")
        if type(value) is int and kinds[name] is float:
            found[name] = float(value)
        elif type(value) is not kinds[name]:
            parser.error(f"--config {path}: {name} is {value!r}, expected {kinds[name].__name__}")
    return found | {name: path.parent / found[name] for name in PATHS if name in found}


def write_summary(job: argparse.Namespace, history: Mapping, facts: Mapping) -> dict:
    """What a run came to: its settings, `facts`, the last loss and the lowest evaluation, in nats, and at which step.

    Written into the job's folder, if it has one, whole or not at all; NaN and infinity become null.
    """
    settings = {name: str(x) if isinstance(x, Path) else x for name, x in vars(job).items()
                if name not in ("parser", "begun")}
    scores, at = history["evaluation"].tolist(), history["evaluated_at"].tolist()
    best = min(range(len(scores)), key=scores.__getitem__, default=None)
    found = {
        "settings": settings, **facts, "steps": len(history["loss"]), "loss": float(history["loss"][-1]),
        "held_out": None if best is None else scores[best], "held_out_at_step": None if best is None else at[best],
        "seconds_of_this_call": round(time.monotonic() - job.begun, 1), "python": platform.python_version(),
        "machine": platform.machine(), "ended": datetime.now(UTC).isoformat(timespec="seconds")}
    found = {name: None if isinstance(x, float) and not math.isfinite(x) else x for name, x in found.items()}
    if job.folder is not None:
        write_whole(Path(job.folder) / SUMMARY, (json.dumps(found, indent=1) + "\n").encode())
    return found
