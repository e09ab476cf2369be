"""Waiting for MPI without holding a core that somebody else needs.

MPI's own blocking calls poll for ever. Here a wait polls for a moment, because most messages between ranks
that are in step arrive within it, then sleeps between polls. Where ranks outnumber cores it gives the core
away between polls: the message cannot come before its sender runs.
"""

from __future__ import annotations

import ctypes
import os
import time
import zlib
from collections.abc import Callable
from pathlib import Path

from mpi4py import MPI

from hooke.errors import CommError
from hooke.hardware.affinity import allowed

_PR_SET_TIMERSLACK = 29
_SPIN = 100e-6
_SHORTEST_SLEEP = 20e-6
_LONGEST_SLEEP = 1e-3
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Patience:
    """How the threads of this process wait; made collectively, for it counts the ranks on this host."""

    def __init__(self, world: MPI.Intracomm, parent: Patience | None = None) -> None:
        """Count, or believe what `parent` has counted: a part of the ranks shares its cores with all of them."""
        node = world.Split_type(MPI.COMM_TYPE_SHARED)
        self.ranks_on_this_host: int = node.Get_size()
        """Ranks that share memory, as MPI sees it."""
        node.Free()
        if parent is None:
            self.ranks_on_this_machine, self.crowded = _share_of(world)
        else:
            self.ranks_on_this_machine, self.crowded = parent.ranks_on_this_machine, parent.crowded

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


def _share_of(world: MPI.Intracomm) -> tuple[int, bool]:
    """Return how many ranks run under this kernel, and whether they outnumber the cores that they may use.

    Hosts may be containers or network namespaces of one machine: each has a name of its own, and MPI takes it for
    a machine of its own, but all share the kernel's cores, and its boot id.
    """
    machine = world.Split(zlib.crc32(_kernel().encode()) >> 1)
    cores: frozenset[int] = frozenset().union(*machine.allgather(allowed()))
    ranks = machine.Get_size()
    machine.Free()
    return ranks, ranks > len(cores)


def _kernel() -> str:
    """Return what tells this running kernel from any other one: its boot id, or the name of the host."""
    try:
        return _BOOT_ID.read_text()
    except OSError:
        return os.uname().nodename  # not Linux: hosts are machines there


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
