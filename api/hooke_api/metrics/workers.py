"""What each worker of a run did: time spent computing, updates of the center, steps of each update, staleness.

From the newest attempt. A server's rows tell whose exchange each was, and when; the worker's own rows tell how
many steps it took until then: the batch size over time, in steps, of methods that change it; and how its time was
spent, over time (`worker_times`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hooke.comparison.measured_speeds import Work, cluster_like, error_of
from hooke.errors import ArgumentError
from sqlalchemy import select
from sqlalchemy.orm import Session

from hooke_api.base.errors import ResourceNotFound
from hooke_api.base.tables import csv_lines
from hooke_api.metrics.m4 import m4
from hooke_api.metrics.schemas import KindView, WorkersAnswer, WorkerView
from hooke_api.metrics.table import Floats, sizes_of, unequal_batches
from hooke_api.metrics.worker_times import (
    OWN,
    OverTime,
    Rows,
    groups_of,
    kinds_of,
    over_time_of,
    samples_of_a_step,
)
from hooke_api.models import Chunk, RankTotals, Run
from hooke_api.storage import blocks, steps
from hooke_api.storage.database import Database
from hooke_api.storage.present import check_present

SERVED = ("wall", "staleness", "worker")
"""Columns that are read of a server."""
POINTS = 400
"""Maximum number of updates of a worker in an answer."""


@dataclass(frozen=True)
class Updates:
    """The updates of one worker of a method with a server, in order; equal lengths."""

    wall: Floats
    """End of the exchange at the server, s; where an exchange may bring several, end of the update's last step."""
    steps: Floats
    """Steps of the worker of which the update consists."""
    staleness: Floats
    """Center updates between read and write; NaN where not applicable."""


def updates_of(worker: int, own: Rows, served: Rows) -> Updates:
    """Return a worker's updates, from its own rows and those of the server: its exchanges, or parts of them.

    Exchanges without a step are left out: a request at the start of a run pulls the center and brings nothing.
    Of a run that an earlier version began, an exchange is an update until the first row that tells.
    """
    begins, told = np.flatnonzero(own["joined"] == 0), np.flatnonzero(own["joined"] >= 0)
    earlier = own["wall"][: told[0]] if len(begins) else own["wall"]
    of = np.flatnonzero(served["worker"] == worker)
    wall = served["wall"][of].astype(np.float64)
    steps = np.diff(np.searchsorted(earlier, wall, side="right"), prepend=0).astype(np.float64)
    kept = steps > 0
    found = wall[kept], steps[kept], served["staleness"][of][kept].astype(np.float64)
    if not len(begins):
        return Updates(*found)
    ends = np.append(begins[1:], len(own["joined"]))
    parts = own["wall"][ends - 1], (ends - begins).astype(np.float64), np.full(len(ends), np.nan)
    return Updates(*(np.concatenate(each) for each in zip(found, parts, strict=True)))


@dataclass(frozen=True)
class _Work:
    """What is known of the workers of a run, by rank."""

    run: Run
    totals: Mapping[int, RankTotals]
    updates: Mapping[int, Updates]
    over_time: Mapping[int, OverTime]
    exchanges: int
    """Updates of all workers, also of those that write no rows."""
    errors: Mapping[int, float | None]
    """Relative standard errors of the speeds of workers that write rows."""

    @property
    def notes(self) -> Mapping[str, str]:
        """Return the notes of a worker, which are those of all as far as they are read here."""
        return next((total.notes for total in self.totals.values() if total.notes), {})

    @classmethod
    def of(cls, session: Session, run: Run) -> _Work:
        """Read it."""
        totals, rows = _totals(session, run), _rows(session, run)
        served = rows.get(run.workers) if run.servers else None
        updates = {rank: updates_of(rank, rows[rank], served) for rank in totals if served and rank in rows}
        over_time = {rank: over_time_of(rows[rank]) for rank in totals if rank in rows}
        timed = () if run.simulated else [rank for rank in totals if rank in rows]  # else nobody asks
        errors = {rank: error_of(rows[rank]["compute"].tolist()) for rank in timed}
        return cls(run, totals, updates, over_time, _exchanges(updates, served) if served else 0, errors)


