"""Limits of time and of output for an answer that runs in the learner's own process.

They keep an endless loop from taking the notebook with it.  They are no wall against an answer that means harm.
"""

import contextlib
import ctypes
import signal
import sys
import threading

LETTERS = 20_000  # an answer may print this many in one check
AGAIN = 0.2  # seconds until an answer that swallowed the exception meets the next one


class TimeUp(BaseException):
    """Raised in an answer that runs too long; not an Exception, so that `except Exception` does not catch it."""


@contextlib.contextmanager
def time_limit(seconds):
    """Raise TimeUp in the calling thread after so many seconds, and again until it leaves.

    In the main thread of a system with interval timers by a signal, which also ends a sleep; elsewhere by an
    exception that Python delivers before its next instruction.
    """
    main = threading.current_thread() is threading.main_thread()
    with (_by_signal if main and hasattr(signal, "setitimer") else _by_exception)(seconds):
        yield


@contextlib.contextmanager
def _by_signal(seconds):
    def stop(number, frame):
        raise TimeUp

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _by_exception(seconds):
    thread, left = ctypes.c_ulong(threading.get_ident()), threading.Event()
    lock = threading.Lock()

    def watch():
        wait = seconds
        while not left.wait(wait):
            with lock:
                if not left.is_set():
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(TimeUp))
            wait = AGAIN

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        with lock:
            left.set()
            ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, None)  # one that is under way
        watcher.join()


class Capped:
    """A stream that passes on a number of letters, says so, and drops the rest."""

    def __init__(self, stream, letters=LETTERS):
        self.stream, self.left = stream, letters

    def write(self, text):
        if self.left > 0:
            self.stream.write(text[: self.left])
            if len(text) >= self.left:
                self.stream.write(f"\n… an answer may print {LETTERS:,} letters in one check; the rest is left out\n")
        self.left -= len(text)
        return len(text)

    def __getattr__(self, name):
        return getattr(self.stream, name)


@contextlib.contextmanager
def capped_output():
    with contextlib.redirect_stdout(Capped(sys.stdout)), contextlib.redirect_stderr(Capped(sys.stderr)):
        yield
