"""An HTTP proxy between supervisors and agents and the API, which can be told to misbehave."""

from __future__ import annotations

import http.client
import random
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODES = ("429", "500", "garbage", "slow", "twice", "unanswered", "never")
"""429 with Retry-After, 500, an answer that is none, a late one, the request delivered twice, delivered without
an answer, and not delivered."""
RETRY_AFTER = 2
SLOW = 4.0
"""Seconds by which `slow` delays an answer."""
LONGEST = 30.0
"""Seconds after which the connection of a request that is never answered is closed."""
_ADDRESS = "127.0.0.1"
_NOT_PASSED = frozenset(
    {"connection", "transfer-encoding", "content-length", "host", "keep-alive", "date", "server"}
)


class Proxy:
    """Forwards requests to a port of this machine; `mode` is one of MODES, or empty to forward faithfully."""

    def __init__(self, target: int, seed: int = 0) -> None:
        self.target, self.mode = target, ""
        self.refused = 0
        """Requests that did not get the API's answer."""
        self._chance = random.Random(seed)
        self._open = threading.Event()
        handler = type("Handler", (_Handler,), {"proxy": self})
        self._server = _Server((_ADDRESS, 0), handler)
        self.port = self._server.server_address[1]
        self.url = f"http://{_ADDRESS}:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, name="proxy", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End, and every request that waits."""
        self._open.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def wait(self, seconds: float) -> None:
        """Wait, or until the proxy is closed."""
        self._open.wait(seconds)

    def noise(self) -> bytes:
        """Return bytes that are no JSON."""
        return b"<html>" + bytes(self._chance.randrange(256) for _ in range(200))

    def deliver(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer | None:
        """Return the API's answer; None if it is away."""
        connection = http.client.HTTPConnection(_ADDRESS, self.target, timeout=LONGEST)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            kept = [(name, value) for name, value in answer.getheaders() if name.lower() not in _NOT_PASSED]
            return answer.status, kept, answer.read()
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()


Answer = tuple[int, list[tuple[str, str]], bytes]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that has gone is no error here."""


class _Handler(BaseHTTPRequestHandler):
    proxy: Proxy
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._handle()

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        proxy, mode = self.proxy, self.proxy.mode
        if mode:
            proxy.refused += mode not in ("slow", "twice")
        match mode:
            case "429":
                self._answer(429, [("retry-after", str(RETRY_AFTER))], b'{"detail": "too many requests"}')
            case "500":
                self._answer(500, [], b'{"detail": "a fault"}')
            case "garbage":
                self._answer(200, [("content-type", "application/json")], proxy.noise())
            case "never":
                proxy.wait(LONGEST)
                self.close_connection = True
            case "unanswered":
                self._deliver(body)
                self.close_connection = True
            case _:
                if mode == "slow":
                    time.sleep(SLOW)
                if mode == "twice":
                    self._deliver(body)
                answer = self._deliver(body)
                if answer is None:
                    self.close_connection = True
                else:
                    self._answer(*answer)

    def _deliver(self, body: bytes) -> Answer | None:
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _NOT_PASSED}
        headers["Host"] = f"{_ADDRESS}:{self.proxy.target}"
        return self.proxy.deliver(self.command, self.path, headers, body)

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        with suppress(OSError):  # the client did not wait
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            if body:
                self.wfile.write(body)
