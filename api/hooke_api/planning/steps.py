"""The next step of tuned experiments: planned after their trials have ended, by the process that schedules."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any

import structlog
from hooke.catalogue.expand import Cell, experiment_warnings
from hooke.catalogue.validation import check_experiment
from hooke.comparison.trials import known
from hooke.errors import Fault, SpecError
from hooke.spec.specification import ExperimentSpec, RunSpec, fingerprint
from hooke.spec.states import TERMINAL
from hooke.tuning.optuna_search import waits
from hooke.tuning.plan import Plan, Step
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hooke_api.base.causes import LOG, cause
from hooke_api.base.errors import AWAY, Unavailable
from hooke_api.clusters.catalogues import offered
from hooke_api.models import Cluster, Experiment, Run
from hooke_api.planning.rows import add_runs
from hooke_api.planning.trials import earlier_of, measured, results_of, trial_runs, tried, undelivered
from hooke_api.scheduling import lifecycle
from hooke_api.scheduling.lifecycle import finish_experiment
from hooke_api.storage.database import Database
from hooke_api.storage.outbox import announce, wake_scheduler

RETRY_SECONDS = 10.0
"""Pause before a plan that failed is tried again."""
CHANGED = (
    "its source, what its algorithm takes or the choice of its trials has changed since, so that its runs would "
    "not count as one; submit a new experiment"
)
_UNPLANNED = "the next runs of its tuning could not be planned, which is tried again: "
PATIENCE_SECONDS = 60.0
"""Time that the last records of ended trials have to arrive; after that they are judged without."""

log = structlog.get_logger("hooke.planning")


def plan_of(
    session: Session, spec: ExperimentSpec, experiment: Experiment | None = None, again: Collection[str] = ()
) -> Plan:
    """Return the plan of an experiment on the registered clusters; `experiment`: it has been submitted already.

    Cores, the settings of trials and the defaults of its runs are then those of its submission. `again`: ids of
    its trials that have ended and are to be tried again, so that they count as not ended. Raises SpecError for
    anything that one of its clusters does not offer, or that violates its schema.
    """
    catalogues = offered(session, {cluster.host for cluster in spec.clusters})
    check_experiment(spec, catalogues)
    cores = registered_cores(session)
    earlier = earlier_of(session, spec)
    if experiment is None:
        plan = Plan(spec, cores, catalogues, None, earlier, known(spec, trial_runs(session, spec)))
        if changed := plan.changed_sources():  # of the experiments that it continues
            raise SpecError(changed)
        return plan
    cores = {name: experiment.cores.get(name, count) for name, count in cores.items()}
    results = results_of(session, spec, experiment.id, again)
    made = tried(session, experiment.id) if spec.tuning else measured(session, spec, experiment.id)
    return Plan(spec, cores, catalogues, made, earlier, results)


def registered_cores(session: Session) -> dict[str, int]:
    """Return the number of cores of each registered cluster that one run may use."""
    return dict(session.execute(select(Cluster.name, Cluster.cores)).all())


def further(session: Session, plan: Plan, experiment_id: str) -> Step:
    """Return the next step of an experiment that has runs. Raises SpecError as `check_unchanged` does."""
    exist = reported_cells(session, experiment_id)
    if exist:
        check_unchanged(session, plan, experiment_id)
    return plan.next(exist)


def reported_cells(session: Session, experiment_id: str) -> frozenset[Cell]:
    """Return the reported runs of an experiment, in whatever state."""
    query = select(Run.variant, Run.cluster, Run.workers, Run.seed)
    rows = session.execute(query.where(Run.experiment_id == experiment_id, Run.rung.is_(None)))
    return frozenset((variant, cluster, workers, seed) for variant, cluster, workers, seed in rows)


def check_unchanged(session: Session, plan: Plan, experiment_id: str) -> None:
    """Raise SpecError for each variant whose runs would be other ones than those that exist, apart from the seed.

    A source, or what an algorithm takes, may be another one than at their submission, or the retry of a trial has
    changed the choice. Parameters that existing runs lack came later, and their defaults change nothing.
    """
    query = select(Run.variant, Run.cluster, Run.workers, Run.seed, Run.spec).where(
        Run.experiment_id == experiment_id, Run.rung.is_(None), Run.seed == plan.spec.first_seed
    )
    exist = {tuple(row[:4]): row[4] for row in session.execute(query)}
    changed = {
        run.variant: f"{run.variant} on {run.cluster} would run with other settings than before: {CHANGED}"
        for run in plan.of_first_seed()
        if run.place in exist and fingerprint(run.spec) != fingerprint(_completed(exist[run.place], run.spec))
    }
    if changed:
        names = [variant.name for variant in plan.spec.variants]
        raise SpecError([Fault(f"/variants/{names.index(name)}", why) for name, why in changed.items()])


def _completed(document: Mapping[str, Any], planned: RunSpec) -> RunSpec:
    """Return an existing run with the parameters that algorithm and workload got later, as they are planned."""
    exist = RunSpec.model_validate(document)
    algorithm, workload = exist.algorithm, exist.workload
    now = {**planned.algorithm.parameters, **algorithm.parameters}
    shared = {**planned.workload.parameters, **workload.parameters}
    update = {
        "algorithm": algorithm.model_copy(update={"parameters": now}),
        "workload": workload.model_copy(update={"parameters": shared}),
    }
    return exist.model_copy(update=update)


class Planner:
    """Adds the runs that follow from trials that have ended."""

    def __init__(
        self, database: Database, retry_seconds: float = RETRY_SECONDS, patience_seconds: float = PATIENCE_SECONDS
    ) -> None:
        self._database = database
        self._retry_seconds = retry_seconds
        self._patience_seconds = patience_seconds
        self._seen: dict[str, int] = {}
        """Experiment -> its ended runs when it was last planned: without another one nothing follows."""
        self._not_before: dict[str, float] = {}
        """Experiment -> monotonic time at which a plan that failed is tried again."""
        self._failing: dict[str, str] = {}
        """Experiment -> why its last plan failed, which is logged and told once."""
        self._waiting_since: dict[str, float] = {}
        """Trial that has ended -> monotonic time since which records of it are missing."""

    def look(self) -> None:
        """Plan the next step of every experiment of which more runs have ended, and all their records arrived."""
        with self._database.read() as session:
            ended = func.count().filter(Run.state.in_(TERMINAL))
            query = select(Experiment.id, ended).join(Run, Run.experiment_id == Experiment.id)
            query = query.where(Experiment.planning).group_by(Experiment.id).order_by(Experiment.id)
            open_ = dict(session.execute(query).all())
            due = {experiment: count for experiment, count in open_.items() if self._seen.get(experiment) != count}
            late = undelivered(session, due) if due else {}
        at = time.monotonic()
        self._seen = {key: value for key, value in self._seen.items() if key in open_}
        self._not_before = {key: value for key, value in self._not_before.items() if key in open_}
        self._failing = {key: value for key, value in self._failing.items() if key in open_}
        self._waiting_since = {run: self._waiting_since.get(run, at) for run in late}
        waits = {late[run] for run, since in self._waiting_since.items() if at < since + self._patience_seconds}
        for experiment, count in due.items():
            if experiment not in waits and at >= self._not_before.get(experiment, at):
                self._advance(experiment, count)

    def _advance(self, experiment: str, count: int) -> None:
        try:
            with self._database.read() as session:
                propose(session, experiment)
            with self._database.write() as session:
                goes_on = advance(session, experiment)
            if not goes_on:
                # not while the experiment is locked: a run that ends locks its own row before
                with self._database.write() as session:
                    _cancel_trials(session, experiment)
        except Exception as error:  # any error: other experiments and the queue must go on
            self._failed(experiment, error)
            self._not_before[experiment] = time.monotonic() + self._retry_seconds
        else:
            self._failing.pop(experiment, None)
            self._seen[experiment] = count

    def _failed(self, experiment: str, error: Exception) -> None:
        """Tell who waits for the experiment, too: it may never go on, and nothing else says so."""
        why = f"{type(error).__name__}: {error}"[:300]
        if self._failing.get(experiment) == why:
            return
        log.exception("an experiment could not be planned; it is tried again", experiment=experiment)
        if isinstance(error, (*AWAY, Unavailable)):
            return  # it passes, and readiness says so
        with contextlib.suppress(Exception):  # now the database is away: the next time
            self._tell(experiment, f"{_UNPLANNED}{cause(error)}; {LOG}")
            self._failing[experiment] = why

    def _tell(self, experiment: str, why: str) -> None:
        """Have the warnings of an experiment say why it is not planned."""
        with self._database.write() as session:
            row = session.get_one(Experiment, experiment, with_for_update={"key_share": True})
            if not row.planning:
                return  # cancelled meanwhile: it is not tried again
            row.warnings = [*without_unplanned(row), {"pointer": "/tuning", "message": why}]
            announce(session, "experiment", {"id": experiment}, experiment_id=experiment)


def without_unplanned(experiment: Experiment) -> list[dict[str, Any]]:
    """Return the warnings of an experiment without that its plan has failed."""
    return [each for each in experiment.warnings if not each["message"].startswith(_UNPLANNED)]


def propose(session: Session, experiment_id: str) -> None:
    """Find what a model of the results proposes next, before anything is locked: it may take seconds."""
    experiment = session.get_one(Experiment, experiment_id)
    spec = ExperimentSpec.model_validate(experiment.spec)
    if experiment.planning and spec.tuning is not None and waits(spec.tuning):
        with contextlib.suppress(SpecError):  # told by `advance`
            plan_of(session, spec, experiment)


def advance(session: Session, experiment_id: str) -> bool:
    """Add the runs of an experiment's next step, if its trials allow it; nothing if it was cancelled meanwhile.

    Return whether it can go on; its trials are worth nothing otherwise.
    """
    query = select(Experiment).where(Experiment.id == experiment_id).with_for_update()
    experiment = session.scalars(query).one()
    if not experiment.planning:
        return True
    spec = ExperimentSpec.model_validate(experiment.spec)
    if (others := without_unplanned(experiment)) != experiment.warnings:  # perhaps of a process before this one
        experiment.warnings = others
        announce(session, "experiment", {"id": experiment_id}, experiment_id=experiment_id)
    try:
        plan = plan_of(session, spec, experiment)
        if changed := plan.changed_sources():
            raise SpecError(changed)
        step = further(session, plan, experiment_id)
    except SpecError as error:  # since its submission a cluster or its catalogue has changed
        _stop(session, experiment, error.faults)
        return False
    add_runs(session, experiment, step.runs, "planner", "the next step of its tuning")
    _warn(experiment, plan, step)
    experiment.planning = not step.complete
    if step.runs:
        log.info("planned", experiment=experiment_id, runs=len(step.runs), complete=step.complete)
        announce(session, "experiment", {"id": experiment_id}, experiment_id=experiment_id)
        wake_scheduler(session)
    if step.complete:
        session.flush()
        finish_experiment(session, experiment_id)
    return True


def _warn(experiment: Experiment, plan: Plan, step: Step) -> None:
    """Add the warnings about settings that trials have chosen: nothing was known of these at its submission."""
    reported = [run for run in step.runs if run.rung is None]
    found = [asdict(each) for each in experiment_warnings(plan.spec, reported)] if reported else []
    if new := [each for each in found if each not in experiment.warnings]:
        experiment.warnings = [*experiment.warnings, *new]


def _cancel_trials(session: Session, experiment_id: str) -> None:
    """Cancel the trials of a tuning that has stopped; reported runs go on."""
    open_ = select(Run).where(
        Run.experiment_id == experiment_id, Run.rung.is_not(None), Run.state.not_in(TERMINAL)
    )
    for run in session.scalars(open_.order_by(Run.id).with_for_update()).all():
        lifecycle.cancel(session, run, "planner")


def _stop(session: Session, experiment: Experiment, faults: list[Fault]) -> None:
    """End the planning of an experiment that cannot go on; its warnings say why."""
    told = "; ".join(f"{fault.pointer or '/'}: {fault.message}" for fault in faults)
    warning = {"pointer": "/tuning", "message": f"the tuning stopped, its next runs cannot be planned: {told}"}
    experiment.warnings = [*experiment.warnings, warning]
    experiment.planning = False
    session.flush()
    announce(session, "experiment", {"id": experiment.id}, experiment_id=experiment.id)
    finish_experiment(session, experiment.id)
