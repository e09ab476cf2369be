"""Many runs in one query: 100 runs of 10,000 steps, with 20 metrics, of steps and of evaluations."""

from __future__ import annotations

import json
import time
from statistics import median

from benchmarks.api import bodies
from benchmarks.api.attempts import claimed
from benchmarks.api.client import timed
from benchmarks.api.figures import Bench, Figure, Measured
from benchmarks.api.server import Server
from benchmarks.api.writing import post

TITLE = "Many runs"
RANKS, STEPS, EVALUATIONS, POINTS = 2, 10_000, 100, 500
OF_STEPS = ("train_loss", "communication_fraction", "throughput")
OF_EVALUATIONS = ("validation_accuracy", "validation_loss", *bodies.FURTHER[:15])
METRICS = (*OF_STEPS, *OF_EVALUATIONS)
AT_ONCE = 4
GOAL_MS = 2000.0
SETTLE_SECONDS = 12.0


def measure(bench: Bench) -> Measured:
    """Yield ms of the first look after a start of the API, and of later ones."""
    count = bench.size(100, 2)
    with bench.server() as server:
        runs = fill(server, count, STEPS, EVALUATIONS)
        name = f"{count} runs x {STEPS:,} steps, {EVALUATIONS} evaluations, {len(METRICS)} metrics"
        yield from looks(bench, server, name, runs, METRICS)


def fill(server: Server, count: int, steps: int, evaluations: int) -> list[str]:
    """Store ended runs through HTTP; return their ids."""
    runs = []
    for begin in range(0, count, AT_ONCE):
        attempts = claimed(server, min(AT_ONCE, count - begin), RANKS)
        post(server, [(each, bodies.whole(each, steps, evaluations, bodies.FURTHER)) for each in attempts])
        runs += [attempt.run for attempt in attempts]
    time.sleep(SETTLE_SECONDS)
    return runs


def looks(bench: Bench, server: Server, name: str, runs: list[str], metrics: tuple[str, ...]) -> Measured:
    """Yield ms of one query of all runs: first looks and later ones, and the size of the answer."""
    body = json.dumps({"runs": runs, "metrics": metrics, "axis": "clock", "points": POINTS}).encode()
    colds, later = [], []
    for _ in range(bench.rounds):
        server.restart()
        with server.client() as client:
            client.get("/runs", limit=1)
            colds.append(1e3 * timed(client, "POST", "/series", body))
            later.append(1e3 * median(timed(client, "POST", "/series", body) for _ in range(3)))
    yield Figure(f"{name}, first look", "ms", tuple(colds), GOAL_MS)
    yield Figure(f"{name}, later looks", "ms", tuple(later), GOAL_MS)
    yield Figure(f"{name}, API memory after it", "MB", (server.resident(),))
