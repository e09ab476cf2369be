"""The figures of a run that a comparison needs, wherever they come from: rows of a database, or journals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hooke.spec.states import RunState
from hooke.trace.phases import PHASES

FINISHED = frozenset({RunState.SUCCEEDED, RunState.TIMED_OUT})
"""States of runs that ended normally."""
FAILED = frozenset({RunState.FAILED_USER, RunState.FAILED_INFRA})


@dataclass(frozen=True)
class PhaseSums:
    """Totals over the ranks of one run."""

    shares: Mapping[str, float]
    """Share of wall time per phase, mean over workers; empty before the first step."""
    hidden: float
    """s, mean over workers."""
    wire: float
    """Bytes, all ranks."""


@dataclass(frozen=True)
class RankSums:
    """What one rank has summed up so far."""

    worker: bool
    seconds: Sequence[float]
    """s in each of PHASES."""
    hidden: float
    wire: float


def add_up(ranks: Sequence[RankSums]) -> PhaseSums:
    """Return the totals of a run; shares are those of the workers that have taken time."""
    workers = [rank for rank in ranks if rank.worker]
    timed = [(rank.seconds, math.fsum(rank.seconds)) for rank in workers if math.fsum(rank.seconds) > 0]
    shares = {
        str(phase): math.fsum(seconds[i] / total for seconds, total in timed) / len(timed)
        for i, phase in enumerate(PHASES)
        if timed
    }
    hidden = math.fsum(rank.hidden for rank in workers) / len(workers) if workers else 0.0
    return PhaseSums(shares, hidden, math.fsum(rank.wire for rank in ranks))


@dataclass(frozen=True)
class RunFigures:
    """One run: its cell, how it ended, and its figures so far. Times are train-clock seconds."""

    variant: str
    algorithm: str
    cluster: str
    workers: int
    servers: int
    seed: int
    simulated: bool
    state: RunState
    trial: int | None = None
    """The trial whose setting it has, from 1; None where parameters are as given."""
    rung: int | None = None
    """Of a trial: the rung of its search, from 0. None: the run is reported."""
    diverged: bool = False
    """Whether it ended with NaN or Inf."""
    oversubscribed: bool = False
    overlap: str | None = None
    """The other cluster whose run computed on the same machine at the same time."""
    evaluated_part: str | None = None
    """The part of the data that evaluations score; None before it begins."""
    samples: int = 0
    clock: float = 0.0
    """Train clock of the latest step or evaluation, s."""
    accuracy: float | None = None
    """Of the latest evaluation, fraction."""
    loss: float | None = None
    target_accuracy: float | None = None
    """Of the first evaluation that met the target, fraction."""
    best_accuracy: float | None = None
    """The largest of all evaluations, fraction."""
    test_accuracy: float | None = None
    time_to_target: float | None = None
    """Train clock of the first evaluation that met the target, s."""
    target_after: float | None = None
    """Train clock of the evaluation before it, s (0: there was none)."""
    communication_fraction: float | None = None
    staleness: float | None = None
    lost_mass: float | None = None
    energy: float | None = None
    """Joules of the whole machine while the ranks ran, to the end; None: not known, or simulated."""
    energy_shared: bool = False
    """Whether others used much of the machine meanwhile."""
    totals: PhaseSums | None = field(default=None, repr=False)


def throughput(run: RunFigures) -> float | None:
    """Return the samples per train-clock second of a run."""
    return run.samples / run.clock if run.clock > 0 else None
