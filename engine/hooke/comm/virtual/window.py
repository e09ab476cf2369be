"""One-sided operations in virtual time.

If messages take time, a window resides on a host of its own, with its own links. Every rank, including the owner,
accesses it by messages, as workers access a server, so no worker is closer to the center than another. (Under MPI
the owner has the window in its own memory, and the messages of the others occupy its link.) Plain loads and stores
are not possible. An accumulate arrives as one message and is added there.

If messages take no time, all ranks share one host's memory, and each access takes time on the accessing rank only.
A plain `add` models a processor without a lock: it processes the vector piece by piece, loads a piece, waits for
its time, and stores the sum. A concurrent store to the same piece is overwritten, and a concurrent read finds some
pieces old and some new. This is deterministic, because turns follow virtual time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hooke.comm.arrays import Array, array_of, check_length, check_rank, count_one_sided
from hooke.comm.base import Pending, Traffic
from hooke.comm.elements import add_scaled
from hooke.comm.virtual.exchange import VirtualExchange
from hooke.comm.virtual.group import Group
from hooke.errors import CommError

PIECES = 16
"""Number of pieces in which a plain addition loads and stores a vector."""
_READ, _ADD = 2, 3  # passes over memory: load and store; load the vector and the summand and store the sum
_LINE = 16  # float32 per cache line: pieces are aligned to lines, so that the bits are those of the whole vector


class VirtualWindow:
    """One rank's view; see `hooke.comm.base.Window`. Construction and `close` are collective."""

    def __init__(self, group: Group, rank: int, initial: Any, owner: int, traffic: Traffic) -> None:
        array = array_of(initial)
        if array.dtype != np.float32:
            raise CommError(f"a window holds float32, not {array.dtype}")
        self.group, self.rank, self.me = group, rank, group.members[rank]
        self.shared = group.links.shares_memory
        self._traffic, self._owner = traffic, check_rank(owner, group.size)
        offered = (owner, array.size, array.copy() if rank == owner else None)
        self._memory: Array | None
        self._memory, self.place = group.meet(rank, "making a window", offered, self._agreed, 0.0)

    def get(self, into: Any, at: Any = None) -> None:
        """Copy the vector as it is at the time it leaves its host."""
        memory, array = self._counted(into, at)
        self.group.turn(self.rank)
        links, time = self.group.links, self.group.baton.time
        if self.shared:
            arrival = time[self.me] + self.access_seconds(_READ, array)
        else:
            arrival = links.transfer(time[self.me], self.place, self.me, array.nbytes, "window")
            time[self.me] = arrival - links.latency - links.price(self.place, self.me, array.nbytes)
            time[self.me] -= links.surcharge(self.place, self.me, array.nbytes, "window", False)
            self.group.turn(self.rank)
        array[:] = memory if at is None else memory[at]
        time[self.me] = arrival

    def accumulate(self, delta: Any, at: Any = None) -> None:
        """Add delta at once, after its arrival and the time of the memory accesses."""
        memory, array = self._arrive(delta, _ADD, at)
        memory[slice(None) if at is None else at] += array

    def put(self, x: Any) -> None:
        """Overwrite the vector after the arrival of x and the time of the memory accesses."""
        memory, array = self._arrive(x, _READ)
        memory[:] = array

    def add(self, delta: Any, alpha: float = 1, at: Any = None) -> None:
        """Add alpha * delta piece by piece, each in the time of its memory accesses; see the module."""
        self._check_shared()
        memory, array = self._fitting(delta, at)
        self._traffic.payload += array.nbytes
        self.group.turn(self.rank)
        for part, seconds in self.pieces(array):
            place = part if at is None else at[part]
            piece = memory[place].copy()
            self.group.baton.charge(self.me, seconds)
            self.group.turn(self.rank)
            add_scaled(piece, delta[part], alpha)
            memory[place] = piece

    def iexchange(
        self, into: Any, answer: Callable[[], Any], alpha: float | None = None, at: Any = None
    ) -> Pending:
        """Begin the exchange, which proceeds while this rank charges work to its clock."""
        if alpha is not None:
            self._check_shared()
        memory, array = self._counted(into, at)
        if alpha is None:
            self._counted(into, at)
        else:
            self._traffic.payload += array.nbytes
        self.group.turn(self.rank)
        return VirtualExchange(self, memory, array, answer, alpha, at).begin()

    def close(self) -> None:
        """Free it; collective."""
        self._alive()
        self.group.meet(self.rank, "closing a window", None, lambda _: None, 0.0)
        self._memory = None

    def arrival(self, now: float, array: Array, accesses: int = _ADD) -> float:
        """Return when a vector that leaves this rank now has been worked in."""
        if not self.shared:
            now = self.group.links.transfer(now, self.me, self.place, array.nbytes, "window")
        return now + self.access_seconds(accesses, array)

    def access_seconds(self, count: int, array: Array) -> float:
        """Return the seconds of `count` passes over memory."""
        return count * array.nbytes / self.group.links.memory_bandwidth

    def pieces(self, array: Array) -> list[tuple[slice, float]]:
        """Return the parts in which a plain addition goes through a vector, and the seconds of each."""
        step = max(1, -(-array.size // (PIECES * _LINE))) * _LINE
        parts = [slice(start, start + step) for start in range(0, array.size, step)]
        return [(part, self.access_seconds(_ADD, array[part])) for part in parts]

    def _arrive(self, x: Any, accesses: int, at: Any = None) -> tuple[Array, Array]:
        memory, array = self._counted(x, at)
        self.group.turn(self.rank)
        time = self.group.baton.time
        time[self.me] = self.arrival(time[self.me], array, accesses)
        self.group.turn(self.rank)
        return memory, array

    def _counted(self, x: Any, at: Any = None) -> tuple[Array, Array]:
        memory, array = self._fitting(x, at)
        count_one_sided(self._traffic, array, travels=not self.shared or self.rank != self._owner)
        return memory, array

    def _check_shared(self) -> None:
        self._alive()
        if not self.shared:
            raise CommError(
                "ranks share no memory in a virtual world whose messages take time: use atomic updates"
            )

    def _fitting(self, x: Any, at: Any = None) -> tuple[Array, Array]:
        memory, array = self._alive(), array_of(x)
        check_length(array.size, memory.size if at is None else len(at), f"the window of rank {self._owner}")
        if array.dtype != np.float32:
            raise CommError(f"a window holds float32, not {array.dtype}")
        return memory, array

    def _alive(self) -> Array:
        if self._memory is None:
            raise CommError("this window has been closed")
        return self._memory

    def _agreed(self, offers: list[tuple[int, int, Array | None]]) -> tuple[Array | None, int]:
        owner, elements, _ = offers[0]
        for rank, (other, length, _) in enumerate(offers):
            if other != owner:
                raise CommError(f"rank {rank} asks for a window of rank {other}, rank 0 for one of rank {owner}")
            check_length(length, elements, f"the window of rank {owner}, as rank {rank} asked for it")
        return offers[owner][2], self.group.links.place()
