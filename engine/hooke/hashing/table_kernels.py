"""Kernels of the hash tables: filling by counting sort, and queries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hooke.hashing.family import Ints
from hooke.hashing.jit import compiled, mix
from hooke.hashing.lists import Longs

UNION, VANILLA, TOP, THRESHOLD = 0, 1, 2, 3

_FREE = np.int32(-1)
_32 = np.uint64(32)


@compiled()
def fill_tables(
    begin: int, end: int, codes: NDArray[Any], order: Ints, capacity: int, reservoir: bool, key: np.uint64,
    starts: Ints, ids: Ints,
) -> None:  # fmt: skip
    """Fill tables begin..end-1: ids[t, starts[t, b]:starts[t, b + 1]] are rows with codes[t, row] == b.

    Of a bucket with more rows than `capacity`, the last ones in `order` are kept (FIFO), or a uniform sample
    (reservoir sampling, algorithm R).
    """
    n, buckets = codes.shape[1], starts.shape[1] - 1
    count = np.zeros(buckets, np.int32)
    seen = np.zeros(buckets, np.int32)
    for t in range(begin, end):
        for b in range(buckets):
            count[b] = 0
            seen[b] = 0
        for row in range(n):
            count[codes[t, row]] += 1
        total = 0
        for b in range(buckets):
            starts[t, b] = total
            total += min(count[b], capacity)
        starts[t, buckets] = total
        if total == n:
            for b in range(buckets):
                seen[b] = starts[t, b]
            for i in range(n):
                row = order[i]
                b = codes[t, row]
                ids[t, seen[b]] = row
                seen[b] += 1
            continue
        for i in range(n):
            row = order[i]
            b = codes[t, row]
            number = seen[b]
            seen[b] = number + 1
            slot = np.int64(number)
            if count[b] > capacity:
                if not reservoir:
                    slot = np.int64(number) - count[b] + capacity
                elif number >= capacity:
                    slot = np.int64(mix(key, t * n + row) % np.uint64(number + 1))
            if 0 <= slot < capacity:
                ids[t, starts[t, b] + slot] = row


@compiled()
def replace_codes(begin: int, end: int, codes: NDArray[Any], rows: Longs, new: Ints, moved: Longs) -> None:
    """Set codes[t, rows[j]] = new[t, j] for tables begin..end-1; moved[t]: how many of them change."""
    for t in range(begin, end):
        moved[t] = 0
        for j in range(len(rows)):
            if codes[t, rows[j]] != new[t, j]:
                codes[t, rows[j]] = new[t, j]
                moved[t] += 1


@compiled()
def collect(
    begin: int, end: int, codes: Ints, starts: Ints, ids: Ints, strategy: int, limit: int, times: int,
    key: np.uint64, lists: Ints, sizes: Longs,
) -> None:  # fmt: skip
    """Write lists[i, :sizes[i]], the different ids in the buckets codes[i, t] of all tables t, as `strategy` says.

    Tables are read in an order drawn from (key, i), and each bucket from a place drawn likewise, so that ids have
    equal chances where not all can be taken. Ids and their frequencies are found by a hash table with open
    addresses whose size follows from the buckets, not from the number of rows.
    """
    tables = codes.shape[1]
    order = np.empty(tables, np.int64)
    for i in range(begin, end):
        found_most = 0
        for t in range(tables):
            found_most += starts[t, codes[i, t] + 1] - starts[t, codes[i, t]]
            other = np.int64(mix(key, i * tables + t) % np.uint64(t + 1))
            order[t] = order[other]
            order[other] = t
        slots = 16
        while slots < 2 * found_most:
            slots *= 2
        place = np.empty(slots, np.int32)
        for free in range(slots):
            place[free] = _FREE
        found = np.empty(found_most, np.int32)
        hits = np.zeros(found_most, np.int32)
        n = 0
        for o in range(tables):
            t = order[o]
            first = np.int64(starts[t, codes[i, t]])
            stop = np.int64(starts[t, codes[i, t] + 1])
            if first == stop:
                continue
            at = first + np.int64((mix(key, i * tables + t) >> _32) % np.uint64(stop - first))
            for _ in range(stop - first):
                row = ids[t, at]
                at = at + 1 if at + 1 < stop else first
                s = ((np.int64(row) * 2654435761) >> 12) & (slots - 1)
                while place[s] != _FREE and found[place[s]] != row:
                    s = (s + 1) & (slots - 1)
                if place[s] == _FREE:
                    place[s] = n
                    found[n] = row
                    n += 1
                hits[place[s]] += 1
                if strategy == VANILLA and n == limit:
                    break
            if strategy == VANILLA and n == limit:
                break
        sizes[i] = select(found, hits, n, strategy, limit, times, mix(key, -1 - i), lists[i])


@compiled(helper=True)
def select(
    found: Ints, hits: Ints, n: int, strategy: int, limit: int, times: int, key: np.uint64, chosen: Ints
) -> int:
    """Write at most `limit` of found[:n] to `chosen`; return how many.

    UNION: a uniform choice. VANILLA: the first ones. TOP: those with most hits, the first ones of equal ones.
    THRESHOLD: those with at least `times` hits; if there are too many, those with most of them.
    """
    if strategy == UNION:
        if n > limit:
            for j in range(limit):
                other = j + np.int64(mix(key, j) % np.uint64(n - j))
                kept = found[other]
                found[other] = found[j]
                found[j] = kept
            n = limit
        for j in range(n):
            chosen[j] = found[j]
        return n
    if strategy == VANILLA:
        for j in range(n):
            chosen[j] = found[j]
        return n
    most = 0
    for j in range(n):
        most = max(most, int(hits[j]))
    frequency = np.zeros(most + 1, np.int64)
    for j in range(n):
        frequency[hits[j]] += 1
    lowest = 1 if strategy == TOP else times
    level, reached = most + 1, 0
    while level > lowest and reached < limit:
        level -= 1
        reached += frequency[level]
    size = 0
    for j in range(n):
        if hits[j] > level:
            chosen[size] = found[j]
            size += 1
    for j in range(n):
        if hits[j] == level and size < limit:
            chosen[size] = found[j]
            size += 1
    return size
