"""Experiments: plan, store, list, cancel; each in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any

from hooke.calibration.constants import resolve_experiment
from hooke.catalogue.expand import PlannedRun
from hooke.errors import Fault
from hooke.spec.specification import ExperimentSpec, fingerprint
from hooke.spec.states import TERMINAL, RunState
from hooke.spec.sweeps import expanded
from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from hooke_api.base import ids
from hooke_api.base.cursors import Cursors
from hooke_api.base.errors import Conflict, Invalid, ResourceNotFound
from hooke_api.calibration.service import latest
from hooke_api.experiments.schemas import DryRun, ExperimentPage, ExperimentSummary, ExperimentView, PlannedRunView
from hooke_api.experiments.warnings import warnings
from hooke_api.models import DEFAULT_PROJECT, Experiment, IdempotencyKey, Run, database_time
from hooke_api.planning.rows import add_runs
from hooke_api.planning.steps import plan_of, registered_cores
from hooke_api.scheduling import lifecycle
from hooke_api.storage.database import Database
from hooke_api.storage.outbox import announce, take, wake_scheduler
from hooke_api.waiting.schemas import WaitingView
from hooke_api.waiting.service import check_limits, of_experiments

LISTING = "experiments"


def dry_run(session: Session, asked: ExperimentSpec, who: str) -> DryRun:
    """Return the runs that an experiment would create, and its warnings.

    Raises SpecError like `create`, also where the user's limit of waiting runs would refuse it.
    """
    plain = expanded(asked)
    with plain.telling() as unresolved:
        spec = resolve_experiment(unresolved, latest(session))
        plan = plan_of(session, spec)
        planned = plan.first().runs
        _check_limits(session, spec, who, planned)
    return DryRun(
        runs=[_planned_view(run) for run in planned],
        trial_runs=plan.trial_runs,
        reported_runs=plan.reported_runs if spec.tuning else len(planned),
        warnings=plain.as_sent(warnings(session, spec, planned)),
    )


def _planned_view(run: PlannedRun) -> PlannedRunView:
    return PlannedRunView(
        variant=run.variant,
        cluster=run.cluster,
        host=run.host,
        simulated=run.spec.world == "virtual",
        workers=run.workers,
        servers=run.servers,
        seed=run.seed,
        trial=run.trial,
        rung=run.rung,
        fingerprint=fingerprint(run.spec),
    )


def _check_limits(session: Session, spec: ExperimentSpec, who: str, planned: Sequence[PlannedRun]) -> None:
    check_limits(session, who, [each.host for each in spec.clusters], Counter(run.host for run in planned))


@dataclass(frozen=True)
class Submission:
    """An experiment as it is submitted."""

    spec: ExperimentSpec
    who: str
    key: str | None = None
    """Idempotency-Key of the request."""
    priority: int = 0


def create(database: Database, asked: Submission, silence: timedelta) -> ExperimentView:
    """Store an experiment and queue its runs; with the key of an earlier request, return its experiment.

    Raises SpecError for an unknown cluster or too many waiting runs, Invalid for a key that was used with a
    different document.
    """
    plain = expanded(asked.spec)
    spec = plain.spec
    try:
        with plain.telling(), database.write() as session:
            found = _made_with(session, asked.key, asked.who, spec)
            return view(session, found or _insert(session, spec, asked), silence)
    except IntegrityError:
        # a concurrent transaction with the same key was first: return its experiment
        with database.read() as session:
            found = _made_with(session, asked.key, asked.who, spec)
            if found is None:
                raise
            return view(session, found, silence)


def _made_with(session: Session, key: str | None, who: str, spec: ExperimentSpec) -> Experiment | None:
    found = session.get(IdempotencyKey, (key, who)) if key else None
    if found is None:
        return None
    if found.body_sha256 != fingerprint(spec):
        raise Invalid("this Idempotency-Key was used with a different document before")
    return session.get_one(Experiment, found.experiment_id)


def _insert(session: Session, sent: ExperimentSpec, asked: Submission) -> Experiment:
    """Store an experiment with its constants resolved, so that later calibrations do not change its runs."""
    spec = resolve_experiment(sent, latest(session))
    step = plan_of(session, spec).first()
    _check_limits(session, spec, asked.who, step.runs)
    at = database_time(session)
    experiment = Experiment(
        id=ids.experiment_id(),
        project_id=DEFAULT_PROJECT,
        created_by=asked.who,
        number=take(session, f"experiments:{DEFAULT_PROJECT}"),
        name=spec.name,
        description=spec.description,
        workload=spec.workload.name,
        variants=[variant.name for variant in spec.variants],
        clusters=[cluster.name for cluster in spec.clusters],
        baseline=spec.baseline,
        spec=spec.model_dump(mode="json", by_alias=True),
        fingerprint=fingerprint(spec),
        warnings=[asdict(warning) for warning in warnings(session, spec, step.runs)],
        planning=not step.complete,
        cores=registered_cores(session),
        priority=asked.priority,
        created_at=at,
    )
    session.add(experiment)
    session.flush()
    add_runs(session, experiment, step.runs, asked.who, "submitted")
    if asked.key:
        session.add(
            IdempotencyKey(
                key=asked.key,
                created_by=asked.who,
                body_sha256=fingerprint(sent),
                experiment_id=experiment.id,
                created_at=at,
            )
        )
    announce(session, "experiment", {"id": experiment.id}, experiment_id=experiment.id)
    wake_scheduler(session)
    return experiment


def get(session: Session, experiment_id: str) -> Experiment:
    """Return an experiment; raises NotFound."""
    found = session.get(Experiment, experiment_id)
    if found is None:
        raise ResourceNotFound(f"no experiment has the id {experiment_id}")
    return found


def page(session: Session, cursors: Cursors, limit: int, cursor: str | None, silence: timedelta) -> ExperimentPage:
    """Return one page of the list, newest first."""
    query = select(Experiment).where(Experiment.project_id == DEFAULT_PROJECT)
    if cursor:
        query = query.where(Experiment.number < int(cursors.open(LISTING, cursor)))
    rows = session.scalars(query.order_by(Experiment.number.desc()).limit(limit + 1)).all()
    shown = rows[:limit]
    counts = _counts(session, shown)
    waiting = of_experiments(session, counts.keys(), silence)
    return ExperimentPage(
        items=[ExperimentSummary(**_summary(row, counts[row.id], waiting.get(row.id, []))) for row in shown],
        next_cursor=cursors.seal(LISTING, shown[-1].number) if len(rows) > limit else None,
    )


def view(session: Session, experiment: Experiment, silence: timedelta) -> ExperimentView:
    """Return one experiment, whole. `silence`: after which a cluster counts as offline."""
    waiting = of_experiments(session, {experiment.id}, silence).get(experiment.id, [])
    counts = _counts(session, [experiment])[experiment.id]
    spec = ExperimentSpec.model_validate(experiment.spec)
    return ExperimentView(
        **_summary(experiment, counts, waiting),
        spec=spec,
        fingerprint=experiment.fingerprint,
        warnings=[Fault(**warning) for warning in experiment.warnings],
    )


def set_priority(session: Session, experiment_id: str, priority: int, silence: timedelta) -> ExperimentView:
    """Change the priority of an experiment, which counts from the next launch on.

    Raises Conflict if it has ended.
    """
    experiment = get(session, experiment_id)
    session.refresh(experiment, with_for_update={"key_share": True})
    if experiment.finished_at is not None:
        raise Conflict(f"experiment {experiment.number} has ended: nothing of it waits")
    experiment.priority = priority
    announce(session, "experiment", {"id": experiment.id}, experiment_id=experiment.id)
    wake_scheduler(session)
    session.flush()
    return view(session, experiment, silence)


def cancel(session: Session, experiment_id: str, who: str, silence: timedelta) -> ExperimentView:
    """Cancel every run that has not ended, and plan no others."""
    experiment = get(session, experiment_id)
    _cancel_runs(session, experiment_id, who)
    # this locks the experiment, and a run that ends locks its own row before: the other order would be a deadlock
    experiment.planning = False
    session.flush()
    _cancel_runs(session, experiment_id, who)  # those that were planned meanwhile
    session.flush()
    lifecycle.finish_experiment(session, experiment_id)
    session.refresh(experiment)
    return view(session, experiment, silence)


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


def _counts(session: Session, experiments: Sequence[Experiment]) -> dict[str, _Counts]:
    found = {experiment.id: _Counts() for experiment in experiments}
    trial = Run.rung.is_not(None)
    query = (
        select(Run.experiment_id, Run.state, trial, func.count())
        .where(Run.experiment_id.in_(found))
        .group_by(Run.experiment_id, Run.state, trial)
    )
    for experiment_id, state, of_trials, count in session.execute(query):
        counts = found[experiment_id]
        counts.all[state] = counts.all.get(state, 0) + count
        if not of_trials:
            counts.reported[state] = count
    return found


def _summary(experiment: Experiment, counts: _Counts, waiting: list[WaitingView]) -> dict[str, Any]:
    return {
        "id": experiment.id,
        "number": experiment.number,
        "name": experiment.name,
        "description": experiment.description,
        "workload": experiment.workload,
        "variants": experiment.variants,
        "clusters": experiment.clusters,
        "baseline": experiment.baseline,
        "state": derived_state(counts.all, experiment.planning, counts.reported),
        "runs": counts.all,
        "priority": experiment.priority,
        "user": experiment.created_by,
        "waiting": waiting,
        "created_at": experiment.created_at,
        "finished_at": experiment.finished_at,
    }


def derived_state(
    counts: dict[RunState, int], planning: bool = False, reported: dict[RunState, int] | None = None
) -> str:
    """Return an experiment's state from its runs': running while any is not terminal, failed if any failed.

    Running also while others will be added (`planning`). Failed trials do not count, as some settings diverge; an
    experiment with nothing to report (`reported`; None: all runs are) is cancelled or failed.
    """
    states = set(counts)
    if states <= {RunState.QUEUED}:
        return "queued"
    if planning or states - TERMINAL:
        return "running"
    judged = states if reported is None else set(reported)
    if judged == {RunState.SUCCEEDED}:
        return "succeeded"
    if not judged:
        return "cancelled" if RunState.CANCELLED in states else "failed"
    return "cancelled" if judged <= {RunState.SUCCEEDED, RunState.CANCELLED} else "failed"
