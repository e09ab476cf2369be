"""Exact counts: 32 supervisors post 1,000 requests each as fast as they can, and some of them twice.

Every step of every rank must be stored exactly once, and every evaluation; counted in the rows of the database.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hooke_api.models import Chunk, StoredEvaluation
from hooke_api.storage import blocks
from sqlalchemy import func, select

from benchmarks.api import bodies
from benchmarks.api.attempts import Attempt, claimed
from benchmarks.api.figures import Bench, Figure, Measured, p95
from benchmarks.api.server import Server
from benchmarks.api.writing import post

TITLE = "Exact counts"
WRITERS, REQUESTS, STEPS = 32, 1000, 10
EVALUATED, REPEATED = 10, 50
"""An evaluation in every so many requests; every so many are sent twice."""


def measure(bench: Bench) -> Measured:
    """Yield requests/s, and the numbers of points that are missing or stored twice: 0."""
    writers, requests = bench.size(WRITERS, 2), bench.size(REQUESTS, 20)
    with bench.server() as server:
        attempts = claimed(server, writers, 1)
        posted = post(server, [(attempt, _requests(attempt, requests)) for attempt in attempts])
        lost, doubled = counted(server, attempts, requests * STEPS, requests // EVALUATED)
        shown = _shown(server, attempts, requests)
        memory = server.resident()
    what = f"{writers} writers x {requests:,} requests"
    yield Figure(f"{what}: points missing", "points", (lost,), 0)
    yield Figure("the same: points stored twice", "points", (doubled,), 0)
    yield Figure("the same: runs whose curve has another number of points", "runs", (shown,), 0)
    yield Figure("the same: requests", "requests/s", (len(posted.took) / posted.seconds,), higher=True)
    yield Figure("the same: of a request", "ms, p95", (p95(posted.took),))
    yield Figure("the same: sent again, as the server asked to wait", "requests", (posted.again,))
    yield Figure("the same: API memory after it", "MB", (memory,))


def _requests(attempt: Attempt, requests: int) -> list[bytes]:
    found = [bodies.first(attempt)]
    seq = 1
    for number in range(requests):
        records: list[Any] = [bodies.steps(seq, number * STEPS + 1, STEPS, 1, 0)]
        if number % EVALUATED == EVALUATED - 1:
            records.append(bodies.evaluation(seq + 1, (number + 1) * STEPS, 1))
        seq += len(records)
        made = bodies.body(attempt, {0: records})
        found += [made] * (2 if number % REPEATED == REPEATED - 1 else 1)
    return found


def counted(server: Server, attempts: Sequence[Attempt], steps: int, evaluations: int) -> tuple[int, int]:
    """Return how many points of these attempts of one rank are missing, and how many are stored twice or more.

    A run has the steps 1 to `steps`, and `evaluations` evaluations.
    """
    lost = doubled = 0
    database = server.database()
    try:
        with database.read() as session:
            for attempt in attempts:
                rows = session.execute(
                    select(Chunk.n, Chunk.header, Chunk.data)
                    .where(Chunk.run_id == attempt.run)
                    .order_by(Chunk.seq)
                )
                found = [blocks.read(n, header, data, ("step",))["step"] for n, header, data in rows]
                times = np.bincount(np.concatenate([np.empty(0, np.int64), *found]), minlength=steps + 1)
                lost += int((times[1 : steps + 1] == 0).sum())
                doubled += int(times.sum() - (times > 0).sum()) + int(times[0]) + int(times[steps + 1 :].sum())
                of = StoredEvaluation
                scored = session.execute(
                    select(of.step, func.count()).where(of.run_id == attempt.run).group_by(of.step)
                )
                count = dict(scored.all())
                lost += max(0, evaluations - len(count))
                doubled += sum(count.values()) - len(count)
    finally:
        database.close()
    return lost, doubled


def _shown(server: Server, attempts: Sequence[Attempt], requests: int) -> int:
    """Return the number of runs whose curves, over HTTP, do not have the points that were sent."""
    wrong = 0
    with server.client() as client:
        for attempt in attempts:
            query = {"runs": [attempt.run], "metrics": ["train_loss", "validation_loss"], "points": 16}
            points = [series["of"] for series in client.post("/series", query)["series"]]
            wrong += points != [requests * STEPS, requests // EVALUATED]
    return wrong
