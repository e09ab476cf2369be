"""Two processes beside the measurement: supervisors that report once a second, and browsers with open streams."""

from __future__ import annotations

import gzip
import selectors
import socket
import threading
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from hooke.spec.events import Ingest, RankRecords

from benchmarks.api import bodies
from benchmarks.api.attempts import Attempt
from benchmarks.api.client import Client
from benchmarks.api.figures import p95

BEAT = 1.0
STEPS = 50
"""Of each rank in a second."""
SENDERS = 10
"""Threads of the supervisors."""


def report(url: str, attempts: Sequence[Attempt], until: float, told: Any) -> None:
    """Report for every attempt once a second; put ("report", numbers) into a queue at the end."""
    took: list[list[float]] = [[] for _ in range(SENDERS)]
    steps = [0] * SENDERS
    began, used = time.time(), time.process_time()

    def send(place: int) -> None:
        mine = attempts[place::SENDERS]
        clients = [Client(url, attempt.token) for attempt in mine]
        beat = 0
        while time.time() < until and mine:
            due = began + beat * BEAT
            for i, (attempt, client) in enumerate(zip(mine, clients, strict=True)):
                time.sleep(max(0.0, due + BEAT * (i + place / SENDERS) / len(mine) - time.time()))
                body = _request(attempt, beat)
                at = time.perf_counter()
                client.ingest(body)
                took[place].append(time.perf_counter() - at)
                steps[place] += STEPS if beat else 0
            beat += 1

    threads = [threading.Thread(target=send, args=(place,)) for place in range(SENDERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    every = [seconds for each in took for seconds in each]
    numbers = {"requests": len(every), "seconds": time.time() - began, "p95": p95(every), "steps": sum(steps)}
    numbers["processor"] = time.process_time() - used
    told.put(("report", numbers))


def _request(attempt: Attempt, beat: int) -> bytes:
    """Return the request of a second: steps of every rank, and an evaluation by rank 0. The first one: starts."""
    if not beat:
        return bodies.first(attempt)
    own = Ingest(run=attempt.run, attempt=attempt.number, reports=bodies.reports()).model_dump_json(
        exclude={"ranks"}
    )
    return gzip.compress(own[:-1].encode() + _records(beat, attempt.ranks), compresslevel=1)


@lru_cache(maxsize=8)
def _records(beat: int, ranks: int) -> bytes:
    """Return the end of the requests of a second, which is the same for all attempts: their records."""
    begin = (beat - 1) * STEPS + 1
    seq = {rank: 1 + (beat - 1) * (1 if rank else 2) for rank in range(ranks)}
    records: dict[int, list[Any]] = {
        rank: [bodies.steps(seq[rank], begin, STEPS, ranks, rank)] for rank in range(ranks)
    }
    records[0].append(bodies.evaluation(seq[0] + 1, begin + STEPS - 1, ranks))
    parts = [RankRecords(rank=rank, records=found).model_dump_json() for rank, found in records.items()]
    return f',"ranks":[{",".join(parts)}]}}'.encode()


def listen(url: str, token: str, paths: Sequence[str], until: float, told: Any) -> None:
    """Keep streams open; put ("listen", numbers) into a queue at the end."""
    began, used = time.time(), time.process_time()
    streams = [Stream(url, token, path) for path in paths]
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream.socket, selectors.EVENT_READ, stream)
        while (rest := until - time.time()) > 0:
            for key, _ in selector.select(rest):
                if not key.data.read():
                    selector.unregister(key.fileobj)
    numbers = {"events": sum(stream.events for stream in streams), "broken": sum(map(Stream.broken, streams))}
    told.put(("listen", numbers | {"seconds": time.time() - began, "processor": time.process_time() - used}))


class Stream:
    """One stream of events, which are counted as they arrive."""

    def __init__(self, url: str, token: str, path: str) -> None:
        place = urlsplit(url)
        self.socket = socket.create_connection((place.hostname, place.port))
        head = f"GET {path} HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer {token}\r\n"
        self.socket.sendall(f"{head}Accept: text/event-stream\r\n\r\n".encode())
        self.events = 0
        self._head, self._ended = b"", False
        self._last = b""
        """The end of what was read: a line may be cut."""

    def read(self) -> bool:
        """Count what has arrived; return whether more may follow."""
        try:
            found = self.socket.recv(1 << 16)
        except ConnectionError:
            found = b""
        if len(self._head) < len(_OK):
            self._head += found[: len(_OK)]
        # an event begins a line: of the body as it is sent, or of the chunk that it is sent in
        self.events += (self._last + found).count(_EVENT)
        self._last = (self._last + found)[1 - len(_EVENT) :]
        self._ended = not found
        return bool(found)

    def broken(self) -> bool:
        """Return whether it ended by itself or was refused; close it."""
        self.socket.close()
        return self._ended or self._head[: len(_OK)] != _OK


_OK, _EVENT = b"HTTP/1.1 200 ", b"\nevent:"
