"""Waiting for MPI without holding a core that somebody else needs.

MPI's own blocking calls poll for ever. Here a wait polls for a moment, because most messages between ranks
that are in step arrive within it, then sleeps between polls. Where ranks outnumber cores it gives the core
away between polls: the message cannot come before its sender runs.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable

from mpi4py import MPI

from hooke.errors import CommError
from hooke.hardware.affinity import allowed

_PR_SET_TIMERSLACK = 29
_SPIN = 100e-6
_SHORTEST_SLEEP = 20e-6
_LONGEST_SLEEP = 1e-3


class Patience:
    """How the threads of this process wait; made collectively, for it counts the ranks on this host."""

    def __init__(self, world: MPI.Intracomm) -> None:
        node = world.Split_type(MPI.COMM_TYPE_SHARED)
        self.ranks_on_this_host: int = node.Get_size()
        node.Free()
        self.crowded = self.ranks_on_this_host > len(allowed())

    def backoff(self) -> Backoff:
        """Return what to do between the polls of one wait."""
        return Backoff(self.crowded)

    def until(self, done: Callable[[], bool]) -> None:
        """Return when `done()` is true; an error of MPI becomes a CommError."""
        try:
            if done():
                return
            backoff = self.backoff()
            while not done():
                backoff.rest()
        except MPI.Exception as error:
            raise CommError(f"MPI reports: {error}") from error


class Backoff:
    """Rests between polls: none for 100 microseconds, then sleeps of a twentieth of the time waited so far.

    So a sleep prolongs no wait by more than 5 %, and a long wait costs next to nothing (1 ms at most).
    """

    def __init__(self, crowded: bool) -> None:
        self._crowded = crowded
        self.reset()

    def reset(self) -> None:
        """Begin again: something has moved."""
        self._began = time.perf_counter()

    def rest(self) -> None:
        """Let some time pass, or none."""
        waited = time.perf_counter() - self._began
        if waited > _SPIN:
            time.sleep(min(max(waited / 20, _SHORTEST_SLEEP), _LONGEST_SLEEP))
        elif self._crowded:
            os.sched_yield()


def sleep_precisely() -> None:
    """Let the calling thread wake within a microsecond of the time asked for; Linux rounds up by 50 otherwise."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1000, 0, 0, 0)
    except (OSError, AttributeError):
        return  # not Linux: sleeps are a little longer, nothing else changes
