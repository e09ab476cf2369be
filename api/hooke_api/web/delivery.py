"""How answers travel: compressed, and not at all where the client has them already."""

from __future__ import annotations

import asyncio
import gzip
from hashlib import blake2b

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

WORTH = 1000
"""Bytes below which compression saves nothing."""
LEVEL = 5
"""Of gzip: 384 kB of curves in some 10 ms."""
LARGE = 64_000
"""Bytes from which compression leaves the event loop to others."""


class Delivery:
    """ASGI middleware for JSON in one piece: an ETag for every answer to GET, 304 if it is the client's, and gzip.

    Streams and files pass unchanged.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and its answer back."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        start: Message | None = None

        async def sending(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_json(message):
                start = message  # until the body tells what becomes of it
                return
            if start is None:
                await send(message)
                return
            begun, start = start, None
            if message.get("more_body", False):
                await send(begun)
                await send(message)
                return
            body = await _packed(begun, message.get("body", b""), scope["method"], headers)
            await send(begun)
            await send({"type": "http.response.body", "body": body})

        await self.app(scope, receive, sending)


def _is_json(start: Message) -> bool:
    headers = Headers(raw=start["headers"])
    return headers.get("content-type", "").startswith("application/json") and "content-encoding" not in headers


async def _packed(start: Message, body: bytes, method: str, asked: Headers) -> bytes:
    """Complete the head of an answer; return its body as it travels."""
    headers = MutableHeaders(raw=list(start["headers"]))
    start["headers"] = headers.raw
    if method == "GET" and start["status"] == 200:
        tag = f'W/"{blake2b(body, digest_size=12).hexdigest()}"'
        headers["etag"] = tag
        headers.setdefault("cache-control", "private, no-cache")  # may be kept, and is asked for each time
        if tag in asked.get("if-none-match", ""):
            start["status"] = 304
            del headers["content-length"]
            return b""
    if len(body) >= WORTH:
        headers.add_vary_header("Accept-Encoding")
        if "gzip" in asked.get("accept-encoding", ""):
            large = len(body) >= LARGE
            body = await asyncio.to_thread(gzip.compress, body, LEVEL) if large else gzip.compress(body, LEVEL)
            headers["content-encoding"] = "gzip"
            headers["content-length"] = str(len(body))
    return body
