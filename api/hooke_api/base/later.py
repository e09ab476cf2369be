"""Responses that are sent after the application has handled their request, by the gate.

While a response is sent by the application, everything that FastAPI needed to find and call the handler waits with
it: some 20 kB for each event stream, which is open for hours.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.types import Receive, Scope, Send

Response = Callable[[Receive, Send], Awaitable[None]]
_PLACE = "hooke_later"
_OF_FASTAPI = "fastapi"
"""Beginning of the names under which it leaves what it needed: stacks that have been unwound."""


def allow(state: MutableMapping[str, Any]) -> None:
    """Let the response to a request with this state be put off: somebody will ask for it."""
    state[_PLACE] = None


def put_off(scope: Scope, response: Response) -> bool:
    """Leave a response to whoever allowed this; return False if nobody did."""
    state = scope.get("state", {})
    if _PLACE not in state:
        return False
    state[_PLACE] = response
    return True


def left(scope: Scope) -> Response | None:
    """Return the response that was put off, or None."""
    response: Response | None = scope["state"].pop(_PLACE, None)
    if response is not None:
        for name in [name for name in scope if name.startswith(_OF_FASTAPI)]:
            del scope[name]
    return response
