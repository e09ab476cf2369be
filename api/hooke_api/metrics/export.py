"""All points of an experiment as a table, not downsampled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

from hooke_api.base.tables import csv_lines
from hooke_api.metrics.curves import CurveStore
from hooke_api.metrics.loading import Curves, Facts, read_facts
from hooke_api.metrics.schemas import Axis, CommonMetric, Metric
from hooke_api.metrics.service import curve, further_metrics
from hooke_api.models import Run
from hooke_api.storage.database import Database

AXES: tuple[Axis, ...] = ("samples", "clock", "wall")
OF_RUN = ("run", "number", "variant", "cluster", "workers", "seed")
COLUMNS = (*OF_RUN, "metric", "samples", "clock_s", "wall_s", "value")


def points_of(
    database: Database, store: CurveStore, experiment: str, metrics: Sequence[Metric] | None
) -> Iterator[str]:
    """Return the lines of all runs, those of trials included; `metrics` None: all, further ones last.

    Raises ResourceNotFound before the first line.
    """
    with database.read() as session:
        further = [metric.name for metric in further_metrics(session, experiment)]
        metrics = metrics or [*get_args(CommonMetric), *further]
        runs = read_facts(session, Run.experiment_id == experiment)
    return _lines(database, store, runs, metrics)


def _lines(
    database: Database, store: CurveStore, runs: Sequence[Facts], metrics: Sequence[Metric]
) -> Iterator[str]:
    yield csv_lines([COLUMNS])
    for run in runs:
        with database.read() as session:
            curves = store.read(session, [run])[run.id]
        for metric in metrics:
            if part := _of_metric(run, curves, metric):
                yield part


def _of_metric(run: Facts, curves: Curves, metric: Metric) -> str:
    """Return one metric of one run: empty if it has no point."""
    of = (run.id, run.number, run.variant, run.cluster, run.workers, run.seed, metric)
    xs = [curve(run, curves, metric, axis)[0].tolist() for axis in AXES]
    y = curve(run, curves, metric, "samples")[1].tolist()
    return csv_lines((*of, *x, value) for *x, value in zip(*xs, y, strict=True))
