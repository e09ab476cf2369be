"""The API's memory over minutes of full ingest, while somebody looks at the runs.

Writers post as fast as they can; their requests are made meanwhile, because all of them together would not fit.
One client looks at the curves of each run in turn, so that everything that is kept of them is kept.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from statistics import median
from typing import Any

from hooke.spec.journal import BLOCK_STEPS

from benchmarks.api import bodies
from benchmarks.api.attempts import Attempt, claimed
from benchmarks.api.figures import Bench, Figure, Measured
from benchmarks.api.server import Server
from benchmarks.api.writing import post

TITLE = "Memory"
WRITERS, RANKS = 8, 4
SECONDS = 300.0
LOOKS = 10
"""Figures of the curve of memory over time."""
PAUSE = 0.25
GOAL_MB = 200.0


def measure(bench: Bench) -> Measured:
    """Yield the memory at ten times, its largest, and its growth in the second half."""
    seconds = max(5.0, SECONDS * bench.scale)
    with bench.server() as server:
        idle = server.resident()
        attempts = claimed(server, bench.size(WRITERS, 2), RANKS)
        until = time.monotonic() + seconds
        memory: list[tuple[float, float]] = []
        watching = threading.Thread(target=_watch, args=(server, attempts, until, memory))
        watching.start()
        posted = post(server, [(attempt, _requests(attempt, until)) for attempt in attempts])
        watching.join()
    what = f"{len(attempts)} writers at full speed, {RANKS} ranks each, {seconds:.0f} s"
    yield Figure(f"{what}: largest", "MB", (max(size for _, size in memory),), GOAL_MB)
    yield Figure("the same, before", "MB", (idle,))
    for part in range(LOOKS):
        first, last = (seconds * (part + i) / LOOKS for i in (0, 1))
        sizes = [size for at, size in memory if first <= at < last]
        yield Figure(f"the same, median of second {first:.0f} to {last:.0f}", "MB", (median(sizes),))
    half = [(at, size) for at, size in memory if at >= seconds / 2]
    grown = 60 * (half[-1][1] - half[0][1]) / (half[-1][0] - half[0][0])
    yield Figure("the same, growth in the second half", "MB/min", (grown,))
    steps = len(posted.took) * RANKS * BLOCK_STEPS
    yield Figure("points stored meanwhile", "points/s", (steps * bodies.VALUES / posted.seconds,), higher=True)


def _requests(attempt: Attempt, until: float) -> Iterator[bytes]:
    yield bodies.first(attempt)
    number = 0
    while time.monotonic() < until:
        records: dict[int, list[Any]] = {
            rank: [bodies.steps(1 + number, number * BLOCK_STEPS + 1, BLOCK_STEPS, RANKS, rank)]
            for rank in range(RANKS)
        }
        yield bodies.body(attempt, records)
        number += 1


def _watch(server: Server, attempts: list[Attempt], until: float, memory: list[tuple[float, float]]) -> None:
    """Note memory in MB by seconds since the beginning, and look at the curves of a run each time."""
    began, number = time.monotonic(), 0
    with server.client() as client:
        while time.monotonic() < until:
            memory.append((time.monotonic() - began, server.resident()))
            attempt = attempts[number % len(attempts)]
            query = {"runs": [attempt.run], "metrics": ["train_loss"], "points": 400}
            client.raw("POST", "/series", json.dumps(query).encode())
            client.raw("GET", f"/experiments/{attempt.experiment}/bands?metric=train_loss")
            number += 1
            time.sleep(PAUSE)
