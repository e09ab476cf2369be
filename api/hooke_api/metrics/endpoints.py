"""Series and bands over HTTP."""

from __future__ import annotations

from typing import Annotated, get_args

from fastapi import APIRouter, Depends, Query, Request

from hooke_api.base.parquet import ParquetAnswer, parquet_answer
from hooke_api.base.tables import CsvAnswer, csv_answer
from hooke_api.metrics import export, service
from hooke_api.metrics.curves import CurveStore
from hooke_api.metrics.increments import Increments
from hooke_api.metrics.schemas import Axis, BandAnswer, Metric, SeriesAnswer, SeriesQuery
from hooke_api.storage.database import DatabaseOf

router = APIRouter(tags=["metrics"])


def curve_store(request: Request) -> CurveStore:
    """Return the application's curve store; created by the first request."""
    state = request.app.state
    if not hasattr(state, "curves"):
        state.curves = CurveStore()
    store: CurveStore = state.curves
    return store


def increments(request: Request) -> Increments:
    """Return the application's newest answers; created by the first request."""
    state = request.app.state
    if not hasattr(state, "increments"):
        state.increments = Increments()
    found: Increments = state.increments
    return found


Store = Annotated[CurveStore, Depends(curve_store)]


@router.post("/series", operation_id="query_series")
def query_series(query: SeriesQuery, database: DatabaseOf, store: Store) -> SeriesAnswer:
    """Return series of several runs on one axis: at most `points` each, with extremes; gaps are null."""
    with database.read() as session:
        return service.answer_series(session, store, query)


@router.get("/experiments/{experiment_id}/points.csv", operation_id="export_points", response_class=CsvAnswer)
def export_points(
    experiment_id: str,
    database: DatabaseOf,
    store: Store,
    metric: Annotated[list[Metric] | None, Query(description="May repeat; default: all.")] = None,
) -> CsvAnswer:
    """Return all points of all runs of an experiment as CSV, one a line, not downsampled."""
    metrics: list[Metric] = list(dict.fromkeys(metric or get_args(Metric)))
    parts = export.points_of(database, store, experiment_id, metrics)
    return csv_answer(parts, f"points-{experiment_id}.csv")


@router.get(
    "/experiments/{experiment_id}/points.parquet",
    operation_id="export_points_parquet",
    response_class=ParquetAnswer,
)
def export_points_parquet(
    experiment_id: str,
    database: DatabaseOf,
    store: Store,
    metric: Annotated[list[Metric] | None, Query(description="May repeat; default: all.")] = None,
) -> ParquetAnswer:
    """Return the same as Parquet, a gap as NaN; 409 where pyarrow is not installed."""
    metrics: list[Metric] = list(dict.fromkeys(metric or get_args(Metric)))
    parts = export.parquet_of(database, store, experiment_id, metrics)
    return parquet_answer(parts, f"points-{experiment_id}.parquet")


@router.get("/experiments/{experiment_id}/bands", operation_id="read_bands")
def read_bands(  # noqa: PLR0913 - the query of the URL, one parameter each
    experiment_id: str,
    database: DatabaseOf,
    store: Store,
    known: Annotated[Increments, Depends(increments)],
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
    with database.read() as session:
        answer = service.answer_bands(session, store, experiment_id, metrics, axis, points)
    return known.since(answer, since)
