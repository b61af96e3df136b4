"""What happens around an answer: limits of time and output, what is kept, when a solution opens, two mistakes at once.

Wrong versions of each are kept here (the tables WRONG_…) and run: a check that lets one pass is no check.
"""

import _thread
import contextlib
import ctypes
import datetime
import importlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from dataclasses import replace
from pathlib import Path

import byhand.grade.examine as examine_module
import byhand.grade.solutions as solutions_module
import numpy as np
import pytest
from byhand.grade import check, hint, learner, limits, memory, solution, summary
from byhand.grade.examine import Report, examine
from byhand.grade.limits import TimeUp, time_limit
from byhand.grade.model import Case, Mutant, Question, make_inputs
from byhand.grade.run import run
from byhand.grade.sets import SETS, questions_of, references_of
from byhand.grade.two import two_mistakes

Q2 = questions_of("04")[1]
needs_timer = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timers here")


@pytest.fixture(autouse=True)
def fresh_memory(monkeypatch):
    monkeypatch.setattr(memory, "_here", {})
    monkeypatch.setattr(memory, "_complained", set())
    monkeypatch.setenv("BYHAND_PROGRESS", "")


def mistakes(check, wrong):
    """Does this check refuse the wrong version?"""
    try:
        check(wrong)
    except (AssertionError, pytest.fail.Exception):
        return True
    return False


# ---------------------------------------------------------------- the limit of time

LONG = 2.0  # seconds after which the bodies below give up, and a limit of time has failed


def loop(end):
    while time.monotonic() < end:
        pass


def sleep(end):
    time.sleep(max(0.0, end - time.monotonic()))


def swallow(end):
    while True:  # nearly all of the time is spent inside of the try, so that an exception from outside lands there
        try:
            loop(end)
            return
        except Exception:
            pass


def swallow_once(end):
    try:
        loop(end)
    except BaseException:
        loop(end)


def stopped(limit, body, seconds=0.1):
    """Did the limit stop the body, and long before its end?"""
    start = time.monotonic()
    try:
        with limit(seconds):
            body(start + LONG)
    except TimeUp:
        return time.monotonic() - start < 0.9 * LONG
    return False


def in_a_thread(function, *args):
    found = []
    thread = threading.Thread(target=lambda: found.append(function(*args)))
    thread.start()
    thread.join()
    return found[0]


def the_main_thread_is_stopped(limit):
    for body in (loop, sleep, swallow, swallow_once):
        assert stopped(limit, body), body.__name__


def another_thread_is_stopped(limit):
    for body in (loop, swallow, swallow_once):
        assert in_a_thread(stopped, limit, body), body.__name__


def what_is_quick_is_left_alone(limit):
    for ran in (stopped, lambda *args: in_a_thread(stopped, *args)):
        assert not ran(limit, lambda end: loop(end - LONG + 0.01), 0.3)


def handler_and_timer_are_as_before(limit):
    before = signal.signal(signal.SIGALRM, lambda number, frame: None)
    mine = signal.getsignal(signal.SIGALRM)
    try:
        for body in (loop, lambda end: None):
            stopped(limit, body, 0.02)
            assert signal.getsignal(signal.SIGALRM) is mine
            assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def a_limit_around_a_limit_holds(limit):
    def inner_in_time(end):
        assert not stopped(limit, lambda end: None, 5.0)
        loop(end)

    def inner_longer(end):
        with limit(5.0):
            loop(end)

    for body in (inner_in_time, inner_longer):
        start = time.monotonic()
        assert stopped(limit, body, 0.2) and time.monotonic() - start < 1.2
    assert not stopped(limit, lambda end: stopped(limit, loop, 0.05), 1.0)
    assert not stopped(limit, lambda end: stopped(limit, loop, 0.05), 1.0)


def the_race_at_the_end_leaves_nothing_behind(limit):
    """Bodies that end just when the limit strikes."""
    before, threads = signal.getsignal(signal.SIGALRM), _thread._count()
    rng = random.Random(0)
    for ran in (stopped, lambda *args: in_a_thread(stopped, *args)):
        for _ in range(60):
            seconds = rng.uniform(1e-3, 3e-3)
            ran(limit, lambda end: loop(end - LONG + 2e-3), seconds)
            assert signal.getsignal(signal.SIGALRM) is before and signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert _thread._count() == threads


def a_library_is_loaded_to_its_end(limit):
    """PyTorch loads parts of itself when they are first used, which takes long where the disk is slow; half a module
    would stay behind. What the answer does afterwards still has an end."""
    for ran in (stopped, lambda *args: in_a_thread(stopped, *args)):
        for after, late in ((lambda end: None, False), (loop, True)):
            assert ran(limit, lambda end, after=after: (load_slowly(), after(end))) == late


def load_slowly(seconds=0.3):
    """Import a module that takes so long."""
    with tempfile.TemporaryDirectory() as folder:
        loads = f"import time\nend = time.monotonic() + {seconds}\nwhile time.monotonic() < end: pass\n"
        Path(folder, "slow_to_load.py").write_text(loads)
        sys.path.insert(0, folder)
        try:
            importlib.invalidate_caches()
            importlib.import_module("slow_to_load")
        finally:
            sys.path.remove(folder)
            sys.modules.pop("slow_to_load", None)


