"""The operations of a calibration: what is measured of memory, messages, collectives and windows."""

from __future__ import annotations

import functools
import itertools
import random
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from hooke.calibration.documents import Kind
from hooke.calibration.timing import timed
from hooke.comm.collectives import Collective
from hooke.comm.elements import add

if TYPE_CHECKING:
    from hooke.comm.base import Window
    from hooke.comm.mpi.communicator import MpiComm

MESSAGES = (8, 1 << 10, 1 << 14, 1 << 17, 1 << 19, 1 << 21)
SUMS = (1 << 12, 1 << 15, 1 << 17, 1 << 19, 1 << 21)
WINDOWS = (1 << 12, 1 << 17, 1 << 21)
BACKGROUND = (1 << 12, 1 << 17, 1 << 19)
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


def pairs(ranks: int) -> list[tuple[int, int]]:
    """Return all pairs of ranks, or PAIRS of them with (0, 1) first, always the same ones."""
    every = list(itertools.combinations(range(ranks), 2))
    if len(every) <= PAIRS:
        return every
    return [every[0], *sorted(random.Random(0).sample(every[1:], PAIRS - 1))]  # noqa: S311 - a sample, no secret


def counts(ranks: int, oversubscribed: bool = False) -> list[int]:
    """Return the numbers of ranks whose all-reduces are measured: 2, 4, ... and all of them.

    `oversubscribed`: ranks share cores, so the time of fewer of them says nothing of all: only all.
    """
    powers = [1 << k for k in range(1, ranks.bit_length()) if 1 << k < ranks and not oversubscribed]
    return [*powers, ranks] if ranks > 1 else []


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
    without: Callable[[], None] | None = None
    """What is timed, too, and subtracted: the operation adds to it."""
    in_steps: bool = False
    """Whether it is measured by what it adds to steps (`hooke.calibration.sharing`)."""


def number_of_steps(ranks: int, oversubscribed: bool = False) -> int:
    """Return by how many measurements the time is divided."""
    points = 2 * len(BACKGROUND) + len(MESSAGES) + 2 * len(MEMORY) + len(WINDOWS) + 3
    if not oversubscribed:
        points += len(WINDOWS) + (len(pairs(ranks)) - 1) * len(OTHER_PAIRS)
    return points + len(counts(ranks, oversubscribed)) * len(SUMS) * (len(get_args(Collective)) + 1)


def steps(comm: MpiComm, groups: dict[int, MpiComm | None], oversubscribed: bool = False) -> Iterator[Step]:
    """Yield every measurement of a round; `groups`: the first ranks, by number; `oversubscribed`: of all ranks."""
    apart = comm.ranks_on_this_host < comm.size  # an owner that computes may answer late
    for each in _steps(comm, groups, oversubscribed, apart):
        shared = oversubscribed and each.what.kind != "stream"  # a stream is one of two ranks that do nothing else
        yield replace(each, in_steps=shared or (apart and each.what.kind == "window get"))


def _steps(comm: MpiComm, groups: dict[int, MpiComm | None], oversubscribed: bool, apart: bool) -> Iterator[Step]:
    yield from _of_memory(comm)
    if comm.size == 1:
        return
    yield from _of_messages_to_the_next(comm) if oversubscribed else _of_messages(comm)
    yield from _of_streams(comm)
    for count, group in groups.items():
        yield from _of_sums(count, group)
    yield from _of_background(comm)
    yield from _of_accesses(comm) if oversubscribed or apart else _of_windows(comm)


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


def _of_messages_to_the_next(comm: MpiComm) -> Iterator[Step]:
    """Every rank sends to the next one and receives from the one before: all exchange something at once."""
    for size in MESSAGES:
        sent, received = _vector(max(1, size // 4)), _vector(max(1, size // 4))
        trade = functools.partial(_trade, comm, sent, received)
        yield Step(Measured("message", size, comm.size), comm, trade)


def _trade(comm: MpiComm, sent: Any, received: Any) -> None:
    sending = comm.isend(sent, (comm.rank + 1) % comm.size)
    comm.irecv(received, (comm.rank - 1) % comm.size).wait()
    sending.wait()


def _of_streams(comm: MpiComm) -> Iterator[Step]:
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


def _sum(group: MpiComm | None, vector: Any, collective: Collective) -> None:
    if group is not None:
        group.collective = collective
        group.allreduce(vector)


def _gather(group: MpiComm | None, blocks: Any) -> None:
    if group is not None:
        group.collective = "tree"
        group.allgather(blocks)


def _of_background(comm: MpiComm) -> Iterator[Step]:
    """Time an all-reduce behind a computation of about twice its length, against the computation alone."""
    for size in BACKGROUND:
        vector = _vector(size // 4)
        comm.collective = "halving"
        length = statistics.median(timed(comm, functools.partial(comm.allreduce, vector), 0.01))
        matrix = np.full((96, 96), 1 / 96, np.float32)
        once = statistics.median(timed(comm, functools.partial(np.dot, matrix, matrix), 0.005))
        times = max(4, min(400, int(2 * length / max(once, 1e-7))))
        behind = functools.partial(_behind, comm, vector, matrix, times)
        alone = functools.partial(_work, matrix, times)
        yield Step(Measured("background", size, comm.size, "halving"), comm, behind, without=alone)


def _behind(comm: MpiComm, vector: Any, matrix: Any, times: int) -> None:
    comm.collective = "halving"
    pending = comm.iallreduce(vector)
    _work(matrix, times)
    pending.wait()


def _work(matrix: Any, times: int) -> None:
    for _ in range(times):
        np.dot(matrix, matrix)


def _of_accesses(comm: MpiComm) -> Iterator[Step]:
    """Every rank reads a window of rank 0 and adds to it, as in a step of a lock-free method."""
    for size in WINDOWS:
        vector = _vector(size // 4)
        window = comm.window(vector, 0)
        yield Step(Measured("window get", size, comm.size), comm, functools.partial(_access, window, vector))
        window.close()


def _access(window: Window, vector: Any) -> None:
    window.get(vector)
    window.accumulate(vector)


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
