"""Waiting for MPI without occupying a core.

MPI's blocking calls poll continuously. Here a wait polls briefly, because most messages between synchronized ranks
arrive within that time, then sleeps between polls. If ranks outnumber cores it sleeps from the start: the message
cannot arrive before its sender gets a core. Who sends a control word to a rank of the same machine wakes it
(`bell.py`).
"""

from __future__ import annotations

import ctypes
import os
import time
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

from mpi4py import MPI

from hooke.comm.base import ANY
from hooke.comm.mpi.bell import Bell
from hooke.errors import CommError, RankLost
from hooke.hardware.affinity import allowed

_PR_SET_TIMERSLACK = 29
_SPIN = 100e-6
_LONGEST_SLEEP = 1e-3
_LOOK = 0.1
"""Seconds between two looks whether processes have ended."""
_SOON = 1.0
"""Seconds until the bell of a process is gone whose memory is."""
_AGAIN = 5
"""Looks for a message of a process that has ended."""
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Patience:
    """Wait policy of the threads of a process.

    Constructed collectively, because it counts the ranks on this host.
    """

    def __init__(self, world: MPI.Intracomm, parent: Patience | None = None) -> None:
        """Count the ranks, or take over the count of `parent`: a subgroup shares its cores with all ranks."""
        node = world.Split_type(MPI.COMM_TYPE_SHARED)
        self.ranks_on_this_host: int = node.Get_size()
        """Number of ranks that share memory according to MPI."""
        node.Free()
        if parent is None:
            self.ranks_on_this_machine, self.crowded = _share_of(world)
        else:
            self.ranks_on_this_machine, self.crowded = parent.ranks_on_this_machine, parent.crowded
        self._bell: Bell = Bell() if parent is None else parent._bell
        self._names: list[str] = world.allgather(self._bell.name)
        self._watched: set[int] = set()
        self._ended: set[int] = set()
        self._looked = 0.0

    def backoff(self) -> Backoff:
        """Return a new back-off for one wait."""
        return Backoff(self.crowded)

    def until(self, done: Callable[[], bool], rung: bool = False, of: int | None = None) -> None:
        """Return when `done()` is true; raises CommError for an error of MPI.

        `rung`: it becomes true by a message whose sender calls `ring`. `of`: the rank that is waited for, or ANY;
        raises RankLost if its process has ended and it is watched.
        """
        try:
            if done():
                return
            backoff = self.backoff()
            sleep = self._doze if rung and self._bell.name else time.sleep
            while not done():
                if self._watched and of is not None and (lost := self._lost(of)) is not None:
                    if not any(done() for _ in range(_AGAIN)):  # what it has sent before arrives first
                        raise RankLost(lost)
                    return
                backoff.rest(sleep=sleep)
        except MPI.Exception as error:
            # a large vector is read from the memory of its sender, which may be gone
            if of is not None and of in self._watched and self._ends(of):
                raise RankLost(of) from error
            raise CommError(f"MPI reports: {error}") from error

    def ring(self, rank: int) -> None:
        """Wake a rank that waits for what has just been sent to it, if it is on this machine."""
        if (name := self._names[rank]) and not self._bell.ring(name) and rank not in self._watched:
            self._names[rank] = ""

    def watch(self, ranks: Iterable[int]) -> None:
        """From now on look whether the processes of these ranks of this machine have ended.

        The bell of a process is gone with it. Those of which none is known are not watched.
        """
        self._watched = {rank for rank in ranks if self._names[rank] and self._bell.ring(self._names[rank])}

    def forget(self, rank: int) -> None:
        """Look no longer whether the process of this rank has ended."""
        self._watched.discard(rank)
        self._ended.discard(rank)

    def _ends(self, rank: int) -> bool:
        """Return whether the process of a rank has ended, or does so soon: its memory goes before its bell."""
        until = time.perf_counter() + _SOON
        while self._bell.ring(self._names[rank]):
            if time.perf_counter() > until:
                return False
            time.sleep(1e-3)
        return True

    def _lost(self, of: int) -> int | None:
        """Return a watched rank that is waited for and whose process has ended; None without one."""
        now = time.perf_counter()
        if now - self._looked >= _LOOK:
            self._looked = now
            self._ended = {rank for rank in self._watched if not self._bell.ring(self._names[rank])}
        found = self._ended if of == ANY else self._ended & {of}
        return min(found, default=None)

    def close(self) -> None:
        """Free the bell, which all communicators of the run share."""
        self._bell.close()

    def _doze(self, seconds: float) -> None:
        self._bell.wait(seconds)


def _share_of(world: MPI.Intracomm) -> tuple[int, bool]:
    """Return how many ranks run under this kernel, and whether they outnumber the cores that they may use.

    Hosts may be containers or network namespaces of one machine. MPI treats each as a separate machine, because of
    its host name, but they share the kernel's cores and its boot id.
    """
    machine = world.Split(zlib.crc32(_kernel().encode()) >> 1)
    cores: frozenset[int] = frozenset().union(*machine.allgather(allowed()))
    ranks = machine.Get_size()
    machine.Free()
    return ranks, ranks > len(cores)


def _kernel() -> str:
    """Return an identifier of the running kernel: its boot id, or the host name where there is none."""
    try:
        return _BOOT_ID.read_text()
    except OSError:
        return os.uname().nodename  # not Linux: a host is a machine


class Backoff:
    """Sleep times between polls, increasing with the time waited so far, so that long waits use little CPU.

    ============================================  ==============================================================
    caller                                        sleep between polls
    ============================================  ==============================================================
    needs the result now                          none for 100 us, then 1/20 of the time waited so far
    needs it now, ranks outnumber cores           1/10 of the time waited so far, from the start
    computes meanwhile (`needed` false)           1/10 of the time waited so far, from the start
    knows the last duration (`expected`)          half of the time between now and the expected end, before or
                                                  after it
    ============================================  ==============================================================
    """

    def __init__(self, crowded: bool) -> None:
        self._crowded = crowded
        self.reset()

    def reset(self) -> None:
        """Restart: there has been progress."""
        self._began = time.perf_counter()

    @property
    def waited(self) -> float:
        """Return the seconds since the last progress."""
        return time.perf_counter() - self._began

    def rest(
        self, needed: bool = True, expected: float | None = None, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Sleep, if it is time to. `expected`: seconds that such a wait took the last time."""
        waited = self.waited
        keen = needed and not self._crowded
        if keen and waited <= _SPIN and (expected is None or expected <= 2 * _SPIN):
            return
        pause = abs(expected - waited) / 2 if expected is not None else waited / (20 if keen else 10)
        sleep(min(max(pause, 20e-6 if keen else 50e-6), _LONGEST_SLEEP))


def sleep_precisely() -> None:
    """Set the timer slack of the calling thread to 1 us; the default of Linux is 50 us."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1000, 0, 0, 0)
    except (OSError, AttributeError):
        return  # not Linux: sleeps are slightly longer
