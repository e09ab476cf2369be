"""The trials of an experiment, as the engine's plan wants to know them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from hooke.spec.specification import ExperimentSpec
from hooke.spec.states import TERMINAL, RunState
from hooke.tuning.plan import Tried, Where
from hooke.tuning.search import TrialKey, TrialResult
from sqlalchemy import and_, exists, or_, select
from sqlalchemy.orm import Session

from hooke_api.models import RankTotals, Run

ENDED_WELL = frozenset({RunState.SUCCEEDED, RunState.TIMED_OUT})
"""States of trials that have a result."""


def trial_runs(session: Session, experiment_id: str) -> list[Run]:
    """Return the runs of all trials, by number."""
    query = select(Run).where(Run.experiment_id == experiment_id, Run.rung.is_not(None))
    return list(session.scalars(query.order_by(Run.number)))


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
        Run.state.in_(ENDED_WELL),
        or_(~done.where(RankTotals.rank == 0), of_server),
    )
    return {run: experiment for run, experiment in session.execute(query)}


def tried(session: Session, experiment_id: str) -> dict[Where, dict[int, Tried]]:
    """Return what the trials of each search have run with."""
    columns = (Run.variant, Run.cluster, Run.workers, Run.trial, Run.spec["algorithm"], Run.spec["workload"])
    query = select(*columns).where(Run.experiment_id == experiment_id, Run.rung == 0)
    found: dict[Where, dict[int, Tried]] = defaultdict(dict)
    for variant, cluster, workers, trial, algorithm, workload in session.execute(query):
        of_run = Tried(algorithm["parameters"], algorithm["hash"], workload["hash"])
        found[variant, cluster, workers][trial] = of_run
    return dict(found)


def where(run: Run) -> Where:
    """Return the search that a trial's run belongs to."""
    return run.variant, run.cluster, run.workers


def key(run: Run) -> TrialKey:
    """Return which run of its search it is."""
    return TrialKey(run.trial or 0, run.rung or 0, run.seed)


def known(spec: ExperimentSpec, runs: Iterable[Run]) -> dict[Where, dict[TrialKey, TrialResult | None]]:
    """Return the results of trials by search; None of a run that has not ended."""
    found: dict[Where, dict[TrialKey, TrialResult | None]] = defaultdict(dict)
    for run in runs:
        found[where(run)][key(run)] = result(spec, run) if run.state in TERMINAL else None
    return dict(found)


def result(spec: ExperimentSpec, run: Run) -> TrialResult:
    """Return what an ended trial has shown: nothing, if it failed or was cancelled."""
    if run.state not in ENDED_WELL or run.diverged:
        return TrialResult(None, None)
    by_loss = spec.target is not None and not spec.target.of_accuracy
    quality = (None if run.loss is None else -run.loss) if by_loss else run.accuracy
    return TrialResult(run.time_to_target, quality)


def trials_made(runs: Iterable[Run]) -> dict[Where, int]:
    """Return how many trials of each search have had their budget: all of whose runs ended by themselves."""
    counted: dict[Where, dict[int, bool]] = defaultdict(dict)
    for run in runs:
        trials = counted[where(run)]
        trials[run.trial or 0] = trials.get(run.trial or 0, True) and _had_its_budget(run)
    return {search: sum(trials.values()) for search, trials in counted.items()}


def _had_its_budget(run: Run) -> bool:
    """Return whether a trial ended as it would again; not, if it was refused before its first step.

    The source of an own algorithm may have been another one, or its class may not take the setting.
    """
    return run.state in ENDED_WELL or run.diverged or (run.state is RunState.FAILED_USER and run.samples > 0)
