"""Encoded vectors of all workers, which a method gathers, decodes and adds: sums that no all-reduce can form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hooke.catalogue.claims import Step, Transfer

if TYPE_CHECKING:
    from hooke.catalogue.rank import Rank
    from hooke.comm.base import Vector
    from hooke.comm.compressors import Compressor


def signs(step: Step) -> Transfer:
    """Return the all-gather of one bit per element and one float32 per block of 512, in whole words."""
    return Transfer("all-gather", -(-step.elements // 512) - (-step.elements // 32), step.workers)


class Gathered:
    """One vector per worker and step, encoded; a worker's decoded vector is what all others decode, too."""

    def __init__(self, r: Rank, compressor: Compressor) -> None:
        import numpy as np  # not at the top: a method's parameters are read without NumPy

        self._compressor, self._comm, self._rank = compressor, r.comm, r.rank
        self._total = np.zeros(r.params.numel(), np.float32)
        self._blocks: Any = np.zeros((r.workers, compressor.size(r.params.numel())), np.uint8)

    def exchange(self, x: Vector, total: Vector) -> None:
        """Encode x, subtract from it what is sent, and write the sum of what all workers sent to `total`.

        x keeps the error of this message, for error feedback. The order of the sum is that of ranks.
        """
        from hooke.comm.elements import host, tensor

        mine, sent = host(x), self._blocks[self._rank]
        self._compressor.encode(mine, sent, None)
        self._compressor.add(sent, mine, -1)
        if x.is_cuda:
            x.copy_(tensor(mine))
        self._comm.allgather(self._blocks.reshape(-1))
        self._total.fill(0)
        for block in self._blocks:
            self._compressor.add(block, self._total)
        total.copy_(tensor(self._total))
