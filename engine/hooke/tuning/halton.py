"""A scrambled Halton sequence.

A. B. Owen, "A randomized Halton algorithm in R", 2017 (arXiv:1706.02808), Algorithm 1. The points are those of
`scipy.stats.qmc.Halton`, whose import would stay in the memory of a server with all of `scipy.stats`, 60 MB.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

BITS = 54
"""Digits are permuted as long as they change a double-precision number: base^-k > 2^-54."""


def halton(dimensions: int, count: int, skip: int, seed: int) -> Iterator[list[float]]:
    """Yield the points number `skip` to `count` of the sequence in the unit cube of so many dimensions."""
    import numpy as np

    (random,) = np.random.default_rng(seed).spawn(1)  # as SciPy makes a generator of its own
    scrambled = []
    for base in _primes(dimensions):
        permutations = []
        for _ in range(math.ceil(BITS / math.log2(base)) - 1):
            digits = np.arange(base)
            random.shuffle(digits)
            permutations.append(digits.tolist())
        scrambled.append((base, permutations))
    for number in range(skip, count):
        yield [_inverse(number, base, permutations) for base, permutations in scrambled]


def _inverse(number: int, base: int, permutations: list[list[int]]) -> float:
    """Return the radical inverse of a number: its digits, each permuted, mirrored at the point."""
    found, weight = 0.0, 1.0 / base
    for digits in permutations:
        number, digit = divmod(number, base)
        found += digits[digit] * weight
        weight /= base
    return found


def _primes(count: int) -> list[int]:
    found: list[int] = []
    candidate = 2
    while len(found) < count:
        if all(candidate % prime for prime in found):
            found.append(candidate)
        candidate += 1
    return found
