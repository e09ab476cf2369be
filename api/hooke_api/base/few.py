"""Answers of which a process sends few at a time: each holds much for as long as its client takes to read it.

A client may read a few bytes a minute, and ask as often as it likes.
"""

from __future__ import annotations

import gc
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from hooke_api.base.errors import Unavailable

T = TypeVar("T")
COLLECT_SECONDS = 5.0
"""Least time between two collections of garbage, s: all threads wait for one."""


class Few:
    """The answers of a kind that are being sent."""

    def __init__(self, most: int, what: str) -> None:
        """`what`: they are, for the sentence."""
        self.most, self._what = most, what
        self._free = deque([None] * most)  # no semaphore: the collector may let go of an answer within its lock
        self._collected = -COLLECT_SECONDS

    def sent(self, make: Callable[[], Iterator[T]]) -> Iterator[T]:
        """Return the parts that `make` returns. Raises Unavailable if too many are being sent, and what it raises.

        One counts until its last part was asked for, or nobody holds it any more, as after its client has gone.
        """
        if not (self._take() or (self._collect() and self._take())):
            raise Unavailable(f"{self.most} {self._what} are being sent: try again later", seconds=10)
        return _Counted(make, self._free)

    def _take(self) -> bool:
        try:
            self._free.pop()
        except IndexError:
            return False
        return True

    def _collect(self) -> bool:
        """Let go of answers whose clients have gone, which are garbage; return False if that was done lately."""
        at = time.monotonic()
        if at - self._collected < COLLECT_SECONDS:
            return False
        self._collected = at
        gc.collect()
        return True


class _Counted(Iterator[T], Generic[T]):
    def __init__(self, make: Callable[[], Iterator[T]], free: deque[None]) -> None:
        self._end = weakref.finalize(self, free.append, None)  # runs once
        try:
            self._parts = make()
        except BaseException:  # whatever it is, it is raised again, and nothing is sent
            self._end()
            raise

    def __next__(self) -> T:
        try:
            return next(self._parts)
        except BaseException:  # its regular end, StopIteration, or a fault: both are raised again
            self._end()
            raise
