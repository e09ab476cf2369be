"""Timing of an operation of several ranks: samples that start together, the slowest rank counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from hooke.comm.mpi.communicator import MpiComm

_SHORTEST = 2e-4
"""Shortest sample, s: shorter operations are repeated within it."""
_LEAST, _MOST = 3, 200
"""Samples of one measurement in a round."""


def timed(
    comm: MpiComm, operation: Callable[[], None], seconds: float, prepare: Callable[[], None] | None = None
) -> list[float]:
    """Return durations of `operation`, which every rank of `comm` executes; the same list on every rank.

    `prepare` precedes each execution, off the clock: it writes what is sent, as a step does. Vectors that nobody
    has written since the last execution are in the caches of both ranks, and travel several times as fast.

    Before each sample is a barrier. The number of samples follows from the duration of the second execution, of
    which all ranks know the sum, so that all repeat equally often.
    """
    operation()
    if prepare is not None:
        prepare()
    comm.barrier()
    once = max(_once(comm, operation), 1e-7)
    once = comm.control.allreduce((once,))[0] / comm.size
    repeat = 1 if prepare is not None else max(1, min(100, int(_SHORTEST / once)))
    samples = max(_LEAST, min(_MOST, int(seconds / (once * repeat))))
    taken = np.empty(samples)
    for number in range(samples):
        if prepare is not None:
            prepare()
        comm.barrier()
        began = comm.clock()
        for _ in range(repeat):
            operation()
        taken[number] = (comm.clock() - began) / repeat
    return slowest(comm, taken)


def slowest(comm: MpiComm, taken: Any) -> list[float]:
    """Return the maximum over ranks of each element."""
    durations: list[float] = gathered(comm, taken).max(axis=0).tolist()
    return durations


def gathered(comm: MpiComm, taken: Any) -> Any:
    """Return the elements of every rank, shape (ranks, elements).

    By `comm`, as the `world` of a part of the ranks is freed.
    """
    own = len(taken)
    found = np.zeros(own * comm.size, np.float32)
    found[comm.rank * own : (comm.rank + 1) * own] = taken
    usual, comm.collective = comm.collective, "tree"  # the library's all-reduce has no all-gather
    try:
        comm.allgather(found)
    finally:
        comm.collective = usual
    return found.reshape(comm.size, own).astype(float)


def _once(comm: MpiComm, operation: Callable[[], None]) -> float:
    began = comm.clock()
    operation()
    return comm.clock() - began
