"""Kernels of rows in bfloat16: widening, and rounding at random."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hooke.hashing.family import Ints
from hooke.hashing.jit import compiled, mix

Halves = NDArray[np.uint16]
"""bfloat16: the upper halves of float32."""
Words = NDArray[np.uint32]

IN_WORD = 4
"""Columns that share 64 random bits, 16 each."""
_16, _LOW = np.uint64(16), np.uint64(0xFFFF)
_EXPONENT, _MANTISSA, _QUIET = np.uint32(0x7F800000), np.uint32(0x007FFFFF), np.uint32(0x40)


@compiled()
def widen_rows(begin: int, end: int, rows: Ints, weight: Halves, into: Words) -> None:
    """Write the float32 bits of weight[rows[i]] to into[i], for i in begin..end-1."""
    for i in range(begin, end):
        row = rows[i]
        for k in range(weight.shape[1]):
            into[i, k] = np.uint32(weight[row, k]) << np.uint32(16)


@compiled()
def round_rows(begin: int, end: int, rows: Ints, bits: Words, weight: Halves, key: Any) -> None:
    """Round the float32 values with these bits, (k, width), at random, and write row i to weight[rows[i]].

    The lower 16 bits are dropped after a random number of 16 bits has been added. So the value becomes the next
    one away from zero with a chance equal to its distance from the next one towards zero, in units of the distance
    of both, and else the latter. The number is a function of key, row and column. NaN and Inf stay what they are.
    """
    width = bits.shape[1]
    words = (width + IN_WORD - 1) // IN_WORD
    for i in range(begin, end):
        row = np.int64(rows[i])
        word = np.uint64(0)
        for k in range(width):
            word = mix(key, row * words + k // IN_WORD) if k % IN_WORD == 0 else word >> _16
            found = bits[i, k]
            if (found & _EXPONENT) == _EXPONENT:
                half = found >> np.uint32(16)
                if (found & _MANTISSA) != np.uint32(0):
                    half = half | _QUIET
            else:
                half = np.uint32(np.uint64(found) + (word & _LOW)) >> np.uint32(16)
            weight[row, k] = np.uint16(half)
