"""`GET /events`: changes as resumable server-sent events.

A stream is a position in the events table and reads the events after it as fast as its client accepts them. A slow
client therefore uses no memory; if it falls too far behind, it gets `reset` and continues from the newest event.
Where nothing happens, `heartbeat` says that it is still connected: a connection may break without a sign.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import StringConstraints

from hooke_api.base.door import Door
from hooke_api.base.errors import AWAY, Unauthorized
from hooke_api.base.reach import reached
from hooke_api.events.hub import Behind, Choice, Hub, StreamItem

CHECK_SECONDS = 15.0
"""Interval between two looks whether the sender of a stream may still read."""
POINTS_SECONDS = 0.25
"""Minimum interval between two `points` events of a run in a stream, s; only the newest is sent."""
HEARTBEAT_SECONDS = 5.0
"""Longest time without an event, s: then `heartbeat` says up to where the stream is complete."""
RETRY_MILLISECONDS = 1000
"""How long a browser waits before it connects again."""

router = APIRouter(tags=["stream"])

Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Position = Annotated[int, Query(ge=0, le=2**62)]


def hub_of(app: Any) -> Hub:
    """Return the application's hub; created by the first stream."""
    if not hasattr(app.state, "hub"):
        app.state.hub = Hub(app.state.database, app.state.settings.broker, app.state.stopping)
    hub: Hub = app.state.hub
    return hub


def coalesce(batch: Sequence[StreamItem]) -> list[StreamItem]:
    """Return the events without `points` that are superseded by newer points of the same run."""
    newest = {item.run_id: item.position for item in batch if item.kind == "points"}
    return [item for item in batch if item.kind != "points" or newest[item.run_id] == item.position]


@router.get("/events", operation_id="stream_events", response_class=EventSourceResponse)
async def stream_events(
    request: Request,
    experiment: Annotated[list[Id] | None, Query(description="Events of these experiments; may repeat.")] = None,
    run: Annotated[list[Id] | None, Query(description="Events of these runs; may repeat.")] = None,
    after: Annotated[Position | None, Query(description="Begin after this position; default: now.")] = None,
    last_event_id: Annotated[
        int | None, Header(ge=0, le=2**62, description="Takes precedence over `after`.")
    ] = None,
) -> AsyncIterator[ServerSentEvent]:
    """Stream changes: replay events after a position, then follow; resumable with Last-Event-ID."""
    asked = after if last_event_id is None else last_event_id
    choice = Choice(frozenset(experiment or ()), frozenset(run or ()), reached(request.state.sender))
    checked = _now()
    async for event in follow(hub_of(request.app), asked, choice):
        if _now() - checked >= CHECK_SECONDS:
            checked = _now()
            if not await _may_read(request, choice):
                return  # the next request gets 401, or what its sender reaches by then
        yield event


async def _may_read(request: Request, choice: Choice) -> bool:
    """Return whether a token or session is still valid, and reaches the same; true while the database is away."""
    door: Door = request.app.state.door
    try:
        actor = await door.identify(request)
        return actor is not None and reached(actor) == choice.projects
    except Unauthorized:
        return False
    except AWAY:
        return True


async def follow(hub: Hub, asked: int | None, choice: Choice) -> AsyncIterator[ServerSentEvent]:
    """Yield events after a position (none: after now) until the server stops."""
    async with hub.listening():
        position, reset = hub.position, False
        if asked is not None:
            reset = not await hub.oldest() <= asked <= hub.position
            position = hub.position if reset else asked
        # an id without data: a browser stores it, so that nothing is missed if the first event never arrives
        yield ServerSentEvent(id=str(position), retry=RETRY_MILLISECONDS)
        if reset:
            yield _reset(position)
        points_at, told = 0.0, _now()
        while not hub.stopping.is_set():
            newest = hub.position
            try:
                batch = await hub.after(position, choice)
            except Behind:
                position = newest
                yield _reset(position)
                continue
            if not batch:
                position = max(position, newest)
                if _now() - told >= HEARTBEAT_SECONDS:
                    told = _now()
                    yield ServerSentEvent(id=str(position), event="heartbeat", raw_data="{}")
                    continue
                with suppress(TimeoutError):
                    async with asyncio.timeout(told + HEARTBEAT_SECONDS - _now()):
                        await hub.moved(position)
                continue
            if any(item.kind == "points" for item in batch):
                rest = points_at + POINTS_SECONDS - _now()
                if rest > 0:
                    await _sleep(rest, hub.stopping)
                    continue
                points_at = _now()
            for item in coalesce(batch):
                yield ServerSentEvent(id=str(item.position), event=item.kind, raw_data=json.dumps(item.data))
            position, told = batch[-1].position, _now()


def _now() -> float:
    return asyncio.get_running_loop().time()


def _reset(position: int) -> ServerSentEvent:
    return ServerSentEvent(id=str(position), event="reset", raw_data="{}")


async def _sleep(seconds: float, stopping: asyncio.Event) -> None:
    """Sleep, or return when the server stops."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stopping.wait()
