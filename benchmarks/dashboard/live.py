"""What a tab gets that shows a comparison while it runs: bytes of two minutes, counted by a relay."""

from __future__ import annotations

import threading
import time
import uuid
from typing import Any

from benchmarks.api import bodies
from benchmarks.api.attempts import Attempt, hello
from benchmarks.api.figures import Figure
from benchmarks.api.server import Server
from benchmarks.dashboard import seeding
from benchmarks.dashboard.browsing import Chromium, Looking
from benchmarks.dashboard.counting import relay

VIEW = "6 variants x 3 seeds, live"
VARIANTS = (*seeding.VARIANTS, "diloco", "powersgd")
SEEDS, ENDED, GOING = 3, 9, 3
POINTS, EVALUATIONS = 10_000, 500
SECONDS = 120.0
PACE = 40
"""Steps of each second of a run that goes on: two evaluations."""
GOAL_MB = 1.0


def measured(server: Server, chromium: Chromium, seconds: float = SECONDS) -> tuple[list[Figure], dict[str, Any]]:
    """Return the figures of a live tab, and what was got by path. Half of the runs have ended, three go on."""
    experiment, going = _begun(server)
    with relay(int(server.url.rpartition(":")[2])) as counting:
        look = Looking(chromium, counting.url, server.token)
        look.page.goto(f"{counting.url}/experiments/{experiment}", wait_until="commit")
        look.page.wait_for_selector("[data-testid=chart-validation_accuracy] canvas")
        look.page.wait_for_timeout(8000)
        opened = counting.counted()
        counting.begin()
        _grown(server, going, seconds)
        live = counting.counted()
        look.close()
    total = sum(each["bytes"] for each in live.values()) / 1e6
    figures = [
        Figure("bytes of two live minutes", "MB", (total * SECONDS / seconds,), GOAL_MB),
        Figure("bytes until it is open", "MB", (sum(each["bytes"] for each in opened.values()) / 1e6,)),
    ]
    return figures, {"live": live, "opened": opened, "seconds": seconds}


def _begun(server: Server) -> tuple[str, list[seeding.Seeded]]:
    """Store the comparison; return its id, and the runs that go on."""
    runs = len(VARIANTS) * SEEDS
    slots = runs * seeding.RANKS
    with server.client() as user, server.client(server.agents) as agent:
        identity = f"agt_{uuid.uuid4().hex}"
        agent.post("/agents/hello", hello(seeding.CLUSTER, slots, identity))
        made = user.post("/experiments", seeding.document(SEEDS, VARIANTS))["id"]
        attempts: list[Attempt] = []
        done: set[str] = set()
        while len(attempts) < ENDED + GOING:
            attempts += seeding.claimed(server, agent, identity, made, done)
    every = POINTS // EVALUATIONS
    for number, attempt in enumerate(attempts[:ENDED]):
        with server.client(attempt.token) as supervisor:
            for body in seeding.whole(attempt, POINTS, every, number):
                supervisor.ingest(body)
    going = []
    for attempt in attempts[ENDED : ENDED + GOING]:
        one = seeding.Seeded(made, runs, POINTS, EVALUATIONS, vars(attempt), 0, [1] * seeding.RANKS)
        with server.client(attempt.token) as supervisor:
            supervisor.ingest(bodies.first(attempt, bodies.FURTHER))
            seeding.grow(one, supervisor, bodies.REQUEST_STEPS)
        going.append(one)
    return made, going


def _grown(server: Server, going: list[seeding.Seeded], seconds: float) -> None:
    """Let the runs go on for a while, each with a request a second, as a supervisor sends them."""
    until = time.monotonic() + seconds

    def send(one: seeding.Seeded) -> None:
        with server.client(one.attempt.token) as supervisor:
            while time.monotonic() < until:
                began = time.monotonic()
                seeding.grow(one, supervisor, PACE)
                time.sleep(max(0.0, began + 1 - time.monotonic()))

    threads = [threading.Thread(target=send, args=(one,)) for one in going]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
