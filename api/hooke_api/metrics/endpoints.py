"""Series and bands over HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Literal, TypeVar

from fastapi import APIRouter, Depends, Query, Request

from hooke_api.base.caches import Budget
from hooke_api.base.checked import CheckedRoute
from hooke_api.base.few import Few
from hooke_api.base.parquet import ParquetAnswer, parquet_answer
from hooke_api.base.reach import asking, reached
from hooke_api.base.shared import Shared
from hooke_api.base.tables import CsvAnswer, csv_answer
from hooke_api.metrics import export, phases, service, worker_tables, workers
from hooke_api.metrics.curves import CurveStore
from hooke_api.metrics.increments import Increments
from hooke_api.metrics.phase_seconds import PhaseStore
from hooke_api.metrics.schemas import (
    Axis,
    BandAnswer,
    FurtherMetricList,
    Metric,
    PhasesAnswer,
    SeriesAnswer,
    SeriesQuery,
    WorkersAnswer,
)
from hooke_api.storage.database import DatabaseOf

router = APIRouter(route_class=CheckedRoute, tags=["metrics"])
TABLES = 4
"""Tables of points that a process sends at a time: each holds all points of a run, 120 bytes a step of a rank."""
TableOfWorkers = Literal["updates", "time", "workers", "kinds"]
_TABLES: dict[TableOfWorkers, str] = {
    "updates": "workers",
    "time": "workers-over-time",
    "workers": "work-by-worker",
    "kinds": "work-by-kind",
}
"""What their files are called."""


T = TypeVar("T")


def _kept(name: str, make: Callable[[Budget], T]) -> Callable[[Request], Awaitable[T]]:
    """Return a dependency: something of the application, made by the first request that needs it."""

    async def found(request: Request) -> T:
        state = request.app.state
        if not hasattr(state, name):
            setattr(state, name, make(state.caches))
        made: T = getattr(state, name)
        return made

    return found


curve_store = _kept("curves", CurveStore)
increments = _kept("increments", Increments)
phase_store = _kept("phases", PhaseStore)
shared_bands = _kept("shared_bands", lambda _: Shared[BandAnswer]())
Store = Annotated[CurveStore, Depends(curve_store)]


@router.post("/series", operation_id="query_series")
def query_series(query: SeriesQuery, database: DatabaseOf, store: Store) -> SeriesAnswer:
    """Return series of several runs on one axis: at most `points` each, with extremes; gaps are null."""
    with database.read() as session:
        return service.answer_series(session, store, query)


@router.get("/experiments/{experiment_id}/metrics", operation_id="list_metrics")
def list_metrics(experiment_id: str, database: DatabaseOf) -> FurtherMetricList:
    """Return the further metrics that runs of an experiment report with their evaluations."""
    with database.read() as session:
        return FurtherMetricList(items=service.further_metrics(session, experiment_id))


async def chosen_points(
    experiment_id: str,
    metric: Annotated[list[Metric] | None, Query(description="May repeat; default: all.")] = None,
    run: Annotated[str | None, Query(max_length=40, description="Only this one of its runs.")] = None,
) -> export.Chosen:
    """Return the points that a request asks for."""
    return export.Chosen(experiment_id, list(dict.fromkeys(metric)) if metric else None, run)


def _few(request: Request) -> Few:
    found: Few = request.app.state.point_tables
    return found


PointsOf = Annotated[export.Chosen, Depends(chosen_points)]


@router.get("/experiments/{experiment_id}/points.csv", operation_id="export_points", response_class=CsvAnswer)
def export_points(chosen: PointsOf, request: Request, database: DatabaseOf, store: Store) -> CsvAnswer:
    """Return all points of all runs of an experiment, or of one, as CSV, one a line, not downsampled."""
    parts = _few(request).sent(partial(export.points_of, database, store, chosen))
    return csv_answer(parts, f"{chosen.name}.csv")


@router.get("/runs/{run_id}/workers", operation_id="read_workers")
def read_workers(run_id: str, database: DatabaseOf) -> WorkersAnswer:
    """Return what each worker of a run did: utilization, shares of steps and updates, batch sizes, staleness.

    Utilization and throughput also over time; and all by kind of worker.
    """
    with database.read() as session:
        return workers.answer(session, run_id)


@router.get("/runs/{run_id}/workers.csv", operation_id="export_workers", response_class=CsvAnswer)
def export_workers(
    run_id: str,
    request: Request,
    database: DatabaseOf,
    of: Annotated[TableOfWorkers, Query(description="What has a line each.")] = "updates",
) -> CsvAnswer:
    """Return every update of every worker of a run as CSV: when, of how many steps, how stale.

    `of` = `time`: its utilization and throughput over time instead; `workers`: what each worker did in all, shares
    of steps and updates and staleness; `kinds`: the same by kind of worker.
    """
    name = f"{_TABLES[of]}-{run_id}.csv"
    if of in ("updates", "time"):
        return csv_answer(_few(request).sent(partial(workers.csv_of, database, run_id, of == "time")), name)
    with database.read() as session:
        found = workers.answer(session, run_id)
    return csv_answer(worker_tables.csv_of(run_id, found, of == "kinds"), name)


@router.get(
    "/experiments/{experiment_id}/points.parquet",
    operation_id="export_points_parquet",
    response_class=ParquetAnswer,
)
def export_points_parquet(chosen: PointsOf, request: Request, database: DatabaseOf, store: Store) -> ParquetAnswer:
    """Return these points as Parquet, a gap as NaN; 409 where pyarrow is not installed."""
    parts = _few(request).sent(partial(export.parquet_of, database, store, chosen))
    return parquet_answer(parts, f"{chosen.name}.parquet")


@router.get("/experiments/{experiment_id}/bands", operation_id="read_bands")
def read_bands(  # noqa: PLR0913 - the query of the URL, one parameter each
    experiment_id: str,
    database: DatabaseOf,
    store: Store,
    known: Annotated[Increments, Depends(increments)],
    shared: Annotated[Shared[BandAnswer], Depends(shared_bands)],
    *,
    metric: Annotated[list[Metric] | None, Query(description="May repeat; default: validation_accuracy.")] = None,
    axis: Axis = "clock",
    points: Annotated[int, Query(ge=16, le=5000, description="Maximum number of points per band.")] = 400,
    since: Annotated[
        str | None,
        Query(max_length=64, description="Version of the answer that the client has: only changes are returned."),
    ] = None,
) -> BandAnswer:
    """Return mean and 95% t interval over seeds for every variant, cluster and number of workers."""
    metrics: list[Metric] = list(dict.fromkeys(metric or ("validation_accuracy",)))

    def answered() -> BandAnswer:
        with database.read() as session:
            return service.answer_bands(session, store, experiment_id, metrics, axis, points)

    # all who look at an experiment are told at the same moment that it has new points
    alike = (experiment_id, tuple(metrics), axis, points, reached(asking.get()))
    return known.since(shared.get(alike, answered), since)


@router.get("/experiments/{experiment_id}/phases", operation_id="read_phases")
def read_phases(
    experiment_id: str,
    database: DatabaseOf,
    known: Annotated[PhaseStore, Depends(phase_store)],
    cluster: Annotated[str | None, Query(max_length=64, description="Default: all.")] = None,
    workers: Annotated[int | None, Query(ge=1, le=10**6, description="Default: any number.")] = None,
    bins: Annotated[int, Query(ge=8, le=500, description="Equal parts of the wall time.")] = 60,
) -> PhasesAnswer:
    """Return the shares of phases in parts of the wall time of each variant on a cluster with so many workers."""
    with database.read() as session:
        return phases.over_time(session, known, experiment_id, cluster, workers, bins)
