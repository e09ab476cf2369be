"""The trials of an experiment, as the engine's plan wants to know them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable

from hooke.catalogue.joined import joined
from hooke.comparison.figures import FINISHED
from hooke.comparison.trials import known, where
from hooke.comparison.wording import count
from hooke.errors import Fault, SpecError
from hooke.spec.specification import ExperimentSpec
from hooke.spec.states import RunState
from hooke.tuning.plan import Earlier, Tried, Where
from hooke.tuning.search import TrialKey, TrialResult
from sqlalchemy import ColumnElement, and_, exists, or_, select
from sqlalchemy.orm import Session

from hooke_api.base.reach import reaches
from hooke_api.models import Experiment, RankTotals, Run

HOW_ENDED = {
    RunState.SUCCEEDED: "with a result",
    RunState.TIMED_OUT: "with a result",
    RunState.FAILED_USER: "failed",
    RunState.FAILED_INFRA: "lost their machine",
    RunState.CANCELLED: "cancelled",
}


def continued(session: Session, spec: ExperimentSpec) -> list[Experiment]:
    """Return the experiments that one continues, the first one first. Raises SpecError if there is none."""
    found: list[Experiment] = []
    at = spec.tuning
    while at is not None and at.continues is not None:
        experiment = session.get(Experiment, at.continues)
        if experiment is None or experiment.deleted_at is not None or not reaches(experiment.project_id):
            raise SpecError([Fault("/tuning/continues", f"no experiment has the id {at.continues!r}")])
        if experiment.imported_at is not None:
            why = f"experiment {experiment.number} was imported: its trials ran on another server's clusters"
            raise SpecError([Fault("/tuning/continues", why)])
        found.insert(0, experiment)
        at = ExperimentSpec.model_validate(experiment.spec).tuning
    return found


def continued_id() -> ColumnElement[str]:
    """Return the expression of the id of the experiment that one continues; null without."""
    found: ColumnElement[str] = Experiment.spec[("tuning", "continues")].as_string()
    return found


def earlier_of(session: Session, spec: ExperimentSpec) -> list[Earlier]:
    """Return the experiments that one continues, with what their trials have run with."""
    return [
        Earlier(ExperimentSpec.model_validate(each.spec), tried(session, each.id))
        for each in continued(session, spec)
    ]


def trial_runs(session: Session, spec: ExperimentSpec, experiment_id: str | None = None) -> list[Run]:
    """Return the runs of all trials that count in an experiment, those of earlier experiments first."""
    counting = [*(each.id for each in continued(session, spec)), experiment_id]
    found: list[Run] = []
    for each in counting:
        query = select(Run).where(Run.experiment_id == each, Run.rung.is_not(None))
        found += session.scalars(query.order_by(Run.number))
    return found


def results_of(
    session: Session, spec: ExperimentSpec, experiment_id: str, again: Collection[str]
) -> dict[Where, dict[TrialKey, TrialResult | None]]:
    """Return the results of all trials that count in an experiment; `again`: ids of those to be tried again."""
    runs = trial_runs(session, spec, experiment_id)
    found = known(spec, runs)
    for run in runs:
        if run.id in again:
            found[where(run)][TrialKey(run.trial or 0, run.rung or 0, run.seed)] = None
    return found


def undelivered(session: Session, experiments: Collection[str]) -> dict[str, str]:
    """Return the trials that ended well, but whose evaluations may still arrive, with their experiment.

    Evaluations are those of rank 0, or of the server, which come before its `done` record; a supervisor that could
    not reach the API for a while reports the end of a run before it has sent them all.
    """
    done = exists().where(
        RankTotals.run_id == Run.id, RankTotals.attempt == Run.attempt, RankTotals.ended.is_not(None)
    )
    of_server = and_(Run.servers > 0, ~done.where(RankTotals.rank == Run.workers))
    query = select(Run.id, Run.experiment_id).where(
        Run.experiment_id.in_(experiments),
        Run.rung.is_not(None),
        Run.state.in_(FINISHED),
        or_(~done.where(RankTotals.rank == 0), of_server),
    )
    return {run: experiment for run, experiment in session.execute(query)}


def tried(session: Session, experiment_id: str) -> dict[Where, dict[int, Tried]]:
    """Return what an experiment's own trials have run with, by search."""
    return _run_with(session, Run.experiment_id == experiment_id, Run.rung == 0)


def measured(session: Session, spec: ExperimentSpec, experiment_id: str) -> dict[Where, dict[int, Tried]]:
    """Return what the runs with the first seed have run with, of an experiment without tuning: each as trial 0."""
    return _run_with(session, Run.experiment_id == experiment_id, Run.seed == spec.first_seed)


def _run_with(session: Session, *mine: ColumnElement[bool]) -> dict[Where, dict[int, Tried]]:
    parts = (Run.spec["algorithm"], Run.spec["workload"], Run.spec["workload_settings"])
    query = select(Run.variant, Run.cluster, Run.workers, Run.trial, *parts).where(*mine).order_by(Run.number)
    found: dict[Where, dict[int, Tried]] = defaultdict(dict)
    for variant, cluster, workers, trial, algorithm, workload, settings in session.execute(query):
        parameters = joined(algorithm["parameters"], settings or {})
        shared = workload["parameters"]
        found[variant, cluster, workers][trial or 0] = Tried(
            parameters, algorithm["hash"], workload["hash"], shared
        )
    return dict(found)


def outcomes(runs: Iterable[Run]) -> list[str]:
    """Return in words how the runs of trials have ended, a sentence for each cluster and number of workers."""
    counted: dict[tuple[str, int], dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for run in runs:
        how = "diverged" if run.diverged else HOW_ENDED.get(run.state, "not ended")
        counted[run.cluster, run.workers][run.variant][how] += 1
    found = []
    for (cluster, workers), variants in counted.items():
        told = (
            f"{name} ({', '.join(f'{n} {how}' for how, n in ends.items())})" for name, ends in variants.items()
        )
        place = f"On {cluster} ({count(workers, 'worker')})"
        found.append(f"{place}, nothing was measured. How the runs of its trials ended: {'; '.join(told)}.")
    return found


def trials_of(experiment: Experiment) -> int:
    """Return how many trials per variant an experiment asked for."""
    tuning = ExperimentSpec.model_validate(experiment.spec).tuning
    return tuning.trials if tuning else 0
