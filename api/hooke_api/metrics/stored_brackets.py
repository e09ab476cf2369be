"""Points of ended runs beside the places of bands, stored, so that the first look at bands reads little.

A row of the table of levels has, of one metric over one axis, what `interpolate` reads of the whole series for
the multiples of any grid of at most `CELLS` cells, and for the ends of the other runs of its group that had ended
when it was made. Of a band with another place the points are read as if nothing were stored: answers are the
same, bit for bit.

    most     -1 - number of the axis; `PLACES`: where all series of the run end, and which places are kept
    n        number of points of the whole series
    data     float64: step of the multiples, number of the other places, these places, x, y
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from hooke.spec.states import TERMINAL
from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from hooke_api.metrics import brackets
from hooke_api.metrics.axes import curve
from hooke_api.metrics.bands import grid_step
from hooke_api.metrics.evaluations import Evaluations
from hooke_api.metrics.growing import Growing
from hooke_api.metrics.level import AXES
from hooke_api.metrics.loading import Curves, Facts, parts, read_facts
from hooke_api.metrics.schemas import BYTES_SENT, Axis, CommonMetric, Metric
from hooke_api.metrics.table import Floats
from hooke_api.models import Run, ThinnedSeries

PLACES = -1 - len(AXES)
NAME = "places"
"""Of the row of places."""
NONE: Mapping[Axis, Floats] = dict.fromkeys(AXES, np.empty(0))


@dataclass(frozen=True)
class Beside:
    """Points of one metric of a run over one axis."""

    x: Floats
    y: Floats
    n: int
    """Number of points of the whole series."""
    step: float | None
    """Of the multiples whose neighbours it has; None: it has every point."""
    places: Floats
    """Further places whose neighbours it has, ascending."""

    def covers(self, grid: Floats) -> bool:
        """Return whether interpolation on a grid reads no points but these."""
        if self.step is None or not len(self.x):
            return True
        inside = grid[(grid >= self.x[0]) & (grid < self.x[-1])]
        others = inside[np.rint(inside / self.step) * self.step != inside]
        return bool(np.isin(others, self.places).all())

    @classmethod
    def unpacked(cls, n: int, data: bytes) -> Beside:
        """Return what was stored."""
        values = np.frombuffer(data, "<f8")
        end = 2 + int(values[1])
        x, y = values[end:].reshape(2, -1)
        return cls(x, y, n, float(values[0]), values[2:end])


@dataclass(frozen=True)
class Ends:
    """The places of a run: where its series end, and those whose neighbours are stored, both ascending."""

    ends: Mapping[Axis, Floats]
    kept: Mapping[Axis, Floats]

    def packed(self) -> bytes:
        """Return it as it is stored."""
        columns = [of[axis] for axis in AXES for of in (self.ends, self.kept)]
        return np.concatenate([[len(each) for each in columns], *columns]).astype("<f8").tobytes()

    @classmethod
    def unpacked(cls, data: bytes) -> Ends:
        """Return what was stored."""
        values, number = np.frombuffer(data, "<f8"), 2 * len(AXES)
        columns = np.split(values[number:], np.cumsum(values[:number].astype(np.int64))[:-1])
        return cls(dict(zip(AXES, columns[::2], strict=True)), dict(zip(AXES, columns[1::2], strict=True)))


def rows(run: Facts, found: Growing, places: Mapping[Axis, Floats], least: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of a run of which `found` watches these places: of series of more than `least` points."""
    for number, axis in enumerate(AXES):
        unit = float(run.workers * run.batch) if axis == "samples" else 1.0
        for metric in metrics_of(found.evaluations):
            x, y, n = found.drawn(metric, axis)
            if n and x[-1] >= brackets.TINY and (n > least or metric == BYTES_SENT):
                data = _packed(x, y, unit, places[axis])
                yield {"most": -1 - number, "metric": metric, "n": n, "gaps": False, "data": data}


def places_row(run: Facts, found: Growing | Curves, places: Mapping[Axis, Floats]) -> dict[str, Any]:
    """Return the row of the places of a run."""

    def x(metric: Metric, axis: Axis) -> Floats:
        return found.drawn(metric, axis)[0] if isinstance(found, Growing) else curve(run, found, metric, axis)[0]

    metrics = metrics_of(found.evaluations)
    ends = {axis: np.unique(np.concatenate([x(metric, axis)[-1:] for metric in metrics])) for axis in AXES}
    return {"most": PLACES, "metric": NAME, "n": 0, "gaps": False, "data": Ends(ends, places).packed()}


