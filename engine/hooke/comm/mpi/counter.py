"""A one-sided counter over MPI, and the allocation of windows."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpi4py import MPI

from hooke.comm.mpi.wait import Patience
from hooke.errors import CommError


class MpiCounter:
    """See `hooke.comm.base.Counter`; an int64 on rank 0."""

    def __init__(self, comm: MPI.Intracomm, patience: Patience) -> None:
        self._comm, self._patience = comm, patience
        mine, size = comm.Get_rank() == 0, np.dtype(np.int64).itemsize
        one_node = patience.ranks_on_this_host == comm.Get_size()
        self._window: MPI.Win | None = allocate(comm, size if mine else 0, size, one_node)
        if mine:
            memory: Any = self._window.tomemory()
            np.frombuffer(memory, np.int64)[:] = 0
            self._window.Sync()
        self._meet()

    def take(self, amount: int = 1) -> int:
        """Add to it, atomically; return what it was before."""
        if self._window is None:
            raise CommError("this counter has been closed")
        before = np.zeros(1, np.int64)
        try:
            self._window.Fetch_and_op(np.array([amount], np.int64), before, 0, 0, MPI.SUM)
            self._window.Flush(0)
        except MPI.Exception as error:
            raise CommError(f"the counter of rank 0 failed; MPI reports: {error}") from error
        return int(before[0])

    def close(self) -> None:
        """Free it; collective."""
        if self._window is None:
            raise CommError("this counter has been closed")
        window, self._window = self._window, None
        self._meet()
        window.Unlock_all()
        window.Free()

    def _meet(self) -> None:
        self._patience.until(self._comm.Ibarrier().Test)


def allocate(comm: MPI.Intracomm, size: int, unit: int, one_node: bool) -> MPI.Win:
    """Return a window on `size` bytes of this rank, inside a passive epoch that lasts as long as the window."""
    make = MPI.Win.Allocate_shared if one_node else MPI.Win.Allocate
    try:
        window = make(size, unit, MPI.INFO_NULL, comm)
        window.Lock_all()
    except MPI.Exception as error:
        raise CommError(f"MPI could not make a window on {size} bytes of this rank: {error}") from error
    return window
