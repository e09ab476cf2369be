"""The endpoints of queues."""

from __future__ import annotations

from datetime import timedelta

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse

from hooke_api.base.checked import CheckedRoute
from hooke_api.queue.settings import QueuePolicy
from hooke_api.storage.database import DatabaseOf
from hooke_api.waiting import service, trace
from hooke_api.waiting.schemas import QueueView

router = APIRouter(route_class=CheckedRoute, prefix="/clusters", tags=["clusters"])


class CsvText(PlainTextResponse):
    """A table in one piece."""

    media_type = "text/csv"


def silence_of(request: Request) -> timedelta:
    """Return the time without a word of its agent after which a cluster counts as offline."""
    return timedelta(seconds=request.app.state.settings.agent_seconds)


@router.get("/{name}/queue", operation_id="read_queue")
def read_queue(name: str, request: Request, database: DatabaseOf) -> QueueView:
    """Read the queue of a cluster: order, reasons for waiting, predicted times, policy."""
    with database.read() as session:
        return service.queue_view(session, name, silence_of(request))


@router.put("/{name}/policy", operation_id="set_policy")
def set_policy(name: str, policy: QueuePolicy, database: DatabaseOf) -> QueuePolicy:
    """Set order and limits of a cluster's queue; fields that are left out get their defaults."""
    with database.write() as session:
        return service.set_policy(session, name, policy)


@router.get("/{name}/trace.csv", operation_id="read_trace", response_class=CsvText)
def read_trace(name: str, database: DatabaseOf) -> CsvText:
    """Read the newest experiments of a cluster that have ended as a job trace (CSV of the Helios format)."""
    with database.read() as session:
        return CsvText(trace.csv_of(session, name))
