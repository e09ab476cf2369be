"""Measurement of ranks that share cores: of steps that follow one another, as in a run, not of single operations.

A rank that waits sleeps between polls, and its core computes for another one meanwhile. So ranks come to an
operation one after the other, its polls take time from those that still compute, and a rank whose message has come
waits for a core. An operation that idle ranks begin together, after a barrier, shows nothing of this. Here every
rank computes, takes part in the operation and computes again, without a barrier; what the same computation takes
without the operation is subtracted.

Times are means over a series of steps. The scheduler's time slices make most steps short and a few of them many
times as long: their median is the time of a rank that has its core for itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from hooke.calibration.fitting import occupied
from hooke.calibration.timing import gathered, timed

if TYPE_CHECKING:
    from hooke.comm.mpi.communicator import MpiComm

WORK = 5e-4
"""Seconds of the computation in a step, on a core of its own: as long as a gradient of a small model, whose steps
depend most on operations."""
LONG = 5e-3
"""Seconds of a repeated operation that communicates with nobody: several time slices for all ranks of a core."""
_SERIES = 8
"""Most steps between two barriers."""
_LEAST, _MOST = 4, 10_000
"""Steps in a measurement."""
_MOST_ACCESSES = 8
"""Most accesses of a step to a window: one takes many times as long from ranks that compute as from idle ones."""


def outnumber_cores(comm: MpiComm) -> bool:
    """Return whether ranks of any machine outnumber its cores; the same on every rank; collective."""
    return comm.control.allreduce((float(comm.crowded),))[0] > 0


def computation(comm: MpiComm, seconds: float = WORK) -> Callable[[], None]:
    """Return a computation of about so many seconds on a core of its own, the same on every rank."""
    matrix = np.full((96, 96), 1 / 96, np.float32)
    once = min(timed(comm, functools.partial(np.dot, matrix, matrix), seconds))
    return functools.partial(repeated, functools.partial(np.dot, matrix, matrix), max(1, round(seconds / once)))


def repeated(operation: Callable[[], Any], times: int) -> None:
    """Execute an operation several times."""
    for _ in range(times):
        operation()


def per_step(comm: MpiComm, step: Callable[[], None], seconds: float, apart: bool = False) -> Any:
    """Return seconds per step, shape (ranks, series), within about `seconds`; the same on every rank.

    Every rank takes the same steps. Only before a series is a barrier, and a step off the clock: in it all ranks
    begin at once. `apart`: no rank waits for another one in a step, so there is one series, as long as possible:
    where ranks begin and end it at different times, a core has less to do.
    """
    step()
    comm.barrier()
    began = comm.clock()
    step()
    (once,) = comm.control.allreduce((comm.clock() - began,))
    count = max(_LEAST, int(seconds / max(once / comm.size, 1e-7)))
    series = count if apart else min(_SERIES, count // 2)
    taken = np.empty(count // series)
    for number in range(len(taken)):
        comm.barrier()
        step()
        began = comm.clock()
        for _ in range(series):
            step()
        taken[number] = (comm.clock() - began) / series
    return gathered(comm, taken)


class StepTimer:
    """StepTimer that all ranks take at once, and their computation, timed anew in every round."""

    def __init__(self, comm: MpiComm, seconds: float, work: Callable[[], None] | None = None) -> None:
        """`work`: the computation; by default one of WORK seconds."""
        self._comm = comm
        self._work = work or computation(comm)
        self._alone = float(per_step(comm, self._work, seconds, apart=True).mean())

    def alone(self, operation: Callable[[], None], seconds: float) -> list[float]:
        """Return the durations of an operation on a rank's own memory, while all ranks execute it."""
        times = self._times(operation, LONG, seconds)
        found = per_step(self._comm, functools.partial(repeated, operation, times), seconds, apart=True)
        return _listed(found.mean(axis=0) / times)

    def together(self, operation: Callable[[], None], seconds: float) -> list[float]:
        """Return what an operation of all ranks adds to a step; it ends when its slowest rank does."""
        return _listed(per_step(self._comm, self._step(operation), seconds).max(axis=0) - self._alone)

    def behind(self, both: Callable[[], None], without: Callable[[], None], seconds: float) -> list[float]:
        """Return what an operation adds to the computation which it runs behind."""
        usual = float(per_step(self._comm, without, seconds, apart=True).mean())
        return _listed(per_step(self._comm, both, seconds).max(axis=0) - usual)

    def of_a_window(self, both: Callable[[], None], seconds: float) -> list[float]:
        """Return for how long an access occupies a window, which all ranks read and add to in every step.

        They take their steps from one counter, as lock-free workers do: a slow rank leaves them to the others.
        """
        times = min(_MOST_ACCESSES, self._times(both, WORK, seconds))
        step = self._step(functools.partial(repeated, both, times))
        usual = self._from_a_counter(self._work, seconds)
        added = max(0.0, self._from_a_counter(step, seconds) - usual)
        return [occupied(usual, added, self._comm.size) / times]

    def _from_a_counter(self, step: Callable[[], None], seconds: float) -> float:
        """Return the seconds of all ranks together per step of one, within about `seconds`."""
        once = self._counted(step, 1)
        return self._counted(step, max(_LEAST, min(_MOST, int(seconds / max(once, 1e-7)))))

    def _counted(self, step: Callable[[], None], each: int) -> float:
        """Time so many steps per rank, until the first rank finds no step left; the same on every rank."""
        comm, count = self._comm, each * self._comm.size
        counter = comm.counter()
        comm.barrier()
        began = comm.clock()
        while counter.take() < count:
            step()
        taken = gathered(comm, np.array([comm.clock() - began]))
        counter.close()
        return float(taken.min()) / each

    def _times(self, operation: Callable[[], None], length: float, seconds: float) -> int:
        """Return how often to repeat a short operation, so that the computation does not hide it."""
        return max(1, round(length / max(min(timed(self._comm, operation, seconds / 4)), 1e-7)))

    def _step(self, operation: Callable[[], None]) -> Callable[[], None]:
        def step() -> None:
            self._work()
            operation()

        return step


def _listed(durations: Any) -> list[float]:
    found: list[float] = np.maximum(durations, 0.0).tolist()
    return found