def nothing_is_under_way_afterwards(limit):
    """Python 3.11 would look for it for ever, and a function under a tracer (which_equation, a debugger) not begin."""
    for body in (lambda end: None, loop):
        assert in_a_thread(stopped, limit, body, 0.05) == (body is loop)
        before, tracer, ended = signal.signal(signal.SIGALRM, signal.default_int_handler), sys.gettrace(), False
        signal.setitimer(signal.ITIMER_REAL, LONG)  # its handler is no Python: nothing of it is traced
        try:
            try:
                sys.settrace(lambda *args: None)
                sleep(0)
                ended = True
            finally:
                sys.settrace(tracer)
        except KeyboardInterrupt:
            pass
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        assert ended, "a traced function does not begin"


LATE = """
def arm(which, seconds, *interval):
    left = real(which, seconds, *interval)
    if not seconds and callable(signal.getsignal(signal.SIGALRM)):
        signal.raise_signal(signal.SIGALRM)
    return left
"""


def struck_at_the_very_end():
    """A signal that had already come when the timer was taken away: Python delivers it one instruction later, in the
    code of the limit itself. What is left of the timer then?"""
    scope = {"signal": signal, "real": signal.setitimer}
    exec(compile(LATE, limits.__file__, "exec"), scope)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "_arm", scope["arm"])
        with time_limit(5.0):
            pass
    return signal.setitimer(signal.ITIMER_REAL, 0)


@contextlib.contextmanager
def _alarm(seconds, again=limits.AGAIN, error=TimeUp, timer_off=True, handler_back=True):
    def stop(number, frame):
        raise error

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, again)
    try:
        yield
    finally:
        if timer_off:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if handler_back:
            signal.signal(signal.SIGALRM, before)


class _AnException(TimeUp, Exception):
    pass


@contextlib.contextmanager
def _main_only(seconds):
    main = threading.current_thread() is threading.main_thread()
    with time_limit(seconds) if main else contextlib.nullcontext():
        yield


@contextlib.contextmanager
def _told_afterwards(seconds):
    start = time.monotonic()
    yield
    if time.monotonic() - start > seconds:
        raise TimeUp


@contextlib.contextmanager
def _watched(seconds):
    """By an exception from another thread in the main thread too: it does not end a sleep."""
    with limits._by_exception(seconds):
        yield


@contextlib.contextmanager
def _taken_back(seconds):
    """An exception that may be under way is taken back, not met."""
    try:
        with limits._by_exception(seconds):
            yield
    finally:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(threading.get_ident()), None)


@contextlib.contextmanager
def _seen_as_no_import(seconds):
    with pytest.MonkeyPatch.context() as patch:
        if threading.current_thread() is not threading.main_thread():
            patch.setattr(limits._Imports, "wait", lambda self, frame: 0)
        with time_limit(seconds):
            yield


LIMIT_CHECKS = (
    the_main_thread_is_stopped, another_thread_is_stopped, what_is_quick_is_left_alone, handler_and_timer_are_as_before,
    a_limit_around_a_limit_holds, the_race_at_the_end_leaves_nothing_behind,
    nothing_is_under_way_afterwards, a_library_is_loaded_to_its_end,
)
WRONG_LIMITS = {
    "none": (lambda seconds: contextlib.nullcontext(), the_main_thread_is_stopped),
    "none in a thread": (_main_only, another_thread_is_stopped),
    "told afterwards": (_told_afterwards, the_main_thread_is_stopped),
    "watched, asleep": (_watched, the_main_thread_is_stopped),
    "an Exception": (lambda seconds: _alarm(seconds, error=_AnException), the_main_thread_is_stopped),
    "an alarm that rings once": (lambda seconds: _alarm(seconds, again=0), the_main_thread_is_stopped),
    "always": (lambda seconds: time_limit(1e-3), what_is_quick_is_left_alone),
    "the handler stays": (lambda seconds: _alarm(seconds, handler_back=False), handler_and_timer_are_as_before),
    "the timer stays": (lambda seconds: _alarm(seconds, timer_off=False), handler_and_timer_are_as_before),
    "an import is stopped": (_alarm, a_library_is_loaded_to_its_end),
    "an import is stopped, in a thread": (_seen_as_no_import, a_library_is_loaded_to_its_end),
    "no thought of another limit": (_alarm, a_limit_around_a_limit_holds),
}
if sys.version_info < (3, 12):
    WRONG_LIMITS["taken back"] = (_taken_back, nothing_is_under_way_afterwards)


@needs_timer
def test_a_limit_that_strikes_at_the_very_end_leaves_no_timer():
    assert struck_at_the_very_end() == (0.0, 0.0)


@needs_timer
@pytest.mark.parametrize("check", LIMIT_CHECKS, ids=lambda check: check.__name__)
def test_limit(check):
    check(time_limit)


