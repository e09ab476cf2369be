"""Ends this process when its event loop stands still, and says where every thread is.

A thread looks for the signs of life of the loop. Time in which it does not run itself is not counted: the process
was stopped (SIGSTOP, a paused container) or the machine was, and nothing hangs. Code that holds the interpreter
keeps this thread from looking, too, but uses the processor: a timer of the kernel, of processor time, which does
not go on while the process is stopped, then ends the process without any line of Python.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import threading
import time
from datetime import timedelta

LOOK_SECONDS = 1.0
"""Interval between two looks, s; a quarter of the time after which the process ends, if that is less."""
_STDERR = 2


class Watchdog(threading.Thread):
    """The thread; it watches from its start to `end`."""

    def __init__(self, seconds: float) -> None:
        """`seconds`: without a sign of life, after which the process ends with status 1, or by SIGPROF."""
        super().__init__(name="watchdog", daemon=True)
        self._seconds = seconds
        self._pause = min(LOOK_SECONDS, seconds / 4)
        self._beaten = True
        self._ended = False
        """No `threading.Event`: its lock would be that of the code which a signal interrupts."""

    def beat(self) -> None:
        """Give a sign of life."""
        self._beaten = True

    def end(self) -> None:
        """End watching. May be called by a handler of a signal."""
        self._ended = True

    def run(self) -> None:
        """Watch until it is ended."""
        faulthandler.register(signal.SIGPROF, all_threads=True, chain=True)  # writes without the interpreter
        quiet, last = 0.0, time.monotonic()
        try:
            while quiet <= self._seconds:
                signal.setitimer(signal.ITIMER_PROF, self._seconds)
                time.sleep(self._pause)
                if self._ended:
                    return
                now = time.monotonic()
                quiet = 0.0 if self._beaten else quiet + min(now - last, 2 * self._pause)
                self._beaten, last = False, now
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        os.write(_STDERR, f"Timeout ({timedelta(seconds=self._seconds)})!\n".encode())  # no lock of a file
        faulthandler.dump_traceback(_STDERR)
        os._exit(1)
