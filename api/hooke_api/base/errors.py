"""Errors: every 4xx and 5xx response is an RFC 9457 problem.

ApiError
├── Malformed        400  not JSON, or a header that cannot be read
├── Unauthorized     401  no token, a wrong one, or an expired session
├── Forbidden        403  a request of another origin
├── NotFound         404  nothing has this id
├── TooSlow          408  the body did not arrive in time
├── Conflict         409  not possible in the present state of the resource
├── Gone             410  it was there, and is of no use any more
├── PreconditionFailed 412 it is not the revision that If-Match names
├── TooLarge         413  the body is larger than the limit
├── Misdirected      421  the Host header names another server
├── Invalid          422  the document has faults; has one Fault for each
├── TooMany          429  this client has too many requests at a time
├── Unreadable       500  an object with stored data is missing or damaged
└── Unavailable      503  not possible at the moment, with Retry-After; also if the database does not respond
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from hooke.errors import Fault, SpecError
from hooke.spec.pointers import message, pointer
from sqlalchemy.exc import DataError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as DatabaseTimeout
from starlette.exceptions import HTTPException
from starlette.routing import Match

from hooke_api.base.schema import ProblemDetails

log = structlog.get_logger("hooke.api")

MOST_FAULTS = 500
"""Faults of a document that a response lists."""


class ApiError(Exception):
    """Base class of the errors that the API raises deliberately, with status, kind and title."""

    status: ClassVar[int] = 500
    kind: ClassVar[str] = "internal"
    title: ClassVar[str] = "Internal server error"

    def __init__(self, detail: str, faults: Iterable[Fault] = (), headers: dict[str, str] | None = None) -> None:
        self.detail = detail
        self.faults = list(faults)
        self.headers = headers or {}
        super().__init__(detail)


class Malformed(ApiError):
    """The request cannot be read."""

    status, kind, title = 400, "malformed", "The request cannot be read"


class Unauthorized(ApiError):
    """The request has no valid credential."""

    status, kind, title = 401, "unauthorized", "A valid token is needed"

    def __init__(self, detail: str) -> None:
        super().__init__(detail, headers={"WWW-Authenticate": "Bearer"})


class Forbidden(ApiError):
    """The sender is authenticated but not allowed to do this."""

    status, kind, title = 403, "forbidden", "This is not allowed"


class ResourceNotFound(ApiError):
    """Nothing has this id."""

    status, kind, title = 404, "not-found", "Not found"


class TooSlow(ApiError):
    """The body did not arrive in time."""

    status, kind, title = 408, "timeout", "The request did not arrive in time"


class Conflict(ApiError):
    """Not possible in the present state of the resource."""

    status, kind, title = 409, "conflict", "Not possible in the current state"


class Gone(ApiError):
    """It was there, and is of no use any more."""

    status, kind, title = 410, "gone", "No longer available"


class PreconditionFailed(ApiError):
    """The resource is not as the request expects it: If-Match."""

    status, kind, title = 412, "precondition-failed", "It was changed in the meantime"


class TooLarge(ApiError):
    """The body is larger than the limit."""

    status, kind, title = 413, "too-large", "The request is too large"


class Misdirected(ApiError):
    """The Host header names another server."""

    status, kind, title = 421, "misdirected", "The request was meant for another server"


class Invalid(ApiError):
    """The document has faults."""

    status, kind, title = 422, "invalid", "The request has faults"

    @classmethod
    def of(cls, faults: Sequence[Fault]) -> Invalid:
        """Return the error for the faults of a specification."""
        count = len(faults)
        listed = "" if count <= MOST_FAULTS else f", of which {MOST_FAULTS} are listed"
        return cls("1 fault" if count == 1 else f"{count} faults{listed}", faults[:MOST_FAULTS])


class TooMany(ApiError):
    """This client has too many requests at a time."""

    status, kind, title = 429, "too-many", "Too many requests"

    def __init__(self, detail: str, seconds: int = 1) -> None:
        super().__init__(detail, headers={"Retry-After": str(seconds)})


class Unreadable(ApiError):
    """An object with stored data is missing or damaged; its run and its name are told."""

    status, kind, title = 500, "unreadable", "Stored data cannot be read"


class Unavailable(ApiError):
    """Not possible at the moment; the client may try again after `seconds`."""

    status, kind, title = 503, "unavailable", "Temporarily unavailable"

    def __init__(self, detail: str, seconds: int = 2) -> None:
        super().__init__(detail, headers={"Retry-After": str(seconds)})


_BY_STATUS: dict[int, tuple[str, str]] = {
    400: (Malformed.kind, Malformed.title),  # a body that is not UTF-8, or nested deeper than Python allows
    404: ("not-found", "Not found"),
    405: ("method-not-allowed", "The method is not allowed for this address"),
    413: (TooLarge.kind, TooLarge.title),
}
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
AWAY = (OperationalError, InterfaceError, DatabaseTimeout)
"""What SQLAlchemy raises if the database does not respond, is locked, or cannot write."""
UNSTORABLE = (DataError, OverflowError, UnicodeEncodeError)
"""What is raised for a value that the database cannot store: 20 digits, a zero byte in a text."""


def problem(
    request: Request,
    status: int,
    kind: str,
    title: str,
    detail: str,
    *,
    faults: Iterable[Fault] = (),
    headers: dict[str, str] | None = None,
) -> Response:
    """Return one problem+json response."""
    body = ProblemDetails(
        type=f"/problems/{kind}",
        title=title,
        status=status,
        detail=detail,
        instance=request.scope["path"],
        request_id=getattr(request.state, "request_id", ""),
        errors=list(faults),
    )
    text = json.dumps(body.model_dump())  # ASCII, because a fault may quote half of a surrogate pair
    return Response(text, status, headers, media_type="application/problem+json")


async def on_api_error(request: Request, error: Exception) -> Response:
    """Return the response to an ApiError."""
    assert isinstance(error, ApiError)  # noqa: S101 - the registration below says so; this tells the type checker
    return problem(
        request,
        error.status,
        error.kind,
        error.title,
        error.detail,
        faults=error.faults,
        headers=error.headers,
    )


async def on_spec_error(request: Request, error: Exception) -> Response:
    """Return the response to a specification with faults."""
    assert isinstance(error, SpecError)  # noqa: S101 - as above
    return await on_api_error(request, Invalid.of(error.faults))


async def on_http_error(request: Request, error: Exception) -> Response:
    """Return the response to exceptions of Starlette: unknown addresses, wrong methods, bodies it cannot read."""
    assert isinstance(error, HTTPException)  # noqa: S101 - as above
    kind, title = _BY_STATUS.get(error.status_code, ("http", str(error.detail)))
    headers = dict(error.headers) if error.headers else {}
    if error.status_code == 405 and (allowed := _allowed(request)):
        headers["Allow"] = ", ".join(allowed)
    return problem(request, error.status_code, kind, title, str(error.detail), headers=headers)


def _allowed(request: Request) -> list[str]:
    """Return the methods of all operations at an address; Starlette names those of the first one.

    Where an address could also be the id of something (`/experiments/dry-run`), those of the address count.
    """
    path, found = request.scope["path"], []
    for method in _METHODS:
        scope = {"type": "http", "path": path, "root_path": "", "method": method, "headers": []}
        if any(route.matches(scope)[0] is Match.FULL for route in request.app.router.routes):
            found.append(method)
    called = {method: request.app.state.door.operations.of(method, path) for method in found}
    own = [method for method, operation in called.items() if operation and not operation.parameters]
    return own or found


async def on_validation_error(request: Request, error: Exception) -> Response:
    """Return the response to a request rejected by FastAPI: JSON Pointers for the body, `query/name` otherwise."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 - as above
    faults = [_fault(item) for item in error.errors()[:MOST_FAULTS]]
    if any(item["type"] == "json_invalid" for item in error.errors()):
        return await on_api_error(request, Malformed("the body is not JSON", faults))
    return await on_api_error(request, Invalid("the request does not fit its schema", faults))


