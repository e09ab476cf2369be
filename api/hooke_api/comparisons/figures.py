"""Runs of the database as the figures that a comparison needs, computed at ingest; no points are read."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import fields
from typing import Any

from hooke.comparison.figures import PhaseSums, RankSums, RunFigures, add_up
from hooke.trace.phases import PHASES
from sqlalchemy import and_, case, func, select
from sqlalchemy.orm import Session

from hooke_api.models import RankTotals, Run, StoredEvaluation
from hooke_api.storage.energy import Energy, energy_of

_ELSEWHERE = ("totals", "target_accuracy", "best_accuracy", "energy", "energy_shared")
_OF_A_RUN = tuple(each.name for each in fields(RunFigures) if each.name not in _ELSEWHERE)


def reported_runs(session: Session, experiment_id: str) -> list[RunFigures]:
    """Return the runs of an experiment that are not trials, by number."""
    mine = and_(Run.experiment_id == experiment_id, Run.rung.is_(None))
    of_all = select(Run).where(mine).order_by(Run.number)
    totals, accuracies = _totals(session, experiment_id), _accuracies(session, experiment_id)
    energy = energy_of(session, mine)
    return [
        figures(run, totals.get(run.id), accuracies.get(run.id, (None, None)), energy.get(run.id))
        for run in session.scalars(of_all)
    ]


def figures(
    run: Run,
    totals: PhaseSums | None = None,
    accuracies: tuple[float | None, float | None] = (None, None),
    energy: Energy | None = None,
) -> RunFigures:
    """Return the figures of a row; `accuracies`: at the target, and the best one, of its evaluations."""
    own = {name: getattr(run, name) for name in _OF_A_RUN}
    at_target, best = accuracies
    told: dict[str, Any] = {"energy": energy.final, "energy_shared": energy.shared} if energy else {}
    return RunFigures(**own, **told, target_accuracy=at_target, best_accuracy=best, totals=totals)


def _accuracies(session: Session, experiment_id: str) -> dict[str, tuple[float | None, float | None]]:
    """Return the accuracy at the target and the best one of every reported run, in its newest attempt."""
    met = and_(StoredEvaluation.reached, StoredEvaluation.clock == Run.time_to_target)
    at_target = func.max(case((met, StoredEvaluation.accuracy)))
    query = (
        select(Run.id, at_target, func.max(StoredEvaluation.accuracy))
        .select_from(StoredEvaluation)
        .join(Run, (Run.id == StoredEvaluation.run_id) & (Run.attempt == StoredEvaluation.attempt))
        .where(Run.experiment_id == experiment_id, Run.rung.is_(None))
        .group_by(Run.id)
    )
    return {run: (target, best) for run, target, best in session.execute(query)}


def _totals(session: Session, experiment_id: str) -> dict[str, PhaseSums]:
    """Return the totals of every run's newest attempt."""
    columns = [getattr(RankTotals, name) for name in ("run_id", "role", "hidden", "wire", *map(str, PHASES))]
    query = select(*columns).join(Run, (Run.id == RankTotals.run_id) & (Run.attempt == RankTotals.attempt))
    ranks: dict[str, list[RankSums]] = defaultdict(list)
    for run, role, hidden, wire, *seconds in session.execute(query.where(Run.experiment_id == experiment_id)):
        ranks[run].append(RankSums(role == "worker", seconds, hidden, wire))
    return {run: add_up(of_run) for run, of_run in ranks.items()}
