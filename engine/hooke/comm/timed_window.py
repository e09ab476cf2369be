"""One-sided operations whose time is charged."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from hooke.comm.base import Counter, Vector, Window

Charged = Callable[[], AbstractContextManager[None]]


class TimedWindow:
    """Charges the time inside every operation of a window."""

    def __init__(self, inner: Window, charged: Charged) -> None:
        self.shared = inner.shared
        self._inner = inner
        self._charged = charged

    def get(self, into: Vector) -> None:
        """Copy the vector as it is found, element by element."""
        with self._charged():
            self._inner.get(into)

    def accumulate(self, delta: Vector) -> None:
        """Add delta, each element atomically."""
        with self._charged():
            self._inner.accumulate(delta)

    def add(self, delta: Vector, alpha: float = 1) -> None:
        """Add alpha * delta by plain loads and stores."""
        with self._charged():
            self._inner.add(delta, alpha)

    def put(self, x: Vector) -> None:
        """Overwrite the vector."""
        with self._charged():
            self._inner.put(x)

    def close(self) -> None:
        """Free it; collective."""
        with self._charged():
            self._inner.close()


class TimedCounter:
    """Charges the time inside every operation of a counter."""

    def __init__(self, inner: Counter, charged: Charged) -> None:
        self._inner = inner
        self._charged = charged

    def take(self, amount: int = 1) -> int:
        """Add to it, atomically; return what it was before."""
        with self._charged():
            return self._inner.take(amount)

    def close(self) -> None:
        """Free it; collective."""
        with self._charged():
            self._inner.close()
