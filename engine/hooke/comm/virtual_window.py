"""One-sided operations in virtual time.

A get, put or accumulate by another rank than the owner is one message over the owner's link. A plain `add`
is what a processor does without a lock: it goes through the vector piece by piece, loads a piece, takes its
time, and stores the sum. Whoever stores the same piece in between is undone, and whoever reads meanwhile
finds some pieces new and some old: deterministically, since turns follow virtual time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hooke.comm.arrays import Array, array_of, check_length, check_rank, count_one_sided
from hooke.comm.base import Traffic
from hooke.comm.elements import add_scaled
from hooke.comm.virtual_group import Group
from hooke.errors import CommError

PIECES = 16
"""Pieces of a vector that a plain addition loads and stores one after the other."""
_PASSES = 3  # an addition loads the vector and the summand and stores the sum
_LINE = 16  # float32 in a cache line: pieces begin where lines do, so that their arithmetic is the whole vector's


class VirtualWindow:
    """One rank's view; see `hooke.comm.base.Window`. Made and closed collectively."""

    shared = True

    def __init__(self, group: Group, rank: int, initial: Any, owner: int, traffic: Traffic) -> None:
        array = array_of(initial)
        if array.dtype != np.float32:
            raise CommError(f"a window holds float32, not {array.dtype}")
        self._group, self._rank, self._traffic = group, rank, traffic
        self._owner = check_rank(owner, group.size)
        self._me, self._its = group.members[rank], group.members[owner]
        offered = (owner, array.size, array.copy() if rank == owner else None)
        self._memory: Array | None = group.meet(rank, "making a window", offered, _agreed, 0.0)

    def get(self, into: Any) -> None:
        """Copy the vector as it is when it leaves the owner."""
        memory, array = self._fitting(into)
        self._group.turn(self._rank)
        arrival = self._move(self._its, self._me, array)
        size = array.nbytes if self._rank != self._owner else 0
        links, time = self._group.links, self._group.baton.time
        time[self._me] = max(time[self._me], arrival - links.latency - size * links.seconds_per_byte)
        self._group.turn(self._rank)
        array[:] = memory
        time[self._me] = arrival

    def accumulate(self, delta: Any) -> None:
        """Add delta when it arrives at the owner: all of it at once."""
        memory, array = self._arrive(delta)
        memory += array

    def put(self, x: Any) -> None:
        """Overwrite the vector when x arrives at the owner."""
        memory, array = self._arrive(x)
        memory[:] = array

    def add(self, delta: Any, alpha: float = 1) -> None:
        """Add alpha * delta piece by piece, in the time that memory needs for it; see the module."""
        memory, array = self._fitting(delta)
        self._traffic.payload += array.nbytes
        summand = array if isinstance(delta, np.ndarray) else delta
        step = max(1, -(-array.size // (PIECES * _LINE))) * _LINE
        self._group.turn(self._rank)
        for start in range(0, array.size, step):
            piece = memory[start : start + step].copy()
            self._group.baton.charge(self._me, _PASSES * piece.nbytes / self._group.links.memory_bandwidth)
            self._group.turn(self._rank)
            add_scaled(piece, summand[start : start + step], alpha)
            memory[start : start + step] = piece

    def close(self) -> None:
        """Free it; collective."""
        self._alive()
        self._group.meet(self._rank, "closing a window", None, lambda _: None, 0.0)
        self._memory = None

    def _arrive(self, x: Any) -> tuple[Array, Array]:
        memory, array = self._fitting(x)
        self._group.turn(self._rank)
        self._group.baton.time[self._me] = self._move(self._me, self._its, array)
        self._group.turn(self._rank)
        return memory, array

    def _move(self, source: int, target: int, array: Array) -> float:
        """Count the vector and carry it if it must travel; return when it has arrived."""
        count_one_sided(self._traffic, array, travels=source != target)
        now = self._group.baton.time[self._me]
        return now if source == target else self._group.links.transfer(now, source, target, array.nbytes)

    def _fitting(self, x: Any) -> tuple[Array, Array]:
        memory, array = self._alive(), array_of(x)
        check_length(array.size, memory.size, f"the window of rank {self._owner}")
        if array.dtype != np.float32:
            raise CommError(f"a window holds float32, not {array.dtype}")
        return memory, array

    def _alive(self) -> Array:
        if self._memory is None:
            raise CommError("this window has been closed")
        return self._memory


class VirtualCounter:
    """See `hooke.comm.base.Counter`: free of charge, in the order of virtual time."""

    def __init__(self, group: Group, rank: int) -> None:
        self._group, self._rank = group, rank
        self._value: list[int] | None = group.meet(rank, "making a counter", None, lambda _: [0], 0.0)

    def take(self, amount: int = 1) -> int:
        """Add to it; return what it was before."""
        if self._value is None:
            raise CommError("this counter has been closed")
        self._group.turn(self._rank)
        before = self._value[0]
        self._value[0] += amount
        return before

    def close(self) -> None:
        """Free it; collective."""
        if self._value is None:
            raise CommError("this counter has been closed")
        self._group.meet(self._rank, "closing a counter", None, lambda _: None, 0.0)
        self._value = None


def _agreed(offers: list[tuple[int, int, Array | None]]) -> Array | None:
    owner, elements, _ = offers[0]
    for rank, (other, length, _) in enumerate(offers):
        if other != owner:
            raise CommError(f"rank {rank} asks for a window of rank {other}, rank 0 for one of rank {owner}")
        check_length(length, elements, f"the window of rank {owner}, as rank {rank} asked for it")
    return offers[owner][2]
