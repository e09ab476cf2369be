"""The evaluations of a run as columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from hooke_api.metrics.table import Floats
from hooke_api.models import StoredEvaluation


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


def joined(rows: Sequence[tuple[Any, ...]]) -> Evaluations:
    """Return rows (attempt, samples, clock, wall, loss, accuracy, further) as columns."""
    numbers = np.array([row[1:6] for row in rows], dtype=np.float64).reshape(-1, 5)
    names = dict.fromkeys(name for row in rows for name in row[6])
    further = {name: np.array([row[6].get(name, np.nan) for row in rows], dtype=np.float64) for name in names}
    samples, clock, wall, loss, accuracy = (np.ascontiguousarray(column) for column in numbers.T)
    return Evaluations(samples, clock, wall, loss, accuracy, further)


def read_evaluations(session: Session, parts: Iterable[list[str]]) -> dict[str, list[tuple[Any, ...]]]:
    """Return (attempt, samples, clock, wall, loss, accuracy, further) of all evaluations of each run, in order.

    `parts`: ids of the runs, as many at a time as a query may have.
    """
    of = StoredEvaluation
    columns = (of.attempt, of.samples, of.clock, of.wall, of.loss, of.accuracy)
    found: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for ids in parts:
        query = select(of.run_id, of.further, *columns).where(of.run_id.in_(ids))
        for run, further, *row in session.execute(query.order_by(of.run_id, of.attempt, of.samples, of.seq)):
            found[run].append((*(np.nan if value is None else value for value in row), further or {}))
    return found
