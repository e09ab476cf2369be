"""One-sided exchanges on a separate thread, overlapping the rank's computation."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from hooke.comm.mpi.progress import SWITCH_INTERVAL
from hooke.comm.mpi.wait import sleep_precisely


class BackgroundThread:
    """The thread of one window; it starts with the first exchange and ends with `close`."""

    def __init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None

    def begin(self, exchange: Callable[[], None]) -> BackgroundExchange:
        """Queue an exchange; exchanges run in the order queued."""
        if self._thread is None:
            sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_INTERVAL))
            self._thread = ThreadPoolExecutor(1, "window", initializer=sleep_precisely)
        return BackgroundExchange(self._thread, exchange)

    def close(self) -> None:
        """End the thread when all queued exchanges are done."""
        if self._thread is not None:
            self._thread.shutdown()
            self._thread = None


class BackgroundExchange:
    """An exchange executed by that thread; a `Pending`."""

    def __init__(self, thread: ThreadPoolExecutor, exchange: Callable[[], None]) -> None:
        self.hidden = 0.0
        self._posted = time.perf_counter()
        self._waited = False
        self._done: Future[float] = thread.submit(_timed, exchange)

    def wait(self) -> None:
        """Return when the answer has been added; raise the exception of the exchange, if any."""
        entered = time.perf_counter()
        completed = self._done.result()
        if not self._waited:
            self._waited = True
            self.hidden = max(0.0, min(completed, entered) - self._posted)


def _timed(exchange: Callable[[], None]) -> float:
    exchange()
    return time.perf_counter()
