"""Which rows of a matrix have changed since they were looked at: by a sum of 64 bits for each row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hooke.hashing.jit import compiled, key_of
from hooke.hashing.threads import ONE, Threads

Sums = NDArray[np.uint64]
_STREAM = 0x4A30
"""Part of the key that no other random numbers of this package have."""
_16 = np.uint32(16)


@compiled(reassociate=True)
def sum_rows(begin: int, end: int, words: NDArray[Any], factors: Sums, sums: Sums) -> None:
    """Write sums[i] = sum_k factors[k] w(words[i, k]) modulo 2^64, for i in begin..end-1.

    w(x) = x ^ (x >> 16), so that two different words differ in one of their lower 16 bits.
    """
    for i in range(begin, end):
        total = np.uint64(0)
        for k in range(words.shape[1]):
            word = np.uint32(words[i, k])
            total += factors[k] * np.uint64(word ^ (word >> _16))
        sums[i] = total


def sums_of(words: NDArray[Any], threads: Threads = ONE) -> Sums:
    """Return a sum for each row of a matrix of words (n, width) of 16 or 32 bits: the bits of its elements.

    Two different rows have equal sums with a chance of at most 2^-49: the difference of two words is an odd number
    times 2^v with v < 16, and factors are random (Dietzfelbinger et al. 1997, multilinear hashing).
    """
    factors = np.random.default_rng(int(key_of(_STREAM))).integers(0, 2**64, words.shape[1], np.uint64)
    sums = np.empty(len(words), np.uint64)
    threads.over(len(words), lambda begin, end: sum_rows(begin, end, words, factors, sums), 256)
    return sums
