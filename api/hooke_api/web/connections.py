"""Connections with deadlines and limits: uvicorn's own wait forever for the rest of a head.

A request's head must arrive within `head_seconds` of its first byte, or of the connection, the rest of a refused
request within the same time. A client that reads nothing of a response for `write_seconds` is disconnected. Bodies
have their own deadline, in `hooke_api.base.bodies`.
"""

from __future__ import annotations

import asyncio
import json
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from hooke_api.base.access import network_of
from hooke_api.base.settings import Settings

HEAD_LIMIT = 64 * 1024
"""Maximum bytes of a request's head."""


class LimitedConnection(HttpToolsProtocol):
    """One connection; `limited` returns the class for some settings."""

    settings: ClassVar[Settings]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """Accept the connection, or refuse it if there are too many."""
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        super().connection_made(transport)
        if len(self.connections) > self.settings.connections:
            self._refuse(503, "unavailable", "Temporarily unavailable", "too many connections")
        elif self._of_this_client() > self.settings.client_connections:
            self._refuse(429, "too-many", "Too many requests", "too many connections from this address")
        else:
            self._await_head()

    def _of_this_client(self) -> int:
        mine = _address(self)
        return sum(_address(other) == mine for other in self.connections)

    def data_received(self, data: bytes) -> None:
        """Parse what has arrived; begin the deadline of a head with its first byte."""
        if self._idle() and self._deadline is None:
            self._await_head()
        super().data_received(data)
        if self._deadline is not None and self._idle() and not self._drains():
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_LIMIT and not self.transport.is_closing():
                self._refuse(431, "too-large", "The request is too large", "the head of the request is too long")

    def _idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _drains(self) -> bool:
        """Return whether the rest of a body arrives whose request has been answered."""
        return self.cycle is not None and self.cycle.more_body

    def on_headers_complete(self) -> None:
        """End the deadline of the head."""
        self._stop_waiting()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Begin the deadline of the rest of a body that nobody has read."""
        super().on_response_complete()
        if self._idle() and self._drains() and self._deadline is None and not self.transport.is_closing():
            self._await_head()

    def _await_head(self) -> None:
        self._head_bytes = 0
        self._deadline = self.loop.call_later(self.settings.head_seconds, self._too_slow)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_slow(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self.transport.close()

    def pause_writing(self) -> None:
        """Begin the time in which the client must read something."""
        super().pause_writing()
        self._unread = self.loop.call_later(self.settings.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """End that time."""
        self._stop_unread()
        super().resume_writing()

    def _stop_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def connection_lost(self, exc: Exception | None) -> None:
        """End every deadline."""
        self._stop_waiting()
        self._stop_unread()
        super().connection_lost(exc)

    def _refuse(self, status: int, kind: str, title: str, detail: str) -> None:
        """Respond without the application, and close the connection."""
        self._stop_waiting()
        problem = {"type": f"/problems/{kind}", "title": title, "status": status, "detail": detail}
        body = json.dumps(problem | {"instance": "", "request_id": "", "errors": []}).encode()
        again = "" if status == 431 else "retry-after: 2\r\n"
        head = (
            f"HTTP/1.1 {status} {title}\r\ncontent-type: application/problem+json\r\n{again}"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()


def _address(connection: object) -> str | None:
    client = getattr(connection, "client", None)  # none of a unix socket
    return network_of(client[0]) if client else None


def limited(settings: Settings) -> type[LimitedConnection]:
    """Return the class of connections with the limits of these settings."""

    class Connection(LimitedConnection):
        pass

    Connection.settings = settings
    return Connection