def answer(session: Session, run_id: str) -> WorkersAnswer:
    """Return the work of each worker, and of each kind. Raises ResourceNotFound for an unknown run."""
    run = _run(session, run_id)
    work, kinds = _Work.of(session, run), kinds_of(run.spec, run.workers)
    samples, speeds = samples_of_a_step(run.spec, run.workers, work.notes), _speeds(run, work)
    views = [_view(work, rank, kinds[rank], samples[rank], speeds.get(rank)) for rank in sorted(work.totals)]
    cluster, why = _cluster_like(run, work, samples)
    return WorkersAnswer(
        workers=views, kinds=_by_kind(views, work), virtual_cluster=cluster, no_virtual_cluster=why
    )


def csv_of(database: Database, run_id: str, of_time: bool = False) -> Iterator[str]:
    """Return the updates of all workers as lines, or what they did over time; in order of worker and time.

    Raises before the first one.
    """
    with database.read() as session:
        run = _run(session, run_id)
        work, kinds = _Work.of(session, run), kinds_of(run.spec, run.workers)
        samples = samples_of_a_step(run.spec, run.workers, work.notes)
    return _over_time(run_id, work, kinds, samples) if of_time else _lines(run_id, work, kinds)


def _lines(run_id: str, work: _Work, kinds: Sequence[str | None]) -> Iterator[str]:
    yield csv_lines([("run", "worker", "wall_s", "steps", "staleness", "kind")])
    for worker, each in sorted(work.updates.items()):
        columns = each.wall.tolist(), each.steps.astype(np.int64).tolist(), each.staleness.tolist()
        if rows := [(run_id, worker, *row, kinds[worker] or "") for row in zip(*columns, strict=True)]:
            yield csv_lines(rows)


def _over_time(run_id: str, work: _Work, kinds: Sequence[str | None], samples: Sequence[int]) -> Iterator[str]:
    yield csv_lines([("run", "worker", "until_s", "computing", "samples_per_s", "kind")])
    for worker, each in sorted(work.over_time.items()):
        columns = each.ends.tolist(), each.computing.tolist(), (samples[worker] * each.steps).tolist()
        if rows := [(run_id, worker, *row, kinds[worker] or "") for row in zip(*columns, strict=True)]:
            yield csv_lines(rows)


def _run(session: Session, run_id: str) -> Run:
    run = session.get(Run, run_id)
    if run is None:
        raise ResourceNotFound(f"no run has the id {run_id!r}")
    check_present(session, run)
    return run


def _totals(session: Session, run: Run) -> dict[int, RankTotals]:
    query = select(RankTotals).where(RankTotals.run_id == run.id, RankTotals.attempt == run.attempt)
    found = session.scalars(query.where(RankTotals.rank < run.workers).order_by(RankTotals.rank))
    return {total.rank: total for total in found}


def _rows(session: Session, run: Run) -> dict[int, Rows]:
    """Return the rows of each rank of the newest attempt."""

    def names(rank: int) -> tuple[str, ...]:
        return OWN if rank < run.workers else SERVED

    parts: dict[int, list[Rows]] = defaultdict(list)
    with steps.opened(session, run.id) as file:
        if file is not None:
            for segment in file.segments:
                if segment.attempt == run.attempt:
                    parts[segment.rank].append(file.columns(segment, names(segment.rank)))
    query = select(Chunk.rank, Chunk.n, Chunk.header, Chunk.data)
    query = query.where(Chunk.run_id == run.id, Chunk.attempt == run.attempt).order_by(Chunk.rank, Chunk.seq)
    for rank, n, header, data in session.execute(query):
        parts[rank].append(blocks.read(n, header, data, names(rank)))
    return {
        rank: {name: np.concatenate([part[name] for part in found]) for name in found[0]}
        for rank, found in sorted(parts.items())
    }


def _speeds(run: Run, work: _Work) -> dict[int, float]:
    """Return the batches per second of computing of every worker that has computed, over those of the fastest."""
    chosen = run.spec["algorithm"]
    batches = unequal_batches(chosen["name"], sizes_of(chosen.get("parameters", {}), work.notes), run.workers)
    rates = {
        rank: total.steps * (batches[rank] if batches else 1) / total.compute
        for rank, total in work.totals.items()
        if total.compute > 0
    }
    fastest = max(rates.values(), default=0.0)
    return {rank: rate / fastest for rank, rate in rates.items()} if fastest > 0 else {}


