"""Searches that an extension had begun and that were cancelled: the next extension goes on with them.

Nothing was chosen by what their trials had shown, and the cancelled ones have not had their budget: that these are
tried again changes no result that anybody has seen.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hooke.spec.specification import ExperimentSpec
from hooke.spec.states import RunState
from hooke.tuning.plan import Where
from sqlalchemy import select
from sqlalchemy.orm import Session

from hooke_api.models import Experiment, Run
from hooke_api.scheduling.lifecycle import Cause
from hooke_api.scheduling.retries import try_anew


def first_variants(experiment: Experiment) -> set[str]:
    """Return the names of the variants that an experiment was submitted with."""
    if not experiment.earlier:
        return set(experiment.variants)
    return {variant["name"] for variant in experiment.earlier[0]["spec"]["variants"]}


def cancelled_trials(session: Session, experiment: Experiment, spec: ExperimentSpec) -> list[Run]:
    """Return the cancelled trials of searches of added variants that have no reported run, of their last rung.

    Trials of earlier rungs have decided who is on the last one. `spec`: that of the experiment, before another
    extension.
    """
    added = set(experiment.variants) - first_variants(experiment)
    if spec.tuning is None or not added:
        return []
    query = select(Run).where(Run.experiment_id == experiment.id, Run.variant.in_(added)).order_by(Run.number)
    runs = session.scalars(query).all()
    decided = {_search(spec, run) for run in runs if run.rung is None}
    trials = [run for run in runs if run.rung is not None and _search(spec, run) not in decided]
    last = {search: max(_rungs(spec, trials, search)) for search in {_search(spec, run) for run in trials}}
    return [run for run in trials if run.state is RunState.CANCELLED and run.rung == last[_search(spec, run)]]


def _search(spec: ExperimentSpec, run: Run) -> Where:
    """Return the search that a run belongs to, or that has chosen its setting."""
    return run.variant, (spec.tuning.cluster if spec.tuning else None) or run.cluster, run.workers


def _rungs(spec: ExperimentSpec, trials: Sequence[Run], search: Where) -> list[int]:
    return [run.rung or 0 for run in trials if _search(spec, run) == search]


def locked(session: Session, runs: Collection[str]) -> list[Run]:
    """Return runs, which nobody changes until the transaction ends; call it before their experiment is locked."""
    if not runs:
        return []
    query = select(Run).where(Run.id.in_(runs)).order_by(Run.id)
    return list(session.scalars(query.with_for_update()).all())


def try_again(session: Session, trials: Sequence[Run], who: str, version: int) -> None:
    """Queue cancelled trials from their beginning."""
    for run in trials:
        try_anew(session, run, Cause(who, f"cancelled before version {version}, which goes on with its search"))
