"""Runs: list, read, cancel, checkpoint, logs. Figures are columns computed at ingest; points are not read here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVarTuple

from hooke.spec.states import RunState
from sqlalchemy import Select, select
from sqlalchemy.orm import Session, undefer

from hooke_api.base.access import Actor
from hooke_api.base.cursors import Cursors
from hooke_api.base.errors import Conflict, ResourceNotFound
from hooke_api.filters.runs import RunQuery
from hooke_api.models import (
    Attempt,
    Checkpoint,
    DroppedWorker,
    Experiment,
    RankTotals,
    Run,
    Transition,
)
from hooke_api.runs.schemas import (
    CheckpointView,
    DroppedView,
    PhaseTotals,
    RefusedView,
    RunPage,
    RunSummary,
    RunView,
    TransitionView,
)
from hooke_api.scheduling import lifecycle
from hooke_api.storage.energy import energy_of
from hooke_api.storage.present import check_present, of_present
from hooke_api.storage.trail import tell
from hooke_api.waiting.service import of_runs

MOST_NAMED = 100
"""Runs that a filter may name."""
_BESIDE = ("waiting", "energy_j", "energy_note", "experiment_number", "experiment_name")
"""Fields of a summary that are not columns of the run."""
Ts = TypeVarTuple("Ts")


@dataclass(frozen=True)
class Filter:
    """Filter of a list of runs; None means any."""

    experiment: str | None = None
    states: tuple[RunState, ...] = ()
    variant: str | None = None
    cluster: str | None = None
    reported: bool | None = None
    """Whether runs are reported; False: the runs of trials."""
    named: tuple[str, ...] = ()
    """Ids of runs."""
    query: RunQuery | None = None
    """A filter of the language, or an order."""

    @property
    def listing(self) -> str:
        """Return the name of the list and order for which a cursor is valid."""
        if self.query is not None:
            return f"runs {self.query.text} by {self.query.sort}"
        return "runs of an experiment" if self.experiment else "runs"

    def apply(self, session: Session, query: Select[*Ts]) -> Select[*Ts]:
        """Return the query with the conditions added."""
        query = query.where(of_present() if self.query is None else self.query.condition(session))
        if self.experiment is not None:
            query = query.where(Run.experiment_id == self.experiment)
        if self.states:
            query = query.where(Run.state.in_(self.states))
        if self.variant is not None:
            query = query.where(Run.variant == self.variant)
        if self.cluster is not None:
            query = query.where(Run.cluster == self.cluster)
        if self.reported is not None:
            query = query.where(Run.rung.is_(None) if self.reported else Run.rung.is_not(None))
        if self.named:
            query = query.where(Run.id.in_(self.named))
        return query


@dataclass(frozen=True)
class Page:
    """The part of a list that is asked for."""

    limit: int
    cursor: str | None = None
    energy: bool = False
    """Whether each run is told with its energy, which is read from its samples."""


def page(session: Session, cursors: Cursors, chosen: Filter, part: Page, silence: timedelta) -> RunPage:
    """Return one page: of an experiment in the order of its expansion, otherwise newest first.

    `silence`: after which a cluster counts as offline.
    """
    if chosen.query is not None:
        rows, following = queried(session, cursors, chosen, part)
        return RunPage(items=_summaries(session, rows, part, silence), next_cursor=following)
    limit, cursor = part.limit, part.cursor
    query = chosen.apply(session, select(Run))
    if chosen.experiment is not None:
        after = int(cursors.open(chosen.listing, cursor)) if cursor else 0
        query = query.where(Run.number > after).order_by(Run.number)
    else:
        if cursor:
            query = query.where(Run.id < cursors.open(chosen.listing, cursor))
        query = query.order_by(Run.id.desc())
    rows = session.scalars(query.limit(limit + 1)).all()
    shown = rows[:limit]
    following = None
    if len(rows) > limit:
        last = shown[-1]
        following = cursors.seal(chosen.listing, last.number if chosen.experiment is not None else last.id)
    return RunPage(items=_summaries(session, shown, part, silence), next_cursor=following)


def queried(session: Session, cursors: Cursors, chosen: Filter, part: Page) -> tuple[Sequence[Run], str | None]:
    """Return the runs of a page of a query, and the cursor of the next one.

    The ids are found first, in an index alone: rows hold specifications, which would all be read.
    """
    assert chosen.query is not None  # noqa: S101 - the caller has looked
    order = chosen.query.order
    found = chosen.apply(session, select(Run.id, order.column.label("figure")))
    if part.cursor:
        found = found.where(order.after(cursors.open(chosen.listing, part.cursor)))
    ids = order.ids(session, found, part.limit + 1)
    place = {id: n for n, id in enumerate(ids[: part.limit])}
    rows = sorted(session.scalars(select(Run).where(Run.id.in_(place))), key=lambda run: place[run.id])
    more = len(ids) > part.limit
    return rows, cursors.seal(chosen.listing, order.key(rows[-1])) if more else None


def _summaries(session: Session, shown: Sequence[Run], part: Page, silence: timedelta) -> list[RunSummary]:
    waiting, named = of_runs(session, shown, silence), _experiments(session, shown)
    energy = energy_of(session, Run.id.in_([row.id for row in shown])) if part.energy else {}
    items = []
    for row in shown:
        told: dict[str, Any] = {"waiting": waiting.get(row.id)} | named[row.experiment_id]
        if used := energy.get(row.id):
            told |= {"energy_j": used.joules, "energy_note": used.note}
        items.append(RunSummary.model_validate(row).model_copy(update=told))
    return items


def _experiments(session: Session, runs: Sequence[Run]) -> dict[str, dict[str, Any]]:
    """Return what a run is told with of its experiment, by the id of that."""
    of = Experiment
    query = select(of.id, of.number, of.name).where(of.id.in_({run.experiment_id for run in runs}))
    return {
        id: {"experiment_number": number, "experiment_name": name} for id, number, name in session.execute(query)
    }


def get(session: Session, run_id: str) -> Run:
    """Return a run with its specification. Raises NotFound."""
    whole = (undefer(Run.spec), undefer(Run.hardware), undefer(Run.versions))
    found = session.get(Run, run_id, options=whole)
    if found is None:
        raise ResourceNotFound(f"no run has the id {run_id}")
    check_present(session, found)
    return found


def check_owner(session: Session, run_id: str, actor: Actor) -> None:
    """Raise Forbidden unless the actor may change a run: of their own experiment, or any as an operator."""
    experiment = session.get_one(Experiment, tell_state(session, run_id).experiment_id)
    actor.check_owner(experiment.created_by, f"run {run_id}")


def tell_state(session: Session, run_id: str) -> Run:
    """Tell the audit trail the state of a run before it is changed; return the run."""
    run = get(session, run_id)
    tell(session, before=_state(run))
    return run


def changed(session: Session, run_id: str, silence: timedelta) -> RunView:
    """Return a run that a request has changed, and tell the audit trail its state."""
    session.flush()
    run = get(session, run_id)
    tell(session, after=_state(run))
    return view(session, run, silence)


def _state(run: Run) -> dict[str, Any]:
    return {"state": run.state.value, "attempt": run.attempt, "cancel_requested": run.cancel_requested}


def view(session: Session, run: Run, silence: timedelta) -> RunView:
    """Return one run with the history of its states and the phases of the attempt that owns it."""
    attempts = session.scalars(select(Attempt).where(Attempt.run_id == run.id).order_by(Attempt.number)).all()
    history = session.scalars(select(Transition).where(Transition.run_id == run.id).order_by(Transition.id))
    totals = session.scalars(
        select(RankTotals)
        .where(RankTotals.run_id == run.id, RankTotals.attempt == run.attempt)
        .order_by(RankTotals.rank)
    ).all()
    energy = energy_of(session, Run.id == run.id).get(run.id)
    return RunView(
        **RunSummary.model_validate(run).model_dump(exclude=set(_BESIDE)),
        **_experiments(session, [run])[run.experiment_id],
        waiting=of_runs(session, [run], silence).get(run.id),
        spec=run.spec,
        fingerprint=run.fingerprint,
        history=[TransitionView.model_validate(row) for row in history],
        phases=[PhaseTotals.model_validate(row) for row in totals],
        staleness_histogram=_histogram(totals),
        dropped=[DroppedView.model_validate(row) for row in _of_run(session, run, DroppedWorker)],
        checkpoints=_checkpoints(_of_run(session, run, Checkpoint)),
        refused=sum(attempt.refused for attempt in attempts),
        refusals=_refusals(attempts),
        hardware=run.hardware,
        versions=run.versions,
        energy_j=energy and energy.joules,
        energy_seconds=energy and energy.seconds,
        energy_note=energy.note if energy else "",
    )


def _histogram(totals: Sequence[RankTotals]) -> dict[int, int]:
    found: dict[int, int] = {}
    for row in totals:
        for staleness, count in (row.staleness or {}).items():
            found[int(staleness)] = found.get(int(staleness), 0) + count
    return dict(sorted(found.items()))


def _checkpoints(rows: Sequence[Checkpoint]) -> list[CheckpointView]:
    """Return one entry per folder; every rank writes one file to it, and the latest counts."""
    folders: dict[tuple[int, str], dict[int, Checkpoint]] = {}
    for row in sorted(rows, key=lambda row: row.seq):
        folders.setdefault((row.attempt, row.path.rpartition("/")[0]), {})[row.rank] = row
    found = [
        CheckpointView(
            attempt=attempt,
            samples=max(row.samples for row in files.values()),
            path=folder,
            ranks=len(files),
            bytes=sum(row.bytes for row in files.values()),
            at=max((row.at for row in files.values() if row.at is not None), default=None),
        )
        for (attempt, folder), files in folders.items()
    ]
    return sorted(found, key=lambda one: (one.attempt, one.samples))


def _refusals(attempts: Sequence[Attempt]) -> list[RefusedView]:
    return [RefusedView(attempt=each.number, **told) for each in attempts for told in each.refusals]


def _of_run(session: Session, run: Run, kind: type[DroppedWorker] | type[Checkpoint]) -> Sequence[Any]:
    query = select(kind).where(kind.run_id == run.id)
    return session.scalars(query.order_by(kind.attempt, kind.step, kind.rank, kind.seq)).all()


def cancel(session: Session, run_id: str, who: str, silence: timedelta) -> RunView:
    """Cancel a run; no effect on a run that has ended."""
    get(session, run_id)
    run = session.get_one(Run, run_id, with_for_update=True, populate_existing=True)
    lifecycle.cancel(session, run, who)
    return changed(session, run_id, silence)


def checkpoint(session: Session, run_id: str, silence: timedelta) -> RunView:
    """Request a checkpoint of a run. Raises Conflict unless the run can write one."""
    get(session, run_id)
    run = session.get_one(Run, run_id, with_for_update=True, populate_existing=True)
    if run.state is not RunState.RUNNING:
        raise Conflict(f"run {run_id} is {run.state}: only a running one can write a checkpoint")
    if run.cancel_requested:
        raise Conflict(f"run {run_id} is being cancelled, and writes a checkpoint when it ends")
    attempt = session.get_one(Attempt, (run.id, run.attempt), populate_existing=True)
    attempt.checkpoints_asked += 1
    return changed(session, run_id, silence)