def _cluster_like(run: Run, work: _Work, samples: Sequence[int]) -> tuple[dict[str, Any] | None, str | None]:
    """Return the virtual cluster with the measured speeds of the workers, or why there is none."""
    if run.simulated:
        return None, f"{run.id} is simulated: its speeds are those of its specification"
    told = [
        Work(total.steps * each, total.compute, work.errors.get(rank))
        if (total := work.totals.get(rank)) is not None
        else None
        for rank, each in enumerate(samples)
    ]
    try:
        groups = groups_of(run.spec, run.workers)
        return cluster_like(told, groups, int(run.spec["batch"]), f"the run {run.id}", run.host), None
    except ArgumentError as error:
        return None, str(error)


def _exchanges(updates: Mapping[int, Updates], served: Rows) -> int:
    """Return the number of updates of all workers.

    Of more workers than `hooke.spec.journal.EVERY_RANK_WRITES` most write no rows: each of their exchanges but
    the first, which pulls the center, counts as an update, also where it may bring several.
    """
    workers, counts = np.unique(served["worker"][served["worker"] >= 0].astype(np.int64), return_counts=True)
    others = zip(workers.tolist(), counts.tolist(), strict=True)
    unknown = sum(int(count) - 1 for worker, count in others if worker not in updates)
    return unknown + sum(len(each.wall) for each in updates.values())


def _view(work: _Work, rank: int, kind: str | None, samples: int, speed: float | None) -> WorkerView:
    total, updates, parts = work.totals[rank], work.updates.get(rank), work.over_time.get(rank)
    train, steps = total.wall - total.evaluate, sum(each.steps for each in work.totals.values())
    view: dict[str, Any] = {
        "worker": rank,
        "kind": kind,
        "steps": total.steps,
        "share_of_steps": total.steps / steps if steps else 0.0,
        "computing": total.compute / train if train > 0 else None,
        "speed": speed,
        "throughput": total.steps * samples / train if train > 0 else None,
        "times": [] if parts is None else parts.ends.tolist(),
        "computing_over_time": [] if parts is None else _numbers(parts.computing),
        "throughput_over_time": [] if parts is None else _numbers(samples * parts.steps),
    }
    if updates is None:
        return WorkerView(**view, updates=None, share_of_updates=None, staleness=None, x=[], sizes=[])
    kept = m4(updates.steps, POINTS)
    return WorkerView(
        **view,
        updates=len(updates.wall),
        share_of_updates=len(updates.wall) / work.exchanges if work.exchanges else 0.0,
        staleness=_mean([updates]),
        x=updates.wall[kept].tolist(),
        sizes=updates.steps[kept].tolist(),
    )


def _numbers(values: Floats) -> list[float | None]:
    """Return them with null in place of NaN."""
    return [value if np.isfinite(value) else None for value in values.tolist()]


def _mean(of: Sequence[Updates]) -> float | None:
    """Return the mean staleness of all updates of which it is known."""
    known = [each.staleness[np.isfinite(each.staleness)] for each in of]
    stale = np.concatenate(known) if known else np.empty(0)
    return float(stale.mean()) if len(stale) else None


def _by_kind(views: Sequence[WorkerView], work: _Work) -> list[KindView]:
    """Return the work of each kind, in the order of its first worker; none where workers have no kinds."""
    found = []
    for kind in dict.fromkeys(view.kind for view in views if view.kind is not None):
        mine = [view for view in views if view.kind == kind]
        totals = [work.totals[view.worker] for view in mine]
        train = sum(total.wall - total.evaluate for total in totals)
        known = [view.updates for view in mine if view.updates is not None]
        rates = [view.throughput for view in mine if view.throughput is not None]
        updates = sum(known) if known else None
        found.append(
            KindView(
                kind=kind,
                workers=len(mine),
                share_of_steps=sum(view.share_of_steps for view in mine),
                computing=sum(total.compute for total in totals) / train if train > 0 else None,
                throughput=sum(rates) if rates else None,
                updates=updates,
                share_of_updates=None if updates is None else updates / max(1, work.exchanges),
                staleness=_mean([work.updates[view.worker] for view in mine if view.worker in work.updates]),
            )
        )
    return found
