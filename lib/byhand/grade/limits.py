"""Limits of time and of output for an answer that runs in the learner's own process.

They keep an endless loop from taking the notebook with it.  They are no wall against an answer that means harm.
"""

import _thread
import contextlib
import ctypes
import io
import math
import signal
import sys
import threading
import time

LETTERS = 10_000  # an answer may print this many in one case
AGAIN, OFTEN = 0.2, 1e-4  # seconds until an answer that swallowed the exception meets the next; halved down to OFTEN
IMPORTING = 120.0  # seconds that imports may take besides: PyTorch loads parts of itself when they are first used

# Bound now: an answer that patches time.sleep or signal.setitimer later changes nothing here.
_now, _sleep = time.monotonic, time.sleep
_arm, _set = getattr(signal, "setitimer", None), signal.signal


class TimeUp(BaseException):
    """Raised in an answer that runs too long; not an Exception, so that `except Exception` does not catch it."""


@contextlib.contextmanager
def time_limit(seconds):
    """Raise TimeUp in the calling thread after so many seconds, and again until it leaves.

    In the main thread of a system with interval timers by a signal, which also ends a sleep; elsewhere by an
    exception that Python delivers before its next instruction; in a browser, which has neither timers nor threads, by
    a look at the clock before each line, once only.
    """
    main = threading.current_thread() is threading.main_thread()
    alone = sys.platform in ("wasi", "emscripten")
    with (_by_tracing if alone else _by_signal if main and _arm else _by_exception)(seconds):
        yield


class _Imports:
    """Is a module being loaded?  To stop in its middle would leave half a module behind, and where the disk is slow
    the time is not the answer's."""

    def __init__(self, seconds):
        self.before, self.seconds, self.end = self._count(sys._getframe()), seconds, _now() + IMPORTING
        self.met = False

    def _count(self, frame):
        count = 0
        while frame is not None:
            count += frame.f_code.co_filename.startswith("<frozen importlib")
            frame = frame.f_back
        return count

    def wait(self, frame):
        """How long to wait before the answer is stopped; 0 for no longer.  After an import it has its time anew."""
        if _now() < self.end and self._count(frame) > self.before:
            self.met = True
            return AGAIN
        met, self.met = self.met, False
        return self.seconds if met else 0


@contextlib.contextmanager
def _by_signal(seconds):
    wait, over, imports = AGAIN, False, _Imports(seconds)

    def stop(number, frame):
        nonlocal wait
        if over:  # it struck just before the timer was taken away: to wind that up again would end the process later
            return
        if longer := imports.wait(frame):
            _arm(signal.ITIMER_REAL, longer)
            return
        _arm(signal.ITIMER_REAL, wait)
        wait = max(wait / 2, OFTEN)
        if frame is None or frame.f_code.co_filename not in _ON_THE_WAY_OUT:
            raise TimeUp

    start = _now()
    left, interval = _arm(signal.ITIMER_REAL, 0)  # of a limit around this one: the nearer end counts
    before = _set(signal.SIGALRM, stop)
    try:
        _arm(signal.ITIMER_REAL, min(seconds, left or math.inf))
        yield
    finally:
        over = True
        _arm(signal.ITIMER_REAL, 0)
        _set(signal.SIGALRM, signal.SIG_DFL if before is None else before)
        if left:
            _arm(signal.ITIMER_REAL, max(left - (_now() - start), 1e-6), interval)


@contextlib.contextmanager
def _by_exception(seconds):
    # Bare locks: a call of threading's own code, written in Python, could be interrupted in its middle.
    thread, bell, working = threading.get_ident(), _thread.allocate_lock(), _thread.allocate_lock()
    imports = _Imports(seconds)

    def send(error):
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), error)

    def watch():
        wait, then = seconds, AGAIN
        while not bell.acquire(timeout=wait):
            frame = sys._current_frames().get(thread)
            if longer := imports.wait(frame):
                wait = longer
                continue
            if frame and frame.f_code.co_filename not in _ON_THE_WAY_OUT:
                send(ctypes.py_object(TimeUp))
            wait, then = then, max(then / 2, OFTEN)
        working.release()

    bell.acquire()
    working.acquire()
    _thread.start_new_thread(watch, ())
    try:
        yield
    finally:
        over = False
        while True:  # one that is delivered here all the same must not leave the watcher at work
            try:
                if bell.locked():
                    bell.release()
                while working.locked():
                    _sleep(OFTEN)
                # The last one is met here, also in place of one under way. To take that back (with NULL) leaves
                # Python 3.11 looking for it for ever: at every jump, and a function under sys.settrace never begins.
                over = True
                send(ctypes.py_object(TimeUp))
                while True:
                    _sleep(OFTEN)
            except TimeUp:
                if over:
                    break


@contextlib.contextmanager
def _by_tracing(seconds):
    end, before, imports = _now() + seconds, sys.gettrace(), _Imports(seconds)

    def look(frame, event, arg):
        nonlocal end
        if _now() > end and frame.f_code.co_filename not in _ON_THE_WAY_OUT:
            if not (longer := imports.wait(frame)):
                raise TimeUp
            end = _now() + longer
        return look

    sys.settrace(look)
    try:
        yield
    finally:
        sys.settrace(before)


_ON_THE_WAY_OUT = tuple(f.__code__.co_filename for f in (contextlib.contextmanager, time_limit.__wrapped__))


class Heard:
    """What answers print, case by case: `print` goes here while a case runs, and `say` gives it to the notebook."""

    def __init__(self, letters=LETTERS):
        self.letters, self.texts = letters, {}

    @contextlib.contextmanager
    def case(self, name):
        sink = self.texts[name] = _Sink(self.letters)
        with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
            yield

    def say(self, names):
        for sink in (self.texts[name] for name in names if name in self.texts):
            sys.stdout.write("".join(sink.parts))
            if sink.left < 0:
                most = f"an answer may print {self.letters:,} letters in one case"
                sys.stdout.write(f"\n… {most}; the rest is left out\n")


class _Sink(io.TextIOBase):
    def __init__(self, letters):
        self.left, self.parts = letters, []

    def writable(self):
        return True

    def write(self, text):
        if self.left > 0:
            self.parts.append(str(text[: self.left]))
        self.left -= len(text)
        return len(text)
