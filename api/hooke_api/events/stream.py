"""`GET /events`: changes as resumable server-sent events.

A stream is a position in the events table and reads the events after it as fast as its client accepts them. A slow
client therefore uses no memory; if it falls too far behind, it gets `reset` and continues from the newest event.
It begins with `heartbeat`, which tells the position. Where nothing happens, another one says that it is still
connected: a connection may break without a sign.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Annotated, Any

import structlog
from fastapi import APIRouter, Header, Query, Request
from pydantic import StringConstraints
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from hooke_api.base.door import Door
from hooke_api.base.errors import AWAY, Unauthorized
from hooke_api.base.later import put_off
from hooke_api.base.reach import reached
from hooke_api.events.hub import Behind, Choice, Hub, encoded

CHECK_SECONDS = 15.0
"""Interval between two looks whether the sender of a stream may still read."""
HEARTBEAT_SECONDS = 5.0
"""Longest time without an event, s: then `heartbeat` says up to where the stream is complete."""
RETRY_MILLISECONDS = 1000
"""How long a browser waits before it connects again."""

log = structlog.get_logger("hooke.stream")
router = APIRouter(tags=["stream"])

Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Position = Annotated[int, Query(ge=0, le=2**62)]


def hub_of(app: Any) -> Hub:
    """Return the application's hub; created by the first stream."""
    if not hasattr(app.state, "hub"):
        app.state.hub = Hub(app.state.database, app.state.settings.broker, app.state.stopping)
    hub: Hub = app.state.hub
    return hub


class EventStream(StreamingResponse):
    """Events as bytes: FastAPI's own response validates, encodes and queues each event of each stream.

    It is sent when FastAPI has ended, by the gate (`hooke_api.base.later`).
    """

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[bytes], status_code: int = 200) -> None:
        # no-buffering: proxies of the kind of nginx would hold events back
        headers = {"cache-control": "no-cache", "x-accel-buffering": "no"}
        super().__init__(events, status_code, headers)  # FastAPI's document needs the status here
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Have the response sent later, or send it now if this is not possible."""
        if not put_off(scope, self.send):
            await self.send(receive, send)

    async def send(self, receive: Receive, send: Send) -> None:
        """Send events until they end or the client has gone; then leave the hub at once."""
        sending = asyncio.create_task(self._send(send))
        try:
            while (await receive())["type"] != "http.disconnect":  # also said once the response is complete
                pass
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    async def _send(self, send: Send) -> None:
        async with aclosing(self._events):
            try:
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                async for events in self._events:
                    await send({"type": "http.response.body", "body": events, "more_body": True})
            except Exception:  # any error: the client connects again, and `receive` must return
                log.exception("a stream failed; it ends")
            await send({"type": "http.response.body", "body": b"", "more_body": False})


_FIELDS = {name: {"type": "string"} for name in ("data", "event", "id")} | {
    "retry": {"type": "integer", "minimum": 0}
}
_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"itemSchema": {"type": "object", "properties": _FIELDS}}}}
}


@router.get("/events", operation_id="stream_events", response_class=EventStream, responses=_EVENTS)
async def stream_events(
    request: Request,
    experiment: Annotated[list[Id] | None, Query(description="Events of these experiments; may repeat.")] = None,
    run: Annotated[list[Id] | None, Query(description="Events of these runs; may repeat.")] = None,
    after: Annotated[Position | None, Query(description="Begin after this position; default: now.")] = None,
    last_event_id: Annotated[
        int | None, Header(ge=0, le=2**62, description="Takes precedence over `after`.")
    ] = None,
) -> EventStream:
    """Stream changes: replay events after a position, then follow; resumable with Last-Event-ID."""
    asked = after if last_event_id is None else last_event_id
    choice = Choice(frozenset(experiment or ()), frozenset(run or ()), reached(request.state.sender))
    return EventStream(_checked(request, follow(hub_of(request.app), asked, choice), choice))


async def _checked(request: Request, events: AsyncGenerator[bytes], choice: Choice) -> AsyncGenerator[bytes]:
    """Yield events as long as the sender of a request may read them."""
    checked = _now()
    async with aclosing(events):
        async for event in events:
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


async def follow(hub: Hub, asked: int | None, choice: Choice) -> AsyncGenerator[bytes]:
    """Yield events after a position (none: after now) until the server stops; each time all that there are."""
    async with hub.listening():
        position, reset = hub.position, False
        if asked is not None:
            reset = not await hub.keeps(asked)
            position = hub.position if reset else asked
        # a browser stores the id, so that nothing is missed if no event arrives; scripts know it by an event alone
        first = encoded(position, "reset" if reset else "heartbeat")
        yield f"retry: {RETRY_MILLISECONDS}\n".encode() + first
        told = _now()
        while not hub.stopping.is_set():
            newest = hub.position
            try:
                events, position = await hub.after(position, choice)
            except Behind:
                position = newest
                events = encoded(position, "reset")
            if not events and _now() - told >= HEARTBEAT_SECONDS:
                events = encoded(position, "heartbeat")
            if events:
                told = _now()
                yield events
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(told + HEARTBEAT_SECONDS - _now()):
                    await hub.moved(position)


def _now() -> float:
    return asyncio.get_running_loop().time()
