"""Kernels of the hash families. They work on blocks of LANES vectors, transposed, one vector per SIMD lane.

Every lane runs the same instructions in the same order, also where the last block is filled up with zeros, so
that the code of a vector depends on nothing but the vector.
"""

from __future__ import annotations

import numpy as np

from hooke.hashing.family import Floats, Ints, Offsets
from hooke.hashing.jit import compiled

LANES = 96
GROUP = 8
"""Coordinates of a bin that are compared in registers; a bin has a multiple of it, filled up by repetition."""

_NOTHING = np.float32(-np.inf)
_EMPTY = np.int32(-1)
_0, _1 = np.int32(0), np.int32(1)


@compiled()
def signed_codes(
    begin: int, end: int, vectors: Floats, index: Ints, plane: Floats, per_table: int, codes: Ints
) -> None:
    """Write codes[t, begin:end]: bits [sum_j plane[h, j] * vector[index[h, j]] < 0] of the hashes h of table t."""
    dim, (hashes, terms) = vectors.shape[1], index.shape
    block = np.zeros((dim, LANES), np.float32)
    total = np.empty(LANES, np.float32)
    code = np.zeros(LANES, np.int32)
    for first in range(begin, end, LANES):
        rows = min(LANES, end - first)
        for r in range(rows):
            for k in range(dim):
                block[k, r] = vectors[first + r, k]
        for h in range(hashes):
            for r in range(LANES):
                total[r] = np.float32(0)
            for j in range(0, terms, 4):
                a, b, c, d = index[h, j], index[h, j + 1], index[h, j + 2], index[h, j + 3]
                p, q, s, t = plane[h, j], plane[h, j + 1], plane[h, j + 2], plane[h, j + 3]
                for r in range(LANES):
                    total[r] += (p * block[a, r] + q * block[b, r]) + (s * block[c, r] + t * block[d, r])
            if h % per_table == 0:
                for r in range(LANES):
                    code[r] = _0
            for r in range(LANES):
                code[r] = (code[r] << _1) | (_1 if total[r] < np.float32(0) else _0)
            if h % per_table == per_table - 1:
                for r in range(rows):
                    codes[h // per_table, first + r] = code[r]


@compiled()
def winner_codes(
    begin: int, end: int, vectors: Floats, bins: Ints, borrow: Ints, per_table: int, shift: int, codes: Ints
) -> None:
    """Write codes[t, begin:end] of (densified) winner-take-all hashing.

    bins[h]: the coordinates of hash h; its value is the position of their largest element, the first one of equal
    ones. Densified if `borrow` (hashes, attempts) has rows: zeros are then missing, and a hash without elements
    takes the value of the first hash of its row of `borrow` that has some, else of the next one that has.
    """
    dim, (hashes, width) = vectors.shape[1], bins.shape
    dense = borrow.shape[0] > 0
    block = np.zeros((dim, LANES), np.float32)
    best = np.empty(LANES, np.float32)
    win = np.empty((hashes, LANES), np.int32)
    own = np.empty(hashes, np.int32)
    code = np.empty(LANES, np.int32)
    for first in range(begin, end, LANES):
        rows = min(LANES, end - first)
        for r in range(rows):
            for k in range(dim):
                x = vectors[first + r, k]
                block[k, r] = _NOTHING if dense and x == np.float32(0) else x
        lowest = _0
        for h in range(hashes):
            for r in range(LANES):
                best[r] = _NOTHING
                win[h, r] = _EMPTY
            for g in range(0, width, GROUP):
                c0, c1, c2, c3 = bins[h, g], bins[h, g + 1], bins[h, g + 2], bins[h, g + 3]
                c4, c5, c6, c7 = bins[h, g + 4], bins[h, g + 5], bins[h, g + 6], bins[h, g + 7]
                p0, p1, p2, p3 = np.int32(g), np.int32(g + 1), np.int32(g + 2), np.int32(g + 3)
                p4, p5, p6, p7 = np.int32(g + 4), np.int32(g + 5), np.int32(g + 6), np.int32(g + 7)
                for r in range(LANES):
                    top = best[r]
                    place = win[h, r]
                    x = block[c0, r]
                    place = p0 if x > top else place
                    top = x if x > top else top
                    x = block[c1, r]
                    place = p1 if x > top else place
                    top = x if x > top else top
                    x = block[c2, r]
                    place = p2 if x > top else place
                    top = x if x > top else top
                    x = block[c3, r]
                    place = p3 if x > top else place
                    top = x if x > top else top
                    x = block[c4, r]
                    place = p4 if x > top else place
                    top = x if x > top else top
                    x = block[c5, r]
                    place = p5 if x > top else place
                    top = x if x > top else top
                    x = block[c6, r]
                    place = p6 if x > top else place
                    top = x if x > top else top
                    x = block[c7, r]
                    place = p7 if x > top else place
                    top = x if x > top else top
                    best[r] = top
                    win[h, r] = place
            for r in range(LANES):
                lowest = min(lowest, win[h, r])
        if lowest < _0:
            for r in range(rows):
                for h in range(hashes):  # assignments of slices take seconds to compile
                    own[h] = win[h, r]
                fill_empty(own, borrow)
                for h in range(hashes):
                    win[h, r] = own[h]
        for t in range(hashes // per_table):
            for r in range(LANES):
                code[r] = _0
            for h in range(t * per_table, (t + 1) * per_table):
                for r in range(LANES):
                    code[r] = (code[r] << np.int32(shift)) | win[h, r]
            for r in range(rows):
                codes[t, first + r] = code[r]


@compiled(helper=True)
def fill_empty(win: Ints, borrow: Ints) -> None:
    """Give every hash of a vector without a value that of another one (Shrivastava 2017); 0 if none has."""
    hashes = win.shape[0]
    filled = 0
    for h in range(hashes):
        if win[h] != _EMPTY:
            filled += 1
    if filled == 0 or borrow.shape[0] == 0:
        for h in range(hashes):
            win[h] = max(win[h], _0)
        return
    for h in range(hashes):
        if win[h] == _EMPTY:
            source = -1
            for attempt in range(borrow.shape[1]):
                if win[borrow[h, attempt]] >= _0:
                    source = borrow[h, attempt]
                    break
            step = 1
            while source < 0:
                if win[(h + step) % hashes] >= _0:
                    source = (h + step) % hashes
                step += 1
            win[h] = -2 - win[source]  # marked, so that nobody borrows what was borrowed
    for h in range(hashes):
        if win[h] < _EMPTY:
            win[h] = -2 - win[h]


@compiled()
def sparse_winner_codes(
    begin: int, end: int, starts: Offsets, ids: Ints, values: Floats, homes: Ints, places: Ints, borrow: Ints,
    per_table: int, shift: int, codes: Ints,
) -> None:  # fmt: skip
    """Write the codes that `winner_codes` gives vectors begin..end-1, from their elements that are not 0.

    Coordinate c is at position places[c, p] of the bin of hash homes[c, p], for every permutation p; -1: of none.
    """
    hashes = codes.shape[0] * per_table
    best = np.empty(hashes, np.float32)
    win = np.empty(hashes, np.int32)
    for i in range(begin, end):
        for h in range(hashes):
            best[h] = _NOTHING
            win[h] = _EMPTY
        for e in range(starts[i], starts[i + 1]):
            x = values[e]
            if x != np.float32(0):
                for p in range(homes.shape[1]):
                    h = homes[ids[e], p]
                    place = places[ids[e], p]
                    if h >= 0 and (x > best[h] or (x == best[h] and place < win[h])):
                        best[h] = x
                        win[h] = place
        fill_empty(win, borrow)
        for t in range(codes.shape[0]):
            code = 0
            for h in range(t * per_table, (t + 1) * per_table):
                code = (code << shift) | win[h]
            codes[t, i] = code
