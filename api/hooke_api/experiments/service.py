"""Experiments: list, read, prioritize, cancel; `hooke_api.experiments.creating` makes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from hooke.errors import Fault
from hooke.spec.events import TRAINING_ITEMS
from hooke.spec.specification import ExperimentSpec
from hooke.spec.states import TERMINAL, RunState
from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from hooke_api.base.access import Actor
from hooke_api.base.cursors import Cursors
from hooke_api.base.errors import Conflict, Invalid
from hooke_api.experiments.organising import tags_of
from hooke_api.experiments.schemas import ExperimentPage, ExperimentSummary, ExperimentView, Origin
from hooke_api.filters.language import FilterError, conditions, parse
from hooke_api.filters.sql import condition
from hooke_api.models import Experiment, RankTotals, Run, database_time
from hooke_api.planning.steps import without_unplanned
from hooke_api.scheduling import lifecycle
from hooke_api.scheduling.derived import derived_state
from hooke_api.storage import trail
from hooke_api.storage.colors import shown
from hooke_api.storage.outbox import announce, wake_scheduler
from hooke_api.storage.present import present_experiment
from hooke_api.storage.reach import in_reach, names_of
from hooke_api.waiting.schemas import WaitingView
from hooke_api.waiting.service import of_experiments

LISTING = "experiments"


def get(session: Session, experiment_id: str) -> Experiment:
    """Return an experiment that is not deleted; raises ResourceNotFound."""
    return present_experiment(session, experiment_id)


def check_owner(session: Session, experiment_id: str, actor: Actor) -> None:
    """Raise Forbidden unless the actor may change an experiment: their own, or any as an operator.

    One that does not exist, or is deleted, is left to what is to be done with it.
    """
    experiment = session.get(Experiment, experiment_id)
    if experiment is not None:
        actor.check_owner(experiment.created_by, f"experiment {experiment.number}")


@dataclass(frozen=True)
class Page:
    """The part of the list that is asked for."""

    limit: int
    cursor: str | None = None
    filter: str | None = None
    """See `hooke_api.filters.language`."""


def page(session: Session, cursors: Cursors, part: Page, silence: timedelta) -> ExperimentPage:
    """Return one page of the list, newest first. Raises Invalid for a filter that cannot be read.

    Deleted experiments are left out, and archived ones unless the filter mentions `archived`.
    """
    limit, cursor = part.limit, part.cursor
    query = select(Experiment).where(
        in_reach(Experiment.project_id), Experiment.deleted_at.is_(None), *_chosen(session, part.filter)
    )
    if cursor:
        query = query.where(Experiment.number < int(cursors.open(LISTING, cursor)))
    rows = session.scalars(query.order_by(Experiment.number.desc()).limit(limit + 1)).all()
    shown = rows[:limit]
    counts, versions = _counts(session, shown), _versions(session, shown)
    waiting = of_experiments(session, counts.keys(), silence)
    tags, projects = tags_of(session, counts.keys()), names_of(session, {row.project_id for row in shown})
    return ExperimentPage(
        items=[
            ExperimentSummary(
                **_summary(row, counts[row.id], waiting.get(row.id, []), tags.get(row.id, [])),
                project=projects[row.project_id],
                version=versions[row.id],
            )
            for row in shown
        ],
        next_cursor=cursors.seal(LISTING, shown[-1].number) if len(rows) > limit else None,
    )


def _chosen(session: Session, text: str | None) -> list[ColumnElement[bool]]:
    """Return the conditions of a filter."""
    if not (text and text.strip()):
        return [~Experiment.archived]
    try:
        tree = parse(text)
    except FilterError as error:
        raise Invalid(f"the filter cannot be read: {error}", [Fault("query/filter", str(error))]) from None
    found = [condition(tree, database_time(session))]
    if all(each.field.name != "archived" for each in conditions(tree)):
        found.append(~Experiment.archived)
    return found


def view(session: Session, experiment: Experiment, silence: timedelta) -> ExperimentView:
    """Return one experiment, whole. `silence`: after which a cluster counts as offline."""
    waiting = of_experiments(session, {experiment.id}, silence).get(experiment.id, [])
    counts = _counts(session, [experiment])[experiment.id]
    spec = ExperimentSpec.model_validate(experiment.spec)
    # one that an earlier version has cancelled may say on that its plan is tried again
    told = experiment.warnings if experiment.planning else without_unplanned(experiment)
    return ExperimentView(
        **_summary(experiment, counts, waiting, tags_of(session, [experiment.id]).get(experiment.id, [])),
        project=names_of(session, [experiment.project_id])[experiment.project_id],
        version=len(experiment.earlier) + 1,
        spec=spec,
        fingerprint=experiment.fingerprint,
        warnings=[Fault(**warning) for warning in told],
        note=experiment.note,
        training_items=_training_items(session, experiment.id),
    )


def _training_items(session: Session, experiment_id: str) -> int | None:
    """Return the number of training items that a run has reported; None: none has, or in another form."""
    query = select(RankTotals.notes).join(Run, (Run.id == RankTotals.run_id) & (Run.attempt == RankTotals.attempt))
    started = query.where(Run.experiment_id == experiment_id, RankTotals.rank == 0, RankTotals.host.is_not(None))
    told = str((session.scalar(started.limit(1)) or {}).get(TRAINING_ITEMS, ""))
    return int(told) if told.isascii() and told.isdigit() and len(told) <= 15 and int(told) > 0 else None


def set_priority(session: Session, experiment_id: str, priority: int, silence: timedelta) -> ExperimentView:
    """Change the priority of an experiment, which counts from the next launch on.

    Raises Conflict if it has ended.
    """
    experiment = get(session, experiment_id)
    session.refresh(experiment, with_for_update={"key_share": True})
    if experiment.finished_at is not None:
        raise Conflict(f"experiment {experiment.number} has ended: none of its runs wait")
    trail.tell(session, before={"priority": experiment.priority}, after={"priority": priority})
    experiment.priority = priority
    announce(session, "experiment", {"id": experiment.id}, experiment_id=experiment.id)
    wake_scheduler(session)
    session.flush()
    return view(session, experiment, silence)


def cancel(session: Session, experiment_id: str, who: str, silence: timedelta) -> ExperimentView:
    """Cancel every run that has not ended, and plan no others."""
    experiment = get(session, experiment_id)
    trail.tell(session, before=_runs_told(session, experiment))
    _cancel_runs(session, experiment_id, who)
    # this locks the experiment, and a run that ends locks its own row before: the other order would be a deadlock
    experiment.planning = False
    session.flush()
    session.refresh(experiment, ["warnings"])
    experiment.warnings = without_unplanned(experiment)  # its plan is not tried again
    _cancel_runs(session, experiment_id, who)  # those that were planned meanwhile
    session.flush()
    lifecycle.finish_experiment(session, experiment_id)
    session.refresh(experiment)
    trail.tell(session, after=_runs_told(session, experiment))
    return view(session, experiment, silence)


def _runs_told(session: Session, experiment: Experiment) -> dict[str, Any]:
    """Return the states of its runs for the audit trail."""
    counts = _counts(session, [experiment])[experiment.id].all
    return {"runs": {state.value: count for state, count in counts.items() if count}}


def _cancel_runs(session: Session, experiment_id: str, who: str) -> None:
    open_ = select(Run).where(Run.experiment_id == experiment_id, Run.state.not_in(TERMINAL))
    for run in session.scalars(open_.order_by(Run.id).with_for_update()).all():
        lifecycle.cancel(session, run, who)


@dataclass
class _Counts:
    """The runs of an experiment by state."""

    all: dict[RunState, int] = field(default_factory=dict)
    reported: dict[RunState, int] = field(default_factory=dict)
    """Without trials."""
    asked: int = 0
    """Runs that have not ended and have been asked to."""

    @property
    def cancelling(self) -> bool:
        """Return whether all runs that have not ended have been asked to."""
        return 0 < self.asked == sum(count for state, count in self.all.items() if state not in TERMINAL)


def _counts(session: Session, experiments: Sequence[Experiment]) -> dict[str, _Counts]:
    found = {experiment.id: _Counts() for experiment in experiments}
    trial = Run.rung.is_not(None)
    query = (
        select(Run.experiment_id, Run.state, trial, func.count(), func.count().filter(Run.cancel_requested))
        .where(Run.experiment_id.in_(found))
        .group_by(Run.experiment_id, Run.state, trial)
    )
    for experiment_id, state, of_trials, count, asked in session.execute(query):
        counts = found[experiment_id]
        counts.all[state] = counts.all.get(state, 0) + count
        if state not in TERMINAL:
            counts.asked += asked
        if not of_trials:
            counts.reported[state] = count
    return found


def _versions(session: Session, experiments: Sequence[Experiment]) -> dict[str, int]:
    """Return the version of each experiment, without reading the earlier ones."""
    count = func.json_array_length(Experiment.earlier) + 1
    ids = [experiment.id for experiment in experiments]
    return dict(session.execute(select(Experiment.id, count).where(Experiment.id.in_(ids))).all())


def _summary(
    experiment: Experiment, counts: _Counts, waiting: list[WaitingView], tags: list[str]
) -> dict[str, Any]:
    return {
        "id": experiment.id,
        "number": experiment.number,
        "name": experiment.name,
        "description": experiment.description,
        "workload": experiment.workload,
        "variants": experiment.variants,
        "colors": shown(experiment.variants, experiment.colors),
        "clusters": experiment.clusters,
        "baseline": experiment.baseline,
        "state": derived_state(counts.all, experiment.planning, counts.reported),
        "runs": counts.all,
        "cancelling": counts.cancelling,
        "priority": experiment.priority,
        "user": experiment.created_by,
        "waiting": waiting,
        "created_at": experiment.created_at,
        "finished_at": experiment.finished_at,
        **_answer(experiment.headlines),
        "tags": tags,
        "starred": experiment.starred,
        "archived": experiment.archived,
        "protected": experiment.protected,
        "note_line": next(iter(experiment.note.strip().splitlines()), "")[:200],
        "revision": experiment.revision,
        "origin": _origin(experiment),
    }


def _answer(stored: dict[str, Any] | list[str]) -> dict[str, Any]:
    if isinstance(stored, list):  # computed before there were curves
        return {"headlines": stored, "curve": None}
    return {"headlines": stored.get("lines", []), "curve": stored.get("curve")}


def _origin(experiment: Experiment) -> Origin | None:
    if experiment.origin is None or experiment.imported_at is None:
        return None
    told = {name: experiment.origin[name] for name in ("hooke", "exported_at")}
    return Origin(**experiment.origin["from"], **told, imported_at=experiment.imported_at)
