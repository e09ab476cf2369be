"""Long vectors in pieces that stay in a core's cache, for several operations on the same elements.

A vector is then read from memory once instead of once per operation; the results are bitwise equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hooke.comm.base import Vector

PIECE = 1 << 16
"""Elements of a piece: pieces of the three or four vectors of an operation fit in the cache together."""


def pieces(vector: Vector) -> list[slice]:
    """Return the slices of a vector that are processed one after the other.

    On a device this is the whole vector: there, more operations would cost more than reading memory again.
    """
    size = vector.numel()
    piece = size if vector.is_cuda else min(size, PIECE)
    return [slice(start, min(start + piece, size)) for start in range(0, size, piece)]
