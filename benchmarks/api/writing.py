"""Supervisors that post at the same time, each on a connection of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from benchmarks.api.attempts import Attempt
from benchmarks.api.server import Server


@dataclass
class Posted:
    """What came of the requests of several writers."""

    seconds: float = 0.0
    """From the first request to the last answer."""
    took: list[float] = field(default_factory=list)
    """Of each request, s."""
    again: int = 0
    """Requests sent again because the server asked to wait."""
    errors: list[Exception] = field(default_factory=list)


def post(server: Server, work: Sequence[tuple[Attempt, Iterable[bytes]]]) -> Posted:
    """Post the requests of each attempt in order, those of several at the same time. Raises its first error."""
    posted, ready = Posted(), threading.Barrier(len(work) + 1)

    def write(attempt: Attempt, requests: Iterable[bytes]) -> None:
        took, again = [], 0
        try:
            with server.client(attempt.token) as client:
                ready.wait()
                for body in requests:
                    began = time.perf_counter()
                    again += client.ingest(body)
                    took.append(time.perf_counter() - began)
        except Exception as error:  # any error: told by the caller
            posted.errors.append(error)
        posted.took += took
        posted.again += again

    threads = [threading.Thread(target=write, args=each) for each in work]
    for thread in threads:
        thread.start()
    ready.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    posted.seconds = time.perf_counter() - began
    if posted.errors:
        raise posted.errors[0]
    return posted
