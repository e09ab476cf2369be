"""Turns of writers: a bounded queue before the database's own locks.

Requests are handled by a limited number of threads. If each of them waited for a lock in the database, no thread
would be left for requests that only read; so only some may wait, and not for long.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from hooke_api.base.errors import Unavailable


class Turns:
    """First come, first served, for `at_once` writers at a time; at most `waiting` others wait."""

    def __init__(self, at_once: int, waiting: int, seconds: float) -> None:
        self._free = at_once
        self._most = waiting
        self._seconds = seconds
        self._queue: deque[threading.Event] = deque()
        self._lock = threading.Lock()

    @contextmanager
    def take(self) -> Iterator[None]:
        """Wait for a turn, and end it with the block. Raises Unavailable if too many wait, or after `seconds`."""
        self._wait()
        try:
            yield
        finally:
            with self._lock:
                if self._queue:
                    self._queue.popleft().set()  # the turn passes on
                else:
                    self._free += 1

    def _wait(self) -> None:
        called = threading.Event()
        with self._lock:
            if self._free:
                self._free -= 1
                return
            if len(self._queue) >= self._most:
                raise Unavailable(f"{self._most} requests wait to write already; try again")
            self._queue.append(called)
        began = time.monotonic()
        if called.wait(self._seconds):
            return
        with self._lock:
            if called.is_set():  # in the meantime
                return
            self._queue.remove(called)
        waited = time.monotonic() - began
        raise Unavailable(f"the database was busy with other writers for {waited:.0f} s; try again")
