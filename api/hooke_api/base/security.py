"""Authentication: the gate before every request, sessions, and hashes of tokens.

One start-up token grants full access. Programs send it as a bearer token; a browser exchanges it once, at
`/login`, for a signed cookie. The gate is plain ASGI, so it does not buffer streams.
"""

from __future__ import annotations

import hashlib
import hmac
import uuid
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from fastapi import Request
from itsdangerous import TimestampSigner
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hooke_api.base import pages
from hooke_api.base.errors import (
    ApiError,
    Forbidden,
    Malformed,
    Misdirected,
    TooLarge,
    Unauthorized,
    on_api_error,
    on_surprise,
)
from hooke_api.base.settings import Settings

API = "/api/v1"
OPEN = frozenset({"/livez", "/readyz", "/version", f"{API}/livez", f"{API}/readyz", f"{API}/version", "/login"})
"""Paths that need no token."""
OTHER_TOKENS = frozenset(
    f"{API}/{path}"
    for path in ("ingest", "agents/hello", "agents/proof", "agents/failed-launch", "agents/calibration")
)
"""Paths whose endpoints check a different token."""
OWNER = "owner"
"""The only user at present: the holder of the start-up token."""
SESSION_SECONDS = 30 * 24 * 3600
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",  # the address of the login page contains the token
    "x-frame-options": "DENY",
    "content-security-policy": (
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; object-src 'none'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
}


def digest(token: str) -> str:
    """Return the SHA-256 of a token in hexadecimal, for storage."""
    return hashlib.sha256(token.encode()).hexdigest()


def server_mark(agents: str) -> str:
    """Return what the server writes into its Redis, by which agents recognise it; not the token."""
    return hashlib.sha256(b"hooke broker\0" + agents.encode()).hexdigest()[:32]


def same(given: str, expected: str) -> bool:
    """Return whether two secrets are equal, in constant time."""
    return hmac.compare_digest(given.encode(), expected.encode())


def bearer(headers: Headers) -> str | None:
    """Return the bearer token of a request, or None."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" and token.strip() else None


class Sessions:
    """Signed cookies with their time of issue; not stored, invalidated by a new start-up token."""

    def __init__(self, settings: Settings) -> None:
        self.name = f"hooke-session-{settings.port}"
        """Contains the port, because cookies are shared by all ports of a host."""
        self._token = settings.token
        self._signer = TimestampSigner(self._token, salt="hooke session", digest_method=hashlib.sha256)

    def issue(self) -> str:
        """Return a new cookie value."""
        return self._signer.sign(OWNER).decode()

    def valid(self, value: str) -> bool:
        """Return whether this server issued the value and it has not expired."""
        return self._signer.validate(value, max_age=SESSION_SECONDS)

    def opens(self, token: str) -> bool:
        """Return whether this is the start-up token."""
        return same(token, self._token)

    def cookie(self, headers: Headers) -> str | None:
        """Return the session cookie of a request, or None."""
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self.name)
        except CookieError:
            return None
        return found.value if found else None


class Gate:
    """ASGI middleware: request id, Host, size of the body, token or session, Origin; headers of every response."""

    def __init__(self, app: ASGIApp, settings: Settings, sessions: Sessions) -> None:
        self.app = app
        self.settings = settings
        self.sessions = sessions
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
        try:
            passed = await self._admit(request, receive)
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

    async def _admit(self, request: Request, receive: Receive) -> Response | Receive:
        """Return the response that rejects a request, or the `receive` from which its handler reads the body."""
        try:
            self._host(request)
            self._text(request)
            return self._who(request) or await self._body(request, receive)
        except ApiError as error:
            return await on_api_error(request, error)

    def _host(self, request: Request) -> None:
        name = urlsplit("//" + request.headers.get("host", "")).netloc.lower()
        bare = name if name.endswith("]") else name.rpartition(":")[0] or name
        if bare not in self.hosts:
            raise Misdirected(f"this server is not {bare!r}; HOOKE_ALLOWED_HOSTS may add that name")

    def _text(self, request: Request) -> None:
        if "%00" in request.scope.get("query_string", b"").decode("latin-1") or "\0" in request.url.path:
            raise Malformed("the address contains a zero byte")

    def _who(self, request: Request) -> Response | None:
        path = request.url.path
        if path in OPEN or path in OTHER_TOKENS:
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
        if origin is None or urlsplit(origin).netloc.lower() != request.headers.get("host", "").lower():
            raise Forbidden(f"a change by a browser must come from a page of this server, not from {origin!r}")

    async def _body(self, request: Request, receive: Receive) -> Receive:
        """Read the body up to the limit, before it is parsed; return a `receive` that replays it."""
        ingest = request.url.path == f"{API}/ingest"
        limit = self.settings.ingest_limit if ingest else self.settings.body_limit
        announced = request.headers.get("content-length", "0")
        if not announced.isdigit() or int(announced) > limit:
            raise TooLarge(f"the body has {announced} bytes; the limit is {limit}")
        if request.method in SAFE_METHODS:
            return receive
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return _replay(message, receive)
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > limit:
                raise TooLarge(f"the body has more than {limit} bytes")
        return _replay({"type": "http.request", "body": bytes(body), "more_body": False}, receive)


def _replay(first: Message, receive: Receive) -> Receive:
    pending: list[Message] = [first]

    async def replaying() -> Message:
        return pending.pop() if pending else await receive()

    return replaying
