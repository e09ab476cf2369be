"""Ingest through HTTP: points per second of steps and of evaluations, by writers that post as fast as they can.

A point is a value of one metric at one step, as MLflow counts them: coordinates (step, samples, clocks) are not
counted. Requests are prepared beforehand.
"""

from __future__ import annotations

from typing import Any

from hooke.spec.journal import BLOCK_STEPS

from benchmarks.api import bodies
from benchmarks.api.attempts import Attempt, claimed
from benchmarks.api.figures import Bench, Figure, Measured, p95
from benchmarks.api.peer import Peer
from benchmarks.api.writing import Posted, post

TITLE = "Ingest"
WRITERS, RANKS = 4, 4
GOAL = 100_000
PER_REQUEST = 250
"""Evaluations of a request."""
VALUES = 2 + len(bodies.FURTHER)


def measure(bench: Bench) -> Measured:
    """Yield points/s of Hooke, and of MLflow if it is measured."""
    requests = bench.size(24)
    stepped: list[Posted] = []
    scored: list[Posted] = []
    with bench.server() as server:
        attempts = claimed(server, WRITERS, RANKS)
        post(server, [(attempt, [bodies.first(attempt, bodies.FURTHER)]) for attempt in attempts])
        seq = 1
        for turn in range(bench.rounds):
            begin = turn * requests
            stepped.append(post(server, [(a, _steps(a, seq, begin, requests)) for a in attempts]))
            seq += requests
            scored.append(post(server, [(a, _evaluations(a, seq, begin, requests)) for a in attempts]))
            seq += requests * PER_REQUEST
    count = WRITERS * requests * RANKS * BLOCK_STEPS
    name = f"{WRITERS} writers, {RANKS} ranks, {BLOCK_STEPS} steps a rank and request"
    yield Figure(name, "points/s", _rates(stepped, count * bodies.VALUES), GOAL, higher=True)
    yield Figure(name, "steps/s", _rates(stepped, count), higher=True)
    yield Figure(name, "ms, p95 of a request", tuple(p95(each.took) for each in stepped))
    count = WRITERS * requests * PER_REQUEST * VALUES
    name = f"{WRITERS} writers, {PER_REQUEST} evaluations of {VALUES} metrics a request"
    yield Figure(name, "points/s", _rates(scored, count), GOAL, higher=True)
    if bench.mlflow is not None:
        with Peer(bench.mlflow) as peer:
            peer.log(WRITERS, 2)  # its first requests create what is needed
            values = tuple(peer.log(WRITERS, requests) for _ in range(bench.rounds))
            yield Figure(
                f"MLflow: {WRITERS} writers, {peer.BATCH} metrics a log-batch", "points/s", values, higher=True
            )


def _rates(posted: list[Posted], count: int) -> tuple[float, ...]:
    return tuple(count / each.seconds for each in posted)


def _steps(attempt: Attempt, seq: int, begin: int, requests: int) -> list[bytes]:
    found = []
    for i in range(requests):
        at = (begin + i) * BLOCK_STEPS + 1
        records: dict[int, list[Any]] = {
            rank: [bodies.steps(_seq(seq + i, begin, rank), at, BLOCK_STEPS, RANKS, rank)] for rank in range(RANKS)
        }
        found.append(bodies.body(attempt, records))
    return found


def _seq(seq: int, begin: int, rank: int) -> int:
    """Return the number of a block: rank 0 has evaluations between those of two rounds, the others have none."""
    return seq if rank == 0 else seq - begin * PER_REQUEST


def _evaluations(attempt: Attempt, seq: int, begin: int, requests: int) -> list[bytes]:
    found = []
    for i in range(requests):
        numbers = range(i * PER_REQUEST, (i + 1) * PER_REQUEST)
        at = begin * PER_REQUEST
        records: list[Any] = [bodies.evaluation(seq + n, at + n + 1, RANKS, bodies.FURTHER) for n in numbers]
        found.append(bodies.body(attempt, {0: records}))
    return found
