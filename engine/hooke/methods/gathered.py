"""Encoded vectors of all workers, which a method gathers, decodes and adds: sums that no all-reduce can form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from hooke.catalogue.claims import Step, Transfer, Transfers

if TYPE_CHECKING:
    from hooke.catalogue.rank import Rank
    from hooke.comm.base import Vector
    from hooke.comm.compressors import Compressor


Bits = Literal[2, 32]
"""Of a value in a message: a sign and one of two levels per chunk, or a float32."""


def signs(step: Step) -> Transfer:
    """Return the all-gather of one bit per element and one float32 per block of 512, in whole words."""
    return Transfer("all-gather", -(-step.elements // 512) - (-step.elements // 32), step.workers)


def kept_of(elements: int, chunk: int, kept: int) -> int:
    """Return how many elements are sent, if of every chunk `kept` are, or all of a chunk that is shorter."""
    whole, rest = divmod(elements, chunk)
    return whole * min(kept, chunk) + min(kept, rest)


def words(elements: int, chunk: int, kept: int, bits: Bits) -> int:
    """Return the words of 4 bytes of such a message: two levels per chunk (2 bits), indices of 2 bytes, values."""
    sent = kept_of(elements, chunk, kept)
    levels = 2 * -(-elements // chunk) if bits == 2 else 0
    return levels + -(-sent // 2) + (-(-sent // 16) if bits == 2 else sent)


def largest_of_chunks(method: Any, step: Step) -> Transfers:
    """Return the all-gather of such messages after every period."""
    if (step.t + 1) % method.exchange_period():
        return ()
    sent = words(step.elements, method.chunk, method.kept, method.bits)
    return (Transfer("all-gather", sent, step.workers, begins="after"),)


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
