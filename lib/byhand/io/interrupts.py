"""Ctrl-C that comes at a bad moment waits for a better one."""

import signal
import threading


class InterruptsHeld:
    """with InterruptsHeld(): … Ctrl-C inside waits until the end, so that what belongs together happens together."""

    def __enter__(self):
        self.came, self.before = [], None
        if threading.current_thread() is threading.main_thread():  # interrupts arrive nowhere else
            self.before = signal.getsignal(signal.SIGINT)
        if self.before is not None:
            signal.signal(signal.SIGINT, lambda *_: self.came.append(True))

    def __exit__(self, *_):
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)
        if self.came:
            signal.raise_signal(signal.SIGINT)
