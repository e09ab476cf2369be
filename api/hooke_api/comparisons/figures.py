"""Runs of the database as the figures that a comparison needs, computed at ingest; no points are read."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import fields
from typing import Any

from hooke.comparison.figures import PhaseSums, RankSums, RunFigures, add_up
from hooke.trace.phases import PHASES
from sqlalchemy import ColumnElement, and_, case, exists, func, or_, select
from sqlalchemy.orm import Session, aliased

from hooke_api.models import RankTotals, Run, StoredEvaluation
from hooke_api.storage.energy import Energy, energy_of

_ELSEWHERE = ("totals", "target_accuracy", "best_accuracy", "energy", "energy_shared")
_OF_A_RUN = tuple(each.name for each in fields(RunFigures) if each.name not in _ELSEWHERE)


def reported_runs(session: Session, experiment_id: str) -> list[RunFigures]:
    """Return the runs of an experiment that are not trials, by number."""
    return _those(session, and_(Run.experiment_id == experiment_id, Run.rung.is_(None)))


def one_run(session: Session, run_id: str) -> RunFigures:
    """Return a run that exists; it may be that of a trial."""
    (found,) = _those(session, Run.id == run_id)
    return found


def _those(session: Session, mine: ColumnElement[bool]) -> list[RunFigures]:
    totals, accuracies = _totals(session, mine), _accuracies(session, mine)
    energy = energy_of(session, mine)
    return [
        figures(run, totals.get(run.id), accuracies.get(run.id, (None, None)), energy.get(run.id))
        for run in session.scalars(select(Run).where(mine).order_by(Run.number))
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


def _accuracies(session: Session, mine: ColumnElement[bool]) -> dict[str, tuple[float | None, float | None]]:
    """Return the accuracy at the target and the best one of each of these runs.

    Of earlier attempts count the evaluations that come before those of the next one: it went on from there.
    """
    of, later = StoredEvaluation, aliased(StoredEvaluation)
    met = and_(of.reached, of.attempt == Run.attempt, of.clock == Run.time_to_target)
    repeated = exists().where(
        later.run_id == of.run_id,
        later.attempt > of.attempt,
        later.attempt <= Run.attempt,
        later.samples <= of.samples,
    )
    counts = or_(of.attempt == Run.attempt, and_(of.attempt.between(Run.resume_from, Run.attempt), ~repeated))
    query = (
        select(Run.id, func.max(case((met, of.accuracy))), func.max(of.accuracy))
        .select_from(of)
        .join(Run, Run.id == of.run_id)
        .where(mine, counts)
        .group_by(Run.id)
    )
    return {run: (target, best) for run, target, best in session.execute(query)}


def _totals(session: Session, mine: ColumnElement[bool]) -> dict[str, PhaseSums]:
    """Return the totals of the newest attempt of each of these runs."""
    columns = [getattr(RankTotals, name) for name in ("run_id", "role", "hidden", "wire", *map(str, PHASES))]
    query = select(*columns).join(Run, (Run.id == RankTotals.run_id) & (Run.attempt == RankTotals.attempt))
    ranks: dict[str, list[RankSums]] = defaultdict(list)
    for run, role, hidden, wire, *seconds in session.execute(query.where(mine)):
        ranks[run].append(RankSums(role == "worker", seconds, hidden, wire))
    return {run: add_up(of_run) for run, of_run in ranks.items()}
