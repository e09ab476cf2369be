"""A TCP relay that counts what a browser gets, by the path that was asked for, also by a worker of the page."""

from __future__ import annotations

import re
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

ASKED = re.compile(rb"^(GET|POST|PUT|PATCH|DELETE) (\S+) HTTP/1\.1\r\n")
CHUNK = 1 << 16


class Relay:
    """Passes connections on to an API of this machine. HTTP/1.1: a connection has one request at a time."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(0.2)
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._bytes: Counter[str] = Counter()
        self._requests: Counter[str] = Counter()

    def begin(self) -> None:
        """Count anew."""
        with self._lock:
            self._bytes.clear()
            self._requests.clear()

    def counted(self) -> dict[str, dict[str, int]]:
        """Return bytes and requests by method and path since it began, the most bytes first."""
        with self._lock:
            return {
                path: {"bytes": size, "requests": self._requests[path]} for path, size in self._bytes.most_common()
            }

    def run(self) -> None:
        """Accept connections until it is closed."""
        while not self._ended.is_set():
            try:
                near, _ = self._listening.accept()
            except TimeoutError:
                continue
            far = socket.create_connection(("127.0.0.1", self._target))
            path = ["connection"]
            for pair in ((near, far, True), (far, near, False)):
                threading.Thread(target=self._pass, args=(*pair, path), daemon=True).start()
        self._listening.close()

    def close(self) -> None:
        """Accept no further connections."""
        self._ended.set()

    def _pass(self, source: socket.socket, target: socket.socket, asks: bool, path: list[str]) -> None:
        try:
            while chunk := source.recv(CHUNK):
                found = ASKED.match(chunk) if asks else None
                with self._lock:
                    if found:
                        path[0] = f"{found[1].decode()} {found[2].decode().partition('?')[0]}"
                        self._requests[path[0]] += 1
                    elif not asks:
                        self._bytes[path[0]] += len(chunk)
                target.sendall(chunk)
        except OSError:  # the other side has gone
            pass
        finally:
            for each in (source, target):
                try:
                    each.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue


@contextmanager
def relay(port: int) -> Iterator[Relay]:
    """Relay connections to a port of this machine."""
    made = Relay(port)
    thread = threading.Thread(target=made.run)
    thread.start()
    try:
        yield made
    finally:
        made.close()
        thread.join()
