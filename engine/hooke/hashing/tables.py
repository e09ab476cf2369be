"""Hash tables of the rows of a layer: (re)build, update of touched rows, queries, statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hooke.errors import ArgumentError
from hooke.hashing.entries import check_ids
from hooke.hashing.family import Family, Floats, Ints
from hooke.hashing.half_weights import Widened
from hooke.hashing.jit import key_of
from hooke.hashing.lists import Lists
from hooke.hashing.rows import rows_of
from hooke.hashing.sizes import MOST_BITS, bytes_of_code
from hooke.hashing.table_kernels import THRESHOLD, TOP, UNION, VANILLA, collect, fill_tables, replace_codes
from hooke.hashing.threads import ONE, Threads

Policy = Literal["fifo", "reservoir"]
Strategy = Literal["union", "vanilla", "top-k", "threshold"]

_STRATEGIES = {"union": UNION, "vanilla": VANILLA, "top-k": TOP, "threshold": THRESHOLD}
_ROWS_AT_ONCE = 65536


@dataclass(frozen=True)
class Load:
    """Figures of filled tables."""

    mean: float
    """Mean number of ids in a bucket that is not empty."""
    most: int
    """Largest number of ids in a bucket."""
    empty: float
    """Share of empty buckets."""
    dropped: int
    """Ids that are not in their bucket because it is full, summed over tables."""


class Tables:
    """`tables` hash tables with 2**bits buckets of at most `capacity` ids each.

    Layout per table: all ids in the order of their buckets, and 2**bits + 1 offsets, made by counting sort; tables
    are filled in parallel, so without races and equally for any number of threads. Memory for C rows:
    L (4 C + 4 * 2**bits + C * size of a code) bytes, where a code takes 1, 2 or 4 bytes. A bucket is a function of
    the codes, of the order of insertion and, with policy "reservoir", of the seed:

    - fifo: the last `capacity` ids inserted of those whose code it is;
    - reservoir: a uniform sample of them.

    `update` writes new codes of some rows and fills the tables anew; codes of other rows are remembered, and not
    computed again. Filling costs a few ns per row and table, much less than computing codes.
    """

    def __init__(
        self, tables: int, bits: int, capacity: int = 128, policy: Policy = "fifo", seed: int = 0
    ) -> None:
        for name, value in (("tables", tables), ("bits", bits), ("capacity", capacity)):
            if value < 1:
                raise ArgumentError(f"{name} of hash tables is {value}; it must be at least 1")
        if bits > MOST_BITS:
            raise ArgumentError(f"bucket ids have {bits} bits; at most {MOST_BITS} are possible: lower K")
        if policy not in ("fifo", "reservoir"):
            raise ArgumentError(f"no policy of buckets is called {policy!r}; there are: fifo, reservoir")
        if seed < 0:
            raise ArgumentError(f"the seed of hash tables is {seed}; it must be at least 0")
        self.tables, self.bits, self.capacity, self.policy, self.seed = tables, bits, capacity, policy, seed
        self._type = {1: np.uint8, 2: np.uint16, 4: np.int32}[bytes_of_code(bits)]
        self._codes: NDArray[Any] = np.empty((tables, 0), self._type)
        self._starts = np.zeros((tables, (1 << bits) + 1), np.int32)
        self._ids = np.empty((tables, 0), np.int32)
        self._order = np.empty(0, np.int32)
        self._fills = 0

    @property
    def rows(self) -> int:
        """Number of rows in the tables, C."""
        return int(self._codes.shape[1])

    @property
    def bytes(self) -> int:
        """Memory of tables and remembered codes."""
        return sum(array.nbytes for array in (self._codes, self._starts, self._ids, self._order))

    def build(self, codes: Ints, threads: Threads = ONE) -> None:
        """Forget what is there and insert rows 0..C-1 with the codes (C, L)."""
        self._check(codes)
        self._allocate(len(codes))
        self._codes[:] = codes.T
        self._fill(threads)

    def build_from(self, family: Family, vectors: Floats | Widened, threads: Threads = ONE) -> None:
        """Insert all rows of `vectors` (C, dim); hashes some thousands at a time, in order to save memory."""
        self._check_family(family)
        self._allocate(len(vectors))
        for begin in range(0, len(vectors), _ROWS_AT_ONCE):
            part = slice(begin, begin + _ROWS_AT_ONCE)
            self._write(part, family.codes(vectors[part], threads).T, threads)
        self._fill(threads)

    def update(
        self, rows: NDArray[np.integer[Any]], codes: Ints, threads: Threads = ONE, last: bool = True
    ) -> int:
        """Insert `rows` anew, with new codes (n, L); return how many ids changed buckets.

        Rows must be different ones. `last`: they become the last ones inserted, and buckets have the ids as after
        a build with all codes in the new order. Else the order stays: the tables are those of a build.
        """
        self._check(codes)
        if len(rows) != len(codes):
            raise ArgumentError(f"{len(codes)} rows of codes given for {len(rows)} rows of the layer")
        if len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < self.rows:
            raise ArgumentError(f"rows {rows.min()} to {rows.max()} given to tables of {self.rows} rows")
        others = np.ones(self.rows, bool)
        others[rows] = False
        if int(others.sum()) + len(rows) != self.rows:
            raise ArgumentError("the rows of an update are not different ones: leave repeated rows out")
        moved = np.zeros(self.tables, np.int64)
        where, new = np.ascontiguousarray(rows, np.int64), np.ascontiguousarray(codes.T, np.int32)
        threads.over(self.tables, lambda begin, end: replace_codes(begin, end, self._codes, where, new, moved))
        if last:
            self._order = np.concatenate([self._order[others[self._order]], where.astype(np.int32)])
        if moved.any() or self._drops():
            self._fill(threads)
        elif not last:
            self._fills += 1  # as of a build, so that a later sample of a full bucket is that of a build
        return int(moved.sum())

    def update_from(
        self,
        family: Family,
        vectors: Floats | Widened,
        rows: NDArray[np.integer[Any]],
        threads: Threads = ONE,
        last: bool = True,
    ) -> int:
        """Hash the given rows of `vectors` (C, dim) anew, and update."""
        self._check_family(family)
        ids, codes = rows.astype(np.int32), np.empty((self.tables, len(rows)), np.int32)
        check_ids(ids, len(vectors), "rows")
        for begin in range(0, len(rows), _ROWS_AT_ONCE):
            part = slice(begin, begin + _ROWS_AT_ONCE)
            if isinstance(vectors, Widened):
                own = vectors.rows(ids[part], threads)
            else:
                own = rows_of(vectors, ids[part], threads)
            codes[:, part] = family.codes(own, threads).T
        return self.update(rows, codes.T, threads, last)

    def query(
        self,
        codes: Ints,
        strategy: Strategy = "union",
        limit: int | None = None,
        times: int = 2,
        step: int = 0,
        threads: Threads = ONE,
    ) -> Lists:
        """Return for each sample different ids from its buckets; `codes` (b, L).

        `limit`: the most ids of a sample; None: all. Strategies:

        - union: a uniform choice, by (seed, step), of the ids of all buckets;
        - vanilla: tables in random order, by (seed, step), until `limit` ids are found;
        - top-k: the ids found in most tables;
        - threshold: the ids found in at least `times` tables.
        """
        self._check(codes)
        if strategy not in _STRATEGIES:
            raise ArgumentError(f"no strategy is called {strategy!r}; there are: {', '.join(_STRATEGIES)}")
        if (limit is not None and limit < 1) or times < 1:
            raise ArgumentError(f"limit is {limit} and times is {times}; both must be at least 1")
        b, codes = len(codes), np.ascontiguousarray(codes, np.int32)
        each = np.arange(self.tables)
        found = (self._starts[each, codes + 1] - self._starts[each, codes]).sum(axis=1)
        most = int(found.max(initial=0))
        width = most if limit is None else min(most, limit)
        lists, sizes = np.empty((b, width), np.int32), np.zeros(b, np.int64)
        key, kind = key_of(self.seed, 5, step), _STRATEGIES[strategy]

        def work(begin: int, end: int) -> None:
            collect(begin, end, codes, self._starts, self._ids, kind, width, times, key, lists, sizes)

        if width:
            threads.over(b, work)
        return Lists.of_matrix(lists, sizes)

    def union_of_batch(
        self,
        codes: Ints,
        limit: int,
        step: int = 0,
        threads: Threads = ONE,
        strategy: Strategy = "top-k",
        times: int = 2,
    ) -> Ints:
        """Return at most `limit` different ids, sorted, for a batch that shares them; `codes` (b, L).

        Each sample contributes limit / b ids as `query` chooses them, by default those that are in most of its
        buckets; of equal ones those drawn by (seed, step).
        """
        if limit < len(codes):
            raise ArgumentError(f"a batch of {len(codes)} samples shares {limit} ids: at least one each is needed")
        each = limit // max(len(codes), 1)
        return np.unique(self.query(codes, strategy, each, times, step, threads).ids)

    def bucket(self, table: int, code: int) -> Ints:
        """Return the ids in a bucket."""
        return self._ids[table, self._starts[table, code] : self._starts[table, code + 1]].copy()

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what `restore` needs: codes, order of insertion, number of fills."""
        return {"codes": self._codes.copy(), "order": self._order.copy(), "fills": np.array(self._fills)}

    def restore(self, state: dict[str, NDArray[Any]], threads: Threads = ONE) -> None:
        """Make the tables equal to those whose `state` this is, if they have the same arguments."""
        self._check(state["codes"].T)
        self._allocate(state["codes"].shape[1])
        self._codes[:], self._order[:], self._fills = state["codes"], state["order"], int(state["fills"]) - 1
        self._fill(threads)

    def statistics(self) -> Load:
        """Return figures of the buckets."""
        sizes = np.diff(self._starts, axis=1)
        filled = int(np.count_nonzero(sizes))
        total = int(sizes.sum())
        return Load(
            mean=total / filled if filled else 0.0,
            most=int(sizes.max()),
            empty=1 - filled / sizes.size,
            dropped=self.tables * self.rows - total,
        )

    def _allocate(self, rows: int) -> None:
        if rows != self.rows:
            self._codes = np.empty((self.tables, rows), self._type)
            self._ids = np.empty((self.tables, rows), np.int32)
        self._order = np.arange(rows, dtype=np.int32)

    def _write(self, part: slice, codes: Ints, threads: Threads) -> None:
        """Remember the codes (L, n) of some rows."""

        def work(begin: int, end: int) -> None:
            self._codes[begin:end, part] = codes[begin:end]

        threads.over(self.tables, work)

    def _drops(self) -> bool:
        """Return whether an id is in no bucket, so that the order of insertion matters."""
        return int(self._starts[:, -1].sum()) < self.tables * self.rows

    def _fill(self, threads: Threads) -> None:
        self._fills += 1
        key, reservoir = key_of(self.seed, 6, self._fills), self.policy == "reservoir"

        def work(begin: int, end: int) -> None:
            fill_tables(
                begin, end, self._codes, self._order, self.capacity, reservoir, key, self._starts, self._ids
            )

        threads.over(self.tables, work)

    def _check(self, codes: Ints) -> None:
        if codes.ndim != 2 or codes.shape[1] != self.tables:
            raise ArgumentError(f"codes of shape {codes.shape} given to {self.tables} tables: (n, {self.tables})")
        if codes.size and not 0 <= int(codes.min()) <= int(codes.max()) < 1 << self.bits:
            raise ArgumentError(f"codes {codes.min()} to {codes.max()} given to tables of 2**{self.bits} buckets")

    def _check_family(self, family: Family) -> None:
        if (family.tables, family.bits) != (self.tables, self.bits):
            raise ArgumentError(
                f"a family for {family.tables} tables of {family.bits} bits given to "
                f"{self.tables} tables of {self.bits} bits"
            )