@needs_timer
@pytest.mark.parametrize("name", WRONG_LIMITS)
def test_a_wrong_limit_is_found_out(name):
    wrong, check = WRONG_LIMITS[name]
    before = signal.getsignal(signal.SIGALRM)
    try:
        assert mistakes(check, wrong)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        with limits._by_exception(LONG):
            pass  # whatever one of them has left under way is met


def the_clock_is_looked_at(limit):
    """Where there are neither timers nor threads, as in a browser: nothing ends a sleep, or goes on after an except."""
    for body in (loop, lambda end: [loop(end)], lambda end: all(time.monotonic() < end for _ in iter(list, 0))):
        assert stopped(limit, body)
    assert not stopped(limit, lambda end: loop(end - LONG + 0.01), 0.3)
    assert sys.gettrace() is None


def test_a_limit_without_timers_and_threads():
    """In a process of its own, as a page has."""
    code = "import sys; sys.path[:0] = sys.argv[1:]; import test_learner; test_learner.without_timers_and_threads()"
    command = [sys.executable, "-c", code, Path(__file__).parent, Path(__file__).parents[1]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr


def without_timers_and_threads():
    sys.platform, limits._arm, limits._by_exception = "wasi", None, None
    the_clock_is_looked_at(time_limit)
    for wrong in (lambda seconds: contextlib.nullcontext(), lambda seconds: time_limit(0), _left_behind):
        assert mistakes(the_clock_is_looked_at, wrong)
        sys.settrace(None)


@contextlib.contextmanager
def _left_behind(seconds):
    with time_limit(seconds):
        yield
    sys.settrace(lambda *args: None)


# ---------------------------------------------------------------- a small question to try the rest on


def pair(X, y):
    """P = 2 X (3, 4) and s = column sums of X, plus y, (4,)."""
    ...


def right_pair(X, y):
    return 2 * X, X.sum(axis=0) + y


def make_pair(rng):
    return {"X": rng.normal(size=(3, 4)), "y": rng.normal(size=4)}


def message(name, function):
    return Mutant(name, function, f"Mistake {name}.", "9.1", ())


TOY = Question(
    id="99.1", title="A pair", stub=pair, returns=("P", "s"), minutes=1, hints=("one", "two", "three"), seconds=0.3,
    cases=(
        Case("values", make_pair, "three rows", 2),
        Case("again", make_pair, "other numbers", 1),
        Case("more", make_pair, "a third time", 1),
        Case("last", make_pair, "a fourth time", guards="values", open=True),
    ),
    mutants=(
        message("A", lambda X, y: (2 * X + np.eye(3, 4), X.sum(axis=0) + y)),
        message("B", lambda X, y: (3 * X, X.sum(axis=0) + y)),
        message("C", lambda X, y: (2 * X, X.sum(axis=0))),
        message("D", lambda X, y: (2 * X * np.arange(2, 6), X.sum(axis=0) + y)),
        message("E", lambda X, y: (3 * X, X.mean(axis=0) + y)),
    ),
)


def toy_expected(case):
    return tuple(np.asarray(a) for a in right_pair(**make_inputs(TOY, case)))


def report_of(answer, order=None, question=TOY):
    return Report(question, examine(question, answer, toy_expected, order=order))


def place(X):
    """Which case is this?"""
    return next(i for i, case in enumerate(TOY.cases) if np.array_equal(X, make_inputs(TOY, case)["X"]))


# ---------------------------------------------------------------- a late answer is told as late, always in one way


def test_an_endless_loop_is_told_and_the_rest_is_not_run():
    def answer(X, y):
        loop(time.monotonic() + LONG)

    text = repr(report_of(answer)).splitlines()
    assert text == [
        "99.1  pair  0 / 4 points",
        "  FAIL  values  X (3, 4)  y (4,)",
        "        stopped after 0.3 s: is there a loop that does not end?",
        "  not run: again (fix 'values' first)",
        "  not run: more (fix 'values' first)",
        "  not run: last (fix 'values' first)",
    ]


def test_what_is_said_of_a_late_answer_does_not_depend_on_the_order():
    def answer(X, y):
        if place(X) in (1, 2):
            time.sleep(LONG)
        return right_pair(X, y)

    question = replace(TOY, seconds=0.1)
    said = {repr(report_of(answer, order, question)) for order in range(6)}
    (text,) = said
    assert "ok    values" in text and "FAIL  again" in text and text.count("not run") == 2


def test_a_check_in_another_thread_is_limited_too():
    def answer(X, y):
        loop(time.monotonic() + LONG)

    assert "stopped after 0.3 s" in repr(in_a_thread(report_of, answer))


# ---------------------------------------------------------------- what an answer prints


def printing(*texts):
    """An answer that prints something else in each case."""

    def answer(X, y):
        sys.stdout.write(texts[place(X) % len(texts)])
        return right_pair(X, y)

    return answer


def printed(answer, capsys, order=None):
    report_of(answer, order)
    return capsys.readouterr().out


def test_what_is_printed_comes_in_the_order_of_the_report(capsys):
    assert {printed(printing("a\n", "b\n", "c\n", "d\n"), capsys, order) for order in range(8)} == {"a\nb\nc\nd\n"}


CUT = f"\n… an answer may print {limits.LETTERS:,} letters in one case; the rest is left out\n"


@pytest.mark.parametrize(("text", "shown"), [
    ("", ""), ("x", "x"), ("x" * limits.LETTERS, "x" * limits.LETTERS),
    ("x" * (limits.LETTERS + 1), "x" * limits.LETTERS + CUT), ("é" * 10**6, "é" * limits.LETTERS + CUT),
])
def test_output_is_capped_case_by_case(text, shown, capsys):
    assert printed(printing(text, "", "", ""), capsys) == shown


def test_many_lines_and_every_way_of_writing_are_capped(capsys):
    def answer(X, y):
        for _ in range(2000):
            print("so long")
            sys.stdout.writelines(["a", "b"])
            print("worse", file=sys.stderr, flush=True)
        return right_pair(X, y)

    report_of(answer)
    out, err = capsys.readouterr()
    assert len(out) == 4 * (limits.LETTERS + len(CUT)) and out.startswith("so long\nabworse\n") and err == ""


def test_what_was_printed_before_the_stop_button_is_shown(capsys):
    def answer(X, y):
        print("so far")
        raise KeyboardInterrupt

    out = sys.stdout
    with pytest.raises(KeyboardInterrupt):
        report_of(answer)
    assert capsys.readouterr().out == "so far\n" and sys.stdout is out


# ---------------------------------------------------------------- an answer does not know which case it meets


def counting():
    """Knows the right arrays in their order, and counts its calls."""
    calls = iter([toy_expected(case) for case in TOY.cases])
    return lambda X, y: next(calls)


def test_counting_calls_earns_nothing():
    passed = [report_of(counting()).passed for _ in range(40)]
    assert sum(passed) < 10  # one order of 24 is the declared one


def test_the_order_is_not_the_learners_to_seed():
    random.seed(0)
    np.random.seed(0)
    orders = set()
    for _ in range(20):
        random.seed(0)
        seen = []
        report_of(lambda X, y, seen=seen: (seen.append(place(X)), right_pair(X, y))[1])
        orders.add(tuple(seen))
    assert len(orders) > 3


def test_cases_come_after_those_that_they_need_and_in_every_such_order():
    cases = (TOY.cases[0], replace(TOY.cases[1], needs=("values",)), *TOY.cases[2:])
    orders = {tuple(c.name for c in examine_module._an_order(cases, random.Random(i))) for i in range(400)}
    assert all(o.index("values") < o.index("again") and o.index("values") < o.index("last") for o in orders)
    assert len(orders) == 8  # of 24, those with values before both


def test_the_report_is_in_the_declared_order_and_always_the_same():
    def answer(X, y):
        return (3 * X, y) if place(X) == 2 else right_pair(X, y)

    said = {repr(report_of(answer, order)) for order in range(12)}
    (text,) = said
    names = [line.split()[1] for line in text.splitlines() if line.startswith(("  ok", "  FAIL"))]
    assert names == [case.name for case in TOY.cases]


def test_the_declared_order_would_be_fooled(monkeypatch):
    monkeypatch.setattr(examine_module, "_an_order", lambda cases, rng: list(cases))
    assert report_of(counting()).passed


# ---------------------------------------------------------------- two mistakes at once


PAIRS = {  # an answer with two mistakes, and which
    "in different outputs": (lambda X, y: (3 * X, X.sum(axis=0)), "BC"),
    "a sum": (lambda X, y: (3 * X + np.eye(3, 4), X.sum(axis=0) + y), "AB"),
    "a product": (lambda X, y: (3 * X * np.arange(2, 6), X.sum(axis=0) + y), "BD"),
    "the second shows in one case alone": (
        lambda X, y: (3 * X, X.sum(axis=0) if place(X) == 1 else X.sum(axis=0) + y), "BC"),
}


@pytest.mark.parametrize("name", PAIRS)
def test_two_mistakes_are_both_named(name):
    answer, wanted = PAIRS[name]
    if name == "the second shows in one case alone":  # C would show everywhere: then it is not C
        assert "Two mistakes" not in repr(report_of(answer))
        return
    text = repr(report_of(answer))
    first, second = wanted
    assert text.count(f"Two mistakes together give these numbers. Mistake {first}.  -> section 9.1") == 1
    assert text.count(f"        Mistake {second}.") == 1
    assert text.count("The same two mistakes as in 'values'.") == 2
    assert [o.sure for o in report_of(answer).outcomes] == [True] * 4


SINGLE = {  # an answer, and the one mistake to be named; "" for none
    "right": (right_pair, ""),
    "one": (lambda X, y: (3 * X, X.sum(axis=0) + y), "B"),
    "one that is wrong in both outputs": (lambda X, y: (3 * X, X.mean(axis=0) + y), "E"),
    "numbers of one mistake, where the other output of it is right": (lambda X, y: (2 * X, X.mean(axis=0) + y), ""),
    "something else": (lambda X, y: (np.sin(X), X.sum(axis=0) + y), ""),
    "something else beside a known one": (lambda X, y: (np.sin(X), X.sum(axis=0)), "C"),
    "twice the same": (lambda X, y: (4 * X, X.sum(axis=0) + y), ""),
    "a sum in one case, something else in another": (
        lambda X, y: (3 * X + np.eye(3, 4) if place(X) == 1 else np.cos(X), X.sum(axis=0) + y), ""),
    "both corrections cancel": (lambda X, y: (2 * X, X.sum(axis=0) + y), ""),
}


@pytest.mark.parametrize("name", SINGLE)
def test_two_mistakes_are_named_only_where_it_takes_two(name):
    answer, wanted = SINGLE[name]
    text = repr(report_of(answer))
    assert "Two mistakes" not in text and text.count("Mistake") == bool(wanted) == text.count(f"Mistake {wanted}.")


def found_by(engine):
    """The pairs that an engine names, for each answer above."""
    found = {}
    for name, (answer, _) in (PAIRS | SINGLE).items():
        cases = TOY.cases[:2]
        inputs = [make_inputs(TOY, case) for case in cases]
        mine = [run(answer, i, TOY) for i in inputs]
        theirs = [[run(m.function, i, TOY) for i in inputs] for m in TOY.mutants]
        expected = [toy_expected(case) for case in cases]
        verdicts = [examine_module.judge(TOY, c, r, e) for c, r, e in zip(cases, mine, expected, strict=True)]
        pairs = engine(TOY, cases, mine, theirs, verdicts, expected)
        found[name] = {TOY.mutants[p["mutant"]].name + TOY.mutants[p["second"]].name for p in pairs.values()}
    return found


RIGHT_PAIRS = {name: {wanted} if "alone" not in name else set() for name, (_, wanted) in PAIRS.items()}
RIGHT_PAIRS |= {name: set() for name in SINGLE}


def test_two_mistakes_by_itself():
    assert found_by(two_mistakes) == RIGHT_PAIRS


def one_case_at_a_time(question, cases, mine, theirs, verdicts, expected):
    """As it was: each case by itself, any mutant that fits an output, whatever it does elsewhere."""
    found = {}
    for c in range(len(cases)):
        wrong = [i for i in (0, 1) if not np.allclose(mine[c].arrays[i], expected[c][i])]
        for a in range(len(theirs)):
            for b in range(a):
                fits = [any(np.allclose(mine[c].arrays[i], theirs[m][c].arrays[i]) for m in (a, b)) for i in wrong]
                if wrong and all(fits):
                    found.setdefault(c, {"mutant": b, "second": a})
    return found


def sums_alone(*given):
    return {c: pair for c, pair in two_mistakes(*given).items() if pair != {"mutant": 1, "second": 3}}


def no_two_outputs(*given):
    return {c: pair for c, pair in two_mistakes(*given).items() if pair != {"mutant": 1, "second": 2}}


def any_pair(question, cases, mine, theirs, verdicts, expected):
    return {c: {"mutant": 0, "second": 1} for c, verdict in enumerate(verdicts) if not verdict.ok}


def some_cases_alone(question, cases, mine, theirs, verdicts, expected):
    """Any case that two explain, whatever the answer does in another."""
    found = {}
    for c in range(len(cases)):
        one = (question, cases[c:c + 1], mine[c:c + 1], [row[c:c + 1] for row in theirs], verdicts[c:c + 1])
        if pairs := two_mistakes(*one, expected[c:c + 1]):
            found[c] = pairs[0]
    return found


WRONG_PAIRS = {
    "some cases alone": some_cases_alone,
    "none": lambda *given: {}, "one case at a time": one_case_at_a_time, "sums alone": sums_alone,
    "no two outputs": no_two_outputs, "any": any_pair,
}


@pytest.mark.parametrize("name", WRONG_PAIRS)
def test_a_wrong_search_for_two_mistakes_is_found_out(name):
    assert found_by(WRONG_PAIRS[name]) != RIGHT_PAIRS


def number(x, y):
    """z = x + y."""
    ...


def test_single_numbers_that_agree_by_chance_are_no_two_mistakes():
    question = Question(
        id="99.2", title="A number", stub=number, returns=("z",), minutes=1, hints=("one",),
        cases=(Case("only", lambda rng: {"x": 1.5, "y": 2.0}, "", 1),),
        mutants=tuple(message(n, f) for n, f in [("A", lambda x, y: x), ("B", lambda x, y: x + 2 * y)]),
    )
    report = Report(question, examine(question, lambda x, y: 1.5 + 5.5 - 3.5 + 0.0, lambda case: (np.array(3.5),)))
    assert report.passed
    question = replace(question, mutants=(*question.mutants, message("C", lambda x, y: 5.0)))
    report = Report(question, examine(question, lambda x, y: 3.0, lambda case: (np.array(3.5),)))  # 1.5 + 5.0 - 3.5
    assert "Mistake" not in repr(report)


# ---------------------------------------------------------------- memory on disk


def in_a_process(code, file, wait=True, **more):
    env = os.environ | {"BYHAND_PROGRESS": str(file)} | more
    process = subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    if not wait:
        return process
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out


@pytest.fixture
def progress(tmp_path, monkeypatch):
    file = tmp_path / "there" / "progress.sqlite"
    monkeypatch.setenv("BYHAND_PROGRESS", str(file))
    return file


class Day(datetime.date):
    now = "2026-01-01"

    @classmethod
    def today(cls):
        return cls.fromisoformat(cls.now)


STORY = [  # what is kept day by day, and what is known afterwards
    ("2026-01-01", dict(hints=1), (None, "", 1, 0)),
    ("2026-01-02", dict(points=0, tries=1), (0, "2026-01-02", 1, 1)),
    ("2026-01-03", dict(points=3, tries=1), (3, "2026-01-03", 1, 2)),
    ("2026-01-04", dict(hints=3), (3, "2026-01-03", 3, 2)),
    ("2026-01-05", dict(points=3, tries=1), (3, "2026-01-03", 3, 3)),
    ("2026-01-06", dict(points=1, tries=1), (3, "2026-01-03", 3, 4)),
    ("2026-01-07", dict(hints=2), (3, "2026-01-03", 3, 4)),
    ("2026-01-08", dict(points=4, tries=1), (4, "2026-01-08", 3, 5)),
]


def the_story_is_kept(monkeypatch):
    monkeypatch.setattr(memory.datetime, "date", Day)
    for day, given, known in STORY:
        Day.now = day
        memory.keep("04.1", **given)
        assert memory.recall() == {"04.1": known}
    memory.keep("04.2", hints=1)
    assert memory.recall() == {"04.1": STORY[-1][2], "04.2": (None, "", 1, 0)}


def test_the_story_is_kept_on_disk(progress, monkeypatch):
    the_story_is_kept(monkeypatch)
    assert memory._here == {} and progress.exists()
    told = in_a_process("from byhand.grade import memory; print(tuple(memory.recall()['04.1']))", progress)
    assert told == f"{STORY[-1][2]}\n"


def test_the_story_is_kept_in_this_process(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    the_story_is_kept(monkeypatch)
    assert list(tmp_path.iterdir()) == []


WRONG_MEMORIES = {  # a part of the statement, and a wrong one
    "the last points": ("points = case when {B} then excluded.points else points end", "points = excluded.points"),
    "the last day": ("day = case when {B} then excluded.day else day end", "day = excluded.day"),
    "the day of as many points again": (">", ">="),
    "the first day": ("day = case when {B} then excluded.day else day end", "day = day"),
    "the last hint": ("max(hints, excluded.hints)", "excluded.hints"),
    "tries not counted": ("tries + excluded.tries", "excluded.tries"),
    "nothing is better than no points": ("progress.points is null or ", ""),
    "no points are better than few": ("excluded.points is not null and", "excluded.points is null or"),
}


@pytest.mark.parametrize("name", WRONG_MEMORIES)
def test_a_wrong_memory_is_found_out(name, progress, monkeypatch):
    right, wrong = (part.replace("{B}", memory._BETTER) for part in WRONG_MEMORIES[name])
    assert right in memory._KEEP
    monkeypatch.setattr(memory, "_KEEP", memory._KEEP.replace(right, wrong))
    assert mistakes(the_story_is_kept, monkeypatch)


FIFTY = """
import sys
from byhand.grade import memory
print("ready", flush=True)
sys.stdin.readline()
for i in range(50):
    memory.keep("04.1", points=i % 5, tries=1)
    memory.keep(f"{sys.argv[0]}{i}", hints=1)
"""
READ_THEN_WRITE = """
from byhand.grade import memory
def keep(question, points=None, hints=0, tries=0):
    import time
    old = memory.recall().get(question, memory.Record())
    time.sleep(1e-3)
    with memory._opened(memory.named()) as store:
        new = question, points, hints, old.tries + tries
        store.execute("insert or replace into progress values (?, ?, '', ?, ?)", new)
memory.keep = keep
"""


def two_at_once(file, code):
    """How many of a hundred tries, and of a hundred questions, two processes have kept together."""
    both = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", f"import sys; sys.argv[0] = '{name}'\n{code}"],
                         env=os.environ | {"BYHAND_PROGRESS": str(file)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         text=True)
        for name in "ab"
    ]
    for process in both:
        assert process.stdout.readline() == "ready\n"
    for process in both:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in both:
        process.communicate(timeout=60)
        assert process.returncode == 0
    known = memory.recall()
    return known["04.1"].tries, len(known) - 1


def test_two_processes_at_once_lose_nothing(progress):
    assert two_at_once(progress, FIFTY) == (100, 100) and memory.recall()["04.1"].points == 4


def test_reading_and_then_writing_would_lose_tries(progress):
    assert two_at_once(progress, READ_THEN_WRITE + FIFTY)[0] < 100


def broken(file):
    file.write_bytes(b"this is no database" * 100)


def a_folder(file):
    file.mkdir()


def below_a_file(file):
    file.parent.rmdir()
    file.parent.write_text("in the way", encoding="utf-8")


def an_old_table(file):
    with memory.contextlib.closing(__import__("sqlite3").connect(file)) as store, store:
        store.execute("create table progress (name text, score integer)")
        store.execute("insert into progress values ('04.1', 3)")


@pytest.mark.parametrize("what", [broken, a_folder, below_a_file, an_old_table])
def test_a_file_that_cannot_be_used_is_told_once_and_left_alone(what, progress, capsys):
    progress.parent.mkdir()
    what(progress)
    before = progress.read_bytes() if progress.is_file() else None
    with pytest.warns(UserWarning, match="kept in this session only: .*progress.sqlite cannot be used") as told:
        check("04.2", references_of("04")[Q2.name])
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hint("04.1")
        check("04.2", Q2.mutants[0].function)
        summary("04")
    out = capsys.readouterr().out
    assert f"04.2   {Q2.points:>2} / {Q2.points:>2}" in out and memory.recall()["04.2"].tries == 2
    assert before == (progress.read_bytes() if progress.is_file() else None)


def test_a_file_that_is_read_only_is_read_and_what_is_new_stays_here(progress, monkeypatch):
    import sqlite3

    memory.keep("04.1", points=1, tries=1)
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda file, **more: connect(f"file:{file}?mode=ro", uri=True, **more))
    with pytest.warns(UserWarning, match="readonly"):
        memory.keep("04.1", points=3, tries=1)
    memory.keep("04.2", hints=1)
    known = memory.recall()
    assert known["04.1"][0::3] == (3, 2) and known["04.2"].hints == 1


