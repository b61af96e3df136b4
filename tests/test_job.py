# ruff: noqa: E501
"""A run from the command line: flags before file before default, every complaint a sentence, a summary that is whole."""

import io
import json
import tempfile
from contextlib import redirect_stderr
from pathlib import Path

import numpy as np
import pytest
from byhand.io import job
from mutants import build

NUMBERS, SWITCHES = {"steps": 500, "rate": 3e-3}, {"bf16": "autocast", "compile": "compile"}


def read(module, *flags, file=None):
    """The job of these flags, `{folder}` in them standing for a folder in which the file is run.toml."""
    with tempfile.TemporaryDirectory() as folder:
        if file is not None:
            Path(folder, "run.toml").write_text(file)
            flags = (*flags, f"--config={folder}/run.toml")
        found = vars(module.read_job("program", "about", NUMBERS, SWITCHES, list(flags)))
        return {name: str(x).replace(folder, "FOLDER") if isinstance(x, Path) else x for name, x in found.items()}


def complaint(module, *flags, file=None):
    with redirect_stderr(io.StringIO()) as err, pytest.raises(SystemExit) as stopped:
        read(module, *flags, file=file)
    assert stopped.value.code == 2
    return err.getvalue()


def flags_before_the_file_before_defaults(module):
    found = read(module, "--text=a", "--steps=7", "--no-bf16", file='steps = 9\nrate = 1\nbf16 = true\ncompile = true\n')
    assert (found["steps"], found["rate"], found["bf16"], found["compile"]) == (7, 1.0, False, True)
    assert type(found["rate"]) is float and found["text"] == "a" and found["folder"] is None
    alone = read(module, "--text=a")
    assert (alone["steps"], alone["rate"], alone["bf16"], alone["compile"]) == (500, 3e-3, False, False)


def paths_are_seen_from_where_they_are_written(module):
    found = read(module, "--folder=runs/a", file='text = "novel.txt"\nfolder = "runs/b"\n')
    assert (found["text"], found["folder"]) == ("FOLDER/novel.txt", "runs/a")
    assert read(module, "--text=a", file='folder = "b"')["folder"] == "FOLDER/b"


def what_is_wrong_is_named(module):
    for flags, file, says in [
        (["--steps=7"], None, "no text: give --text"), (["--text=a", "--rate=fast"], None, "--rate"),
        (["--text=a", "--pace=1"], None, "--pace"), (["--text=a"], "pace = 1", "pace is unknown, expected one of text, "),
        (["--text=a"], "steps = 1.5", "steps is 1.5, expected int"), (["--text=a"], "bf16 = 1", "bf16 is 1, expected bool"),
        (["--text=a"], "steps = true", "steps is True, expected int"), (["--text=a"], "rate = 'x'", "rate is 'x', expected"),
        (["--text=a"], "steps =", "run.toml: "), (["--text=a", "--config=/nowhere/x.toml"], None, "/nowhere/x.toml: "),
        (["--text=a"], "config = 'x'", "config is unknown")]:
        assert says in complaint(module, *flags, file=file), (flags, file)


def history(loss, scores=()):
    every = len(loss) // len(scores) if scores else 1
    at = np.arange(1, len(scores) + 1) * every
    return {"loss": np.array(loss, float), "evaluation": np.array(scores, float), "evaluated_at": at}


def a_summary_says_what_came_out(module):
    with tempfile.TemporaryDirectory() as folder:
        a = module.read_job("program", "about", NUMBERS, SWITCHES, ["--text=a", f"--folder={folder}", "--rate=0.5"])
        found = module.write_summary(a, history([3, 2, 1, 4], [0.7, 0.5]), {"parameters": 12})
        assert json.loads(Path(folder, "summary.json").read_text()) == found
        assert (found["steps"], found["loss"], found["held_out"], found["held_out_at_step"]) == (4, 4.0, 0.5, 4)
        assert found["settings"] == {"text": "a", "folder": folder, "steps": 500, "rate": 0.5, "bf16": False, "compile": False}
        assert found["parameters"] == 12 and 0 <= found["seconds_of_this_call"] < 1000
        later = module.write_summary(a, history([3, np.nan]), {})
        assert later["loss"] is None and later["held_out"] is None and later["held_out_at_step"] is None
        text = Path(folder, "summary.json").read_text()
        assert json.loads(text) == later and "NaN" not in text and [x.name for x in Path(folder).iterdir()] == ["summary.json"]


def without_a_folder_nothing_is_written(module):
    a = module.read_job("program", "about", NUMBERS, SWITCHES, ["--text=a"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "write_whole", lambda *_: pytest.fail("written"))
        assert module.write_summary(a, history([1.0]), {})["loss"] == 1.0


CHECKS = [flags_before_the_file_before_defaults, paths_are_seen_from_where_they_are_written, what_is_wrong_is_named,
          a_summary_says_what_came_out, without_a_folder_nothing_is_written]


@pytest.mark.parametrize("holds", CHECKS)
def test_job(holds):
    holds(job)


WRONG = [
    (flags_before_the_file_before_defaults, "| file | given", "| given | file"),
    (flags_before_the_file_before_defaults, "dict.fromkeys(PATHS) | dict(numbers) | dict.fromkeys(switches, False) | file",
     "file | dict.fromkeys(PATHS) | dict(numbers) | dict.fromkeys(switches, False)"),
    (flags_before_the_file_before_defaults, "found[name] = float(value)", "found[name] = value"),
    (flags_before_the_file_before_defaults, "argparse.BooleanOptionalAction", '"store_true"'),
    (paths_are_seen_from_where_they_are_written, "path.parent / found[name]", "Path(found[name])"),
    (paths_are_seen_from_where_they_are_written, "if name in found}\n", "if name in found and name == 'text'}\n"),
    (what_is_wrong_is_named, "if name not in kinds:", "if False:"),
    (what_is_wrong_is_named, "type(value) is not kinds[name]", "not isinstance(value, kinds[name])"),
    (what_is_wrong_is_named, 'if job["text"] is None:', "if False:"),
    (what_is_wrong_is_named, "except (OSError, UnicodeDecodeError", "except (UnicodeDecodeError"),
    (a_summary_says_what_came_out, "min(range(len(scores))", "max(range(len(scores))"),
    (a_summary_says_what_came_out, 'history["loss"][-1]', 'history["loss"].min()'),
    (a_summary_says_what_came_out, "at[best]", "best"),
    (a_summary_says_what_came_out, "isinstance(x, float) and not math.isfinite(x)", "False"),
    (a_summary_says_what_came_out, 'if name not in ("parser", "begun")', 'if name != "parser"'),
    (without_a_folder_nothing_is_written, "if job.folder is not None:", "if True:"),
]


@pytest.mark.parametrize(("finds", "old", "new"), WRONG)
def test_a_wrong_job_is_found(finds, old, new):
    module = build("io.job", old, new)
    with pytest.raises((Exception, pytest.fail.Exception, SystemExit)) as found:
        finds(module)
    assert not isinstance(found.value, SyntaxError | NameError)


def test_every_check_finds_something():
    assert {finds for finds, *_ in WRONG} == set(CHECKS)
