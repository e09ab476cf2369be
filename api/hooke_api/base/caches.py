"""Caches with one limit: what all caches of a process hold together is bounded, whatever is asked of which."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar, cast

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MIB = 1024 * 1024


class Budget:
    """The bytes that some caches may hold together; what was used longest ago goes first, whichever has it.

    The newest entry stays even if it alone is larger: a single large run would be read anew by every request. May
    be used from several threads.
    """

    def __init__(self, limit: int) -> None:
        """`limit`: bytes."""
        self._limit = limit
        self._entries: OrderedDict[tuple[int, Hashable], tuple[object, int]] = OrderedDict()
        """Number of the cache, key in it -> value, bytes."""
        self._held = 0
        self._of: Counter[int] = Counter()
        """Number of a cache -> bytes of its entries."""
        self._caches = 0
        self._lock = threading.Lock()

    @property
    def held(self) -> int:
        """Return the bytes of all entries."""
        return self._held

    def register(self) -> int:
        """Return the number of a new cache."""
        with self._lock:
            self._caches += 1
            return self._caches

    def get(self, cache: int, key: Hashable) -> object | None:
        """Return a value that is held, or None."""
        with self._lock:
            found = self._entries.get((cache, key))
            if found is None:
                return None
            self._entries.move_to_end((cache, key))
            return found[0]

    def put(self, cache: int, key: Hashable, value: object, size: int, most: int | None = None) -> None:
        """Hold a value of `size` bytes, in place of another one with its key; let go what is too much.

        `most`: bytes that this cache may hold of those of all.
        """
        with self._lock:
            self._remove((cache, key))
            self._entries[cache, key] = value, size
            self._held += size
            self._of[cache] += size
            while most is not None and self._of[cache] > most and self._of[cache] > size:
                self._remove(next(place for place in self._entries if place[0] == cache))
            while self._held > self._limit and len(self._entries) > 1:
                self._remove(next(iter(self._entries)))

    def drop(self, cache: int, unwanted: Callable[[Hashable], bool]) -> None:
        """Let go the values of a cache whose keys are not wanted."""
        with self._lock:
            for place in [place for place in self._entries if place[0] == cache and unwanted(place[1])]:
                self._remove(place)

    def _remove(self, place: tuple[int, Hashable]) -> None:
        found = self._entries.pop(place, None)
        if found is not None:
            self._held -= found[1]
            self._of[place[0]] -= found[1]


class Cache(Generic[K, V]):
    """One of the caches of a budget."""

    def __init__(self, budget: Budget, size: Callable[[V], int], most: int | None = None) -> None:
        """`size`: bytes of a value. `most`: bytes that it may hold of those of all caches; None: all of them."""
        self._budget, self._size, self._most = budget, size, most
        self._number = budget.register()

    def get(self, key: K) -> V | None:
        """Return the value of a key, or None."""
        return cast("V | None", self._budget.get(self._number, key))

    def put(self, key: K, value: V) -> None:
        """Keep a value; values are shared between threads, so nobody changes them."""
        self._budget.put(self._number, key, value, self._size(value), self._most)

    def drop(self, unwanted: Callable[[K], bool]) -> None:
        """Forget the values whose keys are not wanted."""
        self._budget.drop(self._number, cast("Callable[[Hashable], bool]", unwanted))