def test_where_the_file_is(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for value, wanted in [(None, ".byhand/progress.sqlite"), ("", None), ("~/mine/p.db", "mine/p.db")]:
        if value is None:
            monkeypatch.delenv("BYHAND_PROGRESS")
        else:
            monkeypatch.setenv("BYHAND_PROGRESS", value)
        memory.keep("04.1", tries=1)
        found = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()]
        assert found == ([wanted] if wanted else [])
        for path in tmp_path.rglob("*.*"):
            if path.is_file():
                path.unlink()
    monkeypatch.setattr(memory, "_here", {})
    monkeypatch.delenv("BYHAND_PROGRESS")
    assert memory.recall() == {} and not (tmp_path / ".byhand" / "progress.sqlite").exists()  # reading writes nothing


def test_without_a_home_or_sqlite_it_goes_on(monkeypatch, progress):
    monkeypatch.setitem(sys.modules, "sqlite3", None)
    with pytest.warns(UserWarning, match="cannot be used"):
        memory.keep("04.1", tries=1)
    assert memory.recall()["04.1"].tries == 1


# ---------------------------------------------------------------- summary


def test_summary_of_a_set_shows_every_question_its_best_points_and_the_day(progress, capsys, monkeypatch):
    monkeypatch.setattr(memory.datetime, "date", Day)
    Day.now = "2026-02-03"
    first, second, *rest = questions_of("04")
    memory.keep(first.id, points=10**6, tries=1)  # a question that had more points once
    memory.keep(second.id, hints=1)
    summary("04")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{first.id}   {first.points:>2} / {first.points:>2}  2026-02-03  {first.title}"
    assert lines[1] == f"{second.id}    – / {second.points:>2}              {second.title}"
    assert len(lines) == len(rest) + 3
    assert lines[-1] == f"total {first.points} / {first.points + second.points + sum(q.points for q in rest)}"


