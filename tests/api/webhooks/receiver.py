"""A receiver of webhooks on this machine, and settings that let them reach it."""

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network
from socket import create_server, socket

from tests.waiting import LIMIT

LOCAL = {
    "webhook_http": True,
    "webhook_networks": [ip_network("127.0.0.0/8")],
    "public_url": "https://hooke.example/",
}
"""Settings that allow receivers on this machine."""


@dataclass
class Received:
    """A request that arrived."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


class Receiver:
    """An HTTP server that keeps what arrives; answers 204 unless a test says otherwise."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.requests: list[Received] = []
        self.statuses: list[int] = []
        """Of the next answers."""
        self.location = self.retry_after = ""
        self.open = threading.Event()
        """Requests are answered only while it is set."""
        self.open.set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.handle_error = lambda *_: None  # the other side does not wait for the end of an answer
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/hook?from=hooke"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.requests.append(Received(self.path, headers, body))
                receiver.open.wait(LIMIT)
                self.send_response(receiver.statuses.pop(0) if receiver.statuses else 204)
                if receiver.location:
                    self.send_header("location", receiver.location)
                if receiver.retry_after:
                    self.send_header("retry-after", receiver.retry_after)
                self.end_headers()

            def log_message(self, *_):
                pass

        return Handler

    @property
    def ids(self) -> list[str]:
        return [each.id for each in self.requests]

    def close(self) -> None:
        self.open.set()
        self._server.shutdown()
        self._thread.join(LIMIT)
        self._server.server_close()


@contextmanager
def raw(answer: Callable[[socket], None]) -> Iterator[int]:
    """Yield the port of a server that reads one request, whose body is an object, and then does as told."""
    with create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                while b"}" not in connection.recv(65536):
                    pass
                with suppress(OSError):  # the other side has gone
                    answer(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        thread.join(LIMIT)
