"""Bodies of requests, parsed and validated in threads of their own, with a deadline, and not on the event loop.

FastAPI does both on the event loop, where a body of 48 KB with thousands of faults kept all other requests
waiting. Here a thread makes the model of the body, and FastAPI, which gets it in place of the document, takes it.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial, wraps
from typing import Annotated, Any

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError

from hooke_api.base.endable import Endable
from hooke_api.base.errors import MOST_FAULTS, Malformed, TooLarge, Unavailable

SMALL = 1024
"""Bytes of a body up to which it is validated where FastAPI does it: at worst some milliseconds."""
THREADS = 4
"""Bodies that are validated at a time."""
SECONDS = 5.0
"""Time in which a body must be validated, waiting for a thread included."""


class Checks:
    """The threads that validate bodies."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._threads = ThreadPoolExecutor(THREADS, "bodies")
        self._seconds = seconds

    async def run(self, work: Callable[[], Any]) -> Any:
        """Return what `work` returns in a thread.

        Raises TooLarge if it takes too long, and Unavailable if it has not begun by then: others do.
        """
        piece = Endable(work)
        running = self._threads.submit(piece)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(running), self._seconds)
        except TimeoutError:
            if running.cancelled():  # by the end of the wait: no thread had begun it
                raise Unavailable("too many large requests at a time; try again", seconds=1) from None
            raise TooLarge(
                f"the body takes longer than {self._seconds:g} s to validate: send less at a time"
            ) from None
        finally:
            piece.end()  # nobody waits for it any more, also where the request was: its thread is there for others

    def close(self) -> None:
        """End the threads when they have nothing to do."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class CheckedRequest(Request):
    """A request whose body was read in a thread: FastAPI gets a model, or a document that makes itself one."""

    def __init__(self, request: Request, body: bytes, read: Any) -> None:
        super().__init__(request.scope, request.receive)
        self._bytes, self._read = body, read

    async def body(self) -> bytes:
        """Return the body."""
        return self._bytes

    async def json(self) -> Any:
        """Return what was made of it."""
        return self._read


class CheckedRoute(APIRoute):
    """A route whose body, unless it is small, is validated by `Checks` of the application.

    Its answer is a model, which FastAPI takes as it is; of a function that is not asynchronous it would do so in
    a thread of its own, after that of the function.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **more: Any) -> None:
        super().__init__(path, _in_one_thread(endpoint), **more)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of a request."""
        handler = super().get_route_handler()
        if self.body_field is None:
            return handler
        about = self.body_field.field_info
        kind = Annotated[(about.annotation, *about.metadata)] if about.metadata else about.annotation

        async def checked(request: Request) -> Response:
            body = await request.body()
            if len(body) <= SMALL or not _is_json(request.headers.get("content-type", "")):
                return await handler(request)
            checks: Checks = request.app.state.checks
            found = await checks.run(partial(read, kind, body))
            return await handler(CheckedRequest(request, body, found))

        return checked


def _in_one_thread(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    """Return an asynchronous function that calls this one in a thread; one that is asynchronous stays as it is."""
    if inspect.iscoroutinefunction(endpoint):
        return endpoint

    @wraps(endpoint)
    async def called(*given: Any, **named: Any) -> Any:
        return await run_in_threadpool(endpoint, *given, **named)

    return called


def _is_json(content_type: str) -> bool:
    """Return whether FastAPI takes a body of this type for JSON."""
    kind = content_type.split(";", maxsplit=1)[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    """Return what validates a type; made when it is needed: it takes memory, and most bodies are small."""
    return TypeAdapter(kind)


def read(kind: Any, body: bytes) -> Any:
    """Return the model of a JSON body of a type; the document where it is no model.

    Raises RequestValidationError with the faults as FastAPI tells them, Malformed if it is not UTF-8
    or has a number of thousands of digits.
    """
    try:
        document = json.loads(body)
    except json.JSONDecodeError as error:
        place = {"type": "json_invalid", "loc": ("body", error.pos), "msg": "JSON decode error", "input": {}}
        raise RequestValidationError([place | {"ctx": {"error": error.msg}}]) from None
    except (ValueError, RecursionError) as error:  # not UTF-8, or a number of too many digits
        raise Malformed(f"the body cannot be read: {type(error).__name__}") from None
    try:
        found = _adapter(kind).validate_python(document, from_attributes=True)
    except ValidationError as error:
        raise RequestValidationError(_faults(error)) from None
    return found if isinstance(found, BaseModel) else document


def _faults(error: ValidationError) -> list[dict[str, Any]]:
    """Return the faults, of very many only their number: an object for each takes longer than to find it."""
    if (count := error.error_count()) > MOST_FAULTS:
        return [{"type": "too_many", "loc": ("body",), "msg": f"has {count} faults", "input": {}}]
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return [{**each, "loc": ("body", *each["loc"])} for each in found]