def test_summary_of_the_course_adds_up(progress, capsys, monkeypatch):
    monkeypatch.setattr(memory.datetime, "date", Day)
    for day, key, points in [("2026-02-03", "04.1", 1), ("2026-02-05", "04.2", 0), ("2026-02-04", "06.1", 1)]:
        Day.now = day
        memory.keep(key, points=points, tries=1)
    memory.keep("04.3", hints=2)  # a hint is not yet begun
    summary()
    lines = capsys.readouterr().out.splitlines()
    most = {set_id: sum(q.points for q in questions_of(set_id)) for set_id in SETS}
    assert len(lines) == len(SETS) + 1 and lines[-1] == f"total 2 / {sum(most.values())}"
    by_set = dict(zip(SETS, lines, strict=False))
    assert by_set["04"] == f"04    1 / {most['04']:>3}   2 of {len(questions_of('04')):>2} begun  2026-02-05  attention"
    assert by_set["06"].startswith(f"06    1 / {most['06']:>3}   1 of ") and "2026-02-04" in by_set["06"]
    assert " 0 of " in by_set["11"] and "2026" not in by_set["11"]


# ---------------------------------------------------------------- solutions


@pytest.fixture
def page(monkeypatch):
    monkeypatch.setattr(solutions_module, "solutions_of", lambda set_id: {"04.2": "Because $x$."})


