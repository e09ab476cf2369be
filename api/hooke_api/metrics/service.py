"""Series of runs and bands of experiments; for the metrics see `hooke_api.metrics.axes`."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import and_, func, select
from sqlalchemy.orm import Session

from hooke_api.base.errors import ResourceNotFound
from hooke_api.metrics import marks, stored_brackets, thinning
from hooke_api.metrics.axes import OF_STEPS, curve, needs_steps
from hooke_api.metrics.bands import Curve, band, common_grid
from hooke_api.metrics.brackets import CELLS
from hooke_api.metrics.curves import MANY, CurveStore
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
from hooke_api.metrics.stored_brackets import Beside
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
    there = np.isfinite(values)
    if there.all():
        found: list[float | None] = values.tolist()
        return found
    return [v if math.isfinite(v) else None for v in values.tolist()] if there.any() else [None] * len(values)


@dataclass
class _Found:
    """What was read of some runs: curves with every row, series at a limited resolution, or curves that grow."""

    keys: Mapping[str, Key]
    curves: Mapping[str, Curves]
    thinned: Mapping[str, Mapping[Metric, Thinned]]
    grown: dict[str, Growing]
    beside: Mapping[str, Mapping[Metric, Beside]]
    """Of bands."""


def _read(  # noqa: PLR0913 - what is asked for, and where it may come from
    session: Session,
    store: CurveStore,
    runs: Sequence[Facts],
    metrics: Sequence[Metric],
    axis: Axis,
    points: int,
    whole: bool = False,
    stored: bool = True,
) -> _Found:
    """Read runs for answers of at most `points` points: what is in memory, or reads least.

    `whole`: for bands, which read the points beside those of their grid; `stored`: also if these may not be beside
    all of it. Steps are read only for metrics or axes that follow from them, and all at once only for bands of
    more points than `CELLS`, or where they are irregular.
    """
    keys = read_keys(session, runs)
    known = store.known(runs, keys)
    left = [run for run in runs if run.id not in known]
    thinned = {} if whole else thinning.read(session, left, keys, metrics, points)
    known_marks = thinning.marks_of(left, keys) if whole and stored else {}
    beside = stored_brackets.read(session, known_marks, metrics, axis, thinning.LEVELS[0])
    rest = [run for run in left if run.id not in thinned and run.id not in beside]
    if not needs_steps(metrics, axis):
        # of a run that goes on, a few steps are less to read than all of its many evaluations
        scored = [run for run in rest if run.ended or keys[run.id][2] <= MANY]
        known |= store.scored(session, scored, keys)
        rest = [run for run in rest if run.id not in known]
    grown: dict[str, Growing] = {}
    if not (whole and points > CELLS and not OF_STEPS.isdisjoint(metrics)):
        grown = store.grown(session, rest, keys, LEAST_POINTS if whole else points)
    if axis == "bytes" and not OF_STEPS.issuperset(metrics):
        grown = {n: store.watching(session, each, keys, each.places_of_evaluations) for n, each in grown.items()}
    rest = [run for run in rest if run.id not in grown]
    return _Found(keys, known | store.read(session, rest, keys), thinned, grown, beside)


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
    if far := _far([*groups.values()], found, metrics, axis, points):
        more = _read(session, store, far, metrics, axis, points, whole=True, stored=False)
        beside = {name: each for name, each in found.beside.items() if name not in more.keys}
        found = replace(
            found, curves={**found.curves, **more.curves}, grown=found.grown | more.grown, beside=beside
        )
    bands = []
    for metric in metrics:
        for members in groups.values():
            _watch(session, store, found, members, metric, axis)
            bands.append(_band(members, found, metric, axis, points))
    return BandAnswer.model_construct(
        axis=axis, unit=unit(axis, runs), bands=bands, position=position, version="", since=None
    )


def _far(
    groups: Sequence[Sequence[Facts]], found: _Found, metrics: Sequence[Metric], axis: Axis, points: int
) -> list[Facts]:
    """Return the runs of which the stored points are not beside all places of a band."""
    far: dict[str, Facts] = {}
    for members in groups:
        stored = [run for run in members if run.id in found.beside]
        for metric in metrics if stored else ():
            grid = common_grid([_seed(found, run, metric, axis) for run in members], points, _unit(members, axis))
            far.update({run.id: run for run in stored if not found.beside[run.id][metric].covers(grid)})
    return list(far.values())


def _seed(found: _Found, run: Facts, metric: Metric, axis: Axis) -> Curve:
    return Curve(*_needed(found, run, metric, axis)[:2], run.ended)


def _unit(members: Sequence[Facts], axis: Axis) -> float:
    """Return the unit of the grid of a group."""
    return float(members[0].workers * members[0].batch) if axis == "samples" else 1.0


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
    if run.id in found.beside:
        line = found.beside[run.id][metric]
        return line.x, line.y, line.n
    if run.id in found.grown:
        return found.grown[run.id].drawn(metric, axis)
    x, y = curve(run, found.curves[run.id], metric, axis)
    return x, y, len(x)


def _band(members: Sequence[Facts], found: _Found, metric: Metric, axis: Axis, points: int) -> Band:
    first = members[0]
    needed = {run.id: _needed(found, run, metric, axis) for run in members}
    drawn = {run.id: Curve(*needed[run.id][:2], run.ended) for run in members if needed[run.id][2]}
    columns = band(list(drawn.values()), points, _unit(members, axis))
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