def metrics_of(evaluations: Evaluations) -> Sequence[Metric]:
    """Return all metrics of a run with these evaluations."""
    return list(dict.fromkeys((*get_args(CommonMetric), BYTES_SENT, *evaluations.further)))


def _packed(x: Floats, y: Floats, unit: float, places: Floats) -> bytes:
    kept = brackets.beside(x, np.concatenate((brackets.multiples(x, unit), places)))
    step = grid_step(float(x[-1]), brackets.CELLS, unit)
    return np.concatenate(([step, len(places)], places, x[kept], y[kept])).astype("<f8").tobytes()


def read(
    session: Session, marks: Mapping[str, str], metrics: Sequence[Metric], axis: Axis, level: int
) -> dict[str, dict[Metric, Beside]]:
    """Return what is stored for bands of those runs of which every metric is: by `level` if that has every point.

    `marks`: of the data of ended runs, by id.
    """
    of, ids = ThinnedSeries, list(marks)
    columns = (of.run_id, of.of_data, of.most, of.metric, of.n, of.data)
    mine = -1 - AXES.index(axis)
    query = select(*columns).where(
        of.metric.in_(metrics), or_(of.most == mine, (of.most == level) & (of.n <= level))
    )
    found: dict[str, dict[Metric, Beside]] = defaultdict(dict)
    for some in (ids[i : i + 500] for i in range(0, len(ids), 500)):
        for run, of_data, most, metric, n, data in session.execute(query.where(of.run_id.in_(some))):
            if of_data == marks[run]:
                found[run][metric] = Beside.unpacked(n, data) if most == mine else _whole(n, data, axis)
    return {run: each for run, each in found.items() if each.keys() == set(metrics)}


def _whole(n: int, data: bytes, axis: Axis) -> Beside:
    """Return a level that has every point of a series."""
    values = np.frombuffer(data, "<f8").reshape(2 + len(AXES), -1)
    return Beside(values[1 + AXES.index(axis)], values[-1], n, None, np.empty(0))


def others_of(session: Session, run: Facts) -> dict[str, Ends]:
    """Return the places of the other ended runs of the group of a run, by id, as far as they are stored."""
    same = (Run.variant == run.variant, Run.cluster == run.cluster, Run.workers == run.workers, Run.rung.is_(None))
    group = select(Run.id).where(Run.experiment_id == run.experiment_id, Run.id != run.id, *same)
    of = ThinnedSeries
    query = select(of.run_id, of.data).where(of.most == PLACES, of.run_id.in_(group))
    return {name: Ends.unpacked(data) for name, data in session.execute(query)}


def united(of: Sequence[Ends]) -> Mapping[Axis, Floats]:
    """Return where series of these runs end."""
    return {axis: np.unique(np.concatenate((np.empty(0), *(each.ends[axis] for each in of)))) for axis in AXES}


def behind(session: Session, experiments: Sequence[str]) -> list[str]:
    """Return the ended runs of experiments of which nothing is stored, or not beside where another one ends."""
    bands = Run.rung.is_(None) & Run.state.in_(TERMINAL) & Run.experiment_id.in_(experiments)
    runs = read_facts(session, bands)
    of, known = ThinnedSeries, {}
    for ids in parts(runs):
        query = select(of.run_id, of.data).where(of.most == PLACES, of.run_id.in_(ids))
        known.update({name: Ends.unpacked(data) for name, data in session.execute(query)})
    groups: dict[tuple[Any, ...], list[Facts]] = defaultdict(list)
    for run in runs:
        groups[run.experiment_id, run.variant, run.cluster, run.workers].append(run)
    found = []
    for members in groups.values():
        for run in members:
            others = united([known[each.id] for each in members if each.id in known and each is not run])
            if run.id not in known or _misses(known[run.id], others):
                found.append(run.id)
    return found


def _misses(mine: Ends, others: Mapping[Axis, Floats]) -> bool:
    """Return whether the end of another run before that of this one is not kept."""
    for axis in AXES:
        ends = others[axis]
        before = ends[ends < mine.ends[axis].max(initial=-np.inf)]
        if np.setdiff1d(before, mine.kept[axis]).size:
            return True
    return False
