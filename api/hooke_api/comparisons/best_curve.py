"""The curve that a list shows beside the answer: the judged metric of the best variant over train-clock time.

Computed with the headlines and stored beside them; it has a fixed number of values, whatever the runs have.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from hooke.comparison.report import Row
from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from hooke_api.comparisons.service import Reported
from hooke_api.models import Experiment, Run, StoredEvaluation

VALUES = 32
"""Number of values of a curve, at equal distances in time."""
MOST_EVALUATIONS = 256
"""Of a run: of more, every k-th is read, and the last one."""

Series = tuple[Sequence[float], Sequence[float]]
"""Times, ascending, and values of one seed."""


def best_curve(session: Session, experiment: Experiment, found: Reported) -> dict[str, Any] | None:
    """Return the fields of `hooke_api.experiments.schemas.BestCurve`; None while nothing is known to be best."""
    row = _best(found)
    if row is None:
        return None
    run, target = row.first, found.spec.target
    metric = target.metric if target else f"{run.evaluated_part or 'validation'}_accuracy"
    column = StoredEvaluation.accuracy if metric.endswith("_accuracy") else StoredEvaluation.loss
    mine = and_(
        Run.experiment_id == experiment.id,
        Run.rung.is_(None),
        Run.variant == run.variant,
        Run.cluster == run.cluster,
        Run.workers == run.workers,
    )
    series = list(_series(session, mine, column))
    curve = median_curve(series, VALUES)
    if curve is None:
        return None
    seconds, values = curve
    return {
        "variant": run.variant,
        "cluster": run.cluster,
        "simulated": run.simulated,
        "metric": metric,
        "target": _rounded(target.value) if target else None,
        "seconds": _rounded(seconds),
        "seeds": len(series),
        "values": [_rounded(value) for value in values],
    }


def _best(found: Reported) -> Row | None:
    """Return the row of the fastest variant of the first place that has one.

    Without a target, that of the highest mean accuracy in the first place with finished runs: nothing is faster.
    """
    report = found.report
    places: dict[tuple[str, int], list[Row]] = {}
    for row in report.rows:
        places.setdefault((row.first.cluster, row.first.workers), []).append(row)
    for rows, fastest in zip(places.values(), report.fastest, strict=True):
        if fastest is not None:
            return next(row for row in rows if row.first.variant == fastest.variant)
        known = [row for row in rows if row.finished and row.accuracy.mean is not None]
        if found.spec.target is None and known:
            return max(known, key=lambda row: row.accuracy.mean or 0.0)
    return None


def _series(
    session: Session, mine: ColumnElement[bool], column: InstrumentedAttribute[float | None]
) -> Iterator[Series]:
    """Yield times and finite values of each run that has any, in the order of the runs."""
    of = StoredEvaluation
    counts = and_(of.run_id == Run.id, of.attempt <= Run.attempt, of.attempt >= Run.resume_from)
    order = (of.attempt, of.samples, of.seq)
    place = func.row_number().over(partition_by=of.run_id, order_by=order).label("place")
    among = func.count().over(partition_by=of.run_id).label("among")
    columns = (Run.number, of.attempt, of.samples, of.seq, of.clock, column.label("value"), place, among)
    every = select(*columns).select_from(of).join(Run, counts).where(mine).subquery()
    n = every.c
    # (place - 1) % k == 0 for k = among / MOST_EVALUATIONS + 1, in whole numbers on every database
    kept = or_((n.place - 1) % (n.among // MOST_EVALUATIONS + 1) == 0, n.place == n.among)
    query = select(n.number, n.samples, n.clock, n.value).where(kept)
    query = query.order_by(n.number, n.attempt, n.samples, n.seq)
    for _, rows in groupby(session.execute(query), key=lambda row: row.number):
        points: list[tuple[int, float, float | None]] = []
        for _, samples, clock, value in rows:
            while points and points[-1][0] >= samples:
                points.pop()  # an earlier attempt, from beyond the checkpoint that this one continued from
            points.append((samples, clock, value))
        finite = [(clock, value) for _, clock, value in points if value is not None and math.isfinite(value)]
        if finite:
            yield [clock for clock, _ in finite], [value for _, value in finite]


def median_curve(series: Sequence[Series], n: int) -> tuple[float, list[float]] | None:
    """Return the end of the time axis, which begins at 0, and the median over seeds at n equal distances of it.

    The axis ends at the median of the ends. Between evaluations a seed is interpolated; before its first and after
    its last one it has their value, so no seed enters or leaves the median on the way. None without time or seeds.
    """
    if not series:
        return None
    end = float(np.median([times[-1] for times, _ in series]))
    if not (math.isfinite(end) and end > 0):
        return None
    grid = np.linspace(0.0, end, n)
    return end, np.median([np.interp(grid, times, values) for times, values in series], axis=0).tolist()


def _rounded(value: float) -> float:
    """Return a number with four significant digits, which is short as JSON."""
    return float(f"{value:.4g}")
