"""Work that several requests ask for at the same moment, done once for all of them.

Work in progress has read its data before a later request came, so that request must not get its result: an event
that it follows may be missing there. It waits for the next time, which begins when the present one has ended, and
whoever else comes meanwhile waits with it. So of any number of requests at most two are worked for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")


class Shared(Generic[T]):
    """What is being worked out, by key. May be used from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next: dict[Hashable, Future[T]] = {}
        """Of keys: what has not begun, and others may still wait for."""
        self._turns: dict[Hashable, tuple[threading.Lock, int]] = {}
        """Of keys: who works at present, and the number of those that do or are about to."""

    def get(self, key: Hashable, work: Callable[[], T]) -> T:
        """Return what `work` returns, begun after this call; of calls with the same key one may do it for others.

        Raises what it raises, for each of them.
        """
        with self._lock:
            others = self._next.get(key)
            mine: Future[T] = Future()
            if others is None:
                self._next[key] = mine
        if others is not None:
            return others.result()
        with self._turn(key):
            with self._lock:
                del self._next[key]  # who comes from now on is too late for it
            try:
                mine.set_result(work())
            except BaseException as error:
                mine.set_exception(error)
        return mine.result()

    @contextmanager
    def _turn(self, key: Hashable) -> Iterator[None]:
        """Wait until nobody else works for a key."""
        with self._lock:
            turn, number = self._turns.get(key, (threading.Lock(), 0))
            self._turns[key] = turn, number + 1
        try:
            with turn:
                yield
        finally:
            with self._lock:
                turn, number = self._turns.pop(key)
                if number > 1:
                    self._turns[key] = turn, number - 1
