"""The gate before every request: Host, token or session, Origin, then the body; headers of every response.

Plain ASGI, so it does not buffer streams. A body is read after its sender has been identified, with a deadline
and within limits (`hooke_api.base.bodies`), and its shape is checked before it is parsed (`hooke_api.base.shape`).
"""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from fastapi import Request
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hooke_api.base import pages
from hooke_api.base.bodies import Bodies, HeldBody
from hooke_api.base.errors import (
    AWAY,
    ApiError,
    Forbidden,
    Malformed,
    Misdirected,
    TooLarge,
    Unauthorized,
    on_api_error,
    on_away,
    on_surprise,
)
from hooke_api.base.security import API, HEADERS, OPEN, SAFE_METHODS, Sessions, bearer
from hooke_api.base.settings import Settings
from hooke_api.base.shape import ORDINARY, check_shape

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?")
"""Host header: a name or an address, and perhaps a port; after it was made lower case."""

Checks = Mapping[str, Callable[[Request], object]]
"""Path -> what raises Unauthorized unless the request has the other token that is needed there; in a thread."""


class Gate:
    """ASGI middleware: request id, Host, token or session, Origin, body; headers of every response."""

    def __init__(
        self, app: ASGIApp, settings: Settings, sessions: Sessions, bodies: Bodies, checks: Checks
    ) -> None:
        self.app = app
        self.settings = settings
        self.sessions = sessions
        self.bodies = bodies
        self.checks = checks
        self.hosts = {"localhost", "127.0.0.1", "[::1]", *(host.lower() for host in settings.allowed_hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or respond with a problem."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id

        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                headers["x-request-id"] = request_id
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        request = Request(scope)
        held = HeldBody(request.headers.get("authorization", "session"))
        try:
            passed = await self._admit(request, receive, held)
            if isinstance(passed, Response):
                await passed(scope, receive, sending)
            else:
                await self.app(scope, passed, sending)
        except ClientDisconnect:
            return  # the client has disconnected
        except Exception as error:
            if started:
                raise  # part of the response has been sent: close the connection
            answer = await on_surprise(request, error)
            await answer(scope, receive, sending)
        finally:
            self.bodies.release(held)

    async def _admit(self, request: Request, receive: Receive, held: HeldBody) -> Response | Receive:
        """Return the response that rejects a request, or the `receive` from which its handler reads the body."""
        try:
            self._host(request)
            self._text(request)
            return await self._who(request) or await self._body(request, receive, held)
        except ApiError as error:
            return await on_api_error(request, error)
        except AWAY as error:
            return await on_away(request, error)

    def _host(self, request: Request) -> None:
        given = request.headers.getlist("host")
        found = _HOST.fullmatch(given[0].lower()) if len(given) == 1 else None
        if found is None:
            raise Malformed("send one Host header: a name or an address, and perhaps a port")
        if found[1] not in self.hosts:
            raise Misdirected(f"this server is not {found[1]!r}; HOOKE_ALLOWED_HOSTS may add that name")

    def _text(self, request: Request) -> None:
        if "%00" in request.scope.get("query_string", b"").decode("latin-1") or "\0" in request.scope["path"]:
            raise Malformed("the address contains a zero byte")

    async def _who(self, request: Request) -> Response | None:
        path = request.scope["path"]
        if path in OPEN:
            return None
        if path in self.checks:
            if request.method not in SAFE_METHODS:  # the others are answered with 405
                await asyncio.to_thread(self.checks[path], request)
            return None
        given = bearer(request.headers)
        if given is not None:
            if not self.sessions.opens(given):
                raise Unauthorized(
                    "this token is not valid for this server; the valid one is in the file `token` in HOOKE_HOME"
                )
            return None
        cookie = self.sessions.cookie(request.headers)
        if cookie is not None and self.sessions.valid(cookie):
            if request.method not in SAFE_METHODS:
                self._origin(request)
            return None
        if not path.startswith("/api/v1") and request.method in SAFE_METHODS:
            return pages.sign_in(expired=cookie is not None)
        raise Unauthorized("sign in at /login?token=..., or send Authorization: Bearer <start-up token>")

    def _origin(self, request: Request) -> None:
        origin = request.headers.get("origin")
        try:
            named = urlsplit(origin or "").netloc.lower()
        except ValueError:  # an address in brackets that is none
            named = ""
        if not named or named != request.headers.get("host", "").lower():
            raise Forbidden(f"a change by a browser must come from a page of this server, not from {origin!r}")

    async def _body(self, request: Request, receive: Receive, held: HeldBody) -> Receive:
        """Read the body up to the limit, and check its shape; return a `receive` that replays it."""
        ingest = request.scope["path"] == f"{API}/ingest"
        limit = self.settings.ingest_limit if ingest else self.settings.body_limit
        announced = request.headers.get("content-length", "0")
        if not re.fullmatch("[0-9]{1,18}", announced) or int(announced) > limit:
            raise TooLarge(f"the body has {announced[:20]} bytes; the limit is {limit}")
        if request.method in SAFE_METHODS or request.scope["path"] in OPEN:
            return receive  # nobody reads it
        message = await self.bodies.read(receive, held, limit)
        if not ingest:
            check_shape(message.get("body", b""), ORDINARY)
        return _replay(message, receive)


def _replay(first: Message, receive: Receive) -> Receive:
    pending: list[Message] = [first]

    async def replaying() -> Message:
        return pending.pop() if pending else await receive()

    return replaying
