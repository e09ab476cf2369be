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


@compiled()
def seat(draw: Ints, seats: Ints, shared: Ints) -> int:
    """Write the different rows of a draw to shared[:n], their places to the hash set `seats`; return n."""
    for s in range(len(seats)):
        seats[s] = _FREE
    n = 0
    for row in draw:
        s = find(row, seats, shared)
        if seats[s] == _FREE:
            seats[s] = n
            shared[n] = row
            n += 1
    return n


@compiled()
def assemble_own(
    begin: int, end: int, label_starts: Longs, label_ids: Ints, starts: Longs, ids: Ints, shared: Ints,
    seats: Ints, order: Ints, least: int, cap: int, key: np.uint64, rows: Ints, sizes: Longs, positives: Longs,
    targets: Ints, hits: Longs,
) -> None:  # fmt: skip
    """Write what samples begin..end-1 have beside the rows `shared`; see Assembler.drawn.

    rows[i, :sizes[i]] are not shared; the first positives[i] ones are labels. targets[i, :hits[i]] are the places
    in `shared` of the labels that are.
    """
    slots = 16
    while slots < 2 * rows.shape[1]:
        slots *= 2
    taken = np.empty(slots, np.int32)
    for i in range(begin, end):
        for s in range(slots):
            taken[s] = _FREE
        chosen, known = rows[i], targets[i]
        n, hit = 0, 0
        for e in range(label_starts[i], label_starts[i + 1]):
            seated = seats[find(label_ids[e], seats, shared)]
            if seated == _FREE:
                n = put(label_ids[e], taken, chosen, n)
                continue
            again = False
            for j in range(hit):
                again = again or known[j] == seated
            if not again:
                known[hit] = seated
                hit += 1
        positives[i], hits[i] = n, hit
        for e in range(starts[i], starts[i + 1]):
            if n + len(shared) == cap:
                break
            if seats[find(ids[e], seats, shared)] == _FREE:
                n = put(ids[e], taken, chosen, n)
        place = np.int64(mix(key, i) % np.uint64(len(order)))
        while n + len(shared) < least:
            if seats[find(order[place], seats, shared)] == _FREE:
                n = put(order[place], taken, chosen, n)
            place += np.int64(1)
            if place == len(order):
                place = np.int64(0)
        sizes[i] = n


@compiled(helper=True)
def find(row: int, seats: Ints, shared: Ints) -> int:
    """Return where the place of `row` in `shared` is, or would be, in `seats`."""
    mask = len(seats) - 1
    s = ((np.int64(row) * 2654435761) >> 12) & mask
    while seats[s] != _FREE and shared[seats[s]] != row:
        s = (s + 1) & mask
    return s  # type: ignore[return-value]
