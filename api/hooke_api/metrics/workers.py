"""What each worker of a run did: time spent computing, updates of the center, steps of each update, staleness.

From the newest attempt. A server's rows tell whose exchange each was, and when; the worker's own rows tell how
many steps it took until then: the batch size over time, in steps, of methods that change it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from hooke_api.base.errors import ResourceNotFound
from hooke_api.base.tables import csv_lines
from hooke_api.metrics.m4 import m4
from hooke_api.metrics.schemas import WorkersAnswer, WorkerView
from hooke_api.metrics.table import Column, Floats, unequal_batches
from hooke_api.models import Chunk, RankTotals, Run
from hooke_api.storage import blocks, steps
from hooke_api.storage.database import Database
from hooke_api.storage.present import check_present

OWN, SERVED = ("wall",), ("wall", "staleness", "worker")
"""Columns that are read of a worker and of a server."""
POINTS = 400
"""Maximum number of updates of a worker in an answer."""

Rows = Mapping[str, Column]


@dataclass(frozen=True)
class Updates:
    """The exchanges of one worker with a server, in order; equal lengths."""

    wall: Floats
    """End of the exchange at the server, s."""
    steps: Floats
    """Steps of the worker since its exchange before."""
    staleness: Floats
    """Center updates between read and write; NaN where not applicable."""


def updates_of(worker: int, own: Rows, served: Rows) -> Updates:
    """Return a worker's exchanges, from its own rows and those of the server. Those without a step are left out.

    A request at the start of a run pulls the center and brings nothing.
    """
    of = np.flatnonzero(served["worker"] == worker)
    wall = served["wall"][of].astype(np.float64)
    done = np.searchsorted(own["wall"], wall, side="right")
    steps = np.diff(done, prepend=0).astype(np.float64)
    kept = steps > 0
    return Updates(wall[kept], steps[kept], served["staleness"][of][kept].astype(np.float64))


def answer(session: Session, run_id: str) -> WorkersAnswer:
    """Return the work of each worker. Raises ResourceNotFound for an unknown run."""
    run = _run(session, run_id)
    totals = _totals(session, run)
    rows = _rows(session, run)
    served = rows.get(run.workers) if run.servers else None
    updates = {rank: updates_of(rank, rows[rank], served) for rank in totals if served and rank in rows}
    steps = sum(each.steps for each in totals.values())
    exchanges = _exchanges(updates, served) if served else 0
    speeds = _speeds(run, totals)
    return WorkersAnswer(
        workers=[
            _view(total, updates.get(rank), total.steps / steps if steps else 0.0, exchanges, speeds.get(rank))
            for rank, total in totals.items()
        ]
    )


def csv_of(database: Database, run_id: str) -> Iterator[str]:
    """Return the updates of all workers as lines, in order of worker and time. Raises before the first one."""
    with database.read() as session:
        run = _run(session, run_id)
        workers, rows = sorted(_totals(session, run)), _rows(session, run)
        served = rows.get(run.workers) if run.servers else None
    return _lines(
        run_id, {rank: updates_of(rank, rows[rank], served) for rank in workers if served and rank in rows}
    )


def _lines(run_id: str, updates: Mapping[int, Updates]) -> Iterator[str]:
    yield csv_lines([("run", "worker", "wall_s", "steps", "staleness")])
    for worker, each in updates.items():
        columns = each.wall.tolist(), each.steps.astype(np.int64).tolist(), each.staleness.tolist()
        if rows := [(run_id, worker, *row) for row in zip(*columns, strict=True)]:
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


def _speeds(run: Run, totals: Mapping[int, RankTotals]) -> dict[int, float]:
    """Return the batches per second of computing of every worker that has computed, over those of the fastest."""
    chosen = run.spec["algorithm"]
    batches = unequal_batches(chosen["name"], chosen.get("parameters", {}).get("sizes"), run.workers)
    rates = {
        rank: total.steps * (batches[rank] if batches else 1) / total.compute
        for rank, total in totals.items()
        if total.compute > 0
    }
    fastest = max(rates.values(), default=0.0)
    return {rank: rate / fastest for rank, rate in rates.items()} if fastest > 0 else {}


def _exchanges(updates: Mapping[int, Updates], served: Rows) -> int:
    """Return the number of updates of all workers.

    Of more workers than `hooke.spec.journal.EVERY_RANK_WRITES` most write no rows: each of their exchanges but
    the first, which pulls the center, counts as an update.
    """
    workers, counts = np.unique(served["worker"][served["worker"] >= 0].astype(np.int64), return_counts=True)
    others = zip(workers.tolist(), counts.tolist(), strict=True)
    unknown = sum(int(count) - 1 for worker, count in others if worker not in updates)
    return unknown + sum(len(each.wall) for each in updates.values())


def _view(
    total: RankTotals, updates: Updates | None, share: float, exchanges: int, speed: float | None
) -> WorkerView:
    train = total.wall - total.evaluate
    view = {
        "worker": total.rank,
        "steps": total.steps,
        "share_of_steps": share,
        "computing": total.compute / train if train > 0 else None,
        "speed": speed,
    }
    if updates is None:
        return WorkerView(**view, updates=None, share_of_updates=None, staleness=None, x=[], sizes=[])
    stale = updates.staleness[np.isfinite(updates.staleness)]
    kept = m4(updates.steps, POINTS)
    return WorkerView(
        **view,
        updates=len(updates.wall),
        share_of_updates=len(updates.wall) / exchanges if exchanges else 0.0,
        staleness=float(stale.mean()) if len(stale) else None,
        x=updates.wall[kept].tolist(),
        sizes=updates.steps[kept].tolist(),
    )
