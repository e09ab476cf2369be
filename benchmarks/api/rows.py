"""Rows of ended and waiting experiments, stored directly: what a year of work leaves in the tables of lists.

Specifications are those that the API itself made of one submitted experiment.
"""

from __future__ import annotations

import random
import uuid
from datetime import datetime, timedelta
from typing import Any

from hooke.hardware.description import describe
from hooke.spec.states import TERMINAL, RunState
from hooke_api.base import ids
from hooke_api.models import DEFAULT_PROJECT, Experiment, ExperimentTag, Run, now
from hooke_api.storage.outbox import take
from sqlalchemy import insert, select, text
from sqlalchemy.orm import undefer

from benchmarks.api.attempts import experiment, hello
from benchmarks.api.server import Server

CLUSTER = "local"
PER_EXPERIMENT = 100
WAITING = 0.05
"""Share of the experiments, the newest ones, that wait."""
AT_ONCE = 20
"""Experiments of one transaction."""
STATES = ((RunState.SUCCEEDED, 84), (RunState.FAILED_USER, 5), (RunState.FAILED_INFRA, 3), (RunState.CANCELLED, 8))
VARIANTS = (
    ("sync", "sync-sgd"),
    ("easgd", "sync-easgd"),
    ("async", "async-easgd"),
    ("original", "original-easgd"),
)
RARE = ("rare", "hogwild-easgd")
CURVE = {
    **{"variant": "easgd", "cluster": CLUSTER, "simulated": False, "metric": "validation_accuracy"},
    **{"target": 0.97, "seconds": 12.34, "seeds": 5, "values": [round(1 - 0.9 / (1 + n), 4) for n in range(32)]},
}


def store(server: Server, experiments: int) -> None:
    """Store experiments of PER_EXPERIMENT runs; the cluster of those that wait is drained, so that none starts."""
    templates = _templates(server)
    source = random.Random(1)
    waiting = max(1, round(WAITING * experiments))
    database = server.database()
    try:
        for begin in range(0, experiments, AT_ONCE):
            numbers = range(begin, min(experiments, begin + AT_ONCE))
            with database.write() as session:
                highest = take(session, f"experiments:{DEFAULT_PROJECT}", len(numbers))
                for i, number in enumerate(numbers):
                    waits = number >= experiments - waiting
                    at = now() - timedelta(hours=8 * (experiments - number))
                    made = _experiment(highest - len(numbers) + 1 + i, at, waits, templates, source)
                    session.execute(insert(Experiment), [made])
                    session.execute(insert(Run), _runs(made, waits, templates, source))
                    if number % 50 == 7:
                        session.execute(insert(ExperimentTag), [{"experiment_id": made["id"], "tag": "paper"}])
        if not database.sqlite:  # as its autovacuum leaves tables that grow for a year
            with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.execute(text("VACUUM (ANALYZE)"))
    finally:
        database.close()


def _templates(server: Server) -> dict[str, Any]:
    """Return the documents of an experiment and a run that the API stored."""
    with server.client() as user, server.client(server.agents) as agent:
        agent.post("/agents/hello", hello(CLUSTER, 4, f"agt_{uuid.uuid4().hex}"))
        user.post(f"/clusters/{CLUSTER}/drain")
        made = user.post("/experiments", experiment([CLUSTER], 4))["id"]
    database = server.database()
    try:
        with database.read() as session:
            stored = session.get_one(Experiment, made)
            query = select(Run).where(Run.experiment_id == made).options(undefer(Run.spec))
            run = session.scalars(query).one()
            hardware, versions = describe()
            return {"experiment": stored.spec, "run": run.spec, "hardware": hardware, "versions": versions}
    finally:
        database.close()


def _experiment(
    number: int, at: datetime, waits: bool, templates: dict[str, Any], source: random.Random
) -> dict[str, Any]:
    ended = None if waits else at + timedelta(hours=2)
    return {
        "id": ids.experiment_id(),
        "project_id": DEFAULT_PROJECT,
        "created_by": "owner",
        "number": number,
        "name": f"digits {number}",
        "description": "stored for a benchmark",
        "workload": "digits-mlp",
        "variants": [name for name, _ in VARIANTS],
        "clusters": [CLUSTER],
        "baseline": "sync",
        "spec": templates["experiment"],
        "fingerprint": "0" * 64,
        "created_at": at,
        "finished_at": ended,
        "headlines": {"lines": ["Fastest: easgd"], "curve": CURVE},
        "headlines_at": None if ended is None else ended + timedelta(seconds=1),
        "starred": source.random() < 0.02,
    }


def _runs(
    made: dict[str, Any], waits: bool, templates: dict[str, Any], source: random.Random
) -> list[dict[str, Any]]:
    trials = source.random() < 0.05
    return [_run(made, number, waits, trials, templates, source) for number in range(1, PER_EXPERIMENT + 1)]


def _run(
    made: dict[str, Any], number: int, waits: bool, trials: bool, templates: dict[str, Any], source: random.Random
) -> dict[str, Any]:
    variant, algorithm = RARE if source.random() < 0.001 else VARIANTS[number % len(VARIANTS)]
    state = RunState.QUEUED if waits else source.choices(*zip(*STATES, strict=True))[0]
    well = state is RunState.SUCCEEDED
    begun = made["created_at"] + timedelta(seconds=60 * number)
    return {
        "id": ids.run_id(),
        "experiment_id": made["id"],
        "project_id": DEFAULT_PROJECT,
        "created_by": "owner",
        "number": number,
        "variant": variant,
        "algorithm": algorithm,
        "cluster": "hosts" if source.random() < 0.02 and not waits else CLUSTER,
        "host": CLUSTER,
        "simulated": False,
        "workers": 4,
        "servers": 0,
        "seed": number,
        "trial": number if trials else None,
        "rung": 0 if trials and number <= PER_EXPERIMENT // 2 else None,
        "spec": templates["run"],
        "fingerprint": "0" * 64,
        "budget": 10**6,
        "state": state,
        "created_at": made["created_at"],
        "started_at": None if waits else begun,
        "finished_at": begun + timedelta(seconds=50) if state in TERMINAL else None,
        "samples": 0 if waits else 10**6,
        "evaluated_part": None if waits else "validation",
        "accuracy": None if waits else 0.9 + 0.09 * source.random(),
        "loss": None if waits else source.random(),
        "test_accuracy": 0.9 + 0.09 * source.random() if well else None,
        "test_loss": source.random() if well else None,
        "time_to_target": 40 * source.random() if well else None,
        "target_after": 1.0 if well else None,
        "communication_fraction": None if waits else source.random(),
        "clock": 0.0 if waits else 50.0,
        "hardware": {} if waits else templates["hardware"],
        "versions": {} if waits else templates["versions"],
    }
