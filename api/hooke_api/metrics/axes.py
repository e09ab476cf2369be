"""X and y of each metric of a run, on each axis, from its curves.

Metrics: `train_loss` is the mean batch loss of P gradients (see `hooke_api.metrics.table`);
`communication_fraction` and `throughput` are totals since the start divided by the train clock; `staleness` has a
point for every row with a known staleness; `bytes_sent` is what the axis `bytes` has; `validation_accuracy` and
`validation_loss` are the evaluations of the center, called `test_accuracy` and `test_loss` for runs made without a
validation part. Other names are those of further metrics, which have a point for every evaluation that reports
them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

import numpy as np
from hooke.spec.specification import Part

from hooke_api.metrics.loading import Curves, Facts
from hooke_api.metrics.schemas import BYTES_SENT, Axis, CommonMetric, Metric
from hooke_api.metrics.table import Floats, Table

OF_STEPS = frozenset({"train_loss", "communication_fraction", "throughput", "staleness", BYTES_SENT})
"""Metrics that follow from steps; the others are those of evaluations."""


def needs_steps(metrics: Iterable[Metric], axis: Axis) -> bool:
    """Return whether any of these metrics, or the axis, follows from steps."""
    return axis == "bytes" or not OF_STEPS.isdisjoint(metrics)


def curve(run: Facts, curves: Curves, metric: Metric, axis: Axis) -> tuple[Floats, Floats]:
    """Return x (ascending) and y (NaN: a gap) of one metric of one run."""
    part, _, figure = metric.partition("_")
    if part in get_args(Part):
        if part != (run.evaluated_part or "validation"):
            return np.empty(0), np.empty(0)
        evaluations = curves.evaluations
        return _evaluated(run, curves, evaluations.accuracy if figure == "accuracy" else evaluations.loss, axis)
    if metric not in (*get_args(CommonMetric), BYTES_SENT):
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
    return x, {"train_loss": table.loss, BYTES_SENT: table.bytes}.get(metric, table.fraction)


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
