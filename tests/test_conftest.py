"""What conftest.py promises is in force: shapes are checked here, and only here."""

import contextlib
import inspect
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import byhand.np.attention
import byhand.pt.attention
import numpy as np
import pytest
import shape_checks
import threadpoolctl
import torch
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import Float, TypeCheckError
from nbval.kernel import RunningKernel
from rewritten import rewritten
from shares import noted, together

ROOT = Path(__file__).resolve().parents[1]
SHARES = ROOT / "tools" / "shares.py"
CASES = [
    (byhand.np.attention.attention_forward, np.zeros),
    (byhand.pt.attention.attention, torch.zeros),
]


@pytest.mark.parametrize(("function", "zeros"), CASES)
def test_a_wrong_shape_is_refused_before_the_function_runs(function, zeros):
    Q, K, V = zeros((2, 3)), zeros((4, 5)), zeros((4, 2))  # d_k is 3 in Q and 5 in K
    with pytest.raises(TypeCheckError, match="d_k"):
        function.__wrapped__(Q, K, V)  # below the library's own check, which would speak first


@pytest.mark.parametrize(("function", "zeros"), CASES)
def test_unwrap_finds_the_function_as_written(function, zeros):
    raw = inspect.unwrap(function)
    assert raw is not function and raw.__code__.co_filename == inspect.getsourcefile(sys.modules[function.__module__])


@pytest.mark.parametrize(("function", "zeros"), CASES)
def test_as_shipped_switches_the_check_off(function, zeros, as_shipped):
    with pytest.raises(ValueError, match="K"):  # the library's own words
        function(zeros((2, 3)), zeros((4, 5)), zeros((4, 2)))


def shaped(x: Float[np.ndarray, " n"], keep: bool = True) -> Float[np.ndarray, " n"]:
    return x if keep else x[:-1]


def plain(n: int, name: str = "") -> int:
    return n if not name else name


@pytest.mark.parametrize(("function", "right", "wrong", "error"), [
    (shaped, (np.zeros(3), True), [(np.zeros((3, 1)), True), (np.zeros(3), False)], TypeCheckError),
    (plain, (3, ""), [("3", ""), (3, "three")], BeartypeCallHintViolation),
])
def test_arguments_and_results_are_held_with_and_without_a_shape(function, right, wrong, error, as_shipped):
    held = shape_checks.held(function)
    for arguments in (right, *wrong):
        held(*arguments)
    shape_checks.config.update("jaxtyping_disable", False)
    held(*right)
    for arguments in wrong:  # the second of them comes back wrong
        with pytest.raises(error):
            held(*arguments)


def test_every_annotated_function_is_held_and_no_other():
    """Of the modules that are imported here, those of byhand.check among them; a function inside of one, when made."""
    seen = 0
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "byhand" and module.__name__ == name:
            for function in vars(module).values():
                if inspect.isfunction(function) and function.__module__ == name:
                    if function.__code__.co_filename == contextlib.__file__:  # @contextmanager wraps what it is given
                        function = function.__wrapped__
                    bare = inspect.unwrap(function)
                    inner = function.__wrapped__ if hasattr(function, "__checked__") else function
                    assert (inner is not bare) == bool(bare.__annotations__), f"{name}.{bare.__name__}"
                    seen += inner is not bare
    assert seen > 90


def test_other_processes_run_the_library_as_a_reader_has_it():
    """So do the kernels of notebooks. It also shows that the tests above could fail: here there is no hook."""
    ask = "import byhand.np.attention as a; print(hasattr(a.attention_forward.__wrapped__, '__wrapped__'))"
    said = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["False"]


def test_kernels_start_with_one_thread_a_fixed_seed_and_inline_figures():
    assert os.environ["OMP_NUM_THREADS"] == "1" and os.environ["PYTHONHASHSEED"] == "0"
    assert "MPLBACKEND" not in os.environ and os.path.basename(os.environ["IPYTHONDIR"]).startswith("ipython-")


def test_numpy_and_torch_have_one_thread_each():
    assert {pool["num_threads"] for pool in threadpoolctl.threadpool_info()} == {1} and torch.get_num_threads() == 1


