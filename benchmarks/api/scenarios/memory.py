"""The API's memory over minutes of full ingest, while somebody looks at the runs, and how long each look takes.

Writers post as fast as they can; their requests are made meanwhile, because all of them together would not fit.
One client looks at the curves of each run in turn, so that everything that is kept of them is kept, and now and
then at the phases of all. Runs soon have some hundred thousand steps, and none of them ends.
"""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from hooke.spec.journal import BLOCK_STEPS

from benchmarks.api import bodies
from benchmarks.api.attempts import Attempt, claimed
from benchmarks.api.client import timed
from benchmarks.api.figures import Bench, Figure, Measured, p95
from benchmarks.api.server import Server
from benchmarks.api.writing import post

TITLE = "Memory"
WRITERS, RANKS = 8, 4
SECONDS = 300.0
LOOKS = 10
"""Figures of the curve of memory over time."""
PAUSE = 0.25
PHASES_EVERY = 24
"""Looks at curves between two at phases: 6 s and what they take, as the page of an experiment does it."""
GOAL_MB = 200.0


@dataclass
class _Seen:
    """What was seen meanwhile."""

    memory: list[tuple[float, float]] = field(default_factory=list)
    """Seconds since the beginning, MB."""
    took: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    """What was looked at -> seconds since the beginning, seconds of the request."""
    failed: list[Exception] = field(default_factory=list)


def measure(bench: Bench) -> Measured:
    """Yield the memory at ten times, its largest, its growth in the second half, and what looks took."""
    seconds = max(5.0, SECONDS * bench.scale)
    with bench.server() as server:
        idle = server.resident()
        attempts = claimed(server, bench.size(WRITERS, 2), RANKS)
        until = time.monotonic() + seconds
        seen = _Seen()
        watching = threading.Thread(target=_watch, args=(server, attempts, until, seen))
        watching.start()
        posted = post(server, [(attempt, _requests(attempt, until)) for attempt in attempts])
        watching.join()
    if seen.failed:
        raise seen.failed[0]
    memory = seen.memory
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
    for name, took in seen.took.items():
        late = [each for at, each in took if at >= seconds / 2]
        if len(late) > 1:
            yield Figure(f"{name}, in the second half", "ms", (1e3 * median(late),))
            yield Figure(f"{name}, in the second half", "ms, p95", (p95(late),))
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


def _watch(server: Server, attempts: list[Attempt], until: float, seen: _Seen) -> None:
    """Note memory, and look at the curves of a run each time."""
    began, number = time.monotonic(), 0
    try:
        with server.client() as client:
            while time.monotonic() < until:
                seen.memory.append((time.monotonic() - began, server.resident()))
                attempt = attempts[number % len(attempts)]
                query = {"runs": [attempt.run], "metrics": ["train_loss"], "points": 400}
                looks = {
                    "a series of a run": ("POST", "/series", json.dumps(query).encode()),
                    "bands of the runs": (
                        "GET",
                        f"/experiments/{attempt.experiment}/bands?metric=train_loss",
                        None,
                    ),
                }
                if number % PHASES_EVERY == PHASES_EVERY - 1:
                    looks["phases of the runs"] = ("GET", f"/experiments/{attempt.experiment}/phases", None)
                for name, look in looks.items():
                    seen.took[name].append((time.monotonic() - began, timed(client, *look)))
                number += 1
                time.sleep(PAUSE)
    except Exception as error:  # any: told by the caller
        seen.failed.append(error)
