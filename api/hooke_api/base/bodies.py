"""Request bodies: read with a deadline, and within what all clients, and one of them, may hold at a time."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass

from starlette.types import Message, Receive

from hooke_api.base.errors import TooLarge, TooMany, TooSlow, Unavailable
from hooke_api.base.settings import Settings


@dataclass
class HeldBody:
    """What one request holds of the bodies' memory, until `Bodies.release`."""

    client: str
    bytes: int = 0


class Bodies:
    """The bodies of all requests that have not been answered. Used in the thread of the event loop only."""

    def __init__(self, settings: Settings) -> None:
        self._seconds = settings.body_seconds
        self._most = settings.bodies_limit
        self._most_of_client = settings.client_bodies_limit
        self._held = 0
        self._of: Counter[str] = Counter()

    @property
    def held(self) -> int:
        """Return the bytes of all bodies."""
        return self._held

    async def read(self, receive: Receive, held: HeldBody, limit: int) -> Message:
        """Return the body as one message, or the message that ends the request before the body is complete.

        Raises TooLarge beyond `limit` bytes, TooSlow after the deadline, TooMany if this client, and Unavailable
        if all together, hold too much.
        """
        body = bytearray()
        try:
            async with asyncio.timeout(self._seconds):
                more = True
                while more:
                    message = await receive()
                    if message["type"] != "http.request":
                        return message
                    part = message.get("body", b"")
                    self._hold(held, len(part))
                    body += part
                    more = message.get("more_body", False)
                    if len(body) > limit:
                        raise TooLarge(f"the body has more than {limit} bytes")
        except TimeoutError:
            raise TooSlow(f"the body did not arrive within {self._seconds:g} s") from None
        return {"type": "http.request", "body": bytes(body), "more_body": False}

    def _hold(self, held: HeldBody, count: int) -> None:
        held.bytes += count
        self._held += count
        self._of[held.client] += count
        if self._of[held.client] > self._most_of_client:
            raise TooMany(f"the unanswered requests of this client hold more than {self._most_of_client} bytes")
        if self._held > self._most:
            raise Unavailable("too many requests at a time; try again", seconds=1)

    def release(self, held: HeldBody) -> None:
        """Release what a request holds: it has been answered."""
        self._held -= held.bytes
        self._of[held.client] -= held.bytes
        if self._of[held.client] <= 0:
            del self._of[held.client]
        held.bytes = 0
