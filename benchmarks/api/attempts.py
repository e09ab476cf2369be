"""Attempts with real tokens: clusters join, experiments are submitted, and their orders are claimed.

An agent gets the ids of its orders from the broker; here they are read from the database, and then claimed over
HTTP as an agent does.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass

from hooke.spec.protocol import PROTOCOL
from hooke_api.models import AgentOrder
from sqlalchemy import select

from benchmarks.api.client import Client, Failed
from benchmarks.api.server import Server

CLUSTERS = 16
"""The most that an experiment may have."""
WAIT_SECONDS = 120.0


@dataclass(frozen=True)
class Attempt:
    """A claimed attempt: what its supervisor reports with."""

    run: str
    number: int
    token: str
    ranks: int
    experiment: str


def claimed(server: Server, count: int, ranks: int) -> list[Attempt]:
    """Return `count` claimed attempts of runs of `ranks` workers, each on a cluster of its own."""
    found: list[Attempt] = []
    with server.client() as user, server.client(server.agents) as agent:
        while len(found) < count:
            found += _experiment(server, user, agent, min(CLUSTERS, count - len(found)), ranks)
    return found


def _experiment(server: Server, user: Client, agent: Client, count: int, ranks: int) -> list[Attempt]:
    names = [f"bench-{server.joined + i}" for i in range(count)]
    server.joined += count
    agents = {name: f"agt_{uuid.uuid4().hex}" for name in names}
    for name in names:
        agent.post("/agents/hello", hello(name, ranks, agents[name]))
    made = user.post("/experiments", experiment(names, ranks))
    return [
        _claim(agent, order, agents[name], ranks, made["id"]) for name, order in _orders(server, names).items()
    ]


def hello(name: str, cores: int, agent: str) -> dict[str, object]:
    """Return what an agent says of a cluster."""
    told = {"name": name, "cores": cores, "slots": cores, "launcher": "local", "hardware": {}, "versions": {}}
    return told | {"protocol": PROTOCOL, "agent": agent, "place": f"host:/home/{name}"}


def experiment(clusters: list[str], workers: int) -> dict[str, object]:
    """Return an experiment of one run on each of some clusters."""
    return {
        "name": "benchmark",
        "workload": {"name": "digits-mlp"},
        "variants": [{"name": "sync", "algorithm": "sync-sgd"}],
        "baseline": "sync",
        "clusters": [{"name": name, "workers": [workers], "seeds": 1} for name in clusters],
        "budget": {"samples": 10**8},
        "evaluation": {"every": 10**5},
    }


def _orders(server: Server, names: list[str]) -> dict[str, str]:
    """Return the id of the launch order of each cluster, when all of them have one."""
    database = server.database()
    try:
        until = time.monotonic() + WAIT_SECONDS
        query = select(AgentOrder.cluster, AgentOrder.id).where(AgentOrder.kind == "launch")
        while time.monotonic() < until:
            with database.read() as session:
                found = dict(session.execute(query.where(AgentOrder.cluster.in_(names))).all())
            if len(found) == len(names):
                return {name: found[name] for name in names}
            time.sleep(0.1)
    finally:
        database.close()
    raise TimeoutError(f"{len(found)} of {len(names)} runs were dispatched in {WAIT_SECONDS:g} s")


def _claim(agent: Client, order: str, identity: str, ranks: int, experiment_id: str) -> Attempt:
    work = agent.post("/agents/claim", {"order": order, "agent": identity})["work"]
    if len(work["attempts"]) != 1:
        raise Failed(f"order {order} has {len(work['attempts'])} attempts")
    launch = work["attempts"][0]
    return Attempt(launch["run"], launch["attempt"], launch["token"], ranks, experiment_id)
