"""Routes outside /api/v1: dashboard files, login, API reference and document."""

from __future__ import annotations

import asyncio
from mimetypes import guess_type
from pathlib import Path

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from hooke_api.base import errors, pages
from hooke_api.base.access import address_of
from hooke_api.base.errors import AWAY
from hooke_api.base.security import SAFE_METHODS, Sessions
from hooke_api.base.settings import Settings
from hooke_api.people.signing_in import sign_in_owner
from hooke_api.storage.database import Database
from hooke_api.storage.outbox import newest

IMMUTABLE = "public, max-age=31536000, immutable"
"""Cache-Control for files with a content hash in their name."""
EVENTS = "hooke-events"
"""Name of the `meta` element of a page with the position of events; `lib/events/page-position.ts` reads it."""
COMPRESSED = (("br", ".br"), ("gzip", ".gz"))
"""Content-Encoding and the end of the name of the files that the build writes beside the others, best first."""


def install(app: FastAPI, settings: Settings) -> None:
    """Add these routes; call it after all other routers."""
    root = settings.dashboard.resolve()

    @app.get("/login", include_in_schema=False)
    def login(request: Request, token: str = "") -> Response:
        sessions: Sessions = request.app.state.sessions
        if not token:
            return pages.sign_in()
        sent = (token.strip(), address_of(request), request.state.request_id)
        cookie = sign_in_owner(request.app.state.database, sessions, *sent)
        if cookie is None:
            return pages.sign_in(wrong=True)
        answer = RedirectResponse("/", 303)
        sessions.set_cookie(request, answer, cookie)
        return answer

    @app.get("/api/openapi.json", include_in_schema=False)
    def document(request: Request) -> JSONResponse:  # in a thread: making it takes a second
        return JSONResponse(request.app.openapi())

    @app.get("/api/docs", include_in_schema=False)
    def reference(request: Request) -> HTMLResponse:
        from hooke_api.web.reference import reference

        return reference(request.app.openapi())

    async def fallback(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            answer = await asyncio.to_thread(_file, root, Request(scope), app.state.database)
            await answer(scope, receive, send)

    app.router.default = fallback  # not a catch-all route, which would turn every 405 into a 404


def _file(root: Path, request: Request, database: Database) -> Response:
    path = request.url.path.lstrip("/")
    if path == "api" or path.startswith("api/"):
        raise errors.ResourceNotFound(f"no operation has the address /{path}")
    if request.method not in SAFE_METHODS:
        raise HTTPException(405, "only GET and HEAD read the dashboard", {"allow": "GET, HEAD"})
    hashed = path.startswith("assets/")
    found = _inside(root, path)
    if found:
        return _sent(found, IMMUTABLE if hashed else "no-cache", request.headers.get("accept-encoding", ""))
    if hashed:
        raise errors.ResourceNotFound(f"the dashboard has no file /{path}; reload the page")
    index = root / "index.html"
    if not index.is_file():
        return pages.not_built()
    known = getattr(request.state, "sender", None) is not None
    return _page(index, database if known else None)


def _page(index: Path, database: Database | None) -> Response:
    """Return the page of the dashboard.

    It tells who has signed in how far the events are: all that the page then reads is newer, so its event stream
    goes on from there, and the page need not read again what it has read while the stream was not open yet.
    """
    headers = {"cache-control": "no-cache"}
    try:
        position = None if database is None else _position(database)
    except AWAY:
        position = None  # the page says by itself that the server has a fault
    if position is None:
        return FileResponse(index, headers=headers)
    text = index.read_text(encoding="utf-8")
    told = f'<meta name="{EVENTS}" content="{position}" />'
    return HTMLResponse(text.replace("<head>", f"<head>\n    {told}", 1), headers=headers)


def _position(database: Database) -> int:
    with database.read() as session:
        return newest(session)


def _sent(found: Path, cached: str, accepted: str) -> FileResponse:
    """Return a file, as the build has compressed it if the browser accepts that."""
    kind = guess_type(found.name)[0]
    headers = {"cache-control": cached, "vary": "accept-encoding"}
    for coding, ending in COMPRESSED:
        packed = found.with_name(found.name + ending)
        if coding in accepted and packed.is_file():
            return FileResponse(packed, media_type=kind, headers=headers | {"content-encoding": coding})
    return FileResponse(found, media_type=kind, headers=headers)


def _inside(root: Path, path: str) -> Path | None:
    """Return the file at a path if it is inside the folder, with links resolved."""
    if not path or "\0" in path or len(path) > 1000:
        return None
    try:
        found = (root / path).resolve()
        return found if found.is_file() and found.is_relative_to(root) else None
    except (OSError, ValueError):  # a name that the file system rejects
        return None
