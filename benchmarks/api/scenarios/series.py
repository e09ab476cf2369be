"""A series of a million points: the first look after a start of the API, later ones, and a run in progress.

The system may have the database's file in its cache; the API has nothing of the run in memory.
"""

from __future__ import annotations

import json
import time
from statistics import median

from benchmarks.api import bodies
from benchmarks.api.attempts import Attempt, claimed
from benchmarks.api.client import timed
from benchmarks.api.figures import Bench, Figure, Measured
from benchmarks.api.peer import Peer
from benchmarks.api.server import Server
from benchmarks.api.writing import post

TITLE = "Long series"
RANKS, POINTS, LOOKS = 2, 1000, 9
GOAL_MS = 50.0
SETTLE_SECONDS = 12.0
"""From the end of the run to the first look."""
ONE = ("train_loss",)
ALL = ("train_loss", "communication_fraction", "throughput", "staleness", "validation_accuracy", "validation_loss")


def measure(bench: Bench) -> Measured:
    """Yield ms of requests for one series, and for all metrics of the run."""
    count = bench.size(1_000_000, 20_000)
    with bench.server() as server:
        long, short = claimed(server, 2, RANKS)
        *requests, last = bodies.whole(long, count, 100)
        post(server, [(long, requests), (short, bodies.whole(short, 2000, 10))])
        name = f"1 series of {count:,} points"
        live = _first_looks(bench, server, long, short, ONE)
        yield Figure(f"{name}, run in progress, first look", "ms", live)
        post(server, [(long, [last])])
        time.sleep(SETTLE_SECONDS)
        yield Figure(f"{name}, first look", "ms", _first_looks(bench, server, long, short, ONE), GOAL_MS)
        yield Figure(f"{name}, later looks", "ms", _looks(bench, server, long, ONE), GOAL_MS)
        every = _first_looks(bench, server, long, short, ALL)
        yield Figure(f"{len(ALL)} metrics of {count:,} points, first look", "ms", every)
        yield Figure("API memory after these looks", "MB", (server.resident(),))
        bands = tuple(1e3 * _bands(server, long) for _ in range(bench.rounds))
        yield Figure(f"band over the experiment of {count:,} points, first look", "ms", bands)
    if bench.mlflow is not None:
        with Peer(bench.mlflow) as peer:
            points = bench.size(100_000, 5_000)
            yield Figure(f"MLflow: 1 series of {points:,} points, sampled", "ms", peer.series(points, LOOKS))


def query(attempt: Attempt, metrics: tuple[str, ...]) -> bytes:
    """Return the body of a query of one run."""
    return json.dumps({"runs": [attempt.run], "metrics": metrics, "axis": "clock", "points": POINTS}).encode()


def _first_looks(
    bench: Bench, server: Server, long: Attempt, short: Attempt, metrics: tuple[str, ...]
) -> tuple[float, ...]:
    """Return ms of the first look after each of some starts; another run has been looked at before."""
    found = []
    for _ in range(bench.rounds):
        server.restart()
        with server.client() as client:
            for _ in range(3):
                timed(client, "POST", "/series", query(short, metrics))
            found.append(1e3 * timed(client, "POST", "/series", query(long, metrics)))
    return tuple(found)


def _looks(bench: Bench, server: Server, long: Attempt, metrics: tuple[str, ...]) -> tuple[float, ...]:
    with server.client() as client:
        took = [
            [timed(client, "POST", "/series", query(long, metrics)) for _ in range(LOOKS)]
            for _ in range(bench.rounds)
        ]
    return tuple(1e3 * median(each) for each in took)


def _bands(server: Server, long: Attempt) -> float:
    server.restart()
    with server.client() as client:
        return timed(client, "GET", f"/experiments/{long.experiment}/bands?metric=train_loss")