def opened():
    text = repr(solution("04.2"))
    assert text.startswith(("04.2: the solution opens after", "### 04.2 · "))
    return "Because" in text


def the_door_opens_when_it_should(keep):
    """Closed and open, for every state of a question: points, hints and tries."""
    last, full = len(Q2.hints), Q2.points
    for points in (None, 0, full - 1, full, full + 1):
        for hints in range(last + 1):
            for tries in ((0, 2) if points is None else (2,)):
                memory._here.clear()
                keep(Q2.id, points=points, hints=hints, tries=tries)
                assert opened() == ((points or 0) >= full or (hints == last and tries > 0)), (points, hints, tries)


def test_solution_opens_after_full_marks_or_all_hints_and_a_try(page):
    the_door_opens_when_it_should(memory.keep)


WRONG_DOORS = {
    "always open": lambda q, record: True,
    "full marks alone": lambda q, record: (record.points or 0) >= q.points,
    "all hints, no try": lambda q, record: (record.points or 0) >= q.points or record.hints >= len(q.hints),
    "a try, some hints": lambda q, record: (record.points or 0) >= q.points or bool(record.hints and record.tries),
    "any points": lambda q, record: bool(record.points) or bool(record.hints >= len(q.hints) and record.tries),
}


@pytest.mark.parametrize("name", WRONG_DOORS)
def test_a_wrong_door_is_found_out(name, page, monkeypatch):
    def door(key):
        record = memory.recall().get(key, memory.Record())
        return learner.worked(learner.find(key)) if WRONG_DOORS[name](learner.find(key), record) else closed

    closed = solution("04.2")
    monkeypatch.setitem(globals(), "solution", door)
    assert mistakes(the_door_opens_when_it_should, memory.keep)


