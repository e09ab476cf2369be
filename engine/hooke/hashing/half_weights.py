"""Matrices in bfloat16 that others own: rows rounded at random into them, and widened parts of them.

The rule of rounding is that of `hooke.hashing.half_rows`. This module needs no torch: a matrix is an array of
uint16, the upper halves of float32.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hooke.errors import ArgumentError
from hooke.hashing.entries import check_ids
from hooke.hashing.family import Floats, Ints
from hooke.hashing.half_kernels import Halves, round_rows, widen_rows
from hooke.hashing.jit import key_of
from hooke.hashing.threads import ONE, Threads

_STREAM = 0x4A20
"""Part of the key that no other random numbers of this package have."""


def put_rows(
    weight: Halves, rows: Ints, values: NDArray[np.float32], words: tuple[int, int, int], threads: Threads = ONE
) -> None:
    """Overwrite these rows of a matrix, different ones, by float32 values (k, width), rounded at random.

    The random bits are a function of `words` (seed, number of the matrix, step), row and column. Values that
    bfloat16 has are kept. Raises ArgumentError for ids out of range, and values of another shape or type.
    """
    check_ids(rows, len(weight), "rows")
    if values.shape != (len(rows), weight.shape[1]) or values.dtype != np.float32:
        raise ArgumentError(
            f"{values.dtype} values of shape {values.shape} given for {len(rows)} rows of {weight.shape[1]} "
            "weights: give float32 of that shape"
        )
    patterns, key = np.ascontiguousarray(values).view(np.uint32), key_of(*words[:1], _STREAM, *words[1:])
    threads.over(len(rows), lambda begin, end: round_rows(begin, end, rows, patterns, weight, key), 64)


def rows_of_half(weight: Halves, rows: Ints, threads: Threads = ONE) -> Floats:
    """Return float32 copies of these rows, (k, width)."""
    check_ids(rows, len(weight), "rows")
    found = np.empty((len(rows), weight.shape[1]), np.uint32)
    threads.over(len(rows), lambda begin, end: widen_rows(begin, end, rows, weight, found), 64)
    return found.view(np.float32)


class Widened:
    """The rows of a matrix in bfloat16 as float32, some at a time: for whoever reads slices of rows."""

    def __init__(self, weight: Halves) -> None:
        self._weight = weight

    def __len__(self) -> int:
        return len(self._weight)

    def __getitem__(self, part: slice) -> Floats:
        """Return these rows."""
        return (self._weight[part].astype(np.uint32) << np.uint32(16)).view(np.float32)

    def rows(self, ids: Ints, threads: Threads = ONE) -> Floats:
        """Return copies of these rows."""
        return rows_of_half(self._weight, ids, threads)