def test_a_worker_runs_a_file_a_notebook_the_proofs_of_a_stem_as_a_whole():
    for first, *rest in (
        ("tests/test_tree.py::test_tree[a]", "tests/test_tree.py::test_other"),
        ("book/exercises/ex06_norm::ipynb::Cell 1", "book/exercises/ex06_norm::ipynb::Cell 22"),
        ("tests/test_proofs.py::test_slope[norm.layer_norm]", "tests/test_proofs.py::test_invariant[pt.norm.refused]",
         "tests/test_proofs.py::test_wrong_version[np.norm.rms_norm_forward + rms_norm_backward: a story: of norms]",
         "tests/test_proofs.py::test_every_check_catches_a_wrong_version[norm]"),
        ("tests/test_proofs.py::test_invariant[np._erf.types]",
         "tests/test_proofs.py::test_the_right_source_passes[erf]"),
    ):
        assert {together(one) for one in rest} == {together(first)}
    assert together("tests/test_proofs.py::test_slope[norm.a]") != together("tests/test_proofs.py::test_slope[mask.a]")


def test_a_stem_alone_is_collected():
    """Its proofs, and the file that is named beside it; a stem without a backward has no tests of slopes."""
    ask = "-m pytest --collect-only -q -p no:cacheprovider --stem erf tests tests/test_source_map.py"
    said = subprocess.run([sys.executable, *ask.split()], cwd=ROOT, capture_output=True, text=True, check=True)
    named = [line for line in said.stdout.splitlines() if "::" in line]
    assert {line.partition("::")[0] for line in named} == {"tests/test_proofs.py", "tests/test_source_map.py"}
    proofs = [line for line in named if "test_proofs" in line]
    assert any("np._erf" in line for line in proofs) and not any("norm" in line or "NOTSET" in line for line in proofs)


def test_notebooks_are_checked_without_the_grammars_of_addresses(request):
    ask = ("import sys; sys.path.insert(0, 'tools'); import fewer_formats, nbformat; nb = nbformat.v4.new_notebook()\n"
           "nbformat.validate(nb); nb.update(metadata=3)\n"
           "try: nbformat.validate(nb)\nexcept nbformat.ValidationError: print('lark' in sys.modules)")
    said = subprocess.run([sys.executable, "-c", ask], cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["False"]
    assert request.config.pluginmanager.get_plugin("nbval").__name__ == "nbval.plugin"


def test_nbval_stores_history_so_that_a_semicolon_hides():
    class Client:
        def execute(self, source, **how):
            return how["store_history"]

    kernel = RunningKernel.__new__(RunningKernel)
    kernel.kc = Client()
    assert kernel.execute_cell_input("1;") is True


HEARD = """
import signal
import pytest

def test_an_interrupt_is_heard():
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
"""
DEAF = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
os.execv(sys.executable, [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *sys.argv[1:]])
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of another kind")
@pytest.mark.parametrize(("options", "said"), [(["-p", "conftest"], "1 passed"), ([], "1 failed")])
def test_signals_that_were_ignored_or_blocked_are_heard_all_the_same(options, said, tmp_path):
    """Started as by a script's `&`; the second row shows that a test would be deaf without conftest.py."""
    probe = tmp_path / "test_heard.py"
    probe.write_text(HEARD, encoding="utf-8")
    run = subprocess.run([sys.executable, "-c", DEAF, probe, *options], capture_output=True, text=True, cwd=ROOT)
    assert said in run.stdout, run.stdout + run.stderr


@pytest.mark.parametrize(("marks", "promised", "code"), [
    (("browser",), "1", 1), (("browser",), "", 0), (("browser", "live"), "1", 0), (("gpu",), "1", 0),
])
def test_only_a_skipped_page_fails_where_a_browser_is_promised(marks, promised, code, tmp_path):
    probe = tmp_path / "test_skipped.py"
    marked = "".join(f"@pytest.mark.{mark}\n" for mark in marks)
    body = "def test_seen():\n    pytest.skip('not here')\n\n\ndef test_run():\n    pass\n"
    probe.write_text(f"import pytest\n\n\n{marked}{body}", encoding="utf-8")
    ask = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "conftest", probe]
    run = subprocess.run(ask, capture_output=True, text=True, cwd=ROOT, env=os.environ | {"CI": promised})
    assert run.returncode == code, run.stdout + run.stderr
    assert "1 passed, 1 skipped" in run.stdout


