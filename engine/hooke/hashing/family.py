"""What a family of hash functions offers, and the checks that all families share."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hooke.errors import ArgumentError
from hooke.hashing.sizes import MOST_BITS
from hooke.hashing.threads import Threads

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
Offsets = NDArray[np.integer[Any]]

ROWS_AT_ONCE = 8192


class Family(Protocol):
    """Hash functions of vectors with `dim` elements, drawn from (seed, parameters): one code per table.

    Two instances with equal arguments have equal functions. The code of a vector depends on nothing else: not on
    its neighbours in a call, nor on the number of threads.
    """

    dim: int
    tables: int
    """Number of tables, L."""
    bits: int
    """Codes are in range(2**bits)."""

    def codes(self, vectors: Floats, threads: Threads = ...) -> Ints:
        """Return the codes of `vectors` (n, dim) as (n, L), stored table by table (Fortran order)."""

    def sparse_codes(self, starts: Offsets, ids: Ints, values: Floats, threads: Threads = ...) -> Ints:
        """Return the codes of n sparse vectors: vector i has values[a:b] at ids[a:b], a, b = starts[i:i+2]."""


def check_sizes(dim: int, per_table: int, tables: int, bits: int, seed: int) -> None:
    """Raise ArgumentError unless the sizes of a family are possible."""
    for name, value in (("dim", dim), ("hashes per table (K)", per_table), ("tables (L)", tables)):
        if value < 1:
            raise ArgumentError(f"{name} is {value}; it must be at least 1")
    if seed < 0:
        raise ArgumentError(f"the seed of hash functions is {seed}; it must be at least 0")
    if bits > MOST_BITS:
        raise ArgumentError(
            f"K = {per_table} hashes per table make bucket ids of {bits} bits, so 2**{bits} buckets per table; "
            f"at most {MOST_BITS} bits are possible: lower K"
        )


def check_vectors(vectors: Floats, dim: int) -> Floats:
    """Return `vectors` as a contiguous float32 matrix with `dim` columns."""
    if vectors.ndim != 2 or vectors.shape[1] != dim:
        raise ArgumentError(f"vectors of shape {vectors.shape} given to a family for shape (n, {dim})")
    return np.ascontiguousarray(vectors, np.float32)


def check_sparse(starts: Offsets, ids: Ints, values: Floats, dim: int) -> None:
    """Raise ArgumentError unless (starts, ids, values) are sparse vectors with `dim` elements."""
    if not len(starts) or int(starts[-1]) != len(ids) or len(ids) != len(values):
        raise ArgumentError(
            f"sparse vectors end at {starts[-1:]}, but have {len(ids)} ids and {len(values)} values"
        )
    if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < dim:
        raise ArgumentError(
            f"sparse vectors with ids {ids.min()} to {ids.max()} given to a family for range({dim})"
        )


def densified(family: Family, starts: Offsets, ids: Ints, values: Floats, threads: Threads) -> Ints:
    """Return `family.codes` of sparse vectors, which are made dense some thousands at a time."""
    check_sparse(starts, ids, values, family.dim)
    n = len(starts) - 1
    codes = np.empty((family.tables, n), np.int32)
    for begin in range(0, n, ROWS_AT_ONCE):
        end = min(n, begin + ROWS_AT_ONCE)
        part = slice(int(starts[begin]), int(starts[end]))
        rows = np.repeat(np.arange(end - begin), np.diff(starts[begin : end + 1]))
        block = np.zeros((end - begin, family.dim), np.float32)
        block[rows, ids[part]] = values[part]
        codes[:, begin:end] = family.codes(block, threads).T
    return codes.T
