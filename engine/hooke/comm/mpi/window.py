"""One-sided operations over MPI: a vector that ranks update without involving its owner.

If all ranks share a node, `MPI_Win_allocate_shared` allocates the memory: every rank maps it and can use plain
loads and stores as well as MPI's atomic accumulates, without progress of the owner. Otherwise `MPI_Win_allocate`
allocates it. Ranks on the owner's node then map it if the library can return its address (MPI 4.1); the others use
Get, Put and Accumulate, for whose progress the owner may have to call MPI.

Memory model. Each rank opens one passive epoch (`lock_all`, a shared lock that excludes nobody) for the lifetime
of the window. Every operation is complete when it returns: MPI operations are flushed, loads and stores lie
between calls of `MPI_Win_sync`, which is a memory barrier. MPI's accumulates are atomic per element among
themselves, but not with respect to plain stores: a store of `add` may overwrite an accumulate or another `add`.
Loads and stores of an aligned float32 are assumed to be atomic, as on all common processors.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

from hooke.comm.arrays import Array, array_of, check_length, check_rank, count_one_sided
from hooke.comm.base import Pending, Traffic
from hooke.comm.elements import add_scaled
from hooke.comm.mpi.behind import BackgroundThread
from hooke.comm.mpi.counter import allocate
from hooke.comm.mpi.wait import Patience
from hooke.errors import CommError

_LINE = 64
"""Alignment in bytes: a cache line, and the widest vector register."""

_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - where Linux keeps shared memory, not a file of ours


def free_shared_memory() -> float:
    """Return the bytes of shared memory available on this host.

    MPI reserves memory without filling it: if it does not fit, the first store would end a rank with SIGBUS.
    """
    return shutil.disk_usage(_SHARED_MEMORY).free if _SHARED_MEMORY.is_dir() else math.inf


class MpiWindow:
    """See `hooke.comm.base.Window`. Construction and `close` are collective.

    `map_memory=False` behaves as if every rank were on a different node.
    """

    def __init__(
        self,
        comm: MPI.Intracomm,
        initial: Any,
        owner: int,
        patience: Patience,
        traffic: Traffic,
        map_memory: bool = True,
    ) -> None:
        array = array_of(initial)
        self._comm, self._patience, self._traffic = comm, patience, traffic
        self._owner, self._mine = check_rank(owner, comm.Get_size()), comm.Get_rank() == owner
        self._elements = array.size
        self._agree(array)
        size = array.nbytes + _LINE if self._mine else 0
        one_node = map_memory and patience.ranks_on_this_host == comm.Get_size()
        self._window: MPI.Win | None = allocate(comm, size, 1, one_node)
        segment = self._segment(self._window) if self._mine or map_memory else None
        # Segments begin at the start of a page or of a line in every process, so the offset is the same in all.
        start = -segment.ctypes.data % _LINE if segment is not None else 0
        self._start = int(self._comm.bcast(start, self._owner))
        self._memory: Array | None = None
        if segment is not None:
            self._memory = segment[self._start : self._start + array.nbytes].view(np.float32)
        self.shared = self._memory is not None
        self._behind = BackgroundThread()
        if self._mine:
            self.put(array)
        self._meet()

    def get(self, into: Any, at: Any = None) -> None:
        """Copy the vector without synchronization."""
        array = self._fitting(into, at)
        if self._memory is not None:
            self._load(array, at)
        elif array.size:
            window = self._open()
            with self._target(at) as target:
                self._complete(lambda: window.Get((array, MPI.FLOAT), self._owner, target))
        self._count(array)

    def accumulate(self, delta: Any, at: Any = None) -> None:
        """Add delta, each element atomically."""
        array = self._fitting(delta, at)
        window = self._open()
        if array.size:
            with self._target(at) as target:
                self._complete(lambda: window.Accumulate((array, MPI.FLOAT), self._owner, target, MPI.SUM))
        self._count(array)

    def add(self, delta: Any, alpha: float = 1, at: Any = None) -> None:
        """Add alpha * delta by plain loads and stores; concurrent updates may overwrite each other."""
        array = self._fitting(delta, at)
        self._store_sum(delta, alpha, at)
        self._traffic.payload += array.nbytes

    def iexchange(
        self, into: Any, answer: Callable[[], Any], alpha: float | None = None, at: Any = None
    ) -> Pending:
        """Begin the exchange on a background thread, which sleeps between polls."""
        array = self._fitting(into, at)
        self._count(array)
        if alpha is None:
            self._count(array)
        else:
            self._shared_memory()
            self._traffic.payload += array.nbytes

        def exchange() -> None:
            if self._memory is not None:
                self._load(array, at)
            elif array.size:
                with self._target(at) as target:
                    self._politely(self._open().Rget((array, MPI.FLOAT), self._owner, target))
            delta = answer()
            if alpha is not None:
                self._store_sum(delta, alpha, at)
                return
            sent = (self._fitting(delta, at), MPI.FLOAT)
            if array.size:
                with self._target(at) as target:
                    self._politely(self._open().Raccumulate(sent, self._owner, target, MPI.SUM))
                    self._complete(lambda: None)

        return self._behind.begin(exchange)

    def put(self, x: Any) -> None:
        """Overwrite the vector."""
        array = self._fitting(x)
        window = self._open()
        if self._memory is not None:
            np.copyto(self._memory, array)
            window.Sync()
        else:
            with self._target() as target:
                self._complete(lambda: window.Put((array, MPI.FLOAT), self._owner, target))
        self._count(array)

    def close(self) -> None:
        """Free it; collective."""
        window = self._open()
        self._behind.close()
        self._meet()
        window.Unlock_all()
        self._window = self._memory = None
        window.Free()

    def _agree(self, array: Array) -> None:
        if array.dtype != np.float32:
            raise CommError(f"a window holds float32, not {array.dtype}")
        self._meet()
        told = self._comm.allgather((array.size, self._owner, free_shared_memory()))
        room = told[self._owner][2]
        if array.nbytes + _LINE > room:
            raise CommError(
                f"a window of {array.nbytes} bytes does not fit in the {room} bytes free in {_SHARED_MEMORY} on "
                f"the host of rank {self._owner}: make it larger (in a container: --shm-size)"
            )
        for rank, (elements, owner, _) in enumerate(told):
            check_length(elements, array.size, f"the window of rank {self._owner}, as rank {rank} asked for it")
            if owner != self._owner:
                raise CommError(f"rank {rank} asks for a window of rank {owner}, another of rank {self._owner}")

    def _segment(self, window: MPI.Win) -> Array | None:
        """Return the owner's memory if plain loads can access it, else None."""
        memory: Any
        try:
            memory, _ = window.Shared_query(self._owner)
        except MPI.Exception:  # before MPI 4.1 only shared windows support the query
            memory = window.tomemory() if self._mine else None
        return np.frombuffer(memory, np.uint8) if memory else None

    @contextmanager
    def _target(self, at: Any = None) -> Iterator[tuple[int, int, MPI.Datatype]]:
        """Give the place of the vector in the owner's memory, or of its elements `at` as one type of MPI."""
        if at is None:
            yield self._start, self._elements, MPI.FLOAT
            return
        ends = np.flatnonzero(np.diff(at) != 1) + 1  # runs of consecutive elements
        firsts = np.concatenate([[0], ends])
        lengths = np.diff(np.concatenate([firsts, [len(at)]]))
        kind = MPI.FLOAT.Create_indexed(lengths.tolist(), at[firsts].tolist()).Commit()
        try:
            yield self._start, 1, kind
        finally:
            kind.Free()

    def _load(self, into: Array, at: Any) -> None:
        self._open().Sync()
        memory = self._shared_memory()
        np.copyto(into, memory if at is None else memory[at])

    def _store_sum(self, delta: Any, alpha: float, at: Any) -> None:
        window, memory = self._open(), self._shared_memory()
        window.Sync()
        if at is None:
            add_scaled(memory, delta, alpha)
        else:
            sums = memory[at]
            add_scaled(sums, delta, alpha)
            memory[at] = sums
        window.Sync()

    def _shared_memory(self) -> Array:
        if self._memory is None:
            raise CommError(
                f"rank {self._comm.Get_rank()} shares no memory with rank {self._owner}, which owns the window: "
                "plain additions need one node; use atomic updates"
            )
        return self._memory

    def _politely(self, request: MPI.Request) -> None:
        self._patience.until(request.Test)

    def _complete(self, operation: Callable[[], None]) -> None:
        try:
            operation()
            self._open().Flush(self._owner)
        except MPI.Exception as error:
            raise CommError(f"a one-sided operation on rank {self._owner} failed; MPI reports: {error}") from error

    def _fitting(self, x: Any, at: Any = None) -> Array:
        array = array_of(x)
        check_length(array.size, self._elements if at is None else len(at), f"the window of rank {self._owner}")
        if array.dtype != np.float32:
            raise CommError(f"a window holds float32, not {array.dtype}")
        return array

    def _count(self, array: Array) -> None:
        count_one_sided(self._traffic, array, travels=not self._mine)

    def _open(self) -> MPI.Win:
        if self._window is None:
            raise CommError("this window has been closed")
        return self._window

    def _meet(self) -> None:
        self._patience.until(self._comm.Ibarrier().Test)
