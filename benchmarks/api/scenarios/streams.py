"""300 event streams while 100 runs report: ordinary requests, memory, and what arrives.

Supervisors and browsers are processes of their own. Most streams are of one experiment, as pages of experiments
and runs open them; some are of everything, as the list does.
"""

from __future__ import annotations

import json
import multiprocessing
import time
from collections.abc import Sequence
from statistics import median
from typing import Any

from benchmarks.api.attempts import Attempt, claimed
from benchmarks.api.client import timed
from benchmarks.api.figures import Bench, Figure, Measured, p95
from benchmarks.api.server import Server
from benchmarks.api.streaming import listen, report

TITLE = "Streams"
RUNS, STREAMS, EVERYTHING, RANKS = 100, 300, 30, 2
SECONDS = 60.0
WARM_SECONDS = 10.0
PAUSE = 0.05
GOAL_MS, GOAL_MB = 100.0, 200.0


def measure(bench: Bench) -> Measured:
    """Yield the 95th percentile of ordinary requests, memory, and the numbers of requests and events."""
    runs, streams = bench.size(RUNS, 2), bench.size(STREAMS, 4)
    seconds = max(5.0, SECONDS * bench.scale)
    with bench.server() as server:
        idle = server.resident()
        attempts = claimed(server, runs, RANKS)
        experiments = sorted({attempt.experiment for attempt in attempts})
        context = multiprocessing.get_context("spawn")
        told = context.Queue()
        until = time.time() + WARM_SECONDS + seconds + 2
        paths = [f"/api/v1/events?experiment={experiments[i % len(experiments)]}" for i in range(streams)]
        paths[: max(1, streams * EVERYTHING // STREAMS)] = ["/api/v1/events"] * max(
            1, streams * EVERYTHING // STREAMS
        )
        work: list[tuple[Any, tuple[Any, ...]]] = [(report, (server.url, attempts, until, told))]
        work += [(listen, (server.url, server.token, paths, until, told))]
        processes = [context.Process(target=target, args=args, daemon=True) for target, args in work]
        for process in processes:
            process.start()
        time.sleep(WARM_SECONDS)
        took, memory = _ask(server, attempts, seconds)
        found = dict(told.get(timeout=120) for _ in processes)
        for process in processes:
            process.join(30)
        stored = _stored(server, attempts)
    sent, heard = found["report"], found["listen"]
    what = f"{runs} runs, {streams} streams, {seconds:.0f} s"
    every = [seconds for each in took.values() for seconds in each]
    yield Figure(f"{what}: ordinary requests", "ms, p95", (p95(every),), GOAL_MS)
    yield Figure("the same, median", "ms", (1e3 * median(every),))
    for name, each in took.items():
        yield Figure(f"the same, {name}", "ms, p95", (p95(each),), GOAL_MS)
    yield Figure("API memory, largest", "MB", (max(memory),), GOAL_MB)
    yield Figure("API memory before", "MB", (idle,))
    half = memory[len(memory) // 2 :]
    yield Figure("API memory, growth in the second half", "MB/min", (60 * (half[-1] - half[0]) / (seconds / 2),))
    yield Figure("requests of supervisors", "requests/s", (sent["requests"] / sent["seconds"],), higher=True)
    yield Figure("requests of supervisors", "ms, p95", (sent["p95"],))
    yield Figure("steps acknowledged and not in curves", "steps", (abs(sent["steps"] - stored),), 0)
    yield Figure("events received", "events/s", (heard["events"] / heard["seconds"],), higher=True)
    yield Figure("streams that broke", "streams", (heard["broken"],), 0)


def _ask(
    server: Server, attempts: Sequence[Attempt], seconds: float
) -> tuple[dict[str, list[float]], list[float]]:
    """Send what pages ask for, in turn; return the seconds of each kind, and memory in MB once a second."""
    asked: dict[str, list[float]] = {}
    memory = [server.resident()]
    began = time.monotonic()
    with server.client() as client:
        number = 0
        while (passed := time.monotonic() - began) < seconds:
            attempt = attempts[number % len(attempts)]
            query = {"runs": [attempt.run], "metrics": ["train_loss", "validation_accuracy"], "points": 400}
            requests = {
                "list of runs": ("GET", "/runs?limit=50", None),
                "list of experiments": ("GET", "/experiments?limit=50", None),
                "a run": ("GET", f"/runs/{attempt.run}", None),
                "series of a run": ("POST", "/series", json.dumps(query).encode()),
                "bands of an experiment": (
                    "GET",
                    f"/experiments/{attempt.experiment}/bands?metric=train_loss",
                    None,
                ),
            }
            for name, request in requests.items():
                asked.setdefault(name, []).append(timed(client, *request))
                time.sleep(PAUSE)
            number += 1
            if passed >= len(memory):
                memory.append(server.resident())
    return asked, memory


def _stored(server: Server, attempts: Sequence[Attempt]) -> int:
    """Return the number of steps in the curves of all runs."""
    with server.client() as client:
        query = {"runs": [attempt.run for attempt in attempts], "metrics": ["train_loss"], "points": 16}
        return sum(series["of"] for series in client.post("/series", query)["series"])
