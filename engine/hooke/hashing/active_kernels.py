"""The kernel that assembles active sets."""

from __future__ import annotations

import numpy as np

from hooke.hashing.family import Ints
from hooke.hashing.jit import compiled, mix
from hooke.hashing.lists import Longs

_FREE = np.int32(-1)


@compiled()
def assemble(
    begin: int, end: int, label_starts: Longs, label_ids: Ints, starts: Longs, ids: Ints, draws: Ints,
    order: Ints, least: int, key: np.uint64, rows: Ints, sizes: Longs, positives: Longs,
) -> None:  # fmt: skip
    """Write the active sets of samples begin..end-1 to rows[i, :sizes[i]]; see Assembler."""
    b, cap = rows.shape
    groups, width = draws.shape
    slots = 16
    while slots < 2 * cap:
        slots *= 2
    taken = np.empty(slots, np.int32)
    for i in range(begin, end):
        for s in range(slots):
            taken[s] = _FREE
        chosen = rows[i]
        n = 0
        for e in range(label_starts[i], label_starts[i + 1]):
            n = put(label_ids[e], taken, chosen, n)
        positives[i] = n
        for j in range(width):
            n = put(draws[i * groups // b, j], taken, chosen, n)
        for e in range(starts[i], starts[i + 1]):
            if n == cap:
                break
            n = put(ids[e], taken, chosen, n)
        place = np.int64(mix(key, i) % np.uint64(len(order)))
        while n < least:
            n = put(order[place], taken, chosen, n)
            place += np.int64(1)
            if place == len(order):
                place = np.int64(0)
        sizes[i] = n


@compiled(helper=True)
def put(row: int, taken: Ints, chosen: Ints, n: int) -> int:
    """Write `row` to chosen[n] unless `taken`, the hash set of chosen[:n], has it; return the new n."""
    mask = len(taken) - 1
    s = ((np.int64(row) * 2654435761) >> 12) & mask
    while taken[s] != _FREE:
        if taken[s] == row:
            return n
        s = (s + 1) & mask
    taken[s] = row
    chosen[n] = row
    return n + 1
