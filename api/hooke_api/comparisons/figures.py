"""Runs of the database as the figures that a comparison needs, computed at ingest; no points are read."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import fields

from hooke.comparison.figures import PhaseSums, RankSums, RunFigures, add_up
from hooke.trace.phases import PHASES
from sqlalchemy import select
from sqlalchemy.orm import Session

from hooke_api.models import RankTotals, Run

_OF_A_RUN = tuple(each.name for each in fields(RunFigures) if each.name != "totals")


def reported_runs(session: Session, experiment_id: str) -> list[RunFigures]:
    """Return the runs of an experiment that are not trials, by number."""
    of_all = select(Run).where(Run.experiment_id == experiment_id, Run.rung.is_(None)).order_by(Run.number)
    totals = _totals(session, experiment_id)
    return [figures(run, totals.get(run.id)) for run in session.scalars(of_all)]


def figures(run: Run, totals: PhaseSums | None = None) -> RunFigures:
    """Return the figures of a row."""
    return RunFigures(**{name: getattr(run, name) for name in _OF_A_RUN}, totals=totals)


def _totals(session: Session, experiment_id: str) -> dict[str, PhaseSums]:
    """Return the totals of every run's newest attempt."""
    columns = [getattr(RankTotals, name) for name in ("run_id", "role", "hidden", "wire", *map(str, PHASES))]
    query = select(*columns).join(Run, (Run.id == RankTotals.run_id) & (Run.attempt == RankTotals.attempt))
    ranks: dict[str, list[RankSums]] = defaultdict(list)
    for run, role, hidden, wire, *seconds in session.execute(query.where(Run.experiment_id == experiment_id)):
        ranks[run].append(RankSums(role == "worker", seconds, hidden, wire))
    return {run: add_up(of_run) for run, of_run in ranks.items()}