def test_a_closed_door_says_what_is_missing(page):
    last = len(Q2.hints)
    opens = "04.2: the solution opens after full marks, or after all hints and a try of your own; "
    assert repr(solution("04.2")) == (
        f"{opens}{last} of {last} hints are not read yet, and no answer of yours was checked yet.")
    memory.keep("04.2", hints=last - 1, tries=1)
    assert repr(solution(Q2.name)) == f"{opens}1 of {last} hints is not read yet."
    memory._here.clear()
    memory.keep("04.2", hints=last)
    assert repr(solution("04.2")) == f"{opens}no answer of yours was checked yet."


def test_not_attempted_and_forbidden_answers_are_no_tries(monkeypatch):
    check("04.2", lambda *given: None)
    check("04.2")
    monkeypatch.setattr(learner, "forbidden", lambda found, question: ("diag",))
    check("04.2", references_of("04")[Q2.name])
    assert "04.2" not in memory.recall()


def test_a_copy_without_solutions_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(solutions_module, "_HERE", tmp_path)
    monkeypatch.setattr(solutions_module, "solutions_of", solutions_module.solutions_of.__wrapped__)
    memory.keep("04.2", points=10**6, tries=1)
    assert repr(solution("04.2")) == (
        "04.2: this copy of the course has no worked solutions; whoever gave it to you has them.")


