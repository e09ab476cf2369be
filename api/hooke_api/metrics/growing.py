"""Curves of a run at limited resolutions, which grow with its steps: a look at them reads the steps that are new.

Rows (`hooke_api.metrics.table`) are settled once no step can change them: every rank that goes on has written a
step that ended after them. Of many settled rows only those points are kept from which answers follow: what M4
keeps of every metric (`level.py`), and the neighbours of the places of a band's grid (`brackets.py`). A few
thousand wait for that: they take no more memory as they are, and a look at a short run has nothing to choose.
Steps behind settled rows are kept as they are, few as long as ranks write at about the same time; their rows are
computed anew at every look. So answers are those of all steps, bit for bit, whatever the number of looks between.

What is kept follows from the rows of the database alone, by id, whichever process stored them. It is computed anew
from all steps where they do not just go on: a new attempt, steps of an earlier one, a rank that was silent until
now, other places of a band.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hooke_api.metrics.attempts import Begun
from hooke_api.metrics.axes import OF_STEPS, curve
from hooke_api.metrics.brackets import Brackets
from hooke_api.metrics.evaluations import Evaluations, Place, Row, joined
from hooke_api.metrics.level import AXES, Thinned
from hooke_api.metrics.loading import Curves, Facts, Key, Left
from hooke_api.metrics.pieces import Counting
from hooke_api.metrics.schemas import BYTES_SENT, Axis, Metric
from hooke_api.metrics.table import Before, Floats, RankColumns, Table

OF_ROWS: tuple[Metric, ...] = ("train_loss", "communication_fraction", "throughput", BYTES_SENT)
"""The metrics with a point for every row, in the order in which brackets have them."""
STALENESS: Metric = "staleness"
Places = Mapping[tuple[Axis, bool], frozenset[float]]
"""Places on an axis, of rows or (True) of points of staleness, whose neighbours are to be kept."""
NO_EVALUATIONS = joined([])
_OF_RANK = 500
"""Bytes of a rank in memory beside its columns, about."""


class Irregular(Exception):
    """Steps are not in the order of time, as no engine writes them: only a computation of all of them applies."""


@dataclass(frozen=True)
class Told:
    """What is known of a run beside its steps."""

    begun: Sequence[Begun]
    left: Left
    evaluations: Sequence[Row] | None
    """See `read_evaluations`; None: there are those of the curves that grow, and `later`."""
    of: int = 0
    """Number of the evaluations that `later` follow on."""
    later: Sequence[Row] = ()

    @property
    def newest(self) -> int:
        """Return the number of the newest attempt that has begun."""
        return self.begun[-1].number if self.begun else 1


@dataclass(frozen=True)
class Settled:
    """What is kept of the rows that no step can change any more."""

    before: Before
    """Of the rows that follow on them."""
    writers: tuple[tuple[int, ...], int]
    """The workers that have steps, and the number of those that were dropped without any."""
    levels: Mapping[Metric, Thinned]
    rows: Mapping[Axis, Brackets]
    stale: Mapping[Axis, Brackets]
    unthinned: int = 0
    """How many of the settled rows, the last ones, are in none of these yet: the first rows of `Growing.tail`."""

    @property
    def thinned(self) -> int:
        """Return the number of rows of which only some points are kept."""
        return self.before.rows - self.unthinned

    @property
    def nbytes(self) -> int:
        """Return the size in memory, bytes."""
        brackets = (*self.rows.values(), *self.stale.values())
        return sum(each.nbytes for each in self.levels.values()) + sum(each.nbytes for each in brackets)

    def watching(self, places: Places) -> Settled | None:
        """Return the same with further places; None if points beside one of these were left out already."""
        found, changed = {False: dict(self.rows), True: dict(self.stale)}, False
        for (axis, stale), some in places.items():
            brackets = found[stale][axis].watching(some)
            if brackets is None:
                return None
            changed = changed or brackets is not found[stale][axis]
            found[stale][axis] = brackets
        return replace(self, rows=found[False], stale=found[True]) if changed else self

    @property
    def watched(self) -> Places:
        """Return all places that are watched."""
        kinds = ((False, self.rows), (True, self.stale))
        return {(axis, kind): frozenset(each.watched.tolist()) for kind, of in kinds for axis, each in of.items()}


@dataclass(frozen=True)
class Growing:
    """The curves of a run as of some key; never changed, but replaced."""

    run: Facts
    key: Key
    most: int
    """Maximum number of points of an answer."""
    settled: Settled
    tail: Table
    """The settled rows that are not thinned out yet, and those that follow on them."""
    ranks: Mapping[int, RankColumns]
    """The steps of the rows that follow, and the one before them."""
    counting: Counting
    earlier: Mapping[int, int]
    """Rank -> number of its steps of attempts before the newest one that count."""
    scored: Floats
    """Samples of all evaluations."""
    evaluations: Evaluations
    """Those that count."""
    scored_to: Place | None = None
    """Of the last one; None: none, or not known."""

    @property
    def nbytes(self) -> int:
        """Return the size in memory, bytes."""
        columns = [array for rank in self.ranks.values() for array in rank.columns.values()]
        rest = self.tail.nbytes + self.evaluations.nbytes + sum(int(array.nbytes) for array in columns)
        return self.settled.nbytes + rest + int(self.scored.nbytes) + _OF_RANK * len(self.ranks)

    @property
    def places_of_evaluations(self) -> Places:
        """Return where the rows are that say what was sent until each evaluation."""
        return {("samples", False): frozenset(self.scored.tolist())}

    @property
    def rows(self) -> int:
        """Return the number of rows of the run."""
        return self.settled.thinned + len(self.tail)

    def serves(self, points: int) -> bool:
        """Return whether it has what answers of so many points need."""
        return points <= self.most or self.settled.thinned <= self.most

    def covers(self, run: Facts, key: Key, points: int) -> bool:
        """Return whether answers with so many points follow from it, of these data or later ones of the run."""
        same = same_shape(self.run, run) and self.key[-1] == key[-1]
        newer = all(mine >= asked for mine, asked in zip(self.key[:-1], key[:-1], strict=True))
        return same and newer and self.serves(points)

    @property
    def curves(self) -> Curves:
        """Return what curves of evaluations follow from: on the axis of bytes, the rows beside them."""
        x, y = self.settled.rows["samples"].followed(self.tail.samples, self._tail("samples"))
        nothing, none = np.empty(0), np.empty(0, dtype=np.int64)
        sent = y[OF_ROWS.index(BYTES_SENT)]
        return Curves(Table(x, nothing, nothing, sent, nothing, nothing, none, nothing), self.evaluations)

    def line(self, metric: Metric) -> Thinned:
        """Return a metric of steps at the limited resolution."""
        drawn = {axis: self._curve(metric, axis) for axis in AXES}
        return self.settled.levels[metric].followed({axis: x for axis, (x, _) in drawn.items()}, drawn[AXES[0]][1])

    def drawn(self, metric: Metric, axis: Axis) -> tuple[Floats, Floats, int]:
        """Return x and y of the points that a band needs of a metric, and the number of all of its points."""
        if metric not in OF_STEPS:
            x, y = curve(self.run, self.curves, metric, axis)
            return x, y, len(x)
        x, y = self._curve(metric, axis)
        n = self.settled.levels[metric].n + len(y)
        if metric == STALENESS:
            x, found = self.settled.stale[axis].followed(x, y[np.newaxis])
            return x, found[0], n
        x, found = self.settled.rows[axis].followed(x, self._tail(axis))
        return x, found[OF_ROWS.index(metric)], n

    def _tail(self, axis: Axis) -> Floats:
        return np.stack([self._curve(metric, axis)[1] for metric in OF_ROWS])

    def _curve(self, metric: Metric, axis: Axis) -> tuple[Floats, Floats]:
        return curve(self.run, Curves(self.tail, NO_EVALUATIONS), metric, axis)


def same_shape(one: Facts, other: Facts) -> bool:
    """Return whether rows of both are made of steps in the same way."""
    return shape_of(one) == shape_of(other)


def shape_of(run: Facts) -> tuple[Any, ...]:
    """Return on what it depends how rows are made of steps."""
    return (run.lockstep, run.workers, run.servers, run.batch, run.algorithm, run.sizes)