def _fault(item: dict[str, Any]) -> Fault:
    place, *rest = item["loc"]
    where = pointer(*rest) if place == "body" else "/".join(str(part) for part in item["loc"])
    return Fault(pointer=where, message=message(item))


async def on_unstorable(request: Request, error: Exception) -> Response:
    """Return the response to a document that the database cannot store: 20 digits, a zero byte in a text."""
    log.warning("a value that cannot be stored", path=request.scope["path"], error=str(error)[:500])
    return await on_api_error(request, Invalid("a number is too large, or a text contains a forbidden character"))


async def on_away(request: Request, error: Exception) -> Response:
    """Return the response while the database does not respond: another process has locked it, its disk is full."""
    assert isinstance(error, AWAY)  # noqa: S101 - as above
    log.warning("the database does not respond", path=request.scope["path"], error=str(error)[:300])
    why = getattr(error, "orig", None)
    said = (
        str(why) if isinstance(why, sqlite3.Error) else type(why or error).__name__
    )  # others name hosts and paths
    return await on_api_error(request, Unavailable(f"the database does not respond: {said}"))


async def on_surprise(request: Request, error: Exception) -> Response:
    """Log an unexpected error and return a response without its details."""
    request_id = getattr(request.state, "request_id", "")
    log.error("unexpected error", request_id=request_id, path=request.scope["path"], exc_info=error)
    detail = f"The server's log has the details under request id {request_id}."
    return problem(request, 500, ApiError.kind, ApiError.title, detail)


def install(app: FastAPI) -> None:
    """Register the handlers on an application; for all other exceptions the gate uses `on_surprise`."""
    app.add_exception_handler(ApiError, on_api_error)
    app.add_exception_handler(SpecError, on_spec_error)
    app.add_exception_handler(HTTPException, on_http_error)
    app.add_exception_handler(RequestValidationError, on_validation_error)
    for away in AWAY:
        app.add_exception_handler(away, on_away)
    for unstorable in UNSTORABLE:
        app.add_exception_handler(unstorable, on_unstorable)
