"""The gate before every request: Host, token or session, Origin, then the body; headers of every response.

Plain ASGI, so it does not buffer streams. A body is read after its sender has been identified, with a deadline
and within limits (`hooke_api.base.bodies`), and its shape is checked before it is parsed (`hooke_api.base.shape`).
"""

from __future__ import annotations

import re
import uuid
from functools import partial
from ipaddress import ip_address

from fastapi import Request
from hooke.spec.fetching import PIECE_BYTES
from hooke.spec.protocol import ANSWERS
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hooke_api.base import later
from hooke_api.base.access import Actor, address_of, changing, network_of
from hooke_api.base.bodies import Bodies, HeldBody
from hooke_api.base.checked import SMALL, Checks
from hooke_api.base.door import Door
from hooke_api.base.errors import (
    AWAY,
    ApiError,
    Malformed,
    Misdirected,
    TooLarge,
    on_api_error,
    on_away,
    on_surprise,
)
from hooke_api.base.reach import asking
from hooke_api.base.reader import Reader
from hooke_api.base.security import API, HEADERS, IMPORT, OPEN, PIECE, SAFE_METHODS, SIGN_IN, SIGN_IN_LIMIT
from hooke_api.base.settings import Settings
from hooke_api.base.shape import ORDINARY, check_shape

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?")
"""Host header: a name or an address, and optionally a port; after it was made lower case."""
_REPEATED = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What an answer repeats of its request."""


class Gate:
    """ASGI middleware: request id, Host, `Door`, body; headers of every response."""

    def __init__(self, app: ASGIApp, settings: Settings, door: Door, bodies: Bodies, checks: Checks) -> None:
        self.app = app
        self.settings = settings
        self.door = door
        self.bodies = bodies
        self.checks = checks
        self.hosts = {"localhost", "127.0.0.1", "[::1]", *(host.lower() for host in settings.allowed_hosts)}
        self.hosts |= _own(settings.host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or respond with a problem."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        later.allow(scope["state"])

        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                headers["x-request-id"] = request_id
                if repeated is not None:
                    headers[ANSWERS] = repeated
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            elif message.get("more_body", False):
                await reader.check()
            await send(message)

        request = Request(scope)
        repeated = request.headers.get(ANSWERS)
        if repeated is not None and not _REPEATED.fullmatch(repeated):
            repeated = None
        held, reader = HeldBody(""), Reader(self.door, request)
        try:
            passed = await self._admit(request, receive, held)
            if isinstance(passed, Response):
                await passed(scope, receive, sending)
            else:
                before = changing.set(getattr(request.state, "change", None))
                earlier = asking.set(getattr(request.state, "sender", None))
                try:
                    await self.app(scope, passed, sending)
                finally:
                    asking.reset(earlier)
                    changing.reset(before)
                if (rest := later.left(scope)) is not None:
                    del passed
                    await rest(receive, sending)
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
            return await self.door.admit(request) or await self._body(request, receive, held)
        except ApiError as error:
            return await on_api_error(request, error)
        except AWAY as error:
            return await on_away(request, error)

    def _host(self, request: Request) -> None:
        given = request.headers.getlist("host")
        found = _HOST.fullmatch(given[0].lower()) if len(given) == 1 else None
        if found is None:
            raise Malformed("send one Host header: a name or an address, and optionally a port")
        if found[1] not in self.hosts:
            raise Misdirected(f"this server is not {found[1]!r}; HOOKE_ALLOWED_HOSTS may add that name")

    def _text(self, request: Request) -> None:
        if "%00" in request.scope.get("query_string", b"").decode("latin-1") or "\0" in request.scope["path"]:
            raise Malformed("the address contains a zero byte")

    async def _body(self, request: Request, receive: Receive, held: HeldBody) -> Receive:
        """Read the body up to the limit, and check its shape; return a `receive` that replays it."""
        ingest = request.scope["path"] == f"{API}/ingest"
        limit = self.settings.ingest_limit if ingest else self.settings.body_limit
        if request.scope["path"] in SIGN_IN:
            limit = SIGN_IN_LIMIT  # its sender is not known
        imported = request.scope["path"] == IMPORT and request.method == "POST"
        if imported:
            limit = self.settings.import_limit
        piece = request.scope["path"] == PIECE
        if piece:
            limit = PIECE_BYTES
        announced = request.headers.get("content-length", "0")
        if not re.fullmatch("[0-9]{1,18}", announced) or int(announced) > limit:
            raise TooLarge(f"the body has {announced[:20]} bytes; the limit is {limit}")
        if request.method in SAFE_METHODS or request.scope["path"] in OPEN:
            return receive  # nobody reads it
        if imported:
            return receive  # its handler writes it to a file as it comes, within its own limits
        held.client = _client(request)
        message = await self.bodies.read(receive, held, limit)
        if not ingest and not piece:
            await self._shape(message.get("body", b""))
        return _replay(message, receive)

    async def _shape(self, body: bytes) -> None:
        """Check the shape of a body, of one that is not small in a thread."""
        if len(body) <= SMALL:
            check_shape(body, ORDINARY)
        else:
            await self.checks.run(partial(check_shape, body, ORDINARY))


def _own(host: str) -> set[str]:
    """Return what a Host header says of the address that the server listens on; nothing of all addresses."""
    try:
        address = ip_address(host)
    except ValueError:
        return {host.lower()} - {""}
    if address.is_unspecified:
        return set()
    return {f"[{address}]" if address.version == 6 else str(address)}


def _client(request: Request) -> str:
    """Return whose bodies count together: those of one token, of one session, or of one address without either."""
    if request.scope["path"] in SIGN_IN:
        return f"address {network_of(address_of(request))}"
    sender: Actor | None = getattr(request.state, "sender", None)
    if sender is not None and sender.id:
        return f"{sender.credential} {sender.id}"
    return request.headers.get("authorization", "")


def _replay(first: Message, receive: Receive) -> Receive:
    pending: list[Message] = [first]

    async def replaying() -> Message:
        return pending.pop() if pending else await receive()

    return replaying
