"""The evaluations of a run as columns."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Text, or_, select, type_coerce
from sqlalchemy.orm import Session

from hooke_api.base.workers import still_working
from hooke_api.metrics.table import Floats
from hooke_api.models import StoredEvaluation
from hooke_api.storage.statements import filled

Row = tuple[Any, ...]
Place = tuple[int, int, int]
"""Attempt, rank and number of the record of an evaluation."""
NOTHING: Mapping[str, float] = {}
ROWS = 1000
"""Rows that are read from the database at a time."""
RUNS = 128
"""Runs whose later evaluations one query reads: each is a condition of its own."""


@dataclass(frozen=True)
class Evaluations:
    """The evaluations of a run, ascending in samples; values that are not finite, or missing, are NaN."""

    samples: Floats
    clock: Floats
    wall: Floats
    loss: Floats
    accuracy: Floats
    further: dict[str, Floats] = field(default_factory=dict)
    """Name of a further metric -> its values."""

    @property
    def nbytes(self) -> int:
        """Return the size in memory, bytes."""
        arrays = (self.samples, self.clock, self.wall, self.loss, self.accuracy, *self.further.values())
        return sum(int(array.nbytes) for array in arrays)

    def followed(self, later: Evaluations) -> Evaluations:
        """Return them with others that follow."""
        if not len(later.samples):
            return self
        both = (self, later)
        names = dict.fromkeys((*self.further, *later.further))
        further = {n: np.concatenate([each.further.get(n, each.missing) for each in both]) for n in names}
        of_all = ("samples", "clock", "wall", "loss", "accuracy")
        columns = {name: np.concatenate([getattr(each, name) for each in both]) for name in of_all}
        return Evaluations(**columns, further=further)

    @property
    def missing(self) -> Floats:
        """Return the values of a metric that none of them has."""
        return np.full(len(self.samples), np.nan)


def place_of(rows: Sequence[Row]) -> Place | None:
    """Return the place of the last of some rows."""
    return (rows[-1][0], rows[-1][7], rows[-1][8]) if rows else None


def joined(rows: Sequence[Row]) -> Evaluations:
    """Return rows (attempt, samples, clock, wall, loss, accuracy, further, ...) as columns; None becomes NaN."""
    columns = list(zip(*rows, strict=True)) or [()] * 7
    samples, clock, wall, loss, accuracy = (np.array(column, dtype=np.float64) for column in columns[1:6])
    names = dict.fromkeys(name for each in columns[6] for name in each)
    further = {name: np.array([each.get(name) for each in columns[6]], dtype=np.float64) for name in names}
    return Evaluations(samples, clock, wall, loss, accuracy, further)


def evaluations_by_run(session: Session, parts: Iterable[list[str]]) -> Iterator[tuple[str, list[Row]]]:
    """Yield the id and the rows of each run that has evaluations, in order of samples; one run after the other.

    A row is (attempt, samples, clock, wall, loss, accuracy, further, rank, seq). Only the rows of one run are in
    memory. `parts`: ids of the runs, as many at a time as a query may have.

    Of a million rows each microsecond is a second: they are read as the database has them, without the mapper.
    """
    for ids in parts:
        yield from _rows(session, StoredEvaluation.run_id.in_(ids))


def later_evaluations(session: Session, after: Mapping[str, Place]) -> dict[str, list[Row]]:
    """Return the rows of each run that its attempt and rank have written behind a place."""
    behind = [_behind(run, place) for run, place in after.items()]
    parts = (or_(*filled(behind[i : i + RUNS], _behind("", (0, 0, 0)))) for i in range(0, len(behind), RUNS))
    return defaultdict(list, (each for part in parts for each in _rows(session, part)))


def _behind(run: str, place: Place) -> ColumnElement[bool]:
    attempt, rank, seq = place
    of = StoredEvaluation
    return (of.run_id == run) & (of.attempt == attempt) & (of.rank == rank) & (of.seq > seq)


def _rows(session: Session, those: ColumnElement[bool]) -> Iterator[tuple[str, list[Row]]]:
    of = StoredEvaluation.__table__.c
    columns = (of.run_id, of.attempt, of.samples, of.clock, of.wall, of.loss, of.accuracy)
    further = type_coerce(of.further, Text)  # that most have none is seen without reading JSON
    query = select(*columns, further, of.rank, of.seq).where(those)
    query = query.order_by(of.run_id, of.attempt, of.samples, of.seq).execution_options(yield_per=ROWS)
    with closing(session.execute(query)) as rows:
        for run, own in groupby(rows, key=itemgetter(0)):
            still_working()
            yield run, [(*row[1:7], _named(row[7]), row[8], row[9]) for row in own]


def _named(further: Any) -> Mapping[str, float]:
    """Return further metrics by name; PostgreSQL's driver has read the JSON already."""
    if isinstance(further, str):
        return NOTHING if further in ("{}", "null") else json.loads(further) or NOTHING
    return further or NOTHING


def read_evaluations(session: Session, parts: Iterable[list[str]]) -> dict[str, list[Row]]:
    """Return the rows of all evaluations of each run, as `evaluations_by_run`; for few of them."""
    return defaultdict(list, evaluations_by_run(session, parts))
