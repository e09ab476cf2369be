"""One-sided operations whose time is charged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hooke.comm.base import Counter, Pending, Vector, Window
from hooke.comm.wrappers.charge import Charged
from hooke.comm.wrappers.timed_pending import TimedPending


class TimedWindow:
    """Charges the time inside every operation of a window."""

    def __init__(self, inner: Window, timed: Charged, owner: int) -> None:
        self.shared = inner.shared
        self._inner = inner
        self._timed = timed
        self._charged = timed.charged
        self._owner = owner

    def get(self, into: Vector, at: Any = None) -> None:
        """Copy the vector element by element, without synchronization."""
        with self._charged("window get", self._owner, into):
            self._inner.get(into, at)

    def accumulate(self, delta: Vector, at: Any = None) -> None:
        """Add delta, each element atomically."""
        with self._charged("window accumulate", self._owner, delta):
            self._inner.accumulate(delta, at)

    def add(self, delta: Vector, alpha: float = 1, at: Any = None) -> None:
        """Add alpha * delta by plain loads and stores."""
        with self._charged("window add", self._owner, delta):
            self._inner.add(delta, alpha, at)

    def iexchange(
        self, into: Vector, answer: Callable[[], Vector], alpha: float | None = None, at: Any = None
    ) -> Pending:
        """Begin to read the vector, and to add the result of `answer`, in the background."""
        with self._charged("begin window exchange", self._owner, into):
            pending = self._inner.iexchange(into, answer, alpha, at)
        return TimedPending(pending, self._timed, "window exchange", self._owner, into)

    def put(self, x: Vector) -> None:
        """Overwrite the vector."""
        with self._charged("window put", self._owner, x):
            self._inner.put(x)

    def close(self) -> None:
        """Free it; collective."""
        with self._charged("close window"):
            self._inner.close()


class TimedCounter:
    """Charges the time inside every operation of a counter."""

    def __init__(self, inner: Counter, timed: Charged) -> None:
        self._inner = inner
        self._charged = timed.charged

    def take(self, amount: int = 1) -> int:
        """Add `amount` atomically; return the previous value."""
        with self._charged("counter take", 0):
            return self._inner.take(amount)

    def close(self) -> None:
        """Free it; collective."""
        with self._charged("close counter"):
            self._inner.close()
