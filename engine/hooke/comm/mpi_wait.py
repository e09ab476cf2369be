"""Waiting for MPI without holding a core that somebody else needs.

MPI's own blocking calls poll for ever. Here a wait spins for a moment, because most messages between ranks
that are in step arrive within it, then sleeps between polls. Where ranks outnumber cores it yields from the
start: the message cannot come before its sender gets a core.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable

from mpi4py import MPI

_PR_SET_TIMERSLACK = 29
_SHORTEST_SLEEP = 20e-6
_LONGEST_SLEEP = 100e-6


class Patience:
    """How a thread of this process waits; `spin` is the time it polls before it begins to sleep, in seconds."""

    def __init__(self, world: MPI.Intracomm) -> None:
        node = world.Split_type(MPI.COMM_TYPE_SHARED)
        self.ranks_on_this_host: int = node.Get_size()
        node.Free()
        self.oversubscribed = self.ranks_on_this_host > len(os.sched_getaffinity(0))
        self.spin = 0.0 if self.oversubscribed else 100e-6

    def until(self, done: Callable[[], bool]) -> None:
        """Return when `done()` is true: poll, then sleep between polls for 20 to 100 microseconds."""
        if done():
            return
        end = time.perf_counter() + self.spin
        while time.perf_counter() < end:
            if done():
                return
        if self.oversubscribed:
            os.sched_yield()
        pause = _SHORTEST_SLEEP
        while not done():
            time.sleep(pause)
            pause = min(1.25 * pause, _LONGEST_SLEEP)


def sleep_precisely() -> None:
    """Let the calling thread wake within a microsecond of the time asked for; Linux rounds up by 50 otherwise."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1000, 0, 0, 0)
    except (OSError, AttributeError):
        return  # not Linux: sleeps are a little longer, nothing else changes
