"""Reads runs, chunks and evaluations from the database and computes curves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from hooke.catalogue.discovery import built_in
from hooke.spec.states import TERMINAL, RunState
from sqlalchemy import ColumnElement, Select, and_, case, func, select
from sqlalchemy.orm import Session, aliased

from hooke_api.base.workers import still_working
from hooke_api.metrics.attempts import Begun, keep_evaluations, keep_steps
from hooke_api.metrics.evaluations import Evaluations, evaluations_by_run, joined, read_evaluations
from hooke_api.metrics.table import (
    COLUMNS,
    NOTHING,
    START,
    Before,
    Column,
    RankColumns,
    Table,
    aggregate,
    unequal_batches,
    writing_workers,
)
from hooke_api.models import (
    Attempt,
    CatalogueEntry,
    Chunk,
    DroppedWorker,
    Experiment,
    RankTotals,
    Run,
)
from hooke_api.storage import blocks, evaluated, steps

IDS_PER_QUERY = 500

ByRank = dict[tuple[int, int], dict[str, Column]]
"""(attempt, rank) -> columns."""
Left = dict[tuple[int, int], int]
"""(attempt, worker) -> number of its steps when it was dropped."""
Key = tuple[int, int, int, int, int, bool]
"""Number of chunks, highest chunk id (both of `hooke_api.storage.steps.counts`), numbers of evaluations, started
ranks and dropped workers, whether the run has ended. Equal keys mean equal curves."""


@dataclass(frozen=True)
class Facts:
    """Properties of a run needed to draw it."""

    id: str
    experiment_id: str
    number: int
    variant: str
    cluster: str
    simulated: bool
    workers: int
    servers: int
    seed: int
    state: RunState
    algorithm: str
    evaluated_part: str | None
    batch: int
    """Samples of one step of one worker."""
    coordination: str | None
    """Coordination reported by its cluster for the algorithm; None if not reported."""
    sizes: list[int] | None  # the parameter of that name of the algorithm
    measured: int | None  # mean batches of a worker's step, of which the workers have measured their parts

    @property
    def lockstep(self) -> bool:
        """Return whether step s of every worker belongs to the same round, with or without a server."""
        coordination = self.coordination
        if coordination is None and self.algorithm in (known := built_in("algorithm")):
            coordination = known[self.algorithm].cls.coordination
        return coordination == "synchronous" if coordination is not None else self.servers == 0

    @property
    def ended(self) -> bool:
        """Return whether the run is in a terminal state."""
        return self.state in TERMINAL


@dataclass(frozen=True)
class Curves:
    """All curves of one run."""

    table: Table
    evaluations: Evaluations

    @property
    def nbytes(self) -> int:
        """Return the size in memory, bytes."""
        return self.table.nbytes + self.evaluations.nbytes


@cache
def _of_runs() -> Select[Any]:
    """Return the query of the facts of all runs; made once: to adapt columns to an alias takes a while."""
    accumulation = Run.spec["algorithm", "parameters", "accumulation"]
    found = {
        "batch": Run.spec["batch"].as_integer() * func.coalesce(accumulation.as_integer(), 1),
        "coordination": CatalogueEntry.document["coordination"].as_string(),
        "sizes": Run.spec["algorithm", "parameters", "sizes"].as_json(),
        "measured": case(
            (
                Run.spec["algorithm", "parameters", "split"].as_string() == "measured",
                Run.spec["algorithm", "parameters", "mean"].as_integer(),
            ),
            else_=None,
        ),
    }
    columns = [found[name] if name in found else getattr(Run, name) for name in Facts.__annotations__]
    own = aliased(Experiment)  # an alias, as conditions may look at experiments, too
    columns.append(own.origin)
    described = and_(
        CatalogueEntry.cluster == Run.host,
        CatalogueEntry.kind == "algorithm",
        CatalogueEntry.name == Run.algorithm,
    )
    query = select(*columns).select_from(Run).outerjoin(CatalogueEntry, described)
    return query.join(own, own.id == Run.experiment_id).order_by(Run.experiment_id, Run.number)


def read_facts(session: Session, *where: ColumnElement[bool]) -> list[Facts]:
    """Return the facts of the runs that match the conditions, in order of number."""
    return [_imported(Facts(*row), origin) for *row, origin in session.execute(_of_runs().where(*where))]


def _imported(run: Facts, origin: Mapping[str, Any] | None) -> Facts:
    """Return the facts of a run; of an imported one with what its bundle says of its algorithm."""
    if run.measured:
        run = replace(run, sizes=[run.measured])
    if w := unequal_batches(run.algorithm, run.sizes, run.workers):
        run = replace(run, batch=run.batch * sum(w) // len(w))
    if origin is None:
        return run
    told = {each["name"]: each["coordination"] for each in origin["algorithms"]}
    return replace(run, coordination=told.get(run.algorithm))


def parts(runs: Sequence[Facts]) -> Iterable[list[str]]:
    """Return the ids of runs, as many at a time as a query may have."""
    ids = [run.id for run in runs]
    return (ids[i : i + IDS_PER_QUERY] for i in range(0, len(ids), IDS_PER_QUERY))


def read_keys(session: Session, runs: Sequence[Facts]) -> dict[str, Key]:
    """Return the key of each run, as of the session's transaction."""
    chunks: dict[str, tuple[int, int]] = {}
    evaluations: dict[str, int] = {}
    began: dict[str, int] = {}
    left: dict[str, int] = {}
    for ids in parts(runs):
        chunks.update(steps.counts(session, ids))
        evaluations.update(evaluated.counts(session, ids))
        started = select(RankTotals.run_id, func.count()).where(RankTotals.run_id.in_(ids))
        started = started.where(RankTotals.host.is_not(None)).group_by(RankTotals.run_id)
        began.update(session.execute(started).all())
        dropped = select(DroppedWorker.run_id, func.count()).where(DroppedWorker.run_id.in_(ids))
        left.update(session.execute(dropped.group_by(DroppedWorker.run_id)).all())
    keys: dict[str, Key] = {}
    for each in runs:
        counted = evaluations.get(each.id, 0), began.get(each.id, 0), left.get(each.id, 0)
        keys[each.id] = (*chunks.get(each.id, (0, 0)), *counted, each.ended)
    return keys


