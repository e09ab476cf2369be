"""All points of an experiment as a table, not downsampled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from hooke_api.base import parquet as base
from hooke_api.base.errors import ResourceNotFound
from hooke_api.base.parquet import arrow
from hooke_api.base.tables import csv_lines
from hooke_api.metrics.axes import curve
from hooke_api.metrics.curves import CurveStore
from hooke_api.metrics.loading import Facts, read_facts
from hooke_api.metrics.schemas import Axis, CommonMetric, Metric
from hooke_api.metrics.service import further_metrics
from hooke_api.metrics.table import Floats
from hooke_api.models import Run
from hooke_api.storage.database import Database
from hooke_api.storage.steps import check_objects

AXES: tuple[Axis, ...] = ("samples", "clock", "wall")
OF_RUN = ("run", "number", "variant", "cluster", "workers", "seed")
COLUMNS = (*OF_RUN, "metric", "samples", "clock_s", "wall_s", "value")


ROWS = 8192
"""Of a part of the response."""


@dataclass(frozen=True)
class Chosen:
    """What of an experiment is wanted."""

    experiment: str
    metrics: Sequence[Metric] | None = None
    """None: all, further ones last."""
    run: str | None = None
    """None: all of them, those of trials included."""

    @property
    def name(self) -> str:
        """Return the name of a file with it, without its ending."""
        return f"points-{self.run or self.experiment}"


def points_of(database: Database, store: CurveStore, chosen: Chosen) -> Iterator[str]:
    """Return the lines of the points. Raises ResourceNotFound before the first one."""
    return _lines(database, store, *_told(database, chosen))


def _told(database: Database, chosen: Chosen) -> tuple[Sequence[Facts], Sequence[Metric]]:
    """Return the runs and metrics that are chosen. Raises ResourceNotFound, Unreadable."""
    with database.read() as session:
        further = [metric.name for metric in further_metrics(session, chosen.experiment)]
        check_objects(session, chosen.experiment)
        mine = [] if chosen.run is None else [Run.id == chosen.run]
        runs = read_facts(session, Run.experiment_id == chosen.experiment, *mine)
    if chosen.run is not None and not runs:
        raise ResourceNotFound(f"no run of this experiment has the id {chosen.run}")
    return runs, chosen.metrics or [*get_args(CommonMetric), *further]


def parquet_of(database: Database, store: CurveStore, chosen: Chosen) -> Iterator[bytes]:
    """Return the same as Parquet; a gap is NaN. Raises ResourceNotFound and Conflict before the first byte."""
    pa = arrow()
    runs, metrics = _told(database, chosen)
    name = pa.dictionary(pa.int32(), pa.string())
    types = (name, pa.int32(), name, name, pa.int32(), pa.int64(), name, *[pa.float64()] * 4)

    def tables() -> Iterator[dict[str, Any]]:
        for run, metric, columns in _parts(database, store, runs, metrics):
            of = _of(run, metric)
            for block in _blocks(columns):
                count = len(block[0])
                told = [pa.array([value] * count, kind) for value, kind in zip(of, types[: len(of)], strict=True)]
                yield dict(zip(COLUMNS, [*told, *block], strict=True))

    return base.parquet_of(pa.schema(list(zip(COLUMNS, types, strict=True))), tables())


def _lines(
    database: Database, store: CurveStore, runs: Sequence[Facts], metrics: Sequence[Metric]
) -> Iterator[str]:
    yield csv_lines([COLUMNS])
    for run, metric, columns in _parts(database, store, runs, metrics):
        of = _of(run, metric)
        for block in _blocks(columns):
            yield csv_lines((*of, *row) for row in zip(*(each.tolist() for each in block), strict=True))


def _parts(
    database: Database, store: CurveStore, runs: Sequence[Facts], metrics: Sequence[Metric]
) -> Iterator[tuple[Facts, Metric, list[Floats]]]:
    """Yield each metric of each run that has points: its axes and its values."""
    for run in runs:
        with database.read() as session:
            curves = store.read(session, [run])[run.id]
        for metric in metrics:
            y = curve(run, curves, metric, "samples")[1]
            if len(y):
                yield run, metric, [*(curve(run, curves, metric, axis)[0] for axis in AXES), y]


def _blocks(columns: Sequence[Floats]) -> Iterator[list[Floats]]:
    """Yield rows some thousands at a time: as text a curve takes several times as much memory."""
    for begin in range(0, len(columns[0]), ROWS):
        yield [column[begin : begin + ROWS] for column in columns]


def _of(run: Facts, metric: Metric) -> tuple[object, ...]:
    return (run.id, run.number, run.variant, run.cluster, run.workers, run.seed, metric)
