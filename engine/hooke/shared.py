"""A center without locks: a window that counts what is pushed into it, and finds out how much was lost."""

from __future__ import annotations

from typing import Literal

from hooke.comm.base import Vector, Window

Updates = Literal["plain", "atomic", "auto"]
"""Plain loads and stores in shared memory, element-wise atomic additions, or plain wherever memory is shared."""


class Shared:
    """What `Rank.shared` returns: the vector of a lock-free method.

    `read` may see elements of different ages. `add` in plain mode may lose what others store meanwhile; in
    atomic mode nothing is lost.
    """

    def __init__(self, window: Window, scratch: Vector, updates: Updates) -> None:
        self._window = window
        self._scratch = scratch
        self.plain = window.shared and updates != "atomic"

    def read(self, into: Vector) -> None:
        """Copy the vector as it is found."""
        self._window.get(into)

    def add(self, delta: Vector, alpha: float = 1.0) -> None:
        """Add alpha * delta."""
        if self.plain:
            self._window.add(delta, alpha)
        else:
            self._window.accumulate(self._scratch.copy_(delta).mul_(alpha))