def load(session: Session, runs: Sequence[Facts]) -> Iterator[tuple[str, Curves]]:
    """Yield the curves of these runs, by id, with every row; one after the other, as steps may be very many."""
    begun, left = read_begun(session, runs), read_left(session, runs)
    for run in runs:
        columns, evaluations = read_columns(session, run.id), read_evaluations(session, [[run.id]])[run.id]
        yield run.id, _curves(run, columns, begun[run.id], evaluations, left[run.id])


def without_steps(session: Session, runs: Sequence[Facts]) -> dict[str, Curves]:
    """Return the evaluations of those runs of which no step is needed for them: all are of one attempt."""
    begun = read_begun(session, runs)
    found = {run.id: Curves(NOTHING, joined(())) for run in runs if len(begun[run.id]) <= 1}
    for run, rows in evaluations_by_run(session, parts(runs)):
        if len({each.number for each in begun[run]} | {row[0] for row in rows}) <= 1:
            found[run] = Curves(NOTHING, joined(rows))
        else:
            found.pop(run, None)
    return found


def read_columns(session: Session, run: str, names: Sequence[str] = COLUMNS) -> ByRank:
    """Return columns of all steps of a run; those in the object of a compacted run come first."""
    parts: dict[tuple[int, int], list[dict[str, Column]]] = defaultdict(list)
    with steps.opened(session, run) as file:
        if file is not None:
            for segment in file.segments:
                parts[segment.attempt, segment.rank].append(file.columns(segment, names))
    query = select(Chunk.attempt, Chunk.rank, Chunk.n, Chunk.header, Chunk.data)
    query = query.where(Chunk.run_id == run).order_by(Chunk.attempt, Chunk.rank, Chunk.seq)
    # few rows at a time, and copies of what is needed of them: otherwise all columns of a run would be in memory
    with closing(session.execute(query.execution_options(yield_per=steps.ROWS))) as rows:
        for attempt, rank, n, header, data in rows:
            still_working()
            found = blocks.read(n, header, data, names)
            parts[attempt, rank].append({name: column.copy() for name, column in found.items()})
    return {
        place: {name: np.concatenate([part[name] for part in found]) for name in names}
        for place, found in parts.items()
    }


