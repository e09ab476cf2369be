"""How a server merges an update that began at an older center: added to it, or over what others did meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from hooke.catalogue.rank import Rank
    from hooke.comm.base import Vector


class Replicas:
    """The center c of a method whose workers push u, the weighted sum of their gradients since they were given c.

    c' = c - lr u (delta merge). For workers in `over` the center is overwritten with their replica instead:
    c' = c_i - lr u, where c_i is the center that worker i was given, so that c - c_i, what others have done since,
    is undone. The sum m of all that was undone is kept, so that, but for rounding,

        final c - initial c = - lr sum of u - m.

    `over` empty: no vector is kept. Else one per such worker, part of checkpoints, and m, which begins at 0 again
    after a restart.
    """

    def __init__(self, r: Rank, rate: float, over: Collection[int]) -> None:
        self._rate = rate
        self._given = {i: r.state(f"given to {i}") for i in over}
        self._undone = r.buffer(r.params) if over else None
        self._mass = 0.0
        if over:
            r.report_lost(self.norms)

    def given(self, c: Vector, worker: int) -> Vector:
        """Take note that a worker is given the center, and return it."""
        if worker in self._given:
            self._given[worker].copy_(c)
        return c

    def merge(self, c: Vector, u: Vector, worker: int) -> None:
        """Apply what a worker pushed."""
        if self._undone is not None:
            self._mass += self._rate * _l1(u)
        if self._undone is not None and worker in self._given:
            self._undone.add_(c).sub_(self._given[worker])
            c.copy_(self._given[worker])
        c.add_(u, alpha=-self._rate)

    def norms(self) -> tuple[float, float]:
        """Return the L1 norms of m and of all updates, the latter summed; since the latest restart."""
        return (0.0 if self._undone is None else _l1(self._undone)), self._mass


def _l1(vector: Vector) -> float:
    import numpy as np  # not at the top: a method's parameters are read without NumPy

    from hooke.comm.elements import host

    return float(np.abs(host(vector)).sum(dtype=np.float64))
