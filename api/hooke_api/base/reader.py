"""Whether the reader of an answer that is sent for long may still have it.

A token may be revoked, or a role withdrawn, while a table, a bundle or a checkpoint is read, slowly or for hours;
what is sent then is read from the database then. Event streams look themselves (`hooke_api.events.stream`).
"""

from __future__ import annotations

import time

import structlog
from fastapi import Request
from starlette.requests import ClientDisconnect

from hooke_api.base.access import Actor
from hooke_api.base.door import Door
from hooke_api.base.errors import AWAY, ApiError
from hooke_api.base.reach import reached
from hooke_api.base.security import API

SECONDS = 15.0
"""Interval between two looks, s."""

log = structlog.get_logger("hooke.door")


class Reader:
    """Who reads the answer to a request."""

    def __init__(self, door: Door, request: Request) -> None:
        self._door, self._request = door, request
        self._looked = time.monotonic()
        self._apart = request.scope["path"] == f"{API}/events"

    async def check(self) -> None:
        """Raise ClientDisconnect, which ends the connection, if a known sender may not read this any more."""
        sender: Actor | None = getattr(self._request.state, "sender", None)
        if sender is None or self._apart or time.monotonic() - self._looked < SECONDS:
            return
        self._looked = time.monotonic()
        if not await self._may(reached(sender)):
            log.info("an answer was cut: who reads it may not have it any more", reader=sender.name)
            raise ClientDisconnect

    async def _may(self, before: frozenset[str] | None) -> bool:
        try:
            return reached(await self._door.admit_still(self._request)) == before
        except ApiError:
            return False
        except AWAY:  # it is looked at again
            return True
