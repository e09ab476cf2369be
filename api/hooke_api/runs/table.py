"""The runs of a list as a table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Boolean, DateTime, Float, Integer, TypeDecorator, select
from sqlalchemy.orm import undefer

from hooke_api.base import parquet as base
from hooke_api.base.parquet import arrow
from hooke_api.base.tables import csv_lines
from hooke_api.filters.runs import Order
from hooke_api.models import Run
from hooke_api.runs.service import Filter
from hooke_api.storage.database import Database
from hooke_api.storage.energy import Energy, energy_of

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
FURTHER = ("energy_j", "energy_note", "parameters")
"""Columns behind them: energy as in RunView, and the parameters as JSON."""
PAGE = 200
"""Runs that are read at a time."""


def csv_of(database: Database, chosen: Filter) -> Iterator[str]:
    """Yield the runs that a filter lets pass in its order, with the parameters of each as JSON."""
    yield csv_lines([(*COLUMNS, *FURTHER)])
    for rows in _rows(database, chosen):
        yield csv_lines(rows)


def parquet_of(database: Database, chosen: Filter) -> Iterator[bytes]:
    """Return the same as Parquet: times are timestamps in UTC, parameters a text of JSON. Raises Conflict."""
    pa = arrow()
    types = {"energy_j": pa.float64()}
    further = ((name, types.get(name, pa.string())) for name in FURTHER)
    schema = pa.schema([*((name, _type(pa, name)) for name in COLUMNS), *further])
    names = (*COLUMNS, *FURTHER)

    def tables() -> Iterator[dict[str, list[Any]]]:
        for rows in _rows(database, chosen):
            plain = [(*row[:-1], json.dumps(row[-1], sort_keys=True)) for row in rows]
            yield dict(zip(names, map(list, zip(*plain, strict=True)), strict=True))

    return base.parquet_of(schema, tables())


def _type(pa: Any, name: str) -> Any:
    """Return the type of a column, which follows from that of the database."""
    kind = Run.__table__.columns[name].type
    match kind.impl_instance if isinstance(kind, TypeDecorator) else kind:
        case Boolean():
            return pa.bool_()
        case Integer():
            return pa.int64()
        case Float():
            return pa.float64()
        case DateTime():
            return pa.timestamp("us", tz="UTC")
    return pa.string()


def _rows(database: Database, chosen: Filter) -> Iterator[list[tuple[object, ...]]]:
    """Yield rows of COLUMNS and FURTHER, some at a time: in the order of a query, or the first submitted first.

    A run whose figure changes meanwhile may move to a page that has been read.
    """
    order, last = chosen.query.order if chosen.query else Order("created"), None
    while True:
        with database.read() as session:
            found = chosen.apply(session, select(Run.id, order.column.label("figure")))
            if last is not None:
                found = found.where(order.after(last))
            place = {id: n for n, id in enumerate(order.ids(session, found, PAGE))}
            if not place:
                return
            query = select(Run).where(Run.id.in_(place)).options(undefer(Run.spec))
            runs = sorted(session.scalars(query), key=lambda run: place[run.id])
            last = order.key(runs[-1])
            energy = energy_of(session, Run.id.in_([run.id for run in runs]))
            part = [
                (*(getattr(run, name) for name in COLUMNS), *_energy(energy.get(run.id)), _parameters(run))
                for run in runs
            ]
        yield part


def _energy(found: Energy | None) -> tuple[float | None, str]:
    return (found.joules, found.note) if found else (None, "")


def _parameters(run: Run) -> object:
    return run.spec["algorithm"]["parameters"]
