"""Series of runs and bands of experiments; for the metrics see `hooke_api.metrics.axes`."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import and_, func, select
from sqlalchemy.orm import Session

from hooke_api.base.errors import ResourceNotFound
from hooke_api.metrics import marks, thinning
from hooke_api.metrics.axes import OF_STEPS, curve, needs_steps
from hooke_api.metrics.bands import Curve, band
from hooke_api.metrics.brackets import CELLS
from hooke_api.metrics.curves import CurveStore
from hooke_api.metrics.growing import STALENESS, Growing
from hooke_api.metrics.level import Thinned
from hooke_api.metrics.loading import Curves, Facts, Key, read_facts, read_keys
from hooke_api.metrics.m4 import LEAST_POINTS, m4
from hooke_api.metrics.schemas import (
    Axis,
    Band,
    BandAnswer,
    FurtherMetricView,
    Metric,
    Series,
    SeriesAnswer,
    SeriesQuery,
)
from hooke_api.metrics.table import Floats
from hooke_api.models import NumberSequence, Run
from hooke_api.storage.present import of_present, present_experiment

UNITS: dict[Axis, str] = {"samples": "samples", "step": "steps per worker", "bytes": "bytes"}


def unit(axis: Axis, runs: Sequence[Facts]) -> str:
    """Return the unit of an axis; virtual seconds are labelled."""
    if axis in UNITS:
        return UNITS[axis]
    worlds = {run.simulated for run in runs}
    if worlds == {True}:
        return "virtual s"
    return "s, virtual s where simulated" if len(worlds) > 1 else "s"


def further_metrics(session: Session, experiment: str) -> list[FurtherMetricView]:
    """Return what runs of an experiment declare of further metrics, each once. Raises ResourceNotFound.

    Runs of a variant declare the same.
    """
    present_experiment(session, experiment)
    declaring = and_(Run.experiment_id == experiment, Run.further_metrics.is_not(None))
    first = select(func.min(Run.id)).where(declaring).group_by(Run.variant)
    found: dict[str, FurtherMetricView] = {}
    for declared in session.scalars(select(Run.further_metrics).where(Run.id.in_(first)).order_by(Run.number)):
        for metric in declared or ():
            found.setdefault(metric["name"], FurtherMetricView(**{"measured": False, **metric}))
    return list(found.values())


def _plain(values: Floats) -> list[float | None]:
    """Return numbers for JSON: null if not finite."""
    return [v if math.isfinite(v) else None for v in values.tolist()]


@dataclass
class _Found:
    """What was read of some runs: curves with every row, series at a limited resolution, or curves that grow."""

    keys: Mapping[str, Key]
    curves: Mapping[str, Curves]
    thinned: Mapping[str, Mapping[Metric, Thinned]]
    grown: dict[str, Growing]


def _read(
    session: Session,
    store: CurveStore,
    runs: Sequence[Facts],
    metrics: Sequence[Metric],
    axis: Axis,
    points: int,
    whole: bool = False,
) -> _Found:
    """Read runs for answers of at most `points` points: what is in memory, or reads least.

    `whole`: for bands, which read the points beside those of their grid. Steps are read only for metrics or axes
    that follow from them, and all at once only for bands of more points than `CELLS`, or where they are irregular.
    """
    keys = read_keys(session, runs)
    known = store.known(runs, keys)
    left = [run for run in runs if run.id not in known]
    level = thinning.LEVELS[0] if whole else points
    thinned = thinning.read(session, left, keys, metrics, level, whole)
    rest = [run for run in left if run.id not in thinned]
    if not needs_steps(metrics, axis):
        known |= store.scored(session, rest, keys)
        rest = [run for run in rest if run.id not in known]
    grown: dict[str, Growing] = {}
    if not (whole and points > CELLS and not OF_STEPS.isdisjoint(metrics)):
        grown = store.grown(session, rest, keys, LEAST_POINTS if whole else points)
    if axis == "bytes" and not OF_STEPS.issuperset(metrics):
        grown = {n: store.watching(session, each, keys, each.places_of_evaluations) for n, each in grown.items()}
    rest = [run for run in rest if run.id not in grown]
    return _Found(keys, known | store.read(session, rest, keys), thinned, grown)


def _thinned(found: _Found, run: Facts, metric: Metric, query: SeriesQuery) -> tuple[Floats, Floats, int]:
    """Return x and y of the points of an answer, and the number of points of the series."""
    if run.id in found.thinned:
        line = found.thinned[run.id].get(metric)
        return line.at_most(query.axis, query.points) if line is not None else (np.empty(0), np.empty(0), 0)
    if run.id in found.grown and metric in OF_STEPS:
        return found.grown[run.id].line(metric).at_most(query.axis, query.points)
    x, y = _curve(found, run, metric, query.axis)
    kept = m4(y, query.points)
    return x[kept], y[kept], len(y)


def _curve(found: _Found, run: Facts, metric: Metric, axis: Axis) -> tuple[Floats, Floats]:
    """Return x and y of all points of a metric; of a run that grows, only of one of evaluations."""
    if run.id in found.grown:
        grown = found.grown[run.id]
        return curve(grown.run, grown.curves, metric, axis)
    return curve(run, found.curves[run.id], metric, axis)


def answer_series(session: Session, store: CurveStore, query: SeriesQuery) -> SeriesAnswer:
    """Return the series of a query, ordered by run, then metric. Raises NotFound for an unknown run."""
    known = {run.id: run for run in read_facts(session, and_(Run.id.in_(query.runs), of_present()))}
    missing = [run for run in query.runs if run not in known]
    if missing:
        raise ResourceNotFound(f"no run has the id {missing[0]!r}")
    found = _read(session, store, list(known.values()), query.metrics, query.axis, query.points)
    series = []
    wanted = [(run, metric) for run in query.runs for metric in query.metrics]
    for (run, metric), had in zip(wanted, query.marks or [""] * len(wanted), strict=True):
        x, y, of = _thinned(found, known[run], metric, query)
        begin = marks.kept(had, x, y)
        one = Series.model_construct(
            run=run,
            metric=metric,
            x=x[begin:].tolist(),
            y=_plain(y[begin:]),
            n=len(x),
            of=of,
            kept_before=begin,
            mark=marks.mark(x, y),
        )
        series.append(one)
    return SeriesAnswer.model_construct(
        axis=query.axis, unit=unit(query.axis, list(known.values())), series=series
    )


def answer_bands(
    session: Session, store: CurveStore, experiment: str, metrics: Sequence[Metric], axis: Axis, points: int
) -> BandAnswer:
    """Return mean and band over seeds of every variant x cluster x workers, in the order of the runs.

    Raises NotFound for an unknown experiment. `position` is read in the same transaction as the points, so a
    stream that continues after it misses nothing.
    """
    present_experiment(session, experiment)
    position = session.scalar(select(NumberSequence.value).where(NumberSequence.name == "events")) or 0
    runs = read_facts(session, and_(Run.experiment_id == experiment, Run.rung.is_(None)))
    found = _read(session, store, runs, metrics, axis, points, whole=True)
    groups: dict[tuple[str, str, int], list[Facts]] = defaultdict(list)
    for run in runs:
        groups[run.variant, run.cluster, run.workers].append(run)
    bands = []
    for metric in metrics:
        for members in groups.values():
            _watch(session, store, found, members, metric, axis)
            bands.append(_band(members, found, metric, axis, points))
    return BandAnswer.model_construct(
        axis=axis, unit=unit(axis, runs), bands=bands, position=position, version="", since=None
    )


def _watch(
    session: Session, store: CurveStore, found: _Found, members: Sequence[Facts], metric: Metric, axis: Axis
) -> None:
    """Have the ends of runs that have ended, which are places of the band's grid, watched in those that grow."""
    grown = [run.id for run in members if run.id in found.grown]
    if metric not in OF_STEPS or not grown or len(members) == 1:
        return
    ends = [_needed(found, run, metric, axis)[0][-1:] for run in members if run.ended]
    places = frozenset(np.concatenate((np.empty(0), *ends)).tolist())
    for name in grown:
        place = {(axis, metric == STALENESS): places}
        found.grown[name] = store.watching(session, found.grown[name], found.keys, place)


