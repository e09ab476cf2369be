"""An experiment of many long runs, through the product's own ingest, of which the last one still runs.

Runs of a variant differ in speed and in all values, as seeds do: their curves have no x in common, and end apart.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hooke.spec.events import Evaluation
from hooke_api.metrics import stored_brackets
from hooke_api.models import AgentOrder
from sqlalchemy import select

from benchmarks.api import bodies
from benchmarks.api.attempts import Attempt, hello
from benchmarks.api.client import Client
from benchmarks.api.server import Server
from benchmarks.api.writing import post

VARIANTS = ("sync-sgd", "sync-easgd", "local-sgd", "slowmo")
CLUSTER, RANKS = "bench", 2
AT_ONCE = 4
PATIENT = {f"HOOKE_{name}_SECONDS": "1000000" for name in ("AGENT", "LEASE", "RESEND", "PROBE", "START")} | {
    "HOOKE_INGEST_PER_MINUTE": "1000000",
    "HOOKE_REQUESTS_PER_MINUTE": "1000000",
}
"""Settings of an API whose agent says nothing for as long as it takes."""
SETTLE_SECONDS = 240.0
WAIT_SECONDS = 120.0
NOTE = "seeded.json"


@dataclass
class Seeded:
    """What was stored: the experiment, and how far its last run has come."""

    experiment: str
    runs: int
    points: int
    evaluations: int
    live: dict[str, Any]
    """Its attempt."""
    step: int
    seqs: list[int]
    """The next number of a record of each of its ranks."""

    @property
    def attempt(self) -> Attempt:
        """Return the attempt of the run that still runs."""
        return Attempt(**self.live)

    def write(self, home: Path) -> None:
        """Keep it beside the data."""
        (home / NOTE).write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, home: Path) -> Seeded:
        """Return what an earlier measurement has left."""
        return cls(**json.loads((home / NOTE).read_text()))


def known(home: Path, runs: int, points: int, evaluations: int) -> Seeded | None:
    """Return what an earlier measurement has left of the same sizes, if anything."""
    if not (home / NOTE).exists():
        return None
    found = Seeded.read(home)
    return found if (found.runs, found.points, found.evaluations) == (runs, points, evaluations) else None


def seed(server: Server, runs: int, points: int, evaluations: int) -> Seeded:
    """Store the experiment. `runs`: a multiple of the variants. All but the last one have ended."""
    every = points // evaluations
    with server.client() as user, server.client(server.agents) as agent:
        identity = f"agt_{uuid.uuid4().hex}"
        agent.post("/agents/hello", hello(CLUSTER, RANKS, identity))
        made = user.post("/experiments", document(runs // len(VARIANTS)))["id"]
        attempts = []
        done: set[str] = set()
        while len(attempts) < runs:
            launched = claimed(server, agent, identity, made, done)
            attempts += launched
            ended = launched if len(attempts) < runs else launched[:-1]
            for begin in range(0, len(ended), AT_ONCE):
                few = ended[begin : begin + AT_ONCE]
                post(
                    server,
                    [
                        (each, whole(each, points, every, len(attempts) * 1000 + begin + i))
                        for i, each in enumerate(few)
                    ],
                )
                print(f"  {begin + len(few)} of {len(ended)} runs of this launch are stored", flush=True)
    live = Seeded(made, runs, points, evaluations, asdict(attempts[-1]), 0, [1] * RANKS)
    with server.client(live.attempt.token) as supervisor:
        supervisor.ingest(bodies.first(live.attempt, bodies.FURTHER))
        while live.step < 0.9 * points:
            grow(live, supervisor, min(bodies.REQUEST_STEPS, round(0.9 * points) - live.step))
    settle(server, made)
    live.write(server.home)
    return live


def settle(server: Server, experiment: str) -> None:
    """Wait until what a look at ended runs reads is stored of all of them. Raises TimeoutError."""
    database = server.database()
    try:
        until = time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < until:
            with database.read() as session:
                if not stored_brackets.behind(session, [experiment]):
                    return
            time.sleep(1)
        raise TimeoutError(f"series of ended runs were not stored within {SETTLE_SECONDS:g} s")
    finally:
        database.close()


def document(seeds: int, variants: Sequence[str] = VARIANTS) -> dict[str, Any]:
    """Return the experiment of some methods."""
    return {
        "name": "Many long runs",
        "workload": {"name": "digits-mlp"},
        "variants": [{"name": name, "algorithm": name} for name in variants],
        "baseline": variants[0],
        "clusters": [{"name": CLUSTER, "workers": [RANKS], "seeds": seeds}],
        "budget": {"samples": 10**7},
        "evaluation": {"every": 1000},
    }


def claimed(server: Server, agent: Client, identity: str, experiment: str, done: set[str]) -> list[Attempt]:
    """Return the attempts of the next launch."""
    database = server.database()
    try:
        until = time.monotonic() + WAIT_SECONDS
        query = select(AgentOrder.id).where(AgentOrder.kind == "launch", AgentOrder.id.not_in(done))
        while time.monotonic() < until:
            with database.read() as session:
                found = session.scalars(query).first()
            if found is not None:
                break
            time.sleep(0.1)
        else:
            raise TimeoutError(f"nothing was dispatched in {WAIT_SECONDS:g} s")
    finally:
        database.close()
    done.add(found)
    work = agent.post("/agents/claim", {"order": found, "agent": identity})["work"]
    return [Attempt(each["run"], each["attempt"], each["token"], RANKS, experiment) for each in work["attempts"]]


def whole(attempt: Attempt, points: int, every: int, seed: int) -> Iterator[bytes]:
    """Yield the requests of a run from its beginning to its end. `every`: steps of an evaluation."""
    yield bodies.first(attempt, bodies.FURTHER)
    seqs = [1] * attempt.ranks
    for begin in range(0, points, bodies.REQUEST_STEPS):
        n = min(bodies.REQUEST_STEPS, points - begin)
        yield bodies.body(attempt, _records(seqs, begin, n, attempt.ranks, every, seed))
    ends = {rank: [bodies.done(seq, points, attempt.ranks)] for rank, seq in enumerate(seqs)}
    yield bodies.body(attempt, ends, "succeeded")


def grow(live: Seeded, supervisor: Client, n: int) -> None:
    """Send the next steps of the run that still runs."""
    records = _records(live.seqs, live.step, n, RANKS, live.points // live.evaluations, 7)
    supervisor.ingest(bodies.body(live.attempt, records))
    live.step += n


def _records(seqs: list[int], begin: int, n: int, ranks: int, every: int, seed: int) -> dict[int, list[Any]]:
    """Return steps and evaluations of all ranks, and count their numbers on."""
    records: dict[int, list[Any]] = {}
    for rank in range(ranks):
        records[rank] = list(bodies.blocks(seqs[rank], begin + 1, n, ranks, seed + rank))
        seqs[rank] += len(records[rank])
    step = np.arange(begin + 1, begin + n + 1)
    scored = _evaluations(seqs[0], step[step % every == 0], ranks, seed)
    records[0] += scored
    seqs[0] += len(scored)
    return records


def _evaluations(seq: int, step: np.ndarray, ranks: int, seed: int) -> list[Evaluation]:
    """Return an evaluation after some steps; how fast a run is, and where its curves lie, follow from its seed."""
    pace = float(np.random.default_rng(seed).lognormal(0, 0.1))
    clock = step * bodies.STEP_SECONDS * pace
    noise = np.random.default_rng((seed, *step[:1])).normal(0, 0.01, (len(step), len(bodies.FURTHER) + 1))
    rate = np.exp(-step / 2500 / pace)[:, None] * np.linspace(0.5, 2, noise.shape[1]) + noise
    rows = zip(step.tolist(), clock.tolist(), np.round(rate, 5).tolist(), strict=True)
    return [
        Evaluation(
            seq=seq + i,
            step=at,
            samples=at * ranks * bodies.BATCH,
            clock=seconds,
            wall=1.1 * seconds,
            loss=max(0.0, values[0]),
            accuracy=min(1.0, max(0.0, 1 - values[0])),
            seconds=0.01,
            reached=False,
            further=dict(zip(bodies.FURTHER, values[1:], strict=True)),
        )
        for i, (at, seconds, values) in enumerate(rows)
    ]
