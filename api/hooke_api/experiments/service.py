"""Experiments: plan, store, list, cancel; each in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from hooke.catalogue.expand import PlannedRun, expand
from hooke.catalogue.validation import check_experiment
from hooke.errors import Fault
from hooke.spec.specification import ExperimentSpec, fingerprint
from hooke.spec.states import TERMINAL, RunState
from sqlalchemy import func, insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from hooke_api.base import ids
from hooke_api.base.cursors import Cursors
from hooke_api.base.errors import Invalid, ResourceNotFound
from hooke_api.clusters.catalogues import offered
from hooke_api.experiments.schemas import DryRun, ExperimentPage, ExperimentSummary, ExperimentView, PlannedRunView
from hooke_api.experiments.warnings import warnings
from hooke_api.models import DEFAULT_PROJECT, Cluster, Experiment, IdempotencyKey, Run, Transition, now
from hooke_api.scheduling import lifecycle
from hooke_api.storage.database import Database
from hooke_api.storage.outbox import announce, take, wake_scheduler

LISTING = "experiments"


def plan(session: Session, spec: ExperimentSpec) -> list[PlannedRun]:
    """Return the runs of an experiment on the registered clusters.

    Raises SpecError for anything that one of its clusters does not offer, or that violates its schema.
    """
    catalogues = offered(session, {cluster.host for cluster in spec.clusters})
    check_experiment(spec, catalogues)
    return expand(spec, dict(session.execute(select(Cluster.name, Cluster.cores)).all()), catalogues)


def dry_run(session: Session, spec: ExperimentSpec) -> DryRun:
    """Return the runs that an experiment would create, and its warnings."""
    planned = plan(session, spec)
    return DryRun(runs=[_planned_view(run) for run in planned], warnings=warnings(session, spec, planned))


def _planned_view(run: PlannedRun) -> PlannedRunView:
    return PlannedRunView(
        variant=run.variant,
        cluster=run.cluster,
        host=run.host,
        simulated=run.spec.world == "virtual",
        workers=run.workers,
        servers=run.servers,
        seed=run.seed,
        fingerprint=fingerprint(run.spec),
    )


def create(database: Database, spec: ExperimentSpec, who: str, key: str | None) -> ExperimentView:
    """Store an experiment and queue its runs; with the key of an earlier request, return its experiment.

    Raises SpecError for an unknown cluster, Invalid for a key that was used with a different document.
    """
    try:
        with database.write() as session:
            found = _made_with(session, key, who, spec)
            return view(session, found or _insert(session, spec, who, key))
    except IntegrityError:
        # a concurrent transaction with the same key was first: return its experiment
        with database.read() as session:
            found = _made_with(session, key, who, spec)
            if found is None:
                raise
            return view(session, found)


def _made_with(session: Session, key: str | None, who: str, spec: ExperimentSpec) -> Experiment | None:
    found = session.get(IdempotencyKey, (key, who)) if key else None
    if found is None:
        return None
    if found.body_sha256 != fingerprint(spec):
        raise Invalid("this Idempotency-Key was used with a different document before")
    return session.get_one(Experiment, found.experiment_id)


def _insert(session: Session, spec: ExperimentSpec, who: str, key: str | None) -> Experiment:
    planned = plan(session, spec)
    at = now()
    experiment = Experiment(
        id=ids.experiment_id(),
        project_id=DEFAULT_PROJECT,
        created_by=who,
        number=take(session, f"experiments:{DEFAULT_PROJECT}"),
        name=spec.name,
        description=spec.description,
        workload=spec.workload.name,
        variants=[variant.name for variant in spec.variants],
        clusters=[cluster.name for cluster in spec.clusters],
        baseline=spec.baseline,
        spec=spec.model_dump(mode="json", by_alias=True),
        fingerprint=fingerprint(spec),
        warnings=[asdict(warning) for warning in warnings(session, spec, planned)],
        created_at=at,
    )
    session.add(experiment)
    session.flush()
    rows = [_run_row(experiment, number, run, who, at) for number, run in enumerate(planned, 1)]
    session.execute(insert(Run), rows)
    session.execute(insert(Transition), [_first_transition(row["id"], who, at) for row in rows])
    if key:
        session.add(
            IdempotencyKey(
                key=key,
                created_by=who,
                body_sha256=experiment.fingerprint,
                experiment_id=experiment.id,
                created_at=at,
            )
        )
    announce(session, "experiment", {"id": experiment.id}, experiment_id=experiment.id)
    wake_scheduler(session)
    return experiment


def _run_row(experiment: Experiment, number: int, run: PlannedRun, who: str, at: datetime) -> dict[str, Any]:
    return {
        "id": ids.run_id(),
        "project_id": experiment.project_id,
        "created_by": who,
        "experiment_id": experiment.id,
        "number": number,
        "variant": run.variant,
        "algorithm": run.spec.algorithm.name,
        "cluster": run.cluster,
        "host": run.host,
        "simulated": run.spec.world == "virtual",
        "workers": run.workers,
        "servers": run.servers,
        "seed": run.seed,
        "spec": run.spec.model_dump(mode="json", by_alias=True),
        "fingerprint": fingerprint(run.spec),
        "budget": run.spec.budget.samples,
        "state": RunState.QUEUED,
        "created_at": at,
    }


def _first_transition(run_id: str, who: str, at: datetime) -> dict[str, Any]:
    return {"run_id": run_id, "attempt": 1, "state": RunState.QUEUED, "at": at, "who": who, "why": "submitted"}


def get(session: Session, experiment_id: str) -> Experiment:
    """Return an experiment; raises NotFound."""
    found = session.get(Experiment, experiment_id)
    if found is None:
        raise ResourceNotFound(f"no experiment has the id {experiment_id}")
    return found


def page(session: Session, cursors: Cursors, limit: int, cursor: str | None) -> ExperimentPage:
    """Return one page of the list, newest first."""
    query = select(Experiment).where(Experiment.project_id == DEFAULT_PROJECT)
    if cursor:
        query = query.where(Experiment.number < int(cursors.open(LISTING, cursor)))
    rows = session.scalars(query.order_by(Experiment.number.desc()).limit(limit + 1)).all()
    shown = rows[:limit]
    counts = _counts(session, shown)
    return ExperimentPage(
        items=[ExperimentSummary(**_summary(row, counts[row.id])) for row in shown],
        next_cursor=cursors.seal(LISTING, shown[-1].number) if len(rows) > limit else None,
    )


def view(session: Session, experiment: Experiment) -> ExperimentView:
    """Return one experiment, whole."""
    counts = _counts(session, [experiment])[experiment.id]
    spec = ExperimentSpec.model_validate(experiment.spec)
    return ExperimentView(
        **_summary(experiment, counts),
        spec=spec,
        fingerprint=experiment.fingerprint,
        warnings=[Fault(**warning) for warning in experiment.warnings],
    )


def cancel(session: Session, experiment_id: str, who: str) -> ExperimentView:
    """Cancel every run that has not ended."""
    experiment = get(session, experiment_id)
    runs = session.scalars(
        select(Run)
        .where(Run.experiment_id == experiment_id, Run.state.not_in(TERMINAL))
        .order_by(Run.id)
        .with_for_update()
    )
    for run in runs.all():
        lifecycle.cancel(session, run, who)
    session.flush()
    session.refresh(experiment)
    return view(session, experiment)


def _counts(session: Session, experiments: Sequence[Experiment]) -> dict[str, dict[RunState, int]]:
    found: dict[str, dict[RunState, int]] = {experiment.id: {} for experiment in experiments}
    query = (
        select(Run.experiment_id, Run.state, func.count())
        .where(Run.experiment_id.in_(found))
        .group_by(Run.experiment_id, Run.state)
    )
    for experiment_id, state, count in session.execute(query):
        found[experiment_id][state] = count
    return found


def _summary(experiment: Experiment, counts: dict[RunState, int]) -> dict[str, Any]:
    return {
        "id": experiment.id,
        "number": experiment.number,
        "name": experiment.name,
        "description": experiment.description,
        "workload": experiment.workload,
        "variants": experiment.variants,
        "clusters": experiment.clusters,
        "baseline": experiment.baseline,
        "state": derived_state(counts),
        "runs": counts,
        "created_at": experiment.created_at,
        "finished_at": experiment.finished_at,
    }


def derived_state(counts: dict[RunState, int]) -> str:
    """Return an experiment's state from its runs': running while any is not terminal, failed if any failed."""
    states = set(counts)
    if states <= {RunState.QUEUED}:
        return "queued"
    if states - TERMINAL:
        return "running"
    if states == {RunState.SUCCEEDED}:
        return "succeeded"
    return "cancelled" if states <= {RunState.SUCCEEDED, RunState.CANCELLED} else "failed"
