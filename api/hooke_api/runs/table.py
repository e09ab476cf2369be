"""The runs of a list as a table."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import select
from sqlalchemy.orm import undefer

from hooke_api.base.tables import csv_lines
from hooke_api.models import Run
from hooke_api.runs.service import Filter
from hooke_api.storage.database import Database

COLUMNS = (
    "id",
    "experiment_id",
    "number",
    "variant",
    "algorithm",
    "cluster",
    "host",
    "simulated",
    "workers",
    "servers",
    "seed",
    "trial",
    "rung",
    "state",
    "attempt",
    "oversubscribed",
    "samples",
    "budget",
    "evaluated_part",
    "accuracy",
    "loss",
    "test_accuracy",
    "test_loss",
    "time_to_target",
    "communication_fraction",
    "staleness",
    "lost_mass",
    "created_at",
    "started_at",
    "finished_at",
)
"""Columns named as the fields of RunSummary, in its units."""
PAGE = 200
"""Runs that are read at a time."""


def csv_of(database: Database, chosen: Filter) -> Iterator[str]:
    """Yield the runs that a filter lets pass, the first submitted first, with the parameters of each as JSON."""
    yield csv_lines([(*COLUMNS, "parameters")])
    last = ""
    while True:
        with database.read() as session:
            query = chosen.apply(select(Run)).where(Run.id > last).order_by(Run.id).limit(PAGE)
            runs = session.scalars(query.options(undefer(Run.spec))).all()
            if not runs:
                return
            last = runs[-1].id
            part = csv_lines((*(getattr(run, name) for name in COLUMNS), _parameters(run)) for run in runs)
        yield part


def _parameters(run: Run) -> object:
    return run.spec["algorithm"]["parameters"]
