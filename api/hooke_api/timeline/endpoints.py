"""Timelines and samples of the system over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from hooke_api.base.checked import CheckedRoute
from hooke_api.base.tables import JsonAnswer, json_answer
from hooke_api.storage.database import DatabaseOf
from hooke_api.timeline import service, system
from hooke_api.timeline.schemas import SystemView, TimelineView
from hooke_api.timeline.store import TimelineStore

router = APIRouter(route_class=CheckedRoute, prefix="/runs", tags=["runs"])

LATEST = 10**9
"""No trace is that long, s."""


async def timeline_store(request: Request) -> TimelineStore:
    """Return the application's timelines; created by the first request."""
    state = request.app.state
    if not hasattr(state, "timelines"):
        state.timelines = TimelineStore(state.caches)
    store: TimelineStore = state.timelines
    return store


async def window(
    start: Annotated[
        float | None, Query(ge=0, le=LATEST, description="Seconds since the start of the trace.")
    ] = None,
    stop: Annotated[float | None, Query(ge=0, le=LATEST, description="Default: its end.")] = None,
    step: Annotated[int | None, Query(ge=1, description="The window of this step instead.")] = None,
    bins: Annotated[int, Query(ge=16, le=2000, description="Resolution: parts of the window, as pixels.")] = 800,
) -> service.Window:
    """Return the window that a request asks for."""
    return service.Window(start, stop, step, bins)


@router.get("/{run_id}/timeline", operation_id="read_timeline")
def read_timeline(
    run_id: str,
    database: DatabaseOf,
    store: Annotated[TimelineStore, Depends(timeline_store)],
    asked: Annotated[service.Window, Depends(window)],
    attempt: Annotated[int | None, Query(ge=1, description="Default: the latest.")] = None,
) -> TimelineView:
    """Return the timeline of an attempt, or a window of it: slices, or shares of phases where there are too many.

    Of a run with `trace`, after its end. Times are virtual seconds for a virtual run.
    """
    with database.read() as session:
        return service.timeline(session, store, run_id, attempt, asked)


@router.get("/{run_id}/trace.json", operation_id="export_trace", response_class=JsonAnswer)
def export_trace(
    run_id: str,
    database: DatabaseOf,
    store: Annotated[TimelineStore, Depends(timeline_store)],
    attempt: Annotated[int | None, Query(ge=1, description="Default: the latest.")] = None,
) -> JsonAnswer:
    """Return the trace of an attempt in the Trace Event Format of ui.perfetto.dev; 404 if there is none."""
    with database.read() as session:
        parts = service.trace_file(session, store, run_id, attempt)
    return json_answer(parts, f"trace-{run_id}.json")


@router.get("/{run_id}/system", operation_id="read_system")
def read_system(
    run_id: str,
    database: DatabaseOf,
    attempt: Annotated[int | None, Query(ge=1, description="Default: the latest.")] = None,
    points: Annotated[int, Query(ge=16, le=2000, description="Maximum number of samples.")] = 300,
) -> SystemView:
    """Return processor, memory, network and power of an attempt, as its supervisor sampled them."""
    with database.read() as session:
        return system.samples(session, run_id, attempt, points)
