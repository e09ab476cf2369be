"""Winner-take-all hashing (Yagnik 2011), densified (Chen and Shrivastava 2018), and minhash by the same bins.

Bucket ids concatenate K values of log2(m) bits each, exactly, so that all m**K buckets are reachable.
"""

from __future__ import annotations

import numpy as np

from hooke.errors import ArgumentError
from hooke.hashing.family import (
    ROWS_AT_ONCE,
    Floats,
    Ints,
    Offsets,
    check_sizes,
    check_sparse,
    check_vectors,
    densified,
)
from hooke.hashing.hash_kernels import GROUP, LANES, sparse_winner_codes, winner_codes
from hooke.hashing.sizes import WIDTH
from hooke.hashing.threads import ONE, Threads

ATTEMPTS = 100
"""Hashes that an empty hash tries to borrow from at random, before it takes the next one with a value."""


class _Winners:
    """Hashes that are positions of the largest element among `width` coordinates (m), a power of two."""

    def __init__(self, dim: int, per_table: int, tables: int, seed: int, width: int) -> None:
        shift = width.bit_length() - 1
        if width < 2 or width != 1 << shift:
            raise ArgumentError(f"coordinates per hash (m) are {width}; it must be a power of two, 2 at least")
        check_sizes(dim, per_table, tables, per_table * shift, seed)
        if width > dim:
            raise ArgumentError(f"coordinates per hash (m) are {width}, but vectors have {dim}: lower m")
        self.dim, self.tables, self.bits, self.width = dim, tables, per_table * shift, width
        self._per_table, self._shift, self._seed = per_table, shift, seed
        self._bins = np.zeros((per_table * tables, width), np.int32)
        self._borrow = np.zeros((0, ATTEMPTS), np.int32)

    def codes(self, vectors: Floats, threads: Threads = ONE) -> Ints:
        """Return the codes of `vectors` (n, dim) as (n, L)."""
        vectors = check_vectors(vectors, self.dim)
        codes = np.empty((self.tables, len(vectors)), np.int32)
        bins = np.resize(self._bins.T, (max(self.width, GROUP), len(self._bins))).T.copy()  # repeats win nothing
        sizes = self._per_table, self._shift

        def work(begin: int, end: int) -> None:
            winner_codes(begin, end, vectors, bins, self._borrow, *sizes, codes)

        threads.over(len(vectors), work, LANES)
        return codes.T

    def sparse_codes(self, starts: Offsets, ids: Ints, values: Floats, threads: Threads = ONE) -> Ints:
        """Return the codes of sparse vectors as (n, L)."""
        return densified(self, starts, ids, values, threads)


class WTA(_Winners):
    """Winner-take-all: every hash has m random coordinates of its own; zeros are elements like others.

    Values depend on the order of elements only. For vectors with many zeros use DWTA.
    """

    def __init__(self, dim: int, per_table: int, tables: int, seed: int = 0, width: int = WIDTH) -> None:
        super().__init__(dim, per_table, tables, seed, width)
        random = np.random.default_rng((seed, 2))
        for h in range(len(self._bins)):
            self._bins[h] = random.permutation(dim)[:width]


class DWTA(_Winners):
    """Densified winner-take-all: permutations of coordinates are cut into bins of m; zeros are missing elements.

    A hash whose bin has no element borrows the value of another one. Cost per vector: K L m comparisons if it is
    dense, and K L m / dim comparisons per element if it is sparse. Both paths give the same codes.
    """

    def __init__(self, dim: int, per_table: int, tables: int, seed: int = 0, width: int = WIDTH) -> None:
        super().__init__(dim, per_table, tables, seed, width)
        random = np.random.default_rng((seed, 3))
        hashes, each = per_table * tables, dim // width  # hashes of one permutation
        permutations = -(-hashes // each)
        self._homes = np.full((dim, permutations), -1, np.int32)
        self._places = np.full((dim, permutations), -1, np.int32)
        for p in range(permutations):
            order = random.permutation(dim).astype(np.int32)
            for h in range(p * each, min(hashes, (p + 1) * each)):
                own = order[(h - p * each) * width :][:width]
                self._bins[h] = own
                self._homes[own, p] = h
                self._places[own, p] = np.arange(width)
        self._borrow = random.integers(0, hashes, (hashes, ATTEMPTS), np.int32)

    def sparse_codes(self, starts: Offsets, ids: Ints, values: Floats, threads: Threads = ONE) -> Ints:
        """Return the codes of sparse vectors as (n, L), at a cost that grows with their elements only."""
        check_sparse(starts, ids, values, self.dim)
        offsets, n = starts.astype(np.int64), len(starts) - 1
        ids, values = np.ascontiguousarray(ids, np.int32), np.ascontiguousarray(values, np.float32)
        codes = np.empty((self.tables, n), np.int32)
        sizes = self._per_table, self._shift

        def work(begin: int, end: int) -> None:
            sparse_winner_codes(
                begin, end, offsets, ids, values, self._homes, self._places, self._borrow, *sizes, codes
            )

        threads.over(n, work, 8)
        return codes.T


class MinHash(DWTA):
    """Densified one-permutation minhash of the set of a vector's `top` largest elements that are not 0.

    The value of a hash is the position, in its bin of m coordinates in random order, of the first one in the set.
    Two sets have equal values with probability J, their Jaccard similarity, except that a bin which is empty for
    one of them only adds coincidences with probability 1/m. Sparse vectors are sets of their ids: values that are
    not 0 do not matter.
    """

    def __init__(
        self, dim: int, per_table: int, tables: int, seed: int = 0, width: int = WIDTH, top: int = 30
    ) -> None:
        super().__init__(dim, per_table, tables, seed, width)
        if top < 1:
            raise ArgumentError(f"elements kept for minhash (top) are {top}; it must be at least 1")
        self.top = top

    def codes(self, vectors: Floats, threads: Threads = ONE) -> Ints:
        """Return the codes of `vectors` (n, dim) as (n, L)."""
        vectors = check_vectors(vectors, self.dim)
        codes = np.empty((self.tables, len(vectors)), np.int32)
        for begin in range(0, len(vectors), ROWS_AT_ONCE):
            block = vectors[begin : begin + ROWS_AT_ONCE]
            codes[:, begin : begin + len(block)] = super().codes(self._members(block), threads).T
        return codes.T

    def sparse_codes(self, starts: Offsets, ids: Ints, values: Floats, threads: Threads = ONE) -> Ints:
        """Return the codes of sets as (n, L): set i has the ids with values that are not 0."""
        return super().sparse_codes(starts, ids, (values != 0).astype(np.float32), threads)

    def _members(self, block: Floats) -> Floats:
        """Return 1 for the members of each vector's set, 0 for the others."""
        members = np.zeros_like(block)
        if self.top >= self.dim:
            members[block != 0] = 1
        else:
            largest = np.argpartition(block, self.dim - self.top, axis=1)[:, self.dim - self.top :]
            np.put_along_axis(members, largest, np.float32(1), axis=1)
            members[block == 0] = 0
        return members
