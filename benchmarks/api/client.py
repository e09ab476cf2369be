"""A small HTTP client on one connection: it shares the machine with the server, and should cost little."""

from __future__ import annotations

import http.client
import json
import time
from types import TracebackType
from typing import Any
from urllib.parse import urlencode, urlsplit

TIMEOUT = 300.0
IDLE = 2.0
"""Seconds after which a connection is opened anew: the server closes idle ones after five."""
BUSY = 503


class Failed(Exception):
    """A request was not answered as expected; the message has the answer."""


class Client:
    """Requests below `url` with one bearer token; for one thread."""

    def __init__(self, url: str, token: str | None = None, prefix: str = "/api/v1") -> None:
        place = urlsplit(url)
        self._connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=TIMEOUT)
        self._prefix = prefix
        self._used = 0.0
        self._headers = {"authorization": f"Bearer {token}"} if token else {}

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def raw(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        """Send a request; return status and body of the answer."""
        if time.monotonic() - self._used > IDLE:
            self._connection.close()
        self._connection.request(method, self._prefix + path, body, self._headers | (headers or {}))
        answer = self._connection.getresponse()
        content = answer.read()
        self._used = time.monotonic()
        return answer.status, content

    def get(self, path: str, **query: Any) -> Any:
        """Return the JSON of a GET. Raises Failed."""
        return self._json("GET", f"{path}?{urlencode(query, doseq=True)}" if query else path, None)

    def post(self, path: str, document: object = None) -> Any:
        """Post JSON, and return the JSON of the answer. Raises Failed."""
        return self._json("POST", path, None if document is None else json.dumps(document).encode())

    def ingest(self, body: bytes) -> int:
        """Post the gzip body of an ingest request, again while the server asks to wait; return how often.

        Raises Failed.
        """
        headers = {"content-type": "application/json", "content-encoding": "gzip"}
        for again in range(1000):
            status, answer = self.raw("POST", "/ingest", body, headers)
            if status == 200:
                return again
            if status != BUSY:
                raise Failed(f"POST /ingest: {status}: {answer[:500]!r}")
            time.sleep(0.1)
        raise Failed("POST /ingest: the server was busy for too long")

    def _json(self, method: str, path: str, body: bytes | None) -> Any:
        headers = {"content-type": "application/json"} if body is not None else {}
        status, answer = self.raw(method, path, body, headers)
        if not 200 <= status < 300:
            raise Failed(f"{method} {path}: {status}: {answer[:500]!r}")
        return json.loads(answer) if answer else None


def timed(client: Client, method: str, path: str, body: bytes | None = None) -> float:
    """Return the seconds of a request from its first byte sent to its last byte received. Raises Failed."""
    began = time.perf_counter()
    status, answer = client.raw(method, path, body, {"content-type": "application/json"} if body else {})
    seconds = time.perf_counter() - began
    if status != 200:
        raise Failed(f"{method} {path}: {status}: {answer[:500]!r}")
    return seconds
