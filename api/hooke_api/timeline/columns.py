"""The trace of a run as columns: what the timeline is computed from. Times are seconds since its time 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hooke.trace.export import align, remarks
from hooke.trace.phases import PHASES
from hooke.trace.reading import RankTrace
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

COMPUTE = PHASES.index("compute")
DATA = PHASES.index("data")
EVALUATE = PHASES.index("evaluate")
REBUILD = PHASES.index("rebuild")


@dataclass(frozen=True)
class Calls:
    """Operations or background transfers of one rank, in the order in which they began; arrays of equal length."""

    name: Indices
    """Position in `Trace.names`."""
    part: Indices
    peer: Indices
    began: Floats
    """When the rank entered the operation, or posted the transfer."""
    ended: Floats
    waited_from: Floats
    """When the rank began to be blocked in it; of an operation, its beginning."""
    waited_until: Floats
    bytes: Indices

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True)
class RankColumns:
    """One rank: its phases without gaps, its operations, its background transfers."""

    rank: int
    role: str
    host: str
    phase: Indices
    """Position in PHASES of each slice."""
    began: Floats
    ended: Floats
    step: Indices
    """Number of the gradient that a slice belongs to, from 1; 0 before the first."""
    operations: Calls
    transfers: Calls

    @property
    def finite(self) -> bool:
        """Return whether all times are numbers, as every answer needs them."""
        times = [self.began, self.ended]
        for calls in (self.operations, self.transfers):
            times += [calls.began, calls.ended, calls.waited_from, calls.waited_until]
        return all(bool(np.isfinite(each).all()) for each in times)


@dataclass(frozen=True)
class Trace:
    """All ranks of one attempt that have a trace, ascending."""

    ranks: tuple[RankColumns, ...]
    names: tuple[str, ...]
    """Names of operations."""
    simulated: bool
    spread: float | None
    """See `hooke.trace.export.align`."""
    remarks: tuple[str, ...]

    @property
    def span(self) -> float:
        """Return the time at which the last record ends."""
        return max((float(rank.ended[-1]) for rank in self.ranks if len(rank.ended)), default=0.0)

    @property
    def nbytes(self) -> int:
        """Return the size in memory, bytes."""
        parts = [part for rank in self.ranks for part in (rank, rank.operations, rank.transfers)]
        return sum(int(a.nbytes) for part in parts for a in vars(part).values() if isinstance(a, np.ndarray))


def columns(traces: Sequence[RankTrace], ranks: int) -> Trace:
    """Return the traces of a run of `ranks` ranks as columns."""
    origins, spread = align(traces)
    names: dict[str, int] = {}
    found = [_rank(trace, origins[trace.header["rank"]], names) for trace in traces]
    return Trace(
        ranks=tuple(sorted(found, key=lambda rank: rank.rank)),
        names=tuple(names),
        simulated=any(trace.header["world"] == "virtual" for trace in traces),
        spread=spread,
        remarks=tuple(remarks(traces, ranks)),
    )


def _rank(trace: RankTrace, origin: float, names: dict[str, int]) -> RankColumns:
    number = {str(phase): i for i, phase in enumerate(PHASES)}
    phase = np.array([number[each.phase] for each in trace.phases], dtype=np.int64)
    before = (phase == DATA) | (
        phase == REBUILD
    )  # a batch and tables are made ready for the gradient that follows
    step = np.cumsum(phase == COMPUTE) + before
    operations = sorted(trace.operations, key=lambda each: each.began)
    transfers = sorted(trace.transfers, key=lambda each: each.posted)
    return RankColumns(
        rank=trace.header["rank"],
        role=trace.header["role"],
        host=trace.header["host"],
        phase=phase,
        began=_times([each.began for each in trace.phases], origin),
        ended=_times([each.ended for each in trace.phases], origin),
        step=step,
        operations=_calls(
            [
                (each.name, each.part, each.peer, each.began, each.ended, each.began, each.ended, each.bytes)
                for each in operations
            ],
            origin,
            names,
        ),
        transfers=_calls(
            [
                (
                    each.name, each.part, each.peer, each.posted, each.completed, each.waited_from,
                    each.waited_until, each.bytes,
                )
                for each in transfers
            ],
            origin,
            names,
        ),
    )  # fmt: skip


def _calls(rows: list[tuple[Any, ...]], origin: float, names: dict[str, int]) -> Calls:
    name, part, peer, began, ended, waited_from, waited_until, size = zip(*rows, strict=True) if rows else [()] * 8
    return Calls(
        name=_numbers([names.setdefault(each, len(names)) for each in name]),
        part=_numbers(part),
        peer=_numbers(peer),
        began=_times(began, origin),
        ended=_times(ended, origin),
        waited_from=_times(waited_from, origin),
        waited_until=_times(waited_until, origin),
        bytes=_numbers(size),
    )


def _times(values: Sequence[float], origin: float) -> Floats:
    return np.asarray(values, dtype=np.float64) - origin


def _numbers(values: Sequence[int]) -> Indices:
    return np.asarray(values, dtype=np.int64)
