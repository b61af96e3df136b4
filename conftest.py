"""What holds for every test and every notebook that pytest runs. Loaded before anything imports byhand."""

import gc
import os
import signal
import sys
import tempfile
import threading
from pathlib import Path

import jaxtyping
import pytest
import threadpoolctl
from hypothesis import settings

ROOT = Path(__file__).parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "_ext")]
pytest.register_assert_rewrite("specs", "invariants", "twins")  # a red proof shows what it compared
pytest_plugins = ["shares"]  # how a run is shared out among workers

import fewer_formats  # noqa: E402, F401  (tools/ is on the path only now; this one before all that reads notebooks)
import nbval.plugin  # noqa: E402
import shape_checks  # noqa: E402
from nbval.kernel import RunningKernel  # noqa: E402
from nbval.plugin import IPyNbCell, coalesce_streams  # noqa: E402
from run_notebooks import KERNEL_ENV  # noqa: E402
from same_output import keep_same, slack  # noqa: E402

# Notebooks run under nbval as `make run` ran them: the same variables, no one's own IPython settings, figures inline.
PROFILE = tempfile.TemporaryDirectory(prefix="ipython-", ignore_cleanup_errors=True)
os.environ.update(KERNEL_ENV, IPYTHONDIR=PROFILE.name)
os.environ.pop("MPLBACKEND", None)
if os.environ.get("CUDA_VISIBLE_DEVICES") == "" or not Path("/dev/nvidiactl").exists():
    os.environ.setdefault("TRITON_INTERPRET", "1")  # read when Triton is imported; with a GPU its kernels are compiled
threadpoolctl.threadpool_limits(1)  # of what is imported already: a plugin of pytest brings NumPy before this file

# Shapes are law while tests run. The hook holds every function and dataclass of byhand to its annotations, from its
# import on, in this process only: the kernels of notebooks run the library as a reader has it.
# inspect.unwrap(function) gets at the function as it was written; the fixture as_shipped switches the check off.
assert not any(name.split(".")[0] == "byhand" for name in sys.modules), "byhand was imported before the hook"
shape_checks.install("byhand")


@pytest.fixture
def as_shipped():
    """The library as a reader has it: wrong input meets its own error messages, not the shape check's."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(scope="module")
def chrome():
    """An installed Chromium without a network, one for the tests of a file; without one they are skipped."""
    from browser import browser

    with browser() as chrome:
        yield chrome


@pytest.fixture(scope="module")
def book():
    """The address of the built book, served on this machine."""
    from browser import built_book, serve

    with serve(built_book()) as site:
        yield site


# Property tests draw the same examples on every machine, and a slow first call is no failure.
settings.register_profile("course", derandomize=True, deadline=None)
settings.load_profile("course")


def execute_cell_input(self, cell_input, allow_stdin=None):
    """As nbval's own, but stored in IPython's history: without it a trailing `;` hides nothing (nbval #194)."""
    return self.kc.execute(cell_input, store_history=True, allow_stdin=allow_stdin, stop_on_error=False)


RunningKernel.execute_cell_input = execute_cell_input
compare_to_the_letter = IPyNbCell.compare_outputs


def compare_outputs(self, test, ref, skip_compare=None):
    """As nbval's own, but digits may differ by what the cell's tags declare; without them, not at all."""
    test, ref = coalesce_streams(test), coalesce_streams(ref)
    keep_same(ref, test, slack(self.cell), pictures=False)
    skipped = (*(skip_compare or self.parent.skip_compare), "image/svg+xml")  # as nbval skips PNG
    return compare_to_the_letter(self, test, ref, skipped)


IPyNbCell.compare_outputs = compare_outputs


def pytest_addoption(parser, pluginmanager):
    # pyproject.toml leaves nbval to this file: pytest by itself would import it before fewer_formats.
    if pluginmanager.unblock("nbval") or not pluginmanager.has_plugin("nbval"):
        pluginmanager.register(nbval.plugin, "nbval")
    parser.addoption("--stem", action="append", metavar="STEM", help="only the proofs of tests/specs/STEM.py")


def pytest_ignore_collect(collection_path, config):
    """With --stem, only the proofs and what is named beside it."""
    named = {Path(arg.partition("::")[0]).resolve() for arg in config.args}
    if config.getoption("stem") and collection_path.is_file() and collection_path.name != "test_proofs.py":
        return collection_path not in named or None


def default_signals():
    """Signals as a program at a terminal has them: whoever started this one (nohup, `&` in a script) may have had some
    ignored or blocked, and a child inherits that. A hang-up stays ignored: that is what nohup is asked for."""
    if threading.current_thread() is not threading.main_thread():
        return  # only the main thread may set them
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signal.valid_signals())
    by_python = {signal.SIGPIPE, signal.SIGXFSZ}  # Python itself ignores these two
    for number in signal.valid_signals() - by_python - {signal.SIGHUP}:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


if os.name == "posix":
    default_signals()


def pytest_configure(config):
    import matplotlib

    matplotlib.use("Agg")  # tests draw without a window; set here, as a variable it would reach the kernels


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Modules and tests stay. To look among them for garbage, again and again, takes a quarter of the time of a
    collection, and afterwards a good part of every test that makes many objects."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    if config.getoption("stem"):  # a stem without a backward has no slopes
        items[:] = [item for item in items if not item.name.endswith("[NOTSET]")]
    gpu = [item for item in items if item.get_closest_marker("gpu")]
    if gpu:
        import torch

        if not torch.accelerator.is_available():
            for item in gpu:
                item.add_marker(pytest.mark.skip(reason="no accelerator on this machine"))


def not_proved_in_a_browser(config):
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    marked = [getattr(report, "keywords", {}) for report in skipped]  # a whole file that is skipped has none
    return [marks for marks in marked if "browser" in marks and "live" not in marks]


def pytest_terminal_summary(terminalreporter, config):
    skipped = not_proved_in_a_browser(config)
    if skipped:
        terminalreporter.section("NOT PROVED: no browser", sep="!", red=True, bold=True)
        terminalreporter.line(f"{len(skipped)} tests of the built pages were skipped, because no Chromium was found.")
        terminalreporter.line("Install one (Debian: apt-get install chromium-headless-shell) and run the tests again.")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    """Where a browser is promised (CI is set), skipping its tests is a failure. The cells that run in the page are no
    part of that promise: what they need is fetched by another command."""
    if os.environ.get("CI") and exitstatus == 0 and not_proved_in_a_browser(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
