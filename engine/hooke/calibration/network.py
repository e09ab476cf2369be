"""Measurements of the network and of memory, by the communicator that methods use."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hooke.calibration.documents import ROUNDS, Curve, Kind, Point
from hooke.calibration.fitting import estimate, line
from hooke.calibration.operations import Measured, Step, counts, number_of_steps, steps
from hooke.calibration.paths import critical
from hooke.calibration.sharing import StepTimer, outnumber_cores
from hooke.calibration.timing import timed
from hooke.comm.collectives import Collective

if TYPE_CHECKING:
    from hooke.comm.mpi.communicator import MpiComm

Found = dict[Measured, list[list[float]]]
"""Samples of each round."""


def measure(comm: MpiComm, seconds: float) -> list[Curve]:
    """Measure everything within about `seconds`; the same curves on every rank."""
    found: Found = {}
    oversubscribed = outnumber_cores(comm)
    share = seconds / ROUNDS / number_of_steps(comm.size, oversubscribed)
    with _groups(comm, oversubscribed) as groups:
        for _ in range(ROUNDS):
            timer: StepTimer | None = None
            for each in steps(comm, groups, oversubscribed):
                if each.in_steps:
                    timer = timer or StepTimer(comm, 4 * share)
                taken = _added(each, timer, share) if timer and each.in_steps else _taken(each, share)
                found.setdefault(each.what, []).append([duration / each.parts for duration in taken])
    return curves(found) if comm.rank == 0 else []


def _taken(step: Step, seconds: float) -> list[float]:
    if step.group is None:
        return []
    taken = timed(step.group, step.operation, seconds, step.prepare)
    if step.without is None:
        return taken
    usual = statistics.median(timed(step.group, step.without, seconds))
    return [max(0.0, duration - usual) for duration in taken]


def _added(step: Step, timer: StepTimer, seconds: float) -> list[float]:
    """Measure what an operation of all ranks adds to the steps that they take."""
    kind = step.what.kind
    if kind in ("copy", "add"):
        return timer.alone(step.operation, seconds)
    if kind == "window get":
        return timer.of_a_window(step.operation, seconds)
    if step.without is not None:
        return timer.behind(step.operation, step.without, seconds)
    return timer.together(step.operation, seconds)


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


@contextmanager
def _groups(comm: MpiComm, oversubscribed: bool) -> Iterator[dict[int, MpiComm | None]]:
    """Make a communicator of the first ranks for every number of ranks; None on the other ranks."""
    made: dict[int, MpiComm | None] = {}
    all_made = []
    for count in counts(comm.size, oversubscribed):
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
