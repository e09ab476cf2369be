"""Planned runs as rows of the database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from hooke.catalogue.expand import PlannedRun
from hooke.spec.specification import fingerprint
from hooke.spec.states import RunState
from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session

from hooke_api.base import ids
from hooke_api.models import Experiment, Run, Transition, database_time


def add_runs(session: Session, experiment: Experiment, planned: Sequence[PlannedRun], who: str, why: str) -> None:
    """Queue runs of an experiment, numbered after those that it has."""
    if not planned:
        return
    at = database_time(session)
    last = session.scalar(select(func.max(Run.number)).where(Run.experiment_id == experiment.id)) or 0
    rows = [_row(experiment, number, run, who, at) for number, run in enumerate(planned, last + 1)]
    session.execute(insert(Run), rows)
    session.execute(insert(Transition), [_first_transition(row["id"], who, why, at) for row in rows])


def _row(experiment: Experiment, number: int, run: PlannedRun, who: str, at: datetime) -> dict[str, Any]:
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
        "trial": run.trial,
        "rung": run.rung,
        "spec": run.spec.model_dump(mode="json", by_alias=True),
        "fingerprint": fingerprint(run.spec),
        "budget": run.spec.budget.samples,
        "state": RunState.QUEUED,
        "created_at": at,
    }


def _first_transition(run_id: str, who: str, why: str, at: datetime) -> dict[str, Any]:
    return {"run_id": run_id, "attempt": 1, "state": RunState.QUEUED, "at": at, "who": who, "why": why}
