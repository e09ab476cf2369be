"""New experiments: validated and planned, then stored in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from hooke.calibration.constants import resolve_experiment
from hooke.catalogue.expand import PlannedRun
from hooke.errors import Fault, SpecError
from hooke.spec.specification import ExperimentSpec, fingerprint
from hooke.spec.sweeps import expanded
from hooke.tuning.plan import Step
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from hooke_api.base import ids
from hooke_api.base.errors import Conflict, Invalid
from hooke_api.base.reach import DEFAULT_NAME, reaches
from hooke_api.calibration.service import latest, outdated
from hooke_api.experiments.faults import checked_plan
from hooke_api.experiments.fitting import check_fit
from hooke_api.experiments.inherited import told_of_continued
from hooke_api.experiments.memory import memory
from hooke_api.experiments.schemas import DryRun, ExperimentView, PlannedRunView
from hooke_api.experiments.service import view
from hooke_api.experiments.warnings import about_quota, warnings
from hooke_api.models import DEFAULT_PROJECT, Experiment, IdempotencyKey, database_time
from hooke_api.planning.rows import add_runs
from hooke_api.planning.steps import registered_cores
from hooke_api.planning.trials import continued
from hooke_api.storage.colors import colors_of
from hooke_api.storage.database import Database
from hooke_api.storage.outbox import announce, take, wake_scheduler
from hooke_api.storage.present import deleted
from hooke_api.storage.reach import open_project
from hooke_api.storage.trail import tell
from hooke_api.waiting.durations import durations, if_submitted
from hooke_api.waiting.limits import check_limits

PLANNINGS = 3
"""How often an experiment is planned anew whose clusters change in the meantime."""


def dry_run(session: Session, asked: ExperimentSpec, who: str, project: str, silence: timedelta) -> DryRun:
    """Return the runs that an experiment would create in a project, given by its name, and its warnings.

    `silence`: after which a cluster counts as offline.

    Raises SpecError like `create`, also where the user's limit of waiting runs would refuse it.
    """
    plain = expanded(asked)
    into = open_project(session, project)
    with plain.telling() as unresolved:
        spec = resolve_experiment(unresolved, latest(session))
        _check_continued(session, spec, into)
        plan = checked_plan(session, spec)
        planned = plan.first().runs
        check_fit(session, spec, planned)
        _check_limits(session, spec, who, planned)
    return DryRun(
        runs=[planned_view(run) for run in planned],
        trial_runs=plan.trial_runs,
        reported_runs=plan.reported_runs if spec.tuning else len(planned),
        warnings=[
            *plain.as_sent([*warnings(session, spec, planned), *outdated(session, unresolved)]),
            *told_of_continued(spec, plan.defaults),
            *about_quota(session, into),
        ],
        durations=durations(session, spec, planned),
        memory=memory(session, spec, planned),
        waiting=if_submitted(session, spec, planned, who, silence),
    )


def planned_view(run: PlannedRun) -> PlannedRunView:
    """Return a planned run as responses have it."""
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


def _check_limits(
    session: Session, spec: ExperimentSpec, who: str, planned: Sequence[PlannedRun], *, lock: bool = False
) -> None:
    added = Counter(run.host for run in planned)
    check_limits(session, who, [each.host for each in spec.clusters], added, lock=lock)


@dataclass(frozen=True)
class Submission:
    """An experiment as it is submitted."""

    spec: ExperimentSpec
    who: str
    key: str | None = None
    """Idempotency-Key of the request."""
    priority: int = 0
    project: str = DEFAULT_NAME
    """Name of the project that it is put into."""


@dataclass(frozen=True)
class _Prepared:
    """What is validated and planned before the transaction that stores it."""

    spec: ExperimentSpec
    """With its constants and spaces resolved, so that later calibrations and versions do not change its runs."""
    project: str
    """Its id."""
    step: Step
    warnings: list[dict[str, Any]]
    cores: dict[str, int]


class _Changed(Exception):
    """A cluster has joined, left or changed since an experiment was planned."""


def create(database: Database, asked: Submission, silence: timedelta) -> ExperimentView:
    """Store an experiment and queue its runs; with the key of an earlier request, return its experiment.

    Validated and planned before the transaction that stores it, which other writers wait for. Raises SpecError for
    an unknown cluster or too many waiting runs, Invalid for a key that was used with a different document or
    project, and what `hooke_api.storage.reach.open_project` raises.
    """
    plain = expanded(asked.spec)
    for _ in range(PLANNINGS):
        with suppress(_Changed), plain.telling():
            return _create(database, plain.spec, asked, silence)
    raise Conflict("the clusters of this experiment are changing: try again")


def _create(database: Database, spec: ExperimentSpec, asked: Submission, silence: timedelta) -> ExperimentView:
    with database.read() as session:
        project = open_project(session, asked.project)
        if found := _made_with(session, asked, project, spec):
            return view(session, found, silence)
        prepared = _prepare(session, spec, project)
    try:
        with database.write() as session:
            found = _made_with(session, asked, project, spec)
            return view(session, found or _insert(session, spec, asked, prepared), silence)
    except IntegrityError:
        # a concurrent transaction with the same key was first: return its experiment
        with database.read() as session:
            found = _made_with(session, asked, project, spec)
            if found is None:
                raise
            return view(session, found, silence)


def _prepare(session: Session, sent: ExperimentSpec, project: str) -> _Prepared:
    spec = resolve_experiment(sent, latest(session))
    _check_continued(session, spec, project)
    plan = checked_plan(session, spec)
    step = plan.first()
    check_fit(session, spec, step.runs)
    found = [*warnings(session, spec, step.runs), *outdated(session, sent), *about_quota(session, project)]
    found += told_of_continued(plan.begun, plan.defaults)
    return _Prepared(plan.begun, project, step, [asdict(each) for each in found], registered_cores(session))


def _check_continued(session: Session, spec: ExperimentSpec, project: str, *, lock: bool = False) -> None:
    """Raise SpecError if an experiment continues one of another project, whose trials its readers would see.

    One that does not exist for the sender is left to the plan. `lock`: nobody moves it until the transaction ends.
    """
    if spec.tuning is None or spec.tuning.continues is None:
        return
    locked = {"read": True} if lock else None
    earlier = session.get(Experiment, spec.tuning.continues, with_for_update=locked, populate_existing=lock)
    if earlier is not None and reaches(earlier.project_id) and earlier.project_id != project:
        why = f"experiment {earlier.number} is in another project: continue it there, or submit this one to that"
        raise SpecError([Fault("/tuning/continues", why)])


def _made_with(session: Session, asked: Submission, project: str, spec: ExperimentSpec) -> Experiment | None:
    found = session.get(IdempotencyKey, (asked.key, asked.who)) if asked.key else None
    if found is None:
        return None
    if found.body_sha256 != fingerprint(spec):
        raise Invalid("this Idempotency-Key was used with a different document before")
    experiment = session.get_one(Experiment, found.experiment_id)
    if experiment.project_id != project:
        raise Invalid("this Idempotency-Key was used with a different project before")
    if experiment.deleted_at is not None:
        raise Conflict(f"{deleted(experiment)}; or use another Idempotency-Key")
    return experiment


def _insert(session: Session, sent: ExperimentSpec, asked: Submission, prepared: _Prepared) -> Experiment:
    """Store an experiment as it was planned; what a file offers is validated again by the engine that runs it.

    Raises _Changed if the clusters are not those of the plan any more.
    """
    if registered_cores(session) != prepared.cores:
        raise _Changed
    spec, step = prepared.spec, prepared.step
    _check_continued(session, spec, prepared.project, lock=True)  # it may have been moved since it was planned,
    continued(session, spec)  # or deleted
    _check_limits(session, spec, asked.who, step.runs, lock=True)
    at = database_time(session)
    names = [variant.name for variant in spec.variants]
    experiment = Experiment(
        id=ids.experiment_id(),
        project_id=prepared.project,
        created_by=asked.who,
        number=take(session, f"experiments:{DEFAULT_PROJECT}"),  # one sequence: a number names one experiment
        name=spec.name,
        description=spec.description,
        workload=spec.workload.name,
        variants=names,
        colors=colors_of(session, names),
        clusters=[cluster.name for cluster in spec.clusters],
        baseline=spec.baseline,
        spec=spec.model_dump(mode="json", by_alias=True),
        fingerprint=fingerprint(spec),
        warnings=prepared.warnings,
        planning=not step.complete,
        cores=prepared.cores,
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
    about = {"number": experiment.number, "name": experiment.name, "runs": len(step.runs)}
    if prepared.project != DEFAULT_PROJECT:
        about["project"] = asked.project
    tell(session, subject=experiment.id, after=about)
    announce(session, "experiment", {"id": experiment.id}, experiment_id=experiment.id)
    wake_scheduler(session)
    return experiment
