"""Sums of encoded vectors: gathered as blocks, one per rank, decoded and added in the order of ranks."""

from __future__ import annotations

import numpy as np

from hooke.comm.arrays import Array
from hooke.comm.base import Content, Pending
from hooke.comm.wrappers.remembered import Remembered


class Pool:
    """Buffers of bytes by their length, reused."""

    def __init__(self) -> None:
        self._free: dict[int, list[Array]] = {}

    def take(self, size: int) -> Array:
        """Return a buffer of that many bytes, with any content."""
        free = self._free.setdefault(size, [])
        return free.pop() if free else np.zeros(size, np.uint8)

    def give(self, buffer: Array) -> None:
        """Take a buffer back."""
        self._free.setdefault(buffer.size, []).append(buffer)


class Sum:
    """A sum that has been begun."""

    def __init__(self, sums: Sums, target: Array, wanted: bool, before: Sum | None) -> None:
        self.target = target
        """Where the result is written, if it is `wanted` on this rank."""
        self.wanted = wanted
        self.blocks: Array | None = None
        """The blocks of all ranks, to be gathered; None: the vectors are added in full, in the target."""
        self.total: Array | None = None
        """The running sum of what ranks have sent, which is the result; None: the result is that of the blocks."""
        self.pending: Pending | None = None
        self._sums, self._before = sums, before
        self._done = False

    def finish(self) -> None:
        """Write the result, after those of the same vector that were begun before; only the first call counts."""
        if self._done:
            return
        self._done = True
        if self._before is not None:
            self._before.complete()
            self._before = None
        self._sums.finish(self)

    def complete(self) -> None:
        """Wait for the sum and finish it."""
        if self.pending is not None:
            self.pending.wait()
        self.finish()


class Sums:
    """The sums of one communicator, as seen by one of its ranks."""

    def __init__(self, memory: Remembered, pool: Pool, rank: int, size: int) -> None:
        self._memory = memory
        self._pool = pool
        self._rank, self._size = rank, size
        self._latest: dict[str, Sum] = {}

    def begin(self, name: str, x: Array, target: Array, content: Content, plain: bool, wanted: bool = True) -> Sum:
        """Encode this rank's vector into its block, unless it is the first of weights or averages."""
        memory, total = self._memory, "average" if content == "averages" else "sum"
        begun = self._latest[name] = Sum(self, target, wanted, self._latest.get(name))
        first = content != "updates" and not memory.has(name, "estimate" if content == "weights" else total)
        if content != "updates" and wanted:
            begun.total = memory.vector(name, total, x.size)
        estimate = memory.vector(name, "estimate", x.size) if content == "weights" else None
        if first:
            if estimate is not None:
                estimate[:] = x
            return begun
        length = memory.compressor.size(x.size)
        begun.blocks = self._pool.take(length * self._size)
        own = begun.blocks[length * self._rank : length * (self._rank + 1)]
        if estimate is not None:
            memory.encode_difference(name, x, estimate, own)
        elif begun.total is not None:
            memory.encode_change(name, x, begun.total, self._size, own)
        else:
            memory.encode_update(name, x, own, plain)
        return begun

    def finish(self, begun: Sum) -> None:
        """Write the result to the target."""
        target, total, blocks = begun.target, begun.total, begun.blocks
        if blocks is None:
            if total is not None:
                total[:] = target
            return
        if begun.wanted:
            self._add(blocks, target, total)
        self._pool.give(blocks)
        begun.blocks = None

    def _add(self, blocks: Array, target: Array, total: Array | None) -> None:
        into = target if total is None else total
        if total is None:
            target.fill(0)
        for block in blocks.reshape(self._size, -1):
            self._memory.compressor.add(block, into)
        if total is not None:
            target[:] = total
