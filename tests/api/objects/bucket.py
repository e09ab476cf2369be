"""A small service that speaks the protocol of S3, and checks signatures by code of its own.

Written from "Authenticating Requests (AWS Signature Version 4)" of the Amazon S3 API Reference; it shares nothing
with the client.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote, unquote, urlsplit

REGION, KEY_ID, SECRET, BUCKET = "eu-test-1", "AKIDTEST", "a secret/with+signs", "points"
_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, ?"
    r"SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})"
)


class Bucket:
    """The service, with one bucket, in a thread."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.requests: list[tuple[str, str]] = []
        self.busy = 0
        """Number of the next requests that get 503."""
        self.cut = self.closed = False
        """Whether the next object that is asked for breaks off."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self.closed = True  # for connections that are open
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        bucket = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_) -> None:
                pass

            def do_GET(self) -> None:
                bucket.answer(self)

            do_PUT = do_DELETE = do_HEAD = do_GET

        return Handler

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("content-length", 0)))
        path = unquote(urlsplit(handler.path).path)
        if self.closed:
            handler.close_connection = True
            return None
        self.requests.append((handler.command, path))
        if self.busy:
            self.busy -= 1
            return _send(handler, 503, _error("SlowDown"))
        if (why := refusal(handler, body)) is not None:
            return _send(handler, 403, _error(why))
        _, name, key = path.split("/", 2)
        if name != BUCKET:
            return _send(handler, 404, _error("NoSuchBucket"))
        if handler.command == "PUT":
            self.objects[key] = body
            return _send(handler, 200)
        if handler.command == "DELETE":
            self.objects.pop(key, None)
            return _send(handler, 204)
        if key not in self.objects:
            return _send(handler, 404, _error("NoSuchKey"))
        return _send(handler, 200, self.objects[key], cut=self.cut)


def _send(handler: BaseHTTPRequestHandler, status: int, body: bytes = b"", cut: bool = False) -> None:
    handler.send_response(status)
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    if handler.command == "HEAD":
        return
    handler.wfile.write(body[: len(body) // 2] if cut else body)
    handler.close_connection = cut


def _error(code: str) -> bytes:
    return f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>no</Message></Error>'.encode()


def refusal(handler: BaseHTTPRequestHandler, body: bytes) -> str | None:
    """Return the code with which a request is refused, or None if its signature is right."""
    found = _AUTHORIZATION.fullmatch(handler.headers.get("authorization", ""))
    if found is None:
        return "AccessDenied"
    key_id, day, region, names, signature = found.groups()
    when = handler.headers.get("x-amz-date", "")
    if key_id != KEY_ID or region != REGION or when[:8] != day:
        return "InvalidAccessKeyId"
    age = datetime.now(UTC) - datetime.strptime(when, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    if abs(age) > timedelta(minutes=15):
        return "RequestTimeTooSkewed"
    content = handler.headers.get("x-amz-content-sha256", "")
    if content != hashlib.sha256(body).hexdigest():
        return "XAmzContentSHA256Mismatch"
    if not {"host", "x-amz-date", "x-amz-content-sha256"} <= set(names.split(";")):
        return "AccessDenied"
    parts = urlsplit(handler.path)
    request = f"{handler.command}\n{quote(unquote(parts.path))}\n{parts.query}\n"
    for name in names.split(";"):
        request += f"{name}:{handler.headers[name].strip()}\n"
    request += f"\n{names}\n{content}"
    scope = f"{day}/{region}/s3/aws4_request"
    to_sign = f"AWS4-HMAC-SHA256\n{when}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    key = ("AWS4" + SECRET).encode()
    for word in (day, region, "s3", "aws4_request", to_sign):
        key = hmac.new(key, word.encode(), "sha256").digest()
    return None if hmac.compare_digest(key.hex(), signature) else "SignatureDoesNotMatch"
