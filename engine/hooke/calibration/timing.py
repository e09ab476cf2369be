"""Timing of an operation of several ranks: samples that start together, the slowest rank counts."""

from __future__ import annotations

import time
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
    once = max(_once(operation), 1e-7)
    once = comm.control.allreduce((once,))[0] / comm.size
    repeat = 1 if prepare is not None else max(1, min(100, int(_SHORTEST / once)))
    samples = max(_LEAST, min(_MOST, int(seconds / (once * repeat))))
    taken = np.empty(samples)
    for number in range(samples):
        if prepare is not None:
            prepare()
        comm.barrier()
        began = time.perf_counter()
        for _ in range(repeat):
            operation()
        taken[number] = (time.perf_counter() - began) / repeat
    return slowest(comm, taken)


def slowest(comm: MpiComm, taken: Any) -> list[float]:
    """Return the maximum over ranks of each element; by `comm`, as the `world` of a part of the ranks is freed."""
    own = len(taken)
    found = np.zeros(own * comm.size, np.float32)
    found[comm.rank * own : (comm.rank + 1) * own] = taken
    usual, comm.collective = comm.collective, "tree"  # the library's all-reduce has no all-gather
    try:
        comm.allgather(found)
    finally:
        comm.collective = usual
    durations: list[float] = found.reshape(comm.size, own).max(axis=0).astype(float).tolist()
    return durations


def _once(operation: Callable[[], None]) -> float:
    began = time.perf_counter()
    operation()
    return time.perf_counter() - began
