"""Entries of a sparse matrix (sample, row), sorted by row: what one step per touched row needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hooke.errors import ArgumentError
from hooke.hashing.family import Ints
from hooke.hashing.kernels import count_entries, scatter_entries, sort_parts
from hooke.hashing.lists import Lists, Longs
from hooke.hashing.step_kernels import Real
from hooke.hashing.threads import ONE, Threads

_CHUNKS = 16
_KEYS = 4096
"""Rows of a part at most: their counters stay in the first-level cache."""
_LEAST = 2048
"""Entries of a range of threads, on average: to begin one takes about as long as to sort so many."""


@dataclass(frozen=True)
class Entries:
    """(row, sample, value) entries, sorted by row within parts; see `sort_parts` for the layout."""

    shape: tuple[int, int]
    """Samples and rows of the matrix."""
    parts: Longs
    distinct: Longs
    rows: Ints
    starts: Longs
    samples: Ints
    values: Real

    @property
    def places(self) -> Longs:
        """The place of each part's first row in `touched`."""
        return np.cumsum(self.distinct) - self.distinct

    def grain(self, least: int) -> int:
        """Return the number of parts that have about so many entries."""
        return max(1, least * len(self.distinct) // max(1, len(self.samples)))

    @property
    def touched(self) -> Ints:
        """The different rows."""
        size = int(self.distinct.sum())
        at = np.repeat(self.parts[:-1] - self.places, self.distinct) + np.arange(size)
        return self.rows[at]


def by_row(lists: Lists, values: Real, rows: int, threads: Threads = ONE) -> Entries:
    """Sort the entries (sample i, lists.ids[e], values[e]) by their ids, which are in range(rows).

    Parts hold the rows with equal lowest bits, so that frequent rows, often neighbours, are spread over parts.
    """
    samples, n = len(lists.starts) - 1, len(lists.ids)
    check_ids(lists.ids, rows, "rows")
    if len(values) != n:
        raise ArgumentError(f"{len(values)} values given for {n} entries")
    shift = max(6, (max(rows - 1, 1) // _KEYS).bit_length())
    mask, keys = (1 << shift) - 1, (max(rows - 1, 0) >> shift) + 1
    chunks = max(1, min(_CHUNKS, samples, n // _LEAST))
    bounds = np.arange(chunks + 1) * samples // chunks
    counts = np.zeros((chunks, mask + 1), np.int64)
    threads.over(
        chunks, lambda begin, end: count_entries(begin, end, bounds, lists.starts, lists.ids, mask, counts)
    )
    parts = np.zeros(mask + 2, np.int64)
    np.cumsum(counts.sum(axis=0), out=parts[1:])
    places = parts[:-1] + np.cumsum(counts, axis=0) - counts
    moved = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, values.dtype)
    entries = Entries(
        (samples, rows), parts, np.empty(mask + 1, np.int64), np.empty(n, np.int32), np.empty(n, np.int64),
        np.empty(n, np.int32), np.empty(n, values.dtype),
    )  # fmt: skip

    def scatter(begin: int, end: int) -> None:
        scatter_entries(begin, end, bounds, lists.starts, lists.ids, values, mask, places, *moved)

    def sort(begin: int, end: int) -> None:
        sort_parts(
            begin, end, parts, shift, keys, *moved,
            entries.rows, entries.starts, entries.samples, entries.values, entries.distinct,
        )  # fmt: skip

    threads.over(chunks, scatter)
    threads.over(mask + 1, sort, entries.grain(_LEAST))
    return entries


def check_ids(ids: Ints, rows: int, what: str) -> None:
    """Raise ArgumentError unless `ids` are in range(rows): kernels do not check what they read."""
    if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < rows:
        raise ArgumentError(f"{what} are {ids.min()} to {ids.max()}; they must be in range({rows})")
