"""SimHash: a bit is the sign of a random projection (Charikar 2002), dense or with few elements +-1."""

from __future__ import annotations

import math

import numpy as np

from hooke.hashing.family import Floats, Ints, Offsets, check_sizes, check_vectors, densified
from hooke.hashing.hash_kernels import LANES, signed_codes
from hooke.hashing.threads import ONE, Threads


class SimHash:
    """K signs of projections on Gaussian planes per table.

    A bit of two vectors with angle theta is equal with probability 1 - theta / pi. Cost per vector: K L dim
    multiplications. Sums run in one fixed order for every vector, by a kernel and not by BLAS, whose order may
    depend on the number of rows and threads: a row that is hashed alone must get the code it has in a rebuild.
    """

    def __init__(self, dim: int, per_table: int, tables: int, seed: int = 0) -> None:
        check_sizes(dim, per_table, tables, per_table, seed)
        self.dim, self.tables, self.bits = dim, tables, per_table
        self._index, self._plane = self._draw(np.random.default_rng((seed, 1)))

    def _draw(self, random: np.random.Generator) -> tuple[Ints, Floats]:
        """Return coordinates and factors of every hash, as (K L, terms); `terms` is a multiple of 4."""
        hashes, terms = self.bits * self.tables, -(-self.dim // 4) * 4
        index, plane = np.zeros((hashes, terms), np.int32), np.zeros((hashes, terms), np.float32)
        index[:, : self.dim] = np.arange(self.dim, dtype=np.int32)
        plane[:, : self.dim] = random.standard_normal((hashes, self.dim), np.float32)
        return index, plane

    def codes(self, vectors: Floats, threads: Threads = ONE) -> Ints:
        """Return the codes of `vectors` (n, dim) as (n, L)."""
        vectors = check_vectors(vectors, self.dim)
        codes = np.empty((self.tables, len(vectors)), np.int32)
        threads.over(
            len(vectors),
            lambda begin, end: signed_codes(begin, end, vectors, self._index, self._plane, self.bits, codes),
            LANES,
        )
        return codes.T

    def sparse_codes(self, starts: Offsets, ids: Ints, values: Floats, threads: Threads = ONE) -> Ints:
        """Return the codes of sparse vectors as (n, L); missing elements are 0."""
        return densified(self, starts, ids, values, threads)


class SparseSimHash(SimHash):
    """K signs per table of sums of ceil(dim / 3) random coordinates with random signs (Achlioptas 2003).

    A third of the cost of SimHash. The law 1 - theta / pi holds approximately, for vectors without a few
    dominating elements.
    """

    def _draw(self, random: np.random.Generator) -> tuple[Ints, Floats]:
        hashes, used = self.bits * self.tables, math.ceil(self.dim / 3)
        terms = -(-used // 4) * 4
        index, plane = np.zeros((hashes, terms), np.int32), np.zeros((hashes, terms), np.float32)
        places = random.random((hashes, self.dim), np.float32)
        index[:, :used] = np.argpartition(places, used - 1, axis=1)[:, :used]
        plane[:, :used] = random.choice(np.array([-1, 1], np.float32), (hashes, used))
        return index, plane
