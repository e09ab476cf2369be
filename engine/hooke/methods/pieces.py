"""Long vectors in pieces that stay in a core's cache, for arithmetic of several operations on the same numbers.

So a vector passes through memory once and not for each operation; every bit is as in one piece.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hooke.comm.base import Vector

PIECE = 1 << 16
"""Elements of a piece: with the two or three other vectors of an operation they stay in the cache."""


def pieces(vector: Vector) -> list[slice]:
    """Return the slices of a vector that are to be worked on one after the other.

    A device takes the whole: there the operations would cost more than memory.
    """
    size = vector.numel()
    piece = size if vector.is_cuda else min(size, PIECE)
    return [slice(start, min(start + piece, size)) for start in range(0, size, piece)]