def test_a_whole_file_that_is_skipped_is_no_missing_browser(request):
    """Its report has no marks, as where Triton is not installed; that of a page's test has."""
    module = request.config.pluginmanager.get_plugin(str(ROOT / "conftest.py"))
    whole = pytest.CollectReport("tests/test_kernels.py", "skipped", ("tests/test_kernels.py", 23, "Skipped"), [])
    page = SimpleNamespace(keywords={"browser": 1})
    reporter = SimpleNamespace(stats={"skipped": [whole, page]})
    config = SimpleNamespace(pluginmanager=SimpleNamespace(get_plugin=lambda name: reporter))
    assert len(module.not_proved_in_a_browser(config)) == 1


# ---------------------------------------------------------------- how a run is shared out

NODES = ["tests/test_a.py::test_x", "book/07_x.ipynb::Cell 0", "tests/test_proofs.py::test_slope[np.norm.layer_norm]",
         "tests/test_proofs.py::test_slope[text.bpe]", "book/07_x.ipynb::Cell 1", "tests/test_b.py::test_y"]


def the_longest_comes_first(shares, folder):
    seconds = {"book/07_x.ipynb": 9, "tests/test_b.py": 70, "tests/test_proofs.py of norm": 20}
    in_order = [shares.together(nodeid) for nodeid in shares.longest_first(NODES, seconds)]
    assert in_order == ["tests/test_b.py", "tests/test_proofs.py of norm", "book/07_x.ipynb", "book/07_x.ipynb",
                        "tests/test_a.py", "tests/test_proofs.py of bpe"]


def what_is_noted_is_read_again(shares, folder):
    shares.note(Counter({"book/07_x.ipynb": 9.0, "tests/test_b.py": 70.4, "tests/test_a.py": 4.9,
                         "tests/test_proofs.py of norm": 20.6}), folder / "seconds.tsv")
    assert list(shares.noted(folder / "seconds.tsv").items()) == [
        ("tests/test_b.py", 70), ("tests/test_proofs.py of norm", 21), ("book/07_x.ipynb", 9)]


def a_file_is_run_as_a_whole_unless_it_is_asked(shares, folder):
    shares.Together = lambda *given: "a file as a whole"
    for dist, expected in (("loadfile", "a file as a whole"), ("load", "a file as a whole"), ("worksteal", None)):
        config = SimpleNamespace(option=SimpleNamespace(dist=dist))
        assert shares.pytest_xdist_make_scheduler(config, None) == expected


@pytest.mark.parametrize("check", [
    the_longest_comes_first, what_is_noted_is_read_again, a_file_is_run_as_a_whole_unless_it_is_asked,
], ids=lambda c: c.__name__)
def test_a_run_is_shared_out(check, tmp_path):
    check(rewritten(SHARES), tmp_path)


@pytest.mark.parametrize(("check", "old", "new"), [
    (the_longest_comes_first, "-seconds.get(", "seconds.get("),
    (the_longest_comes_first, "together(nodeid), 0)", "nodeid, 0)"),
    (the_longest_comes_first, "parts[1] if parts[0] in ROOMS and len(parts) > 1 else parts[0]", "parts[0]"),
    (what_is_noted_is_read_again, "durations.most_common()", "durations.items()"),
    (what_is_noted_is_read_again, "if seconds >= LONG", ""),
    (a_file_is_run_as_a_whole_unless_it_is_asked, '== "worksteal"', 'in ("load", "worksteal")'),
    (a_file_is_run_as_a_whole_unless_it_is_asked, '== "worksteal"', '== "steal"'),
], ids=["the shortest first", "by test", "by half", "as it came", "everything",
        "notebooks by cell", "always"])
def test_a_wrong_way_to_share_is_refused(check, old, new, tmp_path):
    with pytest.raises(AssertionError):
        check(rewritten(SHARES, old, new), tmp_path)


def test_what_is_said_to_take_long_is_there():
    names = noted()
    assert len(names) > 20 and [name for name in names if not (ROOT / name.partition(" of ")[0]).is_file()] == []
