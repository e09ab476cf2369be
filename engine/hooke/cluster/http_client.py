"""The HTTP client library httpx, without its command line, and the options of a client of an API.

Where rich and Pygments are installed, `import httpx` imports httpx's command line and, with it, both of them.
Agents, supervisors and commands import httpx from here and do without.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable
from typing import Any, TypedDict
from urllib.parse import urlsplit

from hooke.spec.protocol import ANSWERS

_COMMAND_LINE = "httpx._main"
_FIRST = "httpx" not in sys.modules
if _FIRST:  # its import then raises ImportError, which httpx expects where rich or Pygments is missing
    sys.modules[_COMMAND_LINE] = None  # type: ignore[assignment]
import httpx  # noqa: E402 - the line above must come first

if _FIRST:
    del sys.modules[_COMMAND_LINE]

__all__ = ["ClientOptions", "Hooks", "check", "client_options", "httpx", "mark"]
Hooks = dict[str, list[Callable[..., Any]]]
"""What a client calls with every request and response."""
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class ClientOptions(TypedDict):
    """Arguments of httpx's clients and requests."""

    trust_env: bool
    verify: bool


def client_options(api: str) -> ClientOptions:
    """Return the options of a client of the API at this address.

    On this machine, proxies of the environment are not used, and over http:// there is no certificate to verify:
    httpx would read those of all authorities, which takes longer than a request.
    """
    place = urlsplit(api)
    here = place.hostname in _LOOPBACK
    return {"trust_env": not here, "verify": not (here and place.scheme == "http")}


def mark(request: httpx.Request) -> None:
    """Write into a request what its answer has to repeat."""
    request.headers[ANSWERS] = secrets.token_hex(8)


def check(response: httpx.Response) -> None:
    """Raise RemoteProtocolError for the answer to another request, and so end its connection.

    Proxies answer by themselves, and earlier servers repeat nothing: such answers are taken.
    """
    of = response.headers.get(ANSWERS)
    if of is not None and of != response.request.headers[ANSWERS]:
        raise httpx.RemoteProtocolError("this answers another request: a proxy has answered that one twice")
