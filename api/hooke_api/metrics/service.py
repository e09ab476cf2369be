"""Series of runs and bands of experiments.

Metrics: `train_loss` is the mean batch loss of P gradients (see `hooke_api.metrics.table`);
`communication_fraction` and `throughput` are totals since the start divided by the train clock; `staleness` has a
point for every row with a known staleness; `validation_accuracy` and `validation_loss` are the evaluations of the
center, called `test_accuracy` and `test_loss` for runs made without a validation part. Other names are those of
further metrics, which have a point for every evaluation that reports them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import get_args

import numpy as np
from hooke.spec.specification import Part
from sqlalchemy import and_, func, select
from sqlalchemy.orm import Session

from hooke_api.base.errors import ResourceNotFound
from hooke_api.metrics.bands import Curve, band
from hooke_api.metrics.curves import CurveStore
from hooke_api.metrics.loading import Curves, Facts, read_facts
from hooke_api.metrics.m4 import m4
from hooke_api.metrics.schemas import (
    Axis,
    Band,
    BandAnswer,
    CommonMetric,
    FurtherMetricView,
    Metric,
    Series,
    SeriesAnswer,
    SeriesQuery,
)
from hooke_api.metrics.table import Floats, Table
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


def curve(run: Facts, curves: Curves, metric: Metric, axis: Axis) -> tuple[Floats, Floats]:
    """Return x (ascending) and y (NaN: a gap) of one metric of one run."""
    part, _, figure = metric.partition("_")
    if part in get_args(Part):
        if part != (run.evaluated_part or "validation"):
            return np.empty(0), np.empty(0)
        evaluations = curves.evaluations
        return _evaluated(run, curves, evaluations.accuracy if figure == "accuracy" else evaluations.loss, axis)
    if metric not in get_args(CommonMetric):
        x, y = _evaluated(run, curves, curves.evaluations.further.get(metric, np.empty(0)), axis)
        return x[np.isfinite(y)], y[np.isfinite(y)]
    table = curves.table
    x = _rows(run, table, axis)
    if metric == "staleness":
        return x[table.staleness_at], table.staleness
    if metric == "throughput":
        begun = table.clock > 0
        nothing = np.full(len(table), np.nan)
        return x, np.divide(table.samples, table.clock, out=nothing, where=begun)
    return x, table.loss if metric == "train_loss" else table.fraction


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


def _rows(run: Facts, table: Table, axis: Axis) -> Floats:
    if axis == "step":
        return table.samples / (run.workers * run.batch)
    return {"clock": table.clock, "wall": table.wall, "samples": table.samples, "bytes": table.bytes}[axis]


def _evaluated(run: Facts, curves: Curves, y: Floats, axis: Axis) -> tuple[Floats, Floats]:
    """Return x and y of an evaluation metric; bytes and steps are those of the row with the same samples."""
    evaluations, table = curves.evaluations, curves.table
    if not len(y):
        return np.empty(0), y
    if axis == "step":
        return evaluations.samples / (run.workers * run.batch), y
    if axis != "bytes":
        return {"clock": evaluations.clock, "wall": evaluations.wall, "samples": evaluations.samples}[axis], y
    known = np.ones(len(y), dtype=bool)
    if not run.ended:  # steps before the newest evaluations may be missing, and their bytes would change later
        known = evaluations.samples <= (table.samples[-1] if len(table) else 0)
    row = np.searchsorted(table.samples, evaluations.samples[known], side="right") - 1
    return np.append(table.bytes, 0.0)[row], y[known]  # row -1 (before the first step) reads the 0


def _plain(values: Floats) -> list[float | None]:
    """Return numbers for JSON: null if not finite."""
    return [v if math.isfinite(v) else None for v in values.tolist()]


def answer_series(session: Session, store: CurveStore, query: SeriesQuery) -> SeriesAnswer:
    """Return the series of a query, ordered by run, then metric. Raises NotFound for an unknown run."""
    known = {run.id: run for run in read_facts(session, and_(Run.id.in_(query.runs), of_present()))}
    missing = [run for run in query.runs if run not in known]
    if missing:
        raise ResourceNotFound(f"no run has the id {missing[0]!r}")
    curves = store.read(session, list(known.values()))
    series = []
    for run in query.runs:
        for metric in query.metrics:
            x, y = curve(known[run], curves[run], metric, query.axis)
            kept = m4(y, query.points)
            columns = {"x": x[kept].tolist(), "y": _plain(y[kept]), "n": len(kept), "of": len(y)}
            series.append(Series.model_construct(run=run, metric=metric, **columns))
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
    curves = store.read(session, runs)
    groups: dict[tuple[str, str, int], list[Facts]] = defaultdict(list)
    for run in runs:
        groups[run.variant, run.cluster, run.workers].append(run)
    bands = [_band(members, curves, metric, axis, points) for metric in metrics for members in groups.values()]
    return BandAnswer.model_construct(
        axis=axis, unit=unit(axis, runs), bands=bands, position=position, version="", since=None
    )


def _band(members: Sequence[Facts], curves: dict[str, Curves], metric: Metric, axis: Axis, points: int) -> Band:
    first = members[0]
    drawn = {run.id: Curve(*curve(run, curves[run.id], metric, axis), run.ended) for run in members}
    drawn = {run: line for run, line in drawn.items() if len(line.x)}
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
        evaluations=[len(line.x) for line in drawn.values()],
        kept_before=0,
        kept_after=0,
    )