def _needed(found: _Found, run: Facts, metric: Metric, axis: Axis) -> tuple[Floats, Floats, int]:
    """Return x and y of the points that a band needs, and the number of all points."""
    if run.id in found.thinned:
        line = found.thinned[run.id][metric]
        return line.x[axis], line.y, line.n
    if run.id in found.grown:
        return found.grown[run.id].drawn(metric, axis)
    x, y = curve(run, found.curves[run.id], metric, axis)
    return x, y, len(x)


def _band(members: Sequence[Facts], found: _Found, metric: Metric, axis: Axis, points: int) -> Band:
    first = members[0]
    needed = {run.id: _needed(found, run, metric, axis) for run in members}
    drawn = {run.id: Curve(*needed[run.id][:2], run.ended) for run in members if needed[run.id][2]}
    step = first.workers * first.batch if axis == "samples" else 1.0
    columns = band(list(drawn.values()), points, step)
    return Band.model_construct(
        variant=first.variant,
        cluster=first.cluster,
        simulated=first.simulated,
        workers=first.workers,
        metric=metric,
        x=columns.x.tolist(),
        mean=_plain(columns.mean),
        low=_plain(columns.low),
        high=_plain(columns.high),
        n=columns.n.tolist(),
        runs=list(drawn),
        evaluations=[needed[run][2] for run in drawn],
        kept_before=0,
        kept_after=0,
    )
