"""Two processes beside the measurement: supervisors that report once a second, and browsers with open streams."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

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
    began = time.time()

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
    told.put(("report", numbers))


def _request(attempt: Attempt, beat: int) -> bytes:
    """Return the request of a second: steps of every rank, and an evaluation by rank 0. The first one: starts."""
    if not beat:
        return bodies.first(attempt)
    begin = (beat - 1) * STEPS + 1
    seq = {rank: 1 + (beat - 1) * (1 if rank else 2) for rank in range(attempt.ranks)}
    records: dict[int, list[Any]] = {
        rank: [bodies.steps(seq[rank], begin, STEPS, attempt.ranks, rank)] for rank in range(attempt.ranks)
    }
    records[0].append(bodies.evaluation(seq[0] + 1, begin + STEPS - 1, attempt.ranks))
    return bodies.body(attempt, records)


def listen(url: str, token: str, paths: Sequence[str], until: float, told: Any) -> None:
    """Keep streams open; put ("listen", numbers) into a queue at the end."""
    began = time.time()
    events, broken = asyncio.run(_listen(url, token, paths, until))
    told.put(("listen", {"events": events, "broken": broken, "seconds": time.time() - began}))


async def _listen(url: str, token: str, paths: Sequence[str], until: float) -> tuple[int, int]:
    found = await asyncio.gather(*(_stream(url, token, path, until) for path in paths))
    return sum(events for events, _ in found), sum(broken for _, broken in found)


async def _stream(url: str, token: str, path: str, until: float) -> tuple[int, bool]:
    """Return the number of events of one stream, and whether it ended by itself or was refused."""
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    head = f"GET {path} HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer {token}\r\n"
    writer.write(f"{head}Accept: text/event-stream\r\n\r\n".encode())
    events, broken = 0, False
    try:
        async with asyncio.timeout(max(0.1, until - time.time())):
            broken = b" 200 " not in await reader.readline()
            while line := await reader.readline():
                events += line.startswith(b"event:")
            broken = True
    except TimeoutError:
        pass
    finally:
        writer.close()
    return events, broken
