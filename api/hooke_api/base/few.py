"""Answers of which a process sends few at a time: each holds much for as long as its client takes to read it.

A client may read a few bytes a minute, and ask as often as it likes.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from threading import BoundedSemaphore
from typing import Generic, TypeVar

from hooke_api.base.errors import Unavailable

T = TypeVar("T")


class Few:
    """The answers of a kind that are being sent."""

    def __init__(self, most: int, what: str) -> None:
        """`what`: they are, for the sentence."""
        self.most, self._what = most, what
        self._free = BoundedSemaphore(most)

    def sent(self, make: Callable[[], Iterator[T]]) -> Iterator[T]:
        """Return the parts that `make` returns. Raises Unavailable if too many are being sent, and what it raises.

        One counts until its last part was asked for, or nobody holds it any more, as after its client has gone.
        """
        if not self._free.acquire(blocking=False):
            raise Unavailable(f"{self.most} {self._what} are being sent: try again later", seconds=10)
        return _Counted(make, self._free)


class _Counted(Iterator[T], Generic[T]):
    def __init__(self, make: Callable[[], Iterator[T]], free: BoundedSemaphore) -> None:
        self._end = weakref.finalize(self, free.release)  # runs once
        try:
            self._parts = make()
        except BaseException:
            self._end()
            raise

    def __next__(self) -> T:
        try:
            return next(self._parts)
        except BaseException:
            self._end()
            raise
