"""Response time of lists with 100,000 runs: `python -m benchmarks.core.lists`."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from statistics import median, quantiles

from hooke.spec.states import RunState
from hooke_api.base import ids
from hooke_api.base.cursors import Cursors
from hooke_api.base.settings import Settings
from hooke_api.experiments import service as experiments
from hooke_api.models import Cluster, Experiment, Run, now
from hooke_api.queue.settings import Order
from hooke_api.runs import service as runs
from hooke_api.scheduling.queued import BATCH, choose
from hooke_api.storage.database import Database
from hooke_api.waiting import service
from sqlalchemy import insert, update

Result = tuple[str, float, str, float | None]
EXPERIMENTS, RUNS, PAGES = 100, 1000, 60
SILENCE = timedelta(seconds=40)


def fill(database: Database) -> None:
    """Store experiments and their runs: half of them done, the rest queued."""
    spec = {"padding": "x" * 1500}
    with database.write() as session:
        for number in range(1, EXPERIMENTS + 1):
            named = {
                "id": ids.experiment_id(),
                "created_by": "benchmark",
                "fingerprint": "0" * 64,
                "created_at": now(),
            }
            shown = {"name": f"number {number}", "description": "", "workload": "digits-mlp", "baseline": "a"}
            values = {"project_id": "prj_default", "variants": ["a"], "clusters": ["local"]}
            values |= {"spec": spec, "fingerprint": "0" * 64}
            session.execute(insert(Experiment), [{**named, **shown, **values, "number": number}])
            state = RunState.SUCCEEDED if number % 2 else RunState.QUEUED
            session.execute(insert(Run), [run_row(named["id"], i, state, spec) for i in range(1, RUNS + 1)])


def run_row(experiment: object, number: int, state: RunState, spec: dict[str, str]) -> dict[str, object]:
    """Return one row."""
    return {
        "id": ids.run_id(),
        "experiment_id": experiment,
        "number": number,
        "project_id": "prj_default",
        "created_by": "benchmark",
        "variant": "a",
        "algorithm": "sync-sgd",
        "cluster": "local",
        "host": "local",
        "simulated": False,
        "workers": 4,
        "servers": 0,
        "seed": number,
        "spec": spec,
        "fingerprint": "0" * 64,
        "budget": 10_000,
        "state": state,
        "created_at": now(),
        "started_at": now() if state is RunState.SUCCEEDED else None,
        "finished_at": now() + timedelta(seconds=1) if state is RunState.SUCCEEDED else None,
    }


def measure() -> Iterator[Result]:
    """Yield the 95th percentile of pages through all runs, filtered runs, experiments; and of choosing a run."""
    with tempfile.TemporaryDirectory(prefix="hk-") as folder:
        database = Database(f"sqlite:///{Path(folder) / 'hooke.db'}")
        database.migrate(Settings().migrations)
        fill(database)
        cursors = Cursors("token")
        for what, chosen in (("all", runs.Filter()), ("queued", runs.Filter(states=(RunState.QUEUED,)))):
            took, cursor = [], None
            for _ in range(PAGES):
                began = time.perf_counter()
                with database.read() as session:
                    cursor = runs.page(session, cursors, chosen, runs.Page(100, cursor), SILENCE).next_cursor
                took.append(time.perf_counter() - began)
            yield f"100 of 100,000 runs, {what}: p95", quantiles(took, n=20)[-1] * 1e3, "ms", 300.0
        took = []
        for _ in range(PAGES):
            began = time.perf_counter()
            with database.read() as session:
                experiments.page(session, cursors, 50, None, SILENCE)
            took.append(time.perf_counter() - began)
        yield "50 of 100 experiments, runs counted: p95", quantiles(took, n=20)[-1] * 1e3, "ms", 300.0
        yield from measure_queue(database)
        database.close()


def measure_queue(database: Database) -> Iterator[Result]:
    """Yield the median time of choosing the next launch of 50,000 queued runs, and of reading their queue."""
    with database.write() as session:
        owner = {"project_id": "prj_default", "created_by": "agent", "created_at": now(), "seen_at": now()}
        told = {"hardware": {}, "versions": {}, "problems": [], "policy": {}, "launcher": "local"}
        session.execute(insert(Cluster), [{"name": "local", "cores": 4, "slots": 4, **owner, **told}])
    for order in Order:
        with database.write() as session:
            session.execute(update(Cluster).values(policy={"order": order.value}))
        took = []
        for _ in range(5):
            began = time.perf_counter()
            with database.write() as session:
                assert len(choose(session, "local")) == BATCH
            took.append(time.perf_counter() - began)
        yield f"choosing a launch of 50,000 queued runs, {order.value}", median(took) * 1e3, "ms", None
    took = []
    for _ in range(5):
        began = time.perf_counter()
        with database.read() as session:
            service.queue_view(session, "local", SILENCE)
        took.append(time.perf_counter() - began)
    yield "reading the queue of 50,000 queued runs in 50 experiments", median(took) * 1e3, "ms", None
