"""Requests to the provider: within one deadline and a number of bytes, without redirects.

The deadline is one of the event loop: it covers name, connection, head and body, however slowly they come.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from hooke_api.oidc.configuration import loopback
from hooke_api.oidc.problems import NotSignedIn, Problem

SECONDS = 10.0
"""Seconds for a request and its answer."""
MOST_BYTES = 256 * 1024
"""Bytes of an answer."""


@dataclass(frozen=True)
class Answer:
    """An answer of the provider that is a JSON object."""

    status: int
    document: dict[str, Any]


class Transport:
    """Sends requests. Used in the event loop only."""

    def __init__(self) -> None:
        self._tls: ssl.SSLContext | None = None

    async def get(self, url: str, headers: Mapping[str, str] = MappingProxyType({})) -> Answer:
        """Return the JSON object at an address. Raises NotSignedIn."""
        return await self._sent("GET", url, headers, b"")

    async def post(self, url: str, headers: Mapping[str, str], body: str) -> Answer:
        """Return the answer to a form. Raises NotSignedIn."""
        return await self._sent("POST", url, headers, body.encode())

    async def _sent(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        import httpx

        try:
            async with asyncio.timeout(SECONDS):
                status, content = await self._exchange(method, url, headers, body)
        except TimeoutError:
            raise _away(url, f"no answer within {SECONDS:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            raise _away(url, f"{type(error).__name__}: {error}") from None
        if 300 <= status < 400:
            raise _away(url, f"status {status}: redirects are not followed")
        return Answer(status, _object(url, status, content))

    async def _exchange(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        import httpx

        verify: ssl.SSLContext | bool = False  # http, to this host only: there is no certificate
        if not url.startswith("http:"):
            if self._tls is None:  # reads the roots of the system from files
                self._tls = await asyncio.to_thread(ssl.create_default_context)
            verify = self._tls
        sent = {"accept": "application/json", "accept-encoding": "identity", "user-agent": "Hooke", **headers}
        proxied = not loopback(url)  # a proxy of the environment is for other hosts
        client = httpx.AsyncClient(verify=verify, timeout=SECONDS, follow_redirects=False, trust_env=proxied)
        async with client, client.stream(method, url, headers=sent, content=body) as answer:
            if answer.headers.get("content-encoding", "identity") != "identity":
                raise _away(url, "it is compressed, which nobody asked for")
            content = bytearray()
            async for part in answer.aiter_raw():
                content += part
                if len(content) > MOST_BYTES:
                    raise _away(url, f"it has more than {MOST_BYTES} bytes")
            return answer.status_code, bytes(content)


def _object(url: str, status: int, content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise _away(url, f"status {status} without a JSON object")
    return found


def _away(url: str, why: str) -> NotSignedIn:
    return NotSignedIn(Problem.AWAY, f"the answer of {url} cannot be used: {why}")