def test_a_solution_is_markdown_in_a_notebook_and_text_at_a_prompt(page):
    memory.keep("04.2", points=10**6, tries=1)
    shown = solution("04.2")
    assert shown._repr_markdown_() == repr(shown) == f"### 04.2 · {Q2.title}\n\nBecause $x$.\n"


def test_records_are_taken_from_another_process(monkeypatch):
    """As a page in a browser does: what it kept goes in, the better of two records stays."""
    memory.keep("04.1", points=2, hints=1, tries=1)
    kept = {question: list(record) for question, record in memory.recall().items()}
    monkeypatch.setattr(memory, "_here", {})
    memory.keep("04.1", points=1, tries=1)
    memory.take(kept | {"04.2": [None, "", 3, 0]})
    assert memory.recall()["04.1"][:1] + memory.recall()["04.1"][2:] == (2, 1, 2)
    assert memory.recall()["04.2"] == memory.Record(hints=3)


# ---------------------------------------------------------------- the learner's own draws


def reseeds(answer, inputs):
    import torch

    torch.manual_seed(0)
    return call_of_09_10(answer, inputs)


def call_of_09_10(answer, inputs):
    from byhand.grade.sets.s09_block.cases import call_module

    return call_module(answer, inputs)


def test_a_module_is_used_without_a_draw_from_the_global_generator():
    """Set 9 seeds torch for the dropout of the answer; what the learner draws afterwards must not follow from it."""
    torch = pytest.importorskip("torch")
    question = next(q for q in questions_of("09") if q.id == "09.10")
    inputs = {name: torch.as_tensor(x) if hasattr(x, "shape") else x
              for name, x in make_inputs(question, question.cases[0]).items()}

    def leaves_the_state(call):
        torch.manual_seed(5)
        before = torch.get_rng_state()
        call(references_of("09")["make_gated_layer"], inputs)
        assert torch.equal(before, torch.get_rng_state())

    leaves_the_state(call_of_09_10)
    assert mistakes(leaves_the_state, reseeds)