def _curves(
    run: Facts, columns: ByRank, begun: Sequence[Begun], evaluations: Sequence[tuple[Any, ...]], left: Left
) -> Curves:
    kept = {
        rank: RankColumns(rank, rank >= run.workers, found)
        for rank, found in keep_steps(columns, begun, range(run.workers + run.servers)).items()
    }
    newest = begun[-1].number if begun else 1
    table = table_of(run, expected_ranks(run, kept, left, newest), run.ended)
    earlier = {rank: len(found) - _length(columns.get((newest, rank))) for rank, found in kept.items()}
    return Curves(table, joined(keep_evaluations(evaluations, begun, restored_samples(run, earlier))))


def expected_ranks(run: Facts, kept: Mapping[int, RankColumns], left: Left, newest: int) -> list[RankColumns]:
    """Return the ranks of a run that have steps or will have some, and which of them were dropped.

    `newest`: number of the newest attempt that has begun.
    """
    gone = {worker: step for (attempt, worker), step in left.items() if attempt == newest}
    found = []
    for rank in sorted({*writing_workers(run.workers), *kept}):
        own = kept.get(rank) or RankColumns(rank, rank >= run.workers, {name: np.empty(0) for name in COLUMNS})
        stored, last = own.columns["step"][-1] if len(own) else 0, gone.get(rank)
        found.append(replace(own, left=last is not None and bool(stored >= last)))
    return found


def table_of(run: Facts, ranks: Sequence[RankColumns], ended: bool, before: Before = START) -> Table:
    """Return the table of a run, or the rows of it that follow on those before."""
    weights = unequal_batches(run.algorithm, run.sizes, run.workers) if run.lockstep else ()
    return aggregate(ranks, run.workers, run.batch, run.lockstep, ended, weights, before)


def restored_samples(run: Facts, earlier: Mapping[int, int]) -> int:
    """Return the samples of the steps that count of attempts before the newest one; `earlier`: by rank."""
    writers = writing_workers(run.workers)
    return sum(earlier.get(rank, 0) for rank in writers) * run.batch * run.workers // len(writers)


def _length(columns: dict[str, Column] | None) -> int:
    return 0 if columns is None else len(columns["step"])


def read_begun(session: Session, runs: Sequence[Facts]) -> dict[str, list[Begun]]:
    """Return the started attempts of each run, oldest first."""
    found: dict[str, list[Begun]] = defaultdict(list)
    of_attempt = (RankTotals.run_id == Attempt.run_id, RankTotals.attempt == Attempt.number)
    some_rank = select(RankTotals.rank).where(*of_attempt, RankTotals.host.is_not(None)).exists()
    for ids in parts(runs):
        query = select(Attempt.run_id, Attempt.number, Attempt.restored_step)
        query = query.where(Attempt.run_id.in_(ids), some_rank).order_by(Attempt.run_id, Attempt.number)
        for run, number, restored in session.execute(query):
            found[run].append(Begun(number, restored))
    return found


def read_left(session: Session, runs: Sequence[Facts]) -> dict[str, Left]:
    """Return the dropped workers of the attempts of each run."""
    gone = DroppedWorker
    found: dict[str, Left] = defaultdict(dict)
    for ids in parts(runs):
        query = select(gone.run_id, gone.attempt, gone.worker, gone.step).where(gone.run_id.in_(ids))
        for run, attempt, worker, step in session.execute(query):
            found[run][attempt, worker] = step
    return found
