"""Computes chunks, totals and the figures of a run from journal records, once, at ingest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import structlog
from hooke.spec.events import Done, Dropped, Evaluation, Start
from hooke.spec.further import FurtherMetric
from hooke.trace.phases import PHASES, communication_fraction
from sqlalchemy import and_, func, insert, or_, select
from sqlalchemy.orm import Session

from hooke_api.base.documents import storable_text
from hooke_api.ingest.records import Item, Refused, RefusedLine, RefusedReport, StepBlock
from hooke_api.models import (
    Attempt,
    Checkpoint,
    Chunk,
    DroppedWorker,
    RankTotals,
    Run,
    StoredEvaluation,
    database_time,
)
from hooke_api.storage import blocks
from hooke_api.storage.outbox import announce

REFUSALS_KEPT = 20
"""Records of an attempt that cannot be stored and are kept with their faults; others are only counted."""

log = structlog.get_logger("hooke.ingest")

SUMMED = (*(phase.value for phase in PHASES), "hidden", "payload", "wire", "messages")
"""Step columns that are summed to totals of a rank."""


class Figures:
    """Changes of an attempt's figures by one request; the caller holds the lock on the run's row."""

    def __init__(self, session: Session, run: Run, attempt: Attempt) -> None:
        self.session = session
        self.run = run
        self.attempt = attempt
        key = {"run_id": run.id, "attempt": attempt.number}
        self.ranks = {row.rank: row for row in session.scalars(select(RankTotals).filter_by(**key))}
        self.evaluations: list[Evaluation] = []
        self._scored: list[dict[str, Any]] = []
        """Rows of these, inserted together: one object each would take half of the time of a request."""
        self.started: list[Start] = []
        self.points = False
        self.ended: list[Done] = []
        self.part = run.evaluated_part or "test"
        """Part of the data that evaluations score, from a rank's `start` record."""

    def add(self, rank: int, items: Sequence[Item]) -> int:
        """Store the next records of a rank; return the highest seq stored without gap.

        Records that are already stored are skipped; records after a gap are ignored until the gap is filled.
        """
        totals = self.ranks.get(rank) or self._new_rank(rank)
        fresh: list[StepBlock] = []
        for item in items:
            if item.seq != totals.stored + 1:
                continue
            totals.stored = item.seq
            if isinstance(item, Refused):
                self.refuse(rank, item)
            elif isinstance(item, StepBlock):
                fresh.append(item)
            else:
                self._add_record(totals, item)
        if fresh:
            self._add_steps(totals, fresh)
        return totals.stored

    def refuse(self, rank: int | None, item: Refused | RefusedLine | RefusedReport) -> None:
        """Count a record that cannot be stored, and keep the first ones for users.

        `rank` None: a log line, or a report.
        """
        self.attempt.refused += 1
        if len(self.attempt.refusals) < REFUSALS_KEPT:
            text = storable_text(item.fault.message)[:300]
            entry = {
                "rank": rank,
                "seq": item.seq,
                "pointer": storable_text(item.fault.pointer)[:200],
                "message": text,
            }
            self.attempt.refusals = [*self.attempt.refusals, entry]
        log.warning("a record cannot be stored", run=self.run.id, rank=rank, seq=item.seq, why=str(item.fault))

    def finish(self, current: bool) -> None:
        """Store the evaluations; update the run's figures, if this attempt owns it, and announce new points."""
        if self._scored:
            self.session.execute(insert(StoredEvaluation), self._scored)
            self.run.evaluations += len(self._scored)
        if not current:
            return
        run = self.run
        for start in self.started:
            run.oversubscribed = run.oversubscribed or start.oversubscribed
        if self.started:
            run.hardware = dict(self.started[0].hardware)
            run.versions = dict(self.started[0].versions)
            run.evaluated_part = self.part
            if declared := self.started[0].further_metrics:
                run.further_metrics = [_storable(metric) for metric in declared]
        for evaluation in self.evaluations:
            run.accuracy, run.loss = _finite(evaluation.accuracy), _finite(evaluation.loss)
            if evaluation.reached and run.time_to_target is None:
                run.time_to_target, run.target_after = evaluation.clock, self._evaluated_before(evaluation)
        for done in self.ended:
            if done.test_accuracy is not None and done.test_loss is not None:
                run.test_accuracy, run.test_loss = _finite(done.test_accuracy), _finite(done.test_loss)
            if done.lost_mass is not None:
                run.lost_mass = _finite(done.lost_mass)
            if done.staleness:
                run.staleness = mean_staleness(list(self.ranks.values()))
        if not self.points:
            return
        run.samples = max(run.samples, *(rank.samples for rank in self.ranks.values()))
        run.clock = max(run.clock, *(rank.clock for rank in self.ranks.values()))
        run.communication_fraction = mean_fraction(list(self.ranks.values()))
        data = {
            "id": run.id,
            "experiment_id": run.experiment_id,
            "samples": run.samples,
            "accuracy": run.accuracy,
            "loss": run.loss,
            "clock": run.clock,
        }
        announce(self.session, "points", data, experiment_id=run.experiment_id, run_id=run.id)

    def without_done(self) -> list[int]:
        """Return the ranks whose `done` record has not been stored."""
        return [rank for rank in self._all() if rank not in self.ranks or self.ranks[rank].ended is None]

    def unfinished(self) -> list[int]:
        """Return the ranks that have no `done` record of a regular end: target or budget."""
        regular = ("budget", "target")
        return [rank for rank in self._all() if rank not in self.ranks or self.ranks[rank].ended not in regular]

    def _all(self) -> range:
        return range(self.run.workers + self.run.servers)

    def _evaluated_before(self, evaluation: Evaluation) -> float:
        """Return the train clock of the previous evaluation, also of an earlier attempt; 0 if there is none.

        Those of an earlier attempt behind the checkpoint that this one goes on from were at another clock.
        """
        of, first, mine = StoredEvaluation, self.run.resume_from, self.attempt.number
        restored = select(func.max(Checkpoint.samples)).where(
            Checkpoint.run_id == self.run.id, Checkpoint.attempt.between(first, mine - 1)
        )
        earlier = and_(of.attempt.between(first, mine - 1), of.samples <= restored.scalar_subquery())
        counted = select(of.clock).where(
            of.run_id == self.run.id, of.samples < evaluation.samples, or_(of.attempt == mine, earlier)
        )
        newest = counted.order_by(of.attempt.desc(), of.samples.desc(), of.seq.desc())
        return min(self.session.scalar(newest.limit(1)) or 0.0, evaluation.clock)

    def _new_rank(self, rank: int) -> RankTotals:
        zero: dict[str, Any] = dict.fromkeys((*SUMMED, "steps", "samples", "clock", "wall"), 0)
        role = "worker" if rank < self.run.workers else "server"
        row = RankTotals(run_id=self.run.id, attempt=self.attempt.number, rank=rank, role=role, stored=-1, **zero)
        self.session.add(row)
        self.ranks[rank] = row
        return row

    def _add_steps(self, totals: RankTotals, fresh: list[StepBlock]) -> None:
        columns = blocks.join([block.columns for block in fresh])
        header, data = blocks.pack(columns)
        count = len(columns["step"])
        self.session.add(
            Chunk(
                run_id=self.run.id,
                attempt=self.attempt.number,
                rank=totals.rank,
                seq=fresh[0].seq,
                n=count,
                header=header,
                data=data,
            )
        )
        self.run.chunks += 1
        self.points = True
        if totals.ended is None:
            for name in (each for each in SUMMED if each in columns):  # `rebuild` only where there was any
                kind = np.int64 if columns[name].dtype.kind == "i" else np.float64
                setattr(totals, name, getattr(totals, name) + columns[name].sum(dtype=kind).item())
            for name, target in (("step", "steps"), ("samples", "samples"), ("clock", "clock"), ("wall", "wall")):
                setattr(totals, target, max(getattr(totals, target), columns[name].max().item()))

    def _add_record(self, totals: RankTotals, item: Item) -> None:
        key: dict[str, Any] = {"run_id": self.run.id, "attempt": self.attempt.number, "rank": totals.rank}
        if isinstance(item, Start):
            totals.role, totals.host, totals.pid = item.role, item.host[:255], item.pid
            totals.unix, totals.monotonic = item.unix, item.monotonic
            totals.notes = {storable_text(name): storable_text(text) for name, text in item.notes.items()}
            self.attempt.restored_step = item.restored_step
            self.part = item.evaluated_part
            self.started.append(item)
        elif isinstance(item, Evaluation):
            self._add_evaluation(key, item)
        elif isinstance(item, Done):
            totals.ended = item.reason
            totals.steps, totals.samples, totals.clock, totals.wall = (
                item.step,
                item.samples,
                item.clock,
                item.wall,
            )
            for phase, seconds in item.phases.items():
                setattr(totals, phase, seconds)
            totals.hidden, totals.payload, totals.wire = item.hidden, item.payload, item.wire
            totals.messages = item.messages
            totals.staleness = {str(staleness): count for staleness, count in item.staleness.items()}
            self.ended.append(item)
            self.points = True
        elif isinstance(item, Dropped):
            row = item.model_dump(exclude={"kind", "why"})
            self.session.add(
                DroppedWorker(**key, **row, why=storable_text(item.why), at=database_time(self.session))
            )
            self.points = True
        elif not isinstance(item, StepBlock | Refused):
            self.session.add(
                Checkpoint(**key, **item.model_dump(exclude={"kind", "seconds"}), at=database_time(self.session))
            )
            self.points = True

    def _add_evaluation(self, key: dict[str, Any], item: Evaluation) -> None:
        loss, accuracy = _finite(item.loss), _finite(item.accuracy)
        row = item.model_dump(exclude={"kind", "loss", "accuracy", "further"})
        if further := {name: value for name, value in item.further.items() if math.isfinite(value)}:
            row["further"] = further
        self._scored.append({**key, **row, "loss": loss, "accuracy": accuracy})
        self.evaluations.append(item)
        self.points = True


def mean_fraction(ranks: list[RankTotals]) -> float | None:
    """Return the communication fraction, mean over the workers that have one.

    Until a resumed attempt ends, its phases are those since its checkpoint, and so is the time that they sum to.
    """
    workers = [rank for rank in ranks if rank.role == "worker"]
    recorded = [math.fsum(getattr(rank, phase) for phase in PHASES) for rank in workers]
    found = [
        communication_fraction(rank.communicate, wall, rank.evaluate)
        for rank, wall in zip(workers, recorded, strict=True)
    ]
    fractions = [fraction for fraction in found if fraction is not None]
    return sum(fractions) / len(fractions) if fractions else None


def mean_staleness(ranks: list[RankTotals]) -> float | None:
    """Return the mean staleness over the exchanges of all ranks."""
    counted = [(int(staleness), count) for rank in ranks for staleness, count in (rank.staleness or {}).items()]
    total = sum(count for _, count in counted)
    return sum(staleness * count for staleness, count in counted) / total if total else None


def _storable(metric: FurtherMetric) -> dict[str, Any]:
    document = metric.model_dump(mode="json")
    return {name: storable_text(value) if isinstance(value, str) else value for name, value in document.items()}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
