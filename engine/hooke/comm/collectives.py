"""Schedules of collective operations: which rank sends which part of the vector to whom, in which round.

MPI ranks execute the schedule, the virtual world computes its time, and tests count its messages. It also
defines the summation order (see `hooke.comm.base`): tree and halving form every element's sum by the same
additions in the same order, so they agree bit for bit for every number of ranks P and elements n, also n < P.
The ring has its own order.

    tree      binomial reduce to rank 0, binomial broadcast back: the paper's tree. Whole vectors;
              2 ceil(log2 P) rounds, 2 (P - 1) |W| bytes in total; time 2 ceil(log2 P) (A + |W| B).
    halving   recursive-halving reduce-scatter, recursive-doubling all-gather: for a power of two, time
              2 log2(P) A + 2 (P - 1)/P |W| B, optimal in bytes per rank (R. Thakur, R. Rabenseifner, W. Gropp,
              "Optimization of collective communication operations in MPICH", IJHPCA 19(1), 2005).
    ring      reduce-scatter and all-gather around a ring: time 2 (P - 1) A + 2 (P - 1)/P |W| B for every P,
              neighbours only (P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
              workstations", JPDC 69(2), 2009).
    library   the MPI library's all-reduce, without a schedule here and without a documented order.

The partner distance *doubles* in tree and halving (1, 2, 4, ...), which makes their orders equal.
When P is not a power of two, the ranks beyond the largest one, q, first hand their vector to rank r - q and
at the end receive the result from it.

An all-gather of blocks of n bytes moves (P - 1) n bytes into every rank, which no schedule can avoid: by recursive
doubling in log2(P) A + (P - 1) n B if P is a power of two, otherwise (and with the ring) around a ring in
(P - 1) (A + n B). A gather sends every block to the root directly.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any, Literal

from hooke.comm.elements import add
from hooke.comm.schedule import Part, Round, Schedule, without_empty
from hooke.errors import CommError

Collective = Literal["tree", "halving", "ring", "library"]


def ordered_sum(vectors: Sequence[Any], collective: Collective = "tree") -> Any:
    """Return the sum of equally long arrays in the documented order: the reference for every all-reduce."""
    x = [v.copy() for v in vectors]
    add_up(x, collective)
    return x[0]


def add_up(x: list[Any], collective: Collective = "tree") -> None:
    """Compute the sum of all arrays in x[0], in place and in the documented order; the others are overwritten."""
    if collective == "ring":
        _add_up_around(x)
        return
    q = largest_power_of_two(len(x))
    for r in range(q, len(x)):
        add(x[r - q], x[r])
    distance = 1
    while distance < q:
        for r in range(0, q, 2 * distance):
            add(x[r], x[r + distance])
        distance *= 2


def sum_of_equals(x: Any, ranks: int, collective: Collective = "tree") -> Any:
    """Return the sum of `ranks` vectors that all equal x, in the documented order: the bits of `ordered_sum`.

    That of the MPI library has no documented order: `ranks` times x.
    """
    if collective == "ring":
        total = x
        for _ in range(1, ranks):
            total = total + x
        return total
    if collective == "library":
        return x * ranks
    q = largest_power_of_two(ranks)
    return _sum_of_places(x, q, ranks - q, {})


def _sum_of_places(x: Any, places: int, doubled: int, known: dict[tuple[int, int], Any]) -> Any:
    """Return the sum over so many places of a tree, 2^k, of which the first `doubled` hold 2 x, the others x."""
    if doubled in (0, places):
        return x * (places + doubled)  # a power of two: exact, as every addition of equal numbers is
    if (places, doubled) not in known:
        half = places // 2
        first, second = min(doubled, half), max(doubled - half, 0)
        left = _sum_of_places(x, half, first, known)
        known[places, doubled] = left + _sum_of_places(x, half, second, known)
    return known[places, doubled]


def _add_up_around(x: list[Any]) -> None:
    ranks = len(x)
    for segment, part in enumerate(_segments(ranks, x[0].size)):
        total = x[segment][part.start : part.stop]
        for step in range(1, ranks):
            following = x[(segment + step) % ranks][part.start : part.stop]
            add(following, total)
            total = following
        x[0][part.start : part.stop] = total


def largest_power_of_two(ranks: int) -> int:
    """Return the largest power of two that is at most `ranks` (>= 1)."""
    return 1 << (ranks.bit_length() - 1)


def depth(ranks: int) -> int:
    """Return ceil(log2 ranks): the rounds of a binomial tree in one direction."""
    return (ranks - 1).bit_length()


@functools.lru_cache(maxsize=256)
def allreduce(ranks: int, elements: int, collective: Collective) -> Schedule:
    """Return the rounds that leave the sum of all vectors on every rank."""
    if collective == "ring":
        return tuple(without_empty(_ring(r, ranks, elements)) for r in range(ranks))
    if collective == "library":
        raise CommError("the all-reduce of the MPI library has no schedule here")
    q = largest_power_of_two(ranks)
    core = _tree if collective == "tree" else _halving
    whole = Part(0, elements)
    rounds: list[tuple[Round, ...]] = []
    for r in range(ranks):
        if r >= q:
            mine = [Round(r - q, whole, None), Round(r - q, None, whole)]
        else:
            mine = core(r, q, elements)
            if r + q < ranks:
                mine = [Round(r + q, None, whole, add=True), *mine, Round(r + q, whole, None)]
        rounds.append(without_empty(mine))
    return tuple(rounds)


@functools.lru_cache(maxsize=256)
def reduce(ranks: int, elements: int, root: int) -> Schedule:
    """Return the rounds that leave the sum of all vectors, in the order of `allreduce`, on `root`.

    ceil(log2 P) rounds, (P - 1) |W| bytes in total. The other ranks end with partial sums.
    """
    q = largest_power_of_two(ranks)
    whole = Part(0, elements)
    rounds: list[tuple[Round, ...]] = []
    for r in range(ranks):
        partner = r - q if r >= q else r + q
        # Addition commutes, so either rank of a pair may add: the root if it is one of the two.
        if partner >= ranks:
            mine = _up(r, q, whole, root)
        elif r == root or (r < q and partner != root):
            mine = [Round(partner, None, whole, add=True), *_up(r % q, q, whole, root)]
        else:
            mine = [Round(partner, whole, None)]
        rounds.append(without_empty(mine))
    return tuple(rounds)


@functools.lru_cache(maxsize=256)
def broadcast(ranks: int, elements: int, root: int) -> Schedule:
    """Return the rounds of a binomial broadcast from `root`, which lets the largest subtree start first."""
    whole = Part(0, elements)
    rounds: list[tuple[Round, ...]] = []
    for r in range(ranks):
        relative = (r - root) % ranks
        mine: list[Round] = []
        for level in reversed(range(depth(ranks))):
            distance = 1 << level
            position = relative % (2 * distance)
            if position == 0 and relative + distance < ranks:
                mine.append(Round((r + distance) % ranks, whole, None))
            elif position == distance:
                mine.append(Round((r - distance) % ranks, None, whole))
        rounds.append(without_empty(mine))
    return tuple(rounds)


def _tree(r: int, q: int, elements: int) -> list[Round]:
    """Binomial reduce to 0 and back, among q = 2^k ranks."""
    whole = Part(0, elements)
    up: list[Round] = []
    down: list[Round] = []
    distance = 1
    while distance < q:
        position = r % (2 * distance)
        if position == 0:
            up.append(Round(r + distance, None, whole, add=True))
            down.append(Round(r + distance, whole, None))
        elif position == distance:
            up.append(Round(r - distance, whole, None))
            down.append(Round(r - distance, None, whole))
        distance *= 2
    return up + down[::-1]


@functools.lru_cache(maxsize=256)
def allgather(ranks: int, elements: int, collective: Collective) -> Schedule:
    """Return the rounds that leave the block of every rank, `elements` long, on all ranks."""
    if collective == "library":
        raise CommError("an all-gather has the collective tree, halving or ring; `library` only adds")
    around = collective == "ring" or ranks != largest_power_of_two(ranks)
    core = _gather_around if around else _gather_doubling
    return tuple(without_empty(core(r, ranks, elements)) for r in range(ranks))


@functools.lru_cache(maxsize=256)
def gather(ranks: int, elements: int, root: int) -> Schedule:
    """Return the rounds that leave the block of every rank, `elements` long, on `root`: P - 1 messages to it."""
    rounds: list[tuple[Round, ...]] = []
    for r in range(ranks):
        others = [peer for peer in range(ranks) if peer != root]
        mine = [Round(peer, None, _blocks(peer, 1, elements)) for peer in others]
        rounds.append(without_empty(mine if r == root else [Round(root, _blocks(r, 1, elements), None)]))
    return tuple(rounds)


def _blocks(first: int, count: int, elements: int) -> Part:
    return Part(first * elements, (first + count) * elements)


def _gather_around(r: int, ranks: int, elements: int) -> list[Round]:
    """Send the block that arrived last to the right, receive the one before it from the left, P - 1 times."""
    right, left = (r + 1) % ranks, (r - 1) % ranks
    return [
        Round(
            right,
            _blocks((r - k) % ranks, 1, elements),
            _blocks((r - k - 1) % ranks, 1, elements),
            sender=left,
        )
        for k in range(ranks - 1)
    ]


def _gather_doubling(r: int, ranks: int, elements: int) -> list[Round]:
    """Exchange all blocks held so far with the rank at distance 1, 2, 4, ..."""
    rounds: list[Round] = []
    distance = 1
    while distance < ranks:
        held, theirs = r // distance * distance, (r ^ distance) // distance * distance
        rounds.append(Round(r ^ distance, _blocks(held, distance, elements), _blocks(theirs, distance, elements)))
        distance *= 2
    return rounds


def _up(place: int, q: int, whole: Part, root: int) -> list[Round]:
    """Binomial reduce among q = 2^k places to that of `root`, which takes the place root - q if it is beyond q.

    Exchanging the halves of a block swaps two summands, so renaming places by XOR does not change the bits.
    """
    root_place = root % q
    rounds: list[Round] = []
    distance = 1
    while distance < q:
        position = (place ^ root_place) % (2 * distance)
        peer = place ^ distance
        rank = root if peer == root_place else peer
        if position == 0:
            rounds.append(Round(rank, None, whole, add=True))
        elif position == distance:
            rounds.append(Round(rank, whole, None))
        distance *= 2
    return rounds


def _halving(r: int, q: int, elements: int) -> list[Round]:
    """Reduce-scatter by halving the part and doubling the distance; then the way back with whole sums."""
    up: list[Round] = []
    down: list[Round] = []
    held = Part(0, elements)  # equal on r and r ^ distance: it depends on the lower bits of r only
    distance = 1
    while distance < q:
        middle = (held.start + held.stop) // 2
        low, high = Part(held.start, middle), Part(middle, held.stop)
        keep, give = (high, low) if r & distance else (low, high)
        up.append(Round(r ^ distance, give, keep, add=True))
        down.append(Round(r ^ distance, keep, give))
        held = keep
        distance *= 2
    return up + down[::-1]


def _segments(ranks: int, elements: int) -> list[Part]:
    """Cut the vector into P parts whose sizes differ by at most one element."""
    bounds = [k * elements // ranks for k in range(ranks + 1)]
    return [Part(start, stop) for start, stop in itertools.pairwise(bounds)]


def _ring(r: int, ranks: int, elements: int) -> list[Round]:
    """Reduce-scatter, then all-gather: send to the right, receive from the left, P - 1 rounds each."""
    right, left = (r + 1) % ranks, (r - 1) % ranks
    parts = _segments(ranks, elements)
    scatter = [
        Round(right, parts[(r - k) % ranks], parts[(r - k - 1) % ranks], add=True, sender=left)
        for k in range(ranks - 1)
    ]
    gather = [
        Round(right, parts[(r + 1 - k) % ranks], parts[(r - k) % ranks], sender=left) for k in range(ranks - 1)
    ]
    return scatter + gather
