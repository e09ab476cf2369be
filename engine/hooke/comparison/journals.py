"""The figures of a run from the journals of its ranks, as the API computes them at ingest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hooke.comparison.figures import RankSums, RunFigures, add_up
from hooke.spec.events import Done, Evaluation, Start, Steps
from hooke.spec.journal import records, unpack
from hooke.trace.phases import PHASES, communication_fraction


@dataclass
class _Rank:
    """What one rank has written so far."""

    worker: bool = True
    start: Start | None = None
    done: Done | None = None
    evaluations: list[Evaluation] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=lambda: {str(phase): 0.0 for phase in PHASES})
    samples: int = 0
    clock: float = 0.0
    wall: float = 0.0
    hidden: float = 0.0
    wire: float = 0.0

    def add(self, record: object) -> None:
        if isinstance(record, Start):
            self.start, self.worker = record, record.role == "worker"
        elif isinstance(record, Evaluation):
            self.evaluations.append(record)
        elif isinstance(record, Done):
            self.done = record
            self.seconds = {phase: record.phases[phase] for phase in self.seconds}
            self.samples, self.clock, self.wall = record.samples, record.clock, record.wall
            self.hidden, self.wire = record.hidden, record.wire
        elif isinstance(record, Steps):
            self._add_steps({name: unpack(name, text) for name, text in record.columns.items()})

    def _add_steps(self, columns: dict[str, list[float]]) -> None:
        for phase in self.seconds:
            self.seconds[phase] += math.fsum(columns.get(phase, ()))
        self.hidden += math.fsum(columns["hidden"])
        self.wire += math.fsum(columns["wire"])
        self.samples = max(self.samples, int(max(columns["samples"])))
        self.clock, self.wall = max(self.clock, *columns["clock"]), max(self.wall, *columns["wall"])


def read(folder: Path, ranks: int) -> list[_Rank]:
    """Return what each rank has written. Raises JournalError for a damaged journal."""
    found = []
    for rank in range(ranks):
        of_rank = _Rank()
        for record in records(folder / f"journal.{rank}.jsonl"):
            of_rank.add(record)
        found.append(of_rank)
    return found


def evaluations(folder: Path, ranks: int) -> list[Evaluation]:
    """Return the evaluations of a run, in order: those of the rank that decides."""
    return [each for rank in read(folder, ranks) for each in rank.evaluations]


def filled_in(run: RunFigures, folder: Path) -> RunFigures:
    """Return a run with the figures of its journals; its state and whether it diverged stay as given."""
    ranks = read(folder, run.workers + run.servers)
    scored = [each for rank in ranks for each in rank.evaluations]
    started = [rank.start for rank in ranks if rank.start is not None]
    ended = [rank.done for rank in ranks if rank.done is not None]
    reached = next((each for each in scored if each.reached), None)
    before = max((each.clock for each in scored if reached and each.samples < reached.samples), default=0.0)
    moved = any(rank.samples or rank.clock for rank in ranks)
    sums = [RankSums(rank.worker, list(rank.seconds.values()), rank.hidden, rank.wire) for rank in ranks]
    return replace(
        run,
        oversubscribed=any(start.oversubscribed for start in started),
        evaluated_part=started[0].evaluated_part if started else None,
        samples=max(rank.samples for rank in ranks),
        clock=max(rank.clock for rank in ranks),
        accuracy=_finite(scored[-1].accuracy) if scored else None,
        loss=_finite(scored[-1].loss) if scored else None,
        target_accuracy=_finite(reached.accuracy) if reached else None,
        best_accuracy=max((e.accuracy for e in scored if math.isfinite(e.accuracy)), default=None),
        test_accuracy=_last([done.test_accuracy for done in ended]),
        time_to_target=reached.clock if reached else None,
        target_after=min(before, reached.clock) if reached else None,
        communication_fraction=_fraction(ranks),
        staleness=_staleness(ended),
        lost_mass=_last([done.lost_mass for done in ended]),
        totals=add_up(sums) if moved else None,
    )


def _fraction(ranks: Sequence[_Rank]) -> float | None:
    """Return the communication fraction, mean over the workers that have one."""
    found = [
        communication_fraction(rank.seconds["communicate"], rank.wall, rank.seconds["evaluate"])
        for rank in ranks
        if rank.worker
    ]
    known = [each for each in found if each is not None]
    return sum(known) / len(known) if known else None


def _staleness(ended: Sequence[Done]) -> float | None:
    """Return the mean staleness over the exchanges of all ranks, if measured."""
    counted = [(staleness, count) for done in ended for staleness, count in done.staleness.items()]
    total = sum(count for _, count in counted)
    return sum(staleness * count for staleness, count in counted) / total if total else None


def _last(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return _finite(known[-1]) if known else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
