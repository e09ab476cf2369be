"""Measurements of the network and of memory, by the communicator that methods use."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from hooke.calibration.documents import Curve, Kind, Point
from hooke.calibration.fitting import estimate, line
from hooke.calibration.timing import ROUNDS, timed
from hooke.comm import collectives
from hooke.comm.collectives import Collective
from hooke.comm.elements import add

if TYPE_CHECKING:
    from hooke.comm.mpi.communicator import MpiComm

MESSAGES = (8, 1 << 10, 1 << 14, 1 << 17, 1 << 19, 1 << 21)
SUMS = (1 << 12, 1 << 15, 1 << 17, 1 << 19, 1 << 21)
WINDOWS = (1 << 12, 1 << 17, 1 << 21)
MEMORY = (1 << 14, 1 << 17, 1 << 20, 1 << 23)
OTHER_PAIRS = (8, 1 << 19)
"""Sizes that are measured between all pairs; the rest between ranks 0 and 1."""
PAIRS = 6
"""Number of pairs at most; more are sampled."""
WRITTEN = 1 << 15
"""Bytes from which vectors are written anew before each execution; shorter ones are repeated in one sample."""
STREAM = 16
"""Messages in a stream."""


@dataclass(frozen=True)
class Measured:
    """What is measured: a curve and a point of it."""

    kind: Kind
    bytes: int
    ranks: int
    collective: Collective | None = None
    pair: tuple[int, int] | None = None


Found = dict[Measured, list[list[float]]]
"""Samples of each round."""


def pairs(ranks: int) -> list[tuple[int, int]]:
    """Return all pairs of ranks, or PAIRS of them with (0, 1) first, always the same ones."""
    every = list(itertools.combinations(range(ranks), 2))
    if len(every) <= PAIRS:
        return every
    return [every[0], *sorted(random.Random(0).sample(every[1:], PAIRS - 1))]  # noqa: S311 - a sample, no secret


def counts(ranks: int) -> list[int]:
    """Return the numbers of ranks whose all-reduces are measured: 2, 4, ... and all of them."""
    powers = [1 << k for k in range(1, ranks.bit_length()) if 1 << k < ranks]
    return [*powers, ranks] if ranks > 1 else []


def measure(comm: MpiComm, seconds: float) -> list[Curve]:
    """Measure everything within about `seconds`; the same curves on every rank."""
    found: Found = {}
    number = _number(comm.size)
    with _groups(comm) as groups:
        for _ in range(ROUNDS):
            for each in _all(comm, groups):
                share = seconds / ROUNDS / number
                taken = timed(each.group, each.operation, share, each.prepare) if each.group is not None else []
                found.setdefault(each.what, []).append([duration / each.parts for duration in taken])
    return curves(found) if comm.rank == 0 else []


def curves(found: Found) -> list[Curve]:
    """Return the curves of all samples with their lines."""
    grouped: dict[tuple[Kind, Collective | None], list[Point]] = {}
    for what, rounds in found.items():
        known = estimate(rounds)
        point = Point(**known.model_dump(), bytes=what.bytes, ranks=what.ranks, pair=what.pair)
        grouped.setdefault((what.kind, what.collective), []).append(point)
    return [Curve(kind=k, collective=c, points=p, line=_line(k, c, p)) for (k, c), p in grouped.items()]


def _line(kind: Kind, collective: Collective | None, points: list[Point]) -> Any:
    if collective == "library":
        return None
    path = [critical(kind, collective, point.ranks, point.bytes) for point in points]
    return line([messages for messages, _ in path], [size for _, size in path], points)


def critical(kind: Kind, collective: Collective | None, ranks: int, size: int) -> tuple[int, float]:
    """Return (messages, bytes) that rank 0 handles one after the other: its rounds are a longest path."""
    if kind == "all-reduce" and collective:
        rounds = collectives.allreduce(ranks, size // 4, collective)[0]
    elif kind == "all-gather":
        rounds = collectives.allgather(ranks, size // 4 // ranks, "tree")[0]
    else:
        return 1, float(size)
    longest = [max(len(r.send or ()), len(r.receive or ())) for r in rounds]
    return len(rounds), 4.0 * sum(longest)


@contextmanager
def _groups(comm: MpiComm) -> Iterator[dict[int, MpiComm | None]]:
    """Make a communicator of the first ranks for every number of ranks; None on the other ranks."""
    made: dict[int, MpiComm | None] = {}
    all_made = []
    for count in counts(comm.size):
        if count == comm.size:
            made[count] = comm
            continue
        part = comm.split(0 if comm.rank < count else 1)
        all_made.append(part)
        made[count] = part if comm.rank < count else None
    usual = comm.collective
    try:
        yield made
    finally:
        comm.collective = usual
        for part in all_made:
            part.close()


@dataclass(frozen=True)
class Step:
    """One measurement."""

    what: Measured
    group: MpiComm | None
    """The ranks that take part; None: not this one."""
    operation: Callable[[], None]
    parts: int = 1
    """Divisor of a duration."""
    prepare: Callable[[], None] | None = None
    """Writes what is sent, before each execution."""


def _number(ranks: int) -> int:
    points = len(MESSAGES) + (len(pairs(ranks)) - 1) * len(OTHER_PAIRS) + 2 * len(MEMORY) + 2 * len(WINDOWS) + 3
    return points + len(counts(ranks)) * len(SUMS) * (len(get_args(Collective)) + 1)


def _all(comm: MpiComm, groups: dict[int, MpiComm | None]) -> Iterator[Step]:
    yield from _of_memory(comm)
    if comm.size == 1:
        return
    yield from _of_messages(comm)
    for count, group in groups.items():
        yield from _of_sums(count, group)
    yield from _of_windows(comm)


def _vector(elements: int) -> Any:
    """Return zeros that have been written: reading memory that never was takes less time."""
    return np.full(elements, 0.0, np.float32)


def _of_memory(comm: MpiComm) -> Iterator[Step]:
    for size in MEMORY:
        source, target = _vector(size // 4), _vector(size // 4)
        yield Step(Measured("copy", size, comm.size), comm, functools.partial(np.copyto, target, source))
        yield Step(Measured("add", size, comm.size), comm, functools.partial(add, target, source))


def _of_messages(comm: MpiComm) -> Iterator[Step]:
    for number, (first, second) in enumerate(pairs(comm.size)):
        for size in MESSAGES if number == 0 else OTHER_PAIRS:
            data = _vector(max(1, size // 4))
            trip = functools.partial(_round_trip, comm, data, first, second)
            yield Step(Measured("message", size, 2, pair=(first, second)), comm, trip, 2)
    for size in MESSAGES[:3]:
        data = _vector(max(1, size // 4))
        yield Step(Measured("stream", size, 2, pair=(0, 1)), comm, functools.partial(_stream, comm, data), STREAM)


def _round_trip(comm: MpiComm, data: Any, first: int, second: int) -> None:
    if comm.rank == first:
        comm.send(data, second)
        comm.recv(data, second)
    elif comm.rank == second:
        comm.recv(data, first)
        comm.send(data, first)


def _stream(comm: MpiComm, data: Any) -> None:
    for _ in range(STREAM):
        if comm.rank == 0:
            comm.send(data, 1)
        elif comm.rank == 1:
            comm.recv(data, 0)


def _of_sums(count: int, group: MpiComm | None) -> Iterator[Step]:
    schedules: tuple[Collective, ...] = get_args(Collective)
    for size in SUMS:
        vector = _vector(size // 4)
        for collective in schedules:
            operation = functools.partial(_sum, group, vector, collective)
            yield Step(Measured("all-reduce", size, count, collective), group, operation)
        blocks = _vector(size // 4 // count * count)
        gather = functools.partial(_gather, group, blocks)
        yield Step(Measured("all-gather", size, count), group, gather, prepare=_writing(blocks))


def _sum(group: MpiComm | None, vector: Any, collective: Literal["tree", "halving", "ring", "library"]) -> None:
    if group is not None:
        group.collective = collective
        group.allreduce(vector)


def _gather(group: MpiComm | None, blocks: Any) -> None:
    if group is not None:
        group.collective = "tree"
        group.allgather(blocks)


def _of_windows(comm: MpiComm) -> Iterator[Step]:
    """Time rank 1, while rank 0, the owner, waits at a barrier."""
    for size in WINDOWS:
        vector = _vector(size // 4)
        window = comm.window(vector, 0)
        reads = comm.rank == 1
        fill = functools.partial(_if, comm.rank == 0, window.put, vector)
        written = fill if size >= WRITTEN else None
        operations: dict[Kind, Callable[[Any], None]] = {
            "window get": window.get,
            "window add": window.accumulate,
        }
        for kind, operation in operations.items():
            access = functools.partial(_if, reads, operation, vector)
            yield Step(Measured(kind, size, 2), comm, access, prepare=written)
        window.close()


def _writing(vector: Any) -> Callable[[], None] | None:
    return functools.partial(vector.fill, 0.0) if vector.nbytes >= WRITTEN else None


def _if(mine: bool, operation: Callable[[Any], None], vector: Any) -> None:
    if mine:
        operation(vector)
