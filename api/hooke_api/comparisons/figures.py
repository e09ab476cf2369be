"""Runs of the database as the figures that a comparison needs, computed at ingest; no points are read."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import fields
from typing import Any

from hooke.comparison.figures import PhaseSums, RankSums, RunFigures, add_up
from hooke.trace.phases import PHASES
from sqlalchemy import ColumnElement, and_, select
from sqlalchemy.orm import Session

from hooke_api.models import RankTotals, Run
from hooke_api.storage import evaluated
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
    runs = session.scalars(select(Run).where(mine).order_by(Run.number)).all()
    totals, energy = _totals(session, mine), energy_of(session, mine)
    accuracies = evaluated.accuracies(session, [run.id for run in runs])
    return [figures(run, totals.get(run.id), accuracies[run.id], energy.get(run.id)) for run in runs]


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


def _totals(session: Session, mine: ColumnElement[bool]) -> dict[str, PhaseSums]:
    """Return the totals of the newest attempt of each of these runs."""
    columns = [getattr(RankTotals, name) for name in ("run_id", "role", "hidden", "wire", *map(str, PHASES))]
    query = select(*columns).join(Run, (Run.id == RankTotals.run_id) & (Run.attempt == RankTotals.attempt))
    ranks: dict[str, list[RankSums]] = defaultdict(list)
    for run, role, hidden, wire, *seconds in session.execute(query.where(mine)):
        ranks[run].append(RankSums(role == "worker", seconds, hidden, wire))
    return {run: add_up(of_run) for run, of_run in ranks.items()}
