"""Waiting for MPI without holding a core that somebody else needs.

MPI's own blocking calls poll for ever. Here a wait polls for a moment, because most messages between ranks
that are in step arrive within it, then sleeps between polls. Where ranks outnumber cores it sleeps from the
beginning: the message cannot come before its sender runs, and every poll keeps it from running.
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
    """Rests between polls, the longer the longer nothing has moved: so a long wait costs next to nothing.

    Who needs what he waits for polls without a rest for 100 microseconds, then sleeps for a twentieth of the time
    waited so far: no sleep prolongs a wait by more. Where ranks outnumber cores he sleeps at once, and so does who
    does not need it yet, because he computes meanwhile: for a tenth. Who knows how long it took last time sleeps
    for half of the time between now and then, whether that lies ahead or is past.
    """

    def __init__(self, crowded: bool) -> None:
        self._crowded = crowded
        self.reset()

    def reset(self) -> None:
        """Begin again: something has moved."""
        self._began = time.perf_counter()

    @property
    def waited(self) -> float:
        """Return seconds since something moved."""
        return time.perf_counter() - self._began

    def rest(self, needed: bool = True, expected: float | None = None) -> None:
        """Let some time pass, or none. `expected`: seconds that such a wait took the last time."""
        waited = self.waited
        keen = needed and not self._crowded
        if keen and waited <= _SPIN and (expected is None or expected <= 2 * _SPIN):
            return
        pause = abs(expected - waited) / 2 if expected is not None else waited / (20 if keen else 10)
        time.sleep(min(max(pause, 20e-6 if keen else 50e-6), _LONGEST_SLEEP))


def sleep_precisely() -> None:
    """Let the calling thread wake within a microsecond of the time asked for; Linux rounds up by 50 otherwise."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1000, 0, 0, 0)
    except (OSError, AttributeError):
        return  # not Linux: sleeps are a little longer, nothing else changes
